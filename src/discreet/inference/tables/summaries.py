"""Posteriors of many groups at once: means, standard deviations and intervals of all their probabilities (docs/howto/reading.md).

Arrays without labels: groups on the first axis, categories on the second. Three promises say what is public: the size of every group, the
total of all groups, or nothing. Groups are gone through in blocks, so that memory is bounded and cost is linear in the cells.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from math import ceil

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, polygamma

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.betas.lines import BetaLines
from discreet.counts.batched.arrays import DEPTH, TRIMMED, GroupSummaries, Table, each_block, joined, known, precision, table_of, trimmed
from discreet.counts.batched.free_sizes import TRIMMED_TOTALS, WeightedTotals, summarise, weighted_totals
from discreet.counts.batched.leave_one_out import Contributions, Frequencies, check_period, contributions, relative_error
from discreet.counts.batched.sums import laws_of_sizes
from discreet.counts.batched.windows import UNBOUNDED, RiseTable, matched_tilts
from discreet.counts.factors import Kernel
from discreet.counts.tree import TreeCounts
from discreet.errors import InvalidInputError, TooLargeError
from discreet.inference.noise_aware import probability_law
from discreet.inference.tables.other_groups import TiedGroup, check_groups, tied_sizes
from discreet.inference.true_counts import check_noisy_total, counts_of_outcomes
from discreet.mechanisms.noise import CellNoise
from discreet.model.size_priors import SizePrior, known_size, size_prior_of, tabled
from discreet.numerics.roots import balancing_tilt

_SEARCH_DEPTH, _FOUND_DEPTH = 14.0, 34.0
"""The depth to which windows reach, in logarithms, where the total is public: while the tilt is looked for, and once it is found. What is
left
out of all groups adds up."""
_NEAR_TOTAL = 1.5
"""The largest distance of the mean of the total from the total, in standard deviations: its probability is then a third of the largest,
and one pass over
all groups is enough as a rule."""
_SPREAD = 8.0 * 2.0**0.5
"""The half width, in standard deviations and times the root of m, that holds all but TRIMMED_TOTALS of a sum of m noises for large m."""
_BESIDES = 1_000
"""Values of a count that take as long as what else there is to do for a category of a group that is looked at by itself."""
_PRECISE = 1e-9
"""The error in probability of the quantiles of a single release."""


def group_summaries(
    z: Counts,
    a: Floats,
    noise: CellNoise,
    *,
    sizes: Counts | None = None,
    total: int | None = None,
    shares: ArrayLike = 1.0,
    size_prior: SizePrior | None = None,
    possible: NDArray[np.bool_] | None = None,
    mass: float = 0.95,
) -> GroupSummaries:
    """Means, standard deviations and equal-tailed intervals of the probabilities of all categories in all groups.

    Args:
        z: The noisy counts, one row for each group.
        a: The prior parameters, one for each category, or a row of them for each group.
        noise: The noise of a cell.
        sizes: The size of every group, if they are public.
        total: The total of all groups, if that is public and the sizes are not.
        shares: Where the total is public, the prior parameters of the groups' shares of it: one for all, or one for each.
        size_prior: Where nothing is public, what is believed about the size of a group; flat if left out.
        possible: Which categories can occur in which group; all if left out. Others have probability 0.
        mass: How much probability intervals hold.
    """
    if not 0.0 < mass < 1.0:
        raise InvalidInputError(f"mass must lie strictly between 0 and 1, got {mass}")
    z, prior = np.asarray(z, dtype=np.int64), np.asarray(a, dtype=np.float64)
    if z.size and int(z.max()) > limits.COUNT:
        raise TooLargeError("a noisy count is beyond 2**53, where no posterior is computed; less noise (a larger epsilon) avoids that")
    tail = 0.5 * (1.0 - mass)
    sizes = None if sizes is None else np.asarray(sizes, dtype=np.int64)
    top = np.full(len(z), UNBOUNDED if total is None else int(total)) if sizes is None else sizes
    own = None if total is None else np.atleast_1d(np.asarray(shares, dtype=np.float64))
    if noise.is_kernel and sizes is None and total is None:
        check_noisy_total(float(np.maximum(z, 0.0).sum(axis=1).max(initial=0.0)))
    table = table_of(z, prior, noise.kernel, possible, top, sizes, own, clipped=noise.is_kernel)
    size_prior = size_prior_of("flat") if size_prior is None else size_prior
    if not noise.is_kernel:
        listed = _listed(table, noise)
        if listed is None:
            return _each_by_itself(table, noise, total, size_prior, tail)
        table = listed
    if sizes is not None:
        return joined(table, each_block(table, lambda block: _public_sizes(block, noise, tail, len(table))))
    return _private_sizes(table, noise, size_prior, tail) if total is None else _PublicTotal(table, noise, int(total)).summaries(tail)


def _public_sizes(block: Table, noise: CellNoise, tail: float, groups: int) -> GroupSummaries:
    """Summaries of all rows, with intervals that leave out `tail` on either side: the counts of each group add up to its size."""
    sizes, result = block.sizes, known(block)
    for rows, law in laws_of_sizes(block.cells, sizes, DEPTH):
        part = block.rows(rows)
        group, cell = np.nonzero(part.open)
        to = rows[group], cell
        lines = BetaLines(
            law.weight[group, cell], law.low[group, cell], sizes[rows][group], part.cells.a[group, cell], part.rest[group, cell]
        )
        mean, variance = lines.moments()
        result.mean[to], result.std[to] = mean, np.sqrt(variance)
        count, spread = lines.count_moments
        result.count_mean[to], result.count_std[to] = count, np.sqrt(spread)
        start, weight, dropped = trimmed(lines.weight, TRIMMED * block.precision)
        short = BetaLines(weight, lines.first + start, lines.n, lines.a, lines.b)
        result.low[to], result.high[to], wrong = short.interval(tail, precision(tail, block.precision))
        result.error[to] = wrong + dropped + law.omitted[group]
    for row in _hard(block, result.error.max(axis=1, initial=0.0), groups):
        _of_one_group(block, row, noise, known_size(int(sizes[row])), tail, result)
    return result


def _work(categories: int, noise: Kernel, most: int = limits.COUNT) -> float:
    """Return the cost of a group that is looked at by itself, in values of a count: of all categories, and of the rest."""
    return categories * (min(2.0 * noise.width(_FOUND_DEPTH), most) + 1.0 + _BESIDES)


def _hard(block: Table, error: Floats, groups: int) -> list[int]:
    """The rows of a block whose bound is too large, the largest first, and no more than the block's part of the groups has time for."""
    work = _work(block.possible.shape[1], block.cells.noise, int(block.cells.top.max(initial=0)))
    most = ceil(limits.SUMMARY_WORK / work * len(block) / groups)
    rows = np.flatnonzero(error > block.hard)
    found: list[int] = rows[np.argsort(-error[rows], kind="stable")][:most].tolist()
    return found


# --- nothing public ---------------------------------------------------------------------------------------------------


def _private_sizes(table: Table, noise: CellNoise, prior: SizePrior, tail: float) -> GroupSummaries:
    rises, alone = _rises(table), _check_wide(table)

    def summaries(block: Table) -> GroupSummaries:
        total = block.prior_total

        def log_weight(n: Counts, rows: NDArray[np.int64]) -> Floats:
            return prior(n.astype(np.float64).ravel()).reshape(n.shape) - rises(total[rows][:, None], n)

        def log_slope(n: Floats, rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
            whole = np.rint(n)
            with np.errstate(invalid="ignore"):
                step = prior(whole + 1.0) - prior(whole)
            first, second = _slopes(1.0, total[rows], n)
            return first + np.where(np.isfinite(step), step, 0.0), second

        result = known(block)
        for batch in weighted_totals(block, matched_tilts(block.cells, log_slope), log_weight, DEPTH):
            done = not alone and _all_at_once(table, batch, tail, result)
            chosen = _hard(batch.part, _bound(batch, result), len(table)) if done else list(range(len(batch.rows)))
            for row in batch.rows[chosen].tolist():
                _of_one_group(block, row, noise, prior, tail, result)
        return result

    return joined(table, each_block(table, summaries))


def pairs_in_a_group(categories: int, noise: Kernel, most: int = limits.COUNT) -> float:
    """About how many pairs of a count and a rest of its group the noise of a usual outcome leaves possible; no group exceeds `most`."""
    trimmed = 2.0 * noise.width(-float(np.log(TRIMMED_TOTALS)))
    counts = min(trimmed, most) + 1.0
    return counts * (min(float(np.hypot(trimmed, _SPREAD * noise.deviation * (categories - 1) ** 0.5)), most) + 1.0)


def check_summaries(groups: int, categories: int, noise: Kernel, most: int = limits.COUNT) -> None:
    """Refuse, by public numbers alone, tables of too many groups for the noise of a usual outcome; no group exceeds `most` records."""
    pairs = pairs_in_a_group(categories, noise, most)
    if pairs > limits.PLANE_PAIRS and groups * _work(categories, noise, most) > limits.SUMMARY_WORK:
        raise TooLargeError(
            f"the noise leaves about {pairs:,.0f} pairs of a count and a rest of its group possible, in {groups:,} groups by {categories:,}"
            " categories: too many for their means and intervals. Less noise (a larger epsilon), or fewer groups or categories, need fewer"
        )


def check_total(groups: int, categories: int, noise: Kernel, total: int) -> None:
    """Refuse, by public numbers alone, groups whose total the noise spreads too far, where that total is public."""
    check_period(int(min(2.0 * _SPREAD * (groups * categories) ** 0.5 * noise.deviation, float(groups * total))) + 1)


def _check_wide(table: Table, most: int = limits.COUNT) -> bool:
    """Return whether the noise is so wide that groups are gone through one at a time. Groups that are too many for that are refused."""
    categories = int(table.possible.sum(axis=1).max(initial=0))
    check_summaries(len(table), categories, table.cells.noise, most)
    return pairs_in_a_group(categories, table.cells.noise, most) > limits.PLANE_PAIRS


def _are_few(table: Table, most: int = limits.COUNT) -> bool:
    """Return whether there is time to look at all groups one at a time."""
    return len(table) * _work(table.possible.shape[1], table.cells.noise, most) <= limits.SUMMARY_WORK


def _all_at_once(table: Table, batch: WeightedTotals, tail: float, result: GroupSummaries) -> bool:
    """Summarise a batch, unless its outcomes are too wide for that and the groups are few enough to go through one at a time."""
    try:
        summarise(batch, tail, result)
    except TooLargeError:
        if _are_few(table):
            return False
        raise
    return True


def _bound(batch: WeightedTotals, result: GroupSummaries) -> Floats:
    """Return the largest bound of each group: also of one whose only possible category has no interval, and yet a size."""
    return np.asarray(np.maximum(result.error[batch.rows].max(axis=1, initial=0.0), batch.omitted))


def _of_one_group(table: Table, row: int, noise: CellNoise, prior: SizePrior, tail: float, result: GroupSummaries) -> None:
    """Write the summaries of a group that one tilt cannot hold, as for a single release."""
    held, cells = table.possible[row], table.cells
    if held.any():
        _write(table, row, counts_of_outcomes(cells.a[row, held], [(noise, cells.z[row, held])], prior), tail, result)


def _write(table: Table, row: int, counts: TreeCounts, tail: float, result: GroupSummaries) -> None:
    """Write the summaries of a group whose counts have this law."""
    unsure, cells = table.open[row], table.cells
    for i, cell in enumerate(np.flatnonzero(table.possible[row]).tolist()):
        run = counts.marginal(i)
        result.count_mean[row, cell], result.count_std[row, cell] = run.mean, run.variance**0.5
        if not unsure[cell]:
            continue
        law = probability_law(counts, i, float(cells.a[row, cell]), float(table.rest[row, cell]), cell)
        result.mean[row, cell], result.std[row, cell] = law.mean(), law.std()
        result.low[row, cell], result.high[row, cell] = law.interval(1.0 - 2.0 * tail)
        result.error[row, cell] = min(law.omitted + _PRECISE, 1.0)


def _rises(table: Table) -> RiseTable:
    """ln Γ(A + n)/n! for the sums A of the prior parameters."""
    likely = table.cells.centres.sum(axis=1).max(initial=0) + 400.0 * (1.0 + table.cells.z.shape[1] ** 0.5) / table.cells.slope
    return RiseTable(table.prior_total, int(min(likely, 2.0**40)))


def _slopes(b: Floats | float, total: Floats, n: Floats) -> tuple[Floats, Floats]:
    """The first and the second derivative of ln Γ(b + n)/Γ(A + n)."""
    first = digamma(b + n) - digamma(total + n)
    return np.asarray(first), np.asarray(polygamma(1, b + n) - polygamma(1, total + n))


def _listed(table: Table, noise: CellNoise) -> Table | None:
    """Return the table with the likelihoods of all counts of its cells; None where these are many, or some cell has none."""
    cells, last = table.cells, int(table.cells.top.max(initial=0))
    if last >= limits.LISTED_COUNTS or cells.z.size * (last + 1) > limits.LISTED_FACTORS:
        return None
    seen, place = np.unique(cells.z[table.possible], return_inverse=True)
    x, logs = np.arange(last + 1.0), np.zeros((*cells.z.shape, last + 1))
    logs[table.possible] = np.reshape([noise.observation(z)(x) for z in seen.tolist()], (len(seen), last + 1))[place]
    listed = cells.log_factors(logs)
    return replace(table, cells=replace(cells, listed=listed)) if np.isfinite(listed.max(axis=2)).all() else None


# --- likelihoods that are no kernels -----------------------------------------------------------------------------------


def _each_by_itself(table: Table, noise: CellNoise, total: int | None, size_prior: SizePrior, tail: float) -> GroupSummaries:
    """The summaries of groups of which each is read as a single release is."""
    if not _are_few(table, limits.COUNT if total is None else total):
        raise TooLargeError(
            f"counts that were clamped, rounded or suppressed are read group by group, and {len(table):,} different groups are too many"
        )
    if total is not None:
        return _PublicTotal(table, noise, total).one_by_one(tail)
    result, public = known(table), table.sizes.any()
    for row in range(len(table)):
        _of_one_group(table, row, noise, known_size(int(table.sizes[row])) if public else size_prior, tail, result)
    return joined(table, [result])


# --- the total public -------------------------------------------------------------------------------------------------


class _PublicTotal:
    """The groups under one tilt, with which they have the public total on average.

    The law of a group's size under the tilt is needed again and again, and is computed anew each time instead of being held.
    """

    def __init__(self, table: Table, noise: CellNoise, total: int) -> None:
        self.table, self.noise, self.total = table, noise, total
        self.rises = _rises(table)
        self.share_rises = RiseTable(table.shares, int(min(total, 2**20)))
        self.tilt = 0.0

    def summaries(self, tail: float) -> GroupSummaries:
        if not len(self.table):
            return known(self.table)
        wide = _check_wide(self.table, self.total)
        if wide and self._alone:
            return self._each_alone(tail)
        span = int(self.table.multiplicity.sum()) * self.total + 1  # no group has more records than all have
        frequencies = Frequencies.of(self._balanced(), self.total, self.noise.slope, span)
        parts = each_block(self.table, lambda block: self._spectra(block, frequencies))
        log_whole, centre = np.sum([part[0] for part in parts], axis=0), sum(part[1] for part in parts)
        offset, left = self.total - centre, sum(part[2] for part in parts)

        def summaries(block: Table) -> GroupSummaries:
            result = known(block)
            for batch in self._batches(block, _FOUND_DEPTH):
                others = frequencies.others(batch.law, log_whole, offset)
                weighted = batch.times(others, self._error(batch.law, others, frequencies, left))
                done = not wide and _all_at_once(self.table, weighted, tail, result)
                error = _bound(weighted, result)
                for i in np.flatnonzero((error > self.table.hard) | (not done)).tolist():
                    row = int(batch.rows[i])
                    if row in self._alone:
                        _write(block, row, self._alone[row](), tail, result)
                    elif not done:
                        _of_one_group(block, row, self.noise, self._prior(batch, i, others[i], float(weighted.omitted[i])), tail, result)
            return result

        return joined(self.table, each_block(self.table, summaries))

    def one_by_one(self, tail: float) -> GroupSummaries:
        """The summaries of groups that are all looked at by themselves; TooLargeError where they are too many."""
        check_groups(int(self.table.multiplicity.sum()), self.table.possible.shape[1], self.total, self.noise.kernel)
        if self.table.possible.any() and not self._alone:
            raise TooLargeError("the sizes of groups are spread over too many values for sums over all groups: some counts say too little")
        return self._each_alone(tail)

    def _each_alone(self, tail: float) -> GroupSummaries:
        """The summaries of groups that are all looked at by themselves."""
        result = known(self.table)
        for row, counts in self._alone.items():
            _write(self.table, row, counts(), tail, result)
        return joined(self.table, [result])

    def _error(self, law: Floats, others: Floats, frequencies: Frequencies, left: float) -> Floats:
        """Bound on how far off the law of each group's size is, because of what transforms and windows leave out."""
        completion = (law * others).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            more = np.nan_to_num(left * others.max(axis=1) / completion, nan=1.0, posinf=1.0)
        return np.asarray(relative_error(frequencies, completion) + more)

    @cached_property
    def _alone(self) -> dict[int, Callable[[], TreeCounts]]:
        """Return what gives the law of the counts of each row's group, from sums over all other groups that lose nothing.

        It is empty where there are too many groups for these sums, or for the time that each takes, or their sizes are too uncertain. Few
        groups are one block of rows.
        """
        table, rows = self.table, np.flatnonzero(self.table.possible.any(axis=1)).tolist()
        many = table.multiplicity[rows]
        if many.sum() > limits.GROUPS_CONVOLVED or not _are_few(table, self.total):
            return {}
        if many.sum() == 1:
            group, size = self._group(rows[0]), known_size(self.total)
            return {rows[0]: partial(counts_of_outcomes, np.array(group.a), [(self.noise, group.raw)], size)}
        groups = [group for row, times in zip(rows, many.tolist(), strict=True) for group in [self._group(row)] * times]
        try:
            tied = tied_sizes(groups, self.total, self.noise)
        except TooLargeError:
            return {}
        first = (np.cumsum(many) - many).tolist()
        return {row: partial(tied.posterior, at) for row, at in zip(rows, first, strict=True)}

    def _group(self, row: int) -> TiedGroup:
        held, cells = self.table.possible[row], self.table.cells
        return TiedGroup(tuple(cells.a[row, held].tolist()), tuple(cells.z[row, held].tolist()), float(self.table.shares[row]))

    def _prior(self, batch: WeightedTotals, row: int, others: Floats, error: float) -> SizePrior:
        """Return the law of the size of one group of a batch by the total and all other groups, by transforms."""
        held = np.flatnonzero((others > 0.0) & (batch.found.totals[row] <= self.total))
        if not held.size:
            raise TooLargeError(
                "the noisy counts are so far from the public total that sums over all groups are beyond what floats hold; "
                f"up to {limits.GROUPS_CONVOLVED:,} groups are computed one by one"
            )
        inside = slice(int(held[0]), int(held[-1]) + 1)
        u = batch.found.totals[row, inside]
        with np.errstate(divide="ignore"):
            logs = self.share_rises(batch.part.shares[row], u) + self.tilt * (u - u[0]) + np.log(others[inside])
        return tabled(int(u[0]), logs, error)

    def _balanced(self) -> Contributions:
        """Find the tilt, and what all groups add to the total under it."""

        def tilted(tilt: float) -> tuple[float, float, Contributions]:
            self.tilt = tilt
            parts = each_block(self.table, self._contributions)
            found = sum(parts[1:], parts[0])
            return found.mean, found.variance, found

        return balancing_tilt(tilted, self.total, close=_NEAR_TOTAL, longest=self.noise.slope)[1]

    def _batches(self, block: Table, depth: float) -> Iterator[WeightedTotals]:
        total, shares = block.prior_total, block.shares

        def log_weight(n: Counts, rows: NDArray[np.int64]) -> Floats:
            logs = self.share_rises(shares[rows][:, None], np.minimum(n, self.total)) - self.rises(total[rows][:, None], n) + self.tilt * n
            return np.where(n <= self.total, logs, -np.inf)

        def log_slope(n: Floats, rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
            first, second = _slopes(shares[rows], total[rows], n)
            return first + self.tilt, second

        yield from weighted_totals(block, matched_tilts(block.cells, log_slope, self.tilt), log_weight, depth, self.total)

    def _contributions(self, block: Table) -> Contributions:
        """Return the contribution of a block's groups to the total, from windows that are a little short."""
        each = [
            contributions(batch.law, batch.found.first, batch.part.multiplicity, self.noise.slope)
            for batch in self._batches(block, _SEARCH_DEPTH)
        ]
        return sum(each[1:], each[0])

    def _spectra(self, block: Table, frequencies: Frequencies) -> tuple[NDArray[np.complex128], int, float]:
        """The logarithm of the product of all groups' transforms; the sum of the middles of their windows; and what was left out."""
        log_product, centre, left = np.zeros(frequencies.count, dtype=np.complex128), 0, 0.0
        for batch in self._batches(block, _FOUND_DEPTH):
            many, law = batch.part.multiplicity, batch.law
            log_product += many @ frequencies.log_spectra(law)
            centre += int((many * (batch.found.first + law.shape[1] // 2)).sum())
            left += float(many @ batch.omitted)
        return log_product, centre, left
