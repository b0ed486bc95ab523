"""Widths of the noise-aware intervals of many raw outcomes at once, for planning (docs/planning.md).

`inference` reads one outcome as exactly as floats allow. A plan reads thousands, and an error of a part in a thousand does no harm. So
the same law, `w_x ∝ Π_i g_i(x_i)` on a fixed or a private total, is put on a grid.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Counts, Floats
from discreet.numerics.gamma import log_rising
from discreet.planning.mixture_widths import interval_widths
from discreet.planning.outcome_factors import Factors
from discreet.planning.outcome_grids import Grid, blocks, cells_of
from discreet.planning.outcome_nodes import Nodes, Totals, totals_of

_BLOCKS, _BLOCKS_EACH = 96, 48
"""Blocks of cells that a mixture is made of, and given each total, where the total is private."""
_NEGLIGIBLE_TOTAL = 1e-5
"""A total with less than this part of the largest weight is left out."""
_HELD = 3_000_000
"""Cells of all transforms that are held at a time."""


@dataclass(frozen=True, eq=False)
class OutcomeReader(Factors):
    """Someone who sees a raw outcome, and computes intervals from it."""

    def widths(self, raw: Counts, targets: Counts, mass: float) -> Floats:
        """The widths of the intervals of the target categories (a row of them for each outcome, and so many columns)."""
        totals = 1 if self.n is not None else totals_of(self.a)[0]
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
        n, rate = totals.n, totals.rate
        kept = totals.log_weight > totals.log_weight.max(axis=1, keepdims=True) + np.log(_NEGLIGIBLE_TOTAL)
        logs, shape = np.full(n.shape, -np.inf), (*n.shape, targets.shape[1], _BLOCKS_EACH)
        filled = [np.full(shape, fill) for fill in (0.0, 1.0, 1.0, 0.0)]
        held = max(1, _HELD // (len(self.a) * cells_of(len(self.a)) * 4))
        for row, at in np.array_split(np.stack(np.nonzero(kept)), -(-int(kept.sum()) // held), axis=1):
            grid = Grid.of(self, centres[row], nodes.taken(row), rate[row, at], n[row, at])
            logs[row, at] = grid.log_probability() - rate[row, at] * n[row, at]
            for whole, piece in zip(filled, blocks(*grid.mixtures(targets[row]), _BLOCKS_EACH), strict=True):
                whole[row, at] = piece
        with np.errstate(divide="ignore"):
            logs = logs - log_rising(self.whole, n, 1.0) + np.log(totals.stands_for)
        # A grid that misses a total altogether, which few cells for many categories may, leaves what the nodes say.
        logs = np.where(np.isfinite(logs).any(axis=1, keepdims=True), logs, np.where(kept, totals.log_weight, -np.inf))
        share = np.exp(_sharpened(logs, totals))
        filled[3] += _between_totals(filled, kept, totals)
        filled[0] *= share[..., None, None]
        weight, first, second, spread = (np.moveaxis(part, 1, 2).reshape(*targets.shape, -1) for part in filled)
        return _flat_widths(weight, first, second, spread, mass)


def _sharpened(logs: Floats, totals: Totals) -> Floats:
    """The log weights of totals, so much narrower as each total's components are made wider by the others that it stands for."""
    share = np.exp(logs - logs.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    away = totals.n - (share * totals.n).sum(axis=1, keepdims=True)
    variance = (share * away**2).sum(axis=1, keepdims=True)
    inside = (share * (totals.stands_for**2 - 1.0)).sum(axis=1, keepdims=True) / 12.0
    part = np.minimum(np.maximum(inside, 0.0) / np.maximum(variance, 1e-9), 0.5)
    logs = logs - 0.5 * away**2 / np.maximum(variance, 1e-9) * (part / (1.0 - part))
    return np.asarray(logs - logs.max(axis=1, keepdims=True))


def _between_totals(filled: list[Floats], kept: NDArray[np.bool_], totals: Totals) -> Floats:
    """The variance of each component from the totals between those that stand for all: means move as they do from one to the next."""
    weight, a, b, _ = filled
    mean = (weight * a / (a + b)).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.abs(np.diff(np.log(mean), axis=1))
    both = (kept[:, 1:] & kept[:, :-1])[..., None]
    step, count = np.where(both, step, 0.0), both.astype(np.float64)
    ends = np.zeros_like(step[:, :1])
    around = np.concatenate([ends, step], axis=1) + np.concatenate([step, ends], axis=1)
    number = np.concatenate([ends, count + ends], axis=1) + np.concatenate([count + ends, ends], axis=1)
    relative = (around / np.maximum(number, 1.0)) ** 2 / 12.0 * (1.0 - np.maximum(totals.stands_for, 1.0) ** -2)[..., None]
    return np.asarray(np.minimum(relative, 1.0)[..., None] * (a / (a + b)) ** 2)


def _flat_widths(weight: Floats, a: Floats, b: Floats, spread: Floats, mass: float) -> Floats:
    """`interval_widths` of mixtures by outcome and target."""
    shape = weight.shape[:-1]
    flat = [np.broadcast_to(part, weight.shape).reshape(-1, weight.shape[-1]) for part in (weight, a, b, spread)]
    return interval_widths(flat[0], flat[1], flat[2], mass, flat[3]).reshape(shape)
