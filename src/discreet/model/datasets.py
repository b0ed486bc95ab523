"""Datasets as counts: which there are, which are neighbours, and lists of them while they are short enough.

A `Space` holds what is public about a dataset: its categories, and its total or that there is none. From it follows the `Relation`:
what one step changes, and so what a promise protects (docs/promise.md).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import permutations

import numpy as np

from discreet import limits
from discreet.arrays import Counts
from discreet.errors import InvalidInputError, RefusedError, TooLargeError
from discreet.validation import shown


def candidate_count(n: int, k: int) -> int:
    """Number of ways to share n records among k categories (the papers' C(n+1, m-1) is a slip: docs/reproduction.md)."""
    return math.comb(n + k - 1, k - 1)


def is_few(n: int, k: int, limit: int) -> bool:
    """Whether there are at most `limit` candidates. There are at least k of them, so that no huge binomial is computed for a large k."""
    return k <= limit and candidate_count(n, k) <= limit


def check_outcomes(size: int, what: str, limit: int = limits.LISTED_OUTCOMES) -> None:
    """Refuse to enumerate more than `limit` outcomes."""
    if size > limit:
        number = f"{size:,}" if size < 10**15 else f"about 10^{int(math.log10(size))}"
        raise TooLargeError(f"{what} would list {number} outcomes; at most {limit:,} are enumerated. Use fewer records or categories")


def _longest(k: int) -> int:
    """The longest list of outcomes with k entries each."""
    return min(limits.LISTED_OUTCOMES, limits.LISTED_CELLS // k)


def simplex_points(n: int, k: int) -> Counts:
    """All counts of k categories with total n, one a row, in lexicographic order."""
    check_outcomes(candidate_count(n, k), "this law", _longest(k))
    left = np.array([n], dtype=np.int64)
    columns: list[Counts] = []
    for _ in range(k - 1):
        choices = left + 1
        starts = np.cumsum(choices) - choices
        value = np.arange(choices.sum()) - np.repeat(starts, choices)
        columns = [np.repeat(column, choices) for column in columns]
        columns.append(value)
        left = np.repeat(left, choices) - value
    return np.stack([*columns, left], axis=-1)


def grid_points(low: int, high: int, dimensions: int) -> Counts:
    """All integer vectors with every entry from low to high, one a row, in lexicographic order."""
    check_outcomes((high - low + 1) ** dimensions, "this law", _longest(dimensions + 1))
    axes = np.meshgrid(*[np.arange(low, high + 1)] * dimensions, indexing="ij")
    return np.stack([axis.ravel() for axis in axes], axis=-1)


class Relation(StrEnum):
    """Which datasets are neighbours. The value is how a record spells it."""

    REPLACE_ONE = "replace one"
    """One record is replaced by another: the total stays."""

    ADD_REMOVE_ONE = "add or remove one"
    """One record comes or goes: nothing about the data is public, not even whether there are any."""

    def neighbours(self, counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Every dataset that is one step from these counts."""
        moves: list[tuple[tuple[int, int], ...]]
        if self is Relation.REPLACE_ONE:
            moves = [((giver, -1), (taker, 1)) for giver, taker in permutations(range(len(counts)), 2)]
        else:
            moves = [((category, step),) for category in range(len(counts)) for step in (-1, 1)]
        for move in moves:
            moved = list(counts)
            for category, step in move:
                moved[category] += step
            if min(moved) >= 0:
                yield tuple(moved)

    def distance(self, first: Counts, second: Counts) -> Counts:
        """How many steps lead from one dataset to the other; categories are on the last axis, the others broadcast."""
        moved = sum((np.abs(first[..., i] - second[..., i]) for i in range(first.shape[-1])), np.zeros(1, dtype=np.int64))
        return np.asarray(moved // 2 if self is Relation.REPLACE_ONE else moved)

    def steps_of(self, other: "Relation") -> int | None:
        """How many of this relation's steps one step of the other takes at most; None if no number of them is enough.

        Replacing a record is removing one and adding another. No number of replacements adds a record.
        """
        if self is other:
            return 1
        return 2 if self is Relation.ADD_REMOVE_ONE else None


def check_relation(value: str) -> Relation:
    """The relation that a text stands for."""
    try:
        return Relation(value)
    except ValueError:
        listed = " or ".join(repr(relation.value) for relation in Relation)
        raise InvalidInputError(f"neighbours must be {listed}, got {shown(value)!r}") from None


@dataclass(frozen=True)
class Space:
    """The datasets that a mechanism may be given: counts of k categories whose total n is public, or all counts if n is None."""

    k: int
    n: int | None

    @property
    def relation(self) -> Relation:
        """A public total is kept only where a step replaces a record; without one, a step adds or removes a record."""
        return Relation.ADD_REMOVE_ONE if self.n is None else Relation.REPLACE_ONE

    @property
    def total(self) -> int:
        """The public total. Raises RefusedError if n is private: what asks for it is not defined then."""
        if self.n is None:
            raise RefusedError("this needs a public number of records, and n is private here; give n= if it may be published")
        return self.n

    @property
    def size(self) -> int:
        """How many datasets there are, if n is public."""
        return candidate_count(self.total, self.k)

    def is_few(self, limit: int) -> bool:
        """Whether there are at most so many datasets. Where n is private there is no end of them."""
        return self.n is not None and is_few(self.n, self.k, limit)

    def points(self) -> Counts:
        """All datasets, one a row, in lexicographic order; TooLargeError if they are too many to list."""
        if self.n is None:
            raise TooLargeError("there is no end of the datasets whose number of records is private, so they are not listed")
        return simplex_points(self.n, self.k)

    def first(self) -> Counts:
        """The first dataset in lexicographic order."""
        counts = np.zeros(self.k, dtype=np.int64)
        counts[-1] = self.n or 0
        return counts

    def pair(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Two neighbouring datasets, for what is the same for all pairs."""
        counts = (self.n or 0, *[0] * (self.k - 1))
        return counts, next(self.relation.neighbours(counts))
