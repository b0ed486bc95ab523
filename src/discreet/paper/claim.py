"""What a claim is: a statement of a source document with the numbers computed about it, and the verdict they give."""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["HOLDS", "HOLDS_NOT", "SAME", "Claim", "same", "verdict"]

HOLDS = "holds"
HOLDS_NOT = "does not hold"
SAME = 1e-11
"""Two computed numbers this close, relatively, are the same number."""


@dataclass(frozen=True)
class Claim:
    """One statement of a source document with what was computed about it."""

    id: str
    where: str
    claim: str
    numbers: Mapping[str, float]
    verdict: str
    """`holds`, `holds when ...` or `does not hold`."""
    figure: str = ""
    """The figure or table that shows it."""

    @property
    def kind(self) -> str:
        """The verdict without its condition."""
        return self.verdict if self.verdict in (HOLDS, HOLDS_NOT) else f"{HOLDS} when"


def verdict(always: bool, condition: str | None = None) -> str:
    """The verdict of a claim that is always true, true under a condition, or neither."""
    if always:
        return HOLDS
    return HOLDS_NOT if condition is None else f"{HOLDS} when {condition}"


def same(value: float, other: float) -> bool:
    """Whether two computed numbers are the same."""
    return abs(value - other) <= SAME * abs(other)
