"""Randomized response as a reading: of the y_j reported answers "j" some m_j are truthful (docs/proofs/inference.md, "Randomized answers").

A person tells the truth with probability p - q, and otherwise any of the k answers alike. Given the shares θ, y is multinomial with
probabilities q + (p - q) θ_j, so that

    P(y | θ)  =  n! Σ_m Π_j q^{y_j - m_j} (p - q)^{m_j} θ_j^{m_j} / (m_j! (y_j - m_j)!) :

a tree of counts m with the weight 1/u! of their total u, and given m the shares are Dir(a + m).
"""

from collections.abc import Sequence
from functools import partial
from math import exp, expm1, log

import numpy as np
from attrs import frozen
from scipy.special import gammaln, psi

from discreet.arrays import Floats
from discreet.counts.factors import Count, Split
from discreet.model.size_priors import SizePrior
from discreet.numerics.gamma import bregman


def _log_over_factorial(x: Floats, reference: float) -> Floats:
    """ln(1/x!) relative to its tangent at the reference, where it is 0."""
    return np.asarray(-bregman(x + 1.0, reference + 1.0, x - reference))


@frozen
class Truthful:
    """The number of truthful answers among some: ln((p - q)/q)^m/(y - m)!, without `taken` for each and relative to a likely number."""

    answers: int
    likely: float
    log_odds: float
    taken: float
    first: int = 0

    @property
    def bends(self) -> tuple[float, ...]:
        """Return where the likelihood ends: at the number of answers, because more cannot be truthful."""
        return (float(self.answers),)

    @property
    def curvature(self) -> float:
        """The curvature at the likely number."""
        return 1.0 / (self.answers - self.likely + 1.0)

    def __call__(self, m: Floats) -> Floats:
        """The logarithms for these numbers of truthful answers."""
        other, reference = np.maximum(self.answers - m, 0.0), self.answers - self.likely
        slope = self.log_odds + float(psi(reference + 1.0)) - self.taken
        return np.where(m > self.answers, -np.inf, _log_over_factorial(other, reference) + slope * (m - self.likely))


@frozen
class RandomizedAnswers:
    """Answers to a question with k categories that are truthful with odds e^ε to each of the others."""

    epsilon: float
    k: int

    def tree(self, a: Floats, answers: Sequence[int]) -> tuple[Split, SizePrior, float]:
        """Return the tree of truthful answers under Dir(a), the weight of its root, and the constant that logarithms lack."""
        scale = self.epsilon + log(1.0 + (self.k - 1.0) * exp(-self.epsilon))
        log_odds = self.epsilon + log(-expm1(-self.epsilon))
        y, n = np.array(answers, dtype=np.float64), sum(answers)
        likely = np.rint(np.maximum(y - n * exp(-scale), 0.0))
        total = float(likely.sum())
        taken = float(psi(total + 1.0))
        parts = [Count([Truthful(int(one), m, log_odds, taken)]) for one, m in zip(answers, likely.tolist(), strict=True)]
        root = SizePrior(partial(_log_over_factorial, reference=total), last=n)
        constant = float(gammaln(n + 1.0) - gammaln(total + 1.0) - gammaln(y - likely + 1.0).sum())
        return Split(parts, a), root, constant + total * log_odds - n * scale
