"""Sums of true counts, shared probabilities and joint intervals of tables. Oracle: all tables listed (tests/inference/tables/worlds.py)."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import betainc

import discreet as dc
from discreet.inference.tables import sums
from discreet.numerics.transforms import spectra
from tests.inference.tables.worlds import PROMISES, Promise, TableWorld, random_world
from tests.support import lowered

Floats = NDArray[np.float64]

BY = {"region": ["north", "south"], "sex": ["f", "m"]}
WOMEN = [0, 2]
"""The groups of BY that are called f."""


def two_columns(promise: Promise, seed: int = 3, k: int = 2) -> TableWorld:
    """Four groups by `k` categories, one cell of which cannot occur, and few records."""
    rng = np.random.default_rng(seed)
    possible = np.ones((4, k), dtype=np.bool_)
    possible[1, 1] = False
    sizes = np.array([2, 1, 1, 0]) if promise == "total" else np.array([4, 2, 3, 1])
    raw = np.where(possible, rng.integers(-2, 4, (4, k)), 0)
    for i in range(4) if promise == "sizes" else ():
        raw[i, 0] += sizes[i] - raw[i].sum()
    raw[0, 0] += sizes.sum() - raw.sum() if promise == "total" else 0
    a, shares = np.tile(np.array([1.0, 0.4, 2.0])[:k], (4, 1)), np.array([0.5, 1.0, 3.0, 0.2])
    return TableWorld(promise, 0.9, a, possible, sizes, shares, np.log([0.5, 1.0, 0.7]), raw)


def posterior_of(world: TableWorld, epsilon: float | None = None) -> Any:
    """The posterior of such a world, whose groups are told apart by two columns."""
    n: Any = {"sizes": world.sizes.tolist(), "total": world.total, "nothing": None}[world.promise]
    labels = [f"c{i}" for i in range(world.a.shape[1])]
    groups = [(region, sex) for region in BY["region"] for sex in BY["sex"]]
    mechanism = dc.LatticeGeometric(
        dc.Dirichlet(world.a[0].tolist(), labels),
        n,
        epsilon or world.epsilon,
        by=BY,
        impossible=[(*groups[i], labels[j]) for i, j in np.argwhere(~world.possible)],
        shares=world.shares.tolist() if world.promise == "total" else None,
    )
    release = dc.Release(mechanism, mechanism.guarantee, world.raw, mechanism.report(world.raw))
    return release.noise_aware(size_prior=world.log_size if world.promise == "nothing" else None)


# --- sums of counts ---------------------------------------------------------------------------------------------------


def sum_difference(world: TableWorld, total: Any, groups: list[int]) -> float:
    """The largest difference of the probabilities of all sums over some groups from the list, and of means."""
    found = [0.0]
    for c in range(world.a.shape[1]):
        listed = np.bincount(world.tables[:, groups, c].sum(axis=1), world.probability)
        counts, probability = total.probabilities(f"c{c}")
        found.append(abs(total.mean()[c] - listed @ np.arange(len(listed))))
        found.append(np.abs(total[f"c{c}"].pmf(np.arange(len(listed))) - listed).max())
        found.append(probability[counts >= len(listed)].sum())
    return float(max(found))


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 60))])
def test_sums_of_random_tables_match_the_definition(seed: int) -> None:
    world = random_world(seed)
    posterior = world.posterior()
    everything, each = posterior.counts.over(), posterior.counts.over("group")
    assert everything.is_exact
    assert sum_difference(world, everything, list(range(len(world.a)))) < 1e-10
    assert max(sum_difference(world, each[group], [i]) for i, group in enumerate(world.groups)) < 1e-10


@pytest.mark.parametrize("promise", PROMISES)
def test_sums_over_one_of_two_columns(promise: Promise) -> None:
    world = two_columns(promise)
    over = posterior_of(world).counts.over("sex")
    assert (list(over), len(over)) == (["f", "m"], 2)
    assert sum_difference(world, over["f"], WOMEN) < 1e-10
    assert (over["f"].standard_error() == 0.0).all()
    # The negative control: less noise, and the sums of other groups.
    assert sum_difference(world, posterior_of(world, 1.1 * world.epsilon).counts.over("sex")["f"], WOMEN) > 1e-4
    assert sum_difference(world, over["m"], WOMEN) > 1e-2
    assert sum_difference(world, posterior_of(world).counts.over("sex", "region")["m", "south"], [3]) < 1e-10


@pytest.mark.parametrize("promise", PROMISES)
def test_intervals_of_sums_hold_their_mass_or_more(promise: Promise) -> None:
    world = two_columns(promise)
    total = posterior_of(world).counts.over("sex")["f"]
    for mass in (0.5, 0.95):
        for c, (low, high) in enumerate(total.interval(mass).tolist()):
            counts = world.tables[:, WOMEN, c].sum(axis=1)
            assert world.probability[(counts >= low) & (counts <= high)].sum() >= mass
            assert max(world.probability[counts < low].sum(), world.probability[counts > high].sum()) <= 0.5 * (1.0 - mass)


@pytest.mark.parametrize("promise", PROMISES)
def test_moments_of_sums_over_any_number_of_groups(promise: Promise) -> None:
    """Beyond the limit of laws means and standard deviations are those of the list; with tied groups the mean alone is."""
    world = two_columns(promise)
    counts = world.tables.sum(axis=1)
    mean = world.probability @ counts
    deviation = np.sqrt(world.probability @ (counts - mean) ** 2)
    with lowered(GROUPS_ADDED=3, GROUPS_CONVOLVED=3):
        total = posterior_of(world).counts.over()
        np.testing.assert_allclose(total.mean(), mean, atol=1e-9)
        assert not total.standard_error().any()
        assert np.abs(posterior_of(world, 1.1 * world.epsilon).counts.over().mean() - mean).max() > 1e-4
        if promise == "total":
            with pytest.raises(dc.TooLargeError, match=r" 3 groups, .* 4: summary\(\)"):
                total.std()
        else:
            np.testing.assert_allclose(total.std(), deviation, atol=1e-9)
            with pytest.raises(dc.TooLargeError, match="The mean and std of sums"):
                total.interval()


def test_sums_are_of_one_table() -> None:
    """With a public total the expected sums of all categories add up to it, over all groups and over two parts of them."""
    posterior = posterior_of(two_columns("total"))
    over = posterior.counts.over("region")
    assert posterior.counts.over().mean().sum() == pytest.approx(4.0, rel=1e-12)
    np.testing.assert_allclose(over["north"].mean() + over["south"].mean(), posterior.counts.over().mean(), rtol=1e-12)


def _larger_world() -> TableWorld:
    raw = np.array([[60, 25, 14], [33, -4, 9], [17, 80, 41], [5, 12, 8]])
    possible = np.ones((4, 3), dtype=np.bool_)
    a = np.tile(np.array([1.0, 0.5, 2.0]), (4, 1))
    return TableWorld("total", 0.2, a, possible, raw.sum(axis=1), np.array([1.0, 0.3, 2.0, 1.0]), np.zeros(1), raw)


def test_sums_are_too_long_beyond_one_transform_for_each_group_and_category(monkeypatch: pytest.MonkeyPatch) -> None:
    """The size of a transform is that of the transforms that are made. Two groups of three categories are added up."""
    sizes: list[int] = []

    def transform(values: Any, *size: int) -> Any:
        sizes.append(math.prod(size))
        return spectra(values, *size)

    monkeypatch.setattr(sums, "spectra", transform)
    assert posterior_of(_larger_world()).counts.over("sex")["f"].is_exact
    cells = max(sizes)
    for name, size in (("SUM_CELLS", cells), ("SUM_TRANSFORMS", 2 * 3 * cells)):
        for limit in (size, size - 1):
            with lowered(**{name: limit}):
                found = posterior_of(_larger_world()).counts.over("sex", draws=10, rng=1)["f"]
                assert found.is_exact == (limit == size)


def test_sums_that_are_too_long_come_from_draws_with_their_error() -> None:
    exact = posterior_of(_larger_world()).counts.over("sex")["f"]
    assert exact.is_exact
    with lowered(SUM_CELLS=16):
        drawn = posterior_of(_larger_world()).counts.over("sex", draws=20_000, rng=1)["f"]
        assert not drawn.is_exact
        errors = drawn.standard_error()
        assert (errors > 0.0).all()
        assert (np.abs(drawn.mean() - exact.mean()) < 5.0 * errors).all()
        other = posterior_of(_larger_world(), 0.22).counts.over("sex", draws=20_000, rng=1)["f"]
        assert (np.abs(other.mean() - exact.mean()) > 5.0 * errors).any()  # the negative control
        for c, (low, high) in enumerate(drawn.interval(0.9).tolist()):
            law = exact[f"c{c}"]
            slack = 5.0 * float(drawn.probability_error(0.9)[c])
            assert law.cdf(low - 1) <= 0.05 + slack
            assert law.cdf(low) >= 0.05 - slack
            assert law.cdf(high) >= 0.95 - slack


# --- probabilities of groups together ---------------------------------------------------------------------------------


def shared_moments(world: TableWorld, groups: list[int], weights: Floats | None) -> tuple[Floats, Floats]:
    """The mean and the standard deviation of the probabilities over some groups, from E[φ_g φ_h] E[θ_g θ_h] given each table."""
    x = world.tables[:, groups].astype(np.float64)
    a = np.where(world.possible[groups], world.a[groups], 0.0)
    parameters = a + x
    whole = parameters.sum(axis=2, keepdims=True)
    first, square = parameters / whole, parameters * (parameters + 1.0) / (whole * (whole + 1.0))
    if weights is None:
        b = world.shares[groups] + x.sum(axis=2)
        s = b.sum(axis=1, keepdims=True)
        share, pairs = b / s, b[:, :, None] * b[:, None, :] / (s * (s + 1.0))[:, :, None]
        pairs[:, range(len(groups)), range(len(groups))] = b * (b + 1.0) / (s * (s + 1.0))
    else:
        share = np.broadcast_to(weights / weights.sum(), x.shape[:2])
        pairs = share[:, :, None] * share[:, None, :]
    both = first[:, :, None, :] * first[:, None, :, :]
    both[:, range(len(groups)), range(len(groups))] = square
    mean = world.probability @ (share[:, :, None] * first).sum(axis=1)
    return mean, np.sqrt(world.probability @ (pairs[..., None] * both).sum(axis=(1, 2)) - mean**2)


@pytest.mark.parametrize("promise", PROMISES)
def test_probabilities_of_groups_with_weights(promise: Promise) -> None:
    world, weights = two_columns(promise, k=3 if promise == "sizes" else 2), np.array([3.0, 1.0, 0.5, 2.0])
    posterior = posterior_of(world)
    found = posterior.over("sex", weights=dict(zip(posterior, weights.tolist(), strict=True)), draws=4000, rng=2)["f"]
    mean, std = shared_moments(world, WOMEN, weights[WOMEN])
    np.testing.assert_allclose(found.mean(), mean, atol=1e-10)
    if promise != "total":  # with a public total it is estimated from draws
        np.testing.assert_allclose(found.std(), std, atol=1e-10)
    np.testing.assert_allclose(found.samples.std(axis=0), std, rtol=0.08)
    assert (np.abs(found.samples.mean(axis=0) - mean) < 5.0 * std / np.sqrt(4000)).all()
    assert (found.standard_error() == 0.0).all()
    np.testing.assert_array_equal(posterior.over("sex", weights=weights.reshape(2, 2))["f"].mean(), found.mean())


def test_probabilities_of_groups_with_the_shares_of_a_public_total() -> None:
    world = two_columns("total")
    for found, groups in (
        (posterior_of(world).over("sex", draws=20_000, rng=4)["f"], WOMEN),
        (posterior_of(world).over(draws=20_000, rng=5), [0, 1, 2, 3]),
    ):
        mean, std = shared_moments(world, groups, None)
        assert (found.standard_error() < 0.01).all()
        assert (np.abs(found.mean() - mean) < 5.0 * found.standard_error()).all()
        np.testing.assert_allclose(found.std(), std, rtol=0.05)
        equal = shared_moments(world, groups, np.ones(len(groups)))[0]
        assert (np.abs(found.mean() - equal) > 5.0 * found.standard_error()).all()  # the negative control


@pytest.mark.parametrize("promise", PROMISES)
def test_intervals_of_one_group_are_those_of_its_mixture(promise: Promise) -> None:
    posterior = posterior_of(two_columns(promise))
    found = posterior.over("region", "sex", weights=np.ones(4), draws=8000, rng=6)["south", "f"]
    law, (low, high) = posterior["south", "f"].marginal("c1"), found.interval(0.8)[1]
    slack = 5.0 * found.probability_error(0.8)
    assert slack < 0.03
    assert law.cdf(low) == pytest.approx(0.1, abs=slack)
    assert law.cdf(high) == pytest.approx(0.9, abs=slack)
    np.testing.assert_array_equal(found.marginal("c1"), found.samples[:, 1])


@pytest.mark.parametrize("promise", ["sizes", "nothing"])
def test_without_shares_weights_are_needed(promise: Promise) -> None:
    with pytest.raises(dc.InvalidInputError, match="weights="):
        posterior_of(two_columns(promise)).over("sex")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({("north", "f"): 1.0}, r"none for \('north', 'm'\)"),
        ({("north", "x"): 1.0}, "sex must be one of"),
        (dict.fromkeys([(r, s) for r in BY["region"] for s in BY["sex"]], "heavy"), "weights must be numbers; got 'heavy'"),
        ([1.0, 2.0], "for each of 4 groups"),
        ("equal", "a mapping of groups to numbers, or an array"),
        ([1.0, -1.0, 1.0, 1.0], "finite numbers that are not negative"),
        ([1.0, np.inf, 1.0, 1.0], "finite numbers that are not negative"),
        ([0.0, 1.0, 0.0, 1.0], "must not all be 0"),
    ],
)
def test_weights_that_are_none_are_refused_in_one_line(weights: Any, message: str) -> None:
    with pytest.raises(dc.InvalidInputError, match=message) as error:
        posterior_of(two_columns("sizes")).over("sex", weights=weights)["f"]
    assert "\n" not in str(error.value)


def test_a_group_in_which_nothing_can_occur_has_no_weight() -> None:
    world = replace(two_columns("total"), possible=np.array([[True, True], [True, False], [True, True], [False, False]]))
    world = replace(world, raw=np.array([[3, 1], [1, 0], [-2, 1], [0, 0]]))
    posterior = posterior_of(world)
    with pytest.raises(dc.InvalidInputError, match="its weight must be 0"):
        posterior.over(weights=np.ones(4))
    with pytest.raises(dc.InvalidInputError, match="nothing can occur in these groups"):
        posterior.over("region", "sex")["south", "m"]
    np.testing.assert_allclose(
        posterior.over(weights=[1.0, 1.0, 1.0, 0.0]).mean(), shared_moments(world, [0, 1, 2], np.ones(3))[0], atol=1e-10
    )
    assert posterior.over(draws=500, rng=1).samples.sum(axis=1) == pytest.approx(np.ones(500))
    assert sum_difference(world, posterior.counts.over("sex")["m"], [1, 3]) < 1e-10


def test_columns_that_are_none_are_refused() -> None:
    counts = posterior_of(two_columns("sizes")).counts
    with pytest.raises(dc.InvalidInputError, match="'region', 'sex'; got 'age'"):
        counts.over("age")
    with pytest.raises(dc.InvalidInputError, match="each column once"):
        counts.over("sex", "sex")
    with pytest.raises(dc.InvalidInputError, match="category must be one of 'c0', 'c1'; got 'c9'"):
        counts.over()["c9"]
    with pytest.raises(dc.InvalidInputError, match="sex must be one of 'f', 'm'; got 'x'"):
        counts.over("sex")["x"]


# --- intervals that hold together -------------------------------------------------------------------------------------


def joint_coverage(world: TableWorld, found: Any) -> float:
    """How probable it is that the probabilities of two categories lie in their intervals, in all groups at once."""
    held = world.probability.copy()
    for i in world.open_groups():
        one, rest = world.betas(i, 0)
        low, high = max(found.low[i, 0], 1.0 - found.high[i, 1]), min(found.high[i, 0], 1.0 - found.low[i, 1])
        held = held * (betainc(one, rest, high) - betainc(one, rest, low))
    return float(held.sum())


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("mass", [pytest.param(0.5, marks=pytest.mark.slow), 0.95])
def test_simultaneous_intervals_hold_together(promise: Promise, mass: float) -> None:
    world = two_columns(promise)
    posterior = posterior_of(world)
    covered = joint_coverage(world, posterior.simultaneous(mass))
    assert covered >= mass
    if promise != "total":  # independent groups of two categories need no more than this
        assert covered == pytest.approx(mass, abs=1e-4)
    assert joint_coverage(world, posterior.figures(mass)) < mass - 0.01  # the negative control


@pytest.mark.parametrize("promise", PROMISES)
def test_simultaneous_intervals_of_three_categories(promise: Promise) -> None:
    world = two_columns(promise, k=3)
    posterior = posterior_of(world)
    found = posterior.simultaneous(0.8)
    inside = posterior.probability(lambda theta: ((theta >= found.low) & (theta <= found.high)).all(axis=(1, 2)), draws=4000, rng=8)
    assert inside.value > 0.8 - 3.0 * inside.standard_error
    alone = posterior.figures(0.8)
    fewer = posterior.probability(lambda theta: ((theta >= alone.low) & (theta <= alone.high)).all(axis=(1, 2)), draws=4000, rng=8)
    assert fewer.value < 0.7


def test_a_joint_mass_is_a_share() -> None:
    with pytest.raises(dc.InvalidInputError, match="mass must "):
        posterior_of(two_columns("sizes")).simultaneous(1.0)
