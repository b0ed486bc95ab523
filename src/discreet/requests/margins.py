"""Groups of a table put together over some of its columns, and how much each of them counts."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InvalidInputError
from discreet.requests.parsing import parse_list, parse_number
from discreet.text import listed

if TYPE_CHECKING:
    from discreet.arrays import Floats
    from discreet.inference.quantities import Contrast
    from discreet.inference.tables.adjusted import Strata
    from discreet.model.cells import Cells
    from discreet.record.release import Release

OWN, ALIKE, HAENSZEL = "own", "alike", "mantel-haenszel"
_INSTEAD = "say how much each label counts, as in --weights A=60,B=40"


@dataclass(frozen=True)
class Margins:
    """A record whose groups are put together over some columns."""

    release: "Release"
    over: tuple[str, ...]
    """The columns over which groups are put together."""
    weights: str
    """The weight of each group: as it is, "own"; in the same proportions everywhere, "alike"; or as LABEL=NUMBER,... says."""

    def __post_init__(self) -> None:
        columns = self.release.by.columns
        if not columns:
            raise InvalidInputError("--over puts groups of a table together, and this record has none")
        for name in self.over:
            if name not in columns:
                raise InvalidInputError(f"--over must name columns of the groups, which are {listed(columns)}; got {name!r}")
        if len(set(self.over)) != len(self.over) or not self.over:
            raise InvalidInputError(f"--over must name each column once, of {listed(columns)}")

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns by which groups are still told apart."""
        return tuple(name for name in self.release.by.columns if name not in self.over)

    @property
    def given_weights(self) -> "Floats | None":
        """Return how much each group counts, in the order of the groups; None for its share of the population, which has a posterior.

        Raises InvalidInputError where the record does not say it.
        """
        sizes = self.release.sizes
        if self.weights == OWN:
            if self.release.n is None:
                raise InvalidInputError(f"the sizes of groups are private in this record, so that groups have no weights: {_INSTEAD}")
            return None if sizes is None else np.array(sizes, dtype=np.float64)
        if self.weights == HAENSZEL:
            raise InvalidInputError(f"--weights {HAENSZEL} compares two groups: discreet contrast takes it")
        if self.weights == ALIKE:
            if sizes is None:
                raise InvalidInputError(f"--weights {ALIKE} takes the sizes of all groups, which are not public in this record: {_INSTEAD}")
            return self._strata.spread(self._strata.totals(sizes))
        return self._strata.spread(self._typed_weights())

    @property
    def _strata(self) -> "Strata":
        from discreet.inference.tables.adjusted import Strata

        return Strata(self.release.by, self.over)

    def _typed_weights(self) -> "Floats":
        if len(self.over) != 1:
            raise InvalidInputError("--weights LABEL=NUMBER,... is for one column of --over: take the columns one after the other")
        labels = [str(label) for label in self._strata.strata.kept]
        pairs = [part.rpartition("=") for part in parse_list(self.weights, "--weights")]
        given = {label.strip(): parse_number(number, "--weights") for label, sign, number in pairs if sign}
        if len(given) != len(pairs) or set(given) != set(labels) or min(given.values()) < 0 or not any(given.values()):
            raise InvalidInputError(
                f"--weights must be {OWN}, {ALIKE} or a number of at least 0 for each of {listed(labels)}, as in {labels[0]}=60,..."
            )
        total = sum(given.values())  # shares are floats, also of weights that are too large or too small to be
        return np.array([float(given[label] / total) for label in labels])

    def contrast(self, posterior: Any, first: Any, second: Any, category: Any) -> "Contrast":
        """Compare a category between two of the groups that are left."""
        if not self.kept:
            raise InvalidInputError("--over leaves no columns by which groups could be compared: name fewer of them")
        if self.weights == HAENSZEL:
            within: Contrast = posterior.mantel_haenszel(first, second, category, over=self.over)
            return within
        compared: Contrast = self.of(posterior).contrast(first, second, category)
        return compared

    def of(self, posterior: Any) -> Any:
        """The posterior of the groups that are put together: one for each label that is kept, or one if there is none."""
        return posterior.over(*self.kept, weights=self.given_weights)

    @property
    def cells(self) -> "Cells":
        """The groups that are left, and the categories; what can occur in none of the groups that are put together cannot."""
        from discreet.model.cells import Cells

        cells = self.release.cells
        possible = self._together(cells.possible) > 0
        return Cells(self._strata.compared.kept, cells.categories, tuple(np.flatnonzero(~possible.ravel()).tolist()))

    @property
    def counts(self) -> Any:
        """The reported counts, added up."""
        return self._together(self.release.counts)

    def _together(self, values: Any) -> Any:
        """Numbers by group and category, added up over the groups that are put together."""
        by = self.release.by
        table = np.asarray(values).reshape(*by.shape, -1)
        summed = table.sum(axis=tuple(map(by.columns.index, self.over)), dtype=np.int64)
        return summed.reshape(-1, table.shape[-1])

    @property
    def words(self) -> str:
        """Describe what was put together, and how."""
        how = {
            OWN: "each group counts by its share of the population, of which the noisy counts tell"
            if self.release.sizes is None
            else "each group counts as many as it has",
            HAENSZEL: f"compared within {listed(self.over)}, put together as Mantel and Haenszel did",
            ALIKE: f"the groups by {listed(self.over)} count everywhere as they do in all groups together (standardised)",
        }
        return f"over {listed(self.over)}: {how.get(self.weights, f'with the weights {self.weights}, the same everywhere (standardised)')}"
