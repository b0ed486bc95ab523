"""Samplers whose time tells the noise: exact, and what an auditor of time or bits must find (positive controls).

Some loop as often as the noise is large. Others take the same steps whatever the noise is, but hold it in a Python integer, which CPython
keeps ready from -5 to 256 and otherwise makes anew.

References: Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Algorithms 1 to 3.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import isqrt

from attrs import define, frozen

import discreet as dc
from discreet.errors import InternalError
from discreet.sampling import BitSource
from discreet.sampling.bits import take, uniform
from discreet.sampling.noise import Inversion, NoiseLaw, discrete_laplace_law

__all__ = [
    "IntegerLattice",
    "LoopHistogram",
    "LoopLattice",
    "bernoulli_exp",
    "bernoulli_ratio",
    "integer_draws",
    "loop_discrete_gaussian",
    "loop_discrete_laplace",
    "loop_geometric",
]


def bernoulli_ratio(source: BitSource, numerator: int, denominator: int) -> bool:
    """True with probability numerator / denominator, exactly."""
    if not 0 <= numerator <= denominator:
        raise InternalError("a probability was found outside [0, 1]; nothing was released")
    return uniform(source, denominator) < numerator


def bernoulli_exp(source: BitSource, numerator: int, denominator: int = 1) -> bool:
    """True with probability exp(-numerator / denominator), exactly; the ratio must not be negative."""
    whole, rest = divmod(numerator, denominator)
    if whole < 0:
        raise InternalError("a probability was found outside [0, 1]; nothing was released")
    for _ in range(whole):
        if not _bernoulli_exp_below_one(source, 1, 1):
            return False
    return _bernoulli_exp_below_one(source, rest, denominator)


def _bernoulli_exp_below_one(source: BitSource, numerator: int, denominator: int) -> bool:
    """The first failure among coins of probability g/1, g/2, g/3, ... comes at an odd place with probability exp(-g)."""
    place = 1
    while bernoulli_ratio(source, numerator, denominator * place):
        place += 1
    return place % 2 == 1


def loop_geometric(source: BitSource, scale: Fraction) -> int:
    """With scale = s/t: a remainder below s, accepted with probability e^{-remainder/s}, plus s times a geometric of ratio 1/e; over t."""
    size = scale.numerator
    remainder = uniform(source, size)
    while not bernoulli_exp(source, remainder, size):
        remainder = uniform(source, size)
    turns = 0
    while bernoulli_exp(source, 1):
        turns += 1
    return (remainder + size * turns) // scale.denominator


def loop_discrete_laplace(source: BitSource, scale: Fraction) -> int:
    """A geometric with a sign, drawn again when it comes out as minus zero."""
    while True:
        negative, size = take(source, 1), loop_geometric(source, scale)
        if size or not negative:
            return -size if negative else size


def loop_discrete_gaussian(source: BitSource, variance: Fraction) -> int:
    """Canonne, Kamath and Steinke (2020), Algorithm 3: a two-sided geometric, kept with a probability that makes it Gaussian."""
    scale = isqrt(variance.numerator // variance.denominator) + 1
    while True:
        drawn = loop_discrete_laplace(source, Fraction(scale))
        exponent = (abs(drawn) - variance / scale) ** 2 / (2 * variance)
        if bernoulli_exp(source, exponent.numerator, exponent.denominator):
            return drawn


def loop_floored_laplace(source: BitSource, scale: Fraction) -> int:
    """G or -1 - G with probability ½ each."""
    size = loop_geometric(source, scale)
    return -1 - size if take(source, 1) else size


def _located(table: Inversion, word: int, source: BitSource) -> int:
    """The integer that a word stands for."""
    index = bisect_right(table.high, word)
    return index if word < table.low[index] else table.settle(index, word, source)


def integer_draws(law: NoiseLaw, source: BitSource, count: int) -> list[int]:
    """Draws of the law in Python integers: all draws' words of the first part come first, then those of the second, and so on."""
    parts = [*law.parts, *([] if law.gate is None else [(0, law.gate)])]
    sizes, signs = [0] * count, [0] * count
    for number, (place, table) in enumerate(parts):
        words = [take(source, law.bits) for _ in range(count)]
        if number == 0 and law.signed:
            signs = [word >> law.bits - 1 for word in words]
        digits = [_located(table, word & law.mask, source) for word in words]
        sizes = [size + place * digit if place else digit * (1 + size) for size, digit in zip(sizes, digits, strict=True)]
    return [(size ^ -sign) + sign * law.zero for size, sign in zip(sizes, signs, strict=True)]


@frozen(repr=False, eq=False)
class IntegerSum:
    """Adds noise to the counts in Python integers."""

    counts: tuple[int, ...]
    noise: Callable[[BitSource], Sequence[int]]

    def draw(self, source: BitSource) -> tuple[int, ...]:
        return tuple(x + d for x, d in zip(self.counts, self.noise(source), strict=True))


@define(frozen=True, slots=False, repr=False)
class IntegerLattice(dc.LatticeGeometric):
    """LatticeGeometric for two categories, whose noise is a Python integer."""

    def _draw_noise(self, source: BitSource) -> Sequence[int]:
        (noise,) = integer_draws(discrete_laplace_law(1 / self.epsilon), source, 1)
        return [noise, -noise]

    def _sampler(self, counts: Sequence[int]) -> "IntegerSum":
        return IntegerSum(tuple(counts), self._draw_noise)


@define(frozen=True, slots=False, repr=False)
class LoopLattice(dc.LatticeGeometric):
    """LatticeGeometric for two categories, drawn by loops."""

    def _draw_noise(self, source: BitSource) -> Sequence[int]:
        noise = loop_discrete_laplace(source, 1 / self.epsilon)
        return [noise, -noise]


@define(frozen=True, slots=False, repr=False)
class LoopHistogram(dc.LaplaceHistogram):
    """LaplaceHistogram, drawn by loops."""

    def _draw_noise(self, source: BitSource) -> Sequence[int]:
        return [loop_floored_laplace(source, self._scale) for _ in range(self._noised)]
