"""The expected width of the published intervals against the number of records (docs/howto/planning.md)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.planning.comparison import Maker, Prior, maker, points
from discreet.planning.expected_widths import ExpectedWidth
from discreet.planning.width_plans import SEARCHED, WidthQuestion
from discreet.progress import Progress
from discreet.text import html_table
from discreet.validation import Number, Public, check_positive, check_public, check_records

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CURVE_RECORDS = (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)


@dataclass(frozen=True)
class RecordsCurve:
    """The expected width against n, with privacy and without."""

    mechanism: str
    epsilon: Fraction
    records: tuple[int, ...]
    widths: tuple[ExpectedWidth, ...]
    plain: tuple[ExpectedWidth, ...]
    public: Public = "total"

    def to_dicts(self) -> list[dict[str, Any]]:
        """A row for each n."""
        return [
            {"n": n, "width": float(w), "width_without_privacy": float(p), "price": w / p}
            | {"method": w.method, "standard_error": w.standard_error}
            for n, w, p in zip(self.records, self.widths, self.plain, strict=True)
        ]

    def cells(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Headings and formatted cells, for printing."""
        rows = zip(self.records, self.widths, self.plain, strict=True)
        return ("n", "width", "without privacy", "times"), [(f"{n:,}", points(w), points(p), f"{w / p:.2f}") for n, w, p in rows]

    @property
    def caption(self) -> str:
        return f"{self.mechanism}, ε = {float(self.epsilon):g}: width of the 95 % intervals in points"

    def __str__(self) -> str:
        headings, rows = self.cells()
        lines = ["".join(cell.rjust(16) for cell in row).rstrip() for row in [headings, *rows]]
        return "\n".join([self.caption, *lines])

    def _repr_html_(self) -> str:
        return html_table(self.caption, *self.cells())

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """The width with and without privacy against n."""
        from discreet.plotting import plot_widths

        known = "" if self.public == "total" else " (n private)"
        title = f"How wide intervals will be: {self.mechanism}, ε = {float(self.epsilon):g}{known}"
        return plot_widths(self.records, self.widths, self.plain, ax, across="records, n", title=title)


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
) -> RecordsCurve:
    """The expected width of the published 95 % intervals for several n, and without privacy. Public: no data are looked at."""
    level, name_and_maker = check_positive(epsilon, "epsilon"), maker(mechanism)
    sizes = tuple(check_records(n) for n in records)
    ask = WidthQuestion(*name_and_maker, prior, check_public(public), expect, worst, progress)
    widths = tuple(ask.width(n, level, SEARCHED) for n in sizes)
    return RecordsCurve(name_and_maker[0], level, sizes, widths, tuple(ask.plain(n) for n in sizes), ask.public)
