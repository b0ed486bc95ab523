"""A table's public record in words and in fields: a row a group and category."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from rich.table import Table

from discreet import limits
from discreet.errors import DiscreetError, TooLargeError
from discreet.present.how_read import HowRead, NoiseIntervals, moved_by_prior
from discreet.present.terminal import cell
from discreet.text import in_percent

if TYPE_CHECKING:
    from discreet import Release, TablePosterior
    from discreet.arrays import Counts, Floats
    from discreet.model.dirichlet import Dirichlet

_MOST_PLANE_PAIRS = 2_000_000_000
"""Pairs of a count and a rest of its group, of all groups, that take half a minute."""
_MOST_WIDE = 200
"""Groups with so wide noise that they are gone through one at a time, which take as long."""
MOST_ROWS = 999
"""Of a table on a terminal: nobody reads more, and laying them out takes longer than all else."""


def check_table_work(found: "Release[Counts]") -> None:
    """Refuse, by what is in a record alone, intervals of all groups that would take minutes."""
    from discreet.inference.tables.posterior import summary_pairs

    groups, pairs = len(found.cells.groups), summary_pairs(found.mechanism)
    if groups > _MOST_WIDE if pairs > limits.PLANE_PAIRS * groups else pairs > _MOST_PLANE_PAIRS:
        raise TooLargeError(
            f"the intervals of these {groups:,} groups go through about {pairs:,} pairs of possible counts, for minutes: "
            "discreet show RECORD --slow computes them"
        )


@dataclass(frozen=True, eq=False)
class CellFigures:
    """Means and intervals of all cells, by group and category."""

    mean: "Floats | None" = None
    low: "Floats | None" = None
    high: "Floats | None" = None
    reason: str | None = None
    """Why there is nothing, if so."""
    none: float | None = None
    """The largest probability that a group has no records, where shares are those of the records and sizes are private."""

    @classmethod
    def of(cls, posterior: "TablePosterior", how: HowRead) -> "CellFigures":
        """Those of a posterior: shares of the population, or of the records in each group."""
        if not how.of_records:
            found = posterior.figures(how.mass)
            return cls(found.mean, found.low, found.high)
        records = posterior.records
        ends = records.interval(how.mass)
        none = float(records.no_records.max()) if posterior.mechanism.table.sizes is None else None
        return cls(records.mean(), ends[..., 0], ends[..., 1], none=none)

    @property
    def arrays(self) -> "list[Floats] | None":
        """Means and both ends, if they are there."""
        return None if self.mean is None or self.low is None or self.high is None else [self.mean, self.low, self.high]

    def at(self, place: tuple[int, int]) -> tuple[float, float, float] | None:
        """Mean and interval of one cell."""
        if self.arrays is None:
            return None
        mean, low, high = (float(array[place]) for array in self.arrays)
        return mean, low, high

    def caution(self, found: "Release[Counts]", noise: NoiseIntervals) -> str | None:
        """What is to be said where the prior moves shares out of the intervals of the noise."""
        if noise.ends is None or self.mean is None:
            return None
        places = list(_places(found))
        labels = [f"{found.cells.categories[c]} in {', '.join(map(str, found.cells.groups.key(g)))}" for g, c in places]
        return moved_by_prior(labels, self.mean.ravel().tolist(), noise.ends.reshape(-1, 2).tolist())


def table_figures(found: "Release[Counts]", how: HowRead, read: "Callable[[], CellFigures] | None" = None) -> CellFigures:
    """Means and intervals of all cells, or why there are none. `read` gives them, where they are not to be computed here."""
    try:
        if not how.slow:
            check_table_work(found)
        return CellFigures.of(found.noise_aware(how.reader), how) if read is None else read()
    except DiscreetError as error:
        return CellFigures(reason=error.in_shell)


def laid_out(found: "Release[Counts]", figures: CellFigures, noise: NoiseIntervals, how: HowRead) -> Table:
    """The reported counts and, where the noise can be allowed for, posterior means with intervals that do."""
    table = Table(title="Private posteriors", caption=None if figures.reason is None else cell(figures.reason))
    for name in (*found.cells.groups.columns, "category"):
        table.add_column(cell(name))
    for name in how.headings:
        table.add_column(name, justify="right", no_wrap=True)
    shown = list(islice(_places(found), MOST_ROWS))
    possible = [place for place in shown if found.cells.possible[place]]
    words = {} if figures.mean is None else dict(zip(possible, _percentages(figures, possible), strict=True))
    beside = dict(zip(possible, noise.words(possible), strict=True))
    for group, category in shown:
        key = found.cells.groups.key(group)
        label = found.cells.categories[category]
        if not found.cells.possible[group, category]:
            table.add_row(*map(cell, (*key, label, "0", "0 %", "cannot occur")))
            continue
        numbers = words.get((group, category), ("not available",) * 2)
        table.add_row(*map(cell, (*key, label, found.counts[group, category], *numbers, *beside[group, category])))
    if found.counts.size > MOST_ROWS:
        table.add_row(f"{found.counts.size - MOST_ROWS:,} more: --json, or the record itself")
    return table


def _percentages(figures: CellFigures, places: list[tuple[int, int]]) -> list[tuple[str, str]]:
    """The means and intervals of these cells in percent."""
    return in_percent([numbers for place in places if (numbers := figures.at(place)) is not None])


def group_sizes(found: "Release[Counts]", mass: float, reader: "Dirichlet | None" = None) -> list[tuple[float, int, int]]:
    """Mean and interval of the number of records in each group, where nothing about it is public.

    There are none where the sizes or their total are public, where the groups are very many, and where no posterior can be computed.
    """
    groups = found.cells.groups
    if found.n is not None or len(groups) > limits.GROUP_SIZES:
        return []
    try:
        posterior = found.noise_aware(reader)
        sizes = [posterior.size(group) for group in groups]
        return [(size.mean(), *size.interval(mass)) for size in sizes]
    except DiscreetError:
        return []


def sizes_laid_out(found: "Release[Counts]", sizes: list[tuple[float, int, int]], mass: float) -> Table:
    """How many records each group has, as the noisy counts say it."""
    table = Table(title=f"Number of {found.guarantee.unit}s in each group")
    for name in found.cells.groups.columns:
        table.add_column(cell(name))
    for name in ("mean", f"{100.0 * mass:g} % interval,\nnoise allowed for"):
        table.add_column(name, justify="right", no_wrap=True)
    for group, (mean, low, high) in enumerate(sizes):
        table.add_row(*map(cell, (*found.cells.groups.key(group), f"{mean:,.1f}", f"{low:,} to {high:,}")))
    return table


def _places(found: "Release[Counts]") -> Iterator[tuple[int, int]]:
    groups, categories = found.cells.shape
    return ((group, category) for group in range(groups) for category in range(categories))


def group_fields(found: "Release[Counts]", noise: NoiseIntervals, how: HowRead) -> dict[str, Any]:
    """What `show --json` says of the groups, with None for what is not available."""
    from discreet.record.json import written_label

    figures = table_figures(found, how)

    def numbers(place: tuple[int, int]) -> dict[str, Any]:
        return dict(zip(("mean", "low", "high"), figures.at(place) or (None,) * 3, strict=True)) | noise.row(place)

    cells = found.cells
    sizes = group_sizes(found, how.mass, how.reader)
    rows = [
        {
            "group": dict(zip(cells.groups.columns, map(written_label, cells.groups.key(group)), strict=True)),
            "category": written_label(cells.categories[category]),
            "possible": bool(cells.possible[group, category]),
            "reported_count": int(found.counts[group, category]),
            **numbers((group, category)),
        }
        for group, category in _places(found)
    ]
    named = [dict(zip(cells.groups.columns, map(written_label, cells.groups.key(group)), strict=True)) for group in range(len(sizes))]
    return {
        "not_available": figures.reason,
        **noise.fields(figures.none),
        "sizes": [{"group": name, "mean": m, "low": low, "high": high} for name, (m, low, high) in zip(named, sizes, strict=True)] or None,
        "cells": rows,
    }
