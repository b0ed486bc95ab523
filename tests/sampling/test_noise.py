"""Geometric and Laplace noise, drawn one at a time, against their laws. tests/sampling/test_inversion.py tries every string of bits."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import exp, floor

import pytest

from discreet.errors import InternalError
from discreet.sampling import SeededBits
from discreet.sampling.bulk import draw_array
from discreet.sampling.noise import NoiseLaw, discrete_laplace_law, floored_laplace_law, geometric_law, rounded_laplace_law
from tests.sampling.support import FALSE_ALARM, POWER, WRONG, Law
from tests.support import mostly_slow


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
DRAWS = 15_000
EVERY = pytest.mark.parametrize("kind", LAWS)


def mass_of(kind: str, t: int, b: float) -> float:
    return MASSES[kind](t, b)


def law_of(kind: str, scale: Fraction) -> Law:
    reach = floor(30 * scale) + 5
    return Law({t: mass_of(kind, t, float(scale)) for t in range(-reach, reach + 1)})


def singly(kind: str, scale: Fraction, seed: int) -> Iterator[int]:
    """Draws that are made one by one, as a release makes them."""
    source, law = SeededBits(seed), LAWS[kind](scale, 64)
    for _ in range(DRAWS):
        yield draw_array(source, law, 1).tolist()[0]


@EVERY
@pytest.mark.parametrize("scale", mostly_slow(["1/20", "5", "1234.5678", "0.7", "100/3"], 3))
def test_draws_fit_the_law_and_not_a_scale_ten_percent_off(kind: str, scale: str) -> None:
    b = Fraction(scale)
    law = law_of(kind, b)
    assert law.p_value(list(singly(kind, b, 7))) > FALSE_ALARM
    if law.power(law_of(kind, b * WRONG), DRAWS) > POWER:
        assert law.p_value(list(singly(kind, b * WRONG, 8))) < FALSE_ALARM


@EVERY
def test_the_test_has_power_where_it_matters(kind: str) -> None:
    law = law_of(kind, Fraction(5))
    assert law.power(law_of(kind, 5 * WRONG), DRAWS) > POWER


@EVERY
def test_scales_of_any_size_are_drawn(kind: str) -> None:
    assert next(singly(kind, Fraction(1, 10**9), 1)) in {0, -1}
    assert abs(next(singly(kind, Fraction(10**16 + 1, 3), 1))) > 10**12
    assert isinstance(next(singly(kind, Fraction("0.30000000000000004"), 1)), int)


@EVERY
@pytest.mark.parametrize("scale", [0, -1])
def test_a_scale_that_is_not_positive_raises(kind: str, scale: int) -> None:
    with pytest.raises(InternalError):
        LAWS[kind](Fraction(scale), 64)
