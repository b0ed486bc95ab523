"""Budgets and spends as values: exact amounts, the rule that decides what may be spent, and their rows in the ledger's tables."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from fractions import Fraction
from itertools import count
from math import gcd
from typing import Any, Literal, cast

from discreet import limits
from discreet.errors import BudgetError, InvalidInputError, RepeatedError
from discreet.model.datasets import Relation, check_relation, check_within
from discreet.record.guarantee import Guarantee
from discreet.text import html_fields, html_table
from discreet.validation import Number, check_delta, check_positive, exact

_MOST_SHOWN_DIGITS = 10 * limits.AMOUNT_DIGITS
"""A number with more digits, which only the sums of a ledger of the first version can have, is shown rounded."""
_TWELVE_DIGITS = Context(prec=12)
ORDER_EXPONENTS = -3, 6
"""The order of a filter is 1 + 10^x, and x is from the first to the second of these."""

Unit = Literal["record", "person"]


@dataclass(frozen=True)
class Loss:
    """An amount of privacy loss, exactly."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __str__(self) -> str:
        epsilon = f"ε = {_text(self.epsilon)}"
        return f"{epsilon}, δ = {_text(self.delta)}" if self.delta else epsilon


@dataclass(frozen=True)
class RenyiFilter:
    """A rule for a dataset: the Rényi divergences of its releases, of one fixed order, add up to a limit at most (docs/howto/ledger.md)."""

    order: Fraction
    limit: Fraction

    def __str__(self) -> str:
        return f"Rényi filter of order {_text(self.order)}"


@dataclass(frozen=True)
class Budget:
    """What may be spent on a dataset in total."""

    dataset: str
    total: Loss
    unit: Unit
    """Whose privacy the budget is about: one record's or one person's."""
    created: date
    """The day, in UTC."""
    filter: RenyiFilter | None = None
    """The rule that is kept besides the plain sum, if the dataset was created with one."""
    neighbours: Relation = Relation.REPLACE_ONE
    """What the budget hides: that one record (or person) is replaced by another, perhaps within its group alone, or comes or goes."""

    def _repr_html_(self) -> str:
        fields = {"total": self.total, "unit": self.unit, "neighbours": self.neighbours, "created": self.created}
        return html_fields(f"Budget of {self.dataset}", fields | ({} if self.filter is None else {"filter": self.filter}))


@dataclass(frozen=True)
class Promise:
    """What a release guarantees, exactly, with None for what it does not say of itself."""

    loss: Loss
    unit: Unit | None = None
    neighbours: Relation | None = None


@dataclass(frozen=True)
class Charge:
    """What a budget is charged for a release."""

    promise: Promise
    """Of the release, with nothing left open."""
    loss: Loss
    divergence: Fraction | None
    """What the budget's filter is charged, if it has one."""
    why: str
    """Why the loss is not the promise's own; empty if it is."""

    def __str__(self) -> str:
        return f"{self.loss} (its own {self.promise.loss}, for two steps: {self.why})" if self.why else str(self.loss)


@dataclass(frozen=True)
class Spend:
    """One line of the ledger."""

    number: int
    """Rises with every spend in the ledger."""
    dataset: str
    loss: Loss
    """What the budget was charged."""
    unit: Unit
    note: str
    description: Mapping[str, Any]
    """The mechanism's public description: what an accountant needs to do better than adding up."""
    day: date
    """In UTC. Nothing finer is kept: the time between two spends would tell how long a draw took, which can depend on the data."""
    divergence: Fraction | None = None
    """What the dataset's filter was charged: a bound on the release's Rényi divergence. None where the dataset has no filter."""
    guarantee: Loss = field(kw_only=True)
    """The release's own ε and δ, which `neighbours` belongs to."""
    neighbours: Relation = field(kw_only=True)
    request: str | None = field(default=None, kw_only=True)
    """The key of the request that this is for, which is charged once. None if it had none."""
    source: str | None = field(default=None, kw_only=True)
    """What the records were read from, as whoever spent declared it. None if it was not declared."""

    @property
    def mechanism(self) -> str:
        """The name of the mechanism, or those of a study and how many tables it has; empty if none is described."""
        tables = self.description.get("tables")
        if not isinstance(tables, Mapping):
            return str(self.description.get("mechanism", ""))
        names = dict.fromkeys(str(one.get("mechanism", "")) for one in tables.values() if isinstance(one, Mapping))
        return f"{', '.join(names)}: {len(tables)} tables"


class History(tuple[Spend, ...]):
    """All spends on a dataset, oldest first."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        rows = ((line.number, line.day, line.loss, line.mechanism, line.note) for line in self)
        caption = f"Spends on {self[0].dataset}" if self else "No spends"
        return html_table(caption, ("number", "day", "charged", "mechanism", "note"), rows)


# --- the rule ---------------------------------------------------------------------------------------------------------


def composed(losses: Iterable[Loss]) -> Loss:
    """The loss of several releases together, by basic composition: epsilons and deltas add up."""
    amounts = list(losses)
    return Loss(sum((loss.epsilon for loss in amounts), Fraction(0)), sum((loss.delta for loss in amounts), Fraction(0)))


def check_first(budget: Budget, lines: Sequence[Spend], request: str | None) -> None:
    """Refuse a request that was charged already."""
    line = next((line for line in lines if request is not None and line.request == request), None)
    if line is not None:
        raise RepeatedError(
            f"this request was charged to {budget.dataset!r} already, as line {line.number} of {line.day}: nothing was spent now, and "
            "nothing may be drawn for it again"
        )


def indecimal(value: Fraction) -> int:
    """The part of the denominator that no power of 10 has, which decimals leave as it is: 3 for 1/30."""
    return value.denominator // gcd(value.denominator, 10 ** value.denominator.bit_length())


# --- values from outside ----------------------------------------------------------------------------------------------


def checked_loss(epsilon: Number, delta: Number, whose: str = "") -> Loss:
    """An amount whose ε is above 0, whose δ is from 0 to below 1, and whose numbers are not absurdly long."""
    loss = Loss(check_positive(epsilon, f"{whose}epsilon"), check_delta(delta, f"{whose}delta"))
    if max(*loss.epsilon.as_integer_ratio(), *loss.delta.as_integer_ratio()) > 10**limits.AMOUNT_DIGITS:
        raise InvalidInputError(f"{whose}epsilon and delta must be numbers of at most {limits.AMOUNT_DIGITS} digits")
    return loss


def checked_promise(
    loss: Guarantee | Loss | Number, delta: Number, neighbours: str | Relation | None = None, within: Iterable[str] = ()
) -> Promise:
    """The promise that a guarantee, a loss or a number stands for."""
    is_own = neighbours is None and isinstance(within, tuple) and not within
    relation = None if is_own else check_within(Relation.REPLACE_ONE if neighbours is None else neighbours, within)
    if isinstance(loss, Guarantee):
        if loss.basis == "none":
            raise BudgetError("a release without a privacy guarantee has no loss that a budget could allow; nothing was spent")
        if relation not in (None, loss.neighbours):
            raise InvalidInputError(f"the guarantee says itself what its neighbours are: {loss.neighbours}; leave neighbours out")
        return Promise(checked_loss(loss.epsilon, loss.delta), loss.unit, check_relation(loss.neighbours))
    amount = (loss.epsilon, loss.delta) if isinstance(loss, Loss) else (loss, delta)
    return Promise(checked_loss(*amount), None, relation)


def checked_text(value: Any, name: str, longest: int, *, empty: bool = False) -> str:
    """The value if it is printable text of at most this length; InvalidInputError, which names it, if it is not."""
    if not isinstance(value, str) or not (value.strip() or empty) or len(value) > longest or not value.replace("\n", " ").isprintable():
        raise InvalidInputError(f"{name} must be printable text of at most {longest} characters")
    return value


def as_json(description: Mapping[str, Any]) -> str:
    """The description as JSON; only plain values are taken, so that counts cannot slip in as an array or a table."""

    def plain(value: Any) -> Any:
        if isinstance(value, Fraction):
            return _text(value)
        raise InvalidInputError(f"a description holds text, numbers, lists and mappings of them, not {type(value).__name__}")

    try:
        if isinstance(description, Mapping):
            return json.dumps(dict(description), default=plain, allow_nan=False, sort_keys=True, ensure_ascii=False)
    except InvalidInputError:
        raise
    except (TypeError, ValueError, RecursionError):
        pass  # said below, without the value that json names
    raise InvalidInputError("a description must be a mapping from text to text, finite numbers, lists and mappings of them")


def today() -> date:
    """The day, in UTC: the finest clock that the ledger keeps."""
    return datetime.now(UTC).date()


# --- rows: amounts and days as text, which every database keeps exactly -------------------------------------------------


class DamagedRowError(ValueError):
    """A row holds what no ledger writes there. The message quotes nothing of it."""


def budget_row(budget: Budget) -> dict[str, Any]:
    rule = budget.filter
    return {
        "dataset": budget.dataset,
        "epsilon": _text(budget.total.epsilon),
        "delta": _text(budget.total.delta),
        "unit": budget.unit,
        "created": budget.created.isoformat(),
        "filter_order": None if rule is None else _text(rule.order),
        "filter_limit": None if rule is None else _text(rule.limit),
        "neighbours": str(budget.neighbours),
    }


def budget_of(row: Mapping[str, Any]) -> Budget:
    """The budget of a row, also of one that an older ledger wrote: its neighbours replace one. DamagedRowError if it is damaged."""
    total = _loss_of(row)
    if not total.epsilon:
        raise DamagedRowError("someone has edited the amounts of a budget")
    return Budget(_text_of(row, "dataset"), total, _unit_of(row), _day_of(row, "created"), _filter_of(row), _relation_of(row))


def _filter_of(row: Mapping[str, Any]) -> RenyiFilter | None:
    if row.get("filter_order") is None or row.get("filter_limit") is None:
        return None
    rule = RenyiFilter(amount_of(row["filter_order"]), amount_of(row["filter_limit"]))
    least, most = (1 + Fraction(10) ** exponent for exponent in ORDER_EXPONENTS)
    if not least <= rule.order <= most or not rule.limit:
        raise DamagedRowError("someone has edited the filter of a budget")
    return rule


@dataclass(frozen=True)
class Purpose:
    """What a spend is for, in public words, checked when it is made."""

    note: str = ""
    description: Mapping[str, Any] = field(default_factory=dict)
    request: str | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        checked_text(self.note, "note", limits.NOTE_CHARACTERS, empty=True)
        as_json(self.description)
        for name, longest in (("request", limits.NAME_CHARACTERS), ("source", limits.NOTE_CHARACTERS)):
            if getattr(self, name) is not None:
                checked_text(getattr(self, name), name, longest)


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
        "divergence": None if charge.divergence is None else _text(charge.divergence),
        "neighbours": str(own.neighbours or budget.neighbours),
        **_amounts(own.loss, "guarantee_"),
        "request": purpose.request,
        "source": purpose.source,
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
    )


def _amounts(loss: Loss, whose: str = "") -> dict[str, str]:
    return {f"{whose}epsilon": _text(loss.epsilon), f"{whose}delta": _text(loss.delta)}


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
"""That an amount in a row may have, beside those that are taken: twice an ε has one, and a divergence has twenty decimals."""


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


def _day_of(row: Mapping[str, Any], name: str) -> date:
    try:
        return datetime.fromisoformat(_text_of(row, name)).date()
    except ValueError:
        raise DamagedRowError("someone has edited a day") from None


def _text(value: Fraction) -> str:
    """The number as a decimal if it is one, else as a fraction: either way exactly, unless it is too long for anyone to read."""
    if max(abs(value.numerator), value.denominator) > 10**_MOST_SHOWN_DIGITS:
        return f"about {_TWELVE_DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize()}"
    if indecimal(value) != 1:
        return str(value)
    places = next(places for places in count() if not 10**places % value.denominator)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"
