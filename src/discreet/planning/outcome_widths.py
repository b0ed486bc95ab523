"""Widths of the noise-aware intervals of many raw outcomes at once, for planning (docs/howto/planning.md).

`inference` reads one outcome as exactly as floats allow. A plan reads thousands, and a small error does no harm: over random
configurations mean widths were off by less than 0.4 %, and in nine of ten by less than 0.1 % (tests/planning/test_widths.py). So the law
of the true counts comes from `counts.batched`, an outcome a group, with places of several counts where the noise is wide; and its
mixtures of Betas are put together to few.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammainc

from discreet import limits
from discreet.arrays import Counts, Floats, Mask
from discreet.counts.batched.free_sizes import Rung, ladders
from discreet.counts.batched.sums import Rests, laws_of_sizes
from discreet.counts.batched.windows import GroupCells, RiseTable
from discreet.counts.factors import Kernel
from discreet.mechanisms.noise import CellNoise
from discreet.numerics.gamma import BELOW_ONE, log_rise_means, log_rising
from discreet.numerics.tails import even_windows
from discreet.numerics.transforms import HELD, convolved
from discreet.planning.mixture_widths import interval_widths

_PLACE_LENGTH, _LONG_PLACE_LENGTH, _MANY_PLACED = 0.1, 0.2, 100
"""The length of a place, in parts of how far the likelihood falls by a factor e; and for more than so many categories."""
_PLACES = 300
"""Places at least of all records; where n is private, of what it is guessed to be or of what the noise adds to it, whatever is more."""
_SHORT_PLACE = 0.1
"""The length of a place at most where n is private, in parts of what a category has of n: most counts must not be in the first place."""
_SPREADS = 6.5
"""The distance, in standard deviations of its noise, to which a private total is looked at; all of that is held for every category."""
_NARROWEST, _WEAK = 0.5, 4.0
"""The length of a place at most, in parts of the deviation of the count whose law is narrowest without any noise. Under priors whose
parameters are below the second number on average, all laws are as wide as the noise, or near 0."""
_WINDOW_DEPTH = 24.0
"""Windows hold all but e^-24 of a tilted law, nearly."""
_BEYOND_NOISE = 100.0
"""The distance beyond all noisy counts together at which there is no count, in logarithms of the likelihood."""
_FARTHEST_COUNT = 2**50
"""A count beyond all that a private n may have."""
_TABLED_PLACES = 1 << 16
"""Logarithms of the prior up to which all are looked up."""
_BLOCKS, _BLOCKS_EACH = 96, 44
"""Blocks of places that a mixture is made of; and where the total is private, those given each of several blocks of totals."""
_TOTALS, _TOTALS_ABOVE, _UNEVEN = ((2, 36), (4, 24), (12, 16), (40, 12), (1 << 62, 8)), 6, 0.3
"""Up to how many categories: into how many blocks totals are put together; and those under further tilts. With a prior parameter below the
last number, few categories make up the total."""
_NODES_EACH = 4
"""Totals that stand for all of a block of totals."""
_OUTER, _FAR_OUTER = 1e-6, 1e-9
"""Probability of the counts and of the totals that are left out at either end; and of counts where a tilt is not that of the totals."""
_LOWER_EDGES = np.array([1e-6, 0.001, 0.003, 0.006, 0.01, 0.014, 0.018, 0.022, 0.026, 0.03, 0.036, 0.045, 0.06, 0.1, 0.2, 0.35])
_BLOCK_EDGES = np.concatenate([_LOWER_EDGES, [0.5], 1.0 - _LOWER_EDGES[::-1]])
"""Probabilities at which blocks end: they are small where the ends of a 95 % interval are. What is beyond the outer two is left out."""


Components = tuple[Floats, Floats, Floats, Floats]
"""Mixtures of Betas on the last axis: weights, both parameters, and a variance that each Beta has besides its own."""


@dataclass(frozen=True, eq=False)
class OutcomeReader:
    """Someone who sees raw outcomes, and computes intervals from them; where n is private, its prior is flat."""

    a: Floats
    """The prior's concentrations."""
    n: int | None
    noise: CellNoise
    guess: int
    """About how many records there are."""

    @cached_property
    def whole(self) -> float:
        """The sum of the prior's concentrations."""
        return float(self.a.sum())

    @cached_property
    def length(self) -> float:
        """Return how many counts a place stands for, such that all records of a public n fill whole places."""
        share, wide, n = self.a / self.whole, 1.0 / self.noise.slope, float(self.guess)
        least, held = n, 1.0
        if self.n is None:
            spread = np.sqrt(2.0 * len(self.a)) * wide
            held = max(held, len(self.a) * _SPREADS * spread / limits.TRANSFORM_CELLS)
            least, n = max(n - 4.0 * spread, 1.0), min(max(n, spread), _PLACES * _SHORT_PLACE * max(n, spread) / len(self.a))
        deviation = np.sqrt(least * share * (1.0 - share) * ((self.whole + least) / (self.whole + 1.0)))
        narrowest = float(deviation.min()) if self.whole > _WEAK * len(self.a) else np.inf
        length = max(
            held, min((_PLACE_LENGTH if len(share) <= _MANY_PLACED else _LONG_PLACE_LENGTH) * wide, n / _PLACES, _NARROWEST * narrowest)
        )
        return length if self.n is None or length == 1.0 else self.n / round(self.n / length)

    @property
    def _last(self) -> int:
        """The place of the largest possible count."""
        return _FARTHEST_COUNT if self.n is None else round(self.n / self.length)

    def _cells(self, raw: Counts) -> GroupCells:
        """The factors of the counts that have noise of their own: on either side of its peak, the log likelihood is a straight line."""
        at = self.noise.log_factor(np.array([-2.0, 0.0, 2.0]))
        slope, meet = self.noise.slope, 0.5 * float(at[2] - at[0]) / self.noise.slope
        curvature = self.noise.curvature
        z: Floats = np.asarray((raw - meet) / self.length, dtype=np.float64)
        if not curvature:  # how far a noisy count is below 0 or above all records says nothing
            z = np.clip(z, 0.0, self._last)
        a = self.a[: raw.shape[1]]
        last = int(min(self._last, z.sum(axis=1).max() + _BEYOND_NOISE / (slope * self.length)))
        table = RiseTable(a, last if last * len(np.unique(a)) <= _TABLED_PLACES else 0, self.length)
        peak = float(at[1] - at[2]) - slope * (2.0 - abs(meet)) if self.length == 1.0 else 0.0
        kernel = Kernel(0.0, curvature * self.length**2) if curvature else Kernel(slope * self.length, 0.0, peak)
        return GroupCells(z, np.broadcast_to(a, z.shape), kernel, np.full(z.shape, last), table)

    def widths(self, raw: Counts, targets: Counts, mass: float) -> Floats:
        """The widths of the intervals of the target categories (a row of them for each outcome, and so many columns)."""
        if len(self.a) == 2 and targets.shape[1] == 2:  # both are as wide
            return np.repeat(self.widths(raw, targets[:, :1], mass), 2, axis=1)
        result, cells = np.empty(targets.shape), self._cells(raw)
        if self.n is not None and raw.shape[1] == len(self.a):
            for rows, law in laws_of_sizes(cells, np.full(len(raw), self._last), _WINDOW_DEPTH, targets):
                result[rows] = _widths(self._of_counts(law.weight, law.low, targets[rows]), mass)
            return result
        for rows, rungs in ladders(cells, self._log_weight, _WINDOW_DEPTH, self._last):
            result[rows] = self._of_rungs(rungs, targets[rows], mass)
        return result

    def _counts(self, places: Floats, a: Floats) -> tuple[Floats, Floats]:
        """The mean count of each place, and the variance of what the first one stands for; others stand for a law that is smooth."""
        below = 0.5 * (self.length - 1.0)
        mean = a * below / (a + 1.0)
        variance = np.maximum(a * below * (below - 1.0) / (a + 2.0) + mean - mean**2, 0.0)
        x = np.where(places <= 0.0, mean, self.length * places)
        return (x if self.n is None else np.minimum(x, self.n)), np.where(places <= 0.0, variance, 0.0)

    def _records(self, totals: Counts) -> Floats:
        """The mean number of records where n is private and places add up to these totals: counts in the first place are seldom 0.

        A count whose mean is m is about Gamma distributed, and within the first place with the probability of a Gamma variable.
        """
        places = totals.astype(np.float64)
        found = self.length * places
        for a, many in zip(*np.unique(self.a, return_counts=True), strict=True) if self.length > 1.0 else ():
            first = 0.5 * (self.length - 1.0) * a / (a + 1.0)
            found += many * first * gammainc(a, self.whole / (2.0 * np.maximum(places, 1e-9)))
        return found

    def _of_counts(self, weight: Floats, low: Counts, targets: Counts) -> Components:
        """The mixtures over counts of these targets, in places from `low` on, where n is public."""
        a, total = self.a[targets][..., None], self.whole + float(self.n or 0)
        x, variance = self._counts(low[..., None] + np.arange(float(weight.shape[-1])), a)
        return blocks(weight, (a + x) / total, np.full_like(a, total), variance / total**2, _BLOCKS)

    # --- a total with a weight of its own -------------------------------------------------------------------------------

    def _log_weight(self, totals: Counts) -> Floats:
        """ln n!/Γ(A + n) where n is private; else the prior weight of the count without noise, which is what a total leaves of n."""
        if self.n is None:
            return -log_rising(self.whole, self._records(totals), float(self.guess))
        return log_rise_means(self.a[-1], self._last - totals.astype(np.float64), self.length)

    @property
    def _blocks_of_totals(self) -> int:
        return next(many for most, many in _TOTALS if len(self.a) <= most or (most > 2 and self.a.min() < _UNEVEN))

    def _of_rungs(self, rungs: list[Rung], targets: Counts, mass: float) -> Floats:
        """The widths of the targets of the outcomes of a batch: mixtures over the totals of all their rungs."""
        best, parts, totals = rungs[0].log_weight.max(axis=1), [], self._blocks_of_totals
        for rung in rungs[1:]:
            best[rung.rows] = np.maximum(best[rung.rows], rung.log_weight.max(axis=1))
        read = self._of_any_total if self.n is None else self._of_unseen_count
        for number, rung in enumerate(rungs):
            found = read(rung, best[rung.rows, None], targets[rung.rows], totals if number == 0 else _TOTALS_ABOVE)
            filled = tuple(np.full((*targets.shape, found[0].shape[-1]), fill) for fill in (0.0, 1.0, 1.0, 0.0))
            for whole, part in zip(filled, found, strict=True):
                whole[rung.rows] = part
            parts.append(filled)
        first, a, b, spread = (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
        return _widths((first, a, b, spread), mass)

    def _of_unseen_count(self, rung: Rung, best: Floats, targets: Counts, _: int) -> Components:
        """The mixtures where the last count has no noise, and is what the others leave of n."""
        unseen, found, rests = len(self.a) - 1, rung.found, rung.found.rests
        law, low = np.exp(rung.log_weight - best)[:, None, ::-1], self._last - found.totals[:, -1:]
        last = self._of_counts(law, low, np.full_like(low, unseen))
        seen = np.minimum(targets, unseen - 1)
        at = np.arange(len(seen))[:, None], seen
        factor = np.exp(np.where(rung.log_weight > -np.inf, rung.log_factor - best, -np.inf))
        sums = convolved(rests.value[at][..., ::-1], factor[:, None, :], [2])
        places = (found.windows.low[at] + rests.first[at] - found.first[:, None])[..., None] + np.arange(found.windows.width)
        places += rests.value.shape[2] - 1
        inside = (places >= 0) & (places < sums.shape[2])
        weight = found.windows.value[at] * np.where(inside, np.take_along_axis(sums, np.where(inside, places, 0), axis=2), 0.0)
        counted = self._of_counts(weight, found.windows.low[at], seen)
        a, b, c, d = (np.where((targets == unseen)[..., None], *both) for both in zip(last, counted, strict=True))
        return a, b, c, d

    def _of_any_total(self, rung: Rung, best: Floats, targets: Counts, totals: int) -> Components:
        """The mixtures where n is private, over counts and totals. Consecutive totals are put together, and then consecutive counts."""
        group, outer = np.repeat(np.arange(len(targets)), targets.shape[1]), _OUTER if rung.alone else _FAR_OUTER
        planes, found = _Planes(rung, best, group, targets.ravel(), totals * _NODES_EACH, outer), np.empty((4, targets.size, 0))
        for mirrored in (False, True):
            for pair, low, n, weight in planes.of(np.flatnonzero(planes.large == mirrored), mirrored=mirrored):
                a = self.a[planes.target[pair]][:, None]
                edges = np.unique(np.linspace(0, n.shape[1], totals + 1)[:-1].astype(np.int64))
                part = self._of_plane(self.whole - a if mirrored else a, low, self._records(n), weight, edges)
                found = found if found.size else np.empty((4, targets.size, part[0].shape[1]))
                found[:, pair] = [part[i] for i in ((0, 2, 1, 3) if mirrored else range(4))]
        weight, first, second, spread = found.reshape(4, *targets.shape, -1)
        return weight, first, second, spread

    def _of_plane(self, a: Floats, low: Counts, n: Floats, weight: Floats, edges: Counts) -> Components:
        """The mixtures over places from `low` on and totals n; blocks of totals begin at these edges."""
        x, variance = self._counts(low[:, None] + np.arange(float(weight.shape[1])), a)
        middle = self.whole + n[:, edges]
        # A share is (a + x)/(A + n), looked at relative to that of a total of the same block so that no digits are lost.
        off = np.repeat(middle, np.diff(edges, append=n.shape[1]), axis=1) / (self.whole + n) - 1.0
        share, once, twice = (np.swapaxes(np.add.reduceat(weight * off[:, None, :] ** power, edges, axis=2), 1, 2) for power in range(3))
        with np.errstate(divide="ignore", invalid="ignore"):
            once, twice = (np.where(share > 0.0, each / share, 0.0) for each in (once, twice))
        first = (a + x)[:, None, :] / middle[..., None]
        mean = np.minimum(first * (1.0 + once), BELOW_ONE)
        spread = first**2 * np.maximum(twice - once**2, 0.0) + variance[:, None, :] / middle[..., None] ** 2
        held = np.maximum(share.sum(axis=2, keepdims=True), 1e-300)
        total = middle[..., None] / (1.0 + (share * once).sum(axis=2, keepdims=True) / held)
        found = blocks(share, mean, total, spread, _BLOCKS_EACH)
        weight, first, second, spread = (part.reshape(len(part), -1) for part in found)
        return weight, first, second, spread


@dataclass(frozen=True, eq=False)
class _Planes:
    """The joint laws of a count and the total for some targets of some outcomes, on totals that stand for all."""

    rung: Rung
    best: Floats
    group: Counts
    target: Counts
    most: int
    """Totals at most that stand for all."""
    outer: float
    """The probability left out at either end of the tilted law of a count, which is not its posterior law where there are several rungs."""

    @cached_property
    def totals(self) -> tuple[Counts, Floats]:
        """The totals by outcome, with evenly spaced roots: near 0 each makes a difference. And the weight of those that each stands for.

        The weight is divided by the total's own tilted probability.
        """
        found, weight = self.rung.found, np.exp(self.rung.log_weight - self.best)
        start, width = even_windows(weight, _OUTER)
        places = np.arange(float(weight.shape[1]))
        at = start[:, None] + np.arange(width)
        if width > self.most:
            low, high = (np.sqrt(found.first + start + more)[:, None] for more in (0, width - 1))
            at = np.rint((low + (high - low) * np.linspace(0.0, 1.0, self.most)) ** 2).astype(np.int64) - found.first[:, None]
        # Totals between two of them are shared out as straight lines between what there is at both are.
        sums = [np.cumsum(np.pad(each, ((0, 0), (1, 0))), axis=1) for each in (weight, weight * places)]
        between, moment = (np.diff(np.take_along_axis(each, at, axis=1), axis=1) for each in sums)
        onward = np.clip((moment - between * at[:, :-1]) / np.maximum(np.diff(at, axis=1), 1), 0.0, between)
        share = np.pad(between - onward, ((0, 0), (0, 1))) + np.pad(onward, ((0, 0), (1, 0)))
        share[:, -1] += np.take_along_axis(weight, at[:, -1:], axis=1)[:, 0]
        law = np.take_along_axis(found.law, at, axis=1)
        return at + found.first[:, None], np.where(law > 0.0, share / np.where(law > 0.0, law, 1.0), 0.0)

    def of(self, chosen: Counts, *, mirrored: bool) -> Iterator[tuple[Counts, Counts, Counts, Floats]]:
        """Some targets, so few at a time that arrays stay small: which, the first place, totals, and weights by target, place and total.

        Places are those of the target's count or, mirrored, of the sum of all others.
        """
        laws, rests, (totals, factor) = self.rung.found.windows, self._rests, self.totals
        (own, low), (other, rest) = ((laws.value, laws.low), (rests.value, rests.first))[:: -1 if mirrored else 1]
        first, counts = even_windows(own[self.group[chosen], self.target[chosen]], self.outer)
        along, length, size = np.arange(counts), other.shape[2], max(1, HELD // (counts * totals.shape[1]))
        for start in range(0, len(chosen), size):
            pair = chosen[start : start + size]
            g, c, x = self.group[pair], self.target[pair], first[start : start + size, None] + along
            lowest = low[g, c] + x[:, 0]
            at = (totals[g] - (lowest + rest[g, c])[:, None])[:, None, :] - along[:, None]
            weight = np.take_along_axis(other[g, c], np.clip(at, 0, length - 1).reshape(len(g), -1), axis=1).reshape(at.shape)
            weight[(at < 0) | (at >= length)] = 0.0
            weight *= np.take_along_axis(own[g, c], x, axis=1)[..., None]
            weight *= factor[g][:, None, :]
            yield pair, lowest, totals[g], weight

    @cached_property
    def _rests(self) -> Rests:
        return self.rung.found.rests

    @property
    def large(self) -> Mask:
        """Return which targets have more than half of the records, or nearly."""
        mean = self.rung.found.windows.moments[0]
        return np.asarray(mean[self.group, self.target] > 0.5 * mean.sum(axis=1)[self.group])


def blocks(weight: Floats, mean: Floats, total: Floats, spread: Floats, most: int) -> Components:
    """Mixtures of as many Betas at most, each of which stands for consecutive ones: with their mean, and wider by their variance.

    Means ascend, all Betas of a mixture have one sum of parameters, and `spread` is a variance that each has besides its own.
    """
    whole = weight.sum(axis=-1, keepdims=True)
    weight = weight / np.maximum(whole, 1e-300)
    centre = (weight * mean).sum(axis=-1, keepdims=True)
    away = mean - centre
    sums = [np.cumsum(np.concatenate([np.zeros((*weight.shape[:-1], 1)), part], axis=-1), axis=-1)
            for part in (weight, weight * away, weight * away**2, weight * spread)]  # fmt: skip
    # Where running sums reach each level: one search in all of them, each mixture's a little above those of the one before.
    shape, rows = sums[0].shape, 2.0 * np.arange(sums[0][..., 0].size)[:, None]
    found = np.searchsorted((sums[0].reshape(-1, shape[-1]) + rows).ravel(), rows + _BLOCK_EDGES)
    by_level = (found - shape[-1] * np.arange(len(found))[:, None]).reshape(*shape[:-1], -1)
    first, last = np.maximum(by_level[..., :1] - 1, 0), np.minimum(by_level[..., -1:], shape[-1] - 1)
    # Edges that are spaced evenly, and others by probability: narrow blocks near the ends of an interval, and none across a likely 0.
    even = np.rint(first + (last - first) * np.linspace(0.0, 1.0, most - len(_BLOCK_EDGES) + 3)).astype(np.int64)
    edges = np.sort(np.concatenate([even, np.clip(by_level[..., 1:-1], first, last)], axis=-1), axis=-1)
    share, moment, square, own = (np.diff(np.take_along_axis(part, edges, axis=-1), axis=-1) for part in sums)
    held = np.maximum(share, 1e-300)
    off = np.where(share > 0.0, moment / held, 0.0)
    variance = np.where(share > 0.0, np.maximum(square / held - off**2, 0.0), 0.0)
    mean = np.clip(centre + off, mean[..., :1], mean[..., -1:])
    spread = np.maximum(own, 0.0) / held + variance
    return np.maximum(share, 0.0) * whole, mean * total, (1.0 - mean) * total, spread


def _widths(parts: Components, mass: float) -> Floats:
    """`interval_widths` of mixtures on the last axis."""
    shape = parts[0].shape
    weight, a, b, spread = (np.broadcast_to(part, shape).reshape(-1, shape[-1]) for part in parts)
    return interval_widths(weight, a, b, mass, spread).reshape(shape[:-1])
