"""Many groups at once. Oracles: sums over all true counts of small tables, and the exact path for one release at usual sizes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from numpy.typing import NDArray
from scipy.special import betainc, gammaln

import discreet as dc
from discreet import limits
from discreet.counts.batched.arrays import GroupSummaries
from discreet.inference.labelled import Figures
from discreet.inference.tables.posterior import ReleasedTable
from discreet.inference.tables.summaries import group_summaries
from discreet.mechanisms.gaussian_noise import GaussianNoise
from discreet.mechanisms.lattice import GeometricNoise
from discreet.mechanisms.noise import CellNoise
from tests.counts.leave_one_out import leave_one_out
from tests.inference.coverage import release_of
from tests.sampling.support import PretendedSecret
from tests.support import lowered

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MASS = 0.9
MOMENTS, QUANTILES = 1e-9, 1e-6


@dataclass(frozen=True)
class Table:
    """A small table and what is public about it."""

    z: Ints
    a: Floats
    noise: CellNoise
    possible: NDArray[np.bool_]
    promise: str
    sizes: Ints
    total: int
    shares: Floats

    def summaries(self) -> GroupSummaries:
        public: dict[str, dict[str, Any]] = {
            "sizes": {"sizes": self.sizes},
            "total": {"total": self.total, "shares": self.shares},
            "nothing": {},
        }
        return group_summaries(self.z, self.a, self.noise, possible=self.possible, mass=MASS, **public[self.promise])

    @property
    def most(self) -> int:
        """Records up to which groups are listed."""
        return self.total if self.promise == "total" else int(self.z.max() + 14 + self.noise.kernel.width(30.0))


def _listed(table: Table, group: int) -> tuple[Ints, Floats]:
    """All counts of one group that have a weight of their own, and the weights: without what the total of all groups says."""
    held = np.nonzero(table.possible[group])[0]
    size = int(table.sizes[group])
    most = size if table.promise == "sizes" else table.most
    if not held.size:
        return np.zeros((1, 0), dtype=np.int64), np.ones(1)
    points = np.indices((most + 1,) * len(held)).reshape(len(held), -1).T
    n = points.sum(axis=1)
    points = points[n == size] if table.promise == "sizes" else points[n <= most]
    n, prior = points.sum(axis=1), table.a[held]
    logs = (gammaln(prior + points) - gammaln(1.0 + points) + table.noise.log_factor(table.z[group, held] - points)).sum(axis=1)
    if table.promise == "nothing":
        logs += gammaln(1.0 + n) - gammaln(prior.sum() + n)
    if table.promise == "total":
        logs += gammaln(table.shares[group] + n) - gammaln(prior.sum() + n)
    return points, np.exp(logs - logs.max())


def _posteriors(table: Table) -> list[tuple[Ints, Floats]]:
    listed = [_listed(table, group) for group in range(len(table.z))]
    if table.promise == "total":
        sizes = [np.bincount(points.sum(axis=1), weight, minlength=table.total + 1) for points, weight in listed]
        for group, (points, weight) in enumerate(listed):
            others = np.ones(1)
            for other, law in enumerate(sizes):
                if other != group:
                    others = np.convolve(others, law)[: table.total + 1]
            others = np.append(others, np.zeros(table.total + 1 - len(others)))
            listed[group] = points, weight * others[table.total - points.sum(axis=1)]
    return [(points, weight / weight.sum()) for points, weight in listed]


def _differences(table: Table, found: GroupSummaries, bound: bool = True) -> Floats:
    """The largest differences of means, of standard deviations and of the probabilities beyond the ends of intervals."""
    worst = np.zeros(3)
    for group, (points, weight) in enumerate(_posteriors(table)):
        held = np.nonzero(table.possible[group])[0]
        n, prior = points.sum(axis=1), table.a[held]
        assert not found.mean[group, ~table.possible[group]].any()
        for i, cell in enumerate(held):
            alpha, beta = prior[i] + points[:, i], np.delete(prior, i).sum() + n - points[:, i]
            means = alpha / (alpha + beta)
            mean = float(weight @ means)
            deviation = np.sqrt(weight @ (means * (beta / (alpha + beta)) / (alpha + beta + 1.0) + (means - mean) ** 2))
            ends, wrong = (found.low[group, cell], found.high[group, cell]), 0.0
            if len(held) > 1:
                beyond = weight @ betainc(alpha, beta, ends[0]), weight @ betainc(beta, alpha, 1.0 - ends[1])
                # next to 0 and 1 a float is not the quantile to six digits of its probability
                held_up = [p for p, end in zip(beyond, ends, strict=True) if 1e-300 < end < 1.0 - 1e-6]
                wrong = max((abs(p - 0.5 * (1.0 - MASS)) for p in held_up), default=0.0)
                assert not bound or wrong <= found.error[group, cell] + 1e-9
            else:
                assert ends == (1.0, 1.0)
            worst = np.maximum(worst, [abs(mean - found.mean[group, cell]), abs(deviation - found.std[group, cell]), wrong])
    return worst


def straight(slope: float) -> CellNoise:
    """Noise whose log likelihood falls so fast on either side."""
    return GeometricNoise(1, slope)


def _random_table(seed: int, promise: str, kind: str) -> Table:
    """True counts, and noise on the possible cells; if it is straight it keeps the totals that are public, as noise on a lattice does."""
    rng = np.random.default_rng(seed)
    groups, k = int(rng.integers(1, 5)), int(rng.integers(2, 4))
    possible = rng.random((groups, k)) < 0.8
    possible[0] = True
    slope = float(rng.uniform(0.05, 2.0) if promise == "sizes" else rng.uniform(1.8, 4.0))
    a = np.round(10.0 ** rng.uniform(-1.3, 1.0, k), 3)
    x = rng.integers(0, 5, (groups, k)) * possible
    noise = rng.integers(-4, 5, (groups, k)) * possible
    blocks = {} if kind == "gaussian" else {"sizes": [slice(g, g + 1) for g in range(groups)], "total": [slice(None)]}
    for block in blocks.get(promise, []):
        cells = np.argwhere(possible[block])
        if cells.size:
            noise[block][tuple(cells[-1])] -= noise[block].sum()
    shares = np.round(10.0 ** rng.uniform(-0.5, 0.7, groups), 2)
    cells_noise = GaussianNoise(1, 2.0 / slope**2) if kind == "gaussian" else straight(slope)
    return Table(x + noise, a, cells_noise, possible, promise, x.sum(axis=1), int(x.sum()), shares)


@pytest.mark.parametrize("kind", ["straight", "gaussian"])
@pytest.mark.parametrize("promise", ["sizes", "nothing", "total"])
def test_small_tables_match_the_definition(promise: str, kind: str) -> None:
    for seed in range(8 if kind == "straight" else 4):
        _check_small_table(seed, promise, kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["straight", "gaussian"])
@pytest.mark.parametrize("promise", ["sizes", "nothing", "total"])
def test_a_hundred_small_tables_match_the_definition(promise: str, kind: str) -> None:
    for seed in range(100):
        _check_small_table(seed, promise, kind)


def _check_small_table(seed: int, promise: str, kind: str) -> None:
    table = _random_table(seed, promise, kind)
    mean, deviation, probability = _differences(table, table.summaries())
    assert max(mean, deviation) < MOMENTS, seed
    assert probability < QUANTILES, seed


@pytest.mark.parametrize("promise", ["nothing", "total"])
@pytest.mark.parametrize("parameter", [1e-4, 1e-8])
@pytest.mark.parametrize("work", [limits.SUMMARY_WORK, 0])
def test_groups_that_may_be_empty_under_priors_next_to_0(promise: str, parameter: float, work: int) -> None:
    """All at once, where there is no time to look at a group by itself, and one by one. The last group has one possible category."""
    z, possible = np.array([[2, 1], [0, 1], [2, 0]]), np.array([[True, True], [True, True], [True, False]])
    noise = straight(0.3 if promise == "total" and work else 1.5)
    table = Table(z, parameter * np.array([1.0, 3.0]), noise, possible, promise, np.zeros(3, np.int64), 6, np.ones(3))
    with lowered(SUMMARY_WORK=work):
        found = table.summaries()
    mean, deviation, _ = _differences(table, found, bound=False)
    assert max(mean, deviation) < MOMENTS
    expected = [weight @ points for points, weight in _posteriors(table)]
    if work:
        assert found.count_mean[possible] == pytest.approx(np.concatenate(expected), abs=1e-8)


@pytest.mark.parametrize("promise", ["sizes", "nothing", "total"])
def test_a_scale_that_is_a_tenth_off_is_told_apart(promise: str) -> None:
    tables = [_random_table(seed, promise, kind) for seed in range(3) for kind in ("straight", "gaussian")]
    found = np.array([_differences(table, replace(table, noise=_off(table.noise)).summaries(), bound=False) for table in tables])
    assert (found > 1e-3).any(axis=0).all()


def _off(noise: CellNoise) -> CellNoise:
    """Noise of a scale that is a tenth off."""
    return evolve(noise, variance=1.21 * noise.variance) if isinstance(noise, GaussianNoise) else straight(1.1 * noise.slope)


# --- against the exact path for one release ---------------------------------------------------------------------------

_PUBLIC = [
    ((1.0, 1.0, 1.0), 0.5, (3, 0, -2)),
    ((100.0, 100.0), 0.1, (100, 150)),
    ((0.5, 0.5, 0.5), 1.0, (120, 80, 100)),
    ((30.0, 0.1, 4.0), 0.2, (200, -5, 105)),
    ((1.0, 1.0, 1.0), 0.03, (1200, 100, 1700)),
    ((2.0, 1.0), 1.0, (10**9, 400)),
]
_PRIVATE = [*_PUBLIC[:4], ((40.0, 9.0, 1.0), 0.5, (80, 20, 0)), _PUBLIC[5]]


@pytest.mark.parametrize(("a", "epsilon", "raw"), _PUBLIC)
def test_groups_of_public_size_are_single_releases(a: tuple[float, ...], epsilon: float, raw: tuple[int, ...]) -> None:
    posterior = release_of(dc.LatticeGeometric(dc.Dirichlet(a), n=sum(raw), epsilon=epsilon), raw).noise_aware()
    found = group_summaries(np.array([raw, raw[::-1]])[:1], np.array(a), straight(0.5 * epsilon), sizes=np.array([sum(raw)]), mass=MASS)
    _check_single(posterior, found)


@pytest.mark.parametrize(("a", "epsilon", "raw"), _PRIVATE)
def test_groups_of_private_size_are_single_releases(a: tuple[float, ...], epsilon: float, raw: tuple[int, ...]) -> None:
    """The second and the fifth prior are so strong that one tilt does not hold the total, and groups are looked at one by one."""
    posterior = release_of(dc.LatticeGeometric(dc.Dirichlet(a), epsilon=epsilon), raw).noise_aware()
    _check_single(posterior, group_summaries(np.array([raw]), np.array(a), straight(epsilon), mass=MASS))


def test_one_group_of_public_total_is_a_group_of_public_size() -> None:
    z, a = np.array([[40, 25, -3]]), np.array([1.0, 0.5, 2.0])
    found = group_summaries(z, a, straight(0.3), total=62, mass=MASS)
    fixed = group_summaries(z, a, straight(0.3), sizes=np.array([62]), mass=MASS)
    np.testing.assert_allclose(found.mean, fixed.mean, atol=1e-11)
    np.testing.assert_allclose(found.std, fixed.std, atol=1e-11)
    np.testing.assert_allclose(found.low, fixed.low, atol=1e-6)
    assert max(found.error.max(), fixed.error.max()) < QUANTILES


def _check_single(posterior: dc.NoiseAware, found: GroupSummaries) -> None:
    np.testing.assert_allclose(found.mean[0], posterior.mean(), atol=MOMENTS)
    np.testing.assert_allclose(found.std[0], posterior.std(), atol=MOMENTS)
    assert found.error.max() < QUANTILES
    for category, low, high in zip(posterior.categories, found.low[0], found.high[0], strict=True):
        law = posterior.marginal(category)
        assert abs(float(law.cdf(low)) - 0.5 * (1.0 - MASS)) < QUANTILES
        assert abs(float(law.sf(high)) - 0.5 * (1.0 - MASS)) < QUANTILES


# --- how groups are gone through --------------------------------------------------------------------------------------


@pytest.mark.parametrize("promise", ["sizes", "nothing", "total"])
def test_groups_do_not_depend_on_their_neighbours(promise: str) -> None:
    """The same groups in another order, some of them twice, among wider ones."""
    rng = np.random.default_rng(5)
    z = rng.integers(-3, 60, (40, 3))
    z[::7] *= 40
    z[20:30] = z[:10]
    order = rng.permutation(40)
    sizes, total = np.maximum(z, 0).sum(axis=1), int(z.sum())
    results = []
    for rows in (np.arange(40), order):
        public: dict[str, dict[str, Any]] = {"sizes": {"sizes": sizes[rows]}, "total": {"total": total}, "nothing": {}}
        results.append(group_summaries(z[rows], np.array([1.0, 0.5, 2.0]), straight(0.8), **public[promise]))
    first, second = results
    np.testing.assert_allclose(first.mean[order], second.mean, atol=1e-11)
    np.testing.assert_allclose(first.high[order], second.high, atol=1e-6)
    np.testing.assert_array_equal(first.mean[20:30], first.mean[:10])


def test_a_prior_for_each_group() -> None:
    rng = np.random.default_rng(6)
    z, sizes = rng.integers(0, 40, (6, 3)), np.full(6, 60)
    a = rng.uniform(0.2, 5.0, (6, 3))
    together = group_summaries(z, a, straight(0.4), sizes=sizes)
    for g in range(6):
        alone = group_summaries(z[g : g + 1], a[g], straight(0.4), sizes=sizes[:1])
        np.testing.assert_allclose(together.mean[g], alone.mean[0], atol=1e-12)


def test_a_total_that_the_noise_cannot_explain_is_an_answer_with_a_large_bound() -> None:
    found = group_summaries(np.full((30, 3), 400), np.ones(3), straight(0.8), total=5)
    assert np.isfinite(found.mean).all()
    assert (found.error >= 0.0).all()


def test_no_groups_and_empty_groups() -> None:
    none = group_summaries(np.empty((0, 3), dtype=np.int64), np.ones(3), straight(1.0), sizes=np.empty(0, dtype=np.int64))
    assert none.mean.shape == (0, 3)
    empty = group_summaries(np.array([[2, -2]]), np.array([1.0, 3.0]), straight(1.0), sizes=np.array([0]))
    np.testing.assert_allclose(empty.mean, [[0.25, 0.75]])


# --- all other groups -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("groups", "width"), [(1, 9), (2, 9), (7, 30), (60, 40), (900, 20)])
def test_leave_one_out_is_the_convolution_of_all_others(groups: int, width: int) -> None:
    rng = np.random.default_rng(groups)
    logs = -0.6 * np.abs(np.arange(width) - width / 2 - rng.normal(size=(groups, 1))) + 0.1 * rng.normal(size=(groups, width))
    first = rng.integers(0, 50, groups)
    total = int((first + width // 2).sum()) + int(2.0 * groups**0.5)
    found, error = leave_one_out(logs, first, total, 0.6)
    assert error < 1e-11
    law = np.exp(logs)
    for group in {0, groups // 2}:
        others = np.ones(1)
        for other in range(groups):
            if other != group:
                others = np.convolve(others, law[other] / law[other].sum())
        rest = total - (first[group] + np.arange(width)) - (first.sum() - first[group])
        inside = (rest >= 0) & (rest < len(others))
        exact = law[group] * np.where(inside, others[np.clip(rest, 0, len(others) - 1)], 0.0)
        mine = law[group] * np.exp(found[group] - found[group].max())
        assert np.abs(mine / mine.sum() - exact / exact.sum()).sum() < 1e-12


# --- single releases --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "n", "epsilon"), [(3, 12, 1.0), (40, 2000, 1.0), (3, 90_000, 0.004), (60, 10**7, 2.0)])
def test_all_categories_of_a_release_are_its_marginals(k: int, n: int, epsilon: float) -> None:
    """Few counts that are listed, windows, mixtures that are too long for arrays, and large counts."""
    rng = np.random.default_rng(k)
    raw = rng.multinomial(n, rng.dirichlet(np.full(k, 3.0)))
    raw[:2] += (4, -4)
    posterior = release_of(dc.LatticeGeometric(dc.Dirichlet([0.7] * k), n=n, epsilon=epsilon), tuple(raw.tolist())).noise_aware()
    ends, mean, deviation = posterior.interval(0.9), posterior.mean(), posterior.std()
    for i in {0, 1, k - 1}:
        law = posterior.marginal(posterior.categories[i])
        low, high = law.interval(0.9)
        np.testing.assert_allclose(ends[i] / (1.0 - ends[i]), [low / (1.0 - low), high / (1.0 - high)], rtol=1e-10)
        np.testing.assert_allclose([mean[i], deviation[i]], [law.mean(), law.std()], rtol=1e-10)


@pytest.mark.parametrize("k", [5, 40])
def test_transforms_are_the_sums_of_all_other_windows(k: int) -> None:
    """The laws of all counts beside convolutions of all categories' factors over all their counts."""
    n, epsilon, a = 60, 0.8, 0.6
    rng = np.random.default_rng(k)
    raw = rng.multinomial(n, np.full(k, 1.0 / k))
    posterior = release_of(dc.LatticeGeometric(dc.Dirichlet([a] * k), n=n, epsilon=epsilon), tuple(raw.tolist())).noise_aware()
    x = np.arange(n + 1.0)
    factors = [np.exp(gammaln(a + x) - gammaln(1.0 + x) - 0.5 * epsilon * np.abs(z - x)) for z in raw]
    for i in (0, k - 1):
        others = np.ones(1)
        for j, factor in enumerate(factors):
            if j != i:
                others = np.convolve(others, factor)[: n + 1]
                others /= others.max()
        exact = factors[i] * others[::-1]
        counts, probability = posterior.count_probabilities(posterior.categories[i])
        assert np.abs(probability - exact[counts] / exact.sum()).sum() < 1e-11


# --- bounds -------------------------------------------------------------------------------------------------------------


def _released_table(seed: int, promise: str) -> Any:
    """The posterior of a table at a usual size: up to 20 groups, weak and strong priors, wide and narrow noise."""
    rng = np.random.default_rng(seed)
    k, groups, n = int(rng.choice([2, 3, 5])), int(rng.choice([2, 5, 20])), int(rng.choice([50, 500, 5000]))
    epsilon, a = float(rng.choice([0.3, 1.0, 3.0])), rng.choice([0.2, 0.5, 1.0, 2.0, 10.0], size=k)
    counts = rng.multinomial(n, rng.dirichlet(np.full(groups * k, rng.choice([0.1, 1.0])))).reshape(groups, k)
    public: Any = {"sizes": counts.sum(axis=1).tolist(), "total": n, "nothing": None}[promise]
    mechanism = dc.LatticeGeometric(dc.Dirichlet(a.tolist()), public, epsilon, by={"g": list(range(groups))})
    return mechanism.release(counts, unit="person", source=PretendedSecret(seed)).noise_aware()


@pytest.mark.parametrize("promise", ["sizes", "nothing", "total"])
@pytest.mark.parametrize("worlds", [4, pytest.param(60, marks=pytest.mark.slow)])
def test_every_bound_is_below_what_the_pages_say_and_holds(promise: str, worlds: int) -> None:
    for seed in range(worlds):
        _check_bounds(seed, promise, [seed])


@pytest.mark.parametrize("seed", [17, 26])
def test_bounds_hold_where_nodes_lose_digits_and_where_parts_of_a_bound_add_up(seed: int) -> None:
    """In world 17 powers at nodes go from e^-14 to e^14; in world 26 no part of a bound is above 1e-7, and their sum is."""
    _check_bounds(seed, "nothing", range(20))


def test_no_end_is_found_where_nodes_say_nothing() -> None:
    """Far from the first guess powers at nodes are no powers any more: a bound that floats cut at e^500 took 0.99993 for 0.52073."""
    a, raw = (0.112, 1.429, 0.154, 4.839, 0.515), (-62, 199, 53, -107, -33)
    found = group_summaries(np.array([raw]), np.array(a), straight(0.0105), total=50, mass=0.999)
    posterior = release_of(dc.LatticeGeometric(dc.Dirichlet(a), n=50, epsilon=0.021), raw).noise_aware()
    for category, high, error in zip(posterior.categories, found.high[0], found.error[0], strict=True):
        assert abs(float(posterior.marginal(category).sf(high)) - 0.0005) <= error + 1e-9


def _check_bounds(seed: int, promise: str, groups: Iterable[int]) -> None:
    """Look at some groups, counted on from the first after the last."""
    posterior = _released_table(seed, promise)
    found = posterior.figures(MASS)
    assert found.error.max() <= 1e-7, seed
    for group in {position % len(posterior) for position in groups}:
        for category in posterior.categories:
            law = posterior[list(posterior)[group]].marginal(category)
            beyond = float(law.cdf(found.low[group, category])), float(law.sf(found.high[group, category]))
            assert max(abs(p - 0.5 * (1.0 - MASS)) for p in beyond) <= found.error[group, category] + 1e-9, seed


@pytest.mark.parametrize("seed", range(4))
def test_public_sizes_far_from_what_the_prior_expects(seed: int) -> None:
    """A group that a common window does not hold is computed by itself."""
    rng = np.random.default_rng(seed)
    a, x = 10.0 ** rng.uniform(-3, 3, 4), rng.integers(0, 40, (5, 4))
    noise = np.rint(rng.laplace(size=(5, 4)) * 80.0).astype(np.int64)
    noise[:, -1] -= noise.sum(axis=1)
    assert group_summaries(x + noise, a, straight(0.1), sizes=x.sum(axis=1)).error.max() <= 1e-7


@pytest.mark.slow
def test_groups_are_computed_by_themselves_as_long_as_there_is_time() -> None:
    """The bound of all groups at once is kept where it is too large for more groups than there is time for: the largest go first."""
    rng = np.random.default_rng(0)
    a, x = 10.0 ** rng.uniform(-3, 3, 4), rng.integers(0, 40, (12, 4))
    noise = np.rint(rng.laplace(size=(12, 4)) * 80.0).astype(np.int64)
    noise[:, -1] -= noise.sum(axis=1)

    def hard(work: int) -> int:
        with lowered(SUMMARY_WORK=work):
            return int((group_summaries(x + noise, a, straight(0.1), sizes=x.sum(axis=1)).error > 1e-7).any(axis=1).sum())

    each = 4 * (int(x.sum(axis=1).max()) + 1 + 1000)
    every = hard(1) + 1
    assert [every, hard(3 * each), hard(3 * each + 1), hard(12 * each)] == [12, 9, 8, 0]


def test_a_summary_computes_the_figures_of_a_table_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, compute = [], ReleasedTable.figures

    def counted(self: ReleasedTable, mass: float = 0.95) -> Figures:
        asked.append(mass)
        return compute(self, mass)

    monkeypatch.setattr(ReleasedTable, "figures", counted)
    mechanism = dc.LatticeGeometric(dc.Dirichlet.uniform(3), n=[9, 6], epsilon=1, by={"region": ["north", "south"]})
    post = mechanism.release([[4, 3, 2], [1, 2, 3]]).noise_aware()
    frame = post.summary(0.9)
    assert asked == [0.9]
    post.mean()
    post.std()
    assert asked == [0.9]
    assert (post.interval(0.5)[..., 0] > frame["low"].to_numpy().reshape(2, 3)).all()
    assert asked == [0.9, 0.5]
    post.mean()[:] = 7.0
    assert post.mean().max() < 1.0
