"""Tilts, totals and windows of many raw outcomes at once, from few nodes that stand for all counts (docs/howto/planning.md)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, polygamma

from discreet.arrays import Counts, Floats, Mask
from discreet.numerics.gamma import log_rising
from discreet.numerics.roots import bracketed
from discreet.numerics.sum_rules import spreading_steps, stood_for
from discreet.numerics.tails import inner
from discreet.planning.outcome_factors import OutcomeFactors
from discreet.planning.outcome_totals import STENCIL, Gaps

_TOTALS = ((30, 15, 0.45, 7.0), (100, 9, 0.8, 4.5), (1 << 62, 7, 0.9, 4.0))
"""Up to how many categories: how many totals stand for all of a private one, how far from each other the middle ones are at most, and how
far the last ones are from the middle, both in standard deviations. The sum of many counts is nearly normal, and needs fewer."""
_UNEVEN, _UNEVEN_TOTALS = 0.3, ((30, 21, 0.45, 7.0), (100, 17, 0.5, 6.0), (1 << 62, 9, 0.8, 4.5))
"""The same for priors with a parameter below this, under which most counts are likely to be 0: few others make up the total."""
_FIRST_TOTALS = (9, 0.8, 4.75)
"""The same for those by which the mean and the deviation of the total are found."""
_ROUNDS, _NARROW, _WIDE, _ASIDE = 5, 0.6, 1.15, 0.1
"""Totals are looked for anew, at most so often, if they lie within less or more than these parts of the deviation that was expected, or if
their mean is further than this part of it from where they were looked for."""
_SWEEP, _CLOSE, _CLOSEST = 0.6, 0.3, 0.02
"""Tilts this part of the noise's slope below and above the likeliest total's: the middle totals are this part of what lies between their
means from each other, and no closer than the last part of the deviation. Where a count bends the law of the total, the means are close."""
_ROOM = 2.0
"""Deviations from 0 to the middle below which totals are the denser the nearer to 0 they are."""
_ROUNDED = 0.3
"""What is added to the deviation: the root of the variance of a rounded number."""
_FLATTEST = 0.05
"""The weight of a total falls away from the likeliest one at least as fast as if its variance were 1 over this times that of the counts."""
_TAIL = 1e-8
"""Tilted probability left out on each side of a window."""
_DENSE, _GROWTH = 3, 1.7
"""Nodes: all counts this near a place where a law may peak, then in geometric progression."""
_NEAR = 0.25
"""The means need to add up to a part of a standard deviation: a tilt changes where windows lie, and no probability."""


@dataclass(frozen=True, eq=False)
class Totals:
    """Totals that stand for all of a private one, ascending and all different, for each outcome."""

    n: Floats
    rate: Floats
    """A tilt under which the means add up to each."""
    log_weight: Floats
    """About the log of its probability, up to a constant."""

    def gaps(self, least: float) -> Gaps:
        """The gaps between the totals, without those at either end that have less than this part of the largest weight."""
        used = self.log_weight > self.log_weight.max(axis=1, keepdims=True) + np.log(least)
        size = used.shape[1]
        first = np.minimum(np.argmax(used, axis=1), size - STENCIL)
        return Gaps.of(self.n, first, np.maximum(size - 1 - np.argmax(used[:, ::-1], axis=1), first + STENCIL - 1))


@dataclass(frozen=True, eq=False)
class TiltedOutcomes:
    """Outcomes under a tilt e^{λx} of all counts, one each."""

    rate: Floats
    """λ."""
    mean: Floats
    """The mean of the total, and its variance."""
    variance: Floats
    log_sum: Floats
    """ln Z(λ), up to a constant."""

    def put(self, rows: Counts, other: "TiltedOutcomes") -> None:
        """Others instead of these."""
        self.rate[rows], self.mean[rows], self.variance[rows], self.log_sum[rows] = other.rate, other.mean, other.variance, other.log_sum

    def log_weight(self, n: Floats) -> Floats:
        """ln e^{-λn} Z(λ) P_λ(n) with a normal P_λ."""
        return np.asarray(self.log_sum - self.rate * n + _log_normal(n - self.mean, self.variance))

    def sharpness(self, whole: float) -> Floats:
        """The variance of the total here over the inverse curvature of the weights of totals, for a prior with this concentration."""
        bent = polygamma(1, self.mean + 1.0) - polygamma(1, whole + self.mean)
        return np.asarray(np.maximum(1.0 - self.variance * bent, _FLATTEST))


Missing = tuple[Floats, Floats, Mask]


@dataclass(frozen=True, eq=False)
class Nodes:
    """Counts at which every factor is looked at (outcome, category, node) and the log of the weight of the counts they stand for."""

    x: Floats
    log_mass: Floats
    slope: float

    @classmethod
    def of(cls, reader: OutcomeFactors, centres: Floats) -> "Nodes":
        a, slope = reader.a, reader.noise.slope
        total = np.full(len(centres), float(reader.n)) if reader.n is not None else np.maximum(centres.sum(axis=1), 1.0)
        reach = float(reader.n) if reader.n is not None else float(max(centres.max(), 1.0) + 80.0 / slope + 80.0)
        peaks = np.stack([np.clip(centres, 0.0, reach), np.rint(np.minimum(total[:, None] * (a / a.sum()), reach))], axis=-1)
        steps = spreading_steps(reach, _DENSE, _GROWTH)
        around = np.concatenate([-steps[:0:-1], steps])
        x = np.concatenate([np.broadcast_to(steps, (*centres.shape, len(steps))), *(peaks[..., [i]] + around for i in range(2))], axis=-1)
        x = np.sort(np.clip(np.rint(x), 0.0, reach), axis=-1)
        with np.errstate(divide="ignore"):
            return cls(x, reader.log_prior(x) + reader.log_likelihood(centres, x) + np.log(stood_for(x)), slope)

    def masses(self, rate: Floats) -> Floats:
        """The probabilities of the nodes of every category under a tilt for each outcome."""
        logs = self.log_mass + rate[:, None, None] * self.x
        mass = np.exp(logs - logs.max(axis=-1, keepdims=True))
        return np.asarray(mass / mass.sum(axis=-1, keepdims=True))

    def tilted(self, rows: Counts, rate: Floats) -> "TiltedOutcomes":
        """The counts of these outcomes under these tilts."""
        x, mass = self.x[rows], self.log_mass[rows]
        mass += rate[:, None, None] * x
        height = mass.max(axis=-1, keepdims=True)
        mass -= height
        np.exp(mass, out=mass)
        total = mass.sum(axis=-1)
        mean = np.einsum("ijk,ijk->ij", mass, x) / total
        x -= mean[..., None]
        np.square(x, out=x)
        variance = np.einsum("ijk,ijk->ij", mass, x) / total
        return TiltedOutcomes(rate, mean.sum(axis=-1), variance.sum(axis=-1), (height[..., 0] + np.log(total)).sum(axis=-1))

    def taken(self, rows: Counts) -> "Nodes":
        """The nodes of these outcomes."""
        return Nodes(self.x[rows], self.log_mass[rows], self.slope)

    def balanced(self, rows: Counts, n: Floats, far: float, start: Floats) -> "TiltedOutcomes":
        """For each n a tilt of its outcome under which the means add up to it, or nearly; no tilt is beyond `far`."""

        def missing(at: TiltedOutcomes, of: Counts) -> Missing:
            excess = at.mean - n[of]
            return excess, at.variance, np.abs(excess) > _NEAR * np.sqrt(at.variance) + _NEAR

        return self._solved(rows, far, start, missing)

    def likeliest(self, whole: float, far: float, start: Floats) -> "TiltedOutcomes":
        """For each outcome the tilt of about the likeliest private total.

        The weight n!/Γ(A + n) e^{-λn} Z(λ) of a total n, with the λ under which n is the mean, is largest where λ = ψ(n + 1) - ψ(A + n).
        """

        def missing(at: TiltedOutcomes, _: Counts) -> Missing:
            excess = at.rate - digamma(at.mean + 1.0) + digamma(whole + at.mean)
            return excess, at.sharpness(whole), np.abs(excess) * np.sqrt(at.variance / at.sharpness(whole)) > _ASIDE

        return self._solved(np.arange(len(self.x)), far, start, missing)

    def _solved(self, rows: Counts, far: float, start: Floats, missing: Callable[["TiltedOutcomes", Counts], Missing]) -> "TiltedOutcomes":
        """The tilts at which something that grows with them is nearly 0.

        `missing` says for tilted outcomes how much it is, its slope, and whether that is too much.
        """
        found = TiltedOutcomes(*np.empty((4, len(rows))))

        def newton(open_: Counts, rate: Floats) -> tuple[Floats, Floats, Mask]:
            at = self.tilted(rows[open_], rate)
            found.put(open_, at)
            excess, slope, missed = missing(at, open_)
            return excess, rate - excess / np.maximum(slope, 1e-12), ~missed

        bracketed(newton, np.clip(start, -0.9 * far, 0.9 * far), -far, far)
        return found

    def totals(self, a: Floats, far: float, centre: Floats, deviation: Floats) -> Totals:
        """Totals of each outcome that stand for all of a private one: around the likeliest, and no further than a deviation allows.

        The weight of a total n is n!/Γ(A + n) e^{-λn} Z(λ) P_λ(n) under any tilt λ; here P_λ is taken for normal. Where the tilts of totals
        change fastest their laws do too, so totals are closest there.
        """
        whole, rows = float(a.sum()), np.arange(len(self.x))
        tilt, centre, deviation = self._spread(whole, far, centre, deviation)
        size, step, reach = next(rest for most, *rest in _sizes(a) if len(a) <= most)
        tilts = np.clip(tilt[:, None] + self.slope * _SWEEP * np.array([-1.0, 0.0, 1.0]), -far, far)
        below, at, above = self.tilted(np.repeat(rows, 3), tilts.ravel()).mean.reshape(tilts.shape).T
        middle = np.where(np.abs(at - centre) < _ROOM * deviation, at, centre)
        close = np.clip((above - below) * _CLOSE, _CLOSEST * deviation, step * deviation)
        n = _distinct(_totals_around(middle, close, deviation, int(size), reach))
        found = self._around(rows, n, far, tilt)
        return Totals(n, found.rate.reshape(n.shape), found.log_weight(n.ravel()).reshape(n.shape) - log_rising(whole, n, 1.0))

    def _spread(self, whole: float, far: float, centre: Floats, deviation: Floats) -> tuple[Floats, Floats, Floats]:
        """For each outcome the tilt of about the likeliest total, and about the mean and the deviation of the total.

        Totals are looked at within some deviations of a centre; where they turn out to be elsewhere, or much nearer to each other or
        further, again.
        """
        size, step, reach = _FIRST_TOTALS
        open_ = np.arange(len(self.x))
        peak = self.likeliest(whole, far, digamma(centre + 1.0) - digamma(whole + centre))
        given = self.balanced(open_, centre, far, np.zeros(len(centre)))
        above, at = (of.log_weight(n_) - log_rising(whole, n_, 1.0) for of, n_ in ((peak, peak.mean), (given, centre)))
        better = above > at  # a flat weight may have another place where its slope is 0
        near = np.minimum(np.sqrt(peak.variance / peak.sharpness(whole)) + _ROUNDED, deviation)
        start, centre = np.where(better, peak.rate, given.rate), np.where(better, peak.mean, centre)
        tilt, deviation = start, np.where(better, near, deviation)
        means, deviations = np.empty((2, len(tilt)))
        for _ in range(_ROUNDS):
            tried = _totals_around(centre, step * deviation, deviation, size, reach)
            tilts = self._around(open_, tried, far, start)
            with np.errstate(divide="ignore"):
                stands_for = np.log(stood_for(tried))
            weight = tilts.log_weight(tried.ravel()).reshape(tried.shape) - log_rising(whole, tried, 1.0) + stands_for
            share = np.exp(weight - weight.max(axis=1, keepdims=True))
            share /= share.sum(axis=1, keepdims=True)
            mean = (share * tried).sum(axis=1)
            found = np.sqrt((share * (tried - mean[:, None]) ** 2).sum(axis=1))
            means[open_], deviations[open_] = mean, np.maximum(found, _ROUNDED)
            off = (found < _NARROW * deviation) | (found > _WIDE * deviation)
            again = off | ((np.abs(mean - centre) > _ASIDE * deviation) & (tried[:, 0] > 0.0))
            if not again.any():
                break
            start = np.take_along_axis(tilts.rate.reshape(tried.shape), np.argmax(weight, axis=1)[:, None], axis=1)[again, 0]
            deviation = np.where(off, np.maximum(found, 0.15 * deviation), deviation)[again]
            open_, centre = open_[again], mean[again]
        return tilt, means, deviations

    def _around(self, rows: Counts, n: Floats, far: float, start: Floats) -> "TiltedOutcomes":
        """Tilts for some totals of each of these outcomes: those next to the middle one are nearly known from it."""
        middle = n[:, n.shape[1] // 2]
        first = self.balanced(rows, middle, far, start)
        near = first.rate[:, None] + (n - first.mean[:, None]) / np.maximum(first.variance, 1e-12)[:, None]
        new = np.diff(n, axis=1, prepend=-1.0) > 0.0  # where there is next to no noise most totals are the same whole number
        found = self.balanced(np.repeat(rows, new.sum(axis=1)), n[new], far, near[new])
        same = np.cumsum(new.ravel()) - 1
        return TiltedOutcomes(found.rate[same], found.mean[same], found.variance[same], found.log_sum[same])

    def windows(self, rate: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """The first and the last count of every category's window, its mean, and its variance."""
        mass = self.masses(rate)
        below, above = inner(mass, _TAIL)
        low = np.take_along_axis(self.x, np.maximum(below - 1, 0)[..., None], axis=-1)[..., 0]
        high = np.take_along_axis(self.x, np.minimum(above + 1, self.x.shape[-1] - 1)[..., None], axis=-1)[..., 0]
        mean = (mass * self.x).sum(axis=-1)
        return low, high, mean, (mass * (self.x - mean[..., None]) ** 2).sum(axis=-1)


def totals_of(a: Floats) -> int:
    """How many totals stand for all, for these prior parameters."""
    return next(size for most, size, _, _ in _sizes(a) if len(a) <= most)


def _sizes(a: Floats) -> tuple[tuple[int, int, float, float], ...]:
    return _UNEVEN_TOTALS if a.min() < _UNEVEN else _TOTALS


def _totals_around(centre: Floats, step: Floats, deviation: Floats, size: int, reach: float) -> Floats:
    """Whole numbers for each outcome, ascending, `step` apart around a centre and further away from it; or, near 0, the denser there.

    They are the centre and multiples of sinh(rate j), j = ±1, ±2, ..., up to so many deviations on either side, or to 0.
    """
    half, rates = 0.5 * (size - 1), np.linspace(1e-3, 4.0, 400)
    place, ends = np.arange(size) - half, (np.minimum(reach * deviation, centre), reach * deviation)
    below, above = (np.interp(end / np.maximum(np.minimum(step, end / half), 1e-9), np.sinh(half * rates) / rates, rates) for end in ends)
    rate, end = (np.where(place < 0.0, one[:, None], other[:, None]) for one, other in ((below, above), ends))
    spread = centre[:, None] + np.sinh(place * rate) * (end / np.sinh(half * rate))
    near = (centre + reach * deviation)[:, None] * np.linspace(0.0, 1.0, size) ** 2
    return np.rint(np.where((centre > _ROOM * deviation)[:, None], spread, near))


def _distinct(n: Floats) -> Floats:
    """Ascending whole numbers, those that are the same moved away from the middle, and none below 0."""
    middle, at = n.shape[1] // 2, np.arange(n.shape[1])
    above = np.maximum.accumulate((n - at)[:, middle:], axis=1)
    below = np.minimum.accumulate((n - at)[:, middle::-1], axis=1)[:, :0:-1]
    return np.asarray(np.maximum(np.concatenate([below, above], axis=1) + at, at))


def _log_normal(away: Floats, variance: Floats) -> Floats:
    held = np.maximum(variance, 1e-3)
    return np.asarray(-0.5 * away**2 / held - 0.5 * np.log(2.0 * np.pi * held))
