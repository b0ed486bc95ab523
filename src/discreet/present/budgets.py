"""Budgets and spends of a ledger, in words and in fields."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.ledger.ledger import Budget, Loss, Spend, Statement


def hidden(budget: "Budget") -> str:
    """Describe what a budget hides, and what it does not."""
    from discreet.model.datasets import Relation

    neighbours, during = budget.neighbours, "" if budget.every is None else f" in one {budget.every}"
    public = "n" if budget.every is None else f"every {budget.every}'s n"
    if neighbours == Relation.ADD_REMOVE_ONE:
        return f"whether someone took part{during}"
    if not neighbours.within:
        return f"what someone answered{during}, and {public} is public"
    kept = f"not their {neighbours.columns} and not that they took part"
    return f"what someone answered{during}, {kept}; the sizes of these groups are public"


def staying(budget: "Budget", periods: "Sequence[Statement]") -> str:
    """Describe the loss of someone who was there in all periods that were charged."""
    from discreet.ledger.budgets import composed

    many = f"the one {budget.every} that was" if len(periods) == 1 else f"all {len(periods):,} {budget.every}s that were"
    return f"someone who was there in {many} charged is protected by {composed(one.lost for one in periods)} in all"


def left_words(left: "Loss", budget: "Budget") -> str:
    """Describe the rest of a budget; a filter says it of one release, since several small ones are charged less."""
    return str(left) if budget.filter is None else f"{left} in one release"


def left_of(statement: "Statement") -> str:
    """Describe the rest of the budget of a statement."""
    return left_words(statement.remaining, statement.budget)


def budget_fields(statement: "Statement") -> dict[str, Any]:
    """A budget as fields; numbers are never above what is left, nor below what may be spent."""
    from discreet.record.guarantee import rounded_down, rounded_up

    budget, left = statement.budget, statement.remaining
    return {
        "dataset": budget.dataset,
        **({} if budget.every is None else {"every": budget.every, "period": statement.period and str(statement.period)}),
        "unit": budget.unit,
        "neighbours": str(budget.neighbours),
        "epsilon": rounded_up(budget.total.epsilon),
        "delta": rounded_up(budget.total.delta),
        "left_epsilon": rounded_down(left.epsilon),
        "left_delta": rounded_down(left.delta),
        "filter": None if budget.filter is None else {"order": float(budget.filter.order), "limit": rounded_up(budget.filter.limit)},
    }


def spend_fields(line: "Spend") -> dict[str, Any]:
    """A line of the ledger as fields; numbers are never below what was spent."""
    from discreet.record.guarantee import rounded_up

    return {
        "number": line.number,
        "day": line.day.isoformat(),
        **({} if line.period is None else {"period": str(line.period)}),
        "unit": line.unit,
        "epsilon": rounded_up(line.loss.epsilon),
        "delta": rounded_up(line.loss.delta),
        "guarantee_epsilon": rounded_up(line.guarantee.epsilon),
        "guarantee_delta": rounded_up(line.guarantee.delta),
        "neighbours": str(line.neighbours),
        "mechanism": line.mechanism or None,
        "note": line.note,
    }
