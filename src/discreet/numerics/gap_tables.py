"""Tables of gaps, and those that are kept: mechanisms, reports and errors of one prior and n all read the same ones."""

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.numerics.balls import ball, working_precision


class GapTable:
    """`gap(a + x, a + r)` for all integers x, r in [0, n]: O(n) to build, a few additions to look up, `RELATIVE_ERROR` as elsewhere.

    ln Γ at the half-integers a + j/2, less a straight line that no gap sees, is split into a multiple of a power of two, whose sums
    are exact in floats and cancel exactly, and a remainder below it that has 50 bits more than the sum needs.
    """

    def __init__(self, a: Fraction, n: int) -> None:
        with working_precision(256 + 3 * (int(a) + n + 1).bit_length()):  # the gaps are about 1/m, of ln Γ about m ln m
            slope = ball(a + Fraction(n, 2)).digamma().mid()
            base = ball(a).lgamma()
            values = [ball(a + Fraction(j, 2)).lgamma() - base - slope * j / 2 for j in range(2 * n + 1)]
            rounded = np.array([float(value) for value in values])
            unit = 2.0 ** (int(np.ceil(np.log2(np.abs(rounded).max() + 1e-300))) - 49)
            self._high = np.rint(rounded / unit) * unit
            self._low = np.array([float(value - arb(high)) for value, high in zip(values, self._high, strict=True)])
        self.n = n

    def __call__(self, x: NDArray[np.integer[Any]], r: NDArray[np.integer[Any]]) -> Floats:
        high = 0.5 * (self._high[2 * x] + self._high[2 * r]) - self._high[x + r]
        low = 0.5 * (self._low[2 * x] + self._low[2 * r]) - self._low[x + r]
        return np.where(x == r, 0.0, high + low)

    def row(self, x: int) -> Floats:
        """The gaps from x to every r in [0, n], several times faster than by index."""
        high = 0.5 * (self._high[2 * x] + self._high[::2]) - self._high[x : x + self.n + 1]
        low = 0.5 * (self._low[2 * x] + self._low[::2]) - self._low[x : x + self.n + 1]
        result: Floats = high + low
        result[x] = 0.0
        return result


@lru_cache(maxsize=8)
def gap_table(a: Fraction, n: int) -> GapTable:
    """The table for a category with this prior parameter: of public parameters alone, and as many as a comparison reads in turn."""
    return GapTable(a, n)
