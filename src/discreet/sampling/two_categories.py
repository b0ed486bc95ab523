"""Exact draws from weight(r) = exp(-c H(x, r)), r = 0..n, for two categories, in time that does not grow with n.

H grows as r leaves x on either side. Each side is cut into blocks of distances [2^j, 2^{j+1}); no weight in a block exceeds the one at its
near end, so size × (an upper bound of that weight) bounds the block. Walking outwards stops where everything further out, lumped under the
bound at its near end, is a small share of what has been found. Then: choose a block by its bound, a point uniformly in it, and accept it
with probability weight / bound. The proof is in docs/proofs/exactness.md.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

from flint import arb

from discreet.errors import InternalError
from discreet.sampling.attempts import CandidateSampler, Weights
from discreet.sampling.bits import BitSource, bernoulli, endpoints, ladder, uniform

_LUMP_SHARE = 64
"""The lump on each side holds at most one part in this many of the whole bound, so it costs acceptance next to nothing."""

_ACCURACY = 20
"""Relative bits a weight must have before its upper end is used as a bound: one rejection in a million is due to it."""


@dataclass(frozen=True)
class _Block:
    """Distances start .. start + size - 1 from x on one side, each with weight at most bound / 2^scale."""

    side: int
    start: int
    size: int
    bound: int


class Envelope(CandidateSampler):
    """An exact sampler for one dataset with two categories."""

    least_acceptance: ClassVar[Fraction] = Fraction(12, 25)
    """No dataset, prior, n or rate has a lower one. The proof is in docs/proofs/exactness.md."""

    def __init__(self, prior: tuple[Fraction, ...], counts: tuple[int, ...], rate: Callable[[], arb]) -> None:
        """`rate()` encloses c at the working precision in force when it is called."""
        self._weights, self._counts = Weights(prior, counts, rate), counts
        self._total, self._precision = self._weights.total, self._weights.precision
        # Bounds are whole multiples of 2^-scale: rounding them up adds at most n 2^-scale <= 2^-64.
        self._scale = self._total.bit_length() + 64
        self._blocks = self._build()
        self._bound = sum(block.size * block.bound for block in self._blocks)

    def attempt(self, source: BitSource) -> tuple[int, ...] | None:
        position, bound = self._propose(source)
        accepted = bernoulli(source, ladder(partial(self._acceptance, position, bound), self._precision))
        return (position, self._total - position) if accepted else None

    @property
    def total_bound(self) -> Fraction:
        return Fraction(self._bound, 1 << self._scale)

    def weight(self, position: int) -> arb:
        """Enclosure of exp(-c H(x, r)) at the working precision."""
        return self._weights((position, self._total - position))

    def _acceptance(self, position: int, bound: int) -> arb:
        return self.weight(position) * (arb(2) ** self._scale) / bound

    def _propose(self, source: BitSource) -> tuple[int, int]:
        """A position with probability proportional to the bound of its block, and that bound."""
        ticket = uniform(source, self._bound)
        for block in self._blocks:
            share = block.size * block.bound
            if ticket < share:
                return self._counts[0] + block.side * (block.start + ticket // block.bound), block.bound
            ticket -= share
        raise InternalError("the blocks do not add up to their bound; nothing was released")

    def _build(self) -> list[_Block]:
        """The blocks of both sides, walked outwards together."""
        blocks = [_Block(1, 0, 1, 1 << self._scale)]
        found = 1 << self._scale
        reach = {-1: self._counts[0], 1: self._counts[1]}
        start = 1
        while reach:
            for side, furthest in list(reach.items()):
                left = furthest - start + 1
                if left <= 0:
                    del reach[side]
                    continue
                bound = self._upper(self._counts[0] + side * start)
                size = min(start, left)
                if left * bound * _LUMP_SHARE <= found:
                    size = left
                    del reach[side]
                blocks.append(_Block(side, start, size, bound))
                found += size * bound
            start *= 2
        return sorted(blocks, key=lambda block: -block.size * block.bound)

    def _upper(self, position: int) -> int:
        """The weight in units of 2^-scale, rounded up."""
        tiny = arb(2) ** -self._scale
        for enclosure in ladder(partial(self.weight, position), self._precision):
            if enclosure.rel_accuracy_bits() >= _ACCURACY or enclosure < tiny:
                _, high, exponent = endpoints(enclosure)
                shift = exponent + self._scale
                return high << shift if shift >= 0 else -(-high >> -shift)
        raise InternalError("a weight could not be bounded; nothing was released")
