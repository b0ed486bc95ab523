"""Requests about records that were released, and what they ask of them: groups put together, and two records compared."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import InvalidInputError
from discreet.requests.fields import REQUIRED, Kind, Request, Row, asked, changed, fields_of
from discreet.requests.kinds import (
    AS_JSON,
    LIST_KIND,
    PAGE_OUTPUT,
    PICTURE,
    SHARES_OF_KIND,
    SWITCH_KIND,
    TABLE_KIND,
    TEXT_KIND,
    TEXTS_KIND,
    WHOLE_KIND,
)
from discreet.requests.parsing import parse_list, parse_mass, parse_number
from discreet.text import MASS, listed

if TYPE_CHECKING:
    from discreet.arrays import Floats
    from discreet.inference.noise_aware import NoiseAware
    from discreet.inference.quantities import Contrast
    from discreet.inference.tables.adjusted import Strata
    from discreet.model.cells import Cells
    from discreet.record.release import Release
    from discreet.validation import SharesOf


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
        import numpy as np

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
        import numpy as np

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
        import numpy as np

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
        import numpy as np

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


MASS_KIND = Kind(lambda text, _: parse_mass(text), repr)


@dataclass(frozen=True, kw_only=True)
class RecordRequest(Request):
    """One record, and how it is read."""

    record: str = asked(
        TEXT_KIND,
        "The file of a release (JSON, Parquet, or a page of discreet report), or - for standard input.",
        default=REQUIRED,
        positional=True,
    )
    mass: float = asked(MASS_KIND, "How much probability an interval holds, between 0 and 1, or such as 90%.", default=str(MASS))
    slow: bool = asked(SWITCH_KIND, "Compute it also where that takes minutes: many categories or possible counts.")
    prior: str | None = asked(TEXT_KIND, "Your own prior in place of the record's: a concentration for each category, uniform or jeffreys.")
    about: "SharesOf" = asked(
        SHARES_OF_KIND,
        "Whose shares: of the population that the records are a sample of, or of these very records, as of a register or a census.",
        form=Row(
            "settings",
            "Whose shares",
            choices={"population": "Of the population they were drawn from", "records": "Of these very records: a register or a census"},
        ),
        default="population",
    )

    def margins(self, found: "Release") -> "Margins | None":
        """The groups of a record put together as it is asked; None where that is not asked."""

        over, weights = getattr(self, "over", None), getattr(self, "weights", "own")
        if not over:
            if weights != "own":
                raise InvalidInputError("--weights says how much groups count that --over puts together: name its column")
            return None
        if self.about == "records":
            raise InvalidInputError("--over is for shares of the population, and --about records asks for those of the records")
        return Margins(found, tuple(over), weights)

    @property
    def about_code(self) -> str:
        """The code that follows a posterior in Python."""
        return ".records" if self.about == "records" else ""


@dataclass(frozen=True, kw_only=True)
class ShowRequest(RecordRequest):
    """A request to show a record, or how its groups compare with one of them."""

    reference: str | None = asked(TEXT_KIND, "Compare all groups of a table with this one, such as north,f, in the category of --category.")
    category: str | None = asked(TEXT_KIND, "The category whose probability is compared with --reference.")
    over: list[str] | None = asked(
        LIST_KIND, "Put the groups of a table together over this column, or over several separated by commas: --over Dept."
    )
    weights: str = asked(
        TEXT_KIND,
        "With --over: how much each group counts. own: as it is; alike: the labels of --over as in all groups together, so that groups "
        "are compared as if they had the same mix (needs public sizes); or LABEL=NUMBER,... of a population of your own.",
        default="own",
    )
    pooled: bool = asked(
        SWITCH_KIND,
        "Read the groups of a table together: their shares come from one Dirichlet, and small groups borrow from the others.",
    )
    plot: Path | None = asked(
        help="Also draw the posteriors to this PNG, SVG or PDF file. A picture that show drew earlier is replaced.", **PICTURE
    )
    output: Path | None = asked(TABLE_KIND, "Also write the summary to this new .csv, .xlsx or .parquet file.")
    layout: str = asked(TEXT_KIND, "Of --output: long, a row for each group and category, or cross, a row for each group.", default="long")
    only: str | None = asked(TEXT_KIND, "Of --output: this category alone, such as yes.")
    as_json: bool = asked(**AS_JSON)


@dataclass(frozen=True, kw_only=True)
class ReportRequest(RecordRequest):
    """The page about a record."""

    output: Path = asked(**PAGE_OUTPUT, default=REQUIRED)


@dataclass(frozen=True, kw_only=True)
class ContrastRequest(RecordRequest):
    """A question how one probability differs from another."""

    first: str = asked(
        TEXT_KIND,
        "A group, such as north,f; in a record without groups, a category; or the file of a second release.",
        default=REQUIRED,
        positional=True,
    )
    second: str | None = asked(TEXT_KIND, "What it is compared with; left out for two releases.", positional=True)
    category: str | None = asked(TEXT_KIND, "The category whose probability is compared in two groups.", positional=True)
    category_option: str | None = asked(
        TEXT_KIND, "The same; the only way to name it where two releases are compared.", option="--category", short=("-c",)
    )
    group: str | None = asked(TEXT_KIND, "Where two tables are compared: the group of both, such as north,f.")
    over: list[str] | None = changed(ShowRequest, "over")
    weights: str = changed(
        ShowRequest,
        "weights",
        help=f"{fields_of(ShowRequest)['weights'].help} mantel-haenszel: compared within the labels of --over, whatever is public.",
    )
    as_json: bool = asked(**AS_JSON)


@dataclass(frozen=True, kw_only=True)
class CombineRequest(Request):
    """A request to read several records together."""

    records: list[str] = asked(
        TEXTS_KIND, "The JSON files or pages of two or more releases; one may be - for standard input.", default=REQUIRED, positional=True
    )
    same_data: bool | None = asked(
        SWITCH_KIND, "Whether all releases are about the same records, or each about records of its own.", option="--same-data/--new-data"
    )
    prior: str | None = asked(TEXT_KIND, "Concentrations such as 1,1,1, or uniform or jeffreys; needed where the records' priors differ.")
    mass: float = changed(RecordRequest, "mass")
    seed: int = asked(WHOLE_KIND, "For the draws that stand for sums that would be too long.", default="0")
    slow: bool = asked(SWITCH_KIND, "Compute it also where that takes minutes: many possible counts.")
    as_json: bool = asked(**AS_JSON)


PERHAPS_ONE = "both records have the same mechanism and the same outcome; if they are copies of one draw, they are not two groups"
"""The warning about two records that may be one."""
TAKEN = "about different records; two releases about the same records are not compared like this"
"""The assumption about two records that are compared."""


def contrast_of_records(
    found: "Sequence[Release]",
    read: "Callable[[Release], Any]",
    names: tuple[str, str],
    category: Hashable,
    group: Hashable | None,
    *,
    of_records: bool,
) -> "Contrast":
    """Compare a category between two releases, in one group of both if they are tables; `read` makes the posterior of each.

    Raises:
        InvalidInputError: One is a table and one is not, or the group or the category is not in both.
    """
    from discreet.inference.records import of_different_records
    from discreet.inference.several.combine import of_one_variable

    are_tables = {bool(one.by.columns) for one in found}
    if len(are_tables) > 1:
        raise InvalidInputError("one of these records is a table and one is of one variable: compare two tables, or two of one variable")
    if group is not None and are_tables == {False}:
        raise InvalidInputError("--group is for tables, and these records have no groups")
    first, second = (_posterior(one, read, group) for one in found)
    if of_records:
        return of_different_records(first.records.marginal(category), second.records.marginal(category), names)
    return of_one_variable(first, second, category, names)


def _posterior(found: "Release", read: "Callable[[Release], Any]", group: Hashable | None) -> "NoiseAware":
    """The posterior of a release, or of one group of a table."""
    if found.by.columns and group is None:
        raise InvalidInputError(f"a record has groups by {listed(found.by.columns)}: name one of them with --group")
    single: NoiseAware = read(found) if group is None else read(found)[group]
    return single
