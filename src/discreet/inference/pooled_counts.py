"""The law of the counts of several groups of records together, given by points: exact sums, or draws (docs/inference.md)."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.inference.category_contrasts import PairWeights, check_pairs
from discreet.inference.covariances import listed_covariance
from discreet.inference.fixed_total_mixtures import probability_law
from discreet.inference.listed_parts import ListedPart
from discreet.inference.runs import Run, inverse
from discreet.inference.size_posterior import SizePosterior
from discreet.model.beta_mixtures import BetaMixture

_NEGLIGIBLE = 1e-18
"""Weight of pairs of a count and a total, relative to all, that are left out of a mixture."""


@dataclass(frozen=True, eq=False)
class PooledCounts:
    """A law given by points, one a row, and their probabilities. Totals may differ from point to point."""

    points: Counts
    probability: Floats
    omitted: float = 0.0
    """Upper bound on the probability that is left out."""

    @property
    def work(self) -> int:
        """How many numbers the marginals are computed from."""
        return self.points.size

    @cached_property
    def _totals(self) -> Counts:
        return np.asarray(self.points.sum(axis=1))

    @cached_property
    def _fixed(self) -> int | None:
        """The total, if all points have the same."""
        low, high = int(self._totals.min()), int(self._totals.max())
        return low if low == high else None

    def marginal(self, category: int) -> Run:
        """Probabilities of one category's count."""
        return _law(self.points[:, category], self.probability)

    def probability_law(self, category: int, a: float, b: float, label: Hashable) -> BetaMixture:
        """The distribution of one category's probability: Beta(a + x, b + n - x) over counts x and totals n."""
        if self._fixed is not None:
            return probability_law(self.marginal(category), self._fixed, a, b, label, self.omitted)
        pairs = np.stack([self.points[:, category], self._totals])
        low = pairs.min(axis=1, keepdims=True)
        width = int(np.ptp(pairs[1])) + 1
        places = (pairs[0] - low[0]) * width + pairs[1] - low[1]
        weight = np.asarray(np.bincount(places, weights=self.probability), dtype=np.float64)
        held = np.nonzero(weight > _NEGLIGIBLE * float(weight.sum()))[0]
        x, n = held // width + low[0], held % width + low[1]
        left = 1.0 - float(weight[held].sum()) / float(weight.sum())
        return BetaMixture(weight[held], a + x, b + (n - x), label, min(1.0, self.omitted + max(left, 0.0)))

    def part(self, chosen: Sequence[int]) -> ListedPart:
        """The law of some of the counts."""
        return ListedPart.of(self.points, self.probability, chosen, self.omitted)

    def covariance(self, a: Floats) -> Floats:
        """The covariances of the probabilities under Dir(a)."""
        return listed_covariance(self.points, self.probability, a)

    def pairs(self, first: int, second: int) -> list[PairWeights]:
        """The joint law of two counts and of the rest, one part for each value of the rest."""
        x, total = self.points[:, first], self.points[:, first] + self.points[:, second]
        rest = self._totals - total
        if self._fixed is not None:
            return [PairWeights.of_public_total(self._fixed, *_split(x, total, self.probability))]
        found = []
        for value in np.unique(rest).tolist():
            at = rest == value
            low_total, low, split = _split(x[at], total[at], self.probability[at])
            totals, one = np.arange(low_total, low_total + len(split)), np.zeros(1, dtype=np.int64)
            found.append(PairWeights(totals, low, split, np.full(len(split), value), one, np.ones((len(split), 1))))
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


def _split(x: Counts, total: Counts, probability: Floats) -> tuple[int, int, Floats]:
    """The least total of two counts, the least first count, and the weights of all pairs from there on."""
    check_pairs(int(np.ptp(total) + 1), int(np.ptp(x) + 1))
    split = np.zeros((int(np.ptp(total)) + 1, int(np.ptp(x)) + 1))
    np.add.at(split, (total - total.min(), x - x.min()), probability)
    return int(total.min()), int(x.min()), split
