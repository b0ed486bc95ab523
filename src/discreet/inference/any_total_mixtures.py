"""One category's probability where the total is private: a mixture of Betas over counts and totals, on few totals (docs/inference.md).

Given a total, the sum over counts is fast (`BetaRows`). As a function of the total it is smooth but for few places, so that a sum over a
stretch of totals is done on Chebyshev nodes, whose weights sum polynomials exactly under the posterior of the total. Where the mean and
the square of the count given the total are not met by the polynomials through the nodes, the stretch is halved.
"""

from collections.abc import Hashable, Iterator

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.inference.fixed_totals import Run
from discreet.inference.private_totals import CountsOfAnyTotal, Segment
from discreet.model.beta_mixtures import BetaMixture
from discreet.model.beta_rows import BetaRows

__all__ = ["probability_law"]

_LEFT_OUT = 1e-13
"""Posterior probability of the totals that are left out at either end, and of the counts left out given a total."""
_FEW = 16
"""Consecutive totals that are all nodes."""
_NODES = 12
"""Chebyshev nodes of a longer stretch."""
_CLOSE = 1e-11
"""Error that a stretch's nodes may have in the mean and the square of the count, in its standard deviations."""


def probability_law(counts: CountsOfAnyTotal, category: int, a: float, b: float, label: Hashable) -> BetaMixture:
    """The distribution of one category's probability: Beta(a + x, b + n - x) over counts x and nodes n of the total."""
    n, share, dropped = _total_nodes(counts, category)
    runs = [_given(counts.segment_of(int(total)), category, int(total)) for total in n]
    low, high = min(run.low for run in runs), max(run.high for run in runs)
    weights = np.zeros((len(n), high - low + 1))
    for row, (part, run) in enumerate(zip(share, runs, strict=True)):
        weights[row, run.low - low : run.high - low + 1] = part * run.value
    return BetaRows(weights, a, b, low, n, label, min(1.0, counts.omitted + dropped + _LEFT_OUT))


def _given(segment: Segment, category: int, n: int) -> Run:
    """The law of the count given the total, without its negligible ends."""
    run = segment.given(category, n)
    value = run.value / run.value.sum()
    first = int(np.searchsorted(np.cumsum(value), 0.5 * _LEFT_OUT, side="right"))
    last = len(value) - 1 - int(np.searchsorted(np.cumsum(value[::-1]), 0.5 * _LEFT_OUT, side="right"))
    kept = value[first : last + 1]
    return Run(run.low + first, kept / kept.sum())


def _total_nodes(counts: CountsOfAnyTotal, category: int) -> tuple[Counts, Floats, float]:
    """Totals and weights that stand for the law of the total in the sums of this category; and the probability left out."""
    sizes = counts.sizes
    first = int(np.searchsorted(np.cumsum(sizes.value), _LEFT_OUT, side="right"))
    last = len(sizes.value) - 1 - int(np.searchsorted(np.cumsum(sizes.value[::-1]), _LEFT_OUT, side="right"))
    weight = sizes.value[first : last + 1]
    dropped = float(sizes.value[:first].sum() + sizes.value[last + 1 :].sum())
    probes = counts.moments(category)[:, first : last + 1]
    parts = list(_stretches(np.arange(len(weight)), weight, probes))
    n, share = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    return sizes.low + first + n, share, dropped


def _stretches(n: Counts, weight: Floats, probes: Floats) -> Iterator[tuple[Counts, Floats]]:
    """Nodes and weights of consecutive totals: Chebyshev's, if polynomials through them meet the probes in between, else of two halves."""
    found = _chebyshev(n, weight, probes) if len(n) > _FEW else (n, weight)
    if found is not None:
        yield found
        return
    half = len(n) // 2
    for part in (slice(0, half), slice(half, len(n))):
        yield from _stretches(n[part], weight[part], probes[:, part])


def _chebyshev(n: Counts, weight: Floats, probes: Floats) -> tuple[Counts, Floats] | None:
    """Nodes among the totals with the weights of the interpolating polynomial, which must be positive and do for the probes."""
    places = 0.5 * (n[0] + n[-1]) - 0.5 * (n[-1] - n[0]) * np.cos(np.pi * np.arange(_NODES) / (_NODES - 1.0))
    nodes = np.unique(np.rint(places).astype(np.int64))
    scale = 0.25 * float(n[-1] - n[0])
    distance = (nodes[:, None] - nodes[None, :]) / scale
    np.fill_diagonal(distance, 1.0)
    gap = (n[:, None] - nodes[None, :]) / scale
    at = gap == 0.0
    terms = 1.0 / (distance.prod(axis=1) * np.where(at, 1.0, gap))
    basis = np.where(at.any(axis=1)[:, None], at, terms / terms.sum(axis=1, keepdims=True))
    share = weight @ basis
    wrong = np.abs(probes[:, nodes - n[0]] @ basis.T - probes) @ weight
    return (nodes, share) if (share >= 0.0).all() and (wrong <= _CLOSE).all() else None
