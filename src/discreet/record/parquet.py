"""A table as a Parquet file: a row a cell, which any reader opens, all else as JSON in the file's metadata (docs/reference/release.md).

The columns are those of the groups, `category`, `raw` and `counts`. Rows are in the order of the groups, and in a group in that of the
categories; a group is in one of the file's row groups. Nothing is compressed, but for the dictionaries of labels and counts, so that a
small file cannot stand for a huge one.
"""

import json
import os
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from datetime import date
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from attrs import frozen

from discreet import limits
from discreet.arrays import Counts
from discreet.errors import InvalidInputError, RefusedError
from discreet.model.cells import Groups, groups_in
from discreet.record.json import check_fields, fields_of, is_table, parsed, read_integer, read_label, read_prior, written_label
from discreet.record.new_files import is_moved, written_beside
from discreet.record.parquet_footer import codecs
from discreet.record.table_json import HEADER, header, read_header

if TYPE_CHECKING:
    from discreet import Release

_KEY = b"discreet release"
_SIZES = "sizes"
"""The text that stands for n where the size of every group is public: the total of its counts."""
_KINDS: dict[str, tuple[type, pa.DataType]] = {
    "text": (str, pa.string()),
    "whole number": (int, pa.int64()),
    "number": (float, pa.float64()),
    "truth value": (bool, pa.bool_()),
    "date": (date, pa.date32()),
}
_JSON = "json"
"""A column whose labels are of several types, or of another one: each is written as JSON."""
_PARQUET_ROWS_TOGETHER = 1 << 18
"""Rows that are written or compared together, where labels are short."""
_TEXT = 1 << 26
"""Bytes of labels that are written or compared together."""
_GROUP_TEXT = 1 << 30
"""Bytes of the labels of one group where all of its cells are looked at together."""
_DICTIONARY = 1 << 26
_FOOTER = 1 << 20
"""Bytes of a footer beside the header: far more than the description of a few columns takes."""


# --- columns ----------------------------------------------------------------------------------------------------------


@frozen
class _Labels:
    """A column of labels: label `(row // stride) % count` stands in each row."""

    name: str
    kind: str
    values: pa.Array
    stride: int

    def rows(self, start: int, stop: int) -> pa.Array:
        return self.values.take(pa.array(np.arange(start, stop) // self.stride % len(self.values)))


def _encoded(labels: tuple[Hashable, ...]) -> tuple[str, pa.Array]:
    """Labels as an array that has them exactly, and the name of its kind."""
    kinds = set(map(type, labels))
    for name, (kind, arrow) in _KINDS.items():
        if kinds == {kind}:
            try:
                return name, pa.array(labels, type=arrow)
            except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError):  # beyond 64 bits, or half a character
                break
    return _JSON, pa.array([json.dumps(written_label(label)) for label in labels], type=pa.string())


def _decoded(values: pa.Array, kind: str) -> tuple[Hashable, ...]:
    """Labels as JSON would give them: the same are refused."""
    try:
        labels = values.to_pylist()
    except OverflowError:
        raise _not_ours("a label is a date before the year 1 or after 9999") from None
    if kind == "date":
        return tuple(labels)
    return tuple(read_label(_loaded(label) if kind == _JSON else label) for label in labels)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise _not_ours("a label is not JSON") from None


def _own_names(columns: tuple[str, ...]) -> tuple[str, str, str]:
    """Return the names of the columns beside those of the groups: with an underscore where a group has the name."""
    taken = {name.casefold() for name in columns}  # to many readers "Raw" and "raw" are one name
    names = []
    for name in ("category", "raw", "counts"):
        while name in taken:
            name += "_"
        taken.add(name)
        names.append(name)
    return names[0], names[1], names[2]


def _schema(names: list[str], types: list[pa.DataType], columns: tuple[str, ...]) -> pa.Schema:
    """Columns of labels with these names and types, and two of counts; none has nulls."""
    counted = [(name, pa.int64()) for name in _own_names(columns)[1:]]
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in [*zip(names, types, strict=True), *counted]])


def _label_columns(groups: Groups, arrays: list[tuple[str, pa.Array]], categories: tuple[Hashable, ...]) -> list[_Labels]:
    """The columns of the groups, whose labels are encoded already, and that of the categories."""
    stride, columns = len(categories), []
    for name, (kind, values) in reversed([*zip(groups.columns, arrays, strict=True)]):
        columns.append(_Labels(name, kind, values, stride))
        stride *= len(values)
    kind, values = _encoded(tuple(label.item() if isinstance(label, np.generic) else label for label in categories))
    return [*reversed(columns), _Labels(_own_names(groups.columns)[0], kind, values, 1)]


def _step(labels: list[_Labels]) -> int:
    """Return how many rows are looked at together; whole groups if one fits, so that a row group of the file has all cells of its
    groups.
    """
    return _rows_together([column.values for column in labels], len(labels[-1].values))


def _rows_together(labels: list[pa.Array], categories: int) -> int:
    rows = max(1, min(_PARQUET_ROWS_TOGETHER, _TEXT // max(map(_widest, labels))))
    return rows // categories * categories or rows


def _widest(values: pa.Array) -> int:
    """Bytes of the longest of these labels, which may stand in a dictionary."""
    labels = values.dictionary if isinstance(values, pa.DictionaryArray) else values
    return max(8, int(pc.max(pc.binary_length(labels)).as_py() or 0)) if pa.types.is_string(labels.type) else 8


# --- writing ----------------------------------------------------------------------------------------------------------


def write_parquet(release: "Release", path: str | Path) -> None:
    """Write a table to a new file: the whole file, durably, or none of it."""
    place = Path(path).expanduser()
    if not place.absolute().parent.is_dir():
        raise InvalidInputError(f"{place} must be a file in a folder that exists")
    if place.exists() or place.is_symlink():
        raise InvalidInputError(_TAKEN.format(place))
    with written_beside(place, parquet_writer(release)) as partial:
        if not is_moved(partial, place):
            raise InvalidInputError(_TAKEN.format(place))


_TAKEN = "{} exists; a release cannot be drawn again, so it is not overwritten: choose another name or move it away"


def parquet_writer(release: "Release") -> Callable[[BinaryIO], None]:
    """Return a function that writes a table to a file that is open."""
    groups, categories = release.cells.groups, release.cells.categories
    arrays = [_encoded(labels) for labels in groups.labels]
    labels = _label_columns(groups, arrays, categories)
    described = [{"column": name, "type": kind, "labels": len(values)} for name, (kind, values) in zip(groups.columns, arrays, strict=True)]
    if release.sizes is not None and (np.asarray(release.counts).sum(axis=1) != np.array(release.sizes)).any():
        raise RefusedError("a Parquet file has public sizes as sums of cells, which noise changed here; write it with to_json")
    n = _SIZES if release.sizes is not None else release.n
    text = json.dumps(header(release.mechanism, release.guarantee, n, described, release.about), allow_nan=False)
    schema = _schema([column.name for column in labels], [column.values.type for column in labels], groups.columns)
    raw, counts = release.raw.ravel(), release.counts.ravel()

    def write(file: BinaryIO) -> None:
        options = {"compression": "none", "store_schema": False, "dictionary_pagesize_limit": _DICTIONARY, "write_page_checksum": True}
        with pq.ParquetWriter(file, schema, **options) as writer:
            for start in range(0, len(raw), _step(labels)):
                stop = min(start + _step(labels), len(raw))
                arrays = [*(column.rows(start, stop) for column in labels), pa.array(raw[start:stop]), pa.array(counts[start:stop])]
                writer.write_table(pa.Table.from_arrays(arrays, schema=schema), row_group_size=stop - start)
            writer.add_key_value_metadata({_KEY: text.encode()})

    return write


# --- reading ----------------------------------------------------------------------------------------------------------


def _not_ours(why: str) -> InvalidInputError:
    return InvalidInputError(f"this is not a file that to_parquet wrote: {why}")


@contextmanager
def _open(path: str | Path | BinaryIO) -> Iterator[BinaryIO]:
    """A file, or one that is open, for reading; what fails meanwhile is said in one line."""
    place: str | Path = Path(path).expanduser() if isinstance(path, (str, Path)) else "the file"
    try:
        if not isinstance(path, (str, Path)):
            yield path
            return
        if isinstance(place, Path) and not place.is_file():
            raise InvalidInputError(f"{place} is not a file; name the one that release.to_parquet wrote")  # noqa: TRY301
        with Path(place).open("rb") as stream:
            yield stream
    except InvalidInputError:
        raise
    except (OSError, ValueError, pa.ArrowException) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "it is damaged, or not Parquet"
        raise InvalidInputError(f"{place} cannot be read: {why}") from None


def read_parquet(path: str | Path | BinaryIO) -> dict[str, Any]:
    """The fields of a table's record in a file, or in one that is open, as `read_table` gives them."""
    with _open(path) as stream:
        cells, file = _opened(stream)
        groups, arrays = _groups(file, cells)
        raw, counts = _counts(file, _label_columns(groups, arrays, cells.categories), cells.rows)
        shape = cells.groups, len(cells.categories)
        raw, counts = raw.reshape(shape), counts.reshape(shape)
        n = tuple(counts.sum(axis=1).tolist()) if cells.sizes_public else cells.total
        return {**read_header(cells.body, groups, n), "raw": raw, "counts": counts}


def read_cells(path: str | Path) -> "CellsFile":
    """Read the header of a table's file, and none of its rows."""
    with _open(path) as stream:
        return _opened(stream)[0]


def cell_batches(path: str | Path) -> Iterator[pa.RecordBatch]:
    """The rows of a file of a table, some at a time; what was given is not held."""
    with _open(path) as stream:
        yield from _opened(stream)[1].iter_batches(batch_size=_PARQUET_ROWS_TOGETHER)


@frozen
class CellsFile:
    """The header of a table's file. The labels of groups, which may be millions, are not among it."""

    body: dict[str, Any]
    columns: "list[_Column]"
    categories: tuple[Hashable, ...]
    size: int
    """Bytes of the file."""

    @property
    def groups(self) -> int:
        """Return how many groups there are."""
        return prod(column.count for column in self.columns)

    @property
    def rows(self) -> int:
        """Return how many cells there are."""
        return self.groups * len(self.categories)

    @property
    def sizes_public(self) -> bool:
        """Return whether the size of every group is public: it is then the total of its counts, raw and reported."""
        return bool(self.body["n"] == _SIZES)

    @property
    def total(self) -> int | None:
        """The total of all groups, if that alone is public."""
        n = self.body["n"]
        return None if n is None or self.sizes_public else read_integer(n, "n", f", null or {_SIZES!r}")

    @property
    def fields(self) -> dict[str, Any]:
        """Return the fields of `read_header`, where a group is the tuple of its labels."""
        return read_header(self.body, None, self.body["n"])

    @property
    def schema(self) -> pa.Schema:
        """The columns of the groups, the category, and the raw and the reported counts."""
        names = tuple(column.name for column in self.columns)
        types = [*(_KINDS[column.kind][1] if column.kind != _JSON else pa.string() for column in self.columns), self.encoded.type]
        return _schema([*names, _own_names(names)[0]], types, names)

    @property
    def encoded(self) -> pa.Array:
        """The categories as they stand in the rows."""
        return _encoded(self.categories)[1]

    def rows_of(self, batch: pa.RecordBatch, most: int) -> int:
        """Return how many of its rows to look at together: those of one or more groups, up to `most` if that is enough for one."""
        k, labels = len(self.categories), [batch.column(column.name) for column in self.columns]
        if k * max(map(_widest, labels)) > _GROUP_TEXT:
            raise InvalidInputError("the labels of a group are too long to be read: they are beyond those of any table")
        return max(1, min(most, _rows_together(labels, k)) // k) * k

    def labels(self, column: int, values: pa.Array) -> tuple[Hashable, ...]:
        """The labels that stand in rows of a column of the groups."""
        return _decoded(values, self.columns[column].kind)

    def shown(self, column: int, values: pa.Array) -> pa.Array:
        """Rows of a column of the groups, with labels of several types as text."""
        if self.columns[column].kind != _JSON:
            return values
        distinct = values.dictionary_encode()
        texts = pa.array([str(label) for label in self.labels(column, distinct.dictionary)], type=pa.string())
        return texts.take(distinct.indices)


def _opened(stream: BinaryIO) -> tuple[CellsFile, pq.ParquetFile]:
    """The header and the file, whose columns and number of rows are those that the header asks for."""
    size = stream.seek(0, os.SEEK_END)
    _check_footer(stream, size)
    file = pq.ParquetFile(stream, thrift_string_size_limit=2 * limits.RECORD_CHARACTERS)
    text = (file.metadata.metadata or {}).get(_KEY)
    if text is None:
        raise _not_ours(f"its metadata have no {_KEY.decode()!r}")
    body = parsed(text)
    if not is_table(body):
        raise _not_ours(f"its header is of version {body['version']}, which is not for tables, or has no groups")
    check_fields(body, fields_of(body, HEADER), "the metadata of a table's release")
    cells = CellsFile(body, _columns(body["groups"]), read_prior(body["prior"]).categories, size)
    if cells.rows > limits.TABLE_CELLS or cells.groups > limits.GROUPS:
        raise InvalidInputError(f"a table has at most {limits.GROUPS:,} groups and {limits.TABLE_CELLS:,} cells; this file declares more")
    texts = _check_storage(file, cells)
    return cells, pq.ParquetFile(stream, metadata=file.metadata, read_dictionary=texts, page_checksum_verification=True, pre_buffer=False)


def _check_footer(stream: BinaryIO, size: int) -> None:
    """Refuse a file whose metadata are longer than a record's, and compression, before pyarrow reads them."""
    stream.seek(max(0, size - 8))
    end = stream.read(8)
    footer = int.from_bytes(end[:4], "little")
    if end[4:] != b"PAR1" or footer > size:
        raise _not_ours("it is not Parquet, or not all of it is there")
    if footer > limits.RECORD_CHARACTERS + _FOOTER:
        raise InvalidInputError(f"the metadata of this file are too long for a release: more than {limits.RECORD_CHARACTERS:,} bytes")
    stream.seek(max(0, size - 8 - footer))
    if codecs(stream.read(footer)) - {0}:
        raise _not_ours("its columns are compressed")
    stream.seek(0)


@frozen
class _Column:
    """A column of groups as the header describes it."""

    name: str
    kind: str
    count: int


def _columns(value: Any) -> list[_Column]:
    if not isinstance(value, list) or not value:
        raise InvalidInputError("groups must be a list of columns")
    for column in value:
        check_fields(column, ("column", "type", "labels"), "each of groups")
        if not isinstance(column["column"], str) or column["type"] not in (*_KINDS, _JSON):
            raise InvalidInputError(f"each of groups must have a name and a type, one of {', '.join((*_KINDS, _JSON))}")
        if read_integer(column["labels"], "labels") < 1:
            raise InvalidInputError("each of groups must have at least one label")
    return [_Column(column["column"], column["type"], column["labels"]) for column in value]


def _check_storage(file: pq.ParquetFile, cells: CellsFile) -> list[str]:
    """Refuse other columns or another number of rows than the header asks for; the names of the columns of text."""
    if not file.schema_arrow.equals(cells.schema):
        raise _not_ours("its columns are not those that its header asks for")
    if file.metadata.num_rows != cells.rows:
        raise _not_ours(f"it has {file.metadata.num_rows:,} rows, and the cells of its header are {cells.rows:,}")
    return [field.name for field in file.schema_arrow if pa.types.is_string(field.type)]


def _batches(file: pq.ParquetFile, rows: int, step: int) -> Iterator[tuple[int, int, list[Any]]]:
    """The rows of a file, in order, as the columns of so many at a time; refused if they are not as many as the file says."""
    start = 0
    for batch in file.iter_batches(batch_size=step):
        stop = start + batch.num_rows
        if stop > rows:
            break
        yield start, stop, batch.columns
        start = stop
    if start != rows:
        raise _not_ours("it does not have the rows that it says it has")


def _plain(values: Any, most: int) -> tuple[pa.Array, int]:
    """Values that may stand in a dictionary by themselves, and their bytes; refused, before they are made, if they are more than `most`."""
    if not isinstance(values, pa.DictionaryArray):
        return values, values.nbytes
    lengths = pc.binary_length(values.dictionary).take(values.indices)
    size = int(pc.sum(lengths.cast(pa.int64())).as_py() or 0)
    if size > most:
        raise _not_ours("its labels are not those of its groups, in their order")
    return values.dictionary_decode(), size


def _groups(file: pq.ParquetFile, cells: CellsFile) -> tuple[Groups, list[tuple[str, pa.Array]]]:
    """The groups that the columns of a file declare, and their labels as they stand there. No column has more text than the file."""
    columns = cells.columns
    strides = [prod(column.count for column in columns[i + 1 :]) * len(cells.categories) for i in range(len(columns))]
    found: list[list[pa.Array]] = [[] for _ in columns]
    left = [cells.size] * len(columns)
    for start, stop, values in _batches(file, cells.rows, _PARQUET_ROWS_TOGETHER):
        for i, (column, stride) in enumerate(zip(columns, strides, strict=True)):
            first = np.arange(-start % stride, min(stop, stride * column.count) - start, stride)
            labels, used = _plain(values[i].take(pa.array(first)), left[i])
            left[i] -= used
            found[i].append(labels)
    arrays = [pa.concat_arrays(parts) for parts in found]
    labels = tuple(_decoded(array, column.kind) for array, column in zip(arrays, columns, strict=True))
    groups = groups_in(zip((column.name for column in columns), labels, strict=True))
    encoded = [_encoded(each) for each in groups.labels]
    if any(kind != column.kind or not array.equals(same) for (kind, same), array, column in zip(encoded, arrays, columns, strict=True)):
        raise _not_ours("its labels are not written as their types ask for")
    return groups, encoded


def _counts(file: pq.ParquetFile, labels: list[_Labels], rows: int) -> tuple[Counts, Counts]:
    """The two columns of counts, of cells that are all there and in their order."""
    raw, counts = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
    for start, stop, values in _batches(file, rows, _step(labels)):
        for column, given in zip(labels, values, strict=False):
            expected = column.rows(start, stop)
            if not _plain(given, expected.nbytes)[0].equals(expected):
                raise _not_ours("its labels are not those of its groups, in their order")
        raw[start:stop], counts[start:stop] = (column.to_numpy() for column in values[-2:])
    return raw, counts
