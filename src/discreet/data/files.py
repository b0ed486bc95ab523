"""Files and streams as tables of DuckDB: every cell as it is written, and no file without the columns that are asked for."""

import csv
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from glob import escape, glob
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from discreet.data import scratch
from discreet.data.engines import within_engine
from discreet.data.lines import DELIMITERS, Opener, Reading, TextRows, check_names
from discreet.errors import InvalidInputError, SourceError

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
def opened(source: str | os.PathLike[str] | BinaryIO, reading: Reading) -> Iterator[FileTable]:
    """The files that a path or pattern stands for, or a stream of CSV, as one lazy table that has the columns."""
    if isinstance(source, (str, os.PathLike)):
        files, reader = _files(os.fspath(source))
        if reader is not _csv and reading.encoding != "utf-8":
            raise InvalidInputError("encoding is for CSV files: JSON is UTF-8, and Parquet says itself how its text is written")
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
        place = resources.enter_context(scratch.directory())
        return resources.enter_context(closing(_connected(place)))
    except Exception as error:
        raise SourceError(f"starting DuckDB failed, and nothing was read: {' '.join(str(error).split())}") from error


def _in_python(connection: "DuckDBPyConnection", texts: list[Opener], reading: Reading) -> FileTable:
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


_Reader = Callable[["DuckDBPyConnection", list[str], Reading], FileTable]


def _files(path: str) -> tuple[list[str], _Reader]:
    if "://" in path:
        raise SourceError("only local files are read; open a remote one with a library that can, and pass the table")
    try:
        expanded = str(Path(path).expanduser())
        matches = [expanded] if Path(expanded).exists() else sorted(glob(expanded, recursive=True))  # noqa: PTH207 - absolute patterns
    except RuntimeError:
        raise SourceError("the path begins with the home directory of a user who is not known here") from None
    except (OSError, ValueError):
        raise SourceError("the path cannot be looked up: it is too long or not a path, or its folder may not be read") from None
    if Path(expanded).is_dir():
        raise SourceError(f"{path!r} is a directory; name its files with a pattern, such as 'directory/*.parquet'")
    found = [name for name in matches if Path(name).is_file()]
    if not found:
        where = str(Path(expanded).absolute())
        raise SourceError(f"no file matches {where!r}" if any(c in path for c in "*?[") else f"there is no file {where!r}")
    endings = {_ending(name) for name in found}
    readers = {reader for ending in endings for reader, known in _READERS.items() if ending in known}
    if len(readers) != 1 or not all(any(ending in known for known in _READERS.values()) for ending in endings):
        allowed = " ".join(ending for known in _READERS.values() for ending in known)
        raise SourceError(f"files must be all of one format, told by their ending: {allowed} (text formats also with .gz or .zst)")
    return found, readers.pop()


def _ending(name: str) -> str:
    path = Path(name)
    return Path(path.stem).suffix.lower() if path.suffix.lower() in (".gz", ".zst") else path.suffix.lower()


def _parquet(connection: "DuckDBPyConnection", files: list[str], reading: Reading) -> FileTable:
    if reading.strict:
        return FileTable(within_engine("reading Parquet files", _parquet_by_arrow, connection, files, reading.columns))
    for file in files if len(files) > 1 else ():
        one = within_engine("reading a Parquet file", connection.read_parquet, escape(file))
        check_names(one.columns, reading.columns, " in one of the files")
    names = [escape(file) for file in files]
    table = within_engine("reading Parquet files", connection.read_parquet, names, union_by_name=True, hive_partitioning=False)
    return FileTable(table)


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


def _csv(connection: "DuckDBPyConnection", files: list[str], reading: Reading) -> FileTable:
    """Every cell as the text it is. Python reads what DuckDB would refuse or, as it does with blank lines, leave out."""
    in_python = reading.strict or reading.encoding != "utf-8" or any(within_engine("reading a CSV file", _has_blank_line, f) for f in files)
    if in_python:
        return _in_python(connection, [partial(_bytes, file) for file in files], reading)
    return FileTable(_csv_by_engine(connection, files, reading.columns))


def _csv_by_engine(connection: "DuckDBPyConnection", files: list[str], columns: Columns) -> "DuckDBPyRelation":
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

    delimiter = _delimiter(files[0], columns)
    for file in files:
        header = within_engine("reading the first line of a CSV file", _header, file, delimiter)
        check_names(header, columns, " in the first line of the CSV file")
        one = within_engine("reading a CSV file", read, [file])
        for name in columns:
            # DuckDB renames columns that are called alike, capital letters aside, and would read one of them in the name's place.
            if [i for i, found in enumerate(header) if found == name] != [i for i, found in enumerate(one.columns) if found == name]:
                raise InvalidInputError(
                    f"the first line of the CSV file names the column {name!r} more than once, or another that differs in capital letters "
                    "only: rename one of them"
                )
    return within_engine("reading CSV files", read, files)


def _delimiter(file: str, columns: Columns) -> str:
    """The delimiter that finds the most of the columns in the header; a header is public, so the choice does not depend on the data."""

    def found(delimiter: str) -> int:
        header = within_engine("reading the first line of a CSV file", _header, file, delimiter)
        return len(set(columns) & set(header))

    return max(DELIMITERS, key=found)


def _header(file: str, delimiter: str) -> list[str]:
    """The cells of the first line. They are data if the file has no header, and so never shown."""
    with _bytes(file) as stream, TextIOWrapper(stream, "utf-8-sig", newline="") as text:
        for cells in csv.reader(iter(lambda: text.readline(_LONGEST_LINE), ""), delimiter=delimiter):
            return cells
    raise SourceError("the CSV file is empty; its first line must name the columns")


_LONGEST_LINE = 1 << 20


def _bytes(file: str) -> BinaryIO:
    from pyarrow import input_stream

    compression = {".gz": "gzip", ".zst": "zstd"}.get(Path(file).suffix.lower())
    return cast("BinaryIO", BufferedReader(input_stream(file, compression)))


def _has_blank_line(file: str) -> bool:
    """Whether two line breaks follow each other: a blank line, or a break within a cell in quotes, which Python's reader tells apart."""
    with _bytes(file) as stream:
        end = b""
        while chunk := stream.read(_CHUNK):
            if any(breaks in end + chunk for breaks in (b"\n\n", b"\n\r\n", b"\r\r")):
                return True
            end = chunk[-2:]
    return False


_CHUNK = 1 << 20


def _json(connection: "DuckDBPyConnection", files: list[str], reading: Reading) -> FileTable:
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


_READERS: Mapping[_Reader, tuple[str, ...]] = {
    _csv: (".csv", ".tsv", ".txt"),
    _json: (".json", ".jsonl", ".ndjson"),
    _parquet: (".parquet", ".pq"),
}
