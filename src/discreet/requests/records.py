"""What is asked of records that were released: to be shown, reported, contrasted and combined."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.requests.fields import REQUIRED, Kind, Request, Row, asked
from discreet.requests.kinds import SHARES_OF_KIND, SWITCH_KIND, TEXT_KIND, TEXTS_KIND, WHOLE_KIND
from discreet.requests.parsing import parse_mass
from discreet.text import MASS

if TYPE_CHECKING:
    from discreet.validation import SharesOf

MASS_KIND = Kind(lambda text, _: parse_mass(text), repr)
_MASS: dict[str, Any] = {
    "kind": MASS_KIND,
    "help": "How much probability an interval holds, between 0 and 1, or such as 90%.",
    "default": str(MASS),
}


@dataclass(frozen=True, kw_only=True)
class RecordRequest(Request):
    """One record, and how it is read."""

    record: str = asked(
        TEXT_KIND,
        "The file of a release (JSON, Parquet, or a page of discreet report), or - for standard input.",
        default=REQUIRED,
        positional=True,
    )
    mass: float = asked(**_MASS)
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

    @property
    def about_code(self) -> str:
        """What comes after a posterior in Python."""
        return ".records" if self.about == "records" else ""


@dataclass(frozen=True, kw_only=True)
class ShowRequest(RecordRequest):
    """What a record says, or how its groups compare with one of them."""

    reference: str | None = asked(TEXT_KIND, "Compare all groups of a table with this one, such as north,f, in the category of --category.")
    category: str | None = asked(TEXT_KIND, "The category whose probability is compared with --reference.")


@dataclass(frozen=True, kw_only=True)
class ContrastRequest(RecordRequest):
    """How one probability differs from another."""

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


@dataclass(frozen=True, kw_only=True)
class CombineRequest(Request):
    """What several records say together."""

    records: list[str] = asked(
        TEXTS_KIND, "The JSON files or pages of two or more releases; one may be - for standard input.", default=REQUIRED, positional=True
    )
    same_data: bool | None = asked(
        SWITCH_KIND, "Whether all releases are about the same records, or each about records of its own.", option="--same-data/--new-data"
    )
    prior: str | None = asked(TEXT_KIND, "Concentrations such as 1,1,1, or uniform or jeffreys; needed where the records' priors differ.")
    mass: float = asked(**_MASS)
    seed: int = asked(WHOLE_KIND, "For the draws that stand for sums that would be too long.", default="0", least=0)
    slow: bool = asked(SWITCH_KIND, "Compute it also where that takes minutes: many possible counts.")
