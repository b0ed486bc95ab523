"""What exact draws cost: against n, against OpenDP's exponential mechanism over listed scores, and in memory."""

import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from statistics import median
from time import perf_counter, process_time

import numpy as np

import discreet as dc
from discreet.mechanisms.hellinger import HellingerSmooth
from discreet.mechanisms.lattice import LatticeGeometric
from discreet.sampling import CandidateSampler, SystemBits

SCORES = 10**6
# Counts and epsilon for k >= 3: near uniform, in between, and concentrated.
WIDE = [
    ("k = 4, n = 600, ε = 1", (300, 200, 80, 20), "1"),
    ("k = 10, n = 1000, ε = 1", (100,) * 10, "1"),
    ("k = 10, n = 1000, ε = 20", (100,) * 10, "20"),
    ("k = 5, n = 2000, ε = 0.05", (400,) * 5, "0.05"),
    ("k = 5, n = 2000, ε = 1", (1000, 500, 300, 150, 50), "1"),
    ("k = 5, n = 2000, ε = 5", (400,) * 5, "5"),
    ("k = 5, n = 2000, ε = 20", (400,) * 5, "20"),
    ("k = 100, n = 100, ε = 1", (1,) * 100, "1"),
    ("k = 100, n = 100, ε = 50", (1,) * 100, "50"),
]
ATTEMPTS = 200


def seconds(action: Callable[[], object], repeats: int) -> float:
    """Median processor time of one call, after one that is not counted: on a busy machine, waiting would count against long calls."""
    action()
    times = []
    for _ in range(repeats):
        start = process_time()
        action()
        times.append(process_time() - start)
    return median(times)


def shortest(action: Callable[[], object], repeats: int) -> float:
    """Shortest wall-clock time of one call: for code that runs on several threads, whose processor time would count against it."""
    times = []
    for _ in range(repeats):
        start = perf_counter()
        action()
        times.append(perf_counter() - start)
    return min(times)


def _release(counts: tuple[int, ...], epsilon: str = "1") -> Callable[[], object]:
    """A release by a new mechanism each time: an old one keeps the sampler of its last counts, and would show repeated draws."""
    prior = dc.Beta(1, 1) if len(counts) == 2 else dc.Dirichlet([1] * len(counts))
    return lambda: HellingerSmooth(prior, n=sum(counts), epsilon=Fraction(epsilon)).release(counts, steady=False)


def _lattice_release(counts: tuple[int, ...], epsilon: str) -> Callable[[], object]:
    mechanism = LatticeGeometric(dc.Dirichlet([1] * len(counts)), n=sum(counts), epsilon=Fraction(epsilon))
    return lambda: mechanism.release(counts, steady=False)


def _sampler(counts: tuple[int, ...], epsilon: str) -> CandidateSampler:
    return HellingerSmooth(dc.Dirichlet([1] * len(counts)), n=sum(counts), epsilon=Fraction(epsilon))._sampler(counts)


def _opendp() -> dict[str, float]:
    """OpenDP choosing among the scores of n = 10^6: its exponential mechanism (Gumbel noise) and its exponential-noise variant."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    scores = np.asarray(
        -dc.hellinger([400_001.0, 600_001.0], np.stack([np.arange(SCORES) + 1.0, SCORES + 1.0 - np.arange(SCORES)], axis=1))
    )
    scale = 4.0 * dc.smooth_sensitivity(dc.Beta(1, 1), [400_000, 600_000], gamma=1)  # the same law as HellingerSmooth at ε = 1
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    result = {}
    for name, measure in (
        ("exponential mechanism (Gumbel)", dp.zero_concentrated_divergence()),
        ("exponential noise", dp.max_divergence()),
    ):
        choose = dp.m.make_noisy_max(*space, measure, scale=scale)
        result[name] = shortest(lambda choose=choose: choose(scores), 15)  # type: ignore[misc]
    return result


def _two_categories() -> list[str]:
    cost = {n: seconds(_release((2 * n // 5, n - 2 * n // 5)), 60) for n in (10**3, 10**6, 10**9, 10**12)}
    lines = [
        "### Two categories, `HellingerSmooth.release`, ε = 1",
        "",
        "| n | ms | ratio to n = 10³ | peak memory, MB |",
        "|---|---|---|---|",
    ]
    for n, t in cost.items():
        lines.append(
            f"| 10^{len(str(n)) - 1} | {1e3 * t:.2f} | {t / cost[10**3]:.2f} | {_peak_memory((2 * n // 5, n - 2 * n // 5), '1')} |"
        )
    lines += [
        "",
        f"Against OpenDP given {SCORES:,} precomputed scores of n = 10⁶ (the list itself is not counted), its shortest of 15 calls:",
        "",
    ]
    lines += ["| OpenDP | ms | OpenDP / discreet |", "|---|---|---|"]
    lines += [f"| {name} | {1e3 * t:.0f} | {t / cost[10**6]:.0f} |" for name, t in _opendp().items()]
    return lines


def _more_categories() -> list[str]:
    lines = ["### Three categories or more, `HellingerSmooth`, prior of ones", ""]
    lines += ["| world | release, ms | repeated draw, ms | release / repeated | accepted | peak memory, MB |", "|---|---|---|---|---|---|"]
    for name, counts, epsilon in WIDE:
        whole = seconds(_release(counts, epsilon), 5)
        sampler, source = _sampler(counts, epsilon), SystemBits()
        again = seconds(lambda s=sampler, b=source: s.draw(b), 50)  # type: ignore[misc]
        accepted = sum(sampler.attempt(source) is not None for _ in range(ATTEMPTS)) / ATTEMPTS
        cells = f"{1e3 * whole:.0f} | {1e3 * again:.2f} | {whole / again:.0f} | {accepted:.2f}"
        lines.append(f"| {name} | {cells} | {_peak_memory(counts, epsilon)} |")
    return lines


def _growth() -> list[str]:
    lines = ["### Growth of a first draw, k >= 3, ε = 1, equal counts", ""]
    lines += ["| k | n | ms | ratio to the row above |", "|---|---|---|---|"]
    for sizes in ([(4, 300), (4, 600), (4, 1200), (4, 2400), (4, 4800)], [(3, 720), (6, 720), (12, 720), (24, 720)]):
        before = 0.0
        for k, n in sizes:
            cost = seconds(_release((n // k,) * k), 3)
            lines.append(f"| {k} | {n} | {1e3 * cost:.0f} | {f'{cost / before:.1f}' if before else ''} |")
            before = cost
    return lines


def _lattice() -> list[str]:
    lines = ["### `LatticeGeometric.release`, k = 1000, n = 10⁹", "", "| ε | ms | peak memory, MB |", "|---|---|---|"]
    counts = (10**6,) * 1000
    for epsilon in ("0.01", "1", "20"):
        cost = seconds(_lattice_release(counts, epsilon), 5)
        lines.append(f"| {epsilon} | {1e3 * cost:.0f} | {_peak_memory(counts, epsilon, '_lattice_release')} |")
    return lines


# VmHWM rather than getrusage: the latter remembers the size of the process that started this one.
_MEMORY = """
from pathlib import Path
from benchmarks.sampling import {maker}
{maker}({counts}, "{epsilon}")()
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(int(peak.split()[1]) // 1024)
"""


def _peak_memory(counts: tuple[int, ...], epsilon: str, maker: str = "_release") -> str:
    """Of a process of its own that imports discreet and makes one release."""
    script = _MEMORY.format(counts=counts, epsilon=epsilon, maker=maker)
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)  # noqa: S603 (our own interpreter)
    return done.stdout.strip()


def run() -> str:
    """All tables, from one run on one machine, in processor time: read the ratios, not the times."""
    parts = (_two_categories(), _more_categories(), _growth(), _lattice())
    return "## Exact sampling\n\n" + "\n\n".join("\n".join(part) for part in parts) + "\n"


if __name__ == "__main__":
    print(run())
