"""Files of other programs as tables of text: spreadsheets, by calamine, and SPSS, Stata and SAS, by pyreadstat.

Every cell becomes the text that a CSV file of the same table would have: a whole number without a point, a date as 2026-11-18, a value
with a label as its label.
"""

import datetime
import math
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.data.engines import library
from discreet.data.lines import check_names, check_once
from discreet.errors import InvalidInputError, SourceError

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema

SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods")
_READ_BY = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
STATISTICS = tuple(_READ_BY)
_HEADER_ROWS = 100
"""Rows of a sheet among which the one is looked for that names the columns."""
_PIECE_ROWS = 1 << 20
"""Rows of a statistics file that are in memory at once."""


def _batch(columns: Iterable[Iterable[Any]], schema: "Schema") -> "RecordBatch":
    import pyarrow as pa

    arrays = [pa.array([cell or None if type(cell) is str else _text(cell) for cell in cells], pa.string()) for cells in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _text(cell: Any) -> str | None:
    """A cell as a CSV file has it; None for one that is empty."""
    if cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else repr(float(cell))
    if isinstance(cell, datetime.datetime):
        return cell.date().isoformat() if cell.time() == datetime.time() else cell.isoformat(" ")
    return cell.isoformat() if isinstance(cell, (datetime.date, datetime.time)) else str(cell)


# --- spreadsheets -----------------------------------------------------------------------------------------------------


def sheet_of(path: str) -> tuple[str, str | None]:
    """The file of a workbook and, where the path goes on into it as in survey.xlsx/Answers, the name of the sheet."""
    place = Path(path)
    is_inside = place.parent.suffix.lower() in SPREADSHEETS and place.parent.is_file()
    return (str(place.parent), place.name) if is_inside else (path, None)


def sheet_batches(path: str, schema: "Schema") -> "Iterator[RecordBatch]":
    """The columns of the sheet that a path names, or of the only one that has them all."""
    file, wanted = sheet_of(path)
    _check_parts(file)
    with library("python_calamine", "files of this kind", "files").CalamineWorkbook.from_path(file) as book:
        if wanted is not None and wanted not in book.sheet_names:
            raise InvalidInputError("the workbook has no sheet of the name that the path ends in; capital letters and blanks matter")
        found = [_Sheet(book.get_sheet_by_name(name)) for name in ([wanted] if wanted is not None else book.sheet_names)]
        having = [sheet for sheet in found if sheet.header(schema.names) is not None]
        if len(having) > 1:
            raise InvalidInputError(
                "several sheets of the workbook have these columns: name one behind the file, as in survey.xlsx/Answers"
            )
        if not having:
            named = {_text(cell) or "" for sheet in found for row in sheet.rows[:_HEADER_ROWS] for cell in row}
            where = f" in one of the first {_HEADER_ROWS} rows of a sheet"
            check_names(named, tuple(schema.names), where)
            raise InvalidInputError(f"the columns do not stand together{where}: one row must name them all")
        yield _batch(having[0].columns(schema.names), schema)


def sheet_columns(path: str) -> list[str]:
    """The texts of the row, among the first of the sheet that a path names or of the first sheet, that has the most of them."""
    file, wanted = sheet_of(path)
    with library("python_calamine", "files of this kind", "files").CalamineWorkbook.from_path(file) as book:
        sheet = book.get_sheet_by_name(wanted if wanted in book.sheet_names else book.sheet_names[0])
        named: list[str] = []
        for row in sheet.to_python(nrows=_HEADER_ROWS):
            named = max(named, [cell for cell in row if isinstance(cell, str) and cell], key=len)
    return list(dict.fromkeys(named))


class _Sheet:
    """The cells of a sheet. All of them are private but the row that names the columns."""

    def __init__(self, sheet: Any) -> None:
        self.rows: list[list[Any]] = sheet.to_python()
        self._start: tuple[int, int] = sheet.start or (0, 0)
        self._merged: list[tuple[tuple[int, int], tuple[int, int]]] = sheet.merged_cell_ranges or []

    def header(self, columns: Sequence[str]) -> int | None:
        """The first row that names all columns; what stands above it, such as a title, is not read."""
        return next((i for i, row in enumerate(self.rows[:_HEADER_ROWS]) if set(columns) <= set(map(_text, row))), None)

    def columns(self, names: Sequence[str]) -> list[list[Any]]:
        """The cells below the header, column by column."""
        header = self.header(names) or 0
        found = list(map(_text, self.rows[header]))
        check_once(found, names, "the sheet")
        for name in names:
            self._check_not_merged(name, header, found.index(name))
        return [[row[place] for row in self.rows[header + 1 :]] for place in map(found.index, names)]

    def _check_not_merged(self, name: str, header: int, place: int) -> None:
        """Refuse a column with merged cells: only the first of them has the value, and the others would be read as missing."""
        row, column = self._start[0] + header, self._start[1] + place
        if any(last[0] > row and first[1] <= column <= last[1] for first, last in self._merged):
            raise SourceError(f"cells of column {name!r} are merged, and only the first of them has the value: unmerge and fill them")


def _check_parts(file: str) -> None:
    """Refuse what calamine does not tell of: merged cells of OpenDocument, and formulas that no program has computed yet."""
    ending = Path(file).suffix.lower()
    if ending == ".ods":
        if any(found[1] != b"1" for found in _found(file, "content.xml", _SPAN)):
            raise SourceError("the workbook has merged cells, and only the first of them has the value: unmerge and fill them")
        is_computed = not any(_found(file, "content.xml", _VALUELESS_CELL))
    elif ending in (".xlsx", ".xlsm"):
        # Some libraries write 0 in place of the value, and all of them this wish into the workbook.
        is_waiting = any(_found(file, "xl/workbook.xml", _COMPUTE_LATER))
        is_computed = not any(_found(file, "xl/worksheets/", _ANY_FORMULA if is_waiting else _VALUELESS))
    else:
        return
    if not is_computed:
        raise SourceError(
            "the workbook has formulas without a value, which would be read as missing: open it in Excel or LibreOffice, which computes "
            "them, and save it"
        )


def _found(file: str, part: str, pattern: re.Pattern[bytes]) -> Iterator[re.Match[bytes]]:
    """Find the places of a pattern in the parts of a workbook whose names begin like this."""
    with zipfile.ZipFile(file) as parts:
        for name in parts.namelist():
            with parts.open(name) if name.startswith(part) else nullcontext(BytesIO()) as stream:
                last = b""
                while chunk := stream.read(1 << 20):
                    yield from pattern.finditer(last + chunk)
                    last = chunk[-_LONGEST_MATCH:]


_ANY_FORMULA = re.compile(rb"<(?:\w+:)?f[\s/>]")
_VALUELESS = re.compile(
    rb"<(?:\w+:)?c(?:\s[^>]*)?>\s*<(?:\w+:)?f(?:\s[^>]*)?(?:/>|(?<!/)>[^<]*</(?:\w+:)?f>)\s*</(?:\w+:)?c>"
    # An empty value of a formula that makes a text is an empty text.
    rb'|<(?:\w+:)?c(?:(?!\st="str")[^>])*>\s*<(?:\w+:)?f(?:\s[^>]*)?(?:/>|(?<!/)>[^<]*</(?:\w+:)?f>)'
    rb"\s*<(?:\w+:)?v(?:\s[^>]*)?(?:/>|(?<!/)>\s*</(?:\w+:)?v>)"
)
_COMPUTE_LATER = re.compile(rb'fullCalcOnLoad="(?:1|true)"')
_SPAN = re.compile(rb'number-(?:rows|columns)-spanned="([^"]*)"')
_NOT_ITS_TYPE = rb'(?:\s+(?!\w+:value-type)[\w:.-]+="[^"]*")*'
_VALUELESS_CELL = re.compile(rb"<(?:\w+:)?table-cell" + _NOT_ITS_TYPE + rb'\s+\w+:formula="[^"]*"' + _NOT_ITS_TYPE + rb"\s*/?>")
_LONGEST_MATCH = 1 << 16
"""The most bytes of a formula that are looked at: more than one has, which is at most 8192 characters long."""


# --- statistics -------------------------------------------------------------------------------------------------------


def statistics_columns(file: str, encoding: str) -> list[str]:
    """The names of all columns."""
    read, options = _statistics_reader(file, encoding)
    return list(read(file, metadataonly=True, **options)[1].column_names)


def _statistics_reader(file: str, encoding: str) -> tuple[Any, dict[str, Any]]:
    """Return what reads files of this program, and how it is told their encoding."""
    if encoding != "utf-8" and file.lower().endswith(".por"):
        raise InvalidInputError("a .por file says itself how its text is written: leave out encoding")
    read = getattr(library("pyreadstat", "files of this kind", "files"), _READ_BY[Path(file).suffix.lower()])
    return read, {} if encoding == "utf-8" else {"encoding": encoding}


def statistics_batches(file: str, schema: "Schema", encoding: str, most: int = _PIECE_ROWS) -> "Iterator[RecordBatch]":
    """The columns of a file of SPSS, Stata or SAS, in pieces of at most so many rows. What its program calls missing is missing."""
    read, options = _statistics_reader(file, encoding)
    check_names(statistics_columns(file, encoding), tuple(schema.names), " in the file")
    rows = offset = 0
    while rows == offset:
        piece, said = read(file, row_offset=offset, row_limit=most, usecols=schema.names, output_format="dict", **options)
        labels = [said.variable_value_labels.get(name, {}) for name in schema.names]
        yield _batch(([known.get(cell) or cell for cell in piece[name]] for name, known in zip(schema.names, labels, strict=True)), schema)
        rows, offset = rows + len(piece[schema.names[0]]), offset + most
