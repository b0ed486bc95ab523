"""Mean error against the rest of the setting: 000 Figure 6 (priors), the poster's Figure 3(a), unbalanced data and dimension."""

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.analysis.error_laws import error_law
from discreet.model.dirichlet import Beta
from discreet_papers.contenders import Rounding, balanced, build, exact_mean, simulated_mean
from discreet_papers.data import Data, Value
from discreet_papers.figure import Figure, FigurePanel
from discreet_papers.style import INK, LABELS, LOOKS, PAPER, line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FIGURES", "boxes", "notch"]

_LEVELS = {"low": 0.0005, "quarter": 0.25, "median": 0.5, "three_quarters": 0.75, "high": 0.9995}
"""Quartiles, and the levels that the range of 1,000 draws reaches: the papers' whiskers."""
DATA = (50, 50)
_PRIORS = (1, 2, 5, 10, 20, 50, 100, 200)
_PRIORS_QUICK = (1, 10, 200)


def boxes(priors: tuple[int, ...], names: tuple[str, ...], *, rounding: Rounding = "floor", draws: int) -> Data:
    """Quantiles of the exact error on data (50, 50) under Beta(a, a), and the average of so many draws."""
    counts = np.array(DATA)
    rows: list[dict[str, Value]] = []
    for a in priors:
        for name in names:
            mechanism = build(name, Beta(a, a), sum(DATA), 1, rounding)
            law = error_law(mechanism, counts)
            row: dict[str, Value] = {"prior": a, "mechanism": name, "mean": law.mean}
            row |= {level: float(law.quantile(q)) for level, q in _LEVELS.items()}
            rows.append(row | simulated_mean(f"{name}{a}", mechanism, counts, draws))
    return Data.of(rows)


def notch(row: dict[str, Any]) -> tuple[float, float]:
    """The ends of the notch around a median: medians of so many draws whose notches do not overlap differ significantly, roughly."""
    half = 1.57 * (row["three_quarters"] - row["quarter"]) / np.sqrt(row["draws"])
    return float(row["median"] - half), float(row["median"] + half)


def _draw_boxes(ax: "Axes", data: Data) -> None:
    names, priors = data.distinct("mechanism"), data.distinct("prior")
    width = 0.8 / len(names)
    for i, name in enumerate(names):
        look, own = LOOKS[name], data.where(mechanism=name)
        stats: list[dict[str, Any]] = [
            {"med": r["median"], "q1": r["quarter"], "q3": r["three_quarters"], "whislo": r["low"], "whishi": r["high"], "mean": r["mean"]}
            | dict(zip(("cilo", "cihi"), notch(r), strict=True))
            for r in own.rows()
        ]
        places = np.arange(len(priors)) + (i - (len(names) - 1) / 2) * width
        thin = {"color": look.colour, "linewidth": 1.0}
        drawn = ax.bxp(
            stats,
            positions=places,
            widths=width * 0.8,
            shownotches=True,
            showfliers=False,
            showmeans=True,
            patch_artist=True,
            manage_ticks=False,
            boxprops={"facecolor": PAPER, "edgecolor": look.colour, "hatch": look.hatch},
            medianprops={"color": INK, "linewidth": 1.4},
            whiskerprops=thin,
            capprops=thin,
            meanprops={"marker": look.marker, "markerfacecolor": look.colour, "markeredgecolor": look.colour, "markersize": 4.5},
        )
        drawn["boxes"][0].set_label(LABELS[name])
        ax.plot(places, own["simulated"], "+", color=INK, markersize=6, markeredgewidth=0.8, zorder=5)
    ax.plot([], [], "+", color=INK, label=f"average of {data['draws'][0]:,} draws")
    ax.set_xticks(np.arange(len(priors)), [f"{a}" for a in priors])
    ax.set_xlabel("prior beta(a, a), a")
    ax.set_ylabel("Hellinger error")
    ax.set_ylim(bottom=0.0)


# --- unbalanced data --------------------------------------------------------------------------------------------------

_COMPARED = ("LSDim", "LSHist", "EHDS", "EHDS-delta", "Calibrated", "Lattice")


def unbalanced(quick: bool) -> Data:
    """Mean errors for data from all of one kind to balanced, Beta(1, 1)."""
    shares = (0.0, 0.1, 0.3, 0.5) if quick else (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
    rows: list[dict[str, Value]] = []
    for n in (100, 1000):
        for name in _COMPARED:
            for share in shares:
                first = round(share * n)
                rows.append({"n": n, "mechanism": name, "share": share, "mean": exact_mean(name, n, counts=np.array([first, n - first]))})
    return Data.of(rows)


def _draw_unbalanced(ax: "Axes", data: Data, n: int) -> None:
    rows = data.where(n=n)
    for name in rows.distinct("mechanism"):
        own = rows.where(mechanism=name)
        ax.plot(own["share"], own["mean"], **line(name))
    ax.set_xlabel("share of records of the first kind, x₁/n")
    ax.set_ylabel("mean Hellinger error")
    ax.set_ylim(bottom=0.0)


# --- dimension --------------------------------------------------------------------------------------------------------

_DIMENSION_RECORDS = 1000
_MANY = ("LSDim", "LSHist", "EHD", "EHDS", "EHDS-delta", "Lattice")


def dimensions(quick: bool) -> Data:
    """Mean errors on 1,000 balanced records in 2 to 10 categories, unit prior, by enumeration or convolution."""
    n = _DIMENSION_RECORDS
    return Data.of(
        {"k": k, "n": n, "mechanism": name, "mean": exact_mean(name, n, k, counts=balanced(n, k))}
        for k in ((2, 4, 7) if quick else (2, 3, 4, 5, 6, 7, 8, 9, 10))
        for name in _MANY
    )


def _draw_dimensions(ax: "Axes", data: Data) -> None:
    for name in data.distinct("mechanism"):
        own = data.where(mechanism=name)
        ax.plot(own["k"], own["mean"], **line(name))
    ax.set_xlabel("categories, k")
    ax.set_ylabel(f"mean Hellinger error, n = {_DIMENSION_RECORDS:,}")
    ax.set_ylim(0.0, 1.03)


FIGURES = (
    Figure(
        "000-figure-6",
        "000, Figure 6",
        "Varying balanced priors, data (50, 50)",
        "Box: quartiles and median of the exact error. Notch: the median ± 1.57 (upper less lower quartile)/√1,000, as for 1,000 draws. "
        "Whiskers: the 0.05 % and 99.95 % quantiles, about the range of 1,000 draws. Marker: the exact mean. Cross: the average of 1,000 "
        "draws. ε = 1.",
        lambda quick: boxes(_PRIORS_QUICK if quick else _PRIORS, ("EHDS", "LSDim", "LSHist"), draws=1000),
        (FigurePanel("", _draw_boxes),),
    ),
    Figure(
        "000-figure-6-extended",
        "000, Figure 6, extended",
        "Varying balanced priors, with the (ε, δ) version, Calibrated and LatticeGeometric",
        "As above, with δ = 10⁻⁸ for the (ε, δ) version.",
        lambda quick: boxes((1, 200) if quick else (1, 10, 50, 200), _COMPARED, draws=1000),
        (FigurePanel("", _draw_boxes),),
    ),
    Figure(
        "003-figure-3a",
        "003 (poster), Figure 3(a)",
        "Quartiles by prior, as on the poster",
        "Data (50, 50), ε = 1, δ = 10⁻⁸, Laplace noise rounded to the nearest integer; crosses: averages of 10,000 draws.",
        lambda quick: boxes(_PRIORS_QUICK if quick else _PRIORS, ("EHDS-delta", "LSDim", "LSHist"), rounding="nearest", draws=10_000),
        (FigurePanel("", _draw_boxes),),
    ),
    Figure(
        "000-variance",
        "000, section 7.2.2, data variance (no figure there)",
        "Mean error for unbalanced data",
        "Prior beta(1,1), ε = 1, δ = 10⁻⁸. Left: 100 records. Right: 1,000.",
        unbalanced,
        (
            FigurePanel("n = 100", lambda ax, data: _draw_unbalanced(ax, data, 100)),
            FigurePanel("n = 1,000", lambda ax, data: _draw_unbalanced(ax, data, 1000)),
        ),
    ),
    Figure(
        "000-dimension",
        "000, section 7.2.2, dimensions (no figure there)",
        "Mean error against the number of categories",
        "Unit prior, 1,000 balanced records, ε = 1, δ = 10⁻⁸. Exact: by enumeration, or by convolution where candidates are too many.",
        dimensions,
        (FigurePanel("", _draw_dimensions),),
    ),
)
