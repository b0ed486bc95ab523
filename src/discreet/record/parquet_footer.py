"""The codecs that the footer of a Parquet file names, read from its bytes.

pyarrow ends the whole process where it is asked for a codec whose number it does not know, so the footer of a file from a stranger is
looked at here first. It is a `FileMetaData` of Parquet's format in Thrift's compact protocol; everything but the codecs is passed over.
"""

from attrs import define, field

_CODEC = (4, 1, 3, 4)
"""The path to a codec, by the numbers of the fields: row groups, their columns, the metadata of each, its codec."""
_VALUES = 1 << 22
"""Values in a footer, many times as many as those of the largest table."""
_MOST_NESTED = 20
_TRUTHS, _INTEGERS, _BINARY, _STRUCT = (1, 2), (4, 5, 6), 8, 12
_BYTES_OF = {1: 1, 2: 1, 3: 1, 7: 8}
"""The bytes of a truth value, which in a list has one, of a byte and of a floating-point number."""
_LISTS, _MAP = (9, 10), 11
"""The numbers of Thrift's kinds of values: lists are lists and sets."""


def codecs(footer: bytes) -> set[int]:
    """The numbers of all codecs in a footer, 0 for none; ValueError if these bytes are no footer, or too many values."""
    walk = _FooterWalk(footer)
    walk.struct(())
    return walk.found


@define
class _FooterWalk:
    data: bytes
    place: int = 0
    values: int = 0
    found: set[int] = field(factory=set)

    def take(self, size: int) -> bytes:
        self.check_length(size)
        self.place += size
        return self.data[self.place - size : self.place]

    def check_length(self, size: int) -> None:
        """Refuse more bytes, or values, each of which has one or more, than are left."""
        if size > len(self.data) - self.place:
            raise ValueError("the footer ends too early")

    def integer(self) -> int:
        """A whole number without sign of at most 64 bits, seven to a byte."""
        result = 0
        for shift in range(0, 70, 7):
            [byte] = self.take(1)
            result |= (byte & 127) << shift
            if byte < 128:
                return result
        raise ValueError("a number of the footer is too long")

    def struct(self, path: tuple[int, ...]) -> None:
        number = 0
        while head := self.take(1)[0]:
            step, kind = divmod(head, 16)
            if step:
                number += step
            else:
                written = self.integer()
                number = written // 2 if written % 2 == 0 else -1
            if not 0 <= number < 1 << 15:  # other readers wrap these around, perhaps to the number of a codec
                raise ValueError("a field of the footer has an impossible number")
            if kind in _TRUTHS:  # the value of such a field is its kind
                self.count(path)
            else:
                self.value(kind, (*path, number))

    def count(self, path: tuple[int, ...]) -> None:
        self.values += 1
        if self.values > _VALUES or len(path) > _MOST_NESTED:
            raise ValueError("the footer has too many values, or too deep ones")

    def value(self, kind: int, path: tuple[int, ...]) -> None:
        self.count(path)
        if kind in _INTEGERS:
            number = self.integer()
            if path == _CODEC:
                self.found.add(number // 2 if number % 2 == 0 else -(number // 2) - 1)
        elif kind in _BYTES_OF:
            self.take(_BYTES_OF[kind])
        elif kind == _BINARY:
            self.take(self.integer())
        elif kind == _STRUCT:
            self.struct(path)
        elif kind in _LISTS:
            size, inside = divmod(self.take(1)[0], 16)
            self.several(self.integer() if size == 15 else size, (inside,), path if inside == _STRUCT else (*path, 0))
        elif kind == _MAP:
            size = self.integer()
            self.several(size, divmod(self.take(1)[0], 16) if size else (), (*path, 0))
        else:
            raise ValueError("a value of the footer is of no known kind")

    def several(self, size: int, kinds: tuple[int, ...], path: tuple[int, ...]) -> None:
        """The values of a list, or the keys and values of a map."""
        self.check_length(size)
        for _ in range(size):
            for kind in kinds:
                self.value(kind, path)
