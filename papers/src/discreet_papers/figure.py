"""Figures and tables: each has a function that computes its data, and a figure has panels that draw the data on given axes."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.layout_engine import ConstrainedLayoutEngine

from discreet.plotting.style import ON_DARK, content_of, log_ticks
from discreet_papers.data import Data, write_atomically
from discreet_papers.style import INK, PAPER, RC

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Figure", "FigurePanel", "Inline", "Item", "TableItem", "drawn", "inline", "plain_log", "save_figure", "variable"]

Compute = Callable[[bool], Data]
"""`compute(quick)`: the data, on a coarser grid if quick."""

_WIDTHS = {1: 5.6, 2: 4.8, 3: 4.0, 4: 4.8}
_HEIGHT = 3.6
"""Inches of a panel, by how many a figure has. Panels are shown at this size: letters are equally large in all figures."""
_LEGEND_LINE = 0.2
"""Inches that a line of a legend adds to a picture."""


@dataclass(frozen=True)
class FigurePanel:
    """One set of axes."""

    title: str
    draw: Callable[["Axes", Data], None]


@dataclass(frozen=True)
class Item:
    """A figure or table of the papers that is recomputed."""

    id: str
    source: str
    title: str
    caption: str
    compute: Compute


@dataclass(frozen=True)
class Figure(Item):
    """A figure of one or more panels."""

    panels: tuple[FigurePanel, ...]


@dataclass(frozen=True)
class TableItem(Item):
    """A table: the columns that are shown, with their headings and formats."""

    columns: Mapping[str, tuple[str, str]]


def plain_log(ax: "Axes", axis: Literal["x", "y"]) -> None:
    """A logarithmic axis with plain numbers."""
    ax.set(**{f"{axis}scale": "log"})
    low, high = sorted(ax.get_xlim() if axis == "x" else ax.get_ylim())
    log_ticks(ax.xaxis if axis == "x" else ax.yaxis, low, high)


Entries = dict[str, Any]
"""Handles of a legend by their labels, each label once."""


def _entries(axes: Sequence["Axes"]) -> Entries:
    found: Entries = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return found


def _add_legend(canvas: Canvas, entries: Entries, panels: int) -> None:
    """One legend for all panels, below them so that it covers no data; the picture grows by its lines."""
    lines = -(-len(entries) // (3 if panels == 1 else 4))
    columns = -(-len(entries) // lines)
    width, height = canvas.get_size_inches()
    canvas.set_size_inches(width, height + _LEGEND_LINE * lines)
    canvas.legend(list(entries.values()), list(entries), loc="outside lower center", ncols=columns, handlelength=3.2, columnspacing=1.2)


def _canvas(panels: Sequence[FigurePanel], data: Data, width: float) -> tuple[Canvas, list["Axes"]]:
    columns = 2 if len(panels) == 4 else len(panels)
    rows = -(-len(panels) // columns)
    canvas = Canvas(figsize=(width * columns, _HEIGHT * rows), layout=ConstrainedLayoutEngine(h_pad=0.08))
    FigureCanvasAgg(canvas)
    axes = []
    for i, panel in enumerate(panels):
        ax = canvas.add_subplot(rows, columns, i + 1)
        panel.draw(ax, data)
        if panel.title and not ax.get_title():
            ax.set_title(panel.title)
        axes.append(ax)
    return canvas, axes


def _lay_out(canvas: Canvas) -> None:
    """Find the layout once and keep it: that takes longer than drawing, and a figure is saved more than once."""
    canvas.draw_without_rendering()
    canvas.set_layout_engine("none")


def drawn(figure: Figure, data: Data) -> Canvas:
    """All panels in one picture, with one legend, in the house style."""
    with mpl.rc_context(RC):
        canvas, axes = _canvas(figure.panels, data, _WIDTHS[len(figure.panels)])
        entries = _entries(axes)
        if entries:
            _add_legend(canvas, entries, len(axes))
        _lay_out(canvas)
    return canvas


def save_figure(figure: Figure, data: Data, directory: Path) -> None:
    """Write id.svg and id.png, all panels in one picture on white."""
    directory.mkdir(parents=True, exist_ok=True)
    canvas = drawn(figure, data)
    with mpl.rc_context({**RC, "savefig.facecolor": "white"}):
        for kind in ("svg", "png"):
            with write_atomically(directory / f"{figure.id}.{kind}") as path:
                path.write_bytes(content_of(canvas, kind, dpi=200))


# --- for a page -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Inline:
    """A figure as SVG elements for a page: its panels, and one legend for all of them as labels with small pictures."""

    panels: list[str]
    legend: list[tuple[str, str]]


def inline(figure: Figure, data: Data) -> Inline:
    """Every panel as an SVG element: identifiers made unique, colours taken from the page."""
    panels: list[str] = []
    entries: Entries = {}
    with mpl.rc_context(RC):
        for i, panel in enumerate(figure.panels):
            canvas, axes = _canvas([panel], data, _WIDTHS[len(figure.panels)])
            _lay_out(canvas)
            for name, handle in _entries(axes).items():
                entries.setdefault(name, handle)
            label = f"{figure.title}: {panel.title}" if panel.title else figure.title
            panels.append(_element(canvas, f"{figure.id}-{i}-", f'role="img" aria-label="{_attribute(label)}"'))
        keys = [(label, _key(handle, f"{figure.id}-key-{i}-")) for i, (label, handle) in enumerate(entries.items())]
    return Inline(panels, keys)


def _key(handle: Any, prefix: str) -> str:
    """The line and the marker of one entry of a legend."""
    canvas = Canvas(figsize=(0.5, 0.18))
    FigureCanvasAgg(canvas)
    canvas.legend([handle], [""], loc="center", handlelength=3.2, handletextpad=0.0, borderpad=0.0, borderaxespad=0.0)
    return _element(canvas, prefix, 'aria-hidden="true"')


_REFERENCE = re.compile(r'(id="|url\(#|href="#)')


def _element(canvas: Canvas, prefix: str, attributes: str) -> str:
    """A canvas as an SVG element in its own size, with ink, paper and colours of the page."""
    svg = content_of(canvas, "svg").decode()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = _REFERENCE.sub(rf"\g<1>{prefix}", svg)
    svg = svg.replace(INK, "currentColor").replace(PAPER, "var(--paper)")
    for colour in ON_DARK:
        svg = svg.replace(colour, f"var({variable(colour)})")
    return svg.replace("<svg ", f"<svg {attributes} ", 1)


def variable(colour: str) -> str:
    """The name of the variable by which a page has a colour."""
    return f"--c-{colour.removeprefix('#')}"


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
