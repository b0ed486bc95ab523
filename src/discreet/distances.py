"""Distances between Dirichlet distributions, right from tiny parameters to 10^15 (DESIGN section 2).

Every function takes two `Dirichlet` or `Beta` objects, or two arrays of parameters with the categories on the last axis, which
broadcast. Objects are compared through their exact parameters; arrays at the exact value of their floats.

All but total variation are Rényi divergences in disguise: `D_a = [Σ_i J_a(α_i, β_i) - J_a(Σα, Σβ)] / |1 - a|` with J_a a Jensen
gap of ln Γ. With equal totals the last term vanishes and the relative error is that of `numerics`. With unequal totals the
subtraction may cancel: rows where it would are computed by enclosure instead, so the answer is right there too, only slower.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, cast

import numpy as np
from flint import arb
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import betainc, digamma, expit

from discreet.distributions import Beta, Dirichlet
from discreet.errors import InvalidInputError
from discreet.numerics import Floats, ball, bregman, bregman_ball, jensen, refine
from discreet.validation import Number, check_parameters, check_positive

__all__ = [
    "Estimate",
    "chi2",
    "hellinger",
    "hellinger_ball",
    "kl",
    "renyi",
    "total_variation",
    "total_variation_bounds",
    "total_variation_estimate",
]

Distribution = Dirichlet | Beta
# Beyond this share the total's term costs the difference more than one digit, and an enclosure takes over.
_CANCELS_ABOVE = 0.9
_HALF = Fraction(1, 2)


@dataclass(frozen=True)
class _Pair:
    """Two broadcast arrays of parameters with their differences, which rounding must not have touched."""

    u: Floats
    v: Floats
    step: Floats
    total_u: Floats
    total_v: Floats
    total_step: Floats
    exact: tuple[tuple[Fraction, ...], tuple[Fraction, ...]] | None

    def row(self, index: tuple[int, ...]) -> tuple[list[Fraction], list[Fraction]]:
        """The exact parameters of one pair."""
        if self.exact is not None:
            return list(self.exact[0]), list(self.exact[1])
        return [Fraction(float(c)) for c in self.u[index]], [Fraction(float(c)) for c in self.v[index]]


def _pair(p: Distribution | ArrayLike, q: Distribution | ArrayLike) -> _Pair:
    if isinstance(p, Distribution) and isinstance(q, Distribution):
        _same_categories(p.k, q.k)
        return _Pair(
            p.concentration,
            q.concentration,
            np.array([float(b - a) for a, b in zip(p.exact, q.exact, strict=True)]),
            np.array(float(p.exact_total)),
            np.array(float(q.exact_total)),
            np.array(float(q.exact_total - p.exact_total)),
            (p.exact, q.exact),
        )
    u = p.concentration if isinstance(p, Distribution) else check_parameters(p, "p")
    v = q.concentration if isinstance(q, Distribution) else check_parameters(q, "q")
    _same_categories(u.shape[-1], v.shape[-1])
    try:
        u, v = np.broadcast_arrays(u, v)
    except ValueError:
        raise InvalidInputError(f"p and q must broadcast against each other, got shapes {u.shape} and {v.shape}") from None
    total_step = _exact_sum(np.concatenate([v, -u], axis=-1))
    return _Pair(u, v, v - u, u.sum(axis=-1), v.sum(axis=-1), total_step, None)


def _same_categories(k: int, other: int) -> None:
    if k != other:
        raise InvalidInputError(f"p and q must have the same number of categories, got {k} and {other}")


def _exact_sum(terms: Floats) -> Floats:
    """Sum over the last axis in twice the working precision (Knuth's two-sum), so that equal totals differ by next to nothing."""
    total, error = np.zeros(terms.shape[:-1]), np.zeros(terms.shape[:-1])
    for term in np.moveaxis(terms, -1, 0):
        new = total + term
        virtual = new - total
        error += (total - (new - virtual)) + (term - virtual)
        total = new
    return total + error


def _divergence(pair: _Pair, order: Fraction) -> Floats:
    """Σ_i J(α_i, β_i) - J(Σα, Σβ): for order 1 the Bregman divergence, otherwise the Jensen gap."""
    terms = _terms(pair.u, pair.v, pair.step, order).sum(axis=-1)
    total = _terms(pair.total_u, pair.total_v, pair.total_step, order)
    result = np.where(np.isfinite(terms), terms - np.where(np.isfinite(total), total, 0.0), np.inf)
    doubtful = np.isfinite(terms) & (total > _CANCELS_ABOVE * terms)
    for index in zip(*np.nonzero(np.atleast_1d(doubtful)), strict=True):
        where = index if doubtful.ndim else ()
        alpha, beta = pair.row(where)
        result[where] = float(refine(lambda a=alpha, b=beta: _divergence_ball(a, b, order)))  # type: ignore[misc]
    return cast(Floats, result)


def _terms(u: Floats, v: Floats, step: Floats, order: Fraction) -> Floats:
    return bregman(v, u, step) if order == 1 else jensen(u, v, float(order), step)


def _divergence_ball(alpha: list[Fraction], beta: list[Fraction], order: Fraction) -> arb:
    terms = sum((_term_ball(a, b, order) for a, b in zip(alpha, beta, strict=True)), arb(0))
    return terms - _term_ball(sum(alpha, Fraction(0)), sum(beta, Fraction(0)), order)


def _term_ball(u: Fraction, v: Fraction, order: Fraction) -> arb:
    if u == v:
        return arb(0)
    if order == 1:
        return bregman_ball(v, u)
    mean = order * u + (1 - order) * v
    jensen_gap = ball(order) * ball(u).lgamma() + ball(1 - order) * ball(v).lgamma() - ball(mean).lgamma()
    return jensen_gap if order < 1 else -jensen_gap


def _plain(values: Floats) -> Floats | float:
    return values if np.ndim(values) else float(values)


def hellinger(p: Distribution | ArrayLike, q: Distribution | ArrayLike) -> Floats | float:
    """Hellinger distance, in [0, 1]: `sqrt(1 - ∫ sqrt(p q))`. Relative error at most 1e-12."""
    return _plain(np.sqrt(-np.expm1(-_divergence(_pair(p, q), _HALF))))


def hellinger_ball(alpha: list[Fraction], beta: list[Fraction]) -> arb:
    """A rigorous enclosure of the Hellinger distance at the working precision, from exact parameters."""
    if alpha == beta:
        return arb(0)
    return (-(-_divergence_ball(alpha, beta, _HALF)).expm1()).sqrt()


def kl(p: Distribution | ArrayLike, q: Distribution | ArrayLike) -> Floats | float:
    """Kullback-Leibler divergence KL(p ‖ q) = ∫ p ln(p/q), in nats. `kl(q, p)` is the other direction."""
    return _plain(_divergence(_pair(p, q), Fraction(1)))


def renyi(p: Distribution | ArrayLike, q: Distribution | ArrayLike, order: Number) -> Floats | float:
    """Rényi divergence D_order(p ‖ q) = ln ∫ p^order q^(1-order) / (order - 1), in nats; order 1 is `kl`. May be infinite."""
    a = check_positive(order, "order")
    scale = 1.0 if a == 1 else float(abs(1 - a))
    return _plain(_divergence(_pair(p, q), a) / scale)


def chi2(p: Distribution | ArrayLike, q: Distribution | ArrayLike) -> Floats | float:
    """Pearson's χ²(p ‖ q) = ∫ (p - q)²/q = e^{D_2} - 1. Infinite where 2p - q has a parameter that is not positive."""
    with np.errstate(over="ignore"):
        return _plain(np.expm1(_divergence(_pair(p, q), Fraction(2))))


# --- total variation --------------------------------------------------------------------------------------------------


def total_variation(p: Distribution | ArrayLike, q: Distribution | ArrayLike) -> Floats | float:
    """Total variation distance between two Betas: the densities cross at most twice, so it is a difference of two CDFs.

    The absolute error is about 1e-11: that of the incomplete beta function. For more than two categories there is no such formula:
    see `total_variation_bounds` and `total_variation_estimate`.
    """
    pair = _pair(p, q)
    if pair.u.shape[-1] != 2:
        raise InvalidInputError(
            f"total_variation is exact for two categories only, got {pair.u.shape[-1]}; "
            "use total_variation_bounds or total_variation_estimate"
        )
    result = np.empty(pair.u.shape[:-1])
    for index in np.ndindex(result.shape):
        result[index] = _beta_total_variation(pair.u[index], pair.v[index], pair.step[index])
    return _plain(result)


def _beta_total_variation(p: Floats, q: Floats, step: Floats) -> float:
    """|P - Q| of the interval between the crossings of the two densities, on the logit scale."""
    power = -step  # ln p(θ)/q(θ) = constant + power_0 ln θ + power_1 ln(1-θ)
    if not power.any():
        return 0.0

    def log_ratio(logit: float) -> float:
        return constant - float(power[0] * np.logaddexp(0.0, -logit) + power[1] * np.logaddexp(0.0, logit))

    constant = float(_log_beta_difference(p, q, step))
    if power[0] * power[1] > 0.0:
        turn = float(np.log(power[0] / power[1]))
        crossings = [_crossing(log_ratio, turn, -1.0), _crossing(log_ratio, turn, 1.0)]
    else:
        crossings = [_crossing(log_ratio, float(digamma(p[0]) - digamma(p[1])), 0.0)]
    cdf = [betainc(p[0], p[1], expit(c)) - betainc(q[0], q[1], expit(c)) for c in crossings]
    return abs(float(cdf[-1] - cdf[0] if len(cdf) == 2 else cdf[0]))


def _log_beta_difference(p: Floats, q: Floats, step: Floats) -> float:
    """ln B(q) - ln B(p), through divergences so that close parameters do not cancel."""
    parts = bregman(q, p, step) + step * digamma(p)
    total = bregman(q.sum(), p.sum(), step.sum()) + step.sum() * digamma(p.sum())
    return float(parts.sum() - total)


def _crossing(log_ratio: Callable[[float], float], start: float, direction: float) -> float:
    """A zero of the log density ratio: on one side of its turning point, or the only one (direction 0)."""
    width = 1.0
    while width < _WIDEST_LOGIT:
        low, high = (start - width, start + width) if direction == 0.0 else sorted((start, start + direction * width))
        if log_ratio(low) * log_ratio(high) <= 0.0:
            return float(brentq(log_ratio, low, high, xtol=1e-15, rtol=1e-15))
        width *= 2.0
    return start + (direction or 1.0) * width


_WIDEST_LOGIT = 2.0**40


def total_variation_bounds(p: Distribution | ArrayLike, q: Distribution | ArrayLike) -> tuple[Floats | float, Floats | float]:
    """Lower and upper bound on the total variation distance from the Hellinger distance: H² <= TV <= H sqrt(2 - H²)."""
    distance = np.asarray(hellinger(p, q))
    return _plain(distance**2), _plain(distance * np.sqrt(2.0 - distance**2))


class Estimate(NamedTuple):
    """A Monte Carlo estimate with its standard error."""

    value: float
    standard_error: float


def total_variation_estimate(p: Distribution, q: Distribution, size: int, rng: np.random.Generator) -> Estimate:
    """Monte Carlo estimate of the total variation distance, E_p[(1 - q/p)+], with its standard error."""
    points = p.sample(size, rng)
    share = np.maximum(0.0, -np.expm1(q.logpdf(points) - p.logpdf(points)))
    return Estimate(float(share.mean()), float(share.std(ddof=1) / np.sqrt(size)))
