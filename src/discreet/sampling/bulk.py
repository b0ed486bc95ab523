"""Exact noise in arrays, of one draw or of millions: tables compared with arrays of words (docs/proofs/exactness.md).

A Python integer takes time that depends on its value: those from -5 to 256 are kept, others are made. So noise is never one. It is drawn
and added in 64-bit words, and only the outcome is converted. (A word that its table leaves open, with probability below 2^-54, is settled
in Python integers.) A search has branches, which a processor foresees for likely noise and not for other: a clock finds that in a draw
of few words. So few words are compared with every entry of the table.

This is the one module of the samplers that uses numpy, and it uses integers alone: no float array, no division that makes one, and no
random numbers of numpy's. Tables and words are both unsigned 64-bit integers, because numpy compares unsigned with signed ones as floats.
"""

from fractions import Fraction
from functools import lru_cache
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InternalError
from discreet.sampling.bits import BitSource, take, take_octets
from discreet.sampling.noise import (
    LONGEST,
    Inversion,
    NoiseLaw,
    accepts_total,
    check_fits,
    discrete_gaussian_law,
    discrete_laplace_law,
    floored_laplace_law,
    geometric_law,
    likeliest_total,
    rounded_laplace_law,
)

Words = NDArray[np.uint64]
Integers = NDArray[np.int64]

CHUNK = 1 << 15
"""Words that are worked on at a time: they fit a processor's cache, and memory beyond the result does not grow with it."""

_SENT_WORD, _HELD_WORD = np.dtype(">u8"), np.dtype(np.uint64)
"""Words as the source gives them, the first byte being the highest, and as they are compared."""

_LARGEST_SUM = 2**62
"""Noise that is added up is at most this: it fits a 64-bit integer, and so does a count added to it."""

COMPARED = 64
"""Words up to which each is compared with the whole table. In a longer array no single word tells by its time, and a search is quicker."""

DENSE = 32
"""Places for each that is chosen, up to which a byte is kept for every place; where there are more, few are drawn twice."""


def geometric_array(source: BitSource, scale: Fraction, size: int) -> Integers:
    """Independent draws of G >= 0 with P(G = t) = (1 - e^{-1/scale}) e^{-t/scale}; TooLargeError for a scale that does not fit arrays."""
    check_fits(scale)
    return draw_array(source, geometric_law(scale), size)


def discrete_laplace_array(source: BitSource, scale: Fraction, size: int) -> Integers:
    """Independent draws of Z with P(Z = z) ∝ e^{-|z|/scale}, the two-sided geometric law; TooLargeError as for `geometric_array`."""
    check_fits(scale)
    return draw_array(source, discrete_laplace_law(scale), size)


def floored_laplace_array(source: BitSource, scale: Fraction, size: int) -> Integers:
    """Independent draws of the floor of a Laplace variable; TooLargeError as for `geometric_array`."""
    check_fits(scale)
    return draw_array(source, floored_laplace_law(scale), size)


def rounded_laplace_array(source: BitSource, scale: Fraction, size: int) -> Integers:
    """Independent draws of a Laplace variable rounded to the nearest integer; TooLargeError as for `geometric_array`."""
    check_fits(scale)
    return draw_array(source, rounded_laplace_law(scale), size)


def discrete_gaussian_array(source: BitSource, variance: Fraction, size: int) -> Integers:
    """Independent draws of Z with P(Z = z) ∝ e^{-z²/(2 variance)}; TooLargeError for a variance beyond the longest table."""
    return draw_array(source, discrete_gaussian_law(variance), size)


# --- words and tables ---------------------------------------------------------------------------------------------------


def _words(source: BitSource, count: int, bits: int) -> Words:
    """Uniform words of 64 bits; or, for tests, of fewer, from a call of the source for each."""
    if bits == 64:
        return np.frombuffer(take_octets(source, 8 * count), dtype=_SENT_WORD).astype(_HELD_WORD)
    return np.array([take(source, bits) for _ in range(count)], dtype=np.uint64)


def table_words(law: Inversion) -> tuple[Words, Words]:
    """The table of a law as arrays of words, which share its memory: `high` and `low`."""
    return np.frombuffer(law.high, dtype=np.uint64), np.frombuffer(law.low, dtype=np.uint64)


_ONES = np.ones(LONGEST, dtype=np.uint8)


def located(source: BitSource, law: Inversion, words: Words, most: int) -> Integers:
    """The integers that the words stand for, by the whole table; words that it leaves open are settled one by one."""
    high, low = table_words(law)
    if not high.dtype == low.dtype == words.dtype == _HELD_WORD:
        raise InternalError("a table and the words compared with it must be of one type; nothing was released")
    index: Integers
    if len(words) <= COMPARED and len(high) > LONGEST:
        index = np.zeros(len(words), dtype=np.int64)
        for place in range(len(words)):
            index[place] = (high <= words[place]).sum()
    elif len(words) <= COMPARED:
        index = (high <= words[:, None]).view(np.uint8).dot(_ONES[: len(high)]).astype(np.int64)  # at most LONGEST: it fits a byte
    else:
        index = high.searchsorted(words, side="right").astype(np.int64, copy=False)
    for place in (words >= low.take(index)).nonzero()[0].tolist():
        found = law.settle(int(index[place]), int(words[place]), source)
        if found > most:
            raise InternalError("noise was found beyond the largest integer of an array; nothing was released")
        index[place] = found
    return index


_NONE: Integers = np.zeros(0, dtype=np.int64)


def _values(source: BitSource, law: NoiseLaw, count: int, cells: int) -> Integers:
    """One chunk of draws, of which so many are safe to add up; each part of the law takes a word for every draw."""
    mask, sign, size = np.uint64(law.mask), _NONE, _NONE
    for number, (place, part) in enumerate(law.parts):
        words = _words(source, count, law.bits)
        if number == 0 and law.signed:
            sign = (words >> np.uint64(law.bits - 1)).view(np.int64)
        digit = located(source, part, words & mask, _LARGEST_SUM // (place * cells))
        size = digit if number == 0 else size + digit * np.int64(place)
    if law.gate is not None:
        size += 1
        size *= located(source, law.gate, _words(source, count, law.bits) & mask, 1)
    if law.signed:
        size ^= -sign
        if law.zero:
            size += sign
    return size


def draw_array(source: BitSource, law: NoiseLaw, size: int, cells: int = 1) -> Integers:
    """Independent draws of a law whose values fit; sums of `cells` of them do as well."""
    if size <= CHUNK:
        return _values(source, law, size, cells)
    result = np.empty(size, dtype=np.int64)
    for start in range(0, size, CHUNK):
        stop = min(size, start + CHUNK)
        result[start:stop] = _values(source, law, stop - start, cells)
    return result


# --- noise that adds up to zero -----------------------------------------------------------------------------------------

ATTEMPTED = 1024
"""Categories up to which whole vectors are attempted: at most 2 sqrt(k) times on average. By way of the total it is twice at most."""


def lattice_blocks(source: BitSource, epsilon: Fraction, k: int, blocks: int) -> Integers:
    """Draws of k integers that add up to 0, with probability proportional to exp(-ε/2 Σ|d_i|), a row each: the law of LatticeGeometric."""
    if k <= ATTEMPTED:
        return lattice_array(source, k, epsilon, blocks)
    return np.concatenate([wide_lattice_array(source, k, epsilon)[None] for _ in range(blocks)])


@lru_cache(maxsize=64)
def _lattice_laws(k: int, numerator: int, denominator: int) -> tuple[NoiseLaw, ...]:
    """The laws that noise of k categories is drawn by, sought as `law_of` seeks them: of the pair, or of the cells and of their bound."""
    scale = Fraction(denominator, numerator) * (1 if k == 2 else 2)
    check_fits(scale, 1 if k == 2 else k)
    return (discrete_laplace_law(scale),) if k == 2 else (discrete_laplace_law(scale), geometric_law(scale))


def lattice_array(source: BitSource, k: int, epsilon: Fraction, blocks: int) -> Integers:
    """Independent draws of `lattice_blocks`, a row for each block: for tables of many groups with the same few categories.

    Two categories have (Z, -Z) for a two-sided geometric Z of slope ε. With more, k - 1 two-sided geometrics of slope ε/2 and what makes
    their sum 0 are kept if and only if one geometric of the same slope is at least as large as that rest. Whether an attempt is kept says
    nothing about which vector is kept, and every attempt takes as many words. Attempts are independent and alike, and those that are kept
    are returned in the order they were made in.
    """
    if k == 2:
        (law,) = _lattice_laws(k, epsilon.numerator, epsilon.denominator)
        pairs = np.empty((blocks, 2), dtype=np.int64)
        pairs[:, 0] = noise = draw_array(source, law, blocks)
        np.negative(noise, out=pairs[:, 1])
        return pairs
    cells, bound = _lattice_laws(k, epsilon.numerator, epsilon.denominator)
    result, kept = np.empty((blocks, k), dtype=np.int64), 0
    while kept < blocks:
        attempts = max(1, min(CHUNK // k, 2 * (1 + isqrt(k)) * (blocks - kept)))
        noise = draw_array(source, cells, attempts * (k - 1), k).reshape(attempts, k - 1)
        rest = -noise.sum(axis=1)
        accepted = np.flatnonzero(draw_array(source, bound, attempts, k) >= np.abs(rest))[: blocks - kept]
        result[kept : kept + len(accepted), :-1] = noise[accepted]
        result[kept : kept + len(accepted), -1] = rest[accepted]
        kept += len(accepted)
    return result


def wide_lattice_array(source: BitSource, k: int, epsilon: Fraction) -> Integers:
    """One draw of `lattice_blocks` for many categories, by way of the total."""
    check_fits(2 / epsilon, k)
    law, peak = geometric_law(2 / epsilon), likeliest_total(k, epsilon)
    while True:
        gains = draw_array(source, law, k, k)
        total = int(gains.sum())
        if accepts_total(source, total, peak, k, epsilon):
            return gains - composition_array(source, total, k)


def composition_array(source: BitSource, total: int, parts: int) -> Integers:
    """A uniform composition of `total` into `parts` counts >= 0: stars and bars, choosing whichever there are fewer of."""
    places = total + parts - 1
    if total < parts - 1:
        stars = subset_array(source, total, places)
        return np.bincount(stars - np.arange(total), minlength=parts).astype(np.int64)
    bars = subset_array(source, parts - 1, places)
    return np.diff(np.concatenate([[-1], bars, [places]])) - 1


def subset_array(source: BitSource, size: int, places: int) -> Integers:
    """A uniform subset of {0 .. places-1} of the given size, at most half of them, in order.

    As many places as are still missing are drawn, with replacement, and all that are new are taken, until none is missing. All places
    are treated alike, so all subsets are equally likely. (To draw more and cut the surplus off after sorting would prefer low places.)
    """
    if places <= DENSE * size:
        taken = np.zeros(places, dtype=np.bool_)
        missing = size
        while missing:
            taken[_uniforms(source, places, missing)] = True
            missing = size - int(np.count_nonzero(taken))
        return np.flatnonzero(taken)
    chosen = np.empty(0, dtype=np.int64)
    while len(chosen) < size:
        drawn = np.sort(np.concatenate([chosen, _uniforms(source, places, size - len(chosen))]))
        chosen = drawn[np.append(True, drawn[1:] != drawn[:-1])]  # much quicker than np.unique, which hashes
    return chosen


def _uniforms(source: BitSource, bound: int, count: int) -> Integers:
    """Exactly uniform integers in [0, bound): as many bits as bound - 1 has, and only those in range are kept."""
    shift = np.uint64(64 - max(1, (bound - 1).bit_length()))
    found = np.empty(0, dtype=np.int64)
    while len(found) < count:
        words = _words(source, count - len(found), 64) >> shift
        found = np.concatenate([found, words[words < np.uint64(bound)].astype(np.int64)])
    return found
