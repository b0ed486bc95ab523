"""The kinds of array that everything is computed in."""

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
"""Whole numbers of records, with the categories on the last axis."""
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
"""Whether something holds, element by element."""
