"""Pictures of one posterior: densities of the categories' probabilities, and means with intervals of a release."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import RefusedError, TooLargeError
from discreet.plotting.style import (
    ESTIMATE,
    PAPER,
    QUIET,
    SERIES,
    drawn_on,
    dress,
    entitle,
    entitle_figure,
    house_style,
    legend_below,
    log_ticks,
    percentages,
)
from discreet.plotting.words import heading, label, lines_of, longest_line, named, row_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from discreet.arrays import Floats
    from discreet.betas.mixtures import BetaMixture
    from discreet.inference.quantities import Quantity
    from discreet.model.dirichlet import Beta
    from discreet.record.release import Release

__all__ = ["draw_release", "plot_marginals", "plot_quantity", "plot_release"]

_UNDRAWN_TAIL, _CURVE_POINTS = 1e-4, 400
"""Probability beyond either end of a curve, and the points that it is drawn through."""
_UNDRAWN_QUANTITY, _QUANTITY_POINTS = 1e-3, 121
"""Probability beyond either end of the curve of a contrast, and its points: fewer, because these densities take longer."""
_NOISE_AWARE = {"marker": "o", "markersize": 7, "linestyle": "-", "linewidth": 3, "color": ESTIMATE}
_AS_REPORTED = {"marker": "s", "markersize": 5.5, "linestyle": "--", "linewidth": 1.1, "color": QUIET, "markerfacecolor": PAPER}
"""Told apart by marker and line as well as by colour."""
_AWARE, _REPORTED = "noise-aware", "as reported"
_LEGEND_WORDS = {
    _AWARE: "noise-aware: allows for the noise that protects people",
    _REPORTED: "as reported: takes the noisy counts at face value, so it is too narrow",
}
"""Words of a legend that has room for them."""
_NO_INTERVAL = "as reported; no interval that allows for the noise"
TALLEST = 40.0
"""Inches: more rows of a picture are no longer read, and a picture has a largest size."""
PICTURE_WIDTH = 7.0
"""Inches of a picture with one panel."""
_MOST_NAMED = 20
"""Entries of a legend that fit beside the picture."""
_SHORT_LABEL = 18
"""Characters of labels that leave room for the picture beside them."""


def plot_marginals(
    marginals: "Sequence[tuple[Hashable, Beta | BetaMixture]]", ax: "Axes | None" = None, *, color: str | None = None
) -> "Axes":
    """The densities of the categories' probabilities, told apart by line style as well as by colour, unless one is given."""
    shown = len(marginals) if len(marginals) <= _MOST_NAMED else _MOST_NAMED - 1
    labels = [label(category) for category, _ in marginals[:shown]]
    beside = max(map(len, labels), default=0) <= _SHORT_LABEL
    tall = max(3.8, 0.6 + 0.19 * len(marginals[:_MOST_NAMED])) if beside else 3.9 + 0.2 * len(labels)
    with drawn_on(ax, PICTURE_WIDTH, tall) as (ax, own):
        for i, (_, beta) in enumerate(marginals):
            look, again = SERIES[i % len(SERIES)], i // len(SERIES)
            marks: dict[str, Any] = {"marker": SERIES[(again - 1) % len(SERIES)].marker, "markevery": (8 * i % 57, 57)} if again else {}
            low, high = beta.ppf([_UNDRAWN_TAIL, 1.0 - _UNDRAWN_TAIL])
            grid = np.linspace(low, high, _CURVE_POINTS)
            ax.plot(grid, beta.pdf(grid), color=color or look.colour, linestyle=look.dash, label=labels[i] if i < shown else None, **marks)
        if shown < len(marginals):
            ax.plot([], [], " ", label=f"and {len(marginals) - shown} more")
        ax.set_xlabel("probability")
        ax.set_ylabel("density")
        ax.set_ylim(bottom=0.0)
        if own:
            percentages(ax)
            entitle(ax, "Which probabilities are plausible: the higher the curve, the more so.")
        if own and beside:
            ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, handlelength=2.6)
        else:
            legend_below(ax, own=own)
    return ax


def plot_quantity(quantity: "Quantity", ax: "Axes | None" = None, mass: float = 0.95) -> "Axes":
    """The density of a difference or a ratio, what holds this much probability shaded, and a line where there is no difference."""
    ratio, (low, high) = quantity.logarithmic, quantity.interval(mass)
    start, end = quantity.ppf([_UNDRAWN_QUANTITY, 1.0 - _UNDRAWN_QUANTITY])
    grid = np.geomspace(start, end, _QUANTITY_POINTS) if ratio else np.linspace(start, end, _QUANTITY_POINTS)
    density = quantity.pdf(grid) * (grid if ratio else 1.0)  # on a logarithmic scale, for its logarithm
    with drawn_on(ax, PICTURE_WIDTH, 3.8) as (ax, own):
        ax.plot(grid, density, color=ESTIMATE)
        ax.fill_between(grid, density, where=((grid >= low) & (grid <= high)).tolist(), color=ESTIMATE, alpha=0.2, linewidth=0.0)
        if quantity.alike is not None:
            ax.axvline(quantity.alike, color=QUIET, linewidth=1.0, linestyle=(0, (1, 1.5)), zorder=1)
        ax.axvline(quantity.median(), color=ESTIMATE, linewidth=1.0)
        if ratio:
            ax.set_xscale("log")
            log_ticks(ax.xaxis, float(start), float(end))
        elif quantity.alike is not None:
            ax.xaxis.set_major_formatter(lambda value, _: f"{round(100.0 * value, 6):g}")
        ax.set_xlabel(f"{quantity.name}{' in percentage points' if quantity.alike == 0.0 else ''}: median and {100.0 * mass:g} % interval")
        ax.set_ylabel("density of its logarithm" if ratio else "density")
        ax.set_ylim(bottom=0.0)
        if own and quantity.alike is not None:
            entitle(ax, "The dotted line is no difference.")
    return ax


def plot_release(
    release: "Release", ax: "Axes | None" = None, mass: float = 0.95, *, variable: str | None = None, prior: Any = None
) -> "Axes":
    """Each category's mean and interval, a row each: noise-aware above, as reported below it. The title names the variable.

    Where the noise-aware posterior is out of reach, the legend says so and the reported means stand alone.
    """
    with drawn_on(ax, PICTURE_WIDTH, _height(release), rows=True) as (ax, own):
        _fill(ax, release, mass, prior)
        entitle(ax, heading(release, _question(variable)))
        if own:
            _finish(ax)
        else:
            ax.legend()
    return ax


def draw_release(release: "Release", figure: "Figure", mass: float, *, variable: str | None, prior: Any = None) -> None:
    """Fill an empty figure with the picture that `plot_release` draws, as tall as it needs to be."""
    figure.set_size_inches(PICTURE_WIDTH, _height(release))
    figure.set(facecolor="white", layout_engine="constrained")
    with house_style():
        ax = figure.add_subplot()
        dress(ax, grid="x", rows=True)
        _fill(ax, release, mass, prior)
        _finish(ax)
        entitle_figure(figure, heading(release, _question(variable)))


def _height(release: "Release") -> float:
    """Inches that the categories need to be read."""
    labels = [row_label(c) for c in release.prior.categories]
    return min(TALLEST, 1.9 + max(0.55, 0.19 * lines_of(labels)) * len(labels))


def _finish(ax: "Axes") -> None:
    """Finish axes of our own: percentages, and a legend that says more and covers nothing."""
    for line in ax.get_lines():
        line.set_label(_LEGEND_WORDS.get(str(line.get_label()), str(line.get_label())))
    percentages(ax)
    legend_below(ax, right=longest_line([text.get_text() for text in ax.get_yticklabels()]) > _SHORT_LABEL)


def _fill(ax: "Axes", release: "Release", mass: float, prior: Any) -> None:
    categories = release.prior.categories
    rows = np.arange(len(categories), dtype=np.float64)
    reported = [release.reported.marginal(c) for c in categories]
    try:
        aware = release.noise_aware(prior)
        _draw_intervals(ax, rows - 0.15, [aware.marginal(c) for c in categories], mass, _AWARE, _NOISE_AWARE)
        _draw_intervals(ax, rows + 0.15, reported, mass, _REPORTED, _AS_REPORTED)
    except (RefusedError, TooLargeError):  # an interval that does not allow for the noise would stand alone, and look like an answer
        means = [marginal.mean() for marginal in reported]
        ax.plot(means, rows, "s", label=_NO_INTERVAL, color=QUIET, markerfacecolor=PAPER)
    ax.set_yticks(rows, [row_label(c) for c in categories])
    ax.set_ylim(len(categories) - 0.5, -0.5)
    ax.set_xlabel(f"probability: mean and {100.0 * mass:g} % interval")


def _question(variable: str | None) -> str:
    name = named(variable)
    if name is None:
        return "How common is each category?"
    return name if name.endswith("?") else f"How common is each value of “{name}”?"


def _draw_intervals(
    ax: "Axes",
    rows: "Floats",
    marginals: "Sequence[Beta | BetaMixture]",
    mass: float,
    name: str,
    look: dict[str, Any],
) -> None:
    for i, (row, marginal) in enumerate(zip(rows, marginals, strict=True)):
        low, high = marginal.interval(mass)
        entry = name if i == 0 else None
        ax.plot([low, marginal.mean(), high], [row] * 3, markevery=[1], label=entry, solid_capstyle="butt", **look)
