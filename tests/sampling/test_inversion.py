"""Certified inversion: tables against their boundaries, and laws by trying every string of bits, with words so short that most hold one."""

from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from functools import partial
from math import ceil, exp, isqrt, log

import numpy as np
import pytest
from flint import arb, ctx

from discreet.errors import InternalError
from discreet.numerics.balls import ball
from discreet.sampling import BitSource, CountedBits, SeededBits, SystemBits, noise
from discreet.sampling.bits import PRECISION
from discreet.sampling.bulk import draw_array, lattice_blocks, located
from discreet.sampling.noise import Inversion, NoiseLaw
from tests.sampling.support import FALSE_ALARM, POWER, WRONG, Law, StringBits, law_by_enumeration
from tests.sampling.test_noise import LAWS, law_of, mass_of


def geometric_boundary(rate: Fraction) -> Callable[[int], arb]:
    return lambda j: -ball(-rate * j).expm1()


def one(table: Inversion, source: BitSource) -> int:
    return int(located(source, table, np.array([source.bits(table.bits)], dtype=np.uint64), 2**62)[0])


def drawn(law: NoiseLaw, source: BitSource) -> int:
    return int(draw_array(source, law, 1)[0])


# --- the table --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [2, 7, 63])
@pytest.mark.parametrize("rate", ["1/5", "1", "7/2", "300"])
def test_every_entry_of_a_table_is_on_the_right_side_of_its_boundary(rate: str, bits: int) -> None:
    boundary = geometric_boundary(Fraction(rate))
    table = noise.inversion(boundary, None, bits)
    real = [high for high in table.high if high < 1 << bits]
    assert len(table.low) == len(real) + 1
    assert len(table.high) + 1 == 1 << len(table.high).bit_length()
    with ctx.workprec(800):
        for j, (low, high) in enumerate(zip(table.low, [*real, 1 << bits], strict=True), 1):
            assert arb(low) / (1 << bits) <= boundary(j)
            assert arb(high) / (1 << bits) >= boundary(j)
            assert j == len(table.low) or high - low == 1


@pytest.mark.parametrize(
    ("rate", "bits", "length"), [("1/5", 3, 12), ("1/5", 2, 11), ("1", 3, 12), ("1", 7, 15), ("7/2", 1, 12), ("40", 3, 12)]
)
def test_inversion_decides_every_string_of_bits_that_holds_no_boundary(rate: str, bits: int, length: int) -> None:
    """The outcomes of all strings: each has the probability wanted, to the width of the strings at its two ends, which stay undecided."""
    table = noise.inversion(geometric_boundary(Fraction(rate)), None, bits)
    law, undecided = law_by_enumeration(lambda source: one(table, source), length)
    used = bits + (length - bits) // (bits + 1) * (bits + 1)
    assert undecided <= Fraction(ceil(used * log(2.0) / Fraction(rate)) + 1, 1 << used)  # a string for each boundary not beyond the last
    q = exp(-Fraction(rate))
    for t in range(8):
        assert abs(float(law.get(t, Fraction(0))) - (1.0 - q) * q**t) <= 2.0 / (1 << used) + 1e-12


def test_a_finite_law_ends() -> None:
    thirds = noise.inversion(lambda j: arb(j) / 3, 3, 2)
    law, undecided = law_by_enumeration(lambda source: one(thirds, source), 11)
    assert law.keys() == {0, 1, 2}
    assert undecided <= Fraction(2, 1 << 11)
    assert max(law.values()) - min(law.values()) <= undecided


def test_enclosures_that_say_nothing_at_first_change_no_draw() -> None:
    def vague(j: int) -> arb:
        exact = geometric_boundary(Fraction(1, 2))(j)
        return exact if ctx.prec > PRECISION else exact + arb(0, 1)

    def nothing(j: int) -> arb:
        return arb("nan") if ctx.prec <= PRECISION else geometric_boundary(Fraction(1, 2))(j)

    expected, _ = law_by_enumeration(lambda source: one(noise.inversion(geometric_boundary(Fraction(1, 2)), None, 3), source), 11)
    for boundary in (vague, nothing):
        table = noise.inversion(boundary, None, 3)
        assert set(table.low) == {0}
        law, _ = law_by_enumeration(lambda source, table=table: one(table, source), 11)  # type: ignore[misc]
        assert law == expected


@pytest.mark.parametrize("fault", [lambda j: arb(1) + j, lambda j: -arb(j)])
def test_a_boundary_that_is_no_probability_raises(fault: Callable[[int], arb]) -> None:
    with pytest.raises(InternalError):
        noise.inversion(fault)


def test_a_law_that_is_too_long_for_a_table_raises() -> None:
    with pytest.raises(InternalError):
        noise.inversion(geometric_boundary(Fraction(1, 100)))


# --- the laws, with short words -----------------------------------------------------------------------------------------

EVERY = pytest.mark.parametrize("kind", LAWS)


@EVERY
@pytest.mark.parametrize("scale", ["1/3", "1", "3/2"])
@pytest.mark.parametrize(("bits", "length"), [(4, 12), (8, 16)])
def test_every_mass_is_bracketed_by_enumeration(kind: str, scale: str, bits: int, length: int) -> None:
    law, undecided = law_by_enumeration(partial(drawn, LAWS[kind](Fraction(scale), bits)), length)
    assert undecided < Fraction(1, 50)
    _check_masses(kind, Fraction(scale), law, undecided)


def _check_masses(kind: str, scale: Fraction, law: dict[int, Fraction], undecided: Fraction) -> None:
    for t in range(-8, 9):
        mass, decided = mass_of(kind, t, float(scale)), float(law.get(t, Fraction(0)))
        assert decided - 1e-12 <= mass <= decided + float(undecided) + 1e-12


@pytest.fixture
def short_tables(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tables of at most 15 boundaries and digits of one bit: a scale of 10 already needs digits."""
    for module, name, value in ((noise, "LONGEST", 15), (noise, "DIGIT", 1)):
        monkeypatch.setattr(module, name, value)
    noise.law_of.cache_clear()
    yield
    noise.law_of.cache_clear()


@EVERY
@pytest.mark.usefixtures("short_tables")
def test_noise_made_of_digits_is_bracketed_by_enumeration(kind: str) -> None:
    law = LAWS[kind](Fraction(10), 3)
    assert len(law.parts) == 2
    found, undecided = law_by_enumeration(partial(drawn, law), 14)
    assert undecided < Fraction(9, 10)  # nearly every short word holds a boundary, and each that does takes more bits
    _check_masses(kind, Fraction(10), found, undecided)


@EVERY
@pytest.mark.parametrize("scale", ["0.7", "5", "100/3", "1234.5678"])
def test_short_words_fit_the_law_and_not_a_scale_ten_percent_off(kind: str, scale: str) -> None:
    exact, draws = Fraction(scale), 3000
    law = law_of(kind, exact)
    assert law.p_value(draw_array(SeededBits(7), LAWS[kind](exact, 8), draws).tolist()) > FALSE_ALARM
    if law.power(law_of(kind, exact * WRONG), draws) > POWER:
        assert law.p_value(draw_array(SeededBits(8), LAWS[kind](exact * WRONG, 8), draws).tolist()) < FALSE_ALARM


def test_the_test_of_short_words_has_power_somewhere() -> None:
    assert all(law_of(kind, Fraction(5)).power(law_of(kind, 5 * WRONG), 15_000) > POWER for kind in LAWS)


def test_digits_of_a_geometric_variable_are_independent_and_have_their_laws() -> None:
    """All four low digits together, by the chi-square test over the sixteen strings of them."""
    rate, size = 1 / 40, 15_000
    odds = [exp(-rate * 2**j) for j in range(4)]
    law: dict[Hashable, float] = {}
    for low in range(16):
        mass = 1.0
        for j, odd in enumerate(odds):
            mass *= (odd if low >> j & 1 else 1.0) / (1.0 + odd)
        law[low] = mass
    draws = [value % 16 for value in draw_array(SeededBits(5), noise.geometric_law(Fraction(40)), size).tolist()]
    assert Law(law).p_value(draws) > FALSE_ALARM


# --- work that tells nothing ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", ["1/20", "1", "2", "50", "12345.678", "10000000000000003/7"])
def test_a_draw_takes_as_many_bits_whatever_is_drawn(scale: str) -> None:
    for law in (make(Fraction(scale), 64) for make in LAWS.values()):
        taken = set()
        for _ in range(200):
            source = CountedBits(SystemBits())
            draw_array(source, law, 1)
            taken.add(source.taken)
        assert len(taken) == 1
        assert taken.pop() % 64 == 0


def test_the_bits_of_two_categories_say_nothing_and_attempts_take_as_many_each() -> None:
    taken: dict[int, set[int]] = {k: set() for k in (2, 3, 10)}
    for k, found in taken.items():
        for seed in range(100):
            source = CountedBits(SeededBits(seed))
            lattice_blocks(source, Fraction(1), k, 1)[0]
            found.add(source.taken)
    assert taken[2] == {64}
    assert all(bits % (64 * k) == 0 for k in (3, 10) for bits in taken[k])
    assert min(len(taken[3]), len(taken[10])) > 2


@pytest.mark.parametrize("k", [3, 10, 100])
def test_where_noise_is_rare_the_first_attempts_are_kept(k: int) -> None:
    """If the geometric variable had to be larger than the rest, not as large, it would keep one attempt in e^6: the same law, too late."""
    for seed in range(20):
        source = CountedBits(SeededBits(seed))
        lattice_blocks(source, Fraction(12), k, 1)[0]
        assert source.taken <= 64 * k * 2 * (1 + isqrt(k))


def test_tables_do_not_grow_with_the_scale() -> None:
    for exponent in (0, 3, 6, 12, 30):
        law = noise.discrete_laplace_law(Fraction(10**exponent))
        assert all(len(part.high) <= noise.LONGEST for _, part in law.parts)
        assert law.words <= 2 + exponent * 3.33 / noise.DIGIT + 1


def test_equal_scales_share_their_tables() -> None:
    assert noise.geometric_law(Fraction(3, 2)) is noise.geometric_law(Fraction("1.5"))


def test_a_word_may_be_settled_far_out_in_the_tail() -> None:
    """The last word of a table holds all boundaries beyond it. Further bits of ones lead far out, exactly as far as they should."""
    table = noise.geometric_law(Fraction(1)).parts[0][1]
    ones = StringBits((1 << 640) - 1 << 64, 704)  # 640 ones, then zeros
    found = table.settle(0, (1 << 63) - 1, ones)
    with ctx.workprec(2000):
        number = 1 - 1 / arb(2) ** 703
        assert table.boundary(found) <= number < table.boundary(found + 1)
    assert 480 < found < 490


def test_partial_boundaries_are_those_of_the_laws() -> None:
    """The boundaries against sums of probabilities, in ball arithmetic: a slip in a closed form would show."""
    rate = Fraction(3, 10)
    with ctx.workprec(200):
        q = (-ball(rate)).exp()
        weight = [q**t for t in range(400)]
        two_sided = weight[0] + 2 * sum(weight[1:], arb(0))
        for j in (1, 2, 5):
            assert abs(noise.discrete_below(rate, j) - (weight[0] + 2 * sum(weight[1:j], arb(0))) / two_sided) < 1e-40
            assert abs(noise.digit_below(rate, 8, j) - sum(weight[:j], arb(0)) / sum(weight[:8], arb(0))) < 1e-40
    assert partial(noise.rounded_below, rate)(1).overlaps(1 - (-ball(rate / 2)).exp())
