"""The widths of the intervals of the noise alone, for shares of the records: known exactly before anything is drawn.

With a public n such an interval is as wide as the reach of the noise over n, whatever the data are (docs/howto/registers.md).
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import ceil
from typing import Any

from discreet.errors import RefusedError
from discreet.model.dirichlet import Prior
from discreet.numerics.least_values import bracket, narrowed, rounded_up, unit
from discreet.planning.comparison import Maker, maker, points
from discreet.text import MASS

_EPSILON_DIGITS = 3
"""Significant digits of the ε that is found."""
_LEAST_EPSILON, _EPSILON_FACTOR = Fraction(1, 1000), 4
"""The least ε that is tried, and how many times as large the next one is."""


@dataclass(frozen=True)
class NoiseWidth:
    """The width of an interval of the noise alone for a share of n records, with probability 95 % or more."""

    mechanism: str
    make: Maker
    prior: Prior
    n: int
    epsilon: Fraction

    @property
    def reach(self) -> int:
        """Return how many records such an interval spans. Raises RefusedError where the noise depends on the data."""
        made = self.make(self.prior, self.n, self.epsilon)
        if made.noise is None:
            raise RefusedError(f"the noise of {made.title} depends on the data: there is no interval of the noise alone")
        low, high = made.noise.reach(1, made.k, 0.5 * (1.0 - MASS))
        return high - low

    @property
    def width(self) -> float:
        """The width of the interval in probability."""
        return min(1.0, self.reach / self.n)

    @property
    def sentence(self) -> str:
        """The plan in one sentence for a manager."""
        return (
            f"With ε = {float(self.epsilon):g} the intervals by the noise alone of shares of these {self.n:,} records will be "
            f"{points(self.width)} points wide, whatever the data are. There is no sampling error: without privacy they would be known."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values by name."""
        return {"mechanism": self.mechanism, "shares_of": "records", "n": self.n, "epsilon": float(self.epsilon), "width": self.width}


def noise_width(prior: Prior, mechanism: str | Maker, *, n: int | None, epsilon: Fraction | None, width: Fraction | None) -> NoiseWidth:
    """The width that n and ε give; or for a width the least n that ε asks for, or the least ε (to three digits) that n asks for.

    Of n, ε and the width two are given.
    """
    known = NoiseWidth(*maker(mechanism), prior, 1 if n is None else n, _LEAST_EPSILON if epsilon is None else epsilon)
    if width is None:
        return known
    if n is None:
        return replace(known, n=max(1, ceil(known.reach / width)))

    def width_at(level: Fraction) -> float:
        return replace(known, epsilon=level).width

    low, high = bracket(width_at, float(width), known.epsilon, lambda level, _: level * _EPSILON_FACTOR, lambda _: None)
    rounded, step = partial(rounded_up, digits=_EPSILON_DIGITS), partial(unit, digits=_EPSILON_DIGITS)
    best = high if low is None else narrowed(width_at, float(width), low, high, rounded, step)
    return replace(known, epsilon=best[0])
