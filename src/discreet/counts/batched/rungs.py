"""Totals with a weight of their own under several tilts: where one tilt cannot hold all likely totals of a group.

The weight of a total n of independent counts is `h(n) Z(λ) e^{-λn} P_λ(n)` for any tilt λ. Under a tilt for which n is about the mean,
P_λ(n) is far from the rounding errors of transforms. The first tilt of a group is that of its noisy total; further rungs are added above
and below it as long as there are totals beyond that have a weight.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet import limits
from discreet.arrays import Counts, Floats, Mask
from discreet.counts.batched.sums import FreeTotals
from discreet.counts.batched.tilts import balanced_tilts, check_transforms, check_widths
from discreet.counts.batched.windows import GroupCells, ranges, windows
from discreet.numerics.products import batches

_HELD_TOTALS = 0.8
"""Down to which part of the depth of windows, in logarithms, the tilted law of totals is held: deeper down windows are too short for it."""
_NEGLIGIBLE_TOTALS = 10.0
"""Totals whose weight is this far below the largest, in logarithms, are negligible."""
_AHEAD = 2.5
"""The distance from the last total of a rung to the middle of the next one, in standard deviations."""
_GENTLY, _STEEPLY = 0.2, 0.9
"""The steepest tilts upwards of first and of other rungs, in parts of the slope of the noise: steeper ones have long windows."""
_LENGTHENED = 1.5
"""The greatest length of a window, in parts of the length that its depth takes on the side to which it is tilted."""
_MOST_RUNGS = 40
_ARRAYS_HELD = 4
"""Arrays of all counts of a batch that are worked on together."""

LogRoot = Callable[[Counts], Floats]
"""ln h of totals."""


@dataclass(frozen=True, eq=False)
class Rung:
    """Some groups of a batch under a tilt each, and the weights of the totals that are looked at under it."""

    rows: NDArray[np.int64]
    """The groups of the batch, as indices."""
    found: FreeTotals
    log_weight: Floats
    """The logarithm of the weight of every total, on a scale that all rungs of a group share; -inf for totals of other rungs."""
    log_factor: Floats
    """The logarithm of the weight of every total without the tilted law of the total."""
    alone: bool = False
    """Whether there are no other rungs."""

    def end(self, *, upper: bool) -> tuple[Counts, Floats]:
        """The last (first) total that is held for each group, and its log weight; a weight of -inf where there is none."""
        held = self.log_weight > -np.inf
        last = held.shape[1] - 1 - np.argmax(held[:, ::-1], axis=1) if upper else np.argmax(held, axis=1)
        return self.found.first + last, np.take_along_axis(self.log_weight, last[:, None], axis=1)[:, 0]


def ladders(cells: GroupCells, log_root: LogRoot, depth: float, most: int) -> Iterator[tuple[NDArray[np.int64], list[Rung]]]:
    """Return all groups in batches of similar width: indices of groups, a rung with all of them, and others with some.

    No total is above `most`.
    """
    noise = np.sqrt(2.0 * cells.z.shape[1]) / cells.slope
    start = np.clip(np.rint(np.maximum(cells.z.sum(axis=1), noise)), 0.0, most)
    tilt = balanced_tilts(cells, start, _GENTLY * cells.slope)
    low, high = ranges(cells, tilt, depth)
    for rows in batches((high - low).max(axis=1) + 1, _ARRAYS_HELD * low.shape[1]):
        climb = _Climb(cells.rows(rows), log_root, depth, most)
        found = list(climb.rungs(tilt[rows]))
        yield rows, found if len(found) > 1 else [replace(found[0], alone=True)]


@dataclass(frozen=True, eq=False)
class _Climb:
    """The groups of a batch, whose rungs are looked for."""

    cells: GroupCells
    log_root: LogRoot
    depth: float
    most: int

    @property
    def _steepest(self) -> float:
        """The steepest tilt of a further rung: under a steeper one windows would be longer than are held."""
        slope, counts = self.cells.slope, self.cells.z.shape[1]
        held = slope - _LENGTHENED * self.depth * counts / limits.TRANSFORM_CELLS
        return float(max(_GENTLY * slope, min(_STEEPLY * slope, held)))

    def rungs(self, tilt: Floats) -> Iterator[Rung]:
        """The first rungs of all groups, and then others above and below."""
        every = np.arange(len(self.cells))
        first = self._rung(every, tilt, np.zeros_like(every), np.full_like(every, self.most))
        yield first
        best = first.log_weight.max(axis=1)
        for upper in (True, False):
            rung, rows = first, every
            for _ in range(_MOST_RUNGS):
                edge, weight = rung.end(upper=upper)
                more = (weight > best[rows] - _NEGLIGIBLE_TOTALS) & ((edge < self.most) if upper else (edge > 0))
                if not more.any():
                    break
                rows, edge = rows[more], edge[more]
                deviation = np.sqrt(rung.found.windows.moments[1].sum(axis=1)[more]) + 1.0
                if upper:
                    centre, ends = np.minimum(edge + _AHEAD * deviation, self.most), (edge + 1, np.full_like(edge, self.most))
                else:  # near 0 totals vary less
                    near = _AHEAD * deviation * np.sqrt(edge / np.maximum(rung.found.centre[more], edge))
                    centre, ends = np.maximum(edge - near, 0.1 * edge), (np.zeros_like(edge), edge - 1)
                tilt = balanced_tilts(self.cells.rows(rows), np.rint(centre), self._steepest)
                rung = self._rung(rows, tilt, *ends)
                best[rows] = np.maximum(best[rows], rung.log_weight.max(axis=1))
                yield rung

    def _rung(self, rows: NDArray[np.int64], tilt: Floats, first: Counts, last: Counts) -> Rung:
        """Return a rung: some groups under a tilt each, with totals between two ends."""
        cells = self.cells.rows(rows)
        low, high = ranges(cells, tilt, self.depth)
        check_widths(high - low)
        fall = np.maximum(cells.slope - tilt, 1e-3 * cells.slope)
        found = FreeTotals.of(windows(cells, tilt, low, high, self.depth), fall, self.depth)
        check_transforms(low.shape[1], found.transforms.length)
        totals, law = found.totals, found.law
        least = np.exp(-_HELD_TOTALS * self.depth) * law.max(axis=1, keepdims=True)
        held: Mask = (law > least) & (totals >= first[:, None]) & (totals <= last[:, None])
        factor = self.log_root(np.clip(totals, 0, self.most)) - tilt[:, None] * totals + found.windows.log_sum[:, None]
        logs = np.where(held, factor + np.log(np.where(held, law, 1.0)), -np.inf)
        return Rung(rows, found, logs, factor)
