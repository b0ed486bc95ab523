"""The Laplace family: integer noise on the counts (docs/explain/mechanisms.md).

Counts are integers, so `⌊x + Lap(b)⌋ = x + ⌊Lap(b)⌋`, and the noise is drawn as an integer: no float is involved. Neighbours differ by
1 in two counts, of which k - 1 noised ones can miss one.
"""

from abc import abstractmethod
from fractions import Fraction
from math import exp, expm1, log
from typing import Any, ClassVar, Literal

import numpy as np
from attrs import define, field, frozen

from discreet.arrays import Counts, Floats
from discreet.counts.factors import Kernel
from discreet.errors import InvalidInputError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.laws import Law, LossAtoms
from discreet.mechanisms.noise import IndependentNoise
from discreet.mechanisms.reports import Cut, Report
from discreet.mechanisms.samplers import Noise
from discreet.model.datasets import grid_points
from discreet.record.guarantee import Guarantee
from discreet.sampling import BitSource, SeededBits
from discreet.sampling.bulk import Integers, floored_laplace_array, rounded_laplace_array
from discreet.sampling.noise import check_fits, noise_seconds
from discreet.validation import shown

Rounding = Literal["floor", "nearest"]
_LARGEST_SIMULATED = 2.0**60
"""Simulated noise is cut here, far beyond the largest n, to fit an integer array."""


@frozen
class LaplaceNoise(IndependentNoise):
    """Independent integer noise: the floor of a Laplace variable, or the integer nearest to it."""

    scale: Fraction
    """Scale b of the Laplace variable."""
    rounding: Rounding
    cells: int

    @property
    def slope(self) -> float:
        """1/b."""
        return float(1 / self.scale)

    @property
    def kernel(self) -> Kernel:
        """The kernel of noise that is rounded to the nearest whole number; that of the floor differs only in where its middle lies."""
        b = float(self.scale)
        line = 0.5 / b + log(-expm1(-1.0 / b)) - log(2.0)
        return Kernel(self.slope, 0.0, log(-expm1(-0.5 / b)) - line if self.rounding == "nearest" else 0.0)

    @property
    def is_kernel(self) -> bool:
        """Return whether it is symmetric."""
        return self.rounding == "nearest"

    @property
    def offset(self) -> float:
        """The number added before the floor is taken."""
        return 0.0 if self.rounding == "floor" else 0.5

    def log_factor(self, difference: Floats) -> Floats:
        """ln P(noise = t). Away from 0 an interval of length 1 lies on one side; rounded to nearest, that of 0 straddles it."""
        b = float(self.scale)
        near = np.where(difference >= 0, difference - self.offset, -difference - 1 + self.offset)
        one_side: Floats = -near / b + np.log(-np.expm1(-1.0 / b)) - np.log(2.0)
        if self.rounding == "floor":
            return one_side
        return np.where(difference == 0, np.log(-np.expm1(-0.5 / b)), one_side)

    def log_at_least(self, t: Floats | float) -> Floats:
        """ln P(noise >= t): the survival function of the Laplace distribution at t, or at t - ½ when rounded to nearest."""
        y = (t - self.offset) / float(self.scale)
        return np.where(y >= 0.0, -y - log(2.0), np.log1p(-0.5 * np.exp(np.minimum(y, 0.0))))

    def log_at_most(self, t: Floats | float) -> Floats:
        """ln P(noise <= t), which is a mirror image of the other tail."""
        return self.log_at_least(2.0 * self.offset - 1.0 - t)

    def loss_atoms(self) -> LossAtoms:
        """The loss of one count that moves by 1: the ratio is the same for all noise from 2 up, and from -2 down."""
        noise = np.arange(-2.0, 3.0)
        loss = self.log_factor(noise) - self.log_factor(noise - 1)
        probability = np.exp(self.log_factor(noise))
        probability[0], probability[-1] = exp(self.log_at_most(-2.0)), exp(self.log_at_least(2.0))
        return LossAtoms(1 / self.scale, loss, probability)

    def simulate(self, size: int, rng: np.random.Generator) -> Counts:
        """Float draws, one a row."""
        noise = rng.laplace(0.0, float(self.scale), (size, self.cells)) + self.offset
        return np.asarray(np.floor(np.clip(noise, -_LARGEST_SIMULATED, _LARGEST_SIMULATED)).astype(np.int64))

    def draw(self, source: BitSource) -> Integers:
        """Exact noise for every cell."""
        draws = floored_laplace_array if self.rounding == "floor" else rounded_laplace_array
        return draws(source, self.scale, self.cells)


def _check_rounding(_: object, __: object, value: object) -> None:
    if value not in ("floor", "nearest"):
        raise InvalidInputError(f"rounding must be 'floor' or 'nearest', got {shown(value)!r}")


def _check_consistent(_: object, __: object, value: object) -> None:
    if not isinstance(value, bool):
        raise InvalidInputError(f"consistent must be True or False, got {shown(value)!r}")


@define(frozen=True, slots=False, repr=False)
class _Laplace(Mechanism[tuple[int, ...]]):
    """Independent integer Laplace noise on some of the counts."""

    rounding: Rounding = field(default="floor", validator=_check_rounding)

    @property
    @abstractmethod
    def _scale(self) -> Fraction:
        """Scale b of the Laplace noise."""

    @property
    def _noised(self) -> int:
        """The number of counts, from the first, that are noised."""
        return self.k - 1

    @property
    def _affected(self) -> int:
        """The number of noised counts that a replacement can change."""
        return min(2, self._noised)

    @property
    def _claim(self) -> Guarantee:
        """Return the claim of ε, by proof (docs/explain/mechanisms.md)."""
        return self._by_proof()

    @property
    def _theorem(self) -> str:
        """The theorem for the counts that are noised, if noise is rounded down; otherwise none."""
        if self.rounding != "floor":
            return ""
        return "laplace_private" if self._noised == self.k else "laplace_two_private" if self.k == 2 else "laplace_but_last_private"

    @property
    def noise(self) -> LaplaceNoise:
        """The noise of every noised count."""
        return LaplaceNoise(self._scale, self.rounding, self._noised)

    def _draw_noise(self, source: BitSource) -> Noise:
        """Exact noise for the noised counts."""
        return self.noise.draw(source)

    def _check_size(self) -> None:
        """Refuse noise that does not fit arrays."""
        check_fits(self._scale)

    @property
    def _draw_seconds(self) -> float:
        """Bound the seconds by the number of counts that are noised."""
        return noise_seconds(self._scale, self._noised)

    def _warm_up(self) -> None:
        """Draw noise once from public bits, which makes the tables."""
        self._draw_noise(SeededBits(0))

    def _raw_law(self, counts: Counts) -> Law:
        """Below 0 and above n the likelihood is the same multiple for every dataset: one outcome stands for each tail."""
        outcomes, values = grid_points(-1, self.space.total + 1, self._noised), np.arange(-1.0, self.space.total + 2.0)
        log_probability = np.zeros(len(outcomes))
        for column, x in zip(outcomes.T, counts, strict=False):
            log_probability += self.noise.clamped(int(x), values, -1, self.space.total + 1)[column + 1]
        return Law(outcomes, log_probability)

    def _loss_atoms(self) -> LossAtoms:
        """Return the loss of one count, once for each that a replacement changes."""
        return self.noise.loss_atoms().repeated(self._affected)


@define(frozen=True, slots=False, repr=False)
class LaplaceZhang(_Laplace):
    """ε-DP by proof: every one of the k counts gets noise of scale 2/ε; the total may differ from n.

    The papers' Algorithm 1 noises k - 1 counts, but their Theorem 4.5 needs all noised, and so do we (docs/research/reproduction.md).
    """

    _names: ClassVar[tuple[str, ...]] = ("LSZhang",)
    _look: ClassVar[tuple[Any, ...]] = ("#4e1202", "P", (0, (1, 1)), "++")

    @property
    def _scale(self) -> Fraction:
        """2/ε: a replacement changes two counts by 1."""
        return 2 / self.epsilon

    @property
    def _noised(self) -> int:
        """Return k: every count is noised."""
        return self.k


@define(frozen=True, slots=False, repr=False)
class _ConsistentLaplace(_Laplace):
    """Noise on the first k - 1 counts; the last category takes the rest."""

    consistent: bool = field(default=True, validator=_check_consistent)

    def _line_law(self, x: int, r: Floats) -> Floats:
        """A count that is noised, and clamped to [0, n]."""
        return self.noise.clamped(x, r, 0, self.space.total)

    def _own_report(self) -> Report:
        """Cut each count, left to right, to what is left of n; or, if not `consistent`, use the papers' literal formula."""
        return Cut(self.space.total, self.k, self.consistent)


@define(frozen=True, slots=False, repr=False)
class LaplaceDimension(_ConsistentLaplace):
    """ε-DP by proof, with more noise than it needs: scale k/ε on the first k - 1 counts.

    A replacement changes at most two noised counts by 1 (one if k = 2), so what it really loses is 2ε/k (ε/2 if k = 2).
    """

    _names: ClassVar[tuple[str, ...]] = ("LSDim", "lapMech")
    _look: ClassVar[tuple[Any, ...]] = ("#51a47e", "s", (0, (6, 2)), "//")

    @property
    def _scale(self) -> Fraction:
        """k/ε, the papers' sensitivity in proportion to the dimension."""
        return self.k / self.epsilon


@define(frozen=True, slots=False, repr=False)
class LaplaceHistogram(_ConsistentLaplace):
    """ε-DP by proof: noise of scale 1/ε (k = 2) or 2/ε (k > 2) on the first k - 1 counts."""

    _names: ClassVar[tuple[str, ...]] = ("LSHist", "ilapMech")
    _look: ClassVar[tuple[Any, ...]] = ("#9e5102", "o", (0, (9, 1.5)), "")

    @property
    def _scale(self) -> Fraction:
        """The number of noised counts that a replacement can change, over ε."""
        return self._affected / self.epsilon
