"""The plan of a study: the widths of its tables' intervals, before anything is drawn, and the split of ε that treats the tables alike."""

from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING

from discreet.planning.noise_kinds import noise_kinds
from discreet.planning.table_widths import StudyPlan, TablePlan, group_width
from discreet.validation import check_records

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.requests.studies.study import Study, StudyTable

GUESSES = (1_000, 10_000, 100_000)
"""Numbers of records that are planned for where none is given."""


def plan(study: "Study", n: int | None = None) -> StudyPlan:
    """Widths for this number of records, or for several; groups are taken to be equally large, because their sizes are not known."""
    records = GUESSES if n is None else (check_records(n),)
    declared, even = [], []
    for number in records:
        here = [_planned(study, table, number, study.epsilons[table.name]) for table in study.tables]
        declared += here
        split = _even(here, study.epsilon)
        even += [_planned(study, table, number, split[table.name]) for table in study.tables] if len(here) > 1 else here
    return StudyPlan(tuple(declared), tuple(even), noise_kinds(len(study.tables), study.epsilon, public=study.public))


def _planned(study: "Study", table: "StudyTable", records: int, epsilon: Fraction) -> TablePlan:
    """Plan one table, whose groups are taken to be equally large."""
    asked, groups = study.request(table), len(table.groups)
    found = group_width(asked.prior, max(1, records // groups), epsilon, asked.public, groups)
    return TablePlan(table.name, records, groups, epsilon, float(found.width), float(found.plain))


def _even(tables: "list[TablePlan]", epsilon: Fraction) -> "Mapping[str, Fraction]":
    """The split of ε with which all tables have about the same price.

    The width of the noise by itself is about in proportion to 1/ε, and widths add up as squares: so the price is the same where ε is in
    proportion to ε√(price² - 1). Weights are rounded to a hundredth of the largest, so that they can be typed.
    """
    needs = [float(table.epsilon) * sqrt(max(table.price**2 - 1.0, 1e-6)) for table in tables]
    weights = [Fraction(max(1, round(100 * need / max(needs))), 100) for need in needs]
    return {table.name: epsilon * weight / sum(weights) for table, weight in zip(tables, weights, strict=True)}
