"""The posterior of every group of a table by one release, one group at a time (docs/howto/reading.md).

What is public decides what a group's true counts are known by: its size, the total of all groups, or nothing but its own noisy counts.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet import limits
from discreet.arrays import Counts
from discreet.betas.mixtures import BetaMixture
from discreet.betas.rows import BetaRows
from discreet.counts.batched.arrays import precision
from discreet.counts.law import CountLaw
from discreet.counts.listed import ListedCounts
from discreet.counts.tree import TreeCounts
from discreet.errors import InvalidInputError, RefusedError
from discreet.inference.draws import seed_of, seed_of_outcome
from discreet.inference.labelled import Figures
from discreet.inference.noise_aware import NoiseAware
from discreet.inference.pooling.pooled import PooledTable
from discreet.inference.pooling.strengths import Hyperprior
from discreet.inference.reader_priors import reader_priors
from discreet.inference.tables.latent import check_groups_drawn
from discreet.inference.tables.other_groups import TiedGroup, TiedSizes, check_groups, tied_evidence, tied_sizes
from discreet.inference.tables.summaries import check_summaries, check_total, group_summaries, pairs_in_a_group
from discreet.inference.tables.table import TablePosterior
from discreet.inference.true_counts import Outcome, check_any_total, check_posterior, counts_of_outcomes, counts_of_same_records
from discreet.mechanisms import Mechanism
from discreet.mechanisms.tabled import Tabled
from discreet.model.cells import Cells
from discreet.model.dirichlet import Beta, Dirichlet, Prior
from discreet.model.size_priors import SizePrior, size_prior_of
from discreet.record.release import Release
from discreet.validation import Number, check_moderate


def table_posterior(release: Release[Counts], prior: Any = None, size_prior: Any = None) -> "ReleasedTable":
    """The posteriors of all groups of a release.

    `prior` is what a reader believes about the categories before, as `reader_priors` takes it; `size_prior` is what is believed about each
    group's size where nothing is public.
    """
    mechanism = _tabled(release.mechanism)
    if not mechanism._is_outcome(release.raw):
        raise InvalidInputError(f"raw is not a possible outcome of {mechanism.title} with these parameters")
    if mechanism._table.published != "nothing" and size_prior is not None:
        public = "the size of every group is" if mechanism._table.published == "sizes" else f"the total N = {release.n} is"
        raise InvalidInputError(f"size_prior is for groups whose sizes are private and not tied to a total; here {public} public")
    by = mechanism._table.cells.groups
    priors = reader_priors(prior, mechanism.prior, {by.index(group): own for group, own in mechanism.priors}, by)
    return ReleasedTable(mechanism, release.raw, size_prior_of(mechanism._size_prior if size_prior is None else size_prior), *priors)


def _tabled(mechanism: Mechanism) -> Tabled[Counts]:
    if not isinstance(mechanism, Tabled):
        raise RefusedError(f"posteriors of groups are computed for LatticeGeometric and DiscreteGaussian, not for {mechanism.title}")
    return mechanism


def check_table_posterior(mechanism: Mechanism) -> None:
    """Refuse, by public numbers alone, a table whose groups have no posterior that can be computed."""
    space, noise = (tabled := _tabled(mechanism))._table, tabled.noise.kernel
    possible = space.cells.possible.sum(axis=1)
    if space.sizes is not None:
        sizes = np.array(space.sizes)
        for categories in np.unique(possible[(possible > 1) & (sizes > 0)]).tolist():
            largest = int(sizes[possible == categories].max())
            check_posterior(tabled._alone(Dirichlet.uniform(categories), largest))
        return
    if space.n is None:
        check_any_total(int(possible.max()), noise)
        check_summaries(len(possible), int(possible.max()), noise)
        return
    groups, most = int((possible > 0).sum()), int(possible.max())
    if groups <= limits.GROUPS_CONVOLVED:  # beyond, summaries have the means and intervals of all groups, and single groups are refused
        check_groups(groups, most, space.n, noise)
    check_any_total(most, noise, space.n)
    check_summaries(groups, most, noise, space.n)
    check_total(groups, most, noise, space.n)


def summary_pairs(mechanism: Mechanism) -> int:
    """About how many pairs of a count and a rest of its group the summaries of all groups go through; 0 where sizes are public."""
    space, noise = (tabled := _tabled(mechanism))._table, tabled.noise.kernel
    if space.sizes is not None:
        return 0
    possible = space.cells.possible.sum(axis=1)
    return int((possible > 0).sum() * pairs_in_a_group(int(possible.max()), noise, limits.COUNT if space.n is None else space.n))


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedTable(TablePosterior):
    """The posterior of every group of a table that one release tells of."""

    mechanism: Tabled[Counts]
    raw: Counts
    """The noisy counts, a row a group."""
    size_prior: SizePrior
    """The prior on the size of each group, where nothing about it is public."""
    prior: Prior
    """The prior on the categories of all groups but those in `priors`: the record's, or the reader's own."""
    priors: Mapping[int, Prior]
    """The groups, by their positions, that have another prior."""

    @property
    def cells(self) -> Cells:
        """The table's groups, its categories and the cells that cannot occur."""
        return self.mechanism._table.cells

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """The number of records in each group, in their order, if these are public."""
        return self.mechanism._table.sizes

    @property
    def _records(self) -> int | None:
        return self.mechanism._table.n

    @cached_property
    def _seed(self) -> int:
        return seed_of_outcome(self.mechanism, self.raw)

    @cached_property
    def tied(self) -> bool:
        """Return whether a public total ties the sizes of the groups."""
        space = self.mechanism._table
        return space.n is not None and space.sizes is None and int(self._occurs.any(axis=1).sum()) > 1

    def pooled(self, *, strength: Number = 1, shape: Number = 1, mean: Any = None) -> PooledTable:
        """The posterior of all groups when their shares come from one Dirichlet(strength · mean), which is learnt from them.

        Args:
            strength: The median of the prior of the strength s, for which P(s <= t) = t^shape/(strength^shape + t^shape).
            shape: How fast that prior falls at both ends; with both 1 its density is 1/(1 + s)², proper at both ends.
            mean: The prior of the common mean, a Dirichlet or a Beta of the categories; uniform if it is left out.

        Returns:
            A posterior with the verbs of this one, `strength`, `new_group()`, and `separate`, which is this one. Priors of groups are not
            looked at: the common law takes their place.

        Raises:
            RefusedError: Only the total of all groups is public, or published counts were clamped, rounded or suppressed.
            InvalidInputError: `strength` or `shape` is not a positive number, or `mean` has other categories.
        """
        if self.tied or self.mechanism._table.published == "total":
            raise RefusedError(
                "groups cannot be pooled where only their total is public: it ties their sizes, and so all groups at once; "
                "they can where the sizes of groups are public, or nothing is"
            )
        noise = self.mechanism.noise
        noise.log_factor(np.zeros(1))  # refuses counts that were clamped, rounded or suppressed
        known = Dirichlet.uniform(categories=self.categories) if mean is None else mean
        if not isinstance(known, (Dirichlet, Beta)) or known.k != len(self.categories):
            raise InvalidInputError(f"mean must be a Dirichlet or a Beta of {len(self.categories)} categories; left out it is uniform")
        median, falls = (float(check_moderate(each, name)) for each, name in ((strength, "strength"), (shape, "shape")))
        prior = Hyperprior(tuple(known.concentration.tolist()), median, falls)
        alone = sum(self._log_evidence(i) for i in np.flatnonzero(self._occurs.sum(axis=1) < 2).tolist())
        return PooledTable(self, self.raw, noise, self.size_prior, prior, alone)

    def share(self, group: Hashable) -> BetaMixture:
        if self.mechanism._table.published != "total":
            return super().share(group)
        position, total = self.by.index(group), self.mechanism._table.n
        assert total is not None  # noqa: S101
        if self._known_size(position) is not None:
            known = 1 if self._occurs[position].any() else 0
            raise InvalidInputError(f"the share of group {self.by[position]!r} is {known}, because of the cells that are impossible")
        size, a = self._size(position), self._shares[position]
        rest = sum((share for share, row in zip(self._shares, self._occurs, strict=True) if row.any()), -a)
        return BetaRows.of_total(size.low, size.probability, total, (float(a), float(rest)), self.by[position], size.omitted)

    @property
    def log_evidence(self) -> float:
        check_groups_drawn(len(self))
        if self.tied:
            return tied_evidence(self._tied)
        return sum(self._log_evidence(position) for position in range(len(self)))

    def _log_evidence(self, position: int) -> float:
        """Return the log evidence of a group that no total ties to others."""
        row, size = self._row(position), self._known_size(position)
        noise, is_known = self.mechanism.noise, size == 0 or (len(row) < 2 and size is not None)
        if is_known and noise.blocks and len(row) < 2:
            return 0.0  # what is known carries no noise where totals are kept
        if is_known:
            true = np.full((1, len(row)), size or 0, dtype=np.int64)
            return float(noise.log_likelihoods(np.array(row), true)[0]) + noise.log_constant(len(row))
        return self._law(position).log_evidence

    # --- all groups at once -------------------------------------------------------------------------------------------

    def figures(self, mass: float = 0.95) -> Figures:
        """Means, standard deviations and equal-tailed intervals of all cells, as arrays with a row for each group.

        Means and standard deviations are exact to 1e-9 or so, or to `error` where the noise is very wide. `error` bounds how much more or
        less probability than asked for lies beyond each end of an interval; `post[group]` has intervals without such an error.
        `count_mean` and `count_std` are of the true counts. A cell that cannot occur has 0. `to_pandas()` has all with their labels.
        """
        mechanism, space = self.mechanism, self.mechanism._table
        a = np.tile(self.prior.concentration, (len(self), 1)) if self.priors else self.prior.concentration
        for position, prior in self.priors.items():
            a[position] = prior.concentration
        known: dict[str, Any] = {"size_prior": self.size_prior}
        if space.sizes is not None:
            known = {"sizes": np.array(space.sizes)}
        elif space.n is not None:
            known = {"total": space.n, "shares": 1.0 if mechanism.shares is None else np.array([float(b) for b in mechanism.shares])}
        found = group_summaries(self.raw, a, mechanism.noise, **known, possible=self._occurs, mass=mass)
        return Figures(**vars(found), by=self.by, categories=self.categories, level=mass)

    def _level(self, tail: float) -> float:
        return 1.0 - 2.0 * tail * (1.0 - 4.0 * precision(tail))

    # --- one group ----------------------------------------------------------------------------------------------------

    @cached_property
    def _shares(self) -> tuple[Fraction, ...]:
        return self.mechanism.shares or (Fraction(1),) * len(self)

    def _row(self, position: int) -> tuple[int, ...]:
        """The noisy counts of a group's possible categories."""
        return tuple(self.raw[position][self._occurs[position]].tolist())

    def _concentrations(self, position: int) -> tuple[Fraction, ...]:
        """The prior parameters of a group's possible categories."""
        prior = self.priors.get(position, self.prior)
        return tuple(a for a, can in zip(prior.exact, self._occurs[position].tolist(), strict=True) if can)

    def _shares_prior(self, position: int) -> float:
        if self.mechanism._table.published == "total":
            return float(self._shares[position])
        public = "; weights=release.sizes takes the public sizes" if self.mechanism._table.published == "sizes" else ""
        raise InvalidInputError(
            f"groups have shares in the model only where their total is public: say how much each counts with weights={public}"
        )

    def _posterior(self, position: int) -> NoiseAware:
        prior, impossible = self._possible_prior(position, self.priors.get(position, self.prior))
        return NoiseAware(prior, *self._counts(position, prior), impossible, seed_of(self._seed, position))

    def _counts(self, position: int, prior: Prior) -> tuple[int | None, CountLaw]:
        """The size of a group with two or more possible categories, if it is known, and the law of its true counts."""
        size = self._known_size(position)
        if not size:
            return size, self._any_total(position) if size is None else ListedCounts.known([0] * prior.k)
        alone = Outcome(self.mechanism._alone(prior, size), self._row(position), size)
        return size, counts_of_same_records(prior, size, [alone])

    def _law(self, position: int) -> CountLaw:
        """The law of the true counts of a group with one or more possible categories."""
        if self._occurs[position].sum() > 1:
            return self[self.by[position]].counts
        size = self._known_size(position)
        return self._any_total(position) if size is None else ListedCounts.known([size])

    def _known_size(self, position: int) -> int | None:
        """The size of a group, if it is public or follows from the total and the cells that are impossible."""
        space = self.mechanism._table
        if space.sizes is not None:
            return space.sizes[position]
        if not self._occurs[position].any():
            return 0
        return space.n if int(self._occurs.any(axis=1).sum()) == 1 else None

    def _any_total(self, position: int) -> TreeCounts:
        """The law of the true counts of a group whose size is not known."""
        if self.mechanism._table.n is not None:
            return self._tied.posterior(self._held.index(position))
        return counts_of_outcomes(self._parameters(position), [(self.mechanism.noise, self._row(position))], self.size_prior)

    @cached_property
    def _held(self) -> list[int]:
        """The groups that may have records."""
        found: list[int] = np.flatnonzero(self._occurs.any(axis=1)).tolist()
        return found

    @cached_property
    def _tied(self) -> TiedSizes:
        """The sizes of all groups that may have records, tied by a public total."""
        space, noise = self.mechanism._table, self.mechanism.noise
        assert space.n is not None  # noqa: S101
        check_groups(len(self._held), int(self._occurs.sum(axis=1).max()), space.n, noise.kernel)
        groups = [TiedGroup(tuple(map(float, self._concentrations(i))), self._row(i), float(self._shares[i])) for i in self._held]
        return tied_sizes(groups, space.n, noise)

    def _tie(self) -> TiedSizes:
        return self._tied

    def __repr__(self) -> str:
        return super().__repr__().replace("ReleasedTable", "TablePosterior", 1)
