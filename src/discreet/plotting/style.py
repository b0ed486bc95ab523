"""The house style: the colours, markers, lines and type sizes of every picture, and how they are put on.

The same mechanism has the same colour, marker and line everywhere. Colours are chosen so that people who do not see red or green tell
them apart; lines and markers differ as well, for print without colour. Nothing here changes Matplotlib's settings for longer than a
picture takes to draw.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl

from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.registry import MECHANISMS as BUILT_IN
from discreet.text import POWERS_FROM

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


INK = "#1b1e23"
"""Text, axes and the lattice mechanism."""
PAPER = "#fdfdfd"
"""The inside of hollow markers."""
QUIET = "#57606a"
"""The colour of noisy counts at face value, and of lines of reference."""
RULE = "#d5dae0"
"""Lines of a grid."""
ESTIMATE = "#0b5fa5"
"""Means and intervals that allow for the noise. The pages of `report` and `explore` have the same."""
SAMPLING = ESTIMATE
"""Uncertainty without privacy, in plans."""
NOISE = "#c96a00"
"""Uncertainty with privacy, in plans."""

TITLE, TEXT, SMALL = 10.0, 9.5, 9.0
"""Points: of titles, of labels of axes, and of ticks and legends. A figure of three panels has the same as one of one."""

Dash = str | tuple[float, tuple[float, ...]]


@dataclass(frozen=True)
class MarkStyle:
    """The look that one thing has wherever it is drawn."""

    colour: str
    marker: str
    dash: Dash
    hatch: str = ""
    hollow: bool = False

    def line(self) -> dict[str, Any]:
        """The arguments of `plot` for a line with markers."""
        return {"color": self.colour, "linestyle": self.dash, **self.point()}

    def point(self) -> dict[str, Any]:
        """The arguments of `plot` for markers."""
        return {
            "marker": self.marker,
            "markersize": 8.0 if self.marker == "*" else 5.0,
            "markeredgewidth": 1.0,
            "markeredgecolor": self.colour,
            "markerfacecolor": PAPER if self.hollow else self.colour,
        }


MECHANISMS: Mapping[str, MarkStyle] = {cls.__name__: MarkStyle(*cls._look) for cls in BUILT_IN} | {
    "Calibrated(HellingerSmooth)": MarkStyle("#a0395b", "*", (0, (5, 1, 1, 1)), "oo"),
}
"""The look of every mechanism, by the name of its class; tests/plotting/test_style.py measures how far apart the colours are."""

SERIES: tuple[MarkStyle, ...] = (
    MarkStyle(ESTIMATE, "o", "-"),
    MarkStyle("#9e5102", "^", "--"),
    MarkStyle("#51a47e", "D", "-."),
    MarkStyle("#c660fc", "v", ":"),
    MarkStyle("#a0395b", "s", (0, (3, 1.5))),
    MarkStyle("#af9304", "X", (0, (8, 1.5))),
    MarkStyle("#858191", "P", (0, (2, 2))),
)
"""The looks of what is not a mechanism: categories, parameters, other libraries; in this order."""

ON_DARK: Mapping[str, str] = {
    "#1e0096": "#7d8a74",
    "#4e1202": "#bc353c",
    "#51a47e": "#70c986",
    "#9e5102": "#bf8008",
    "#858191": "#6d6f82",
    "#c660fc": "#a538db",
    ESTIMATE: "#74b9f2",
    "#af9304": "#e3f14e",
    "#a0395b": "#c395a9",
}
"""Colours on a dark page, by the colours that they replace; there `INK` becomes the page's own light one."""

_OTHER = MarkStyle(*Mechanism._look)
_REMAPPED = "Remapped("


def look_of(mechanism: str) -> MarkStyle:
    """Return the look of a mechanism, by its name in tables. A remapped one has the look of the one inside, hollow; one unknown here is
    grey.
    """
    if mechanism.startswith(_REMAPPED):
        return replace(look_of(mechanism.removeprefix(_REMAPPED).removesuffix(")")), hollow=True)
    return MECHANISMS.get(mechanism, _OTHER)


RC: Mapping[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.facecolor": "white",
    "axes.formatter.useoffset": True,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": TEXT,
    "axes.labelweight": "normal",
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "center",
    "axes.titlesize": TITLE,
    "axes.titleweight": "normal",
    "figure.facecolor": "white",
    "font.size": TEXT,
    "grid.alpha": 1.0,
    "grid.color": RULE,
    "grid.linestyle": "-",
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.5,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.6,
    "lines.markersize": 5.0,
    "text.color": INK,
    "xtick.color": INK,
    "xtick.labelsize": SMALL,
    "xtick.minor.visible": False,
    "ytick.color": INK,
    "ytick.labelsize": SMALL,
    "ytick.minor.visible": False,
}
"""Matplotlib's settings while a picture is drawn. The typeface stays the user's, who may need its letters."""


@contextmanager
def house_style(**more: Any) -> Iterator[None]:
    """Draw in the house style; afterwards Matplotlib's settings are as they were. `more` are settings with `_` for the dots."""
    settings: dict[Any, Any] = {**RC, **{name.replace("_", "."): value for name, value in more.items()}}
    with mpl.rc_context(settings):
        yield


Grid = Literal["x", "y", "both", "none"]


def new_axes(width: float, height: float, *, grid: Grid = "both", rows: bool = False) -> "Axes":
    """Axes of a new figure of so many inches, in the house style, on an opaque ground."""
    import matplotlib.pyplot as plt

    # The first figure loads what shows it, which may change settings to stay: so it is made outside the style.
    figure = plt.figure(figsize=(width, height), layout="constrained", facecolor="white")
    with house_style():
        ax = figure.add_subplot()
    dress(ax, grid=grid, rows=rows)
    return ax


def dress(ax: "Axes", *, grid: Grid = "both", rows: bool = False) -> None:
    """Put the style on axes that were made in it: ticks are made later, when the settings are the user's again.

    With `rows` the vertical axis has names and no scale, and needs no line.
    """
    ax.tick_params(which="both", color=INK, labelcolor=INK, labelsize=SMALL, width=0.8)
    ax.tick_params(which="major", length=3.5)
    ax.grid(visible=False)
    if grid != "none":
        ax.grid(visible=True, axis=grid, color=RULE, linewidth=0.6, linestyle="-", alpha=1.0)
    ax.set_axisbelow(True)
    if rows:
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)


def drawing(*, own: bool) -> AbstractContextManager[None]:
    """The style for axes of our own, and nothing for those of the user's."""
    return house_style() if own else nullcontext()


@contextmanager
def drawn_on(ax: "Axes | None", width: float, height: float, *, rows: bool = False) -> "Iterator[tuple[Axes, bool]]":
    """The axes that are given, or new ones of so many inches, while something is drawn on them; and whether they are our own."""
    own = ax is None
    made = new_axes(width, height, grid="x" if rows else "both", rows=rows) if ax is None else ax
    with drawing(own=own):
        yield made, own


def entitle(ax: "Axes", text: str) -> None:
    """A title that is broken into lines at the edge of the figure."""
    ax.set_title(text, fontsize="medium", wrap=True)


def entitle_figure(figure: "Figure", text: str) -> None:
    """A title above all panels of a figure, which begins at its left edge."""
    figure.suptitle(text, x=0.01, horizontalalignment="left", multialignment="left", fontsize=TITLE, wrap=True, color=INK)


def add_to_title(figure: "Figure", words: str) -> None:
    """Put words at the end of the title that stands above everything."""
    if figure.get_suptitle():
        entitle_figure(figure, f"{figure.get_suptitle()} {words}")
    else:
        entitle(figure.axes[0], f"{figure.axes[0].get_title()} {words}")


def legend_below(ax: "Axes", *, own: bool = True, columns: int = 1, right: bool = False) -> None:
    """A legend below the axes and the name of the horizontal one, where it covers nothing; on the right beside long labels.

    On axes that are not our own it is where Matplotlib puts it.
    """
    if not own:
        ax.legend()
        return
    from matplotlib.transforms import ScaledTranslation

    below = ScaledTranslation(0.0, -_POINTS_BELOW_AXIS / 72.0, ax.get_figure(root=True).dpi_scale_trans)  # type: ignore[union-attr]
    ax.legend(
        loc="upper right" if right else "upper left",
        bbox_to_anchor=(1.0 if right else 0.0, 0.0),
        bbox_transform=ax.transAxes + below,
        ncols=columns,
        borderaxespad=0.0,
        borderpad=0.0,
        handlelength=3.0,
    )


_POINTS_BELOW_AXIS = 39.0
"""Points from an axis to below its ticks and its name."""


def log_ticks(axis: "Axis", low: float, high: float) -> None:
    """Plain numbers on a logarithmic axis for this range: at 1, 2 and 5 of every decade, or only where one begins if there are many.

    A range in which there may be just one such number has equal steps.
    """
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator

    if high <= _FEW_TICKS * low:
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))  # 1 is among them
        axis.set_minor_locator(NullLocator())
    else:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high <= _TWO_DECADES * low else (1.0,)))
    axis.set_major_formatter(lambda value, _: f"{value:,g}" if value < POWERS_FROM else f"{value:g}")
    axis.set_minor_formatter(NullFormatter())


_FEW_TICKS = 5.0
"""Between two numbers with this ratio there are two or more of 1, 2 and 5 of every decade."""
_TWO_DECADES = 100.0
"""Over wider ranges, ticks at 1, 2 and 5 of every decade have labels that run into each other."""


def percentages(ax: "Axes", step: float | None = None) -> None:
    """Shares on the horizontal axis as percentages, unless they are too close together to be told apart so; at this step, or a good one."""
    from matplotlib.ticker import MaxNLocator, MultipleLocator

    low, high = ax.get_xlim()
    if high - low >= _FINEST_PERCENTAGES:
        ax.xaxis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 2.5, 5, 10]) if step is None else MultipleLocator(step))
        ax.xaxis.set_major_formatter(lambda value, _: f"{round(100.0 * value, 6):g} %")


_FINEST_PERCENTAGES = 1e-4


_OMITTED_METADATA: Mapping[str, str] = {"png": "Software", "svg": "Date", "pdf": "CreationDate"}
"""Metadata that Matplotlib writes into a file of each kind unless it is told not to: the time, or its own version.

How long a draw takes may depend on the data, so no file says when it was written. Of PostScript Matplotlib always writes the time.
"""


def content_of(figure: "Figure", kind: str, *, dpi: float = 150, creator: str | None = None) -> bytes:
    """The content of a PNG, SVG or PDF file with this figure; `creator` stands in it, where one is given."""
    metadata = {_OMITTED_METADATA[kind]: None, **({} if creator is None else {"Creator": creator})}
    content = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "discreet"}):
        figure.savefig(content, dpi=dpi, format=kind, metadata=metadata)
    return content.getvalue()
