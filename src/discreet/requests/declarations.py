"""Declarations about the data: categories, groups, cells that cannot occur and other spellings."""

import os
import sys
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from glob import iglob
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from discreet.data import scratch
from discreet.errors import InvalidInputError
from discreet.requests.parsing import parse_list
from discreet.requests.record_files import STANDARD_INPUT, is_same_file

if TYPE_CHECKING:
    from discreet.model.cells import Groups

_LARGEST_LIST = 1 << 28
"""Bytes of a file of categories or groups."""


@contextmanager
def opened(file: str) -> Iterator[str | BinaryIO]:
    """Open the path, or standard input, for counting. Whatever spills meanwhile is removed even if the process is told to end."""
    if file == STANDARD_INPUT and (sys.stdin is None or sys.stdin.isatty()):
        raise InvalidInputError("FILE is -, which means a CSV file on standard input, and none is there: pipe one in, as in `cat a.csv |`")
    with scratch.removed_on_termination():
        yield sys.stdin.buffer if file == STANDARD_INPUT else file


def parse_labels(text: str, option: str, file: str) -> Sequence[str]:
    """The categories or groups of an option: separated by commas, a rule that makes them, or, after @, one on each line of a file."""
    from discreet.data.made_labels import typed_labels

    made = typed_labels(text)
    if made is not None:
        return made
    return [line.strip() for line in _lines(text, option, file)] if text.startswith("@") else parse_list(text, option)


def _lines(text: str, option: str, file: str) -> list[str]:
    """The lines of the file that is named after @, which must not be the private data."""
    path = Path(text[1:])
    if _is_private(path, file):
        raise InvalidInputError(f"{option} {text} is also the private data: what is declared is published, so list it elsewhere")
    try:
        with path.expanduser().open("rb") as stream:
            content = stream.read(_LARGEST_LIST + 1)
        lines = content.decode("utf-8-sig").splitlines()
    except (OSError, ValueError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8 text" if isinstance(error, UnicodeError) else "not a path"
        raise InvalidInputError(f"{option} {text} cannot be read ({why}): name a text file with one on each line") from None
    if len(content) > _LARGEST_LIST:
        raise InvalidInputError(f"{option} {text} is too large to be such a list")
    return lines


def _is_private(path: Path, file: str) -> bool:
    """Return whether this is a file that is counted, also behind a link, a pattern or standard input."""
    try:
        found = path.expanduser()
        if file == STANDARD_INPUT:
            return sys.stdin is not None and os.path.samestat(found.stat(), os.fstat(sys.stdin.fileno()))
        matches = iglob(str(Path(file).expanduser()), recursive=True)  # noqa: PTH207 - absolute patterns
        return any(is_same_file(found, one) for one in (file, *matches))
    except (OSError, ValueError, RuntimeError):  # no name of a file: whoever reads it says so
        return False


def check_labels(labels: Sequence[str], option: str, text: str) -> None:
    """Refuse a list in which one has no name or is declared twice."""
    from discreet.validation import shown

    if "" in labels:
        where = "a blank line" if "@" in text else "a comma too many"
        raise InvalidInputError(f"{option} has one without a name; remove {where}, or name it: got {shown(text)!r}")
    for label, times in Counter(labels).items():
        if times > 1:
            raise InvalidInputError(f"{option}: {shown(label)!r} is declared twice; name each once")


def parse_groups(texts: Sequence[str], file: str, option: str = "--by") -> "Groups | None":
    """The groups that `--by COLUMN=GROUP,GROUP` declares; None without any."""
    from discreet.model.cells import groups_of
    from discreet.validation import shown

    columns: dict[str, Sequence[str]] = {}
    for text in texts:
        column, equals, listed = text.partition("=")
        if not (column and equals and listed):
            raise InvalidInputError(
                f"{option} must be COLUMN=GROUP,GROUP,... or COLUMN=@FILE, as in region=north,south; got {shown(text)!r}"
            )
        if column in columns:
            raise InvalidInputError(f"{option} names the column {shown(column)!r} twice; list all its groups at once")
        columns[column] = parse_labels(listed, option, file)
        check_labels(columns[column], f"{option} {shown(column)}", listed)
    return groups_of(columns) if columns else None


def parse_other_groups(texts: Sequence[str], option: str) -> dict[str, str]:
    """The groups that `--other-group COLUMN=GROUP` names, by column."""
    from discreet.validation import shown

    found: dict[str, str] = {}
    for text in texts:
        column, equals, group = text.partition("=")
        if not (column and equals and group) or column in found:
            raise InvalidInputError(f"{option} must be COLUMN=GROUP, each column once; got {shown(text)!r}")
        found[column] = group
    return found


def parse_cells(texts: Sequence[str], option: str) -> list[tuple[str, ...]]:
    """The cells that `--impossible GROUP,...,CATEGORY` names."""
    return [tuple(parse_list(text, option)) for text in texts]


def parse_mapping(texts: Sequence[str], labels: Sequence[str], file: str | None = None) -> dict[str, str]:
    """The values that `--map VALUE=CATEGORY` maps, each once, and what to. A value may have = in it, and blanks, which matter.

    Where the private data are given as `file`, a text that maps nothing and begins with @ names a file of such lines.
    """
    from discreet.validation import shown

    known = frozenset(labels)
    lengths = frozenset(map(len, known))
    mapping: dict[str, str] = {}
    given: list[str] = []
    for text in texts:
        is_list = file is not None and text.startswith("@") and not _split(text, known, lengths)[0]
        given += [line for line in _lines(text, "--map", file or "") if line.strip()] if is_list else [text]
    for text in given:
        value, category = _split(text, known, lengths)
        if not value:
            raise InvalidInputError(
                f"write spelling=category, with one of the categories after the =; got {shown(text)!r}",
                in_shell=f"--map must be VALUE=CATEGORY, with one of --categories after the =; got {shown(text)!r}",
            )
        if value in mapping:
            fault = f"{shown(value)!r} is mapped twice; map each value once"
            raise InvalidInputError(fault, in_shell=f"--map: {fault}")
        mapping[value] = category
    return mapping


def _split(text: str, known: Container[str], lengths: Container[int]) -> tuple[str, str]:
    """Split a text at the first = that a known category follows; two empty texts if none does."""
    for place, character in enumerate(text):
        if character == "=" and len(text) - place - 1 in lengths and text[place + 1 :] in known:
            return text[:place], text[place + 1 :]
    return "", ""
