"""Noise that has one likelihood for each cell, and levels of categories, each with such noise (docs/explain/mechanisms.md)."""

import json
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from math import log
from typing import Any

import numpy as np
from attrs import field, frozen

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.counts.factors import Count, Kernel, Noisy, Observation
from discreet.errors import InvalidInputError, RefusedError
from discreet.model.dirichlet import Prior
from discreet.numerics.roots import last_inside
from discreet.validation import category_index, items_of, shown

_HELD_BACK = 1e-9
"""Part of a tail that is held back, so that no rounding makes an interval of noise hold less than it should."""


class CellNoise(ABC):
    """Noise with one likelihood for each cell: independent, or independent given that the totals of blocks of cells stay."""

    @property
    def blocks(self) -> tuple[range, ...]:
        """The blocks of cells whose noisy counts have the total of the true ones; none where every cell has noise of its own."""
        return ()

    @property
    @abstractmethod
    def cells(self) -> int:
        """The number of counts, from the first, that carry noise of their own."""

    @property
    @abstractmethod
    def slope(self) -> float:
        """The fall of the log likelihood a count on either side of the noisy count, or about its fall where windows end."""

    @property
    def curvature(self) -> float:
        """The change of that slope from one count to the next: 0 where it is straight on either side."""
        return 0.0

    @property
    def is_kernel(self) -> bool:
        """Return whether the kernel is all that an outcome says; otherwise `observation` says it, of listed counts or group by group."""
        return True

    @property
    def kernel(self) -> Kernel:
        """The log likelihood in the form that sums over many groups take, up to a constant."""
        return Kernel(self.slope)

    @abstractmethod
    def simulate(self, size: int, rng: np.random.Generator) -> Counts:
        """Float draws of the noise of all cells, one a row; TooLargeError where it would not fit into integers of arrays."""

    @abstractmethod
    def log_factor(self, difference: Floats) -> Floats:
        """One cell's factor of the likelihood, up to a constant, given the noisy count less the true one."""

    def log_constant(self, cells: int) -> float:  # noqa: ARG002
        """Return the logarithm of what the factors of a block of so many cells lack together to be a probability."""
        return 0.0

    def log_probability(self, noise: Counts) -> Floats:
        """ln P of the noise of all cells, on the last axis; -inf where that of a block does not add up to 0."""
        found = np.asarray(self.log_factor(noise.astype(np.float64)).sum(axis=-1))
        starts, sizes = np.array([(block.start, len(block)) for block in self.blocks if len(block)], dtype=np.int64).reshape(-1, 2).T
        for size, many in zip(*np.unique(sizes, return_counts=True), strict=True):
            found = found + int(many) * self.log_constant(int(size))
        return found if not len(starts) else np.where(np.add.reduceat(noise, starts, axis=-1).any(axis=-1), -np.inf, found)

    @abstractmethod
    def reach(self, cells: int, block: int, tail: float) -> tuple[int, int]:
        """The least and the largest noise of the sum of so many cells of a block of cells, but for at most `tail` beyond either."""

    def observed(self, raw: Counts, k: int) -> list[Count]:
        """Return the observation of each of k true counts in a raw outcome: of nothing for one without noise of its own."""
        seen = [Count([self.observation(z)]) for z in raw[: self.cells].tolist()]
        return seen + [Count()] * (k - len(seen))

    def observation(self, z: int) -> Observation:
        """Return the observation of a true count in an outcome of one cell."""
        return Noisy(self, z, self.curvature)

    def held(self, raw: Sequence[int] | Counts, n: int | None) -> Counts:
        """Return the outcomes cut to [-1, n + 1]: where likelihoods are straight, how far outside they lie says nothing."""
        held: Counts = np.clip(np.array(raw, dtype=object), -1, limits.COUNT if n is None else n + 1).astype(np.int64)
        return held

    def log_likelihoods(self, raw: Counts, points: Counts) -> Floats:
        """The log likelihood of a raw outcome for counts, one a row, up to a constant."""
        each = zip(self.observed(raw, points.shape[1]), points.T, strict=True)
        return sum((count.log_likelihood(x.astype(np.float64)) for count, x in each), np.zeros(len(points)))


_FAR_OUT = 1 << 62
"""A bound that no drawn noise reaches."""


class IndependentNoise(CellNoise):
    """Noise that is independent by cell, with a known law: its `log_factor` is normalised."""

    @abstractmethod
    def log_at_least(self, t: Floats | float) -> Floats:
        """ln P(noise >= t)."""

    def log_at_most(self, t: Floats | float) -> Floats:
        """ln P(noise <= t), of noise that is symmetric."""
        return self.log_at_least(-np.floor(t))

    def reach(self, cells: int, block: int, tail: float) -> tuple[int, int]:  # noqa: ARG002 - independent noise knows no blocks
        """Return the reach of one cell by its tails; RefusedError for several cells, unless a kind of noise has a law for their sum."""
        if cells != 1:
            raise RefusedError("the noise of several counts together has no law here that could be summed")
        least, near, far = log(tail * (1.0 - _HELD_BACK)), np.zeros(1, dtype=np.int64), np.array([_FAR_OUT])
        high = last_inside(lambda t: self.log_at_least(t.astype(np.float64)) > least, near, far)
        low = last_inside(lambda t: self.log_at_most(t.astype(np.float64)) > least, near, -far)
        return int(low[0]), int(high[0])

    def clamped_below(self, x: int, values: Floats) -> Floats:
        """ln of the probability that the noisy count x, or 0 if that is negative, is each of these values."""
        return np.where(values == 0, self.log_at_most(float(-x)), self.log_factor(values - x))

    def clamped(self, x: int, values: Floats, low: int, high: int) -> Floats:
        """ln of the probability that the noisy count x, clamped to [low, high], is each of these values: the ends stand for the tails."""
        result = self.log_factor(values - x)
        result = np.where(values == low, self.log_at_most(float(low - x)), result)
        return np.where(values == high, self.log_at_least(float(high - x)), result)


def symmetric_reach(log_law: Floats, tail: float) -> tuple[int, int]:
    """Return the reach of a law that is symmetric around 0, from its logarithm at 0, 1, ... up to a constant."""
    law = np.exp(log_law - log_law[0])
    beyond = np.cumsum(law[::-1])[::-1] / (2.0 * law.sum() - law[0])
    high = int(np.count_nonzero(beyond[1:] > tail * (1.0 - _HELD_BACK)))
    return -high, high


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
