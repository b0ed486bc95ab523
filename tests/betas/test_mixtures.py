"""Mixtures of Betas. Oracles: `scipy.stats.beta` component by component, `Beta` for one component, quadrature."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

import discreet as dc
from discreet.betas.mixtures import BetaMixture
from discreet.betas.rows import BetaRows, Block
from tests.inference.coverage import TOLERANCE, ks_p_value

FALSE_ALARM = 1e-6
LEVELS = np.array([1e-12, 1e-4, 0.025, 0.3, 0.5, 0.7, 0.975, 0.9999, 1 - 1e-10])

parameters = st.floats(0.05, 1e6)
mixtures = st.lists(st.tuples(st.floats(1e-6, 1.0), parameters, parameters), min_size=1, max_size=6).map(
    lambda rows: BetaMixture(*np.array(rows).T)
)


@pytest.mark.parametrize("beta", [dc.Beta(3, 5), dc.Beta(0.3, 2), dc.Beta(10**6, 10**6), dc.Beta(1, 1), dc.Beta(2 * 10**9, 10**9)])
def test_one_component_is_a_beta(beta: dc.Beta) -> None:
    mixture = BetaMixture(np.array([2.0]), np.array([beta.a]), np.array([beta.b]))
    points = beta.ppf(LEVELS)
    np.testing.assert_allclose(mixture.pdf(points), beta.pdf(points), rtol=1e-12)
    np.testing.assert_allclose(mixture.cdf(points), beta.cdf(points), rtol=1e-12)
    np.testing.assert_allclose(mixture.sf(points), beta.sf(points), rtol=1e-12)
    np.testing.assert_allclose(mixture.ppf(LEVELS), points, rtol=1e-10)
    np.testing.assert_allclose([mixture.mean(), mixture.std(), mixture.var()], [beta.mean(), beta.std(), beta.var()], rtol=1e-12)
    np.testing.assert_allclose(mixture.interval(0.9), beta.interval(0.9), rtol=1e-10)
    edges = [-0.5, 0.0, 1.0, 1.5]
    np.testing.assert_allclose(mixture.pdf(edges), beta.pdf(edges), rtol=1e-12)
    np.testing.assert_array_equal(mixture.cdf(edges), [0.0, 0.0, 1.0, 1.0])


@given(mixtures)
def test_every_verb_is_the_weighted_sum_of_its_components(mixture: BetaMixture) -> None:
    points = np.linspace(0.01, 0.99, 25)
    components = stats.beta(mixture.a, mixture.b)
    np.testing.assert_allclose(mixture.cdf(points), components.cdf(points[:, None]) @ mixture.weight, rtol=1e-9, atol=1e-200)
    np.testing.assert_allclose(mixture.pdf(points), components.pdf(points[:, None]) @ mixture.weight, rtol=1e-7, atol=1e-200)
    np.testing.assert_allclose(mixture.mean(), components.mean() @ mixture.weight, rtol=1e-12)
    second = (components.var() + components.mean() ** 2) @ mixture.weight
    np.testing.assert_allclose(mixture.var(), second - mixture.mean() ** 2, rtol=1e-7, atol=1e-15)


@given(mixtures, st.floats(1e-9, 1 - 1e-9))
def test_quantiles_are_right_to_ten_digits(mixture: BetaMixture, level: float) -> None:
    """F steps over the level within one part in 10^10 of the quantile's odds."""
    x = float(mixture.ppf(level))
    if 1e-300 < x < 1.0 - 1e-5:  # nearer to 1, floats are too far apart to show ten digits of the odds
        odds = x / (1.0 - x) * (1.0 + TOLERANCE["quantiles"] * np.array([-1.0, 1.0]))
        low, high = mixture.cdf(odds / (1.0 + odds))
        assert low <= level * (1.0 + 1e-12)
        assert high >= level * (1.0 - 1e-12)


def test_quantiles_keep_their_shape_and_find_gaps_between_components() -> None:
    mixture = BetaMixture(np.array([0.5, 0.5]), np.array([1e7, 3e7]), np.array([3e7, 1e7]))
    np.testing.assert_allclose(mixture.ppf([[0.25, 0.75], [0.0, 1.0]]), [[0.25, 0.75], [0.0, 1.0]], atol=1e-7)
    low, high = mixture.ppf([0.5 - 1e-9, 0.5 + 1e-9])
    assert 0.25 < low < 0.2505
    assert 0.7495 < high < 0.75
    assert mixture.ppf(0.3).shape == ()


def test_the_density_integrates_to_one() -> None:
    mixture = BetaMixture(np.array([0.2, 0.5, 0.3]), np.array([0.7, 5.0, 80.0]), np.array([3.0, 9.0, 20.0]))
    total, error = integrate.quad(lambda x: float(mixture.pdf(x)), 0.0, 1.0, limit=200)
    assert abs(total - 1.0) < max(1e-8, error)


def test_scipy_sees_the_same_distribution() -> None:
    mixture = BetaMixture(np.array([0.2, 0.8]), np.array([2.0, 50.0]), np.array([3.0, 20.0]))
    frozen = mixture.to_scipy()
    points = np.array([0.1, 0.5, 0.7])
    for verb in ("pdf", "logpdf", "cdf", "sf"):
        np.testing.assert_allclose(getattr(frozen, verb)(points), getattr(mixture, verb)(points), rtol=1e-12)
    np.testing.assert_allclose(frozen.ppf([0.1, 0.9]), mixture.ppf([0.1, 0.9]))
    np.testing.assert_allclose(frozen.interval(0.9), mixture.interval(0.9))
    np.testing.assert_allclose([frozen.mean(), frozen.std()], [mixture.mean(), mixture.std()])
    np.testing.assert_allclose(frozen.moment(3), 0.2 * stats.beta(2, 3).moment(3) + 0.8 * stats.beta(50, 20).moment(3))
    assert ks_p_value(frozen.rvs(size=2000, random_state=1), mixture.cdf) > FALSE_ALARM


def test_draws_follow_the_mixture_and_the_test_can_fail() -> None:
    mixture = BetaMixture(np.array([0.3, 0.7]), np.array([20.0, 60.0]), np.array([40.0, 30.0]))
    draws = mixture.sample(20_000, np.random.default_rng(3))
    assert ks_p_value(draws, mixture.cdf) > FALSE_ALARM
    wrong = BetaMixture(np.array([0.33, 0.67]), mixture.a, mixture.b)
    assert ks_p_value(draws, wrong.cdf) < FALSE_ALARM
    assert mixture.sample((3, 2), 1).shape == (3, 2)


def test_weights_are_normalised_and_arrays_sealed() -> None:
    mixture = BetaMixture(np.array([1.0, 3.0]), np.array([1.0, 2.0]), np.array([2.0, 1.0]), "low")
    np.testing.assert_allclose(mixture.weight, [0.25, 0.75])
    assert "'low', 2 components" in repr(mixture)
    with pytest.raises(ValueError, match="read-only"):
        mixture.weight[0] = 1.0


@pytest.mark.parametrize(
    "arrays",
    [
        ([], [], []),
        ([1.0], [1.0, 2.0], [1.0]),
        ([-1.0], [1.0], [1.0]),
        ([1.0], [0.0], [1.0]),
        ([0.0], [1.0], [1.0]),
        ([np.nan], [1.0], [1.0]),
    ],
)
def test_bad_components_are_refused(arrays: tuple[list[float], ...]) -> None:
    with pytest.raises(dc.InvalidInputError):
        BetaMixture(np.array(arrays[0]), np.array(arrays[1]), np.array(arrays[2]))


def test_bad_levels_are_refused() -> None:
    mixture = BetaMixture(np.ones(1), np.ones(1), np.ones(1))
    with pytest.raises(dc.InvalidInputError, match="q must lie"):
        mixture.ppf(1.5)
    with pytest.raises(dc.InvalidInputError, match="mass must lie"):
        mixture.interval(1.0)
    with pytest.raises(dc.InvalidInputError, match=r"mass .* between 0 and 1, not str"):
        mixture.interval("95%")  # type: ignore[arg-type]


@pytest.mark.parametrize(("first", "totals", "point"), [(0, (300, 400), 0.3), (0, (300, 60_000), 0.02), (0, (300, 60_000), 0.9)])
def test_rows_of_totals_that_are_far_apart_are_the_sum_of_their_components(first: int, totals: tuple[int, int], point: float) -> None:
    """Where one scale does not do for all terms, they are added up from their own logarithms."""
    weights = np.random.default_rng(0).random((2, 300))
    rows = BetaRows([Block(first, np.array(totals), weights)], 1.0, 2.0)
    one_by_one = BetaMixture(rows.weight, rows.a, rows.b)
    for name in ("cdf", "sf", "pdf"):
        assert float(getattr(rows, name)(point)) == pytest.approx(float(getattr(one_by_one, name)(point)), rel=1e-9, abs=1e-300), name
