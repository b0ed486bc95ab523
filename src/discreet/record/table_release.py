"""The public record of a table: one private outcome for every group, under one promise."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import Counts
from discreet.errors import RefusedError
from discreet.record.release import Release
from discreet.text import html_table

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from discreet import TablePosterior
    from discreet.model.cells import Cells, Sort
    from discreet.model.tables import TableSpace

_SHOWN_GROUPS = 20
_SHOWN_CATEGORIES = 12
"""Groups and categories that a notebook shows before it is cut."""


@dataclass(frozen=True, repr=False, eq=False)
class TableRelease(Release):
    """One private outcome for every group, with its public context. Its arrays are read-only: a row a group, a column a category."""

    raw: Counts  # type: ignore[assignment]
    """The outcome as drawn; 0 in cells that cannot occur."""
    counts: Counts  # type: ignore[assignment]
    """The reported counts: a fixed public function of `raw`."""

    def __post_init__(self) -> None:
        for name in ("raw", "counts"):
            array = np.array(getattr(self, name), dtype=np.int64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy or a pickle is made as a release is, so that its arrays are read-only too."""
        return TableRelease, (self.mechanism, self.guarantee, self.raw, self.counts, self.about)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TableRelease):
            return NotImplemented
        same = (self.mechanism, self.guarantee, self.about) == (other.mechanism, other.guarantee, other.about)
        return same and np.array_equal(self.raw, other.raw) and np.array_equal(self.counts, other.counts)

    def __hash__(self) -> int:
        return hash((self.guarantee, self.raw.tobytes()))

    @property
    def _space(self) -> "TableSpace":
        from discreet.model.tables import TableSpace

        space = self.mechanism.space
        assert isinstance(space, TableSpace)  # noqa: S101
        return space

    @property
    def cells(self) -> "Cells":
        """Its groups, its categories and the cells that cannot occur."""
        return self._space.cells

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """The size of every group, in their order, if these are public. `n` is their total, or the total if that alone is public."""
        return self._space.sizes

    def noise_aware(self, prior: Any = None, size_prior: Any = None) -> "TablePosterior":  # type: ignore[override]
        """The posterior of every group, which allows for the noise: `noise_aware()["north", "f"]`, or with one column `["north"]`.

        `prior` is the reader's own in place of the record's: one for all groups, a mapping of groups to their priors (those left out keep
        the record's), or a list with one for each group. Where nothing is public, `size_prior` says what is believed about the size of
        each group before, as for one variable.
        """
        from discreet.inference.tables.posterior import table_posterior

        return table_posterior(self, prior, size_prior)

    @property
    def reported(self) -> Any:
        """Refused: a table has no one reported posterior."""
        raise RefusedError("a table has a posterior for each group: noise_aware()[group]")

    def plot(
        self,
        ax: "Axes | None" = None,
        mass: float = 0.95,
        *,
        variable: str | None = None,
        category: Hashable = None,
        prior: Any = None,
        sort: "Sort" = "mean",
        title: str | None = None,
        label: str | None = None,
        color: str | None = None,
    ) -> "Axes":
        """Draw the interval of one category's share in every group; of the first category, unless another is named.

        `sort` is "mean" (the largest first), "group" (by their labels) or "declared"; `title`, `label` and `color` are as in Matplotlib.
        `plot_all` has a panel for every category.
        """
        from discreet.plotting import plot_table

        look: dict[str, Any] = {"sort": sort, "title": title, "label": label, "color": color}
        return plot_table(self.noise_aware(prior), ax, mass, release=self, variable=self._variable(variable), category=category, **look)

    def plot_all(self, mass: float = 0.95, *, variable: str | None = None, prior: Any = None) -> "Figure":
        """Draw a new figure with a panel for each category."""
        from matplotlib.pyplot import figure

        made = figure()
        self.draw_on(made, mass, variable=variable, prior=prior)
        return made

    def draw_on(self, figure: "Figure", mass: float = 0.95, *, variable: str | None = None, prior: Any = None) -> None:
        """Fill an empty figure with a panel for each category."""
        from discreet.plotting import draw_table

        draw_table(self, figure, mass, variable=self._variable(variable), prior=prior)

    def to_json(self) -> str:
        """The record as JSON, for some thousands of cells; InvalidInputError for more, which `to_parquet` writes."""
        from discreet.record.table_json import written_table

        return written_table(self)

    def to_parquet(self, path: "str | Path") -> None:
        """Write the record to a new Parquet file, which `Release.from_parquet` reads back exactly; docs/reference/release.md describes it.

        It has a row for each cell: the columns of the groups, `category`, `raw` and `counts`. All else is JSON in the file's metadata. The
        file is there as a whole or not at all, and no file is overwritten.
        """
        from discreet.record.parquet import write_parquet

        write_parquet(self, path)

    def _reports_raw(self) -> bool:
        return np.array_equal(self.mechanism.report(self.raw), self.counts)

    # --- for people ---------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"TableRelease({self._summary}, {self.guarantee})"

    @property
    def _summary(self) -> str:
        groups, categories = self.cells.shape
        public = "public sizes" if self.sizes is not None else "private n" if self.n is None else f"n={self.n}"
        return f"{self.mechanism.title}, {groups:,} groups by {categories:,} categories, {public}"

    def _repr_html_(self) -> str:
        groups, categories = self.cells.groups, self.cells.categories
        cut = len(categories) > _SHOWN_CATEGORIES
        headings = [", ".join(groups.columns), *categories[:_SHOWN_CATEGORIES], *["..."] * cut]
        shown = range(min(len(groups), _SHOWN_GROUPS))
        rows: list[list[object]] = [
            [", ".join(map(str, groups.key(i))), *self.counts[i, :_SHOWN_CATEGORIES].tolist(), *["..."] * cut] for i in shown
        ]
        if len(groups) > _SHOWN_GROUPS:
            rows.append([f"{len(groups) - _SHOWN_GROUPS:,} more", *[""] * (len(headings) - 1)])
        return html_table(f"{self._summary}, reported counts: {self.guarantee}", [str(heading) for heading in headings], rows)
