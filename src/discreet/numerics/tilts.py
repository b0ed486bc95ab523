"""The tilt e^{λx} under which independent counts add up to a given total on average.

The mean of the total grows with λ, and its slope is the variance: Newton's method needs nothing else.
"""

from collections.abc import Callable
from math import inf
from typing import TypeVar

import numpy as np

from discreet.arrays import Counts, Floats, Mask
from discreet.numerics.roots import bracketed

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
