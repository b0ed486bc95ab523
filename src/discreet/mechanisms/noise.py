"""Noise that has one likelihood for each cell: what inference, reports and errors need to know of it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import log

import numpy as np

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.counts.factors import Count, Kernel, Noisy, Observation
from discreet.errors import RefusedError
from discreet.numerics.roots import last_inside

_HELD_BACK = 1e-9
"""Part of a tail that is held back, so that no rounding makes an interval of noise hold less than it should."""


class CellNoise(ABC):
    """Noise with one likelihood for each cell: independent, or independent given that the totals of blocks of cells stay."""

    @property
    def blocks(self) -> tuple[range, ...]:
        """The blocks of cells whose noisy counts have the total of the true ones; none where every cell has noise of its own."""
        return ()

    @property
    @abstractmethod
    def cells(self) -> int:
        """The number of counts, from the first, that carry noise of their own."""

    @property
    @abstractmethod
    def slope(self) -> float:
        """The fall of the log likelihood a count on either side of the noisy count, or about its fall where windows end."""

    @property
    def curvature(self) -> float:
        """The change of that slope from one count to the next: 0 where it is straight on either side."""
        return 0.0

    @property
    def is_kernel(self) -> bool:
        """Return whether the kernel is all that an outcome says; otherwise `observation` says it, of listed counts or group by group."""
        return True

    @property
    def kernel(self) -> Kernel:
        """The log likelihood in the form that sums over many groups take, up to a constant."""
        return Kernel(self.slope)

    @abstractmethod
    def simulate(self, size: int, rng: np.random.Generator) -> Counts:
        """Float draws of the noise of all cells, one a row; TooLargeError where it would not fit into integers of arrays."""

    @abstractmethod
    def log_factor(self, difference: Floats) -> Floats:
        """One cell's factor of the likelihood, up to a constant, given the noisy count less the true one."""

    def log_constant(self, cells: int) -> float:  # noqa: ARG002
        """Return the logarithm of what the factors of a block of so many cells lack together to be a probability."""
        return 0.0

    def log_probability(self, noise: Counts) -> Floats:
        """ln P of the noise of all cells, on the last axis; -inf where that of a block does not add up to 0."""
        found = np.asarray(self.log_factor(noise.astype(np.float64)).sum(axis=-1))
        starts, sizes = np.array([(block.start, len(block)) for block in self.blocks if len(block)], dtype=np.int64).reshape(-1, 2).T
        for size, many in zip(*np.unique(sizes, return_counts=True), strict=True):
            found = found + int(many) * self.log_constant(int(size))
        return found if not len(starts) else np.where(np.add.reduceat(noise, starts, axis=-1).any(axis=-1), -np.inf, found)

    @abstractmethod
    def reach(self, cells: int, block: int, tail: float) -> tuple[int, int]:
        """The least and the largest noise of the sum of so many cells of a block of cells, but for at most `tail` beyond either."""

    def observed(self, raw: Counts, k: int) -> list[Count]:
        """Return the observation of each of k true counts in a raw outcome: of nothing for one without noise of its own."""
        seen = [Count([self.observation(z)]) for z in raw[: self.cells].tolist()]
        return seen + [Count()] * (k - len(seen))

    def observation(self, z: int) -> Observation:
        """Return the observation of a true count in an outcome of one cell."""
        return Noisy(self, z, self.curvature)

    def held(self, raw: Sequence[int] | Counts, n: int | None) -> Counts:
        """Return the outcomes cut to [-1, n + 1]: where likelihoods are straight, how far outside they lie says nothing."""
        held: Counts = np.clip(np.array(raw, dtype=object), -1, limits.COUNT if n is None else n + 1).astype(np.int64)
        return held

    def log_likelihoods(self, raw: Counts, points: Counts) -> Floats:
        """The log likelihood of a raw outcome for counts, one a row, up to a constant."""
        each = zip(self.observed(raw, points.shape[1]), points.T, strict=True)
        return sum((count.log_likelihood(x.astype(np.float64)) for count, x in each), np.zeros(len(points)))


_FAR_OUT = 1 << 62
"""A bound that no drawn noise reaches."""


class IndependentNoise(CellNoise):
    """Noise that is independent by cell, with a known law: its `log_factor` is normalised."""

    @abstractmethod
    def log_at_least(self, t: Floats | float) -> Floats:
        """ln P(noise >= t)."""

    def log_at_most(self, t: Floats | float) -> Floats:
        """ln P(noise <= t), of noise that is symmetric."""
        return self.log_at_least(-np.floor(t))

    def reach(self, cells: int, block: int, tail: float) -> tuple[int, int]:  # noqa: ARG002 - independent noise knows no blocks
        """Return the reach of one cell by its tails; RefusedError for several cells, unless a kind of noise has a law for their sum."""
        if cells != 1:
            raise RefusedError("the noise of several counts together has no law here that could be summed")
        least, near, far = log(tail * (1.0 - _HELD_BACK)), np.zeros(1, dtype=np.int64), np.array([_FAR_OUT])
        high = last_inside(lambda t: self.log_at_least(t.astype(np.float64)) > least, near, far)
        low = last_inside(lambda t: self.log_at_most(t.astype(np.float64)) > least, near, -far)
        return int(low[0]), int(high[0])

    def clamped_below(self, x: int, values: Floats) -> Floats:
        """ln of the probability that the noisy count x, or 0 if that is negative, is each of these values."""
        return np.where(values == 0, self.log_at_most(float(-x)), self.log_factor(values - x))

    def clamped(self, x: int, values: Floats, low: int, high: int) -> Floats:
        """ln of the probability that the noisy count x, clamped to [low, high], is each of these values: the ends stand for the tails."""
        result = self.log_factor(values - x)
        result = np.where(values == low, self.log_at_most(float(low - x)), result)
        return np.where(values == high, self.log_at_least(float(high - x)), result)


def symmetric_reach(log_law: Floats, tail: float) -> tuple[int, int]:
    """Return the reach of a law that is symmetric around 0, from its logarithm at 0, 1, ... up to a constant."""
    law = np.exp(log_law - log_law[0])
    beyond = np.cumsum(law[::-1])[::-1] / (2.0 * law.sum() - law[0])
    high = int(np.count_nonzero(beyond[1:] > tail * (1.0 - _HELD_BACK)))
    return -high, high
