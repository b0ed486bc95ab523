"""Public words of a record about itself: what was asked, of whom and when, and how the records were counted.

All of it is given by whoever releases, before anything is drawn. None of it is computed from the data, and no time is taken from a clock.
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from discreet import limits
from discreet.errors import InvalidInputError
from discreet.model.periods import named
from discreet.text import is_plain, shown
from discreet.validation import spelling

if TYPE_CHECKING:
    from discreet.model.cells import Groups
    from discreet.model.periods import PeriodRange
    from discreet.record.guarantee import Guarantee

LONG_NUMBER = 10**limits.NUMBER_DIGITS
"""The least whole number with more digits than a record holds."""
SPELLING_RULES = {
    "trim": "blanks around answers and groups left out",
    "ignore case": "capital and small letters as the same",
    "ignore accents": "letters with and without accents as the same",
}
"""The rules by which texts may be compared, in the order in which a record names them, with its words for each."""
PUBLIC_WORDS = {"title": "Title", "variable": "Variable", "source": "Source", "date": "Date", "note": "Note"}
"""The words that a record may say about itself, and how each of them is headed."""
TEXTS = tuple(name for name in PUBLIC_WORDS if name != "date")
"""The fields that are free text."""


@dataclass(frozen=True)
class CountingRule:
    """The question put to `discreet.count`: columns, and where answers went that have no category or group of their own.

    Labels are texts, whole numbers or truth values. Columns are named as in the data.
    """

    column: str
    """The column that holds the answers."""
    privacy_id: str | None = None
    """The column that says whose a row is; every person then counts once. None if there is none."""
    weight: str | None = None
    """The column that says how many records a row stands for."""
    nulls: Hashable = None
    """The category that takes missing answers; None if there were none."""
    other: Hashable = None
    """The category that takes undeclared answers; None if there were none."""
    na_values: tuple[Hashable, ...] = ()
    """Values that stand for a missing answer, beside nulls."""
    mapping: tuple[tuple[Hashable, Hashable], ...] = ()
    """Other ways to write an answer, each with the category that it stands for."""
    other_groups: tuple[tuple[str, Hashable], ...] = ()
    """Columns of groups, each with the group that takes undeclared and missing ones."""
    strict: bool = False
    """Whether `other` also took what could not be read, and `nulls` rows without a `privacy_id`."""
    one_row_per_person: bool = False
    """Whether it was declared that every row is another person's. Nothing checks that."""
    spelling: tuple[str, ...] = ()
    """Rules by which texts were compared: "trim", without the blanks around them, "ignore case" and "ignore accents"."""
    corrections: bool = False
    """Whether it was declared before anyone looked that the curator may correct spellings; whether any was, and which, is private."""
    dated: tuple[str, str] | None = None
    """The column of dates by which rows of other periods were left out, and the periods that stayed; None if no row was."""

    @property
    def unit(self) -> Literal["record", "person"]:
        """The unit that is counted, and that a release of the counts protects."""
        return "person" if self.privacy_id is not None or self.one_row_per_person else "record"

    def check(self, categories: tuple[Hashable, ...], groups: "Groups") -> None:
        """Refuse what a record cannot hold, and categories and groups that are not declared: `groups` are a table's."""
        self.check_plain()
        declared = set(map(spelling, categories))
        named = [self.nulls, self.other, *(category for _, category in self.mapping)]
        if any(category is not None and spelling(category) not in declared for category in named):
            raise InvalidInputError("a counting rule must name declared categories; it names another")
        known = dict(zip(groups.columns, groups.labels, strict=True))
        if len({column for column, _ in self.other_groups}) < len(self.other_groups):
            raise InvalidInputError("a counting rule must have one other group for a column; it has two for one")
        for column, group in self.other_groups:
            if spelling(group) not in set(map(spelling, known.get(column, ()))):
                raise InvalidInputError("the other groups of a counting rule must be declared groups, by their columns; one is not")

    def check_plain(self) -> None:
        """Refuse what could be drawn and charged for, and not be written or read back."""
        for name in ("strict", "one_row_per_person", "corrections"):
            if type(getattr(self, name)) is not bool:
                raise InvalidInputError(f"{name} of a counting rule must be True or False")
        for name in ("na_values", "mapping", "other_groups", "spelling"):
            if not isinstance(getattr(self, name), tuple):
                raise InvalidInputError(f"{name} of a counting rule must be a tuple, not {type(getattr(self, name)).__name__}")
        if self.spelling != tuple(rule for rule in SPELLING_RULES if rule in self.spelling):
            raise InvalidInputError(f"spelling of a counting rule must be some of {', '.join(map(repr, SPELLING_RULES))}, in this order")
        dated = () if self.dated is None else (self.dated,)
        if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in (*self.mapping, *self.other_groups, *dated)):
            raise InvalidInputError("dated of a counting rule must be a pair, and mapping and other_groups tuples of pairs")
        named = (name for name in (self.privacy_id, self.weight) if name is not None)
        columns = (self.column, *named, *(column for column, _ in (*dated, *self.other_groups)))
        if not all(isinstance(name, str) and 0 < len(name) <= limits.LABEL_CHARACTERS for name in columns):
            raise InvalidInputError(f"a counting rule must name columns by texts of 1 to {limits.LABEL_CHARACTERS:,} characters")
        values = (*self.na_values, *(label for pair in self.mapping for label in pair))
        labels = (*values, *(label for _, label in self.other_groups), self.nulls, self.other)
        if not all(isinstance(label, (str, int)) for label in values) or any(isinstance(label, tuple) for label in labels):
            raise InvalidInputError("what a counting rule maps must be text, a whole number or a truth value; one is not")
        if any(isinstance(label, int) and abs(label) >= LONG_NUMBER for label in labels):
            raise InvalidInputError(f"whole numbers in a counting rule must have at most {limits.NUMBER_DIGITS:,} digits")
        if sum((self.privacy_id is not None, self.weight is not None, self.one_row_per_person)) > 1:
            raise InvalidInputError("a counting rule has a privacy_id, a weight or one row per person, and not two of them")
        if len(values) > 2 * limits.RULE_VALUES or sum(len(spelling(label)) for label in values) > limits.RULE_CHARACTERS:
            most = f"{limits.RULE_VALUES:,} values of {limits.RULE_CHARACTERS:,} characters in all"
            raise InvalidInputError(
                f"mapping and na_values must have at most {most}, because a record says how they were counted; prepare the data first",
                in_shell=f"--map and --na-values take at most {most}, because a record says how they were counted; prepare the data first",
            )


@dataclass(frozen=True)
class About:
    """Public words about a release. Every field may be left out; a text is one line of at most 1,000 characters.

    >>> About(title="Smoking in Northland", source="Health survey, 1,500 adults", date="2024-05")
    About(title='Smoking in Northland', source='Health survey, 1,500 adults', date='2024-05')
    """

    title: str | None = None
    """The subject of the release, as a heading."""
    variable: str | None = None
    """The question that was asked, or the quantity measured."""
    source: str | None = None
    """The origin of the data: survey, register, institution."""
    date: str | None = None
    """The time when the data were collected, as a year, a month or a day, or two of them: "2024", "2024-05", "2024-05-31", "2023/2024"."""
    note: str | None = None
    """Anything else that readers must know."""
    counting: str | CountingRule | None = None
    """The rule by which records were counted. `release` takes it from counts that `discreet.count` made; for others it is given in words.
    """
    software: str | None = None
    """The name and version of the software that drew the release: `release` writes it."""

    def __post_init__(self) -> None:
        for name in (*TEXTS, "software"):
            check_text(getattr(self, name), name)
        if self.date is not None:
            _check_date(self.date)
        if not isinstance(self.counting, CountingRule):
            check_text(self.counting, "counting")

    def completed(self, counts: Any, software: str) -> "About":
        """Return these words with the rule by which the counts were made, if they know it, and the software that draws."""
        rule = getattr(counts, "rule", None)
        if not isinstance(rule, CountingRule):
            return replace(self, software=software)
        if self.counting not in (None, rule):
            raise InvalidInputError("counting is known from the counts, which discreet.count made: leave it out of about")
        return replace(self, counting=rule, software=software)

    def check_fits(self, categories: tuple[Hashable, ...], groups: "Groups", guarantee: "Guarantee") -> None:
        """Refuse a counting rule that is about other categories, groups, units or periods than a record's."""
        if not isinstance(self.counting, CountingRule):
            return
        self.counting.check(categories, groups)
        check_rule_period(self.counting, guarantee.period)
        if self.counting.unit != guarantee.unit:
            raise InvalidInputError(
                "a counting rule with a privacy_id or one row per person counts persons, and any other records; the unit is "
                f"{guarantee.unit!r}"
            )

    def __repr__(self) -> str:
        given = ((name, getattr(self, name)) for name in self.__dataclass_fields__)
        return f"About({', '.join(f'{name}={value!r}' for name, value in given if value is not None)})"


def check_rule_period(rule: Any, period: "PeriodRange | None") -> None:
    """Refuse a counting rule that kept the rows of other periods, or that joins what someone has in several by their id."""
    if not isinstance(rule, CountingRule):
        return
    if rule.dated is not None and rule.dated[1] != str(period):
        raise InvalidInputError(
            f"these counts are of {shown(rule.dated[1])}, and the release is about {period or 'no period'}: name theirs"
        )
    if rule.privacy_id is not None and period is not None and len(period) > 1:
        fault = f"someone counts once in {period}, whichever of these {period.every}s their rows are of, which is a rule across periods"
        raise InvalidInputError(
            f"{fault}: release each {period.every} by itself",
            in_shell=f"{fault}: release each {period.every} by itself, or leave out --privacy-id if every row is another person's",
        )


def check_counts_period(rule: Any, period: "PeriodRange | None") -> None:
    """Refuse counts of other periods than a release is about, and counts of several that do not say how they were made."""
    check_rule_period(rule, period)
    if period is not None and len(period) > 1 and not isinstance(rule, CountingRule):
        raise InvalidInputError(
            f"counts of several {period.every}s must come from discreet.count, with one_row_per_person=True: others do not say whether "
            f"someone counts once in all of {period}, which is a rule across periods; release each {period.every} by itself"
        )


def check_about(about: Any) -> About | None:
    """Check what a caller gave as `about`."""
    if about is None or isinstance(about, About):
        return about
    raise InvalidInputError(f"about must be an About, such as dc.About(title='Smoking in 2024'), not {type(about).__name__}")


def check_text(value: Any, name: str) -> None:
    """Refuse what is not one line of plain text: what turns the direction of writing, or ends a line, could repaint the words beside it."""
    if value is None:
        return
    fault = f"{name} must be one line of text, of 1 to {limits.ABOUT_CHARACTERS:,} characters"
    if not isinstance(value, str):
        raise InvalidInputError(f"{fault}, not {type(value).__name__}")
    if not value.strip() or len(value) > limits.ABOUT_CHARACTERS:
        raise InvalidInputError(f"{fault}; it has {len(value):,}", in_shell=f"--{fault}; it has {len(value):,}")
    if not all(map(is_plain, value)):
        fault = f"{name} has a control character, a line break or a mark that changes the direction of writing: leave it out"
        raise InvalidInputError(fault, in_shell=f"--{fault}")


def _check_date(value: Any) -> None:
    fault = f"date must be a year, a month or a day, such as 2024, 2024-05 or 2024-05-31, or two with a / between; got {shown(value)!r}"
    parts = value.split("/") if isinstance(value, str) else []
    days = [one[1] for one in map(named, parts) if one is not None and one[0] != "quarter"]
    if not 1 <= len(parts) <= 2 or len(days) != len(parts) or days != sorted(days):
        raise InvalidInputError(fault, in_shell=f"--{fault}")
