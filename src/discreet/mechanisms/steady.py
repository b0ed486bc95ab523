"""Draws that end at a multiple of a public quantum of time: a clock then tells the number of quanta alone (docs/explain/promise.md)."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from time import monotonic, sleep

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
