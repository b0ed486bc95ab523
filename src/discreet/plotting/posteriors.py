"""Pictures of one posterior, and of plans, with the words in them: densities, means with intervals, widths and errors."""

from collections.abc import Hashable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import RefusedError, TooLargeError
from discreet.plotting.style import (
    ESTIMATE,
    INK,
    NOISE,
    PAPER,
    QUIET,
    SAMPLING,
    SERIES,
    drawn_on,
    dress,
    entitle,
    entitle_figure,
    house_style,
    legend_below,
    log_ticks,
    look_of,
    percentages,
)
from discreet.text import plain, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from discreet.arrays import Floats
    from discreet.betas.mixtures import BetaMixture
    from discreet.inference.quantities import Quantity
    from discreet.model.dirichlet import Beta
    from discreet.record.release import Release


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


_PLAN_WIDTH = 6.4


def plot_widths(
    places: Sequence[float], private: Sequence[float], plain: Sequence[float], ax: "Axes | None" = None, *, across: str, title: str
) -> "Axes":
    """The expected width of 95 % intervals with privacy and without, in percentage points, over a logarithmic axis."""
    with drawn_on(ax, _PLAN_WIDTH, 3.9) as (ax, own):
        ax.plot(places, [100.0 * w for w in private], "o-", color=NOISE, label="with privacy")
        ax.plot(places, [100.0 * w for w in plain], linestyle=(0, (5, 2.5)), color=SAMPLING, label="without privacy")
        ax.set_xscale("log")
        ax.set_xlabel(across)
        ax.set_ylabel("expected width of a 95 % interval,\npercentage points")
        ax.set_ylim(bottom=0.0)
        if own:
            ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
        entitle(ax, title)
        legend_below(ax, own=own, columns=2)
    return ax


def plot_errors(
    names: Sequence[str],
    means: Sequence[float],
    quantiles: Sequence[float | None],
    ax: "Axes | None" = None,
    *,
    optimum: float | None,
    title: str,
) -> "Axes":
    """The mean error of every mechanism as a bar with the mechanism's marker at its end, and its 95 % quantile; the first on top."""
    with drawn_on(ax, _PLAN_WIDTH, 1.9 + 0.3 * len(names), rows=True) as (ax, own):
        for height, (name, mean, quantile) in enumerate(reversed(list(zip(names, means, quantiles, strict=True)))):
            look = look_of(name)
            ax.barh(height, mean, height=0.34, color=look.colour, alpha=0.35 if look.hollow else 0.6)
            ax.plot([mean], [height], linestyle="none", **look.point())
            if quantile is not None:
                ax.plot([quantile], [height], "|", color=INK, markersize=11, markeredgewidth=1.6)
        ax.set_yticks(range(len(names)), list(reversed(names)))
        ax.plot([], [], "o", color=QUIET, markerfacecolor=PAPER, label="mean over the prior predictive")
        if any(quantile is not None for quantile in quantiles):
            ax.plot([], [], "|", color=INK, markersize=11, markeredgewidth=1.6, label="not exceeded with probability 95 %")
        if optimum is not None:
            ax.axvline(optimum, color=QUIET, linestyle=(0, (1, 1.5)), linewidth=1.2, label="least possible mean")
        ax.set_xlim(left=0.0)
        ax.set_ylim(-0.6, len(names) - 0.4)
        ax.set_xlabel("error of the reported posterior")
        entitle(ax, title)
        if own:
            legend_below(ax)
        else:
            ax.legend(loc="upper right", bbox_to_anchor=(1.0, -0.12), ncols=2)  # below: inside it would hide the best bars
    return ax


_LONGEST_DRAWN_LABEL = 60
"""Characters: a longer label leaves no room for what is drawn."""
_ROW_LABEL_LINE = 32
"""Characters of a label beside a row; what is longer is broken into lines."""


def label(category: Hashable) -> str:
    """A category as plain text: no mathematics between dollars, and no leading underscore, which Matplotlib hides; a long one is cut."""
    text = plain(category)
    text = (text if len(text) <= _LONGEST_DRAWN_LABEL else f"{text[:_LONGEST_DRAWN_LABEL]}...").replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def row_label(category: Hashable, width: int = _ROW_LABEL_LINE) -> str:
    """The label of a row or a panel, in as many lines of so many characters as it needs."""
    text = label(category)
    return text if len(text) <= width else "\n".join(wrap(text, width, break_on_hyphens=False)) or text


def lines_of(labels: Sequence[str]) -> int:
    """The most lines that a label has."""
    return max((text.count("\n") + 1 for text in labels), default=1)


def longest_line(labels: Sequence[str]) -> int:
    """The most characters that a line of a label has."""
    return max((len(line) for text in labels for line in text.split("\n")), default=0)


def group_label(group: Hashable) -> str:
    return " · ".join(plain(part) for part in (group if isinstance(group, tuple) else (group,)))


def title_of_contrasts(category: Hashable, reference: Hashable) -> str:
    """Return the title of a forest plot of all groups against this one."""
    return f"“{label(category)}” in each group against “{label(group_label(reference))}”; the dotted line is no difference."


def named(variable: str | None) -> str | None:
    """A variable or a title as it stands in a picture."""
    return None if variable is None else label(shown(variable))


def heading(release: "Release", question: str) -> str:
    """Return a picture's heading: the question below the record's title, if it has one, and the source and promise of the answer."""
    title = named(None if release.about is None else release.about.title)
    return "\n".join([*([] if title is None else [title]), question, known(release)])


def known(release: "Release") -> str:
    """Return from how many people and under which promise something is known."""
    guarantee = release.guarantee
    people = f"Estimated from {'a private number of' if release.n is None else f'{release.n:,}'} {guarantee.unit}s"
    if guarantee.basis == "none":
        return f"{people}, without any privacy guarantee."
    return f"{people}, each protected by {guarantee.everyone}."
