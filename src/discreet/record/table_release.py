"""The public record of a table: one private outcome for every group, under one promise."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import Counts
from discreet.errors import RefusedError
from discreet.record.release import Release

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from discreet.inference.table_posterior import TablePosterior
    from discreet.model.cells import Cells


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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TableRelease):
            return NotImplemented
        same = self.mechanism == other.mechanism and self.guarantee == other.guarantee
        return same and np.array_equal(self.raw, other.raw) and np.array_equal(self.counts, other.counts)

    def __hash__(self) -> int:
        return hash((self.guarantee, self.raw.tobytes()))

    @property
    def cells(self) -> "Cells":
        """Its groups, its categories and the cells that cannot occur."""
        from discreet.model.tables import TableSpace

        space = self.mechanism.space
        assert isinstance(space, TableSpace)  # noqa: S101
        return space.cells

    def noise_aware(self, size_prior: Any = None) -> "TablePosterior":  # type: ignore[override]
        """The posterior of every group, which allows for the noise: `noise_aware()["north", "f"]`, or with one column `["north"]`.

        Where nothing is public, `size_prior` says what is believed about the size of each group before, as for one variable.
        """
        from discreet.inference.table_posterior import table_posterior

        return table_posterior(self, size_prior)

    @property
    def reported(self) -> Any:
        """Refused: a table has no one reported posterior."""
        raise RefusedError("a table has a posterior for each group: noise_aware()[group]")

    def plot(self, ax: "Axes | None" = None, mass: float = 0.95, *, variable: str | None = None, category: Hashable = None) -> "Axes":
        """Draw the interval of one category's share in every group; of the first category, unless another is named."""
        from discreet.plotting import plot_table

        named = self.prior.categories[0] if category is None else category
        return plot_table(self, ax, mass, variable=variable, category=named)

    def draw_on(self, figure: "Figure", mass: float = 0.95, *, variable: str | None = None) -> None:
        """Fill an empty figure with a panel for each category."""
        from discreet.plotting import draw_table

        draw_table(self, figure, mass, variable=variable)

    def __repr__(self) -> str:
        groups, categories = self.cells.shape
        return f"TableRelease({self.mechanism.title}, {groups:,} groups by {categories} categories, {self.guarantee})"
