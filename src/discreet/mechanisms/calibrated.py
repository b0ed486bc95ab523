"""Calibration, which has less noise at no cost in privacy: the largest exponent whose certified loss is still within ε.

A proof must cover every prior and n; the exact loss of this one is smaller, so the noise can be.
"""

from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

from attrs import evolve

from discreet.errors import InvalidInputError, RefusedError
from discreet.mechanisms.hellinger import Exponential, certified_loss
from discreet.mechanisms.losses import check_paired

ExponentialT = TypeVar("ExponentialT", bound=Exponential)

_CLOSE_ENOUGH = 0.9995
_AIM = 0.9998
_FACTOR_BITS = 24
_MOST_TRIALS = 40
CALIBRATION_PASSES = 6
"""The number of losses that a calibration computes as a rule."""


def Calibrated(mechanism: ExponentialT) -> ExponentialT:  # noqa: N802  named like the mechanisms that it stands beside
    """A mechanism with its exponent multiplied by the largest `factor` whose certified loss is at most ε: ε by computation.

    The factor is a function of public parameters alone. Costs a few evaluations of the loss: O(n²) for two categories. Raises
    InvalidInputError for what is not a Hellinger mechanism or has a factor already, and TooLargeError where the loss cannot be computed.
    """
    if not isinstance(mechanism, Exponential) or mechanism.factor != 1:
        kind = "a calibrated " if isinstance(mechanism, Exponential) else ""
        raise InvalidInputError(f"Calibrated takes a Hellinger mechanism, not {kind}{type(mechanism).__name__}")
    if mechanism.report != mechanism._own_report():  # the best report depends on the factor
        raise InvalidInputError("Calibrated takes a mechanism with its own report: calibrate first, then remap")
    return evolve(mechanism, factor=_calibration(mechanism))


@lru_cache(maxsize=64)
def _calibration(mechanism: Exponential) -> Fraction:
    """A factor whose certified loss is between `_CLOSE_ENOUGH` and 1 times ε.

    The loss is nearly proportional to the factor, so each guess rescales the last, kept between the best that was safe and the
    lowest that was not. It need not be monotone: only the certified loss of the factor that is returned matters.
    """
    check_paired(mechanism.space.total, mechanism.k, CALIBRATION_PASSES)
    target = float(mechanism.epsilon)
    safe: Fraction | None = None
    unsafe: Fraction | None = None
    factor = Fraction(1)
    for _ in range(_MOST_TRIALS):
        loss = certified_loss(evolve(mechanism, factor=factor))
        if Fraction(loss.bound) <= mechanism.epsilon:
            safe = factor
            if loss.bound >= _CLOSE_ENOUGH * target:
                break
        else:
            unsafe = factor
        low = safe or Fraction(0)
        factor = Fraction(round(float(factor) * _AIM * target / loss.bound * 2**_FACTOR_BITS), 2**_FACTOR_BITS)
        if factor <= low or (unsafe is not None and factor >= unsafe):
            factor = (low + unsafe) / 2 if unsafe is not None else 2 * low
    if safe is None:
        raise RefusedError("no factor with a certified loss within epsilon was found")
    return safe
