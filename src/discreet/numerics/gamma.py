"""ln Γ and ψ less the parts that cancel between large arguments."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, gammaln

from discreet.arrays import Floats
from discreet.numerics.divergences import STIRLING, STIRLING_FROM, bregman


def log_gamma_excess(z: ArrayLike) -> Floats:
    """lnΓ(z) - (z ln z - z): what is left of ln Γ once the part that cancels between large arguments is taken out."""
    z = np.asarray(z, dtype=np.float64)
    large = z >= STIRLING_FROM
    far, near = np.where(large, z, STIRLING_FROM), np.where(large, 1.0, z)
    remainder = np.zeros_like(z)
    for p, coefficient in reversed(STIRLING):
        remainder += coefficient * far**-p
    small: Floats = gammaln(near) - (near * np.log(near) - near)
    return np.where(large, 0.5 * np.log(2.0 * np.pi / far) + remainder, small)


def log_gamma_ratio(z: ArrayLike, shift: ArrayLike) -> Floats:
    """lnΓ(z + shift) - lnΓ(z), which keeps its digits when z is large and the shift is not."""
    z, shift = np.asarray(z, dtype=np.float64), np.asarray(shift, dtype=np.float64)
    return np.asarray(bregman(z + shift, z, shift) + shift * (np.log(z) + digamma_excess(z)))


_SMALL_PARAMETER = 64.0
"""Prior parameters up to which the logarithms that `log_rising` subtracts are small enough for their digits."""


def log_rising(a: float, x: Floats, reference: float) -> Floats:
    """ln Γ(a + x)/x! less its value at the reference; nothing of size x ln x is formed.

    For a large a they are Bregman divergences of ln Γ and a line, which takes longer.
    """
    if a <= _SMALL_PARAMETER:
        return np.asarray(log_rise(a, x) - log_rise(a, np.array([reference])))
    step = x - reference
    above, below = a + reference, 1.0 + reference
    line = float(digamma(above) - digamma(below))
    return np.asarray(bregman(a + x, above, step) - bregman(1.0 + x, below, step) + line * step)


def log_rise(a: float | Floats, x: Floats) -> Floats:
    """ln Γ(a + x)/x! to an error of about 1e-16 · |a - 1| ln x, by Stirling's formula but for small x; `a` may be an array."""
    if np.all(np.equal(a, 1.0)):
        return np.zeros_like(x)
    large = x + np.minimum(a, 1.0) >= STIRLING_FROM
    far = np.where(large, x, STIRLING_FROM)
    series = (far + 0.5) * np.log1p((a - 1.0) / (1.0 + far)) + (a - 1.0) * (np.log(a + far) - 1.0)
    series += _remainder(a + far) - _remainder(1.0 + far)
    if not large.all():
        near = ~large
        series[near] = gammaln((a + x)[near]) - gammaln(1.0 + x[near])
    return series


def log_rise_means(a: float | Floats, place: Floats, length: float) -> Floats:
    """ln of the mean of Γ(a + x)/x! over `length` counts around length · place, those below 0 counted as 0.

    The sum over all counts below m is Γ(a + m)/(a Γ(m)). Elsewhere than near 0 the mean is taken for the value in the middle.
    """
    found = log_rise(a, length * place)
    near = (place < _STEEP_PLACES) & ((np.asarray(a) < _STEEP_PARAMETER) | (place == 0.0))
    if not near.any():
        return found
    a = np.broadcast_to(a, found.shape)[near]
    end = length * place[near] + 0.5 * (length + 1.0)
    start = np.maximum(end - length, 0.0)
    with np.errstate(divide="ignore"):
        before, below = (log_rise(a, edge) + np.log(edge / (a * length)) for edge in (start, end))
        found[near] = below + np.log(-np.expm1(before - below))
    return found


_STEEP_PLACES, _STEEP_PARAMETER = 16, 2.0
"""Places of several counts from 0 on within which a power of the count is steep where its exponent is below 1. Elsewhere values in the
middle of places add up to sums over all counts, as long as a law is wider than a place."""


def _remainder(z: Floats) -> Floats:
    """Return the sum that Stirling's series adds to (z - ½) ln z - z + ½ ln 2π."""
    inverse = 1.0 / z
    square = inverse * inverse
    total = np.zeros_like(z)
    for _, coefficient in reversed(STIRLING):
        total *= square
        total += coefficient
    return np.asarray(total * inverse)


def digamma_excess(z: ArrayLike) -> Floats:
    """ψ(z) - ln z, which tends to 0 as -1/(2z)."""
    z = np.asarray(z, dtype=np.float64)
    large = z >= STIRLING_FROM
    far, near = np.where(large, z, STIRLING_FROM), np.where(large, 1.0, z)
    remainder = np.zeros_like(z)
    for p, coefficient in reversed(STIRLING):
        remainder -= p * coefficient * far ** -(p + 1)
    small: Floats = digamma(near) - np.log(near)
    return np.where(large, remainder - 0.5 / far, small)
