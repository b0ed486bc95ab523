"""Budgets and spends as values: exact amounts, and the rule that decides what may be spent."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from fractions import Fraction
from itertools import count
from math import gcd
from typing import Any, Literal, TypedDict

from discreet import limits
from discreet.errors import BudgetError, InvalidInputError, RepeatedError
from discreet.model.datasets import Relation, check_relation, check_within
from discreet.model.periods import Every, PeriodRange
from discreet.record.guarantee import Guarantee
from discreet.text import counted, html_fields, html_table
from discreet.validation import Number, check_delta, check_positive

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
        epsilon = f"ε = {amount_text(self.epsilon)}"
        return f"{epsilon}, δ = {amount_text(self.delta)}" if self.delta else epsilon


@dataclass(frozen=True)
class RenyiFilter:
    """A rule for a dataset: the Rényi divergences of its releases, of one fixed order, add up to a limit at most (docs/howto/ledger.md)."""

    order: Fraction
    limit: Fraction

    def __str__(self) -> str:
        return f"Rényi filter of order {amount_text(self.order)}"


@dataclass(frozen=True)
class Budget:
    """The most that may be spent on a dataset in total, or in each period of it."""

    dataset: str
    total: Loss
    unit: Unit
    """The unit whose privacy the budget is about: one record or one person."""
    created: date
    """The day, in UTC."""
    filter: RenyiFilter | None = None
    """The rule that is kept besides the plain sum, if the dataset was created with one."""
    neighbours: Relation = Relation.REPLACE_ONE
    """The change that the budget hides: one record (or person) is replaced, perhaps within its group alone, or comes or goes."""
    every: Every | None = None
    """The periods that each have this budget, which is then about all rows of one person in one of them. None if it is for all time."""

    @property
    def step(self) -> str:
        """The step that the budget hides, in words."""
        return self.neighbours.of(self.unit, self.every)

    @property
    def amount(self) -> str:
        """The total in words, with the periods that each have it."""
        return str(self.total) if self.every is None else f"{self.total} each {self.every}"

    def _repr_html_(self) -> str:
        fields = {"total": self.amount, "unit": self.unit, "neighbours": self.neighbours, "created": self.created}
        return html_fields(f"Budget of {self.dataset}", fields | ({} if self.filter is None else {"filter": self.filter}))


@dataclass(frozen=True)
class Promise:
    """The exact guarantee of a release, with None for what it does not say of itself."""

    loss: Loss
    unit: Unit | None = None
    neighbours: Relation | None = None
    period: PeriodRange | None = None
    """The periods that the release reads, of which it promises the loss for each."""


@dataclass(frozen=True)
class Charge:
    """The charge for a release: to each of the periods that it reads, if the budget has periods."""

    promise: Promise
    """The promise of the release, with nothing left open."""
    loss: Loss
    divergence: Fraction | None
    """The charge to the budget's filter; None if it has none."""
    why: str
    """The reason why the loss is not the promise's own; empty if it is."""

    def __str__(self) -> str:
        where = period_words(self.promise.period)
        return f"{self.loss}{where} (its own {self.promise.loss}, for two steps: {self.why})" if self.why else f"{self.loss}{where}"


@dataclass(frozen=True)
class Spend:
    """One line of the ledger."""

    number: int
    """Rises with every spend in the ledger."""
    dataset: str
    loss: Loss
    """The loss that the budget was charged."""
    unit: Unit
    note: str
    description: Mapping[str, Any]
    """The mechanism's public description: what an accountant needs to do better than adding up."""
    day: date
    """The day in UTC. Nothing finer is kept: the time between two spends would tell how long a draw took, which can depend on the data."""
    divergence: Fraction | None = None
    """The charge to the dataset's filter: a bound on the release's Rényi divergence. None where the dataset has no filter."""
    guarantee: Loss = field(kw_only=True)
    """The release's own ε and δ, which `neighbours` belongs to."""
    neighbours: Relation = field(kw_only=True)
    request: str | None = field(default=None, kw_only=True)
    """The key of the request that this is for, which is charged once. None if it had none."""
    source: str | None = field(default=None, kw_only=True)
    """The source of the records, as whoever spent declared it. None if it was not declared."""
    period: PeriodRange | None = field(default=None, kw_only=True)
    """The periods that were read, each of which was charged the loss. None if the budget has no periods."""

    @property
    def step(self) -> str:
        """The step that the release hides, in words."""
        return self.neighbours.of(self.unit, None if self.period is None else self.period.every)

    @property
    def mechanism(self) -> str:
        """The name of the mechanism, or those of a study and how many tables it has; empty if none is described."""
        tables = self.description.get("tables")
        if not isinstance(tables, Mapping):
            return str(self.description.get("mechanism", ""))
        names = dict.fromkeys(str(one.get("mechanism", "")) for one in tables.values() if isinstance(one, Mapping))
        return f"{', '.join(names)}: {counted(len(tables), 'table')}"


class History(tuple[Spend, ...]):
    """All spends on a dataset, oldest first."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        rows = ((line.number, line.day, f"{line.loss}{period_words(line.period)}", line.mechanism, line.note) for line in self)
        caption = f"Spends on {self[0].dataset}" if self else "No spends"
        return html_table(caption, ("number", "day", "charged", "mechanism", "note"), rows)


def period_words(period: PeriodRange | None) -> str:
    """Describe where an amount is charged: " in 2026-11", " in each month of 2026-01..2026-03", or nothing if there are no periods."""
    if period is None:
        return ""
    return f" in {period}" if len(period) == 1 else f" in each {period.every} of {period}"


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
    loss: Guarantee | Loss | Number,
    delta: Number,
    neighbours: str | Relation | None = None,
    within: Iterable[str] = (),
    period: str | None = None,
) -> Promise:
    """The promise that a guarantee, a loss or a number stands for."""
    read = None if period is None else PeriodRange.read(period)
    is_own = neighbours is None and isinstance(within, tuple) and not within
    relation = None if is_own else check_within(Relation.REPLACE_ONE if neighbours is None else neighbours, within)
    if isinstance(loss, Guarantee):
        if loss.basis == "none":
            raise BudgetError("a release without a privacy guarantee has no loss that a budget could allow; nothing was spent")
        if relation not in (None, loss.neighbours):
            raise InvalidInputError(f"the guarantee says itself what its neighbours are: {loss.neighbours}; leave neighbours out")
        if loss.period is not None and read not in (None, loss.period):
            raise InvalidInputError(f"the guarantee says itself which periods it is about: {loss.period}; leave period out")
        return Promise(checked_loss(loss.epsilon, loss.delta), loss.unit, check_relation(loss.neighbours), loss.period or read)
    amount = (loss.epsilon, loss.delta) if isinstance(loss, Loss) else (loss, delta)
    return Promise(checked_loss(*amount), None, relation, read)


def checked_text(value: Any, name: str, longest: int, *, empty: bool = False) -> str:
    """The value if it is printable text of at most this length; InvalidInputError, which names it, if it is not."""
    if not isinstance(value, str) or not (value.strip() or empty) or len(value) > longest or not value.replace("\n", " ").isprintable():
        raise InvalidInputError(f"{name} must be printable text of at most {longest} characters")
    return value


def as_json(description: Mapping[str, Any]) -> str:
    """The description as JSON; only plain values are taken, so that counts cannot slip in as an array or a table."""

    def plain(value: Any) -> Any:
        if isinstance(value, Fraction):
            return amount_text(value)
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


def amount_text(value: Fraction) -> str:
    """The number as a decimal if it is one, else as a fraction: either way exactly, unless it is too long for anyone to read."""
    if max(abs(value.numerator), value.denominator) > 10**_MOST_SHOWN_DIGITS:
        return f"about {_TWELVE_DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize()}"
    if indecimal(value) != 1:
        return str(value)
    places = next(places for places in count() if not 10**places % value.denominator)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"


# --- what a spend is for ----------------------------------------------------------------------------------------------------


class Hides(TypedDict, total=False):
    """Keyword arguments that say what a budget or a release hides: see `Ledger.create`."""

    neighbours: str | Relation
    within: Iterable[str]


class PurposeWords(TypedDict, total=False):
    """Keyword arguments that say what a release is for: see `Ledger.spend`."""

    note: str
    request: str | None
    source: str | None


class SpendWords(PurposeWords, total=False):
    """Keyword arguments that say what a spend is for and about: see `Ledger.spend`."""

    description: Mapping[str, Any] | None
    neighbours: str | Relation | None
    within: Iterable[str]


@dataclass(frozen=True)
class Purpose:
    """The purpose of a spend in public words, checked when it is made."""

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
