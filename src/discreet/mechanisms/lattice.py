"""The lattice's own mechanism: noise by graph distance on `{z in Z^k, Σz = n}` (docs/mechanisms.md).

The lattice looks the same from every point, so the normaliser is the same for all datasets and no factor 2 is lost. It has a closed
form: pairs (G, G') of compositions of S differ by δ with distance d(δ) and share a common part, which gives, with q = e^-ε,

    Σ_δ q^d(δ)  =  (1-q)^k Σ_S q^S C(S+k-1, k-1)²  =  (1-q)^-(k-1) Σ_j C(k-1, j)² q^j .
"""

from collections.abc import Sequence
from functools import lru_cache
from math import ceil, exp, expm1, log
from typing import ClassVar, Literal

import numpy as np
from attrs import define, field, frozen
from flint import arb
from scipy.special import gammaln, logsumexp

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.errors import InvalidInputError, TooLargeError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.laws import Law, LossAtoms
from discreet.mechanisms.noise import CellNoise
from discreet.mechanisms.reports import Cut, Projected, Report
from discreet.model.datasets import grid_points, simplex_points
from discreet.numerics.balls import ball, refine
from discreet.record.guarantee import Guarantee
from discreet.sampling import BitSource, lattice_noise
from discreet.validation import shown

__all__ = ["LatticeGeometric", "LatticeNoise"]

Projection = Literal["euclidean", "cut"]

_NEGLIGIBLE = 2.0**-60
"""Probability beyond which the infinite support is cut when a law is listed; the law says how much is missing."""


def _reach(k: int, epsilon: float) -> int:
    """A distance beyond which there is next to no probability.

    Chernoff's bound: P(d >= t) <= e^{-st} E[e^{sd}], where E[e^{sd}] is a ratio of normalisers; the best of a few s is taken.
    """
    tilts = epsilon * (1.0 - 2.0 ** -np.arange(1.0, 12.0))
    reach: int = ceil(min((_log_normaliser(k, epsilon - s) - _log_normaliser(k, epsilon) - log(_NEGLIGIBLE)) / s for s in tilts.tolist()))
    return reach


@lru_cache(maxsize=1)
def _noise_law(k: int, epsilon: float) -> tuple[Counts, Floats]:
    """All noise vectors out to that distance, and their log probabilities; for all datasets."""
    reach = _reach(k, epsilon)
    free = grid_points(-reach, reach, k - 1)
    noise = np.concatenate([free, -free.sum(axis=-1, keepdims=True)], axis=-1)
    distance = np.maximum(noise, 0).sum(axis=-1)
    within = distance <= reach
    return noise[within], -epsilon * distance[within] - _log_normaliser(k, epsilon)


@lru_cache(maxsize=64)
def _log_normaliser(k: int, epsilon: float) -> float:
    """ln Σ_δ q^d(δ)."""
    return _log_square_sum(k - 1, epsilon) - (k - 1) * log(-expm1(-epsilon))


def _log_squares(m: int, epsilon: float) -> Floats:
    """ln C(m, j)² e^{-εj} for j = 0 .. m."""
    j = np.arange(m + 1)
    return np.asarray(2.0 * (gammaln(m + 1) - gammaln(j + 1) - gammaln(m - j + 1)) - epsilon * j)


def _log_square_sum(m: int, epsilon: float) -> float:
    return float(logsumexp(_log_squares(m, epsilon)))


@frozen
class LatticeNoise(CellNoise):
    """Noise that adds up to 0, with probability proportional to e^{-slope Σ|d_i|}: half of ‖d‖₁ is the number of records replaced."""

    keeps_total: ClassVar[bool] = True

    cells: int
    slope: float

    def log_factor(self, difference: Floats) -> Floats:
        """-slope |d|, up to the constant that a fixed total makes the same for all datasets."""
        return np.asarray(-self.slope * np.abs(difference))

    def simulate(self, size: int, rng: np.random.Generator) -> Counts:
        """G - G' for two uniform compositions of a common total S; a uniform composition is multinomial with uniform shares."""
        k, epsilon = self.cells, 2.0 * self.slope
        if 4 * k / epsilon > limits.SIMULATED_NOISE:
            raise TooLargeError(f"simulated noise would exceed integers for epsilon = {epsilon:g} and {k} categories; raise epsilon")
        # Σ_S q^S C(S+k-1, k-1)² = (1-q)^-(2k-1) Σ_j C(k-1, j)² q^j: so S is a finite part plus a negative binomial one
        log_weight = _log_squares(k - 1, epsilon)
        finite = rng.choice(k, size=size, p=np.exp(log_weight - logsumexp(log_weight)))
        total = finite + rng.negative_binomial(2 * k - 1, -expm1(-epsilon), size=size)
        uniform = np.ones(k)
        left = rng.multinomial(total, rng.dirichlet(uniform, size))
        right = rng.multinomial(total, rng.dirichlet(uniform, size))
        return np.asarray(left - right)


def _check_projection(_: object, __: object, value: object) -> None:
    if value not in ("euclidean", "cut"):
        raise InvalidInputError(f"projection must be 'euclidean' or 'cut', got {shown(value)!r}")


@define(frozen=True, slots=False, repr=False)
class LatticeGeometric(Mechanism):
    """ε-DP by proof: `z ∝ exp(-ε ½‖z - x‖₁)` on the lattice of total n, then projected to counts. For k = 2, the geometric mechanism.

    Neighbouring datasets are at graph distance 1 and share one normaliser, so every outcome's probability changes by at most e^ε.
    """

    projection: Projection = field(default="euclidean", validator=_check_projection)

    names: ClassVar[tuple[str, ...]] = ("lattice", "geometric")

    def own_report(self) -> Report:
        """The nearest counts, or ("cut") left to right what is left of n."""
        return Projected(self.n) if self.projection == "euclidean" else Cut(self.n, self.k)

    @property
    def claim(self) -> Guarantee:
        """ε, by proof (docs/mechanisms.md)."""
        return self.by_proof()

    @property
    def noise(self) -> LatticeNoise:
        """A record that is replaced moves two cells by 1, so each has slope ε/2."""
        return LatticeNoise(self.k, 0.5 * float(self.epsilon))

    def draw_noise(self, source: BitSource) -> Sequence[int]:
        """Exact noise on the lattice."""
        return lattice_noise(source, self.k, self.epsilon)

    def log_probabilities(self, counts: Counts, raw: Counts) -> Floats:
        """By graph distance and the common normaliser; -inf off the lattice."""
        noise = raw - counts
        distance = np.maximum(noise, 0).sum(axis=-1)
        on_lattice = noise.sum(axis=-1) == 0
        return np.where(on_lattice, -float(self.epsilon) * distance - _log_normaliser(self.k, float(self.epsilon)), -np.inf)

    def raw_law(self, counts: Counts) -> Law:
        """Two categories: all outcomes, the tails added to 0 and n. More: the noise out to where next to no probability is left."""
        if self.k == 2:
            return self._two_category_law(counts)
        noise, log_probability = _noise_law(self.k, float(self.epsilon))
        return Law(noise + counts, log_probability.copy(), _NEGLIGIBLE)

    def _two_category_law(self, counts: Counts) -> Law:
        """Outcomes beyond 0 and n tell datasets apart no better than 0 and n do: their tails are added there."""
        raw = simplex_points(self.n, 2)
        return Law(raw, self.line_law(int(counts[0]), raw[:, 0].astype(np.float64)))

    def line_law(self, x: int, r: Floats) -> Floats:
        """By distance from x; what would be reported beyond 0 or n is reported there."""
        epsilon = float(self.epsilon)
        beyond = np.where((r == 0) | (r == self.n), log(-expm1(-epsilon)), 0.0)
        return np.asarray(-epsilon * np.abs(r - x) - _log_normaliser(2, epsilon) - beyond)

    def loss_atoms(self) -> LossAtoms:
        """All neighbouring pairs are alike. The distance to the outcome changes by 1, 0 or -1; it grows with probability

        P(noise_i >= 0 >= noise_j) = Σ_j C(k-2, j)² q^j / Σ_j C(k-1, j)² q^j, by the same count of pairs as the normaliser.
        """
        grows = float(refine(self._growth))
        shrinks = grows * exp(-float(self.epsilon))
        loss = float(self.epsilon) * np.array([1.0, 0.0, -1.0])
        return LossAtoms(self.epsilon, loss, np.array([grows, 1.0 - grows - shrinks, shrinks]))

    def _growth(self) -> arb:
        """That probability at the working precision: Σ_j C(m, j)² q^j = (1-q)^m P_m((1+q)/(1-q)), P_m Legendre's polynomial."""
        epsilon = ball(self.epsilon)
        rest = -(-epsilon).expm1()
        z = (2 - rest) / rest
        return z.legendre_p(self.k - 2) / (rest * z.legendre_p(self.k - 1))
