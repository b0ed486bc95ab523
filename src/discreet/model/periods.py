"""Periods: days, months, quarters and years, each spelt in one way, and runs of them that a release reads.

The period of a row is a public function of the row alone, the date that is written in it, and never of when the row arrived.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Literal, Self, cast, get_args

from discreet import limits
from discreet.errors import InvalidInputError
from discreet.validation import shown

Every = Literal["day", "month", "quarter", "year"]
EVERY: tuple[Every, ...] = get_args(Every)
_SPELLINGS = {
    "year": re.compile(r"(?P<year>[0-9]{4})"),
    "quarter": re.compile(r"(?P<year>[0-9]{4})-Q(?P<quarter>[1-4])"),
    "month": re.compile(r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})"),
    "day": re.compile(r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"),
}
_UP_TO = ".."
HOW_SPELT = "2026, 2026-Q4, 2026-11 or 2026-11-18, or two of a kind with .. between, such as 2026-01..2026-03"


@dataclass(frozen=True)
class PeriodRange:
    """One period, or several of a kind that follow each other. `PeriodRange.read` makes them of text.

    >>> list(map(str, PeriodRange.read("2025-12..2026-02")))
    ['2025-12', '2026-01', '2026-02']
    """

    every: Every
    first: date
    """The first day of the first period."""
    last: date
    """The first day of the last period."""

    def __post_init__(self) -> None:
        """Refuse what `read` never makes: a period that is written in two ways would be two accounts of a budget."""
        check_every(self.every)
        for day in (self.first, self.last):
            if type(day) is not date or _day(self.every, _number(self.every, day)) != day:
                raise InvalidInputError(f"a run of periods has two ends that are the first days of a {self.every}; got {shown(str(day))!r}")
        if self.first > self.last:
            raise _refusal("period", _order(self.every, self.first, self.last))

    @classmethod
    def read(cls, text: Any, name: str = "period") -> Self:
        """The periods that a text names; InvalidInputError for any other spelling, so that no period has two."""
        parts = text.split(_UP_TO) if isinstance(text, str) else []
        found = [one for one in map(named, parts) if one is not None]
        if not 1 <= len(parts) <= 2 or len(found) < len(parts) or len({every for every, _ in found}) > 1:
            raise _refusal(name, f"must be spelt as {HOW_SPELT}; got {shown(text)!r}")
        (every, first), (_, last) = found[0], found[-1]
        if first > last or (len(parts) == 2 and first == last):
            raise _refusal(name, _order(every, first, last))
        run = cls(every, first, last)
        run.check_size(name)
        return run

    def check_size(self, name: str = "period") -> None:
        """Refuse more periods than a release reads."""
        if len(self) > limits.PERIODS:
            raise _refusal(name, f"has at most {limits.PERIODS} {self.every}s; got {len(self):,}")

    def __str__(self) -> str:
        ends = dict.fromkeys((self.first, self.last))
        return _UP_TO.join(_spelt(self.every, day) for day in ends)

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator["PeriodRange"]:
        """Each of the periods by itself."""
        return (PeriodRange.numbered(self.every, number) for number in self.numbers)

    @property
    def numbers(self) -> range:
        """The number of each of the periods, which rises by one from each to the next."""
        return range(_number(self.every, self.first), _number(self.every, self.last) + 1)

    @classmethod
    def numbered(cls, every: Every, number: int) -> Self:
        """The period with this number."""
        day = _day(every, number)
        return cls(every, day, day)

    def __contains__(self, other: "PeriodRange") -> bool:
        return self.every == other.every and self.first <= other.first and other.last <= self.last

    def has_begun(self, now: datetime) -> bool:
        """Return whether the last of them has begun somewhere: clocks are up to 14 hours ahead of UTC."""
        return self.last <= (now + timedelta(hours=14)).date()

    @property
    def end(self) -> date:
        """The first day after all of them; the last day that there is, for the year 9999."""
        return _day(self.every, self.numbers.stop)


def check_every(value: Any) -> Every:
    """The kind of period, or InvalidInputError."""
    if value not in EVERY:
        raise InvalidInputError(f"every must be {', '.join(map(repr, EVERY[:-1]))} or {EVERY[-1]!r}, got {shown(value)!r}")
    return cast("Every", value)


def named(text: str) -> tuple[Every, date] | None:
    """The kind and the first day of the period with this name; None if it is no name."""
    for every, spelling in _SPELLINGS.items():
        if found := spelling.fullmatch(text):
            parts = {name: int(digits) for name, digits in found.groupdict().items()}
            month = parts.get("month", 3 * parts.get("quarter", 1) - 2)
            try:
                return cast("Every", every), date(parts["year"], month, parts.get("day", 1))
            except ValueError:
                return None
    return None


def _spelt(every: Every, day: date) -> str:
    """The name of the period that begins with a day."""
    year = f"{day.year:04}"
    return {"year": year, "quarter": f"{year}-Q{(day.month + 2) // 3}", "month": f"{year}-{day.month:02}", "day": day.isoformat()}[every]


_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def _number(every: Every, day: date) -> int:
    """The number of the period that begins with a day, which rises by one from each to the next."""
    return day.toordinal() if every == "day" else (12 * day.year + day.month - 1) // _MONTHS[every]


def _day(every: Every, number: int) -> date:
    """The first day of the period with a number; the last day that there is, for one that is beyond the calendar."""
    if every == "day":
        return date.fromordinal(min(number, date.max.toordinal()))
    year, month = divmod(_MONTHS[every] * number, 12)
    return date(year, month + 1, 1) if year <= date.max.year else date.max


def _order(every: Every, first: date, last: date) -> str:
    """Return the message about two ends that are in the wrong order, or the same."""
    return (
        f"has two ends, the earlier one first, such as 2026-01..2026-03; got {_UP_TO.join(_spelt(every, day) for day in (first, last))!r}"
    )


def _refusal(name: str, fault: str) -> InvalidInputError:
    return InvalidInputError(f"{name} {fault}", in_shell=f"--period {fault}")
