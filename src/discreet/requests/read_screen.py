"""The questions of a reader about a record that is open on the page: each part of the screen is one."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet import limits
from discreet.errors import InvalidInputError
from discreet.requests.fields import REQUIRED, FieldContext, Kind, Request, Row, Slider, asked, changed
from discreet.requests.kinds import list_text, number_words
from discreet.requests.parsing import group_key, parse_number, parse_prior
from discreet.requests.records import RecordRequest, ShowRequest
from discreet.text import shown
from discreet.validation import category_index, spelling

if TYPE_CHECKING:
    from discreet.record.release import Release
    from discreet.validation import SharesOf

RELEASE = "release"
"""The key of the record that such a question is about, beside its fields."""
_LEVELS = Fraction(50), Fraction(999, 10)
"""Levels of intervals that someone may want, in per cent."""
_LEVEL_WANTED = f"The level must be a number from {number_words(_LEVELS[0])} to {number_words(_LEVELS[1])}, such as 90"
_SHARE_WANTED = "The share must be a number above 0 and below 100, such as 25"
SETTINGS_PART, CHOICE_PART, GROUPS_PART = "settings", "choice", "groups"
"""The parts of the screen's forms: how a record is read, what is asked about it, and what only a record with groups can be asked."""


# --- kinds of fields --------------------------------------------------------------------------------------------------


def _number(fits: Callable[[Fraction], bool], wrong: str) -> Kind:
    """A number that fits, or what is wrong."""

    def read(text: str, _: FieldContext) -> Fraction:
        try:
            value = parse_number(text, "number")
        except InvalidInputError:
            value = Fraction(-1)
        if not fits(value):
            raise InvalidInputError(f"{wrong}; got {shown(text)!r}")
        return value

    return Kind(read, number_words)


def _prior(text: str, reading: FieldContext) -> str:
    """A prior as a command takes it."""
    parse_prior(text, reading.other(RELEASE).prior.categories, reading.name)
    return text


def _chosen(text: str, listed: Sequence[Any], find: Callable[[str], int]) -> int:
    """A position in a list that was offered; of a list that is too long for that, a label is typed."""
    if not is_listed(len(listed)):
        return find(text)
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(len(listed))) and int(text) < len(listed)):
        raise InvalidInputError("Choose one of the list")
    return int(text)


def is_listed(number: int) -> bool:
    """Return whether so many categories or groups are listed to choose from; of more, one is named by its labels."""
    return number <= limits.OPENED_CHOICES


def _category(text: str, reading: FieldContext) -> Hashable:
    categories: tuple[Hashable, ...] = reading.other(RELEASE).prior.categories
    return categories[_chosen(text, categories, lambda label: category_index(categories, label))]


def _group(text: str, reading: FieldContext) -> int | None:
    """The position of a group; None where the record has no groups."""
    groups = reading.other(RELEASE).by
    return _chosen(text, groups, lambda labels: groups.index(group_key(labels, "The group"))) if groups.columns else None


@dataclass(frozen=True)
class Side:
    """One of two that are compared: a group, or groups that are put together over some columns, or a category of a record without any."""

    labels: tuple[Hashable, ...]
    over: tuple[str, ...] = ()


def sides(release: "Release") -> list[Side]:
    """Return what can be compared: all groups and, where they add up, those with each label of a column; or the categories."""
    groups = release.by
    if not groups.columns:
        return [Side((category,)) for category in release.prior.categories]
    found = [Side(groups.key(place)) for place in range(len(groups))] if is_listed(len(groups)) else []
    if len(groups.columns) < 2 or release.n is None or len(groups) > limits.GROUPS_CONVOLVED:
        return found
    together = zip(groups.columns, groups.labels, strict=True)
    return found + [
        Side((label,), tuple(other for other in groups.columns if other != column)) for column, labels in together for label in labels
    ]


def _compared(text: str, reading: FieldContext) -> Side:
    """One of the two that are compared; the second one is of the kind of the first."""
    release = reading.other(RELEASE)
    every, groups = sides(release), release.by
    if is_listed(len(every)) and (not groups.columns or is_listed(len(groups))):
        found = every[_chosen(text, every, lambda _: 0)]
    else:
        group = _group(text, reading)
        found = Side((_category(text, reading),) if group is None else groups.key(group))
    first: Side | None = reading.values.get("first")
    if first == found:
        raise InvalidInputError(f"Choose two different {'groups' if groups.columns else 'categories'}")
    if first is not None and first.over != found.over:
        raise InvalidInputError("Choose two single groups, or two labels of one column")
    return found


def _in_groups(text: str, reading: FieldContext) -> Hashable:
    """The category that is compared in two groups; a record without groups has none."""
    return _category(text, reading) if reading.other(RELEASE).by.columns else None


def _column(text: str, reading: FieldContext) -> tuple[str, ...]:
    columns = reading.other(RELEASE).by.columns
    return (columns[_chosen(text, columns, columns.index)],)


def label_code(label: Hashable) -> str:
    """A label in Python, as the text that it is written as."""
    return repr(spelling(label))


def group_code(labels: Sequence[Hashable]) -> str:
    """A group in Python: its label, or a tuple of them."""
    return label_code(labels[0]) if len(labels) == 1 else f"({', '.join(map(label_code, labels))})"


_CATEGORY_KIND = Kind(_category, spelling, label_code)
_CATEGORY_WORD_KIND = Kind(lambda text, reading: spelling(_category(text, reading)))
_COMPARED_KIND = Kind(_compared, lambda side: list_text(side.labels), lambda side: group_code(side.labels))


# --- questions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ReadRequest(Request):
    """A question that reads a record: the settings that all such questions share."""

    level: Fraction = asked(
        _number(lambda level: _LEVELS[0] <= level <= _LEVELS[1], _LEVEL_WANTED),
        form=Row(
            SETTINGS_PART,
            "Level, in %",
            value="95",
            numeric="decimal",
            slider=Slider("50.0", "99.9", "0.1", "Level of the intervals, in per cent"),
        ),
        default=REQUIRED,
        missing=f"{_LEVEL_WANTED}; got ''",
    )
    about: "SharesOf" = changed(RecordRequest, "about", help="")
    prior: str | None = asked(
        Kind(_prior),
        form=Row(
            SETTINGS_PART,
            "Your own prior",
            "Empty: the record’s. Or uniform, jeffreys, or a number each.",
        ),
    )

    @property
    def mass(self) -> float:
        return float(self.level / 100)

    def of_record(self, name: str) -> RecordRequest:
        """The question of the commands that read the record in a file of this name in the same way."""
        place = f"./{name}" if name.startswith(("-", "~")) else name
        return RecordRequest.asking(record=place, mass=self.mass, prior=self.prior, about=self.about)


@dataclass(frozen=True, kw_only=True)
class ReadShares(ReadRequest):
    """A question for all shares of a record, or for those of one group."""

    group: int | None = asked(Kind(_group), form=Row(GROUPS_PART, "Show"))
    order: str = asked(
        Kind(lambda text, _: text),
        form=Row(GROUPS_PART, "Groups stand", choices={"declared": "In their own order", "share": "By their share, the largest first"}),
        default="declared",
    )


@dataclass(frozen=True, kw_only=True)
class ReadContrast(ReadRequest):
    """Two groups in one category, or two categories of a record without groups."""

    first: Side = asked(_COMPARED_KIND, form=Row(CHOICE_PART, "Compare"), default="")
    second: Side = asked(_COMPARED_KIND, form=Row(CHOICE_PART, "Compared with"), default="")
    category: Hashable = asked(Kind(_in_groups, spelling, label_code), form=Row(GROUPS_PART, "Category"), default="")


@dataclass(frozen=True, kw_only=True)
class ReadOther(ReadRequest):
    """One category in this record and in another one that is open."""

    against: str = asked(Kind(lambda text, _: text), form=Row(CHOICE_PART, "This record and"), default=REQUIRED)
    shared: Hashable = asked(_CATEGORY_KIND, form=Row(CHOICE_PART, "Category"), default="")
    inside: int | None = asked(Kind(_group), form=Row(GROUPS_PART, "Group of both"), default="")


@dataclass(frozen=True, kw_only=True)
class ReadThreshold(ReadRequest):
    """A question whether a share is above a threshold."""

    of: Hashable = asked(_CATEGORY_KIND, form=Row(CHOICE_PART, "Category"), default="")
    within: int | None = asked(Kind(_group), form=Row(GROUPS_PART, "Group"), default="")
    threshold: Fraction = asked(
        _number(lambda share: 0 < share < 100, _SHARE_WANTED),
        form=Row(CHOICE_PART, "Is its share above, in %", value="50", numeric="decimal"),
        default=REQUIRED,
        missing=f"{_SHARE_WANTED}; got ''",
    )


@dataclass(frozen=True, kw_only=True)
class ReadMargins(ReadRequest):
    """A question about all groups together, or about those with each label of a column."""

    over: tuple[str, ...] | None = asked(Kind(_column), form=Row(CHOICE_PART, "Put together"))


@dataclass(frozen=True, kw_only=True)
class ReadTable(ReadRequest):
    """The summary of a record as a file for other programs."""

    layout: str = changed(
        ShowRequest,
        "layout",
        help="",
        form=Row(GROUPS_PART, "A row for", choices={"long": "Each group and category", "cross": "Each group: a cross table"}),
    )
    only: str | None = changed(ShowRequest, "only", help="", kind=_CATEGORY_WORD_KIND, form=Row(CHOICE_PART, "Categories"))

    def shown(self, name: str, output: Path) -> ShowRequest:
        """The question of the command that writes the same of the record in a file of this name."""
        return ShowRequest.asking(**vars(self.of_record(name)), output=output, layout=self.layout, only=self.only)
