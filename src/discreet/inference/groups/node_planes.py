"""Quantiles of many mixtures of Beta(a + x, b + r) whose rests are many: a few of them stand for all (docs/proofs/inference.md).

The weight of a count x and a rest r is `f(x) g(r) h(x + r)`, and `I_t(a + x, b + r)` is a smooth function of r, and so is h as a rule.
For a polynomial of a degree below N the sum of `g(r)` times it is a sum over N whole nodes, `γ_j = Σ_r g(r) l_j(r)`, l the polynomials
through the nodes. For any other function it is off by at most `Σ_r g(r) + Σ_j |γ_j|` times the distance to the nearest polynomial,
which is at most `2 M ϱ^(1-N)/(ϱ - 1)` where the function is at most M on the ellipse of Bernstein with the parameter ϱ.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from numpy.typing import NDArray
from scipy.special import betainc

from discreet.arrays import Counts, Floats
from discreet.counts.batched.windows import HELD
from discreet.inference.groups.line_quantiles import incomplete_beta
from discreet.inference.groups.plane_quantiles import _LARGEST, BetaPlanes, _log_terms, _mean_places, _Sums
from discreet.inference.groups.quantile_search import equal_tailed
from discreet.model.beta_mixtures import BetaMixture
from discreet.numerics.incomplete_beta import beta_cdf
from discreet.numerics.products import rows_times
from discreet.numerics.sum_rules import whole_chebyshev_rule

NODE_ERROR = 4e-9
"""What nodes may change in a probability, unless it is said."""
_LEBESGUE = 3.0
"""What nodes count together, in absolute value, and the law that they stand for: expected, and computed once they are chosen."""
_NODE_STEP, _NODES_PAY = 4, 0.5
"""Numbers of nodes are multiples of this, and at most this part of the rests."""
_DEGREE = 36
"""That of the polynomial that the weight of the sum is compared with."""
_ELLIPSES = np.array([1.25, 1.5, 1.8, 2.2, 2.7, 3.4, 4.5])
Chosen = NDArray[np.int64] | slice


def interval(
    planes: BetaPlanes, smooth: Floats, guesses: tuple[Floats, Floats], tail: float, precision: float, allowed: float = NODE_ERROR
) -> tuple[Floats, Floats, Floats, Floats]:
    """`planes.interval`, with nodes for the rests where they are few enough.

    `smooth` is the weight of the sum of count and rest, also where it is left out of the planes because next to nothing is there, and
    `allowed` what nodes may change in a probability.
    """
    low, high, error, whole = np.empty((4, len(planes)))
    left = np.ones(len(planes), dtype=np.bool_)
    everywhere = replace(planes, of_sum=smooth)
    for chosen, nodes, off in node_batches(everywhere, allowed):
        sums, part = NodeSums(everywhere.rows(chosen), nodes, off), planes.rows(chosen)
        sides = guesses[0][chosen], guesses[1][chosen]

        def exact(row: int, part: BetaPlanes = part) -> BetaMixture | None:
            return part.mixture(row) if part.of_sum[row].any() else None

        low[chosen], high[chosen], wrong = equal_tailed((sums.below, sums.above), sides, tail, precision, exact)
        error[chosen], whole[chosen] = wrong + sums.error, sums.whole
        left[chosen] = ~(sums.error <= 2.0 * allowed)
    rest = np.nonzero(left)[0]
    if rest.size:
        sides = guesses[0][rest], guesses[1][rest]
        low[rest], high[rest], error[rest], whole[rest] = planes.rows(rest).interval(sides, tail, precision)
    return low, high, error, whole


def node_batches(planes: BetaPlanes, allowed: float = NODE_ERROR) -> Iterator[tuple[NDArray[np.int64], int, Floats]]:
    """Mixtures that need the same number of nodes, that number, and how far from a polynomial what is added up may be."""
    counts, rests = planes.of_count.shape[1], planes.of_rest.shape[1]
    most = int(_NODES_PAY * rests) // _NODE_STEP * _NODE_STEP
    if most < 2 * _NODE_STEP:
        return
    of_sum, missed = _sum_sizes(planes.of_sum)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        log_size = np.log(2.0 * of_sum * _beta_sizes(planes) / (_ELLIPSES - 1.0))
        whole = np.einsum("ix,ix->i", planes.of_count, planes.of_sum[:, (rests - 1) // 2 :][:, :counts])
        needed = (1.0 + (log_size - np.log(allowed / _LEBESGUE * whole)[:, None]) / np.log(_ELLIPSES)).min(axis=1)
        smooth = (whole > 0.0) & (_LEBESGUE * missed <= allowed * whole) & (needed <= most)
    nodes = np.where(smooth, _NODE_STEP * np.ceil(np.where(smooth, needed, 1.0) / _NODE_STEP), 0.0).astype(np.int64)
    for many in np.unique(nodes[smooth]).tolist():
        alike = np.nonzero(nodes == many)[0]
        off = np.exp((log_size[alike] + (1.0 - many) * np.log(_ELLIPSES)).min(axis=1)) + missed[alike]
        for start in range(0, len(alike), step := max(1, HELD // (counts * many))):
            yield alike[start : start + step], many, off[start : start + step]


def _beta_sizes(planes: BetaPlanes) -> Floats:
    """Bounds on incomplete beta functions of all rests, by mixture and ellipse, the mean over counts; inf where the ellipse is too large.

    |I_t(α, u + iy)|² is at most the product of 1 + y²/(u + m)² over m < α, for whole α, so at most e^(y² α/((u - ½)(u - ½ + α))). On an
    ellipse about c with the half axes p and q the largest q² sin²/(c + p cos) is 2q² (c - √(c² - p²))/p².
    """
    half = 0.5 * (planes.of_rest.shape[1] - 1.0)
    p, q = 0.5 * half * (_ELLIPSES + 1.0 / _ELLIPSES), 0.5 * half * (_ELLIPSES - 1.0 / _ELLIPSES)
    centre = (planes.b + planes.least + half - 0.5)[:, None]
    with np.errstate(invalid="ignore"):
        rate = (q / p) ** 2 * (centre - np.sqrt(centre**2 - p**2))
    alpha = np.ceil(planes.a + planes.first)[:, None] + np.arange(planes.of_count.shape[1])
    exponents = (rate[:, i, None] * (alpha / (alpha + (centre - p)[:, i, None])) for i in range(len(_ELLIPSES)))
    means = np.stack([np.einsum("ix,ix->i", planes.of_count, np.exp(np.minimum(each, 600.0))) for each in exponents], axis=1)
    return np.where(centre > p, means, np.inf)


def _sum_sizes(of_sum: Floats) -> tuple[Floats, Floats]:
    """Bounds on a polynomial through the weights of the sum, by mixture and ellipse, and how far it is from them at most.

    The ellipse of a part of the sums lies within that of all of them.
    """
    nodes, values, coefficients = _fit(of_sum.shape[1])
    known = of_sum[:, nodes]
    missed = np.abs(rows_times(known, values.T) - of_sum).max(axis=1)
    return np.abs(rows_times(known, coefficients.T)) @ _ELLIPSES ** np.arange(len(nodes))[:, None], missed


@lru_cache(maxsize=64)
def _fit(size: int) -> tuple[Counts, Floats, Floats]:
    """Whole nodes of 0, ..., size - 1, and from the values there those at all places and the coefficients of Chebyshev's polynomials."""
    nodes, values = whole_chebyshev_rule(size, min(_DEGREE + 1, size))
    return nodes, values, np.linalg.inv(chebvander(2.0 * nodes / (size - 1.0) - 1.0, len(nodes) - 1))


class NodeSums(_Sums):
    """The factors of all terms of F, for each mixture a matrix of nodes by counts; and those of the last count, by rests."""

    def __init__(self, planes: BetaPlanes, nodes: int, off: Floats) -> None:
        counts, rests = planes.of_count.shape[1], planes.of_rest.shape[1]
        places, basis = whole_chebyshev_rule(rests, nodes)
        node_weight = rows_times(planes.of_rest, basis)
        a, b = planes.a + planes.first, planes.b + planes.least
        place = _mean_places(planes.of_count), _mean_places(planes.of_rest)
        self._set_middle(a + place[0], b + place[1])
        logs = _log_terms(a, b, self.parameters[0], self.parameters[1], place, counts, rests)
        steep = np.max([np.abs(each).max(axis=1) for each in logs], axis=0) >= _LARGEST
        of_both, of_count, of_rest = (np.clip(each, -_LARGEST, _LARGEST) for each in logs)
        self.of_count, self.shift, self.least = of_count, np.zeros(len(a)), place[1]
        self.end, self.log_end = (a + (counts - 1), b), of_both[:, counts - 1] - of_count[:, -1] - of_rest[:, 0]
        self.alpha, self.counted = a[:, None] + np.arange(counts), np.arange(counts) - place[0][:, None]
        self.places, self.rested, self.beta = places, np.arange(rests) - place[1][:, None], b[:, None] + np.arange(rests)
        self.matrix = np.empty((len(a), len(places), counts))
        for j, r in enumerate(places.tolist()):
            np.multiply(planes.of_count, planes.of_sum[:, r : r + counts], out=self.matrix[:, j])
        np.cumsum(self.matrix, axis=2, out=self.matrix)
        by_node = node_weight * self.matrix[:, :, -1]
        self.whole = by_node.sum(axis=1)
        counted = planes.of_rest.sum(axis=1) + np.abs(node_weight).sum(axis=1)
        self.error = np.where(steep | ~(self.whole > 0.0), np.inf, off * counted / np.where(self.whole > 0.0, self.whole, 1.0))
        one = np.where(self.whole > 0.0, self.whole, 1.0)[:, None]
        both, scaled = np.exp(of_both), np.exp(-of_rest)
        for j, r in enumerate(places.tolist()):
            self.matrix[:, j] *= both[:, r : r + counts]
        self.matrix[:, :, -1] = 0.0
        self.of_node = node_weight * scaled[:, places] / one
        at_rest = np.zeros((len(a), rests))
        at_rest[:, places] = by_node / one
        beyond = np.cumsum(at_rest[:, ::-1], axis=1)[:, ::-1] - at_rest
        self.last = beyond * ((a + counts - 1.0)[:, None] / self.beta) * both[:, counts - 1 :] * scaled

    def below(self, chosen: Chosen, logit: Floats) -> tuple[Floats, Floats]:
        """F and its derivative by the logit: that of ln e(x, r) is (a + x)(1 - t) - (b + r) t."""
        point, scale, of_count, of_rest, end = self._at(chosen, logit)
        alpha, beta = self.alpha[chosen], self.beta[chosen]
        with np.errstate(over="ignore", invalid="ignore"):
            inner = self.matrix[chosen] @ np.stack([of_count, of_count * alpha], axis=2)
            inner *= (of_rest[:, self.places] * self.of_node[chosen])[:, :, None]
            last = self.last[chosen] * of_rest * of_count[:, -1:]
            sums = inner.sum(axis=1) + last.sum(axis=1)[:, None] * np.stack([np.ones(len(alpha)), alpha[:, -1]], axis=1)
            rested = (inner[:, :, 0] * beta[:, self.places]).sum(axis=1) + (last * beta).sum(axis=1)
            known = incomplete_beta(betainc, beta_cdf, self.end[0][chosen], self.end[1][chosen], point[0])
            density = sums[:, 1] * point[1] - rested * point[0]
            return known + scale * sums[:, 0], scale * density + end * self.end[0][chosen]
