"""The sum charged to a dataset and what is left of its budget, from sums that the database makes, however many spends there are."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING

from discreet import limits
from discreet.errors import BudgetError, InvalidInputError, LedgerError
from discreet.ledger.budgets import Budget, Charge, Loss, Spend, composed, indecimal, period_words
from discreet.ledger.database import selected, spends
from discreet.ledger.rows import amount_of, period_of
from discreet.model.periods import PeriodRange

if TYPE_CHECKING:
    from sqlalchemy import Connection

Amount = tuple[Loss, Fraction | None, PeriodRange | None, int]
"""The charge of a spend, the charge to its dataset's filter, the periods that were charged, and how many such spends there are."""


@dataclass(frozen=True)
class Statement:
    """A budget, what has been charged to it in all, and its latest spends, oldest first: all of them, or as many as were asked for.

    Where each period has the budget, it is about one of them.
    """

    budget: Budget
    spends: int
    """The number of spends in all."""
    spent: Loss
    """The amount spent, by the plain sum."""
    divergence: Fraction | None
    """The sum charged to the filter; None if there is none."""
    latest: tuple[Spend, ...]
    period: PeriodRange | None = None
    """The period that it is about. None if the budget has no periods, or if nothing was charged to any."""

    @property
    def name(self) -> str:
        """The dataset, and the period."""
        return f"{self.budget.dataset!r}{period_words(self.period)}"

    @property
    def lost(self) -> Loss:
        """The most that those protected may have lost: the plain sum or, if that is beyond it, what the filter keeps to."""
        total = self.budget.total
        if self.budget.filter is None:
            return self.spent
        return Loss(total.epsilon if self.spent.delta else min(self.spent.epsilon, total.epsilon), total.delta)

    @property
    def left(self) -> Loss:
        """The rest of the budget by the plain sum. Where there is a filter it may be below 0."""
        return Loss(self.budget.total.epsilon - self.spent.epsilon, self.budget.total.delta - self.spent.delta)

    @property
    def filter_left(self) -> Fraction | None:
        """The Rényi divergence that is left to the filter; None if there is none."""
        return None if self.budget.filter is None or self.divergence is None else self.budget.filter.limit - self.divergence

    @property
    def remaining(self) -> Loss:
        """The most that one more release may be charged: what is left of the sum or, if that is more, of the filter."""
        if self.budget.filter is None or self.filter_left is None:
            return self.left
        from discreet.ledger.filters import largest_epsilon

        by_filter = largest_epsilon(self.filter_left, self.budget.filter.order)
        return Loss(by_filter if self.spent.delta else max(self.left.epsilon, by_filter))

    def after(self, charge: Charge) -> "Statement":
        """The statement once this has been charged as well, whether or not it is affordable."""
        spent = composed([self.spent, charge.loss])
        divergence = None if self.divergence is None else self.divergence + (charge.divergence or 0)
        return replace(self, spends=self.spends + 1, spent=spent, divergence=divergence)


def amounts_of(lines: Iterable[Spend]) -> list[Amount]:
    """Return what these spends were charged, one by one."""
    return [(line.loss, line.divergence, line.period, 1) for line in lines]


def statements_of(budget: Budget, amounts: Iterable[Amount], asked: PeriodRange | None = None) -> tuple[Statement, ...]:
    """The statement of a dataset that these amounts add up to; one of nothing if there are none.

    Where each period has the budget, they are the statements of the periods that are asked for or, if none is, of all that something was
    charged to, in their order. The amounts are gone through once, however many periods each was charged to. LedgerError if someone has
    edited one: it was not charged to the budget's filter, or to its periods.
    """
    changes: dict[int, list[Amount]] = {}
    for amount in amounts:
        loss, charged, period, times = _checked(budget, amount)
        numbers = range(1) if period is None else period.numbers
        changes.setdefault(numbers.start, []).append(amount)
        changes.setdefault(numbers.stop, []).append((loss, charged, period, -times))
    wanted = None if asked is None else asked.numbers
    places = sorted({*changes, *(() if wanted is None else (wanted.start, wanted.stop))})
    nothing = Statement(budget, 0, Loss(Fraction(0)), None if budget.filter is None else Fraction(0), ())
    running, found = nothing, []
    for start, stop in pairwise(places):
        running = reduce(_plus, changes.get(start, ()), running)
        if running.spends if wanted is None else start in wanted:
            found += [
                running if budget.every is None else replace(running, period=PeriodRange.numbered(budget.every, number))
                for number in range(start, stop)
            ]
    return tuple(found) or (nothing,)


def _checked(budget: Budget, amount: Amount) -> Amount:
    """An amount that was charged to what the budget is kept by, or LedgerError."""
    _, charged, period, _ = amount
    kept_by = "filter" if budget.filter is not None and charged is None else "periods"
    if kept_by == "filter" or (None if period is None else period.every) != budget.every:
        raise LedgerError(
            f"a line of {budget.dataset!r} was not charged to its {kept_by}, so someone has edited the ledger; do not release"
        )
    return amount


def _plus(statement: Statement, amount: Amount) -> Statement:
    """The statement once an amount is added, so many times; taken away, if that is below 0."""
    loss, charged, _, times = amount
    spent = Loss(statement.spent.epsilon + times * loss.epsilon, statement.spent.delta + times * loss.delta)
    divergence = None if statement.divergence is None else statement.divergence + times * (charged or 0)
    return replace(statement, spends=statement.spends + times, spent=spent, divergence=divergence)


def charged_amounts(connection: "Connection", dataset: str | None = None, newest: int | None = None) -> dict[str, list[Amount]]:
    """Return what was charged, by dataset, with equal amounts counted by the database; up to the spend of this number, if given."""
    from sqlalchemy import func

    names = "dataset", "epsilon", "delta", "divergence", "period"
    columns = [column for column in selected(connection, spends()).selected_columns if column.name in names]
    query = spends().select().with_only_columns(*columns, func.count().label("times")).group_by(*columns)
    if dataset is not None:
        query = query.where(spends().c.dataset == dataset)
    if newest is not None:
        query = query.where(spends().c.number <= newest)
    found: dict[str, list[Amount]] = {}
    for row in map(dict, connection.execute(query).mappings().all()):
        charged = row.get("divergence")
        loss = Loss(amount_of(row["epsilon"]), amount_of(row["delta"]))
        divergence = None if charged is None else amount_of(charged)
        found.setdefault(row["dataset"], []).append((loss, divergence, period_of(row), int(row["times"])))
    return found


def check_affordable(statement: Statement, charge: Charge) -> None:
    """Refuse a spend that neither the plain sum nor the dataset's filter allows."""
    budget, left, filter_left = statement.budget, statement.left, statement.filter_left
    amount, divergence = charge.loss, charge.divergence
    sum_holds = budget.filter is None or not (
        statement.spent.delta or amount.delta
    )  # a loss without a largest one is no part of a sum of ε
    within_sum = sum_holds and amount.epsilon <= left.epsilon and amount.delta <= left.delta
    within_filter = filter_left is not None and divergence is not None and divergence <= filter_left
    nothing = "nothing was spent"
    if budget.filter is not None and amount.delta and divergence is None:
        admitted = "which takes, beside those that it draws of DiscreteGaussian, releases with δ = 0 alone"
        raise BudgetError(f"{budget.dataset!r} is kept by a {budget.filter}, {admitted}; {nothing}")
    if budget.filter is None and amount.delta and not budget.total.delta:
        fault = f"the release needs {charge} and the budget of {budget.dataset!r} has no δ, so that no release with one fits"
        raise BudgetError(f"{fault}: use LatticeGeometric, or charge a dataset that was created with a δ; {nothing}")
    if not within_sum and not within_filter:
        if budget.filter is None or filter_left is None or divergence is None:
            raise BudgetError(f"the release needs {charge} and {statement.name} has {left} left of {budget.total}; {nothing}")
        raise BudgetError(
            f"the release needs {charge}, a Rényi divergence of {float(divergence):.6g}, and the filter of {statement.name} has "
            f"{float(filter_left):.6g} left of {float(budget.filter.limit):.6g}; {nothing}"
        )
    for now, taken in ((left.epsilon, amount.epsilon), (left.delta, amount.delta)):
        if indecimal(now - taken) > max(indecimal(now), 10**limits.AMOUNT_DIGITS):
            raise InvalidInputError(
                f"the fractions spent on {budget.dataset!r} would have a common denominator of more than {limits.AMOUNT_DIGITS} digits; "
                f"write this amount as a decimal, rounded up; {nothing}"
            )
