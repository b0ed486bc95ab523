"""Runs: numbers for consecutive integers, such as the law of a count or of a total, and how they are added up and drawn from."""

from dataclasses import dataclass

import numpy as np

from discreet import limits
from discreet.arrays import Counts, Floats


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


def convolve(left: Floats, right: Floats) -> Floats:
    if len(left) * len(right) <= limits.DIRECT_CONVOLUTION:
        return np.convolve(left, right)
    from scipy.signal import fftconvolve  # slow to load

    return np.maximum(fftconvolve(left, right), 0.0)


def completed(target: Run, step: Run, start: Run) -> Run:
    """For each s of `start`: Σ_t step(t) target(s + t)."""
    value = convolve(target.value, step.value[::-1])
    return Run(start.low, values_at(Run(target.low - step.high, value), start.low, len(start.value)))


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


def kept(probability: Floats, tail: float) -> tuple[int, int, float]:
    """The first and the last index between which all but `tail` at either end is, and what the ends hold."""
    below, above = np.cumsum(probability), np.cumsum(probability[::-1])
    first = min(int(np.searchsorted(below, tail, side="right")), len(probability) - 1)
    last = max(first, len(probability) - 1 - int(np.searchsorted(above, tail, side="right")))
    return first, last, float(probability[:first].sum() + probability[last + 1 :].sum())
