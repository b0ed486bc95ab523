"""The joint law of one count and few totals that stand for all, where the total is private (docs/proofs/inference.md).

Given a total, a sum of Betas over counts is fast (`BetaRows`). As a function of the total it is smooth but for few places, so that a sum
over totals is done on the nodes of `total_nodes`, whose weights sum polynomials exactly under the posterior of the total.
"""

from collections.abc import Iterator

import numpy as np

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.betas.rows import Block
from discreet.counts.runs import values_at
from discreet.counts.segments import LawOfAnyTotal
from discreet.counts.total_nodes import nodes_of, on_nodes, stretches
from discreet.errors import TooLargeError
from discreet.numerics.tails import kept

_OUTER_TOTALS = 1e-12
"""Posterior probability of the totals that are left out at either end, and of the counts left out at either end."""
_MATRIX_NODES = 128
"""Nodes whose counts are held as one matrix."""
_TOGETHER = 8
"""Up to so many categories share the nodes of the total."""


def total_blocks(counts: LawOfAnyTotal, category: int) -> tuple[list[Block], float]:
    """Blocks with the law of one count x and of nodes n of the total, and a bound on what they leave out."""
    n, share, dropped = _total_nodes(counts, category)
    low, high = counts.windows[category]
    if len(n) * (high - low + 1) > limits.MIXTURE_CELLS:
        raise TooLargeError(
            f"the noise leaves {len(n) * (high - low + 1):,} pairs of a count and a total possible; means and intervals are "
            f"computed from up to {limits.MIXTURE_CELLS:,}. Less noise (a larger epsilon) needs fewer"
        )
    first, last, left = kept(counts.marginal(category).value, _OUTER_TOTALS)
    blocks = []
    for block in _blocks(counts, category, n, share, (low + first, low + last)):
        column, tail = block.weights.sum(axis=0), _OUTER_TOTALS * len(block.totals) / len(n)
        if column.sum() > tail:
            at, end, more = kept(column, tail)
            blocks.append(Block(block.first + at, block.totals, block.weights[:, at : end + 1]))
            left += more
        else:
            left += float(column.sum())
    return blocks, min(1.0, counts.omitted + dropped + left)


def joint_weights(counts: LawOfAnyTotal, category: int, n: Counts, ends: tuple[int, int]) -> Block:
    """The law of one count between two ends given each of these totals, a row each."""
    blocks = list(_blocks(counts, category, n, np.ones(len(n)), ends))
    return Block(ends[0], np.concatenate([block.totals for block in blocks]), np.concatenate([block.weights for block in blocks]))


def _blocks(counts: LawOfAnyTotal, category: int, n: Counts, share: Floats, ends: tuple[int, int]) -> Iterator[Block]:
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
        end = min(start + _MATRIX_NODES, int(np.searchsorted(n, 2 * n[start] + _MATRIX_NODES, side="right")))
        yield slice(start, end)
        start = end


def _total_nodes(counts: LawOfAnyTotal, category: int) -> tuple[Counts, Floats, float]:
    """Totals and weights that stand for the law of the total in the sums of this category; and the probability left out."""
    together = len(counts.windows) <= _TOGETHER
    known = counts.nodes.get(0 if together else category)
    if known is not None:
        return known
    sizes = counts.sizes
    first, last, dropped = kept(sizes.value, _OUTER_TOTALS)
    weight = sizes.value[first : last + 1]
    categories = range(len(counts.windows)) if together else [category]
    probes = np.concatenate([counts.probes(i)[:, first : last + 1] for i in categories])
    parts = stretches(weight, probes, _bends(counts, sizes.low + first))
    found = sizes.low + first + nodes_of(parts), on_nodes(weight, parts), dropped
    counts.nodes[0 if together else category] = found
    return found


def _bends(counts: LawOfAnyTotal, first: int) -> Counts:
    """Where the noisy counts of all categories, or of all but one, add up, from the first total on: laws may bend there."""
    rows = np.maximum(counts.centres, 0)
    sums = [row.sum() - np.append(0, row if len(row) <= _TOGETHER else []) for row in rows]
    return np.asarray(np.concatenate(sums) - first).astype(np.int64)
