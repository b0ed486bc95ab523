"""What a clock tells about the draw of an exponential mechanism, as it is and in whole quanta of time: by the auditor.

Outcome, of which a quarter of the last count's range is enough, and time together are audited for two neighbours. Without the quantum the
time is cut into a few steps around the two medians; with it, it is the number of quanta, which is all that a steady draw shows but for the
jitter of waking up. Nobody sleeps here. Of each draw the lesser of wall-clock and processor time: who listens has a quiet machine.
"""

from collections.abc import Callable
from math import ceil
from time import perf_counter, process_time

import numpy as np
from numpy.typing import ArrayLike

import discreet as dc
from benchmarks.timing import shown, table

CASES = [
    ("k = 2, n = 1000", dc.HellingerSmooth(dc.Dirichlet.uniform(2), 1000, 1), (0, 1000), (1, 999), 3000),
    ("k = 2, n = 10^6", dc.HellingerSmooth(dc.Dirichlet.uniform(2), 10**6, 1), (0, 10**6), (1, 10**6 - 1), 3000),
    ("k = 3, n = 100", dc.HellingerSmooth(dc.Dirichlet.uniform(3), 100, 1), (0, 0, 100), (1, 0, 99), 3000),
    ("k = 3, n = 1000", dc.HellingerSmooth(dc.Dirichlet.uniform(3), 1000, 1), (0, 0, 1000), (1, 0, 999), 1500),
]
STEPS = 8
CONFIDENCE = 0.95
Drawn = tuple[list[tuple[int, ...]], np.ndarray[tuple[int], np.dtype[np.float64]]]


def timed_draws(mechanism: dc.HellingerSmooth, counts: tuple[int, ...], size: int) -> Drawn:
    """Outcomes with the seconds from the beginning of the sampler to the end of the draw."""
    prepared, outcomes, seconds = mechanism.prepare(counts), [], []
    for _ in range(size):
        wall, processor = perf_counter(), process_time()
        outcomes.append(prepared.draw(steady=False).raw)
        seconds.append(min(perf_counter() - wall, process_time() - processor))
    return outcomes, np.array(seconds)


def _replayed(drawn: dict[tuple[int, ...], Drawn], seen: Callable[[float], float]) -> Callable[[ArrayLike, int], ArrayLike]:
    """What an observer has: the outcome and what the clock shows of the time."""

    def draw(counts: ArrayLike, size: int) -> ArrayLike:
        outcomes, seconds = drawn[tuple(int(x) for x in np.asarray(counts))]
        return np.array(
            [[4 * outcome[-1] // (sum(outcome) + 1), seen(time)] for outcome, time in zip(outcomes[:size], seconds[:size], strict=True)]
        )

    return draw


def _row(name: str, mechanism: dc.HellingerSmooth, first: tuple[int, ...], second: tuple[int, ...], size: int) -> list[object]:
    mechanism._warm_up()
    half = size // 2
    drawn: dict[tuple[int, ...], Drawn] = {}
    for _ in range(2):  # the two take turns, so that what slows the machine slows both
        for counts in (first, second):
            outcomes, seconds = timed_draws(mechanism, counts, half)
            before = drawn.get(counts, ([], np.zeros(0)))
            drawn[counts] = before[0] + outcomes, np.concatenate([before[1], seconds])
    medians = sorted(float(np.median(drawn[counts][1])) for counts in (first, second))
    edges = np.linspace(0.9 * medians[0], 1.1 * medians[1], STEPS)
    quantum = mechanism._time_quantum
    plain = dc.audit(_replayed(drawn, lambda time: float(np.searchsorted(edges, time))), first, second, draws=size, confidence=CONFIDENCE)
    steady = dc.audit(_replayed(drawn, lambda time: float(ceil(time / quantum))), first, second, draws=size, confidence=CONFIDENCE)
    longest = max(float(seconds.max()) for _, seconds in drawn.values())
    overruns = sum(int((seconds > quantum).sum()) for _, seconds in drawn.values())
    times = [shown(float(np.median(drawn[counts][1]))) for counts in (first, second)]
    return [name, *times, f"{plain.epsilon:.2f}", shown(quantum), f"{steady.epsilon:.2f}", shown(longest), f"{overruns} of {2 * size}"]


def run() -> str:
    """Markdown table."""
    head = ["", "one", "its neighbour", "ε at least, by time", "quantum", "ε at least, by quanta", "longest draw", "overruns"]
    told = "Outcome and time of one draw, ε = 1, audited at 95 % for two neighbours; a bound above 1 refutes."
    return f"### Steady draws\n\n{told}\n\n" + table(head, [_row(*case) for case in CASES])
