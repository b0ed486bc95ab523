"""Tables as datasets: counts of every cell, what is public about them, and which tables are neighbours (docs/howto/tables.md).

| public | a step | what stays |
|---|---|---|
| the size of every group | replaces a record by another of the same group | every group's total |
| the total | replaces a record by another of any group | the total |
| nothing | adds or removes a record | nothing |
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import limits
from discreet.arrays import Counts
from discreet.errors import InvalidInputError, RefusedError, TooLargeError
from discreet.model.cells import Cells, Groups
from discreet.model.datasets import Relation, Space, exchanges, moved, single_steps
from discreet.validation import Public


@dataclass(frozen=True)
class TableSpace(Space):
    """The tables that a mechanism may be given. Here `k` is the number of cells that can occur, and `n` the total, if it is public."""

    cells: Cells
    sizes: tuple[int, ...] | None = None
    """The size of every group, if they are public."""

    def __post_init__(self) -> None:
        if self.sizes is None:
            if self.k < 2:
                raise InvalidInputError("a table needs at least two cells that can occur")
            return
        if len(self.sizes) != len(self.cells.groups):
            raise InvalidInputError(f"n must have a size for each of the {len(self.cells.groups):,} groups, got {len(self.sizes):,}")
        sizes, possible = np.array(self.sizes), self.cells.possible.sum(axis=1)
        if (sizes[possible == 0] > 0).any():
            raise InvalidInputError("a group whose cells are all impossible must have size 0")
        if not (sizes[possible > 1] > 0).any():
            raise InvalidInputError("no group has records and two categories that can occur, so there is nothing to release")

    @property
    def published(self) -> Public:
        """Return whether the size of every group, the total or nothing is public about the counts."""
        return "sizes" if self.sizes is not None else "nothing" if self.n is None else "total"

    @property
    def relation(self) -> Relation:
        """The relation whose steps keep just what is public."""
        if self.sizes is not None:
            return Relation("replace one", self.cells.groups.columns)
        return super().relation

    @property
    def groups(self) -> Groups:
        """The groups of the table."""
        return self.cells.groups

    @property
    def total(self) -> int:
        """Refuse: whatever asks for one total is about one variable."""
        raise RefusedError("this is computed for one variable and not for tables; ask it of one group, as a mechanism without by")

    def is_few(self, limit: int) -> bool:  # noqa: ARG002
        """Tables are not listed."""
        return False

    def points(self) -> Counts:
        """Refuse: tables are not listed."""
        raise TooLargeError("the tables of a mechanism are not listed")

    @cached_property
    def blocks(self) -> tuple[Counts, ...]:
        """The cells whose total is public, as positions: of every group, of all groups together, or none."""
        where = np.flatnonzero(self.cells.possible)
        if self.sizes is None:
            return () if self.n is None else (where,)
        return tuple(np.split(where, np.cumsum(self.cells.possible.sum(axis=1))[:-1]))

    @property
    def fewest(self) -> int:
        """Return how many cells the smallest block has in which a step is possible: there a release tells most (docs/proofs/tables.md)."""
        if self.sizes is None:
            return self.k
        possible = self.cells.possible.sum(axis=1)
        return int(possible[(possible > 1) & (np.array(self.sizes) > 0)].min())

    def neighbours(self, counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Every table that is one step from this one, all cells in a row."""
        if not self.blocks:
            yield from moved(counts, single_steps(np.flatnonzero(self.cells.possible).tolist()))
        for block in self.blocks:
            yield from moved(counts, exchanges(block.tolist()))

    def pair(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Two neighbouring tables, in the cells of a block where the loss is largest; without a public total, in one cell."""
        if self.n is None:
            return (0,), (1,)
        records = self.n
        if self.sizes is not None:
            possible = self.cells.possible.sum(axis=1)
            records = next(size for size, cells in zip(self.sizes, possible.tolist(), strict=True) if size and cells == self.fewest)
        rest = (0,) * (min(self.fewest, _SHOWN_CELLS) - 2)
        return (records, 0, *rest), (records - 1, 1, *rest)

    def checked(self, counts: Any) -> Counts:
        """Private counts as a table, a row a group; refused if they are not of this space. Messages never say how much or where."""
        self._check_labels(counts)
        try:
            table = _clipped(np.asarray(counts))
        except (TypeError, ValueError):
            raise InvalidInputError(_SHAPE) from None
        if table.dtype.kind not in "iuf" or table.ndim != 2:
            raise InvalidInputError(_SHAPE)
        if table.shape != self.cells.shape:
            raise InvalidInputError(f"counts must have shape {self.cells.shape}, a row a group; got {table.shape}")
        if table.dtype.kind == "f" and not (np.isfinite(table) & (table == np.floor(table))).all():
            raise InvalidInputError("counts must be whole numbers; got one that is not")
        if (table < 0).any():
            raise InvalidInputError("counts must not be negative")
        if (table[~self.cells.possible] != 0).any():
            raise InvalidInputError("counts must be 0 in the cells that are declared impossible; one is not")
        if self.n is not None and (table > limits.COUNT).any():
            raise InvalidInputError("counts and their total must be at most 2**53; got a larger number")
        wide = table.astype({"i": np.int64, "u": np.uint64, "f": np.float64}[table.dtype.kind])
        result: Counts = np.minimum(wide, wide.dtype.type(limits.COUNT)).astype(np.int64)
        if self.n is not None and result.sum(dtype=np.float64) > 2 * limits.COUNT:  # so that no sum of integers wraps around
            raise InvalidInputError("counts and their total must be at most 2**53; got a larger number")
        if self.sizes is not None and (result.sum(axis=1) != np.array(self.sizes)).any():
            raise InvalidInputError("the counts of every group must add up to its declared size; they do not")
        if self.n is not None and sum(result.sum(axis=1).tolist()) != self.n:
            raise InvalidInputError(f"counts must add up to the declared number of records, n = {self.n}; they do not")
        result.setflags(write=False)
        return result

    def _check_labels(self, counts: Any) -> None:
        """Counts that know their cells must have been counted for just these.

        Where sizes are public, they must not have been counted strictly, and everyone must be in one group. The public reason comes
        first, so that a table that was counted strictly is refused alike whatever is in it.
        """
        known = getattr(counts, "cells", None)
        if not isinstance(known, Cells):
            if hasattr(counts, "columns"):
                raise InvalidInputError(
                    "counts are a data frame, whose labels would not be looked at: count with discreet.count(..., by=...), or give a plain "
                    "array with a row for every declared group and a column for every category, in their order"
                )
            return
        if not known.fits(self.cells):
            raise InvalidInputError("counts must have the mechanism's categories, groups and impossible cells, in its order")
        why = _STRICT if getattr(counts, "strict", False) else _MOVES if getattr(counts, "moves", False) else None
        if self.sizes is not None and why is not None:
            raise InvalidInputError(
                f"{why}: give the total as n, or nothing; nothing was spent",
                in_shell=f"{why}: use --public total or --public nothing; nothing was spent",
            )

    def holds(self, raw: Counts, *, keeps_totals: bool) -> bool:
        """Return whether this is an outcome of some table: noise in the cells that can occur, and public totals, if noise keeps them."""
        if raw.shape != self.cells.shape or raw.dtype.kind not in "iu" or (raw[~self.cells.possible] != 0).any():
            return False
        largest = max(int(raw.max()), -int(raw.min()))
        if largest >= limits.RAW_OUTCOME:
            return False
        if not keeps_totals:
            return True
        fits = largest * raw.size < limits.RAW_OUTCOME  # otherwise the sum is of Python's integers, which have no end
        totals = (raw if fits else raw.astype(object)).sum(axis=1)
        if self.sizes is not None:
            return bool((totals == np.array(self.sizes)).all())
        return self.n is None or int(totals.sum()) == self.n


def _clipped(table: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers of any size as an array of integers: those beyond 2**53 are all alike, and so are those below 0."""
    if table.dtype != object or table.ndim != 2 or not all(type(count) is int for count in table.flat):
        return table
    return np.array([[min(max(count, -1), limits.COUNT + 1) for count in row] for row in table.tolist()], dtype=np.int64)


_STRICT = "counted strictly, an answer that makes its row unreadable decides its group, so the sizes of groups must not be published"
_MOVES = "someone has rows in more than one group, so the groups are not fixed by design and their sizes must not be published"
_SHAPE = "counts must be a table of whole numbers, a row a group and a column a category"
_SHOWN_CELLS = 8


def space_of(cells: Cells, n: int | tuple[int, ...] | None) -> TableSpace:
    """The tables of these cells, by what is public: the size of every group, the total, or nothing."""
    sizes = n if isinstance(n, tuple) else None
    total = sum(sizes) if sizes is not None else n if isinstance(n, int) else None
    if total is not None and total > limits.COUNT:
        raise InvalidInputError("the sizes of all groups must add up to at most 2**53")
    return TableSpace(cells.size, total, cells, sizes)
