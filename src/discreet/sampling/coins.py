"""Exact coins of any computable real probability: a lazily drawn uniform number is compared with ever tighter enclosures.

The proof is in docs/proofs/exactness.md. All comparisons are between integers.
"""

from collections.abc import Callable, Iterable, Iterator

from flint import arb

from discreet.errors import InternalError
from discreet.numerics.balls import working_precision
from discreet.sampling.bits import BitSource, take

WORD = 64
"""The bits that are taken from a source at a time: a uniform number is compared by one word, then by more if that does not decide."""

PRECISION = 128
"""Working precision of the first enclosures that words are compared with; what these leave open is computed again in more."""

_MOST_PRECISION = 1 << 17

_FINEST_BITS = 1 << 18
"""The bits beyond which the ends of an enclosure are rounded outwards: written out, e^{-10^15} would fill any memory with zeros."""


def ladder(compute: Callable[[], arb], precision: int) -> Iterator[arb]:
    """Enclosures of one number: `compute()` at this working precision, then at twice as much, and so on; finite ones only."""
    while precision <= _MOST_PRECISION:
        with working_precision(precision):
            enclosure = compute()
        if enclosure.is_finite():
            yield enclosure
        precision *= 2
    raise InternalError("a number could not be enclosed tightly enough; nothing was released")


def endpoints(enclosure: arb) -> tuple[int, int, int]:
    """The ends of a ball as integers (low, high, exponent): low 2^exponent <= value <= high 2^exponent, with no rounding."""
    middle, middle_exponent = (int(part) for part in enclosure.mid().man_exp())
    radius, radius_exponent = (int(part) for part in enclosure.rad().man_exp())
    exponent = min(middle_exponent, radius_exponent)
    middle <<= middle_exponent - exponent
    radius <<= radius_exponent - exponent
    return middle - radius, middle + radius, exponent


class LazyUniform:
    """A number U, uniform in [0, 1), that is known to as many bits as the comparisons made with it have needed.

    U lies in [word, word + 1) / 2^bits. It is compared with a number through enclosures of that number: while the two overlap, whichever
    is wider is refined.
    """

    def __init__(self, source: BitSource, word: int, bits: int, step: int) -> None:
        """Begin with the first `bits` bits, `word`. Whenever more are needed, `step` bits are taken from the source."""
        self._source, self._word, self._bits, self._step = source, word, bits, step

    def is_below(self, enclosures: Iterable[arb]) -> bool:
        """Return whether U is below the number in [0, 1] that all the enclosures contain.

        An enclosure that lies outside [0, 1] altogether is a broken bound: it raises.
        """
        for enclosure in enclosures:
            low, high, exponent = endpoints(enclosure)
            if exponent < -_FINEST_BITS:
                low, high, exponent = low >> -_FINEST_BITS - exponent, -(-high >> -_FINEST_BITS - exponent), -_FINEST_BITS
            shift = max(0, -exponent)
            low, high, unit = low << (exponent + shift), high << (exponent + shift), 1 << shift  # the number lies in [low, high] / unit
            if low > unit or high < 0:
                raise InternalError("a probability was found outside [0, 1]; nothing was released")
            while True:
                if (self._word + 1) * unit <= low << self._bits:
                    return True
                if self._word * unit >= high << self._bits:
                    return False
                if high - low << self._bits >= unit:
                    break
                self._word, self._bits = self._word << self._step | take(self._source, self._step), self._bits + self._step
        raise InternalError("the enclosures of a probability ran out before it could be compared; nothing was released")


def bernoulli(source: BitSource, enclosures: Iterable[arb]) -> bool:
    """True with the probability that all the enclosures contain, exactly: the event that a uniform number is below it."""
    return LazyUniform(source, take(source, WORD), WORD, WORD).is_below(enclosures)
