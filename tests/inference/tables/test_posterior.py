"""The posterior of each group of a table. Oracle: all tables listed, with the textbook's weights (tests/inference/tables/worlds.py)."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import betainc, gammaln, logsumexp

import discreet as dc
from discreet.arrays import Counts
from discreet.record.release import is_table
from tests.inference.coverage import TOLERANCE, release_of
from tests.inference.tables.worlds import PROMISES, Promise, TableWorld, outcome_classes, random_world, two_by_two
from tests.support import lowered

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# --- against the definition -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [*range(24), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(24, 120))])
def test_random_tables_match_the_definition(seed: int) -> None:
    world = random_world(seed)
    posterior = world.posterior()
    assert world.difference(posterior) < 1e-10
    assert all(posterior[world.groups[i]].omitted < 1e-16 for i in world.open_groups())


def test_a_wrong_slope_total_or_share_is_told_apart() -> None:
    """The negative control of the comparison: noise that is a tenth less, a record more, other shares, another group's prior."""
    for seed in range(6):
        world = random_world(seed)
        assert world.difference(replace(world, epsilon=1.1 * world.epsilon).posterior()) > 1e-6
    world = random_world(1)
    assert world.promise == "total"
    one_more = world.raw.copy()
    one_more[tuple(np.argwhere(world.possible)[0])] += 1
    more = world.sizes + np.eye(len(world.sizes), dtype=np.int64)[0]
    assert world.difference(replace(world, raw=one_more, sizes=more).posterior()) > 1e-6
    assert world.difference(replace(world, shares=world.shares[::-1].copy()).posterior()) > 1e-6
    assert world.difference(replace(world, a=world.a[::-1].copy()).posterior()) > 1e-6


def _size_laws(world: TableWorld) -> Floats:
    """The posterior of every group's size where the total is public, by convolving all weights V_g(u) of u = 0..N in logarithms."""
    n = world.total
    u = np.arange(n + 1)
    weights = []
    for a, raw, share in zip(world.a, world.raw, world.shares, strict=True):
        log_weight = np.where(u == 0, 0.0, -np.inf)
        for parameter, z in zip(a, raw, strict=True):
            log_weight = _log_convolved(log_weight, gammaln(parameter + u) - gammaln(u + 1.0) - 0.5 * world.epsilon * np.abs(z - u))
        weights.append(log_weight + gammaln(share + u) - gammaln(a.sum() + u))
    laws = []
    for i, own in enumerate(weights):
        rest = np.where(u == 0, 0.0, -np.inf)
        for j, other in enumerate(weights):
            rest = _log_convolved(rest, other) if j != i else rest
        laws.append(np.exp(own + rest[::-1] - logsumexp(own + rest[::-1])))
    return np.array(laws)


def _log_convolved(left: Floats, right: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.array([logsumexp(left[: m + 1] + right[m::-1]) for m in range(len(left))])


def _wide_world(a: list[float], shares: list[float], epsilon: float, raw: list[list[int]]) -> TableWorld:
    counts = np.array(raw)
    possible = np.ones(counts.shape, dtype=np.bool_)
    parameters = np.broadcast_to(np.array(a), counts.shape).copy()
    return TableWorld("total", epsilon, parameters, possible, counts.sum(axis=1), np.array(shares), np.zeros(1), counts)


@pytest.mark.parametrize(
    ("a", "shares", "epsilon", "raw"),
    [
        ([1.0, 1.0], [1.0] * 4, 0.3, [[30, 12], [-4, 3], [25, 60], [1, 0]]),
        ([100.0, 100.0], [1.0] * 3, 0.1, [[10, 90], [40, 20], [5, -5]]),  # the law of a size is far from its untilted window
        ([1.0, 0.3], [100.0, 0.01, 1.0, 5.0], 0.05, [[9, 30], [50, 50], [-20, 10], [0, 2]]),
        ([1e-3, 1e-3], [1e-4] * 4, 0.5, [[6, 5], [3, 3], [0, 1], [-1, 1]]),  # a group may well be empty whatever its noisy counts
        ([1.0, 1.0, 1.0], [1.0] * 3, 60.0, [[6, 5, 2], [4, -1, 4], [9, 0, 2]]),
    ],
)
def test_sizes_of_larger_tables(a: list[float], shares: list[float], epsilon: float, raw: list[list[int]]) -> None:
    """Priors that pull strongly, wide noise, hardly any noise: against sums over all sizes in logarithms."""
    world = _wide_world(a, shares, epsilon, raw)
    posterior, laws = world.posterior(), _size_laws(world)
    for group, law in zip(world.groups, laws, strict=True):
        np.testing.assert_allclose(posterior.size[group].pmf(np.arange(len(law))), law, atol=1e-11)
        assert posterior[group].omitted < 1e-15


def test_expected_sizes_of_many_groups_add_up_to_the_total() -> None:
    rng = np.random.default_rng(7)
    raw = rng.poisson(rng.gamma(0.5, 8.0, (40, 3))) + rng.integers(-6, 7, (40, 3))
    world = _wide_world([1.0, 0.5, 2.0], [1.0] * 40, 0.5, raw.tolist())
    posterior = world.posterior()
    assert sum(posterior.size[group].mean() for group in posterior) == pytest.approx(world.total, rel=1e-12)
    assert sum(posterior.share(group).mean() for group in posterior) == pytest.approx(1.0, rel=1e-12)


# --- coverage ---------------------------------------------------------------------------------------------------------


def _coverage(world: TableWorld, mass: float, read_as: float | None = None) -> tuple[Floats, float]:
    """How often the interval of each open cell holds its probability, over all tables and outcomes; and their probability in all."""
    found, whole = np.zeros(world.a.shape), 0.0
    for chance, raw in outcome_classes(world):
        posterior = replace(world, raw=raw, epsilon=world.epsilon if read_as is None else read_as).posterior()
        whole += float(chance.sum())
        for i in world.open_groups():
            for c, (low, high) in zip(np.flatnonzero(world.possible[i]).tolist(), posterior[world.groups[i]].interval(mass), strict=True):
                one, rest = world.betas(i, c)
                found[i, c] += chance @ (betainc(one, rest, high) - betainc(one, rest, low))
    return found, whole


SMALL = ([[1.0, 0.5], [1.0, 0.5]], [1.0, 1.0])
UNEQUAL = ([[0.3, 2.0], [4.0, 1.0]], [0.5, 3.0])


@pytest.mark.parametrize("promise", PROMISES)
def test_intervals_of_a_small_table_cover_what_they_promise(promise: Promise) -> None:
    found, whole = _coverage(two_by_two(promise, 1, 0.7, *SMALL), 0.95)
    assert whole == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(found, 0.95, atol=TOLERANCE["coverage"])


@pytest.mark.slow
@pytest.mark.parametrize("mass", [0.5, 0.9, 0.95])
@pytest.mark.parametrize("promise", PROMISES)
def test_intervals_cover_what_they_promise(promise: Promise, mass: float) -> None:
    found, whole = _coverage(two_by_two(promise, 2, 0.7 + 0.8 * mass, *UNEQUAL), mass)
    assert whole == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(found, mass, atol=TOLERANCE["coverage"])


@pytest.mark.slow
@pytest.mark.parametrize("promise", PROMISES)
def test_intervals_for_less_noise_cover_less(promise: Promise) -> None:
    """The negative control: who takes the noise for a tenth less is too sure."""
    world = two_by_two(promise, 2, 0.7, *SMALL)
    found, _ = _coverage(world, 0.95, read_as=1.1 * world.epsilon)
    assert (np.abs(found - 0.95) > 1e-4).all()


# --- as readers use it ------------------------------------------------------------------------------------------------


PRIOR = dc.Dirichlet([1, 0.5, 2], categories=["never", "former", "daily"])
BY = {"region": ["north", "south"], "sex": ["f", "m"]}
TRUTH = np.array([[30, 4, 50], [10, 0, 25], [7, 70, 0], [0, 0, 20]])


def _release(promise: str, by: Any = BY, truth: Any = TRUTH, **options: Any) -> dc.Release[Counts]:
    n: Any = {"sizes": np.sum(truth, axis=1), "total": int(np.sum(truth)), "nothing": None}[promise]
    found = dc.LatticeGeometric(PRIOR, n, 1, by=by, **options).release(truth)
    assert is_table(found)
    return found


@pytest.mark.parametrize("promise", PROMISES)
def test_each_group_has_what_one_variable_has(promise: str) -> None:
    posterior = _release(promise).noise_aware()
    assert (len(posterior), posterior.categories, posterior.by.columns) == (4, PRIOR.categories, ("region", "sex"))
    assert list(posterior) == [("north", "f"), ("north", "m"), ("south", "f"), ("south", "m")]
    assert repr(posterior) == "TablePosterior(4 groups by 3 categories, Groups(region: 2, sex: 2))"
    group = posterior["north", "f"]
    assert isinstance(group, dc.NoiseAware)
    assert group is posterior["north", "f"]
    assert (group.n, group.categories) == (84 if promise == "sizes" else None, PRIOR.categories)
    low, high = group.interval(0.95).T
    assert ((low < group.mean()) & (group.mean() < high)).all()
    assert group.mean().sum() == pytest.approx(1.0, rel=1e-10)
    draws = group.sample_counts(500, rng=1)
    assert draws.sum(axis=1).mean() == pytest.approx(group.size.mean(), abs=6 * group.size.std() / np.sqrt(500))
    assert group.sample(20, rng=1).sum(axis=1) == pytest.approx(np.ones(20))
    pytest.importorskip("xarray")
    assert group.to_xarray(draws=5, chains=2, rng=1)["theta"].shape == (2, 5, 3)


def test_with_one_column_a_group_is_its_label() -> None:
    posterior = _release("sizes", by={"region": ["north", "south"]}, truth=TRUTH[:2]).noise_aware()
    assert list(posterior) == ["north", "south"]
    assert posterior["south"].n == posterior.size["south"].mean() == 35
    with pytest.raises(dc.InvalidInputError, match=r"region .*'north', 'south'.*'east'"):
        posterior["east"]
    with pytest.raises(dc.InvalidInputError, match="a label for each of region"):
        posterior["south", "f"]


def test_public_sizes_give_each_group_the_posterior_of_its_own_release() -> None:
    release = _release("sizes")
    row = tuple(release.raw[2].tolist())
    alone = release_of(dc.LatticeGeometric(PRIOR, 77, 1), row).noise_aware()
    np.testing.assert_array_equal(release.noise_aware()["south", "f"].interval(0.9), alone.interval(0.9))


def test_private_sizes_give_each_group_the_posterior_of_its_own_release() -> None:
    release = _release("nothing")
    row = tuple(release.raw[2].tolist())
    alone = release_of(dc.LatticeGeometric(PRIOR, epsilon=1), row)
    np.testing.assert_array_equal(release.noise_aware()["south", "f"].interval(0.9), alone.noise_aware().interval(0.9))
    believed = release.noise_aware(size_prior="poisson:60")["south", "f"]
    assert believed.size.mean() == alone.noise_aware(size_prior="poisson:60").size.mean() != alone.noise_aware().size.mean()


@pytest.mark.parametrize(("promise", "public"), [("sizes", "the size of every group is public"), ("total", "the total N = 216 is public")])
def test_what_is_public_needs_no_prior(promise: str, public: str) -> None:
    with pytest.raises(dc.InvalidInputError, match=public):
        _release(promise).noise_aware(size_prior="flat")


@pytest.mark.parametrize("promise", PROMISES)
def test_cells_that_cannot_occur(promise: str) -> None:
    cells = [("north", "m", "former"), ("south", "m", "never"), ("south", "m", "former"), *(("south", "f", c) for c in PRIOR.categories)]
    truth = np.array([[30, 4, 50], [10, 0, 25], [0, 0, 0], [0, 0, 20]])
    posterior = _release(promise, truth=truth, impossible=cells).noise_aware()
    assert posterior["north", "m"].categories == ("never", "daily")
    assert posterior["north", "m"].mean().sum() == pytest.approx(1.0)
    for ask in (posterior["north", "m"].marginal, posterior["north", "m"].count_probabilities):
        with pytest.raises(dc.InvalidInputError, match=r"'former' .*impossible"):
            ask("former")
    with pytest.raises(dc.InvalidInputError, match="'daily' can occur"):
        posterior["south", "m"]
    with pytest.raises(dc.InvalidInputError, match="nothing can occur in group"):
        posterior["south", "f"]
    assert posterior.size["south", "f"].pmf(0) == 1.0
    low, high = posterior.size["south", "m"].interval(0.999999)
    assert (low, high) == (20, 20) if promise == "sizes" else low < high


def test_one_group_that_may_have_records_has_them_all() -> None:
    cells = [("south", c) for c in PRIOR.categories]
    posterior = _release("total", by={"region": ["north", "south"]}, truth=[[30, 4, 50], [0, 0, 0]], impossible=cells).noise_aware()
    assert posterior["north"].n == 84
    for group, share in (("north", 1), ("south", 0)):
        with pytest.raises(dc.InvalidInputError, match=f"the share of group '{group}' is {share}"):
            posterior.share(group)


def test_an_empty_group_of_public_size_keeps_its_prior() -> None:
    release = _release("sizes", by={"region": ["north", "south"]}, truth=[[30, 4, 50], [0, 0, 0]])
    assert release.counts[1].tolist() == [0, 0, 0]
    empty = release.noise_aware()["south"]
    np.testing.assert_allclose(empty.interval(0.9), [PRIOR.marginal(c).interval(0.9) for c in PRIOR.categories], rtol=1e-9)
    assert empty.sample_counts(3).tolist() == [[0, 0, 0]] * 3


@pytest.mark.parametrize("promise", ["sizes", "nothing"])
def test_shares_need_a_public_total(promise: str) -> None:
    with pytest.raises(dc.RefusedError, match="only where their total is public"):
        _release(promise).noise_aware().share(("north", "f"))


def test_few_posteriors_are_kept() -> None:
    posterior = _release("sizes").noise_aware()
    with lowered(GROUPS_HELD=2):
        first = posterior["north", "f"]
        assert posterior["north", "f"] is first
        kept = [posterior[group] for group in (("north", "m"), ("south", "f"))]
        assert posterior["south", "f"] is kept[1]
        again = posterior["north", "f"]
    assert again is not first
    np.testing.assert_array_equal(again.mean(), first.mean())


# --- limits, by public numbers ----------------------------------------------------------------------------------------


def _table(promise: str, groups: int, epsilon: Any, n: int = 10**9) -> dc.LatticeGeometric:
    sizes: Any = {"sizes": [n] * groups, "total": n, "nothing": None}[promise]
    return dc.LatticeGeometric(PRIOR, sizes, epsilon, by={"group": range(groups)})


@pytest.mark.parametrize("promise", PROMISES)
def test_capabilities_of_tables(promise: str) -> None:
    assert dc.capabilities(_table(promise, 50, 0.5)).noise_aware
    hidden = dc.capabilities(_table(promise, 50, "1e-9")).no_noise_aware
    assert hidden is not None
    assert "Less noise (a larger epsilon)" in hidden
    assert "\n" not in hidden


def test_many_groups_of_a_public_total_have_summaries_alone() -> None:
    """Nobody is told that there will be no intervals, because there are; one group alone is refused in one line."""
    mechanism = _table("total", 1001, 0.5, n=30_030)
    assert dc.capabilities(mechanism).no_noise_aware is None
    raw = np.full((1001, 3), 10)
    posterior = dc.Release(mechanism, mechanism.guarantee, raw, raw).noise_aware()
    figures = posterior.figures()
    np.testing.assert_allclose(figures.mean.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(figures.count_mean.sum(axis=1), 30.0, atol=1e-7)  # all groups look alike, so each has as many
    assert figures.error.max() < 1e-6
    with pytest.raises(dc.TooLargeError, match=r" 1,000 .* 1,001.*summary\(\)"):
        posterior[0]
    assert all(dc.capabilities(_table(promise, 1001, 0.5)).noise_aware for promise in ("sizes", "nothing"))


def test_a_small_total_bounds_what_wide_noise_leaves_possible() -> None:
    assert dc.capabilities(_table("total", 5, "1e-6", n=40)).noise_aware
    assert not dc.capabilities(_table("total", 5, "1e-6", n=10**9)).noise_aware


def test_an_outcome_that_is_none_is_refused() -> None:
    release = _release("total")
    shifted = dc.Release(release.mechanism, release.guarantee, release.raw + 1, release.counts)
    with pytest.raises(dc.InvalidInputError, match="raw is not a possible outcome"):
        shifted.noise_aware()


def test_the_size_of_a_group_is_asked_for_as_in_version_0_2() -> None:
    mechanism = dc.LatticeGeometric(dc.Dirichlet([1, 1]), None, 1, by={"region": ["north", "south"]})
    posterior = mechanism.release([[3, 4], [9, 2]], steady=False).noise_aware()
    with pytest.warns(DeprecationWarning, match=r"post\.size\[group\]"):
        former = posterior.size("south")
    assert former.mean() == posterior.size["south"].mean() == posterior.size.mean()[1]
