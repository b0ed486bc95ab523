"""The inequality that leg ends rest on, proved (docs/research/sensitivity.md): parts (i) and (ii) by hand, checked here; part (iii) here.

With `q(s) = e^-F(s)`, `F(s) = gap(s, s+1)` and f = -F the claim is, for every s > 0,

    (*)   -f''(1 - q)  >=  f'² (1 + q/2) ,

and it makes `1/LS = (1 - Q q(s))^(-1/2)` concave in s for every constant Q in (0, 1].
"""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, arb_series, ctx

from discreet.numerics.gamma import gap
from tests.support import Floats

LOW, HIGH = Fraction(1, 32), Fraction(3, 2)


def _interval(low: Fraction, high: Fraction) -> arb:
    """A ball that contains [low, high]."""
    ends = [arb(x.numerator) / x.denominator for x in (low, high)]
    return ends[0].union(ends[1])


def _derivatives(s: arb) -> tuple[arb, arb, arb]:
    """Enclosures of f, f' and f'' over a ball: the Taylor coefficients of lnΓ(s+½) - lnΓ(s) - ½ ln s."""
    series = arb_series([s, 1], prec=3)
    half = arb_series([s + arb(0.5), 1], prec=3)
    value, first, second = (half.lgamma() - series.lgamma() - series.log() / 2).coeffs()[:3]
    return value, first, 2 * second


def _slack(s: arb) -> arb:
    """(*) as left minus right."""
    f, first, second = _derivatives(s)
    q = f.exp()
    return -second * (1 - q) - first * first * (1 + q / 2)


def _prove(low: Fraction, high: Fraction, narrowest: Fraction) -> int:
    """Bisect until (*) is certain on every piece; the number of pieces. Fails where it is false or too close to call."""
    pieces, work = 0, [(low, high)]
    while work:
        left, right = work.pop()
        if _slack(_interval(left, right)) > 0:
            pieces += 1
            continue
        assert right - left > narrowest, f"(*) is not proved near {float(left)}"
        middle = (left + right) / 2
        work += [(left, middle), (middle, right)]
    return pieces


def pieces_of_part_three() -> int:
    """How many pieces the proof of (*) on [1/32, 3/2] takes."""
    with ctx.workprec(128):
        return _prove(LOW, HIGH, Fraction(1, 2**20))


def test_part_three_of_the_proof() -> None:
    """(*) on [1/32, 3/2], by interval arithmetic: every piece is enclosed, so nothing lies between the points."""
    assert pieces_of_part_three() > 10


def test_the_proof_can_fail() -> None:
    """Negative controls: a stronger inequality that is false is not proved, and points outside the claim's sign are seen."""
    with ctx.workprec(128):
        s = _interval(Fraction(1), Fraction(1))
        f, first, second = _derivatives(s)
        q = f.exp()
        assert not -second * (1 - q) > first * first * (1 + 2 * q)
        with pytest.raises(AssertionError, match="not proved"):
            _prove(-LOW, LOW, Fraction(1, 2**10))


def test_derivatives_are_those_of_the_function_in_use() -> None:
    with ctx.workprec(128):
        for s in (0.03125, 0.2, 1.0, 1.5, 40.0):
            value, first, second = (float(d) for d in _derivatives(arb(s)))
            step = 1e-4 * s
            left, middle, right = (-float(gap(x, x + 1.0)) for x in (s - step, s, s + step))
            assert value == pytest.approx(middle, rel=1e-13)
            assert first == pytest.approx((right - left) / (2 * step), rel=1e-6)
            assert second == pytest.approx((right - 2 * middle + left) / step**2, rel=1e-4)


@pytest.mark.parametrize("s", [Fraction(3, 2), Fraction(2), Fraction(10), Fraction(1000)])
def test_the_bounds_used_in_part_one(s: Fraction) -> None:
    with ctx.workprec(256):
        x = arb(s.numerator) / s.denominator
        f, first, second = _derivatives(x)
        a = -f
        assert 1 / (8 * x) - 1 / (192 * x**3) < a < 1 / (8 * x)
        assert 1 / (4 * x**3) - 1 / (16 * x**5) < -second < 1 / (4 * x**3)
        assert 0 < first < 1 / (8 * x**2)
        assert (a.exp() + arb(0.5)) / (a.exp() - 1) < arb(0.25) + 3 / (2 * a) + a / 8
    # What is left: 16 - 4/s² >= (1/s)(1/4 + 1/(64 s)) + 12/(1 - 1/(24 s²)); its left side grows with s, its right side falls.
    assert 16 - 4 / s**2 >= (Fraction(1, 4) + 1 / (64 * s)) / s + 12 / (1 - 1 / (24 * s**2))


@pytest.mark.parametrize("s", [Fraction(1, 32), Fraction(1, 100), Fraction(1, 10**9)])
def test_the_bounds_used_in_part_two(s: Fraction) -> None:
    with ctx.workprec(256):
        x = arb(s.numerator) / s.denominator
        f, first, second = _derivatives(x)
        root = (arb.pi() * x).sqrt()
        assert f.exp() < root
        assert 0 < first < 1 / (2 * x)
        assert -second > 1 / (2 * x**2) - 4
        assert (f + _derivatives(x + arb(0.5))[0]).overlaps((x / (x + arb(0.5))).log() / 2)
        # What is left: (2 - 16 s²)(1 - q) >= 1 + q/2 at q = sqrt(πs); its left side falls with s, its right side grows.
        assert (2 - 16 * x**2) * (1 - root) > 1 + root / 2


def _inverse_sensitivity(s: Floats, t: Floats) -> Floats:
    return np.asarray(1.0 / np.sqrt(-np.expm1(-gap(s, s + 1.0, np.ones_like(s)) - gap(t, t + 1.0, np.ones_like(t)))))


def test_the_consequence_one_category_moves() -> None:
    """1/LS is concave along a leg, so no interior point lies below the chord (a check of the statement, not of the proof)."""
    for start in (1e-6, 0.03, 1.0, 50.0):
        for other in (1e-6, 0.5, 3.0, 1e6):
            s = start + np.arange(0.0, 2000.0)
            bend = np.diff(_inverse_sensitivity(s, np.full_like(s, other)), n=2)
            assert (bend <= 1e-11).all()


def test_the_consequence_two_categories_move_against_each_other() -> None:
    for first, second in ((1e-6, 1e-6), (0.03, 2.0), (1.0, 1.0), (300.0, 0.2)):
        x = np.arange(0.0, 2000.0)
        assert (np.diff(_inverse_sensitivity(first + x, second + x[::-1]), n=2) <= 1e-11).all()
