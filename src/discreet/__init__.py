"""Private posteriors for discrete data."""

from discreet.distances import (
    chi2,
    hellinger,
    kl,
    renyi,
    total_variation,
    total_variation_bounds,
    total_variation_estimate,
)
from discreet.distributions import Beta, Dirichlet
from discreet.errors import DiscreetError, InvalidInputError, TooLargeError
from discreet.sensitivity import global_sensitivity, local_sensitivity, smooth_sensitivity

__version__ = "0.1.0.dev0"

__all__ = [
    "Beta",
    "Dirichlet",
    "DiscreetError",
    "InvalidInputError",
    "TooLargeError",
    "chi2",
    "global_sensitivity",
    "hellinger",
    "kl",
    "local_sensitivity",
    "renyi",
    "smooth_sensitivity",
    "total_variation",
    "total_variation_bounds",
    "total_variation_estimate",
]
