"""A differential privacy promise as a value, what it says of datasets several steps apart, and numbers that understate no promise."""

from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, inf, nextafter
from typing import Literal

from discreet import limits
from discreet.errors import InvalidInputError
from discreet.model.datasets import Relation
from discreet.model.periods import Every, PeriodRange
from discreet.text import html_fields


@dataclass(frozen=True)
class Guarantee:
    """A differential privacy promise, and what it rests on.

    `basis` is "proof" (a theorem), "computation" (the exact loss of this very configuration was computed) or "none" (no promise).
    `neighbours` is what the promise hides: that one is replaced by another, or that one comes or goes. Where it is within columns, that
    one is replaced by another of the same group is hidden, and the group is not. `unit` says of what: a record, or all the rows of a
    person, or with a `period` all that they have in one such period. `theorem` names what a machine checked of a proof
    (docs/proofs/checked.md); a record does not hold it, and it makes no promise another one.
    """

    epsilon: float
    delta: float
    basis: Literal["proof", "computation", "none"]
    unit: Literal["record", "person"] = "record"
    neighbours: Relation = Relation.REPLACE_ONE
    theorem: str = field(default="", compare=False)
    period: PeriodRange | None = None
    """The periods that were read; None if the promise is about all that a person has, whenever it is from."""
    rho: Fraction | None = field(default=None, compare=False)
    """The ρ of zero-concentrated differential privacy that is proved beside ε and δ; a record does not hold it. None if there is none."""

    def __post_init__(self) -> None:
        if self.period is not None:
            self.period.check_size()
        if self.period is not None and self.unit != "person":
            fault = "a promise about periods is about all records of one person in one of them"
            raise InvalidInputError(
                f"{fault}: count persons, by privacy_id, one_row_per_person or unit='person'",
                in_shell=f"{fault}: say whose a row is, with --privacy-id COLUMN, or that every row is another person's, with "
                "--one-row-per-person",
            )

    def __str__(self) -> str:
        if self.basis == "none":
            return "no privacy guarantee"
        concentrated = "" if self.rho is None else f", ρ = {_shown_number(rounded_up(self.rho))} by proof"
        return f"{self.level} differential privacy by {self.grounds}{concentrated}; neighbours: {self.step}"

    def _repr_html_(self) -> str:
        promised = self.basis != "none"
        fields = {"ε": f"{self.epsilon:g}", "δ": f"{self.delta:g}", "basis": self.grounds, "neighbours": self.step}
        return html_fields("Guarantee" if promised else str(self), fields if promised else {})

    @property
    def grounds(self) -> str:
        """The basis in words, with the theorem that a machine checked."""
        return f"{self.basis} (checked: {self.theorem})" if self.theorem else self.basis

    @property
    def level(self) -> str:
        """The privacy parameters in symbols: ε, and δ where it is not 0."""
        epsilon, delta = (_shown_number(value) for value in (self.epsilon, self.delta))
        return f"ε = {epsilon}" if self.delta == 0 else f"(ε, δ) = ({epsilon}, {delta})"

    @property
    def step(self) -> str:
        """The step that is hidden, in words: "replace one record", "replace one person in one month"."""
        return self.neighbours.of(self.unit, None if self.period is None else self.period.every)

    @property
    def protects(self) -> str:
        """The words about who is protected by how much where there are periods; empty if there are none."""
        return "" if self.period is None else f"{stay_words(self.period.every, self.level)}, with one such release in each"

    @property
    def everyone(self) -> str:
        """The protection of each of those counted, in a few words."""
        return f"{self.level} differential privacy" + ("" if self.period is None else f" in one {self.period.every}")

    @property
    def hides_presence(self) -> bool:
        """Return whether it is hidden that someone is among the data, and not only what they say."""
        return self.neighbours == Relation.ADD_REMOVE_ONE


def stay_words(every: Every, level: object) -> str:
    """Describe who is protected by how much where each period has a level of its own."""
    return f"protects all records of one person in one {every}; someone who is there for m {every}s is protected by m times {level} in all"


def _shown_number(value: float) -> str:
    """Six digits, or all of a short decimal where six would say less than is given away; six that are rounded up of a long one."""
    short, whole = f"{value:g}", repr(value)
    if float(short) >= value:
        return short
    return whole if len(whole) <= _SHORT_DECIMAL else f"{float(_SIX_DIGITS.create_decimal(whole)):g}"


_SIX_DIGITS = Context(prec=6, rounding=ROUND_CEILING)
_SHORT_DECIMAL = 12
"""Characters up to which a decimal is shown as somebody may have typed it."""


NO_GUARANTEE = Guarantee(inf, 1.0, "none")
"""The guarantee of an outcome that nothing is promised about."""


@lru_cache(maxsize=256)  # of public numbers, the same few again and again
def rounded_up(value: Fraction) -> float:
    """The smallest float that, read as the decimal it prints as, is not below the value: a promise is never understated."""
    shown = float(value)
    while Fraction(repr(shown)) < value:
        shown = nextafter(shown, inf)
    return shown


def rounded_down(value: Fraction) -> float:
    """A float next to the value and not above it."""
    below = float(value)
    return below if Fraction(below) <= value else nextafter(below, -inf)


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
