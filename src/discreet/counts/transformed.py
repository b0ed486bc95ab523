"""The laws of all parts given their total, by one Fourier transform of each window (docs/proofs/inference.md)."""

from collections.abc import Sequence

import numpy as np

from discreet import limits
from discreet.arrays import Floats
from discreet.counts.runs import Run
from discreet.numerics.transforms import all_but_one, fast_length, laws, rounding, spectra

_WRAPPED_DEPTH = 45.0
"""The transform is so long that a total beyond it has a tilted probability of e^-45 at most."""
_LARGEST_ERROR = 2e-12
"""Relative error up to which laws by transform are used."""
_FEWEST_PARTS = 3
"""With two parts there is nothing to add up."""
_RATES = np.geomspace(0.02, 0.9, 8)
"""Tilts that totals are bounded with, in parts of how fast the laws of counts fall."""


def transformed_completions(windows: Sequence[Run], total: int) -> list[Run] | None:
    """For each of some independent counts and each of its values, the probability that the others complete it to the total.

    None where direct sums are shorter or more exact.
    """
    k, width = len(windows), max(len(window.value) for window in windows)
    if k < _FEWEST_PARTS or k * width > limits.WINDOWS_HELD:
        return None
    value = np.zeros((k, width))
    for row, window in zip(value, windows, strict=True):
        row[: len(window.value)] = window.value
    rest = total - sum(window.low for window in windows)
    length = fast_length(max(int(np.ceil(_distance(value, rest))) + 1, width))
    if k * length > limits.WINDOWS_HELD:
        return None
    others = laws(all_but_one(spectra(value, length))[0], length)
    found = np.maximum(np.take(others, (rest - np.arange(width)) % length, axis=1), 0.0)
    chance = float((found * value).sum(axis=1).min())
    if not rounding(length) + np.exp(-_WRAPPED_DEPTH) < _LARGEST_ERROR * chance:
        return None
    return [Run(window.low, row[: len(window.value)]) for window, row in zip(windows, found, strict=True)]


def _distance(value: Floats, total: int) -> float:
    """How far from this total the sum of independent counts, each from 0 on, is with a probability of at most e^-depth on either side.

    For any δ the probability of a total that is D or more above a place c is at most e^{-δD} E e^{δ(S - c)}.
    """
    k, width = value.shape
    half = 0.5 * (width - 1)
    rates = np.minimum(_RATES * (-2.0 * float(np.log(limits.WINDOW_TAIL)) / width), 600.0 / max(half, 1.0))
    steps, shift = np.multiply.outer(np.arange(width) - half, rates), half * k - total
    bounds = [np.log(value @ np.exp(sign * steps)).sum(axis=0) + sign * rates * shift for sign in (1.0, -1.0)]
    return float(((np.maximum(*bounds) + _WRAPPED_DEPTH).clip(0.0) / rates).min())
