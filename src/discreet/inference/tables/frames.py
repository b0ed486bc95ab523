"""The numbers of a table's posterior as a data frame: one row for each group and category."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from discreet.arrays import Floats
from discreet.errors import InvalidInputError
from discreet.inference.frames import Library, converted, labelled
from discreet.model.cells import Cells
from discreet.validation import shown

Kind = Literal["eti"]
"""The kind of interval that a whole table has: equal-tailed."""


def check_kind(kind: str) -> None:
    """Refuse highest density intervals: each takes a search of its own."""
    if kind != "eti":
        raise InvalidInputError(
            f"kind must be 'eti' for a table, got {shown(kind)!r}: highest density intervals are searched for one at a time, and "
            "table[group].summary(kind='hdi') has those of one group"
        )


def summary_frame(cells: Cells, numbers: Mapping[str, Floats], library: Library) -> Any:
    """The named numbers of every cell, with the labels of its group and its category."""
    groups, categories = cells.shape
    places = np.unravel_index(np.repeat(np.arange(groups), categories), cells.groups.shape)
    columns = {name: labelled(place, labels) for name, place, labels in zip(cells.groups.columns, places, cells.groups.labels, strict=True)}
    columns["category"] = labelled(np.tile(np.arange(categories), groups), cells.categories)
    taken = columns.keys() & numbers.keys() | ({"category"} if "category" in cells.groups.columns else set())
    if taken:
        raise InvalidInputError(f"a column of the groups is called {', '.join(sorted(taken))}, as one of the summary is; rename it")
    return converted(pa.table(columns | {name: pa.array(values.ravel()) for name, values in numbers.items()}), library)
