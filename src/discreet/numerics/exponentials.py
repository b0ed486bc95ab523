"""Falling exponentials in floats whose error is proved from IEEE 754 alone: no mathematical library is trusted (docs/proofs/exactness.md).

`exp` and `expm1` of a library are accurate as a rule, and nobody promises how accurate. Here t >= 0 is cut into a multiple j/64, whose
exponential is in a table, and a rest below 1/64, whose exponential is a short series. The cut is exact, and every sum has terms of one
sign or a bounded size, so that additions and multiplications, which IEEE 754 rounds correctly, are all that can err.
"""

from functools import lru_cache
from itertools import accumulate
from operator import mul

import numpy as np
from flint import arb

from discreet.arrays import Floats
from discreet.numerics.balls import working_precision

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
