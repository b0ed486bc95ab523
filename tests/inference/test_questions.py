"""What a reader asks of one posterior: the distribution among some categories, covariances, shortest intervals, summaries.

Oracle of the first two: all true counts listed, with the textbook's weights; the Dirichlet of some categories given the rest is Dir(a + x).
"""

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import minimize_scalar
from scipy.special import betainc, gammaln, logsumexp

import discreet as dc
from discreet.betas.mixtures import BetaMixture
from discreet.betas.search import shortest_interval
from tests.inference.coverage import release_of
from tests.record.table_support import refusal, released
from tests.support import lattice, lowered, mostly_slow

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
GRID = np.array([0.01, 0.1, 0.3, 0.5, 0.7, 0.95])
CATEGORIES = ["never", "former", "current"]


@dataclass(frozen=True)
class World:
    """A prior, a release, and all true counts with their posterior probabilities."""

    a: Floats
    release: dc.Release[tuple[int, ...]]
    points: Ints
    weight: Floats
    options: dict[str, Any]

    def posterior(self) -> dc.NoiseAware:
        return self.release.noise_aware(**self.options)

    def among(self, chosen: list[int]) -> tuple[Floats, Floats]:
        """The Dirichlet parameters of these categories for every counts, and the covariance of their probabilities given one of them."""
        shape = (self.a + self.points)[:, chosen]
        total = shape.sum(axis=1)
        mean = self.weight @ (shape / total[:, None])
        product = np.einsum("p,pi,pj->ij", self.weight / (total * (total + 1.0)), shape, shape)
        return shape, product + np.diag((self.weight / (total * (total + 1.0))) @ shape) - np.outer(mean, mean)


def random_world(seed: int, n_public: bool) -> World:
    rng = np.random.default_rng(seed)
    k = 3 + seed % 3
    ends = {1: (-8.0, 1.7), 2: (-8.0, -4.0)}.get(seed % 5, (-1.3, 1.0))
    a = np.array([float(f"{part:.4g}") for part in 10.0 ** rng.uniform(*ends, k)])
    epsilon = float(np.round(rng.uniform(0.3, 3.0), 3))
    if n_public:
        n = {3: 9, 4: 7, 5: 5}[k]
        points, raw = lattice(n, k), rng.multinomial(n, np.full(k, 1.0 / k)) + rng.integers(-2, 3, k)
        raw[-1] += n - raw.sum()
        mechanism, slope, log_size, options = dc.LatticeGeometric(dc.Dirichlet(a), n, epsilon), 0.5 * epsilon, np.zeros(n + 1), {}
    else:
        log_size = np.log(rng.uniform(0.05, 1.0, {3: 9, 4: 7, 5: 6}[k]))
        points = np.concatenate([lattice(size, k) for size in range(len(log_size))])
        raw, slope, options = rng.integers(-2, 5, k), epsilon, {"size_prior": log_size}
        mechanism = dc.LatticeGeometric(dc.Dirichlet(a), epsilon=epsilon)
    size = points.sum(axis=1)
    log_weight = log_size[size] + gammaln(size + 1.0) - gammaln(a.sum() + size) - slope * np.abs(raw - points).sum(axis=1)
    log_weight += (gammaln(a + points) - gammaln(points + 1.0)).sum(axis=1)
    return World(a, release_of(mechanism, tuple(raw.tolist())), points, np.exp(log_weight - logsumexp(log_weight)), options)


def _difference(world: World, found: dc.NoiseAware, chosen: list[int]) -> float:
    """The largest one of means, variances, covariances, distribution functions, counts and their total."""
    shape, covariance = world.among(chosen)
    total, sizes = shape.sum(axis=1), world.points[:, chosen].sum(axis=1)
    differences = [np.abs(found.mean() - world.weight @ (shape / total[:, None])).max(), np.abs(found.cov() - covariance).max()]
    differences.append(np.abs(found.var() - np.diag(covariance)).max())
    differences.append(np.abs(found.size.pmf(np.arange(sizes.max() + 1)) - np.bincount(sizes, world.weight)).max())
    for i, category in enumerate(found.categories):
        listed = world.weight @ betainc(shape[:, i, None], (total - shape[:, i])[:, None], GRID)
        differences.append(np.abs(found.marginal(category).cdf(GRID) - listed).max())
        x, probability = found.count_probabilities(category)
        counts = np.bincount(world.points[:, chosen[i]], world.weight, minlength=int(x[-1]) + 1)
        differences += [np.abs(counts[x] - probability).max(), np.delete(counts, x).sum()]
    return float(max(differences))


# --- among some categories --------------------------------------------------------------------------------------------


def test_given_and_cov_match_the_list_in_a_hundred_worlds() -> None:
    """Public and private n; laws that are listed and laws that are convolved."""
    found = []
    for seed in range(100):
        world = random_world(seed, n_public=seed % 2 == 0)
        k = len(world.a)
        chosen = sorted(np.random.default_rng(seed).choice(k, 2 + seed // 2 % (k - 2), replace=False).tolist())
        with lowered(POSTERIOR_CANDIDATES=1 if seed % 4 else 4000):
            posterior = world.posterior()
        part = posterior.given(chosen)
        assert part.categories == tuple(chosen)
        found += [_difference(world, part, chosen), _difference(world, posterior, list(range(k)))]
    assert max(found) < 1e-10


def test_a_tenth_less_noise_or_prior_is_told_apart() -> None:
    world = random_world(3, n_public=False)
    assert _difference(world, world.posterior().given([0, 2]), [0, 2]) < 1e-10
    other = world.release.noise_aware(dc.Dirichlet(1.1 * world.a), **world.options)
    assert _difference(world, other.given([0, 2]), [0, 2]) > 1e-4
    mechanism = dc.LatticeGeometric(dc.Dirichlet(world.a), epsilon=1.1 * float(world.release.mechanism.epsilon))
    wrong = release_of(mechanism, world.release.raw).noise_aware(**world.options)
    assert _difference(world, wrong.given([0, 2]), [0, 2]) > 1e-4


@pytest.mark.parametrize("n_public", [True, False])
@pytest.mark.parametrize("limit", [1, 4000])
def test_contrasts_among_some_categories(n_public: bool, limit: int) -> None:
    """Of two of three chosen ones, by the Dirichlets of the list: P(θ_a/θ_b <= t) is a Beta's."""
    world = random_world(4, n_public=n_public)  # four categories
    with lowered(POSTERIOR_CANDIDATES=limit):
        posterior = world.posterior()
    chosen = [0, 1, 3]
    shape, covariance = world.among(chosen)
    contrast = posterior.given(chosen).contrast(0, 3)
    for t in (0.2, 1.0, 3.0):
        listed = world.weight @ betainc(shape[:, 0], shape[:, 2], t / (1.0 + t))
        assert contrast.ratio.cdf(t) == pytest.approx(listed, abs=1e-10)
    assert contrast.probability == pytest.approx(1.0 - world.weight @ betainc(shape[:, 0], shape[:, 2], 0.5), abs=1e-10)
    mean = world.weight @ ((shape[:, 0] - shape[:, 2]) / shape.sum(axis=1))
    assert contrast.difference.mean() == pytest.approx(mean, abs=1e-10)
    spread = covariance[0, 0] + covariance[2, 2] - 2.0 * covariance[0, 2]
    assert contrast.difference.std() == pytest.approx(np.sqrt(spread), rel=1e-8)
    two = posterior.given(chosen).given([0, 3])
    assert _difference(world, two, [0, 3]) < 1e-10
    assert two.contrast(0, 3).probability == pytest.approx(contrast.probability, abs=1e-10)


@pytest.mark.parametrize("setting", mostly_slow([(2000, 1.0), (None, 0.2), (10**6, 0.05), (None, 0.02)], 2), ids=str)
def test_usual_sizes_agree_with_draws(setting: tuple[int | None, float]) -> None:
    n, epsilon = setting
    counts = [700, 650, 400, 250] if n is None else [int(share * n) for share in (0.35, 0.325, 0.2)] + [n - int(0.875 * n)]
    release = dc.LatticeGeometric(dc.Dirichlet([2, 0.5, 1, 1]), n, epsilon).release(counts)
    posterior = release.noise_aware()
    part, draws = posterior.given([0, 2, 3]), posterior.sample(40_000, rng=5)
    among = draws[:, [0, 2, 3]] / draws[:, [0, 2, 3]].sum(axis=1, keepdims=True)
    error = part.std() / 200.0
    assert (np.abs(among.mean(axis=0) - part.mean()) < 7.0 * error).all()
    assert np.allclose(np.cov(draws.T), posterior.cov(), atol=0.06 * posterior.var().max())
    assert np.allclose(np.cov(among.T), part.cov(), atol=0.06 * part.var().max())
    assert np.abs(posterior.cov().sum(axis=1)).max() < 1e-9 * posterior.var().max()
    assert np.abs(part.cov().sum(axis=1)).max() < 1e-9 * part.var().max()
    own = part.sample(40_000, rng=6)
    assert (np.abs(own.mean(axis=0) - part.mean()) < 7.0 * error).all()


def test_a_strong_prior_and_wide_noise_have_several_tilts() -> None:
    """Totals that one tilt cannot hold: the same answers by a sum over all pairs of counts, the third summed out for every total."""
    a, epsilon, raw = (1000.0, 1000.0, 3.0), 0.05, (100, 400, 8)
    posterior = release_of(dc.LatticeGeometric(dc.Dirichlet(a), epsilon=epsilon), raw).noise_aware()
    x, r = np.arange(900.0), np.arange(60.0)
    factor = [gammaln(a[i] + y) - gammaln(y + 1.0) - epsilon * np.abs(raw[i] - y) for i, y in enumerate((x, x, r))]
    n = np.arange(2.0 * len(x))[:, None] + r
    rest = logsumexp(factor[2] + gammaln(n + 1.0) - gammaln(sum(a) + n), axis=1)
    both = np.add.outer(x, x)
    log_weight = np.add.outer(factor[0], factor[1]) + rest[both.astype(np.int64)]
    weight, total = np.exp(log_weight - logsumexp(log_weight)), a[0] + a[1] + both
    share = (a[0] + x)[:, None] / total
    mean = float((weight * share).sum())
    part = posterior.given([0, 1])
    assert part.mean()[0] == pytest.approx(mean, abs=1e-11)
    assert part.var()[0] == pytest.approx(float((weight * ((share - mean) ** 2 + share * (1.0 - share) / (total + 1.0))).sum()), rel=1e-9)
    assert part.cov()[0, 1] == pytest.approx(-part.var()[0], rel=1e-9)
    assert part.size.mean() == pytest.approx(float((weight * both).sum()), rel=1e-10)


def test_given_on_a_group_of_a_table() -> None:
    posterior = released("total").noise_aware()
    group = posterior["south", 2024]
    among, draws = group.given(["former", "current"]), posterior.sample(20_000, rng=2)[:, 3, 1:]
    drawn = draws[:, 0] / draws.sum(axis=1)
    assert abs(drawn.mean() - among.mean()[0]) < 7.0 * among.std()[0] / 140.0
    said = refusal(lambda: posterior["north", 2023].given(["never", "former"]))
    assert said == "category 'former' is declared impossible in this group: its probability is 0"


def test_what_given_is_told() -> None:
    posterior = dc.LatticeGeometric(dc.Dirichlet.uniform(categories=CATEGORIES), 30, 1).release([12, 10, 8]).noise_aware()
    assert posterior.given(["current", "never"]).categories == ("never", "current")
    assert posterior.given(CATEGORIES) is posterior
    wrong: Any
    for wrong in (["never"], [], "never", 3):
        assert refusal(partial(posterior.given, wrong)).startswith("given must be told two or more categories")
    assert refusal(lambda: posterior.given(["never", "never"])) == "each category must be named once; one was named twice"
    assert refusal(lambda: posterior.given(["never", "old"])).startswith("category must be one of 'never', 'former', 'current'")


def test_too_many_categories_are_refused_in_one_line() -> None:
    posterior = dc.LatticeGeometric(dc.Dirichlet.uniform(4), 5000, 1).release([2000, 1000, 1500, 500]).noise_aware()
    with lowered(COVARIANCE_PRODUCTS=100), pytest.raises(dc.TooLargeError, match=r" 4 categories .* given\(\)"):
        posterior.cov()
    with lowered(DENSITY_INTERVALS=3), pytest.raises(dc.TooLargeError, match=r" 3 categories, .* 4: marginal"):
        posterior.hdi()
    with lowered(DENSITY_INTERVALS=3):
        assert len(posterior.summary(kind="eti")) == 4


# --- highest density --------------------------------------------------------------------------------------------------


def _beta(a: float, b: float) -> BetaMixture:
    return BetaMixture(np.ones(1), np.array([a], dtype=np.float64), np.array([b], dtype=np.float64))


def _shortest(law: BetaMixture, mass: float) -> float:
    """The length of the shortest interval, by a search over where it begins."""
    start = np.linspace(0.0, 1.0 - mass, 801)
    length = law.ppf(start + mass) - law.ppf(start)
    at = int(np.argmin(length))

    def from_level(level: float) -> float:
        low, high = law.ppf([level, min(level + mass, 1.0)])
        return float(high - low)

    found = minimize_scalar(from_level, bounds=(start[max(at - 1, 0)], start[min(at + 1, 800)]), method="bounded", options={"xatol": 1e-12})
    return min(float(length[at]), float(found.fun))


@pytest.mark.parametrize("mass", [0.5, 0.95])
@pytest.mark.parametrize(("a", "b"), [(2, 5), (20, 3), (0.7, 4), (1, 3), (4, 1), (300, 7e5), (2, 2)])
def test_the_hdi_of_one_beta(a: float, b: float, mass: float) -> None:
    law = _beta(a, b)
    low, high = law.hdi(mass)
    assert law.cdf(high) - law.cdf(low) == pytest.approx(mass, abs=1e-10)
    assert high - low == pytest.approx(_shortest(law, mass), rel=1e-8)
    if a > 1 and b > 1:
        assert law.pdf(low) == pytest.approx(law.pdf(high), rel=1e-7)
    else:
        assert (low, high) in ((0.0, float(law.ppf(mass))), (float(law.ppf(1.0 - mass)), 1.0))


def test_known_values_of_the_hdi() -> None:
    """Symmetric: the equal-tailed one. Falling or rising densities: from 0, or to 1, in closed form. A flat one: in the middle."""
    assert _beta(2.0, 2.0).hdi(0.95) == pytest.approx(stats.beta(2, 2).interval(0.95), abs=1e-9)
    assert _beta(1.0, 3.0).hdi(0.95) == pytest.approx((0.0, 1.0 - 0.05 ** (1.0 / 3.0)), abs=1e-12)
    assert _beta(2.0, 1.0).hdi(0.95) == pytest.approx((0.05**0.5, 1.0), abs=1e-12)
    assert _beta(1.0, 1.0).hdi(0.9) == pytest.approx((0.05, 0.95), abs=1e-12)


@pytest.mark.parametrize(
    ("weight", "a", "b", "length"),
    [([0.5, 0.5], [30.0, 70.0], [70.0, 30.0], None), ([1.0], [0.5], [0.5], np.sin(0.475 * np.pi) ** 2)],
    ids=["two peaks", "peaks at both ends"],
)
def test_most_probable_values_that_are_no_interval(weight: Any, a: Any, b: Any, length: float | None) -> None:
    law = BetaMixture(weight, a, b, "yes")
    with pytest.warns(UserWarning, match=r"category yes: .* 95 %") as said:
        low, high = law.hdi(0.95)
    assert said[0].filename == __file__
    assert law.cdf(high) - law.cdf(low) == pytest.approx(0.95, abs=1e-10)
    assert high - low == pytest.approx(_shortest(law, 0.95) if length is None else length, rel=1e-8)


def test_the_hdi_beside_a_boundary() -> None:
    """The density is lower at 0 than inside, so that the shortest interval begins above 0; it has one peak, of which no warning tells."""
    mechanism = dc.LatticeGeometric(dc.Dirichlet.uniform(4), 80, "0.3")
    posterior = release_of(mechanism, (10, 24, 37, 9)).noise_aware()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        low, high = posterior.hdi(0.9)[0]
    assert (low, high) == pytest.approx((0.008145, 0.243435), abs=1e-6)


def _by_grid(law: BetaMixture, mass: float) -> float:
    """The length of the shortest interval between points of a fine grid: a little more than that of the shortest of all."""
    low, high = law.ppf([1e-7, 1.0 - 1e-7])
    points = np.unique(np.concatenate([[0.0, 1.0], np.linspace(low, high, 3000), np.geomspace(max(low, 1e-12), high, 1000)]))
    below = law.cdf(points)
    last = np.searchsorted(below, below + mass)
    inside = last < len(points)
    return float((points[last[inside]] - points[inside]).min())


@pytest.mark.parametrize("worlds", [range(5), pytest.param(range(5, 300), marks=pytest.mark.slow)])
def test_no_interval_of_a_fine_grid_is_shorter(worlds: range) -> None:
    for seed in worlds:
        rng = np.random.default_rng(seed)
        n, a, b = int(rng.choice([5, 20, 60])), float(rng.choice([0.01, 0.3, 0.5, 1.0, 2.0])), float(rng.choice([0.3, 1.0, 3.0, 10.0]))
        x, centre = np.arange(n + 1, dtype=np.float64), int(rng.integers(0, n + 1 if seed % 2 else 6))
        weight = np.exp(-float(rng.choice([0.05, 0.15, 0.5, 2.0])) * np.abs(x - centre))
        law = BetaMixture(weight, a + x, b + n - x)
        for mass in (0.5, 0.9):
            low, high, _ = shortest_interval(law, mass)
            assert law.cdf(high) - law.cdf(low) == pytest.approx(mass, abs=1e-9)
            assert high - low <= _by_grid(law, mass) * (1.0 + 1e-9), (seed, mass)


@pytest.mark.parametrize("n", mostly_slow([400, None], 1))
def test_the_hdi_of_posteriors(n: int | None) -> None:
    """At a count near 0 it begins at 0; a small peak that holds next to nothing at 0 is not mentioned."""
    release = release_of(dc.LatticeGeometric(dc.Dirichlet.jeffreys(categories=CATEGORIES), n, "0.5"), (250, 151, -1))
    posterior = release.noise_aware()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = posterior.hdi(0.9)
    assert found[2, 0] == 0.0
    for category, (low, high), (left, right) in zip(CATEGORIES, found, posterior.interval(0.9), strict=True):
        law = posterior.marginal(category)
        assert law.cdf(high) - law.cdf(low) == pytest.approx(0.9, abs=1e-9)
        assert high - low == pytest.approx(_shortest(law, 0.9), rel=1e-8)
        assert high - low < right - left


# --- summaries and simultaneous intervals -----------------------------------------------------------------------------


COLUMNS = ["category", "mean", "sd", "low", "high"]


def test_summaries_have_the_numbers_of_arviz() -> None:
    arviz = pytest.importorskip("arviz")
    posterior = dc.LatticeGeometric(dc.Dirichlet.uniform(categories=CATEGORIES), 90, 1).release([40, 30, 20]).noise_aware()
    frame = posterior.summary(0.94, kind="hdi")
    drawn = arviz.summary(posterior.to_arviz(rng=1), var_names=["theta"], hdi_prob=0.94, round_to="none")
    assert list(frame.columns) == COLUMNS
    assert np.allclose(frame[COLUMNS[1:]].to_numpy(), drawn.to_numpy()[:, :4], atol=0.02)
    assert frame["category"].tolist() == CATEGORIES
    assert np.array_equal(frame[["low", "high"]].to_numpy(), posterior.hdi(0.94))


def test_summaries_in_every_library() -> None:
    posterior = dc.LatticeGeometric(dc.Dirichlet.uniform(categories=CATEGORIES), epsilon=1).release([40, 30, 20]).noise_aware()
    pandas, polars, arrow = (posterior.summary(library=library) for library in ("pandas", "polars", "arrow"))
    assert list(pandas.columns) == polars.columns == arrow.column_names == COLUMNS
    assert pandas["mean"].tolist() == polars["mean"].to_list() == arrow["mean"].to_pylist() == posterior.mean().tolist()
    assert posterior.to_pandas().equals(pandas)
    assert posterior.to_polars().equals(polars)
    assert np.array_equal(pandas[["low", "high"]].to_numpy(), posterior.interval(0.95))
    assert refusal(lambda: posterior.summary(library="excel")) == "library must be 'pandas', 'polars' or 'arrow', got 'excel'"  # type: ignore[arg-type]
    assert refusal(lambda: posterior.summary(kind="ci")) == "kind must be 'eti' or 'hdi', got 'ci'"  # type: ignore[arg-type]
    table = released("sizes").noise_aware()
    assert table.to_pandas(0.9).equals(table.summary(0.9))
    assert table.summary(0.9, kind="eti").equals(table.summary(0.9))
    assert table.to_polars(0.9).equals(table.summary(0.9, "polars"))


def test_every_reading_has_the_same_verbs_axes_and_columns() -> None:
    """A variable, a group, tables under each promise, margins and several releases; a table has the numbers of its groups."""
    tables = {public: released(public).noise_aware() for public in ("sizes", "total", "nothing")}
    table, shape = tables["sizes"], (4, 3)
    margin = table.over("year", weights=[1, 2, 3, 4], draws=500, rng=1)
    readings: list[tuple[Any, tuple[int, ...], list[str]]] = [
        (table["south", 2024], (3,), []),
        (margin[2024], (3,), []),
        (margin, (2, 3), ["year"]),
        *((one, shape, ["region", "year"]) for one in tables.values()),
        (dc.combine([released("sizes"), released("sizes", seed=2)], same_data=True), shape, ["region", "year"]),
    ]
    for reading, axes, groups in readings:
        for found in (reading.mean(), reading.std(), reading.var(), reading.median(), reading.quantile(0.3)):
            assert found.shape == axes
        for found in (reading.interval(0.9), reading.hdi(0.9), reading.quantile([0.05, 0.95])):
            assert found.shape == (*axes, 2)
            assert (found[..., 0] <= reading.median()).all()
            assert (reading.median() <= found[..., 1]).all()
        assert np.allclose(reading.quantile([0.05, 0.95]), reading.interval(0.9), atol=1e-9)
        assert np.allclose(reading.var(), reading.std() ** 2, atol=1e-15)
        assert (np.ptp(reading.hdi(0.9), axis=-1) <= np.ptp(reading.interval(0.9), axis=-1) + 2e-3).all()
        for kind in ("eti", "hdi"):
            frame = reading.summary(0.9, kind=kind)
            assert list(frame.columns) == [*groups, *COLUMNS]
            ends = reading.interval(0.9) if kind == "eti" else reading.hdi(0.9)
            assert np.array_equal(frame[["low", "high"]].to_numpy().reshape(ends.shape), ends)
    for one in tables.values():
        part = one["south", 2024]
        for whole, own in ((one.mean(), part.mean()), (one.std(), part.std()), (one.median(), part.median()), (one.hdi(), part.hdi())):
            assert np.allclose(whole[3], own, atol=1e-7)
        assert np.allclose(one.interval(0.9)[3], [part.marginal(c).ppf([0.05, 0.95]) for c in part.categories], atol=1e-6)
    assert (table.quantile([0.0, 1.0])[3] == [0.0, 1.0]).all()
    assert (table.quantile(1.0)[0] == [1.0, 0.0, 1.0]).all()  # "former" cannot occur there
    assert table.quantile([]).shape == (4, 3, 0)
    assert variable_median() == pytest.approx(0.5, abs=1e-10)


def variable_median() -> float:
    """That of a probability whose posterior is the same seen from either side."""
    mechanism = dc.LatticeGeometric(dc.Beta(1, 1), 10, 1)
    return float(dc.Release(mechanism, mechanism.guarantee, (5, 5), (5, 5)).noise_aware().median()[0])


def test_highest_density_intervals_of_a_table_are_bounded() -> None:
    table = released("sizes").noise_aware()
    with lowered(DENSITY_INTERVALS=10), pytest.raises(dc.TooLargeError, match=r" 10 cells, .* 11: post\[group\]\.hdi\(\)"):
        table.summary(kind="hdi")
    with pytest.raises(dc.RefusedError, match="these are counts"):
        table.counts.over().hdi()


def test_simultaneous_intervals_of_one_variable() -> None:
    """Bonferroni's: of three intervals each leaves out a third. Two categories have one interval, because one says the other."""
    posterior = dc.LatticeGeometric(dc.Dirichlet.uniform(categories=CATEGORIES), 90, 1).release([40, 30, 20]).noise_aware()
    found = posterior.simultaneous(0.94)
    assert np.allclose(found, posterior.interval(0.98), atol=1e-12)
    draws = posterior.sample(20_000, rng=3)
    assert ((draws > found[:, 0]) & (draws < found[:, 1])).all(axis=1).mean() > 0.93
    two = dc.LatticeGeometric(dc.Beta(1, 1), 90, 1).release([40, 50]).noise_aware()
    assert np.allclose(two.simultaneous(0.9), two.interval(0.9), atol=1e-12)
