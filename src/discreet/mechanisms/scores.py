"""Other exponential mechanisms: calibrated ones, and those with any bounded metric as their score (docs/explain/mechanisms.md).

Calibration has less noise at no cost in privacy: the largest exponent whose certified loss is still within ε. A proof must cover every
prior and n; the exact loss of this one is smaller, so the noise can be.

As a score, for study, a metric is a function of two arrays of Dirichlet parameters, such as `total_variation` for two categories; any other
bounded score will do. The table of all pairwise scores gives the sensitivity at x, `max |m(x, r) - m(x', r)|` over neighbours
x' and candidates r (for a metric the largest distance to a neighbour, by the triangle inequality), and its global maximum or γ-smooth
bound, by enumeration. With diameter B, neighbours' exponents differ by `1/S` times the sensitivity and by γ times the score itself, at
most B, so the smooth scale is 2(1 + γB) S. There is an exact sampler for the Hellinger score only. So such a mechanism never releases, and
its guarantee says "none".
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Literal, TypeVar

import numpy as np
from attrs import define, evolve, field
from scipy.special import logsumexp

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.errors import InvalidInputError, RefusedError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.hellinger import Exponential, certified_loss
from discreet.mechanisms.laws import Law
from discreet.mechanisms.losses import check_paired
from discreet.model.datasets import candidate_count, check_outcomes, simplex_points
from discreet.record.guarantee import NO_GUARANTEE, Guarantee
from discreet.validation import Number, check_moderate

ExponentialT = TypeVar("ExponentialT", bound=Exponential)

_CLOSE_ENOUGH = 0.9995
_AIM = 0.9998
_FACTOR_BITS = 24
_MOST_TRIALS = 40
CALIBRATION_PASSES = 6
"""The number of losses that a calibration computes as a rule."""


def Calibrated(mechanism: ExponentialT) -> ExponentialT:  # noqa: N802  named like the mechanisms that it stands beside
    """A mechanism with its exponent multiplied by the largest `factor` whose certified loss is at most ε: ε by computation.

    The factor is a function of public parameters alone. Costs a few evaluations of the loss: O(n²) for two categories. Raises
    InvalidInputError for what is not a Hellinger mechanism or has a factor already, and TooLargeError where the loss cannot be computed.
    """
    if not isinstance(mechanism, Exponential) or mechanism.factor != 1:
        kind = "a calibrated " if isinstance(mechanism, Exponential) else ""
        raise InvalidInputError(f"Calibrated takes a Hellinger mechanism, not {kind}{type(mechanism).__name__}")
    if mechanism.report != mechanism._own_report():  # the best report depends on the factor
        raise InvalidInputError("Calibrated takes a mechanism with its own report: calibrate first, then remap")
    return evolve(mechanism, factor=_calibration(mechanism))


@lru_cache(maxsize=64)
def _calibration(mechanism: Exponential) -> Fraction:
    """A factor whose certified loss is between `_CLOSE_ENOUGH` and 1 times ε.

    The loss is nearly proportional to the factor, so each guess rescales the last, kept between the best that was safe and the
    lowest that was not. It need not be monotone: only the certified loss of the factor that is returned matters.
    """
    check_paired(mechanism.space.total, mechanism.k, CALIBRATION_PASSES)
    target = float(mechanism.epsilon)
    safe: Fraction | None = None
    unsafe: Fraction | None = None
    factor = Fraction(1)
    for _ in range(_MOST_TRIALS):
        loss = certified_loss(evolve(mechanism, factor=factor))
        if Fraction(loss.bound) <= mechanism.epsilon:
            safe = factor
            if loss.bound >= _CLOSE_ENOUGH * target:
                break
        else:
            unsafe = factor
        low = safe or Fraction(0)
        factor = Fraction(round(float(factor) * _AIM * target / loss.bound * 2**_FACTOR_BITS), 2**_FACTOR_BITS)
        if factor <= low or (unsafe is not None and factor >= unsafe):
            factor = (low + unsafe) / 2 if unsafe is not None else 2 * low
    if safe is None:
        raise RefusedError("no factor with a certified loss within epsilon was found")
    return safe


def _check_metric(_: object, __: object, value: Any) -> None:
    if not callable(value):
        raise InvalidInputError("metric must be a function of two arrays of parameters, such as discreet.total_variation")


def _check_calibration(_: object, __: object, value: object) -> None:
    if value not in ("global", "smooth"):
        raise InvalidInputError(f"calibration must be 'global' or 'smooth', got {value!r}")


def _diameter(value: Number) -> Fraction:
    return check_moderate(value, "diameter")


def _gamma(value: Number) -> Fraction:
    return check_moderate(value, "gamma")


@define(frozen=True, slots=False, repr=False)
class MetricExponential(Mechanism[tuple[int, ...]]):
    """`∝ exp(-ε m(x, r) / (2Δ))` for a metric m, with Δ its global sensitivity, or (1 + γB) times its γ-smooth one. For study only."""

    metric: Callable[[Any, Any], Any] = field(default=None, validator=_check_metric)
    diameter: Fraction = field(default=Fraction(1), converter=_diameter)
    calibration: Literal["global", "smooth"] = field(default="global", validator=_check_calibration)
    gamma: Fraction = field(default=Fraction(1), converter=_gamma)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        check_outcomes(candidate_count(self.space.total, self.k), "the table of pairwise distances", limits.SCORE_CANDIDATES)

    @property
    def _claim(self) -> Guarantee:
        return NO_GUARANTEE

    @cached_property
    def _table(self) -> tuple[Counts, Floats]:
        points = simplex_points(self.space.total, self.k)
        parameters = self.prior.concentration + points
        distance = np.asarray(self.metric(parameters[:, None, :], parameters[None, :, :]), dtype=np.float64)
        if not (np.isfinite(distance) & (distance >= 0.0) & (distance <= float(self.diameter) * (1.0 + 1e-9))).all():
            raise InvalidInputError("metric must give distances from 0 to the declared diameter")
        return points, distance

    @cached_property
    def _scales(self) -> Floats:
        """Return the divisor of the score, for every candidate as the dataset."""
        points, distance = self._table
        apart = self.space.relation.distance(points[:, None, :], points)
        local = np.array([np.abs(distance[near == 1] - row).max() for near, row in zip(apart, distance, strict=True)])
        if not local.any():
            raise InvalidInputError("metric must tell some neighbouring datasets apart; it gives all of them the same distances")
        if self.calibration == "global":
            return np.full(len(points), 2.0 * local.max())
        smooth = (local / (1.0 + float(self.gamma) * apart * local)).max(axis=-1)
        return np.asarray(2.0 * (1.0 + float(self.gamma * self.diameter)) * smooth)

    def _outcomes(self) -> Counts:
        return self._table[0]

    def _raw_law(self, counts: Counts) -> Law:
        points, distance = self._table
        here = int(np.nonzero((points == counts).all(axis=-1))[0][0])
        exponent = -float(self.epsilon) / self._scales[here] * distance[here]
        return Law(points, exponent - logsumexp(exponent))
