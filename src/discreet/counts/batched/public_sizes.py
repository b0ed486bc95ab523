"""Posteriors of many groups whose sizes are public: the counts of each group add up to its size (docs/proofs/inference.md)."""

import numpy as np

from discreet.betas.lines import BetaLines
from discreet.counts.batched.arrays import DEPTH, TRIMMED, GroupSummaries, Table, known, precision, trimmed
from discreet.counts.batched.sums import fixed_totals
from discreet.counts.batched.tilts import balanced_tilts, check_widths
from discreet.counts.batched.windows import ranges, windows
from discreet.numerics.products import batches


def of_public_sizes(table: Table, tail: float) -> GroupSummaries:
    """Summaries of all rows, with intervals that leave out `tail` on either side."""
    cells, sizes = table.cells, table.sizes
    result = known(table)
    tilt = balanced_tilts(cells, sizes)
    low, high = ranges(cells, tilt, DEPTH)
    check_widths(high - low)
    for rows in batches((high - low).max(axis=1) + 1, low.shape[1]):
        part = table.rows(rows)
        found = windows(part.cells, tilt[rows], low[rows], high[rows], DEPTH)
        law = fixed_totals(found, sizes[rows], cells.slope, DEPTH)
        group, cell = np.nonzero(part.open)
        to = rows[group], cell
        lines = BetaLines(
            law.weight[group, cell], law.low[group, cell], sizes[rows][group], part.cells.a[group, cell], part.rest[group, cell]
        )
        mean, variance = lines.moments()
        result.mean[to], result.std[to] = mean, np.sqrt(variance)
        count, spread = lines.count_moments
        result.count_mean[to], result.count_std[to] = count, np.sqrt(spread)
        start, weight, dropped = trimmed(lines.weight, TRIMMED)
        short = BetaLines(weight, lines.first + start, lines.n, lines.a, lines.b)
        result.low[to], result.high[to], wrong = short.interval(tail, precision(tail))
        result.error[to] = wrong + dropped + law.omitted[group]
    return result
