"""How the papers' mechanisms are named and drawn in the figures of the reproduction: in the house style, by their short names."""

from collections.abc import Mapping
from typing import Any

from discreet.plotting import style
from discreet.plotting.style import INK, MECHANISMS, PAPER, SERIES, Dash, MarkStyle

__all__ = ["DRAWN", "INK", "LABELS", "LIMIT", "LOOKS", "PAPER", "RC", "SERIES", "Dash", "line", "points", "series"]

_NAMES = {
    "LSZhang": ("LaplaceZhang", "LSZhang"),
    "LSDim": ("LaplaceDimension", "LSDim"),
    "LSHist": ("LaplaceHistogram", "LSHist"),
    "EHD": ("HellingerGlobal", "EHD"),
    "EHDL": ("HellingerLocal", "EHDL (not private)"),
    "EHDS": ("HellingerSmooth", "EHDS, γ = 1"),
    "EHDS-delta": ("HellingerSmoothDelta", "EHDS, (ε, δ)"),
    "Calibrated": ("Calibrated(HellingerSmooth)", "Calibrated EHDS"),
    "Lattice": ("LatticeGeometric", "LatticeGeometric"),
}
LOOKS: Mapping[str, MarkStyle] = {short: MECHANISMS[name] for short, (name, _) in _NAMES.items()}
LABELS: Mapping[str, str] = {short: label for short, (_, label) in _NAMES.items()}
"""As a legend has them."""

RC: dict[Any, Any] = {
    **style.RC,
    # The report puts figures on its own page, which may be dark.
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "grid.color": "#858191",
    "grid.alpha": 0.28,
    "font.family": "DejaVu Sans",
    "svg.fonttype": "path",
}

Every = int | float | tuple[int, int] | list[int] | None
"""Which points of a line have markers, as Matplotlib's `markevery`."""

LIMIT: dict[str, Any] = {"color": INK, "linewidth": 1.0, "linestyle": (0, (1, 1.5))}
"""A line at what is promised, or at what a theorem allows."""
_DRAWS: dict[str, Any] = {"markerfacecolor": PAPER, "markersize": 8, "markeredgewidth": 1.0}
DRAWN: dict[str, Any] = {"marker": "o", "linestyle": "none", "color": "#858191", **_DRAWS}
"""The entry of a legend for the hollow circles of draws."""


def line(name: str, *, every: Every = None) -> dict[str, Any]:
    """Arguments of `plot` for a mechanism's exact values."""
    return {**LOOKS[name].line(), "markevery": every, "label": LABELS[name]}


def points(name: str) -> dict[str, Any]:
    """Arguments of `errorbar` for Monte Carlo draws of a mechanism: hollow circles, no line."""
    return {"fmt": "o", "color": LOOKS[name].colour, **_DRAWS, "elinewidth": 1.0, "zorder": 1.5}


def series(number: int, *, every: Every = None) -> dict[str, Any]:
    """Arguments of `plot` for what is not a mechanism: the first, second, … of a figure."""
    return {**SERIES[number].line(), "markevery": every}
