"""Certified inversion: an integer drawn by comparing one uniform word with a table of its law (the proof is in docs/proofs/exactness.md).

A law on 0, 1, 2, … has the boundaries c_j = P(X < j), j = 1, 2, …. With U uniform in [0, 1), the number of boundaries that are at or below
U has that law. A word of U's first bits decides it by comparison with integers, computed once from enclosures of the boundaries. The few
words that hold a boundary are extended by further bits and compared with the boundaries themselves, in ball arithmetic.
"""

from array import array
from collections.abc import Callable, Iterable
from functools import partial
from itertools import accumulate, count, islice

from attrs import frozen
from flint import arb

from discreet.errors import InternalError
from discreet.numerics.balls import working_precision
from discreet.sampling.bits import PRECISION, BitSource, LazyUniform, endpoints, ladder

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
