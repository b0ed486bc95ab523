"""Counting tables and files. Oracle: counting the same rows in plain Python."""

import gzip
import io
import json
import logging
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from pprint import pformat
from typing import Any

import duckdb
import ibis
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.data.count import CategoryCounts, count
from discreet.errors import DiscreetError, InvalidInputError, SourceError

CATEGORIES = ("low", "mid", "high")
ANSWERS = ["low", "mid", "low", "high", "low", "mid"]
SECRET = "hunter2-Köhler"  # noqa: S105

Table = Callable[[dict[str, list[Any]]], Any]


CONNECTION = duckdb.connect()
"""Kept, because the relations of older versions of DuckDB die with their connection."""


def _duckdb(columns: dict[str, list[Any]]) -> Any:
    return CONNECTION.from_arrow(pa.table(columns))


TABLES: dict[str, Table] = {
    "pandas": pd.DataFrame,
    "pandas, nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas, arrow": lambda columns: pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame,
    "polars, lazy": pl.LazyFrame,
    "pyarrow": pa.table,
    "DuckDB": _duckdb,
    "Ibis": lambda columns: ibis.memtable(pa.table(columns)),
}


@pytest.fixture(params=TABLES)
def table(request: pytest.FixtureRequest) -> Table:
    return TABLES[request.param]


def by_hand(values: Sequence[Any], categories: Sequence[Any] = CATEGORIES) -> list[int]:
    seen = Counter(values)
    return [seen[category] for category in categories]


# --- every kind of table ----------------------------------------------------------------------------------------------


def test_counts_a_column(table: Table) -> None:
    counts = count(table({"risk": ANSWERS, "age": [1, 2, 3, 4, 5, 6]}), "risk", CATEGORIES)
    assert counts.counts.tolist() == by_hand(ANSWERS)
    assert (counts.total, counts.categories, counts.unit) == (6, CATEGORIES, "record")


def test_undeclared_values_and_nulls_go_where_they_are_told(table: Table) -> None:
    source = table({"risk": [*ANSWERS, None, "zebra", None, "ant"]})
    assert count(source, "risk", CATEGORIES, nulls="mid", other="high").counts.tolist() == [3, 4, 3]


@pytest.mark.parametrize(("extra", "option"), [("zebra", "other="), (None, "nulls=")])
def test_undeclared_values_and_nulls_are_errors_by_default(table: Table, extra: str | None, option: str) -> None:
    source = table({"risk": [*ANSWERS, extra]})
    with pytest.raises(SourceError, match=option) as caught:
        count(source, "risk", CATEGORIES, nulls="low" if extra else "error", other="error" if extra else "low")
    assert "zebra" not in str(caught.value)
    assert not any(character.isdigit() for character in str(caught.value))


@pytest.mark.parametrize("more", [{}, {"privacy_id": "who"}, {"weight": "weight"}, {"na_values": ["sheep"]}], ids=str)
def test_a_column_without_any_declared_category_is_taken_for_a_wrong_one(table: Table, more: dict[str, Any]) -> None:
    rows: dict[str, list[Any]] = {"who": [1, 2, 3], "weight": [1, 2, 3], "risk": ["zebra", None, "sheep"]}
    homes: dict[str, Any] = {"nulls": "mid", "other": "high", **more}
    said = "no value of column 'risk' is one of the declared categories 'low', 'mid', 'high': is it the right column, and"
    with pytest.raises(SourceError, match=said) as error:
        count(table(rows), "risk", CATEGORIES, **homes)
    assert "zebra" not in str(error.value)
    assert count(table({**rows, "risk": ["zebra", None, "low"]}), "risk", CATEGORIES, **homes).counts[0] > 0
    assert count(table({**rows, "risk": ["zebra", None, "donkey"]}), "risk", CATEGORIES, mapping={"donkey": "low"}, **homes).counts[0] > 0
    if "weight" not in more:
        assert count(table(rows), "risk", CATEGORIES, **homes, strict=True).total == 3


def test_no_rows_have_no_wrong_column() -> None:
    empty = pa.table({"risk": pa.array([], pa.string())})
    assert count(empty, "risk", CATEGORIES, nulls="mid", other="high").total == 0


def test_undeclared_values_and_nulls_are_reported_together(table: Table) -> None:
    with pytest.raises(SourceError) as caught:
        count(table({"risk": [*ANSWERS, "zebra", None]}), "risk", CATEGORIES)
    for said in (str(caught.value), caught.value.in_shell):
        assert "values outside the declared categories and nulls" in said
        assert "private, so not shown" in said
    assert "corrected by corrections=, which is never published" in str(caught.value)
    assert "other=... and nulls=..." in str(caught.value)
    assert "corrected by --corrections FILE, which is never published" in caught.value.in_shell
    assert "--other CATEGORY and --nulls CATEGORY" in caught.value.in_shell
    assert "--" not in str(caught.value)
    assert "=..." not in caught.value.in_shell


@pytest.mark.parametrize("categories", [(1, 2, 3), ("1", "2", "3"), (np.int64(1), np.int64(2), np.int64(3))])
def test_whole_numbers_match_their_spelling(table: Table, categories: Sequence[Any]) -> None:
    assert count(table({"risk": [1, 2, 1, 3]}), "risk", categories).counts.tolist() == [2, 1, 1]
    assert count(table({"risk": ["1", "2", "1", "3"]}), "risk", categories).counts.tolist() == [2, 1, 1]
    assert count(table({"risk": [1.0, 2.0, 1.0, 3.0]}), "risk", categories).counts.tolist() == [2, 1, 1]


def test_other_spellings_of_a_number_are_other_values(table: Table) -> None:
    assert count(table({"risk": ["01", "1", " 1", "1.0", "+1"]}), "risk", [1, "rest"], other="rest").counts.tolist() == [1, 4]
    assert count(table({"risk": [1, 2]}), "risk", ["01", "1", "rest"], other="rest").counts.tolist() == [0, 1, 1]


@pytest.mark.parametrize("categories", [(True, False), ("true", "false"), ("True", "False"), ("TRUE", "FALSE")])
def test_truth_values_match_their_spellings(table: Table, categories: Sequence[Any]) -> None:
    assert count(table({"smokes": [True, False, True]}), "smokes", categories).counts.tolist() == [2, 1]
    with pytest.raises(InvalidInputError, match="two of the categories"):
        count(table({"smokes": [True, False, True]}), "smokes", ["true", "True", "false"])
    with pytest.raises(InvalidInputError, match="declare True and False"):
        count(table({"smokes": [True, False, True]}), "smokes", [0, 1])


def test_text_is_a_truth_value_where_truth_values_are_declared(table: Table, tmp_path: Path) -> None:
    answers = ["True", "False", "true", "TRUE", "FALSE"]
    assert count(table({"smokes": answers}), "smokes", [True, False]).counts.tolist() == [3, 2]
    assert count(table({"smokes": answers}), "smokes", ["True", "true", "rest"], other="rest").counts.tolist() == [1, 1, 3]
    pd.DataFrame({"smokes": [True, False, True]}).to_csv(tmp_path / "written by pandas.csv")
    assert count(tmp_path / "written by pandas.csv", "smokes", [True, False]).counts.tolist() == [2, 1]


def test_both_zeros_are_one_number_and_one_person(table: Table) -> None:
    zeros = table({"who": [0.0, -0.0, 1.0], "code": [0.0, -0.0, -0.0]})
    assert count(zeros, "code", range(40)).counts.tolist() == [3, *[0] * 39]
    assert count(zeros, "code", [0, 1], privacy_id="who").total == 2


def test_not_a_number_is_a_null(table: Table) -> None:
    source = table({"risk": [1.0, float("nan"), None, 1.5]})
    assert count(source, "risk", [1, 2, 3], nulls=2, other=3).counts.tolist() == [1, 2, 1]


def test_text_is_compared_as_it_is(table: Table) -> None:
    source = table({"risk": ["low", "Low", "low ", "caf\u00e9", "cafe\u0301"]})
    assert count(source, "risk", ["low", "caf\u00e9", "rest"], other="rest").counts.tolist() == [1, 1, 3]


def test_a_category_may_be_out_of_the_column_types_range() -> None:
    source = pl.DataFrame({"risk": pl.Series([1, 2, 2], dtype=pl.Int8)})
    assert count(source, "risk", [1, 2, 300]).counts.tolist() == [1, 2, 0]
    assert count(pl.DataFrame({"risk": pl.Series([1.0], dtype=pl.Float32)}), "risk", [1, 2**24 + 1]).counts.tolist() == [1, 0]


@pytest.mark.parametrize(
    "source",
    [
        pd.DataFrame({"risk": pd.Categorical([*ANSWERS, None])}),
        pd.DataFrame({"risk": pd.Series([*ANSWERS, None], dtype=object)}),
        pl.DataFrame({"risk": pl.Series([*ANSWERS, None], dtype=pl.Categorical)}),
        pl.DataFrame({"risk": pl.Series([*ANSWERS, None], dtype=pl.Enum(CATEGORIES))}),
        pa.table({"risk": pa.array([*ANSWERS, None]).dictionary_encode()}),
        pa.table({"risk": pa.array([*ANSWERS, None], pa.large_string())}),
    ],
    ids=["pandas categorical", "pandas object", "polars categorical", "polars enum", "dictionary", "large text"],
)
def test_every_way_to_store_text(source: Any) -> None:
    assert count(source, "risk", CATEGORIES, nulls="high").counts.tolist() == [3, 2, 2]


def test_many_categories(table: Table) -> None:
    values = list(range(1500))
    assert count(table({"code": values * 2}), "code", values).counts.tolist() == [2] * 1500


@given(st.lists(st.sampled_from([*CATEGORIES, None, "zebra", ""]), min_size=1, max_size=30))
def test_counting_agrees_with_counting_by_hand(values: list[str | None]) -> None:
    values = ["low", *values]  # a column without any declared category is taken for a wrong one
    mapped = ["mid" if not value else value if value in CATEGORIES else "high" for value in values]
    for source in (pl.DataFrame({"risk": pl.Series(values, dtype=pl.String)}), pa.table({"risk": pa.array(values, pa.string())})):
        assert count(source, "risk", CATEGORIES, nulls="mid", other="high").counts.tolist() == by_hand(mapped)


# --- one record per person --------------------------------------------------------------------------------------------


def test_a_person_counts_once_in_their_first_declared_category(table: Table) -> None:
    source = table({"who": ["a", "b", "a", "c", "b", "d"], "risk": ["high", "mid", "low", None, "zebra", "zebra"]})
    counts = count(source, "risk", CATEGORIES, privacy_id="who", nulls="high", other="mid")
    assert counts.counts.tolist() == [1, 2, 1]  # a: low, b: mid, c: null, d: other
    assert (counts.total, counts.unit) == (4, "person")


def test_a_null_of_someone_who_also_answered_is_no_null(table: Table) -> None:
    assert count(table({"who": [1, 1, 2], "risk": [None, "mid", "low"]}), "risk", CATEGORIES, privacy_id="who").counts.tolist() == [1, 1, 0]


def test_a_null_id_is_an_error(table: Table) -> None:
    for who in (["a", None, "b"], [1, None, 2], [1.0, float("nan"), 2.0]):
        with pytest.raises(SourceError, match="every row must say whose it is"):
            count(table({"who": who, "risk": ["low", "mid", "low"]}), "risk", CATEGORIES, privacy_id="who")


@given(st.data())
def test_row_order_never_matters_and_one_person_moves_at_most_one_count(data: st.DataObject) -> None:
    row = st.tuples(st.integers(1, 5), st.sampled_from([*CATEGORIES, None, "zebra"]))
    rows = data.draw(st.lists(row, min_size=1, max_size=12))
    changed = [(who, data.draw(st.sampled_from([*CATEGORIES, None, "zebra"])) if who == rows[0][0] else risk) for who, risk in rows]

    def tally(records: list[tuple[int, str | None]]) -> Any:
        source = pl.DataFrame([(9, "low"), *records], schema={"who": pl.Int64, "risk": pl.String}, orient="row")
        return count(source, "risk", CATEGORIES, privacy_id="who", nulls="low", other="high").counts

    before, after = tally(rows), tally(changed)
    assert tally(data.draw(st.permutations(rows))).tolist() == before.tolist()
    assert before.sum() == after.sum() == len({who for who, _ in rows}) + 1
    assert abs(before - after).sum() <= 2


# --- files ------------------------------------------------------------------------------------------------------------


def write_csv(path: Path, rows: Sequence[Sequence[str]], delimiter: str = ",") -> Path:
    path.write_text("".join(delimiter.join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_formats_agree(tmp_path: Path) -> None:
    rows = pa.table({"who": [1, 1, 2, 3], "risk": ["high", "low", "mid", "low"]})
    pq.write_table(rows, tmp_path / "survey.parquet")
    write_csv(tmp_path / "survey.csv", [("who", "risk"), *((str(r["who"]), r["risk"]) for r in rows.to_pylist())])
    (tmp_path / "survey.csv.gz").write_bytes(gzip.compress((tmp_path / "survey.csv").read_bytes()))
    (tmp_path / "survey.json").write_text(json.dumps(rows.to_pylist()))
    (tmp_path / "survey.jsonl").write_text("\n".join(json.dumps(row) for row in rows.to_pylist()))
    for name in ("survey.parquet", "survey.csv", "survey.csv.gz", "survey.json", "survey.jsonl"):
        assert count(tmp_path / name, "risk", CATEGORIES).counts.tolist() == [2, 1, 1], name
        assert count(str(tmp_path / name), "risk", CATEGORIES, privacy_id="who").counts.tolist() == [2, 1, 0], name


def test_csv_cells_are_text_as_written(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "codes.csv", [("code", "x"), ("01", "a"), ("1", "b"), ("1.0", "c"), ("2024-01-01", "d"), ("NA", "e")])
    assert count(file, "code", ["01", "1", "1.0", "2024-01-01", "NA"]).counts.tolist() == [1] * 5
    assert count(file, "code", [1, "rest"], other="rest").counts.tolist() == [1, 4]


def test_json_values_are_text_as_written(tmp_path: Path) -> None:
    (tmp_path / "codes.json").write_text('[{"code": "01"}, {"code": 1}, {"code": true}, {"code": null}, {"code": "2024-01-01"}, {"x": 1}]')
    counts = count(tmp_path / "codes.json", "code", ["01", 1, True, "2024-01-01", "none"], nulls="none")
    assert counts.counts.tolist() == [1, 1, 1, 1, 2]


def test_no_line_of_a_csv_file_is_taken_for_a_comment_or_skipped(tmp_path: Path) -> None:
    commented = write_csv(tmp_path / "a.csv", [("risk", "x"), ("low", "1"), ("#low", "2"), ("mid", "3")])
    assert count(commented, "risk", ["low", "mid", "#low"]).counts.tolist() == [1, 1, 1]
    empty_cells = write_csv(tmp_path / "b.csv", [("risk",), ("low",), ("",), ("",), ('""',), ("mid",)])
    assert count(empty_cells, "risk", CATEGORIES, nulls="high").counts.tolist() == [1, 1, 3]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_read_off_the_header(tmp_path: Path, delimiter: str) -> None:
    rows = [("id", "risk"), ("1", "low"), ("2", '"a,b;c|d"'), ("3", "low")]
    file = write_csv(tmp_path / "survey.csv", rows, delimiter)
    assert count(file, "risk", ["low", "a,b;c|d"]).counts.tolist() == [2, 1]


def test_a_pattern_reads_all_its_files_by_column_name(tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", [("risk", "id"), ("low", "1")])
    write_csv(tmp_path / "b.csv", [("id", "risk"), ("2", "mid")])
    assert count(tmp_path / "*.csv", "risk", CATEGORIES).counts.tolist() == [1, 1, 0]
    pq.write_table(pa.table({"risk": ["low"], "id": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"id": [2], "risk": ["mid"]}), tmp_path / "b.parquet")
    assert count(str(tmp_path / "*.parquet"), "risk", CATEGORIES).counts.tolist() == [1, 1, 0]


def test_a_file_without_the_column_is_not_read_as_nulls(tmp_path: Path) -> None:
    pq.write_table(pa.table({"risk": ["low"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"other": ["mid"]}), tmp_path / "b.parquet")
    with pytest.raises(InvalidInputError, match="no column 'risk'"):
        count(tmp_path / "*.parquet", "risk", CATEGORIES, nulls="low")


@pytest.mark.parametrize("strict", [False, True])
def test_a_file_is_counted_once_whatever_leads_to_it(tmp_path: Path, *, strict: bool) -> None:
    folder = tmp_path / "years" / "2024"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("risk\nlow\n")
    (folder / "b.csv").write_text("risk\nlow\n")
    (folder / "latest.csv").symlink_to("b.csv")
    (folder / "twin.csv").hardlink_to(folder / "a.csv")
    (folder / "again").symlink_to(".")
    for pattern in ("years/2024/*.csv", "**/*.csv", "**/**/*.csv", "years/*/again/*.csv"):
        assert count(tmp_path / pattern, "risk", CATEGORIES, nulls="high", other="high", strict=strict).total == 2


def test_a_file_name_that_looks_like_a_pattern_is_a_file_name(tmp_path: Path) -> None:
    write_csv(tmp_path / "survey[1].csv", [("risk",), ("low",), ("mid",)])
    write_csv(tmp_path / "survey1.csv", [("risk",), ("high",)])
    assert count(tmp_path / "survey[1].csv", "risk", CATEGORIES).counts.tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    "name", ['ri"sk', "risk'; DROP TABLE x; --", "ri sk", "a.b", "risk)", "значение", "value", "person", "records", "code"]
)
def test_any_column_name_is_only_a_name(tmp_path: Path, name: str) -> None:
    columns: dict[str, list[Any]] = {name: ["low", "mid", "low"], "who ' \" is": ["a", "b", "b"]}
    pq.write_table(pa.table(columns), tmp_path / "names.parquet")
    for source in (*(make(columns) for make in TABLES.values()), tmp_path / "names.parquet"):
        assert count(source, name, CATEGORIES, privacy_id="who ' \" is").counts.tolist() == [2, 0, 0]


@pytest.mark.parametrize("label", ["'); DROP TABLE x; --", "a'b", 'a"b', "%", "\\", "🙂", "", " "])
def test_any_label_is_only_a_label(table: Table, label: str) -> None:
    assert count(table({"risk": [label, "low", label]}), "risk", ["low", label]).counts.tolist() == [1, 2]


# --- what is refused --------------------------------------------------------------------------------------------------


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_text(SECRET)
    (tmp_path / "broken.json").write_text('[{"risk": "' + SECRET)
    (tmp_path / "latin.csv").write_bytes(b"risk,x\n" + SECRET.encode("latin-1") + b",1\n")
    (tmp_path / "ragged.csv").write_text(f"risk,x\n{SECRET}\nlow,1,{SECRET},3\n")
    (tmp_path / "late.csv").write_text("risk,x\n" + "low,1\n" * 30000 + f"{SECRET}\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "survey.xlsx").write_text("")
    cases = [*sorted(tmp_path.iterdir()), tmp_path, tmp_path / "none.csv", tmp_path / "*.nothing", "s3://bucket/a.parquet", tmp_path / "*"]
    for case in cases:
        with pytest.raises(DiscreetError) as caught:
            count(case, "risk", CATEGORIES)
        assert SECRET not in everything_said(caught.value), case


@pytest.mark.parametrize("name", ["header.csv", "nothing.jsonl", "blank.jsonl", "nothing.json", "list.json"])
def test_a_file_without_records_has_counts_of_zero(tmp_path: Path, name: str) -> None:
    contents = {"header.csv": "risk,who\n", "nothing.jsonl": "", "blank.jsonl": "\n", "nothing.json": "", "list.json": "[]"}
    (tmp_path / name).write_text(contents[name])
    for privacy_id in (None, "who"):
        found = count(tmp_path / name, "risk", CATEGORIES, privacy_id)
        assert found.counts.tolist() == [0] * len(CATEGORIES)
        assert found.total == 0


def test_a_table_without_records_has_counts_of_zero(table: Table) -> None:
    full = table({"risk": ANSWERS, "who": ANSWERS})
    empty = nw.from_native(full).filter(nw.col("who") == "nobody").to_native()
    for privacy_id in (None, "who"):
        assert count(empty, "risk", CATEGORIES, privacy_id).counts.tolist() == [0] * len(CATEGORIES)


def test_a_missing_column_names_those_there_are(table: Table) -> None:
    source = table({"risk": ANSWERS, "who": ANSWERS})
    with pytest.raises(InvalidInputError, match=r"'Risk'; .* 'risk', 'who'"):
        count(source, "Risk", CATEGORIES)
    with pytest.raises(InvalidInputError, match="no column 'id'"):
        count(source, "risk", CATEGORIES, privacy_id="id")


def test_the_first_line_of_a_csv_file_without_a_header_is_not_shown(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "bare.csv", [(SECRET, "1"), ("low", "2")])
    with pytest.raises(InvalidInputError, match="no column 'risk'") as caught:
        count(file, "risk", CATEGORIES)
    assert SECRET not in everything_said(caught.value)


def test_only_the_columns_that_are_absent_are_named(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "survey.csv", [("who", "risk"), ("1", "low")])
    for source in (file, pl.read_csv(file)):
        with pytest.raises(InvalidInputError, match=r"column 'Who'[^R]*; capital letters"):
            count(source, "risk", CATEGORIES, privacy_id="Who")
        with pytest.raises(InvalidInputError, match="no column 'Risk' and no column 'Who'"):
            count(source, "Risk", CATEGORIES, privacy_id="Who")


def test_a_column_that_is_named_twice_is_refused(tmp_path: Path) -> None:
    for header in (("risk", "risk"), ("Risk", "risk"), ("risk", "x", "risk")):
        file = write_csv(tmp_path / "twice.csv", [header, ("low", "mid", "high")[: len(header)]])
        with pytest.raises(InvalidInputError, match="names the column 'risk' more than once"):
            count(file, "risk", CATEGORIES)
    unasked = write_csv(tmp_path / "unasked.csv", [("x", "risk", "x", "Risk"), ("1", "low", "2", "mid")])
    assert count(unasked, "risk", CATEGORIES).counts.tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("risk,x\nlow,1\nmid,2,3\n", "more or fewer cells than the first"),
        ("risk,x\nlow,1\nmid\n", "more or fewer cells than the first"),
        ("risk,x\n" + "low,1\n" * 30000 + "mid,2,3\n", "more or fewer cells than the first"),
        ('risk,x\n"low,1\nmid,2\n', "a quote that is not closed"),
        ("risk,x\n" + "low,1\n" * 30000 + '"mid,2\n', "a quote in the CSV file is not closed"),
        ("risk,x\nl\xf6w,1\n", "not UTF-8"),
        ("risk,x\n" + "low,1\n" * 30000 + "l\xf6w,1\n", "not UTF-8"),
        ("", "the CSV file is empty"),
    ],
    ids=["long line", "short line", "late line", "quote", "late quote", "encoding", "late encoding", "empty"],
)
def test_a_broken_csv_file_is_told_what_is_wrong_with_it(tmp_path: Path, content: str, why: str) -> None:
    (tmp_path / "broken.csv").write_bytes(content.encode("latin-1"))
    (tmp_path / "broken.csv.gz").write_bytes(gzip.compress(content.encode("latin-1")))
    for name in ("broken.csv", "broken.csv.gz"):
        with pytest.raises(SourceError, match=why) as caught:
            count(tmp_path / name, "risk", CATEGORIES)
        assert caught.value.__context__ is None


def test_a_file_that_is_not_there_is_named_with_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, message in (("none.csv", "there is no file"), ("*.csv", "no file matches")):
        with pytest.raises(SourceError, match=message) as caught:
            count(name, "risk", CATEGORIES)
        assert repr(str(tmp_path / name)) in str(caught.value)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pl.Series(["2024-01-01"]).str.to_date(), "Date"),
        (pl.Series([b"low"]), "Binary"),
        (pl.Series([["low"]]), "List"),
        (pl.Series(["1.5"]).cast(pl.Decimal(10, 2)), "Decimal"),
    ],
)
def test_columns_without_plain_equality_are_refused(values: pl.Series, kind: str) -> None:
    with pytest.raises(InvalidInputError, match=f"{kind}.*convert it to text"):
        count(pl.DataFrame({"risk": values}), "risk", CATEGORIES)
    if kind == "List":
        with pytest.raises(InvalidInputError, match="an id must be"):
            count(pl.DataFrame({"who": values, "risk": ["low"]}), "risk", CATEGORIES, privacy_id="who")


@pytest.mark.parametrize(
    "arguments",
    [
        {"categories": "low"},
        {"categories": ["low"]},
        {"categories": ["low", "low"]},
        {"categories": [1, "1"]},
        {"categories": [True, "true"]},
        {"categories": [True, "True"]},
        {"categories": ["low", None]},
        {"categories": [0.5, 1.5]},
        {"categories": 3},
        {"column": 3},
        {"column": "*"},
        {"column": "^r.*$"},
        {"privacy_id": 3},
        {"privacy_id": "risk"},
        {"nulls": "zebra"},
        {"other": None},
        {"other": 1, "categories": [True, False]},
        {"source": ["low", "mid"]},
        {"source": np.array(["low"])},
        {"source": None},
        {"source": pa.table({"risk": [1, 2]})},
    ],
    ids=str,
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        count(**{"source": pa.table({"risk": ANSWERS}), "column": "risk", "categories": CATEGORIES, **arguments})


@pytest.mark.parametrize("library", [pd, pl])
def test_a_column_alone_is_told_how_to_become_a_table(library: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"\.to_frame\(\)"):
        count(library.Series(ANSWERS), "risk", CATEGORIES)


def test_a_mixed_column_of_pandas_is_told_about_convert_dtypes() -> None:
    with pytest.raises(InvalidInputError, match=r"convert_dtypes\(\)"):
        count(pd.DataFrame({"risk": pd.Series([1, "low"], dtype=object)}), "risk", CATEGORIES)


def test_error_means_error_even_where_a_category_is_called_so() -> None:
    with pytest.raises(SourceError, match="nulls"):
        count(pa.table({"state": ["ok", None]}), "state", ["ok", "error"], nulls="error")


# --- what is private stays private ------------------------------------------------------------------------------------


def everything_said(error: BaseException) -> str:
    """The error, its whole chain (suppressed or not) and its traceback, as text."""
    texts, seen = [], error
    while seen is not None:
        texts += [str(seen), repr(seen.args), *traceback.format_exception(seen)]
        seen = seen.__cause__ or seen.__context__  # type: ignore[assignment]
    return "\n".join(texts)


@pytest.mark.parametrize("privacy_id", [None, "who"])
def test_no_engine_error_reaches_the_caller(privacy_id: str | None, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT ? AS who, ? AS risk", [SECRET, SECRET])
    plans = [
        connection.sql("SELECT who, CAST(risk AS INTEGER) AS risk FROM t"),
        pl.LazyFrame({"who": [SECRET], "risk": [SECRET]}).with_columns(pl.col("risk").cast(pl.Int64)),
        ibis.memtable(pa.table({"who": [SECRET], "risk": [SECRET]})).mutate(risk=ibis._.risk.cast("int64")),
    ]
    for plan in plans:
        said = io.StringIO()
        with redirect_stdout(said), redirect_stderr(said), pytest.raises(SourceError) as caught:
            count(plan, "risk", [1, 2], privacy_id=privacy_id)
        assert caught.value.__context__ is None
        assert SECRET not in everything_said(caught.value) + said.getvalue() + caplog.text


def test_what_keeps_an_engine_from_starting_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing has been read by then, so nothing can be quoted; and in one line, as every error."""
    (tmp_path / "a.csv").write_text("risk\nlow\n")
    with monkeypatch.context() as broken:
        broken.setitem(sys.modules, "duckdb", None)
        with pytest.raises(SourceError, match="import of duckdb halted"):
            count(tmp_path / "a.csv", "risk", CATEGORIES)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(SourceError, match=r"No such file or directory.*nowhere"):
        count(tmp_path / "a.csv", "risk", CATEGORIES)


def test_undeclared_secrets_are_not_shown(table: Table, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    source = table({"risk": ["low", SECRET], "who": [SECRET, SECRET + "2"]})
    for privacy_id in (None, "who"):
        with pytest.raises(SourceError) as caught:
            count(source, "risk", CATEGORIES, privacy_id=privacy_id)
        assert SECRET not in everything_said(caught.value) + caplog.text


def test_the_counts_show_themselves_to_no_one() -> None:
    counts = CategoryCounts(np.array([271828, 314159]), ("yes", "no"), "record")
    shown = "".join([repr(counts), str(counts), f"{counts}", pformat(counts), pformat([counts]), repr({"counts": counts})])
    assert "271828" not in shown
    assert repr(counts) == "CategoryCounts(2 categories, unit='record')"


def test_spilled_data_goes_to_a_directory_of_its_own_and_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cwd").mkdir()
    (tmp_path / "scratch").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    pq.write_table(pa.table({"risk": ANSWERS}), tmp_path / "a.parquet")
    count(tmp_path / "a.parquet", "risk", CATEGORIES)
    assert not [*(tmp_path / "cwd").iterdir(), *(tmp_path / "scratch").iterdir()]


# --- in the rest of the library ---------------------------------------------------------------------------------------


def test_counts_are_accepted_where_counts_are() -> None:
    counts = count(pa.table({"risk": ANSWERS}), "risk", CATEGORIES)
    prior = dc.Dirichlet([1, 1, 1], categories=counts.categories)
    assert prior.update(counts) == prior.update([3, 2, 1])
    assert np.asarray(counts).dtype == np.int64
    assert np.asarray(counts, dtype=float).tolist() == [3.0, 2.0, 1.0]
    assert len(counts) == 3
    with pytest.raises(ValueError, match="read-only"):
        counts.counts[0] = 7
