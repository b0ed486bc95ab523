"""The tables of a page: shares with their intervals and pictures, on one axis from 0.

Places in a picture are percentages of its width, so that lines and letters keep their size at any width.
"""

from math import ceil, floor, log10
from typing import TYPE_CHECKING

from discreet.present.figures import NOT_PUBLISHED
from discreet.present.html import Html, element, isolated, joined, table, table_row
from discreet.text import in_percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.present.page_rows import Panel, ShareRow

_MOST_TICKS = 5
_MOST_CROSSED, _MOST_BESIDE = 5, 3
"""Categories of which one table has room beside the groups, and those of which a cell has room for an interval beside its share."""
_ROWS_TOGETHER = 15
"""Rows of a table that are printed on one sheet."""


def pictured(panel: "Panel", mass: str, *, as_reported: bool) -> Html:
    """The table of the categories, or of one category in all groups: a row for each share with its interval and its picture.

    Intervals that take noisy counts at face value are dashed.
    """
    if not panel.rows:
        return element("p", "It cannot occur in any group.")
    which, first = ("every category", "category") if panel.heading is None else (f"“{panel.heading}” in each group", "group")
    caption = f"The share of {which} with its {mass} interval, {'noise not allowed for' if as_reported else 'noise allowed for'}."
    alone = [f"{mass}, noise alone"] if any(row.alone for row in panel.rows) else []
    marks = _ticks(max(row.high for row in panel.rows))
    heads = (first, "noisy count", "share", f"{mass} interval", *alone, element("td", _axis(marks), class_="picture"))
    rows = [
        table_row(
            isolated(row.label),
            NOT_PUBLISHED if row.count is None else f"{row.count:,}",
            *words,
            *row.alone,
            element("td", _picture(row, marks), class_="picture"),
        )
        for row, words in zip(panel.rows, _percentages(panel), strict=True)
    ]
    if panel.left_out:
        between = f"{panel.left_out:,} between these are not shown; they are in the record"
        rows.insert(len(rows) // 2, element("tr", element("td", between, colspan=str(len(heads)), class_="gap")))
    return table(caption, heads, rows, class_=" ".join(["pictured", *(["reported"] if as_reported else []), *together(len(rows))]))


def crossed(panels: "Sequence[Panel]", caption: str, mass: str) -> Html:
    """One table of all groups by all categories, with the interval and the picture of each share in its cell, on one axis."""
    marks = _ticks(max(row.high for panel in panels for row in panel.rows))
    words = [_percentages(panel) for panel in panels]
    lines = [
        table_row(
            isolated(panels[0].rows[place].label),
            *(_cell(panel, place, marks, numbers[place]) for panel, numbers in zip(panels, words, strict=True)),
        )
        for place in range(len(panels[0].rows))
    ]
    heads = ("group", *(joined(isolated(panel.heading or ""), f", {mass} interval", _axis(marks)) for panel in panels))
    return table(caption, heads, lines, class_="crossed" if len(panels) <= _MOST_BESIDE else "crossed stacked")


def _percentages(panel: "Panel") -> list[tuple[str, str]]:
    """The shares of a panel and their intervals in words that no line breaks."""
    return in_percent([(row.mean, row.low, row.high) for row in panel.rows], "\u00a0", panel.decimals)


def can_be_crossed(panels: "Sequence[Panel]") -> bool:
    """Whether all groups have all of a few categories, in the same order, so that one table shows them."""
    labels = [[row.label for row in panel.rows] for panel in panels]
    short = 1 < len(panels) <= _MOST_CROSSED and all(one == labels[0] for one in labels)
    return short and bool(labels[0]) and not any(panel.left_out or any(row.alone for row in panel.rows) for panel in panels)


def _cell(panel: "Panel", place: int, marks: list[float], words: tuple[str, str]) -> Html:
    """A share of a cross table; where there is no room for columns, it says its category."""
    numbers = element("b", words[0]), " ", element("span", words[1], class_="quiet")
    return element("td", *numbers, _picture(panel.rows[place], marks), data_category=panel.heading or "")


def together(rows: int) -> list[str]:
    """The class of what a printer keeps on one sheet: so many rows as leave room for more."""
    return ["together"] if rows <= _ROWS_TOGETHER else []


def _ticks(highest: float) -> list[float]:
    """Round numbers from 0 to just beyond the highest value, or to 1."""
    least = max(highest, 1e-9) / _MOST_TICKS
    power = 10.0 ** floor(log10(least))
    step = next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= least * (1.0 - 1e-9))
    last = ceil(highest / step - 1e-9)
    return [min(1.0, number * step) for number in range(last + 1) if (number - 1) * step < 1.0 - 1e-9]


def _place(value: float, marks: list[float]) -> str:
    return f"{100.0 * min(1.0, value / marks[-1]):.3f}%"


def _picture(row: "ShareRow", marks: list[float]) -> Html:
    """The interval of a share and its mean, which the words beside it say already."""
    low, mean, high = (_place(value, marks) for value in (row.low, row.mean, row.high))
    grid = [element("line", class_="grid", x1=_place(mark, marks), x2=_place(mark, marks), y1="0", y2="100%") for mark in marks]
    bar = element("line", class_="bar", x1=low, x2=high, y1="50%", y2="50%")
    dot = element("circle", class_="dot", cx=mean, cy="50%", r="5")
    return element("div", element("svg", *grid, bar, dot), class_="plot", aria_hidden="true")


def _axis(marks: list[float]) -> Html:
    """The numbers above the pictures of a column."""
    decimals = max(0, -floor(log10(100.0 * (marks[1] - marks[0])) + 1e-9))
    while decimals < 6 and any(abs(round(100.0 * mark, decimals) - 100.0 * mark) > 1e-9 for mark in marks):
        decimals += 1
    words = [element("text", f"{100.0 * mark:.{decimals}f}\u00a0%", x=_place(mark, marks), y="1rem") for mark in marks]
    return element("div", element("svg", *words), class_="plot axis", aria_hidden="true")
