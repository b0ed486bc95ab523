"""Pooled groups. Oracles: all counts listed, with a dense lattice of mean and strength; and a Gibbs sampler from the textbook."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

import discreet as dc
from discreet.errors import InvalidInputError, RefusedError, TooLargeError
from discreet.inference.pooling.cells import PooledCells
from discreet.inference.pooling.mixtures import log_evidences
from tests.inference.tables.worlds import compositions
from tests.support import lowered

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
STEPS = 0.8, 0.4
"""Of a dense lattice of ln(strength) and of the logit of the mean, of which less is known beforehand."""


def posterior(raw: Any, sizes: list[int] | None, epsilon: float = 1.0, **options: Any) -> Any:
    """The posterior of groups with these noisy counts."""
    noisy = np.array(raw)
    labels = [f"c{i}" for i in range(noisy.shape[1])]
    by = {"group": [f"g{i}" for i in range(len(noisy))]}
    mechanism: Any = dc.LatticeGeometric(dc.Dirichlet.uniform(categories=labels), sizes, epsilon, by=by, **options)
    return dc.Release(mechanism, mechanism.guarantee, noisy, mechanism.report(noisy)).noise_aware()


def geometric(difference: Ints, epsilon: float, public: bool) -> Floats:
    """The likelihood of independent two-sided geometric noise, or of noise that adds up to 0, up to a constant."""
    return np.asarray(np.exp(-(0.5 if public else 1.0) * epsilon * np.abs(difference).sum(axis=1)))


def log_dirichlet_multinomial(x: Ints, a: Floats) -> Floats:
    total, n = a.sum(axis=-1), x.sum(axis=-1)
    each = gammaln(a + x) - gammaln(a) - gammaln(x + 1.0)
    return np.asarray(each.sum(axis=-1) + gammaln(total) + gammaln(n + 1.0) - gammaln(total + n))


@dataclass(frozen=True)
class ListedGroups:
    """All counts of every group with their likelihoods, and a lattice of parameters of the common law with their prior weights."""

    counts: list[Ints]
    likelihood: list[Floats]
    a: Floats
    log_prior: Floats

    @staticmethod
    def of(raw: list[tuple[int, ...]], sizes: list[int] | None, epsilon: float, flat_strength: bool = False) -> "ListedGroups":
        counts, likelihood = [], []
        for i, z in enumerate(raw):
            x = (
                compositions(sizes[i], len(z))
                if sizes
                else np.stack(np.meshgrid(*[np.arange(70)] * len(z), indexing="ij"), -1).reshape(-1, len(z))
            )
            found = geometric(np.array(z) - x, epsilon, sizes is not None)
            if sizes:
                noise = np.arange(-400, 401)
                constant = np.exp(-epsilon * np.abs(noise)).sum()  # two categories: noise (d, -d)
            else:
                constant = ((1 + np.exp(-epsilon)) / (1 - np.exp(-epsilon))) ** len(z)
            counts.append(x[found > 1e-13])
            likelihood.append(found[found > 1e-13] / constant)
        v, w = (each.ravel() for each in np.meshgrid(*(np.arange(-20, 20.1, step) for step in STEPS)))
        mean = np.stack([1 / (1 + np.exp(-w)), 1 / (1 + np.exp(w))], axis=-1)
        strength = v - 2 * np.logaddexp(0, v) if not flat_strength else np.full_like(v, -np.log(40.0))
        log_prior = strength + np.log(mean).sum(axis=1) + np.log(STEPS).sum()
        return ListedGroups(counts, likelihood, np.exp(v)[:, None] * mean, log_prior)

    def evidence(self, i: int) -> Floats:
        """Of one group at every point."""
        x, a = self.counts[i], self.a
        return np.concatenate(
            [
                np.exp(log_dirichlet_multinomial(x[None], part[:, None])) @ self.likelihood[i]
                for part in np.array_split(a, 1 + a.shape[0] * len(x) // 10**6)
            ]
        )

    def weights(self) -> tuple[float, Floats]:
        """The logarithm of the evidence of all groups, and the posterior of the points."""
        logs = self.log_prior + sum(np.log(self.evidence(i)) for i in range(len(self.counts)))
        total = float(np.logaddexp.reduce(logs))
        return total, np.exp(logs - total)

    def moments(self, i: int, weight: Floats) -> tuple[float, float]:
        """The mean and the standard deviation of the first share of a group."""
        x, found = self.counts[i], np.zeros(2)
        for a, share in zip(self.a[weight > 1e-13], weight[weight > 1e-13], strict=True):
            p = np.exp(log_dirichlet_multinomial(x, a)) * self.likelihood[i]
            p *= share / p.sum()
            mine, total = a[0] + x[:, 0], a.sum() + x.sum(axis=1)
            found += p @ (mine / total), p @ (mine * (mine + 1) / (total * (total + 1)))
        return float(found[0]), float(np.sqrt(found[1] - found[0] ** 2))


WORLDS: list[tuple[list[tuple[int, ...]], list[int] | None, float]] = [
    ([(3, 4), (9, -2), (5, 5)], [7, 7, 10], 1.0),
    ([(0, 12), (1, 9), (2, 8), (-3, 5)], [12, 10, 10, 2], 0.7),
    ([(3, 1), (5, 4)], None, 1.2),
]


@pytest.mark.parametrize("world", [WORLDS[0], pytest.param(WORLDS[1], marks=pytest.mark.slow), WORLDS[2]])
def test_evidence_means_and_deviations_are_those_of_all_counts_and_a_dense_lattice(world: Any) -> None:
    raw, sizes, epsilon = world
    pooled, listed = posterior(raw, sizes, epsilon).pooled(), ListedGroups.of(raw, sizes, epsilon)
    evidence, weight = listed.weights()
    assert pooled.log_evidence_error < 1e-3
    assert abs(pooled.log_evidence - evidence) < pooled.log_evidence_error
    figures = pooled.figures()
    for i in range(len(raw)):
        mean, std = listed.moments(i, weight)
        assert abs(figures.mean[i, 0] - mean) < pooled.log_evidence_error
        assert abs(figures.std[i, 0] - std) < pooled.log_evidence_error
    strength, drawn = listed.a.sum(axis=1), pooled.strength.ppf((np.arange(500) + 0.5) / 500)
    assert abs(float((strength / (1 + strength)) @ weight) - (drawn / (1 + drawn)).mean()) < 1e-3
    assert pooled.strength.mean() == np.inf


def test_the_comparison_sees_another_noise_and_another_prior_of_the_strength() -> None:
    raw, sizes, epsilon = WORLDS[0]
    pooled = posterior(raw, sizes, epsilon).pooled()
    mean, allowed = float(pooled.figures().mean[1, 0]), pooled.log_evidence_error
    for off in (ListedGroups.of(raw, sizes, 1.1 * epsilon), ListedGroups.of(raw, sizes, epsilon, flat_strength=True)):
        evidence, weight = off.weights()
        assert abs(pooled.log_evidence - evidence) > 10 * allowed
        assert abs(mean - off.moments(1, weight)[0]) > allowed


def test_the_evidence_of_groups_with_one_prior_is_that_of_the_posterior_without_pooling() -> None:
    """And so it is that of all counts listed (test_evidence.py), also with cells that cannot occur and noisy counts far outside."""
    for raw, sizes in (([(3, 4, 1), (9, -6, 2), (0, 5, 7)], [8, 5, 12]), ([(3, -7, 1), (40, 2, 2), (0, 5, 7)], None)):
        table: Any = posterior(raw, sizes, 0.8, impossible=[("g2", "c0")])
        size_prior = None if sizes else table.size_prior
        cells = PooledCells.of(
            table.raw, table.cells.possible, table.mechanism.noise, None if sizes is None else np.array(sizes), size_prior
        )
        assert abs(float(cells.at(np.ones((1, 3))).log_evidence.sum()) + cells.constant - table.log_evidence) < 1e-10
        other = PooledCells.of(table.raw + 1, *(cells.possible, table.mechanism.noise, cells.sizes, size_prior))
        assert abs(float(other.at(np.ones((1, 3))).log_evidence.sum()) + cells.constant - table.log_evidence) > 1e-3


@pytest.mark.parametrize("world", WORLDS)
def test_the_evidence_given_mean_and_strength_is_that_of_all_counts_to_ten_digits(world: Any) -> None:
    raw, sizes, epsilon = world
    alpha = np.array([[0.01, 0.003], [0.5, 3.0], [40.0, 2.0], [1e4, 3e4]])
    table, other = (posterior(raw, sizes, each) for each in (epsilon, 1.1 * epsilon))
    listed = replace(ListedGroups.of(raw, sizes, epsilon), a=alpha)
    expected = sum(np.log(listed.evidence(i)) for i in range(len(raw)))

    def found(of: Any) -> Floats:
        parts = of.raw, of.cells.possible, of.mechanism.noise, None if sizes is None else np.array(sizes)
        cells = PooledCells.of(*parts, None if sizes else of.size_prior)
        return np.asarray(log_evidences(cells, alpha).sum(axis=1) + cells.constant)

    assert np.abs(found(table) - expected).max() < 1e-10
    assert np.abs(found(other) - expected).min() > 1e-3


def test_the_evidence_of_a_strong_common_law_is_that_of_all_counts_under_much_noise() -> None:
    """Far away from the likely sizes n!/(A)_n grows beyond what floats hold, faster than likelihoods are seen to fall."""
    raw, alpha = (20, 12), np.array([[60.0, 40.0], [600.0, 1e3], [4e3, 2e3]])
    table, other = (posterior([raw], None, each) for each in (0.05, 0.055))
    x = np.stack(np.meshgrid(*[np.arange(900)] * 2, indexing="ij"), -1).reshape(-1, 2)
    noise = 2.0 * np.log(np.tanh(0.05 / 2)) - 0.05 * np.abs(np.array(raw) - x).sum(axis=1)
    logs = log_dirichlet_multinomial(x, alpha[:, None]) + noise

    def found(of: Any) -> Floats:
        return np.asarray(log_evidences(PooledCells.of(of.raw, of.cells.possible, of.mechanism.noise, None, of.size_prior), alpha)[:, 0])

    assert np.abs(found(table) - logsumexp(logs, axis=1)).max() < 1e-10
    assert np.abs(found(other) - logsumexp(logs, axis=1)).min() > 1e-3


@pytest.mark.parametrize("seed", [1, 2])
def test_the_common_law_of_five_categories_is_found_where_wide_differences_see_another_slope(seed: int) -> None:
    """Its strength and mean are near those that the shares were drawn with."""
    rng = np.random.default_rng(seed)
    counts = [rng.multinomial(400, shares) for shares in rng.dirichlet([40, 30, 15, 10, 5], 15)]
    table = posterior(counts, [400] * 15, 2.0)
    low, high = table.pooled().strength.interval()
    assert low < 100 < high < 250
    assert np.abs(table.pooled().new_group().mean() - [0.4, 0.3, 0.15, 0.1, 0.05]).max() < 0.04


def gibbs(raw: Ints, sizes: Ints, epsilon: float, sweeps: int, rng: np.random.Generator) -> Floats:
    """Draws of the shares of the first of two categories: counts, shares, and mean and strength by Metropolis, turn by turn."""
    x, state, found = np.clip(raw[:, 0], 0, sizes), np.zeros(2), np.empty((sweeps, len(raw)))

    def log_density(y: Floats, theta: Floats) -> float:
        m, s = 1 / (1 + np.exp(-y[1])), np.exp(y[0])
        a, b = s * m, s * (1 - m)
        prior = y[0] - 2 * np.log1p(s) + np.log(m) + np.log1p(-m)
        return float(
            prior + len(theta) * (gammaln(s) - gammaln(a) - gammaln(b)) + ((a - 1) * np.log(theta) + (b - 1) * np.log1p(-theta)).sum()
        )

    for sweep in range(sweeps):
        s, m = np.exp(state[0]), 1 / (1 + np.exp(-state[1]))
        theta = np.clip(rng.beta(s * m + x, s * (1 - m) + sizes - x), 1e-300, 1 - 1e-16)
        for _ in range(4):  # counts, by steps that are as likely forwards as backwards
            step = x + rng.integers(-3, 4, len(x))
            inside = (step >= 0) & (step <= sizes)
            step = np.where(inside, step, x)
            gain = -epsilon * (np.abs(step - raw[:, 0]) - np.abs(x - raw[:, 0]))
            gain += (step - x) * (np.log(theta) - np.log1p(-theta))
            gain += gammaln(x + 1) + gammaln(sizes - x + 1) - gammaln(step + 1) - gammaln(sizes - step + 1)
            x = np.where(np.log(rng.random(len(x))) < gain, step, x)
        for scale in (0.3, 1.0, 2.5):
            proposed = state + scale * rng.standard_normal(2)
            if np.log(rng.random()) < log_density(proposed, theta) - log_density(state, theta):
                state = proposed
        found[sweep] = theta
    return found


def batch_error(draws: Floats) -> Floats:
    """The standard errors of means of dependent draws, from the means of 25 batches."""
    means = np.array([part.mean(axis=0) for part in np.array_split(draws, 25)])
    return np.asarray(means.std(axis=0, ddof=1) / 5.0)


@pytest.mark.parametrize("world", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in range(1, 10))])
def test_a_gibbs_sampler_agrees_within_its_error(world: int) -> None:
    rng = np.random.default_rng(world)
    groups, epsilon, sweeps = int(rng.integers(3, 9)), float(rng.uniform(0.4, 2.0)), 3_000 if world == 0 else 40_000
    sizes = rng.integers(5, 60, groups)
    x = rng.binomial(sizes, rng.beta(3.0, 5.0, groups))
    d = rng.geometric(1 - np.exp(-epsilon), groups) - rng.geometric(1 - np.exp(-epsilon), groups)
    raw = np.stack([x + d, sizes - x - d], axis=-1)
    draws = gibbs(raw, sizes, epsilon, sweeps, rng)[sweeps // 10 :]
    figures, error = posterior(raw, sizes.tolist(), epsilon).pooled().figures(), batch_error(draws)
    assert (np.abs(figures.mean[:, 0] - draws.mean(axis=0)) < 5.0 * error).all()
    inside = (figures.low[:, 0] <= draws) & (draws <= figures.high[:, 0])
    assert (np.abs(inside.mean(axis=0) - 0.95) < 5.0 * np.maximum(batch_error(inside.astype(np.float64)), 1e-3)).all()
    if world:  # of posteriors without pooling it would not be so
        apart = posterior(raw, sizes.tolist(), epsilon).figures().mean[:, 0]
        assert (np.abs(apart - draws.mean(axis=0)) > 5.0 * error).any()


def covered(groups: int, worlds: int, seed: int) -> Floats:
    """The part of the groups' shares in 95 % intervals, of each world that is drawn from the hyperprior."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(worlds):
        r, m, sizes = rng.random(), rng.random(), rng.integers(5, 80, groups)
        s = r / (1 - r)
        theta = rng.beta(s * m, s * (1 - m), groups)
        x = rng.binomial(sizes, theta)
        d = rng.geometric(1 - np.exp(-1.0), groups) - rng.geometric(1 - np.exp(-1.0), groups)
        figures = posterior(np.stack([x + d, sizes - x - d], axis=-1), sizes.tolist()).pooled().figures()
        found.append(np.mean((figures.low[:, 0] <= theta) & (theta <= figures.high[:, 0])))
    return np.array(found)


@pytest.mark.parametrize(
    ("groups", "worlds"), [(4, 2), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((4, 30), (20, 20), (100, 18)))]
)
def test_coverage_over_the_hyperprior(groups: int, worlds: int) -> None:
    found = covered(groups, worlds, 3)
    error = max(float(found.std(ddof=1)), np.sqrt(0.95 * 0.05 / groups)) / np.sqrt(worlds)
    assert abs(found.mean() - 0.95) < 3.5 * error


def test_three_categories_by_draws_agree_with_two_of_them_merged_by_enumeration_within_their_error() -> None:
    """With a third category that hardly occurs the common law of the first two is nearly that of a table with two categories."""
    sizes = [30, 25, 40, 35]
    raw = np.array([(12, 15, 3), (9, 14, 2), (20, 16, 4), (8, 22, 5)])
    pooled: Any = posterior(raw, sizes).pooled()
    assert pooled.effective_draws > 100
    error, drawn = pooled.standard_error(), pooled.sample(20_000)
    assert (error > 0).all()
    assert (np.abs(drawn.mean(axis=0) - pooled.mean()) < 5.0 * pooled.std() / np.sqrt(20_000)).all()
    assert np.abs(pooled.mean().sum(axis=1) - 1.0).max() < 1e-9
    again = dc.Dirichlet([1, 1, 1], ["c0", "c1", "c2"])
    assert posterior(raw, sizes).pooled(mean=again).log_evidence == pooled.log_evidence
    moved = posterior(raw[:, [2, 0, 1]], sizes).pooled()  # other draws: of the categories in another order
    assert (np.abs(moved.mean()[:, [1, 2, 0]] - pooled.mean()) < 5.0 * np.hypot(error, moved.standard_error()[:, [1, 2, 0]])).all()
    assert abs(moved.log_evidence - pooled.log_evidence) < 5.0 * np.hypot(moved.log_evidence_error, pooled.log_evidence_error)


def test_verbs_agree_with_each_other() -> None:
    pooled: Any = posterior([(3, 9), (12, 2), (6, 8), (1, 0)], [12, 14, 14, 1]).pooled()
    figures, group = pooled.figures(0.9), pooled["g1"]
    assert np.allclose(group.mean(), figures.mean[1], atol=1e-9)
    assert np.allclose(group.std(), figures.std[1], atol=1e-9)
    assert np.allclose(group.interval(0.9), figures[1], atol=1e-6)
    assert np.allclose(group.marginal("c0").cdf(figures.low[1, 0]), 0.05, atol=1e-6)
    assert np.allclose(pooled.quantile(0.05), figures.low, atol=1e-6)
    assert (np.diff(group.hdi(0.9)) < np.diff(group.interval(0.9)) + 0.01).all()
    drawn = pooled.sample(20_000)
    assert np.abs(drawn.mean(axis=0) - figures.mean).max() < 0.01
    assert np.abs(np.quantile(drawn, 0.95, axis=0) - figures.high).max() < 0.02
    contrast = pooled.contrast("g1", "g0", "c0")
    assert abs(contrast.difference.mean() - (figures.mean[1, 0] - figures.mean[0, 0])) < 0.01
    assert abs(pooled.over(weights=[1, 1, 1, 1]).mean()[0] - figures.mean[:, 0].mean()) < 1e-12
    assert pooled.ranks("c0", draws=500).mean().argmin() == 1
    assert list(pooled.summary().columns) == ["group", "category", "mean", "sd", "low", "high"]
    assert pooled.contrasts("c0").shape[0] == 6
    assert pooled.simultaneous().low[1, 0] < figures.low[1, 0]
    new = pooled.new_group()
    assert (np.diff(new.interval()) > np.diff(pooled.interval()[1])).all()
    assert abs(new.sample(20_000)[:, 0].mean() - new.mean()[0]) < 0.01
    assert group.contrast("c0", "c1").probability > 0.9
    assert pooled.sample(3).tolist() == pooled.sample(3).tolist()


def test_intervals_that_no_float_below_1_ends_are_found_at_once() -> None:
    """Under a strength so small that shares are 0 or 1, more than a tail of them is nearer to 1 than the last float."""
    pooled: Any = posterior([(18, 2), (16, 4), (21, -1)], [20, 20, 20], 0.5).pooled()
    figures = pooled.figures()
    assert figures.high[:, 0].tolist() == [1.0] * 3
    assert (figures.error[:, 0] == 0.5 * (1.0 - figures.level)).all()
    assert pooled["g0"].marginal("c0").sf(1.0 - 2.0**-53) > 0.025  # by the law itself, component by component
    assert (figures.low[:, 0] < figures.mean[:, 0]).all()


def test_pooling_moves_shares_towards_each_other_and_a_strong_prior_more() -> None:
    table = posterior([(3, 9), (12, 2), (6, 8)], [12, 14, 14])
    spreads = [np.ptp(each.mean()[:, 0]) for each in (table, table.pooled(), table.pooled(strength=1000, shape=4))]
    assert spreads[0] > spreads[1] > 2.0 * spreads[2]
    assert np.isfinite(table.pooled(strength=5, shape=3).strength.std())


def test_cells_that_cannot_occur_and_groups_in_which_nothing_is_to_be_inferred() -> None:
    table: Any = posterior(
        [(3, 9, 0), (12, 0, 0), (6, 8, 4), (5, 7, 2)], [12, 12, 18, 14], impossible=[("g0", "c2"), ("g1", "c1"), ("g1", "c2")]
    )
    pooled = table.pooled()
    figures = pooled.figures()
    assert figures.mean[0, 2] == figures.high[0, 2] == 0.0
    assert figures.low[1, 0] == 1.0
    assert pooled["g0"].categories == ("c0", "c1")
    assert pooled.sample(5)[:, 1].tolist() == [[1.0, 0.0, 0.0]] * 5
    with pytest.raises(InvalidInputError, match="nothing but 'c0' can occur"):
        pooled["g1"]


def test_what_is_not_pooled_is_refused_with_the_reason() -> None:
    mechanism: Any = dc.LatticeGeometric(dc.Dirichlet.uniform(2), 9, 1, by={"group": ["a", "b"]})
    release = dc.Release(mechanism, mechanism.guarantee, np.array([[3, 2], [1, 3]]), np.array([[3, 2], [1, 3]]))
    with pytest.raises(RefusedError, match="only their total is public"):
        release.noise_aware().pooled()
    table = posterior([(3, 9), (12, 2)], None)
    with pytest.raises(InvalidInputError, match="strength must be"):
        table.pooled(strength=0)
    with pytest.raises(InvalidInputError, match=r"mean .* 2 categories"):
        table.pooled(mean=dc.Dirichlet([1, 1, 1]))
    pooled: Any = table.pooled()
    for verb in ("records", "counts"):
        with pytest.raises(RefusedError, match=r"pooled\.separate"):
            getattr(pooled, verb)
    with lowered(POOLED_WORK=100), pytest.raises(TooLargeError, match="multiplies up to 100 pairs"):
        pooled.mean()
