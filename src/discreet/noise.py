"""Noise that others added to counts, and what they did after it, for `dc.observed` (docs/howto/observed.md)."""

from discreet.mechanisms.observed import noise_of_library as of
from discreet.mechanisms.published import PublishedAnswers as RandomizedResponse
from discreet.mechanisms.published import PublishedGaussian as DiscreteGaussian
from discreet.mechanisms.published import PublishedGeometric as Geometric
from discreet.mechanisms.published import PublishedLaplace as Laplace
from discreet.mechanisms.published import PublishedMatrix as Matrix
from discreet.mechanisms.published import PublishedRandomRounding as RandomRounding
from discreet.mechanisms.published import PublishedRoundedGaussian as Gaussian
from discreet.mechanisms.published import clamped, rounded, suppressed

__all__ = [
    "DiscreteGaussian",
    "Gaussian",
    "Geometric",
    "Laplace",
    "Matrix",
    "RandomRounding",
    "RandomizedResponse",
    "clamped",
    "of",
    "rounded",
    "suppressed",
]
