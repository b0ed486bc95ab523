"""The kinds of array that everything is computed in, and what a mechanism draws."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
"""Whole numbers of records, with the categories on the last axis."""
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
"""Whether something holds, element by element."""

if TYPE_CHECKING:  # Python knows defaults of type variables from 3.13 on, and type checkers know them for every version
    from typing_extensions import TypeVar

    Drawn = TypeVar("Drawn", bound=tuple[int, ...] | Counts, covariant=True, default=Any)
else:
    from typing import TypeVar

    Drawn = TypeVar("Drawn", covariant=True)
