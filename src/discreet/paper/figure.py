"""Figures and tables: each has a function that computes its data, and a figure has panels that draw the data on given axes."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas

from discreet.paper.data import Data, write_atomically
from discreet.paper.style import INK, PAPER, RC

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Figure", "Item", "Panel", "TableItem", "inline_panels", "save_figure"]

Compute = Callable[[bool], Data]
"""`compute(quick)`: the data, on a coarser grid if quick."""

_PANEL = (4.7, 4.0)
_MOST_PER_ROW = 3


@dataclass(frozen=True)
class Panel:
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

    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class TableItem(Item):
    """A table: the columns that are shown, with their headings and formats."""

    columns: Mapping[str, tuple[str, str]]


def _legend(canvas: Canvas, axes: Sequence["Axes"]) -> None:
    """One legend with each label once, placed below all panels so that it covers no data."""
    found: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if found:
        most = 3 if len(axes) == 1 else 5
        columns = -(-len(found) // -(-len(found) // most))
        canvas.legend(list(found.values()), list(found), loc="outside lower center", ncols=columns, handlelength=3.2, columnspacing=1.2)


def _canvas(panels: Sequence[Panel], data: Data) -> Canvas:
    columns = 2 if len(panels) == 4 else min(len(panels), _MOST_PER_ROW)
    rows = -(-len(panels) // columns)
    canvas = Canvas(figsize=(_PANEL[0] * columns, _PANEL[1] * rows), layout="constrained")
    FigureCanvasAgg(canvas)
    axes = []
    for i, panel in enumerate(panels):
        ax = canvas.add_subplot(rows, columns, i + 1)
        panel.draw(ax, data)
        if panel.title and not ax.get_title():
            ax.set_title(panel.title)
        axes.append(ax)
    _legend(canvas, axes)
    # The layout is found once and kept: it takes longer than drawing, and a figure is saved more than once.
    canvas.draw_without_rendering()
    canvas.set_layout_engine("none")
    return canvas


def save_figure(figure: Figure, data: Data, directory: Path) -> None:
    """Write id.svg and id.png, all panels in one picture on white."""
    directory.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({**RC, "savefig.facecolor": "white"}):
        canvas = _canvas(figure.panels, data)
        for kind in ("svg", "png"):
            metadata = {"Date": None} if kind == "svg" else {"Software": None}
            with write_atomically(directory / f"{figure.id}.{kind}") as path:
                canvas.savefig(path, format=kind, dpi=200, metadata=metadata)


_REFERENCE = re.compile(r'(id="|url\(#|href="#)')


def inline_panels(figure: Figure, data: Data) -> list[str]:
    """Every panel as an SVG element for a page: identifiers made unique, ink and paper taken from the page."""
    found = []
    for i, panel in enumerate(figure.panels):
        with mpl.rc_context({**RC}):
            text = StringIO()
            _canvas([panel], data).savefig(text, format="svg", metadata={"Date": None})
        svg = text.getvalue()
        svg = svg[svg.index("<svg") :]
        svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
        svg = _REFERENCE.sub(rf"\g<1>{figure.id}-{i}-", svg)
        svg = svg.replace(INK, "currentColor").replace(PAPER, "var(--paper)")
        label = f"{figure.title}: {panel.title}" if panel.title else figure.title
        svg = re.sub(r'<svg ([^>]*?)width="[^"]*" height="[^"]*"', r"<svg \1", svg, count=1, flags=re.DOTALL)
        svg = re.sub(r' height="[\d.]+pt"| width="[\d.]+pt"', "", svg, count=2)
        found.append(svg.replace("<svg ", f'<svg role="img" aria-label="{_attribute(label)}" ', 1))
    return found


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
