"""Labels that a public rule makes of numbers or dates: bands, months and years. No value is compared with such a label.

Where labels are typed, a rule is written as in `bands:18,35,55`, `months:2026-01..2026-12` or `years:2020..2026`, and behind it may stand
` or NAME` for what is missing.
"""

import re
from collections.abc import Iterable
from datetime import date
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, Self

import narwhals.stable.v2 as nw

from discreet.errors import InvalidInputError
from discreet.model.periods import Every, PeriodRange, named
from discreet.text import shown
from discreet.validation import exact, items_of


class MadeLabels(tuple[str, ...]):
    """The labels that a rule makes, in their order, and last the one of missing values if it has a name."""

    missing: str | None
    """The label of missing values; None if they have none."""
    made_of: ClassVar[str]
    """The values that the column must hold, in the words of a message."""
    outside: ClassVar[str]
    """The values that have no label, in the words of a message."""
    missing_in_shell: ClassVar[str] = "or CATEGORY behind the rule"
    """The way in which a shell gives missing values a label."""

    @classmethod
    def _labelled(cls, labels: list[str], missing: str | None) -> Self:
        """The labels with the one of missing values, which must be another."""
        if missing is not None and (not isinstance(missing, str) or not missing.strip() or missing in (*labels, "error")):
            raise InvalidInputError(f"missing must be the name of a category of its own, such as 'no answer'; got {shown(missing)!r}")
        made = super().__new__(cls, labels if missing is None else [*labels, missing])
        made.missing = missing
        return made

    def check_type(self, column: str, dtype: nw.dtypes.DType) -> None:
        """Refuse a column whose values this rule cannot be applied to."""
        raise NotImplementedError

    def position(self, value: nw.Expr, dtype: nw.dtypes.DType, other: int) -> nw.Expr:
        """The index of a value's label, or `other` where it has none; what it is for a null does not matter."""
        raise NotImplementedError

    def written(self) -> tuple[str, list[str]]:
        """The rule as it is typed, without what is missing, and the arguments of Python that make it."""
        raise NotImplementedError

    def typed(self) -> str:
        """The rule as it is typed where labels are."""
        return f"{type(self).__name__.lower()}:{self.written()[0]}{'' if self.missing is None else f' or {self.missing}'}"

    def code(self) -> str:
        """The rule in Python."""
        missing = [] if self.missing is None else [f"missing={self.missing!r}"]
        return f"dc.{type(self).__name__}({', '.join([*self.written()[1], *missing])})"


def _is_text(dtype: nw.dtypes.DType) -> bool:
    return isinstance(dtype, (nw.String, nw.Categorical, nw.Enum))


def _matching(text: nw.Expr, pattern: str, instead: str) -> tuple[nw.Expr, nw.Expr]:
    """A text, or another one where it does not match, and whether it does."""
    is_match = text.str.contains(pattern)
    return nw.when(is_match).then(text).otherwise(nw.lit(instead)), is_match


class Bands(MadeLabels):
    """Bands of numbers, each from one limit to below the next and the last without an end: their labels, in this order.

    `missing` names one more category, for missing numbers.

    >>> Bands([0, 1, 3])
    ('0 to under 1', '1 to under 3', '3 and more')
    >>> Bands([0, 1], missing="no answer")
    ('0 to under 1', '1 and more', 'no answer')
    """

    lows: tuple[Fraction, ...]
    """The beginning of each band, exactly."""
    made_of = "numbers"
    outside = "numbers below the first band have no band, and neither has a text that is no number"
    missing_in_shell = "--missing CATEGORY"

    def __new__(cls, lows: Iterable[Any], missing: str | None = None) -> "Bands":
        """Make the bands of these limits, which must rise."""
        given = items_of(lows)
        if given is None or len(given) < 2:
            raise InvalidInputError("bands must be the limits from which bands begin, two or more numbers, such as [0, 1, 3, 7]")
        numbers = tuple(exact(low, "a limit of bands") for low in given)
        if any(low >= high or float(low) >= float(high) for low, high in pairwise(numbers)):
            raise InvalidInputError(f"bands must rise from each limit to the next; got {shown(list(map(str, given)))}")
        texts = list(map(_decimal, numbers))
        made = cls._labelled([*(f"{low} to under {high}" for low, high in pairwise(texts)), f"{texts[-1]} and more"], missing)
        made.lows = numbers
        return made

    def __getnewargs__(self) -> tuple[tuple[Fraction, ...], str | None]:
        return self.lows, self.missing

    def check_type(self, column: str, dtype: nw.dtypes.DType) -> None:
        """Refuse a column that holds neither numbers nor text."""
        if not (dtype.is_numeric() or _is_text(dtype)):
            kind = type(dtype).__name__
            raise InvalidInputError(f"column {column!r} has type {kind}; bands are made of numbers, also of those written as text")

    def position(self, value: nw.Expr, dtype: nw.dtypes.DType, other: int) -> nw.Expr:
        """The band that a number is in. Numbers are compared as 64-bit floats."""
        number, is_number = value, nw.lit(True)
        if _is_text(dtype):
            number, is_number = _matching(value, _NUMBER_TEXT, "0")
        code = nw.lit(other)
        for position, low in enumerate(map(float, self.lows)):
            code = nw.when(number.cast(nw.Float64) >= nw.lit(low)).then(nw.lit(position)).otherwise(code)
        return nw.when(is_number).then(code).otherwise(nw.lit(other))

    def written(self) -> tuple[str, list[str]]:
        """The limits, separated by commas; in Python whole ones are numbers and others texts, which are read exactly."""
        texts = list(map(_decimal, self.lows))
        numbers = (text if low.denominator == 1 else repr(text) for text, low in zip(texts, self.lows, strict=True))
        return ",".join(texts), [f"[{', '.join(numbers)}]"]


_NUMBER_TEXT = r"^[-+]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][-+]?[0-9]{1,2})?$"


def _decimal(number: Fraction) -> str:
    """A limit as it is written: a whole number, a decimal or, if it is neither, a fraction."""
    return str(number) if Fraction(repr(float(number))) != number or number.denominator == 1 else repr(float(number))


_NUMBERS = (nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32)
"""Types all of whose values a 64-bit integer holds."""


class DateLabels(MadeLabels):
    """Labels of dates, by the periods that they are of."""

    period: PeriodRange
    made_of = "dates"
    _types: ClassVar[tuple[type[nw.dtypes.DType], ...]] = (nw.Date, nw.Datetime)
    """The types that a column may have beside text."""
    _written_like: ClassVar[str] = "2026-11-18"
    """An example of a date as text, for messages."""
    _pattern: ClassVar[str]
    """The pattern of a date as text: four digits of the year, then those of the month and of the day, where they are looked at."""

    def check_type(self, column: str, dtype: nw.dtypes.DType) -> None:
        """Refuse a column that holds neither dates nor text, and one of moments, whose date depends on a time zone."""
        if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
            raise InvalidInputError(
                f"column {column!r} has times with a time zone, and of which period one is depends on the zone: make it a date first"
            )
        if not (isinstance(dtype, self._types) or _is_text(dtype)):
            raise InvalidInputError(
                f"column {column!r} has type {type(dtype).__name__}; the {self.period.every} of a row is that of a date, also of one that "
                f"is written as text like {self._written_like}"
            )

    def _parts(self, value: nw.Expr, dtype: nw.dtypes.DType) -> tuple[nw.Expr, nw.Expr, nw.Expr]:
        """Year, month and day; the year is 0, which is before all periods, for a text that is no date. A whole number is a year."""
        if _is_text(dtype):
            text, _ = _matching(value.cast(nw.String()), self._pattern, "0000-00-00")
            year, month, day = text.str.slice(0, 4), text.str.slice(5, 2), text.str.slice(8, 2)
        elif isinstance(dtype, _NUMBERS):
            year, month, day = value, nw.lit(0), nw.lit(0)
        else:  # a null is a float in some engines, which no integer is made of
            year, month, day = value.dt.year().fill_null(0), value.dt.month().fill_null(0), value.dt.day().fill_null(0)
        return year.cast(nw.Int64), month.cast(nw.Int64), day.cast(nw.Int64)


_DAYS = "(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31"
"""The days that every year has; a 30th of February would be of no day, and no release of a day would read its row."""
_LEAP_YEARS = "[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00"


class InPeriod(DateLabels):
    """One label, for the dates of a run of periods. Rows of other dates are left out, and those without a date are in the way."""

    outside = "a row without a date that is written like 2026-11-18 is of no period"
    _pattern = f"^(?:[0-9]{{4}}-(?:{_DAYS})|(?:{_LEAP_YEARS})-02-29)(?:[T ].*)?$"

    def __new__(cls, period: PeriodRange) -> "InPeriod":
        """Make the label of these periods."""
        made = cls._labelled([str(period)], None)
        made.period = period
        return made

    def __getnewargs__(self) -> tuple[PeriodRange]:
        return (self.period,)

    def is_elsewhere(self, value: nw.Expr, dtype: nw.dtypes.DType) -> nw.Expr:
        """Return whether a value is a date of another period: neither a null nor what is no date is one."""
        number = self._numbered(value, dtype)
        return ((number > 0) & ~self._is_inside(number)).fill_null(value=False)

    def position(self, value: nw.Expr, dtype: nw.dtypes.DType, other: int) -> nw.Expr:
        """0 for a date of the periods, and `other` for whatever else."""
        return nw.when(self._is_inside(self._numbered(value, dtype))).then(nw.lit(0)).otherwise(nw.lit(other))

    def _is_inside(self, number: nw.Expr) -> nw.Expr:
        """Return whether the number of a day is in the periods, the last of which may end with the calendar."""
        end = self.period.end
        first, last = (10_000 * day.year + 100 * day.month + day.day for day in (self.period.first, end))
        return (number >= first) & ((number <= last) if end == date.max else (number < last))

    def _numbered(self, value: nw.Expr, dtype: nw.dtypes.DType) -> nw.Expr:
        """A day as the whole number that its digits make, 20261118; 0 for a text that is no date."""
        year, month, day = self._parts(value, dtype)
        return year * 10_000 + month * 100 + day


class Periods(DateLabels):
    """Months or years that follow one another, from the first to the last."""

    _every: ClassVar[Every]
    _such: ClassVar[tuple[str, str]]
    """A first and a last one, for messages."""

    def __new__(cls, first: Any, last: Any, missing: str | None = None) -> Self:
        """Make the periods from the first to the last."""
        ends = cls._begin(first), cls._begin(last)
        if ends[0] > ends[1]:
            raise InvalidInputError(f"the last of {cls.__name__.lower()} must not be before the first; got {shown(f'{first}..{last}')}")
        period = PeriodRange(cls._every, *ends)
        made = cls._labelled(list(map(str, period)), missing)
        made.period = period
        return made

    @classmethod
    def _begin(cls, given: Any) -> date:
        """The first day of a period."""
        every, day = named(str(given)) or (None, date.min)
        if every != cls._every:
            name, like = cls.__name__.lower(), cls._such
            raise InvalidInputError(
                f"{name} must be the first and the last, such as {like[0]} and {like[1]} (where labels are typed, "
                f"{name}:{like[0]}..{like[1]}); got {shown(given)!r}"
            )
        return day

    @property
    def _ends(self) -> tuple[str, str]:
        return self[0], self[len(self.period) - 1]

    def __getnewargs__(self) -> tuple[str, str, str | None]:
        return *self._ends, self.missing

    def position(self, value: nw.Expr, dtype: nw.dtypes.DType, other: int) -> nw.Expr:
        """Return how many periods after the first one a date is, if it is in one of them."""
        (year, month, _), first = self._parts(value, dtype), self.period.first
        after = year - first.year if self._every == "year" else (year - first.year) * 12 + month - first.month
        return nw.when((after >= 0) & (after < len(self.period))).then(after).otherwise(nw.lit(other))

    def written(self) -> tuple[str, list[str]]:
        """The first and the last, with two dots between them."""
        return "..".join(self._ends), [repr(end) for end in self._ends]


class Months(Periods):
    """The months from the first to the last, both written as 2026-11: their labels, in this order.

    The column holds dates, times without a zone, or text that begins like 2026-11-18. `missing` names one more category, for missing
    dates.

    >>> Months("2026-11", "2027-01")
    ('2026-11', '2026-12', '2027-01')
    """

    outside = "dates before the first month or after the last have no month, and neither has a text that is not like 2026-11-18"
    _every = "month"
    _such = "2026-01", "2026-12"
    _pattern = "^[0-9]{4}-(?:0[1-9]|1[0-2])(?:-[0-9]{2}.*)?$"


class Years(Periods):
    """The years from the first to the last: their labels, in this order.

    The column holds dates, times without a zone, whole numbers, or text that is a year or begins like 2026-11-18. `missing` names one
    more category, for missing dates.

    >>> Years(2025, 2027, missing="unknown")
    ('2025', '2026', '2027', 'unknown')
    """

    outside = "dates before the first year or after the last have no year, and neither has a text that is not like 2026 or 2026-11-18"
    _types = *DateLabels._types, *_NUMBERS
    _every = "year"
    _such = "2020", "2026"
    _written_like = "2026 or 2026-11-18"
    _pattern = "^[0-9]{4}(?:-(?:0[1-9]|1[0-2])(?:-[0-9]{2}.*)?)?$"


_TYPED = re.compile(r"(bands|months|years):(.*?)(?: or (.*))?", re.DOTALL)


def typed_labels(text: str) -> MadeLabels | None:
    """The labels of the rule that was typed; None for a text that is no rule, such as a list of labels."""
    found = _TYPED.fullmatch(text.strip())
    if found is None:
        return None
    rule, listed, missing = found.groups()
    if rule == "bands":
        return Bands([part.strip() for part in listed.split(",")], missing)
    first, _, last = (part.strip() for part in listed.partition(".."))
    return {"months": Months, "years": Years}[rule](first, last, missing)
