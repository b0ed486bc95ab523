"""The law of a whole tree of counts, observed and split at any level in any number of ways (docs/proofs/inference.md).

One pass up: what lies below a count, by its value; at a split the convolution of its parts, at a count the product over what was observed
and over its splits. One pass down: what lies elsewhere. All sums are of positive numbers, in logarithms, on windows.

Windows. What lies below a count is at most `M(u)`, the largest product of likelihoods that counts adding up to u can have, because a split
only takes a mean of such products. Likelihoods are log-concave, so that M is, and the M of a split is the sup-convolution of those of its
parts: their increments, sorted. The same holds going down, once the root's weight is replaced by a concave one above it. Both together
bound the weight of every value of every count, and what lies outside of the windows has at most the sum of these bounds.

It is an oracle: of the engine for one split, and of tables that are read together. It adds up logarithms, pair by pair, and so holds some
thousand records, where the engines hold any number of them under tilts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from scipy.special import logsumexp

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.counts.factors import Count, Split
from discreet.counts.law import OMITTED_AT_MOST
from discreet.counts.runs import Run, inverse
from discreet.errors import InvalidInputError, TooLargeError
from discreet.model.size_priors import SizePrior
from discreet.numerics.gamma import log_rising
from discreet.numerics.tails import kept

_WINDOW_ROUNDS = 6
"""How often windows are widened: the evidence, which says how wide they must be, is known once there are some."""
_FIRST_TOP = 64
_HIGHEST = 600.0
"""Logarithms of bounds above this are as good as infinite."""
_NOTHING = Run(0, np.zeros(1))
"""The logarithm of the law of no counts, whose sum is 0."""


def nested_counts(whole: Count, root: SizePrior) -> "NestedCounts":
    """The posterior law of all counts of a tree; `whole` is the count that all others are parts of, and `root` its weight.

    Raises:
        InvalidInputError: the weight of the root, a flat one with parts that were not observed, leaves no posterior.
        TooLargeError: the counts have more likely values than are held.
    """
    bounds = _bounds(whole, root)
    log_evidence = float(bounds.weights[whole].value.max())
    for _ in range(_WINDOW_ROUNDS):
        found = NestedCounts(whole, root, bounds.windows(log_evidence), bounds)
        log_evidence = found.log_evidence
        if np.isfinite(log_evidence) and found.omitted - root.omitted <= OMITTED_AT_MOST:
            return found
        log_evidence = min(log_evidence, float(bounds.weights[whole].value.max())) - 30.0
    return found


@dataclass(frozen=True, eq=False)
class NestedCounts:
    """The posterior law of all counts of a tree."""

    whole: Count
    root: SizePrior
    windows: dict[Count, tuple[int, int]]
    """The first and the last value of every count."""
    bounds: "_Bounds"

    @cached_property
    def log_evidence(self) -> float:
        """The logarithm of the sum of all weights, those of the root as they are given."""
        return float(logsumexp(self._up[self.whole].value + self._down[self.whole].value))

    @cached_property
    def omitted(self) -> float:
        """Upper bound on the probability that is left out."""
        return min(1.0, self.root.omitted + self.bounds.outside(self.windows, self.log_evidence))

    @cached_property
    def _terms(self) -> dict[Split, "_SplitTerms"]:
        found: dict[Split, _SplitTerms] = {}
        for count in _upward(self.whole):
            for split in count.splits:
                parts = [_times(self._below(p, found), _rise(a, self.windows[p])) for p, a in zip(split.parts, split.a, strict=True)]
                found[split] = _SplitTerms(parts, _rise(float(split.a.sum()), self.windows[count], -1.0))
        return found

    def _below(self, count: Count, terms: "dict[Split, _SplitTerms]", but: Split | None = None) -> Run:
        """What was observed of a count and of everything below it, without one of its splits, by its value."""
        low, high = self.windows[count]
        own = Run(low, count.log_likelihood(np.arange(low, high + 1.0)))
        return reduce(_times, (terms[split].message for split in count.splits if split is not but), own)

    @cached_property
    def _up(self) -> dict[Count, Run]:
        return {count: self._below(count, self._terms) for count in _upward(self.whole)}

    @cached_property
    def _down(self) -> dict[Count, Run]:
        """What lies outside of a count and what is below it, by its value."""
        low, high = self.windows[self.whole]
        found = {self.whole: Run(low, self.root(np.arange(low, high + 1.0)))}
        for count, split in _downward(self.whole):
            terms, outside = self._terms[split], self._outside(count, split, found[count])
            for i, (part, a) in enumerate(zip(split.parts, split.a, strict=True)):
                found[part] = _times(_at(_completed(outside, terms.rest([i])), self.windows[part]), _rise(float(a), self.windows[part]))
        return found

    def _outside(self, count: Count, split: Split, down: Run) -> Run:
        """Everything but the parts of one split of a count, by the value of the count."""
        return _times(_times(self._below(count, self._terms, split), down), self._terms[split].whole)

    def law(self, count: Count) -> Run:
        """Probabilities of the values of one count."""
        logs = self._up[count].value + self._down[count].value
        return Run(self._up[count].low, np.exp(logs - logsumexp(logs)))

    def joint(self, count: Count, split: Split, chosen: Sequence[int]) -> tuple[int, int, Floats]:
        """The joint law of the sum of some parts of a split and of the count that is split: the least of both, and probabilities."""
        own, rest = self._terms[split].of(chosen), self._terms[split].rest(chosen)
        outside = self._outside(count, split, self._down[count])
        left = outside.x[None, :] - own.x[:, None] - rest.low
        logs = own.value[:, None] + outside.value + _looked_up(rest, left)
        return own.low, outside.low, np.exp(logs - logsumexp(logs))

    def two_parts(self, count: Count, split: Split, first: int, second: int) -> tuple[int, int, Floats]:
        """The joint law of two parts of a split: the least of both, and probabilities."""
        terms = self._terms[split]
        completion = _completed(self._outside(count, split, self._down[count]), terms.rest([first, second]))
        left, right = terms.parts[first], terms.parts[second]
        together = left.x[:, None] + right.x[None, :] - completion.low
        logs = left.value[:, None] + right.value + _looked_up(completion, together)
        return left.low, right.low, np.exp(logs - logsumexp(logs))

    def sample(self, size: int, rng: np.random.Generator) -> dict[Count, Counts]:
        """Draws of all counts: the root, and then how every count splits."""
        law = self.law(self.whole)
        found = {self.whole: law.low + inverse(law.value, rng.random(size))}
        for count, split in _downward(self.whole):
            left = found[count]
            for i, part in enumerate(split.parts):
                found[part] = self._terms[split].drawn(i, left, rng)
                left = left - found[part]
        return found


@dataclass(frozen=True, eq=False)
class _SplitTerms:
    """The parts of a split, each with the weight of its values as logarithms, and the factor of their total."""

    parts: list[Run]
    whole: Run

    @cached_property
    def _after(self) -> list[Run]:
        """The total of each part and all after it, and of none."""
        found = [_NOTHING]
        for part in reversed(self.parts):
            found.append(_convolved(part, found[-1]))
        return found[::-1]

    @cached_property
    def message(self) -> Run:
        """What the parts weigh together, by their total."""
        return _times(_at(self._after[0], (self.whole.low, self.whole.high)), self.whole)

    def of(self, chosen: Sequence[int]) -> Run:
        """The total of some parts."""
        return reduce(_convolved, (self.parts[i] for i in chosen), _NOTHING)

    def rest(self, chosen: Sequence[int]) -> Run:
        """The total of all other parts."""
        return self.of([i for i in range(len(self.parts)) if i not in chosen])

    def drawn(self, i: int, left: Counts, rng: np.random.Generator) -> Counts:
        """Values of one part, given what is left for it and for all after it."""
        part, after = self.parts[i], self._after[i + 1]
        found = np.empty_like(left)
        for value in np.unique(left).tolist():
            rows = np.nonzero(left == value)[0]
            logs = part.value + _looked_up(after, value - part.x - after.low)
            found[rows] = part.low + inverse(np.exp(logs - logs.max()), rng.random(rows.size))
        return found


# --- sums in logarithms ---------------------------------------------------------------------------------------------------


def _times(left: Run, right: Run) -> Run:
    """The product where both have values, in logarithms."""
    low, high = max(left.low, right.low), min(left.high, right.high)
    return Run(low, _at(left, (low, high)).value + _at(right, (low, high)).value)


def _at(run: Run, window: tuple[int, int]) -> Run:
    """A run of logarithms on a window; -inf where it has none."""
    x = np.arange(window[0], window[1] + 1)
    return Run(window[0], _looked_up(run, x - run.low))


def _looked_up(run: Run, places: Counts | Floats) -> Floats:
    at = places.astype(np.int64)
    inside = (at >= 0) & (at < len(run.value))
    return np.where(inside, run.value[np.where(inside, at, 0)], -np.inf)


def _convolved(left: Run, right: Run) -> Run:
    """The logarithm of a convolution, every sum with all its digits."""
    short, long = sorted((left, right), key=lambda run: len(run.value))
    if len(short.value) * len(long.value) > limits.CONTRAST_PAIRS:
        raise TooLargeError(
            f"a tree of counts holds up to {limits.CONTRAST_PAIRS:,} pairs of two counts, and the noise leaves "
            f"{len(short.value) * len(long.value):,} possible. Less noise (a larger epsilon) needs fewer"
        )
    found = np.full(len(short.value) + len(long.value) - 1, -np.inf)
    for j, value in enumerate(short.value.tolist()):
        inside = slice(j, j + len(long.value))
        found[inside] = np.logaddexp(found[inside], value + long.value)
    return Run(short.low + long.low, found)


def _completed(target: Run, step: Run) -> Run:
    """For each s: ln Σ_t step(t) target(s + t)."""
    return _convolved(target, Run(-step.high, step.value[::-1]))


def _rise(a: float, window: tuple[int, int], sign: float = 1.0) -> Run:
    """ln Γ(a + x)/(Γ(a) x!), or one over it, on a window."""
    return Run(window[0], sign * log_rising(float(a), np.arange(window[0], window[1] + 1.0), 0.0))


def _upward(count: Count) -> Iterator[Count]:
    """All counts of a tree, parts before what they are parts of."""
    for split in count.splits:
        for part in split.parts:
            yield from _upward(part)
    yield count


def _downward(count: Count) -> Iterator[tuple[Count, Split]]:
    """All splits of a tree with what they split, from the root down."""
    for split in count.splits:
        yield count, split
        for part in split.parts:
            yield from _downward(part)


# --- bounds ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Bounds:
    """Bounds on the weight of every value of every count, as logarithms, and on that of all totals beyond."""

    weights: dict[Count, Run]
    log_beyond: float

    def windows(self, log_evidence: float) -> dict[Count, tuple[int, int]]:
        """Windows outside of which nearly nothing is left, if the evidence is this."""
        found = {}
        for count, run in self.weights.items():
            first, last, _ = kept(np.exp(np.minimum(run.value - log_evidence, _HIGHEST)), 1e-3 * OMITTED_AT_MOST / len(self.weights))
            found[count] = run.low + first, run.low + last
        return found

    def outside(self, windows: dict[Count, tuple[int, int]], log_evidence: float) -> float:
        """Bound on the probability outside of these windows."""
        left = [self.log_beyond]
        for count, run in self.weights.items():
            held = (run.x >= windows[count][0]) & (run.x <= windows[count][1])
            left.extend(run.value[~held].tolist())
        return float(np.exp(min(float(logsumexp(left)) - log_evidence, 0.0)))


def _bounds(whole: Count, root: SizePrior) -> _Bounds:
    """The bounds up to a total beyond which there is next to nothing."""
    if root.last is not None:
        return _bounds_to(whole, root, root.last)
    top = _FIRST_TOP
    while True:
        found = _bounds_to(whole, root, top)
        weights = found.weights[whole].value
        if found.log_beyond < float(weights.max()) - 200.0:
            return found
        if 2 * top >= limits.WINDOW_CELLS and np.isposinf(found.log_beyond):
            raise InvalidInputError("nothing bounds the number of records: give a size_prior under which large numbers are unlikely")
        top *= 2


def _bounds_to(whole: Count, root: SizePrior, top: int) -> _Bounds:
    if top >= limits.WINDOW_CELLS:
        raise TooLargeError(f"a tree of counts holds fewer than {limits.WINDOW_CELLS:,} records, and there may be {top:,}")
    x = np.arange(root.first, top + 1.0)
    most = {count: _most(count, None, top) for count in _upward(whole)}
    outside = {whole: _concave(Run(root.first, root(x)))}
    for count, split in _downward(whole):
        here = _times(outside[count], _most(count, split, top))
        for i, part in enumerate(split.parts):
            rest = reduce(_highest, (most[p] for j, p in enumerate(split.parts) if j != i), _NOTHING)
            rest = Run(rest.low, rest.value[: top + 1])
            found = _highest(here, Run(-rest.high, rest.value[::-1]))
            held = _at(found, (max(found.low, 0), min(found.high, top)))
            outside[part] = Run(held.low, held.value + np.log(len(here.value)))
    weights = {count: _times(outside[count], most[count]) for count in most}
    return _Bounds(weights, -np.inf if root.last is not None else _log_beyond(weights[whole]))


def _most(count: Count, but: Split | None, top: int) -> Run:
    """The largest product of likelihoods at and below a count, by its value, without one of its splits."""
    logs = count.log_likelihood(np.arange(top + 1.0))
    possible = np.nonzero(np.isfinite(logs))[0]
    found = Run(int(possible[0]), logs[possible[0] : possible[-1] + 1])
    for split in count.splits:
        if split is not but:
            parts = reduce(_highest, (_most(part, None, top) for part in split.parts))
            found = _times(found, Run(parts.low, parts.value[: max(top + 1 - parts.low, 1)]))
    return found


def _highest(left: Run, right: Run) -> Run:
    """The largest sum that two concave functions have at values that add up: their increments, sorted."""
    steps = -np.sort(-np.concatenate([np.diff(left.value), np.diff(right.value)]))
    return Run(left.low + right.low, np.concatenate([[0.0], np.cumsum(steps)]) + left.value[0] + right.value[0])


def _concave(run: Run) -> Run:
    """The least concave function above one, where that has any value."""
    if np.isfinite(run.value).all() and (np.diff(run.value, 2) <= 0.0).all():
        return run
    held = np.nonzero(np.isfinite(run.value))[0]
    hull: list[int] = []
    for j in held.tolist():
        while len(hull) > 1 and _above(run.value, hull[-2], hull[-1], j):
            hull.pop()
        hull.append(j)
    x = np.arange(hull[0], hull[-1] + 1)
    return Run(run.low + hull[0], np.interp(x, hull, run.value[hull]))


def _above(value: Floats, first: int, middle: int, last: int) -> bool:
    """Whether the line from the first place to the last is at or above the middle one."""
    return bool((value[middle] - value[first]) * (last - first) <= (value[last] - value[first]) * (middle - first))


def _log_beyond(run: Run) -> float:
    """The logarithm of a geometric series that goes on as a concave run ends."""
    slope = float(run.value[-1] - run.value[-2])
    return float(run.value[-1]) + slope - float(np.log(-np.expm1(slope))) if slope < 0.0 else np.inf


def full(run: Run, top: int) -> Floats:
    """The values of a run at 0, 1, ..., top."""
    found = np.zeros(max(top, run.high) + 1)
    found[run.low : run.high + 1] = run.value
    return found[: top + 1]
