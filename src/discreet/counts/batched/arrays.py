"""Noisy counts of many groups as arrays, and how they are gone through: in blocks, and groups that do not differ once.

Groups are on the first axis and categories on the second; there are no labels here.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from math import ceil
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.counts.batched.windows import GroupCells, RiseTable
from discreet.counts.factors import Kernel
from discreet.numerics.tails import even_windows
from discreet.text import html_table

DEPTH = 30.0
"""Windows hold all but e^-30 of a tilted law, nearly."""
TRIMMED = 0.05
"""Probability that quantiles leave out at either end of a window, times their precision."""
_QUANTILE_PRECISION, _TAIL_QUANTILE_PRECISION, _LISTED_PRECISION = 2e-8, 1e-6, 4e-10
"""The precision of quantiles: in probability, and relative to the probability beyond them; and in probability where counts are listed."""
_HARD, _HARD_LISTED = 1e-7, 1e-8
"""Bound of an interval from which on a group is looked at by itself; and where counts are listed."""
Result = TypeVar("Result")

_BLOCK = 1 << 13
"""Rows that are worked on together, at most."""
_THREADS = 2
SHOWN_GROUPS = 20
"""Groups that a notebook shows before it is cut."""


@dataclass(frozen=True, eq=False)
class GroupSummaries:
    """Summaries of the probability of every category in every group; 0 where it is not possible."""

    mean: Floats
    std: Floats
    low: Floats
    high: Floats
    """The ends of the equal-tailed interval."""
    error: Floats
    """Bound on how far the probabilities below `low` and above `high` are from what the interval is to leave out on each side."""
    count_mean: Floats
    count_std: Floats
    """The mean and the standard deviation of the true count of every cell."""

    def __repr__(self) -> str:
        groups, categories = self.mean.shape
        return f"GroupSummaries({groups:,} groups by {categories:,} categories)"

    def rows(self, names: Sequence[object]) -> list[tuple[object, ...]]:
        """Mean and interval of every category, as text, for the first groups, which have these names."""
        return [
            (name, *(f"{m:.4g} ({low:.4g} to {high:.4g})" for m, low, high in zip(*each, strict=True)))
            for name, *each in zip(names, *map(np.atleast_2d, (self.mean, self.low, self.high)), strict=False)
        ]

    def _repr_html_(self) -> str:
        first = range(min(len(self.mean), SHOWN_GROUPS))
        return html_table(f"{self!r}: mean and interval", ("group", *range(self.mean.shape[1])), self.rows(first))


@dataclass(frozen=True, eq=False)
class Table:
    """Noisy counts with all that is public about them, made regular: one row for each group that differs."""

    cells: GroupCells
    possible: NDArray[np.bool_]
    rest: Floats
    """The prior parameters of all other possible categories of the group, added up."""
    sizes: Counts
    """The size of each group, if it is public, and else 0."""
    shares: Floats
    """The prior parameter of each group's share of a public total."""
    multiplicity: Counts
    """The number of groups that each row stands for."""
    inverse: NDArray[np.int64] | slice
    """The row that stands for each group."""

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def open(self) -> NDArray[np.bool_]:
        """The cells whose probability is not known to be 0 or 1."""
        return self.possible & (self.rest > 0.0)

    @property
    def precision(self) -> float:
        """The precision of quantiles, in probability."""
        return _QUANTILE_PRECISION if self.cells.listed is None else _LISTED_PRECISION

    @property
    def hard(self) -> float:
        """The bound of an interval from which on a group is looked at by itself."""
        return _HARD if self.cells.listed is None else _HARD_LISTED

    @property
    def prior_total(self) -> Floats:
        """The prior parameters of each group's possible categories, added up; 1 for a group that has none, which must be empty."""
        total = np.where(self.possible, self.cells.a, 0.0).sum(axis=1)
        return np.where(self.possible.any(axis=1), total, 1.0)

    def rows(self, chosen: NDArray[np.int64] | slice) -> "Table":
        """Return the table of some of its rows."""
        sizes = self.sizes[chosen]
        shares, many = self.shares[chosen], self.multiplicity[chosen]
        return Table(self.cells.rows(chosen), self.possible[chosen], self.rest[chosen], sizes, shares, many, slice(None))


def table_of(
    z: Counts,
    a: Floats,
    noise: Kernel,
    possible: NDArray[np.bool_] | None,
    top: Counts,
    sizes: Counts | None = None,
    shares: Floats | None = None,
    *,
    clipped: bool = True,
) -> Table:
    """The rows of a table; `top` is the largest possible count of each group's cells.

    Noisy counts are `clipped` to possible ones unless how far they are beyond says something.
    """
    groups, k = z.shape
    allowed = np.ones((groups, k), dtype=np.bool_) if possible is None else np.asarray(possible, dtype=np.bool_)
    highest = np.where(allowed, top[:, None], 0)
    centres = np.clip(z, 0, highest) if clipped and not (noise.curvature or noise.peak) else z
    share = np.ones(1) if shares is None else shares
    size = np.zeros(groups, dtype=np.int64) if sizes is None else sizes
    keys = [*centres.T, *([] if sizes is None else [sizes]), *([] if possible is None else allowed.T.astype(np.int64))]
    chosen, inverse, multiplicity = _distinct(keys) if groups and a.ndim == 1 and share.size == 1 else _all(groups)
    prior, share = np.broadcast_to(a, (groups, k))[chosen], np.broadcast_to(share, groups)[chosen]
    allowed, centres, highest = allowed[chosen], centres[chosen], highest[chosen]
    rest = np.where(allowed, prior, 0.0) @ (1.0 - np.eye(k))
    last = int(min(highest.max(initial=0), centres.max(initial=0) + 200.0 / noise.slope))
    cells = GroupCells(centres, prior, noise, highest, RiseTable(a, last))
    return Table(cells, allowed, rest, size[chosen], share, multiplicity, inverse)


def _all(groups: int) -> tuple[NDArray[np.int64] | slice, NDArray[np.int64] | slice, Counts]:
    return slice(None), slice(None), np.ones(groups, dtype=np.int64)


def _distinct(keys: list[Counts]) -> tuple[NDArray[np.int64] | slice, NDArray[np.int64] | slice, Counts]:
    """Rows that differ, which of them each group is, and how many groups each is; all rows if their keys do not fit into an integer."""
    groups, code, size = len(keys[0]), np.zeros(len(keys[0]), dtype=np.int64), 1
    for key in keys:
        least = int(key.min(initial=0))
        span = int(key.max(initial=0)) - least + 1
        size *= span
        if size >= 2**62:
            return _all(groups)
        code = code * span + (key - least)
    _, chosen, inverse, multiplicity = np.unique(code, return_index=True, return_inverse=True, return_counts=True)
    if len(chosen) > _MOSTLY * groups:
        return _all(groups)
    return chosen, inverse, multiplicity


_MOSTLY = 0.95
"""The part of the groups that differ above which all are computed."""


def each_block(table: Table, work: Callable[[Table], Result]) -> list[Result]:
    """Apply `work` to blocks of rows, in order; two are worked on at a time, and none is left for one thread alone.

    Few rows are one block: where a total is public they may be looked at one by one, all together.
    """
    together = 1 if len(table) <= limits.GROUPS_CONVOLVED else _THREADS
    blocks = together * max(1, ceil(len(table) / (together * _BLOCK)))
    size = max(1, ceil(len(table) / blocks))
    parts = [table.rows(slice(start, start + size)) for start in range(0, len(table), size)]
    if len(parts) < 2:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(work, parts))


def joined(table: Table, parts: list[GroupSummaries]) -> GroupSummaries:
    """The summaries of all groups from those of the blocks of rows."""
    if not parts:
        return known(table)
    names = (field.name for field in fields(GroupSummaries))
    return GroupSummaries(*(np.concatenate([getattr(part, name) for part in parts])[table.inverse] for name in names))


def precision(tail: float, probability: float = _QUANTILE_PRECISION) -> float:
    """Return the relative precision to which the probability beyond a quantile is `tail`."""
    return min(_TAIL_QUANTILE_PRECISION, probability / tail)


def known(table: Table) -> GroupSummaries:
    """Summaries with 1 for a category that is the only possible one, which has all records of its group, and 0 elsewhere."""
    sure = np.where(table.possible & ~(table.rest > 0.0), 1.0, 0.0)
    nothing, counts = np.zeros_like(sure), sure * table.sizes[:, None].astype(np.float64)
    return GroupSummaries(sure, nothing, sure.copy(), sure.copy(), nothing.copy(), counts, nothing.copy())


def trimmed(weight: Floats, tail: float) -> tuple[Counts, Floats, Floats]:
    """Trim rows of weights of less than `tail` at either end: their beginnings, the rows, of one length, and what was left out."""
    start, width = even_windows(weight, tail)
    kept = np.take_along_axis(weight, start[:, None] + np.arange(width), axis=1)
    mass = kept.sum(axis=1, keepdims=True)
    return start, kept / mass, np.maximum(1.0 - (mass / weight.sum(axis=1, keepdims=True))[:, 0], 0.0)
