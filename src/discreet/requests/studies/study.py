"""A study: several tables of one dataset with one ε for all, declared in a TOML file that is kept and run again."""

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.data.categories import declare
from discreet.data.corrections import Corrections, read_corrections, read_toml
from discreet.data.databases import check_no_password, is_address
from discreet.data.question import CountingQuestion
from discreet.errors import DiscreetError, InvalidInputError, SourceError
from discreet.ledger.names import look_alike
from discreet.model.cells import Groups, groups_of
from discreet.model.periods import PeriodRange
from discreet.record.table_json import check_json
from discreet.requests.fields import Field, fields_of, spoken
from discreet.requests.parsing import parse_prior
from discreet.requests.release import ReleaseRequest
from discreet.requests.release_steps import check_dated, check_strict
from discreet.text import shown
from discreet.validation import Public, check_moderate, check_records

if TYPE_CHECKING:
    from os import PathLike

    from discreet.ledger.ledger import Ledger
    from discreet.planning.table_widths import StudyPlan, TablePlan
    from discreet.record.release import Release
    from discreet.requests.checks import DataCheck

_GUESSED_RECORDS = (1_000, 10_000, 100_000)
"""Numbers of records that are planned for where none is given."""
MANIFEST = "study"
"""The name of the file, in a published folder, that lists the tables; no table is called so."""


@dataclass(frozen=True)
class StudyTable:
    """One table of a study: a column, its categories, perhaps groups, and its part of ε."""

    name: str
    """The name of the table and of its file."""
    column: str
    categories: tuple[Hashable, ...]
    """The declared categories, or the labels of bands."""
    by: Mapping[str, tuple[Hashable, ...]] = field(default_factory=dict)
    """The declared groups of each column; none for a table of one variable."""
    weight: Fraction = Fraction(1)
    """The table's part of ε, beside those of the other tables."""
    counting: Mapping[str, Any] = field(default_factory=dict)
    """Whatever else `discreet.count` is told: nulls, other, na_values, other_groups, impossible."""
    prior: str = "uniform"
    variable: str | None = None
    """The question in words; the column where nothing else is said."""

    @property
    def groups(self) -> Groups:
        """The declared groups, as a mechanism takes them."""
        return groups_of(self.by or None)


@dataclass(frozen=True)
class Study:
    """Several tables of one dataset, released for one ε and charged at once.

    `Study.load` reads the TOML file; docs/howto/study.md walks through one.
    """

    tables: tuple[StudyTable, ...]
    epsilon: Fraction
    """The ε for all tables together."""
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
    period: str | None = None
    """The periods that the records are of, where each has a budget."""
    period_column: str | None = None
    """The column of dates by which rows of other periods are left out."""
    folder: Path = field(default=Path(), compare=False, repr=False)
    """The folder from which relative paths are found."""

    def __post_init__(self) -> None:
        if not self.tables:
            raise InvalidInputError('a study needs at least one table, such as [tables.smoking] with column = "smoking"')
        for number, table in enumerate(self.tables):
            alike = next((other for other in self.tables[:number] if look_alike(table.name, other.name)), None)
            if alike is not None:
                raise InvalidInputError(f"two tables are called alike, {table.name!r} and {alike.name!r}: give one another name")
        with in_study():
            check_strict(self.public, is_strict=self.strict)
            check_dated(self.period, self.period_column)
            if self.period is not None:
                PeriodRange.read(self.period)
        for table in self.tables:
            with in_study(table.name):
                _check_table(self, table)

    @staticmethod
    def load(path: "str | PathLike[str]") -> "Study":
        """The study that a TOML file declares. An `InvalidInputError` says in one line what is wrong with it."""
        from discreet.requests.studies.file import parsed

        place = Path(path).expanduser()
        return parsed(read_toml(place, "the study"), place.absolute().parent)

    @staticmethod
    def of_text(text: str, folder: "str | PathLike[str]") -> "Study":
        """The study that a TOML text declares, whose paths start from this folder. Raises as `load` does."""
        from discreet.requests.studies.file import parsed

        return parsed(read_toml("as it is written", "the study", text), Path(folder).expanduser().absolute())

    @property
    def epsilons(self) -> dict[str, Fraction]:
        """Each table's part of ε, exactly: they add up to ε."""
        whole = sum((table.weight for table in self.tables), Fraction(0))
        return {table.name: self.epsilon * table.weight / whole for table in self.tables}

    @property
    def path(self) -> str:
        """The path of the data."""
        return _from(self.folder, self.source)

    def request(self, table: StudyTable) -> ReleaseRequest:
        """Return the request for a release of one table alone: all that the study declares for it, but for corrections."""
        return ReleaseRequest.asking(
            file=self.path,
            column=table.column,
            categories=table.categories,
            epsilon=self.epsilons[table.name],
            prior=parse_prior(table.prior, table.categories, "prior"),
            privacy_id=self.id,
            one_row_per_person=self.one_row_per_person,
            by=table.groups if table.by else None,
            strict=self.strict,
            encoding=self.encoding,
            public="total" if self.public == "sizes" and not table.by else self.public,
            period=self.period,
            period_column=self.period_column,
            title=self.title,
            variable=table.variable,
            date=self.date,
            note=self.note,
            **{RULES[rule]: True for rule in self.normalize},
            **table.counting,
        )

    @property
    def requests(self) -> dict[str, ReleaseRequest]:
        """The request for each table, by its name."""
        return {table.name: self.request(table) for table in self.tables}

    def questions(self, corrections: Corrections | None = None) -> list[CountingQuestion]:
        """Return the counting question of each table, with a curator's corrections where they are allowed."""
        asked = (request.question() for request in self.requests.values())
        return [question if self.corrections is None else question.corrected(corrections or {}) for question in asked]

    def read_corrections(self, path: "str | PathLike[str] | None" = None) -> Corrections:
        """The curator's corrections, checked: for each column, spellings and what each stands for. A file that is not there has none."""
        if self.corrections is None:
            if path is not None:
                raise InvalidInputError(
                    'the study does not allow corrections: declare corrections = "corrections.toml" in it before you look'
                )
            return {}
        if path is None and self.absent_corrections is not None:
            return {}
        place = Path(_from(self.folder, self.corrections)) if path is None else Path(path).expanduser()
        return read_corrections(place, [pair for question in self.questions() for pair in question.coded], strict=self.strict)

    @property
    def absent_corrections(self) -> str | None:
        """The file of corrections that the study names, if it is not there: then nothing is corrected."""
        if self.corrections is None or (place := Path(_from(self.folder, self.corrections))).exists():
            return None
        return str(place)

    def check(self, source: Any = None, *, corrections: "str | PathLike[str] | None" = None) -> "DataCheck":
        """Check the data before a release. The result is private: it is for the curator alone.

        Args:
            source: A table in place of the study's file.
            corrections: The file of the curator's corrections, in place of the one that the study names.

        Returns a `DataCheck`: undeclared spellings, what is missing, and what a release would refuse.

        Raises SourceError where the data cannot be read at all, and InvalidInputError for corrections that the study does not allow.
        """
        from discreet.requests.studies.release import check

        return check(self, source, corrections)

    def plan(self, n: int | None = None) -> "StudyPlan":
        """Return how wide the intervals of every table will be, and another split of ε. Public: no data are looked at.

        Groups are taken to be equally large, because their sizes are not known; without `n` it is planned for several numbers of records.
        """
        from discreet.planning.table_widths import StudyPlan, noise_kinds

        declared, even = [], []
        for number in _GUESSED_RECORDS if n is None else (check_records(n),):
            here = [_planned(self, table, number, self.epsilons[table.name]) for table in self.tables]
            declared += here
            split = _even(here, self.epsilon)
            even += [_planned(self, table, number, split[table.name]) for table in self.tables] if len(here) > 1 else here
        return StudyPlan(tuple(declared), tuple(even), noise_kinds(len(self.tables), self.epsilon, public=self.public))

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

        Args:
            ledger: The ledger that is charged, or where it is; None charges nothing.
            folder: The new folder of the records.
            source: A table in place of the study's file.
            corrections: The file of the curator's corrections, in place of the one that the study names.

        Returns the releases by the names of their tables.

        Raises, before anything is drawn, SourceError where the data cannot be counted, BudgetError where the budget does not allow it, and
        InvalidInputError where the folder or the study does not.
        """
        from discreet.requests.studies.release import release

        return release(self, ledger, folder, source=source, corrections=corrections)


def _check_table(study: Study, table: StudyTable) -> None:
    if not table.weight:
        raise InvalidInputError("weight is 0, and so is its part of epsilon; give it a weight above 0, or leave the table out")
    check_moderate(study.epsilons[table.name], "its part of study.epsilon")
    declare(table.categories, None, ())  # before a prior for as many is made
    asked = study.request(table)
    asked.question()
    _ = asked.about
    size = len(table.categories) * len(table.groups)
    if table.by:
        check_json(table.groups, size, "release it alone, as Parquet")


def _planned(study: Study, table: StudyTable, records: int, epsilon: Fraction) -> "TablePlan":
    """Plan one table, whose groups are taken to be equally large."""
    from discreet.planning.table_widths import TablePlan, group_width

    asked, groups = study.request(table), len(table.groups)
    found = group_width(asked.prior, max(1, records // groups), epsilon, asked.public, groups)
    return TablePlan(table.name, records, groups, epsilon, float(found.width), float(found.plain))


def _even(tables: "list[TablePlan]", epsilon: Fraction) -> dict[str, Fraction]:
    """The split of ε with which all tables have about the same price.

    The width of the noise by itself is about in proportion to 1/ε, and widths add up as squares: so the price is the same where ε is in
    proportion to ε√(price² - 1). Weights are rounded to a hundredth of the largest, so that they can be typed.
    """
    needs = [float(table.epsilon) * sqrt(max(table.price**2 - 1.0, 1e-6)) for table in tables]
    weights = [Fraction(max(1, round(100 * need / max(needs))), 100) for need in needs]
    return {table.name: epsilon * weight / sum(weights) for table, weight in zip(tables, weights, strict=True)}


def _from(folder: Path, path: str) -> str:
    """A path from the folder of the study on; the address of a database is what it is."""
    if is_address(path):
        check_no_password(path)
        return path
    try:
        return str(folder / Path(path).expanduser())
    except RuntimeError:
        raise InvalidInputError(f"{shown(path)!r} begins with the home directory of a user who is not known here") from None


# --- the keys of its file ---------------------------------------------------------------------------------------------


@contextmanager
def in_study(table: str = "", also: str = "") -> Iterator[None]:
    """Say an error in the words of a study's file, and which table it is about; `also` is said where it is about the data."""
    try:
        yield
    except DiscreetError as error:
        said, kind = spoken(error.in_shell, ReleaseRequest, "study", table), type(error)
        if table:
            first, second, *_ = said.split(" ")
            is_key = first in (*keys_of("tables"), "weight") and second in ("must", "is")
            named = "" if first.startswith(f"tables.{table}.") else f"tables.{table}{'.' if is_key else ': '}"
            said = f"{named}{said}"
        said += f"; {also}" if also and kind is SourceError else ""
    else:
        return
    raise kind(said)


def keys_of(part: str) -> dict[str, list[Field]]:
    """The keys of a part of the file, and the fields that declare each of them."""
    found: dict[str, list[Field]] = {}
    for one in fields_of(ReleaseRequest).values():
        if one.key.startswith(f"{part}."):
            found.setdefault(one.key.split(".")[1], []).append(one)
    return found


RULES = {one.key.split(".")[2]: one.name for one in keys_of("study")["normalize"]}
"""The rules by which texts are compared, and the fields of a release that ask for them."""
