"""Laws of the parts of a count on nodes that each stand for several integers: coarse, and as short however many records there are.

What is computed after a draw may not be refused, so that reports (`mechanisms`) are found on these, and not on the windows of `tree`.

For any total (docs/explain/mechanisms.md), with A = Σ a_i and a flat root, the law is `∝ n!/Γ(A + n) Π_i P(z_i | x_i) Γ(a_i + x_i)/x_i!`,
n = Σ x_i, and since

    n!/Γ(A + n)  =  (A + n) ∫₀¹ tⁿ (1 - t)^{A-1} dt / Γ(A)

it is a mixture over t of laws under which parts are independent, but for the factor A + n. That gives the marginal laws and points that
stand for all of it, whatever was observed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from math import ceil, log, log1p, prod

import numpy as np
from scipy.special import logsumexp

from discreet import limits
from discreet.arrays import Floats
from discreet.counts.factors import Count
from discreet.counts.ladder import Parts
from discreet.model.datasets import box_points
from discreet.numerics.gamma import log_rising
from discreet.numerics.roots import crossing
from discreet.numerics.sum_rules import spreading_nodes
from discreet.numerics.tails import kept

_WIDENED, _TILT_PRECISION = 4.0, (1e-15, 1e-12)
"""The factor by which a tilt that is not far enough is enlarged, and the absolute and relative precision of tilts."""


@dataclass(frozen=True, eq=False)
class CoarseLaws:
    """The laws of independent counts, one a row, each adding up to 1; rows are filled up with nodes of no weight."""

    x: Floats
    width: Floats
    """The number of integers that each node stands for."""
    weight: Floats
    log_scale: float = 0.0
    """The logarithm of what all rows were divided by."""

    @cached_property
    def means(self) -> Floats:
        """The mean of each count."""
        return np.asarray((self.weight * self.x).sum(axis=-1))

    @cached_property
    def _cumulative(self) -> Floats:
        return np.cumsum(self.weight, axis=-1)

    def quantiles(self, level: Floats | float) -> Floats:
        """Quantiles of all counts, at one level each: a node's weight is spread evenly, so that they move continuously with weights."""
        cumulative, row = self._cumulative, np.arange(len(self.weight))
        asked = level * cumulative[:, -1]
        place = np.minimum((cumulative < asked[:, None]).sum(axis=-1), self.weight.shape[1] - 1)
        here = self.weight[row, place]
        share = np.clip((asked - cumulative[row, place] + here) / np.maximum(here, 1e-300), 0.0, 1.0)
        return np.asarray(np.clip(self.x[row, place] + (share - 0.5) * self.width[row, place], 0.0, self.x[:, -1]))


@dataclass(frozen=True, eq=False)
class CoarseParts:
    """The factors of the parts of a count at nodes, as logarithms: what is a product but for a factor of the total."""

    x: Floats
    width: Floats
    log_weight: Floats

    @staticmethod
    def of(parts: Parts, nodes: Sequence[tuple[Floats, Floats]]) -> "CoarseParts":
        """The factors at these nodes of each part, given with the number of integers that each stands for."""
        longest = max(len(x) for x, _ in nodes)
        x, width = np.zeros((2, len(nodes), longest))
        log_weight = np.full((len(nodes), longest), -np.inf)
        for i, (places, cells) in enumerate(nodes):
            x[i], x[i, : len(places)], width[i, : len(places)] = places[-1], places, cells
            log_weight[i, : len(places)] = parts.log_weight(i, places) + np.log(cells)
        return CoarseParts(x, width, log_weight)

    def balanced(self, total: float) -> CoarseLaws:
        """The laws under the tilt that makes their medians add up to a total."""

        def excess(tilt: float) -> float:
            return float(self.tilted(tilt).quantiles(0.5).sum()) - total

        reach = -float(np.sign(excess(0.0)))
        while excess(reach) * reach < 0.0:
            reach *= _WIDENED
        return self.tilted(crossing(excess, 0.0, reach, *_TILT_PRECISION) if reach else 0.0)

    def tilted(self, rate: float) -> CoarseLaws:
        """The laws with e^{rate x} as another factor."""
        log_weight = self.log_weight + rate * self.x
        highest = log_weight.max(axis=-1, keepdims=True)
        weight = np.exp(log_weight - highest)
        sums = weight.sum(axis=-1, keepdims=True)
        return CoarseLaws(self.x, self.width, np.asarray(weight / sums), float((highest + np.log(sums)).sum()))


# --- any total -------------------------------------------------------------------------------------------------------


_DENSE_COUNTS, _NODE_SPACING = 32, 0.3
"""Counts next to 0 and to the noisy count that are all nodes, and the distance of others in standard deviations of the prior's law."""
_LAST_NODE_DEPTH = 60.0
"""Log probability, and more, that is given up beyond the last node."""
_FIRST_TILTS, _SHARE = 17, 1.0 / 32.0
"""Tilts that are tried first, and the most probability between one and the next in the end."""
_TILT_HALVINGS = 64
_POSTERIOR_POINTS, _POSTERIOR_COUNTS = 256, 1 << 16
"""Points that stand for the posterior, fewer of them where there are many categories: so many counts in all, and at least 32 points."""
_FEWEST_POINTS = 32
_UNLISTED_PROBABILITY = 1e-9
"""Probability that the windows of all counts leave out where the posterior is listed."""


def most_nodes(a: float) -> float:
    """Return the most nodes that a category has, whatever is drawn: on both sides of its noisy count, and away from 0."""
    return 3.0 * (_DENSE_COUNTS + 2.0 + log(2.0 * limits.RAW_OUTCOME / _DENSE_COUNTS) / log1p(_spacing(a)))


def _spacing(a: float) -> float:
    """Return the ratio of neighbouring nodes: the relative width of a category's law is at least the root of 1/a."""
    return float(_NODE_SPACING / (1.0 + a) ** 0.5)


def points_of(k: int) -> int:
    """Return the number of points that stand for the posterior."""
    return max(_FEWEST_POINTS, min(_POSTERIOR_POINTS, _POSTERIOR_COUNTS // k))


class AnyTotal:
    """The law of the parts: tilts ln t with their weights, and each category's law on nodes."""

    def __init__(self, a: Floats, observed: Sequence[Count], slope: float) -> None:
        """The parts' prior parameters, what was observed of each, and how fast log likelihoods fall beyond it."""
        self.total, z = float(a.sum()), [max([0.0, *count.bends]) for count in observed]
        # Counts of a larger total are less likely than no counts at all, by e^-60.
        last = 2.0 * sum(z) + (_LAST_NODE_DEPTH + max(0.0, -log(slope))) / slope
        nodes = [_nodes(one, seen, last, slope) for one, seen in zip(a.tolist(), z, strict=True)]
        self.parts = Parts(a, observed, np.array([x[-1] for x, _ in nodes]))
        self.coarse = CoarseParts.of(self.parts, nodes)
        self.tilts, self.weights = self._mixture(last)
        self.marginals = self._marginals()

    def _log_density(self, u: float) -> float:
        """Return the log density of u = ln t/(1 - t), up to a constant."""
        log_tilt = -float(np.log1p(np.exp(-u)))
        laws = self.coarse.tilted(log_tilt)
        return laws.log_scale + log_tilt - self.total * float(np.log1p(np.exp(u))) + log(self.total + float(laws.means.sum()))

    def _mixture(self, last: float) -> tuple[Floats, Floats]:
        """Tilts ln t with their weights: u is tried at even distances, and half-way where there is much probability between two.

        Below the first u there are no records, and above the last a tilt changes nothing: what is beyond them is added to them.
        """
        u = np.linspace(-log(max(self.total, 1.0)) - 40.0, log(1.0 + last) + 20.0, _FIRST_TILTS)
        density = np.array([self._log_density(float(v)) for v in u])
        for _ in range(_TILT_HALVINGS):
            between = np.logaddexp(density[1:], density[:-1]) + np.log(np.diff(u) / 2.0)
            much = np.nonzero(between > logsumexp(between) + log(_SHARE))[0]
            much = much[np.diff(u)[much] > 1e-9 * (1.0 + np.abs(u[much]))]
            if not len(much):
                break
            middle = 0.5 * (u[much] + u[much + 1])
            density = np.insert(density, much + 1, [self._log_density(float(v)) for v in middle])
            u = np.insert(u, much + 1, middle)
        log_width = np.log(np.diff(u, prepend=u[0] - 2.0, append=u[-1] + 2.0 / self.total))
        log_weight = density + np.logaddexp(log_width[1:], log_width[:-1]) - log(2.0)
        weight = np.exp(log_weight - logsumexp(log_weight))
        kept = np.nonzero(weight > _UNLISTED_PROBABILITY)[0]
        return -np.log1p(np.exp(-u[kept])), weight[kept] / weight[kept].sum()

    def _marginals(self) -> CoarseLaws:
        """Each category's law: under a tilt the factor A + n is that count and what is expected of the others."""
        found = np.zeros_like(self.coarse.x)
        for tilt, weight in zip(self.tilts.tolist(), self.weights.tolist(), strict=True):
            laws = self.coarse.tilted(tilt)
            expected = self.total + float(laws.means.sum())
            found += weight * laws.weight * ((expected - laws.means[:, None] + laws.x) / expected)
        return CoarseLaws(self.coarse.x, self.coarse.width, np.asarray(found / found.sum(axis=-1, keepdims=True)))

    def listed(self) -> tuple[Floats, Floats] | None:
        """Return all counts that carry the posterior, one a row, with their probabilities; None if they are too many."""
        windows, tail = [], _UNLISTED_PROBABILITY / (2.0 * len(self.coarse.x))
        for x, width, law in zip(self.coarse.x, self.coarse.width, self.marginals.weight, strict=True):
            first, final, _ = kept(law, tail)
            windows.append((max(0, int(x[first] - width[first])), int(x[final] + width[final])))
        if prod(high - low + 1 for low, high in windows) > limits.REPORT_POINTS:
            return None
        axes = [np.arange(low, high + 1) for low, high in windows]
        points = box_points(axes).astype(np.float64)
        n = points.sum(axis=-1)
        log_weight = reduce(np.add.outer, [self.parts.log_weight(i, axis.astype(np.float64)) for i, axis in enumerate(axes)]).ravel()
        log_weight = log_weight - log_rising(self.total, n, float(n.max()))
        weight = np.exp(log_weight - logsumexp(log_weight))
        likely = weight > _UNLISTED_PROBABILITY / len(weight)
        return points[likely], weight[likely]

    def drawn(self) -> tuple[Floats, Floats]:
        """Points that stand for the posterior, one a row, with their weights: a fixed sequence that fills the cube of quantiles evenly."""
        k = len(self.coarse.x)
        size = points_of(k)
        owner = np.searchsorted(np.cumsum(self.weights)[:-1], (np.arange(size) + 0.5) / size)
        levels = np.mod(0.5 + np.multiply.outer(np.arange(size), _irrationals(k)), 1.0)
        points, weight = np.empty((size, k)), np.empty(size)
        for j in np.unique(owner):
            laws = self.coarse.tilted(float(self.tilts[j]))
            for s in np.nonzero(owner == j)[0]:
                points[s] = np.rint(laws.quantiles(levels[s]))
                weight[s] = (self.total + points[s].sum()) / (self.total + float(laws.means.sum()))
        return points, weight / weight.sum()


def _nodes(a: float, z: float, last: float, slope: float) -> tuple[Floats, Floats]:
    """The nodes of a category: beyond its noisy count its law is below that of Γ(a + x)/x! e^{-slope x}."""
    top = z + (a + 10.0 * a**0.5 + _LAST_NODE_DEPTH) / slope
    return spreading_nodes(max(1.0, ceil(min(top, last))), [0.0, z], _DENSE_COUNTS, 1.0 + _spacing(a))


@lru_cache(maxsize=4)
def _irrationals(count: int) -> Floats:
    """The roots of the first primes: no two of them, nor 1, are in a rational relation."""
    largest = ceil(max(count, 6) * (log(max(count, 6)) + log(log(max(count, 6))))) + 1
    sieve = np.ones(largest + 1, dtype=bool)
    sieve[:2] = False
    for p in range(2, int(largest**0.5) + 1):
        sieve[p * p :: p] &= not sieve[p]
    return np.asarray(np.sqrt(np.nonzero(sieve)[0][:count].astype(np.float64)))
