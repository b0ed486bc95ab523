"""Datasets as counts: which there are, which are neighbours, and lists of them while they are short enough.

A `Space` holds what is public about a dataset: its categories, and its total or that there is none. From it follows the `Relation`:
what one step changes, and so what a promise protects (docs/explain/promise.md).
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import ClassVar, Literal

import numpy as np

from discreet import limits
from discreet.arrays import Counts
from discreet.errors import InvalidInputError, RefusedError, TooLargeError
from discreet.model.cells import Groups
from discreet.text import listed
from discreet.validation import shown


def candidate_count(n: int, k: int) -> int:
    """Number of ways to share n records among k categories (the papers' C(n+1, m-1) is a slip: docs/research/reproduction.md)."""
    return math.comb(n + k - 1, k - 1)


def is_few(n: int, k: int, limit: int) -> bool:
    """Return whether there are at most `limit` candidates. There are at least k of them, so that no huge binomial is computed for a large
    k.
    """
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
    """Return all counts of k categories with total n, one a row, in lexicographic order."""
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
    """Return all integer vectors with every entry from low to high, one a row, in lexicographic order."""
    check_outcomes((high - low + 1) ** dimensions, "this law", _longest(dimensions + 1))
    return box_points([np.arange(low, high + 1)] * dimensions)


def box_points(axes: Sequence[Counts]) -> Counts:
    """Return all vectors with an entry from each of these arrays, one a row, in lexicographic order."""
    return np.stack([column.ravel() for column in np.meshgrid(*axes, indexing="ij")], axis=-1)


@dataclass(frozen=True)
class Relation:
    """The relation of neighbours: one record is replaced by another, perhaps within its group alone, or comes or goes.

    `REPLACE_ONE` keeps the total. A relation `within` the columns that groups are made of keeps the size of every group, because nobody
    changes to another one. Under `ADD_REMOVE_ONE` nothing about the data is public, not even whether there are any.
    """

    step: Literal["replace one", "add or remove one"]
    within: tuple[str, ...] = ()
    """The columns, in alphabetical order, whose values a step does not change."""

    REPLACE_ONE: ClassVar["Relation"]
    ADD_REMOVE_ONE: ClassVar["Relation"]

    def __post_init__(self) -> None:
        if self.within and self.step != "replace one":
            raise InvalidInputError("only replacing one can be within groups: a record that comes or goes changes the size of its group")
        if isinstance(self.within, (str, bytes)) or not isinstance(self.within, Iterable):
            raise InvalidInputError("within must list columns, such as ['region', 'sex']")
        columns = tuple(self.within)
        if not all(isinstance(name, str) and 0 < len(name) <= limits.LABEL_CHARACTERS and _is_written(name) for name in columns):
            raise InvalidInputError(
                f"within must name its columns by texts of 1 to {limits.LABEL_CHARACTERS:,} characters, such as ['region', 'sex']"
            )
        object.__setattr__(self, "within", tuple(sorted(set(columns))))

    def __str__(self) -> str:
        """Return the spelling in a record and a ledger; `check_relation` reads it."""
        return f"{self.step} within {json.dumps(self.within, ensure_ascii=False)}" if self.within else self.step

    def of(self, unit: str, every: str | None = None) -> str:
        """Describe a step in words: "replace one record", "replace one person in one month within region and sex"."""
        return f"{self.step} {unit}" + (f" in one {every}" if every else "") + (f" within {self.columns}" if self.within else "")

    @property
    def columns(self) -> str:
        """The columns of `within` in words: "age, region and sex"."""
        return listed(self.within)

    def neighbours(self, counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Every dataset of one variable that is one step from these counts."""
        cells = range(len(counts))
        return moved(counts, single_steps(cells) if self.step == "add or remove one" else exchanges(cells))

    def distance(self, first: Counts, second: Counts) -> Counts:
        """Return how many steps lead from one dataset to the other; categories are on the last axis, the others broadcast."""
        apart = sum((np.abs(first[..., i] - second[..., i]) for i in range(first.shape[-1])), np.zeros(1, dtype=np.int64))
        return np.asarray(apart // 2 if self.step == "replace one" else apart)

    def steps_of(self, other: "Relation") -> int | None:
        """Return how many of this relation's steps one step of the other takes at most; None if no number of them is enough.

        Replacing a record is removing one and adding another. No number of replacements adds a record, and none within groups moves one
        to another group. What stays within more columns stays within fewer.
        """
        if self.step == "add or remove one":
            return 1 if self == other else 2
        return 1 if other.step == self.step and set(self.within) <= set(other.within) else None


def _is_written(text: str) -> bool:
    """Return whether a text can be written to a file or a database: half a character, a lone surrogate, cannot."""
    return not any("\ud800" <= c <= "\udfff" for c in text)


Relation.REPLACE_ONE = Relation("replace one")
Relation.ADD_REMOVE_ONE = Relation("add or remove one")

Move = tuple[tuple[int, int], ...]
"""Cells, each with what a step adds to it."""


def single_steps(cells: Iterable[int]) -> Iterator[Move]:
    """One record more or less in one of these cells."""
    return (((cell, step),) for cell in cells for step in (-1, 1))


def exchanges(cells: Iterable[int]) -> Iterator[Move]:
    """One record less in one of these cells and one more in another."""
    return (((giver, -1), (taker, 1)) for giver, taker in permutations(cells, 2))


def moved(counts: tuple[int, ...], moves: Iterable[Move]) -> Iterator[tuple[int, ...]]:
    """The datasets that these moves lead to, without those that would have a negative count."""
    for move in moves:
        result = list(counts)
        for cell, step in move:
            result[cell] += step
        if min(result) >= 0:
            yield tuple(result)


_WITHIN = re.compile(r"replace one within (\[.*\])", re.DOTALL)


def check_relation(value: "str | Relation") -> Relation:
    """The relation that a text stands for."""
    for relation in (Relation.REPLACE_ONE, Relation.ADD_REMOVE_ONE):
        if value == relation or value == str(relation):
            return relation
    if isinstance(value, Relation):
        return value
    found = _WITHIN.fullmatch(value) if isinstance(value, str) else None
    try:
        columns = json.loads(found[1]) if found else []
    except (ValueError, RecursionError):
        columns = []
    if not columns:
        raise InvalidInputError(
            "neighbours must be 'replace one', 'add or remove one' or, with the columns of the groups, "
            f'\'replace one within ["region", "sex"]\'; got {shown(value)!r}'
        )
    return Relation("replace one", tuple(columns))


def check_within(neighbours: "str | Relation" = Relation.REPLACE_ONE, within: Iterable[str] = ()) -> Relation:
    """The relation that a text stands for, whose steps keep what these columns say, if any are given."""
    relation = check_relation(neighbours)
    if isinstance(within, tuple) and not within:
        return relation
    if relation.within:
        raise InvalidInputError(f"neighbours says itself within which columns: {relation}; leave within out")
    return Relation(relation.step, within)  # type: ignore[arg-type]


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
    def groups(self) -> Groups:
        """The groups of a table; one variable has no columns, and one group."""
        return Groups()

    @property
    def total(self) -> int:
        """The public total. Raises RefusedError if n is private: what asks for it is not defined then."""
        if self.n is None:
            raise RefusedError("this needs a public number of records, and n is private here; give n= if it may be published")
        return self.n

    @property
    def size(self) -> int:
        """Return how many datasets there are, if n is public."""
        return candidate_count(self.total, self.k)

    def is_few(self, limit: int) -> bool:
        """Return whether there are at most so many datasets. Where n is private there is no end of them."""
        return self.n is not None and is_few(self.n, self.k, limit)

    def points(self) -> Counts:
        """Return all datasets, one a row, in lexicographic order; TooLargeError if they are too many to list."""
        if self.n is None:
            raise TooLargeError("there is no end of the datasets whose number of records is private, so they are not listed")
        return simplex_points(self.n, self.k)

    def first(self) -> Counts:
        """The first dataset in lexicographic order."""
        counts = np.zeros(self.k, dtype=np.int64)
        counts[-1] = self.n or 0
        return counts

    def neighbours(self, counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Every dataset that is one step from this one."""
        return self.relation.neighbours(counts)

    def pair(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Two neighbouring datasets, for what is the same for all pairs."""
        counts = (self.n or 0, *[0] * (self.k - 1))
        return counts, next(self.neighbours(counts))
