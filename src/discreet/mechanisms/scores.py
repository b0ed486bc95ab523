"""The exponential mechanism with any bounded metric as its score, for study (docs/explain/mechanisms.md).

The metric is a function of two arrays of Dirichlet parameters, such as `total_variation` for two categories; any other bounded score will
do. The table of all pairwise scores gives the sensitivity at x, `max |m(x, r) - m(x', r)|` over neighbours
x' and candidates r (for a metric the largest distance to a neighbour, by the triangle inequality), and its global maximum or γ-smooth
bound, by enumeration. With diameter B, neighbours' exponents differ by `1/S` times the sensitivity and by γ times the score itself, at
most B, so the smooth scale is 2(1 + γB) S.

There is an exact sampler for the Hellinger score only. So this one never releases, and its guarantee says "none".
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from attrs import define, field
from scipy.special import logsumexp

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.errors import InvalidInputError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.laws import Law
from discreet.model.datasets import candidate_count, check_outcomes, simplex_points
from discreet.record.guarantee import NO_GUARANTEE, Guarantee
from discreet.validation import Number, check_moderate


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
