"""What a study answers: to its curator alone what was found in the data, and to anybody how wide its intervals will be."""

from dataclasses import dataclass
from fractions import Fraction

from discreet.text import plain

PRIVATE = "private: do not publish"
SHOWN_SPELLINGS = 20
"""Spellings that are shown of a column."""
_REMEDY = (
    "a spelling that is wrong goes into the study's corrections; other, nulls, na_values and other_groups of a table give a place to what "
    "is no answer; declare no category because it is listed here: that somebody gave it would be published"
)
"""What a curator may do about values that are not declared."""


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
                shown = ", ".join(f"'{plain(text)}'" for text in spellings[:SHOWN_SPELLINGS]) + (
                    ", ..." if len(spellings) > SHOWN_SPELLINGS else ""
                )
                lines.append(f"{table.name}: column {plain(column)!r} has values that are not declared: {shown}")
            lines += [f"{table.name}: column {plain(column)!r} has missing values" for column in table.is_missing]
            lines += [f"{table.name}: its column holds numbers: declare bands, or every number that occurs"] * table.holds_numbers
            lines.append(f"{table.name}: {'would be released' if table.refusal is None else f'would be refused: {table.refusal}'}")
        if any(table.refusal is not None and table.undeclared for table in self.tables):
            lines.append(_REMEDY)
        return "\n".join(lines)


@dataclass(frozen=True)
class TablePlan:
    """The expected width of one table's intervals."""

    name: str
    records: int
    """In all."""
    groups: int
    epsilon: Fraction
    width: float
    """The expected width of 95 % intervals, in one group if there are groups; averaged over the categories."""
    plain: float
    """The same without privacy."""

    @property
    def price(self) -> float:
        """How many times as wide the intervals are as without privacy."""
        return self.width / self.plain


@dataclass(frozen=True)
class StudyPlan:
    """Widths by the study's split of ε, and by one with which privacy widens all tables about equally."""

    declared: tuple[TablePlan, ...]
    even: tuple[TablePlan, ...]
    """With another split of the same ε."""
