"""Exact random draws: what is released has exactly the law that was proved private (docs/exactness.md)."""

from discreet.sampling.bits import BitSource, CountedBits, SeededBits, SystemBits
from discreet.sampling.candidates import CandidateSampler, candidate_sampler, check_drawable
from discreet.sampling.lattice import lattice_noise
from discreet.sampling.noise import (
    discrete_laplace,
    discrete_laplaces,
    floored_laplace,
    floored_laplaces,
    geometric,
    rounded_laplace,
    rounded_laplaces,
)

__all__ = [
    "BitSource",
    "CandidateSampler",
    "CountedBits",
    "SeededBits",
    "SystemBits",
    "candidate_sampler",
    "check_drawable",
    "discrete_laplace",
    "discrete_laplaces",
    "floored_laplace",
    "floored_laplaces",
    "geometric",
    "lattice_noise",
    "rounded_laplace",
    "rounded_laplaces",
]
