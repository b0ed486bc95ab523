"""The oracle for remapped reports where n is private: the posterior of all counts, and the error of every report, by the definition."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

import discreet as dc
from discreet.arrays import Counts, Floats
from tests.support import lowered

__all__ = ["Excess", "World", "box", "mean_excess"]

TAIL = 28.0
"""Log probability that is left out beyond the largest count."""


def box(highest: int, k: int) -> Counts:
    """All counts of k categories up to the highest, one a row."""
    return np.stack([axis.ravel() for axis in np.meshgrid(*[np.arange(highest + 1)] * k, indexing="ij")], axis=-1)


class World:
    """The posterior given noisy counts z: `n!/Γ(A + n) Π Γ(a_i + x_i)/x_i! e^{-ε|z_i - x_i|}` over all x."""

    def __init__(self, prior: dc.Dirichlet | dc.Beta, epsilon: float, z: Any) -> None:
        self.a, self.z = prior.concentration, np.maximum(np.asarray(z), 0)
        points = box(int(self.z.max() + TAIL / epsilon), len(self.a)).astype(np.float64)
        n, total = points.sum(axis=-1), self.a.sum()
        log_weight = gammaln(n + 1.0) - gammaln(total + n)
        log_weight += (gammaln(self.a + points) - gammaln(points + 1.0) - epsilon * np.abs(self.z - points)).sum(axis=-1)
        weight = np.exp(log_weight - logsumexp(log_weight))
        kept = weight > 1e-13
        self.points, self.weight = points[kept], weight[kept]

    def error(self, report: Any) -> float:
        """E[H] of one report."""
        return float(self.distances(report, self.points) @ self.weight)

    def distances(self, report: Any, points: Floats) -> Floats:
        """H of one report to each of these counts."""
        r, total = np.asarray(report, dtype=np.float64), self.a.sum()
        cells = _gap(self.a + points, self.a + r).sum(axis=-1)
        divergence = cells - _gap(total + points.sum(axis=-1), total + r.sum())
        return np.asarray(np.sqrt(-np.expm1(-np.maximum(divergence, 0.0))))

    def least(self, highest: int) -> float:
        """The least error of any report without a count above the highest."""
        return min(self.error(r) for r in box(highest, len(self.a)))


def _gap(u: Floats, v: Any) -> Floats:
    return np.asarray(0.5 * gammaln(u) + 0.5 * gammaln(v) - gammaln(0.5 * (u + v)))


class Excess(NamedTuple):
    """E[H] of reports over that of the exact argmin, less 1."""

    remapped: float
    not_listed: float
    """Of remapped reports where the posterior is never listed."""
    plain: float
    """Of the noisy counts, none below 0."""


def mean_excess(prior: Any, n: int, epsilon: str, draws: int) -> Excess:
    """Data are drawn from the prior predictive."""
    dirichlet = dc.Dirichlet(prior)
    mechanism, rng = dc.LatticeGeometric(dirichlet, epsilon=epsilon), np.random.default_rng(3)
    remapped, found, best = dc.Remapped(mechanism).report, np.zeros(3), 0.0
    for x in dirichlet.predictive(n).sample(draws, rng):
        z = tuple(mechanism._simulate_raw(x, 1, rng)[0].tolist())
        reports = [remapped.one(z)]
        with lowered(REPORT_POINTS=0):
            reports += [remapped.one(z), mechanism.report.one(z)]
        world = World(dirichlet, float(epsilon), z)
        found += [world.error(report) for report in reports]
        best += world.least(int(np.max(reports)) + 3)
    return Excess(*(found / best - 1.0).tolist())
