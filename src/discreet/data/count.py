"""Tables and files to private counts: one aggregation inside the engine that holds the data, and only the counts come back."""

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import IOBase
from typing import Any, Literal, Required, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Counts
from discreet.data.aggregation import Tally, aggregated, holds_numbers, saturated, undeclared
from discreet.data.categories import SPELLING_RULES, Declared, kind_of
from discreet.data.engines import within_engine
from discreet.data.lines import LineReading, check_encoding
from discreet.data.made_labels import InPeriod
from discreet.data.question import CountingQuestion, QuestionOptions, question_of
from discreet.data.sources import opened
from discreet.errors import SourceError
from discreet.frames import forgets_variables
from discreet.model.cells import Cells, Groups
from discreet.record.about import CountingRule
from discreet.text import listed, shown

Unit = Literal["record", "person"]


class _PrivateCounts:
    """Counts that nobody sees by accident: an array where one is asked for, and a repr that shows none of them."""

    __slots__ = ()
    counts: Counts
    categories: Any
    unit: Unit

    @property
    def total(self) -> int:
        """The number of records or persons: public if it is given to a mechanism as n, otherwise as private as the counts."""
        return int(saturated(self.counts.sum(dtype=np.float64)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.counts, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        groups = f"{len(self.counts)} groups, " if self.counts.ndim == 2 else ""
        return f"{type(self).__name__}({groups}{len(self.categories)} categories, unit={self.unit!r})"


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class CategoryCounts(_PrivateCounts):
    """Private counts of the declared categories, accepted wherever `counts` are. Its repr shows none of them."""

    counts: Counts
    """The number of records (or persons) in each category; private, and read-only."""
    categories: tuple[Hashable, ...]
    """The declared categories, in the order of the counts."""
    unit: Unit
    """The unit that is counted, and that a release of the counts protects."""
    rule: CountingRule | None = None
    """The public question that `count` was asked."""

    def __len__(self) -> int:
        return len(self.categories)


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class TableCounts(_PrivateCounts):
    """Private counts of the declared categories in every group, as a mechanism with groups takes them. Its repr shows none of them."""

    counts: Counts
    """The number of records (or persons) in each cell, a row a group and a column a category; private, and read-only."""
    cells: Cells
    """The declared groups by the declared categories, and which cells are impossible."""
    unit: Unit
    """The unit that is counted, and that a release of the counts protects."""
    moves: bool = False
    """Whether some person has rows in more than one group, in which case a release with public sizes is refused; private."""
    strict: bool = False
    """Whether they were counted strictly, in which case an answer can decide the group and public sizes are refused; public."""
    rule: CountingRule | None = None
    """The public question that `count` was asked."""

    @property
    def by(self) -> Groups:
        """The declared groups, as a mechanism takes them."""
        return self.cells.groups

    @property
    def impossible(self) -> tuple[tuple[Hashable, ...], ...]:
        """The cells that were declared impossible, as a mechanism takes them: the labels of a group, then a category."""
        return tuple(map(self.cells.named, self.cells.impossible))

    @property
    def categories(self) -> tuple[Hashable, ...]:
        """The declared categories, in the order of the columns."""
        return self.cells.categories

    @property
    def sizes(self) -> Counts:
        """Return how many records or persons each group has: public if they are given to a mechanism as n, otherwise as private as the
        counts.
        """
        sizes = saturated(self.counts.sum(axis=1, dtype=np.float64))
        sizes.setflags(write=False)
        return sizes

    def __len__(self) -> int:
        return len(self.cells.groups)


class CountOptions(QuestionOptions, total=False):
    """The arguments of `count` that may be left out, for one variable."""

    encoding: str
    by: None


class TableCountOptions(QuestionOptions, total=False):
    """The arguments of `count` for a table: `by`, and those that may be left out."""

    encoding: str
    by: Required[Mapping[str, Iterable[Hashable]] | Groups]
    impossible: Iterable[tuple[Hashable, ...]]
    other_groups: Mapping[str, Hashable] | None


@overload
def count(
    source: Any,
    column: str,
    categories: Iterable[Hashable],
    privacy_id: str | None = ...,
    nulls: Hashable = ...,
    other: Hashable = ...,
    **options: Unpack[CountOptions],
) -> CategoryCounts: ...
@overload
def count(
    source: Any,
    column: str,
    categories: Iterable[Hashable],
    privacy_id: str | None = ...,
    nulls: Hashable = ...,
    other: Hashable = ...,
    **options: Unpack[TableCountOptions],
) -> TableCounts: ...
@forgets_variables
def count(
    source: Any,
    column: str,
    categories: Iterable[Hashable],
    privacy_id: str | None = None,
    nulls: Hashable = "error",
    other: Hashable = "error",
    **options: Any,
) -> CategoryCounts | TableCounts:
    """Count the declared categories of a column, in the engine that holds the data (docs/howto/data.md and docs/howto/tables.md).

    Args:
        source: any table narwhals knows (pandas, polars, pyarrow, DuckDB, Ibis, PySpark), the path of CSV, JSON, Parquet, Excel,
            SPSS, Stata or SAS files, with or without `*`, "postgresql://host/database/table" or a query, or a stream of bytes that is CSV.
        column, categories: what is counted, and the public list of what can occur.
        privacy_id: the column that says whose a row is: each person counts once, in the first declared category that any of their rows has,
            and the number of distinct ids is then public. `one_row_per_person` declares, unchecked, that every row is another person's.
        nulls, other: the categories that take nulls and undeclared values, which are errors otherwise. No option drops rows, because the
            public number of records would then depend on the private answers.
        mapping, na_values: what else stands for a category, as in {"Never": "never"}, and for a null, as in ["NA", "."].
        spelling: public rules by which texts are compared, fixed before anyone looks: "trim", "ignore case" and "ignore accents".
        corrections: a TOML file or a mapping of what the curator found by looking, by column. It is never published; that it is allowed is.
        encoding: that of CSV files.
        weight: a column that says how many records a row stands for; what is protected is then one unit of weight.
        strict: whether no cell of the data may decide whether counting succeeds: `nulls` and `other` also take what cannot be read.
        dated: a column of dates and periods, as in ("date", "2026-11"): rows of other periods are left out (docs/howto/months.md).
        by: groups, as in {"region": ["north", "south"], "sex": ["f", "m"]}; every combination of labels is one. A person is in the first
            of them that any of their rows is in, and counts there in the first category of their rows in that group.
        other_groups: the group of a column that takes nulls and undeclared values, as in {"region": "elsewhere"}; errors otherwise.
        impossible: cells that cannot occur, as in [("north", "m", "pregnant")]; a count in one is an error.

    Returns `CategoryCounts`, or with `by` a `TableCounts` with a row for each group.

    Raises SourceError for a source that cannot be counted as asked, without naming any value.

    >>> import pyarrow
    >>> rows = {"risk": ["low", "high", "low"], "region": ["north", "south", "south"]}
    >>> survey = pyarrow.table(rows)
    >>> count(survey, "risk", ["low", "high"])
    CategoryCounts(2 categories, unit='record')
    >>> count(survey, "risk", ["low", "high"], by={"region": ["north", "south"]})
    TableCounts(2 groups, 2 categories, unit='record')
    """
    encoding = options.pop("encoding", "utf-8")
    question = question_of(column, categories, privacy_id, nulls, other, **options)
    [found] = tallied(source, [question], encoding)
    return found.settled()


@dataclass(frozen=True, repr=False)
class Tallied:
    """The result of one pass over the data for a question. All of it is private but the question."""

    question: CountingQuestion
    tally: Tally
    unreadable: int
    """Rows that could not be read, where they are counted strictly."""
    kind: str | None
    """The kind of values in the counted column, in the words of a message."""

    def settled(self) -> CategoryCounts | TableCounts:
        """The counts, with nulls and other values where the question wants them; a SourceError where it does not say."""
        question = self.question
        counts, rule, cells = _settled(self.tally, self.unreadable, question, self.kind), question.rule, question.grouping.cells
        if cells is None:
            return CategoryCounts(counts[0], question.declared.labels, rule.unit, rule)
        return TableCounts(counts, cells, rule.unit, self.tally.moves, question.strict, rule)


@forgets_variables
def tallied(source: Any, questions: Sequence[CountingQuestion], encoding: str = "utf-8") -> list[Tallied]:
    """Count for all questions in one pass over the data. They have one id column, or none, and are all strict or none of them."""
    strict = questions[0].strict
    names = tuple(dict.fromkeys(name for question in questions for name in question.names))
    numbers = tuple({question.column: None for question in questions if _may_be_refused(question)})
    encoding = check_encoding(encoding, strict=strict)
    reading = LineReading(names, encoding, strict, numbers=numbers, privacy_id=questions[0].privacy_id)
    with opened(source, reading) as (table, rows):
        schema = within_engine("reading the table's schema", table.collect_schema)
        for question in questions:
            question.check_columns(schema)
        table = within_engine("looking at dates", questions[0].of_period, table, schema)
        tallies = within_engine("counting the table", aggregated, table, questions, schema)
        kinds = {name: kind_of(schema[name]) for name in {question.column for question in questions}}
        for name in {question.column for question, tally in zip(questions, tallies, strict=True) if _is_refused(tally, question)}:
            if kinds[name] == "text" and isinstance(source, (str, os.PathLike, IOBase)):
                is_number = within_engine("looking for numbers", holds_numbers, table, name) if rows is None else name in rows.numbers
                kinds[name] = "numbers" if is_number else "text"
    unreadable = 0 if rows is None else rows.unreadable
    return [Tallied(question, tally, unreadable, kinds[question.column]) for question, tally in zip(questions, tallies, strict=True)]


@forgets_variables
def undeclared_spellings(
    source: Any, questions: Sequence[CountingQuestion], encoding: str = "utf-8", most: int = 20
) -> list[dict[str, list[str]]]:
    """Return, for each question, the columns that have undeclared values, with the first so many spellings of them. Private all of it.

    It reads the data again, once for each column.
    """
    names = tuple(dict.fromkeys(name for question in questions for name in question.names))
    reading = LineReading(names, check_encoding(encoding, strict=False), strict=False)
    found: list[dict[str, list[str]]] = []
    for question in questions:
        found.append({})
        for position, (name, _) in enumerate(question.coded):
            with opened(source, reading) as (table, _):
                schema = within_engine("reading the table's schema", table.collect_schema)
                table = within_engine("looking at dates", question.of_period, table, schema)
                spellings = within_engine("looking for undeclared values", undeclared, table, question, position, schema, most)
            found[-1] |= {name: spellings} if spellings else {}
    return found


def _may_be_refused(question: CountingQuestion) -> bool:
    """Return whether undeclared values are in the way if there are some, which is never so in strict counting, and no category is
    a number.
    """
    declared = question.declared
    return question.takes["other"] is None and not question.strict and not declared.has_whole_numbers and declared.rule is None


def _is_refused(tally: Tally, question: CountingQuestion) -> bool:
    undeclared = (tally.codes % (len(question.declared.labels) + 2) == question.declared.other).any()
    return bool(undeclared) and _may_be_refused(question)


def _settled(tally: Tally, unreadable: int, question: CountingQuestion, kind: str | None) -> Counts:
    """The counts, a row a group, with nulls and other values where the caller wanted them; an error where nothing was said."""
    declared, grouping = question.declared, question.grouping
    if tally.bad_weights:
        raise SourceError(f"weight {question.weight!r} must be a whole number from 0 to 2**53 in every row, and in some it is not")
    if tally.nameless and not question.strict:
        raise SourceError(
            f"privacy_id {question.privacy_id!r} is null in some rows (a blank line of a CSV file is one); every row must say whose it is"
        )
    if tally.troubles:
        place, is_null = tally.troubles[0]
        column = question.grouping.columns[place]
        takes = f"other_groups={{{column.name!r}: ...}}", f"--other-group {column.name}=GROUP"
        raise _homeless(column.name, column.declared, {"nulls" if is_null else "other": takes}, "text")
    k = len(declared.labels)
    found = np.zeros((len(grouping), k + 2), dtype=np.int64)
    found.ravel()[tally.codes] = tally.records
    found[grouping.home, declared.other] += unreadable
    found[grouping.home, declared.missing] += tally.nameless
    codes = {"other": declared.other, "nulls": declared.missing}
    homeless = [option for option, code in codes.items() if question.takes[option] is None and found[:, code].any()]
    if homeless:
        raise _homeless(question.column, declared, {option: (f"{option}=...", f"--{option} CATEGORY") for option in homeless}, kind)
    # Of someone with rows in several groups not all are looked at: a declared category may be among the others.
    if not question.strict and found.any() and not found[:, :k].any() and not tally.moves:
        raise SourceError(_no_declared_value(question))
    for option, position in question.takes.items():
        if position is not None:
            found[:, position] += found[:, codes[option]]
    counts = _possible(found[:, :k].copy(), question)
    counts.setflags(write=False)
    return counts


def _possible(counts: Counts, question: CountingQuestion) -> Counts:
    """The counts, none of them in an impossible cell: one there is an error or, strictly counted, goes to the group's other answers."""
    cells, place = question.grouping.cells, question.takes["other"]
    if cells is None or not cells.impossible:
        return counts
    inside = np.where(cells.possible, 0, counts)
    if question.strict and place is not None:
        counts -= inside
        counts[:, place] += inside.sum(axis=1)
    elif inside.any():
        raise SourceError(
            "some records are in cells that were declared impossible; they are private, so it is not said which: correct the data, or "
            "leave out of impossible= what can occur"
        )
    return counts


def _no_declared_value(question: CountingQuestion) -> str:
    """Return the advice for a column where all answers would go to what `other` and `nulls` name: it is probably not the one meant."""
    labels = question.declared.labels
    known = ", ".join(repr(shown(label)) for label in labels[:_SHOWN_LABELS]) + (", ..." if len(labels) > _SHOWN_LABELS else "")
    return (
        f"no value of column {question.column!r} is one of the declared categories {known}: is it the right column, and are the labels "
        "spelt as in the file?"
    )


_SHOWN_LABELS = 5


def _homeless(name: str, declared: Declared, takes: Mapping[str, tuple[str, str]], kind: str | None) -> SourceError:
    """Return the error about undeclared values ("other") or "nulls" of a column, with how Python and the shell give them a place.

    But for the column, which of the two there are, the kind of values and whether texts are all numbers, it depends on public things alone.
    """
    rule, held = declared.rule, " and ".join(_FOUND[option].format(declared.are) for option in takes)
    if isinstance(rule, InPeriod):
        held = "values that are no dates" if "other" in takes else "nulls"
        return SourceError(f"column {name!r} has {held}; {rule.outside}: give it one; rows are never dropped")

    def words(spelling: Sequence[str], corrections: str, na_values: str, missing: str, homes: Iterable[str]) -> str:
        look = []
        if "other" in takes and rule is not None:
            look.append(rule.outside)
        elif "other" in takes and kind != "text":
            look.append(f"the column holds {kind}: declare every one that can occur, or make bands of them first")
        elif "other" in takes:
            marks = [f"{na_values} names marks of missing answers"] if declared.are == "categories" else []
            look.append(f"they are private, so not shown: {', and '.join([*spelling, *marks]) or 'check how they are spelt'}")
            look.append(f"spellings that you find by looking are corrected by {corrections}, which is never published")
            if declared.are == "categories" and declared.has_whole_numbers:
                look.append("a number is compared as it is written, so 1.0 is not 1: declare it as it is written")
        if "nulls" in takes and rule is not None:
            look.append(f"{missing} makes a {declared.one} of its own for missing {rule.made_of}")
        return (
            f"column {name!r} has {held}; {''.join(f'{each}; ' for each in look)}declare {declared.are} for whatever can occur, and none "
            f"because it is found here, or name the declared {declared.one} that takes them with {' and '.join(homes)}; rows are never "
            "dropped"
        )

    in_python, in_shell = zip(*takes.values(), strict=True)
    left = [rule for rule in SPELLING_RULES if rule not in declared.spelling]
    effect = f"compare{'s' if len(left) == 1 else ''} without {listed([_LEFT_OUT[rule] for rule in left])}"
    rules = [f"{listed(list(map(repr, left)))} in spelling= {effect}"] if left else []
    options = [f"{listed(['--' + rule.replace(' ', '-') for rule in left])} {effect}"] if left else []
    missing_in_shell = "" if rule is None else rule.missing_in_shell
    return SourceError(
        words(rules, "corrections=", "na_values=", "missing=...", in_python),
        in_shell=words(options, "--corrections FILE", "--na-values", missing_in_shell, in_shell),
    )


_LEFT_OUT = {"trim": "blanks around them", "ignore case": "capital letters", "ignore accents": "accents"}
"""Differences that each rule of spelling leaves out of comparisons."""
_FOUND = {"other": "values outside the declared {}", "nulls": "nulls (missing values; a blank line of a CSV file is one)"}
