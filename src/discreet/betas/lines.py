"""Quantiles of many mixtures of Beta(a + x, b + n - x) over counts x of one total n each (docs/proofs/inference.md, "Many groups at once").

With `d_x = t^{a+x} (1-t)^{b+n-x-1} Γ(a+b+n) / (Γ(a+x+1) Γ(b+n-x))`, `I_t(a+x, b+n-x) = I_t(a+x+1, b+n-x-1) + d_x`. So, w the weights,

    F(t)  =  I_t(a+m, b+n-m)  +  Σ_{x < m} (Σ_{y <= x} w_y) d_x ,    m the last count,

and d_x is a function of t times a function of x times a power of the odds t/(1-t): the sum is a polynomial in the odds, of one sign,
whose coefficients are computed once. From the other end 1 - F is the same with the weights beyond x and the first count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from discreet.arrays import Counts, Floats
from discreet.betas.rows import BetaRows
from discreet.betas.search import Chosen, Evaluate, MiddleTerms, equal_tailed, matched_logits, powers
from discreet.numerics.gamma import beta_cdf
from discreet.numerics.transforms import batches

_LEAST_FACTOR = 1e-300
_NEGLIGIBLE_WEIGHT = 1e-17
"""Counts at the ends of a law with less weight than this, relative to the likeliest, are left out."""
_LONGEST = 1024
"""Counts of the longest law that is worked on together with others."""
_FEW_ROWS = 500
"""Distributions up to which powers of the odds are multiplied with coefficients faster than polynomials are evaluated count by count."""
_TERMS = 12
"""The number of terms of an incomplete beta function in a tail that are tried before it is computed."""


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
        return equal_tailed(self.evaluate(tail, precision), matched_logits(*self.moments(), tail), tail, precision, self.mixture)

    def evaluate(self, tail: float, precision: float) -> Evaluate:
        """Return the function that a search for quantiles with this tail evaluates; its coefficients are computed once, here."""
        return _Polynomials(self, 1e-3 * precision * tail).beyond

    def mixture(self, row: int) -> BetaRows:
        """Return one row as a distribution."""
        first, n = int(self.first[row]), int(self.n[row])
        return BetaRows.of_total(first, self.weight[row, : n - first + 1], n, (float(self.a[row]), float(self.b[row])), row)


def short_lines(
    laws: Sequence[tuple[int, Floats]], n: int, a: Floats, b: Floats
) -> tuple[list[tuple[NDArray[np.int64], BetaLines]], list[int]]:
    """The mixtures of Beta(a + x, b + n - x) over laws of counts, each given from its first count on, in batches of similar length.

    Returns the indices of the laws of each batch with their mixtures, and the indices of laws that are too long for batches.
    """
    kept = [np.nonzero(law > _NEGLIGIBLE_WEIGHT * float(law.max()))[0] for _, law in laws]
    width = np.array([int(held[-1] - held[0]) + 1 for held in kept])
    found = []
    for rows in batches(width, 1):
        rows = rows[width[rows] <= _LONGEST]
        if not rows.size:
            continue
        weight = np.zeros((rows.size, int(width[rows].max())))
        for row, i in zip(weight, rows.tolist(), strict=True):
            part = laws[i][1][kept[i][0] : kept[i][-1] + 1]
            row[: len(part)] = part / part.sum()
        first = np.array([laws[i][0] + int(kept[i][0]) for i in rows.tolist()])
        found.append((rows, BetaLines(weight, first, np.full(rows.size, n), a[rows], b[rows])))
    return found, np.nonzero(width > _LONGEST)[0].tolist()


class _Polynomials:
    """The coefficients of F, of 1 - F and of the density, relative to the components in the middle, counts on the first axis."""

    def __init__(self, lines: BetaLines, negligible: float) -> None:
        a, b, width = lines.a, lines.b, lines.weight.shape[1]
        last = np.minimum(lines.first + width - 1, lines.n)
        self.end = last - lines.first
        self.place = np.minimum(np.rint(np.einsum("ij,j->i", lines.weight, np.arange(width, dtype=np.float64))).astype(np.int64), self.end)
        middle = lines.first + self.place
        alpha, beta = a + middle, b + (lines.n - middle)
        self.middle = MiddleTerms(alpha, beta)
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

    def beyond(self, chosen: Chosen, logit: Floats) -> tuple[Floats, Floats]:
        """F at the first of two logits and 1 - F at the second, and the derivatives of F by the logit."""
        point, (near, far), log_middle = self.middle.at(chosen, np.stack([expit(logit), expit(-logit)]))
        log_middle, step = log_middle - np.log(point[1]), near - far
        (a, b), (c, d) = ([parameter[chosen] for parameter in ends] for ends in (self.last, self.first))
        with np.errstate(over="ignore", invalid="ignore"):
            sums = self._sums(chosen, step)
            scale = np.exp(log_middle)
            last = self.relative_ends[1][chosen] * np.exp(log_middle[0] + (self.end - self.place)[chosen] * step[0])
            first = self.relative_ends[0][chosen] * np.exp(log_middle[1] - self.place[chosen] * step[1] - logit[1]) * (c / d)
            below = self._summed_up(a, b, np.exp(logit[0]), point[0, 0], last)
            above = self._summed_up(d, c, np.exp(-logit[1]), point[1, 1], first)
            return np.stack([below, above]) + scale * sums[0], scale * point[1] * sums[1]

    def _sums(self, chosen: Chosen, step: Floats) -> Floats:
        """The polynomials at the odds e^step, relative to the power of the place in the middle: of the mass and of the density."""
        place, both = self.place[chosen], (self.lower[:, chosen], self.upper[:, chosen])
        if step.shape[1] > _FEW_ROWS:
            return np.asarray(_horner(*both, self.density[:, chosen], np.exp(step)) * np.exp(-place * step))
        each = powers(step, place, len(self.density))
        mass = [np.einsum("rx,xr->r", *terms) for terms in zip(each, both, strict=True)]
        return np.stack([np.stack(mass), np.einsum("srx,xr->sr", each, self.density[:, chosen])])

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
            result[long] = beta_cdf(a[long], b[long], t[long])
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


def _horner(lower: Floats, upper: Floats, both: Floats, q: Floats) -> Floats:
    """Polynomials with coefficients on the first axis at two places for each column: one for either place, and one for both."""
    result = np.zeros((2, *q.shape))
    with np.errstate(over="ignore", invalid="ignore"):
        for j in range(len(both) - 1, -1, -1):
            result *= q
            result[0, 0] += lower[j]
            result[0, 1] += upper[j]
            result[1] += both[j]
    return result
