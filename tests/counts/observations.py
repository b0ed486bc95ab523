"""Observations that no mechanism makes yet: tails of noise, and clamped counts.

The engines take any likelihood whose logarithm is concave, and are tested with these.
"""

from dataclasses import dataclass
from typing import Protocol

from discreet.arrays import Floats
from discreet.counts.factors import Noise, Noisy, Observation
from discreet.mechanisms.gaussian_noise import GaussianNoise


class TailedNoise(Noise, Protocol):
    """Noise whose tails have a formula."""

    def log_at_least(self, t: Floats, /) -> Floats:
        """ln P(noise >= t)."""
        ...

    def log_at_most(self, t: Floats, /) -> Floats:
        """ln P(noise <= t)."""
        ...


def gaussian(sigma: float) -> GaussianNoise:
    """Discrete Gaussian noise on one count."""
    return GaussianNoise(1, sigma * sigma)


@dataclass(frozen=True)
class _AroundNoisy:
    """What was seen of a count through a noisy one: the log likelihood may bend at the noisy count z."""

    noise: TailedNoise
    z: int
    curvature: float = 0.0
    first: int = 0

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
