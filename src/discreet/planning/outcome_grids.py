"""The law of the true counts of many raw outcomes, each given its total, on grids of cells (docs/howto/planning.md).

Each count's factor, under a tilt that makes the means add up, is summed over cells of equal length, and the sum of all other counts comes
from Fourier transforms. Cells are single counts where the noise is narrow, and up to a fiftieth of its width where it is not. A count of 0
may have most of the weight near it: a window that begins with 0 has 0 in the middle of its first cell, which is looked at in pieces. The
cells of the largest count, which has all records if the others have none, are such that the total is in the middle of one.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import Counts, Floats, Mask
from discreet.numerics.transforms import Spectra, all_but_one, fast_length, laws, spectra
from discreet.planning.outcome_factors import OutcomeFactors
from discreet.planning.outcome_nodes import Nodes

_CELLS = ((30, 640), (100, 320), (1 << 62, 192))
"""Up to how many categories: the cells that each count's window is cut into at most, half as many where the total is private."""
_NARROWEST, _FINER = 0.3, 3.0
"""Cells are as short as this part of the deviation of the narrowest count, but at most so many times as many as above."""
_SMOOTH = 2.0
"""Cells in a deviation from which on a law is smooth: sums over cells make it wider by the variance within one, middles do not."""
_DEVIATIONS = 14.0
"""Standard deviations of the total that a transform is at least as long as, so that it does not run into itself."""
_ROUNDING = 1e-13
"""Parts of the largest probability of a total that transforms may be off by."""
_BLOCKS_TAIL = 1e-6
"""Probability left out on each side where cells are put together to blocks."""
_LEVELS = (0.001, 0.003, 0.006, 0.01, 0.014, 0.018, 0.022, 0.026, 0.03, 0.036, 0.045, 0.06, 0.1, 0.2, 0.35)
"""Probabilities at which blocks end, on either side: they are small where the ends of a 95 % interval are."""


def cells_of(k: int) -> int:
    """Cells at most of each window, for so many categories."""
    return next(cells for most, cells in _CELLS if k <= most)


@dataclass(frozen=True, eq=False)
class _FirstCell:
    """The counts of a cell with 0 in its middle, in pieces of 1, 1, 2, 4, 8, ... counts, by outcome, category and piece."""

    middle: Floats
    """The middle count of each piece, by outcome: the same for all categories."""
    size: Floats
    """How many counts it has."""
    logs: Floats
    """The log of the tilted weight of each piece; -inf beyond the cell."""

    @classmethod
    def of(cls, factors: OutcomeFactors, centres: Floats, rate: Floats, length: Floats) -> "_FirstCell":
        counts = 0.5 * (length[:, None] + 1.0)
        pieces = 1 + int(np.ceil(np.log2(float(counts.max()))))
        start = np.concatenate([[0.0], 2.0 ** np.arange(pieces - 1)])
        size = np.maximum(np.minimum(np.append(start[1:], 2.0 ** (pieces - 1)), counts) - start, 1.0)
        middle = np.minimum(start, counts) + 0.5 * (size - 1.0)
        shape = (*centres.shape, pieces)
        logs = factors.log_prior_sums(np.broadcast_to(start, shape), np.broadcast_to(size[:, None, :], shape))
        logs = logs + factors.log_likelihood(centres, np.broadcast_to(middle[:, None, :], shape)) + (rate[:, None] * middle)[:, None, :]
        return cls(middle, size, np.where((start < counts)[:, None, :], logs, -np.inf))

    @cached_property
    def log_sum(self) -> Floats:
        """The log of the weight of the whole cell."""
        height = self.logs.max(axis=-1)
        return np.asarray(height + np.log(np.exp(self.logs - height[..., None]).sum(axis=-1)))

    @cached_property
    def mean(self) -> Floats:
        return np.asarray((np.exp(self.logs - self.log_sum[..., None]) * self.middle[:, None, :]).sum(axis=-1))


@dataclass(frozen=True, eq=False)
class Grid:
    """The tilted law of every count on cells of one length for each outcome, and its transform."""

    factors: OutcomeFactors
    low: Floats
    """The first count of each window, by outcome and category; below 0 where 0 is in the middle of the first cell."""
    length: Floats
    """Counts in a cell, by outcome: an odd number."""
    mass: Floats
    """The weight of every cell, by outcome, category and cell."""
    first: _FirstCell
    smooth: Mask
    """Whether a count's law and that of all others are smooth, by outcome and category: cells then have what their middles say."""
    moved: Floats
    """The weight of the first cell that is put into the second, by outcome and category, so that the mean is kept."""
    size: int
    """Length of the transforms."""
    n: Floats
    """The total of each outcome's counts."""
    log_factors: Floats
    """The logs of the sums of every factor, by outcome and category."""

    @classmethod
    def of(
        cls, factors: OutcomeFactors, centres: Floats, nodes: Nodes, rate: Floats, n: Floats, ends: tuple[Floats, Floats] | None = None
    ) -> "Grid":
        """The grids of outcomes under tilts that are good for these totals; `ends` are the least and the largest that is asked for."""
        least, most = ends or (n, n)
        low, high, mean, variance = nodes.windows(rate)
        low, high = _completed(low, high, least, most)
        widest = (high - low + 1.0).max(axis=-1)
        most_cells = cells_of(len(factors.a)) // (1 if factors.n is not None else 2)
        narrow = np.maximum(_NARROWEST * np.sqrt(variance).min(axis=1), widest / (_FINER * most_cells))
        length = 2.0 * np.ceil(0.5 * (np.minimum(widest / most_cells, narrow) - 1.0)) + 1.0
        largest = mean == mean.max(axis=1, keepdims=True)
        split = (low == 0.0) & (length > 1.0)[:, None] & ~largest
        low = _aligned(np.where(split, -0.5 * (length[:, None] - 1.0), low), length, n, np.argmax(mean, axis=1))
        cells = int(np.ceil(widest / length).max()) + 1
        x = low[..., None] + length[:, None, None] * np.arange(cells)
        middle = x + 0.5 * (length[:, None, None] - 1.0)
        logs = factors.log_prior_sums(np.maximum(x, 0.0), np.minimum(x, 0.0) + length[:, None, None])
        logs = logs + factors.log_tilted_means(centres, middle, length, rate, factors.prior_slope(np.maximum(middle, 0.0))[0])
        logs = np.where(x <= most[:, None, None], logs, -np.inf)
        first = _FirstCell.of(factors, centres, rate, length)
        logs[..., 0] = np.where(split, first.log_sum, logs[..., 0])
        height = logs.max(axis=-1, keepdims=True)
        mass = np.exp(logs - height)
        total = mass.sum(axis=-1, keepdims=True)
        mass /= total
        others = variance.sum(axis=1, keepdims=True) - variance
        smooth = (np.minimum(variance, others) > (_SMOOTH * length[:, None]) ** 2) & ~split
        pole = split & (factors.a < 1.0)  # nearly all of such a law may be in its first cell
        smooth &= (~pole).sum(axis=1, keepdims=True) - ~pole > 0
        excess = np.where(smooth, (1.0 - 1.0 / length[:, None] ** 2) / 24.0, 0.0)[..., None]
        mass = np.maximum(mass - excess * np.diff(mass, n=2, axis=-1, prepend=0.0, append=0.0), 0.0)
        moved = np.where(split, mass[..., 0] * first.mean / length[:, None], 0.0)
        mass[..., 0] -= moved
        mass[..., 1] += moved
        spread = float((np.sqrt(variance.sum(axis=1)) / length).max())
        size = fast_length(int(min(len(factors.a) * cells, 2 * cells + _DEVIATIONS * spread)) + 1)
        return cls(factors, low, length, mass, first, smooth, moved, size, n, (height + np.log(total))[..., 0])

    @cached_property
    def _left(self) -> Counts:
        """How many cells beyond its first one the total is."""
        k = self.mass.shape[1]
        return np.asarray(
            np.rint((self.n - self.low.sum(axis=1) - 0.5 * k * (self.length - 1.0)) / self.length).astype(np.int64), dtype=np.int64
        )

    @cached_property
    def _transform(self) -> Spectra:
        return spectra(self.mass, self.size)

    def log_totals(self, totals: Floats) -> Floats:
        """ln Z(λ) P_λ(total) for totals near each outcome's own, a row each: straight lines between cells; -inf where rounding shows."""
        law = laws(np.prod(self._transform, axis=1), self.size)
        cell, part = np.divmod((totals - self.n[:, None]) / self.length[:, None], 1.0)
        floor = _ROUNDING * law.max(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = []
            for place in (self._left[:, None] + cell.astype(np.int64) + step for step in (0, 1)):
                found = np.take_along_axis(law, place % self.size, axis=1)
                logs.append(np.log(np.where((place >= 0) & (found > floor), found, 0.0)))
            between = np.where(part > 0.0, (1.0 - part) * logs[0] + part * logs[1], logs[0])
        between = np.where(np.isnan(between), -np.inf, between)
        return np.asarray(self.log_factors.sum(axis=-1, keepdims=True) + between - np.log(self.length)[:, None])

    def _others(self, targets: Counts) -> Floats:
        """For each outcome and target the law of the sum of all other counts, in cells from the sum of their first counts on."""
        rows, places = np.arange(len(targets))[:, None], np.arange(targets.shape[1])
        no_target = np.full(self.mass.shape[:2], True)
        no_target[rows, targets] = False
        rest = np.stack([np.prod(of[which], axis=0) for of, which in zip(self._transform, no_target, strict=True)])
        first = np.argmax(targets[:, :, None] == targets[:, None, :], axis=2)
        own = self._transform[rows, targets]
        own[first != places] = 1.0  # a target that stands twice is one count
        return np.maximum(laws(rest[:, None] * all_but_one(own)[0][rows, first], self.size), 0.0)

    def mixtures(self, targets: Counts) -> tuple[Floats, Floats, Floats, Floats]:
        """For each outcome and target the mixture of Betas: weights, both parameters, and the variance of what a cell stands for.

        The pieces of a first cell come before the cells; those of windows that do not begin with 0 have no weight.
        """
        rows, cells, whole = np.arange(len(targets))[:, None], np.arange(self.mass.shape[-1]), self.factors.whole
        n, length, low, others = (
            self.n[:, None, None],
            self.length[:, None, None],
            self.low[rows, targets][..., None],
            self._others(targets),
        )
        split = self.moved[rows, targets][..., None] > 0.0
        own = self.mass[rows, targets] * ~(split & (cells == 0))
        own[..., 1] -= self.moved[rows, targets]
        pieces = np.exp(self.first.logs[rows, targets] - self.log_factors[rows, targets][..., None]) * split
        middle, size = (np.broadcast_to(part[:, None, :], pieces.shape) for part in (self.first.middle, self.first.size))
        near, far = (self._rest(others, np.full_like(cells[:1], cell)) for cell in (0, 1))
        rest = near + (far - near) * (middle / length)
        weight = np.concatenate([pieces * rest, own * self._rest(others, cells)], axis=-1)
        weight = np.where(weight.sum(axis=-1, keepdims=True) > 0.0, weight, np.concatenate([pieces, own], axis=-1))
        x = np.clip(np.concatenate([middle, low + length * cells + 0.5 * (length - 1.0)], axis=-1), 0.0, n)
        a, stands_for = self.factors.a[targets][..., None], np.concatenate([size, np.broadcast_to(length, own.shape)], axis=-1)
        spread = np.where(self.smooth[rows, targets][..., None], 0.0, stands_for**2 - 1.0) / 12.0 / (n + whole) ** 2
        return weight / weight.sum(axis=-1, keepdims=True), a + x, whole - a + (n - x), spread

    def _rest(self, others: Floats, cells: Counts) -> Floats:
        """The probability that the other counts leave a target's count in these cells of its window."""
        position = self._left[:, None, None] - cells
        found = np.take_along_axis(others, np.broadcast_to(position % self.size, (*others.shape[:2], len(cells))), axis=-1)
        return np.where(position >= 0, found, 0.0)


def _aligned(low: Floats, length: Floats, n: Floats, largest: Counts) -> Floats:
    """The windows, the one of each outcome's largest count begun a little lower, so that whole cells lie between them and the total."""
    low = low.copy()
    low[np.arange(len(low)), largest] -= -(n - low.sum(axis=1) - 0.5 * low.shape[1] * (length - 1.0)) % length
    return low


def _completed(low: Floats, high: Floats, least: Floats, most: Floats) -> tuple[Floats, Floats]:
    """The windows, the widest of each outcome cut to what the others can leave of a total between two ends."""
    rows, pivot = np.arange(len(low)), np.argmax(high - low, axis=1)
    others_low, others_high = low.sum(axis=1) - low[rows, pivot], high.sum(axis=1) - high[rows, pivot]
    low, high = low.copy(), high.copy()
    first, last = np.maximum(low[rows, pivot], least - others_high), np.minimum(high[rows, pivot], most - others_low)
    kept = first <= last
    low[rows, pivot], high[rows, pivot] = np.where(kept, first, low[rows, pivot]), np.where(kept, last, high[rows, pivot])
    return low, high


def blocks(weight: Floats, a: Floats, b: Floats, spread: Floats, most: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Mixtures of as many components at most, each of which stands for consecutive ones: with their mean, and wider by their variance."""
    total, centre = a + b, (weight * a).sum(axis=-1, keepdims=True)
    away = a - centre
    sums = [np.cumsum(np.concatenate([np.zeros((*weight.shape[:-1], 1)), part], axis=-1), axis=-1)
            for part in (weight, weight * away, weight * away**2, weight * spread)]  # fmt: skip
    first = np.maximum((sums[0] < _BLOCKS_TAIL).sum(axis=-1) - 1, 0)
    last = np.minimum((sums[0] < 1.0 - _BLOCKS_TAIL).sum(axis=-1), weight.shape[-1])
    levels = (*_LEVELS, 0.5, *(1.0 - level for level in _LEVELS))
    even = np.rint(first[..., None] + (last - first)[..., None] * np.linspace(0.0, 1.0, most - len(levels) + 1)).astype(np.int64)
    # Edges that are spaced evenly, and others by probability: narrow blocks near the ends of an interval, and none across a likely 0.
    by_level = np.stack([(sums[0] < level).sum(axis=-1) for level in levels], axis=-1)
    edges = np.sort(np.concatenate([even, np.clip(by_level, first[..., None], last[..., None])], axis=-1), axis=-1)
    share, moment, square, own = (np.diff(np.take_along_axis(part, edges, axis=-1), axis=-1) for part in sums)
    held = np.maximum(share, 1e-300)
    mean = np.where(share > 0.0, moment / held, 0.0)
    variance = np.where(share > 0.0, np.maximum(square / held - mean**2, 0.0), 0.0)
    a, total = np.clip(centre + mean, a[..., :1], a[..., -1:]), total[..., :1]
    return np.maximum(share, 0.0), a, total - a, np.maximum(own, 0.0) / held + variance / total**2
