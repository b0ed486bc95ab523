"""Random bits, the only randomness a release ever uses, and exact uniform integers made of them (docs/proofs/exactness.md)."""

import os
from hashlib import blake2b
from typing import Protocol

from discreet.errors import EntropyError, InternalError


class BitSource(Protocol):
    """Anything that gives independent fair bits."""

    @property
    def secret(self) -> bool:
        """Return whether nobody can know or repeat the bits. A release from bits that are not secret has no guarantee."""
        ...

    def bits(self, count: int) -> int:
        """A uniform integer of `count` bits, 0 <= value < 2**count; raises if it has none to give.

        A source may also have `octets(size)`, which gives `size` bytes: the same bits, quicker where there are many.
        """
        ...


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
