"""Trees of counts as values: what is observed of a count, and how it splits into parts (docs/proofs/inference.md).

A *count* may be observed any number of times, each time with a likelihood P(z | x), and it may be split in one or several ways into parts
that add up to it, with a Dirichlet prior on the shares of each split's parts. The weight of all counts of a tree is

    root(x_root) · Π_counts Π_observations P(z | x) · Π_splits Γ(A) u!/Γ(A + u) · Π_parts Γ(a_p + x_p)/(Γ(a_p) x_p!),    u = Σ_p x_p .

Likelihoods must be log-concave in x: noise that is, and noise that is followed by rounding, clamping or suppression. The root is a
`SizePrior`: a fixed total is one with a single number of records.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from discreet.arrays import Floats


class Observation(Protocol):
    """What was seen of a count: a likelihood whose logarithm is concave."""

    @property
    def bends(self) -> tuple[float, ...]:
        """The counts at which the log likelihood may bend sharply."""
        ...

    @property
    def curvature(self) -> float:
        """About how much the slope of the log likelihood changes from one count to the next, a few counts away from its bends."""
        ...

    def __call__(self, x: Floats, /) -> Floats:
        """ln P(z | x) for each of these counts."""
        ...


class Noise(Protocol):
    """Noise that is added to a count."""

    def log_factor(self, difference: Floats, /) -> Floats:
        """ln P(noise = d); one that is only known up to a constant makes an evidence that is."""
        ...


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

    noise: Any
    z: int
    curvature: float = 0.0

    @property
    def bends(self) -> tuple[float, ...]:
        """The noisy count."""
        return (float(self.z),)


@dataclass(frozen=True)
class Noisy(_AroundNoisy):
    """A count with noise added to it was z."""

    noise: Noise

    def __call__(self, x: Floats, /) -> Floats:
        """ln P(noise = z - x)."""
        return self.noise.log_factor(self.z - x)


@dataclass(frozen=True)
class AtMost(_AroundNoisy):
    """A noisy count was z or less: a suppressed count, or one that was clamped from below."""

    noise: TailedNoise

    def __call__(self, x: Floats, /) -> Floats:
        """ln P(noise <= z - x)."""
        return self.noise.log_at_most(self.z - x)


@dataclass(frozen=True)
class AtLeast(_AroundNoisy):
    """A noisy count was z or more: a top-coded count, or one that was clamped from above."""

    noise: TailedNoise

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


@dataclass(frozen=True, eq=False)
class Split:
    """Parts that add up to a count, and the Dirichlet prior of their shares."""

    parts: "Sequence[Count]"
    a: Floats


@dataclass(frozen=True, eq=False)
class Count:
    """A count: what was observed of it, and how it splits."""

    observed: Sequence[Observation] = ()
    splits: Sequence[Split] = ()

    @property
    def bends(self) -> tuple[float, ...]:
        """Where the log likelihoods of what was observed may bend."""
        return tuple(bend for one in self.observed for bend in one.bends)

    @property
    def curvature(self) -> float:
        """About how much the slope of all of them together changes from one count to the next."""
        return sum(one.curvature for one in self.observed)

    def log_likelihood(self, x: Floats) -> Floats:
        """ln Π P(z | x) over what was observed of this count itself."""
        found = np.zeros_like(x)
        for one in self.observed:
            found = found + one(x)
        return found
