"""What `show --output` writes is read back by other programs as the same numbers and the same labels, none of which is a formula."""

import csv
from datetime import date, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from openpyxl import load_workbook

import discreet as dc
from discreet.errors import InvalidInputError
from discreet.present.exports import file_of, is_guarded, summary_table
from discreet.present.how_read import HowRead
from tests.cli.support import assert_refused, invoke

LABELS = ["=1+1", "+cmd|x", "@sum", "-a", "-5", "plain, with comma", "ünïcode"]
DANGEROUS = LABELS[:4]


def _record(groups: list[Any] | None = None) -> dc.Release:
    prior = dc.Dirichlet.uniform(categories=["yes", "no"])
    if groups is None:
        return dc.LatticeGeometric(prior, n=30, epsilon=1).release([10, 20])
    sizes = np.arange(20, 20 + len(groups))
    counts = np.stack([sizes // 3, sizes - sizes // 3], axis=1)
    return dc.LatticeGeometric(prior, n=sizes, epsilon=1, by={"=region": groups}).release(counts)


@pytest.fixture(scope="module")
def record() -> dc.Release:
    return _record(LABELS)


def test_a_table_has_the_columns_and_numbers_of_the_summary(record: dc.Release) -> None:
    table = summary_table(record, HowRead(0.9))
    expected = record.noise_aware().summary(0.9)
    pd.testing.assert_frame_equal(table.to_pandas(), expected)
    alone = summary_table(record, only="yes").to_pandas()
    assert alone["category"].unique().tolist() == ["yes"]
    assert alone["mean"].tolist() == record.noise_aware().summary()["mean"].tolist()[::2]
    of_records = summary_table(record, HowRead(about="records")).to_pandas()
    pd.testing.assert_frame_equal(of_records, record.noise_aware().records.summary())


def test_a_cross_table_has_a_row_for_each_group(record: dc.Release) -> None:
    table = summary_table(record, layout="cross")
    summary = record.noise_aware().summary()
    assert table.column_names == ["=region", "yes", "yes low", "yes high", "no", "no low", "no high"]
    assert table.column("=region").to_pylist() == LABELS
    for start, category in enumerate(["yes", "no"]):
        for name, column in {"mean": category, "low": f"{category} low", "high": f"{category} high"}.items():
            assert table.column(column).to_pylist() == summary[name].tolist()[start::2]
    one = summary_table(_record(), layout="cross", only="no")
    assert (one.num_rows, one.column_names) == (1, ["no", "no low", "no high"])


def test_excel_reads_the_same_and_computes_nothing(record: dc.Release) -> None:
    table = summary_table(record)
    sheet = load_workbook(BytesIO(file_of(table, ".xlsx"))).active
    assert sheet is not None
    head, *rows = sheet.iter_rows()
    assert [cell.value for cell in head] == table.column_names
    read = np.array([[cell.value for cell in row[2:]] for row in rows])
    numbers = np.array([list(row.values())[2:] for row in table.to_pylist()])
    assert read.tolist() == numbers.tolist()
    assert {type(cell.value) for row in rows for cell in row[2:]} == {float}
    assert any(float(f"{number:.16g}") != number for number in numbers.ravel())  # which openpyxl itself would have changed
    assert [row[0].value for row in rows] == [label for label in LABELS for _ in range(2)]
    assert {cell.data_type for row in (head, *rows) for cell in row[:2]} == {"s"}
    assert {row[0].value for row in rows if row[0].quotePrefix} == set(DANGEROUS)


@pytest.mark.parametrize("labels", [[1, 2], [True, False], [0.1, 0.30000000000000004], [date(2026, 11, 18), date(2024, 2, 29)]])
def test_labels_that_are_no_text_keep_their_kind_in_excel(labels: list[Any]) -> None:
    sheet = load_workbook(BytesIO(file_of(summary_table(_record(labels), layout="cross"), ".xlsx"))).active
    assert sheet is not None
    found = [cell.value.date() if isinstance(cell.value, datetime) else cell.value for cell in next(iter(sheet.columns))[1:]]
    assert found == labels
    assert list(map(type, found)) == list(map(type, labels))


def test_no_two_labels_become_one_in_csv() -> None:
    labels = ["=a", "'=a", "'" + "'=a", "'a", "a", "-5", "'-5"]
    rows = csv.reader(file_of(summary_table(_record(labels), layout="cross"), ".csv").decode("utf-8-sig").splitlines())
    guarded = labels[:3] + labels[-1:]
    assert [row[0] for row in rows][1:] == ["'" + label if label in guarded else label for label in labels]


def test_csv_has_an_apostrophe_before_what_looks_like_a_formula(record: dc.Release) -> None:
    table = summary_table(record)
    content = file_of(table, ".csv")
    assert content.startswith(b"\xef\xbb\xbf")
    head, *rows = csv.reader(content.decode("utf-8-sig").splitlines())
    assert head == ["'=region", *table.column_names[1:]]
    assert [row[0] for row in rows[::2]] == [f"'{label}" if label in DANGEROUS else label for label in LABELS]
    assert [list(map(float, row[2:])) for row in rows] == [list(row.values())[2:] for row in table.to_pylist()]
    assert [is_guarded(label) for label in (*LABELS, "\tx", "\rx", "+1.5", 5)] == [
        *(label in DANGEROUS for label in LABELS),
        True,
        True,
        False,
        False,
    ]


def test_parquet_has_the_labels_as_they_are(record: dc.Release) -> None:
    table = summary_table(record)
    assert pyarrow.parquet.read_table(BytesIO(file_of(table, ".parquet"))).equals(table)


def test_a_label_that_a_sheet_cannot_hold_is_refused() -> None:
    table = summary_table(_record(["a\rb", "c"]))
    with pytest.raises(InvalidInputError, match="Excel files cannot hold"):
        file_of(table, ".xlsx")
    with pytest.raises(InvalidInputError, match=r"written as \.csv"):
        file_of(table, ".ods")


def test_show_writes_new_files_alone(record: dc.Release, tmp_path: Path) -> None:
    place = tmp_path / "record.json"
    place.write_text(record.to_json())
    done = invoke("show", place, "--output", tmp_path / "table.csv", "--layout", "cross", "--only", "yes")
    assert done.exit_code == 0, done.output
    assert "apostrophe" in done.output
    assert file_of(summary_table(record, layout="cross", only="yes"), ".csv") == (tmp_path / "table.csv").read_bytes()
    assert invoke("show", place, "--output", tmp_path / "table.xlsx", "--json").exit_code == 0
    before = (tmp_path / "table.csv").read_bytes()
    for words, said in {
        ("--output", tmp_path / "table.csv"): "exists",
        ("--output", tmp_path / "table.ods"): "must end in",
        ("--output", tmp_path / "record.json"): "must end in",
        ("--output", tmp_path / "new.csv", "--layout", "wide"): "--layout must be long or cross",
        ("--output", tmp_path / "new.csv", "--only", "perhaps"): "--only must be one of the categories 'yes', 'no'",
        ("--layout", "cross"): "about the table of --output",
        ("--output", tmp_path / "new.csv", "--reference", "-5", "--category", "yes"): "leave out one of the two",
    }.items():
        assert_refused(invoke("show", place, *words), said)
    assert (tmp_path / "table.csv").read_bytes() == before
    assert not (tmp_path / "new.csv").exists()


def test_blanks_and_full_width_do_not_hide_a_formula() -> None:
    hidden = [" =1+1", "\u00a0+x", "\n@sum", "\uff1d1", " -a"]
    assert all(map(is_guarded, hidden))
    assert not any(map(is_guarded, [" plain", "a=1", " 5"]))
