"""Observations that no mechanism makes yet: tails of noise, clamped and suppressed counts, and the discrete Gaussian.

The engines take any likelihood whose logarithm is concave, and are tested with these.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from discreet.arrays import Floats
from discreet.counts.factors import Noise, Noisy, Observation


class TailedNoise(Noise, Protocol):
    """Noise whose tails have a formula."""

    def log_at_least(self, t: Floats, /) -> Floats:
        """ln P(noise >= t)."""
        ...

    def log_at_most(self, t: Floats, /) -> Floats:
        """ln P(noise <= t)."""
        ...


@dataclass(frozen=True)
class _AroundNoisy:
    """What was seen of a count through a noisy one: the log likelihood may bend at the noisy count z."""

    noise: TailedNoise
    z: int
    curvature: float = 0.0

    @property
    def bends(self) -> tuple[float, ...]:
        """The noisy count."""
        return (float(self.z),)


@dataclass(frozen=True)
class AtMost(_AroundNoisy):
    """A noisy count was z or less: a suppressed count, or one that was clamped from below."""

    def __call__(self, x: Floats, /) -> Floats:
        """ln P(noise <= z - x)."""
        return self.noise.log_at_most(self.z - x)


@dataclass(frozen=True)
class AtLeast(_AroundNoisy):
    """A noisy count was z or more: a top-coded count, or one that was clamped from above."""

    def __call__(self, x: Floats, /) -> Floats:
        """ln P(noise >= z - x)."""
        return self.noise.log_at_least(self.z - x)


def clamped(noise: TailedNoise, z: int, low: int, high: int, curvature: float = 0.0) -> Observation:
    """A noisy count, clamped to [low, high], was z: the ends stand for the tails."""
    if z <= low:
        return AtMost(noise, low, curvature)
    return AtLeast(noise, high, curvature) if z >= high else Noisy(noise, z, curvature)


@dataclass(frozen=True)
class DiscreteGaussian:
    """Noise with P(d) proportional to e^{-d²/2σ²} on the whole numbers; its tails are tabled out to 40σ, and nearly geometric beyond."""

    sigma: float

    @property
    def curvature(self) -> float:
        """How much the slope of ln P changes from one whole number to the next."""
        return 1.0 / (self.sigma * self.sigma)

    @cached_property
    def _tails(self) -> Floats:
        """ln P(noise >= t) for t from -last to last."""
        last = self._last
        log_p = -0.5 * (np.arange(-last, last + np.ceil(self.sigma) + 8.0) / self.sigma) ** 2  # beyond is e^-40 of the last
        tails = np.logaddexp.accumulate(log_p[::-1])[::-1]
        return np.asarray(tails[: 2 * last + 1] - tails[0])

    @property
    def _last(self) -> int:
        return int(np.ceil(40.0 * self.sigma)) + 8

    @cached_property
    def _log_norm(self) -> float:
        j = np.arange(1.0, self._last + 1.0)
        return float(np.log1p(2.0 * np.exp(-0.5 * (j / self.sigma) ** 2).sum()))

    def log_factor(self, difference: Floats) -> Floats:
        """ln P(noise = d)."""
        return np.asarray(-0.5 * (difference / self.sigma) ** 2 - self._log_norm)

    def log_at_least(self, t: Floats) -> Floats:
        """ln P(noise >= t)."""
        last, whole = self._last, np.ceil(t)
        near = self._tails[np.clip(whole + last, 0, 2 * last).astype(np.int64)]
        far = np.maximum(whole, float(last))
        steep = [np.log(-np.expm1(-(at + 0.5) / self.sigma**2)) for at in (far, float(last))]
        return np.asarray(near - 0.5 * (far - last) * (far + last) / self.sigma**2 - (steep[0] - steep[1]))

    def log_at_most(self, t: Floats) -> Floats:
        """ln P(noise <= t): the noise is symmetric."""
        return self.log_at_least(-np.floor(t))
