"""What is known about a number that two probabilities make: their difference, ratio and odds ratio, as distributions."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from discreet.arrays import Floats
from discreet.errors import InvalidInputError
from discreet.inference.pickles import FieldsAlone
from discreet.model.dirichlet import equal_tailed
from discreet.numerics.roots import crossing
from discreet.text import chance, evenly, html_fields, html_table, plain
from discreet.validation import check_levels

_STEP = 1e-15
"""How closely quantiles are searched for, on the scale of the difference or of the logarithm of a ratio."""
_UNFOLLOWED = 1e-14
"""Differences of probabilities that a search does not follow."""


@dataclass(frozen=True, eq=False)
class Quantity(FieldsAlone):
    """What is known about one number that two probabilities make: their difference, ratio or odds ratio."""

    name: str
    below: Callable[[float], float]
    """The probability of being at most this; of a ratio's logarithm."""
    ends: tuple[float, float]
    """What quantiles lie between; of a ratio's logarithm."""
    moments: Callable[[], tuple[float, float]]
    """Mean and standard deviation, computed when they are asked for."""
    logarithmic: bool = True

    @cached_property
    def _known(self) -> tuple[float, float]:
        return self.moments()

    def mean(self) -> float:
        """Expected value. It is infinite if the denominator is so likely to be nearly 0 that there is none."""
        return self._known[0]

    def std(self) -> float:
        """Standard deviation; infinite where the mean or the variance is."""
        return self._known[1]

    def median(self) -> float:
        """The value that is as likely to be exceeded as not."""
        return float(self.ppf(0.5))

    def cdf(self, x: ArrayLike) -> Floats:
        """Probability of being at most x."""
        points = np.asarray(x, dtype=np.float64)
        if np.isnan(points).any():
            raise InvalidInputError("x must be numbers, got NaN")
        return np.array([self._at_most(point) for point in points.ravel().tolist()]).reshape(points.shape)

    def _at_most(self, x: float) -> float:
        lowest, highest = (0.0, np.inf) if self.logarithmic else (-1.0, 1.0)
        if x <= lowest or x >= highest:
            return float(x >= highest)
        return self.below(float(np.log(x)) if self.logarithmic else x)

    def ppf(self, q: ArrayLike) -> Floats:
        """Quantile: the value with probability q at or below it."""
        levels = check_levels(q)
        inner = np.array([self._quantile(level) for level in levels.ravel().tolist()]).reshape(levels.shape)
        with np.errstate(over="ignore"):
            return np.exp(inner) if self.logarithmic else inner

    def _quantile(self, q: float) -> float:
        low, high = self.ends
        if q in (0.0, 1.0):
            return (-np.inf if q == 0.0 else np.inf) if self.logarithmic else 2.0 * q - 1.0
        if self.below(low) >= q:
            return low
        if self.below(high) <= q:
            return high

        def excess(x: float) -> float:
            found = self.below(x) - q
            return found if abs(found) > _UNFOLLOWED else 0.0

        return crossing(excess, low, high, _STEP)

    def interval(self, mass: float = 0.95) -> tuple[float, float]:
        """The equal-tailed interval that holds this much probability."""
        return equal_tailed(self.ppf, mass)

    def _shown(self) -> tuple[str, str]:
        """The median, and the interval with 95 %, in words."""
        return evenly([(self.median(), *self.interval(0.95))], ratios=self.logarithmic)[0]

    def _repr_html_(self) -> str:
        return html_fields(self.name, dict(zip(("median", "95 % interval"), self._shown(), strict=True)))

    def __repr__(self) -> str:
        median, ends = self._shown()
        return f"{self.name}: median {median}, 95 % from {ends}"


@dataclass(frozen=True, eq=False)
class Contrast(FieldsAlone):
    """What is known about how two probabilities θ₁ and θ₂ differ."""

    names: tuple[Hashable, Hashable]
    difference: Quantity
    """θ₁ - θ₂."""
    ratio: Quantity
    """θ₁/θ₂."""
    odds_ratio: Quantity
    """The odds θ₁/(1-θ₁) divided by θ₂/(1-θ₂)."""
    probability: float
    """That the first is larger."""
    error: float
    """About how much probabilities, those of intervals among them, can be off."""

    @property
    def _quantities(self) -> Sequence[Quantity]:
        return self.difference, self.ratio, self.odds_ratio

    @property
    def _title(self) -> str:
        return f"{plain(self.names[0])} against {plain(self.names[1])}"

    def __repr__(self) -> str:
        return f"Contrast({self._title}; {'; '.join(map(repr, self._quantities))}; the first is larger: {chance(self.probability)})"

    def _repr_html_(self) -> str:
        rows = ((quantity.name, *quantity._shown()) for quantity in self._quantities)
        caption = f"{self._title}: the first is larger with probability {chance(self.probability)}"
        return html_table(caption, ("contrast", "median", "95 % interval"), rows)
