"""Exact noise in bulk: the same laws and tables as one draw has, compared with arrays of words (docs/exactness.md).

This is the one module of the samplers that uses numpy, and it uses integers alone: no float array, no division that makes one, and no
random numbers of numpy's. Tables and words are both unsigned 64-bit integers, because numpy compares unsigned with signed ones as floats.
"""

from fractions import Fraction
from functools import lru_cache
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InternalError, TooLargeError
from discreet.sampling.bits import BitSource, take_octets, take_words
from discreet.sampling.inversion import Inversion
from discreet.sampling.lattice_total import accepts, mode
from discreet.sampling.noise import (
    NoiseLaw,
    discrete_laplace_law,
    fits_arrays,
    floored_laplace_law,
    geometric_law,
    rounded_laplace_law,
)

Words = NDArray[np.uint64]
Integers = NDArray[np.int64]

CHUNK = 1 << 15
"""Words that are worked on at a time: they fit a processor's cache, and memory beyond the result does not grow with it."""

_LARGEST = 2**62

DENSE = 32
"""Places for each that is chosen, up to which a byte is kept for every place; where there are more, few are drawn twice."""


def geometric_array(source: BitSource, scale: Fraction, size: int) -> Integers:
    """Independent draws of `geometric`; TooLargeError for a scale whose noise does not fit arrays."""
    _check(scale, 1)
    return draw_array(source, geometric_law(scale), size)


def discrete_laplace_array(source: BitSource, scale: Fraction, size: int) -> Integers:
    """Independent draws of `discrete_laplace`, the two-sided geometric law; TooLargeError as for `geometric_array`."""
    _check(scale, 1)
    return draw_array(source, discrete_laplace_law(scale), size)


def floored_laplace_array(source: BitSource, scale: Fraction, size: int) -> Integers:
    """Independent draws of `floored_laplace`; TooLargeError as for `geometric_array`."""
    _check(scale, 1)
    return draw_array(source, floored_laplace_law(scale), size)


def rounded_laplace_array(source: BitSource, scale: Fraction, size: int) -> Integers:
    """Independent draws of `rounded_laplace`; TooLargeError as for `geometric_array`."""
    _check(scale, 1)
    return draw_array(source, rounded_laplace_law(scale), size)


def _check(scale: Fraction, cells: int) -> None:
    if not fits_arrays(scale, cells):
        raise TooLargeError("noise of so large a scale does not fit arrays of integers; raise epsilon, or draw one by one")


# --- words and tables ---------------------------------------------------------------------------------------------------


def _words(source: BitSource, count: int, bits: int) -> Words:
    """Uniform words, the same that single draws take; for tests, of a few bits only."""
    if bits == 64:
        return np.frombuffer(take_octets(source, 8 * count), dtype=np.dtype(">u8")).astype(np.uint64)
    return np.array(take_words(source, count, bits), dtype=np.uint64)


@lru_cache(maxsize=256)
def _table(law: Inversion) -> tuple[Words, Words]:
    return np.array(law.high, dtype=np.uint64), np.array(law.low, dtype=np.uint64)


def located(source: BitSource, law: Inversion, words: Words, most: int) -> Integers:
    """The integers that the words stand for, in one search of the whole table; words that it leaves open are settled one by one."""
    high, low = _table(law)
    if not high.dtype == low.dtype == words.dtype == np.uint64:
        raise InternalError("a table and the words compared with it must be of one type; nothing was released")
    index = np.searchsorted(high, words, side="right")
    for place in np.flatnonzero(words >= low.take(index)).tolist():
        found = law.settle(int(index[place]), int(words[place]), source)
        if found > most:
            raise InternalError("noise was found beyond the largest integer of an array; nothing was released")
        index[place] = found
    return index.astype(np.int64, copy=False)


def _values(source: BitSource, law: NoiseLaw, count: int, cells: int) -> Integers:
    """One chunk of draws, of which so many are safe to add up; each part of the law takes a word for every draw."""
    mask, shift = np.uint64(law.mask), np.uint64(law.bits - 1)
    sign = np.zeros(0, dtype=np.int64)
    size = np.zeros(count, dtype=np.int64)
    for number, (place, part) in enumerate(law.parts):
        words = _words(source, count, law.bits)
        if number == 0 and law.signed:
            sign = (words >> shift).astype(np.int64)
        digit = located(source, part, words & mask, _LARGEST // (place * cells))
        size += digit * np.int64(place) if place > 1 else digit
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
    result = np.empty(size, dtype=np.int64)
    for start in range(0, size, CHUNK):
        stop = min(size, start + CHUNK)
        result[start:stop] = _values(source, law, stop - start, cells)
    return result


# --- noise that adds up to zero -----------------------------------------------------------------------------------------


def lattice_array(source: BitSource, k: int, epsilon: Fraction, blocks: int) -> Integers:
    """Independent draws of `lattice_noise`, a row for each block: for tables of many groups with the same few categories.

    Attempts are independent and alike, and those that are kept are returned in the order they were made in.
    """
    if k == 2:
        noise = discrete_laplace_array(source, 1 / epsilon, blocks)
        return np.stack([noise, -noise], axis=1)
    _check(2 / epsilon, k)
    cells, bound = discrete_laplace_law(2 / epsilon), geometric_law(2 / epsilon)
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
    """One draw of `lattice_noise` for many categories, by way of the total."""
    _check(2 / epsilon, k)
    law, peak = geometric_law(2 / epsilon), mode(k, epsilon)
    while True:
        gains = draw_array(source, law, k, k)
        total = int(gains.sum())
        if accepts(source, total, peak, k, epsilon):
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
