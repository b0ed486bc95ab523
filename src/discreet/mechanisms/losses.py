"""Exact privacy losses of mechanisms whose laws can be listed, with rigorous upper bounds (DESIGN section 6).

Every law is computed in floats with a known error η in each log probability, so a loss is known to 2η, and a hockey-stick divergence
to 2η times the probability of the outcomes that enter it. The bounds below add that; they are what a guarantee may rest on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, expm1
from typing import Protocol

import numpy as np

from discreet.enumeration import candidate_count, check_outcomes
from discreet.numerics import RELATIVE_ERROR, Floats
from discreet.validation import Counts

__all__ = [
    "MOST_PAIRED_CANDIDATES",
    "Bounded",
    "Enumerable",
    "enumerated_delta",
    "enumerated_loss",
    "enumerated_profile",
    "neighbouring_laws",
]

MOST_PAIRED_CANDIDATES = 4_000
"""With three or more categories the laws of all datasets are held at once: a table of at most this size squared."""
MOST_PAIRED_RECORDS = 50_000
"""With two categories a neighbour is the next dataset, and two laws are held at a time; the time is quadratic in n."""


class Enumerable(Protocol):
    """What is needed here of a mechanism of the exponential family."""

    @property
    def k(self) -> int:
        """Number of categories."""

    @property
    def n(self) -> int:
        """Number of records."""

    def log_laws(self) -> Iterator[tuple[Counts, float, Floats]]:
        """Counts, rate and log probabilities of all candidates, for every dataset in turn."""


@dataclass(frozen=True)
class Bounded:
    """A computed quantity: its float value, a rigorous upper bound, and the neighbouring datasets where it is reached."""

    value: float
    bound: float
    at: tuple[tuple[int, ...], tuple[int, ...]]

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True)
class _Pair:
    """The laws of two neighbouring datasets, and the error of their log probabilities."""

    first: Counts
    second: Counts
    log_first: Floats
    log_second: Floats
    error: float

    @property
    def at(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The two datasets."""
        return tuple(self.first.tolist()), tuple(self.second.tolist())


def _error(law: Floats, other: Floats) -> float:
    """Bound on the error of a log probability: of the exponent, again in the normaliser, and of adding up the normaliser.

    The exponent is rate · H, at most the spread of the log probabilities, since H = 0 for the data themselves. H has at most the
    relative error of `numerics`, the rate (a ratio with one sensitivity) at most 4 of those; a sixth covers the spread's own error.
    """
    spread = float(max(np.ptp(law), np.ptp(other)))
    return 2.0 * spread * 6.0 * RELATIVE_ERROR + len(law) * 2.0**-52 + 2.0**-48


def neighbouring_laws(mechanism: Enumerable) -> Iterator[_Pair]:
    """The laws of every pair of neighbouring datasets, each pair once."""
    size = candidate_count(mechanism.n, mechanism.k)
    if mechanism.k == 2:
        check_outcomes(size, "the privacy loss", MOST_PAIRED_RECORDS + 1)
        laws = mechanism.log_laws()
        counts, _, law = next(laws)
        for other, _, other_law in laws:
            yield _Pair(counts, other, law, other_law, _error(law, other_law))
            counts, law = other, other_law
        return
    check_outcomes(size, "the privacy loss", MOST_PAIRED_CANDIDATES)
    listed = list(mechanism.log_laws())
    where = {tuple(counts.tolist()): i for i, (counts, _, _) in enumerate(listed)}
    for counts, _, law in listed:
        for i in np.nonzero(counts)[0]:
            for j in range(i + 1, mechanism.k):
                other = counts.copy()
                other[i] -= 1
                other[j] += 1
                other_law = listed[where[tuple(other.tolist())]][2]
                yield _Pair(counts, other, law, other_law, _error(law, other_law))


def enumerated_loss(mechanism: Enumerable) -> Bounded:
    """The largest `|ln P_x(r) / P_x'(r)|` over all neighbours and outcomes."""
    best = None
    for pair in neighbouring_laws(mechanism):
        value = float(np.abs(pair.log_first - pair.log_second).max())
        if best is None or value > best.value:
            best = Bounded(value, value, pair.at)
        best = Bounded(best.value, max(best.bound, value + 2.0 * pair.error), best.at)
    assert best is not None  # n >= 1 and k >= 2: there is always a neighbour  # noqa: S101
    return best


def enumerated_profile(mechanism: Enumerable) -> tuple[Counts, Floats]:
    """Every dataset with the largest loss against any of its neighbours."""
    worst: dict[tuple[int, ...], float] = {}
    for pair in neighbouring_laws(mechanism):
        value = float(np.abs(pair.log_first - pair.log_second).max())
        for counts in pair.at:
            worst[counts] = max(worst.get(counts, 0.0), value)
    order = sorted(worst)
    return np.array(order), np.array([worst[counts] for counts in order])


def enumerated_delta(mechanism: Enumerable, epsilon: float) -> Bounded:
    """The largest hockey-stick divergence Σ_r (P_x(r) - e^ε P_x'(r))+ over all neighbours, in both directions.

    An outcome enters the true sum only if its true loss exceeds ε, hence its computed one exceeds ε - 2η. Its term P (1 - e^{ε - loss})
    is then off by at most P(e^η - 1) for P and P e^η (e^{2η} - 1) for the loss, together below 3 P (e^η - 1) e^{2η}.
    """
    best = None
    for pair in neighbouring_laws(mechanism):
        loss = pair.log_first - pair.log_second
        for log_law, signed in ((pair.log_first, loss), (pair.log_second, -loss)):
            enters = signed > epsilon - 2.0 * pair.error
            mass = np.exp(log_law[enters])
            value = float((mass * np.maximum(0.0, -np.expm1(epsilon - signed[enters]))).sum())
            slack = 3.0 * expm1(pair.error) * exp(2.0 * pair.error) * float(mass.sum()) if pair.error < 1.0 else float(enters.any())
            bound = value + slack
            if best is None or value > best.value:
                best = Bounded(value, value if best is None else best.bound, pair.at)
            best = Bounded(best.value, max(best.bound, bound), best.at)
    assert best is not None  # as above  # noqa: S101
    return best
