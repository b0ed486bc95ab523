"""Divergences of ln Γ: floats against 320-bit arithmetic, enclosures against floats."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from scipy.special import gammaln
from scipy.stats import norm

from discreet.numerics import gamma
from discreet.numerics.balls import bregman_ball, gap_ball, refine
from discreet.numerics.gamma import (
    RELATIVE_ERROR,
    beta_cdf,
    beta_quantile,
    beta_survival,
    bregman,
    digamma_excess,
    gap,
    jensen,
    log_gamma_excess,
    log_ratio_excess,
    log_rising,
)
from discreet.numerics.proved_floats import GapTable
from tests.support import PRECISION, Floats, quadrature_beta_cdf, reference_beta_cdf, reference_gap, relative_error


def _pairs(size: int, seed: int) -> tuple[Floats, Floats]:
    """Arguments over the whole domain: far apart, whole steps apart, and a hair apart."""
    rng = np.random.default_rng(seed)
    u = 10.0 ** rng.uniform(-9, 15, size)
    far = 10.0 ** rng.uniform(-9, 15, size)
    whole = u + np.floor(10.0 ** rng.uniform(0, 15, size))
    hair = u * (1.0 + 10.0 ** rng.uniform(-12, 0, size) * rng.choice([-0.9, 1.0], size))
    return u, np.clip(np.choose(rng.integers(0, 3, size), [far, whole, hair]), 1e-9, 1e15)


def _worst(value: Floats, u: Floats, v: Floats, reference: Callable[[float, float], arb]) -> float:
    return max(relative_error(float(x), reference(float(a), float(b))) for x, a, b in zip(value, u, v, strict=True))


def _bregman_reference(v: float, u: float) -> arb:
    with ctx.workprec(PRECISION):
        return arb(v).lgamma() - arb(u).lgamma() - (arb(v) - arb(u)) * arb(u).digamma()


def test_gap_keeps_its_bound_over_the_whole_domain() -> None:
    u, v = _pairs(20_000, seed=1)
    moved = u != v
    assert _worst(gap(u, v)[moved], u[moved], v[moved], reference_gap) <= RELATIVE_ERROR


def test_bregman_keeps_its_bound_over_the_whole_domain() -> None:
    u, v = _pairs(10_000, seed=2)
    moved = u != v
    assert _worst(bregman(v, u)[moved], u[moved], v[moved], lambda a, b: _bregman_reference(b, a)) <= RELATIVE_ERROR


@pytest.mark.parametrize("edge", [0.5, 2.0, 9.0, 10.0, 10.5, 19.0, 20.0])
def test_gap_is_continuous_where_its_formulas_meet(edge: float) -> None:
    u = np.concatenate([edge * (1.0 + np.linspace(-1e-9, 1e-9, 21)), np.full(41, edge)])
    v = np.concatenate([np.full(21, edge + 1.0), edge * np.linspace(0.45, 1.55, 41)])
    moved = u != v
    assert _worst(gap(u, v)[moved], u[moved], v[moved], reference_gap) <= RELATIVE_ERROR


def test_a_known_difference_survives_rounding_of_the_arguments() -> None:
    """0.3 + 2^52 moves in halves, but one record is one record."""
    u = 2.0**52 + 0.3
    exact = reference_gap(Fraction(2**52) + Fraction("0.3"), Fraction(2**52) + Fraction("1.3"))
    assert relative_error(float(gap(u, u + 1.0, 1.0)), exact) <= RELATIVE_ERROR


def test_the_obvious_code_fails_where_ours_does_not() -> None:
    """Negative control of the reference: `gammaln` differences give a sensitivity of 0 at 10^9."""

    def obvious(u: float, v: float) -> float:
        return float(0.5 * gammaln(u) + 0.5 * gammaln(v) - gammaln((u + v) / 2))

    assert relative_error(obvious(1e6 + 1, 1e6 + 2), reference_gap(1e6 + 1, 1e6 + 2)) > 1e-3
    assert obvious(1e9, 1e9 + 1) == 0.0
    assert float(gap(1e9, 1e9 + 1)) == pytest.approx(1.25e-10, rel=1e-8)


def test_a_wrong_stirling_coefficient_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: the bound is tight enough to see corrections of 1e-13."""
    u, v = _pairs(2_000, seed=3)
    monkeypatch.setattr(gamma, "STIRLING", gamma.STIRLING[:-3])
    assert _worst(gap(u, v), u, v, reference_gap) > RELATIVE_ERROR


def test_equal_arguments_give_zero_and_shapes_broadcast() -> None:
    assert gap(3.5, 3.5) == 0.0
    assert bregman(1e15, 1e15) == 0.0
    assert gap(np.ones((4, 1)), np.arange(1.0, 4.0)).shape == (4, 3)


@pytest.mark.parametrize("order", [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10), Fraction(3, 2), Fraction(2)])
def test_jensen_gap_of_any_order(order: Fraction) -> None:
    rng = np.random.default_rng(4)
    u = 10.0 ** rng.uniform(-6, 15, 500)
    v = u * rng.uniform(0.2, 1.4, 500)

    def reference(first: float, second: float) -> arb:
        with ctx.workprec(PRECISION):
            a, x, y = arb(order.numerator) / order.denominator, arb(first), arb(second)
            value = a * x.lgamma() + (1 - a) * y.lgamma() - (a * x + (1 - a) * y).lgamma()
            return value if order < 1 else -value

    assert _worst(jensen(u, v, float(order)), u, v, reference) <= 1e-13


def test_jensen_gap_is_infinite_where_the_mixture_does_not_exist() -> None:
    assert jensen(1.0, 2.0, 2.0) == np.inf
    assert jensen(1.0, 3.0, 2.0) == np.inf
    assert np.isfinite(jensen(1.0, 1.9, 2.0))


def test_excesses_of_log_gamma_and_digamma() -> None:
    z = np.concatenate([10.0 ** np.linspace(-9, 15, 1500), [9.999999, 10.0, 10.000001]])

    def excess(value: float) -> arb:
        x = arb(value)
        return x.lgamma() - (x * x.log() - x)

    with ctx.workprec(PRECISION):
        errors = [abs(float(arb(float(got)) - excess(x))) for got, x in zip(log_gamma_excess(z), z.tolist(), strict=True)]
        psi = [relative_error(float(got), arb(x).digamma() - arb(x).log()) for got, x in zip(digamma_excess(z), z.tolist(), strict=True)]
    assert max(errors) <= 1e-14  # it passes through 0, so the error is an absolute one
    assert max(psi) <= 1e-13


@pytest.mark.parametrize("a", [1e-9, 0.003, 0.5, 1.0, 2.0, 64.0])
def test_rising_factorials_keep_their_digits_at_any_count(a: float) -> None:
    """`gammaln` values near 1e15 are wrong by 4 units, and with a = 1e-9, a - 1 keeps 7 digits of a."""
    x = np.concatenate([np.arange(30.0), 10.0 ** np.arange(2.0, 16.0)])

    def reference(count: float) -> arb:
        return (arb(a) + arb(count)).lgamma() - (arb(count) + 1).lgamma()

    with ctx.workprec(PRECISION):
        for base in (1.0, 300.0, 10.0**12):
            values = zip(log_rising(a, x, base), x.tolist(), strict=True)
            worst = max(abs(float(arb(float(got)) - reference(count) + reference(base))) for got, count in values)
            assert worst <= 2e-14 * max(1.0, a)


def test_log_ratio_excess_keeps_digits_at_both_ends() -> None:
    ratio = np.concatenate([10.0 ** np.linspace(-15, 15, 601), 1.0 + 10.0 ** np.linspace(-15, -1, 200)])
    ratio = ratio[ratio != 1.0]

    def reference(value: float) -> arb:
        x = arb(value)
        return x.log() - (x - 1)

    with ctx.workprec(PRECISION):
        errors = [
            relative_error(float(got), reference(x)) for got, x in zip(log_ratio_excess(ratio - 1.0, ratio), ratio.tolist(), strict=True)
        ]
    assert max(errors) <= 1e-14


# --- incomplete beta --------------------------------------------------------------------------------------------------


def test_the_two_references_of_the_beta_cdf_agree_where_both_work() -> None:
    for a, b in [(1000.0, 1000.0), (900.0, 5000.0)]:
        for shift in (-2.0, 0.1, 3.0):
            with ctx.workprec(PRECISION):
                logit = (arb(a) / b).log() + shift * (1 / arb(a) + 1 / arb(b)).sqrt()
            assert float(abs(quadrature_beta_cdf(a, b, logit) - reference_beta_cdf(a, b, logit))) < 1e-20


@pytest.mark.parametrize("exponent", range(-9, 16, 2))
def test_symmetric_beta_cdf_is_right_where_scipy_is_not(exponent: int) -> None:
    a = 10.0**exponent
    for deviations in (-3.0, -0.7, -0.05, 0.0, 0.6, 2.5):
        x = 0.5 + deviations * np.sqrt(0.25 / (2.0 * a + 1.0))
        if not 0.0 < x < 1.0:
            continue
        with ctx.workprec(PRECISION):
            reference = float(reference_beta_cdf(a, a, (arb(float(x)) / (1 - arb(float(x)))).log()))
        assert float(beta_cdf(a, a, x)) == pytest.approx(reference, abs=1e-14 + 2e-16 * np.sqrt(a))
        assert float(beta_survival(a, a, x)) == pytest.approx(1.0 - reference, abs=1e-14 + 2e-16 * np.sqrt(a))


def test_symmetric_quantiles_invert_the_cdf_and_tend_to_the_normal() -> None:
    levels = np.array([1e-6, 0.025, 0.3, 0.5, 0.7, 0.975, 1.0 - 1e-6])
    for a in (0.5, 30.0, 1e3, 1e6, 1e12, 1e15):
        x = beta_quantile(a, a, levels)
        assert beta_cdf(a, a, x) == pytest.approx(levels, rel=1e-7)
    deviations = (beta_quantile(1e15, 1e15, levels) - 0.5) / np.sqrt(0.25 / 2e15)
    assert deviations == pytest.approx(norm.ppf(levels), abs=1e-7)


# --- enclosures -------------------------------------------------------------------------------------------------------


def test_enclosures_contain_the_truth_and_the_floats_lie_near() -> None:
    rng = np.random.default_rng(5)
    for _ in range(300):
        u = Fraction(float(10.0 ** rng.uniform(-9, 15)))
        v = u + int(10.0 ** rng.uniform(0, 15))
        truth = reference_gap(u, v)
        for bits in (53, 128):
            enclosure = refine(lambda u=u, v=v: gap_ball(u, v), bits)  # type: ignore[misc]
            assert enclosure.overlaps(truth)
            assert enclosure.rel_accuracy_bits() >= bits
        value = float(gap(float(u), float(v), float(v - u)))
        assert relative_error(value, truth) <= RELATIVE_ERROR
        divergence = refine(lambda u=u, v=v: bregman_ball(v, u))  # type: ignore[misc]
        assert relative_error(float(bregman(float(v), float(u), float(v - u))), divergence) <= RELATIVE_ERROR


def test_enclosures_of_nothing_moved_are_exact_zeros() -> None:
    x = Fraction(10**15)
    assert gap_ball(x, x).is_zero()
    assert bregman_ball(x, x).is_zero()
    assert refine(lambda: gap_ball(x, x)).is_zero()


def test_refine_gives_up_on_what_it_cannot_decide() -> None:
    """A zero that does not know it is one can never have a relative accuracy."""
    with pytest.raises(ArithmeticError, match="64 bits"):
        refine(lambda: arb(2).sqrt() ** 2 - 2)


def test_working_precision_is_left_as_it_was() -> None:
    before: Any = ctx.prec
    refine(lambda: gap_ball(Fraction(10**15), Fraction(10**15 + 1)), 200)
    assert ctx.prec == before


@pytest.mark.parametrize("a", ["1e-100", "1e-9", "1", "1e15", "1e30", "1e100"])
def test_a_table_of_gaps_keeps_its_bound_for_every_prior(a: str) -> None:
    exact, n = Fraction(a), 9
    table = GapTable(exact, n)
    for x in range(n + 1):
        row = table.row(x)
        for r in set(range(n + 1)) - {x}:
            truth = refine(lambda x=x, r=r: gap_ball(exact + x, exact + r), 80)  # type: ignore[misc]
            with ctx.workprec(200):
                assert abs(arb(float(row[r])) - truth) <= RELATIVE_ERROR * truth
