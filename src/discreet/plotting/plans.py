"""Pictures of plans: widths of intervals with and without privacy, and errors of mechanisms side by side."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.plotting.style import INK, NOISE, PAPER, QUIET, SAMPLING, drawn_on, entitle, legend_below, look_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_errors", "plot_widths"]

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
