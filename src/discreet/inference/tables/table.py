"""The posterior of a table: what is known about every group, whatever its laws come from (docs/howto/reading.md).

A group's posterior is a `NoiseAware`, as one variable has. Where laws come from is another matter: from one release (`posterior`), from
several releases of the same groups, or from several questions about the same people (`several`).
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import islice
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from discreet import limits
from discreet.arrays import Counts, Floats, Mask
from discreet.betas.mixtures import BetaMixture
from discreet.counts.batched.arrays import SHOWN_GROUPS
from discreet.counts.law import CountLaw
from discreet.counts.size_posterior import SizePosterior
from discreet.errors import InvalidInputError, RefusedError, TooLargeError
from discreet.inference.draws import DRAWS, Rng, check_draws, generator, seed_of
from discreet.inference.labelled import Figures
from discreet.inference.noise_aware import NoiseAware
from discreet.inference.posterior import Posterior
from discreet.inference.quantities import Contrast
from discreet.inference.reading import Reading
from discreet.inference.tables.adjusted import Strata, haenszel_draws
from discreet.inference.tables.contrasts import comparable, group_contrasts, summarised
from discreet.inference.tables.latent import LatentTable, Margin, Positions, Ranks, check_groups_drawn, ranks_of
from discreet.inference.tables.one_by_one import ByGroup, GroupSizes, MarginPosterior, PossiblePart, RecordsByGroup
from discreet.inference.tables.other_groups import TiedSizes
from discreet.inference.tables.shares import SharedProbability, check_some_possible, chosen_weights, contrast_of_draws, weights_of
from discreet.inference.tables.sums import CountSum, TableCountsPosterior
from discreet.model.cells import Cells, Groups
from discreet.model.dirichlet import Dirichlet, Prior
from discreet.text import html_table
from discreet.validation import Number, check_records, check_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Drawn(TypedDict, total=False):
    """The number of draws that numbers come from, and their seed or generator."""

    draws: int
    rng: Rng


_SUMMARISED_AT_ONCE = 2_000
"""Cells of a table that a notebook shows with their means and intervals, without being asked for them."""


class TablePosterior(ByGroup[NoiseAware], Posterior):
    """The posterior of every group of a table. `post["north", "f"]` is that of one group; with one column, `post["north"]`.

    A posterior is computed when it is first asked for, and the last few are kept. Iteration is over the groups. In arrays of all groups a
    cell that cannot occur has 0, and one that is alone in its group has 1.
    """

    @property
    def cells(self) -> Cells:
        """The table's groups, its categories and the cells that cannot occur."""
        raise NotImplementedError

    @property
    def by(self) -> Groups:
        """The groups: their columns, and the labels of each."""
        return self.cells.groups

    @property
    def categories(self) -> tuple[Hashable, ...]:
        """The categories of the table; in some groups not all of them may be possible."""
        return self.cells.categories

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """The number of records in each group, in their order, if these are public."""
        return None

    @property
    def size(self) -> GroupSizes:
        """The posterior of the number of records in each group: `post.size["north"]`. A public size has probability 1."""
        return GroupSizes(self, self._size)

    def _size(self, position: int) -> SizePosterior:
        return self._law(position).size

    def share(self, group: Hashable) -> BetaMixture:
        """The distribution of one group's share of the population, where the total is public and shares have a prior.

        Raises RefusedError where another thing is public, and InvalidInputError where the share is known to be 0 or 1.
        """
        self.by.index(group)
        raise RefusedError("the shares of groups have a prior, and so a posterior, only where their total is public")

    def pooled(self, *, strength: Number = 1, shape: Number = 1, mean: Any = None) -> "TablePosterior":  # noqa: ARG002 - of one release
        """Pool groups, as the posterior of the table of one release does."""
        raise RefusedError("groups are pooled in the posterior of the table of one release")

    @property
    def log_evidence(self) -> float:
        """The logarithm of the probability of all noisy counts under the prior.

        Where nothing is public, each group's is the sum over its sizes with the weights that `size_prior` gives them, flat: 1 for each.
        """
        raise RefusedError("the evidence is computed for one table, and for several about the same records")

    @property
    def records(self) -> RecordsByGroup:
        """The shares of the categories among the very records of each group, for a register or a census.

        They have no sampling error. Where the size of a group is private they are given that it has any records; `no_records` is the
        probability that it has none. A group that is known to have none has NaN.
        """
        return RecordsByGroup(self, attrgetter("records"), self.categories)

    # --- where laws come from -----------------------------------------------------------------------------------------

    def _law(self, position: int) -> CountLaw:
        """The law of the true counts of a group with one or more possible categories."""
        return self[self.by[position]].counts

    def _concentrations(self, position: int) -> tuple[Fraction, ...]:
        """The prior parameters of a group's possible categories."""
        return self[self.by[position]].prior.exact

    def _parameters(self, position: int) -> Floats:
        return np.array([float(a) for a in self._concentrations(position)])

    def _shares_prior(self, position: int) -> float:
        """The prior parameter of a group's share of the population, which only a public total gives it."""
        raise InvalidInputError(
            f"groups have shares in the model only where their total is public: say how much each of them, {self.by[position]!r} too, "
            "counts with weights="
        )

    def _tie(self) -> TiedSizes:
        """The sizes of all groups that may have records, tied by a public total."""
        raise RefusedError("the public total ties the groups of tables that are read together: ask this of the table read alone")

    @cached_property
    def _latent(self) -> LatentTable:
        """The law of all true counts, for draws and sums."""
        return LatentTable(self.cells.possible, self._parameters, self._law, self._tie if self.tied else None)

    def _possible_prior(self, position: int, prior: Prior) -> tuple[Prior, tuple[Hashable, ...]]:
        """The prior of the categories that can occur in a group, and those that cannot; refused where there is nothing to infer."""
        possible, group = self.cells.possible[position].tolist(), self.by[position]
        kept = [i for i, can in enumerate(possible) if can]
        if not kept:
            raise InvalidInputError(f"nothing can occur in group {group!r}: all of its categories are declared impossible")
        if len(kept) == 1:
            raise InvalidInputError(
                f"in group {group!r} nothing but {self.categories[kept[0]]!r} can occur: its probability is 1; size[group] has its size"
            )
        if all(possible):
            return prior, ()
        impossible = tuple(category for category, can in zip(self.categories, possible, strict=True) if not can)
        return Dirichlet([prior.exact[i] for i in kept], [self.categories[i] for i in kept]), impossible

    def _occurring(self) -> NDArray[np.int64]:
        return np.asarray(self._occurs.sum(axis=1))

    @property
    def _occurs(self) -> Mask:
        return self.cells.possible

    def _whole_row(self, position: int) -> Reading:
        possible = self.cells.possible[position]
        if possible.all() and len(possible) > 1:
            return self[self.by[position]]
        return PossiblePart(self.categories, possible, self[self.by[position]] if possible.sum() > 1 else None)

    # --- all groups at once -------------------------------------------------------------------------------------------

    def figures(self, mass: float = 0.95) -> Figures:
        """Means, standard deviations and equal-tailed intervals of all cells, as arrays with a row for each group.

        `error` bounds how much more or less probability than asked for lies beyond each end of an interval; `count_mean` and `count_std`
        are of the true counts. A cell that cannot occur has 0. `to_pandas()` has all with their labels.
        """
        check_groups_drawn(len(self))
        found = np.zeros((7, *self._axes))
        for position, can in enumerate(self.cells.possible):
            if can.sum() > 1:
                own = self[self.by[position]].figures(mass)
                found[:, position, can] = own.mean, own.std, own.low, own.high, own.error, own.count_mean, own.count_std
            elif can.any():
                found[:, position, can] = np.array([[1.0, 0.0, 1.0, 1.0, 0.0, *self._count_alone(position)]]).T
        mean, std, low, high, error, count_mean, count_std = found
        return Figures(mean, std, low, high, error, count_mean, count_std, self.by, self.categories, mass)

    def _count_alone(self, position: int) -> tuple[float, float]:
        """The mean and the standard deviation of the count of the only category that can occur in a group."""
        size = self._size(position)
        return size.mean(), size.std()

    @cached_property
    def _kept(self) -> list[Figures]:
        """The figures that were computed last."""
        return []

    def _figures(self, mass: float) -> Figures:
        """Figures at this level, which are computed once when they are asked for several times in a row."""
        if not self._kept or self._kept[0].level != mass:
            self._kept[:] = [self.figures(mass)]
        return self._kept[0]

    @property
    def _all(self) -> Figures:
        """Figures at any level, for the numbers that do not depend on it."""
        return self._kept[0] if self._kept else self._figures(0.95)

    def mean(self) -> Floats:
        """Expected probability of each category in each group."""
        return self._all.mean.copy()

    def std(self) -> Floats:
        """Standard deviation of each category's probability in each group."""
        return self._all.std.copy()

    def interval(self, mass: float = 0.95) -> Floats:
        """Equal-tailed intervals that each hold this much probability: by group and category, with (low, high) on the last axis."""
        return np.asarray(self._figures(mass))

    def _cell_moments(self) -> tuple[Floats, Floats]:
        return self._all.mean, self._all.std

    def _count_moments(self) -> tuple[Floats, Floats]:
        return self._all.count_mean, self._all.count_std

    # --- groups together ----------------------------------------------------------------------------------------------

    @property
    def counts(self) -> TableCountsPosterior:
        """The true counts of each group. Sums of them: `post.counts.over("sex")["f"]`, or `post.counts.over()` for all groups."""
        return TableCountsPosterior(self._latent, self.by, self.categories, self._count_moments, self._seed)

    @overload
    def over(self, *, weights: Any = None, draws: int = DRAWS, rng: Rng = None) -> SharedProbability: ...

    @overload
    def over(self, column: str, /, *columns: str, weights: Any = None, draws: int = DRAWS, rng: Rng = None) -> MarginPosterior: ...

    def over(self, *columns: str, weights: Any = None, draws: int = DRAWS, rng: Rng = None) -> MarginPosterior | SharedProbability:
        """Probabilities of the categories over all other columns, `post.over("sex")["f"]`; without columns, over all groups.

        Args:
            columns: The columns of the groups that are kept.
            weights: A mapping of groups to numbers, or an array over groups. If left out, the groups' shares of the population, which
                have a posterior where the total is public.
            draws: How many draws intervals come from.
            rng: A seed or generator; a seed that follows from the record if it is left out, so that the answer is the same every time.

        Raises InvalidInputError where there are neither weights nor shares.
        """
        if weights is None:
            self._shares_prior(0)
        size, margin = check_records(draws, "draws"), Margin(self.by, columns)
        check_draws(size, len(self.categories))
        given = None if weights is None else weights_of(weights, self.by)

        together = partial(self._together, given, size, rng)
        return MarginPosterior(margin, together) if columns else together(np.arange(len(self)))

    def _together(self, given: Floats | None, draws: int, rng: Rng, positions: Positions) -> SharedProbability:
        """The probabilities over the groups at these positions, with the weights that were given for all groups or with their shares."""
        check_some_possible(self._latent, positions)
        fixed = None if given is None else chosen_weights(given, self._latent, positions)
        seed = seed_of(self._seed, positions[:1].tolist()) if rng is None else rng
        known = self._latent, self.categories, positions, self._cell_moments, draws, seed, fixed, self._shares_prior
        return SharedProbability(*known, partial(self._summed, draws, rng))

    def _summed(self, draws: int, rng: Rng, positions: Positions) -> CountSum:
        """The posterior of sums of true counts, which a pooled table refuses only when it is asked for them."""
        return self.counts._total(draws, rng, positions)

    # --- draws --------------------------------------------------------------------------------------------------------

    def _draw_counts(self, draws: int, rng: np.random.Generator) -> Counts:
        found = np.zeros((draws, *self._axes), dtype=np.int64)
        for position, counts in self._latent.draws(draws, rng):
            found[:, position] = counts
        return found

    def _draw_probabilities(self, counts: Counts, rng: np.random.Generator) -> Floats:
        found = np.zeros(counts.shape)
        for position in range(len(self)):
            found[..., position, :] = self._latent.probabilities(position, counts[..., position, :], rng)
        return found

    def ranks(self, category: Hashable, draws: int = DRAWS, rng: Rng = None) -> Ranks:
        """Rank the groups by the probability of a category, from draws. Rank 1 has the largest.

        Args:
            category: The label of a category.
            draws: How many draws the ranks come from.
            rng: A seed or generator; a seed that follows from the record if it is left out.

        Returns `Ranks`: the mean rank of every group, and the probability of each rank.
        """
        place, source = self._index(category), generator(rng, self._seed)

        def draw(size: int, groups: Positions) -> Floats:
            return np.stack(list(self._latent.rising(place, size, source, groups)), axis=1)

        return ranks_of(self.cells.possible[:, place], self.by, category, draws, draw)

    # --- two groups ---------------------------------------------------------------------------------------------------

    def _comparable(self, chosen: Sequence[int]) -> list[int]:
        return comparable(self.cells, chosen)

    def _contrasts(self, groups: Sequence[int], reference: int, chosen: Sequence[int]) -> Iterator[Contrast]:
        return group_contrasts(self, groups, reference, chosen)

    def standardised(
        self, first: Hashable, second: Hashable, category: Any, *, over: str | Iterable[str], weights: Any = None, **drawn: Unpack[Drawn]
    ) -> Contrast:
        """Compare the probability of a category in two groups as if they had the same distribution of other columns.

        `post.standardised("men", "women", "admitted", over="department")` compares Σ w θ of both groups, w the weight of each department
        (direct standardisation). All but the mean of the difference comes from draws.

        Args:
            first: The labels of a group in the columns that are not adjusted for.
            second: Those of the group that it is compared with.
            category: The label of a category, or a list of labels: the probability is then that of any of them.
            over: The column, or the columns, that are adjusted for.
            weights: A mapping of the labels of `over` to numbers, or an array over them. If left out, the public numbers of records.
            drawn: `draws` and `rng`, as `over` has them.

        Raises InvalidInputError where a label is unknown, both groups are the same, or there are neither weights nor public sizes.
        """
        strata = Strata.of(self.by, over)
        names = strata.names(first, second)
        if weights is None and self.sizes is None:
            raise InvalidInputError("the sizes of these groups are not public: say how much each stratum counts with weights=")
        given = strata.totals(self.sizes) if weights is None else weights_of(weights, strata.strata.kept)
        return self.over(*strata.compared.columns, weights=strata.spread(given), **drawn).contrast(*names, category)

    def mantel_haenszel(
        self, first: Hashable, second: Hashable, category: Any, *, over: str | Iterable[str], draws: int = DRAWS, rng: Rng = None
    ) -> Contrast:
        """Compare the probability of a category in two groups within strata, put together as Mantel and Haenszel did.

        `post.mantel_haenszel("men", "women", "admitted", over="department").odds_ratio` is the common odds ratio. It comes from draws,
        also of sizes that are not public; draws in which no stratum has records of both groups are left out. Arguments are as in
        `standardised`, without weights: these follow from the sizes (docs/howto/reading.md).
        """
        strata, chosen, size = Strata.of(self.by, over), self._chosen(category), check_records(draws, "draws")
        sides = strata.sides(names := strata.names(first, second))
        check_draws(size, 2 * len(sides[0]))
        seed = seed_of(self._seed, "mantel-haenszel", *(side.tolist() for side in sides)) if rng is None else rng
        made = contrast_of_draws(names, *haenszel_draws(self._latent, sides, chosen, size, generator(seed, None)), None)
        again = partial(methodcaller("mantel_haenszel", first, second, category, over=strata.over, draws=draws, rng=rng), self)
        return made if isinstance(rng, np.random.Generator) else replace(made, again=again)

    # --- pictures -----------------------------------------------------------------------------------------------------

    def plot_contrasts(
        self,
        category: Hashable,
        reference: Hashable,
        ax: "Axes | None" = None,
        mass: float = 0.95,
        *,
        quantity: Literal["difference", "odds ratio"] = "difference",
    ) -> "Axes":
        """Draw a forest plot: the groups, up to some hundred, against a reference group, with a line where there is no difference."""
        from discreet.plotting import plot_contrasts

        rows = summarised(islice(self.iter_contrasts(category, reference), limits.GROUPS_COMPARED), check_share(mass, "mass"))
        return plot_contrasts(rows, quantity, ax, mass, about=(category, reference))

    def _repr_html_(self) -> str:
        """Means and intervals of the first groups, where all groups are few enough to be summarised while someone waits."""
        shown = [", ".join(map(str, self.by.key(i))) for i in range(min(len(self), SHOWN_GROUPS))]
        headings = [", ".join(self.by.columns), *map(str, self.categories)]
        if self._cells() <= _SUMMARISED_AT_ONCE:
            with suppress(TooLargeError):
                return html_table(f"{self!r}: mean and 95 % interval", headings, self.figures().rows(shown))
        return html_table(f"{self!r}: post[group] is the posterior of one", headings[:1], [(name,) for name in shown])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self):,} groups by {len(self.categories)} categories, {self.by!r})"
