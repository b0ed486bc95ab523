"""The ranks of a table's groups by the probability of a category, from joint draws."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import limits
from discreet.arrays import Counts, Floats, Mask
from discreet.errors import InvalidInputError, TooLargeError
from discreet.inference.draws import check_draws, standard_error
from discreet.inference.labelled import Framed
from discreet.inference.tables.latent import Positions
from discreet.model.cells import Groups
from discreet.text import html_table
from discreet.validation import check_records, check_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet.inference.frames import Library

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
