"""The verbs that all readings of a release have alike: of one variable, of a table, of its margins and sums, and of several releases."""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from discreet.arrays import Counts, Floats
from discreet.errors import InvalidInputError, RefusedError
from discreet.model.cells import Groups
from discreet.validation import check_levels, check_share, shown

if TYPE_CHECKING:
    from discreet.inference.frames import Library

Kind = Literal["eti", "hdi"]
"""Kinds of intervals: with equal tails, or of highest density."""
_LEAST_MASS = 2.0**-40
"""Both ends of an interval with this much probability are taken for the median."""


class Reading(ABC):
    """What is known about a number for each category, or for each group and category.

    Arrays have the axes (groups, categories); one variable has no axis of groups. Intervals and several quantiles have one axis more.
    """

    @property
    @abstractmethod
    def categories(self) -> tuple[Hashable, ...]:
        """The categories, in the order of the last axis."""

    @property
    def by(self) -> Groups | None:
        """The groups, in the order of the first axis; None where there is no such axis."""
        return None

    @abstractmethod
    def mean(self) -> Floats:
        """Expected values."""

    @abstractmethod
    def std(self) -> Floats:
        """Standard deviations."""

    @abstractmethod
    def interval(self, mass: float = 0.95) -> Floats | Counts:
        """Equal-tailed intervals that each hold this much probability: (low, high) on the last axis."""

    def hdi(self, mass: float = 0.95) -> Floats:
        """Highest density intervals, the shortest that each hold this much probability: (low, high) on the last axis."""
        share = check_share(mass, "mass")
        raise RefusedError(
            f"highest density intervals are of probabilities, and these are counts: interval({share:g}) has equal-tailed ones"
        )

    def var(self) -> Floats:
        """Variances."""
        return np.square(self.std())

    def quantile(self, q: ArrayLike) -> Floats:
        """The value with probability q at or below it, of every category; several levels q are on the last axes."""
        levels = check_levels(q)
        found = [self._quantile(level) for level in levels.ravel().tolist()]
        return np.stack(found, axis=-1).reshape(*found[0].shape, *levels.shape) if found else np.empty((*self.mean().shape, *levels.shape))

    def _quantile(self, q: float) -> Floats:
        if q in (0.0, 1.0):
            mean = self.mean()
            return np.where((mean > 0.0) & (mean < 1.0), q, mean)
        return np.asarray(self.interval(max(abs(1.0 - 2.0 * q), _LEAST_MASS))[..., int(q > 0.5)], dtype=np.float64)

    def median(self) -> Floats:
        """The values that are as likely to be exceeded as not."""
        return self.quantile(0.5)

    def summary(self, mass: float = 0.95, library: "Library" = "pandas", *, kind: Kind = "eti") -> Any:
        """Make a frame with one row for each (group and) category: the columns of the groups, category, mean, sd, low and high.

        Args:
            mass: How much probability the interval from low to high holds.
            library: "pandas", "polars" or "arrow".
            kind: "eti" for equal-tailed intervals, "hdi" for those of highest density.

        Raises:
            InvalidInputError: The library is not installed, or a column of the groups is called as one of the frame.
            TooLargeError: There are more highest density intervals, or groups, than are computed one at a time.
        """
        from discreet.inference.frames import summary_frame  # Arrow is slow to load

        if kind not in ("eti", "hdi"):
            raise InvalidInputError(f"kind must be 'eti' or 'hdi', got {shown(kind)!r}")
        share = check_share(mass, "mass")
        ends = self.hdi(share) if kind == "hdi" else self.interval(share)
        numbers = {"mean": self.mean(), "sd": self.std(), "low": ends[..., 0], "high": ends[..., 1]}
        return summary_frame(self.by, {"category": self.categories}, numbers, library)

    def to_pandas(self, mass: float = 0.95) -> Any:
        """`summary` as a pandas frame."""
        return self.summary(mass, "pandas")

    def to_polars(self, mass: float = 0.95) -> Any:
        """`summary` as a Polars frame."""
        return self.summary(mass, "polars")


def shortest_of_draws(samples: Floats, mass: float) -> Floats:
    """The shortest intervals that hold this part of the draws, which are on the first axis: (low, high) on a new last axis."""
    ordered = np.sort(samples, axis=0)
    held = min(len(ordered) - 1, int(np.ceil(check_share(mass, "mass") * len(ordered))))
    start = np.argmin(ordered[held:] - ordered[: len(ordered) - held], axis=0)[None]
    ends = [np.take_along_axis(ordered, start + step, axis=0)[0] for step in (0, held)]
    return cast(Floats, np.stack(ends, axis=-1))
