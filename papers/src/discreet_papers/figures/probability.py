"""Probability against distance from the true posterior: 000 Figures 3 and 4, the poster's Figures 3(b) and 3(c)."""

from typing import TYPE_CHECKING

import numpy as np

from discreet.analysis.dataset_errors import Errors
from discreet.analysis.error_laws import error_law
from discreet.arrays import Floats
from discreet.model.distances import hellinger
from discreet_papers.contenders import ADDED, SIX, Rounding, balanced, build, uniform
from discreet_papers.data import Data, Value
from discreet_papers.figure import Compute, Figure, FigurePanel
from discreet_papers.style import DRAWN, line, points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BIN", "FIGURES", "probabilities"]

BIN, FINE_BIN = 0.05, 0.01
"""Widths of the bins of H with three or more categories, where there are thousands of distances; fine ones are for adding up."""
_LOWEST = 1e-5
RECORDS = {2: 100, 3: 100, 4: 100}
FEW_RECORDS = {2: 100, 3: 60, 4: 20}
"""So few that `Calibrated` can compute its loss over all pairs of neighbours."""
DRAWS = 10_000
_SEED = 3
_SAME = 1e-10


def _grouped(k: int, distance: Floats, probability: Floats, width: float) -> tuple[Floats, Floats]:
    """Two categories: the distinct distances. More: bins of this width, named by their middles."""
    if k == 2:
        place = np.rint(distance / _SAME).astype(np.int64)
        values, owner = np.unique(place, return_inverse=True)
        return np.asarray(values * _SAME), np.asarray(np.bincount(owner, weights=probability), dtype=np.float64)
    place = np.minimum((distance / width).astype(np.int64), round(1.0 / width) - 1)
    mass = np.bincount(place, weights=probability, minlength=round(1.0 / width))
    return np.asarray((np.arange(len(mass)) + 0.5) * width), np.asarray(mass, dtype=np.float64)


def probabilities(
    epsilon: int,
    sizes: dict[int, int],
    names: tuple[str, ...],
    *,
    rounding: Rounding = "floor",
    draws: int = 0,
    width: float = BIN,
) -> Data:
    """P(H = c), or P(H in bin c), of every mechanism on balanced data under the unit prior; with draws, their frequencies beside it."""
    rows: list[dict[str, Value]] = []
    for k, n in sizes.items():
        counts, prior = balanced(n, k), uniform(k)
        for name in names:
            mechanism = build(name, prior, n, epsilon, rounding)
            law = error_law(mechanism, counts)
            distance, probability = _grouped(k, law.support, law.probability, width)
            frequency = np.full(len(distance), np.nan)
            if draws and k == 2:
                drawn = mechanism.simulate(counts, draws, np.random.default_rng([_SEED, epsilon, k, *name.encode()]))
                errors = np.asarray(Errors(prior, n, hellinger)(counts, drawn))
                where, share = _grouped(k, errors, np.full(draws, 1.0 / draws), width)
                found = dict(zip(np.rint(where / _SAME), share, strict=True))
                frequency = np.array([found.get(place, 0.0) for place in np.rint(distance / _SAME)])
            rows += [
                {
                    "k": k,
                    "n": n,
                    "epsilon": epsilon,
                    "mechanism": name,
                    "distance": float(d),
                    "probability": float(p),
                    "frequency": float(f),
                }
                for d, p, f in zip(distance, probability, frequency, strict=True)
            ]
    return Data.of(rows)


def _as_drawn(epsilon: int) -> Compute:
    return lambda quick: probabilities(epsilon, {2: 100, 3: 60, 4: 20} if quick else RECORDS, SIX, draws=DRAWS)


def _extended(epsilon: int) -> Compute:
    def compute(quick: bool) -> Data:
        return probabilities(epsilon, {2: 100, 3: 30, 4: 12} if quick else FEW_RECORDS, (*SIX, *ADDED), width=FINE_BIN)

    return compute


def _poster(quick: bool) -> Data:
    return probabilities(1, {2: 100, 3: 60 if quick else 100}, ("LSDim", "LSHist", "EHDS-delta"), rounding="nearest", draws=DRAWS)


def _draw_probability(ax: "Axes", data: Data, k: int) -> None:
    rows = data.where(k=k)
    names = rows.distinct("mechanism")
    for i, name in enumerate(names):
        own = rows.where(mechanism=name)
        shown = own["probability"] > _LOWEST
        # Side by side within a bin: in the last one the exponential mechanisms would cover one another.
        aside = 0.0 if k == 2 else (i - (len(names) - 1) / 2) * BIN / len(names)
        every = max(1, int(shown.sum()) // 12) if k == 2 else 1
        ax.plot(own["distance"][shown] + aside, own["probability"][shown], **line(name, every=every))
        drawn = shown & (own["frequency"] > 0.0)
        if k == 2 and name in ("LSHist", "EHDS", "EHDS-delta"):
            ax.errorbar(own["distance"][drawn][:8], own["frequency"][drawn][:8], **points(name))
    _label_drawn(ax, rows, k)


def _label_drawn(ax: "Axes", rows: Data, k: int) -> None:
    if k == 2:
        ax.plot([], [], label=f"frequency in {DRAWS:,} draws", **DRAWN)
    ax.set_xlabel("Hellinger distance from the true posterior, H")
    ax.set_ylabel("probability of that distance" if k == 2 else f"probability of H in bins of {BIN}")
    ax.set_xlim(-0.02, 1.02)
    ax.set_yscale("log")
    ax.set_ylim(_LOWEST, 1.3)
    ax.set_title(f"{k} categories, n = {rows['n'][0]}")


def _draw_cumulative(ax: "Axes", data: Data, k: int) -> None:
    rows = data.where(k=k)
    for name in rows.distinct("mechanism"):
        own = rows.where(mechanism=name)
        edge = own["distance"] + (0.0 if k == 2 else FINE_BIN / 2)
        look = line(name, every=0.12)
        ax.plot(np.append(edge, 1.0), np.append(np.cumsum(own["probability"]), 1.0), drawstyle="steps-post", **look)
    ax.set_xlabel("Hellinger distance from the true posterior, t")
    ax.set_ylabel("P(H ≤ t)")
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(0.0, 1.03)
    ax.set_title(f"{k} categories, n = {rows['n'][0]}")


def _panels(kinds: tuple[int, ...], cumulative: bool = False) -> tuple[FigurePanel, ...]:
    draw = _draw_cumulative if cumulative else _draw_probability
    return tuple(FigurePanel(f"{k} categories", lambda ax, data, k=k: draw(ax, data, k)) for k in kinds)  # type: ignore[misc]


def _pair(number: int, epsilon: int) -> tuple[Figure, Figure]:
    drawn = Figure(
        f"000-figure-{number}",
        f"000, Figure {number}",
        f"Probability against distance, ε = {epsilon}",
        "Balanced data, unit prior. Two categories: every distance that can occur, with the frequencies of Monte Carlo draws of "
        "three of the "
        f"mechanisms as hollow circles. Three and four: bins of H of width {BIN}, the mechanisms side by side in each. All on the same "
        "logarithmic scale. δ = 10⁻⁸.",
        _as_drawn(epsilon),
        _panels((2, 3, 4)),
    )
    extended = Figure(
        f"000-figure-{number}-extended",
        f"000, Figure {number}, extended",
        f"Distance not exceeded, ε = {epsilon}, with Calibrated and LatticeGeometric",
        "The same laws added up: the higher a curve, the better. Numbers of records are those for which the exact loss, and so the "
        "calibrated mechanism, can be computed.",
        _extended(epsilon),
        _panels((2, 3, 4), cumulative=True),
    )
    return drawn, extended


FIGURES = (
    *_pair(3, 1),
    *_pair(4, 5),
    Figure(
        "003-figure-3bc",
        "003 (poster), Figures 3(b) and 3(c)",
        "Discrete probabilities, as on the poster",
        "Balanced data, unit prior, ε = 1, δ = 10⁻⁸, Laplace noise rounded to the nearest integer. Left every distance; right bins of H.",
        _poster,
        _panels((2, 3)),
    ),
)
