"""Shared by the benchmark modules: a stopwatch, tables, and the machine they ran on."""

import os
import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from time import perf_counter

__all__ = ["gigabytes", "growth", "machine", "seconds", "shown", "table"]

_KEPT = "\u00a0"
"""A space at which no line is broken: a number stays with its unit."""
_PACKAGES = ("numpy", "scipy", "python-flint")


def seconds(call: Callable[[], object], budget: float = 0.2) -> float:
    """Seconds for one call: the least of as many repetitions as fit the budget. Noise only ever adds."""
    best, spent = float("inf"), 0.0
    while spent < budget:
        start = perf_counter()
        call()
        took = perf_counter() - start
        best, spent = min(best, took), spent + took
    return best


def growth(first: float, last: float, factor: float) -> str:
    """How a cost grew while its size grew by a factor, as a power of the size."""
    from math import log

    return f"size^{log(last / first) / log(factor):.2f}"


def shown(value: float) -> str:
    """Seconds, in the unit that suits them."""
    if value >= 1000.0:
        return f"{float(f'{value:.3g}'):,.0f}{_KEPT}s"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g}{_KEPT}{unit}"
    return f"{value * 1e9:.3g}{_KEPT}ns"


def gigabytes(megabytes: float) -> str:
    """An amount of memory to two digits."""
    return f"{float(f'{megabytes / 1024:.2g}'):,.10g}{_KEPT}GB"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [" | ".join(head), " | ".join("---" for _ in head), *(" | ".join(str(cell) for cell in row) for row in rows)]
    return "\n".join(f"| {line} |" for line in lines)


def machine() -> str:
    """What was measured on, in one line."""
    versions = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}, Python {sys.version.split()[0]}, {versions}"
