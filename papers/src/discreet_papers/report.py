"""The report: one HTML file, without links to other files, with every claim, figure and table."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import Path
from string import Template

from discreet.plotting.style import ON_DARK
from discreet_papers.claim import HOLDS, HOLDS_NOT, HOLDS_WHEN, Claim, Kind
from discreet_papers.data import Data, write_atomically
from discreet_papers.figure import Inline, Item, TableItem, variable

__all__ = ["Shown", "write_report"]

_SHOWN_NUMBERS = 3
_CLASSES: dict[Kind, str] = {HOLDS: "yes", HOLDS_WHEN: "partly", HOLDS_NOT: "no"}


@dataclass(frozen=True)
class Shown:
    """A figure or table with its data and, for a figure, its pictures as SVG."""

    item: Item
    data: Data
    inline: Inline | None


def write_report(claims: Sequence[Claim], shown: Sequence[Shown], directory: Path, *, quick: bool) -> Path:
    """Write report.html and return its path."""
    from discreet import __version__

    template = Template(resources.files("discreet_papers").joinpath("report.html").read_text("utf-8"))
    ids = {each.item.id for each in shown}
    text = template.substitute(
        version=escape(__version__),
        colours=" ".join(f"{variable(colour)}: {colour};" for colour in ON_DARK),
        dark_colours=" ".join(f"{variable(colour)}: {dark};" for colour, dark in ON_DARK.items()),
        effort="a quick run on coarse grids" if quick else "a full run",
        summary=_summary(claims, shown),
        contents="".join(f'<li><a href="#{e.item.id}">{escape(e.item.source)}</a>: {escape(e.item.title)}</li>' for e in shown),
        claims="\n".join(_claim_row(claim, ids) for claim in claims),
        sections="\n".join(_section(each, claims) for each in shown),
    )
    path = directory / "report.html"
    with write_atomically(path) as temporary:
        temporary.write_text(text, "utf-8")
    return path


def _summary(claims: Sequence[Claim], shown: Sequence[Shown]) -> str:
    counts = Counter(claim.kind for claim in claims)
    said = ", ".join(
        f"<b>{counts[kind]}</b> {words}"
        for kind, words in ((HOLDS, "hold"), (HOLDS_WHEN, "hold under a condition"), (HOLDS_NOT, "do not hold"))
    )
    tables = sum(isinstance(each.item, TableItem) for each in shown)
    return f"{len(claims)} claims: {said}. {len(shown) - tables} figures, {tables} tables."


def _badge(claim: Claim) -> str:
    return f'<span class="badge {_CLASSES[claim.kind]}">{escape(claim.kind)}</span>'


def _claim_row(claim: Claim, ids: set[str]) -> str:
    rows = [f"<tr><td>{escape(name)}</td><td>{value:.6g}</td></tr>" for name, value in claim.numbers.items()]
    numbers = f'<table class="numbers">{"".join(rows[:_SHOWN_NUMBERS])}</table>'
    if len(rows) > _SHOWN_NUMBERS:
        rest = "".join(rows[_SHOWN_NUMBERS:])
        numbers += f'<details><summary>{len(rows) - _SHOWN_NUMBERS} more</summary><table class="numbers">{rest}</table></details>'
    link = f'<a href="#{claim.figure}">{escape(claim.figure)}</a>' if claim.figure in ids else ""
    return (
        f'<tr id="claim-{claim.id}" data-kind="{escape(claim.kind)}">'
        f'<td data-name="id"><a href="#claim-{claim.id}">{escape(claim.id)}</a></td>'
        f'<td data-name="where">{escape(claim.where)}</td>'
        f'<td data-name="claim">{escape(claim.claim)}</td>'
        f'<td data-name="numbers">{numbers}</td>'
        f'<td data-name="verdict">{_badge(claim)} {escape(claim.condition_text)}<p class="searched">{escape(claim.reach)}</p></td>'
        f'<td data-name="figure">{link}</td></tr>'
    )


def _section(shown: Shown, claims: Sequence[Claim]) -> str:
    item = shown.item
    listed = "".join(
        f'<li><a href="#claim-{claim.id}">{escape(claim.id)}</a> {_badge(claim)} {escape(claim.claim)}</li>'
        for claim in claims
        if claim.figure == item.id
    )
    about = f'<ul class="about">{listed}</ul>' if listed else ""
    files = [f"data/{item.id}.csv", f"data/{item.id}.parquet"]
    if shown.inline is not None:
        files = [f"figures/{item.id}.svg", f"figures/{item.id}.png", *files]
    links = " · ".join(f'<a href="{name}">{name.rsplit(".", 1)[1].upper()}</a>' for name in files)
    body = _table(item, shown.data) if isinstance(item, TableItem) else _pictures(shown.inline)
    return (
        f'<section class="item" id="{item.id}"><h3>{escape(item.title)}</h3><p class="source">{escape(item.source)}</p>'
        f'{body}<p class="caption">{escape(item.caption)}</p>'
        f"{about}"
        f'<p class="files">{len(shown.data):,} rows of data: {links}</p></section>'
    )


def _pictures(inline: Inline | None) -> str:
    """The panels, and below them one legend."""
    if inline is None:
        return ""
    panels = "".join(f'<div class="panel">{panel}</div>' for panel in inline.panels)
    keys = "".join(f"<li>{key}{escape(label)}</li>" for label, key in inline.legend)
    return f'<div class="panels of{len(inline.panels)}">{panels}</div>' + (f'<ul class="legend">{keys}</ul>' if keys else "")


def _table(item: TableItem, data: Data) -> str:
    head = "".join(f"<th>{escape(heading)}</th>" for heading, _ in item.columns.values())
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(format(row[name], kind))}</td>" for name, (_, kind) in item.columns.items()) + "</tr>"
        for row in data.rows()
    )
    return f'<div class="wide"><table class="data"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
