"""Contrasts of all pairs of groups in one frame, beside the same contrasts one by one, each from a new posterior: ratios of time.

Tables have three categories, sizes of about 300 and ε = 0.5. What pairs have in common is computed once for a frame. All times are of the
processor: waiting for a busy machine is not held against either.
"""

from time import process_time
from typing import Any

import numpy as np

import discreet as dc
from benchmarks.timing import machine, shown, table
from discreet.sampling import SeededBits

GROUPS, ALONE = 50, 3
"""Groups of the table, and pairs that are compared one by one."""
PROMISES = ("sizes public", "nothing public", "total public")


def noisy_posterior(promise: str, groups: int, epsilon: float = 0.5) -> dc.TablePosterior:
    """The posterior of a table whose noise has a seed, so that both ways read the same."""
    counts = np.random.default_rng(5).multinomial(300, [0.5, 0.3, 0.2], size=groups)
    n: Any = {"sizes public": counts.sum(axis=1), "total public": int(counts.sum()), "nothing public": None}[promise]
    mechanism = dc.LatticeGeometric(dc.Dirichlet([1, 1, 1], ["never", "former", "current"]), n, epsilon, by={"group": range(groups)})
    release = mechanism.release(counts, source=SeededBits(3), steady=False)
    return release.noise_aware()


def one_by_one(promise: str, groups: int) -> float:
    """Processor seconds of one pair, from a new posterior to three medians with their intervals."""
    took = 0.0
    for other in range(1, 1 + ALONE):
        post, start = noisy_posterior(promise, groups), process_time()
        found = post.contrast(0, other, "current")
        for quantity in (found.difference, found.ratio, found.odds_ratio):
            quantity.median(), quantity.interval(0.95)
        took += process_time() - start
    return took / ALONE


def run(groups: int = GROUPS) -> str:
    """A Markdown table."""
    rows = []
    for promise in PROMISES:
        noisy_posterior(promise, 3).contrasts("current")  # what is loaded and tabled once
        post, start = noisy_posterior(promise, groups), process_time()
        pairs = len(post.contrasts("current"))
        took, alone = process_time() - start, one_by_one(promise, groups)
        rows.append([promise, f"{pairs:,}", shown(took), shown(took / pairs), f"{alone * pairs / took:.3g}"])
    head = ["promise", "pairs", "processor time", "a pair", "one by one, times as long"]
    return f"## Contrasts of all pairs of {groups} groups\n\nOn {machine()}:\n\n{table(head, rows)}\n"
