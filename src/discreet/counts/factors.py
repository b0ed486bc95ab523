"""Trees of counts as values: what is observed of a count, and how it splits into parts (docs/proofs/inference.md).

A *count* may be observed any number of times, each time with a likelihood P(z | x), and it may be split in one or several ways into parts
that add up to it, with a Dirichlet prior on the shares of each split's parts. The weight of all counts of a tree is

    root(x_root) · Π_counts Π_observations P(z | x) · Π_splits Γ(A) u!/Γ(A + u) · Π_parts Γ(a_p + x_p)/(Γ(a_p) x_p!),    u = Σ_p x_p .

Likelihoods must be log-concave in x: noise that is, and noise that is followed by rounding, clamping or suppression. The root is a
`SizePrior`: a fixed total is one with a single number of records.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from discreet.arrays import Floats


class Observation(Protocol):
    """An observation of a count: a likelihood whose logarithm is concave."""

    @property
    def bends(self) -> tuple[float, ...]:
        """The counts at which the log likelihood may bend sharply."""

    @property
    def first(self) -> int:
        """The least count that has a likelihood."""

    @property
    def curvature(self) -> float:
        """About how much the slope of the log likelihood changes from one count to the next, a few counts away from its bends."""

    def __call__(self, x: Floats, /) -> Floats:
        """ln P(z | x) for each of these counts."""


class Noise(Protocol):
    """Noise that is added to a count."""

    def log_factor(self, difference: Floats, /) -> Floats:
        """ln P(noise = d); one that is only known up to a constant makes an evidence that is."""


@dataclass(frozen=True)
class Kernel:
    """Noise with the log likelihood `-fall |d| - curvature d²/2`, and `peak` more at 0: what sums over many groups know of it."""

    fall: float = 0.0
    curvature: float = 0.0
    peak: float = 0.0

    @property
    def slope(self) -> float:
        """The fall of the log likelihood a count on either side of the noisy one; where it bends, the fall four deviations away."""
        return float(self.fall or 4.0 * self.curvature**0.5)

    @property
    def deviation(self) -> float:
        """About the standard deviation of the noise."""
        return float(self.curvature**-0.5 if self.curvature else 2.0**0.5 / self.fall)

    def width(self, depth: float) -> float:
        """Return the distance from the noisy count at which the log likelihood has fallen by so much."""
        return float((2.0 * depth / self.curvature) ** 0.5 if self.curvature else depth / self.fall)

    def log_factor(self, difference: Floats) -> Floats:
        """The log likelihood, which is the same for d and -d."""
        straight = -self.fall * np.abs(difference)
        if self.peak:
            straight = straight + self.peak * (difference == 0.0)
        return np.asarray(straight - 0.5 * self.curvature * difference * difference if self.curvature else straight)


@dataclass(frozen=True)
class Noisy:
    """A count with noise added to it was z: the log likelihood may bend there."""

    noise: Noise
    z: int
    curvature: float = 0.0
    first: int = 0

    @property
    def bends(self) -> tuple[float, ...]:
        """The noisy count."""
        return (float(self.z),)

    def __call__(self, x: Floats, /) -> Floats:
        """ln P(noise = z - x)."""
        return self.noise.log_factor(self.z - x)


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
        """The places where the log likelihoods of what was observed may bend."""
        return tuple(bend for one in self.observed for bend in one.bends)

    @property
    def first(self) -> int:
        """The least count that all of what was observed leaves possible."""
        return max((one.first for one in self.observed), default=0)

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
