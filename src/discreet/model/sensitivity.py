"""Sensitivities of the Hellinger distance between posteriors, without enumerating datasets (docs/research/sensitivity.md).

Replacing one record moves a count from category i to category j, and the posterior by `H = sqrt(1 - e^-(F(s) + F(t)))` with
`F(s) = gap(s, s + 1)`, which decreases, `s = a_i + y_i - 1` and `t = a_j + y_j`. The page proves that a smooth sensitivity is reached at
the end of one of a few straight paths from the data: O(k²) candidates at any n.

Three kinds of entry occur in a candidate, as source or target of the last move: `low`, a category emptied to its prior (`F(a)`);
`source`, a category as it is that gives a record (`F(a + x - 1)`); `target`, one as it is that takes it (`F(a + x)`).
With two categories what leaves one enters the other, and a path ends at `full` (`F(a + n - 1)`) instead of at a second `low`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, permutations
from math import sqrt
from typing import cast

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.errors import InvalidInputError, TooLargeError
from discreet.model.dirichlet import Prior
from discreet.numerics.balls import ball
from discreet.numerics.gamma import gap, to_hellinger
from discreet.numerics.proved_floats import GapTable, fall_of
from discreet.validation import Number, check_positive, check_records

# Candidates closer than this in float cannot be told apart by it (its error is below 1e-12), so all of them go to the enclosure.
_TIE = 1e-9
_FEW_CATEGORIES = 3
"""The leg ends of so many categories are compared by enclosures sooner than by floats."""
TABLED_ERROR = 2.0**-46
"""Bound on the relative error of a sensitivity from tables that are fine (docs/proofs/exactness.md)."""


@dataclass(frozen=True)
class Step:
    """One replacement, `distance` others away: the parameters (s, t) of its two categories without the record that moves."""

    s: Fraction
    t: Fraction
    distance: int = 0


@dataclass(frozen=True)
class Smoothing:
    """The discount of a sensitivity at distance d: 1/(1/h + γ d), or h e^{-β d}."""

    gamma: Fraction | None = None
    beta: float | None = None

    def __call__(self, h: Floats, distance: Floats) -> Floats:
        if self.gamma is not None:
            return h / (1.0 + float(self.gamma) * distance * h)
        return h * np.exp(-cast(float, self.beta) * distance)


# --- the public functions ---------------------------------------------------------------------------------------------


def local_sensitivity(prior: Prior, counts: ArrayLike) -> float:
    """Largest Hellinger distance between the posterior of these counts and that of a neighbour. O(k). Private: not for release."""
    return float(local_sensitivities(prior, prior._checked(counts)))


def global_sensitivity(prior: Prior, n: int) -> float:
    """Largest local sensitivity over all datasets of n records. O(k), public."""
    steps = global_steps(prior, check_records(n))
    return float(max(to_hellinger(_steepness(np.array([float(e.s), float(e.t)])).sum()) for e in steps))


def smooth_sensitivity(prior: Prior, counts: ArrayLike, *, gamma: Number | None = None, beta: Number | None = None) -> float:
    """Smooth upper bound on the local sensitivity. O(k²) at any n. Private: not for release.

    With `gamma`, 1/S changes by at most gamma between neighbours: `max_y 1/(1/LS(y) + γ d(x, y))`.
    With `beta`, ln S changes by at most beta: `max_y LS(y) e^{-β d(x, y)}`.

    Args:
        prior: The prior, whose posteriors are compared.
        counts: The private counts.
        gamma, beta: The smoothness. Exactly one of them must be given.
    """
    if (gamma is None) == (beta is None):
        raise InvalidInputError("give exactly one of gamma and beta")
    if gamma is not None:
        smoothing = Smoothing(gamma=check_positive(gamma, "gamma"))
    else:
        smoothing = Smoothing(beta=float(check_positive(beta, "beta")))
    return float(smooth_sensitivities(prior, prior._checked(counts), smoothing))


# --- floats, for any number of datasets at once (categories on the last axis) -----------------------------------------


def _steepness(s: Floats) -> Floats:
    """F(s) = gap(s, s + 1) > 0, decreasing."""
    return gap(s, s + 1.0, np.ones_like(s))


def local_sensitivities(prior: Prior, counts: Counts) -> Floats:
    """Local sensitivity of every dataset: the steepest category that can give a record with the steepest other one to take it."""
    a = prior.concentration
    gives = np.where(counts >= 1, _steepness(a + np.maximum(counts - 1, 0)), -np.inf)
    takes = _steepness(a + counts)
    first = takes.argmax(axis=-1)
    second = np.partition(takes, -2, axis=-1)[..., -2]
    best_other = np.where(np.arange(prior.k) == first[..., None], second[..., None], takes.max(axis=-1, keepdims=True))
    return to_hellinger((gives + best_other).max(axis=-1))


def smooth_sensitivities(prior: Prior, counts: Counts, smoothing: Smoothing, ends: "LegEnds | None" = None) -> Floats:
    """Smooth sensitivity of every dataset: the best of the leg ends, all of them unless some are given."""
    ends = ends or leg_ends(prior.k)
    together = max(1, limits.SMOOTH_ENDS // ends.kind.size)
    if counts.ndim == 2 and len(counts) > together:
        parts = [counts[start : start + together] for start in range(0, len(counts), together)]
        return np.concatenate([smooth_sensitivities(prior, part, smoothing, ends) for part in parts])
    return cast(Floats, _discounted(prior, counts, smoothing, ends).max(axis=-1))


def check_smooth(k: int) -> None:
    """Refuse, by the number of categories alone, what would not fit in memory."""
    if k > limits.SMOOTH_CATEGORIES:
        raise TooLargeError(f"a smooth sensitivity is computed for at most {limits.SMOOTH_CATEGORIES} categories, not for {k}")


def _discounted(prior: Prior, counts: Counts, smoothing: Smoothing, ends: "LegEnds") -> Floats:
    """The discounted sensitivity of every leg end; -1 where the path does not exist."""
    steepness = _steepness(_entries(prior.concentration, counts))
    h = to_hellinger(steepness[..., ends.source] + steepness[..., ends.target])
    distance, exists = ends.reach(counts)
    return np.where(exists, smoothing(h, distance.astype(np.float64)), -1.0)


def _entries(a: Floats, counts: Counts) -> Floats:
    """The arguments of F at leg ends, as a table [low | source | target | full] for every dataset."""
    n = counts.sum(axis=-1, keepdims=True)
    low = np.broadcast_to(a, counts.shape)
    return np.concatenate([low, a + np.maximum(counts - 1, 0), a + counts, a + (n - 1)], axis=-1)


@dataclass(frozen=True)
class LegEnds:
    """The ends of paths, as columns of the table of entries, with rules for the distance to them."""

    giver: NDArray[np.intp]
    taker: NDArray[np.intp]
    kind: NDArray[np.intp]
    source: NDArray[np.intp]
    target: NDArray[np.intp]

    def reach(self, counts: Counts) -> tuple[Counts, NDArray[np.bool_]]:
        """Records to replace before the step, and whether the path exists, for every end (last axis)."""
        gives, takes = counts[..., self.giver], counts[..., self.taker]
        held, spare = gives >= 1, np.maximum(gives - 1, 0)
        # With both emptied, the record that moves is one of theirs; if they have none, it is first brought from elsewhere.
        both = np.where(gives + takes >= 1, gives + takes - 1, 1)
        distance = np.choose(self.kind, [np.zeros_like(gives), spare, both])
        always = np.ones_like(held)
        exists = np.choose(self.kind, [held, held | (counts.shape[-1] == 2), always])
        return distance, exists


@lru_cache(maxsize=4)  # 100 MB each for a thousand categories
def leg_ends(k: int) -> LegEnds:
    """Kinds: 0 the data as they are; 1 giver emptied; 2 both emptied. The taker emptied alone is kind 1 of the reversed pair."""
    check_smooth(k)
    low, source, target, full = 0, k, 2 * k, 3 * k
    giver, taker = np.nonzero(~np.eye(k, dtype=bool))
    kinds = [(source, target), (low, full)] if k == 2 else [(source, target), (low, target), (low, low)]
    return LegEnds(
        np.tile(giver, len(kinds)),
        np.tile(taker, len(kinds)),
        np.repeat(np.arange(len(kinds)), giver.size),
        np.concatenate([giver + left for left, _ in kinds]),
        np.concatenate([taker + right for _, right in kinds]),
    )


# --- exact steps, for enclosures --------------------------------------------------------------------------------------


def global_steps(prior: Prior, n: int) -> list[Step]:
    """Steps among which the global sensitivity is reached."""
    if prior.k == 2:
        first, second = prior.exact
        return [Step(first, second + n - 1), Step(first + n - 1, second)]
    lowest, next_lowest = sorted(prior.exact)[:2]
    return [Step(lowest, next_lowest)]


def local_steps(prior: Prior, counts: Counts) -> list[Step]:
    """Steps among which the local sensitivity of one dataset is reached: F decreases, so exact order decides."""
    exact, records = prior.exact, [int(x) for x in counts]
    gives = sorted((a + x - 1, i) for i, (a, x) in enumerate(zip(exact, records, strict=True)) if x >= 1)[:2]
    takes = sorted((a + x, j) for j, (a, x) in enumerate(zip(exact, records, strict=True)))[:2]
    return [Step(s, t) for s, i in gives for t, j in takes if i != j]


def smooth_steps(prior: Prior, counts: Counts, smoothing: Smoothing) -> list[Step]:
    """Steps among which the smooth sensitivity of one dataset is reached: the leg ends, without those that floats can rule out if many."""
    exact, records = prior.exact, [int(x) for x in counts]
    if prior.k <= _FEW_CATEGORIES:
        return _distinct(Step(exact[i] + u, exact[j] + v, distance) for (i, u), (j, v), distance in _few_leg_ends(records))
    ends = leg_ends(prior.k)
    distance, _ = ends.reach(counts)
    value = _discounted(prior, counts, smoothing, ends)
    close = value >= value.max() * (1.0 - _TIE)
    pairs = list(zip(exact, records, strict=True))
    table = [*exact, *(a + max(x - 1, 0) for a, x in pairs), *(a + x for a, x in pairs), *(a + sum(records) - 1 for a in exact)]
    return _distinct(Step(table[ends.source[c]], table[ends.target[c]], int(distance[c])) for c in np.nonzero(close)[0])


def _distinct(steps: Iterable[Step]) -> list[Step]:
    """Steps without those that occur again, in order.

    Steps of private counts are compared and never hashed: from Python 3.12 on, `fractions` remembers the last numbers that were hashed.
    """
    found = sorted(steps, key=lambda step: (step.distance, step.s, step.t))
    return found[:1] + [step for last, step in pairwise(found) if step != last]


def steps_ball(steps: list[Step], discount: Callable[[arb, int], arb] = lambda h, _: h) -> arb:
    """Enclosure, at the working precision, of the largest sensitivity among the steps after `discount(sensitivity, distance)`."""
    steepness: dict[tuple[int, int], arb] = {}  # by numerator and denominator: a fraction is not hashed, as in `_distinct`
    for parameter in (parameter for step in steps for parameter in (step.s, step.t)):
        if (key := parameter.as_integer_ratio()) not in steepness:
            steepness[key] = _steepness_ball(parameter)
    falls = ((steepness[step.s.as_integer_ratio()] + steepness[step.t.as_integer_ratio()], step.distance) for step in steps)
    best, *rest = (discount((-(-fall).expm1()).sqrt(), distance) for fall, distance in falls)
    for other in rest:
        best = best.max(other)
    return best


def _steepness_ball(s: Fraction) -> arb:
    """Enclosure of F(s) = gap(s, s + 1) = lnΓ(s) + ½ ln s - lnΓ(s + ½)."""
    here = ball(s)
    return here.lgamma() + here.log() / 2 - ball(s + Fraction(1, 2)).lgamma()


# --- one dataset of few records, from tables --------------------------------------------------------------------------

Place = tuple[int, int]
"""A category and how many records it has."""


def _few_leg_ends(records: Sequence[int]) -> Iterator[tuple[Place, Place, int]]:
    """The leg ends of one dataset, one by one: source and target of the step without the record that moves, and the distance."""
    n, pairs = sum(records), permutations(enumerate(records), 2)
    for (giver, gives), (taker, takes) in pairs:
        if gives:
            yield (giver, gives - 1), (taker, takes), 0
        if len(records) == 2:
            yield (giver, 0), (taker, n - 1), max(gives - 1, 0)
        else:
            if gives:
                yield (giver, 0), (taker, takes), gives - 1
            if giver < taker:
                yield (giver, 0), (taker, 0), gives + takes - 1 if gives + takes else 1


def tabled_local_sensitivity(tables: Sequence[GapTable], records: Sequence[int]) -> float:
    """The local sensitivity of one dataset, to a relative error of `TABLED_ERROR`, from one table for each category."""
    moves = permutations(enumerate(records), 2)
    return sqrt(fall_of(max(tables[i].steps[gives - 1] + tables[j].steps[takes] for (i, gives), (j, takes) in moves if gives)))


def tabled_smooth_sensitivity(tables: Sequence[GapTable], records: Sequence[int], gamma: float) -> float:
    """The γ-smooth sensitivity of one dataset, to a relative error of `TABLED_ERROR`, from one table for each category."""
    steepest: dict[int, float] = {}  # at each distance, since sensitivity grows with steepness
    for (i, u), (j, v), distance in _few_leg_ends(records):
        steepest[distance] = max(steepest.get(distance, 0.0), tables[i].steps[u] + tables[j].steps[v])
    distances = ((distance, sqrt(fall_of(steepness))) for distance, steepness in steepest.items())
    return max(h / (1.0 + gamma * distance * h) for distance, h in distances)
