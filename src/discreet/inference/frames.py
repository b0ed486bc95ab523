"""Tables of numbers as data frames of the library that is asked for."""

from collections.abc import Hashable, Mapping
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from discreet.errors import InvalidInputError
from discreet.model.cells import Groups
from discreet.validation import shown

Library = Literal["pandas", "polars", "arrow"]


def summary_frame(by: Groups | None, within: Mapping[str, tuple[Hashable, ...]], numbers: Mapping[str, Any], library: Library) -> Any:
    """Make a frame of arrays: a row for each group, if there are any, and each label within it; a column for each array.

    `within` has one more column of labels at most, such as the categories.
    """
    (name, labels), columns = next(iter(within.items()), ("", ("",))), {}
    if by is not None:
        places = np.unravel_index(np.repeat(np.arange(len(by)), len(labels)), by.shape)
        columns = {column: labelled(place, own) for column, place, own in zip(by.columns, places, by.labels, strict=True)}
    taken = columns.keys() & {*within, *numbers}
    if taken:
        raise InvalidInputError(f"a column of the groups is called {', '.join(sorted(taken))}, as one of the summary is; rename it")
    if within:
        columns[name] = labelled(np.tile(np.arange(len(labels)), 1 if by is None else len(by)), labels)
    return converted(pa.table(columns | {column: pa.array(np.ravel(values)) for column, values in numbers.items()}), library)


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
