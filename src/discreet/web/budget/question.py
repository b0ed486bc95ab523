"""A dataset that is to be created on the screen for budgets, read from the fields of its form."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, cast

from discreet import limits
from discreet.errors import InvalidInputError
from discreet.ledger.budgets import Loss, Unit, checked_loss, checked_text
from discreet.ledger.filters import planned_filter
from discreet.ledger.names import check_new_name, cleaned
from discreet.model.datasets import Relation
from discreet.requests.fields import WrongError
from discreet.requests.parsing import parse_list, parse_number
from discreet.validation import shown
from discreet.web.forms import FieldReader

CREATE_FIELDS = ("dataset", "epsilon", "delta", "unit", "public", "by", "planned", "create")
"""The fields of the form that creates a dataset; beside the last, its button, it is said what the ledger refuses."""
UNITS: Mapping[str, str] = {"record": "One record", "person": "One person, with all their records"}
PublicKind = Literal["total", "sizes", "nothing"]
PUBLIC: Mapping[str, str] = {
    "total": "How many records there are",
    "sizes": "How many each group has",
    "nothing": "Nothing",
}


@dataclass(frozen=True)
class NewDataset:
    """A dataset that is to be created."""

    dataset: str
    total: Loss
    unit: Unit
    public: PublicKind
    neighbours: Relation
    planned: Fraction | None
    """The ε of a typical one of many small releases, if the dataset is to be kept by a filter."""
    typed: Mapping[str, str]
    """The numbers as they were typed, by field."""

    def named(self, dataset: str) -> "NewDataset":
        """The same with the name as the ledger keeps it."""
        return replace(self, dataset=dataset)


def new_dataset(fields: Mapping[str, str]) -> NewDataset:
    """The dataset of a form. Raises WrongError with what is to be said beside each field that is wrong."""
    reading = FieldReader(fields)
    taken, wrong = reading.taken, reading.wrong
    dataset, unit = taken("dataset", _name), taken("unit", _unit)
    epsilon, delta = taken("epsilon", _epsilon), taken("delta", _delta)
    public = taken("public", _public)
    neighbours = None if public is None else taken("by", lambda text: _neighbours(public, text))
    if epsilon is not None and delta is not None:
        total = Loss(epsilon, delta)
        planned = taken("planned", lambda text: _planned(text, total))
    if wrong or dataset is None or unit is None or public is None or neighbours is None:
        raise WrongError(wrong)
    return NewDataset(dataset, total, unit, public, neighbours, planned, {name: fields.get(name, "") for name in CREATE_FIELDS})


def _name(text: str) -> str:
    if not text:
        raise InvalidInputError("the dataset needs a name, such as survey 2024")
    check_new_name(checked_text(cleaned(text), "the name", limits.NAME_CHARACTERS), ())
    return text


def _epsilon(text: str) -> Fraction:
    if not text:
        raise InvalidInputError("say how much ε may ever be spent, such as 1")
    return checked_loss(parse_number(text, "ε"), 0, "the budget's ").epsilon


def _delta(text: str) -> Fraction:
    return checked_loss(1, parse_number(text or "0", "δ"), "the budget's ").delta


def _unit(text: str) -> Unit:
    if text not in UNITS:
        raise InvalidInputError(f"choose one of {', '.join(UNITS)}; got {shown(text)!r}")
    return cast("Unit", text)


def _public(text: str) -> PublicKind:
    if text not in PUBLIC:
        raise InvalidInputError(f"choose one of {', '.join(PUBLIC)}; got {shown(text)!r}")
    return cast("PublicKind", text)


def _neighbours(public: PublicKind, by: str) -> Relation:
    """What a budget hides, by what is public; columns count only where the sizes of groups are."""
    if public == "nothing":
        return Relation.ADD_REMOVE_ONE
    if public == "total":
        return Relation.REPLACE_ONE
    columns = parse_list(by, "the columns")
    if not columns or not all(columns) or any("=" in column for column in columns):
        raise InvalidInputError("name the columns that the groups are made of, separated by commas, such as region, sex")
    return Relation("replace one", tuple(columns))


def _planned(text: str, total: Loss) -> Fraction | None:
    if not text:
        return None
    planned = parse_number(text, "ε of a typical release")
    planned_filter(total, planned)
    return planned
