"""Bayes-optimal reports: for a raw outcome z, the candidate r with the least expected Hellinger error (docs/explain/mechanisms.md).

`argmin_r E[H(Dir(a + X), Dir(a + r)) | z]` with X from the prior predictive: a fixed public function of z, hence free of charge.

- Few candidates: the exact argmin over all of them.
- Two categories, many records: the argmin of a sum over integer nodes, dense around the possible modes of the posterior of X.
- Three or more categories, many candidates: the better, by an estimate, of the projected noisy counts and the rounded medians of the
  categories' posterior factors, tilted by a common e^{λx} until they add up to n. Near-optimal, not optimal.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from math import exp, expm1
from typing import ClassVar, TypeVar

import numpy as np
from attrs import evolve, frozen
from scipy.special import logsumexp

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.counts.coarse import CoarseLaws, CoarseParts
from discreet.counts.factors import Count
from discreet.counts.ladder import Parts
from discreet.errors import InvalidInputError, RefusedError, TooLargeError
from discreet.mechanisms.any_total_reports import any_total_search_cost, best_of_any_total, check_any_total_search
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.reports import Clamped, Report, clamp_outcomes, project
from discreet.model.datasets import check_outcomes, simplex_points
from discreet.model.dirichlet import Prior
from discreet.numerics.gamma import count_gap, series_tail, to_hellinger, two_count_gap
from discreet.numerics.proved_floats import gap_table
from discreet.numerics.sum_rules import spreading_nodes

MechanismT = TypeVar("MechanismT", bound=Mechanism)
_DENSE_NODES, _NODE_GROWTH = 128, 1.02
"""Counts next to a place where a law may peak that are all nodes, and how much farther each further one lies."""
_NEGLIGIBLE_REPORT_NODE = 1e-16
"""Nodes with less probability are left out."""
_SCANNED_REPORTS = 65
"""Reports that are tried first where there are too many to try all."""
_STEEPEST_TILT = 200.0
"""Slopes beyond it, either way, are taken as this steep."""


# --- what a search costs, by public numbers alone ---------------------------------------------------------------------

_PASSES = 12.0
"""The cost for each node of the search for three or more categories, in distances."""
_NODE_SETS = 40.0
"""The cost for all nodes away from one place of the search for two categories, in distances for each."""


def _category_nodes(prior: Prior, n: int) -> float:
    """Return the most nodes that a category has: those next to three places, and a progression away from each on both sides."""
    return float(6 * (_DENSE_NODES + 2 + np.log(max(n / _DENSE_NODES, 1.0)) / np.log(_growth(max(prior.concentration), n))))


def search_cost(prior: Prior, n: int, slope: float) -> float:
    """About how many distances the search for one report computes, if the log likelihood of a count falls with this slope."""
    if prior.k > 2:
        return _PASSES * prior.k * _category_nodes(prior, n)
    itself = _NODE_SETS * (_DENSE_NODES + np.log(max(n / _DENSE_NODES, 1.0)) / np.log(_NODE_GROWTH))
    reach = min(float(n), -2.0 * np.log(_NEGLIGIBLE_REPORT_NODE) / slope)
    if reach < 4 * _SCANNED_REPORTS:
        return float(itself + 2.0 * reach**2)
    nodes = 2.0 * (_DENSE_NODES + np.log(reach / _DENSE_NODES) / np.log(_NODE_GROWTH))
    return float(itself + 2.0 * nodes * (_SCANNED_REPORTS + 3.0 * 33.0 * (1.0 + np.log(reach / _SCANNED_REPORTS) / np.log(16.0))))


def check_search(prior: Prior, n: int) -> None:
    """Refuse, by public numbers alone, reports that would need more nodes than fit in memory."""
    needed = prior.k * min(int(_category_nodes(prior, n)), n + 1)
    if prior.k > 2 and needed > limits.REPORT_NODES:
        raise TooLargeError(
            f"the best report for k = {prior.k} categories, n = {n} records and this prior would need {needed} nodes, more than "
            f"{limits.REPORT_NODES}; use the mechanism without Remapped, or a prior with smaller parameters"
        )


# --- the report ---------------------------------------------------------------------------------------------------------


@frozen
class BayesOptimal(Report):
    """The counts with the least expected Hellinger error, given the outcome; data are from the prior predictive."""

    is_search: ClassVar[bool] = True
    wrapper: ClassVar[str | None] = "Remapped"

    mechanism: Mechanism
    """The mechanism whose outcomes are reported."""

    def __call__(self, raw: Counts) -> Counts:
        rows, owner = np.unique(self.row(raw), axis=0, return_inverse=True)
        return self._best(rows)[owner.ravel()]

    def row(self, raw: tuple[int, ...] | Counts) -> Counts:
        """A noisy count below 0 or above n says the same about every dataset, however far out it is, if its likelihood is straight."""
        if self.mechanism.noise is not None and self.mechanism.noise.curvature:
            return np.array(raw, dtype=np.int64)
        return Clamped().row(raw) if self.mechanism.n is None else clamp_outcomes(raw, self.mechanism.space.total)

    def check_size(self) -> None:
        if self.mechanism.n is None:
            check_any_total_search(self.mechanism.prior)
        elif not self.mechanism.space.is_few(limits.REPORT_CANDIDATES):
            check_search(self.mechanism.prior, self.mechanism.space.total)

    @property
    def search_cost(self) -> float:
        """About how many distances the search for one report computes: all of them, where candidates are few."""
        if self.mechanism.n is None:
            return any_total_search_cost(self.mechanism.prior)
        if self.mechanism.space.is_few(limits.REPORT_CANDIDATES):
            return float(self.mechanism.space.size**2)
        return search_cost(self.mechanism.prior, self.mechanism.space.total, float(self.mechanism.epsilon))

    def _best(self, rows: Counts) -> Counts:
        mechanism, noise = self.mechanism, self.mechanism.noise
        prior, k = mechanism.prior, mechanism.k
        if mechanism.n is None and noise is not None:
            self.check_size()
            return np.array([best_of_any_total(prior, noise, row) for row in rows], dtype=np.int64)
        n = mechanism.space.total
        if noise is None or mechanism.space.is_few(limits.REPORT_CANDIDATES):
            together = max(1, limits.REPORT_LIKELIHOODS // mechanism.space.size)
            parts = [rows[start : start + together] for start in range(0, len(rows), together)]
            return np.concatenate([best_by_enumeration(prior, n, partial(self._log_likelihood, part)) for part in parts])
        self.check_size()
        best = best_of_two if k == 2 else best_of_few
        return np.array([best(prior, n, noise.observed(raw, k)) for raw in rows])

    def _log_likelihood(self, rows: Counts, points: Counts) -> Floats:
        """Log likelihood of every outcome (rows) under every dataset (columns), up to a constant for each row."""
        noise = self.mechanism.noise
        if noise is None:
            laws = np.stack([listed.log_probability for listed in self.mechanism._listed_laws(points)], axis=-1)
            where = {tuple(outcome): i for i, outcome in enumerate(self.mechanism._outcomes().tolist())}
            return laws[[where[tuple(row)] for row in rows.tolist()]]
        return np.stack([noise.log_likelihoods(row, points) for row in rows])


def Remapped(mechanism: MechanismT) -> MechanismT:  # noqa: N802  named like the mechanisms that it stands beside
    """A mechanism with a better report: the candidate with the least expected Hellinger error under the prior predictive.

    Reports are post-processing, so the guarantee stays. How the best one is found, and where it is approximate, is said at the top of
    this module. Raises InvalidInputError for what is not a mechanism, and TooLargeError where the candidates of a mechanism without
    independent noise are too many.
    """
    if not isinstance(mechanism, Mechanism):
        raise InvalidInputError(f"Remapped takes a mechanism, not {type(mechanism).__name__}")
    mechanism._check_single()
    if mechanism._levels is not None:
        raise RefusedError("Remapped takes no mechanism with several levels: its report keeps the counts of all levels consistent")
    if mechanism.noise is None:
        size = mechanism.space.size if mechanism.k <= limits.REPORT_CANDIDATES else mechanism.k  # of which there are at least k
        check_outcomes(size, f"Remapped({type(mechanism).__name__})", limits.REPORT_CANDIDATES)
    plain = evolve(mechanism, report=mechanism._own_report())
    return evolve(mechanism, report=BayesOptimal(plain))


# --- few candidates ---------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def _pairwise(prior: Prior, n: int) -> tuple[Counts, Floats, Floats]:
    """Return all candidates, their log prior predictive probabilities, and the table of Hellinger distances between them."""
    points = simplex_points(n, prior.k)
    divergence = np.zeros((len(points), len(points)))
    for a, column in zip(prior.exact, points.T, strict=True):
        divergence += gap_table(a, n)(column[:, None], column)
    return points, prior.predictive(n).logpmf(points), to_hellinger(divergence)


def best_by_enumeration(prior: Prior, n: int, log_likelihood: Callable[[Counts], Floats]) -> Counts:
    """The exact argmin for each outcome; `log_likelihood(points)` has outcomes on its first axis and datasets on its last."""
    points, log_prior, distance = _pairwise(prior, n)
    log_posterior = log_likelihood(points) + log_prior
    posterior = np.exp(log_posterior - logsumexp(log_posterior, axis=-1, keepdims=True))
    best: Counts = points[(posterior @ distance).argmin(axis=-1)]
    return best


# --- two categories, many records -------------------------------------------------------------------------------------


def _stationary(a: float, b: float, n: int, slope: float) -> list[float]:
    """Turning points of the log prior predictive plus slope · x: where it changes by nothing from x - ½ to x + ½.

    With q = e^-slope that is (x + a - ½)(n - x + ½) = q (x + ½)(n - x + b - ½), a quadratic.
    """
    steep = min(max(slope, -_STEEPEST_TILT), _STEEPEST_TILT)  # beyond it the kink or an end is the mode
    q, p = exp(-steep), -expm1(-steep)
    roots = np.roots([-p, p * n + (1.0 - a) - q * (b - 1.0), (a - 0.5) * (n + 0.5) - 0.5 * q * (n + b - 0.5)])
    return [float(r.real) for r in np.atleast_1d(roots) if abs(r.imag) <= 1e-9 * max(1.0, abs(r.real))]


def best_of_two(prior: Prior, n: int, observed: Sequence[Count]) -> Counts:
    """The argmin for one outcome about two categories whose log likelihood is straight between (just beside) its bends."""

    def log_likelihood(x: Floats) -> Floats:
        return observed[0].log_likelihood(x) + observed[1].log_likelihood(n - x)

    a, b = prior.concentration
    kinks = [*observed[0].bends, *(n - bend for bend in observed[1].bends)]
    low, high = min(kinks), max(kinks)
    straight = np.array([low - 4.0, np.floor((low + high) / 2.0), high + 3.0])
    slopes = log_likelihood(straight + 1.0) - log_likelihood(straight)
    centres = [0.0, float(n), *(min(max(c, 0.0), float(n)) for c in kinks)]
    centres += [x for slope in slopes for x in _stationary(a, b, n, float(slope))]
    x, width = spreading_nodes(n, centres, _DENSE_NODES, _NODE_GROWTH)
    log_weight = prior.predictive(n).logpmf(np.stack([x, n - x], axis=-1)) + np.log(width) + log_likelihood(x)
    weight = np.exp(log_weight - logsumexp(log_weight))
    kept = weight > _NEGLIGIBLE_REPORT_NODE
    x, weight = x[kept], weight[kept]

    def error(r: Floats) -> Floats:
        return to_hellinger(two_count_gap(prior.concentration, n, x, r[:, None])) @ weight

    r = int(_argmin(error, int(x[0]), int(x[-1]), x, weight))
    return np.array([r, n - r], dtype=np.int64)


def _argmin(error: Callable[[Floats], Floats], low: int, high: int, x: Floats, weight: Floats) -> int:
    """The integer with the least error: all of a short range; else a scan at quantiles, and a search around its lowest dips."""
    if high - low < 4 * _SCANNED_REPORTS:
        every = np.arange(low, high + 1, dtype=np.float64)
        return int(every[error(every).argmin()])
    quantiles = np.interp(np.linspace(0.0, 1.0, _SCANNED_REPORTS), np.cumsum(weight), x)
    scan = np.unique(np.rint(np.concatenate([[low, high], quantiles])))
    value = error(scan)
    padded = np.concatenate([[np.inf], value, [np.inf]])
    dips = np.nonzero((padded[1:-1] <= padded[:-2]) & (padded[1:-1] <= padded[2:]))[0]
    lowest = [int(i) for i in dips[np.argsort(value[dips])[:3]]]
    found = [_narrow(error, int(scan[max(i - 1, 0)]), int(scan[min(i + 1, len(scan) - 1)])) for i in lowest]
    return min(found)[1]


def _narrow(error: Callable[[Floats], Floats], low: int, high: int) -> tuple[float, int]:
    """The least error of an integer interval with one dip, by evaluating a grid and zooming in."""
    while True:
        grid = np.unique(np.rint(np.linspace(low, high, 33)))
        value = error(grid)
        best = int(value.argmin())
        if high - low <= 32:
            return float(value[best]), int(grid[best])
        low, high = int(grid[max(best - 1, 0)]), int(grid[min(best + 1, len(grid) - 1)])


# --- many categories --------------------------------------------------------------------------------------------------


def best_of_few(prior: Prior, n: int, observed: Sequence[Count]) -> Counts:
    """The better of two reports, medians and the projected noisy counts, as if categories were independent given the tilt.

    Then `E[H] = Σ_m c_m (1 - Π_i E[b_i^m])`, from sqrt(1 - z) = Σ_m c_m (1 - z^m) and 1 - H² = Π_i b_i: one sum for each category.
    """
    raw = [int(bend) for count in observed for bend in count.bends]
    noisy = np.array([*raw, *[max(n - sum(raw), -1)] * (prior.k - len(raw))])  # a last count without noise of its own
    laws = _balanced(prior, n, observed, noisy)
    medians = round_to_total(laws.quantiles(0.5), n)
    return min(medians, project(noisy[None], n)[0], key=lambda r: _independent_error(prior, laws, r))


def _growth(a: float, n: int) -> float:
    """Return the ratio of neighbouring nodes: the relative width of a factor is about the root of 1/a, or of 1/n if that is more."""
    return 1.0 + (_NODE_GROWTH - 1.0) / float(np.sqrt(1.0 + min(a, float(n)) / 100.0))


def _balanced(prior: Prior, n: int, observed: Sequence[Count], noisy: Counts) -> CoarseLaws:
    """The laws of the categories' counts under the tilt that makes their medians add up to n."""
    places = zip(np.clip(noisy, 0, n).tolist(), prior.concentration.tolist(), strict=True)
    nodes = [spreading_nodes(n, [0.0, float(n), float(z)], _DENSE_NODES, _growth(a, n)) for z, a in places]
    parts = CoarseParts.of(Parts(prior.concentration, observed, np.full(prior.k, float(n))), nodes)
    # A common slope changes nothing but the tilt, which is then near 0, where floats are dense, also if a parameter is huge.
    return replace(parts, log_weight=parts.log_weight - parts.x * np.log1p(prior.concentration.max() / n)).balanced(n)


# The series of H, summed over brackets of m that are each stood for by one power.
_EDGES = np.unique(np.rint(1.5 ** np.arange(0.0, 70.0)))
_SERIES_TAIL = series_tail(_EDGES)
_SERIES_SHARES = np.append(_SERIES_TAIL[:-1] - _SERIES_TAIL[1:], _SERIES_TAIL[-1])
_SERIES_POWERS = np.append(np.sqrt(_EDGES[:-1] * (_EDGES[1:] - 1.0)), 4.0 * _EDGES[-1])


def _independent_error(prior: Prior, laws: CoarseLaws, report: Counts) -> float:
    """E[H] of a report, categories being independent."""
    category, node = np.nonzero(laws.weight > _NEGLIGIBLE_REPORT_NODE)
    a, r, kept = prior.concentration[category], report[category], laws.x[category, node]
    divergence, held = count_gap(a, kept, r), laws.weight[category, node]
    starts = np.searchsorted(category, np.arange(prior.k))
    # One power at a time: all of them together would take 70 times the memory.
    sums = np.array([np.add.reduceat(np.exp(-power * divergence) * held, starts) for power in _SERIES_POWERS])
    return float(-np.expm1(np.log(sums + 1e-300).sum(axis=-1)) @ _SERIES_SHARES)


def round_to_total(values: Floats, n: int) -> Counts:
    """Non-negative integers with total n nearest to the values: largest remainder."""
    total = values.sum()
    scaled = values * (n / total) if total > 0.0 else np.full(len(values), n / len(values))
    lower: Counts = np.floor(scaled).astype(np.int64)
    missing = n - int(lower.sum())
    if 0 <= missing <= len(lower):
        lower[np.argsort(lower - scaled, kind="stable")[:missing]] += 1
    else:  # near 2**53 floats no longer tell remainders: the largest count absorbs their rounding
        lower[lower.argmax()] += missing
    return lower
