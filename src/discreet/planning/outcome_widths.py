"""Widths of the noise-aware intervals of many raw outcomes at once, for planning (docs/howto/planning.md).

`inference` reads one outcome as exactly as floats allow. A plan reads thousands, and a small error does no harm:
over random configurations mean widths were off by less than 0.4 %, and in nine of ten by less than 0.1 % (tests/planning/test_widths.py).
So the same law, `w_x ∝ Π_i g_i(x_i)` on a fixed or a private total, is put on a grid.
"""

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.numerics.gamma import log_rising
from discreet.planning.mixture_widths import interval_widths
from discreet.planning.outcome_factors import OutcomeFactors
from discreet.planning.outcome_grids import Grid, blocks, cells_of
from discreet.planning.outcome_nodes import Nodes, totals_of

_BLOCKS, _BLOCKS_EACH = 96, 48
"""Blocks of cells that a mixture is made of, and given each total, where the total is private."""
_NEGLIGIBLE_TOTAL = 1e-5
"""A total with less than this part of the largest weight is left out."""
_HELD = 3_000_000
"""Cells of all transforms that are held at a time."""


@dataclass(frozen=True, eq=False)
class OutcomeReader(OutcomeFactors):
    """Someone who sees a raw outcome, and computes intervals from it."""

    def widths(self, raw: Counts, targets: Counts, mass: float) -> Floats:
        """The widths of the intervals of the target categories (a row of them for each outcome, and so many columns)."""
        totals = 1 if self.n is not None else totals_of(self.a)
        size = max(1, _HELD // (len(self.a) * cells_of(len(self.a)) * 4 * totals))
        parts = []
        for start in range(0, len(raw), size):
            centres = np.zeros((len(raw[start : start + size]), len(self.a)))
            centres[:, : raw.shape[1]] = raw[start : start + size]
            read = self._of_any_total if self.n is None else self._of_fixed_total
            parts.append(read(centres, targets[start : start + size], mass))
        return np.concatenate(parts)

    @property
    def _far(self) -> float:
        """Tilts beyond this leave no count but the first or the last."""
        return 60.0 + float(np.abs(np.log(self.a)).max())

    def _of_fixed_total(self, centres: Floats, targets: Counts, mass: float) -> Floats:
        nodes, n = Nodes.of(self, centres), np.full(len(centres), float(self.n or 0))
        rate = nodes.balanced(np.arange(len(n)), n, self._far, np.zeros(len(n))).rate
        grid = Grid.of(self, centres, nodes, rate, n)
        return _flat_widths(*blocks(*grid.mixtures(targets), _BLOCKS), mass)

    def _of_any_total(self, centres: Floats, targets: Counts, mass: float) -> Floats:
        """A mixture over totals, of which some stand for all; given one, the law is that of a fixed total."""
        nodes = Nodes.of(self, centres)
        deviation = np.full(len(centres), np.sqrt(2.0 * len(self.a)) / self.noise.slope + 1.0)
        totals = nodes.totals(self.a, self._far, np.maximum(centres.sum(axis=1), 0.0), deviation)
        gaps, n, rate = totals.gaps(_NEGLIGIBLE_TOTAL), totals.n, totals.rate
        # A gap more at either end, of which nothing is kept, so that every total has one before and one after it.
        places = np.pad(gaps.place, ((0, 0), (1, 1), (0, 0)), mode="edge")
        before, after = np.full((2, *places.shape), -np.inf)
        shape = (*n.shape, targets.shape[1], _BLOCKS_EACH)
        filled = [np.full(shape, fill) for fill in (0.0, 1.0, 1.0, 0.0)]
        held = max(1, _HELD // (len(self.a) * cells_of(len(self.a)) * 4))
        for row, at in np.array_split(np.stack(np.nonzero(gaps.used)), -(-int(gaps.used.sum()) // held), axis=1):
            around = np.stack([places[row, at], places[row, at + 1]], axis=1)
            ends = around.min(axis=(1, 2)), around.max(axis=(1, 2))
            grid = Grid.of(self, centres[row], nodes.taken(row), rate[row, at], n[row, at], ends)
            logs = grid.log_totals(around.reshape(len(row), -1)).reshape(around.shape) - rate[row, at][:, None, None] * around
            before[row, at], after[row, at + 1] = logs[:, 0], logs[:, 1]
            for whole, piece in zip(filled, blocks(*grid.mixtures(targets[row]), _BLOCKS_EACH), strict=True):
                whole[row, at] = piece
        factor = -log_rising(self.whole, gaps.place, 1.0)
        filled[0] *= gaps.weights(after[:, 1:-1] + factor, before[:, 1:-1] + factor, totals.log_weight)[..., None, None]
        weight, first, second, spread = (np.moveaxis(part, 1, 2).reshape(*targets.shape, -1) for part in filled)
        return _flat_widths(weight, first, second, spread, mass)


def _flat_widths(weight: Floats, a: Floats, b: Floats, spread: Floats, mass: float) -> Floats:
    """`interval_widths` of mixtures by outcome and target."""
    shape = weight.shape[:-1]
    flat = [np.broadcast_to(part, weight.shape).reshape(-1, weight.shape[-1]) for part in (weight, a, b, spread)]
    return interval_widths(flat[0], flat[1], flat[2], mass, flat[3]).reshape(shape)
