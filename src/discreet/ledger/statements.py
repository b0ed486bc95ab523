"""What has been charged to a dataset and what is left of its budget, from sums that the database makes, however many spends there are."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet import limits
from discreet.errors import BudgetError, InvalidInputError, LedgerError
from discreet.ledger.budgets import Budget, Charge, Loss, Spend, amount_of, composed, indecimal
from discreet.ledger.database import selected, spends

if TYPE_CHECKING:
    from sqlalchemy import Connection

Amount = tuple[Loss, Fraction | None, int]
"""What a spend was charged, what its dataset's filter was, and how many such spends there are."""


@dataclass(frozen=True)
class Statement:
    """A budget, what has been charged to it in all, and its latest spends, oldest first: all of them, or as many as were asked for."""

    budget: Budget
    spends: int
    """How many there are in all."""
    spent: Loss
    """By the plain sum."""
    divergence: Fraction | None
    """What has been charged to the filter; None if there is none."""
    latest: tuple[Spend, ...]

    @property
    def left(self) -> Loss:
        """What is left by the plain sum. Where there is a filter it may be below 0."""
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

        return Loss(max(self.left.epsilon, largest_epsilon(self.filter_left, self.budget.filter.order)))

    def after(self, charge: Charge) -> "Statement":
        """The statement once this has been charged as well, whether or not it is affordable."""
        spent = composed([self.spent, charge.loss])
        divergence = None if self.divergence is None else self.divergence + (charge.divergence or 0)
        return Statement(self.budget, self.spends + 1, spent, divergence, self.latest)


def statement_of(budget: Budget, amounts: Iterable[Amount], latest: tuple[Spend, ...] = ()) -> Statement:
    """The statement that these amounts add up to; LedgerError if one of them was not charged to the budget's filter."""
    count, epsilon, delta, divergence = 0, Fraction(0), Fraction(0), Fraction(0)
    for loss, charged, times in amounts:
        if budget.filter is not None and charged is None:
            raise LedgerError(
                f"a line of {budget.dataset!r} was not charged to its filter, so someone has edited the ledger; do not release"
            )
        count, epsilon, delta = count + times, epsilon + times * loss.epsilon, delta + times * loss.delta
        divergence += times * (charged or 0)
    return Statement(budget, count, Loss(epsilon, delta), None if budget.filter is None else divergence, latest)


def charged_amounts(connection: "Connection", dataset: str | None = None, newest: int | None = None) -> dict[str, list[Amount]]:
    """What was charged, by dataset: the same amounts are counted by the database. Up to the spend of this number, if one is given."""
    from sqlalchemy import func

    names = "dataset", "epsilon", "delta", "divergence"
    columns = [column for column in selected(connection, spends()).selected_columns if column.name in names]
    query = spends().select().with_only_columns(*columns, func.count().label("times")).group_by(*columns)
    if dataset is not None:
        query = query.where(spends().c.dataset == dataset)
    if newest is not None:
        query = query.where(spends().c.number <= newest)
    found: dict[str, list[Amount]] = {}
    for row in connection.execute(query).mappings():
        charged = row.get("divergence")
        loss = Loss(amount_of(row["epsilon"]), amount_of(row["delta"]))
        found.setdefault(row["dataset"], []).append((loss, None if charged is None else amount_of(charged), int(row["times"])))
    return found


def check_affordable(statement: Statement, charge: Charge) -> None:
    """Refuse a spend that neither the plain sum nor the dataset's filter allows."""
    budget, left, filter_left = statement.budget, statement.left, statement.filter_left
    amount, divergence = charge.loss, charge.divergence
    within_sum = amount.epsilon <= left.epsilon and amount.delta <= left.delta
    within_filter = filter_left is not None and divergence is not None and divergence <= filter_left
    nothing = "nothing was spent"
    if budget.filter is not None and amount.delta:
        raise BudgetError(f"{budget.dataset!r} is kept by a {budget.filter}, which takes releases with δ = 0 alone; {nothing}")
    if not within_sum and not within_filter:
        if budget.filter is None or filter_left is None or divergence is None:
            raise BudgetError(f"the release needs {charge} and {budget.dataset!r} has {left} left of {budget.total}; {nothing}")
        raise BudgetError(
            f"the release needs {charge}, a Rényi divergence of {float(divergence):.6g}, and the filter of {budget.dataset!r} has "
            f"{float(filter_left):.6g} left of {float(budget.filter.limit):.6g}; {nothing}"
        )
    for now, taken in ((left.epsilon, amount.epsilon), (left.delta, amount.delta)):
        if indecimal(now - taken) > max(indecimal(now), 10**limits.AMOUNT_DIGITS):
            raise InvalidInputError(
                f"the fractions spent on {budget.dataset!r} would have a common denominator of more than {limits.AMOUNT_DIGITS} digits; "
                f"write this amount as a decimal, rounded up; {nothing}"
            )
