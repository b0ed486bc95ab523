"""Outcomes as values, and the law of true counts that one or more of them are about (docs/proofs/inference.md, "Several releases")."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.counts.law import CountLaw
from discreet.counts.listed import ListedCounts
from discreet.inference.true_counts import check_listable, counts_of_outcomes, log_outcome_constant, noise_of_any_total
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.reports import clamp_outcomes
from discreet.model.datasets import is_few, simplex_points
from discreet.model.dirichlet import Beta, Dirichlet
from discreet.model.size_priors import SizePrior, known_size
from discreet.progress import Progress


@dataclass(frozen=True)
class Outcome:
    """A raw outcome and the mechanism that drew it."""

    mechanism: Mechanism
    raw: tuple[int, ...]
    n: int | None
    """The number of records, if it is public."""

    def clamped(self, n: int | None) -> Counts:
        """The noisy counts without what says nothing: how far below 0 they are, or above a known n."""
        return np.maximum(np.array(self.raw, dtype=object), -1).astype(np.int64) if n is None else clamp_outcomes(self.raw, n)

    def log_likelihood(self, points: Counts, n: int | None, progress: Progress | None = None) -> Floats:
        """ln P(z | x) of counts x, one a row, up to a constant; n is their total if that is known.

        Where the noise is not independent by category the points must be all datasets, in lexicographic order.
        """
        noise = self.mechanism.noise
        if noise is None:
            return self.mechanism.log_likelihoods(self.raw, progress=progress)
        return noise.log_likelihoods(self.clamped(n), points)

    def log_constant(self, n: int) -> float:
        """What that lacks."""
        noise = self.mechanism.noise
        return 0.0 if noise is None else log_outcome_constant(noise, self.raw, self.clamped(n))


def counts_of_same_records(
    prior: Dirichlet | Beta, n: int | None, outcomes: Sequence[Outcome], size_prior: SizePrior, progress: Progress | None = None
) -> CountLaw:
    """The posterior law of the counts that all these outcomes are about: w_x ∝ Π_r P(z_r | x) · DirMult(x; n, a).

    Args:
        prior: what is believed about the categories' probabilities.
        n: the number of records, if some outcome makes it public.
        outcomes: one or more.
        size_prior: what is believed about n where it is private.
        progress: told where the likelihoods of all possible counts take long.

    Raises TooLargeError where the counts are too many for the mechanisms that need a list of them.
    """
    if n == 0:
        return ListedCounts.known([0] * prior.k)
    if n is None:
        free = [(noise_of_any_total(one.mechanism), one.raw) for one in outcomes]
        return counts_of_outcomes(prior.concentration, free, size_prior)
    by_list = [one for one in outcomes if one.mechanism.noise is None]
    for one in by_list:
        check_listable(one.mechanism)
    if not by_list and not is_few(n, prior.k, limits.POSTERIOR_CANDIDATES):
        noisy = [(one.mechanism.noise, one.raw) for one in outcomes if one.mechanism.noise is not None]
        return counts_of_outcomes(prior.concentration, noisy, known_size(n))
    points = simplex_points(n, prior.k)
    log_weight = prior.predictive(n).logpmf(points)
    for one in outcomes:
        log_weight = log_weight + one.log_likelihood(points, n, progress)
    return ListedCounts.of_logs(points, log_weight, log_constant=sum(one.log_constant(n) for one in outcomes))
