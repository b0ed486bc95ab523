"""One category's probability where the total is public: a mixture of Betas over its counts, shortened where there are many."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.betas.lines import BetaLines
from discreet.counts.runs import Run
from discreet.model.beta_mixtures import BetaMixture
from discreet.numerics.products import batches

_NEGLIGIBLE_WEIGHT = 1e-17
"""Components with less weight than this, relative to the largest, are left out."""
_MOST_COMPONENTS = 1024
_TAIL_PRECISION = 1e-12
"""How exactly quantiles are found, relative to the probability beyond them."""
_BLOCKS_PER_DEVIATION = 8.0
"""Longer mixtures are shortened in blocks of an eighth of a component's standard deviation: an error below 1e-10."""


def probability_law(counts: Run, n: int, a: float, b: float, label: Hashable, omitted: float) -> BetaMixture:
    """The mixture of Beta(a + x, b + n - x) over the law of the count x; `omitted` is what that law leaves out."""
    x, weight, dropped = _shortened(counts, a, b, n)
    return BetaMixture(weight, a + x, b + (n - x), label, min(1.0, omitted + dropped))


@dataclass(frozen=True, eq=False)
class CategoryLines:
    """The probabilities of all categories whose mixtures are short, in batches of similar length."""

    batches: list[tuple[Counts, BetaLines]]
    """Indices of categories, and their mixtures."""
    others: list[int]
    """The categories whose mixtures are long."""

    @staticmethod
    def of(runs: Sequence[Run], n: int, a: Floats, b: Floats) -> "CategoryLines":
        """The mixtures of Beta(a + x, b + n - x) over the laws of the categories' counts."""
        kept = [np.nonzero(run.value > _NEGLIGIBLE_WEIGHT * float(run.value.max()))[0] for run in runs]
        width = np.array([int(held[-1] - held[0]) + 1 for held in kept])
        found = []
        for rows in batches(width, 1):
            rows = rows[width[rows] <= _MOST_COMPONENTS]
            if not rows.size:
                continue
            weight = np.zeros((rows.size, int(width[rows].max())))
            for row, i in zip(weight, rows.tolist(), strict=True):
                part = runs[i].value[kept[i][0] : kept[i][-1] + 1]
                row[: len(part)] = part / part.sum()
            first = np.array([runs[i].low + int(kept[i][0]) for i in rows.tolist()])
            found.append((rows, BetaLines(weight, first, np.full(rows.size, n), a[rows], b[rows])))
        return CategoryLines(found, np.nonzero(width > _MOST_COMPONENTS)[0].tolist())

    def moments(self, mean: Floats, variance: Floats) -> None:
        """Write the means and variances of the categories with short mixtures."""
        for rows, lines in self.batches:
            mean[rows], variance[rows] = lines.moments()

    def intervals(self, ends: Floats, mass: float) -> None:
        """Write the intervals of the categories with short mixtures."""
        for rows, lines in self.batches:
            ends[rows, 0], ends[rows, 1], _ = lines.interval(0.5 * (1.0 - mass), _TAIL_PRECISION)


def _shortened(run: Run, a: float, b: float, n: int) -> tuple[Floats, Floats, float]:
    """Counts and weights of a mixture with the same distribution, and the weight of what was left out.

    Neighbouring components Beta(a + x, b + n - x) differ little where their standard deviation spans many counts. There, blocks of
    counts are replaced by the three nodes of the Gauss quadrature of their weights, which has the same moments up to the fifth.
    """
    total = float(run.value.sum())
    kept = run.value > _NEGLIGIBLE_WEIGHT * float(run.value.max())
    x, weight = run.x[kept], run.value[kept]
    dropped = max(0.0, float(run.value[~kept].sum()) / total)
    if len(x) <= _MOST_COMPONENTS:
        return x, weight, dropped
    deviation = np.sqrt((a + x) * (b + (n - x)) / (a + b + n))
    block = np.floor(np.cumsum(_BLOCKS_PER_DEVIATION / deviation))
    starts = np.nonzero(np.diff(block, prepend=-1.0))[0]
    sizes = np.diff(starts, append=len(x))
    long = np.repeat(sizes > 3, sizes)
    nodes, node_weights = _gauss(x[long], weight[long], sizes[sizes > 3])
    return np.concatenate([x[~long], nodes]), np.concatenate([weight[~long], node_weights]), dropped


def _gauss(x: Floats, weight: Floats, sizes: Counts) -> tuple[Floats, Floats]:
    """Three Gauss nodes for the weights of each block: Stieltjes' recurrence, then the eigenvalues of its Jacobi matrix."""
    if not len(sizes):
        return x[:0], weight[:0]
    starts = np.cumsum(sizes) - sizes
    middle = x[starts + sizes // 2]
    t = x - np.repeat(middle, sizes)
    scale = np.repeat(np.maximum(np.maximum.reduceat(np.abs(t), starts), 1.0), sizes)
    t = t / scale
    jacobi = np.zeros((len(sizes), 3, 3))
    previous, current = np.zeros_like(t), np.ones_like(t)
    last = np.ones(len(sizes))
    for j in range(3):
        norm = np.add.reduceat(weight * current**2, starts)
        centre = np.add.reduceat(weight * t * current**2, starts) / norm
        jacobi[:, j, j] = centre
        if j:
            jacobi[:, j, j - 1] = np.sqrt(norm / last)
        ratio = norm / last if j else np.zeros(len(sizes))
        previous, current = current, (t - np.repeat(centre, sizes)) * current - np.repeat(ratio, sizes) * previous
        last = norm
    value, vector = np.linalg.eigh(jacobi, UPLO="L")
    nodes = middle[:, None] + scale[starts][:, None] * value
    return nodes.ravel(), (np.add.reduceat(weight, starts)[:, None] * vector[:, 0, :] ** 2).ravel()
