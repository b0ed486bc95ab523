"""Differences, ratios and odds ratios as distributions: densities by quadrature, draws by their law, and the shortest intervals."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta, kstest

import discreet as dc
from discreet.betas.mixtures import BetaMixture
from discreet.inference.contrasts import independent_contrast
from discreet.inference.quantities import Quantity
from tests.record.table_support import released

FIRST, SECOND = (6.0, 3.5), (4.0, 8.0)


def law(a: float, b: float) -> BetaMixture:
    return BetaMixture(np.ones(1), np.array([a]), np.array([b]))


@pytest.fixture(scope="module")
def contrast() -> dc.Contrast:
    return independent_contrast(law(*FIRST), law(*SECOND))


def quantities(contrast: dc.Contrast) -> list[Quantity]:
    return [contrast.difference, contrast.ratio, contrast.odds_ratio]


def test_densities_are_those_of_quadrature(contrast: dc.Contrast) -> None:
    """f(d) = ∫ f₁(t + d) f₂(t) dt, f(r) = ∫ t f₁(r t) f₂(t) dt, and for odds ratios the same in the odds."""
    one, other = beta(*FIRST), beta(*SECOND)
    for d in (-0.3, 0.1, 0.3, 0.7):
        expected = quad(lambda t, d=d: one.pdf(t + d) * other.pdf(t), 0.0, 1.0, epsabs=1e-12)[0]
        assert contrast.difference.pdf(d) == pytest.approx(expected, abs=1e-5)
        assert abs(contrast.difference.pdf(d + 0.02) - expected) > 1e-3  # the negative control
    for r in (0.5, 1.7, 4.0):
        expected = quad(lambda t, r=r: t * one.pdf(r * t) * other.pdf(t), 0.0, 1.0, epsabs=1e-12)[0]
        assert contrast.ratio.pdf(r) == pytest.approx(expected, abs=1e-5)

        def turned(t: float, r: float = r) -> float:
            odds = r * t / (1.0 - t)
            return float(one.pdf(odds / (1.0 + odds)) / (1.0 + odds) ** 2 * t / (1.0 - t) * other.pdf(t))

        assert contrast.odds_ratio.pdf(r) == pytest.approx(quad(turned, 0.0, 1.0, epsabs=1e-12)[0], abs=1e-5)


def test_outside_of_the_support_there_is_nothing(contrast: dc.Contrast) -> None:
    assert contrast.difference.pdf([-1.5, -1.0, 1.0, 2.0]).tolist() == [0.0] * 4
    assert contrast.ratio.pdf([-1.0, 0.0]).tolist() == [0.0, 0.0]
    assert contrast.ratio.sf([-1.0, 0.0, np.inf]).tolist() == [1.0, 1.0, 0.0]
    for one in quantities(contrast):
        points = one.ppf([0.2, 0.7])
        assert one.sf(points) == pytest.approx(1.0 - one.cdf(points), abs=1e-15)


def test_draws_have_the_law(contrast: dc.Contrast) -> None:
    """Draws of both probabilities, made by NumPy alone, have the same law; the seed is fixed, and a moved law is seen."""
    rng = np.random.default_rng(5)
    one, other = rng.beta(*FIRST, 20_000), rng.beta(*SECOND, 20_000)
    expected = one - other, one / other, one / (1.0 - one) / (other / (1.0 - other))
    for quantity, direct in zip(quantities(contrast), expected, strict=True):
        drawn = quantity.sample(20_000, rng=3)
        assert kstest(drawn, direct).pvalue > 1e-3
        assert kstest(1.2 * drawn, direct).pvalue < 1e-9
        assert np.array_equal(quantity.sample((2, 3)), quantity.sample((2, 3)))
        assert quantity.sample((2, 3), rng=1).shape == (2, 3)
        levels = np.linspace(0.001, 0.999, 21)
        assert np.abs(quantity.cdf(np.sort(quantity.sample(999, rng=1))).mean() - 0.5) < 0.05
        assert quantity.to_scipy().ppf(levels) == pytest.approx(quantity.ppf(levels), rel=1e-12)


def test_the_shortest_interval_holds_what_it_says_and_none_is_shorter(contrast: dc.Contrast) -> None:
    for quantity in quantities(contrast):
        low, high = quantity.hdi(0.8)
        assert float(quantity.cdf(high) - quantity.cdf(low)) == pytest.approx(0.8, abs=1e-9)
        starts = np.linspace(0.005, 0.195, 30)
        others = quantity.ppf(starts + 0.8) - quantity.ppf(starts)
        assert high - low <= others.min() * (1.0 + 1e-5)
        assert high - low < quantity.interval(0.8)[1] - quantity.interval(0.8)[0]
        assert quantity.pdf([low, high])[0] == pytest.approx(quantity.pdf([low, high])[1], rel=0.02)


def test_scipy_has_the_same_numbers(contrast: dc.Contrast) -> None:
    for quantity in quantities(contrast):
        frozen, x = quantity.to_scipy(), quantity.ppf([0.1, 0.6])
        assert frozen.cdf(x) == pytest.approx([0.1, 0.6], abs=1e-12)
        assert frozen.isf(0.4) == pytest.approx(x[1], rel=1e-9)
        assert frozen.pdf(x) == pytest.approx(quantity.pdf(x))
        assert (frozen.mean(), frozen.std()) == pytest.approx((quantity.mean(), quantity.std()))
        assert frozen.rvs(size=3, random_state=1).shape == (3,)
        assert frozen.rvs(random_state=1) > quantity.support[0]


def test_every_contrast_has_every_verb() -> None:
    """Of categories, and of groups under each promise: verbs agree with each other."""
    found = [released(public).noise_aware().contrast(("south", 2023), ("south", 2024), "never") for public in ("sizes", "total", "nothing")]
    for contrast in [*found, released().noise_aware()["south", 2024].contrast("never", "current")]:
        one = contrast.difference
        low, high = one.hdi(0.9)
        assert float(one.cdf(high) - one.cdf(low)) == pytest.approx(0.9, abs=1e-9)
        assert float(one.sf(0.0)) == pytest.approx(contrast.probability, abs=1e-8)
        nodes, weights = np.polynomial.legendre.leggauss(12)
        start, end = 0.1, 0.3  # beside 0, where the density of a difference may have a corner
        within = 0.5 * (end - start) * float(weights @ one.pdf(start + 0.5 * (end - start) * (1.0 + nodes)))
        assert within == pytest.approx(float(one.cdf(end) - one.cdf(start)), abs=1e-6)
        assert abs(float(np.median(one.sample(4000, rng=1))) - one.median()) < 0.1


def test_a_bend_at_the_end_of_a_panel_is_seen() -> None:
    """θ₁ <= θ₂ + t has a bend where θ₂ = 1 - t, here 3e-4 of log-odds from the end of a panel: the quantile is that of `below`."""
    made = dc.LatticeGeometric(dc.Dirichlet([1, 1], ["a", "b"]), None, 1, by={"g": range(3)})
    raw = np.array([[1, 2], [16, 34], [16, 34]])
    difference = dc.Release(made, made.guarantee, raw, made.report(raw)).noise_aware().contrast(0, 1, "a").difference
    found = difference.ppf(0.975)
    assert difference.cdf(found) == pytest.approx(0.975, abs=1e-12)
    assert difference.cdf(found - 1e-8) != pytest.approx(0.975, abs=1e-12)
