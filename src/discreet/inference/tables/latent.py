"""The posterior law of all true counts of a table, from which draws, sums and the ranks of groups are made (docs/howto/reading.md).

Where the sizes of groups are public, or nothing is, groups are independent. Where only the total is, they are tied by their sizes alone:
the sizes are drawn first, and then the counts of each group given its size.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet import limits
from discreet.arrays import Counts, Floats, Mask
from discreet.counts.law import CountLaw
from discreet.counts.runs import Run
from discreet.errors import InvalidInputError, TooLargeError
from discreet.inference.draws import check_draws, dirichlet_draws, log_odds_draws, standard_error
from discreet.inference.labelled import FieldsAlone, Framed
from discreet.inference.tables.other_groups import TiedSizes
from discreet.model.cells import Groups
from discreet.text import html_table
from discreet.validation import check_records, check_share, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet.inference.frames import Library


Positions = NDArray[np.int64]

_SIZES_TOGETHER = 1 << 24
"""Sizes of groups whose draws are held at once."""


@dataclass(frozen=True, eq=False)
class LatentTable(FieldsAlone):
    """The true counts of all groups, their prior parameters, and which cells can occur."""

    possible: Mask
    a: Callable[[int], Floats]
    """The prior parameters of the possible categories of a group."""
    alone: Callable[[int], CountLaw]
    """The posterior law of the counts of the possible categories of a group that has some, whatever the other groups have."""
    tie: Callable[[], TiedSizes] | None
    """The law by which the total ties the sizes of all groups that may have records; None where groups are independent."""

    @cached_property
    def tied(self) -> TiedSizes | None:
        return None if self.tie is None else self.tie()

    @cached_property
    def held(self) -> dict[int, int]:
        """The groups that may have records: their positions, and their places among the tied ones."""
        return {position: i for i, position in enumerate(np.flatnonzero(self.possible.any(axis=1)).tolist())}

    def marginals(self, position: int) -> tuple[list[Run], float]:
        """The laws of the true counts of all categories in one group, and a bound on what is left out of them."""
        allowed, nothing = np.flatnonzero(self.possible[position]).tolist(), Run(0, np.ones(1))
        found = [nothing] * self.possible.shape[1]
        law = self.alone(position) if allowed else None
        for i, category in enumerate(allowed):
            assert law is not None  # noqa: S101
            found[category] = law.marginal(i)
        return found, 0.0 if law is None else law.omitted

    # --- draws --------------------------------------------------------------------------------------------------------

    def draws(self, size: int, rng: np.random.Generator, positions: Positions | None = None) -> Iterator[tuple[int, Counts]]:
        """Joint draws of the true counts, group by group: a position, and an array with a row for each draw and all categories.

        With `positions` only of some groups, which are asked for in ascending order.
        """
        chosen = range(len(self.possible)) if positions is None else positions.tolist()
        check_groups_drawn(len(chosen))
        tied = self.tied
        sizes = None if tied is None else self._sizes(tied, size, rng, chosen)
        for position in chosen:
            counts = np.zeros((size, self.possible.shape[1]), dtype=np.int64)
            if self.possible[position].any():
                counts[:, self.possible[position]] = self._group(position, size, rng, None if sizes is None else sizes[position])
            yield position, counts

    def joint(self, size: int, rng: np.random.Generator, positions: Positions) -> Iterator[tuple[int, Counts, Floats]]:
        """Draw counts of groups in ascending order, with draws of their probabilities; 0 for those that cannot occur."""
        for position, counts in self.draws(size, rng, positions):
            yield position, counts, self.probabilities(position, counts, rng)

    def rising(self, category: int, size: int, rng: np.random.Generator, positions: Positions) -> Iterator[Floats]:
        """Draw, jointly for groups in ascending order in which a category can occur, a number that rises with its probability."""
        for position, counts in self.draws(size, rng, positions):
            can = self.possible[position]
            yield log_odds_draws(self.a(position) + counts[..., can], int(can[:category].sum()), rng)

    @property
    def independent(self) -> bool:
        """Return whether what is known about one group says nothing about another."""
        return self.tie is None

    def _sizes(self, tied: TiedSizes, size: int, rng: np.random.Generator, chosen: Sequence[int]) -> dict[int, Counts]:
        wanted = set(chosen)
        if size * len(wanted) > _SIZES_TOGETHER:
            raise TooLargeError(f"{size:,} draws of the sizes of {len(wanted):,} groups are too many to be held; ask for fewer draws")
        return {position: part for position, part in zip(self.held, tied.sample(size, rng), strict=True) if position in wanted}

    def _group(self, position: int, size: int, rng: np.random.Generator, sizes: Counts | None) -> Counts:
        if sizes is None:
            return self.alone(position).sample(size, rng)
        assert self.tied is not None  # noqa: S101
        return self.tied.counts(self.held[position]).split(sizes, rng)

    def probabilities(self, position: int, counts: Counts, rng: np.random.Generator) -> Floats:
        """The probabilities of all categories in one group, drawn given its true counts; 0 for those that cannot occur."""
        found, can = np.zeros(counts.shape), self.possible[position]
        if can.any():
            found[..., can] = dirichlet_draws(self.a(position) + counts[..., can], rng)
        return found


def check_groups_drawn(groups: int) -> None:
    """Refuse more groups than are gone through one at a time."""
    if groups > limits.GROUPS_ADDED:
        raise TooLargeError(
            f"draws and laws of sums go through up to {limits.GROUPS_ADDED:,} groups one at a time, and these are {groups:,}; "
            "ask for fewer groups. The mean and std of sums, and all figures of each group, are computed for any number"
        )


# --- groups by some of their columns ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Margin:
    """Groups by some of their columns; `positions` are those of all groups that have the labels asked for."""

    groups: Groups
    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        known = ", ".join(repr(name) for name in self.groups.columns)
        for name in self.columns:
            if name not in self.groups.columns:
                raise InvalidInputError(f"over takes columns of the groups, which are {known}; got {shown(name)!r}")
        if len(set(self.columns)) != len(self.columns):
            raise InvalidInputError(f"over takes each column once, of {known}")

    @cached_property
    def kept(self) -> Groups:
        """The combinations of the labels of these columns."""
        places = [self.groups.columns.index(name) for name in self.columns]
        return Groups(self.columns, tuple(self.groups.labels[i] for i in places))

    def positions(self, key: Hashable) -> Positions:
        """The positions of the groups with these labels, ascending."""
        axes = [self.groups.columns.index(name) for name in self.columns]
        table = np.moveaxis(np.arange(len(self.groups)).reshape(self.groups.shape), axes, range(len(axes)))
        return np.asarray(np.sort(table.reshape(len(self.kept), -1)[self.kept.index(key)]))


_NOTEBOOK_GROUPS = 20
"""Groups that a notebook shows."""
_LEAST_PART = 0.5
"""The part of one draw below which sums of proportions are taken to be the same."""
_RANKED_TOGETHER = 1 << 20
"""Probabilities that are ranked at once."""


def ranks_of(can: Mask, by: Groups, category: Hashable, draws: int, draw: Callable[[int, Positions], Floats]) -> "Ranks":
    """The ranks of all groups in which a category can occur, from draws of its probability.

    `draw` gives joint draws, so many, of the groups at these positions: a row for each draw and a column for each group.
    """
    from scipy.stats import rankdata  # slow to load, and all but this goes without it

    size, ranked = check_records(draws, "draws"), np.flatnonzero(can)
    if len(ranked) > limits.RANKED_GROUPS:
        raise TooLargeError(f"up to {limits.RANKED_GROUPS:,} groups are ranked, and {len(ranked):,} have this category")
    if not len(ranked):
        raise InvalidInputError(f"category {category!r} is declared impossible in all groups")
    check_draws(size, len(ranked))
    theta = draw(size, ranked)
    seen, batch = np.zeros((len(ranked), len(ranked))), max(1, _RANKED_TOGETHER // len(ranked))
    for start in range(0, size, batch):
        places = np.asarray(rankdata(-theta[start : start + batch], method="min", axis=1)).astype(np.int64) - 1
        np.add.at(seen, (np.broadcast_to(np.arange(len(ranked)), places.shape), places), 1.0)
    return Ranks(tuple(by[i] for i in ranked.tolist()), seen / size, size, category, by)


def _named(group: Hashable) -> str:
    return ", ".join(map(str, group)) if isinstance(group, tuple) else str(group)


@dataclass(frozen=True, eq=False)
class Ranks(Framed):
    """The ranks of groups by the probability of one category, from independent draws. Rank 1 has the largest.

    Equal probabilities, as two groups have in which nothing else can occur, share the better rank.
    """

    groups: tuple[Hashable, ...]
    """The groups in which the category can occur."""
    probability: Floats
    """The probability of each rank (columns: 1, 2, and so on) for each of these groups (rows)."""
    draws: int
    category: Hashable
    by: Groups
    """The groups of the table, with the names of their columns."""

    def std(self) -> Floats:
        """The standard deviation of each group's rank."""
        return np.sqrt(np.maximum(self.probability @ self._ranks**2 - self.mean() ** 2, 0.0))

    def interval(self, mass: float = 0.95) -> Counts:
        """Equal-tailed intervals of ranks that each hold this much probability or more: a row (low, high) for each group."""
        tail = 0.5 * (1.0 - check_share(mass, "mass"))
        below = np.cumsum(self.probability, axis=1)
        return np.stack([1 + (below <= tail).sum(axis=1), 1 + (below < 1.0 - tail - _LEAST_PART / self.draws).sum(axis=1)], axis=1)

    def to_frame(self, library: "Library" = "pandas", mass: float = 0.95) -> Any:
        """A row for each group: its labels, mean, sd, low and high of its rank, and the probability that it is first."""
        from discreet.inference.frames import group_columns, labelled_frame  # Arrow is slow to load

        ends, places = self.interval(mass), [self.by.index(group) for group in self.groups]
        numbers = {"mean": self.mean(), "sd": self.std(), "low": ends[:, 0], "high": ends[:, 1], "first": self.probability[:, 0]}
        return labelled_frame(group_columns(self.by, places), numbers, library)

    def plot(self, ax: "Axes | None" = None, mass: float = 0.95) -> "Axes":
        """Draw the expected rank of each group and the interval of its rank."""
        from discreet.plotting import plot_ranks

        return plot_ranks(self, ax, mass)

    @property
    def _ranks(self) -> Floats:
        return np.arange(1.0, len(self.groups) + 1.0)

    @property
    def probability_error(self) -> Floats:
        """The standard errors of these probabilities."""
        return standard_error(self.probability * self.draws, self.draws)

    def mean(self) -> Floats:
        """The expected rank of each group."""
        return np.asarray(self.probability @ self._ranks)

    def standard_error(self) -> Floats:
        """The Monte Carlo standard error of each expected rank."""
        return np.asarray(self.std() / np.sqrt(self.draws))

    def _repr_html_(self) -> str:
        mean, best = self.mean(), self.probability[:, 0]
        order = np.argsort(mean, kind="stable")[:_NOTEBOOK_GROUPS].tolist()
        rows = [(_named(self.groups[i]), f"{mean[i]:.2f}", f"{best[i]:.3f}") for i in order]
        caption = f"Ranks of {len(self.groups):,} groups, from {self.draws:,} draws"
        return html_table(caption, ("group", "expected rank", "probability of rank 1"), rows)

    def __repr__(self) -> str:
        order = np.argsort(self.mean())[:8].tolist()
        listed = ", ".join(f"{self.groups[i]!r}: {self.mean()[i]:.2f}" for i in order)
        return f"Ranks({listed}{', ...' if len(self.groups) > 8 else ''})"
