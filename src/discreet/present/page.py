"""One HTML page about a release, for people: it needs no other file, asks no server for anything, and holds the record."""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib import resources
from typing import TYPE_CHECKING

from discreet import __version__, limits
from discreet.errors import InvalidInputError
from discreet.present.about import about_lines
from discreet.present.how_read import whose
from discreet.present.html import Html, element, escaped, isolated, joined, table, table_row
from discreet.present.page_rows import Shares, cut
from discreet.present.page_tables import can_be_crossed, crossed, pictured, together
from discreet.present.page_words import checking, counting, meaning, promise, record, section, several, words
from discreet.record.files import block_of
from discreet.text import listed, more

if TYPE_CHECKING:
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
