"""Discrete Gaussian noise as a likelihood. Oracles: sums over whole numbers, and enumeration of all true counts."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp
from scipy.stats import poisson

from discreet.counts.batched.rates import NoisyCells
from discreet.errors import InvalidInputError
from discreet.inference.likelihoods import PrivateTotals, PublicTotals
from discreet.inference.true_counts import counts_of_outcomes
from discreet.mechanisms.gaussian_noise import GaussianNoise
from discreet.model.datasets import simplex_points
from discreet.model.dirichlet import Dirichlet
from discreet.model.size_priors import known_size, size_prior_of

Floats = NDArray[np.float64]
CLOSE = 1e-10


def law_of(sigma: float) -> tuple[Floats, Floats]:
    """The noise out to 60 standard deviations, and its probabilities."""
    d = np.arange(-np.ceil(60.0 * sigma) - 9.0, np.ceil(60.0 * sigma) + 10.0)
    log_p = -0.5 * (d / sigma) ** 2
    return d, np.exp(log_p - logsumexp(log_p))


@pytest.mark.parametrize("sigma", [0.1, 0.3, 0.9, 1.0, 1.1, 4.0, 60.0])
def test_probabilities_and_tails_are_those_of_the_sums(sigma: float) -> None:
    noise, (d, p) = GaussianNoise(1, sigma**2), law_of(sigma)
    assert np.abs(np.exp(noise.log_factor(d)) - p).max() < 1e-14
    near = np.abs(d) <= 6.0 * sigma + 1.0
    at_least = np.cumsum(p[::-1])[::-1][near]
    assert np.exp(noise.log_at_least(d[near])) == pytest.approx(at_least, rel=1e-11)
    assert np.exp(noise.log_at_most(-d[near])) == pytest.approx(at_least, rel=1e-11)


@pytest.mark.parametrize("cells", [1, 2, 5])
@pytest.mark.parametrize("tail", [0.2, 0.025, 1e-4])
def test_no_more_than_the_tail_lies_beyond_the_reach(cells: int, tail: float) -> None:
    for sigma in (0.4, 1.0, 7.3):
        _, one = law_of(sigma)
        p = one
        for _ in range(cells - 1):
            p = np.convolve(p, one)
        d = np.arange(len(p)) - len(p) // 2
        low, high = GaussianNoise(cells, sigma**2).reach(cells, cells, tail)
        assert max(p[d > high].sum(), p[d < low].sum()) <= tail
        assert cells > 1 or p[d >= high].sum() > tail


def test_simulated_noise_has_the_law() -> None:
    """A chi-square of ten million cells, with a false alarm of 1e-9 for a fixed seed; noise that is a tenth wider fails."""
    noise = GaussianNoise(5, 2.3)
    drawn = noise.simulate(200_000, np.random.default_rng(3)).ravel()
    d = np.arange(-6, 7)
    counts = np.array([(drawn == one).sum() for one in d])
    for wrong, fits in ((1.0, True), (1.1, False)):
        expected = len(drawn) * np.exp(GaussianNoise(1, 2.3 * wrong**2).log_factor(d.astype(float)))
        statistic = float(((counts - expected) ** 2 / expected).sum())
        assert (statistic < 70.0) is fits  # 13 degrees of freedom: P(chi-square > 70) < 1e-9


# --- single variables ---------------------------------------------------------------------------------------------------


def one_world(rng: np.random.Generator, private: bool) -> tuple[Floats, float, list[int], int | None]:
    """Prior parameters, σ, noisy counts that need not add up to n, and n where it is public."""
    k = int(rng.integers(2, 4))
    sigma = float(rng.uniform(0.3, 1.5) if private else rng.uniform(0.3, 6.0))
    x = rng.integers(0, 6, k)
    z = x + np.rint(rng.normal(0.0, sigma, k)).astype(int)
    return np.round(10.0 ** rng.uniform(-1.0, 1.0, k), 3), sigma, z.tolist(), None if private else int(x.sum())


def enumerated(a: Floats, sigma: float, z: list[int], n: int | None) -> tuple[NDArray[Any], Floats, float]:
    """All counts, their posterior probabilities and the log evidence."""
    top = int(max(sum(max(one, 0) for one in z) + 15 * sigma * len(z) ** 0.5 + 6, 10))
    each = [simplex_points(total, len(z)) for total in ([n] if n is not None else range(top + 1))]
    logs = [Dirichlet(a.tolist()).predictive(int(points[0].sum())).logpmf(points) if points.any() else np.zeros(1) for points in each]
    points, (d, p) = np.concatenate(each), law_of(sigma)
    with np.errstate(divide="ignore"):
        weight = np.concatenate(logs) + (-0.5 * ((np.array(z) - points) / sigma) ** 2).sum(axis=1) + len(z) * np.log(p[len(d) // 2])
    return points, np.exp(weight - logsumexp(weight)), float(logsumexp(weight))


def worst_difference(a: Floats, sigma: float, z: list[int], n: int | None, wrong: float = 1.0) -> float:
    """The largest difference of the laws of the counts and of the evidence from enumeration."""
    points, weight, evidence = enumerated(a, sigma, z, n)
    noise = GaussianNoise(len(z), (wrong * sigma) ** 2)
    law = counts_of_outcomes(a, [(noise, z)], size_prior_of("flat") if n is None else known_size(n))
    found = [abs(law.log_evidence - evidence)]
    for i in range(len(z)):
        run, exact = law.marginal(i), np.bincount(points[:, i], weights=weight)
        size = max(run.high + 1, len(exact))
        found.append(np.abs(np.pad(run.value, (run.low, size - run.high - 1)) - np.pad(exact, (0, size - len(exact)))).max())
    return max(found)


@pytest.mark.parametrize("private", [False, True])
def test_posteriors_are_those_of_enumeration(private: bool) -> None:
    rng = np.random.default_rng([7, private])
    worlds = [one_world(rng, private) for _ in range(25 if private else 60)]
    assert max(worst_difference(*world) for world in worlds if world[3] != 0) < CLOSE
    assert np.median([worst_difference(*world, wrong=1.1) for world in worlds[:9] if world[3] != 0]) > 1e-3


def test_an_outcome_that_no_counts_explain_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="1,000 standard deviations"):
        counts_of_outcomes(np.ones(2), [(GaussianNoise(2, 1.0), (5000, 2))], known_size(20))


# --- as a function of the probabilities ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_likelihoods_are_those_of_sums_over_poisson_counts(seed: int) -> None:
    rng = np.random.default_rng([9, seed])
    k, sigma = int(rng.integers(2, 5)), float(rng.choice([0.3, 1.0, 5.0]))
    rate, z = 10.0 ** rng.uniform(-2.0, 1.5, k), rng.integers(-4, 40, k)
    x = np.arange(400.0)
    joint = poisson.logpmf(x, rate[:, None]) + GaussianNoise(1, sigma**2).log_factor(z[:, None] - x)
    exact, mean = logsumexp(joint, axis=1).sum(), (np.exp(joint - logsumexp(joint, axis=1, keepdims=True)) * x).sum(axis=1)
    noise, every = GaussianNoise(k, sigma**2), np.ones((1, k), dtype=np.bool_)
    value, derivative = PrivateTotals(every, noise)(z[None, :], np.log(rate)[None, :])
    assert value[0] == pytest.approx(exact, abs=1e-9)
    assert derivative[0] == pytest.approx(mean - rate, abs=1e-9)
    off, _ = PrivateTotals(every, GaussianNoise(k, (1.1 * sigma) ** 2))(z[None, :], np.log(rate)[None, :])
    assert abs(off[0] - exact) > 1e-4


@pytest.mark.parametrize("seed", range(20))
def test_likelihoods_with_a_public_total_are_those_of_enumeration(seed: int) -> None:
    rng = np.random.default_rng([11, seed])
    _, sigma, z, n = one_world(rng, private=False)
    assert n is not None
    theta, points = rng.dirichlet(np.ones(len(z))), simplex_points(n, len(z))
    logs = gammaln(n + 1.0) - gammaln(points + 1.0).sum(axis=1) + (points * np.log(theta)).sum(axis=1)
    noise = GaussianNoise(len(z), sigma**2)
    logs = logs + noise.log_factor((np.array(z) - points).astype(float)).sum(axis=1)
    every = np.ones((1, len(z)), dtype=np.bool_)
    value, expected = PublicTotals(np.array([n]), every, noise, np.zeros(1))(np.array([z]), np.log(theta)[None, :])
    assert value[0] == pytest.approx(float(logsumexp(logs)), abs=1e-9)
    assert expected[0] == pytest.approx(np.exp(logs - logsumexp(logs)) @ points, abs=1e-8)


def test_windows_of_noisy_rates_hold_next_to_all() -> None:
    """Windows that begin at a peak that is not the law's would lose mass."""
    noise, z, rate = GaussianNoise(1, 400.0), np.array([[900]]), np.array([[100.0]])
    found = NoisyCells(z, np.ones((1, 1), dtype=np.bool_), noise).counts(np.log(rate), np.zeros(1))
    x = np.arange(2000.0)
    joint = poisson.logpmf(x, 100.0) + noise.log_factor(900 - x)
    exact = np.exp(joint - logsumexp(joint))
    assert found.mean[0, 0] == pytest.approx(float(exact @ x), abs=1e-9)
