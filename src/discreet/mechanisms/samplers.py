"""Exact samplers of raw outcomes, each of which is dropped after its draw, and draws that take whole quanta of time.

A sampler holds the private counts of one dataset. Where a draw ends at a multiple of a public quantum, a clock tells the number of quanta
alone (docs/explain/promise.md).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from time import monotonic, sleep
from typing import Any, Protocol

import numpy as np
from attrs import field, frozen

from discreet.arrays import Counts, Mask
from discreet.sampling import BitSource

Noise = Sequence[int] | Counts
"""Exact noise for the counts: an array of 64-bit integers, or, from mechanisms of others, any whole numbers."""


class Sampler(Protocol):
    """An exact sampler of raw outcomes for one dataset: it holds private counts and is not kept."""

    def draw(self, source: BitSource) -> Any:
        """One raw outcome, from exactly the law: a tuple of whole numbers, or an array for a table."""


@frozen(repr=False, eq=False)
class AddedNoise:
    """A sampler that adds noise, which does not depend on the data, to as many of the counts as there is noise for.

    Noise in an array is added there, and only the sum is made of Python integers: to make one takes time that depends on its value.
    """

    counts: Counts = field(repr=False)
    """The private counts. They are kept out of what rich prints, which asks the fields and not the class."""
    noise: Callable[[BitSource], Noise] = field(repr=False)

    def draw(self, source: BitSource) -> tuple[int, ...]:
        """The noisy counts."""
        drawn = self.noise(source)
        in_array = isinstance(drawn, np.ndarray) and drawn.dtype.kind == "i"
        noise = drawn if in_array else np.array(drawn, dtype=object)  # Python integers of any size; unsigned ones would become floats
        return tuple((self.counts[: len(noise)] + noise).tolist())


@frozen(repr=False, eq=False)
class NoisyTable:
    """A sampler that adds exact noise to the private counts of a table, but for cells that cannot occur."""

    counts: Counts = field(repr=False)
    noise: Callable[[BitSource], Noise] = field(repr=False)
    possible: Mask

    def draw(self, source: BitSource) -> Counts:
        """The noisy counts of every cell, a row a group."""
        noisy = self.counts.copy()
        noisy[self.possible] += self.noise(source)
        return noisy


_LEAST_QUANTUM = 1.0 / 64.0
"""The least quantum, in seconds: over a hundred times as long as the shortest draws take."""


def quantum_above(seconds: float) -> float:
    """The least of 1/64 s, 1/32 s, 1/16 s, ... that is not below this many seconds."""
    quantum = _LEAST_QUANTUM
    while quantum < seconds:
        quantum *= 2.0
    return quantum


@contextmanager
def whole_quanta(quantum: float | None) -> Iterator[None]:
    """End the block, also after an error, at a whole multiple of the quantum after it began; at once if there is no quantum."""
    if quantum is None:
        yield
        return
    began = monotonic()
    try:
        yield
    finally:
        end = began + quantum * max(1, ceil((monotonic() - began) / quantum))
        while (left := end - monotonic()) > 0.0:
            sleep(left)
