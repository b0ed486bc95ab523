"""A curator's corrections of spellings: read from a TOML file and checked before counting. They are private, and nothing publishes them."""

import tomllib
from collections.abc import Hashable, Iterable, Mapping
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import Any

from discreet.data.categories import Declared
from discreet.errors import InvalidInputError
from discreet.text import plain, shown

Corrections = Mapping[str, Mapping[str, Any]]
"""A curator's corrections: for each column, spellings and what each stands for."""
_LARGEST_FILE = 1 << 24
"""Bytes of a study or of corrections."""


def read_corrections(
    given: "str | PathLike[str] | Corrections", coded: Iterable[tuple[str, Declared]], *, strict: bool = False
) -> Corrections:
    """The corrections in a file, or these, if each names a category or group that is declared for its column.

    A correction of a spelling that is declared itself is never applied, and refused: but not by a `strict` service, whose askers would
    learn from the refusal which spellings the curator has seen.
    """
    coded = list(coded)
    found = given if isinstance(given, Mapping) else read_toml(given, "the corrections")
    known: dict[str, set[Hashable]] = {}
    for name, declared in coded:
        known.setdefault(name, set()).update(() if declared.rule is not None else ((type(label), label) for label in declared.labels))
    for column, pairs in found.items():
        if not known.get(column) or not isinstance(pairs, Mapping):
            able = " and ".join(repr(shown(name)) for name in known if known[name])
            raise InvalidInputError(
                f"the corrections must be listed by columns, each below a line [column], and {able or 'no column'} can have some; what "
                "stands there is private, so not shown"
            )
        wrong = f"a correction of {shown(column)!r}"
        if not all(isinstance(label, Hashable) and (type(label), label) in known[column] for label in pairs.values()):
            raise InvalidInputError(f"{wrong} must be spelling = value, with a declared value written as it was declared")
        every = [declared for name, declared in coded if name == column]
        if not strict and any(_is_idle(spelling, label, every) for spelling, label in pairs.items()):
            raise InvalidInputError(
                f"{wrong} is about a value that is declared itself, and a declared value is counted as it is: leave that line out"
            )
    return found


def _is_idle(spelling: str, label: Hashable, every: list[Declared]) -> bool:
    """Return whether a correction would change nothing that it says, because all tables that have its value declare the spelling itself."""
    return all(declared.contradicts(spelling, label) for declared in every if declared.index(label) is not None)


def read_toml(path: "str | PathLike[str]", what: str, text: str | None = None) -> dict[str, Any]:
    """The content of a TOML file, with decimals as they are written; of corrections, which are private, no error shows any.

    `text` is read in place of the file that `path` names.
    """
    try:
        if text is None:
            with Path(path).expanduser().open("rb") as file:
                content = file.read(_LARGEST_FILE + 1)
        else:
            content = text.encode()
        if len(content) > _LARGEST_FILE:
            raise OSError(0, "it is too large")  # noqa: TRY301
        return tomllib.loads(content.decode("utf-8-sig"), parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        reason = " ".join(str(error).split()) if what == "the study" else "it is no TOML"
    except UnicodeError:
        reason = "it is not UTF-8 text"
    except (OSError, ValueError, RecursionError, TypeError, RuntimeError) as error:
        reason = error.strerror or "not a path" if isinstance(error, OSError) else "it is no TOML"
    name = plain(path) if isinstance(path, (str, PathLike)) else f"({type(path).__name__})"
    raise InvalidInputError(f"{what} {name} cannot be read: {reason}")
