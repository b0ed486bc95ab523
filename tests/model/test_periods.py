"""Periods have one spelling each. Oracle: the days of the calendar, one by one."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidInputError
from discreet.model.periods import EVERY, Every, PeriodRange, check_every


def named(every: Every, day: date) -> str:
    """The period of a day, by the calendar."""
    quarter = {1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 6: 2, 7: 3, 8: 3, 9: 3, 10: 4, 11: 4, 12: 4}[day.month]
    return {"day": f"{day}", "month": f"{day}"[:7], "quarter": f"{day}"[:4] + f"-Q{quarter}", "year": f"{day}"[:4]}[every]


@pytest.mark.parametrize("every", EVERY)
@given(first=st.dates(date(1900, 1, 1), date(2100, 1, 1)), days=st.integers(0, 390))
def test_a_run_has_just_the_periods_of_its_days(every: Every, first: date, days: int) -> None:
    calendar = list(dict.fromkeys(named(every, first + timedelta(day)) for day in range(days + 1)))
    text = calendar[0] if len(calendar) == 1 else f"{calendar[0]}..{calendar[-1]}"
    found = PeriodRange.read(text)
    assert (found.every, str(found), len(found)) == (every, text, len(calendar))
    assert [str(one) for one in found] == calendar
    assert all(one in found and len(one) == 1 for one in found)
    assert named(every, found.end) not in calendar
    assert named(every, found.end - timedelta(1)) == calendar[-1]


@pytest.mark.parametrize(
    "text",
    [
        "2026-1",
        "2026-13",
        "2026-00",
        "Nov 2026",
        "11/2026",
        "2026-11 ",
        "26-11",
        "２０２６-11",
        "2026-q4",
        "2026-Q5",
        "2026Q4",
        "2026-02-30",
        "0000",
        "2026-W05",
        "2026-11-18T00:00+02:00",
        "",
        "..",
        "2026-01..",
        "2026-01..2026-Q2",
        "2026-03..2026-01",
        "2026-03..2026-03",
        "2026-01..2026-02..2026-03",
        "1000..2026",
        None,
        2026,
        date(2026, 11, 1),
    ],
)
def test_any_other_spelling_is_refused_in_one_line(text: object) -> None:
    with pytest.raises(InvalidInputError, match=r"^period (must be spelt as 2026|has )") as caught:
        PeriodRange.read(text)
    assert "\n" not in str(caught.value)


def test_the_last_year_ends_with_the_calendar() -> None:
    assert [str(one) for one in PeriodRange.read("9998..9999")] == ["9998", "9999"]
    assert [str(one) for one in PeriodRange.read("9999-11..9999-12")] == ["9999-11", "9999-12"]
    assert [str(one) for one in PeriodRange.read("9999-12-30..9999-12-31")] == ["9999-12-30", "9999-12-31"]
    assert PeriodRange.read("9999").end == date.max


def test_the_kinds_of_periods() -> None:
    assert [check_every(every) for every in ("day", "month", "quarter", "year")] == list(EVERY)
    for other in ("week", "Month", "", None, 30):
        with pytest.raises(InvalidInputError, match="'day', 'month', 'quarter' or 'year'"):
            check_every(other)


def test_a_day_has_begun_where_clocks_are_furthest_ahead() -> None:
    """At 10 o'clock UTC on 30 November it is 1 December in Kiribati, and a minute earlier it is not."""
    first, second = PeriodRange.read("2025-12-01"), PeriodRange.read("2025-12-01..2025-12-02")
    assert first.has_begun(datetime(2025, 11, 30, 10, tzinfo=UTC))
    assert not first.has_begun(datetime(2025, 11, 30, 9, 59, tzinfo=UTC))
    assert not second.has_begun(datetime(2025, 11, 30, 10, tzinfo=UTC))
    assert PeriodRange.read("2025-12").has_begun(datetime(2025, 11, 30, 10, tzinfo=UTC))


@pytest.mark.parametrize(
    ("every", "first", "last"),
    [
        ("month", date(2026, 9, 2), date(2026, 9, 2)),
        ("month", date(2026, 9, 1), date(2026, 10, 2)),
        ("quarter", date(2026, 2, 1), date(2026, 2, 1)),
        ("year", date(2026, 2, 1), date(2026, 2, 1)),
        ("month", datetime(2026, 9, 1), datetime(2026, 9, 1)),
        ("month", "2026-09-01", "2026-09-01"),
        ("month", date(2026, 9, 1), date(2026, 8, 1)),
        ("week", date(2026, 9, 1), date(2026, 9, 1)),
        (["month"], date(2026, 9, 1), date(2026, 9, 1)),
    ],
)
def test_a_run_that_no_text_names_is_refused(every: Any, first: Any, last: Any) -> None:
    """Otherwise the second of September would be a month of its own, with a budget of its own."""
    with pytest.raises(InvalidInputError, match=r"^(a run of periods|period has|every must be)"):
        PeriodRange(every, first, last)


@pytest.mark.parametrize("every", EVERY)
@given(first=st.dates(), days=st.integers(0, 390))
def test_numbers_name_periods(every: Every, first: date, days: int) -> None:
    last = date.fromordinal(min(first.toordinal() + days, date.max.toordinal()))
    run = PeriodRange.read("..".join(dict.fromkeys((named(every, first).rjust(4, "0"), named(every, last)))))
    assert [PeriodRange.numbered(every, number) for number in run.numbers] == list(run)
    assert len(run.numbers) == len(run)
