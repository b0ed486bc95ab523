"""Summaries of a table's record, piece by piece: Arrow in, Arrow out (docs/howto/reading.md).

Where the sizes of groups are public, or nothing is, a group's posterior depends on its own cells alone. Whoever has these and what the
record says beside its cells can read it: one process that goes through a file, or the executors of a cluster.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet import limits
from discreet.arrays import Counts, Floats, Mask
from discreet.errors import InvalidInputError, RefusedError
from discreet.inference.frames import labelled_frame, with_labels
from discreet.inference.reader_priors import reader_prior
from discreet.inference.tables.summaries import check_summaries, group_summaries
from discreet.mechanisms.noise import CellNoise
from discreet.mechanisms.registry import rebuilt
from discreet.model.dirichlet import Prior
from discreet.model.size_priors import SizePrior, size_prior_of
from discreet.record.json import guarded
from discreet.record.parquet import CellsFile, cell_batches, read_cells
from discreet.record.release import check_claim, stated_guarantee
from discreet.validation import category_index, check_share, spelling

_SUMMARY_COLUMNS = {"mean": "mean", "sd": "std", "low": "low", "high": "high"}
"""The columns of numbers, and what they are called among summaries as arrays."""
_Spelled = tuple[str, ...]
"""The labels of a group, as they are spelled."""


def summaries(path: str | PathLike[str], prior: Any = None, size_prior: Any = None, *, mass: float = 0.95) -> "TableSummaries":
    """Summarise the record of a table of any size, whose groups are read in pieces.

    Only what the file says beside its cells is read at once. `for batch in summaries(path)` then goes through the cells, and
    `summaries(path)` is itself a function from cells to summaries, which a cluster can run on its parts of the file.

    Args:
        path: The Parquet file that `to_parquet` wrote, of a table where the sizes of groups are public or nothing is.
        prior: What a reader believes about the categories of all groups, in place of the record's.
        size_prior: Where nothing is public, what is believed about the size of each group, as in `Release.noise_aware`.
        mass: How much probability intervals hold.

    Returns:
        Something to iterate over, whose batches of Arrow have the rows and columns of `noise_aware().summary()`.

    Raises:
        InvalidInputError: The file cannot be read or does not hold a table, or an argument is not what is said above.
        RefusedError: The total is public, which ties all groups together.
        TooLargeError: The noise is too wide for so many groups.
    """
    place = Path(path).expanduser()
    cells = read_cells(place)
    if cells.total is not None:
        raise RefusedError(
            "a public total ties all groups together, so they cannot be read in pieces: "
            "dc.read(path).noise_aware().summary() reads all of them at once"
        )
    if cells.sizes_public and size_prior is not None:
        raise InvalidInputError("size_prior is for groups whose sizes are private; here the size of every group is public")
    found = cells.fields
    noise = _noise(cells, found)
    if cells.sizes_public and not noise.blocks:
        raise RefusedError("public sizes are no sums of these noisy counts: dc.read(path).noise_aware().summary() reads all groups at once")
    if not cells.sizes_public:
        check_summaries(cells.groups, len(cells.categories), noise.kernel)
    size = None if cells.sizes_public else size_prior_of("flat" if size_prior is None else size_prior)
    own = {_spelled(group, cells): its for group, its in found["layout"]["priors"]} if prior is None else {}
    impossible: dict[_Spelled, tuple[int, ...]] = {}
    for *labels, category in found["layout"]["impossible"]:
        group = _spelled(labels, cells)
        impossible[group] = (*impossible.get(group, ()), category_index(cells.categories, category))
    return TableSummaries(place, cells, reader_prior(prior, found["prior"]), own, impossible, noise, size, check_share(mass, "mass"))


def _noise(cells: CellsFile, found: Mapping[str, Any]) -> CellNoise:
    """The noise of a cell: that of the mechanism with one group, which must have the promise as well."""
    one_group = {"by": {column.name: [0] for column in cells.columns}}
    n = (1,) if cells.sizes_public else None
    mechanism = guarded(lambda: rebuilt(found["mechanism"], found["parameters"], found["prior"], n, one_group))
    check_claim(mechanism, stated_guarantee(mechanism, found))
    noise: CellNoise = mechanism.noise
    return noise


def _spelled(labels: Iterable[Any], cells: CellsFile) -> _Spelled:
    group = tuple(map(spelling, labels))
    if len(group) != len(cells.columns):
        raise InvalidInputError("impossible and priors must have a label for each column of the groups")
    return group


@dataclass(frozen=True, eq=False, repr=False)
class TableSummaries:
    """A function from the cells of a table to summaries of its groups, which `summaries` makes. It holds no cells, and pickles."""

    path: Path
    cells: CellsFile
    prior: Prior
    priors: Mapping[_Spelled, Prior]
    """The groups that have another prior."""
    impossible: Mapping[_Spelled, tuple[int, ...]]
    """The groups with categories, given by their positions, that cannot occur."""
    noise: CellNoise
    size_prior: SizePrior | None
    """The prior on the size of each group; None where it is public."""
    mass: float

    @property
    def schema(self) -> pa.Schema:
        """The columns of the batches: those of the groups, category, mean, sd, low and high."""
        nothing = np.empty((0, len(self.cells.categories)))
        return self._frame(pa.RecordBatch.from_pylist([], self._read).columns[:-2], dict.fromkeys(_SUMMARY_COLUMNS, nothing)).schema

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Summaries of all groups in the file, in its order: a batch for each piece."""
        return self(cell_batches(self.path))

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Summaries of the groups whose cells are in these batches, which have the columns of the file but need no `counts`.

        The cells of a group follow one another, in any order of the categories, and may begin in one batch and end in the next.
        """
        return map(self._summary, self._pieces(batches))

    def __repr__(self) -> str:
        return f"TableSummaries({self.cells.groups:,} groups by {len(self.cells.categories):,} categories, {100 * self.mass:g} % intervals)"

    # --- cells --------------------------------------------------------------------------------------------------------

    @property
    def _read(self) -> pa.Schema:
        """The columns that are read: of the groups, the category and the noisy count."""
        return pa.schema([*self.cells.schema][:-1])

    def _pieces(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The cells of these batches as pieces of whole groups; what there is of the next group is held meanwhile."""
        held, k = [], len(self.cells.categories)
        for batch in map(self._columns, batches):
            most = self.cells.rows_of(batch, limits.PIECE_CELLS)
            for start in range(0, batch.num_rows, most):
                held.append(self._plain(batch.slice(start, most)))
                rows = sum(part.num_rows for part in held)
                if rows >= most:
                    together = pa.concat_batches(held)
                    held = [together.slice(rows // k * k)]
                    yield together.slice(0, rows // k * k)
        if any(part.num_rows for part in held):
            yield pa.concat_batches(held)

    def _columns(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The columns that are needed, which must be there without nulls."""
        for name in self._read.names:
            if batch.schema.names.count(name) != 1:
                raise InvalidInputError(f"cells must have the columns {', '.join(self._read.names)}; {name!r} is not there, or twice")
            if batch.column(name).null_count:
                raise InvalidInputError(f"column {name!r} of cells must not have nulls")
        return batch.select(self._read.names)

    def _plain(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return these columns with the types that they have in the file."""
        try:
            return pa.RecordBatch.from_arrays(
                [column.cast(field.type) for column, field in zip(batch.columns, self._read, strict=True)], schema=self._read
            )
        except pa.ArrowException:
            types = ", ".join(f"{field.name} {field.type}" for field in self._read)
            raise InvalidInputError(f"the columns of cells must have the types of the record's file: {types}") from None

    def _summary(self, piece: pa.RecordBatch) -> pa.RecordBatch:
        *groups, category, raw = piece.columns
        z = self._by_group(groups, category, raw)
        possible, a = self._known(groups, z.shape)
        sizes = z.sum(axis=1) if self.size_prior is None else None
        _check_outcome(z, possible, sizes)
        found = group_summaries(z, a, self.noise, sizes=sizes, size_prior=self.size_prior, possible=possible, mass=self.mass)
        numbers = {name: getattr(found, own) for name, own in _SUMMARY_COLUMNS.items()}
        return self._frame(groups, numbers).combine_chunks().to_batches()[0]

    def _by_group(self, groups: list[pa.Array], category: pa.Array, raw: pa.Array) -> Counts:
        """The noisy counts, a row a group and a column a category."""
        k = len(self.cells.categories)
        place = pc.index_in(category, value_set=self.cells.encoded).fill_null(-1).to_numpy()
        first = pa.array(np.arange(len(raw)) // k * k)
        whole = len(raw) % k == 0 and all(column.take(first).equals(column) for column in groups)
        if not whole or (np.sort(place.reshape(-1, k), axis=1) != np.arange(k)).any():
            names = ", ".join(repr(column.name) for column in self.cells.columns)
            raise InvalidInputError(
                f"the {k} cells of a group must follow one another, one for each category; they do not. In Spark, "
                f"cells.repartition({names}).sortWithinPartitions({names}) brings them together"
            )
        return np.take_along_axis(raw.to_numpy().reshape(-1, k), np.argsort(place.reshape(-1, k), axis=1), axis=1)

    def _known(self, groups: list[pa.Array], shape: tuple[int, int]) -> tuple[Mask, Floats]:
        """Return which categories can occur in which group, and the prior parameters: of all groups, or a row for each."""
        possible, a = np.ones(shape, dtype=np.bool_), self.prior.concentration
        if not (self.impossible or self.priors):
            return possible, a
        if self.priors:
            a = np.tile(a, (shape[0], 1))
        starts = pa.array(np.arange(shape[0]) * shape[1])
        labels = [self.cells.labels(i, column.take(starts)) for i, column in enumerate(groups)]
        for row, group in enumerate(zip(*(map(spelling, column) for column in labels), strict=True)):
            possible[row, list(self.impossible.get(group, ()))] = False
            if group in self.priors:
                a[row] = self.priors[group].concentration
        return possible, a

    def _frame(self, groups: list[pa.Array], numbers: Mapping[str, Floats]) -> pa.Table:
        """The rows of a summary, which `Reading.summary` has too."""
        columns = {own.name: self.cells.shown(i, values) for i, (own, values) in enumerate(zip(self.cells.columns, groups, strict=True))}
        return labelled_frame(with_labels(columns, "category", self.cells.categories, len(numbers["mean"])), numbers, "arrow")


def _check_outcome(z: Counts, possible: Mask, sizes: Counts | None) -> None:
    """Refuse noisy counts that no table has: too large ones, one in a cell that cannot occur, and a group of negative size."""
    wrong = (z[~possible] != 0).any() or np.abs(z).max(initial=0) >= limits.RAW_OUTCOME // z.shape[1]
    if wrong or (sizes is not None and ((sizes < 0) | (sizes > limits.COUNT)).any()):
        raise InvalidInputError("raw must be an outcome of the record's mechanism; this one is not possible")
