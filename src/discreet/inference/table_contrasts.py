"""Contrasts of groups of a table: how the probability of one category differs between two of them (docs/tables.md).

Where the sizes of groups are public, or nothing is, groups are independent given what was released. A public total ties their sizes.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Floats
from discreet.errors import InvalidInputError
from discreet.inference.any_total_mixtures import joint_weights
from discreet.inference.category_contrasts import check_pairs
from discreet.inference.contrasts import Contrast, CoupledGroup, coupled_contrast, independent_contrast, size_coupling
from discreet.inference.other_groups import TiedGroups
from discreet.inference.private_totals import CountsOfAnyTotal
from discreet.inference.runs import Run, added, kept, values_at
from discreet.model.beta_rows import Block

if TYPE_CHECKING:
    from discreet.inference.table_posterior import TablePosterior

_LEFT_OUT = 1e-14
"""Posterior probability of sizes, and of counts, that are left out at either end."""


def comparable(posterior: "TablePosterior", category: Hashable) -> list[int]:
    """The positions of the groups in which this category, and another one, can occur."""
    possible = posterior.mechanism.table.cells.possible
    return np.flatnonzero(possible[:, posterior.mechanism.prior._index(category)] & (possible.sum(axis=1) > 1)).tolist()


def group_contrasts(posterior: "TablePosterior", groups: Sequence[int], reference: int, category: Hashable) -> Iterator[Contrast]:
    """Compare each of these groups, given by their positions, with a reference group. What cannot be compared is refused at once."""
    sides = [_side(posterior, group, category) for group in groups]
    other = _side(posterior, reference, category)
    if reference in groups:
        raise InvalidInputError(f"a contrast compares two different groups, got {posterior.by[reference]!r} twice")
    if posterior.mechanism.table.published == "total":
        return _tied_contrasts(posterior, sides, other)
    return (_independent(posterior, side, other) for side in sides)


@dataclass(frozen=True)
class _Side:
    """A category in a group, with its Beta parameters before the data."""

    position: int
    group: Hashable
    category: Hashable
    place: int
    """Of the category among those that can occur in the group."""
    a: float
    b: float


def _side(posterior: "TablePosterior", position: int, category: Hashable) -> _Side:
    possible, group = posterior.mechanism.table.cells.possible[position], posterior.by[position]
    column = posterior.mechanism.prior._index(category)
    label = posterior.categories[column]
    if not possible[column]:
        raise InvalidInputError(f"category {label!r} is declared impossible in group {group!r}: its probability is 0")
    if possible.sum() == 1:
        raise InvalidInputError(f"in group {group!r} nothing but {label!r} can occur: its probability is 1")
    place, parameters = int(possible[:column].sum()), posterior._concentrations(position)
    return _Side(position, group, label, place, float(parameters[place]), float(sum(parameters) - parameters[place]))


def _independent(posterior: "TablePosterior", first: _Side, second: _Side) -> Contrast:
    laws = [posterior[side.group].marginal(side.category) for side in (first, second)]
    return independent_contrast(*laws, names=(first.group, second.group), priors=((first.a, first.b), (second.a, second.b)))


# --- groups that a public total ties together -------------------------------------------------------------------------


def _tied_contrasts(posterior: "TablePosterior", firsts: Sequence[_Side], second: _Side) -> Iterator[Contrast]:
    held, tied = posterior._tied
    wanted = {side.position: side for side in firsts}
    other, counts = held.index(second.position), tied.counts(held.index(second.position))
    beside = {held[i]: (i, rest, dropped) for i, rest, dropped in tied.without(other) if held[i] in wanted}
    for side in firsts:
        i, rest, dropped = beside[side.position]
        yield _tied(tied, (side, second), (tied.counts(i), counts), rest, dropped)


def _tied(
    tied: TiedGroups, sides: tuple[_Side, _Side], counts: tuple[CountsOfAnyTotal, CountsOfAnyTotal], rest: Run, dropped: float
) -> Contrast:
    """Compare two groups, given the laws of their counts under the tilt and that of the total of all other groups."""
    given = [_given_total(mine.sizes, added(rest, its.sizes), tied.total) for mine, its in (counts, counts[::-1])]
    found = [_coupled(*all_of_one) for all_of_one in zip(sides, counts, given, strict=True)]
    (first, left), (second, right) = found
    omitted = tied.omitted(dropped, float(given[0].sum())) + left + right
    names = sides[0].group, sides[1].group
    return coupled_contrast(first, second, size_coupling(first, second, rest, tied.total), names=names, omitted=min(1.0, omitted))


def _given_total(sizes: Run, others: Run, total: int) -> Floats:
    """The weight of each size of a group, given that it and all others add up to the total."""
    return np.asarray(sizes.value * values_at(others, total - sizes.high, len(sizes.value))[::-1])


def _coupled(side: _Side, counts: CountsOfAnyTotal, given: Floats) -> tuple[CoupledGroup, float]:
    """A group's sizes and counts that matter given the total, weighted as under the tilt; and the probability of those left out."""
    chance = given / given.sum()
    first, last, beyond = kept(chance, _LEFT_OUT)
    sizes = np.arange(counts.sizes.low + first, counts.sizes.low + last + 1)
    low, high = counts.reach.windows[side.place]
    high = min(high, int(sizes[-1]))
    check_pairs(len(sizes), high - low + 1)
    law = joint_weights(counts, side.place, sizes, (low, high))
    start, end, more = kept(chance[first : last + 1] @ law.weights, _LEFT_OUT)
    weights = law.weights[:, start : end + 1] * counts.sizes.value[first : last + 1, None]
    return CoupledGroup(Block(low + start, sizes, weights), side.a, side.b), beyond + more
