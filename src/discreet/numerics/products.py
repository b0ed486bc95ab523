"""Products of many rows with one matrix, by one processor."""

import numpy as np

from discreet.arrays import Floats

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
