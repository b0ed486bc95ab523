"""What a reader asked about a record, from the fields of the page."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet import limits
from discreet.errors import InvalidInputError
from discreet.present.how_read import HowRead
from discreet.requests.fields import FieldContext, fields_of
from discreet.requests.kinds import NAMED_PRIORS, number_words, prior_code
from discreet.requests.parsing import group_key, parse_list, parse_reader_prior
from discreet.requests.records import RecordRequest
from discreet.validation import category_index, exact, shown
from discreet.web.forms import FieldError, field
from discreet.web.opened_records import Record

if TYPE_CHECKING:
    from discreet.model.cells import Groups
    from discreet.model.dirichlet import Dirichlet
    from discreet.validation import SharesOf

LEVEL, LOWEST, HIGHEST = "95", Fraction(50), Fraction(999, 10)
"""Of intervals, in per cent: the one that is shown first, and the ends of the slider."""


@dataclass(frozen=True)
class ReadQuestion:
    """A record, the level of its intervals and the prior to read it with."""

    key: str
    """The name under which the record is open."""
    record: Record
    level: Fraction
    """In per cent."""
    prior: str | None
    """The reader's own prior as a command takes it; None for the record's."""
    about: "SharesOf" = "population"

    @property
    def mass(self) -> float:
        return float(self.level / 100)

    @property
    def request(self) -> RecordRequest:
        """The question of the commands that read the record in the same way."""
        name = self.record.name
        place = f"./{name}" if name.startswith("-") else name
        return RecordRequest(record=place, mass=self.mass, slow=False, prior=self.prior, about=self.about)

    @property
    def how(self) -> HowRead:
        """How the record is read."""
        return HowRead(self.mass, False, self.reader, self.about)

    @property
    def reader(self) -> "Dirichlet | None":
        """The reader's own prior, if there is one."""
        return parse_reader_prior(self.prior, self.record.release)

    @property
    def reader_code(self) -> str:
        """The reader's own prior in Python; nothing for the record's."""
        return "" if self.reader is None else prior_code(self.reader, labels=False)

    @property
    def groups(self) -> "Groups":
        return self.record.release.by


def question(key: str, record: Record, given: Mapping[str, str]) -> ReadQuestion:
    """The settings of the page; FieldError where one of them cannot be taken."""
    declared = fields_of(RecordRequest)["about"]
    with field("about"):
        about = declared.read(given.get("about"), FieldContext("form", declared.called("form"), {}))
    return ReadQuestion(key, record, _level(given.get("level", LEVEL)), _prior(record, given), about)


def _level(text: str) -> Fraction:
    try:
        level = exact(text, "level")
    except InvalidInputError:
        level = Fraction(0)
    if not LOWEST <= level <= HIGHEST:
        raise FieldError(
            "level", f"The level must be a number from {number_words(LOWEST)} to {number_words(HIGHEST)}, such as 90; got {shown(text)!r}"
        )
    return level


def _prior(record: Record, given: Mapping[str, str]) -> str | None:
    chosen = given.get("prior", "record")
    if chosen in NAMED_PRIORS:
        return chosen
    if chosen != "own":
        return None
    from discreet.model.dirichlet import Dirichlet

    text, categories = given.get("concentrations", ""), record.release.prior.categories
    many = f"{len(categories):,} numbers above 0, one for each category in its order, with commas between them"
    try:
        parts = parse_list(text, "The prior")
        if len(parts) != len(categories):
            raise FieldError("concentrations", f"Your prior needs {many}; there are {len(parts):,}")
        Dirichlet(parts, categories)
    except InvalidInputError:
        raise FieldError("concentrations", f"Your prior needs {many}, each from 1e-100 to 1e100; got {shown(text)!r}") from None
    return ",".join(parts)


# --- categories and groups --------------------------------------------------------------------------------------------


def is_listed(number: int) -> bool:
    """Whether so many categories or groups are listed to choose from; of more, one is named by its labels."""
    return number <= limits.OPENED_CHOICES


def chosen_category(asked: ReadQuestion, given: Mapping[str, str], name: str) -> Hashable:
    """The category that a field names."""
    categories = asked.record.release.prior.categories
    if is_listed(len(categories)):
        return categories[_position(given, name, len(categories))]
    with field(name):
        return categories[category_index(categories, given.get(name, ""))]


def chosen_group(asked: ReadQuestion, given: Mapping[str, str], name: str) -> int:
    """The position of the group that a field names."""
    groups = asked.groups
    if not groups.columns:
        raise FieldError(name, "This record has no groups")
    if is_listed(len(groups)):
        return _position(given, name, len(groups))
    with field(name):
        return groups.index(group_key(given.get(name, ""), "The group"))


def _position(given: Mapping[str, str], name: str, number: int) -> int:
    text = given.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(number)) and int(text) < number):
        raise FieldError(name, "Choose one of the list")
    return int(text)


def chosen_threshold(given: Mapping[str, str], name: str) -> Fraction:
    """A share, in per cent."""
    text = given.get(name, "")
    try:
        share = exact(text, "the share")
    except InvalidInputError:
        share = Fraction(-1)
    if not 0 < share < 100:
        raise FieldError(name, f"The share must be a number above 0 and below 100, such as 25; got {shown(text)!r}")
    return share
