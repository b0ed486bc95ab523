"""Contrasts of two groups that are adjusted for other columns: standardised, and Mantel-Haenszel's (docs/howto/reading.md).

Every combination of the labels of the columns that are adjusted for is a stratum d. With θ₁ and θ₂ for the two groups in it and n₁ and n₂
for their sizes, Mantel and Haenszel weigh strata by w = n₁n₂/(n₁ + n₂):

    difference Σ w(θ₁ - θ₂) / Σ w ,    ratio Σ wθ₁ / Σ wθ₂ ,    odds ratio Σ wθ₁(1 - θ₂) / Σ wθ₂(1 - θ₁) .

These are the estimators of textbooks with the unknown probabilities in place of shares. Sizes that are not public are drawn with them.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.errors import InvalidInputError, RefusedError
from discreet.inference.tables.latent import LatentTable, Margin, Positions
from discreet.model.cells import Groups


@dataclass(frozen=True)
class Strata:
    """Two groups, which the columns that are kept tell apart, in each combination of the labels of the others."""

    by: Groups
    over: tuple[str, ...]
    """The columns that are adjusted for."""

    @classmethod
    def of(cls, by: Groups, over: str | Iterable[str]) -> "Strata":
        """Check the columns that are adjusted for, of which some are left for the groups that are compared."""
        columns = (over,) if isinstance(over, str) else tuple(over)
        Margin(by, columns)
        if not 0 < len(columns) < len(by.columns):
            raise InvalidInputError(f"over must name some of the columns {', '.join(by.columns)} and leave one whose groups are compared")
        return cls(by, columns)

    @property
    def compared(self) -> Margin:
        """The groups that are compared, by the columns that are not adjusted for."""
        return Margin(self.by, tuple(name for name in self.by.columns if name not in self.over))

    @property
    def strata(self) -> Margin:
        """The strata, by the columns that are adjusted for."""
        return Margin(self.by, self.over)

    def names(self, first: Hashable, second: Hashable) -> tuple[Hashable, Hashable]:
        """The two groups that are compared, as they were declared."""
        by = self.compared.kept
        one, other = by.index(first), by.index(second)
        if one == other:
            raise InvalidInputError(f"a contrast compares two different groups, got {by[one]!r} twice")
        return by[one], by[other]

    def sides(self, names: tuple[Hashable, Hashable]) -> tuple[Positions, Positions]:
        """The positions of the two groups in all strata, which are in the same order for both."""
        return self.compared.positions(names[0]), self.compared.positions(names[1])

    def spread(self, weights: Floats) -> Floats:
        """The weight of its stratum for every group."""
        strata, found = self.strata, np.empty(len(self.by))
        for stratum, weight in zip(strata.kept, weights.tolist(), strict=True):
            found[strata.positions(stratum)] = weight
        return found

    def totals(self, sizes: Any) -> Floats:
        """The number of records in each stratum, given that of each group."""
        return np.array([float(np.asarray(sizes)[self.strata.positions(stratum)].sum()) for stratum in self.strata.kept])


def haenszel_weights(first: Any, second: Any) -> Floats:
    """n₁n₂/(n₁ + n₂) of each stratum; 0 where it has no records."""
    n, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    return np.asarray(n * other / np.maximum(n + other, 1.0))


def haenszel_draws(
    table: LatentTable, sides: tuple[Positions, Positions], chosen: list[int], draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Draw difference, ratio and odds ratio of some categories between two groups in all strata, jointly.

    Draws without a stratum of both groups are left out.
    """
    shape = (2, draws, len(sides[0]))
    theta, sizes = np.empty(shape), np.empty(shape)
    places = {position: (side, d) for side, positions in enumerate(sides) for d, position in enumerate(positions.tolist())}
    for position, counts, probabilities in table.joint(draws, rng, np.array(sorted(places))):
        side, d = places[position]
        theta[side, :, d] = probabilities[:, chosen].sum(axis=1)
        sizes[side, :, d] = counts.sum(axis=1)
    weight = haenszel_weights(*sizes)
    held = weight.sum(axis=1) > 0.0
    if not held.any():
        raise RefusedError("no stratum has records of both groups, so that nothing is compared within strata")
    w, one, other = weight[held], theta[0, held], theta[1, held]

    def total(value: Floats) -> Floats:
        return np.asarray((w * value).sum(axis=1))

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        odds = total(one * (1.0 - other)) / total(other * (1.0 - one))
        return total(one - other) / w.sum(axis=1), total(one) / total(other), odds
