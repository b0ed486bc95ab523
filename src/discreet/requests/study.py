"""A study: several tables of one dataset with one ε for all, declared in a TOML file that is kept and run again."""

import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet import limits
from discreet.data.categories import Bands
from discreet.data.corrections import Corrections, read_corrections, read_toml
from discreet.data.question import CountingQuestion, question_of
from discreet.errors import DiscreetError, InvalidInputError
from discreet.ledger.names import look_alike
from discreet.model.cells import Groups
from discreet.record.about import About
from discreet.record.table_json import json_can_hold
from discreet.requests.parsing import parse_prior
from discreet.text import plain
from discreet.validation import Public, check_moderate, exact, shown

if TYPE_CHECKING:
    from os import PathLike

    from discreet.ledger.ledger import Ledger
    from discreet.record.release import Release
    from discreet.requests.checks import DataCheck
    from discreet.requests.study_answers import StudyPlan

MANIFEST = "study"
"""The name of the file, in a published folder, that lists the tables; no table is called so."""
_NAME = re.compile(r"[\w-]{1,60}")
_NORMALIZE = {"spaces": "trim", "case": "ignore case", "accents": "ignore accents"}
"""The rules of a study, by the names that counting has for them."""


@dataclass(frozen=True)
class StudyTable:
    """One table of a study: a column, its categories, perhaps groups, and its part of ε."""

    name: str
    """How the table is called, and its file."""
    column: str
    categories: tuple[Hashable, ...]
    """The declared categories, or the labels of bands."""
    by: Mapping[str, tuple[Hashable, ...]] = field(default_factory=dict)
    """The declared groups of each column; none for a table of one variable."""
    weight: Fraction = Fraction(1)
    """Its part of ε, beside those of the other tables."""
    counting: Mapping[str, Any] = field(default_factory=dict)
    """Whatever else `discreet.count` is told: nulls, other, na_values, other_groups, impossible."""
    prior: str = "uniform"
    variable: str | None = None
    """What was asked, in words; the column where nothing else is said."""

    @property
    def groups(self) -> Groups:
        """The declared groups, as a mechanism takes them."""
        return Groups(tuple(self.by), tuple(tuple(labels) for labels in self.by.values()))


@dataclass(frozen=True)
class Study:
    """Several tables of one dataset, released for one ε and charged at once.

    `Study.load` reads the TOML file; docs/howto/study.md walks through one.
    """

    tables: tuple[StudyTable, ...]
    epsilon: Fraction
    """For all tables together."""
    source: str
    """The file of the data; a relative one is found from the folder of the study."""
    title: str | None = None
    dataset: str | None = None
    """The ledger's name for these records."""
    id: str | None = None
    """The column that says whose a row is."""
    one_row_per_person: bool = False
    public: Public = "total"
    normalize: tuple[str, ...] = ()
    """Public rules by which texts are compared: "spaces", "case" and "accents"."""
    corrections: str | None = None
    """The file of the curator's corrections, if they are allowed. What is in it is private."""
    strict: bool = False
    encoding: str = "utf-8"
    date: str | None = None
    note: str | None = None
    folder: Path = field(default=Path(), compare=False, repr=False)
    """From where relative paths are found."""

    def __post_init__(self) -> None:
        if not self.tables:
            raise InvalidInputError('a study needs at least one table, such as [tables.smoking] with column = "smoking"')
        for number, table in enumerate(self.tables):
            alike = next((other for other in self.tables[:number] if look_alike(table.name, other.name)), None)
            if alike is not None:
                raise InvalidInputError(f"two tables are called alike, {table.name!r} and {alike.name!r}: give one another name")
        if self.strict and self.public == "sizes":
            raise InvalidInputError("strict and public = 'sizes' do not go together: an unreadable line would move a published size")
        for table in self.tables:
            with about_table(table.name):
                _check_table(self, table)

    @staticmethod
    def load(path: "str | PathLike[str]") -> "Study":
        """The study that a TOML file declares. An `InvalidInputError` says in one line what is wrong with it."""
        place = Path(path).expanduser()
        return parsed(read_toml(place, "the study"), place.absolute().parent)

    @property
    def epsilons(self) -> dict[str, Fraction]:
        """Each table's part of ε, exactly: they add up to ε."""
        whole = sum((table.weight for table in self.tables), Fraction(0))
        return {table.name: self.epsilon * table.weight / whole for table in self.tables}

    @property
    def path(self) -> str:
        """Where the data are."""
        return _from(self.folder, self.source)

    def published(self, table: StudyTable) -> Public:
        """What is public about a table: sizes only where it has groups."""
        return "total" if self.public == "sizes" and not table.by else self.public

    def words(self, table: StudyTable) -> About:
        """What the record of a table says about it."""
        return About(self.title, table.variable or plain(shown(table.column)), None, self.date, self.note)

    def questions(self, corrections: Corrections | None = None) -> list[CountingQuestion]:
        """What is counted for each table, with a curator's corrections where they are allowed."""
        asked = map(self.question, self.tables)
        return [question if self.corrections is None else question.corrected(corrections or {}) for question in asked]

    def question(self, table: StudyTable) -> CountingQuestion:
        """What is counted for a table, without corrections."""
        return question_of(
            table.column,
            table.categories,
            self.id,
            strict=self.strict,
            one_row_per_person=self.one_row_per_person,
            spelling=[_NORMALIZE[rule] for rule in self.normalize],
            by=table.by or None,
            **table.counting,
        )

    def read_corrections(self, path: "str | PathLike[str] | None" = None) -> Corrections:
        """The curator's corrections, checked: for each column, spellings and what each stands for. A file that is not there has none."""
        if self.corrections is None:
            if path is not None:
                raise InvalidInputError(
                    'the study does not allow corrections: declare corrections = "corrections.toml" in it before you look'
                )
            return {}
        place = Path(_from(self.folder, self.corrections)) if path is None else Path(path).expanduser()
        if path is None and not place.exists():
            return {}
        return read_corrections(place, [pair for question in self.questions() for pair in question.coded])

    def check(self, source: Any = None, *, corrections: "str | PathLike[str] | None" = None) -> "DataCheck":
        """What the curator should know before a release: what is not declared, what is missing, and what would be refused. Private."""
        from discreet.requests.study_release import check

        return check(self, source, corrections)

    def plan(self, n: int | None = None) -> "StudyPlan":
        """How wide the intervals of every table will be, and another split of ε. Public: no data are looked at."""
        from discreet.requests.study_plan import plan

        return plan(self, n)

    def release(
        self,
        ledger: "Ledger | str | PathLike[str] | None",
        folder: "str | PathLike[str]",
        *,
        source: Any = None,
        corrections: "str | PathLike[str] | None" = None,
    ) -> "dict[str, Release]":
        """Draw all tables, charge them as one line of the ledger, and write a record for each into a new folder; all or nothing.

        The same study and folder are charged and drawn once: where a process ended in between, the same call ends what it began.
        `source` is a table in place of the study's file.
        """
        from discreet.requests.study_release import release

        return release(self, ledger, folder, source=source, corrections=corrections)


@contextmanager
def about_table(name: str) -> Iterator[None]:
    """Say in an error which table it is about."""
    try:
        yield
    except DiscreetError as error:
        said = f"table {name!r}: {error}"
        kind = type(error)
    else:
        return
    raise kind(said)


def _check_table(study: Study, table: StudyTable) -> None:
    if not table.weight:
        raise InvalidInputError("its part of epsilon is 0, so that it could not be released; give it a weight above 0, or leave it out")
    check_moderate(study.epsilons[table.name], "its part of epsilon")
    parse_prior(table.prior, table.categories, "prior")
    study.words(table)
    study.question(table)
    size = len(table.categories) * len(table.groups)
    if table.by and not json_can_hold(table.groups, size):
        raise InvalidInputError(
            f"it has {size:,} cells or very long labels, and a record of a study has up to {limits.RECORD_CELLS:,} cells: release it "
            "alone, as Parquet"
        )


# --- from TOML --------------------------------------------------------------------------------------------------------


def parsed(content: Mapping[str, Any], folder: Path) -> Study:
    """The study that the content of a TOML file declares."""
    _check_keys(content, ("study", "tables"), "the file")
    head, tables = content.get("study"), content.get("tables", {})
    if not isinstance(head, dict):
        raise InvalidInputError("the study must have a part [study] with its source and epsilon")
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise InvalidInputError("tables must be declared as [tables.NAME], each with its column")
    _check_keys(head, _STUDY_KEYS, "[study]")
    for name in ("source", "epsilon"):
        if name not in head:
            raise InvalidInputError(f"[study] has no {name}: {_STUDY_KEYS[name]}")
    values = {name: _typed(head[name], name, "[study]") for name in head if name not in ("rows", "epsilon")}
    if "rows" in head:
        if head["rows"] != "one per person":
            raise InvalidInputError(f"rows must be 'one per person', or be left out; got {shown(head['rows'])!r}")
        if "id" in head:
            raise InvalidInputError("[study] has id and rows: an id says whose a row is, so leave out one of the two")
        values["one_row_per_person"] = True
    if values.get("public", "total") not in ("sizes", "total", "nothing"):
        raise InvalidInputError(f"public must be 'sizes', 'total' or 'nothing', got {shown(values['public'])!r}")
    for rule in values.get("normalize", ()):
        if rule not in _NORMALIZE:
            raise InvalidInputError(f"normalize must be a list of some of {', '.join(map(repr, _NORMALIZE))}, got {shown(rule)!r}")
    epsilon = check_moderate(head["epsilon"], "epsilon")
    return Study(tuple(_table(name, table) for name, table in tables.items()), epsilon, folder=folder, **values)


def _table(name: str, given: Mapping[str, Any]) -> StudyTable:
    if not _NAME.fullmatch(name) or name.casefold() == MANIFEST:
        raise InvalidInputError(
            f"a table must be called by letters, digits, _ and -, at most 60, because its file is, and not {MANIFEST!r}; "
            f"got {shown(name)!r}"
        )
    with about_table(name):
        _check_keys(given, _TABLE_KEYS, "it")
        values = {key: _typed(value, key, "it") for key, value in given.items() if key not in ("weight", "bands", "by", "categories")}
        if "column" not in values:
            raise InvalidInputError('it has no column: say which, as in column = "smoking"')
        if "missing" in given and "bands" not in given:
            raise InvalidInputError("missing is the category of missing numbers, for bands: nulls names one of the categories")
        if ("categories" in given) == ("bands" in given):
            raise InvalidInputError("it must have either categories or bands, such as categories = ['yes', 'no'] or bands = [0, 1, 3]")
        weight = exact(given.get("weight", 1), "weight")
        if weight < 0:
            raise InvalidInputError(f"weight must not be negative, got {shown(given['weight'])}")
        by = given.get("by", {})
        if not isinstance(by, dict):
            raise InvalidInputError("by must list the groups of each column, as in by.age = ['18-34', '35+']")
        counting = {key: values.pop(key) for key in ("nulls", "other", "na_values", "other_groups", "impossible") if key in values}
        return StudyTable(
            name,
            categories=Bands(given["bands"], values.pop("missing", None))
            if "bands" in given
            else _labels(given["categories"], "categories"),
            by={column: _groups(column, labels) for column, labels in by.items()},
            weight=weight,
            counting=counting | ({"impossible": [tuple(cell) for cell in counting["impossible"]]} if "impossible" in counting else {}),
            **values,
        )


def _groups(column: str, given: Any) -> tuple[Hashable, ...]:
    if isinstance(given, dict):
        _check_keys(given, ("bands", "missing"), f"by.{shown(column)}")
        return Bands(given.get("bands", ()), given.get("missing"))
    return _labels(given, f"by.{shown(column)}")


def _labels(given: Any, name: str) -> tuple[Hashable, ...]:
    if not isinstance(given, list) or not all(isinstance(label, (str, int)) for label in given):
        raise InvalidInputError(f"{name} must be a list of texts or whole numbers, such as ['low', 'mid', 'high']")
    return tuple(given)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _is_label(value: Any) -> bool:
    return isinstance(value, (str, int))


_KEY_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "normalize": (_is_texts, "a list of texts"),
    "strict": (lambda value: isinstance(value, bool), "true or false"),
    "nulls": (_is_label, "a declared category"),
    "other": (_is_label, "a declared category"),
    "na_values": (lambda value: isinstance(value, list) and all(map(_is_label, value)), "a list of texts or whole numbers"),
    "other_groups": (lambda value: isinstance(value, dict) and all(map(_is_label, value.values())), "a group for each of its columns"),
    "impossible": (lambda value: isinstance(value, list) and all(isinstance(cell, list) for cell in value), "a list of cells"),
}
"""What the values of keys are that are no text, and the same in words."""


def _typed(value: Any, name: str, where: str) -> Any:
    """A value of TOML, if it is of the kind that its key wants."""
    fits, kind = _KEY_KINDS.get(name, (lambda value: isinstance(value, str) and bool(value), "text"))
    if not fits(value):
        raise InvalidInputError(f"{name} of {where} must be {kind}; got {shown(value)!r}")
    return tuple(value) if name == "normalize" else value


_STUDY_KEYS = {
    "source": 'name the file of the data, as in source = "survey.csv"',
    "epsilon": "say how much all tables may give away together, as in epsilon = 1.0",
    **dict.fromkeys(("title", "dataset", "id", "rows", "public", "normalize", "corrections", "strict", "encoding", "date", "note"), ""),
}
"""The keys of [study], and what to do where one is missing that must be there."""
_TABLE_KEYS = (
    *(
        "column",
        "categories",
        "bands",
        "missing",
        "by",
        "weight",
        "nulls",
        "other",
        "na_values",
        "other_groups",
        "impossible",
        "prior",
        "variable",
    ),
)


def _check_keys(given: Mapping[str, Any], known: Any, where: str) -> None:
    for key in given:
        if key not in known:
            raise InvalidInputError(f"{where} has an unknown key {shown(key)!r}; it may have {', '.join(known)}")


def _from(folder: Path, path: str) -> str:
    try:
        return str(folder / Path(path).expanduser())
    except RuntimeError:
        raise InvalidInputError(f"{shown(path)!r} begins with the home directory of a user who is not known here") from None
