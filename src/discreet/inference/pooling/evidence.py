"""Evidence for shares that differ between groups against shares that all groups have alike: are answer and group independent?"""

from dataclasses import dataclass
from math import log

import numpy as np
from scipy.special import gammaln

from discreet import limits
from discreet.arrays import Floats
from discreet.errors import InvalidInputError, RefusedError
from discreet.inference.draws import generator, seed_of
from discreet.inference.pooling.cells import PooledCells
from discreet.inference.pooling.mixtures import log_evidences
from discreet.inference.pooling.pooled import check_work
from discreet.inference.pooling.strengths import log_shares, weighted_draws
from discreet.inference.tables.posterior import ReleasedTable
from discreet.inference.tables.table import TablePosterior

_COMMON_DRAWS = 2_000
"""Draws of the common shares of three or more categories."""
_FIRST_LOGIT_STEP, _LOGIT_HALVINGS = 0.5, 16
_AS_CLOSE, _NEGLIGIBLE_SHARE = 1e-13, 40.0
"""The change that halving the step may make, relative to the sum; and how far below the largest, in logarithms, shares are left out."""
_LEAST_PRIOR = 0.05
"""Prior parameters from which on the tail of a logit is summed."""


@dataclass(frozen=True)
class BayesFactor:
    """The factor by which the noisy counts are likelier if every group has shares of its own than if all have the same ones."""

    log_separate: float
    """The log evidence of shares that each group has by itself."""
    log_common: float
    """The log evidence of shares that all groups have alike."""
    error: float
    """About how far off the second is: what halving a step changed, or for three or more categories the Monte Carlo standard error."""

    @property
    def log(self) -> float:
        """The logarithm of the Bayes factor: above 0 for shares that differ, below 0 for common ones."""
        return self.log_separate - self.log_common

    def __float__(self) -> float:
        return float(np.exp(self.log))

    def __repr__(self) -> str:
        return f"BayesFactor({float(self):.4g}: separate shares against common ones, ln = {self.log:.4g} ± {self.error:.1g})"


def bayes_factor(posterior: TablePosterior) -> BayesFactor:
    """Compare two models of a table: every group has shares of its own, or all groups have the same shares, with the same prior.

    Args:
        posterior: What `release.noise_aware()` gives for a table whose sizes are public, or with a proper `size_prior`.

    Returns:
        The Bayes factor of separate shares against common ones. Both models have the same sizes of groups with the same priors.

    Raises:
        RefusedError: A public total ties the groups, the prior of the sizes is flat, groups have priors of their own, or some cells cannot
            occur.
        TooLargeError: There are too many counts to add up.
    """
    if not isinstance(posterior, ReleasedTable):
        raise InvalidInputError("bayes_factor takes the posterior of the table of one release, release.noise_aware()")
    if posterior.mechanism._table.published == "total":
        raise RefusedError(
            "a public total ties the sizes of groups, and common shares tie their counts: both together are not summed; a Bayes factor is "
            "computed where the sizes of groups are public"
        )
    if posterior.sizes is None and not posterior.size_prior.proper:
        raise RefusedError(
            "a Bayes factor needs public sizes, or a size_prior that is proper, such as 'poisson:MEAN': the evidence under a flat one, or "
            "under a function, is no probability"
        )
    if posterior.priors or not posterior.cells.possible.all():
        raise RefusedError("groups can have common shares only if all have the same prior, and all categories can occur in each")
    sizes = None if posterior.sizes is None else np.array(posterior.sizes)
    size_prior = None if sizes is not None else posterior.size_prior
    cells = PooledCells.of(posterior.raw, posterior.cells.possible, posterior.mechanism.noise, sizes, size_prior)
    check_work(cells, limits.POOLED_DRAWN_WORK)
    a = posterior.prior.concentration
    if len(a) == 2:
        return BayesFactor(posterior.log_evidence, *_summed(cells, a))
    return BayesFactor(posterior.log_evidence, *_drawn_common(cells, a, seed_of(posterior._seed, "common shares")))


def _log_weights(cells: PooledCells, a: Floats, logits: Floats) -> Floats:
    """The log density of log-odds, a row each, times the evidence of all groups."""
    logs = log_shares(np.insert(logits, 0, 0.0, axis=1))
    found = log_evidences(cells, np.exp(logs), shares=True).sum(axis=1) + cells.constant
    return np.asarray(found + logs @ a + gammaln(a.sum()) - gammaln(a).sum())


def _summed(cells: PooledCells, a: Floats) -> tuple[float, float]:
    """The log evidence of common shares of two categories, by a lattice of the logit, and what halving its step changed."""
    if float(a.min()) < _LEAST_PRIOR:
        raise RefusedError(f"a Bayes factor needs prior parameters of at least {_LEAST_PRIOR:g}, and one is {float(a.min()):g}")
    ends, step, before = np.array([-1.0, 1.0]) * min(_NEGLIGIBLE_SHARE / float(a.min()), 650.0), _FIRST_LOGIT_STEP, np.nan
    for _ in range(_LOGIT_HALVINGS):
        y = step * np.arange(np.floor(ends[0] / step), np.ceil(ends[1] / step) + 1.0)
        logs = _log_weights(cells, a, y[:, None])
        highest = float(logs.max())
        found = highest + log(step * float(np.exp(logs - highest).sum()))
        error = abs(found - before)
        if error <= _AS_CLOSE * max(1.0, abs(found)):
            break
        seen = y[logs > highest - _NEGLIGIBLE_SHARE]
        ends, step, before = np.array([seen[0] - step, seen[-1] + step]), 0.5 * step, found
    return found, error


def _drawn_common(cells: PooledCells, a: Floats, seed: int) -> tuple[float, float]:
    """The log evidence of common shares of more categories, by weighted draws, and its standard error."""
    counts = np.maximum(cells.low + cells.log_likelihood.argmax(axis=2), 0).sum(axis=0) + 1.0
    start = np.log(counts[:-1] / counts[-1])
    nodes = weighted_draws(lambda points: _log_weights(cells, a, np.stack(points)), start, _COMMON_DRAWS, generator(None, seed))
    return nodes.log_evidence, nodes.error
