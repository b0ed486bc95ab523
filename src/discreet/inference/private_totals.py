"""The posterior law of true counts whose total is private: independent noise by category, and a prior on n (docs/proofs/inference.md).

`w_x ∝ p(n) n!/Γ(A + n) · Π_i P(z_i | x_i) Γ(a_i + x_i)/x_i!`, n = Σx. All but a factor of the total is a product, so the law of
`(x_i, n)` is `g_i(x_i) W_i(n - x_i) h(n)`, W_i a convolution of the factors of all other categories. The windows come from
`tilt_ladder`. Convolutions are done under a tilt, for a *segment* of totals that is not too far from the mean under that tilt; where the
prior is weak or the noise narrow one segment is enough.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import logsumexp

from discreet import limits
from discreet.arrays import Floats
from discreet.errors import TooLargeError
from discreet.inference import true_counts
from discreet.inference.any_total_counts import CountsOfAnyTotal
from discreet.inference.any_total_law import TotalSegment
from discreet.inference.runs import Run
from discreet.inference.tilt_ladder import TAIL, LadderFactors, TotalsInReach, reach_of
from discreet.mechanisms.base import Mechanism, Prior
from discreet.mechanisms.noise import CellNoise
from discreet.model.size_priors import SizePrior

_SUMMED = 1 << 25
"""Products of all convolutions up to which they are added up directly, to a relative error of 1e-12 however small the sums are."""
_SUM_DEPTH, _TRANSFORM_DEPTH = 400.0, 4.0
"""How far below its mean's, in logarithms, the probability of a segment's total may be: with direct sums, and with Fourier transforms."""
_TRANSFORM_FLOOR = 1e-26
"""What is dropped at the ends of sums by Fourier transforms, relative to the largest; of direct sums it is `true_counts.UNDERFLOW`."""
_USUAL_ROOM = 1.25
_USUAL_NODES = 320
"""Totals that a sum over all of them is done on, where there are many."""
_OMITTED_AT_MOST = 1e-17
"""Probability left out with which nobody needs to look again."""


def counts_of_any_total(a: Floats, noise: CellNoise, raw: tuple[int, ...], prior: SizePrior) -> "CountsOfAnyTotal":
    """The posterior law of the true counts given noisy ones, under Dir(a) and a prior on their total."""
    return counts_of_outcomes(a, [(noise, raw)], prior)


def counts_of_outcomes(a: Floats, outcomes: Sequence[tuple[CellNoise, tuple[int, ...]]], prior: SizePrior) -> "CountsOfAnyTotal":
    """The same given several outcomes about the same counts, each with its noise."""
    if max(max(raw) for _, raw in outcomes) > limits.COUNT:
        raise TooLargeError("a noisy count is beyond 2**53, where no posterior is computed; less noise (a larger epsilon) avoids that")
    _check_prior(a)
    centres = np.stack([np.maximum(np.array(raw, dtype=object), -1).astype(np.int64) for _, raw in outcomes])
    factors = LadderFactors(a, centres, np.array([noise.slope for noise, _ in outcomes]), [noise.log_factor for noise, _ in outcomes])
    found = _held(factors, reach_of(factors, prior), prior.omitted)
    omitted = found.omitted - prior.omitted
    if omitted > _OMITTED_AT_MOST:  # the bounds of many categories add up their slack, so their tails must be shorter
        found = _held(factors, reach_of(factors, prior, TAIL * max(_OMITTED_AT_MOST * TAIL / omitted, 1e-200)), prior.omitted)
    return found


def _check_prior(a: Floats) -> None:
    if a.min() < limits.LEAST_PRIOR:
        raise TooLargeError(
            f"with a private n no posterior is computed for prior parameters below {limits.LEAST_PRIOR:g}: rounding errors would show"
        )


def _held(factors: LadderFactors, reach: TotalsInReach, beyond: float) -> "CountsOfAnyTotal":
    """The law on these windows, unless they are too wide."""
    k = len(reach.windows)
    widths = [high - low + 1 for low, high in reach.windows]
    cells = reach.totals[1] - reach.totals[0] + 1
    if max(widths) > limits.WINDOW_CELLS or sum(widths) > limits.WINDOWS_HELD or k * cells > limits.WINDOW_CONVOLUTIONS:
        raise TooLargeError(
            f"the noise spreads the true counts of {k} categories over up to {max(cells, *widths):,} values: too many for the "
            "noise-aware posterior. Less noise (a larger epsilon) or fewer categories need fewer"
        )
    return CountsOfAnyTotal(_segments(factors, reach), factors.centres, reach.log_outside, beyond)


def _segments(factors: LadderFactors, reach: TotalsInReach) -> list[TotalSegment]:
    """The totals in order, each with a tilt that is good for it."""
    widths = [high - low + 1 for low, high in reach.windows]
    direct = 3 * max(widths) * sum(widths) * int(np.ceil(np.log2(len(widths)))) <= _SUMMED
    depth, floor = (_SUM_DEPTH, true_counts.UNDERFLOW) if direct else (_TRANSFORM_DEPTH, _TRANSFORM_FLOOR)
    logs = [(low, factors.log_weight(i, np.arange(low, high + 1.0))) for i, (low, high) in enumerate(reach.windows)]
    return [_segment(factors, reach, first, last, rate, logs, floor) for first, last, rate in _stretches(reach, depth)]


def _stretches(reach: TotalsInReach, depth: float) -> Iterator[tuple[int, int, float]]:
    """First and last totals, with the tilt under which they are all less than `depth` below the best bound."""
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
        yield first, last, float(ladder.rates[j])
        first = last + 1


def _segment(
    factors: LadderFactors, reach: TotalsInReach, first: int, last: int, rate: float, logs: list[tuple[int, Floats]], floor: float
) -> TotalSegment:
    windows, height = [], 0.0
    for (low, log_weight), reference in zip(logs, factors.references, strict=True):
        tilted = log_weight + rate * (np.arange(low, low + len(log_weight)) - reference)
        constant = float(logsumexp(tilted))
        height += constant
        windows.append(Run(low, np.exp(tilted - constant)))
    n = np.arange(first, last + 1, dtype=np.float64)
    log_total = reach.log_total[first - reach.totals[0] : last - reach.totals[0] + 1]
    return TotalSegment(first, log_total - rate * (n - reach.ladder.reference) + height, windows, floor)


def noise_of_any_total(mechanism: Mechanism) -> CellNoise:
    """The noise of a mechanism whose n is private, if it is independent by category; refused otherwise."""
    noise = mechanism.noise
    if noise is None or noise.blocks or noise.cells < mechanism.k:
        raise TooLargeError(
            f"there is no noise-aware posterior of {type(mechanism).__name__} with a private n: its noise is not independent"
        )
    return noise


def check_posterior(mechanism: Mechanism, reader: Prior | None = None) -> None:
    """Refuse, by public numbers alone, a mechanism whose raw outcomes have no posterior law of the true counts that can be computed."""
    if mechanism.n is None:
        _check_prior((reader or mechanism.prior).concentration)
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
