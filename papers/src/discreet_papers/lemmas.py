"""The lemmas of 002 and 004: sliding and dilation of the smooth exponential mechanism, dilation of Laplace noise, and 002's algebra.

Left and right sides for figures; margins, right less left without cancellation, for the searches.
"""

from math import exp, expm1, log
from typing import NamedTuple

import numpy as np
from flint import arb

from discreet.arrays import Floats
from discreet.mechanisms.hellinger import HellingerSmoothDelta
from discreet.model.dirichlet import Beta
from discreet.numerics.gamma import to_hellinger, two_count_gap

__all__ = ["Algebra", "Sides", "Tail", "dilation", "dilation_tail", "induction_algebra", "laplace_dilation", "sliding"]


class Sides(NamedTuple):
    """Both sides of a lemma at the score of every candidate, and right less left."""

    score: Floats
    left: Floats
    right: Floats
    margin: Floats


def _scores(mechanism: HellingerSmoothDelta, x: int) -> tuple[Floats, float, Floats]:
    """Scores u = -H of all candidates, the sensitivity, and the probabilities."""
    n = mechanism.space.total
    counts = np.array([x, n - x])
    law = mechanism.law(counts)
    distance = to_hellinger(two_count_gap(mechanism.prior.concentration, n, x, law.counts[:, 0]))
    return -distance, float(mechanism._sensitivity(counts)), law.probability


def _mechanism(prior: Beta, n: int, epsilon: float, delta: float) -> HellingerSmoothDelta:
    return HellingerSmoothDelta(prior, n, repr(epsilon), repr(delta))


def _sides(score: Floats, probability: Floats, exponent: Floats | float, delta: float) -> Sides:
    """`P <= e^exponent P + δ/2` at every score."""
    right = np.exp(exponent) * probability + delta / 2.0
    return Sides(score, probability, right, probability * np.expm1(exponent) + delta / 2.0)


def sliding(prior: Beta, n: int, epsilon: float, delta: float, x: int, shift: float) -> Sides:
    """004 Lemma 3.2 for a shift Δ of so many S(x): the probability read as a function of the score."""
    score, _, probability = _scores(_mechanism(prior, n, epsilon, delta), x)
    return _sides(score, probability, epsilon / 2.0 + epsilon * shift / 2.0, delta)


def dilation(prior: Beta, n: int, epsilon: float, delta: float, x: int, share: float) -> Sides:
    """004 Lemma 3.3 at λ = share · β: the probability read as a function of the score."""
    mechanism = _mechanism(prior, n, epsilon, delta)
    score, sensitivity, probability = _scores(mechanism, x)
    stretch = expm1(share * mechanism._beta)
    return _sides(score, probability, epsilon / 2.0 + epsilon * score * stretch / (2.0 * sensitivity), delta)


class Tail(NamedTuple):
    """The proof of 004 Lemma 3.3 for one λ > 0: scores and log-ratios on either side of S/(1 - e^λ), and what lies at or below it."""

    below: Floats
    """Log-ratios ln h(z)/h(e^λ z) at the scores z at or below S/(1 - e^λ)."""
    above: Floats
    probability: float
    """P(u <= S/(1 - e^λ))."""
    bound: float
    """(n+1) e^{ε/(2(1-e^λ))}."""


def dilation_tail(prior: Beta, n: int, epsilon: float, delta: float, x: int, share: float) -> Tail:
    """004 Lemma 3.3, its proof, at λ = share · β."""
    mechanism = _mechanism(prior, n, epsilon, delta)
    score, sensitivity, probability = _scores(mechanism, x)
    stretch = expm1(share * mechanism._beta)
    ratio, low = -epsilon * score * stretch / (2.0 * sensitivity), score <= -sensitivity / stretch
    return Tail(ratio[low], ratio[~low], float(probability[low].sum()), (n + 1) * exp(-epsilon / (2.0 * stretch)))


def laplace_dilation(epsilon: float, delta: float, numerator: float = 2.0) -> float:
    """004 Lemma 3.1: the largest P(z in S) - e^{ε/2} P(z in e^λ S) over all sets S and |λ| <= ε/(2 ln(numerator/δ)).

    For λ > 0 the worst S is the tail |z| > s where the densities' ratio exceeds e^{ε/2}, `s = (ε/2 + λ)/(e^λ - 1)`, and the excess
    `e^-s (1 - e^-λ)` grows with λ. For λ < 0 the ratio is largest at 0, e^{|λ|}: only if |λ| > ε/2 is there an excess, over the
    middle |z| < s with `s = (|λ| - ε/2)/(1 - e^-|λ|)`.
    """
    most = epsilon / (2.0 * log(numerator / delta))
    start = (epsilon / 2.0 + most) / expm1(most)
    worst = exp(-start) * -expm1(-most)
    if most > epsilon / 2.0:
        end = (most - epsilon / 2.0) / -expm1(-most)
        worst = max(worst, -expm1(-end) + exp(epsilon / 2.0) * expm1(-exp(-most) * end))
    return worst


class Algebra(NamedTuple):
    """One step of the induction for Statement I: what is known, as it stands and as rewritten, both sides."""

    left: arb
    left_rewritten: arb
    right: arb
    right_rewritten: arb


def _beta(a: arb, b: arb) -> arb:
    return (a.lgamma() + b.lgamma() - (a + b).lgamma()).exp()


def induction_algebra(n: int, m: int) -> Algebra:
    """002 and 004, section 2.2.1: the known inequality at m, and its two sides as the next display rewrites them.

    With B the beta function, the display has one factor for two under the root on the left, and on the right it keeps the
    denominators of the left.
    """
    half = arb(n) / 2

    def overlap(j: int) -> arb:
        """∫ sqrt(pq) for the posteriors of x₀ + j and x₀ + j + 1 records."""
        middle = _beta(half + j + arb(3) / 2, half - j + arb(1) / 2)
        return middle / (_beta(half + 1 + j, half + 1 - j) * _beta(half + 2 + j, half - j)).sqrt()

    shared = _beta(half + 2 + m, half - m) * _beta(half + 3 + m, half - m - 1)
    left = _beta(half + m + arb(5) / 2, half - m - arb(1) / 2) * (arb(n - 2 * m - 1) / (n + 2 * m + 3))
    right = _beta(half + m + arb(7) / 2, half - m - arb(3) / 2) * (arb(n - 2 * m - 3) / (n + 2 * m + 5))
    return Algebra(
        overlap(m),
        left / (shared * (arb(n - 2 * m) / (n + 2 * m + 2))).sqrt(),
        overlap(m + 1),
        right / (shared * (arb(n - 2 * m - 2) / (n + 2 * m + 6))).sqrt(),
    )
