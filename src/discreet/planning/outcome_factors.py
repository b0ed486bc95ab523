"""The factors of the law of the true counts given a raw outcome: w_x ∝ Π_i g_i(x_i), each a prior weight times a likelihood."""

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats
from discreet.mechanisms.noise import CellNoise
from discreet.numerics.gamma import log_gamma_ratio, log_rise

_HUGE = 1e10
"""Prior parameters beyond which ln Γ(a + x)/x! is taken less its value at a reference, which keeps more digits and takes longer."""
_SINGLE = 64
"""Cells from 0 on whose prior weights are added up exactly: a power of the count may be steep there."""


@dataclass(frozen=True, eq=False)
class OutcomeFactors:
    """What a reader of raw outcomes knows: the prior, the noise and n, or that n is private (with a flat prior of its own)."""

    a: Floats
    """The prior's concentrations."""
    n: int | None
    noise: CellNoise
    guess: int
    """About how many records there are."""

    @property
    def whole(self) -> float:
        """The sum of the prior's concentrations."""
        return float(self.a.sum())

    def log_likelihood(self, centres: Floats, x: Floats) -> Floats:
        """The log likelihood of every count's own noisy one; the last may have none."""
        logs = self.noise.log_factor(centres[..., None] - x)
        logs[:, self.noise.cells :] = 0.0
        return logs

    def log_tilted_means(self, centres: Floats, middle: Floats, length: Floats, rate: Floats, prior: Floats) -> Floats:
        """The logs of the means of likelihood times e^{λx} over cells of so many counts, weighted by the prior with these slopes in them.

        All but the prior's bend within a cell are exponentials on either side of the noisy count.
        """
        logs = self.log_likelihood(centres, middle) + rate[:, None, None] * middle
        if (length == 1.0).all():
            return logs
        tilt, size = rate[:, None, None] + prior, length[:, None, None]
        slope = np.where(np.arange(len(self.a)) < self.noise.cells, self.noise.slope, 0.0)[None, :, None]
        away = middle - centres[..., None]
        half = 0.5 * (size - 1.0)
        cusp = (np.abs(away) <= half) & (slope > 0.0)
        plain = _log_mean(tilt - np.sign(away) * slope, size)
        logs += plain - _log_mean(prior, size)
        tilt, slope, half, size = (np.broadcast_to(part, cusp.shape)[cusp] for part in (tilt, slope, half, size))
        away = away[cusp]
        below, above = half + 1.0 - np.ceil(away), half + np.ceil(away)
        first = _log_sinh_ratio(tilt + slope, below) + (tilt + slope) * 0.5 * (below - 1.0 - 2.0 * half) + slope * away
        second = _log_sinh_ratio(tilt - slope, above) + (tilt - slope) * 0.5 * (2.0 * half - above + 1.0) - slope * away
        logs[cusp] += np.logaddexp(first, second) - np.log(size) + slope * np.abs(away) - plain[cusp]
        return logs

    def log_prior(self, x: Floats) -> Floats:
        """ln Γ(a + x)/x! for counts by outcome and category, up to a constant for each category."""
        a = self.a[None, :, None]
        if self.a.max() <= _HUGE:
            return log_rise(a, x)
        reference = np.maximum(1.0, np.rint(self.guess * a / self.whole))
        return log_gamma_ratio(1.0 + x, a - 1.0) - log_gamma_ratio(1.0 + reference, a - 1.0)

    def log_prior_sums(self, x: Floats, length: Floats) -> Floats:
        """The same of the sums over length counts from x on: near 0 exactly, and far from it with the slope and the bend of the logarithm.

        Γ(a + m)/(a Γ(m)) is the sum over all counts below m.
        """
        middle = x + 0.5 * (length - 1.0)
        sums = self.log_prior(middle) + np.log(length)
        if (length == 1.0).all():
            return sums
        slope, bend = self.prior_slope(middle)
        sums += _log_mean(slope, length) + bend * (length**2 - 1.0) / 24.0
        near = (length > 1.0) & (x < _SINGLE * length)
        if not near.any() or self.a.max() > _HUGE or (self.a == 1.0).all():
            return sums
        a, start = np.broadcast_to(self.a[None, :, None], x.shape)[near], x[near]
        end = start + np.broadcast_to(length, x.shape)[near]
        below = log_rise(a, end) + np.log(end / a)
        with np.errstate(divide="ignore"):
            before = np.where(start > 0.0, log_rise(a, np.maximum(start, 1.0)) + np.log(start / a), -np.inf)
        sums[near] = below + np.log(-np.expm1(np.minimum(before - below, -1e-12)))
        return sums

    def prior_slope(self, x: Floats) -> tuple[Floats, Floats]:
        """About the slope of `log_prior` at these counts and its bend: those of ln of a function that rises by (a + x)/(1 + x) a count."""
        a = self.a[None, :, None]
        above, own = np.maximum(a + x - 0.5, 0.5 * a), x + 0.5
        return np.log(above / own), (1.0 - a) / (above * own)


def _log_mean(slope: Floats, terms: Floats) -> Floats:
    """ln of the mean of e^{slope j} over so many consecutive j around 0: its series where that is enough."""
    square, many = slope**2, np.broadcast_to(terms, slope.shape)
    found = square * (terms**2 - 1.0) / 24.0 - square**2 * (terms**4 - 1.0) / 2880.0
    steep = square * terms**2 > 1.0
    found[steep] = _log_sinh_ratio(slope[steep], many[steep]) - np.log(many[steep])
    return np.asarray(found)


def _log_sinh_ratio(slope: Floats, terms: Floats) -> Floats:
    """ln of the sum of e^{slope j} over so many consecutive j around 0; -inf for none."""
    half = 0.5 * np.maximum(np.abs(slope), 1e-9)
    with np.errstate(divide="ignore"):
        return np.asarray(half * (terms - 1.0) + np.log(-np.expm1(-2.0 * half * terms)) - np.log(-np.expm1(-2.0 * half)))
