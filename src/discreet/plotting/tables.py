"""Pictures of tables: a row a group, with the mean and the intervals of a share, or of a contrast with another group."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from discreet.errors import InvalidInputError
from discreet.plotting.posteriors import (
    PICTURE_WIDTH,
    TALLEST,
    group_label,
    heading,
    lines_of,
    longest_line,
    named,
    plot_marginals,
    row_label,
    title_of_contrasts,
)
from discreet.plotting.posteriors import label as drawn_label
from discreet.plotting.style import (
    ESTIMATE,
    NOISE,
    QUIET,
    RULE,
    drawing,
    drawn_on,
    dress,
    entitle,
    entitle_figure,
    house_style,
    legend_below,
    log_ticks,
    percentages,
)
from discreet.text import more, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from discreet import Release
    from discreet.arrays import Counts, Floats
    from discreet.inference.reading import Reading
    from discreet.inference.tables.contrasts import ContrastSummary
    from discreet.inference.tables.latent import Ranks
    from discreet.inference.tables.one_by_one import ByGroup
    from discreet.model.cells import GroupLook, Sort

_PANELS_BESIDE = 4
"""Panels beside each other; more are below them."""
_BESIDE_ROWS, _BESIDE_PANELS = 0.9, 0.9
"""Inches above and below the rows of a panel, and above and below all panels."""
_MOST_ROWS_DRAWN = 180
"""Rows that fit the tallest picture."""
_INNER = 0.5
"""The probability of the thick part of an interval."""
_PANEL_WIDTH = 2.1
_BETWEEN = 0.05
"""Between panels, so that their numbers do not meet: a share of a panel's width."""
_TITLE_CHARACTERS = 18
"""The most characters of a line above a panel."""
_NARROWEST_PANEL = 0.4
"""The narrowest panel over the widest that still has room for numbers and a name."""
_OFF_THE_MIDDLE = 0.18
"""The distance from the middle of a row at which two intervals of one group are drawn."""
_FARTHEST_RATIO = 1e6
"""Odds ratios beyond this, or below its inverse, are drawn at the edge."""


@dataclass(frozen=True, eq=False)
class GroupRows:
    """The rows of a dot plot: for each group its mean, or its median, and its interval."""

    labels: Sequence[str]
    mean: "Floats"
    low: "Floats"
    high: "Floats"
    inner: "Floats | None" = None
    """The ends of a shorter interval, drawn thick."""
    shift: float = 0.0
    """The distance below the middle of its row at which each is drawn, in rows: where two are drawn beside each other, one of them is
    above it.
    """


def plot_groups(
    groups: GroupRows, ax: "Axes | None" = None, *, reference: float | None = None, color: str | None = None, label: str | None = None
) -> "Axes":
    """Draw a dot plot: a row a group, and a line at a value to compare them with. `label` stands in a legend."""
    colour = ESTIMATE if color is None else color
    names = [row_label(text) for text in groups.labels]
    rows = np.arange(len(names)) + groups.shift
    with drawn_on(ax, PICTURE_WIDTH, _height(names * (2 if groups.shift else 1)), rows=True) as (ax, own):
        if reference is not None:
            ax.axvline(reference, color=QUIET, linewidth=1.0, linestyle=(0, (1, 1.5)), zorder=1)
        ax.hlines(rows, groups.low, groups.high, color=colour, linewidth=1.6 if groups.inner is None else 1.0)
        if groups.inner is not None:
            ax.hlines(rows, *groups.inner, color=colour, linewidth=3.4)
        ax.plot(groups.mean, rows, "o", color=colour, markersize=5.5, markeredgecolor="white", markeredgewidth=0.7, label=label)
        if label is not None:
            legend_below(ax, own=own)
        ax.set_yticks(range(len(names)), names)
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.grid(visible=True, axis="y", color=RULE, linewidth=0.6, linestyle="-")
        ax.set_axisbelow(True)
    return ax


def _height(labels: Sequence[str], more: float = 1.5) -> float:
    """Inches that so many rows need to be read, and more for what stands above and below."""
    return min(TALLEST, more + max(0.22, 0.18 * lines_of(labels)) * len(labels))


@dataclass(frozen=True)
class Look:
    """The look of one category, as `GroupLook` names it, with what is taken where nothing is said."""

    category: Hashable = None
    sort: "Sort" = "mean"
    title: str | None = None
    label: str | None = None
    color: str | None = None


def plot_one(reading: "Reading", ax: "Axes | None" = None, mass: float = 0.95, **look: "Unpack[GroupLook]") -> "Axes":
    """Draw the densities of all categories of one variable, or of one that is named; means and intervals where numbers have none.

    Of two categories of which one is always the rest, the first says all.
    """
    how, labels = Look(**look), reading.categories
    whole = len(labels) == 2 and bool(np.isclose(reading.mean().sum(), 1.0))
    chosen = list(range(1 if whole else len(labels))) if how.category is None else [reading._index(how.category)]
    laws = [reading._distribution((i,)) for i in chosen]
    names = [labels[i] for i in chosen] if how.label is None else [how.label]
    if all(hasattr(law, "pdf") for law in laws):
        ax = plot_marginals(list(zip(names, laws, strict=False)), ax, color=how.color)
    else:
        low, high = np.array([law.interval(mass) for law in laws]).T
        rows = GroupRows([row_label(name) for name in names], np.array([law.mean() for law in laws]), low, high)
        own, ax = ax is None, plot_groups(rows, ax, color=how.color)
        if own:
            percentages(ax)
        ax.set_xlabel(f"mean and {100.0 * mass:g} % interval")
    if how.title is not None:
        entitle(ax, how.title)
    return ax


# --- shares -----------------------------------------------------------------------------------------------------------


class _Shares:
    """The means and intervals of the groups of a table that fit, and in how many a category occurs."""

    def __init__(self, reading: "ByGroup[Any]", mass: float, release: "Release | None" = None, shift: float = 0.0) -> None:
        self.release, self.mass, self.groups, self.occurs, self.shift = release, mass, reading.by, reading._occurs, shift
        self.ends, self.mean = reading.interval(mass), reading.mean()
        # The inner interval takes as long again, which a picture of a part of a large table is not worth.
        self.inner = reading.interval(_INNER) if len(self.groups) <= _MOST_ROWS_DRAWN and mass > _INNER else None

    def order(self, column: int, sort: "Sort" = "mean") -> "Counts":
        """The groups in which a category occurs: those with the largest mean first, by their labels, or as they were declared."""
        order = np.arange(len(self.groups))
        if sort == "mean":
            order = np.argsort(-self.mean[:, column], kind="stable")
        elif sort == "group":
            order = np.array(sorted(order.tolist(), key=lambda i: [spelled(part) for part in self.groups.key(i)]))
        elif sort != "declared":
            raise InvalidInputError(f"sort must be 'mean', 'group' or 'declared', got {shown(sort)!r}")
        return np.asarray(order[self.occurs[order, column]], dtype=np.int64)

    def labels(self, order: "Counts") -> list[str]:
        return [group_label(self.groups.key(int(i))) for i in order]

    def draw(self, order: "Counts", column: int, ax: "Axes | None", color: str | None = None, label: str | None = None) -> "Axes":
        """The rows of these groups; nothing in those where the category cannot occur."""
        occurs = self.occurs[order, column]

        def drawn(each: "Floats") -> "Floats":
            return np.where(occurs, each[order, column].T, np.nan)

        inner = None if self.inner is None else drawn(self.inner)
        low, high = drawn(self.ends)
        rows = GroupRows(self.labels(order), drawn(self.mean), low, high, inner, self.shift)
        return plot_groups(rows, ax, color=color, label=label)

    def limits(self, order: "Counts", column: int) -> tuple[float, float]:
        """Return the ends of an axis for these groups."""
        low, high = self.ends[order[self.occurs[order, column]], column].T
        start, end = (low.min(), high.max()) if len(low) else (0.0, 1.0)
        room = 0.06 * (end - start)
        return max(start - room, min(0.0, -room)), end + room

    @property
    def meaning(self) -> str:
        """The meaning of dots and lines."""
        if self.inner is None:
            return f"mean and {100.0 * self.mass:g} % interval"
        return f"mean, {100.0 * _INNER:g} % interval (thick) and {100.0 * self.mass:g} % interval"

    def title(self, variable: str | None, otherwise: str, drawn: int, groups: int, sort: "Sort" = "mean") -> str:
        """Return the title: the question, the number of groups, and who is protected how."""
        name = named(variable)
        asked = otherwise if name is None else f"{name} The answers" if name.endswith("?") else f"“{name}”"
        columns = " and ".join(drawn_label(column) for column in self.groups.columns)
        left_out = groups - drawn
        which = ("the smallest mean" if left_out == 1 else "the smallest means") if sort == "mean" else "labels that come last"
        rest = f" {more(left_out, 'group', 'groups')} with {which} {'is' if left_out == 1 else 'are'} not drawn." if left_out else ""
        words = f"{asked} in {drawn:,} groups by {columns}.{rest}"
        return words if self.release is None else heading(self.release, words)


def plot_table(
    reading: "ByGroup[Any]",
    ax: "Axes | None" = None,
    mass: float = 0.95,
    *,
    release: "Release | None" = None,
    variable: str | None = None,
    **look: "Unpack[GroupLook]",
) -> "Axes":
    """Draw one category's share in every group: of the first category unless one is named.

    Pooled groups have two intervals in each row, without pooling above and with it below.

    Args:
        reading: A posterior of groups, or what its verbs make of it.
        ax: The axes to draw on; new ones if left out.
        mass: How much probability the intervals hold.
        release: What it was read from, if the title is to say who is protected how.
        variable: What was counted, for the title.
        look: `category`, the one that is drawn; `sort`, "mean" for groups with the largest mean first, "group" by their labels, "declared"
            in the order of the declaration; `title`, another title; `label`, what stands in a legend; `color`, one of Matplotlib's.
    """
    own, how = ax is None, Look(**look)
    column = reading._index(reading.categories[0] if how.category is None and reading.categories else how.category)
    named, apart = reading.categories[column], reading._unpooled
    shares = _Shares(reading, mass, release, 0.0 if apart is None else _OFF_THE_MIDDLE)
    order = shares.order(column, how.sort)
    drawn, label = order[:_MOST_ROWS_DRAWN], how.label
    if apart is not None:
        ax, label = _Shares(apart, mass, shift=-_OFF_THE_MIDDLE).draw(drawn, column, ax, NOISE, "each group by itself"), label or "pooled"
    ax = shares.draw(drawn, column, ax, how.color, label)
    with drawing(own=own):
        if own and shares.ends.dtype.kind == "f":  # counts are whole numbers
            percentages(ax)
        if own and apart is not None:
            legend_below(ax, columns=2)
        ax.set_xlabel(f"{'probability of ' if release or hasattr(reading, 'figures') else ''}“{drawn_label(named)}”: {shares.meaning}")
        words = shares.title(variable, f"How common “{drawn_label(named)}” is", min(len(order), _MOST_ROWS_DRAWN), len(order), how.sort)
        entitle(ax, words if how.title is None else how.title)
    return ax


def draw_table(release: "Release", figure: "Figure", mass: float, *, variable: str | None, prior: Any = None) -> None:
    """A panel for each category, four beside each other and the next below them; of two categories, the first says all.

    All panels have the same rows. Several have the groups in their own order, unless they are too many; one panel has those with the
    largest mean first. The title says how many categories are not drawn because the picture would be too tall.
    """
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    shares, k = _Shares(release.noise_aware(prior), mass, release), release.prior.k
    every = shares.order(0) if k == 2 else np.arange(len(release.cells.groups))
    order = every if len(every) <= _MOST_ROWS_DRAWN else np.concatenate([shares.order(0), every])[:_MOST_ROWS_DRAWN]
    labels = [row_label(text) for text in shares.labels(order)]
    tall = _height(labels, _BESIDE_ROWS)
    columns = range(1 if k == 2 else min(k, _PANELS_BESIDE * max(1, int((TALLEST - _BESIDE_PANELS) / tall))))
    beside = min(len(columns), _PANELS_BESIDE)
    lines = -(-len(columns) // beside)
    limits = [shares.limits(order, column) for column in columns]
    spans = [high - low for low, high in limits]
    same = lines == 1 and min(spans) >= _NARROWEST_PANEL * max(spans)  # panels have the same scale, unless one would be too narrow
    wide = max(PICTURE_WIDTH, 0.5 + 0.08 * longest_line(labels) + _PANEL_WIDTH * beside)
    figure.set_size_inches(wide if len(columns) > 1 else PICTURE_WIDTH, min(TALLEST, _BESIDE_PANELS + lines * tall))
    figure.set(facecolor="white")
    with house_style():
        figure.set_layout_engine(ConstrainedLayoutEngine(wspace=_BETWEEN))
        axes = np.ravel(figure.subplots(lines, beside, sharey=True, width_ratios=spans if same else None))
        for ax in axes[len(columns) :]:
            ax.remove()
        for ax, column, (low, high) in zip(axes, columns, limits, strict=False):
            dress(ax, grid="x", rows=True)
            shares.draw(order, column, ax)
            ax.set_xlim(low, high)
            percentages(ax, None if len(columns) == 1 else _step(max(spans) if same else high - low))
            if len(columns) > 1:
                ax.set_title(row_label(release.prior.categories[column], _TITLE_CHARACTERS))
        first = f"“{drawn_label(release.prior.categories[0])}”"
        what, asked = (f"probability of {first}", first) if len(columns) == 1 else ("probability", "each category")
        figure.supxlabel(f"{what}: {shares.meaning}", fontsize="medium")
        not_drawn = f" {more(k - len(columns), 'category is', 'categories are')} not drawn." if k > max(2, len(columns)) else ""
        entitle_figure(figure, shares.title(variable, f"How common {asked} is", len(order), len(every)) + not_drawn)


def spelled(part: Hashable) -> tuple[bool, float, str]:
    """Return the key by which a label is sorted: numbers by their size, before text."""
    number = isinstance(part, (int, float))
    return not number, float(part) if isinstance(part, (int, float)) else 0.0, str(part)


def plot_ranks(ranks: "Ranks", ax: "Axes | None" = None, mass: float = 0.95) -> "Axes":
    """A row for each group with its expected rank and the interval of its rank; the first rank on top and on the left."""
    from matplotlib.ticker import MaxNLocator

    order = np.argsort(ranks.mean(), kind="stable")[:_MOST_ROWS_DRAWN].tolist()
    ends, own = ranks.interval(mass)[order].astype(np.float64), ax is None
    ax = plot_groups(GroupRows([group_label(ranks.groups[i]) for i in order], ranks.mean()[order], ends[:, 0], ends[:, 1]), ax)
    with drawing(own=own):
        ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
        ax.set_xlabel(f"rank: expected, and {100.0 * mass:g} % interval")
        left_out = len(ranks.groups) - len(order)
        rest = f" {more(left_out, 'group is', 'groups are')} not drawn." if left_out else ""
        entitle(ax, f"Rank 1 has the largest share of “{drawn_label(ranks.category)}”.{rest}")
    return ax


def _step(span: float) -> float:
    """A round number that an axis of this length has two to five of."""
    most = span / 2.2
    power = 10.0 ** floor(log10(most))
    return max(factor * power for factor in (1.0, 2.0, 5.0) if factor * power <= most)


# --- contrasts --------------------------------------------------------------------------------------------------------


def plot_contrasts(
    contrasts: "Sequence[ContrastSummary]",
    quantity: Literal["difference", "odds ratio"],
    ax: "Axes | None" = None,
    mass: float = 0.95,
    *,
    about: tuple[Hashable, Hashable] | None = None,
) -> "Axes":
    """A forest plot: a row a group with the median and the interval of its contrast, and a line where there is no difference.

    Odds ratios are drawn on a logarithmic scale, which ends at a million. `about`, the category and the reference group, makes a title.
    """
    own = ax is None
    drawn = contrasts[:_MOST_ROWS_DRAWN]
    ratios = quantity == "odds ratio"
    median, low, high = np.array([c.odds_ratio if ratios else c.difference for c in drawn]).reshape(-1, 3).T
    median, low, high = (np.clip(value, 1.0 / _FARTHEST_RATIO, _FARTHEST_RATIO) if ratios else value for value in (median, low, high))
    rows = GroupRows([group_label(c.group) for c in drawn], median, low, high)
    ax = plot_groups(rows, ax, reference=1.0 if ratios else 0.0)
    if ratios:
        ax.set_xscale("log")
        log_ticks(ax.xaxis, low.min(initial=1.0), high.max(initial=1.0))
    else:
        ax.xaxis.set_major_formatter(lambda value, _: f"{round(100.0 * value, 6):g}")
    with drawing(own=own):
        ax.set_xlabel(f"{quantity}{'' if ratios else ' in percentage points'}: median and {100.0 * mass:g} % interval")
        if about is not None:
            entitle(ax, title_of_contrasts(*about))
    return ax


def draw_contrasts(
    release: "Release",
    figure: "Figure",
    contrasts: "Sequence[ContrastSummary]",
    mass: float,
    *,
    reference: Hashable,
    category: Hashable,
) -> None:
    """Forest plots of all groups against a reference group, of differences and of odds ratios beside each other; the largest first."""
    contrasts = sorted(contrasts, key=lambda contrast: -contrast.difference[0])
    figure.set_size_inches(9.0, _height([row_label(group_label(c.group)) for c in contrasts[:_MOST_ROWS_DRAWN]], 1.8))
    figure.set(facecolor="white", layout_engine="constrained")
    with house_style():
        left, right = figure.subplots(1, 2, sharey=True)
        for ax in (left, right):
            dress(ax, grid="x", rows=True)
        plot_contrasts(contrasts, "difference", left, mass)
        plot_contrasts(contrasts, "odds ratio", right, mass)
        left_out = len(contrasts) - _MOST_ROWS_DRAWN
        rest = f" {more(left_out, 'group is', 'groups are')} not drawn." if left_out > 0 else ""
        entitle_figure(figure, heading(release, f"{title_of_contrasts(category, reference)}{rest}"))
