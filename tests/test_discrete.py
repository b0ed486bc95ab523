"""Geometric and Laplace noise: every law by enumeration of bit strings where it is small, by chi-square where it is wide."""

from collections.abc import Callable
from fractions import Fraction
from math import exp, floor

import pytest

from discreet.errors import InternalError
from discreet.sampling import BitSource, SeededBits, discrete_laplace, floored_laplace, geometric, rounded_laplace
from tests.sampling_support import FALSE_ALARM, POWER, WRONG, Law, law_by_enumeration

Sampler = Callable[[BitSource, Fraction], int]


def geometric_mass(t: int, b: float) -> float:
    return (1.0 - exp(-1.0 / b)) * exp(-t / b) if t >= 0 else 0.0


def discrete_laplace_mass(t: int, b: float) -> float:
    return (1.0 - exp(-1.0 / b)) / (1.0 + exp(-1.0 / b)) * exp(-abs(t) / b)


def laplace_tail(y: float, b: float) -> float:
    """P(Lap(b) > y) for y >= 0."""
    return exp(-y / b) / 2.0


def floored_mass(t: int, b: float) -> float:
    near = t if t >= 0 else -1 - t  # [t, t+1) mirrored to the positive side
    return laplace_tail(near, b) - laplace_tail(near + 1, b)


def rounded_mass(t: int, b: float) -> float:
    if t == 0:
        return 1.0 - 2.0 * laplace_tail(0.5, b)
    return laplace_tail(abs(t) - 0.5, b) - laplace_tail(abs(t) + 0.5, b)


SAMPLERS: dict[Sampler, Callable[[int, float], float]] = {
    geometric: geometric_mass,
    discrete_laplace: discrete_laplace_mass,
    floored_laplace: floored_mass,
    rounded_laplace: rounded_mass,
}
DRAWS = 15_000
EVERY = pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda f: f.__name__)


def law_of(sampler: Sampler, scale: Fraction) -> Law:
    reach = floor(30 * scale) + 5
    return Law({t: SAMPLERS[sampler](t, float(scale)) for t in range(-reach, reach + 1)})


@EVERY
@pytest.mark.parametrize("scale", ["1/3", "1", "3/2", "4"])
def test_every_mass_is_bracketed_by_enumeration(sampler: Sampler, scale: str) -> None:
    b = Fraction(scale)
    law, undecided = law_by_enumeration(lambda source: sampler(source, b), 15)
    assert undecided < Fraction(3, 4)
    for t in range(-8, 9):
        mass, decided = SAMPLERS[sampler](t, float(b)), float(law.get(t, Fraction(0)))
        assert decided - 1e-12 <= mass <= decided + float(undecided) + 1e-12


@EVERY
@pytest.mark.parametrize("scale", ["1/20", "0.7", "5", "100/3", "1234.5678"])
def test_draws_fit_the_law_and_not_a_scale_ten_percent_off(sampler: Sampler, scale: str) -> None:
    b = Fraction(scale)
    law = law_of(sampler, b)
    source = SeededBits(7)
    assert law.p_value([sampler(source, b) for _ in range(DRAWS)]) > FALSE_ALARM
    if law.power(law_of(sampler, b * WRONG), DRAWS) > POWER:
        assert law.p_value([sampler(source, b * WRONG) for _ in range(DRAWS)]) < FALSE_ALARM


@EVERY
def test_the_test_has_power_where_it_matters(sampler: Sampler) -> None:
    law = law_of(sampler, Fraction(5))
    assert law.power(law_of(sampler, 5 * WRONG), DRAWS) > POWER


@EVERY
def test_scales_of_any_size_are_drawn(sampler: Sampler) -> None:
    source = SeededBits(1)
    assert sampler(source, Fraction(1, 10**9)) in {0, -1}
    assert abs(sampler(source, Fraction(10**40 + 1, 3))) > 10**30
    assert isinstance(sampler(source, Fraction("0.30000000000000004")), int)


@EVERY
def test_a_scale_of_zero_raises(sampler: Sampler) -> None:
    with pytest.raises((InternalError, ZeroDivisionError)):
        sampler(SeededBits(0), Fraction(0))
