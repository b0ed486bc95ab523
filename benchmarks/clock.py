"""What the duration of a draw and the bits it takes tell beside its outcome: the auditor over both, for two neighbouring datasets.

The samplers by loops, whose number of turns is the size of the noise, are the positive control: the auditor must refute their ε.
Draws of the two datasets take turns in random order, so that whatever else the machine does falls on both. What is timed is all that
comes after the counts were checked: noise, report and record.
"""

import gc
import sys
from collections.abc import Iterator
from random import Random
from time import perf_counter_ns
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tests.loop_samplers import LoopHistogram, LoopLattice

import discreet as dc
from benchmarks.timing import machine, table
from discreet.analysis.audit import Audit, with_bits
from discreet.mechanisms.base import Mechanism, Prepared

FIRST, SECOND = (500, 500), (501, 499)
DRAWS, PILOT, BINS = 60_000, 4_000, 24
CONFIDENCE = 0.95
EPSILONS = ("0.5", "1")
KINDS: dict[str, type[Mechanism]] = {
    "LatticeGeometric": dc.LatticeGeometric,
    "LaplaceHistogram": dc.LaplaceHistogram,
    "LaplaceDimension": dc.LaplaceDimension,
    "LaplaceZhang": dc.LaplaceZhang,
    "LatticeGeometric by loops (control)": LoopLattice,
    "LaplaceHistogram by loops (control)": LoopHistogram,
}
Rows = NDArray[np.int64]


def _timed(prepared: list[Prepared], order: Iterator[int], size: int) -> list[Rows]:
    """Outcomes of both datasets, each with its nanoseconds in the last column, drawn in turns."""
    rows: list[list[tuple[int, ...]]] = [[], []]
    for _ in range(size):
        first = next(order)
        for which in (first, 1 - first):
            start = perf_counter_ns()
            release = prepared[which].draw()
            taken = perf_counter_ns() - start
            rows[which].append((*release.raw, taken))
    return [np.array(part) for part in rows]


def timed_audit(mechanism: Mechanism, draws: int = DRAWS) -> Audit:
    """The auditor over outcome and wall time. Times are told apart by quantiles of a pilot run, which does not count."""
    prepared = [mechanism.prepare(counts, allow_nonprivate=True) for counts in (FIRST, SECOND)]
    shuffled = Random(1)  # noqa: S311 - the order of measurements, not a release
    order = iter(lambda: shuffled.getrandbits(1), 2)
    gc.disable()
    try:
        pilot = np.concatenate([rows[:, -1] for rows in _timed(prepared, order, PILOT // 2)])
        found = _timed(prepared, order, draws)
    finally:
        gc.enable()
    edges = np.quantile(pilot, np.linspace(0, 1, BINS + 1)[1:-1])
    labelled = {
        counts: np.column_stack([rows[:, :-1], np.searchsorted(edges, rows[:, -1])])
        for counts, rows in zip((FIRST, SECOND), found, strict=True)
    }

    def draw(counts: ArrayLike, size: int) -> ArrayLike:
        return labelled[tuple(np.asarray(counts).tolist())][:size]

    return dc.audit(draw, FIRST, SECOND, draws=draws, confidence=CONFIDENCE)


def measure(draws: int = DRAWS) -> dict[str, Any]:
    """For every mechanism and ε: what the auditor finds over outcome and time, and over outcome and bits."""
    rows = []
    for name, kind in KINDS.items():
        for epsilon in EPSILONS:
            mechanism = kind(dc.Beta(1, 1), 1000, epsilon)
            by_time = timed_audit(mechanism, draws)
            by_bits = dc.audit(with_bits(mechanism), FIRST, SECOND, draws=draws, confidence=CONFIDENCE)
            rows.append({"mechanism": name, "epsilon": epsilon, "time": by_time.epsilon, "bits": by_bits.epsilon})
            print(rows[-1], file=sys.stderr, flush=True)
    return {"machine": machine(), "draws": draws, "confidence": CONFIDENCE, "rows": rows}


def tables(record: dict[str, Any]) -> str:
    """Markdown."""

    def cell(row: dict[str, Any], key: str) -> str:
        return f"{row[key]:.2f}, **refutes ε**" if row[key] > float(row["epsilon"]) else f"{row[key]:.2f}"

    body = [(row["mechanism"], row["epsilon"], cell(row, "time"), cell(row, "bits")) for row in record["rows"]]
    head = ("mechanism", "ε", "least ε of outcome and time", "least ε of outcome and bits")
    told = f"""\
`dc.audit` from {record["draws"]:,} draws at each of {FIRST} and {SECOND}, at {record["confidence"]:.0%} confidence: the least ε that
outcome and wall time have together, and that outcome and bits taken have. Timed is what comes after the counts were checked: noise, report
and record. The samplers by loops are the control, which the auditor must refute. That it does not refute the others proves nothing, but it
is what can be measured. On {record["machine"]}:"""
    return f"{told}\n\n{table(head, body)}\n"


def run() -> str:
    """Markdown tables, from fewer draws."""
    return "## What time and bits tell\n\n" + tables(measure(10_000))


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    from benchmarks import page

    page.write_part("clock", measure())
