"""Reports: fixed public functions from the raw outcome of a mechanism to the counts that are reported.

A report reads the outcome and public numbers alone, so it costs no privacy, and one report may be put in the place of another.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from attrs import frozen

from discreet import limits
from discreet.arrays import Counts, Mask
from discreet.model.tables import TableSpace

_SECONDS_A_SEARCH, _SECONDS_A_DISTANCE = 0.24, 3e-7
"""At least three times the seconds that searches took on a machine of two cores."""


class Report(ABC):
    """A function from raw outcomes, one a row, to counts, one a row."""

    is_search: ClassVar[bool] = False
    """Whether every outcome is a search of its own, in floats: slow, so that known reports are worth keeping."""

    wrapper: ClassVar[str | None] = None
    """The name under which records describe a mechanism whose own report this one has replaced."""

    @abstractmethod
    def __call__(self, raw: Counts) -> Counts:
        """The counts reported for these outcomes."""

    @property
    def search_cost(self) -> float:
        """About how many distances such a search computes."""
        return 0.0

    @property
    def seconds(self) -> float:
        """Return more seconds than the report of one outcome takes, by public numbers alone; what is no search takes next to nothing."""
        return _SECONDS_A_SEARCH + _SECONDS_A_DISTANCE * self.search_cost if self.is_search else 0.0

    def check_size(self) -> None:  # noqa: B027  most reports are found at any size
        """Refuse, by public numbers alone, reports that could not be found after a draw."""

    @abstractmethod
    def row(self, raw: tuple[int, ...]) -> Counts:
        """Return an array that has the same report as an outcome, however large the integers of this are."""

    def one(self, raw: Any) -> Any:
        """The counts reported for one outcome: a tuple, or an array for a table."""
        return tuple(int(count) for count in self(self.row(raw)[None, :])[0])


def clamp_outcomes(raw: Any, n: int) -> Counts:
    """Noisy counts clamped to [-1, n + 1]: further out, the likelihoods of all datasets of n records shrink alike."""
    return np.asarray(np.clip(_any_size(raw), -1, n + 1), dtype=np.int64)


def _any_size(raw: Any) -> Counts:
    """Return outcomes as an array, of Python integers of any size if they are no array."""
    found: Counts = raw if isinstance(raw, np.ndarray) else np.array(raw, dtype=object)
    return found


def cut_to_total(noisy: Counts, n: int) -> Counts:
    """Cut each count, left to right, to what is left of n; one more category takes the rest."""
    left = np.full(len(noisy), n, dtype=np.int64)
    columns = []
    for column in np.clip(noisy, 0, n).T:
        taken = np.minimum(column, left)
        columns.append(taken)
        left = left - taken
    return np.stack([*columns, left], axis=-1)


def project(z: Counts, n: int | Counts) -> Counts:
    """The nearest point of the simplex in Euclidean distance, rounded to integers by largest remainder; n for all rows, or a column of it.

    All that stay positive are lowered by the same amount, so their remainders tie: larger counts are rounded up first, where one
    record matters least, and the first of equal ones. Adding a constant to z changes nothing.
    """
    order = np.argsort(-z, axis=-1, kind="stable")
    falling = np.take_along_axis(z, order, axis=-1)
    position = np.arange(1, z.shape[-1] + 1)
    # Σ_{i<=j} (z_i - z_j): only whether it is below n <= 2**53 matters, which floats tell exactly and without overflow
    drop = np.cumsum(-np.diff(falling, axis=-1).astype(np.float64) * position[:-1], axis=-1)
    drop = np.concatenate([np.zeros((*z.shape[:-1], 1)), drop], axis=-1)
    active = np.maximum((drop < n).sum(axis=-1, keepdims=True), 1)  # an empty group of a table has n = 0, and keeps none
    kept = position <= active
    above = falling - np.take_along_axis(falling, active - 1, axis=-1)  # the lowest count kept; Σ above < n, so no sum overflows
    missing = n - np.where(kept, above, 0).sum(axis=-1, keepdims=True)
    raised, spare = missing // active, missing % active
    rounded = np.where(kept, above + raised + (position <= spare), 0)
    result = np.empty_like(rounded)
    np.put_along_axis(result, order, rounded, axis=-1)
    return result


@frozen
class AsDrawn(Report):
    """The outcome itself: a candidate is its own report."""

    def __call__(self, raw: Counts) -> Counts:
        """The outcomes."""
        return raw

    def row(self, raw: tuple[int, ...]) -> Counts:
        """The outcome, whose integers are between 0 and n."""
        return np.array(raw, dtype=np.int64)

    def one(self, raw: tuple[int, ...]) -> tuple[int, ...]:
        """The outcome."""
        return raw


@frozen
class Clamped(Report):
    """Every noisy count, or 0 where it is negative and `most` where it is above that; their total may differ from n.

    Without a `most` it is the most likely true count, and the nearest, where n is private: then there is no total that counts should have.
    """

    most: int | None = None

    def __call__(self, raw: Counts) -> Counts:
        """The clamped counts."""
        return np.clip(raw, 0, self.most)

    def row(self, raw: Any) -> Counts:
        """Return outcomes as an array. Noise beyond 2**62 is cut there: an array cannot hold it."""
        return np.asarray(np.clip(_any_size(raw), 0, limits.RAW_OUTCOME), dtype=np.int64)

    def one(self, raw: Any) -> Any:
        """The counts of one outcome, of a variable, however large they are, or of a table."""
        return self(raw) if isinstance(raw, np.ndarray) else tuple(np.clip(_any_size(raw), 0, self.most).tolist())


@frozen
class Cut(Report):
    """The report that cuts each noisy count, left to right, to what is left of n; the last category takes the rest.

    Not `consistent`, the papers' literal formula: the first k - 1 counts are clamped alone, and only the last one is what is left.
    """

    n: int
    k: int
    consistent: bool = True

    def __call__(self, raw: Counts) -> Counts:
        """The cut counts."""
        first = raw[:, : self.k - 1]
        cut = cut_to_total(first, self.n)
        return cut if self.consistent else np.concatenate([np.clip(first, 0, self.n), cut[:, -1:]], axis=-1)

    def row(self, raw: tuple[int, ...]) -> Counts:
        """Return one outcome as an array; how far out a count is does not matter."""
        return clamp_outcomes(raw, self.n)


@frozen
class Projected(Report):
    """The nearest counts of total n."""

    n: int

    def __call__(self, raw: Counts) -> Counts:
        """The projected counts."""
        return project(raw, self.n)

    def row(self, raw: tuple[int, ...]) -> Counts:
        """Return one outcome as an array: a constant may be taken off, and what is n or more below the largest becomes 0."""
        highest = max(raw)
        return np.array([max(z - highest, -self.n) for z in raw], dtype=np.int64)


def alike(possible: Mask) -> Iterator[tuple[Counts, Counts]]:
    """Groups in which the same categories can occur: their rows, and the columns of those categories."""
    if possible.all():
        yield np.arange(len(possible)), np.arange(possible.shape[1])
        return
    patterns, pattern = np.unique(possible, axis=0, return_inverse=True)
    for number, columns in enumerate(patterns):
        yield np.flatnonzero(pattern.ravel() == number), np.flatnonzero(columns)


@frozen
class TableReport(Report):
    """The nearest table with the public totals: of every group, of all together, or none but that no count is negative."""

    space: TableSpace

    def __call__(self, raw: Counts) -> Counts:
        """The reported table of one noisy table."""
        space, possible = self.space, self.space.cells.possible
        if space.n is None:
            return np.maximum(raw, 0)
        result = np.zeros_like(raw)
        if space.sizes is None:
            result[possible] = project(raw[possible][None, :], space.n)[0]
            return result
        sizes = np.array(space.sizes)
        for rows, columns in alike(possible):
            if len(columns):
                result[np.ix_(rows, columns)] = project(raw[np.ix_(rows, columns)], sizes[rows][:, None])
        return result

    def one(self, raw: Counts) -> Counts:
        """The reported table of one noisy table."""
        return self(raw)

    def row(self, raw: tuple[int, ...]) -> Counts:
        """The outcome as an array."""
        return np.array(raw, dtype=np.int64)
