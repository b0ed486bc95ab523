"""The numbers of a record, by group and category, as a table and as fields: a variable is a table with one group."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from rich.table import Table

from discreet import limits
from discreet.errors import DiscreetError, TooLargeError
from discreet.present.how_read import HowRead, NoiseIntervals, moved_by_prior
from discreet.present.terminal import cell, interval_heading, progress_bar, table_of
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

    def at(self, place: tuple[int, int]) -> tuple[float, float, float] | None:
        """Mean and interval of one cell, if they are there."""
        if self.mean is None or self.low is None or self.high is None:
            return None
        return float(self.mean[place]), float(self.low[place]), float(self.high[place])

    def fields(self, place: tuple[int, int]) -> dict[str, float | None]:
        """Return the figures by name, with None for what is not available."""
        return dict(zip(("mean", "low", "high"), self.at(place) or (None,) * 3, strict=True))


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


@dataclass(frozen=True, eq=False)
class ReportedFigures(CellFigures):
    """Means and intervals of the reported posterior, which does not allow for the noise; each interval is computed where it is asked."""

    own: "Floats | None" = None
    """The parameter of each share, and in `rest` the sum of the others that can occur in its group."""
    rest: "Floats | None" = None
    mass: float = 0.0

    @classmethod
    def of_record(cls, found: "Release", mass: float) -> "ReportedFigures":
        """Return the figures of a record by its own priors."""
        import numpy as np

        cells = found.cells
        own = np.tile(found.prior.concentration, (len(cells.groups), 1))
        for group, prior in getattr(found.mechanism, "priors", ()):
            own[cells.groups.index(group)] = prior.concentration
        own = np.where(cells.possible, own + _counts_of(found).astype(np.float64), 0.0)
        before, after = (np.zeros_like(own) for _ in range(2))  # added up from both sides: nothing is subtracted, and so no digit is lost
        np.cumsum(own[:, :-1], axis=1, out=before[:, 1:])
        np.cumsum(own[:, :0:-1], axis=1, out=after[:, -2::-1])
        rest = before + after
        return cls(np.divide(own, own + rest, out=np.zeros_like(own), where=own > 0.0), own=own, rest=rest, mass=mass)

    def at(self, place: tuple[int, int]) -> tuple[float, float, float] | None:
        """Mean and interval of one cell."""
        from discreet.model.dirichlet import Beta

        if self.mean is None or self.own is None or self.rest is None:
            return None
        rest = float(self.rest[place])
        low, high = Beta(float(self.own[place]), rest).interval(self.mass) if rest > 0 else (1.0, 1.0)
        return float(self.mean[place]), float(low), float(high)


# --- prepared for whatever shows them ---------------------------------------------------------------------------------

NOT_PUBLISHED = "–"
"""Stands for a count that was not published."""


@dataclass(frozen=True, eq=False)
class CellNumbers:
    """The numbers of all cells, by group and category: a terminal, a page and JSON show them."""

    cells: "Cells"
    counts: Any
    """The reported counts; those of one variable may be beyond 64 bits."""
    figures: CellFigures
    noise: NoiseIntervals = field(default_factory=lambda: NoiseIntervals(wanted=False))
    hidden: Any = None
    """A mask of the counts that others did not publish; None where there are none."""

    @classmethod
    def of(cls, found: "Release", how: HowRead, read: "Callable[[], Any] | None" = None) -> "CellNumbers":
        """Return the numbers of a record; `read` is as for `figures_of`."""
        return cls(found.cells, _counts_of(found), figures_of(found, how, read), NoiseIntervals.of(found, how), _unpublished(found))

    def count(self, place: tuple[int, int]) -> int | None:
        """The reported count of one cell; None if it was not published."""
        return None if self.hidden is not None and self.hidden[place] else int(self.counts[place])

    @property
    def caution(self) -> str | None:
        """The warning where the prior moves shares out of the intervals of the noise."""
        if self.noise.ends is None or self.figures.mean is None:
            return None
        keys = (self.cells.groups.key(group) for group in range(len(self.cells.groups)))
        groups = [", ".join(map(str, key)) for key in keys]
        labels = [f"{category} in {group}" if group else category for group in groups for category in self.cells.categories]
        return moved_by_prior(labels, self.figures.mean.ravel().tolist(), self.noise.ends.reshape(-1, 2).tolist())

    @property
    def places(self) -> Iterator[tuple[int, int]]:
        """Every group and category by their positions."""
        groups, categories = self.cells.shape
        return ((group, category) for group in range(groups) for category in range(categories))

    def fields(self) -> list[dict[str, Any]]:
        """A row for each group and category as fields, with None for what is not available."""
        from discreet.record.json import written_label

        return [
            {
                "group": group_field(self.cells, group),
                "category": written_label(self.cells.categories[category]),
                "possible": bool(self.cells.possible[group, category]),
                "reported_count": int(self.counts[group, category]),
                **self.figures.fields((group, category)),
                **self.noise.row((group, category)),
            }
            for group, category in self.places
        ]

    def laid_out(self, how: HowRead) -> Table:
        """The reported counts and, where the noise can be allowed for, posterior means with intervals that do."""
        cells, groups = self.cells, self.cells.groups
        table = table_of("Private posteriors" if groups.columns else "Private posterior", (*groups.columns, "category"), how.headings, ())
        table.caption = None if self.figures.reason is None else cell(self.figures.reason)
        shown = list(islice(self.places, MOST_ROWS))
        possible = [place for place in shown if cells.possible[place]]
        known = in_percent([numbers for place in possible if (numbers := self.figures.at(place)) is not None])
        words = dict(zip(possible, known or [("not available",) * 2] * len(possible), strict=True))
        beside = dict(zip(possible, self.noise.words(possible), strict=True))
        for place in shown:
            labels = (*groups.key(place[0]), cells.categories[place[1]])
            if place in words:
                count = self.count(place)
                table.add_row(*map(cell, (*labels, NOT_PUBLISHED if count is None else count, *words[place], *beside[place])))
            else:
                table.add_row(*map(cell, (*labels, "0", "0 %", "cannot occur")))
        if self.counts.size > MOST_ROWS:
            table.add_row(f"{self.counts.size - MOST_ROWS:,} more: --json, or the record itself")
        return table


def _counts_of(found: "Release") -> Any:
    """The reported counts as an array by group and category."""
    import numpy as np

    return found.counts if found.by.columns else np.array([found.counts], dtype=object)


def _unpublished(found: "Release") -> Any:
    """A mask by group and category of the counts that others did not publish; None where there are none."""
    import numpy as np

    from discreet.mechanisms.published import SUPPRESSED

    if found.mechanism._publisher is None:
        return None
    hidden = np.reshape(np.asarray(found.raw), (len(found.cells.groups), -1)) == SUPPRESSED
    return hidden if hidden.any() else None


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


def sizes_laid_out(found: "Release", sizes: list[tuple[float, int, int]], mass: float) -> Table:
    """Return how many records each group has, as the noisy counts say it."""
    rows = [(*found.cells.groups.key(group), f"{mean:,.1f}", f"{low:,} to {high:,}") for group, (mean, low, high) in enumerate(sizes)]
    return table_of(f"Number of {found.guarantee.unit}s in each group", found.by.columns, ("mean", interval_heading(mass)), rows)


def group_field(cells: "Cells", group: int) -> dict[str, Any]:
    """A group by the labels of its columns."""
    from discreet.record.json import written_label

    return dict(zip(cells.groups.columns, map(written_label, cells.groups.key(group)), strict=True))
