"""Budgets and spends as rows of the ledger's tables: amounts and days as text, which every database keeps exactly."""

import json
from collections.abc import Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import Any, cast

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
from discreet.model.periods import Every, PeriodRange, check_every
from discreet.validation import exact


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
    return Budget(
        _text_of(row, "dataset"), total, _unit_of(row), _day_of(row, "created"), _filter_of(row), _relation_of(row), _every_of(row)
    )


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
        _description_of(row),
        _day_of(row, "time"),
        None if divergence is None else amount_of(divergence),
        guarantee=charged if row.get("guarantee_epsilon") is None else _loss_of(row, "guarantee_"),
        neighbours=_relation_of(row),
        **{name: None if row.get(name) is None else _text_of(row, name) for name in ("request", "source")},
        period=period_of(row),
    )


def _amounts(loss: Loss, whose: str = "") -> dict[str, str]:
    return {f"{whose}epsilon": amount_text(loss.epsilon), f"{whose}delta": amount_text(loss.delta)}


def _loss_of(row: Mapping[str, Any], whose: str = "") -> Loss:
    return Loss(amount_of(row[f"{whose}epsilon"]), amount_of(row[f"{whose}delta"]))


def amount_of(text: Any) -> Fraction:
    """The amount that a row holds as text; DamagedRowError for one that no ledger writes, before it takes long to read or to add up."""
    try:
        amount = exact(text, "an amount")
    except InvalidInputError:
        amount = Fraction(-1)
    if amount < 0 or max(amount.as_integer_ratio()) > 10 ** (limits.AMOUNT_DIGITS + _MORE_DIGITS):
        raise DamagedRowError("someone has edited an amount")
    return amount


_MORE_DIGITS = 25
"""Digits that an amount in a row may have beside those that are taken: twice an ε has one, and a divergence has twenty decimals."""


def _text_of(row: Mapping[str, Any], name: str) -> str:
    if not isinstance(row[name], str):
        raise DamagedRowError("someone has edited a text")
    return str(row[name])


def _unit_of(row: Mapping[str, Any]) -> Unit:
    if row["unit"] not in ("record", "person"):
        raise DamagedRowError("someone has edited a unit")
    return cast("Unit", row["unit"])


def _description_of(row: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        found = json.loads(_text_of(row, "description"))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise DamagedRowError("someone has edited a description")
    return found


def _relation_of(row: Mapping[str, Any]) -> Relation:
    try:
        return check_relation(row.get("neighbours") or Relation.REPLACE_ONE)
    except InvalidInputError:  # not the caller's fault, but the ledger's
        raise DamagedRowError("someone has edited the neighbours of a row") from None


def _every_of(row: Mapping[str, Any]) -> Every | None:
    try:
        return None if row.get("every") is None else check_every(row["every"])
    except InvalidInputError:
        raise DamagedRowError("someone has edited the periods of a budget") from None


def period_of(row: Mapping[str, Any]) -> PeriodRange | None:
    """The periods of a row; DamagedRowError if they are not spelt as a ledger spells them."""
    try:
        return None if row.get("period") is None else PeriodRange.read(row["period"])
    except InvalidInputError:
        raise DamagedRowError("someone has edited the period of a spend") from None


def _day_of(row: Mapping[str, Any], name: str) -> date:
    try:
        return datetime.fromisoformat(_text_of(row, name)).date()
    except ValueError:
        raise DamagedRowError("someone has edited a day") from None
