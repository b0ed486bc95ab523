"""Rows of some periods alone, by the date that is written in them: a public rule, which looks at nothing but the row."""

from datetime import date

import narwhals.stable.v2 as nw

from discreet.data.made_labels import DateLabels
from discreet.model.periods import PeriodRange

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
