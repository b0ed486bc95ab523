"""The columns of a file or of a table of a database, with their kinds, as a curator sees them before anything is declared."""

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import discreet as dc
from discreet.data.sources import columns_of

TABLE = pa.table({"who": ["a", "b"], "hours": [1.5, 2.0], "age": [30, 40]})


def _written(folder: Path, kind: str) -> Path:
    place = folder / f"table.{kind}"
    rows: list[tuple[Any, ...]] = [("who", "hours", "age"), ("a", 1.5, 30), ("b", 2.0, 40)]
    text = "\n".join(";".join(map(str, row)) for row in rows)
    if kind == "csv":
        place.write_text(text)
    elif kind == "csv.gz":
        place.write_bytes(gzip.compress(text.encode()))
    elif kind == "jsonl":
        place.write_text("\n".join(f'{{"who": "{who}", "hours": {hours}, "age": {age}}}' for who, hours, age in rows[1:]))
    elif kind == "parquet":
        parquet.write_table(TABLE, place)
    elif kind == "xlsx":
        book = pytest.importorskip("openpyxl").Workbook()
        for row in [("A title",), *rows]:
            book.active.append(row)
        book.save(place)
    elif kind == "sav":
        pytest.importorskip("pyreadstat").write_sav(TABLE.to_pandas(), str(place))
    else:
        with closing(sqlite3.connect(place)) as connection, connection:
            connection.execute("CREATE TABLE answers (who, hours, age)")
        place = place / "answers"
    return place


KINDS = {
    "csv": ("text", "numbers", "numbers"),
    "csv.gz": ("text", "numbers", "numbers"),
    "jsonl": ("text", "floating-point numbers", "whole numbers"),
    "parquet": ("text", "floating-point numbers", "whole numbers"),
    "xlsx": (None, None, None),
    "sav": (None, None, None),
    "sqlite": (None, None, None),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_names_its_columns(tmp_path: Path, kind: str) -> None:
    if kind == "sqlite":
        pytest.importorskip("ibis")
    assert columns_of(str(_written(tmp_path, kind))) == dict(zip(("who", "hours", "age"), KINDS[kind], strict=True))


def test_a_csv_file_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_bytes("fråga,tal\nså,1\n".encode("latin-1"))
    assert columns_of(str(tmp_path / "table.csv"), "latin-1") == {"fråga": "text", "tal": "numbers"}
    with pytest.raises(dc.SourceError, match="not UTF-8"):
        columns_of(str(tmp_path / "table.csv"))


@pytest.mark.parametrize(("content", "said"), [(b"", "the CSV file is empty"), (b"secret\n\xff secret", "not UTF-8")])
def test_what_is_no_table_says_nothing_of_it_in_an_error(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "table.csv").write_bytes(content)
    with pytest.raises(dc.SourceError, match=said) as error:
        columns_of(str(tmp_path / "table.csv"))
    assert "secret" not in str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(dc.SourceError, match="there is no file"):
        columns_of(str(tmp_path / "table.csv"))
