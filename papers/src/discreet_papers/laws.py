"""Two categories, many datasets at once: distances, the laws of the papers' mechanisms, and which candidates lie within a distance.

The searches go through hundreds of thousands of settings, so what `discreet_papers.theory` computes for one setting is here arrays.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.mechanisms.laplace import LaplaceDimension, LaplaceHistogram
from discreet.model.dirichlet import Beta, Dirichlet
from discreet.model.distances import hellinger_ball, renyi
from discreet.numerics.balls import working_precision
from discreet.numerics.gamma import to_hellinger

__all__ = [
    "CandidateWindows",
    "Laws",
    "Prior",
    "edge_windows",
    "local_windows",
    "missed",
    "missed_ball",
    "pair",
    "probability_ball",
    "radius_windows",
    "step_windows",
]

Prior = Beta | Dirichlet
Indices = NDArray[np.int64]

_NEAR = 1e-11
"""Distances closer than this, relatively, are compared as balls."""
_BITS = 320


@dataclass(frozen=True)
class Laws:
    """Some datasets `(x, n - x)` under a prior, every candidate `(r, n - r)` beside each."""

    prior: Prior
    n: int
    firsts: tuple[int, ...]
    """The first counts x of the datasets."""

    @classmethod
    def every(cls, prior: Prior, n: int) -> "Laws":
        """All datasets of n records."""
        return cls(prior, n, tuple(range(n + 1)))

    def _posteriors(self, first: Indices) -> Floats:
        return self.prior.concentration + np.stack([first, self.n - first], axis=-1)

    @cached_property
    def exponents(self) -> Floats:
        """`-ln(1 - H²)`, a row for each dataset: it grows with H, and keeps its digits where H is 1 but for a little."""
        own, all_of_them = self._posteriors(np.array(self.firsts)), self._posteriors(np.arange(self.n + 1))
        found = np.array(renyi(own[:, None, :], all_of_them[None, :, :], "0.5")) / 2.0
        found[np.arange(len(self.firsts)), list(self.firsts)] = 0.0
        return found

    @cached_property
    def distances(self) -> Floats:
        """H, a row for each dataset."""
        return to_hellinger(self.exponents)

    @cached_property
    def neighbours(self) -> Floats:
        """H to the neighbour below and to the one above, a row for each dataset; 0 where there is none."""
        rows, x = np.arange(len(self.firsts)), np.array(self.firsts)
        lower = np.where(x > 0, self.distances[rows, np.maximum(x - 1, 0)], 0.0)
        upper = np.where(x < self.n, self.distances[rows, np.minimum(x + 1, self.n)], 0.0)
        return np.stack([lower, upper], axis=-1)

    @property
    def local(self) -> Floats:
        """The local sensitivity of each dataset."""
        return np.asarray(self.neighbours.max(axis=-1))

    def exponential(self, epsilon: float, sensitivity: Floats | float) -> Floats:
        """The law `∝ exp(-ε H / (2 · sensitivity))`, a row for each dataset."""
        scale = np.broadcast_to(sensitivity, (len(self.firsts),))[:, None]
        weight = np.exp(-epsilon * self.distances / (2.0 * scale))
        return np.asarray(weight / weight.sum(axis=-1, keepdims=True))

    def laplace(self, mechanism: LaplaceHistogram | LaplaceDimension) -> Floats:
        """The law of the reported first count, a row for each dataset: clamped noise gathers at the ends."""
        reported = np.arange(self.n + 1.0)
        return np.exp(np.stack([mechanism.noise.clamped(first, reported, 0, self.n) for first in self.firsts]))

    def nearer(self, row: int, place: int, other: int) -> int:
        """The sign of H(x, place) - H(x, other): -1 where `place` is nearer, 0 where both are equally far to 50 digits."""
        far, near = self.exponents[row, place], self.exponents[row, other]
        if abs(far - near) > _NEAR * max(far, near):
            return -1 if far < near else 1
        with working_precision(_BITS):
            difference = self.distance_ball(row, place) - self.distance_ball(row, other)
            return -1 if difference < 0 else 1 if difference > 0 else 0

    def distance_ball(self, row: int, place: int) -> arb:
        """H from a dataset to the candidate at this place, as a ball at the working precision."""
        exact = self.prior.exact
        own, other = ([exact[0] + r, exact[1] + self.n - r] for r in (self.firsts[row], place))
        return hellinger_ball(own, other) if place != self.firsts[row] else arb(0)

    def local_ball(self, row: int) -> arb:
        """The local sensitivity of a dataset as a ball at the working precision."""
        x = self.firsts[row]
        return self.distance_ball(row, max(x - 1, 0)).max(self.distance_ball(row, min(x + 1, self.n)))


@dataclass(frozen=True)
class CandidateWindows:
    """For pairs of a dataset and a distance: the candidates within that distance, which follow one another."""

    row: Indices
    x: Indices
    steps: Indices
    low: Indices
    high: Indices

    @property
    def down(self) -> Indices:
        """How many steps down are in each window."""
        return self.x - self.low

    def where(self, kept: NDArray[np.bool_]) -> "CandidateWindows":
        """The pairs for which `kept` is true."""
        return CandidateWindows(*(column[kept] for column in (self.row, self.x, self.steps, self.low, self.high)))

    def probability(self, law: Floats) -> Floats:
        """The probability of each window under the law of its dataset."""
        total = np.concatenate([np.zeros((len(law), 1)), np.cumsum(law, axis=-1)], axis=-1)
        return np.asarray(total[self.row, self.high + 1] - total[self.row, self.low])


def _reach_down(laws: Laws, row: int, edge: int, *, equal: bool) -> int:
    """The lowest candidate nearer to x than `edge` is (or equally near): H grows as candidates leave x."""
    x, exponents = laws.firsts[row], laws.exponents[row]
    low = x - int(np.searchsorted(exponents[: x + 1][::-1], exponents[edge] * (1.0 + 2.0 * _NEAR), side="right")) + 1
    while low < x and laws.nearer(row, low, edge) >= (1 if equal else 0):
        low += 1
    return low


def _reach_up(laws: Laws, row: int, edge: int, *, equal: bool) -> int:
    x, exponents = laws.firsts[row], laws.exponents[row]
    high = x + int(np.searchsorted(exponents[x:], exponents[edge] * (1.0 + 2.0 * _NEAR), side="right")) - 1
    while high > x and laws.nearer(row, high, edge) >= (1 if equal else 0):
        high -= 1
    return high


def step_windows(laws: Laws, most: int | None = None) -> CandidateWindows:
    """001 Theorem 4.5: for every dataset and k, the candidates nearer than k + 1 steps up, so that k is the largest number of steps.

    With `most`, only k up to that number.
    """
    found = [
        (row, x, k, _reach_down(laws, row, x + k + 1, equal=False), x + k)
        for row, x in enumerate(laws.firsts)
        for k in range(laws.n - x if most is None else min(laws.n - x, most + 1))
    ]
    return CandidateWindows(*np.array(found, dtype=np.int64).reshape(-1, 5).T)


def _windows(laws: Laws, edges: Iterable[tuple[int, int]], *, equal: bool) -> CandidateWindows:
    """For every dataset the candidates as near as an edge, or nearer: each edge with the number of steps it stands for."""
    found = [
        (row, x, steps, _reach_down(laws, row, edge, equal=equal), _reach_up(laws, row, edge, equal=equal))
        for row, (x, (edge, steps)) in enumerate(zip(laws.firsts, edges, strict=True))
    ]
    return CandidateWindows(*np.array(found, dtype=np.int64).reshape(-1, 5).T)


def _farther(laws: Laws, row: int, steps: int) -> int:
    """Of the candidates so many steps down and up, or at the ends, the one that is farther from x."""
    x = laws.firsts[row]
    low, high = max(x - steps, 0), min(x + steps, laws.n)
    return low if laws.exponents[row, low] > laws.exponents[row, high] else high


def local_windows(laws: Laws, *, equal: bool = True) -> CandidateWindows:
    """For every dataset the candidates within its local sensitivity, including those at that very distance if `equal`."""
    return _windows(laws, ((_farther(laws, row, 1), 1) for row in range(len(laws.firsts))), equal=equal)


def edge_windows(laws: Laws, steps: int) -> CandidateWindows:
    """For every dataset the candidates as near as the farthest one within so many steps."""
    return _windows(laws, ((_farther(laws, row, steps), steps) for row in range(len(laws.firsts))), equal=True)


def radius_windows(laws: Laws, radius: Floats) -> CandidateWindows:
    """For every dataset the candidates within a distance of its own, which no candidate has exactly."""
    inside = laws.distances <= radius[:, None]
    rows = np.arange(len(laws.firsts))
    low, high = inside.argmax(axis=-1), laws.n - inside[:, ::-1].argmax(axis=-1)
    return CandidateWindows(rows, np.array(laws.firsts), np.zeros_like(rows), low, high)


def missed(windows: CandidateWindows, n: int, epsilon: float) -> Floats:
    """The probability that LSHist reports outside each window: both tails of its noise, without cancellation; a clamped end has none."""
    down = np.where(windows.low > 0, 0.5 * np.exp(-epsilon * (windows.x - windows.low)), 0.0)
    up = np.where(windows.high < n, 0.5 * np.exp(-epsilon * (windows.high + 1 - windows.x)), 0.0)
    return np.asarray(down + up)


def missed_ball(windows: CandidateWindows, n: int, epsilon: float, i: int) -> arb:
    """The same for one window as a ball at the working precision."""
    rate, found = arb(epsilon), arb(0)
    if windows.low[i] > 0:
        found += (-rate * int(windows.x[i] - windows.low[i])).exp() / 2
    if windows.high[i] < n:
        found += (-rate * int(windows.high[i] + 1 - windows.x[i])).exp() / 2
    return found


def probability_ball(laws: Laws, windows: CandidateWindows, i: int, rate: arb) -> arb:
    """The probability of one window under the law `∝ exp(-rate · H)`, as a ball at the working precision."""
    weights = [(-rate * laws.distance_ball(int(windows.row[i]), place)).exp() for place in range(laws.n + 1)]
    inside = weights[int(windows.low[i]) : int(windows.high[i]) + 1]
    return sum(inside, arb(0)) / sum(weights, arb(0))


def pair(x: int, n: int) -> str:
    """The dataset (x, n - x) in words."""
    return f"({x}, {n - x})"
