"""Pictures in one house style. Every `plot_` function takes an `ax` or makes one, draws, and returns it; `draw_` functions fill a figure.

On axes of the user's own only lines, labels and a legend are drawn: their type, ticks and grid stay as they are.
"""

from discreet.plotting.posteriors import draw_release, plot_errors, plot_marginals, plot_quantity, plot_release, plot_widths
from discreet.plotting.tables import draw_contrasts, draw_table, plot_contrasts, plot_groups, plot_one, plot_ranks, plot_table

__all__ = [
    "draw_contrasts",
    "draw_release",
    "draw_table",
    "plot_contrasts",
    "plot_errors",
    "plot_groups",
    "plot_marginals",
    "plot_one",
    "plot_quantity",
    "plot_ranks",
    "plot_release",
    "plot_table",
    "plot_widths",
]
