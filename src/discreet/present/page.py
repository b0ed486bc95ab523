"""One HTML page about a release, for people: it needs no other file, asks no server for anything, and holds the record."""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib import resources
from math import ceil, floor, log10
from typing import TYPE_CHECKING

from discreet import __version__, limits
from discreet.errors import InvalidInputError
from discreet.present.figures import NOT_PUBLISHED
from discreet.present.how_read import whose
from discreet.present.html import Html, element, escaped, isolated, joined, table, table_row
from discreet.present.page_rows import Shares, cut
from discreet.present.page_words import checking, counting, meaning, promise, record, section, several, words
from discreet.present.record import about_lines
from discreet.record.files import block_of
from discreet.text import in_percent, listed, more

if TYPE_CHECKING:
    from discreet.present.page_rows import Panel, ShareRow
    from discreet.present.terminal import Lines
    from discreet.record.release import Release


def page(found: "Release", shares: Shares, text: str, name: str, options: Sequence[str] = ()) -> str:
    """The whole page: what was asked, the answer, and below it what a reader may want to know of it.

    `text` is the release as JSON, `name` that of the file and `options` those of the numbers, for the commands that compute them again.
    """
    body = joined(
        heading(found, words(_asked(found))),
        answered(found, shares, *([] if shares.how.reader is None else [_reader_note()])),
        meaning(found, shares),
        promise(found),
        counting(found),
        checking(found, name, options),
        record(found),
    )
    return document(_title(found), body, [text])


def document(title: str, body: Html, records: Sequence[str]) -> str:
    """A page that needs no other file and asks no server for anything, with records, given as JSON, inside."""
    style = resources.files("discreet.present").joinpath("page.css").read_text("utf-8")
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    head = (
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f'<meta name="generator" content="discreet {escaped(__version__)}"><link rel="icon" href="data:,">'
        f"{element('title', title)}<style>{style}</style>"
    )
    main = element("main", body, element("footer", element("p", f"Written by discreet {__version__}.", class_="quiet")))
    blocks = "\n".join(map(block_of, records))
    return f'<!doctype html>\n<html lang="en" dir="ltr">\n<head>{head}</head>\n<body>{main}\n{blocks}\n</body>\n</html>\n'


# --- what was asked ---------------------------------------------------------------------------------------------------


def _title(found: "Release") -> str:
    if found.about is not None and found.about.title is not None:
        return found.about.title
    variable = None if found.about is None else found.about.variable
    return "How common is each category?" if variable is None else f"How common is each value of “{cut(variable)}”?"


def heading(found: "Release", *more: Html) -> Html:
    """Title, and in one sentence how many were asked and what protects them."""
    guarantee = found.guarantee
    many = "a number of " if found.n is None else f"{found.n:,} "
    kept = " that is itself private" if found.n is None else ""
    others = found.mechanism._publisher
    promised = "without any privacy guarantee" if guarantee.basis == "none" else f"each protected by {guarantee.everyone}"
    kicker = "Results without privacy protection" if guarantee.basis == "none" else "Results published with differential privacy"
    if others is not None:
        promised, kicker = f"from noisy counts published by {others}", "Results that others published"
    lead = element("p", f"Estimated from {many}{guarantee.unit}s{kept}, {promised}.", class_="lead")
    return element("header", element("p", kicker, class_="kicker"), element("h1", isolated(_title(found))), lead, *more)


def asked(found: "Release") -> Html:
    """Return the question as a section of its own."""
    return section("What was asked", words(_asked(found)))


def _asked(found: "Release") -> "Lines":
    """Return the lines about the question, of whom and when; how it was counted is said below the answer."""
    lines = [line for line in about_lines(found) if line[0] not in ("Title", "Counted")]
    declared = [("Categories", several(found.prior.categories))]
    groups = found.by
    if groups.columns:
        columns = zip(groups.columns, groups.labels, strict=True)
        named = [part for column, labels in columns for part in ("; ", isolated(cut(column)), ": ", several(labels))]
        declared.append(("Groups", joined(f"{len(groups):,} by ", *named[1:])))
    place = sum(word == "Variable" for word, _ in lines)
    return [*lines[:place], *declared, *lines[place:]]


# --- the answer -------------------------------------------------------------------------------------------------------


def answered(found: "Release", shares: Shares, *notes: Html, one_table: bool = False) -> Html:
    """The figures and the tables, with notes before them; in one table of all groups by all categories where that is asked and fits."""
    mass, reported, by = f"{100.0 * shares.how.mass:g} %", shares.reason is not None, cut(listed(found.by.columns))
    parts = [_caveat(shares)] if reported else []
    parts += notes
    if shares.size is not None:
        mean, low, high = shares.size
        about = f"There are about {mean:,.0f} {found.guarantee.unit}s: between {low:,} and {high:,} with probability {mass} or more."
        parts.append(element("p", about))
    parts += [] if shares.caution is None else [element("p", element("strong", "Caution: "), f"{shares.caution}.", class_="warn")]
    is_one = one_table and not reported and can_be_crossed(shares.panels)
    parts.append(element("p", _legend(found, shares, mass, is_one=is_one), class_="quiet"))
    if is_one:
        parts.append(crossed(shares.panels, f"Shares by {by}, noise allowed for.", mass))
    for panel in () if is_one else shares.panels:
        if panel.heading is not None:
            parts.append(element("h3", isolated(panel.heading), ", by ", isolated(by)))
        parts.append(pictured(panel, mass, as_reported=reported))
    if shares.categories_left_out:
        parts.append(element("p", f"{more(shares.categories_left_out, 'category is', 'categories are')} in the record.", class_="quiet"))
    if shares.sizes:
        parts += _sizes(shares.sizes, f"{found.guarantee.unit}s", by, mass)
    question = None if found.about is None or found.about.title is None else found.about.variable
    return section("The answer" if question is None else joined("The answer: ", isolated(cut(question))), *parts)


def _legend(found: "Release", shares: Shares, mass: str, *, is_one: bool) -> str:
    legend = f"Shares {whose(found, shares.how.about)}: a dot is the expected share, and its bar holds the share with probability {mass}."
    if shares.how.of_records and shares.noise_reason is not None:
        legend += f" There is no interval by the noise alone: {shares.noise_reason}."
    elif shares.how.of_records:
        legend += (
            f" The last column is by the noise alone: without a prior it holds the share with probability {mass} or more for any data."
        )
    if shares.reason is not None:
        legend = f"Dots and dashed bars are means and {mass} intervals of the reported posterior."
    if shares.rest is not None:
        legend += f" The share of “{shares.rest}” is what is left to 100 %, and so are the ends of its interval."
    if shares.ranked:
        legend += " Groups with the largest share come first."
    if len(shares.panels) > 1 and not is_one:
        legend += " Each table has a scale of its own, which begins at 0."
    return legend


def _reader_note() -> Html:
    strong = element("strong", "These numbers are by the prior of whoever made this page, ")
    return element("p", strong, "and not by that of the release. Both are named under “What the intervals mean”.", class_="warn")


def _sizes(sizes: Sequence[tuple[str, float, int, int]], units: str, by: str, mass: str) -> list[Html]:
    """Return how many there are in each group, where that is private."""
    rows = [table_row(isolated(label), f"{mean:,.0f}", f"{low:,}\u00a0to\u00a0{high:,}") for label, mean, low, high in sizes]
    caption = f"The number of {units} in each group is private. This is what the noisy counts say about it."
    heading = element("h3", f"Number of {units}, by ", isolated(by))
    return [heading, table(caption, ("group", units, f"{mass} interval"), rows, class_=" ".join(["sizes", *together(len(rows))]))]


def _caveat(shares: Shares) -> Html:
    strong = element("strong", "These numbers do not allow for the noise. ")
    told = (
        "They are the reported posterior, which takes the noisy counts as if they were exact: its intervals are too narrow, and how much "
        f"is not known. Intervals that allow for the noise are not available here: {shares.reason}."
    )
    return element("p", strong, told, class_="warn")


def page_content(found: "Release", shares: Shares, text: str, name: str, options: Sequence[str]) -> bytes:
    """The page, if commands can read it again. `text` is the record, `name` that of the file, and `options` are those of `show`."""

    content = page(found, shares, text, name, options).encode()
    if len(content) > limits.RECORD_CHARACTERS:
        raise InvalidInputError(
            f"the page of this record would be longer than the {limits.RECORD_CHARACTERS:,} bytes that discreet show reads: "
            "publish the record itself"
        )
    return content


def page_json(found: "Release") -> str:
    """The record as a page can hold it."""
    try:
        return found.to_json()
    except InvalidInputError:
        raise InvalidInputError(
            f"a page holds its record as JSON, and so a table of at most {limits.RECORD_CELLS:,} cells without very long labels; this one "
            "is larger: publish the Parquet file, which discreet show reads"
        ) from None


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
