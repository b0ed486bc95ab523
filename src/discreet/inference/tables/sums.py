"""Sums of the true counts of a table over groups (docs/howto/reading.md).

Between independent groups the law of a sum is a convolution of the laws of cells. Where a public total ties the groups, it is found from
the joint laws of a cell and the size of its group, under a tilt that makes groups independent: their two-dimensional Fourier transforms
are multiplied, and the sizes set to the total. Where these are too long, sums are counted among draws.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, overload

import numpy as np

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.counts.runs import FLOOR, Run, RunningSum, trimmed
from discreet.counts.size_posterior import SizePosterior
from discreet.errors import RefusedError
from discreet.inference.draws import DRAWS, Rng, check_draws, seed_of, standard_error
from discreet.inference.tables.latent import LatentTable, Margin, Positions, check_groups_drawn
from discreet.inference.tables.one_by_one import ByGroup, ByLabels
from discreet.inference.tables.other_groups import TiedSizes
from discreet.inference.tables.shares import OverGroups
from discreet.model.cells import Groups
from discreet.numerics.transforms import fast_length, laws, spectra
from discreet.validation import check_records, check_share

_TRANSFORMED_TAIL = 1e-19
"""The probability left out at the ends of laws that are transformed."""
_FACTOR_ROUNDING = 1e-15
"""Rounding error of a product of transforms, for each factor."""
_LARGEST_SUM_ERROR = 1e-10
"""Bound on the error of probabilities up to which a law is given as exact."""


@dataclass(frozen=True, eq=False, repr=False)
class CountSum(OverGroups):
    """The posterior of sums of true counts over some groups, by category. `total["daily"]` is the law of one of them."""

    def __getitem__(self, category: Hashable) -> SizePosterior:
        """The law of the number of records of one category in these groups."""
        return self._distribution([self._index(category)])

    def probabilities(self, category: Hashable) -> tuple[Counts, Floats]:
        """Possible sums of one category and their probabilities."""
        return self[category].probabilities()

    def mean(self) -> Floats:
        """Expected sum of each category, of any number of groups."""
        if self._many:
            return np.asarray(self.moments()[0][self.positions].sum(axis=0))
        return np.array([law.mean() for law in self._laws()])

    def std(self) -> Floats:
        """Standard deviation of the sum of each category; of any number of groups where these are independent."""
        if self._many and self.table.tie is None:
            return np.asarray(np.sqrt(np.square(self.moments()[1][self.positions]).sum(axis=0)))
        return np.array([law.std() for law in self._laws()])

    @property
    def _many(self) -> bool:
        """Return whether there are too many groups for the law of their sum, so that moments are added up instead."""
        return len(self.positions) > limits.GROUPS_ADDED or (self.table.tie is not None and len(self.table.held) > limits.GROUPS_CONVOLVED)

    def interval(self, mass: float = 0.95) -> Counts:
        """Equal-tailed intervals of whole numbers that each hold this much probability or more: a row (low, high) for each category."""
        return np.array([law.interval(mass) for law in self._laws()])

    @property
    def is_exact(self) -> bool:
        """Return whether all of these are computed; otherwise they come from draws, and `standard_error` says how far off they may be."""
        return all(self._exact(i) is not None for i in range(len(self.categories)))

    def standard_error(self) -> Floats:
        """The Monte Carlo standard error of each mean; 0 where it is computed."""
        if self._many:
            return np.zeros(len(self.categories))
        drawn = np.array([self._exact(i) is None for i in range(len(self.categories))])
        return np.asarray(np.where(drawn, self.std() / np.sqrt(self.draws), 0.0))

    def probability_error(self, mass: float = 0.95) -> Floats:
        """The standard error of the probability beyond an end of each interval; 0 where it is computed."""
        drawn = np.array([self._exact(i) is None for i in range(len(self.categories))])
        return np.where(drawn, standard_error(0.5 * (1.0 - mass) * self.draws, self.draws), 0.0)

    def _score(self, weights: Floats, draws: int | None, rng: Rng) -> Any:  # noqa: ARG002 - there is none with any
        raise RefusedError("scores are of probabilities and of shares, and these are counts")

    def hdi(self, mass: float = 0.95) -> Floats:
        """Refuse: highest density intervals are of probabilities."""
        share = check_share(mass, "mass")
        raise RefusedError(
            f"highest density intervals are of probabilities, and these are counts: interval({share:g}) has equal-tailed ones"
        )

    def _laws(self) -> list[SizePosterior]:
        return [self._sum(i) for i in range(len(self.categories))]

    def _distribution(self, chosen: Sequence[int]) -> SizePosterior:
        if len(chosen) > 1:
            raise RefusedError("sums of true counts have laws of single categories, and none of sets of them")
        return self._sum(chosen[0])

    def _sum(self, category: int) -> SizePosterior:
        exact = self._exact(category)
        if exact is not None:
            return exact
        drawn = self._drawn[:, category]
        low = int(drawn.min())
        return SizePosterior(low, np.bincount(drawn - low) / self.draws)

    @cached_property
    def _drawn(self) -> Counts:
        found = np.zeros((self.draws, len(self.categories)), dtype=np.int64)
        for _, counts in self.table.draws(self.draws, np.random.default_rng(self.rng), self.positions):
            found += counts
        return found

    def _exact(self, category: int) -> SizePosterior | None:
        if self.table.tie is None or len(self.positions) == 1:
            return self._convolved[category]
        if category not in self._tied:
            assert self.table.tied is not None  # noqa: S101
            self._tied[category] = _tied_sum(self.table, self.table.tied, self.positions, category)
        return self._tied[category]

    @cached_property
    def _tied(self) -> dict[int, SizePosterior | None]:
        return {}

    @cached_property
    def _convolved(self) -> list[SizePosterior]:
        """The sums of independent groups, whose laws are gone through once for all categories."""
        check_groups_drawn(len(self.positions))
        sums, omitted = [RunningSum(FLOOR) for _ in self.categories], 0.0
        for position in self.positions.tolist():
            runs, left = self.table.marginals(position)
            omitted += left
            for total, run in zip(sums, runs, strict=True):
                total.add(run)
        return [_law_of(*total.total(), omitted) for total in sums]


def _law_of(run: Run, dropped: float, omitted: float) -> SizePosterior:
    return SizePosterior(run.low, run.value / run.value.sum(), min(1.0, dropped + omitted))


# --- groups that a total ties -----------------------------------------------------------------------------------------


def _tied_sum(table: LatentTable, tied: TiedSizes, positions: Positions, category: int) -> SizePosterior | None:
    """The law of the sum of one category over some groups given the total of all; None where it is too long or not exact enough."""
    chosen = [table.held[p] for p in positions.tolist() if table.possible[p, category]]
    places = {i: int(table.possible[p, :category].sum()) for p, i in table.held.items() if table.possible[p, category]}
    if not chosen:
        return SizePosterior(0, np.ones(1))
    check_groups_drawn(len(chosen))
    sizes = [trimmed(run, _TRANSFORMED_TAIL)[0] for run in tied.segment.windows]
    span, outside = _span(tied.counts(i).marginal(places[i]) for i in chosen)
    columns = fast_length(max(max(len(run.value) for run in sizes), len(_without_tails(tied.segment.sum.run).value)))
    rows = fast_length(len(span.value))
    work = rows * columns * len(chosen) * table.possible.shape[1]
    if rows * columns > limits.SUM_CELLS or work > limits.SUM_TRANSFORMS:
        return None
    product, low, least = np.ones((rows, columns // 2 + 1), dtype=np.complex128), 0, 0
    for i, run in enumerate(sizes):
        if i in chosen:
            x, n, joint = tied.counts(i).joint(places[i], _TRANSFORMED_TAIL)
            product *= spectra(_wrapped(joint, rows, columns), rows, columns)
            low, least = low + x, least + n
        else:
            product *= spectra(run.value, columns)
            least += run.low
    value = np.roll(laws(product, rows, columns)[:, (tied.total - least) % columns], low - span.low)
    whole = float(value.sum())
    left = tied.outside + outside + len(sizes) * (8.0 * _TRANSFORMED_TAIL + _FACTOR_ROUNDING)
    if not whole > left / _LARGEST_SUM_ERROR:
        return None
    probability = np.maximum(value[: len(span.value)], 0.0)
    return SizePosterior(span.low, probability / probability.sum(), left / whole)


def _without_tails(run: Run) -> Run:
    return trimmed(run, _TRANSFORMED_TAIL * float(run.value.sum()))[0]


def _span(marginals: Iterator[Run]) -> tuple[Run, float]:
    """The values that a sum of independent counts may have, and what is left out of them; at least as many as any of the counts has."""
    sums, widest, many = RunningSum(FLOOR), 0, 1
    for run in marginals:
        part = _without_tails(run)
        sums.add(part)
        widest, many = max(widest, len(part.value)), many + 1
    run, dropped = sums.total()
    run = _without_tails(run)
    if len(run.value) < widest:
        run = Run(run.low, np.pad(run.value, (0, widest - len(run.value))))
    return run, dropped + 2.0 * _TRANSFORMED_TAIL * many


def _wrapped(joint: Floats, rows: int, columns: int) -> Floats:
    """A law on a circle, where its values may go around."""
    for axis, length in ((0, rows), (1, columns)):
        if joint.shape[axis] > length:
            many = -(-joint.shape[axis] // length)
            padding = [(0, 0), (0, 0)]
            padding[axis] = (0, many * length - joint.shape[axis])
            shape = (many, length, -1) if axis == 0 else (joint.shape[0], many, length)
            joint = np.pad(joint, padding).reshape(shape).sum(axis=axis)
    return joint


# --- as readers ask ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class TableCountsPosterior(ByGroup[CountSum]):
    """The true counts of a table by group, and sums of them over groups."""

    table: LatentTable
    groups: Groups
    labels: tuple[Hashable, ...]
    """The labels of the categories."""
    moments: Callable[[], tuple[Floats, Floats]]
    """The means and standard deviations of all true counts."""
    seed: int | None
    """The seed of draws unless another is given."""

    @property
    def by(self) -> Groups:
        return self.groups

    @property
    def categories(self) -> tuple[Hashable, ...]:
        return self.labels

    def _posterior(self, position: int) -> CountSum:
        return self._total(DRAWS, None, np.array([position]))

    def mean(self) -> Floats:
        """Expected counts, by group and category."""
        return self.moments()[0].copy()

    def std(self) -> Floats:
        """Standard deviations of the counts, by group and category."""
        return self.moments()[1].copy()

    def __repr__(self) -> str:
        return f"TableCountsPosterior({len(self):,} groups by {len(self.categories)} categories)"

    @overload
    def over(self, *, draws: int = DRAWS, rng: Rng = None) -> CountSum: ...

    @overload
    def over(self, column: str, /, *columns: str, draws: int = DRAWS, rng: Rng = None) -> ByLabels[CountSum]: ...

    def over(self, *columns: str, draws: int = DRAWS, rng: Rng = None) -> ByLabels[CountSum] | CountSum:
        """Sums of the true counts over all other columns; without columns, over all groups.

        `draws` and `rng` are for tables with a public total that are too large for exact laws.
        """
        size = check_records(draws, "draws")
        check_draws(size, len(self.categories))

        margin, total = Margin(self.groups, columns), partial(self._total, size, rng)
        return ByLabels(margin, total) if columns else total(np.arange(len(self.groups)))

    def _total(self, draws: int, rng: Rng, positions: Positions) -> CountSum:
        seed = seed_of(self.seed, positions[:1].tolist()) if rng is None else rng
        return CountSum(self.table, self.categories, positions, self.moments, draws, seed)
