"""Parsers of what was typed: lists, numbers, shares, priors, what is declared about the data, and records that are named."""

import csv
import os
import re
import sys
from collections import Counter
from collections.abc import Container, Hashable, Sequence
from fractions import Fraction
from glob import iglob
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from discreet import limits
from discreet.errors import InvalidInputError
from discreet.text import plain, shown

if TYPE_CHECKING:
    from discreet.model.cells import Groups
    from discreet.model.dirichlet import Dirichlet
    from discreet.record.release import Release


_LONGEST_SIZE = 6
"""Digits of a number of categories."""
_LARGEST_LIST = 1 << 28
"""Bytes of a file of categories or groups."""


def parse_list(text: str, option: str) -> list[str]:
    """The parts of one line of CSV, without the blanks around them: one that holds a comma is put in double quotes."""
    try:
        rows = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error:
        raise InvalidInputError(
            f"{option} must be one line, separated by commas, with double quotes around a part that has one, as in '\"a,b\",c'; "
            f"got {shown(text)!r}"
        ) from None
    return [part.strip() for row in rows for part in row]


_WITH_COMMA = re.compile(r"-?[0-9]+,[0-9]+")
_GROUPED = re.compile(r"-?[1-9][0-9]{0,2}(?:[, \u00a0\u202f_][0-9]{3})+")
"""A whole number whose digits stand in threes; with one comma it may also be a decimal as many languages write it."""


def parse_number(text: str, option: str) -> Fraction:
    """The number that a decimal or a fraction stands for, exactly: 0,5 is a half, and 1,500 is refused, which may be two numbers."""
    from discreet.validation import exact

    given = text.strip()
    pointed, is_either = given.replace(",", "."), bool(_GROUPED.fullmatch(given))
    try:
        return exact(pointed if _WITH_COMMA.fullmatch(given) and not is_either else text, option)
    except InvalidInputError:
        meant = f"; write {pointed}, or {given.replace(',', '')} without a comma" if is_either and given.count(",") == 1 else ""
        raise InvalidInputError(f"{option} must be a number such as 0.5 or 1/3, got {shown(text)!r}{meant}") from None


def parse_whole(text: str, option: str) -> int:
    """The whole number that a text stands for, 10,000 and 10 000 too, but no comma that could be that of a decimal."""
    given = text.strip()
    digits = re.sub(r"[^0-9]", "", given) if _GROUPED.fullmatch(given) and not given.startswith("-") else given
    value = parse_number(digits, option) if re.fullmatch(r"[0-9]+(?:[eE]\+?[0-9]{1,2})?", digits) else None
    if value is None:
        raise InvalidInputError(f"{option} must be a whole number such as 1500 or 1,500, got {shown(text)!r}")
    return int(value)


def parse_share(text: str, option: str) -> Fraction:
    """A number, or a percentage such as 4%, exactly."""
    given = text.strip()
    return parse_number(given[:-1].rstrip(), option) / 100 if given.endswith("%") else parse_number(text, option)


def parse_mass(text: str) -> float:
    """Return how much probability an interval holds."""
    try:
        level = float(parse_share(text, "--mass"))
    except InvalidInputError:
        level = 0.0
    if not 0.0 < level < 1.0:
        meant = f"; for {level:g} percent write {level:g}%" if 1.0 < level < 100.0 else ""
        raise InvalidInputError(f"--mass must be a number between 0 and 1, such as 0.9 or 90%, got {shown(text)!r}{meant}")
    return level


def parse_prior(text: str, categories: Sequence[Hashable] | None = None, option: str = "--prior") -> "Dirichlet":
    """The prior that a text such as `1,1`, `uniform:3` or, where the categories are known, `uniform` stands for."""
    from discreet.model.dirichlet import Dirichlet

    family, colon, size = text.partition(":")
    named = {"uniform": Dirichlet.uniform, "jeffreys": Dirichlet.jeffreys}
    if family in named:
        k = _size(text, family, size if colon else None, categories, option)
        return named[family](k, categories)
    parts = parse_list(text, option)
    if categories is not None and len(parts) != len(categories):
        many = len(categories)
        raise InvalidInputError(f"{option} must be uniform, jeffreys or {many} numbers, one for each category; got {shown(text)!r}")
    try:
        return Dirichlet(parts, categories)
    except InvalidInputError:
        names = "uniform:K, jeffreys:K" if categories is None else "uniform, jeffreys"
        raise InvalidInputError(
            f"{option} must be {names} or a number from 1e-100 to 1e100 for each of two or more categories, such as 1,1 or 1/2,1/2; "
            f"got {shown(text)!r}"
        ) from None


def parse_reader_prior(text: str | None, found: "Release", option: str = "--prior") -> "Dirichlet | None":
    """A reader's prior over the categories of a record, if one is given."""
    return None if text is None else parse_prior(text, found.prior.categories, option)


def _size(text: str, family: str, size: str | None, categories: Sequence[Hashable] | None, option: str) -> int:
    """The number of categories that a named prior is for: as it says, as the categories are, and not two things at once."""
    known = None if categories is None else len(categories)
    if size is None and known is not None:
        return known
    if size is None or not (size.isascii() and size.isdigit() and len(size) <= _LONGEST_SIZE and int(size) >= 2):
        raise InvalidInputError(f"{option} must name two or more categories after the colon, such as {family}:3; got {shown(text)!r}")
    if known not in (None, int(size)):
        raise InvalidInputError(f"{option} is for {int(size)} categories, and there are {known}: write {option} {family}")
    return int(size)


def group_key(text: str, what: str) -> Hashable:
    labels = parse_list(text, what)
    return labels[0] if len(labels) == 1 else tuple(labels)


# --- declarations about the data --------------------------------------------------------------------------------------


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
    if "" in labels:
        where = "a blank line" if "@" in text else "a comma too many"
        raise InvalidInputError(f"{option} has one without a name; remove {where}, or name it: got {shown(text)!r}")
    for label, times in Counter(labels).items():
        if times > 1:
            raise InvalidInputError(f"{option}: {shown(label)!r} is declared twice; name each once")


def parse_groups(texts: Sequence[str], file: str, option: str = "--by") -> "Groups | None":
    """The groups that `--by COLUMN=GROUP,GROUP` declares; None without any."""
    from discreet.model.cells import groups_of

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


STANDARD_INPUT = "-"


def read_record(path: str) -> "Release":
    """The release that a file, a page or standard input holds. No more is read than a record can have."""
    from discreet.record.files import read, record_of

    return record_of(sys.stdin.buffer.read(limits.RECORD_CHARACTERS + 1)) if path == STANDARD_INPUT else read(path)


def is_same_file(path: Path, other: str) -> bool:
    """Return whether two names are of one file, also by way of links, and also where there is none yet."""
    try:
        there = Path(other).expanduser()
        return path.samefile(there) if path.exists() else path.resolve() == there.resolve()
    except (OSError, ValueError, RuntimeError):  # no name of a file: whoever reads it says so
        return False


def check_different(records: Sequence[str], why: str) -> None:
    """Refuse a record that is given twice, also under another name, and say why."""
    for one, other in combinations(records, 2):
        if one == other or (STANDARD_INPUT not in (one, other) and is_same_file(Path(one).expanduser(), other)):
            raise InvalidInputError(f"{plain(other)} is given twice: {why}")
