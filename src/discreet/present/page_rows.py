"""The numbers of a page: means and intervals of all shares, or of the largest and smallest where they are many."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import limits
from discreet.model.dirichlet import Beta
from discreet.present.figures import CellFigures, counts_of, figures_of, group_sizes, unpublished
from discreet.present.how_read import AS_RELEASED, HowRead, NoiseIntervals
from discreet.text import percent_decimals, plain

if TYPE_CHECKING:
    from discreet.arrays import Floats, Mask
    from discreet.model.cells import Cells
    from discreet.model.dirichlet import Dirichlet
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
class SizeRow:
    """The number of records of a group: the mean and an interval."""

    label: str
    mean: float
    low: int
    high: int


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
    sizes: tuple[SizeRow, ...] = ()
    """The numbers of records of all groups, if they are private and can be shown."""
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
    noise, figures, cells = NoiseIntervals.of(found, how), figures_of(found, how, read), found.cells
    prior = np.tile(found.prior.concentration, (len(cells.groups), 1))
    for own_group, own in getattr(found.mechanism, "priors", ()):
        prior[cells.groups.index(own_group)] = own.concentration
    numbers = _Numbers(counts_of(found), figures.arrays, prior, cells.possible, how.mass, noise, unpublished(found))
    known = partial(
        Shares, how=how, reason=figures.reason, none=figures.none, caution=figures.caution(cells, noise), noise_reason=noise.reason
    )
    chosen = group if cells.groups.columns else 0
    if chosen is not None:
        return known((_group_panel(cells, chosen, numbers),), size=figures.size)
    sizes = group_sizes(found, how) if figures.reason is None and len(cells.groups) <= limits.PAGE_ROWS else []
    rows = tuple(SizeRow(_group_label(cells, group), *size) for group, size in enumerate(sizes))
    return known(sizes=rows, ranked=ranked, **_panels(cells, numbers, ranked=ranked))


def margin_shares(cells: "Cells", counts: Any, figures: CellFigures, how: HowRead) -> Shares:
    """The numbers of groups that were put together: those of each group that is left, in its order, or of one if there is none."""
    numbers = _Numbers(counts, figures.arrays, np.zeros(cells.shape), cells.possible, how.mass, NoiseIntervals(wanted=False))
    return Shares(how=how, **_panels(cells, numbers)) if cells.groups.columns else Shares((_group_panel(cells, 0, numbers),), how)


def _group_label(cells: "Cells", group: int) -> str:
    return cut(" · ".join(map(plain, cells.groups.key(group))))


def _group_panel(cells: "Cells", group: int, numbers: "_Numbers") -> Panel:
    """Return the panel with all categories in one group."""
    places = [(group, int(c)) for c in np.flatnonzero(cells.possible[group])]
    return _panel(None, [*map(cut, cells.categories)], places, numbers, in_order=True)


def _panels(cells: "Cells", numbers: "_Numbers", *, ranked: bool = False) -> dict[str, Any]:
    """A panel for each category, with a row for each group and the same decimals in all, and what is left out: the second of two."""
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


@dataclass(frozen=True)
class _Numbers:
    """Arrays over groups and categories."""

    counts: Any
    """Whole numbers, which may be beyond 64 bits."""
    figures: "list[Floats] | None"
    """Means and both ends of the intervals; None if they are to be those of the reported posterior."""
    prior: "Floats"
    possible: "Mask"
    mass: float
    noise: NoiseIntervals
    hidden: "Mask | None" = None
    """The counts that were not published."""

    def count(self, place: tuple[int, int]) -> int | None:
        """The reported count; None if it was not published."""
        return None if self.hidden is not None and self.hidden[place] else int(self.counts[place])

    def mean(self, place: tuple[int, int]) -> float:
        """The mean of one share."""
        if self.figures is not None:
            return float(self.figures[0][place])
        own, rest = self._reported(place)
        return own / (own + rest)

    def ends(self, place: tuple[int, int]) -> tuple[float, float]:
        """Return both ends of one interval."""
        if self.figures is not None:
            return float(self.figures[1][place]), float(self.figures[2][place])
        own, rest = self._reported(place)
        low, high = Beta(own, rest).interval(self.mass) if rest > 0 else (1.0, 1.0)
        return float(low), float(high)

    def _reported(self, place: tuple[int, int]) -> tuple[float, float]:
        """The parameters of one share in the reported posterior: its own, and the sum of the others that can occur."""
        own, rest = self._parameters
        return float(own[place]), float(rest[place])

    @cached_property
    def _parameters(self) -> "tuple[Floats, Floats]":
        """Return the parameters of all shares. The others are added up from both sides: nothing is subtracted, and so no digit is lost."""
        own = np.where(self.possible, self.prior + self.counts.astype(np.float64), 0.0)
        before, after = (np.zeros_like(own) for _ in range(2))
        np.cumsum(own[:, :-1], axis=1, out=before[:, 1:])
        np.cumsum(own[:, :0:-1], axis=1, out=after[:, -2::-1])
        return own, before + after


def _panel(heading: str | None, labels: Sequence[str], places: list[tuple[int, int]], numbers: _Numbers, *, in_order: bool) -> Panel:
    """Return all places, in their order or the largest first; if they are many, the largest and the smallest."""
    means = {place: numbers.mean(place) for place in places}
    most = limits.PAGE_ROWS
    ranked = sorted(places, key=lambda place: -means[place])
    shown = places if in_order else ranked
    if len(places) > most:
        shown = [*ranked[: most // 2], *ranked[len(ranked) - most // 2 :]]
    rows = (
        ShareRow(labels[place[1] if heading is None else place[0]], numbers.count(place), means[place], *numbers.ends(place), alone)
        for place, alone in zip(shown, numbers.noise.words(shown, "\u00a0"), strict=True)
    )
    return Panel(heading, tuple(rows), len(places) - len(shown))
