"""Noise-aware posteriors. Oracle: the definition, summed over all possible counts; the exact law of outcomes for coverage.

Statistical tests have fixed seeds, a false-alarm rate of `FALSE_ALARM` each, and a wrong distribution that they must reject.
"""

from math import lgamma
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from benchmarks.quotes import load
from numpy.typing import NDArray
from scipy import stats
from scipy.special import betainc, gammaln

import discreet as dc
from discreet.betas.mixtures import BetaMixture
from discreet.counts.listed import ListedCounts
from discreet.counts.runs import Run
from discreet.counts.tree import TreeCounts
from discreet.inference.noise_aware import NoiseAware
from discreet.mechanisms import Mechanism
from tests.inference.coverage import TOLERANCE, coverage, ks_p_value, make, release_of
from tests.inference.laws import convolved, latent_counts
from tests.support import lattice, lowered, mostly_slow, watched

FALSE_ALARM = 1e-6
Floats = NDArray[np.float64]

PRODUCTS = [dc.LaplaceZhang, dc.LaplaceDimension, dc.LaplaceHistogram, dc.LatticeGeometric]
EXPONENTIALS = [dc.HellingerGlobal, dc.HellingerLocal, dc.HellingerSmooth, dc.HellingerSmoothDelta]
WORLDS = [([1, 1], 12, 0.5), ([0.3, 4], 9, 0.2), ([1, 1, 1], 8, 1.0), ([0.01, 2, 30], 7, 0.3), ([0.5, 1, 2, 0.1], 5, 0.7)]


def _log_predictive(a: Floats, points: Any) -> Floats:
    """ln DirMult(x; n, a), from the textbook formula."""
    n = int(points[0].sum())
    constant = lgamma(n + 1) + lgamma(a.sum()) - lgamma(n + a.sum())
    return np.asarray(constant + (gammaln(a + points) - gammaln(a) - gammaln(points + 1.0)).sum(axis=-1))


def _by_definition(mechanism: Mechanism, raw: tuple[int, ...]) -> tuple[Any, Floats]:
    """All possible counts and their posterior probabilities."""
    points = lattice(mechanism.space.total, mechanism.k)
    log_weight = _log_predictive(mechanism.prior.concentration, points) + [mechanism.log_prob(x, raw) for x in points]
    weight = np.exp(log_weight - log_weight.max())
    return points, weight / weight.sum()


def _outcomes(mechanism: Mechanism) -> list[tuple[int, ...]]:
    """A few raw outcomes: typical ones, and for noisy counts also some far outside."""
    counts = np.random.default_rng(5).multinomial(mechanism.space.total, np.full(mechanism.k, 1.0 / mechanism.k))
    drawn = mechanism._simulate_raw(counts, 3, np.random.default_rng(6))
    far = [drawn[0] + 40 * np.resize([1, -1], drawn.shape[1])] if mechanism.noise is not None and drawn.shape[1] != 3 else []
    return [tuple(row.tolist()) for row in (*drawn, *far)]


def _difference(run: Run, expected: Floats) -> float:
    """Σ |p - q| over all counts."""
    full = np.zeros(max(len(expected), run.high + 1))
    full[run.low : run.high + 1] = run.value
    full[: len(expected)] -= expected
    return float(np.abs(full).sum())


def _listed(mechanism: Mechanism, raw: tuple[int, ...]) -> ListedCounts:
    """Two categories, all counts, whatever their number."""
    first = np.arange(mechanism.space.total + 1)
    points = np.stack([first, mechanism.space.total - first], axis=-1)
    noise = np.array(raw) - points[:, : len(raw)]
    if isinstance(mechanism, dc.LaplaceZhang | dc.LaplaceHistogram):  # ⌊Laplace⌋ is t or -1-t with probability ∝ e^{-t/b}
        log_likelihood = -np.where(noise >= 0, noise, -noise - 1).sum(axis=-1) / float(mechanism._scale)
    else:
        log_likelihood = -float(mechanism.epsilon) * np.maximum(noise, 0).sum(axis=-1)
    return ListedCounts.of_logs(points, mechanism.prior.predictive(mechanism.space.total).logpmf(points) + log_likelihood)


# --- against the definition -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", mostly_slow(WORLDS[1::2] + WORLDS[::2], 2), ids=str)
@pytest.mark.parametrize("cls", [*PRODUCTS, *EXPONENTIALS])
def test_small_worlds_match_the_definition(cls: type[Mechanism], world: Any) -> None:
    a, n, epsilon = world
    mechanism = make(cls, dc.Dirichlet(a), n, epsilon)
    grid = np.linspace(0.02, 0.98, 9)
    for raw in _outcomes(mechanism):
        points, weight = _by_definition(mechanism, raw)
        posterior = release_of(mechanism, raw).noise_aware()
        shape = np.array(a) + points
        total = sum(a) + n
        mean = weight @ (shape / total)
        second = weight @ (shape * (shape + 1.0) / (total * (total + 1.0)))
        np.testing.assert_allclose(posterior.mean(), mean, rtol=1e-10)
        np.testing.assert_allclose(posterior.var(), second - mean**2, rtol=1e-9)
        np.testing.assert_allclose(posterior.std(), np.sqrt(second - mean**2), rtol=1e-9)
        for i, category in enumerate(posterior.categories):
            marginal = posterior.marginal(category)
            expected = weight @ betainc(shape[:, i, None], total - shape[:, i, None], grid)
            np.testing.assert_allclose(marginal.cdf(grid), expected, rtol=1e-9)
            np.testing.assert_allclose(marginal.cdf(posterior.interval(0.9)[i]), [0.05, 0.95], rtol=1e-10)
            x, probability = posterior.count_probabilities(category)
            np.testing.assert_allclose(probability, np.bincount(points[:, i], weight)[x], atol=TOLERANCE["laws"])


@pytest.mark.parametrize("world", WORLDS, ids=str)
@pytest.mark.parametrize("cls", PRODUCTS)
def test_convolutions_match_the_definition(cls: type[Mechanism], world: Any) -> None:
    a, n, epsilon = world
    options = [{}] if cls is dc.LatticeGeometric else [{}, {"rounding": "nearest"}]
    for option in options:
        mechanism = make(cls, dc.Dirichlet(a), n, epsilon, **option)
        for raw in _outcomes(mechanism):
            points, weight = _by_definition(mechanism, raw)
            law = convolved(mechanism, np.clip(raw, -1, n + 1))
            assert law.omitted < TOLERANCE["omitted"]
            for i in range(mechanism.k):
                assert _difference(law.marginal(i), np.asarray(np.bincount(points[:, i], weight), dtype=np.float64)) < TOLERANCE["laws"]


@pytest.mark.parametrize("wrapper", [dc.Remapped, dc.Calibrated, lambda m: dc.Remapped(dc.Calibrated(m))])
def test_wrappers_are_seen_through(wrapper: Any) -> None:
    mechanism = wrapper(make(dc.HellingerSmooth, dc.Beta(1, 2), 12, 1))
    for raw in ((3, 9), (12, 0)):
        _, weight = _by_definition(mechanism, raw)
        _, probability = release_of(mechanism, raw).noise_aware().count_probabilities("success")
        np.testing.assert_allclose(probability, weight, atol=TOLERANCE["laws"])
    inside = make(dc.LaplaceHistogram, dc.Beta(1, 2), 12, 1)
    pair = [release_of(m, (17,)).noise_aware().mean() for m in (inside, dc.Remapped(inside))]
    np.testing.assert_array_equal(pair[0], pair[1])


def test_outcomes_far_outside_say_no_more_than_those_just_outside() -> None:
    mechanism = make(dc.LaplaceZhang, dc.Dirichlet([1, 2, 3]), 10, 0.5)
    near, far = (release_of(mechanism, raw).noise_aware().mean() for raw in ((-1, 5, 11), (-(10**15), 5, 10**15)))
    np.testing.assert_array_equal(near, far)


# --- many records: windows against full sums --------------------------------------------------------------------------


@pytest.mark.parametrize("a", [[1, 1], [0.5, 0.5], [1e-3, 1e-3], [100, 900], [0.05, 3]], ids=str)
@pytest.mark.parametrize("epsilon", [1.0, 0.1, 0.01])
@pytest.mark.parametrize("cls", [dc.LaplaceZhang, dc.LaplaceHistogram, dc.LatticeGeometric])
def test_windows_match_full_sums(cls: type[Mechanism], epsilon: float, a: list[float]) -> None:
    n = 6000 if a == [1, 1] else 2000  # beyond 4096 the windows are found on nodes
    mechanism = make(cls, dc.Dirichlet(a), n, epsilon)
    for first in (n // 3, 3):
        raw = tuple(mechanism._simulate_raw(np.array([first, n - first]), 1, np.random.default_rng(first))[0].tolist())
        law = convolved(mechanism, np.clip(raw, -1, n + 1))
        full = _listed(mechanism, raw)
        for i in range(2):
            assert _difference(law.marginal(i), full.marginal(i).value) < TOLERANCE["windows"]


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("a", [[1e-9, 1e-9], [1e-6, 1.0, 1e6], [1e15, 1e15]], ids=str)
@pytest.mark.parametrize("cls", [dc.LaplaceZhang, dc.LaplaceHistogram, dc.LatticeGeometric])
def test_extreme_priors_and_noise_agree_with_the_list(cls: type[Mechanism], a: list[float], epsilon: float) -> None:
    for n in (1, 40):
        mechanism = make(cls, dc.Dirichlet(a), n, epsilon)
        x = np.array([n, *[0] * (len(a) - 1)])
        raw = np.clip(mechanism._simulate_raw(x, 1, np.random.default_rng(1))[0], -1, n + 1)
        listed, law = latent_counts(mechanism, tuple(raw.tolist())), convolved(mechanism, raw)
        assert isinstance(listed, ListedCounts)
        assert law.omitted < 1e-20
        for i in range(len(a)):
            assert _difference(law.marginal(i), listed.marginal(i).value) < 1e-10
        assert (law.sample(5, np.random.default_rng(1)).sum(axis=1) == n).all()


@pytest.mark.parametrize(("a", "first"), [([1, 1], 300_000), ([0.5, 0.5], 12), ([2000, 8000], 199_000)], ids=str)
@pytest.mark.parametrize("cls", mostly_slow([dc.LatticeGeometric, dc.LaplaceHistogram], 1))
def test_a_million_records_match_the_full_sum(cls: type[Mechanism], a: list[float], first: int) -> None:
    mechanism = make(cls, dc.Dirichlet(a), 10**6, 0.01)
    raw = tuple(mechanism._simulate_raw(np.array([first, 10**6 - first]), 1, np.random.default_rng(1))[0].tolist())
    law = latent_counts(mechanism, raw)
    assert isinstance(law, TreeCounts)
    assert law.omitted < TOLERANCE["omitted"]
    assert _difference(law.marginal(0), _listed(mechanism, raw).marginal(0).value) < TOLERANCE["a million"]


@pytest.mark.parametrize("n", [10**6, 10**9, 10**12])
@pytest.mark.parametrize("cls", PRODUCTS)
def test_windows_do_not_grow_with_n(cls: type[Mechanism], n: int) -> None:
    mechanism = make(cls, dc.Dirichlet([1, 0.5, 2]), n, 0.5)
    x = np.array([n // 4, n // 4, n // 2])
    law = latent_counts(mechanism, tuple(mechanism._simulate_raw(x, 1, np.random.default_rng(2))[0].tolist()))
    assert isinstance(law, TreeCounts)
    assert sorted(high - low for low, high in law.windows)[1] < 2000  # the widest holds what the others leave
    assert law.omitted < TOLERANCE["omitted"]
    means = [float(run.value @ (run.x - x[i])) for i, run in enumerate(law.marginal(i) for i in range(3))]
    assert abs(sum(means)) < 1e-6  # the counts add up to n
    assert max(abs(mean) for mean in means) < 100  # and are near the truth


def test_a_billion_records_have_the_variance_of_the_data_and_of_the_noise() -> None:
    n, epsilon = 10**9, 1e-3
    mechanism = make(dc.LaplaceHistogram, dc.Beta(1, 1), n, epsilon)
    posterior = release_of(mechanism, (n // 4,)).noise_aware()
    floored = (2.0 * (1.0 / epsilon) ** 2) / n**2
    np.testing.assert_allclose(posterior.var(), 0.25 * 0.75 / n + floored, rtol=1e-4)
    low, high = posterior.interval(0.95)[0]
    np.testing.assert_allclose(posterior.marginal("success").cdf([low, high]), [0.025, 0.975], rtol=1e-9)


def test_short_and_long_convolutions_agree() -> None:
    mechanism = make(dc.LatticeGeometric, dc.Dirichlet([1, 0.5, 2, 1]), 5000, 0.05)
    outcome = np.array([1000, 20, 3000, 980])
    direct = convolved(mechanism, outcome)
    expected = [direct.marginal(i).value for i in range(4)]
    with lowered(DIRECT_CONVOLUTION=0):
        transformed = convolved(mechanism, outcome)
        found = [transformed.marginal(i).value for i in range(4)]
    for i in range(4):
        assert np.abs(found[i] - expected[i]).sum() < TOLERANCE["transforms"]


def test_the_bound_on_omitted_mass_holds() -> None:
    """With windows cut so short that it shows."""
    for cls in (dc.LaplaceZhang, dc.LaplaceHistogram, dc.LatticeGeometric):
        mechanism = make(cls, dc.Dirichlet([1, 0.5]), 2000, 0.1)
        raw = tuple(mechanism._simulate_raw(np.array([500, 1500]), 1, np.random.default_rng(8))[0].tolist())
        with lowered(WINDOW_TAIL=0.02):
            law = convolved(mechanism, np.array(raw))
            omitted = law.omitted
        low, high = law.windows[0]
        full = _listed(mechanism, raw).marginal(0).value
        missing = float(full[:low].sum() + full[high + 1 :].sum())
        assert 1e-9 < missing <= omitted < 0.05


@pytest.mark.parametrize(("a", "n", "epsilon", "first"), [([1, 1], 10**6, 0.01, 300_000), ([0.5, 0.5], 20_000, 0.01, 100)], ids=str)
def test_long_mixtures_are_the_sum_of_their_components(a: list[float], n: int, epsilon: float, first: int) -> None:
    mechanism = make(dc.LatticeGeometric, dc.Beta(a[0], a[1]), n, epsilon)
    posterior = release_of(mechanism, (first, n - first)).noise_aware()
    x, weight = posterior.count_probabilities("success")
    ones = x.astype(np.float64)
    full = BetaMixture(weight, a[0] + ones, a[1] + (n - ones))
    found = posterior.marginal("success")
    points = full.ppf([1e-6, 0.01, 0.2, 0.5, 0.9, 0.999])
    np.testing.assert_allclose(found.cdf(points), full.cdf(points), rtol=1e-10)
    np.testing.assert_allclose(found.sf(points), full.sf(points), rtol=1e-10)
    np.testing.assert_allclose([found.mean(), found.std()], [full.mean(), full.std()], rtol=1e-12)


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_what_cannot_be_computed_is_refused_plainly() -> None:
    three = release_of(make(dc.HellingerSmooth, dc.Dirichlet.uniform(3), 446, 1), (46, 150, 250))
    with pytest.raises(dc.TooLargeError, match=r"HellingerSmooth.*100,128.*100,000"):
        three.noise_aware()
    two = release_of(make(dc.HellingerGlobal, dc.Beta(1, 1), 200_000, 1), (100_000, 100_000))
    with pytest.raises(dc.TooLargeError, match=r"200,001.*100,001"):
        two.noise_aware()
    wide = release_of(make(dc.LatticeGeometric, dc.Beta(1, 1), 10**9, 1e-6), (10**8, 9 * 10**8))
    with pytest.raises(dc.TooLargeError, match="larger epsilon"):
        wide.noise_aware()
    with pytest.raises(dc.InvalidInputError, match="category must be one of"):
        release_of(make(dc.LatticeGeometric, dc.Beta(1, 1), 5, 1), (2, 3)).noise_aware().marginal("no such")


# --- draws ------------------------------------------------------------------------------------------------------------


def _chi_square(draws: Any, run: Run) -> float:
    """p-value of counts drawn against their marginal, in cells that expect at least 20."""
    expected = run.value * len(draws)
    cells = max(2, int(len(draws) // 20))
    cell = np.minimum(np.cumsum(expected) // 20, cells - 1).astype(np.int64)
    _, cell = np.unique(cell, return_inverse=True)
    observed = np.bincount(cell[draws - run.low], minlength=cell.max() + 1)
    return float(stats.chisquare(observed, np.bincount(cell, expected * len(draws) / expected.sum())).pvalue)


SAMPLED = {
    "listed": make(dc.LatticeGeometric, dc.Dirichlet([1, 0.5, 2]), 20, 0.5),
    "exponential": make(dc.HellingerSmooth, dc.Dirichlet([1, 2]), 60, 2),
    "wide noise": make(dc.LaplaceZhang, dc.Dirichlet([1, 0.5, 2, 1]), 3000, 0.2),
    "hardly any information": make(dc.LatticeGeometric, dc.Dirichlet([0.01, 0.01, 0.01]), 6000, 1e-7),
    "many categories": make(dc.LatticeGeometric, dc.Dirichlet.uniform(40), 3000, 0.5),
}


@pytest.mark.parametrize("name", SAMPLED)
def test_drawn_counts_follow_their_marginals(name: str) -> None:
    mechanism = SAMPLED[name]
    shares = np.arange(1.0, mechanism.k + 1.0)
    x = np.random.default_rng(1).multinomial(mechanism.space.total, shares / shares.sum())
    raw = tuple(mechanism._simulate_raw(x, 1, np.random.default_rng(2))[0].tolist())
    posterior = release_of(mechanism, raw).noise_aware()
    draws = posterior.sample_counts(5000, np.random.default_rng(3))
    assert draws.shape == (5000, mechanism.k)
    assert (draws.sum(axis=1) == mechanism.n).all()
    assert (draws >= 0).all()
    assert min(_chi_square(draws[:, i], posterior.counts.marginal(i)) for i in range(mechanism.k)) > FALSE_ALARM


def test_the_test_of_drawn_counts_can_fail() -> None:
    """Draws of a mechanism with a quarter less noise are told apart."""
    raw = (1000, 2000)
    right, wrong = (release_of(make(dc.LatticeGeometric, dc.Beta(1, 1), 3000, e), raw).noise_aware() for e in (0.1, 0.125))
    draws = wrong.sample_counts(5000, np.random.default_rng(3))
    run = right.counts.marginal(0)
    assert _chi_square(np.clip(draws[:, 0], run.low, run.high), run) < FALSE_ALARM


@pytest.mark.parametrize("name", ["listed", "exponential", "wide noise"])  # with hardly any information, floats round to 1 what is not
def test_drawn_probabilities_follow_their_marginals(name: str) -> None:
    mechanism = SAMPLED[name]
    shares = np.arange(1.0, mechanism.k + 1.0)
    x = np.random.default_rng(1).multinomial(mechanism.space.total, shares / shares.sum())
    raw = tuple(mechanism._simulate_raw(x, 1, np.random.default_rng(2))[0].tolist())
    release = release_of(mechanism, raw)
    posterior = release.noise_aware()
    draws = posterior.sample(2000, np.random.default_rng(4))
    np.testing.assert_allclose(draws.sum(axis=-1), 1.0)
    naive = np.random.default_rng(4).dirichlet(mechanism.prior.concentration + np.array(release.counts), 2000)
    laws = [posterior.marginal(category).cdf for category in posterior.categories]
    assert min(ks_p_value(draws[:, i], cdf) for i, cdf in enumerate(laws)) > FALSE_ALARM
    assert min(ks_p_value(naive[:, i], cdf) for i, cdf in enumerate(laws)) < FALSE_ALARM  # the reported one is another
    assert posterior.sample((2, 3), 1).shape == (2, 3, mechanism.k)


# --- other libraries, and people --------------------------------------------------------------------------------------


def _example(categories: list[Any]) -> NoiseAware:
    prior = dc.Dirichlet([1, 1, 1], categories=categories)
    return release_of(make(dc.LatticeGeometric, prior, 60, 0.5), (12, 20, 28)).noise_aware()


def test_scipy_gets_the_marginals() -> None:
    posterior = _example(["low", "mid", "high"])
    frozen = posterior.to_scipy()
    assert list(frozen) == ["low", "mid", "high"]
    np.testing.assert_allclose([f.mean() for f in frozen.values()], posterior.mean())
    np.testing.assert_allclose(frozen["mid"].interval(0.95), posterior.interval(0.95)[1])


@pytest.mark.parametrize(
    ("categories", "labels"),
    [(["low", "mid", "high"], ["low", "mid", "high"]), ([1, 2, 3], [1, 2, 3]), ([None, 1, "x"], ["None", "1", "x"])],
)
def test_xarray_gets_draws_by_chain_draw_and_category(categories: list[Any], labels: list[Any]) -> None:
    pytest.importorskip("xarray")
    posterior = _example(categories)
    dataset = posterior.to_xarray(draws=50, chains=3, rng=1)
    assert dataset["theta"].dims == dataset["count"].dims == ("chain", "draw", "category")
    assert dict(dataset.sizes) == {"chain": 3, "draw": 50, "category": 3}
    assert dataset["category"].values.tolist() == labels
    assert (dataset["count"].sum("category") == 60).all()
    np.testing.assert_allclose(dataset["theta"].sum("category"), 1.0)
    np.testing.assert_allclose(dataset["theta"].mean(("chain", "draw")), posterior.mean(), atol=0.1)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")  # ArviZ's own
def test_arviz_takes_it() -> None:
    arviz = pytest.importorskip("arviz")
    posterior = _example(["low", "mid", "high"])
    summary = arviz.summary(posterior.to_arviz(draws=500, chains=4, rng=1), var_names=["theta"])
    assert list(summary.index) == ["theta[low]", "theta[mid]", "theta[high]"]
    np.testing.assert_allclose(np.asarray(summary["mean"], dtype=np.float64), posterior.mean(), atol=0.02)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "xarray", None)
    with pytest.raises(dc.InvalidInputError, match=r"pip install 'discreet\[arviz\]'"):
        _example(["a", "b", "c"]).to_xarray()


def test_people_see_means_and_intervals() -> None:
    posterior = _example(["low", "mid", "high"])
    assert repr(posterior).startswith("NoiseAware('low': 0.")
    assert posterior._repr_html_().count("<tr>") == 4
    ax = posterior.plot()
    assert len(ax.get_lines()) == 3
    two = release_of(make(dc.LatticeGeometric, dc.Beta(1, 1), 9, 1), (2, 7)).noise_aware()
    assert len(two.plot(plt.subplots()[1]).get_lines()) == 1


# --- coverage ---------------------------------------------------------------------------------------------------------

GRID = [
    *((cls, n, epsilon) for cls in PRODUCTS for n, epsilon in ((50, 1.0), (200, 0.1), (1000, 0.5)) if (cls, n) != (dc.LaplaceZhang, 1000)),
    *((cls, n, epsilon) for cls in EXPONENTIALS for n, epsilon in ((50, 0.1), (50, 0.5), (200, 0.5), (200, 1.0))),
]
"""Every n with one ε: the table of all is recomputed with the other numbers of the pages (tests/docs/test_quoted_numbers.py)."""
IN_PAGES = (dc.LaplaceHistogram, dc.LatticeGeometric, dc.HellingerSmooth)
"""The mechanisms for which a page says what intervals cover that ignore the noise, at ε = 0.1 and 1 for n = 50 and 200."""


def _check_coverage(cls: type[Mechanism], n: int, epsilon: float) -> None:
    # both counts of LaplaceZhang are noisy, so it has (n + 3)² outcomes: from n = 200 on, 300 of them are drawn
    found = coverage(make(cls, dc.Beta(1, 1), n, epsilon), drawn=300 if cls is dc.LaplaceZhang and n > 50 else None)
    assert abs(found.noise_aware - 0.95) < 0.001
    assert found.worst < TOLERANCE["coverage"]
    assert found.naive < 0.95
    if cls in IN_PAGES and n in (50, 200) and epsilon in (0.1, 1.0):
        assert found.naive == pytest.approx(load()[f"coverage: {cls.__name__}, n = {n}, ε = {epsilon:g}"], abs=1e-6)


SAMPLE = [(dc.LaplaceHistogram, 50, 0.1), (dc.LatticeGeometric, 50, 0.5), (dc.LaplaceDimension, 50, 1.0), (dc.HellingerSmooth, 50, 1.0)]


@pytest.mark.parametrize(("cls", "n", "epsilon"), SAMPLE)
def test_intervals_cover_what_they_promise(cls: type[Mechanism], n: int, epsilon: float) -> None:
    _check_coverage(cls, n, epsilon)


@pytest.mark.slow
@pytest.mark.parametrize(("cls", "n", "epsilon"), GRID)
def test_intervals_cover_what_they_promise_everywhere(cls: type[Mechanism], n: int, epsilon: float) -> None:
    _check_coverage(cls, n, epsilon)


def test_the_coverage_test_can_fail() -> None:
    """A likelihood with a tenth less noise than was drawn is noticed."""
    drawn_from, read_as = (make(dc.LaplaceHistogram, dc.Beta(1, 1), 50, epsilon) for epsilon in ("0.5", "0.55"))
    found = coverage(drawn_from, read_as=read_as)
    assert abs(found.noise_aware - 0.95) > 0.001


@pytest.mark.parametrize(
    ("k", "n", "most"),
    [(2, 1000, 8), (3, 1000, 10), (10, 10**6, 10), (3, None, 12), (10, None, 12)],
    ids=["two", "three", "ten", "private n", "ten of private n"],
)
def test_an_interval_goes_through_few_files(k: int, n: int | None, most: int) -> None:
    """Whoever mends one has to know so many files of the library. The posterior is there, and its means are not."""
    mechanism = dc.LatticeGeometric(dc.Dirichlet.uniform(k), n, 1)
    release = mechanism.release([(n or 999) // k] * (k - 1) + [(n or 999) - (k - 1) * ((n or 999) // k)])
    release.noise_aware().interval()  # whatever is imported late
    posterior = release.noise_aware()
    with watched() as seen:
        posterior.interval()
    assert 5 < len(seen) <= most, sorted(seen)
