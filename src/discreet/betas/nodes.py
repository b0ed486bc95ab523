"""The number of nodes that stand for the rests of mixtures of Beta(a + x, b + r), with a proof (docs/proofs/inference.md).

The weight of a count x and a rest r is `f(x) g(r) h(x + r)`, and `I_t(a + x, b + r)` is a smooth function of r, and so is h as a rule.
For a polynomial of a degree below N the sum of `g(r)` times it is a sum over N whole nodes, `γ_j = Σ_r g(r) l_j(r)`, l the polynomials
through the nodes. For any other function it is off by at most `Σ_r g(r) + Σ_j |γ_j|` times the distance to the nearest polynomial,
which is at most `2 M ϱ^(1-N)/(ϱ - 1)` where the function is at most M on the ellipse of Bernstein with the parameter ϱ.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial.chebyshev import chebvander

from discreet.arrays import Counts, Floats
from discreet.numerics.sum_rules import whole_chebyshev_rule
from discreet.numerics.transforms import rows_times

NODE_ERROR = 4e-9
"""The most that nodes may change a probability by, unless the caller says another bound."""
_LEBESGUE = 3.0
"""The expected sum of the nodes' absolute weights and of the law that they stand for; it is computed once they are chosen."""
_FEWEST_NODES, _NODES_PAY = 8, 0.5
"""Nodes are looked for if so many, and at most this part of the rests, may be used."""
_DEGREE, _UNNEEDED = 36, 0.05
"""The degree of the polynomial that the weight of the sum is compared with, and the part of its distance that may be had for leaving its
last coefficients out, which large ellipses would magnify."""
_COUNTS_TOGETHER = 8
"""Counts whose bounds are those of the last of them."""
ELLIPSES = np.array([1.25, 1.5, 1.8, 2.2, 2.6, 3.0, 3.5, 4.2])


@dataclass(frozen=True, eq=False)
class NodesNeeded:
    """The number of nodes with which the probabilities of each mixture change little, or 0 if all rests are needed."""

    many: Counts
    log_size: Floats
    """The logarithm of 2M/(ϱ - 1), by mixture and ellipse."""
    missed: Floats
    """The largest distance of the weight of the sum from a polynomial."""

    def off(self, chosen: Counts, many: int) -> Floats:
        """Bound the distance of what is added up from polynomials of a degree below so many nodes."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp((self.log_size[chosen] + (1.0 - many) * np.log(ELLIPSES)).min(axis=1)) + self.missed[chosen])


def nodes_needed(of_count: Floats, of_sum: Floats, a: Floats, b: Floats, rests: int, allowed: float = NODE_ERROR) -> NodesNeeded:
    """The nodes for mixtures of Beta(a + x, b + r) over counts x and so many rests r, where they may change so much in a probability."""
    counts, most = of_count.shape[1], int(_NODES_PAY * rests)
    if most < _FEWEST_NODES:
        return NodesNeeded(np.zeros(len(a), dtype=np.int64), np.zeros((len(a), len(ELLIPSES))), np.zeros(len(a)))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        whole = np.einsum("ix,ix->i", of_count, of_sum[:, (rests - 1) // 2 :][:, :counts])
        sizes, missed = _sum_sizes(of_sum, rests, _UNNEEDED * allowed / _LEBESGUE * whole)
        log_size = np.log(2.0 * sizes * beta_sizes(of_count, a, b, rests) / (ELLIPSES - 1.0))
        needed = np.ceil(1.0 + (log_size - np.log(allowed / _LEBESGUE * whole)[:, None]) / np.log(ELLIPSES)).min(axis=1)
        smooth = (whole > 0.0) & (_LEBESGUE * missed <= allowed * whole) & (needed <= most)
    return NodesNeeded(np.where(smooth, np.maximum(np.where(smooth, needed, 0.0), 2.0), 0.0).astype(np.int64), log_size, missed)


def beta_sizes(of_count: Floats, a: Floats, b: Floats, rests: int) -> Floats:
    """Bounds on incomplete beta functions of all rests, by mixture and ellipse, the mean over counts; inf where the ellipse is too large.

    |I_t(α, u + iy)|² is at most the product of 1 + y²/(u + m)² over m < α, for whole α, so at most e^(y² α/(v (v + α))), v = u - ½. On an
    ellipse about c with the half axes p and q, y/v is at most q/√(c² - p²), and y/(v + α) the same with c + α. All of this grows with α.
    """
    half = 0.5 * (rests - 1.0)
    p, q = 0.5 * half * (ELLIPSES + 1.0 / ELLIPSES), 0.5 * half * (ELLIPSES - 1.0 / ELLIPSES)
    starts = np.arange(0, of_count.shape[1], _COUNTS_TOGETHER)
    alpha = (np.ceil(a)[:, None] + np.minimum(starts + _COUNTS_TOGETHER, of_count.shape[1]) - 1.0)[:, None, :]
    centre = (b + half - 0.5)[:, None, None]
    with np.errstate(invalid="ignore"):
        room = np.sqrt((centre - p[:, None]) * (centre + p[:, None]))
        exponents = 0.5 * q[:, None] ** 2 * alpha / (room * np.sqrt((centre + alpha) ** 2 - p[:, None] ** 2))
        means = np.einsum("ix,iex->ie", np.add.reduceat(of_count, starts, axis=1), np.exp(np.minimum(exponents, 600.0)))
    return np.where(centre[:, 0] > p, means, np.inf)


def ellipses_around(part: float) -> Floats:
    """Return the ellipses about an interval within which all ellipses about so large a part of it lie, wherever the part is.

    One with the half axis p lies within that with the half axis p + H - h, where H and h are half the lengths: points are no farther from
    the ends of the interval than from those of the part and from there on.
    """
    axis = 1.0 + part * (0.5 * (ELLIPSES + 1.0 / ELLIPSES) - 1.0)
    return np.asarray(axis + np.sqrt(axis**2 - 1.0))


def _sum_sizes(of_sum: Floats, rests: int, unneeded: Floats) -> tuple[Floats, Floats]:
    """Bounds on a polynomial near the weights of the sum, by mixture and ellipse, and how far it is from them at most.

    Ellipses are about a part of the sums, as long as the rests. Last coefficients that add up to what is `unneeded` are left out.
    """
    nodes, values, coefficients = _fit(of_sum.shape[1])
    known = of_sum[:, nodes]
    missed = np.abs(rows_times(known, values.T) - of_sum).max(axis=1)
    found = np.abs(rows_times(known, coefficients.T))
    small = np.cumsum(found[:, ::-1], axis=1)[:, ::-1] <= unneeded[:, None]
    around = ellipses_around((rests - 1.0) / (of_sum.shape[1] - 1.0))
    return np.where(small, 0.0, found) @ around ** np.arange(len(nodes))[:, None], missed + np.where(small, found, 0.0).sum(axis=1)


@lru_cache(maxsize=64)
def _fit(size: int) -> tuple[Counts, Floats, Floats]:
    """Whole nodes of 0, ..., size - 1, and from the values there those at all places and the coefficients of Chebyshev's polynomials."""
    nodes, values = whole_chebyshev_rule(size, min(_DEGREE + 1, size))
    return nodes, values, np.linalg.inv(chebvander(2.0 * nodes / (size - 1.0) - 1.0, len(nodes) - 1))
