"""A differential privacy promise as a value, and numbers rounded so that no promise is understated."""

from dataclasses import dataclass, field
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
    person. `theorem` names what a machine checked of a proof (docs/proofs/checked.md); a record does not hold it, and it makes no promise
    another one.
    """

    epsilon: float
    delta: float
    basis: Literal["proof", "computation", "none"]
    unit: Literal["record", "person"] = "record"
    neighbours: Relation = Relation.REPLACE_ONE
    theorem: str = field(default="", compare=False)

    def __str__(self) -> str:
        if self.basis == "none":
            return "no privacy guarantee"
        return f"{self.level} differential privacy by {self.grounds}; neighbours: {self.neighbours.of(self.unit)}"

    def _repr_html_(self) -> str:
        promised = self.basis != "none"
        fields = {"ε": f"{self.epsilon:g}", "δ": f"{self.delta:g}", "basis": self.grounds, "neighbours": self.neighbours.of(self.unit)}
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
    def hides_presence(self) -> bool:
        """Whether it is hidden that someone is among the data, and not only what they say."""
        return self.neighbours == Relation.ADD_REMOVE_ONE


def _shown_number(value: float) -> str:
    """Six digits, or all where six would say less than is given away."""
    short = f"{value:g}"
    return short if float(short) >= value else repr(value)


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
