"""The law of some counts of a listed law, whatever the others are: counts of any total, one by one (docs/reading.md)."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.inference.category_contrasts import PairWeights, check_pairs
from discreet.inference.covariances import listed_covariance
from discreet.inference.runs import Run
from discreet.inference.size_posterior import SizePosterior
from discreet.model.beta_mixtures import BetaMixture
from discreet.model.beta_rows import BetaRows, Block


@dataclass(frozen=True, eq=False)
class ListedPart:
    """Counts that need not have one total, each with its probability."""

    points: Counts
    probability: Floats
    omitted: float = 0.0

    @classmethod
    def of(cls, points: Counts, probability: Floats, chosen: Sequence[int], omitted: float) -> "ListedPart":
        """The law of these columns."""
        rows, where = np.unique(points[:, list(chosen)], axis=0, return_inverse=True)
        return cls(rows, np.asarray(np.bincount(where.ravel(), weights=probability), dtype=np.float64), omitted)

    @property
    def work(self) -> int:
        return self.points.size

    @cached_property
    def _totals(self) -> Counts:
        return np.asarray(self.points.sum(axis=1))

    @cached_property
    def size(self) -> SizePosterior:
        """The law of the total of these counts."""
        low = int(self._totals.min())
        weights = np.asarray(np.bincount(self._totals - low, weights=self.probability), dtype=np.float64)
        return SizePosterior(low, weights, self.omitted)

    def marginal(self, category: int) -> Run:
        """Probabilities of one count."""
        return Run(0, np.asarray(np.bincount(self.points[:, category], weights=self.probability), dtype=np.float64))

    def probability_law(self, category: int, a: float, b: float, label: Hashable) -> BetaMixture:
        """The distribution of one category's probability: Beta(a + x, b + n - x) over counts x and totals n."""
        totals, low, weights = _table(self._totals, self.points[:, category], self.probability)
        return BetaRows([Block(low, totals, weights)], a, b, label, self.omitted)

    def pairs(self, first: int, second: int) -> list[PairWeights]:
        """The joint law of two counts and of the total of these counts, a part for each total unless there are only the two."""
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

    def part(self, chosen: Sequence[int]) -> "ListedPart":
        """The law of some of these counts."""
        return ListedPart.of(self.points, self.probability, chosen, self.omitted)

    def covariance(self, a: Floats) -> Floats:
        """The covariance matrix of the probabilities under Dir(a)."""
        return listed_covariance(self.points, self.probability, a)

    def sample(self, size: int, rng: np.random.Generator) -> Counts:
        """Draws, one a row."""
        return self.points[rng.choice(len(self.points), size=size, p=self.probability / self.probability.sum())]


def _table(rows: Counts, columns: Counts, weight: Floats) -> tuple[Counts, int, Floats]:
    """Weights by rows and columns: all rows from the first to the last, the first column, and the table."""
    first, low = int(rows.min()), int(columns.min())
    table = np.zeros((int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1))
    np.add.at(table, (rows - first, columns - low), weight)
    return np.arange(first, first + len(table)), low, table
