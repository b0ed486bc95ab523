"""Exact noise on the lattice {d in Z^k, Σd = 0} with P(d) ∝ exp(-ε ½‖d‖₁): the law of LatticeGeometric (docs/exactness.md).

Two categories: (Z, -Z) for a two-sided geometric Z of slope ε. A few more: k - 1 two-sided geometrics of slope ε/2, the rest being what
makes the sum 0, kept if and only if one geometric of the same slope is at least as large as that rest. Whether an attempt is kept says
nothing about which vector is kept, and every attempt takes as many words. Many categories are drawn by way of their total.
"""

from fractions import Fraction
from math import isqrt

from discreet.sampling.bits import BitSource, take_words, uniform
from discreet.sampling.lattice_total import accepts, mode
from discreet.sampling.noise import FEW, discrete_laplace, discrete_laplace_law, fits_arrays, geometric_law

ATTEMPTED = 1024
"""Categories up to which whole vectors are attempted: at most 2 sqrt(k) times on average. By way of the total it is twice at most."""


def lattice_noise(source: BitSource, k: int, epsilon: Fraction) -> list[int]:
    """k integers that add up to 0, with probability proportional to exp(-ε/2 Σ|d_i|)."""
    if k == 2:
        noise = discrete_laplace(source, 1 / epsilon)
        return [noise, -noise]
    if k <= FEW or not fits_arrays(2 / epsilon, k):
        return _attempted(source, k, epsilon) if k <= ATTEMPTED else _by_total(source, k, epsilon)
    from discreet.sampling.bulk import lattice_array, wide_lattice_array  # numpy is loaded where it is needed

    vector = lattice_array(source, k, epsilon, 1)[0] if k <= ATTEMPTED else wide_lattice_array(source, k, epsilon)
    values: list[int] = vector.tolist()
    return values


def _attempted(source: BitSource, k: int, epsilon: Fraction) -> list[int]:
    """Whole vectors, a few at a time, until one is kept: the first that is, in the order they were made in."""
    cells, bound = discrete_laplace_law(2 / epsilon), geometric_law(2 / epsilon)
    together = 1 + isqrt(k)
    ours = together * (k - 1) * cells.words
    while True:
        words = take_words(source, ours + together * bound.words)
        noise = cells.values(words[:ours], source)
        for attempt, most in enumerate(bound.values(words[ours:], source)):
            vector = noise[attempt * (k - 1) : (attempt + 1) * (k - 1)]
            rest = -sum(vector)
            if most >= abs(rest):
                return [*vector, rest]


def _by_total(source: BitSource, k: int, epsilon: Fraction) -> list[int]:
    """By way of the total, in integers of any size."""
    law, peak = geometric_law(2 / epsilon), mode(k, epsilon)
    while True:
        gains = law.draws(source, k)
        total = sum(gains)
        if accepts(source, total, peak, k, epsilon):
            return [gain - loss for gain, loss in zip(gains, composition(source, total, k), strict=True)]


def composition(source: BitSource, total: int, parts: int) -> list[int]:
    """A uniform composition of `total` into `parts` counts >= 0: stars and bars, choosing whichever there are fewer of."""
    places = total + parts - 1
    counts = [0] * parts
    if total < parts - 1:
        for before, place in enumerate(_subset(source, total, places)):
            counts[place - before] += 1
        return counts
    previous = -1
    for part, place in enumerate(_subset(source, parts - 1, places)):
        counts[part] = place - previous - 1
        previous = place
    counts[-1] = places - previous - 1
    return counts


def _subset(source: BitSource, size: int, places: int) -> list[int]:
    """A uniform subset of {0 .. places-1} of the given size, in order (Floyd's algorithm)."""
    chosen: set[int] = set()
    for last in range(places - size, places):
        pick = uniform(source, last + 1)
        chosen.add(last if pick in chosen else pick)
    return sorted(chosen)
