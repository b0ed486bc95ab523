"""Few totals that stand for many: Chebyshev nodes of stretches of totals, for sums that are smooth in the total (docs/proofs/inference.md).

What is summed depends on the total by the law of a count given that total. Some means under that law are the probes: a stretch has the
nodes whose interpolating polynomial meets the probes at all totals in between, and is halved where there are none.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.betas.rows import Block
from discreet.errors import TooLargeError
from discreet.numerics.sum_rules import whole_chebyshev_rule
from discreet.numerics.tails import kept

_PROBE_ERROR = 1e-12
"""Error that a stretch's nodes may have in the probes."""
_NODES_TRIED = (8, 16, 32)
"""The numbers of Chebyshev nodes that are tried for a stretch before it is halved."""
_FEWEST_SAVED = 8
"""Totals that nodes must save at least; a stretch that is too short for that has all its totals as nodes."""
_STRETCHES = 12
"""The number of stretches that all totals are cut into at first."""


@dataclass(frozen=True, eq=False)
class TotalsStretch:
    """Consecutive totals, by their places among all, and those that stand for them."""

    inside: slice
    nodes: Counts
    basis: Floats
    """A row for each total inside and a column for each node: what is summed is, at a total, this row times its values at the nodes."""
    error: float
    """The largest error in a probe."""


def stretches(weight: Floats, probes: Floats, bends: Iterable[int] = ()) -> list[TotalsStretch]:
    """Stretches of all totals, whose probabilities are the weights; `probes` has a column for each total.

    `bends` are places where laws are not smooth, so that stretches are to end there.
    """
    size = len(weight)
    first = np.linspace(0, size, _STRETCHES + 1).astype(np.int64)
    edges = np.unique(np.clip(np.concatenate([first, np.array([*bends], dtype=np.int64)]), 0, size))
    return [part for low, high in pairwise(edges.tolist()) for part in _halved(low, high, weight, probes)]


def _halved(low: int, high: int, weight: Floats, probes: Floats) -> Iterator[TotalsStretch]:
    """Nodes of consecutive totals: Chebyshev's, if polynomials through them meet the probes in between, else those of two halves."""
    inside, size = slice(low, high), high - low
    for many in _NODES_TRIED:
        found = _tried(low, size, many, weight[inside], probes[:, inside]) if size > many + _FEWEST_SAVED else None
        if found is not None:
            yield TotalsStretch(inside, *found)
            return
    if size <= _NODES_TRIED[0] + _FEWEST_SAVED:
        yield TotalsStretch(inside, np.arange(low, high), np.eye(size), 0.0)
        return
    yield from _halved(low, low + size // 2, weight, probes)
    yield from _halved(low + size // 2, high, weight, probes)


def _tried(low: int, size: int, many: int, weight: Floats, probes: Floats) -> tuple[Counts, Floats, float] | None:
    """Nodes among the totals, and the interpolating polynomials; their weights must be positive and do for the probes."""
    nodes, basis = whole_chebyshev_rule(size, many)
    wrong = np.abs(probes[:, nodes] @ basis.T - probes) @ weight
    error = float(wrong.max())
    return (low + nodes, basis, error) if (weight @ basis >= 0.0).all() and error <= _PROBE_ERROR else None


def on_nodes(values: Floats, parts: Iterable[TotalsStretch]) -> Floats:
    """Sums over totals, on the first axis, as sums over the nodes that stand for them."""
    inside = [(values[part.inside], part.basis) for part in parts]
    found = [own if len(own) == basis.shape[1] else basis.T @ own for own, basis in inside]
    return found[0] if len(found) == 1 else np.concatenate(found)


def nodes_of(parts: Iterable[TotalsStretch]) -> Counts:
    """The places of all nodes."""
    return np.concatenate([part.nodes for part in parts])


# --- counts and totals in blocks --------------------------------------------------------------------------------------


OUTER_TOTALS = 1e-12
"""Posterior probability of the totals that are left out at either end, and of the counts left out at either end."""
_MATRIX_NODES = 128
"""Nodes whose counts are held as one matrix."""


def check_blocks(pairs: int) -> None:
    """Refuse more pairs of a count and a total than are held."""
    if pairs > limits.MIXTURE_CELLS:
        raise TooLargeError(
            f"the noise leaves {pairs:,} pairs of a count and a total possible; means and intervals are "
            f"computed from up to {limits.MIXTURE_CELLS:,}. Less noise (a larger epsilon) needs fewer"
        )


def without_ends(blocks: list[Block]) -> tuple[list[Block], float]:
    """The blocks without columns of nearly no weight at their ends, and what was left out."""
    many, found, left = sum(len(block.totals) for block in blocks), [], 0.0
    for block in blocks:
        column, tail = block.weights.sum(axis=0), OUTER_TOTALS * len(block.totals) / many
        if column.sum() > tail:
            at, end, more = kept(column, tail)
            found.append(Block(block.first + at, block.totals, block.weights[:, at : end + 1]))
            left += more
        else:
            left += float(column.sum())
    return found, left


def row_slices(n: Counts) -> Iterator[slice]:
    """Consecutive totals that are neither many nor far from each other: `BetaRows` is fast where they are of one size."""
    start = 0
    while start < len(n):
        end = min(start + _MATRIX_NODES, int(np.searchsorted(n, 2 * n[start] + _MATRIX_NODES, side="right")))
        yield slice(start, end)
        start = end
