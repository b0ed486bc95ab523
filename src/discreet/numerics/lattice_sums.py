"""The sums over the lattice {d in Z^k, Σd = 0} that normalise its noise (docs/explain/mechanisms.md), and those of some of its cells."""

from functools import lru_cache
from math import ceil, exp, expm1, log

import numpy as np
from scipy.special import gammaln, logsumexp

from discreet import limits
from discreet.arrays import Floats
from discreet.errors import TooLargeError

_STEEPEST_NOISE = 600.0
"""A slope beyond which floats have no probabilities: noise is taken for as large as with this one."""
_DEPTH = 60.0
"""A sum of noise is followed until less than e to minus this power of its probability is left."""


def log_squares(m: int, epsilon: float) -> Floats:
    """ln C(m, j)² e^{-εj} for j = 0 .. m."""
    j = np.arange(m + 1)
    return np.asarray(2.0 * (gammaln(m + 1) - gammaln(j + 1) - gammaln(m - j + 1)) - epsilon * j)


@lru_cache(maxsize=64)
def log_normaliser(k: int, epsilon: float) -> float:
    """ln Σ_d e^{-ε ½‖d‖₁} for k cells."""
    return float(logsumexp(log_squares(k - 1, epsilon))) - (k - 1) * log(-expm1(-epsilon))


@lru_cache(maxsize=8)
def log_sum_law(m: int, slope: float) -> Floats:
    """ln P(S = d)/P(S = 0) for d = 0, 1, ...: S is the sum of m independent two-sided geometrics, P(d) proportional to e^{-slope |d|}.

    With r = e^-slope the generating function ((1 - r z)(1 - r/z))^-m gives (1 + r²) d c_d = r ((d - 1 + m) c_{d-1} + (d + 1 - m) c_{d+1}),
    whose solution that falls is found from far out inwards. Raises TooLargeError where the noise is very wide.
    """
    reach = _reach(m, slope)
    if reach > limits.NOISE_PLACES:
        raise TooLargeError(
            f"the noise of {m:,} counts together is followed to {limits.NOISE_PLACES:,} on either side, and would take {reach:,}: a larger "
            "epsilon has less noise"
        )
    r = exp(-min(slope, _STEEPEST_NOISE))
    ratio, found = r, np.zeros(reach + 1)
    for d in range(reach, 0, -1):
        ratio = r * (d - 1 + m) / ((1.0 + r * r) * d - r * (d + 1 - m) * ratio)
        found[d] = log(ratio)
    law = np.cumsum(found)
    law.setflags(write=False)
    return law


def _reach(m: int, slope: float) -> int:
    """Return a reach beyond which next to nothing is left, by Chernoff's bound: the best of several tilts."""
    tilt = slope * np.geomspace(1e-4, 0.999, 60)
    log_mean = 2.0 * np.log(-np.expm1(-slope)) - np.log(-np.expm1(tilt - slope)) - np.log(-np.expm1(-tilt - slope))
    return ceil(float(np.min((_DEPTH + m * log_mean) / tilt))) + 1
