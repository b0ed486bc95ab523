"""Checks of a curator's data before a release, or a study. All results are private: nothing of them is written anywhere."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discreet.arrays import Counts
from discreet.data.count import Tallied, tallied, undeclared_spellings
from discreet.data.question import CountingQuestion, Grouping
from discreet.errors import DiscreetError
from discreet.frames import forgets_variables
from discreet.requests.fields import Place, Request, spoken
from discreet.text import counted, plain

PRIVATE = "private: do not publish"
_SHOWN_SPELLINGS = 20
"""Spellings that are shown of a column."""
_NUMBER_KINDS = ("numbers", "whole numbers", "floating-point numbers")
_NO_PLACE = "values that are listed above have no place, and rows are never dropped"
"""The reason why a release would be refused, where the lines before it name the columns and what they hold."""
_REMEDY = (
    "--trim, --ignore-case and --ignore-accents compare without blanks, capital letters and accents; a spelling that is wrong goes into "
    "the file that --corrections FILE names; --other, --nulls, --na-values and --other-group give a place to what is no answer; declare "
    "no category because it is listed here: that somebody gave it would be published"
)
"""The advice to a curator about values that have no place."""
_IS_NUMBERS = "its column holds numbers: declare bands of them, or every number that can be an answer"


@dataclass(frozen=True, repr=False)
class TableCheck:
    """The findings about one table."""

    name: str
    """The name that a study gives the table; empty for a single release."""
    undeclared: dict[str, list[str]]
    """Columns that have undeclared values, with some of their spellings."""
    is_missing: tuple[str, ...]
    """Columns in which answers or groups are missing, whether they have a place or not."""
    hint: str
    """The advice about a column of numbers, where some of them have no place; empty elsewhere."""
    refusal: str | None
    """The reason why the release would be refused; None if it would not be."""
    places: dict[tuple[str, str], str] = field(default_factory=dict)
    """The declared category or group that takes the "undeclared" or the "missing" values of a column, where there is one."""

    @property
    def lines(self) -> list[str]:
        """The findings in sentences."""
        said = []
        for column, spellings in self.undeclared.items():
            every = [f"'{plain(text)}'" for text in spellings[:_SHOWN_SPELLINGS]] + ["..."] * (len(spellings) > _SHOWN_SPELLINGS)
            said.append(f"column {plain(column)!r} has values that are not declared{self._place(column, 'undeclared')}: {', '.join(every)}")
        said += [f"column {plain(column)!r} has missing values{self._place(column, 'missing')}" for column in self.is_missing]
        said += [self.hint] * bool(self.hint)
        said.append("would be released" if self.refusal is None else f"would be refused: {self.refusal}")
        return [f"{self.name}: {text}" if self.name else text for text in said]

    @property
    def holds_numbers(self) -> bool:
        """Return whether the column holds numbers, and no bands of them are declared."""
        return self.hint == _IS_NUMBERS

    @property
    def has_homeless(self) -> bool:
        """Return whether some of the values that are listed have no place."""
        listed = [*((column, "undeclared") for column in self.undeclared), *((column, "missing") for column in self.is_missing)]
        return any(one not in self.places for one in listed)

    def _place(self, column: str, kind: str) -> str:
        place = self.places.get((column, kind))
        return "" if place is None else f", which count as {place!r}"


@dataclass(frozen=True, repr=False)
class DataCheck:
    """The findings about the data, for the curator alone. Its repr shows nothing of it; printed, it says everything."""

    tables: tuple[TableCheck, ...]
    ids_are_missing: bool = False
    persons_have_several_rows: bool = False
    absent: str | None = None
    """The file of corrections that a study names and that is not there."""
    remedy: str = _REMEDY
    """The advice about undeclared values, in the words of the place where it was asked."""

    @property
    def would_be_refused(self) -> bool:
        """Return whether a release would be refused as the data are."""
        return any(table.refusal is not None for table in self.tables)

    @property
    def lines(self) -> list[str]:
        """Everything that was found, in sentences."""
        said = ["some rows have no id"] * self.ids_are_missing
        if self.persons_have_several_rows:
            said.append("some persons have several rows: each counts once, in the first declared category that a row of theirs has")
        said += [] if self.absent is None else [absent_words(self.absent)]
        said += [line for table in self.tables for line in table.lines]
        return said + [self.remedy] * any(table.has_homeless for table in self.tables)

    def __repr__(self) -> str:
        return f"DataCheck({counted(len(self.tables), 'table')}; {PRIVATE})"

    def __str__(self) -> str:
        return "\n".join([PRIVATE, *self.lines])


def absent_words(file: str) -> str:
    """Return the message about a file of corrections that a study names and that is not there."""
    return f"{plain(file)}, which study.corrections names, is not there: nothing is corrected"


@forgets_variables
def checked(
    source: Any,
    encoding: str,
    tables: Mapping[str, tuple[CountingQuestion, Callable[[Tallied], object]]],
    asked: type[Request],
    place: Place,
) -> DataCheck:
    """Look at the data as the release would, and list what is in its way, in the words of the place where it is asked.

    `tables` says by name what is counted for each, and what then prepares its release.
    """
    questions = [question for question, _ in tables.values()]
    tallies = tallied(source, questions, encoding)
    if questions[0].strict:
        found: list[dict[str, list[str]]] = [{} for _ in questions]
    else:
        found = undeclared_spellings(source, questions, encoding, _SHOWN_SPELLINGS + 1)

    bare = [replace(question, grouping=_without_places(question.grouping)) for question in questions]
    unplaced = tallies if questions[0].strict or bare == questions else tallied(source, bare, encoding)

    def refusal(name: str, tally: Tallied) -> str | None:
        try:
            tables[name][1](tally)
        except DiscreetError as error:
            return _NO_PLACE if _is_homeless(tally) else spoken(error.in_shell, asked, place, name)
        return None

    every = [
        TableCheck(name, undeclared, _missing(tally, groups), _hint(tally), refusal(name, tally), _places(tally.question))
        for name, tally, groups, undeclared in zip(tables, tallies, unplaced, found, strict=True)
    ]
    nameless, several = any(tally.tally.nameless for tally in tallies), any(tally.tally.several for tally in tallies)
    return DataCheck(tuple(every), nameless, several, remedy=spoken(_REMEDY, asked, place))


def _without_places(grouping: Grouping) -> Grouping:
    """Return the groups without a place for what is undeclared or missing, so that it is found."""
    return replace(grouping, columns=tuple(replace(column, home=None) for column in grouping.columns))


def _places(question: CountingQuestion) -> dict[tuple[str, str], str]:
    """Return the categories and groups that take undeclared and missing values, by column, where some do."""
    labels = question.declared.labels
    takes = {"undeclared": question.takes["other"], "missing": question.takes["nulls"]}
    found = {(question.column, kind): plain(labels[place]) for kind, place in takes.items() if place is not None}
    homes = [(column.name, plain(column.declared.labels[column.home])) for column in question.grouping.columns if column.home is not None]
    return found | {(name, kind): label for name, label in homes for kind in takes}


def _codes(tally: Tallied) -> Counts:
    """The codes of answers that occur: those of the declared categories, and beyond them of undeclared and missing ones."""
    return tally.tally.codes % (len(tally.question.declared.labels) + 2)


def _is_homeless(tally: Tallied) -> bool:
    """Return whether answers or groups have no place, and nothing is in the way before that."""
    declared, takes = tally.question.declared, tally.question.takes
    if tally.tally.bad_weights or tally.tally.nameless:
        return False
    codes = [code for option, code in (("other", declared.other), ("nulls", declared.missing)) if takes[option] is None]
    return bool(tally.tally.troubles) or bool(np.isin(_codes(tally), codes).any())


def _missing(tally: Tallied, unplaced: Tallied) -> tuple[str, ...]:
    question = tally.question
    groups = (question.grouping.columns[place].name for place, is_null in unplaced.tally.troubles if is_null)
    return (*((question.column,) if (_codes(tally) == question.declared.missing).any() else ()), *groups)


def _hint(tally: Tallied) -> str:
    """Return the advice about a column of numbers."""
    declared, occurs = tally.question.declared, (_codes(tally) == tally.question.declared.other).any()
    if declared.rule is not None:
        return declared.rule.outside if occurs and tally.question.takes["other"] is None else ""
    if declared.has_whole_numbers:
        return "a number is compared as it is written, so 1.0 is not 1" if occurs and tally.kind == "text" else ""
    return _IS_NUMBERS if tally.kind in _NUMBER_KINDS else ""
