"""The verbs that all readings of a release have alike: of one variable, of a table, of its margins and sums, and of several releases."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.errors import InvalidInputError, RefusedError, TooLargeError
from discreet.inference.draws import Rng
from discreet.inference.labelled import FieldsAlone
from discreet.inference.quantities import compared_pairs, contrast_columns, contrast_figures
from discreet.model.cells import GroupLook, Groups
from discreet.validation import category_index, check_levels, check_records, check_share, items_of, named_numbers, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet.inference.frames import Library

Kind = Literal["eti", "hdi"]
"""Kinds of intervals: with equal tails, or of highest density."""
_LEAST_MASS = 2.0**-40
"""The least mass of an interval: both ends of one that holds less are taken for the median."""


class Reading(ABC):
    """The posterior of a number for each category, or for each group and category.

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
    def _distribution(self, chosen: Sequence[int]) -> Any:
        """The distribution of the number that any of these categories, given by their positions, have together."""

    def _laws(self) -> list[Any]:
        return [self._distribution((i,)) for i in range(len(self.categories))]

    def mean(self) -> Floats:
        """Expected values."""
        return np.array([law.mean() for law in self._laws()])

    def std(self) -> Floats:
        """Standard deviations."""
        return np.array([law.std() for law in self._laws()])

    def _cell_moments(self) -> tuple[Floats, Floats]:
        """Expected values and standard deviations, which nobody changes."""
        return self.mean(), self.std()

    def interval(self, mass: float = 0.95) -> Floats | Counts:
        """Equal-tailed intervals that each hold this much probability, discrete ones at least: (low, high) on the last axis."""
        return np.array([law.interval(mass) for law in self._laws()])

    def hdi(self, mass: float = 0.95) -> Floats:
        """Highest density intervals, the shortest that each hold this much probability: (low, high) on the last axis.

        Where the most probable values of a number are not one interval, its row is the shortest interval, and a warning says so.

        Raises TooLargeError where there are more numbers than are searched one at a time.
        """
        cells = self._cells()
        if cells > limits.DENSITY_INTERVALS:
            what, one = ("categories", "marginal(category)") if self.by is None else ("cells", "post[group]")
            raise TooLargeError(
                f"highest density intervals are found for up to {limits.DENSITY_INTERVALS:,} {what}, and there are {cells:,}: "
                f"{one}.hdi() has fewer, and interval() all equal-tailed ones"
            )
        return self._hdi(mass)

    def _hdi(self, mass: float) -> Floats:
        return np.array([law.hdi(mass) for law in self._laws()])

    def _cells(self) -> int:
        """Return how many numbers there are that can be anything but 0."""
        return len(self.categories)

    # --- categories put together --------------------------------------------------------------------------------------

    def marginal(self, category: Any) -> Any:
        """The distribution of the number of a category, or of that of any of a list of categories.

        Args:
            category: The label of a category, or a list of labels.

        Raises:
            InvalidInputError: A label is not one of the categories or named twice, or a list has none or all of them.
        """
        return self._distribution(self._chosen(category))

    def merged(self, sets: Mapping[Any, Iterable[Any]]) -> "Reading":
        """Return the reading of coarser categories: the number of each set is that of any category in it.

        Args:
            sets: For every new category its label and the labels of the categories that it is made of, such as
                `{"smokes": ["former", "current"], "never": ["never"]}`. Every category is in one of them.

        Raises:
            InvalidInputError: Fewer than two sets are given, one is empty, or a category is in none or in two of them.
        """
        chosen = tuple(map(tuple, self._sets(sets)))
        return self._by_sets(tuple(sets), chosen, methodcaller("merged", {label: list(each) for label, each in sets.items()}))

    def cumulative(self) -> "Reading":
        """Return, for ordered answers, the reading of each category or an earlier one: `up to former`.

        The order is that of `categories`. The last category is left out: all answers are up to it.
        """
        places = range(1, len(self.categories))
        labels, sets = tuple(f"up to {self.categories[i - 1]}" for i in places), tuple(tuple(range(i)) for i in places)
        return self._by_sets(labels, sets, methodcaller("cumulative"))

    def _by_sets(self, labels: tuple[Hashable, ...], sets: tuple[tuple[int, ...], ...], _: Callable[[Any], Any]) -> "Reading":
        """Return the reading of sets of categories, given by their positions, and the verb that gives those of one group."""
        return SetsOfCategories(self, labels, sets)

    def _index(self, category: Hashable) -> int:
        return category_index(self.categories, category)

    def _chosen(self, category: Any) -> list[int]:
        """The positions of a category, or of a list of some of them."""
        if not isinstance(category, (list, set, frozenset)):
            return [self._index(category)]
        chosen = self._positions(tuple(category))
        if not 0 < len(chosen) < len(self.categories):
            raise InvalidInputError(f"a set of categories must have some of the {len(self.categories)}, and not all: it has {len(chosen)}")
        return chosen

    def _positions(self, labels: Iterable[Hashable]) -> list[int]:
        """The positions of categories, in order, which are named by their labels, each once."""
        chosen = sorted(self._index(label) for label in labels)
        if len(set(chosen)) < len(chosen):
            raise InvalidInputError("each category must be named once; one was named twice")
        return chosen

    def _sets(self, sets: Mapping[Any, Iterable[Any]]) -> list[list[int]]:
        """The positions of the categories of each set."""
        if not isinstance(sets, Mapping):
            raise InvalidInputError("merged takes a mapping of new categories to lists of those that they are made of")
        chosen, k = [self._positions(items_of(labels) or ()) for labels in sets.values()], len(self.categories)
        if len(chosen) < 2 or not all(chosen) or sorted(i for each in chosen for i in each) != list(range(k)):
            raise InvalidInputError(f"merged must be told two or more sets, with each of the {k} categories in one of them")
        return chosen

    @property
    def records(self) -> "Reading":
        """The shares of the categories among these very records, for a register or a census, with the verbs of a posterior.

        They have no sampling error. Where the number of records is private they are given that there are any.
        """
        raise RefusedError("records are asked of a posterior of one variable, of a group or of a table: this is none of them")

    # --- scores -------------------------------------------------------------------------------------------------------

    def score(self, weights: Mapping[Any, float], draws: int | None = None, rng: Rng = None) -> Any:
        """The distribution of Σ_c w_c θ_c, such as the mean of answers on a scale: `score({"never": 0, "former": 1, "current": 2})`.

        Args:
            weights: A finite number for every category.
            draws: How many draws its quantiles and intervals come from; 10,000 if it is left out.
            rng: A seed or generator; a seed that follows from the record if it is left out, so that the answer is the same every time.

        Returns:
            A distribution with the verbs of a contrast. Its mean and standard deviation are computed, over several groups together as far
            as `post.over` has them; `standard_error()` is the Monte Carlo error of the mean, 0 where it is computed, and
            `probability_error()` that of the probability beyond either end of an interval. By groups there is one for each group.

        Raises:
            InvalidInputError: A category has no weight, a weight is not a finite number, or a label is not one of the categories.
        """
        found = named_numbers(weights, self._index, self.categories, "category")
        return self._score(found, None if draws is None else check_records(draws, "draws"), rng)

    @abstractmethod
    def _score(self, weights: Floats, draws: int | None, rng: Rng) -> Any:
        """The score with a weight for each category, in their order."""

    # --- contrasts ----------------------------------------------------------------------------------------------------

    def contrast(self, *compared: Any, **_: Any) -> Any:  # noqa: ARG002 - whatever is compared
        """Compare two categories, or sets of them, `contrast("never", "current")`; of groups, how one differs between two of them."""
        raise RefusedError("contrasts are asked of a posterior itself, which compares probabilities that do not overlap")

    def contrasts(self, *, reference: Hashable = None, mass: float = 0.95, library: "Library" = "pandas") -> Any:
        """Compare categories: all with one, or all pairs, as a frame; of groups, one category between them (`TablePosterior.contrasts`).

        It has the columns `category` and `against_category`, then `difference`, `ratio` and `odds_ratio` of the first against the second,
        each a median with the columns `_low` and `_high` of its interval, and `probability`, that the first is larger.
        """
        from discreet.inference.frames import pairs_frame  # Arrow is slow to load

        share, by = check_share(mass, "mass"), Groups(("category",), (self.categories,))
        pairs = compared_pairs(range(len(self.categories)), None if reference is None else self._index(reference))
        rows = [contrast_figures(self.contrast(self.categories[i], self.categories[j]), share) for i, j in pairs]
        return pairs_frame(by, pairs, contrast_columns(rows), library)

    def _two(self, first: Any, second: Any) -> tuple[list[int], list[int]]:
        """The positions of two categories, or of two sets of them that have none in common."""
        sides = self._chosen(first), self._chosen(second)
        both = sorted(set(sides[0]) & set(sides[1]))
        if both:
            raise InvalidInputError(f"a contrast compares two different categories, got {self.categories[both[0]]!r} twice")
        return sides

    def _called(self, chosen: Sequence[int]) -> Hashable:
        """Return the common name of some categories."""
        return any_of([self.categories[i] for i in chosen])

    # --- other numbers ------------------------------------------------------------------------------------------------

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
        low, high = np.moveaxis(self.hdi(share) if kind == "hdi" else self.interval(share), -1, 0).copy()
        mean, sd = self._cell_moments()
        numbers = {"mean": mean, "sd": sd, "low": low, "high": high}
        return summary_frame(self.by, {"category": self.categories} if self.categories else {}, numbers, library)

    def plot(self, ax: "Axes | None" = None, mass: float = 0.95, **look: Unpack[GroupLook]) -> "Axes":
        """Draw what is read: of one variable the densities of its categories, of groups the interval of a category's share in each.

        `category` names the one that is drawn; left out, it is the first of a table, and all of one variable. Where groups are pooled,
        their intervals without pooling stand above. `sort` is "mean" (the largest first), "group" (by their labels) or "declared";
        `title`, `label` and `color` are as in Matplotlib.
        """
        from discreet.plotting import plot_one, plot_table

        draw: Any = plot_one if self.by is None else plot_table
        axes: Axes = draw(self, ax, mass, **look)
        return axes

    def to_pandas(self, mass: float = 0.95) -> Any:
        """`summary` as a pandas frame."""
        return self.summary(mass, "pandas")

    def to_polars(self, mass: float = 0.95) -> Any:
        """`summary` as a Polars frame."""
        return self.summary(mass, "polars")


class Sets:
    """Sets of the categories of another reading, which may overlap, as those of cumulative answers do."""

    of: Any
    labels: tuple[Hashable, ...]
    sets: tuple[tuple[int, ...], ...]

    def _index(self, category: Hashable) -> int:
        """The place of a set, named by its label or, up to a category, by that category."""
        names = [label for label in (category, f"up to {category}") if label in self.labels]
        return category_index(self.labels, names[0] if names else category)

    def _inside(self, chosen: Iterable[int]) -> list[int]:
        """The categories in some of the sets, of which none is in two."""
        inside = [i for place in chosen for i in self.sets[place]]
        if len(set(inside)) < len(inside):
            raise RefusedError("sets that overlap, as those of cumulative answers do, are asked for one at a time")
        return sorted(inside)


@dataclass(frozen=True, eq=False, repr=False)
class SetsOfCategories(Sets, FieldsAlone, Reading):
    """A reading of sets of the categories of another reading."""

    of: Reading
    labels: tuple[Hashable, ...]
    """The label of each set."""
    sets: tuple[tuple[int, ...], ...]
    """The positions of the categories in each set."""

    @property
    def categories(self) -> tuple[Hashable, ...]:
        return self.labels

    def _distribution(self, chosen: Sequence[int]) -> Any:
        return self.of._distribution(self._inside(chosen))

    def cumulative(self) -> Reading:
        """Return the reading of each set or an earlier one. Sets that overlap are refused."""
        self._inside(range(len(self.sets)))
        return super().cumulative()

    def contrast(self, first: Any, second: Any) -> Any:
        """Compare two sets that have no category in common (`NoiseAware.contrast`)."""
        sides = (self._inside(side) for side in self._two(first, second))
        return self.of.contrast(*([self.of.categories[i] for i in side] for side in sides))

    def _score(self, weights: Floats, draws: int | None, rng: Rng) -> Any:
        whole = np.zeros(len(self.of.categories))
        for weight, inside in zip(weights.tolist(), self.sets, strict=True):
            whole[list(inside)] += weight
        return self.of._score(whole, draws, rng)

    @property
    def records(self) -> Reading:
        """Return the reading of the shares of these very records."""
        return replace(self, of=self.of.records)

    def __repr__(self) -> str:
        return f"<sets of categories: {', '.join(map(str, self.labels))}>"


def any_of(labels: Sequence[Hashable]) -> Hashable:
    """Return the label of a set of categories: one category by its own label."""
    return labels[0] if len(labels) == 1 else " or ".join(map(str, labels))
