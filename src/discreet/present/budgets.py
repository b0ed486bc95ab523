"""Budgets and spends of a ledger, in words and in fields."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.ledger.ledger import Budget, Loss, Spend
    from discreet.model.datasets import Relation


def hidden(neighbours: "Relation") -> str:
    """What a budget hides, and what it does not."""
    from discreet.model.datasets import Relation

    if neighbours == Relation.ADD_REMOVE_ONE:
        return "whether someone took part"
    if not neighbours.within:
        return "what someone answered, and n is public"
    return f"what someone answered, not their {neighbours.columns} and not that they took part; the sizes of these groups are public"


def left_words(left: "Loss", budget: "Budget") -> str:
    """What is left of a budget; a filter says it of one release, since several small ones are charged less."""
    return str(left) if budget.filter is None else f"{left} in one release"


def budget_fields(budget: "Budget", left: "Loss") -> dict[str, Any]:
    """A budget as fields; numbers are never above what is left, nor below what may be spent."""
    from discreet.record.guarantee import rounded_down, rounded_up

    return {
        "dataset": budget.dataset,
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
        "unit": line.unit,
        "epsilon": rounded_up(line.loss.epsilon),
        "delta": rounded_up(line.loss.delta),
        "guarantee_epsilon": rounded_up(line.guarantee.epsilon),
        "guarantee_delta": rounded_up(line.guarantee.delta),
        "neighbours": str(line.neighbours),
        "mechanism": line.mechanism or None,
        "note": line.note,
    }
