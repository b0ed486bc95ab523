"""Divergences of ln Γ in floats without cancellation, with a proven bound on their error.

Everything discreet measures between Dirichlet distributions is a sum of one function, the Bregman divergence of ln Γ,

    B(v | u) = lnΓ(v) - lnΓ(u) - (v - u) ψ(u)  >=  0 .

Subtracting `gammaln` values loses all digits at large arguments. Here B is a sum of terms that are each computed to a few units in the
last place (docs/research/numerics.md): with `τ = (v - u)/u`, Stirling's series gives

    B(v | u) = u κ(τ) - ½ λ(τ) + Σ_p c_p [v^-p - u^-p (1 - pτ)],   κ(τ) = (1+τ) ln(1+τ) - τ,   λ(τ) = ln(1+τ) - τ,

and arguments below `STIRLING_FROM` are first raised by the recurrence, which adds `-λ((v-u)/(u+j)) >= 0` for each unit step.
The two Jensen gaps that follow from it are sums of non-negative divergences, so they inherit the bound.

The difference `v - u` is an argument of its own: counts differ by exact integers even where `a + x` has been rounded.
"""

from math import comb

import numpy as np
from numpy.typing import ArrayLike

from discreet.arrays import Floats

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
