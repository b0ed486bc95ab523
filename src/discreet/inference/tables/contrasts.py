"""Contrasts of groups of a table: how the probability of one category differs between two of them (docs/howto/reading_tables.md).

Where the sizes of groups are public, or nothing is, groups are independent given what was released. A public total ties their sizes.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from discreet.arrays import Floats
from discreet.counts.pairs import check_pairs
from discreet.counts.runs import Run, added, values_at
from discreet.counts.total_blocks import joint_weights
from discreet.counts.tree import TreeCounts
from discreet.errors import InvalidInputError
from discreet.inference.contrasts import CoupledGroup, coupled_contrast, independent_contrast, size_coupling
from discreet.inference.quantities import Contrast, Quantity
from discreet.inference.tables.other_groups import TiedSizes
from discreet.model.beta_mixtures import BetaMixture
from discreet.model.beta_rows import Block
from discreet.model.tables import TableSpace
from discreet.numerics.tails import kept
from discreet.validation import category_index

_OUTER_SIZES = 1e-14
"""Posterior probability of sizes, and of counts, that are left out at either end."""
Summary = tuple[float, float, float]


@dataclass(frozen=True)
class ComparedGroups:
    """The groups of a table, as far as contrasts of them need their posterior."""

    table: TableSpace
    probability: Callable[[Hashable, Hashable], BetaMixture]
    """The law of one category's probability, given a group and the category by their labels."""
    concentrations: Callable[[int], tuple[Fraction, ...]]
    """The prior's parameters of the categories that can occur in a group, which is given by its position."""
    tied: Callable[[], tuple[list[int], TiedSizes]]
    """Where the total is public: the positions of the groups that it ties together, and the law of their sizes."""


def comparable(table: TableSpace, category: Hashable) -> list[int]:
    """The positions of the groups in which this category, and another one, can occur."""
    possible = table.cells.possible
    return np.flatnonzero(possible[:, category_index(table.cells.categories, category)] & (possible.sum(axis=1) > 1)).tolist()


def group_contrasts(compared: ComparedGroups, groups: Sequence[int], reference: int, category: Hashable) -> Iterator[Contrast]:
    """Compare each of these groups, given by their positions in ascending order, with a reference group."""
    other = _side(compared, reference, category)
    if compared.table.published == "total":
        return _tied_contrasts(compared, groups, other)
    return (_independent(compared, _side(compared, group, category), other) for group in groups)


@dataclass(frozen=True)
class ContrastSummary:
    """One group against a reference group: of each contrast the median and the two ends of its interval."""

    group: Hashable
    difference: Summary
    odds_ratio: Summary
    probability: float
    """That the category is more likely in this group."""


def contrast_columns(found: Sequence[Contrast], mass: float) -> dict[str, list[float]]:
    """The numbers of a frame of contrasts: of each quantity its median and the ends of its interval, and which of the two is larger."""
    levels = np.array([0.5, 0.5 * (1.0 - mass), 0.5 * (1.0 + mass)])
    columns: dict[str, list[float]] = {}
    for name in ("difference", "ratio", "odds_ratio"):
        figures = [getattr(one, name).ppf(levels).tolist() for one in found]
        for place, end in enumerate(("", "_low", "_high")):
            columns[name + end] = [each[place] for each in figures]
    return columns | {"probability": [one.probability for one in found]}


def summarised(found: Iterable[tuple[Hashable, Contrast]], mass: float) -> list[ContrastSummary]:
    """The figures of contrasts of groups with a reference group, as `TablePosterior.contrasts` gives them."""

    def figures(quantity: Quantity) -> Summary:
        return quantity.median(), *quantity.interval(mass)

    return [ContrastSummary(group, figures(c.difference), figures(c.odds_ratio), c.probability) for group, c in found]


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


def _side(compared: ComparedGroups, position: int, category: Hashable) -> _Side:
    possible, group = compared.table.cells.possible[position], compared.table.cells.groups[position]
    column = category_index(compared.table.cells.categories, category)
    label = compared.table.cells.categories[column]
    if not possible[column]:
        raise InvalidInputError(f"category {label!r} is declared impossible in group {group!r}: its probability is 0")
    if possible.sum() == 1:
        raise InvalidInputError(f"in group {group!r} nothing but {label!r} can occur: its probability is 1")
    place, parameters = int(possible[:column].sum()), compared.concentrations(position)
    return _Side(position, group, label, place, float(parameters[place]), float(sum(parameters) - parameters[place]))


def _independent(compared: ComparedGroups, first: _Side, second: _Side) -> Contrast:
    laws = [compared.probability(side.group, side.category) for side in (first, second)]
    return independent_contrast(*laws, names=(first.group, second.group), priors=((first.a, first.b), (second.a, second.b)))


# --- groups that a public total ties together -------------------------------------------------------------------------


def _tied_contrasts(compared: ComparedGroups, groups: Sequence[int], second: _Side) -> Iterator[Contrast]:
    firsts = {group: _side(compared, group, second.category) for group in groups}
    held, tied = compared.tied()
    other = held.index(second.position)
    counts = tied.counts(other)
    for i, rest, dropped in tied.without(other, [held.index(group) for group in groups]):
        yield _tied(tied, (firsts[held[i]], second), (tied.counts(i), counts), rest, dropped)


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
    law = joint_weights(counts, side.place, sizes, (low, high))
    inside = chance[first : last + 1]
    start, end, more = kept(inside @ law.weights, _OUTER_SIZES)
    weights = law.weights[:, start : end + 1] * counts.sizes.value[first : last + 1, None]
    return CoupledGroup(Block(low + start, sizes, weights), side.a, side.b, inside / inside.sum()), beyond + more
