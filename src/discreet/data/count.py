"""Tables and files to private counts: one aggregation inside the engine that holds the data, and only the counts come back."""

import os
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import IOBase
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from discreet import limits
from discreet.arrays import Counts
from discreet.data import files
from discreet.data.categories import Declared, declare, kind_of, whole_numbers
from discreet.data.engines import within_engine
from discreet.data.lines import Reading, TextRows, check_encoding, check_names, check_stream
from discreet.errors import InvalidInputError, SourceError
from discreet.frames import forgets_variables


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class CategoryCounts:
    """Private counts of the declared categories, accepted wherever `counts` are. Its repr shows none of them."""

    counts: Counts
    """How many records (or persons) are in each category; private, and read-only."""
    categories: tuple[Hashable, ...]
    """The declared categories, in the order of the counts."""
    unit: Literal["record", "person"]
    """What is counted, and so what a release of the counts protects."""

    @property
    def total(self) -> int:
        """The number of records or persons: public if it is given to a mechanism as n, otherwise as private as the counts."""
        return int(self.counts.sum())

    def __len__(self) -> int:
        return len(self.categories)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.counts, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"CategoryCounts({len(self)} categories, unit={self.unit!r})"


@forgets_variables
def count(
    source: Any,
    column: str,
    categories: Iterable[Hashable],
    privacy_id: str | None = None,
    nulls: Hashable = "error",
    other: Hashable = "error",
    *,
    na_values: Iterable[Hashable] = (),
    mapping: Mapping[Any, Hashable] | None = None,
    encoding: str = "utf-8",
    weight: str | None = None,
    strict: bool = False,
) -> CategoryCounts:
    """Count the declared categories of a column, in the engine that holds the data.

    `source` is any table narwhals knows (pandas, polars, pyarrow, DuckDB, Ibis, PySpark; eager or lazy), the path of CSV, JSON or
    Parquet files, with or without `*`, or a stream of bytes that is a CSV file. With `privacy_id`, the name of the column that says
    whose a row is, every person counts once: in the first declared category that any of their rows has; the number of distinct ids is
    then public. A null, or a value outside the categories, is an error unless `nulls` or `other` names the declared category that takes
    it; no option drops rows, because the public number of records would then depend on the private answers.

    `mapping` says what else stands for a category, as in {"Never": "never"}, and `na_values` what stands for a null, as in ["NA", "."].
    `encoding` is that of CSV files. `weight` names a column that says how many records a row stands for; what is protected is then one
    of them, one unit of weight. With `strict`, no cell of the data decides whether counting succeeds: `nulls` and `other` must name
    categories, and also take the rows without an id and those that cannot be read. docs/data.md describes each.

    >>> import pyarrow
    >>> count(pyarrow.table({"risk": ["low", "high", "low"]}), "risk", ["low", "high"])
    CategoryCounts(2 categories, unit='record')
    """
    declared = declare(categories, mapping, na_values)
    takes = {"other": declared.position(other, "other"), "nulls": declared.position(nulls, "nulls")}
    question = _Question(column, privacy_id, weight, declared, takes, strict)
    reading = Reading(question.names, check_encoding(encoding, strict=strict), strict)
    with _opened(source, reading) as (table, rows):
        schema = within_engine("reading the table's schema", table.collect_schema)
        question.check_columns(schema)
        tally = within_engine("counting the table", _aggregated, table, question, schema)
    if rows is not None and rows.trouble is not None:
        raise rows.trouble
    counts = _settled(tally, 0 if rows is None else rows.unreadable, question, kind_of(schema[column]))
    return CategoryCounts(counts, declared.labels, "record" if privacy_id is None else "person")


# --- what the caller declared -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Question:
    """What is to be counted; all of it is public."""

    column: str
    privacy_id: str | None
    weight: str | None
    declared: Declared
    takes: Mapping[str, int | None]
    """The category that each of `other` and `nulls` names; None for an error."""
    strict: bool

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not isinstance(self.privacy_id, str | None) or not isinstance(self.weight, str | None):
            raise InvalidInputError("column, privacy_id and weight must be column names, which are text")
        if any(name == "*" or (name.startswith("^") and name.endswith("$")) for name in self.names):
            raise InvalidInputError("a column name that is '*' or '^...$' is a pattern to some engines: rename the column first")
        if self.column == self.privacy_id:
            raise InvalidInputError("privacy_id must be another column than the one to count")
        if self.column == self.weight:
            raise InvalidInputError("weight must be another column than the one to count")
        if self.privacy_id is not None and self.weight is not None:
            raise InvalidInputError("privacy_id and weight do not go together: a row that stands for many records is not one person's")
        if not isinstance(self.strict, bool):
            raise InvalidInputError("strict must be True or False")
        if self.strict and None in self.takes.values():
            raise InvalidInputError(
                "strict counting refuses nothing for what the data say, so other and nulls must both name a declared category "
                "(in the shell, --other and --nulls)"
            )
        if self.strict and self.weight is not None:
            raise InvalidInputError("strict and weight do not go together: whether a weight is a whole number can only be refused")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name in (self.column, self.privacy_id, self.weight) if name is not None)

    def check_columns(self, schema: Mapping[str, nw.dtypes.DType]) -> None:
        """Refuse a table without the columns, or with one whose values have no plain equality."""
        known = ", ".join(repr(known) for known in list(schema)[:_SHOWN_NAMES]) + (", ..." if len(schema) > _SHOWN_NAMES else "")
        check_names(schema, self.names, f"; the columns are {known}")
        if kind_of(schema[self.column]) is None:
            mixed = isinstance(schema[self.column], nw.Object)
            advice = "convert_dtypes() may find one of these in it" if mixed else "convert it to text that is written like the categories"
            raise InvalidInputError(
                f"column {self.column!r} has type {schema[self.column]}; text, whole numbers and truth values can be counted: {advice}"
            )
        if self.privacy_id is not None and schema[self.privacy_id].is_nested():
            raise InvalidInputError(f"privacy_id {self.privacy_id!r} has type {schema[self.privacy_id]}; an id must be one plain value")
        if self.weight is not None and kind_of(schema[self.weight]) in (None, "truth values"):
            raise InvalidInputError(f"weight {self.weight!r} has type {schema[self.weight]}; a weight must be a whole number")


_SHOWN_NAMES = 20


# --- the one aggregation ----------------------------------------------------------------------------------------------

_NAMELESS = -1
"""The code of a row whose privacy id is null."""


@dataclass(frozen=True, repr=False)
class _Tally:
    """What came back from the engine, and private all of it."""

    records: Mapping[int, int]
    """How many records or persons have each code that occurs; of `_NAMELESS`, how many rows."""
    bad_weights: int = 0


def _aggregated(table: nw.LazyFrame[Any], question: _Question, dtypes: Mapping[str, nw.dtypes.DType]) -> _Tally:
    """Count codes, in one aggregation. Values become codes inside the engine, so that none of them ever comes back."""
    plan = _persons if question.privacy_id is not None else _weights if question.weight is not None else _records
    result = plan(table, question, dtypes)
    # DuckDB adds up to 128-bit integers, which Arrow has no type for; sums of weights are looked at before they become integers.
    amount = nw.Int64 if question.weight is None else nw.Float64
    narrow = result.select(nw.col("code").cast(nw.Int64), nw.col("records").cast(amount), nw.col("aside").cast(nw.Int64))
    streaming: dict[str, Any] = {"engine": "streaming"} if table.implementation.is_polars() else {}
    rows = list(narrow.collect(**streaming).iter_rows())
    if question.weight is None:
        return _Tally({code: aside if code == _NAMELESS else records for code, records, aside in rows})
    return _Tally({code: _saturated(records) for code, records, _ in rows if records}, sum(bad for *_, bad in rows))


def _saturated(weights: float) -> int:
    """A sum of weights, or one more than the largest count where it is no longer exact.

    Whoever has a public n refuses that many. Where the total is private nobody may refuse, and a count is cut to the largest one.
    """
    return int(weights) if weights < limits.COUNT else limits.COUNT + 1


def _records(table: nw.LazyFrame[Any], question: _Question, dtypes: Mapping[str, nw.dtypes.DType]) -> nw.LazyFrame[Any]:
    """Rows by code. Coding the distinct values rather than the rows costs next to nothing on top of the plain group-by."""
    values = table.select(value=_comparable(nw.col(question.column), dtypes[question.column]))
    groups = values.group_by("value").agg(nw.len().alias("records"))
    coded = groups.select("records", code=_code(question, dtypes[question.column]))
    return coded.group_by("code").agg(nw.col("records").sum(), nw.len().alias("aside"))


def _persons(table: nw.LazyFrame[Any], question: _Question, dtypes: Mapping[str, nw.dtypes.DType]) -> nw.LazyFrame[Any]:
    """Persons by the least of their rows' codes; rows without an id have a code of their own, and are counted aside."""
    name = question.privacy_id or ""
    value, person = _comparable(nw.col(question.column), dtypes[question.column]), _comparable(nw.col(name), dtypes[name])
    is_nameless = _is_missing(nw.col("person"), dtypes[name])
    code = nw.when(is_nameless).then(nw.lit(_NAMELESS)).otherwise(_code(question, dtypes[question.column]))
    coded = table.select(value=value, person=person).select("person", code=code)
    persons = coded.group_by("person").agg(nw.col("code").min(), nw.len().alias("rows"))
    return persons.group_by("code").agg(nw.len().alias("records"), nw.col("rows").sum().alias("aside"))


def _weights(table: nw.LazyFrame[Any], question: _Question, dtypes: Mapping[str, nw.dtypes.DType]) -> nw.LazyFrame[Any]:
    """Weights by code, and aside how many rows have none.

    They are added up as 64-bit floats, which is exact: the weights are whole, so every partial sum is exact while it is below 2**53, and
    once at or above it never falls below again. Sums of integers would overflow in silence in some engines.
    """
    name = question.weight or ""
    amount, is_whole = _amount(nw.col(name), dtypes[name])
    value = _comparable(nw.col(question.column), dtypes[question.column])
    rows = table.select(value=value, amount=amount, bad=nw.when(is_whole).then(nw.lit(0)).otherwise(nw.lit(1)))
    good = nw.when(nw.col("bad") == 0).then(nw.col("amount")).otherwise(nw.lit(0.0))
    coded = rows.select("bad", records=good, code=_code(question, dtypes[question.column]))
    return coded.group_by("code").agg(nw.col("records").sum(), nw.col("bad").sum().alias("aside"))


def _amount(weight: nw.Expr, dtype: nw.dtypes.DType) -> tuple[nw.Expr, nw.Expr]:
    """A weight as a 64-bit float, and whether it is a whole number from 0 to 2**53, which a null is not."""
    if kind_of(dtype) == "text":
        text = _comparable(weight, dtype)
        is_whole = text.str.contains(r"^[0-9]{1,15}(?:\.0+)?$")
        return nw.when(is_whole).then(text).otherwise(nw.lit("0")).cast(nw.Float64), is_whole
    if dtype.is_float():
        amount = weight.cast(nw.Float64)
        return amount, (amount >= 0) & (amount <= float(limits.COUNT)) & (amount == amount.floor())
    is_whole = weight >= 0
    if whole_numbers(dtype)[1] > limits.COUNT:
        is_whole = is_whole & (weight <= limits.COUNT)
    return nw.when(is_whole).then(weight).otherwise(nw.lit(0)).cast(nw.Float64), is_whole


def _comparable(value: nw.Expr, dtype: nw.dtypes.DType) -> nw.Expr:
    if isinstance(dtype, (nw.Categorical, nw.Enum)):
        # Some versions of pandas write a null as text when they cast it.
        return nw.when(~value.is_null()).then(value.cast(nw.String))
    if dtype.is_float():
        # Arrow groups 0.0 and -0.0, which are equal, apart.
        return nw.when(value == 0.0).then(nw.lit(0.0)).otherwise(value)
    return value


def _is_missing(value: nw.Expr, dtype: nw.dtypes.DType) -> nw.Expr:
    """Null, or NaN: whether a table can tell them apart depends on the library it was made with."""
    if not dtype.is_float():
        return value.is_null()
    return nw.when(value.is_null()).then(nw.lit(True)).otherwise(value.is_nan())


def _code(question: _Question, dtype: nw.dtypes.DType) -> nw.Expr:
    """The code of the column "value": found by bisection among a few, which every engine can do and does fastest, else in a table."""
    value, declared = nw.col("value"), question.declared
    written = declared.written(dtype, question.column)

    def search(among: list[Any]) -> nw.Expr:
        half = len(among) // 2
        if half == 0:
            return nw.when(value == among[0]).then(nw.lit(written[among[0]])).otherwise(nw.lit(declared.other))
        return nw.when(value.is_in(among[:half])).then(search(among[:half])).otherwise(search(among[half:]))

    if len(written) <= _FEW:
        found = search(list(written))
    else:
        found = value.replace_strict(list(written), list(written.values()), default=nw.lit(declared.other), return_dtype=nw.Int64)
    return nw.when(_is_missing(value, dtype)).then(nw.lit(declared.missing)).otherwise(found)


_FEW = 32
"""Categories up to which an expression that spells out the bisection is planned in no time."""


def _settled(tally: _Tally, unreadable: int, question: _Question, kind: str | None) -> Counts:
    """The counts, with nulls and other values where the caller wanted them; an error, without numbers, where nothing was said."""
    records, declared = Counter(tally.records), question.declared
    if tally.bad_weights:
        raise SourceError(f"weight {question.weight!r} must be a whole number from 0 to 2**53 in every row, and in some it is not")
    records[declared.other] += unreadable
    if _NAMELESS in tally.records and not question.strict:
        raise SourceError(
            f"privacy_id {question.privacy_id!r} is null in some rows (a blank line of a CSV file is one); every row must say whose it is"
        )
    records[declared.missing] += records.pop(_NAMELESS, 0)
    codes = {"other": declared.other, "nulls": declared.missing}
    homeless = [option for option, code in codes.items() if records[code] and question.takes[option] is None]
    if homeless:
        raise SourceError(_complaint(question, homeless, kind))
    counts = np.array([records[code] for code in range(len(declared.labels))], dtype=np.int64)
    for option, position in question.takes.items():
        if position is not None:
            counts[position] += records[codes[option]]
    counts.setflags(write=False)
    return counts


def _complaint(question: _Question, homeless: list[str], kind: str | None) -> str:
    """What to do about undeclared values or nulls. But for the kind of both, it depends on public things alone."""
    found = " and ".join(_FOUND[option] for option in homeless)
    look = ""
    if "other" in homeless:
        look = (
            "they are private, so not shown: look for capital letters, blanks and misspellings, which mapping= maps to a category "
            "(--map VALUE=CATEGORY), and for marks of missing answers, which na_values= names (--na-values); "
        )
    if "other" in homeless and kind == "text" and question.declared.has_whole_numbers:
        look += "a number is compared as it is written, so 1.0 is not 1: declare 1.0, or map it with mapping={'1.0': '1'} (--map 1.0=1); "
    return (
        f"column {question.column!r} has {found}; {look}declare categories for them, or name "
        f"the declared category that takes them with {' and '.join(f'{option}=...' for option in homeless)} "
        f"(in the shell, {' and '.join(f'--{option}' for option in homeless)}); rows are never dropped"
    )


_FOUND = {"other": "values outside the declared categories", "nulls": "nulls (missing values; a blank line of a CSV file is one)"}


# --- tables and files -------------------------------------------------------------------------------------------------


@contextmanager
def _opened(source: Any, reading: Reading) -> Iterator[tuple[nw.LazyFrame[Any], TextRows | None]]:
    """The source as a lazy table and, where Python reads its rows, what to ask about them afterwards."""
    if isinstance(source, (str, os.PathLike, IOBase)):
        with files.opened(check_stream(source) if isinstance(source, IOBase) else source, reading) as found:
            yield nw.from_native(found.relation), found.rows
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


def _check_uniform(table: nw.DataFrame[Any], columns: tuple[str, ...]) -> None:
    """Refuse, strictly, a pandas column whose values may be of any kind, because one of them would decide how all are read.

    Those are of type object, or categories other than text: a missing value turns categories that are whole numbers into floats.
    """
    for name in columns if table.implementation.is_pandas_like() else ():
        dtype = table[name].to_native().dtype if name in table.columns else None
        kinds = getattr(dtype, "categories", None)
        if str(dtype) == "object" or (kinds is not None and str(kinds.dtype) not in ("str", "string")):
            kind = getattr(dtype, "name", dtype)
            raise InvalidInputError(
                f"column {name!r} has type {kind}, whose values may be of any kind, so it cannot be counted strictly: "
                "give it a type first, as with .astype('string')"
            )
