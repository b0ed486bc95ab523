"""The best report where n is private: counts r of any total with the least expected Hellinger error (docs/explain/mechanisms.md).

`argmin_r E[H(Dir(a + X), Dir(a + r)) | z]`, X from the prior predictive, every n as likely as any other before z is seen. The posterior of
X is that of the parts of a count of any total (`counts.coarse`), which has marginal laws and points that stand for all of it, at
any z:

- Where the counts that carry the posterior are few, they are all listed; where the candidates that can be better than the best one known
  are few too, all of those are tried, and the report is the exact argmin: H is a metric, so `E[H(X, r)] >= E|H(r, m) - H(m, X)|`, which
  exceeds the error of the report m for every r beyond a certain distance from m.
- Otherwise the report is the better of two, the noisy counts (none below 0) and the posterior medians, improved by steps that become
  shorter, by the error at points drawn from the mixture as a fixed sequence. Near-optimal, and by that estimate never worse than either.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

import numpy as np

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.counts.coarse import AnyTotal, most_nodes, points_of
from discreet.errors import TooLargeError
from discreet.mechanisms.noise import CellNoise
from discreet.model.datasets import box_points
from discreet.model.dirichlet import Prior
from discreet.numerics.gamma import gap
from discreet.numerics.proved_floats import gap_table
from discreet.numerics.roots import crossing

_REACH_PRECISION = 1e-9
"""The precision of the distance within which a better report can be, in parts of the error."""
_STEPPED, _PAIRED = 32, 4
"""Categories up to which single counts are moved, and up to which also records from one to another."""
_MOST_MOVES = 16
"""The most times that a report is moved."""
_MOVE_LENGTHS = 8
"""Lengths of such moves."""
_SCALES = np.array([0.5, 0.7, 0.85, 1.0, 1.2])
"""Factors for the medians where there are more categories."""
_TABLED_COUNTS, _KEPT_TABLES = (1 << 9, 1 << 12), 8
"""Counts and totals up to which gaps come from tables, and how many of those are kept."""


# --- what a search costs, by public numbers alone ---------------------------------------------------------------------


_ITSELF, _EACH = 150_000.0, 25.0
"""The cost of a search beside its distances, and for each node that a category may have, in distances."""


def check_any_total_search(prior: Prior) -> None:
    """Refuse reports that would need more nodes than fit in memory, however large the noisy counts are."""
    needed = sum(most_nodes(a) for a in prior.concentration)
    if needed > limits.REPORT_NODES:
        raise TooLargeError(
            f"the best report for k = {prior.k} categories and this prior may need {needed:.3g} nodes where n is private, "
            f"more than {limits.REPORT_NODES}; use the mechanism without Remapped, or a prior with smaller parameters"
        )


def any_total_search_cost(prior: Prior) -> float:
    """About how many distances the search for one report computes, or could in the time that it takes."""
    tried = 4.0 * len(_moves(prior.k)) if prior.k <= _STEPPED else float(len(_SCALES))
    return _ITSELF + _EACH * sum(most_nodes(a) for a in prior.concentration) + prior.k * tried * points_of(prior.k)


# --- the report ---------------------------------------------------------------------------------------------------------


def best_of_any_total(prior: Prior, noise: CellNoise, z: Counts) -> Counts:
    """The counts of any total with the least expected Hellinger error, given an outcome, if every n was as likely as any other."""
    posterior = AnyTotal(prior.concentration, noise.observed(z, prior.k), noise.slope)
    listed = posterior.listed()
    error = _Error(prior, *(posterior.drawn() if listed is None else listed))
    low, medians, high = (posterior.marginals.quantiles(level) for level in (0.16, 0.5, 0.84))
    factors = np.ones(1) if prior.k <= _STEPPED else _SCALES
    scaled = np.rint(np.clip(np.multiply.outer(factors, medians), 0.0, float(limits.RAW_OUTCOME))).astype(np.int64)
    candidates = np.concatenate([np.maximum(z, 0)[None], scaled])
    if prior.k > _STEPPED:
        return _least(error, candidates)
    best = _improved(error, _least(error, candidates), float((high - low).max()))
    return best if listed is None else _of_all(error, best)


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
    """Return moves: a record more or less in one category, or from one to another where there are few categories."""
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
    """The distance d from a report, whose distances to the points are these, from which on E|d - H| is not below its error E[H].

    It is between the median of H, where E|d - H| is least, and twice the error, by Jensen's inequality; what the search leaves is added.
    """
    least = float(own @ weight)
    order = np.argsort(own)
    median = float(own[order][min(int(np.searchsorted(np.cumsum(weight[order]), 0.5 * weight.sum())), len(own) - 1)])

    def excess(distance: float) -> float:
        return float(np.abs(distance - own) @ weight) - least

    if not excess(median) < 0.0 < excess(2.0 * least):  # so it is where no point is farther than twice the error
        return 2.0 * least
    return crossing(excess, median, 2.0 * least, _REACH_PRECISION * least) + 2.0 * _REACH_PRECISION * least


def _within(prior: Prior, centre: Counts, reach: float, most: int) -> Counts | None:
    """Return all counts nearer than this to the centre, which comes first; None if they are too many to list."""
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
    """Yield all counts within longer and longer distances of the centre in every category."""
    side = 4
    while (2 * side + 1) ** len(centre) <= 4 * limits.REPORT_POINTS:
        yield box_points([np.arange(max(0, c - side), c + side + 1) for c in centre.tolist()])
        side *= 2
