"""Sources of data as one lazy table: tables of any library that narwhals knows, files, databases, and streams of CSV."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import IOBase
from typing import Any

import narwhals.stable.v2 as nw

from discreet.data import databases, files
from discreet.data.engines import within_engine
from discreet.data.lines import LineReading, TextRows, check_stream
from discreet.errors import InvalidInputError


@contextmanager
def opened(source: Any, reading: LineReading) -> Iterator[tuple[nw.LazyFrame[Any], TextRows | None]]:
    """The source as a lazy table and, where Python reads its rows, what to ask about them afterwards.

    What ended their reading early is raised in the end, when what was made of them is void.
    """
    if databases.is_database(source):
        with databases.opened(source, reading) as query:
            yield nw.from_native(query), None
        return
    if isinstance(source, (str, os.PathLike, IOBase)):
        with files.opened(check_stream(source) if isinstance(source, IOBase) else source, reading) as found:
            yield nw.from_native(found.relation), found.rows
        if found.rows is not None and found.rows.trouble is not None:
            raise found.rows.trouble
        return
    if reading.encoding != "utf-8":
        raise InvalidInputError("encoding is for CSV files and streams; the text of a table is already decoded")
    table = within_engine("opening the table", nw.from_native, source, pass_through=True)
    if not isinstance(table, (nw.DataFrame, nw.LazyFrame)):
        column = "; a column alone becomes a table with .to_frame()" if hasattr(source, "to_frame") else ""
        raise InvalidInputError(
            "source must be a path, a stream of bytes, or a table of pandas, polars, pyarrow, DuckDB, Ibis, PySpark or another library "
            f"that narwhals knows, not {type(source).__name__}{column}"
        )
    if reading.strict and isinstance(table, nw.DataFrame):
        _check_uniform(table, reading.columns)
    yield table.lazy(), None


def columns_of(source: str, encoding: str = "utf-8") -> dict[str, str | None]:
    """The columns of a file or of a database's table, and of what kind each is, for the curator alone; None where that is not known."""
    return databases.columns_of(source) if databases.is_database(source) else files.columns_of(source, encoding)


def rows_of(source: str) -> int | None:
    """About how many rows a file has, for the curator alone; None where that is not known at once, as of a database."""
    return None if databases.is_database(source) else files.rows_of(source)


def _check_uniform(table: nw.DataFrame[Any], columns: tuple[str, ...]) -> None:
    """Refuse, strictly, a column of pandas or Arrow one of whose values would decide how all are read, or whether they can be."""
    if table.implementation.is_pyarrow():
        schema = table.to_native().schema
        for name, kind in zip(schema.names, schema.types, strict=True):
            if name in columns:
                _check_dictionary(name, kind)
    for name in columns if table.implementation.is_pandas_like() else ():
        if name in table.columns:
            dtype = table[name].to_native().dtype
            _check_pandas_type(name, dtype)
            _check_dictionary(name, getattr(dtype, "pyarrow_dtype", None))


def _check_pandas_type(name: str, dtype: Any) -> None:
    """Refuse the type object, and categories other than text: a missing value turns categories that are whole numbers into floats."""
    kinds = getattr(dtype, "categories", None)
    if str(dtype) == "object" or (kinds is not None and str(kinds.dtype) not in ("str", "string")):
        kind = getattr(dtype, "name", dtype)
        raise InvalidInputError(
            f"column {name!r} has type {kind}, whose values may be of any kind, so it cannot be counted strictly: "
            "give it a type first, as with .astype('string')"
        )


def _check_dictionary(name: str, kind: Any) -> None:
    """Refuse a dictionary of Arrow that is neither of text nor of whole numbers: it is read as text, which not all bytes are."""
    if kind is None:
        return
    from pyarrow import types

    if types.is_dictionary(kind) and not any(
        is_kind(kind.value_type) for is_kind in (types.is_string, types.is_large_string, types.is_integer)
    ):
        raise InvalidInputError(
            f"column {name!r} is a dictionary of values that may not be text, so it cannot be counted strictly: make them text first"
        )
