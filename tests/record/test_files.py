"""`read` finds the record in a file by what the file holds, whatever it is called and whether it is of a variable or of a table."""

from pathlib import Path

import discreet as dc
from discreet.record.files import block_of, record_kind, record_of
from tests.record.table_support import refusal, released
from tests.sampling.support import PretendedSecret

VARIABLE = dc.LatticeGeometric(dc.Beta(1, 1), 9, 1).release([4, 5], source=PretendedSecret(1), steady=False)


def test_json_and_pages_of_variables_and_tables_are_read(tmp_path: Path) -> None:
    for found in (VARIABLE, released("total")):
        for name, text in {"a.json": found.to_json(), "b.parquet": f"<!doctype html>{block_of(found.to_json())}"}.items():
            (tmp_path / name).write_text(text)
            assert dc.read(tmp_path / name) == dc.read(str(tmp_path / name)) == record_of(text.encode()) == found
            assert type(dc.read(tmp_path / name)) is type(found)


def test_parquet_is_read_by_any_name(tmp_path: Path) -> None:
    table = released()
    table.to_parquet(tmp_path / "table.parquet")
    (tmp_path / "table.json").write_bytes((tmp_path / "table.parquet").read_bytes())
    assert dc.read(tmp_path / "table.parquet") == dc.read(tmp_path / "table.json") == table


def test_kinds_are_told_by_how_files_begin() -> None:
    assert record_kind(VARIABLE.to_json().encode()) == "json"
    assert record_kind(b"PAR1 and more") == "parquet"
    assert record_kind(b"\n <!doctype html>") == "html"


def test_what_holds_no_record_is_refused_in_one_line(tmp_path: Path) -> None:
    assert "No such file or directory" in refusal(lambda: dc.read(tmp_path / "none.json"))
    assert "cannot be read" in refusal(lambda: dc.read(tmp_path))
    assert "cannot be read (not a path)" in refusal(lambda: dc.read("a\0b"))
    assert "cannot be read (not a path)" in refusal(lambda: dc.read(3.5))  # type: ignore[arg-type]
    for text in ("{}", "<p>no record</p>", "PAR1"):
        (tmp_path / "other").write_text(text)
        assert refusal(lambda: dc.read(tmp_path / "other")) not in ("", "not one line")
