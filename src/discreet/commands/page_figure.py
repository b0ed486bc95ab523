"""The figure of a page: a row for each share with its mean and interval, on one axis from 0.

A row is text beside a small picture whose places are percentages of its width, so that lines and letters keep their size at any width.
"""

from math import ceil, floor, log10
from typing import TYPE_CHECKING

from discreet.commands.html import Html, element, isolated

if TYPE_CHECKING:
    from discreet.commands.page_rows import Panel, Row

_MOST_TICKS = 5
_ROWS_TOGETHER = 15
"""Rows of a figure or a table that are printed on one sheet."""


def decimals_of(panel: "Panel") -> int:
    """Decimals of a percentage with which the narrowest interval has two digits or so."""
    widths = [row.high - row.low for row in panel.rows if row.high > row.low]
    return min(6, max(1, -floor(log10(100.0 * min(widths))) + 1)) if widths else 1


def percentage(value: float, decimals: int) -> str:
    return f"{100.0 * value:.{decimals}f}\u00a0%"


def interval_words(row: "Row", decimals: int) -> str:
    """Both ends of an interval."""
    return f"{100.0 * row.low:.{decimals}f}\u00a0to\u00a0{percentage(row.high, decimals)}"


def figure(panel: "Panel", name: str, *, as_reported: bool) -> Html:
    """The picture of a panel, called by a name; intervals that take noisy counts at face value are dashed."""
    decimals, marks = decimals_of(panel), _ticks(max(row.high for row in panel.rows))
    half = len(panel.rows) // 2 if panel.left_out else None
    rows = []
    for number, row in enumerate(panel.rows):
        if number == half:
            rows.append(element("p", f"… {panel.left_out:,} between these …", class_="gap"))
        rows.append(_row(row, marks, decimals, as_reported=as_reported))
    kept = together(len(panel.rows))
    top = [] if kept else [_axis(marks)]  # a figure of several sheets or screens has its numbers at both ends
    return element("figure", *top, *rows, _axis(marks), role="group", aria_label=name, **kept)


def together(rows: int) -> dict[str, str]:
    """The attribute of what a printer keeps on one sheet: so many rows as leave room for more."""
    return {"class_": "together"} if rows <= _ROWS_TOGETHER else {}


def _ticks(highest: float) -> list[float]:
    """Round numbers from 0 to just beyond the highest value, or to 1."""
    least = max(highest, 1e-9) / _MOST_TICKS
    power = 10.0 ** floor(log10(least))
    step = next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= least * (1.0 - 1e-9))
    last = ceil(highest / step - 1e-9)
    return [min(1.0, number * step) for number in range(last + 1) if (number - 1) * step < 1.0 - 1e-9]


def _place(value: float, marks: list[float]) -> str:
    return f"{100.0 * min(1.0, value / marks[-1]):.3f}%"


def _row(row: "Row", marks: list[float], decimals: int, *, as_reported: bool) -> Html:
    said = f"{row.label}: {percentage(row.mean, decimals)}, {interval_words(row, decimals)}"
    low, mean, high = (_place(value, marks) for value in (row.low, row.mean, row.high))
    grid = [element("line", class_="grid", x1=_place(mark, marks), x2=_place(mark, marks), y1="0", y2="100%") for mark in marks]
    bar = element("line", class_="bar", x1=low, x2=high, y1="50%", y2="50%")
    dot = element("circle", class_="dot", cx=mean, cy="50%", r="5")
    picture = element("svg", *grid, bar, dot, role="img", aria_label=said)
    kind = "row reported" if as_reported else "row"
    return element("div", element("span", isolated(row.label), class_="label"), element("div", picture, class_="plot"), class_=kind)


def _axis(marks: list[float]) -> Html:
    """The numbers below the rows, which say them already: readers of the rows need not hear them."""
    decimals = max(0, -floor(log10(100.0 * (marks[1] - marks[0])) + 1e-9))
    while decimals < 6 and any(abs(round(100.0 * mark, decimals) - 100.0 * mark) > 1e-9 for mark in marks):
        decimals += 1
    words = [element("text", percentage(mark, decimals), x=_place(mark, marks), y="1.1rem") for mark in marks]
    picture = element("svg", *words, aria_hidden="true")
    return element("div", element("span", class_="label"), element("div", picture, class_="plot"), class_="row axis")
