"""Work on many rows in parts that a processor's cache holds, and products of them with one matrix, by one processor."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Counts, Floats

HELD = 1 << 19
"""Numbers in one array of a batch: small enough for a processor's cache."""

_ONE_THREAD = 1 << 18
"""Multiplications up to which OpenBLAS takes one thread. More threads wait for each other where others compute besides, as blocks do."""


def rows_times(rows: Floats, matrix: Floats) -> Floats:
    """`rows @ matrix`, in parts that are no work for several threads."""
    step = max(1, _ONE_THREAD // max(matrix.size, 1))
    if len(rows) <= step:
        return np.asarray(rows @ matrix)
    found = np.empty((len(rows), matrix.shape[1]))
    for start in range(0, len(rows), step):
        np.matmul(rows[start : start + step], matrix, out=found[start : start + step])
    return found


def batches(width: Counts, per_row: int) -> Iterator[NDArray[np.int64]]:
    """Indices of rows in order of their width, so many at a time that arrays of `per_row` times the widest stay small."""
    order = np.argsort(width, kind="stable")
    start = 0
    while start < len(order):
        end = start + max(1, HELD // (per_row * int(width[order[start]])))
        fits = max(1, HELD // (per_row * int(width[order[min(end, len(order)) - 1]])))
        end = min(len(order), start + fits)
        yield order[start:end]
        start = end
