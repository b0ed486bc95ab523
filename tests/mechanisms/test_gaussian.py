"""DiscreteGaussian: law, losses, promise, records and posteriors. Oracles: sums over whole numbers, enumeration, dp-accounting."""

import pickle
from fractions import Fraction
from itertools import product
from math import ceil, exp, inf, sqrt
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

import discreet as dc
from discreet.errors import ClaimError, InvalidInputError, RefusedError, TooLargeError
from discreet.mechanisms.gaussian_noise import gaussian_delta, least_variance
from discreet.model.datasets import Relation, simplex_points
from discreet.sampling import SeededBits
from tests.mechanisms import brute
from tests.sampling.support import FALSE_ALARM
from tests.sampling.test_gaussian import law_of
from tests.support import mostly_slow

PRIOR = dc.Dirichlet([1, 1, 1], ["never", "former", "current"])
TWO = dc.Beta(1, 2)
BY = {"region": ["north", "south"]}
CLOSE = 1e-10


def noise_law(variance: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Noise out to 14 standard deviations, from the definition."""
    d = np.arange(-ceil(14.0 * sqrt(variance)) - 3, ceil(14.0 * sqrt(variance)) + 4)
    log_p = -(d**2) / (2.0 * variance)
    return d, np.exp(log_p - logsumexp(log_p))


def enumerated_delta(variance: float, epsilon: float, moves: tuple[int, ...]) -> float:
    """Σ_z (P(z) - e^ε P'(z))+ over all noise of the cells that move, from the definition."""
    d, p = noise_law(variance)
    first = second = np.ones(1)
    for move in moves:
        shifted = np.interp(d - move, d, p, left=0.0, right=0.0)
        first, second = np.multiply.outer(first, p).ravel(), np.multiply.outer(second, shifted).ravel()
    return float(np.maximum(first - exp(epsilon) * second, 0.0).sum())


# --- losses -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [None, 40])
@pytest.mark.parametrize("seed", range(2))
def test_delta_is_that_of_an_enumeration_in_100_random_worlds(n: int | None, seed: int) -> None:
    """25 worlds each, also at σ = 0.3; a σ ten percent off is seen."""
    rng, wrong = np.random.default_rng(seed), 0
    for _ in range(25):
        variance, epsilon = Fraction(round(1000 * 10.0 ** rng.uniform(-1, 1.3)) + 1, 1000), float(rng.uniform(0.05, 3.0))
        mechanism = dc.DiscreteGaussian(TWO, n, rho=(1 if n is None else 2) / (2 * variance))
        moves = (1,) if n is None else (1, -1)
        expected = enumerated_delta(float(variance), epsilon, moves)
        found = dc.delta_at(mechanism, epsilon)
        assert found.value == pytest.approx(expected, rel=1e-9, abs=1e-13)
        assert found.value <= found.bound <= found.value * (1.0 + 1e-9) + 1e-20
        exact = gaussian_delta(variance, len(moves), Fraction(epsilon))
        assert float(exact) == pytest.approx(expected, rel=1e-9, abs=1e-13)
        wrong += abs(found.value / max(enumerated_delta(1.21 * float(variance), epsilon, moves), 1e-300) - 1.0) > 1e-3
    assert wrong > 20


@pytest.mark.parametrize("n", [None, 40])
@pytest.mark.parametrize("rho", [700, 3000, 10**6])
def test_next_to_no_noise_is_drawn_and_verified_and_less_is_refused(n: int | None, rho: int) -> None:
    """Its probabilities are no floats: losses that are listed bound what they leave out, and nothing fails after a spend."""
    mechanism = dc.DiscreteGaussian(TWO, n, rho=rho)
    assert mechanism.release([15, 25], source=SeededBits(1), allow_nonprivate=True, steady=False).counts == (15, 25)
    found = dc.delta_at(mechanism, mechanism.epsilon)
    cells = 1 if n is None else 2
    assert float(gaussian_delta(Fraction(cells, 2 * rho), cells, mechanism.epsilon)) <= found.bound <= 1.0 + 1e-9
    assert dc.delta_at(mechanism, 100 * mechanism.epsilon).bound > 0.0
    with pytest.raises(InvalidInputError, match=r"rho .* 1,000,000"):
        dc.DiscreteGaussian(TWO, n, rho=10**6 + 1)


def test_losses_far_above_epsilon_are_composed_as_infinite_ones() -> None:
    """At a δ near 1 the largest listed loss is 10^8 times ε: a grid of all would fill the memory."""
    mechanism = dc.DiscreteGaussian(TWO, epsilon="1e-6", rho=9, delta="0.9998")
    found = dc.Accountant().add(mechanism).delta("1e-6")
    assert dc.delta_at(mechanism, "1e-6").value <= found <= 0.9998
    with pytest.raises(InvalidInputError, match="give a smaller delta"):
        dc.DiscreteGaussian(TWO, rho=9, delta="0.9998")


@pytest.mark.parametrize("n", [None, 40])
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.1", "1e-9"), ("5", "1e-3"), ("0.01", "1e-6")])
def test_sigma_is_the_least_that_keeps_the_promise(n: int | None, epsilon: str, delta: str) -> None:
    mechanism = dc.DiscreteGaussian(TWO, n, epsilon, delta=delta)
    cells = 1 if n is None else 2
    variance = Fraction(cells) / (2 * mechanism.rho)
    assert gaussian_delta(variance, cells, Fraction(epsilon)) <= Fraction(delta)
    assert gaussian_delta(variance * Fraction(99999, 100000), cells, Fraction(epsilon)) > Fraction(delta)
    assert mechanism.guarantee == dc.Guarantee(float(epsilon), float(delta), "computation", neighbours=mechanism.space.relation)
    by_rho = dc.DiscreteGaussian(TWO, n, delta=delta, rho=mechanism.rho)
    assert float(by_rho.epsilon) == pytest.approx(float(epsilon), rel=1e-4)
    assert dc.delta_at(by_rho, by_rho.epsilon).value <= float(delta)
    assert dc.delta_at(by_rho, by_rho.epsilon * Fraction(999, 1000)).value > float(delta)


def test_the_loss_is_that_of_dp_accounting() -> None:
    distributions = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    for sigma in (1.5, 4.0):
        theirs = distributions.from_discrete_gaussian_mechanism(sigma, value_discretization_interval=1e-4)
        ours = dc.DiscreteGaussian(TWO, rho=1 / (2 * Fraction(sigma) ** 2))
        for epsilon in (0.3, 1.0, 2.0):
            assert dc.delta_at(ours, epsilon).value == pytest.approx(theirs.get_delta_for_epsilon(epsilon), rel=2e-3)


def test_the_loss_has_no_largest_value_and_the_divergence_is_that_of_rho() -> None:
    for n, rho in ((None, "0.1"), (40, "0.1")):
        mechanism = dc.DiscreteGaussian(TWO, n, rho=rho)
        assert dc.privacy_loss(mechanism).value == inf
        with pytest.raises(RefusedError, match="no largest loss"):
            dc.loss_profile(mechanism)
        assert dc.renyi_loss(mechanism, 8).bound == pytest.approx(0.8, rel=1e-12)
        verification = dc.verify(mechanism)
        assert verification.holds
        assert verification.slack is None
        assert "infinite" in str(verification)
        _, p = noise_law((1 if n is None else 2) / 0.2)
        power = np.exp(3.0 * np.log(p[1:-1]) - 2.0 * np.log(p[:-2])).sum()  # the divergence of order 3, from the definition
        cells = 1 if n is None else 2
        assert dc.renyi_loss(mechanism, 3).value == pytest.approx(cells * np.log(power) / 2.0, rel=1e-9)


def test_the_table_of_composed_noise() -> None:
    """Standard deviation of each of m tables at ε = 1 and δ = 1e-6 in all: noise of ε/m each, and Gaussian noise whose ρ add up."""
    for m, pure, gaussian in ((5, 7.1, 9.5), (10, 14.1, 13.4), (20, 28.3, 18.9), (100, 141.0, 42.3)):
        q = exp(-1.0 / m)
        assert sqrt(2.0 * q) / (1.0 - q) == pytest.approx(pure, abs=0.05 if m < 100 else 0.5)
        variance = m * float(least_variance(Fraction(1), Fraction(1, 10**6), 1))
        assert sqrt(variance) == pytest.approx(gaussian, abs=0.05)


@pytest.mark.slow
def test_many_releases_compose_to_the_promise_of_one_with_their_rho_together() -> None:
    """Ten of them cost about what one with a tenth of the variance does: exactly so for continuous noise."""
    pytest.importorskip("dp_accounting")
    variance = least_variance(Fraction(1), Fraction(1, 10**6), 1)
    part = dc.DiscreteGaussian(TWO, rho=1 / (20 * variance))
    assert dc.Accountant(neighbours=Relation.ADD_REMOVE_ONE).add(part, 10).epsilon("1e-6") == pytest.approx(1.0, rel=2e-3)


# --- what is promised and refused ---------------------------------------------------------------------------------------


def test_rho_is_said_and_kept() -> None:
    mechanism = dc.DiscreteGaussian(PRIOR, rho="0.05", delta="1e-6")
    assert mechanism.rho == Fraction(1, 20)
    assert mechanism.noise.variance == 10.0
    assert "ρ = 0.05 by proof" in str(mechanism.guarantee)
    assert dc.DiscreteGaussian(PRIOR, 100, rho="0.05").noise.variance == 20.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "epsilon must be given"),
        ({"epsilon": 1, "delta": 0}, "delta above 0"),
        ({"epsilon": 1, "delta": "1e-400"}, "1e-300"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"epsilon": 10**7}, "at most 1,000,000"),
        ({"rho": -1}, "rho"),
        ({"epsilon": 1, "impossible": [("north", "never")]}, "by="),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        dc.DiscreteGaussian(PRIOR, 100, **options)  # type: ignore[call-overload]


def test_noise_that_is_too_wide_is_refused() -> None:
    for options in ({"epsilon": "1e-6"}, {"rho": "1e-12"}):
        with pytest.raises(TooLargeError, match="65,536"):
            dc.DiscreteGaussian(PRIOR, **options)  # type: ignore[call-overload]


def test_a_promise_that_the_noise_does_not_keep_is_none() -> None:
    forged = dc.DiscreteGaussian(PRIOR, 100, "0.1", delta="1e-9", rho=1)
    assert forged.guarantee.basis == "none"
    with pytest.raises(RefusedError, match="no privacy guarantee"):
        forged.release([50, 30, 20])
    record = dc.DiscreteGaussian(PRIOR, 100, 1).release([50, 30, 20], source=SeededBits(1), steady=False)
    honest = dc.DiscreteGaussian(PRIOR, 100, 1).release([50, 30, 20], steady=False).to_json()
    assert dc.Release.from_json(honest).guarantee.rho == dc.DiscreteGaussian(PRIOR, 100, 1).rho
    assert record.guarantee.basis == "none"
    rho = str(dc.DiscreteGaussian(PRIOR, 100, 1).rho)
    assert rho in honest
    with pytest.raises(ClaimError):
        dc.Release.from_json(honest.replace(rho, "5"))


# --- draws and laws -----------------------------------------------------------------------------------------------------


def test_draws_have_the_law_and_not_that_of_ten_percent_more_noise() -> None:
    mechanism = dc.DiscreteGaussian(PRIOR, 60, rho="0.1")
    source = SeededBits(21)
    raw = [mechanism._sampler([30, 20, 10]).draw(source) for _ in range(4000)]
    noise = [z - x for one in raw for z, x in zip(one, (30, 20, 10), strict=True)]
    assert law_of(Fraction(10)).p_value(noise) > FALSE_ALARM
    assert law_of(Fraction(121, 10)).p_value(noise) < FALSE_ALARM
    assert len({sum(one) for one in raw}) > 10  # noisy counts do not add up to n


@pytest.mark.parametrize("n", [None, 5])
def test_the_law_is_that_of_independent_noise_on_every_count(n: int | None) -> None:
    mechanism, counts = dc.DiscreteGaussian(TWO, n, rho="1/3"), (3, 2)
    d, p = noise_law(float(mechanism.noise.variance))
    expected: brute.Probabilities = {}
    for one, other in product(range(len(d)), repeat=2):
        z = (3 + int(d[one]), 2 + int(d[other]))
        reported = tuple(max(x, 0) for x in z) if n is None else brute.nearest_counts(z, n)
        expected[reported] = expected.get(reported, 0.0) + float(p[one] * p[other])
    law = mechanism.law(counts)
    found = brute.as_dict(law.counts, law.probability)
    assert brute.largest_difference(found, expected) < 1e-12
    rng = np.random.default_rng(3)
    draws = mechanism.simulate(counts, 20_000, rng)
    assert (draws.mean(axis=0) - law.probability @ law.counts) == pytest.approx(0.0, abs=0.1)
    assert mechanism.log_prob(counts, [4, 9]) == pytest.approx(np.log(p[d == 1] * p[d == 7]).item(), abs=1e-11)


# --- records ------------------------------------------------------------------------------------------------------------


def tables() -> list[dc.DiscreteGaussian[NDArray[np.int64]]]:
    return [dc.DiscreteGaussian(PRIOR, n, 1, delta="1e-6", by=BY) for n in (None, 90, (50, 40))]


def test_records_come_back_as_they_were(tmp_path: Path) -> None:
    single = dc.DiscreteGaussian(PRIOR, 60, 1, delta="1e-6").release([30, 20, 10], source=SeededBits(2), steady=False)
    assert dc.Release.from_json(single.to_json()) == single
    assert pickle.loads(pickle.dumps(single)) == single  # noqa: S301  our own bytes
    for number, mechanism in enumerate(tables()):
        release, again = (mechanism.release([[30, 15, 5], [20, 10, 10]], source=SeededBits(4), steady=False) for _ in range(2))
        assert release == again
        assert dc.Release.from_json(release.to_json()) == release
        release.to_parquet(tmp_path / f"{number}.parquet")
        assert dc.Release.from_parquet(tmp_path / f"{number}.parquet") == release
        assert pickle.loads(pickle.dumps(release)) == release  # noqa: S301
        if release.sizes is not None:  # they are sums of the reported counts, and not of the noisy ones
            with pytest.raises(RefusedError, match="public sizes are no sums"):
                dc.summaries(tmp_path / f"{number}.parquet")
        total = {0: None, 1: 90, 2: 90}[number]
        assert total is None or int(release.counts.sum()) == total
        assert total is None or int(release.raw.sum()) != total


# --- posteriors ---------------------------------------------------------------------------------------------------------


def posterior_means(z: tuple[int, ...], n: int | None, variance: float, most: int) -> NDArray[np.float64]:
    """E θ under Dir(1, …), by going through all true counts of total n, or of every total up to `most` with a flat prior."""
    k, means, total = len(z), np.zeros(len(z)), 0.0
    for size in [n] if n is not None else range(most):
        points = simplex_points(size, k)
        log_p = -((np.array(z) - points) ** 2).sum(axis=1) / (2.0 * variance) + gammaln(size + 1.0) - gammaln(size + float(k))
        weight = np.exp(log_p)
        means += weight @ ((1.0 + points) / (k + size))
        total += weight.sum()
    return means / total


@pytest.mark.parametrize(("raw", "n"), [((9, 4, -1), 12), ((25, -3, 2), 12), ((6, 4, 1), None), ((-2, 0, 5), None)])
def test_posteriors_are_those_of_an_enumeration(raw: tuple[int, ...], n: int | None) -> None:
    mechanism = dc.DiscreteGaussian(dc.Dirichlet([1, 1, 1]), n, rho="0.2")
    release = dc.Release(mechanism, mechanism.guarantee, raw, mechanism.report.one(raw))
    expected = posterior_means(raw, n, float(mechanism.noise.variance), 70)
    assert release.noise_aware().mean() == pytest.approx(expected, abs=CLOSE)
    assert np.abs(posterior_means(raw, n, 1.21 * float(mechanism.noise.variance), 70) - expected).max() > 1e-4


@pytest.mark.parametrize("n", mostly_slow([None, (12, 8)], 2))
def test_posteriors_of_small_tables_are_those_of_an_enumeration(n: tuple[int, ...] | None) -> None:
    mechanism = dc.DiscreteGaussian(dc.Dirichlet([1, 1, 1]), n, rho="0.2", by=BY)
    raw = np.array([[9, 4, -1], [2, 5, 3]])
    release = dc.Release(mechanism, mechanism.guarantee, raw, mechanism.report.one(raw))
    posterior = release.noise_aware()
    for row, group in enumerate(("north", "south")):
        z = tuple(raw[row].tolist())
        expected = posterior_means(z, None if n is None else n[row], float(mechanism.noise.variance), 70)
        assert posterior[group].mean() == pytest.approx(expected, abs=CLOSE)
        assert posterior.mean()[row] == pytest.approx(expected, abs=1e-8)


def test_posteriors_of_a_small_table_with_a_public_total_are_those_of_an_enumeration() -> None:
    n, prior = 9, dc.Dirichlet([1, 1])
    mechanism = dc.DiscreteGaussian(prior, n, rho="0.2", by=BY)
    raw = np.array([[5, -1], [2, 4]])
    release = dc.Release(mechanism, mechanism.guarantee, raw, mechanism.report.one(raw))
    points = simplex_points(n, 4)
    sizes = np.stack([points[:, :2].sum(axis=1), points[:, 2:].sum(axis=1)], axis=1)
    log_p = -((raw.ravel() - points) ** 2).sum(axis=1) / (2.0 * float(mechanism.noise.variance))
    log_p = log_p + (gammaln(sizes + 1.0) - gammaln(sizes + 2.0)).sum(axis=1)  # Dirichlet-multinomial within groups; shares are flat
    weight = np.exp(log_p - logsumexp(log_p))
    for group, name in enumerate(("north", "south")):
        expected = weight @ ((1.0 + points[:, 2 * group]) / (2.0 + sizes[:, group]))
        assert release.noise_aware()[name].mean()[0] == pytest.approx(expected, abs=CLOSE)


# --- reports ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "raw"), [(6, (2, -9)), (6, (-4, 9)), (6, (3, 7)), (None, (-6, -5)), (None, (8, -7)), (None, (-4, 9))])
def test_the_best_report_knows_how_far_outside_a_noisy_count_lies(n: int | None, raw: tuple[int, int]) -> None:
    """The argmin over all candidates of the posterior's mean distance, from the definition; cut to [-1, n + 1] some would be others."""
    mechanism = dc.DiscreteGaussian(TWO, n, rho="0.1")
    points = simplex_points(6, 2) if n is not None else np.stack(np.meshgrid(np.arange(40), np.arange(40)), axis=-1).reshape(-1, 2)
    a, total = np.array([1.0, 2.0]), points.sum(axis=1)
    log_prior = gammaln(total + 1.0) - gammaln(3.0 + total) + (gammaln(a + points) - gammaln(points + 1.0)).sum(axis=1)
    logs = log_prior - (np.subtract(raw, points) ** 2).sum(axis=1) / (2.0 * float((1 if n is None else 2) / (2 * mechanism.rho)))
    weight = np.exp(logs - logsumexp(logs))
    points, weight = points[weight > 1e-12], weight[weight > 1e-12]
    candidates = simplex_points(6, 2) if n is not None else points[(points < 20).all(axis=1)]
    one, other = a + points, a + candidates[:, None]
    gaps = 0.5 * (gammaln(one) + gammaln(other)) - gammaln((one + other) / 2.0)
    one, other = one.sum(axis=-1), other.sum(axis=-1)
    divergence = gaps.sum(axis=-1) - 0.5 * (gammaln(one) + gammaln(other)) + gammaln((one + other) / 2.0)
    errors = np.sqrt(np.maximum(-np.expm1(-divergence), 0.0)) @ weight
    assert dc.Remapped(mechanism).report.one(raw) == tuple(candidates[errors.argmin()].tolist())
