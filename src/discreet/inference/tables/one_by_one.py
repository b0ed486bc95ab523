"""Readings by groups, of which each is made when it is first asked for: of a table, of its margins, and what verbs make of these."""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter, methodcaller
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from discreet import limits
from discreet.arrays import Counts, Floats, Mask
from discreet.counts.size_posterior import SizePosterior
from discreet.errors import RefusedError, TooLargeError
from discreet.inference.noise_aware import NoiseAware
from discreet.inference.pickles import FieldsAlone
from discreet.inference.reading import Reading
from discreet.inference.records import ShareOfRecords
from discreet.inference.seeds import Rng
from discreet.inference.tables.latent import Margin, Positions, check_groups_drawn
from discreet.model.cells import Cells, Groups

T = TypeVar("T")


class ByGroup(FieldsAlone, Reading, Generic[T]):
    """Readings by group: each is computed when it is first asked for, and the last few are kept. Iteration is over the groups."""

    @property
    @abstractmethod
    def by(self) -> Groups:
        """The groups: their columns, and the labels of each."""

    @abstractmethod
    def _posterior(self, position: int) -> T:
        """That of the group at a position."""

    def _whole_row(self, position: int) -> Any:
        """The same with all categories of the table, those that cannot occur in this group among them."""
        return self[self.by[position]]

    def __len__(self) -> int:
        return len(self.by)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.by)

    @cached_property
    def _known(self) -> dict[int, T]:
        return {}

    def __getitem__(self, group: Hashable) -> T:
        """What is known about one group, as about one variable.

        Raises InvalidInputError where there is nothing to infer: in a group with one possible category, or with none.
        """
        position = self.by.index(group)
        if position not in self._known:
            found = self._posterior(position)
            while len(self._known) >= limits.GROUPS_HELD:
                self._known.pop(next(iter(self._known)))
            self._known[position] = found
        return self._known[position]

    # --- all groups, one at a time ------------------------------------------------------------------------------------

    def mean(self) -> Floats:
        """Expected values, by group and category."""
        return self._each(methodcaller("mean"))

    def std(self) -> Floats:
        """Standard deviations, by group and category."""
        return self._each(methodcaller("std"))

    def interval(self, mass: float = 0.95) -> Floats:
        """Equal-tailed intervals that each hold this much probability: by group and category, with (low, high) on the last axis."""
        return self._each(methodcaller("interval", mass))

    def hdi(self, mass: float = 0.95) -> Floats:
        """Highest density intervals, the shortest that each hold this much probability: by group and category, with (low, high) last.

        Raises TooLargeError where there are more cells than are searched one at a time.
        """
        cells = len(self) * max(len(self.categories), 1)
        if cells > limits.DENSITY_INTERVALS:
            raise TooLargeError(
                f"highest density intervals are found for up to {limits.DENSITY_INTERVALS:,} cells, and there are {cells:,}: "
                "[group].hdi() has those of one group, and interval() all equal-tailed ones"
            )
        return self._each(methodcaller("hdi", mass))

    def _each(self, ask: Callable[[Any], Floats | Counts]) -> Floats:
        check_groups_drawn(len(self))
        return np.stack([ask(self._whole_row(position)) for position in range(len(self))])

    def _distribution(self, chosen: Sequence[int]) -> "EachGroup":
        labels = [self.categories[i] for i in chosen]
        return EachGroup(self, methodcaller("marginal", labels), ())

    def _score(self, weights: Floats, draws: int | None, rng: Rng) -> "EachGroup":
        return EachGroup(self, methodcaller("score", dict(zip(self.categories, weights.tolist(), strict=True)), draws, rng), ())

    def merged(self, sets: Mapping[Any, Iterable[Any]]) -> "EachGroup":
        """The same of coarser categories, in every group (`Reading.merged`)."""
        self._sets(sets)
        return EachGroup(self, methodcaller("merged", {label: list(each) for label, each in sets.items()}), tuple(sets))

    def cumulative(self) -> "EachGroup":
        """For ordered answers the same of each category or an earlier one, in every group (`Reading.cumulative`)."""
        return EachGroup(self, methodcaller("cumulative"), super().cumulative().categories)


@dataclass(frozen=True, eq=False, repr=False)
class EachGroup(ByGroup[Any]):
    """What a verb says about each group: `post.records["north"]`, `post.marginal("current")["north"]`.

    Arrays have the axes (groups, categories), or of a single number (groups).
    """

    of: Any
    """What the verb is asked of: a reading by the same groups."""
    ask: Callable[[Any], Any]
    labels: tuple[Hashable, ...]
    """The categories; none where each group has one number."""

    @property
    def by(self) -> Groups:
        groups: Groups = self.of.by
        return groups

    @property
    def categories(self) -> tuple[Hashable, ...]:
        return self.labels

    def _quantile(self, q: float) -> Floats:
        return super()._quantile(q) if self.labels else self._each(methodcaller("ppf", q))

    def cdf(self, x: ArrayLike) -> Floats:
        """The probability of at most x in each group, where each has one number; groups are on the first axis."""
        if self.labels:
            raise RefusedError("cdf and sf are of one number for each group: marginal(category) chooses one")
        return self._each(methodcaller("cdf", x))

    def sf(self, x: ArrayLike) -> Floats:
        """The probability of more than x in each group, where each has one number; groups are on the first axis."""
        return 1.0 - self.cdf(x)

    def _index(self, category: Hashable) -> int:
        if not self.labels:
            raise RefusedError("this is one number for each group, which has no categories")
        return super()._index(category)

    def _posterior(self, position: int) -> Any:
        return self.ask(self.of._whole_row(position))

    @property
    def records(self) -> "EachGroup":
        """The same of the shares of these very records."""
        return EachGroup(self.of.records, self.ask, self.labels)

    @property
    def no_records(self) -> Floats:
        """The posterior probability that a group has no records at all, of every group."""
        return np.array([float(self.of.size(group).pmf(0)) for group in self])

    def __repr__(self) -> str:
        what = f": {', '.join(map(str, self.labels))}" if self.labels else ""
        return f"<{len(self):,} groups of {', '.join(self.by.columns)}{what}>"


class OneByOne(ByGroup[NoiseAware]):
    """Posteriors by group: each is computed when it is first asked for, and the last few are kept. Iteration is over the groups.

    In arrays of all groups a cell that cannot occur has 0, and one that is alone in its group has 1.
    """

    @property
    @abstractmethod
    def cells(self) -> Cells:
        """Its groups, its categories and the cells that cannot occur."""

    @property
    def by(self) -> Groups:
        """The groups: their columns, and the labels of each."""
        return self.cells.groups

    @property
    def categories(self) -> tuple[Hashable, ...]:
        """The categories of the table; in some groups not all of them may be possible."""
        return self.cells.categories

    @property
    def records(self) -> "EachGroup":
        """The shares of the categories among the very records of each group, for a register or a census.

        They have no sampling error. Where the size of a group is private they are given that it has any records; `no_records` is the
        probability that it has none. A group that is known to have none has NaN.
        """
        return EachGroup(self, attrgetter("records"), self.categories)

    def size(self, group: Hashable) -> SizePosterior:
        """The posterior of the number of records in one group. A public size has probability 1."""
        return self[group].size

    def _whole_row(self, position: int) -> Reading:
        possible = self.cells.possible[position]
        if possible.all() and len(possible) > 1:
            return self[self.by[position]]
        return PossiblePart(self.categories, possible, self[self.by[position]] if possible.sum() > 1 else None)


@dataclass(frozen=True, eq=False, repr=False)
class PossiblePart(FieldsAlone, Reading):
    """What is known about one group in which some categories cannot occur. Their number is 0, and that of one that is alone is 1."""

    labels: tuple[Hashable, ...]
    """Of all categories."""
    possible: Mask
    inside: Any
    """What is known about the possible categories; None where there is at most one."""

    @property
    def categories(self) -> tuple[Hashable, ...]:
        return self.labels

    def _distribution(self, chosen: Sequence[int]) -> Any:
        places = np.cumsum(self.possible) - 1
        held = [int(places[i]) for i in chosen if self.possible[i]]
        if 0 < len(held) < self.possible.sum():
            return self.inside._distribution(held)
        return _known(float(bool(held)))

    def _score(self, weights: Floats, draws: int | None, rng: Rng) -> Any:
        if self.inside is not None:
            return self.inside._score(weights[self.possible], draws, rng)
        return _known(float(weights[self.possible][0]) if self.possible.any() else np.nan)

    @property
    def records(self) -> "PossiblePart":
        """The shares of these very records."""
        return PossiblePart(self.labels, self.possible, None if self.inside is None else self.inside.records)


def _known(value: float) -> ShareOfRecords:
    """The law of a number that is known; NaN where there is none."""
    return ShareOfRecords(np.full(1, value), np.ones(1))


R = TypeVar("R", bound=Reading)


@dataclass(frozen=True, eq=False, repr=False)
class ByLabels(ByGroup[R]):
    """Something about all groups that have the labels asked for: `over["f"]`, or with two columns `over["north", "f"]`."""

    margin: Margin
    of: Callable[[Positions], R]

    @property
    def by(self) -> Groups:
        """The combinations of labels that can be asked for."""
        return self.margin.kept

    @property
    def categories(self) -> tuple[Hashable, ...]:
        return self[next(iter(self))].categories

    def _posterior(self, position: int) -> R:
        return self.of(self.margin.positions(self.by[position]))

    def __repr__(self) -> str:
        return f"Over({self.by!r})"
