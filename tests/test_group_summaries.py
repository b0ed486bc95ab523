"""Many groups at once. Oracles: sums over all true counts of small tables, and the exact path for one release at usual sizes."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import betainc, gammaln

import discreet as dc
from discreet.inference.group_summaries import group_summaries
from discreet.inference.group_tables import GroupSummaries
from discreet.inference.leave_one_out import leave_one_out
from tests.inference_support import release_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MASS = 0.9
MOMENTS, QUANTILES = 1e-9, 1e-6


@dataclass(frozen=True)
class Table:
    """A small table and what is public about it."""

    z: Ints
    a: Floats
    slope: float
    possible: NDArray[np.bool_]
    promise: str
    sizes: Ints
    total: int
    shares: Floats

    def summaries(self) -> GroupSummaries:
        public = {"sizes": {"sizes": self.sizes}, "total": {"total": self.total, "shares": self.shares}, "nothing": {}}[self.promise]
        return group_summaries(self.z, self.a, self.slope, possible=self.possible, mass=MASS, **public)  # type: ignore[arg-type]

    @property
    def most(self) -> int:
        """Records up to which groups are listed."""
        return self.total if self.promise == "total" else int(self.z.max() + 20 + 40.0 / self.slope)


def _listed(table: Table, group: int) -> tuple[Ints, Floats]:
    """All counts of one group that have a weight of their own, and the weights: without what the total of all groups says."""
    held = np.nonzero(table.possible[group])[0]
    size = int(table.sizes[group])
    most = size if table.promise == "sizes" else table.most
    if not held.size:
        return np.zeros((1, 0), dtype=np.int64), np.ones(1)
    points = np.indices((most + 1,) * len(held)).reshape(len(held), -1).T
    n = points.sum(axis=1)
    points = points[n == size] if table.promise == "sizes" else points[n <= most]
    n, prior = points.sum(axis=1), table.a[held]
    logs = (gammaln(prior + points) - gammaln(1.0 + points) - table.slope * np.abs(table.z[group, held] - points)).sum(axis=1)
    if table.promise == "nothing":
        logs += gammaln(1.0 + n) - gammaln(prior.sum() + n)
    if table.promise == "total":
        logs += gammaln(table.shares[group] + n) - gammaln(prior.sum() + n)
    return points, np.exp(logs - logs.max())


def _posteriors(table: Table) -> list[tuple[Ints, Floats]]:
    listed = [_listed(table, group) for group in range(len(table.z))]
    if table.promise == "total":
        sizes = [np.bincount(points.sum(axis=1), weight, minlength=table.total + 1) for points, weight in listed]
        for group, (points, weight) in enumerate(listed):
            others = np.ones(1)
            for other, law in enumerate(sizes):
                if other != group:
                    others = np.convolve(others, law)[: table.total + 1]
            others = np.append(others, np.zeros(table.total + 1 - len(others)))
            listed[group] = points, weight * others[table.total - points.sum(axis=1)]
    return [(points, weight / weight.sum()) for points, weight in listed]


def _differences(table: Table, found: GroupSummaries) -> Floats:
    """The largest differences of means, of standard deviations and of the probabilities beyond the ends of intervals."""
    worst = np.zeros(3)
    for group, (points, weight) in enumerate(_posteriors(table)):
        held = np.nonzero(table.possible[group])[0]
        n, prior = points.sum(axis=1), table.a[held]
        assert not found.mean[group, ~table.possible[group]].any()
        for i, cell in enumerate(held):
            alpha, beta = prior[i] + points[:, i], np.delete(prior, i).sum() + n - points[:, i]
            means = alpha / (alpha + beta)
            mean = float(weight @ means)
            deviation = np.sqrt(weight @ (means * (beta / (alpha + beta)) / (alpha + beta + 1.0) + (means - mean) ** 2))
            ends, wrong = (found.low[group, cell], found.high[group, cell]), 0.0
            if len(held) > 1:
                beyond = weight @ betainc(alpha, beta, ends[0]), weight @ betainc(beta, alpha, 1.0 - ends[1])
                # next to 0 and 1 a float is not the quantile to six digits of its probability
                wrong = max(abs(p - 0.5 * (1.0 - MASS)) for p, e in zip(beyond, ends, strict=True) if 1e-300 < e < 1.0 - 1e-9 or p == 1.0)
                assert wrong <= found.error[group, cell] + 1e-9
            else:
                assert ends == (1.0, 1.0)
            worst = np.maximum(worst, [abs(mean - found.mean[group, cell]), abs(deviation - found.std[group, cell]), wrong])
    return worst


def _random_table(seed: int, promise: str) -> Table:
    """True counts, and noise on the possible cells that keeps the totals that are public."""
    rng = np.random.default_rng(seed)
    groups, k = int(rng.integers(1, 5)), int(rng.integers(2, 4))
    possible = rng.random((groups, k)) < 0.8
    possible[0] = True
    slope = float(rng.uniform(0.05, 2.0) if promise == "sizes" else rng.uniform(1.2, 3.0))
    a = np.round(10.0 ** rng.uniform(-1.3, 1.0, k), 3)
    x = rng.integers(0, 5, (groups, k)) * possible
    noise = rng.integers(-4, 5, (groups, k)) * possible
    blocks = {"sizes": range(groups), "total": [slice(None)], "nothing": []}[promise]
    for block in blocks:
        cells = np.argwhere(np.atleast_2d(possible[block]))
        if cells.size:
            np.atleast_2d(noise[block])[tuple(cells[-1])] -= noise[block].sum()
    shares = np.round(10.0 ** rng.uniform(-0.5, 0.7, groups), 2)
    return Table(x + noise, a, slope, possible, promise, x.sum(axis=1), int(x.sum()), shares)


@pytest.mark.parametrize("promise", ["sizes", "nothing", "total"])
def test_small_tables_match_the_definition(promise: str) -> None:
    for seed in range(34):
        table = _random_table(seed, promise)
        mean, deviation, probability = _differences(table, table.summaries())
        assert max(mean, deviation) < MOMENTS, seed
        assert probability < QUANTILES, seed


@pytest.mark.parametrize("promise", ["sizes", "nothing", "total"])
def test_a_slope_that_is_a_tenth_off_is_told_apart(promise: str) -> None:
    tables = [_random_table(seed, promise) for seed in range(10)]
    found = np.array([_differences(table, replace(table, slope=1.1 * table.slope).summaries())[:2] for table in tables])
    assert found.max() > 1e-3
