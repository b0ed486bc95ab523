"""Tilts, totals and windows of many raw outcomes at once, from few nodes that stand for all counts (docs/planning.md)."""

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.numerics.gamma import log_rising
from discreet.numerics.sum_rules import spreading_steps
from discreet.planning.outcome_factors import Factors

_TOTALS = ((30, 13, 0.75), (100, 9, 0.8), (1 << 62, 5, 1.1))
"""Up to how many categories: how many totals stand for all of a private one, and how far from each other they are, in standard deviations.
The sum of many counts is nearly normal, and needs fewer."""
_UNEVEN, _UNEVEN_TOTALS = 0.3, ((30, 33, 0.3), (100, 17, 0.5), (1 << 62, 7, 0.9))
"""The same for priors with a parameter below this, under which most counts are likely to be 0: few others make up the total."""
_ROUNDS, _NARROW, _ASIDE = 5, 0.6, 0.1
"""Totals are looked for anew, at most so often, if they lie within less than this part of the deviation that was expected, or if their mean
is further than this part of it from where they were looked for: with many counts near 0 the noise that cannot be seen adds up."""
_TAIL = 1e-8
"""Tilted probability left out on each side of a window."""
_DENSE, _GROWTH = 3, 1.7
"""Nodes: all counts this near a place where a law may peak, then in geometric progression."""
_TILTS = 80
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

    def moments(self, rate: Floats) -> tuple[Floats, Floats]:
        """The mean and the variance of the total under a tilt."""
        mass = self.masses(rate)
        mean = (mass * self.x).sum(axis=-1)
        return mean.sum(axis=-1), (mass * (self.x - mean[..., None]) ** 2).sum(axis=(-2, -1))

    def taken(self, rows: Counts) -> "Nodes":
        """The nodes of these outcomes."""
        return Nodes(self.x[rows], self.log_mass[rows], self.slope)

    def balanced(self, n: Floats, far: float) -> Floats:
        """For each outcome a tilt under which the means add up to its n, or nearly; no tilt is beyond `far`."""
        rate = np.zeros(len(self.x))
        low, high = np.full_like(rate, -far), np.full_like(rate, far)
        open_ = np.arange(len(rate))
        for _ in range(_TILTS):
            mean, variance = self.taken(open_).moments(rate[open_])
            excess, at = mean - n[open_], rate[open_]
            low[open_], high[open_] = np.where(excess < 0.0, at, low[open_]), np.where(excess > 0.0, at, high[open_])
            newton = at - excess / np.maximum(variance, 1e-12)
            inside = (newton > low[open_]) & (newton < high[open_])
            missed = np.abs(excess) > _NEAR * np.sqrt(variance) + _NEAR
            rate[open_] = np.where(missed, np.where(inside, newton, 0.5 * (low[open_] + high[open_])), at)
            open_ = open_[missed]
            if not open_.size:
                break
        return rate

    def totals(self, a: Floats, far: float, centre: Floats, deviation: Floats) -> Totals:
        """Totals of each outcome that stand for all of a private one.

        The weight of a total n is n!/Γ(A + n) e^{-λn} Z(λ) P_λ(n) under any tilt λ; here P_λ is taken for normal. Totals are looked for
        within some deviations of a centre; where they turn out to be elsewhere or much nearer to each other, again.
        """
        for _ in range(_ROUNDS):
            n = _totals_around(centre, deviation, *totals_of(a))
            repeated = self.taken(np.repeat(np.arange(len(n)), n.shape[1]))
            rate = repeated.balanced(n.ravel(), far)
            logs = repeated.log_weights(rate, n.ravel()).reshape(n.shape) - log_rising(float(a.sum()), n, 1.0)
            count = _stood_for(n)
            count[:, -1] += 0.5 * np.maximum(n[:, -1] - n[:, -2] - 1.0, 0.0)  # the ends stand for totals on both sides, unless they are 0
            count[:, 0] += np.where(n[:, 0] > 0.0, 0.5 * np.maximum(n[:, 1] - n[:, 0] - 1.0, 0.0), 0.0)
            with np.errstate(divide="ignore"):
                logs = logs + np.log(count)
            share = np.exp(logs - logs.max(axis=1, keepdims=True))
            share /= share.sum(axis=1, keepdims=True)
            mean = (share * n).sum(axis=1)
            found = np.sqrt((share * (n - mean[:, None]) ** 2).sum(axis=1))
            narrow = found < _NARROW * deviation
            aside = (np.abs(mean - centre) > _ASIDE * deviation) & (n[:, 0] > 0.0)
            if not (narrow | aside).any():
                break
            centre = np.where(narrow | aside, mean, centre)
            deviation = np.where(narrow, np.maximum(found, 0.15 * deviation), deviation)
        return Totals(n, rate.reshape(n.shape), logs, count)

    def log_weights(self, rate: Floats, n: Floats) -> Floats:
        """ln e^{-λn} Z(λ) P_λ(n) with a normal P_λ."""
        mean, variance = self.moments(rate)
        logs = self.log_mass + rate[:, None, None] * self.x
        height = logs.max(axis=-1)
        constant = (height + np.log(np.exp(logs - height[..., None]).sum(axis=-1))).sum(axis=-1)
        return np.asarray(constant - rate * n + _log_normal(n - mean, variance))

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


def _log_normal(away: Floats, variance: Floats) -> Floats:
    held = np.maximum(variance, 1e-3)
    return np.asarray(-0.5 * away**2 / held - 0.5 * np.log(2.0 * np.pi * held))
