"""Posteriors of many groups whose sizes have weights of their own: the total of a group's counts is not fixed (docs/proofs/inference.md).

The weight of counts x of a group is `Π_i g_i(x_i) · h(n)`, n = Σx. Under a tilt that is the slope of ln h where the posterior of n is, the
law of n is that of independent counts times a factor that hardly changes, and one transform has all of it.

Where one tilt cannot hold all likely totals of a group there are several. The weight of a total n of independent counts is
`h(n) Z(λ) e^{-λn} P_λ(n)` for any tilt λ. Under one for which n is about the mean, P_λ(n) is far from the rounding errors of transforms.
The first tilt of a group is that of its noisy total; further rungs are added above and below it as long as there are totals beyond that
have a weight.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from discreet import limits
from discreet.arrays import Counts, Floats, Mask
from discreet.betas.nodes import NODE_ERROR
from discreet.betas.planes import BetaPlanes
from discreet.betas.search import matched_logits
from discreet.counts.batched.arrays import GroupSummaries, Table, precision
from discreet.counts.batched.sums import FreeTotals, Rests
from discreet.counts.batched.windows import GroupCells, balanced_tilts, batched_windows, check_transforms, check_widths, ranges, windows
from discreet.errors import TooLargeError
from discreet.numerics.tails import even_windows
from discreet.numerics.transforms import HELD, batches, rounding

LogWeight = Callable[[Counts, NDArray[np.int64]], Floats]
"""ln h of totals, a row for each of the groups of these indices."""

TRIMMED_TOTALS, _SEEN, _TRIMMED_AFTER_ALL = 7e-9, 3e-8, 1e-14
"""The probability trimmed off either end of the laws of counts and rests, that from which on it is looked at after all, and that which is
trimmed then. Four ends hold less than the second, unless the weight of the total raises them."""
_ARRAYS = 4
"""Arrays of all counts of a batch that are worked on together, and should stay in a processor's cache."""
_FARTHEST = 2**50
_LARGE = 16.0
_ALIKE = 0.8
"""The likeness of tilts above which one set of rates bounds the totals of all groups of a batch."""
_FARTHER = np.concatenate([[0], 4 ** np.arange(0, 20)])
"""The distances beyond the totals that are looked at where ln h is sampled to bound the rest; so it is at the last possible total."""


@dataclass(frozen=True, eq=False)
class WeightedTotals:
    """Groups of a batch: the tilted laws of their counts and totals, and the weight of each total relative to the largest."""

    rows: NDArray[np.int64]
    part: Table
    found: FreeTotals
    factor: Floats
    """The factor of the tilted law of the total, on its stretch; 0 where that law is not told from 0."""
    smooth: Floats
    """The factor also where that law is not told from 0, unless it is large there."""
    omitted: Floats
    """Bound on the part of each group's weight that is left out."""
    weight: Floats = field(init=False)
    """The sum of the law of the total times the factor."""

    def __post_init__(self) -> None:
        weight = (self.factor * self.found.law).sum(axis=1)
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "omitted", np.where(weight > 0.0, self.omitted, 1.0))

    @property
    def law(self) -> Floats:
        """The posterior law of each group's total; its law without a weight where floats do not hold the weights, and all is left out."""
        held = self.weight > 0.0
        weighted = np.where(held[:, None], self.factor, 1.0) * self.found.law
        return np.asarray(weighted / weighted.sum(axis=1, keepdims=True))

    def times(self, others: Floats, omitted: Floats) -> "WeightedTotals":
        """Return the groups with totals weighted by one more factor, whose error is given for each group."""
        factor, smooth = self.factor * others, self.smooth * others
        largest = np.maximum(factor.max(axis=1, keepdims=True), 1e-300)
        omitted = np.minimum(self.omitted + omitted, 1.0)
        return WeightedTotals(self.rows, self.part, self.found, factor / largest, _not_large(smooth / largest), omitted)


def weighted_totals(table: Table, tilt: Floats, log_weight: LogWeight, depth: float, most: int = _FARTHEST) -> Iterator[WeightedTotals]:
    """Return all groups of a table in batches of similar width; `tilt` is about the slope of the log weight at the group's total.

    No total is above `most`.
    """
    for rows, laws in batched_windows(table.cells, tilt, depth, _ARRAYS):
        fall = table.cells.slope - tilt[rows]
        least = float(fall.min())
        found = FreeTotals.of(laws, least if least > _ALIKE * float(fall.max()) else fall, depth)
        check_transforms(laws.low.shape[1], found.transforms.length)
        yield _weighted(rows, table.rows(rows), found, tilt[rows], log_weight, most)


def _weighted(rows: NDArray[np.int64], part: Table, found: FreeTotals, tilt: Floats, log_weight: LogWeight, most: int) -> WeightedTotals:
    totals = found.totals
    highest = np.minimum(np.minimum(part.cells.top, _FARTHEST).sum(axis=1, keepdims=True), most)

    def log_factor(n: Counts) -> Floats:
        return np.where(n <= highest, log_weight(n, rows) - tilt[:, None] * (n - found.centre[:, None]), -np.inf)

    seen = found.law > 0.0
    logs = log_factor(totals)
    best = np.where(seen, logs, -np.inf).max(axis=1)
    safe = np.where(np.isfinite(best), best, 0.0)
    smooth = _not_large(np.exp(np.minimum(logs - safe[:, None], 50.0)))
    factor = np.where(seen, smooth, 0.0)
    weight = (factor * found.law).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        outside = np.exp(np.minimum(_log_outside(found, seen, highest, log_factor) - safe, 50.0))
        norm = np.sqrt(np.square(found.windows.value).sum(axis=2).max(axis=1))  # transforms have errors of this times that of floats of 1
        rounded = rounding(found.transforms.length) * norm * factor.sum(axis=1)
        omitted = (outside + rounded + found.windows.tail) / weight
    return WeightedTotals(rows, part, found, factor, smooth, np.where(np.isfinite(omitted), np.minimum(omitted, 1.0), 1.0))


def _not_large(factor: Floats) -> Floats:
    """Factors without those that are much larger than the largest of a total that is seen, which is 1."""
    return np.where(factor <= _LARGE, factor, 0.0)


def _log_outside(found: FreeTotals, seen: NDArray[np.bool_], highest: Counts, log_factor: Callable[[Counts], Floats]) -> Floats:
    """Bound on the logarithm of the weight of totals beyond those that are seen: e^{-δ|n - centre|} times the factor, and ln E e^{δ...}.

    The largest value of that product beyond a place is looked for at samples, the first and the last possible total among them. It is
    there if the logarithm of the factor is convex, or concave and falling (docs/proofs/inference.md, "How far off intervals can be").
    """
    length, bounds = seen.shape[1], found.bounds
    last = found.first + length - 1 - np.argmax(seen[:, ::-1], axis=1)
    first = found.first + np.argmax(seen, axis=1)
    above = np.minimum(last[:, None] + 1 + _FARTHER, np.maximum(highest, last[:, None] + 1))
    below = np.maximum(first[:, None] - 1 - _FARTHER, np.minimum(0, first[:, None] - 1))
    logs = []
    for n, log_mean in ((above, bounds.above), (below, bounds.below)):
        value = np.where(n >= 0, log_factor(np.maximum(n, 0)), -np.inf)
        away = np.abs(n - found.centre[:, None])
        each = (value[:, :, None] - away[:, :, None] * bounds.rates[:, None, :]).max(axis=1) + log_mean
        logs.append(each.min(axis=1))
    return np.asarray(np.logaddexp(logs[0], logs[1]))


# --- summaries --------------------------------------------------------------------------------------------------------


def summarise(batch: WeightedTotals, tail: float, result: GroupSummaries) -> None:
    """Write means, standard deviations and intervals of a batch into the arrays of all groups."""
    mean, variance, result.count_mean[batch.rows], result.count_std[batch.rows] = _moments(batch)
    group, cell = np.nonzero(batch.part.open)
    to = batch.rows[group], cell
    result.mean[to], result.std[to] = mean[group, cell], np.sqrt(variance[group, cell])
    rests = batch.found.rests
    for trim in (TRIMMED_TOTALS, _TRIMMED_AFTER_ALL) if batch.part.precision > TRIMMED_TOTALS else (_TRIMMED_AFTER_ALL,):
        left = _intervals(batch, rests, (group, cell), (mean[group, cell], variance[group, cell]), tail, trim, result)
        if not left.any():
            return
        group, cell = group[left], cell[left]


def _intervals(
    batch: WeightedTotals,
    rests: Rests,
    cells: tuple[Counts, Counts],
    moments: tuple[Floats, Floats],
    tail: float,
    trim: float,
    result: GroupSummaries,
) -> NDArray[np.bool_]:
    """Write the intervals of some cells; and which of them need counts that were trimmed, by their law without the weight of the total."""
    group, cell = cells
    first, counts = even_windows(batch.found.windows.value[group, cell], trim)
    least, width = even_windows(rests.value[group, cell], trim)
    if counts * width > limits.PLANE_CELLS:
        raise TooLargeError(
            f"the noise leaves {counts * width:,} pairs of a count and a rest of its group possible; summaries of all groups at once hold "
            f"at most {limits.PLANE_CELLS:,}. Less noise (a larger epsilon) needs fewer"
        )
    left = np.zeros(len(group), dtype=np.bool_)
    guesses = matched_logits(*moments, tail)
    close, allowed = precision(tail, batch.part.precision), min(NODE_ERROR, batch.part.precision)
    step = max(1, HELD // (counts + width))
    for start in range(0, len(group), step):
        part = slice(start, start + step)
        g, c = group[part], cell[part]
        planes, smooth = _planes(batch, rests, g, c, (first[part], counts), (least[part], width))
        here = batch.rows[g], c
        result.low[here], result.high[here], wrong, whole = planes.interval(
            smooth, guesses[:, part], tail, close, allowed, by_rows=batch.part.cells.listed is None
        )
        dropped = np.where(whole > 0.0, np.abs(1.0 - whole / np.maximum(batch.weight[g], 1e-300)), 1.0)
        result.error[here] = np.minimum(wrong + dropped + batch.omitted[g], 1.0)
        left[part] = dropped > _SEEN
    return left


def _moments(batch: WeightedTotals) -> tuple[Floats, Floats, Floats, Floats]:
    """The mean and the variance of all probabilities, and the mean and the standard deviation of all true counts.

    Probabilities are m = (a + x)/(A + n), with Betas of these means around them. With c the mean of m and T that of A + n, m - c is
    ((a + x - cT) - c (A + n - T))/(A + n): sums over totals of two moments of x, times a few weights, have all of it. A group without
    records, where A may be next to 0, adds m = a/A by itself.
    """
    found, part = batch.found, batch.part
    whole = part.prior_total[:, None]
    total = whole + found.totals
    every = batch.factor / np.where(batch.weight > 0.0, batch.weight, 1.0)[:, None]
    chance = np.where(found.totals > 0, every, 0.0)
    empty, prior = ((every - chance) * found.law).sum(axis=1, keepdims=True), part.cells.a / whole
    middle = (chance * found.law * total).sum(axis=1, keepdims=True)
    away, once, twice, within = total - middle, chance / total, chance / total**2, chance / (total + 1.0)
    weights = [chance, once, twice, twice * away, within / total, within / total**2, within / total**2 * away]
    sums = found.count_sums()
    first = np.moveaxis(sums[0] @ np.stack(weights, axis=2), 2, 0)
    second = np.moveaxis(sums[1] @ np.stack([chance, twice, within / total**2], axis=2), 2, 0)
    law = [(found.law * each).sum(axis=1)[:, None] for each in (*weights, weights[3] * away, weights[4] * away, weights[6] * away, within)]
    alpha = part.cells.a + found.windows.low
    mean = alpha * law[1] + first[1] + empty * prior
    shift = mean * middle - alpha  # where x - low is cT - a - low
    between, inside = (
        second[i] - 2.0 * shift * first[j] + shift**2 * law[j] - 2.0 * mean * (first[j + 1] - shift * law[j + 1]) + mean**2 * law[k]
        for i, j, k in ((1, 2, 7), (2, 5, 9))
    )
    off = first[4] - shift * law[4] - mean * law[8]
    variance = between + mean * (1.0 - mean) * law[10] + (1.0 - 2.0 * mean) * off - inside
    variance += empty * ((prior - mean) ** 2 + prior * (1.0 - prior) / (whole + 1.0))
    count = first[0], np.sqrt(np.maximum(second[0] - first[0] ** 2, 0.0))
    return mean, np.maximum(variance, 0.0), found.windows.low + count[0], count[1]


def _planes(
    batch: WeightedTotals, rests: Rests, g: Counts, c: Counts, of_count: tuple[Counts, int], of_rest: tuple[Counts, int]
) -> tuple[BetaPlanes, Floats]:
    """The mixtures of some cells: the laws of their counts and rests, from some place on and so long, and the factors of their sums.

    The second are those factors where the law of the total is not told from 0 too.
    """
    found = batch.found
    (x, counts), (r, width) = of_count, of_rest
    count_law = np.take_along_axis(found.windows.value[g, c], x[:, None] + np.arange(counts), axis=1)
    rest_law = np.take_along_axis(rests.value[g, c], r[:, None] + np.arange(width), axis=1)
    first, least = found.windows.low[g, c] + x, rests.first[g, c] + r
    places = (first + least - found.first[g])[:, None] + np.arange(counts + width - 1)
    length = batch.factor.shape[1]
    at = np.where((places >= 0) & (places < length), places, length)
    factor, smooth = (np.pad(each, ((0, 0), (0, 1)))[g[:, None], at] for each in (batch.factor, batch.smooth))
    return BetaPlanes(count_law, rest_law, factor, first, least, batch.part.cells.a[g, c], batch.part.rest[g, c]), smooth


_HELD_TOTALS = 0.8
"""Down to which part of the depth of windows, in logarithms, the tilted law of totals is held: deeper down windows are too short for it."""
_NEGLIGIBLE_TOTALS = 10.0
"""Totals whose weight is this far below the largest, in logarithms, are negligible."""
_AHEAD = 2.5
"""The distance from the last total of a rung to the middle of the next one, in standard deviations."""
_GENTLY, _STEEPLY = 0.2, 0.9
"""The steepest tilts upwards of first and of other rungs, in parts of the slope of the noise: steeper ones have long windows."""
_LENGTHENED = 1.5
"""The greatest length of a window, in parts of the length that its depth takes on the side to which it is tilted."""
_MOST_RUNGS = 40
_ARRAYS_HELD = 4
"""Arrays of all counts of a batch that are worked on together."""

LogRoot = Callable[[Counts], Floats]
"""ln h of totals."""


@dataclass(frozen=True, eq=False)
class Rung:
    """Some groups of a batch under a tilt each, and the weights of the totals that are looked at under it."""

    rows: NDArray[np.int64]
    """The groups of the batch, as indices."""
    found: FreeTotals
    log_weight: Floats
    """The logarithm of the weight of every total, on a scale that all rungs of a group share; -inf for totals of other rungs."""
    log_factor: Floats
    """The logarithm of the weight of every total without the tilted law of the total."""
    alone: bool = False
    """Whether there are no other rungs."""

    def end(self, *, upper: bool) -> tuple[Counts, Floats]:
        """The last (first) total that is held for each group, and its log weight; a weight of -inf where there is none."""
        held = self.log_weight > -np.inf
        last = held.shape[1] - 1 - np.argmax(held[:, ::-1], axis=1) if upper else np.argmax(held, axis=1)
        return self.found.first + last, np.take_along_axis(self.log_weight, last[:, None], axis=1)[:, 0]


def ladders(cells: GroupCells, log_root: LogRoot, depth: float, most: int) -> Iterator[tuple[NDArray[np.int64], list[Rung]]]:
    """Return all groups in batches of similar width: indices of groups, a rung with all of them, and others with some.

    No total is above `most`.
    """
    noise = np.sqrt(2.0 * cells.z.shape[1]) / cells.slope
    start = np.clip(np.rint(np.maximum(cells.z.sum(axis=1), noise)), 0.0, most)
    tilt = balanced_tilts(cells, start, _GENTLY * cells.slope)
    low, high = ranges(cells, tilt, depth)
    for rows in batches((high - low).max(axis=1) + 1, _ARRAYS_HELD * low.shape[1]):
        climb = _Climb(cells.rows(rows), log_root, depth, most)
        found = list(climb.rungs(tilt[rows]))
        yield rows, found if len(found) > 1 else [replace(found[0], alone=True)]


@dataclass(frozen=True, eq=False)
class _Climb:
    """The groups of a batch, whose rungs are looked for."""

    cells: GroupCells
    log_root: LogRoot
    depth: float
    most: int

    @property
    def _steepest(self) -> float:
        """The steepest tilt of a further rung: under a steeper one windows would be longer than are held."""
        slope, counts = self.cells.slope, self.cells.z.shape[1]
        held = slope - _LENGTHENED * self.depth * counts / limits.TRANSFORM_CELLS
        return float(max(_GENTLY * slope, min(_STEEPLY * slope, held)))

    def rungs(self, tilt: Floats) -> Iterator[Rung]:
        """The first rungs of all groups, and then others above and below."""
        every = np.arange(len(self.cells))
        first = self._rung(every, tilt, np.zeros_like(every), np.full_like(every, self.most))
        yield first
        best = first.log_weight.max(axis=1)
        for upper in (True, False):
            rung, rows = first, every
            for _ in range(_MOST_RUNGS):
                edge, weight = rung.end(upper=upper)
                more = (weight > best[rows] - _NEGLIGIBLE_TOTALS) & ((edge < self.most) if upper else (edge > 0))
                if not more.any():
                    break
                rows, edge = rows[more], edge[more]
                deviation = np.sqrt(rung.found.windows.moments[1].sum(axis=1)[more]) + 1.0
                if upper:
                    centre, ends = np.minimum(edge + _AHEAD * deviation, self.most), (edge + 1, np.full_like(edge, self.most))
                else:  # near 0 totals vary less
                    near = _AHEAD * deviation * np.sqrt(edge / np.maximum(rung.found.centre[more], edge))
                    centre, ends = np.maximum(edge - near, 0.1 * edge), (np.zeros_like(edge), edge - 1)
                tilt = balanced_tilts(self.cells.rows(rows), np.rint(centre), self._steepest)
                rung = self._rung(rows, tilt, *ends)
                best[rows] = np.maximum(best[rows], rung.log_weight.max(axis=1))
                yield rung

    def _rung(self, rows: NDArray[np.int64], tilt: Floats, first: Counts, last: Counts) -> Rung:
        """Return a rung: some groups under a tilt each, with totals between two ends."""
        cells = self.cells.rows(rows)
        low, high = ranges(cells, tilt, self.depth)
        check_widths(high - low)
        fall = np.maximum(cells.slope - tilt, 1e-3 * cells.slope)
        found = FreeTotals.of(windows(cells, tilt, low, high, self.depth), fall, self.depth)
        check_transforms(low.shape[1], found.transforms.length)
        totals, law = found.totals, found.law
        least = np.exp(-_HELD_TOTALS * self.depth) * law.max(axis=1, keepdims=True)
        held: Mask = (law > least) & (totals >= first[:, None]) & (totals <= last[:, None])
        factor = self.log_root(np.clip(totals, 0, self.most)) - tilt[:, None] * totals + found.windows.log_sum[:, None]
        logs = np.where(held, factor + np.log(np.where(held, law, 1.0)), -np.inf)
        return Rung(rows, found, logs, factor)
