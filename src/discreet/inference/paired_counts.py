"""The law of the counts of two releases together, category by category, given the totals of both (docs/inference_proofs.md)."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import accumulate
from operator import mul as multiply

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft2, rfft2

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.errors import TooLargeError
from discreet.inference.category_contrasts import PairWeights
from discreet.inference.fixed_total_mixtures import probability_law
from discreet.inference.paired_parts import PairedPart, Plane, joint_law
from discreet.inference.runs import Run, inverse, kept
from discreet.inference.size_posterior import SizePosterior
from discreet.model.beta_mixtures import BetaMixture

_Spectrum = NDArray[np.complex128]
_BATCH = 1 << 14
_LEFT_OUT = 1e-16
"""Probability of pairs of counts that are left out at either end where joint laws are computed."""


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
    def _spectra(self) -> list[_Spectrum]:
        return [rfft2(factor, self.lengths) for factor in self.factors]

    @cached_property
    def _after(self) -> list[_Spectrum]:
        """For each category, the product of the spectra of all later ones."""
        products = list(accumulate(self._spectra[:0:-1], multiply, initial=np.ones_like(self._spectra[0])))
        return products[::-1]

    def _weights(self, category: int, others: Floats) -> Floats:
        """The posterior weights of one category's pair, given the periodic law of the sums of all others."""
        factor = self.factors[category]
        rows, columns = ((self._left[side] - np.arange(factor.shape[side])) % self.lengths[side] for side in (0, 1))
        return np.asarray(factor * np.maximum(others[np.ix_(rows, columns)], 0.0))

    @cached_property
    def _solved(self) -> tuple[list[Run], float, list[tuple[slice, slice]]]:
        """The laws of all categories' sums p + q, the tilted probability of the totals, and where each category's pair nearly always is."""
        before, found, completion, boxes = np.ones_like(self._spectra[0]), [], 0.0, []
        for i, (low, spectrum, after) in enumerate(zip(self.lows, self._spectra, self._after, strict=True)):
            weight = self._weights(i, irfft2(before * after, self.lengths))
            sums = np.add.outer(*map(np.arange, weight.shape)).ravel()
            law = np.asarray(np.bincount(sums, weights=weight.ravel()), dtype=np.float64)
            completion = float(law.sum())
            found.append(Run(int(low.sum()), law / completion))
            ends = [kept(weight.sum(axis=axis), _LEFT_OUT * completion) for axis in (1, 0)]
            boxes.append((slice(ends[0][0], ends[0][1] + 1), slice(ends[1][0], ends[1][1] + 1)))
            before = before * spectrum
        return found, completion, boxes

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

    def part(self, chosen: Sequence[int]) -> PairedPart:
        """The law of some of the counts."""
        return PairedPart(self, tuple(chosen))

    def _plane(self, category: int) -> Plane:
        box = self._solved[2][category]
        return Plane(self.lows[category] + np.array([side.start for side in box]), self.factors[category][box])

    def joint(self, chosen: Sequence[int], others: Sequence[int], times: int = 1) -> tuple[Counts, int, Floats]:
        """The law of some counts together and of the total of them and some others: all totals, the least count, and probabilities.

        `times` says how often this is asked for, so that what would take too long is refused at once.
        """
        rest = [i for i in range(len(self.factors)) if i not in chosen and i not in others]
        outside = irfft2(reduce(multiply, (self._spectra[i] for i in rest), np.ones_like(self._spectra[0])), self.lengths)
        mine, among = (reduce(Plane.added, map(self._plane, categories)) for categories in (chosen, others))
        totals = np.array(self.totals) - self.lows[rest].sum(axis=0)
        least, low, law = joint_law(mine, among, np.maximum(outside, 0.0), totals, times)
        return np.arange(least, least + len(law)), low, law / law.sum()

    def covariance(self, a: Floats) -> Floats:
        """The covariances of the probabilities under Dir(a), with 0 on the diagonal."""
        k, cells = len(self.factors), self.lengths[0] * self.lengths[1]
        if k * k * cells > limits.COVARIANCE_PRODUCTS:
            raise TooLargeError(
                f"covariances of {k:,} categories in two releases take {k * k * cells:,} products, done up to "
                f"{limits.COVARIANCE_PRODUCTS:,}. sample() has draws"
            )
        means = [float(run.value @ run.x) for run in self._solved[0]]
        moments = [rfft2(self.factors[i] * self._distances(i, mean), self.lengths) for i, mean in enumerate(means)]
        found, before = np.zeros((k, k)), self._at_totals
        for i, mine in enumerate(moments):
            between = before * mine
            for j in range(i + 1, k):
                found[i, j] = found[j, i] = float(np.einsum("pq,pq->", between * moments[j], self._after[j]).real) / self.completion
                between *= self._spectra[j]
            before = before * self._spectra[i]
        y, total = a + means, float(a.sum()) + sum(self.totals)
        found = found / (total * (total + 1.0)) - np.outer(y, y) / (total**2 * (total + 1.0))
        np.fill_diagonal(found, 0.0)
        return np.asarray(found)

    def _distances(self, category: int, mean: float) -> Floats:
        """How far p + q is from its mean, for each pair."""
        p, q = (low + np.arange(size) for low, size in zip(self.lows[category], self.factors[category].shape, strict=True))
        return np.asarray(np.add.outer(p, q) - mean)

    @cached_property
    def _at_totals(self) -> _Spectrum:
        """Factors with which the sum of a spectrum is its law at the totals."""
        rows, columns = (np.exp(2j * np.pi * self._left[side] * np.arange(size) / size) / size for side, size in enumerate(self.lengths))
        columns = columns[: self.lengths[1] // 2 + 1]
        columns[1 : (self.lengths[1] + 1) // 2] *= 2.0  # frequencies that stand for their conjugates too
        return np.asarray(np.outer(rows, columns))

    def pairs(self, first: int, second: int) -> list[PairWeights]:
        """The joint law of two counts."""
        totals, low, law = self.joint([first], [second])
        return [PairWeights.of_public_total(sum(self.totals), int(totals[0]), low, law)]

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
