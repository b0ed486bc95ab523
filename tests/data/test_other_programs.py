"""Files of other programs: openpyxl and pyreadstat write them, and they count as a CSV file of the same table does."""

import datetime
import re
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.data.lines import text_schema
from discreet.data.other_programs import statistics_batches
from discreet.errors import DiscreetError
from tests.data.test_sources import everything_said

openpyxl = pytest.importorskip("openpyxl")
pyreadstat = pytest.importorskip("pyreadstat")
pd = pytest.importorskip("pandas")

NAME = "Erika Mustermann"
ROWS: Sequence[Sequence[Any]] = [
    ("who", "smoking", "since"),
    (1, "never", None),
    (2, "former", datetime.date(2024, 11, 1)),
    (2, "never", datetime.datetime(2024, 11, 1, 13, 30)),
    (3, "current", 7.0),
    (4, None, True),
    (5, "former", 0.5),
]
CATEGORIES = ["current", "former", "never", "no answer"]


def book(path: Path, **sheets: Sequence[Sequence[Any]]) -> Path:
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    made.save(path)
    return path


def open_document(path: Path, rows: Sequence[Sequence[str]], span: str = "") -> Path:
    """A workbook of OpenDocument, with text in every cell."""
    cell = f'<table:table-cell office:value-type="string"{span}><text:p>{{}}</text:p></table:table-cell>'
    lines = "".join(f"<table:table-row>{''.join(map(cell.format, row))}</table:table-row>" for row in rows)
    spaces = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text"))
    content = f'<table:table table:name="Answers">{lines}</table:table>'
    for name in ("spreadsheet", "body"):
        content = f"<office:{name}>{content}</office:{name}>"
    content = f"<office:document-content {spaces}>{content}</office:document-content>"
    with zipfile.ZipFile(path, "w") as parts:
        parts.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        parts.writestr("META-INF/manifest.xml", '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>')
        parts.writestr("content.xml", '<?xml version="1.0" encoding="UTF-8"?>' + content)
    return path


def smoking(source: Path | str, **options: Any) -> list[int]:
    return list(dc.count(source, "smoking", CATEGORIES, nulls="no answer", **options).counts.tolist())


def test_a_sheet_counts_as_its_csv_does(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("who,smoking\n1,never\n2,former\n2,never\n3,current\n4,\n5,former\n")
    for source in (tmp_path / "a.csv", book(tmp_path / "a.xlsx", Answers=ROWS)):
        assert smoking(source) == [1, 2, 2, 1]
        assert smoking(source, privacy_id="who") == [1, 2, 1, 1]


def test_cells_that_are_no_text(tmp_path: Path) -> None:
    source = book(tmp_path / "a.xlsx", Answers=ROWS)
    since = ["2024-11-01", "2024-11-01 13:30:00", "7", "true", "0.5", "none"]
    assert dc.count(source, "since", since, nulls="none").counts.tolist() == [1] * 6


def test_a_title_above_the_header_and_other_sheets(tmp_path: Path) -> None:
    title: Sequence[Sequence[Any]] = [(None, "Survey of 2026"), (), *ROWS]
    assert smoking(book(tmp_path / "a.xlsx", Notes=[("nothing",)], Answers=title)) == [1, 2, 2, 1]
    sheets: dict[str, Sequence[Sequence[Any]]] = {"2025": [("smoking",), ("never",)], "Answers 2026": title}
    both = book(tmp_path / "b.xlsx", **sheets)
    assert smoking(f"{both}/2025") == [0, 0, 1, 0]
    assert smoking(both / "Answers 2026") == [1, 2, 2, 1]
    with pytest.raises(dc.InvalidInputError, match=r"several sheets .* as in survey.xlsx/Answers"):
        smoking(both)
    with pytest.raises(dc.InvalidInputError, match="no sheet of the name"):
        smoking(both / "2027")
    with pytest.raises(dc.InvalidInputError, match="no column 'drinking'"):
        dc.count(both, "drinking", ["a", "b"])
    apart = book(tmp_path / "c.xlsx", One=[("smoking",)], Two=[("who",)])
    with pytest.raises(dc.InvalidInputError, match="do not stand together"):
        smoking(apart, privacy_id="who")
    with pytest.raises(dc.InvalidInputError, match="names the column 'smoking' more than once"):
        smoking(book(tmp_path / "d.xlsx", One=[("smoking", "smoking"), ("never", "former")]))


def test_merged_cells_are_refused_where_they_hide_answers(tmp_path: Path) -> None:
    made = openpyxl.load_workbook(book(tmp_path / "a.xlsx", Answers=[("A survey",), *ROWS]))
    made["Answers"].merge_cells("A1:C1")
    made.save(tmp_path / "title.xlsx")
    assert smoking(tmp_path / "title.xlsx") == [1, 2, 2, 1]
    made["Answers"].merge_cells("B3:B4")
    made.save(tmp_path / "answers.xlsx")
    with pytest.raises(dc.SourceError, match="cells of column 'smoking' are merged"):
        smoking(tmp_path / "answers.xlsx")
    since = ["2024-11-01 13:30:00", "2024-11-01", "7", "true", "0.5", "none"]
    assert dc.count(tmp_path / "answers.xlsx", "since", since, nulls="none").counts.tolist() == [1] * 6


def changed(source: Path, target: Path, parts_of: dict[str, Callable[[bytes], bytes]]) -> Path:
    """A copy of a workbook with other bytes in these parts."""
    with zipfile.ZipFile(source) as parts, zipfile.ZipFile(target, "w") as copy:
        for name in parts.namelist():
            copy.writestr(name, parts_of.get(name, bytes)(parts.read(name)))
    return target


SHEET, BOOK, CONTENT = "xl/worksheets/sheet1.xml", "xl/workbook.xml", "content.xml"
LATER = b' fullCalcOnLoad="1"'
COMPUTED = {BOOK: lambda part: part.replace(LATER, b"")}


def valued(value: bytes, kind: bytes = b"") -> Callable[[bytes], bytes]:
    """A sheet in which formulas have this in place of their value, and this as their type."""
    return lambda part: re.sub(rb'<c r="(B\d)"><f>(.*?)</f><v ?/?>(</v>)?', rb'<c r="\1"' + kind + rb"><f>\2</f>" + value, part)


def prefixed(part: bytes) -> bytes:
    """The sheet as programs write it that name its space."""
    return re.sub(rb"<(/?)(?=[a-zA-Z])", rb"<\1x:", part).replace(b"xmlns=", b"xmlns:x=")


@pytest.mark.parametrize(
    "written",
    [
        bytes,
        prefixed,
        valued(b"\n  "),
        valued(b'<v xml:space="preserve"></v>'),
        valued(b"", kind=b' t="str"'),
        lambda part: re.sub(rb"<f>.*?</f>", b'<f t="shared" si="0"/>', part),
        lambda part: part.replace(b'"never"', b'"' + b"n" * 8000 + b'"').replace(b"<row ", b"\n" * (1 << 19) + b"<row "),
    ],
    ids=["empty", "prefix", "blanks", "marked empty", "none", "shared", "across pieces"],
)
def test_formulas_that_were_never_computed_are_refused(tmp_path: Path, written: Callable[[bytes], bytes]) -> None:
    """openpyxl writes formulas without their values."""
    path = book(tmp_path / "a.xlsx", Answers=[*ROWS, (6, '="never"', None)])
    with pytest.raises(dc.SourceError, match="formulas without a value"):
        smoking(changed(path, tmp_path / "b.xlsx", {SHEET: written, **COMPUTED}))


def test_formulas_that_were_computed_have_their_value(tmp_path: Path) -> None:
    """An empty text is a value. A workbook that is to be computed when it is opened may have another one, which is often 0."""
    path = book(tmp_path / "a.xlsx", Answers=[*ROWS, (6, '="never"', None)])
    for value, kind, expected in ((b"<v>7</v>", b"", [1, 2, 2, 1, 1]), (b"<v></v>", b' t="str"', [1, 2, 2, 2, 0])):
        parts = {SHEET: valued(value, kind), **COMPUTED}
        found = dc.count(changed(path, tmp_path / "b.xlsx", parts), "smoking", [*CATEGORIES, "7"], nulls="no answer")
        assert found.counts.tolist() == expected
        with pytest.raises(dc.SourceError, match="formulas without a value"):
            smoking(changed(path, tmp_path / "c.xlsx", parts | {BOOK: bytes}))


def test_open_document(tmp_path: Path) -> None:
    rows = [("who", "smoking"), ("1", "never"), ("2", "former"), ("3", "")]
    plain = open_document(tmp_path / "a.ods", rows)
    assert smoking(plain) == [0, 1, 1, 1]
    with pytest.raises(dc.SourceError, match="merged cells"):
        smoking(open_document(tmp_path / "b.ods", rows, ' table:number-rows-spanned="2"'))
    assert smoking(open_document(tmp_path / "c.ods", rows, ' table:number-rows-spanned="1"')) == [0, 1, 1, 1]
    formula = b'<table:table-cell table:formula="of:=IF(1>0;1;2)"'
    computed = changed(plain, tmp_path / "e.ods", {CONTENT: lambda part: part.replace(b"<table:table-cell", formula)})
    assert smoking(computed) == [0, 1, 1, 1]
    never = {CONTENT: lambda part: part.replace(b"<table:table-cell", formula).replace(b' office:value-type="string"', b"")}
    with pytest.raises(dc.SourceError, match="formulas without a value"):
        smoking(changed(plain, tmp_path / "f.ods", never))


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta", "xpt", "por"])
def test_files_of_statistics_programs(tmp_path: Path, ending: str) -> None:
    """Values with labels count by their labels, where the format has labels, and what was declared missing is missing."""
    table = pd.DataFrame({"WHO": [1.0, 2, 2, 3, 4, 5], "SMOKING": [1, 2, 1, 3, None, 2.0], "SEX": ["f", "m", "m", "f", "", "m"]})
    path, labels = tmp_path / f"a.{ending}", {"SMOKING": {1: "never", 2: "former"}}
    write = {"sav": "sav", "zsav": "sav", "dta": "dta", "xpt": "xport", "por": "por"}[ending]
    options = {"row_compress": True} if ending == "zsav" else {}
    has_labels = ending not in ("xpt", "por")
    getattr(pyreadstat, f"write_{write}")(table, path, **(options | ({"variable_value_labels": labels} if has_labels else {})))
    never, former = ("never", "former") if has_labels else ("1", "2")
    found = dc.count(path, "SMOKING", [never, former, "3", "none"], nulls="none", by={"SEX": ["f", "m"]}, other_groups={"SEX": "f"})
    assert found.counts.tolist() == [[1, 0, 1, 1], [1, 2, 0, 0]]
    assert dc.count(path, "SMOKING", [former, never, "3", "none"], "WHO", nulls="none").counts.tolist() == [2, 1, 1, 1]
    with pytest.raises(dc.InvalidInputError, match="no column 'smoking'"):
        dc.count(path, "smoking", ["a", "b"])


def test_missing_codes_and_labels_without_letters(tmp_path: Path) -> None:
    """Codes that are declared missing are missing, labelled or not; a label without letters is none, and the value counts as it is."""
    labels: dict[str, Any] = {"a": {1: "yes", 2: "no", "a": "refused"}}
    table = pd.DataFrame({"a": [1, 2, "a", "z", 1]})
    pyreadstat.write_dta(table, tmp_path / "a.dta", missing_user_values={"a": ["a", "z"]}, variable_value_labels=labels)
    assert dc.count(tmp_path / "a.dta", "a", ["yes", "no", "none"], nulls="none").counts.tolist() == [2, 1, 2]
    table = pd.DataFrame({"a": [1.0, 2, 9, 98, 99, None], "b": ["x", "y", "DK", "x", "", None]})
    ranges: dict[str, Any] = {"a": [9, {"lo": 98, "hi": 99}], "b": ["DK"]}
    pyreadstat.write_sav(table, tmp_path / "a.sav", missing_ranges=ranges, variable_value_labels={"a": {1: "yes", 2: " ", 9: "refused"}})
    assert dc.count(tmp_path / "a.sav", "a", ["yes", "2", "none"], nulls="none").counts.tolist() == [1, 1, 4]
    assert dc.count(tmp_path / "a.sav", "b", ["x", "y", "none"], nulls="none").counts.tolist() == [2, 1, 3]
    with pytest.raises(dc.SourceError, match="values outside the declared categories"):
        dc.count(tmp_path / "a.sav", "a", ["yes", "none"], nulls="none")


def test_pieces_are_put_together(tmp_path: Path) -> None:
    """Whether the last piece is full or not."""
    for rows in (0, 3, 4, 5, 8, 9):
        pyreadstat.write_sav(pd.DataFrame({"a": ["x", "y"] * (rows // 2) + ["x"] * (rows % 2)}), tmp_path / f"{rows}.sav")
        pieces = list(statistics_batches(str(tmp_path / f"{rows}.sav"), text_schema(["a"]), "utf-8", most=4))
        assert [cell for piece in pieces for cell in piece["a"].to_pylist()] == (["x", "y"] * rows)[:rows]
        assert max(len(piece) for piece in pieces) <= 4


def test_several_files_are_one_table(tmp_path: Path) -> None:
    for name in ("a", "b"):
        book(tmp_path / f"{name}.xlsx", Answers=ROWS)
    assert smoking(tmp_path / "*.xlsx") == [2, 4, 4, 2]


@pytest.mark.parametrize("ending", ["xlsx", "xls", "ods", "sav", "dta", "sas7bdat"])
def test_a_broken_file_tells_nothing(tmp_path: Path, ending: str) -> None:
    (tmp_path / f"a.{ending}").write_text(NAME)
    with pytest.raises(DiscreetError) as caught:
        smoking(tmp_path / f"a.{ending}")
    assert NAME not in everything_said(caught.value)


def test_they_are_not_read_strictly(tmp_path: Path) -> None:
    with pytest.raises(dc.InvalidInputError, match="cannot be read strictly"):
        dc.count(book(tmp_path / "a.xlsx", Answers=ROWS), "smoking", CATEGORIES, nulls="no answer", other="no answer", strict=True)
    with pytest.raises(dc.InvalidInputError, match="encoding is for CSV files"):
        smoking(tmp_path / "a.xlsx", encoding="latin-1")


def test_a_hint_where_the_library_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(dc.SourceError, match=r"pip install 'discreet\[files\]'"):
        smoking(book(tmp_path / "a.xlsx", Answers=ROWS))


@pytest.mark.slow
def test_as_many_rows_as_a_sheet_has(tmp_path: Path) -> None:
    made = openpyxl.Workbook(write_only=True)
    sheet = made.create_sheet("Answers")
    sheet.append(["who", "smoking"])
    for row in range(1_048_575):
        sheet.append([row // 2, CATEGORIES[row % 3]])
    made.save(tmp_path / "a.xlsx")
    assert smoking(tmp_path / "a.xlsx") == [349_525, 349_525, 349_525, 0]
    assert sum(smoking(tmp_path / "a.xlsx", privacy_id="who")) == 524_288
