"""Contrasts in words, in tables and in fields: of two probabilities, and of all groups against one."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table

from discreet.present.terminal import interval_heading, table_of
from discreet.text import chance, evenly, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet import Release
    from discreet.inference.quantities import Contrast, Quantity
    from discreet.inference.tables.contrasts import ContrastSummary

QUANTITIES = ("difference", "ratio", "odds_ratio")


def larger_words(compared: "Contrast") -> str:
    """Return which of two is larger, and with which probability; shares of records may also be the same."""
    what = "share" if compared.more else "probability"
    return f"{named(compared.names[0])} has the larger {what} with probability {compared.larger}"


def named(name: Hashable) -> str:
    """A group or a category in words."""
    return ",".join(map(plain, name)) if isinstance(name, tuple) else plain(name)


def written_name(name: Hashable) -> Any:
    """A group or a category in JSON."""
    from discreet.record.json import written_label

    return [written_label(part) for part in name] if isinstance(name, tuple) else written_label(name)


def quantity_words(quantity: "Quantity", mass: float) -> tuple[str, str, str]:
    """The name of a quantity with its unit, its median and its interval: differences in percentage points, ratios as they are."""
    numbers = (quantity.median(), *quantity.interval(mass))
    if quantity.logarithmic:
        return quantity.name, *evenly([numbers], ratios=True)[0]
    return f"{quantity.name}, points", *evenly([in_points(numbers)])[0]


def in_points(numbers: tuple[float, float, float]) -> tuple[float, float, float]:
    """Differences of probabilities as percentage points."""
    median, low, high = numbers
    return 100.0 * median, 100.0 * low, 100.0 * high


# --- all groups against one -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compared:
    """The groups of a record against one of them, in one category."""

    release: "Release"
    reference: Hashable
    category: Hashable
    mass: float
    rows: "list[ContrastSummary]"

    def laid_out(self) -> Table:
        """A row a group: difference and odds ratio with intervals, and the probability that the category is more likely there."""
        columns = evenly([in_points(row.difference) for row in self.rows]), evenly([row.odds_ratio for row in self.rows], ratios=True)
        keys = [row.group if isinstance(row.group, tuple) else (row.group,) for row in self.rows]
        chances = [chance(row.probability).replace("below", "<").replace("above", ">") for row in self.rows]  # narrow, as are the headings
        interval = interval_heading(self.mass).replace("noise ", "noise\n")
        return table_of(
            f"{plain(self.category)}: every group against {named(self.reference)}",
            self.release.cells.groups.columns,
            ("difference,\npoints", interval, "odds\nratio", interval, "probability\nof being\nlarger"),
            ((*key, *difference, *odds, larger) for key, difference, odds, larger in zip(keys, *columns, chances, strict=True)),
        )

    def fields(self) -> dict[str, Any]:
        """Return the contrast as `show --json` has it."""
        rows = [
            {
                "group": written_name(row.group),
                **{name: dict(zip(("median", "low", "high"), getattr(row, name), strict=True)) for name in ("difference", "odds_ratio")},
                "probability": row.probability,
            }
            for row in self.rows
        ]
        return {"reference": written_name(self.reference), "category": written_name(self.category), "mass": self.mass, "contrasts": rows}

    def draw_on(self, figure: "Figure") -> None:
        """A forest plot."""
        from discreet.plotting import draw_contrasts

        draw_contrasts(self.release, figure, self.rows, self.mass, reference=self.reference, category=self.category)
