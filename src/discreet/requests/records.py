"""Requests about records that were released: to be shown, reported, contrasted and combined."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import InvalidInputError
from discreet.requests.delivery import AS_JSON, PAGE_OUTPUT, PICTURE, TABLE_KIND
from discreet.requests.fields import REQUIRED, Kind, Request, Row, asked, changed, fields_of
from discreet.requests.kinds import LIST_KIND, SHARES_OF_KIND, SWITCH_KIND, TEXT_KIND, TEXTS_KIND, WHOLE_KIND
from discreet.requests.parsing import parse_mass
from discreet.text import MASS

if TYPE_CHECKING:
    from discreet.record.release import Release
    from discreet.requests.margins import Margins
    from discreet.validation import SharesOf

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
        from discreet.requests.margins import Margins

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
