"""The least value that meets a target, to so many significant digits, from few values of a falling function."""

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor, inf, log, log10
from typing import TypeVar

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
