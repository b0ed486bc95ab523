"""Highest density intervals: the shortest interval that holds a given probability, for laws on [0, 1] with any number of modes.

Where the most probable values are one interval, that is the shortest one. Where a density has several peaks they may be several, and the
shortest interval is still well defined. Between its ends and beyond them the density is looked at, to say which of the two it is.
"""

import numpy as np
from scipy.special import expit, logit

from discreet.arrays import Floats
from discreet.betas.search import ContinuousLaw
from discreet.numerics.gamma import BELOW_ONE
from discreet.numerics.roots import crossing

_FIRST_PLACES = 64
"""Places, evenly spaced in log-odds, at which the distribution function is looked at first."""
_OUTSIDE_PLACES = 1e-7
"""Probability beyond the first and the last of them."""
_FINEST_PLACES, _PLACE_HALVINGS = 1.0 / 64, 12
"""The most probability between neighbouring places, and the number of halvings of their distance that are made to reach that."""
_NEARLY = 1.02
"""A shortest interval among places that is this much longer than the shortest of all may still become it."""
_BELOW_PRECISION = 1e-14, 1e-10
"""The absolute and the relative precision of the probability below the interval."""
_DENSITY_TOLERANCE = 1e-6
"""A density counts as above or below that at the ends if it differs by more than this part of it."""
_UNSEARCHED_ENDS = 1e-5
"""Probability at 0 and at 1 in which nothing is looked for: densities may grow without bound there and hold next to nothing."""


def shortest_interval(law: ContinuousLaw, mass: float) -> tuple[float, float, bool]:
    """The shortest interval with this probability, and whether all values in it are more probable than all others."""
    points, below = _places(law)
    start = np.unique(np.concatenate([[0.0], below[below <= 1.0 - mass], (below - mass)[below >= mass], [1.0 - mass]]))
    width = np.interp(start + mass, below, points) - np.interp(start, below, points)
    ends = law.ppf([0.0, mass, 1.0 - mass, 1.0, 0.5 * (1.0 - mass), 0.5 * (1.0 + mass)]).reshape(3, 2)
    candidates = [(float(low), float(high)) for low, high in ([0.0, ends[0, 1]], [ends[1, 0], 1.0], ends[2])]
    candidates += [_refined(law, mass, start, at) for at in _valleys(width)]
    lengths = [high - low for low, high in candidates]
    # An equal-tailed interval is taken where it is as short as any, as under a flat density.
    best = 2 if lengths[2] <= min(lengths) * (1.0 + 1e-12) else int(np.argmin(lengths))
    low, high = candidates[best]
    return low, high, _is_one_region(law, points, low, high)


def _places(law: ContinuousLaw) -> tuple[Floats, Floats]:
    """Points that are close together where the law has its mass, from 0 to 1, and the distribution function there."""
    low, high = np.clip(law.ppf([_OUTSIDE_PLACES, 1.0 - _OUTSIDE_PLACES]), 2.0**-1000, BELOW_ONE)
    u = np.unique(np.linspace(logit(low), logit(high), _FIRST_PLACES))
    below = law.cdf(expit(u))
    for _ in range(_PLACE_HALVINGS):
        wide = np.flatnonzero(np.diff(below) > _FINEST_PLACES)
        if not wide.size:
            break
        between = 0.5 * (u[wide] + u[wide + 1])
        u, below = np.insert(u, wide + 1, between), np.insert(below, wide + 1, law.cdf(expit(between)))
    points, first = np.unique(np.concatenate([[0.0], expit(u), [1.0]]), return_index=True)
    return points, np.maximum.accumulate(np.concatenate([[0.0], below, [1.0]])[first])


def _valleys(width: Floats) -> list[int]:
    """The places between the ends where intervals are shorter than around them, and nearly as short as any."""
    inner = width[1:-1]
    low = (inner <= width[:-2]) & (inner <= width[2:]) & (inner <= _NEARLY * width.min())
    return (1 + np.flatnonzero(low)).tolist() or ([1 + int(np.argmin(inner))] if inner.size else [])


def _refined(law: ContinuousLaw, mass: float, start: Floats, at: int) -> tuple[float, float]:
    """The shortest interval whose lower end leaves out about start[at]: the densities at both ends are the same there."""

    def ends(level: float) -> tuple[float, float]:
        low, high = law.ppf([level, level + mass])
        return float(low), float(high)

    def excess(level: float) -> float:
        low, high = law.pdf(ends(level))
        return float(high - low)

    for reach in (1, 2, 4, 8, 32):  # the length grows with the level where the density at the upper end is the lower one
        first, last = float(start[max(at - reach, 1)]), float(start[min(at + reach, len(start) - 2)])
        if first < last and excess(first) > 0.0 > excess(last):
            return ends(crossing(excess, first, last, *_BELOW_PRECISION))
    return ends(float(start[at]))


def _is_one_region(law: ContinuousLaw, points: Floats, low: float, high: float) -> bool:
    """Return whether the density is higher between the ends than beyond them, but for next to no probability at 0 and 1."""
    edge = law.ppf([_UNSEARCHED_ENDS, 1.0 - _UNSEARCHED_ENDS])
    held = points[(points > edge[0]) & (points < edge[1])]
    inside, outside = held[(held > low) & (held < high)], held[(held < low) | (held > high)]
    limits = [float(law.pdf(end)) for end in (low, high) if 0.0 < end < 1.0]
    if not limits:  # the interval is everything
        return True
    least = law.pdf(inside).min(initial=np.inf)
    most = law.pdf(outside).max(initial=0.0)
    return bool(least >= max(limits) * (1.0 - _DENSITY_TOLERANCE) and most <= min(limits) * (1.0 + _DENSITY_TOLERANCE))
