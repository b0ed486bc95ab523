"""Mixtures of many Betas whose parameters follow each other by 1: fast sums over the counts of one total (docs/inference.md).

With `d(a, b) = t^a (1-t)^{b-1} Γ(a+b) / (Γ(a+1) Γ(b))`, `I_t(a, b) = I_t(a + 1, b - 1) + d(a, b)`. So for the components of one run,
a = a_0, a_0 + 1, ..., a_m with a + b fixed and weights w (Abel's summation by parts),

    Σ_j w_j I_t(a_j, b_j)  =  (Σ w) I_t(a_m, b_m)  +  Σ_{j < m} (w_0 + ... + w_j) d(a_j, b_j) ,

one incomplete beta function for a run, and positive terms alone. From 1 downwards, from the other end of the run, it is the same.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincc, expit, logsumexp

from discreet.arrays import Counts, Floats
from discreet.model.beta_mixtures import BetaMixture, _each, _log_beta_density
from discreet.numerics.incomplete_beta import beta_cdf, beta_survival

__all__ = ["BetaRuns"]


@dataclass(frozen=True, eq=False, repr=False)
class BetaRuns(BetaMixture):
    """Σ_j weight_j · Beta(a_j, b_j) where, within each run, a grows by 1 and b falls by 1 from one component to the next."""

    category: Hashable = "success"
    omitted: float = 0.0
    starts: Counts | None = None
    """The first component of each run; one run if None."""

    @cached_property
    def _starts(self) -> Counts:
        return np.zeros(1, dtype=np.int64) if self.starts is None else np.asarray(self.starts, dtype=np.int64)

    @cached_property
    def _sizes(self) -> Counts:
        return np.diff(self._starts, append=self.weight.size)

    @cached_property
    def _cumulative(self) -> tuple[Floats, Floats, Floats]:
        """Of each component: the weight of its run up to it and beyond it. And the weight of each run."""
        upwards, downwards = np.empty_like(self.weight), np.empty_like(self.weight)
        for first, size in zip(self._starts.tolist(), self._sizes.tolist(), strict=True):
            part = slice(first, first + size)
            np.cumsum(self.weight[part], out=upwards[part])
            downwards[first + size - 1] = 0.0
            np.cumsum(self.weight[part][:0:-1], out=downwards[first : first + size - 1][::-1])
        run = np.add.reduceat(self.weight, self._starts)
        upwards[self._starts + self._sizes - 1] = 0.0  # what it stands for is in the incomplete beta function
        return upwards, downwards, run

    @cached_property
    def _steps(self) -> tuple[Counts, Floats, Floats, Floats]:
        """A middle component of each run; for all components the steps to it, ln d relative to it at its own mean, and that mean's logit."""
        middle = self._starts + np.minimum(self._sizes - 1, self._middles())
        logits = np.log(self.a[middle] / self.b[middle])
        owner = np.repeat(np.arange(len(middle)), self._sizes)
        ratio = np.log(np.append(self.b[1:], 1.0) / (self.a + 1.0)) + logits[owner]
        before = np.append(0.0, np.cumsum(ratio)[:-1])
        return middle, np.arange(self.weight.size) - middle[owner], before - before[middle][owner], logits

    def _middles(self) -> Counts:
        places = np.arange(self.weight.size) - np.repeat(self._starts, self._sizes)
        run = np.add.reduceat(self.weight, self._starts)
        mean = np.add.reduceat(self.weight * places, self._starts) / np.where(run > 0.0, run, 1.0)
        return np.rint(mean).astype(np.int64)

    def _log_terms(self, t: Floats) -> Floats:
        """ln d of all components (columns) at a column of points strictly between 0 and 1."""
        middle, step, relative, logits = self._steps
        known = _log_beta_density(self.a[middle], self.b[middle], t) + np.log(t) - np.log(self.a[middle])
        slope = np.log(t) - np.log1p(-t) - logits
        return np.repeat(known, self._sizes, axis=1) + step * np.repeat(slope, self._sizes, axis=1) + relative

    def _lower(self, t: Floats, terms: Floats) -> Floats:
        upwards, _, run = self._cumulative
        top = self._starts + self._sizes - 1
        return np.asarray(_each(betainc, beta_cdf, self.a[top], self.b[top], t) @ run + terms @ upwards)

    def _upper(self, t: Floats, terms: Floats) -> Floats:
        _, downwards, run = self._cumulative
        return np.asarray(_each(betaincc, beta_survival, self.a[self._starts], self.b[self._starts], t) @ run + terms @ downwards)

    def cdf(self, x: ArrayLike) -> Floats:
        """Probability of being at most x."""
        points = np.asarray(x, dtype=np.float64)
        inside = (points > 0.0) & (points < 1.0)
        value = self._over(lambda t: self._lower(t, np.exp(self._log_terms(t))), np.where(inside, points, 0.5))
        return np.where(inside, value, np.where(points > 0.0, 1.0, 0.0))

    def sf(self, x: ArrayLike) -> Floats:
        """Probability of being above x, without subtracting."""
        points = np.asarray(x, dtype=np.float64)
        inside = (points > 0.0) & (points < 1.0)
        value = self._over(lambda t: self._upper(t, np.exp(self._log_terms(t))), np.where(inside, points, 0.5))
        return np.where(inside, value, np.where(points > 0.0, 0.0, 1.0))

    def logpdf(self, x: ArrayLike) -> Floats:
        """Log density; -inf outside [0, 1]."""
        points = np.asarray(x, dtype=np.float64)
        inside = (points > 0.0) & (points < 1.0)
        if not inside.all():
            return np.where(inside, self.logpdf(np.where(inside, points, 0.5)), super().logpdf(np.where(inside, -1.0, points)))
        return self._over(lambda t: logsumexp(self._log_terms(t), b=self.weight * self.a, axis=-1) - np.log(t[:, 0]), points)

    def _excess(self, u: Floats, q: Floats) -> tuple[Floats, Floats]:
        """As for any mixture, with the terms of all components computed once for each point."""
        x = expit(u)
        upper = q > 0.5

        def both(t: Floats) -> Floats:
            terms = np.exp(self._log_terms(t))
            density = terms @ (self.weight * self.a)  # times t
            return np.stack([self._lower(t, terms), self._upper(t, terms), density], axis=-1)

        rows = np.array([both(point.reshape(1, 1))[0] for point in x])
        mass = np.where(upper, rows[:, 1], rows[:, 0])
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            log_mass = np.log(mass)
            slope = rows[:, 2] * expit(-u) / mass
        return np.where(upper, np.log1p(-q) - log_mass, log_mass - np.log(q)), slope
