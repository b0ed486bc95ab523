"""Mean error against the number of records: 000 Figures 5, 6(a) and 6(b), the poster's Figure 2."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from discreet import limits
from discreet.model.datasets import candidate_count
from discreet_papers.contenders import ADDED, SIX, Rounding, balanced, build, exact_mean, simulated_mean, uniform
from discreet_papers.data import Data, Value
from discreet_papers.figure import Figure, FigurePanel, plain_log
from discreet_papers.style import DRAWN, LIMIT, line, points, series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FIGURES", "means"]

THREE = ("LSDim", "LSHist", "EHDS")
POSTER = ("LSDim", "LSHist", "EHDS-delta")
_MOST_CALIBRATED = {2: 3000, 3: 66, 4: 20}
"""Records up to which the loss of all pairs of neighbours is computed within seconds."""

_TO_15000 = (100, 200, 300, 400, 600, 800, 1000, 1500, 2000, 3000, 5000, 7500, 10_000, 12_500, 15_000)
_TO_15000_QUICK = (100, 300, 1000, 3000, 7500, 15_000)
_SHORT = {3: (12, 24, 39, 66, 102, 150, 201, 300, 399, 450, 501, 600), 4: (8, 12, 20, 40, 100, 200, 300, 400, 500, 600)}
_SHORT_QUICK = {3: (24, 102, 201, 399, 600), 4: (12, 200, 600)}


def means(
    k: int,
    sizes: Iterable[int],
    names: Iterable[str],
    *,
    epsilon: int = 1,
    rounding: Rounding = "floor",
    draws: Mapping[str, int] | None = None,
) -> Data:
    """Exact mean errors on balanced data under the unit prior; with draws (by mechanism), the papers' averages beside them."""
    rows: list[dict[str, Value]] = []
    for n in sizes:
        counts = balanced(n, k)
        for name in names:
            if name == "Calibrated" and n > _MOST_CALIBRATED[k]:
                continue
            row: dict[str, Value] = {"k": k, "n": n, "epsilon": epsilon, "mechanism": name}
            row["mean"] = exact_mean(name, n, k, epsilon, rounding=rounding)
            size = (draws or {}).get(name, 0)
            drawn: dict[str, Value] = {"draws": 0, "simulated": float("nan"), "standard_error": float("nan")}
            if size and candidate_count(n, k) <= limits.LISTED_OUTCOMES // 10:
                drawn = simulated_mean(name, build(name, uniform(k), n, epsilon, rounding), counts, size)
            rows.append(row | drawn)
    return Data.of(rows)


def _figure_5(quick: bool) -> Data:
    return means(2, _TO_15000_QUICK if quick else _TO_15000, THREE, draws=dict.fromkeys(THREE, 1000))


def _figure_5_extended(quick: bool) -> Data:
    sizes = (100, 300, 1000, 15_000) if quick else (10, 20, 50, *_TO_15000)
    return means(2, sizes, (*SIX, *ADDED))


def _figure_6(k: int, quick: bool) -> Data:
    sizes = [n for n in (_SHORT_QUICK if quick else _SHORT)[k] if n >= 100]
    return means(k, sizes, THREE, draws={} if quick else dict.fromkeys(THREE, 1000))


def _figure_6_extended(k: int, quick: bool) -> Data:
    return means(k, (_SHORT_QUICK if quick else _SHORT)[k], (*SIX, *ADDED))


def _poster_2(quick: bool) -> Data:
    sizes: dict[int, tuple[int, ...]] = {
        2: (100, 200, 300, 340, 400, 500),
        3: (102, 201, 300, 399, 450, 501),
        4: (100, 200, 300, 400, 500, 600),
    }
    parts = [
        means(k, own[1::2] if quick else own, POSTER, rounding="nearest", draws=dict.fromkeys(POSTER, 10_000)) for k, own in sizes.items()
    ]
    return Data.of(row for part in parts for row in part.rows())


def _draw_means(ax: "Axes", data: Data, k: int, *, logarithmic: bool) -> None:
    rows = data.where(k=k)
    for name in rows.distinct("mechanism"):
        own = rows.where(mechanism=name)
        ax.plot(own["n"], own["mean"], **line(name))
        drawn = own["draws"] > 0
        if drawn.any():
            ax.errorbar(own["n"][drawn], own["simulated"][drawn], yerr=2.0 * own["standard_error"][drawn], **points(name))
    if (rows["draws"] > 0).any():
        label = f"average of {int(rows['draws'].max()):,} draws ± 2 s.e."
        ax.plot([], [], label=label, **DRAWN)
    ax.set_xlabel("records, n")
    ax.set_ylabel("mean Hellinger error")
    if logarithmic:
        plain_log(ax, "x")
        plain_log(ax, "y")
    else:
        ax.set_ylim(bottom=0.0)


def _draw_ratio(ax: "Axes", data: Data) -> None:
    """The mean error of the poster's mechanism divided by that of the baseline, for each number of categories."""
    for number, k in zip((0, 3, 4), (2, 3, 4), strict=True):  # looks that no mechanism of this figure has
        own, base = data.where(k=k, mechanism="EHDS-delta"), data.where(k=k, mechanism="LSDim")
        ax.plot(own["n"], own["mean"] / base["mean"], label=f"ratio, {k} categories", **series(number))
    ax.axhline(1.0, **LIMIT)
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel("records, n")
    ax.set_ylabel("mean error, EHDS (ε, δ) / LSDim")


def _panel(k: int, *, logarithmic: bool = False, title: str = "") -> FigurePanel:
    return FigurePanel(title, lambda ax, data: _draw_means(ax, data, k, logarithmic=logarithmic))


def _figure_6_pair(letter: str, k: int) -> tuple[Figure, Figure]:
    prior = f"dirichlet({','.join('1' * k)})"
    exact = " The exact values use convolutions where candidates are too many to list." if k == 4 else ""
    return (
        Figure(
            f"000-figure-6{letter}",
            f"000, Figure 6({letter})",
            f"Mean error against the number of records, {k} categories",
            f"Prior {prior}, balanced data, ε = 1: exact means.{exact} Hollow circles: averages of 1,000 draws, where candidates can "
            "be listed.",
            lambda quick: _figure_6(k, quick),
            (_panel(k),),
        ),
        Figure(
            f"000-figure-6{letter}-extended",
            f"000, Figure 6({letter}), extended",
            f"Mean error, {k} categories, all mechanisms with Calibrated and LatticeGeometric",
            f"Both axes logarithmic. The calibrated mechanism ends at n = {_MOST_CALIBRATED[k]}, beyond which the exact loss of all "
            "pairs of "
            "neighbours is not computed.",
            lambda quick: _figure_6_extended(k, quick),
            (_panel(k, logarithmic=True),),
        ),
    )


FIGURES = (
    Figure(
        "000-figure-5",
        "000, Figure 5",
        "Mean error against the number of records, two categories",
        "Prior beta(1,1), balanced data, ε = 1, to 15,000 records: exact means, with averages of 1,000 draws as hollow circles.",
        _figure_5,
        (_panel(2, title="linear axes"), _panel(2, logarithmic=True, title="logarithmic axes")),
    ),
    Figure(
        "000-figure-5-extended",
        "000, Figure 5, extended",
        "Mean error, two categories, all mechanisms with Calibrated and LatticeGeometric",
        "Both axes logarithmic. The calibrated mechanism ends at n = 3,000: computing its factor takes time quadratic in n.",
        _figure_5_extended,
        (_panel(2, logarithmic=True),),
    ),
    *_figure_6_pair("a", 3),
    *_figure_6_pair("b", 4),
    Figure(
        "003-figure-2",
        "003 (poster), Figures 2(a), 2(b), 2(c)",
        "Average accuracy by size, as on the poster",
        "Unit priors, balanced data, ε = 1, δ = 10⁻⁸, Laplace noise rounded to the nearest integer: exact means, with averages of 10,000 "
        "draws as hollow circles where candidates can be listed.",
        _poster_2,
        (
            _panel(2, title="(a) 2 categories"),
            _panel(3, title="(b) 3 categories"),
            _panel(4, title="(c) 4 categories"),
            FigurePanel("baseline overtaken below 1", _draw_ratio),
        ),
    ),
)
