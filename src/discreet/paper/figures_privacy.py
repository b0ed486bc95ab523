"""The privacy that is really lost: 000 Figure 7, the lemmas of 004, and 000's Theorem 4.1."""

from math import exp, expm1, log
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.distributions import Beta, Dirichlet
from discreet.enumeration import Space, simplex_points
from discreet.mechanisms import HellingerSmoothDelta
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.hellinger import Exponential
from discreet.optimum import neighbouring_pairs
from discreet.paper.contenders import ADDED, SIX, balanced, build
from discreet.paper.data import Data, Value
from discreet.paper.figure import Figure, Panel
from discreet.paper.figures_sensitivity import datasets
from discreet.paper.style import INK, line
from discreet.privacy import privacy_loss
from discreet.sensitivity import Smoothing, smooth_sensitivities
from discreet.validation import check_positive

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FIGURES", "balanced_loss", "dilation", "laplace_dilation", "lipschitz", "sliding"]

# --- 000 Figure 7 -----------------------------------------------------------------------------------------------------


def balanced_loss(mechanism: Mechanism) -> float:
    """The largest loss between balanced data and a neighbour, two categories: what 000 Figure 7 is about."""
    if mechanism.loss_atoms() is not None:
        return privacy_loss(mechanism).value
    n = mechanism.n
    x = int(balanced(n, 2)[0])
    own = mechanism.law([x, n - x]).log_probability
    others = [mechanism.law([y, n - y]).log_probability for y in (x - 1, x + 1) if 0 <= y <= n]
    return float(max(np.abs(own - other).max() for other in others))


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
    ax.axhline(1.0, color=INK, linewidth=0.9, linestyle=(0, (1, 1)), label="ε, what is promised")
    ax.set_xscale("log")
    ax.set_xlabel("records, n")
    ax.set_ylabel("privacy loss, |ln P(r | x) / P(r | x′)|")
    ax.set_ylim(0.0, 1.1)


# --- the lemmas of 004 ------------------------------------------------------------------------------------------------


def _scores(mechanism: Exponential, x: int) -> tuple[Any, float, Any]:
    """Scores u = -H of all candidates, the sensitivity, and the probabilities."""
    counts = np.array([x, mechanism.n - x])
    law = mechanism.law(counts)
    return -mechanism._distances(counts, law.counts), float(mechanism._sensitivity(counts)), law.probability


def sliding(n: int, epsilon: float, delta: float, x: int, shift: float) -> dict[str, Any]:
    """004 Lemma 3.2 for a shift Δ of so many S(x): both sides at every score, the probability read as a function of the score."""
    mechanism = HellingerSmoothDelta(Beta(1, 1), n, repr(epsilon), repr(delta))
    score, _, probability = _scores(mechanism, x)
    right = exp(epsilon / 2.0) * probability * exp(epsilon * shift / 2.0) + delta / 2.0
    return {"score": score, "left": probability, "right": right}


def dilation(n: int, epsilon: float, delta: float, x: int, sign: float) -> dict[str, Any]:
    """004 Lemma 3.3 at λ = ±β: both sides at every score, the probability read as a function of the score."""
    mechanism = HellingerSmoothDelta(Beta(1, 1), n, repr(epsilon), repr(delta))
    score, sensitivity, probability = _scores(mechanism, x)
    stretch = expm1(sign * mechanism.beta)
    right = exp(epsilon / 2.0) * probability * np.exp(epsilon * score * stretch / (2.0 * sensitivity)) + delta / 2.0
    return {"score": score, "left": probability, "right": right}


def laplace_dilation(epsilon: float, delta: float) -> float:
    """004 Lemma 3.1: the largest P(z in S) - e^{ε/2} P(z in e^λ S) over all sets S and |λ| <= ε/(2 ln(2/δ)); to be at most δ/2.

    For λ < 0 the densities' ratio never exceeds e^{|λ|}. For λ > 0 the worst S is the tail where the ratio exceeds e^{ε/2}.
    """
    most = epsilon / (2.0 * log(2.0 / delta))
    worst = 0.0
    for step in np.linspace(most / 50.0, most, 50):
        start = (epsilon / 2.0 + step) / expm1(step)
        worst = max(worst, exp(-start) - exp(epsilon / 2.0 - exp(step) * start))
        worst = max(worst, 0.0 if step <= epsilon / 2.0 else 1.0)
    return worst


def lemma_ratios(quick: bool) -> Data:  # noqa: ARG001
    """Left side over right side of the sliding and dilation lemmas, n = 100, ε = 1, δ = 10⁻⁸."""
    rows: list[dict[str, Value]] = []
    for x in (50, 10, 0):
        sides = {f"sliding {s:+g}": sliding(100, 1.0, 1e-8, x, s) for s in (-1.0, 1.0)}
        sides |= {f"dilation {s:+g}": dilation(100, 1.0, 1e-8, x, s) for s in (-1.0, 1.0)}
        for name, found in sides.items():
            for score, left, right in zip(found["score"], found["left"], found["right"], strict=True):
                rows.append({"x": x, "lemma": name, "score": float(score), "left": float(left), "right": float(right)})
    return Data.of(rows)


_LEMMA_LOOKS = {50: ("#2f7fd0", "-", "o"), 10: ("#d5541c", (0, (6, 2)), "^"), 0: ("#16936b", (0, (4, 1, 1, 1)), "D")}


def _draw_lemma(ax: "Axes", data: Data, names: tuple[str, str]) -> None:
    for name, width in zip(names, (1.7, 0.9), strict=True):
        for x, (colour, dash, marker) in _LEMMA_LOOKS.items():
            own = data.where(x=x, lemma=name)
            order = np.argsort(own["score"])
            sign = name.split()[1][0].replace("-", "−")
            label = f"x = ({x}, {100 - x}), {sign}"
            look: dict[str, Any] = {"color": colour, "linestyle": dash, "linewidth": width, "markersize": 3 + 2 * width}
            ax.plot(own["score"][order], (own["left"] / own["right"])[order], marker=marker, markevery=0.2, label=label, **look)
    ax.axhline(1.0, color=INK, linewidth=0.9, linestyle=(0, (1, 1)), label="the lemma's limit")
    ax.set_xlabel("score, u = -H")
    ax.set_ylabel("left side / right side")
    ax.set_ylim(0.0, 1.08)


# --- 000 Theorem 4.1 --------------------------------------------------------------------------------------------------


def lipschitz(prior: Beta | Dirichlet, n: int, gamma: float) -> float:
    """The largest |1/S(x) - 1/S(x')| over all neighbours; 000's Theorem 4.1 says at most γ."""
    points = simplex_points(n, prior.k)
    inverse = 1.0 / smooth_sensitivities(prior, points, Smoothing(gamma=check_positive(repr(gamma), "gamma")))
    pairs = neighbouring_pairs(Space(prior.k, n))
    return float(np.abs(inverse[pairs[:, 0]] - inverse[pairs[:, 1]]).max())


def smooth_changes(quick: bool) -> Data:  # noqa: ARG001
    """1/S(x+1) - 1/S(x) for every x, Beta(1, 1), n = 100."""
    rows: list[dict[str, Value]] = []
    for gamma in (0.01, 0.05, 0.2, 1.0):
        inverse = 1.0 / smooth_sensitivities(Beta(1, 1), datasets(100), Smoothing(gamma=check_positive(repr(gamma), "gamma")))
        rows += [{"gamma": gamma, "x": x, "change": float(c)} for x, c in enumerate(np.diff(inverse))]
    return Data.of(rows)


_GAMMA_LOOKS = (("#2f7fd0", "-", "o"), ("#d5541c", (0, (6, 2)), "^"), ("#16936b", (0, (4, 1, 1, 1)), "D"), ("#9a6fc4", (0, (1, 1)), "v"))


def _draw_changes(ax: "Axes", data: Data) -> None:
    for gamma, (colour, dash, marker) in zip(data.distinct("gamma"), _GAMMA_LOOKS, strict=True):
        own = data.where(gamma=gamma)
        ax.plot(
            own["x"] + 0.5, np.abs(own["change"]) / gamma, color=colour, linestyle=dash, marker=marker, markevery=8, label=f"γ = {gamma:g}"
        )
    ax.axhline(1.0, color=INK, linewidth=0.9, linestyle=(0, (1, 1)), label="the theorem's limit")
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
            Panel("balanced data", lambda ax, data: _draw_losses(ax, data, "balanced", SIX)),
            Panel("worst data", lambda ax, data: _draw_losses(ax, data, "worst", SIX)),
            Panel("worst data, extended", lambda ax, data: _draw_losses(ax, data, "worst", ("EHDS", *ADDED))),
        ),
    ),
    Figure(
        "000-theorem-4.1",
        "000, Theorem 4.1",
        "The smooth sensitivity changes slowly",
        "1/S changes by at most γ between neighbours: every curve stays under 1. Prior beta(1,1), n = 100.",
        smooth_changes,
        (Panel("", _draw_changes),),
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
            Panel("sliding", lambda ax, data: _draw_lemma(ax, data, ("sliding -1", "sliding +1"))),
            Panel("dilation", lambda ax, data: _draw_lemma(ax, data, ("dilation -1", "dilation +1"))),
        ),
    ),
)
