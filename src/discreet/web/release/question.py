"""What someone asks to be released: where the records are, how they are counted, what is public and what it is charged to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from discreet import limits
from discreet.data.categories import SPELLING_RULES
from discreet.errors import InvalidInputError
from discreet.model.cells import Groups, cells_of
from discreet.model.dirichlet import Dirichlet
from discreet.record.about import About
from discreet.record.table_json import json_can_hold
from discreet.requests.declarations import check_labels, parse_cells, parse_groups, parse_mapping, parse_other_groups, words_of
from discreet.requests.parsing import parse_list, parse_number, parse_prior
from discreet.requests.record_files import STANDARD_INPUT
from discreet.validation import Public, check_positive, check_public, shown
from discreet.web.forms import FieldReader, WrongError
from discreet.web.plan.question import MECHANISMS

FIELDS = (
    "file",
    "column",
    "categories",
    "other",
    "nulls",
    "strict",
    "privacy_id",
    "one_row_per_person",
    "by",
    "other_groups",
    "public",
    "epsilon",
    "prior",
    "mechanism",
    "impossible",
    "na_values",
    "mapped",
    "trim",
    "ignore_case",
    "encoding",
    "ledger",
    "dataset",
    "title",
    "variable",
    "source",
    "date",
    "note",
)
"""Those of the form; `upload` stands for `file` where the records were sent by the browser."""
_ABOUT_FIELDS = ("title", "variable", "source", "date", "note")


@dataclass(frozen=True)
class ReleaseQuestion:
    """Everything about a release that is public, and where the records are."""

    fields: Mapping[str, str]
    """As they were typed, without those that are empty."""
    column: str
    labels: list[str]
    prior: Dirichlet
    epsilon: Fraction
    mechanism: str
    public: Public
    groups: Groups | None
    impossible: list[tuple[str, ...]]
    other_groups: dict[str, str]
    mapping: dict[str, str]
    na_values: list[str]
    words: About

    def __getitem__(self, name: str) -> str:
        """What was typed into a field."""
        return self.fields.get(name, "")

    @property
    def dataset(self) -> str:
        return self["dataset"]

    @property
    def privacy_id(self) -> str | None:
        return self["privacy_id"] or None

    @property
    def one_row_per_person(self) -> bool:
        """Whether it is declared that every row is another person's."""
        return bool(self["one_row_per_person"])

    @property
    def strict(self) -> bool:
        """Whether others ask the question, so that no cell of the data may decide what they are answered."""
        return bool(self["strict"])

    @property
    def spelling(self) -> list[str]:
        """The rules by which answers and groups are compared."""
        return [rule for rule in SPELLING_RULES if self[rule.replace(" ", "_")]]

    @property
    def encoding(self) -> str:
        return self["encoding"] or "utf-8"


def read(fields: Mapping[str, str]) -> ReleaseQuestion:
    """The question of a form. Raises WrongError with what is to be said beside each field that is wrong."""
    given = {name: fields[name] for name in (*FIELDS, "upload") if fields.get(name)}
    reading = FieldReader(given)
    taken = reading.taken
    taken("file", lambda text: _file(text, given.get("upload", "")))
    column = taken("column", lambda text: _needed(text, "the column that holds the answers"))
    taken("one_row_per_person", lambda text: _one_row(text, given.get("privacy_id", "")))
    labels = taken("categories", _labels)
    strict = taken("strict", lambda text: bool(text))
    for name, kind in (("other", "undeclared"), ("nulls", "missing")):
        taken(name, lambda text, kind=kind: _home(text, kind, labels, needed=bool(strict)))  # type: ignore[misc]
    groups = taken("by", _groups)
    homes = taken("other_groups", lambda text: _other_groups(text, groups, known="by" not in reading.wrong, needed=bool(strict)))
    public = taken("public", lambda text: _public(text or "total", groups))
    epsilon = taken("epsilon", lambda text: check_positive(parse_number(_needed(text, "ε"), "ε"), "ε"))
    prior = None if labels is None else taken("prior", lambda text: parse_prior(text or "uniform", labels, "the prior"))
    mechanism = taken("mechanism", lambda text: _mechanism(text or MECHANISMS[0], groups))
    impossible = None if labels is None else taken("impossible", lambda text: _impossible(text, groups, labels))
    mapping = None if labels is None else taken("mapped", lambda text: parse_mapping(text.splitlines(), labels))
    na_values = taken("na_values", lambda text: parse_list(text, "the marks of missing answers"))
    taken("dataset", lambda text: _needed(text, "the ledger's name for these records"))
    words = None if column is None else _about(reading, given, column)
    if (
        reading.wrong
        or column is None
        or labels is None
        or homes is None
        or public is None
        or epsilon is None
        or prior is None
        or mechanism is None
        or impossible is None
        or mapping is None
        or na_values is None
        or words is None
    ):
        raise WrongError(reading.wrong)
    return ReleaseQuestion(given, column, labels, prior, epsilon, mechanism, public, groups, impossible, homes, mapping, na_values, words)


def _needed(text: str, what: str) -> str:
    if not text:
        raise InvalidInputError(f"{what} is needed")
    return text


def _file(path: str, upload: str) -> None:
    if bool(path) == bool(upload):
        raise InvalidInputError("give the path of a file, or choose one to send to this page: one of the two")
    if path == STANDARD_INPUT:
        raise InvalidInputError("standard input is for the command line: give the path of a file, or choose one")
    if "**" in path:
        raise InvalidInputError("** may go through all folders of a disk, and is for the command line: name the folder, as in data/*.csv")


def _one_row(text: str, privacy_id: str) -> None:
    if text and privacy_id:
        raise InvalidInputError("a column says which person a row is about: name the column, or declare that every row is another person’s")


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _labels(text: str) -> list[str]:
    lines = _lines(text)
    labels = lines if len(lines) > 1 else parse_list(lines[0], "the categories") if lines else []
    if len(labels) < 2:
        raise InvalidInputError("type at least two categories, one a line, or separated by commas")
    check_labels(labels, "the categories", text)
    Dirichlet.uniform(categories=labels)
    return labels


def _home(text: str, kind: str, labels: Sequence[str] | None, *, needed: bool) -> None:
    """Check where answers go that have no category; without such a place they are refused, which strict counting cannot."""
    if needed:
        _needed(text, f"where questions of others are answered, the category that takes {kind} answers")
    if text and labels is not None and text not in labels:
        raise InvalidInputError(f"{shown(text)!r} is not one of the categories: add it to them, or name one that is")


def _groups(text: str) -> Groups | None:
    lines = _lines(text)
    for line in lines:
        if line.partition("=")[2].startswith("@"):
            raise InvalidInputError("type or paste the groups themselves, as in region=north,south: no file is read for them here")
        if not all(line.partition("=")):
            raise InvalidInputError(f"write a column, = and its groups, as in region=north,south; got {shown(line)!r}")
    return parse_groups(lines, STANDARD_INPUT)


def _other_groups(text: str, groups: Groups | None, *, known: bool, needed: bool) -> dict[str, str]:
    found = parse_other_groups(_lines(text))
    if groups is None:
        if found and known:
            raise InvalidInputError("this is about groups, and none are declared: declare them, or leave it empty")
        return found
    for column, labels in zip(groups.columns, groups.labels, strict=True):
        if needed and column not in found:
            raise InvalidInputError(
                f"where questions of others are answered, say which of the groups of {shown(column)!r} takes those that are missing or not "
                f"declared, in a line {shown(column)}=GROUP; list a group of its own for them"
            )
        if column in found and found[column] not in labels:
            raise InvalidInputError(
                f"{shown(found[column])!r} is not one of the groups of {shown(column)!r}: list it there, or name another"
            )
    for column in found:
        if column not in groups.columns:
            raise InvalidInputError(f"no groups of {shown(column)!r} are declared: name a column of the groups above")
    return found


def _public(text: str, groups: Groups | None) -> Public:
    if text == "sizes":
        raise InvalidInputError(
            "sizes of groups are published by the command line alone: choose “How many there are” or “Nothing”, or use "
            "discreet release --public sizes"
        )
    return check_public(text, "what is public:", groups=groups is not None)


def _mechanism(text: str, groups: Groups | None) -> str:
    if text not in MECHANISMS:
        raise InvalidInputError(f"choose one of {', '.join(MECHANISMS)}; got {shown(text)!r}")
    if groups is not None and text != MECHANISMS[0]:
        raise InvalidInputError(f"tables are released by {MECHANISMS[0]}; {text} is for one variable: leave out the groups")
    return text


def _impossible(text: str, groups: Groups | None, labels: list[str]) -> list[tuple[str, ...]]:
    """The cells that cannot occur; a table whose record would not be JSON is refused as well."""
    cells = parse_cells(_lines(text))
    if groups is None:
        if cells:
            raise InvalidInputError("this is about groups, and none are declared: declare them, or leave it empty")
        return cells
    size = prod(cells_of(groups, tuple(labels), cells).shape)
    if not json_can_hold(groups, size):
        raise InvalidInputError(
            f"the page keeps records of up to {limits.RECORD_CELLS:,} cells without very long labels, and this table has {size:,}: "
            "discreet release --output TABLE.parquet takes it"
        )
    return cells


def _about(reading: FieldReader, given: Mapping[str, str], column: str) -> About | None:
    """The public words, each checked by itself, so that what is wrong is said beside it."""
    for name in _ABOUT_FIELDS:
        reading.taken(name, lambda text, name=name: About(**{name: text}) if text else None)  # type: ignore[misc]
    if any(name in reading.wrong for name in _ABOUT_FIELDS):
        return None
    title, variable, source, date, note = map(given.get, _ABOUT_FIELDS)
    return words_of(title, variable, source, date, note, column)
