"""Joint draws of tables: counts, probabilities, events, ranks. Oracle: all tables listed (tests/inference/tables/worlds.py)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import betainc
from scipy.stats import beta, chisquare

import discreet as dc
from discreet.inference.draws import dirichlet_draws
from tests.inference.tables.test_sums import posterior_of, two_columns
from tests.inference.tables.worlds import PROMISES, Promise, TableWorld, random_world
from tests.support import lowered

DRAWS = 20_000


def p_value(world: TableWorld, drawn: Any) -> float:
    """Of joint draws of whole tables against the list, by a chi-squared test in which rare tables are one."""
    base = int(max(world.tables.max(), drawn.max())) + 1
    digits = base ** np.arange(world.a.size, dtype=np.int64)
    listed, found = world.tables.reshape(len(world.tables), -1) @ digits, drawn.reshape(len(drawn), -1) @ digits
    order = np.argsort(listed)
    places = np.searchsorted(listed[order], found)
    assert (listed[order][np.minimum(places, len(order) - 1)] == found).all(), "a draw is no table of this world"
    seen, expected = np.bincount(places, minlength=len(order)), len(drawn) * world.probability[order]
    often = expected >= 10.0
    seen, expected = np.append(seen[often], seen[~often].sum()), np.append(expected[often], expected[~often].sum())
    kept = expected > 5.0
    if kept.sum() == 1:  # one table has nearly all of the probability: ten others were expected at most
        return float(seen[~kept].sum() < 40)
    return float(chisquare(seen[kept], expected[kept] * seen[kept].sum() / expected[kept].sum()).pvalue)


@pytest.mark.parametrize("promise", PROMISES)
def test_counts_are_drawn_jointly(promise: Promise) -> None:
    """False alarms: one in 10^4 each; the seeds are fixed."""
    world = two_columns(promise)
    assert p_value(world, posterior_of(world).sample_counts(DRAWS, rng=1)) > 1e-4
    wrong = posterior_of(world, 1.1 * world.epsilon)
    assert p_value(world, wrong.sample_counts(6 * DRAWS, rng=1)) < 1e-4  # the negative control: a scale that is a tenth off


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_counts_of_random_tables_are_drawn_jointly(seed: int) -> None:
    world = random_world(seed)
    assert p_value(world, world.posterior().sample_counts(DRAWS, rng=seed)) > 1e-5


@pytest.mark.parametrize("promise", PROMISES)
def test_an_event_about_two_groups(promise: Promise) -> None:
    world = two_columns(promise)
    found = posterior_of(world).probability(lambda theta: (theta[:, 0, 0] > 0.6) & (theta[:, 3, 0] < 0.8), draws=DRAWS, rng=3)
    (a, b), (c, d) = world.betas(0, 0), world.betas(3, 0)
    exact = float(world.probability @ ((1.0 - betainc(a, b, 0.6)) * betainc(c, d, 0.8)))
    assert found.standard_error < 0.005
    assert found.value == pytest.approx(exact, abs=4.0 * found.standard_error)
    with pytest.raises(dc.InvalidInputError, match="True or False"):
        posterior_of(world).probability(lambda theta: theta[:, 0] > 0.5, draws=10, rng=1)


def larger(world: TableWorld, one: int, other: int, category: int) -> float:
    """How probable it is that a category is more probable in one group than in the other: by Stieltjes sums over a fine grid."""
    parameters, which = np.unique(np.stack([*world.betas(one, category), *world.betas(other, category)]), axis=1, return_inverse=True)
    weight = np.bincount(which.ravel(), world.probability)
    t = np.sin(np.linspace(0.0, 0.5 * np.pi, 1001)) ** 4
    a, b, c, d = parameters[:, :, None]
    first, second = betainc(a, b, t), betainc(c, d, t)
    return float(weight @ (np.diff(first, axis=1) * 0.5 * (second[:, 1:] + second[:, :-1])).sum(axis=1))


@pytest.mark.parametrize("promise", PROMISES)
def test_ranks_of_groups(promise: Promise) -> None:
    """In the second group one category can occur, which has probability 1 there, above all others."""
    world = two_columns(promise)
    ranks = posterior_of(world).ranks("c1", draws=DRAWS, rng=4)
    assert ranks.groups == (("north", "f"), ("south", "f"), ("south", "m"))  # in north, m the category cannot occur
    assert ranks.probability.sum(axis=0) == pytest.approx(np.ones(3))
    assert ranks.probability.sum(axis=1) == pytest.approx(np.ones(3))
    ranked = (0, 2, 3)
    expected = [1.0 + sum(larger(world, other, one, 1) for other in ranked if other != one) for one in ranked]
    assert (np.abs(ranks.mean() - expected) < 4.0 * ranks.standard_error()).all()
    wrong = posterior_of(world, 0.5 * world.epsilon).ranks("c1", draws=DRAWS, rng=4)
    assert (np.abs(wrong.mean() - expected) > 4.0 * ranks.standard_error()).any()  # the negative control: twice the noise
    assert ranks.probability_error.max() < 0.005
    sure = posterior_of(world).ranks("c0", draws=500, rng=4)
    assert sure.mean()[1] == 1.0
    assert sure.standard_error()[1] == 0.0
    assert repr(sure).startswith("Ranks(('north', 'm'): 1.00, ")


@pytest.mark.parametrize(("a", "rest"), [("0.05", "0.05"), ("1e-8", "50"), ("50", "1e-6")])
def test_ranks_where_probabilities_are_rounded_to_0_or_1(a: str, rest: str) -> None:
    """Groups of which the same is known are each the first with the same probability, however near 0 or 1 their probabilities are."""
    mechanism = dc.LatticeGeometric(dc.Dirichlet([a, rest]), [3, 3, 3], 40, by={"g": ["x", "y", "z"]})
    for raw in ([3, 0], [0, 3]):
        release: Any = dc.Release(mechanism, mechanism.guarantee, np.array([raw] * 3), np.array([raw] * 3))
        found = release.noise_aware().ranks(0, draws=10_000, rng=1).probability
        assert (np.abs(found - 1.0 / 3.0) < 0.03).all()  # more than six standard errors


def test_a_drawn_contrast_of_probabilities_that_are_rounded_to_0() -> None:
    """Nothing says which is larger: the probability is 1/2, and the error says that floats do not tell."""
    by = {"u": ["a", "b"], "v": ["c", "d"]}
    mechanism = dc.LatticeGeometric(dc.Dirichlet(["1e-8", "50"]), [3] * 4, 40, by=by)
    raw = np.array([[0, 3]] * 4)
    release: Any = dc.Release(mechanism, mechanism.guarantee, raw, raw)
    post = release.noise_aware()
    drawn = {"draws": 500}
    for found in (
        post.over("u", weights=np.ones(4), **drawn).contrast("a", "b", 0),
        post.standardised("a", "b", 0, over="v", **drawn),
        post.mantel_haenszel("a", "b", 0, over="v", **drawn),
    ):
        assert found.probability == pytest.approx(0.5, abs=0.01)
        assert 0.45 < found.error < 0.6
        assert [found.ratio.median(), found.odds_ratio.median()] == [1.0, 1.0]


@pytest.mark.parametrize("promise", PROMISES)
def test_draws_of_probabilities(promise: Promise) -> None:
    world = two_columns(promise)
    theta = posterior_of(world).sample((2, 3000), rng=5)
    assert theta.shape == (2, 3000, 4, 2)
    assert theta.sum(axis=-1) == pytest.approx(np.ones((2, 3000, 4)))
    assert (theta[..., 1, 1] == 0.0).all()
    a, b = world.betas(2, 0)
    exact = world.probability @ betainc(a, b, 0.5)
    assert (theta[..., 2, 0] < 0.5).mean() == pytest.approx(exact, abs=5.0 * np.sqrt(0.25 / 6000))


@pytest.mark.parametrize("promise", PROMISES)
def test_datasets_name_their_dimensions(promise: Promise) -> None:
    pytest.importorskip("xarray")
    posterior = posterior_of(two_columns(promise))
    found = posterior.to_xarray(draws=20, chains=2, rng=1)
    assert found["theta"].dims == ("chain", "draw", "region", "sex", "category")
    assert found["theta"].shape == (2, 20, 2, 2, 2)
    assert found["n"].dims == ("chain", "draw", "region", "sex")
    counts = posterior.sample_counts((2, 20), rng=1)
    np.testing.assert_array_equal(found["count"].sel(region="south", sex="f", category="c1"), counts[..., 2, 1])
    np.testing.assert_array_equal(found["n"].sel(region="north", sex="m"), counts[..., 1, :].sum(axis=-1))
    if promise == "total":
        assert found.attrs["n"] == 4
        assert (found["n"].sum(("region", "sex")) == 4).all()
    pytest.importorskip("arviz")
    given = posterior.to_arviz(draws=20, chains=2, rng=1)
    np.testing.assert_array_equal(given["posterior"]["theta"], found["theta"])


def test_a_column_that_is_called_as_a_dimension_is_refused() -> None:
    pytest.importorskip("xarray")
    mechanism = dc.LatticeGeometric(dc.Beta(1, 1), [3, 4], 1, by={"draw": ["a", "b"]})
    with pytest.raises(dc.InvalidInputError, match="a column of the groups is called draw"):
        mechanism.release([[1, 2], [2, 2]]).noise_aware().to_xarray()


def test_draws_under_tiny_parameters_are_finite() -> None:
    """Gammas of tiny parameters are all 0 in floats; in logarithms one of them is the largest. Each of two is as often."""
    drawn = dirichlet_draws(np.full((4000, 2), 1e-4), np.random.default_rng(1))
    assert drawn.sum(axis=1) == pytest.approx(np.ones(4000))
    assert (drawn[:, 0] > 0.5).mean() == pytest.approx(0.5, abs=5.0 * np.sqrt(0.25 / 4000))
    few = dirichlet_draws(np.broadcast_to([0.01, 0.03], (20_000, 2)), np.random.default_rng(2))
    assert (few[:, 0] < 0.3).mean() == pytest.approx(beta(0.01, 0.03).cdf(0.3), abs=5.0 * np.sqrt(0.2 / 20_000))


def test_limits_are_of_public_numbers() -> None:
    posterior = posterior_of(two_columns("sizes"))
    with lowered(TABLE_DRAWS=100):
        with pytest.raises(dc.TooLargeError, match=r"13 draws of 8 cells .* at most 12"):
            posterior.sample_counts(13)
        assert posterior.sample_counts(12).shape == (12, 4, 2)
    questions: list[Callable[[], Any]] = [
        lambda: posterior.over(weights=np.ones(4), draws=10**9),
        lambda: posterior.counts.over(draws=10**9),
        lambda: posterior.ranks("c0", draws=10**9),
        lambda: posterior.probability(lambda theta: theta[:, 0, 0] > 0.5, draws=10**9),
    ]
    for ask in questions:
        with pytest.raises(dc.TooLargeError, match="1,000,000,000 draws of"):
            ask()
    with lowered(GROUPS_ADDED=3), pytest.raises(dc.TooLargeError, match=r" 3 groups .* 4"):
        posterior.counts.over().interval()
    with lowered(GROUPS_ADDED=3):
        assert posterior.counts.over("sex")["f"].is_exact
    with lowered(RANKED_GROUPS=3), pytest.raises(dc.TooLargeError, match=r"3 groups .* 4 "):
        posterior.ranks("c0")
