"""The total of lattice noise with many categories: how a proposed total is accepted (docs/proofs/exactness.md).

Lattice noise is G - G' for two independent uniform compositions of one total S, P(S) ∝ e^{-εS} C(S+k-1, k-1)². That is the *square* of the
negative binomial law NB(S) ∝ e^{-εS/2} C(S+k-1, k-1), the law of a sum of k geometrics of scale 2/ε. So k geometrics with sum S are kept
with probability NB(S) / NB(mode); being uniform among the compositions of their sum, they are G already.
"""

from fractions import Fraction
from functools import partial

from flint import arb

from discreet.errors import InternalError
from discreet.numerics.balls import ball
from discreet.sampling.bits import BitSource
from discreet.sampling.coins import PRECISION, bernoulli, ladder


def accepts(source: BitSource, total: int, peak: int, k: int, epsilon: Fraction) -> bool:
    """True with probability NB(total) / NB(peak), exactly; `peak` must be the mode."""
    return bernoulli(source, ladder(partial(relative_mass, total, peak, k, epsilon), PRECISION))


def mode(k: int, epsilon: Fraction) -> int:
    """Return the mode of NB: NB(S) > NB(S-1) just when S < (k-1)/(e^{ε/2} - 1), which is never an integer."""
    for floor in ladder(lambda: ((k - 1) / ball(epsilon / 2).expm1()).floor(), PRECISION):
        found = floor.unique_fmpz()
        if found is not None:
            return int(found)
    raise InternalError("the mode of the noise could not be found; nothing was released")


def relative_mass(total: int, peak: int, k: int, epsilon: Fraction) -> arb:
    """NB(total) / NB(peak) at the working precision: e^{-ε(S-M)/2} C(S+k-1, k-1) / C(M+k-1, k-1)."""
    exponent = (arb(total + k).lgamma() - arb(total + 1).lgamma()) - (arb(peak + k).lgamma() - arb(peak + 1).lgamma())
    return (exponent - ball(epsilon * (total - peak) / 2)).exp()
