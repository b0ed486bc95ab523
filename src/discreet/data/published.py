"""Files of counts that others published: a row for each group with a column for each category, or a row for each count."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from discreet.data.engines import within_engine
from discreet.data.lines import LineReading, check_encoding
from discreet.data.sources import columns_of, opened
from discreet.errors import SourceError
from discreet.text import shown

Key = tuple[str, ...]
"""The labels of a group, one for each of its columns."""
Cell = str | None
"""A count as it is written; None for one that was not published."""


@dataclass(frozen=True, kw_only=True)
class PublishedLayout:
    """The columns in which a file has its groups, categories, counts and public sizes."""

    by: Sequence[str] = ()
    """The columns of the groups; none of one variable."""
    categories: Sequence[Hashable] | None = None
    """The categories in their order; by default all that the file has."""
    column: str | None = None
    """The column of the categories where every count has a row; None where every category has a column."""
    count: str | None = None
    """The column of the counts, where every count has a row."""
    sizes: str | None = None
    """The column of the public sizes of the groups."""
    missing: Sequence[str] = ()
    """Texts that stand for a count that was not published, as an empty cell does."""
    encoding: str = "utf-8"


@dataclass(frozen=True, repr=False)
class PublishedTable:
    """The content of a file: categories, the groups by column, their counts, and their sizes where these are public."""

    categories: tuple[str, ...]
    by: Mapping[str, list[str]]
    counts: list[Any]
    """A count for each category; of a table a list of them for each group."""
    sizes: list[int] | None


def read_published(source: str, layout: PublishedLayout) -> PublishedTable:
    """Read published counts from a file or the table of a database. Labels stand in the order in which the file has them.

    Raises:
        SourceError: A column, a row or a label is missing, a row is there twice, or a size is no whole number.
    """
    counted = _counted(source, layout)
    names = [*layout.by, *((layout.column,) if layout.column else ()), *counted, *((layout.sizes,) if layout.sizes else ())]
    cells: dict[tuple[Key, str], Cell] = {}
    sizes: dict[Key, set[Cell]] = {}
    for row in _rows(source, names, layout):
        key = tuple(_label(row[name], name) for name in layout.by)
        for name in counted:
            place = key, name if layout.column is None else _label(row[layout.column], layout.column)
            if place in cells:
                raise SourceError(f"the file has several counts of {_named(*place)}: name all columns of its groups, or leave one count")
            cells[place] = row[name]
        sizes.setdefault(key, set()).add(row[layout.sizes] if layout.sizes else None)
    categories = tuple(dict.fromkeys(category for _, category in cells)) if layout.categories is None else (*map(str, layout.categories),)
    by = {name: list(dict.fromkeys(key[i] for key in sizes)) for i, name in enumerate(layout.by)}
    groups = list(product(*by.values()))
    rows = [[_found(cells, key, category) for category in categories] for key in groups]
    return PublishedTable(categories, by, rows if by else rows[0], [_size(sizes[key]) for key in groups] if layout.sizes else None)


def _counted(source: str, layout: PublishedLayout) -> list[str]:
    """The columns that hold counts."""
    if layout.count is not None:
        return [layout.count]
    if layout.categories is not None:
        return [*map(str, layout.categories)]
    return [name for name in columns_of(source, layout.encoding) if name not in (*layout.by, layout.sizes)]


def _rows(source: str, names: Sequence[str], layout: PublishedLayout) -> Iterator[dict[str, Cell]]:
    """The rows of these columns: every cell as text, and None where nothing was published."""
    columns = tuple(dict.fromkeys(names))
    reading = LineReading(columns, check_encoding(layout.encoding, strict=False))
    with opened(source, reading) as (table, _):
        found = within_engine("reading the counts", lambda: table.select(*columns).collect().rows())
    for row in found:
        texts = ["" if cell is None else str(cell).strip() for cell in row]
        yield {name: None if text in ("", *layout.missing) else text for name, text in zip(columns, texts, strict=True)}


def _label(cell: Cell, column: str) -> str:
    if cell is None:
        raise SourceError(f"a row has no label in the column {shown(column)!r}, which names groups or categories: give it one")
    return cell


def _named(key: Key, category: str) -> str:
    return ", ".join(repr(shown(label)) for label in (*key, category))


def _found(cells: Mapping[tuple[Key, str], Cell], key: Key, category: str) -> Cell:
    if (key, category) not in cells:
        raise SourceError(
            f"the file has no count of {_named(key, category)}: give every combination of groups and categories a row, "
            "with an empty cell where nothing was published"
        )
    return cells[key, category]


def _size(found: set[Cell]) -> int:
    """The size of a group, which all its rows say."""
    (first, *others) = found
    if others or first is None or not first.isdecimal():
        raise SourceError("the column of public sizes must have one whole number for each group, the same in all its rows")
    return int(first)
