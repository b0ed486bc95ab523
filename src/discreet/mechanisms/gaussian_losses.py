"""The privacy loss of discrete Gaussian noise, exactly (docs/explain/mechanisms.md derives all of it).

One step of the data changes `cells` counts by 1: one if a record comes or goes, two if it is replaced. With independent noise of variance
parameter v on each, the loss is (2M + cells)/(2v), M the sum of the noise of these counts, and the least δ is

    δ(ε) = P(M >= m) - e^ε P(M >= m + cells),    m the least whole number above εv - cells/2 .

P(M = t) is e^{-t²/(2 cells v)} times a constant, which for two cells is one for even t and another for odd t.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache, partial
from itertools import islice
from math import ceil, expm1, floor, inf, nextafter

import numpy as np
from flint import acb, arb, ctx

from discreet.errors import InvalidInputError
from discreet.mechanisms.laws import LossAtoms
from discreet.numerics.balls import ball, dyadic, refine, working_precision
from discreet.numerics.least_values import bracket, narrowed, rounded_up, unit
from discreet.sampling.noise import check_variance, total_weight

_SOUGHT_DIGITS = 6
"""Significant digits of a variance or an ε that is sought."""
_LEAST_SOUGHT = Fraction(1, 10**12)
"""The least variance or ε that is sought."""
_REACH = 11
"""Standard deviations out to which losses are listed; the noise is beyond with probability below 1e-26."""
_DECISIVE_BITS, _LISTED_BITS = 40, 128
"""Relative bits of a δ(ε) that is compared with a δ, and the working precision for constants of losses that are listed."""
LEAST_DELTA = Fraction(1, 10**300)
"""The least δ that noise is made for: written out, e^{-10^15} would fill any memory with zeros."""
_MISSED_BY_FAR = 10**300


def _masses(variance: Fraction, cells: int, first: int) -> Iterator[arb]:
    """P(M = t) for t = first, first + 1, … at the working precision: each from the last two by ratios, as the sampler's table."""
    rate = ball(1 / (2 * cells * variance))
    even = odd = 1 / total_weight(variance)
    if cells == 2:
        halves = acb.modular_theta(acb(0), acb(0, 1 / (arb.pi() * ball(variance))))  # Σ e^{-z²/v} over z + ½ (1) and over z (2)
        odd, even = (one.real * even**2 for one in halves[1:3])
    weight, ratio, factor = (-(rate * first**2)).exp(), (-(rate * (2 * first + 1))).exp(), (-2 * rate).exp()
    while True:
        yield weight * (odd if first % 2 else even)
        weight, ratio, first = weight * ratio, ratio * factor, first + 1


def _delta(variance: Fraction, cells: int, epsilon: Fraction) -> arb:
    """δ(ε) at the working precision."""
    first = floor(epsilon * variance - Fraction(cells, 2)) + 1  # one whose loss is ε adds nothing, and leaves nothing to tell from 0
    near, far, threshold = arb(0), arb(0), arb(2) ** -ctx.prec
    masses = _masses(variance, cells, first)
    for step, mass in enumerate(masses):
        near, far = (near + mass, far) if step < cells else (near, far + mass)
        if step > cells and mass < threshold * far:
            break
    # Masses two apart fall by at least this factor from here on, so that those not added up are less than two geometric series.
    fall = (-(ball(2 * (first + step + 1) / (cells * variance)))).exp()
    far += arb(0).union((next(masses) + next(masses)) / (1 - fall))
    return near + far - ball(epsilon).exp() * far


@lru_cache(maxsize=256)
def gaussian_delta(variance: Fraction, cells: int, epsilon: Fraction) -> Fraction:
    """An upper bound on the least δ for which noise is (ε, δ)-private: within 2^-40 of it, where that is not below `LEAST_DELTA`."""
    found = refine(partial(_delta, variance, cells, epsilon), _DECISIVE_BITS)
    return dyadic(found.upper()) if found > ball(LEAST_DELTA) else LEAST_DELTA


@lru_cache(maxsize=64)
def least_variance(epsilon: Fraction, delta: Fraction, cells: int) -> Fraction:
    """The variance, a decimal of six digits, with which noise is (ε, δ)-private and would not be with one less in the last digit.

    It is sought from the one that a bound for every ρ gives: ρ + 2 sqrt(ρ ln(1/δ)) = ε.
    """
    tail = float(-refine(lambda: ball(delta).log()))
    start = Fraction(cells * ((float(epsilon) + tail) ** 0.5 + tail**0.5) ** 2) / (2 * epsilon**2)
    check_variance(start / 4)
    return _least(lambda variance: gaussian_delta(variance, cells, epsilon) / delta, start)


@lru_cache(maxsize=64)
def least_epsilon(variance: Fraction, delta: Fraction, cells: int) -> Fraction:
    """The least ε, a decimal of six digits, for which noise is (ε, δ)-private."""
    tail, rho = float(-refine(lambda: ball(delta).log())), cells / (2 * variance)
    return _least(lambda epsilon: gaussian_delta(variance, cells, epsilon) / delta, Fraction(float(rho) + 2.0 * (float(rho) * tail) ** 0.5))


def _least(missed: Callable[[Fraction], Fraction], start: Fraction) -> Fraction:
    """The least decimal of six digits at which a falling function is at most 1."""

    def value_at(value: Fraction) -> float:
        exact = min(missed(value), Fraction(_MISSED_BY_FAR))
        near = float(exact)
        return near if Fraction(near) >= exact else nextafter(near, inf)

    def rounded(value: Fraction) -> Fraction:
        return rounded_up(value, _SOUGHT_DIGITS)

    def smaller(value: Fraction) -> Fraction | None:
        return rounded(value * Fraction(3, 4)) if value > _LEAST_SOUGHT else None

    below, above = bracket(value_at, 1.0, rounded(start), lambda value, _: 2 * value, smaller)
    if below is None:
        raise InvalidInputError("this noise keeps so large a delta at any epsilon: give a smaller delta, or epsilon as well")
    return narrowed(value_at, 1.0, below, above, rounded, lambda value: unit(value, _SOUGHT_DIGITS))[0]


def gaussian_atoms(variance: Fraction, cells: int) -> LossAtoms:
    """The losses of all noise that is not very unlikely, with their probabilities."""
    check_variance(variance)
    reach, width = _REACH * ceil((cells * float(variance)) ** 0.5) + cells, 2.0 * cells * float(variance)
    sums = np.arange(-reach, reach + 1)
    with working_precision(_LISTED_BITS):
        first, rise = islice(_masses(variance, cells, 0), 2), ball(1 / (2 * cells * variance)).exp()
        even, odd = (float(one * rise**t) for t, one in enumerate(first))
    probability = np.where(sums % 2, odd, even) * np.exp(-np.square(sums, dtype=np.float64) / width)
    beyond = 2.0 * float(probability[-2:].sum()) / -expm1(-2.0 * reach / (0.5 * width))
    slack = 2.0 * beyond + float(LEAST_DELTA)  # floats hold no probability far below it
    return LossAtoms(None, (2.0 * sums + cells) / (2.0 * float(variance)), probability, slack, cells / (2 * variance))
