"""All groups of a table together, or those with each label of one column."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import limits
from discreet.errors import InvalidInputError
from discreet.present import page
from discreet.present.html import Html, joined
from discreet.present.page_rows import Panel, ShareRow, Shares, alike, cut
from discreet.record.release import Release
from discreet.requests.fields import WrongError
from discreet.requests.reading import ReadMargins
from discreet.requests.records import ShowRequest
from discreet.web.code_to_copy import request_command, same
from discreet.web.opened_records import Opened
from discreet.web.read.answers import posterior_of
from discreet.web.read.question import ReadQuestion

if TYPE_CHECKING:
    from discreet.progress import Progress


def why_not(release: Release) -> str | None:
    """Why groups cannot be put together on the page, if so."""
    if release.n is None:
        return "How much each group counts is not public, so there are no shares of all groups together."
    if len(release.cells.groups) > limits.GROUPS_CONVOLVED:
        return f"Groups are put together here up to {limits.GROUPS_CONVOLVED:,} of them; posterior.over() in Python takes more."
    return None


def margins(asked: ReadQuestion[ReadMargins], opened: Opened, tell: "Progress") -> Html:
    """The shares of all groups together, each with its part of the population, or of the groups with each label of a column."""
    release = asked.record.release
    if not release.by.columns or (why_not(release) is not None):
        raise WrongError({"over": "Groups of this record cannot be put together here"})
    if asked.how.of_records:
        raise InvalidInputError("groups are put together for shares of the population: choose these above")
    columns = asked.asked.over or ()
    posterior, sizes = posterior_of(asked, opened, tell), release.sizes
    over = posterior.over(*columns, weights=sizes)
    keys = list(over) if columns else [None]
    if len(keys) > limits.PAGE_ROWS:
        raise WrongError({"over": f"This column has {len(keys):,} labels, and the page shows up to {limits.PAGE_ROWS}"})
    found = [_row_of(release, over if key is None else over[key], _positions(over, key), asked.mass) for key in keys]
    panels = _by_label(release, [cut(key) for key in keys], found) if columns else (_whole(release, found[0]),)
    shares = Shares(alike(panels), asked.how)
    words = [*map(repr, columns), *([] if sizes is None else ["weights=release.sizes"])]
    lines = [f"over = release.noise_aware({asked.reader_code}).over({', '.join(words)})"]
    if columns:
        lines += ["for label in over:", f"    print(label, over[label].mean(), over[label].interval({asked.mass!r}))"]
    else:
        lines += ["print(over.mean())", f"print(over.interval({asked.mass!r}))"]
    others = [name for name in release.by.columns if name not in columns]
    typed = request_command("show", ShowRequest.asking(**vars(asked.request), over=others)) if others else None
    return joined(page.answered(release, shares), same("read-margins", typed, asked.python(*lines)))


def _positions(over: Any, key: Any) -> Any:
    return slice(None) if key is None else over.margin.positions(key)


Found = tuple[Any, Any, Any]
"""Counts, means and intervals, each over all categories."""


def _row_of(release: Release, shared: Any, positions: Any, mass: float) -> Found:
    return release.counts[positions].sum(axis=0), shared.mean(), shared.interval(mass)


def _whole(release: Release, found: Found) -> Panel:
    """All categories of all groups together."""
    categories = release.cells.categories[: limits.PAGE_ROWS]
    rows = _rows(map(cut, categories), [(found, c) for c in range(len(categories))])
    return Panel(None, tuple(rows), len(release.cells.categories) - len(categories))


def _by_label(release: Release, labels: list[str], found: list[Found]) -> tuple[Panel, ...]:
    """A panel for each category, with a row for each label of the column."""
    categories = release.cells.categories[: limits.PAGE_PANELS]
    return tuple(Panel(cut(category), tuple(_rows(labels, [(one, c) for one in found])), 0) for c, category in enumerate(categories))


def _rows(labels: Iterable[str], places: list[tuple[Found, int]]) -> Iterable[ShareRow]:
    for label, ((counts, means, ends), c) in zip(labels, places, strict=True):
        low, high = np.asarray(ends)[c].tolist()
        yield ShareRow(label, int(counts[c]), float(means[c]), low, high)
