"""The places where the posterior of the parts of a count has its mass: windows for the parts and for their total
(docs/proofs/inference.md).

The weight of counts x is `h(n) Π_i g_i(x_i)`, n = Σx, with h(n) = p(n) n!/Γ(A + n) and p the weight of the root. For any tilt λ, any
totals B and any event E,

    Σ_{n in B, x in E} h(n) Π g_i(x_i)  <=  max_{n in B} h(n) e^{-λn} · Z(λ) · P_λ(E),    Z(λ) = Π_i Σ_x g_i(x) e^{λx} ,

P_λ making the counts independent with weights g_i(x) e^{λx}. One tilt is good for totals near its own mean. So there is a *ladder* of
them: every total uses the tilt that bounds it best, which is the tangent of ln Z that is lowest there. Tangents are added between two
neighbours where they leave a gap that matters. What the bounds say is negligible is left out, and its mass is at most their sum. One
total needs one rung: the tilt under which it is the mean.

Sums over x are bounded on nodes that are close together where a factor bends, with ln g taken as straight between them and what a
concave function can be above that added.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from scipy.special import gammaln

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.counts.factors import Count
from discreet.counts.runs import log_sum
from discreet.errors import InvalidInputError, TooLargeError
from discreet.model.dirichlet import Dirichlet
from discreet.model.size_priors import SizePrior
from discreet.numerics.gamma import log_rising
from discreet.numerics.roots import balancing_tilt
from discreet.numerics.sum_rules import spreading_steps
from discreet.numerics.tails import between

TAIL = 1e-22
"""Posterior probability, nearly, that is left out at each end of a window."""
_GAP = 4.0
"""The most, in logarithms, that the lowest of two tangents may be above the bound that lies between."""
_CLIMBS = 60
_LAST_TOTAL = 2**60
_FINENESS = 8
"""A step between nodes is at most this part of the distance to 0 and to the noisy count: windows are that much wider than they need be."""
_COARSEST = 512
"""The part of the count below which steps need not go where a factor bends."""
_SAG = 9.0
"""Nodes are a third of a standard deviation apart: a bound is too high by at most a 72nd, in logarithms, for each category."""
_WORSE = 60.0
"""Bounds of other tilts are looked at if they are at most this much, in logarithms, above that of a rung's own."""
_FALLEN = 100.0
"""Nodes end where a log likelihood has fallen by this much."""
_DOUBLED = 2.0 ** np.arange(60.0)
_STEPS = spreading_steps(2.0**60, _FINENESS, 1.0 + 1.0 / _FINENESS)
"""Distances of nodes from 0, from bends and from the end."""
_CLOSEST_RUNGS = 1e-6
"""The least distance of a tilt from the slope of the noise, relative to it."""


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a split that are split no further: factors g_i(x) = Γ(a_i + x)/x! · Π P(z | x), up to constants."""

    a: Floats
    counts: Sequence[Count]
    references: Floats
    """Counts that logarithms are taken relative to; they change constants and rounding errors alone."""

    def log_weight(self, i: int, x: Floats) -> Floats:
        """ln g_i(x), with Γ(a_i + x)/x! relative to that of the reference."""
        return log_rising(float(self.a[i]), x, float(self.references[i])) + self.counts[i].log_likelihood(x)

    @property
    def reference(self) -> float:
        """The total that logarithms are taken relative to."""
        return float(self.references.sum())

    def log_constant(self) -> float:
        """Return the constant that the logarithms of the weights lack: the Dirichlet-multinomial weight of the references.

        Raises TooLargeError where the references add up to more than is counted.
        """
        if self.reference > limits.COUNT:
            raise TooLargeError("the counts that the outcome suggests add up to more than 2**53, where no evidence is computed")
        if len(self.a) == 1:
            return 0.0
        return float(Dirichlet(self.a.tolist()).predictive(int(self.reference)).logpmf(self.references))

    def log_rises(self, x: Floats) -> Floats:
        """Return for one count of each part, ln Γ(a_i + x)/x! relative to that of its reference."""
        each = zip(self.a.tolist(), x.tolist(), self.references.tolist(), strict=True)
        return np.array([float(log_rising(a, np.array([at]), reference)[0]) for a, at, reference in each])


@dataclass(frozen=True, eq=False)
class Tangent:
    """A bound ln Σ_x Π g_i(x_i) e^{λ (n - reference)} over all counts, and about where their total is under this tilt."""

    rate: float
    height: float
    means: Floats
    """The mean of each count."""
    spread: float
    log_masses: Floats
    """The share, for every node, of its category's sum in the counts from it to before the next one, as a logarithm."""

    @cached_property
    def mean(self) -> float:
        """The mean of the total."""
        return float(self.means.sum())


class _Nodes:
    """The nodes of all parts, one after the other, with the logarithms of the factors there."""

    def __init__(self, parts: Parts, root: SizePrior) -> None:
        ends = [_end(float(a), count, root) for a, count in zip(parts.a, parts.counts, strict=True)]
        places = [_places(float(a), count, end) for a, count, (end, _) in zip(parts.a, parts.counts, ends, strict=True)]
        sizes = np.array([len(x) for x in places])
        self.parts, self.x = parts, np.concatenate(places)
        self.last = np.cumsum(sizes) - 1
        self.first = self.last - sizes + 1
        self.owner = np.repeat(np.arange(len(sizes)), sizes)
        self.shift = self.x - parts.references[self.owner]
        self.width = np.append(np.diff(self.x), 1.0)
        self.width[self.last] = 1.0
        ended = [end for _, end in ends]
        likelihood = [_likelihoods(count, x, last=end) for count, x, end in zip(parts.counts, places, ended, strict=True)]
        self.at_end = np.array([one[-2] for one in likelihood])
        self.falls = self.at_end - np.array([one[-1] for one in likelihood])
        """The fall of the log likelihood from the last node to the count after it."""
        self.ended = np.array(ended)
        """Whether that is the last possible count."""
        slopes = np.concatenate([np.diff(one[:-1]) / np.diff(x) for one, x in zip(likelihood, places, strict=True)])
        self.steepest = float(np.abs(slopes[np.isfinite(slopes)]).max(initial=0.0))
        """The steepest slope of a log likelihood between nodes: tilts up to this size move the mean of a total."""
        a, x = parts.a[self.owner], self.x
        rises = [log_rising(float(b), y, float(r)) for b, y, r in zip(parts.a, places, parts.references, strict=True)]
        self.base = np.concatenate([one[:-1] for one in likelihood]) + np.concatenate(rises)
        # ln Γ(a + x)/x! bends by (a - 1)/((a + x)(1 + x)) at most from this node on; where it is convex it is below a line
        self.sag = np.maximum(a - 1.0, 0.0) * self.width**2 / (8.0 * (a + x) * (1.0 + x)) + np.concatenate(
            [_sag(x, one) for x, one in zip(places, likelihood, strict=True)]
        )

    @property
    def limit(self) -> float:
        """The bound of all tilts: how fast the likelihood of every part falls in the end."""
        return float(np.where(self.ended, np.inf, self.falls).min())

    @property
    def slope(self) -> float:
        """The least fall of the likelihoods that fall: tilts of this size matter."""
        falling = self.falls[(self.falls > 0.0) & np.isfinite(self.falls)]
        return float(falling.min()) if falling.size else 1.0

    def tangent(self, rate: float) -> Tangent:
        """The bound at this tilt, which must be below the limit."""
        height = self.base + rate * self.shift
        rise = np.append(np.diff(height), 0.0)
        rise[self.last] = 0.0
        steep = np.abs(rise)
        with np.errstate(invalid="ignore"):
            reach = np.where(steep > 1e-8, np.expm1(-steep) / np.expm1(-steep / self.width), self.width)  # Σ_{j < w} e^{-steep j/w}
        log_part = height + np.maximum(rise, 0.0) * (1.0 - 1.0 / self.width) + np.log(reach) + self.sag
        centre = self.x + np.where(rise > 0.0, self.width - 0.5 * (reach + 1.0), 0.5 * (reach - 1.0))
        log_part[self.last], beyond = self._beyond(rate, height[self.last])
        centre[self.last] = self.x[self.last] + beyond
        top = np.maximum.reduceat(log_part, self.first)
        mass = np.exp(log_part - top[self.owner])
        total = np.add.reduceat(mass, self.first)
        mean = np.add.reduceat(mass * centre, self.first) / total
        square = np.add.reduceat(mass * (centre - mean[self.owner]) ** 2, self.first) / total
        logs = top + np.log(total)
        return Tangent(rate, float(logs.sum()), mean, float(np.sqrt(square.sum())), log_part - logs[self.owner])

    def log_tails(self, log_masses: Floats) -> tuple[Floats, Floats]:
        """Return, for every node, the logarithms of its part's mass before it and from it on."""
        mass = np.exp(log_masses)
        below, above = np.zeros_like(mass), np.zeros_like(mass)
        for first, last in zip(self.first.tolist(), self.last.tolist(), strict=True):
            np.cumsum(mass[first:last], out=below[first + 1 : last + 1])
            np.cumsum(mass[first : last + 1][::-1], out=above[first : last + 1][::-1])
        with np.errstate(divide="ignore"):
            return np.log(below), np.log(above)

    def _beyond(self, rate: float, height: Floats) -> tuple[Floats, Floats]:
        """The logarithm of each part's sum from its last node e on, and how far beyond that its mean is.

        The ratio of neighbours is at most e^{rate - fall} max(1, (a + e)/(1 + e)), because the log likelihood is concave: terms fall at
        least as fast as a geometric series, or else the sum of all counts below the tangent of the log likelihood at e is a bound.
        """
        a, e = self.parts.a, self.x[self.last]
        slope = np.where(self.ended, rate + 1.0, self.falls)
        fall = slope - rate - np.maximum(np.log((a + e) / (1.0 + e)), 0.0)
        falls = fall > 0.0
        step = -np.log(-np.expm1(-np.where(falls, fall, 1.0)))
        reference = self.parts.references
        whole = gammaln(a) - gammaln(a + reference) + gammaln(1.0 + reference) - a * np.log(-np.expm1(rate - slope)) - rate * reference
        whole += self.at_end + slope * e
        series = np.where(falls, height + step, np.inf)
        beyond = np.where(falls, 1.0 / np.where(falls, fall, 1.0), np.maximum(a / (slope - rate) - e, 1.0))
        return np.where(self.ended, height, np.minimum(series, whole)), np.where(self.ended, 0.0, beyond)


def _likelihoods(count: Count, x: Floats, *, last: bool) -> Floats:
    """Log likelihoods at nodes and one count after, where nothing bends if the last node is the last possible count."""
    return np.append(found := count.log_likelihood(x), found[-1:] if last else count.log_likelihood(x[-1:] + 1.0))


def _end(a: float, count: Count, root: SizePrior) -> tuple[float, bool]:
    """Return the end of a part's nodes, beyond all that is likely or at its last possible count; and whether it is that."""
    far = float(_LAST_TOTAL if root.last is None else root.last)
    start = max(float(count.first), *count.bends, 0.0)
    if start > far:
        start = float(count.first)
    if np.isneginf(count.log_likelihood(np.array([start]))[0]):  # a bend of one observation is beyond what another leaves possible
        start = _last_possible(count, float(count.first), start)
    if root.first == root.last:
        cut = start < far and np.isneginf(count.log_likelihood(np.array([far]))[0])
        return _last_possible(count, start, far) if cut else far, True
    x = start + np.concatenate([[0.0], _DOUBLED])
    logs = count.log_likelihood(x)
    possible = int(np.isfinite(logs).sum())
    if possible < len(x):
        far = min(far, _last_possible(count, x[possible - 1], x[possible]))
    low = np.nonzero(logs <= logs[0] - _FALLEN)[0]
    if not low.size:
        return min(far, float(limits.RAW_OUTCOME)), root.last is not None
    near = x[low[0]]
    with np.errstate(invalid="ignore"):
        slope = float(-np.diff(count.log_likelihood(np.array([near, near + 1.0])))[0])
    if slope == 0.0:  # the next float above `near` is more than 1 away
        raise TooLargeError("the noise is so wide that likely counts are beyond 2**53: a larger epsilon has less noise")
    end = near + 4.0 * a / slope if np.isfinite(slope) else near
    return (far, True) if end >= far else (min(float(np.ceil(end)), float(limits.RAW_OUTCOME)), False)


def _last_possible(count: Count, low: float, high: float) -> float:
    """The last count, between one that is possible and one that is not, whose likelihood is not 0."""
    while low < (middle := np.floor(0.5 * (low + high))) < high:  # beyond 2**53 neighbouring floats are more than 1 apart
        low, high = (middle, high) if np.isfinite(count.log_likelihood(np.array([middle]))[0]) else (low, middle)
    return low


def _places(a: float, count: Count, end: float) -> Floats:
    """Nodes from 0 to the end, closer together near 0 and near bends, and where the factor bends by itself."""
    first = float(count.first)
    if first > end:
        raise InvalidInputError(f"a count is at least {first:,.0f}, and there are fewer records: look at n, size_prior and steps")
    centres = np.array([first, *(bend for bend in count.bends if first < bend < end), end])[:, None]
    steps = _STEPS[: int(np.searchsorted(_STEPS, end)) + 1]
    x = np.unique(np.clip(np.concatenate([centres + steps, centres - steps]), first, end))
    curvature = max(a - 1.0, 0.0) / ((a + x[:-1]) * (1.0 + x[:-1])) + count.curvature
    if (_SAG * curvature * np.diff(x) ** 2 <= 1.0).all():
        return x
    straight = np.maximum((_SAG * curvature) ** -0.5, x[:-1] / _COARSEST)
    pieces = np.maximum(np.ceil(np.diff(x) / np.maximum(straight, 1.0)), 1.0).astype(np.int64)
    inside = np.arange(int(pieces.sum())) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    finer = np.repeat(x[:-1], pieces) + np.rint(inside * np.repeat(np.diff(x) / pieces, pieces))
    return np.append(finer, end)


def _sag(x: Floats, logs: Floats) -> Floats:
    """Bound the height of a concave log likelihood above lines between nodes: it is below the neighbouring lines on either side.

    `logs` has the node's values and, at the end, that of the count after the last.
    """
    slope = np.diff(logs) / np.append(np.diff(x), 1.0)
    before, after = np.maximum(-np.diff(slope, prepend=slope[0]), 0.0), np.maximum(-np.diff(slope, append=slope[-1]), 0.0)
    both = before + after
    wide = (np.append(np.diff(x), 1.0) > 1.0) & (both > 0.0)
    return np.where(wide, np.append(np.diff(x), 1.0) * before * after / np.where(wide, both, 1.0), 0.0)


@dataclass(frozen=True, eq=False)
class Ladder:
    """Tangents from the lowest tilt to the highest, and the totals between which each is the lowest: edges[j] to edges[j + 1]."""

    tangents: Sequence[Tangent]
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
        """The heights of the two tangents, where they cross, above what they leave possible."""
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
        """Return for each total the tangent that bounds it best, and the bound."""
        j = np.clip(np.searchsorted(self.edges[1:-1], n, side="right"), 0, len(self.tangents) - 1)
        return j, self.heights[j] - self.rates[j] * (n - self.reference)


LogTotal = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class TotalsInReach:
    """The totals and counts that the posterior is computed for, and a bound on the weight of all others."""

    parts: Parts
    ladder: Ladder
    totals: tuple[int, int]
    """The first and the last total."""
    log_total: Floats
    """ln h of every one of them."""
    windows: list[tuple[int, int]]
    """The first and the last count of each part."""
    log_outside: float
    """Bound on the logarithm of the weight left out."""


def reach_of(parts: Parts, whole: Count, root: SizePrior, tail: float = TAIL) -> TotalsInReach:
    """Return the totals and counts of the posterior, but about `tail` at each end; TooLargeError if they exceed the limits.

    `whole` is the count that the parts add up to, with what was observed of it; `root` is its weight.
    """
    nodes = _Nodes(parts, root)
    if root.last is None and nodes.ended.all():  # all counts have a last value, and so has their total
        root = replace(root, last=int(nodes.x[nodes.last].sum()))
    log_total = _log_total(parts, whole, root)
    fixed = root.first == root.last
    ladder, bounds, best = (_balanced if fixed else partial(_climbed, tail=tail))(nodes, root, log_total)
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
    if fixed:
        windows = _completed(windows, low)
    log_outside = log_sum(np.concatenate([*outside, [left]]))
    found = TotalsInReach(parts, ladder, (low + first, low + last), logs[first : last + 1], windows, log_outside)
    return _centred(found, whole, root) if fixed else found


def _completed(windows: list[tuple[int, int]], total: int) -> list[tuple[int, int]]:
    """The windows of parts with a known total, of which the widest holds no more than what the others leave."""
    widest = max(range(len(windows)), key=lambda i: windows[i][1] - windows[i][0])
    low, high = (sum(window[end] for i, window in enumerate(windows) if i != widest) for end in (0, 1))
    left = max(windows[widest][0], total - high), min(windows[widest][1], total - low)
    if left[0] > left[1]:  # which no draw leads to, but whoever writes a record by hand
        raise TooLargeError(
            "floats do not hold the posterior of this outcome: its noisy counts, n and the prior's parameters are too far apart"
        )
    return [left if i == widest else window for i, window in enumerate(windows)]


def _log_total(parts: Parts, whole: Count, root: SizePrior) -> LogTotal:
    """ln h(n): the root's weight, what was observed of the whole, and n!/Γ(A + n) relative to that of the reference."""
    total = float(parts.a.sum())
    return lambda n: root(n) + whole.log_likelihood(n) - log_rising(total, n, parts.reference)


def _centred(reach: TotalsInReach, whole: Count, root: SizePrior) -> TotalsInReach:
    """Return the reach of one total with logarithms relative to likely counts: those of a strong prior are large elsewhere."""
    old, means = reach.parts, reach.ladder.tangents[0].means
    new = replace(old, references=np.maximum(1.0, np.rint(means)))
    shift = float(log_rising(float(old.a.sum()), np.array([new.reference]), old.reference)[0]) - float(old.log_rises(new.references).sum())
    log_total = _log_total(new, whole, root)(np.array([float(reach.totals[0])]))
    ladder = replace(reach.ladder, reference=new.reference)
    return replace(reach, parts=new, ladder=ladder, log_total=log_total, log_outside=reach.log_outside + shift)


def _check_cells(cells: int, limit: int) -> None:
    if cells > limit:
        raise TooLargeError(
            f"the noise spreads the true number of records over {cells:,} values; the noise-aware posterior holds at most "
            f"{limits.WINDOW_CELLS:,}. Less noise (a larger epsilon) or a size_prior that says more needs fewer"
        )


def _balanced(nodes: _Nodes, root: SizePrior, log_total: LogTotal) -> tuple[Ladder, Floats, float]:
    """A ladder with one rung for one total: the tilt under which it is the mean."""
    n, k = float(root.first), len(nodes.parts.a)

    def tilted(rate: float) -> tuple[float, float, Tangent]:
        tangent = nodes.tangent(rate)
        return tangent.mean, tangent.spread**2, tangent

    pull = -float(np.log((float(nodes.parts.a.mean()) + n / k + 0.5) / (n / k + 1.5)))
    _, tangent = balancing_tilt(tilted, n, pull, longest=1.0 + float(np.abs(nodes.falls).max()))
    ladder = Ladder([tangent], nodes.parts.reference, root.first, root.last)
    bound = log_total(np.array([n])) + ladder.lowest(np.array([n]))[1]
    return ladder, bound, float(bound[0] - 0.5 - np.log(1.0 + 2.5 * tangent.spread))


def _climbed(nodes: _Nodes, root: SizePrior, log_total: LogTotal, *, tail: float) -> tuple[Ladder, Floats, float]:
    """A ladder without gaps that matter, a bound on the log weight of the totals of each rung, and nearly the largest log weight."""
    slope, limit = nodes.slope, nodes.limit
    bottom = -(max(slope, nodes.steepest) + 60.0 + float(np.log(max(1.0, nodes.parts.a.max()))))
    limit = min(limit, -bottom)
    top = (0.0, 0.5 * limit, 0.9 * limit) if limit > 0.0 else (-0.1 * slope,)
    tangents = [nodes.tangent(rate) for rate in sorted({bottom, -2.0 * slope, -slope, -0.5 * slope, *top})]
    for _ in range(_CLIMBS):
        ladder = Ladder(tangents, nodes.parts.reference, root.first, root.last)
        bounds, best = _rungs(ladder, root, log_total)
        matters = bounds > max(best, float(bounds.max()) - 700.0) + np.log(tail)
        pairs = (ladder.gaps() > _GAP) & (matters[:-1] | matters[1:])
        rates = ladder.meeting_rates()[pairs].tolist()
        short = root.last is None or tangents[-1].mean < root.last
        if short and matters[-1] and limit - tangents[-1].rate > _CLOSEST_RUNGS * max(limit, slope):
            rates.append(limit - 0.25 * (limit - tangents[-1].rate))
        if not rates:
            break
        tangents = sorted([*tangents, *map(nodes.tangent, rates)], key=lambda t: t.rate)
    if not np.isfinite(best) or (root.last is None and matters[-1]):
        if root.last is None and root.table is None and nodes.limit > 0.0:  # under a prior of our own there always is a posterior
            raise TooLargeError("the posterior of the number of records is beyond what floats hold for this prior and epsilon")
        raise InvalidInputError("there is no posterior of the number of records under this size_prior: its weights grow too fast, or are 0")
    return ladder, bounds, best


_RUNG_PARTS = np.concatenate([[0.0], 2.0 ** -np.arange(60.0, 4.0, -2.0), np.arange(1.0, 16.0) / 16.0])
_RUNG_SAMPLES = np.unique(np.concatenate([_RUNG_PARTS, 1.0 - _RUNG_PARTS]))
"""The places between the ends of a rung where ln h is looked at: it is nearly always largest at or near an end."""


def _rungs(ladder: Ladder, root: SizePrior, log_total: LogTotal) -> tuple[Floats, float]:
    """Return, for each rung, max ln h(n) - λ(n - reference) + ln Z over its totals, on samples of them; and nearly the largest log weight.

    That is less than the bound by the gap of the tangents around it and by the number of totals that one tilt spreads over.
    """
    low, high = ladder.whole()
    some = (low <= high)[:, None]
    high = np.maximum(high, ladder.first)
    low = np.minimum(low, high)
    means, spread = np.array([(t.mean, t.spread) for t in ladder.tangents]).T
    spikes = [float(root.highest(int(first), int(last))) for first, last in zip(low, high, strict=True)]
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
    for first, end, ended in zip(nodes.first, nodes.last + 1, nodes.ended, strict=True):
        before, onward = left_below[first:end], np.append(left_above[first:end], 0.0)
        low, high = (int(place) for place in between(np.append(before[1:], np.inf), onward[:-1], tail))
        left += float(before[low] + onward[high + 1])
        inside = first + high + 1 < end
        top = float(nodes.x[first + high + 1]) - 1.0 if inside else float(nodes.x[end - 1] if ended else last)
        windows.append((int(nodes.x[first + low]), int(min(top, last))))
    return windows, best + float(np.log(left)) if left > 0.0 else -np.inf
