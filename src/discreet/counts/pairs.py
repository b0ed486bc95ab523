"""The joint law of two parts and of the rest of the whole, on which contrasts of two categories are computed."""

from dataclasses import dataclass

import numpy as np

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.betas.rows import Block
from discreet.counts.runs import Run, values_at
from discreet.errors import TooLargeError
from discreet.numerics.tails import kept

OUTER_COUNTS = 1e-15
"""Probability of counts that are left out at either end."""


@dataclass(frozen=True, eq=False)
class PairWeights:
    """The joint law of two counts x_a and x_b, and of the rest r: the weight of x_a and u = x_a + x_b, times that of r given u."""

    totals: Counts
    """u, a row for each."""
    low: int
    """The first x_a; a column for each from there on."""
    split: Floats
    """Weights of u and x_a."""
    rest_rows: Counts
    rest_columns: Counts
    """r is the sum of a part of the row and one of the column."""
    rest: Floats
    """Weights of r, for each u."""

    @classmethod
    def of_public_total(cls, n: int, low_total: int, low: int, split: Floats) -> "PairWeights":
        """Return the weights for a public n, where r = n - u."""
        totals = np.arange(low_total, low_total + len(split))
        return cls(totals, low, split, n - totals, np.zeros(1, dtype=np.int64), np.ones((len(split), 1)))

    def trimmed(self) -> "PairWeights":
        """Drop cells and rows of nearly no probability; the weights in `rest` add up to 1, so that those of `split` are a law."""
        given = self.rest.sum(axis=1)
        weights = self.split * given[:, None]
        weights = np.where(weights > OUTER_COUNTS / weights.size * float(weights.sum()), weights, 0.0)
        used = weights.any(axis=1)
        rest = self.rest[used] / given[used, None]
        return PairWeights(self.totals[used], self.low, weights[used], self.rest_rows[used], self.rest_columns, rest)


def middle_part(factor: Run, law: Run) -> Run:
    """A factor's values where a law, that of the count, has nearly all its probability."""
    first, last, _ = kept(law.value, OUTER_COUNTS * float(law.value.sum()))
    return Run(law.low + first, values_at(factor, law.low + first, last - first + 1))


def split_weights(first: Run, second: Run) -> Floats:
    """first(x) second(u - x), a row for each u and a column for each x."""
    totals = np.arange(first.low + second.low, first.high + second.high + 1)
    block = Block(first.low, totals, first.value[None])
    return np.asarray(first.value * block.of_difference(values_at(second, block.lowest, block.highest - block.lowest + 1)))


def check_pairs(rows: int, columns: int) -> None:
    """Refuse counts that are spread too widely."""
    if rows * columns > limits.CONTRAST_PAIRS:
        raise TooLargeError(
            f"the noise leaves {rows * columns:,} pairs of counts of these two categories possible; their contrast is exact up to "
            f"{limits.CONTRAST_PAIRS:,}. Compare draws instead: sample(), or probability() of what is asked"
        )
