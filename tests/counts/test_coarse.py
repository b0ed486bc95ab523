"""Coarse laws of parts. Oracle: the same sums over all integers, by the definition."""

import numpy as np
import pytest

from discreet.arrays import Floats
from discreet.counts.coarse import CoarseLaws, CoarseParts
from discreet.counts.factors import Count, Noisy
from discreet.counts.ladder import Parts
from discreet.mechanisms.lattice import GeometricNoise
from discreet.numerics.sum_rules import spreading_nodes

A, Z, LAST, RATE = np.array([0.4, 3.0]), (40, 700), 4000.0, -0.01


def _parts(dense: int, slope: float) -> CoarseParts:
    """The parts on nodes that are all integers up to a distance of `dense` from 0 and from the noisy count."""
    parts = Parts(A, [Count([Noisy(GeometricNoise(1, slope), z)]) for z in Z], np.full(2, LAST))
    return CoarseParts.of(parts, [spreading_nodes(LAST, [0.0, float(z)], dense, 1.02) for z in Z])


def _oracle(slope: float) -> tuple[Floats, Floats]:
    """The means and medians of both counts by sums over all integers."""
    x, found = np.arange(LAST + 1.0), []
    for a, z in zip(A, Z, strict=True):
        steps = np.log((a + x[:-1]) / (1.0 + x[:-1]))  # ln Γ(a + x)/x! from one count to the next
        logs = np.append(0.0, np.cumsum(steps)) - slope * np.abs(z - x) + RATE * x
        law = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
        found.append((law @ x, float(np.searchsorted(np.cumsum(law), 0.5))))
    means, medians = np.array(found).T
    return means, medians


def test_every_integer_as_a_node_is_the_law_itself() -> None:
    laws = _parts(int(LAST), 0.02).tilted(RATE)
    means, medians = _oracle(0.02)
    assert laws.means == pytest.approx(means, rel=1e-12)
    assert np.abs(laws.quantiles(0.5) - medians).max() <= 0.5


def test_few_nodes_stand_for_all_integers() -> None:
    laws, (means, medians) = _parts(128, 0.02).tilted(RATE), _oracle(0.02)
    assert laws.x.shape[1] < LAST / 4
    assert laws.means == pytest.approx(means, rel=1e-3)
    assert laws.quantiles(0.5) == pytest.approx(medians, rel=1e-2, abs=0.5)


def test_noise_that_is_a_tenth_off_is_noticed() -> None:
    assert _parts(128, 0.022).tilted(RATE).means != pytest.approx(_oracle(0.02)[0], rel=1e-3)


def test_the_scale_is_what_rows_were_divided_by() -> None:
    parts = _parts(int(LAST), 0.02)
    assert parts.tilted(RATE).log_scale == pytest.approx(float(np.logaddexp.reduce(parts.log_weight + RATE * parts.x, axis=1).sum()))


def test_medians_split_weights_that_are_spread_over_cells() -> None:
    x, width = np.array([[0.0, 1.0, 2.0], [0.0, 2.0, 5.0]]), np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 3.0]])
    assert CoarseLaws(x, width, np.array([[0.25, 0.25, 0.5], [0.25, 0.5, 0.25]])).quantiles(0.5).tolist() == [1.5, 2.0]
    assert CoarseLaws(x, width, np.array([[0.8, 0.1, 0.1], [0.0, 0.0, 1.0]])).quantiles(0.5).tolist() == pytest.approx([0.125, 5.0])
