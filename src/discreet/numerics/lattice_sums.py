"""The sums over the lattice {d in Z^k, Σd = 0} that normalise its noise (docs/explain/mechanisms.md)."""

from functools import lru_cache
from math import expm1, log

import numpy as np
from scipy.special import gammaln, logsumexp

from discreet.arrays import Floats


def log_squares(m: int, epsilon: float) -> Floats:
    """ln C(m, j)² e^{-εj} for j = 0 .. m."""
    j = np.arange(m + 1)
    return np.asarray(2.0 * (gammaln(m + 1) - gammaln(j + 1) - gammaln(m - j + 1)) - epsilon * j)


@lru_cache(maxsize=64)
def log_normaliser(k: int, epsilon: float) -> float:
    """ln Σ_d e^{-ε ½‖d‖₁} for k cells."""
    return float(logsumexp(log_squares(k - 1, epsilon))) - (k - 1) * log(-expm1(-epsilon))
