"""001 Theorems 4.1 to 4.4 on balanced data: the error that LSHist seldom exceeds, and what lies within so many steps."""

from math import ceil, log

import numpy as np

from discreet.analysis.dataset_errors import Errors
from discreet.analysis.error_laws import error_law
from discreet.mechanisms.laplace import LaplaceHistogram
from discreet.model.dirichlet import Beta
from discreet.model.distances import hellinger
from discreet.model.sensitivity import local_sensitivity
from discreet_papers.contenders import balanced

__all__ = ["error_ratio", "reach_ratio"]


def error_ratio(n: int, epsilon: float, gamma: float) -> float:
    """001 Theorems 4.1 and 4.3: the (1 - γ)-quantile of LSHist's error, in local sensitivities, on balanced data."""
    counts, prior = balanced(n, 2), Beta(1, 1)
    law = error_law(LaplaceHistogram(prior, n, repr(epsilon)), counts)
    return float(law.quantile(1.0 - gamma)) / local_sensitivity(prior, counts)


def reach_ratio(n: int, epsilon: float, gamma: float, *, up: bool) -> float:
    """001 Theorem 4.3: the largest distance within ln(1/γ)/ε steps, in local sensitivities; steps rounded up or down."""
    counts, prior = balanced(n, 2), Beta(1, 1)
    reach = log(1.0 / gamma) / epsilon
    steps = ceil(reach) if up else int(reach)
    places = np.clip(counts[0] + np.array([-steps, steps]), 0, n)
    far = Errors(prior, n, hellinger)(counts, np.stack([places, n - places], axis=-1)).max()
    return float(far) / local_sensitivity(prior, counts)
