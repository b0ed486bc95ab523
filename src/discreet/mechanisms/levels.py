"""Levels of categories, from coarse to fine: how they are declared, and the noise that each of them gets (docs/explain/mechanisms.md)."""

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from attrs import field, frozen

from discreet import limits
from discreet.arrays import Counts
from discreet.errors import InvalidInputError
from discreet.mechanisms.noise import CellNoise
from discreet.model.dirichlet import Prior
from discreet.validation import category_index, items_of, shown

Level = tuple[tuple[str, tuple[int, ...]], ...]
"""The nodes of a level: the label of each, and the positions of its categories."""

_FORM = 'levels must be a mapping of levels to nodes and their categories, as {"chapter": {"A": ["A1", "A2"], "B": ["B1", "B2"]}}'


def read_levels(given: Any, prior: Prior) -> tuple[tuple[str, Level], ...]:
    """Levels as a user or a record declares them, checked: from coarse to fine, each a partition of the categories."""
    named = _parsed(given) if isinstance(given, str) else given
    if not isinstance(named, Mapping) or not named:
        raise InvalidInputError(f"{_FORM}; got {shown(given)!r}")
    if len(named) > limits.LEVELS:
        raise InvalidInputError(f"levels must be at most {limits.LEVELS}, got {len(named)}: leave out those that are asked for least")
    found = []
    for name, nodes in named.items():
        if not isinstance(name, str) or not name:
            raise InvalidInputError("a level must have a name, which is text")
        found.append((name, _level(nodes, prior, as_positions=isinstance(given, str))))
    for (coarse, upper), (fine, lower) in pairwise(found):
        home = {i: j for j, (_, inside) in enumerate(upper) for i in inside}
        if any(len({home[i] for i in inside}) > 1 for _, inside in lower) or len(lower) <= len(upper):
            raise InvalidInputError(f"levels must go from coarse to fine: a node of {fine!r} lies in one of {coarse!r}, which has fewer")
    return tuple(found)


def written_levels(levels: tuple[tuple[str, Level], ...]) -> str:
    """Levels as a record holds them: text with the positions of categories."""
    return json.dumps({name: {label: list(inside) for label, inside in level} for name, level in levels}, separators=(",", ":"))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInputError(_FORM) from None


def _level(nodes: Any, prior: Prior, *, as_positions: bool) -> Level:
    k = prior.k
    if isinstance(nodes, int) and not isinstance(nodes, bool):
        if not 2 <= nodes < k:
            raise InvalidInputError(f"a level of runs of categories must have from 2 to {k - 1} in each, got {shown(nodes)}")
        runs = [tuple(range(first, min(first + nodes, k))) for first in range(0, k, nodes)]
        return tuple(
            (f"{prior.categories[run[0]]} to {prior.categories[run[-1]]}" if run[1:] else str(prior.categories[run[0]]), run)
            for run in runs
        )
    if not isinstance(nodes, Mapping):
        raise InvalidInputError(_FORM)
    level = tuple((label, _positions(inside, prior, as_positions=as_positions)) for label, inside in nodes.items())
    if not all(isinstance(label, str) and inside for label, inside in level):
        raise InvalidInputError("a node must have a label, which is text, and some categories")
    if sorted(i for _, inside in level for i in inside) != list(range(k)):
        raise InvalidInputError(f"each of the {k} categories must be in one node of every level; a node may have one category alone")
    if len(level) == k:
        raise InvalidInputError("a level has as many nodes as there are categories, which are measured anyway; leave it out")
    return level


def _positions(inside: Any, prior: Prior, *, as_positions: bool) -> tuple[int, ...]:
    labels = items_of(inside)
    if labels is None:
        raise InvalidInputError(_FORM)
    if not as_positions:
        return tuple(sorted(category_index(prior.categories, label) for label in labels))
    if not all(type(i) is int and 0 <= i < prior.k for i in labels):
        raise InvalidInputError("the levels of a record name categories by their positions")
    return tuple(sorted(labels))


@frozen
class MeasuredLevels:
    """The nodes of every level and last the categories themselves, with the noise that all nodes of a level get."""

    nodes: tuple[tuple[tuple[int, ...], ...], ...]
    """The categories of each node of each level, by their positions."""
    noise: tuple[CellNoise, ...] = field(repr=False)

    @cached_property
    def _ends(self) -> list[int]:
        return [*accumulate(len(level) for level in self.nodes)]

    @property
    def cells(self) -> int:
        """Return how many counts are measured."""
        return self._ends[-1]

    def split(self, raw: Sequence[int] | Counts) -> Iterator[Any]:
        """The outcomes of each level; of arrays by the last axis."""
        for end, level in zip(self._ends, self.nodes, strict=True):
            inside = slice(end - len(level), end)
            yield raw[..., inside] if isinstance(raw, np.ndarray) else raw[inside]

    def sums(self, counts: Counts) -> Counts:
        """The counts of all nodes of all levels, from those of the categories on the last axis; more than 2**53 is taken as 2**53."""
        return np.concatenate(
            [np.stack([_bounded_sum(counts[..., list(inside)]) for inside in level], axis=-1) for level in self.nodes], axis=-1
        )

    def of_outcome(self, raw: Sequence[int] | Counts) -> Iterator[tuple[CellNoise, tuple[tuple[int, ...], ...], Any]]:
        """The noise, the nodes and the outcome of each level."""
        return zip(self.noise, self.nodes, self.split(raw), strict=True)


def _bounded_sum(counts: Counts) -> Counts:
    """The sums over the last axis, of which none wraps around. A count that changes by 1 changes them by at most 1."""
    about = counts.sum(axis=-1, dtype=np.float64)
    return np.where(about > limits.COUNT, limits.COUNT, np.minimum(counts.sum(axis=-1), limits.COUNT))


def labelled(level: Level, prior: Prior) -> dict[str, list[Hashable]]:
    """The nodes of a level with the labels of their categories, as `merged` takes them."""
    return {label: [prior.categories[i] for i in inside] for label, inside in level}
