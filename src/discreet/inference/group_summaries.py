"""Posteriors of many groups at once: means, standard deviations and intervals of all their probabilities (docs/inference.md).

Arrays without labels: groups on the first axis, categories on the second. Three promises say what is public: the size of every group, the
total of all groups, or nothing. Groups are gone through in blocks, so that memory is bounded and cost is linear in the cells; groups with
the same noisy counts are computed once.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Counts, Floats
from discreet.inference.count_windows import Cells, RiseTable, batches, ranges, windows
from discreet.inference.group_sums import fixed_totals
from discreet.inference.group_tilts import balanced_tilts, check_widths
from discreet.inference.line_quantiles import BetaLines

DEPTH = 30.0
"""Windows hold all but e^-30 of a tilted law, nearly."""
TRIMMED = 1e-9
"""Probability that quantiles leave out at either end of a window."""
PRECISION = 1e-6
"""How exactly quantiles are found: relative to the probability beyond them."""
_BLOCK = 1 << 13
_THREADS = 2


@dataclass(frozen=True, eq=False)
class GroupSummaries:
    """What is known about the probability of every category in every group; 0 where it is not possible."""

    mean: Floats
    std: Floats
    low: Floats
    high: Floats
    """The ends of the equal-tailed interval."""
    error: Floats
    """Bound on how far the probabilities below `low` and above `high` are from what the interval is to leave out on each side."""


@dataclass(frozen=True, eq=False)
class Table:
    """Noisy counts with all that is public about them, made regular: one row for each group that differs."""

    cells: Cells
    possible: NDArray[np.bool_]
    rest: Floats
    """The prior parameters of all other possible categories of the group, added up."""
    sizes: Counts | None
    multiplicity: Counts
    inverse: NDArray[np.int64] | slice
    """Which row stands for each group."""

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def open(self) -> NDArray[np.bool_]:
        """The cells whose probability is not known to be 0 or 1."""
        return self.possible & (self.rest > 0.0)

    def rows(self, chosen: NDArray[np.int64] | slice) -> "Table":
        """Some of the rows."""
        sizes = None if self.sizes is None else self.sizes[chosen]
        return Table(self.cells.rows(chosen), self.possible[chosen], self.rest[chosen], sizes, self.multiplicity[chosen], slice(None))


def table_of(z: Counts, a: Floats, slope: float, possible: NDArray[np.bool_] | None, top: Counts, sizes: Counts | None) -> Table:
    """The rows of a table; `top` is the largest possible count of each group's cells."""
    groups, k = z.shape
    allowed = np.ones((groups, k), dtype=np.bool_) if possible is None else np.asarray(possible, dtype=np.bool_)
    highest = np.where(allowed, top[:, None], 0)
    centres = np.clip(z, 0, highest)
    keys = [*centres.T, *([] if sizes is None else [sizes]), *([] if possible is None else allowed.T.astype(np.int64))]
    chosen, inverse, multiplicity = _distinct(keys) if np.ndim(a) == 1 else _all(groups)
    prior = np.broadcast_to(np.asarray(a, dtype=np.float64), (groups, k))[chosen]
    allowed, centres, highest = allowed[chosen], centres[chosen], highest[chosen]
    rest = np.where(allowed, prior, 0.0) @ (1.0 - np.eye(k))
    last = int(min(highest.max(initial=0), centres.max(initial=0) + 200.0 / slope))
    cells = Cells(centres, prior, slope, highest, RiseTable(np.asarray(a, dtype=np.float64), last))
    return Table(cells, allowed, rest, None if sizes is None else sizes[chosen], multiplicity, inverse)


def _all(groups: int) -> tuple[NDArray[np.int64] | slice, NDArray[np.int64] | slice, Counts]:
    return slice(None), slice(None), np.ones(groups, dtype=np.int64)


def _distinct(keys: list[Counts]) -> tuple[NDArray[np.int64] | slice, NDArray[np.int64] | slice, Counts]:
    """Rows that differ, which of them each group is, and how many groups each is; all rows if their keys do not fit into an integer."""
    groups, code, size = len(keys[0]), np.zeros(len(keys[0]), dtype=np.int64), 1
    for key in keys:
        span = int(key.max(initial=0)) + 1
        size *= span
        if size >= 2**62:
            return _all(groups)
        code = code * span + key
    _, chosen, inverse, multiplicity = np.unique(code, return_index=True, return_inverse=True, return_counts=True)
    if len(chosen) > _MOSTLY * groups:
        return _all(groups)
    return chosen, inverse, multiplicity


_MOSTLY = 0.95
"""Where more than this part of the groups differ they are all computed."""


def public_sizes(
    z: Counts, a: Floats, slope: float, sizes: Counts, possible: NDArray[np.bool_] | None = None, mass: float = 0.95
) -> GroupSummaries:
    """All probabilities where the size of every group is public: the counts of a group add up to it.

    Args:
        z: The noisy counts, one row for each group.
        a: The prior parameters, one for each category, or a row for each group.
        slope: How fast the log likelihood falls on either side of a noisy count.
        sizes: The size of every group.
        possible: Which categories can occur in which group; all if left out.
        mass: How much probability intervals hold.
    """
    table = table_of(z, a, slope, possible, sizes, sizes)
    return over_blocks(table, lambda block: _of_sizes(block, 0.5 * (1.0 - mass)))


def over_blocks(table: Table, summarise: "Callable[[Table], GroupSummaries]") -> GroupSummaries:
    """The summaries of all groups, two blocks of rows at a time."""
    blocks = [table.rows(slice(start, start + _BLOCK)) for start in range(0, len(table), _BLOCK)]
    if not blocks:
        return GroupSummaries(*(np.empty(table.possible.shape) for _ in range(5)))
    with ThreadPoolExecutor(_THREADS) as pool:
        parts = list(pool.map(summarise, blocks))
    joined = (np.concatenate([getattr(part, name) for part in parts]) for name in ("mean", "std", "low", "high", "error"))
    return GroupSummaries(*(values[table.inverse] for values in joined))


def known(table: Table) -> GroupSummaries:
    """Summaries with 1 for a category that is the only possible one, and 0 elsewhere."""
    sure = np.where(table.possible & ~(table.rest > 0.0), 1.0, 0.0)
    return GroupSummaries(sure, np.zeros_like(sure), sure.copy(), sure.copy(), np.zeros_like(sure))


def _of_sizes(table: Table, tail: float) -> GroupSummaries:
    cells, sizes = table.cells, table.sizes
    assert sizes is not None
    result = known(table)
    tilt = balanced_tilts(cells, sizes)
    low, high = ranges(cells, tilt, DEPTH)
    check_widths(high - low)
    for rows in batches((high - low).max(axis=1) + 1, low.shape[1]):
        part = table.rows(rows)
        found = windows(part.cells, tilt[rows], low[rows], high[rows], DEPTH)
        law = fixed_totals(found, sizes[rows], cells.slope, DEPTH)
        group, cell = np.nonzero(part.open)
        to = rows[group], cell
        lines = BetaLines(law.weight[group, cell], law.low[group, cell], sizes[rows][group], part.cells.a[group, cell], part.rest[group, cell])
        mean, variance = lines.moments()
        result.mean[to], result.std[to] = mean, np.sqrt(variance)
        start, weight, dropped = trimmed(lines.weight, TRIMMED)
        short = BetaLines(weight, lines.first + start, lines.n, lines.a, lines.b)
        result.low[to], result.high[to], wrong = short.interval(tail, PRECISION)
        result.error[to] = wrong + dropped + law.omitted[group]
    return result


def trimmed(weight: Floats, tail: float) -> tuple[Counts, Floats, Floats]:
    """Rows of weights without what holds less than `tail` at either end, all of one length: where they begin, they, and what was left out."""
    sums = np.cumsum(weight, axis=1)
    whole = sums[:, -1:]
    first = (sums <= tail * whole).sum(axis=1)
    last = (sums < (1.0 - tail) * whole).sum(axis=1)
    width = int((last - first).max(initial=0)) + 1
    start = np.clip(first, 0, weight.shape[1] - width)
    index = start[:, None] + np.arange(width)
    kept = np.take_along_axis(weight, index, axis=1)
    mass = kept.sum(axis=1, keepdims=True)
    return start, kept / mass, np.maximum(1.0 - (mass / whole)[:, 0], 0.0)
