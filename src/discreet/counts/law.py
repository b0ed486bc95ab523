"""The protocol of the engines, which every law of true counts follows, and the joint law of two parts, which contrasts are made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.betas.rows import Block
from discreet.counts.moments import ScoreMoments
from discreet.counts.runs import Run, values_at
from discreet.counts.size_posterior import SizePosterior
from discreet.errors import TooLargeError
from discreet.numerics.tails import kept

OMITTED_AT_MOST = 1e-17
"""Probability left out with which nobody needs to look again."""


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


class CountLaw(Protocol):
    """The posterior law of the parts of a count and of the count itself."""

    @property
    def total(self) -> int | None:
        """The total of the parts, if it is known."""

    @property
    def omitted(self) -> float:
        """Upper bound on the probability that is left out."""

    @property
    def first(self) -> Counts:
        """The least count of each part that what was observed of it leaves possible."""

    @property
    def work(self) -> int:
        """The count of numbers that the marginals of all parts are computed from."""

    @property
    def size(self) -> SizePosterior:
        """The law of the total."""

    @property
    def log_evidence(self) -> float:
        """The logarithm of the sum of all weights: of the probability of what was observed, where all factors are probabilities."""

    def marginal(self, part: int) -> Run:
        """Probabilities of the counts of one part."""

    def joint(self, part: int, tail: float) -> tuple[int, int, Floats]:
        """The joint law of one part and the total, without about `tail` at the ends of either: the least of both, and probabilities."""

    def with_total(self, part: int) -> tuple[list[Block], float]:
        """The law of one part and of totals that stand for all in sums of Betas, in blocks; and a bound on what they leave out."""

    def pairs(self, first: int, second: int) -> list[PairWeights]:
        """The joint law of two parts and of the rest."""

    def part(self, chosen: Sequence[int]) -> "CountLaw":
        """The law of some of the parts, whatever the others are."""

    def merged(self, sets: Sequence[Sequence[int]]) -> "CountLaw":
        """The law of sums of parts: each part must be in one of these sets, and a set becomes one part."""

    def covariance(self, a: Floats) -> Floats:
        """The covariances of the shares, which are Dir(a + counts) given the counts. The diagonal may be left 0."""

    def score(self, weights: Floats) -> ScoreMoments:
        """The moments of the sum of the parts, each with its weight, for every total."""

    def sample(self, size: int, rng: np.random.Generator) -> Counts:
        """Draws of the counts, one a row."""
