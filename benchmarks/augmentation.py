"""Exact summaries of a small table beside a sampler that augments the data, in one run: ratios of time.

The table has 6 groups by 3 categories and a public total of 150; it is one of ours, or one that others published. The sampler is that of
Ju, Awan, Gong and Rao (2022): it holds a cell for every record, proposes another one from the model for each in turn, accepts it by the
likelihood of the noisy counts, and draws the probabilities given the counts. It is compiled if numba is installed. Its time is that of
1,000 effective draws of the probability with the median number of them, without compiling and without burn-in.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import laplace

import discreet as dc
from benchmarks.timing import machine, shown, table
from discreet.inference.tables.summaries import group_summaries
from discreet.mechanisms.lattice import GeometricNoise

GROUPS, CATEGORIES, TOTAL = 6, 3, 150
EPSILONS = (1.0, 0.25, 0.1)
SWEEPS, BURN_IN, EFFECTIVE, TABLES = 6_000, 500, 1_000, 5
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function by numba, or as it is where numba is not installed."""
    try:
        made: Callable[..., Any] = import_module("numba").njit(function)
    except ImportError:
        return function
    return made


def sweeps(logs: Floats, total: int, many: int, seed: int) -> Floats:
    """Draws of all probabilities, by group and category, from the posterior with uniform priors: one after each sweep.

    `logs` has the log likelihood of every cell, by group and category, for each of its counts from 0 on.
    """
    np.random.seed(seed)  # noqa: NPY002 - numba compiles this generator
    groups, categories, likely = logs.shape[0], logs.shape[1], logs.reshape(-1, logs.shape[2])
    cells = np.random.randint(0, groups * categories, total)  # noqa: NPY002
    counts = np.zeros(groups * categories, dtype=np.int64)
    for cell in cells:
        counts[cell] += 1
    found, to = np.empty((many, groups, categories)), np.empty(groups * categories)
    for sweep in range(many):
        sum_to = 0.0
        for g in range(groups):
            part = counts[g * categories : (g + 1) * categories]
            share, whole = np.random.gamma(1.0 + part.sum()), 0.0  # noqa: NPY002
            for c in range(categories):
                found[sweep, g, c] = np.random.gamma(1.0 + part[c])  # noqa: NPY002
                whole += found[sweep, g, c]
            for c in range(categories):
                found[sweep, g, c] /= whole
                sum_to += share * found[sweep, g, c]
                to[g * categories + c] = sum_to
        for i in range(total):
            old, new = cells[i], np.searchsorted(to, np.random.random() * sum_to)  # noqa: NPY002
            if new != old:
                less = likely[old, counts[old] - 1] - likely[old, counts[old]]
                more = likely[new, counts[new] + 1] - likely[new, counts[new]]
                if np.random.random() < np.exp(less + more):  # noqa: NPY002
                    counts[old] -= 1
                    counts[new] += 1
                    cells[i] = new
    return found


def effective(draws: Floats) -> float:
    """Effective draws of a chain: Geyer's initial positive sequence."""
    away = draws - draws.mean()
    spectrum = np.abs(np.fft.rfft(away, 2 * len(away))) ** 2
    correlation = np.fft.irfft(spectrum)[: len(away)] / max(float(away @ away), 1e-300)
    pairs = correlation[0:-1:2] + correlation[1::2]
    positive = int(np.argmax(pairs <= 0.0)) if (pairs <= 0.0).any() else len(pairs)
    return float(len(away) / max(2.0 * pairs[:positive].sum() - 1.0, 1.0))


def noisy_table(epsilon: float, seed: int) -> tuple[Counts, float]:
    """Noisy counts with uniform priors, and the slope of their noise, which is simulated."""
    rng = np.random.default_rng(seed)
    sizes, slope = rng.multinomial(TOTAL, rng.dirichlet(np.ones(GROUPS))), 0.5 * epsilon
    counts = np.stack([rng.multinomial(n, rng.dirichlet(np.ones(CATEGORIES))) for n in sizes])
    stop = -np.expm1(-slope)
    return counts + rng.geometric(stop, counts.shape) - rng.geometric(stop, counts.shape), slope


@dataclass(frozen=True)
class Case:
    """A table to be read: how it is drawn, its log likelihoods by their definition, and its exact summary."""

    name: str
    draw: Callable[[int], Counts]
    logs: Callable[[Floats], Floats]
    """Of the differences between what was published and the true counts."""
    exact: Callable[[Counts], Floats]
    """The means of all probabilities, of which the intervals are computed too."""


def of_ours(epsilon: float) -> Case:
    """A table of ours, with replace-one noise."""
    slope = 0.5 * epsilon
    return Case(
        f"ours, ε = {epsilon:g}",
        lambda seed: noisy_table(epsilon, seed)[0],
        lambda difference: -slope * np.abs(difference),
        lambda z: group_summaries(z, np.ones(CATEGORIES), GeometricNoise(CATEGORIES, slope), total=TOTAL).mean,
    )


def observed_means(z: Counts, noise: str, steps: str) -> Floats:
    """The exact summary of a table that others published."""
    by = {"group": list(range(len(z)))}
    record = dc.observed(z, noise=noise, steps=steps, prior=dc.Dirichlet([1] * CATEGORIES), n=TOTAL, by=by)
    return np.asarray(record.noise_aware().figures().mean)


def of_others() -> list[Case]:
    """Tables with discrete Gaussian noise, and with rounded Laplace noise that was rounded again."""

    def drawn(seed: int, noise: Callable[[np.random.Generator, tuple[int, ...]], Floats], to: int) -> Counts:
        rng = np.random.default_rng([19, seed])
        counts = rng.multinomial(TOTAL, rng.dirichlet(np.ones(GROUPS * CATEGORIES))).reshape(GROUPS, CATEGORIES)
        return np.asarray(to * np.rint((counts + np.rint(noise(rng, counts.shape))) / to), dtype=np.int64)

    def of_laplace(difference: Floats) -> Floats:
        return np.asarray(np.log(laplace.cdf((difference + 2.5) / 2.0) - laplace.cdf((difference - 2.5) / 2.0)))

    return [
        Case(
            "discrete Gaussian, σ = 3",
            lambda seed: drawn(seed, lambda rng, shape: rng.normal(0.0, 3.0, shape), 1),
            lambda difference: -(difference**2) / 18.0,
            lambda z: observed_means(z, "gaussian:3", ""),
        ),
        Case(
            "rounded Laplace, b = 2, then to multiples of 5",
            lambda seed: drawn(seed, lambda rng, shape: rng.laplace(0.0, 2.0, shape), 5),
            of_laplace,
            lambda z: observed_means(z, "laplace:2", "rounded:5"),
        ),
    ]


def measure(case: Case, tables: int = TABLES, many: int = SWEEPS, *, read: Case | None = None) -> dict[str, float]:
    """Median processor seconds of both, over tables; and how far the sampler's means are from the exact ones, in its standard errors.

    `read` is what the exact summary takes the table for, if not for what it is.
    """
    sampler, ours, theirs, away = compiled(sweeps), list[float](), list[float](), list[float]()
    for seed in range(tables + 1):  # the first compiles
        z = case.draw(seed)
        start = process_time()
        exact = (read or case).exact(z)
        middle = process_time()
        with np.errstate(divide="ignore"):
            logs = np.maximum(case.logs(z[:, :, None] - np.arange(TOTAL + 1.0)), -1e4)
        draws = sampler(logs, TOTAL, many, seed)
        end = process_time()
        kept = draws[BURN_IN:].reshape(len(draws) - BURN_IN, -1)
        sizes = np.array([effective(column) for column in kept.T])
        ours.append(middle - start)
        theirs.append((end - middle) * EFFECTIVE / (float(np.median(sizes)) * many / len(kept)))
        away.append(float(np.max(np.abs(kept.mean(axis=0) - exact.ravel()) / (kept.std(axis=0) / np.sqrt(sizes)))))
    return {"exact": float(np.median(ours[1:])), "sampler": float(np.median(theirs[1:])), "away": max(away[1:])}


def run() -> str:
    """A Markdown table."""
    rows = []
    for case in [*map(of_ours, EPSILONS), *of_others()]:
        found = measure(case)
        ratio = found["sampler"] / found["exact"]
        rows.append([case.name, shown(found["exact"]), shown(found["sampler"]), f"{ratio:.1f}×", f"{found['away']:.1f}"])
    head = ["table", "exact summary", f"{EFFECTIVE:,} effective draws", "ratio", "largest difference of means, in standard errors"]
    return f"## A small table beside a sampler\n\nOn {machine()}:\n\n{table(head, rows)}\n"
