"""A law of counts given by all its points: of any mechanism, of several releases together, or of some of the categories."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import nan

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.betas.rows import Block
from discreet.counts.law import PairWeights, check_pairs
from discreet.counts.moments import ScoreMoments, listed_covariance, listed_score
from discreet.counts.runs import Run, inverse, log_sum
from discreet.counts.size_posterior import SizePosterior


@dataclass(frozen=True, eq=False)
class ListedCounts:
    """A law given by points, one a row, and their probabilities. Totals may differ from point to point."""

    points: Counts
    probability: Floats
    omitted: float = 0.0
    """Upper bound on the probability that is left out."""
    log_evidence: float = nan
    """The logarithm of the sum of all weights, if it is known."""
    least: Counts | None = None
    """The least count of each category that what was observed of it leaves possible; 0 if nothing is said."""

    @classmethod
    def of_logs(
        cls, points: Counts, log_weight: Floats, omitted: float = 0.0, *, log_constant: float = 0.0, least: Counts | None = None
    ) -> "ListedCounts":
        """The law with these logarithms of weights, all of which lack a constant."""
        whole = log_sum(log_weight)
        return cls(points, np.exp(log_weight - whole), omitted, whole + log_constant, least)

    @classmethod
    def known(cls, counts: Sequence[int]) -> "ListedCounts":
        """The law of counts that are known, such as those of no records."""
        return cls(np.array([counts], dtype=np.int64), np.ones(1))

    @property
    def first(self) -> Counts:
        """The least count of each category that what was observed of it leaves possible."""
        return np.zeros(self.points.shape[1], dtype=np.int64) if self.least is None else self.least

    @property
    def work(self) -> int:
        """The count of numbers that the marginals are computed from."""
        return self.points.size

    @cached_property
    def _totals(self) -> Counts:
        return np.asarray(self.points.sum(axis=1))

    @cached_property
    def total(self) -> int | None:
        """The total, if all points have the same."""
        low, high = int(self._totals.min()), int(self._totals.max())
        return low if low == high else None

    def marginal(self, category: int) -> Run:
        """Probabilities of one category's count."""
        return _law(self.points[:, category], self.probability)

    def with_total(self, category: int) -> tuple[list[Block], float]:
        """The joint law of one category's count and the total, in one block, and what is left out."""
        totals, low, weights = _table(self._totals, self.points[:, category], self.probability)
        return [Block(low, totals, weights)], self.omitted

    def joint(self, category: int, tail: float) -> tuple[int, int, Floats]:  # noqa: ARG002 - nothing is left out of a list
        """The joint law of one count and the total: the least of both, and probabilities."""
        (block,), _ = self.with_total(category)
        return block.first, int(block.totals[0]), block.weights.T

    def part(self, chosen: Sequence[int]) -> "ListedCounts":
        """The law of some of the counts."""
        return self._seen_as(self.points[:, list(chosen)], self.first[list(chosen)])

    def merged(self, sets: Sequence[Sequence[int]]) -> "ListedCounts":
        """The law of sums of counts: each count must be in one of these sets, and a set becomes one count."""
        points, least = (np.stack([one[..., list(chosen)].sum(axis=-1) for chosen in sets], axis=-1) for one in (self.points, self.first))
        return self._seen_as(points, least)

    def _seen_as(self, points: Counts, least: Counts) -> "ListedCounts":
        """The law of a function of the counts, given by its value at every point."""
        rows, where = np.unique(points, axis=0, return_inverse=True)
        probability = np.asarray(np.bincount(where.ravel(), weights=self.probability), dtype=np.float64)
        return ListedCounts(rows, probability, self.omitted, self.log_evidence, least)

    def covariance(self, a: Floats) -> Floats:
        """The covariances of the probabilities under Dir(a)."""
        return listed_covariance(self.points, self.probability, a)

    def score(self, weights: Floats) -> ScoreMoments:
        """The moments of the sum of the counts, each with its weight, for every total."""
        return listed_score(self.points, self.probability, weights)

    def pairs(self, first: int, second: int) -> list[PairWeights]:
        """The joint law of two counts and of the total, a part for each total unless there are only the two counts."""
        x, both = self.points[:, first], self.points[:, first] + self.points[:, second]
        check_pairs(int(np.ptp(both) + 1), int(np.ptp(x) + 1))
        if self.points.shape[1] == 2:
            totals, low, split = _table(both, x, self.probability)
            nothing = np.zeros(len(totals), dtype=np.int64)
            return [PairWeights(totals, low, split, nothing, nothing[:1], np.ones((len(totals), 1)))]
        found = []
        for total in np.unique(self._totals).tolist():
            held = self._totals == total
            totals, low, split = _table(both[held], x[held], self.probability[held])
            if split.any():
                found.append(PairWeights.of_public_total(total, int(totals[0]), low, split))
        return found

    @cached_property
    def size(self) -> SizePosterior:
        """The law of the total."""
        run = _law(self._totals, self.probability)
        return SizePosterior(run.low, run.value, self.omitted)

    def sample(self, size: int, rng: np.random.Generator) -> Counts:
        """Draws, one a row."""
        return self.points[inverse(self.probability, rng.random(size))]


def _law(values: Counts, probability: Floats) -> Run:
    low = int(values.min())
    return Run(low, np.asarray(np.bincount(values - low, weights=probability), dtype=np.float64))


def _table(rows: Counts, columns: Counts, weight: Floats) -> tuple[Counts, int, Floats]:
    """Weights by rows and columns: all rows from the first to the last, the first column, and the table."""
    first, low = int(rows.min()), int(columns.min())
    table = np.zeros((int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1))
    np.add.at(table, (rows - first, columns - low), weight)
    return np.arange(first, first + len(table)), low, table
