"""Noisy Poisson counts of many groups: the law of each given its rate and its noisy value, on a window (docs/howto/pymc.md).

The factor of a cell is `g(x) = Poisson(x; rate) f(z - x) e^{λx}`, f the likelihood of the noise, whose logarithm falls by `slope` a step on
either side of z, and λ a tilt. Its peak M is z, or where the Poisson law outweighs the noise: z clipped to [rate e^{λ-slope}, rate
e^{λ+slope}]. At a distance t from M the logarithm has fallen by at least `ρt`, ρ its slope beside M, and by what a Poisson law of mean M
falls, `t²/(2M)` below and `t²/(2M + 2t/3)` above. So windows have closed forms, whatever z and the rate are. The log likelihood of Gaussian
noise bends: ρ is then 0, and M where both pulls are equal.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import gammaln

from discreet.arrays import Counts, Floats, Mask
from discreet.counts.batched.windows import check_widths
from discreet.counts.factors import Kernel, Noise
from discreet.counts.runs import Windows
from discreet.numerics.gamma import log_gamma_excess, log_ratio_excess
from discreet.numerics.roots import balancing_tilts

RATE_DEPTH = 45.0
"""A window ends where its factor has fallen by this much, in logarithms."""
_FAIRLY_CLOSE = 2.0
"""The most that the mean total may be from the public one, in standard deviations: e^-2 of the largest probability is enough for a value,
which samplers ask for thousands of times."""
_SMALL_FACTORIALS = 2000.0
"""Counts up to which logarithms of their factorials are small enough for their digits."""
_RATE_PEAK_STEPS = 40
"""Steps of Newton's method, which never overshoots and is quick near the peak."""
_LARGEST_LOG_RATE = 690.0
"""Exponents beyond this are cut: their exponentials would not be floats."""


class CellsNoise(Noise, Protocol):
    """Noise with a kernel."""

    @property
    def kernel(self) -> Kernel:
        """The log likelihood of the noise, up to a constant."""


@dataclass(frozen=True, eq=False)
class TiltedCounts:
    """The laws of all counts, each adding up to 1, and the logarithms of what they were divided by."""

    windows: Windows
    log_scale: Floats
    """The logarithm for each cell: ln Σ_x g(x) e^{-λ low}/Poisson(low; rate)."""

    def log_mass(self, log_rate: Floats) -> Floats:
        """Return, for each cell, ln Σ_x g(x) e^{-λ low}, given the logarithms of the rates it was made with."""
        return self.log_scale + log_poisson(self.windows.low.astype(np.float64), log_rate)

    @property
    def mean(self) -> Floats:
        """The mean of each count."""
        return self.windows.moments[0]


@dataclass(frozen=True, eq=False)
class NoisyCells:
    """Noisy counts of some groups, a row a group, with the noise of those cells that have some."""

    z: Counts
    noisy: Mask
    """The cells that have noise of their own; the others say nothing about their counts."""
    noise: CellsNoise
    totals: Counts | None = None
    """The total of the counts of each group, if that is public."""

    def counts(self, log_rate: Floats, tilt: Floats) -> TiltedCounts:
        """The laws of the true counts given the logarithms of their rates, under a tilt for each group."""
        low, width = self._places(log_rate + tilt[:, None])
        x = low[:, :, None] + np.arange(1.0, width)
        log_value = np.zeros((*low.shape, width))
        log_value[:, :, 1:] = (log_rate + tilt[:, None])[:, :, None] - np.log(x)
        np.cumsum(log_value, axis=2, out=log_value)
        away = (self.z - low)[:, :, None] - np.arange(width, dtype=np.float64)
        log_value += np.where(self.noisy[:, :, None], self.noise.log_factor(away), 0.0)
        highest = log_value.max(axis=2)
        log_value -= highest[:, :, None]
        value = np.exp(log_value, out=log_value)
        total = value.sum(axis=2)
        value /= total[:, :, None]
        logs = highest + np.log(total)
        return TiltedCounts(Windows(low, value, np.zeros(len(low)), logs.sum(axis=1)), logs)

    def _places(self, log_rate: Floats) -> tuple[Counts, int]:
        """Return the beginning of each window, and the width of all of them."""
        kernel = self.noise.kernel
        slope = np.where(self.noisy, kernel.fall, 0.0)
        lowest, highest = (np.exp(np.minimum(log_rate + sign * slope, _LARGEST_LOG_RATE)) for sign in (-1.0, 1.0))
        peak = np.where(self.noisy, np.clip(self.z, lowest, highest) if kernel.fall else self._bent_peaks(log_rate), lowest)
        with np.errstate(divide="ignore", invalid="ignore"):
            away = np.where((peak > 0.0) & (slope > 0.0), np.log(peak) - log_rate, 0.0)  # where it bends, both pulls are equal at its peak
            above = RATE_DEPTH / np.maximum(away + np.where(peak >= self.z, slope, -slope), 0.0)
            below = RATE_DEPTH / np.maximum(np.where(peak <= self.z, slope, -slope) - away, 0.0)
        above = np.minimum(above, RATE_DEPTH / 3.0 + np.sqrt(RATE_DEPTH**2 / 9.0 + 2.0 * RATE_DEPTH * peak))
        below = np.minimum(below, np.sqrt(2.0 * RATE_DEPTH * peak))
        low = np.maximum(np.floor(peak - below) - 1.0, 0.0).astype(np.int64)
        high = np.ceil(np.where(log_rate > -np.inf, peak + above + 1.0, 0.0)).astype(np.int64)
        if self.totals is not None:
            high = np.minimum(high, self.totals[:, None])
            low = np.minimum(low, high)
        check_widths(high - low)
        return low, int((high - low).max()) + 1

    def _bent_peaks(self, log_rate: Floats) -> Floats:
        """Solve `κ(z - x) + ln(rate/x) = 0` under Gaussian noise: Newton's method for ln x, from above, where it is convex."""
        curvature = self.noise.kernel.curvature
        start = np.maximum(np.exp(np.minimum(log_rate, _LARGEST_LOG_RATE)), np.maximum(self.z, 0.0))
        with np.errstate(divide="ignore"):
            log_x = np.maximum(np.log(start), -_LARGEST_LOG_RATE)
        for _ in range(_RATE_PEAK_STEPS):
            x = np.exp(log_x)
            log_x = log_x - (log_x - np.maximum(log_rate, -_LARGEST_LOG_RATE) - curvature * (self.z - x)) / (1.0 + curvature * x)
        return np.where(log_rate > -np.inf, np.exp(log_x), 0.0)

    def balanced(self, totals: Counts, log_rate: Floats) -> tuple[TiltedCounts, Floats]:
        """The laws under tilts that give the counts of each group about these totals on average, and the tilts.

        Rates that add up to the total and a tilt of -slope give a mean of at most the total, and +slope one of at least the total: then
        the noise and the tilt together only lower, or only raise, every count. Newton's method finds the tilt between them.
        """
        tilt, kernel = np.zeros(len(totals)), self.noise.kernel
        slope = kernel.fall + kernel.curvature * float(np.abs(np.where(self.noisy, self.z, 0)).max(initial=0) + totals.max(initial=0))
        found = self.counts(log_rate, tilt)

        def moments(rows: Counts, at: Floats) -> tuple[Floats, Floats]:
            nonlocal found
            if (at != tilt[rows]).any():
                tilt[rows] = at
                found = self.counts(log_rate, tilt)
            mean, variance = found.windows.moments
            return mean[rows].sum(axis=1), variance[rows].sum(axis=1)

        balancing_tilts(moments, totals, tilt, (-slope, slope), close=_FAIRLY_CLOSE)
        return found, tilt


def log_poisson(x: Floats, log_rate: Floats) -> Floats:
    """ln of the Poisson probability of x, which keeps its digits where both are large; nothing of size x ln x is formed near the rate."""
    rate = np.exp(np.minimum(log_rate, _LARGEST_LOG_RATE))
    if x.max(initial=0.0) < _SMALL_FACTORIALS:
        return np.asarray(np.where(x > 0.0, x * np.maximum(log_rate, -1e300), 0.0) - rate - gammaln(x + 1.0))
    positive = np.maximum(x, 1.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        tau = (positive - rate) / rate
        near = np.abs(tau) < 0.5
        tau = np.where(near, tau, 0.0)
        close = rate * ((1.0 + tau) * log_ratio_excess(tau, 1.0 + tau) + tau * tau) + log_gamma_excess(positive) + np.log(positive)
        far = gammaln(positive + 1.0) + rate - positive * log_rate
    return np.asarray(np.where(x > 0.0, -np.where(near, close, far), -rate))
