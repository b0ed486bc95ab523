"""Dirichlet, Beta and their predictive: against scipy.stats where it is right, against 320-bit arithmetic where it is not."""

from collections.abc import Iterable
from dataclasses import FrozenInstanceError
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import discreet as dc
from discreet.model.dirichlet import DirichletMultinomial
from tests.support import PRECISION, ball, lattice

shapes = st.floats(min_value=0.05, max_value=500.0)
LARGE: list[tuple[Any, ...]] = [(10**15, 1), (10**15, 10**15), (10**15, "1e-9"), (10**12, 3, "0.5"), (10**6, 10**9, 10**15, 7)]


def _log_beta(parameters: Iterable[arb]) -> arb:
    values = list(parameters)
    return sum((p.lgamma() for p in values), arb(0)) - sum(values, arb(0)).lgamma()


# --- against scipy ----------------------------------------------------------------------------------------------------


@given(shapes, shapes)
def test_beta_agrees_with_scipy(a: float, b: float) -> None:
    ours, theirs = dc.Beta(a, b), stats.beta(a, b)
    x = np.linspace(0.01, 0.99, 21)
    assert ours.mean() == pytest.approx(theirs.mean(), rel=1e-12)
    assert ours.var() == pytest.approx(theirs.var(), rel=1e-12)
    assert ours.std() == pytest.approx(theirs.std(), rel=1e-12)
    assert ours.logpdf(x) == pytest.approx(theirs.logpdf(x), rel=1e-10, abs=1e-9)
    assert ours.pdf(x) == pytest.approx(theirs.pdf(x), rel=1e-9, abs=1e-300)
    assert ours.cdf(x) == pytest.approx(theirs.cdf(x), rel=1e-9, abs=1e-12)
    assert ours.sf(x) == pytest.approx(theirs.sf(x), rel=1e-9, abs=1e-12)
    assert ours.entropy() == pytest.approx(float(theirs.entropy()), rel=1e-9, abs=1e-9)
    if min(a, b) >= 0.5:  # below it a quantile may be closer to 1 than floats are to each other
        assert ours.cdf(ours.ppf([0.1, 0.5, 0.9])) == pytest.approx([0.1, 0.5, 0.9], rel=1e-7)
    assert ours.interval(0.8) == pytest.approx(theirs.interval(0.8), rel=1e-8, abs=1e-12)


@given(st.lists(shapes, min_size=2, max_size=6))
def test_dirichlet_agrees_with_scipy(a: list[float]) -> None:
    ours, theirs = dc.Dirichlet(a), stats.dirichlet(a)
    point = np.full(len(a), 1.0 / len(a))
    assert ours.mean() == pytest.approx(theirs.mean(), rel=1e-12)
    assert ours.var() == pytest.approx(theirs.var(), rel=1e-9)
    assert ours.cov() == pytest.approx(theirs.cov(), rel=1e-9, abs=1e-15)
    assert ours.std() ** 2 == pytest.approx(np.diag(ours.cov()), rel=1e-12)
    assert float(ours.logpdf(point)) == pytest.approx(float(theirs.logpdf(point)), rel=1e-9, abs=1e-9)
    assert float(ours.pdf(point)) == pytest.approx(float(theirs.pdf(point)), rel=1e-8, abs=1e-300)
    assert ours.entropy() == pytest.approx(float(theirs.entropy()), rel=1e-9, abs=1e-8)


@given(st.lists(shapes, min_size=2, max_size=3), st.integers(1, 12))
def test_predictive_agrees_with_scipy_and_adds_up(a: list[float], n: int) -> None:
    ours = dc.Dirichlet(a).predictive(n)
    points = lattice(n, len(a))
    assert ours.logpmf(points) == pytest.approx(stats.dirichlet_multinomial(a, np.array(n)).logpmf(points), rel=1e-9, abs=1e-9)
    probability = ours.pmf(points)
    assert probability.sum() == pytest.approx(1.0, rel=1e-12)
    mean = probability @ points
    assert ours.mean() == pytest.approx(mean, rel=1e-11)
    cov = (points - mean).T @ ((points - mean) * probability[:, None])
    assert ours.cov() == pytest.approx(cov, rel=1e-8, abs=1e-11)
    assert ours.var() == pytest.approx(np.diag(cov), rel=1e-8, abs=1e-11)


def test_to_scipy_is_the_same_distribution() -> None:
    assert dc.Beta(2, 5).to_scipy().mean() == pytest.approx(2 / 7)
    assert dc.Dirichlet([1, 2, 3]).to_scipy().mean() == pytest.approx([1 / 6, 1 / 3, 1 / 2])
    assert dc.Dirichlet([1, 2, 3]).predictive(4).to_scipy().pmf([1, 1, 2]) == pytest.approx(
        float(dc.Dirichlet([1, 2, 3]).predictive(4).pmf([1, 1, 2]))
    )


# --- where scipy is not right: against exact arithmetic ---------------------------------------------------------------


@pytest.mark.parametrize("concentration", LARGE)
def test_logpdf_keeps_its_digits_at_a_million_billion_records(concentration: tuple[Any, ...]) -> None:
    """At points of the simplex that floats hold exactly. What is allowed is what rounding the mean alone must cost."""
    distribution = dc.Dirichlet(concentration)
    rng = np.random.default_rng(21)
    a, mean, grid = distribution.concentration, distribution.mean(), 2**52
    for _ in range(50):
        spread = mean * np.exp(rng.normal(size=len(mean)) / np.sqrt(a.clip(0.1)))
        whole = np.maximum(np.round(spread / spread.sum() * grid), 1.0)
        whole[whole.argmax()] += grid - whole.sum()
        x = whole / grid
        with ctx.workprec(PRECISION):
            exact = [ball(p) for p in distribution.exact]
            reference = sum(((p - 1) * arb(float(q)).log() for p, q in zip(exact, x, strict=True)), -_log_beta(exact))
        tau = np.abs(x - mean) / mean
        allowed = 1e-12 + 1e-15 * float((a * tau * (1.0 + tau)).sum())
        assert float(distribution.logpdf(x)) == pytest.approx(float(reference), abs=allowed)


def test_logpdf_at_the_mean_needs_no_excuse() -> None:
    """At x = ½ exactly the density of Beta(a, a) is known to all digits, and scipy's is off by 0.2 at 10^15."""
    for a in (10**6, 10**9, 10**12, 10**15):
        with ctx.workprec(PRECISION):
            reference = -_log_beta([arb(a), arb(a)]) - 2 * (arb(a) - 1) * arb(2).log()
        assert float(dc.Beta(a, a).logpdf(0.5)) == pytest.approx(float(reference), rel=1e-13)


@pytest.mark.parametrize("concentration", [*LARGE, (3, 4), ("0.001", 2), (9.99, 10.01, 11)])
def test_entropy_keeps_its_digits(concentration: tuple[Any, ...]) -> None:
    distribution = dc.Dirichlet(concentration)
    with ctx.workprec(PRECISION):
        a = [ball(p) for p in distribution.exact]
        total = sum(a, arb(0))
        reference = _log_beta(a) + (total - len(a)) * total.digamma() - sum(((p - 1) * p.digamma() for p in a), arb(0))
    assert distribution.entropy() == pytest.approx(float(reference), rel=1e-13, abs=1e-12)


@pytest.mark.parametrize(
    ("prior", "counts"),
    [
        (("1", "1"), (10**15, 0)),
        (("1", "1"), (10**15 - 12345, 12345)),
        (("0.3", "2.5"), (5 * 10**14, 5 * 10**14)),
        (("1e-9", "1e-9"), (10**15, 7)),
        (("1000", "1e6", "0.5"), (10**9, 10**12, 3)),
        (("1e12", "2e12"), (333_333_333, 666_666_700)),
    ],
)
def test_predictive_keeps_its_digits(prior: tuple[str, ...], counts: tuple[int, ...]) -> None:
    n = sum(counts)
    with ctx.workprec(PRECISION):
        a = [ball(p) for p in prior]
        reference = _log_beta([p + c for p, c in zip(a, counts, strict=True)]) - _log_beta(a)
        reference += arb(n + 1).lgamma() - sum((arb(c + 1).lgamma() for c in counts), arb(0))
    assert float(dc.Dirichlet(prior).predictive(n).logpmf(counts)) == pytest.approx(float(reference), rel=1e-13, abs=1e-12)


def test_uniform_prior_predicts_every_dataset_alike() -> None:
    """Exact: under Dir(1, ..., 1) each of the C(n+k-1, k-1) datasets has the same probability."""
    for n in (10, 10**6, 10**9, 10**15):
        for share in (0.0, 0.123, 0.5, 1.0):
            x = round(share * n)
            assert float(dc.Beta(1, 1).predictive(n).logpmf([x, n - x])) == pytest.approx(-np.log(n + 1), rel=1e-13)
    assert dc.Dirichlet.uniform(4).predictive(9).pmf(lattice(9, 4)) == pytest.approx(1 / comb(12, 3), rel=1e-12)


# --- what a density is ------------------------------------------------------------------------------------------------


def test_density_at_the_edges() -> None:
    assert float(dc.Beta(1, 1).pdf(0.0)) == pytest.approx(1.0)
    assert float(dc.Beta(1, 3).pdf(0.0)) == pytest.approx(3.0)
    assert float(dc.Beta(2, 2).logpdf(1.0)) == -np.inf
    assert float(dc.Beta(0.5, 2).logpdf(0.0)) == np.inf
    assert dc.Beta(2, 2).logpdf([-0.1, 1.1]).tolist() == [-np.inf, -np.inf]
    assert float(dc.Dirichlet([1, 2, 3]).logpdf([0.0, 0.5, 0.5])) == pytest.approx(float(stats.dirichlet([1, 2, 3]).logpdf([0, 0.5, 0.5])))
    assert dc.Beta(2, 3).cdf([-1.0, 0.0, 1.0, 2.0]).tolist() == [0.0, 0.0, 1.0, 1.0]


def test_predictive_refuses_impossible_counts_quietly() -> None:
    predictive = dc.Beta(1, 1).predictive(5)
    assert predictive.logpmf(np.array([[2, 2], [6, -1], [2.5, 2.5]])).tolist() == [-np.inf] * 3
    with pytest.raises(dc.InvalidInputError, match="counts must have 2 entries"):
        predictive.logpmf([1, 2, 2])


def test_modes() -> None:
    assert dc.Beta(3, 2).mode() == pytest.approx(2 / 3)
    assert dc.Dirichlet([1, 2, 3]).mode() == pytest.approx([0, 1 / 3, 2 / 3])
    for flat in (dc.Beta(1, 1), dc.Beta(0.5, 3), dc.Dirichlet.uniform(3)):
        with pytest.raises(dc.InvalidInputError, match="mode"):
            flat.mode()


def test_covariance_of_two_categories() -> None:
    assert dc.Beta(2, 3).cov() == pytest.approx(dc.Dirichlet([2, 3]).cov())


# --- conjugacy, exactly -----------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 2**50), min_size=3, max_size=3).filter(any))
def test_update_loses_nothing(counts: list[int]) -> None:
    prior = dc.Dirichlet(["0.3", "1/3", "1e-9"])
    posterior = prior.update(counts)
    assert posterior.exact == (Fraction(3, 10) + counts[0], Fraction(1, 3) + counts[1], Fraction(1, 10**9) + counts[2])
    assert posterior.exact_total == prior.exact_total + sum(counts)
    assert posterior.categories == prior.categories


def test_updating_twice_is_updating_once() -> None:
    prior = dc.Beta(0.1, 0.2)
    assert prior.update([3, 4]).update([1, 0]) == prior.update([4, 4])
    assert isinstance(prior.update([3, 4]), dc.Beta)


def test_a_float_means_the_decimal_it_prints_as() -> None:
    assert dc.Beta(0.1, 0.2).exact == (Fraction(1, 10), Fraction(1, 5))
    assert dc.Dirichlet(np.array([0.1, 0.2])) == dc.Dirichlet(["0.1", "1/5"])
    assert dc.Dirichlet(np.array([0.1, 1.0], dtype=np.float32)).exact[0] == Fraction(1, 10)


def test_marginals() -> None:
    joint = dc.Dirichlet([1, 2, 3], categories=["low", "mid", "high"])
    assert joint.marginal("mid").exact == (Fraction(2), Fraction(4))
    assert joint.marginal("mid").categories == ("mid", "not mid")
    coin = dc.Beta(2, 3, categories=["yes", "no"])
    assert coin.marginal("yes") is coin
    assert coin.marginal("no").exact == (Fraction(3), Fraction(2))
    with pytest.raises(dc.InvalidInputError, match="category must be one of 'low', 'mid', 'high'"):
        joint.marginal("tall")


@pytest.mark.parametrize("label", ["x" * 3996, "x" * 3997, "x" * 4000, "not " * 1000])
def test_the_longest_labels_have_marginals(label: str) -> None:
    found = dc.Dirichlet([1, 2, 3], categories=[label, "mid", "high"]).marginal(label)
    assert found.exact == (Fraction(1), Fraction(5))
    assert found.categories[0] == label
    assert found.categories[1] in (f"not {label}", "all others")


def test_named_priors() -> None:
    assert dc.Dirichlet.uniform(3).exact == (Fraction(1),) * 3
    assert dc.Dirichlet.jeffreys(2).exact == (Fraction(1, 2), Fraction(1, 2))
    assert dc.Dirichlet.uniform(categories=["a", "b"]).categories == ("a", "b")
    with pytest.raises(dc.InvalidInputError, match="give k"):
        dc.Dirichlet.uniform()


def test_distributions_are_frozen_values() -> None:
    prior = dc.Beta(1, 2)
    with pytest.raises(FrozenInstanceError):
        prior.exact = (Fraction(1), Fraction(1))  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        prior.concentration[0] = 5.0
    for distribution in (prior, dc.Dirichlet([1, 2])):
        for name in ("concentration", "total", "anything"):
            with pytest.raises(FrozenInstanceError):
                setattr(distribution, name, 5.0)
    assert hash(dc.Dirichlet([1, 2])) == hash(dc.Dirichlet([1, 2]))
    assert dc.Dirichlet([1, 2]) != dc.Dirichlet([2, 1])
    assert isinstance(prior.predictive(3), DirichletMultinomial)


def test_how_they_show_themselves() -> None:
    assert repr(dc.Beta(1, 0.5)) == "Beta(1, 0.5)"
    assert repr(dc.Dirichlet([1, 2])) == "Dirichlet([1, 2])"
    assert repr(dc.Dirichlet([1, 2], categories=["a", "b"])) == "Dirichlet([1, 2], categories=['a', 'b'])"
    html = dc.Dirichlet([1, 3], categories=["<b>", "c"])._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert "0.75" in html


# --- Monte Carlo ------------------------------------------------------------------------------------------------------


def test_samples_have_the_right_moments_and_a_wrong_law_is_noticed() -> None:
    """5-sigma tests of the means, 1 false alarm in 1.7 million for each. The control has one parameter 10 % off."""
    rng, size = np.random.default_rng(22), 50_000
    joint = dc.Dirichlet([2, 3, 5])
    draws = joint.sample(size, rng)
    error = joint.std() / np.sqrt(size)
    assert draws.shape == (size, 3)
    assert (np.abs(draws.mean(axis=0) - joint.mean()) <= 5 * error).all()
    assert not (np.abs(draws.mean(axis=0) - dc.Dirichlet([2.2, 3, 5]).mean()) <= 5 * error).all()
    coin = dc.Beta(2, 3)
    assert abs(coin.sample(size, rng).mean() - coin.mean()) <= 5 * coin.std() / np.sqrt(size)
    predictive = joint.predictive(20)
    counts = predictive.sample(size, rng)
    assert (counts.sum(axis=1) == 20).all()
    assert (np.abs(counts.mean(axis=0) - predictive.mean()) <= 5 * np.sqrt(predictive.var() / size)).all()


def test_samples_are_reproducible_from_a_seed_and_take_a_shape() -> None:
    assert dc.Beta(2, 3).sample(3, 7).tolist() == dc.Beta(2, 3).sample(3, 7).tolist()
    assert dc.Beta(2, 3).sample((2, 4), 7).shape == (2, 4)
    assert dc.Dirichlet([1, 1, 1]).sample((2, 4), 7).shape == (2, 4, 3)


def test_a_category_is_named_by_any_label_that_is_written_like_it() -> None:
    text, numbers = dc.Dirichlet([1, 2, 3], categories=["0", "1", "true"]), dc.Dirichlet([1, 2, 3])
    assert text.marginal(1) == text.marginal("1") == dc.Beta(2, 4, categories=("1", "not 1"))
    assert text.marginal(np.bool_(True)) == text.marginal("true")
    assert numbers.marginal("1") == numbers.marginal(1)
    release = dc.LatticeGeometric(text, 9, 1).release([2, 3, 4])
    assert release.noise_aware().marginal(0).mean() == release.noise_aware().marginal("0").mean()
    both = dc.Dirichlet([1, 2], categories=[1, "1"])
    assert (both.marginal(1).a, both.marginal("1").a) == (1.0, 2.0)
    for absent in ("01", 1.0, "one", None):
        with pytest.raises(dc.InvalidInputError, match="category must be one of '0', '1', 'true'; got"):
            text.marginal(absent)
