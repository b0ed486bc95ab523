"""Small groups that are read together, beside NUTS on the same model in one run: times, and whether both say the same.

Groups have two categories, 5 to 40 records and ε = 1. NUTS is PyMC's, where that is installed (`make test-slow` installs it): the counts
are summed over by `discreet.pymc.likelihood`, and mean, strength and shares are drawn. It samples fewer groups than the whole, with 500
draws after 500 of tuning, twice. Its time leaves compiling out, and is that of all its draws, or of 1,000 effective ones of the share
with the median number of them, whichever is less.
"""

from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np

import discreet as dc
from benchmarks.augmentation import effective
from benchmarks.timing import machine, shown, table

WHOLE, BESIDE = 10_000, 100
EPSILON, DRAWS, TUNE, CHAINS, EFFECTIVE = 1, 500, 500, 2, 1_000
MOST_SECONDS, LEAST_RATIO = 60.0, 20.0
"""The bars: for all groups, and beside NUTS."""


def noisy(groups: int, seed: int = 0) -> Any:
    """A release of simulated groups that are alike."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 41, groups)
    x = rng.binomial(sizes, rng.beta(6.0, 14.0, groups))
    made: Any = dc.LatticeGeometric(dc.Beta(1, 1), sizes.tolist(), EPSILON, by={"area": list(range(groups))})
    z = np.stack([x, sizes - x], axis=1) + made.noise.simulate(1, rng).reshape(groups, 2)
    return dc.Release(made, made.guarantee, z, made.report(z))


def exact(release: Any) -> tuple[float, Any]:
    """Seconds for the intervals of all groups, and what they are."""
    start = perf_counter()
    found = release.noise_aware().pooled().figures()
    return perf_counter() - start, found


def sampled(release: Any, groups: int) -> tuple[float, float, Any]:
    """Seconds of NUTS for all draws and for the effective ones asked for, without compiling; and the draws of the first share."""
    pm, likelihood = import_module("pymc"), import_module("discreet.pymc").likelihood
    with pm.Model():
        mean = pm.Uniform("mean")
        u = pm.Uniform("u")  # s = u/(1 - u) has the density 1/(1 + s)²
        strength = u / (1.0 - u)
        share = pm.Beta("share", strength * mean, strength * (1.0 - mean), shape=groups)
        likelihood("release", release, pm.math.stack([share, 1.0 - share], axis=1))
        pm.sample(5, tune=5, chains=1, cores=1, progressbar=False, compute_convergence_checks=False, random_seed=1)  # compiles
        start = perf_counter()
        trace = pm.sample(DRAWS, tune=TUNE, chains=CHAINS, cores=CHAINS, progressbar=False, random_seed=2)
        took = perf_counter() - start
    draws = trace.posterior["share"].to_numpy()
    many = float(np.median([sum(effective(chain[:, g]) for chain in draws) for g in range(groups)]))
    return took, took * EFFECTIVE / many, draws


def run() -> str:
    """A Markdown table."""
    whole, _ = exact(noisy(WHOLE))
    rows = [[f"{WHOLE:,}", shown(whole), "", "", "", f"≤ {MOST_SECONDS:g} s"]]
    if find_spec("pymc") is not None:
        release = noisy(BESIDE)
        ours, found = exact(release)
        took, per_effective, draws = sampled(release, BESIDE)
        error = draws.std(axis=(0, 1)) / np.sqrt([sum(effective(chain[:, g]) for chain in draws) for g in range(BESIDE)])
        away = float(np.max(np.abs(draws.mean(axis=(0, 1)) - found.mean[:, 0]) / error))
        least = min(took, per_effective)
        rows.append([f"{BESIDE:,}", shown(ours), shown(least), f"{least / ours:.0f}×", f"{away:.1f}", f"≥ {LEAST_RATIO:g}×"])
    head = ("groups", "`pooled().figures()`", "NUTS", "ratio", "largest difference of means, in standard errors", "bar")
    return f"## Small groups that are read together\n\nOn {machine()}:\n\n{table(head, rows)}\n"


if __name__ == "__main__":
    print(run())
