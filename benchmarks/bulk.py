"""Noise in bulk, from a thousand to ten million counts: discreet's exact arrays beside OpenDP and diffprivlib, in one run.

Every contender runs in a process of its own, through growing sizes, until the next is predicted to take longer than the limit. OpenDP is
given its counts as it takes them; making them is not timed.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from time import perf_counter, process_time
from typing import Any

from benchmarks.peers import _diffprivlib_mechanisms, megabytes
from benchmarks.timing import growth, machine, shown, table
from discreet.sampling import SystemBits

SIZES = tuple(10**e for e in range(3, 8))
EPSILONS = ("1", "0.01")
MOST_SECONDS = 30.0
MOST_CELLS = {"discreet, one lattice": 10**6}
Action = Callable[[], object]
OURS, OPENDP, DIFFPRIVLIB = "discreet", "OpenDP discrete Laplace", "diffprivlib Geometric"


def _ours(epsilon: str, size: int) -> Action:
    from discreet.sampling.bulk import discrete_laplace_array

    return partial(discrete_laplace_array, SystemBits(), 1 / Fraction(epsilon), size)


def _cold(epsilon: str, size: int) -> Action:
    from discreet.sampling import bulk, noise

    def draw() -> object:
        noise.law_of.cache_clear()
        return bulk.discrete_laplace_array(SystemBits(), 1 / Fraction(epsilon), size)

    return draw


def _opendp(epsilon: str, size: int) -> Action:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    return partial(dp.m.make_laplace(*space, scale=1.0 / float(epsilon)), [0] * size)


def _diffprivlib(epsilon: str, size: int) -> Action:
    mechanism = _diffprivlib_mechanisms().Geometric(epsilon=float(epsilon))
    return lambda: [mechanism.randomise(0) for _ in range(size)]


def _blocks(epsilon: str, size: int) -> Action:
    from discreet.sampling.bulk import lattice_array

    return partial(lattice_array, SystemBits(), 10, Fraction(epsilon), size // 10)


def _lattice(epsilon: str, size: int) -> Action:
    from discreet.sampling.bulk import lattice_blocks

    return partial(lattice_blocks, SystemBits(), Fraction(epsilon), size, 1)


CONTENDERS: dict[str, Callable[[str, int], Action]] = {
    OURS: _ours,
    "discreet, tables cold": _cold,
    OPENDP: _opendp,
    DIFFPRIVLIB: _diffprivlib,
    "discreet, groups of 10 that keep their totals": _blocks,
    "discreet, one lattice": _lattice,
}


def climb(name: str, epsilon: str) -> list[dict[str, Any]]:
    """One contender at growing sizes: the shortest of three calls while they are short, memory on top of a first small draw's.

    Of each call the lesser of wall-clock and processor time: waiting for a busy machine is not held against long calls.
    """
    CONTENDERS[name](epsilon, 100)()
    start, rows = megabytes(), list[dict[str, Any]]()
    for size in (size for size in SIZES if size <= MOST_CELLS.get(name, size)):
        row: dict[str, Any] = {"peer": name, "epsilon": epsilon, "size": size}
        if rows and rows[-1]["seconds"] * size / rows[-1]["size"] > MOST_SECONDS:
            return [*rows, {**row, "predicted": rows[-1]["seconds"] * size / rows[-1]["size"]}]
        action, times = CONTENDERS[name](epsilon, size), list[float]()
        while len(times) < 3 and sum(times) < 5.0:
            wall, processor = perf_counter(), process_time()
            action()
            times.append(min(perf_counter() - wall, process_time() - processor))
        rows.append({**row, "seconds": min(times), "megabytes": megabytes() - start})
    return rows


def measure() -> dict[str, Any]:
    """All contenders and both ε."""
    rows = []
    for epsilon in EPSILONS:
        for name in CONTENDERS:
            command = [sys.executable, "-m", "benchmarks.bulk", name, epsilon]
            done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - our own interpreter
            rows += json.loads(done.stdout)
            print(rows[-1], file=sys.stderr, flush=True)
    return {"machine": machine(), "rows": rows}


def quoted(record: dict[str, Any]) -> dict[str, float]:
    """How many times as long the others take, for the most counts that each was measured at."""
    at = {(row["peer"], row["epsilon"], row["size"]): row["seconds"] for row in record["rows"] if "seconds" in row}
    most = {(peer, epsilon): size for peer, epsilon, size in at}
    return {f"bulk_ratio: {p}, ε = {e}": at[p, e, size] / at[OURS, e, size] for (p, e), size in most.items() if p in (OPENDP, DIFFPRIVLIB)}


def tables(record: dict[str, Any]) -> str:
    """Markdown."""
    parts = [
        f"""\
Two-sided geometric noise on independent counts, exact by discreet and by OpenDP, in floats by diffprivlib; and discreet's noise that keeps
totals. Ratios are to discreet with warm tables. "Stops" is where ten times the last size would take longer than
{MOST_SECONDS:g} s. Memory includes the result. On {record["machine"]}:"""
    ]
    for epsilon in EPSILONS:
        rows = [row for row in record["rows"] if row["epsilon"] == epsilon]
        at = {(row["peer"], row["size"]): row for row in rows}
        peers = list(dict.fromkeys(row["peer"] for row in rows))
        body = [[f"{size:,}", *(_cell(at.get((peer, size)), at[OURS, size]) for peer in peers)] for size in SIZES]
        most = [
            max((row for row in rows if row["peer"] == peer and "megabytes" in row), key=lambda row: int(row["size"])) for peer in peers
        ]
        memory = [f"{row['megabytes']:,.0f} MB at {row['size']:,}" for row in most]
        rise = [growth(at[peer, 10**4]["seconds"], row["seconds"], row["size"] / 10**4) for peer, row in zip(peers, most, strict=True)]
        parts += [f"### ε = {epsilon}", table(["counts", *peers], [*body, ["growth from 10,000", *rise], ["memory", *memory]])]
    return "\n\n".join(parts) + "\n"


def _cell(row: dict[str, Any] | None, ours: dict[str, Any]) -> str:
    if row is None:
        return ""
    if "predicted" in row:
        return f"stops ({shown(row['predicted'])})"
    if row is ours:
        return shown(row["seconds"])
    ratio = row["seconds"] / ours["seconds"]
    return f"{shown(row['seconds'])} ({ratio:.3g}×)"


def run() -> str:
    """Markdown tables."""
    return "## Noise in bulk\n\n" + tables(measure())


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        from benchmarks import page

        found = measure()
        page.write_part("bulk", found, quoted(found))
    else:
        print(json.dumps(climb(sys.argv[1], sys.argv[2])))
