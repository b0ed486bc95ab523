"""Numbers that carry the labels of their categories and groups, and the level of their intervals; and what their copies hold."""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import Floats
from discreet.counts.batched.arrays import SHOWN_GROUPS, GroupSummaries
from discreet.model.cells import Groups
from discreet.text import html_table

if TYPE_CHECKING:
    from discreet.inference.frames import Library


class FieldsAlone:
    """A dataclass whose copies and pickles hold its fields. What was computed from them is computed again when it is asked for."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


class Framed(ABC):
    """The base class of answers that make a frame of a library that is asked for."""

    @abstractmethod
    def to_frame(self, library: "Library" = "pandas") -> Any:
        """A frame of "pandas", "polars" or "arrow"."""

    def to_pandas(self) -> Any:
        """`to_frame` of pandas."""
        return self.to_frame("pandas")

    def to_polars(self) -> Any:
        """`to_frame` of Polars."""
        return self.to_frame("polars")


@dataclass(frozen=True, eq=False, repr=False)
class Figures(GroupSummaries, Framed):
    """Means, standard deviations and intervals of all cells of a posterior, as arrays with the axes (groups and) categories.

    As an array they are the intervals: (low, high) on the last axis.
    """

    by: Groups | None
    categories: tuple[Hashable, ...]
    level: float
    """The probability that each interval holds by itself."""
    together: float | None = None
    """The least probability that all intervals hold; None where they were not made to hold together."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return np.array(np.stack([self.low, self.high], axis=-1), dtype=dtype, copy=copy)

    def __getitem__(self, place: Any) -> Any:
        return np.asarray(self)[place]

    def __len__(self) -> int:
        return len(self.mean)

    def to_frame(self, library: "Library" = "pandas") -> Any:
        """A frame of the library that is asked for: the columns of the groups, category, mean, sd, low and high."""
        from discreet.inference.frames import summary_frame  # Arrow is slow to load

        numbers = {"mean": self.mean, "sd": self.std, "low": self.low, "high": self.high}
        return summary_frame(self.by, {"category": self.categories}, numbers, library)

    def __repr__(self) -> str:
        what = f"{100.0 * self.level:.6g} % intervals" if self.together is None else f"together {100.0 * self.together:g} %"
        groups = "" if self.by is None else f"{len(self.by):,} groups by "
        return f"Figures({groups}{len(self.categories):,} categories, {what})"

    def _repr_html_(self) -> str:
        by = self.by or Groups()
        names = [", ".join(map(str, by.key(i))) for i in range(min(len(by), SHOWN_GROUPS))]
        return html_table(f"{self!r}: mean and interval", (", ".join(by.columns), *map(str, self.categories)), self.rows(names))
