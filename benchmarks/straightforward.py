"""The papers' smooth mechanism as one would write it down: list every candidate, score, normalise, draw. Nothing here is private."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def candidates(n: int, k: int) -> Counts:
    """All counts with total n, one a row."""
    rows = np.arange(n + 1)[:, None]
    for _ in range(k - 2):
        left = n - rows.sum(axis=1)
        rows = np.column_stack([np.repeat(rows, left + 1, axis=0), np.concatenate([np.arange(m + 1) for m in left])])
    return np.column_stack([rows, n - rows.sum(axis=1)])


def hellinger(p: NDArray[np.floating[Any]], q: NDArray[np.floating[Any]]) -> Floats:
    """From differences of gammaln, which is how the formula reads (and loses its digits for large n)."""
    divergence = (0.5 * gammaln(p) + 0.5 * gammaln(q) - gammaln((p + q) / 2)).sum(axis=-1)
    return np.asarray(np.sqrt(np.maximum(-np.expm1(-divergence), 0.0)))


def scores(counts: Counts, listed: Counts) -> Floats:
    """Minus the distance from the posterior of the counts to that of each candidate; prior of ones."""
    return -hellinger(counts + 1.0, listed + 1.0)


def smooth_sensitivity(counts: Counts, listed: Counts) -> float:
    """`max_y 1/(1/LS(y) + d(x, y))` over all datasets y, with γ = 1."""
    local = np.zeros(len(listed))
    for i in range(listed.shape[1]):
        for j in range(listed.shape[1]):
            has = listed[:, i] >= 1
            if i != j:
                moved = listed[has].astype(np.float64) + 1.0
                moved[:, i] -= 1.0
                moved[:, j] += 1.0
                local[has] = np.maximum(local[has], hellinger(listed[has] + 1.0, moved))
    distance = np.abs(listed - counts).sum(axis=1) / 2
    return float((1.0 / (1.0 / np.maximum(local, 1e-300) + distance)).max())


def release(counts: Counts, epsilon: float, rng: np.random.Generator) -> Counts:
    """One draw of the smooth Hellinger mechanism, in floats."""
    listed = candidates(int(counts.sum()), len(counts))
    weight = np.exp(scores(counts, listed) * epsilon / (4.0 * smooth_sensitivity(counts, listed)))
    return np.asarray(listed[rng.choice(len(listed), p=weight / weight.sum())])
