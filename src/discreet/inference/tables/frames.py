"""The numbers of a table's posterior as a data frame: one row for each group and category."""

from typing import Any, Literal

import numpy as np
import pyarrow as pa

from discreet.errors import InvalidInputError
from discreet.inference.groups.arrays import GroupSummaries
from discreet.model.cells import Cells
from discreet.validation import shown

Library = Literal["pandas", "polars", "arrow"]


def summary_frame(cells: Cells, figures: GroupSummaries, library: Library) -> Any:
    """Mean, sd, low and high of every cell, with the labels of its group and its category."""
    groups, categories = cells.shape
    places = np.unravel_index(np.repeat(np.arange(groups), categories), cells.groups.shape)
    columns = {
        name: _labelled(place, labels) for name, place, labels in zip(cells.groups.columns, places, cells.groups.labels, strict=True)
    }
    columns["category"] = _labelled(np.tile(np.arange(categories), groups), cells.categories)
    numbers = {"mean": figures.mean, "sd": figures.std, "low": figures.low, "high": figures.high}
    taken = columns.keys() & numbers.keys() | ({"category"} if "category" in cells.groups.columns else set())
    if taken:
        raise InvalidInputError(f"a column of the groups is called {', '.join(sorted(taken))}, as one of the summary is; rename it")
    return converted(pa.table(columns | {name: pa.array(values.ravel()) for name, values in numbers.items()}), library)


def _labelled(positions: Any, labels: tuple[Any, ...]) -> pa.Array:
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
