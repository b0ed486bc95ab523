"""A differential privacy promise as a value, and numbers rounded so that no promise is understated."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import inf, nextafter
from typing import Literal

from discreet.model.datasets import Relation
from discreet.text import html_fields


@dataclass(frozen=True)
class Guarantee:
    """A differential privacy promise, and what it rests on.

    `basis` is "proof" (a theorem), "computation" (the exact loss of this very configuration was computed) or "none" (no promise).
    `neighbours` is what the promise hides: that one is replaced by another, or that one comes or goes. Where it is within columns, that
    one is replaced by another of the same group is hidden, and the group is not. `unit` says of what: a record, or all the rows of a
    person.
    """

    epsilon: float
    delta: float
    basis: Literal["proof", "computation", "none"]
    unit: Literal["record", "person"] = "record"
    neighbours: Relation = Relation.REPLACE_ONE

    def __str__(self) -> str:
        if self.basis == "none":
            return "no privacy guarantee"
        return f"{self.level} differential privacy by {self.basis}; neighbours: {self.neighbours.of(self.unit)}"

    def _repr_html_(self) -> str:
        promised = self.basis != "none"
        fields = {"ε": f"{self.epsilon:g}", "δ": f"{self.delta:g}", "basis": self.basis, "neighbours": self.neighbours.of(self.unit)}
        return html_fields("Guarantee" if promised else str(self), fields if promised else {})

    @property
    def level(self) -> str:
        """The privacy parameters in symbols: ε, and δ where it is not 0."""
        return f"ε = {self.epsilon:g}" if self.delta == 0 else f"(ε, δ) = ({self.epsilon:g}, {self.delta:g})"

    @property
    def hides_presence(self) -> bool:
        """Whether it is hidden that someone is among the data, and not only what they say."""
        return self.neighbours == Relation.ADD_REMOVE_ONE


NO_GUARANTEE = Guarantee(inf, 1.0, "none")
"""What is said of an outcome that nothing is promised about."""


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
