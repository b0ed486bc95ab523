"""Highest density intervals: the shortest interval that holds a given probability, for laws on [0, 1] with any number of modes.

Where the most probable values are one interval, that is the shortest one. Where a density has several peaks they may be several, and the
shortest interval is still well defined. Between its ends and beyond them the density is looked at, to say which of the two it is.
"""

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from discreet.arrays import Floats

_POINTS = 64
"""Places, evenly spaced in log-odds, at which the distribution function is looked at first."""
_TAIL = 1e-7
"""Probability beyond the first and the last of them."""
_ALIKE = 1e-6
"""How much a density may differ, relative to that at the ends, before it counts as above or below it."""
_SEEN = 1e-5
"""Probability at 0 and at 1 in which nothing is looked for: densities may grow without bound there and hold next to nothing."""


class Law(Protocol):
    """What is needed of a distribution."""

    def pdf(self, x: ArrayLike) -> Floats: ...
    def cdf(self, x: ArrayLike) -> Floats: ...
    def ppf(self, q: ArrayLike) -> Floats: ...


def shortest_interval(law: Law, mass: float) -> tuple[float, float, bool]:
    """The shortest interval with this probability, and whether all values in it are more probable than all others."""
    points = _places(law)
    below = law.cdf(points)
    start = np.unique(np.concatenate([[0.0], below[below <= 1.0 - mass], (below - mass)[below >= mass], [1.0 - mass]]))
    inner = (start > 0.0) & (start < 1.0 - mass)
    width = np.interp(start + mass, below, points) - np.interp(start, below, points)
    ends = law.ppf([0.0, mass, 1.0 - mass, 1.0, 0.5 * (1.0 - mass), 0.5 * (1.0 + mass)]).reshape(3, 2)
    width[0], width[-1] = ends[0, 1], 1.0 - ends[1, 0]
    candidates = [(float(low), float(high)) for low, high in ([0.0, ends[0, 1]], [ends[1, 0], 1.0], ends[2])]
    if inner.any():
        candidates.append(_refined(law, mass, start, int(np.argmin(np.where(inner, width, np.inf)))))
    lengths = [high - low for low, high in candidates]
    shortest = min(lengths)
    # An equal-tailed interval is taken where it is as short as any, as under a flat density.
    best = 2 if lengths[2] <= shortest * (1.0 + 1e-12) else int(np.argmin(lengths))
    low, high = candidates[best]
    return low, high, _is_one_region(law, points, low, high)


def _places(law: Law) -> Floats:
    """Points that are close together where the law has its mass."""
    low, high = np.clip(law.ppf([_TAIL, 1.0 - _TAIL]), 2.0**-1000, 1.0 - 2.0**-53)
    return np.unique(np.concatenate([[0.0], expit(np.linspace(logit(low), logit(high), _POINTS)), [1.0]]))


def _refined(law: Law, mass: float, start: Floats, at: int) -> tuple[float, float]:
    """The shortest interval whose lower end leaves out about start[at]: the densities at both ends are the same there."""
    from scipy.optimize import brentq  # slow to load

    def ends(level: float) -> tuple[float, float]:
        low, high = law.ppf([level, level + mass])
        return float(low), float(high)

    def excess(level: float) -> float:
        low, high = law.pdf(ends(level))
        return float(high - low)

    for reach in (2, 8, 32):  # the length grows with the level where the density at the upper end is the lower one
        first, last = float(start[max(at - reach, 1)]), float(start[min(at + reach, len(start) - 2)])
        if excess(first) > 0.0 > excess(last):
            return ends(brentq(excess, first, last, xtol=1e-14, rtol=1e-10))
    return ends(float(start[at]))


def _is_one_region(law: Law, points: Floats, low: float, high: float) -> bool:
    """Whether the density is higher between the ends than beyond them, but for next to no probability at 0 and 1."""
    edge = law.ppf([_SEEN, 1.0 - _SEEN])
    held = points[(points > edge[0]) & (points < edge[1])]
    inside, outside = held[(held > low) & (held < high)], held[(held < low) | (held > high)]
    limits = [float(law.pdf(end)) for end in (low, high) if 0.0 < end < 1.0]
    least = law.pdf(inside).min(initial=np.inf)
    most = law.pdf(outside).max(initial=0.0)
    return bool(least >= max(limits) * (1.0 - _ALIKE) and most <= min(limits) * (1.0 + _ALIKE))
