"""Tilts, totals and windows of many raw outcomes at once, from few nodes that stand for all counts (docs/planning.md)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, polygamma

from discreet.arrays import Counts, Floats
from discreet.numerics.gamma import log_rising
from discreet.numerics.sum_rules import spreading_steps
from discreet.planning.outcome_factors import Factors

_TOTALS = ((30, 13, 0.75), (100, 9, 0.8), (1 << 62, 5, 1.1))
"""Up to how many categories: how many totals stand for all of a private one, and how far from each other they are, in standard deviations.
The sum of many counts is nearly normal, and needs fewer."""
_UNEVEN, _UNEVEN_TOTALS = 0.3, ((30, 33, 0.3), (100, 17, 0.5), (1 << 62, 7, 0.9))
"""The same for priors with a parameter below this, under which most counts are likely to be 0: few others make up the total."""
_ROUNDS, _NARROW, _WIDE, _ASIDE = 5, 0.6, 1.15, 0.1
"""Totals are looked for anew, at most so often, if they lie within less or more than these parts of the deviation that was expected, or if
their mean is further than this part of it from where they were looked for."""
_ROUNDED = 0.3
"""What is added to the deviation: the root of the variance of a rounded number."""
_FLATTEST = 0.05
"""The weight of a total falls away from the likeliest one at least as fast as if its variance were 1 over this times that of the counts."""
_TAIL = 1e-8
"""Tilted probability left out on each side of a window."""
_DENSE, _GROWTH = 3, 1.7
"""Nodes: all counts this near a place where a law may peak, then in geometric progression."""
_TILTS = 40
_NEAR = 0.25
"""The means need to add up to a part of a standard deviation: a tilt changes where windows lie, and no probability."""


@dataclass(frozen=True, eq=False)
class Totals:
    """Totals that stand for all of a private one, ascending, for each outcome."""

    n: Floats
    rate: Floats
    """A tilt under which the means add up to each."""
    log_weight: Floats
    """About the log of the probability of those it stands for, up to a constant."""
    stands_for: Floats
    """How many totals each stands for."""


@dataclass(frozen=True, eq=False)
class Tilted:
    """Outcomes under a tilt e^{λx} of all counts, one each."""

    rate: Floats
    """λ."""
    mean: Floats
    """The mean of the total, and its variance."""
    variance: Floats
    log_sum: Floats
    """ln Z(λ), up to a constant."""

    def put(self, rows: Counts, other: "Tilted") -> None:
        """Others instead of these."""
        self.rate[rows], self.mean[rows], self.variance[rows], self.log_sum[rows] = other.rate, other.mean, other.variance, other.log_sum

    def log_weight(self, n: Floats) -> Floats:
        """ln e^{-λn} Z(λ) P_λ(n) with a normal P_λ."""
        return np.asarray(self.log_sum - self.rate * n + _log_normal(n - self.mean, self.variance))

    def sharpness(self, whole: float) -> Floats:
        """The variance of the total here over the inverse curvature of the weights of totals, for a prior with this concentration."""
        bent = polygamma(1, self.mean + 1.0) - polygamma(1, whole + self.mean)
        return np.asarray(np.maximum(1.0 - self.variance * bent, _FLATTEST))


Missing = tuple[Floats, Floats, NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class Nodes:
    """Counts at which every factor is looked at (outcome, category, node) and the log of the weight of the counts they stand for."""

    x: Floats
    log_mass: Floats
    slope: float

    @classmethod
    def of(cls, reader: Factors, centres: Floats) -> "Nodes":
        a, slope = reader.a, reader.noise.slope
        total = np.full(len(centres), float(reader.n)) if reader.n is not None else np.maximum(centres.sum(axis=1), 1.0)
        reach = float(reader.n) if reader.n is not None else float(max(centres.max(), 1.0) + 80.0 / slope + 80.0)
        peaks = np.stack([np.clip(centres, 0.0, reach), np.rint(np.minimum(total[:, None] * (a / a.sum()), reach))], axis=-1)
        steps = spreading_steps(reach, _DENSE, _GROWTH)
        around = np.concatenate([-steps[:0:-1], steps])
        x = np.concatenate([np.broadcast_to(steps, (*centres.shape, len(steps))), *(peaks[..., [i]] + around for i in range(2))], axis=-1)
        x = np.sort(np.clip(np.rint(x), 0.0, reach), axis=-1)
        with np.errstate(divide="ignore"):
            return cls(x, reader.log_prior(x) + reader.log_likelihood(centres, x) + np.log(_stood_for(x)), slope)

    def masses(self, rate: Floats) -> Floats:
        """The probabilities of the nodes of every category under a tilt for each outcome."""
        logs = self.log_mass + rate[:, None, None] * self.x
        mass = np.exp(logs - logs.max(axis=-1, keepdims=True))
        return np.asarray(mass / mass.sum(axis=-1, keepdims=True))

    def tilted(self, rows: Counts, rate: Floats) -> "Tilted":
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
        return Tilted(rate, mean.sum(axis=-1), variance.sum(axis=-1), (height[..., 0] + np.log(total)).sum(axis=-1))

    def taken(self, rows: Counts) -> "Nodes":
        """The nodes of these outcomes."""
        return Nodes(self.x[rows], self.log_mass[rows], self.slope)

    def balanced(self, rows: Counts, n: Floats, far: float, start: Floats) -> "Tilted":
        """For each n a tilt of its outcome under which the means add up to it, or nearly; no tilt is beyond `far`."""

        def missing(at: Tilted, of: Counts) -> Missing:
            excess = at.mean - n[of]
            return excess, at.variance, np.abs(excess) > _NEAR * np.sqrt(at.variance) + _NEAR

        return self._solved(rows, far, start, missing)

    def likeliest(self, whole: float, far: float, start: Floats) -> "Tilted":
        """For each outcome the tilt of about the likeliest private total.

        The weight n!/Γ(A + n) e^{-λn} Z(λ) of a total n, with the λ under which n is the mean, is largest where λ = ψ(n + 1) - ψ(A + n).
        """

        def missing(at: Tilted, _: Counts) -> Missing:
            excess = at.rate - digamma(at.mean + 1.0) + digamma(whole + at.mean)
            return excess, at.sharpness(whole), np.abs(excess) * np.sqrt(at.variance / at.sharpness(whole)) > _ASIDE

        return self._solved(np.arange(len(self.x)), far, start, missing)

    def _solved(self, rows: Counts, far: float, start: Floats, missing: Callable[["Tilted", Counts], Missing]) -> "Tilted":
        """The tilts at which something that grows with them is nearly 0: Newton's method, inside a bracket that only shrinks.

        `missing` says for tilted outcomes how much it is, its slope, and whether that is too much.
        """
        rate, found = np.clip(start, -0.9 * far, 0.9 * far), Tilted(*np.empty((4, len(rows))))
        low, high, open_ = np.full_like(rate, -far), np.full_like(rate, far), np.arange(len(rows))
        for _ in range(_TILTS):
            at = self.tilted(rows[open_], rate[open_])
            found.put(open_, at)
            excess, slope, missed = missing(at, open_)
            low[open_], high[open_] = np.where(excess < 0.0, at.rate, low[open_]), np.where(excess > 0.0, at.rate, high[open_])
            newton = at.rate - excess / np.maximum(slope, 1e-12)
            inside = (newton > low[open_]) & (newton < high[open_])
            rate[open_] = np.where(inside, newton, 0.5 * (low[open_] + high[open_]))
            open_ = open_[missed]
            if not open_.size:
                break
        return found

    def totals(self, a: Floats, far: float, centre: Floats, deviation: Floats) -> Totals:
        """Totals of each outcome that stand for all of a private one: around the likeliest, and no further than a deviation allows.

        The weight of a total n is n!/Γ(A + n) e^{-λn} Z(λ) P_λ(n) under any tilt λ; here P_λ is taken for normal. Totals are looked for
        within some deviations of a centre; where they turn out to be elsewhere, or much nearer to each other or further, again.
        """
        size, step = totals_of(a)
        whole = float(a.sum())
        n, rate, logs, count = np.empty((4, len(self.x), size))
        open_ = np.arange(len(self.x))
        peak = self.likeliest(whole, far, digamma(centre + 1.0) - digamma(whole + centre))
        given = self.balanced(open_, centre, far, np.zeros(len(centre)))
        above, at = (of.log_weight(n_) - log_rising(whole, n_, 1.0) for of, n_ in ((peak, peak.mean), (given, centre)))
        better = above > at  # a flat weight may have another place where its slope is 0
        near = np.minimum(np.sqrt(peak.variance / peak.sharpness(whole)) + _ROUNDED, deviation)
        start, centre = np.where(better, peak.rate, given.rate), np.where(better, peak.mean, centre)
        deviation = np.where(better, near, deviation)
        for _ in range(_ROUNDS):
            tried = _totals_around(centre, deviation, size, step)
            tilts = self._around(open_, tried, far, start)
            stands_for = _stood_for_all(tried)
            with np.errstate(divide="ignore"):
                weight = tilts.log_weight(tried.ravel()).reshape(tried.shape) - log_rising(whole, tried, 1.0) + np.log(stands_for)
            n[open_], rate[open_], logs[open_], count[open_] = tried, tilts.rate.reshape(tried.shape), weight, stands_for
            share = np.exp(weight - weight.max(axis=1, keepdims=True))
            share /= share.sum(axis=1, keepdims=True)
            mean = (share * tried).sum(axis=1)
            found = np.sqrt((share * (tried - mean[:, None]) ** 2).sum(axis=1))
            off = (found < _NARROW * deviation) | (found > _WIDE * deviation)
            again = off | ((np.abs(mean - centre) > _ASIDE * deviation) & (tried[:, 0] > 0.0))
            if not again.any():
                break
            start = np.take_along_axis(rate[open_], np.argmax(weight, axis=1)[:, None], axis=1)[again, 0]
            deviation = np.where(off, np.maximum(found, 0.15 * deviation), deviation)[again]
            open_, centre = open_[again], mean[again]
        return Totals(n, rate, logs, count)

    def _around(self, rows: Counts, n: Floats, far: float, start: Floats) -> "Tilted":
        """Tilts for some totals of each of these outcomes: those next to the middle one are nearly known from it."""
        middle = n[:, n.shape[1] // 2]
        first = self.balanced(rows, middle, far, start)
        near = first.rate[:, None] + (n - first.mean[:, None]) / np.maximum(first.variance, 1e-12)[:, None]
        new = np.diff(n, axis=1, prepend=-1.0) > 0.0  # where there is next to no noise most totals are the same whole number
        found = self.balanced(np.repeat(rows, new.sum(axis=1)), n[new], far, near[new])
        same = np.cumsum(new.ravel()) - 1
        return Tilted(found.rate[same], found.mean[same], found.variance[same], found.log_sum[same])

    def windows(self, rate: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """The first and the last count of every category's window, its mean, and the variance of the total."""
        mass = self.masses(rate)
        below = (np.cumsum(mass, axis=-1) < _TAIL).sum(axis=-1)
        above = self.x.shape[-1] - 1 - (np.cumsum(mass[..., ::-1], axis=-1) < _TAIL).sum(axis=-1)
        low = np.take_along_axis(self.x, np.maximum(below - 1, 0)[..., None], axis=-1)[..., 0]
        high = np.take_along_axis(self.x, np.minimum(above + 1, self.x.shape[-1] - 1)[..., None], axis=-1)[..., 0]
        mean = (mass * self.x).sum(axis=-1)
        return low, high, mean, (mass * (self.x - mean[..., None]) ** 2).sum(axis=(-2, -1))


def totals_of(a: Floats) -> tuple[int, float]:
    """How many totals stand for all, and their distance, for these prior parameters."""
    sizes = _UNEVEN_TOTALS if a.min() < _UNEVEN else _TOTALS
    return next(rest for most, *rest in sizes if len(a) <= most)  # type: ignore[return-value]


def _totals_around(centre: Floats, deviation: Floats, size: int, step: float) -> Floats:
    """Whole numbers around a centre, for each outcome: evenly spaced, or, where they reach 0, denser near it."""
    part, reach = np.linspace(0.0, 1.0, size), 0.5 * step * (size - 1)
    low, high = centre - reach * deviation, centre + reach * deviation
    even = low[:, None] + (high - low)[:, None] * part
    return np.rint(np.where((low > 0.0)[:, None], even, high[:, None] * part**2))


def _stood_for(x: Floats) -> Floats:
    """How many whole numbers each of ascending ones stands for: half of those up to the next; a repeated one for none."""
    gap = np.diff(x, axis=-1)
    count = np.ones_like(x)
    count[..., :-1] += 0.5 * np.maximum(gap - 1.0, 0.0)
    count[..., 1:] += 0.5 * np.maximum(gap - 1.0, 0.0)
    count[..., 1:][gap == 0.0] -= 1.0
    return np.maximum(count, 0.0)


def _stood_for_all(n: Floats) -> Floats:
    """The same for totals, of which the ends stand for those on both sides, unless they are 0."""
    count = _stood_for(n)
    count[:, -1] += 0.5 * np.maximum(n[:, -1] - n[:, -2] - 1.0, 0.0)
    count[:, 0] += np.where(n[:, 0] > 0.0, 0.5 * np.maximum(n[:, 1] - n[:, 0] - 1.0, 0.0), 0.0)
    return count


def _log_normal(away: Floats, variance: Floats) -> Floats:
    held = np.maximum(variance, 1e-3)
    return np.asarray(-0.5 * away**2 / held - 0.5 * np.log(2.0 * np.pi * held))
