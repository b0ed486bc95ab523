"""The first two moments of a weighted sum of counts, S = Σ_c w_c x_c, for each of their totals (docs/howto/reading.md).

They are carried along while the laws of counts are added up: the law of a sum, and the same weighted with S, with S² and with Σ_c w_c² x_c.
Nothing is negative on the way: counts are taken from the first of their windows, and weights from the least of them.
"""

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.counts.runs import Run, values_at
from discreet.counts.segments import LawOfAnyTotal, TotalSegment
from discreet.numerics.tails import kept
from discreet.numerics.transforms import convolve


@dataclass(frozen=True, eq=False)
class ScoreMoments:
    """For each total n of the counts P(n), and E[S; n], E[S²; n] and E[Σ w² x; n]: the expectations where n is the total."""

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
    """From all counts, one a row, and their probabilities."""
    totals, place = np.unique(points.sum(axis=1), return_inverse=True)
    score = points @ weights
    parts: list[Floats] = [np.bincount(place, probability * values) for values in (1.0, score, score**2, points @ weights**2)]  # type: ignore[misc]
    return ScoreMoments(totals.astype(np.float64), *parts)


def segment_score(counts: LawOfAnyTotal, weights: Floats) -> ScoreMoments:
    """From a law of counts as products of their laws and a factor of their total."""
    scale, parts = float(counts.log_sizes.max()), [_carried(segment, weights) for segment in counts.segments]
    factors = [np.exp(segment.log_factor - scale) for segment in counts.segments]
    found = [
        np.concatenate([factor * getattr(part, name) for factor, part in zip(factors, parts, strict=True)])
        for name in ("mass", "first", "second", "squares")
    ]
    whole = float(found[0].sum())
    return ScoreMoments(np.concatenate([part.n for part in parts]), *(values / whole for values in found))


@dataclass(frozen=True, eq=False)
class _Carried:
    """The law of a sum of counts from `low` on, and the same weighted with S, with S² and with Σ w² x: in rows."""

    low: int
    values: Floats


def _added_up(parts: list[_Carried], floor: float) -> _Carried:
    """All of these counts together, added in halves, without ends of their law that are below `floor`."""
    if len(parts) == 1:
        return parts[0]
    left, right = (_added_up(half, floor) for half in (parts[: len(parts) // 2], parts[len(parts) // 2 :]))
    (p, s, ss, q), (p2, s2, ss2, q2) = left.values, right.values
    law = convolve(p, p2)
    second = convolve(ss, p2) + 2.0 * convolve(s, s2) + convolve(p, ss2)
    values = np.stack([law, convolve(s, p2) + convolve(p, s2), second, convolve(q, p2) + convolve(p, q2)])
    first, last, _ = kept(law, floor * float(law.max()))
    return _Carried(left.low + right.low + first, values[:, first : last + 1])


def _carried(segment: TotalSegment, weights: Floats) -> ScoreMoments:
    """The moments at every total of a segment under its tilt."""
    least = float(weights.min())
    above, lows = weights - least, np.array([window.low for window in segment.windows], dtype=np.float64)
    rows = [
        _Carried(window.low, window.value * np.stack([offset**0, a * offset, (a * offset) ** 2, w**2 * offset]))
        for window, a, w in zip(segment.windows, above, weights, strict=True)
        for offset in [np.arange(len(window.value), dtype=np.float64)]
    ]
    total = _added_up(rows, segment.floor)
    n = np.arange(segment.low, segment.high + 1, dtype=np.float64)
    mass, first, second, squares = (values_at(Run(total.low, row), segment.low, len(n)) for row in total.values)
    # S = Σ a o + Σ a low + least n, with o the distances from the first counts
    shift = float(above @ lows) + least * n
    return ScoreMoments(
        n, mass, first + shift * mass, second + 2.0 * shift * first + shift**2 * mass, squares + float(weights**2 @ lows) * mass
    )
