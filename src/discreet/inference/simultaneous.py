"""At which common level intervals hold together (docs/proofs/tables.md)."""

import numpy as np
from numpy.typing import NDArray


def common_tail(mass: float, categories: NDArray[np.int64], tied: bool) -> float:
    """The probability on either side of every interval with which all of them hold with probability `mass` or more.

    Args:
        mass: How probable it is to be that all probabilities lie in their intervals.
        categories: How many categories can occur in each group. Two of them have one interval, because one says the other.
        tied: Whether groups depend on each other.

    Between independent groups the masses of groups are multiplied. Within a group, and between groups that are tied, what lies outside
    of intervals is added up.
    """
    intervals = np.where(categories > 2, categories, 1)[categories > 1]
    if not intervals.size:
        return 0.5 * (1.0 - mass)
    if tied:
        return 0.5 * (1.0 - mass) / float(intervals.sum())
    return -0.5 * float(np.expm1(np.log(mass) / len(intervals))) / float(intervals.max())
