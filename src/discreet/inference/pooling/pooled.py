"""The posterior of a table whose groups' shares come from one Dirichlet, whose mean and strength are learnt (docs/howto/pooling.md)."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NoReturn

import numpy as np

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.betas.mixtures import BetaMixture
from discreet.counts.size_posterior import SizePosterior
from discreet.errors import InvalidInputError, RefusedError, TooLargeError
from discreet.inference.draws import DRAWS, Rng, check_draws, dirichlet_draws, generator, seed_of, shortest_of_draws
from discreet.inference.labelled import Figures
from discreet.inference.pooling.cells import PooledCells, merged
from discreet.inference.pooling.mixtures import CommonLaw, log_evidences, of_components
from discreet.inference.pooling.strengths import Hyperprior, LogLaw, Nodes, parameters, quadrature, weighted_draws
from discreet.inference.posterior import Posterior
from discreet.inference.quantities import Contrast, DrawnQuantity, Quantity
from discreet.inference.reading import any_of
from discreet.inference.tables.latent import LatentTable, Positions
from discreet.inference.tables.shares import contrast_of_categories, drawn_contrast
from discreet.inference.tables.table import TablePosterior
from discreet.mechanisms.noise import CellNoise
from discreet.model.cells import Cells
from discreet.model.size_priors import SizePrior
from discreet.validation import check_share

_STRENGTH_DRAWS, _RESAMPLED = 1_000, 400
"""Draws of mean and strength where there are three or more categories, and how many of them stand for all in mixtures."""

_UNLIKELY_STRENGTHS = 1e-6
"""Posterior probability of points of mean and strength that mixtures leave out; where one lattice is so exact, the other as well."""


@dataclass(frozen=True, eq=False, repr=False)
class PooledTable(TablePosterior):
    """The posterior of all groups, whose shares come from one Dirichlet(strength · mean).

    Groups tell of each other: contrasts of them, `over` and `ranks` are from joint draws.
    """

    separate: TablePosterior
    """The posterior without pooling."""
    raw: Counts
    noise: CellNoise
    size_prior: SizePrior
    hyperprior: Hyperprior
    log_alone: float
    """The log evidence of the groups in which fewer than two categories can occur."""

    @property
    def cells(self) -> Cells:
        return self.separate.cells

    @property
    def sizes(self) -> tuple[int, ...] | None:
        return self.separate.sizes

    @property
    def _unpooled(self) -> TablePosterior:
        return self.separate

    @property
    def tied(self) -> bool:
        """Return whether what is known about one group depends on the others: it does."""
        return True

    @property
    def _records(self) -> int | None:
        return self.separate._records

    @cached_property
    def _seed(self) -> int:
        return seed_of(self.separate._seed, "pooled", self.hyperprior)

    # --- the common law -----------------------------------------------------------------------------------------------

    @cached_property
    def _informed(self) -> Positions:
        """The positions of the groups in which two or more categories can occur."""
        return np.flatnonzero(self.cells.possible.sum(axis=1) > 1)

    @cached_property
    def _likelihoods(self) -> PooledCells:
        """Return what the noise says about the counts of these groups."""
        chosen = self._informed
        if not chosen.size:
            raise InvalidInputError("pooling needs a group in which two or more categories can occur")
        sizes = None if self.sizes is None else np.array(self.sizes)[chosen]
        return PooledCells.of(self.raw[chosen], self.cells.possible[chosen], self.noise, sizes, self.size_prior)

    @cached_property
    def _differing(self) -> tuple[PooledCells, Counts]:
        return merged(self._likelihoods)

    @cached_property
    def _nodes(self) -> Nodes:
        cells, inverse = self._differing
        many, two = np.bincount(inverse).astype(np.float64), len(self.categories) == 2
        check_work(cells, limits.POOLED_WORK if two else limits.POOLED_DRAWN_WORK)

        def values(points: Sequence[Floats]) -> Floats:
            y = np.stack(points)
            return log_evidences(cells, parameters(y)) @ many + cells.constant + self.hyperprior.log_density(y)

        shares = np.clip(self.raw, 0, None).sum(axis=0) + 1.0
        start = np.concatenate([[1.0], np.log(shares[:-1] / shares[-1])])
        if two:
            return quadrature(values, start)
        return weighted_draws(values, start, _STRENGTH_DRAWS, generator(None, seed_of(self._seed, "mean and strength")))

    @cached_property
    def _law(self) -> CommonLaw:  # type: ignore[override]
        """The groups that differ, and the parameters of the common law that stand for all, with their probabilities."""
        nodes, cells = self._nodes, self._differing[0]
        if nodes.effective is None:
            weight = np.where(nodes.main | (nodes.error > _UNLIKELY_STRENGTHS), nodes.weight, 0.0)
            order = np.argsort(weight)
            likely = order[np.cumsum(weight[order]) > _UNLIKELY_STRENGTHS * weight.sum()]
            return CommonLaw(cells, nodes.alpha[likely], weight[likely] / weight[likely].sum())
        steps = (np.arange(_RESAMPLED) + generator(None, seed_of(self._seed, "resampled")).random()) / _RESAMPLED
        chosen = np.minimum(np.searchsorted(np.cumsum(nodes.weight), steps), len(nodes.weight) - 1)
        return CommonLaw(cells, nodes.alpha[chosen], np.full(_RESAMPLED, 1.0 / _RESAMPLED))

    @property
    def effective_draws(self) -> float | None:
        """Return how many independent draws of mean and strength all rests on; None for two categories, where it is a quadrature."""
        return None if self._nodes.effective is None else min(self._nodes.effective, float(_RESAMPLED))

    @property
    def log_evidence(self) -> float:
        """The logarithm of the probability of all noisy counts under the common law, its mean and strength summed out.

        Where nothing is public, that of each group is a sum over its sizes with the weights that `size_prior` gives them.
        """
        return self._nodes.log_evidence + self.log_alone

    @property
    def log_evidence_error(self) -> float:
        """About how far off `log_evidence` is: by halving the step of a quadrature, or the Monte Carlo standard error."""
        return self._nodes.error

    @cached_property
    def strength(self) -> Quantity:
        """The strength with which groups are alike: as much as so many records that all groups share. Its mean may be infinite."""
        nodes, shape = self._nodes, self.hyperprior.shape
        strengths = np.exp(nodes.points[:, 0])
        mean = float(nodes.weight @ strengths) if shape > 1.0 else np.inf  # its density falls as s^-(1 + shape)
        std = float(np.sqrt(nodes.weight @ (strengths - mean) ** 2)) if shape > 2.0 else np.inf
        if nodes.strength is not None:
            law = LogLaw.of(*nodes.strength)
            return Quantity("strength", law.below, law.ends, partial(_pair, mean, std))
        drawn = partial(np.copy, self._law.alpha.sum(axis=1))
        return DrawnQuantity.of("strength", drawn, (0.0, np.inf), logarithmic=True, moments=partial(_pair, mean, std))

    def new_group(self) -> "PooledGroup":
        """The posterior of the shares in a group of which nothing is known yet, from the same common law."""
        return PooledGroup(self, None)

    # --- groups -------------------------------------------------------------------------------------------------------

    def _posterior(self, position: int) -> "PooledGroup":  # type: ignore[override]
        if self.cells.possible[position].sum() < 2:
            self.separate[self.by[position]]  # says what is the matter
        return PooledGroup(self, position)

    def _size(self, position: int) -> SizePosterior:
        if self.sizes is None:
            raise RefusedError("sizes of groups are asked of the posterior without pooling, pooled.separate; figures() has count_mean")
        return self.separate._size(position)

    def _shares_prior(self, position: int) -> float:
        return self.separate._shares_prior(position)

    @property
    def records(self) -> Any:
        """Refused: pooling is about populations."""
        raise RefusedError("pooling is about the shares of populations: records are asked of the posterior without it, pooled.separate")

    @property
    def counts(self) -> NoReturn:
        """Refused: true counts can be drawn here, and their laws are asked of the posterior without pooling."""
        raise RefusedError("laws of true counts are asked of the posterior without pooling, pooled.separate; sample_counts draws them")

    @cached_property
    def _latent(self) -> LatentTable:
        return PooledLatent(self.cells.possible, self._parameters, self.separate._law, None, self)

    def _contrasts(self, groups: Sequence[int], reference: int, chosen: Sequence[int]) -> Iterator[Contrast]:
        check_draws(DRAWS, len(groups) + 1)
        places = np.array(sorted({*groups, reference}))
        rng = generator(None, seed_of(self._seed, "contrast", places.tolist()))
        shares = self._joint(DRAWS, rng, places)[1][..., list(chosen)].sum(axis=2)
        other = shares[:, int(np.searchsorted(places, reference))]
        for group in groups:
            mine = shares[:, int(np.searchsorted(places, group))]
            yield drawn_contrast((self.by[group], self.by[reference]), mine, other, None)

    # --- all groups at once -------------------------------------------------------------------------------------------

    @cached_property
    def _moments(self) -> Floats:
        """Return the moments of every group in which something is to be inferred, by category, as `CommonLaw.moments` does."""
        return np.stack(self._law.moments())[:, self._differing[1]]

    def figures(self, mass: float = 0.95) -> Figures:
        """Means, standard deviations and equal-tailed intervals of all cells, as arrays with a row for each group.

        `error` bounds how much more or less probability than asked for lies beyond each end of an interval, given the points or draws of
        mean and strength; `standard_error` has what draws add. A cell that cannot occur has 0.
        """
        tail, possible = 0.5 * (1.0 - check_share(mass, "mass")), self.cells.possible
        sure = possible & (possible.sum(axis=1, keepdims=True) == 1)
        found = np.stack([sure * 1.0] * 7)
        found[[1, 4, 6]] = 0.0
        found[5] *= 0.0 if self.sizes is None else np.array(self.sizes)[:, None]
        mean, variance, count, spread, _ = self._moments
        inside, inverse = self._informed, self._differing[1]
        found[:, inside] = [mean, np.sqrt(np.maximum(variance, 0.0)), mean, mean, 0.0 * mean, count, np.sqrt(spread)]
        first = np.unique(inverse, return_index=True)[1]
        for category in range(len(self.categories) - (len(self.categories) == 2)):
            can = np.flatnonzero(possible[inside[first], category])
            law = replace(self._law, cells=self._law.cells.rows(can))
            moments = mean[first[can], category], variance[first[can], category]
            back = np.full(len(first), -1)
            back[can] = np.arange(len(can))
            held = back[inverse] >= 0
            found[2:5, inside[held], category] = np.stack(law.intervals(category, moments, tail))[:, back[inverse[held]]]
        if len(self.categories) == 2:
            found[2:5, inside, 1] = 1.0 - found[3, inside, 0], 1.0 - found[2, inside, 0], found[4, inside, 0]
        mean, std, low, high, error, count, spread = found
        return Figures(mean, std, low, high, error, count, spread, self.by, self.categories, mass)

    def _hdi(self, mass: float) -> Floats:
        """Return the shortest intervals from draws: densities of so many components take long."""
        return shortest_of_draws(self.sample(DRAWS), mass)

    def standard_error(self) -> Floats:
        """The Monte Carlo standard error of each mean, by group and category; 0 where mean and strength are a quadrature."""
        found = np.zeros(self._axes)
        if self.effective_draws is not None:
            found[self._informed] = np.sqrt(self._moments[4] / self.effective_draws)
        return found

    # --- draws --------------------------------------------------------------------------------------------------------

    def _joint(self, draws: int, rng: np.random.Generator, positions: Positions) -> tuple[Counts, Floats]:
        """Joint draws of counts and shares in some groups: by draw, group and category."""
        shape = (draws, len(positions), len(self.categories))
        counts, shares = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        place = np.searchsorted(self._informed, positions)
        held = np.isin(positions, self._informed)
        law = replace(self._law, cells=self._likelihoods.rows(place[held]))
        if held.any():
            counts[:, held], shares[:, held] = law.sample(draws, rng)
        for i in np.flatnonzero(~held).tolist():
            can = self.cells.possible[positions[i]]
            shares[:, i] = can
            if can.any():
                counts[:, i, can] = self.separate._law(int(positions[i])).sample(draws, rng)
        return counts, shares

    def _drawn(self, shape: tuple[int, ...], rng: Rng) -> tuple[Counts, Floats]:
        rows = int(np.prod(shape))
        check_draws(rows, self._axes[0] * self._axes[1])
        counts, shares = self._joint(rows, generator(rng, self._seed), np.arange(len(self)))
        return counts.reshape(*shape, *self._axes), shares.reshape(*shape, *self._axes)

    def _draw_counts(self, draws: int, rng: np.random.Generator) -> Counts:
        return self._joint(draws, rng, np.arange(len(self)))[0]


def check_work(cells: PooledCells, most: int) -> None:
    """Refuse, by public numbers alone, what would take too long."""
    if cells.work > most:
        raise TooLargeError(
            f"pooling multiplies up to {most:,} pairs of counts for every mean and strength, and here it would be {cells.work:,}: "
            "less noise (a larger epsilon), fewer groups or fewer categories need fewer"
        )


@dataclass(frozen=True, eq=False, repr=False)
class PooledLatent(LatentTable):
    """The true counts and shares of a table whose groups have a common law."""

    table: PooledTable

    @property
    def independent(self) -> bool:
        return False

    def joint(self, size: int, rng: np.random.Generator, positions: Positions) -> Iterator[tuple[int, Counts, Floats]]:
        counts, shares = self.table._joint(size, rng, positions)
        for i, position in enumerate(positions.tolist()):
            yield position, counts[:, i], shares[:, i]

    def rising(self, category: int, size: int, rng: np.random.Generator, positions: Positions) -> Iterator[Floats]:
        return (shares[:, category] for _, _, shares in self.joint(size, rng, positions))


@dataclass(frozen=True, eq=False, repr=False)
class PooledGroup(Posterior):
    """The posterior of the shares in one group, or in a new one, under the common law of all groups."""

    table: PooledTable
    position: int | None
    """The place of the group; None for a new one."""

    @cached_property
    def _can(self) -> list[int]:
        """The positions of the categories that can occur, among those of the table."""
        possible = self.table.cells.possible
        found: list[int] = np.flatnonzero(np.ones(possible.shape[1]) if self.position is None else possible[self.position]).tolist()
        return found

    @property
    def categories(self) -> tuple[Hashable, ...]:
        return tuple(self.table.categories[i] for i in self._can)

    @property
    def n(self) -> int | None:
        """The number of records, if it is public."""
        return None if self.position is None or self.table.sizes is None else self.table.sizes[self.position]

    @property
    def size(self) -> SizePosterior:
        """The number of records, where it is public."""
        return self.table._size(self._position)

    @property
    def _seed(self) -> int:
        return seed_of(self.table._seed, self.position)

    @property
    def _records(self) -> int | None:
        return self.n

    @property
    def records(self) -> Any:
        """Refused: pooling is about populations."""
        return self.table.records

    @property
    def _position(self) -> int:
        if self.position is None:
            raise RefusedError("a new group has no records yet, and so neither counts nor a size: sample draws its shares")
        return self.position

    @property
    def _place(self) -> int:
        """The place of the group among those in which something is to be inferred."""
        return int(np.searchsorted(self.table._informed, self._position))

    @property
    def _row(self) -> int:
        return int(self.table._differing[1][self._place])

    @property
    def _own_moments(self) -> Floats:
        """Return the moments of the categories that can occur, as `CommonLaw.moments` does."""
        return np.asarray(self.table._moments[:, self._place][:, self._can])

    def interval(self, mass: float = 0.95) -> Floats:
        """Equal-tailed intervals that each hold this much probability: a row (low, high) for each category."""
        if self.position is None:
            return np.asarray(super().interval(mass), dtype=np.float64)
        tail, law = 0.5 * (1.0 - check_share(mass, "mass")), self.table._law
        law, (mean, variance, *_) = replace(law, cells=law.cells.rows(np.array([self._row]))), self._own_moments
        found = [law.intervals(c, (mean[[i]], variance[[i]]), tail) for i, c in enumerate(self._can)]
        return np.array([(low[0], high[0]) for low, high, _ in found])

    def _hdi(self, mass: float) -> Floats:
        """Return the shortest intervals from draws, as those of the table."""
        return shortest_of_draws(self.sample(DRAWS), mass)

    @cached_property
    def _known(self) -> dict[tuple[int, ...], BetaMixture]:
        return {}

    def _distribution(self, chosen: Sequence[int]) -> BetaMixture:
        held = tuple(chosen)
        if held not in self._known:
            self._known[held] = self._mixture([self._can[i] for i in held], any_of([self.categories[i] for i in held]))
        return self._known[held]

    def _mixture(self, chosen: list[int], label: Hashable) -> BetaMixture:
        law = self.table._law
        if self.position is not None:
            return law.mixture(self._row, chosen, label)
        others = [i for i in range(law.alpha.shape[1]) if i not in chosen]
        return of_components(np.stack([law.weight, law.alpha[:, chosen].sum(axis=1), law.alpha[:, others].sum(axis=1)]), label)

    def figures(self, mass: float = 0.95) -> Figures:
        """Means, standard deviations and equal-tailed intervals of all categories, as arrays."""
        laws = self._laws()
        error, none = np.array([law.omitted for law in laws]), np.zeros(len(laws))
        if self.position is None:
            count, spread = none, none
        else:
            _, _, count, spread, _ = self._own_moments
        ends = self.interval(mass)
        numbers = self.mean(), self.std(), ends[:, 0], ends[:, 1], error, count, np.sqrt(spread)
        return Figures(*numbers, by=None, categories=self.categories, level=mass)

    def contrast(self, first: Any, second: Any) -> Contrast:
        """Compare the probabilities of two categories, or of two sets of them: difference, ratio and odds ratio, from draws."""
        return contrast_of_categories(self, self.sample(DRAWS, seed_of(self._seed, "contrast")), first, second)

    def _drawn(self, shape: tuple[int, ...], rng: Rng) -> tuple[Counts, Floats]:
        rows, source = int(np.prod(shape)), generator(rng, self._seed)
        check_draws(rows, len(self._can))
        if self.position is None:
            law = self.table._law
            shares = dirichlet_draws(law.alpha[source.choice(len(law.alpha), rows, p=law.weight)], source)
            counts = np.zeros(shape=shares.shape, dtype=np.int64)
        else:
            counts, shares = self.table._joint(rows, source, np.array([self.position]))
            counts, shares = counts[:, 0, self._can], shares[:, 0, self._can]
        return counts.reshape(*shape, -1), shares.reshape(*shape, -1)

    def _draw_counts(self, draws: int, rng: np.random.Generator) -> Counts:
        return self.table._joint(draws, rng, np.array([self._position]))[0][:, 0, self._can]

    def _draw_probabilities(self, *_: Any) -> NoReturn:
        raise RefusedError("under a common law shares are drawn with the counts, not after them: sample has both")

    def __repr__(self) -> str:
        what = "a new group" if self.position is None else f"group {self.table.by[self.position]!r}"
        means = ", ".join(f"{c!r}: {m.mean():.4g} ± {m.std():.2g}" for c, m in zip(self.categories[:8], self._laws(), strict=False))
        return f"PooledGroup({what}, {means}{', ...' if len(self._can) > 8 else ''})"


def _pair(mean: float, std: float) -> tuple[float, float]:
    return mean, std
