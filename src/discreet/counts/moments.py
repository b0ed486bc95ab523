"""Moments of the probabilities of categories, from the law of their true counts: covariances, and scores (docs/proofs/inference.md).

Given counts x of total n the probabilities are Dir(a + x), so with y = a + x, N = A + n and m the means,

    Cov(θ_i, θ_j)  =  E[(y_i/N - m_i)(y_j/N - m_j)]  -  E[y_i y_j / (N² (N + 1))] .

Everything is taken relative to means of counts and totals, so that nothing large is subtracted where there are many records.

Of a score S = Σ_c w_c x_c the first two moments are found for each total. They are carried along while the laws of counts are added up:
the law of a sum, and the same weighted with S, with S² and with Σ_c w_c² x_c. Nothing is negative on the way: counts are taken from the
first of their windows, and weights from the least of them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.counts.runs import Run, added, completed, log_sum, sum_of, values_at
from discreet.counts.segments import LawOfAnyTotal, TotalSegment
from discreet.errors import TooLargeError
from discreet.numerics.tails import kept
from discreet.numerics.transforms import convolve


def listed_covariance(points: Counts, probability: Floats, a: Floats) -> Floats:
    """Return the covariances from all counts, one a row, and their probabilities."""
    total = (a.sum() + points.sum(axis=1))[:, None]
    share = (a + points) / total
    away = share - probability @ share
    weighted = probability[:, None]
    found = away.T @ (weighted * away) - share.T @ (weighted * share / (total + 1.0))
    return np.asarray(found + np.diag((probability / (total[:, 0] + 1.0)) @ share))


def segment_covariance(counts: LawOfAnyTotal, a: Floats) -> Floats:
    """Return the covariances from laws of counts and a factor of their total. The diagonal is 0."""
    k, longest = len(a), max(len(segment.sum.run.value) for segment in counts.segments)
    widest = max(high - low + 1 for low, high in counts.windows)
    if k * k * longest * widest > limits.COVARIANCE_PRODUCTS:
        raise TooLargeError(
            f"covariances of {k:,} categories with counts of {widest:,} possible values take {k * k * longest * widest:,} products, done "
            f"up to {limits.COVARIANCE_PRODUCTS:,}. given() chooses categories, and sample() has draws"
        )
    parts = [_Moments(segment, a, log_sum(counts.log_sizes)) for segment in counts.segments]
    lows = np.array([low for low, _ in counts.windows], dtype=np.float64)
    mean_total = sum(part.total(part.n) for part in parts)
    mean = np.sum([part.first(np.ones_like(part.n)) for part in parts], axis=0)
    whole, y = float(a.sum()) + mean_total, a + lows + mean
    share = np.sum([part.first(1.0 / part.whole) + (a + lows) * part.total(1.0 / part.whole) for part in parts], axis=0)
    # x_i - E[x_i] = o_i - mean_i and n - E[n] = n - mean_total, with o_i the distance from the first count of the window
    found = np.zeros((k, k))
    for part in parts:
        away, rest, some = part.n - mean_total, part.whole, part.n > 0.0
        between, both = some / rest**2, some / (rest * (rest + 1.0))
        within = between / (rest + 1.0)
        pairs, single, constant = part.second(both), part.first(both), part.total(both)
        found += pairs - np.outer(mean, single) - np.outer(single, mean) + np.outer(mean, mean) * constant
        # E[(X_i + s_i)(X_j + s_j)/N²] with s_i = δ_i - m_i (n - E[n]), but for E[X_i X_j/N²], which is in `both`
        shift = y - share * whole
        flat, sloped = part.centred(between, mean), part.centred(between * away, mean)
        cross = np.outer(shift, flat) - np.outer(share, sloped)
        q0, q1, q2 = (part.total(between * away**power) for power in range(3))
        mixed = np.outer(shift, share)
        found += cross + cross.T + np.outer(shift, shift) * q0 - (mixed + mixed.T) * q1 + np.outer(share, share) * q2
        # -E[y_i y_j/(N² (N + 1))] with y_i = E[y_i] + X_i
        mine = np.outer(y, part.centred(within, mean))
        found -= mine + mine.T + np.outer(y, y) * part.total(within)
    # without records N is the sum of the prior parameters, which may be too near 0 for differences of numbers over its square
    nothing, known = sum(part.total(part.n == 0.0) for part in parts), a / a.sum()
    found += nothing * (np.outer(known - share, known - share) - np.outer(known, known) / (float(a.sum()) + 1.0))
    np.fill_diagonal(found, 0.0)
    return found


class _Moments:
    """Moments of the totals of a segment and of counts o_i, the distances of counts from the first of their windows; none is negative."""

    def __init__(self, segment: TotalSegment, a: Floats, scale: float) -> None:
        self.segment = segment
        self.n = np.arange(segment.low, segment.high + 1, dtype=np.float64)
        self.whole = float(a.sum()) + self.n
        self.factor = np.exp(segment.log_factor - scale)
        self.offsets = [Run(w.low, w.value * np.arange(len(w.value))) for w in segment.windows]
        size = len(self.n)
        self.mass = self.factor * values_at(segment.sum.run, segment.low, size)
        self.sums = np.array(
            [values_at(added(mine, rest), segment.low, size) for mine, (rest, _) in zip(self.offsets, segment.others, strict=True)]
        )

    def total(self, weight: Floats) -> float:
        """E[weight(n)]."""
        return float(self.mass @ weight)

    def first(self, weight: Floats) -> Floats:
        """E[o_i weight(n)] for every category."""
        return np.asarray(self.sums @ (self.factor * weight))

    def centred(self, weight: Floats, mean: Floats) -> Floats:
        """E[(o_i - mean_i) weight(n)] for every category."""
        return self.first(weight) - mean * self.total(weight)

    def second(self, weight: Floats) -> Floats:
        """E[o_i o_j weight(n)] for every pair of categories."""
        windows, floor = self.segment.windows, self.segment.floor
        found, target = np.zeros((len(windows), len(windows))), Run(self.segment.low, self.factor * weight)
        before = Run(0, np.ones(1))
        for i, mine in enumerate(self.offsets[:-1]):
            after = sum_of(windows[i + 1 :], floor)
            left = completed(target, added(before, mine), after.run)
            for j, run in enumerate(after.completions(left), start=i + 1):
                found[i, j] = found[j, i] = float(values_at(self.offsets[j], run.low, len(run.value)) @ run.value)
            before = added(before, windows[i])
        return found


# --- scores ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScoreMoments:
    """The moments of a score for each total n of the counts: P(n), and E[S; n], E[S²; n] and E[Σ w² x; n]: the expectations where n is the
    total.
    """

    n: Floats
    mass: Floats
    first: Floats
    second: Floats
    squares: Floats

    def of_shares(self) -> tuple[float, float]:
        """The mean and the standard deviation of S/n, given that n is above 0; NaN where it never is."""
        some = self.n > 0.0
        if not some.any():
            return np.nan, np.nan
        n, whole = self.n[some], float(self.mass[some].sum())
        mean = float((self.first[some] / n).sum()) / whole
        return mean, _root(float((self.second[some] / n**2).sum()) / whole - mean**2)

    def of_probabilities(self, a: Floats, weights: Floats) -> tuple[float, float]:
        """The mean and the standard deviation of Σ_c w_c θ_c, where θ is Dir(a + x) given the counts."""
        own, whole = float(weights @ a), float(a.sum()) + self.n
        first = own * self.mass + self.first
        second = own**2 * self.mass + 2.0 * own * self.first + self.second
        spread = (float(weights**2 @ a) * self.mass + self.squares) / whole - second / whole**2  # N times the variance given x
        mean = float((first / whole).sum())
        return mean, _root(float((second / whole**2 + spread / (whole + 1.0)).sum()) - mean**2)


def _root(variance: float) -> float:
    return float(np.sqrt(max(variance, 0.0)))


def listed_score(points: Counts, probability: Floats, weights: Floats) -> ScoreMoments:
    """Return the moments of a score from all counts, one a row, and their probabilities."""
    totals, place = np.unique(points.sum(axis=1), return_inverse=True)
    score = points @ weights
    parts: list[Floats] = [np.bincount(place, probability * values) for values in (1.0, score, score**2, points @ weights**2)]  # type: ignore[misc]
    return ScoreMoments(totals.astype(np.float64), *parts)


def segment_score(counts: LawOfAnyTotal, weights: Floats) -> ScoreMoments:
    """Return the moments of a score from laws of counts and a factor of their total."""
    scale, parts = float(counts.log_sizes.max()), [_carried(segment, weights) for segment in counts.segments]
    factors = [np.exp(segment.log_factor - scale) for segment in counts.segments]
    found = [
        np.concatenate([factor * getattr(part, name) for factor, part in zip(factors, parts, strict=True)])
        for name in ("mass", "first", "second", "squares")
    ]
    whole = float(found[0].sum())
    return ScoreMoments(np.concatenate([part.n for part in parts]), *(values / whole for values in found))


@dataclass(frozen=True, eq=False)
class Carried:
    """The law of a sum of counts from `low` on, and the same weighted with S, with S² and with Σ w² x: in rows."""

    low: int
    values: Floats


def carried_leaf(window: Run, above: float, weight: float) -> Carried:
    """One count, taken from the first of its window, which S has with the weight `above`."""
    offset = np.arange(len(window.value), dtype=np.float64)
    return Carried(window.low, window.value * np.stack([offset**0, above * offset, (above * offset) ** 2, weight**2 * offset]))


def added_rows(left: Carried, right: Carried, fold: Callable[[Floats, Floats], Floats] = convolve) -> Carried:
    """The sum of two independent sums of counts."""
    (p, s, ss, q), (p2, s2, ss2, q2) = left.values, right.values
    second = fold(ss, p2) + 2.0 * fold(s, s2) + fold(p, ss2)
    values = np.stack([fold(p, p2), fold(s, p2) + fold(p, s2), second, fold(q, p2) + fold(p, q2)])
    return Carried(left.low + right.low, values)


def _added_up(parts: list[Carried], floor: float) -> Carried:
    """Return the law of all of these counts together, added in halves, without ends of their law that are below `floor`."""
    if len(parts) == 1:
        return parts[0]
    both = added_rows(_added_up(parts[: len(parts) // 2], floor), _added_up(parts[len(parts) // 2 :], floor))
    first, last, _ = kept(both.values[0], floor * float(both.values[0].max()))
    return Carried(both.low + first, both.values[:, first : last + 1])


def _carried(segment: TotalSegment, weights: Floats) -> ScoreMoments:
    """The moments at every total of a segment under its tilt."""
    above, lows = weights - float(weights.min()), np.array([window.low for window in segment.windows], dtype=np.float64)
    rows = [carried_leaf(*one) for one in zip(segment.windows, above.tolist(), weights.tolist(), strict=True)]
    return moments_at(_added_up(rows, segment.floor), range(segment.low, segment.high + 1), weights, lows)


def moments_at(total: Carried, totals: range, weights: Floats, lows: Floats) -> ScoreMoments:
    """The moments at these totals, from the rows of the sum of all counts and the first count of each window."""
    n = np.array(totals, dtype=np.float64)
    mass, first, second, squares = (values_at(Run(total.low, row), totals.start, len(n)) for row in total.values)
    # S = Σ a o + Σ a low + least n, with o the distances from the first counts
    least = float(weights.min())
    shift = float((weights - least) @ lows) + least * n
    return ScoreMoments(
        n, mass, first + shift * mass, second + 2.0 * shift * first + shift**2 * mass, squares + float(weights**2 @ lows) * mass
    )
