"""Finite sets that are small enough to list, and a refusal that says how large they are when they are not."""

from math import comb, log10

import numpy as np

from discreet.errors import TooLargeError
from discreet.validation import Counts

__all__ = ["MOST_CELLS", "MOST_OUTCOMES", "candidate_count", "check_outcomes", "grid_points", "is_few", "simplex_points"]

MOST_OUTCOMES = 5_000_000
"""Longest list of outcomes that is enumerated: some hundred megabytes for three or four categories."""
MOST_CELLS = 20_000_000
"""Most numbers in such a list, where there are many categories: 160 MB, and a law needs a few copies."""


def candidate_count(n: int, k: int) -> int:
    """Number of ways to share n records among k categories (the papers' C(n+1, m-1) is a slip: DESIGN section 9)."""
    return comb(n + k - 1, k - 1)


def is_few(n: int, k: int, limit: int) -> bool:
    """Whether there are at most `limit` candidates. There are at least k of them, so that no huge binomial is computed for a large k."""
    return k <= limit and candidate_count(n, k) <= limit


def check_outcomes(size: int, what: str, limit: int = MOST_OUTCOMES) -> None:
    """Refuse to enumerate more than `limit` outcomes."""
    if size > limit:
        shown = f"{size:,}" if size < 10**15 else f"about 10^{int(log10(size))}"
        raise TooLargeError(f"{what} would list {shown} outcomes; at most {limit:,} are enumerated. Use fewer records or categories")


def _longest(k: int) -> int:
    """The longest list of outcomes with k entries each."""
    return min(MOST_OUTCOMES, MOST_CELLS // k)


def simplex_points(n: int, k: int) -> Counts:
    """All counts of k categories with total n, one a row, in lexicographic order."""
    check_outcomes(candidate_count(n, k), "this law", _longest(k))
    left = np.array([n], dtype=np.int64)
    columns: list[Counts] = []
    for _ in range(k - 1):
        choices = left + 1
        starts = np.cumsum(choices) - choices
        value = np.arange(choices.sum()) - np.repeat(starts, choices)
        columns = [np.repeat(column, choices) for column in columns]
        columns.append(value)
        left = np.repeat(left, choices) - value
    return np.stack([*columns, left], axis=-1)


def grid_points(low: int, high: int, dimensions: int) -> Counts:
    """All integer vectors with every entry from low to high, one a row, in lexicographic order."""
    check_outcomes((high - low + 1) ** dimensions, "this law", _longest(dimensions + 1))
    axes = np.meshgrid(*[np.arange(low, high + 1)] * dimensions, indexing="ij")
    return np.stack([axis.ravel() for axis in axes], axis=-1)
