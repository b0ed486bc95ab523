"""Noise-aware posteriors where n is private. Oracle: the definition, summed over all counts out to where next to nothing is left."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.special import betainc, gammaln, logsumexp

import discreet as dc
from discreet.betas.mixtures import BetaMixture
from discreet.inference.true_counts import counts_of_outcomes
from discreet.mechanisms.lattice import GeometricNoise
from discreet.model.size_priors import size_prior_of
from tests.inference.coverage import TOLERANCE, ks_p_value, release_of
from tests.support import lowered, mostly_slow

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FALSE_ALARM = 1e-6


@dataclass(frozen=True)
class World:
    """A prior, a noise, an outcome and a prior on n."""

    a: tuple[float, ...]
    epsilon: float
    raw: tuple[int, ...]
    size_prior: Any = "flat"
    log_size: Callable[[Ints], Floats] = np.zeros_like

    def posterior(self, epsilon: float | None = None) -> dc.NoiseAware:
        mechanism = dc.LatticeGeometric(dc.Dirichlet(self.a), epsilon=self.epsilon if epsilon is None else epsilon)
        return release_of(mechanism, self.raw).noise_aware(size_prior=self.size_prior)

    def listed(self, most: int) -> tuple[Ints, Floats]:
        """All counts of up to this many records and their posterior probabilities, from the textbook formulas."""
        points = _points(len(self.a), most)
        n, a = points.sum(axis=1), np.array(self.a)
        with np.errstate(divide="ignore"):
            log_weight = self.log_size(n) + gammaln(n + 1.0) - gammaln(a.sum() + n)
        log_weight = log_weight + (gammaln(a + points) - gammaln(points + 1.0)).sum(axis=1)
        log_weight = log_weight - self.epsilon * np.abs(np.array(self.raw) - points).sum(axis=1)
        return points, np.exp(log_weight - logsumexp(log_weight))


def _points(k: int, most: int) -> Ints:
    axes = np.meshgrid(*[np.arange(most + 1)] * k, indexing="ij")
    points = np.stack([axis.ravel() for axis in axes], axis=-1)
    return np.asarray(points[points.sum(axis=1) <= most], dtype=np.int64)


def _random_world(seed: int) -> tuple[World, int]:
    """A world small enough to list, and how many records hold all but 1e-14 of it."""
    rng = np.random.default_rng(seed)
    k = 2 + seed % 2
    epsilon = float(np.round(rng.uniform(0.25, 3.0) if k == 2 else rng.uniform(1.0, 4.0), 3))
    a = tuple(np.round(10.0 ** rng.uniform(-2.0, 1.3, k), 4).tolist())
    raw = tuple(rng.integers(-5, 25 if k == 2 else 9, k).tolist())
    mean, shape = float(rng.integers(2, 40)), 1.5
    table = np.log(rng.uniform(0.01, 1.0, 30))

    def of_table(n: Ints) -> Floats:
        return np.where(n < len(table), table[np.minimum(n, len(table) - 1)], -np.inf)

    def negative_binomial(n: Ints) -> Floats:
        return np.asarray(stats.nbinom.logpmf(n, shape, shape / (shape + mean)))

    priors: list[tuple[Any, Callable[[Ints], Floats]]] = [
        ("flat", lambda n: np.zeros(len(n))),
        (f"poisson:{mean:g}", lambda n: np.asarray(stats.poisson.logpmf(n, mean))),
        (f"negative-binomial:{mean:g},{shape}", negative_binomial),
        (table, of_table),
        (lambda n: -0.1 * n, lambda n: np.asarray(-0.1 * n, dtype=np.float64)),
    ]
    size_prior, log_size = priors[seed // 2 % len(priors)]
    spread = 20.0 + (36.0 + 2.0 * sum(a)) / epsilon
    return World(a, epsilon, raw, size_prior, log_size), int(sum(max(z, 0) for z in raw) + spread)


GRID = np.array([0.01, 0.1, 0.3, 0.5, 0.7, 0.95])


def _largest_difference(world: World, most: int, posterior: dc.NoiseAware) -> float:
    """Between the posterior and the list: in means, distribution functions, laws of counts and the law of n."""
    points, weight = world.listed(most)
    n, total = points.sum(axis=1), sum(world.a)
    sizes = np.bincount(n, weight, minlength=most + 1)
    found = [np.abs(posterior.size.pmf(np.arange(most + 1)) - sizes).max()]
    found.append(abs(posterior.size.mean() - n @ weight) / (1.0 + n @ weight))
    for i, a in enumerate(world.a):
        marginal, x = posterior.marginal(posterior.categories[i]), points[:, i]
        parameters, others = (a + x)[:, None], (total - a + n - x)[:, None]
        found.append(np.abs(marginal.cdf(GRID) - weight @ betainc(parameters, others, GRID)).max())
        found.append(abs(marginal.mean() - weight @ ((a + x) / (total + n))))
        counts, probability = posterior.count_probabilities(posterior.categories[i])
        listed = np.bincount(x, weight, minlength=int(counts[-1]) + 1)
        found.append(np.abs(listed[counts] - probability).max())
    return float(max(found))


# --- against the definition -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", mostly_slow(range(120), 20))
def test_random_worlds_match_the_definition(seed: int) -> None:
    world, most = _random_world(seed)
    posterior = world.posterior()
    assert _largest_difference(world, most, posterior) < 1e-10
    assert posterior.omitted < 1e-16


@pytest.mark.parametrize("seed", range(10))
def test_a_tenth_less_noise_is_told_apart(seed: int) -> None:
    world, most = _random_world(seed)
    assert _largest_difference(world, most, world.posterior(1.1 * world.epsilon)) > 1e-6


def test_windows_follow_the_posterior_of_the_total() -> None:
    """Without a tilt the factor of x_1 has all but 1e-30 of its mass above 194; its posterior median is 108."""
    world = World((100.0, 100.0), 0.1, (100, 150))
    posterior = world.posterior()
    counts, probability = posterior.count_probabilities(posterior.categories[0])
    assert counts[np.searchsorted(np.cumsum(probability), 0.5)] == 108
    points, weight = world.listed(900)
    listed = np.bincount(points[:, 0], weight, minlength=int(counts[-1]) + 1)
    np.testing.assert_allclose(probability, listed[counts], atol=1e-12)
    free = np.arange(3000.0)
    untilted = gammaln(100.0 + free) - gammaln(free + 1.0) - 0.1 * np.abs(100.0 - free)
    assert np.searchsorted(np.cumsum(np.exp(untilted - logsumexp(untilted))), 1e-30) == 194


@pytest.mark.parametrize(
    "world",
    mostly_slow([World((1.0, 1.0), 0.05, (60, 90)), World((0.2, 3.0), 0.05, (-30, 140)), World((40.0, 9.0), 0.03, (80, 20))], 1),
    ids=["flat prior", "outcome below 0", "strong prior"],
)
def test_few_totals_stand_for_many(world: World) -> None:
    """Where there are hundreds of totals, sums over them are done on nodes."""
    assert _largest_difference(world, 1500, world.posterior()) < 1e-10


@pytest.mark.parametrize(
    ("a", "epsilon", "raw"), [((1.0, 1.0, 1.0), 0.3, (-7, 9, 120)), ((0.01, 30.0), 0.2, (2, 80)), ((1.0, 0.5), 1.0, (10**6, 10**12))]
)
def test_fast_sums_are_the_sums_over_all_components(a: tuple[float, ...], epsilon: float, raw: tuple[int, ...]) -> None:
    """At points where the factors of the matrices are in floats, and far out where they are not."""
    posterior = World(a, epsilon, raw).posterior()
    for category in posterior.categories:
        fast = posterior.marginal(category)
        plain = BetaMixture(fast.weight, fast.a, fast.b)
        middle = np.clip(plain.mean() + plain.std() * np.array([-8.0, -2.0, 0.0, 0.5, 3.0, 9.0]), 1e-9, 1.0 - 1e-9)
        points = np.concatenate([middle, [1e-200, 1e-5, 0.1, 0.6, 0.99, 1.0 - 1e-9]])
        for name in ("cdf", "sf", "pdf"):
            np.testing.assert_allclose(getattr(fast, name)(points), getattr(plain, name)(points), rtol=1e-9, atol=1e-22)
        np.testing.assert_allclose([fast.mean(), fast.var()], [plain.mean(), plain.var()], rtol=1e-10)


def test_totals_may_be_below_every_likely_count() -> None:
    """Some likely totals leave no room for the likely counts of the second category: their rows of the mixture are empty."""
    posterior = World((1.0, 40.0), 0.3, (0, 90)).posterior()
    for category, ends in zip(posterior.categories, posterior.interval(0.95), strict=True):
        law = posterior.marginal(category)
        np.testing.assert_allclose(betainc(law.a, law.b, ends[:, None]) @ law.weight, [0.025, 0.975], rtol=1e-10)


def test_wide_noise_needs_many_tilts() -> None:
    """A strong prior and noise far wider than the counts: the total is spread over more than one tilt can hold in floats."""
    a, epsilon, raw = 100.0, 0.002, (1000, 1000)
    posterior = World((a, a), epsilon, raw).posterior()
    n = np.arange(40_000)
    x = np.arange(30_000)
    factor = gammaln(a + x) - gammaln(x + 1.0) - epsilon * np.abs(raw[0] - x)
    for total in (300, 2000, 15_000):
        inside = factor[: total + 1]
        direct = logsumexp(inside + inside[::-1]) + gammaln(total + 1.0) - gammaln(2 * a + total)
        other = logsumexp(factor[:2001] + factor[:2001][::-1]) + gammaln(2001.0) - gammaln(2 * a + 2000.0)
        assert posterior.size.pmf(total) / posterior.size.pmf(2000) == pytest.approx(np.exp(direct - other), rel=1e-8)
    assert posterior.size.pmf(n).sum() == pytest.approx(1.0, abs=1e-10)
    assert posterior.omitted < 1e-15


def test_bounds_of_many_categories_that_add_up_are_made_smaller() -> None:
    """Windows that leave out 1e-22 by each category's own bound would leave out 1e-14 together here: they are widened."""
    a, raw = np.tile([0.01, 20.0], 150), (40, *(0,) * 299)
    found = counts_of_outcomes(a, [(GeometricNoise(300, 0.4), raw)], size_prior_of("flat"))
    assert found.omitted <= 1e-17


def test_a_prior_that_knows_n_gives_the_posterior_of_a_public_n() -> None:
    """Noise of slope ε on every count and a total that is known is what replace-one noise of 2ε is."""
    raw, n = (40, 25, 35), 100
    known = np.where(np.arange(n + 1) == n, 0.0, -np.inf)
    private = World((1.0, 0.5, 2.0), 0.2, raw, known).posterior()
    public = release_of(dc.LatticeGeometric(dc.Dirichlet([1.0, 0.5, 2.0]), n, 0.4), raw).noise_aware()
    np.testing.assert_allclose(private.mean(), public.mean(), rtol=1e-11)
    np.testing.assert_allclose(private.interval(0.9), public.interval(0.9), rtol=1e-9)
    assert private.size.interval(0.95) == public.size.interval(0.95) == (n, n)


# --- coverage ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Coverage:
    aware: Floats
    """Of each category's interval."""
    size: float
    size_mass: float
    """The posterior probability that the intervals of n claim, averaged over the outcomes."""
    naive: Floats


def _coverage(a: tuple[float, ...], epsilon: float, most: int, mass: float) -> Coverage:
    """Over n uniform on 0..most, data and noise, by listing: P(θ_c in interval(z) | x) summed over n, x and z."""
    points, parameters = _points(len(a), most), np.array(a)
    n, total = points.sum(axis=1), sum(a)
    constant = gammaln(n + 1.0) + gammaln(total) - gammaln(total + n) - np.log(most + 1.0)
    joint = np.exp(constant + (gammaln(parameters + points) - gammaln(parameters) - gammaln(points + 1.0)).sum(axis=1))
    mechanism = dc.LatticeGeometric(dc.Dirichlet(a), epsilon=epsilon)
    low, high = 0, most  # a noisy count beyond these tells the data apart no better than they do
    q = np.exp(-epsilon)
    law = (1.0 - q) / (1.0 + q) * q ** np.abs(np.arange(low, high + 1)[:, None] - np.arange(most + 1))
    law[0] = q ** np.arange(most + 1) / (1.0 + q)
    law[-1] = law[0][::-1]
    aware, naive, size, size_mass = np.zeros(len(a)), np.zeros(len(a)), 0.0, 0.0
    for raw in product(range(low, high + 1), repeat=len(a)):
        chance = joint * np.prod([law[z][points[:, i]] for i, z in enumerate(raw)], axis=0)
        release = release_of(mechanism, raw)
        posterior = release.noise_aware(size_prior=np.zeros(most + 1))
        first, last = posterior.size.interval(mass)
        size += float(chance[(n >= first) & (n <= last)].sum())
        size_mass += float(chance.sum() * posterior.size.pmf(np.arange(first, last + 1)).sum())
        reported = [release.reported.marginal(c).interval(mass) for c in posterior.categories]
        for intervals, result in ((posterior.interval(mass).tolist(), aware), (reported, naive)):
            for c, (start, end) in enumerate(intervals):
                one, rest = parameters[c] + points[:, c], total - parameters[c] + n - points[:, c]
                result[c] += chance @ (betainc(one, rest, end) - betainc(one, rest, start))
    return Coverage(aware, size, size_mass, naive)


WORLDS = [
    ((1.0, 1.0), 0.5, 8),
    ((0.3, 2.0), 1.0, 6),
    ((5.0, 0.5), 0.2, 7),
    ((1.0, 1.0, 1.0), 0.7, 3),
    ((0.2, 1.0, 4.0), 0.3, 3),
    ((2.0, 0.5, 0.5), 2.0, 3),
]


@pytest.mark.slow
@pytest.mark.parametrize("mass", [0.5, 0.9, 0.95])
@pytest.mark.parametrize(("a", "epsilon", "most"), WORLDS)
def test_intervals_cover_what_they_promise(a: tuple[float, ...], epsilon: float, most: int, mass: float) -> None:
    found = _coverage(a, epsilon, most, mass)
    np.testing.assert_allclose(found.aware, mass, atol=TOLERANCE["coverage"])
    assert found.size >= mass - 1e-12
    assert found.size == pytest.approx(found.size_mass, abs=TOLERANCE["coverage"])


@pytest.mark.parametrize("mass", [0.5, 0.95])
def test_intervals_of_a_small_world_cover_what_they_promise(mass: float) -> None:
    found = _coverage((1.0, 0.5), 0.5, 4, mass)
    np.testing.assert_allclose(found.aware, mass, atol=TOLERANCE["coverage"])
    assert found.size == pytest.approx(found.size_mass, abs=TOLERANCE["coverage"])
    assert found.size >= mass


@pytest.mark.slow
def test_the_reported_intervals_cover_less() -> None:
    """The contrast: n uniform on 0..30, ε = 0.5, and noisy counts taken at face value."""
    found = _coverage((1.0, 1.0), 0.5, 30, 0.95)
    np.testing.assert_allclose(found.aware, 0.95, atol=TOLERANCE["coverage"])
    assert found.naive[0] == pytest.approx(0.81, abs=0.01)


# --- hard outcomes ----------------------------------------------------------------------------------------------------


HARD = {
    "huge counts": World((1.0, 1.0, 1.0), 0.01, (10**9, 2 * 10**9, 5)),
    "all below 0": World((1.0, 2.0, 0.5), 0.1, (-(10**9), -7, -1)),
    "nothing": World((1.0,) * 30, 0.5, (0,) * 30),
    "little noise": World((0.5, 0.5, 0.5), 15.0, (5, 6, 700)),
    "tiny priors": World((1e-3, 1e-3, 1e-3), 0.1, (50, 60, 70)),
    "strong priors": World((1e6, 1e6, 2e6), 0.1, (50, 60, 70)),
    "enormous priors": World((1e12, 1e12), 0.5, (50, 60)),
    "a size prior far from the data": World((1.0, 1.0), 0.01, (10**6, 10**6), "poisson:300"),
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "huge counts")) for name in HARD])
def test_hard_outcomes_have_posteriors(name: str) -> None:
    world = HARD[name]
    posterior = world.posterior()
    assert posterior.omitted < 1e-15
    np.testing.assert_allclose(posterior.mean().sum(), 1.0, rtol=1e-9)
    first, last = posterior.size.interval(0.95)
    assert first <= posterior.size.mean() + 1
    assert posterior.size.mean() - 1 <= last
    if name == "tiny priors":  # a probability may be below every float: its law then has no quantiles that floats can hold
        return
    low, high = posterior.interval(0.95).T
    assert ((low <= posterior.mean()) & (posterior.mean() <= high)).all()
    for i, category in enumerate(posterior.categories[:3]):
        np.testing.assert_allclose(posterior.marginal(category).cdf(posterior.interval(0.9)[i]), [0.05, 0.95], rtol=1e-8)


def test_outcomes_below_0_say_no_more_than_0_does() -> None:
    near, far = (World((1.0, 2.0), 0.3, raw).posterior() for raw in ((0, 9), (-(10**12), 9)))
    np.testing.assert_allclose(near.mean(), far.mean(), rtol=1e-12)


@pytest.mark.slow
def test_a_thousand_categories() -> None:
    raw = tuple(np.random.default_rng(1).integers(-3, 60, 1000).tolist())
    posterior = World((1.0,) * 1000, 1.0, raw).posterior()
    assert posterior.omitted < 1e-15
    np.testing.assert_allclose(posterior.mean().sum(), 1.0, rtol=1e-9)


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_what_is_too_wide_is_refused_before_and_after() -> None:
    prior = dc.Dirichlet([1, 1])
    wide = dc.LatticeGeometric(prior, epsilon=1e-5)
    reason = dc.capabilities(wide).no_noise_aware
    assert reason is not None
    assert "larger epsilon" in reason
    assert "\n" not in reason
    with pytest.raises(dc.TooLargeError, match="larger epsilon"):
        release_of(wide, (10**6, 10**6)).noise_aware()
    assert dc.capabilities(dc.LatticeGeometric(prior, epsilon=0.01)).noise_aware


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("epsilon", ["0.5", "3"])
def test_totals_that_floats_cannot_count_are_refused(k: int, epsilon: str) -> None:
    """Next to 2**53 there is no float for one record more: sums over counts never ended, or had no terms."""
    mechanism = dc.LatticeGeometric(dc.Dirichlet.uniform(k), epsilon=epsilon)
    for raw in ((2**52 - 20 * (k - 1), *[20] * (k - 1)), (*[2**52 // k] * (k - 1), 2**52 - 2**52 // k * (k - 1))):
        posterior = release_of(mechanism, raw).noise_aware()
        np.testing.assert_allclose(posterior.mean(), (np.array(raw) + 1.0) / (2**52 + k), rtol=0.05)
        for more in (1, 2**52 - 30, 2**52, 2**60):
            with pytest.raises(dc.TooLargeError, match=r"more than 2\*\*52"):
                release_of(mechanism, (raw[0] + more, *raw[1:])).noise_aware()


def test_tiny_priors_are_foreseen() -> None:
    usual, tiny = dc.Dirichlet([1, 1]), dc.Dirichlet(["1e-9", "1"])
    mechanism = dc.LatticeGeometric(usual, epsilon=1)
    for found in (dc.capabilities(dc.LatticeGeometric(tiny, epsilon=1)), dc.capabilities(mechanism, tiny)):
        assert found.no_noise_aware is not None
        assert "prior parameters below 1e-08" in found.no_noise_aware
    with pytest.raises(dc.TooLargeError, match="prior parameters below 1e-08"):
        release_of(mechanism, (3, 4)).noise_aware(tiny)
    assert dc.capabilities(dc.LatticeGeometric(tiny, epsilon=1), usual).noise_aware
    assert dc.capabilities(dc.LatticeGeometric(tiny, 9, 1)).noise_aware
    assert release_of(dc.LatticeGeometric(tiny, 9, 1), (3, 6)).noise_aware().mean().sum() == pytest.approx(1.0)


def test_limits_are_the_public_ones() -> None:
    mechanism = dc.LatticeGeometric(dc.Dirichlet([1, 1]), epsilon=0.1)
    with lowered(WINDOW_CELLS=500):
        assert not dc.capabilities(mechanism).noise_aware
        with pytest.raises(dc.TooLargeError, match="at most 500"):
            release_of(mechanism, (1000, 1000)).noise_aware()


@pytest.mark.parametrize(
    ("size_prior", "message"),
    [
        ("uniform", "negative-binomial:MEAN,SHAPE"),
        ("poisson:-1", "greater than 0"),
        ("poisson:1,2", "poisson:MEAN"),
        ("negative-binomial:3", "negative-binomial:MEAN,SHAPE"),
        ([], "from 1 to"),
        ([0.0, float("nan")], "NaN"),
        ([-np.inf, -np.inf], "every log weight is -inf"),
        (lambda n: np.zeros(3), "a log weight for each n"),
        (lambda n: np.full(n.shape, np.inf), r"\+inf"),
        (lambda n: 2.0 * n, "no posterior"),
        (lambda n: n - np.log1p(n), "no posterior"),  # slower than e^{εn}, and the weights of totals still fall like 1/n only
        (3.5, "one axis"),
        (object(), "must be 'flat'"),
    ],
)
def test_size_priors_that_are_none_are_refused_in_one_line(size_prior: Any, message: str) -> None:
    release = release_of(dc.LatticeGeometric(dc.Dirichlet([1, 1]), epsilon=1), (3, 4))
    with pytest.raises(dc.InvalidInputError, match=message) as caught:
        release.noise_aware(size_prior=size_prior)
    assert "\n" not in str(caught.value)


def test_what_floats_cannot_hold_is_not_blamed_on_a_prior_that_nobody_gave() -> None:
    release = release_of(dc.LatticeGeometric(dc.Dirichlet([1, 1, 1]), epsilon=10**15), (4, 1, 0))
    with pytest.raises(dc.TooLargeError, match="beyond what floats hold"):
        release.noise_aware()
    assert release.plot().get_title().startswith("How common")  # as for every record without intervals


def test_a_size_prior_for_a_public_n_is_refused() -> None:
    release = release_of(dc.LatticeGeometric(dc.Dirichlet([1, 1]), 7, 1), (3, 4))
    with pytest.raises(dc.InvalidInputError, match=r"^size_prior is for"):
        release.noise_aware(size_prior="flat")
    assert release.noise_aware().size.probabilities()[0].tolist() == [7]


# --- draws, other libraries, people -----------------------------------------------------------------------------------


def _p_value(draws: Ints, low: int, probability: Floats) -> float:
    """Of whole numbers drawn against their law, by χ² in cells that expect at least 20."""
    cell = np.unique(np.minimum(np.cumsum(probability) * len(draws) // 20, len(draws) // 20 - 1), return_inverse=True)[1]
    expected = np.bincount(cell, probability) * len(draws)
    return float(stats.chisquare(np.bincount(cell[draws - low], minlength=len(expected)), expected * len(draws) / expected.sum()).pvalue)


@pytest.mark.parametrize(
    "world",
    [
        pytest.param(World((1.0, 0.5, 2.0, 1.0), 0.3, (20, 3, -4, 60)), id="weak prior"),
        pytest.param(World((100.0, 100.0), 0.002, (1000, 1000)), id="strong prior", marks=pytest.mark.slow),
    ],
)
def test_draws_follow_their_laws(world: World) -> None:
    posterior, wrong = world.posterior(), world.posterior(0.75 * world.epsilon)
    draws, others = (p.sample_counts(4000, np.random.default_rng(3)) for p in (posterior, wrong))
    low, size = posterior.size.low, posterior.size.probability
    assert _p_value(draws.sum(axis=1), low, size) > FALSE_ALARM
    assert _p_value(np.clip(others.sum(axis=1), low, low + len(size) - 1), low, size) < FALSE_ALARM
    for i, category in enumerate(posterior.categories):
        counts, probability = posterior.count_probabilities(category)
        assert _p_value(draws[:, i], int(counts[0]), probability) > FALSE_ALARM
    theta = posterior.sample((2, 2000), np.random.default_rng(4))
    assert theta.shape == (2, 2000, len(world.a))
    assert ks_p_value(theta[0, :, 0], posterior.marginal(posterior.categories[0]).cdf) > FALSE_ALARM


def test_the_law_of_n_has_the_verbs_of_a_distribution() -> None:
    size = World((1.0, 1.0), 0.2, (30, 40)).posterior().size
    n, probability = size.probabilities()
    assert probability.sum() == pytest.approx(1.0)
    assert size.mean() == pytest.approx(n @ probability)
    assert size.std() ** 2 == pytest.approx(size.var()) == pytest.approx((n - size.mean()) ** 2 @ probability)
    low, high = size.interval(0.9)
    assert size.cdf(high) - size.cdf(low - 1) >= 0.9
    assert size.cdf(low - 1) <= 0.05 < size.cdf(low)
    assert 1 - size.cdf(high) <= 0.05 < 1 - size.cdf(high - 1)
    assert size.ppf([0.0, 0.5, 1.0]).tolist() == [n[0], int(size.ppf(0.5)), n[-1]]
    assert size.cdf([-1, 10**9]).tolist() == pytest.approx([0.0, 1.0])
    assert abs(size.sample(4000, 1).mean() - size.mean()) < 6 * size.std() / np.sqrt(4000)
    assert repr(size).startswith("SizePosterior(mean=")
    for fault in (0.0, 1.0):
        with pytest.raises(dc.InvalidInputError, match="strictly between"):
            size.interval(fault)
    with pytest.raises(dc.InvalidInputError, match="q must lie"):
        size.ppf(2.0)


def test_everything_else_a_posterior_has() -> None:
    import matplotlib.pyplot as plt

    world = World((1.0, 1.0, 1.0), 0.5, (10, 20, 30))
    posterior = world.posterior()
    frozen = posterior.to_scipy()
    np.testing.assert_allclose([law.mean() for law in frozen.values()], posterior.mean())
    assert "n not known, 95 % interval" in posterior._repr_html_()
    assert len(posterior.plot().get_lines()) == 3
    marginal = posterior.marginal(posterior.categories[0])
    points = np.array([-1.0, 0.0, 0.1, 0.5, 1.0, 2.0])
    np.testing.assert_allclose(marginal.pdf(points), np.exp(marginal.logpdf(points)), rtol=1e-9)
    np.testing.assert_allclose(marginal.cdf(points) + marginal.sf(points), 1.0, rtol=1e-12)
    release = release_of(dc.LatticeGeometric(dc.Dirichlet(world.a), epsilon=0.5), world.raw)
    assert "private number of records" in release.plot().get_title()
    plt.close("all")
    pytest.importorskip("xarray")
    dataset = posterior.to_xarray(draws=20, chains=2, rng=1)
    assert (dataset["count"].sum("category") == dataset["n"]).all()
    assert "n" not in dataset.attrs


def test_one_point_is_as_good_as_an_array_of_them() -> None:
    marginal = dc.LatticeGeometric(dc.Beta(1, 1), epsilon=1).release([30, 70]).noise_aware().marginal("success")
    for function in (marginal.cdf, marginal.sf, marginal.pdf):
        points = np.array([-1.0, 0.0, 0.25, 1.0, 2.0])
        assert [float(function(point)) for point in points] == function(points).tolist()
        assert np.shape(function(0.25)) == ()


def test_tiny_prior_parameters_are_refused_where_rounding_would_show() -> None:
    release = dc.LatticeGeometric(dc.Beta(1, 1), epsilon=1).release([4, 5])
    with pytest.raises(dc.TooLargeError, match="prior parameters below 1e-08"):
        release.noise_aware(prior=dc.Dirichlet([1e-12, 1e-12]))
    assert release.noise_aware(prior=dc.Dirichlet([1e-8, 1e-8])).mean().sum() == pytest.approx(1.0, abs=1e-8)
