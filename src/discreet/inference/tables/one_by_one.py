"""Readings by groups, of which each is made when it is first asked for: of a table, of its margins, and what verbs make of these."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from discreet import limits
from discreet.arrays import Counts, Floats, Mask
from discreet.counts.size_posterior import SizePosterior
from discreet.errors import InvalidInputError, RefusedError, TooLargeError
from discreet.inference.noise_aware import NoiseAware
from discreet.inference.pickles import FieldsAlone
from discreet.inference.quantities import Contrast, compared_pairs, contrast_columns
from discreet.inference.reading import Reading
from discreet.inference.record_contrasts import RecordContrast, of_different_records
from discreet.inference.seeds import Rng
from discreet.inference.share_laws import ShareOfRecords
from discreet.inference.tables.contrasts import ComparedGroups, comparable, group_contrasts
from discreet.inference.tables.latent import Margin, Positions, check_groups_drawn
from discreet.inference.tables.shares import SharedProbability, compared
from discreet.model.cells import Cells, Groups
from discreet.model.datasets import Space
from discreet.model.tables import TableSpace
from discreet.validation import check_share

if TYPE_CHECKING:
    from discreet.inference.frames import Library

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
        cells = self._cells()
        if cells > limits.DENSITY_INTERVALS:
            raise TooLargeError(
                f"highest density intervals are found for up to {limits.DENSITY_INTERVALS:,} cells, and there are {cells:,}: "
                "post[group].hdi() has those of one group, and interval() all equal-tailed ones"
            )
        return self._each(methodcaller("hdi", mass))

    def _cells(self) -> int:
        """How many numbers there are that can be anything but 0."""
        return len(self) * max(len(self.categories), 1)

    def _each(self, ask: Callable[[Any], Floats | Counts]) -> Floats:
        check_groups_drawn(len(self))
        return np.stack([ask(self._whole_row(position)) for position in range(len(self))])

    def _distribution(self, chosen: Sequence[int]) -> "EachGroup":
        labels = [self.categories[i] for i in chosen]
        return EachGroup(self, methodcaller("marginal", labels), ())

    # --- two groups ---------------------------------------------------------------------------------------------------

    def contrast(self, first: Hashable, second: Hashable, category: Any) -> Contrast:
        """How the probability of a category differs between two groups: difference, ratio and odds ratio, the first against the second.

        `post[group].contrast(one, other)` compares two categories in one group. Those of `post.over(...)` come from joint draws.

        Args:
            first: A group, as `post[first]` takes it.
            second: The group that it is compared with.
            category: The label of a category, or a list of labels: the probability is then that of any of them.

        Raises:
            InvalidInputError: A group or the category is unknown, both groups are the same, or in one of them there is nothing to infer.
            TooLargeError: The noise leaves more sizes or counts possible than are looked at.
        """
        group, reference = self.by.index(first), self.by.index(second)
        if group == reference:
            raise InvalidInputError(f"a contrast compares two different groups, got {self.by[group]!r} twice")
        chosen = self._chosen(category)
        return self._again(next(iter(self._contrasts([group], reference, chosen))), group, reference, chosen)

    def _again(self, found: Contrast, group: int, reference: int, chosen: Sequence[int]) -> Contrast:
        """The contrast, whose pickles hold how it is computed."""
        labels = [self.categories[i] for i in chosen]
        return replace(found, again=partial(methodcaller("contrast", self.by[group], self.by[reference], labels), self))

    def contrasts(  # type: ignore[override]
        self, category: Any, *former: Hashable, reference: Hashable = None, mass: float = 0.95, library: "Library" = "pandas"
    ) -> Any:
        """Compare the probability of a category between groups: all with one, or all pairs, as a frame.

        Args:
            category: The category that is compared, or a list of categories.
            former: Nothing. `contrasts(reference, category)`, the call of version 0.2, is answered as it was, with a DeprecationWarning.
            reference: The group that all others are compared with; without it every pair of groups is compared.
            mass: How much probability intervals hold.
            library: "pandas", "polars" or "arrow".

        Returns:
            A frame with a row for each comparison. It has the columns of the groups for the first group, the same with `against_` before
            their names for the second, then `difference`, `ratio` and `odds_ratio` of the first against the second, each a median with the
            columns `_low` and `_high` of its interval, and `probability`, that the category is more likely in the first. Groups in which
            the category cannot occur, or nothing else, are left out.

        Raises:
            InvalidInputError: The category or the reference is unknown, or there is nothing to infer about it in the reference.
            TooLargeError: There are more comparisons than a frame has; `iter_contrasts` computes them one by one.
        """
        from discreet.inference.frames import pairs_frame  # Arrow is slow to load

        if former:
            warnings.warn(
                "contrasts(reference, category) is contrasts(category, reference=...), which makes a frame; iter_contrasts gives objects",
                DeprecationWarning,
                stacklevel=2,
            )
            return self.iter_contrasts(former[0], category)
        share, groups = check_share(mass, "mass"), self._comparable(chosen := self._chosen(category))
        pairs = compared_pairs(groups, None if reference is None else self.by.index(reference))
        found: dict[tuple[int, int], Contrast] = {}
        for j in sorted({second for _, second in pairs}):
            firsts = [i for i, second in pairs if second == j]
            found |= zip(((i, j) for i in firsts), self._contrasts(firsts, j, chosen), strict=True)
        numbers = contrast_columns([found[pair] for pair in pairs], share)
        return pairs_frame(self.by, pairs, numbers, library)

    def iter_contrasts(self, category: Any, reference: Hashable) -> Iterator[tuple[Hashable, Contrast]]:
        """How the probability of a category in every other group differs from that in a reference group, each with its group.

        They are computed one by one as they are asked for. Groups in which the category cannot occur, or nothing else, are left out.
        """
        other, chosen = self.by.index(reference), self._chosen(category)
        groups = [group for group in self._comparable(chosen) if group != other]
        found = zip(groups, self._contrasts(groups, other, chosen), strict=True)
        return ((self.by[group], self._again(contrast, group, other, chosen)) for group, contrast in found)

    def _comparable(self, chosen: Sequence[int]) -> list[int]:  # noqa: ARG002 - all, unless something cannot occur
        """The positions of the groups in which there is something to infer about these categories."""
        return list(range(len(self)))

    def _contrasts(self, groups: Sequence[int], reference: int, chosen: Sequence[int]) -> Iterator[Contrast]:  # noqa: ARG002
        """Compare each of these groups, given by their positions in ascending order, with a reference group."""
        raise RefusedError("contrasts are asked of a posterior itself, also of sets of categories: contrast(one, other, [...])")

    # --- each group ---------------------------------------------------------------------------------------------------

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
        if isinstance(self.of, EachGroup):
            return self.of.no_records
        return np.array([float(self.of.size(group).pmf(0)) for group in self])

    def __repr__(self) -> str:
        what = f": {', '.join(map(str, self.labels))}" if self.labels else ""
        return f"<{len(self):,} groups of {', '.join(self.by.columns)}{what}>"


@dataclass(frozen=True, eq=False, repr=False)
class RecordsByGroup(EachGroup):
    """The shares of the records in each group."""

    def contrast(self, first: Hashable, second: Hashable, category: Any) -> RecordContrast:  # type: ignore[override]
        """How the share of a category among the records of one group differs from that in another, exactly.

        Raises RefusedError where a public total ties the sizes of the groups.
        """
        found: Any = super().contrast(first, second, category)
        assert isinstance(found, RecordContrast)  # noqa: S101
        return found

    def _again(self, found: Any, *_: Any) -> Any:
        """The contrast itself, which is data and pickles."""
        return found

    def _contrasts(self, groups: Sequence[int], reference: int, chosen: Sequence[int]) -> Iterator[Any]:
        if self.of.tied:
            raise RefusedError(
                "a public total ties the sizes of groups, so that the law of this difference is not computed: compare shares of the "
                "population, or release with public sizes",
                in_shell="--about records: a public total ties the sizes of groups, so that the law of this difference is not computed; "
                "--about population compares, and so does a release with --public sizes",
            )
        labels = [self.categories[i] for i in chosen]
        other = self._whole_row(reference).marginal(labels)
        for group in groups:
            yield of_different_records(self._whole_row(group).marginal(labels), other, (self.by[group], self.by[reference]))


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
    def records(self) -> RecordsByGroup:
        """The shares of the categories among the very records of each group, for a register or a census.

        They have no sampling error. Where the size of a group is private they are given that it has any records; `no_records` is the
        probability that it has none. A group that is known to have none has NaN.
        """
        return RecordsByGroup(self, attrgetter("records"), self.categories)

    @property
    def tied(self) -> bool:
        """Whether a public total ties the sizes of the groups, so that what is known about one depends on the others."""
        return False

    def _cells(self) -> int:
        return int(self.cells.possible.sum())

    def size(self, group: Hashable) -> SizePosterior:
        """The posterior of the number of records in one group. A public size has probability 1."""
        return self[group].size

    @property
    @abstractmethod
    def _compared(self) -> ComparedGroups:
        """What contrasts of groups are computed from."""

    def _independent(self, space: Space) -> ComparedGroups:
        """The same where the groups are independent."""
        assert isinstance(space, TableSpace)  # noqa: S101
        return ComparedGroups(space, lambda group, some: self[group].marginal(some), lambda i: self[self.by[i]].prior.exact)

    def _comparable(self, chosen: Sequence[int]) -> list[int]:
        return comparable(self._compared.table, chosen)

    def _contrasts(self, groups: Sequence[int], reference: int, chosen: Sequence[int]) -> Iterator[Contrast]:
        return group_contrasts(self._compared, groups, reference, chosen)

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

    def _contrasts(self, groups: Sequence[int], reference: int, chosen: Sequence[int]) -> Iterator[Contrast]:
        of: Any = self
        other = of[self.by[reference]]
        if not isinstance(other, SharedProbability):
            raise RefusedError("contrasts compare probabilities, and these are counts: post.over(...) has probabilities")
        return (compared(of[self.by[i]], other, chosen, (self.by[i], self.by[reference])) for i in groups)

    def __repr__(self) -> str:
        return f"Over({self.by!r})"
