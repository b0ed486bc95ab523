"""The table that the page gives as a file is the one that `discreet show --output` writes for the same question."""

import shlex
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from openpyxl import load_workbook
from pyarrow import parquet

import discreet as dc
from discreet.web.read.answers import table_name
from discreet.web.state import Record, read
from tests.cli.support import invoke
from tests.web.read.reader import COUNTS, SINGLE, Reader, opened, released
from tests.web.server import Server, explore

ENDINGS = (".csv", ".xlsx", ".parquet")
FORMULAS = ["=1+1", "@sum", "-a"]


def fetched(reader: Reader, ending: str, **fields: str) -> tuple[int, dict[str, str], bytes]:
    return reader.server.fetch("POST", f"/read/{ending[1:]}", body=urlencode({"record": reader.key, **fields}).encode())


def content_of(file: bytes, ending: str) -> Any:
    """What a file holds; one of Excel also says when it was written."""
    if ending == ".csv":
        return file
    if ending == ".parquet":
        return parquet.read_table(BytesIO(file))
    cells = [[(one.value, one.data_type, one.quotePrefix) for one in row] for row in load_workbook(BytesIO(file))["discreet"].iter_rows()]
    assert len(cells) > 1
    return cells


def formulas() -> dc.Release:
    """A table whose every label begins like a formula."""
    prior, by = dc.Dirichlet.uniform(categories=FORMULAS), {"+region": ["=north", "-south"], "sex": ["f", "m"]}
    return dc.LatticeGeometric(prior, COUNTS.sum(axis=1).tolist(), 1, by=by).release(COUNTS)


CASES: dict[str, tuple[dc.Release, dict[str, str], list[str]]] = {
    "as released": (SINGLE["public n"](), {}, []),
    "one variable": (
        SINGLE["private n"](),
        {"level": "87.5", "prior": "2,3,4", "only": "2"},
        ["--mass", "0.875", "--prior", "2,3,4", "--only", "current"],
    ),
    "records": (released("sizes"), {"level": "90", "about": "records"}, ["--mass", "0.9", "--about", "records"]),
    "cross": (released("total"), {"group": "2", "layout": "cross", "prior": "jeffreys"}, ["--layout", "cross", "--prior", "jeffreys"]),
    "formulas": (formulas(), {"layout": "cross", "only": "0"}, ["--layout", "cross", "--only", "=1+1"]),
}


@pytest.mark.parametrize("case", CASES)
def test_the_file_is_that_of_the_command(server: Server, case: str, tmp_path: Path) -> None:
    release, fields, options = CASES[case]
    (tmp_path / "record.json").write_text(release.to_json())
    reader, other = opened(server, release), {"level": "60"}
    for ending in ENDINGS:
        status, headers, file = fetched(reader, ending, **fields)
        assert (status, headers["content-disposition"], headers["content-type"]) == (200, "attachment", "application/octet-stream")
        written = tmp_path / f"table{ending}"
        done = invoke("show", tmp_path / "record.json", "--output", written, *options)
        assert done.exit_code == 0, done.output
        assert content_of(file, ending) == content_of(written.read_bytes(), ending)
        assert content_of(fetched(reader, ending, **fields | other)[2], ending) != content_of(file, ending)


def test_the_command_that_is_shown_writes_the_file(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    release = replace(formulas(), about=dc.About(title="Who, and where? -- 2026"))
    Path("-own.json").write_text(release.to_json())
    reader, fields = opened(server, release, "-own.json"), {"level": "80", "layout": "cross", "only": "1", "prior": "1,2,3"}
    words = shlex.split(reader.ask("table", **fields).by_id["read-table-command"])
    assert words[:2] == ["discreet", "show"]
    done = invoke(*words[1:])
    assert done.exit_code == 0, done.output
    assert Path("Who-and-where-2026.csv").read_bytes() == fetched(reader, ".csv", **fields)[2]
    names = {
        found["data-name"] for tag, found in reader.view.tags if tag == "button" and "read-table-form" in (found.get("data-form") or "")
    }
    assert names == {f"Who-and-where-2026{ending}" for ending in ENDINGS}


@pytest.mark.parametrize(
    ("title", "file", "name"),
    [
        ("Smoking among adults", "x.json", "Smoking-among-adults.csv"),
        ("=cmd|'/c calc'!A1", "x.json", "cmd-c-calc-A1.csv"),
        ("../../etc/passwd", "x.json", "etc-passwd.csv"),
        ("धूम्रपान: 2026", "x.json", "धूम्रपान-2026.csv"),
        ("?!", "-survey 2026.json", "survey-2026.csv"),
        (None, "\u2026.json", "table.csv"),
        ("a" * 59 + " b", "x.json", "a" * 59 + ".csv"),
    ],
)
def test_a_file_is_named_by_the_title_of_the_record(title: str | None, file: str, name: str) -> None:
    release = SINGLE["public n"]()
    found: Record = read(release.to_json().encode(), file)
    if title is not None:
        found = replace(found, release=replace(release, about=dc.About(title=title)))
    assert table_name(found, ".csv") == name


def test_without_openpyxl_one_line_says_what_to_install() -> None:
    with explore(before="import sys; sys.modules['openpyxl'] = None; ") as server:
        reader = opened(server, SINGLE["public n"]())
        status, _, said = fetched(reader, ".xlsx")
        assert status == 422
        assert b"pip install &#x27;discreet[files]&#x27;" in said
        assert len(said.splitlines()) == 1
        assert fetched(reader, ".csv")[0] == 200


def test_what_cannot_be_asked_or_computed_is_said_in_one_line(server: Server) -> None:
    reader = opened(server, SINGLE["public n"]())
    for fields, wrong in (
        ({"level": "12"}, b"from 50 to 99.9"),
        ({"only": "3"}, b"one of the list"),
        ({"layout": "wide"}, b"long or cross"),
    ):
        status, _, said = fetched(reader, ".csv", **fields)
        assert (status, wrong in said, len(said.splitlines())) == (422, True, 1)
    assert reader.ask("table", only="3").by_id["read-only-error"] == "Choose one of the list"
    many = dc.LatticeGeometric(dc.Dirichlet.uniform(101), 4, 1).release([4, *[0] * 100])
    status, _, said = fetched(opened(server, many), ".csv")
    assert (status, b"discreet show RECORD --slow" in said) == (422, True)
