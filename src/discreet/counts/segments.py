"""The law of true counts whose total is not known: products of laws of the counts, times a factor of the total (docs/proofs/inference.md).

The law of `(x_i, n)` is `g_i(x_i) W_i(n - x_i) h(n)`, W_i a convolution of the factors of all other counts. Convolutions are done under a
tilt, for a *segment* of totals that is not too far from the mean under that tilt; where the prior is weak or the noise narrow one segment
is enough.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np
from scipy.special import logsumexp

from discreet.arrays import Counts, Floats
from discreet.betas.rows import Block
from discreet.counts.batched.sums import completed_parts
from discreet.counts.runs import Run, Sum, added, completed, log_sum, sum_of, values_at
from discreet.counts.total_nodes import OUTER_TOTALS, check_blocks, nodes_of, on_nodes, row_slices, stretches, without_ends
from discreet.numerics.tails import kept

_TOGETHER = 8
"""Up to so many categories share the nodes of the total."""


@dataclass(frozen=True, eq=False)
class TotalSegment:
    """Consecutive totals, with the laws of all counts under a tilt that is good for them."""

    low: int
    log_factor: Floats
    """ln h(n) e^{-λn} Z(λ) for every total."""
    windows: list[Run]
    """The tilted law of each count."""
    floor: float

    @property
    def high(self) -> int:
        """The last total."""
        return self.low + len(self.log_factor) - 1

    @cached_property
    def sum(self) -> Sum:
        """The tilted law of the total."""
        return sum_of(self.windows, self.floor)

    @cached_property
    def others(self) -> list[tuple[Run, float]]:
        """Return for each category the tilted law of the total of the others, and what was dropped from it."""
        return list(self.sum.others(Run(0, np.ones(1)), self.floor))

    @property
    def fixed(self) -> bool:
        """Return whether there is one total alone."""
        return len(self.log_factor) == 1

    @cached_property
    def _transformed(self) -> list[Run] | None:
        return completed_parts(self.windows, self.low)

    @cached_property
    def completions(self) -> list[Floats]:
        """Return Σ_n h(n) P(all others add up to n - x) for each part and each of its counts x, with h relative to its largest value."""
        target = Run(self.low, np.exp(self.log_factor - self.log_factor.max()))
        if self.fixed:
            runs = self.sum.completions(target) if self._transformed is None else iter(self._transformed)
        else:
            runs = (completed(target, rest, window) for window, (rest, _) in zip(self.windows, self.others, strict=True))
        return [np.maximum(values_at(run, w.low, len(w.value)), 0.0) for run, w in zip(runs, self.windows, strict=True)]

    def log_weights(self) -> Floats:
        """The logarithms of the posterior weights of the totals."""
        with np.errstate(divide="ignore"):
            if self.fixed:
                return np.asarray(self.log_factor + np.log((self.windows[0].value * self.completions[0]).sum()))
            return np.asarray(self.log_factor + np.log(values_at(self.sum.run, self.low, len(self.log_factor))))

    def log_dropped(self) -> float:
        """Bound on the logarithm of the weight of what was dropped from the ends of sums."""
        if self.fixed and self._transformed is not None:
            return -np.inf  # transforms drop nothing
        dropped = self.sum.dropped_below if self.fixed else self.sum.dropped + max((more for _, more in self.others), default=0.0)
        return float(np.log(dropped) + self.log_factor.max()) if dropped > 0.0 else -np.inf

    def probes(self, category: int, centre: float, scale: float) -> Floats:
        """E[y | n], E[y² | n] and E[1/(1 + x) | n] for every total, y = (x - centre)/scale, x one count."""
        window, rest = self.windows[category], self.others[category][0]
        y = (window.x - centre) / scale
        factors = (y, y * y, 1.0 / (1.0 + window.x))
        sums = [values_at(added(Run(window.low, window.value * f), rest), self.low, len(self.log_factor)) for f in factors]
        whole = values_at(self.sum.run, self.low, len(self.log_factor))
        return np.array(sums) / np.where(whole > 0.0, whole, 1.0)

    def part(self, chosen: Sequence[int]) -> "TotalSegment":
        """Return some of the counts, with the factor of their total that the others and the totals of this segment leave."""
        others = [window for i, window in enumerate(self.windows) if i not in chosen]
        rest = sum_of(others, self.floor).run if others else Run(0, np.ones(1))
        mine = [self.windows[i] for i in chosen]
        return part_of(mine, rest, Run(self.low, self.log_factor), self.floor)

    def merged(self, sets: Sequence[Sequence[int]]) -> "TotalSegment":
        """Return the segment with the counts of each of these sets added up. Every count must be in one of them."""
        return TotalSegment(self.low, self.log_factor, [self._added(chosen) for chosen in sets], self.floor)

    def _added(self, chosen: Sequence[int]) -> Run:
        """The law of a sum of counts on all its values: segments under other tilts have the same ones."""
        own = [self.windows[i] for i in chosen]
        low, high = sum(window.low for window in own), sum(window.high for window in own)
        return Run(low, values_at(sum_of(own, self.floor).run, low, high - low + 1))

    def marginal(self, category: int) -> Floats:
        """The weights of all counts in the window, over the totals of the segment, up to a constant."""
        return self.windows[category].value * self.completions[category]


def part_of(windows: list[Run], rest: Run, log_factor: Run, floor: float) -> TotalSegment:
    """Counts with these laws, weighted by `log_factor` at what they and the rest, which has a law of its own, add up to."""
    low = max(sum(window.low for window in windows), log_factor.low - rest.high)
    high = min(sum(window.high for window in windows), log_factor.high - rest.low)
    top = float(log_factor.value.max())
    target = Run(log_factor.low, np.exp(log_factor.value - top))
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(completed(target, rest, Run(low, np.ones(max(high - low + 1, 1)))).value, 0.0))
    return TotalSegment(low, logs + top, windows, floor)


def joined(parts: list[TotalSegment]) -> list[TotalSegment]:
    """Segments of the same counts under several tilts, whose totals overlap, as segments of consecutive totals.

    The weight of a total is the sum of what all of them say. Each total has the tilt of the one that says most about it.
    """
    if len(parts) == 1:
        return parts
    low, high = min(part.low for part in parts), max(part.high for part in parts)
    factors, logs = np.full((2, len(parts), high - low + 1), -np.inf)
    for row, part in enumerate(parts):
        here = slice(part.low - low, part.high - low + 1)
        factors[row, here], logs[row, here] = part.log_factor, part.log_weights()
    held = np.flatnonzero(np.isfinite(logs).any(axis=0))
    first, best = int(held[0]), logs.argmax(axis=0)
    found = []
    for row, totals in groupby(range(first, int(held[-1]) + 1), key=best.__getitem__):
        at = list(totals)
        with np.errstate(invalid="ignore"):
            more = np.nan_to_num(logsumexp(logs[:, at], axis=0) - logs[row, at], nan=-np.inf)
        found.append(TotalSegment(low + at[0], factors[row, at] + more, parts[int(row)].windows, parts[int(row)].floor))
    return found


@dataclass(frozen=True, eq=False)
class LawOfAnyTotal:
    """The posterior law of the true counts and of their total."""

    segments: list[TotalSegment]
    """The totals in order, each with a tilt that is good for it."""
    centres: Counts
    """The noisy counts of each release, in rows: where they add up, laws of totals may bend."""
    log_outside: float
    """Bound on the logarithm of the weight of all other counts."""
    beyond: float = 0.0
    """Upper bound on the probability of what was left out before."""

    @cached_property
    def windows(self) -> list[tuple[int, int]]:
        """The first and the last count of each category."""
        return [(window.low, window.high) for window in self.segments[0].windows]

    @property
    def totals(self) -> tuple[int, int]:
        """The first and the last total."""
        return self.segments[0].low, self.segments[-1].high

    @property
    def total(self) -> int | None:
        """The total, if there is one alone."""
        return self.totals[0] if len(self.segments) == 1 and self.segments[0].fixed else None

    @cached_property
    def log_sizes(self) -> Floats:
        """The logarithms of the weights of all totals."""
        return np.concatenate([segment.log_weights() for segment in self.segments])

    @cached_property
    def sizes(self) -> Run:
        """The posterior law of the total."""
        return Run(self.totals[0], np.exp(self.log_sizes - log_sum(self.log_sizes)))

    @cached_property
    def shares(self) -> list[float]:
        """The posterior probability of each segment's totals."""
        low = self.totals[0]
        return [float(self.sizes.value[s.low - low : s.high - low + 1].sum()) for s in self.segments]

    @cached_property
    def omitted(self) -> float:
        """Upper bound on the probability that is left out."""
        left = log_sum(np.array([self.log_outside, *(segment.log_dropped() for segment in self.segments)]))
        return float(min(1.0, self.beyond + np.exp(min(left - log_sum(self.log_sizes), 0.0))))

    @cached_property
    def nodes(self) -> dict[int, tuple[Counts, Floats, float]]:
        """Totals that stand for all in sums, once they are known (`with_total`)."""
        return {}

    @cached_property
    def _marginals(self) -> dict[int, Run]:
        return {}

    def probes(self, category: int) -> Floats:
        """Three means of one count given each total: of its distance from its overall mean in standard deviations, of the square, and
        of 1/(1 + count), which changes where the others do not."""
        run = self.marginal(category)
        deviation = max(run.variance**0.5, 0.5)
        return np.concatenate([segment.probes(category, run.mean, deviation) for segment in self.segments], axis=1)

    def marginal(self, category: int) -> Run:
        """Probabilities of one category's count."""
        if category not in self._marginals:
            low, high = self.windows[category]
            value = np.zeros(high - low + 1)
            for segment, share in zip(self.segments, self.shares, strict=True):
                part = segment.marginal(category)
                if share > 0.0:
                    value += share * part / part.sum()
            self._marginals[category] = Run(low, value)
        return self._marginals[category]

    def with_total(self, category: int) -> tuple[list[Block], float]:
        """Blocks with the law of one count x and of nodes n of the total, and a bound on what they leave out."""
        n, share, dropped = self._total_nodes(category)
        low, high = self.windows[category]
        check_blocks(len(n) * (high - low + 1))
        first, last, left = kept(self.marginal(category).value, OUTER_TOTALS)
        blocks, more = without_ends(list(self._blocks(category, n, share, (low + first, low + last))))
        return blocks, min(1.0, self.omitted + dropped + left + more)

    def joint_weights(self, category: int, n: Counts, share: Floats, ends: tuple[int, int]) -> Block:
        """The law of one count between two ends given each of these totals, a row each, times its share."""
        blocks = list(self._blocks(category, n, share, ends))
        return Block(ends[0], np.concatenate([block.totals for block in blocks]), np.concatenate([block.weights for block in blocks]))

    def _blocks(self, category: int, n: Counts, share: Floats, ends: tuple[int, int]) -> Iterator[Block]:
        """Yield for nodes (rows) and the counts between two ends (columns) their weight: the node's share times the law of the count
        given n.
        """
        first, last = ends
        for segment in self.segments:
            held = (n >= segment.low) & (n <= segment.high)
            window, (rest, _) = segment.windows[category], segment.others[category]
            total = values_at(segment.sum.run, segment.low, len(segment.log_factor))[n[held] - segment.low]
            scale = np.where(total > 0.0, share[held], 0.0) / np.where(total > 0.0, total, 1.0)
            of_count = values_at(window, first, last - first + 1)
            for rows in row_slices(n[held]):
                block = Block(first, n[held][rows], of_count[None])
                weights = block.of_difference(values_at(rest, block.lowest, block.highest - block.lowest + 1)) * of_count
                weights *= scale[rows, None]
                yield Block(first, block.totals, weights)

    def _total_nodes(self, category: int) -> tuple[Counts, Floats, float]:
        """Totals and weights that stand for the law of the total in the sums of this category; and the probability left out."""
        together = len(self.windows) <= _TOGETHER
        known = self.nodes.get(0 if together else category)
        if known is not None:
            return known
        sizes = self.sizes
        first, last, dropped = kept(sizes.value, OUTER_TOTALS)
        weight = sizes.value[first : last + 1]
        categories = range(len(self.windows)) if together else [category]
        probes = np.concatenate([self.probes(i)[:, first : last + 1] for i in categories])
        parts = stretches(weight, probes, self._bends(sizes.low + first))
        found = sizes.low + first + nodes_of(parts), on_nodes(weight, parts), dropped
        self.nodes[0 if together else category] = found
        return found

    def _bends(self, first: int) -> Counts:
        """Return the sums of the noisy counts of all categories, or of all but one, from the first total on: laws may bend there."""
        rows = np.maximum(self.centres, 0)
        sums = [row.sum() - np.append(0, row if len(row) <= _TOGETHER else []) for row in rows]
        return np.asarray(np.concatenate(sums) - first).astype(np.int64)
