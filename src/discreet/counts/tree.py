"""The law of the parts of a count and of the count itself: windows, a ladder of tilts, and sums (docs/proofs/inference.md).

`w_x ∝ root(n) P(z | n) n!/Γ(A + n) · Π_i P(z_i | x_i) Γ(a_i + x_i)/x_i!`, n = Σx. All but a factor of the total is a product, so the law of
`(x_i, n)` is `g_i(x_i) W_i(n - x_i) h(n)`, W_i a convolution of the factors of all other parts. The windows come from `ladder`. Sums are
done under a tilt, for a *segment* of totals that is not too far from the mean under that tilt; where the prior is weak or the noise
narrow one segment is enough, and a known total is a segment with one number. Sums are of positive floats; short ones are added up
directly, to a relative error of 1e-12, long ones by Fourier transform, to 1e-16 of the largest term times the length.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.counts.factors import Count, Split
from discreet.counts.ladder import TAIL, Parts, TotalsInReach, reach_of
from discreet.counts.law import OMITTED_AT_MOST, PairWeights, check_pairs, middle_part, split_weights
from discreet.counts.moments import ScoreMoments, segment_covariance, segment_score
from discreet.counts.runs import FLOOR, Run, inverse, log_sum, sum_of, values_at
from discreet.counts.segments import LawOfAnyTotal, TotalSegment, joined
from discreet.counts.size_posterior import SizePosterior
from discreet.errors import TooLargeError
from discreet.model.size_priors import SizePrior
from discreet.numerics.tails import kept

_SUMMED = 1 << 25
"""Products of all convolutions up to which they are added up directly, to a relative error of 1e-12 however small the sums are."""
_SUM_DEPTH, _TRANSFORM_DEPTH = 400.0, 4.0
"""The most that the probability of a segment's total is below its mean's, in logarithms: with direct sums, and with Fourier transforms."""
_UNDERFLOW = 1e-290
"""The probability, relative to the largest, below which ends of direct sums are dropped; of sums by Fourier transforms it is `FLOOR`."""


@dataclass(frozen=True, eq=False)
class TreeCounts(LawOfAnyTotal):
    """The posterior law of the parts of a count and of their total."""

    origin: Parts | None = None
    """All parts that the law was computed from, for the constants that logarithms of weights lack."""
    log_constant: float = 0.0
    """The constant that the logarithms of the likelihoods lack."""
    least: Counts | None = None
    """The least count of each part that what was observed of it leaves possible; 0 if nothing is said."""

    @property
    def first(self) -> Counts:
        """The least count of each part that what was observed of it leaves possible."""
        return np.zeros(len(self.windows), dtype=np.int64) if self.least is None else self.least

    @property
    def log_evidence(self) -> float:
        """The logarithm of the sum of all weights, those of the root as they are given."""
        return log_sum(self.log_sizes) + self.log_constant + (0.0 if self.origin is None else self.origin.log_constant())

    @property
    def work(self) -> int:
        """The count of numbers that the marginals of all parts are computed from; the logarithms of a window's cells take longer."""
        low, high = (np.array(ends) for ends in zip(*self.windows, strict=True))
        return totals_gone_through(self.totals, low, high) * (len(low) + (self.total is None)) + 8 * int((high - low + 1).sum())

    def pairs(self, first: int, second: int) -> list[PairWeights]:
        """The joint law of two counts and of the total, for each segment of totals."""
        sizes, scale = middle_part(self.sizes, self.sizes), log_sum(self.log_sizes)
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
            check_pairs(len(totals), len(factors[0].value) if segment.fixed else max(len(factors[0].value), len(r)))
            split = split_weights(*factors)
            if segment.fixed:
                weight = values_at(rest, segment.low - int(totals[-1]), len(totals))[::-1]
                found.append(PairWeights.of_public_total(segment.low, int(totals[0]), factors[0].low, split * weight[:, None]))
                continue
            n = totals[:, None] + r
            held = (n >= low) & (n <= high)
            log_factor = np.where(held, segment.log_factor[np.where(held, n - segment.low, 0)] - scale, -np.inf)
            weights = np.exp(log_factor) * values_at(rest, int(r[0]), len(r))
            found.append(PairWeights(totals, factors[0].low, split, np.zeros(len(totals), dtype=np.int64), r, weights))
        return found

    def part(self, chosen: Sequence[int]) -> "TreeCounts":
        """The law of some of the counts, whatever the others are."""
        segments = joined([segment.part(chosen) for segment in self.segments])
        least = self.first[list(chosen)]
        return TreeCounts(segments, self.centres[:, list(chosen)], -np.inf, self.omitted, self.origin, self.log_constant, least)

    def merged(self, sets: Sequence[Sequence[int]]) -> "TreeCounts":
        """The law of sums of counts: each count must be in one of these sets, and a set becomes one count."""
        segments = [segment.merged(sets) for segment in self.segments]
        centres = np.stack([self.centres[:, list(chosen)].sum(axis=1) for chosen in sets], axis=-1)
        least = np.array([self.first[list(chosen)].sum() for chosen in sets])
        return TreeCounts(segments, centres, -np.inf, self.omitted, self.origin, self.log_constant, least)

    def covariance(self, a: Floats) -> Floats:
        """The covariances of the probabilities under Dir(a), with 0 on the diagonal."""
        return segment_covariance(self, a)

    def score(self, weights: Floats) -> ScoreMoments:
        """The moments of the sum of the parts, each with its weight, for every total."""
        return segment_score(self, weights)

    @cached_property
    def size(self) -> SizePosterior:
        """The law of the total."""
        return SizePosterior(self.sizes.low, self.sizes.value, 0.0 if self.total is not None else self.omitted)

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
        marginal = self.marginal(category)
        (first, last, _), (least, most, _) = kept(marginal.value, tail), kept(self.sizes.value, tail)
        n, share = self.sizes.low + np.arange(least, most + 1), self.sizes.value[least : most + 1]
        law = self.joint_weights(category, n, share, (marginal.low + first, marginal.low + last))
        return law.first, int(n[0]), law.weights.T


def counts_of_split(split: Split, root: SizePrior, whole: Count | None = None, *, log_constant: float = 0.0) -> TreeCounts:
    """The posterior law of parts that are split no further, and of the count that they add up to.

    Args:
        split: the parts, with what was observed of each, and the prior of their shares.
        root: the weight of their total.
        whole: the count that is split, if it was observed itself.
        log_constant: what the logarithms of the likelihoods lack, for the evidence.
    """
    fixed = root.first == root.last
    parts = Parts(split.a, split.parts, _references(split, root))
    whole = Count() if whole is None else whole
    held = partial(_held, parts, whole, root, log_constant)
    if fixed:
        return held(limits.WINDOW_TAIL)
    found = held(TAIL)
    omitted = found.omitted - root.omitted
    if omitted > OMITTED_AT_MOST:  # the bounds of many categories add up their slack, so their tails must be shorter
        found = held(TAIL * max(OMITTED_AT_MOST * TAIL / omitted, 1e-200))
    return found


def _references(split: Split, root: SizePrior) -> Floats:
    """Counts that logarithms are taken relative to: likely ones, and not 0, where the slope of ln Γ(a + x) is as large as 1/a."""
    seen = np.array([max((bend for bend in part.bends), default=0.0) for part in split.parts])
    if root.first == root.last:
        seen = root.first * split.a / split.a.sum()
    return np.asarray(np.maximum(1.0, np.rint(np.clip(seen, 0.0, float(limits.RAW_OUTCOME)))))


def _held(parts: Parts, whole: Count, root: SizePrior, log_constant: float, tail: float) -> TreeCounts:
    """The law on windows that leave out about `tail` at each end, unless they are too wide."""
    reach = reach_of(parts, whole, root, tail)
    k = len(reach.windows)
    low, high = (np.array(ends) for ends in zip(*reach.windows, strict=True))
    widths: list[int] = (high - low + 1).tolist()
    cells = totals_gone_through(reach.totals, low, high)
    if max(cells, *widths) > limits.WINDOW_CELLS or sum(widths) > limits.WINDOWS_HELD or k * cells > limits.WINDOW_CONVOLUTIONS:
        raise TooLargeError(
            f"the noise spreads the true counts of {k} categories over up to {max(cells, *widths):,} values: too many for the "
            "noise-aware posterior. Less noise (a larger epsilon) or fewer categories need fewer"
        )
    least = np.array([count.first for count in parts.counts], dtype=np.int64)
    return TreeCounts(_segments(reach), _centres(parts), reach.log_outside, root.omitted, reach.parts, log_constant, least)


def totals_gone_through(totals: tuple[int, int], low: Counts, high: Counts) -> int:
    """Return the number of values of the total of parts between these counts or, if it is known, of all but the longest part."""
    first, last = totals
    if first < last:
        return last - first + 1
    widest = int(np.argmax(high - low))
    return min(first, int(high.sum() - high[widest])) - int(low.sum() - low[widest]) + 1


def _centres(parts: Parts) -> Counts:
    """The observed counts in rows, none below 0: where they add up, laws of totals may bend."""
    rows = max(1, max(len(part.bends) for part in parts.counts))
    found = np.zeros((rows, len(parts.counts)), dtype=np.int64)
    for i, part in enumerate(parts.counts):
        bends = part.bends or (0.0,)
        found[:, i] = [max(int(bends[min(row, len(bends) - 1)]), 0) for row in range(rows)]
    return found


def _segments(reach: TotalsInReach) -> list[TotalSegment]:
    """The totals in order, each with a tilt that is good for it."""
    widths = [high - low + 1 for low, high in reach.windows]
    direct = 3 * max(widths) * sum(widths) * int(np.ceil(np.log2(max(len(widths), 2)))) <= _SUMMED
    depth, floor = (_SUM_DEPTH, _UNDERFLOW) if direct else (_TRANSFORM_DEPTH, FLOOR)
    logs = [Run(low, reach.parts.log_weight(i, np.arange(low, high + 1.0))) for i, (low, high) in enumerate(reach.windows)]
    return [_segment(reach, totals, rate, logs, floor) for totals, rate in _stretches(reach, depth)]


def _stretches(reach: TotalsInReach, depth: float) -> Iterator[tuple[range, float]]:
    """Consecutive totals, with the tilt under which they are all less than `depth` below the best bound."""
    ladder, (first, end) = reach.ladder, reach.totals
    n = np.arange(first, end + 1, dtype=np.float64)
    own, bound = ladder.lowest(n)
    weighted = reach.log_total > -np.inf  # a segment begins at a total that has a weight, so that none is without any
    while first <= end:
        at = len(n) - (end - first + 1)
        excess = ladder.heights - ladder.rates * (n[at] - ladder.reference) - bound[at]
        good = np.nonzero(excess <= depth)[0]
        j = max(int(good.max()) if good.size else 0, int(own[at]))
        middle = int(own[(at + len(n) - 1) // 2])
        j = middle if own[at] < middle < j else j  # one tilt for all totals is best in their middle
        far = ladder.heights[j] - ladder.rates[j] * (n[at:] - ladder.reference) - bound[at:] > depth
        past = np.nonzero(far & (own[at:] > j) & weighted[at:])[0]
        last = first + int(past[0]) - 1 if past.size else end
        yield range(first, last + 1), float(ladder.rates[j])
        first = last + 1


def _segment(reach: TotalsInReach, totals: range, rate: float, logs: list[Run], floor: float) -> TotalSegment:
    windows, height = [], 0.0
    for run, reference in zip(logs, reach.parts.references, strict=True):
        tilted = run.value + rate * (run.x - reference)
        constant = log_sum(tilted)
        height += constant
        windows.append(Run(run.low, np.exp(tilted - constant)))
    n = np.arange(totals.start, totals.stop, dtype=np.float64)
    log_total = reach.log_total[totals.start - reach.totals[0] : totals.stop - reach.totals[0]]
    return TotalSegment(totals.start, log_total - rate * (n - reach.ladder.reference) + height, windows, floor)
