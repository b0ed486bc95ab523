"""Counts of several levels: a geography of 100,000 nodes, and the tree's posterior beside weighted least squares at equal ε.

Weighted least squares combines the noisy counts of all levels into consistent ones with the least variance (Hay et al. 2010), and may be
negative; repaired, negative counts become 0 and a node is the sum of its leaves. Its intervals are 1.96 standard errors. Processor time.
"""

from math import expm1
from time import process_time

import numpy as np

from benchmarks.timing import shown, table
from discreet.arrays import Counts, Floats
from discreet.counts.factors import Count, Noisy, Split
from discreet.counts.nested import LevelCounts, counts_of_levels
from discreet.mechanisms.lattice import GeometricNoise
from discreet.model.size_priors import size_prior_of

GEOGRAPHY = (10, 10, 30, 33)
SMALL, REPEATED, EPSILON = (4, 15), 60, 1.0
Level = tuple[Counts, Counts]


def measured(counts: Counts, shape: tuple[int, ...], slope: float, rng: np.random.Generator) -> list[Level]:
    """The true and the noisy counts of every level, from the leaves up."""
    found = []
    for size in (None, *shape[::-1]):
        counts = counts if size is None else counts.reshape(-1, size).sum(axis=1)
        noise = rng.geometric(-expm1(-slope), (2, len(counts)))
        found.append((counts, counts + noise[0] - noise[1]))
    return found


def read(levels: list[Level], shape: tuple[int, ...], slope: float) -> LevelCounts:
    """The law of the leaves, nothing public, each share alike before."""
    noise = GeometricNoise(1, slope)
    nodes = [Count([Noisy(noise, z)]) for z in levels[0][1].tolist()]
    for (_, noisy), size in zip(levels[1:], shape[::-1], strict=True):
        parts = [nodes[i : i + size] for i in range(0, len(nodes), size)]
        nodes = [Count([Noisy(noise, z)], [Split(part, np.empty(0))]) for z, part in zip(noisy.tolist(), parts, strict=True)]
    return counts_of_levels(nodes[0], np.ones(len(levels[0][0])), size_prior_of("flat"))


def least_squares(levels: list[Level], variance: float) -> tuple[list[Floats], list[float]]:
    """The best linear unbiased counts of every level, and their variances."""
    k = len(levels[0][0])
    rows = np.concatenate([np.kron(np.eye(len(true)), np.ones(k // len(true))) for true, _ in levels])
    inverse = np.linalg.inv(rows.T @ rows)
    leaves = inverse @ rows.T @ np.concatenate([noisy for _, noisy in levels])
    ends = np.cumsum([len(true) for true, _ in levels])[:-1]
    spread = np.split(np.diag(rows @ inverse @ rows.T) * variance, ends)
    return np.split(rows @ leaves, ends), [float(one[0]) for one in spread]


def _geography(rng: np.random.Generator) -> str:
    slope = EPSILON / (len(GEOGRAPHY) + 1)
    levels = measured(rng.negative_binomial(1, 1 / 51, int(np.prod(GEOGRAPHY))), GEOGRAPHY, slope, rng)
    start = process_time()
    law = read(levels, GEOGRAPHY, slope)
    law.marginal(0)
    took, nodes = process_time() - start, sum(len(true) for true, _ in levels)
    return f"{nodes:,} nodes of a geography, every leaf's law: {shown(took)}, probability left out below {law.omitted:.0e}."


def _compared(rng: np.random.Generator) -> str:
    slope = EPSILON / (len(SMALL) + 1)
    variance = 2 * np.exp(-slope) / expm1(-slope) ** 2
    kinds, k = ("posterior", "least squares", "repaired"), int(np.prod(SMALL))
    errors, widths, held = (np.zeros((3, len(SMALL) + 1)) for _ in range(3))
    for _ in range(REPEATED):
        levels = measured(rng.multinomial(600, rng.dirichlet(np.ones(k))), SMALL, slope, rng)
        law, (fitted, spread) = read(levels, SMALL, slope), least_squares(levels, float(variance))
        cut = np.maximum(fitted[0], 0.0)
        for j, (true, _) in enumerate(levels):
            sets = np.arange(k).reshape(len(true), -1).tolist()
            runs = _runs(law, sets)
            ends = np.array([_interval(*run) for run in runs])
            means = np.array([low + float(value @ np.arange(len(value))) for low, value in runs])
            half, repaired = 1.96 * spread[j] ** 0.5, cut.reshape(len(true), -1).sum(axis=1)
            every = [(means, ends), *((one, np.stack([one - half, one + half], axis=-1)) for one in (fitted[j], repaired))]
            for kind, (middle, interval) in enumerate(every):
                errors[kind, j] += np.mean((middle - true) ** 2) / REPEATED
                widths[kind, j] += np.mean(interval[:, 1] - interval[:, 0]) / REPEATED
                held[kind, j] += np.mean((interval[:, 0] <= true) & (true <= interval[:, 1])) / REPEATED
    names = (f"{k} leaves", f"{SMALL[0]} nodes", "the total")
    rows = [
        (names[j], kinds[i], f"{errors[i, j] ** 0.5:.2f}", f"{widths[i, j]:.1f}", f"{100 * held[i, j]:.1f} %")
        for j in range(len(names))
        for i in range(3)
    ]
    return table(("level", "by", "root mean square error", "width of 95 %", "holds the true count"), rows)


def _runs(law: LevelCounts, sets: list[list[int]]) -> list[tuple[int, Floats]]:
    """The law of each of these sums of leaves: its first value, and probabilities."""
    if len(sets) == 1:
        return [(law.size.low, law.size.probability)]
    merged = law if len(sets[0]) == 1 else law.merged(sets)
    return [(run.low, run.value) for run in map(merged.marginal, range(len(sets)))]


def _interval(low: int, law: Floats) -> tuple[int, int]:
    ends = np.searchsorted(np.cumsum(law), [0.025, 0.975])
    return low + int(ends[0]), low + int(ends[1])


def run() -> str:
    """Markdown."""
    rng = np.random.default_rng(0)
    return f"## Several levels\n\n{_geography(rng)}\n\nε = {EPSILON:g}, 600 records, {REPEATED} datasets:\n\n{_compared(rng)}\n"


if __name__ == "__main__":
    print(run())
