"""The cells of a table: groups, which are declared and public, by categories, without the cells that cannot occur."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, Literal, TypedDict

import numpy as np

from discreet import limits
from discreet.arrays import Mask
from discreet.errors import InvalidInputError
from discreet.text import plain
from discreet.validation import items_of, shown, spelling

Sort = Literal["mean", "group", "declared"]
"""Orders of groups in pictures: by their means, by their labels, or as they were declared."""


class GroupLook(TypedDict, total=False):
    """The look of one category that is drawn in every group of a table."""

    category: Hashable
    sort: Sort
    title: str | None
    label: str | None
    color: str | None


@dataclass(frozen=True)
class Groups:
    """The declared groups: every combination of the labels of the columns, the labels of the last column changing fastest.

    Without columns there is one group, which is everybody: so are the groups of one variable.
    """

    columns: tuple[str, ...] = ()
    labels: tuple[tuple[Hashable, ...], ...] = ()
    """The labels of each column, in their declared order."""

    def __post_init__(self) -> None:
        if len(self.columns) != len(self.labels):
            raise InvalidInputError(_WITHOUT_COLUMNS)
        if not all(map(_is_name, self.columns)) or len(set(self.columns)) != len(self.columns):
            raise InvalidInputError(f"by must name its columns by texts of 1 to {limits.LABEL_CHARACTERS:,} characters, each once")
        for name, labels in zip(self.columns, self.labels, strict=True):
            _check_labels(name, labels)
        if len(self) > limits.GROUPS:
            raise InvalidInputError(f"by declares {len(self):,} groups; at most {limits.GROUPS:,} are released together")

    @property
    def shape(self) -> tuple[int, ...]:
        """Return how many labels each column has."""
        return tuple(len(labels) for labels in self.labels)

    def __len__(self) -> int:
        return prod(self.shape)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.labels[0]) if len(self.labels) == 1 else product(*self.labels)

    def __getitem__(self, position: int) -> Hashable:
        """The key of a group: its label where there is one column, otherwise a tuple of labels."""
        key = self.key(position)
        return key[0] if len(key) == 1 else key

    def key(self, position: int) -> tuple[Hashable, ...]:
        """The labels of a group, one for each column. Raises IndexError where there is no such group."""
        if not 0 <= position < len(self):
            raise IndexError(f"groups are numbered from 0 to {len(self) - 1:,}")
        key: list[Hashable] = []
        for labels in reversed(self.labels):
            position, place = divmod(position, len(labels))
            key.append(labels[place])
        return tuple(reversed(key))

    @cached_property
    def _places(self) -> tuple[dict[str, int], ...]:
        return tuple({spelling(label): i for i, label in enumerate(labels)} for labels in self.labels)

    def index(self, key: Any) -> int:
        """The position of the group with these labels, given as `__getitem__` gives them or as a tuple also where there is one column."""
        parts = key if isinstance(key, tuple) else (key,)
        if len(parts) != len(self.columns):
            raise InvalidInputError(f"a group has a label for each of {', '.join(self.columns)}; got {shown(key)!r}")
        position = 0
        for name, places, labels, part in zip(self.columns, self._places, self.labels, parts, strict=True):
            found = places.get(spelling(part))
            if found is None:
                known = ", ".join(repr(label) for label in labels[:10]) + (", ..." if len(labels) > 10 else "")
                raise InvalidInputError(f"{name} must be one of {known}; got {shown(part)!r}")
            position = position * len(labels) + found
        return position

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy or a pickle holds what was declared, and not what was computed from it."""
        return Groups, (self.columns, self.labels)

    def __repr__(self) -> str:
        listed = ", ".join(f"{plain(name)}: {len(labels)}" for name, labels in zip(self.columns, self.labels, strict=True))
        return f"Groups({listed})"


def _is_name(column: Any) -> bool:
    """Return whether this can be the name of a column in any file: a text that is not empty, and not of half characters (lone
    surrogates).
    """
    return isinstance(column, str) and 0 < len(column) <= limits.LABEL_CHARACTERS and not any("\ud800" <= c <= "\udfff" for c in column)


def _check_labels(column: str, labels: tuple[Hashable, ...]) -> None:
    if not labels:
        raise InvalidInputError(f"by must declare at least one group of {shown(column)!r}")
    kinds = set(map(type, labels))
    if not all(issubclass(kind, Hashable) and not issubclass(kind, tuple) for kind in kinds):
        raise InvalidInputError(f"the groups of {shown(column)!r} must be plain labels, such as text or numbers")
    if len(set(labels) if kinds == {str} else {spelling(label) for label in labels}) != len(labels):  # a text is its own spelling
        raise InvalidInputError(f"the groups of {shown(column)!r} must be distinct; 1 and '1' are the same group")
    if max(map(len, (label for label in labels if isinstance(label, str))), default=0) > limits.LABEL_CHARACTERS:
        raise InvalidInputError(f"a group's label must have at most {limits.LABEL_CHARACTERS:,} characters; one has more")


_WITHOUT_COLUMNS = "by must name one or more columns, each with its groups, such as {'region': ['north', 'south']}"


def groups_in(columns: Iterable[tuple[str, tuple[Hashable, ...]]]) -> Groups:
    """The groups that columns with their labels declare; refused where there is no column."""
    if not (listed := [*columns]):
        raise InvalidInputError(_WITHOUT_COLUMNS)
    return Groups(tuple(name for name, _ in listed), tuple(labels for _, labels in listed))


def groups_of(by: Any) -> Groups:
    """Groups as a caller declares them: a mapping of columns to their labels, groups that were made before, or None for one variable."""
    if by is None:
        return Groups()
    if isinstance(by, Groups):
        return by
    if not isinstance(by, Mapping):
        raise InvalidInputError("by must say which groups there are, for each column: {'region': ['north', 'south']}")
    columns = []
    for name, labels in by.items():
        listed = items_of(labels)
        if listed is None:
            raise InvalidInputError(f"by must list the groups of {shown(name)!r}, such as ['north', 'south']")
        plain = tuple(label.item() if isinstance(label, np.generic) else label for label in listed)
        columns.append((name, labels if isinstance(labels, tuple) and labels == plain else plain))  # a rule that made them is kept
    return groups_in(columns)


@dataclass(frozen=True)
class Cells:
    """Groups by categories, without the cells that are known not to occur: no record can be there, so they carry no noise."""

    groups: Groups
    categories: tuple[Hashable, ...]
    impossible: tuple[int, ...] = ()
    """Positions of the cells that cannot occur, row by row, in ascending order."""

    def __post_init__(self) -> None:
        if prod(self.shape) > limits.TABLE_CELLS:
            raise InvalidInputError(
                f"{len(self.groups):,} groups of {len(self.categories):,} categories are more than the {limits.TABLE_CELLS:,} cells "
                "that are released together; declare fewer"
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Return how many groups and how many categories there are."""
        return len(self.groups), len(self.categories)

    @cached_property
    def possible(self) -> Mask:
        """Return which cells can occur, a row a group; not to be written to."""
        mask = np.ones(self.shape, dtype=np.bool_)
        mask.ravel()[list(self.impossible)] = False
        mask.setflags(write=False)
        return mask

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy or a pickle holds what was declared; the mask is computed again, so that nobody can write to it."""
        return Cells, (self.groups, self.categories, self.impossible)

    @property
    def size(self) -> int:
        """Return how many cells can occur."""
        return self.shape[0] * self.shape[1] - len(self.impossible)

    def fits(self, other: "Cells") -> bool:
        """Return whether these are the other's cells: labels that are spelled alike. Categories of the other that are only numbered fit
        any.
        """
        if self == other:
            return True
        numbered = other.categories == tuple(range(len(self.categories)))
        return (
            self.impossible == other.impossible
            and (numbered or _spelled(self.categories) == _spelled(other.categories))
            and self.groups.columns == other.groups.columns
            and [*map(_spelled, self.groups.labels)] == [*map(_spelled, other.groups.labels)]
        )

    def named(self, position: int) -> tuple[Hashable, ...]:
        """The labels of a cell: of its group's columns, then its category."""
        group, category = divmod(position, len(self.categories))
        return (*self.groups.key(group), self.categories[category])


def _spelled(labels: tuple[Hashable, ...]) -> list[str]:
    return [spelling(label) for label in labels]


def cells_of(by: Any, categories: tuple[Hashable, ...], impossible: Iterable[Any] = ()) -> Cells:
    """The cells of declared groups and categories; `impossible` lists those that cannot occur, as tuples of labels, the category last."""
    groups = groups_of(by)
    places = {spelling(category): i for i, category in enumerate(categories)}
    if isinstance(impossible, (str, bytes)) or not isinstance(impossible, Iterable):
        raise InvalidInputError("impossible must be a list of cells, such as [('north', 'm', 'pregnant')]")
    positions = set()
    for cell in impossible:
        if not isinstance(cell, tuple) or len(cell) != len(groups.columns) + 1:
            raise InvalidInputError(
                f"a cell of impossible has a label for each of {', '.join(groups.columns)} and a category; got {shown(cell)!r}"
            )
        category = places.get(spelling(cell[-1]))
        if category is None:
            raise InvalidInputError(f"a cell of impossible must end with a declared category; got {shown(cell[-1])!r}")
        positions.add(groups.index(cell[:-1]) * len(categories) + category)
    return Cells(groups, categories, tuple(sorted(positions)))
