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
(
    _TRUE_TYPE,
    _FALSE_TYPE,
    _BYTE_TYPE,
    _SHORT_TYPE,
    _INTEGER_TYPE,
    _LONG_TYPE,
    _DOUBLE_TYPE,
    _BINARY_TYPE,
    _LIST_TYPE,
    _SET_TYPE,
    _MAP_TYPE,
    _STRUCT_TYPE,
) = range(1, 13)


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

    def byte(self) -> int:
        if self.place >= len(self.data):
            raise ValueError("the footer ends too early")
        self.place += 1
        return self.data[self.place - 1]

    def skip(self, size: int) -> None:
        if size > len(self.data) - self.place:
            raise ValueError("the footer ends too early")
        self.place += size

    def integer(self) -> int:
        """A whole number without sign of at most 64 bits, seven to a byte."""
        result = 0
        for shift in range(0, 70, 7):
            byte = self.byte()
            result |= (byte & 127) << shift
            if byte < 128:
                return result
        raise ValueError("a number of the footer is too long")

    def struct(self, path: tuple[int, ...]) -> None:
        number = 0
        while head := self.byte():
            step, kind = divmod(head, 16)
            if step:
                number += step
            else:
                written = self.integer()
                number = written // 2 if written % 2 == 0 else -1
            if not 0 <= number < 1 << 15:  # other readers wrap these around, perhaps to the number of a codec
                raise ValueError("a field of the footer has an impossible number")
            if kind in (_TRUE_TYPE, _FALSE_TYPE):  # the value of such a field is its kind
                self.count(path)
            else:
                self.value(kind, (*path, number))

    def count(self, path: tuple[int, ...]) -> None:
        self.values += 1
        if self.values > _VALUES or len(path) > _MOST_NESTED:
            raise ValueError("the footer has too many values, or too deep ones")

    def value(self, kind: int, path: tuple[int, ...]) -> None:
        self.count(path)
        if kind in (_SHORT_TYPE, _INTEGER_TYPE, _LONG_TYPE):
            number = self.integer()
            if path == _CODEC:
                self.found.add(number // 2 if number % 2 == 0 else -(number // 2) - 1)
        elif kind in (_TRUE_TYPE, _FALSE_TYPE, _BYTE_TYPE):
            self.skip(1)
        elif kind == _DOUBLE_TYPE:
            self.skip(8)
        elif kind == _BINARY_TYPE:
            self.skip(self.integer())
        elif kind == _STRUCT_TYPE:
            self.struct(path)
        elif kind in (_LIST_TYPE, _SET_TYPE):
            self.list(path)
        elif kind == _MAP_TYPE:
            self.map(path)
        else:
            raise ValueError("a value of the footer is of no known kind")

    def list(self, path: tuple[int, ...]) -> None:
        size, kind = divmod(self.byte(), 16)
        size = self.integer() if size == 15 else size
        self.check_length(size)
        inside = path if kind == _STRUCT_TYPE else (*path, 0)
        for _ in range(size):
            self.value(kind, inside)

    def map(self, path: tuple[int, ...]) -> None:
        size = self.integer()
        self.check_length(size)
        if size:
            kinds = divmod(self.byte(), 16)
            for _ in range(size):
                for kind in kinds:
                    self.value(kind, (*path, 0))

    def check_length(self, size: int) -> None:
        if size > len(self.data) - self.place:  # each value is a byte or more
            raise ValueError("the footer ends too early")
