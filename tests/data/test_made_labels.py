"""Months and years of dates: the same in every engine as Python's calendar says, and refused where a date has no place."""

import datetime
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import discreet as dc
from discreet.data.made_labels import MadeLabels, typed_labels
from discreet.errors import InvalidInputError, SourceError
from discreet.requests.release import ReleaseRequest
from tests.data.test_several_tables import ENGINES

DAYS = [datetime.date(2025, 12, 31), *(datetime.date(2026, month, day) for month in (1, 2, 2, 11, 12) for day in (1, 28)), None]
INSIDE = [day for day in DAYS if day is not None and day.year == 2026]


def _column(form: str, days: list[datetime.date | None]) -> pa.Array:
    if form == "date":
        return pa.array(days, pa.date32())
    if form == "time":
        return pa.array(
            [None if day is None else datetime.datetime.combine(day, datetime.time(23, 59)) for day in days], pa.timestamp("us")
        )
    end = {"text": "", "text with a time": " 23:59:00"}[form]
    return pa.array([None if day is None else f"{day.isoformat()}{end}" for day in days])


@pytest.mark.parametrize("form", ["date", "time", "text", "text with a time"])
@pytest.mark.parametrize("engine", ENGINES)
def test_months_and_years_are_those_of_the_calendar(engine: str, form: str) -> None:
    rows = pa.table({"day": _column(form, DAYS), "answer": ["y", "n"] * (len(DAYS) // 2)})
    table = rows.to_pandas(date_as_object=False) if engine == "pandas" else ENGINES[engine](rows)
    months = dc.Months("2025-12", "2026-12", missing="no date")
    found = dc.count(table, "day", months)
    expected = [sum(day is not None and f"{day:%Y-%m}" == label for day in DAYS) for label in months[:-1]]
    assert found.counts.tolist() == [*expected, DAYS.count(None)]
    years = dc.Years(2024, 2026, missing="no date")
    by = dc.count(table, "answer", ["y", "n"], by={"day": years})
    answers = ["y", "n"] * (len(DAYS) // 2)
    for row, year in zip(by.counts.tolist(), [2024, 2025, 2026, None], strict=True):
        mine = [answer for answer, day in zip(answers, DAYS, strict=True) if (None if day is None else day.year) == year]
        assert row == [mine.count("y"), mine.count("n")]


def test_a_month_off_by_one_would_be_seen() -> None:
    table = pa.table({"day": _column("date", list(INSIDE))})
    found = dc.count(table, "day", dc.Months("2026-01", "2026-12")).counts.tolist()
    shifted = dc.count(table, "day", dc.Months("2026-02", "2027-01"), other="2027-01").counts.tolist()
    assert found != shifted


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_no_date_has_no_month(engine: str) -> None:
    texts = ["2026-11", "2026-13-01", "2026-1-01", "18.11.2026", "2026", "", "x", "99999999999-01", " 2026-11-02 "]
    found = dc.count(ENGINES[engine](pa.table({"day": texts})), "day", dc.Months("2026-11", "2026-12", "none"), other="2026-12")
    assert found.counts.tolist() == [2, 6, 1]
    years = dc.count(ENGINES[engine](pa.table({"day": texts})), "day", dc.Years(2026, 2027, "none"), other="2027")
    assert years.counts.tolist() == [3, 5, 1]


def test_years_of_whole_numbers_and_of_one_per_person() -> None:
    table = pa.table({"born": pa.array([1990, 1991, 1991, None], pa.int16()), "who": [1, 1, 2, 3]})
    assert dc.count(table, "born", dc.Years(1990, 1991, missing="?")).counts.tolist() == [1, 2, 1]
    assert dc.count(table, "born", dc.Years(1990, 1991, missing="?"), privacy_id="who").counts.tolist() == [1, 1, 1]


def test_strictly_a_date_decides_nothing() -> None:
    texts = pa.table({"day": ["2026-11-01", "nonsense", None, "2030-01-01"]})
    found = dc.count(texts, "day", dc.Months("2026-11", "2026-12", missing="none"), other="none", strict=True)
    assert found.counts.tolist() == [1, 0, 3]


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array([datetime.datetime(2026, 11, 1, tzinfo=datetime.UTC)]), "depends on the zone"),
        (pa.array([202611]), "the month of a row is that of a date"),
        (pa.array([True]), "the month of a row is that of a date"),
    ],
)
def test_columns_without_months_are_refused(column: pa.Array, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        dc.count(pa.table({"day": column}), "day", dc.Months("2026-11", "2026-12"))


def test_dates_without_a_place_are_refused_in_one_line_that_shows_none() -> None:
    rows = pd.DataFrame({"day": pd.Series(["2026-11-01", "2027-03-05", None], dtype="datetime64[ns]"), "a": ["y", "n", "y"]})
    with pytest.raises(SourceError) as refused:
        dc.count(rows, "day", dc.Months("2026-01", "2026-12"))
    assert "dates before the first month" in str(refused.value)
    assert "missing=... makes a category of its own for missing dates" in str(refused.value)
    assert "or CATEGORY behind the rule" in refused.value.in_shell
    assert "2027" not in str(refused.value) + refused.value.in_shell
    with pytest.raises(SourceError, match="dates before the first month"):
        dc.count(rows.dropna(), "a", ["y", "n"], by={"day": dc.Months("2026-01", "2026-12")})
    with pytest.raises(SourceError, match="nulls"):
        dc.count(rows.drop(1), "a", ["y", "n"], by={"day": dc.Months("2026-01", "2026-12")})


@pytest.mark.parametrize(
    ("typed", "made"),
    [
        ("months:2026-11..2027-01", dc.Months("2026-11", "2027-01")),
        ("years:1999..2001 or not known", dc.Years("1999", 2001, missing="not known")),
        ("bands:18,35.5,55 or unknown", dc.Bands([18, "35.5", 55], missing="unknown")),
    ],
)
def test_a_rule_is_typed_as_it_is_made(typed: str, made: MadeLabels) -> None:
    found = typed_labels(typed)
    assert found == made
    assert isinstance(found, type(made))
    assert found.missing == made.missing
    assert made.typed() == typed
    assert eval(made.code(), {"dc": dc}) == made  # noqa: S307 - what it wrote itself
    copy = pickle.loads(pickle.dumps(made))  # noqa: S301 - our own
    assert (copy, copy.missing, copy.typed()) == (made, made.missing, typed)


@pytest.mark.parametrize(
    "wrong",
    ["months:2026-13..2027-01", "months:2027-01..2026-12", "months:2026", "years:2026-01..2027-02", "years:26..27", "bands:1", "bands:a,b"],
)
def test_a_rule_that_makes_no_labels_is_refused_in_one_line(wrong: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        typed_labels(wrong)
    assert "\n" not in str(refused.value)


def test_lists_are_no_rules() -> None:
    assert typed_labels("yes,no") is None
    assert typed_labels("monthsly") is None


def _asked(**options: Any) -> ReleaseRequest:
    return ReleaseRequest.read({"file": "visits.csv", "column": "answer", "categories": "y,n", "epsilon": "1", **options}, "shell")


def test_a_question_with_rules_is_typed_and_written_in_python_as_it_was_asked() -> None:
    asked = _asked(by=["day=months:2026-01..2026-03 or no date", "age=bands:18,35,55"])
    assert asked.by is not None
    assert asked.by.labels[0] == ("2026-01", "2026-02", "2026-03", "no date")
    assert asked.shell_words() is not None
    words = dict(zip(*[iter((asked.shell_words() or ([], []))[1])] * 2, strict=True))
    assert words["--by"] == "age=bands:18,35,55"
    assert "by={'day': dc.Months('2026-01', '2026-03', missing='no date'), 'age': dc.Bands([18, 35, 55])}" in asked.python()
    dates = _asked(column="day", categories="months:2026-01..2026-03")
    assert "dc.count('visits.csv', 'day', dc.Months('2026-01', '2026-03'))" in dates.python()
    form = ReleaseRequest.read(
        {"file": "visits.csv", "column": "day", "categories": "years:2020..2022", "epsilon": "1", "by": "age=bands:18,35"}, "form"
    )
    assert list(form.categories) == ["2020", "2021", "2022"]
    assert form.by is not None
    assert isinstance(form.by.labels[0], dc.Bands)


def test_groups_of_a_request_are_counted_by_their_rules() -> None:
    rows = pa.table({"answer": ["y", "n", "y"], "day": ["2026-01-05", "2026-02-05", None], "age": [20, 40, 60]})
    found = _asked(by=["day=months:2026-01..2026-02 or no date", "age=bands:18,35"]).counted(rows)
    assert np.asarray(found).tolist() == [[1, 0], [0, 0], [0, 0], [0, 1], [0, 0], [1, 0]]


def test_more_months_than_a_release_reads_are_labels() -> None:
    assert len(dc.Months("1926-01", "2026-12")) == 12 * 101
    with pytest.raises(InvalidInputError, match="the last of months"):
        dc.Months("2026-12", "2026-11")
