"""Exact geometric and discrete Laplace noise of any rational scale.

References: Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Algorithm 2, for the geometric and
the discrete Laplace; docs/exactness.md for the floor and the nearest integer of a continuous Laplace variable.
"""

from fractions import Fraction

from discreet.sampling.bits import BitSource, take, uniform
from discreet.sampling.coins import bernoulli_exp

__all__ = ["discrete_laplace", "floored_laplace", "geometric", "rounded_laplace"]


def geometric(source: BitSource, scale: Fraction) -> int:
    """G >= 0 with P(G = t) = (1 - e^{-1/scale}) e^{-t/scale}, in expected time that does not grow with the scale.

    With scale = s/t in lowest terms, X with P(X = x) ∝ e^{-x/s} is a remainder below s, accepted with probability e^{-remainder/s}, plus
    s times a geometric of ratio 1/e; and floor(X/t) has the law wanted.
    """
    size = scale.numerator
    remainder = uniform(source, size)
    while not bernoulli_exp(source, remainder, size):
        remainder = uniform(source, size)
    turns = 0
    while bernoulli_exp(source, 1):
        turns += 1
    return (remainder + size * turns) // scale.denominator


def discrete_laplace(source: BitSource, scale: Fraction) -> int:
    """Z with P(Z = z) ∝ e^{-|z|/scale}: a geometric with a sign, drawn again when it comes out as minus zero."""
    while True:
        negative, size = take(source, 1), geometric(source, scale)
        if size or not negative:
            return -size if negative else size


def floored_laplace(source: BitSource, scale: Fraction) -> int:
    """The floor of a Laplace variable: G or -1 - G with probability ½ each."""
    size = geometric(source, scale)
    return -1 - size if take(source, 1) else size


def rounded_laplace(source: BitSource, scale: Fraction) -> int:
    """A Laplace variable rounded to the nearest integer: 0 with probability 1 - e^{-1/(2 scale)}, otherwise ±(1 + G)."""
    if not bernoulli_exp(source, scale.denominator, 2 * scale.numerator):
        return 0
    size = 1 + geometric(source, scale)
    return -size if take(source, 1) else size
