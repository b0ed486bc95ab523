"""Strict counting: no refusal, exit code or word depends on a row. Oracle: pairs of files that differ in one row, replaced by anything.

The draw is replaced by one that ignores the counts; then all that is left must be the same, byte by byte.
"""

import gzip
import io
import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.data.count import CategoryCounts, count
from discreet.errors import DiscreetError, InvalidInputError, SourceError
from discreet.ledger.ledger import Ledger
from tests.support import planted

LABELS = ("low", "high", "rest", "none")
STRICT: dict[str, Any] = {"nulls": "none", "other": "rest", "strict": True}
ROWS = 9

HOSTILE_CSV: dict[str, bytes] = {
    "declared": b"P5,high,x",
    "undeclared": b"P5,zebra,x",
    "empty cell": b"P5,,x",
    "no id": b",low,x",
    "nothing at all": b",,",
    "blank": b"",
    "blanks": b"   ",
    "too few cells": b"P5",
    "too many cells": b"P5,low,x,y,z",
    "open quote": b'P5,"low,x',
    "open quote at the end": b'P5,low,"',
    "quote and more": b'P5,"lo"w,x',
    "quote within": b'P5,lo"w,x',
    "only a quote": b'"',
    "quoted": b'"P5","high","x"',
    "quoted delimiter": b'P5,"low,high",x',
    "not UTF-8": b"P5,l\xf6w,x",
    "not UTF-8 id": b"\xff\xfe,low,x",
    "half a character": b"P5,low,\xe2\x82",
    "encoded surrogate": b"P5,\xed\xa0\x80,x",
    "byte order mark": b"\xef\xbb\xbfP5,low,x",
    "zero byte": b"P5,l\0w,x",
    "carriage return": b"P5,low\r,x",
    "carriage return at the end": b"P5,low,x\r",
    "old line ends": b"P5,low,x\rP6,low,x",
    "other line ends": "P5,low\x85\u2028\x0b\x0c,x".encode(),
    "huge number": b"P5," + b"9" * 5000 + b",x",
    "long cell": b"P5," + b"x" * 200_000 + b",x",
    "long quoted cell": b'P5,"' + b"x" * 200_000 + b'",x',
    "longer than is read": b"P5," + b"x" * (1 << 24) + b",x",
    "other delimiters": b"P5;low|x",
    "comment": b"# P5,low,x",
    "header again": b"who,risk,remark",
    "mixed type": b"P5,1.5e300,x",
}
HOSTILE_JSON: dict[str, bytes] = {
    "declared": b'{"who": "P5", "risk": "high"}',
    "undeclared": b'{"who": "P5", "risk": "zebra"}',
    "null": b'{"who": "P5", "risk": null}',
    "absent": b'{"who": "P5"}',
    "no id": b'{"risk": "low"}',
    "no field": b"{}",
    "blank": b"",
    "blanks": b"   ",
    "not closed": b'{"who": "P5", "risk": "low"',
    "open quote": b'{"who": "P5", "risk": "low',
    "two objects": b'{"who": "P5"} {"who": "P6"}',
    "no object": b"[1, 2]",
    "a number": b"17",
    "no JSON": b"P5,low",
    "truth value": b'{"who": true, "risk": false}',
    "number": b'{"who": 5, "risk": 1.50}',
    "huge number": b'{"who": "P5", "risk": ' + b"9" * 5000 + b"}",
    "huge exponent": b'{"who": 1e999999999, "risk": -1E+400}',
    "not a number": b'{"who": NaN, "risk": Infinity}',
    "nested": b'{"who": "P5", "risk": {"a": ["low"]}}',
    "nested id": b'{"who": ["P5"], "risk": "low"}',
    "deep": b'{"who": "P5", "risk": ' + b"[" * 100_000 + b"}",
    "half a character": b'{"who": "P5", "risk": "\\ud800"}',
    "half an id": b'{"who": "\\udfff", "risk": "low"}',
    "not UTF-8": b'{"who": "P5", "risk": "l\xf6w"}',
    "zero byte": b'{"who": "P5", "risk": "l\\u0000w"}',
    "control character": b'{"who": "P5", "risk": "l\0w"}',
    "twice": b'{"who": "P5", "risk": "low", "risk": 7}',
    "empty": b'{"who": "", "risk": ""}',
}


def csv_with(row: bytes) -> bytes:
    """A CSV file, its row in the middle given; every row is another person's."""
    rows = [b"P%d,%s,x" % (number, b"low" if number % 2 else b"high") for number in range(ROWS)]
    return b"\n".join([b"who,risk,remark", *rows[:5], row, *rows[6:], b""])


def json_with(row: bytes) -> bytes:
    rows = [json.dumps({"who": f"P{number}", "risk": "low" if number % 2 else "high"}).encode() for number in range(ROWS)]
    return b"\n".join([*rows[:5], row, *rows[6:], b""])


def moved(before: Any, after: Any) -> int:
    """How many records must be replaced to come from the one to the other."""
    return int(np.abs(np.asarray(before) - np.asarray(after)).sum()) // 2


# --- one row replaced by anything -------------------------------------------------------------------------------------

FILES = [("csv", HOSTILE_CSV, csv_with), ("jsonl", HOSTILE_JSON, json_with)]
CASES = [pytest.param(kind, row, make, id=f"{kind}: {name}") for kind, rows, make in FILES for name, row in rows.items()]


@pytest.mark.parametrize(("kind", "row", "make"), CASES)
def test_a_row_replaced_by_anything_moves_one_count_and_not_n(
    tmp_path: Path, kind: str, row: bytes, make: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"survey.{kind}"
    path.write_bytes(make(row))
    for privacy_id in (None, "who"):
        before, after = counted_before(kind, privacy_id), count(path, "risk", LABELS, privacy_id, **STRICT)
        assert before.total == after.total == ROWS
        assert moved(before, after) <= 1


@cache
def counted_before(kind: str, privacy_id: str | None) -> CategoryCounts:
    """The counts of the file in which every row is as declared."""
    _, rows, make = FILES[kind == "jsonl"]
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"survey.{kind}"
        path.write_bytes(make(rows["declared"]))
        found = count(path, "risk", LABELS, privacy_id, **STRICT)
    assert isinstance(found, CategoryCounts)
    return found


@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
@pytest.mark.parametrize("more", [[], ["--privacy-id", "who"]], ids=["rows", "persons"])
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_the_command_says_the_same_of_neighbouring_files(
    tmp_path: Path, kind: str, more: Sequence[str], step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code, output, messages, record and ledger."""
    monkeypatch.chdir(tmp_path)
    _, rows, make = FILES[kind == "jsonl"]
    asked = ["-c", "risk", "--categories", ",".join(LABELS), "-e", "1", "--nulls", "none", "--other", "rest", *more]
    seen: dict[str, Any] = {}
    for name, row in list(rows.items())[::step]:
        Path(f"survey.{kind}").write_bytes(make(row))
        Path("ledger.db").unlink(missing_ok=True)
        book = Ledger("ledger.db")
        book.create("s", 1, unit="person" if more else "record")
        words = ["release", f"survey.{kind}", *asked, "--strict", "--ledger", "ledger.db", "--dataset", "s"]
        with planted(dc.LatticeGeometric, (3, 3, 2, 1)):
            result = CliRunner(env={"COLUMNS": "200"}).invoke(app, words)
        lines = [(line.loss, line.note, line.description) for line in book.history("s")]
        seen[name] = (result.exit_code, result.stdout, result.stderr, lines)
    assert seen["declared"][0] == 0, seen["declared"]
    assert {name for name, found in seen.items() if found != seen["declared"]} == set()


@pytest.mark.slow
def test_without_strict_the_same_search_finds_the_refusals(tmp_path: Path) -> None:
    """And so, with every refusal in it, how much strict counting is needed."""

    def refuses(name: str, content: bytes, **options: Any) -> bool:
        (tmp_path / name).write_bytes(content)
        try:
            count(tmp_path / name, "risk", LABELS, **options)
        except DiscreetError:
            return True
        return False

    assert not refuses("a.csv", csv_with(HOSTILE_CSV["declared"]))
    by_rows = {name for name, row in HOSTILE_CSV.items() if refuses("a.csv", csv_with(row))}
    assert {"undeclared", "empty cell", "blank", "too few cells", "too many cells", "open quote", "not UTF-8"} <= by_rows
    taken = {"nulls": "none", "other": "rest"}
    still = {name for name, row in HOSTILE_CSV.items() if refuses("a.csv", csv_with(row), **taken)}
    assert {"too few cells", "too many cells", "open quote", "not UTF-8"} <= still
    assert refuses("a.csv", csv_with(HOSTILE_CSV["no id"]), privacy_id="who", **taken)
    assert {name for name, row in HOSTILE_JSON.items() if refuses("a.jsonl", json_with(row), **taken)} >= {"not closed", "no JSON"}


LINE = st.binary(max_size=40).map(lambda row: row.replace(b"\n", b""))


@settings(max_examples=20)
@given(LINE, st.sampled_from([None, "who"]))
@example(b'P5,"low,x', "who")
@example(b'"', None)
def test_any_bytes_are_a_row(row: bytes, privacy_id: str | None) -> None:
    before, after = (count(io.BytesIO(csv_with(line)), "risk", LABELS, privacy_id, **STRICT) for line in (b"P5,high,x", row))
    assert before.total == after.total == ROWS
    assert moved(before, after) <= 1


# --- where rows go ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "expected", "by_person"),
    [
        (b"P5,low,x", [4, 5, 0, 0], [4, 5, 0, 0]),
        (b"P5,zebra,x", [3, 5, 1, 0], [3, 5, 1, 0]),
        (b"P5,,x", [3, 5, 0, 1], [3, 5, 0, 1]),
        (b"P5,low", [3, 5, 1, 0], [3, 5, 1, 0]),
        (b"P5,l\xf6w,x", [3, 5, 1, 0], [3, 5, 1, 0]),
        (b'P5,"low,x', [3, 5, 1, 0], [3, 5, 1, 0]),
        (b"", [3, 5, 0, 1], [3, 5, 0, 1]),
        (b",low,x", [4, 5, 0, 0], [3, 5, 0, 1]),
        (b"P4,low,x", [4, 5, 0, 0], [4, 4, 0, 0]),
    ],
)
def test_unreadable_rows_are_other_and_rows_without_an_id_are_null(row: bytes, expected: list[int], by_person: list[int]) -> None:
    assert count(io.BytesIO(csv_with(row)), "risk", LABELS, **STRICT).counts.tolist() == expected
    assert count(io.BytesIO(csv_with(row)), "risk", LABELS, "who", **STRICT).counts.tolist() == by_person


TABLES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": lambda columns: pd.DataFrame(columns).astype("string"),
    "polars": pl.DataFrame,
    "polars, lazy": pl.LazyFrame,
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES.keys())
def test_every_row_without_an_id_is_a_person_of_its_own_whatever_it_says(make: Callable[[dict[str, list[Any]]], Any]) -> None:
    who = ["a", "a", None, None, None, "b"]
    for answers in (["low", "high", "low", "high", None, "low"], ["low", "high", "high", "zebra", "low", "low"]):
        counts = count(make({"who": who, "risk": answers}), "risk", LABELS, "who", **STRICT)
        assert counts.counts.tolist() == [2, 0, 0, 3]
    with pytest.raises(SourceError, match="every row must say whose it is"):
        count(make({"who": who, "risk": ["low"] * 6}), "risk", LABELS, "who", nulls="none", other="rest")


@given(st.data())
def test_replacing_what_a_person_says_moves_at_most_one_count(data: st.DataObject) -> None:
    """Whoever they are: a person's rows without an id are among the rows that are replaced, too."""
    answer = st.sampled_from([*LABELS, None, "zebra"])
    rows = data.draw(st.lists(st.tuples(st.sampled_from(["a", "b", None]), answer), min_size=1, max_size=10))
    theirs = data.draw(st.sampled_from(["a", "b"]))
    changed = [(who, data.draw(answer)) if who in (theirs, None) else (who, said) for who, said in rows]
    found = [
        count(pl.DataFrame(both, schema={"who": pl.String, "risk": pl.String}, orient="row"), "risk", LABELS, "who", **STRICT)
        for both in (rows, changed)
    ]
    assert found[0].total == found[1].total
    assert moved(*found) <= 1


def test_encodings_are_read_strictly(tmp_path: Path) -> None:
    content = "who,risk\n1,Köhler\n2,K\x81hler\n3,low\n".encode("latin-1")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(content))
    categories = ["Köhler", "low", "rest", "none"]
    assert count(tmp_path / "a.csv.gz", "risk", categories, encoding="cp1252", **STRICT).counts.tolist() == [1, 1, 1, 0]


# --- columns of tables ------------------------------------------------------------------------------------------------


def test_a_pandas_column_of_type_object_is_refused_whatever_is_in_it() -> None:
    """Else one value of another kind would decide."""
    messages = []
    for last in ("low", 7, None, [1]):
        frame = pd.DataFrame({"risk": pd.Series(["low", "high", last], dtype=object), "who": pd.Series([1, 2, 3])})
        with pytest.raises(InvalidInputError, match=r"type object.*astype\('string'\)") as caught:
            count(frame, "risk", LABELS, "who", **STRICT)
        messages.append(str(caught.value))
        swapped = frame.rename(columns={"risk": "who", "who": "risk"})
        with pytest.raises(InvalidInputError, match="type object"):
            count(swapped, "risk", [1, 2, "rest", "none"], "who", **STRICT)
    assert len(set(messages)) == 1


@pytest.mark.parametrize("values", [[1, 2, -(2**63), 2**63 - 1, None], [0.0, -0.0, float("nan"), float("inf"), -1e308, 1e-320, None]])
@pytest.mark.parametrize("make", [pl.DataFrame, pa.table, lambda columns: pd.DataFrame(columns).convert_dtypes()])
def test_any_number_is_counted(make: Callable[[Any], Any], values: list[Any]) -> None:
    source = make({"risk": values, "who": values})
    for privacy_id in (None, "who"):
        found = count(source, "risk", [0, 1, "rest", "none"], privacy_id, **STRICT)
        assert found.total == len(values) - (privacy_id is not None and 0.0 in values)  # both zeros are one person


def test_parquet_text_that_is_not_utf8_is_other(tmp_path: Path) -> None:
    def strings(*values: bytes) -> pa.Array:
        offsets = np.cumsum([0, *map(len, values)]).astype(np.int32)
        return pa.Array.from_buffers(pa.string(), len(values), [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(b"".join(values))])

    for last, expected in ((b"low", [2, 1, 0, 0]), (b"l\xf6w", [1, 1, 1, 0])):
        pq.write_table(pa.table({"risk": strings(b"low", b"high", last), "who": strings(b"1", b"2", last)}), tmp_path / "a.parquet")
        for privacy_id in (None, "who"):
            assert count(tmp_path / "a.parquet", "risk", LABELS, privacy_id, **STRICT).counts.tolist() == expected
    with pytest.raises(SourceError):
        count(tmp_path / "a.parquet", "risk", LABELS, nulls="none", other="rest")


def test_parquet_files_of_different_types_are_read_together(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": pa.array([1, 2], pa.int32()), "y": ["a", "b"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"z": ["c"], "x": pa.array([2**40], pa.int64())}), tmp_path / "b.parquet")
    assert count(tmp_path / "*.parquet", "x", [1, 2, "rest", "none"], **STRICT).counts.tolist() == [1, 1, 1, 0]
    pq.write_table(pa.table({"y": ["c"]}), tmp_path / "c.parquet")
    with pytest.raises(InvalidInputError, match="no column 'x' in one of the files"):
        count(tmp_path / "*.parquet", "x", [1, 2, "rest", "none"], **STRICT)


# --- what is refused, by public things alone --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"nulls": "none"},
        {"other": "rest"},
        {},
        {"nulls": "none", "other": "error"},
        {"nulls": "none", "other": "rest", "encoding": "utf-16"},
        {"nulls": "none", "other": "rest", "encoding": "utf-32-le"},
        {"nulls": "none", "other": "rest", "weight": "w"},
    ],
    ids=str,
)
def test_strict_counting_asks_where_everything_goes(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        count(io.BytesIO(b""), "risk", LABELS, strict=True, **options)


def test_formats_that_have_no_lines_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"risk": "low"}]')
    with pytest.raises(InvalidInputError, match=r"as \.jsonl"):
        count(tmp_path / "a.json", "risk", LABELS, **STRICT)


@pytest.mark.parametrize("header", [b"", b'"who,risk\n', b"\xff\xfe\n", b"who,Risk\n", b"risk,risk\n"])
def test_a_first_line_that_names_no_columns_is_refused(header: bytes) -> None:
    with pytest.raises((SourceError, InvalidInputError), match=r"first line|empty"):
        count(io.BytesIO(header), "risk", LABELS, **STRICT)


def test_no_rows_at_all_are_counts_of_zero() -> None:
    """A number of records that is private may be 0."""
    for privacy_id in (None, "who"):
        assert count(io.BytesIO(b"who,risk\n"), "risk", LABELS, privacy_id, **STRICT).counts.tolist() == [0, 0, 0, 0]


def test_files_of_other_types_are_refused_by_their_types_alone(tmp_path: Path) -> None:
    """One number too large for the common type would otherwise decide whether counting succeeds."""
    seen = set()
    for value in (3, 2**53 + 1):
        pq.write_table(pa.table({"risk": pa.array([1, 2, value], pa.int64())}), tmp_path / "a.parquet")
        pq.write_table(pa.table({"risk": pa.array([1.0, None], pa.float64())}), tmp_path / "b.parquet")
        with pytest.raises(dc.InvalidInputError, match="no common one holds exactly") as refused:
            count(tmp_path / "*.parquet", "risk", [1, 2], nulls=1, other=2, strict=True)
        seen.add(str(refused.value))
    assert len(seen) == 1


def test_an_id_that_is_a_time_is_refused_by_its_type_alone(tmp_path: Path) -> None:
    """An engine refuses a time that is too large for it, so that one person's id would decide."""
    for kind in (pa.duration("s"), pa.duration("ms"), pa.timestamp("ms", "UTC"), pa.timestamp("us")):
        seen = set()
        for last in (3, 2**63 - 1):
            pq.write_table(pa.table({"risk": ["low", "low"], "who": pa.array([1, last]).view(kind)}), tmp_path / "a.parquet")
            with pytest.raises(InvalidInputError, match="cannot be counted strictly") as refused:
                count(tmp_path / "a.parquet", "risk", LABELS, "who", **STRICT)
            seen.add(str(refused.value))
        assert len(seen) == 1


BITS = pa.opaque(pa.binary(), "bit", "DuckDB")
"""As DuckDB writes bits to Arrow: how many of the first byte are unused, then the bytes."""
UNSIGNED = pa.opaque(pa.binary(16), "uhugeint", "DuckDB")


@pytest.mark.parametrize(
    "values",
    [
        [pa.array([last, [("b", 2)]], pa.map_(pa.string(), pa.int64())) for last in ([("a", 1)], [("a", 1), ("a", 2)])],
        [pa.ExtensionArray.from_storage(BITS, pa.array([last, b"\0\1"])) for last in (b"\0\2", b"")],
        [pa.array([last, 2]).view(pa.time64("us")) for last in (1, 2**63 - 1)],
    ],
    ids=["map", "bits", "time"],
)
def test_an_id_of_any_other_type_is_refused_by_its_type_alone(tmp_path: Path, values: Sequence[pa.Array]) -> None:
    """An engine refuses to group by some values of it."""
    seen = set()
    for who in values:
        pq.write_table(pa.table({"risk": ["low", "low"], "who": who}), tmp_path / "a.parquet")
        with pytest.raises(InvalidInputError, match=r"cannot be counted strictly.*make it text") as refused:
            count(tmp_path / "a.parquet", "risk", LABELS, "who", **STRICT)
        seen.add(str(refused.value))
    assert len(seen) == 1


@pytest.mark.parametrize("kind", [pa.decimal128(4, 1), pa.decimal128(38, 2), pa.binary(2), pa.binary(), pa.bool_(), pa.uint64()], ids=str)
@pytest.mark.parametrize("byte", [0, 1, 0x7F, 0x80, 0xFF])
def test_any_plain_id_is_counted_whatever_its_bytes(tmp_path: Path, kind: pa.DataType, byte: int) -> None:
    content = pa.py_buffer(bytes([0] * 16 + [byte] * 16))
    offsets = [pa.py_buffer(np.array([0, 2, 4], dtype=np.int32).tobytes())] if pa.types.is_binary(kind) else []
    who = pa.Array.from_buffers(kind, 2, [None, *offsets, content])
    pq.write_table(pa.table({"risk": ["low", "low"], "who": who}), tmp_path / "a.parquet")
    assert count(tmp_path / "a.parquet", "risk", LABELS, "who", **STRICT).total in (1, 2)


@pytest.mark.parametrize(
    "options", [{"column": "x"}, {"column": "risk", "by": {"x": [1, 2]}, "other_groups": {"x": 2}}], ids=["answer", "group"]
)
def test_unsigned_numbers_too_large_to_be_compared_are_refused_by_their_type_alone(tmp_path: Path, options: dict[str, Any]) -> None:
    seen = set()
    for last in (b"\0" * 16, b"\xff" * 16):
        numbers = pa.ExtensionArray.from_storage(UNSIGNED, pa.array([last, b"\1" + b"\0" * 15], pa.binary(16)))
        pq.write_table(pa.table({"risk": [1, 2], "x": numbers}), tmp_path / "a.parquet")
        with pytest.raises(InvalidInputError, match="UInt128, which cannot be counted strictly") as refused:
            count(tmp_path / "a.parquet", categories=[1, 2, "rest", "none"], **options, **STRICT)
        seen.add(str(refused.value))
    assert len(seen) == 1


@pytest.mark.parametrize("make", [lambda table: table, lambda table: table.to_pandas(types_mapper=pd.ArrowDtype)], ids=["arrow", "pandas"])
def test_a_dictionary_of_bytes_is_refused_by_its_type_alone(make: Callable[[pa.Table], Any]) -> None:
    """It is read as text, which bytes may not be."""
    for last in (b"low", b"\xff"):
        table = make(pa.table({"x": pa.array([b"low", last]).dictionary_encode(), "risk": ["low", "high"]}))
        for options in (
            {"column": "x"},
            {"column": "risk", "privacy_id": "x"},
            {"column": "risk", "by": {"x": ["low"]}, "other_groups": {"x": "low"}},
        ):
            with pytest.raises(InvalidInputError, match="dictionary of values"):
                count(table, categories=LABELS, **options, **STRICT)
    text = make(pa.table({"x": pa.array(["low", "zebra"]).dictionary_encode()}))
    assert count(text, "x", LABELS, **STRICT).counts.tolist() == [1, 0, 1, 0]


def test_of_a_nested_type_only_its_name_is_shown(tmp_path: Path) -> None:
    """Libraries make the fields of a struct from the keys of the data."""
    pq.write_table(pa.table({"risk": [{"Ada Lovelace": 1}], "other": ["low"]}), tmp_path / "a.parquet")
    for column, privacy_id in (("risk", None), ("other", "risk")):
        for options in (STRICT, STRICT | {"strict": False}):
            with pytest.raises(InvalidInputError, match="has type Struct;") as refused:
                count(tmp_path / "a.parquet", column, LABELS, privacy_id, **options)
            assert "Ada" not in str(refused.value)


def test_categories_that_are_numbers_are_refused_whatever_they_are() -> None:
    """In pandas one missing value makes floats of whole numbers, which are written otherwise: every count would move."""
    for values in ([1, 1, 2], [1, 1, None], [1, 1.5, 2]):
        with pytest.raises(dc.InvalidInputError, match="cannot be counted strictly"):
            count(pd.DataFrame({"risk": pd.Series(values).astype("category")}), "risk", [1, 2], nulls=1, other=2, strict=True)
    text = pd.DataFrame({"risk": pd.Series(["a", "b", None]).astype("category")})
    assert count(text, "risk", ["a", "b"], nulls="a", other="b", strict=True).total == 3
