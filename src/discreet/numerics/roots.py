"""Roots of growing functions, many at once, and what is found by them: tilts, and the least values that meet a target.

Whoever asks says where to look next: by Newton's method, on whatever scale the function is nearly straight. A step that leaves its bracket
is replaced by halving it. After `_STEPS_UNHALVED` rounds every second step is a halving, so that brackets with finite ends close however
bad the steps are. Where a single function has no slope to go by, `crossing` is Brent's method. `last_inside` is the same for whole numbers,
and `narrowed` for values of few digits, where a function takes long.

Under the tilt e^{λx} the mean of a total grows with λ, and its slope is the variance: Newton's method needs nothing else.
"""

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor, inf, log, log10
from typing import TypeVar

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


Value = TypeVar("Value", int, Fraction)
Found = TypeVar("Found", bound=float)


def rounded_up(value: Fraction, digits: int) -> Fraction:
    """The value rounded up to a decimal of so many significant digits, which prints as what it is."""
    return ceil(value / unit(value, digits)) * unit(value, digits)


def unit(value: Fraction, digits: int) -> Fraction:
    """Return one unit in the last of so many significant digits of a value."""
    return Fraction(10) ** (floor(log10(value)) - digits + 1)


def bracket(
    value_at: Callable[[Value], Found],
    target: float,
    start: Value,
    larger: Callable[[Value, Found], Value],
    smaller: Callable[[Value], Value | None],
) -> tuple[tuple[Value, Found] | None, tuple[Value, Found]]:
    """Return a value that misses the target, if there is one, and a larger one that meets it, both with what is found there.

    `larger` says what to try after a value that misses, given what was found, and raises if there is nothing left; `smaller` what to try
    after one that meets, None if nothing is.
    """
    below, here = None, (start, value_at(start))
    while here[1] > target:
        following = larger(*here)
        below, here = here, (following, value_at(following))
    while below is None and (tried := smaller(here[0])) is not None:
        found = (tried, value_at(tried))
        below, here = (found, here) if found[1] > target else (None, found)
    return below, here


def narrowed(
    error_at: Callable[[Value], Found],
    target: float,
    low: tuple[Value, Found],
    high: tuple[Value, Found],
    rounded: Callable[[Fraction], Value],
    step: Callable[[Value], Value],
) -> tuple[Value, Found]:
    """Return the least rounded value that meets the target, with its error, between one that misses it and one that meets it.

    The next value is where a straight line of logarithms meets the target; where that shortens the bracket too little, its middle.
    """
    halve = False
    while (middle := rounded(Fraction(low[0] + high[0]) / 2)) < high[0] and middle > low[0]:
        width, following = high[0] - low[0], middle
        if not halve:
            guess = rounded(_crossing(low, high, target))
            following = min(max(guess, low[0] + step(low[0])), high[0] - step(high[0]))
            following = following if low[0] < following < high[0] else middle
        found = error_at(following)
        low, high = ((following, found), high) if found > target else (low, (following, found))
        halve = not halve and 4 * (high[0] - low[0]) > width
    return high


def _crossing(low: tuple[Value, Found], high: tuple[Value, Found], target: float) -> Fraction:
    """Return where the line through the logarithms of two values and their errors meets the target; the middle if there is none."""
    top, bottom = float(low[1]), float(high[1])
    if not (bottom > 0.0 and top < inf):
        return Fraction(low[0] + high[0]) / 2
    part = log(top / target) / log(top / bottom)
    return Fraction(float(low[0]) * (float(high[0]) / float(low[0])) ** part)


CLOSE = 0.5
"""The most that the mean may be from the total, in standard deviations: the total's probability is then nearly the largest. A tilt changes
where windows lie, and no probability that they hold."""
SLACK = 1e-6
"""The most that it may be besides, in records: a total that does not vary has no standard deviation."""

Law = TypeVar("Law")
Moments = Callable[[Counts, Floats], tuple[Floats, Floats]]
"""The means and the variances of the totals of these indices, under a tilt for each."""


def balancing_tilts(
    moments: Moments, totals: Counts | Floats, start: Floats, ends: tuple[float, float], *, close: float = CLOSE, longest: float = inf
) -> Floats:
    """Return for each total a tilt between these ends under which it is the mean, or nearly; no step is longer than `longest`."""

    def newton(rows: Counts, tilt: Floats) -> tuple[Floats, Floats, Mask]:
        mean, variance = moments(rows, tilt)
        excess = mean - totals[rows]
        done = np.abs(excess) <= close * np.sqrt(np.maximum(variance, 0.0)) + SLACK
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = np.clip(excess / np.maximum(variance, 0.0), -longest, longest)
        return excess, np.where(done, tilt, tilt - step), done

    return bracketed(newton, start, *ends)


def balancing_tilt(
    tilted: Callable[[float], tuple[float, float, Law]], total: float, start: float = 0.0, *, close: float = CLOSE, longest: float = inf
) -> tuple[float, Law]:
    """Return the tilt of one total and what is found there: `tilted` gives mean and variance of the total, and its findings."""
    found: list[Law] = []

    def moments(_: Counts, tilt: Floats) -> tuple[Floats, Floats]:
        mean, variance, law = tilted(float(tilt[0]))
        found[:] = [law]
        return np.array([mean]), np.array([variance])

    tilt = balancing_tilts(moments, np.array([total]), np.array([start]), (-inf, inf), close=close, longest=longest)
    return float(tilt[0]), found[0]
