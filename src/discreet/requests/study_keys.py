"""The keys of a study's file, which the fields of a release declare: of what kind their values are, and errors that speak of them."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from discreet.errors import DiscreetError, InvalidInputError, SourceError
from discreet.requests.fields import Field, fields_of, spoken
from discreet.requests.release import ReleaseRequest
from discreet.validation import shown

_NEEDED = {
    "source": 'name the file of the data, as in source = "survey.csv"',
    "epsilon": "say how much all tables may give away together, as in epsilon = 1.0",
    "column": 'say which, as in column = "smoking"',
}
"""Advice where a key is missing that must be there."""


@contextmanager
def in_study(table: str = "", also: str = "") -> Iterator[None]:
    """Say an error in the words of a study's file, and which table it is about; `also` is said where it is about the data."""
    try:
        yield
    except DiscreetError as error:
        said, kind = spoken(error.in_shell, ReleaseRequest, "study", table), type(error)
        if table:
            first, second, *_ = said.split(" ")
            is_key = first in (*keys_of("tables"), "weight") and second in ("must", "is")
            named = "" if first.startswith(f"tables.{table}.") else f"tables.{table}{'.' if is_key else ': '}"
            said = f"{named}{said}"
        said += f"; {also}" if also and kind is SourceError else ""
    else:
        return
    raise kind(said)


def keys_of(part: str) -> dict[str, list[Field]]:
    """The keys of a part of the file, and the fields that declare each of them."""
    found: dict[str, list[Field]] = {}
    for one in fields_of(ReleaseRequest).values():
        if one.key.startswith(f"{part}."):
            found.setdefault(one.key.split(".")[1], []).append(one)
    return found


def values_of(given: Mapping[str, Any], part: str, where: str, needed: Collection[str], *others: str) -> dict[str, Any]:
    """The values of a part of the file, each of the kind that its key wants."""
    known = keys_of(part)
    check_keys(given, [*known, *others], where)
    for key in needed:
        if key not in given:
            raise InvalidInputError(f"{where} has no {key}: {_NEEDED[key]}")
    return {key: value if key in others else _typed(value, known[key], f"{where}.{key}") for key, value in given.items()}


def _typed(value: Any, fields: list[Field], key: str) -> Any:
    """A value of TOML, if it is of the kind that its key wants."""
    items = [one.key.split(".")[2] for one in fields if one.key.count(".") == 2]
    if not items:
        fits, wanted = fields[0].kind.fits(value), fields[0].kind.toml
    elif fields[0].item:
        fits, wanted = isinstance(value, list) and all(one in items for one in value), f"a list of some of {', '.join(map(repr, items))}"
    else:
        fits, wanted = value in items, f"{' or '.join(map(repr, items))}, or be left out"
    if not fits:
        raise InvalidInputError(f"{key} must be {wanted}; got {shown(value)!r}")
    return tuple(value) if items and fields[0].item else value


def check_keys(given: Mapping[str, Any], known: Collection[str], where: str) -> None:
    for key in given:
        if key not in known:
            raise InvalidInputError(f"{where} has an unknown key {shown(key)!r}; it may have {', '.join(known)}")


RULES = {one.key.split(".")[2]: one.item for one in keys_of("study")["normalize"]}
"""The rules by which texts are compared, with the names that counting has for them."""
