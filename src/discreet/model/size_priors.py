"""What is believed about a private number of records before a release is seen: log weights of 0, 1, 2, ... records."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Counts, Floats
from discreet.errors import InvalidInputError

SizePrior = Literal["flat"] | Callable[[Counts], Floats] | Sequence[float] | NDArray[np.float64]
"""`"flat"`, a function from an array of sizes to their log weights, or the log weights of 0, 1, 2, ... records (those beyond have none)."""


def log_size_weights(prior: SizePrior, sizes: Counts) -> Floats:
    """The log weights of these sizes; -inf for a size that cannot be. Raises InvalidInputError for what is no prior."""
    if isinstance(prior, str):
        if prior != "flat":
            raise InvalidInputError(f'size_prior must be "flat", a function or an array of log weights, got {prior[:40]!r}')
        return np.zeros(len(sizes))
    if callable(prior):
        weights = np.asarray(prior(sizes), dtype=np.float64)
    else:
        given = np.asarray(prior, dtype=np.float64)
        if given.ndim != 1 or not len(given):
            raise InvalidInputError("size_prior must have one log weight for each of 0, 1, 2, ... records")
        weights = np.where(sizes < len(given), given[np.minimum(sizes, len(given) - 1)], -np.inf)
    if weights.shape != sizes.shape or np.isnan(weights).any() or (weights == np.inf).any():
        raise InvalidInputError("size_prior must give one log weight, finite or -inf, for each size")
    if (weights == -np.inf).all():
        raise InvalidInputError("size_prior gives no weight to any of the sizes that are possible here")
    return weights
