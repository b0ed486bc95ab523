"""The figure of a page: a row for each share with its mean and interval, on one axis from 0.

A row is text beside a small picture whose places are percentages of its width, so that lines and letters keep their size at any width.
"""

from math import ceil, floor, log10
from typing import TYPE_CHECKING

from discreet.present.html import Html, element, isolated, joined, table
from discreet.text import in_percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.present.page_rows import Panel, ShareRow

_MOST_TICKS = 5
_MOST_CROSSED, _MOST_BESIDE = 5, 3
"""Categories of which one table has room beside the groups, and those of which a cell has room for an interval beside its share."""
_ROWS_TOGETHER = 15
"""Rows of a figure or a table that are printed on one sheet."""


def percentages_of(panel: "Panel") -> list[tuple[str, str]]:
    """The shares of a panel and their intervals in words that no line breaks."""
    return in_percent([(row.mean, row.low, row.high) for row in panel.rows], "\u00a0", panel.decimals)


def figure(panel: "Panel", name: str, *, as_reported: bool) -> Html:
    """The picture of a panel, called by a name; intervals that take noisy counts at face value are dashed."""
    marks = _ticks(max(row.high for row in panel.rows))
    half = len(panel.rows) // 2 if panel.left_out else None
    rows = []
    for number, (row, numbers) in enumerate(zip(panel.rows, percentages_of(panel), strict=True)):
        if number == half:
            rows.append(element("p", f"… {panel.left_out:,} between these …", class_="gap"))
        rows.append(_row(row, marks, numbers, as_reported=as_reported))
    kept = together(len(panel.rows))
    top = [] if kept else [_axis(marks)]  # a figure of several sheets or screens has its numbers at both ends
    return element("figure", *top, *rows, _axis(marks), role="group", aria_label=name, **kept)


def crossed(panels: "Sequence[Panel]", caption: str, mass: str) -> Html:
    """One table of all groups by all categories, with the interval and the picture of each share in its cell, on one axis."""
    marks = _ticks(max(row.high for panel in panels for row in panel.rows))
    words = [percentages_of(panel) for panel in panels]
    lines = [
        element(
            "tr",
            element("th", isolated(panels[0].rows[place].label), scope="row"),
            *(_cell(panel, place, marks, numbers[place]) for panel, numbers in zip(panels, words, strict=True)),
        )
        for place in range(len(panels[0].rows))
    ]
    heads = ("group", *(joined(isolated(panel.heading or ""), f", {mass} interval") for panel in panels))
    numbers = element("tr", element("td"), *(element("td", _numbers(marks), class_="axis") for _ in panels), aria_hidden="true")
    kind = "crossed" if len(panels) <= _MOST_BESIDE else "crossed stacked"
    return table(caption, heads, [*lines, numbers], class_=kind)


def can_be_crossed(panels: "Sequence[Panel]") -> bool:
    """Whether all groups have all of a few categories, in the same order, so that one table shows them."""
    labels = [[row.label for row in panel.rows] for panel in panels]
    short = 1 < len(panels) <= _MOST_CROSSED and all(one == labels[0] for one in labels)
    return short and bool(labels[0]) and not any(panel.left_out or any(row.alone for row in panel.rows) for panel in panels)


def _cell(panel: "Panel", place: int, marks: list[float], words: tuple[str, str]) -> Html:
    """A share of a cross table; where there is no room for columns, it says its category."""
    picture = element("div", _bar(panel.rows[place], marks), class_="plot", aria_hidden="true")
    return element("td", element("b", words[0]), " ", element("span", words[1], class_="quiet"), picture, data_category=panel.heading or "")


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


def _row(row: "ShareRow", marks: list[float], numbers: tuple[str, str], *, as_reported: bool) -> Html:
    said = f"{row.label}: {', '.join(numbers)}"
    kind = "row reported" if as_reported else "row"
    picture = element("div", _bar(row, marks, role="img", aria_label=said), class_="plot")
    return element("div", element("span", isolated(row.label), class_="label"), picture, class_=kind)


def _bar(row: "ShareRow", marks: list[float], **attributes: str) -> Html:
    low, mean, high = (_place(value, marks) for value in (row.low, row.mean, row.high))
    grid = [element("line", class_="grid", x1=_place(mark, marks), x2=_place(mark, marks), y1="0", y2="100%") for mark in marks]
    bar = element("line", class_="bar", x1=low, x2=high, y1="50%", y2="50%")
    dot = element("circle", class_="dot", cx=mean, cy="50%", r="5")
    return element("svg", *grid, bar, dot, **attributes)


def _axis(marks: list[float]) -> Html:
    """The numbers below the rows, which say them already: readers of the rows need not hear them."""
    return element("div", element("span", class_="label"), _numbers(marks), class_="row axis")


def _numbers(marks: list[float]) -> Html:
    decimals = max(0, -floor(log10(100.0 * (marks[1] - marks[0])) + 1e-9))
    while decimals < 6 and any(abs(round(100.0 * mark, decimals) - 100.0 * mark) > 1e-9 for mark in marks):
        decimals += 1
    words = [element("text", f"{100.0 * mark:.{decimals}f}\u00a0%", x=_place(mark, marks), y="1.1rem") for mark in marks]
    return element("div", element("svg", *words, aria_hidden="true"), class_="plot")
