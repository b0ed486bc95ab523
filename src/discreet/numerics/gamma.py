"""ln Γ and the incomplete beta function in floats without cancellation: divergences of ln Γ have a proven bound on their error.

Everything discreet measures between Dirichlet distributions is a sum of one function, the Bregman divergence of ln Γ,

    B(v | u) = lnΓ(v) - lnΓ(u) - (v - u) ψ(u)  >=  0 .

Subtracting `gammaln` values loses all digits at large arguments. Here B is a sum of terms that are each computed to a few units in the
last place (docs/research/numerics.md): with `τ = (v - u)/u`, Stirling's series gives

    B(v | u) = u κ(τ) - ½ λ(τ) + Σ_p c_p [v^-p - u^-p (1 - pτ)],   κ(τ) = (1+τ) ln(1+τ) - τ,   λ(τ) = ln(1+τ) - τ,

and arguments below `STIRLING_FROM` are first raised by the recurrence, which adds `-λ((v-u)/(u+j)) >= 0` for each unit step.
The two Jensen gaps that follow from it are sums of non-negative divergences, so they inherit the bound.

The difference `v - u` is an argument of its own: counts differ by exact integers even where `a + x` has been rounded.

The power series of the Hellinger distance in the affinity B = 1 - H² has positive terms alone:

    H  =  sqrt(1 - B)  =  1 - Σ_{m>=1} s_m B^m  =  Σ_{m>=1} s_m (1 - B^m),   s_m = Γ(m - ½) / (2 sqrt(π) m!),   Σ s_m = 1 .
"""

from collections.abc import Callable
from math import comb, pi, sqrt
from typing import cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincc, betainccinv, betaincinv, digamma, gammaln

from discreet.arrays import Floats, Mask

RELATIVE_ERROR = 2.0**-45
"""Bound on the relative error of `bregman` and `gap` for arguments in [1e-9, 1e15] (docs/research/numerics.md; checked against `arb`)."""

STIRLING_FROM = 10.0
_SERIES_BELOW = 0.5
_ELEMENTS_TOGETHER = 1 << 13
"""Elements worked on together: few enough to stay near the processor, many enough that the calls do not count."""
# B_2k / (2k (2k-1)) for the powers p = 2k-1 = 1, 3, ... 13. The first term left out, p = 15, is below 1e-15 of the sum.
STIRLING = ((1, 1 / 12), (3, -1 / 360), (5, 1 / 1260), (7, -1 / 1680), (9, 1 / 1188), (11, -691 / 360360), (13, 1 / 156))
# v^-p - u^-p (1 - pτ) = v^-p τ² Σ_i τ^i [p C(p, i+1) - C(p, i+2)]: positive coefficients, so no cancellation for small τ.
_POWER_POLYNOMIALS = {p: [p * comb(p, i + 1) - comb(p, i + 2) for i in range(p)] for p, _ in STIRLING}
_ATANH_TERMS = 17  # w² <= 1/9 where the series is used: 9^-17 is below one unit in the last place


def _log_ratio(tau: Floats, ratio: Floats) -> Floats:
    """ln(1 + τ), from `ratio = 1 + τ` where τ is near -1 and the sum would lose it."""
    near_minus_one = tau < -_SERIES_BELOW
    return np.where(near_minus_one, np.log(ratio), np.log1p(np.where(near_minus_one, 0.0, tau)))


def _lambda(tau: Floats, ratio: Floats) -> Floats:
    """λ(τ) = ln(1 + τ) - τ <= 0."""
    small = np.abs(tau) <= _SERIES_BELOW
    w = np.where(small, tau / (2.0 + tau), 0.0)
    square = w * w
    series = square / (2 * _ATANH_TERMS + 1)
    for i in range(_ATANH_TERMS - 1, 0, -1):
        series += 1.0 / (2 * i + 1)
        series *= square
    near = 2.0 * (w * series - square / (1.0 - w))
    return near if small.all() else np.where(small, near, _log_ratio(tau, ratio) - tau)


def _stirling_remainder(u: Floats, v: Floats, tau: Floats) -> Floats:
    """Bregman divergence of the part of ln Γ beyond (z - ½) ln z - z."""
    small = np.abs(tau) <= _SERIES_BELOW
    near = np.where(small, tau, 0.0)
    total, far = np.zeros_like(tau), np.zeros_like(tau)
    for p, coefficient in reversed(STIRLING):
        power = v**-p
        polynomial = np.full_like(tau, _POWER_POLYNOMIALS[p][-1])
        for factor in reversed(_POWER_POLYNOMIALS[p][:-1]):
            polynomial *= near
            polynomial += factor
        total += coefficient * power * polynomial
        if not small.all():
            far += coefficient * (power - u**-p * (1.0 - p * tau))
    return np.where(small, total * near * near, far)


def bregman(v: ArrayLike, u: ArrayLike, difference: ArrayLike | None = None) -> Floats:
    """lnΓ(v) - lnΓ(u) - (v - u) ψ(u), element by element; `difference` is v - u where it is known better than v and u are."""
    v, u = np.asarray(v, dtype=np.float64), np.asarray(u, dtype=np.float64)
    step = v - u if difference is None else np.asarray(difference, dtype=np.float64)
    v, u, step = np.broadcast_arrays(v, u, step)
    result = np.zeros(v.shape)
    moved = step != 0.0
    columns: list[Floats] = [column[moved] for column in (v, u, step)]
    chunks = (slice(start, start + _ELEMENTS_TOGETHER) for start in range(0, columns[0].size, _ELEMENTS_TOGETHER))
    result[moved] = np.concatenate([np.zeros(0), *(_bregman(*(column[chunk] for column in columns)) for chunk in chunks)])
    return result


def _bregman(v: Floats, u: Floats, step: Floats) -> Floats:
    total = np.zeros_like(v)
    small = np.minimum(u, v) < STIRLING_FROM
    if small.any():
        raised_v, raised_u = (z[small] + np.arange(STIRLING_FROM)[:, None] for z in (v, u))
        total[small] = -_lambda(step[small] / raised_u, raised_v / raised_u).sum(axis=0)
        v, u = np.where(small, v + STIRLING_FROM, v), np.where(small, u + STIRLING_FROM, u)
    tau, ratio = step / u, v / u
    lam = _lambda(tau, ratio)
    near = np.abs(tau) <= _SERIES_BELOW
    kappa = np.where(near, ratio * lam + tau * tau, ratio * _log_ratio(tau, ratio) - tau)
    return total + (u * kappa - 0.5 * lam + _stirling_remainder(u, v, tau))


def jensen(u: ArrayLike, v: ArrayLike, order: float, difference: ArrayLike | None = None) -> Floats:
    """The non-negative Jensen gap of ln Γ that a Rényi divergence of this order is made of; infinite where that diverges.

    Order below 1: `a lnΓ(u) + (1-a) lnΓ(v) - lnΓ(m)`, with m = a u + (1-a) v. Order above 1: its negative.
    """
    u, v = np.asarray(u, dtype=np.float64), np.asarray(v, dtype=np.float64)
    step = v - u if difference is None else np.asarray(difference, dtype=np.float64)
    u, v, step = np.broadcast_arrays(u, v, step)
    mean = order * u + (1.0 - order) * v
    if order < 1.0:
        left = order * bregman(u, mean, (order - 1.0) * step)
        return left + (1.0 - order) * bregman(v, mean, order * step)
    result = np.full(u.shape, np.inf)
    finite = mean > 0.0
    result[finite] = bregman(mean[finite], u[finite], ((1.0 - order) * step)[finite])
    result[finite] += (order - 1.0) * bregman(v[finite], u[finite], step[finite])
    return result


def gap(u: ArrayLike, v: ArrayLike, difference: ArrayLike | None = None) -> Floats:
    """½ lnΓ(u) + ½ lnΓ(v) - lnΓ((u+v)/2), to a relative error of `RELATIVE_ERROR` (docs/research/numerics.md)."""
    return jensen(u, v, 0.5, difference)


def count_gap(a: ArrayLike, x: ArrayLike, r: ArrayLike) -> Floats:
    """`gap(a + x, a + r)` for a prior parameter a and counts x and r, from their exact difference."""
    return gap(np.add(a, x), np.add(a, r), np.subtract(r, x, dtype=np.float64))


def two_count_gap(a: Floats, n: int, x: ArrayLike, r: ArrayLike) -> Floats:
    """The gaps of both of two categories together, where the first count is x or r out of n."""
    x, r = np.asarray(x, dtype=np.float64), np.asarray(r, dtype=np.float64)
    return gap(a[0] + x, a[0] + r, r - x) + gap(a[1] + (n - x), a[1] + (n - r), x - r)


def to_hellinger(divergence: Floats) -> Floats:
    """The Hellinger distance sqrt(1 - e^-D) of posteriors whose gaps add up to D."""
    return np.asarray(np.sqrt(-np.expm1(-divergence)))


def log_ratio_excess(tau: ArrayLike, ratio: ArrayLike) -> Floats:
    """λ(τ) = ln(1 + τ) - τ <= 0, given both τ and `ratio = 1 + τ` so that neither is lost in the other.

    Where weights w and w' have the same total, `Σ w ln(w'/w) = Σ w λ(w'/w - 1)`: a sum of one sign, with nothing to cancel.
    """
    return _lambda(np.asarray(tau, dtype=np.float64), np.asarray(ratio, dtype=np.float64))


# --- less the parts that cancel between large arguments ----------------------------------------------------------------


def log_gamma_excess(z: ArrayLike) -> Floats:
    """lnΓ(z) - (z ln z - z): what is left of ln Γ once the part that cancels between large arguments is taken out."""
    z = np.asarray(z, dtype=np.float64)
    large = z >= STIRLING_FROM
    far, near = np.where(large, z, STIRLING_FROM), np.where(large, 1.0, z)
    small: Floats = gammaln(near) - (near * np.log(near) - near)
    return np.where(large, 0.5 * np.log(2.0 * np.pi / far) + _remainder(far), small)


def log_gamma_ratio(z: ArrayLike, shift: ArrayLike) -> Floats:
    """lnΓ(z + shift) - lnΓ(z), which keeps its digits when z is large and the shift is not."""
    z, shift = np.asarray(z, dtype=np.float64), np.asarray(shift, dtype=np.float64)
    return np.asarray(bregman(z + shift, z, shift) + shift * (np.log(z) + digamma_excess(z)))


_SMALL_PARAMETER = 64.0
"""Prior parameters up to which the logarithms that `log_rising` subtracts are small enough for their digits."""


def log_rising(a: float, x: Floats, reference: float) -> Floats:
    """ln Γ(a + x)/x! less its value at the reference; nothing of size x ln x is formed.

    For a large a they are Bregman divergences of ln Γ and a line, which takes longer.
    """
    if a <= _SMALL_PARAMETER:
        return np.asarray(log_rise(a, x) - log_rise(a, np.array([reference])))
    step = x - reference
    above, below = a + reference, 1.0 + reference
    line = float(digamma(above) - digamma(below))
    return np.asarray(bregman(a + x, above, step) - bregman(1.0 + x, below, step) + line * step)


def log_rise(a: float | Floats, x: Floats) -> Floats:
    """ln Γ(a + x)/x! to an error of about 1e-16 · |a - 1| ln x, by Stirling's formula but for small x; `a` may be an array."""
    if np.all(np.equal(a, 1.0)):
        return np.zeros_like(x)
    large = x + np.minimum(a, 1.0) >= STIRLING_FROM
    far = np.where(large, x, STIRLING_FROM)
    series = (far + 0.5) * np.log1p((a - 1.0) / (1.0 + far)) + (a - 1.0) * (np.log(a + far) - 1.0)
    series += _remainder(a + far) - _remainder(1.0 + far)
    if not large.all():
        near = ~large
        series[near] = gammaln((a + x)[near]) - gammaln(1.0 + x[near])
    return series


def log_rise_means(a: float | Floats, place: Floats, length: float) -> Floats:
    """ln of the mean of Γ(a + x)/x! over `length` counts around length · place, those below 0 counted as 0.

    The sum over all counts below m is Γ(a + m)/(a Γ(m)). Elsewhere than near 0 the mean is taken for the value in the middle.
    """
    found = log_rise(a, length * place)
    near = (place < _STEEP_PLACES) & ((np.asarray(a) < _STEEP_PARAMETER) | (place == 0.0))
    if not near.any():
        return found
    a = np.broadcast_to(a, found.shape)[near]
    end = length * place[near] + 0.5 * (length + 1.0)
    start = np.maximum(end - length, 0.0)
    with np.errstate(divide="ignore"):
        before, below = (log_rise(a, edge) + np.log(edge / (a * length)) for edge in (start, end))
        found[near] = below + np.log(-np.expm1(before - below))
    return found


_STEEP_PLACES, _STEEP_PARAMETER = 16, 2.0
"""Places of several counts from 0 on within which a power of the count is steep where its exponent is below 1. Elsewhere values in the
middle of places add up to sums over all counts, as long as a law is wider than a place."""


def _remainder(z: Floats) -> Floats:
    """Return the sum that Stirling's series adds to (z - ½) ln z - z + ½ ln 2π."""
    inverse = 1.0 / z
    square = inverse * inverse
    total = np.zeros_like(z)
    for _, coefficient in reversed(STIRLING):
        total *= square
        total += coefficient
    return np.asarray(total * inverse)


def digamma_excess(z: ArrayLike) -> Floats:
    """ψ(z) - ln z, which tends to 0 as -1/(2z)."""
    z = np.asarray(z, dtype=np.float64)
    large = z >= STIRLING_FROM
    far, near = np.where(large, z, STIRLING_FROM), np.where(large, 1.0, z)
    remainder = np.zeros_like(z)
    for p, coefficient in reversed(STIRLING):
        remainder -= p * coefficient * far ** -(p + 1)
    small: Floats = digamma(near) - np.log(near)
    return np.where(large, remainder - 0.5 / far, small)


BELOW_ONE = 1.0 - 2.0**-53
"""The largest float below 1."""
LOGITS = -708.0, 36.8
"""Logits of the smallest normal float and of the largest one below 1: quantiles are looked for between them."""


def beta_cdf(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Floats:
    """The regularised incomplete beta function I_x(a, b) of numbers or arrays, also where SciPy's is not right.

    For a = b exactly, SciPy 1.17 is wrong below the mean from about 5e10 on (measured: by as much as 0.04 near 10^15). There
    `I_x(a, a) = ½ P(θ' > (1-2x)²)` with θ' ~ Beta(½, a), from the side of the mean that x is on, loses nothing.
    """
    return _mended(betainc, a, b, x, lambda at: at <= 0.5)


def beta_survival(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Floats:
    """1 - I_x(a, b), without subtracting."""
    return _mended(betaincc, a, b, x, lambda at: at >= 0.5)


def _mended(function: Callable[..., Floats], a: ArrayLike, b: ArrayLike, x: ArrayLike, is_outer: Callable[[Floats], Mask]) -> Floats:
    """SciPy's function, with what is right in place of it for large a = b; `is_outer` says where that is the tail itself."""
    result = np.asarray(function(a, b, x), dtype=np.float64)
    symmetric = np.equal(a, b) & np.greater_equal(a, _SYMMETRIC_FROM)
    if symmetric.any():
        held = np.broadcast_to(symmetric, result.shape)
        alpha, at = (np.broadcast_to(np.asarray(each, dtype=np.float64), result.shape)[held] for each in (a, x))
        tail = 0.5 * betaincc(0.5, alpha, (1.0 - 2.0 * at) ** 2)
        result[held] = np.where(is_outer(at), tail, 1.0 - tail)
    return result


def beta_quantile(a: float, b: float, q: ArrayLike) -> Floats:
    """The x with I_x(a, b) = q."""
    q = np.asarray(q, dtype=np.float64)
    if a != b or a < _SYMMETRIC_FROM:
        return cast(Floats, betaincinv(a, b, q))
    from_mean: Floats = 0.5 * np.sqrt(betainccinv(0.5, a, 2.0 * np.minimum(q, 1.0 - q)))
    return np.where(q <= 0.5, 0.5 - from_mean, 0.5 + from_mean)


_SYMMETRIC_FROM = 1e3  # below it SciPy is right, and θ may be close enough to 0 for ½ - ... to lose it


def series_term(m: Floats) -> Floats:
    """s_m, at any real m above ½."""
    return np.exp(-log_gamma_ratio(m - 0.5, 1.5)) / (2.0 * sqrt(pi))


def series_tail(m: Floats) -> Floats:
    """Σ_{l >= m} s_l = Γ(m - ½) / (sqrt(π) Γ(m))."""
    return np.exp(-log_gamma_ratio(m - 0.5, 0.5)) / sqrt(pi)
