"""Are answer and group independent? The Bayes factor of a release beside a private chi-square test with the same ε and public sizes.

The test is the Monte Carlo test of independence of Gaboardi, Lim, Rogers and Vadhan (2016, arXiv:1602.03090): Laplace noise of scale 2/ε on
every count, the chi-square statistic of the noisy table, and its law under independence by simulated tables that go through the same. Where
an expected count is below 5 it does not reject. Here it knows the sizes of groups, as readers of a release do.
"""

import numpy as np

import discreet as dc
from benchmarks.timing import machine, table
from discreet.arrays import Counts, Floats

SIZES, EPSILON, ABOVE, LEVEL = (20, 20), 1, 3, 0.05
ALIKE, APART = ("0.1", "0.2", "0.3", "0.4", "0.5"), ("0.2", "0.7")
TABLES, SIMULATED, LEAST_EXPECTED = 4_000, 999, 5.0


def rejected(shares: Floats, rng: np.random.Generator, tables: int) -> float:
    """How often the private chi-square test rejects, if groups have these shares."""
    sizes = np.array(SIZES)
    return float(np.mean([rejects(noisy(sizes, shares, 1, rng)[0], sizes, rng) for _ in range(tables)]))


def noisy(sizes: Counts, shares: Floats, many: int, rng: np.random.Generator) -> Floats:
    """Tables of two categories with noise: by table, group and category."""
    x = rng.binomial(sizes, shares, (many, len(sizes)))
    return np.stack([x, sizes - x], axis=2) + rng.laplace(0.0, 2.0 / EPSILON, (many, len(sizes), 2))


def statistics(z: Floats, sizes: Counts) -> tuple[Floats, Floats]:
    """Chi-square statistics of noisy tables, and the least expected count of each."""
    share = np.clip(0.5 * (1.0 + (z[..., 0] - z[..., 1]).sum(axis=1) / sizes.sum()), 1e-9, 1.0 - 1e-9)
    expected = sizes[:, None] * np.stack([share, 1.0 - share], axis=1)[:, None]
    return ((z - expected) ** 2 / expected).sum(axis=(1, 2)), expected.min(axis=(1, 2))


def rejects(z: Floats, sizes: Counts, rng: np.random.Generator) -> bool:
    (found,), (least,) = statistics(z[None], sizes)
    if least < LEAST_EXPECTED:
        return False
    share = 0.5 * (1.0 + (z[:, 0] - z[:, 1]).sum() / sizes.sum())
    under, _ = statistics(noisy(sizes, np.full(len(sizes), share), SIMULATED, rng), sizes)
    return bool((1 + (under >= found).sum()) <= LEVEL * (SIMULATED + 1))


def measure(tables: int = TABLES) -> dict[str, float]:
    """The largest type-I error over some common shares, and the power, of both; the standard error of the test's is below 0.8 points."""
    made = dc.LatticeGeometric(dc.Beta(1, 1), list(SIZES), EPSILON, by={"group": ["a", "b"]})
    rng, rows = np.random.default_rng(0), {share: [share, f"{1 - float(share):.1f}"] for share in (*ALIKE, *APART)}
    return {
        "error, Bayes factor": max(float(dc.bayes_factor_power(made, [rows[p]] * 2, above=ABOVE)) for p in ALIKE),
        "error, chi-square": max(rejected(np.full(2, float(p)), rng, tables) for p in ALIKE),
        "power, Bayes factor": float(dc.bayes_factor_power(made, [rows[p] for p in APART], above=ABOVE)),
        "power, chi-square": rejected(np.array(APART, dtype=np.float64), rng, tables),
    }


def run() -> str:
    """A Markdown table."""
    found = measure()
    rows = [[name, *(f"{100 * found[f'{kind}, {name}']:.1f} %" for kind in ("error", "power"))] for name in ("Bayes factor", "chi-square")]
    head = ("ε = 1, two groups of 20", "type-I error at most", f"power at shares {' and '.join(APART)}")
    return f"## Are answer and group independent?\n\nOn {machine()}:\n\n{table(head, rows)}\n"
