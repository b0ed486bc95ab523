"""Sensitivities of the Hellinger distance, computed for figures and claims: steps between neighbours, where LS is reached, and slips."""

from typing import NamedTuple

import numpy as np
from flint import arb

from discreet.analysis.optimum import neighbouring_pairs
from discreet.arrays import Counts, Floats
from discreet.model.datasets import Space, simplex_points
from discreet.model.dirichlet import Beta, Dirichlet
from discreet.model.distances import hellinger
from discreet.model.sensitivity import local_sensitivities, local_steps, steps_ball

__all__ = ["Change", "Inverse", "between_neighbours", "datasets", "inverse_smooth", "largest_changes", "local_ball", "slipped"]

Prior = Beta | Dirichlet


def datasets(n: int) -> Counts:
    """All datasets of n records in two categories, by the first count."""
    x = np.arange(n + 1)
    return np.stack([x, n - x], axis=-1)


def between_neighbours(n: int) -> Floats:
    """H(BI(x), BI(x+1)) for x = 0, ..., n-1 under Beta(1, 1)."""
    posteriors = 1.0 + datasets(n)
    return np.asarray(hellinger(posteriors[:-1], posteriors[1:]))


def slipped(local: Floats, n: int) -> Floats:
    """Sensitivities with the public research code's slip, ln Σα divided by where lnΓ(Σα) is subtracted: exponents shrink by ln(n + 2)."""
    return np.asarray(np.sqrt(-np.expm1(np.log1p(-(local**2)) / np.log(n + 2))))


def local_ball(prior: Prior, counts: Counts) -> arb:
    """The local sensitivity as a ball at the working precision."""
    return steps_ball(local_steps(prior, counts))


class Change(NamedTuple):
    """For one dataset: the candidates, how many records each is away, and by how much its score changes between neighbours at most."""

    candidates: Counts
    away: Counts
    change: Floats


def largest_changes(prior: Prior, counts: Counts) -> Change:
    """000 section 7.1: for every candidate r the largest |H(x, r) - H(x', r)| over the neighbours x' of x."""
    candidates, a = simplex_points(int(counts.sum()), prior.k), prior.concentration
    neighbours = candidates[np.abs(candidates - counts).sum(axis=-1) == 2]
    own = np.asarray(hellinger(a + counts, a + candidates))
    other = np.asarray(hellinger((a + neighbours)[:, None, :], (a + candidates)[None, :, :]))
    return Change(candidates, np.abs(candidates - counts).sum(axis=-1) // 2, np.abs(other - own).max(axis=0))


class Inverse(NamedTuple):
    """1/S for every dataset from the definition, the dataset where it is reached, and pairs of neighbours."""

    value: Floats
    reached: Counts
    distance: Counts
    pairs: Counts


def inverse_smooth(prior: Prior, n: int, gamma: float) -> Inverse:
    """`1/S_γ(x) = min over y of 1/LS(y) + γ d(x, y)`, by going through every y."""
    points = simplex_points(n, prior.k)
    space = Space(prior.k, n)
    away = space.relation.distance(points[:, None, :], points)
    table = 1.0 / local_sensitivities(prior, points)[None, :] + gamma * away
    reached = table.argmin(axis=-1)
    rows = np.arange(len(points))
    return Inverse(table[rows, reached], reached, away[rows, reached], neighbouring_pairs(space.points(), space.relation))
