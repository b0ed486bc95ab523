"""Exact draws by attempts: whatever is proposed, what is accepted has exactly the law of the weights."""

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar

from discreet.sampling.bits import BitSource


class CandidateSampler(ABC):
    """An exact sampler of candidates for one dataset, with weights exp(-c H(x, r)): `draw` may be called any number of times."""

    least_acceptance: ClassVar[Fraction]
    """A lower bound, proved for every dataset, of the probability that an attempt succeeds."""

    @property
    @abstractmethod
    def total_bound(self) -> Fraction:
        """The mass of the proposal. Attempts succeed with probability (sum of all weights) / total_bound, at least `least_acceptance`."""

    @abstractmethod
    def attempt(self, source: BitSource) -> tuple[int, ...] | None:
        """A candidate r with probability weight(r) / total_bound, or None with what is left of 1."""

    def draw(self, source: BitSource) -> tuple[int, ...]:
        """One candidate, with probability exactly proportional to its weight: attempts until one succeeds."""
        while True:
            candidate = self.attempt(source)
            if candidate is not None:
                return candidate
