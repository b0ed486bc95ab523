"""The posterior law of true counts whose total is private: noise that is independent by category, and a prior on n (docs/inference.md).

`w_x ∝ p(n) n!/Γ(A + n) · Π_i P(z_i | x_i) Γ(a_i + x_i)/x_i!`, n = Σx. All but a factor of the total is a product, so the law of
`(x_i, n)` is `g_i(x_i) W_i(n - x_i) h(n)`, W_i a convolution of the factors of all other categories. The windows come from
`tilt_ladder`. Convolutions are done under a tilt, for a *segment* of totals that is not too far from the mean under that tilt; where the
prior is weak or the noise narrow one segment is enough.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.errors import TooLargeError
from discreet.inference import true_counts
from discreet.inference.any_total_mixtures import probability_law
from discreet.inference.category_contrasts import PairWeights, check_pairs, middle_part, split_weights
from discreet.inference.runs import Run, Sum, added, completed, inverse, kept, sum_of, values_at
from discreet.inference.size_posterior import SizePosterior
from discreet.inference.tilt_ladder import TAIL, Factors, Reach, reach_of
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.noise import CellNoise
from discreet.model.beta_mixtures import BetaMixture
from discreet.model.size_priors import SizePrior

_SUMMED = 1 << 25
"""Products of all convolutions up to which they are added up directly, to a relative error of 1e-12 however small the sums are."""
_DEEP, _SHALLOW = 400.0, 4.0
"""How far below its mean's, in logarithms, the probability of a segment's total may be: with direct sums, and with Fourier transforms."""
_UNDERFLOW, _NEGLIGIBLE = 1e-290, 1e-26
"""What is dropped at the ends of sums, relative to the largest: with direct sums, and with Fourier transforms."""
_USUAL_ROOM = 1.25
_USUAL_NODES = 320
"""Totals that a sum over all of them is done on, where there are many."""
_ENOUGH = 1e-17
"""Probability left out with which nobody needs to look again."""


def counts_of_any_total(a: Floats, noise: CellNoise, raw: tuple[int, ...], prior: SizePrior) -> "CountsOfAnyTotal":
    """The posterior law of the true counts given noisy ones, under Dir(a) and a prior on their total."""
    return counts_of_outcomes(a, [(noise, raw)], prior)


def counts_of_outcomes(a: Floats, outcomes: Sequence[tuple[CellNoise, tuple[int, ...]]], prior: SizePrior) -> "CountsOfAnyTotal":
    """The same given several outcomes about the same counts, each with its noise."""
    if max(max(raw) for _, raw in outcomes) > limits.COUNT:
        raise TooLargeError("a noisy count is beyond 2**53, where no posterior is computed; less noise (a larger epsilon) avoids that")
    centres = np.stack([np.maximum(np.array(raw, dtype=object), -1).astype(np.int64) for _, raw in outcomes])
    factors = Factors(a, centres, np.array([noise.slope for noise, _ in outcomes]), [noise.log_factor for noise, _ in outcomes])
    found = _held(factors, reach_of(factors, prior), prior.omitted)
    omitted = found.omitted - prior.omitted
    if omitted > _ENOUGH:  # the bounds of many categories add up their slack, so their tails must be shorter
        found = _held(factors, reach_of(factors, prior, TAIL * max(_ENOUGH * TAIL / omitted, 1e-200)), prior.omitted)
    return found


def _held(factors: Factors, reach: Reach, beyond: float) -> "CountsOfAnyTotal":
    """The law on these windows, unless they are too wide."""
    k = len(reach.windows)
    widths = [high - low + 1 for low, high in reach.windows]
    cells = reach.totals[1] - reach.totals[0] + 1
    if max(widths) > limits.WINDOW_CELLS or sum(widths) > limits.WINDOWS_HELD or k * cells > limits.WINDOW_CONVOLUTIONS:
        raise TooLargeError(
            f"the noise spreads the true counts of {k} categories over up to {max(cells, *widths):,} values: too many for the "
            "noise-aware posterior. Less noise (a larger epsilon) or fewer categories need fewer"
        )
    return CountsOfAnyTotal(factors, reach, beyond)


def noise_of_any_total(mechanism: Mechanism) -> CellNoise:
    """The noise of a mechanism whose n is private, if it is independent by category; refused otherwise."""
    noise = mechanism.noise
    if noise is None or noise.blocks or noise.cells < mechanism.k:
        raise TooLargeError(
            f"there is no noise-aware posterior of {type(mechanism).__name__} with a private n: its noise is not independent"
        )
    return noise


def check_posterior(mechanism: Mechanism) -> None:
    """Refuse, by public numbers alone, a mechanism whose raw outcomes have no posterior law of the true counts that can be computed."""
    if mechanism.n is None:
        check_any_total(mechanism.k, noise_of_any_total(mechanism).slope)
    else:
        true_counts.check_posterior(mechanism)


def usual_totals(k: int, slope: float) -> int:
    """About how many values the total of k categories has, given a usual outcome.

    The sum of k noises e^{-slope |d|} has about TAIL of its mass beyond (t + sqrt(4kt))/slope on either side, t = ln(1/TAIL).
    """
    t = -float(np.log(TAIL))
    return int(min(_USUAL_ROOM * 2.0 * (t + (4.0 * k * t) ** 0.5) / slope, 1e18)) + 1


def check_any_total(k: int, slope: float, most: int = limits.COUNT) -> None:
    """Refuse noise so wide that the total of a usual outcome, which is at most `most`, would have too many values."""
    t, cells = -float(np.log(TAIL)), min(usual_totals(k, slope), most + 1)
    pairs = _USUAL_NODES * min(int(_USUAL_ROOM * 2.0 * t / slope), cells)
    if pairs > limits.MIXTURE_CELLS:
        raise TooLargeError(
            f"the noise leaves about {pairs:,} pairs of a count and a total possible; the noise-aware posterior holds at most "
            f"{limits.MIXTURE_CELLS:,}. Less noise (a larger epsilon) needs fewer"
        )
    if cells > limits.WINDOW_CELLS or k * cells > limits.WINDOW_CONVOLUTIONS:
        raise TooLargeError(
            f"the noise spreads the true number of records over about {cells:,} values; the noise-aware posterior holds at most "
            f"{min(limits.WINDOW_CELLS, limits.WINDOW_CONVOLUTIONS // k):,} for {k} categories. Less noise (a larger epsilon) needs fewer"
        )


@dataclass(frozen=True, eq=False)
class Segment:
    """Consecutive totals, with the laws of all counts under a tilt that is good for them."""

    low: int
    log_factor: Floats
    """ln h(n) e^{-λn} Z(λ) for every total."""
    windows: list[Run]
    """The tilted law of each count."""
    floor: float

    @property
    def high(self) -> int:
        """The last total."""
        return self.low + len(self.log_factor) - 1

    @cached_property
    def sum(self) -> Sum:
        """The tilted law of the total."""
        return sum_of(self.windows, self.floor)

    @cached_property
    def others(self) -> list[tuple[Run, float]]:
        """For each category the tilted law of the total of the others, and what was dropped from it."""
        return list(self.sum.others(Run(0, np.ones(1)), self.floor))

    def log_weights(self) -> Floats:
        """The logarithms of the posterior weights of the totals."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.log_factor + np.log(values_at(self.sum.run, self.low, len(self.log_factor))))

    def log_dropped(self) -> float:
        """Bound on the logarithm of the weight of what was dropped from the ends of sums."""
        dropped = self.sum.dropped + max((more for _, more in self.others), default=0.0)
        return float(np.log(dropped) + self.log_factor.max()) if dropped > 0.0 else -np.inf

    def probes(self, category: int, centre: float, scale: float) -> Floats:
        """E[y | n], E[y² | n] and E[1/(1 + x) | n] for every total, y = (x - centre)/scale, x one count."""
        window, rest = self.windows[category], self.others[category][0]
        y = (window.x - centre) / scale
        factors = (y, y * y, 1.0 / (1.0 + window.x))
        sums = [values_at(added(Run(window.low, window.value * f), rest), self.low, len(self.log_factor)) for f in factors]
        whole = values_at(self.sum.run, self.low, len(self.log_factor))
        return np.array(sums) / np.where(whole > 0.0, whole, 1.0)

    def marginal(self, category: int) -> Floats:
        """The weights of all counts in the window, over the totals of the segment, up to a constant."""
        window = self.windows[category]
        target = Run(self.low, np.exp(self.log_factor - self.log_factor.max()))
        return np.asarray(window.value * np.maximum(completed(target, self.others[category][0], window).value, 0.0))


@dataclass(frozen=True, eq=False)
class CountsOfAnyTotal:
    """The posterior law of the true counts and of their total."""

    factors: Factors
    reach: Reach
    beyond: float = 0.0
    """Upper bound on the probability of what the prior on the total leaves out."""

    @property
    def work(self) -> int:
        """How many numbers the marginals of all categories are computed from."""
        cells = self.reach.totals[1] - self.reach.totals[0] + 1
        return cells * (len(self.reach.windows) + 1) + 8 * sum(high - low + 1 for low, high in self.reach.windows)

    @cached_property
    def segments(self) -> list[Segment]:
        """The totals in order, each with a tilt that is good for it."""
        widths = [high - low + 1 for low, high in self.reach.windows]
        direct = 3 * max(widths) * sum(widths) * int(np.ceil(np.log2(len(widths)))) <= _SUMMED
        depth, floor = (_DEEP, _UNDERFLOW) if direct else (_SHALLOW, _NEGLIGIBLE)
        logs = [(low, self.factors.log_weight(i, np.arange(low, high + 1.0))) for i, (low, high) in enumerate(self.reach.windows)]
        return [self._segment(first, last, rate, logs, floor) for first, last, rate in self._stretches(depth)]

    def _stretches(self, depth: float) -> Iterator[tuple[int, int, float]]:
        """First and last totals, with the tilt under which they are all less than `depth` below the best bound."""
        ladder, (first, end) = self.reach.ladder, self.reach.totals
        n = np.arange(first, end + 1, dtype=np.float64)
        own, bound = ladder.lowest(n)
        while first <= end:
            at = len(n) - (end - first + 1)
            excess = ladder.heights - ladder.rates * (n[at] - ladder.reference) - bound[at]
            good = np.nonzero(excess <= depth)[0]
            j = max(int(good.max()) if good.size else 0, int(own[at]))
            middle = int(own[(at + len(n) - 1) // 2])
            j = middle if own[at] < middle < j else j  # one tilt for all totals is best in their middle
            far = ladder.heights[j] - ladder.rates[j] * (n[at:] - ladder.reference) - bound[at:] > depth
            past = np.nonzero(far & (own[at:] > j))[0]
            last = first + int(past[0]) - 1 if past.size else end
            yield first, last, float(ladder.rates[j])
            first = last + 1

    def _segment(self, first: int, last: int, rate: float, logs: list[tuple[int, Floats]], floor: float) -> Segment:
        windows, height = [], 0.0
        for (low, log_weight), reference in zip(logs, self.factors.references, strict=True):
            tilted = log_weight + rate * (np.arange(low, low + len(log_weight)) - reference)
            constant = float(logsumexp(tilted))
            height += constant
            windows.append(Run(low, np.exp(tilted - constant)))
        n = np.arange(first, last + 1, dtype=np.float64)
        log_total = self.reach.log_total[first - self.reach.totals[0] : last - self.reach.totals[0] + 1]
        return Segment(first, log_total - rate * (n - self.reach.ladder.reference) + height, windows, floor)

    @cached_property
    def _log_sizes(self) -> Floats:
        return np.concatenate([segment.log_weights() for segment in self.segments])

    @cached_property
    def sizes(self) -> Run:
        """The posterior law of the total."""
        return Run(self.reach.totals[0], np.exp(self._log_sizes - logsumexp(self._log_sizes)))

    @cached_property
    def shares(self) -> list[float]:
        """The posterior probability of each segment's totals."""
        low = self.reach.totals[0]
        return [float(self.sizes.value[s.low - low : s.high - low + 1].sum()) for s in self.segments]

    @cached_property
    def omitted(self) -> float:
        """Upper bound on the probability that is left out."""
        left = float(logsumexp([self.reach.log_outside, *(segment.log_dropped() for segment in self.segments)]))
        return float(min(1.0, self.beyond + np.exp(min(left - float(logsumexp(self._log_sizes)), 0.0))))

    @cached_property
    def nodes(self) -> dict[int, tuple[Counts, Floats, float]]:
        """Totals that stand for all in sums, once they are known (`any_total_mixtures`)."""
        return {}

    @cached_property
    def _marginals(self) -> dict[int, Run]:
        return {}

    def probes(self, category: int) -> Floats:
        """Three means of one count given each total: of its distance from its overall mean in standard deviations, of the square, and
        of 1/(1 + count), which changes where the others do not."""
        run = self.marginal(category)
        mean = float(run.value @ run.x)
        deviation = max(float(np.sqrt(run.value @ (run.x - mean) ** 2)), 0.5)
        return np.concatenate([segment.probes(category, mean, deviation) for segment in self.segments], axis=1)

    def marginal(self, category: int) -> Run:
        """Probabilities of one category's count."""
        if category not in self._marginals:
            low, high = self.reach.windows[category]
            value = np.zeros(high - low + 1)
            for segment, share in zip(self.segments, self.shares, strict=True):
                part = segment.marginal(category)
                if share > 0.0:
                    value += share * part / part.sum()
            self._marginals[category] = Run(low, value)
        return self._marginals[category]

    def probability_law(self, category: int, a: float, b: float, label: Hashable) -> BetaMixture:
        """The distribution of one category's probability: Beta(a + x, b + n - x) over counts x and totals n."""
        return probability_law(self, category, a, b, label)

    def pairs(self, first: int, second: int) -> list[PairWeights]:
        """The joint law of two counts and of the total, for each segment of totals."""
        sizes, scale = middle_part(self.sizes, self.sizes), float(logsumexp(self._log_sizes))
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

    @cached_property
    def size(self) -> SizePosterior:
        return SizePosterior(self.sizes.low, self.sizes.value, self.omitted)

    def sample(self, size: int, rng: np.random.Generator) -> Counts:
        """Draws, one a row: a total, and then its parts."""
        return self.split(self.sizes.low + inverse(self.sizes.value, rng.random(size)), rng)

    def split(self, totals: Counts, rng: np.random.Generator) -> Counts:
        """Draws given their totals, one a row: how a total splits between halves of the categories, and so on."""
        found = np.empty((len(totals), len(self.reach.windows)), dtype=np.int64)
        for segment in self.segments:
            rows = np.nonzero((totals >= segment.low) & (totals <= segment.high))[0]
            if rows.size:
                found[rows] = np.stack(list(segment.sum.split(totals[rows], rng)), axis=-1)
        return found

    def joint(self, category: int, tail: float) -> tuple[int, int, Floats]:
        """The joint law of one count and the total, without about `tail` at the ends of either: the least of both, and probabilities."""
        marginal, scale = self.marginal(category), float(logsumexp(self._log_sizes))
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
