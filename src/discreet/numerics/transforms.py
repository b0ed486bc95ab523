"""Sums of independent counts by Fourier transforms, linear or on a circle, and work on many rows in parts that a cache holds.

On a circle of a length L totals that differ by a multiple of L are not told apart. Laws are real, so that a spectrum has the frequencies
0, ..., L/2, the others being conjugates. What is transformed and back has the rounding errors of floats of the size of the largest number,
not of each.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.fft import irfftn, rfftn  # scipy's copy what they fill up with zeros, and take twice as long
from numpy.typing import NDArray
from scipy.fft import next_fast_len

from discreet import limits
from discreet.arrays import Counts, Floats

HELD = 1 << 19
"""Numbers in one array of a batch: small enough for a processor's cache."""

_ONE_THREAD = 1 << 18
"""Multiplications up to which OpenBLAS takes one thread. More threads wait for each other where others compute besides, as blocks do."""


def rows_times(rows: Floats, matrix: Floats) -> Floats:
    """`rows @ matrix`, in parts that are no work for several threads."""
    step = max(1, _ONE_THREAD // max(matrix.size, 1))
    if len(rows) <= step:
        return np.asarray(rows @ matrix)
    found = np.empty((len(rows), matrix.shape[1]))
    for start in range(0, len(rows), step):
        np.matmul(rows[start : start + step], matrix, out=found[start : start + step])
    return found


def batches(width: Counts, per_row: int) -> Iterator[NDArray[np.int64]]:
    """Indices of rows in order of their width, so many at a time that arrays of `per_row` times the widest stay small."""
    order = np.argsort(width, kind="stable")
    start = 0
    while start < len(order):
        end = start + max(1, HELD // (per_row * int(width[order[start]])))
        fits = max(1, HELD // (per_row * int(width[order[min(end, len(order)) - 1]])))
        end = min(len(order), start + fits)
        yield order[start:end]
        start = end


Spectra = NDArray[np.complex128]


def fast_length(least: int) -> int:
    """The next length from this one on of which transforms are fast."""
    return int(next_fast_len(least, real=True))


def spectra(laws: Floats, *lengths: int) -> Spectra:
    """The spectra of laws on a circle or, over the last axes, on several."""
    return np.asarray(rfftn(laws, lengths, axes=range(-len(lengths), 0)))


def laws(spectra: Spectra, *lengths: int) -> Floats:
    """The laws with these spectra; what should be 0 may be a rounding error of either sign."""
    return np.asarray(irfftn(spectra, lengths, axes=range(-len(lengths), 0)))


def rounding(length: int) -> float:
    """Bound on the absolute rounding error of a probability that is transformed and back, each factor of a product adding one rounding."""
    return 2.0 * float(np.finfo(np.float64).eps) * float(np.log2(length))


def conjugates(length: int) -> Floats:
    """Return how many frequencies each of a spectrum stands for: 2, but for the first, and the last of an even length."""
    found = np.full(length // 2 + 1, 2.0)
    found[0] = 1.0
    if length % 2 == 0:
        found[-1] = 1.0
    return found


def at_place(length: int, place: int) -> Spectra:
    """Factors with which a spectrum adds up, in its real part, to the law at this place."""
    turns = place * np.arange(length // 2 + 1) % length
    return np.asarray(np.exp(2j * np.pi / length * turns) * conjugates(length) / length)


def all_but_one(spectra: Spectra) -> tuple[Spectra, Spectra]:
    """Return for each of the spectra on the last axis but one the product of all others, and that of all, without dividing by what may be
    0.
    """
    each, others = np.moveaxis(spectra, -2, 0), np.empty_like(spectra)
    before = np.moveaxis(others, -2, 0)
    before[0] = 1.0
    for i in range(1, len(each)):
        np.multiply(before[i - 1], each[i - 1], out=before[i])
    whole, after = before[-1] * each[-1], each[-1].copy()
    for i in range(len(each) - 2, -1, -1):
        before[i] *= after
        after *= each[i]
    return others, whole


def convolved(left: Floats, right: Floats, axes: Sequence[int] | None = None) -> Floats:
    """Laws of sums by transforms over these axes, or all; with the absolute error of `rounding`, and nowhere below 0."""
    axes = range(left.ndim) if axes is None else axes
    shape = [left.shape[axis] + right.shape[axis] - 1 for axis in axes]
    lengths = [fast_length(length) for length in shape]
    product = irfftn(rfftn(left, lengths, axes=axes) * rfftn(right, lengths, axes=axes), lengths, axes=axes)
    inside = [slice(None)] * left.ndim
    for axis, length in zip(axes, shape, strict=True):
        inside[axis] = slice(length)
    return np.maximum(product[tuple(inside)], 0.0)


def convolve(left: Floats, right: Floats) -> Floats:
    """The law of the sum of two independent counts: directly, so that every probability has its digits, unless that would take too long."""
    return np.convolve(left, right) if len(left) * len(right) <= limits.DIRECT_CONVOLUTION else convolved(left, right)
