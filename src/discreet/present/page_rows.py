"""The numbers of a page: means and intervals of all shares, or of the largest and smallest where they are many."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import limits
from discreet.present.figures import CellNumbers, ReportedFigures, group_sizes
from discreet.present.how_read import AS_RELEASED, HowRead
from discreet.text import percent_decimals, plain

if TYPE_CHECKING:
    from discreet.model.cells import Cells
    from discreet.model.dirichlet import Beta, Dirichlet
    from discreet.record.release import Release

_LISTED_PARAMETERS = 12
_LONGEST_ROW_LABEL = 120
"""Characters of a label: more are in the record."""


@dataclass(frozen=True)
class ShareRow:
    """A share, and the reported count it belongs to."""

    label: str
    count: int | None
    """The reported count; None if it was not published."""
    mean: float
    low: float
    high: float
    alone: tuple[str, ...] = ()
    """The interval of the noise alone in words, where the share is that of the records."""


@dataclass(frozen=True)
class Panel:
    """The shares of all categories, or those of one category in all groups."""

    heading: str | None
    """The category, where there are groups."""
    rows: tuple[ShareRow, ...]
    left_out: int
    """The number of rows between the largest and the smallest that are shown."""
    decimals: int | None = None
    """The decimals of its percentages; as many as its own narrowest interval asks for, if nothing is said."""


@dataclass(frozen=True)
class Shares:
    """The shares that a page shows, and how they were found."""

    panels: tuple[Panel, ...]
    how: HowRead
    reason: str | None = None
    """The reason why shares do not allow for the noise, if so; then they are those of the reported posterior."""
    size: tuple[float, int, int] | None = None
    """Mean and interval of the number of records, if that is private and one variable was asked."""
    sizes: tuple[tuple[str, float, int, int], ...] = ()
    """The label of each group with the mean and the interval of its number of records, if they are private and can be shown."""
    categories_left_out: int = 0
    none: float | None = None
    """The probability that there are no records (in a group), where shares are those of the records and their number is private."""
    caution: str | None = None
    """The warning where the prior moves shares out of the intervals of the noise; None elsewhere."""
    rest: str | None = None
    """The second of two categories, which has no panel: its shares are what is left to 100 %."""
    ranked: bool = False
    """Whether groups stand by their shares, and not in their order."""
    noise_reason: str | None = None
    """The reason why there are no intervals of the noise alone, where shares are those of the records."""


def cut(label: Any) -> str:
    """A label as it may be printed, and not longer than a line or two."""
    text = plain(label)
    return text if len(text) <= _LONGEST_ROW_LABEL else f"{text[:_LONGEST_ROW_LABEL]}…"


def parameters(prior: "Dirichlet | Beta") -> str:
    """The parameters of a prior, the first few if they are many."""
    return cut(", ".join(map(str, prior.exact[:_LISTED_PARAMETERS])) + (", …" if prior.k > _LISTED_PARAMETERS else ""))


def shares_of(
    found: "Release",
    how: HowRead = AS_RELEASED,
    *,
    read: Callable[[], Any] | None = None,
    group: int | None = None,
    ranked: bool = False,
) -> Shares:
    """The numbers of a release: with intervals that allow for the noise if these can be computed, and else as reported.

    `read` gives the posterior of one variable, or the numbers of a table's cells, where these are not to be computed here. With the
    position of a `group` they are the numbers of this group alone; `ranked` groups stand by their shares, the largest first.
    """
    numbers, cells = CellNumbers.of(found, how, read), found.cells
    figures = numbers.figures
    known = partial(Shares, how=how, reason=figures.reason, none=figures.none, caution=numbers.caution, noise_reason=numbers.noise.reason)
    if figures.mean is None:
        numbers = replace(numbers, figures=ReportedFigures.of_record(found, how.mass))
    chosen = group if cells.groups.columns else 0
    if chosen is not None:
        return known((_group_panel(chosen, numbers),), size=figures.size)
    sizes = group_sizes(found, how) if figures.reason is None and len(cells.groups) <= limits.PAGE_ROWS else []
    rows = tuple((_group_label(cells, group), *size) for group, size in enumerate(sizes))
    return known(sizes=rows, ranked=ranked, **_panels(numbers, ranked=ranked))


def margin_shares(numbers: CellNumbers, how: HowRead) -> Shares:
    """The numbers of groups that were put together: those of each group that is left, in its order, or of one if there is none."""
    return Shares(how=how, **_panels(numbers)) if numbers.cells.groups.columns else Shares((_group_panel(0, numbers),), how)


def _group_label(cells: "Cells", group: int) -> str:
    return cut(" · ".join(map(plain, cells.groups.key(group))))


def _group_panel(group: int, numbers: CellNumbers) -> Panel:
    """Return the panel with all categories in one group."""
    places = [(group, int(c)) for c in np.flatnonzero(numbers.cells.possible[group])]
    return _panel(None, [*map(cut, numbers.cells.categories)], places, numbers, in_order=True)


def _panels(numbers: CellNumbers, *, ranked: bool = False) -> dict[str, Any]:
    """A panel for each category, with a row for each group and the same decimals in all, and what is left out: the second of two."""
    cells = numbers.cells
    labels, k = [_group_label(cells, group) for group in range(len(cells.groups))], len(cells.categories)
    is_two_sided = k == 2 and bool(cells.possible.all())
    panels = [
        _panel(cut(category), labels, [(int(group), c) for group in np.flatnonzero(cells.possible[:, c])], numbers, in_order=not ranked)
        for c, category in enumerate(cells.categories[: 1 if is_two_sided else limits.PAGE_PANELS])
    ]
    decimals = percent_decimals((row.low, row.high) for panel in panels for row in panel.rows)
    return {
        "panels": tuple(replace(panel, decimals=decimals) for panel in panels),
        "rest": cut(cells.categories[1]) if is_two_sided else None,
        "categories_left_out": 0 if is_two_sided else max(0, k - limits.PAGE_PANELS),
    }


def _panel(heading: str | None, labels: Sequence[str], places: list[tuple[int, int]], numbers: CellNumbers, *, in_order: bool) -> Panel:
    """Return all places, in their order or the largest first; if they are many, the largest and the smallest."""
    mean, most = numbers.figures.mean, limits.PAGE_ROWS
    ranked = places if mean is None else sorted(places, key=lambda place: -mean[place])
    shown = places if in_order else ranked
    if len(places) > most:
        shown = [*ranked[: most // 2], *ranked[len(ranked) - most // 2 :]]
    rows = (
        ShareRow(labels[place[1] if heading is None else place[0]], numbers.count(place), *figures, alone)
        for place, alone in zip(shown, numbers.noise.words(shown, "\u00a0"), strict=True)
        if (figures := numbers.figures.at(place)) is not None
    )
    return Panel(heading, tuple(rows), len(places) - len(shown))
