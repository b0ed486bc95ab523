"""Pictures. Every function takes an `ax` or makes one, draws, and returns it."""

from collections.abc import Hashable, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet.distributions import Beta

__all__ = ["plot_marginals"]

_LINES = ("-", "--", "-.", ":")
_TAIL = 1e-4
_POINTS = 400


def plot_marginals(marginals: "Sequence[tuple[Hashable, Beta]]", ax: "Axes | None" = None) -> "Axes":
    """The densities of the categories' probabilities, told apart by line style as well as by colour."""
    ax = plt.subplots(layout="constrained")[1] if ax is None else ax
    for (category, beta), line in zip(marginals, cycle(_LINES), strict=False):
        low, high = beta.ppf([_TAIL, 1.0 - _TAIL])
        grid = np.linspace(low, high, _POINTS)
        ax.plot(grid, beta.pdf(grid), line, label=str(category))
    ax.set_xlabel("probability")
    ax.set_ylabel("density")
    ax.set_ylim(bottom=0.0)
    ax.legend()
    return ax
