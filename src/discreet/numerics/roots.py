"""Roots of growing functions, many at once: steps of any method, kept inside brackets that only shrink.

Whoever asks says where to look next: by Newton's method, on whatever scale the function is nearly straight. A step that leaves its bracket
is replaced by halving it. After `_STEPS_UNHALVED` rounds every second step is a halving, so that brackets with finite ends close however
bad the steps are. Where a single function has no slope to go by, `crossing` is Brent's method. `last_inside` is the same for whole numbers.
"""

from collections.abc import Callable

import numpy as np

from discreet.arrays import Counts, Floats, Mask

NewtonStep = Callable[[Counts, Floats], tuple[Floats, Floats, Mask]]
"""A function of the indices of functions and one point for each: the value, where to look next, and whether that is good enough for the
root.
"""

EPSILON = float(np.finfo(np.float64).eps)
_MOST_LOOKS = 200
"""The most evaluations of each function. The halvings among them divide a bracket by 2 to the power of 85."""
_STEPS_UNHALVED = 30
"""Rounds in which all steps inside their brackets are made. Newton's method has as a rule ended after ten."""


def bracketed(newton: NewtonStep, start: Floats, low: Floats | float, high: Floats | float, close: Floats | float = 0.0) -> Floats:
    """The points where growing functions are 0, one for each start, between `low` and `high`, which may be infinite.

    A function is looked at until it is done, until its value is 0, or until its bracket is at most `close` long (times the distance of the
    point from 0, if that is above 1) or holds no other float.
    """
    point, below, above, least = (np.array(each, dtype=np.float64) for each in np.broadcast_arrays(start, low, high, close))
    open_: Counts = np.arange(point.size)
    for turn in range(_MOST_LOOKS):
        at = point[open_]
        value, following, done = newton(open_, at)
        first, last = np.where(value <= 0.0, at, below[open_]), np.where(value >= 0.0, at, above[open_])
        below[open_], above[open_] = first, last
        with np.errstate(invalid="ignore"):
            inside = (following > first) & (following < last) & (turn < _STEPS_UNHALVED or turn % 2 == 0)
            middle = _middle(at, first, last)
            point[open_] = np.where(done | inside, following, middle)
            wide = last - first > least[open_] * np.maximum(1.0, np.abs(at))
            open_ = open_[~done & wide & (middle > first) & (middle < last)]
        if not open_.size:
            break
    return point


def _middle(at: Floats, low: Floats, high: Floats) -> Floats:
    """The middle of each bracket; with an infinite end, a place that is further from 0 than the point by itself and 1."""
    middle = 0.5 * (low + high)
    finite = np.isfinite(middle)
    return middle if finite.all() else np.where(finite, middle, at + np.where(np.isinf(high), 1.0, -1.0) * (1.0 + np.abs(at)))


def last_inside(inside: Callable[[Counts], Mask], near: Counts, far: Counts) -> Counts:
    """Return the last whole numbers inside, between some that are and some that are not; where both are the same, that one."""
    near, far = near.copy(), far.copy()
    while (np.abs(far - near) > 1).any():
        middle = (near + far) // 2
        held = inside(middle)
        near, far = np.where(held, middle, near), np.where(held, far, middle)
    return near


def crossing(function: Callable[[float], float], one: float, other: float, absolute: float, relative: float = 4.0 * EPSILON) -> float:
    """Find where a function that has different signs at two points crosses 0 between them, to these tolerances."""
    from scipy.optimize import brentq  # slow to load

    return float(brentq(function, one, other, xtol=absolute, rtol=relative))
