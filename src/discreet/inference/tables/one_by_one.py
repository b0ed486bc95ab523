"""Readings by groups, of which each is made when it is first asked for: of a table, of its margins, and what verbs make of these."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from math import prod
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from discreet import limits
from discreet.arrays import Counts, Floats, Mask
from discreet.counts.batched.arrays import GroupSummaries
from discreet.counts.size_posterior import SizePosterior
from discreet.errors import InvalidInputError, RefusedError
from discreet.frames import warn_caller
from discreet.inference.draws import DRAWS, Rng, generator
from discreet.inference.labelled import FieldsAlone, Figures
from discreet.inference.posterior import JointReading
from discreet.inference.quantities import Contrast, compared_pairs, contrast_columns, contrast_figures
from discreet.inference.reading import Reading, Sets
from discreet.inference.records import RecordContrast, ShareOfRecords, drawn_shares, of_different_records, of_draws
from discreet.inference.tables.latent import Margin, Positions, Ranks, check_groups_drawn, ranks_of
from discreet.inference.tables.shares import SharedProbability, common_seed, compared, joint_samples, reached_level
from discreet.model.cells import Groups
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
        """Return the posterior of the group at a position."""

    def _whole_row(self, position: int) -> Any:
        """Return the row with all categories of the table, those that cannot occur in this group among them."""
        return self[self.by[position]]

    @property
    def _occurs(self) -> Mask:
        """The cells that can be anything but 0."""
        return np.ones((len(self), max(len(self.categories), 1)), dtype=np.bool_)

    @property
    def _unpooled(self) -> "ByGroup[Any] | None":
        """The posterior without pooling, which pictures draw as well; None for one that is not pooled."""
        return None

    def __len__(self) -> int:
        return len(self.by)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.by)

    @cached_property
    def _known(self) -> dict[int, T]:
        return {}

    def __getitem__(self, group: Hashable) -> T:
        """Return the posterior of one group, as of one variable.

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

    def _hdi(self, mass: float) -> Floats:
        return self._each(methodcaller("hdi", mass))

    def _cells(self) -> int:
        return int(self._occurs.sum())

    def _each(self, ask: Callable[[Any], Floats | Counts]) -> Floats:
        check_groups_drawn(len(self))
        return np.stack([ask(self._whole_row(position)) for position in range(len(self))])

    def _distribution(self, chosen: Sequence[int]) -> "EachGroup":
        labels = [self.categories[i] for i in chosen]
        return EachGroup(self, methodcaller("marginal", labels))

    # --- two groups ---------------------------------------------------------------------------------------------------

    def contrast(self, first: Hashable, second: Hashable, category: Any) -> Contrast:
        """Compare the probability of a category in two groups by difference, ratio and odds ratio, the first against the second.

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
            the category cannot occur, or nothing else, are left out. Shares of the records have all groups, and the probabilities `equal`,
            that both are the same, and `ratio_undefined` and `odds_ratio_undefined`, of 0/0.

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
        rows: dict[tuple[int, int], dict[str, float]] = {}
        for j in sorted({second for _, second in pairs}):
            firsts = [i for i, second in pairs if second == j]
            found = zip(firsts, self._contrasts(firsts, j, chosen), strict=True)
            rows |= {(i, j): contrast_figures(one, share) for i, one in found}
        return pairs_frame(self.by, pairs, contrast_columns([rows[pair] for pair in pairs]), library)

    def iter_contrasts(self, category: Any, reference: Hashable) -> Iterator[tuple[Hashable, Contrast]]:
        """Yield every other group with the contrast of a category's probability against that in a reference group.

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
        return EachGroup(self, methodcaller("score", dict(zip(self.categories, weights.tolist(), strict=True)), draws, rng))

    if TYPE_CHECKING:  # the verbs of a reading, by group

        def merged(self, sets: Mapping[Any, Iterable[Any]]) -> "EachGroup": ...
        def cumulative(self) -> "EachGroup": ...

    def _by_sets(self, labels: tuple[Hashable, ...], sets: tuple[tuple[int, ...], ...], verb: Callable[[Any], Any]) -> "EachGroup":
        return SetsByGroup(self, verb, labels, sets)


@dataclass(frozen=True, eq=False, repr=False)
class EachGroup(ByGroup[Any]):
    """The answer of a verb for each group: `post.records["north"]`, `post.marginal("current")["north"]`.

    Arrays have the axes (groups, categories), or of a single number (groups).
    """

    of: Any
    """The reading by the same groups that the verb is asked of."""
    ask: Callable[[Any], Any]
    labels: tuple[Hashable, ...] = ()
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
        """Return the reading of the shares of these very records."""
        return replace(self, of=self.of.records)

    @property
    def no_records(self) -> Floats:
        """The posterior probability that a group has no records at all, of every group."""
        return self.of.no_records if isinstance(self.of, EachGroup) else np.array([float(self.of.size[group].pmf(0)) for group in self])

    def __repr__(self) -> str:
        what = f": {', '.join(map(str, self.labels))}" if self.labels else ""
        return f"<{len(self):,} groups of {', '.join(self.by.columns)}{what}>"


@dataclass(frozen=True, eq=False, repr=False)
class SetsByGroup(Sets, EachGroup):
    """Sets of the categories of a table, in each group."""

    sets: tuple[tuple[int, ...], ...] = ()
    """The positions of the categories in each set."""

    def _comparable(self, chosen: Sequence[int]) -> list[int]:
        found: list[int] = self.of._comparable(self._inside(chosen))
        return found

    def _contrasts(self, groups: Sequence[int], reference: int, chosen: Sequence[int]) -> Iterator[Any]:
        found: Iterator[Any] = self.of._contrasts(groups, reference, self._inside(chosen))
        return found


@dataclass(frozen=True, eq=False, repr=False)
class RecordsByGroup(EachGroup):
    """The shares of the records in each group."""

    def contrast(self, first: Hashable, second: Hashable, category: Any) -> RecordContrast:
        """Compare the share of a category among the records of one group with that in another.

        It is exact but where a public total ties the sizes of the groups, or the noise is very wide: then it is from joint draws.
        """
        found: Any = super().contrast(first, second, category)
        assert isinstance(found, RecordContrast)  # noqa: S101
        return found

    def _contrasts(self, groups: Sequence[int], reference: int, chosen: Sequence[int]) -> Iterator[Any]:
        labels = [self.categories[i] for i in chosen]
        for group in groups:
            names = self.by[group], self.by[reference]
            if self.of.tied:
                drawn = [drawn_shares(self._drawn[:, place], chosen) for place in (group, reference)]
                yield of_draws(drawn[0], drawn[1], names)
            else:
                yield of_different_records(self._whole_row(group).marginal(labels), self._whole_row(reference).marginal(labels), names)

    @cached_property
    def _drawn(self) -> Counts:
        """Joint draws of the counts of all groups."""
        found: Counts = self.of.sample_counts(DRAWS)
        return found


@dataclass(frozen=True, eq=False, repr=False)
class GroupSizes(EachGroup):
    """The number of records in each group: `post.size["north"]` is its posterior."""

    def _posterior(self, position: int) -> SizePosterior:
        found: SizePosterior = self.ask(position)
        return found

    def __call__(self, group: Hashable) -> SizePosterior:
        """The posterior of one group's size, as version 0.2 asked for it."""
        warn_caller("post.size(group) is post.size[group]", DeprecationWarning)
        found: SizePosterior = self[group]
        return found


@dataclass(frozen=True, eq=False, repr=False)
class PossiblePart(FieldsAlone, Reading):
    """The posterior of one group in which some categories cannot occur. Their number is 0, and that of one that is alone is 1."""

    labels: tuple[Hashable, ...]
    """The labels of all categories."""
    possible: Mask
    inside: Any
    """The reading of the possible categories; None where there is at most one."""

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
        return replace(self, inside=None if self.inside is None else self.inside.records)


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


@dataclass(frozen=True, eq=False, repr=False)
class MarginPosterior(ByLabels[SharedProbability], JointReading):
    """The probabilities over all groups that have the labels asked for, which joint draws hold together."""

    def _parts(self, positions: Iterable[int] | None = None) -> list[SharedProbability]:
        check_groups_drawn(len(self))
        return [self[self.by[position]] for position in (range(len(self)) if positions is None else positions)]

    @property
    def _seed(self) -> Rng:
        return common_seed(self._parts())

    @property
    def _occurs(self) -> Mask:
        return np.stack([part._possible for part in self._parts()])

    def _occurring(self) -> Counts:
        return np.asarray(self._occurs.sum(axis=1))

    @property
    def tied(self) -> bool:
        return not self._parts([0])[0].table.independent

    def _level(self, tail: float) -> float:
        return reached_level(tail, self._parts([0])[0].draws)

    def figures(self, mass: float = 0.95) -> Figures:
        """Means, standard deviations and equal-tailed intervals of all cells, as arrays, and those of their true counts.

        `error` is the Monte Carlo standard error of the probability beyond an end of an interval.
        """
        every = [part.figures(mass) for part in self._parts()]
        numbers: dict[str, Any] = {each.name: np.stack([getattr(one, each.name) for one in every]) for each in fields(GroupSummaries)}
        return Figures(**numbers, by=self.by, categories=self.categories, level=mass)

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Floats:
        """Joint draws of the probabilities, with groups and categories on the last axes; 0 for what cannot occur."""
        shape = self._shape(size)
        return self._jointly(prod(shape), generator(rng, self._seed)).reshape(*shape, *self._axes)

    def _jointly(self, draws: int, rng: np.random.Generator, positions: Iterable[int] | None = None) -> Floats:
        return np.moveaxis(joint_samples([replace(part, draws=draws) for part in self._parts(positions)], rng), 0, 1)

    def ranks(self, category: Hashable, draws: int = DRAWS, rng: Rng = None) -> Ranks:
        """Rank the groups of the margin by the probability of a category, from draws, as a table does."""
        place, source = self._index(category), generator(rng, self._seed)

        def draw(size: int, groups: Positions) -> Floats:
            return self._jointly(size, source, groups.tolist())[..., place]

        return ranks_of(self._occurs[:, place], self.by, category, draws, draw)

    def _contrasts(self, groups: Sequence[int], reference: int, chosen: Sequence[int]) -> Iterator[Contrast]:
        other = self[self.by[reference]]
        return (compared(self[self.by[i]], other, chosen, (self.by[i], self.by[reference])) for i in groups)
