"""The written form of a release: JSON of several versions (docs/reference/release.md).

Numbers that matter are written exactly, as strings of whole numbers or ratios; what is read is checked field by field, and anything
that is not exactly what the version says is refused.
"""

import json
import re
from collections.abc import Callable, Hashable, Mapping
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import limits
from discreet.errors import DiscreetError, InvalidInputError
from discreet.model.datasets import check_relation
from discreet.model.dirichlet import Beta, Dirichlet
from discreet.model.periods import PeriodRange
from discreet.record.about import LONG_NUMBER, TEXTS, About, CountingRule

if TYPE_CHECKING:
    from discreet import Mechanism, Release
    from discreet.record.guarantee import Guarantee


FORMAT = "discreet release"
STUDY_FORMAT = "discreet study"
"""The format named by the file that lists the tables of a study."""
TABLE = 3
_WITH_WORDS, _WITH_STATEMENTS, _WITH_CORRECTIONS, _WITH_PERIODS = 4, 5, 6, 7
VERSIONS = (1, 2, TABLE, _WITH_WORDS, _WITH_STATEMENTS, _WITH_CORRECTIONS, _WITH_PERIODS)
"""The first is for a public n. The second differs in one thing: n is null, because the number of records is private. The third is for
tables. The fourth is any of these with a field `about`. The fifth is the fourth with a counting rule that has more fields, and is written
where one of them says something. The sixth is the fifth with corrections, or with the rule "ignore accents". The seventh is any of these
with a guarantee about periods. Whoever knows only the first refuses all others."""
_RULE_COLUMNS = ("column", "privacy_id", "weight", "strict")
_RULE_ANSWERS = ("nulls", "other", "na_values", "mapping", "other_groups")
"""The fields of a counting rule of the fourth version; between them stand those that came later."""
_STATEMENTS = ("one_row_per_person", "spelling")
_CORRECTIONS = (*_STATEMENTS, "corrections")
_GUARANTEE = ("epsilon", "delta", "basis", "unit", "neighbours")

_RELEASE_FIELDS = ("format", "version", "mechanism", "parameters", "prior", "n", "guarantee", "raw", "counts")
_EXACT_PARAMETERS = ("epsilon", "gamma", "delta", "rho", "factor")
"""Parameters that are exact numbers; all others are text or truth values."""
_RATIO = re.compile(r"[0-9]{1,1001}(/[0-9]{1,1001})?")
_DECIMAL = re.compile(r"[0-9]{1,400}(\.[0-9]{1,400})?(e[+-]?[0-9]{1,3})?|inf")
_AS_TEXT: dict[str, tuple[type, Callable[[str], Hashable]]] = {
    "date": (date, date.fromisoformat),
    "datetime": (datetime, datetime.fromisoformat),
    "decimal": (Decimal, Decimal),
    "fraction": (Fraction, Fraction),
}
"""Types of labels that are written as text, with what reads them."""


# --- writing ----------------------------------------------------------------------------------------------------------


def written(release: "Release") -> str:
    """JSON text of a release of one variable."""
    body = {
        **written_description(release.mechanism, release.guarantee, release.about, 1 if release.n is not None else 2),
        "n": release.n,
        "guarantee": written_guarantee(release.guarantee),
        "raw": list(release.raw),
        "counts": list(release.counts),
    }
    return json.dumps(body, indent=2, allow_nan=False)


def written_description(mechanism: "Mechanism", guarantee: "Guarantee", about: About | None, version: int) -> dict[str, Any]:
    """Return the beginning of a record of any version: its words and its mechanism, without n and how a table is laid out.

    `version` is that of a record without words and periods.
    """
    name, parameters = mechanism._described()
    if guarantee.period is not None:
        version = _WITH_PERIODS
    elif about is not None:
        version = _version(about.counting)
    return {
        "format": FORMAT,
        "version": version,
        **({"about": None if about is None else written_about(about, version)} if version >= _WITH_WORDS else {}),
        "mechanism": name,
        "parameters": written_parameters(parameters),
        "prior": written_prior(mechanism.prior),
    }


def written_prior(prior: Dirichlet | Beta) -> dict[str, Any]:
    """A prior with its parameters as exact text."""
    return {
        "family": type(prior).__name__,
        "concentration": [written_number(a) for a in prior.exact],
        "categories": [written_label(c) for c in prior.categories],
    }


def written_guarantee(guarantee: "Guarantee") -> dict[str, str]:
    """A guarantee whose every field is text."""
    return {
        **{name: repr(getattr(guarantee, name)) for name in ("epsilon", "delta")},
        **{name: str(getattr(guarantee, name)) for name in ("basis", "unit", "neighbours")},
        **({} if guarantee.period is None else {"period": str(guarantee.period)}),
    }


def written_about(about: About, version: int | None = None) -> dict[str, Any]:
    """Words about a release, with null for those that were not given, and the counting rule as an object if it is known as one."""
    rule = about.counting
    texts = {name: getattr(about, name) for name in (*TEXTS, "date", "software")}
    return {**texts, "counting": _written_rule(rule, version or _version(rule)) if isinstance(rule, CountingRule) else rule}


def _version(rule: Any) -> int:
    """The least version that has a field for everything that a counting rule says."""
    if not isinstance(rule, CountingRule):
        return _WITH_WORDS
    if rule.dated is not None:
        return _WITH_PERIODS
    if rule.corrections or "ignore accents" in rule.spelling:
        return _WITH_CORRECTIONS
    return _WITH_STATEMENTS if any(getattr(rule, name) for name in _STATEMENTS) else _WITH_WORDS


_STATED = {_WITH_STATEMENTS: _STATEMENTS, _WITH_CORRECTIONS: _CORRECTIONS, _WITH_PERIODS: (*_CORRECTIONS, "dated")}
"""The fields of a counting rule that a version has beside those of the fourth."""


def _written_rule(rule: CountingRule, version: int) -> dict[str, Any]:
    return {name: _written_value(getattr(rule, name)) for name in _fields_of_rule(version)}


def _fields_of_rule(version: int) -> tuple[str, ...]:
    """The fields of a counting rule in a version, in their order."""
    return (*_RULE_COLUMNS, *_STATED.get(version, ()), *_RULE_ANSWERS)


def _written_value(value: Any) -> Any:
    return list(map(_written_value, value)) if isinstance(value, tuple) else written_label(value)


def written_number(value: Fraction) -> str:
    try:
        return str(value)
    except ValueError:
        raise InvalidInputError("a number of more than 4,000 digits cannot be written to a release") from None


def written_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters with exact numbers as text."""
    return {name: _written_parameter(value) for name, value in parameters.items()}


def _written_parameter(value: Any) -> Any:
    if isinstance(value, Mapping):
        return written_parameters(value)
    return written_number(value) if isinstance(value, Fraction) else value


def written_label(label: Hashable) -> Any:
    """A category as it stands in a record: JSON's own scalars as they are; a few other types as their text with the type's name."""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, int):
        return _moderate(label)
    if label is None:
        return label
    if isinstance(label, str):
        return str(label)
    if isinstance(label, float) and isfinite(label):
        return label
    for name, (kind, _) in _AS_TEXT.items():
        if type(label) is kind:
            return {"type": name, "value": label.isoformat() if isinstance(label, date) else str(label)}
    raise InvalidInputError(
        f"a category label of type {type(label).__name__} cannot be written to JSON; use text, numbers, truth values or dates"
    )


def _moderate(label: int) -> int:
    """A whole number, refused if it is longer than the numbers of a record are."""
    if abs(label) >= LONG_NUMBER:
        raise InvalidInputError(f"a label that is a number must have at most {limits.NUMBER_DIGITS:,} digits; one has more")
    return label


# --- reading ----------------------------------------------------------------------------------------------------------


def read(text: str | bytes) -> dict[str, Any]:
    """The fields of a release, of a table or not; the guarantee as a mapping of its own fields."""
    body = parsed(text)
    if is_table(body):
        from discreet.record.table_json import read_table

        return read_table(body)
    check_fields(body, fields_of(body, _RELEASE_FIELDS), "a release")
    return {
        **read_description(body),
        "n": _records(body["n"], body["version"]),
        "raw": _integers(body["raw"], "raw"),
        "counts": _integers(body["counts"], "counts"),
    }


def is_table(body: Mapping[str, Any]) -> bool:
    """Return whether a record is that of a table, by its version; with words, by whether it has groups."""
    return body["version"] == TABLE or (body["version"] >= _WITH_WORDS and "groups" in body)


def fields_of(body: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, ...]:
    """The fields that a record must have: these and, if its version has words, `about`."""
    return (*names, "about") if body["version"] >= _WITH_WORDS else names


def read_description(body: Mapping[str, Any]) -> dict[str, Any]:
    """Read the fields that records of all versions have in common."""
    return {
        "about": _about(body["about"], body["version"]) if body["version"] >= _WITH_WORDS else None,
        "mechanism": _text(body["mechanism"], "mechanism"),
        "parameters": read_parameters(body["parameters"]),
        "prior": read_prior(body["prior"]),
        "guarantee": _guarantee(body["guarantee"], body["version"]),
    }


_FILE = "to read a file, give its text: Release.from_json(Path('release.json').read_text())"
NAME_A_RECORD = "name the JSON file that `discreet release --output` wrote"


def parsed(text: str | bytes) -> dict[str, Any]:
    """The JSON object that a text holds, of a known version."""
    if not isinstance(text, (str, bytes)):
        raise InvalidInputError(f"a release is read from JSON text, not from {type(text).__name__}; {_FILE}")
    if len(text) > limits.RECORD_CHARACTERS:
        raise InvalidInputError(f"this text is too long for a release: more than {limits.RECORD_CHARACTERS:,} characters")
    try:
        body = json.loads(
            text.removeprefix("\ufeff") if isinstance(text, str) else text, parse_constant=_no_constant, object_pairs_hook=_no_duplicates
        )
    except InvalidInputError:
        raise
    except (ValueError, RecursionError):
        fault = "this is not a release: the text is not JSON"
        raise InvalidInputError(f"{fault}; {_FILE}", in_shell=f"{fault}; {NAME_A_RECORD}") from None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        if isinstance(body, dict) and body.get("format") == STUDY_FORMAT:
            raise InvalidInputError("this lists the tables of a study, and holds none: name the record of one, which lies beside it")
        raise InvalidInputError(f'this is not a release: it does not say "format": "{FORMAT}"')
    if type(body.get("version")) is not int or body["version"] not in VERSIONS:
        raise InvalidInputError(f"this release is of a version that is not known here; versions {VERSIONS[0]} to {VERSIONS[-1]} are")
    return body


def _no_constant(name: str) -> Any:
    raise InvalidInputError(f"{name} is not a number a release can hold")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidInputError("a release has each field once; this text repeats one")
    return found


def check_fields(value: Any, names: tuple[str, ...], what: str) -> None:
    """Refuse what is not an object with just these fields."""
    if not isinstance(value, dict):
        raise InvalidInputError(f"{what} must be an object with the fields {', '.join(names)}")
    for name in names:
        if name not in value:
            raise InvalidInputError(f"{what} must have a field {name!r}")
    for name in value:
        if name not in names:
            raise InvalidInputError(f"{what} has a field {name[:40]!r} that its version does not know")


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} must be text")
    return value


def read_integer(value: Any, name: str, where: str = "") -> int:
    if type(value) is not int:
        raise InvalidInputError(f"{name} must be a whole number{where}")
    return value


def _records(value: Any, version: int) -> int | None:
    if version >= _WITH_WORDS:
        return None if value is None else read_integer(value, "n", ", or null where it is private")
    if version == 1:
        return read_integer(value, "n", " in a release of version 1, which is for a public n")
    if value is not None:
        raise InvalidInputError("n must be null in a release of version 2, which is for a private n")
    return None


def _integers(value: Any, name: str) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise InvalidInputError(f"{name} must be a list of whole numbers")
    return tuple(read_integer(item, name) for item in value)


def read_number(value: Any, name: str) -> Fraction:
    """A number that is written exactly, as text."""
    if not isinstance(value, str) or not _RATIO.fullmatch(value):
        raise InvalidInputError(f"{name} must be a number written exactly, as text such as '3' or '1/2'")
    try:
        return Fraction(value)
    except ZeroDivisionError:
        raise InvalidInputError(f"{name} must not be divided by 0") from None


def read_parameters(value: Any, wrappers: int = limits.WRAPPERS) -> dict[str, Any]:
    """Parameters as `written_parameters` wrote them, checked."""
    if not isinstance(value, dict) or wrappers < 0:
        raise InvalidInputError(f"parameters and options must be objects, at most {limits.WRAPPERS} options deep")
    return {name: _parameter(name, item, wrappers) for name, item in value.items()}


def _parameter(name: str, value: Any, wrappers: int) -> Any:
    if name == "options":
        return read_parameters(value, wrappers - 1)
    if name in _EXACT_PARAMETERS:
        return read_number(value, name)
    if not isinstance(value, (str, bool, int)):
        raise InvalidInputError(f"parameter {name[:40]!r} must be text, a whole number or a truth value")
    return value


def read_prior(value: Any) -> Dirichlet | Beta:
    """A prior as `written_prior` wrote it, checked."""
    check_fields(value, ("family", "concentration", "categories"), "prior")
    family, concentration, categories = value["family"], value["concentration"], value["categories"]
    if family not in ("Dirichlet", "Beta"):
        raise InvalidInputError("the prior's family must be 'Dirichlet' or 'Beta'")
    if not isinstance(concentration, list) or not isinstance(categories, list):
        raise InvalidInputError("the prior's concentration and categories must be lists")
    exact = [read_number(a, "concentration") for a in concentration]
    labels = tuple(read_label(c) for c in categories)
    if family == "Dirichlet":
        return Dirichlet(exact, labels)
    if len(exact) != 2:
        raise InvalidInputError("a Beta prior must have two concentrations")
    return Beta(exact[0], exact[1], labels)


def read_label(value: Any) -> Hashable:
    """A label as `written_label` wrote it, checked."""
    if isinstance(value, int):
        return _moderate(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float):
        return _finite(value)
    check_fields(value, ("type", "value"), "a category that is not a JSON scalar")
    kind, text = value["type"], value["value"]
    if not (isinstance(kind, str) and kind in _AS_TEXT and isinstance(text, str) and len(text) <= 4000):
        raise InvalidInputError(f"a category's type must be one of {', '.join(_AS_TEXT)}, and its value text")
    if kind == "fraction" and not _RATIO.fullmatch(text.removeprefix("-")):
        raise InvalidInputError("a category of type fraction must look like '1/2'")
    try:
        return _finite(_AS_TEXT[kind][1](text))
    except (ArithmeticError, ValueError):
        raise InvalidInputError(f"a category's value is not a {kind}") from None


def _finite(label: Hashable) -> Hashable:
    """A label that is equal to itself and can be hashed, which not every number is."""
    if (isinstance(label, float) and not isfinite(label)) or (isinstance(label, Decimal) and not label.is_finite()):
        raise InvalidInputError("a category that is a number must be a finite one")
    return label


def _guarantee(value: Any, version: int) -> dict[str, Any]:
    check_fields(value, (*_GUARANTEE, "period") if version == _WITH_PERIODS else _GUARANTEE, "guarantee")
    result = {name: _text(item, f"the guarantee's {name}") for name, item in value.items()}
    for name, allowed in (("basis", ("proof", "computation", "none")), ("unit", ("record", "person"))):
        if result[name] not in allowed:
            raise InvalidInputError(f"the guarantee's {name} must be one of {', '.join(allowed)}")
    for name in ("epsilon", "delta"):
        if not _DECIMAL.fullmatch(result[name]):
            raise InvalidInputError(f"the guarantee's {name} must be a number written as text, such as '0.5', or 'inf'")
    return {
        **result,
        **{name: _float(result[name], name) for name in ("epsilon", "delta")},
        "neighbours": check_relation(result["neighbours"]),
        **({"period": PeriodRange.read(result["period"], "the guarantee's period")} if version == _WITH_PERIODS else {}),
    }


def _float(text: str, name: str) -> float:
    """The float that a guarantee holds; refused if the text says another number, however near, than this float does."""
    found = float(text)
    if text != "inf" and (not isfinite(found) or Fraction(repr(found)) != Fraction(text)):
        raise InvalidInputError(f"the guarantee's {name} has more digits than a record keeps, and would be taken for another number")
    return found


def _about(value: Any, version: int) -> About | None:
    """Words about a release as `written_about` wrote them, checked."""
    if version == _WITH_PERIODS and value is None:
        return None
    check_fields(value, (*TEXTS, "date", "software", "counting"), "about")
    rule = value["counting"]
    if version in _STATED and version != _WITH_PERIODS and not isinstance(rule, dict):
        raise InvalidInputError(f"counting must be an object in a release of version {version}")
    return About(**{**value, "counting": _rule(rule, version) if isinstance(rule, dict) else rule})


def _rule(value: dict[str, Any], version: int) -> CountingRule:
    names = _fields_of_rule(version)
    check_fields(value, names, "a counting rule")
    rule = CountingRule(**{name: _value(value[name]) for name in names})
    rule.check_plain()
    return rule


def _value(value: Any) -> Any:
    return tuple(map(_value, value)) if isinstance(value, list) else read_label(value)


def guarded(build: Callable[[], Any]) -> Any:
    """Build an object of a record, and turn whatever discreet refuses about it into an error about the record."""
    try:
        return build()
    except InvalidInputError:
        raise
    except DiscreetError as error:
        raise InvalidInputError(f"this release cannot be read: {error}") from None
