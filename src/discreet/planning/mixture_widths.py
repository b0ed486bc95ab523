"""Widths of the equal-tailed intervals of many mixtures of Betas at once, in floats that are good for planning (docs/planning.md).

The distribution function of a Beta is the incomplete beta function where a parameter is small, or where `exact` is asked for. Elsewhere
it is Peizer and Pratt's normal approximation, which is right to 2e-4 there and some twenty times as fast; where both parameters are beyond
`_NORMAL`, the normal distribution itself.
"""

import numpy as np
from scipy.special import betainc, ndtr, ndtri

from discreet.arrays import Floats

_SMALL, _NORMAL = 16.0, 1e7
"""Parameters below which the incomplete beta function is used, and beyond which the normal distribution is."""
_STEPS = 60
_CLOSE, _EXACTLY_CLOSE = 1e-5, 1e-7
"""Precision of a quantile, relative to the width of the interval."""


def interval_widths(weight: Floats, a: Floats, b: Floats, mass: float, spread: Floats | float = 0.0, *, exact: bool = False) -> Floats:
    """The widths of the intervals of mixtures Σ weight · Beta(a, b), one mixture a row.

    `spread` is a variance that each component has besides its own: that of the counts which one component stands for.
    """
    weight = weight / weight.sum(axis=-1, keepdims=True)
    means = a / (a + b)
    mean = (weight * means).sum(axis=-1)
    inside = means * (b / (a + b)) / (a + b + 1.0)
    deviation = np.sqrt((weight * (inside + spread + (means - mean[:, None]) ** 2)).sum(axis=-1))
    # A Beta with the same mean and the larger variance has all its parameters by the same factor smaller.
    wider = np.maximum(((a + b + 1.0) * (inside / (inside + spread)) - 1.0) / (a + b), 1e-6)
    a, b = a * wider, b * wider
    tail = 0.5 * (1.0 - mass)
    low = _quantile(weight, a, b, tail, mean, deviation, exact)
    high = _quantile(weight, a, b, 1.0 - tail, mean, deviation, exact)
    return np.maximum(high - low, 0.0)


def _quantile(weight: Floats, a: Floats, b: Floats, level: float, mean: Floats, deviation: Floats, exact: bool) -> Floats:
    """Newton's method inside a bracket that only shrinks; a step that leaves it is replaced by halving."""
    low, high = np.zeros_like(mean), np.ones_like(mean)
    t = np.clip(mean + ndtri(level) * deviation, 0.5 * mean, 0.5 * (1.0 + mean))
    close = (_EXACTLY_CLOSE if exact else _CLOSE) * deviation
    open_ = np.arange(len(mean))
    for _ in range(_STEPS):
        at = t[open_]
        below, slope = _distribution(weight[open_], a[open_], b[open_], at[:, None], exact)
        excess = below - level
        low[open_] = np.where(excess <= 0.0, at, low[open_])
        high[open_] = np.where(excess >= 0.0, at, high[open_])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = at - excess / slope
        inside = np.isfinite(newton) & (newton > low[open_]) & (newton < high[open_])
        t[open_] = np.where(inside, newton, 0.5 * (low[open_] + high[open_]))
        open_ = open_[(np.abs(t[open_] - at) > close[open_]) & (high[open_] - low[open_] > close[open_])]
        if not open_.size:
            break
    return t


def _distribution(weight: Floats, a: Floats, b: Floats, t: Floats, exact: bool) -> tuple[Floats, Floats]:
    """The mixtures' distribution functions at one point each, and about their slopes."""
    standard = _standardised(a, b, t)
    small = np.full(a.shape, True) if exact else np.minimum(a, b) < _SMALL
    value = ndtr(standard)
    if small.any():
        value[small] = betainc(a[small], b[small], np.broadcast_to(t, a.shape)[small])
    with np.errstate(over="ignore", under="ignore"):
        density = np.exp(-0.5 * standard**2) * np.sqrt((a + b) / np.maximum(t * (1.0 - t), 1e-300))
    return (weight * value).sum(axis=-1), (weight * density).sum(axis=-1) / np.sqrt(2.0 * np.pi)


def _standardised(a: Floats, b: Floats, t: Floats) -> Floats:
    """What the normal distribution function is taken of: Peizer and Pratt's formula, or (t - mean)/deviation for huge parameters."""
    total, s, r, q = a + b - 1.0, np.maximum(b - 0.5, 1e-9), np.maximum(a - 0.5, 1e-9), 1.0 - t
    difference = np.where(a < b, total * t - r, s - total * q)  # the same but for rounding errors
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        distance = difference + 1.0 / 6.0 - q / 3.0 + 0.02 * (q / b - t / a + (q - 0.5) / (a + b))
        deviance = s * np.log1p(difference / (total * q)) + r * np.log1p(-difference / (total * t))
        bent = distance / np.abs(difference) * np.sqrt(np.maximum(2.0 / (1.0 + 1.0 / (6.0 * total)) * deviance, 0.0))
        straight = (t - a / (a + b)) * (a + b) * np.sqrt((a + b + 1.0) / (a * b))
    usable = np.isfinite(bent) & (np.abs(difference) > 1e-5 * np.sqrt(np.minimum(a, b))) & (np.minimum(a, b) < _NORMAL)
    return np.where(usable, bent, straight)
