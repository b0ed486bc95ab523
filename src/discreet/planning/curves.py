"""Widths of intervals before anything is drawn: those of the noise alone, and expected ones against ε or the number of records.

With a public n an interval of the noise alone, for the shares of the records, is as wide as the reach of the noise over n, whatever the
data are (docs/howto/registers.md, docs/howto/planning.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, Literal

from discreet.errors import RefusedError
from discreet.model.dirichlet import Prior
from discreet.numerics.roots import bracket, narrowed, rounded_up, unit
from discreet.planning.comparison import Maker, maker, points
from discreet.planning.expected_widths import ExpectedWidth
from discreet.planning.width_plans import SEARCHED, WidthQuestion
from discreet.progress import Progress
from discreet.text import MASS, html_table
from discreet.validation import Number, Public, check_positive, check_public, check_records

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_EPSILON_DIGITS = 3
"""Significant digits of the ε that is found."""
_LEAST_EPSILON, _EPSILON_FACTOR = Fraction(1, 1000), 4
"""The least ε that is tried, and how many times as large the next one is."""


@dataclass(frozen=True)
class NoiseWidth:
    """The width of an interval of the noise alone for a share of n records, with probability 95 % or more."""

    mechanism: str
    make: Maker
    prior: Prior
    n: int
    epsilon: Fraction

    @property
    def reach(self) -> int:
        """Return how many records such an interval spans. Raises RefusedError where the noise depends on the data."""
        made = self.make(self.prior, self.n, self.epsilon)
        if made.noise is None:
            raise RefusedError(f"the noise of {made.title} depends on the data: there is no interval of the noise alone")
        low, high = made.noise.reach(1, made.k, 0.5 * (1.0 - MASS))
        return high - low

    @property
    def width(self) -> float:
        """The width of the interval in probability."""
        return min(1.0, self.reach / self.n)

    @property
    def sentence(self) -> str:
        """The plan in one sentence for a manager."""
        return (
            f"With ε = {float(self.epsilon):g} the intervals by the noise alone of shares of these {self.n:,} records will be "
            f"{points(self.width)} points wide, whatever the data are. There is no sampling error: without privacy they would be known."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values by name."""
        return {"mechanism": self.mechanism, "shares_of": "records", "n": self.n, "epsilon": float(self.epsilon), "width": self.width}


def noise_width(prior: Prior, mechanism: str | Maker, *, n: int | None, epsilon: Fraction | None, width: Fraction | None) -> NoiseWidth:
    """The width that n and ε give; or for a width the least n that ε asks for, or the least ε (to three digits) that n asks for.

    Of n, ε and the width two are given.
    """
    known = NoiseWidth(*maker(mechanism), prior, 1 if n is None else n, _LEAST_EPSILON if epsilon is None else epsilon)
    if width is None:
        return known
    if n is None:
        return replace(known, n=max(1, ceil(known.reach / width)))

    def width_at(level: Fraction) -> float:
        return replace(known, epsilon=level).width

    low, high = bracket(width_at, float(width), known.epsilon, lambda level, _: level * _EPSILON_FACTOR, lambda _: None)
    rounded, step = partial(rounded_up, digits=_EPSILON_DIGITS), partial(unit, digits=_EPSILON_DIGITS)
    best = high if low is None else narrowed(width_at, float(width), low, high, rounded, step)
    return replace(known, epsilon=best[0])


CURVE_LEVELS = tuple(Fraction(level) for level in ("0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10"))
CURVE_RECORDS = (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
_SYMBOLS = {"epsilon": "ε", "n": "n"}


@dataclass(frozen=True)
class WidthCurve:
    """The expected width against ε, or against n, with privacy and without."""

    mechanism: str
    across: Literal["epsilon", "n"]
    """The quantity against which the widths are given."""
    at: tuple[Fraction | int, ...]
    """The values of that quantity."""
    given: Fraction | int
    """The other of the two, which is the same for all widths."""
    widths: tuple[ExpectedWidth, ...]
    plain: tuple[ExpectedWidth, ...]
    """The widths without privacy."""
    public: Public = "total"

    @property
    def given_name(self) -> Literal["epsilon", "n"]:
        """Return which of the two is given."""
        return "n" if self.across == "epsilon" else "epsilon"

    def to_dicts(self) -> list[dict[str, Any]]:
        """A row for each ε or n."""
        return [
            {self.across: _plain(value), "width": float(w), "width_without_privacy": float(p), "price": w / p}
            | {"method": w.method, "standard_error": w.standard_error}
            for value, w, p in zip(self.at, self.widths, self.plain, strict=True)
        ]

    def cells(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Headings and formatted cells, for printing."""
        rows = zip(self.at, self.widths, self.plain, strict=True)
        headings = (_SYMBOLS[self.across], "width", "without privacy", "times as wide")
        return headings, [(_written(value), points(w), points(p), f"{w / p:.2f}") for value, w, p in rows]

    @property
    def caption(self) -> str:
        """The words that all rows have in common."""
        return f"{self.mechanism}, {_SYMBOLS[self.given_name]} = {_written(self.given)}: width of the 95 % intervals in points"

    def __str__(self) -> str:
        headings, rows = self.cells()
        lines = ["".join(cell.rjust(16) for cell in row).rstrip() for row in [headings, *rows]]
        return "\n".join([self.caption, *lines])

    def _repr_html_(self) -> str:
        return html_table(self.caption, *self.cells())

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """The width with and without privacy against ε or n."""
        from discreet.plotting import plot_widths

        known = "" if self.public == "total" else " (a guess)" if self.across == "epsilon" else " (n private)"
        title = f"How wide intervals will be: {self.mechanism}, {_SYMBOLS[self.given_name]} = {_written(self.given)}{known}"
        across = {"epsilon": "privacy parameter, ε", "n": "records, n"}[self.across]
        return plot_widths([_plain(value) for value in self.at], self.widths, self.plain, ax, across=across, title=title)


def _plain(value: Fraction | int) -> float | int:
    return value if isinstance(value, int) else float(value)


def _written(value: Fraction | int) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{float(value):g}"


def width_curve(
    prior: Prior,
    n: int,
    *,
    epsilons: Sequence[Number] = CURVE_LEVELS,
    mechanism: str | Maker = "LatticeGeometric",
    expect: Sequence[Number] | None = None,
    worst: bool = False,
    public: Public = "total",
    progress: Progress | None = None,
) -> WidthCurve:
    """Compute the expected width of the published 95 % intervals for several ε, and without privacy. No data are looked at.

    Args:
        prior, n: The prior and the number of records; with `public="nothing"` n is a guess.
        epsilons: The ε of the curve.
        mechanism, expect, worst, public, progress: As for `plan`.

    Returns a `WidthCurve`. Raises TooLargeError for what is not computed at this size.
    """
    ask = WidthQuestion(*maker(mechanism), prior, check_public(public), expect, worst, progress)
    records, levels = check_records(n), tuple(check_positive(level, "epsilon") for level in epsilons)
    widths = tuple(ask.width(records, level, SEARCHED) for level in levels)
    return WidthCurve(ask.name, "epsilon", levels, records, widths, (ask.plain(records),) * len(levels), ask.public)


def records_curve(
    prior: Prior,
    epsilon: Number,
    *,
    records: Sequence[int] = CURVE_RECORDS,
    mechanism: str | Maker = "LatticeGeometric",
    expect: Sequence[Number] | None = None,
    worst: bool = False,
    public: Public = "total",
    progress: Progress | None = None,
) -> WidthCurve:
    """Compute the expected width of the published 95 % intervals for several n, and without privacy. No data are looked at.

    Args:
        prior, epsilon: The prior and the ε of the release.
        records: The numbers of records of the curve.
        mechanism, expect, worst, public, progress: As for `plan`.

    Returns a `WidthCurve`. Raises TooLargeError for what is not computed at this size.
    """
    ask = WidthQuestion(*maker(mechanism), prior, check_public(public), expect, worst, progress)
    level, sizes = check_positive(epsilon, "epsilon"), tuple(check_records(n) for n in records)
    widths = tuple(ask.width(n, level, SEARCHED) for n in sizes)
    return WidthCurve(ask.name, "n", sizes, level, widths, tuple(ask.plain(n) for n in sizes), ask.public)
