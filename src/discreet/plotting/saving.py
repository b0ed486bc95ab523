"""A figure as the content of a file. The same figure has the same content whenever it is saved: no clock and no random name is in it."""

from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING

import matplotlib as mpl

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["content_of"]

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
