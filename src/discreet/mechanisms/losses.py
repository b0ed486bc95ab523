"""Exact privacy losses of mechanisms whose laws can be listed, with rigorous upper bounds (docs/explain/privacy.md).

Every law is computed in floats with a known error η in each log probability, so a loss is known to 2η, and a hockey-stick divergence
to 2η times the probability of the outcomes that enter it. The bounds below add that; they are what a guarantee may rest on.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise, starmap
from math import comb, exp, expm1, inf, sqrt

import numpy as np

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.errors import TooLargeError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.laws import ATOM_ERROR, ListedLaw
from discreet.model.datasets import Space, candidate_count, check_outcomes
from discreet.record.guarantee import rounded_up
from discreet.validation import exact

_PAIR_ITSELF = 1_000
"""The cost of a pair of datasets beside the probabilities that are compared."""
PROFILE_PASSES = 8
"""A whole privacy profile takes about as long as this many losses, since every pair is sorted."""


@dataclass(frozen=True)
class Bounded:
    """A computed quantity: its float value, a rigorous upper bound, and the neighbouring datasets where it is reached."""

    value: float
    bound: float
    at: tuple[tuple[int, ...], tuple[int, ...]]

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True)
class _NeighbourPair:
    """The laws of two neighbouring datasets, and the error of their log probabilities."""

    first: Counts
    second: Counts
    log_first: Floats
    log_second: Floats
    error: float

    @property
    def at(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return tuple(self.first.tolist()), tuple(self.second.tolist())

    @cached_property
    def loss(self) -> float:
        """The largest difference of log probabilities, either way."""
        return max(float(loss.max()) for _, loss in self.directions)

    @property
    def directions(self) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Each of the two laws with its losses against the other."""
        loss = self.log_first - self.log_second
        return (self.log_first, loss), (self.log_second, -loss)


def _pair(first: ListedLaw, second: ListedLaw) -> _NeighbourPair:
    error = max(first.log_error, second.log_error)
    return _NeighbourPair(first.counts, second.counts, first.log_probability, second.log_probability, error)


def check_paired(n: int, k: int, passes: int = 1) -> None:
    """Refuse to go through the neighbouring datasets so many times if it would take long."""
    size = candidate_count(n, k) if k <= limits.LOSS_CANDIDATES else k  # with so many categories one record is too many already
    if k == 2:
        check_outcomes(size, "the privacy loss", int(limits.LOSS_RECORDS / sqrt(passes)) + 1)
        return
    check_outcomes(size, "the privacy loss", limits.LOSS_CANDIDATES)
    pairs = k * (k - 1) // 2 * comb(n + k - 2, k - 1)
    if passes * (pairs * (size + _PAIR_ITSELF) + k * size**2) > limits.LOSS_COMPARISONS:
        raise TooLargeError(
            f"the privacy loss of {k} categories and n = {n:,} would compare {size:,} probabilities of {pairs:,} pairs of datasets; "
            "use fewer records or categories"
        )


def neighbouring_laws(mechanism: Mechanism, *, every: bool = False, passes: int = 1) -> Iterator[_NeighbourPair]:
    """The laws of every pair of neighbouring datasets, each pair once; `passes` says how many times as long as a loss its use takes.

    Where categories are alike, pairs that differ by their order have the same losses: then, unless `every` is asked for, one dataset
    of each pair has ascending counts.
    """
    check_paired(mechanism.space.total, mechanism.k, passes)
    space, fewer = mechanism.space, mechanism._is_symmetric and not every
    if space.k == 2:
        yield from starmap(_pair, pairwise(mechanism._listed_laws(space.points()[: (space.total + 1) // 2 + 1] if fewer else None)))
        return
    points = space.points()
    chosen = points[(np.diff(points, axis=-1) >= 0).all(axis=-1)] if fewer else points
    pairs = list(_pairs(space, {tuple(counts) for counts in chosen.tolist()}))
    needed = np.array(sorted({counts for pair in pairs for counts in pair}))
    listed = {tuple(law.counts.tolist()): law for law in mechanism._listed_laws(needed)}
    for first, second in pairs:
        yield _pair(listed[first], listed[second])


def _pairs(space: Space, chosen: set[tuple[int, ...]]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return every pair of neighbouring datasets of which one is chosen, each pair once."""
    for counts in sorted(chosen):
        for other in space.neighbours(counts):
            if not (other > counts and other in chosen):
                yield counts, other


def enumerated_loss(mechanism: Mechanism) -> Bounded:
    """The largest `|ln P_x(r) / P_x'(r)|` over all neighbours and outcomes."""
    return _largest(Bounded(pair.loss, pair.loss + 2.0 * pair.error, pair.at) for pair in neighbouring_laws(mechanism))


def _largest(found: Iterable[Bounded]) -> Bounded:
    """The largest value and where it is reached, with the largest bound of all. There is always a pair of neighbours."""
    pairs = iter(found)
    best = next(pairs)
    for one in pairs:
        larger = one if one.value > best.value else best
        best = Bounded(larger.value, max(best.bound, one.bound), larger.at)
    return best


def enumerated_profile(mechanism: Mechanism) -> tuple[Counts, Floats]:
    """Return every dataset with the largest loss against any of its neighbours."""
    worst: dict[tuple[int, ...], float] = {}
    for pair in neighbouring_laws(mechanism, every=True):
        for counts in pair.at:
            worst[counts] = max(worst.get(counts, 0.0), pair.loss)
    order = sorted(worst)
    return np.array(order), np.array([worst[counts] for counts in order])


def enumerated_delta(mechanism: Mechanism, epsilon: float) -> Bounded:
    """The largest hockey-stick divergence Σ_r (P_x(r) - e^ε P_x'(r))+ over all neighbours, in both directions.

    An outcome enters the true sum only if its true loss exceeds ε, hence its computed one exceeds ε - 2η. Its term P (1 - e^{ε - loss})
    is then off by at most P(e^η - 1) for P and P e^η (e^{2η} - 1) for the loss, together below 3 P (e^η - 1) e^{2η}.
    """

    def both_ways(pair: _NeighbourPair) -> Iterator[Bounded]:
        for log_law, signed in pair.directions:
            enters = signed > epsilon - 2.0 * pair.error
            mass = np.exp(log_law[enters])
            value = float((mass * np.maximum(0.0, -np.expm1(epsilon - signed[enters]))).sum())
            slack = 3.0 * expm1(pair.error) * exp(2.0 * pair.error) * float(mass.sum()) if pair.error < 1.0 else float(enters.any())
            yield Bounded(value, value + slack, pair.at)

    return _largest(chain.from_iterable(map(both_ways, neighbouring_laws(mechanism))))


def composes_by_cell(mechanism: Mechanism) -> bool:
    """Return whether replacing a record tells as much as two releases do, each about a record that comes or goes (docs/proofs/ledger.md).

    That is so where n is private and each count has noise of its own: two counts change, each by one.
    """
    return mechanism.n is None and mechanism.noise is not None and not mechanism.noise.blocks


def renyi_divergence(mechanism: Mechanism, order: float) -> Bounded:
    """The largest Rényi divergence of an order between the laws of neighbouring datasets, in either direction.

    For Gaussian noise it is the bound that is reached at whole orders.
    """
    atoms = mechanism._loss_atoms()
    if atoms is not None and atoms.rho is not None:
        largest = rounded_up(exact(order, "order") * atoms.rho)
        return Bounded(largest, largest, mechanism.space.pair())
    if atoms is not None:
        log_law = np.log(np.maximum(atoms.probability, 0.0) + _LEAST_PROBABILITY)
        return _larger_divergence(log_law, log_law - atoms.loss, order, ATOM_ERROR, mechanism.space.pair())
    pairs = neighbouring_laws(mechanism)
    return _largest(_larger_divergence(pair.log_first, pair.log_second, order, pair.error, pair.at) for pair in pairs)


_LEAST_PROBABILITY = 2.0**-50
"""Added to probabilities that are differences from 1: more than such a difference can be off."""


def _larger_divergence(
    log_first: Floats, log_second: Floats, order: float, error: float, at: tuple[tuple[int, ...], tuple[int, ...]]
) -> Bounded:
    """ln Σ_z P(z)^a Q(z)^(1-a) / (a-1), the larger of both directions, where log probabilities are known to an error.

    An exponent is then off by at most (2a - 1) times that error, and by the rounding of the order, of its products and of the sum.
    """
    with np.errstate(all="ignore"):  # laws too extreme for floats have no bound here
        exponents = [order * one - (order - 1.0) * other for one, other in ((log_first, log_second), (log_second, log_first))]
        peaks = [float(exponent.max()) for exponent in exponents]
        logs = [peak + float(np.log(np.exp(exponent - peak).sum())) for exponent, peak in zip(exponents, peaks, strict=True)]
    if not np.isfinite(logs).all():
        return Bounded(inf, inf, at)
    largest = max(float(np.abs(log_first).max()), float(np.abs(log_second).max()))
    rounding = (len(log_first) + 8.0 * order * (largest + 1.0)) * 2.0**-52
    slack = ((2.0 * order - 1.0) * error + rounding) / (order - 1.0)
    value = max(0.0, *logs) / (order - 1.0)
    return Bounded(value, value + slack, at)
