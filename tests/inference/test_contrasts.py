"""Contrasts of two groups. Oracles: enumeration of the true counts with Gauss quadrature over θ (`contrast_support`), and closed forms."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy.special import betainc, gammaln

import discreet as dc
from discreet.betas.mixtures import BetaMixture
from discreet.betas.rows import Block
from discreet.counts.runs import Run
from discreet.errors import InvalidInputError, TooLargeError
from discreet.inference.contrasts import CoupledGroup, coupled_contrast, independent_contrast, size_coupling
from discreet.inference.quantities import Contrast
from tests.inference.contrast_oracles import QUANTITIES, VALUES, Floats, Ints, Pairs, merged, squared, two_sided, worst
from tests.inference.coverage import release_of
from tests.support import lowered

CLOSE = 1e-9
PRIORS = ((1, 1), (2, 1))
"""Of the first and of the second group."""


def one_beta(a: float, b: float) -> BetaMixture:
    return BetaMixture(np.ones(1), np.array([a]), np.array([b]))


def of_mixtures(first: BetaMixture, second: BetaMixture) -> Pairs:
    i, j = (index.ravel() for index in np.indices((len(first.weight), len(second.weight))))
    return Pairs(first.weight[i] * second.weight[j], first.a[i], first.b[i], second.a[j], second.b[j])


# --- independent groups -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_distribution_functions_of_random_mixtures(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scale = (3, 12, 40, 90)[seed % 4]
    first, second = (BetaMixture(rng.random(4), *rng.integers(1, scale, (2, 4)).astype(np.float64)) for _ in range(2))
    contrast = independent_contrast(first, second)
    assert contrast.error < 1e-10
    assert worst(contrast, of_mixtures(first, second)) < 1e-12


def test_a_parameter_that_is_ten_percent_off_is_seen() -> None:
    first, second = one_beta(20, 30), one_beta(25, 20)
    assert worst(independent_contrast(one_beta(22, 30), second), of_mixtures(first, second)) > 0.01


@pytest.mark.parametrize(("a", "b"), [(0.5, 2.5), (0.01, 0.3), (1e-4, 20.0), (3.0, 1e-3)])
def test_small_parameters_against_a_closed_form(a: float, b: float) -> None:
    """ln θ of Beta(a, 1) is exponential: P(θ₁ <= t θ₂) = t^a b/(a + b) for t <= 1, and above 1 from the other side."""
    contrast = independent_contrast(one_beta(a, 1.0), one_beta(b, 1.0))
    for t in (1e-250, 1e-20, 0.3, 0.99, 1.0):
        assert float(contrast.ratio.cdf(t)) == pytest.approx(t**a * b / (a + b), abs=1e-12)
        assert float(contrast.ratio.cdf(1.0 / t)) == pytest.approx(1.0 - t**b * a / (a + b), abs=1e-12)
    assert contrast.probability == pytest.approx(a / (a + b), abs=1e-12)


@pytest.mark.parametrize("t", [1e-30, 1e-14, 1e-3, 0.4])
def test_small_differences_of_uneven_laws(t: float) -> None:
    """θ₁ is uniform, so that P(θ₁ - θ₂ <= t) is the mean of min(θ₂ + t, 1): from the distribution function of θ₂ and its first moment."""
    a, b = 0.02, 1.5
    mean = a / (a + b)
    expected = mean * betainc(a + 1.0, b, 1.0 - t) + t * betainc(a, b, 1.0 - t) + 1.0 - betainc(a, b, 1.0 - t)
    contrast = independent_contrast(one_beta(1.0, 1.0), one_beta(a, b))
    assert float(contrast.difference.cdf(t)) == pytest.approx(expected, abs=1e-12)


def test_a_narrow_law_against_a_wide_one() -> None:
    """θ₁ is all but known: the difference is nearly its mean less a uniform number."""
    contrast = independent_contrast(one_beta(3e8, 7e8), one_beta(1.0, 1.0))
    assert float(contrast.difference.cdf(0.1)) == pytest.approx(0.8, abs=1e-9)
    assert contrast.difference.median() == pytest.approx(-0.2, abs=1e-9)
    assert contrast.probability == pytest.approx(0.3, abs=1e-9)


@pytest.mark.parametrize("name", QUANTITIES)
def test_quantiles_undo_the_distribution_function(name: str) -> None:
    quantity = getattr(
        independent_contrast(BetaMixture(np.ones(2), np.array([2.5, 40.0]), np.array([0.5, 90.0])), one_beta(0.4, 3.0)), name
    )
    levels = np.array([[0.001, 0.025, 0.2], [0.5, 0.8, 0.999]])
    assert quantity.cdf(quantity.ppf(levels)) == pytest.approx(levels, abs=1e-11)
    assert quantity.median() == float(quantity.ppf(0.5))
    assert quantity.interval(0.6) == pytest.approx(quantity.ppf([0.2, 0.8]))
    low, high = (-1.0, 1.0) if name == "difference" else (0.0, np.inf)
    assert quantity.ppf([0.0, 1.0]).tolist() == [low, high]
    assert quantity.cdf([-2.0, low, 1e300]).tolist() == [0.0, 0.0, 1.0] or name != "difference"


def test_the_groups_exchanged() -> None:
    first, second = one_beta(7.0, 2.0), one_beta(3.5, 8.0)
    there, back = independent_contrast(first, second), independent_contrast(second, first)
    assert there.difference.interval() == pytest.approx(tuple(-x for x in back.difference.interval()[::-1]), abs=1e-11)
    for name in ("ratio", "odds_ratio"):
        assert getattr(there, name).interval() == pytest.approx(tuple(1.0 / x for x in getattr(back, name).interval()[::-1]), rel=1e-10)
    assert there.probability + back.probability == pytest.approx(1.0, abs=1e-12)


# --- moments ----------------------------------------------------------------------------------------------------------


def test_finite_moments_against_quadrature() -> None:
    rng = np.random.default_rng(3)
    first, second = (BetaMixture(rng.random(3), *rng.integers(4, 30, (2, 3)).astype(np.float64)) for _ in range(2))
    contrast, oracle = independent_contrast(first, second), of_mixtures(first, second)
    for name, value in VALUES.items():
        quantity, mean, square = getattr(contrast, name), oracle.mean(value), oracle.mean(partial(squared, value))
        assert quantity.mean() == pytest.approx(mean, rel=1e-11)
        assert quantity.std() == pytest.approx((square - mean**2) ** 0.5, rel=1e-9)


@pytest.mark.parametrize(
    ("second", "ratio", "odds"),
    [
        ((1.0, 9.0), (False, False), (False, False)),
        ((1.0 + 1e-9, 9.0), (True, False), (True, False)),
        ((2.0, 9.0), (True, False), (True, False)),
        ((2.1, 0.5), (True, True), (True, True)),
    ],
)
def test_which_moments_are_infinite(second: tuple[float, float], ratio: tuple[bool, bool], odds: tuple[bool, bool]) -> None:
    contrast = independent_contrast(one_beta(0.2, 3.0), one_beta(*second))
    assert (np.isfinite(contrast.ratio.mean()), np.isfinite(contrast.ratio.std())) == ratio
    assert (np.isfinite(contrast.odds_ratio.mean()), np.isfinite(contrast.odds_ratio.std())) == odds
    assert np.isfinite([contrast.difference.mean(), contrast.difference.std(), contrast.ratio.median()]).all()


def test_the_numerators_own_odds_can_make_an_odds_ratio_infinite() -> None:
    contrast = independent_contrast(one_beta(5.0, 1.0), one_beta(5.0, 5.0))
    assert contrast.odds_ratio.mean() == np.inf
    assert np.isfinite(contrast.ratio.mean())


def test_counts_that_were_left_out_make_a_mean_infinite() -> None:
    """A count of 0 has some probability whatever the outcome, even where the mixture does not list it."""
    mixture = release_of(dc.LatticeGeometric(dc.Beta(1, 1), n=2000, epsilon=2), (900, 1100)).noise_aware().marginal("success")
    assert np.isfinite(independent_contrast(mixture, mixture).ratio.mean())
    assert independent_contrast(mixture, mixture, priors=((1, 1), (1, 1))).ratio.mean() == np.inf
    assert np.isfinite(independent_contrast(mixture, mixture, priors=((3, 3), (3, 3))).ratio.std())


# --- coverage ---------------------------------------------------------------------------------------------------------


def _posterior(a: float, b: float, points: Ints, log_size: Floats, likelihood: Floats) -> tuple[float, Floats]:
    """The probability of an outcome, and that of all counts given it, from the textbook formulas."""
    x, y = points.T
    log_prior = (
        log_size + gammaln(x + y + 1.0) - gammaln(x + 1.0) - gammaln(y + 1.0) + gammaln(a + x) + gammaln(b + y) - gammaln(a + b + x + y)
    )
    joint = np.exp(log_prior + gammaln(a + b) - gammaln(a) - gammaln(b)) * likelihood
    return float(joint.sum()), joint / joint.sum()


def _public_size(group: int, n: int, q: float, z: int) -> tuple[float, Ints, Floats, tuple[int, int]]:
    points = np.stack([np.arange(n + 1), n - np.arange(n + 1)], axis=-1)
    chance, given = _posterior(*PRIORS[group], points, np.zeros(n + 1), two_sided(q, z, points[:, 0], 0, n))
    return chance, points, given, (z, n - z)


def _nothing_public(group: int, n: int, q: float, z: tuple[int, int]) -> tuple[float, Ints, Floats, tuple[int, int]]:
    """Sizes up to n, all of them as likely."""
    points = np.array([(x, y) for x in range(n + 1) for y in range(n + 1 - x)])
    likelihood = two_sided(q, z[0], points[:, 0], 0, n) * two_sided(q, z[1], points[:, 1], 0, n)
    chance, given = _posterior(*PRIORS[group], points, np.full(len(points), -np.log(n + 1.0)), likelihood)
    return chance, points, given, z


def coverage(n: int, epsilon: float, public: bool, mass: float = 0.9, read_as: float | None = None) -> tuple[dict[str, float], float]:
    """What intervals cover over all outcomes of two groups, and the largest |coverage - mass| given any class of outcomes."""
    q, mechanisms, outcomes = np.exp(-epsilon), [], []
    for group in (0, 1):
        mechanisms.append(dc.LatticeGeometric(dc.Beta(*PRIORS[group]), n=n if public else None, epsilon=read_as or epsilon))
        if public:
            outcomes.append([_public_size(group, n, q, z) for z in range(n + 1)])
        else:
            outcomes.append([_nothing_public(group, n, q, z) for z in product(range(n + 1), range(n + 1))])
    assert [sum(chance for chance, *_ in group) for group in outcomes] == pytest.approx([1.0, 1.0], abs=1e-12)
    sizes = None if public else np.zeros(n + 1)
    marginals = [
        [release_of(m, o[3]).noise_aware(size_prior=sizes).marginal("success") for o in g]
        for m, g in zip(mechanisms, outcomes, strict=True)
    ]
    covered, off = {"difference": 0.0, "odds_ratio": 0.0}, 0.0
    for (i, one), (j, two) in product(enumerate(outcomes[0]), enumerate(outcomes[1])):
        contrast = independent_contrast(marginals[0][i], marginals[1][j])
        oracle = _given(one, two)
        for name in covered:
            low, high = getattr(contrast, name).interval(mass)
            inside = oracle.cdf(name, high) - oracle.cdf(name, low)
            covered[name] += one[0] * two[0] * inside
            off = max(off, abs(inside - mass))
    return covered, off


def _given(one: tuple[float, Ints, Floats, tuple[int, int]], two: tuple[float, Ints, Floats, tuple[int, int]]) -> Pairs:
    i, j = (index.ravel() for index in np.indices((len(one[1]), len(two[1]))))
    first, second = (points[at] + np.array(prior) for (_, points, *_), at, prior in zip((one, two), (i, j), PRIORS, strict=True))
    return Pairs(*merged(one[2][i] * two[2][j], first[:, 0], first[:, 1], second[:, 0], second[:, 1]))


@pytest.mark.parametrize(
    ("n", "public"), [(2, True), (1, False), pytest.param(7, True, marks=pytest.mark.slow), pytest.param(2, False, marks=pytest.mark.slow)]
)
def test_intervals_cover_what_they_promise(n: int, public: bool) -> None:
    covered, off = coverage(n, 0.7, public)
    assert off < CLOSE
    assert covered == pytest.approx({"difference": 0.9, "odds_ratio": 0.9}, abs=CLOSE)


@pytest.mark.parametrize(("n", "public"), [(2, True), (1, False)])
def test_noise_that_is_ten_percent_off_is_seen_by_the_coverage(n: int, public: bool) -> None:
    covered, off = coverage(n, 0.7, public, read_as=0.77)
    assert off > 1e-3
    assert max(abs(value - 0.9) for value in covered.values()) > 1e-5


# --- groups that a public total ties together -------------------------------------------------------------------------


def _coupled_world(seed: int) -> tuple[CoupledGroup, CoupledGroup, Floats, Pairs]:
    """Three groups by three categories with a public total of 6 records, noisy; the first category of two groups is compared.

    The oracle lists all tables. The groups' weights are products of factors of cells, and of one for the group's size.
    """
    rng = np.random.default_rng(seed)
    total, q = 6, 0.55
    a, shares = rng.integers(1, 4, (3, 3)), np.array([1.0, 2.0, 1.5])
    noisy = rng.integers(-1, 5, (3, 3))
    cells = _tables(total, 9).reshape(-1, 3, 3)
    log_cell = gammaln(a + cells) - gammaln(cells + 1.0) + np.abs(noisy - cells) * np.log(q)
    sizes = cells.sum(axis=2)
    log_size = gammaln(shares + sizes) - gammaln(a.sum(axis=1) + sizes)
    weight = np.exp(log_cell.sum(axis=(1, 2)) + log_size.sum(axis=1))
    first, second = (a[g, 0] + cells[:, g, 0] + 0.0 for g in (0, 1))
    rest = [a[g, 1:].sum() + cells[:, g, 1:].sum(axis=1) + 0.0 for g in (0, 1)]
    oracle = Pairs(*merged(weight / weight.sum(), first, rest[0], second, rest[1]))

    x = np.arange(total + 1)
    factor = np.exp(gammaln(a[..., None] + x) - gammaln(x + 1.0) + np.abs(noisy[..., None] - x) * np.log(q))
    of_size = np.exp(gammaln(shares[:, None] + x) - gammaln(a.sum(axis=1)[:, None] + x))
    groups = []
    for g in (0, 1):
        beside = np.convolve(factor[g, 1], factor[g, 2])[: total + 1]
        weights = np.array([[of_size[g, u] * factor[g, 0, c] * beside[u - c] if c <= u else 0.0 for c in x] for u in x])
        groups.append(CoupledGroup(Block(0, x, weights), float(a[g, 0]), float(a[g, 1:].sum())))
    others = np.convolve(np.convolve(factor[2, 0], factor[2, 1]), factor[2, 2])[: total + 1] * of_size[2]
    return groups[0], groups[1], size_coupling(groups[0], groups[1], Run(0, others), total), oracle


def _tables(total: int, cells: int) -> Ints:
    if cells == 1:
        return np.array([[total]])
    return np.concatenate([np.insert(_tables(total - x, cells - 1), 0, x, axis=1) for x in range(total + 1)])


@pytest.mark.parametrize("seed", range(3))
def test_groups_with_a_public_total_against_all_tables(seed: int) -> None:
    first, second, coupling, oracle = _coupled_world(seed)
    contrast = coupled_contrast(first, second, coupling)
    assert worst(contrast, oracle) < 1e-11
    low, high = contrast.odds_ratio.interval(0.8)
    assert oracle.cdf("odds_ratio", high) - oracle.cdf("odds_ratio", low) == pytest.approx(0.8, abs=CLOSE)
    assert contrast.difference.mean() == pytest.approx(oracle.mean(lambda x, y: x - y), abs=1e-12)
    assert contrast.difference.std() == pytest.approx(
        (oracle.mean(lambda x, y: (x - y) ** 2) - contrast.difference.mean() ** 2) ** 0.5, rel=1e-10
    )
    if second.a > 1.0:
        assert contrast.ratio.mean() == pytest.approx(oracle.mean(lambda x, y: x / y), rel=1e-10)
    else:
        assert contrast.ratio.mean() == np.inf


def test_the_coupling_matters_and_is_seen() -> None:
    first, second, coupling, oracle = _coupled_world(1)
    assert worst(coupled_contrast(first, second, np.ones_like(coupling)), oracle) > 1e-3


def test_a_large_table_with_a_public_total_is_near_the_independent_contrast() -> None:
    """With many other groups the total says nothing about the sizes of two of them, which their own noise then gives."""
    u, x = np.arange(250, 351), np.arange(60, 141)
    weights = np.exp(-0.5 * ((x - 100.0) / 6.0) ** 2 - 0.5 * ((u[:, None] - 300.0) / 8.0) ** 2)
    group = CoupledGroup(Block(60, u, weights), 1.0, 2.0)
    wide = Run(9000, np.exp(-0.5 * (np.arange(-1000, 1001) / 1e5) ** 2))
    contrast = coupled_contrast(group, group, size_coupling(group, group, wide, 10600))
    components = group.block.family(1.0, 2.0)
    parameters = (components.rows[:, None] + components.columns).reshape(-1, 2)
    mixture = BetaMixture(weights.ravel(), parameters[:, 0], parameters[:, 1])
    assert contrast.odds_ratio.interval() == pytest.approx(independent_contrast(mixture, mixture).odds_ratio.interval(), rel=1e-3)


def test_bad_couplings_are_refused() -> None:
    first, second, coupling, _ = _coupled_world(0)
    for bad in (coupling[1:], -coupling - 1.0, coupling * np.nan):
        with pytest.raises(InvalidInputError, match="coupling must"):
            coupled_contrast(first, second, bad)
    with pytest.raises(InvalidInputError, match="at least one pair"):
        coupled_contrast(first, second, np.zeros_like(coupling))
    with lowered(CONTRAST_PAIRS=10), pytest.raises(TooLargeError, match="compare draws"):
        coupled_contrast(first, second, coupling)


# --- for people, and limits -------------------------------------------------------------------------------------------


def test_what_people_read() -> None:
    contrast = independent_contrast(one_beta(30.0, 10.0), one_beta(10.0, 30.0), names=("men", "<b>\x1b"))
    assert "men against <b>\\x1b" in repr(contrast)
    assert "odds ratio: median" in repr(contrast)
    page = contrast._repr_html_()
    assert "<b>" not in page
    assert "95 % interval" in page


def test_too_many_components_are_refused_in_one_line() -> None:
    with lowered(CONTRAST_CELLS=10), pytest.raises(TooLargeError, match="compare draws"):
        independent_contrast(one_beta(1.0, 2.0), one_beta(1.0, 2.0))


@pytest.mark.parametrize("bad", [-0.1, 1.5, np.nan])
def test_bad_levels_are_refused(bad: float) -> None:
    quantity = independent_contrast(one_beta(1.0, 2.0), one_beta(1.0, 2.0)).ratio
    with pytest.raises(InvalidInputError):
        quantity.ppf(bad)
    with pytest.raises(InvalidInputError):
        quantity.interval(bad)


# --- UC Berkeley, 1973 ------------------------------------------------------------------------------------------------

ADMITTED = ((1198, 1493), (557, 1278))
"""Men and women, admitted and rejected (Bickel, Hammel and O'Connell, 1975): the odds ratio is 1.841."""
ODDS_RATIO = 1198 * 1278 / (1493 * 557)


def _admissions(epsilon: float, releases: int) -> list[tuple[Contrast, Contrast]]:
    """For simulated releases of both groups with public sizes the contrast, and what comes out if the noise is ignored."""
    rng, found = np.random.default_rng(1973), []
    mechanisms = [dc.LatticeGeometric(dc.Beta(1, 1), n=sum(counts), epsilon=epsilon) for counts in ADMITTED]
    raws = [m._simulate_raw(np.array(counts), releases, rng) for m, counts in zip(mechanisms, ADMITTED, strict=True)]
    for pair in zip(*raws, strict=True):
        records = [release_of(m, tuple(raw.tolist())) for m, raw in zip(mechanisms, pair, strict=True)]
        men, women = (r.noise_aware().marginal("success") for r in records)
        aware = independent_contrast(men, women, names=("men", "women"), priors=((1, 1), (1, 1)))
        men, women = (one_beta(*(1.0 + np.array(r.counts))) for r in records)
        naive = independent_contrast(men, women)
        found.append((aware, naive))
    return found


@pytest.mark.parametrize(
    ("epsilon", "releases"), [(1.0, 10), (0.1, 10), *(pytest.param(e, 50, marks=pytest.mark.slow) for e in (1.0, 0.1))]
)
def test_admissions_to_berkeley(epsilon: float, releases: int) -> None:
    held, of_naive = 0, []
    for aware, naive in _admissions(epsilon, releases):
        low, high = aware.odds_ratio.interval(0.95)
        held += low <= ODDS_RATIO <= high
        assert aware.odds_ratio.mean() == np.inf
        of_naive.append(float(np.diff(aware.odds_ratio.cdf(naive.odds_ratio.interval(0.95)))[0]))
    assert round(ODDS_RATIO, 3) == 1.841
    assert held >= 0.95 * releases
    if epsilon == 0.1:
        assert max(of_naive) < 0.94, "an interval that ignores the noise promises more than it holds"
