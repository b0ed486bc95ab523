"""Changes of counts by a law that is no noise of its own, which are read by the likelihood of each published count.

Counts may go through a matrix (docs/howto/observed.md). In randomized response (docs/proofs/inference.md, "Randomized answers") some m_j
of the y_j reported answers "j" are truthful. A person tells the truth with probability p - q, and otherwise any of the k answers alike.
Given the shares θ, y is multinomial with probabilities q + (p - q) θ_j, so that

    P(y | θ)  =  n! Σ_m Π_j q^{y_j - m_j} (p - q)^{m_j} θ_j^{m_j} / (m_j! (y_j - m_j)!) :

a tree of counts m with the weight 1/u! of their total u, and given m the shares are Dir(a + m).
"""

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, partial
from math import exp, expm1, log
from typing import Protocol

import numpy as np
from attrs import field, frozen
from scipy.special import gammaln, psi

from discreet.arrays import Counts, Floats
from discreet.counts.factors import Count, Kernel, Observation, Split
from discreet.errors import InvalidInputError, RefusedError
from discreet.mechanisms.noise import CellNoise
from discreet.model.size_priors import SizePrior
from discreet.numerics.gamma import bregman

_DEEP = 70.0
"""A kernel falls by this much, in logarithms, over the largest change: counts farther off are impossible."""


class Seen(Observation, Protocol):
    """The observation of a published count, with the largest true count that it may be."""

    @property
    def last(self) -> int | None:
        """The largest true count; None if there is none."""


class ReadNoise(CellNoise):
    """Noise whose outcomes are read alone, each by an observation of its own, and of which nothing is drawn."""

    @property
    def is_kernel(self) -> bool:
        """Return False: a published count says more, or less, than a noisy one."""
        return False

    @abstractmethod
    def seen(self, z: int) -> Seen | None:
        """Return the observation of a published count; None if no count can be published so."""

    def observation(self, z: int) -> Observation:
        """Return the observation of a published count; InvalidInputError if no count can be published so."""
        found = self.seen(z)
        if found is None:
            raise InvalidInputError(f"no count can be published as {z:,} after this noise and these steps")
        return found

    def simulate(self, size: int, rng: np.random.Generator) -> Counts:  # noqa: ARG002
        """Refused: published counts are read."""
        raise RefusedError("counts that others published are read and not simulated")

    def log_factor(self, difference: Floats) -> Floats:  # noqa: ARG002
        """Refused: the likelihood is no function of the difference."""
        raise RefusedError(
            "counts that were changed by a matrix, or clamped, rounded or suppressed, have no likelihood by their difference from true "
            "ones, which this needs: read each group alone"
        )

    def reach(self, cells: int, block: int, tail: float) -> tuple[int, int]:  # noqa: ARG002
        """Refused: how far a published count is from the true one depends on the true one."""
        raise RefusedError("counts that were changed by a matrix, or clamped, rounded or suppressed, have no interval of the noise alone")

    def held(self, raw: Sequence[int] | Counts, n: int | None) -> Counts:  # noqa: ARG002
        """The published counts."""
        return np.array([int(z) for z in raw], dtype=np.int64)


@frozen(eq=False)
class FewCounts:
    """A published count that few consecutive true counts can have become: ln P(z | x) for each of these x, from `first` on."""

    first: int
    logs: Floats

    @property
    def last(self) -> int:
        """The last of them."""
        return self.first + len(self.logs) - 1

    @property
    def bends(self) -> tuple[float, ...]:
        """Return all of these counts: nothing is known of how the likelihood bends between them."""
        return tuple(float(x) for x in range(self.first, self.last + 1))

    @property
    def curvature(self) -> float:
        """Return 0: all these counts are nodes by themselves."""
        return 0.0

    def __call__(self, x: Floats) -> Floats:
        """ln P(z | x) for each of these counts; minus infinity for counts that are not among the few."""
        place = np.clip(x - self.first, -1.0, float(len(self.logs))).astype(np.int64)
        return np.concatenate([self.logs, [-np.inf, -np.inf]])[np.where(place < 0, len(self.logs) + 1, place)]


class BoundedChange(ReadNoise):
    """A change of every count by at most so much, whose law is known for each true count."""

    @property
    @abstractmethod
    def widest(self) -> int:
        """The largest distance of a published count from the true one."""

    @abstractmethod
    def column(self, z: int) -> tuple[int, Floats]:
        """The probabilities of a published count for consecutive true counts, of which the first is told."""

    @property
    def kernel(self) -> Kernel:
        """A kernel that is nearly 0 beyond the largest change; it says how wide windows are."""
        return Kernel(_DEEP / max(self.widest, 1))

    @property
    def slope(self) -> float:
        """The slope of the kernel."""
        return self.kernel.slope

    def seen(self, z: int) -> "FewCounts | None":
        """Return the observation of a published count; None if no count can be published so."""
        first, law = self.column(z)
        held = np.flatnonzero(law > 0.0)
        return FewCounts(first + int(held[0]), np.log(law[held[0] : held[-1] + 1])) if held.size else None


@frozen
class MatrixChange(BoundedChange):
    """Changes by a matrix P(z | x), with a row for each true count from 0 on; the last row holds for larger counts, shifted along."""

    cells: int
    rows: tuple[tuple[Fraction, ...], ...] = field(repr=False)

    @cached_property
    def _laws(self) -> Floats:
        """The rows as floats, each adding up to 1."""
        found = np.zeros((len(self.rows), max(map(len, self.rows))))
        for law, row in zip(found, self.rows, strict=True):
            law[: len(row)] = [float(p / sum(row)) for p in row]
        return found

    @property
    def widest(self) -> int:
        """The largest distance of a published count from the true one."""
        x, z = np.nonzero(self._laws)
        return int(np.abs(z - x).max())

    def column(self, z: int) -> tuple[int, Floats]:
        """The probabilities of a published count for all true counts within reach."""
        x, last = np.arange(max(z - self.widest, 0), max(z + self.widest, -1) + 1), len(self.rows) - 1
        place = z - np.maximum(x - last, 0)
        inside = (place >= 0) & (place < self._laws.shape[1])
        return max(z - self.widest, 0), np.where(inside, self._laws[np.minimum(x, last), np.where(inside, place, 0)], 0.0)


@frozen
class RoundingByChance(BoundedChange):
    """Rounding to one of the two nearest multiples of a base, by chance, so that the mean stays: multiples are never changed."""

    cells: int
    to: int

    @property
    def widest(self) -> int:
        """The largest distance of a published count from the true one."""
        return self.to - 1

    def column(self, z: int) -> tuple[int, Floats]:
        """The probabilities of a published multiple for all true counts within reach."""
        if z < 0 or z % self.to:
            return 0, np.zeros(1)
        x = np.arange(max(z - self.widest, 0), z + self.widest + 1)
        return int(x[0]), 1.0 - np.abs(z - x) / self.to


def _log_over_factorial(x: Floats, reference: float) -> Floats:
    """ln(1/x!) relative to its tangent at the reference, where it is 0."""
    return np.asarray(-bregman(x + 1.0, reference + 1.0, x - reference))


@frozen
class Truthful:
    """The number of truthful answers among some: ln((p - q)/q)^m/(y - m)!, without `taken` for each and relative to a likely number."""

    answers: int
    likely: float
    log_odds: float
    taken: float
    first: int = 0

    @property
    def bends(self) -> tuple[float, ...]:
        """Return where the likelihood ends: at the number of answers, because more cannot be truthful."""
        return (float(self.answers),)

    @property
    def curvature(self) -> float:
        """The curvature at the likely number."""
        return 1.0 / (self.answers - self.likely + 1.0)

    def __call__(self, m: Floats) -> Floats:
        """The logarithms for these numbers of truthful answers."""
        other, reference = np.maximum(self.answers - m, 0.0), self.answers - self.likely
        slope = self.log_odds + float(psi(reference + 1.0)) - self.taken
        return np.where(m > self.answers, -np.inf, _log_over_factorial(other, reference) + slope * (m - self.likely))


@frozen
class RandomizedAnswers:
    """Answers to a question with k categories that are truthful with odds e^ε to each of the others."""

    epsilon: float
    k: int

    def tree(self, a: Floats, answers: Sequence[int]) -> tuple[Split, SizePrior, float]:
        """Return the tree of truthful answers under Dir(a), the weight of its root, and the constant that logarithms lack."""
        scale = self.epsilon + log(1.0 + (self.k - 1.0) * exp(-self.epsilon))
        log_odds = self.epsilon + log(-expm1(-self.epsilon))
        y, n = np.array(answers, dtype=np.float64), sum(answers)
        likely = np.rint(np.maximum(y - n * exp(-scale), 0.0))
        total = float(likely.sum())
        taken = float(psi(total + 1.0))
        parts = [Count([Truthful(int(one), m, log_odds, taken)]) for one, m in zip(answers, likely.tolist(), strict=True)]
        root = SizePrior(partial(_log_over_factorial, reference=total), last=n)
        constant = float(gammaln(n + 1.0) - gammaln(total + 1.0) - gammaln(y - likely + 1.0).sum())
        return Split(parts, a), root, constant + total * log_odds - n * scale
