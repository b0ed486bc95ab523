"""Exact random draws: what is released has exactly the law that was proved private (docs/exactness.md)."""

from discreet.sampling.attempts import CandidateSampler
from discreet.sampling.bits import BitSource, CountedBits, SeededBits, SystemBits
from discreet.sampling.candidates import candidate_sampler, check_drawable, most_seconds
from discreet.sampling.lattice import lattice_noise
from discreet.sampling.listed import Listed
from discreet.sampling.noise import (
    discrete_laplace,
    discrete_laplaces,
    floored_laplace,
    floored_laplaces,
    geometric,
    rounded_laplace,
    rounded_laplaces,
)
from discreet.sampling.weights import Weights

__all__ = [
    "BitSource",
    "CandidateSampler",
    "CountedBits",
    "Listed",
    "SeededBits",
    "SystemBits",
    "Weights",
    "candidate_sampler",
    "check_drawable",
    "discrete_laplace",
    "discrete_laplaces",
    "floored_laplace",
    "floored_laplaces",
    "geometric",
    "lattice_noise",
    "most_seconds",
    "rounded_laplace",
    "rounded_laplaces",
]
