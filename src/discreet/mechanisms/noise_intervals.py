"""Intervals for the shares of the records by the noise alone: they have no prior, and hold at least as often as is said for any data.

A noisy count is the true one and noise whose law is known. So the true count lies within the reach of the noise around the noisy one. Where
the number of records is public that is divided by it. Where it is not, a count x and the rest y of the records are each within reach with
half the probability of an error, and x/(x + y) grows with x and falls with y (docs/howto/registers.md).
"""

from typing import Any

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.errors import RefusedError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.noise import CellNoise
from discreet.mechanisms.reports import alike
from discreet.model.tables import TableSpace
from discreet.validation import check_share


def noise_interval(mechanism: Mechanism, raw: Any, level: float) -> Floats:
    """An interval for each category's share of the records, or in each group of a table: (low, high) on the last axis.

    A cell that cannot occur has 0 and 0; a group that is known to have no records has no shares, and NaN.

    Raises:
        RefusedError: The noise depends on the data, so that there is no interval without a prior.
        TooLargeError: The noise of several counts together is too wide to be gone through.
    """
    error, noise, space = 1.0 - check_share(level, "level"), mechanism.noise, mechanism.space
    if mechanism._levels is not None:
        noise, raw = mechanism._levels.noise[-1], raw[-mechanism.k :]
    if noise is None:
        raise RefusedError(f"the noise of {mechanism.title} depends on the data: there is no interval of the noise alone")
    noisy = np.array(raw, dtype=np.int64)
    if isinstance(space, TableSpace):
        return _of_table(noise, noisy, space, error)
    if space.n is None:
        found = _of_unknown_totals(noise, noisy[None], mechanism.k, error)
    else:
        found = _of_known_totals(noise, noisy[None], np.array([space.n]), mechanism.k, error)
    return np.asarray(found[0])


def _of_table(noise: CellNoise, noisy: Counts, space: TableSpace, error: float) -> Floats:
    """The intervals of all groups: those in which the same categories can occur together."""
    found = np.zeros((*space.cells.shape, 2))
    for rows, columns in alike(space.cells.possible):
        if not len(columns):
            found[rows] = np.nan
            continue
        place = np.ix_(rows, columns)
        if space.sizes is None:
            found[place] = _of_unknown_totals(noise, noisy[place], space.k, error)
        else:
            found[place] = _of_known_totals(noise, noisy[place], np.array(space.sizes)[rows], len(columns), error)
    return found


def _of_known_totals(noise: CellNoise, noisy: Counts, n: Counts, cells: int, error: float) -> Floats:
    """The intervals of groups, one a row, with a public number of records each and so many categories that can occur."""
    low, high = noise.reach(1, cells, 0.5 * error)
    ends = np.stack([noisy - high, noisy - low], axis=-1)
    if noisy.shape[1] < cells:  # the last count has no noise of its own, and is what the others leave: all of them are within reach at once
        low, high = noise.reach(1, cells, 0.5 * error / noisy.shape[1])
        last = np.stack([n - (noisy - low).sum(axis=1), n - (noisy - high).sum(axis=1)], axis=-1)
        ends = np.concatenate([ends, last[:, None]], axis=1)
    n = n[:, None, None]
    return np.where(n > 0, np.clip(ends, 0, n) / np.maximum(n, 1), np.nan)


def _of_unknown_totals(noise: CellNoise, noisy: Counts, block: int, error: float) -> Floats:
    """The intervals of groups, one a row, whose numbers of records are not public; the block of their cells has `block` of them."""
    cells = noisy.shape[1]
    if cells == 1:
        return np.ones((*noisy.shape, 2))
    low, high = noise.reach(1, block, 0.25 * error)
    others_low, others_high = noise.reach(cells - 1, block, 0.25 * error)
    rest = noisy.sum(axis=1, keepdims=True) - noisy
    ends = (noisy - high, noisy - low, rest - others_high, rest - others_low)
    least, most, least_rest, most_rest = (np.maximum(end, 0) for end in ends)
    return np.stack([least / np.maximum(least + most_rest, 1), most / np.maximum(most + least_rest, 1)], axis=-1)
