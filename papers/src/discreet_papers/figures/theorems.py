"""001's theorems with both sides drawn: 4.1 to 4.4 and Corollary 4.4.1, Theorem 4.5, and its corollaries on LSHist against EHD."""

from math import log
from typing import TYPE_CHECKING

from discreet.mechanisms.laplace import LaplaceDimension, LaplaceHistogram, LaplaceZhang
from discreet.model.dirichlet import Beta
from discreet.plotting.style import SMALL
from discreet_papers import theory
from discreet_papers.contenders import balanced
from discreet_papers.data import Data, Value
from discreet_papers.figure import Figure, FigurePanel, plain_log
from discreet_papers.quantiles import error_ratio, reach_ratio
from discreet_papers.style import LABELS, LIMIT, Dash, line, series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FIGURES"]

_GAMMA = 0.05
_EPSILONS = (0.5, 1.0, 2.0)


def quantile_ratios(quick: bool) -> Data:
    """Both sides of Theorem 4.3 against n."""
    sizes = (2, 10, 100, 1000) if quick else (2, 3, 5, 8, 12, 20, 30, 50, 100, 200, 500, 1000, 2000, 5000, 15_000)
    return Data.of(
        {
            "epsilon": e,
            "n": n,
            "quantile": error_ratio(n, e, _GAMMA),
            "within_reach": reach_ratio(n, e, _GAMMA, up=True),
            "limit": log(1.0 / _GAMMA) / e,
        }
        for e in _EPSILONS
        for n in sizes
    )


def _draw_ratios(ax: "Axes", data: Data) -> None:
    for number, e in enumerate(_EPSILONS):
        own, look = data.where(epsilon=e), series(number)
        hollow = look | {"markersize": 10, "markerfacecolor": "none", "linestyle": (0, (4, 2)), "linewidth": 1.0}
        ax.plot(own["n"], own["within_reach"], label=f"ε = {e:g}, right side", **hollow)
        ax.plot(own["n"], own["quantile"], label=f"ε = {e:g}, left side", **look | {"linestyle": "-"})
    plain_log(ax, "x")
    ax.set_xlabel("records, n")
    ax.set_ylabel("in local sensitivities, LS(x)")
    ax.set_ylim(bottom=0.0)


# --- Theorem 4.5 ------------------------------------------------------------------------------------------------------

_ROWS = ("LSZhang", "LSHist", "EHD", "EHDL")


def theorem_rows(quick: bool) -> Data:
    """P(H < t) of each mechanism with what the theorem says, by the number of steps k, for n = 100 and 1,000 and ε = 1."""
    rows: list[dict[str, Value]] = []
    for n in (100,) if quick else (100, 1000):
        for steps in range(0, 11, 2 if quick else 1):
            found = theory.theorem_4_5(Beta(1, 1), balanced(n, 2), 1, steps)
            for name in _ROWS:
                first, second = found[name]
                rows.append({"n": n, "steps": steps, "mechanism": name, "exact": first.left, "first": first.right, "second": second.right})
    return Data.of(rows)


_SIDES: dict[str, tuple[str, Dash]] = {
    "value": ("the theorem's value", (0, (5, 2))),
    "lower": ("its lower bound", (0, (1, 1.5))),
    "upper": ("its upper bound", (0, (5, 1, 1, 1))),
}
_COLUMNS = {"LSZhang": ("value", "lower"), "LSHist": ("value", "lower"), "EHD": ("lower", "upper"), "EHDL": ("lower", "upper")}


def _draw_theorem(ax: "Axes", data: Data, name: str) -> None:
    rows = data.where(n=100, mechanism=name)
    ax.plot(rows["steps"], rows["exact"], **line(name))
    for column, side in zip(("first", "second"), _COLUMNS[name], strict=True):
        label, dash = _SIDES[side]
        if rows[column].max() > 1.2:
            ax.annotate(f"{label} is above 1", (0.98, 0.5), xycoords="axes fraction", ha="right", fontsize=SMALL)
        else:
            ax.plot(rows["steps"], rows[column], label=label, **LIMIT | {"linestyle": dash})
    ax.set_xlabel("steps k that t allows")
    ax.set_ylabel("P(H < t)")
    ax.set_ylim(bottom=0.0)


# --- LSHist against EHD -----------------------------------------------------------------------------------------------


def histogram_against_global(quick: bool) -> Data:
    """P(H < t) of LSHist and EHD for t of two steps, against n, with the sizes the corollaries name."""
    rows: list[dict[str, Value]] = []
    for e in (0.5, 1.0, 2.0):
        for n in (6, 10, 20, 50, 200) if quick else (6, 8, 10, 14, 20, 30, 50, 80, 120, 200, 400, 1000):
            found = theory.corollary_4_5_1(Beta(1, 1), balanced(n, 2), repr(e), 2)
            rows.append({"epsilon": e, "n": n, "LSHist": found.left, "EHD": found.right, "size": float(found.crossover or 0.0)})
    return Data.of(rows)


def _draw_against(ax: "Axes", data: Data, e: float) -> None:
    rows = data.where(epsilon=e)
    for name in ("LSHist", "EHD"):
        ax.plot(rows["n"], rows[name], **line(name))
    ax.axvline(rows["size"][0], label="size named by Corollary 4.5.1", **LIMIT)
    plain_log(ax, "x")
    ax.set_xlabel("records, n")
    ax.set_ylabel("P(H < t), t allowing 2 steps")
    ax.set_ylim(0.0, 1.03)


# --- ℓ1 accuracy ------------------------------------------------------------------------------------------------------

_NOISY = {"LSHist": LaplaceHistogram, "LSDim": LaplaceDimension, "LSZhang": LaplaceZhang}


def l1_tails(quick: bool) -> Data:
    """000 section 3: P(ℓ1 error >= γ) with the tail of the noise before it is floored, data (20, 20), ε = 1."""
    rows: list[dict[str, Value]] = []
    for name, cls in _NOISY.items():
        for gamma in range(2, 25, 4 if quick else 2):
            found = theory.l1_accuracy(cls(Beta(1, 1), 40, 1), [20, 20], gamma)
            shifted = theory.l1_accuracy(cls(Beta(1, 1), 40, 1), [20, 20], gamma, floored=2.0)
            rows.append({"mechanism": name, "gamma": gamma, "exact": found.left, "tail": found.right, "shifted": shifted.right})
    return Data.of(rows)


def _draw_tails(ax: "Axes", data: Data, name: str) -> None:
    rows = data.where(mechanism=name)
    ax.plot(rows["gamma"], rows["exact"], **line(name))
    ax.plot(rows["gamma"], rows["tail"], label="tail of the noise at γ", **LIMIT)
    ax.plot(rows["gamma"], rows["shifted"], label="tail of the noise at γ - 2", **LIMIT | {"linestyle": (0, (5, 2))})
    ax.set_yscale("log")
    ax.set_ylim(1e-5, 2.0)
    ax.set_xlabel("γ")
    ax.set_ylabel("P(|α - α̃| + |β - β̃| ≥ γ)")


FIGURES = (
    Figure(
        "000-section-3",
        "000, section 3",
        "Accuracy in the ℓ1 norm",
        "The probability that the reported parameters are off by γ or more in all, exactly, and the tail of the Laplace noise before it is "
        "floored; data (20, 20), ε = 1. Flooring adds up to one record to what a count is off by: with γ - 2 for γ the tail is a bound.",
        l1_tails,
        tuple(FigurePanel(LABELS[name], lambda ax, data, name=name: _draw_tails(ax, data, name)) for name in _NOISY),  # type: ignore[misc]
    ),
    Figure(
        "001-theorem-4.1-4.4",
        "001, Theorems 4.1 to 4.4",
        "LSHist's error in local sensitivities",
        "Filled: the distance that LSHist exceeds with probability γ = 0.05, divided by the local sensitivity, on balanced data "
        "under beta(1,1). "
        "Hollow: the largest distance within ln(1/γ)/ε steps, rounded up. Both are bounded in n.",
        quantile_ratios,
        (FigurePanel("", _draw_ratios),),
    ),
    Figure(
        "001-theorem-4.5",
        "001, Theorem 4.5",
        "Probability of a small error, and what the theorem says",
        "Exact probabilities for t between k and k + 1 steps, against the theorem's value or bounds; prior beta(1,1), balanced "
        "data, n = 100, "
        "ε = 1. LSDim is not in the theorem.",
        theorem_rows,
        tuple(FigurePanel(LABELS[name], lambda ax, data, name=name: _draw_theorem(ax, data, name)) for name in _ROWS),  # type: ignore[misc]
    ),
    Figure(
        "001-corollaries",
        "001, Corollaries 4.5.1 to 4.5.3",
        "LSHist against EHD for large n",
        "P(H < t) for t that allows two steps; prior beta(1,1), balanced data. The dotted line is where Corollary 4.5.1 says "
        "LSHist is ahead.",
        histogram_against_global,
        tuple(FigurePanel(f"ε = {e:g}", lambda ax, data, e=e: _draw_against(ax, data, e)) for e in (0.5, 1.0, 2.0)),  # type: ignore[misc]
    ),
)
