"""Strategies of the batched engine: places of several counts, several tilts, and some of the cells; against sums over single counts."""

import numpy as np
import pytest
from scipy.special import logsumexp

from discreet.arrays import Floats
from discreet.counts.batched.free_sizes import ladders
from discreet.counts.batched.sums import laws_of_sizes
from discreet.counts.batched.windows import GroupCells, RiseTable
from discreet.counts.factors import Kernel
from discreet.inference.true_counts import counts_of_outcomes
from discreet.mechanisms.lattice import GeometricNoise
from discreet.model.size_priors import size_prior_of
from discreet.numerics.gamma import log_rise, log_rise_means, log_rising


def cells_of(z: list[list[float]], a: list[float], slope: float, top: int, length: float = 1.0) -> GroupCells:
    """The cells of some groups, in places of so many counts."""
    noisy = np.clip(np.array(z) / length, 0.0, top)
    table = RiseTable(np.array(a), 0, length)
    return GroupCells(noisy, np.broadcast_to(np.array(a), noisy.shape), Kernel(slope * length), np.full(noisy.shape, top), table)


@pytest.mark.parametrize("a", [0.01, 0.3, 1.0, 1.9])
@pytest.mark.parametrize("length", [1.0, 3.0, 9.0])
def test_prior_weights_of_places_near_zero_are_means_over_their_counts(a: float, length: float) -> None:
    found = log_rise_means(a, np.arange(16.0), length)
    for place, value in enumerate(found.tolist()):
        x = length * place + np.arange(length) - 0.5 * (length - 1.0)
        assert value == pytest.approx(float(logsumexp(log_rise(a, x[x >= 0.0]))) - np.log(length), abs=1e-11)


def total_law(a: list[float], z: list[float], slope: float) -> tuple[int, Floats]:
    """The law of a private total by the rungs of its ladder."""
    prior = float(np.sum(a))
    ((_, rungs),) = ladders(cells_of([z], a, slope, 10**5), lambda n: -log_rising(prior, n.astype(np.float64), 100.0), 26.0, 2**50)
    assert len(rungs) > 1
    totals = np.concatenate([rung.found.totals[0] for rung in rungs])
    logs = np.concatenate([rung.log_weight[0] for rung in rungs])
    held = logs > -np.inf
    assert len(np.unique(totals[held])) == held.sum()  # no total is held by two rungs
    law = np.zeros(int(totals.max()) + 1)
    law[totals[held]] = np.exp(logs[held] - logs.max())
    return 0, law / law.sum()


def test_several_tilts_hold_a_total_that_one_cannot_and_other_noise_is_noticed() -> None:
    """A strong prior and wide noise: the ladder of the tree is the oracle. The control reads noise that is a tenth narrower."""
    a, z, slope = [500.0, 20.0, 3.0], [60, 40, -30], 0.05
    known = counts_of_outcomes(np.array(a), [(GeometricNoise(3, slope), np.array(z))], size_prior_of("flat")).size
    distances = []
    for other in (slope, 1.1 * slope):
        _, law = total_law(a, [float(one) for one in z], other)
        inside = np.arange(known.low, min(known.low + len(known.probability), len(law)))
        distances.append(0.5 * np.abs(law[inside] - known.probability[inside - known.low]).sum())
    assert distances[0] < 2e-5 < 1e-2 < distances[1]


@pytest.mark.parametrize("a", [[1.0, 1.0, 1.0], [0.5, 2.0, 8.0], [0.05, 0.05, 3.0]])
def test_places_of_several_counts_have_the_law_of_single_ones(a: list[float]) -> None:
    """Means and deviations of counts to a part of the deviation; noise that is a tenth off is further away."""
    z, n, slope = [[700.0, 180.0, 15.0], [300.0, 20.0, 560.0]], 900, 0.01
    found = []
    for length, wide in ((1.0, 1.0), (6.0, 1.0), (6.0, 1.1)):
        cells = cells_of(z, a, slope * wide, round(n / length), length)
        moments = np.empty((2, 2, 3))
        for rows, law in laws_of_sizes(cells, np.full(2, round(n / length)), 24.0):
            x = length * (law.low[..., None] + np.arange(law.weight.shape[2]))
            mean = (law.weight * x).sum(axis=2)
            moments[0, rows], moments[1, rows] = mean, np.sqrt((law.weight * (x - mean[..., None]) ** 2).sum(axis=2))
        found.append(moments)
    single, places, other = found
    scale = single[1]
    assert np.abs((places - single) / scale).max() < 0.02
    assert np.abs((other - single) / scale).max() > 0.04


def test_the_laws_of_some_cells_are_those_among_all() -> None:
    cells, sizes = cells_of([[5.0, 9.0, 2.0], [0.0, 3.0, 14.0]], [1.0, 0.5, 2.0], 0.4, 16), np.full(2, 16)
    ((rows, every),) = laws_of_sizes(cells, sizes, 30.0)
    only = np.array([[2, 0], [1, 1]])
    ((same, some),) = laws_of_sizes(cells, sizes, 30.0, only)
    assert rows.tolist() == same.tolist()
    for row, group in enumerate(rows.tolist()):
        for column, cell in enumerate(only[group].tolist()):
            np.testing.assert_allclose(some.weight[row, column], every.weight[row, cell], atol=1e-15)
