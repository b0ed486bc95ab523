"""What is asked of records that were released: to be shown, reported, contrasted and combined."""

from dataclasses import dataclass
from typing import Any

from discreet.requests.fields import REQUIRED, Kind, Request, asked
from discreet.requests.kinds import SWITCH, TEXT, TEXTS, WHOLE
from discreet.requests.parsing import parse_mass

MASS = Kind(lambda text, _: parse_mass(text), repr)
_MASS: dict[str, Any] = {
    "kind": MASS,
    "help": "How much probability an interval holds, between 0 and 1, or such as 90%.",
    "default": "0.95",
}


@dataclass(frozen=True, kw_only=True)
class RecordRequest(Request):
    """One record, and how it is read."""

    record: str = asked(
        TEXT,
        "The file of a release (JSON, Parquet, or a page of discreet report), or - for standard input.",
        default=REQUIRED,
        positional=True,
    )
    mass: float = asked(**_MASS)
    slow: bool = asked(SWITCH, "Compute it also where that takes minutes: many categories or possible counts.")
    prior: str | None = asked(TEXT, "Your own prior in place of the record's: a concentration for each category, uniform or jeffreys.")


@dataclass(frozen=True, kw_only=True)
class ShowRequest(RecordRequest):
    """What a record says, or how its groups compare with one of them."""

    reference: str | None = asked(TEXT, "Compare all groups of a table with this one, such as north,f, in the category of --category.")
    category: str | None = asked(TEXT, "The category whose probability is compared with --reference.")


@dataclass(frozen=True, kw_only=True)
class ContrastRequest(RecordRequest):
    """How one probability differs from another."""

    first: str = asked(
        TEXT,
        "A group, such as north,f; in a record without groups, a category; or the file of a second release.",
        default=REQUIRED,
        positional=True,
    )
    second: str | None = asked(TEXT, "What it is compared with; left out for two releases.", positional=True)
    category: str | None = asked(TEXT, "The category whose probability is compared in two groups.", positional=True)
    category_option: str | None = asked(
        TEXT, "The same; the only way to name it where two releases are compared.", option="--category", short=("-c",)
    )
    group: str | None = asked(TEXT, "Where two tables are compared: the group of both, such as north,f.")


@dataclass(frozen=True, kw_only=True)
class CombineRequest(Request):
    """What several records say together."""

    records: list[str] = asked(
        TEXTS, "The JSON files or pages of two or more releases; one may be - for standard input.", default=REQUIRED, positional=True
    )
    same_data: bool | None = asked(
        SWITCH, "Whether all releases are about the same records, or each about records of its own.", option="--same-data/--new-data"
    )
    prior: str | None = asked(TEXT, "Concentrations such as 1,1,1, or uniform or jeffreys; needed where the records' priors differ.")
    mass: float = asked(**_MASS)
    seed: int = asked(WHOLE, "For the draws that stand for sums that would be too long.", default="0", least=0)
    slow: bool = asked(SWITCH, "Compute it also where that takes minutes: many possible counts.")
