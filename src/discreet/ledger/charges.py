"""Charges to a budget for releases, also about other neighbours (docs/howto/ledger.md), and descriptions of what is charged."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from math import ceil
from typing import TYPE_CHECKING, Any

from discreet import limits
from discreet.errors import BudgetError, DiscreetError, InvalidInputError
from discreet.ledger.budgets import Budget, Charge, Loss, Promise, Spend, Unit, checked_promise, composed
from discreet.model.datasets import Relation
from discreet.model.periods import PeriodRange
from discreet.record.guarantee import Guarantee, group_privacy, rounded_up, steps_between

if TYPE_CHECKING:
    from discreet.mechanisms.base import Mechanism, Prepared
    from discreet.model.tables import TableSpace
    from discreet.record.release import Release


def check_chargeable(budget: Budget, unit: Unit, neighbours: Relation, period: PeriodRange | None = None) -> int:
    """Refuse a release whose periods, unit or neighbours no ε makes up for; else, how many of its steps one step of the budget takes."""
    check_period(budget, period)
    steps = steps_between(neighbours, unit, budget.neighbours, budget.unit)
    if steps is None:
        raise _refusal(budget, unit, neighbours)
    return steps


def check_period(budget: Budget, period: PeriodRange | None) -> None:
    """Refuse a release that does not say which of the budget's periods it reads, names others, or one that has not begun."""
    every, whose, nothing = budget.every, f"the budget of {budget.dataset!r} is", "nothing was spent"
    if every is None and period is not None:
        other = f"leave it out, or charge a dataset that was created with every={period.every!r}"
        in_shell = f"leave out --period, or charge a dataset that was created with --every {period.every}"
        raise BudgetError(
            f"{whose} for all time, and the release is about {period} alone: {other}; {nothing}",
            in_shell=f"{whose} for all time, and the release is about {period} alone: {in_shell}; {nothing}",
        )
    if every is not None and (period is None or period.every != every):
        said = "the release does not say which it reads" if period is None else f"{period} is not spelt so"
        fault, such = f"{whose} for each {every}, and {said}", _EXAMPLES[every]
        raise BudgetError(f"{fault}: give period={such!r}; {nothing}", in_shell=f"{fault}: give --period, such as {such}; {nothing}")
    if period is not None and not period.has_begun(datetime.now(UTC)):
        raise BudgetError(f"{period} has not begun, so that nobody can have records of it; {nothing}")


_EXAMPLES = {"day": "2026-11-18", "month": "2026-11", "quarter": "2026-Q4", "year": "2026"}
"""Periods as they are spelt."""


def _refusal(budget: Budget, unit: Unit, neighbours: Relation) -> BudgetError:
    """Return the reason why a release cannot be charged to a budget, and what can be done instead."""
    if budget.unit == "person" and unit == "record":
        fault = f"the budget of {budget.dataset!r} protects persons and this release only records: say whose a row is, with"
        declare = "or, if every row is another person's, declare that, with"
        return BudgetError(
            f"{fault} privacy_id, {declare} one_row_per_person=True (or unit='person' for counts of your own)",
            in_shell=f"{fault} --privacy-id COLUMN, {declare} --one-row-per-person",
        )
    own, kept = f"(neighbours: {neighbours.of(unit)})", f"(neighbours: {budget.step})"
    uncovered = "no ε covers that, however large; nothing was spent"
    another = " (not a second one for the same people: their losses add up)"
    if budget.neighbours == Relation.ADD_REMOVE_ONE:
        fault = f"the release does not hide how many {unit}s there are {own}, and the budget of {budget.dataset!r} does {kept}: {uncovered}"
        return BudgetError(
            f"{fault}; release without n, or charge another dataset, whose budget replaces one{another}",
            in_shell=f"{fault}; release with --public nothing, or charge a dataset that was created with --public total{another}",
        )
    fault = (
        f"the release publishes the size of every group by {neighbours.columns} {own}, and the budget of {budget.dataset!r} is also about "
        f"someone who changes to another of these groups {kept}, which changes two sizes: {uncovered}"
    )
    return BudgetError(
        f"{fault}; release with one public total, n=table.total, or charge another dataset, whose budget is within these columns{another}",
        in_shell=f"{fault}; release with --public total, or charge a dataset that was created with --public sizes --by "
        f"{','.join(neighbours.within)}{another}",
    )


_WHY_TWO = {
    "replace one": "replacing one is removing one and adding another",
    "add or remove one": "one record more or less can change the answer that its person counts for",
}
"""The reasons why one step of a budget can be two of a release, by the budget's step."""


def charge_for(budget: Budget, promise: Promise, mechanism: "Mechanism | None") -> Charge:
    """Return the cost of a release with this promise, by public values alone; BudgetError if no amount covers it.

    What the promise does not say of itself, it is taken to have from the budget. With the mechanism, a filter may be charged less.
    """
    unit, neighbours = promise.unit or budget.unit, promise.neighbours or budget.neighbours
    steps = check_chargeable(budget, unit, neighbours, promise.period)
    loss = Loss(*group_privacy(promise.loss.epsilon, promise.loss.delta, steps))
    if promise.period is not None and len(promise.period) > 1 and (loss.delta or budget.filter is not None):
        raise BudgetError(
            f"a release that reads several {promise.period.every}s must have δ = 0, and a budget without a filter, so that what those lose "
            "who are there in all of them adds up: release each by itself; nothing was spent"
        )
    if loss.delta and steps > 1 and mechanism is not None:
        loss = replace(loss, delta=min(loss.delta, two_step_delta(mechanism, loss.epsilon)))
    divergence = None if budget.filter is None else _divergence(loss, steps, mechanism, budget.filter.order)
    own = replace(promise, unit=unit, neighbours=neighbours)
    return Charge(own, loss, divergence, _WHY_TWO[budget.neighbours.step] if steps > 1 else "")


def charge_for_all(budget: Budget, parts: Sequence[tuple[Promise, "Mechanism | None"]]) -> Charge:
    """Return the cost of several releases together: the sum of what each costs.

    Where all promises are about the same neighbours their sum is promised too; otherwise what is charged is, about the budget's own.
    """
    charges = [charge_for(budget, promise, mechanism) for promise, mechanism in parts]
    if len(charges) == 1:
        return charges[0]
    period = charges[0].promise.period
    if any(charge.promise.period != period for charge in charges):
        raise InvalidInputError("releases that are charged together must be about the same periods; nothing was spent")
    loss = composed(charge.loss for charge in charges)
    kinds = {(charge.promise.unit, charge.promise.neighbours) for charge in charges}
    own = Promise(loss, budget.unit, budget.neighbours, period)
    if len(kinds) == 1:
        own = Promise(composed(charge.promise.loss for charge in charges), *kinds.pop(), period)
    known = [charge.divergence for charge in charges if charge.divergence is not None]
    divergence = sum(known, Fraction(0)) if len(known) == len(charges) else None  # one that nothing bounds leaves the sum without a bound
    return Charge(own, loss, divergence, next((charge.why for charge in charges if charge.why), "") if own.loss != loss else "")


def exact_promise(prepared: "Prepared | Release") -> Promise:
    """Return the guarantee of a release that was prepared or drawn, with its mechanism's exact ε where a proof promises just that.

    An ε of more digits than a ledger takes stays rounded up.
    """
    guarantee, epsilon = prepared.guarantee, prepared.mechanism.epsilon
    is_proved = guarantee.basis == "proof" and not guarantee.delta and guarantee.epsilon == rounded_up(epsilon)
    is_exact = is_proved and max(epsilon.as_integer_ratio()) <= 10**limits.AMOUNT_DIGITS
    return replace(checked_promise(guarantee, 0), loss=Loss(epsilon)) if is_exact else checked_promise(guarantee, 0)


def why_more(budget: Budget, line: Spend) -> str:
    """Return the reason why a budget was charged more than the release's own loss; empty if it was not."""
    return _WHY_TWO[budget.neighbours.step] if line.loss != line.guarantee else ""


def two_step_delta(mechanism: "Mechanism", epsilon: Fraction) -> Fraction:
    """Return a δ at this ε between datasets with one record replaced, for one whose own step adds or removes one; 1 if none is known.

    Where noise is independent by cell, two counts change, and their losses add up (docs/explain/mechanisms.md).
    """
    from discreet.mechanisms.losses import composes_by_cell

    found = mechanism._two_step_delta(epsilon) if composes_by_cell(mechanism) else Fraction(1)
    places = 10**limits.AMOUNT_DIGITS
    return Fraction(ceil(found * places), places)


def _divergence(loss: Loss, steps: int, mechanism: "Mechanism | None", order: Fraction) -> Fraction | None:
    """Return the charge to a filter of this order: by the mechanism's own laws where they are known and can be listed.

    None if nothing bounds it: a δ above 0 says nothing of a divergence, and only a loss with a ρ has one.
    """
    from discreet.ledger.filters import largest_divergence, mechanism_divergence
    from discreet.mechanisms.losses import composes_by_cell

    if loss.delta:
        atoms = None if mechanism is None or (steps > 1 and not composes_by_cell(mechanism)) else mechanism._loss_atoms()
        return None if mechanism is None or atoms is None or atoms.rho is None else mechanism_divergence(mechanism, order, steps)
    charged = largest_divergence(loss.epsilon, order)
    return charged if mechanism is None else min(charged, mechanism_divergence(mechanism, order, steps))


def second_budget_words(others: Sequence[str]) -> str | None:
    """Return the warning about a source that was charged to these other datasets; None if there are none."""
    if not others:
        return None
    more = f" and {len(others) - _NAMED_DATASETS:,} more" if len(others) > _NAMED_DATASETS else ""
    return (
        f"this source was charged to {', '.join(map(repr, others[:_NAMED_DATASETS]))}{more} before: a second budget for the same people "
        "does not protect them, because what they lose is the sum"
    )


_NAMED_DATASETS = 5
"""Datasets that a message names."""


def described(mechanism: "Mechanism") -> dict[str, Any]:
    """The public description of a mechanism, from which an accountant can make it again, unless it is of a table."""
    from discreet.model.tables import TableSpace
    from discreet.record.json import written_parameters

    name, parameters = mechanism._described()
    return {
        "mechanism": name,
        "parameters": written_parameters(parameters),
        "prior": [str(a) for a in mechanism.prior.exact],
        "n": mechanism.space.n,
        **({_TABLE: _described_table(mechanism.space)} if isinstance(mechanism.space, TableSpace) else {}),
    }


def described_together(prepared: "Mapping[str, Prepared]") -> dict[str, Any]:
    """The public description of releases that are charged by one line: of several by their names, or of one that has none."""
    every = {name: described(one.mechanism) for name, one in prepared.items()}
    return every[""] if [*every] == [""] else {"tables": every}


_TABLE = "table"


def _described_table(space: "TableSpace") -> dict[str, Any]:
    """Return how large a table is and what is public about it. Sizes, of which there may be a million, are told apart by their digest."""
    return {
        "columns": list(space.cells.groups.columns),
        "groups": len(space.cells.groups),
        "cells": space.k,
        "public": space.published,
        **({} if space.sizes is None else {"sizes": f"sha256:{sha256(','.join(map(str, space.sizes)).encode()).hexdigest()}"}),
    }


def part_of(line: Spend, budget: Budget) -> "Mechanism | Guarantee":
    """The mechanism of a spend, if its description makes one with just its guarantee; else what was charged, as a guarantee.

    A table is taken by its charge, because its description is too short to make its mechanism again. So is a release that protects persons
    if the budget hides that a record comes or goes: see `charge_for`. A charge is about the budget's unit, and says so no more than a
    mechanism does: all parts are of one unit.
    """
    from discreet.mechanisms.registry import rebuilt
    from discreet.model.dirichlet import Dirichlet
    from discreet.record.json import read_parameters

    charged = Guarantee(rounded_up(line.loss.epsilon), rounded_up(line.loss.delta), "proof", neighbours=budget.neighbours)
    doubled_by_unit = line.loss != line.guarantee and line.neighbours == budget.neighbours
    if doubled_by_unit or _TABLE in line.description or not {"mechanism", "parameters", "prior", "n"} <= set(line.description):
        return charged
    described = line.description
    try:
        found = rebuilt(described["mechanism"], read_parameters(described["parameters"]), Dirichlet(described["prior"]), described["n"])
        own = Guarantee(rounded_up(line.guarantee.epsilon), rounded_up(line.guarantee.delta), "proof", line.unit, line.neighbours)
        same = replace(found.guarantee, basis=own.basis, unit=own.unit) == own
    except (DiscreetError, KeyError, TypeError, ValueError):  # a line about something that cannot be made here
        return charged
    return found if same else charged
