"""Mean Hellinger errors of three or more categories without listing candidates (docs/research/accuracy.md).

With equal totals `1 - H² = B(r) = Π_i b_i(r_i)`, `b_i(r) = exp(-gap(a_i + x_i, a_i + r))`, so the moments `Σ_r P(r) B(r)^m` of a law that
is a product over categories given the total are coefficients of a product of k polynomials. Two power series in B bring H back:

    exp(-c H) = Σ_m p_m(c) B^m,   p_m(c) = (c/2)^m / m! · sqrt(2c/π) K_{m-½}(c),   dp_m/dc = p_m / c - c p_{m-1} / (2m)
    H         = 1 - Σ_{m>=1} s_m B^m,   s_m = Γ(m - ½) / (2 sqrt(π) m!)

All terms are positive and products are formed directly, so nothing cancels. The sums over m are added up one by one below `_ONE_BY_ONE` and
octave by octave above it, by a Gauss rule for sums. The relative error of a mean is below `SUMMATION_ERROR`.
"""

from collections.abc import Callable
from functools import lru_cache
from math import ceil, exp, inf, log, log2, nan

import numpy as np
from numpy.polynomial.polynomial import polyval2d

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.errors import TooLargeError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.noise import CellNoise, IndependentNoise
from discreet.model.datasets import candidate_count
from discreet.model.dirichlet import Prior
from discreet.numerics.gamma import count_gap, series_term
from discreet.numerics.sum_rules import sum_rule
from discreet.numerics.transforms import convolved

Factor = tuple[int, Floats]
"""A polynomial for each of several powers m (rows), with their common leading zeros counted instead of stored."""

SUMMATION_ERROR = 1e-10
"""Bound on the relative error of the means below, beside an absolute 1e-14."""

_ONE_BY_ONE = 32
_MEAN_NODES = 12
_NEGLIGIBLE_LOG = 46.0  # e^-46 = 1e-20
_LONGEST_DIRECT = 4096
_LARGEST_LOG_COUNT = 650.0  # beyond, the number of candidates is near the largest float


# --- sums over m ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _octave(first: int) -> tuple[Floats, Floats]:
    """Powers m and weights, for Σ s_m f(m) over the integers m from `first` to `2 first - 1`."""
    if first < _ONE_BY_ONE:
        m, weight = np.arange(first, 2.0 * first), np.ones(first)
    else:
        places, weight = sum_rule(first, _MEAN_NODES)
        m = first + places
    return m, weight * series_term(m)


def over_powers(moments: Callable[[Floats], Floats], last: float) -> tuple[Floats, Floats, Floats]:
    """Powers, weights for sums with s_m, and the moments, which are negligible from `last` on and are asked for an octave at a time."""
    count = max(1, ceil(log2(last)))  # the octaves reach all powers below 2^count
    octaves = [_octave(2**i) for i in range(count)]
    m, weight = np.concatenate(octaves, axis=-1)
    return m, weight, np.concatenate([moments(powers) for powers, _ in octaves])


def _debye_coefficients(terms: int = 7) -> Floats:
    """Row k holds the coefficients of u_k(t) / t^k in t², for Debye's expansion of K_order(order · z) with t = (1 + z²)^-½.

    From order 30.5 on, where it is used, the first that is left out changes the sum by less than 3e-12.
    """
    table = np.zeros((terms, terms))
    table[0, 0] = 1.0
    for k in range(terms - 1):
        for j in range(k + 1):
            power = k + 2 * j
            table[k + 1, j] += table[k, j] * (power / 2.0 + 1.0 / (8.0 * (power + 1.0)))
            table[k + 1, j + 1] -= table[k, j] * (power / 2.0 + 5.0 / (8.0 * (power + 3.0)))
    return table


_DEBYE = _debye_coefficients()


def _tilt(c: float, m: Floats) -> Floats:
    """p_m(c) / (c s_m) at large real m: 1 as c tends to 0, where Debye's expansion of the Bessel function becomes Stirling's of its Γ."""
    order = m - 0.5
    z = c / order
    root = np.sqrt(1.0 + z * z)
    w = z * z / (1.0 + root)
    series = polyval2d(-1.0 / (root * order), 1.0 / root**2, _DEBYE) / polyval2d(-1.0 / order, np.ones_like(m), _DEBYE)
    return np.asarray(np.exp(order * (np.log1p(w / 2.0) - w)) / np.sqrt(root) * series)


def exponential_weights(c: float, m: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Weights for sums with p_m(c) and p_{m-1}(c), given those with s_m: by recurrence while m goes one by one, by `_tilt` beyond."""
    table = [-c, log(c / 2.0) - c]
    for j in range(_ONE_BY_ONE - 2):
        ratio = exp(table[-2] - table[-1])
        table.append(table[-1] + log(((j + 1) * (j + 0.5) + 0.25 * c * c * ratio) / ((j + 2) * (j + 1))))
    few = int(np.searchsorted(m, _ONE_BY_ONE))
    one_by_one, m, weight = np.exp(table), m[few:], weight[few:]
    here = np.concatenate([one_by_one[1 : few + 1], c * weight * _tilt(c, m)])
    before = np.concatenate([one_by_one[:few], c * weight * m / (m - 1.5) * _tilt(c, m - 1.0)])
    return here, before


# --- products of polynomials ------------------------------------------------------------------------------------------


def _product(left: Factor, right: Factor, n: int) -> Factor:
    """The products of polynomials with the same m, up to the power n."""
    offset, length = left[0] + right[0], left[1].shape[1] + right[1].shape[1] - 1
    room = min(n - offset + 1, length)
    if room <= 0 or not left[1].size or not right[1].size:
        return 0, np.zeros((len(left[1]), 0))
    first, second = left[1][:, :room], right[1][:, :room]
    # Only coefficients near the peak of a product are asked for, to which the error of a transform is relative.
    if min(first.shape[1], second.shape[1]) > _LONGEST_DIRECT:
        return offset, convolved(first, second, axes=[1])[:, :room]
    return offset, np.stack([np.convolve(f, g)[:room] for f, g in zip(first, second, strict=True)])


def _meeting(left: Factor, right: Factor, n: int) -> Floats:
    """The coefficient of z^n in the product of two."""
    (low, first), (shift, second) = left, right
    start, stop = max(low, n - shift - second.shape[1] + 1), min(low + first.shape[1], n - shift + 1)
    if start >= stop:
        return np.zeros(len(first))
    backwards = second[:, ::-1][:, second.shape[1] - 1 - n + shift + start : second.shape[1] - 1 - n + shift + stop]
    return np.asarray(np.einsum("ij,ij->i", first[:, start - low : stop - low], backwards))


def _coefficients(factors: list[Factor], n: int) -> Floats:
    """The coefficient of z^n in the product of all factors, for each m."""
    product = factors[0]
    for factor in factors[1:-1]:
        product = _product(product, factor, n)
    return _meeting(product, factors[-1], n)


def _factor(exponents: Floats, slopes: Floats, m: Floats, budget: float) -> Factor:
    """`exp(exponents - m slopes)` between the first and the last power of z where it is not negligible for the least m."""
    least = exponents - m[0] * slopes
    kept = np.nonzero(least >= least.max() - budget)[0]
    part = slice(kept[0], kept[-1] + 1)
    return int(kept[0]), np.exp(exponents[part] - np.multiply.outer(m, slopes[part]))


class _Gaps:
    """`gap(a_i + x_i, a_i + r)` for every category i and count r, and how far the nearest other candidate is."""

    def __init__(self, prior: Prior, counts: Counts, rows: list[Floats] | None = None) -> None:
        n = int(counts.sum())
        if n > limits.CONVOLVED_RECORDS:
            raise TooLargeError(f"means by convolution take at most {limits.CONVOLVED_RECORDS:,} records, got {n:,}; use fewer records")
        r = np.arange(n + 1)
        self.n = n
        self.rows = rows or [count_gap(a, x, r) for a, x in zip(prior.concentration, counts, strict=True)]
        down = [row[x - 1] if x else inf for row, x in zip(self.rows, counts, strict=True)]
        up = [row[x + 1] if x < n else inf for row, x in zip(self.rows, counts, strict=True)]
        moves = [d + u for i, d in enumerate(down) for j, u in enumerate(up) if i != j]
        self.nearest = float(min(moves))

    def last_power(self, log_count: float = 0.0) -> float:
        """The power from which on only the true posterior is left, among as many candidates."""
        return (_NEGLIGIBLE_LOG + log_count) / self.nearest


# --- the three means; `rows` are the gaps of each category, where they are known already ----------------------------------


def exponential_mean(prior: Prior, counts: Counts, rate: float, rows: list[Floats] | None = None) -> float:
    """Mean Hellinger error of `∝ exp(-rate · H)`: `-d ln Z/dc` at the rate, with `Z(c) = Σ_m p_m(c) Z_m`, `Z_m = Σ_r B(r)^m`.

    `Σ p_m = 1`, so `Z = 1 + Σ p_m (Z_m - 1)`, and the sum stops where only the true posterior is left. Everything is divided by the
    number of candidates so as to stay within floats.
    """
    gaps = _Gaps(prior, counts, rows)
    log_count = log(candidate_count(gaps.n, len(counts)))
    if log_count > _LARGEST_LOG_COUNT:
        raise TooLargeError("the number of candidates is beyond the range of floats; use fewer records or categories")
    budget, alone = _NEGLIGIBLE_LOG + log_count, exp(-log_count)
    share = np.full(gaps.n + 1, -log_count / len(counts))

    def others(m: Floats) -> Floats:
        return _coefficients([_factor(share, row, m, budget) for row in gaps.rows], gaps.n) - alone

    m, weight, moments = over_powers(others, gaps.last_power(log_count))
    p, before = exponential_weights(rate, m, weight)
    slope = p / rate - before * (rate / (2.0 * m))
    first = exp(-rate) * (1.0 - alone)  # m = 0: every candidate counts
    return float((first - slope @ moments) / (first + p @ moments + alone))


def _mean_from_moments(moments: Callable[[Floats], Floats], exact_hit: float, total: float, last: float) -> float:
    """`E[H]` from `E[B^m]`, the probability of no error at all and the total probability: `Σ s_m = 1`."""
    _, weight, found = over_powers(moments, last)
    return float(total - exact_hit - weight @ (found - exact_hit))


def laplace_mean(prior: Prior, noise: IndependentNoise, counts: Counts, rows: list[Floats] | None = None) -> float:
    """Mean Hellinger error of consistent Laplace noise: records used so far form a Markov chain, whose steps are convolutions."""
    gaps = _Gaps(prior, counts, rows)
    n, r = gaps.n, np.arange(gaps.n + 1)
    steps = []
    for x in counts[:-1]:
        log_at_least = np.where(r > 0, noise.log_at_least((r - x).astype(np.float64)), 0.0)
        steps.append((noise.clamped(int(x), r.astype(np.float64), 0, n), log_at_least))

    def moments(m: Floats) -> Floats:
        used: Factor = (0, np.ones((len(m), 1)))  # records used so far, while some are left
        full = np.zeros(len(m))  # the part of the moment where none are: later categories have none
        for (log_noise, log_at_least), row in zip(steps, gaps.rows[:-1], strict=True):
            filled = _meeting(used, _factor(log_at_least, row, m, _NEGLIGIBLE_LOG), n)  # this category takes all that is left
            full = full * np.exp(-m * row[0]) + filled
            used = _product(used, _factor(log_noise, row, m, _NEGLIGIBLE_LOG), n - 1)
        last = gaps.rows[-1]
        return np.asarray(full * np.exp(-m * last[0]) + _meeting(used, _factor(np.zeros(n + 1), last, m, _NEGLIGIBLE_LOG), n))

    return _mean_from_moments(moments, float(moments(np.array([2.0 * gaps.last_power()]))[0]), 1.0, gaps.last_power())


def lattice_mean(
    mechanism: Mechanism, noise: CellNoise, counts: Counts, most_outside: float = 1.0, rows: list[Floats] | None = None
) -> tuple[float, float]:
    """Mean Hellinger error of `LatticeGeometric` over outcomes that need no projection, and the probability of all others.

    A projection ties the categories together, so it does not factor: the mean is between the first and the sum of the two. Where the
    second is above `most_outside`, the first is not computed.
    """
    gaps, r = _Gaps(mechanism.prior, counts, rows), np.arange(mechanism.space.total + 1)
    log_normaliser = -mechanism.log_prob(counts, counts)
    share = log_normaliser / mechanism.k
    log_laws = [noise.log_factor((r - x).astype(np.float64)) - share for x in counts]

    def moments(m: Floats) -> Floats:
        factors = [_factor(log_noise, row, m, 2.0 * _NEGLIGIBLE_LOG) for log_noise, row in zip(log_laws, gaps.rows, strict=True)]
        return _coefficients(factors, mechanism.space.total)

    inside = float(moments(np.zeros(1))[0])
    if 1.0 - inside > most_outside:
        return nan, 1.0 - inside
    mean = _mean_from_moments(moments, exp(-log_normaliser), inside, gaps.last_power())
    return mean, max(0.0, 1.0 - inside)
