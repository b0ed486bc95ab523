"""The floats that make draws of an exponential mechanism fast and decide nothing: weights of listed candidates, and of proposals.

Where candidates are few, their weights have an error that is proved from IEEE 754's additions, multiplications and square roots alone
(docs/proofs/exactness.md). They become intervals of whole numbers, and from those `sampling.candidates` draws. Elsewhere the sampler bounds
g(D) = exp(-c sqrt(1 - e^-D)) by a sum of exponentials. Any weights are made right there, in ball arithmetic; these are chosen so that the
sum is close to g and few proposals are rejected.
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
from discreet.numerics.gamma import to_hellinger
from discreet.numerics.proved_floats import GapTable, decay, fall, gap_table
from discreet.sampling import Listed, Weights
from discreet.sampling.domination import Target, even_weights

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


_SLACK = 2.0
"""The sum may be above g by e^2 times what the constant must be, far out: by e^-5 of the mass of r = x alone in all."""


def load() -> None:
    """Import what is slow to import."""
    import scipy.optimize  # noqa: F401


def good_weights(target: Target) -> list[float]:
    """Logarithms of weights, up to a common factor, whose sum is nearly proportional to g; some may be -inf.

    Of a least-squares fit, which is good but for which nothing is proved, and the even weights, for which it is, the one is taken whose
    sum, once it is nowhere below g, is less far above g + e^{_SLACK - depth}.
    """
    c = float(target.rate.mid())
    points = np.concatenate([[0.0], target.grid])
    falls = np.outer(points, np.array(target.powers, dtype=np.float64))
    exact = c * to_hellinger(points)
    needed = -np.minimum(target.depth, exact)
    allowed = np.logaddexp(-exact, _SLACK - target.depth)

    def worst_excess(weights: Floats) -> float:
        total = np.logaddexp.reduce(weights - falls, axis=1)
        return float((needed - total).max() + (total - allowed).max())

    fitted = _fitted(-allowed[:, None] - falls)
    fitted[0] = max(fitted[0], needed[-1])  # the constant alone must cover what lies beyond the grid
    return [float(weight) for weight in min(fitted, np.array(even_weights(target)), key=worst_excess)]


def _fitted(ratio: Floats) -> Floats:
    """Logarithms of weights w with Σ_j w_j e^ratio_j near 1 in every row; none, if the fit fails."""
    from scipy.optimize import nnls  # slow to load

    # In logarithms throughout: the weights of a proposal may be thousands of orders of magnitude apart.
    scale = ratio.max(axis=0)
    with np.errstate(divide="ignore"):
        try:
            return np.asarray(np.log(nnls(np.exp(ratio - scale), np.ones(len(ratio)))[0]) - scale)
        except (RuntimeError, ValueError):  # too many iterations, a singular matrix
            return np.full(scale.size, -np.inf)
