"""The weights of all candidates at once, where these are few: whole numbers that certainly enclose them (docs/proofs/exactness.md).

The floats here have an error that is proved from IEEE 754's additions, multiplications and square roots alone. They become intervals of
whole numbers, and from those `sampling.listed` draws: no float decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.errors import InternalError
from discreet.model.datasets import is_few, simplex_points
from discreet.numerics.exponentials import decay, fall
from discreet.numerics.gap_tables import GapTable, gap_table
from discreet.sampling import Listed, Weights

RATE_ERROR = 1.1 * 2.0**-46
"""Largest relative error of the rate with which a weight is certainly within one unit of what is computed."""

_SCALE = 46
"""Weights are in units of 2^-46: the sum of 2^16 of them, and of their bounds, fits 63 bits."""
_MOST_LISTED_CANDIDATES = 1 << 16
_UNITS_ABOVE, _UNITS_BELOW = 2, 1
"""The units by which the bounds of a weight lie above and below what is found: one for the error, one more for what was cut off."""
_CANDIDATES_TOGETHER = 1 << 13
"""Candidates worked on together: few enough to stay near the processor."""


def is_listed(prior: tuple[Fraction, ...], n: int) -> bool:
    """Return whether candidates are listed to be drawn, by public numbers alone: where measurements found that it is faster."""
    k = len(prior)
    if k == 2:
        return n <= limits.DRAWN_RECORDS
    return (
        k <= limits.DRAWN_CATEGORIES and n <= limits.DRAWN_RECORDS and is_few(n, k, min(_MOST_LISTED_CANDIDATES, limits.DRAWN_CELLS // k))
    )


@dataclass(frozen=True)
class Listing:
    """All candidates for a prior and n, with tables of gaps: public, and kept for further releases."""

    points: Counts
    tables: tuple[GapTable, ...]

    def sampler(self, weights: Weights, rate: float) -> Listed:
        """The sampler of one dataset, given its rate to a relative error of `RATE_ERROR`."""
        ends = self._bounds(weights.counts, rate).cumsum()
        return Listed(weights, self._candidate, ends, _UNITS_ABOVE + _UNITS_BELOW, _SCALE)

    def _candidate(self, index: int) -> tuple[int, ...]:
        return tuple(self.points[index].tolist())

    def _bounds(self, counts: Sequence[int], rate: float) -> Counts:
        """The upper ends of all weights, in units of 2^-46."""
        if len(counts) == 2:
            divergence = self.tables[0].row(counts[0]) + self.tables[1].row(counts[1])[::-1]
            return _upper_ends(divergence, rate)
        rows = [table.row(x) for table, x in zip(self.tables, counts, strict=True)]
        ends = np.empty(len(self.points), dtype=np.int64)
        for start in range(0, len(ends), _CANDIDATES_TOGETHER):
            chunk = slice(start, start + _CANDIDATES_TOGETHER)
            first, *others = (row[column] for row, column in zip(rows, self.points[chunk].T, strict=True))
            for other in others:
                first += other
            ends[chunk] = _upper_ends(first, rate)
        return ends


def _upper_ends(divergence: Floats, rate: float) -> Counts:
    distance = np.sqrt(fall(divergence))
    distance *= rate
    weight = decay(distance)
    weight *= 2.0**_SCALE
    ends: Counts = weight.astype(np.int64)
    ends += _UNITS_ABOVE
    return ends


@lru_cache(maxsize=8)
def listing(prior: tuple[Fraction, ...], n: int) -> Listing:
    """Return the listing of a prior and n for which `is_listed`."""
    tables = tuple(gap_table(a, n) for a in prior)
    if not all(table.is_fine for table in tables):
        raise InternalError("a table of gaps is not as fine as was proved; nothing was released")
    points = simplex_points(n, len(prior))
    return Listing(np.asfortranarray(points), tables)
