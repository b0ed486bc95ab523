"""A record as files for other programs: its picture, and its summary as CSV, Excel or Parquet, a row for each cell or each group.

A label that begins like a formula stays text: in Excel by the type of its cell, and in CSV by an apostrophe in front of it.
"""

import csv
import re
from collections.abc import Callable, Hashable
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError, InvalidInputError, TooLargeError
from discreet.present.how_read import AS_RELEASED, HowRead
from discreet.text import shown

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from discreet.record.release import Release


LAYOUTS = ("long", "cross")
TABLE_ENDINGS = (".csv", ".xlsx", ".parquet")
_SHEET_ROWS = 1_048_575
"""Rows of a sheet below its header."""
_FORMULA = re.compile(r"'*(\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])")
"""The beginnings of texts that a program may take for a formula: also behind blanks, and in characters of full width.

Behind an apostrophe it is none, and gets another one, so that two labels never become one.
"""
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f]")
"""Characters that XML cannot hold, or changes."""


def summary_table(
    release: "Release",
    how: HowRead = AS_RELEASED,
    layout: str = "long",
    only: str | None = None,
    *,
    read: Callable[[], Any] | None = None,
) -> "pa.Table":
    """The summary of a record: the columns of its groups, the category, mean, sd, low and high.

    With the layout "cross" a row is a group, and each category has three columns, such as `yes`, `yes low` and `yes high`. `only` keeps
    one category, such as one side of yes and no. `read` gives the posterior where it is not to be computed here, or is of groups put
    together.
    """
    from discreet.validation import spelling

    if layout not in LAYOUTS:
        raise InvalidInputError(f"--layout must be long or cross, got {shown(layout)!r}")
    categories = [spelling(category) for category in release.cells.categories]
    if only is not None and only not in categories:
        raise InvalidInputError(f"--only must be one of the categories {', '.join(map(repr, categories[:10]))}; got {shown(only)!r}")
    posterior: Any = release.noise_aware(how.reader) if read is None else read()
    table: pa.Table = (posterior.records if how.of_records else posterior).summary(how.mass, "arrow")
    kept = list(range(len(categories))) if only is None else [categories.index(only)]
    k = len(categories)
    if layout == "long":
        return table.take([row for row in range(table.num_rows) if row % k in kept])
    return _crossed(table, release.cells.categories, kept)


def _crossed(table: "pa.Table", categories: tuple[Hashable, ...], kept: list[int]) -> "pa.Table":
    """A row for each group, with mean, low and high of the categories that are kept."""
    import pyarrow as pa

    from discreet.validation import spelling

    k = len(categories)

    def every(name: str, place: int) -> "pa.ChunkedArray":
        return table.column(name).take(pa.array(range(place, table.num_rows, k)))

    *groups, _, _, _, _, _ = table.column_names  # what stands behind them is category, mean, sd, low and high
    columns = [(name, every(name, 0)) for name in groups]
    for place in kept:
        label = spelling(categories[place])
        columns += [(label, every("mean", place)), (f"{label} low", every("low", place)), (f"{label} high", every("high", place))]
    names = [name for name, _ in columns]
    if len(set(names)) != len(names):
        raise InvalidInputError("two columns of this layout would have the same name: use --layout long")
    return pa.table([column for _, column in columns], names=names)


def file_of(table: "pa.Table", ending: str) -> bytes:
    """The file with this ending that holds a table."""
    if ending == ".csv":
        return _csv(table)
    if ending == ".xlsx":
        return _xlsx(table)
    if ending == ".parquet":
        from pyarrow import parquet

        content = BytesIO()
        parquet.write_table(table, content)
        return content.getvalue()
    raise InvalidInputError(f"a table is written as {', '.join(TABLE_ENDINGS)}, got {shown(ending)!r}")


def is_guarded(text: Any) -> bool:
    """Return whether a program would take a text for a formula, and is kept from it: one that begins with =, +, - or @, also
    behind blanks.
    """
    return isinstance(text, str) and _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None


def guarded_labels(table: "pa.Table") -> bool:
    """Return whether some label or heading of a table begins like a formula."""
    return any(map(is_guarded, _texts(table)))


def _texts(table: "pa.Table") -> list[str]:
    """The headings of a table and the labels in it."""
    return [*table.column_names, *(cell for column in table.columns for cell in column.unique().to_pylist() if isinstance(cell, str))]


def _csv(table: "pa.Table") -> bytes:
    """Numbers with all their digits, in UTF-8 as Excel recognises it."""

    def cell(value: Any) -> Any:
        return f"'{value}" if is_guarded(value) else repr(value) if isinstance(value, float) else value

    text = StringIO()
    rows = csv.writer(text, lineterminator="\r\n")
    rows.writerow(map(cell, table.column_names))
    rows.writerows(map(cell, row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True))
    return text.getvalue().encode("utf-8-sig")


def _xlsx(table: "pa.Table") -> bytes:
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
    except ImportError:
        raise DiscreetError("Excel files are written by openpyxl, which is not installed: pip install 'discreet[files]'") from None
    if table.num_rows > _SHEET_ROWS:
        raise TooLargeError(f"a sheet of Excel has {_SHEET_ROWS:,} rows, and the table {table.num_rows:,}: write .parquet or .csv")
    if any(map(_CONTROLS.search, _texts(table))):
        raise InvalidInputError("a label has a character that Excel files cannot hold: write .parquet or .csv")
    book = Workbook(write_only=True)
    sheet = book.create_sheet("discreet")

    def cell(value: Any) -> Any:
        if not isinstance(value, (str, float)):
            return value
        is_text = isinstance(value, str)
        made = WriteOnlyCell(sheet, value if is_text else repr(value))  # of a number openpyxl itself writes 16 digits
        made.data_type = "s" if is_text else "n"
        if is_guarded(value):
            made.quotePrefix = True  # so that it stays text also once it is edited
        return made

    sheet.append(list(map(cell, table.column_names)))
    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        sheet.append(list(map(cell, row)))
    content = BytesIO()
    book.save(content)
    return content.getvalue()


def picture(
    found: "Release",
    kind: str,
    *,
    mass: float = 0.95,
    computed: bool = True,
    creator: str | None = None,
    draw: "Callable[[Figure], None] | None" = None,
) -> bytes:
    """A release's posteriors, or what `draw` does, as the content of a PNG, SVG or PDF file; `creator` stands in it.

    The title says so where a promise by computation was not `computed` here.
    """
    import warnings

    from matplotlib.figure import Figure

    from discreet.plotting.style import add_to_title, content_of

    figure = Figure(layout="constrained")
    if draw is None:
        found.draw_on(figure, mass)
    else:
        draw(figure)
    if found.guarantee.basis == "computation" and not computed:
        add_to_title(figure, "(not verified)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a label may have characters that no font here can draw
        return content_of(figure, kind, creator=creator)
