"""The Laplace family: integer noise on the counts (DESIGN section 4).

Counts are integers, so `⌊x + Lap(b)⌋ = x + ⌊Lap(b)⌋`, and the noise is drawn as an integer: no float is involved. Neighbours differ by
1 in two counts, of which k - 1 noised ones can miss one.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import exp, log
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from discreet.distributions import Beta, Dirichlet
from discreet.enumeration import grid_points
from discreet.errors import InvalidInputError
from discreet.mechanisms.base import Law, LossAtoms, Mechanism
from discreet.numerics import Floats
from discreet.sampling import BitSource, floored_laplace, rounded_laplace
from discreet.validation import Counts, Number, shown

__all__ = ["LaplaceDimension", "LaplaceHistogram", "LaplaceZhang", "cut_to_total"]

Rounding = Literal["floor", "nearest"]
_FAR = 2.0**60
"""Simulated noise is cut here, far beyond the largest n, to fit an integer array."""


def cut_to_total(noisy: Counts, n: int) -> Counts:
    """Left to right, each count is cut to what is left of n; one more category takes the rest."""
    left = np.full(len(noisy), n, dtype=np.int64)
    columns = []
    for column in np.clip(noisy, 0, n).T:
        taken = np.minimum(column, left)
        columns.append(taken)
        left = left - taken
    return np.stack([*columns, left], axis=-1)


@dataclass(frozen=True)
class _Laplace(Mechanism):
    """Independent integer Laplace noise on some of the counts."""

    rounding: Rounding = "floor"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rounding not in ("floor", "nearest"):
            raise InvalidInputError(f"rounding must be 'floor' or 'nearest', got {shown(self.rounding)!r}")

    @property
    def scale(self) -> Fraction:
        """Scale b of the Laplace noise."""
        raise NotImplementedError

    @property
    def noised(self) -> int:
        """How many of the counts, from the first, are noised."""
        return self.k - 1

    @property
    def _offset(self) -> float:
        return 0.0 if self.rounding == "floor" else 0.5

    def _log_at_least(self, t: Counts | Floats | float) -> Floats:
        """ln P(noise >= t): the survival function of the Laplace distribution at t, or at t - ½ when rounded to nearest."""
        y = (t - self._offset) / float(self.scale)
        return np.where(y >= 0.0, -y - log(2.0), np.log1p(-0.5 * np.exp(np.minimum(y, 0.0))))

    def _log_noise(self, noise: Counts | Floats) -> Floats:
        """ln P(noise = t). Away from 0 an interval of length 1 lies on one side; rounded to nearest, that of 0 straddles it."""
        b = float(self.scale)
        near = np.where(noise >= 0, noise - self._offset, -noise - 1 + self._offset)
        one_side: Floats = -near / b + np.log(-np.expm1(-1.0 / b)) - np.log(2.0)
        if self.rounding == "floor":
            return one_side
        return np.where(noise == 0, np.log(-np.expm1(-0.5 / b)), one_side)

    def log_clamped(self, x: int, r: Floats) -> Floats:
        """ln of the probability that a count of x, with its noise and clamped to [0, n], is r."""
        result = self._log_noise(r - x)
        result = np.where(r == 0, self._log_at_least(2.0 * self._offset - 1.0 + x), result)  # P(noise <= -x), mirrored
        return np.where(r == self.n, self._log_at_least(float(self.n - x)), result)

    def _log_factor(self, raw: Counts, category: int, x: Floats) -> Floats:
        return self._log_noise(raw[category] - x) if category < self.noised else np.zeros_like(x)

    def _log_prob(self, counts: Counts, raw: Counts) -> Floats:
        if raw.shape[-1] != self.noised:
            raise InvalidInputError(f"a raw outcome of this mechanism has {self.noised} entries, got {raw.shape[-1]}")
        return np.asarray(self._log_noise(raw - counts[: self.noised]).sum(axis=-1))

    def _raw_law(self, counts: Counts) -> Law:
        """Below 0 and above n the likelihood is the same multiple for every dataset: one outcome stands for each tail."""
        outcomes = grid_points(-1, self.n + 1, self.noised)
        values = np.arange(-1, self.n + 2)
        log_probability = np.zeros(len(outcomes))
        for column, x in zip(outcomes.T, counts, strict=False):
            noise = values - x
            table = self._log_noise(noise)
            table[0] = self._log_at_least(2.0 * self._offset - 1.0 - noise[0])  # P(noise <= t), mirrored
            table[-1] = self._log_at_least(noise[-1])
            log_probability += table[column + 1]
        return Law(outcomes, log_probability)

    @property
    def affected(self) -> int:
        """How many noised counts a replacement can change."""
        return min(2, self.noised)

    def _loss_atoms(self) -> LossAtoms:
        """A count moved by 1 shifts the noise by 1: the ratio is the same for all noise from 2 up, and from -2 down."""
        noise = np.arange(-2, 3)
        loss = self._log_noise(noise) - self._log_noise(noise - 1)
        probability = np.exp(self._log_noise(noise))
        probability[0] = exp(self._log_at_least(2.0 * self._offset + 1.0))
        probability[-1] = exp(self._log_at_least(2.0))
        return LossAtoms(1 / self.scale, loss, probability).repeated(self.affected)

    def _simulate(self, counts: Counts, size: int, rng: np.random.Generator) -> Counts:
        return counts[: self.noised] + self._simulated_noise(size, rng)

    def _simulated_noise(self, size: int, rng: np.random.Generator) -> Counts:
        noise = rng.laplace(0.0, float(self.scale), (size, self.noised)) + self._offset
        return np.asarray(np.floor(np.clip(noise, -_FAR, _FAR)).astype(np.int64))

    def _within_arrays(self, raw: tuple[int, ...]) -> Counts:
        """Below 0 and above n a noisy count is clamped, so how far out it is does not matter."""
        return np.array([[min(max(z, -1), self.n + 1) for z in raw]], dtype=np.int64)

    def _can_draw(self, raw: tuple[int, ...]) -> bool:
        return len(raw) == self.noised

    def _draw(self, counts: tuple[int, ...], source: BitSource) -> tuple[int, ...]:
        noise = floored_laplace if self.rounding == "floor" else rounded_laplace
        return tuple(x + noise(source, self.scale) for x in counts[: self.noised])


@dataclass(frozen=True)
class LaplaceZhang(_Laplace):
    """ε-DP by proof: every one of the k counts gets noise of scale 2/ε; the total may differ from n.

    The papers' Algorithm 1 noises k - 1 counts, but their Theorem 4.5 needs all of them noised, and so do we (DESIGN section 9).
    """

    if TYPE_CHECKING:  # numbers of any kind are taken and kept as exact rationals

        def __init__(self, prior: Dirichlet | Beta, n: int, epsilon: Number, rounding: Rounding = "floor") -> None: ...

    names: ClassVar[tuple[str, ...]] = ("LSZhang",)

    @property
    def scale(self) -> Fraction:
        """2/ε: a replacement changes two counts by 1."""
        return 2 / self.epsilon

    @property
    def noised(self) -> int:
        """All of them."""
        return self.k

    def report(self, raw: Counts) -> Counts:
        """Each count clamped to [0, n]."""
        return np.clip(raw, 0, self.n)


@dataclass(frozen=True)
class _ConsistentLaplace(_Laplace):
    """Noise on the first k - 1 counts; the last category takes the rest."""

    consistent: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.consistent, bool):
            raise InvalidInputError(f"consistent must be True or False, got {shown(self.consistent)!r}")

    def _log_report(self, x: int, r: Floats) -> Floats:
        return self.log_clamped(x, r)

    def report(self, raw: Counts) -> Counts:
        """Left to right, each count cut to what is left of n; or, not `consistent`, the papers' literal formula."""
        cut = cut_to_total(raw, self.n)
        return cut if self.consistent else np.concatenate([np.clip(raw, 0, self.n), cut[:, -1:]], axis=-1)


@dataclass(frozen=True)
class LaplaceDimension(_ConsistentLaplace):
    """ε-DP by proof, with more noise than it needs: scale k/ε on the first k - 1 counts.

    A replacement changes at most two noised counts by 1 (one if k = 2), so what it really loses is 2ε/k (ε/2 if k = 2).
    """

    if TYPE_CHECKING:  # numbers of any kind are taken and kept as exact rationals

        def __init__(
            self, prior: Dirichlet | Beta, n: int, epsilon: Number, rounding: Rounding = "floor", consistent: bool = True
        ) -> None: ...

    names: ClassVar[tuple[str, ...]] = ("LSDim", "lapMech")

    @property
    def scale(self) -> Fraction:
        """k/ε, the papers' sensitivity in proportion to the dimension."""
        return self.k / self.epsilon


@dataclass(frozen=True)
class LaplaceHistogram(_ConsistentLaplace):
    """ε-DP by proof: noise of scale 1/ε (k = 2) or 2/ε (k > 2) on the first k - 1 counts."""

    if TYPE_CHECKING:  # numbers of any kind are taken and kept as exact rationals

        def __init__(
            self, prior: Dirichlet | Beta, n: int, epsilon: Number, rounding: Rounding = "floor", consistent: bool = True
        ) -> None: ...

    names: ClassVar[tuple[str, ...]] = ("LSHist", "ilapMech")

    @property
    def scale(self) -> Fraction:
        """The number of noised counts that a replacement can change, over ε."""
        return self.affected / self.epsilon
