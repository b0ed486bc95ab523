"""Quantiles of many mixtures of Beta(a + x, b + r) over counts x and rests r (docs/proofs/inference.md, "Many groups at once").

With `e(x, r) = t^{a+x} (1-t)^{b+r} Γ(a+b+x+r) / (Γ(a+x+1) Γ(b+r))`,

    I_t(a+x, b+r) = I_t(a+x+1, b+r) + e(x, r) ,    I_t(a+x, b+r+1) = I_t(a+x, b+r) + e(x, r) (a+x)/(b+r) .

Summing by parts over x and then, for the last count m, over r from the least rest q on leaves one incomplete beta function,

    F(t)  =  I_t(a+m, b+q)  +  Σ_{r, x < m} (Σ_{y <= x} w_{y,r}) e(x, r)  +  Σ_r (Σ_{s > r} Σ_y w_{y,s}) e(m, r) (a+m)/(b+r) ,

and positive terms. e is a function of x, of r and of x + r times powers of t and 1-t: a matrix that is computed once, between two vectors.
Where the weights are smooth a few rests stand for all (`nodes`).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.betas.nodes import NODE_ERROR, nodes_needed
from discreet.betas.rows import BetaRows, Block
from discreet.betas.search import Chosen, MiddleTerms, equal_tailed, powers
from discreet.errors import TooLargeError
from discreet.numerics.gamma import beta_cdf
from discreet.numerics.sum_rules import whole_chebyshev_rule
from discreet.numerics.transforms import batches, rows_times

_LARGEST = 300.0
"""Logarithms of what is kept apart, or multiplied with each other, stay below this."""


@dataclass(frozen=True, eq=False)
class BetaPlanes:
    """Mixtures whose weights are products: of a factor of the count, one of the rest and one of the sum of both."""

    of_count: Floats
    """The factors of the counts from `first` on, by mixture and count."""
    of_rest: Floats
    """The factors of the rests from `least` on, by mixture and rest."""
    of_sum: Floats
    """The factors of the sums from `first + least` on, by mixture and sum."""
    first: Counts
    least: Counts
    a: Floats
    b: Floats

    def __len__(self) -> int:
        return len(self.of_count)

    def rows(self, chosen: Chosen) -> "BetaPlanes":
        """Return some of the mixtures."""
        names = ("of_count", "of_rest", "of_sum", "first", "least", "a", "b")
        return BetaPlanes(*(getattr(self, name)[chosen] for name in names))

    def interval(
        self, smooth: Floats, guesses: Floats, tail: float, precision: float, allowed: float = NODE_ERROR, *, by_rows: bool = True
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """The points with probability `tail` below and above them, and how far the probability beyond either is from that at most.

        `smooth` is the weight of the sum of count and rest, also where it is left out of the planes because next to nothing is there;
        `guesses` are the logits where both points are looked for first, and `allowed` is what nodes may change in a probability. Weights
        are taken relative to their sums, which come last. What is not found so is looked for in `mixture`, or left open if not `by_rows`.
        """
        low, high, error, whole = np.empty((4, len(self)))

        def search(chosen: Counts, sums: PlaneSums) -> None:
            def exact(row: int) -> BetaRows | None:
                return self.mixture(int(chosen[row])) if by_rows and self.of_sum[chosen[row]].any() else None

            low[chosen], high[chosen], wrong = equal_tailed(sums.beyond, guesses[:, chosen], tail, precision, exact)
            error[chosen], whole[chosen] = wrong + sums.error, sums.whole

        counts, rests = self.of_count.shape[1], self.of_rest.shape[1]
        everywhere = replace(self, of_sum=smooth)
        needed = nodes_needed(everywhere.of_count, everywhere.of_sum, self.a + self.first, self.b + self.least, rests, allowed)
        left = needed.many == 0
        fewer = np.flatnonzero(~left)
        for rows in batches(needed.many[fewer], counts):
            chosen, many = fewer[rows], int(needed.many[fewer[rows]].max())
            sums = PlaneSums(everywhere.rows(chosen), many, needed.off(chosen, many))
            left[chosen] = ~(sums.error <= 2.0 * allowed)
            if not left[chosen].all():
                search(chosen, sums)
        hard = np.flatnonzero(left)
        for rows in batches(np.full(len(hard), rests), counts):
            search(hard[rows], PlaneSums(self.rows(hard[rows])))
        return low, high, error, whole

    def mixture(self, row: int) -> BetaRows:
        """Return one mixture as a distribution; TooLargeError if it has more components than are held."""
        counts, rests = self.of_count.shape[1], self.of_rest.shape[1]
        if counts * rests > limits.PLANE_COMPONENTS:
            raise TooLargeError(
                f"the noise leaves {counts * rests:,} pairs of a count and a rest of its group possible; at most "
                f"{limits.PLANE_COMPONENTS:,} are held as one mixture. Less noise (a larger epsilon) needs fewer"
            )
        first, least, n = int(self.first[row]), int(self.least[row]), np.arange(counts + rests - 1)
        rest = n[:, None] - np.arange(counts)
        of_rest = np.where((rest >= 0) & (rest < rests), self.of_rest[row][np.clip(rest, 0, rests - 1)], 0.0)
        weights = of_rest * self.of_count[row] * self.of_sum[row][:, None]
        block = Block(first, first + least + n, weights / weights.sum())
        return BetaRows([block], float(self.a[row]), float(self.b[row]))


class PlaneSums:
    """The factors of all terms of F, for each mixture a matrix of rests by counts; and those of the last count, by rests.

    The rests are all of them, or so many whole nodes: `off` is how far from a polynomial what is added up over the rests may be.
    Where floats hold it, what depends on the rest alone is kept apart from the matrix.
    """

    def __init__(self, planes: BetaPlanes, nodes: int | None = None, off: Floats | float = 0.0) -> None:
        counts, rests = planes.of_count.shape[1], planes.of_rest.shape[1]
        self.places, weight = np.arange(rests), planes.of_rest
        if nodes is not None:
            self.places, basis = whole_chebyshev_rule(rests, nodes)
            weight = rows_times(planes.of_rest, basis)
        self.matrix = _running(planes, self.places)
        by_rest = weight * self.matrix[:, :, -1]
        self.whole = by_rest.sum(axis=1)
        one = np.where(self.whole > 0.0, self.whole, 1.0)[:, None]
        by_rest /= one
        counted = off * (planes.of_rest.sum(axis=1) + np.abs(weight).sum(axis=1)) / one[:, 0]
        self.error = np.where((self.whole > 0.0) | (nodes is None), counted, np.inf)
        rest = np.clip(np.rint((by_rest * self.places).sum(axis=1)), 0, rests - 1).astype(np.int64)
        to_count = self.matrix[np.arange(len(rest)), np.searchsorted(self.places, rest)]
        count = (to_count < 0.5 * to_count[:, -1:]).sum(axis=1)  # the median, given about that rest
        self.place = np.minimum(count, counts - 1), rest
        a, b = planes.a + planes.first, planes.b + planes.least
        self.middle = MiddleTerms(a + self.place[0], b + self.place[1])
        of_both, of_count, of_rest = _log_terms(a, b, self.middle.parameters, self.place, (counts, rests))
        self.log_end = of_both[:, counts - 1] - of_count[:, -1] - of_rest[:, 0]
        self.end = a + (counts - 1), b
        self.alpha, self.beta = a[:, None] + np.arange(counts), b[:, None] + np.arange(rests)
        steep = np.max([np.abs(each).max(axis=1) for each in (of_both, of_count, of_rest)], axis=0) >= _LARGEST
        if nodes is None and steep.any():
            scaled, last = np.ones_like(of_rest), np.exp(of_both[:, counts - 1 :] - of_rest - of_count[:, -1:])
            for j in range(rests):
                self.matrix[:, j] *= np.exp(of_both[:, j : j + counts] - of_count - of_rest[:, j, None])
        else:
            self.error[steep] = np.inf
            both, lone, scaled = (np.exp(np.clip(each, -_LARGEST, _LARGEST)) for each in (of_both, -of_count, -of_rest))
            last = both[:, counts - 1 :] * lone[:, -1:] * scaled
            for j, r in enumerate(self.places.tolist()):
                self.matrix[:, j] *= both[:, r : r + counts] * lone
        self.matrix[:, :, -1] = 0.0
        self.of_node = weight * scaled[:, self.places] / one
        at_rest = np.zeros((len(a), rests))
        at_rest[:, self.places] = by_rest
        beyond = np.cumsum(at_rest[:, ::-1], axis=1)[:, ::-1] - at_rest
        self.last = beyond * ((a + counts - 1.0)[:, None] / self.beta) * last

    def beyond(self, chosen: Chosen, logit: Floats) -> tuple[Floats, Floats]:
        """F at the first of two logits and 1 - F at the second, and the derivatives of F by the logit.

        That of ln e(x, r) is (a + x)(1 - t) - (b + r) t.
        """
        point, steps, log_middle = self.middle.at(chosen, np.stack([expit(logit), expit(-logit)]))
        alpha, beta = self.alpha[chosen], self.beta[chosen]
        with np.errstate(over="ignore", invalid="ignore"):
            scale = np.exp(log_middle)
            of_count, of_rest = (
                powers(step, place[chosen], many.shape[1]) for step, place, many in zip(steps, self.place, (alpha, beta), strict=True)
            )
            end = scale * np.exp(self.log_end[chosen]) * of_count[:, :, -1] * of_rest[:, :, 0]
            both = np.concatenate([of_count, of_count * alpha])
            inner = (self.matrix[chosen] @ both.transpose(1, 2, 0)).transpose(2, 0, 1).reshape(2, 2, len(alpha), -1)
            inner = inner * (of_rest[:, :, self.places] * self.of_node[chosen])
            last = self.last[chosen] * of_rest * of_count[:, :, -1:]
            sums, ends = inner.sum(axis=3), last.sum(axis=2)
            by_beta = (inner[0] * beta[:, self.places]).sum(axis=2) + (last * beta).sum(axis=2)
            density = (sums[1] + ends * alpha[:, -1]) * point[1] - by_beta * point[0]
            mass = beta_cdf(self.end[0][chosen], self.end[1][chosen], point[0]) + scale * (sums[0] + ends)
            mass[1] = 1.0 - mass[1]
            return mass, scale * density + end * self.end[0][chosen]


def _running(planes: BetaPlanes, places: Counts) -> Floats:
    """Sums of the weights up to each count, without the factor of the rest, by mixture, rest and count."""
    counts = planes.of_count.shape[1]
    result = np.empty((len(planes), len(places), counts))
    for j, r in enumerate(places.tolist()):
        np.multiply(planes.of_count, planes.of_sum[:, r : r + counts], out=result[:, j])
    for x in range(1, counts):  # three times as fast as `cumsum`, where every sum waits for the one before
        result[:, :, x] += result[:, :, x - 1]
    return result


def _log_terms(a: Floats, b: Floats, middle: Floats, place: tuple[Counts, Counts], sizes: tuple[int, int]) -> tuple[Floats, Floats, Floats]:
    """The parts of ln e where t is α/(α + β), relative to the term of one place: of x + r, and what x and r take away from it."""
    (alpha, beta), (counts, rests) = middle, sizes
    of_both = _sums_from(np.log(((a + b)[:, None] + np.arange(counts + rests - 2.0)) / (alpha + beta)[:, None]), place[0] + place[1])
    of_count = _sums_from(np.log((a[:, None] + np.arange(1.0, counts)) / alpha[:, None]), place[0])
    of_rest = _sums_from(np.log((b[:, None] + np.arange(rests - 1.0)) / beta[:, None]), place[1])
    return of_both, of_count, of_rest


def _sums_from(steps: Floats, place: Counts) -> Floats:
    """Running sums of each row, one more than it has entries, relative to that at a place."""
    sums = np.concatenate([np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)], axis=1)
    return np.asarray(sums - np.take_along_axis(sums, place[:, None], axis=1))
