"""Quantiles of many mixtures of Beta(a + x, b + n - x) over counts x of one total n each (docs/proofs/inference.md, "Many groups at once").

With `d_x = t^{a+x} (1-t)^{b+n-x-1} Γ(a+b+n) / (Γ(a+x+1) Γ(b+n-x))`, `I_t(a+x, b+n-x) = I_t(a+x+1, b+n-x-1) + d_x`. So, w the weights,

    F(t)  =  I_t(a+m, b+n-m)  +  Σ_{x < m} (Σ_{y <= x} w_y) d_x ,    m the last count,

and d_x is a function of t times a function of x times a power of the odds t/(1-t): the sum is a polynomial in the odds, of one sign,
whose coefficients are computed once. From the other end 1 - F is the same with the weights beyond x and the first count.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, expit

from discreet.arrays import Counts, Floats
from discreet.inference.groups.quantile_search import equal_tailed, matched_logits
from discreet.model.beta_mixtures import BetaMixture
from discreet.model.dirichlet import log_density
from discreet.numerics.divergences import log_ratio_excess
from discreet.numerics.incomplete_beta import beta_cdf

_SYMMETRIC = 1e3
"""From here on SciPy's incomplete beta function of equal parameters is not used."""
_LEAST_FACTOR = 1e-300
_TERMS = 12
"""How many terms of an incomplete beta function in a tail are tried before it is computed."""


@dataclass(frozen=True, eq=False)
class BetaLines:
    """Mixtures, one a row: weights of the counts from `first` on, which add up to 1 and are 0 beyond n."""

    weight: Floats
    first: Counts
    n: Counts
    a: Floats
    b: Floats

    def __len__(self) -> int:
        return len(self.weight)

    @cached_property
    def count_moments(self) -> tuple[Floats, Floats]:
        """The mean and the variance of the count of each."""
        j = np.arange(self.weight.shape[1], dtype=np.float64)
        step = np.einsum("ij,j->i", self.weight, j)
        return self.first + step, np.einsum("ij,ij->i", self.weight, (j - step[:, None]) ** 2)

    def moments(self) -> tuple[Floats, Floats]:
        """The mean and the variance of each: that within the components and that of their means."""
        count, spread = self.count_moments
        total = self.a + self.b + self.n
        mine, others = self.a + count, self.b + (self.n - count)
        return mine / total, (mine * others / total + spread) / (total * (total + 1.0))

    def interval(self, tail: float, precision: float) -> tuple[Floats, Floats, Floats]:
        """The points with probability `tail` below and above them, and how far the probability beyond either is from that at most."""
        if not len(self):
            return np.empty(0), np.empty(0), np.empty(0)
        sums = _Polynomials(self, 1e-3 * precision * tail)
        return equal_tailed((sums.below, sums.above), matched_logits(*self.moments(), tail), tail, precision, self.mixture)

    def mixture(self, row: int) -> BetaMixture:
        """One row as a distribution."""
        x = np.arange(self.first[row], min(self.first[row] + self.weight.shape[1] - 1, self.n[row]) + 1)
        return BetaMixture(self.weight[row, : len(x)], self.a[row] + x, self.b[row] + (self.n[row] - x))


class _Polynomials:
    """The coefficients of F, of 1 - F and of the density, relative to the components in the middle, counts on the first axis."""

    def __init__(self, lines: BetaLines, negligible: float) -> None:
        a, b, width = lines.a, lines.b, lines.weight.shape[1]
        last = np.minimum(lines.first + width - 1, lines.n)
        self.end = last - lines.first
        self.place = np.minimum(np.rint(np.einsum("ij,j->i", lines.weight, np.arange(width, dtype=np.float64))).astype(np.int64), self.end)
        middle = lines.first + self.place
        alpha, beta = a + middle, b + (lines.n - middle)
        self.parameters, self.log_odds = np.stack([alpha, beta]), np.log(alpha / beta)
        self.means = self.parameters / (alpha + beta)
        density = log_density(self.parameters.T, self.means.T, alpha + beta, self.means.T)
        self.known = density + np.log(self.means).sum(axis=0) - np.log(alpha)
        self.first, self.last = (a + lines.first, b + (lines.n - lines.first)), (a + last, b + (lines.n - last))
        self.negligible = negligible
        relative = _relative_terms(*self.first, alpha / beta, self.place, width)
        self.relative_ends = relative[0].copy(), np.take_along_axis(relative, self.end[None], axis=0)[0]
        weight = np.ascontiguousarray(lines.weight.T)
        self.density = weight * relative
        self.density *= self.first[0] + np.arange(width, dtype=np.float64)[:, None]
        self.lower, self.upper = np.empty_like(relative), np.empty_like(relative)
        sums = np.zeros(len(lines))
        for j, row in enumerate(weight):
            sums += row
            np.multiply(sums, relative[j], out=self.lower[j])
            np.multiply(1.0 - sums, relative[j], out=self.upper[j])
        for j in range(int(self.end.min()), width):  # a last count has no term of its own, and counts beyond the total have no Beta
            self.lower[j, self.end <= j] = self.upper[j, self.end <= j] = 0.0

    def below(self, chosen: NDArray[np.int64] | slice, logit: Floats) -> tuple[Floats, Floats]:
        """F and its derivative by the logit."""
        log_middle, step, point = self._middle(chosen, logit)
        a, b = (parameter[chosen] for parameter in self.last)
        with np.errstate(over="ignore", invalid="ignore"):
            term = self.relative_ends[1][chosen] * np.exp(log_middle + (self.end - self.place)[chosen] * step)
        end = self._summed_up(a, b, np.exp(logit), point[0], term)
        return self._with_terms(end, self.lower, chosen, log_middle, step, point)

    def above(self, chosen: NDArray[np.int64] | slice, logit: Floats) -> tuple[Floats, Floats]:
        """1 - F and the derivative of F by the logit."""
        log_middle, step, point = self._middle(chosen, logit)
        a, b = (parameter[chosen] for parameter in self.first)
        with np.errstate(over="ignore", invalid="ignore"):
            term = self.relative_ends[0][chosen] * np.exp(log_middle - self.place[chosen] * step - logit) * (a / b)
        end = self._summed_up(b, a, np.exp(-logit), point[1], term)
        return self._with_terms(end, self.upper, chosen, log_middle, step, point)

    def _middle(self, chosen: NDArray[np.int64] | slice, logit: Floats) -> tuple[Floats, Floats, Floats]:
        """ln d of the middle count, the logarithm of the odds relative to the mean's there, and the point and 1 less it."""
        means = self.means[:, chosen]
        point = np.stack([expit(logit), expit(-logit)])
        excess = log_ratio_excess((point - means) / means, point / means)
        log_middle = self.known[chosen] + (self.parameters[:, chosen] * excess).sum(axis=0) - np.log(point[1])
        return log_middle, logit - self.log_odds[chosen], point

    def _with_terms(
        self, end: Floats, coefficients: Floats, chosen: NDArray[np.int64] | slice, log_middle: Floats, step: Floats, point: Floats
    ) -> tuple[Floats, Floats]:
        sums = _horner(coefficients[:, chosen], self.density[:, chosen], np.exp(step))
        with np.errstate(over="ignore", invalid="ignore"):
            scale = np.exp(log_middle - self.place[chosen] * step)
            return end + scale * sums[0], scale * point[1] * sums[1]

    def _summed_up(self, a: Floats, b: Floats, odds: Floats, t: Floats, term: Floats) -> Floats:
        """I_t(a, b), whose first term is d: a few terms where what they leave out is negligible, else the incomplete beta function."""
        total, product = np.ones_like(term), np.ones_like(term)
        for j in range(1, _TERMS + 1):
            product *= odds * ((b - j) / (a + j))
            total += product
        ratio = odds * ((b - _TERMS - 1.0) / (a + _TERMS + 1.0))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            left = term * product * ratio
            result = term * total
            long = np.nonzero(~((b > _TERMS + 1.0) & (ratio < 1.0) & (left <= self.negligible * (1.0 - ratio))))[0]
        if long.size:
            result[long] = incomplete_beta(betainc, beta_cdf, a[long], b[long], t[long])
        return result


def _relative_terms(a: Floats, b: Floats, odds: Floats, place: Counts, width: int) -> Floats:
    """The terms d of consecutive counts at these odds, relative to that of one place each; next to nothing beyond the total."""
    result = np.zeros((width, len(a)))
    for j in range(1, width):
        np.divide(np.maximum(b - j, _LEAST_FACTOR) * odds, a + j, out=result[j])
        np.log(np.maximum(result[j], np.finfo(np.float64).tiny), out=result[j])
        result[j] += result[j - 1]
    result -= np.take_along_axis(result, place[None], axis=0)
    return np.asarray(np.exp(result, out=result))


def _horner(one: Floats, other: Floats, q: Floats) -> Floats:
    """Two polynomials with coefficients on the first axis, at one place for each column."""
    result = np.zeros((2, q.size))
    with np.errstate(over="ignore", invalid="ignore"):
        for j in range(len(one) - 1, -1, -1):
            result *= q
            result[0] += one[j]
            result[1] += other[j]
    return result


def incomplete_beta(
    generic: Callable[..., Floats], symmetric: Callable[[float, float, ArrayLike], Floats], a: Floats, b: Floats, t: Floats
) -> Floats:
    """An incomplete beta function for each row; `numerics.incomplete_beta` says why large equal parameters are a case of their own."""
    result = generic(a, b, t)
    for j in np.nonzero((a == b) & (a >= _SYMMETRIC))[0]:
        result[j] = symmetric(float(a[j]), float(b[j]), t[j])
    return result
