"""How mechanisms are drawn in all figures: each has its own colour, marker and line, so that figures can be read without colour."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["INK", "LOOKS", "PAPER", "RC", "Dash", "Look", "line", "points"]

INK = "#1b1e23"
"""Text, axes and the lattice mechanism. The report replaces it by the page's own text colour."""
PAPER = "#fdfdfd"
"""The inside of hollow markers. The report replaces it by the page's own background."""

Dash = str | tuple[float, tuple[float, ...]]


@dataclass(frozen=True)
class Look:
    """How a mechanism is drawn everywhere."""

    label: str
    colour: str
    marker: str
    dash: Dash
    hatch: str


LOOKS: Mapping[str, Look] = {
    "LSZhang": Look("LSZhang", "#a0762b", "P", (0, (1, 1)), "++"),
    "LSDim": Look("LSDim", "#16936b", "s", (0, (6, 2)), "//"),
    "LSHist": Look("LSHist", "#d5541c", "o", "-", ""),
    "EHD": Look("EHD", "#85888f", "X", (0, (1, 2)), "xx"),
    "EHDL": Look("EHDL (not private)", "#9a6fc4", "v", (0, (4, 1, 1, 1, 1, 1)), ".."),
    "EHDS": Look("EHDS, γ = 1", "#2f7fd0", "^", (0, (8, 1)), "\\\\"),
    "EHDS-delta": Look("EHDS, (ε, δ)", "#1aa3c9", "D", (0, (3, 1.5)), "--"),
    "Calibrated": Look("Calibrated EHDS", "#d43d84", "*", (0, (5, 1, 1, 1)), "oo"),
    "Lattice": Look("LatticeGeometric", INK, "h", "-", "||"),
}

RC: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlesize": 9.5,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.alpha": 0.28,
    "grid.color": "#85888f",
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.5,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "lines.markersize": 5,
    "savefig.facecolor": "none",
    "svg.fonttype": "path",
    "svg.hashsalt": "discreet",
    "text.color": INK,
    "xtick.color": INK,
    "xtick.labelsize": 8,
    "ytick.color": INK,
    "ytick.labelsize": 8,
}


def line(name: str, *, every: int | float | None = None, markers: bool = True) -> dict[str, Any]:
    """Arguments of `plot` for a mechanism's exact values."""
    look = LOOKS[name]
    chosen: dict[str, Any] = {"color": look.colour, "linestyle": look.dash, "label": look.label}
    if markers:
        chosen |= {"marker": look.marker, "markersize": 7 if look.marker == "*" else 4.5, "markeredgewidth": 0.8, "markevery": every}
    return chosen


def points(name: str) -> dict[str, Any]:
    """Arguments of `errorbar` for Monte Carlo draws of a mechanism: hollow circles, no line."""
    colour = LOOKS[name].colour
    return {
        "fmt": "o",
        "color": colour,
        "markerfacecolor": PAPER,
        "markersize": 8,
        "markeredgewidth": 0.9,
        "elinewidth": 0.9,
        "zorder": 1.5,
    }
