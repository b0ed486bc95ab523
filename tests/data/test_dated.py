"""Rows of a period alone, in every engine. Oracle: the same rows picked by Python before they are counted."""

from calendar import monthrange
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.errors import InvalidInputError, SourceError
from discreet.model.periods import PeriodRange
from discreet.present.record import promise_lines

DAYS = [date(2025, 9, 25) + timedelta(17 * number % 140) for number in range(200)]
ROWS = [(f"p{number % 37}", ["never", "former", "current"][number % 3], ["n", "s"][number % 2], day) for number, day in enumerate(DAYS)]
LABELS = ["never", "former", "current"]
BY = {"region": ["n", "s"]}


def table(rows: list[Any], dates: Any = lambda day: day) -> pa.Table:
    who, smoking, region, days = zip(*rows, strict=True)
    return pa.table({"who": who, "smoking": smoking, "region": region, "date": [dates(day) for day in days]})


SOURCES: dict[str, Any] = {
    "arrow": table,
    "arrow text": lambda rows: table(rows, str),
    "arrow times": lambda rows: table(rows, lambda day: datetime(day.year, day.month, day.day, 23, 59, 59)),
    "text with times": lambda rows: table(rows, lambda day: f"{day}T23:59:59+02:00"),
    "text with blanks": lambda rows: table(rows, lambda day: f"{day} "),
    "polars": lambda rows: pl.from_arrow(table(rows)),
    "polars lazy": lambda rows: pl.LazyFrame(table(rows, str).to_pydict()),
    "pandas": lambda rows: table(rows, str).to_pandas(),
    "pandas times": lambda rows: table(rows).to_pandas().astype({"date": "datetime64[ns]"}),
    "duckdb": lambda rows: duckdb.from_arrow(table(rows)),
}


@pytest.mark.parametrize("by", [None, BY], ids=["variable", "table"])
@pytest.mark.parametrize("options", [{}, {"privacy_id": "who"}, {"one_row_per_person": True}], ids=["records", "ids", "one row"])
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("period", ["2025-11", "2025-Q4", "2025", "2025-10-10..2025-11-05"])
def test_only_rows_of_the_period_count(source: str, period: str, options: dict[str, Any], by: Any) -> None:
    run = PeriodRange.read(period)
    inside = [row for row in ROWS if run.first <= row[3] < run.end]
    assert 0 < len(inside) < len(ROWS)
    found = dc.count(SOURCES[source](ROWS), "smoking", LABELS, by=by, dated=("date", period), **options)
    expected = dc.count(table(inside), "smoking", LABELS, by=by, **options)
    assert found.counts.tolist() == expected.counts.tolist()
    assert found.rule is not None
    assert found.rule.dated == ("date", period)


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_file_is_read_once(tmp_path: Path, encoding: str) -> None:
    place = tmp_path / "rows.csv"
    place.write_text("\n".join(["who,smoking,date", *(f"{who},{smoking},{day}" for who, smoking, _, day in ROWS)]), encoding=encoding)
    expected = [sum(row[1] == label and str(row[3]).startswith("2025-11") for row in ROWS) for label in LABELS]
    assert dc.count(place, "smoking", LABELS, dated=("date", "2025-11"), encoding=encoding).counts.tolist() == expected
    with place.open("rb") as stream:
        assert dc.count(stream, "smoking", LABELS, dated=("date", "2025-11"), encoding=encoding).counts.tolist() == expected


def test_what_other_periods_say_is_not_looked_at() -> None:
    rows = [*ROWS, ("p1", "nonsense", "nowhere", date(2024, 1, 1))]
    assert dc.count(table(rows), "smoking", LABELS, dated=("date", "2025-11"), by=BY).total > 0
    with pytest.raises(SourceError):
        dc.count(table(rows), "smoking", LABELS, dated=("date", "2024-01"), by=BY)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (None, "column 'date' has nulls"),
        ("18.11.2025", "has values that are no dates"),
        ("2025-11", "no dates"),
        ("2025-13-01", "no dates"),
        ("2025-02-29", "no dates"),
        ("1900-02-29", "no dates"),
        ("2025-11-31", "no dates"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"privacy_id": "who"}, {"by": BY}], ids=["records", "ids", "table"])
def test_a_row_without_a_date_is_refused_and_not_dropped(bad: Any, words: str, options: dict[str, Any]) -> None:
    rows = [*((*row[:3], str(row[3])) for row in ROWS), ("p1", "never", "n", bad)]
    with pytest.raises(SourceError, match=rf"{words}.* never dropped"):
        dc.count(table(rows), "smoking", LABELS, dated=("date", "2025-11"), **options)


def test_every_day_of_the_calendar_is_a_date_and_no_other() -> None:
    """Python's calendar is the oracle, over all months and the four kinds of years."""
    for year in (1900, 2000, 2023, 2024):
        written = [f"{year}-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 32)]
        days = [day for day in written if int(day[8:]) <= monthrange(year, int(day[5:7]))[1]]
        rows = [("p1", "never", "n", day) for day in days]
        assert dc.count(table(rows), "smoking", LABELS, dated=("date", f"{year}-02-28")).counts.tolist() == [1, 0, 0]
        for day in set(written) - set(days):
            with pytest.raises(SourceError, match="no dates"):
                dc.count(table([*rows, ("p1", "never", "n", day)]), "smoking", LABELS, dated=("date", str(year)))


@pytest.mark.parametrize(
    ("dated", "options", "words"),
    [
        (("date", "Nov 2025"), {}, "period must be spelt as"),
        ("date", {}, "dated must be"),
        (("date", "2025-11"), {"strict": True, "nulls": "never", "other": "never"}, "strict and dated do not go together"),
        (("who", "2025-11"), {"privacy_id": "who"}, "other columns than"),
        (("day", "2025-11"), {}, "day"),
    ],
)
def test_other_declarations_are_refused(dated: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises((InvalidInputError, SourceError), match=words):
        dc.count(table(ROWS), "smoking", LABELS, dated=dated, **options)


def test_moments_and_numbers_have_no_date() -> None:
    moments = pd.DataFrame({"smoking": ["never"], "date": pd.to_datetime(["2025-11-30T23:30:00Z"])})
    with pytest.raises(InvalidInputError, match="time zone"):
        dc.count(moments, "smoking", LABELS, dated=("date", "2025-11"))
    with pytest.raises(InvalidInputError, match=r"Int64.* date"):
        dc.count(pa.table({"smoking": ["never"], "date": [20251130]}), "smoking", LABELS, dated=("date", "2025-11"))


@pytest.mark.parametrize("form", ["datetime64[ns]", "category"])
def test_a_missing_date_of_pandas_is_a_null(form: Any) -> None:
    rows = pd.DataFrame({"smoking": ["never", "former"], "date": pd.Series(["2025-11-01", None], dtype=form)})
    with pytest.raises(SourceError, match="'date' has nulls"):
        dc.count(rows, "smoking", LABELS, dated=("date", "2025-11"))
    assert dc.count(rows.dropna(), "smoking", LABELS, dated=("date", "2025-11")).counts.tolist() == [1, 0, 0]


def test_the_record_says_which_rows_were_left_out(tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.create("clinic", 1, unit="person", every="month")
    counts = dc.count(table(ROWS), "smoking", LABELS, "who", dated=("date", "2025-11"))
    mechanism = dc.LatticeGeometric(dc.Dirichlet([1, 1, 1], LABELS), counts.total, "0.1")
    for period in (None, "2025-12"):
        with pytest.raises(InvalidInputError, match=rf"2025-11, .*{period or 'no period'}"):
            ledger.release("clinic", mechanism, counts, period=period)
    release = ledger.release("clinic", mechanism, counts, period="2025-11", about=dc.About(title="Smoking"))
    assert release.about is not None
    assert isinstance(release.about.counting, dc.CountingRule)
    assert release.about.counting.dated == ("date", "2025-11")
    assert dc.Release.from_json(release.to_json()) == release
    assert dict(promise_lines(release, computed=False))["Period"].startswith(
        "2025-11, rows of other dates in 'date' were left out; protects"
    )
