"""Nodes that stand for many places: of sums over integers, of integrals, and of polynomials through values at Chebyshev's nodes.

Terms must be smooth, or smooth away from a few known places.
"""

from functools import lru_cache

import numpy as np
from scipy.linalg import eigh_tridiagonal

from discreet.arrays import Counts, Floats

_PANEL = 32
"""Integers of a panel that are all nodes."""
_PANEL_RULE_NODES = 16
_SHORT_RULE = 1 << 14
"""Weights of a rule up to which it is kept for the next call."""
_NEARLY_AN_INTEGRAL = 4096
"""The rule for so many integers differs from that of an integral by 1/24 of the square of this: 2e-9."""


@lru_cache(maxsize=_NEARLY_AN_INTEGRAL)
def sum_rule(length: int, nodes: int) -> tuple[Floats, Floats]:
    """Nodes and weights for a sum over the integers 0, ..., length - 1, exact for polynomials of a degree below twice the nodes.

    Gauss quadrature for the uniform measure on these integers, from the recurrence of its orthogonal polynomials (Golub and Welsch); its
    error is at most that of Gauss-Legendre for an integral over as long an interval.
    """
    j = np.arange(1.0, nodes)
    return _gauss(0.5 * (length - 1.0), np.sqrt(j**2 * (float(length) ** 2 - j**2) / (4.0 * (4.0 * j**2 - 1.0))), float(length))


@lru_cache(maxsize=8)
def integral_rule(nodes: int) -> tuple[Floats, Floats]:
    """Nodes and weights for an integral from -1 to 1, exact for polynomials of a degree below twice the nodes: Gauss-Legendre."""
    j = np.arange(1.0, nodes)
    return _gauss(0.0, j / np.sqrt(4.0 * j**2 - 1.0), 2.0)


def _gauss(centre: float, off_diagonal: Floats, mass: float) -> tuple[Floats, Floats]:
    """The Gauss rule of a measure with this mass, symmetric about a centre, by the recurrence of its orthogonal polynomials."""
    places, vectors = eigh_tridiagonal(np.full(len(off_diagonal) + 1, centre), off_diagonal)
    return places.astype(np.float64), mass * vectors[0] ** 2


def whole_chebyshev_rule(size: int, nodes: int) -> tuple[Counts, Floats]:
    """Return Chebyshev's nodes from 0 to size - 1, and their weights: a column for each node, a row for each place.

    The nodes are whole and different, both ends among them: where T_(nodes - 1) is 1 or -1, rounded, and moved inwards where two would be
    the same. Short rules are kept.
    """
    return (_whole_rule if size * nodes <= _SHORT_RULE else _whole_rule.__wrapped__)(size, nodes)


@lru_cache(maxsize=128)
def _whole_rule(size: int, nodes: int) -> tuple[Counts, Floats]:
    half, order = 0.5 * (size - 1.0), np.arange((nodes + 1) // 2)
    lower = np.rint(half - half * np.cos(np.pi * order / max(nodes - 1, 1))).astype(np.int64)
    lower = np.maximum.accumulate(lower - order) + order
    whole = np.concatenate([lower, size - 1 - lower[: nodes // 2][::-1]])
    return whole, interpolation(size, whole)


def interpolation(size: int, nodes: Counts) -> Floats:
    """Return the weights of nodes (columns) at the places 0, ..., size - 1 (rows) for the polynomial through their values.

    The barycentric formula. Distances are taken relative to a quarter of the range, so that products of them neither grow nor vanish.
    """
    quarter = 0.25 * (size - 1.0)
    distance = (nodes[:, None] - nodes[None, :]) / quarter
    np.fill_diagonal(distance, 1.0)
    gap = (np.arange(size)[:, None] - nodes[None, :]) / quarter
    at = gap == 0.0
    terms = 1.0 / (distance.prod(axis=1) * np.where(at, 1.0, gap))
    return np.asarray(np.where(at.any(axis=1)[:, None], at, terms / terms.sum(axis=1, keepdims=True)), dtype=np.float64)


def stretched_rule(low: Floats, length: Floats, nodes: int) -> tuple[Floats, Floats]:
    """Nodes and weights for sums over stretches of integers, a row each, from `low` on: all of one length, or all nearly integrals."""
    unit = int(min(length[0], _NEARLY_AN_INTEGRAL))
    places, weights = sum_rule(unit, min(nodes, unit))
    scale = (length / unit)[:, None]
    return low[:, None] + scale * (places + 0.5) - 0.5, scale * weights


def panel_nodes(n: int, centres: list[float], panel: int = _PANEL, nodes: int = _PANEL_RULE_NODES) -> tuple[Floats, Floats]:
    """Nodes in [0, n] and the number of integers that each stands for.

    The range is cut into panels that double in length away from each of the centres, from 0 and from n: all integers of a short one are
    nodes, and a long one has those of a Gauss rule for sums. The number of nodes grows with ln n.
    """
    steps = np.concatenate([[0.0], panel * 2.0 ** np.arange(max(0.0, np.ceil(np.log2(n) - np.log2(panel)) + 1))])
    edges = np.concatenate([np.rint(c) + sign * steps for c in (0.0, float(n), *centres) for sign in (-1.0, 1.0)])
    edges = np.unique(np.concatenate([np.clip(edges, 0.0, n + 1.0), [0.0, n + 1.0]]))
    low, length = edges[:-1], np.diff(edges)
    short = length <= panel
    every = low[short, None] + np.arange(float(panel))
    inside = np.arange(panel) < length[short, None]
    x: list[Floats] = [every[inside]]
    weight: list[Floats] = [np.ones(int(inside.sum()))]
    for size in np.unique(np.minimum(length[~short], _NEARLY_AN_INTEGRAL)).tolist():
        same = ~short & (np.minimum(length, _NEARLY_AN_INTEGRAL) == size)
        places, weights = stretched_rule(low[same], length[same], nodes)
        x.append(places.ravel())
        weight.append(weights.ravel())
    places, widths = np.concatenate(x), np.concatenate(weight)
    order = np.argsort(places, kind="stable")
    return np.clip(places[order], 0.0, n), widths[order]


def spreading_steps(n: float, dense: int, growth: float) -> Floats:
    """Distances 0, 1, ... `dense` and then, each `growth` times the one before, to n or just beyond."""
    beyond = int(np.ceil(np.log(n / dense) / np.log(growth))) + 1 if n > dense else 0
    return np.concatenate([np.arange(dense + 1.0), np.rint(dense * growth ** np.arange(1.0, beyond + 1.0))])


def spreading_nodes(n: float, centres: list[float], dense: int, growth: float) -> tuple[Floats, Floats]:
    """Integers in [0, n], dense around each centre and geometrically spaced beyond, with the number each stands for."""
    offsets = spreading_steps(n, dense, growth)
    inside = [c for c in centres if 0.0 <= c <= n]
    points = np.unique(np.clip(np.concatenate([np.rint(c) + s * offsets for c in inside for s in (-1, 1)]), 0, n))
    return points, stood_for(points)


def stood_for(x: Floats) -> Floats:
    """Return how many integers each of ascending ones (last axis) stands for: half of those up to the next, a repeated one none."""
    gap = np.diff(x, axis=-1)
    half = 0.5 * np.maximum(gap - 1.0, 0.0)
    count = np.ones_like(x)
    count[..., :-1] += half
    count[..., 1:] += half
    count[..., 1:][gap == 0.0] -= 1.0
    return np.maximum(count, 0.0)
