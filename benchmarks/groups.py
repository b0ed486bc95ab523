"""Summaries of many groups of three categories, ε = 1 and sizes of about 300, under all three promises: how they grow with the groups.

Of each call the processor time is shown too, halved, as what two free processors would need: waiting for a busy machine is not held
against it. Memory is what is added to the process. `python -m benchmarks.groups "total public" 1000000` runs one promise whole, from true
counts to a frame of intervals.
"""

import sys
from time import perf_counter, process_time
from typing import Any

import numpy as np

import discreet as dc
from benchmarks.peers import megabytes
from benchmarks.timing import growth, machine, shown, table
from discreet.inference.tables.summaries import group_summaries
from discreet.mechanisms.lattice import GeometricNoise

SIZES = {"sizes public": (1_000, 10_000, 100_000), "nothing public": (1_000, 10_000), "total public": (1_000, 10_000)}
"""Groups, by promise."""
LARGEST = 1_000_000
"""What the last size is extrapolated to."""
COMPARED, MANY, MORE_NOISE = 20_000, 5, 0.5
"""Groups, categories and ε of the table whose three promises are compared."""


def noisy_table(promise: str, groups: int, categories: int = 3, epsilon: float = 1.0, seed: int = 1) -> tuple[Any, float, dict[str, Any]]:
    """Noisy counts, the slope of their noise and what is public; the noise is simulated."""
    rng = np.random.default_rng(seed)
    slope = epsilon if promise == "nothing public" else 0.5 * epsilon
    n = rng.integers(250, 351, groups)
    x = rng.multinomial(n, rng.dirichlet(np.arange(2.0, 2.0 + categories), groups))
    rest = -np.expm1(-slope)
    noise = rng.geometric(rest, x.shape) - rng.geometric(rest, x.shape)
    if promise != "nothing public":
        noise[:, -1] -= noise.sum(axis=1)
    public: dict[str, dict[str, Any]] = {"sizes public": {"sizes": n}, "total public": {"total": int(n.sum())}, "nothing public": {}}
    return x + noise, slope, public[promise]


def measure(promise: str, groups: int, categories: int = 3, epsilon: float = 1.0) -> dict[str, float]:
    """Seconds, halved processor seconds, memory and the largest bound on an interval's error."""
    z, slope, public = noisy_table(promise, groups, categories, epsilon)
    start, wall, processor = megabytes(), perf_counter(), process_time()
    found = group_summaries(z, np.ones(categories), GeometricNoise(categories, slope), **public)
    return {
        "wall": perf_counter() - wall,
        "halved": 0.5 * (process_time() - processor),
        "megabytes": megabytes() - start,
        "error": float(found.error.max()),
    }


def whole(promise: str, groups: int) -> str:
    """One line for a release and its summary, through what users call."""
    rng = np.random.default_rng(1)
    sizes = rng.integers(250, 351, groups)
    counts = rng.multinomial(sizes, rng.dirichlet([2.0, 3.0, 4.0], groups))
    n: Any = {"sizes public": sizes, "total public": int(sizes.sum()), "nothing public": None}[promise]
    start, wall, processor = megabytes(), perf_counter(), process_time()
    mechanism = dc.LatticeGeometric(dc.Dirichlet([1, 1, 1], categories=["a", "b", "c"]), n, 1, by={"group": range(groups)})
    frame = mechanism.release(counts, steady=False).noise_aware().summary()
    seconds, halved = perf_counter() - wall, 0.5 * (process_time() - processor)
    return (
        f"{promise}, {groups:,} groups, {len(frame):,} rows: wall {shown(seconds)}, processor time / 2 {shown(halved)}, "
        f"memory {megabytes() - start:,.0f} MB"
    )


def run() -> str:
    """A Markdown table."""
    rows = []
    for promise, sizes in SIZES.items():
        measure(promise, 100)
        found = {groups: measure(promise, groups) for groups in sizes}
        last = found[sizes[-1]]
        for groups, each in found.items():
            rise = growth(found[sizes[0]]["halved"], each["halved"], groups / sizes[0]) if groups > sizes[0] else ""
            memory = f"{each['megabytes']:,.0f} MB"
            rows.append([promise, f"{groups:,}", shown(each["wall"]), shown(each["halved"]), rise, memory, f"{each['error']:.1g}"])
        rows.append([promise, f"{LARGEST:,}", "", f"{shown(last['halved'] * LARGEST / sizes[-1])} (extrapolated)", "", "", ""])
    head = ["promise", "groups", "wall", "processor time / 2", "growth", "memory", "largest bound"]
    return f"## Many groups at once\n\nOn {machine()}:\n\n{table(head, rows)}\n\n{compared()}\n"


def compared(groups: int = COMPARED) -> str:
    """A Markdown table: how many times as long each promise takes as the one before, for one table in one run."""
    found = {promise: measure(promise, groups, MANY, MORE_NOISE)["halved"] for promise in SIZES}
    rows, before = [], 0.0
    for promise, took in found.items():
        rows.append([promise, shown(took), f"{took / before:.2f}×" if before else ""])
        before = took
    return table([f"{groups:,} groups by {MANY} categories, ε = {MORE_NOISE:g}", "processor time / 2", "of the promise above"], rows)


if __name__ == "__main__":
    print(whole(sys.argv[1], int(sys.argv[2])) if len(sys.argv) > 2 else run())
