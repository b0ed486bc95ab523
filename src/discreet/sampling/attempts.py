"""Exact draws by attempts: whatever is proposed, such as a uniform composition, what is accepted has exactly the law of the weights.

The weight exp(-c H(x, r)) of a candidate is enclosed at any precision from its definition: it decides wherever bounds leave it open.
The proofs are in docs/proofs/exactness.md.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from flint import arb, ctx

from discreet.numerics.balls import ball
from discreet.sampling.bits import BitSource, uniform


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


class Weights:
    """The weights of all candidates for one dataset, with what they have in common kept for each precision."""

    def __init__(self, prior: tuple[Fraction, ...], counts: tuple[int, ...], rate: Callable[[], arb]) -> None:
        """`rate()` encloses c at the working precision in force when it is called."""
        self.prior, self.counts, self._rate = prior, counts, rate
        self.total = sum(counts)
        self._at_precision: dict[int, tuple[arb, list[arb]]] = {}

    @cached_property
    def precision(self) -> int:
        """The working precision to begin with."""
        # A step changes lnΓ terms of size ~ m ln m by ~ 1/m: 2 log2 m + log2 log m bits cancel.
        return 3 * (self.total + int(sum(self.prior)) + 1).bit_length() + 64

    def rate(self) -> arb:
        """Enclosure of c at the working precision."""
        return self._constants()[0]

    def __call__(self, candidate: tuple[int, ...]) -> arb:
        """Enclosure of exp(-c H(x, r)) at the working precision."""
        if candidate == self.counts:
            return arb(1)
        rate, constants = self._constants()
        exponent = arb(0)
        for a, x, r, constant in zip(self.prior, self.counts, candidate, constants, strict=True):
            if r != x:
                exponent += constant + ball(a + r).lgamma() / 2 - ball(a + Fraction(x + r, 2)).lgamma()
        return (-rate * (-(-exponent).expm1()).sqrt()).exp()

    def _constants(self) -> tuple[arb, list[arb]]:
        """c and ½ lnΓ(a_i + x_i)."""
        if ctx.prec not in self._at_precision:
            constants = [ball(a + x).lgamma() / 2 for a, x in zip(self.prior, self.counts, strict=True)]
            self._at_precision[ctx.prec] = self._rate(), constants
        return self._at_precision[ctx.prec]


def composition(source: BitSource, total: int, parts: int) -> list[int]:
    """A uniform composition of `total` into `parts` counts >= 0: stars and bars, choosing whichever there are fewer of."""
    places = total + parts - 1
    counts = [0] * parts
    if total < parts - 1:
        for before, place in enumerate(_subset(source, total, places)):
            counts[place - before] += 1
        return counts
    previous = -1
    for part, place in enumerate(_subset(source, parts - 1, places)):
        counts[part] = place - previous - 1
        previous = place
    counts[-1] = places - previous - 1
    return counts


def _subset(source: BitSource, size: int, places: int) -> list[int]:
    """A uniform subset of {0 .. places-1} of the given size, in order (Floyd's algorithm)."""
    chosen: set[int] = set()
    for last in range(places - size, places):
        pick = uniform(source, last + 1)
        chosen.add(last if pick in chosen else pick)
    return sorted(chosen)
