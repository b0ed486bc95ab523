"""Quantiles of many mixtures of Beta(a + x, b + r) over counts x and rests r (docs/inference.md, "Many groups at once").

With `e(x, r) = t^{a+x} (1-t)^{b+r} Γ(a+b+x+r) / (Γ(a+x+1) Γ(b+r))`,

    I_t(a+x, b+r) = I_t(a+x+1, b+r) + e(x, r) ,    I_t(a+x, b+r+1) = I_t(a+x, b+r) + e(x, r) (a+x)/(b+r) .

Summing by parts over x and then, for the last count m, over r from the least rest q on leaves one incomplete beta function,

    F(t)  =  I_t(a+m, b+q)  +  Σ_{r, x < m} (Σ_{y <= x} w_{y,r}) e(x, r)  +  Σ_r (Σ_{s > r} Σ_y w_{y,s}) e(m, r) (a+m)/(b+r) ,

and positive terms. e is a function of x, of r and of x + r times powers of t and 1-t: a matrix that is computed once, between two vectors.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, expit

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.errors import TooLargeError
from discreet.inference.groups.line_quantiles import incomplete_beta
from discreet.inference.groups.quantile_search import equal_tailed, matched_logits
from discreet.model.beta_mixtures import BetaMixture
from discreet.model.dirichlet import log_density
from discreet.numerics.divergences import log_ratio_excess
from discreet.numerics.incomplete_beta import beta_cdf

_LARGEST = 500.0
"""Logarithms of what is kept apart stay below this."""


@dataclass(frozen=True, eq=False)
class BetaPlanes:
    """Mixtures: weights by mixture, count from `first` on and rest from `least` on; those of one mixture add up to 1."""

    weight: Floats
    first: Counts
    least: Counts
    a: Floats
    b: Floats

    def __len__(self) -> int:
        return len(self.weight)

    def interval(self, mean: Floats, variance: Floats, tail: float, precision: float) -> tuple[Floats, Floats, Floats]:
        """The points with probability `tail` below and above them, and how far the probability beyond either is from that at most.

        The mean and the variance of each mixture say where to look first.
        """
        sums = _Matrices(self)
        return equal_tailed((sums.below, sums.above), matched_logits(mean, variance, tail), tail, precision, self.mixture)

    def mixture(self, row: int) -> BetaMixture:
        """One mixture as a distribution; TooLargeError if it has too many components to be added up one by one."""
        if self.weight[row].size > limits.PLANE_COMPONENTS:
            raise TooLargeError(
                f"the noise leaves {self.weight[row].size:,} pairs of a count and a rest of its group possible; at most "
                f"{limits.PLANE_COMPONENTS:,} are added up one by one. Less noise (a larger epsilon) needs fewer"
            )
        x, r = np.nonzero(self.weight[row] > 0.0)
        first, least = self.a[row] + self.first[row], self.b[row] + self.least[row]
        return BetaMixture(self.weight[row][x, r], first + x, least + r)


class _Matrices:
    """The factors of all terms of F, above those of the density, for each mixture a matrix of counts by rests.

    Where floats hold them, what depends on the count alone and on the rest alone is kept apart.
    """

    def __init__(self, planes: BetaPlanes) -> None:
        weight = planes.weight
        counts, rests = weight.shape[1:]
        a, b = planes.a + planes.first, planes.b + planes.least
        x, r = np.arange(counts, dtype=np.float64), np.arange(rests, dtype=np.float64)
        rows = weight.sum(axis=1)
        self.place = (np.rint(weight.sum(axis=2) @ x), np.rint(rows @ r))
        alpha, beta = a + self.place[0], b + self.place[1]
        self.parameters = np.stack([alpha, beta])
        self.means = self.parameters / (alpha + beta)
        density = log_density(self.parameters.T, self.means.T, alpha + beta, self.means.T)
        self.known = density + np.log(self.means).sum(axis=0) - np.log(alpha)
        self.end = (a + (counts - 1), b)
        self.alpha = a[:, None] + x
        of_both, self.of_count, self.of_rest = _log_terms(a, b, alpha, beta, self.place, counts, rests)
        terms = np.lib.stride_tricks.sliding_window_view(of_both, rests, axis=1)
        if max(float(of_both.max()), float(self.of_count.max()), float(self.of_rest.max())) < _LARGEST:
            terms = np.lib.stride_tricks.sliding_window_view(np.exp(of_both), rests, axis=1)
        else:
            terms = np.exp(terms - self.of_rest[:, None, :] - self.of_count[:, :, None])
            self.of_count, self.of_rest = np.zeros_like(self.of_count), np.zeros_like(self.of_rest)
        self.matrix = np.empty((len(weight), 2 * counts, rests))
        lower = self.matrix[:, :counts]
        lower[:, 0] = weight[:, 0]
        for j in range(1, counts - 1):
            np.add(lower[:, j - 1], weight[:, j], out=lower[:, j])
        beyond = np.cumsum(rows[:, ::-1], axis=1)[:, ::-1] - rows
        lower[:, counts - 1] = np.maximum(beyond, 0.0) * ((a + counts - 1.0)[:, None] / (b[:, None] + r))
        lower *= terms
        np.multiply(weight, terms, out=self.matrix[:, counts:])

    def below(self, chosen: NDArray[np.int64] | slice, logit: Floats) -> tuple[Floats, Floats]:
        """F and its derivative by the logit."""
        point = np.stack([expit(logit), expit(-logit)])
        means, matrix = self.means[:, chosen], self.matrix[chosen]
        counts, rests = matrix.shape[1] // 2, matrix.shape[2]
        step_x, step_r = np.log(point) - np.log(means)
        with np.errstate(over="ignore", invalid="ignore"):
            of_rest = np.exp(step_r[:, None] * (np.arange(rests) - self.place[1][chosen][:, None]) - self.of_rest[chosen])
            of_count = np.exp(step_x[:, None] * (np.arange(counts) - self.place[0][chosen][:, None]) - self.of_count[chosen])
            inner = (matrix @ of_rest[:, :, None])[:, :, 0]
            lower = (inner[:, :counts] * of_count).sum(axis=1)
            density = (inner[:, counts:] * of_count * self.alpha[chosen]).sum(axis=1)
            excess = log_ratio_excess((point - means) / means, point / means)
            scale = np.exp(self.known[chosen] + (self.parameters[:, chosen] * excess).sum(axis=0))
            end = incomplete_beta(betainc, beta_cdf, self.end[0][chosen], self.end[1][chosen], point[0])
            return end + scale * lower, scale * density

    def above(self, chosen: NDArray[np.int64] | slice, logit: Floats) -> tuple[Floats, Floats]:
        """1 - F and the derivative of F by the logit."""
        mass, density = self.below(chosen, logit)
        return 1.0 - mass, density


def _log_terms(
    a: Floats, b: Floats, alpha: Floats, beta: Floats, place: tuple[Floats, Floats], counts: int, rests: int
) -> tuple[Floats, Floats, Floats]:
    """The parts of ln e where t is α/(α + β), relative to the term of one place: of x + r, and what x and r take away from it."""
    of_both = _sums_from(np.log(((a + b)[:, None] + np.arange(counts + rests - 2.0)) / (alpha + beta)[:, None]), place[0] + place[1])
    of_count = _sums_from(np.log((a[:, None] + np.arange(1.0, counts)) / alpha[:, None]), place[0])
    of_rest = _sums_from(np.log((b[:, None] + np.arange(rests - 1.0)) / beta[:, None]), place[1])
    return of_both, of_count, of_rest


def _sums_from(steps: Floats, place: Floats) -> Floats:
    """Running sums of each row, one more than it has entries, relative to that at a place."""
    sums = np.concatenate([np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)], axis=1)
    return np.asarray(sums - np.take_along_axis(sums, place.astype(np.int64)[:, None], axis=1))
