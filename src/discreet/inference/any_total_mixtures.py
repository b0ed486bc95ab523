"""One category's probability where the total is private: a mixture of Betas over counts and totals, on few totals (docs/inference.md).

Given a total, the sum over counts is fast (`BetaRuns`). As a function of the total it is smooth, on either side of the total of the noisy
counts, so that a sum over a stretch of totals is done on Chebyshev nodes: their weights integrate polynomials exactly against the
posterior of the total.
"""

from collections.abc import Hashable

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.inference.fixed_totals import Run
from discreet.inference.private_totals import CountsOfAnyTotal, Segment
from discreet.model.beta_mixtures import BetaMixture
from discreet.model.beta_runs import BetaRuns

__all__ = ["probability_law", "total_nodes"]

_LEFT_OUT = 1e-15
"""Posterior probability of the totals that are left out at either end."""
_NEGLIGIBLE = 1e-17
"""Counts with less probability than this given their total, relative to the likeliest, are left out."""
_ALL = 96
"""Up to so many totals every one is a node."""
_NODES = ((1e-4, 16), (1e-7, 12), (1e-10, 8), (0.0, 5))
"""How many nodes a stretch has, by its probability: what is unlikely needs fewer digits."""
_STRETCH = 2.0
"""Length of a stretch, in standard deviations of the total."""


def total_nodes(sizes: Run, middle: int) -> tuple[Counts, Floats, float]:
    """Totals and weights that stand for the law of the total in sums of functions smooth on either side of `middle`; and what is left out."""
    upwards, downwards = np.cumsum(sizes.value), np.cumsum(sizes.value[::-1])
    first = int(np.searchsorted(upwards, _LEFT_OUT, side="right"))
    last = len(sizes.value) - 1 - int(np.searchsorted(downwards, _LEFT_OUT, side="right"))
    n, weight = np.arange(sizes.low + first, sizes.low + last + 1), sizes.value[first : last + 1]
    dropped = float(sizes.value[:first].sum() + sizes.value[last + 1 :].sum())
    if len(n) <= _ALL:
        return n, weight, dropped
    x = n.astype(np.float64)
    mean = float(weight @ x) / float(weight.sum())
    deviation = float(np.sqrt(weight @ (x - mean) ** 2 / weight.sum()))
    centre = min(max(middle, int(n[0])), int(n[-1]))
    step = max(1, int(_STRETCH * deviation))
    edges = np.unique(np.clip(centre + step * np.arange(-(len(n) // step) - 1, len(n) // step + 2), n[0], n[-1] + 1))
    parts = [_stretch(n[low - n[0] : high - n[0]], weight[low - n[0] : high - n[0]]) for low, high in zip(edges[:-1], edges[1:], strict=True)]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]), dropped


def _stretch(n: Counts, weight: Floats) -> tuple[Counts, Floats]:
    """Chebyshev nodes among consecutive totals, with the weights of the interpolating polynomial; all totals if one were negative."""
    size = next(nodes for least, nodes in _NODES if weight.sum() >= least)
    if len(n) <= size + 2:
        return n, weight
    places = np.rint(0.5 * (n[0] + n[-1]) - 0.5 * (n[-1] - n[0]) * np.cos(np.pi * np.arange(size) / (size - 1.0)))
    nodes = np.unique(places.astype(np.int64))
    scale = 0.25 * float(n[-1] - n[0])
    distance = (nodes[:, None] - nodes[None, :]) / scale
    np.fill_diagonal(distance, 1.0)
    polynomial = 1.0 / distance.prod(axis=1)
    gap = (n[:, None] - nodes[None, :]) / scale
    at = gap == 0.0
    terms = polynomial / np.where(at, 1.0, gap)
    basis = np.where(at.any(axis=1)[:, None], at, terms / terms.sum(axis=1, keepdims=True))
    found = weight @ basis
    return (nodes, found) if (found >= 0.0).all() else (n, weight)


def probability_law(counts: CountsOfAnyTotal, nodes: tuple[Counts, Floats, float], category: int, parameters: tuple[float, float], label: Hashable) -> BetaMixture:
    """The distribution of one category's probability: Beta(a + x, b + n - x) for the counts x of every node n, with their weights."""
    a, b = parameters
    runs = [(n, share, _given(_holder(counts, n), category, n)) for n, share in zip(nodes[0].tolist(), nodes[1].tolist(), strict=True)]
    sizes = np.array([len(run.value) for _, _, run in runs])
    x = np.concatenate([run.x for _, _, run in runs])
    n = np.repeat(nodes[0], sizes).astype(np.float64)
    weight = np.concatenate([share * run.value for _, share, run in runs])
    return BetaRuns(weight, a + x, b + (n - x), label, min(1.0, counts.omitted + nodes[2]), np.cumsum(sizes) - sizes)


def _holder(counts: CountsOfAnyTotal, n: int) -> Segment:
    return next(segment for segment in counts.segments if n <= segment.high)


def _given(segment: Segment, category: int, n: int) -> Run:
    """The law of the count given the total, without its negligible ends."""
    run = segment.given(category, n)
    kept = np.nonzero(run.value > _NEGLIGIBLE * run.value.max())[0]
    first, last = int(kept[0]), int(kept[-1])
    value = run.value[first : last + 1]
    return Run(run.low + first, value / value.sum())
