"""What a curator should know before a study is released. All of it is private: nothing of it is written anywhere."""

import os
from typing import TYPE_CHECKING, Any

from discreet.data.count import undeclared_spellings
from discreet.errors import DiscreetError
from discreet.frames import forgets_variables
from discreet.requests.study_answers import SHOWN_SPELLINGS, StudyCheck, TableCheck
from discreet.requests.study_release import ready_table, tallies_of

if TYPE_CHECKING:
    from discreet.data.count import Tallied
    from discreet.requests.study import Study

_NUMBERS = ("numbers", "whole numbers", "floating-point numbers")


@forgets_variables
def check(study: "Study", source: Any = None, corrections: "str | os.PathLike[str] | None" = None) -> StudyCheck:
    """Look at the data as the release would, and list what is in its way."""
    tallies = tallies_of(study, source, corrections)
    questions = [tally.question for tally in tallies]
    found = [{} for _ in questions] if study.strict else _undeclared(study, source, questions)
    tables = [_checked(study, *parts) for parts in zip(study.tables, tallies, found, strict=True)]
    return StudyCheck(tuple(tables), any(tally.tally.nameless for tally in tallies), any(tally.tally.several for tally in tallies))


def _undeclared(study: "Study", source: Any, questions: list[Any]) -> list[dict[str, list[str]]]:
    return undeclared_spellings(study.path if source is None else source, questions, study.encoding, SHOWN_SPELLINGS + 1)


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
