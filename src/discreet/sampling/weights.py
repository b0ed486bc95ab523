"""The weight exp(-c H(x, r)) of a candidate, enclosed at any precision from its definition: what decides wherever bounds leave it open."""

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property

from flint import arb, ctx

from discreet.numerics.balls import ball


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
