"""The laws of exact geometric and Laplace noise, as tables for certified inversion (the proofs are in docs/proofs/exactness.md).

Every law here is a geometric one with a sign, a gap at 0 or both. A geometric variable whose table would be long, because its scale is
large, is put together from digits, which are independent; so no table grows with the scale. A draw takes a number of words that depends
on the scale alone. `sampling.bulk` draws.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from math import ceil, isqrt

from attrs import field, frozen
from flint import arb

from discreet.errors import InternalError, TooLargeError
from discreet.numerics.balls import ball
from discreet.sampling.coins import WORD
from discreet.sampling.inversion import LONGEST, Inversion, inversion

DIGIT = 8
"""Binary digits, at most, that are drawn together by one table."""

ROOM = 2**56
"""The largest scale of noise, times the number of draws that are added up: 2^6 times this much fits arrays of 64-bit integers. A draw is
beyond 2^6 times its scale with probability below 2^-90. It then raises, whatever the data are."""


@frozen(repr=False, eq=False)
class NoiseLaw:
    """The recipe of noise from words: a size, put together from digits, and a sign.

    The size is Σ place · digit. Where there is a gate, whose digit is 0 or 1, the size is that digit times one more than the sum.
    """

    parts: tuple[tuple[int, Inversion], ...]
    """Places and the laws of the digits that stand there, from the place of ones; a word for each."""
    gate: Inversion | None
    """The law of a digit that is 0 where the noise is; its word comes last."""
    signed: bool
    """Whether the first bit of the first word is a sign."""
    zero: int
    """The number added to the complement of the size where the sign is set: 1 makes it -size, 0 leaves it at -1 - size."""
    bits: int
    """The number of bits of a word."""
    words: int = field(init=False)
    """The number of words that a draw takes."""
    mask: int = field(init=False)
    """The mask of all bits of a word but the first."""

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "words", len(self.parts) + (self.gate is not None))
        object.__setattr__(self, "mask", (1 << self.bits - 1) - 1)


# --- the laws, by their boundaries --------------------------------------------------------------------------------------


def geometric_below(rate: Fraction, j: int | Fraction) -> arb:
    """P(G < j) = 1 - e^{-rate j}."""
    return -ball(-rate * j).expm1()


def digit_below(rate: Fraction, end: int, j: int) -> arb:
    """P(D < j) for the remainder D of a geometric variable after division by `end`: (1 - e^{-rate j}) / (1 - e^{-rate end})."""
    return ball(-rate * j).expm1() / ball(-rate * end).expm1()


def discrete_below(rate: Fraction, j: int) -> arb:
    """P(|Z| < j) = 1 - 2 e^{-rate j} / (1 + e^{-rate}) for the discrete Laplace law."""
    return 1 - 2 * ball(-rate * j).exp() / (1 + ball(-rate).exp())


def rounded_below(rate: Fraction, j: int) -> arb:
    """P(|Z| < j) = 1 - e^{-rate (j - ½)} for a Laplace variable rounded to the nearest integer."""
    return geometric_below(rate, Fraction(2 * j - 1, 2))


def _fits(rate: Fraction, bits: int) -> bool:
    """Return whether one table reaches from 0 to where the tail, at most e^{rate/2} e^{-rate j}, is less than a word: ln 2 < 7/10."""
    return LONGEST * rate >= Fraction(7 * bits, 10) + rate


def _geometric_parts(rate: Fraction, bits: int) -> tuple[tuple[int, Inversion], ...]:
    """Tables of a geometric variable: one, or low digits and the rest, which is geometric of a rate that fits a table."""
    low = 0
    while not _fits(rate * 2**low, bits):
        low += 1
    starts = range(0, low, DIGIT)
    ends = [1 << min(DIGIT, low - start) for start in starts]
    digits = [
        (1 << start, inversion(partial(digit_below, rate * 2**start, end), end, bits - 1)) for start, end in zip(starts, ends, strict=True)
    ]
    return (*digits, (1 << low, inversion(partial(geometric_below, rate * 2**low), None, bits - 1)))


def _folded(below: Callable[[Fraction, int], arb], rate: Fraction, bits: int) -> NoiseLaw:
    """Noise with a sign whose size is below j ≥ 1 with this probability, and beyond 0 falls off by e^{-rate}."""
    boundary = partial(below, rate)
    if _fits(rate, bits):
        return NoiseLaw(((1, inversion(boundary, None, bits - 1)),), None, True, 1, bits)
    return NoiseLaw(_geometric_parts(rate, bits), inversion(boundary, 2, bits - 1), True, 1, bits)


@lru_cache(maxsize=64)
def law_of(kind: str, numerator: int, denominator: int, bits: int) -> NoiseLaw:
    """The tables for one scale, a public number. Sought by its integers: a Fraction takes long to look up."""
    if numerator <= 0:
        raise InternalError("noise needs a positive scale; nothing was released")
    rate = Fraction(denominator, numerator)
    if kind == "discrete":
        return _folded(discrete_below, rate, bits)
    if kind == "rounded":
        return _folded(rounded_below, rate, bits)
    return NoiseLaw(_geometric_parts(rate, bits), None, kind == "floored", 0, bits)


def geometric_law(scale: Fraction, bits: int = WORD) -> NoiseLaw:
    """G >= 0 with P(G = t) = (1 - e^{-1/scale}) e^{-t/scale}."""
    return law_of("geometric", scale.numerator, scale.denominator, bits)


def discrete_laplace_law(scale: Fraction, bits: int = WORD) -> NoiseLaw:
    """Z with P(Z = z) ∝ e^{-|z|/scale}: the two-sided geometric law."""
    return law_of("discrete", scale.numerator, scale.denominator, bits)


def floored_laplace_law(scale: Fraction, bits: int = WORD) -> NoiseLaw:
    """The floor of a Laplace variable: G or -1 - G with probability ½ each."""
    return law_of("floored", scale.numerator, scale.denominator, bits)


def rounded_laplace_law(scale: Fraction, bits: int = WORD) -> NoiseLaw:
    """A Laplace variable rounded to the nearest integer: 0 with probability 1 - e^{-1/(2 scale)}, otherwise ±(1 + G)."""
    return law_of("rounded", scale.numerator, scale.denominator, bits)


_SECONDS_A_WORD = 0.5e-6
"""At least four times the seconds that noise, report and record took for each word on a machine of two cores."""


def noise_seconds(scale: Fraction, cells: int, together: int = 1) -> float:
    """Return more seconds than noise for so many cells, its report and its record take as a rule: by public numbers alone.

    Blocks of `together` cells whose noise adds up to 0 are attempted some sqrt(together) times.
    """
    return _SECONDS_A_WORD * cells * (1 + isqrt(together)) * discrete_laplace_law(scale).words


def check_fits(scale: Fraction, cells: int = 1) -> None:
    """Refuse, by public numbers, noise of which sums of so many draws are not safe in arrays of 64-bit integers."""
    if ceil(scale) * cells > ROOM:
        raise TooLargeError("noise at so small an epsilon, for so many counts, does not fit arrays of integers; raise epsilon")
