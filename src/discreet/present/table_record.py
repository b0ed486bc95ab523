"""A table's public record in words and in fields: a row a group and category."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from rich.table import Table

from discreet import limits
from discreet.errors import DiscreetError, TooLargeError
from discreet.present.terminal import cell
from discreet.text import in_percent

if TYPE_CHECKING:
    from discreet import Release
    from discreet.arrays import Counts
    from discreet.counts.batched.arrays import GroupSummaries
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


def table_figures(
    found: "Release[Counts]",
    mass: float,
    reader: "Dirichlet | None" = None,
    *,
    slow: bool,
    read: "Callable[[], GroupSummaries] | None" = None,
) -> "tuple[GroupSummaries | None, str | None]":
    """Means and intervals of all cells, or why there are none. `read` gives them, where they are not to be computed here."""
    try:
        if not slow:
            check_table_work(found)
        return found.noise_aware(reader).figures(mass) if read is None else read(), None
    except DiscreetError as error:
        return None, error.in_shell


def laid_out(found: "Release[Counts]", mass: float, reader: "Dirichlet | None" = None, *, slow: bool) -> Table:
    """The reported counts and, where the noise can be allowed for, posterior means with intervals that do."""
    figures, reason = table_figures(found, mass, reader, slow=slow)
    table = Table(title="Private posteriors", caption=None if reason is None else cell(reason))
    for name in (*found.cells.groups.columns, "category"):
        table.add_column(cell(name))
    for name in ("reported\ncount", "mean", f"{100.0 * mass:g} % interval,\nnoise allowed for"):
        table.add_column(name, justify="right", no_wrap=True)
    shown = list(islice(_places(found), MOST_ROWS))
    possible = [place for place in shown if found.cells.possible[place]]
    words = {} if figures is None else dict(zip(possible, _percentages(figures, possible), strict=True))
    for group, category in shown:
        key = found.cells.groups.key(group)
        label = found.cells.categories[category]
        if not found.cells.possible[group, category]:
            table.add_row(*map(cell, (*key, label, "0", "0 %", "cannot occur")))
            continue
        numbers = words.get((group, category), ("not available",) * 2)
        table.add_row(*map(cell, (*key, label, found.counts[group, category], *numbers)))
    if found.counts.size > MOST_ROWS:
        table.add_row(f"{found.counts.size - MOST_ROWS:,} more: --json, or the record itself")
    return table


def _percentages(figures: "GroupSummaries", places: list[tuple[int, int]]) -> list[tuple[str, str]]:
    """The means and intervals of these cells in percent."""
    return in_percent([(float(figures.mean[place]), float(figures.low[place]), float(figures.high[place])) for place in places])


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


def group_fields(found: "Release[Counts]", mass: float, reader: "Dirichlet | None" = None, *, slow: bool) -> dict[str, Any]:
    """What `show --json` says of the groups, with None for what is not available."""
    from discreet.record.json import written_label

    figures, reason = table_figures(found, mass, reader, slow=slow)

    def numbers(group: int, category: int) -> dict[str, Any]:
        if figures is None:
            return dict.fromkeys(("mean", "low", "high"))
        return {name: float(getattr(figures, name)[group, category]) for name in ("mean", "low", "high")}

    cells = found.cells
    sizes = group_sizes(found, mass, reader)
    rows = [
        {
            "group": dict(zip(cells.groups.columns, map(written_label, cells.groups.key(group)), strict=True)),
            "category": written_label(cells.categories[category]),
            "possible": bool(cells.possible[group, category]),
            "reported_count": int(found.counts[group, category]),
            **numbers(group, category),
        }
        for group, category in _places(found)
    ]
    named = [dict(zip(cells.groups.columns, map(written_label, cells.groups.key(group)), strict=True)) for group in range(len(sizes))]
    return {
        "not_available": reason,
        "sizes": [{"group": name, "mean": m, "low": low, "high": high} for name, (m, low, high) in zip(named, sizes, strict=True)] or None,
        "cells": rows,
    }
