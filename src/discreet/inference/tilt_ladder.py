"""Where the posterior of counts with a private total has its mass: windows for the counts and for the total (docs/proofs/inference.md).

The weight of counts x is `h(n) Π_i g_i(x_i)`, n = Σx, with h(n) = p(n) n!/Γ(A + n). For any tilt λ, any totals B and any event E,

    Σ_{n in B, x in E} h(n) Π g_i(x_i)  <=  max_{n in B} h(n) e^{-λn} · Z(λ) · P_λ(E),    Z(λ) = Π_i Σ_x g_i(x) e^{λx} ,

P_λ making the counts independent with weights g_i(x) e^{λx}. One tilt is good for totals near its own mean. So there is a *ladder* of
them: every total uses the tilt that bounds it best, which is the tangent of ln Z that is lowest there. Tangents are added between two
neighbours where they leave a gap that matters. What the bounds say is negligible is left out, and its mass is at most their sum.

Sums over x are bounded on nodes that are close together where a factor bends, with ln g taken as straight between them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.errors import InvalidInputError, TooLargeError
from discreet.model.size_priors import SizePrior
from discreet.numerics.gamma import log_rising
from discreet.numerics.tails import between

TAIL = 1e-22
"""Posterior probability, nearly, that is left out at each end of a window."""
_GAP = 4.0
"""By how much, in logarithms, the lowest of two tangents may be above what lies between."""
_CLIMBS = 60
_LAST_TOTAL = 2**60
_FINENESS = 8
"""A step between nodes is at most this part of the distance to 0 and to the noisy count: windows are that much wider than they need be."""
_COARSEST = 512
_SAG = 9.0
"""Nodes are a third of a standard deviation apart: a bound is too high by at most a 72nd, in logarithms, for each category."""
_WORSE = 60.0
"""By how much, in logarithms, the bound of another tilt may be above that of a rung's own and still be looked at."""
_CLOSEST_RUNGS = 1e-6
"""How close a tilt comes to the slope of the noise, relative to it."""


@dataclass(frozen=True, eq=False)
class LadderFactors:
    """The factors g_i(x) = Γ(a_i + x)/x! · Π_r P_r(z_ri | x), up to constants, over the outcomes z_r about the same counts.

    ln P_r falls with one slope on either side of z_ri.
    """

    a: Floats
    centres: Counts
    """The noisy counts, a row for each outcome, none below -1: how far below 0 they are says nothing."""
    slopes: Floats
    """One for each outcome."""
    log_factors: "Sequence[Callable[[Floats], Floats]]"
    """ln P of each outcome, as a function of the noisy count less the true one."""

    @property
    def slope(self) -> float:
        """How fast ln P of all outcomes together falls beyond all noisy counts."""
        return float(self.slopes.sum())

    @property
    def references(self) -> Floats:
        """Counts that logarithms are taken relative to."""
        return np.asarray(np.maximum(self.centres.max(axis=0), 1), dtype=np.float64)

    def log_weight(self, i: int, x: Floats) -> Floats:
        """ln g_i(x)."""
        logs = [log_factor(float(z) - x) for z, log_factor in zip(self.centres[:, i], self.log_factors, strict=True)]
        return np.asarray(log_rising(float(self.a[i]), x, float(self.references[i])) + sum(logs[1:], logs[0]))

    def log_bound(self) -> Floats:
        """For each category, ln of a constant that is above P of all outcomes together times e^{slope x}, whatever the count x."""
        highest = sum(float(log_factor(np.zeros(1))[0]) for log_factor in self.log_factors)
        return np.asarray(self.slopes @ (self.centres + 1.0) + highest)


@dataclass(frozen=True, eq=False)
class _Tangent:
    """A bound ln Σ_x Π g_i(x_i) e^{λ (n - reference)} over all counts, and about where their total is under this tilt."""

    rate: float
    height: float
    mean: float
    spread: float
    log_masses: Floats
    """For every node, the share of its category's sum in the counts from it to before the next one, as a logarithm."""


class _Nodes:
    """The nodes of all categories, one after the other, with the logarithms of the factors there."""

    def __init__(self, factors: LadderFactors) -> None:
        places = [_places(float(a), z, factors.slope) for a, z in zip(factors.a, factors.centres.T, strict=True)]
        sizes = np.array([len(x) for x in places])
        self.factors = factors
        self.x = np.concatenate(places)
        self.first = np.cumsum(sizes) - sizes
        self.last = np.cumsum(sizes) - 1
        self.owner = np.repeat(np.arange(len(sizes)), sizes)
        self.base = np.concatenate([factors.log_weight(i, x) for i, x in enumerate(places)])
        self.shift = self.x - factors.references[self.owner]
        self.width = np.append(np.diff(self.x), 1.0)
        self.width[self.last] = 1.0
        a, x = factors.a[self.owner], self.x
        # ln g bends by (a - 1)/((a + x)(1 + x)) at most from this node on; where it is convex a line through two nodes is above it
        self.sag = np.maximum(a - 1.0, 0.0) * self.width**2 / (8.0 * (a + x) * (1.0 + x))

    def tangent(self, rate: float) -> _Tangent:
        """The bound at this tilt, which must be below the slope of the noise."""
        height = self.base + rate * self.shift
        rise = np.append(np.diff(height), 0.0)
        rise[self.last] = 0.0
        steep = np.abs(rise)
        with np.errstate(invalid="ignore"):
            reach = np.where(steep > 1e-8, np.expm1(-steep) / np.expm1(-steep / self.width), self.width)  # Σ_{j < w} e^{-steep j/w}
        log_sum = height + np.maximum(rise, 0.0) * (1.0 - 1.0 / self.width) + np.log(reach) + self.sag
        centre = self.x + np.where(rise > 0.0, self.width - 0.5 * (reach + 1.0), 0.5 * (reach - 1.0))
        log_sum[self.last], beyond = self._beyond(rate, height[self.last])
        centre[self.last] = self.x[self.last] + beyond
        top = np.maximum.reduceat(log_sum, self.first)
        mass = np.exp(log_sum - top[self.owner])
        total = np.add.reduceat(mass, self.first)
        mean = np.add.reduceat(mass * centre, self.first) / total
        square = np.add.reduceat(mass * (centre - mean[self.owner]) ** 2, self.first) / total
        logs = top + np.log(total)
        return _Tangent(rate, float(logs.sum()), float(mean.sum()), float(np.sqrt(square.sum())), log_sum - logs[self.owner])

    def log_tails(self, log_masses: Floats) -> tuple[Floats, Floats]:
        """For every node, the logarithms of its category's mass before it and from it on."""
        mass = np.exp(log_masses)
        below, above = np.zeros_like(mass), np.zeros_like(mass)
        for first, last in zip(self.first.tolist(), self.last.tolist(), strict=True):
            np.cumsum(mass[first:last], out=below[first + 1 : last + 1])
            np.cumsum(mass[first : last + 1][::-1], out=above[first : last + 1][::-1])
        with np.errstate(divide="ignore"):
            return np.log(below), np.log(above)

    def _beyond(self, rate: float, height: Floats) -> tuple[Floats, Floats]:
        """The logarithm of each category's sum from its last node on, and how far beyond that its mean is.

        Terms fall at least as fast as a geometric series there, or else the whole sum without |z - x| >= x - z is a bound.
        """
        a, x, slope = self.factors.a, self.x[self.last], self.factors.slope
        fall = slope - rate - np.maximum(np.log((a + x) / (1.0 + x)), 0.0)
        falls = fall > 0.0
        step = -np.log(-np.expm1(-np.where(falls, fall, 1.0)))
        reference = self.factors.references
        whole = gammaln(a) - gammaln(a + reference) + gammaln(1.0 + reference) - a * np.log(-np.expm1(rate - slope)) - rate * reference
        whole += self.factors.log_bound()
        series = np.where(falls, height + step, np.inf)
        return np.minimum(series, whole), np.where(falls, 1.0 / np.where(falls, fall, 1.0), np.maximum(a / (slope - rate) - x, 1.0))


def _places(a: float, centres: Counts, slope: float) -> Floats:
    """Nodes from 0 to where the noise has become negligible, closer together where the factor bends, near 0 and near noisy counts."""
    kinks: list[int] = np.unique(centres).tolist()
    near = max(kinks[-1], 0) + 100.0 / slope
    last = min(near + 4.0 * a / slope, float(limits.RAW_OUTCOME))
    bend = _SAG * abs(a - 1.0)
    x, found = 0.0, [0.0]
    while x < last:
        straight = ((a + x) * (1.0 + x) / bend) ** 0.5 if bend > 0.0 else last
        apart = min(abs(x - z) for z in kinks)
        step = max(1.0, float(int(min(max(straight, x / (_COARSEST if x < near else _FINENESS)), x / _FINENESS, apart / _FINENESS))))
        x = min([float(z) for z in kinks if x < z] + [x + step])
        found.append(x)
    return np.array(found)


@dataclass(frozen=True, eq=False)
class Ladder:
    """Tangents from the lowest tilt to the highest, and the totals between which each is the lowest: edges[j] to edges[j + 1]."""

    tangents: Sequence[_Tangent]
    reference: float
    first: int
    """The first total that has a weight."""
    last: int | None
    """The last total that has a weight, if there is one."""

    @property
    def rates(self) -> Floats:
        """The tilts."""
        return np.array([t.rate for t in self.tangents])

    @property
    def heights(self) -> Floats:
        """The logarithms of Z."""
        return np.array([t.height for t in self.tangents])

    @property
    def edges(self) -> Floats:
        """The totals where neighbouring tangents cross, with the first total before and the last behind them, which some may be beyond."""
        crossing = np.diff(self.heights) / np.diff(self.rates) + self.reference
        end = float(_LAST_TOTAL if self.last is None else self.last)
        return np.concatenate([[self.first], np.maximum.accumulate(crossing), [end]])

    def whole(self) -> tuple[Floats, Floats]:
        """The first and the last whole total of each rung; the first is beyond the last where there is none."""
        edges = self.edges
        return np.ceil(np.maximum(edges[:-1], edges[0])), np.floor(np.minimum(edges[1:], edges[-1]))

    def gaps(self) -> Floats:
        """By how much the two tangents are above what they leave possible where they cross."""
        rate, height, mean = self.rates, self.heights, np.array([t.mean for t in self.tangents]) - self.reference
        crossing = np.diff(height) / np.diff(rate)
        meet = self.meeting_rates()
        lowest = height[:-1] + mean[:-1] * (meet - rate[:-1])
        return np.asarray(height[:-1] - rate[:-1] * crossing - (lowest - meet * crossing))

    def meeting_rates(self) -> Floats:
        """The tilts between two neighbours at which lines with their means as slopes meet: where the next tangent helps most."""
        rate, height, mean = self.rates, self.heights, np.array([t.mean for t in self.tangents]) - self.reference
        with np.errstate(divide="ignore", invalid="ignore"):
            meet = (np.diff(height) - (mean * rate)[1:] + (mean * rate)[:-1]) / (mean[:-1] - mean[1:])
        low, high = rate[:-1], rate[1:]
        inside = np.isfinite(meet) & (meet > low + 0.05 * (high - low)) & (meet < high - 0.05 * (high - low))
        return np.where(inside, meet, 0.5 * (low + high))

    def lowest(self, n: Floats) -> tuple[Counts, Floats]:
        """For each total the tangent that bounds it best, and the bound."""
        j = np.clip(np.searchsorted(self.edges[1:-1], n, side="right"), 0, len(self.tangents) - 1)
        return j, self.heights[j] - self.rates[j] * (n - self.reference)


LogTotal = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class TotalsInReach:
    """The totals and counts that the posterior is computed for, and a bound on the weight of all others."""

    ladder: Ladder
    totals: tuple[int, int]
    """The first and the last total."""
    log_total: Floats
    """ln h of every one of them."""
    windows: list[tuple[int, int]]
    """The first and the last count of each category."""
    log_outside: float
    """Bound on the logarithm of the weight left out."""


def reach_of(factors: LadderFactors, prior: SizePrior, tail: float = TAIL) -> TotalsInReach:
    """What the posterior is computed for, leaving out about `tail` at each end; TooLargeError if that is more than the limits allow."""
    nodes = _Nodes(factors)
    reference, total_a = float(factors.references.sum()), float(factors.a.sum())

    def log_total(n: Floats) -> Floats:
        return prior(n) - log_rising(total_a, n, reference)

    ladder, bounds, best = _climbed(nodes, prior, log_total, reference, tail)
    kept = bounds > best + np.log(tail)
    low, high = (int(end) for end in (ladder.whole()[0][kept].min(), ladder.whole()[1][kept].max()))
    _check_cells(high - low + 1, 4 * limits.WINDOW_CELLS)
    n = np.arange(low, high + 1, dtype=np.float64)
    logs = log_total(n)
    j, bound = ladder.lowest(n)
    value = logs + bound
    inside = np.nonzero(value > best + np.log(tail))[0]
    first, last = int(inside[0]), int(inside[-1])
    _check_cells(last - first + 1, limits.WINDOW_CELLS)
    outside = [bounds[~kept], value[:first], value[last + 1 :]]
    weighted = logs > -np.inf
    rungs = [(n[here], logs[here]) for at in np.unique(j[first : last + 1]) if (here := (j == at) & weighted).any()]
    windows, left = _windows(nodes, ladder, rungs, best, low + last, tail)
    log_outside = float(logsumexp(np.concatenate([*outside, [left]])))
    return TotalsInReach(ladder, (low + first, low + last), logs[first : last + 1], windows, log_outside)


def _check_cells(cells: int, limit: int) -> None:
    if cells > limit:
        raise TooLargeError(
            f"the noise spreads the true number of records over {cells:,} values; the noise-aware posterior holds at most "
            f"{limits.WINDOW_CELLS:,}. Less noise (a larger epsilon) or a size_prior that says more needs fewer"
        )


def _climbed(nodes: _Nodes, prior: SizePrior, log_total: LogTotal, reference: float, tail: float) -> tuple[Ladder, Floats, float]:
    """A ladder without gaps that matter, a bound on the log weight of the totals of each rung, and nearly the largest log weight."""
    slope = nodes.factors.slope
    bottom = -(slope + 60.0 + float(np.log(max(1.0, nodes.factors.a.max()))))
    tangents = [nodes.tangent(rate) for rate in (bottom, -2.0 * slope, -slope, -0.5 * slope, 0.0, 0.5 * slope, 0.9 * slope)]
    for _ in range(_CLIMBS):
        ladder = Ladder(tangents, reference, prior.first, prior.last)
        bounds, best = _rungs(ladder, prior, log_total)
        matters = bounds > max(best, float(bounds.max()) - 700.0) + np.log(tail)
        pairs = (ladder.gaps() > _GAP) & (matters[:-1] | matters[1:])
        rates = ladder.meeting_rates()[pairs].tolist()
        short = prior.last is None or tangents[-1].mean < prior.last
        if short and matters[-1] and tangents[-1].rate < slope * (1.0 - _CLOSEST_RUNGS):
            rates.append(slope - 0.25 * (slope - tangents[-1].rate))
        if not rates:
            break
        tangents = sorted([*tangents, *map(nodes.tangent, rates)], key=lambda t: t.rate)
    if not np.isfinite(best) or (prior.last is None and matters[-1]):
        if prior.last is None and prior.table is None:  # one of our own, under which there always is a posterior
            raise TooLargeError("the posterior of the number of records is beyond what floats hold for this prior and epsilon")
        raise InvalidInputError("there is no posterior of the number of records under this size_prior: its weights grow too fast, or are 0")
    return ladder, bounds, best


_RUNG_PARTS = np.concatenate([[0.0], 2.0 ** -np.arange(60.0, 4.0, -2.0), np.arange(1.0, 16.0) / 16.0])
_RUNG_SAMPLES = np.unique(np.concatenate([_RUNG_PARTS, 1.0 - _RUNG_PARTS]))
"""Where, between the ends of a rung, ln h is looked at: it is nearly always largest at or near an end."""


def _rungs(ladder: Ladder, prior: SizePrior, log_total: LogTotal) -> tuple[Floats, float]:
    """For each rung, max ln h(n) - λ(n - reference) + ln Z over its totals, on samples of them; and nearly the largest log weight.

    That is less than the bound by the gap of the tangents around it and by the number of totals that one tilt spreads over.
    """
    low, high = ladder.whole()
    some = (low <= high)[:, None]
    high = np.maximum(high, ladder.first)
    low = np.minimum(low, high)
    means, spread = np.array([(t.mean, t.spread) for t in ladder.tangents]).T
    spikes = [float(prior.highest(int(first), int(last))) for first, last in zip(low, high, strict=True)]
    n = np.concatenate([low[:, None] + _RUNG_SAMPLES * (high - low)[:, None], np.array(spikes)[:, None], means[:, None]], axis=1)
    n = np.clip(np.rint(n), low[:, None], high[:, None])
    value = log_total(n.ravel()).reshape(n.shape) - ladder.rates[:, None] * (n - ladder.reference) + ladder.heights[:, None]
    gap = np.concatenate([[np.inf], np.maximum(ladder.gaps(), 0.0), [np.inf]])
    value = np.where(some, value, -np.inf)
    around = np.where(np.abs(n - means[:, None]) <= 0.5 + 0.5 * spread[:, None], 0.5, gap[np.searchsorted(means, n)])
    return value.max(axis=1), float((value - around - np.log(1.0 + 2.5 * spread[:, None])).max())


def _windows(
    nodes: _Nodes, ladder: Ladder, rungs: "list[tuple[Floats, Floats]]", best: float, last: int, tail: float
) -> tuple[list[tuple[int, int]], float]:
    """The windows outside which the rungs leave next to nothing, and the logarithm of what they leave.

    Counts far above their noisy one need a total that is not, or other counts far below theirs: a lower tilt than that of the rung bounds
    their weight better. So every rung uses, for every node, the best of the tilts around its own.
    """
    below, above = (np.array(side) for side in zip(*(nodes.log_tails(t.log_masses) for t in ladder.tangents), strict=True))
    left_below, left_above = np.zeros_like(nodes.x), np.zeros_like(nodes.x)
    for n, logs in rungs:
        peaks = np.array([(logs - t.rate * (n - ladder.reference)).max() + t.height for t in ladder.tangents]) - best
        near = peaks < peaks.min() + _WORSE
        left_below += np.exp(np.minimum((below[near] + peaks[near, None]).min(axis=0), 600.0))
        left_above += np.exp(np.minimum((above[near] + peaks[near, None]).min(axis=0), 600.0))
    windows, left = [], 0.0
    for first, end in zip(nodes.first, nodes.last + 1, strict=True):
        before, onward = left_below[first:end], np.append(left_above[first:end], 0.0)
        low, high = (int(place) for place in between(np.append(before[1:], np.inf), onward[:-1], tail))
        left += float(before[low] + onward[high + 1])
        top = float(nodes.x[first + high + 1]) - 1.0 if first + high + 1 < end else float(last)
        windows.append((int(nodes.x[first + low]), int(min(top, last))))
    return windows, best + float(np.log(left)) if left > 0.0 else -np.inf
