"""Nodes that stand for the rests of mixtures of Betas. Oracle: the mixture of all counts and rests, added up one by one."""

import numpy as np
import pytest
from scipy.special import expit

from discreet.arrays import Floats
from discreet.inference.groups.node_planes import NodeSums, interval, node_batches
from discreet.inference.groups.plane_quantiles import BetaPlanes
from discreet.inference.groups.quantile_search import matched_logits

TAIL = 0.025


def _law(rng: np.random.Generator, size: int) -> Floats:
    """Falling on both sides of a place, faster on one of them, with a corner there."""
    away = np.arange(size) - float(rng.uniform(0.3, 0.7)) * size
    law = np.exp(-np.where(away < 0.0, -away, away * rng.uniform(0.7, 1.4)) * 36.0 / size)
    return np.asarray(law / law.sum())


def _planes(seed: int, jump: float = 0.0) -> BetaPlanes:
    """One mixture; the weight of the sum is a power of it, and beyond the middle larger by a jump."""
    rng = np.random.default_rng(seed)
    counts, rests = int(rng.integers(20, 60)), int(rng.integers(60, 120))
    first, least = np.array([rng.integers(0, 100)]), np.array([rng.integers(2 * rests, 400)])
    n = (first + least)[:, None] + np.arange(counts + rests - 1.0)
    of_sum = (n / n.mean()) ** rng.uniform(-4.0, 2.0) * np.where(n > n.mean(), 1.0 + jump, 1.0)
    a, b = 10.0 ** rng.uniform(-1.0, 1.0, (2, 1))
    return BetaPlanes(_law(rng, counts)[None], _law(rng, rests)[None], of_sum, first, least, a, b)


def _guesses(planes: BetaPlanes) -> tuple[Floats, Floats]:
    mixture = planes.mixture(0)
    return matched_logits(np.array([mixture.mean()]), np.array([mixture.std() ** 2]), TAIL)


def _wrong(planes: BetaPlanes, allowed: float) -> tuple[float, float]:
    """How far the probabilities beyond both ends are from what they should be, and the bound on that."""
    mixture = planes.mixture(0)
    low, high, error, _ = interval(planes, planes.of_sum, _guesses(planes), TAIL, 1e-10, allowed)
    return max(abs(float(mixture.cdf(low[0])) - TAIL), abs(float(mixture.sf(high[0])) - TAIL)), float(error[0])


def _below(planes: BetaPlanes, nodes: int, off: Floats) -> tuple[float, float]:
    """How far the probability below a first guess is from what it should be with so many nodes, and the bound that follows from `off`."""
    logit, sums = _guesses(planes)[0], NodeSums(planes, nodes, off)
    found = sums.below(slice(None), logit)[0]
    return abs(float(found[0]) - float(planes.mixture(0).cdf(expit(logit[0])))), float(sums.error[0])


@pytest.mark.parametrize("allowed", [1e-9, 1e-4, 1e-2])
def test_nodes_are_no_farther_off_than_they_say(allowed: float) -> None:
    found = np.array([_wrong(_planes(seed), allowed) for seed in range(12)])
    assert (found[:, 0] <= found[:, 1] + 1e-13).all()
    assert (found[:, 1] <= 2.0 * allowed + 1e-10).all()


def test_nodes_are_fewer_than_the_rests_and_a_quarter_of_them_is_too_few() -> None:
    for seed in range(12):
        planes = _planes(seed)
        ((_, many, off),) = node_batches(planes)
        assert many < 0.5 * planes.of_rest.shape[1]
        assert _below(planes, many, off)[0] <= 1e-13
        wrong, bound = _below(planes, many // 4, off)
        assert wrong > bound


def test_weights_that_jump_have_no_nodes() -> None:
    """All rests are gone through, because the nodes of a smooth weight would be far off."""
    planes = _planes(1, jump=0.5)
    assert not list(node_batches(planes))
    wrong, error = _wrong(planes, 1e-9)
    assert wrong <= error + 1e-13 <= 1e-9
    ((_, many, off),) = node_batches(_planes(1))
    wrong, bound = _below(planes, many, off)
    assert wrong > 1e3 * bound
