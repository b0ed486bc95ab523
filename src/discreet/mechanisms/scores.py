"""The exponential mechanism with any bounded metric as its score, for study (DESIGN section 4).

Which: any metric between Dirichlets given as a function of two parameter arrays, such as `total_variation` for two categories, or
any other bounded score. How: the table of all pairwise scores gives the sensitivity at x, `max |m(x, r) - m(x', r)|` over neighbours
x' and candidates r (for a metric the largest distance to a neighbour, by the triangle inequality), and its global maximum or γ-smooth
bound, by enumeration. With diameter B, neighbours' exponents differ by `1/S` times the sensitivity and by γ times the score itself, at
most B, so the smooth scale is 2(1 + γB) S.

There is an exact sampler for the Hellinger score only. So this one never releases, and its guarantee says "none".
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import logsumexp

from discreet.distributions import Beta, Dirichlet
from discreet.enumeration import candidate_count, check_outcomes, simplex_points
from discreet.errors import InternalError, InvalidInputError, RefusedError
from discreet.mechanisms.base import Law, Mechanism
from discreet.numerics import Floats
from discreet.release import NO_GUARANTEE, Guarantee
from discreet.sampling import BitSource
from discreet.validation import Counts, Number, check_moderate

__all__ = ["MetricExponential"]

_MOST_CANDIDATES = 2048
"""Above this many candidates the table of all pairwise distances is not formed."""


@dataclass(frozen=True)
class MetricExponential(Mechanism):
    """`∝ exp(-ε m(x, r) / (2Δ))` for a metric m, with Δ its global sensitivity, or (1 + γB) times its γ-smooth one. For study only."""

    metric: Callable[[Any, Any], Any] | None = None
    diameter: Fraction = Fraction(1)
    calibration: Literal["global", "smooth"] = "global"
    gamma: Fraction = Fraction(1)

    if TYPE_CHECKING:  # numbers of any kind are taken and kept as exact rationals

        def __init__(
            self,
            prior: Dirichlet | Beta,
            n: int,
            epsilon: Number,
            metric: Callable[[Any, Any], Any],
            diameter: Number = 1,
            calibration: Literal["global", "smooth"] = "global",
            gamma: Number = 1,
        ) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.metric):
            raise InvalidInputError("metric must be a function of two arrays of parameters, such as discreet.total_variation")
        if self.calibration not in ("global", "smooth"):
            raise InvalidInputError(f"calibration must be 'global' or 'smooth', got {self.calibration!r}")
        self._set("diameter", check_moderate(self.diameter, "diameter"))
        self._set("gamma", check_moderate(self.gamma, "gamma"))
        check_outcomes(candidate_count(self.n, self.k), "the table of pairwise distances", _MOST_CANDIDATES)

    @property
    def guarantee(self) -> Guarantee:
        """None: nothing can be drawn from it exactly."""
        return NO_GUARANTEE

    @cached_property
    def _table(self) -> tuple[Counts, Floats]:
        """All candidates and their pairwise distances."""
        points = simplex_points(self.n, self.k)
        parameters = self.prior.concentration + points
        distance = np.asarray(self.metric(parameters[:, None, :], parameters[None, :, :]), dtype=np.float64)  # type: ignore[misc]
        if not (np.isfinite(distance) & (distance >= 0.0) & (distance <= float(self.diameter) * (1.0 + 1e-9))).all():
            raise InvalidInputError("metric must give distances from 0 to the declared diameter")
        return points, distance

    @cached_property
    def _scales(self) -> Floats:
        """What the score is divided by, for every candidate as the dataset."""
        points, distance = self._table
        apart = sum((np.abs(column[:, None] - column) for column in points.T), np.zeros(1, dtype=np.int64)) // 2
        local = np.array([np.abs(distance[near == 1] - row).max() for near, row in zip(apart, distance, strict=True)])
        if not local.any():
            raise InvalidInputError("metric must tell some neighbouring datasets apart; it gives all of them the same distances")
        if self.calibration == "global":
            return np.full(len(points), 2.0 * local.max())
        smooth = (local / (1.0 + float(self.gamma) * apart * local)).max(axis=-1)
        return np.asarray(2.0 * (1.0 + float(self.gamma * self.diameter)) * smooth)

    @property
    def is_symmetric(self) -> bool:
        """Not known: the metric may treat categories as it likes."""
        return False

    def log_laws(self, datasets: Counts | None = None) -> Iterator[tuple[Counts, float, Floats]]:
        """Counts, rate and log probabilities of all candidates, for every dataset in turn, or for these."""
        points, distance = self._table
        for counts in points if datasets is None else datasets:
            here = int(np.nonzero((points == counts).all(axis=-1))[0][0])
            rate = float(self.epsilon) / self._scales[here]
            yield counts, float(rate), -rate * distance[here] - logsumexp(-rate * distance[here])

    def _raw_law(self, counts: Counts) -> Law:
        [(_, _, log_probability)] = self.log_laws(counts[None, :])
        return Law(self._table[0], log_probability)

    def _log_prob(self, counts: Counts, raw: Counts) -> Floats:
        if raw.shape[-1] != self.k:
            raise InvalidInputError(f"a raw outcome of this mechanism has {self.k} entries, got {raw.shape[-1]}")
        law = self._raw_law(counts)
        return np.array([np.logaddexp.reduce(law.log_probability[(law.counts == outcome).all(axis=-1)]) for outcome in raw])

    def _simulate(self, counts: Counts, size: int, rng: np.random.Generator) -> Counts:
        law = self._raw_law(counts)
        return law.counts[rng.choice(len(law.counts), size=size, p=law.probability / law.probability.sum())]

    def _check_size(self) -> None:
        """Nothing can be drawn from it exactly, at any size."""
        raise RefusedError("exact sampling is available for the Hellinger score only; MetricExponential is for study")

    def _draw(self, counts: tuple[int, ...], source: BitSource) -> tuple[int, ...]:  # noqa: ARG002
        self._check_size()
        raise InternalError("a mechanism without an exact sampler was drawn from; nothing was released")
