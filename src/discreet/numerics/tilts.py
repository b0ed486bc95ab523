"""The tilt e^{λx} under which independent counts add up to a given total."""

from collections.abc import Callable
from math import copysign

_WIDENED = 4.0


def balancing_tilt(excess: Callable[[float], float], first: float, *, xtol: float, rtol: float) -> float:
    """The λ at which `excess(λ)`, by how much the total is too large, is 0; it grows with λ.

    A bracket of length `first` from 0 on is widened until it holds the root, which Brent's method finds to these tolerances.
    """
    middle = excess(0.0)
    if middle == 0.0:
        return 0.0
    from scipy.optimize import brentq  # slow to load

    reach = copysign(first, -middle)
    while excess(reach) * middle > 0.0:
        reach *= _WIDENED
    return float(brentq(excess, 0.0, reach, xtol=xtol, rtol=rtol))
