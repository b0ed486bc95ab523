"""Group privacy: what a promise about datasets that are one step apart says about datasets that are several steps apart."""

from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import ceil

from discreet import limits

_ROUNDED_UP = Context(prec=12, rounding=ROUND_CEILING)


def group_privacy(epsilon: Fraction, delta: Fraction, steps: int) -> tuple[Fraction, Fraction]:
    """The ε and δ that an (ε, δ)-private release has between datasets that are so many steps apart (docs/ledger.md).

    ε becomes `steps·ε`, exactly, and δ becomes `δ (1 + e^ε + ... + e^((steps-1) ε))`, rounded up to a decimal of 12 digits, and at most
    1, which is true of every release.
    """
    if steps == 1 or not delta:
        return steps * epsilon, delta
    if (steps - 1) * epsilon >= delta.denominator.bit_length():  # then e^((steps-1) ε) is above the denominator of δ
        return steps * epsilon, Fraction(1)
    from discreet.numerics.balls import ball, dyadic, refine

    grown = refine(lambda: ball(delta) * sum((ball(step * epsilon).exp() for step in range(steps)), ball(0)), bits=128)
    above = dyadic(grown.upper())
    decimal = Fraction(_ROUNDED_UP.divide(Decimal(above.numerator), Decimal(above.denominator)))
    places = 10**limits.AMOUNT_DIGITS
    return steps * epsilon, min(Fraction(1), Fraction(ceil(decimal * places), places))
