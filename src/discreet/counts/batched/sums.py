"""Totals of the cells of many groups at once, by Fourier transforms of tilted windows (docs/proofs/inference.md, "Many groups at once").

A transform of length L adds up totals that differ by multiples of L. For any δ the tilted probability of a total that is D or more above
a place c is at most `e^{-δD} Π_i E e^{δ(X_i - ...)}`, which says how long a transform must be and what it can be wrong by. Its rounding
errors are those of floats of size 1, so that probabilities have an absolute error, which is divided by the probability of the total.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.counts.batched.windows import GroupCells, balanced_tilts, batched_windows
from discreet.counts.runs import Run, Windows
from discreet.errors import TooLargeError
from discreet.numerics.transforms import Spectra, all_but_one, fast_length, laws, rounding, spectra

_TOTAL_RATES = np.geomspace(0.02, 0.9, 8)
"""Tilts that totals are bounded with, in parts of how fast the laws of counts fall."""
_FLOAT_SPACING = 2.0**-52
_DIRECT = 1e-10
"""Relative error of a transform from which on a group's windows are convolved directly, to a relative error of 1e-12."""
_SHORT = 1 << 12
"""Values of all transforms together up to which it takes longer to find out how short they may be than to do them at full length."""
_FAIR, _SHALLOW = 1e-6, 28.0
"""This error is enough where there are more values than `_SHORT`, for windows that are less deep than this."""
_WRAPPED_DEPTH = 45.0
"""The transform of the parts of one count is so long that a total beyond it has a tilted probability of e^-45 at most."""
_LARGEST_ERROR = 2e-12
"""Relative error up to which the laws of the parts of one count are those of a transform."""
_FEWEST_PARTS = 3
"""The fewest parts that are added up: with two there is nothing to add."""
_VISIBLE = 1e-15
"""Probabilities of totals below this part of the largest are not told from the rounding errors of a transform."""


Chosen = slice | tuple[Counts, Counts]
"""Cells of groups: all of them, or indices of groups and of cells."""


@dataclass(frozen=True, eq=False)
class TotalBounds:
    """The bounds, for each group and each of several rates δ: ln E e^{δ(S - centre)} and ln E e^{-δ(S - centre)}, S the tilted total."""

    rates: Floats
    above: Floats
    below: Floats

    @staticmethod
    def of(windows: Windows, centre: Counts, fall: float | Floats) -> "TotalBounds":
        """The bounds around a centre of each group; `fall` is how fast the tilted laws fall beyond their windows, for all or for each."""
        half = 0.5 * (windows.width - 1)
        rates = np.minimum(np.multiply.outer(fall, _TOTAL_RATES), 600.0 / max(half, 1.0))
        steps = (np.arange(windows.width) - half)[:, None] * rates[..., None, :]
        shift = (windows.low.sum(axis=1) + half * windows.low.shape[1] - centre)[:, None]
        above, below = (np.log(windows.value @ np.exp(sign * steps)).sum(axis=1) + sign * rates * shift for sign in (1.0, -1.0))
        return TotalBounds(np.broadcast_to(rates, above.shape), above, below)

    def distance(self, depth: float) -> Floats:
        """The distance from its centre beyond which each total is with a probability of at most e^-depth on either side."""
        return np.asarray(((np.maximum(self.above, self.below) + depth).clip(0.0) / self.rates).min(axis=1))


@dataclass(frozen=True, eq=False)
class Transforms:
    """The transforms of the tilted laws of all cells."""

    windows: Windows
    length: int

    @cached_property
    def each(self) -> Spectra:
        return spectra(self.windows.value, self.length)

    @cached_property
    def _products(self) -> tuple[Spectra, Spectra]:
        """Return for each cell the product of all others', and the product of all."""
        return all_but_one(self.each)

    @property
    def others(self) -> Spectra:
        return self._products[0]

    @property
    def whole(self) -> Spectra:
        return self._products[1]

    def of_others(self, chosen: Chosen = slice(None)) -> Floats:
        """Return, for each cell, or some, the law of the total of all others, from the sum of their first counts on, modulo the length."""
        return laws(self.others[chosen], self.length)

    def completions(self, totals: Counts, chosen: Chosen = slice(None)) -> Floats:
        """Return, for each cell, or some, and each of its counts, the tilted probability that all others complete it to the total of the
        group.
        """
        start = totals - self.windows.low.sum(axis=1)
        rest = (start[:, None] - np.arange(self.windows.width)) % self.length
        found = at_places(self.of_others(chosen), rest)
        return np.asarray(np.maximum(found, 0.0, out=found))


# --- a public total ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FixedTotals:
    """The posterior law of each cell's count given the total of its group, on the windows; and the probability left out at most."""

    low: Counts
    weight: Floats
    omitted: Floats
    completion: Floats
    """The tilted probability that the counts of each group add up to its total."""


def laws_of_sizes(
    cells: GroupCells, sizes: Counts, depth: float, only: Counts | None = None
) -> Iterator[tuple[NDArray[np.int64], FixedTotals]]:
    """The laws of all counts of groups whose counts add up to these sizes, in batches of similar width: indices of groups, and laws.

    With `only`, which has a row for each group, the laws of the cells in it.
    """
    tilt = balanced_tilts(cells, sizes)
    for rows, found in batched_windows(cells, tilt, depth):
        yield rows, fixed_totals(found, sizes[rows], cells.slope, depth, None if only is None else only[rows])


def fixed_totals(windows: Windows, totals: Counts, slope: float, depth: float, only: Counts | None = None) -> FixedTotals:
    """The law of each count, or of those in `only`, given that the counts of each group add up to its total."""
    chosen: Chosen = slice(None) if only is None else (np.arange(len(only))[:, None], only)
    start = totals - windows.low.sum(axis=1)
    span = windows.low.shape[1] * (windows.width - 1)
    reach = np.maximum(start, span - start) + 1.0
    if windows.low.size * span > _SHORT:
        reach = np.minimum(TotalBounds.of(windows, totals, slope).distance(depth), reach)
    transforms = Transforms(windows, fast_length(max(int(np.ceil(reach.max())) + 1, windows.width)))
    weight = transforms.completions(totals, chosen)
    weight *= windows.value[chosen]
    completion = weight.sum(axis=2)
    least = completion.min(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = (rounding(transforms.length) + 2.0 * np.exp(-depth)) / least + _FLOAT_SPACING * weight.shape[1]
        wide = windows.low.shape[1] * windows.width**2 > limits.DIRECT_CONVOLUTION
        hard = np.nonzero(~(error < (_FAIR if wide or depth < _SHALLOW else _DIRECT)))[0]
        if wide and hard.size:
            raise TooLargeError(
                f"the noise spreads the true counts of {windows.low.shape[1]} categories over {windows.width:,} values each, and "
                "their noisy sum is far from the size of the group: too many to add up. Less noise (a larger epsilon) needs fewer"
            )
        for row in hard:
            every, least[row] = _directly(windows, int(row), int(start[row]))
            weight[row] = every if only is None else every[only[row]]
            completion[row] = weight[row].sum(axis=1)
            error[row] = 1e-12
        weight /= completion[:, :, None]
        return FixedTotals(windows.low[chosen], weight, error + windows.tail / least, completion[:, 0])


def completed_parts(parts: Sequence[Run], total: int) -> list[Run] | None:
    """Return for each of some independent counts and each of its values, the probability that the others complete it to the total.

    They are a batch of one. None where direct sums are shorter or more exact.
    """
    k, width = len(parts), max(len(part.value) for part in parts)
    if k < _FEWEST_PARTS or k * width > limits.WINDOWS_HELD:
        return None
    windows = Windows(np.array([[part.low for part in parts]]), np.zeros((1, k, width)), np.zeros(1), np.zeros(1))
    for row, part in zip(windows.value[0], parts, strict=True):
        row[: len(part.value)] = part.value
    distance = TotalBounds.of(windows, np.array([total]), -2.0 * float(np.log(limits.WINDOW_TAIL)) / width).distance(_WRAPPED_DEPTH)
    transforms = Transforms(windows, fast_length(max(int(np.ceil(distance[0])) + 1, width)))
    if k * transforms.length > limits.WINDOWS_HELD:
        return None
    found = transforms.completions(np.array([total]))
    chance = float((found * windows.value).sum(axis=2).min())
    norm = float(np.sqrt(np.square(windows.value).sum(axis=2).max()))  # rounding errors are relative to this, as squares are kept
    if not rounding(transforms.length) * norm + np.exp(-_WRAPPED_DEPTH) < _LARGEST_ERROR * chance:
        return None
    return [Run(part.low, row[: len(part.value)]) for part, row in zip(parts, found[0], strict=True)]


def at_places(values: Floats, places: Counts) -> Floats:
    """Return for every group and cell the values at the places of the group."""
    groups, k, length = values.shape
    rows = (np.arange(groups * k) * length).reshape(groups, k, 1)
    return np.asarray(np.take(values.ravel(), rows + places[:, None, :]))


def _directly(windows: Windows, row: int, start: int) -> tuple[Floats, float]:
    """The weights of one group's counts by convolutions of positive numbers, which lose nothing, and the probability of the total."""
    value = windows.value[row]
    k, width = value.shape
    before, after = [np.ones(1)], [np.ones(1)]
    for i in range(k - 1):
        before.append(np.convolve(before[-1], value[i])[: max(start + 1, 1)])
        after.append(np.convolve(after[-1], value[k - 1 - i])[: max(start + 1, 1)])
    weight = np.zeros_like(value)
    for i in range(k):
        others = np.convolve(before[i], after[k - 1 - i])
        rest = start - np.arange(width)
        held = (rest >= 0) & (rest < len(others))
        weight[i, held] = value[i, held] * others[rest[held]]
    return weight, float(weight[0].sum())


# --- totals with a weight of their own --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rests:
    """The tilted law of the total of all other cells, for every cell, on a stretch of one length."""

    first: Counts
    value: Floats


@dataclass(frozen=True, eq=False)
class FreeTotals:
    """The tilted law of each group's total, on a stretch of consecutive totals of one length."""

    windows: Windows
    bounds: TotalBounds
    centre: Counts
    first: Counts
    """The first total of each group."""
    transforms: Transforms

    @staticmethod
    def of(windows: Windows, fall: float | Floats, depth: float) -> "FreeTotals":
        """Return totals on stretches so long that the tilted probability beyond is at most e^-depth on either side."""
        mean, _ = windows.moments
        centre, lowest = np.rint(mean.sum(axis=1)).astype(np.int64), windows.low.sum(axis=1)
        span = windows.low.shape[1] * (windows.width - 1) + 1
        bounds = TotalBounds.of(windows, centre, fall)
        half = int(np.ceil(bounds.distance(depth).max())) + 1
        length = fast_length(min(2 * half + windows.width, span) + 1)
        first = lowest if length >= span else np.maximum(lowest, centre - length // 2)
        return FreeTotals(windows, bounds, centre, first, Transforms(windows, length))

    @property
    def totals(self) -> Counts:
        """The totals of the stretch of every group."""
        return np.asarray(self.first[:, None] + np.arange(self.transforms.length))

    @cached_property
    def _turns(self) -> Spectra:
        """The turns that make the first total the first entry of a transform back."""
        length = self.transforms.length
        unit = np.exp(2j * np.pi * np.arange(length) / length)
        shift = (self.first - self.windows.low.sum(axis=1))[:, None]
        return np.asarray(unit[(shift * np.arange(length // 2 + 1)) % length])

    @cached_property
    def law(self) -> Floats:
        """The tilted probability of every total; 0 where it is not told from rounding errors."""
        found = laws(self.transforms.whole * self._turns, self.transforms.length)
        floor = _VISIBLE * found.max(axis=1, keepdims=True)
        found[found < floor] = 0.0
        return found

    @property
    def rests(self) -> "Rests":
        """Return for every cell the tilted law of the total of all others, from about the middle of it on."""
        laws, length = self.windows, self.transforms.length
        value = np.maximum(self.transforms.of_others(), 0.0)
        lowest = laws.low.sum(axis=1, keepdims=True) - laws.low
        if length >= (laws.low.shape[1] - 1) * (laws.width - 1) + 1:
            return Rests(lowest, value)
        mean = laws.moments[0]
        middle = np.rint(mean.sum(axis=1, keepdims=True) - mean).astype(np.int64)
        first = np.maximum(lowest, middle - length // 2)
        places = (first - lowest)[:, :, None] + np.arange(length)
        return Rests(first, np.take_along_axis(value, places % length, axis=2))

    def count_sums(self) -> tuple[Floats, Floats]:
        """Return for every cell and total n, Σ_j j P(X = low + j, S = n) and the same with j²."""
        j = np.arange(self.windows.width, dtype=np.float64)
        found = []
        for power in (j, j * j):
            product = spectra(self.windows.value * power, self.transforms.length)
            product *= self.transforms.others
            product *= self._turns[:, None, :]
            found.append(laws(product, self.transforms.length))
        return found[0], found[1]
