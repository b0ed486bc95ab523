"""Mean Hellinger errors of three or more categories without listing candidates (DESIGN sections 5 and 7).

With equal totals `1 - H² = B(r) = Π_i b_i(r_i)`, `b_i(r) = exp(-gap(a_i + x_i, a_i + r))`, so the moments `Σ_r P(r) B(r)^m` of a law that
is a product over categories given the total are coefficients of a product of k polynomials. Two power series in B bring H back:

    exp(-c H) = Σ_m p_m(c) B^m,   p_m(c) = (c/2)^m / m! · sqrt(2c/π) K_{m-½}(c),   dp_m/dc = p_m / c - c p_{m-1} / (2m)
    H         = 1 - Σ_{m>=1} s_m B^m,   s_m = Γ(m - ½) / (2 sqrt(π) m!)

All terms are positive and products are formed directly, so nothing cancels. The sums over m are added up one by one below `_FROM` and by
Gauss-Legendre quadrature in ln m above it, with the first three Euler-Maclaurin corrections: a moment is defined and smooth at every
real m. The relative error of a mean is below `SUMMATION_ERROR` (docs/accuracy.md; the tests compare with enumeration).
"""

from collections.abc import Callable
from math import ceil, exp, inf, log, log2, nan, pi, sqrt

import numpy as np
from scipy.signal import fftconvolve

from discreet.distributions import Beta, Dirichlet
from discreet.enumeration import candidate_count
from discreet.errors import TooLargeError
from discreet.mechanisms.laplace import LaplaceDimension, LaplaceHistogram
from discreet.mechanisms.lattice import LatticeGeometric
from discreet.numerics import Floats, gap, log_gamma_excess, log_gamma_ratio
from discreet.validation import Counts

__all__ = ["SUMMATION_ERROR", "exponential_mean", "laplace_mean", "lattice_mean"]

Prior = Dirichlet | Beta
Factor = tuple[int, Floats]
"""A polynomial with its leading zeros counted instead of stored."""

SUMMATION_ERROR = 1e-10
"""Bound on the relative error of the means below, beside an absolute 1e-14."""

_FROM = 128
_NODES = 24
_NEGLIGIBLE_LOG = 46.0  # e^-46 = 1e-20
_LONGEST_DIRECT = 4096
_LARGEST_LOG_COUNT = 650.0  # beyond, the number of candidates is near the largest float
_MOST_RECORDS = 200_000


# --- sums over m ------------------------------------------------------------------------------------------------------


def _sum_over_powers(term: Callable[[float], Floats], first: int, last: float) -> Floats:
    """Σ_{m >= first} term(m), for a smooth term that is negligible from `last` on; terms may be vectors."""
    ones = [term(float(m)) for m in range(first, min(_FROM, ceil(last) + 1))]
    total = np.sum(ones, axis=0) if ones else np.zeros_like(term(float(first)))
    if last <= _FROM:
        return np.asarray(total)
    around = [term(float(_FROM + step)) for step in (-2, -1, 0, 1, 2)]
    first_derivative = (8.0 * (around[3] - around[1]) - (around[4] - around[0])) / 12.0
    third_derivative = (around[4] - 2.0 * around[3] + 2.0 * around[1] - around[0]) / 2.0
    total = total + around[2] / 2.0 - first_derivative / 12.0 + third_derivative / 720.0
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    octaves = ceil(log2(last / _FROM))
    for octave in range(octaves):
        for node, weight in zip(nodes, weights, strict=True):
            m = _FROM * 2.0 ** (octave + (node + 1.0) / 2.0)
            total = total + term(m) * (weight * 0.5 * log(2.0) * m)
    return np.asarray(total)


def _bessel_series(order: float, z: float) -> float:
    """Σ_k (-1)^k u_k(p) / order^k of Debye's expansion of K_order(order · z), to k = 4: beyond order 100 the rest is below 1e-11."""
    p = 1.0 / sqrt(1.0 + z * z)
    s = p * p
    u1 = p * (3.0 - 5.0 * s) / 24.0
    u2 = s * (81.0 + s * (-462.0 + s * 385.0)) / 1152.0
    u3 = p * s * (30375.0 + s * (-369603.0 + s * (765765.0 - s * 425425.0))) / 414720.0
    u4 = s * s * (4465125.0 + s * (-94121676.0 + s * (349922430.0 + s * (-446185740.0 + s * 185910725.0)))) / 39813120.0
    return 1.0 - u1 / order + u2 / order**2 - u3 / order**3 + u4 / order**4


def _log_weight(c: float, m: float) -> float:
    """ln p_m(c) at a large real m, arranged so that nothing of size m ln m is formed."""
    order = m - 0.5
    z = c / order
    w = z * z / (1.0 + sqrt(1.0 + z * z))
    main = -order * w + order * np.log1p(w / 2.0) - 0.25 * np.log1p(z * z)
    gamma = float(log_gamma_excess(order) + log_gamma_ratio(order, 1.5))
    return float(main - gamma + log(c) - 0.5 * log(2.0) - 0.5 * log(order) + log(_bessel_series(order, z)))


def _log_weights(c: float) -> Callable[[float], float]:
    """ln p_m(c): by the recurrence for the m that are added up one by one, by Debye's expansion beyond."""
    table = [-c, log(c / 2.0) - c]
    for m in range(_FROM):
        ratio = exp(table[-2] - table[-1])
        table.append(table[-1] + log(((m + 1) * (m + 0.5) + 0.25 * c * c * ratio) / ((m + 2) * (m + 1))))
    return lambda m: table[int(m)] if m == int(m) and m < len(table) else _log_weight(c, m)


# --- products of polynomials ------------------------------------------------------------------------------------------


def _product(left: Factor, right: Factor, n: int) -> Factor:
    """The product, up to the power n."""
    offset = left[0] + right[0]
    if offset > n or not left[1].size or not right[1].size:
        return 0, np.zeros(0)
    room = n - offset + 1
    first, second = left[1][:room], right[1][:room]
    # Only coefficients near the peak of a product are asked for, to which the error of an FFT is relative.
    long = min(first.size, second.size) > _LONGEST_DIRECT
    return offset, np.asarray(fftconvolve(first, second) if long else np.convolve(first, second))[:room]


def _coefficient(factors: list[Factor], n: int) -> float:
    """The coefficient of z^n in the product of all factors."""
    product = factors[0]
    for factor in factors[1:-1]:
        product = _product(product, factor, n)
    (low, first), (shift, last) = product, factors[-1]
    powers = np.arange(low, low + first.size)
    inside = (n - powers >= shift) & (n - powers < shift + last.size)
    return float(first[inside] @ last[n - powers[inside] - shift])


def _trimmed(values: Floats, kept: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Factor:
    """The values between the first and the last that is kept."""
    where = np.nonzero(kept)[0]
    if not where.size:
        return 0, np.zeros(0)
    return int(where[0]), values[where[0] : where[-1] + 1]


class _Gaps:
    """`gap(a_i + x_i, a_i + r)` for every category i and count r, and how far the nearest other candidate is."""

    def __init__(self, prior: Prior, counts: Counts) -> None:
        n = int(counts.sum())
        if n > _MOST_RECORDS:
            raise TooLargeError(f"means by convolution take at most {_MOST_RECORDS:,} records, got {n:,}; use fewer records")
        r = np.arange(n + 1)
        self.n = n
        self.rows = [gap(a + x, a + r, (r - x).astype(np.float64)) for a, x in zip(prior.concentration, counts, strict=True)]
        down = [row[x - 1] if x else inf for row, x in zip(self.rows, counts, strict=True)]
        up = [row[x + 1] if x < n else inf for row, x in zip(self.rows, counts, strict=True)]
        moves = [d + u for i, d in enumerate(down) for j, u in enumerate(up) if i != j]
        self.nearest = float(min(moves))

    def last_power(self, log_count: float = 0.0) -> float:
        """From this power on only the true posterior is left, among as many candidates."""
        return (_NEGLIGIBLE_LOG + log_count) / self.nearest


# --- the three means --------------------------------------------------------------------------------------------------


def exponential_mean(prior: Prior, counts: Counts, rate: float) -> float:
    """Mean Hellinger error of `∝ exp(-rate · H)`: `-d ln Z/dc` at the rate, with `Z(c) = Σ_m p_m(c) Z_m`, `Z_m = Σ_r B(r)^m`.

    `Σ p_m = 1`, so `Z = 1 + Σ p_m (Z_m - 1)`, and the sum stops where only the true posterior is left. Everything is divided by the
    number of candidates so as to stay within floats.
    """
    gaps = _Gaps(prior, counts)
    log_count = log(candidate_count(gaps.n, len(counts)))
    if log_count > _LARGEST_LOG_COUNT:
        raise TooLargeError("the number of candidates is beyond the range of floats; use fewer records or categories")
    log_p, budget, share = _log_weights(rate), _NEGLIGIBLE_LOG + log_count, log_count / len(counts)
    alone = exp(-log_count)

    def term(m: float) -> Floats:
        factors = [_trimmed(np.exp(-m * row - share), m * row <= budget) for row in gaps.rows]
        others = _coefficient(factors, gaps.n) - alone
        p = exp(log_p(m))
        slope = p / rate - rate * exp(log_p(m - 1.0)) / (2.0 * m) if m > 0 else -p
        return np.array([p * others, -slope * others])

    weight, first_moment = _sum_over_powers(term, 0, gaps.last_power(log_count))
    return float(first_moment / (weight + alone))


def _root_weight(m: float) -> float:
    """s_m, with `sqrt(1 - z) = 1 - Σ_{m>=1} s_m z^m`."""
    return exp(-float(log_gamma_ratio(m - 0.5, 1.5))) / (2.0 * sqrt(pi))


def _mean_from_moments(moment: Callable[[float], float], exact_hit: float, total: float, last: float) -> float:
    """`E[H]` from `E[B^m]`, the probability of no error at all and the total probability: `Σ s_m = 1`."""
    rest = _sum_over_powers(lambda m: np.array([_root_weight(m) * (moment(m) - exact_hit)]), 1, last)
    return float(total - exact_hit - rest[0])


def laplace_mean(mechanism: LaplaceDimension | LaplaceHistogram, counts: Counts) -> float:
    """Mean Hellinger error of consistent Laplace noise: records used so far form a Markov chain, whose steps are convolutions."""
    gaps, n = _Gaps(mechanism.prior, counts), mechanism.n
    r = np.arange(n + 1)
    steps = []
    for x in counts[:-1]:
        noise = np.exp(mechanism._log_noise(r - x))
        noise[0] = exp(mechanism._log_at_least(2.0 * mechanism._offset - 1.0 + float(x)))  # everything at or below 0
        at_least = np.exp([mechanism._log_at_least(float(t)) for t in r - x])
        at_least[0] = 1.0
        steps.append((noise, at_least))

    def moment(m: float) -> float:
        used: Factor = (0, np.ones(1))
        for (noise, at_least), row in zip(steps, gaps.rows[:-1], strict=True):
            power = np.exp(-m * row)
            kept = m * row <= _NEGLIGIBLE_LOG
            left = n - np.arange(used[0], used[0] + used[1].size)
            filled = float(used[1] @ (at_least * power)[left])  # this category takes all that is left
            low, values = _product(used, _trimmed(noise * power, kept), n)
            chain = np.zeros(n + 1)
            chain[low : low + values.size] = values
            chain[n] = filled
            used = _trimmed(chain, chain > 0.0)
        left = n - np.arange(used[0], used[0] + used[1].size)
        return float(used[1] @ np.exp(-m * gaps.rows[-1][left]))

    return _mean_from_moments(moment, moment(2.0 * gaps.last_power()), 1.0, gaps.last_power())


def lattice_mean(mechanism: LatticeGeometric, counts: Counts, most_outside: float = 1.0) -> tuple[float, float]:
    """Mean Hellinger error of `LatticeGeometric` over outcomes that need no projection, and the probability of all others.

    A projection ties the categories together, so it does not factor: the mean is between the first and the sum of the two. Where the
    second is above `most_outside`, the first is not computed.
    """
    gaps, r = _Gaps(mechanism.prior, counts), np.arange(mechanism.n + 1)
    log_normaliser = -mechanism.log_prob(counts, counts)
    share = log_normaliser / mechanism.k
    noise = [-0.5 * float(mechanism.epsilon) * np.abs(r - x) - share for x in counts]

    def moment(m: float) -> float:
        exponents = [log_noise - m * row for log_noise, row in zip(noise, gaps.rows, strict=True)]
        return _coefficient([_trimmed(np.exp(e), e > e.max() - 2.0 * _NEGLIGIBLE_LOG) for e in exponents], mechanism.n)

    inside = moment(0.0)
    if 1.0 - inside > most_outside:
        return nan, 1.0 - inside
    mean = _mean_from_moments(moment, exp(-log_normaliser), inside, gaps.last_power())
    return mean, max(0.0, 1.0 - inside)
