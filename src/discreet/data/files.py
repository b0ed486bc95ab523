"""Files and streams as tables of DuckDB: every cell as it is written, and no file without the columns that are asked for."""

import csv
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from glob import escape, glob
from io import BufferedReader, TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import narwhals.stable.v2 as nw

from discreet.data.categories import kind_of
from discreet.data.engines import scratch_directory, within_engine
from discreet.data.lines import DELIMITERS, IS_NUMBER, LineReading, Opener, TextRows, check_names, text_schema
from discreet.data.other_programs import (
    SPREADSHEETS,
    STATISTICS,
    sheet_batches,
    sheet_columns,
    sheet_of,
    statistics_batches,
    statistics_columns,
)
from discreet.errors import InvalidInputError, SourceError
from discreet.text import may_hold_password

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

Columns = tuple[str, ...]


@dataclass(frozen=True)
class FileTable:
    """A lazy table of DuckDB and, where Python reads its rows, what became of them: to be looked at once the table has been used."""

    relation: "DuckDBPyRelation"
    rows: TextRows | None = None


@contextmanager
def opened(source: str | os.PathLike[str] | BinaryIO, reading: LineReading) -> Iterator[FileTable]:
    """The files that a path or pattern stands for, or a stream of CSV, as one lazy table that has the columns."""
    if isinstance(source, (str, os.PathLike)):
        files, reader = _files(os.fspath(source))
        if reader not in (_csv, _statistics) and reading.encoding != "utf-8":
            raise InvalidInputError(
                "encoding is for CSV files and for those of SPSS, Stata and SAS: JSON is UTF-8, and others say how their text is written"
            )
    with ExitStack() as resources:
        connection = _started(resources)
        if isinstance(source, (str, os.PathLike)):
            yield reader(connection, files, reading)
        else:
            yield _in_python(connection, [lambda: nullcontext(source)], reading)


def _started(resources: ExitStack) -> "DuckDBPyConnection":
    """A DuckDB whose connection and scratch directory are closed with the resources.

    No data have been read yet, so if this fails the engine's own message is shown.
    """
    try:
        place = resources.enter_context(scratch_directory())
        return resources.enter_context(closing(_connected(place)))
    except Exception as error:
        raise SourceError(f"starting DuckDB failed, and nothing was read: {' '.join(str(error).split())}") from error


def _in_python(connection: "DuckDBPyConnection", texts: list[Opener], reading: LineReading) -> FileTable:
    rows = TextRows(texts, reading)
    return FileTable(within_engine("reading rows", connection.from_arrow, rows.reader()), rows)


def _connected(place: str) -> "DuckDBPyConnection":
    """A DuckDB that spills only to a directory no one else can read, and that fetches no extensions from anywhere."""
    import duckdb

    settings: dict[str, str | bool | int | float | list[str]] = {
        "temp_directory": place,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "preserve_insertion_order": False,
    }
    connection = duckdb.connect(":memory:", config=settings)
    # In a notebook DuckDB shows a progress bar with ipywidgets; without them the bar is off, and setting it to anything is an error.
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(True,)]:
        connection.execute("SET enable_progress_bar = false")
    return connection


_Reader = Callable[["DuckDBPyConnection", list[str], LineReading], FileTable]


def _files(path: str) -> tuple[list[str], _Reader]:
    try:
        expanded = str(Path(path).expanduser())
        if sheet_of(expanded)[1] is not None:
            return [expanded], _sheets
        matches = [expanded] if Path(expanded).exists() else sorted(glob(expanded, recursive=True))  # noqa: PTH207 - absolute patterns
        found = _once([Path(name) for name in matches if Path(name).is_file()])
    except RuntimeError:
        raise SourceError("the path begins with the home directory of a user who is not known here") from None
    except (OSError, ValueError):
        raise SourceError("the path cannot be looked up: it is too long or not a path, or its folder may not be read") from None
    if Path(expanded).is_dir():
        raise SourceError(f"{path!r} is a directory; name its files with a pattern, such as 'directory/*.parquet'")
    if not found:
        if may_hold_password(path):
            raise SourceError(
                "there is no such file; its name is not shown, because what stands between a : and an @, or behind password=, may be a "
                "password; read records of a database as a table, and count that"
            )
        where = str(Path(expanded).absolute())
        raise SourceError(f"no file matches {where!r}" if any(c in path for c in "*?[") else f"there is no file {where!r}")
    endings = {_ending(name) for name in found}
    readers = {reader for ending in endings for reader, known in _READERS.items() if ending in known}
    if len(readers) != 1 or not all(any(ending in known for known in _READERS.values()) for ending in endings):
        allowed = " ".join(ending for known in _READERS.values() for ending in known)
        raise SourceError(f"files must be all of one format, told by their ending: {allowed} (text formats also with .gz or .zst)")
    return found, readers.pop()


def _once(files: list[Path]) -> list[str]:
    """Each file once, whatever links and patterns lead to it: rows that are read twice are protected half as much as is promised."""
    found: dict[object, str] = {}
    for file in files:
        known = file.stat()
        key = (known.st_dev, known.st_ino) if known.st_nlink > 1 else file.resolve()
        found.setdefault(key, str(file.absolute()))  # from the root on: DuckDB takes a name that begins with file: for an address
    return list(found.values())


def _ending(name: str) -> str:
    path = Path(name)
    inner, outer = Path(path.stem).suffix.lower(), path.suffix.lower()
    return inner if outer in (".gz", ".zst") and inner in (*_READERS[_csv], *_READERS[_json]) else outer


def _parquet(connection: "DuckDBPyConnection", files: list[str], reading: LineReading) -> FileTable:
    if reading.strict:
        return FileTable(within_engine("reading Parquet files", _parquet_by_arrow, connection, files, reading.columns))
    for file in files:
        found = within_engine("reading the columns of a Parquet file", _parquet_names, file)
        if len(files) > 1:
            check_names(found, reading.columns, " in one of the files")
        one = within_engine("reading a Parquet file", connection.read_parquet, escape(file), hive_partitioning=False)
        _check_not_renamed(found, one.columns, reading.columns, "a Parquet file")
    names = [escape(file) for file in files]
    table = within_engine("reading Parquet files", connection.read_parquet, names, union_by_name=True, hive_partitioning=False)
    return FileTable(table)


def _parquet_names(file: str) -> list[str]:
    from pyarrow import parquet

    return list(parquet.read_schema(file).names)


def _check_not_renamed(found: list[str], engine: list[str], columns: Columns, where: str) -> None:
    """DuckDB renames columns that are called alike, capital letters aside, and would read one of them in the name's place."""
    for name in columns:
        if [i for i, other in enumerate(found) if other == name] != [i for i, other in enumerate(engine) if other == name]:
            raise InvalidInputError(
                f"{where} names the column {name!r} more than once, or has others that differ in capital letters only: rename them"
            )


def _parquet_by_arrow(connection: "DuckDBPyConnection", files: list[str], columns: Columns) -> "DuckDBPyRelation":
    """Arrow takes text for bytes, where DuckDB refuses a file for one that is not UTF-8.

    A column's types must have a common one that holds them exactly: elsewhere a number itself would decide whether it fits.
    """
    import pyarrow as pa
    from pyarrow import dataset, parquet

    schemas = [parquet.read_schema(file) for file in files]
    for schema in schemas:
        check_names(schema.names, columns, " in one of the files" if len(files) > 1 else "")
    for name in columns:
        if len({_family(schema.field(name).type) for schema in schemas}) > 1:
            raise InvalidInputError(
                f"column {name!r} has types in these files that no common one holds exactly, so they cannot be counted strictly: "
                "convert them first"
            )
    parts = [pa.schema([schema.field(name) for name in columns]) for schema in schemas]
    whole = pa.unify_schemas(parts, promote_options="permissive")
    found = dataset.dataset(files, schema=whole, format="parquet")
    return connection.from_arrow(found.scanner(columns={name: dataset.field(name) for name in columns}))


def _family(kind: "pa.DataType") -> object:
    """Types of one family are held exactly by the widest of them; any other type is a family of its own."""
    from pyarrow import types

    families = (types.is_signed_integer, types.is_unsigned_integer, types.is_floating, types.is_string, types.is_large_string)
    return next((position for position, belongs in enumerate(families) if belongs(kind)), kind)


def _csv(connection: "DuckDBPyConnection", files: list[str], reading: LineReading) -> FileTable:
    """Every cell as the text it is. Python reads what DuckDB would refuse, leave out or change."""
    if not reading.strict and reading.encoding == "utf-8":
        delimiter = _delimiter(files[0], reading.columns)
        if all(within_engine("reading a CSV file", _is_read_alike, file, delimiter) for file in files):
            return FileTable(_csv_by_engine(connection, files, delimiter, reading.columns))
    return _in_python(connection, [partial(_bytes, file) for file in files], reading)


def _csv_by_engine(connection: "DuckDBPyConnection", files: list[str], delimiter: str, columns: Columns) -> "DuckDBPyRelation":
    """A header, no comments and no skipped lines: nothing that a sniffer might drop or convert."""

    def read(names: list[str]) -> "DuckDBPyRelation":
        return connection.read_csv(
            [escape(name) for name in names],  # type: ignore[arg-type]
            sep=delimiter,
            header=True,
            all_varchar=True,
            quotechar='"',
            escapechar='"',
            comment="",
            skiprows=0,
            union_by_name=True,
            hive_partitioning=False,
        )

    for file in files:
        header = within_engine("reading the beginning of a CSV file", _header, file, delimiter)
        check_names(header, columns, " in the first line of the CSV file")
        one = within_engine("reading a CSV file", read, [file])
        _check_not_renamed(header, one.columns, columns, "the first line of the CSV file")
    return within_engine("reading CSV files", read, files)


def _delimiter(file: str, columns: Columns) -> str:
    """The delimiter that finds the most of the columns in the header; a header is public, so the choice does not depend on the data."""

    def found(delimiter: str) -> int:
        header = within_engine("reading the beginning of a CSV file", _header, file, delimiter)
        return len(set(columns) & set(header))

    return max(DELIMITERS, key=found)


def _header(file: str, delimiter: str) -> list[str]:
    """The cells of the first line. They are data if the file has no header, and so never shown."""
    with _bytes(file) as stream, TextIOWrapper(stream, "utf-8-sig", newline="") as text:
        for cells in csv.reader(iter(lambda: text.readline(_LONGEST_HEADER), ""), delimiter=delimiter):
            return cells
    raise SourceError(_EMPTY)


_EMPTY = "the CSV file is empty; its first line must name the columns"
_LONGEST_HEADER = 1 << 20


def _bytes(file: str) -> BinaryIO:
    from pyarrow import input_stream

    compression = {".gz": "gzip", ".zst": "zstd"}.get(Path(file).suffix.lower())
    return cast("BinaryIO", BufferedReader(input_stream(file, compression)))


def _is_read_alike(file: str, delimiter: str) -> bool:
    """Return whether DuckDB reads a CSV file as Python does, by what stands in it; where that is not certain, Python reads it.

    DuckDB leaves out blank lines and blanks beside quotes, and takes a line with an empty cell too many. Where a line ends in a
    delimiter, which the delimiters of a file without quotes tell apart from an empty last cell, they are counted. Two line breaks in a
    row may also be within a cell in quotes.
    """
    mark = delimiter.encode()
    differs = (b"\n\n", b"\n\r\n", b"\r\r", b'" ', b' "')
    ends = has_quotes = False
    delimiters = feeds = returns = 0
    last = b""
    with _bytes(file) as stream:
        while chunk := stream.read(_READ_BYTES):
            seen = last + chunk
            if any(pattern in seen for pattern in differs):
                return False
            ends = ends or mark + b"\n" in seen or mark + b"\r" in seen
            has_quotes = has_quotes or b'"' in chunk
            delimiters += chunk.count(mark)
            feeds, returns = feeds + chunk.count(b"\n"), returns + chunk.count(b"\r")
            last = seen[-2:]
    lines = (feeds or returns) + (not last.endswith((b"\n", b"\r")))
    cells = len(_header(file, delimiter))
    return not (ends or last.endswith(mark)) or (not has_quotes and delimiters == lines * (cells - 1))


_READ_BYTES = 1 << 20


def _json(connection: "DuckDBPyConnection", files: list[str], reading: LineReading) -> FileTable:
    """Values as text, before any of them can be taken for a date or a number."""
    if reading.strict:
        if any(_ending(file) == ".json" for file in files):
            raise InvalidInputError("a .json file cannot be read strictly, because it is one text: give one object a line, as .jsonl")
        return _in_python(connection, [partial(_bytes, file) for file in files], replace(reading, form="json"))
    for file in files:
        one = within_engine("reading a JSON file", connection.read_json, escape(file))
        if within_engine("reading a JSON file", one.limit(1).fetchall):  # no records have no fields
            check_names(one.columns, reading.columns, " among the fields of the file's first records")
    names = [escape(file) for file in files]
    table = within_engine("reading JSON files", connection.read_json, names, columns=dict.fromkeys(reading.columns, "VARCHAR"))
    return FileTable(table)


def _sheets(connection: "DuckDBPyConnection", files: list[str], reading: LineReading) -> FileTable:
    return _by_cells(connection, [partial(sheet_batches, file) for file in files], reading)


def _statistics(connection: "DuckDBPyConnection", files: list[str], reading: LineReading) -> FileTable:
    return _by_cells(connection, [partial(statistics_batches, file, encoding=reading.encoding) for file in files], reading)


def _by_cells(
    connection: "DuckDBPyConnection", files: "list[Callable[[pa.Schema], Iterator[pa.RecordBatch]]]", reading: LineReading
) -> FileTable:
    """Cells that a library reads, as text. They are read before they are counted, since DuckDB would put an error into its own words."""
    import pyarrow as pa

    if reading.strict:
        raise InvalidInputError("files of other programs cannot be read strictly, because a cell may break them: save the table as CSV")
    schema = text_schema(reading.columns)
    batches = within_engine("reading the file", lambda: [batch for file in files for batch in file(schema)])
    return FileTable(connection.from_arrow(pa.Table.from_batches(batches, schema)))


# --- what columns there are -------------------------------------------------------------------------------------------


def columns_of(path: str, encoding: str = "utf-8") -> dict[str, str | None]:
    """The columns of a file, the first one of a pattern, and of what kind their first values are; None where that is not looked at.

    It is for the curator alone: the first line of a CSV file without a header is somebody's.
    """
    (file, *_), reader = _files(path)
    if reader is _sheets:
        return dict.fromkeys(within_engine("reading the file", sheet_columns, file))
    if reader is _statistics:
        return dict.fromkeys(within_engine("reading the file", statistics_columns, file, encoding))
    if reader is _csv:
        return within_engine("reading the beginning of the CSV file", _csv_kinds, file, encoding)
    with ExitStack() as resources:
        connection = _started(resources)
        read = connection.read_parquet if reader is _parquet else connection.read_json
        found = within_engine("reading the columns of the file", lambda: nw.from_native(read(escape(file))).collect_schema())
        return {name: kind_of(dtype) for name, dtype in found.items()}


def rows_of(path: str) -> int | None:
    """About how many rows the files have, for the curator alone: their lines, or what Parquet says; None where that takes as long as to
    count them."""
    files, reader = _files(path)
    if reader is _parquet:
        from pyarrow import parquet

        return sum(within_engine("reading a Parquet file", lambda file: int(parquet.read_metadata(file).num_rows), file) for file in files)
    if reader not in (_csv, _json) or any(file.lower().endswith((".gz", ".zst")) for file in files):
        return None
    return sum(max(0, _lines(file) - (reader is _csv)) for file in files)


def _lines(file: str) -> int:
    with Path(file).open("rb", buffering=0) as stream:
        return sum(part.count(b"\n") for part in iter(lambda: stream.read(1 << 22), b""))


def _csv_kinds(file: str, encoding: str) -> dict[str, str | None]:
    with _bytes(file) as stream, TextIOWrapper(stream, "utf-8-sig" if encoding == "utf-8" else encoding, newline="") as text:
        lines = list(islice(iter(lambda: text.readline(_LONGEST_HEADER), ""), _KIND_LINES))
    if not lines:
        raise SourceError(_EMPTY)
    delimiter = max(DELIMITERS, key=lambda each: len(next(csv.reader(lines[:1], delimiter=each), [])))
    names, *rows = csv.reader(lines, delimiter=delimiter)
    cells = {name: [row[place] for row in rows if place < len(row)] for place, name in enumerate(names)}
    numeric = {name for name, first in cells.items() if any(map(str.strip, first)) and all(map(IS_NUMBER.fullmatch, first))}
    return {name: "numbers" if name in numeric else "text" for name in cells}


_KIND_LINES = 1000
"""Lines by which it is said whether a column holds numbers."""


_READERS: Mapping[_Reader, tuple[str, ...]] = {
    _csv: (".csv", ".tsv", ".txt"),
    _json: (".json", ".jsonl", ".ndjson"),
    _parquet: (".parquet", ".pq"),
    _sheets: SPREADSHEETS,
    _statistics: STATISTICS,
}
