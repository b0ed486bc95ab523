"""Contrasts of groups of a table: how the probability of some categories differs between two of them (docs/howto/reading.md).

Where the sizes of groups are public, or nothing is, groups are independent given what was released. A public total ties their sizes.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.betas.rows import Block
from discreet.counts.law import check_pairs
from discreet.counts.runs import Run, added, values_at
from discreet.counts.tree import TreeCounts
from discreet.errors import InvalidInputError
from discreet.inference.contrasts import CoupledGroup, coupled_contrast, independent_contrast, size_coupling, vanishing
from discreet.inference.quantities import Contrast, Quantity
from discreet.inference.reading import any_of
from discreet.inference.tables.other_groups import TiedSizes
from discreet.model.cells import Cells
from discreet.numerics.tails import kept

_OUTER_SIZES = 1e-14
"""Posterior probability of sizes, and of counts, that are left out at either end."""
Summary = tuple[float, float, float]


def comparable(cells: Cells, chosen: Sequence[int]) -> list[int]:
    """The positions of the groups in which some of these categories, given by their positions, and others can occur."""
    possible = cells.possible
    inside = possible[:, list(chosen)].sum(axis=1)
    return np.flatnonzero((inside > 0) & (inside < possible.sum(axis=1))).tolist()


def group_contrasts(table: Any, groups: Sequence[int], reference: int, chosen: Sequence[int]) -> Iterator[Contrast]:
    """Compare each of these groups, given by their positions in ascending order, with a reference group, in some of the categories.

    `table` is a `TablePosterior`.
    """
    other = _side(table, reference, chosen)
    if table.tied:
        return _tied_contrasts(table, table._tie(), groups, other, chosen)
    return (_independent(table, _side(table, group, chosen), other) for group in groups)


@dataclass(frozen=True)
class ContrastSummary:
    """One group against a reference group: of each contrast the median and the two ends of its interval."""

    group: Hashable
    difference: Summary
    odds_ratio: Summary
    probability: float
    """The probability that the category is more likely in this group."""


def summarised(found: Iterable[tuple[Hashable, Contrast]], mass: float) -> list[ContrastSummary]:
    """The figures of contrasts of groups with a reference group, as `TablePosterior.contrasts` gives them."""

    def figures(quantity: Quantity) -> Summary:
        median, low, high = quantity.ppf([0.5, 0.5 * (1.0 - mass), 0.5 * (1.0 + mass)]).tolist()
        return median, low, high

    return [ContrastSummary(group, figures(c.difference), figures(c.odds_ratio), c.probability) for group, c in found]


@dataclass(frozen=True)
class _Side:
    """Some categories in a group, with the Beta parameters of their probability before the data."""

    position: int
    group: Hashable
    categories: list[Hashable]
    """The labels of the categories that can occur in the group."""
    places: list[int]
    """The positions of these categories among all that can occur in the group."""
    a: float
    b: float

    @property
    def place(self) -> int:
        """The place in `counts_of` of the count of these categories."""
        return self.places[0] if len(self.places) == 1 else 0

    def counts_of(self, counts: TreeCounts) -> TreeCounts:
        """The law of the group's counts, with several categories as one and all others as another."""
        if len(self.places) == 1:
            return counts
        return counts.merged([self.places, [i for i in range(len(counts.windows)) if i not in self.places]])


def _side(table: Any, position: int, chosen: Sequence[int]) -> _Side:
    cells = table.cells
    possible, group = cells.possible[position], cells.groups[position]
    held = [i for i in chosen if possible[i]]
    name = any_of([cells.categories[i] for i in chosen])
    if not held:
        raise InvalidInputError(f"category {name!r} is declared impossible in group {group!r}: its probability is 0")
    if possible.sum() == len(held):
        raise InvalidInputError(f"in group {group!r} nothing but {name!r} can occur: its probability is 1")
    places, parameters = [int(possible[:i].sum()) for i in held], table._concentrations(position)
    a = sum(parameters[i] for i in places)
    return _Side(position, group, [cells.categories[i] for i in held], places, float(a), float(sum(parameters) - a))


def _independent(table: Any, first: _Side, second: _Side) -> Contrast:
    laws = [table[side.group].marginal(side.categories) for side in (first, second)]
    one, other = (vanishing((side.a, side.b), table[side.group].counts.first, side.places) for side in (first, second))
    return independent_contrast(*laws, names=(first.group, second.group), priors=(one, other))


# --- groups that a public total ties together -------------------------------------------------------------------------


def _tied_contrasts(table: Any, tied: TiedSizes, groups: Sequence[int], second: _Side, chosen: Sequence[int]) -> Iterator[Contrast]:
    firsts = {group: _side(table, group, chosen) for group in groups}
    held = np.flatnonzero(table.cells.possible.any(axis=1)).tolist()
    other = held.index(second.position)
    counts = second.counts_of(tied.counts(other))
    for i, rest, dropped in tied.without(other, [held.index(group) for group in groups]):
        first = firsts[held[i]]
        yield _tied(tied, (first, second), (first.counts_of(tied.counts(i)), counts), rest, dropped)


def _tied(tied: TiedSizes, sides: tuple[_Side, _Side], counts: tuple[TreeCounts, TreeCounts], rest: Run, dropped: float) -> Contrast:
    """Compare two groups, given the laws of their counts under the tilt and that of the total of all other groups."""
    given = [_given_total(mine.sizes, added(rest, its.sizes), tied.total) for mine, its in (counts, counts[::-1])]
    found = [
        tied.made_once(own, side.place, partial(_coupled, side, own, all_)) for side, own, all_ in zip(sides, counts, given, strict=True)
    ]
    (first, left), (second, right) = found
    check_pairs(len(first.block.totals), len(second.block.totals))
    omitted = tied.omitted(dropped, float(given[0].sum())) + left + right
    names = sides[0].group, sides[1].group
    return coupled_contrast(first, second, size_coupling(first, second, rest, tied.total), names=names, omitted=min(1.0, omitted))


def _given_total(sizes: Run, others: Run, total: int) -> Floats:
    """The weight of each size of a group, given that it and all others add up to the total."""
    return np.asarray(sizes.value * values_at(others, total - sizes.high, len(sizes.value))[::-1])


def _coupled(side: _Side, counts: TreeCounts, given: Floats) -> tuple[CoupledGroup, float]:
    """A group's sizes and counts that matter given the total, weighted as under the tilt; and the probability of those left out."""
    chance = given / given.sum()
    first, last, beyond = kept(chance, _OUTER_SIZES)
    sizes = np.arange(counts.sizes.low + first, counts.sizes.low + last + 1)
    low, high = counts.windows[side.place]
    high = min(high, int(sizes[-1]))
    check_pairs(len(sizes), high - low + 1)
    law = counts.joint_weights(side.place, sizes, np.ones(len(sizes)), (low, high))
    inside = chance[first : last + 1]
    start, end, more = kept(np.einsum("u,ux->x", inside, law.weights), _OUTER_SIZES)
    weights = law.weights[:, start : end + 1] * counts.sizes.value[first : last + 1, None]
    block, least = Block(low + start, sizes, weights), int(counts.first[side.place])
    return CoupledGroup(block, side.a, side.b, inside / inside.sum(), (least, int(counts.first.sum()) - least)), beyond + more
