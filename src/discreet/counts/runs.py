"""Runs: numbers for consecutive integers, such as the law of a count or of a total, and how they are added up and drawn from."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.numerics.tails import kept
from discreet.numerics.transforms import convolve

FLOOR = 1e-26
"""The probability, relative to the largest, below which ends of laws and of their sums are dropped: so little that bounds, which divide it
by the probability of a total, stay small."""


@dataclass(frozen=True, eq=False)
class Run:
    """Values of consecutive integers from `low` on."""

    low: int
    value: Floats

    @property
    def high(self) -> int:
        return self.low + len(self.value) - 1

    @property
    def x(self) -> Floats:
        return np.arange(self.low, self.low + len(self.value), dtype=np.float64)

    @property
    def mean(self) -> float:
        """The mean of a law."""
        return float(self.value @ self.x)

    @property
    def variance(self) -> float:
        """The variance of a law."""
        return float(self.value @ (self.x - self.mean) ** 2)


@dataclass(frozen=True, eq=False)
class Windows:
    """Runs of one width for the cells of some groups: their tilted laws, each adding up to 1."""

    low: Counts
    value: Floats
    """Groups, cells, counts from `low` on."""
    tail: Floats
    """A bound for each group on the tilted probability that some count is outside its window."""
    log_sum: Floats
    """The logarithm, for each group, of the product of the sums of all tilted factors, as they are given."""

    @property
    def width(self) -> int:
        return int(self.value.shape[2])

    @cached_property
    def moments(self) -> tuple[Floats, Floats]:
        """The mean and the variance of each count."""
        j = np.arange(self.width, dtype=np.float64)
        first = self.value @ j
        spread = self.value @ (j * j) - first * first
        return self.low + first, np.maximum(spread, 0.0)


def completed(target: Run, step: Run, start: Run, fold: Callable[[Floats, Floats], Floats] = convolve) -> Run:
    """Return for each s of `start`: Σ_t step(t) target(s + t)."""
    first, last = max(target.low, start.low + step.low), min(target.high, start.high + step.high)
    if first > last:
        return Run(start.low, np.zeros(len(start.value)))
    value = fold(target.value[first - target.low : last - target.low + 1], step.value[::-1])
    return Run(start.low, values_at(Run(first - step.high, value), start.low, len(start.value)))


def added(left: Run, right: Run, fold: Callable[[Floats, Floats], Floats] = convolve) -> Run:
    """The law of the sum of two independent counts."""
    return Run(left.low + right.low, fold(left.value, right.value))


def trimmed(run: Run, tail: float) -> tuple[Run, float]:
    """The run without ends that add up to at most `tail`, and what they held."""
    first, last, dropped = kept(run.value, tail)
    return Run(run.low + first, run.value[first : last + 1]), dropped


def above_floor(run: Run, floor: float) -> tuple[Run, float]:
    """The run without ends that add up to at most `floor` relative to its largest value, and what they held."""
    return trimmed(run, floor * float(run.value.max()))


@dataclass(frozen=True, eq=False)
class Sum:
    """The law of the total of independent counts, and of the two halves of them it is added up from when it is first asked for."""

    floor: float
    """The probability, relative to the largest, below which the ends are dropped."""
    law: Run | None = None
    """The law of a single count."""
    halves: "tuple[Sum, Sum] | None" = None

    @cached_property
    def _added(self) -> tuple[Run, float]:
        if self.halves is None:
            assert self.law is not None  # noqa: S101
            return self.law, 0.0
        return above_floor(added(self.halves[0].run, self.halves[1].run), self.floor)

    @property
    def run(self) -> Run:
        """The law of the total."""
        return self._added[0]

    @property
    def dropped(self) -> float:
        """The probability of all trimmed ends."""
        return self._added[1] + self.dropped_below

    @property
    def dropped_below(self) -> float:
        """The probability of the trimmed ends of the halves."""
        return sum(half.dropped for half in self.halves or ())

    def others(self, outside: Run, floor: float) -> Iterator[tuple[Run, float]]:
        """Yield, for each count, the law of the total of all others, given that of those outside of this sum; and what was dropped."""
        if self.halves is None:
            yield outside, 0.0
            return
        for mine, other in (self.halves, self.halves[::-1]):
            rest, dropped = above_floor(added(outside, other.run), floor)
            yield from ((run, dropped + more) for run, more in mine.others(rest, floor))

    def completions(self, target: Run) -> Iterator[Run]:
        """Yield for each count and each of its values s: Σ_t P(all others add up to t) target(s + t)."""
        if self.halves is None:
            yield target
            return
        for mine, other in (self.halves, self.halves[::-1]):
            yield from mine.completions(completed(target, other.run, mine.run))

    def split(self, totals: Counts, rng: np.random.Generator) -> Iterator[Counts]:
        """Each count in turn, drawn given values of the total."""
        return drawn_parts(self, totals, rng)


class Halved(Protocol):
    """A law of a total and, unless it is of one count alone, the two halves that it is the sum of."""

    @property
    def run(self) -> Run:
        """The law, or a multiple of it."""

    @property
    def halves(self) -> "tuple[Halved, Halved] | None":
        """The halves, which are independent but for their sum."""


def drawn_parts(law: Halved, totals: Counts, rng: np.random.Generator) -> Iterator[Counts]:
    """Each count in turn, drawn given values of the total."""
    if law.halves is None:
        yield totals
        return
    left, right = law.halves
    part = np.empty_like(totals)
    for value in np.unique(totals).tolist():
        rows = np.nonzero(totals == value)[0]
        low, high = max(left.run.low, value - right.run.high), min(left.run.high, value - right.run.low)
        mine = values_at(left.run, low, high - low + 1)
        part[rows] = low + inverse(mine * values_at(right.run, value - high, high - low + 1)[::-1], rng.random(rows.size))
    yield from drawn_parts(left, part, rng)
    yield from drawn_parts(right, totals - part, rng)


def sum_of(laws: Sequence[Run], floor: float) -> Sum:
    """The law of the total of independent counts, without ends that are below `floor`."""
    if len(laws) == 1:
        return Sum(floor, laws[0])
    half = len(laws) // 2
    return Sum(floor, None, (sum_of(laws[:half], floor), sum_of(laws[half:], floor)))


class RunningSum:
    """The law of the total of independent counts that come one at a time, as a tree of them all would have it.

    Sums of 1, 2, 4, ... counts are held, so that there are few of them and each count is added to as few as possible.
    """

    def __init__(self, floor: float) -> None:
        self._floor = floor
        self._held: list[tuple[int, Run]] = []
        self._dropped = 0.0

    def add(self, law: Run) -> None:
        self._held.append((0, law))
        while len(self._held) > 1 and self._held[-1][0] == self._held[-2][0]:
            self._join()

    def total(self) -> tuple[Run, float]:
        """The law of the total, without ends that are below the floor, and what these held. Without any count the total is 0."""
        while len(self._held) > 1:
            self._join()
        return (self._held[0][1] if self._held else Run(0, np.ones(1))), self._dropped

    def _join(self) -> None:
        (level, right), (_, left) = self._held.pop(), self._held.pop()
        run, dropped = above_floor(added(left, right), self._floor)
        self._dropped += dropped
        self._held.append((level + 1, run))


def log_sum(logs: Floats) -> float:
    """Return ln Σ e^l over some logarithms l; minus infinity where all are. SciPy's function takes ten times as long for short arrays."""
    top = float(logs.max())
    return top + float(np.log(np.exp(logs - top).sum())) if np.isfinite(top) else top


def values_at(run: Run, low: int, size: int) -> Floats:
    """The run's values at `size` integers from `low` on; 0 where it has none."""
    result = np.zeros(size)
    first, last = max(low, run.low), min(low + size - 1, run.high)
    if first <= last:
        result[first - low : last - low + 1] = run.value[first - run.low : last - run.low + 1]
    return result


def inverse(weight: Floats, level: Floats) -> Counts:
    """Indices drawn with these weights by inverting their cumulative sums at uniform levels."""
    cumulative = np.cumsum(weight)
    found = np.searchsorted(cumulative, level * cumulative[-1], side="right")
    return np.asarray(np.minimum(found, len(weight) - 1), dtype=np.int64)
