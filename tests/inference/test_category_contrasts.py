"""Contrasts of two categories of one release. Oracle: all true counts listed, and Gauss quadrature over θ (`contrast_support`)."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.special import betainc, gammaln

import discreet as dc
from discreet.counts.law import middle_part
from discreet.counts.runs import Run
from discreet.counts.tree import TreeCounts
from discreet.errors import InvalidInputError, TooLargeError
from discreet.inference.draws import Estimate
from tests.inference.contrast_oracles import VALUES, Floats, Ints, Simplex, merged, squared, worst
from tests.inference.coverage import release_of
from tests.support import lowered

CLOSE = 1e-9


def _points(k: int, total: int) -> Ints:
    if k == 1:
        return np.array([[total]])
    return np.concatenate([np.insert(_points(k - 1, total - x), 0, x, axis=1) for x in range(total + 1)])


def _weights(a: tuple[float, ...], points: Ints, raw: tuple[int, ...], slope: float) -> Floats:
    """The posterior of all these counts, each size as likely as any other before."""
    n, prior = points.sum(axis=1), np.array(a)
    log_weight = gammaln(n + 1.0) - gammaln(prior.sum() + n) + (gammaln(prior + points) - gammaln(points + 1.0)).sum(axis=1)
    log_weight = log_weight - slope * np.abs(np.array(raw) - points).sum(axis=1)
    return np.asarray(np.exp(log_weight - log_weight.max()) / np.exp(log_weight - log_weight.max()).sum())


def _oracle(a: tuple[float, ...], points: Ints, weight: Floats, i: int, j: int) -> Simplex:
    p, q = (np.asarray(a[c] + points[:, c], dtype=np.float64) for c in (i, j))
    return Simplex(*merged(weight, p, q, sum(a) + points.sum(axis=1) - p - q))


def _public(a: tuple[float, ...], n: int, epsilon: float, raw: tuple[int, ...]) -> tuple[dc.NoiseAware, Ints, Floats]:
    points = _points(len(a), n)
    mechanism = dc.LatticeGeometric(dc.Dirichlet(a), n=n, epsilon=epsilon)
    return release_of(mechanism, raw).noise_aware(), points, _weights(a, points, raw, 0.5 * epsilon)


def _private(a: tuple[float, ...], most: int, epsilon: float, raw: tuple[int, ...]) -> tuple[dc.NoiseAware, Ints, Floats]:
    points = np.concatenate([_points(len(a), n) for n in range(most + 1)])
    mechanism = dc.LatticeGeometric(dc.Dirichlet(a), epsilon=epsilon)
    return release_of(mechanism, raw).noise_aware(size_prior=np.zeros(most + 1)), points, _weights(a, points, raw, epsilon)


@pytest.mark.parametrize(
    ("a", "n", "raw", "pair"),
    [
        ((1, 1, 1), 8, (5, -1, 4), (0, 1)),
        ((2, 1, 3, 1), 6, (1, 7, -2, 0), (3, 1)),
        ((5, 1, 2), 20, (3, 9, 8), (2, 0)),
    ],
)
@pytest.mark.parametrize("listed", [True, False])
def test_public_sizes_against_all_counts(a: tuple[int, ...], n: int, raw: tuple[int, ...], pair: tuple[int, int], listed: bool) -> None:
    with lowered(**({} if listed else {"POSTERIOR_CANDIDATES": 0})):
        posterior, points, weight = _public(a, n, 0.8, raw)
    contrast = posterior.contrast(*(posterior.categories[c] for c in pair))
    assert contrast.error < 1e-10
    assert worst(contrast, _oracle(a, points, weight, *pair)) < 1e-11


@pytest.mark.parametrize(
    ("a", "most", "epsilon", "raw", "pair"),
    [((1, 1, 1), 12, 1.5, (2, 5, 0), (0, 1)), ((1, 2, 3, 1), 7, 0.6, (4, -3, 1, 1), (2, 0)), ((4, 1, 1), 15, 0.3, (0, 9, 2), (1, 2))],
)
def test_private_sizes_against_all_counts(
    a: tuple[int, ...], most: int, epsilon: float, raw: tuple[int, ...], pair: tuple[int, int]
) -> None:
    posterior, points, weight = _private(a, most, epsilon, raw)
    contrast = posterior.contrast(*(posterior.categories[c] for c in pair))
    assert worst(contrast, _oracle(a, points, weight, *pair)) < 1e-11


@pytest.mark.slow
def test_sizes_in_several_segments() -> None:
    """A strong prior and wide noise, which one tilt does not hold: the contrast agrees with both marginals and with draws."""
    posterior = release_of(dc.LatticeGeometric(dc.Dirichlet((300, 300, 300)), epsilon=0.05), (100, 150, 20)).noise_aware()
    assert isinstance(posterior.counts, TreeCounts)
    assert len(posterior.counts.segments) > 1
    contrast = posterior.contrast(*posterior.categories[:2])
    mean = posterior.mean()
    assert contrast.difference.mean() == pytest.approx(mean[0] - mean[1], abs=1e-9)
    draws = posterior.sample(40_000, rng=7)
    assert abs(float(np.mean(draws[:, 0] > draws[:, 1])) - contrast.probability) < 6 * 0.0025


@pytest.mark.parametrize("private", [False, True])
def test_two_categories(private: bool) -> None:
    """θ_b = 1 - θ_a, so that all contrasts are functions of θ_a."""
    a, raw = (2.0, 1.0), (7, 2)
    posterior, points, weight = _private(a, 14, 0.9, raw) if private else _public(a, 9, 0.9, raw)
    contrast = posterior.contrast(*posterior.categories)
    p, q = points[:, 0] + a[0], points[:, 1] + a[1]
    for t in (-0.7, 0.0, 0.35):
        assert float(contrast.difference.cdf(t)) == pytest.approx(float(weight @ betainc(p, q, 0.5 + 0.5 * t)), abs=1e-12)
    for t in (0.3, 1.0, 6.0):
        assert float(contrast.ratio.cdf(t)) == pytest.approx(float(weight @ betainc(p, q, t / (1.0 + t))), abs=1e-12)
        assert float(contrast.odds_ratio.cdf(t**2)) == pytest.approx(float(contrast.ratio.cdf(t)), abs=1e-13)
    assert contrast.difference.mean() == pytest.approx(2.0 * float(weight @ (p / (p + q))) - 1.0, abs=1e-12)
    assert contrast.difference.std() == pytest.approx(2.0 * posterior.std()[0], rel=1e-9)


def test_large_counts_agree_with_a_beta_of_the_difference_of_means() -> None:
    posterior = release_of(
        dc.LatticeGeometric(dc.Dirichlet((1, 1, 1, 1)), n=10**6, epsilon=1), (250_000, 300_000, 400_000, 50_000)
    ).noise_aware()
    contrast = posterior.contrast(*posterior.categories[:2])
    theta = np.array([0.25, 0.3])
    expected = ((theta @ (1.0 - theta) + 2.0 * theta.prod()) / 1e6) ** 0.5
    assert contrast.difference.std() == pytest.approx(expected, rel=1e-4)
    assert contrast.difference.interval() == pytest.approx((-0.05 - 1.96 * expected, -0.05 + 1.96 * expected), abs=1e-6)


# --- moments ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("private", [False, True])
def test_finite_moments_against_quadrature(private: bool) -> None:
    a, raw = (2, 4, 3), (3, 1, 4)
    posterior, points, weight = _private(a, 9, 0.9, raw) if private else _public(a, 8, 0.9, raw)
    contrast, oracle = posterior.contrast(*posterior.categories[:2]), _oracle(a, points, weight, 0, 1)
    for name, value in VALUES.items():
        quantity, mean, square = getattr(contrast, name), oracle.mean(value), oracle.mean(partial(squared, value))
        assert quantity.mean() == pytest.approx(mean, rel=1e-10)
        assert quantity.std() == pytest.approx((square - mean**2) ** 0.5, rel=1e-8)


@pytest.mark.parametrize(
    ("a", "ratio", "odds"),
    [
        ((5, 1, 5), (False, False), (False, False)),
        ((5, "1.5", 5), (True, False), (True, False)),
        ((5, "1.5", "0.4"), (True, False), (False, False)),
        ((5, "2.5", "1.5"), (True, True), (True, False)),
        ((5, "2.5", 2), (True, True), (True, True)),
        ((5, 2), (True, False), (False, False)),
        ((5, "4.1"), (True, True), (True, True)),
    ],
)
def test_which_moments_are_infinite(a: tuple[Any, ...], ratio: tuple[bool, bool], odds: tuple[bool, bool]) -> None:
    raw = (5, 6, 9)[: len(a)]
    posterior = release_of(dc.LatticeGeometric(dc.Dirichlet(a), n=sum(raw), epsilon=1), raw).noise_aware()
    contrast = posterior.contrast(*posterior.categories[:2])
    assert (np.isfinite(contrast.ratio.mean()), np.isfinite(contrast.ratio.std())) == ratio
    assert (np.isfinite(contrast.odds_ratio.mean()), np.isfinite(contrast.odds_ratio.std())) == odds


# --- coverage ---------------------------------------------------------------------------------------------------------


def coverage(n: int, epsilon: float, read_as: float, mass: float = 0.8) -> tuple[dict[str, float], float]:
    """Of contrasts of two of three categories with a public n, over the outcomes that hold all but 1e-5; and the worst given any."""
    a = (1, 2, 1)
    points = _points(3, n)
    drawn, read = (dc.LatticeGeometric(dc.Dirichlet(a), n=n, epsilon=e) for e in (epsilon, read_as))
    prior = np.exp(drawn.prior.predictive(n).logpmf(points))
    raws = np.array([(x, y, n - x - y) for x in range(-2, n + 3) for y in range(-2, n + 3)])
    covered, off, reached = dict.fromkeys(("difference", "odds_ratio"), 0.0), 0.0, 0.0
    for raw in raws:
        joint = prior * np.exp(-0.5 * epsilon * np.abs(points - raw).sum(axis=1))
        contrast = release_of(read, tuple(raw.tolist())).noise_aware().contrast(*read.prior.categories[:2])
        oracle = _oracle(a, points, joint / joint.sum(), 0, 1)
        reached += float(joint.sum())
        for name in covered:
            low, high = getattr(contrast, name).interval(mass)
            inside = oracle.cdf(name, high) - oracle.cdf(name, low)
            covered[name] += float(joint.sum()) * inside
            off = max(off, abs(inside - mass))
    return {name: value / reached for name, value in covered.items()}, off


@pytest.mark.slow
def test_intervals_cover_what_they_promise() -> None:
    covered, off = coverage(4, 1.0, 1.0)
    assert off < CLOSE
    assert covered == pytest.approx({"difference": 0.8, "odds_ratio": 0.8}, abs=CLOSE)


def test_the_interval_of_one_outcome_covers_what_it_promises_and_with_other_noise_does_not() -> None:
    a, raw = (1, 2, 1), (6, 1, 1)
    _, points, weight = _public(a, 8, 1.0, raw)
    oracle = _oracle(a, points, weight, 0, 1)
    for epsilon, seen in ((1.0, False), (1.1, True)):
        contrast = _public(a, 8, epsilon, raw)[0].contrast(0, 1)
        for name in ("difference", "odds_ratio"):
            low, high = getattr(contrast, name).interval(0.8)
            off = abs(oracle.cdf(name, high) - oracle.cdf(name, low) - 0.8)
            assert off > 1e-3 if seen else off < CLOSE


# --- what is refused --------------------------------------------------------------------------------------------------


def test_bad_categories_and_wide_noise_are_refused() -> None:
    posterior = release_of(
        dc.LatticeGeometric(dc.Dirichlet([1, 1, 1], categories=["low", "mid", "high"]), epsilon=1), (5, 6, 7)
    ).noise_aware()
    with pytest.raises(InvalidInputError, match="two different categories"):
        posterior.contrast("low", "low")
    with pytest.raises(InvalidInputError, match="category must be one of"):
        posterior.contrast("low", "none")
    with lowered(CONTRAST_PAIRS=10), pytest.raises(TooLargeError, match="Compare draws"):
        posterior.contrast("low", "mid")
    with lowered(CONTRAST_CELLS=100), pytest.raises(TooLargeError, match="compare draws"):
        posterior.contrast("low", "mid")


@pytest.mark.parametrize("scale", [1.0, 2.0**60, 2.0**-60])
def test_the_middle_of_a_law_is_the_same_in_every_scale(scale: float) -> None:
    """A law that halves from count to count holds 2^-50 or less, the first power of two below 1e-15, from the 51st count on."""
    law, factor = Run(7, scale * 0.5 ** np.arange(80.0)), Run(0, np.arange(200.0))
    found = middle_part(factor, law)
    assert found.low == 7
    np.testing.assert_array_equal(found.value, np.arange(7.0, 7.0 + 50.0))


# --- probabilities from draws -----------------------------------------------------------------------------------------


def test_a_difference_that_floats_cannot_tell_from_1_has_its_interval() -> None:
    """The prior allows probabilities so near to 1 that its tail ends at a difference of 1."""
    law = release_of(dc.LatticeGeometric(dc.Beta("0.01", "0.01"), 6, 4), (6, 0)).noise_aware().contrast("success", "failure").difference
    low, high = law.interval(0.5)
    assert -1.0 < low < high <= 1.0


@pytest.mark.parametrize("mechanism", [dc.LatticeGeometric, dc.LaplaceZhang])
def test_a_contrast_that_no_float_holds_is_refused_in_one_line(mechanism: Any) -> None:
    """With parameters this close to 0 a probability lies beyond all floats, on the scale of log-odds."""
    made = mechanism(dc.Beta("1e-100", "1e-100"), 1, "1e-15")
    with pytest.raises(TooLargeError, match="prior parameter near 0"):
        dc.Release(made, made.guarantee, (1, 0), (1, 0)).noise_aware().contrast("success", "failure")


def test_the_probability_of_an_event_is_within_its_error_of_the_exact_one() -> None:
    posterior = _public((1, 1, 1), 8, 0.8, (5, 1, 2))[0]
    exact = posterior.contrast(0, 1).probability
    found = posterior.probability(lambda theta: theta[:, 0] > theta[:, 1], draws=20_000, rng=1)
    assert isinstance(found, Estimate)
    assert found.standard_error == pytest.approx((exact * (1.0 - exact) / 20_000) ** 0.5, rel=0.05)
    assert abs(float(found) - exact) < 5.0 * found.standard_error
    assert (
        abs(posterior.probability(lambda theta: theta[:, 1] > theta[:, 2], draws=20_000, rng=1).value - exact) > 5.0 * found.standard_error
    )


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (0.8731, 0.0021, "0.873 ± 0.002"),
        (1.0, 0.00001, "1.00000 ± 0.00001"),
        (0.0, 0.0000999, "0.0000 ± 0.0001"),
        (0.5, 0.5, "0.5 ± 0.5"),
    ],
)
def test_an_estimate_shows_the_digits_it_has(value: float, error: float, shown: str) -> None:
    assert repr(Estimate(value, error)) == shown


def test_what_is_certain_in_all_draws_still_has_an_error() -> None:
    posterior = _public((1, 1, 1), 8, 0.8, (5, 1, 2))[0]
    found = posterior.probability(lambda theta: theta[:, 0] >= 0.0, draws=1000, rng=1)
    assert float(found) == 1.0
    assert 0.0 < found.standard_error < 0.01


def test_bad_events_are_refused() -> None:
    posterior = _public((1, 1, 1), 8, 0.8, (5, 1, 2))[0]
    for event in (lambda theta: theta[:, 0], lambda theta: theta > 0.5, lambda theta: True):
        with pytest.raises(InvalidInputError, match="True or False"):
            posterior.probability(event, draws=10)
    with pytest.raises(InvalidInputError, match="draws must be"):
        posterior.probability(lambda theta: theta[:, 0] > 0.5, draws=0)


@pytest.mark.parametrize("prior", [["1e100", "1e-100", "1"], ["1e40", "1", "1"]])
def test_panels_that_never_end_are_refused(prior: list[str]) -> None:
    mechanism = dc.LatticeGeometric(dc.Dirichlet(prior), 300, 1)
    posterior = mechanism._recorded(mechanism.guarantee, (150, 100, 50)).noise_aware()
    with pytest.raises(dc.TooLargeError, match=r"floats do not hold|go through"):
        posterior.contrast(0, 1)
