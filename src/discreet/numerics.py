"""Divergences of ln Γ without cancellation: floats with a proven bound, and enclosures of any precision.

Everything discreet measures between Dirichlet distributions is a sum of one function, the Bregman divergence of ln Γ,

    B(v | u) = lnΓ(v) - lnΓ(u) - (v - u) ψ(u)  >=  0 .

Subtracting `gammaln` values loses all digits at large arguments (DESIGN section 2). Here B is a sum of terms that are each
computed to a few units in the last place: with `τ = (v - u)/u`, Stirling's series gives

    B(v | u) = u κ(τ) - ½ λ(τ) + Σ_p c_p [v^-p - u^-p (1 - pτ)],   κ(τ) = (1+τ) ln(1+τ) - τ,   λ(τ) = ln(1+τ) - τ,

and arguments below `_STIRLING_FROM` are first raised by the recurrence, which adds `-λ((v-u)/(u+j)) >= 0` for each unit step.
The two Jensen gaps that follow from it are sums of non-negative divergences, so they inherit the bound.

The difference `v - u` is an argument of its own: counts differ by exact integers even where `a + x` has been rounded.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from math import comb
from threading import RLock
from typing import Any, cast

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincc, betainccinv, betaincinv, digamma, gammaln

__all__ = [
    "RELATIVE_ERROR",
    "Floats",
    "GapTable",
    "ball",
    "beta_cdf",
    "beta_quantile",
    "beta_survival",
    "bregman",
    "bregman_ball",
    "digamma_excess",
    "gap",
    "gap_ball",
    "jensen",
    "log_gamma_excess",
    "log_gamma_ratio",
    "log_ratio_excess",
    "refine",
    "working_precision",
]

Floats = NDArray[np.float64]

RELATIVE_ERROR = 2.0**-45
"""Bound on the relative error of `bregman` and `gap` for arguments in [1e-9, 1e15] (docs/numerics.md; checked against `arb`)."""

_STIRLING_FROM = 10.0
_SERIES_BELOW = 0.5
_CHUNK = 1 << 13
"""Elements worked on together: few enough to stay near the processor, many enough that the calls do not count."""
# B_2k / (2k (2k-1)) for the powers p = 2k-1 = 1, 3, ... 13. The first term left out, p = 15, is below 1e-15 of the sum.
_STIRLING = ((1, 1 / 12), (3, -1 / 360), (5, 1 / 1260), (7, -1 / 1680), (9, 1 / 1188), (11, -691 / 360360), (13, 1 / 156))
# v^-p - u^-p (1 - pτ) = v^-p τ² Σ_i τ^i [p C(p, i+1) - C(p, i+2)]: positive coefficients, so no cancellation for small τ.
_POWER_POLYNOMIALS = {p: [p * comb(p, i + 1) - comb(p, i + 2) for i in range(p)] for p, _ in _STIRLING}
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
    for p, coefficient in reversed(_STIRLING):
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
    chunks = (slice(start, start + _CHUNK) for start in range(0, columns[0].size, _CHUNK))
    result[moved] = np.concatenate([np.zeros(0), *(_bregman(*(column[chunk] for column in columns)) for chunk in chunks)])
    return result


def _bregman(v: Floats, u: Floats, step: Floats) -> Floats:
    total = np.zeros_like(v)
    small = np.minimum(u, v) < _STIRLING_FROM
    if small.any():
        raised_v, raised_u = (z[small] + np.arange(_STIRLING_FROM)[:, None] for z in (v, u))
        total[small] = -_lambda(step[small] / raised_u, raised_v / raised_u).sum(axis=0)
        v, u = np.where(small, v + _STIRLING_FROM, v), np.where(small, u + _STIRLING_FROM, u)
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
    """½ lnΓ(u) + ½ lnΓ(v) - lnΓ((u+v)/2), to a relative error of `RELATIVE_ERROR` (DESIGN section 2)."""
    return jensen(u, v, 0.5, difference)


def log_gamma_excess(z: ArrayLike) -> Floats:
    """lnΓ(z) - (z ln z - z): what is left of ln Γ once the part that cancels between large arguments is taken out."""
    z = np.asarray(z, dtype=np.float64)
    large = z >= _STIRLING_FROM
    far, near = np.where(large, z, _STIRLING_FROM), np.where(large, 1.0, z)
    remainder = np.zeros_like(z)
    for p, coefficient in reversed(_STIRLING):
        remainder += coefficient * far**-p
    small: Floats = gammaln(near) - (near * np.log(near) - near)
    return np.where(large, 0.5 * np.log(2.0 * np.pi / far) + remainder, small)


def log_gamma_ratio(z: ArrayLike, shift: ArrayLike) -> Floats:
    """lnΓ(z + shift) - lnΓ(z), which keeps its digits when z is large and the shift is not."""
    z, shift = np.asarray(z, dtype=np.float64), np.asarray(shift, dtype=np.float64)
    return np.asarray(bregman(z + shift, z, shift) + shift * (np.log(z) + digamma_excess(z)))


def digamma_excess(z: ArrayLike) -> Floats:
    """ψ(z) - ln z, which tends to 0 as -1/(2z)."""
    z = np.asarray(z, dtype=np.float64)
    large = z >= _STIRLING_FROM
    far, near = np.where(large, z, _STIRLING_FROM), np.where(large, 1.0, z)
    remainder = np.zeros_like(z)
    for p, coefficient in reversed(_STIRLING):
        remainder -= p * coefficient * far ** -(p + 1)
    small: Floats = digamma(near) - np.log(near)
    return np.where(large, remainder - 0.5 / far, small)


def log_ratio_excess(tau: ArrayLike, ratio: ArrayLike) -> Floats:
    """λ(τ) = ln(1 + τ) - τ <= 0, given both τ and `ratio = 1 + τ` so that neither is lost in the other.

    Where weights w and w' have the same total, `Σ w ln(w'/w) = Σ w λ(w'/w - 1)`: a sum of one sign, with nothing to cancel.
    """
    return _lambda(np.asarray(tau, dtype=np.float64), np.asarray(ratio, dtype=np.float64))


def beta_cdf(a: float, b: float, x: ArrayLike) -> Floats:
    """The regularised incomplete beta function I_x(a, b), also where SciPy's is not right.

    For a = b exactly, SciPy 1.17 is wrong below the mean from about 5e10 on (measured: by as much as 0.04 near 10^15). There
    `I_x(a, a) = ½ P(θ' > (1-2x)²)` with θ' ~ Beta(½, a), from the side of the mean that x is on, loses nothing.
    """
    x = np.asarray(x, dtype=np.float64)
    return _symmetric_tail(a, x, x <= 0.5) if a == b >= _SYMMETRIC_FROM else cast(Floats, betainc(a, b, x))


def beta_survival(a: float, b: float, x: ArrayLike) -> Floats:
    """1 - I_x(a, b), without subtracting."""
    x = np.asarray(x, dtype=np.float64)
    return _symmetric_tail(a, x, x >= 0.5) if a == b >= _SYMMETRIC_FROM else cast(Floats, betaincc(a, b, x))


def _symmetric_tail(a: float, x: Floats, outer: NDArray[np.bool_]) -> Floats:
    tail = 0.5 * betaincc(0.5, a, (1.0 - 2.0 * x) ** 2)
    return np.where(outer, tail, 1.0 - tail)


def beta_quantile(a: float, b: float, q: ArrayLike) -> Floats:
    """The x with I_x(a, b) = q."""
    q = np.asarray(q, dtype=np.float64)
    if a != b or a < _SYMMETRIC_FROM:
        return cast(Floats, betaincinv(a, b, q))
    from_mean: Floats = 0.5 * np.sqrt(betainccinv(0.5, a, 2.0 * np.minimum(q, 1.0 - q)))
    return np.where(q <= 0.5, 0.5 - from_mean, 0.5 + from_mean)


_SYMMETRIC_FROM = 1e3  # below it SciPy is right, and θ may be close enough to 0 for ½ - ... to lose it


class GapTable:
    """`gap(a + x, a + r)` for all integers x, r in [0, n]: O(n) to build, a few additions to look up, `RELATIVE_ERROR` as elsewhere.

    ln Γ at the half-integers a + j/2, less a straight line that no gap sees, is split into a multiple of a power of two, whose sums
    are exact in floats and cancel exactly, and a remainder below it that has 50 bits more than the sum needs.
    """

    def __init__(self, a: Fraction, n: int) -> None:
        with working_precision(256 + 3 * (int(a) + n + 1).bit_length()):  # the gaps are about 1/m, of ln Γ about m ln m
            slope = ball(a + Fraction(n, 2)).digamma().mid()
            base = ball(a).lgamma()
            values = [ball(a + Fraction(j, 2)).lgamma() - base - slope * j / 2 for j in range(2 * n + 1)]
            rounded = np.array([float(value) for value in values])
            unit = 2.0 ** (int(np.ceil(np.log2(np.abs(rounded).max() + 1e-300))) - 49)
            self._high = np.rint(rounded / unit) * unit
            self._low = np.array([float(value - arb(high)) for value, high in zip(values, self._high, strict=True)])
        self.n = n

    def __call__(self, x: NDArray[np.integer[Any]], r: NDArray[np.integer[Any]]) -> Floats:
        """The gaps, broadcasting."""
        high = 0.5 * (self._high[2 * x] + self._high[2 * r]) - self._high[x + r]
        low = 0.5 * (self._low[2 * x] + self._low[2 * r]) - self._low[x + r]
        return np.where(x == r, 0.0, high + low)

    def row(self, x: int) -> Floats:
        """The gaps from x to every r in [0, n], several times faster than by index."""
        high = 0.5 * (self._high[2 * x] + self._high[::2]) - self._high[x : x + self.n + 1]
        low = 0.5 * (self._low[2 * x] + self._low[::2]) - self._low[x : x + self.n + 1]
        result: Floats = high + low
        result[x] = 0.0
        return result


# --- enclosures -------------------------------------------------------------------------------------------------------


class _Turn:
    """Whose turn it is to set the working precision; a forked process begins with its own."""

    lock = RLock()

    @classmethod
    def begin(cls) -> None:
        cls.lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Turn.begin)


@contextmanager
def working_precision(bits: int) -> Iterator[None]:
    """FLINT's working precision, which all threads share: one at a time has it, or another would change it under its hands."""
    with _Turn.lock, ctx.workprec(bits):
        yield


def ball(value: Fraction | int) -> arb:
    """The rational number as a ball at the working precision."""
    return arb(fmpq(value.numerator, value.denominator))


def bregman_ball(v: Fraction, u: Fraction) -> arb:
    """A rigorous enclosure of B(v | u) at the working precision, which it may fill badly: see `refine`."""
    if u == v:
        return arb(0)
    base = ball(u)
    return ball(v).lgamma() - base.lgamma() - ball(v - u) * base.digamma()


def gap_ball(u: Fraction, v: Fraction) -> arb:
    """A rigorous enclosure of `gap(u, v)` at the working precision."""
    if u == v:
        return arb(0)
    return (ball(u).lgamma() + ball(v).lgamma()) / 2 - ball((u + v) / 2).lgamma()


def refine(compute: Callable[[], arb], bits: int = 64) -> arb:
    """`compute()` at growing working precision until `bits` relative bits are right; exact zeros are returned as they are.

    A ball that is not finite, or that cannot be told from zero, only means that more precision is needed.
    """
    precision = bits + 64
    while True:
        with working_precision(precision):
            result = compute()
            if result.is_finite() and (result.is_zero() or result.rel_accuracy_bits() >= bits):
                return result
        precision *= 2
        if precision > _MOST_BITS:
            raise ArithmeticError(f"no enclosure to {bits} bits at a working precision of {precision // 2} bits")


_MOST_BITS = 1 << 16
