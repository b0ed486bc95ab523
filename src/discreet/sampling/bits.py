"""Random bits, the only randomness a release ever uses, and exact uniform integers and coins made of them (docs/proofs/exactness.md).

A coin of any computable real probability compares a lazily drawn uniform number with ever tighter enclosures: integers with integers.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Protocol

from flint import arb

from discreet.errors import EntropyError, InternalError
from discreet.numerics.balls import working_precision


class BitSource(Protocol):
    """Anything that gives independent fair bits."""

    @property
    def secret(self) -> bool:
        """Return whether nobody can know or repeat the bits. A release from bits that are not secret has no guarantee."""

    def bits(self, count: int) -> int:
        """A uniform integer of `count` bits, 0 <= value < 2**count; raises if it has none to give.

        A source may also have `octets(size)`, which gives `size` bytes: the same bits, quicker where there are many.
        """


class SystemBits:
    """The operating system's randomness. Keeps no buffer: nothing to leak, and nothing that a forked process would share."""

    secret = True

    def bits(self, count: int) -> int:
        """A uniform integer of `count` bits."""
        size = (count + 7) >> 3
        return int.from_bytes(self.octets(size)) >> (8 * size - count)

    def octets(self, size: int) -> bytes:
        """Random bytes, `size` of them; raises EntropyError where the operating system gives none."""
        try:
            data = os.urandom(size)
        except (OSError, NotImplementedError) as error:
            raise EntropyError("the operating system gave no random bits; nothing was released") from error
        if len(data) != size:
            raise EntropyError("the operating system gave too few random bits; nothing was released")
        return data


class SeededBits:
    """A reproducible stream for tests and demonstrations, never for a release: BLAKE2b of (seed, counter)."""

    secret = False

    def __init__(self, seed: int) -> None:
        self._key = blake2b(str(seed).encode()).digest()
        self._counter = 0
        self._pool = 0
        self._left = 0

    def _block(self) -> bytes:
        """The next block of the stream."""
        self._counter += 1
        return blake2b((self._counter - 1).to_bytes(16), key=self._key).digest()

    def bits(self, count: int) -> int:
        """The next `count` bits of the stream."""
        while self._left < count:
            block = self._block()
            self._pool = (self._pool << 8 * len(block)) | int.from_bytes(block)
            self._left += 8 * len(block)
        self._left -= count
        value = self._pool >> self._left
        self._pool &= (1 << self._left) - 1
        return value

    def octets(self, size: int) -> bytes:
        """The next bytes of the stream, block by block: one large integer would take quadratic time."""
        if self._left % 8 or self._left >= 8 * size:
            return self.bits(8 * size).to_bytes(size)
        ready = self._left // 8
        data = [self.bits(8 * ready).to_bytes(ready)]
        missing = size - ready
        data += [self._block() for _ in range(missing // 64)]
        return b"".join([*data, self.bits(8 * (missing % 64)).to_bytes(missing % 64)])


class CountedBits:
    """The bits of another source, counted: what a draw takes is a measure of its work that no clock disturbs."""

    def __init__(self, source: BitSource) -> None:
        self._source = source
        self.taken = 0

    @property
    def secret(self) -> bool:
        """Return whether nobody else can know the bits of the source."""
        return self._source.secret

    def bits(self, count: int) -> int:
        """The next `count` bits of the source."""
        self.taken += count
        return self._source.bits(count)

    def octets(self, size: int) -> bytes:
        """The next bytes of the source."""
        self.taken += 8 * size
        return take_octets(self._source, size)


def take(source: BitSource, count: int) -> int:
    """`count` bits of the source, refused unless they are an integer in range."""
    value = source.bits(count)
    if not isinstance(value, int) or value >> count:
        raise EntropyError("the bit source returned something other than an integer of the size asked for; nothing was released")
    return value


def take_octets(source: BitSource, size: int) -> bytes:
    """`size` random bytes, refused unless there are as many."""
    octets = getattr(source, "octets", None)
    if octets is None:
        return take(source, 8 * size).to_bytes(size)
    data = octets(size)
    if not isinstance(data, bytes) or len(data) != size:
        raise EntropyError("the bit source returned something other than as many bytes as were asked for; nothing was released")
    return data


def uniform(source: BitSource, bound: int) -> int:
    """An exactly uniform integer in [0, bound): draw as many bits as bound - 1 has, and again while they are out of range."""
    if bound < 1:
        raise InternalError("a uniform integer needs a positive bound; nothing was released")
    count = (bound - 1).bit_length()
    while True:
        value = take(source, count) if count else 0
        if value < bound:
            return value


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
