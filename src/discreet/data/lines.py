"""Text files and streams read row by row in Python: other encodings, standard input, blank lines, and strict reading, which refuses no row.

Rows go to the engine in batches, and nothing is written to the disk here. Strictly read, a line of bytes is a row, whatever is in it: a
quote that is not closed, a broken encoding or a cell too many make that one line unreadable, and are never felt by the next. So the number
of rows depends on the number of lines alone. Otherwise the first row that cannot be read ends the reading, and says so.
"""

import codecs
import csv
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import BufferedIOBase, TextIOWrapper
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from discreet.data.categories import NUMBER
from discreet.data.engines import RAGGED
from discreet.errors import DiscreetError, InvalidInputError, SourceError
from discreet.text import shown

if TYPE_CHECKING:
    from pyarrow import RecordBatch, RecordBatchReader, Schema

DELIMITERS = (",", ";", "\t", "|")
_LONGEST_LINE = 1 << 24
"""Characters or bytes: a longer line is not read into memory."""
_MOST_ROWS, _MOST_CHARACTERS = 8192, 1 << 26
"""The size of a batch: Arrow's arrays of text hold 2**31 bytes."""

IS_NUMBER = re.compile(NUMBER)

Row = list[str | None]
Opener = Callable[[], AbstractContextManager[BinaryIO]]


@dataclass(frozen=True)
class LineReading:
    """The way in which text is to be read; all of it is public."""

    columns: tuple[str, ...]
    encoding: str = "utf-8"
    strict: bool = False
    form: Literal["csv", "json"] = "csv"
    """JSON means one object a line, and is read strictly only."""
    numbers: tuple[str, ...] = ()
    """The columns of which it is to be known whether they hold `TextRows.numbers` alone."""
    privacy_id: str | None = None
    """The column that says whose a row is."""


def check_encoding(encoding: Any, *, strict: bool) -> str:
    """Python's name of a text encoding. Strictly read, lines are found before they are decoded, so it must write ASCII as ASCII does."""
    try:
        found = codecs.lookup(encoding)
        plain = "".join(DELIMITERS).encode(found.name) + "\n".encode(found.name)
    except (LookupError, TypeError, ValueError):
        raise InvalidInputError(
            f"encoding must be the name of a text encoding, such as 'utf-8', 'latin-1' or 'cp1252', got {shown(encoding)!r}"
        ) from None
    name = "utf-8" if found.name == "utf-8-sig" else found.name  # a mark at the beginning is always allowed for
    if strict and name != "utf-8" and plain != "".join((*DELIMITERS, "\n")).encode():
        raise InvalidInputError(f"encoding {shown(encoding)!r} cannot be read strictly, line by line: save the file as UTF-8 first")
    return name


def check_stream(stream: Any) -> BinaryIO:
    if not isinstance(stream, BufferedIOBase):
        raise InvalidInputError(
            "a stream must be one of bytes, such as open(path, 'rb') or sys.stdin.buffer: name the text's encoding with encoding=..."
        )
    return stream  # type: ignore[return-value]  # typeshed does not call them so


class TextRows:
    """The rows of texts that name their columns, as batches for an engine, and what became of those that could not be read."""

    def __init__(self, texts: Iterable[Opener], reading: LineReading) -> None:
        self._texts, self._reading = list(texts), reading
        self.trouble: DiscreetError | None = None
        """The reason why reading ended early; what the engine has counted by then is void."""
        self.unreadable = 0
        """The number of unreadable lines, if they were read strictly. Private, like a count."""
        self.numbers = set(reading.numbers)
        """The columns that the reading names of which every text, as far as it was read, is a number or empty. Private."""

    def reader(self) -> "RecordBatchReader":
        """The columns, as text, to be read once."""
        import pyarrow as pa

        schema = text_schema(self._reading.columns)
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema))

    def _batches(self, schema: Any) -> "Iterator[RecordBatch]":
        """An engine would put an error into words of its own, so it is kept aside and the batches end."""
        import pyarrow as pa

        try:
            for text in self._texts:
                with text() as stream:
                    for batch in _batched(self._rows(stream)):
                        yield pa.RecordBatch.from_arrays(
                            [pa.array(cells, pa.string()) for cells in zip(*batch, strict=True)], schema=schema
                        )
        except DiscreetError as error:
            self.trouble = error
        except (OSError, EOFError) as error:
            self.trouble = SourceError(f"reading failed with {type(error).__name__}")

    def _rows(self, stream: BinaryIO) -> Iterator[Row]:
        places = {name: self._reading.columns.index(name) for name in self._reading.numbers}
        for row in _parsed(stream, self._reading):
            if row is None:
                self.unreadable += 1
                continue
            self.numbers -= {name for name in self.numbers if not IS_NUMBER.fullmatch((row[places[name]] or "").strip(" "))}
            yield row


def _parsed(stream: BinaryIO, reading: LineReading) -> Iterator[Row | None]:
    """The columns' cells of each row, None for one that is empty; None in place of a row that cannot be read."""
    if not reading.strict:
        text = _text_lines(stream, reading.encoding)
        return _layout(next(text, None), reading).loosely(text)
    lines = _byte_lines(stream, reading.encoding)
    if reading.form == "json":
        return (None if line is None else _json_cells(line.removeprefix("\ufeff"), reading.columns) for line in lines)
    return _layout(next(lines, None), reading).strictly(lines)


def _batched(rows: Iterator[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    characters = 0
    for row in rows:
        batch.append(row)
        characters += sum(len(cell) for cell in row if cell is not None)
        if len(batch) == _MOST_ROWS or characters > _MOST_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


# --- lines ------------------------------------------------------------------------------------------------------------


def _text_lines(stream: BinaryIO, encoding: str) -> Iterator[str]:
    """Decoded lines, the line breaks as they are."""
    text = TextIOWrapper(stream, encoding, newline="")
    try:
        while line := text.readline(_LONGEST_LINE):
            if len(line) == _LONGEST_LINE and not line.endswith("\n"):
                raise SourceError("a line of the CSV file is longer than 16 million characters")
            yield line
    except UnicodeError:
        failed = True
    else:
        failed = False
    finally:
        if not text.closed:
            text.detach()  # the stream is the caller's to close
    if failed:
        raise SourceError(f"the CSV file is not {encoding} text: name its encoding with encoding=... (in the shell, --encoding)")


def _byte_lines(stream: BinaryIO, encoding: str) -> Iterator[str | None]:
    """Every line that ends in a line feed, decoded by itself; None for one that cannot be, or is too long."""
    while line := stream.readline(_LONGEST_LINE):
        whole = len(line) < _LONGEST_LINE or line.endswith(b"\n")
        while len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
            line = stream.readline(_LONGEST_LINE)
        yield _decoded(line, encoding) if whole else None


def _decoded(line: bytes, encoding: str) -> str | None:
    try:
        text = line.removesuffix(b"\n").removesuffix(b"\r").decode(encoding)
    except ValueError:
        return None
    return text if _is_whole(text) else None


# --- CSV --------------------------------------------------------------------------------------------------------------


def check_names(found: Collection[str], columns: tuple[str, ...], where: str) -> None:
    """Every table must have the columns: a file without one would be read as nulls."""
    absent = [name for name in columns if name not in found]
    if absent:
        missing = f"there is no column {' and no column '.join(map(repr, absent))}{where}"
        raise InvalidInputError(f"{missing}; capital letters and blanks matter")


def check_once(found: Sequence[str | None], columns: Iterable[str], where: str) -> None:
    """Refuse a column whose name stands in a header twice: which of the two was meant is not known."""
    for name in columns:
        if found.count(name) > 1:
            raise InvalidInputError(f"{where} names the column {name!r} more than once: rename one of them")


def text_schema(columns: Iterable[str]) -> "Schema":
    """The columns, all of text."""
    import pyarrow as pa

    return pa.schema([(name, pa.string()) for name in columns])


def _cells(line: str, delimiter: str) -> list[str]:
    """The cells of a first line; none if it is not one line of CSV."""
    try:
        rows = list(csv.reader([line], delimiter=delimiter, strict=True))
    except csv.Error:
        return []
    return rows[0] if len(rows) == 1 else []


@dataclass(frozen=True)
class _Layout:
    """The places of the columns, as the first line says."""

    delimiter: str
    width: int
    places: tuple[int, ...]

    def loosely(self, lines: Iterator[str]) -> Iterator[Row | None]:
        """Rows that may go over several lines; a blank line is a row of nothing but missing values."""
        rows = csv.reader(lines, delimiter=self.delimiter, strict=True)
        while True:
            try:
                cells = next(rows, None)
            except csv.Error:
                break
            if cells is None:
                return
            if len(cells) != self.width and cells:
                raise SourceError(f"reading the CSV file failed: {RAGGED}")
            yield [cells[place] or None for place in self.places] if cells else [None] * len(self.places)
        raise SourceError(
            "reading the CSV file failed: a quote is not closed or followed by more than the delimiter, or a cell is too long"
        )

    def strictly(self, lines: Iterator[str | None]) -> Iterator[Row | None]:
        """A row for each line, None where it is unreadable."""
        for line in lines:
            cells = None if line is None else line.split(self.delimiter) if '"' not in line else _cells(line, self.delimiter)
            if line == "":
                yield [None] * len(self.places)
            elif cells is None or len(cells) != self.width:
                yield None
            else:
                yield [cells[place] or None for place in self.places]


def _layout(line: str | None, reading: LineReading) -> _Layout:
    """Read off the first line, which is public and, if the file has no header, data: so it is never shown."""
    if line is None:
        raise SourceError(
            "the CSV file is empty, or its first line, which names the columns, cannot be read: is it in another encoding than "
            "encoding=... (in the shell, --encoding)?"
        )
    line = line.removeprefix("\ufeff").rstrip("\r\n")
    delimiter = max(DELIMITERS, key=lambda each: len(set(reading.columns) & set(_cells(line, each))))
    cells = _cells(line, delimiter)
    check_names(cells, reading.columns, " in the first line of the CSV file")
    check_once(cells, reading.columns, "the first line of the CSV file")
    return _Layout(delimiter, len(cells), tuple(cells.index(name) for name in reading.columns))


# --- JSON -------------------------------------------------------------------------------------------------------------


def _json_cells(line: str, columns: Sequence[str]) -> Row | None:
    """The fields as they are written; None if the line is no object, or a field is none of text, number, truth value and null."""
    if not line.strip():
        return [None] * len(columns)
    try:
        found = json.loads(line, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    fields = [found.get(name) for name in columns]
    cells: Row = [str(field).lower() if isinstance(field, bool) else field for field in fields]
    if not all(cell is None or (isinstance(cell, str) and _is_whole(cell)) for cell in cells):
        return None
    return cells


def _is_whole(text: str) -> bool:
    """Return whether every character is one: an escape in JSON, and some encodings, can write half of a pair, which no engine takes."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
