"""Bayes-optimal reports: for a raw outcome z, the candidate r with the least expected Hellinger error (DESIGN section 4).

`argmin_r E[H(Dir(a + X), Dir(a + r)) | z]` with X from the prior predictive: a fixed public function of z, hence free of charge.

- Few candidates: the exact argmin over all of them.
- Two categories, many records: the posterior of X given z is carried by integer nodes, dense around its possible modes (where the
  likelihood has a kink, the two ends and the stationary points, which solve a quadratic) and geometrically spaced beyond; a coarse scan
  and an interval search find the argmin of the sum over nodes. That is the exact argmin unless the posterior is so wide (dozens of
  times the distance that H resolves) that every report is nearly as bad as any other. The number of nodes grows with ln n.
- Three or more categories, many candidates: no argmin is feasible. Each category's factor of the posterior is tilted by a common
  e^{λx}, which does not change the law given Σx = n, until the factors' medians add up to n. The report is these medians, rounded, or
  the projected noisy counts (sparse priors make posteriors with several modes, where medians are poor), whichever has the smaller
  error by an estimate. Near-optimal, not optimal: docs/mechanisms.md says by how much. O(k ln n).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import exp, expm1
from typing import cast

import numpy as np
from scipy.special import gammaln, logsumexp

from discreet.distributions import Beta, Dirichlet
from discreet.enumeration import simplex_points
from discreet.errors import TooLargeError
from discreet.mechanisms.lattice import project
from discreet.numerics import Floats, gap, log_gamma_ratio
from discreet.tables import gap_table
from discreet.validation import Counts

__all__ = ["MOST_CANDIDATES", "best_by_enumeration", "best_of_few", "best_of_two", "check_search", "round_to_total", "search_cost"]

MOST_CANDIDATES = 2048
"""Above this many candidates the table of all pairwise distances is not formed."""

Prior = Dirichlet | Beta
LogFactor = Callable[[int, Floats], Floats]
_DENSE, _GROWTH = 128, 1.02
_NEGLIGIBLE = 1e-16
_SCAN = 65
_STEEPEST = 200.0


# --- what a search costs, by public numbers alone ---------------------------------------------------------------------

_MOST_NODES = 8_000_000
"""Nodes of all categories together that a search holds: some hundred megabytes."""
_PASSES = 12.0
"""What the search for three or more categories does with each node, in distances."""
_NODE_SETS = 40.0
"""What the search for two categories does with all nodes away from one place, in distances for each."""


def _category_nodes(prior: Prior, n: int) -> float:
    """About how many nodes a category has at most: those next to four places, and a progression away from them."""
    return float(4.0 * (_DENSE + np.log(max(n / _DENSE, 1.0)) / np.log(_growth(float(max(prior.exact))))))


def search_cost(prior: Prior, n: int, slope: float) -> float:
    """About how many distances the search for one report computes, if the log likelihood of a count falls with this slope."""
    if prior.k > 2:
        return _PASSES * prior.k * _category_nodes(prior, n)
    itself = _NODE_SETS * (_DENSE + np.log(max(n / _DENSE, 1.0)) / np.log(_GROWTH))
    reach = min(float(n), -2.0 * np.log(_NEGLIGIBLE) / slope)
    if reach < 4 * _SCAN:
        return float(itself + 2.0 * reach**2)
    nodes = 2.0 * (_DENSE + np.log(reach / _DENSE) / np.log(_GROWTH))
    return float(itself + 2.0 * nodes * (_SCAN + 3.0 * 33.0 * (1.0 + np.log(reach / _SCAN) / np.log(16.0))))


def check_search(prior: Prior, n: int) -> None:
    """Refuse a search that would not fit in memory."""
    if prior.k > 2 and prior.k * _category_nodes(prior, n) > _MOST_NODES:
        raise TooLargeError(
            f"the best report is not searched for with {prior.k} categories, n = {n:,} and prior parameters up to "
            f"{float(max(prior.exact)):g}; use fewer categories, or the mechanism without Remapped"
        )


def _growth(a: float) -> float:
    """How fast the nodes of a category spread out: its factor's relative width falls with the root of its prior parameter."""
    return float(1.0 + (_GROWTH - 1.0) / np.sqrt(1.0 + a / 100.0))


# --- few candidates ---------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def _pairwise(prior: Prior, n: int) -> tuple[Counts, Floats, Floats]:
    """All candidates, their log prior predictive probabilities, and the table of Hellinger distances between them."""
    points = simplex_points(n, prior.k)
    divergence = np.zeros((len(points), len(points)))
    for a, column in zip(prior.exact, points.T, strict=True):
        divergence += gap_table(a, n)(column[:, None], column)
    return points, prior.predictive(n).logpmf(points), np.sqrt(-np.expm1(-divergence))


def best_by_enumeration(prior: Prior, n: int, log_likelihood: Callable[[Counts], Floats]) -> Counts:
    """The exact argmin for each outcome; `log_likelihood(points)` has outcomes on its first axis and datasets on its last."""
    points, log_prior, distance = _pairwise(prior, n)
    log_posterior = log_likelihood(points) + log_prior
    posterior = np.exp(log_posterior - logsumexp(log_posterior, axis=-1, keepdims=True))
    best: Counts = points[(posterior @ distance).argmin(axis=-1)]
    return best


# --- two categories, many records -------------------------------------------------------------------------------------


def _nodes(n: int, centres: list[float], growth: float = _GROWTH) -> tuple[Floats, Floats]:
    """Integers in [0, n], dense around each centre and geometrically spaced beyond, with the number each stands for."""
    steps = np.arange(_DENSE + 1, dtype=np.float64)
    count = max(0, int(np.ceil(np.log(max(n, 1) / _DENSE) / np.log(growth)))) + 1 if n > _DENSE else 0
    offsets = np.concatenate([steps, np.rint(_DENSE * growth ** np.arange(1, count + 1))])
    inside = [c for c in centres if 0.0 <= c <= n]
    points = np.unique(np.clip(np.concatenate([np.rint(c) + s * offsets for c in inside for s in (-1, 1)]), 0, n))
    between = np.diff(points)
    width = np.ones(len(points))
    width[:-1] += (between - 1.0) / 2.0
    width[1:] += (between - 1.0) / 2.0
    return points, width


def _stationary(a: float, b: float, n: int, slope: float) -> list[float]:
    """Turning points of the log prior predictive plus slope · x: where it changes by nothing from x - ½ to x + ½.

    With q = e^-slope that is (x + a - ½)(n - x + ½) = q (x + ½)(n - x + b - ½), a quadratic.
    """
    steep = min(max(slope, -_STEEPEST), _STEEPEST)  # beyond it the kink or an end is the mode
    q, p = exp(-steep), -expm1(-steep)
    roots = np.roots([-p, p * n + (1.0 - a) - q * (b - 1.0), (a - 0.5) * (n + 0.5) - 0.5 * q * (n + b - 0.5)])
    return [float(r.real) for r in np.atleast_1d(roots) if abs(r.imag) <= 1e-9 * max(1.0, abs(r.real))]


def best_of_two(prior: Prior, n: int, kinks: list[float], log_factor: LogFactor) -> Counts:
    """The argmin for one outcome of a two-category mechanism whose log likelihood is straight between (just beside) its kinks."""

    def log_likelihood(x: Floats) -> Floats:
        return log_factor(0, x) + log_factor(1, n - x)

    a, b = prior.concentration
    low, high = min(kinks), max(kinks)
    straight = np.array([low - 4.0, np.floor((low + high) / 2.0), high + 3.0])
    slopes = log_likelihood(straight + 1.0) - log_likelihood(straight)
    centres = [0.0, float(n), *(min(max(c, 0.0), float(n)) for c in kinks)]
    centres += [x for slope in slopes for x in _stationary(a, b, n, float(slope))]
    x, width = _nodes(n, centres)
    log_weight = prior.predictive(n).logpmf(np.stack([x, n - x], axis=-1)) + np.log(width) + log_likelihood(x)
    weight = np.exp(log_weight - logsumexp(log_weight))
    kept = weight > _NEGLIGIBLE
    x, weight = x[kept], weight[kept]

    def error(r: Floats) -> Floats:
        divergence = gap(a + x, a + r[:, None], r[:, None] - x) + gap(b + (n - x), b + (n - r[:, None]), x - r[:, None])
        return cast(Floats, np.sqrt(-np.expm1(-divergence)) @ weight)

    r = int(_argmin(error, int(x[0]), int(x[-1]), x, weight))
    return np.array([r, n - r], dtype=np.int64)


def _argmin(error: Callable[[Floats], Floats], low: int, high: int, x: Floats, weight: Floats) -> int:
    """The integer with the least error: all of a short range; else a scan at quantiles, and a search around its lowest dips."""
    if high - low < 4 * _SCAN:
        every = np.arange(low, high + 1, dtype=np.float64)
        return int(every[error(every).argmin()])
    quantiles = np.interp(np.linspace(0.0, 1.0, _SCAN), np.cumsum(weight), x)
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


def best_of_few(prior: Prior, n: int, noisy: Counts, log_factor: LogFactor) -> Counts:
    """The better of two reports, medians and the projected noisy counts, as if categories were independent given the tilt.

    Then `E[H] = Σ_m c_m (1 - Π_i E[b_i^m])`, from sqrt(1 - z) = Σ_m c_m (1 - z^m) and 1 - H² = Π_i b_i: one sum for each category.
    """
    factors, weight = _tilted_factors(prior, n, noisy, log_factor)
    medians = round_to_total(factors.medians(weight), n)
    return min(medians, project(noisy[None], n)[0], key=lambda r: _independent_error(prior, factors.x, weight, r))


@dataclass(frozen=True)
class _Factors:
    """The laws of the categories' counts (rows) if they were independent: nodes, the integers each stands for, and weights.

    Rows are filled up with nodes of no weight.
    """

    x: Floats
    width: Floats
    log_weight: Floats

    def tilted(self, tilt: float) -> Floats:
        """Weights multiplied by e^{tilt x}, adding up to 1."""
        log_weight = self.log_weight + tilt * self.x
        weight = np.exp(log_weight - log_weight.max(axis=-1, keepdims=True))
        return np.asarray(weight / weight.sum(axis=-1, keepdims=True))

    def medians(self, weight: Floats) -> Floats:
        """Medians of weights spread evenly over cells around the nodes, so that they move continuously with the weights."""
        cumulative, row = np.cumsum(weight, axis=-1), np.arange(len(weight))
        i = (cumulative < 0.5).sum(axis=-1)
        here = weight[row, i]
        share = (0.5 - (cumulative[row, i] - here)) / here
        return np.asarray(np.clip(self.x[row, i] + (share - 0.5) * self.width[row, i], 0.0, self.x[:, -1]))


def _tilted_factors(prior: Prior, n: int, noisy: Counts, log_factor: LogFactor) -> tuple[_Factors, Floats]:
    """The categories' posterior factors, and their weights with the tilt that makes their medians add up to n."""
    rows = []
    for z, a in zip(noisy, prior.concentration, strict=True):
        rows.append(_nodes(n, [0.0, float(n), float(min(max(int(z), 0), n))], _growth(a)))
    longest = max(len(x) for x, _ in rows)
    x, width = np.full((prior.k, longest), float(n)), np.zeros((prior.k, longest))
    for i, (nodes, cells) in enumerate(rows):
        x[i, : len(nodes)], width[i, : len(nodes)] = nodes, cells
    log_prior = log_gamma_ratio(x + 1.0, prior.concentration[:, None] - 1.0)
    with np.errstate(divide="ignore"):
        log_weight = log_prior + np.log(width) + np.stack([log_factor(i, nodes) for i, nodes in enumerate(x)])
    factors = _Factors(x, width, log_weight)

    def excess(tilt: float) -> float:
        return float(factors.medians(factors.tilted(tilt)).sum()) - n

    from scipy.optimize import brentq  # slow to load

    reach = 1.0
    while excess(-reach) > 0.0 or excess(reach) < 0.0:
        reach *= 2.0
    return factors, factors.tilted(float(brentq(excess, -reach, reach, xtol=1e-15, rtol=1e-12)))


# Σ_{l >= m} c_l = Γ(m - ½) / (√π Γ(m)), summed over brackets of m that are each stood for by one power
_EDGES = np.unique(np.rint(1.5 ** np.arange(0.0, 70.0)))
_TAIL = np.exp(gammaln(_EDGES - 0.5) - gammaln(_EDGES)) / np.sqrt(np.pi)
_SHARES = np.append(_TAIL[:-1] - _TAIL[1:], _TAIL[-1])
_POWERS = np.append(np.sqrt(_EDGES[:-1] * (_EDGES[1:] - 1.0)), 4.0 * _EDGES[-1])


def _independent_error(prior: Prior, x: Floats, weight: Floats, report: Counts) -> float:
    """E[H] of a report, categories being independent."""
    category, node = np.nonzero(weight > _NEGLIGIBLE)
    a, r, kept = prior.concentration[category], report[category], x[category, node]
    terms = np.exp(-_POWERS[:, None] * gap(a + kept, a + r, r - kept)) * weight[category, node]
    sums = np.add.reduceat(terms, np.searchsorted(category, np.arange(prior.k)), axis=-1)
    return float(-np.expm1(np.log(sums + 1e-300).sum(axis=-1)) @ _SHARES)


def round_to_total(values: Floats, n: int) -> Counts:
    """Non-negative integers with total n nearest to the values: largest remainder."""
    scaled = values * (n / values.sum())
    lower: Counts = np.floor(scaled).astype(np.int64)
    missing = n - int(lower.sum())
    if 0 <= missing <= len(lower):
        lower[np.argsort(lower - scaled, kind="stable")[:missing]] += 1
    else:  # near 2**53 floats no longer tell remainders: the largest count absorbs their rounding
        lower[lower.argmax()] += missing
    return lower
