"""The one aggregation: values become codes inside the engine that holds the data, and only codes and how often they occur come back.

The code of a row is a number for its group and category together, in the declared order of groups and then of categories, undeclared
values and nulls after them: so the least code of a person's rows is in the first of their groups, and there in the first category that
they gave (docs/howto/tables.md).

Several questions are counted in one pass: every row, or person, has a code for each of them, and these are counted together.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.data.categories import BLANKS, COMBINING, NUMBER, Declared, accented, kind_of, whole_numbers
from discreet.data.databases import arrow_list, listed
from discreet.data.question import CountingQuestion

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation

Types = Mapping[str, nw.dtypes.DType]

_NAMELESS = -1
"""The code of a row whose privacy id is null."""


@dataclass(frozen=True, repr=False)
class Tally:
    """The counts that came back from the engine, all of them private."""

    codes: Counts
    """The codes of cells that occur: of group g and category c, g (k + 2) + c, where k is undeclared and k + 1 a null."""
    records: Counts
    """The number of records or persons of each cell."""
    troubles: tuple[tuple[int, bool], ...] = ()
    """Columns of the groups, by position, that have a value without a group, and whether it is a null."""
    nameless: int = 0
    """The number of rows without an id."""
    bad_weights: int = 0
    moves: bool = False
    """Whether a person has rows in more than one group."""
    several: bool = False
    """Whether a person has more than one row."""


@dataclass(frozen=True)
class _Coding:
    """The rule by which the values of a column become codes; those that are undeclared, and nulls, have the codes of strangers."""

    column: str
    declared: Declared
    strangers: tuple[int, int]


def saturated(sums: Floats) -> Counts:
    """Sums of counts or weights, or one more than the largest count where they are no longer exact.

    Whoever has a public n refuses that many. Where the total is private nobody may refuse, and a count is cut to the largest one. Sums of
    whole numbers as floats are exact while they are below 2**53, and once at or above it never fall below again.
    """
    is_exact = sums < limits.COUNT
    return np.where(is_exact, np.where(is_exact, sums, 0.0).astype(np.int64), limits.COUNT + 1)


def aggregated(table: nw.LazyFrame[Any], questions: Sequence[CountingQuestion], dtypes: Types) -> list[Tally]:
    """Count the codes of a table for every question, in one pass. All have one id column, or none; a weight is asked for alone."""
    first = questions[0]
    plan = _persons if first.privacy_id is not None else _weights if first.weight is not None else _records
    result = plan(*_readable(table, questions, dtypes))
    # DuckDB adds up to 128-bit integers, which Arrow has no type for; sums of weights are looked at before they become integers.
    kinds = {name: nw.Float64 if name == "weights" else nw.Int64 for name in _COLUMNS[plan]}
    narrow = result.select(*(nw.col(name).cast(kind) for name, kind in kinds.items()))
    streaming: dict[str, Any] = {"engine": "streaming"} if table.implementation.is_polars() else {}
    found = narrow.collect(**streaming)
    columns = {name: _array(found.get_column(name)) for name in kinds}
    codes, whose = np.divmod(columns.pop("code").astype(np.int64), len(questions))
    return [_tally(codes[whose == t], {name: values[whose == t] for name, values in columns.items()}) for t in range(len(questions))]


def holds_numbers(table: nw.LazyFrame[Any], column: str) -> bool:
    """Return whether every text of a column is a number or empty. One row at most comes back, and nobody looks at it."""
    others = table.filter(~nw.col(column).str.contains(NUMBER)).head(1).select(nw.len().alias("others"))
    return int(others.collect().get_column("others")[0]) == 0


def undeclared(table: nw.LazyFrame[Any], question: CountingQuestion, position: int, dtypes: Types, most: int) -> list[str]:
    """The first so many undeclared spellings of one of a question's columns: for the curator alone, and without how often they occur."""
    part, coding = list(_every([question]).items())[position]
    declared, name = coding.declared, coding.column
    rows = _selected(table, [question], dtypes, value=_comparable(nw.col(name), dtypes[name])).select("value", part)
    found = _translated(rows, part, dtypes, replace(coding, strangers=(declared.other, declared.missing)))
    found = found.filter(nw.col(part) == declared.other)
    return [str(value) for value in found.select("value").unique().sort("value").head(most).collect().get_column("value").to_list()]


def _readable(
    table: nw.LazyFrame[Any], questions: Sequence[CountingQuestion], dtypes: Types
) -> tuple[nw.LazyFrame[Any], Sequence[CountingQuestion], Types]:
    """The table with unsigned 64-bit columns of Arrow that are coded as text: Arrow compares them as signed ones, which not all fit."""
    coded = {name for question in questions for name, declared in question.coded if declared.rule is None}
    unsigned = {name: nw.String() for name in sorted(coded) if isinstance(dtypes[name], nw.UInt64)}
    if not unsigned or not table.implementation.is_pyarrow():
        return table, questions, dtypes
    return table.with_columns(nw.col(*unsigned).cast(nw.String)), questions, {**dtypes, **unsigned}


def _array(column: nw.Series[Any]) -> NDArray[Any]:
    """The numbers of a column. Arrow's own way to NumPy would load pandas, which takes longer than most counting does."""
    if column.implementation.is_pyarrow():
        return np.from_dlpack(column.to_native().combine_chunks())
    return np.asarray(column.to_numpy())


def _tally(codes: Counts, found: Mapping[str, NDArray[Any]]) -> Tally:
    """Cells, and apart from them the rows that have none."""
    nothing = np.zeros(1, dtype=np.int64)
    moved = nothing
    if "rows" in found:
        codes, moved = np.divmod(codes, 2)
    records = saturated(found["weights"]) if "weights" in found else found["records"].astype(np.int64)
    has_records = records > 0
    homeless = {divmod(-2 - code, 2) for code in codes[has_records & (codes < _NAMELESS)].tolist()}
    is_cell = has_records & (codes >= 0)
    cells, place = np.unique(codes[is_cell], return_inverse=True)
    totals = np.zeros(len(cells), dtype=np.int64)
    np.add.at(totals, place, records[is_cell])  # of a cell, those who have moved and those who have not
    return Tally(
        cells,
        totals,
        troubles=tuple((column, is_null == 1) for column, is_null in sorted(homeless)),
        nameless=int(found["rows"][codes == _NAMELESS].sum()) if "rows" in found else 0,
        bad_weights=int(found.get("bad", nothing).sum()),
        moves=bool(moved.any()),
        several=bool("rows" in found and (found["rows"] > records)[codes != _NAMELESS].any()),
    )


# --- rows, persons, weights -------------------------------------------------------------------------------------------


def _records(table: nw.LazyFrame[Any], questions: Sequence[CountingQuestion], dtypes: Types) -> nw.LazyFrame[Any]:
    """Rows by code.

    Coding the distinct values rather than the rows costs next to nothing on top of the plain group-by, if they are few. Values that a
    rule codes may be many, and are coded before; several questions have distinct values of their own in DuckDB alone.
    """
    values, codings, every = _selected(table, questions, dtypes), _codings(questions), _every(questions)
    ruled = [part for part, coding in every.items() if coding.declared.rule is not None]
    is_simple = len(questions) == 1 and not ruled
    is_listed = values.implementation.is_duckdb() and len(every) <= _MOST_GROUPED and len({*map(frozenset, codings)}) == len(codings)
    if not (is_simple or is_listed) or any(len(question.grouping) > _FEW_GROUPS for question in questions):
        return _by_code(_coded(values, questions, dtypes))
    for part in ruled:
        values = _translated(values, part, dtypes, every[part])
    if len(questions) == 1:
        distinct, code = values.group_by(*every).agg(nw.len().alias("records")), nw.col("code0")
    else:
        distinct, code = _by_sets(values, codings)
    coded = _coded(distinct, questions, dtypes, done=ruled)
    return coded.select("records", code=code).group_by("code").agg(nw.col("records").sum())


def _by_sets(rows: nw.LazyFrame[Any], codings: Sequence[Mapping[str, _Coding]]) -> tuple[nw.LazyFrame[Any], nw.Expr]:
    """Return how many "records" have the distinct values of each question, and what is the code in a row of them, once they are coded."""
    every = list(dict.fromkeys(part for coded in codings for part in coded))
    names, sets = ", ".join(every), ", ".join(f"({', '.join(coded)})" for coded in codings)
    found = rows.to_native().aggregate(f"{names}, grouping({names}) AS others, count(*) AS records", f"GROUPING SETS ({sets})")
    code = nw.lit(-1, nw.Int64)
    for t, coded in enumerate(codings):
        others = sum(1 << place for place, part in enumerate(reversed(every)) if part not in coded)  # as DuckDB numbers its sets
        code = nw.when(nw.col("others") == others).then(nw.col(f"code{t}") * len(codings) + t).otherwise(code)
    return nw.from_native(found).lazy(), code


_MOST_GROUPED = 60
"""Columns whose sets DuckDB tells apart by the bits of one number."""
_FEW_GROUPS = 1024
"""Groups up to which the distinct values are listed first: of a million groups that list takes more memory than all else."""


def _persons(table: nw.LazyFrame[Any], questions: Sequence[CountingQuestion], dtypes: Types) -> nw.LazyFrame[Any]:
    """Persons by the least of their rows' codes, with how many rows they have; the code is doubled, and odd for those who have moved.

    Rows without an id have a code of their own.
    """
    name = questions[0].privacy_id or ""
    rows = _selected(table, questions, dtypes, person=_comparable(nw.col(name), dtypes[name]))
    is_nameless = _is_missing(nw.col("person"), dtypes[name])
    places = [t for t, question in enumerate(questions) if question.grouping.columns]
    instead = {**dict.fromkeys(_numbers("code", questions), _NAMELESS), **{f"group{t}": 0 for t in places}}
    coded = _coded(rows, questions, dtypes).select(
        "person", **{name: nw.when(is_nameless).then(nw.lit(code)).otherwise(nw.col(name)) for name, code in instead.items()}
    )
    ends = [nw.col(f"group{t}").min().alias(f"first{t}") for t in places] + [nw.col(f"group{t}").max().alias(f"last{t}") for t in places]
    codes = _numbers("code", questions)
    persons = coded.group_by("person").agg(*(nw.col(code).min() for code in codes), *ends, nw.len().alias("rows"))
    moved = {t: nw.when(nw.col(f"first{t}") < nw.col(f"last{t}")).then(nw.lit(1)).otherwise(nw.lit(0)) for t in places}
    doubled = {code: nw.col(code) * 2 + moved.get(t, nw.lit(0)) for t, code in enumerate(codes)}
    return _by_code(persons.select("rows", **doubled), "rows")


def _weights(table: nw.LazyFrame[Any], questions: Sequence[CountingQuestion], dtypes: Types) -> nw.LazyFrame[Any]:
    """Weights by code, and how many rows have none.

    They are added up as 64-bit floats, because sums of integers would overflow in silence in some engines (`saturated`).
    """
    name = questions[0].weight or ""
    amount, is_whole = _amount(nw.col(name), dtypes[name])
    rows = _selected(table, questions, dtypes, amount=amount, bad=nw.when(is_whole).then(nw.lit(0)).otherwise(nw.lit(1)))
    good = nw.when(nw.col("bad") == 0).then(nw.col("amount")).otherwise(nw.lit(0.0))
    coded = _coded(rows, questions, dtypes).select("bad", "code0", weights=good)
    return _by_code(coded, "bad", "weights")


_COLUMNS = {_records: ("code", "records"), _persons: ("code", "records", "rows"), _weights: ("code", "weights", "bad")}
"""The columns that each plan brings back, a row for each code that occurs."""


def _numbers(what: str, questions: Sequence[CountingQuestion]) -> list[str]:
    """Names of a column for each question."""
    return [f"{what}{t}" for t in range(len(questions))]


def _by_code(rows: nw.LazyFrame[Any], *sums: str) -> nw.LazyFrame[Any]:
    """Return, for every code of every question, in a column "code", how many "records" have it, and the sums of these columns over them.

    Of T questions, question t has the codes that leave the rest t when they are divided by T.
    """
    codes = [name for name in rows.collect_schema().names() if name.startswith("code")]
    told = rows.select(*sums, **{code: nw.col(code) * len(codes) + int(code.removeprefix("code")) for code in codes})
    if len(codes) == 1:
        told = told.rename({codes[0]: "code"})
    elif rows.implementation.is_duckdb():  # a row of the result has one code, and nulls in place of the others
        every, sets = ", ".join(codes), ", ".join(f"({code})" for code in codes)
        added = "".join(f", sum({name}) AS {name}" for name in sums)
        grouped = told.to_native().aggregate(f"coalesce({every}) AS code, count(*) AS records{added}", f"GROUPING SETS ({sets})")
        found: nw.LazyFrame[Any] = nw.from_native(grouped).lazy()
        return found
    else:
        told = told.unpivot(codes, index=list(sums), variable_name="question", value_name="code")
    return told.group_by("code").agg(nw.len().alias("records"), *(nw.col(name).sum() for name in sums))


def _amount(weight: nw.Expr, dtype: nw.dtypes.DType) -> tuple[nw.Expr, nw.Expr]:
    """A weight as a 64-bit float, and whether it is a whole number from 0 to 2**53, which a null is not."""
    if kind_of(dtype) == "text":
        text = _comparable(weight, dtype)
        is_whole = text.str.contains(r"^[0-9]{1,15}(?:\.0+)?$")
        return nw.when(is_whole).then(text).otherwise(nw.lit("0")).cast(nw.Float64), is_whole
    if dtype.is_float():
        amount = weight.cast(nw.Float64)
        return amount, (amount >= 0) & (amount <= float(limits.COUNT)) & (amount == amount.floor())
    # Numbers are compared as the column's own type: Arrow would turn unsigned ones into signed ones, which not all of them fit.
    nothing = nw.lit(0, dtype)
    is_whole = weight >= nothing
    if whole_numbers(dtype)[1] > limits.COUNT:
        is_whole = is_whole & (weight <= nw.lit(limits.COUNT, dtype))
    return nw.when(is_whole).then(weight).otherwise(nothing).cast(nw.Float64), is_whole


# --- values to codes --------------------------------------------------------------------------------------------------


def _codings(questions: Sequence[CountingQuestion]) -> list[dict[str, _Coding]]:
    """Return, for each question, what is coded for it: the answers first, then its groups, by names of our own.

    No column of the table is in the way of these names, and what is coded alike for two questions has one name.
    """
    names: dict[Any, str] = {}
    found = []
    for question in questions:
        homes = [column.home for column in question.grouping.columns]
        strangers = [(question.declared.other, question.declared.missing)]
        strangers += [(-2 - 2 * i, -3 - 2 * i) if home is None else (home, home) for i, home in enumerate(homes)]
        codings = [_Coding(*coded, codes) for coded, codes in zip(question.coded, strangers, strict=True)]
        keys = [(coding.column, coding.declared.meaning, coding.strangers) for coding in codings]
        found.append({names.setdefault(key, f"part{len(names)}"): coding for key, coding in zip(keys, codings, strict=True)})
    return found


def _every(questions: Sequence[CountingQuestion]) -> dict[str, _Coding]:
    """Return everything that is coded for some question, once."""
    return {name: coding for codings in _codings(questions) for name, coding in codings.items()}


def _selected(table: nw.LazyFrame[Any], questions: Sequence[CountingQuestion], dtypes: Types, **more: nw.Expr) -> nw.LazyFrame[Any]:
    """The columns that are coded, and more. In DuckDB text becomes its bytes, which no collation of a column or a session compares."""
    named = [(part, coding.column, coding.declared) for part, coding in _every(questions).items()]
    values = {part: _spelt(_comparable(nw.col(name), dtypes[name]), dtypes[name], table, declared) for part, name, declared in named}
    rows = table.select(**values, **more)
    if not rows.implementation.is_duckdb():
        return rows
    from duckdb import ColumnExpression, ConstantExpression, FunctionExpression

    def encoded_text(part: str, declared: Declared | None) -> Any:
        text: Any = ColumnExpression(part).cast("VARCHAR")
        if declared is not None and "ignore accents" in declared.spelling:  # at once, which is many times as fast as letter by letter
            letters = ["".join(found) for found in zip(*((one, base) for base, many in accented().items() for one in many), strict=True)]
            text = FunctionExpression("translate", text, *map(ConstantExpression, letters))
            text = FunctionExpression("regexp_replace", text, *map(ConstantExpression, (COMBINING, "", "g")))
        return FunctionExpression("encode", text).alias(part)

    texts: dict[str, Declared | None] = {
        part: declared for part, name, declared in named if kind_of(dtypes[name]) == "text" and declared.rule is None
    }
    if "person" in more and kind_of(dtypes[questions[0].privacy_id or ""]) == "text":
        texts["person"] = None
    others = [ColumnExpression(name) for name in rows.collect_schema().names() if name not in texts]
    encoded = [encoded_text(*text) for text in texts.items()]
    exact: nw.LazyFrame[Any] = nw.from_native(rows.to_native().select(*others, *encoded)).lazy()
    return exact


def _comparable(value: nw.Expr, dtype: nw.dtypes.DType) -> nw.Expr:
    if isinstance(dtype, (nw.Categorical, nw.Enum)):
        # Some versions of pandas write a null as text when they cast it.
        return nw.when(~value.is_null()).then(value.cast(nw.String))
    if dtype.is_float():
        # Arrow groups 0.0 and -0.0, which are equal, apart.
        return nw.when(value == 0.0).then(nw.lit(0.0)).otherwise(value)
    return value


def _spelt(value: nw.Expr, dtype: nw.dtypes.DType, table: nw.LazyFrame[Any], declared: Declared) -> nw.Expr:
    """A text as the rules of spelling make it, and without blanks where it is a number or a date.

    Ibis takes the same blanks away, and cannot be told which.
    """
    rules = declared.spelling
    if kind_of(dtype) != "text":
        return value
    if "trim" in rules or declared.rule is not None:
        value = value.str.strip_chars(None if table.implementation.is_ibis() else BLANKS)
    if "ignore accents" in rules and not table.implementation.is_duckdb():
        for base, letters in accented().items():
            value = value.str.replace_all(f"[{letters}]", base)
        value = value.str.replace_all(COMBINING, "")
    return value.str.to_lowercase() if "ignore case" in rules else value


def _is_missing(value: nw.Expr, dtype: nw.dtypes.DType) -> nw.Expr:
    """Null, or NaN: whether a table can tell them apart depends on the library it was made with."""
    if not dtype.is_float():
        return value.is_null()
    return nw.when(value.is_null()).then(nw.lit(True)).otherwise(value.is_nan())


def _coded(rows: nw.LazyFrame[Any], questions: Sequence[CountingQuestion], dtypes: Types, done: Collection[str] = ()) -> nw.LazyFrame[Any]:
    """The rows with columns "group0" and "code0" for the first question, and so on.

    The parts that are `done` are codes already.

    Where a row has no group its code, below `_NAMELESS`, says in which column. Every row comes back once: if it equals several declared
    values in the engine's eyes, with the first of their codes.
    """
    codings = _codings(questions)
    every = {part: coding for coded in codings for part, coding in coded.items()}
    may_multiply = _may_multiply(rows, every, dtypes)
    if may_multiply:
        rows = _numbered(rows)
    for part, coding in every.items():
        rows = rows if part in done else _translated(rows, part, dtypes, coding)
    for t, (question, coded) in enumerate(zip(questions, codings, strict=True)):
        rows = _coded_for(rows, question, list(coded), t)
    rows = rows.select(*(name for name in rows.collect_schema().names() if name not in every))
    if not may_multiply:
        return rows
    made = [*_numbers("group", questions), *_numbers("code", questions)]
    kept = [name for name in rows.collect_schema().names() if name not in made]
    return rows.group_by(*kept).agg(*(nw.col(name).min() for name in made))


def _coded_for(rows: nw.LazyFrame[Any], question: CountingQuestion, parts: Sequence[str], t: int) -> nw.LazyFrame[Any]:
    """The rows with the group and the code of one question, which its parts make."""
    group = nw.lit(0).cast(nw.Int64)
    for part, stride in zip(parts[1:], question.grouping.strides, strict=False):
        group = group + nw.col(part) * stride
    rows = rows.with_columns(**{f"group{t}": group})
    code = nw.col(f"group{t}") * (len(question.declared.labels) + 2) + nw.col(parts[0])
    for part in parts[1:]:
        code = nw.when(nw.col(part) < 0).then(nw.col(part)).otherwise(code)
    return rows.with_columns(**{f"code{t}": code})


def _translated(rows: nw.LazyFrame[Any], part: str, dtypes: Types, coding: _Coding) -> nw.LazyFrame[Any]:
    """A column's values as codes.

    Among a few values the code is found by bisection, which every engine can do and does fastest. Many are looked up in a table: by a
    join in the engines to which an expression with all of them would be a program to be compiled.
    """
    dtype, declared, (other, missing) = dtypes[coding.column], coding.declared, coding.strangers
    value, is_text = nw.col(part), kind_of(dtype) == "text"
    written: dict[Any, int] = declared.written(dtype, coding.column)
    written = {text: missing if code == declared.missing else code for text, code in written.items()}
    unknown = nw.lit(other) if declared.rule is None else declared.rule.position(value, dtype, other)
    if is_text and declared.rule is None and rows.implementation.is_duckdb():
        written = {text.encode(errors="surrogatepass"): code for text, code in written.items()}

    def search(among: list[Any]) -> nw.Expr:
        half = len(among) // 2
        if half == 0:
            return nw.when(value == among[0]).then(nw.lit(written[among[0]])).otherwise(unknown) if among else unknown
        return nw.when(value.is_in(among[:half])).then(search(among[:half])).otherwise(search(among[half:]))

    if len(written) <= _SPELLED_OUT_CATEGORIES:
        found = search(list(written))
    elif (table := _lookup(rows, written)) is not None:
        label = nw.col("text") if is_text else nw.col("text").cast(dtype)
        rows = rows.join(table.select(label.alias(part), "found"), on=part, how="left")
        found = nw.when(nw.col("found").is_null()).then(unknown).otherwise(nw.col("found"))
    else:
        found = value.replace_strict(list(written), list(written.values()), default=unknown, return_dtype=nw.Int64)
    code = nw.when(_is_missing(value, dtype)).then(nw.lit(missing)).otherwise(found)
    kept = [name for name in rows.collect_schema().names() if name not in (part, "found")]
    return rows.select(*kept, code.cast(nw.Int64).alias(part))


_SPELLED_OUT_CATEGORIES = 32
"""Categories up to which an expression that spells out the bisection is planned in no time."""


def _lookup(rows: nw.LazyFrame[Any], written: Mapping[Any, int]) -> nw.LazyFrame[Any] | None:
    """Declared values and their codes, as a table of the engine that holds the rows; None where the engine needs none.

    The values are text there, and bytes if they are.
    """
    engine = rows.implementation
    if not (engine.is_duckdb() or engine.is_ibis() or engine.is_pyspark()):
        return None
    codes, is_bytes = list(written.values()), isinstance(next(iter(written)), bytes)
    texts = [value.hex() if is_bytes else str(int(value)) if isinstance(value, float) else str(value) for value in written]
    if engine.is_duckdb():
        return nw.from_native(_unnested(rows.to_native(), texts, codes, is_bytes=is_bytes)).lazy()
    if engine.is_ibis():
        native: Any = listed(rows.to_native(), texts, codes)
    else:
        native = rows.to_native().sparkSession.createDataFrame(arrow_list(texts, codes))
    found: nw.LazyFrame[Any] = nw.from_native(native).lazy()
    return found


def _may_multiply(rows: nw.LazyFrame[Any], codings: Mapping[str, _Coding], dtypes: Types) -> bool:
    """Return whether text is looked up by a join that may compare loosely, such as without regard to case, and so find several codes for a
    row.
    """
    engine = rows.implementation
    if not (engine.is_ibis() or engine.is_pyspark()):
        return False
    types = {part: dtypes[coding.column] for part, coding in codings.items()}
    texts = [
        part
        for part, coding in codings.items()
        if kind_of(types[part]) == "text" and len(coding.declared.written(types[part], coding.column)) > _SPELLED_OUT_CATEGORIES
    ]
    return bool(texts) if engine.is_ibis() else not all(_compares_bytes(rows.to_native().schema[part].dataType) for part in texts)


def _numbered(rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """The rows with a column "row" that tells them apart."""
    if rows.implementation.is_pyspark():
        from pyspark.sql.functions import monotonically_increasing_id

        native: Any = rows.to_native().withColumn("row", monotonically_increasing_id())
    else:
        import ibis

        native = rows.to_native().mutate(row=ibis.row_number())
    numbered: nw.LazyFrame[Any] = nw.from_native(native).lazy()
    return numbered


def _compares_bytes(kind: Any) -> bool:
    """Return whether texts of this type of Spark are equal only if they are the same; before collations, which Spark 4 has, all were."""
    return getattr(kind, "collation", _BINARY_COLLATION) == _BINARY_COLLATION


_BINARY_COLLATION = "UTF8_BINARY"


def _unnested(relation: "DuckDBPyRelation", texts: list[str], codes: list[int], *, is_bytes: bool) -> "DuckDBPyRelation":
    """A table in the connection of a relation, which cannot be asked for: made from a query of it that has one row and reads none."""
    from duckdb import ColumnExpression, ConstantExpression, FunctionExpression

    def unnested(values: list[Any], kind: str) -> Any:
        listed = FunctionExpression("from_json", ConstantExpression(json.dumps(values)), ConstantExpression(f'["{kind}"]'))
        return FunctionExpression("unnest", listed)

    one = relation.limit(0).aggregate("count(*) AS nothing")
    listed = one.select(unnested(texts, "VARCHAR").alias("text"), unnested(codes, "BIGINT").alias("found"))
    if not is_bytes:
        return listed
    return listed.select(FunctionExpression("unhex", ColumnExpression("text")).alias("text"), ColumnExpression("found"))
