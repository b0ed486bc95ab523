"""Exact draws of the exponential mechanism's candidates, weight(r) = exp(-c H(x, r)): listed ones, those of two categories, or many.

Where candidates are listed every weight lies in an interval of whole numbers, of one width for all, that somebody else has proved. Laid end
to end, the upper ends are a line of whole numbers. A uniform point of the line falls to a candidate; below that candidate's lower end it is
accepted at once, and in the small rest by a coin whose probability is enclosed in ball arithmetic.

With two categories H grows as r leaves x on either side. Each side is cut into blocks of distances [2^j, 2^{j+1}); no weight in a block
exceeds the one at its near end, so size × (an upper bound of that weight) bounds the block. Walking outwards stops where everything further
out, lumped under the bound at its near end, is a small share of what has been found. Then: choose a block by its bound, a point uniformly
in it, and accept it with probability weight / bound. The proofs are in docs/proofs/exactness.md.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Protocol

from flint import arb

from discreet.errors import InternalError
from discreet.sampling.attempts import CandidateSampler, Weights
from discreet.sampling.bits import BitSource, bernoulli, endpoints, ladder, take, uniform
from discreet.sampling.domination import Target, even_weights
from discreet.sampling.many_categories import Mixture, check_size, most_megabytes

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


_WORD_BITS = 64


class WholeNumbers(Protocol):
    """A list or an array of whole numbers."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Any: ...


class Listed(CandidateSampler):
    """An exact sampler for one dataset whose candidates are listed."""

    least_acceptance: ClassVar[Fraction] = Fraction(1, 2)
    """The upper ends add up to at most twice the weights, which is checked: in fact they exceed them by a share of 2^-25 or less."""

    def __init__(
        self,
        weights: Weights,
        candidate: Callable[[int], tuple[int, ...]],
        ends: WholeNumbers,
        width: int,
        scale: int,
        word: int = _WORD_BITS,
    ) -> None:
        """The weight of candidate(i), in units of 2^-scale, lies between high_i - width and high_i; ends[i] is high_0 + ... + high_i.

        `word` is how many bits are drawn at first, and again whenever these do not decide.
        """
        self._weights, self._candidate, self._ends = weights, candidate, ends
        self._width, self._scale, self._word = width, scale, word
        self._bound = int(ends[-1])
        # All weights together are at least 1, that of the data themselves.
        if self._bound < 1 << scale or 2 * width * len(ends) > 1 << scale:
            raise InternalError("the bounds of the weights are too far from them; nothing was released")

    def attempt(self, source: BitSource) -> tuple[int, ...] | None:
        index, certain = self._place(source)
        candidate = self._candidate(index)
        return candidate if certain or self._accepts(source, index, candidate) else None

    @property
    def total_bound(self) -> Fraction:
        return Fraction(self._bound, 1 << self._scale)

    def _place(self, source: BitSource) -> tuple[int, bool]:
        """The candidate that a uniform point of the line falls to, and whether it is below that candidate's lower end.

        The point is U · total_bound, with U known to lie in [word, word + 1) / 2^bits: more bits are drawn until both ends agree.
        """
        word, bits = take(source, self._word), self._word
        while True:
            first, last = word * self._bound >> bits, (word + 1) * self._bound - 1 >> bits
            cell = self._cell(first)
            if first == last or cell == self._cell(last):
                return cell
            word, bits = word << self._word | take(source, self._word), bits + self._word

    def _cell(self, position: int) -> tuple[int, bool]:
        index = bisect_right(self._ends, position, key=int)
        return index, position < self._start(index) + self.bounds(index)[0]

    def _start(self, index: int) -> int:
        return int(self._ends[index - 1]) if index else 0

    def bounds(self, index: int) -> tuple[int, int]:
        """Return the two whole numbers between which the weight of a candidate lies, in units of 2^-scale; no weight is below 0."""
        high = int(self._ends[index]) - self._start(index)
        return max(0, high - self._width), high

    def _accepts(self, source: BitSource, index: int, candidate: tuple[int, ...]) -> bool:
        """Return whether a point between the two bounds of the weight is below the weight itself.

        A weight outside its bounds makes a probability outside [0, 1], which the coin refuses.
        """
        low, high = self.bounds(index)
        unit = 1 << self._scale
        return bernoulli(source, ladder(lambda: (self._weights(candidate) * unit - low) / (high - low), self._weights.precision))


_SECONDS_A_DRAW, _SECONDS_A_MEGABYTE = 0.1, 0.05
"""At least five times the seconds that draws for the worst data took on a machine of two cores (`python -m benchmarks steady`)."""


def candidate_sampler(
    prior: tuple[Fraction, ...],
    counts: tuple[int, ...],
    rate: Callable[[], arb],
    weights: Callable[[Target], list[float]] = even_weights,
) -> CandidateSampler:
    """A sampler built once for one dataset; `rate()` must enclose c at the working precision in force when it is called.

    With three or more categories, `weights` say how its proposal is mixed: they cost or save time, and change nothing else.
    """
    return Envelope(prior, counts, rate) if len(prior) == 2 else Mixture(prior, counts, rate, weights)


def check_drawable(prior: tuple[Fraction, ...], n: int) -> None:
    """Refuse a size that no sampler can draw exactly, by public numbers alone: before anything is spent."""
    if len(prior) > 2:
        check_size(prior, n)


def most_seconds(prior: tuple[Fraction, ...], n: int) -> float:
    """Return more seconds than a sampler and its draw take as a rule, whatever the data. With two categories n does not matter."""
    return 0.0 if len(prior) == 2 else _SECONDS_A_DRAW + _SECONDS_A_MEGABYTE * most_megabytes(prior, n)
