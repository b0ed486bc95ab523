"""The protocol of the engines: the methods of every law of true counts, however it is computed."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.betas.rows import Block
from discreet.counts.moments import ScoreMoments
from discreet.counts.pairs import PairWeights
from discreet.counts.runs import Run
from discreet.counts.size_posterior import SizePosterior

OMITTED_AT_MOST = 1e-17
"""Probability left out with which nobody needs to look again."""


class CountLaw(Protocol):
    """The posterior law of the parts of a count and of the count itself."""

    @property
    def total(self) -> int | None:
        """The total of the parts, if it is known."""
        ...

    @property
    def omitted(self) -> float:
        """Upper bound on the probability that is left out."""
        ...

    @property
    def first(self) -> Counts:
        """The least count of each part that what was observed of it leaves possible."""
        ...

    @property
    def work(self) -> int:
        """The count of numbers that the marginals of all parts are computed from."""
        ...

    @property
    def size(self) -> SizePosterior:
        """The law of the total."""
        ...

    @property
    def log_evidence(self) -> float:
        """The logarithm of the sum of all weights: of the probability of what was observed, where all factors are probabilities."""
        ...

    def marginal(self, part: int) -> Run:
        """Probabilities of the counts of one part."""
        ...

    def joint(self, part: int, tail: float) -> tuple[int, int, Floats]:
        """The joint law of one part and the total, without about `tail` at the ends of either: the least of both, and probabilities."""
        ...

    def with_total(self, part: int) -> tuple[list[Block], float]:
        """The law of one part and of totals that stand for all in sums of Betas, in blocks; and a bound on what they leave out."""
        ...

    def pairs(self, first: int, second: int) -> list[PairWeights]:
        """The joint law of two parts and of the rest."""
        ...

    def part(self, chosen: Sequence[int]) -> "CountLaw":
        """The law of some of the parts, whatever the others are."""
        ...

    def merged(self, sets: Sequence[Sequence[int]]) -> "CountLaw":
        """The law of sums of parts: each part must be in one of these sets, and a set becomes one part."""
        ...

    def covariance(self, a: Floats) -> Floats:
        """The covariances of the shares, which are Dir(a + counts) given the counts. The diagonal may be left 0."""
        ...

    def score(self, weights: Floats) -> ScoreMoments:
        """The moments of the sum of the parts, each with its weight, for every total."""
        ...

    def sample(self, size: int, rng: np.random.Generator) -> Counts:
        """Draws of the counts, one a row."""
        ...
