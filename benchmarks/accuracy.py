"""Accuracy, computed: how far every mechanism is from the best possible, and what means cost without enumeration."""

from time import perf_counter

import discreet as dc
from discreet.analysis.error_laws import expected_error
from discreet.analysis.optimum import optimal
from discreet.model.datasets import candidate_count
from discreet.planning.comparison import compare

_PRIORS = {"(1, 1)": dc.Beta(1, 1), "(½, ½)": dc.Beta("1/2", "1/2"), "(2, 5)": dc.Beta(2, 5)}


def run() -> str:
    """Markdown tables."""
    return "\n\n".join(
        ["### Accuracy", _ratios(dc.Beta(1, 1), 60), _ratios(dc.Dirichlet.uniform(3), 8), _universal(), _lattice(), _without_enumeration()]
    )


def _ratios(prior: dc.Dirichlet | dc.Beta, n: int) -> str:
    levels = ("0.1", "0.5", "1", "2")
    tables = [{row.mechanism: row.ratio for row in compare(prior, n, epsilon).rows} for epsilon in levels]
    names = sorted(tables[2], key=lambda name: tables[2][name] or 0.0)
    rows = [f"| mechanism | {' | '.join(f'ε = {e}' for e in levels)} |", "|---|" + "---|" * len(levels)]
    rows += [f"| {name} | " + " | ".join(f"{table[name] or 0.0:.3f}" for table in tables) + " |" for name in names]
    return f"Mean Hellinger error over the optimum of the linear program, k = {prior.k}, n = {n}, a = 1.\n\n" + "\n".join(rows)


def _universal() -> str:
    rows = [
        "| prior | n | ε | optimum | Remapped(LatticeGeometric) - 1 | LatticeGeometric | seconds of the solver |",
        "|---|---|---|---|---|---|---|",
    ]
    for shown, prior in _PRIORS.items():
        for n in (5, 20, 60):
            for epsilon in ("0.1", "1"):
                start = perf_counter()
                best = optimal(prior, n, epsilon).value
                seconds = perf_counter() - start
                plain = dc.mechanism("lattice", prior, n, epsilon)
                excess = expected_error(dc.Remapped(plain), over="predictive") / best - 1.0
                ratio = expected_error(plain, over="predictive") / best
                rows.append(f"| {shown} | {n} | {epsilon} | {best:.6f} | {excess:.1e} | {ratio:.4f} | {seconds:.2f} |")
    return "Two categories: the geometric mechanism, remapped, against the optimum (ratios).\n\n" + "\n".join(rows)


def _lattice() -> str:
    rows = ["| n | optimum | LatticeGeometric | Remapped | LaplaceZhang | LaplaceHistogram |", "|---|---|---|---|---|---|"]
    prior = dc.Dirichlet.uniform(3)
    for n in (6, 7, 8, 10):
        best = optimal(prior, n, 1).value
        lattice, zhang, histogram = (dc.mechanism(name, prior, n, 1) for name in ("lattice", "LSZhang", "LSHist"))
        ratios = [expected_error(m, over="predictive") / best for m in (lattice, dc.Remapped(lattice), zhang, histogram)]
        rows.append(f"| {n} | {best:.6f} | " + " | ".join(f"{ratio:.4f}" for ratio in ratios) + " |")
    return "Three categories, a = 1, ε = 1: ratios to the optimum.\n\n" + "\n".join(rows)


def _without_enumeration() -> str:
    rows = ["| mechanism | k | n | candidates | mean H | seconds |", "|---|---|---|---|---|---|"]
    for name, k, n in (
        ("HellingerSmooth", 4, 600),
        ("HellingerSmooth", 5, 2000),
        ("HellingerSmooth", 10, 1000),
        ("LaplaceHistogram", 4, 600),
        ("LaplaceHistogram", 10, 1000),
        ("LatticeGeometric", 10, 1000),
    ):
        mechanism = dc.mechanism(name, dc.Dirichlet.uniform(k), n, 1)
        start = perf_counter()
        found = expected_error(mechanism, [n // k] * k)
        seconds = perf_counter() - start
        size = candidate_count(n, k)
        rows.append(f"| {name} | {k} | {n} | {size:.2g} | {found:.6f} ({found.method}) | {seconds:.2f} |")
    start = perf_counter()
    compare(dc.Beta(1, 1), 1000, 1)
    rows.append(f"| `compare`, all ten | 2 | 1000 | 1001 | | {perf_counter() - start:.2f} |")
    return "Means without listing candidates, balanced data, a = 1, ε = 1.\n\n" + "\n".join(rows)
