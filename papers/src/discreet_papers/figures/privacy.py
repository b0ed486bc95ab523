"""Figures of exact privacy losses: 000 Figure 7, the lemmas of 004, and 000's Theorem 4.1."""

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from discreet.analysis.privacy import privacy_loss
from discreet.model.dirichlet import Beta
from discreet.model.sensitivity import Smoothing, smooth_sensitivities
from discreet.validation import check_positive
from discreet_papers.contenders import ADDED, SIX, build
from discreet_papers.data import Data, Value
from discreet_papers.figure import Figure, FigurePanel, plain_log
from discreet_papers.lemmas import dilation, sliding
from discreet_papers.losses import balanced_loss
from discreet_papers.sensitivities import datasets
from discreet_papers.style import LIMIT, line, series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FIGURES"]

# --- 000 Figure 7 -----------------------------------------------------------------------------------------------------


def losses(quick: bool) -> Data:
    """The loss on balanced data and the worst over all data, Beta(1, 1), ε = 1."""
    sizes = (2, 10, 50, 200) if quick else (2, 4, 6, 10, 20, 50, 100, 200, 300, 500, 700, 1000)
    rows: list[dict[str, Value]] = []
    for n in sizes:
        for name in (*SIX, *ADDED):
            mechanism = build(name, Beta(1, 1), n)
            rows.append({"n": n, "mechanism": name, "balanced": balanced_loss(mechanism), "worst": privacy_loss(mechanism).value})
    return Data.of(rows)


def _draw_losses(ax: "Axes", data: Data, column: str, names: tuple[str, ...]) -> None:
    for name in names:
        own = data.where(mechanism=name)
        ax.plot(own["n"], own[column], **line(name))
    ax.axhline(1.0, label="ε, what is promised", **LIMIT)
    plain_log(ax, "x")
    ax.set_xlabel("records, n")
    ax.set_ylabel("privacy loss, |ln P(r | x) / P(r | x′)|")
    ax.set_ylim(0.0, 1.1)


# --- the lemmas of 004 ------------------------------------------------------------------------------------------------


def lemma_ratios(quick: bool) -> Data:  # noqa: ARG001
    """Left side over right side of the sliding and dilation lemmas, n = 100, ε = 1, δ = 10⁻⁸."""
    rows: list[dict[str, Value]] = []
    for x, sign in product((50, 10, 0), (-1, 1)):
        for name, lemma in (("sliding", sliding), ("dilation", dilation)):
            found = lemma(Beta(1, 1), 100, 1.0, 1e-8, x, float(sign))
            for score, left, right in zip(found.score, found.left, found.right, strict=True):
                rows.append({"x": x, "lemma": name, "sign": sign, "score": float(score), "left": float(left), "right": float(right)})
    return Data.of(rows)


def _draw_lemma(ax: "Axes", data: Data, name: str) -> None:
    for sign, width in ((-1, 1.7), (1, 0.9)):
        for number, x in enumerate((50, 10, 0)):
            own = data.where(x=x, lemma=name, sign=sign)
            order = np.argsort(own["score"])
            label = f"x = ({x}, {100 - x}), {'−' if sign < 0 else '+'}"
            look = series(number, every=0.2) | {"linewidth": width, "markersize": 3 + 2 * width}
            ax.plot(own["score"][order], (own["left"] / own["right"])[order], label=label, **look)
    ax.axhline(1.0, label="the lemma's limit", **LIMIT)
    ax.set_xlabel("score, u = -H")
    ax.set_ylabel("left side / right side")
    ax.set_ylim(0.0, 1.08)


# --- 000 Theorem 4.1 --------------------------------------------------------------------------------------------------


def smooth_changes(quick: bool) -> Data:  # noqa: ARG001
    """1/S(x+1) - 1/S(x) for every x, Beta(1, 1), n = 100."""
    rows: list[dict[str, Value]] = []
    for gamma in (0.01, 0.05, 0.2, 1.0):
        inverse = 1.0 / smooth_sensitivities(Beta(1, 1), datasets(100), Smoothing(gamma=check_positive(repr(gamma), "gamma")))
        rows += [{"gamma": gamma, "x": x, "change": float(c)} for x, c in enumerate(np.diff(inverse))]
    return Data.of(rows)


def _draw_changes(ax: "Axes", data: Data) -> None:
    for number, gamma in enumerate(data.distinct("gamma")):
        own = data.where(gamma=gamma)
        ax.plot(own["x"] + 0.5, np.abs(own["change"]) / gamma, label=f"γ = {gamma:g}", **series(number, every=(2 * number, 8)))
    ax.axhline(1.0, label="the theorem's limit", **LIMIT)
    ax.set_xlabel("between x₁ and x₁ + 1 records of the first kind (of 100)")
    ax.set_ylabel("|1/S(x) - 1/S(x′)| / γ")
    ax.set_ylim(0.0, 1.1)


FIGURES = (
    Figure(
        "000-figure-7",
        "000, Figure 7",
        "Privacy that is really lost",
        "Two categories, prior beta(1,1), ε = 1, δ = 10⁻⁸. Left, as in the paper: balanced data against their neighbours. "
        "Middle: the worst of "
        "all datasets. Right: with Calibrated, which spends all of ε, and LatticeGeometric.",
        losses,
        (
            FigurePanel("balanced data", lambda ax, data: _draw_losses(ax, data, "balanced", SIX)),
            FigurePanel("worst data", lambda ax, data: _draw_losses(ax, data, "worst", SIX)),
            FigurePanel("worst data, extended", lambda ax, data: _draw_losses(ax, data, "worst", ("EHDS", *ADDED))),
        ),
    ),
    Figure(
        "000-theorem-4.1",
        "000, Theorem 4.1",
        "The smooth sensitivity changes slowly",
        "1/S changes by at most γ between neighbours: every curve stays under 1. Prior beta(1,1), n = 100.",
        smooth_changes,
        (FigurePanel("", _draw_changes),),
    ),
    Figure(
        "004-lemmas",
        "004, Lemmas 3.2 and 3.3",
        "Sliding and dilation, both sides",
        "Left side of the lemma over its right side at every score, for shifts of ±S(x) and dilations by e^±β; prior beta(1,1), "
        "n = 100, ε = 1, "
        "δ = 10⁻⁸. The probability is read as a function of the score, attained or not.",
        lemma_ratios,
        (
            FigurePanel("sliding", lambda ax, data: _draw_lemma(ax, data, "sliding")),
            FigurePanel("dilation", lambda ax, data: _draw_lemma(ax, data, "dilation")),
        ),
    ),
)
