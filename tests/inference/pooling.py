"""A hierarchy over the groups of a table, integrated by quadrature: what NUTS is compared with, and what docs/howto/pymc.md quotes.

Each group's log-odds are normal with a common mean and standard deviation, which have priors of their own. Given these two the groups are
independent, and the likelihood of a group is a sum over its true counts, written here with SciPy's binomial law and nothing of discreet's.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp
from scipy.stats import binom, norm

import discreet as dc

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

GROUPS, SIZE, EPSILON = 50, 20, 0.5
CENTRE, SPREAD = -1.0, 0.4
"""Where the true log-odds of the worlds lie, and how far apart."""
CENTRE_PRIOR, SPREAD_PRIOR = 1.5, 1.0
"""The standard deviations of the normal prior of the mean and of the half-normal prior of the standard deviation."""

LOG_ODDS = np.arange(-8.0, 6.0, 0.03)
CENTRES = np.arange(-3.5, 1.5, 0.1)
SPREADS = 0.07 * (np.arange(45) + 0.5)


@cache
def pooled_prior() -> tuple[Floats, Floats]:
    """The law of log-odds for each pair of a mean and a standard deviation, a row each, and the log weights of these pairs."""
    centre, spread = (grid.ravel() for grid in np.meshgrid(CENTRES, SPREADS, indexing="ij"))
    law = norm.pdf(LOG_ODDS, centre[:, None], spread[:, None])
    weight = norm.logpdf(centre, 0.0, CENTRE_PRIOR) + norm.logpdf(spread, 0.0, SPREAD_PRIOR)
    return law / law.sum(axis=1, keepdims=True), weight


def likelihoods(z: Counts, size: int, epsilon: float) -> Floats:
    """For each noisy count of the first of two categories, a row each: its likelihood at all log-odds of the grid."""
    x = np.arange(size + 1)
    counts = np.asarray(binom.pmf(x, size, expit(LOG_ODDS)[:, None]))
    return np.asarray(np.exp(-epsilon * np.abs(z[:, None] - x)) @ counts.T)


@dataclass(frozen=True)
class Pooled:
    """The posterior of every group's probability, a row each, on the grid of log-odds."""

    law: Floats

    def mean(self) -> Floats:
        return np.asarray(self.law @ expit(LOG_ODDS))

    def std(self) -> Floats:
        return np.asarray(np.sqrt(self.law @ expit(LOG_ODDS) ** 2 - self.mean() ** 2))

    def interval(self, mass: float = 0.95) -> Floats:
        """Equal-tailed intervals of the probability, by interpolation between the places of the grid."""
        edges = LOG_ODDS + 0.5 * (LOG_ODDS[1] - LOG_ODDS[0])
        ends = [np.interp([0.5 - 0.5 * mass, 0.5 + 0.5 * mass], np.cumsum(row), edges) for row in self.law]
        return np.asarray(expit(np.array(ends)))


def pooled(z: Counts, size: int = SIZE, epsilon: float = EPSILON) -> Pooled:
    """The posterior of all groups given the noisy counts of the first category."""
    law, weight = pooled_prior()
    likelihood = likelihoods(z, size, epsilon)
    evidence = law @ likelihood.T
    log_weight = weight + np.log(evidence).sum(axis=1)
    share = np.exp(log_weight - logsumexp(log_weight))
    return Pooled(likelihood * ((share[:, None] / evidence).T @ law))


def table() -> dc.LatticeGeometric:
    """The mechanism of the worlds: groups of one public size and two categories."""
    prior = dc.Dirichlet([1, 1], categories=["yes", "no"])
    return dc.LatticeGeometric(prior, [SIZE] * GROUPS, EPSILON, by={"clinic": list(range(GROUPS))})


def world(seed: int) -> tuple[Floats, Counts]:
    """The true probabilities of all groups, and a noisy table; a draw for study, not for release."""
    rng, mechanism = np.random.default_rng(seed), table()
    theta = expit(rng.normal(CENTRE, SPREAD, GROUPS))
    yes = rng.binomial(SIZE, theta)
    noise = mechanism.noise.simulate(1, rng)[0].reshape(GROUPS, 2)
    return theta, np.stack([yes, SIZE - yes], axis=1) + noise
