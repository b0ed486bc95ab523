"""Widths of the equal-tailed intervals of many mixtures of Betas at once, in floats that are good for planning (docs/howto/planning.md).

The distribution function of a Beta is the incomplete beta function where a parameter is small, or where `exact` is asked for. Elsewhere
it is Peizer and Pratt's normal approximation, which is right to 2e-4 there and some twenty times as fast; where both parameters are beyond
`_NORMAL`, the normal distribution itself.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betaln, expit, logit, ndtr, ndtri

from discreet.arrays import Counts, Floats
from discreet.betas.search import logit_quantiles
from discreet.numerics.gamma import BELOW_ONE

_SMALL, _NORMAL = 16.0, 1e7
"""Parameters below which the incomplete beta function is used, and beyond which the normal distribution is."""
_PRECISION, _EXACT_PRECISION = 1e-4, 1e-9
"""The most by which the probability beyond an end may be off, relative to what it is to be."""
_SLIGHT, _EXACTLY_SLIGHT = 1e-8, 1e-12
"""Components with less than this part of a mixture's weight are left out."""
_LEAST = 1e-300
"""The first point at which tails are looked at."""
_BEYOND = 15.0
"""Deviations above the mean beyond which a Beta with a first parameter from 1 on has all its probability below."""


@dataclass(frozen=True, eq=False)
class _Components:
    """The components of some mixtures, one mixture after the other."""

    row: Counts
    """The mixture that each component belongs to, ascending."""
    weight: Floats
    a: Floats
    b: Floats
    exact: bool

    @property
    def starts(self) -> Counts:
        """The beginning of each mixture."""
        return np.flatnonzero(np.diff(self.row, prepend=-1))

    def of(self, rows: Counts, count: int) -> "_Components":
        """Return the components of some of so many mixtures, numbered anew."""
        number = np.full(count, -1)
        number[rows] = np.arange(len(rows))
        kept = number[self.row] >= 0
        return _Components(number[self.row[kept]], self.weight[kept], self.a[kept], self.b[kept], self.exact)

    def distribution(self, t: Floats) -> tuple[Floats, Floats]:
        """The mixtures' distribution functions at one point each, and about their densities."""
        at = t[self.row]
        value, density = np.empty_like(at), np.empty_like(at)
        small = np.full(at.shape, True) if self.exact else np.minimum(self.a, self.b) < _SMALL
        if small.any():
            value[small], density[small] = _small(self.a[small], self.b[small], at[small], exact=self.exact)
        if not small.all():
            value[~small], density[~small] = _large(self.a[~small], self.b[~small], at[~small])
        return np.add.reduceat(self.weight * value, self.starts), np.add.reduceat(self.weight * density, self.starts)


def interval_widths(weight: Floats, a: Floats, b: Floats, mass: float, spread: Floats | float = 0.0, *, exact: bool = False) -> Floats:
    """The widths of the intervals of mixtures Σ weight · Beta(a, b), one mixture a row.

    Weights add up to something above 0; few may be slightly negative. `spread` is a variance that each component has besides its own: that
    of the counts which one component stands for.
    """
    kept = np.abs(weight) > (_EXACTLY_SLIGHT if exact else _SLIGHT) * weight.sum(axis=-1, keepdims=True)
    row = np.nonzero(kept)[0]
    weight, a, b, spread = weight[kept], a[kept], b[kept], np.broadcast_to(spread, kept.shape)[kept]
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    weight = weight / np.add.reduceat(weight, starts)[row]
    # An end near 1 has fewer digits than one as near to 0, so a mixture that is mostly there is looked at from the other side.
    mirrored = (np.add.reduceat(weight * (a / (a + b)), starts) > 0.5)[row]
    a, b = np.where(mirrored, b, a), np.where(mirrored, a, b)
    means = a / (a + b)
    mean = np.add.reduceat(weight * means, starts)
    inside = means * (b / (a + b)) / (a + b + 1.0)
    deviation = np.sqrt(np.add.reduceat(weight * (inside + spread + (means - mean[row]) ** 2), starts))
    # A Beta with the same mean and the larger variance has all its parameters by the same factor smaller.
    wider = np.maximum(((a + b + 1.0) * (inside / (inside + spread)) - 1.0) / (a + b), 1e-6)
    parts, tail = _Components(row, weight, a * wider, b * wider, exact), 0.5 * (1.0 - mass)
    return np.maximum(_quantile(parts, tail, mean, deviation, upper=True) - _quantile(parts, tail, mean, deviation, upper=False), 0.0)


def _quantile(parts: _Components, tail: float, mean: Floats, deviation: Floats, *, upper: bool) -> Floats:
    """Find where a tail of the mixtures begins."""
    start = np.clip(mean + ndtri(1.0 - tail if upper else tail) * deviation, 0.5 * mean, 0.5 * (1.0 + mean))
    held: Counts = np.arange(len(mean))

    def look(open_: Counts, at: Floats) -> tuple[Floats, Floats]:
        nonlocal parts, held
        if len(open_) < len(held):
            parts, held = parts.of(np.searchsorted(held, open_), len(held)), open_
        t = np.clip(expit(at), _LEAST, BELOW_ONE)
        below, density = parts.distribution(t)
        return (1.0 - below if upper else below), density * t * (1.0 - t)

    each = np.full(len(mean), tail), np.full(len(mean), upper)
    return np.asarray(expit(logit_quantiles(look, logit(start), *each, _EXACT_PRECISION if parts.exact else _PRECISION)[0]))


def _small(a: Floats, b: Floats, t: Floats, *, exact: bool) -> tuple[Floats, Floats]:
    """The distribution function and the density of Betas, of which one parameter may be small."""
    with np.errstate(over="ignore", under="ignore"):
        density = np.exp((a - 1.0) * np.log(t) + (b - 1.0) * np.log1p(-t) - betaln(a, b))
    if exact:
        return np.asarray(betainc(a, b, t)), np.asarray(density)
    total = a + b
    near = (a < 1.0) | (t < a / total + _BEYOND * np.sqrt(a * b / (total + 1.0)) / total)
    value = np.ones_like(t)
    value[near] = betainc(a[near], b[near], t[near])
    return value, density


def _large(a: Floats, b: Floats, t: Floats) -> tuple[Floats, Floats]:
    """Return distribution function and density where both parameters are large, by the normal distribution."""
    standard = _standardised(a, b, t)
    with np.errstate(over="ignore", under="ignore"):
        density = np.exp(-0.5 * standard**2) * np.sqrt((a + b) / (2.0 * np.pi * np.maximum(t * (1.0 - t), 1e-250)))
    return ndtr(standard), density


def _standardised(a: Floats, b: Floats, t: Floats) -> Floats:
    """Return the argument of the normal distribution function: Peizer and Pratt's, or (t - mean)/deviation for huge parameters."""
    total, s, r, q = a + b - 1.0, np.maximum(b - 0.5, 1e-9), np.maximum(a - 0.5, 1e-9), 1.0 - t
    difference = np.where(a < b, total * t - r, s - total * q)  # the same but for rounding errors
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        distance = difference + 1.0 / 6.0 - q / 3.0 + 0.02 * (q / b - t / a + (q - 0.5) / (a + b))
        deviance = s * np.log1p(difference / (total * q)) + r * np.log1p(-difference / (total * t))
        bent = distance / np.abs(difference) * np.sqrt(np.maximum(2.0 / (1.0 + 1.0 / (6.0 * total)) * deviance, 0.0))
        straight = (t - a / (a + b)) * (a + b) * np.sqrt((a + b + 1.0) / (a * b))
    usable = np.isfinite(bent) & (np.abs(difference) > 1e-5 * np.sqrt(np.minimum(a, b))) & (np.minimum(a, b) < _NORMAL)
    return np.where(usable, bent, straight)
