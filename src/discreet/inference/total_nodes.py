"""Few totals that stand for many: Chebyshev nodes of stretches of totals, for sums that are smooth in the total (docs/inference_proofs.md).

What is summed depends on the total by the law of a count given that total. Some means under that law are the probes: a stretch has the
nodes whose interpolating polynomial meets the probes at all totals in between, and is halved where there are none.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet.arrays import Counts, Floats

_CLOSE = 1e-12
"""Error that a stretch's nodes may have in the probes."""
_NODES = (8, 16, 32)
"""How many Chebyshev nodes are tried for a stretch before it is halved."""
_FEW = 8
"""Totals that nodes must save at least; a stretch that is too short for that has all its totals as nodes."""
_STRETCHES = 12
"""How many stretches all totals are cut into at first."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """Consecutive totals, by their places among all, and those that stand for them."""

    inside: slice
    nodes: Counts
    basis: Floats
    """A row for each total inside and a column for each node: what is summed is, at a total, this row times its values at the nodes."""
    error: float
    """The largest error in a probe."""


def stretches(weight: Floats, probes: Floats, bends: Iterable[int] = ()) -> list[Stretch]:
    """Stretches of all totals, whose probabilities are the weights; `probes` has a column for each total.

    `bends` are places where laws are not smooth, so that stretches are to end there.
    """
    size = len(weight)
    first = np.linspace(0, size, _STRETCHES + 1).astype(np.int64)
    edges = np.unique(np.clip(np.concatenate([first, np.array([*bends], dtype=np.int64)]), 0, size))
    return [part for low, high in pairwise(edges.tolist()) for part in _halved(low, high, weight, probes)]


def _halved(low: int, high: int, weight: Floats, probes: Floats) -> Iterator[Stretch]:
    """Nodes of consecutive totals: Chebyshev's, if polynomials through them meet the probes in between, else those of two halves."""
    inside, size = slice(low, high), high - low
    for many in _NODES:
        found = _chebyshev(low, size, many, weight[inside], probes[:, inside]) if size > many + _FEW else None
        if found is not None:
            yield Stretch(inside, *found)
            return
    if size <= _NODES[0] + _FEW:
        yield Stretch(inside, np.arange(low, high), np.eye(size), 0.0)
        return
    yield from _halved(low, low + size // 2, weight, probes)
    yield from _halved(low + size // 2, high, weight, probes)


def _chebyshev(low: int, size: int, many: int, weight: Floats, probes: Floats) -> tuple[Counts, Floats, float] | None:
    """Nodes among the totals, and the interpolating polynomials; their weights must be positive and do for the probes."""
    half, n = 0.5 * (size - 1.0), np.arange(size)
    nodes = np.unique(np.rint(half - half * np.cos(np.pi * np.arange(many) / (many - 1.0))).astype(np.int64))
    distance = (nodes[:, None] - nodes[None, :]) / (0.5 * half)
    np.fill_diagonal(distance, 1.0)
    gap = (n[:, None] - nodes[None, :]) / (0.5 * half)
    at = gap == 0.0
    terms = 1.0 / (distance.prod(axis=1) * np.where(at, 1.0, gap))
    basis = np.where(at.any(axis=1)[:, None], at, terms / terms.sum(axis=1, keepdims=True))
    wrong = np.abs(probes[:, nodes] @ basis.T - probes) @ weight
    error = float(wrong.max())
    return (low + nodes, basis, error) if (weight @ basis >= 0.0).all() and error <= _CLOSE else None


def on_nodes(values: Floats, parts: Iterable[Stretch]) -> Floats:
    """Sums over totals, on the first axis, as sums over the nodes that stand for them."""
    return np.concatenate([part.basis.T @ values[part.inside] for part in parts])


def nodes_of(parts: Iterable[Stretch]) -> Counts:
    """The places of all nodes."""
    return np.concatenate([part.nodes for part in parts])
