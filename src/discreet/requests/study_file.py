"""The TOML file of a study: its keys are those that the fields of a release declare, and whatever is wrong is said by its key."""

import re
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

from discreet.data.made_labels import Bands, MadeLabels, typed_labels
from discreet.errors import InvalidInputError
from discreet.requests.kinds import LABELS_KIND
from discreet.requests.study import MANIFEST, Study, StudyTable
from discreet.requests.study_keys import check_keys, in_study, keys_of, values_of
from discreet.validation import PROMISES, check_moderate, exact, shown

_NAME = re.compile(r"[\w-]{1,60}")


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
