"""Sums over the integers from 0 to n by few nodes, for terms that are smooth away from a few known places."""

import numpy as np

from discreet.numerics import Floats

__all__ = ["panel_nodes"]

_PANEL = 32
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(16)


def panel_nodes(n: int, centres: list[float]) -> tuple[Floats, Floats]:
    """Nodes in [0, n] and the number of integers that each stands for.

    The range is cut into panels that double in length away from each of the centres, from 0 and from n: all integers of a short one are
    nodes, and a long one has Gauss and Legendre's 16. The number of nodes grows with ln n.
    """
    steps = np.concatenate([[0.0], _PANEL * 2.0 ** np.arange(max(0.0, np.ceil(np.log2(n)) - 4))])
    edges = np.concatenate([np.rint(c) + sign * steps for c in (0.0, float(n), *centres) for sign in (-1.0, 1.0)])
    edges = np.unique(np.concatenate([np.clip(edges, 0.0, n + 1.0), [0.0, n + 1.0]]))
    low, length = edges[:-1], np.diff(edges)
    short = length <= _PANEL
    every = low[short, None] + np.arange(_PANEL)
    inside = np.arange(_PANEL) < length[short, None]
    spread = low[~short, None] - 0.5 + 0.5 * length[~short, None] * (1.0 + _NODES)
    weight = 0.5 * length[~short, None] * _NODE_WEIGHTS
    x = np.concatenate([every[inside], np.clip(spread, 0.0, n).ravel()])
    order = np.argsort(x, kind="stable")
    return x[order], np.concatenate([np.ones(int(inside.sum())), weight.ravel()])[order]
