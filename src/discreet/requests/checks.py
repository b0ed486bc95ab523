"""What a curator should know before a release, or a study, is drawn. All of it is private: nothing of it is written anywhere."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.data.count import Tallied, tallied, undeclared_spellings
from discreet.data.question import CountingQuestion
from discreet.errors import DiscreetError
from discreet.frames import forgets_variables
from discreet.requests.fields import Place, Request, spoken
from discreet.text import plain

PRIVATE = "private: do not publish"
_SHOWN_SPELLINGS = 20
"""Spellings that are shown of a column."""
_NUMBERS = ("numbers", "whole numbers", "floating-point numbers")
_REMEDY = (
    "a spelling that is wrong goes into the file that --corrections FILE names; --other, --nulls, --na-values and --other-group give a "
    "place to what is no answer; declare no category because it is listed here: that somebody gave it would be published"
)
"""What a curator may do about values that are not declared."""


@dataclass(frozen=True, repr=False)
class TableCheck:
    """What was found for one table."""

    name: str
    """How a study calls it; empty for a single release."""
    undeclared: dict[str, list[str]]
    """Columns that have undeclared values, with some of their spellings."""
    is_missing: tuple[str, ...]
    """Columns in which answers or groups are missing that have no place."""
    holds_numbers: bool
    """Whether the column holds numbers, and no bands of them are declared."""
    refusal: str | None
    """Why the release would be refused; None if it would not be."""

    @property
    def lines(self) -> list[str]:
        """The same in sentences."""
        said = []
        for column, spellings in self.undeclared.items():
            every = [f"'{plain(text)}'" for text in spellings[:_SHOWN_SPELLINGS]] + ["..."] * (len(spellings) > _SHOWN_SPELLINGS)
            said.append(f"column {plain(column)!r} has values that are not declared: {', '.join(every)}")
        said += [f"column {plain(column)!r} has missing values" for column in self.is_missing]
        said += ["its column holds numbers: declare bands, or every number that occurs"] * self.holds_numbers
        said.append("would be released" if self.refusal is None else f"would be refused: {self.refusal}")
        return [f"{self.name}: {text}" if self.name else text for text in said]


@dataclass(frozen=True, repr=False)
class DataCheck:
    """What was found in the data: for the curator alone. Its repr shows nothing of it; printed, it says everything."""

    tables: tuple[TableCheck, ...]
    ids_are_missing: bool = False
    persons_have_several_rows: bool = False
    remedy: str = _REMEDY
    """What a curator may do about undeclared values, in the words of the place where it was asked."""

    @property
    def would_be_refused(self) -> bool:
        """Whether a release would be refused as the data are."""
        return any(table.refusal is not None for table in self.tables)

    @property
    def lines(self) -> list[str]:
        """Everything that was found, in sentences."""
        said = ["some rows have no id"] * self.ids_are_missing
        if self.persons_have_several_rows:
            said.append("some persons have several rows: each counts once, in the first declared category that a row of theirs has")
        said += [line for table in self.tables for line in table.lines]
        return said + [self.remedy] * any(table.refusal is not None and table.undeclared for table in self.tables)

    def __repr__(self) -> str:
        return f"DataCheck({len(self.tables)} tables; {PRIVATE})"

    def __str__(self) -> str:
        return "\n".join([PRIVATE, *self.lines])


@dataclass(frozen=True)
class AskedTable:
    """A table that is checked: what is counted for it, and what then prepares its release."""

    name: str
    question: CountingQuestion
    prepare: Callable[[Tallied], object]


@forgets_variables
def checked(source: Any, encoding: str, tables: Sequence[AskedTable], asked: type[Request], place: Place) -> DataCheck:
    """Look at the data as the release would, and list what is in its way, in the words of the place where it is asked."""
    questions = [table.question for table in tables]
    tallies = tallied(source, questions, encoding)
    if questions[0].strict:
        found: list[dict[str, list[str]]] = [{} for _ in questions]
    else:
        found = undeclared_spellings(source, questions, encoding, _SHOWN_SPELLINGS + 1)

    def refusal(table: AskedTable, tally: Tallied) -> str | None:
        try:
            table.prepare(tally)
        except DiscreetError as error:
            return spoken(error.in_shell, asked, place, table.name)
        return None

    every = [
        TableCheck(table.name, undeclared, _missing(tally), _holds_numbers(tally), refusal(table, tally))
        for table, tally, undeclared in zip(tables, tallies, found, strict=True)
    ]
    nameless, several = any(tally.tally.nameless for tally in tallies), any(tally.tally.several for tally in tallies)
    return DataCheck(tuple(every), nameless, several, spoken(_REMEDY, asked, place))


def _missing(tally: Tallied) -> tuple[str, ...]:
    question = tally.question
    is_missing = tally.tally.codes % (len(question.declared.labels) + 2) == question.declared.missing
    groups = (question.grouping.columns[place].name for place, is_null in tally.tally.troubles if is_null)
    return (*((question.column,) if is_missing.any() else ()), *groups)


def _holds_numbers(tally: Tallied) -> bool:
    declared = tally.question.declared
    return tally.kind in _NUMBERS and not declared.bands and not declared.has_whole_numbers
