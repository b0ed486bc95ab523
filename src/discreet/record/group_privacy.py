"""Group privacy: what a promise about datasets that are one step apart says about others, that are several of its steps apart."""

from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import ceil

from discreet import limits
from discreet.model.datasets import Relation

_ROUNDED_UP = Context(prec=12, rounding=ROUND_CEILING)


def steps_between(own: Relation, unit: str, aim: Relation, aim_unit: str) -> int | None:
    """Return how many steps of a promise, about its own neighbours and unit, one step of what is to be protected takes at most.

    None if no number of them is enough. One record more or less can change the answer that its person counts for, or the group, which
    removes one person's answer and adds another. A record that is replaced within its group replaces its person's answer within the
    group (docs/proofs/ledger.md). A person may have any number of records.
    """
    if unit == "record" and aim_unit == "person":
        return None
    steps = own.steps_of(aim)
    changes_answer = unit == "person" and aim_unit == "record" and aim == Relation.ADD_REMOVE_ONE
    return own.steps_of(Relation.REPLACE_ONE) if changes_answer and steps is not None else steps


def group_privacy(epsilon: Fraction, delta: Fraction, steps: int) -> tuple[Fraction, Fraction]:
    """The ε and δ that an (ε, δ)-private release has between datasets that are so many steps apart (docs/proofs/ledger.md).

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
