"""Discrete Gaussian noise: P(d) ∝ e^{-d²/2σ²} on the whole numbers (Canonne, Kamath and Steinke 2020), and its exact privacy loss.

Noise is independent by cell. Gaussian noise that was rounded to the nearest whole number is another, which others publish and which is
read alone. One step of the data changes `cells` counts by 1: one if a record comes or goes, two if it is replaced. With noise of variance
parameter v on each, the loss is (2M + cells)/(2v), M the sum of the noise of these counts, and the least δ is

    δ(ε) = P(M >= m) - e^ε P(M >= m + cells),    m the least whole number above εv - cells/2 .

P(M = t) is e^{-t²/(2 cells v)} times a constant, which for two cells is one for even t and another for odd t
(docs/explain/mechanisms.md derives all of it).
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from itertools import islice
from math import ceil, expm1, floor, inf, log, nextafter

import numpy as np
from attrs import field, frozen
from flint import acb, arb, ctx
from scipy.special import erf, erfcx, log_ndtr

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.counts.factors import Kernel
from discreet.errors import InvalidInputError, TooLargeError
from discreet.mechanisms.laws import LossAtoms
from discreet.mechanisms.noise import IndependentNoise
from discreet.numerics.balls import ball, dyadic, refine, working_precision
from discreet.numerics.roots import bracket, narrowed, rounded_up, unit
from discreet.sampling.noise import check_variance, total_weight

_TABLED_DEVIATIONS = 40.0
"""Standard deviations out to which tails are tabled; beyond, they are nearly geometric."""
_MOST_DEVIATIONS = 1000.0
"""The most standard deviations that a noisy count may lie outside of all possible ones: further out logarithms lose digits."""


@frozen
class GaussianNoise(IndependentNoise):
    """Independent discrete Gaussian noise with parameter σ², which is its variance nearly, and never less."""

    cells: int
    variance: float = field(converter=float)

    @property
    def sigma(self) -> float:
        """σ."""
        return float(self.variance**0.5)

    @property
    def curvature(self) -> float:
        """1/σ²."""
        return 1.0 / self.variance

    @property
    def kernel(self) -> Kernel:
        """The log likelihood up to its constant."""
        return Kernel(0.0, self.curvature)

    @property
    def slope(self) -> float:
        """The slope of the log likelihood about where windows end."""
        return self.kernel.slope

    def held(self, raw: "Counts | tuple[int, ...] | list[int]", n: int | None) -> Counts:  # type: ignore[override]
        """The outcomes themselves: how far one is below 0 says how unlikely larger counts are. InvalidInputError for impossible ones."""
        far, most = _MOST_DEVIATIONS * self.sigma, inf if n is None else float(n)
        values = [int(z) for z in raw]
        if any(not -far <= z <= min(most + far, limits.COUNT) for z in values):
            raise InvalidInputError(
                f"a noisy count lies more than {_MOST_DEVIATIONS:,.0f} standard deviations of the noise outside of what is possible; "
                "look at the scale of the noise, and at n"
            )
        return np.array(values, dtype=np.int64)

    @property
    def _last(self) -> int:
        last = ceil(_TABLED_DEVIATIONS * self.sigma) + 8
        if last > limits.WINDOW_CELLS:
            raise TooLargeError(f"tails of discrete Gaussian noise are computed up to a σ of {limits.WINDOW_CELLS // 40:,}")
        return last

    @cached_property
    def _log_norm(self) -> float:
        """ln Σ_d e^{-d²/2σ²}, by whichever of the sum and its Fourier series is short."""
        if self.variance > 1.0:
            j = np.arange(1.0, 9.0)
            return 0.5 * log(2.0 * np.pi * self.variance) + float(np.log1p(2.0 * np.exp(-2.0 * np.pi**2 * self.variance * j * j).sum()))
        j = np.arange(1.0, 50.0)
        return float(np.log1p(2.0 * np.exp(-0.5 * j * j / self.variance).sum()))

    @cached_property
    def _tails(self) -> Floats:
        """ln P(noise >= t) for t from -last to last."""
        last = self._last
        log_p = -0.5 * (np.arange(-last, last + np.ceil(self.sigma) + 8.0) / self.sigma) ** 2  # beyond is e^-40 of the last
        tails = np.logaddexp.accumulate(log_p[::-1])[::-1]
        return np.asarray(tails[: 2 * last + 1] - tails[0])

    def log_factor(self, difference: Floats) -> Floats:
        """ln P(noise = d)."""
        return np.asarray(-0.5 * np.square(difference) / self.variance - self._log_norm)

    def log_at_least(self, t: Floats | float) -> Floats:
        """ln P(noise >= t)."""
        last, whole = self._last, np.ceil(t)
        near = self._tails[np.clip(whole + last, 0, 2 * last).astype(np.int64)]
        far = np.maximum(whole, float(last))
        steep = [np.log(-np.expm1(-(at + 0.5) / self.variance)) for at in (far, float(last))]
        return np.asarray(near - 0.5 * (far - last) * (far + last) / self.variance - (steep[0] - steep[1]))

    def reach(self, cells: int, block: int, tail: float) -> tuple[int, int]:
        """Return the reach of one cell by its tails, or of several by Chernoff's bound: the noise is sub-Gaussian with variance σ²."""
        if cells <= 1:
            return super().reach(cells, block, tail) if cells else (0, 0)
        far = ceil((2.0 * cells * self.variance * -log(tail)) ** 0.5)
        return -far, far

    def simulate(self, size: int, rng: np.random.Generator) -> Counts:
        """Draw by inversion of a table."""
        law = np.exp(self._tails)
        below = 1.0 - law[1:]
        return np.asarray(np.searchsorted(below, rng.random((size, self.cells)), side="right") - self._last, dtype=np.int64)


@frozen
class RoundedGaussianNoise(GaussianNoise):
    """Independent noise that is a normal variable with variance σ², rounded to the nearest whole number."""

    @property
    def is_kernel(self) -> bool:
        """No: an interval of the normal law is no parabola."""
        return False

    def log_factor(self, difference: Floats) -> Floats:
        """ln P(noise = d): of the tails from d - ½ and from d + ½ on, as e^{-x²/2} times what changes slowly, so that nothing cancels."""
        d = np.abs(np.asarray(difference, dtype=np.float64))
        away = np.maximum(d, 1.0)
        near, far = (erfcx((away + half) / (self.sigma * 2.0**0.5)) for half in (-0.5, 0.5))
        rest = -np.expm1(np.log(far / near) - away / self.variance)
        tail = -0.5 * ((away - 0.5) / self.sigma) ** 2 + np.log(0.5 * near * rest)
        return np.asarray(np.where(d > 0.0, tail, np.log(erf(0.5 / (self.sigma * 2.0**0.5)))))

    def log_at_least(self, t: Floats | float) -> Floats:
        """ln P(noise >= t)."""
        return np.asarray(log_ndtr((0.5 - np.ceil(t)) / self.sigma))

    def reach(self, cells: int, block: int, tail: float) -> tuple[int, int]:
        """Return the reach of the noise without rounding, which moves every cell by a half at most."""
        low, high = super().reach(cells, block, tail)
        return (low, high) if cells <= 1 else (low - cells // 2, high + cells // 2)

    def simulate(self, size: int, rng: np.random.Generator) -> Counts:
        """Float draws, one a row."""
        return np.asarray(np.rint(rng.normal(0.0, self.sigma, (size, self.cells))), dtype=np.int64)


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
