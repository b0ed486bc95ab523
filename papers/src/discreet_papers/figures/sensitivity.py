"""Sensitivities of the Hellinger distance: 000 Figures 1 and 2, the poster's Figure 1, and Statements I to III of the notes."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from discreet.mechanisms.hellinger import HellingerSmoothDelta
from discreet.model.dirichlet import Beta
from discreet.model.sensitivity import Smoothing, global_sensitivity, local_sensitivities, smooth_sensitivities
from discreet.validation import check_positive
from discreet_papers.contenders import POSTER_DELTA, uniform
from discreet_papers.data import Data, Value
from discreet_papers.figure import Figure, FigurePanel
from discreet_papers.sensitivities import between_neighbours, datasets, largest_changes, slipped
from discreet_papers.style import LIMIT, series
from discreet_papers.theory import PAPER_SENSITIVITY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FIGURES"]

RECORDS = 100

_CURVES: dict[str, tuple[str, dict[str, Any]]] = {
    "local": ("LS(x)", series(0, every=10)),
    "gamma": ("S(x), γ = 1", series(1, every=10)),
    "beta": ("S(x), β of (1, 10⁻⁸)", series(2, every=10)),
    "global": ("GS of this prior and n", LIMIT),
    "constant": ("√(1 - π/4)", LIMIT | {"linestyle": (0, (8, 2))}),
    "published": ("LS(x) as published", series(3, every=10)),
}


def sensitivity_curves(quick: bool) -> Data:  # noqa: ARG001
    """Local, smooth and global sensitivities of every dataset of 100 records under Beta(1, 1)."""
    prior, x = Beta(1, 1), datasets(RECORDS)
    local = local_sensitivities(prior, x)
    beta = HellingerSmoothDelta(prior, RECORDS, 1, POSTER_DELTA)._beta
    curves = {
        "local": local,
        "gamma": smooth_sensitivities(prior, x, Smoothing(gamma=check_positive(1, "gamma"))),
        "beta": smooth_sensitivities(prior, x, Smoothing(beta=beta)),
        "global": np.full(RECORDS + 1, global_sensitivity(prior, RECORDS)),
        "constant": np.full(RECORDS + 1, PAPER_SENSITIVITY),
        "published": slipped(local, RECORDS),
    }
    return Data.of(
        {"n": RECORDS, "x": i, "curve": name, "sensitivity": float(value)}
        for name, values in curves.items()
        for i, value in enumerate(values)
    )


def _draw_curves(ax: "Axes", data: Data, names: tuple[str, ...]) -> None:
    for name in names:
        label, look = _CURVES[name]
        rows = data.where(curve=name)
        ax.plot(rows["x"], rows["sensitivity"], label=label, **look)
    ax.set_xlabel(f"records of the first kind, x₁ (of n = {RECORDS})")
    ax.set_ylabel("sensitivity of the Hellinger distance")
    ax.set_ylim(bottom=0.0)


# --- where the local sensitivity is reached ---------------------------------------------------------------------------

_PLACES = ((50, 50), (20, 80), (2, 98))
_PLACES_THREE = ((7, 7, 6), (2, 6, 12), (0, 4, 16))


def local_maxima(quick: bool) -> Data:  # noqa: ARG001
    """For every candidate r the largest |H(x, r) - H(x', r)| over neighbours x', and how many records r is away from x."""
    rows: list[dict[str, Value]] = []
    for counts in (*_PLACES, *_PLACES_THREE):
        found = largest_changes(uniform(len(counts)), np.array(counts))
        rows += [
            {"dataset": str(counts), "k": len(counts), "r": int(r[0]), "away": int(d), "change": float(c)}
            for r, d, c in zip(*found, strict=True)
        ]
    return Data.of(rows)


def _draw_candidates(ax: "Axes", data: Data) -> None:
    for number, counts in enumerate(_PLACES):
        rows = data.where(dataset=str(counts))
        at = np.flatnonzero(rows["away"] == 0)
        ax.plot(rows["r"], rows["change"], label=f"x = {counts}, the marker at r = x", **series(number, every=at.tolist()))
    ax.set_xlabel("candidate, r₁ records of the first kind (of 100)")
    ax.set_ylabel("largest |H(x, r) - H(x′, r)| over neighbours x′")


def _draw_by_distance(ax: "Axes", data: Data) -> None:
    for number, counts in enumerate(_PLACES_THREE):
        rows = data.where(dataset=str(counts))
        away = np.unique(rows["away"])
        highest = [rows["change"][rows["away"] == d].max() for d in away]
        ax.plot(away, highest, label=f"x = {counts}", **series(number, every=2))
    ax.set_xlabel("records that must be replaced to get from x to r")
    ax.set_ylabel("largest |H(x, r) - H(x′, r)| at that distance")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


# --- Statements I to III ----------------------------------------------------------------------------------------------


def statement_steps(quick: bool) -> Data:  # noqa: ARG001
    """The two sides of Statements I to III: distances between neighbouring posteriors, and local sensitivities."""
    rows = []
    for n in (20, 21):
        x = datasets(n)
        step = between_neighbours(n)
        local = local_sensitivities(Beta(1, 1), x)
        rows += [
            {"n": n, "x": i, "to_next": float(step[i]) if i < n else float("nan"), "local_sensitivity": float(local[i])}
            for i in range(n + 1)
        ]
    return Data.of(rows)


def _draw_statements(ax: "Axes", data: Data, n: int) -> None:
    rows = data.where(n=n)
    ax.plot(rows["x"] + 0.5, rows["to_next"], label="H(BI(x), BI(x+1)), drawn between x and x+1", **series(0))
    ax.plot(rows["x"], rows["local_sensitivity"], label="Δu(x) = LS(x)", **series(4))
    ax.axvline(n / 2, label="the middle, x₀", **LIMIT)
    ax.set_xlabel(f"records of the first kind, x (of n = {n})")
    ax.set_ylabel("Hellinger distance")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylim(bottom=0.0)


FIGURES = (
    Figure(
        "000-figure-1",
        "000, Figure 1",
        "Sensitivities of the Hellinger distance",
        "Every dataset of 100 records under Beta(1, 1). The γ-smooth sensitivity equals the local one except at small counts; "
        "the constant √(1 - π/4) is not the global sensitivity here.",
        sensitivity_curves,
        (FigurePanel("", lambda ax, data: _draw_curves(ax, data, ("local", "gamma", "beta", "global", "constant"))),),
    ),
    Figure(
        "003-figure-1",
        "003 (poster), Figure 1",
        "Sensitivities of the Hellinger distance, as on the poster",
        "The β-smooth sensitivity of the poster's mechanism. The lowest curve is what the public research code computes: 0.161 "
        "at the edge.",
        sensitivity_curves,
        (FigurePanel("", lambda ax, data: _draw_curves(ax, data, ("local", "beta", "published"))),),
    ),
    Figure(
        "000-figure-2",
        "000, Figure 2",
        "Where the local sensitivity is reached",
        "The largest change of the score of each candidate r when one record of x is replaced. It is largest at r = x, for two "
        "categories (left, unit prior, n = 100) and for three (right, unit prior, n = 20).",
        local_maxima,
        (FigurePanel("two categories", _draw_candidates), FigurePanel("three categories", _draw_by_distance)),
    ),
    Figure(
        "002-statements",
        "002 and 004, Statements I, II, III",
        "Distances between neighbouring posteriors",
        "Statement I: the circles rise away from the middle. Statement II: a square is at the height of the circle on its outer side. "
        "Statement III: the squares are lowest in the middle.",
        statement_steps,
        (
            FigurePanel("n = 20", lambda ax, data: _draw_statements(ax, data, 20)),
            FigurePanel("n = 21", lambda ax, data: _draw_statements(ax, data, 21)),
        ),
    ),
)
