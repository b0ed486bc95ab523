"""Enclosures of any precision, in ball arithmetic: what decides where exactness is promised."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from threading import RLock

from flint import arb, ctx, fmpq


class _Turn:
    """The turn of a thread to set the working precision; a forked process begins with its own."""

    lock = RLock()

    @classmethod
    def begin(cls) -> None:
        cls.lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Turn.begin)


@contextmanager
def working_precision(bits: int) -> Iterator[None]:
    """FLINT's working precision, which all threads share: one at a time has it, or another would change it under its hands."""
    with _Turn.lock, ctx.workprec(bits):
        yield


def ball(value: Fraction | int) -> arb:
    """The rational number as a ball at the working precision."""
    return arb(fmpq(value.numerator, value.denominator))


def dyadic(end: arb) -> Fraction:
    """An end of an enclosure (`lower()` or `upper()`), which is a dyadic number, exactly."""
    mantissa, exponent = (int(part) for part in end.mid().man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent


def bregman_ball(v: Fraction, u: Fraction) -> arb:
    """A rigorous enclosure of B(v | u) at the working precision, which it may fill badly: see `refine`."""
    if u == v:
        return arb(0)
    base = ball(u)
    return ball(v).lgamma() - base.lgamma() - ball(v - u) * base.digamma()


def gap_ball(u: Fraction, v: Fraction) -> arb:
    """A rigorous enclosure of `gap(u, v)` at the working precision."""
    if u == v:
        return arb(0)
    return (ball(u).lgamma() + ball(v).lgamma()) / 2 - ball((u + v) / 2).lgamma()


def to_hellinger_ball(divergence: arb) -> arb:
    """The Hellinger distance sqrt(1 - e^-D) of posteriors whose gaps add up to D."""
    return (-(-divergence).expm1()).sqrt()


def refine(compute: Callable[[], arb], bits: int = 64) -> arb:
    """`compute()` at growing working precision until `bits` relative bits are right; exact zeros are returned as they are.

    A ball that is not finite, or that cannot be told from zero, only means that more precision is needed.
    """
    precision = bits + 64
    while True:
        with working_precision(precision):
            result = compute()
            if result.is_finite() and (result.is_zero() or result.rel_accuracy_bits() >= bits):
                return result
        precision *= 2
        if precision > _MOST_BALL_BITS:
            raise ArithmeticError(f"no enclosure to {bits} bits at a working precision of {precision // 2} bits")


_MOST_BALL_BITS = 1 << 16
