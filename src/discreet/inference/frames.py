"""Tables of numbers as data frames of the library that is asked for."""

from collections.abc import Hashable, Mapping, Sequence
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
    (name, labels) = next(iter(within.items()), ("", ("",)))
    columns = {} if by is None else group_columns(by, np.repeat(np.arange(len(by)), len(labels)))
    if within:
        columns = with_labels(columns, name, labels, 1 if by is None else len(by))
    return labelled_frame(columns, numbers, library)


def with_labels(columns: dict[str, pa.Array], name: str, labels: tuple[Hashable, ...], groups: int) -> dict[str, pa.Array]:
    """Columns of labels with one more, in which these follow one another in every group."""
    return _together(columns, {name: labelled(np.tile(np.arange(len(labels)), groups), labels)})


def pairs_frame(by: Groups, pairs: Sequence[tuple[int, int]], numbers: Mapping[str, Any], library: Library) -> Any:
    """Make a frame with a row for each pair of groups, by their positions: the columns of the first, of the second, and the numbers."""
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    against = {f"against_{name}": values for name, values in group_columns(by, second).items()}
    return labelled_frame(_together(group_columns(by, first), against), numbers, library)


def group_columns(by: Groups, positions: Any) -> dict[str, pa.Array]:
    """The labels of groups, which are given by their positions: a column for each column of the groups."""
    places = np.unravel_index(np.asarray(positions, dtype=np.int64), by.shape)
    return {name: labelled(place, labels) for name, place, labels in zip(by.columns, places, by.labels, strict=True)}


def labelled_frame(columns: dict[str, pa.Array], numbers: Mapping[str, Any], library: Library) -> Any:
    """Make a frame of columns of labels and arrays of numbers."""
    return converted(pa.table(_together(columns, {name: pa.array(np.ravel(values)) for name, values in numbers.items()})), library)


def _together(groups: dict[str, pa.Array], others: dict[str, pa.Array]) -> dict[str, pa.Array]:
    taken = groups.keys() & others.keys()
    if taken:
        raise InvalidInputError(f"a column of the groups is called {', '.join(sorted(taken))}, as one of the summary is; rename it")
    return groups | others


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
