"""Certified inversion, and the laws of exact geometric, Laplace, Gaussian and lattice noise as tables for it (docs/proofs/exactness.md).

A law on 0, 1, 2, … has the boundaries c_j = P(X < j), j = 1, 2, …. With U uniform in [0, 1), the number of boundaries that are at or below
U has that law. A word of U's first bits decides it by comparison with integers, computed once from enclosures of the boundaries. The few
words that hold a boundary are extended by further bits and compared with the boundaries themselves, in ball arithmetic.

A geometric variable whose table would be long, because its scale is large, is put together from digits, which are independent; so no
table grows with the scale. Laplace noise is a geometric variable with a sign, a gap at 0 or both. The digits of discrete Gaussian noise,
P(Z = z) ∝ e^{-z²/(2σ²)}, are not independent, so its table grows with σ: to 2^16, beyond which it is refused. `sampling.bulk` draws.

Lattice noise is G - G' for two independent uniform compositions of one total S, P(S) ∝ e^{-εS} C(S+k-1, k-1)². That is the *square* of the
negative binomial law NB(S) ∝ e^{-εS/2} C(S+k-1, k-1), the law of a sum of k geometrics of scale 2/ε. So k geometrics with sum S are kept
with probability NB(S) / NB(mode); being uniform among the compositions of their sum, they are G already.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate, count, islice
from math import ceil, isqrt

from attrs import field, frozen
from flint import acb, arb

from discreet.errors import InternalError, TooLargeError
from discreet.numerics.balls import ball, working_precision
from discreet.sampling.bits import PRECISION, WORD, BitSource, LazyUniform, bernoulli, endpoints, ladder

LONGEST = 255
"""Boundaries that a table has at most. It is padded to one less than a power of two, so that every search of it takes as many steps."""

LONGEST_LISTED = (1 << 20) - 1
"""Boundaries of a table that are computed one from the other: a Gaussian law of σ = 2^16 has some 600,000."""

Boundary = Callable[[int], arb]
"""P(X < j) at the working precision, for j >= 1; it grows with j."""


@frozen(repr=False, eq=False)
class Inversion:
    """One law and its table, for words of some size. It holds public numbers alone."""

    boundary: Boundary
    end: int | None
    """The first integer beyond the law's support; None if there is none."""
    bits: int
    """The number of bits of a word."""
    high: "array[int]"
    """The least word, for each place j, at or above boundary j + 1 for certain. It is padded by numbers that no word reaches."""
    low: "array[int]"
    """The number, for each place j, below which words are below boundary j + 1 for certain. It has one boundary more than `high`."""

    def settle(self, index: int, word: int, source: BitSource) -> int:
        """The integer for a word that the table leaves open, given that boundary `index` is at or below it for certain.

        The word may hold any number of boundaries. The same uniform number, with as many further bits as it takes, is compared with
        boundaries twice as far each time until one is above it, and then with those between.
        """
        number = LazyUniform(source, word, self.bits, self.bits + 1)
        step, above = 1, index + 1
        while not self._is_below(number, above):
            index, step = above, 2 * step
            above = index + step if self.end is None else min(index + step, self.end)
        while above - index > 1:
            middle = (index + above) // 2
            if self._is_below(number, middle):
                above = middle
            else:
                index = middle
        return index

    def _is_below(self, number: LazyUniform, j: int) -> bool:
        return j == self.end or number.is_below(ladder(partial(self.boundary, j), PRECISION))


def inversion(boundary: Boundary, end: int | None = None, bits: int = 63, rising: Iterable[arb] | None = None) -> Inversion:
    """The table of a law whose boundaries reach the last word, or its end, within `LONGEST` steps.

    Where all boundaries are given as `rising`, which computes them at the working precision when they are asked for, it may have
    `LONGEST_LISTED` steps.
    """
    low, high = [], []
    boundaries, most_steps = (map(boundary, count(1)), LONGEST) if rising is None else (rising, LONGEST_LISTED)
    with working_precision(PRECISION):
        for j, enclosure in enumerate(islice(boundaries, most_steps + 1), 1):
            if j == end:
                low.append(1 << bits)
                break
            least, most = _words(enclosure, bits)
            low.append(least)
            if most == 1 << bits:
                break
            high.append(most)
        else:
            raise InternalError("the table of a law does not end; nothing was released")
    size = (1 << len(high).bit_length()) - 1
    ordered = [*accumulate(reversed(high), min)][::-1]
    return Inversion(boundary, end, bits, array("Q", ordered + [1 << bits] * (size - len(high))), array("Q", accumulate(low, max)))


def _words(enclosure: arb, bits: int) -> tuple[int, int]:
    """The words below the first of which a uniform number is below the boundary, and from the second of which it is not."""
    unit = 1 << bits
    if not enclosure.is_finite():
        return 0, unit
    floor = (enclosure * unit).floor().unique_fmpz()
    if floor is not None and 0 <= floor < unit:
        return int(floor), int(floor) + 1
    low, high, exponent = endpoints(enclosure)
    shift = bits + exponent
    least, most = (low << shift, high << shift) if shift >= 0 else (low >> -shift, -(-high >> -shift))
    if least > unit or most < 0:
        raise InternalError("a probability was found outside [0, 1]; nothing was released")
    return max(0, least), min(unit, most)


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


LARGEST_VARIANCE = 2**32
"""The square of the largest σ."""


def total_weight(variance: Fraction) -> arb:
    """Σ_z e^{-z²/(2 variance)} at the working precision: Jacobi's θ₃(0, τ) at τ = i/(2π variance)."""
    return acb.modular_theta(acb(0), acb(0, 1 / (2 * arb.pi() * ball(variance))))[2].real


def gaussian_below(variance: Fraction) -> Iterator[arb]:
    """P(|Z| < j) for j = 1, 2, … at the working precision.

    Each weight is the last one times a ratio, which falls by the same factor every time.
    """
    total, rate = total_weight(variance), ball(1 / (2 * variance))
    weight, ratio, factor = 2 * (-rate).exp(), (-3 * rate).exp(), (-2 * rate).exp()
    inverse, below = 1 / total, arb(1)
    while True:
        yield below * inverse
        below += weight
        weight *= ratio
        ratio *= factor


@lru_cache(maxsize=8)  # the longest takes 15 MB
def _gaussian_law(numerator: int, denominator: int, bits: int) -> NoiseLaw:
    """The table for one variance, a public number. Sought by its integers: a Fraction takes long to look up."""
    variance = Fraction(numerator, denominator)
    if variance <= 0:
        raise InternalError("noise needs a positive variance; nothing was released")
    check_variance(variance)

    def boundary(j: int) -> arb:
        return next(islice(gaussian_below(variance), j - 1, None))

    return NoiseLaw(((1, inversion(boundary, None, bits - 1, gaussian_below(variance))),), None, True, 1, bits)


def discrete_gaussian_law(variance: Fraction, bits: int = WORD) -> NoiseLaw:
    """Z with P(Z = z) ∝ e^{-z²/(2 variance)}."""
    return _gaussian_law(variance.numerator, variance.denominator, bits)


_SECONDS_A_CELL, _SECONDS_COMPARED = 1e-6, 4e-9
"""At least four times the seconds measured for a draw with its report and record, and for comparing a word with an entry."""


def gaussian_seconds(variance: Fraction, cells: int) -> float:
    """Return more seconds than noise for so many cells, its report and its record take as a rule: by public numbers alone.

    Few words are each compared with the whole table, which has some ten entries for each σ.
    """
    return cells * _SECONDS_A_CELL + min(cells, 64) * _SECONDS_COMPARED * 16.0 * (1.0 + isqrt(ceil(variance)))


def check_variance(variance: Fraction) -> None:
    """Refuse, by public numbers, noise whose table would be too long."""
    if variance > LARGEST_VARIANCE:
        raise TooLargeError("Gaussian noise is drawn up to a standard deviation of 65,536; raise rho or epsilon, or use LatticeGeometric")


def accepts_total(source: BitSource, total: int, peak: int, k: int, epsilon: Fraction) -> bool:
    """True with probability NB(total) / NB(peak), exactly; `peak` must be the mode."""
    return bernoulli(source, ladder(partial(relative_mass_of_total, total, peak, k, epsilon), PRECISION))


def likeliest_total(k: int, epsilon: Fraction) -> int:
    """Return the mode of NB: NB(S) > NB(S-1) just when S < (k-1)/(e^{ε/2} - 1), which is never an integer."""
    for floor in ladder(lambda: ((k - 1) / ball(epsilon / 2).expm1()).floor(), PRECISION):
        found = floor.unique_fmpz()
        if found is not None:
            return int(found)
    raise InternalError("the mode of the noise could not be found; nothing was released")


def relative_mass_of_total(total: int, peak: int, k: int, epsilon: Fraction) -> arb:
    """NB(total) / NB(peak) at the working precision: e^{-ε(S-M)/2} C(S+k-1, k-1) / C(M+k-1, k-1)."""
    exponent = (arb(total + k).lgamma() - arb(total + 1).lgamma()) - (arb(peak + k).lgamma() - arb(peak + 1).lgamma())
    return (exponent - ball(epsilon * (total - peak) / 2)).exp()
