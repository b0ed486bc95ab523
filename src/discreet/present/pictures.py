"""The picture of a release as the content of a file."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.record.release import Release


def picture(
    found: "Release",
    kind: str,
    *,
    mass: float = 0.95,
    computed: bool = True,
    creator: str | None = None,
    draw: "Callable[[Figure], None] | None" = None,
) -> bytes:
    """A release's posteriors, or what `draw` does, as the content of a PNG, SVG or PDF file; `creator` stands in it.

    The title says so where a promise by computation was not `computed` here.
    """
    import warnings

    from matplotlib.figure import Figure

    from discreet.plotting.saving import content_of
    from discreet.plotting.style import add_to_title

    figure = Figure(layout="constrained")
    if draw is None:
        found.draw_on(figure, mass)
    else:
        draw(figure)
    if found.guarantee.basis == "computation" and not computed:
        add_to_title(figure, "(not verified)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a label may have characters that no font here can draw
        return content_of(figure, kind, creator=creator)
