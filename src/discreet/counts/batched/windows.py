"""Windows of many cells at once, where each true count has its mass under a tilt, and the tilts of many groups (docs/proofs/inference.md).

The factor of one cell is `g(x) = e^{-s|z - x|} Γ(a + x)/x!`. For a prior parameter of at least 1 its logarithm is concave; below 1 it is
convex on either side of z, so that it is largest at 0, at z or at the last count. Under Gaussian noise, `e^{-(z - x)²/2σ²}` in place of
the first factor, it then falls from 0 on and may rise to one more peak. In all cases the counts whose log factor is within `depth` of the
largest lie between two places that bisection finds. Arrays have the groups on the first axis and the cells of a group on
the second; a cell that is not possible has 0 as its only count.

Where the noise is wide, the places of a window may stand for several counts each (`RiseTable.length`). Then all counts, slopes and tilts
here are in such places, and noisy counts lie between them. The noise is taken at the middle of each place, so that the law of a count with
noise of slope s has an error of about (s·length/2π)² of its mass, with a sign that depends on where the noisy count lies.

A group's tilt is the λ under which independent counts have the total that the posterior has. It need only be right to a part of the spread
of the total, so it is found on coarse windows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet import limits
from discreet.arrays import Counts, Floats, Mask
from discreet.counts.factors import Kernel
from discreet.counts.runs import Windows
from discreet.errors import TooLargeError
from discreet.numerics.gamma import log_rise, log_rise_means
from discreet.numerics.roots import CLOSE, balancing_tilts, last_inside
from discreet.numerics.transforms import batches

_TABLED = 1 << 21
"""Logarithms that are looked up: of all prior parameters that differ, together."""
UNBOUNDED = 2**60


@dataclass(frozen=True, eq=False)
class GroupCells:
    """The factors of the cells of some groups."""

    z: Counts | Floats
    """Noisy counts; where the noise is straight none below 0 or above `top`, beyond which the likelihood changes by a constant."""
    a: Floats
    noise: Kernel
    top: Counts
    """The largest possible count of each cell; 0 where the cell is not possible."""
    table: "RiseTable"
    listed: Floats | None = None
    """The log factor of every cell for all its counts from 0 on, where few are possible: `noise` then says nearly how it falls."""

    @property
    def slope(self) -> float:
        """About the fall of the log likelihood a count on either side of a noisy one."""
        return self.noise.slope

    def __len__(self) -> int:
        return len(self.z)

    def rows(self, chosen: NDArray[np.int64] | slice) -> "GroupCells":
        """Return the factors of the cells of some of the groups."""
        listed = None if self.listed is None else self.listed[chosen]
        return GroupCells(self.z[chosen], self.a[chosen], self.noise, self.top[chosen], self.table, listed)

    def log_factors(self, likelihoods: Floats) -> Floats:
        """Return the log factors of all counts from 0 on, given their log likelihoods."""
        x, top = np.arange(likelihoods.shape[2]), self.top[:, :, None]
        return np.where(x <= top, likelihoods + self.table(self.a[:, :, None], np.minimum(x, top)), -np.inf)

    @property
    def centres(self) -> Counts | Floats:
        """The noisy counts, or the counts with the largest factors where these are listed; 0 where the cell is not possible."""
        return np.where(self.top > 0, self.z if self.listed is None else self.listed.argmax(axis=2), 0)

    def log_factor(self, x: Counts, tilt: Floats) -> Floats:
        """ln g(x) e^{tilt x} for one count of each cell."""
        likelihood = self.noise.log_factor(np.subtract(x, self.z, dtype=np.float64))
        return np.asarray(self.table(self.a, x) + likelihood + tilt[:, None] * x)


class RiseTable:
    """ln Γ(a + x)/x!, or of its mean over the counts of each place, looked up where few parameters occur and counts are not large."""

    def __init__(self, a: Floats, last: int, length: float = 1.0) -> None:
        self.length = length
        self._known = np.unique(a)
        self.flat = length == 1.0 and bool((self._known == 1.0).all())
        self._length = 0 if self.flat else min(last + 1, _TABLED // len(self._known))
        if self._length < min(last + 1, 4096):
            self._length = 0
        x = np.arange(self._length, dtype=np.float64)
        self._values = np.concatenate([self._rise(one, x) for one in self._known]) if self._length else np.empty(0)

    def _rise(self, a: Floats, x: Floats) -> Floats:
        return log_rise(a, x) if self.length == 1.0 else log_rise_means(a, x, self.length)

    def __call__(self, a: Floats, x: Counts) -> Floats:
        if self.flat:
            return np.zeros(np.broadcast_shapes(a.shape, x.shape))
        if not self._length or (x.size and int(x.max()) >= self._length):
            return self._rise(a, x.astype(np.float64))
        if len(self._known) == 1:
            return np.asarray(self._values[x])
        return np.asarray(self._values[np.searchsorted(self._known, a) * self._length + x])


def ranges(cells: GroupCells, tilt: Floats, depth: float) -> tuple[Counts, Counts]:
    """The first and the last count of each cell whose log factor is within `depth` of the cell's largest."""
    if cells.listed is not None:
        logs = _tilted(cells.listed, tilt)
        held = logs >= logs.max(axis=2, keepdims=True) - depth
        return held.argmax(axis=2), held.shape[2] - 1 - held[:, :, ::-1].argmax(axis=2)
    # numerics.tails cuts laws that are listed; these have up to 2^60 counts, and are cut by height before any of them is listed.
    candidates = _peaks(cells, tilt)
    top = _last_counts(cells, tilt, depth, candidates)
    places = np.stack([*candidates, top])
    heights = np.stack([cells.log_factor(x, tilt) for x in places])
    floor = heights.max(axis=0) - depth
    held = heights >= floor
    first = np.where(held, places, UNBOUNDED).min(axis=0)
    last = np.where(held, places, -1).max(axis=0)
    zero = np.zeros_like(top)

    def above(x: Counts) -> Mask:
        return np.asarray(cells.log_factor(x, tilt) >= floor)

    low = np.where(above(zero), 0, last_inside(above, first, zero))
    high = np.where(above(top), top, last_inside(above, last, top))
    return low, high


def _peaks(cells: GroupCells, tilt: Floats) -> list[Counts]:
    """Places where a factor may be largest; `ψ(a + x) - ψ(1 + x) = fall` with ψ(y) = ln(y - ½) nearly where it is smooth."""
    found = [np.zeros_like(cells.top), np.clip(np.rint(cells.z), 0, cells.top).astype(np.int64)]
    if cells.noise.curvature:
        return [*found, *_bent_peaks(cells, tilt)]
    for side in (-cells.slope, cells.slope):
        fall = np.clip(-(tilt[:, None] + side), 1e-12, 700.0)
        smooth = np.clip((cells.a - 1.0) / np.expm1(fall) - 0.5, 0.0, cells.top)
        smooth = np.where(side < 0.0, np.maximum(smooth, cells.z), np.minimum(smooth, cells.z))
        found.append(np.clip(np.rint(smooth).astype(np.int64), 0, cells.top))
    return found


def _bent_peaks(cells: GroupCells, tilt: Floats) -> list[Counts]:
    """The peak c under Gaussian noise without the prior, and that with it, nearly: `κ(c - x) + ln (a + x)/(1 + x) = 0`."""
    curvature, centre = cells.noise.curvature, cells.z + tilt[:, None] / cells.noise.curvature
    x = without = np.clip(centre, 0.0, cells.top)
    for _ in range(_PEAK_STEPS):  # from one side, where the prior's factor is concave or convex
        excess = curvature * (centre - x) + np.log((cells.a + x) / (1.0 + x))
        x = np.clip(x + excess / np.maximum(curvature + (cells.a - 1.0) / ((cells.a + x) * (1.0 + x)), 0.5 * curvature), 0.0, cells.top)
    return [np.rint(place).astype(np.int64) for place in (without, x)]


_PEAK_STEPS = 6
"""Steps of Newton's method: a place near the peak makes a window that is a little wider than it need be."""


def _last_counts(cells: GroupCells, tilt: Floats, depth: float, candidates: list[Counts]) -> Counts:
    """A count of each cell beyond which there is nothing to be found: the largest possible one, or one where the factor is negligible."""
    heights = [cells.log_factor(x, tilt) for x in candidates]
    best, start = np.max(heights, axis=0), np.max(candidates, axis=0)
    fall = np.maximum(cells.slope - tilt, 1e-3 * cells.slope)[:, None]
    step = np.ceil(depth / fall).astype(np.int64) + 1
    top = np.minimum(start + step, cells.top)
    while True:
        short = (top < cells.top) & (cells.log_factor(top, tilt) >= best - depth)
        if not short.any():
            return np.asarray(top)
        step = np.minimum(np.where(short, 2 * step, step), UNBOUNDED)
        top = np.minimum(start + step, cells.top)


def windows(cells: GroupCells, tilt: Floats, low: Counts, high: Counts, depth: float) -> Windows:
    """The tilted laws on windows as wide as the widest of these ranges."""
    width = int((high - low).max()) + 1
    if cells.listed is not None:
        return _windows_of_list(_tilted(cells.listed, tilt), low, width)
    away = (low - cells.z)[:, :, None] + np.arange(width, dtype=np.float64)
    log_value = cells.noise.log_factor(away)
    if tilt.any():
        away *= tilt[:, None, None]
        log_value += away
    if not cells.table.flat:
        x = np.minimum(low[:, :, None] + np.arange(width), cells.top[:, :, None])
        log_value += cells.table(cells.a[:, :, None], x)
    past = cells.top - low
    for j in range(int(past.min(initial=width)) + 1, width):
        log_value[:, :, j][past < j] = -np.inf
    height = log_value.max(axis=2)
    log_value -= height[:, :, None]
    value = np.exp(log_value, out=log_value)
    total = value.sum(axis=2)
    value /= total[:, :, None]
    log_sum = (height + np.log(total) + tilt[:, None] * cells.z).sum(axis=1)
    return Windows(low, value, _tails(cells, tilt, low, low + width - 1, depth, total), log_sum)


def _tilted(listed: Floats, tilt: Floats) -> Floats:
    """The logarithms of listed factors under the tilt of each group."""
    return np.asarray(listed + tilt[:, None, None] * np.arange(listed.shape[2]))


def _windows_of_list(logs: Floats, low: Counts, width: int) -> Windows:
    """Return windows of laws whose factors are all listed: what lies outside is added up."""
    height = logs.max(axis=2, keepdims=True)
    every = np.exp(logs - height)
    value = np.take_along_axis(np.pad(every, ((0, 0), (0, 0), (0, width))), low[:, :, None] + np.arange(width), axis=2)
    total, x = value.sum(axis=2), np.arange(every.shape[2])
    outside = np.where((x < low[:, :, None]) | (x >= low[:, :, None] + width), every, 0.0).sum(axis=2)
    log_sum = (height[:, :, 0] + np.log(total)).sum(axis=1)
    return Windows(low, value / total[:, :, None], (outside / total).sum(axis=1), log_sum)


def _tails(cells: GroupCells, tilt: Floats, low: Counts, high: Counts, depth: float, total: Floats) -> Floats:
    """Bounds on what lies outside: every term is below the floor, and terms fall at least as fast as a geometric series.

    Above the window that is the rate `slope - tilt`, or that of the last step: of the whole factor where its logarithm is concave, of
    Gaussian noise alone otherwise. Below it the rate of the
    first step does for a concave logarithm; a convex one is below the floor at all places, of which there are `low`.
    """
    floor = np.exp(-depth) / total
    inner = cells.log_factor(np.minimum(high, cells.top), tilt) - cells.log_factor(np.clip(high - 1, 0, cells.top), tilt)
    alone = cells.noise.curvature * (high - cells.z - 0.5) if cells.noise.curvature else cells.slope
    rate = np.where(cells.a >= 1.0, -inner, alone - tilt[:, None])
    beyond = np.maximum(cells.top - high, 0).astype(np.float64)
    above = np.minimum(beyond, 1.0 / -np.expm1(-np.maximum(rate, 1e-9)))
    first = cells.log_factor(np.minimum(low + 1, cells.top), tilt) - cells.log_factor(low, tilt)
    concave = (cells.a >= 1.0) & (first > 0.0)
    below = np.where(concave, np.minimum(low, 1.0 / -np.expm1(-np.maximum(first, 1e-9))), low)
    return np.asarray((floor * (above + below)).sum(axis=1))


_COARSE = 12.0
"""Windows hold all but e^-12 here."""
_TILT_ROUNDS = 10
_STEEPEST = 60.0
_GENTLE = 0.2
"""The steepest tilt of a total near 0, in parts of the slope of the noise."""
_NEAR_DEVIATIONS = 6.0
"""A total is near 0 if 0 is within this many standard deviations of its mean."""

LogSlope = Callable[[Floats, Counts], tuple[Floats, Floats]]
"""The first and second derivative of ln h at a total, for the groups of these indices."""


def total_moments(cells: GroupCells, tilt: Floats) -> tuple[Floats, Floats]:
    """The mean and the variance of the total of each group under its tilt."""
    mean, variance = np.empty(len(cells)), np.empty(len(cells))
    for rows, found in batched_windows(cells, tilt, _COARSE):
        first, second = found.moments
        mean[rows], variance[rows] = first.sum(axis=1), second.sum(axis=1)
    return mean, variance


def batched_windows(cells: GroupCells, tilt: Floats, depth: float, arrays: int = 1) -> Iterator[tuple[NDArray[np.int64], Windows]]:
    """The tilted laws of all groups in batches of similar width, with indices of groups; so many arrays of a batch are worked on together.

    Raises TooLargeError for noise and priors under which a count has more likely values than are held.
    """
    low, high = ranges(cells, tilt, depth)
    check_widths(high - low)
    for rows in batches((high - low).max(axis=1) + 1, arrays * low.shape[1]):
        yield rows, windows(cells.rows(rows), tilt[rows], low[rows], high[rows], depth)


def check_widths(widths: Counts) -> None:
    """Refuse noise and priors under which a count has more likely values than are held."""
    widest = int(widths.max()) + 1 if widths.size else 0
    if widest > limits.WINDOW_CELLS:
        raise TooLargeError(
            f"the noise spreads a true count over {widest:,} values; at most {limits.WINDOW_CELLS:,} are held. "
            "Less noise (a larger epsilon) needs fewer"
        )
    check_transforms(widths.shape[1], widest)


def check_transforms(categories: int, values: int) -> None:
    """Refuse groups whose laws, all of this length, do not fit into memory."""
    if categories * values > limits.TRANSFORM_CELLS:
        raise TooLargeError(
            f"the noise spreads the counts of {categories:,} categories over {values:,} values each; at most "
            f"{limits.TRANSFORM_CELLS:,} in all are held. Less noise (a larger epsilon) or fewer categories need fewer"
        )


def balanced_tilts(cells: GroupCells, sizes: Counts, highest: float = np.inf) -> Floats:
    """The tilts, up to a highest one, under which the mean totals are these sizes, or nearly."""
    k = np.maximum((cells.top > 0).sum(axis=1), 1)
    share = sizes / k
    pull = -np.log((np.where(cells.top > 0, cells.a, 0.0).sum(axis=1) / k + share + 0.5) / (share + 1.5))
    tilt = np.where(np.abs(pull) > 0.5 * cells.slope, pull, 0.0)
    steepest = cells.slope + _STEEPEST + float(np.log(max(1.0, cells.a.max(initial=1.0))))
    steepest += cells.noise.curvature * float(np.abs(sizes - cells.centres.sum(axis=1)).max(initial=0.0))

    def moments(rows: Counts, at: Floats) -> tuple[Floats, Floats]:
        """Return the moments, under the highest tilt where one is beyond it; a mean that is too small there is as good as right."""
        mean, variance = total_moments(cells.rows(rows), np.minimum(at, highest))
        return np.where((at >= highest) & (mean < sizes[rows]), sizes[rows], mean), variance

    return np.minimum(balancing_tilts(moments, sizes, tilt, (-steepest, steepest)), highest)


def matched_tilts(cells: GroupCells, log_slope: LogSlope, shared: float = 0.0) -> Floats:
    """The tilts that are the slope of ln h at the mean total that they give: near them the posterior of the total is that of the noise.

    `shared` is the tilt of all groups, which is part of ln h. Where a total is near 0 the slope changes fast: a tilt that is right there
    would lose the larger totals, and next to none has all of them.
    """
    everything = np.arange(len(cells))
    start = cells.centres.sum(axis=1).astype(np.float64)
    highest = max(0.5 * cells.slope, min(shared, 0.9 * cells.slope))
    tilt = np.minimum(log_slope(np.maximum(start, 0.5), everything)[0], highest)
    gentle = np.clip(tilt - shared, -_GENTLE * cells.slope, _GENTLE * cells.slope) + shared
    near = np.zeros(len(cells), dtype=np.bool_)
    open_ = everything
    for _ in range(_TILT_ROUNDS):
        mean, variance = total_moments(cells.rows(open_), tilt[open_])
        near[open_] = mean < _NEAR_DEVIATIONS * np.sqrt(variance)
        slope, curvature = log_slope(np.maximum(mean, 0.5), open_)
        excess = tilt[open_] - slope
        wrong = (np.abs(excess) * np.sqrt(variance) > CLOSE) & ~near[open_]
        new = tilt[open_] - excess / np.clip(1.0 - curvature * variance, 0.3, 10.0)
        open_ = open_[wrong]
        if not open_.size:
            break
        tilt[open_] = np.minimum(new[wrong], highest)
    return np.where(near, np.minimum(gentle, highest), tilt)
