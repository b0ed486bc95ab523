"""Exact coins, checked by trying every string of bits rather than by statistics."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain
from math import exp
from threading import Event, Thread

import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InternalError
from discreet.numerics.balls import ball
from discreet.sampling import SeededBits
from discreet.sampling import bits as bits
from discreet.sampling.bits import bernoulli, endpoints, ladder
from tests.sampling.loop_samplers import bernoulli_exp, bernoulli_ratio
from tests.sampling.support import ScriptedBits, law_by_enumeration

LENGTH = 14
with ctx.workprec(300):
    JUST_ABOVE_ONE = arb(1) + arb(2) ** -200


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 1), (1, 1), (1, 3), (5, 7), (3, 8), (0, 5), (5, 5)])
def test_a_rational_coin_is_exact(numerator: int, denominator: int) -> None:
    law, undecided = law_by_enumeration(lambda source: bernoulli_ratio(source, numerator, denominator), LENGTH)
    assert law.get(True, Fraction(0)) * denominator == numerator * (1 - undecided)


@pytest.mark.parametrize(("numerator", "denominator"), [(-1, 3), (4, 3)])
def test_a_rational_coin_outside_the_unit_interval_raises(numerator: int, denominator: int) -> None:
    with pytest.raises(InternalError):
        bernoulli_ratio(SeededBits(0), numerator, denominator)


@pytest.mark.parametrize("exponent", ["0", "1/16", "1/2", "2/3", "1", "3/2", "5/2", "4"])
def test_an_exponential_coin_is_bracketed_by_enumeration(exponent: str) -> None:
    value = Fraction(exponent)
    law, undecided = law_by_enumeration(lambda source: bernoulli_exp(source, value.numerator, value.denominator), LENGTH)
    yes = law.get(True, Fraction(0))
    assert yes <= Fraction(exp(-value)) + Fraction(1, 2**50)
    assert yes + undecided >= Fraction(exp(-value)) - Fraction(1, 2**50)
    assert undecided < Fraction(1, 8)


def test_an_exponential_coin_with_a_negative_exponent_raises() -> None:
    with pytest.raises(InternalError):
        bernoulli_exp(SeededBits(0), -1, 3)


# --- computable reals -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", ["1/1000", "1/3", "1", "7/2", "20"])
@pytest.mark.parametrize("precision", [2, 8, 64])
def test_a_real_coin_is_bracketed_by_enumeration(monkeypatch: pytest.MonkeyPatch, exponent: str, precision: int) -> None:
    """With words of one bit, every string of 14 bits is tried; all but two or three of them decide, and rightly."""
    monkeypatch.setattr(bits, "WORD", 1)
    value = Fraction(exponent)
    law, undecided = law_by_enumeration(lambda source: bernoulli(source, ladder(lambda: (-ball(value)).exp(), precision)), LENGTH)
    yes = law.get(True, Fraction(0))
    assert yes <= Fraction(exp(-value)) + Fraction(1, 2**50)
    assert yes + undecided >= Fraction(exp(-value)) - Fraction(1, 2**50)
    assert undecided <= Fraction(3, 2**LENGTH)


def _digits(value: Fraction, bits: int) -> int:
    """The first bits of exp(-value) after the point."""
    with ctx.workprec(bits + 64):
        digits = ((-ball(value)).exp() * arb(2) ** bits).floor().unique_fmpz()
    assert digits is not None
    return int(digits)


@pytest.mark.parametrize(("difference", "decision"), [(-1, True), (1, False)])
def test_a_comparison_undecided_after_the_first_word_is_decided_by_more(difference: int, decision: bool) -> None:
    value = Fraction(1, 3)
    first, second = _digits(value, 64), _digits(value, 128) & (2**64 - 1)
    source = ScriptedBits([(64, first), (64, second + difference)])
    precisions: list[int] = []

    def compute() -> arb:
        precisions.append(ctx.prec)
        return (-ball(value)).exp()

    assert bernoulli(source, ladder(compute, 32)) is decision
    assert source.taken == 2
    assert precisions == [32, 64, 128, 256]  # 32, 64: p is known worse than U; 128: U is, so a word more; 256: they separate


@pytest.mark.parametrize(("difference", "decision"), [(-1, True), (1, False)])
def test_a_number_next_to_the_probability_in_the_first_word_is_decided_by_precision_alone(difference: int, decision: bool) -> None:
    source = ScriptedBits([(64, _digits(Fraction(1, 3), 64) + difference)])
    assert bernoulli(source, ladder(lambda: (-ball(Fraction(1, 3))).exp(), 8)) is decision


def test_bits_equal_to_the_probability_are_compared_as_far_as_it_takes() -> None:
    value, words = Fraction(5, 7), 12
    digits = _digits(value, 64 * words)
    script = [(64, digits >> 64 * (words - 1 - i) & (2**64 - 1)) for i in range(words)]
    source = ScriptedBits([*script[:-1], (64, script[-1][1] + 1)])
    assert not bernoulli(source, ladder(lambda: (-ball(value)).exp(), 64))
    assert source.taken == words


@given(st.fractions(0, 1), st.integers(0, 2**32))
def test_wide_enclosures_in_front_change_no_decision(probability: Fraction, seed: int) -> None:
    def tight() -> Iterator[arb]:
        return ladder(lambda: ball(probability), 64)

    wide = [arb("0.5", "0.5"), arb(float(probability), 0.25), arb(float(probability), 2**-20)]
    assert bernoulli(SeededBits(seed), tight()) == bernoulli(SeededBits(seed), chain(wide, tight()))


@pytest.mark.parametrize("enclosure", [arb("1.1", "0.05"), arb(2), arb(-1, "0.5"), JUST_ABOVE_ONE])
def test_an_enclosure_outside_the_unit_interval_raises_and_is_never_clipped(enclosure: arb) -> None:
    for word in (0, 2**64 - 1):
        with pytest.raises(InternalError, match="nothing was released"):
            bernoulli(ScriptedBits([(64, word)]), [enclosure])


def test_certain_events_are_certain() -> None:
    for seed in range(20):
        assert bernoulli(SeededBits(seed), [arb(1)])
        assert not bernoulli(SeededBits(seed), [arb(0)])


@pytest.mark.parametrize("exponent", ["1e7", "1e12", "1e15"])
def test_a_probability_with_billions_of_leading_zeros_needs_no_memory_for_them(exponent: str) -> None:
    for seed in range(5):
        assert not bernoulli(SeededBits(seed), [(-arb(exponent)).exp()])
    with pytest.raises(InternalError, match="ran out"):  # 64 zeros cannot tell it from 0: more bits are asked for, then more precision
        bernoulli(ScriptedBits([(64, 0)] * 5000), [(-arb(exponent)).exp()])


def test_an_enclosure_that_only_touches_one_is_used() -> None:
    assert bernoulli(ScriptedBits([(64, 0)]), [arb(1, "1e-9")])


def test_enclosures_that_run_out_raise() -> None:
    with pytest.raises(InternalError, match="ran out"):
        bernoulli(SeededBits(0), [arb("0.5", "0.5")])
    with pytest.raises(InternalError, match="tightly enough"):
        bernoulli(SeededBits(0), ladder(lambda: arb("0.5", "0.5"), 64))


def test_the_ladder_skips_what_is_not_finite() -> None:
    enclosures = ladder(lambda: arb.nan() if ctx.prec < 300 else arb(1) / 3, 64)
    assert next(enclosures).rel_accuracy_bits() >= 500


def test_another_thread_cannot_change_the_precision_of_this_one() -> None:
    inside, done = Event(), Event()

    def rough() -> arb:
        inside.set()
        done.wait(5)
        return arb(1) / 3

    def fine() -> arb:
        other.start()
        inside.wait(0.3)
        return arb(1) / 3

    other = Thread(target=lambda: next(ladder(rough, 64)))
    accuracy = next(ladder(fine, 500)).rel_accuracy_bits()
    done.set()
    other.join()
    assert accuracy >= 490
    assert ctx.prec == 53


@given(st.fractions(-10, 10), st.integers(-300, 300), st.integers(2, 200))
def test_endpoints_are_exact(value: Fraction, exponent: int, precision: int) -> None:
    with ctx.workprec(precision):
        enclosure = ball(value) * arb(2) ** exponent
    low, high, unit = endpoints(enclosure)
    target = value * Fraction(2) ** exponent
    assert low * Fraction(2) ** unit <= target <= high * Fraction(2) ** unit
    assert (high - low == 0) == enclosure.is_exact()
