"""The TOML file of a study, read and written: its keys are those that the fields of a release declare."""

import re
from collections.abc import Collection, Hashable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.data.made_labels import Bands, MadeLabels, typed_labels
from discreet.errors import InvalidInputError
from discreet.model.cells import Groups
from discreet.model.dirichlet import Dirichlet
from discreet.requests.fields import Field, fields_of
from discreet.requests.kinds import LABELS_KIND, PRIOR_KIND, number_words
from discreet.requests.parsing import STANDARD_INPUT
from discreet.requests.release import MECHANISMS, ReleaseRequest
from discreet.requests.studies.study import MANIFEST, Study, StudyTable, in_study, keys_of
from discreet.text import shown
from discreet.validation import PROMISES, check_moderate, exact

_NAME = re.compile(r"[\w-]{1,60}")
_NEEDED = {
    "source": 'name the file of the data, as in source = "survey.csv"',
    "epsilon": "say how much all tables may give away together, as in epsilon = 1.0",
    "column": 'say which, as in column = "smoking"',
}
"""Advice where a key is missing that must be there."""
_ASKED_BY = "# discreet release study.toml --ledger LEDGER --output FOLDER"
_COMMON = ("path", "id", "one_row_per_person", "public", "strict", "normalize", "encoding", "period", "period_column")
"""The attributes of a study that its tables have in common."""


def parsed(content: Mapping[str, Any], folder: Path) -> Study:
    """The study that the content of a TOML file declares."""
    check_keys(content, ("study", "tables"), "the file")
    head, tables = content.get("study"), content.get("tables", {})
    if not isinstance(head, dict):
        raise InvalidInputError("the study must have a part [study] with its source and epsilon")
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise InvalidInputError("tables must be declared as [tables.NAME], each with its column")
    values = values_of(head, "study", "study", ("source", "epsilon"))
    if "rows" in values:
        if "id" in values:
            raise InvalidInputError("study.id and study.rows do not go together: an id says whose a row is, so leave out one of the two")
        values["one_row_per_person"] = bool(values.pop("rows"))
    if values.get("public", "total") not in PROMISES:
        raise InvalidInputError(f"study.public must be 'sizes', 'total' or 'nothing', got {shown(values['public'])!r}")
    epsilon = check_moderate(values.pop("epsilon"), "study.epsilon")
    return Study(tuple(_table(name, table) for name, table in tables.items()), epsilon, folder=folder, **values)


def _table(name: str, given: Mapping[str, Any]) -> StudyTable:
    if not _NAME.fullmatch(name) or name.casefold() == MANIFEST:
        raise InvalidInputError(
            f"a table must be called by letters, digits, _ and -, at most 60, because its file is, and not {MANIFEST!r}; "
            f"got {shown(name)!r}"
        )
    where = f"tables.{name}"
    values = values_of(given, "tables", where, ("column",), "weight")
    if "missing" in given and "bands" not in given:
        raise InvalidInputError(f"{where}.missing is the category of missing numbers, for bands; nulls names one of the categories")
    if ("categories" in given) == ("bands" in given):
        raise InvalidInputError(f"{where} must have either categories or bands, such as categories = ['yes', 'no'] or bands = [0, 1, 3]")
    weight = exact(values.pop("weight", 1), f"{where}.weight")
    if weight < 0:
        raise InvalidInputError(f"{where}.weight must not be negative, got {shown(given['weight'])}")
    with in_study(name):
        by = {column: _labels(labels, f"{where}.by.{shown(column)}") for column, labels in values.pop("by", {}).items()}
        bands = Bands(values.pop("bands"), values.pop("missing", None)) if "bands" in given else None
        labels = bands or _labels(values.pop("categories"), f"{where}.categories")
    counting = {key: values.pop(key) for key, (one, *_) in keys_of("tables").items() if key in values and one.call == "count"}
    if "impossible" in counting:
        counting["impossible"] = [tuple(cell) for cell in counting["impossible"]]
    return StudyTable(name, categories=labels, by=by, weight=weight, counting=counting, **values)


def _labels(given: Any, where: str) -> tuple[Hashable, ...]:
    """The categories of a table or the groups of a column: a list, or the rule that makes them."""
    if isinstance(given, dict):
        check_keys(given, ("bands", "missing"), where)
        return Bands(given.get("bands", ()), given.get("missing"))
    made: MadeLabels | None = typed_labels(given) if isinstance(given, str) else None
    if not LABELS_KIND.fits(given) or (isinstance(given, str) and made is None):
        raise InvalidInputError(f"{where} must be {LABELS_KIND.toml}; got {shown(given)!r}")
    return tuple(given) if made is None else made


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


# --- written ----------------------------------------------------------------------------------------------------------


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
