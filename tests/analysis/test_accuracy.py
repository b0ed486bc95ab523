"""Error laws and mean errors equal brute force from the definitions; what needs no enumeration equals what does."""

import pickle
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import exp, inf, isclose, log, sqrt
from typing import Any, get_args

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.analysis.error_laws import ErrorLaw, error_law, error_summary, expected_error
from discreet.analysis.mean_errors import (
    SUMMATION_ERROR,
    exponential_mean,
    exponential_weights,
    laplace_mean,
    lattice_mean,
    over_powers,
)
from discreet.analysis.optimum import optimal
from discreet.mechanisms import MECHANISMS, Mechanism
from discreet.mechanisms.laplace import Rounding
from discreet.numerics.balls import working_precision
from discreet.numerics.gamma import series_term
from tests.mechanisms import brute
from tests.support import lowered, mostly_slow, reference_hellinger, reference_kl, reference_renyi, reference_values

EXPONENTIAL = ("HellingerGlobal", "HellingerLocal", "HellingerSmooth", "HellingerSmoothDelta")


def close(value: float, reference: float, tolerance: float = 1e-11) -> bool:
    return isclose(value, reference, rel_tol=tolerance, abs_tol=1e-13)


# --- oracles ----------------------------------------------------------------------------------------------------------


def brute_law(mechanism: Mechanism, x: brute.Outcome) -> brute.Probabilities:
    """The law of the reported counts from the definition of the mechanism."""
    name, prior, n, epsilon = type(mechanism).__name__, mechanism.prior.exact, mechanism.space.total, float(mechanism.epsilon)
    if name in EXPONENTIAL:
        return brute.exponential_law(prior, x, epsilon / brute.scale(name, prior, x, epsilon, 1.0, 1e-8))
    if name == "LatticeGeometric":
        return brute.lattice_law(x, epsilon, lambda z: brute.nearest_counts(z, n))
    if name == "LaplaceZhang":
        return brute.laplace_law(x, 2.0 / epsilon, noised=len(x), report=lambda z: z)
    scale = len(x) if name == "LaplaceDimension" else (1 if len(x) == 2 else 2)
    return brute.laplace_law(x, scale / epsilon, noised=len(x) - 1, report=lambda z: brute.cut(z, n))


def brute_distance(mechanism: Mechanism, x: brute.Outcome, r: brute.Outcome) -> float:
    prior = mechanism.prior.exact
    if sum(r) == mechanism.n:
        return brute.hellinger(prior, x, r)
    return float(reference_hellinger([a + c for a, c in zip(prior, x, strict=True)], [a + c for a, c in zip(prior, r, strict=True)]))


LISTED = [cls for cls in MECHANISMS if cls is not dc.DiscreteGaussian]
"""Those with an oracle here; tests/mechanisms/test_gaussian.py has that of the other."""


def random_world(rng: np.random.Generator) -> tuple[Mechanism, brute.Outcome]:
    """A mechanism and counts, small enough for brute force; the lattice's noise is listed, so it gets a large ε beyond k = 2."""
    cls = LISTED[rng.integers(len(LISTED))]
    k = int(rng.integers(2, 4 if cls in (dc.LatticeGeometric, dc.LaplaceZhang) else 5))
    n = int(rng.integers(1, {2: 12, 3: 6, 4: 4}[k]))
    prior = dc.Dirichlet([Fraction(round(1000 * 10.0 ** rng.uniform(-2, 1.5)) + 1, 1000) for _ in range(k)])
    low = 2.0 if cls is dc.LatticeGeometric and k > 2 else 0.2
    epsilon = Fraction(round(100 * rng.uniform(low, 6.0)), 100)
    counts = rng.multinomial(n, rng.dirichlet(np.ones(k)))
    return cls(prior, n, epsilon), tuple(int(c) for c in counts)


# --- equal to brute force ---------------------------------------------------------------------------------------------


def test_means_equal_the_reference_values() -> None:
    checked = 0
    for world in reference_values()["worlds"]:
        prior = dc.Dirichlet(world["prior"])
        for dataset in world["datasets"]:
            for name, mean in dataset["expected_hellinger"].items():
                options = {"EHDS-delta": {"delta": world["delta"]}, "EHDS": {"gamma": world["gamma"]}}.get(name, {})
                found = expected_error(dc.mechanism(name, prior, world["n"], world["epsilon"], **options), dataset["counts"])
                assert close(found, float(mean), 1e-12), (world["n"], name)
                assert (found.method, found.standard_error) == ("enumeration", 0.0)
                checked += 1
    assert checked == 32


def test_error_laws_equal_brute_force_in_200_random_worlds() -> None:
    rng = np.random.default_rng(20)
    for _ in range(200):
        mechanism, x = random_world(rng)
        law = brute_law(mechanism, x)
        pairs = sorted((brute_distance(mechanism, x, r), p) for r, p in law.items())
        mean = sum(h * p for h, p in pairs)
        found = error_law(mechanism, x)
        where = (type(mechanism).__name__, mechanism.prior, x, mechanism.epsilon)
        assert close(found.mean, mean), where
        assert close(expected_error(mechanism, x), mean), where
        assert isclose(found.std, sqrt(max(0.0, sum((h - mean) ** 2 * p for h, p in pairs))), rel_tol=1e-9, abs_tol=1e-9), where
        t = rng.choice([h for h, _ in pairs]) + 1e-9
        assert close(float(found.cdf(t)), sum(p for h, p in pairs if h <= t)), where
        assert close(float(found.probability.sum()), 1.0), where


@pytest.mark.parametrize("name", [cls.__name__ for cls in LISTED])
@pytest.mark.parametrize("prior", [(Fraction(1), Fraction(1)), (Fraction(1, 2), Fraction(1), Fraction(3))])
def test_predictive_and_worst_case_errors_equal_brute_force(name: str, prior: brute.Prior) -> None:
    n = 7 if len(prior) == 2 else 4
    mechanism = dc.mechanism(name, dc.Dirichlet(prior), n, 2)
    means = {x: sum(p * brute_distance(mechanism, x, r) for r, p in brute_law(mechanism, x).items()) for x in brute.lattice(n, len(prior))}
    predictive = sum(weight * means[x] for x, weight in brute.predictive(prior, n).items())
    assert close(expected_error(mechanism, over="predictive"), predictive)
    worst = expected_error(mechanism, over="worst")
    assert close(worst, max(means.values()))
    assert worst.at is not None
    assert close(means[worst.at], float(worst))
    summary = error_summary(mechanism)
    assert summary.law is not None
    assert close(summary.predictive, predictive)
    assert close(summary.law.mean, predictive)


@pytest.mark.parametrize(
    "mechanism",
    [
        dc.Remapped(dc.mechanism("LatticeGeometric", dc.Beta(2, "1/2"), 9, "0.4")),
        dc.Remapped(dc.mechanism("LatticeGeometric", dc.Dirichlet([Fraction(2), Fraction(1), Fraction(1, 2)]), 4, 2)),
        dc.Remapped(dc.mechanism("LaplaceZhang", dc.Beta(2, 1), 6, 1)),
        dc.Remapped(dc.mechanism("HellingerGlobal", dc.Dirichlet([2, 1, 1]), 3, 2)),
        dc.Calibrated(dc.HellingerSmooth(dc.Beta(1, 1), 8, Fraction(1))),
        dc.mechanism("LaplaceHistogram", dc.Dirichlet([1, 1, 1]), 4, 1, consistent=False),
        dc.mechanism("LaplaceDimension", dc.Dirichlet([1, 1, 1]), 4, 1, rounding="nearest"),
    ],
    ids=lambda mechanism: f"{type(mechanism).__name__} {mechanism.k}",
)
def test_wrapped_and_optional_mechanisms_equal_their_laws(mechanism: Mechanism) -> None:
    means = {}
    for x in brute.lattice(mechanism.space.total, mechanism.k):
        law = brute.as_dict(mechanism.law(x).counts, mechanism.law(x).probability)
        means[x] = sum(p * brute_distance(mechanism, x, r) for r, p in law.items())
        assert close(error_law(mechanism, x).mean, means[x])
    weights = brute.predictive(mechanism.prior.exact, mechanism.space.total)
    assert close(expected_error(mechanism, over="predictive"), sum(weights[x] * mean for x, mean in means.items()))
    assert close(expected_error(mechanism, over="worst"), max(means.values()))


def _beta_variation(alpha: list[Fraction], beta: list[Fraction]) -> float:
    """½∫|p - q| on a fine grid."""
    grid = (np.arange(100_000) + 0.5) / 100_000
    p, q = (dc.Beta(a, b).pdf(grid) for a, b in (alpha, beta))
    return float(0.5 * np.abs(p - q).mean())


@pytest.mark.parametrize(
    ("distance", "reference", "tolerance"),
    [
        (dc.kl, lambda p, q: float(reference_kl(p, q)), 1e-11),
        (lambda p, q: dc.kl(q, p), lambda p, q: float(reference_kl(q, p)), 1e-11),
        (partial(dc.renyi, order="1.25"), lambda p, q: float(reference_renyi(p, q, Fraction(5, 4))), 1e-11),
        (dc.chi2, lambda p, q: exp(float(reference_renyi(p, q, Fraction(2)))) - 1.0, 1e-11),
        (dc.total_variation, _beta_variation, 1e-5),
    ],
    ids=["kl", "reverse kl", "renyi", "chi2", "total variation"],
)
def test_any_distance(distance: Any, reference: Callable[..., float], tolerance: float) -> None:
    x, prior = (4, 5), (Fraction(11), Fraction(12))  # a prior so large that χ² is finite
    mechanism = dc.mechanism("HellingerSmooth", dc.Dirichlet(prior), 9, 2)
    law = brute_law(mechanism, x)
    errors = {r: 0.0 if r == x else reference([a + c for a, c in zip(prior, x)], [a + c for a, c in zip(prior, r)]) for r in law}  # noqa: B905
    mean = sum(p * errors[r] for r, p in law.items())
    assert close(expected_error(mechanism, x, distance=distance), mean, tolerance)
    found = error_law(mechanism, x, distance)
    assert close(float(found.quantile(1.0)), max(errors.values()), tolerance)
    assert expected_error(mechanism, over="worst", distance=distance) >= found.mean


def test_an_infinite_error_is_infinite() -> None:
    mechanism = dc.mechanism("HellingerSmooth", dc.Beta(1, 1), 9, 2)
    law = error_law(mechanism, [1, 8], dc.chi2)
    assert law.mean == inf
    assert np.isnan(law.std)
    assert 0.0 < float(law.cdf(1e300)) < 1.0
    assert expected_error(mechanism, over="predictive", distance=dc.chi2) == inf


# --- the exact means at ε = 1, balanced data, a = 1 -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "k", "n", "mean"),
    [
        ("LaplaceDimension", 2, 1000, 0.0455),
        ("LaplaceHistogram", 2, 1000, 0.0242),
        ("HellingerLocal", 2, 1000, 0.0432),
        ("HellingerSmooth", 2, 1000, 0.0924),
        ("HellingerSmoothDelta", 2, 1000, 0.0432),
        ("HellingerSmooth", 3, 450, 0.7486),
        ("HellingerSmoothDelta", 3, 450, 0.1831),
    ],
)
def test_exact_means(name: str, k: int, n: int, mean: float) -> None:
    found = expected_error(dc.mechanism(name, dc.Dirichlet.uniform(k), n, 1), [n // k] * k)
    assert round(float(found), 4) == mean


# --- Monte Carlo ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "counts"),
    [
        (dc.mechanism("LaplaceZhang", dc.Beta(1, 1), 60, "0.5"), [20, 40]),
        (dc.mechanism("HellingerSmooth", dc.Dirichlet([1, 1, 1]), 30, 2), [3, 17, 10]),
        (dc.Remapped(dc.mechanism("LatticeGeometric", dc.Beta(2, 3), 40, "0.2")), [5, 35]),
        (dc.mechanism("LaplaceHistogram", dc.Dirichlet.uniform(10), 1000, 1), [100] * 10),
        (dc.mechanism("LatticeGeometric", dc.Dirichlet.uniform(10), 1000, 1), [100] * 10),
        (dc.mechanism("LaplaceDimension", dc.Dirichlet([1, 2, 3, 4]), 600, 2), [0, 100, 200, 300]),
    ],
    ids=["Zhang", "smooth", "remapped", "histogram 10", "lattice 10", "dimension 4"],
)
def test_monte_carlo_agrees_and_would_notice_noise_30_percent_off(mechanism: Mechanism, counts: list[int]) -> None:
    """Within 4 standard errors (false alarms: 6e-5 each); the same draws reject the mean of a mechanism with ε 30 % off."""
    size = 20_000
    draws = mechanism.simulate(counts, size, np.random.default_rng(1))
    a = mechanism.prior.concentration
    errors = np.asarray(dc.hellinger(a + np.array(counts), a + draws))
    standard_error = errors.std(ddof=1) / sqrt(size)
    assert abs(errors.mean() - expected_error(mechanism, counts)) <= 4.0 * standard_error
    louder = type(mechanism)(mechanism.prior, mechanism.n, mechanism.epsilon * Fraction(10, 13))
    other: Mechanism = dc.Remapped(louder) if mechanism.report.is_search else louder
    assert abs(errors.mean() - expected_error(other, counts)) > 4.0 * standard_error


# --- without enumeration ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [1e-3, 0.7, 5.0, 40.0, 700.0])
@pytest.mark.parametrize("z", [0.0, 0.5, 0.99, 1.0 - 1e-6])
def test_the_series_in_powers_adds_up(c: float, z: float) -> None:
    """Σ p_m z^m = exp(-c sqrt(1-z)), Σ p'_m z^m = its derivative in c, and 1 - Σ s_m z^m = sqrt(1-z)."""
    root = sqrt(1.0 - z)
    m, weight, powers = over_powers(lambda m: z**m, 46.0 / (1.0 - z))
    p, before = exponential_weights(c, m, weight)
    assert isclose(exp(-c) + p @ powers, exp(-c * root), rel_tol=1e-11, abs_tol=1e-13)
    slope = -exp(-c) + (p / c - before * c / (2.0 * m)) @ powers
    assert isclose(slope, -root * exp(-c * root), rel_tol=1e-11, abs_tol=1e-13)
    assert isclose(1.0 - weight @ powers, root, rel_tol=0.0, abs_tol=1e-13)


@pytest.mark.parametrize("z", [0.999, 1.0 - 1e-6, 1.0 - 1e-9])
@pytest.mark.parametrize("c", [1e-3, 5.0, 300.0])
def test_nodes_stand_for_all_powers_of_an_octave(c: float, z: float) -> None:
    """Against the closed forms, as balls, to a hundredth of the error that means are said to have; three nodes fewer miss it."""
    m, weight, powers = over_powers(lambda m: np.exp(m * log(z)), 46.0 / (1.0 - z))
    p, before = exponential_weights(c, m, weight)
    with working_precision(320):
        root = (1 - arb(z)).sqrt()
        value, slope = (float((-arb(c) * root).exp()), float(-root * (-arb(c) * root).exp()))
    assert isclose(exp(-c) + p @ powers, value, rel_tol=SUMMATION_ERROR / 100.0, abs_tol=1e-14)
    assert isclose(-exp(-c) + (p / c - before * c / (2.0 * m)) @ powers, slope, rel_tol=SUMMATION_ERROR / 100.0, abs_tol=1e-14)


@pytest.mark.parametrize("c", [1e-3, 5.0, 15.0, 20.0, 100.0, 700.0])
def test_debye_s_expansion_is_right_from_where_it_is_used(c: float) -> None:
    """p_m(c) and p_(m-1)(c) from Bessel and gamma functions as balls. With one term fewer they would be off by 5e-11."""
    m = np.array([32.0, 32.5, 33.0, 40.0, 64.0, 1000.0])
    found = exponential_weights(c, m, series_term(m))
    with working_precision(320):
        for powers, weights in zip((m, m - 1.0), found, strict=True):
            for power, weight in zip(powers.tolist(), weights.tolist(), strict=True):
                bessel = arb(c).bessel_k(arb(power) - arb(0.5))
                exact = (arb(c) / 2) ** arb(power) / (arb(power) + 1).gamma() * (2 * arb(c) / arb.pi()).sqrt() * bessel
                assert abs(float(arb(weight) / exact - 1)) < 3e-12 or exact < 1e-300


def _enumerated(mechanism: Mechanism, counts: list[int]) -> float:
    law = mechanism.law(counts)
    a = mechanism.prior.concentration
    return float((np.asarray(dc.hellinger(a + np.array(counts), a + law.counts)) * law.probability).sum())


def test_convolutions_equal_enumeration() -> None:
    """Priors from 1e-3 to 1e2, ε from 0.1 to 30, three or four categories."""
    rng = np.random.default_rng(3)
    for _ in range(12):
        k = int(rng.integers(3, 5))
        n = int(rng.integers(1, 40 if k == 3 else 14))
        counts = rng.multinomial(n, rng.dirichlet(np.full(k, 0.7)))
        prior = dc.Dirichlet([str(round(10.0 ** rng.uniform(-3, 2), 6)) for _ in range(k)])
        epsilon = Fraction(str(round(10.0 ** rng.uniform(-1, 1.5), 3)))
        for name in ("HellingerSmooth", "HellingerGlobal", "HellingerLocal"):
            exponential = dc.mechanism(name, prior, n, epsilon)
            assert isinstance(exponential, dc.mechanisms.Exponential)
            found = exponential_mean(prior, counts, float(exponential._rate(counts)))
            assert isclose(found, _enumerated(exponential, list(counts)), rel_tol=SUMMATION_ERROR, abs_tol=1e-14)
        for rounding in get_args(Rounding):
            laplace = dc.LaplaceHistogram(prior, n, epsilon, rounding)
            assert isclose(
                laplace_mean(prior, laplace.noise, counts), _enumerated(laplace, list(counts)), rel_tol=SUMMATION_ERROR, abs_tol=1e-14
            )
        if epsilon >= 1 and k == 3:
            lattice = dc.LatticeGeometric(prior, n, epsilon)
            inside, outside = lattice_mean(lattice, lattice.noise, counts)
            exact = _enumerated(lattice, list(counts))
            assert inside <= exact + 1e-13
            assert exact <= inside + outside + 1e-13


def test_a_lattice_far_from_its_edges_needs_no_projection() -> None:
    lattice = dc.LatticeGeometric(dc.Dirichlet([1, 1, 1]), 150, Fraction(2))
    inside, outside = lattice_mean(lattice, lattice.noise, np.array([50, 50, 50]))
    assert outside < 1e-12
    assert isclose(inside, _enumerated(lattice, [50, 50, 50]), rel_tol=SUMMATION_ERROR)


def test_four_categories_and_600_records_without_enumeration() -> None:
    """36 million candidates, none of which is listed; the mean is the one a listing of k = 3, n = 900 would confirm in kind."""
    with lowered(LISTED_OUTCOMES=1000):
        found = expected_error(dc.mechanism("HellingerSmooth", dc.Dirichlet.uniform(4), 600, 1), [150] * 4)
        ten = expected_error(dc.mechanism("HellingerSmooth", dc.Dirichlet.uniform(10), 1000, 1), [100] * 10)
    assert found.method == "convolution"
    assert found.bound <= 1e-9
    assert round(float(found), 6) == 0.980064
    assert ten > 0.99999  # nearly uniform over the candidates: that is the mechanism


def test_the_choice_of_method_does_not_show() -> None:
    mechanism = dc.mechanism("HellingerSmooth", dc.Dirichlet.uniform(3), 100, 3)
    listed = expected_error(mechanism, [20, 30, 50])
    with lowered(ERROR_CANDIDATES=10):
        convolved = expected_error(mechanism, [20, 30, 50])
    assert (listed.method, convolved.method) == ("enumeration", "convolution")
    assert isclose(listed, convolved, rel_tol=SUMMATION_ERROR)


@pytest.mark.parametrize(
    "mechanism",
    [
        dc.mechanism("LaplaceZhang", dc.Dirichlet.uniform(4), 600, 1),
        dc.mechanism("LaplaceHistogram", dc.Dirichlet.uniform(4), 600, 1, consistent=False),
        dc.mechanism("LatticeGeometric", dc.Dirichlet.uniform(4), 600, "0.02"),
        dc.mechanism("LatticeGeometric", dc.Dirichlet.uniform(4), 600, "0.2", projection="cut"),
    ],
    ids=["Zhang", "literal", "projected", "cut"],
)
def test_what_does_not_factor_is_simulated_with_its_standard_error(mechanism: Mechanism) -> None:
    counts = [300, 150, 149, 1]
    found = expected_error(mechanism, counts)
    assert found.method == "Monte Carlo"
    again = expected_error(mechanism, counts, rng=1)
    assert 0.0 < found.standard_error < 0.01
    assert found != again
    assert abs(found - again) <= 4.0 * sqrt(found.standard_error**2 + again.standard_error**2)


def test_a_mean_that_cannot_be_found_says_why() -> None:
    with pytest.raises(dc.TooLargeError, match="outcomes"):
        expected_error(dc.mechanism("HellingerSmooth", dc.Dirichlet.uniform(5), 600, 1), [120] * 5, distance=dc.kl)
    with pytest.raises(dc.TooLargeError, match="worst dataset"):
        expected_error(dc.mechanism("HellingerSmooth", dc.Dirichlet.uniform(4), 600, 1), over="worst")


# --- over many datasets -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["LatticeGeometric", "LaplaceHistogram", "HellingerSmooth"])
@pytest.mark.parametrize("prior", mostly_slow([dc.Beta("0.1", 3), dc.Beta(1, 1)], 1))
def test_interpolation_between_datasets(name: str, prior: dc.Beta) -> None:
    mechanism = dc.mechanism(name, prior, 500, "0.5")
    exact, worst = expected_error(mechanism, over="predictive"), expected_error(mechanism, over="worst")
    with lowered(ERROR_PAIRS=1000):
        between, largest = expected_error(mechanism, over="predictive"), expected_error(mechanism, over="worst")
    assert between.method == "interpolation"
    assert isclose(between, exact, rel_tol=1e-5)
    assert between.bound <= 1e-3 * between
    assert isclose(largest, worst, rel_tol=1e-4)


@pytest.mark.parametrize("name", ["LatticeGeometric", "LaplaceHistogram", "HellingerGlobal", "HellingerSmooth"])
@pytest.mark.parametrize("epsilon", mostly_slow(["0.5", "0.003", "30"], 1))
@pytest.mark.parametrize("prior", mostly_slow([dc.Beta(1, 1), dc.Beta("0.1", 300)], 1))
def test_quadrature_equals_enumeration(name: str, epsilon: str, prior: dc.Beta) -> None:
    """Nodes stand for outcomes and for datasets; the oracle lists all of both. An ε 10 % off would show."""
    mechanism = dc.mechanism(name, prior, 3000, epsilon)
    exact = expected_error(mechanism, over="predictive")
    listed = [expected_error(mechanism, [x, 3000 - x]) for x in (0, 7, 1100, 3000)]
    with lowered(ERROR_PAIRS=1000, ERROR_RECORDS=100):
        nodes = [expected_error(mechanism, [x, 3000 - x]) for x in (0, 7, 1100, 3000)]
        between = expected_error(mechanism, over="predictive")
        off = expected_error(dc.mechanism(name, prior, 3000, Fraction(epsilon) * Fraction(11, 10)), [1100, 1900])
    assert {each.method for each in nodes} == {"quadrature"}
    assert all(isclose(a, b, rel_tol=1e-9, abs_tol=1e-15) for a, b in zip(nodes, listed, strict=True))
    assert between.method == "interpolation"
    assert isclose(between, exact, rel_tol=1e-4, abs_tol=1e-12)
    floored = name == "LaplaceHistogram" and epsilon == "30"  # what is left of so little noise is the flooring
    assert floored or not isclose(off, listed[2], rel_tol=1e-9, abs_tol=1e-15)


@pytest.mark.parametrize("name", ["LatticeGeometric", "LaplaceHistogram", "LaplaceZhang"])
def test_one_release_of_each_of_many_datasets(name: str) -> None:
    mechanism = dc.mechanism(name, dc.Dirichlet([0.5, 1, 2]), 8, 1)
    exact = expected_error(mechanism, over="predictive")
    with lowered(ERROR_REPORTS=10):
        drawn, again = (expected_error(mechanism, over="predictive", rng=seed) for seed in (1, 2))
        off = expected_error(dc.mechanism(name, dc.Dirichlet([0.5, 1, 2]), 8, "0.9"), over="predictive")
    assert (exact.method, drawn.method) == ("enumeration", "Monte Carlo")
    assert drawn != again
    assert abs(drawn - exact) <= 4.0 * drawn.standard_error
    assert abs(off - exact) > 4.0 * drawn.standard_error  # an ε that is 10 % off is noticed


def test_datasets_drawn_from_the_predictive() -> None:
    mechanism = dc.mechanism("LatticeGeometric", dc.Dirichlet.uniform(3), 12, 2)
    exact = expected_error(mechanism, over="predictive")
    with lowered(ERROR_REPORTS=20_000):
        drawn = expected_error(mechanism, over="predictive")
    assert (exact.method, drawn.method) == ("enumeration", "Monte Carlo")
    assert abs(drawn - exact) <= 4.0 * drawn.standard_error
    assert 0.0 < drawn.standard_error < 0.03


def test_few_datasets_with_long_laws_are_all_simulated() -> None:
    """A small ε makes the lattice's noise too long to list; no dataset is left out, so the standard error is that of the draws alone."""
    prior = dc.Dirichlet.uniform(3)
    drawn = expected_error(dc.Remapped(dc.LatticeGeometric(prior, 4, Fraction("0.05"))), over="predictive")
    assert drawn.method == "Monte Carlo"
    assert 0.0 < drawn.standard_error < 0.01
    best = optimal(prior, 4, "0.05").value
    assert best - 4.0 * drawn.standard_error < drawn < 1.1 * best


def test_rounded_laws_keep_their_quantiles() -> None:
    mechanism = dc.mechanism("LatticeGeometric", dc.Beta(1, 1), 120, "0.3")
    exact = error_summary(mechanism).law
    with lowered(ERROR_VALUES=1000):
        rounded = error_summary(mechanism).law
    assert exact is not None
    assert rounded is not None
    assert len(rounded.support) < len(exact.support)
    assert isclose(rounded.mean, exact.mean, rel_tol=1e-4)
    for q in (0.1, 0.5, 0.95):
        assert isclose(float(rounded.quantile(q)), float(exact.quantile(q)), rel_tol=1e-4)


# --- the law as a distribution ----------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.floats(0.0, 10.0), st.floats(1e-6, 1.0)), min_size=1, max_size=20),
    st.floats(0.0, 1.0),
)
def test_quantile_is_the_inverse_of_cdf(pairs: list[tuple[float, float]], q: float) -> None:
    errors, weights = np.array(pairs).T
    law = ErrorLaw.of(errors, weights / weights.sum())
    t = float(law.quantile(q))
    assert t in law.support
    assert float(law.cdf(t)) >= q - 1e-9
    assert float(law.cdf(np.nextafter(t, -inf))) <= q + 1e-9 or t == law.support[0]
    assert float(law.cdf(-1.0)) == 0.0
    assert float(law.cdf(11.0)) == pytest.approx(1.0)
    assert (np.diff(law.support) > 0).all()


@pytest.mark.parametrize("size", [9, 12, 20])
def test_a_quantile_is_not_pushed_on_by_the_last_bit_of_a_sum(size: int) -> None:
    """Equal probabilities, whose running sums in floats are on either side of j/size."""
    law = ErrorLaw(np.arange(1.0, size + 1.0), np.full(size, 1.0 / size))
    assert law.quantile(np.arange(1, size) / size).tolist() == list(range(1, size))  # type: ignore[union-attr]


def test_what_is_asked_for_must_be_clear() -> None:
    mechanism = dc.mechanism("LaplaceHistogram", dc.Beta(1, 1), 5, 1)
    with pytest.raises(dc.InvalidInputError, match="either counts or over"):
        expected_error(mechanism)
    with pytest.raises(dc.InvalidInputError, match="either counts or over"):
        expected_error(mechanism, [2, 3], over="worst")
    with pytest.raises(dc.InvalidInputError, match="predictive"):
        expected_error(mechanism, over="median")  # type: ignore[arg-type]
    with pytest.raises(dc.InvalidInputError, match="q must lie"):
        error_law(mechanism, [2, 3]).quantile(1.1)
    with pytest.raises(dc.InvalidInputError, match="add up"):
        error_law(mechanism, [2, 4])


def test_an_expected_error_is_a_float_that_tells_its_method() -> None:
    found = expected_error(dc.mechanism("LaplaceHistogram", dc.Beta(1, 1), 5, 1), [2, 3])
    assert isinstance(found, float)
    assert found + 0.0 == float(found)
    assert "by enumeration" in repr(found)
    copied = pickle.loads(pickle.dumps(found))  # noqa: S301
    assert (copied, copied.method, copied.at) == (found, found.method, found.at)
    assert "mean=" in repr(error_law(dc.mechanism("LaplaceHistogram", dc.Beta(1, 1), 5, 1), [2, 3]))
