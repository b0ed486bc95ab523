"""The file of a study whose tables ask for the same as requests for releases: it is kept, and asked again."""

import re
from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Any

from discreet.data.made_labels import MadeLabels
from discreet.errors import InvalidInputError
from discreet.model.cells import Groups
from discreet.model.dirichlet import Dirichlet
from discreet.requests.fields import Field, fields_of
from discreet.requests.kinds import PRIOR_KIND, number_words
from discreet.requests.record_files import STANDARD_INPUT
from discreet.requests.release import MECHANISMS, ReleaseRequest
from discreet.requests.study import MANIFEST, Study

_ASKED_BY = "# discreet release study.toml --ledger LEDGER --output FOLDER"


_COMMON = ("path", "id", "one_row_per_person", "public", "strict", "normalize", "encoding", "period", "period_column")
"""The attributes of a study that its tables have in common."""


def study_text(asked: ReleaseRequest) -> str | None:
    """The TOML of a study; None where it has no key for something that is asked. The ledger is named where the study is released."""
    if asked.file == STANDARD_INPUT or _without_key(asked) is not None:
        return None
    return "\n\n".join([*_parts(asked, _name(asked, ())), f"{_ASKED_BY}\n"])


def with_table(text: str, folder: str, asked: ReleaseRequest) -> str:
    """The text of a study with one more table, declared as in a release; the first one also begins the study.

    Args:
        text: The study so far, or nothing.
        folder: The folder that its paths start from.
        asked: The release; its file is named from the root on.

    Raises:
        InvalidInputError: The text is no study, the release has what a study has not, or it has other records or rules than the study.
    """
    one = _without_key(asked)
    if one is not None:
        why = f": {MECHANISMS[0]} releases its tables" if one.name == "mechanism" else ""
        raise InvalidInputError(f"a study has no “{one.called('form')}”{why}; leave it out, or release this table alone")
    alone = "\n\n".join(_parts(asked, _name(asked, ()))) + "\n"
    new, declared = Study.of_text(alone, folder), Study.of_text(text, folder) if text.strip() else None
    if declared is None:
        return alone
    for key in _COMMON:
        if getattr(declared, key) != getattr(new, key):
            raise InvalidInputError(f"this table has another {key} than the study, and all tables of a study have one")
    table = _parts(asked, _name(asked, [one.name for one in declared.tables]))[1]
    return f"{text.rstrip()}\n\n{table}\n"


def _without_key(asked: ReleaseRequest) -> Field | None:
    """The first field that says something for which a study has no key."""
    return next((one for one, _ in asked.given() if not one.key and one.name != "ledger"), None)


def _parts(asked: ReleaseRequest, name: str) -> list[str]:
    """The two parts of a study's file: the study, and a table of this name."""
    parts: dict[str, dict[str, Any]] = {"study": {}, "tables": {}}
    for one, value in [*asked.given(), (fields_of(ReleaseRequest)["epsilon"], asked.epsilon)]:
        part, key, *item = one.key.split(".") if one.key else ("", "")
        if one.item and part:
            parts[part].setdefault(key, []).extend(item)
        elif part:
            parts[part][key] = item[0] if item else value
    heads = {"study": "[study]", "tables": f"[tables.{_key(name)}]"}
    return ["\n".join([heads[part], *_lines(given)]) for part, given in parts.items()]


def _name(asked: ReleaseRequest, taken: Collection[str]) -> str:
    """A name for a table, which its file will have: its column, and a number where that is taken."""
    word = re.sub(r"[^\w-]+", "-", asked.column)[:50].strip("-") or "table"
    used = {name.casefold() for name in (*taken, MANIFEST)}
    return next(name for name in (word, *(f"{word}-{i}" for i in range(2, len(used) + 3))) if name.casefold() not in used)


def _lines(given: Mapping[str, Any]) -> list[str]:
    """A line for each key, and one for each column of groups."""
    found: list[str] = []
    for key, value in given.items():
        columns = zip(value.columns, value.labels, strict=True) if isinstance(value, Groups) else None
        found += [f"{key} = {_toml(value)}"] if columns is None else [f"{key}.{_key(name)} = {_toml(labels)}" for name, labels in columns]
    return found


def _toml(value: Any) -> str:
    """A value of TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Fraction):
        number = number_words(value)
        return _text(number) if "/" in number else number
    if isinstance(value, MadeLabels):
        return _text(value.typed())
    if isinstance(value, Dirichlet):
        return _text(PRIOR_KIND.show(value))
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(name)} = {_toml(one)}' for name, one in value.items())}}}"
    return _text(value) if isinstance(value, str) else f"[{', '.join(map(_toml, value))}]"


def _key(name: str) -> str:
    """A key of TOML, which needs no quotes if it is a plain word."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(text: str) -> str:
    """A text of TOML: what would end it, begin a code or not be seen stands as a code."""
    coded = (one if one.isprintable() and one not in '"\\' else f"\\U{ord(one):08x}" for one in text)
    return f'"{"".join(coded)}"'
