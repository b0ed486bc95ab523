"""Contrasts of two categories of one distribution, which depend on each other (docs/proofs/inference.md).

Given the counts, s = θ_a + θ_b and v = θ_a/(θ_a + θ_b) are independent, Beta(α_a + α_b + u, ...) with u = x_a + x_b and
Beta(α_a + x_a, α_b + x_b). So p(s, v) = Σ_u f(s; u) g(v; u). The ratio θ_a/θ_b is the odds of v, and for the difference s (2v - 1) and
the odds ratio it takes one integral over the log-odds of v.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from discreet import limits
from discreet.arrays import Floats
from discreet.betas.log_odds import BetaFamily, Curve, JointLaw, check_nodes, joined_density, panel_edges, short_law, single_law
from discreet.betas.rows import Block
from discreet.counts.law import OUTER_COUNTS, CountLaw, PairWeights
from discreet.errors import TooLargeError
from discreet.inference.contrasts import raw_moments, resolved
from discreet.inference.quantities import Contrast, Quantity
from discreet.numerics.gamma import BELOW_ONE

_NO_WEIGHT = 1e-20
"""Weight of counts, relative to all, that is left out of means."""


@dataclass(frozen=True, eq=False)
class _CategoryPair:
    """Two categories' joint law, with the prior parameters of the first, of the second and of all others together."""

    parts: list[PairWeights]
    first: float
    second: float
    others: float
    least: tuple[int, int] = (0, 0)
    """The least counts of the second and of all others: the denominators vanish with their parameters and these."""

    @cached_property
    def of_split(self) -> list[BetaFamily]:
        """Laws of v, for each u."""
        return [Block(p.low, p.totals, p.split).family(self.first, self.second) for p in self.parts]

    @cached_property
    def of_sum(self) -> list[BetaFamily]:
        """Laws of s, for each u."""
        return [self._of_sum(part) for part in self.parts]

    def _of_sum(self, part: PairWeights) -> BetaFamily:
        rows = np.stack([self.first + self.second + part.totals, part.rest_rows], axis=-1).astype(np.float64)
        columns = np.stack([np.zeros(len(part.rest_columns)), self.others + part.rest_columns], axis=-1)
        return BetaFamily(part.rest, rows, columns)

    @cached_property
    def mass(self) -> float:
        return float(sum(family.masses.sum() for family in self.of_split))

    def law(self, finer: float) -> JointLaw:
        """The joint law of the log-odds of s and of v."""
        edges = panel_edges(self.of_sum, finer), panel_edges(self.of_split, finer)
        check_nodes(edges)
        density = sum(self._density(s, v, edges) for s, v in zip(self.of_sum, self.of_split, strict=True))
        return short_law(np.asarray(density) / self.mass, edges)

    def law_of_two(self, finer: float) -> JointLaw:
        """The law of the log-odds of v alone, where there are no others."""
        edges = panel_edges(self.of_split, finer)
        return single_law(joined_density(self.of_split, edges), edges)

    def _density(self, of_sum: BetaFamily, of_split: BetaFamily, edges: tuple[Floats, Floats]) -> Floats:
        rows = len(of_sum.rows)
        return np.asarray(of_sum.on(edges[0]).reshape(-1, rows) @ of_split.on(edges[1]).reshape(-1, rows).T)

    def ratio_moment(self, m: int) -> float:
        """E[(θ_a/θ_b)^m]."""
        return float(sum(family.moments(m, -m).sum() for family in self.of_split)) / self.mass

    def odds_moment(self, m: int) -> float:
        """The first or second moment of the odds ratio, from that of each Dirichlet (docs/proofs/inference.md)."""
        used = [part.split > _NO_WEIGHT * self.mass for part in self.parts]
        terms = sum(int(held.sum()) * part.rest.shape[1] for held, part in zip(used, self.parts, strict=True))
        if terms > limits.CONTRAST_CELLS:
            raise TooLargeError(
                f"the mean of this odds ratio is a sum of {terms:,} terms, done up to {limits.CONTRAST_CELLS:,}. Its median and interval "
                "need fewer"
            )
        return sum(self._odds_terms(m, part, held) for part, held in zip(self.parts, used, strict=True)) / self.mass

    def _odds_terms(self, m: int, part: PairWeights, used: NDArray[np.bool_]) -> float:
        beside, total = part.rest_rows[:, None] + part.rest_columns + self.others, 0.0
        for column, rows in enumerate(used.T):
            q = np.asarray(self.second + (part.totals[rows, None] - (part.low + column)), dtype=np.float64)
            moments = _odds_moment(m, self.first + part.low + column, q, q + beside[rows])
            total += float(part.split[rows, column] @ (part.rest[rows] * moments).sum(axis=1))
        return total


def _odds_moment(m: int, p: float, q: Floats, rest: Floats) -> Floats:
    """E of the odds ratio to the power m under Dir(p, q, rest - q), from w = 1 - θ_a ~ Beta(rest, p) and τ = θ_b/w ~ Beta(q, rest - q)."""
    if m == 1:
        return p * (rest + p - 1.0) / ((rest - 2.0) * (q - 1.0)) - p / (rest - 1.0)
    total = rest + p
    fourth = (total - 1.0) * (total - 2.0) / ((rest - 3.0) * (rest - 4.0) * (q - 1.0) * (q - 2.0))
    third = (total - 1.0) / ((rest - 2.0) * (rest - 3.0) * (q - 1.0))
    second = 1.0 / ((rest - 1.0) * (rest - 2.0))
    return np.asarray(p * (p + 1.0) * (fourth - 2.0 * third + second))


def pairs_of(counts: CountLaw, k: int, sides: tuple[list[int], list[int]]) -> list[PairWeights]:
    """The joint law of the counts of two sets of the k categories, which have none in common, and of all others'."""
    if max(map(len, sides)) == 1:
        return counts.pairs(sides[0][0], sides[1][0])
    others = [i for i in range(k) if i not in (*sides[0], *sides[1])]
    return counts.merged([*sides, *([others] if others else [])]).pairs(0, 1)


def category_contrast(
    parts: Sequence[PairWeights],
    prior: tuple[float, float, float],
    names: tuple[Hashable, Hashable],
    omitted: float,
    least: tuple[int, int] = (0, 0),
) -> Contrast:
    """Compare two categories of one distribution.

    Args:
        parts: the joint law of their counts and of all others'.
        prior: the prior parameters of the first, of the second and of all others together, 0 if there are none.
        names: of the two categories.
        omitted: an upper bound on the probability of counts that were left out.
        least: the least possible counts of the second and of all others, which decide with the prior which means are infinite.
    """
    pair = _CategoryPair([part for part in map(PairWeights.trimmed, parts) if len(part.totals)], *prior, least)
    law, error = resolved(pair.law if prior[2] else pair.law_of_two)
    low, high = (float(end) for end in law.second.edges[[0, -1]])
    second, others = pair.second + pair.least[0], pair.others + pair.least[1]
    if prior[2]:
        most = float(expit(law.first.edges[-1]))
        apart = partial(_either_side, _difference_curve, law), partial(_difference_moments, law)
        ends = most * min(np.tanh(low / 2), 0.0), most * max(np.tanh(high / 2), 0.0)
        odds = partial(_either_side, _odds_curve, law), (2.0 * min(low, 0.0), 2.0 * max(high, 0.0))
        odds_moments = partial(raw_moments, pair.odds_moment, min(second, 0.5 * (second + others)))
    else:  # there are no others: s = 1, and all contrasts are functions of v
        apart = partial(_spread_below, law), partial(_spread_moments, law)
        ends = np.tanh(low / 2), np.tanh(high / 2)
        odds = partial(_half_below, law), (2.0 * low, 2.0 * high)
        odds_moments = partial(raw_moments, partial(_doubled, pair.ratio_moment), 0.5 * second)
    return Contrast(
        names,
        Quantity("difference", apart[0], ends, apart[1], False),
        Quantity("ratio", law.second_below, (low, high), partial(raw_moments, pair.ratio_moment, second)),
        Quantity("odds ratio", *odds, odds_moments),
        1.0 - float(law.second_below(np.zeros(1))[0]),
        min(1.0, error + omitted + 8.0 * OUTER_COUNTS),
    )


def _spread_below(law: JointLaw, t: Floats) -> Floats:
    """P(2v - 1 <= t)."""
    return law.second_below(2.0 * np.arctanh(np.clip(t, -BELOW_ONE, BELOW_ONE)))


def _spread_moments(law: JointLaw) -> tuple[float, float]:
    """Return the mean and the standard deviation of 2v - 1."""
    spread = np.tanh(0.5 * law.second.nodes)
    mean = law.mean(second=spread)
    return mean, float(np.sqrt(law.mean(second=(spread - mean) ** 2)))


def _half_below(law: JointLaw, t: Floats) -> Floats:
    """P(twice the log-odds of v <= t)."""
    return law.second_below(0.5 * t)


def _doubled(moment: Callable[[int], float], m: int) -> float:
    return moment(2 * m)


def _either_side(curve: Callable[[float, float], Curve], law: JointLaw, t: Floats) -> Floats:
    """The probabilities beyond curves on either side, given which side it is and how far; for t < 0 the two categories are exchanged."""
    side = np.where(t >= 0.0, 1.0, -1.0)
    found = law.probabilities([curve(*each) for each in zip(side.tolist(), np.abs(t).tolist(), strict=True)])
    return np.where(side > 0.0, found, 1.0 - found)


def _difference_curve(side: float, size: float) -> Curve:
    """Return the curve of P(s (2v - 1) <= t): for t >= 0, v is at most 1/2 or s at most t/(2v - 1)."""

    def boundary(y: Floats) -> Floats:
        spread = np.tanh(0.5 * side * y)
        sum_, rest = size, spread - size
        value = np.log(sum_) - np.log(np.where(rest > 0.0, rest, 1.0))
        return np.where(rest > 0.0, value, np.inf)

    def inverse(y: Floats) -> Floats:
        return np.asarray(2.0 * side * np.arctanh(size / expit(y)))

    return boundary, inverse, [0.0, side * float(2.0 * np.arctanh(min(size, BELOW_ONE)))]


def _odds_curve(side: float, size: float) -> Curve:
    """Return the curve of P(odds ratio <= e^t): given v with the odds e^y > 1 it grows from e^y to e^{2y} with s."""

    def boundary(y: Floats) -> Floats:
        z = side * y
        inside = (2.0 * z > size) & (z < size)
        z_in = np.where(inside, z, 0.75 * size)
        value = size - 2.0 * z_in + np.log(-np.expm1(z_in - size)) - log_expit(-z_in) - np.log(-np.expm1(size - 2.0 * z_in))
        return np.where(inside, value, np.where(z >= size, -np.inf, np.inf))

    def inverse(y: Floats) -> Floats:
        spread = expit(-y) * -np.expm1(-size)
        return np.asarray(side * (size + np.log(0.5 * (spread + np.sqrt(spread**2 + 4.0 * np.exp(-size))))))

    return boundary, inverse, [0.0, 0.5 * side * size, side * size]


def _difference_moments(law: JointLaw) -> tuple[float, float]:
    """Return the mean and the standard deviation of s (2v - 1), from distances from the means of both factors."""
    total, spread = expit(law.first.nodes), np.tanh(0.5 * law.second.nodes)
    centres = law.mean(first=total), law.mean(second=spread)
    p, q = total - centres[0], spread - centres[1]
    tied = law.mean(p, q)
    square = centres[1] ** 2 * law.mean(first=p**2) + centres[0] ** 2 * law.mean(second=q**2) + law.mean(p**2, q**2)
    square += 2.0 * (centres[0] * centres[1] * tied + centres[1] * law.mean(p**2, q) + centres[0] * law.mean(p, q**2))
    return centres[0] * centres[1] + tied, float(np.sqrt(max(square - tied**2, 0.0)))
