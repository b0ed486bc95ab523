"""The discrete Gaussian law, P(Z = z) ∝ e^{-z²/(2σ²)}, as one table for certified inversion (the proof is in docs/proofs/exactness.md).

Its digits are not independent, as those of a geometric variable are, so the table grows with σ: to 2^16, beyond which it is refused. A
draw takes one word whatever σ is.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from math import ceil, isqrt

from flint import acb, arb

from discreet.errors import InternalError, TooLargeError
from discreet.numerics.balls import ball
from discreet.sampling.coins import WORD
from discreet.sampling.inversion import inversion
from discreet.sampling.noise import NoiseLaw

LARGEST_VARIANCE = 2**32
"""The square of the largest σ."""


def total_weight(variance: Fraction) -> arb:
    """Σ_z e^{-z²/(2 variance)} at the working precision: Jacobi's θ₃(0, τ) at τ = i/(2π variance)."""
    return acb.modular_theta(acb(0), acb(0, 1 / (2 * arb.pi() * ball(variance))))[2].real


def gaussian_below(variance: Fraction) -> Iterator[arb]:
    """P(|Z| < j) for j = 1, 2, … at the working precision.

    Each weight is the last one times a ratio, which falls by the same factor every time.
    """
    total, rate = total_weight(variance), ball(1 / (2 * variance))
    weight, ratio, factor = 2 * (-rate).exp(), (-3 * rate).exp(), (-2 * rate).exp()
    inverse, below = 1 / total, arb(1)
    while True:
        yield below * inverse
        below += weight
        weight *= ratio
        ratio *= factor


@lru_cache(maxsize=8)  # the longest takes 15 MB
def _law_of(numerator: int, denominator: int, bits: int) -> NoiseLaw:
    """The table for one variance, a public number. Sought by its integers: a Fraction takes long to look up."""
    variance = Fraction(numerator, denominator)
    if variance <= 0:
        raise InternalError("noise needs a positive variance; nothing was released")
    check_variance(variance)

    def boundary(j: int) -> arb:
        return next(islice(gaussian_below(variance), j - 1, None))

    return NoiseLaw(((1, inversion(boundary, None, bits - 1, gaussian_below(variance))),), None, True, 1, bits)


def discrete_gaussian_law(variance: Fraction, bits: int = WORD) -> NoiseLaw:
    """Z with P(Z = z) ∝ e^{-z²/(2 variance)}."""
    return _law_of(variance.numerator, variance.denominator, bits)


_SECONDS_A_CELL, _SECONDS_COMPARED = 1e-6, 4e-9
"""At least four times the seconds measured for a draw with its report and record, and for comparing a word with an entry."""


def draw_seconds(variance: Fraction, cells: int) -> float:
    """Return more seconds than noise for so many cells, its report and its record take as a rule: by public numbers alone.

    Few words are each compared with the whole table, which has some ten entries for each σ.
    """
    return cells * _SECONDS_A_CELL + min(cells, 64) * _SECONDS_COMPARED * 16.0 * (1.0 + isqrt(ceil(variance)))


def check_variance(variance: Fraction) -> None:
    """Refuse, by public numbers, noise whose table would be too long."""
    if variance > LARGEST_VARIANCE:
        raise TooLargeError("Gaussian noise is drawn up to a standard deviation of 65,536; raise rho or epsilon, or use LatticeGeometric")
