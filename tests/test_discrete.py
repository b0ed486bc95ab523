"""Geometric and Laplace noise against their laws, by chi-square. tests/test_inversion.py tries every string of bits."""

from collections.abc import Callable
from fractions import Fraction
from math import exp, floor

import pytest

from discreet.errors import InternalError
from discreet.sampling import BitSource, SeededBits, discrete_laplace, floored_laplace, geometric, rounded_laplace
from discreet.sampling.noise import NoiseLaw, discrete_laplace_law, floored_laplace_law, geometric_law, rounded_laplace_law
from tests.sampling_support import FALSE_ALARM, POWER, WRONG, Law
from tests.support import mostly_slow

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


LAWS: dict[str, Callable[[Fraction, int], NoiseLaw]] = {
    "geometric": geometric_law,
    "discrete_laplace": discrete_laplace_law,
    "floored_laplace": floored_laplace_law,
    "rounded_laplace": rounded_laplace_law,
}
MASSES = {
    "geometric": geometric_mass,
    "discrete_laplace": discrete_laplace_mass,
    "floored_laplace": floored_mass,
    "rounded_laplace": rounded_mass,
}
SAMPLERS: tuple[Sampler, ...] = (geometric, discrete_laplace, floored_laplace, rounded_laplace)
DRAWS = 15_000
EVERY = pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda f: f.__name__)


def mass_of(kind: str, t: int, b: float) -> float:
    return MASSES[kind](t, b)


def law_of(kind: str, scale: Fraction) -> Law:
    reach = floor(30 * scale) + 5
    return Law({t: mass_of(kind, t, float(scale)) for t in range(-reach, reach + 1)})


@EVERY
@pytest.mark.parametrize("scale", mostly_slow(["1/20", "5", "1234.5678", "0.7", "100/3"], 3))
def test_draws_fit_the_law_and_not_a_scale_ten_percent_off(sampler: Sampler, scale: str) -> None:
    b = Fraction(scale)
    law = law_of(sampler.__name__, b)
    source = SeededBits(7)
    assert law.p_value([sampler(source, b) for _ in range(DRAWS)]) > FALSE_ALARM
    if law.power(law_of(sampler.__name__, b * WRONG), DRAWS) > POWER:
        assert law.p_value([sampler(source, b * WRONG) for _ in range(DRAWS)]) < FALSE_ALARM


@EVERY
def test_the_test_has_power_where_it_matters(sampler: Sampler) -> None:
    law = law_of(sampler.__name__, Fraction(5))
    assert law.power(law_of(sampler.__name__, 5 * WRONG), DRAWS) > POWER


@EVERY
def test_scales_of_any_size_are_drawn(sampler: Sampler) -> None:
    source = SeededBits(1)
    assert sampler(source, Fraction(1, 10**9)) in {0, -1}
    assert abs(sampler(source, Fraction(10**40 + 1, 3))) > 10**30
    assert isinstance(sampler(source, Fraction("0.30000000000000004")), int)


@EVERY
@pytest.mark.parametrize("scale", [0, -1])
def test_a_scale_that_is_not_positive_raises(sampler: Sampler, scale: int) -> None:
    with pytest.raises(InternalError):
        sampler(SeededBits(0), Fraction(scale))
