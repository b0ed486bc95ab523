"""The request for a record of counts that others published: where they stand, which noise is in them and what was done then."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import InvalidInputError
from discreet.requests.fields import REQUIRED, FieldContext, Kind, Request, asked, changed
from discreet.requests.kinds import (
    CELLS_KIND,
    LABELS_KIND,
    LISTS_KIND,
    RECORD_OUTPUT,
    SOURCE_KIND,
    SWITCH_KIND,
    TEXT_KIND,
    WHOLE_KIND,
    prior_code,
)
from discreet.requests.parsing import parse_labels, parse_prior
from discreet.requests.release import ReleaseRequest

if TYPE_CHECKING:
    from discreet.data.published import PublishedTable
    from discreet.model.dirichlet import Dirichlet
    from discreet.record.release import Release


def _noise(text: str, reading: FieldContext) -> str:
    """The noise as text; the rows of a matrix may stand in a file."""
    from discreet.mechanisms.published import noise_of

    name, is_file, _ = text.partition(":@")
    if name == "matrix" and is_file:
        text = f"matrix:{';'.join(parse_labels(text.removeprefix('matrix:'), reading.name, reading.other('file') or ''))}"
    return str(noise_of(text))


def _steps(text: str, _: FieldContext) -> str:
    from discreet.mechanisms.published import steps_of

    return ",".join(map(str, steps_of(text)))


@dataclass(frozen=True, kw_only=True)
class ObserveRequest(Request):
    """Counts that others published, to be kept as a record that is read like ours."""

    file: str = asked(
        SOURCE_KIND,
        "The published counts: CSV, Parquet, JSON, Excel, or the table of a database. A row for each group and a column for each category, "
        "or with --column and --count a row for each count. An empty cell is a count that was not published.",
        default=REQUIRED,
        positional=True,
    )
    noise: str = asked(
        Kind(_noise),
        "The noise on every count: gaussian:SIGMA, zcdp:RHO, geometric:EPSILON, laplace:SCALE or rounded-gaussian:SIGMA (real "
        "noise, rounded), random-rounding:BASE, "
        "matrix:@FILE (a text file with a line for each true count from 0 on: the probabilities of publishing 0, 1, ..., separated by "
        "commas), or randomized:EPSILON for randomized answers.",
        default=REQUIRED,
        call="observed",
    )
    steps: str = asked(
        Kind(_steps),
        "What was done after the noise, in its order: clamped:0, rounded:5 (or rounded:5:up, rounded:5:away), suppressed:10 (by the noisy "
        "count) or suppressed-true:10, separated by commas.",
        default="",
        call="observed",
    )
    by: list[str] = asked(
        LISTS_KIND,
        "The columns of a table that name its groups, separated by commas: region,sex. Their labels are read. May be given several times.",
    )
    categories: Sequence[str] | None = asked(
        LABELS_KIND, "The categories in their order; by default all that the file has, in its order. Name them if it has other columns."
    )
    column: str | None = asked(TEXT_KIND, "Where every count has a row: the column of the categories.", short=("-c",))
    count: str | None = asked(TEXT_KIND, "Where every count has a row: the column of the counts.")
    na_values: list[str] = changed(
        ReleaseRequest,
        "na_values",
        help="What stands for a count that was not published, separated by commas: *,.. (an empty cell always does).",
        form=None,
        call="",
        key="",
    )
    encoding: str = changed(ReleaseRequest, "encoding", form=None, call="", key="")
    prior: str = asked(TEXT_KIND, "uniform, jeffreys, or a concentration for each category: 1,1,1.", default="uniform")
    n: int | None = asked(
        WHOLE_KIND, "The number of records, where it is public without noise. Nothing is public by default.", short=("-n",), call="observed"
    )
    sizes: str | None = asked(TEXT_KIND, "The column with the sizes of the groups, where they are public without noise.")
    size_prior: str = asked(
        TEXT_KIND,
        "What is believed about a number of records that is not public: flat, poisson:180 or negative-binomial:180,2. Suppressed counts "
        "may need one that is not flat.",
        default="flat",
        call="observed",
    )
    impossible: list[tuple[str, ...]] = asked(
        CELLS_KIND, "GROUP,...,CATEGORY: a cell that cannot occur, and is 0: m,pregnant. May be given several times.", call="observed"
    )
    source: str = asked(TEXT_KIND, "Who published the counts: whose promise it is.", default="", call="observed")
    title: str | None = changed(ReleaseRequest, "title", form=None, key="")
    variable: str | None = changed(ReleaseRequest, "variable", form=None, key="", shown_default=True)
    date: str | None = changed(ReleaseRequest, "date", form=None, key="")
    note: str | None = changed(ReleaseRequest, "note", form=None, key="")
    python: bool = asked(SWITCH_KIND, "Print the Python that makes the same record, and make none.")
    output: Path | None = asked(
        help="Write the record to this new .json file, or a table to .parquet, and show it; else print the record.", **RECORD_OUTPUT
    )

    def check(self) -> None:
        """Refuse one half of a layout, and two things that are public."""
        if (self.column is None) != (self.count is None):
            raise InvalidInputError("--column and --count belong together: the columns of the categories and of the counts, a row for each")
        if self.n is not None and self.sizes is not None:
            raise InvalidInputError("--n is the public total, and --sizes says what every group has: leave one of them out")
        if not self.by and (self.sizes is not None or self.impossible):
            raise InvalidInputError("--sizes and --impossible are about groups: name their columns with --by")

    def published(self) -> "PublishedTable":
        """Return what the file says."""
        from discreet.data.published import PublishedLayout, read_published

        self.check()
        names = ("by", "categories", "column", "count", "sizes", "encoding")
        return read_published(self.file, PublishedLayout(missing=self.na_values, **{name: getattr(self, name) for name in names}))

    def record(self) -> "Release":
        """The record of these counts."""
        from discreet.inference.observed import observed
        from discreet.record.about import About

        found = self.published()
        about = self.arguments("about")
        return observed(
            found.counts,
            prior=self._prior(found),
            about=About(**about) if about else None,
            **self._layout(found),
            **self.arguments("observed"),
        )

    def in_python(self) -> str:
        """Python that makes the same record."""
        found = self.published()
        laid_out = [f"{name}={value!r}" for name, value in self._layout(found).items()]
        about = f"about=dc.About({', '.join(self.code('about'))})"
        given = ["counts", *self.code("observed"), "prior=prior", *laid_out, *([about] if self.arguments("about") else [])]
        return "\n".join(
            [
                "import discreet as dc",
                "",
                f"prior = {prior_code(self._prior(found))}",
                f"counts = {_numbers(found.counts)!r}",
                f"record = dc.observed({', '.join(given)})",
                "text = record.to_json()",
            ]
        )

    def _prior(self, found: "PublishedTable") -> "Dirichlet":
        return parse_prior(self.prior, found.categories)

    def _layout(self, found: "PublishedTable") -> dict[str, Any]:
        """The groups and their sizes, which the file names."""
        return ({"by": dict(found.by)} if found.by else {}) | ({} if found.sizes is None else {"n": found.sizes})


def _numbers(counts: Any) -> Any:
    """Counts as numbers where they are whole ones; others stay texts, which are read exactly."""
    if isinstance(counts, list):
        return [_numbers(count) for count in counts]
    return int(counts) if counts is not None and counts.lstrip("-").isdecimal() else counts
