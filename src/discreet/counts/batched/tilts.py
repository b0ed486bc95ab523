"""Tilts of many groups: for each the λ under which independent counts have the total that the posterior has (docs/proofs/inference.md).

A tilt need only be right to a part of the spread of the total, so it is found on coarse windows.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.counts.batched.windows import GroupCells, ranges, windows
from discreet.counts.runs import Windows
from discreet.errors import TooLargeError
from discreet.numerics.products import batches
from discreet.numerics.tilts import CLOSE, balancing_tilts

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
