"""Noise for all cells of a table at once, how tables are reported, and the likelihood of a noisy table (docs/howto/tables.md).

Where the size of every group is public, each group has a lattice of its own; where the total is, all cells have one; otherwise every cell
has noise of its own. A cell that cannot occur has none.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import exp, expm1, inf, log, log1p

import numpy as np
from attrs import field, frozen

from discreet.arrays import Counts, Mask
from discreet.mechanisms.reports import Report, project
from discreet.model.tables import TableSpace
from discreet.numerics.lattice_sums import log_normaliser
from discreet.sampling import BitSource
from discreet.sampling.bulk import ATTEMPTED, discrete_laplace_array, lattice_array, lattice_noise


def table_noise(source: BitSource, space: TableSpace, epsilon: Fraction) -> Counts:
    """Exact noise for every cell, a row a group."""
    noise, possible = np.zeros(space.cells.shape, dtype=np.int64), space.cells.possible
    if space.published == "nothing":
        noise[possible] = discrete_laplace_array(source, 1 / epsilon, space.k)
    elif space.published == "total":
        noise[possible] = lattice_noise(source, space.k, epsilon)
    else:
        for rows, columns in alike(possible):
            noise[np.ix_(rows, columns)] = _lattices(source, len(columns), epsilon, len(rows))
    return noise


@frozen(repr=False, eq=False)
class NoisyTable:
    """A sampler that adds exact noise to the private counts of a table, which it holds: draw, and drop it."""

    counts: Counts = field(repr=False)
    noise: Callable[[BitSource], Counts] = field(repr=False)

    def draw(self, source: BitSource) -> Counts:
        """The noisy counts of every cell, a row a group."""
        return self.counts + self.noise(source)


def _lattices(source: BitSource, cells: int, epsilon: Fraction, blocks: int) -> Counts:
    """Noise for so many groups that each have so many cells: none for fewer than two, because the group's size says what is there."""
    if cells < 2:
        return np.zeros((blocks, cells), dtype=np.int64)
    if cells <= ATTEMPTED:
        return lattice_array(source, cells, epsilon, blocks)
    return np.stack([lattice_noise(source, cells, epsilon) for _ in range(blocks)])


def alike(possible: Mask) -> Iterator[tuple[Counts, Counts]]:
    """Groups in which the same categories can occur: their rows, and the columns of those categories."""
    if possible.all():
        yield np.arange(len(possible)), np.arange(possible.shape[1])
        return
    patterns, pattern = np.unique(possible, axis=0, return_inverse=True)
    for number, columns in enumerate(patterns):
        yield np.flatnonzero(pattern.ravel() == number), np.flatnonzero(columns)


def log_likelihood(space: TableSpace, epsilon: float, noise: Counts) -> float:
    """The log probability of this noise, which is 0 in cells that cannot occur; -inf off the lattice."""
    moved = int(np.abs(noise).sum())
    if space.published == "nothing":
        return -epsilon * moved + space.k * (log(-expm1(-epsilon)) - log1p(exp(-epsilon)))
    blocks = noise if space.published == "sizes" else noise.reshape(1, -1)
    if blocks.sum(axis=1).any():
        return -inf
    cells = space.cells.possible.reshape(blocks.shape).sum(axis=1)
    sizes, times = np.unique(cells[cells > 1], return_counts=True)
    normalisers = (many * log_normaliser(size, epsilon) for size, many in zip(sizes.tolist(), times.tolist(), strict=True))
    return -epsilon * (moved // 2) - float(sum(normalisers))


@frozen
class TableReport(Report):
    """The nearest table with the public totals: of every group, of all together, or none but that no count is negative."""

    space: TableSpace

    def __call__(self, raw: Counts) -> Counts:
        """The reported table of one noisy table."""
        space, possible = self.space, self.space.cells.possible
        if space.n is None:
            return np.maximum(raw, 0)
        result = np.zeros_like(raw)
        if space.sizes is None:
            result[possible] = project(raw[possible][None, :], space.n)[0]
            return result
        sizes = np.array(space.sizes)
        for rows, columns in alike(possible):
            if len(columns):
                result[np.ix_(rows, columns)] = project(raw[np.ix_(rows, columns)], sizes[rows][:, None])
        return result

    def one(self, raw: Counts) -> Counts:
        """The reported table of one noisy table."""
        return self(raw)

    def row(self, raw: tuple[int, ...]) -> Counts:
        """The outcome as an array."""
        return np.array(raw, dtype=np.int64)
