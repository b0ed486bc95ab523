"""What is computed from the law of true counts whose total is not known: mixtures of Betas, pairs, parts, covariances and draws."""

from collections.abc import Hashable, Sequence
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from discreet.arrays import Counts, Floats
from discreet.inference.any_total_law import LawOfAnyTotal, joined
from discreet.inference.any_total_mixtures import probability_law
from discreet.inference.category_contrasts import PairWeights, check_pairs, middle_part, split_weights
from discreet.inference.covariances import segment_covariance
from discreet.inference.runs import Run, inverse, sum_of, values_at
from discreet.inference.size_posterior import SizePosterior
from discreet.model.beta_mixtures import BetaMixture
from discreet.numerics.tails import kept


class CountsOfAnyTotal(LawOfAnyTotal):
    """The posterior law of the true counts and of their total."""

    def probability_law(self, category: int, a: float, b: float, label: Hashable) -> BetaMixture:
        """The distribution of one category's probability: Beta(a + x, b + n - x) over counts x and totals n."""
        return probability_law(self, category, a, b, label)

    def pairs(self, first: int, second: int) -> list[PairWeights]:
        """The joint law of two counts and of the total, for each segment of totals."""
        sizes, scale = middle_part(self.sizes, self.sizes), float(logsumexp(self.log_sizes))
        found = []
        for segment in self.segments:
            factors = [middle_part(segment.windows[i], self.marginal(i)) for i in (first, second)]
            others = [window for i, window in enumerate(segment.windows) if i not in (first, second)]
            rest = sum_of(others, segment.floor).run if others else Run(0, np.ones(1))
            totals = np.arange(factors[0].low + factors[1].low, factors[0].high + factors[1].high + 1)
            low, high = max(segment.low, sizes.low), min(segment.high, sizes.high)
            r = np.arange(max(rest.low, low - int(totals[-1])), min(rest.high, high - int(totals[0])) + 1)
            if not len(r):
                continue
            check_pairs(len(totals), max(len(factors[0].value), len(r)))
            n = totals[:, None] + r
            held = (n >= low) & (n <= high)
            log_factor = np.where(held, segment.log_factor[np.where(held, n - segment.low, 0)] - scale, -np.inf)
            weights = np.exp(log_factor) * values_at(rest, int(r[0]), len(r))
            found.append(PairWeights(totals, factors[0].low, split_weights(*factors), np.zeros(len(totals), dtype=np.int64), r, weights))
        return found

    def part(self, chosen: Sequence[int]) -> "CountsOfAnyTotal":
        """The law of some of the counts, whatever the others are."""
        segments = joined([segment.part(chosen) for segment in self.segments])
        return CountsOfAnyTotal(segments, self.centres[:, list(chosen)], -np.inf, self.omitted)

    def covariance(self, a: Floats) -> Floats:
        """The covariances of the probabilities under Dir(a), with 0 on the diagonal."""
        return segment_covariance(self, a)

    @cached_property
    def size(self) -> SizePosterior:
        return SizePosterior(self.sizes.low, self.sizes.value, self.omitted)

    def sample(self, size: int, rng: np.random.Generator) -> Counts:
        """Draws, one a row: a total, and then its parts."""
        return self.split(self.sizes.low + inverse(self.sizes.value, rng.random(size)), rng)

    def split(self, totals: Counts, rng: np.random.Generator) -> Counts:
        """Draws given their totals, one a row: how a total splits between halves of the categories, and so on."""
        found = np.empty((len(totals), len(self.windows)), dtype=np.int64)
        for segment in self.segments:
            rows = np.nonzero((totals >= segment.low) & (totals <= segment.high))[0]
            if rows.size:
                found[rows] = np.stack(list(segment.sum.split(totals[rows], rng)), axis=-1)
        return found

    def joint(self, category: int, tail: float) -> tuple[int, int, Floats]:
        """The joint law of one count and the total, without about `tail` at the ends of either: the least of both, and probabilities."""
        marginal, scale = self.marginal(category), float(logsumexp(self.log_sizes))
        (first, last, _), (least, most, _) = kept(marginal.value, tail), kept(self.sizes.value, tail)
        x = marginal.low + np.arange(first, last + 1)
        low, high = self.sizes.low + least, self.sizes.low + most
        found = np.zeros((len(x), high - low + 1))
        for segment in self.segments:
            n = np.arange(max(low, segment.low), min(high, segment.high) + 1)
            if not n.size:
                continue
            rest = segment.others[category][0]
            at = n - x[:, None] - rest.low
            inside = (at >= 0) & (at < len(rest.value))
            own = values_at(segment.windows[category], int(x[0]), len(x))[:, None] * np.exp(segment.log_factor[n - segment.low] - scale)
            found[:, n - low] = own * np.where(inside, rest.value[np.where(inside, at, 0)], 0.0)
        return int(x[0]), low, found
