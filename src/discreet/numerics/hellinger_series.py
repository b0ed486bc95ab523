"""The power series of the Hellinger distance in the affinity B = 1 - H²: all its terms are positive.

H  =  sqrt(1 - B)  =  1 - Σ_{m>=1} s_m B^m  =  Σ_{m>=1} s_m (1 - B^m),   s_m = Γ(m - ½) / (2 sqrt(π) m!),   Σ s_m = 1 .
"""

from math import pi, sqrt

import numpy as np

from discreet.arrays import Floats
from discreet.numerics.gamma import log_gamma_ratio


def series_term(m: Floats) -> Floats:
    """s_m, at any real m above ½."""
    return np.exp(-log_gamma_ratio(m - 0.5, 1.5)) / (2.0 * sqrt(pi))


def series_tail(m: Floats) -> Floats:
    """Σ_{l >= m} s_l = Γ(m - ½) / (sqrt(π) Γ(m))."""
    return np.exp(-log_gamma_ratio(m - 0.5, 0.5)) / sqrt(pi)
