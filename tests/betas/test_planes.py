"""Nodes that stand for the rests of mixtures of Betas. Oracle: the mixture of all counts and rests, added up one by one."""

import numpy as np
import pytest
from scipy.special import expit

from discreet.arrays import Floats
from discreet.betas.mixtures import BetaMixture
from discreet.betas.nodes import ELLIPSES, NODE_ERROR, NodesNeeded, beta_sizes, ellipses_around, nodes_needed
from discreet.betas.planes import BetaPlanes, PlaneSums
from discreet.betas.search import matched_logits
from tests.support import lowered

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


def _needed(planes: BetaPlanes, allowed: float = NODE_ERROR) -> NodesNeeded:
    a, b = planes.a + planes.first, planes.b + planes.least
    return nodes_needed(planes.of_count, planes.of_sum, a, b, planes.of_rest.shape[1], allowed)


def _one_by_one(planes: BetaPlanes) -> BetaMixture:
    """The first mixture, which is added up one by one."""
    rows = planes.mixture(0)
    return BetaMixture(rows.weight, rows.a, rows.b)


def _guesses(mixture: BetaMixture) -> Floats:
    return matched_logits(np.array([mixture.mean()]), np.array([mixture.std() ** 2]), TAIL)


def _wrong(planes: BetaPlanes, allowed: float) -> tuple[float, float]:
    """How far the probabilities beyond both ends are from what they should be, and the bound on that."""
    mixture = _one_by_one(planes)
    low, high, error, _ = planes.interval(planes.of_sum, _guesses(mixture), TAIL, 1e-10, allowed)
    return max(abs(float(mixture.cdf(low[0])) - TAIL), abs(float(mixture.sf(high[0])) - TAIL)), float(error[0])


def _below(planes: BetaPlanes, nodes: int, off: Floats) -> tuple[float, float]:
    """How far the probability below a first guess is from what it should be with so many nodes, and the bound that follows from `off`."""
    logit, sums = _guesses(_one_by_one(planes)), PlaneSums(planes, nodes, off)
    found = sums.beyond(slice(None), logit)[0][0]
    return abs(float(found[0]) - float(_one_by_one(planes).cdf(expit(logit[0, 0])))), float(sums.error[0])


def _chosen(planes: BetaPlanes) -> tuple[int, Floats]:
    """The number of nodes of one mixture, and how far from a polynomial what they stand for may be."""
    needed = _needed(planes)
    many = int(needed.many[0])
    return many, needed.off(np.zeros(1, dtype=np.int64), many)


@pytest.mark.parametrize("allowed", [1e-9, 1e-4, 1e-2])
def test_nodes_are_no_farther_off_than_they_say(allowed: float) -> None:
    found = np.array([_wrong(_planes(seed), allowed) for seed in range(12)])
    assert (found[:, 0] <= found[:, 1] + 1e-13).all()
    assert (found[:, 1] <= 2.0 * allowed + 1e-10).all()


def test_nodes_are_fewer_than_the_rests_and_a_quarter_of_them_is_too_few() -> None:
    for seed in range(12):
        planes = _planes(seed)
        many, off = _chosen(planes)
        assert 0 < many < 0.5 * planes.of_rest.shape[1]
        assert _below(planes, many, off)[0] <= 1e-13
        wrong, bound = _below(planes, many // 4, off)
        assert wrong > bound


@pytest.mark.parametrize("rests", [1, 2, 15])
def test_few_rests_have_no_nodes(rests: int) -> None:
    """Also where a single sum is possible, as with next to no noise."""
    found = nodes_needed(np.ones((3, 1)), np.ones((3, rests)), np.ones(3), np.ones(3), rests)
    assert found.many.tolist() == [0, 0, 0]


def test_weights_that_jump_have_no_nodes() -> None:
    """All rests are gone through, because the nodes of a smooth weight would be far off."""
    planes = _planes(1, jump=0.5)
    assert _needed(planes).many[0] == 0
    wrong, error = _wrong(planes, 1e-9)
    assert wrong <= error + 1e-13 <= 1e-9
    many, off = _chosen(_planes(1))
    wrong, bound = _below(planes, many, off)
    assert wrong > 1e3 * bound


@pytest.mark.parametrize("power", [1.0, 0.5])
def test_incomplete_betas_are_below_their_bound_on_ellipses(power: float) -> None:
    """Oracle: the finite sum of a whole first parameter. The root of a bound is none, which is found out."""
    rests, alpha, b, t = 41, 60, 55.0, 0.55
    bounds = beta_sizes(np.ones((1, 1)), np.array([float(alpha)]), np.array([b]), rests)[0]
    turn, m = np.exp(2j * np.pi * np.arange(64) / 64)[:, None], np.arange(1.0, alpha)
    within = []
    for size, bound in zip(ELLIPSES.tolist(), bounds.tolist(), strict=True):
        beta = b + 0.5 * (rests - 1.0) * (1.0 + 0.5 * (size * turn + 1.0 / (size * turn)))
        terms = np.cumprod(np.concatenate([(1.0 - t) ** beta, t * (beta + m - 1.0) / m], axis=1), axis=1)
        within.append(bool((np.abs(1.0 - terms.sum(axis=1)) <= bound**power).all()))
    assert all(within) == (power == 1.0)


@pytest.mark.parametrize("part", [0.2, 0.57, 1.0])
def test_ellipses_about_parts_lie_within_those_around(part: float) -> None:
    """Oracle: points, whose distances from -1 and 1 add up to an axis. A hundredth less is too little, which is found out."""
    turn = np.exp(2j * np.pi * np.arange(64) / 64)[:, None] * ELLIPSES
    axis = np.zeros(len(ELLIPSES))
    for centre in np.linspace(part - 1.0, 1.0 - part, 9):
        points = centre + part * 0.5 * (turn + 1.0 / turn)
        axis = np.maximum(axis, 0.5 * (np.abs(points - 1.0) + np.abs(points + 1.0)).max(axis=0))
    around = ellipses_around(part)
    allowed = 0.5 * (around + 1.0 / around)
    assert (axis <= allowed + 1e-12).all()
    assert (axis > 0.99 * allowed).all()


def test_all_rests_where_logarithms_are_beyond_floats() -> None:
    """Terms whose parts differ by more than floats hold are found with their parts together."""
    x, r = np.arange(300.0), np.arange(700.0)
    of_count, of_rest = np.exp(-0.02 * np.abs(x - 110.0))[None], np.exp(-0.01 * np.abs(r - 220.0))[None]
    zero, one = np.zeros(1, dtype=np.int64), np.ones(1)
    planes = BetaPlanes(of_count / of_count.sum(), of_rest / of_rest.sum(), np.ones((1, 999)), zero, zero, one, one)
    with lowered(PLANE_COMPONENTS=10**6):
        mixture = _one_by_one(planes)
    low, high, error, _ = planes.interval(planes.of_sum, _guesses(mixture), TAIL, 1e-9)
    assert max(abs(float(mixture.cdf(low[0])) - TAIL), abs(float(mixture.sf(high[0])) - TAIL)) <= float(error[0]) + 1e-12 <= 1e-10
