"""CSV, JSON and Parquet files as tables of DuckDB: every cell as it is written, and no file without the columns that are asked for."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from glob import escape, glob
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from discreet.engines import within_engine
from discreet.errors import InvalidInputError, SourceError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

__all__ = ["opened"]

Columns = tuple[str, ...]


@contextmanager
def opened(path: str | os.PathLike[str], columns: Columns) -> "Iterator[DuckDBPyRelation]":
    """The files that a path or pattern stands for, as one lazy table that has these columns."""
    files, reader = _files(os.fspath(path))
    with TemporaryDirectory(prefix="discreet-") as scratch:
        connection = within_engine("starting DuckDB", _connected, scratch)
        try:
            yield reader(connection, files, columns)
        finally:
            connection.close()


def _connected(scratch: str) -> "DuckDBPyConnection":
    """A DuckDB that spills only to a directory no one else can read, and that fetches no extensions from anywhere."""
    import duckdb

    settings: dict[str, str | bool | int | float | list[str]] = {
        "temp_directory": scratch,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "preserve_insertion_order": False,
    }
    connection = duckdb.connect(":memory:", config=settings)
    connection.execute("SET enable_progress_bar = false")
    return connection


_Reader = Callable[["DuckDBPyConnection", list[str], Columns], "DuckDBPyRelation"]


def _files(path: str) -> tuple[list[str], _Reader]:
    """The files a path or pattern stands for, safe to hand to DuckDB, and what reads them."""
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
        raise SourceError(f"no file matches {path!r}" if any(c in path for c in "*?[") else f"there is no file {path!r}")
    endings = {_ending(name) for name in found}
    readers = {reader for ending in endings for reader, known in _READERS.items() if ending in known}
    if len(readers) != 1 or not all(any(ending in known for known in _READERS.values()) for ending in endings):
        allowed = " ".join(ending for known in _READERS.values() for ending in known)
        raise SourceError(f"files must be all of one format, told by their ending: {allowed} (text formats also with .gz or .zst)")
    return [escape(name) for name in found], readers.pop()


def _ending(name: str) -> str:
    path = Path(name)
    return Path(path.stem).suffix.lower() if path.suffix.lower() in (".gz", ".zst") else path.suffix.lower()


def _parquet(connection: "DuckDBPyConnection", files: list[str], columns: Columns) -> "DuckDBPyRelation":
    for file in files if len(files) > 1 else ():
        one = within_engine("reading a Parquet file", connection.read_parquet, file)
        _check_header(one, columns, " in one of the files")
    return within_engine("reading Parquet files", connection.read_parquet, files, union_by_name=True, hive_partitioning=False)


def _csv(connection: "DuckDBPyConnection", files: list[str], columns: Columns) -> "DuckDBPyRelation":
    """Every cell as the text it is, with a header, no comments and no skipped lines: nothing that a sniffer might drop or convert."""

    def read(names: str | list[str], delimiter: str) -> "DuckDBPyRelation":
        return connection.read_csv(
            names,  # type: ignore[arg-type]
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

    delimiter = _delimiter(read, files[0], columns)
    for file in files:
        one = within_engine("reading a CSV file", read, file, delimiter)
        _check_header(one, columns, " in the first line of the file")
    return within_engine("reading CSV files", read, files, delimiter)


def _delimiter(read: "Callable[[str, str], DuckDBPyRelation]", file: str, columns: Columns) -> str:
    """The first delimiter that finds the columns in the header; a header is public, so the choice does not depend on the data."""
    headers = {delimiter: _header(read, file, delimiter) for delimiter in (",", ";", "\t", "|")}
    for delimiter, header in headers.items():
        if header is not None and set(columns) <= set(header):
            return delimiter
    if all(header is None for header in headers.values()):
        raise SourceError("the file cannot be read as CSV: it must be UTF-8 text with a header and as many cells in every line")
    # Unlike a Parquet file's, a CSV file's "column names" are data if it has no header, so they are not shown.
    raise InvalidInputError(f"the first line of the CSV file does not name the column {' and the column '.join(map(repr, columns))}")


def _header(read: "Callable[[str, str], DuckDBPyRelation]", file: str, delimiter: str) -> list[str] | None:
    try:
        return list(read(file, delimiter).columns)
    except Exception:  # whatever the engine says, the file is not written with this delimiter
        return None


def _json(connection: "DuckDBPyConnection", files: list[str], columns: Columns) -> "DuckDBPyRelation":
    """Values as text, before any of them can be taken for a date or a number."""
    for file in files:
        one = within_engine("reading a JSON file", connection.read_json, file)
        _check_header(one, columns, " among the fields of the file's first records")
    return within_engine("reading JSON files", connection.read_json, files, columns=dict.fromkeys(columns, "VARCHAR"))


def _check_header(relation: "DuckDBPyRelation", columns: Columns, where: str) -> None:
    """Every file must have the columns: a file without one would be read as nulls."""
    for name in columns:
        if name not in relation.columns:
            raise InvalidInputError(f"there is no column {name!r}{where}")


_READERS: Mapping[_Reader, tuple[str, ...]] = {
    _csv: (".csv", ".tsv", ".txt"),
    _json: (".json", ".jsonl", ".ndjson"),
    _parquet: (".parquet", ".pq"),
}
