"""Oracles for exact samplers: laws by brute force from the definitions, laws by trying every string of bits, and a test that can fail."""

import random
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lgamma
from typing import Any, TypeVar

import numpy as np
import pytest
from flint import arb
from numpy.typing import NDArray
from scipy.stats import chi2, ncx2

from discreet.errors import EntropyError
from discreet.numerics.balls import ball
from discreet.sampling import BitSource, SeededBits
from discreet.sampling.attempts import CandidateSampler
from tests.support import lattice

T = TypeVar("T", bound=Hashable)

FALSE_ALARM = 1e-5
"""Chance that one chi-square test rejects a right sampler. Fewer than 300 of them are run: 0.3 % for the whole family."""

WRONG = Fraction(11, 10)
"""The error of rate or scale that the same test must reject wherever it has power."""

POWER = 0.999
"""What "has power" means."""

LEVELS = 16


# --- bit sources ------------------------------------------------------------------------------------------------------


class DryBits:
    """Has no bits at all."""

    secret = False

    def bits(self, count: int) -> int:
        raise EntropyError(f"no {count} bits left")


class ScriptedBits:
    """Plays back words of given widths, and checks that they are asked for; raises when it runs dry."""

    def __init__(self, words: Iterable[tuple[int, int]]) -> None:
        self._words = list(words)
        self.taken = 0

    secret = False

    def bits(self, count: int) -> int:
        if self.taken == len(self._words):
            raise EntropyError("the script is over")
        width, value = self._words[self.taken]
        assert width == count
        self.taken += 1
        return value


class PretendedSecret(SeededBits):
    """Seeded bits that claim to be secret: for tests of what a record says."""

    secret = True


class StringBits:
    """Plays back one string of bits, whatever the widths asked for; raises when it runs dry. `left` have not been asked for."""

    def __init__(self, value: int, length: int) -> None:
        self._value, self.left = value, length

    secret = False

    def bits(self, count: int) -> int:
        if count > self.left:
            raise EntropyError("the string is over")
        self.left -= count
        return (self._value >> self.left) & ((1 << count) - 1)


def law_by_enumeration(draw: Callable[[BitSource], T], length: int) -> tuple[dict[T, Fraction], Fraction]:
    """The exact probability of every outcome decided within `length` bits, and that of the rest: no statistics involved.

    Strings that begin alike and differ only in bits that were not asked for have the same outcome, so one of them is played.
    """
    law: dict[T, Fraction] = {}
    undecided, value = 0, 0
    while value < 1 << length:
        source = StringBits(value, length)
        try:
            outcome = draw(source)
        except EntropyError:
            undecided += 1 << source.left
        else:
            law[outcome] = law.get(outcome, Fraction(0)) + Fraction(1 << source.left, 1 << length)
        value += 1 << source.left
    return law, Fraction(undecided, 1 << length)


# --- the test ---------------------------------------------------------------------------------------------------------


Groups = list[list[Hashable]]


@dataclass(frozen=True)
class Law:
    """A finite law; what is left of 1 belongs to all outcomes not named.

    Tested by two of Pearson's chi-squares at half the false-alarm rate each: over single outcomes, which sees any wrong cell, and over
    levels (sets of outcomes of about the same probability), which has the most power against a wrong rate or scale.
    """

    probability: Mapping[Hashable, float]

    @cached_property
    def _levels(self) -> Groups:
        groups: Groups = [[] for _ in range(LEVELS + 1)]
        below = 0.0
        for outcome in sorted(self.probability, key=self.probability.__getitem__, reverse=True):
            groups[int(below * LEVELS)].append(outcome)
            below = min(1.0, below + self.probability[outcome])
        return [group for group in groups if group]

    def _tests(self, draws: int) -> Iterator[tuple[Groups, NDArray[np.float64]]]:
        """Bins with their expected counts; the first is for everything rare or not named, and all expect at least 5 (or nothing at all)."""
        for groups in ([[outcome] for outcome in self.probability], self._levels):
            masses = [draws * sum(self.probability[outcome] for outcome in group) for group in groups]
            order = sorted(range(len(groups)), key=masses.__getitem__, reverse=True)
            while order and (masses[order[-1]] < 5.0 or 1e-9 * draws < draws - sum(masses[i] for i in order) < 5.0):
                order.pop()
            expected = np.array([0.0] + [masses[i] for i in order])
            expected[0] = max(0.0, draws - expected.sum())
            yield [[]] + [groups[i] for i in order], expected

    def p_value(self, outcomes: Sequence[Hashable]) -> float:
        """How surprising these outcomes are under the law."""
        smallest = 1.0
        for bins, expected in self._tests(len(outcomes)):
            place = {outcome: i for i, group in enumerate(bins) for outcome in group}
            observed = np.bincount([place.get(outcome, 0) for outcome in outcomes], minlength=len(bins)).astype(np.float64)
            if expected[0] < 1e-9 * len(outcomes):  # nothing may fall outside
                if observed[0]:
                    return 0.0
                observed, expected = observed[1:], expected[1:]
            if len(expected) > 1:
                smallest = min(smallest, float(chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1)))
        return min(1.0, 2.0 * smallest)

    def power(self, other: "Law", draws: int) -> float:
        """Chance, at least, that the test at `FALSE_ALARM` rejects draws from the other law (noncentral chi-square)."""
        best = 0.0
        for bins, expected in self._tests(draws):
            named = np.array([sum(other.probability.get(outcome, 0.0) for outcome in group) for group in bins])
            named[0] = 1.0 - named[1:].sum()
            keep = expected > 1e-9 * draws
            if keep.sum() > 1:
                noncentrality = ((named[keep] * draws - expected[keep]) ** 2 / expected[keep]).sum()
                freedom = int(keep.sum()) - 1
                best = max(best, float(ncx2.sf(chi2.isf(FALSE_ALARM / 2, freedom), freedom, noncentrality)))
        return best


# --- exponential mechanisms, from the definitions ---------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """One dataset under one prior, small enough to enumerate; `scale` is what the exponent is divided by: 2 GS, 2 LS or 2(1+γ)S."""

    prior: tuple[str, ...]
    counts: tuple[int, ...]
    epsilon: str
    mechanism: str

    def __str__(self) -> str:
        return f"{self.mechanism}-prior={','.join(self.prior)}-counts={','.join(map(str, self.counts))}-epsilon={self.epsilon}"

    @property
    def exact_prior(self) -> tuple[Fraction, ...]:
        return tuple(Fraction(a) for a in self.prior)

    @cached_property
    def points(self) -> NDArray[np.int64]:
        return lattice(sum(self.counts), len(self.counts))

    @cached_property
    def _position(self) -> int:
        return int(np.nonzero((self.points == np.array(self.counts)).all(axis=1))[0][0])

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """Hellinger distances between all posteriors, straight from ½lnΓ(u) + ½lnΓ(v) - lnΓ((u+v)/2)."""
        n = sum(self.counts)
        divergence = np.zeros((len(self.points), len(self.points)))
        for i, a in enumerate(float(Fraction(a)) for a in self.prior):
            gaps = [[(lgamma(a + r) + lgamma(a + s)) / 2 - lgamma(a + (r + s) / 2) for s in range(n + 1)] for r in range(n + 1)]
            column = self.points[:, i]
            divergence += np.array(gaps)[np.ix_(column, column)]
        np.fill_diagonal(divergence, 0.0)
        return np.sqrt(-np.expm1(-np.maximum(divergence, 0.0)))

    @cached_property
    def rate(self) -> Fraction:
        """c = ε / scale, by the definitions (docs/research/sensitivity.md); sampler and oracle then take the float as exact."""
        moved = np.abs(self.points[:, None, :] - self.points[None, :, :]).sum(axis=-1) // 2
        local = np.where(moved == 1, self.distances, 0.0).max(axis=1)
        scale = {
            "global": 2.0 * local.max(),
            "local": 2.0 * local[self._position],
            "smooth": 4.0 * (1.0 / (1.0 / local + moved[self._position])).max(),
        }[self.mechanism]
        return Fraction(float(Fraction(self.epsilon)) / float(scale))

    def ball(self) -> arb:
        return ball(self.rate)

    def wrong_ball(self) -> arb:
        return ball(self.rate * WRONG)

    def law(self, factor: Fraction = Fraction(1)) -> Law:
        weight = np.exp(-float(self.rate * factor) * self.distances[self._position])
        return Law({tuple(int(c) for c in point): float(w) for point, w in zip(self.points, weight / weight.sum(), strict=True)})


# --- draws ------------------------------------------------------------------------------------------------------------


def draws(sampler: CandidateSampler, size: int, seed: int) -> list[tuple[int, ...]]:
    """Independent draws of a sampler from a stream of its own."""
    source = SeededBits(seed)
    return [sampler.draw(source) for _ in range(size)]


def forbid_other_randomness(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make Python's and NumPy's own generators raise: a release must ask its source of bits alone."""

    def forbidden(*_: Any, **__: Any) -> None:
        raise AssertionError("a release asked for randomness that is not exact")

    for function in ("random", "randrange", "getrandbits", "randint", "choice", "choices", "shuffle", "gauss"):
        monkeypatch.setattr(random, function, forbidden)
    for function in ("default_rng", "random", "rand", "randint", "choice", "laplace", "geometric", "seed"):
        monkeypatch.setattr(np.random, function, forbidden)
