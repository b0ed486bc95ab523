"""Budgets and spends as rows of the ledger's tables: amounts and days as text, which every database keeps exactly."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, datetime
from fractions import Fraction
from typing import Any, TypeVar

from discreet import limits
from discreet.errors import InvalidInputError
from discreet.ledger.budgets import (
    ORDER_EXPONENTS,
    Budget,
    Charge,
    Loss,
    Purpose,
    RenyiFilter,
    Spend,
    Unit,
    amount_text,
    as_json,
    today,
)
from discreet.model.datasets import Relation, check_relation
from discreet.model.periods import PeriodRange, check_every
from discreet.validation import check_unit, exact

_Value = TypeVar("_Value")


class DamagedRowError(ValueError):
    """A row holds what no ledger writes there. The message quotes nothing of it."""


def budget_row(budget: Budget) -> dict[str, Any]:
    rule = budget.filter
    return {
        "dataset": budget.dataset,
        "epsilon": amount_text(budget.total.epsilon),
        "delta": amount_text(budget.total.delta),
        "unit": budget.unit,
        "created": budget.created.isoformat(),
        "filter_order": None if rule is None else amount_text(rule.order),
        "filter_limit": None if rule is None else amount_text(rule.limit),
        "neighbours": str(budget.neighbours),
        "every": budget.every,
    }


def budget_of(row: Mapping[str, Any]) -> Budget:
    """The budget of a row, also of one that an older ledger wrote: its neighbours replace one. DamagedRowError if it is damaged."""
    total = _loss_of(row)
    if not total.epsilon:
        raise DamagedRowError("someone has edited the amounts of a budget")
    created, every = _read(row, "created", _day, "a day"), _read_or_none(row, "every", check_every, "the periods of a budget")
    return Budget(_text_of(row, "dataset"), total, _unit_of(row), created, _filter_of(row), _relation_of(row), every)


def _filter_of(row: Mapping[str, Any]) -> RenyiFilter | None:
    if row.get("filter_order") is None or row.get("filter_limit") is None:
        return None
    rule = RenyiFilter(amount_of(row["filter_order"]), amount_of(row["filter_limit"]))
    least, most = (1 + Fraction(10) ** exponent for exponent in ORDER_EXPONENTS)
    if not least <= rule.order <= most or not rule.limit:
        raise DamagedRowError("someone has edited the filter of a budget")
    return rule


def spend_row(budget: Budget, charge: Charge, purpose: Purpose) -> dict[str, Any]:
    """A spend of today as a row of its table; the database numbers it."""
    own = charge.promise
    return {
        "dataset": budget.dataset,
        **_amounts(charge.loss),
        "unit": own.unit or budget.unit,
        "note": purpose.note,
        "description": as_json(purpose.description),
        "time": today().isoformat(),
        "divergence": None if charge.divergence is None else amount_text(charge.divergence),
        "neighbours": str(own.neighbours or budget.neighbours),
        **_amounts(own.loss, "guarantee_"),
        "request": purpose.request,
        "source": purpose.source,
        "period": None if own.period is None else str(own.period),
    }


def spend_of(row: Mapping[str, Any]) -> Spend:
    """The spend of a row, also of one that an older ledger wrote: its time is rounded to the day, and it was charged its own ε and δ.

    DamagedRowError if it is damaged.
    """
    divergence = row.get("divergence")
    charged = _loss_of(row)
    return Spend(
        row["number"],
        _text_of(row, "dataset"),
        charged,
        _unit_of(row),
        _text_of(row, "note"),
        _read(row, "description", _description, "a description"),
        _read(row, "time", _day, "a day"),
        None if divergence is None else amount_of(divergence),
        guarantee=charged if row.get("guarantee_epsilon") is None else _loss_of(row, "guarantee_"),
        neighbours=_relation_of(row),
        **{name: _read_or_none(row, name, str, "a text") for name in ("request", "source")},
        period=period_of(row),
    )


def _amounts(loss: Loss, whose: str = "") -> dict[str, str]:
    """The amounts of a spend as text. InvalidInputError for fractions whose sum has more digits than `amount_of` takes."""
    if _is_long(loss.epsilon) or _is_long(loss.delta):
        raise InvalidInputError("fractions that are charged together add up to one of too many digits: write decimals; nothing was spent")
    return {f"{whose}epsilon": amount_text(loss.epsilon), f"{whose}delta": amount_text(loss.delta)}


def _loss_of(row: Mapping[str, Any], whose: str = "") -> Loss:
    return Loss(amount_of(row[f"{whose}epsilon"]), amount_of(row[f"{whose}delta"]))


def amount_of(text: Any) -> Fraction:
    """The amount that a row holds as text; DamagedRowError for one that no ledger writes, before it takes long to read or to add up."""
    try:
        amount = exact(text, "an amount")
    except InvalidInputError:
        amount = Fraction(-1)
    if amount < 0 or _is_long(amount):
        raise DamagedRowError("someone has edited an amount")
    return amount


def _is_long(amount: Fraction) -> bool:
    return bool(max(amount.as_integer_ratio()) > 10 ** (limits.AMOUNT_DIGITS + _MORE_DIGITS))


_MORE_DIGITS = 25
"""Digits that an amount in a row may have beside those that are taken: twice an ε has one, and a divergence has twenty decimals."""


def _read(row: Mapping[str, Any], name: str, read: Callable[[str], _Value], what: str) -> _Value:
    """Return the value that a text of a row stands for; DamagedRowError if it is no text, or none that a ledger writes."""
    text = row[name]
    with suppress(ValueError, RecursionError):  # an argument that is refused is a ValueError, and here no fault of the caller's
        if isinstance(text, str):
            return read(text)
    raise DamagedRowError(f"someone has edited {what}")


def _read_or_none(row: Mapping[str, Any], name: str, read: Callable[[str], _Value], what: str) -> _Value | None:
    """Return the value that a text of a row stands for; None if the row has none, as in an older ledger."""
    return None if row.get(name) is None else _read(row, name, read, what)


def _text_of(row: Mapping[str, Any], name: str) -> str:
    return _read(row, name, str, "a text")


def _unit_of(row: Mapping[str, Any]) -> Unit:
    return _read(row, "unit", check_unit, "a unit")


def _relation_of(row: Mapping[str, Any]) -> Relation:
    return _read_or_none(row, "neighbours", check_relation, "the neighbours of a row") or Relation.REPLACE_ONE


def period_of(row: Mapping[str, Any]) -> PeriodRange | None:
    """The periods of a row; DamagedRowError if they are not spelt as a ledger spells them."""
    return _read_or_none(row, "period", PeriodRange.read, "the period of a spend")


def _day(text: str) -> date:
    return datetime.fromisoformat(text).date()


def _description(text: str) -> Mapping[str, Any]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise DamagedRowError("a description is a mapping")
    return found
