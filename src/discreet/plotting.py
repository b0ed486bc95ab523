"""Pictures. Every function takes an `ax` or makes one, draws, and returns it."""

from collections.abc import Hashable, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, Literal

import matplotlib.pyplot as plt
import numpy as np

from discreet.errors import RefusedError, TooLargeError
from discreet.text import plain
from discreet.validation import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from discreet.arrays import Floats
    from discreet.inference.tables.contrasts import ContrastSummary
    from discreet.model.beta_mixtures import BetaMixture
    from discreet.model.dirichlet import Beta
    from discreet.record.release import Release
    from discreet.record.table_release import TableRelease

_LINES = ("-", "--", "-.", ":")
_TAIL = 1e-4
_POINTS = 400
_NOISE_AWARE = {"marker": "o", "markersize": 7, "linestyle": "-", "linewidth": 3, "color": "C0"}
_AS_REPORTED = {"marker": "s", "markersize": 6, "linestyle": "--", "linewidth": 1, "color": "0.35", "markerfacecolor": "white"}
"""Told apart by marker and line as well as by colour."""
_TALLEST = 40.0
"""Inches: more rows of a picture are no longer read, and a picture has a largest size."""
_LONGEST_LABEL = 60
"""Characters: a longer label leaves no room for what is drawn."""
_MOST_NAMED = 20
"""Entries of a legend that fit beside the picture."""


def plot_marginals(marginals: "Sequence[tuple[Hashable, Beta | BetaMixture]]", ax: "Axes | None" = None) -> "Axes":
    """The densities of the categories' probabilities, told apart by line style as well as by colour."""
    ax = plt.subplots(layout="constrained")[1] if ax is None else ax
    named = len(marginals) if len(marginals) <= _MOST_NAMED else _MOST_NAMED - 1
    for i, ((category, beta), line) in enumerate(zip(marginals, cycle(_LINES), strict=False)):
        low, high = beta.ppf([_TAIL, 1.0 - _TAIL])
        grid = np.linspace(low, high, _POINTS)
        ax.plot(grid, beta.pdf(grid), line, label=_label(category) if i < named else None)
    if named < len(marginals):
        ax.plot([], [], " ", label=f"and {len(marginals) - named} more")
    ax.set_xlabel("probability")
    ax.set_ylabel("density")
    ax.set_ylim(bottom=0.0)
    ax.legend()
    return ax


def plot_release(
    release: "Release", ax: "Axes | None" = None, mass: float = 0.95, *, variable: str | None = None, prior: Any = None
) -> "Axes":
    """Each category's mean and interval, a row each: noise-aware above, as reported below it. The title names the variable.

    Where the noise-aware posterior is out of reach, the legend says so and the reported means stand alone.
    """
    categories = release.prior.categories
    if ax is None:
        ax = plt.subplots(figsize=(6.4, release_height(len(categories))), layout="constrained")[1]
    rows = np.arange(len(categories), dtype=np.float64)
    reported = [release.reported.marginal(c) for c in categories]
    try:
        aware = release.noise_aware(prior)
        _draw_intervals(ax, rows - 0.15, [aware.marginal(c) for c in categories], mass, "noise-aware", _NOISE_AWARE)
        _draw_intervals(ax, rows + 0.15, reported, mass, "as reported", _AS_REPORTED)
    except (RefusedError, TooLargeError):  # an interval that does not allow for the noise would stand alone, and look like an answer
        means = [marginal.mean() for marginal in reported]
        ax.plot(means, rows, "s", label="as reported; no interval that allows for the noise", color="0.35", markerfacecolor="white")
    ax.set_yticks(rows, [_label(c) for c in categories])
    ax.set_ylim(len(categories) - 0.5, -0.5)
    ax.set_xlabel(f"probability: mean and {100.0 * mass:g} % interval")
    ax.set_title(_title(release, variable), fontsize="medium", wrap=True)
    ax.legend()
    return ax


def release_height(categories: int) -> float:
    """Inches that so many categories need to be read."""
    return min(_TALLEST, 1.4 + 0.6 * categories)


def plot_groups(
    labels: Sequence[str], mean: "Floats", low: "Floats", high: "Floats", ax: "Axes | None" = None, *, reference: float | None = None
) -> "Axes":
    """A dot plot: a row a group with its mean and interval, and a line at a value to compare them with."""
    if ax is None:
        ax = plt.subplots(figsize=(6.4, table_height(len(labels))), layout="constrained")[1]
    rows = np.arange(len(labels))
    if reference is not None:
        ax.axvline(reference, color="0.6", linewidth=1, linestyle=":", zorder=0)
    ax.hlines(rows, low, high, color="C0", linewidth=2)
    ax.plot(mean, rows, "o", color="C0", markersize=5)
    ax.set_yticks(rows, [_label(label) for label in labels], fontsize="small")
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.grid(axis="y", color="0.92", linewidth=0.8)
    ax.set_axisbelow(True)
    return ax


def table_height(groups: int) -> float:
    """Inches that so many rows need to be read."""
    return min(_TALLEST, 1.6 + 0.21 * groups)


_MOST_PANELS = 4
_MOST_GROUPS = 180
"""Rows that fit the tallest picture."""
_TWO_DECADES = 100.0
"""Over wider ranges, ticks at 1, 2 and 5 of every decade have labels that run into each other."""
_FARTHEST = 1e6
"""Odds ratios beyond this, or below its inverse, are drawn at the edge."""


def plot_table(
    release: "TableRelease", ax: "Axes | None" = None, mass: float = 0.95, *, variable: str | None, category: Hashable, prior: Any = None
) -> "Axes":
    """One category's share in every group, groups with the largest mean first."""
    found, groups = release.noise_aware(prior).figures(mass), release.cells.groups
    column = release.prior._index(category)
    occurs = release.cells.possible[:, column]
    order = np.argsort(-found.mean[:, column], kind="stable")
    order = order[occurs[order]][:_MOST_GROUPS]
    labels = [_group_label(groups.key(int(i))) for i in order]
    mean, low, high = (value[order, column] for value in (found.mean, found.low, found.high))
    ax = plot_groups(labels, mean, low, high, ax)
    ax.set_xlabel(f"probability of “{_label(shown(category))}”: mean and {100.0 * mass:g} % interval")
    left_out = int(occurs.sum()) - len(order)
    more = f" The {left_out:,} groups with the smallest means are not drawn." if left_out else ""
    asked = f"{'How common it is' if variable is None else f'“{_label(shown(variable))}”'} in {len(order):,} groups."
    ax.set_title(f"{asked}{more}\n{_known(release)}", fontsize="medium", wrap=True)
    return ax


def draw_table(release: "TableRelease", figure: "Figure", mass: float, *, variable: str | None, prior: Any = None) -> None:
    """A panel for each category, of at most four; of two, the first says all."""
    categories = release.prior.categories[: 1 if release.prior.k == 2 else _MOST_PANELS]
    figure.set_size_inches(7.0, min(_TALLEST, len(categories) * table_height(min(len(release.cells.groups), _MOST_GROUPS))))
    for ax, category in zip(np.ravel(figure.subplots(len(categories), 1)), categories, strict=True):
        title = plot_table(release, ax, mass, variable=variable, category=category, prior=prior).get_title()
        ax.set_title("")
    figure.suptitle(title, fontsize="medium")


def plot_contrasts(
    contrasts: "Sequence[ContrastSummary]",
    quantity: Literal["difference", "odds ratio"],
    ax: "Axes | None" = None,
    mass: float = 0.95,
) -> "Axes":
    """A forest plot: a row a group with the median and the interval of its contrast, and a line where there is no difference.

    Odds ratios are drawn on a logarithmic scale, which ends at a million.
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    drawn = contrasts[:_MOST_GROUPS]
    ratios = quantity == "odds ratio"
    median, low, high = np.array([c.odds_ratio if ratios else c.difference for c in drawn]).reshape(-1, 3).T
    median, low, high = (np.clip(value, 1.0 / _FARTHEST, _FARTHEST) if ratios else value for value in (median, low, high))
    ax = plot_groups([_group_label(c.group) for c in drawn], median, low, high, ax, reference=1.0 if ratios else 0.0)
    if ratios:
        ax.set_xscale("log")
        narrow = high.max(initial=1.0) <= _TWO_DECADES * low.min(initial=1.0)
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if narrow else (1.0,)))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel(f"{quantity}: median and {100.0 * mass:g} % interval")
    return ax


def draw_contrasts(
    release: "TableRelease",
    figure: "Figure",
    contrasts: "Sequence[ContrastSummary]",
    mass: float,
    *,
    reference: Hashable,
    category: Hashable,
) -> None:
    """Forest plots of all groups against a reference group, of differences and of odds ratios beside each other; the largest first."""
    contrasts = sorted(contrasts, key=lambda contrast: -contrast.difference[0])
    figure.set_size_inches(9.0, table_height(min(len(contrasts), _MOST_GROUPS)) + 0.3)
    left, right = figure.subplots(1, 2, sharey=True)
    plot_contrasts(contrasts, "difference", left, mass)
    plot_contrasts(contrasts, "odds ratio", right, mass)
    more = f" {len(contrasts) - _MOST_GROUPS:,} more groups are not drawn." if len(contrasts) > _MOST_GROUPS else ""
    asked = f"“{_label(shown(category))}” in each group against “{_label(_group_label(reference))}”.{more}"
    figure.suptitle(f"{asked}\n{_known(release)}", fontsize="medium", wrap=True)


def _group_label(group: Hashable) -> str:
    return " · ".join(plain(part) for part in (group if isinstance(group, tuple) else (group,)))


def _title(release: "Release", variable: str | None) -> str:
    """What the picture answers, and from whom and under which promise it is known."""
    name = None if variable is None else _label(shown(variable))
    question = "How common is each category?" if name is None else name if name.endswith("?") else f"How common is each value of “{name}”?"
    return f"{question}\n{_known(release)}"


def _known(release: "Release") -> str:
    """From whom and under which promise something is known."""
    guarantee = release.guarantee
    known = f"Estimated from {'a private number of' if release.n is None else f'{release.n:,}'} {guarantee.unit}s"
    if guarantee.basis == "none":
        return f"{known}, without any privacy guarantee."
    return f"{known}, each protected by {guarantee.level} differential privacy."


def _draw_intervals(
    ax: "Axes",
    rows: "Floats",
    marginals: "Sequence[Beta | BetaMixture]",
    mass: float,
    label: str,
    look: dict[str, Any],
) -> None:
    for i, (row, marginal) in enumerate(zip(rows, marginals, strict=True)):
        low, high = marginal.interval(mass)
        named = label if i == 0 else None
        ax.plot([low, marginal.mean(), high], [row] * 3, markevery=[1], label=named, solid_capstyle="butt", **look)


def _label(category: Hashable) -> str:
    """A category as plain text: no mathematics between dollars, and no leading underscore, which Matplotlib hides; a long one is cut."""
    text = plain(category)
    text = (text if len(text) <= _LONGEST_LABEL else f"{text[:_LONGEST_LABEL]}...").replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text
