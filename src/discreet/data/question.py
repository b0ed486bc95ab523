"""Counting questions: columns, declared categories and groups, and where nulls and undeclared values go. All of it is public."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, TypedDict, Unpack

import narwhals.stable.v2 as nw

from discreet.data.categories import Declared, check_spelling, declare, declare_groups, kind_of
from discreet.data.corrections import Corrections, read_corrections
from discreet.data.lines import check_names
from discreet.data.made_labels import InPeriod, MadeLabels
from discreet.errors import InvalidInputError
from discreet.model.cells import Cells, Groups, cells_of
from discreet.model.periods import PeriodRange
from discreet.record.about import CountingRule
from discreet.text import shown


@dataclass(frozen=True)
class GroupColumn:
    """One of the columns that groups are made of."""

    name: str
    declared: Declared
    home: int | None
    """The label that nulls and undeclared values of this column go to; None for an error."""


@dataclass(frozen=True)
class Grouping:
    """The groups of a table, column by column. Without columns there is one group, which everyone is in."""

    columns: tuple[GroupColumn, ...] = ()
    cells: Cells | None = None

    def __len__(self) -> int:
        return 1 if self.cells is None else len(self.cells.groups)

    @property
    def strides(self) -> tuple[int, ...]:
        """Return how far apart the groups of neighbouring labels of each column are; the last column changes fastest."""
        strides = [1]
        for column in self.columns[:0:-1]:
            strides.append(strides[-1] * len(column.declared.labels))
        return tuple(reversed(strides))

    @property
    def home(self) -> int:
        """The group of what says nothing about its group; only where every column has a home."""
        return sum((column.home or 0) * stride for column, stride in zip(self.columns, self.strides, strict=False))


def grouping_of(by: Any, answers: Declared, impossible: Iterable[Any], other_groups: Any) -> Grouping:
    """The groups that a caller declares, spelt by the rules of the answers; none if `by` is None."""
    homes = {} if other_groups is None else other_groups
    if not isinstance(homes, Mapping):
        raise InvalidInputError("other_groups must say which group takes a column's other values, such as {'region': 'elsewhere'}")
    if by is None or by == Groups():
        if homes or not _is_empty(impossible):
            raise InvalidInputError("impossible= and other_groups= are about the groups of a table: say which there are, with by=")
        return Grouping()
    cells = cells_of(by, answers.labels, impossible)
    for name in homes:
        if name not in cells.groups.columns:
            raise InvalidInputError(f"other_groups must name columns of by; {shown(name)!r} is not one")
    columns = []
    for name, labels in zip(cells.groups.columns, cells.groups.labels, strict=True):
        declared = declare_groups(name, labels, answers.spelling)
        place = homes.get(name, None if declared.rule is None else declared.rule.missing)
        home = None if place is None else declared.index(place)
        if name in homes and home is None:
            raise InvalidInputError(
                f"other_groups must name a declared group of {name!r}, written the way it was declared; got {shown(homes[name])!r}"
            )
        columns.append(GroupColumn(name, declared, home))
    return Grouping(tuple(columns), cells)


class QuestionOptions(TypedDict, total=False):
    """Options of `count` beside its first arguments, about a variable and about a table."""

    na_values: Iterable[Hashable]
    mapping: Mapping[Any, Hashable] | None
    weight: str | None
    strict: bool
    one_row_per_person: bool
    spelling: Iterable[str]
    corrections: str | PathLike[str] | Corrections | None
    dated: tuple[str, str] | None


class TableOptions(QuestionOptions, total=False):
    """Options of a question about a table."""

    by: Mapping[str, Iterable[Hashable]] | Groups | None
    impossible: Iterable[tuple[Hashable, ...]]
    other_groups: Mapping[str, Hashable] | None


def question_of(
    column: str,
    categories: Iterable[Hashable],
    privacy_id: str | None = None,
    nulls: Hashable = "error",
    other: Hashable = "error",
    **options: Unpack[TableOptions],
) -> "CountingQuestion":
    """Check the arguments of `discreet.count`, and return the question."""
    unknown = options.keys() - TableOptions.__annotations__.keys()
    if unknown:
        raise TypeError(f"count() got an unexpected keyword argument {min(unknown)!r}")
    declared = declare(categories, options.get("mapping"), options.get("na_values", ()), check_spelling(options.get("spelling", ())))
    if isinstance(categories, MadeLabels) and categories.missing is not None:
        if nulls != "error":
            fault = f"do not go together: the rule names the category of missing {categories.made_of} itself"
            raise InvalidInputError(f"nulls and missing {fault}", in_shell=f"--nulls and {categories.missing_in_shell} {fault}")
        nulls = categories.missing
    strict = options.get("strict", False)
    grouping = grouping_of(options.get("by"), declared, options.get("impossible", ()), options.get("other_groups"))
    found = CountingQuestion(
        column,
        privacy_id,
        options.get("weight"),
        declared,
        {"other": declared.position(other, "other"), "nulls": declared.position(nulls, "nulls")},
        strict,
        _dated(grouping, options.get("dated"), strict=strict),
        options.get("one_row_per_person", False),
    )
    corrections = options.get("corrections")
    return found if corrections is None else found.corrected(read_corrections(corrections, found.coded, strict=strict))


def _dated(grouping: Grouping, dated: Any, *, strict: bool) -> Grouping:
    """The groups of rows whose dates are of some periods: a first column has one label, and what is no date is refused as a stranger."""
    if dated is None:
        return grouping
    if not isinstance(dated, (tuple, list)) or len(dated) != 2 or not isinstance(dated[0], str):
        raise InvalidInputError("dated must be a column of dates and the periods whose rows are counted, such as ('date', '2026-11')")
    if strict:
        fault = "do not go together: a row without a date is of no period, and can only be refused"
        raise InvalidInputError(f"strict and dated {fault}", in_shell=f"--strict and --period-column {fault}")
    rule = InPeriod(PeriodRange.read(dated[1]))
    return replace(grouping, columns=(GroupColumn(dated[0], Declared(tuple(rule), are="groups", rule=rule), None), *grouping.columns))


def _is_empty(listed: Any) -> bool:
    return isinstance(listed, (tuple, list)) and not listed


@dataclass(frozen=True)
class CountingQuestion:
    """A question to a source: what is counted, and how."""

    column: str
    privacy_id: str | None
    weight: str | None
    declared: Declared
    takes: Mapping[str, int | None]
    """The category that each of `other` and `nulls` names; None for an error."""
    strict: bool
    grouping: Grouping = field(default_factory=Grouping)
    one_row_per_person: bool = False
    """Whether every row is another person's, which is declared and not checked."""
    may_correct: bool = False
    """Whether it was declared before anyone looked at the data that the curator corrects spellings."""

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not isinstance(self.privacy_id, str | None) or not isinstance(self.weight, str | None):
            raise InvalidInputError("column, privacy_id and weight must be column names, which are text")
        if any(name == "*" or (name.startswith("^") and name.endswith("$")) for name in self.names):
            raise InvalidInputError("a column name that is '*' or '^...$' is a pattern to some engines: rename the column first")
        if self.column == self.privacy_id:
            raise InvalidInputError("privacy_id must be another column than the one to count")
        if self.column == self.weight:
            raise InvalidInputError("weight must be another column than the one to count")
        if self.privacy_id is not None and self.weight is not None:
            why = "do not go together: a row that stands for many records is not one person's"
            raise InvalidInputError(f"privacy_id and weight {why}", in_shell=f"--privacy-id and --weight {why}")
        if not {column.name for column in self.grouping.columns}.isdisjoint((self.column, self.privacy_id, self.weight)):
            raise InvalidInputError("by must name other columns than the one to count, privacy_id and weight")
        if not isinstance(self.strict, bool) or not isinstance(self.one_row_per_person, bool):
            raise InvalidInputError("strict and one_row_per_person must be True or False")
        if self.one_row_per_person and (self.privacy_id is not None or self.weight is not None):
            other, why = ("privacy_id", "it says whose a row is") if self.weight is None else ("weight", "a row stands for many records")
            fault = f"{why}, so that one row per person is not declared as well; leave out one of the two"
            raise InvalidInputError(f"{other}: {fault}", in_shell=f"--{other.replace('_', '-')}: {fault}")
        if self.strict:
            self._check_strict()

    def _check_strict(self) -> None:
        """Refuse what would leave some cell of the data without a place."""
        if None in self.takes.values():
            raise InvalidInputError(
                "strict counting refuses nothing for what the data say, so other= (in the shell, --other) and nulls= (in the shell, "
                "--nulls) must both name a declared category"
            )
        if self.declared.spelling:
            raise InvalidInputError("strict and spelling do not go together: of some texts an engine cannot tell the capital letters")
        if self.weight is not None:
            raise InvalidInputError("strict and weight do not go together: whether a weight is a whole number can only be refused")
        if any(column.home is None for column in self.grouping.columns):
            raise InvalidInputError(
                "strict counting refuses nothing for what the data say, so other_groups must name a declared group for every column of by"
            )
        cells = self.grouping.cells
        if cells is not None and not cells.possible[:, [place for place in self.takes.values() if place is not None]].all():
            raise InvalidInputError(
                "strict counting refuses nothing for what the data say, so no cell of the categories that other and nulls name may be "
                "impossible: they take what cannot be elsewhere"
            )

    @property
    def coded(self) -> tuple[tuple[str, Declared], ...]:
        """The columns whose values become codes: the counted one, then those of the groups."""
        return ((self.column, self.declared), *((column.name, column.declared) for column in self.grouping.columns))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are read."""
        others = (name for name in (self.privacy_id, self.weight) if name is not None)
        return (*(name for name, _ in self.coded), *others)

    @property
    def rule(self) -> CountingRule:
        """The question as a record says it."""
        labels, taken = self.declared.labels, {option: None if i is None else self.declared.labels[i] for option, i in self.takes.items()}
        homes = ((column, column.home) for column in self.grouping.columns)
        return CountingRule(
            self.column,
            self.privacy_id,
            self.weight,
            **taken,
            na_values=tuple(value for value, code in self.declared.aliases if code == self.declared.missing),
            mapping=tuple((value, labels[code]) for value, code in self.declared.aliases if code < len(labels)),
            other_groups=tuple((column.name, column.declared.labels[home]) for column, home in homes if home is not None),
            strict=self.strict,
            one_row_per_person=self.one_row_per_person,
            spelling=self.declared.spelling,
            corrections=self.may_correct,
            dated=next(((column.name, str(rule.period)) for column, rule in self._dates), None),
        )

    @property
    def _dates(self) -> list[tuple[GroupColumn, InPeriod]]:
        return [(one, one.declared.rule) for one in self.grouping.columns if isinstance(one.declared.rule, InPeriod)]

    def of_period(self, table: nw.LazyFrame[Any], schema: Mapping[str, nw.dtypes.DType]) -> nw.LazyFrame[Any]:
        """The table without the rows of other periods."""
        for column, rule in self._dates:
            table = table.filter(~rule.is_elsewhere(nw.col(column.name), schema[column.name]))
        return table

    def corrected(self, corrections: Corrections) -> "CountingQuestion":
        """Return the question with a curator's corrections: for a column, spellings and the category or group that each stands for."""
        columns = (replace(one, declared=one.declared.corrected(corrections.get(one.name, {}))) for one in self.grouping.columns)
        declared = self.declared.corrected(corrections.get(self.column, {}))
        return replace(self, declared=declared, grouping=replace(self.grouping, columns=tuple(columns)), may_correct=True)

    def check_columns(self, schema: Mapping[str, nw.dtypes.DType]) -> None:
        """Refuse a table without the columns, or with one whose values have no plain equality.

        Of a type only its name is shown: the fields of a nested one may have been made from data.
        """
        known = ", ".join(repr(known) for known in list(schema)[:_SHOWN_NAMES]) + (", ..." if len(schema) > _SHOWN_NAMES else "")
        check_names(schema, self.names, f"; the columns are {known}")
        for name, declared in self.coded:
            if declared.rule is not None:
                declared.rule.check_type(name, schema[name])
            elif kind_of(schema[name]) is None:
                mixed = isinstance(schema[name], nw.Object)
                other = f"convert it to text that is written like the {declared.are}"
                advice = "convert_dtypes() may find one of these in it" if mixed else other
                raise InvalidInputError(
                    f"column {name!r} has type {type(schema[name]).__name__}; text, whole numbers and truth values can be counted: {advice}"
                )
            if self.strict and isinstance(schema[name], nw.UInt128):  # DuckDB compares it as a signed one, which not all fit
                raise InvalidInputError(
                    f"column {name!r} has type UInt128, which cannot be counted strictly, because a number may be too large to be "
                    "compared: make it text"
                )
        if self.privacy_id is not None:
            self._check_id(self.privacy_id, schema[self.privacy_id])
        if self.weight is not None and kind_of(schema[self.weight]) in (None, "truth values"):
            kind = type(schema[self.weight]).__name__
            raise InvalidInputError(f"weight {self.weight!r} has type {kind}; a weight must be a whole number")

    def _check_id(self, name: str, kind: nw.dtypes.DType) -> None:
        said = f"privacy_id {name!r} has type {type(kind).__name__}"
        if kind.is_nested():
            raise InvalidInputError(f"{said}; an id must be one plain value")
        if self.strict and not _is_grouped_whatever_it_is(kind):
            raise InvalidInputError(
                f"{said}, which cannot be counted strictly, because an engine may refuse one of its values: make it text"
            )


def _is_grouped_whatever_it_is(kind: nw.dtypes.DType) -> bool:
    """Return whether every engine groups by any value of this type.

    Of others, an engine refuses a table for one value: a time beyond those it knows, a map that has a key twice, or no bits at all.
    """
    return kind_of(kind) is not None or isinstance(kind, (nw.Decimal, nw.Binary))


_SHOWN_NAMES = 20
