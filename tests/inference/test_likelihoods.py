"""The likelihood of a raw outcome as a function of the probabilities, and its gradient, against sums over all true counts.

The oracles: enumeration of all datasets with each mechanism's own `log_prob`, the closed form of noisy Poisson counts (docs/howto/pymc.md)
with SciPy's incomplete gamma functions, and finite differences where there is too much to enumerate.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincc, gammaln, logsumexp
from scipy.stats import poisson

import discreet as dc
from discreet.inference.likelihoods import Likelihood, likelihood_of
from discreet.mechanisms import Mechanism
from discreet.sampling import SeededBits
from tests.support import lowered

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

BY_CELL: tuple[Callable[..., Mechanism], ...] = (
    dc.LatticeGeometric,
    dc.LaplaceZhang,
    dc.LaplaceHistogram,
    partial(dc.LaplaceDimension, rounding="nearest"),
)


def enumerated(mechanism: Mechanism, raw: Counts, theta: Floats) -> tuple[float, Floats]:
    """The log likelihood and the expected true counts, by all datasets."""
    points, n = mechanism.space.points(), mechanism.space.total
    weight = np.array([mechanism.log_prob(x, raw) for x in points]) + gammaln(n + 1.0) - gammaln(points + 1.0).sum(axis=1)
    weight = weight + np.where(points > 0, points * np.log(theta), 0.0).sum(axis=1)
    return float(logsumexp(weight)), np.asarray(np.exp(weight - logsumexp(weight)) @ points)


def computed(likelihood: Likelihood, raw: Counts, theta: Floats) -> tuple[Floats, Floats]:
    with np.errstate(divide="ignore"):
        return likelihood(np.atleast_2d(raw), np.log(np.atleast_2d(theta)))


def one_world(seed: int) -> tuple[Mechanism, Counts, Floats]:
    """A mechanism, an outcome and probabilities, which as a rule are far from what the outcome suggests."""
    rng = np.random.default_rng(seed)
    k, n, epsilon = int(rng.integers(2, 5)), int(rng.integers(1, 12)), float(rng.choice([0.05, 0.3, 1.0, 4.0, 20.0]))
    mechanism = BY_CELL[seed % len(BY_CELL)](dc.Dirichlet.uniform(k), n, epsilon)
    raw = mechanism._simulate_raw(rng.multinomial(n, np.full(k, 1.0 / k)), 1, rng)[0]
    theta = rng.dirichlet(np.full(k, 0.5)) + 1e-12
    return mechanism, raw, theta / theta.sum()


def test_noise_by_cell_agrees_with_enumeration_in_many_worlds() -> None:
    for seed in range(100):
        mechanism, raw, theta = one_world(seed)
        value, expected = computed(likelihood_of(mechanism), raw, theta)
        exact, mean = enumerated(mechanism, raw, theta)
        assert value[0] == pytest.approx(exact, abs=1e-10, rel=0.0), (seed, mechanism)
        assert expected[0] == pytest.approx(mean, abs=1e-10, rel=0.0), (seed, mechanism)


def test_a_tenth_more_noise_is_noticed() -> None:
    mechanism, raw, theta = one_world(8)
    exact, mean = enumerated(mechanism, raw, theta)
    value, expected = computed(likelihood_of(dc.LatticeGeometric(mechanism.prior, mechanism.n, float(mechanism.epsilon) / 1.1)), raw, theta)
    assert abs(value[0] - exact) > 1e-3
    assert np.abs(expected[0] - mean).max() > 1e-3


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kind", [dc.HellingerGlobal, dc.HellingerSmooth])
def test_exponential_mechanisms_agree_with_enumeration(kind: type[Mechanism], k: int) -> None:
    mechanism = kind(dc.Dirichlet.uniform(k), 7, 2)
    raw, theta = mechanism.space.points()[3], np.arange(1.0, k + 1.0) / np.arange(1.0, k + 1.0).sum()
    value, expected = computed(likelihood_of(mechanism), raw, theta)
    exact, mean = enumerated(mechanism, raw, theta)
    assert value[0] == pytest.approx(exact, abs=1e-10, rel=0.0)
    assert expected[0] == pytest.approx(mean, abs=1e-10, rel=0.0)


@pytest.mark.parametrize("theta", [(0.2, 0.3, 0.5), (0.6, 0.2, 0.2), (1e-9, 0.5, 0.5 - 1e-9)])
def test_the_gradient_is_that_of_finite_differences_for_a_million_records(theta: tuple[float, float, float]) -> None:
    likelihood = likelihood_of(dc.LatticeGeometric(dc.Dirichlet.uniform(3), 10**6, 0.5))
    raw, point = np.array([200_100, 300_000, 499_900]), np.log(np.array(theta))
    expected = likelihood(raw[None, :], point[None, :])[1][0]
    assert expected.sum() == pytest.approx(10**6, rel=1e-12)
    step = 1e-4
    for i in range(3):
        ends = [likelihood(raw[None, :], (point + sign * step * np.eye(3)[i])[None, :])[0][0] for sign in (1.0, -1.0)]
        assert (ends[0] - ends[1]) / (2.0 * step) == pytest.approx(expected[i], rel=1e-6, abs=1e-5)


def test_probabilities_of_0_are_taken() -> None:
    mechanism = dc.LatticeGeometric(dc.Dirichlet.uniform(3), 6, 1)
    raw, theta = np.array([1, 2, 3]), np.array([0.0, 0.4, 0.6])
    with np.errstate(divide="ignore"):
        exact, mean = enumerated(mechanism, raw, np.where(theta > 0.0, theta, 1e-300))
    value, expected = computed(likelihood_of(mechanism), raw, theta)
    assert value[0] == pytest.approx(exact, abs=1e-10)
    assert expected[0] == pytest.approx(mean, abs=1e-10)


# --- a private n ------------------------------------------------------------------------------------------------------


def closed_form(z: int, rate: float, epsilon: float) -> float:
    """The probability of a noisy Poisson count, by regularised incomplete gamma functions."""
    q = np.exp(-epsilon)
    scale = (1.0 - q) / (1.0 + q)
    if z <= 0:
        return float(scale * np.exp(epsilon * z - (1.0 - q) * rate))
    below = np.exp(-(1.0 - q) * rate + epsilon * z) * gammainc(z, q * rate)
    above = np.exp((1.0 / q - 1.0) * rate - epsilon * z) * gammaincc(z, rate / q)
    return float(scale * (below + above))


@pytest.mark.parametrize(("rate", "epsilon"), [(0.01, 0.1), (0.01, 3.0), (1.0, 1.0), (7.5, 0.1), (7.5, 3.0), (40.0, 0.1), (40.0, 1.0)])
def test_noisy_poisson_counts_have_their_closed_form_and_its_derivative(rate: float, epsilon: float) -> None:
    likelihood = likelihood_of(dc.LatticeGeometric(dc.Dirichlet.uniform(2), epsilon=epsilon))
    for z in (-9, 0, 1, 3, 20, 45):
        value, slope = computed(likelihood, np.array([z, z]), np.array([rate, rate]))
        exact, before = closed_form(z, rate, epsilon), closed_form(z - 1, rate, epsilon)
        assert value[0] == pytest.approx(2.0 * np.log(exact), abs=1e-9)
        assert slope[0] == pytest.approx(rate * (before - exact) / exact, abs=1e-8)


def test_noisy_poisson_counts_far_from_their_rates_are_finite() -> None:
    """Where the closed form's factors are 0 and infinite as floats."""
    likelihood = likelihood_of(dc.LatticeGeometric(dc.Dirichlet.uniform(2), epsilon=1))
    raw, rate = np.array([5_000, -40]), np.array([900_000.0, 30_000.0])
    value, slope = computed(likelihood, raw, rate)
    exact = 0.0
    for z, one, expected in zip(raw.tolist(), rate.tolist(), slope[0].tolist(), strict=True):
        x = np.arange(0.0, 2.0 * one)
        weight = poisson.logpmf(x, one) - np.abs(z - x) + np.log(np.tanh(0.5))
        exact += float(logsumexp(weight))
        assert expected == pytest.approx(float(np.exp(weight - logsumexp(weight)) @ x) - one, rel=1e-7)
    assert value[0] == pytest.approx(exact, rel=1e-9)


# --- tables -----------------------------------------------------------------------------------------------------------


def test_groups_of_public_sizes_are_single_releases() -> None:
    sizes, by, rng = [5, 0, 9], {"g": ["a", "b", "c"]}, np.random.default_rng(1)
    mechanism = dc.LatticeGeometric(dc.Dirichlet.uniform(3), sizes, 1, by=by, impossible=[("c", 1)])
    raw, theta = np.array([[3, 4, -2], [1, -1, 0], [5, 0, 4]]), rng.dirichlet(np.ones(3), 3)
    theta[2] = [0.3, 0.0, 0.7]
    value, expected = computed(likelihood_of(mechanism), raw, theta)
    first = enumerated(dc.LatticeGeometric(dc.Dirichlet.uniform(3), 5, 1), raw[0], theta[0])
    last = enumerated(dc.LatticeGeometric(dc.Dirichlet.uniform(2), 9, 1), raw[2, [0, 2]], theta[2, [0, 2]])
    empty = dc.LatticeGeometric(dc.Dirichlet.uniform(3), 5, 1).log_prob([1, 2, 2], [2, 1, 2])  # the same noise
    assert value == pytest.approx([first[0], empty, last[0]], abs=1e-10)
    assert expected[0] == pytest.approx(first[1], abs=1e-10)
    assert expected[1] == pytest.approx([0.0, 0.0, 0.0])
    assert expected[2, [0, 2]] == pytest.approx(last[1], abs=1e-10)


def test_a_table_of_a_public_total_is_one_multinomial_of_all_cells() -> None:
    mechanism = dc.LatticeGeometric(dc.Dirichlet.uniform(2), 6, 1, by={"g": ["a", "b"]}, impossible=[("b", 1)])
    raw, theta = np.array([[4, -1], [3, 0]]), np.array([[0.3, 0.2], [0.5, 0.0]])
    value, expected = likelihood_of(mechanism)(raw.reshape(1, -1), np.log(theta.reshape(1, -1) + 1e-300))
    exact, mean = enumerated(dc.LatticeGeometric(dc.Dirichlet.uniform(3), 6, 1), raw.ravel()[:3], theta.ravel()[:3])
    assert value[0] == pytest.approx(exact, abs=1e-10)
    assert expected[0] == pytest.approx([*mean, 0.0], abs=1e-10)


def test_groups_of_private_sizes_are_single_releases() -> None:
    table = dc.LatticeGeometric(dc.Dirichlet.uniform(2), epsilon=1, by={"g": ["a", "b"]}, impossible=[("b", 0)])
    value, slope = computed(likelihood_of(table), np.array([[4, -1], [0, 3]]), np.array([[3.0, 2.0], [0.0, 5.0]]))
    assert value[0] == pytest.approx(np.log(closed_form(4, 3.0, 1.0) * closed_form(-1, 2.0, 1.0)), abs=1e-10)
    assert value[1] == pytest.approx(np.log(closed_form(3, 5.0, 1.0)), abs=1e-10)
    assert slope[1, 0] == 0.0


# --- of a release -----------------------------------------------------------------------------------------------------


def test_a_release_has_its_likelihood_as_a_plain_function() -> None:
    """Against enumeration for one variable, and against the rows of a table that was compared with it above."""
    theta = np.array([0.5, 0.2, 0.3])
    for mechanism in (dc.LatticeGeometric(dc.Dirichlet.uniform(3), 7, 1), dc.HellingerGlobal(dc.Dirichlet.uniform(3), 7, 1)):
        release = mechanism.release([4, 2, 1], source=SeededBits(1), steady=False)
        assert release.log_likelihood(theta) == pytest.approx(enumerated(mechanism, np.array(release.raw), theta)[0], abs=1e-10)
        assert abs(release.log_likelihood(theta[::-1]) - enumerated(mechanism, np.array(release.raw), theta)[0]) > 1e-3
    for n in ([5, 9], 14, None):
        table = dc.LatticeGeometric(dc.Dirichlet.uniform(3), n, 1, by={"g": ["a", "b"]}, impossible=[("b", 1)])
        found = table.release([[2, 2, 1], [4, 0, 5]], source=SeededBits(1), steady=False)
        rows = np.array([theta, [0.4, 0.0, 0.6]])
        factor = np.array([1.0, 1.0] if n == [5, 9] else [0.4, 0.6] if n == 14 else [6.0, 8.0])
        given = {} if n == [5, 9] else {"shares": factor} if n == 14 else {"size": factor}
        rate = rows * factor[:, None]
        shape = (1, -1) if n == 14 else rows.shape
        value = computed(likelihood_of(table), np.array(found.raw).reshape(shape), rate.reshape(shape))[0]
        assert found.log_likelihood(rows, **given) == pytest.approx(value.sum(), abs=1e-12)
        assert found.log_likelihood([theta, [0.2, 0.5, 0.3]], **given) == pytest.approx(value.sum(), abs=1e-12), "what is left is scaled"


def test_the_evidence_is_the_mean_likelihood() -> None:
    """A sum over a fine grid of probabilities under a uniform prior of two categories."""
    release = dc.LatticeGeometric(dc.Beta(1, 1), 9, 1).release([6, 3], source=SeededBits(2), steady=False)
    nodes, weights = np.polynomial.legendre.leggauss(12)  # the likelihood is a polynomial of degree 9
    values = [np.exp(release.log_likelihood([p, 1.0 - p])) for p in 0.5 + 0.5 * nodes]
    assert release.noise_aware().log_evidence == pytest.approx(np.log(0.5 * weights @ values), abs=1e-12)


@pytest.mark.parametrize(
    ("theta", "given", "words"),
    [
        ([0.5, 0.5], {}, "theta must have the shape"),
        ([0.5, 0.2, 0.2], {}, "add up to 1"),
        ([1.5, -0.5, 0.0], {}, "none below 0"),
        (["a", "b", "c"], {}, "theta must be numbers"),
        ([0.5, 0.2, 0.3], {"size": 7}, "leave it out"),
        ([0.5, 0.2, 0.3], {"shares": [1.0]}, "leave it out"),
    ],
)
def test_what_is_no_probability_is_refused(theta: Any, given: dict[str, Any], words: str) -> None:
    release = dc.LatticeGeometric(dc.Dirichlet.uniform(3), 7, 1).release([4, 2, 1], source=SeededBits(1), steady=False)
    with pytest.raises(dc.InvalidInputError, match=words):
        release.log_likelihood(theta, **given)


# --- what is not computed ---------------------------------------------------------------------------------------------


def test_what_is_too_large_is_refused_in_one_line() -> None:
    mechanism = dc.HellingerGlobal(dc.Dirichlet.uniform(3), 90, 1)
    with lowered(LIKELIHOOD_CANDIDATES=100), pytest.raises(dc.TooLargeError, match="no noise-aware posterior") as caught:
        computed(likelihood_of(mechanism), np.array([30, 30, 30]), np.full(3, 1.0 / 3.0))
    assert "\n" not in str(caught.value)


def test_without_pymc_the_bridge_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymc", None)
    monkeypatch.delitem(sys.modules, "discreet.pymc", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'discreet\[pymc\]'"):
        import discreet.pymc  # noqa: F401
