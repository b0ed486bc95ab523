"""Exact random draws: what is released has exactly the law that was proved private (docs/proofs/exactness.md)."""

from discreet.sampling.attempts import CandidateSampler, Weights
from discreet.sampling.bits import BitSource, CountedBits, SeededBits, SystemBits
from discreet.sampling.candidates import Listed, candidate_sampler, check_drawable, most_seconds

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
    "most_seconds",
]
