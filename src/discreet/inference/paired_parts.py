"""Joint laws of some categories' counts in two releases together (docs/inference_proofs.md, "Several releases").

A category has counts (p, q) in the first and in the second release, and its law of s = p + q is wanted jointly with that of others. With
Φ(ω, s) the Fourier transform over p of its weights of (p, s - p), two laws and what is left to all others have the joint law

    W(s, u)  ∝  Σ_ω Φ_1(ω, s) Φ_2(ω, u - s) Ō(ω, u) ,   u the sum of both,

O(p, u) being the weight of what p and u leave to the others.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from scipy.fft import next_fast_len, rfft

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.errors import TooLargeError
from discreet.inference.category_contrasts import PairWeights, check_pairs
from discreet.inference.runs import Run
from discreet.inference.size_posterior import SizePosterior
from discreet.model.beta_mixtures import BetaMixture
from discreet.model.beta_rows import BetaRows, Block

if TYPE_CHECKING:
    from discreet.inference.paired_counts import PairedCounts


@dataclass(frozen=True, eq=False)
class Plane:
    """Weights of pairs of counts: a row for each p and a column for each q, from the least ones on."""

    low: Counts
    """The least p and q."""
    weight: Floats

    def added(self, other: "Plane") -> "Plane":
        """The weights of the sums of two independent pairs."""
        from scipy.signal import fftconvolve  # slow to load

        cells = (self.weight.shape[0] + other.weight.shape[0]) * (self.weight.shape[1] + other.weight.shape[1])
        if cells > limits.PAIRED_CELLS:
            raise TooLargeError(
                f"the noise leaves {cells:,} pairs of counts of these categories possible; up to {limits.PAIRED_CELLS:,} are held. Look at "
                "draws: sample()"
            )
        return Plane(self.low + other.low, np.maximum(fftconvolve(self.weight, other.weight), 0.0))

    def by_sum(self) -> Floats:
        """A row for each p + q and a column for each p."""
        rows, columns = self.weight.shape
        found = np.zeros((rows + columns - 1, rows))
        for p, weight in enumerate(self.weight):
            found[p : p + columns, p] = weight
        return found


def joint_law(first: Plane, second: Plane, others: Floats, totals: Counts, times: int = 1) -> tuple[int, int, Floats]:
    """The law of u, the sum of all four counts, and of s, that of the first two, up to a constant.

    Args:
        first, second: weights of two independent pairs.
        others: weights of pairs that stand for all other counts, one period of them from (0, 0) on.
        totals: what p and q of all three add up to.
        times: how often this is asked for, at about the same size.

    Returns:
        The least u, the least s, and weights with a row for each u and a column for each s.
    """
    reach = [mine + theirs - 1 for mine, theirs in zip(first.weight.shape, second.weight.shape, strict=True)]
    size = next_fast_len(reach[0], real=True)
    mine, theirs = (rfft(plane.by_sum(), size) for plane in (first, second))
    rows = len(mine) + len(theirs) - 1
    check_pairs(rows, len(mine))
    _check_products(times * rows * len(mine) * mine.shape[1])
    ends = np.ones(mine.shape[1])
    ends[1 : (size + 1) // 2] = 2.0  # frequencies that stand for their conjugates too
    p, left = np.arange(reach[0]), totals - first.low - second.low
    found = np.zeros((rows, len(mine)))
    for u in range(rows):
        q = u - p
        rest = np.where((q >= 0) & (q < reach[1]), others[(left[0] - p) % len(others), (left[1] - q) % others.shape[1]], 0.0)
        low, high = max(0, u - len(theirs) + 1), min(u, len(mine) - 1)
        turned = mine[low : high + 1] * (np.conj(rfft(rest, size)) * ends)
        found[u, low : high + 1] = np.einsum("sw,sw->s", turned, theirs[u - high : u - low + 1][::-1]).real
    return int(first.low.sum() + second.low.sum()), int(first.low.sum()), np.maximum(found, 0.0)


def _check_products(products: int) -> None:
    if products > limits.PAIRED_PRODUCTS:
        raise TooLargeError(
            f"the joint laws of these counts in two releases take {products:,} products, done up to {limits.PAIRED_PRODUCTS:,}. Compare "
            "draws: sample(), or probability()"
        )


@dataclass(frozen=True, eq=False)
class PairedPart:
    """The law of some categories' counts in two releases together, whatever the others are."""

    whole: "PairedCounts"
    chosen: tuple[int, ...]

    @property
    def work(self) -> int:
        """How many numbers the marginals are computed from."""
        return self.whole.work

    @property
    def omitted(self) -> float:
        """Upper bound on the probability that is left out."""
        return self.whole.omitted

    @cached_property
    def _known(self) -> dict[int, tuple[Counts, int, Floats]]:
        return {}

    def _joint(self, category: int) -> tuple[Counts, int, Floats]:
        """The law of one count and of the total of all chosen ones: the totals, the least count, and probabilities."""
        if category not in self._known:
            self._known[category] = self.whole.joint([self.chosen[category]], [i for i in self.chosen if i != self.chosen[category]])
        return self._known[category]

    def marginal(self, category: int) -> Run:
        """Probabilities of one category's count."""
        _, low, law = self._joint(category)
        return Run(low, law.sum(axis=0))

    def probability_law(self, category: int, a: float, b: float, label: Hashable) -> BetaMixture:
        """The distribution of one category's probability among the chosen: Beta(a + x, b + u - x) over counts x and totals u."""
        totals, low, law = self._joint(category)
        return BetaRows([Block(low, totals, law)], a, b, label, self.omitted)

    @property
    def size(self) -> SizePosterior:
        """The law of the total of the chosen counts."""
        totals, _, law = self._joint(0)
        return SizePosterior(int(totals[0]), law.sum(axis=1), self.omitted)

    def part(self, chosen: Sequence[int]) -> "PairedPart":
        """The law of some of these."""
        return PairedPart(self.whole, tuple(self.chosen[i] for i in chosen))

    def pairs(self, first: int, second: int) -> list[PairWeights]:
        """The joint law of two counts, if these are all. Those of three take more than is computed."""
        if len(self.chosen) > 2:
            raise TooLargeError("contrasts among some categories of two large releases need given() of the two alone, or draws: sample()")
        totals, low, law = self.whole.joint([self.chosen[first]], [self.chosen[second]])
        nothing = np.zeros(len(totals), dtype=np.int64)
        return [PairWeights(totals, low, law, nothing, nothing[:1], np.ones((len(totals), 1)))]

    def covariance(self, a: Floats) -> Floats:
        """The covariances of the probabilities under Dir(a), with 0 on the diagonal: from the variances of sums of two of them."""
        k = len(a)
        own = [self.probability_law(i, float(a[i]), float(a.sum() - a[i]), "").var() for i in range(k)]
        found = np.zeros((k, k))
        for i, j in combinations(range(k), 2):
            found[i, j] = found[j, i] = 0.5 * (self._variance_of_sum(i, j, a) - own[i] - own[j])
        return found

    def _variance_of_sum(self, first: int, second: int, a: Floats) -> float:
        """The variance of two probabilities together, which are 1 if there are no others."""
        others = [one for i, one in enumerate(self.chosen) if i not in (first, second)]
        if not others:
            return 0.0
        times = len(a) * (len(a) - 1) // 2
        totals, low, law = self.whole.joint([self.chosen[first], self.chosen[second]], others, times)
        both = float(a[first] + a[second])
        return float(BetaRows([Block(low, totals, law)], both, float(a.sum()) - both, "", self.omitted).var())

    def sample(self, size: int, rng: np.random.Generator) -> Counts:
        """Draws, one a row."""
        return self.whole.sample(size, rng)[:, list(self.chosen)]
