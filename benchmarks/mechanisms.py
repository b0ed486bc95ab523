"""Mechanisms: Monte Carlo draws, laws and best reports, and what they cost as the number of records grows."""

import resource
from functools import partial
from math import log10
from time import perf_counter

import numpy as np

import discreet as dc
from benchmarks.timing import seconds, shown, table
from discreet.mechanisms import MECHANISMS

_DRAWS = 1_000_000


def run() -> str:
    """Markdown tables."""
    return "\n\n".join(["### Mechanisms", _simulate(), _laws(), _remap_two(), _remap_many(), _posteriors()])


def _simulate() -> str:
    rows = []
    n = 10_000
    for cls in MECHANISMS:
        mechanism = cls(dc.Beta(1, 1), n, 1)
        start = perf_counter()
        mechanism.simulate([3_000, 7_000], _DRAWS, 1)
        took = perf_counter() - start
        rows.append([cls.__name__, shown(took), f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}"])
    head = ["mechanism", "seconds for 10^6 draws", "peak memory of the process so far, MB"]
    return f"`simulate`, k = 2, n = {n:,}, ε = 1.\n\n" + table(head, rows)


def _laws() -> str:
    rows = []
    for n, k, name in (
        (100_000, 2, "EHDS"),
        (400, 3, "EHDS"),
        (100, 4, "EHDS"),
        (100_000, 2, "lattice"),
        (400, 3, "lattice"),
        (1000, 2, "LSZhang"),
    ):
        mechanism = dc.mechanism(name, dc.Dirichlet([1] * k), n, 1)
        counts = [n - (k - 1) * (n // k), *[n // k] * (k - 1)]
        law = mechanism.law(counts)
        off = abs(law.probability.sum() - 1.0)
        rows.append(
            [
                type(mechanism).__name__,
                k,
                f"{n:,}",
                f"{len(law.counts):,}",
                shown(seconds(partial(mechanism.law, counts))),
                f"{off:.0e}",
            ]
        )
    return "`law`, ε = 1.\n\n" + table(["mechanism", "k", "n", "outcomes", "time", "sum, off 1 by"], rows)


def _remap_two() -> str:
    """The posterior of the data given the draw is wide for a small ε, so both ends are shown."""
    rows = []
    for exponent in (3, 4, 6, 9, 12, 15):
        n = 10**exponent
        times = []
        for epsilon in ("1", "0.01"):
            mechanism = dc.Remapped(dc.mechanism("lattice", dc.Beta(1, 1), n, epsilon))
            raw = np.array([[n // 3, n - n // 3]])
            mechanism.report(raw)  # the table of distances of a small world is built once
            times.append(shown(seconds(partial(mechanism.report, raw))))
        rows.append([f"10^{round(log10(n))}", *times])
    return "`Remapped(LatticeGeometric).report`, k = 2, one draw.\n\n" + table(["n", "ε = 1", "ε = 0.01"], rows)


def _remap_many() -> str:
    rows = []
    for k, n in ((3, 10**3), (3, 10**6), (3, 10**9), (3, 10**15), (10, 10**6), (100, 10**6)):
        mechanism = dc.Remapped(dc.mechanism("lattice", dc.Dirichlet([1] * k), n, 1))
        raw = np.full((1, k), n // k)
        raw[0, 0] += n - raw.sum()
        rows.append([k, f"10^{round(log10(n))}", shown(seconds(partial(mechanism.report, raw)))])
    return "`Remapped(LatticeGeometric).report`, many candidates: medians or projection, one draw, ε = 1.\n\n" + table(
        ["k", "n", "time"], rows
    )


def _posteriors() -> str:
    prior = dc.Dirichlet.uniform(3)

    def read(release: dc.Release) -> None:
        posterior = release.noise_aware()
        posterior.mean(), posterior.interval(), posterior.size.mean(), posterior.size.interval()

    rows = []
    for counts in ([100, 120, 80], [3000, 3000, 4000], [5, 10, 300]):
        releases = [dc.LatticeGeometric(prior, n, 0.1).release(counts, steady=False) for n in (sum(counts), None)]
        rows.append([counts, *(shown(seconds(partial(read, release))) for release in releases)])
    title = "`noise_aware` with the means and 95 % intervals of all probabilities and of n, `LatticeGeometric`, k = 3, ε = 0.1."
    return f"{title}\n\n" + table(["counts", "n public", "n private"], rows)
