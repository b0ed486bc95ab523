"""Parsers of what was typed: lists, numbers, shares, priors and names of groups."""

import csv
import re
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import InvalidInputError

if TYPE_CHECKING:
    from discreet.model.dirichlet import Dirichlet
    from discreet.record.release import Release
    from discreet.validation import Public

_LONGEST_SIZE = 6
"""Digits of a number of categories."""


def parse_list(text: str, option: str) -> list[str]:
    """The parts of one line of CSV, without the blanks around them: one that holds a comma is put in double quotes."""
    from discreet.validation import shown

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
    from discreet.validation import exact, shown

    given = text.strip()
    pointed, is_either = given.replace(",", "."), bool(_GROUPED.fullmatch(given))
    try:
        return exact(pointed if _WITH_COMMA.fullmatch(given) and not is_either else text, option)
    except InvalidInputError:
        meant = f"; write {pointed}, or {given.replace(',', '')} without a comma" if is_either and given.count(",") == 1 else ""
        raise InvalidInputError(f"{option} must be a number such as 0.5 or 1/3, got {shown(text)!r}{meant}") from None


def parse_whole(text: str, option: str) -> int:
    """The whole number that a text stands for, 10,000 and 10 000 too, but no comma that could be that of a decimal."""
    from discreet.validation import shown

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
    from discreet.validation import shown

    try:
        level = float(parse_share(text, "--mass"))
    except InvalidInputError:
        level = 0.0
    if not 0.0 < level < 1.0:
        meant = f"; for {level:g} percent write {level:g}%" if 1.0 < level < 100.0 else ""
        raise InvalidInputError(f"--mass must be a number between 0 and 1, such as 0.9 or 90%, got {shown(text)!r}{meant}")
    return level


def parse_public(text: str, option: str = "--public", *, groups: bool = False) -> "Public":
    """Parse what is public about the data: "total" or "nothing", and "sizes" where there are groups."""
    from discreet.validation import check_public

    return check_public(text, option, groups=groups)


def parse_prior(text: str, categories: Sequence[Hashable] | None = None, option: str = "--prior") -> "Dirichlet":
    """The prior that a text such as `1,1`, `uniform:3` or, where the categories are known, `uniform` stands for."""
    from discreet.model.dirichlet import Dirichlet
    from discreet.validation import shown

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


def parse_reader_prior(text: str | None, found: "Release") -> "Dirichlet | None":
    """A reader's prior over the categories of a record, if one is given."""
    return None if text is None else parse_prior(text, found.prior.categories)


def _size(text: str, family: str, size: str | None, categories: Sequence[Hashable] | None, option: str) -> int:
    """The number of categories that a named prior is for: as it says, as the categories are, and not two things at once."""
    from discreet.validation import shown

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
