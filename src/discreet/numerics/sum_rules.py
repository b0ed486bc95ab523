"""Sums over the integers from 0 to n by few nodes, for terms that are smooth away from a few known places."""

from functools import lru_cache

import numpy as np
from scipy.linalg import eigh_tridiagonal

from discreet.arrays import Floats

_PANEL = 32
"""Integers of a panel that are all nodes."""
_NODES = 16
_NEARLY_AN_INTEGRAL = 4096
"""The rule for so many integers differs from that of an integral by 1/24 of the square of this: 2e-9."""


@lru_cache(maxsize=_NEARLY_AN_INTEGRAL)
def sum_rule(length: int, nodes: int) -> tuple[Floats, Floats]:
    """Nodes and weights for a sum over the integers 0, ..., length - 1, exact for polynomials of a degree below twice the nodes.

    Gauss quadrature for the uniform measure on these integers, from the recurrence of its orthogonal polynomials (Golub and Welsch); its
    error is at most that of Gauss-Legendre for an integral over as long an interval.
    """
    j = np.arange(1.0, nodes)
    off_diagonal = np.sqrt(j**2 * (float(length) ** 2 - j**2) / (4.0 * (4.0 * j**2 - 1.0)))
    places, vectors = eigh_tridiagonal(np.full(nodes, 0.5 * (length - 1.0)), off_diagonal)
    return places.astype(np.float64), length * vectors[0] ** 2


def panel_nodes(n: int, centres: list[float], panel: int = _PANEL, nodes: int = _NODES) -> tuple[Floats, Floats]:
    """Nodes in [0, n] and the number of integers that each stands for.

    The range is cut into panels that double in length away from each of the centres, from 0 and from n: all integers of a short one are
    nodes, and a long one has those of a Gauss rule for sums. The number of nodes grows with ln n.
    """
    steps = np.concatenate([[0.0], panel * 2.0 ** np.arange(max(0.0, np.ceil(np.log2(n) - np.log2(panel)) + 1))])
    edges = np.concatenate([np.rint(c) + sign * steps for c in (0.0, float(n), *centres) for sign in (-1.0, 1.0)])
    edges = np.unique(np.concatenate([np.clip(edges, 0.0, n + 1.0), [0.0, n + 1.0]]))
    low, length = edges[:-1], np.diff(edges)
    short = length <= panel
    every = low[short, None] + np.arange(panel)
    inside = np.arange(panel) < length[short, None]
    x, weight = [every[inside]], [np.ones(int(inside.sum()))]
    for size in np.unique(np.minimum(length[~short], _NEARLY_AN_INTEGRAL)).tolist():
        same = ~short & (np.minimum(length, _NEARLY_AN_INTEGRAL) == size)
        places, weights = sum_rule(int(size), nodes)
        scale = (length[same] / int(size))[:, None]
        x.append((low[same, None] + scale * (places + 0.5) - 0.5).ravel())
        weight.append((scale * weights).ravel())
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
    between = np.diff(points)
    width = np.ones(len(points))
    width[:-1] += (between - 1.0) / 2.0
    width[1:] += (between - 1.0) / 2.0
    return points, width
