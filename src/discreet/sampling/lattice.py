"""Exact noise on the lattice {d in Z^k, Σd = 0} with P(d) ∝ exp(-ε ½‖d‖₁): the law of LatticeGeometric.

The noise is G - G' for two independent uniform compositions of one total S, P(S) ∝ e^{-εS} C(S+k-1, k-1)². That is the *square* of the
negative binomial law NB(S) ∝ e^{-εS/2} C(S+k-1, k-1), the law of a sum of k geometrics of scale 2/ε. So: draw k geometrics with sum S,
keep them with probability NB(S) / NB(mode). The accepted S has the law wanted, acceptance is near 1/√2, and the k geometrics, being
uniform among the compositions of their sum, are G already. The proof is in docs/exactness.md.
"""

from fractions import Fraction
from functools import partial

from flint import arb

from discreet.errors import InternalError
from discreet.numerics.balls import ball
from discreet.sampling.bits import BitSource, uniform
from discreet.sampling.coins import bernoulli, ladder
from discreet.sampling.noise import geometric

__all__ = ["composition", "lattice_noise"]

PRECISION = 128
"""Working precision of the first enclosure of an acceptance probability; what it does not decide is computed again in more."""


def lattice_noise(source: BitSource, k: int, epsilon: Fraction) -> list[int]:
    """k integers that add up to 0, with probability proportional to exp(-ε/2 Σ|d_i|)."""
    mode = _mode(k, epsilon)
    while True:
        gains = [geometric(source, 2 / epsilon) for _ in range(k)]
        total = sum(gains)
        if bernoulli(source, ladder(partial(_relative_mass, total, mode, k, epsilon), PRECISION)):
            break
    losses = composition(source, total, k)
    return [gain - loss for gain, loss in zip(gains, losses, strict=True)]


def _mode(k: int, epsilon: Fraction) -> int:
    """Where NB is largest: NB(S) > NB(S-1) just when S < (k-1)/(e^{ε/2} - 1), which is never an integer."""
    for floor in ladder(lambda: ((k - 1) / ball(epsilon / 2).expm1()).floor(), PRECISION):
        mode = floor.unique_fmpz()
        if mode is not None:
            return int(mode)
    raise InternalError("the mode of the noise could not be found; nothing was released")


def _relative_mass(total: int, mode: int, k: int, epsilon: Fraction) -> arb:
    """NB(total) / NB(mode) at the working precision: e^{-ε(S-M)/2} C(S+k-1, k-1) / C(M+k-1, k-1)."""
    exponent = (arb(total + k).lgamma() - arb(total + 1).lgamma()) - (arb(mode + k).lgamma() - arb(mode + 1).lgamma())
    return (exponent - ball(epsilon * (total - mode) / 2)).exp()


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
