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
from scipy.optimize import brentq
from scipy.special import gammaln, logsumexp

from discreet.distributions import Beta, Dirichlet
from discreet.enumeration import simplex_points
from discreet.mechanisms.lattice import project
from discreet.numerics import Floats, GapTable, gap, log_gamma_ratio
from discreet.validation import Counts

__all__ = ["MOST_CANDIDATES", "best_by_enumeration", "best_of_few", "best_of_two", "round_to_total"]

MOST_CANDIDATES = 2048
"""Above this many candidates the table of all pairwise distances is not formed."""

Prior = Dirichlet | Beta
LogFactor = Callable[[int, Floats], Floats]
_DENSE, _GROWTH = 128, 1.02
_NEGLIGIBLE = 1e-16
_SCAN = 65
_STEEPEST = 200.0


# --- few candidates ---------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def _pairwise(prior: Prior, n: int) -> tuple[Counts, Floats, Floats]:
    """All candidates, their log prior predictive probabilities, and the table of Hellinger distances between them."""
    points = simplex_points(n, prior.k)
    divergence = np.zeros((len(points), len(points)))
    for a, column in zip(prior.exact, points.T, strict=True):
        divergence += GapTable(a, n)(column[:, None], column)
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
    factors = _tilted_factors(prior, n, noisy, log_factor)
    medians = round_to_total(np.array([_median(factor) for factor in factors]), n)
    return min(medians, project(noisy[None], n)[0], key=lambda r: _independent_error(prior, factors, r))


@dataclass(frozen=True)
class _Factor:
    """The law of one category's count if it were independent of the others: nodes, the integers each stands for, and weights."""

    x: Floats
    width: Floats
    log_weight: Floats

    def tilted(self, tilt: float) -> "_Factor":
        """Weights multiplied by e^{tilt x}, adding up to 1."""
        log_weight = self.log_weight + tilt * self.x
        return _Factor(self.x, self.width, log_weight - logsumexp(log_weight))


def _tilted_factors(prior: Prior, n: int, noisy: Counts, log_factor: LogFactor) -> list[_Factor]:
    """The categories' posterior factors, with the tilt that makes their medians add up to n."""
    factors = []
    for i, a in enumerate(prior.concentration):
        growth = 1.0 + (_GROWTH - 1.0) / np.sqrt(1.0 + a / 100.0)  # a factor's relative width falls with the root of a
        x, width = _nodes(n, [0.0, float(n), float(min(max(int(noisy[i]), 0), n))], growth)
        log_weight = log_gamma_ratio(x + 1.0, np.full_like(x, a - 1.0)) + np.log(width) + log_factor(i, x)
        factors.append(_Factor(x, width, log_weight))

    def total(tilt: float) -> float:
        return sum(_median(factor.tilted(tilt)) for factor in factors)

    reach = 1.0
    while total(-reach) > n or total(reach) < n:
        reach *= 2.0
    tilt = float(brentq(lambda t: total(t) - n, -reach, reach, xtol=1e-15, rtol=1e-12))
    return [factor.tilted(tilt) for factor in factors]


# Σ_{l >= m} c_l = Γ(m - ½) / (√π Γ(m)), summed over brackets of m that are each stood for by one power
_EDGES = np.unique(np.rint(1.5 ** np.arange(0.0, 70.0)))
_TAIL = np.exp(gammaln(_EDGES - 0.5) - gammaln(_EDGES)) / np.sqrt(np.pi)
_SHARES = np.append(_TAIL[:-1] - _TAIL[1:], _TAIL[-1])
_POWERS = np.append(np.sqrt(_EDGES[:-1] * (_EDGES[1:] - 1.0)), 4.0 * _EDGES[-1])


def _independent_error(prior: Prior, factors: list[_Factor], report: Counts) -> float:
    """E[H] of a report, categories being independent."""
    log_product = np.zeros(len(_POWERS))
    for a, factor, r in zip(prior.concentration, factors, report, strict=True):
        kept = factor.log_weight > np.log(_NEGLIGIBLE)
        exponent = gap(a + factor.x[kept], a + r, r - factor.x[kept])
        weight = np.exp(factor.log_weight[kept])
        log_product += np.log(np.exp(-_POWERS[:, None] * exponent) @ weight + 1e-300)
    return float(-np.expm1(log_product) @ _SHARES)


def _median(factor: _Factor) -> float:
    """Median of weights spread evenly over cells around the nodes, so that it moves continuously with the weights."""
    cumulative = np.cumsum(np.exp(factor.log_weight))
    i = min(int(np.searchsorted(cumulative, 0.5)), len(factor.x) - 1)
    before = cumulative[i - 1] if i else 0.0
    share = (0.5 - before) / (cumulative[i] - before)
    return float(np.clip(factor.x[i] + (share - 0.5) * factor.width[i], 0.0, factor.x[-1]))


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
