"""Floats whose error is proved from IEEE 754 alone: gaps of ln Γ, and falling exponentials, by tables that ball arithmetic makes.

`exp` and `expm1` of a library are accurate as a rule, and nobody promises how accurate. Here t >= 0 is cut into a multiple j/64, whose
exponential is in a table, and a rest below 1/64, whose exponential is a short series. The cut is exact, and every sum has terms of one
sign or a bounded size, so that additions and multiplications, which IEEE 754 rounds correctly, are all that can err
(docs/proofs/exactness.md). Tables of gaps are kept: mechanisms, reports and errors of one prior and n all read the same ones.
"""

from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.numerics.balls import ball, working_precision

FINE_ERROR = 2.0**-49
"""Bound on the relative error of a table that `is_fine`: additions of floats, on top of ball arithmetic (docs/proofs/exactness.md)."""


_ALL_GAPS_TO = 200
"""The number of records up to which all gaps are kept: 300 kB."""


class GapTable:
    """`gap(a + x, a + r)` for all integers x, r in [0, n]: O(n) to build, a few additions to look up, `RELATIVE_ERROR` as elsewhere.

    ln Γ at the half-integers a + j/2, less a straight line that no gap sees, is split into a multiple of a power of two, whose sums
    are exact in floats and cancel exactly, and a remainder below it that has 50 bits more than the sum needs.
    """

    def __init__(self, a: Fraction, n: int) -> None:
        with working_precision(256 + 3 * (int(a) + n + 1).bit_length()):  # the gaps are about 1/m, of ln Γ about m ln m
            values = _level_log_gammas(a, n)
            rounded = np.array([float(value) for value in values])
            unit = 2.0 ** (int(np.ceil(np.log2(np.abs(rounded).max() + 1e-300))) - 49)
            self._high = np.rint(rounded / unit) * unit
            self._low = np.array([float(value - arb(high)) for value, high in zip(values, self._high, strict=True)])
            enclosed = all(value.rad() < unit * 2.0**-54 for value in values)
        self.n = n
        self.is_fine = bool(enclosed and np.abs(self._high).max() <= 2.0**50 * unit and 8.0 * (float(a) + n + 1.0) * unit <= 1.0)
        """Whether everything is small enough, as far as is known always, for `FINE_ERROR` (docs/proofs/exactness.md)."""

    @cached_property
    def steps(self) -> list[float]:
        """The gaps from x to x + 1, for x in [0, n)."""
        every = np.arange(self.n)
        return [float(gap) for gap in self(every, every + 1)]

    def __call__(self, x: NDArray[np.integer[Any]], r: NDArray[np.integer[Any]]) -> Floats:
        high = 0.5 * (self._high[2 * x] + self._high[2 * r]) - self._high[x + r]
        low = 0.5 * (self._low[2 * x] + self._low[2 * r]) - self._low[x + r]
        return np.where(x == r, 0.0, high + low)

    @cached_property
    def _square(self) -> Floats:
        every = np.arange(self.n + 1)
        square: Floats = self(every[:, None], every)
        square.setflags(write=False)
        return square

    def row(self, x: int, low: int = 0, high: int | None = None) -> Floats:
        """The gaps from x to every r from low to high, or to n: several times faster than by index; not to be written to."""
        end = (self.n if high is None else high) + 1
        if self.n <= _ALL_GAPS_TO:
            kept: Floats = self._square[x, low:end]
            return kept
        other, between = slice(2 * low, 2 * end - 1, 2), slice(x + low, x + end)
        result: Floats = 0.5 * (self._high[2 * x] + self._high[other]) - self._high[between]
        result += 0.5 * (self._low[2 * x] + self._low[other]) - self._low[between]
        if low <= x < end:
            result[x - low] = 0.0
        return result


def _level_log_gammas(a: Fraction, n: int) -> list[arb]:
    """lnΓ(a + j/2) for j = 0, ..., 2n, less a straight line: sums of logarithms, which are many times cheaper than ln Γ."""
    slope = ball(a + Fraction(n, 2)).digamma().mid() / 2
    whole, half = ball(a), ball(a + Fraction(1, 2))
    chains = [arb(0), half.lgamma() - whole.lgamma()]
    values = list(chains)
    for i in range(n):
        chains = [chains[0] + (whole + i).log(), chains[1] + (half + i).log()]
        values += chains
    return [value - slope * j for j, value in enumerate(values[: 2 * n + 1])]


@lru_cache(maxsize=8)
def gap_table(a: Fraction, n: int) -> GapTable:
    """The table for a category with this prior parameter: of public parameters alone, and as many as a comparison reads in turn."""
    return GapTable(a, n)


FALL_ERROR = 2.0**-47
"""Bound on the relative error of `fall`."""
DECAY_ERROR = 2.0**-49
"""Bound on the absolute error of `decay`."""

_CUTS = 64
_FURTHEST = 40
"""Larger t are taken as this one: e^-t is below 2^-57 there."""
_SERIES = (1.0, -1.0 / 2, 1.0 / 6, -1.0 / 24, 1.0 / 120, -1.0 / 720)


def fall(t: Floats) -> Floats:
    """1 - e^-t for t >= 0, to a relative error of `FALL_ERROR`."""
    whole, rest = _cut(t)
    fallen, left = _table()
    return fallen[whole] + left[whole] * _short_fall(rest)


def fall_of(t: float) -> float:
    """`fall` of one number, by the same operations: faster than an array for a few."""
    near = min(t, float(_FURTHEST))
    whole = int(near * _CUTS)
    rest = near - whole * (1.0 / _CUTS)
    series = rest * _SERIES[-1]
    for coefficient in _SERIES[-2::-1]:
        series = (series + coefficient) * rest
    fallen, left = _table()
    return float(fallen[whole]) + float(left[whole]) * series


def decay(t: Floats) -> Floats:
    """e^-t for t >= 0, to an absolute error of `DECAY_ERROR`."""
    whole, rest = _cut(t)
    _, left = _table()
    here: Floats = left[whole]
    return here - here * _short_fall(rest)


def _cut(t: Floats) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.int64]], Floats]:
    """The number of whole 64ths in t, and the rest of t, exactly."""
    near = np.minimum(t, float(_FURTHEST))
    whole = (near * _CUTS).astype(np.int64)
    return whole, near - whole * (1.0 / _CUTS)


def _short_fall(rest: Floats) -> Floats:
    """1 - e^-r for 0 <= r < 1/64: r - r²/2 + r³/6 - ..., whose first term left out is r^6/5040 of it."""
    series = rest * _SERIES[-1]
    for coefficient in _SERIES[-2::-1]:
        series += coefficient
        series *= rest
    return series


@lru_cache(maxsize=1)
def _table() -> tuple[Floats, Floats]:
    """1 - e^{-j/64} and e^{-j/64}, each rounded once."""
    with working_precision(128):
        step = (arb(-1) / _CUTS).exp()
        left = list(accumulate([step] * (_FURTHEST * _CUTS), mul, initial=arb(1)))
        return np.array([float(1 - value) for value in left]), np.array([float(value) for value in left])
