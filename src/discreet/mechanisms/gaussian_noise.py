"""Discrete Gaussian noise: P(d) ∝ e^{-d²/2σ²} on the whole numbers (Canonne, Kamath and Steinke 2020), independent by cell.

Gaussian noise that was rounded to the nearest whole number is another, which others publish and which is read alone.
"""

from functools import cached_property
from math import ceil, inf, log

import numpy as np
from attrs import field, frozen
from scipy.special import erf, erfcx, log_ndtr

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.counts.factors import Kernel
from discreet.errors import InvalidInputError, TooLargeError
from discreet.mechanisms.noise import IndependentNoise

_TABLED_DEVIATIONS = 40.0
"""Standard deviations out to which tails are tabled; beyond, they are nearly geometric."""
_MOST_DEVIATIONS = 1000.0
"""The most standard deviations that a noisy count may lie outside of all possible ones: further out logarithms lose digits."""


@frozen
class GaussianNoise(IndependentNoise):
    """Independent discrete Gaussian noise with parameter σ², which is its variance nearly, and never less."""

    cells: int
    variance: float = field(converter=float)

    @property
    def sigma(self) -> float:
        """σ."""
        return float(self.variance**0.5)

    @property
    def curvature(self) -> float:
        """1/σ²."""
        return 1.0 / self.variance

    @property
    def kernel(self) -> Kernel:
        """The log likelihood up to its constant."""
        return Kernel(0.0, self.curvature)

    @property
    def slope(self) -> float:
        """The slope of the log likelihood about where windows end."""
        return self.kernel.slope

    def held(self, raw: "Counts | tuple[int, ...] | list[int]", n: int | None) -> Counts:  # type: ignore[override]
        """The outcomes themselves: how far one is below 0 says how unlikely larger counts are. InvalidInputError for impossible ones."""
        far, most = _MOST_DEVIATIONS * self.sigma, inf if n is None else float(n)
        values = [int(z) for z in raw]
        if any(not -far <= z <= min(most + far, limits.COUNT) for z in values):
            raise InvalidInputError(
                f"a noisy count lies more than {_MOST_DEVIATIONS:,.0f} standard deviations of the noise outside of what is possible; "
                "look at the scale of the noise, and at n"
            )
        return np.array(values, dtype=np.int64)

    @property
    def _last(self) -> int:
        last = ceil(_TABLED_DEVIATIONS * self.sigma) + 8
        if last > limits.WINDOW_CELLS:
            raise TooLargeError(f"tails of discrete Gaussian noise are computed up to a σ of {limits.WINDOW_CELLS // 40:,}")
        return last

    @cached_property
    def _log_norm(self) -> float:
        """ln Σ_d e^{-d²/2σ²}, by whichever of the sum and its Fourier series is short."""
        if self.variance > 1.0:
            j = np.arange(1.0, 9.0)
            return 0.5 * log(2.0 * np.pi * self.variance) + float(np.log1p(2.0 * np.exp(-2.0 * np.pi**2 * self.variance * j * j).sum()))
        j = np.arange(1.0, 50.0)
        return float(np.log1p(2.0 * np.exp(-0.5 * j * j / self.variance).sum()))

    @cached_property
    def _tails(self) -> Floats:
        """ln P(noise >= t) for t from -last to last."""
        last = self._last
        log_p = -0.5 * (np.arange(-last, last + np.ceil(self.sigma) + 8.0) / self.sigma) ** 2  # beyond is e^-40 of the last
        tails = np.logaddexp.accumulate(log_p[::-1])[::-1]
        return np.asarray(tails[: 2 * last + 1] - tails[0])

    def log_factor(self, difference: Floats) -> Floats:
        """ln P(noise = d)."""
        return np.asarray(-0.5 * np.square(difference) / self.variance - self._log_norm)

    def log_at_least(self, t: Floats | float) -> Floats:
        """ln P(noise >= t)."""
        last, whole = self._last, np.ceil(t)
        near = self._tails[np.clip(whole + last, 0, 2 * last).astype(np.int64)]
        far = np.maximum(whole, float(last))
        steep = [np.log(-np.expm1(-(at + 0.5) / self.variance)) for at in (far, float(last))]
        return np.asarray(near - 0.5 * (far - last) * (far + last) / self.variance - (steep[0] - steep[1]))

    def reach(self, cells: int, block: int, tail: float) -> tuple[int, int]:
        """Return the reach of one cell by its tails, or of several by Chernoff's bound: the noise is sub-Gaussian with variance σ²."""
        if cells <= 1:
            return super().reach(cells, block, tail) if cells else (0, 0)
        far = ceil((2.0 * cells * self.variance * -log(tail)) ** 0.5)
        return -far, far

    def simulate(self, size: int, rng: np.random.Generator) -> Counts:
        """Draw by inversion of a table."""
        law = np.exp(self._tails)
        below = 1.0 - law[1:]
        return np.asarray(np.searchsorted(below, rng.random((size, self.cells)), side="right") - self._last, dtype=np.int64)


@frozen
class RoundedGaussianNoise(GaussianNoise):
    """Independent noise that is a normal variable with variance σ², rounded to the nearest whole number."""

    @property
    def is_kernel(self) -> bool:
        """No: an interval of the normal law is no parabola."""
        return False

    def log_factor(self, difference: Floats) -> Floats:
        """ln P(noise = d): of the tails from d - ½ and from d + ½ on, as e^{-x²/2} times what changes slowly, so that nothing cancels."""
        d = np.abs(np.asarray(difference, dtype=np.float64))
        away = np.maximum(d, 1.0)
        near, far = (erfcx((away + half) / (self.sigma * 2.0**0.5)) for half in (-0.5, 0.5))
        rest = -np.expm1(np.log(far / near) - away / self.variance)
        tail = -0.5 * ((away - 0.5) / self.sigma) ** 2 + np.log(0.5 * near * rest)
        return np.asarray(np.where(d > 0.0, tail, np.log(erf(0.5 / (self.sigma * 2.0**0.5)))))

    def log_at_least(self, t: Floats | float) -> Floats:
        """ln P(noise >= t)."""
        return np.asarray(log_ndtr((0.5 - np.ceil(t)) / self.sigma))

    def reach(self, cells: int, block: int, tail: float) -> tuple[int, int]:
        """Return the reach of the noise without rounding, which moves every cell by a half at most."""
        low, high = super().reach(cells, block, tail)
        return (low, high) if cells <= 1 else (low - cells // 2, high + cells // 2)

    def simulate(self, size: int, rng: np.random.Generator) -> Counts:
        """Float draws, one a row."""
        return np.asarray(np.rint(rng.normal(0.0, self.sigma, (size, self.cells))), dtype=np.int64)
