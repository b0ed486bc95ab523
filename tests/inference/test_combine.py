"""Several releases read together. Oracle: the definition, summed over the true counts of every release, or integrated over θ."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import betainc, betaln, gammaln, logsumexp
from scipy.stats import binom, chisquare

import discreet as dc
from discreet.mechanisms import Mechanism
from tests.inference.coverage import TOLERANCE, make, release_of, two_categories
from tests.support import lattice, lowered, mostly_slow

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
GRID = np.array([0.01, 0.1, 0.3, 0.5, 0.7, 0.95])
BY_CELL = [dc.LatticeGeometric, dc.LaplaceHistogram, dc.LaplaceZhang, dc.LaplaceDimension]
EXPONENTIAL = [dc.HellingerGlobal, dc.HellingerSmooth, dc.HellingerLocal]
FALSE_ALARM = 1e-6
DRAWS = {"POOLED_PRODUCTS": 1}
"""Limits with which releases of new records are always read by draws."""


# --- the definition ---------------------------------------------------------------------------------------------------


def _log_likelihood(release: dc.Release, points: Ints) -> Floats:
    """ln P(z | x) from textbook formulas, up to a constant."""
    mechanism, raw = release.mechanism, np.array(release.raw)
    if isinstance(mechanism, dc.LatticeGeometric):
        step = 1.0 if mechanism.n is None else 0.5
        return np.asarray(-step * float(mechanism.epsilon) * np.abs(raw - points).sum(axis=1), dtype=np.float64)
    if isinstance(mechanism, dc.LaplaceZhang | dc.LaplaceHistogram | dc.LaplaceDimension):
        noise = raw - points[:, : len(raw)]
        return np.asarray(-np.where(noise >= 0, noise, -noise - 1).sum(axis=1) / float(mechanism._scale), dtype=np.float64)
    return np.array([mechanism.log_prob(x, raw) for x in points])


def _points(release: dc.Release, n: int | None, most: int) -> Ints:
    """All counts of total n; of up to `most` records where n is private."""
    k = release.prior.k
    return lattice(n, k) if n is not None else np.concatenate([lattice(total, k) for total in range(most + 1)])


def _log_split(points: Ints) -> Floats:
    return np.asarray(gammaln(points.sum(axis=1) + 1.0) - gammaln(points + 1.0).sum(axis=1))


def _log_prior(a: Floats, points: Ints) -> Floats:
    return np.asarray(gammaln(a + points).sum(axis=1) - gammaln(a.sum() + points.sum(axis=1)))


def _by_definition(releases: Sequence[dc.Release], a: Floats, most: int, *, same_data: bool) -> tuple[Ints, Floats]:
    """All counts, of the same records or of all releases together, and their posterior probabilities."""
    if same_data:
        public = [release.n for release in releases if release.n is not None]
        points = _points(releases[0], public[0] if public else None, most)
        log_weight = sum((_log_likelihood(release, points) for release in releases), _log_split(points) + _log_prior(a, points))
        return points, np.exp(log_weight - logsumexp(log_weight))
    pooled, logs = np.zeros((1, len(a)), dtype=np.int64), np.zeros(1)
    for release in releases:
        points = _points(release, release.n, most)
        own = _log_likelihood(release, points) + _log_split(points)
        pooled = (pooled[:, None] + points).reshape(-1, len(a))
        logs = np.add.outer(logs, own).ravel()
        pooled, place = np.unique(pooled, axis=0, return_inverse=True)
        top = float(logs.max())
        logs = np.log(np.bincount(place.ravel(), np.exp(logs - top))) + top
    log_weight = logs + _log_prior(a, pooled)
    return pooled, np.exp(log_weight - logsumexp(log_weight))


def _largest_difference(posterior: Any, points: Ints, weight: Floats, a: Floats) -> float:
    """Between a posterior and a list: in means, deviations, distribution functions, laws of counts and of the total."""
    n, total = points.sum(axis=1), a.sum()
    shape, whole = a + points, (total + n)[:, None]
    mean = weight @ (shape / whole)
    square = weight @ (shape * (shape + 1.0) / (whole * (whole + 1.0)))
    found = [np.abs(posterior.mean() - mean).max(), np.abs(posterior.var() - (square - mean**2)).max()]
    sizes = np.bincount(n, weight)
    found.append(np.abs(posterior.size.pmf(np.arange(len(sizes))) - sizes).max())
    for i, category in enumerate(posterior.categories):
        expected = weight @ betainc(shape[:, i, None], whole - shape[:, i, None], GRID)
        found.append(np.abs(posterior.marginal(category).cdf(GRID) - expected).max())
        counts, probability = posterior.count_probabilities(category)
        law = np.bincount(points[:, i], weight, minlength=int(counts[-1]) + 1)
        found.append(np.abs(law[counts] - probability).max())
    return float(max(found))


# --- random worlds ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """Releases, and how many records of a private total hold all but 1e-13 of it."""

    releases: tuple[dc.Release, ...]
    most: int


def _release(rng: np.random.Generator, prior: Any, n: int | None, stretched: float = 1.0) -> dc.Release:
    """A random mechanism with a random outcome, which may be far from all likely ones; read as if ε were `stretched` times what it is."""
    k = prior.k
    if n is None:
        epsilon = float(np.round(rng.uniform(2.0, 4.0) if k == 2 else rng.uniform(4.0, 6.0), 2))
        raw = tuple(rng.integers(-2, 7 if k == 2 else 3, k).tolist())
        return release_of(dc.LatticeGeometric(prior, epsilon=repr(stretched * epsilon)), raw)
    cls = rng.choice(np.array([*BY_CELL, *EXPONENTIAL], dtype=object))
    epsilon = float(np.round(rng.uniform(0.2, 3.0), 2))
    own = make(cls, prior, n, repr(stretched * epsilon))
    raw = own._simulate_raw(rng.multinomial(n, rng.dirichlet(np.ones(k))), 1, rng)[0]
    return release_of(own, tuple(raw.tolist()))


def _world(seed: int, *, same_data: bool, stretched: float = 1.0) -> World:
    rng = np.random.default_rng([seed, same_data])
    k = 2 + seed % 3
    a = np.round(10.0 ** rng.uniform(-1.0, 1.0, k), 3).tolist()
    prior, several = dc.Dirichlet(a), int(rng.integers(2, 4)) if k < 4 else 2
    n = int(rng.integers(2, {2: 20, 3: 8, 4: 6}[k]))
    kinds = [None if (k < 4 or same_data) and rng.random() < 0.3 else 1 for _ in range(several)]
    if k == 3 and not same_data and kinds.count(None) > 1:
        kinds = [None, *[1] * (several - 1)]
    sizes = [None if kind is None else n if same_data else int(rng.integers(1, n + 1)) for kind in kinds]
    releases = tuple(_release(rng, prior, size, stretched) for size in sizes)
    return World(releases, 30 if k == 2 else 16 if k == 3 else 12)


@pytest.mark.parametrize("same_data", [True, False])
@pytest.mark.parametrize("seed", mostly_slow(range(100), 16))
def test_random_worlds_match_the_definition(seed: int, same_data: bool) -> None:
    world = _world(seed, same_data=same_data)
    a = world.releases[0].prior.concentration
    points, weight = _by_definition(world.releases, a, world.most, same_data=same_data)
    posterior = dc.combine(world.releases, same_data=same_data)
    assert _largest_difference(posterior, points, weight, a) < 1e-10
    with lowered(POSTERIOR_CANDIDATES=1 if all(r.mechanism.noise is not None for r in world.releases) else 4000):
        posterior = dc.combine(world.releases, same_data=same_data)  # by windows and convolutions
        assert _largest_difference(posterior, points, weight, a) < 1e-10


@pytest.mark.parametrize("same_data", [True, False])
def test_a_tenth_less_noise_is_told_apart(same_data: bool) -> None:
    for seed in range(6):
        world = _world(seed, same_data=same_data)
        wrong = _world(seed, same_data=same_data, stretched=1.1)
        read_as = [release_of(w.mechanism, r.raw) for r, w in zip(world.releases, wrong.releases, strict=True)]
        a = world.releases[0].prior.concentration
        listed = _by_definition(world.releases, a, world.most, same_data=same_data)
        assert _largest_difference(dc.combine(read_as, same_data=same_data), *listed, a) > 1e-6


# --- large ones -------------------------------------------------------------------------------------------------------


def test_totals_are_constraints_of_their_own() -> None:
    """Adding the two posteriors of the counts as if they were independent gives 0.243 to 0.784."""
    low, high = dc.combine(two_categories(dc.Beta(1, 1), 20, 0.3, (18, 3)), same_data=False).interval(0.95)[0]
    assert (round(low, 3), round(high, 3)) == (0.090, 0.938)


@pytest.mark.parametrize(
    ("n", "epsilon", "first"),
    [(6000, 0.05, (2000, 2100)), (6000, 2.0, (300, 800)), (5000, 0.01, (-200, 5100)), (10**6, 0.02, (400_000, 401_000))],
)
def test_the_same_records_many_of_them_match_the_full_sum(n: int, epsilon: float, first: tuple[int, int]) -> None:
    prior = dc.Beta(1.5, 0.5)
    posterior = dc.combine(two_categories(prior, n, epsilon, first), same_data=True)
    x = np.arange(n + 1)
    log_weight = prior.predictive(n).logpmf(np.stack([x, n - x], axis=1)) - epsilon * sum(np.abs(z - x) for z in first)
    weight = np.exp(log_weight - logsumexp(log_weight))
    counts, probability = posterior.count_probabilities("success")
    assert np.abs(weight[counts] - probability).sum() + weight[: counts[0]].sum() + weight[counts[-1] + 1 :].sum() < 1e-10
    assert posterior.omitted < TOLERANCE["omitted"]


@pytest.mark.parametrize(
    "world",
    mostly_slow([((400, 300), 1.0, (40, 120)), ((10**6, 10**5), 0.5, (300_000, 30_200))], 1),
    ids=["conflict", "a million"],
)
def test_new_records_match_an_integral_over_the_probability(world: Any) -> None:
    n, epsilon, first = world
    prior = dc.Beta(2, 0.7)
    releases = [release_of(dc.LatticeGeometric(prior, m, epsilon), (z, m - z)) for m, z in zip(n, first, strict=True)]
    posterior = dc.combine(releases, same_data=False)
    assert isinstance(posterior, dc.NoiseAware)
    assert posterior.omitted < 1e-13
    mean, std = float(posterior.mean()[0]), float(posterior.std()[0])
    centre = np.log(mean / (1.0 - mean))
    reach = 14.0 * std / (mean * (1.0 - mean))
    y = np.linspace(centre - reach, centre + reach, 201)
    theta = 1.0 / (1.0 + np.exp(-y))
    log_density = 2.0 * np.log(theta) + 0.7 * np.log1p(-theta)
    for m, z in zip(n, first, strict=True):
        x = np.arange(max(0, z - 4000), min(m, z + 4000) + 1)
        own = [logsumexp(binom.logpmf(x, m, t) - epsilon * np.abs(z - x)) for t in theta]
        log_density = log_density + np.array(own)
    density = np.exp(log_density - log_density.max())
    expected = float((density * theta).sum() / density.sum())  # a trapezoid sum of a smooth function that vanishes at both ends
    assert abs(mean - expected) < 1e-9 * (1.0 + expected / std)
    variance = float((density * (theta - expected) ** 2).sum() / density.sum())
    assert std == pytest.approx(variance**0.5, rel=1e-7)


def test_noise_as_wide_as_the_data_matches_the_sum_over_all_counts() -> None:
    """Logarithms of weights are too far apart here for floats to hold their products."""
    prior, n, first, epsilon = dc.Beta(2, 0.7), (2000, 1500), (900, 1000), 0.01
    releases = [release_of(dc.LatticeGeometric(prior, m, epsilon), (z, m - z)) for m, z in zip(n, first, strict=True)]
    counts = [np.arange(m + 1) for m in n]
    one, other = (-epsilon * np.abs(z - x) - gammaln(x + 1.0) - gammaln(m - x + 1.0) for m, z, x in zip(n, first, counts, strict=True))
    log_weight, pooled = np.full(sum(n) + 1, -np.inf), np.arange(sum(n) + 1)
    for x, log in enumerate(one.tolist()):
        log_weight[x : x + n[1] + 1] = np.logaddexp(log_weight[x : x + n[1] + 1], log + other)
    log_weight = log_weight + gammaln(2.0 + pooled) + gammaln(0.7 + pooled[::-1])
    weight = np.exp(log_weight - logsumexp(log_weight))
    posterior = dc.combine(releases, same_data=False)
    found, probability = posterior.count_probabilities("success")
    assert np.abs(weight[found] - probability).sum() + weight[: found[0]].sum() + weight[found[-1] + 1 :].sum() < 1e-10


def test_many_records_by_sums_and_by_draws_agree() -> None:
    """Markov chains have nothing in common with the sum over pairs of counts but the definition."""
    prior = dc.Dirichlet([1, 0.5, 2])
    releases = [release_of(dc.LatticeGeometric(prior, n, 2), raw) for n, raw in ((1000, (160, 290, 550)), (700, (145, 162, 393)))]
    summed = dc.combine(releases, same_data=False)
    with lowered(**DRAWS):
        drawn = dc.combine(releases, same_data=False, rng=3)
    assert isinstance(drawn, dc.CombinedDraws)
    assert summed.omitted < 1e-13
    assert (np.abs(drawn.mean() - summed.mean()) < 6.0 * drawn.mean_error()).all()
    assert (np.abs(drawn.interval(0.9) - summed.interval(0.9)) < 6.0 * drawn.interval_error(0.9)).all()


# --- coverage ---------------------------------------------------------------------------------------------------------


def _worst(drawn: Sequence[Mechanism], read_as: Sequence[Mechanism], *, same_data: bool) -> tuple[float, float]:
    """Coverage of 95 % intervals over the prior, the data and the noise; and the largest deviation given any outcome. Two categories."""
    a, b = drawn[0].prior.concentration
    sizes = [m.space.total for m in drawn]
    laws = [[m._raw_law(np.array([x, m.space.total - x])) for x in range(m.space.total + 1)] for m in drawn]
    chances = [np.stack([law.probability for law in own]) for own in laws]
    if same_data:
        x = np.arange(sizes[0] + 1)
        log_prior = (
            gammaln(sizes[0] + 1.0) - gammaln(x + 1.0) - gammaln(sizes[0] - x + 1.0) + betaln(a + x, b + sizes[0] - x) - betaln(a, b)
        )
        first, second, rest = a + x, b + sizes[0] - x, np.exp(log_prior)
    else:
        x, y = (grid.ravel() for grid in np.meshgrid(*[np.arange(n + 1) for n in sizes], indexing="ij"))
        split = sum(gammaln(n + 1.0) - gammaln(c + 1.0) - gammaln(n - c + 1.0) for n, c in zip(sizes, (x, y), strict=True))
        first, second = a + x + y, b + sum(sizes) - x - y
        rest = np.exp(split + betaln(first, second) - betaln(a, b))
        chances = [chances[0][x], chances[1][y]]
    covered = worst = 0.0
    for z1, raw1 in enumerate(laws[0][0].counts):
        for z2, raw2 in enumerate(laws[1][0].counts):
            joint = rest * chances[0][:, z1] * chances[1][:, z2]
            chance = float(joint.sum())
            raws = tuple(raw1.tolist()), tuple(raw2.tolist())
            releases = [release_of(m, raw) for m, raw in zip(read_as, raws, strict=True)]
            low, high = dc.combine(releases, same_data=same_data).marginal("success").interval(0.95)
            inside = float(joint @ (betainc(first, second, high) - betainc(first, second, low)))
            covered, worst = covered + inside, max(worst, abs(inside / chance - 0.95))
    return covered, worst


@pytest.mark.parametrize("same_data", [True, False])
def test_combined_intervals_cover_what_they_promise(same_data: bool) -> None:
    prior = dc.Beta(1, 0.5)
    drawn = [dc.LatticeGeometric(prior, 7, 0.4), make(dc.HellingerSmooth, prior, 7 if same_data else 5, 2)]
    covered, worst = _worst(drawn, drawn, same_data=same_data)
    assert abs(covered - 0.95) < TOLERANCE["coverage"]
    assert worst < TOLERANCE["coverage"]


@pytest.mark.parametrize("same_data", [True, False])
def test_the_coverage_test_can_fail(same_data: bool) -> None:
    prior = dc.Beta(1, 0.5)
    drawn, read_as = ([dc.LatticeGeometric(prior, 7, epsilon), dc.LatticeGeometric(prior, 7, 0.5)] for epsilon in ("0.6", "0.66"))
    covered, worst = _worst(drawn, read_as, same_data=same_data)
    assert abs(covered - 0.95) > 1e-5
    assert worst > 1e-3


# --- draws ------------------------------------------------------------------------------------------------------------


def _drawn_cases() -> list[list[dc.Release]]:
    three, two = dc.Dirichlet([1, 0.5, 2]), dc.Beta(1, 2)
    return [
        two_categories(dc.Beta(1, 1), 20, 0.3, (18, 3)),
        [
            release_of(dc.LatticeGeometric(three, 12, 0.5), (7, -2, 7)),
            release_of(dc.LaplaceHistogram(three, 9, 1), (3, 4)),
            release_of(dc.LaplaceZhang(three, 6, 1), (3, 1, 4)),
        ],
        [release_of(dc.LatticeGeometric(two, epsilon=1), (6, 9)), release_of(dc.LatticeGeometric(two, epsilon=2), (-1, 4))],
    ]


@pytest.mark.parametrize("case", mostly_slow(range(3), 1), ids=lambda i: ["two", "three categories and releases", "private n"][i])
def test_draws_follow_the_exact_law(case: int) -> None:
    releases = _drawn_cases()[case]
    exact = dc.combine(releases, same_data=False)
    with lowered(**DRAWS):
        drawn = dc.combine(releases, same_data=False, chains=2000, rng=5)
    assert not isinstance(exact, dc.CombinedDraws)
    assert isinstance(drawn, dc.CombinedDraws)
    assert (np.abs(drawn.mean() - exact.mean()) < 5.0 * drawn.mean_error()).all()
    assert (drawn.mean_error() < 0.05 * exact.std()).all()
    assert (np.abs(drawn.interval(0.9) - exact.interval(0.9)) < 5.0 * drawn.interval_error(0.9)).all()
    assert _chi_squared(exact, drawn) > FALSE_ALARM


def _chi_squared(exact: Any, drawn: Any) -> float:
    """Of the last states of the chains, which are independent, against the law of the first category's count."""
    counts, probability = exact.count_probabilities(exact.categories[0])
    seen = np.bincount(np.clip(drawn.states[:, -1, 0] - counts[0], 0, len(counts) - 1), minlength=len(counts))
    few = probability * drawn.chains < 8.0
    expected = np.append(probability[~few], probability[few].sum()) * drawn.chains
    return float(chisquare(np.append(seen[~few], seen[few].sum()), expected * drawn.chains / expected.sum()).pvalue)


@pytest.mark.slow
def test_draws_with_a_tenth_less_noise_are_told_apart() -> None:
    """By the variance of the count, in standard errors of the averages of independent chains."""
    drawn_from, read_as = (two_categories(dc.Beta(1, 1), 60, epsilon, (30, 31)) for epsilon in ("0.2", "0.22"))
    counts, probability = dc.combine(drawn_from, same_data=False).count_probabilities("success")
    mean = float(counts @ probability)
    variance = float((counts - mean) ** 2 @ probability)
    with lowered(**DRAWS):
        drawn: list[Any] = [dc.combine(releases, same_data=False, chains=4000, rng=5) for releases in (drawn_from, read_as)]
    averages = [((one.states[..., 0] - mean) ** 2).mean(axis=1) for one in drawn]
    right, wrong = ((each.mean() - variance) / (each.std() / len(each) ** 0.5) for each in averages)
    assert abs(right) < 5.0
    assert abs(wrong) > 7.0


def test_draws_say_that_they_are_draws() -> None:
    with lowered(**DRAWS):
        drawn, again = (dc.combine(two_categories(dc.Beta(1, 1), 20, 1, (9, 12)), same_data=False, chains=64, rng=1) for _ in range(2))
    assert "Monte Carlo error" in repr(drawn)
    assert drawn.n == 40
    np.testing.assert_array_equal(drawn.mean(), again.mean())


def test_where_neither_sums_nor_draws_do_it_is_refused() -> None:
    prior = dc.Beta(1, 1)
    releases = [release_of(make(dc.HellingerSmooth, prior, 12, 1), (5, 7)), release_of(make(dc.HellingerSmooth, prior, 12, 1), (6, 6))]
    with lowered(**DRAWS), pytest.raises(dc.TooLargeError, match="HellingerSmooth"):
        dc.combine(releases, same_data=False)
    with lowered(**DRAWS, CHAIN_STEPS=4), pytest.raises(dc.TooLargeError, match="settle"):
        dc.combine(two_categories(prior, 10**6, 0.0001, (10, 10**6)), same_data=False, chains=8, rng=1)


def test_counts_that_are_too_many_to_list_are_refused_by_their_mechanism_before_they_are_listed() -> None:
    mechanism = make(dc.HellingerSmooth, dc.Dirichlet.uniform(4), 1000, 1)
    releases = [release_of(mechanism, raw) for raw in ((250, 250, 250, 250), (240, 260, 250, 250))]
    with pytest.raises(dc.TooLargeError, match=r"HellingerSmooth.* 167,668,501 "):
        dc.combine(releases, same_data=True)
