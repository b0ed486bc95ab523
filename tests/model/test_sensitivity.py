"""Sensitivities: against enumeration of every dataset where that fits, and against record-by-record walks where it does not."""

from dataclasses import fields
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.model.sensitivity import (
    LegEnds,
    Smoothing,
    Step,
    global_steps,
    leg_ends,
    local_sensitivities,
    local_steps,
    smooth_sensitivities,
    smooth_steps,
    steps_ball,
)
from tests.support import (
    PRECISION,
    Integers,
    Prior,
    World,
    ball,
    lattice,
    lowered,
    mostly_slow,
    neighbours,
    reference_hellinger,
    reference_values,
    relative_error,
    replaced,
    walked_smooth,
)

BAR = 1e-12
WORLDS = 600


def _prior(rng: np.random.Generator, k: int, low: float = -3.0, high: float = 3.0) -> dc.Dirichlet:
    values = 10.0 ** rng.uniform(low, high, k)
    if rng.random() < 0.3:
        values[:] = values[0]  # ties between categories
    return dc.Dirichlet(values.tolist())


def _worlds(seed: int, size: int) -> list[tuple[World, Integers, float, float]]:
    """Random (prior, n), a dataset, gamma and beta."""
    rng = np.random.default_rng(seed)
    worlds = []
    for _ in range(size):
        k = int(rng.integers(2, 5))
        world = World(_prior(rng, k), int(rng.integers(1, 13)))
        counts = world.points[rng.integers(len(world.points))]
        worlds.append((world, counts, float(10.0 ** rng.uniform(-3, 1)), float(10.0 ** rng.uniform(-3, 0.5))))
    return worlds


# --- against enumeration ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", mostly_slow([120, WORLDS], 1))
def test_sensitivities_equal_enumeration_on_random_worlds(size: int) -> None:
    """The bar: 500 random (n <= 12, k <= 4, prior in [1e-3, 1e3], gamma, beta). Every dataset is looked at, one is smoothed."""
    for world, counts, gamma, beta in _worlds(31, size):
        prior, n = world.prior, world.n
        assert local_sensitivities(prior, world.points) == pytest.approx(world.local, rel=BAR)
        assert dc.local_sensitivity(prior, counts) == pytest.approx(world.local_at(counts), rel=BAR)
        assert dc.global_sensitivity(prior, n) == pytest.approx(world.local.max(), rel=BAR)
        assert dc.smooth_sensitivity(prior, counts, gamma=gamma) == pytest.approx(world.smooth_at(counts, gamma=gamma), rel=BAR)
        assert dc.smooth_sensitivity(prior, counts, beta=beta) == pytest.approx(world.smooth_at(counts, beta=beta), rel=BAR)


@pytest.mark.parametrize(("k", "n"), [(2, 9), (3, 6), (4, 4), (5, 3), (2, 1), (4, 1)])
def test_smooth_sensitivity_of_every_dataset(k: int, n: int) -> None:
    rng = np.random.default_rng(32)
    for _ in range(6):
        world = World(_prior(rng, k), n)
        for gamma in (0.01, 0.3, 5.0):
            ours = smooth_sensitivities(world.prior, world.points, Smoothing(gamma=Fraction(str(gamma))))
            assert ours == pytest.approx([world.smooth_at(x, gamma=gamma) for x in world.points], rel=BAR)
        for beta in (0.001, 0.05, 1.0):
            ours = smooth_sensitivities(world.prior, world.points, Smoothing(beta=beta))
            assert ours == pytest.approx([world.smooth_at(x, beta=beta) for x in world.points], rel=BAR)


def test_beta_priors_are_dirichlets_of_two() -> None:
    for counts in ([0, 7], [3, 4], [7, 0]):
        beta, dirichlet = dc.Beta(0.4, 2), dc.Dirichlet([0.4, 2])
        assert dc.local_sensitivity(beta, counts) == dc.local_sensitivity(dirichlet, counts)
        assert dc.smooth_sensitivity(beta, counts, gamma=0.5) == dc.smooth_sensitivity(dirichlet, counts, gamma=0.5)
    assert dc.global_sensitivity(dc.Beta(0.4, 2), 7) == dc.global_sensitivity(dc.Dirichlet([0.4, 2]), 7)


def test_reference_values() -> None:
    for world in reference_values()["worlds"]:
        prior = dc.Dirichlet(world["prior"])
        assert dc.global_sensitivity(prior, world["n"]) == pytest.approx(float(world["global_sensitivity"]), rel=BAR)
        for data in world["datasets"]:
            counts = data["counts"]
            assert dc.local_sensitivity(prior, counts) == pytest.approx(float(data["local_sensitivity"]), rel=BAR)
            smooth = dc.smooth_sensitivity(prior, counts, gamma=world["gamma"])
            assert smooth == pytest.approx(float(data["smooth_gamma"]), rel=BAR)
            assert dc.smooth_sensitivity(prior, counts, beta=0.1) == pytest.approx(float(data["smooth_beta_0.1"]), rel=BAR)


def test_the_largest_change_of_score_is_reached_at_the_data_itself() -> None:
    """max over neighbours y and candidates r of |H(x,r) - H(y,r)| is H(x,y), so the maximum over r need not be taken."""
    rng = np.random.default_rng(33)
    for _ in range(20):
        k, n = int(rng.integers(2, 4)), int(rng.integers(1, 6))
        prior, points = _prior(rng, k, -2, 2), lattice(n, k)
        x = points[rng.integers(len(points))]
        a = prior.concentration
        to_x, to_y = dc.hellinger(a + x, a + points), dc.hellinger((a + neighbours(x))[:, None, :], a + points)
        assert dc.local_sensitivity(prior, x) == pytest.approx(np.abs(np.asarray(to_y) - to_x).max(), rel=1e-11)


def test_a_missing_leg_end_is_noticed() -> None:
    """Negative control: enumeration tells when a kind of leg end is left out."""
    worlds = _worlds(31, 150)
    for kind in (0, 1, 2):
        differs = 0
        for world, counts, gamma, beta in worlds:
            if world.prior.k == 2:
                continue
            every = leg_ends(world.prior.k)
            ends = LegEnds(*(getattr(every, column.name)[every.kind != kind] for column in fields(LegEnds)))
            discounts = (Smoothing(gamma=Fraction(gamma)), Smoothing(beta=beta))
            ours = tuple(float(smooth_sensitivities(world.prior, counts, discount, ends)) for discount in discounts)
            truth = (world.smooth_at(counts, gamma=gamma), world.smooth_at(counts, beta=beta))
            differs += ours != pytest.approx(truth, rel=1e-9)
        assert differs > 0, f"leg ends of kind {kind} are never needed"


# --- large n ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [50, 1000, 30_000])
def test_leg_ends_equal_the_walk_over_every_dataset_of_two_categories(n: int) -> None:
    rng = np.random.default_rng(34)
    for _ in range(12):
        prior = _prior(rng, 2)
        x = int(rng.integers(0, n + 1)) if rng.random() < 0.7 else int(rng.choice([0, 1, n - 1, n]))
        for gamma in (1.0, 10.0 ** rng.uniform(-4, 0)):
            assert dc.smooth_sensitivity(prior, [x, n - x], gamma=gamma) == pytest.approx(
                walked_smooth(prior, [x, n - x], gamma=gamma), rel=BAR
            )
        beta = 10.0 ** rng.uniform(-4, 0)
        assert dc.smooth_sensitivity(prior, [x, n - x], beta=beta) == pytest.approx(walked_smooth(prior, [x, n - x], beta=beta), rel=BAR)


@pytest.mark.parametrize("k", [3, 5])
def test_leg_ends_equal_the_walk_along_both_paths(k: int) -> None:
    rng = np.random.default_rng(35)
    for _ in range(12):
        prior = _prior(rng, k)
        counts = rng.multinomial(int(10 ** rng.uniform(1, 4)), rng.dirichlet(np.full(k, 0.4)))
        gamma, beta = 10.0 ** rng.uniform(-3, 0), 10.0 ** rng.uniform(-3, 0)
        assert dc.smooth_sensitivity(prior, counts, gamma=gamma) == pytest.approx(walked_smooth(prior, counts, gamma=gamma), rel=BAR)
        assert dc.smooth_sensitivity(prior, counts, beta=beta) == pytest.approx(walked_smooth(prior, counts, beta=beta), rel=BAR)


@pytest.mark.parametrize("n", [10**6, 10**9])
def test_leg_ends_equal_the_walk_at_a_billion_records(n: int) -> None:
    """The walk stops where nothing can win any more: O(sqrt n) records out."""
    for prior in (dc.Beta(1, 1), dc.Dirichlet([0.2, 3, 40])):
        for share in (0.5, 0.001):
            first = int(share * n)
            counts = [first, n - first] if prior.k == 2 else [first, (n - first) // 3, n - first - (n - first) // 3]
            assert dc.smooth_sensitivity(prior, counts, gamma=1) == pytest.approx(walked_smooth(prior, counts, gamma=1.0), rel=BAR)
            assert dc.smooth_sensitivity(prior, counts, beta=0.01) == pytest.approx(walked_smooth(prior, counts, beta=0.01), rel=BAR)


def _steepest(prior: Prior, counts: list[int]) -> arb:
    """Local sensitivity in 320-bit arithmetic, from the definition."""
    values = []
    for y in neighbours(counts).tolist():
        posterior = [a + c for a, c in zip(prior.exact, counts, strict=True)]
        values.append(reference_hellinger(posterior, [a + c for a, c in zip(prior.exact, y, strict=True)]))
    return max(values, key=float)


@pytest.mark.parametrize("exponent", [3, 6, 9, 12, 15])
def test_local_sensitivity_to_twelve_digits_at_any_size(exponent: int) -> None:
    rng = np.random.default_rng(36)
    for _ in range(40):
        k = int(rng.integers(2, 6))
        prior = _prior(rng, k, -9, 3)
        share = rng.dirichlet(np.full(k, 0.3))
        counts = [int(s * 10**exponent) for s in share]
        counts[int(np.argmax(share))] += 10**exponent - sum(counts)
        assert relative_error(dc.local_sensitivity(prior, counts), _steepest(prior, counts)) <= BAR


@pytest.mark.parametrize("n", [1, 10, 10**6, 10**15])
def test_global_sensitivity_to_twelve_digits_at_any_size(n: int) -> None:
    rng = np.random.default_rng(37)
    for k in (2, 3, 6):
        prior = _prior(rng, k, -9, 3)
        ends = [[n if i == j else 0 for i in range(k)] for j in range(k)]
        candidates = [_steepest(prior, end) for end in ends]
        if k > 2:  # one record in one of the two flattest categories, the rest out of their way
            low, _, *_ = np.argsort(prior.concentration)
            away = int(np.argsort(prior.concentration)[2])
            candidates.append(_steepest(prior, [(1 if i == low else 0) + (n - 1 if i == away else 0) for i in range(k)]))
        assert relative_error(dc.global_sensitivity(prior, n), max(candidates, key=float)) <= BAR


def test_sensitivity_never_vanishes() -> None:
    """The failure that started it all: a sensitivity of exactly 0 at 10^9 records."""
    for exponent in (9, 12, 15):
        n = 2 * 10**exponent
        value = dc.local_sensitivity(dc.Beta(1, 1), [n // 2, n // 2])
        assert value == pytest.approx(np.sqrt(1 / (4 * 10.0**exponent)), rel=1e-6)


# --- laws that a sensitivity must obey --------------------------------------------------------------------------------

counts_and_prior = st.integers(2, 4).flatmap(
    lambda k: st.tuples(
        st.lists(st.floats(-3, 3).map(lambda e: float(10.0**e)), min_size=k, max_size=k).map(dc.Dirichlet),
        st.lists(st.integers(0, 10**6), min_size=k, max_size=k).filter(any),
    )
)


@given(counts_and_prior, st.floats(1e-3, 10.0))
def test_smooth_sensitivity_is_smooth(world: tuple[dc.Dirichlet, list[int]], rate: float) -> None:
    """Between neighbours 1/S changes by at most gamma and ln S by at most beta: what every privacy proof uses."""
    prior, counts = world
    near = neighbours(counts)
    here = 1.0 / dc.smooth_sensitivity(prior, counts, gamma=rate)
    there = 1.0 / smooth_sensitivities(prior, near, Smoothing(gamma=Fraction(str(rate))))
    assert (np.abs(there - here) <= rate + 1e-11 * (here + there)).all()
    here = np.log(dc.smooth_sensitivity(prior, counts, beta=rate))
    there = np.log(smooth_sensitivities(prior, near, Smoothing(beta=float(Fraction(str(rate))))))
    assert (np.abs(there - here) <= rate + 1e-11).all()


@given(counts_and_prior, st.floats(1e-3, 10.0))
def test_local_smooth_and_global_are_ordered(world: tuple[dc.Dirichlet, list[int]], rate: float) -> None:
    prior, counts = world
    local, largest = dc.local_sensitivity(prior, counts), dc.global_sensitivity(prior, sum(counts))
    for smooth in (dc.smooth_sensitivity(prior, counts, gamma=rate), dc.smooth_sensitivity(prior, counts, beta=rate)):
        assert local * (1 - BAR) <= smooth <= largest * (1 + BAR)
    assert dc.smooth_sensitivity(prior, counts, gamma=1e9) == pytest.approx(local, rel=BAR)


@given(counts_and_prior, st.randoms(use_true_random=False))
def test_renaming_the_categories_changes_nothing(world: tuple[dc.Dirichlet, list[int]], random: st.DataObject) -> None:
    prior, counts = world
    order = list(range(prior.k))
    random.shuffle(order)  # type: ignore[attr-defined]
    renamed, moved = dc.Dirichlet([prior.exact[i] for i in order]), [counts[i] for i in order]
    assert dc.local_sensitivity(prior, counts) == pytest.approx(dc.local_sensitivity(renamed, moved), rel=BAR)
    assert dc.smooth_sensitivity(prior, counts, gamma=1) == pytest.approx(dc.smooth_sensitivity(renamed, moved, gamma=1), rel=BAR)
    assert dc.global_sensitivity(prior, sum(counts)) == pytest.approx(dc.global_sensitivity(renamed, sum(counts)), rel=BAR)


def test_the_published_constant_is_one_prior_only() -> None:
    """sqrt(1 - π/4) is the global sensitivity of two smallest parameters of 1, for k >= 3 or n = 1."""
    constant = float(np.sqrt(1.0 - np.pi / 4.0))
    assert dc.global_sensitivity(dc.Dirichlet.uniform(3), 50) == pytest.approx(constant, rel=1e-14)
    assert dc.global_sensitivity(dc.Beta(1, 1), 1) == pytest.approx(constant, rel=1e-14)
    assert dc.global_sensitivity(dc.Beta(1, 1), 100) < constant
    assert dc.global_sensitivity(dc.Dirichlet.jeffreys(3), 50) > constant


# --- enclosures -------------------------------------------------------------------------------------------------------


def _smoothed_ball(steps: list[Step], gamma: Fraction) -> arb:
    return steps_ball(steps, lambda h, distance: 1 / (1 / h + ball(gamma) * distance))


def test_enclosures_agree_with_floats_and_with_enumeration() -> None:
    for world, counts, gamma, beta in _worlds(38, 120):
        prior, rate = world.prior, Fraction(str(gamma))
        with ctx.workprec(128):
            local = steps_ball(local_steps(prior, counts))
            largest = steps_ball(global_steps(prior, world.n))
            smooth = _smoothed_ball(smooth_steps(prior, counts, Smoothing(gamma=rate)), rate)
            decayed = steps_ball(smooth_steps(prior, counts, Smoothing(beta=beta)), lambda h, d, b=beta: h * (-arb(b) * d).exp())  # type: ignore[misc]
        assert relative_error(world.local_at(counts), local) <= 1e-14
        assert relative_error(float(world.local.max()), largest) <= 1e-14
        assert relative_error(world.smooth_at(counts, gamma=gamma), smooth) <= 1e-14
        assert relative_error(world.smooth_at(counts, beta=beta), decayed) <= 1e-14
        assert relative_error(dc.smooth_sensitivity(prior, counts, gamma=gamma), smooth) <= BAR


@pytest.mark.parametrize("exponent", [6, 15])
def test_enclosures_agree_with_floats_at_any_size(exponent: int) -> None:
    rng = np.random.default_rng(39)
    for _ in range(60):
        k = int(rng.integers(2, 6))
        prior = _prior(rng, k, -9, 3)
        x = np.floor(10**exponent * rng.dirichlet(np.full(k, 0.3))).astype(np.int64)
        x[0] += 10**exponent - x.sum()
        gamma = Fraction(str(float(10.0 ** rng.uniform(-6, 1))))
        with ctx.workprec(PRECISION):
            assert relative_error(dc.local_sensitivity(prior, x), steps_ball(local_steps(prior, x))) <= BAR
            assert relative_error(dc.global_sensitivity(prior, 10**exponent), steps_ball(global_steps(prior, 10**exponent))) <= BAR
            smooth = _smoothed_ball(smooth_steps(prior, x, Smoothing(gamma=gamma)), gamma)
        assert relative_error(dc.smooth_sensitivity(prior, x, gamma=gamma), smooth) <= BAR


def test_steps_are_real_datasets_at_the_distance_they_say() -> None:
    """Each step joins two datasets (s = a_i + y_i - 1, t = a_j + y_j, or the reverse), the nearer one no more than that many records away.

    Exactly that many where the maximum is reached: a path that is too long for its end loses against the direct one.
    """
    for world, counts, gamma, _ in _worlds(40, 120):
        rate = Fraction(str(gamma))
        steps = smooth_steps(world.prior, counts, Smoothing(gamma=rate))
        with ctx.workprec(128):
            best = _smoothed_ball(steps, rate)
            reached = {step for step in steps if _smoothed_ball([step], rate).overlaps(best)}
        assert reached
        for step in steps:
            found = set()
            for i, first in enumerate(world.prior.exact):
                for j, second in enumerate(world.prior.exact):
                    u, v = step.s - first + 1, step.t - second
                    for y, z in ((u, v), (u - 1, v + 1)):
                        hit = (world.points[:, i] == y) & (world.points[:, j] == z) & (i != j) & (u >= 1) & (v >= 0)
                        found.update(replaced(counts, world.points[hit]).tolist())
            assert min(found) <= step.distance
            assert min(found) == step.distance or step not in reached


def test_too_many_categories_are_refused_before_anything_is_drawn() -> None:
    prior = dc.Dirichlet([1] * 2000)
    counts = [3] + [0] * 1999
    with pytest.raises(dc.TooLargeError, match="at most 1024 categories"):
        dc.smooth_sensitivity(prior, counts, gamma=1)
    with pytest.raises(dc.TooLargeError, match="at most 1024 categories"):
        dc.HellingerSmooth(prior, 3, 1).prepare(counts)


def test_many_datasets_are_gone_through_in_parts() -> None:
    prior, points = dc.Dirichlet([1, 0.1, 3]), lattice(6, 3)
    whole = smooth_sensitivities(prior, points, Smoothing(gamma=Fraction(1)))
    with lowered(SMOOTH_ENDS=100):
        assert (smooth_sensitivities(prior, points, Smoothing(gamma=Fraction(1))) == whole).all()


def test_a_delta_of_a_thousand_digits_loses_none_of_beta() -> None:
    numerator = 10**400 - 3
    mechanism = dc.HellingerSmoothDelta(dc.Beta(1, 1), 5, 1, delta=Fraction(numerator, numerator + 10**395))
    with ctx.workprec(200):
        assert abs(arb(mechanism._beta) - mechanism._beta_ball()) <= 2.0**-52 * mechanism._beta_ball()
