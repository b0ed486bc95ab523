"""Posteriors of many groups whose sizes are public: the counts of each group add up to its size (docs/proofs/inference.md)."""

import numpy as np

from discreet.betas.lines import BetaLines
from discreet.counts.batched.arrays import DEPTH, TRIMMED, GroupSummaries, Table, known, precision, trimmed
from discreet.counts.batched.sums import laws_of_sizes


def of_public_sizes(table: Table, tail: float) -> GroupSummaries:
    """Summaries of all rows, with intervals that leave out `tail` on either side."""
    sizes, result = table.sizes, known(table)
    for rows, law in laws_of_sizes(table.cells, sizes, DEPTH):
        part = table.rows(rows)
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
