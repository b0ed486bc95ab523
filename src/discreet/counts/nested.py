"""The law of counts that were observed at several levels, each alone and in sums of them (docs/proofs/inference.md, "Several levels").

The shares of all leaves have one Dirichlet prior, so that the prior of a count that is split is that of the sum of its parts, and all
factors of splits cancel but those of the leaves and of the root. What is left is a tree of sums: every sum is multiplied by what was
observed of it, `m_v(u) = P(z_v | u) · Σ Π m_part`, and the weight of a total is m_root(n) times a factor h(n). One pass up finds all m
under a tilt, one pass down the law of every count. Sums are of positive floats, added up directly.

Ends of laws are dropped where they weigh next to nothing by themselves. What lies above a count weighs at most the largest likelihood
over the mean one at each of its ancestors, and that is what a dropped end is multiplied with in the bound `omitted`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import combinations
from math import prod

import numpy as np

from discreet import limits
from discreet.arrays import Counts, Floats, Mask
from discreet.betas.rows import Block
from discreet.counts.factors import Count, Observation, Split
from discreet.counts.law import OMITTED_AT_MOST, OUTER_COUNTS, PairWeights, check_pairs, middle_part, split_weights
from discreet.counts.listed import ListedCounts
from discreet.counts.moments import Carried, ScoreMoments, added_rows, carried_leaf, moments_at
from discreet.counts.runs import Run, added, completed, drawn_parts, inverse, log_sum, values_at
from discreet.counts.size_posterior import SizePosterior
from discreet.counts.total_nodes import OUTER_TOTALS, check_blocks, nodes_of, on_nodes, row_slices, stretches, without_ends
from discreet.errors import InvalidInputError, RefusedError, TooLargeError
from discreet.model.size_priors import SizePrior
from discreet.numerics.gamma import log_rising
from discreet.numerics.tails import kept

_FIRST_DEPTH, _DEEPEST, _ROUNDS = 60.0, 600.0, 5
"""The depth below its largest value, in logarithms, to which a law is held: deeper where noise at one level contradicts that at another."""
_MOST_OMITTED = 1e-9
"""Probability left out up to which a law is given at all."""
_PRODUCTS = 1 << 33
"""Products of the longest convolution, which takes some seconds."""
_HOPELESS = 0.1
"""Probability left out from which on totals are bounded in stretches."""
_BEYOND_LAST = 1e-19
"""The part of a stretch of totals that a law leaves out, relative to the evidence."""
_TILTS = 3
"""Times a tilt is put at the likeliest total, which another tilt has found."""
_ENDS = np.unique(np.rint(np.geomspace(1.0, 2.0**40, 300)))
"""Distances from a noisy count at which a window may end."""
_TOTALS_SAMPLED = np.unique(np.rint(np.concatenate([np.arange(4096.0), np.geomspace(4096.0, 2.0**53, 4000)])))
"""Totals at which the factor of the total is looked at for its bound."""
_REGROUPED = 40.0
"""The further depth to which laws are held where parts are put together anew, so that nothing is lost that would count."""
_UNLISTED = 1e-16
"""Probability of all counts together that a list leaves out."""
_SETS = 3
"""Sets of counts that are listed together where they cut across counts that were observed."""


class _ContradictedError(Exception):
    """The observations of a count and of its parts have no value in common that is held."""


@dataclass(frozen=True, eq=False)
class Node:
    """A count: the law of its value by what was observed of it and of its parts, under a tilt, and the two halves that add up to it."""

    run: Run
    leaves: tuple[int, ...]
    """The parts of the law that are below it."""
    halves: "tuple[Node, Node] | None" = None
    factor: Floats | None = None
    """The weight of the count's own observation at the values of `run`, relative to the largest."""
    scale: float = 0.0
    """The logarithm of what the law was divided by."""
    centre: float = 0.0
    least: int = 0
    """The least value that what was observed of the leaves leaves possible."""
    mass: float = 1.0
    lost: float = 0.0
    """The mass of what is held, and a bound on that of what is not, with the weight e^(rate |u - centre|)."""

    def weighted(self, rate: float) -> Floats:
        """The law with that weight."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.run.value * np.exp(rate * np.abs(self.run.x - self.centre)) if rate else self.run.value


@dataclass(frozen=True)
class _Held:
    """The depth to which laws are held, their tilt, and the rate at which the weight above the uppermost observed counts may grow."""

    depth: float
    tilt: float = 0.0
    rate: float = 0.0
    last: int | None = None

    def built(self, count: Count, leaves: Iterator[tuple[int, float]], rate: float) -> Node:
        """The law of a count by all that was observed of it and below."""
        if not count.splits:
            return self._leaf(count, *next(leaves), rate)
        below = 0.0 if count.observed else rate
        node = self.total([self.built(part, leaves, below) for part in count.splits[0].parts], below)
        return self._observed(node, count, rate) if count.observed else node

    def total(self, nodes: Sequence[Node], rate: float) -> Node:
        """The law of the sum of independent counts, added up in halves."""
        if len(nodes) == 1:
            return nodes[0]
        half = len(nodes) // 2
        left, right = self.total(nodes[:half], rate), self.total(nodes[half:], rate)
        lost = left.mass * right.lost + left.lost * right.mass + left.lost * right.lost
        both = Node(added(left.run, right.run, _direct), left.leaves + right.leaves, (left, right), None, left.scale + right.scale)
        return self._trimmed(replace(both, centre=left.centre + right.centre, least=left.least + right.least, lost=lost), rate)

    def _trimmed(self, node: Node, rate: float) -> Node:
        """Without ends that weigh next to nothing, and divided by what is left."""
        value = node.run.value
        if not 0.0 < value.max() < np.inf:
            raise _ContradictedError
        first, last, dropped = kept(value, np.exp(-self.depth) * float(value.max()))
        if rate and dropped:
            ends = node.weighted(rate)
            dropped = float(ends[:first].sum() + ends[last + 1 :].sum())
        whole = float(value[first : last + 1].sum())
        run = Run(node.run.low + first, value[first : last + 1] / whole)
        factor = None if node.factor is None else node.factor[first : last + 1]
        found = replace(node, run=run, factor=factor, scale=node.scale + np.log(whole), lost=(node.lost + dropped) / whole)
        return replace(found, mass=float(found.weighted(rate).sum())) if rate else found

    def _observed(self, node: Node, count: Count, rate: float) -> Node:
        """The law of a count that was observed itself, too."""
        x, places = node.run.x, np.maximum(np.array(count.bends), float(count.first))
        logs, centre = count.log_likelihood(x), float(places.max())
        bound, far = logs + rate * np.abs(x - centre), int(np.argmax(logs + rate * np.abs(x - centre)))
        if rate and ((far == len(x) - 1 and x[-1] > centre) or (far == 0 and count.first < x[0] < centre)):
            raise _ContradictedError  # the likelihood does not fall as fast as the weight grows
        top = max(float(bound.max()), float((count.log_likelihood(places) + rate * np.abs(places - centre)).max()))
        return self.multiplied(replace(node, centre=centre, scale=node.scale + top), np.exp(logs - top), rate)

    def multiplied(self, node: Node, factor: Floats, rate: float = 0.0) -> Node:
        """The law of a count times a factor of its values that is at most 1."""
        run, own = Run(node.run.low, node.run.value * factor), factor if node.factor is None else node.factor * factor
        return self._trimmed(replace(node, run=run, factor=own), rate)

    def _leaf(self, count: Count, part: int, a: float, rate: float) -> Node:
        """The law of a leaf on a window, with bounds on both tails (docs/proofs/inference.md)."""

        def logs(x: Floats) -> Floats:
            return count.log_likelihood(x) + log_rising(a, x, 0.0) + self.tilt * x

        first, last = float(count.first), np.inf if self.last is None else float(self.last)
        centre = min(max(count.bends, default=first), last)
        centre = max(centre, first)
        peak = float(logs(np.array([first, centre])).max())
        right = np.minimum(centre + _ENDS, 2.0**53)
        fall = np.diff(count.log_likelihood(np.stack([right, right + 1.0])), axis=0)[0] + self.tilt + rate
        fall += np.maximum(0.0, np.log((a + right) / (1.0 + right)))
        high, above = _end(logs(right) + rate * (right - centre), fall, peak - self.depth)
        end = min(last, np.inf if high is None else float(right[high]))
        if not np.isfinite(end) and rate:
            raise _ContradictedError  # the law does not fall as fast as the weight grows
        if not np.isfinite(end):
            raise InvalidInputError("nothing bounds a count: give a size_prior under which large numbers are unlikely")
        left = centre - _ENDS[centre - _ENDS > max(first, 1.0)]
        fall = -np.diff(count.log_likelihood(np.stack([left - 1.0, left])), axis=0)[0] - self.tilt + rate
        fall += np.log(left / (a + left - 1.0)) if a >= 1.0 else 0.0
        weight = logs(left) + rate * (centre - left) + (0.0 if a >= 1.0 else (1.0 - a) * np.log1p(left))
        low, below = _end(weight, fall, peak - self.depth) if a >= 1.0 or first > 0.0 else (None, -np.inf)
        start = first if low is None else float(left[low])
        if end - start >= limits.WINDOW_CELLS:
            raise TooLargeError(f"the noise spreads a count over {end - start:,.0f} values. Less noise (a larger epsilon) needs fewer")
        x = np.arange(start, end + 1.0)
        value = logs(x)
        top = float(value.max())
        ends = (0.0 if end == last else np.exp(above - top)) + (0.0 if start == first else np.exp(below - top))
        node = Node(Run(int(start), np.exp(value - top)), (part,), scale=top, centre=centre, least=count.first, lost=float(ends))
        return self._trimmed(node, rate)


def _direct(left: Floats, right: Floats) -> Floats:
    """A convolution with all its digits, however small: tails of a law may be likely once it is multiplied with an observation."""
    _check_products(left, right)
    return np.convolve(left, right)


def _check_products(left: Floats, right: Floats) -> None:
    if left.size * right.size > _PRODUCTS:
        raise TooLargeError("the noise spreads sums of counts over too many values; less noise (a larger epsilon) needs fewer")


def _end(weight: Floats, fall: Floats, depth: float) -> tuple[int | None, float]:
    """The first place beyond which a law that falls at least so fast has less than this, as a logarithm, and a bound on what it has."""
    falling = fall < 0.0
    beyond = np.where(falling, weight + fall - np.log(-np.expm1(np.where(falling, fall, -1.0))), np.inf)
    good = np.flatnonzero(beyond <= depth)
    return (int(good[0]), float(beyond[good[0]])) if good.size else (None, np.inf)


def counts_of_levels(whole: Count, a: Floats, root: SizePrior, *, log_constant: float = 0.0) -> "LevelCounts":
    """The posterior law of the leaves of a tree of counts that were observed at any level.

    Args:
        whole: the count that all others are parts of. Each count is split in one way at most, and what was observed of one that is split
            is largest at its bend.
        a: the concentration of each leaf, in the order of the tree; the shares of all leaves are Dir(a), and `Split.a` is not looked at.
        root: the weight of the total.
        log_constant: what the logarithms of the likelihoods lack, for the evidence.

    Raises:
        InvalidInputError: nothing bounds a count.
        TooLargeError: the counts have too many likely values, or the observations contradict each other too much.
    """
    fixed = root.first if root.first == root.last else None
    centre = float(_guess(whole) if fixed is None else fixed)
    slope = float(np.diff(-log_rising(float(a.sum()), np.array([centre, centre + 1.0]), 0.0))[0])
    best, depth, enough = None, _FIRST_DEPTH + 2.0 * float(np.log(len(a))), OMITTED_AT_MOST
    for _ in range(_ROUNDS):
        found = _law(whole, a, root, _Held(depth, slope, last=root.last), log_constant)
        if found is None or found.omitted > _HOPELESS:
            found = _Stretches(whole, a, root, 1.5 * depth, log_constant).law() or found
            enough = _MOST_OMITTED
        if found is not None and (best is None or found.omitted < best.omitted):
            best = found
        if best is not None and best.omitted - root.omitted <= enough:
            return best
        depth = min(_DEEPEST, 2.0 * depth if best is None else depth + float(np.log(best.omitted / OMITTED_AT_MOST)) + 10.0)
    if best is None or best.omitted - root.omitted > _MOST_OMITTED:
        raise TooLargeError(
            "the levels contradict each other more than noise does: no posterior is computed. See whether all of them are of one dataset"
        )
    return best


def counts_of_sets(
    a: Floats, observed: Mapping[tuple[int, ...], Sequence[Observation]], root: SizePrior, log_constant: float = 0.0
) -> "LevelCounts":
    """The posterior law of counts under Dir(a), given what was observed of sets of them, by their places; and of counts alone as (i,).

    Raises RefusedError for sets of which two cut across each other, and otherwise as `counts_of_levels`.
    """
    whole, order = tree_of_sets(len(a), observed)
    found = counts_of_levels(whole, a[list(order)], root, log_constant=log_constant)
    return replace(found, root=_renamed(found.root, dict(enumerate(order))))


def tree_of_sets(k: int, observed: Mapping[tuple[int, ...], Sequence[Observation]]) -> tuple[Count, tuple[int, ...]]:
    """The tree of these sets, each of which lies inside of the next larger one, and the places of its leaves in their order."""
    everything = tuple(range(k))
    sets = sorted({everything, *(tuple(sorted(inside)) for inside in observed), *((i,) for i in everything)}, key=len, reverse=True)
    home = dict.fromkeys(everything, everything)
    parts: dict[tuple[int, ...], list[tuple[int, ...]]] = {inside: [] for inside in sets}
    for inside in sets[1:]:
        homes = {home[i] for i in inside}
        if len(homes) > 1:
            raise RefusedError("levels of which a node cuts across another are not read together")
        parts[homes.pop()].append(inside)
        home.update(dict.fromkeys(inside, inside))

    def built(inside: tuple[int, ...]) -> tuple[Count, tuple[int, ...]]:
        found = [built(part) for part in parts[inside]]
        split = [Split([count for count, _ in found], np.empty(0))] if found else []
        return Count(tuple(observed.get(inside, ())), split), tuple(i for _, order in found for i in order) or inside

    return built(everything)


def _law(whole: Count, a: Floats, root: SizePrior, held: _Held, log_constant: float) -> "LevelCounts | None":
    """The law under a tilt, unless nothing is left where the levels agree."""
    n, logs = _possible(whole, a, root)
    height, rate = _bounded(n - _guess(whole), logs - held.tilt * n, both=held.tilt != 0.0)
    held = replace(held, rate=rate)
    try:
        node = held.built(whole, iter(enumerate(a.tolist())), rate)
    except _ContradictedError:
        return None
    found = _rooted(node, a, root, held, log_constant)
    if found is None or not np.isfinite(node.lost):
        return None
    with np.errstate(over="ignore"):
        lost = node.lost * np.exp(node.scale + height + log_constant - found.log_evidence)
    return replace(found, omitted=min(1.0, root.omitted + float(lost)))


def _possible(whole: Count, a: Floats, root: SizePrior) -> tuple[Floats, Floats]:
    """Totals that stand for all possible ones, and the logarithms of their factors."""
    n = np.union1d(_TOTALS_SAMPLED, [np.rint(_guess(whole))])
    if root.last is not None and root.last - root.first < limits.WINDOW_CELLS:
        n = np.arange(float(root.first), root.last + 1.0)
    with np.errstate(invalid="ignore"):
        logs = root(n) - log_rising(float(a.sum()), n, 0.0)
    return n[np.isfinite(logs)], logs[np.isfinite(logs)]


def _rooted(
    node: Node, a: Floats, root: SizePrior, held: _Held, log_constant: float, ends: tuple[float, float] = (0.0, np.inf)
) -> "LevelCounts | None":
    """The law whose totals are those of `node` between these ends, with nothing omitted; None if no total is possible."""
    x = node.run.x
    inside = (x >= max(root.first, ends[0])) & (x <= min(np.inf if root.last is None else root.last, ends[1])) & (node.run.value > 0.0)
    log_factor = np.full(len(x), -np.inf)
    log_factor[inside] = root(x[inside]) - log_rising(float(a.sum()), x[inside], 0.0) - held.tilt * x[inside]
    logs = log_factor[inside] + np.log(node.run.value[inside])
    whole = log_sum(logs) if len(logs) else -np.inf
    if not np.isfinite(whole):
        return None
    log_evidence = node.scale + whole + log_constant
    return LevelCounts(node, log_factor, held, 0.0, log_evidence)


@dataclass(frozen=True)
class _Stretches:
    """Bounds what a law under one tilt leaves out by laws under others: each of them for totals where its tilt follows their factor."""

    whole: Count
    a: Floats
    root: SizePrior
    depth: float
    log_constant: float

    def law(self) -> "LevelCounts | None":
        """The law under the tilt of its likeliest total; None if it must be held further out."""
        n, logs = _possible(self.whole, self.a, self.root)
        try:
            found = self._held(self._slope(_guess(self.whole)))
            for _ in range(_TILTS):
                tilt = 0.0 if found is None else self._slope(found.likeliest_total)
                if found is None or abs(tilt - found.held.tilt) <= 0.1 * abs(tilt):
                    break
                found = self._held(tilt)
            return None if found is None else self._bounded(found, n, logs)
        except _ContradictedError:
            return None

    def _slope(self, n: float) -> float:
        """The slope of the logarithm of the factor of the total, and 0 where it grows."""
        return min(0.0, float(np.diff(-log_rising(float(self.a.sum()), np.array([n, n + 1.0]), 0.0))[0]))

    def _held(self, tilt: float, ends: tuple[float, float] = (0.0, np.inf)) -> "LevelCounts | None":
        held = _Held(self.depth, tilt, last=self.root.last)
        node = held.built(self.whole, iter(enumerate(self.a.tolist())), 0.0)
        return _rooted(node, self.a, self.root, held, self.log_constant, ends)

    def _bounded(self, base: "LevelCounts", n: Floats, logs: Floats) -> "LevelCounts | None":
        """The law on the totals where it leaves out next to nothing, if others show that next to nothing lies elsewhere."""
        good, at = self._good(base, base.log_evidence, n, logs), int(np.abs(n - base.likeliest_total).argmin())
        if not good[at]:
            return None
        low, high = at + 1 - _run_of(good[at::-1]), at + _run_of(good[at:])
        ends = (float(n[low]) if low else 0.0, float(n[high - 1]) if high < len(n) else np.inf)
        omitted = self.root.omitted + _BEYOND_LAST
        while high < len(n):
            found = self._beyond(base.log_evidence, n[high - 1 :], logs[high - 1 :], (0.0, self._slope(float(n[high]))))
            if found is None:
                return None
            high, omitted = high - 1 + found[0], omitted + found[1]
        while low > 0:
            chord = float((logs[low] - logs[0]) / (n[low] - n[0]))
            found = self._beyond(base.log_evidence, n[low::-1], logs[low::-1], (min(chord, 0.0), self._slope(float(n[low - 1]))))
            if found is None:
                return None
            low, omitted = low + 1 - found[0], omitted + found[1]
        law = _rooted(base.root, self.a, self.root, base.held, self.log_constant, ends)
        return None if law is None else replace(law, omitted=min(1.0, omitted))

    def _good(self, law: "LevelCounts", log_evidence: float, n: Floats, logs: Floats) -> Mask:
        """Whether all that the law leaves out weighs next to nothing by the factor of each total."""
        with np.errstate(divide="ignore"):
            lost = np.log(law.root.lost) + law.root.scale + self.log_constant
        return np.asarray(lost + logs - law.held.tilt * n <= log_evidence + np.log(_BEYOND_LAST))

    def _beyond(self, log_evidence: float, n: Floats, logs: Floats, tilts: tuple[float, float]) -> tuple[int, float] | None:
        """Return the number of totals beyond the first that one of these tilts bounds, and the bound, relative to the evidence."""
        for tilt in tilts:
            node = self._held(tilt)
            many = 0 if node is None else _run_of(self._good(node, log_evidence, n[1:], logs[1:]))
            if node is None or not many:
                continue
            upward, last = n[1] > n[0], len(n) == many + 1
            end = (np.inf if upward else 0.0) if last else float(n[many])
            ends = (float(n[0]) + 1.0, end) if upward else (end, float(n[0]) - 1.0)
            inside = _rooted(node.root, self.a, self.root, node.held, self.log_constant, ends)
            return many + 1, _BEYOND_LAST + (0.0 if inside is None else float(np.exp(min(0.0, inside.log_evidence - log_evidence))))
        return None


def _run_of(good: Mask) -> int:
    """Return the number of true entries before the first that is not."""
    return len(good) if good.all() else int(good.argmin())


def _bounded(beyond: Floats, logs: Floats, *, both: bool) -> tuple[float, float]:
    """A height and a rate such that the factor of the total is at most e^(height + rate |n - noisy total|).

    Under a tilt the height is that at the noisy total; otherwise that of all smaller totals, which needs no rate on that side.
    """
    near = np.abs(beyond) == np.abs(beyond).min(initial=np.inf) if both else beyond <= 0.0
    if not near.any():
        return float(logs.max()), 0.0
    height = float(logs[near].max())
    far = ~near
    return height, max(0.0, float(((logs[far] - height) / np.abs(beyond[far])).max(initial=0.0)))


def _guess(count: Count) -> float:
    """The total by the uppermost counts that were observed."""
    if count.observed:
        return max(0.0, *count.bends)
    return sum((_guess(part) for split in count.splits for part in split.parts), 0.0)


@dataclass(frozen=True, eq=False)
class LevelCounts:
    """The posterior law of the leaves of a tree, or of some sums of them, and of their total."""

    root: Node
    log_factor: Floats
    """The logarithm of what a total weighs by all that is not in the tree, for each value of the root."""
    held: _Held
    omitted: float
    """Upper bound on the probability that is left out."""
    log_evidence: float
    """The logarithm of the sum of all weights."""

    @property
    def likeliest_total(self) -> float:
        """The total with the largest weight."""
        with np.errstate(divide="ignore"):
            return float(self.root.run.low + (self.log_factor + np.log(self.root.run.value)).argmax())

    @cached_property
    def _target(self) -> Floats:
        return np.asarray(np.exp(self.log_factor - self.log_factor.max()))

    @cached_property
    def _sizes(self) -> Run:
        weights = self.root.run.value * self._target
        first, last = np.flatnonzero(weights)[[0, -1]]
        return Run(self.root.run.low + int(first), weights[first : last + 1] / weights.sum())

    @property
    def total(self) -> int | None:
        """The total, if it is known."""
        return self._sizes.low if len(self._sizes.value) == 1 else None

    @cached_property
    def size(self) -> SizePosterior:
        """The law of the total."""
        return SizePosterior(self._sizes.low, self._sizes.value, 0.0 if self.total is not None else self.omitted)

    @cached_property
    def _marginals(self) -> dict[int, Run]:
        return {leaf.leaves[0]: _law_of(leaf, rows[0]) for leaf, rows in _down(self.root, self._target[None])}

    @property
    def first(self) -> Counts:
        """The least count of each part that what was observed of it leaves possible."""
        return np.array([leaf.least for leaf in sorted(_leaves(self.root), key=lambda leaf: leaf.leaves)], dtype=np.int64)

    @property
    def work(self) -> int:
        """Return how many numbers the marginals of all parts are computed from."""
        return sum(len(run.value) for run in self._marginals.values()) * (1 if self.total is not None else len(self._sizes.value))

    def marginal(self, part: int) -> Run:
        """Probabilities of the counts of one part."""
        return self._marginals[part]

    def joint(self, part: int, tail: float) -> tuple[int, int, Floats]:
        """The joint law of one part and the total, without about `tail` at the ends of either: the least of both, and probabilities."""
        sizes, law = self._sizes, self.marginal(part)
        (first, last, _), (least, most, _) = kept(law.value, tail), kept(sizes.value, tail)
        check_blocks((most - least + 1) * len(law.value))
        rows = self._given(np.arange(sizes.low + least, sizes.low + most + 1), sizes.value[least : most + 1], part)
        found = rows[part].weights
        return law.low + first, sizes.low + least, np.ascontiguousarray(found[:, first : last + 1].T)

    def _given(self, n: Counts, share: Floats, only: int | None = None) -> dict[int, Block]:
        """Return, for every part, or one, its law given each of these totals, times the weight of the total."""
        targets = (self.root.run.x == n[:, None]).astype(np.float64)
        found = {}
        for leaf, rows in _down(self.root, targets, only):
            weights = rows * leaf.run.value
            mass = weights.sum(axis=1, keepdims=True)
            weights = np.where(mass > 0.0, weights / np.where(mass > 0.0, mass, 1.0), 0.0) * share[:, None]
            found[leaf.leaves[0]] = Block(leaf.run.low, n, weights)
        return found

    @cached_property
    def _blocks(self) -> tuple[dict[int, Block], float]:
        """Return for every part its law given totals that stand for all, times their weights; and the probability of totals left out."""
        first, last, dropped = kept(self._sizes.value, OUTER_TOTALS)
        weight, low = self._sizes.value[first : last + 1], self._sizes.low + first
        probes = np.concatenate([values[:, low - self.root.run.low :][:, : len(weight)] for values in self._probes(self.root)])
        parts = stretches(weight, probes)
        n = low + nodes_of(parts)
        check_blocks(len(n) * max(len(run.value) for run in self._marginals.values()))
        return self._given(n, on_nodes(weight, parts)), dropped

    def _probes(self, root: Node) -> Iterator[Floats]:
        """Yield for every part three means given each total: of its distance from its mean, of the square, and of 1/(1 + count)."""
        for rows in _with_moments(root, self._marginals):
            values = rows[1:] / np.where(rows[0] > 0.0, rows[0], 1.0)
            yield values

    def with_total(self, part: int) -> tuple[list[Block], float]:
        """The law of one part and of totals that stand for all in sums of Betas, in blocks; and a bound on what they leave out."""
        if self.total is not None:
            run = self.marginal(part)
            return [Block(run.low, np.array([self.total]), run.value[None])], self.omitted
        (blocks, dropped), x = self._blocks, self.marginal(part)
        block = blocks[part]
        first, last, left = kept(x.value, OUTER_TOTALS)
        rows = [Block(block.first + first, block.totals[at], block.weights[at, first : last + 1]) for at in row_slices(block.totals)]
        found, more = without_ends(rows)
        return found, min(1.0, self.omitted + dropped + left + more)

    # --- parts, and sums of parts ---------------------------------------------------------------------------------------

    def part(self, chosen: Sequence[int]) -> "LevelCounts | ListedCounts":
        """The law of some of the parts, whatever the others are."""
        inside, others = set(chosen), [i for i in self.root.leaves if i not in chosen]
        if not others:
            return self._named({old: new for new, old in enumerate(chosen)})
        root = self._grouped([list(chosen), *([i] for i in others)])
        if root is None:
            return self._listed([[i] for i in chosen]).part(range(len(chosen)))
        node, rows = next(_down(root, np.exp(self._log_factor_at(root) - self.log_factor.max())[None], until=frozenset(inside)))
        with np.errstate(divide="ignore"):
            found = replace(self, root=node, log_factor=np.log(np.maximum(rows[0], 0.0)))
        return found._named({old: new for new, old in enumerate(chosen)})

    def merged(self, sets: Sequence[Sequence[int]]) -> "LevelCounts | ListedCounts":
        """The law of sums of parts: each part must be in one of these sets, and a set becomes one part."""
        root = self._grouped(sets)
        if root is None:
            return self._listed(sets)
        of = {part: j for j, chosen in enumerate(sets) for part in chosen}
        return replace(self, root=_cut(root, of, [*map(len, sets)]), log_factor=self._log_factor_at(root))

    def _log_factor_at(self, root: Node) -> Floats:
        """The factor of the total at the values of another tree's root."""
        at = np.full(len(root.run.value), -np.inf)
        here = root.run.x.astype(np.int64) - self.root.run.low
        inside = (here >= 0) & (here < len(self.log_factor))
        at[inside] = self.log_factor[here[inside]]
        return at

    def _named(self, names: dict[int, int]) -> "LevelCounts":
        return replace(self, root=_renamed(self.root, names))

    def _grouped(self, sets: Sequence[Sequence[int]]) -> Node | None:
        """The tree with one count for each of these sets, or None if a set cuts across counts that were observed."""
        of = {part: j for j, chosen in enumerate(sets) for part in chosen}
        deeper = replace(self.held, depth=self.held.depth + _REGROUPED)
        found = _Grouping(deeper, of, [*map(len, sets)]).of_node(self.root)
        return None if found is None else found[0]

    def _listed(self, sets: Sequence[Sequence[int]]) -> ListedCounts:
        """The law of sums of parts, and last of all others if there are any, as a list."""
        if len(sets) > _SETS:
            raise TooLargeError(
                f"{len(sets)} sets that cut across nodes of a level are not computed together, but up to {_SETS} are; name nodes, or "
                "compare draws: sample(), or probability() of what is asked"
            )
        of = {part: j for j, chosen in enumerate(sets) for part in chosen}
        rest = any(part not in of for part in self.root.leaves)
        lows, weights = _array(self.root, of, len(sets), self._marginals)
        weights = weights * _at_sums(Run(self.root.run.low, self._target), lows, weights.shape)
        found = np.nonzero(weights > _UNLISTED / weights.size * weights.sum())
        points = np.stack([low + axis for low, axis in zip(lows, found, strict=True)], axis=-1)[:, : len(sets) + rest]
        probability = weights[found]
        return ListedCounts(points, probability / probability.sum(), min(1.0, self.omitted + _UNLISTED), self.log_evidence)

    def pairs(self, first: int, second: int) -> list[PairWeights]:
        """The joint law of two parts and of the rest."""
        root = self._grouped([[first, second], *([i] for i in self.root.leaves if i not in (first, second))])
        if root is None:
            return self._listed([[first], [second]]).pairs(0, 1)
        both = frozenset((first, second))
        low, high, _ = kept(self._sizes.value, OUTER_COUNTS)
        n, share = self._sizes.low + np.arange(low, high + 1), self._sizes.value[low : high + 1]
        check_pairs(len(n), len(root.run.value))
        weights = (root.run.x == n[:, None]) * np.exp(self._log_factor_at(root) - self.log_factor.max())
        node, rows = next(_down(root, weights, until=both))
        mass = rows @ node.run.value
        rows = rows * np.where(mass > 0.0, share / np.where(mass > 0.0, mass, 1.0), 0.0)[:, None]
        rows = rows if node.factor is None else rows * node.factor
        laws = {leaf.leaves[0]: middle_part(leaf.run, self.marginal(leaf.leaves[0])) for leaf in _leaves(node)}
        check_pairs(len(laws[first].value) + len(laws[second].value), len(laws[first].value))
        split = split_weights(laws[first], laws[second])
        u = laws[first].low + laws[second].low + np.arange(len(split))
        rest = np.stack([values_at(Run(node.run.low, row), int(u[0]), len(u)) for row in rows], axis=-1)
        return [PairWeights(u, laws[first].low, split, -u, n, np.where(n >= u[:, None], rest, 0.0))]

    def covariance(self, a: Floats) -> Floats:
        """The covariances of the shares, which are Dir(a + counts) given the counts, with 0 on the diagonal: from those of their sums."""
        k, work = len(a), len(a) ** 2 * sum(len(run.value) for run in self._marginals.values())
        if work > limits.CONTRAST_PAIRS:
            raise TooLargeError(
                f"covariances of {k:,} categories at several levels take {work:,} sums, done up to {limits.CONTRAST_PAIRS:,}. given() "
                "chooses categories, and sample() has draws"
            )
        means = np.array([float(run.value @ run.x) for _, run in sorted(self._marginals.items())])
        share, unit, found = (a + means) / float((a + means).sum()), np.eye(k), np.zeros((k, k))
        alone = [self._variance(a, unit[i] - share[i]) for i in range(k)]
        for i, j in combinations(range(k), 2):
            together = self._variance(a, unit[i] + unit[j] - share[i] - share[j])
            found[i, j] = found[j, i] = 0.5 * (together - alone[i] - alone[j])
        return found

    def _variance(self, a: Floats, weights: Floats) -> float:
        """The variance of a weighted sum of the shares."""
        return self.score(weights).of_probabilities(a, weights)[1] ** 2

    def score(self, weights: Floats) -> ScoreMoments:
        """The moments of the sum of the parts, each with its weight, for every total."""
        lows = np.empty(len(weights))
        for leaf in _leaves(self.root):
            lows[leaf.leaves[0]] = leaf.run.low
        found = moments_at(_carried(self.root, weights), range(self.root.run.low, self.root.run.high + 1), weights, lows)
        rows = [self._target * values for values in (found.mass, found.first, found.second, found.squares)]
        return ScoreMoments(found.n, *(values / rows[0].sum() for values in rows))

    def sample(self, size: int, rng: np.random.Generator) -> Counts:
        """Draws of the counts, one a row."""
        totals = self._sizes.low + inverse(self._sizes.value, rng.random(size))
        drawn = np.stack(list(drawn_parts(self.root, totals, rng)), axis=-1)
        found = np.empty_like(drawn)
        found[:, list(self.root.leaves)] = drawn
        return found


# --- passes through a tree --------------------------------------------------------------------------------------------


def _law_of(node: Node, target: Floats) -> Run:
    weights = node.run.value * target
    return Run(node.run.low, weights / weights.sum())


def _down(node: Node, targets: Floats, only: int | None = None, until: frozenset[int] = frozenset()) -> Iterator[tuple[Node, Floats]]:
    """Yield, for every leaf, or only one, what lies elsewhere by its value, relative to the largest, for each row of what lies above the
    root.

    It also stops at the count whose leaves are those of `until`.
    """
    if node.halves is None or (until and until == frozenset(node.leaves)):
        yield node, targets
        return
    inner = targets if node.factor is None else targets * node.factor
    for mine, other in (node.halves, node.halves[::-1]):
        if (only is not None and only not in mine.leaves) or (until and not until <= set(mine.leaves)):
            continue
        rows = np.stack([completed(Run(node.run.low, row), other.run, mine.run, _direct).value for row in inner])
        top = rows.max(axis=1, keepdims=True)
        yield from _down(mine, rows / np.where(top > 0.0, top, 1.0), only, until)


def _times(node: Node, rows: Floats, low: int) -> Floats:
    """Rows over sums of the halves of a count, times its own factor, at the values of the count."""
    found = np.stack([values_at(Run(low, row), node.run.low, len(node.run.value)) for row in rows])
    return found if node.factor is None else found * node.factor


def _with_moments(node: Node, marginals: dict[int, Run]) -> Iterator[Floats]:
    """Yield for every leaf the law of a count, and the same weighted with three functions of the leaf."""
    if node.halves is None:
        law = marginals[node.leaves[0]]
        y = (node.run.x - law.mean) / max(law.variance**0.5, 0.5)
        yield node.run.value * np.stack([np.ones_like(y), y, y * y, 1.0 / (1.0 + node.run.x)])
        return
    for mine, other in (node.halves, node.halves[::-1]):
        for rows in _with_moments(mine, marginals):
            sums = [added(Run(mine.run.low, row), other.run, _direct) for row in rows]
            yield _times(node, np.stack([run.value for run in sums]), sums[0].low)


def _carried(node: Node, weights: Floats) -> Carried:
    """The law of a count, and the same weighted with a score of its parts, with the square, and with Σ w² x."""
    if node.halves is None:
        w = float(weights[node.leaves[0]])
        return carried_leaf(node.run, w - float(weights.min()), w)
    both = added_rows(_carried(node.halves[0], weights), _carried(node.halves[1], weights), _direct)
    rows = _times(node, both.values, both.low)
    return Carried(node.run.low, rows / rows[0].sum())


def _leaves(node: Node) -> Iterator[Node]:
    if node.halves is None:
        yield node
        return
    for half in node.halves:
        yield from _leaves(half)


def _renamed(node: Node, names: dict[int, int]) -> Node:
    halves = None if node.halves is None else (_renamed(node.halves[0], names), _renamed(node.halves[1], names))
    return replace(node, leaves=tuple(names[i] for i in node.leaves), halves=halves)


@dataclass(frozen=True)
class _Grouping:
    """Puts parts that are in one set together, under the count that they are all parts of."""

    held: _Held
    of: dict[int, int]
    """The set of each part."""
    needed: list[int]
    """The number of parts of each set."""

    def of_node(self, node: Node) -> tuple[Node, int | None] | None:
        """Return the count in the grouped tree and, if all its parts are in one set, that set; None if a set is neither inside of a count
        nor outside.
        """
        sets = {self.of[part] for part in node.leaves}
        if len(sets) == 1:
            return node, sets.pop()
        found: dict[tuple[str, int], list[Node]] = {}
        for place, child in enumerate(_siblings(node)):
            piece = self.of_node(child)
            if piece is None:
                return None
            found.setdefault(("one", place) if piece[1] is None else ("set", piece[1]), []).append(piece[0])
        for (kind, j), group in found.items():
            if kind == "set" and sum(len(piece.leaves) for piece in group) < self.needed[j]:
                return None
        both = self.held.total([self.held.total(group, 0.0) for group in found.values()], 0.0)
        if node.factor is not None:
            both = self.held.multiplied(both, values_at(Run(node.run.low, node.factor), both.run.low, len(both.run.value)))
        return both, None


def _siblings(node: Node) -> Iterator[Node]:
    """The counts that a count is the sum of."""
    for half in node.halves or ():
        if half.factor is None and half.halves is not None:
            yield from _siblings(half)
        else:
            yield half


def _cut(node: Node, of: dict[int, int], needed: list[int]) -> Node:
    """The tree with each set as a part of its own."""
    sets = {of[part] for part in node.leaves}
    if len(sets) == 1 and len(node.leaves) == needed[next(iter(sets))]:
        return replace(node, leaves=(sets.pop(),), halves=None, factor=None)
    assert node.halves is not None  # noqa: S101
    left, right = (_cut(half, of, needed) for half in node.halves)
    return replace(node, leaves=left.leaves + right.leaves, halves=(left, right))


# --- several sets of parts at once ------------------------------------------------------------------------------------


def _array(node: Node, of: dict[int, int], sets: int, marginals: dict[int, Run]) -> tuple[list[int], Floats]:
    """The law of the sums of the parts below a count that are in each set, and in none, by axes; and the first value on each axis."""
    axes = {of.get(part, sets) for part in node.leaves}
    if len(axes) == 1:
        axis = axes.pop()
        run = node.run if axis == sets or node.halves is not None else middle_part(node.run, marginals[node.leaves[0]])
        lows, shape = [0] * (sets + 1), [1] * (sets + 1)
        lows[axis], shape[axis] = run.low, len(run.value)
        return lows, run.value.reshape(shape)
    assert node.halves is not None  # noqa: S101
    (low, left), (more, right) = (_array(half, of, sets, marginals) for half in node.halves)
    lows, found = [a + b for a, b in zip(low, more, strict=True)], _convolved(left, right)
    return lows, found if node.factor is None else found * _at_sums(Run(node.run.low, node.factor), lows, found.shape)


def _at_sums(run: Run, lows: list[int], shape: tuple[int, ...]) -> Floats:
    """The values of a run at the sums of what stands on all axes."""
    places = reduce(np.add.outer, [low + np.arange(many) for low, many in zip(lows, shape, strict=True)]) - run.low
    inside = (places >= 0) & (places < len(run.value))
    return np.where(inside, run.value[np.where(inside, places, 0)], 0.0)


def _convolved(left: Floats, right: Floats) -> Floats:
    """The law of a sum on several axes, with all its digits too."""
    shape = [a + b - 1 for a, b in zip(left.shape, right.shape, strict=True)]
    check_pairs(prod(shape[:-1]), shape[-1])
    _check_products(left, right)
    short, long = sorted((left, right), key=np.size)
    found = np.zeros(shape)
    for place in np.argwhere(short):
        found[tuple(slice(low, low + many) for low, many in zip(place, long.shape, strict=True))] += short[tuple(place)] * long
    return found
