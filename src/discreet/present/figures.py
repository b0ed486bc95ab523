"""The numbers of a record, by group and category, as a table and as fields: a variable is a table with one group."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from rich.table import Table

from discreet import limits
from discreet.errors import DiscreetError, TooLargeError
from discreet.present.how_read import HowRead, NoiseIntervals, moved_by_prior
from discreet.present.progress import progress_bar
from discreet.present.terminal import cell, interval_heading, table_of
from discreet.text import in_percent

if TYPE_CHECKING:
    from discreet import Release, TablePosterior
    from discreet.arrays import Floats
    from discreet.inference.noise_aware import NoiseAware
    from discreet.model.cells import Cells

MOST_ROWS = 999
"""The most rows of a table on a terminal: nobody reads more, and laying them out takes longer than all else."""
_MOST_CATEGORIES, _MOST_WORK = 100, 1 << 26
"""Up to here the intervals of a record, whoever wrote it, take seconds and some hundred megabytes."""
_MOST_PAIRS = 2_000_000_000
"""Pairs of possible counts, or of a count and a rest of its group, that take some ten seconds to half a minute."""
_MOST_WIDE = 200
"""Groups with so wide noise that they are gone through one at a time, which take as long."""


# --- how long it takes ------------------------------------------------------------------------------------------------


def check_work(found: "Release") -> None:
    """Refuse, by what is in a record alone, intervals that would take minutes or gigabytes."""
    if found.by.columns:
        _check_table_work(found)
        return
    k = len(found.counts)
    if k > _MOST_CATEGORIES:
        raise TooLargeError(f"the intervals of {k:,} categories take a while: discreet show RECORD --slow computes them")
    check_pairs([found], "discreet show RECORD --slow")


def _check_table_work(found: "Release") -> None:
    from discreet.inference.tables.posterior import summary_pairs

    groups, pairs = len(found.cells.groups), summary_pairs(found.mechanism)
    if groups > _MOST_WIDE if pairs > limits.PLANE_PAIRS * groups else pairs > _MOST_PAIRS:
        raise TooLargeError(
            f"the intervals of these {groups:,} groups go through about {pairs:,} pairs of possible counts, for minutes: "
            "discreet show RECORD --slow computes them"
        )


def check_pairs(found: "Sequence[Release]", typed: str) -> None:
    """Refuse records whose intervals go through so many pairs of possible counts that it takes minutes; `typed` computes them."""
    if (pairs := pairs_of(found)) > _MOST_PAIRS:
        whose = "this record" if len(found) == 1 else "these records"
        raise TooLargeError(
            f"the intervals of {whose} go through about {pairs:,} pairs of possible counts, for a minute or more: {typed} computes them"
        )


def pairs_of(found: "Sequence[Release]") -> int:
    """Return how many pairs of possible counts the intervals of these records go through, if they are many: once for each mechanism."""
    from discreet.inference.capabilities import capabilities

    listed = {one.mechanism for one in found if one.mechanism.noise is None}
    return sum(capabilities(mechanism).noise_aware_pairs or 0 for mechanism in listed)


# --- the numbers ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CellFigures:
    """Means and intervals of all cells, by group and category."""

    mean: "Floats | None" = None
    low: "Floats | None" = None
    high: "Floats | None" = None
    reason: str | None = None
    """The reason why there is nothing, if so."""
    none: float | None = None
    """The largest probability that a group has no records, where shares are those of the records and sizes are private."""
    size: tuple[float, int, int] | None = None
    """Mean and interval of the number of records, where one variable was asked and that is private."""

    @classmethod
    def of(cls, posterior: "TablePosterior", how: HowRead) -> "CellFigures":
        """Return the figures of a table's posterior: shares of the population, or of the records in each group."""
        if not how.of_records:
            found = posterior.figures(how.mass)
            return cls(found.mean, found.low, found.high)
        records = posterior.records
        ends = records.interval(how.mass)
        occurring = posterior.cells.possible.any(axis=1)  # no one is ever in the other groups
        none = float(records.no_records[occurring].max(initial=0.0)) if posterior.sizes is None else None
        return cls(records.mean(), ends[..., 0], ends[..., 1], none=none)

    @classmethod
    def of_variable(cls, posterior: "NoiseAware", how: HowRead) -> "CellFigures":
        """Return the figures of one variable's posterior, as of one group."""
        asked = posterior.records if how.of_records else posterior
        mean, ends = asked.mean()[None, :], asked.interval(how.mass).astype(float)[None, :]
        if posterior.n is not None:
            return cls(mean, ends[..., 0], ends[..., 1])
        size = posterior.size
        fewest, most = size.interval(how.mass)
        none = float(size.pmf(0)) if how.of_records else None
        return cls(mean, ends[..., 0], ends[..., 1], none=none, size=(float(size.mean()), int(fewest), int(most)))

    @classmethod
    def of_margins(cls, posterior: Any, shape: tuple[int, int], how: HowRead) -> "CellFigures":
        """Return the figures of groups that were put together."""
        ends = posterior.interval(how.mass).reshape(*shape, 2)
        return cls(posterior.mean().reshape(shape), ends[..., 0], ends[..., 1])

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

    def fields(self, place: tuple[int, int]) -> dict[str, float | None]:
        """Return the figures by name, with None for what is not available."""
        return dict(zip(("mean", "low", "high"), self.at(place) or (None,) * 3, strict=True))

    def caution(self, cells: "Cells", noise: NoiseIntervals) -> str | None:
        """Return the warning where the prior moves shares out of the intervals of the noise."""
        if noise.ends is None or self.mean is None:
            return None
        groups = [", ".join(map(str, cells.groups.key(group))) for group in range(len(cells.groups))]
        labels = [f"{category} in {group}" if group else category for group in groups for category in cells.categories]
        return moved_by_prior(labels, self.mean.ravel().tolist(), noise.ends.reshape(-1, 2).tolist())


def figures_of(found: "Release", how: HowRead, read: "Callable[[], Any] | None" = None) -> CellFigures:
    """Means and intervals of all cells, or why there are none.

    `read` gives the posterior of one variable, or the figures of a table, where they are not to be computed here.
    """
    try:
        if not how.slow:
            check_work(found)
        if found.by.columns:
            return CellFigures.of(found.noise_aware(how.reader), how) if read is None else read()
        with progress_bar() if read is None and pairs_of([found]) else nullcontext() as tell:
            posterior = found.noise_aware(how.reader, progress=tell) if read is None else read()
        if not how.slow and posterior.work > _MOST_WORK:
            raise TooLargeError("the intervals of this outcome take a while and much memory: discreet show RECORD --slow computes them")
        return CellFigures.of_variable(posterior, how)
    except DiscreetError as error:
        return CellFigures(reason=error.in_shell)


NOT_PUBLISHED = "–"
"""Stands for a count that was not published."""


def counts_of(found: "Release") -> Any:
    """The reported counts as an array by group and category; those of one variable may be beyond 64 bits."""
    import numpy as np

    return found.counts if found.by.columns else np.array([found.counts], dtype=object)


def unpublished(found: "Release") -> Any:
    """A mask by group and category of the counts that others did not publish; None where there are none."""
    import numpy as np

    from discreet.mechanisms.published import SUPPRESSED

    if found.mechanism._publisher is None:
        return None
    hidden = np.reshape(np.asarray(found.raw), (len(found.cells.groups), -1)) == SUPPRESSED
    return hidden if hidden.any() else None


def shown_counts(found: "Release") -> Any:
    """The reported counts, and a dash in place of one that was not published."""
    counts, hidden = counts_of(found), unpublished(found)
    if hidden is None:
        return counts
    counts = counts.astype(object)
    counts[hidden] = NOT_PUBLISHED
    return counts


def group_sizes(found: "Release", how: HowRead) -> list[tuple[float, int, int]]:
    """Mean and interval of the number of records in each group, where nothing about it is public.

    There are none where the sizes or their total are public, where the groups are very many, and where no posterior can be computed.
    """
    groups = found.cells.groups
    if found.n is not None or len(groups) > limits.GROUP_SIZES:
        return []
    try:
        posterior = found.noise_aware(how.reader)
        sizes = [posterior.size[group] for group in groups]
        return [(size.mean(), *size.interval(how.mass)) for size in sizes]
    except DiscreetError:
        return []


# --- as a table, and as fields ----------------------------------------------------------------------------------------


def places_of(cells: "Cells") -> Iterator[tuple[int, int]]:
    """Every group and category by their positions."""
    groups, categories = cells.shape
    return ((group, category) for group in range(groups) for category in range(categories))


def laid_out(cells: "Cells", counts: Any, figures: CellFigures, noise: NoiseIntervals, how: HowRead) -> Table:
    """The reported counts and, where the noise can be allowed for, posterior means with intervals that do."""
    title = "Private posteriors" if cells.groups.columns else "Private posterior"
    table = table_of(title, (*cells.groups.columns, "category"), how.headings, ())
    table.caption = None if figures.reason is None else cell(figures.reason)
    shown = list(islice(places_of(cells), MOST_ROWS))
    possible = [place for place in shown if cells.possible[place]]
    known = in_percent([numbers for place in possible if (numbers := figures.at(place)) is not None])
    words = dict(zip(possible, known or [("not available",) * 2] * len(possible), strict=True))
    beside = dict(zip(possible, noise.words(possible), strict=True))
    for place in shown:
        labels = (*cells.groups.key(place[0]), cells.categories[place[1]])
        if place in words:
            table.add_row(*map(cell, (*labels, counts[place], *words[place], *beside[place])))
        else:
            table.add_row(*map(cell, (*labels, "0", "0 %", "cannot occur")))
    if counts.size > MOST_ROWS:
        table.add_row(f"{counts.size - MOST_ROWS:,} more: --json, or the record itself")
    return table


def sizes_laid_out(found: "Release", sizes: list[tuple[float, int, int]], mass: float) -> Table:
    """Return how many records each group has, as the noisy counts say it."""
    rows = [(*found.cells.groups.key(group), f"{mean:,.1f}", f"{low:,} to {high:,}") for group, (mean, low, high) in enumerate(sizes)]
    return table_of(f"Number of {found.guarantee.unit}s in each group", found.by.columns, ("mean", interval_heading(mass)), rows)


def cell_fields(cells: "Cells", counts: Any, figures: CellFigures, noise: NoiseIntervals) -> list[dict[str, Any]]:
    """A row for each group and category as fields, with None for what is not available."""
    from discreet.record.json import written_label

    return [
        {
            "group": group_field(cells, group),
            "category": written_label(cells.categories[category]),
            "possible": bool(cells.possible[group, category]),
            "reported_count": int(counts[group, category]),
            **figures.fields((group, category)),
            **noise.row((group, category)),
        }
        for group, category in places_of(cells)
    ]


def group_field(cells: "Cells", group: int) -> dict[str, Any]:
    """A group by the labels of its columns."""
    from discreet.record.json import written_label

    return dict(zip(cells.groups.columns, map(written_label, cells.groups.key(group)), strict=True))
