"""Several releases about different records: the law of all their counts, summed exactly (docs/proofs/inference.md, "Several releases").

Given θ the records of different releases are independent, so that counts x_r have, with X = Σ_r x_r and N = ΣX, the posterior weight

    Π_r P(z_r | x_r) n_r!/Π_i x_ri!  ·  Γ(A)/Γ(A + N) Π_i Γ(a_i + X_i)/Γ(a_i) ,

and θ given X is Dir(a + X). The first product depends on each release's counts alone and the second on their sum alone: the weight of X
is a convolution. Releases are added one after the other. Each is listed out to where next to nothing of its own posterior is left; what
that can be worth once all releases are known is bounded.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, logsumexp

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.counts.law import CountLaw
from discreet.counts.listed import ListedCounts
from discreet.counts.tree import TreeCounts
from discreet.errors import TooLargeError
from discreet.inference.true_counts import Outcome, counts_of_same_records
from discreet.model.datasets import box_points
from discreet.model.dirichlet import Beta, Dirichlet
from discreet.model.size_priors import SizePrior
from discreet.numerics.gamma import bregman
from discreet.numerics.tails import likeliest
from discreet.progress import Progress

_TAILS = (1e-20, 1e-27, 1e-120)
"""Own posterior probability of the counts of a release that are left out: smaller if that turns out to be too much."""
_SMALL_OMITTED, _LARGEST_OMITTED = 1e-14, 1e-10
"""Bounds on what is left out: below the first nobody looks again, above the second there is no answer."""
_FLOAT_RANGE = 600.0
"""The largest range of logarithms of products that are added up as floats."""
_PAIRS_HELD = 1 << 18
"""Pairs of counts that are held at once."""


def counts_of_new_records(
    prior: Dirichlet | Beta, outcomes: Sequence[Outcome], size_prior: SizePrior, progress: Progress | None = None
) -> ListedCounts:
    """The posterior law of the counts of all releases together, each about records of its own.

    Raises TooLargeError where there are too many counts to sum over.
    """
    laws = [counts_of_same_records(prior, one.n, [one], size_prior, progress) for one in outcomes]
    for tail in _TAILS:
        found = _pooled(prior, outcomes, laws, size_prior, tail)
        if found.omitted < _SMALL_OMITTED:
            return found
    if found.omitted > _LARGEST_OMITTED:
        raise TooLargeError("these releases contradict each other so much that too many counts are possible to sum over")
    return found


@dataclass(frozen=True, eq=False)
class _Cloud:
    """Counts, one a row, and the logarithms of the weights that they have before θ is believed anything about."""

    points: Counts
    log_weight: Floats
    reference: Counts
    """Counts that logarithms are taken relative to."""
    left: float
    """Own posterior probability of the counts that are left out."""
    log_evidence: float = 0.0
    """ln P(outcomes), up to a constant for each outcome."""


def _log_gamma(start: float, x: Counts | Floats, reference: Counts | float, slope: Floats | float) -> Floats:
    """ln Γ(start + x) less its value at the reference, and less a line of this slope."""
    away = np.subtract(x, reference, dtype=np.float64)
    return np.asarray(bregman(start + x, start + reference, away) + (digamma(start + reference) - slope) * away)


@dataclass(frozen=True, eq=False)
class _Model:
    """The factors of the weight that depend on counts added up, with logarithms relative to references so that nothing cancels."""

    a: Floats
    slopes: Floats
    """The change of the logarithms per count near the sum of all references, by category; taken out of everything."""
    total_slope: float
    """The change of the logarithm per record near the sum of all references, for the total."""

    def log_split(self, points: Counts, reference: Counts) -> Floats:
        """ln n!/Πx_i! of counts, one a row."""
        of_total = _log_gamma(1.0, points.sum(axis=1), reference.sum(), self.total_slope)
        return np.asarray(of_total - _log_gamma(1.0, points, reference, self.slopes).sum(axis=1))

    def log_rise(self, category: int, x: Floats, reference: float) -> Floats:
        """ln Γ(a_i + x)."""
        return _log_gamma(self.a[category], x, reference, self.slopes[category])

    def log_fall(self, n: Floats, reference: float) -> Floats:
        """-ln Γ(A + n)."""
        return -_log_gamma(self.a.sum(), n, reference, self.total_slope)

    def log_prior(self, points: Counts, reference: Counts) -> Floats:
        """The second product, of counts one a row."""
        rises = [self.log_rise(i, column.astype(np.float64), float(reference[i])) for i, column in enumerate(points.T)]
        return sum(rises, self.log_fall(points.sum(axis=1).astype(np.float64), float(reference.sum())))

    def log_constant(self, reference: Counts) -> float:
        """The second product at the reference."""
        total = self.a.sum()
        whole = gammaln(total) - gammaln(total + reference.sum())
        return float(whole + (gammaln(self.a + reference) - gammaln(self.a)).sum())


def _pooled(
    prior: Dirichlet | Beta,
    outcomes: Sequence[Outcome],
    laws: Sequence[CountLaw],
    size_prior: SizePrior,
    tail: float,
) -> ListedCounts:
    references = [_reference(law, prior.k) for law in laws]
    everything = sum(references, np.zeros(prior.k, dtype=np.int64))
    a = prior.concentration
    model = _Model(a, np.asarray(digamma(a + everything)), float(digamma(a.sum() + everything.sum())))
    clouds, log_most = [], []
    for one, law, reference in zip(outcomes, laws, references, strict=True):
        cloud, most = _listed(model, one, law, reference, size_prior, tail)
        clouds.append(cloud)
        log_most.append(most)
    parts = list(clouds)
    total = clouds[0]
    for cloud in clouds[1:]:
        total = _sum(model, total, cloud, tail)
        parts.append(total)
    return _finished(model, total, parts, log_most)


def _reference(law: CountLaw, k: int) -> Counts:
    """Whole counts next to the means; not 0, where the slope of ln Γ(a + x) is as large as 1/a."""
    return np.maximum(np.rint([law.marginal(i).mean for i in range(k)]), 1.0).astype(np.int64)


def _listed(model: _Model, one: Outcome, law: CountLaw, reference: Counts, size_prior: SizePrior, tail: float) -> tuple[_Cloud, float]:
    """The counts of one release that its own posterior leaves possible, and a bound on the logarithm of its likelihood."""
    points = _possible(law)
    log_likelihood = one.log_likelihood(points, one.n)
    log_most = float(log_likelihood.max()) if one.mechanism.noise is None else _log_highest(one)
    if one.n is None:  # Σ_x P(z | x) is at most 1
        log_size = size_prior(points.sum(axis=1).astype(np.float64))
        log_likelihood, log_most = log_likelihood + log_size, float(log_size.max())
    log_weight = log_likelihood + model.log_split(points, reference)
    constant = float(gammaln(1.0 + reference.sum()) - gammaln(1.0 + reference).sum())
    cloud = _Cloud(points, log_weight + constant, reference, law.omitted)
    return _trimmed(cloud, cloud.log_weight + model.log_prior(points, reference), model.log_constant(reference), tail), log_most


def _log_highest(one: Outcome) -> float:
    """Noise is most likely to be 0."""
    noise = one.mechanism.noise
    assert noise is not None  # noqa: S101
    return noise.cells * float(noise.log_factor(np.zeros(1))[0])


def _possible(law: CountLaw) -> Counts:
    """Return all counts within the windows of a release's own posterior law, which says how little it leaves out."""
    if isinstance(law, ListedCounts):
        return law.points
    assert isinstance(law, TreeCounts)  # noqa: S101
    if law.total is None:
        return _box(law.windows)
    widest = int(np.argmax([high - low for low, high in law.windows]))  # its count is what the others leave
    points = np.insert(_box([ends for i, ends in enumerate(law.windows) if i != widest]), widest, 0, axis=1)
    points[:, widest] = law.total - points.sum(axis=1)
    low, high = law.windows[widest]
    return points[(points[:, widest] >= low) & (points[:, widest] <= high)]


def _box(ranges: Sequence[tuple[int, int]]) -> Counts:
    """Return all combinations of counts from the first to the last of each range."""
    size = prod(high - low + 1.0 for low, high in ranges)
    if size > limits.POOLED_POINTS:
        raise TooLargeError(f"the noise leaves about {size:.2g} counts of one release possible; up to {limits.POOLED_POINTS:,} are listed")
    return box_points([np.arange(low, high + 1) for low, high in ranges])


def _trimmed(cloud: _Cloud, log_own: Floats, constant: float, tail: float) -> _Cloud:
    """Without the counts that are the least likely under the posterior of the releases so far."""
    evidence = float(logsumexp(log_own))
    held, lost = likeliest(np.exp(log_own - evidence), tail)
    return _Cloud(cloud.points[held], cloud.log_weight[held], cloud.reference, cloud.left + lost, evidence + constant)


def _sum(model: _Model, first: _Cloud, second: _Cloud, tail: float) -> _Cloud:
    """The sums of two releases' counts: every pair has a weight, which is added to that of its sum."""
    if len(first.points) * len(second.points) > limits.POOLED_PRODUCTS:
        raise TooLargeError(
            f"the noise leaves {len(first.points) * len(second.points):,} pairs of counts of two releases possible; exact sums go over up "
            f"to {limits.POOLED_PRODUCTS:,}"
        )
    reference = first.reference + second.reference
    grid = _Grid.of(first.points, second.points)
    log_prior = grid.log_prior(model, reference)
    log_weight = (
        _log_products(grid, first, second) if _spread(first) + _spread(second) < _FLOAT_RANGE else _log_sums(grid, first, second, log_prior)
    )
    held = np.nonzero(log_weight > -np.inf)[0]
    cloud = _Cloud(grid.points(held), log_weight[held], reference, 0.0)
    return _trimmed(cloud, cloud.log_weight + log_prior[held], model.log_constant(reference), tail)


def _spread(cloud: _Cloud) -> float:
    return float(np.ptp(cloud.log_weight))


def _log_products(grid: "_Grid", first: _Cloud, second: _Cloud) -> Floats:
    """The logarithms of the weights of all sums, where no product of two weights is too small for a float."""
    (few, few_low), (many, many_low) = sorted(((first, grid.lows[0]), (second, grid.lows[1])), key=lambda cloud: len(cloud[0].points))
    tops = [float(cloud.log_weight.max()) for cloud in (few, many)]
    weight, places, theirs = np.zeros(grid.size), grid.index(many.points - many_low), np.exp(many.log_weight - tops[1])
    for place, mine in zip(grid.index(few.points - few_low).tolist(), np.exp(few.log_weight - tops[0]).tolist(), strict=True):
        weight[place + places] += mine * theirs
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(weight) + sum(tops))


def _log_sums(grid: "_Grid", first: _Cloud, second: _Cloud, log_prior: Floats) -> Floats:
    """Sum weights of any size as logarithms: those of all pairs are added up relative to the highest of the posterior."""
    highest = max(float(block.max()) for _, block in _blocks(grid, first, second, log_prior))
    weight = np.zeros(grid.size)
    for index, block in _blocks(grid, first, second, log_prior):
        weight += np.bincount(index.ravel(), weights=np.exp(block - highest).ravel(), minlength=grid.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(weight > 0.0, np.log(weight) + highest - log_prior, -np.inf)


def _blocks(grid: "_Grid", first: _Cloud, second: _Cloud, log_prior: Floats) -> Iterator[tuple[NDArray[np.int64], Floats]]:
    """Yield for some pairs at a time the places of their sums and the logarithms of their weights."""
    rows = max(1, max(_PAIRS_HELD, grid.size) // len(second.points))
    mine, theirs = grid.index(first.points - grid.lows[0]), grid.index(second.points - grid.lows[1])
    for start in range(0, len(mine), rows):
        index = mine[start : start + rows, None] + theirs
        yield index, log_prior[index] + first.log_weight[start : start + rows, None] + second.log_weight


@dataclass(frozen=True, eq=False)
class _Grid:
    """The sums of two lists of counts as places in one array: that of a sum is the sum of the places."""

    lows: tuple[Counts, Counts]
    """The least counts of either list."""
    shape: tuple[int, ...]
    """The number of values of the sums of each free count: of all but the last category where the total is known."""
    total: int | None
    """The total of all sums, if it is known."""

    @classmethod
    def of(cls, first: Counts, second: Counts) -> "_Grid":
        lows = first.min(axis=0), second.min(axis=0)
        widths = np.ptp(first, axis=0) + np.ptp(second, axis=0) + 1
        totals = [np.unique(points.sum(axis=1)) for points in (first, second)]
        total = int(totals[0][0] + totals[1][0]) if len(totals[0]) == len(totals[1]) == 1 else None
        shape = tuple((widths if total is None else widths[:-1]).tolist())
        size = prod(map(float, shape))
        if size > limits.POOLED_CELLS:
            raise TooLargeError(f"the noise leaves about {size:.2g} sums of counts possible; up to {limits.POOLED_CELLS:,} are held")
        return cls(lows, shape, total)

    @property
    def size(self) -> int:
        return prod(self.shape)

    def index(self, away: Counts) -> NDArray[np.int64]:
        """The places of counts, given less the least ones."""
        return np.asarray(np.ravel_multi_index(tuple(away[:, : len(self.shape)].T), self.shape), dtype=np.int64)

    def points(self, index: NDArray[np.int64]) -> Counts:
        """The counts at places."""
        free = np.stack(np.unravel_index(index, self.shape), axis=-1) + (self.lows[0] + self.lows[1])[: len(self.shape)]
        if self.total is None:
            return np.asarray(free)
        return np.concatenate([free, (self.total - free.sum(axis=1))[:, None]], axis=1)

    def log_prior(self, model: _Model, reference: Counts) -> Floats:
        """The part of the weight that depends on the sum alone, at every place."""
        low = self.lows[0] + self.lows[1]
        axes = [low[i] + np.arange(width, dtype=np.float64) for i, width in enumerate(self.shape)]
        rises = [model.log_rise(i, axis, float(reference[i])) for i, axis in enumerate(axes)]
        free, added = (np.asarray(reduce(np.add.outer, parts)).ravel() for parts in (rises, axes))
        totals, place = np.unique(added, return_inverse=True)
        if self.total is None:
            return np.asarray(free + model.log_fall(totals, float(reference.sum()))[place])
        rest = self.total - totals
        last = np.full(len(rest), -np.inf)
        last[rest >= 0.0] = model.log_rise(len(self.shape), rest[rest >= 0.0], float(reference[-1]))
        return np.asarray(free + last[place])


def _finished(model: _Model, total: _Cloud, parts: Sequence[_Cloud], log_most: Sequence[float]) -> ListedCounts:
    """The law of the sum, with a bound on what is left out.

    Counts of some releases that have the probability t given these releases have at most t · P(these)/P(all) · Π max P(one of the others).
    """
    log_own = total.log_weight + model.log_prior(total.points, total.reference)
    releases, omitted = len(log_most), 0.0
    for place, part in enumerate(parts):
        others = [log_most[i] for i in range(releases) if (i != place if place < releases else i > place - releases + 1)]
        omitted += part.left * float(np.exp(min(part.log_evidence + sum(others) - total.log_evidence, 300.0)))
    return ListedCounts(total.points, np.exp(log_own - logsumexp(log_own)), min(1.0, omitted))
