"""The posterior of every group of a table, one group at a time (docs/howto/reading_tables.md).

What is public decides what a group's true counts are known by: its size, the total of all groups, or nothing but its own noisy counts.
Whichever it is, a group's posterior is a `NoiseAware`, as one variable has.
"""

from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from discreet import limits
from discreet.arrays import Counts, Floats, Mask
from discreet.counts.batched.arrays import SHOWN_GROUPS, precision
from discreet.counts.law import CountLaw
from discreet.counts.listed import ListedCounts
from discreet.counts.runs import Run
from discreet.counts.size_posterior import SizePosterior
from discreet.counts.tree import TreeCounts
from discreet.errors import InvalidInputError, RefusedError, TooLargeError
from discreet.inference.draws import DRAWS, Estimate, arviz_of
from discreet.inference.fixed_total_mixtures import probability_law
from discreet.inference.labelled import TableFigures
from discreet.inference.noise_aware import NoiseAware
from discreet.inference.reader_priors import reader_priors
from discreet.inference.seeds import Rng, generator, seed_of, seed_of_outcome
from discreet.inference.simultaneous import common_tail
from discreet.inference.tables.contrasts import ComparedGroups, summarised
from discreet.inference.tables.draws import Ranks, TableDraws
from discreet.inference.tables.latent import LatentTable, Margin, Positions, check_draws, check_groups_drawn
from discreet.inference.tables.one_by_one import ByLabels, OneByOne
from discreet.inference.tables.other_groups import TiedGroup, TiedSizes, check_groups, tied_evidence, tied_sizes
from discreet.inference.tables.shares import SharedProbability, check_some_possible, chosen_weights, weights_of
from discreet.inference.tables.summaries import check_summaries, check_total, group_summaries, pairs_in_a_group
from discreet.inference.tables.sums import TableCountsPosterior
from discreet.inference.true_counts import Outcome, check_any_total, check_posterior, counts_of_outcomes, counts_of_same_records
from discreet.mechanisms import LatticeGeometric, Mechanism
from discreet.mechanisms.base import Prior
from discreet.model.beta_mixtures import BetaMixture
from discreet.model.cells import Cells, Sort
from discreet.model.dirichlet import Dirichlet
from discreet.model.size_priors import SizePrior, size_prior_of
from discreet.record.release import Release
from discreet.text import html_table
from discreet.validation import category_index, check_records, check_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def table_posterior(release: Release[Counts], prior: Any = None, size_prior: Any = None) -> "TablePosterior":
    """The posteriors of all groups of a release.

    `prior` is what a reader believes about the categories before, as `reader_priors` takes it; `size_prior` is what is believed about each
    group's size where nothing is public.
    """
    mechanism = _lattice(release.mechanism)
    if not mechanism.is_outcome(release.raw):
        raise InvalidInputError(f"raw is not a possible outcome of {mechanism.title} with these parameters")
    if mechanism.table.published != "nothing" and size_prior is not None:
        public = "the size of every group is" if mechanism.table.published == "sizes" else f"the total N = {release.n} is"
        raise InvalidInputError(f"size_prior is for groups whose sizes are private and not tied to a total; here {public} public")
    by = mechanism.table.cells.groups
    priors = reader_priors(prior, mechanism.prior, {by.index(group): own for group, own in mechanism.priors}, by)
    return TablePosterior(mechanism, release.raw, size_prior_of("flat" if size_prior is None else size_prior), *priors)


_SUMMARISED_AT_ONCE = 2_000
"""Cells of a table that a notebook shows with their means and intervals, without being asked for them."""


def _lattice(mechanism: Mechanism) -> LatticeGeometric:
    if not isinstance(mechanism, LatticeGeometric):
        raise RefusedError(f"posteriors of groups are computed for LatticeGeometric, not for {mechanism.title}")
    return mechanism


def check_table_posterior(mechanism: Mechanism) -> None:
    """Refuse, by public numbers alone, a table whose groups have no posterior that can be computed."""
    space, slope = (lattice := _lattice(mechanism)).table, lattice.noise.slope
    possible = space.cells.possible.sum(axis=1)
    if space.sizes is not None:
        sizes = np.array(space.sizes)
        for categories in np.unique(possible[(possible > 1) & (sizes > 0)]).tolist():
            largest = int(sizes[possible == categories].max())
            check_posterior(LatticeGeometric(Dirichlet.uniform(categories), largest, mechanism.epsilon))
        return
    if space.n is None:
        check_any_total(int(possible.max()), slope)
        check_summaries(len(possible), int(possible.max()), slope)
        return
    groups, most = int((possible > 0).sum()), int(possible.max())
    if groups <= limits.GROUPS_CONVOLVED:  # beyond, summaries have the means and intervals of all groups, and single groups are refused
        check_groups(groups, most, space.n, slope)
    check_any_total(most, slope, space.n)
    check_summaries(groups, most, slope, space.n)
    check_total(groups, most, slope, space.n)


def summary_pairs(mechanism: Mechanism) -> int:
    """About how many pairs of a count and a rest of its group the summaries of all groups go through; 0 where sizes are public."""
    space, slope = (lattice := _lattice(mechanism)).table, lattice.noise.slope
    if space.sizes is not None:
        return 0
    possible = space.cells.possible.sum(axis=1)
    return int((possible > 0).sum() * pairs_in_a_group(int(possible.max()), slope, limits.COUNT if space.n is None else space.n))


@dataclass(frozen=True, eq=False, repr=False)
class TablePosterior(OneByOne):
    """The posterior of every group of a table. `post["north", "f"]` is that of one group; with one column, `post["north"]`.

    A posterior is computed when it is first asked for, and the last few are kept. Iteration is over the groups.
    """

    mechanism: LatticeGeometric
    raw: Counts
    """The noisy counts, a row a group."""
    size_prior: SizePrior
    """What is believed about the size of each group, where nothing about it is public."""
    prior: Prior
    """What is believed about the categories of all groups but those in `priors`: the record's, or the reader's own."""
    priors: Mapping[int, Prior]
    """The groups, by their positions, that have another prior."""

    @property
    def cells(self) -> Cells:
        """Its groups, its categories and the cells that cannot occur."""
        return self.mechanism.table.cells

    def size(self, group: Hashable) -> SizePosterior:
        """The posterior of the number of records in one group. A public size has probability 1."""
        position = self.by.index(group)
        if self._possible[position].sum() > 1:
            return self[group].size
        known = self._known_size(position)
        return SizePosterior(known, np.ones(1)) if known is not None else self._any_total(position).size

    @property
    def tied(self) -> bool:
        """Whether a public total ties the sizes of the groups."""
        return self._latent.tie is not None

    def share(self, group: Hashable) -> BetaMixture:
        """The distribution of one group's share of the population, where the total is public and shares have a prior.

        Raises RefusedError where another thing is public, and InvalidInputError where the share is known to be 0 or 1.
        """
        if self.mechanism.table.published != "total":
            raise RefusedError("the shares of groups have a prior, and so a posterior, only where their total is public")
        position, total = self.by.index(group), self.mechanism.table.n
        assert total is not None  # noqa: S101
        if self._known_size(position) is not None:
            known = 1 if self._possible[position].any() else 0
            raise InvalidInputError(f"the share of group {self.by[position]!r} is {known}, because of the cells that are impossible")
        size, a = self.size(group), self._shares[position]
        rest = sum((share for share, row in zip(self._shares, self._possible, strict=True) if row.any()), -a)
        return probability_law(Run(size.low, size.probability), total, float(a), float(rest), self.by[position], size.omitted)

    @property
    def log_evidence(self) -> float:
        """The logarithm of the probability of all noisy counts under the prior.

        Where nothing is public, each group's is the sum over its sizes with the weights that `size_prior` gives them, flat: 1 for each.
        """
        check_groups_drawn(len(self))
        if self._latent.tie is not None:
            return tied_evidence(self._tied)
        return sum(self._log_evidence(position) for position in range(len(self)))

    def _log_evidence(self, position: int) -> float:
        """That of a group that no total ties to others."""
        row, size = self._row(position), self._known_size(position)
        if len(row) < 2 and size is not None:
            return 0.0  # what is known carries no noise
        noise = self.mechanism.noise
        if size == 0:
            return float(noise.log_factor(np.array(row, dtype=np.float64)).sum()) + noise.log_constant(len(row))
        return self._law(position).log_evidence

    # --- all groups at once -------------------------------------------------------------------------------------------

    def figures(self, mass: float = 0.95) -> TableFigures:
        """Means, standard deviations and equal-tailed intervals of all cells, as arrays with a row for each group.

        Means and standard deviations are exact to 1e-9 or so, or to `error` where the noise is very wide. `error` bounds how much more or
        less probability than asked for lies beyond each end of an interval; `post[group]` has intervals without such an error.
        `count_mean` and `count_std` are of the true counts. A cell that cannot occur has 0. `to_pandas()` has all with their labels.
        """
        mechanism, space = self.mechanism, self.mechanism.table
        a = np.tile(self.prior.concentration, (len(self), 1)) if self.priors else self.prior.concentration
        for position, prior in self.priors.items():
            a[position] = prior.concentration
        known: dict[str, Any] = {"size_prior": self.size_prior}
        if space.sizes is not None:
            known = {"sizes": np.array(space.sizes)}
        elif space.n is not None:
            known = {"total": space.n, "shares": 1.0 if mechanism.shares is None else np.array([float(b) for b in mechanism.shares])}
        found = group_summaries(self.raw, a, mechanism.noise.slope, **known, possible=self._possible, mass=mass)
        return TableFigures(**vars(found), by=self.by, categories=self.categories, level=mass)

    def mean(self) -> Floats:
        """Expected probability of each category in each group."""
        return self._all.mean.copy()

    def std(self) -> Floats:
        """Standard deviation of each category's probability in each group."""
        return self._all.std.copy()

    def interval(self, mass: float = 0.95) -> Floats:
        """Equal-tailed intervals that each hold this much probability: by group and category, with (low, high) on the last axis."""
        found = self.figures(mass)
        return np.stack([found.low, found.high], axis=-1)

    def simultaneous(self, mass: float = 0.95) -> TableFigures:
        """Intervals of all cells that hold together, all of them at once, with probability `mass` or more.

        They are equal-tailed intervals at one common level (docs/howto/reading_tables.md).
        """
        tail = common_tail(check_share(mass, "mass"), self._possible.sum(axis=1), self._latent.tie is not None)
        return replace(self.figures(1.0 - 2.0 * tail * (1.0 - 4.0 * precision(tail))), together=mass)

    # --- groups together ----------------------------------------------------------------------------------------------

    @property
    def counts(self) -> TableCountsPosterior:
        """The true counts, of which sums are asked for: `post.counts.over("sex")["f"]`, or `post.counts.over()` for all groups."""
        return TableCountsPosterior(self._latent, self.by, self.categories, self._count_moments, self._seed)

    @overload
    def over(self, *, weights: Any = None, draws: int = DRAWS, rng: Rng = None) -> SharedProbability: ...

    @overload
    def over(
        self, column: str, /, *columns: str, weights: Any = None, draws: int = DRAWS, rng: Rng = None
    ) -> ByLabels[SharedProbability]: ...

    def over(
        self, *columns: str, weights: Any = None, draws: int = DRAWS, rng: Rng = None
    ) -> ByLabels[SharedProbability] | SharedProbability:
        """Probabilities of the categories over all other columns, `post.over("sex")["f"]`; without columns, over all groups.

        Args:
            columns: The columns of the groups that are kept.
            weights: A mapping of groups to numbers, or an array over groups. If left out, the groups' shares of the population, which
                have a posterior where the total is public.
            draws: How many draws intervals come from.
            rng: A seed or generator; a seed that follows from the record if it is left out, so that the answer is the same every time.

        Raises InvalidInputError where there are neither weights nor shares.
        """
        if weights is None and self.mechanism.table.published != "total":
            public = "; weights=release.sizes takes the public sizes" if self.mechanism.table.published == "sizes" else ""
            raise InvalidInputError(
                f"groups have shares in the model only where their total is public: say how much each counts with weights={public}"
            )
        size, margin = check_records(draws, "draws"), Margin(self.by, columns)
        check_draws(size, len(self.categories))
        given = None if weights is None else weights_of(weights, self.by)

        together = partial(self._together, given, size, rng)
        return ByLabels(margin, together) if columns else together(np.arange(len(self)))

    def _together(self, given: Floats | None, draws: int, rng: Rng, positions: Positions) -> SharedProbability:
        """The probabilities over the groups at these positions, with the weights that were given for all groups or with their shares."""
        check_some_possible(self._latent, positions)
        fixed = None if given is None else chosen_weights(given, self._latent, positions)
        seed = seed_of(self._seed, positions[:1].tolist()) if rng is None else rng
        return SharedProbability(self._latent, self.categories, positions, fixed, self._share_prior, self._cell_moments, draws, seed)

    @cached_property
    def _all(self) -> TableFigures:
        return self.figures()

    def _cell_moments(self) -> tuple[Floats, Floats]:
        return self._all.mean, self._all.std

    def _count_moments(self) -> tuple[Floats, Floats]:
        return self._all.count_mean, self._all.count_std

    @cached_property
    def _seed(self) -> int:
        """Where draws begin unless another seed is given."""
        return seed_of_outcome(self.mechanism, self.raw)

    # --- draws --------------------------------------------------------------------------------------------------------

    @property
    def _draws(self) -> TableDraws:
        return TableDraws(self._latent, self.by, self.categories)

    def sample_counts(self, size: int | tuple[int, ...], rng: Rng = None) -> Counts:
        """Joint draws of the true counts of all groups, with groups and categories on the last two axes."""
        return self._draws.counts(size, generator(rng, self._seed))

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Floats:
        """Joint draws of the probabilities, with groups and categories on the last two axes; 0 for what cannot occur."""
        source = generator(rng, self._seed)
        return self._draws.probabilities(self.sample_counts(size, source), source)

    def probability(self, event: Callable[[Floats], ArrayLike], draws: int = DRAWS, rng: Rng = None) -> Estimate:
        """The probability of anything that can be asked about the probabilities of all groups, with its Monte Carlo error.

        `event` takes an array of draws, groups and categories, and says for each draw whether it holds.
        """
        return self._draws.probability(event, draws, generator(rng, self._seed))

    def ranks(self, category: Hashable, draws: int = DRAWS, rng: Rng = None) -> Ranks:
        """Where each group stands by the probability of a category, from draws. Rank 1 has the largest."""
        return self._draws.ranks(category_index(self.categories, category), draws, generator(rng, self._seed))

    def to_xarray(self, draws: int = 1000, chains: int = 4, rng: Rng = None) -> Any:
        """Independent joint draws as an `xarray.Dataset` with a dimension for each column of the groups.

        `theta` and `count` are by chain, draw, the columns of the groups and category; `n`, the size of groups, is not by category.
        """
        public = {} if self.mechanism.table.n is None else {"n": self.mechanism.table.n}
        return self._draws.to_xarray(draws, chains, generator(rng, self._seed), public)

    def to_arviz(self, draws: int = 1000, chains: int = 4, rng: Rng = None) -> Any:
        """The same draws as what the installed ArviZ takes: `InferenceData` before version 1, an `xarray.DataTree` from then on."""
        return arviz_of(self.to_xarray(draws, chains, rng))

    # --- one group ----------------------------------------------------------------------------------------------------

    @property
    def _possible(self) -> Mask:
        return self.mechanism.table.cells.possible

    @cached_property
    def _shares(self) -> tuple[Fraction, ...]:
        return self.mechanism.shares or (Fraction(1),) * len(self)

    def _row(self, position: int) -> tuple[int, ...]:
        """The noisy counts of a group's possible categories."""
        return tuple(self.raw[position][self._possible[position]].tolist())

    def _concentrations(self, position: int) -> tuple[Fraction, ...]:
        """The prior parameters of a group's possible categories."""
        prior = self.priors.get(position, self.prior)
        return tuple(a for a, can in zip(prior.exact, self._possible[position].tolist(), strict=True) if can)

    def _parameters(self, position: int) -> Floats:
        return np.array([float(a) for a in self._concentrations(position)])

    def _share_prior(self, position: int) -> float:
        return float(self._shares[position])

    def _posterior(self, position: int) -> NoiseAware:
        prior, possible = self.priors.get(position, self.prior), self._possible[position].tolist()
        allowed = [category for category, can in zip(self.categories, possible, strict=True) if can]
        group, seed = self.by[position], seed_of(self._seed, position)
        if not allowed:
            raise InvalidInputError(f"nothing can occur in group {group!r}: all of its categories are declared impossible")
        if len(allowed) == 1:
            raise InvalidInputError(
                f"in group {group!r} nothing but {allowed[0]!r} can occur: its probability is 1; size(group) has its size"
            )
        if all(possible):
            return NoiseAware(prior, *self._counts(position, prior), seed=seed)
        restricted = Dirichlet(self._concentrations(position), allowed)
        impossible = tuple(category for category, can in zip(self.categories, possible, strict=True) if not can)
        return NoiseAware(restricted, *self._counts(position, restricted), impossible, seed)

    def _counts(self, position: int, prior: Prior) -> tuple[int | None, CountLaw]:
        """The size of a group with two or more possible categories, if it is known, and the law of its true counts."""
        size = self._known_size(position)
        if not size:
            return size, self._any_total(position) if size is None else ListedCounts.known([0] * prior.k)
        alone = Outcome(LatticeGeometric(prior, size, self.mechanism.epsilon), self._row(position), size)
        return size, counts_of_same_records(prior, size, [alone])

    def _law(self, position: int) -> CountLaw:
        """The law of the true counts of a group with one or more possible categories."""
        if self._possible[position].sum() > 1:
            return self[self.by[position]].counts
        size = self._known_size(position)
        return self._any_total(position) if size is None else ListedCounts.known([size])

    @cached_property
    def _latent(self) -> LatentTable:
        """All true counts, for draws and sums."""
        tied = self.mechanism.table.n is not None and self.mechanism.table.sizes is None and int(self._possible.any(axis=1).sum()) > 1
        return LatentTable(self._possible, self._parameters, self._law, self._tie if tied else None)

    def _known_size(self, position: int) -> int | None:
        """The size of a group, if it is public or follows from the total and the cells that are impossible."""
        space = self.mechanism.table
        if space.sizes is not None:
            return space.sizes[position]
        if not self._possible[position].any():
            return 0
        return space.n if int(self._possible.any(axis=1).sum()) == 1 else None

    def _any_total(self, position: int) -> TreeCounts:
        """The law of the true counts of a group whose size is not known."""
        prior = self.size_prior if self.mechanism.table.n is None else self._size_priors[position]
        return counts_of_outcomes(self._parameters(position), [(self.mechanism.noise, self._row(position))], prior)

    @cached_property
    def _size_priors(self) -> dict[int, SizePrior]:
        """For every group that may have records, what a public total and the other groups say about its size."""
        return dict(zip(self._held, self._tied.priors(), strict=True))

    @property
    def _compared(self) -> ComparedGroups:
        """What contrasts of groups are computed from."""
        return ComparedGroups(
            self.mechanism.table,
            lambda group, categories: self[group].marginal(categories),
            self._concentrations,
            lambda: (self._held, self._tied),
        )

    @cached_property
    def _held(self) -> list[int]:
        """The groups that may have records."""
        found: list[int] = np.flatnonzero(self._possible.any(axis=1)).tolist()
        return found

    @cached_property
    def _tied(self) -> TiedSizes:
        """The sizes of all groups that may have records, tied by a public total."""
        space, noise = self.mechanism.table, self.mechanism.noise
        assert space.n is not None  # noqa: S101
        check_groups(len(self._held), int(self._possible.sum(axis=1).max()), space.n, noise.slope)
        groups = [TiedGroup(tuple(map(float, self._concentrations(i))), self._row(i), float(self._shares[i])) for i in self._held]
        return tied_sizes(groups, space.n, noise)

    def _tie(self) -> TiedSizes:
        return self._tied

    # --- pictures -----------------------------------------------------------------------------------------------------

    def plot(
        self,
        ax: "Axes | None" = None,
        mass: float = 0.95,
        *,
        category: Hashable = None,
        sort: "Sort" = "mean",
        title: str | None = None,
        label: str | None = None,
        color: str | None = None,
    ) -> "Axes":
        """Draw the interval of one category's share in every group; of the first category, unless another is named.

        `sort` is "mean" (the largest first), "group" (by their labels) or "declared"; `title`, `label` and `color` are as in Matplotlib.
        """
        from discreet.plotting import plot_table

        return plot_table(self, ax, mass, category=category, sort=sort, title=title, label=label, color=color)

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
        if self.raw.size <= _SUMMARISED_AT_ONCE:
            with suppress(TooLargeError):
                return html_table(f"{self!r}: mean and 95 % interval", headings, self.figures().rows(shown))
        return html_table(f"{self!r}: post[group] is the posterior of one", headings[:1], [(name,) for name in shown])

    def __repr__(self) -> str:
        return f"TablePosterior({len(self):,} groups by {len(self.categories)} categories, {self.by!r})"
