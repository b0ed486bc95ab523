"""What the duration of a draw and the bits it takes tell beside its outcome: the auditor over both, for two neighbouring datasets.

An event is an outcome together with a side of a threshold of time. Half of the draws choose the event that tells the two datasets apart
best, and the other half, which did not choose it, bounds the loss. Draws of the two datasets take turns in random order, so that whatever
else the machine does falls on both. Time is wall-clock time, by `perf_counter_ns`, which is what an observer has.

Positive controls, whose ε must be refuted: samplers that loop as often as the noise is large, and one that takes the same steps whatever it
draws but holds the noise in a Python integer. Negative control: the same data twice, for which the bound must not be above 0.
"""

import gc
import sys
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from time import perf_counter_ns
from typing import Any

import numpy as np
from attrs import define
from numpy.typing import NDArray
from tests.sampling.loop_samplers import IntegerLattice, LoopHistogram, LoopLattice

import discreet as dc
from benchmarks.timing import machine, table
from discreet.analysis.audit import lower_bound, with_bits
from discreet.mechanisms.base import Mechanism

PUBLIC = (60, 40), (59, 41)
PRIVATE = (60, 40), (59, 40)
DRAWS, STEADY_DRAWS = 300_000, 60_000
"""In all, and of those that wait for the quantum of time."""
SHARES = (0.001, 0.003, 0.01, *np.linspace(0.02, 0.98, 33).tolist(), 0.99, 0.997, 0.999)
"""Shares of the times that thresholds are put at."""
CONFIDENCE = 0.95
EPSILONS = ("0.5", "1")
FEWEST = 10
"""Draws of an outcome, in the half that chooses, from which on it is looked at."""
QUANTUM = 1.0 / 4096.0
"""Seconds: with the quantum that releases have, so many draws would take hours. What is left to see is how exactly the machine wakes up."""
Integers = NDArray[np.int64]
Drawn = tuple[Integers, Integers]
"""Outcomes, of which the first count is enough, and nanoseconds."""


@define(frozen=True, slots=False, repr=False)
class ShortQuantum(dc.LatticeGeometric):
    """LatticeGeometric that ends at multiples of a shorter quantum than it has."""

    @property
    def _time_quantum(self) -> float:
        return QUANTUM


def _drawn(mechanism: Mechanism, counts: tuple[int, ...], *, steady: bool) -> Callable[[], dc.Release]:
    prepared = mechanism.prepare(counts, allow_nonprivate=True)
    return lambda: prepared.draw(steady=steady)


def _released(mechanism: Mechanism, counts: tuple[int, ...], *, steady: bool) -> Callable[[], dc.Release]:
    return lambda: mechanism.release(counts, steady=steady, allow_nonprivate=True)


Path = tuple[str, type[Mechanism], bool, Callable[..., Callable[[], dc.Release]], bool]
PATHS: list[Path] = [
    ("LatticeGeometric, draw", dc.LatticeGeometric, True, _drawn, False),
    ("LatticeGeometric, release", dc.LatticeGeometric, True, _released, False),
    ("LatticeGeometric, n private, draw", dc.LatticeGeometric, False, _drawn, False),
    ("LaplaceHistogram, draw", dc.LaplaceHistogram, True, _drawn, False),
    ("LatticeGeometric, draw, in whole quanta", ShortQuantum, True, _drawn, True),
    ("LatticeGeometric in Python integers (control)", IntegerLattice, True, _drawn, False),
    ("LatticeGeometric by loops (control)", LoopLattice, True, _drawn, False),
    ("LaplaceHistogram by loops (control)", LoopHistogram, True, _drawn, False),
]


Maker = Callable[[], Callable[[], dc.Release]]
"""Makes everything about a release but what is timed."""


def timed(makers: tuple[Maker, Maker], order: Iterator[int], size: int) -> tuple[Drawn, Drawn]:
    """So many draws of each of two datasets, in turns. Each is made anew: of two objects that stay, one lies better in memory."""
    outcomes, times = np.empty((2, size), dtype=np.int64), np.empty((2, size), dtype=np.int64)
    for place in range(size):
        first = next(order)
        for which in (first, 1 - first):
            draw = makers[which]()
            start = perf_counter_ns()
            release = draw()
            taken = perf_counter_ns() - start
            outcomes[which, place], times[which, place] = release.raw[0], taken
    return (outcomes[0], times[0]), (outcomes[1], times[1])


def _hits(drawn: Drawn, value: int, edges: Integers) -> Integers:
    """How many draws with this outcome took at most each of these times; then, how many took longer."""
    times = np.sort(drawn[1][drawn[0] == value])
    early = np.searchsorted(times, edges, side="right")
    return np.concatenate([early, len(times) - early])


def _chosen(first: Drawn, second: Drawn) -> tuple[int, int, Integers, int]:
    """The event that tells two datasets apart best: outcome, side and threshold, the thresholds, and which dataset it is likelier for."""
    size, pooled = len(first[0]), np.concatenate([first[1], second[1]])
    edges = np.quantile(pooled, SHARES).astype(np.int64)
    values, times = np.unique(np.concatenate([first[0], second[0]]), return_counts=True)
    values = values[times >= FEWEST]
    level = (1.0 - CONFIDENCE) / (8.0 * len(values) * len(edges))  # as strict as so many events ask, or chance would choose a rare one
    best = (-np.inf, 0, 0, 0)
    for value in values.tolist():
        hits = _hits(first, value, edges), _hits(second, value, edges)
        for likely in (0, 1):
            for event, (more, less) in enumerate(zip(hits[likely].tolist(), hits[1 - likely].tolist(), strict=True)):
                if more > less:
                    best = max(best, (lower_bound(more, less, size, level, 0.0), value, event, likely))
    return best[1], best[2], edges, best[3]


def audited(first: Drawn, second: Drawn) -> float:
    """A lower bound on the ε of outcome and time: the first half of the draws chooses an event, the second half tests it."""
    half = len(first[0]) // 2
    choosing, testing = (tuple((drawn[0][part], drawn[1][part]) for drawn in (first, second)) for part in (slice(half), slice(half, None)))
    value, event, edges, likely = _chosen(*choosing)
    hits = [int(_hits(drawn, value, edges)[event]) for drawn in testing]
    return lower_bound(hits[likely], hits[1 - likely], len(first[0]) - half, (1.0 - CONFIDENCE) / 2.0, 0.0)


def timed_audit(path: Path, epsilon: str, draws: int = DRAWS) -> tuple[float, float]:
    """The bound for two neighbours, and, as a control, for the same data twice; as many draws in all for each."""
    _, kind, public, way, steady = path
    mechanism = kind(dc.Beta(1, 1), 100 if public else None, epsilon)
    one, other = PUBLIC if public else PRIVATE
    shuffled = Random(1)  # noqa: S311 - the order of measurements, not a release
    order = iter(lambda: shuffled.getrandbits(1), 2)
    found = []
    gc.disable()
    try:
        for pair in ((one, other), (one, one)):
            one_way, other_way = (partial(way, mechanism, counts, steady=steady) for counts in pair)
            timed((one_way, other_way), order, 500)
            found.append(audited(*timed((one_way, other_way), order, draws // 2)))
    finally:
        gc.enable()
    return found[0], found[1]


def _row(path: Path, epsilon: str, draws: int) -> dict[str, Any]:
    name, kind, public, _, steady = path
    draws = min(draws, STEADY_DRAWS) if steady else draws
    by_time, control = timed_audit(path, epsilon, draws)
    mechanism = kind(dc.Beta(1, 1), 100 if public else None, epsilon)
    by_bits = dc.audit(with_bits(mechanism), *(PUBLIC if public else PRIVATE), draws=draws // 10, confidence=CONFIDENCE)
    row = {"mechanism": name, "draws": draws, "epsilon": epsilon, "time": by_time, "equal": control, "bits": by_bits.epsilon}
    print(row, file=sys.stderr, flush=True)
    return row


def measure(draws: int = DRAWS) -> dict[str, Any]:
    """For every path and ε: what the auditor finds over outcome and time, for neighbours and for equal data, and over outcome and bits."""
    rows = [_row(path, epsilon, draws) for path in PATHS for epsilon in EPSILONS]
    return {"machine": machine(), "draws": draws, "confidence": CONFIDENCE, "rows": rows}


def tables(record: dict[str, Any]) -> str:
    """Markdown."""

    def cell(row: dict[str, Any], key: str) -> str:
        return f"{row[key]:.2f}, **refutes ε**" if row[key] > float(row["epsilon"]) else f"{row[key]:.2f}"

    body = [
        (row["mechanism"], f"{row['draws']:,}", row["epsilon"], *(cell(row, key) for key in ("time", "equal", "bits")))
        for row in record["rows"]
    ]
    head = ("mechanism", "draws", "ε", "outcome and time", "the same data twice", "outcome and bits")
    told = f"""\
Lower bounds on the ε of what an observer has, at {record["confidence"]:.0%} confidence, for the neighbours {PUBLIC[0]} and {PUBLIC[1]}
({PRIVATE[0]} and {PRIVATE[1]} where n is private). By outcome and wall-clock time: one half of the draws chooses an outcome, a threshold
of time and a side of it, and the other half tests that event. By outcome and bits: `dc.audit`, from a tenth as many draws.
Releases are timed without their quantum of time; the row with a quantum has one of 1/4096 s.
Controls are the same data twice, in which nothing may be found, and the samplers by loops and with noise in Python integers, whose ε must
be refuted. On {record["machine"]}:"""
    return f"{told}\n\n{table(head, body)}\n"


def run() -> str:
    """Markdown tables, from fewer draws."""
    return "## What time and bits tell\n\n" + tables(measure(30_000))


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    from benchmarks import page

    page.write_part("clock", measure())
