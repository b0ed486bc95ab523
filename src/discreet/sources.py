"""Tables and files to private counts: one aggregation inside the engine that holds the data, and only the counts come back."""

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet import files
from discreet.engines import within_engine
from discreet.errors import InvalidInputError, SourceError
from discreet.validation import Counts

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

__all__ = ["CategoryCounts", "count"]


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
        """The number of records or persons, which is public."""
        return int(self.counts.sum())

    def __len__(self) -> int:
        return len(self.categories)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.counts, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"CategoryCounts({len(self)} categories, unit={self.unit!r})"


def count(
    source: Any,
    column: str,
    categories: Iterable[Hashable],
    privacy_id: str | None = None,
    nulls: Hashable = "error",
    other: Hashable = "error",
) -> CategoryCounts:
    """Count the declared categories of a column, in the engine that holds the data.

    `source` is any table narwhals knows (pandas, polars, pyarrow, DuckDB, Ibis, PySpark; eager or lazy) or the path of CSV, JSON or
    Parquet files, with or without `*`. With `privacy_id`, the name of the column that says whose a row is, every person counts once: in
    the first declared category that any of their rows has. A null, or a value outside the categories, is an error unless `nulls` or
    `other` names the declared category that takes it; no option drops rows, because the public number of records would then depend on
    the private answers.

    >>> import pyarrow
    >>> count(pyarrow.table({"risk": ["low", "high", "low"]}), "risk", ["low", "high"])
    CategoryCounts(2 categories, unit='record')
    """
    question = _Question(column, privacy_id, _checked_labels(categories))
    takes = {"other": question.position(other, "other"), "nulls": question.position(nulls, "nulls")}
    with _opened(source, question) as table:
        schema = within_engine("reading the table's schema", table.collect_schema)
        question.check_columns(schema)
        written = question.written(schema[column])
        rows = within_engine("counting the table", _aggregated, table, question, written)
    counts = _settled({int(code): int(records) for code, records in rows}, takes, question)
    return CategoryCounts(counts, question.labels, "record" if privacy_id is None else "person")


# --- what the caller declared -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Question:
    """What is to be counted; all of it is public."""

    column: str
    privacy_id: str | None
    labels: tuple[Hashable, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not isinstance(self.privacy_id, str | None):
            raise InvalidInputError("column and privacy_id must be column names, which are text")
        if any(name == "*" or (name.startswith("^") and name.endswith("$")) for name in self.names):
            raise InvalidInputError("a column name that is '*' or '^...$' is a pattern to some engines: rename the column first")
        if self.column == self.privacy_id:
            raise InvalidInputError("privacy_id must be another column than the one to count")

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are read."""
        return (self.column,) if self.privacy_id is None else (self.column, self.privacy_id)

    def position(self, choice: Hashable, option: str) -> int | None:
        """The index of the category an option names; None for "error", which means itself even where a category is called so."""
        if isinstance(choice, np.generic):
            choice = choice.item()
        if isinstance(choice, str) and choice == "error":
            return None
        for position, label in enumerate(self.labels):
            if type(label) is type(choice) and label == choice:
                return position
        raise InvalidInputError(f"{option} must be 'error' or one of the declared categories, written the way it was declared")

    def check_columns(self, schema: "Mapping[str, nw.dtypes.DType]") -> None:
        """Refuse a table without the columns, or with one whose values have no plain equality."""
        import narwhals.stable.v2 as nw

        known = ", ".join(repr(known) for known in list(schema)[:_SHOWN_NAMES]) + (", ..." if len(schema) > _SHOWN_NAMES else "")
        files.check_names(schema, self.names, f"; the columns are {known}")
        if _kind(schema[self.column]) is None:
            mixed = isinstance(schema[self.column], nw.Object)
            advice = "convert_dtypes() may find one of these in it" if mixed else "convert it to text that is written like the categories"
            raise InvalidInputError(
                f"column {self.column!r} has type {schema[self.column]}; text, whole numbers and truth values can be counted: {advice}"
            )
        if self.privacy_id is not None and schema[self.privacy_id].is_nested():
            raise InvalidInputError(f"privacy_id {self.privacy_id!r} has type {schema[self.privacy_id]}; an id must be one plain value")

    def written(self, dtype: "nw.dtypes.DType") -> dict[Any, int]:
        """For each value of a column of this type that is written like a label, the label's index."""
        pairs = [(value, position) for position, label in enumerate(self.labels) for value in _values(label, dtype)]
        if not pairs:
            advice = "declare True and False" if _kind(dtype) == "truth values" else "check column and categories"
            raise InvalidInputError(f"column {self.column!r} holds {_kind(dtype)}, and no declared category is written like one: {advice}")
        if len(dict(pairs)) < len(pairs):
            raise InvalidInputError(
                f"column {self.column!r} holds truth values, and two of the categories stand for one: declare True and False"
            )
        return dict(pairs)


_SHOWN_NAMES = 20


def _checked_labels(categories: Iterable[Hashable]) -> tuple[Hashable, ...]:
    if isinstance(categories, (str, bytes)) or not isinstance(categories, Iterable):
        raise InvalidInputError("categories must be a sequence of labels, such as ['low', 'mid', 'high']")
    labels = tuple(label.item() if isinstance(label, np.generic) else label for label in categories)
    if len(labels) < 2:
        raise InvalidInputError(f"categories must name at least two categories, got {len(labels)}")
    for label in labels:
        if not isinstance(label, (str, int)):
            raise InvalidInputError(f"a category must be text, a whole number or a truth value, not {type(label).__name__}")
        if isinstance(label, int) and label.bit_length() > _MOST_BITS:
            raise InvalidInputError("a category that is a whole number must have fewer than 1,000 digits")
    spellings = [spelling for label in labels for spelling in _spellings(label)]
    if len(set(spellings)) < len(spellings):
        raise InvalidInputError("categories must be distinct; 1 and '1' are the same category, and so are True and 'true' or 'True'")
    return labels


_MOST_BITS = 3300
"""Of a category: Python does not write out integers of more than 4,300 digits."""


# --- how categories are written in a column ---------------------------------------------------------------------------


_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
"""How programs write truth values as text."""


def _spellings(label: Hashable) -> list[str]:
    """How a label is written, which is what it must have in common with a value to match it, whatever the column's type."""
    return [text for text, truth in _TRUTH.items() if truth is label] if isinstance(label, bool) else [str(label)]


def _kind(dtype: "nw.dtypes.DType") -> str | None:
    """What values of this type are, in the words of a message; None where equality with a label would be a guess."""
    import narwhals.stable.v2 as nw

    if isinstance(dtype, (nw.String, nw.Categorical, nw.Enum)):
        return "text"
    if isinstance(dtype, nw.Boolean):
        return "truth values"
    return "whole numbers" if dtype.is_integer() else "floating-point numbers" if dtype.is_float() else None


def _values(label: Hashable, dtype: "nw.dtypes.DType") -> list[Any]:
    """The values of this type that are written like the label."""
    spellings = _spellings(label)
    kind = _kind(dtype)
    if kind == "text":
        return spellings
    if kind == "truth values":
        return [_TRUTH[spellings[0]]] if spellings[0] in _TRUTH else []
    digits = spellings[0].removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST_INTEGER) or str(int(spellings[0])) != spellings[0]:
        return []  # '7' and '-7' are whole numbers; '07', '+7' and '7.0' are not written as any
    number = int(spellings[0])
    low, high = _whole_numbers(dtype)
    return [float(number) if dtype.is_float() else number] if low <= number <= high else []


def _whole_numbers(dtype: "nw.dtypes.DType") -> tuple[int, int]:
    """The least and the greatest number up to which a column of this type holds every whole number exactly."""
    bits = int("".join(character for character in type(dtype).__name__ if character.isdigit()))
    if dtype.is_float():
        digits = {16: 11, 32: 24}.get(bits, 53)
        return -(2**digits), 2**digits
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if dtype.is_signed_integer() else (0, 2**bits - 1)


_LONGEST_INTEGER = 19
"""Digits of 2**63 - 1, the largest number that every engine can be asked about."""


# --- the one aggregation ----------------------------------------------------------------------------------------------

_NAMELESS = -1
"""The code of a row whose privacy id is null."""


def _aggregated(table: "nw.LazyFrame[Any]", question: _Question, written: Mapping[Any, int]) -> list[tuple[Any, ...]]:
    """How many records or persons have each code: a category's index, k for other values, k + 1 for nulls.

    Values become codes inside the engine, so that none of them ever comes back.
    """
    import narwhals.stable.v2 as nw

    schema = table.collect_schema()
    dtype = schema[question.column]
    code = _code(nw.col("value"), dtype, written, len(question.labels))
    value = _comparable(nw.col(question.column), dtype)
    if question.privacy_id is None:
        # Coding the distinct values rather than the rows costs next to nothing on top of the plain group-by.
        groups = table.select(value=value).group_by("value").agg(nw.len().alias("records"))
        result = groups.select("records", code=code).group_by("code").agg(nw.col("records").sum())
    else:
        person = _comparable(nw.col(question.privacy_id), schema[question.privacy_id])
        nameless = nw.when(_is_missing(nw.col("person"), schema[question.privacy_id])).then(nw.lit(_NAMELESS)).otherwise(code)
        coded = table.select(value=value, person=person).select("person", code=nameless)
        result = coded.group_by("person").agg(nw.col("code").min()).group_by("code").agg(nw.len().alias("records"))
    # DuckDB adds up to 128-bit integers, which Arrow has no type for.
    narrow = result.select(nw.col("code").cast(nw.Int64), nw.col("records").cast(nw.Int64))
    streaming: dict[str, Any] = {"engine": "streaming"} if table.implementation.is_polars() else {}
    return list(narrow.collect(**streaming).iter_rows())


def _comparable(value: "nw.Expr", dtype: "nw.dtypes.DType") -> "nw.Expr":
    import narwhals.stable.v2 as nw

    if isinstance(dtype, (nw.Categorical, nw.Enum)):
        # Some versions of pandas write a null as text when they cast it.
        return nw.when(~value.is_null()).then(value.cast(nw.String))
    if dtype.is_float():
        # Arrow groups 0.0 and -0.0, which are equal, apart.
        return nw.when(value == 0.0).then(nw.lit(0.0)).otherwise(value)
    return value


def _is_missing(value: "nw.Expr", dtype: "nw.dtypes.DType") -> "nw.Expr":
    """Null, or NaN: whether a table can tell them apart depends on the library it was made with."""
    import narwhals.stable.v2 as nw

    if not dtype.is_float():
        return value.is_null()
    return nw.when(value.is_null()).then(nw.lit(True)).otherwise(value.is_nan())


def _code(value: "nw.Expr", dtype: "nw.dtypes.DType", written: Mapping[Any, int], k: int) -> "nw.Expr":
    """The code of a value: found by bisection among a few, which every engine can do and does fastest, else in a table."""
    import narwhals.stable.v2 as nw

    def search(among: list[Any]) -> "nw.Expr":
        half = len(among) // 2
        if half == 0:
            return nw.when(value == among[0]).then(nw.lit(written[among[0]])).otherwise(nw.lit(k))
        return nw.when(value.is_in(among[:half])).then(search(among[:half])).otherwise(search(among[half:]))

    if len(written) <= _FEW:
        declared = search(list(written))
    else:
        declared = value.replace_strict(list(written), list(written.values()), default=nw.lit(k), return_dtype=nw.Int64)
    return nw.when(_is_missing(value, dtype)).then(nw.lit(k + 1)).otherwise(declared)


_FEW = 32
"""Categories up to which an expression that spells out the bisection is planned in no time."""


def _settled(tally: Mapping[int, int], takes: Mapping[str, int | None], question: _Question) -> Counts:
    """The counts, with nulls and other values where the caller wanted them; an error, without numbers, where nothing was said."""
    if not tally:
        raise SourceError("there are no records to count")
    if _NAMELESS in tally:
        raise SourceError(f"privacy_id {question.privacy_id!r} is null in some rows; every row must say whose it is")
    k = len(question.labels)
    counts = np.array([tally.get(code, 0) for code in range(k)], dtype=np.int64)
    codes = {"other": k, "nulls": k + 1}
    homeless = [option for option, code in codes.items() if code in tally and takes[option] is None]
    if homeless:
        found = " and ".join(_FOUND[option] for option in homeless)
        look = "they are private, so not shown: look for capital letters, blanks and misspellings; " if "other" in homeless else ""
        raise SourceError(
            f"column {question.column!r} has {found}; {look}declare categories for them, or name "
            f"the declared category that takes them with {' and '.join(f'{option}=...' for option in homeless)} "
            f"(in the shell, {' and '.join(f'--{option}' for option in homeless)}); rows are never dropped"
        )
    for option, position in takes.items():
        if position is not None:
            counts[position] += tally.get(codes[option], 0)
    counts.setflags(write=False)
    return counts


_FOUND = {"other": "values outside the declared categories", "nulls": "nulls (missing values)"}


# --- tables and files -------------------------------------------------------------------------------------------------


@contextmanager
def _opened(source: Any, question: _Question) -> "Iterator[nw.LazyFrame[Any]]":
    """The source as a lazy table."""
    import narwhals.stable.v2 as nw

    if not isinstance(source, (str, os.PathLike)):
        table = within_engine("opening the table", nw.from_native, source, pass_through=True)
        if not isinstance(table, (nw.DataFrame, nw.LazyFrame)):
            column = "; a column alone becomes a table with .to_frame()" if hasattr(source, "to_frame") else ""
            raise InvalidInputError(
                "source must be a path, or a table of pandas, polars, pyarrow, DuckDB, Ibis, PySpark or another library that narwhals "
                f"knows, not {type(source).__name__}{column}"
            )
        yield table.lazy()
        return
    with files.opened(source, question.names) as relation:
        yield nw.from_native(relation)
