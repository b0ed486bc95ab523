"""Public descriptions of mechanisms in a ledger, and the mechanism that is made of one again."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError
from discreet.ledger.budgets import Budget, Spend
from discreet.record.guarantee import Guarantee, rounded_up

if TYPE_CHECKING:
    from discreet.mechanisms.base import Mechanism, Prepared
    from discreet.model.tables import TableSpace


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
