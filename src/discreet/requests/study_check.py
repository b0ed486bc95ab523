"""What a curator should know before a study is released. All of it is private: nothing of it is written anywhere."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.data.count import undeclared_spellings
from discreet.errors import DiscreetError
from discreet.frames import forgets_variables
from discreet.requests.study_release import ready_table, tallies_of
from discreet.text import plain

if TYPE_CHECKING:
    from discreet.data.count import Tallied
    from discreet.requests.study import Study

PRIVATE = "private: do not publish"
_SHOWN_SPELLINGS = 20
"""Spellings that are shown of a column."""
_NUMBERS = ("numbers", "whole numbers", "floating-point numbers")


@dataclass(frozen=True, repr=False)
class TableCheck:
    """What was found for one table."""

    name: str
    undeclared: dict[str, list[str]]
    """Columns that have undeclared values, with some of their spellings."""
    is_missing: tuple[str, ...]
    """Columns in which answers or groups are missing that have no place."""
    holds_numbers: bool
    """Whether the column holds numbers, and no bands of them are declared."""
    refusal: str | None
    """Why the release would be refused; None if it would not be."""


@dataclass(frozen=True, repr=False)
class StudyCheck:
    """What was found for a study: for the curator alone. Its repr shows nothing of it; printed, it says everything."""

    tables: tuple[TableCheck, ...]
    ids_are_missing: bool = False
    persons_have_several_rows: bool = False

    @property
    def would_be_refused(self) -> bool:
        """Whether a release would be refused as the data are."""
        return any(table.refusal is not None for table in self.tables)

    def __repr__(self) -> str:
        return f"StudyCheck({len(self.tables)} tables; {PRIVATE})"

    def __str__(self) -> str:
        lines = [PRIVATE]
        if self.ids_are_missing:
            lines.append("some rows have no id")
        if self.persons_have_several_rows:
            lines.append("some persons have several rows: each counts once, in the first declared category that a row of theirs has")
        for table in self.tables:
            for column, spellings in table.undeclared.items():
                shown = ", ".join(f"'{plain(text)}'" for text in spellings[:_SHOWN_SPELLINGS]) + (
                    ", ..." if len(spellings) > _SHOWN_SPELLINGS else ""
                )
                lines.append(f"{table.name}: column {plain(column)!r} has values that are not declared: {shown}")
            lines += [f"{table.name}: column {plain(column)!r} has missing values" for column in table.is_missing]
            lines += [f"{table.name}: its column holds numbers: declare bands, or every number that occurs"] * table.holds_numbers
            lines.append(f"{table.name}: {'would be released' if table.refusal is None else f'would be refused: {table.refusal}'}")
        return "\n".join(lines)


@forgets_variables
def check(study: "Study", source: Any = None, corrections: "str | os.PathLike[str] | None" = None) -> StudyCheck:
    """Look at the data as the release would, and list what is in its way."""
    tallies = tallies_of(study, source, corrections)
    questions = [tally.question for tally in tallies]
    found = [{} for _ in questions] if study.strict else _undeclared(study, source, questions)
    tables = [_checked(study, *parts) for parts in zip(study.tables, tallies, found, strict=True)]
    return StudyCheck(tuple(tables), any(tally.tally.nameless for tally in tallies), any(tally.tally.several for tally in tallies))


def _undeclared(study: "Study", source: Any, questions: list[Any]) -> list[dict[str, list[str]]]:
    return undeclared_spellings(study.path if source is None else source, questions, study.encoding, _SHOWN_SPELLINGS + 1)


def _checked(study: "Study", table: Any, tally: "Tallied", undeclared: dict[str, list[str]]) -> TableCheck:
    question, refusal = tally.question, None
    try:
        ready_table(study, table, tally)
    except DiscreetError as error:
        refusal = str(error).removeprefix(f"table {table.name!r}: ")
    k = len(question.declared.labels)
    answers = (question.column,) if (tally.tally.codes % (k + 2) == question.declared.missing).any() else ()
    groups = tuple(question.grouping.columns[place].name for place, is_null in tally.tally.troubles if is_null)
    numbers = tally.kind in _NUMBERS and not question.declared.bands and not question.declared.has_whole_numbers
    return TableCheck(table.name, undeclared, (*answers, *groups), numbers, refusal)
