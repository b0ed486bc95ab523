"""One category's probability where the total is private: a mixture of Betas over counts and totals, on few totals (docs/inference.md).

Given a total, the sum over counts is fast (`BetaRows`). As a function of the total it is smooth but for few places, so that a sum over a
stretch of totals is done on Chebyshev nodes, whose weights sum polynomials exactly under the posterior of the total. Where the mean and
the square of the count given the total are not met by the polynomials through the nodes, more are tried, then the stretch is halved.
"""

from collections.abc import Hashable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.errors import TooLargeError
from discreet.inference.runs import kept, values_at
from discreet.model.beta_mixtures import BetaMixture
from discreet.model.beta_rows import BetaRows, Block

if TYPE_CHECKING:
    from discreet.inference.any_total_counts import CountsOfAnyTotal

_LEFT_OUT = 1e-12
"""Posterior probability of the totals that are left out at either end, and of the counts left out at either end."""
_NODES = (8, 16, 32)
"""How many Chebyshev nodes are tried for a stretch before it is halved."""
_FEW = 8
"""Totals that nodes must save at least; a stretch that is too short for that has all its totals as nodes."""
_STRETCHES = 12
"""How many stretches all totals are cut into at first."""
_CLOSE = 1e-12
"""Error that a stretch's nodes may have in the probes."""
_ROWS = 128
"""Nodes whose counts are held as one matrix."""
_TOGETHER = 8
"""Up to so many categories share the nodes of the total."""


def probability_law(counts: "CountsOfAnyTotal", category: int, a: float, b: float, label: Hashable) -> BetaMixture:
    """The distribution of one category's probability: Beta(a + x, b + n - x) over counts x and nodes n of the total."""
    n, share, dropped = _total_nodes(counts, category)
    low, high = counts.windows[category]
    if len(n) * (high - low + 1) > limits.MIXTURE_CELLS:
        raise TooLargeError(
            f"the noise leaves {len(n) * (high - low + 1):,} pairs of a count and a total possible; means and intervals are "
            f"computed from up to {limits.MIXTURE_CELLS:,}. Less noise (a larger epsilon) needs fewer"
        )
    first, last, left = kept(counts.marginal(category).value, _LEFT_OUT)
    blocks = []
    for block in _blocks(counts, category, n, share, (low + first, low + last)):
        column, tail = block.weights.sum(axis=0), _LEFT_OUT * len(block.totals) / len(n)
        if column.sum() > tail:
            at, end, more = kept(column, tail)
            blocks.append(Block(block.first + at, block.totals, block.weights[:, at : end + 1]))
            left += more
        else:
            left += float(column.sum())
    return BetaRows(blocks, a, b, label, min(1.0, counts.omitted + dropped + left))


def joint_weights(counts: "CountsOfAnyTotal", category: int, n: Counts, ends: tuple[int, int]) -> Block:
    """The law of one count between two ends given each of these totals, a row each."""
    blocks = list(_blocks(counts, category, n, np.ones(len(n)), ends))
    return Block(ends[0], np.concatenate([block.totals for block in blocks]), np.concatenate([block.weights for block in blocks]))


def _blocks(counts: "CountsOfAnyTotal", category: int, n: Counts, share: Floats, ends: tuple[int, int]) -> Iterator[Block]:
    """For nodes (rows) and the counts between two ends (columns) their weight: the node's share times the law of the count given n."""
    first, last = ends
    for segment in counts.segments:
        held = (n >= segment.low) & (n <= segment.high)
        window, (rest, _) = segment.windows[category], segment.others[category]
        total = values_at(segment.sum.run, segment.low, len(segment.log_factor))[n[held] - segment.low]
        scale = np.where(total > 0.0, share[held], 0.0) / np.where(total > 0.0, total, 1.0)
        of_count = values_at(window, first, last - first + 1)
        for rows in _row_slices(n[held]):
            block = Block(first, n[held][rows], of_count[None])
            weights = block.of_difference(values_at(rest, block.lowest, block.highest - block.lowest + 1)) * of_count
            weights *= scale[rows, None]
            yield Block(first, block.totals, weights)


def _row_slices(n: Counts) -> Iterator[slice]:
    """Consecutive totals that are neither many nor far from each other: `BetaRows` is fast where they are of one size."""
    start = 0
    while start < len(n):
        end = min(start + _ROWS, int(np.searchsorted(n, 2 * n[start] + _ROWS, side="right")))
        yield slice(start, end)
        start = end


def _total_nodes(counts: "CountsOfAnyTotal", category: int) -> tuple[Counts, Floats, float]:
    """Totals and weights that stand for the law of the total in the sums of this category; and the probability left out."""
    together = len(counts.windows) <= _TOGETHER
    known = counts.nodes.get(0 if together else category)
    if known is not None:
        return known
    sizes = counts.sizes
    first, last, dropped = kept(sizes.value, _LEFT_OUT)
    weight = sizes.value[first : last + 1]
    categories = range(len(counts.windows)) if together else [category]
    probes = np.concatenate([counts.probes(i)[:, first : last + 1] for i in categories])
    n = np.arange(len(weight))
    parts = [part for low, high in _pieces(counts, sizes.low + first, len(n)) for part in _stretches(n[low:high], weight, probes)]
    found = sizes.low + first + np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts]), dropped
    counts.nodes[0 if together else category] = found
    return found


def _pieces(counts: "CountsOfAnyTotal", first: int, size: int) -> Iterator[tuple[int, int]]:
    """Stretches of equal length at first, cut where the noisy counts of all categories, or of all but one, add up: laws may bend there."""
    centres = np.maximum(counts.centres, 0)
    bends = centres.sum() - np.append(0, centres if len(centres) <= _TOGETHER else []) - first
    edges = np.unique(np.clip(np.concatenate([np.linspace(0, size, _STRETCHES + 1).astype(np.int64), bends.astype(np.int64)]), 0, size))
    return pairwise(edges.tolist())


def _stretches(n: Counts, weight: Floats, probes: Floats) -> Iterator[tuple[Counts, Floats]]:
    """Nodes and weights of consecutive totals: Chebyshev's, if polynomials through them meet the probes in between, else of two halves."""
    inside = slice(int(n[0]), int(n[-1]) + 1)
    for size in _NODES:
        found = _chebyshev(n, size, weight[inside], probes[:, inside]) if len(n) > size + _FEW else None
        if found is not None:
            yield found
            return
    if len(n) <= _NODES[0] + _FEW:
        yield n, weight[inside]
        return
    yield from _stretches(n[: len(n) // 2], weight, probes)
    yield from _stretches(n[len(n) // 2 :], weight, probes)


def _chebyshev(n: Counts, size: int, weight: Floats, probes: Floats) -> tuple[Counts, Floats] | None:
    """Nodes among the totals with the weights of the interpolating polynomial, which must be positive and do for the probes."""
    places = 0.5 * (n[0] + n[-1]) - 0.5 * (n[-1] - n[0]) * np.cos(np.pi * np.arange(size) / (size - 1.0))
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
