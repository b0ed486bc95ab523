"""The best report where n is private: counts r of any total with the least expected Hellinger error (docs/explain/mechanisms.md).

`argmin_r E[H(Dir(a + X), Dir(a + r)) | z]`, X from the prior predictive, every n as likely as any other before z is seen. With A = Σ a_i
the posterior of X is `∝ n!/Γ(A + n) Π_i f(z_i | x_i) Γ(a_i + x_i)/x_i!`, n = Σ x_i, and since

    n!/Γ(A + n)  =  (A + n) ∫₀¹ tⁿ (1 - t)^{A-1} dt / Γ(A)

it is a mixture over t of laws under which categories are independent, but for the factor A + n. That gives the marginal laws of the counts
and points that stand for all of it, at any z:

- Where the counts that carry the posterior are few, they are all listed; where the candidates that can be better than the best one known
  are few too, all of those are tried, and the report is the exact argmin: H is a metric, so `E[H(X, r)] >= E|H(r, m) - H(m, X)|`, which
  exceeds the error of the report m for every r beyond a certain distance from m.
- Otherwise the report is the better of two, the noisy counts (none below 0) and the posterior medians, improved by steps that become
  shorter, by the error at points drawn from the mixture as a fixed sequence. Near-optimal, and by that estimate never worse than either.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import combinations
from math import ceil, log, log1p, prod
from typing import ClassVar

import numpy as np
from attrs import frozen
from scipy.special import logsumexp

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.counts.coarse import CoarseLaws, CoarseParts
from discreet.counts.ladder import Parts
from discreet.errors import TooLargeError
from discreet.mechanisms.base import Mechanism, Prior
from discreet.mechanisms.noise import CellNoise
from discreet.mechanisms.reports import NonNegative, Report
from discreet.model.datasets import box_points
from discreet.numerics.divergences import gap
from discreet.numerics.gamma import log_rising
from discreet.numerics.gap_tables import gap_table
from discreet.numerics.sum_rules import spreading_nodes
from discreet.numerics.tails import kept

_DENSE_COUNTS, _NODE_SPACING = 32, 0.3
"""Counts next to 0 and to the noisy count that are all nodes, and the distance of others in standard deviations of the prior's law."""
_LAST_NODE_DEPTH = 60.0
"""Log probability, and more, that is given up beyond the last node."""
_FIRST_TILTS, _SHARE = 17, 1.0 / 32.0
"""Tilts that are tried first, and the most probability between one and the next in the end."""
_TILT_HALVINGS = 64
_POSTERIOR_POINTS, _POSTERIOR_COUNTS = 256, 1 << 16
"""Points that stand for the posterior, fewer of them where there are many categories: so many counts in all, and at least 32 points."""
_FEWEST_POINTS = 32
_UNLISTED_PROBABILITY = 1e-9
"""Probability that the windows of all counts leave out where the posterior is listed."""
_STEPPED, _PAIRED = 32, 4
"""Categories up to which single counts are moved, and up to which also records from one to another."""
_MOST_MOVES = 16
"""How often a report is moved at most."""
_MOVE_LENGTHS = 8
"""Lengths of such moves."""
_SCALES = np.array([0.5, 0.7, 0.85, 1.0, 1.2])
"""What the medians of more categories are multiplied by."""
_TABLED_COUNTS, _KEPT_TABLES = (1 << 9, 1 << 12), 8
"""Counts and totals up to which gaps come from tables, and how many of those are kept."""


# --- what a search costs, by public numbers alone ---------------------------------------------------------------------


def _nodes_of(a: float) -> float:
    """How many nodes a category has at most, whatever is drawn: on both sides of its noisy count, and away from 0."""
    return 3.0 * (_DENSE_COUNTS + 2.0 + log(2.0 * limits.RAW_OUTCOME / _DENSE_COUNTS) / log1p(_spacing(a)))


def _spacing(a: float) -> float:
    """How much further out each node is than the last, relatively: the relative width of a category's law is at least the root of 1/a."""
    return float(_NODE_SPACING / (1.0 + a) ** 0.5)


def _points(k: int) -> int:
    """How many points stand for the posterior."""
    return max(_FEWEST_POINTS, min(_POSTERIOR_POINTS, _POSTERIOR_COUNTS // k))


_ITSELF, _EACH = 150_000.0, 25.0
"""What a search takes beside the distances, and for each node that a category may have, in distances."""


# --- the report ---------------------------------------------------------------------------------------------------------


@frozen
class BestOfAnyTotal(Report):
    """The counts of any total with the least expected Hellinger error, given the outcome, if every n was as likely as any other."""

    is_search: ClassVar[bool] = True
    wrapper: ClassVar[str | None] = "Remapped"

    mechanism: Mechanism
    """The mechanism whose outcomes are reported."""

    def __call__(self, raw: Counts) -> Counts:
        """The best counts for each outcome. A noisy count below 0 says the same about every dataset as 0 does."""
        self.check_size()
        rows, owner = np.unique(np.maximum(raw, 0), axis=0, return_inverse=True)
        return np.array([_best(self.mechanism.prior, self._noise, row) for row in rows], dtype=np.int64)[owner.ravel()]

    def row(self, raw: tuple[int, ...]) -> Counts:
        """Noise beyond 2**62 is cut there: an array cannot hold it."""
        return NonNegative().row(raw)

    def check_size(self) -> None:
        """Refuse reports that would need more nodes than fit in memory, however large the noisy counts are."""
        needed = sum(_nodes_of(a) for a in self.mechanism.prior.concentration)
        if needed > limits.REPORT_NODES:
            raise TooLargeError(
                f"the best report for k = {self.mechanism.k} categories and this prior may need {needed:.3g} nodes where n is private, "
                f"more than {limits.REPORT_NODES}; use the mechanism without Remapped, or a prior with smaller parameters"
            )

    @property
    def search_cost(self) -> float:
        """About how many distances the search for one report computes, or could in the time that it takes."""
        k, points = self.mechanism.k, _points(self.mechanism.k)
        tried = 4.0 * len(_moves(k)) if k <= _STEPPED else float(len(_SCALES))
        return _ITSELF + _EACH * sum(_nodes_of(a) for a in self.mechanism.prior.concentration) + k * tried * points

    @property
    def _noise(self) -> CellNoise:
        noise = self.mechanism.noise
        assert noise is not None  # Remapped has asked  # noqa: S101
        return noise


def _best(prior: Prior, noise: CellNoise, z: Counts) -> Counts:
    posterior = _Posterior(prior, noise, z)
    listed = posterior.listed()
    error = _Error(prior, *(posterior.drawn() if listed is None else listed))
    low, medians, high = (posterior.marginals.quantiles(level) for level in (0.16, 0.5, 0.84))
    factors = np.ones(1) if prior.k <= _STEPPED else _SCALES
    scaled = np.rint(np.clip(np.multiply.outer(factors, medians), 0.0, float(limits.RAW_OUTCOME))).astype(np.int64)
    candidates = np.concatenate([z[None], scaled])
    if prior.k > _STEPPED:
        return _least(error, candidates)
    best = _improved(error, _least(error, candidates), float((high - low).max()))
    return best if listed is None else _of_all(error, best)


# --- the posterior of the counts ----------------------------------------------------------------------------------------


class _Posterior:
    """The posterior of the counts given noisy ones: tilts ln t with their weights, and each category's law on nodes."""

    def __init__(self, prior: Prior, noise: CellNoise, z: Counts) -> None:
        self.total = float(prior.concentration.sum())
        # Counts of a larger total are less likely than no counts at all, by e^-60.
        last = 2.0 * float(z.astype(np.float64).sum()) + (_LAST_NODE_DEPTH + max(0.0, -log(noise.slope))) / noise.slope
        nodes = [_nodes(a, float(c), last, noise.slope) for a, c in zip(prior.concentration.tolist(), z.tolist(), strict=True)]
        self.parts = Parts(prior.concentration, noise.observed(z, prior.k), np.array([x[-1] for x, _ in nodes]))
        self.coarse = CoarseParts.of(self.parts, nodes)
        self.tilts, self.weights = self._mixture(last)
        self.marginals = self._marginals()

    def _log_density(self, u: float) -> float:
        """Of u = ln t/(1 - t), up to a constant."""
        log_tilt = -float(np.log1p(np.exp(-u)))
        laws = self.coarse.tilted(log_tilt)
        return laws.log_scale + log_tilt - self.total * float(np.log1p(np.exp(u))) + log(self.total + float(laws.means.sum()))

    def _mixture(self, last: float) -> tuple[Floats, Floats]:
        """Tilts ln t with their weights: u is tried at even distances, and half-way where there is much probability between two.

        Below the first u there are no records, and above the last a tilt changes nothing: what is beyond them is added to them.
        """
        u = np.linspace(-log(max(self.total, 1.0)) - 40.0, log(1.0 + last) + 20.0, _FIRST_TILTS)
        density = np.array([self._log_density(float(v)) for v in u])
        for _ in range(_TILT_HALVINGS):
            between = np.logaddexp(density[1:], density[:-1]) + np.log(np.diff(u) / 2.0)
            much = np.nonzero(between > logsumexp(between) + log(_SHARE))[0]
            much = much[np.diff(u)[much] > 1e-9 * (1.0 + np.abs(u[much]))]
            if not len(much):
                break
            middle = 0.5 * (u[much] + u[much + 1])
            density = np.insert(density, much + 1, [self._log_density(float(v)) for v in middle])
            u = np.insert(u, much + 1, middle)
        log_width = np.log(np.diff(u, prepend=u[0] - 2.0, append=u[-1] + 2.0 / self.total))
        log_weight = density + np.logaddexp(log_width[1:], log_width[:-1]) - log(2.0)
        weight = np.exp(log_weight - logsumexp(log_weight))
        kept = np.nonzero(weight > _UNLISTED_PROBABILITY)[0]
        return -np.log1p(np.exp(-u[kept])), weight[kept] / weight[kept].sum()

    def _marginals(self) -> CoarseLaws:
        """Each category's law: under a tilt the factor A + n is that count and what is expected of the others."""
        found = np.zeros_like(self.coarse.x)
        for tilt, weight in zip(self.tilts.tolist(), self.weights.tolist(), strict=True):
            laws = self.coarse.tilted(tilt)
            expected = self.total + float(laws.means.sum())
            found += weight * laws.weight * ((expected - laws.means[:, None] + laws.x) / expected)
        return CoarseLaws(self.coarse.x, self.coarse.width, np.asarray(found / found.sum(axis=-1, keepdims=True)))

    def listed(self) -> tuple[Floats, Floats] | None:
        """All counts that carry the posterior, one a row, with their probabilities; None if they are too many."""
        windows, tail = [], _UNLISTED_PROBABILITY / (2.0 * len(self.coarse.x))
        for x, width, law in zip(self.coarse.x, self.coarse.width, self.marginals.weight, strict=True):
            first, final, _ = kept(law, tail)
            windows.append((max(0, int(x[first] - width[first])), int(x[final] + width[final])))
        if prod(high - low + 1 for low, high in windows) > limits.REPORT_POINTS:
            return None
        axes = [np.arange(low, high + 1) for low, high in windows]
        points = box_points(axes).astype(np.float64)
        n = points.sum(axis=-1)
        log_weight = reduce(np.add.outer, [self.parts.log_weight(i, axis.astype(np.float64)) for i, axis in enumerate(axes)]).ravel()
        log_weight = log_weight - log_rising(self.total, n, float(n.max()))
        weight = np.exp(log_weight - logsumexp(log_weight))
        likely = weight > _UNLISTED_PROBABILITY / len(weight)
        return points[likely], weight[likely]

    def drawn(self) -> tuple[Floats, Floats]:
        """Points that stand for the posterior, one a row, with their weights: a fixed sequence that fills the cube of quantiles evenly."""
        k = len(self.coarse.x)
        size = _points(k)
        owner = np.searchsorted(np.cumsum(self.weights)[:-1], (np.arange(size) + 0.5) / size)
        levels = np.mod(0.5 + np.multiply.outer(np.arange(size), _irrationals(k)), 1.0)
        points, weight = np.empty((size, k)), np.empty(size)
        for j in np.unique(owner):
            laws = self.coarse.tilted(float(self.tilts[j]))
            for s in np.nonzero(owner == j)[0]:
                points[s] = np.rint(laws.quantiles(levels[s]))
                weight[s] = (self.total + points[s].sum()) / (self.total + float(laws.means.sum()))
        return points, weight / weight.sum()


def _nodes(a: float, z: float, last: float, slope: float) -> tuple[Floats, Floats]:
    """The nodes of a category: beyond its noisy count its law is below that of Γ(a + x)/x! e^{-slope x}."""
    top = z + (a + 10.0 * a**0.5 + _LAST_NODE_DEPTH) / slope
    return spreading_nodes(max(1.0, ceil(min(top, last))), [0.0, z], _DENSE_COUNTS, 1.0 + _spacing(a))


@lru_cache(maxsize=4)
def _irrationals(count: int) -> Floats:
    """The roots of the first primes: no two of them, nor 1, are in a rational relation."""
    largest = ceil(max(count, 6) * (log(max(count, 6)) + log(log(max(count, 6))))) + 1
    sieve = np.ones(largest + 1, dtype=bool)
    sieve[:2] = False
    for p in range(2, int(largest**0.5) + 1):
        sieve[p * p :: p] &= not sieve[p]
    return np.asarray(np.sqrt(np.nonzero(sieve)[0][:count].astype(np.float64)))


# --- the error of a report, and the search ------------------------------------------------------------------------------


class _Error:
    """E[H] of reports (rows) over points (rows) with weights."""

    def __init__(self, prior: Prior, points: Floats, weight: Floats) -> None:
        self.prior, self.points, self.weight, self.totals = prior, points, weight, points.sum(axis=-1)
        self.tabled = len(_TABLED_COUNTS) * len({*prior.exact, prior.exact_total}) <= _KEPT_TABLES

    def __call__(self, reports: Counts) -> Floats:
        """The error of each report."""
        together = max(1, limits.REPORT_PAIRS // self.points.size)
        parts = [reports[start : start + together] for start in range(0, len(reports), together)]
        return np.concatenate([self.distances(part) @ self.weight for part in parts])

    def distances(self, reports: Counts) -> Floats:
        """H of every report (rows) to every point (columns)."""
        reported = reports.astype(np.float64)
        divergence = -self._gaps(self.prior.exact_total, self.totals, reported.sum(axis=-1))
        if self.prior.k > _STEPPED:
            a = self.prior.concentration
            divergence += gap(a + self.points, a + reported[:, None], reported[:, None] - self.points).sum(axis=-1)
        else:
            for a_i, x, r in zip(self.prior.exact, self.points.T, reported.T, strict=True):
                divergence += self._gaps(a_i, x, r)
        return np.sqrt(-np.expm1(-np.maximum(divergence, 0.0)))

    def _gaps(self, a: Fraction, x: Floats, r: Floats) -> Floats:
        """The gaps between every r (rows) and every x (columns), computed once for the values that occur."""
        (counts, column), (reported, row) = np.unique(x, return_inverse=True), np.unique(r, return_inverse=True)
        sizes = [size for size in _TABLED_COUNTS if self.tabled and max(counts[-1], reported[-1]) <= size]
        if sizes:
            table = gap_table(a, sizes[0])(counts.astype(np.int64), reported.astype(np.int64)[:, None])
        else:
            table = gap(float(a) + counts, float(a) + reported[:, None], reported[:, None] - counts)
        return np.asarray(table[row.ravel()][:, column.ravel()])


@lru_cache(maxsize=4)
def _moves(k: int) -> Counts:
    """One record more or less in one category, or moved from one to another where there are few."""
    if k > _STEPPED:
        return np.zeros((0, k), dtype=np.int64)
    single = np.eye(k, dtype=np.int64)
    paired = [single[i] - single[j] for i, j in combinations(range(k), 2)] if k <= _PAIRED else []
    moves = np.concatenate([single, np.array(paired, dtype=np.int64).reshape(-1, k)])
    return np.concatenate([moves, -moves])


def _least(error: _Error, candidates: Counts) -> Counts:
    """The candidate with the least error: the first of equal ones."""
    best: Counts = candidates[error(candidates).argmin()]
    return best


def _improved(error: _Error, best: Counts, spread: float) -> Counts:
    """The report, moved by steps of all lengths up to the spread, and multiplied, for as long as that makes it better."""
    steps = np.unique(np.maximum(np.rint(spread / 2.0 ** np.arange(_MOVE_LENGTHS)), 1.0)).astype(np.int64)
    moves = np.concatenate([step * _moves(error.prior.k) for step in steps])
    for _ in range(_MOST_MOVES):
        factors = 1.0 + np.concatenate([-steps, steps]) / max(float(best.max()), 1.0)
        tried = np.concatenate([best[None], best + moves, np.rint(np.multiply.outer(factors, best)).astype(np.int64)])
        following = _least(error, np.clip(tried, 0, limits.RAW_OUTCOME))
        if (following == best).all():
            break
        best = following
    return best


def _of_all(error: _Error, best: Counts) -> Counts:
    """The exact argmin where the candidates that can be better than a report are few, and that report otherwise."""
    own = error.distances(best[None])[0]
    reach = _reach(own, error.weight)
    candidates = _within(error.prior, best, reach, limits.REPORT_PAIRS // len(error.points))
    return best if candidates is None else _least(error, candidates)


def _reach(own: Floats, weight: Floats) -> float:
    """The distance d from a report, whose distances to the points are these, from which on E|d - H| is not below its error E[H]."""
    least = float(own @ weight)
    low, high = 0.0, 2.0 * least
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if float(np.abs(middle - own) @ weight) < least else (low, middle)
    return high


def _within(prior: Prior, centre: Counts, reach: float, most: int) -> Counts | None:
    """All counts nearer than this to the centre, which comes first; None if they are too many to list."""
    error = _Error(prior, centre[None].astype(np.float64), np.ones(1))
    for around in _boxes(centre):
        near = around[error.distances(around)[:, 0] < reach]
        if len(near) > most:
            return None
        low, high = around.min(axis=0), around.max(axis=0)
        if not ((near == high).any() or ((near == low) & (low > 0)).any()):
            return np.concatenate([centre[None], near])
    return None


def _boxes(centre: Counts) -> Iterator[Counts]:
    """All counts within longer and longer distances of the centre in every category."""
    side = 4
    while (2 * side + 1) ** len(centre) <= 4 * limits.REPORT_POINTS:
        yield box_points([np.arange(max(0, c - side), c + side + 1) for c in centre.tolist()])
        side *= 2
