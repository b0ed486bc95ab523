"""Discrete Gaussian noise against its law: its boundaries, every string of bits, counts of draws, and another exact sampler."""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from math import ceil, sqrt

import numpy as np
import pytest
from flint import arb, ctx

from discreet.errors import InternalError, TooLargeError
from discreet.numerics.balls import ball
from discreet.sampling import CountedBits, SeededBits
from discreet.sampling.bulk import COMPARED, discrete_gaussian_array, draw_array
from discreet.sampling.noise import LARGEST_VARIANCE, Inversion, discrete_gaussian_law, gaussian_below
from tests.sampling.loop_samplers import integer_draws, loop_discrete_gaussian
from tests.sampling.support import FALSE_ALARM, POWER, WRONG, Law, StringBits, law_by_enumeration
from tests.support import mostly_slow

VARIANCES = ["1/100", "1/4", "1", "49/9", "400"]


def summed(variance: Fraction, inside: int | None = None) -> arb:
    """Σ e^{-z²/(2 variance)} over |z| < inside, or over all z to far beyond the working precision, from the definition."""
    end = inside or ceil(sqrt(float(variance) * 1.4 * ctx.prec)) + 8
    return 1 + 2 * sum((ball(-(z**2) / (2 * variance)).exp() for z in range(1, end)), arb(0))


def law_of(variance: Fraction) -> Law:
    weight = {z: float(ball(-(z**2) / (2 * variance)).exp()) for z in range(-ceil(12 * sqrt(variance)) - 2, ceil(12 * sqrt(variance)) + 3)}
    total = sum(weight.values())
    return Law({z: one / total for z, one in weight.items()})


def table_of(variance: Fraction, bits: int = 64) -> Inversion:
    ((_, table),) = discrete_gaussian_law(variance, bits).parts
    return table


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("precision", [64, 300])
def test_boundaries_are_sums_of_the_law(variance: str, precision: int) -> None:
    """The normaliser comes from a theta function and the weights from a recurrence; here both are summed."""
    exact = Fraction(variance)
    with ctx.workprec(precision):
        total = summed(exact)
        for j, below in zip(range(1, 60), gaussian_below(exact), strict=False):
            assert abs(below - summed(exact, j) / total) < arb(2) ** (12 - precision)
            assert below.overlaps(summed(exact, j) / total)


@pytest.mark.parametrize("variance", [*VARIANCES, "10000"])
@pytest.mark.parametrize("bits", [8, 64])
def test_every_entry_of_a_table_is_on_the_right_side_of_its_boundary(variance: str, bits: int) -> None:
    table = table_of(Fraction(variance), bits)
    real = [high for high in table.high if high < 1 << table.bits]
    assert len(table.low) == len(real) + 1
    with ctx.workprec(300):
        ends = [*real, 1 << table.bits]
        for low, high, below in zip(table.low, ends, gaussian_below(Fraction(variance)), strict=False):
            assert arb(low) / (1 << table.bits) <= below <= arb(high) / (1 << table.bits)
            assert high - low == 1


@pytest.mark.parametrize("variance", ["1/100", "1/4", "1", "9"])
@pytest.mark.parametrize(("bits", "length"), [(4, 12), (8, 16)])
def test_every_mass_is_bracketed_by_enumeration(variance: str, bits: int, length: int) -> None:
    """No statistics: all strings of bits are played. A variance ten percent off must not fit between the same ends, where it is seen."""
    exact = Fraction(variance)

    def single(source: StringBits) -> int:
        return int(draw_array(source, discrete_gaussian_law(exact, bits), 1)[0])

    found, undecided = law_by_enumeration(partial(single), length)
    assert undecided < Fraction(1, 20)
    assert _brackets(found, undecided, law_of(exact))
    if exact > Fraction(1, 10):
        assert not _brackets(found, undecided, law_of(exact * WRONG**2))


def _brackets(found: dict[int, Fraction], undecided: Fraction, law: Law) -> bool:
    masses = ((float(found.get(z, Fraction(0))), law.probability.get(z, 0.0)) for z in range(-8, 9))
    return all(decided - 1e-12 <= mass <= decided + float(undecided) + 1e-12 for decided, mass in masses)


@pytest.mark.parametrize("variance", ["1/100", "1", "1/1000000"])
@pytest.mark.parametrize("ones", [10, 70, 700, 3000])
def test_whole_tails_inside_one_word_are_settled_where_they_should_be(variance: str, ones: int) -> None:
    """At σ = 0.1 the last word of 64 bits holds every boundary. Further bits of ones lead out exactly as far as the law says."""
    exact = Fraction(variance)
    table = table_of(exact)
    tail = StringBits((1 << ones) - 1 << 64, ones + 64)  # ones, then zeros
    found = table.settle(0, (1 << 63) - 1, tail)
    with ctx.workprec(4000):
        number = 1 - 1 / arb(2) ** (ones + 63)
        assert found == 0 or table.boundary(found) <= number
        assert number < table.boundary(found + 1)
    assert found > 0 or exact < Fraction(1, 50)


def draws_singly(variance: Fraction, seed: int, size: int) -> Iterator[int]:
    source = SeededBits(seed)
    for _ in range(size):
        yield int(discrete_gaussian_array(source, variance, 1)[0])


@pytest.mark.parametrize("variance", mostly_slow(["1/4", "49/9", "1000000"], 2))
def test_draws_fit_the_law_and_not_a_scale_ten_percent_off(variance: str) -> None:
    exact, size = Fraction(variance), 40_000
    law = law_of(exact)
    assert law.p_value(discrete_gaussian_array(SeededBits(5), exact, size).tolist()) > FALSE_ALARM
    assert law.power(law_of(exact * WRONG**2), size) > POWER
    assert law.p_value(discrete_gaussian_array(SeededBits(6), exact * WRONG**2, size).tolist()) < FALSE_ALARM


@pytest.mark.parametrize("variance", ["1/4", "49/9"])
def test_short_words_and_single_draws_fit_the_law_too(variance: str) -> None:
    exact, law = Fraction(variance), law_of(Fraction(variance))
    assert law.p_value(draw_array(SeededBits(7), discrete_gaussian_law(exact, 8), 3000).tolist()) > FALSE_ALARM
    assert law.p_value(list(draws_singly(exact, 8, 5000))) > FALSE_ALARM
    wrong = draw_array(SeededBits(9), discrete_gaussian_law(exact * WRONG**2, 8), 12_000).tolist()
    assert law.power(law_of(exact * WRONG**2), 12_000) > POWER
    assert law.p_value(wrong) < FALSE_ALARM


@pytest.mark.parametrize("variance", ["9/4", "49/9"])
def test_another_exact_sampler_draws_from_the_same_law(variance: str) -> None:
    exact, source, size = Fraction(variance), SeededBits(10), 3000
    draws = [loop_discrete_gaussian(source, exact) for _ in range(size)]
    assert law_of(exact).p_value(draws) > FALSE_ALARM
    assert law_of(exact * 2).p_value(draws) < FALSE_ALARM


@pytest.mark.parametrize("variance", ["1/100", "1", "400", "1000000"])
def test_an_array_has_the_draws_that_a_loop_makes_of_the_same_words(variance: str) -> None:
    """Few words are compared with every entry of the table, many are looked for in it."""
    exact = Fraction(variance)
    for size in (1, COMPARED, 500):
        expected = integer_draws(discrete_gaussian_law(exact), SeededBits(3), size)
        assert discrete_gaussian_array(SeededBits(3), exact, size).tolist() == expected


@pytest.mark.parametrize("variance", ["1/100", "1", "1000000"])
def test_a_draw_takes_one_word_whatever_the_variance(variance: str) -> None:
    counted = CountedBits(SeededBits(11))
    discrete_gaussian_array(counted, Fraction(variance), 100)
    assert counted.taken == 6400


@pytest.mark.slow
def test_the_largest_variance_has_a_table() -> None:
    found = discrete_gaussian_array(SeededBits(12), Fraction(LARGEST_VARIANCE), 100_000)
    assert found.std() == pytest.approx(sqrt(LARGEST_VARIANCE), rel=0.02)
    assert np.abs(found).max() > 3 * sqrt(LARGEST_VARIANCE)


def test_a_larger_variance_is_refused_and_none_that_is_not_positive_is_drawn() -> None:
    with pytest.raises(TooLargeError, match="65,536"):
        discrete_gaussian_array(SeededBits(1), Fraction(LARGEST_VARIANCE) + 1, 3)
    with pytest.raises(InternalError):
        discrete_gaussian_array(SeededBits(1), Fraction(0), 3)
