"""Tables of numbers as data frames of the library that is asked for."""

from collections.abc import Hashable
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from discreet.arrays import Floats
from discreet.errors import InvalidInputError
from discreet.validation import shown

Library = Literal["pandas", "polars", "arrow"]


def category_frame(
    categories: tuple[Hashable, ...], mean: Floats, std: Floats, ends: Floats, interval: tuple[str, float], library: Library
) -> Any:
    """Mean, sd and the ends of an interval for each category, named by the kind of interval and the levels of its ends, as ArviZ does."""
    kind, mass = interval
    low, high = (f"{kind}_{100.0 * level:.6g}%" for level in (0.5 * (1.0 - mass), 0.5 * (1.0 + mass)))
    columns = {"category": labelled(np.arange(len(categories)), categories)}
    numbers = {"mean": mean, "sd": std, low: ends[:, 0], high: ends[:, 1]}
    return converted(pa.table(columns | {name: pa.array(values) for name, values in numbers.items()}), library)


def labelled(positions: Any, labels: tuple[Any, ...]) -> pa.Array:
    """Labels by their positions; text where they are of several types."""
    try:
        dictionary = pa.array(labels)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        dictionary = pa.array([str(label) for label in labels])
    return dictionary.take(pa.array(positions))


def converted(table: pa.Table, library: Library) -> Any:
    """An Arrow table as a frame of the library that was asked for."""
    if library == "arrow":
        return table
    try:
        if library == "pandas":
            return table.to_pandas()
        if library == "polars":
            import polars

            return polars.from_arrow(table)
    except ImportError:
        raise InvalidInputError(f"{library} is not installed: pip install {library}, or ask for library='arrow'") from None
    raise InvalidInputError(f"library must be 'pandas', 'polars' or 'arrow', got {shown(library)!r}")
