"""Distances between Dirichlet distributions, right from tiny parameters to 10^15 (docs/research/numerics.md).

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
from scipy.special import expit, gammaln

from discreet.arrays import Floats
from discreet.errors import InvalidInputError
from discreet.model.dirichlet import Beta, Dirichlet
from discreet.numerics.balls import ball, bregman_ball, refine, to_hellinger_ball
from discreet.numerics.gamma import beta_cdf, bregman, digamma_excess, jensen, log_gamma_ratio, to_hellinger
from discreet.numerics.roots import crossing
from discreet.validation import Number, check_parameters, check_positive

Distribution = Dirichlet | Beta
# Beyond this share the total's term costs the difference more than one digit, and an enclosure takes over.
_CANCELS_ABOVE = 0.9
_HALF = Fraction(1, 2)


@dataclass(frozen=True)
class _DirichletPair:
    """Two broadcast arrays of parameters with their differences, which rounding must not have touched."""

    u: Floats
    v: Floats
    step: Floats
    total_u: Floats
    total_v: Floats
    total_step: Floats
    exact: tuple[tuple[Fraction, ...], tuple[Fraction, ...]] | None

    def row(self, index: tuple[int, ...]) -> tuple[list[Fraction], list[Fraction]]:
        if self.exact is not None:
            return list(self.exact[0]), list(self.exact[1])
        return [Fraction(float(c)) for c in self.u[index]], [Fraction(float(c)) for c in self.v[index]]


def _pair(p: Distribution | ArrayLike, q: Distribution | ArrayLike) -> _DirichletPair:
    if isinstance(p, Distribution) and isinstance(q, Distribution):
        _same_categories(p.k, q.k)
        return _DirichletPair(
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
    return _DirichletPair(u, v, v - u, u.sum(axis=-1), v.sum(axis=-1), total_step, None)


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


def _divergence(pair: _DirichletPair, order: Fraction) -> Floats:
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
    """Hellinger distance, in [0, 1]: `sqrt(1 - ∫ sqrt(p q))`. Relative error at most 1e-12.

    Args:
        p, q: Distributions, or arrays of their parameters with categories on the last axis, which broadcast.

    Returns:
        The distance: a float, or an array where parameters are arrays of several distributions.

    Raises:
        InvalidInputError: The numbers of categories differ, or a parameter is not positive.
    """
    return _plain(to_hellinger(_divergence(_pair(p, q), _HALF)))


def hellinger_ball(alpha: list[Fraction], beta: list[Fraction]) -> arb:
    """A rigorous enclosure of the Hellinger distance at the working precision, from exact parameters."""
    if alpha == beta:
        return arb(0)
    return to_hellinger_ball(_divergence_ball(alpha, beta, _HALF))


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

    The absolute error is that of the incomplete beta function, below `5e-14 + 2e-16 sqrt(Σα)` (7e-9 at 10^15). For more than two
    categories there is no such formula: see `total_variation_bounds` and `total_variation_estimate`.
    """
    pair = _pair(p, q)
    if pair.u.shape[-1] != 2:
        raise InvalidInputError(
            f"total_variation is exact for two categories only, got {pair.u.shape[-1]}; "
            "use total_variation_bounds or total_variation_estimate"
        )
    divergence = _divergence(pair, Fraction(1))
    result = np.empty(pair.u.shape[:-1])
    for index in np.ndindex(result.shape):
        result[index] = _beta_total_variation(pair.u[index], pair.v[index], pair.step[index], float(divergence[index]))
    return _plain(result)


def _beta_total_variation(p: Floats, q: Floats, step: Floats, divergence: float) -> float:
    """|P - Q| of the interval between the crossings of the two densities, on the logit scale, measured from the mean of p."""
    if not step.any():
        return 0.0
    (mean, rest), logit = p / p.sum(), float(np.log(p[0]) - np.log(p[1]))
    excess = digamma_excess(np.append(p, p.sum()))
    # ln p/q at the mean of p, where the large parts of the two ln B have cancelled; it grows by -step_i ln(θ_i/mean_i) from there.
    offset = divergence + float(step @ excess[:2] - step.sum() * excess[2])

    def log_ratio(shift: float) -> float:
        return offset + float(step[0] * _log_average(rest, mean, -shift) + step[1] * _log_average(mean, rest, shift))

    if step[0] * step[1] > 0.0:
        turn = float(np.log(step[0] / step[1])) - logit
        crossings = [_crossing(log_ratio, turn, -1.0), _crossing(log_ratio, turn, 1.0)]
    else:
        crossings = [_crossing(log_ratio, 0.0, 0.0)]
    cdf = [_cdf_difference(p, q, logit + shift) for shift in crossings]
    return abs(cdf[-1] - cdf[0] if len(cdf) == 2 else cdf[0])


def _log_average(weight: float, rest: float, shift: float) -> float:
    """ln(rest + weight e^shift) with rest + weight = 1, to full relative accuracy: it is multiplied by as much as 10^15."""
    if (weight <= 0.5 or abs(shift) < 1.0) and shift < _LARGE_EXPONENT:
        return float(np.log1p(weight * np.expm1(shift)))
    return float(np.logaddexp(np.log(rest), np.log(weight) + shift))


def _cdf_difference(p: Floats, q: Floats, logit: float) -> float:
    """P(θ <= x) - Q(θ <= x), by the nearer end of [0, 1]: a float next to 1 could not tell 1 - 1e-15 from 1."""
    if logit <= 0.0:
        return _lower_tail(p[0], p[1], logit) - _lower_tail(q[0], q[1], logit)
    return _lower_tail(q[1], q[0], -logit) - _lower_tail(p[1], p[0], -logit)


def _lower_tail(a: float, b: float, logit: float) -> float:
    if logit > _TINY_LOGIT:
        return float(beta_cdf(a, b, expit(logit)))
    # So close to 0 that (1-θ)^b is 1, and perhaps closer than a float can be: the integral of θ^(a-1) / B(a, b).
    return float(np.exp(a * logit - gammaln(a + 1.0) + log_gamma_ratio(b, a)))


def _crossing(log_ratio: Callable[[float], float], start: float, direction: float) -> float:
    """A zero of the log density ratio: on one side of its turning point, or the only one (direction 0)."""
    width = 1.0
    while width < _WIDEST_LOGIT:
        low, high = (start - width, start + width) if direction == 0.0 else sorted((start, start + direction * width))
        if log_ratio(low) * log_ratio(high) <= 0.0:
            return crossing(log_ratio, low, high, 1e-15, 1e-15)
        width *= 2.0
    return start + (direction or 1.0) * width


_WIDEST_LOGIT = 2.0**40
_TINY_LOGIT = -100.0
_LARGE_EXPONENT = 600.0


def total_variation_bounds(p: Distribution | ArrayLike, q: Distribution | ArrayLike) -> tuple[Floats | float, Floats | float]:
    """Lower and upper bound on the total variation distance from the Hellinger distance: H² <= TV <= H sqrt(2 - H²)."""
    distance = np.asarray(hellinger(p, q))
    return _plain(distance**2), _plain(distance * np.sqrt(2.0 - distance**2))


class DistanceEstimate(NamedTuple):
    """A Monte Carlo estimate with its standard error."""

    value: float
    standard_error: float


def total_variation_estimate(p: Distribution, q: Distribution, size: int, rng: np.random.Generator) -> DistanceEstimate:
    """Monte Carlo estimate of the total variation distance, E_p[(1 - q/p)+], with its standard error."""
    points = p.sample(size, rng)
    share = np.maximum(0.0, -np.expm1(q.logpdf(points) - p.logpdf(points)))
    return DistanceEstimate(float(share.mean()), float(share.std(ddof=1) / np.sqrt(size)))
