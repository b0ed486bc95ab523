"""Pictures made of SVG: bars of uncertainty, and curves. Places are percentages, so that lines and letters keep their size at any width."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from discreet.present.html import Html, element, joined

# --- bars ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bar:
    """A width drawn around the middle: its parts, each with the kind that colours it, the widest first."""

    label: str
    value: str
    parts: tuple[tuple[str, float], ...]


def bars(rows: Sequence[Bar], name: str) -> Html:
    """Widths one below the other, around the same middle."""
    longest = max((width for row in rows for _, width in row.parts), default=0.0) or 1.0
    return element("div", *(_bar(row, longest) for row in rows), class_="bars", role="group", aria_label=name)


def _bar(row: Bar, longest: float) -> Html:
    middle = element("line", class_="grid", x1="50%", x2="50%", y1="0", y2="100%")
    parts = [
        element(
            "rect", class_=kind, x=_percent(50.0 - 48.0 * width / longest), width=_percent(96.0 * width / longest), y="22%", height="56%"
        )
        for kind, width in row.parts
    ]
    picture = element("svg", middle, *parts, role="img", aria_label=f"{row.label}: {row.value}")
    words = element("div", element("span", row.label), element("b", row.value), class_="bar-words", aria_hidden="true")
    return element("div", words, element("div", picture, class_="strip"))


def _percent(value: float) -> str:
    return f"{value:.3f}%"


# --- curves -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Curve:
    """Two lines over a common logarithmic axis, and where someone stands."""

    name: str
    axis: str
    """The label of the axis below."""
    up: str
    """The label of the axis at the left, with its unit."""
    places: Sequence[float]
    private: Sequence[float]
    plain: Sequence[float]
    here: tuple[float, float]
    here_words: str
    steep: bool
    """Whether the widths are drawn by their logarithms too: they fall through many powers of ten."""


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float
    logarithmic: bool

    def at(self, value: float) -> float:
        """Return the place from 0 to 100; what lies outside is put at the end."""
        low, high, given = (log10(v) if self.logarithmic else v for v in (self.low, self.high, max(value, self.low)))
        return min(100.0, max(0.0, 100.0 * (given - low) / (high - low)))

    def ticks(self) -> list[float]:
        if self.logarithmic:
            every = range(ceil(log10(self.low) - 1e-9), floor(log10(self.high) + 1e-9) + 1)
            return [10.0**power for power in every]
        step = next(s for s in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20) if self.high / s <= 5.01)
        return [step * i for i in range(floor(self.high / step + 1e-9) + 1)]


def curve(drawn: Curve) -> Html:
    """The picture of a curve. What it says is also in a table, which the caller puts below."""
    across = _Scale(min(drawn.places), max(drawn.places), True)
    widths = [100.0 * w for w in (*drawn.private, *drawn.plain)]
    up = (
        _Scale(10.0 ** floor(log10(min(widths))), 10.0 ** ceil(log10(max(widths))), True)
        if drawn.steep
        else _Scale(0.0, max(widths) * 1.05, False)
    )
    grid = [_across_tick(tick, across.at(tick), across.low < 1) for tick in across.ticks()] + [
        _up_tick(tick, 100.0 - up.at(tick)) for tick in up.ticks()
    ]
    lines = element(
        "svg",
        _line("plain-line", drawn.places, drawn.plain, across, up),
        _line("private-line", drawn.places, drawn.private, across, up),
        viewBox="0 0 100 100",
        preserveAspectRatio="none",
    )
    inside = across.low <= drawn.here[0] <= across.high
    x, y = _percent(across.at(drawn.here[0])), _percent(100.0 - up.at(100.0 * drawn.here[1]))
    marks = [element("line", class_="here", x1=x, x2=x, y1="0", y2="100%"), element("circle", class_="dot", cx=x, cy=y, r="6")]
    described = f"{drawn.here_words}. The widths are in the table below."
    picture = element("svg", element("title", drawn.name), element("desc", described), *grid, lines, *(marks if inside else []), role="img")
    legend = element(
        "p",
        element("span", "with privacy", class_="key"),
        element("span", "without privacy", class_="key plain-key"),
        element("span", drawn.here_words if inside else f"{drawn.here_words}, which lies outside the picture", class_="key here-key"),
        class_="legend",
    )
    below = element("p", drawn.axis, class_="axis-name")
    unit = element("p", drawn.up, class_="axis-name up-name")
    return element("figure", unit, element("div", picture, class_="curve-plot"), below, legend, class_="curve")


def _line(kind: str, places: Sequence[float], widths: Sequence[float], across: _Scale, up: _Scale) -> Html:
    points = " ".join(f"{across.at(x):.3f},{100.0 - up.at(100.0 * w):.3f}" for x, w in zip(places, widths, strict=True))
    return element("polyline", class_=kind, points=points)


def _across_tick(value: float, place: float, small: bool) -> Html:
    x = _percent(place)
    words = f"{value:g}" if small else _short(value)
    return joined(
        element("line", class_="grid", x1=x, x2=x, y1="0", y2="100%"), element("text", words, class_="across", x=x, y="100%", dy="1.3em")
    )


def _up_tick(value: float, place: float) -> Html:
    y = _percent(place)
    words = element("text", f"{value:g}", class_="up", x="0", y=y, dx="-.5em", dy=".35em")
    return joined(element("line", class_="grid", x1="0", x2="100%", y1=y, y2=y), words)


def _short(value: float) -> str:
    """A power of ten as it fits below an axis."""
    return f"{value / 1e6:g}M" if value >= 1e6 else f"{value / 1e3:g}k" if value >= 1e3 else f"{value:g}"
