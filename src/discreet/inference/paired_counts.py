"""The law of the counts of two releases together, category by category, given the totals of both (docs/inference.md)."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

import numpy as np
from scipy.fft import irfft2, rfft2

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.errors import TooLargeError
from discreet.inference.category_contrasts import PairWeights
from discreet.inference.fixed_total_mixtures import probability_law
from discreet.inference.runs import Run, inverse
from discreet.inference.size_posterior import SizePosterior
from discreet.model.beta_mixtures import BetaMixture

_BATCH = 1 << 14


@dataclass(frozen=True, eq=False)
class PairedCounts:
    """Pairs of counts (p, q), of the first and of the second release, that are independent by category but for both totals."""

    totals: tuple[int, int]
    lows: Counts
    """The least p and q of each category, a row each."""
    factors: list[Floats]
    """The tilted law of each category's pair: a row for each p and a column for each q, from the least ones on."""
    lengths: tuple[int, int]
    """Totals that differ by so much are not told apart: they are as good as impossible."""
    omitted: float
    """Upper bound on the probability that is left out."""

    @property
    def work(self) -> int:
        """How many numbers the marginals are computed from."""
        return len(self.factors) * self.lengths[0] * self.lengths[1]

    @property
    def _left(self) -> Counts:
        """What the counts beyond the least ones add up to."""
        return np.asarray(np.array(self.totals) - self.lows.sum(axis=0), dtype=np.int64)

    @cached_property
    def _solved(self) -> tuple[list[Run], float]:
        """The laws of all categories' sums p + q, and the tilted probability of the totals."""
        spectra = [rfft2(factor, self.lengths) for factor in self.factors]
        after = [np.ones_like(spectra[0])]
        for spectrum in spectra[:0:-1]:
            after.append(after[-1] * spectrum)
        before, found, completion = np.ones_like(spectra[0]), [], 0.0
        for low, factor, spectrum in zip(self.lows, self.factors, spectra, strict=True):
            others = irfft2(before * after.pop(), self.lengths)
            rows, columns = ((self._left[side] - np.arange(factor.shape[side])) % self.lengths[side] for side in (0, 1))
            weight = factor * np.maximum(others[np.ix_(rows, columns)], 0.0)
            sums = np.add.outer(*map(np.arange, factor.shape)).ravel()
            law = np.asarray(np.bincount(sums, weights=weight.ravel()), dtype=np.float64)
            completion = float(law.sum())
            found.append(Run(int(low.sum()), law / completion))
            before = before * spectrum
        return found, completion

    @property
    def completion(self) -> float:
        """The tilted probability that both totals are what they are."""
        return self._solved[1]

    def marginal(self, category: int) -> Run:
        """Probabilities of one category's count in both releases together."""
        return self._solved[0][category]

    def probability_law(self, category: int, a: float, b: float, label: Hashable) -> BetaMixture:
        """The distribution of one category's probability: Beta(a + x, b + n - x) over the counts x."""
        return probability_law(self.marginal(category), sum(self.totals), a, b, label, self.omitted)

    def part(self, chosen: Sequence[int]) -> NoReturn:  # noqa: ARG002
        """Not computed: the totals of both releases tie all categories together."""
        raise TooLargeError("the distribution among some categories of so many records is not computed; look at draws: sample()")

    def covariance(self, a: Floats) -> NoReturn:  # noqa: ARG002
        """Not computed, for the same reason."""
        raise TooLargeError("covariances of so many records of two releases are not computed; sample() has draws")

    def pairs(self, first: int, second: int) -> list[PairWeights]:  # noqa: ARG002
        """Not computed: two categories have four counts here."""
        raise TooLargeError("contrasts of two categories of so many records are not computed; compare draws: sample(), or probability()")

    @property
    def size(self) -> SizePosterior:
        """The total is public."""
        return SizePosterior(sum(self.totals), np.ones(1))

    def sample(self, size: int, rng: np.random.Generator) -> Counts:
        """Draws, one a row: independent pairs of all categories but one, accepted in proportion to the weight of what they leave to it."""
        pivot = int(np.argmin([factor.max() for factor in self.factors]))
        last, ceiling = self.factors[pivot], float(self.factors[pivot].max())
        if self.completion < limits.POSTERIOR_ACCEPTANCE * ceiling:
            raise TooLargeError("draws of the true counts would take too long here; means and intervals do not")
        batches, drawn = [np.empty((0, len(self.factors)), dtype=np.int64)], 0
        while drawn < size:
            sums, left = np.zeros((_BATCH, len(self.factors)), dtype=np.int64), np.tile(self._left, (_BATCH, 1))
            for i, factor in enumerate(self.factors):
                if i != pivot:
                    found = np.stack(np.divmod(inverse(factor.ravel(), rng.random(_BATCH)), factor.shape[1]), axis=-1)
                    sums[:, i], left = found.sum(axis=1), left - found
            inside = np.asarray(((left >= 0) & (left < np.array(last.shape))).all(axis=1))
            chance = np.where(inside, last[tuple(np.where(inside[:, None], left, 0).T)], 0.0)
            sums[:, pivot] = left.sum(axis=1)
            batches.append((sums + self.lows.sum(axis=1))[rng.random(_BATCH) * ceiling < chance])
            drawn += len(batches[-1])
        return np.concatenate(batches)[:size]
