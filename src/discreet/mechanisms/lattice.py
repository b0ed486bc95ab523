"""The lattice's own mechanism: noise by graph distance on `{z in Z^k, Σz = n}` (DESIGN section 4).

The lattice looks the same from every point, so the normaliser is the same for all datasets and no factor 2 is lost. It has a closed
form: pairs (G, G') of compositions of S differ by δ with distance d(δ) and share a common part, which gives, with q = e^-ε,

    Σ_δ q^d(δ)  =  (1-q)^k Σ_S q^S C(S+k-1, k-1)²  =  (1-q)^-(k-1) Σ_j C(k-1, j)² q^j .
"""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, exp, expm1, log
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from flint import arb
from scipy.special import gammaln, logsumexp

from discreet.distributions import Beta, Dirichlet
from discreet.enumeration import grid_points, simplex_points
from discreet.errors import InvalidInputError, TooLargeError
from discreet.mechanisms.base import Law, LossAtoms, Mechanism
from discreet.mechanisms.laplace import cut_to_total
from discreet.numerics import Floats, ball, refine
from discreet.sampling import BitSource, lattice_noise
from discreet.validation import Counts, Number, shown

__all__ = ["LatticeGeometric", "project"]

Projection = Literal["euclidean", "cut"]

_NEGLIGIBLE = 2.0**-60
"""Probability beyond which the infinite support is cut when a law is listed; the law says how much is missing."""
_MOST_NOISE = 2.0**55
"""Simulated noise that is likely to go beyond this may not fit an integer array."""


def project(z: Counts, n: int) -> Counts:
    """The nearest point of the simplex in Euclidean distance, rounded to integers by largest remainder.

    All that stay positive are lowered by the same amount, so their remainders tie: larger counts are rounded up first, where one
    record matters least, and the first of equal ones. Adding a constant to z changes nothing.
    """
    order = np.argsort(-z, axis=-1, kind="stable")
    falling = np.take_along_axis(z, order, axis=-1)
    position = np.arange(1, z.shape[-1] + 1)
    # Σ_{i<=j} (z_i - z_j): only whether it is below n <= 2**53 matters, which floats tell exactly and without overflow
    drop = np.cumsum(-np.diff(falling, axis=-1).astype(np.float64) * position[:-1], axis=-1)
    drop = np.concatenate([np.zeros((*z.shape[:-1], 1)), drop], axis=-1)
    active = (drop < n).sum(axis=-1, keepdims=True)
    kept = position <= active
    above = falling - np.take_along_axis(falling, active - 1, axis=-1)  # the lowest count kept; Σ above < n, so no sum overflows
    missing = n - np.where(kept, above, 0).sum(axis=-1, keepdims=True)
    raised, spare = missing // active, missing % active
    rounded = np.where(kept, above + raised + (position <= spare), 0)
    result = np.empty_like(rounded)
    np.put_along_axis(result, order, rounded, axis=-1)
    return result


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


@dataclass(frozen=True)
class LatticeGeometric(Mechanism):
    """ε-DP by proof: `z ∝ exp(-ε ½‖z - x‖₁)` on the lattice of total n, then projected to counts. For k = 2, the geometric mechanism.

    Neighbouring datasets are at graph distance 1 and share one normaliser, so every outcome's probability changes by at most e^ε.
    """

    projection: Projection = "euclidean"

    if TYPE_CHECKING:  # numbers of any kind are taken and kept as exact rationals

        def __init__(self, prior: Dirichlet | Beta, n: int, epsilon: Number, projection: Projection = "euclidean") -> None: ...

    names: ClassVar[tuple[str, ...]] = ("lattice", "geometric")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.projection not in ("euclidean", "cut"):
            raise InvalidInputError(f"projection must be 'euclidean' or 'cut', got {shown(self.projection)!r}")

    def report(self, raw: Counts) -> Counts:
        """The nearest counts, or ("cut") left to right what is left of n."""
        return project(raw, self.n) if self.projection == "euclidean" else cut_to_total(raw[:, :-1], self.n)

    def _within_arrays(self, raw: tuple[int, ...]) -> Counts:
        """Cut: as for Laplace noise. Euclidean: a constant may be taken off, and what is n or more below the largest becomes 0."""
        if self.projection == "cut":
            return np.array([[min(max(z, -1), self.n + 1) for z in raw]], dtype=np.int64)
        return np.array([[max(z - max(raw), -self.n) for z in raw]], dtype=np.int64)

    def _log_factor(self, raw: Counts, category: int, x: Floats) -> Floats:
        return np.asarray(-0.5 * float(self.epsilon) * np.abs(raw[category] - x))

    def _log_prob(self, counts: Counts, raw: Counts) -> Floats:
        if raw.shape[-1] != self.k:
            raise InvalidInputError(f"a raw outcome of this mechanism has {self.k} entries, got {raw.shape[-1]}")
        noise = raw - counts
        distance = np.maximum(noise, 0).sum(axis=-1)
        on_lattice = noise.sum(axis=-1) == 0
        return np.where(on_lattice, -float(self.epsilon) * distance - _log_normaliser(self.k, float(self.epsilon)), -np.inf)

    def _raw_law(self, counts: Counts) -> Law:
        if self.k == 2:
            return self._two_category_law(counts)
        noise, log_probability = _noise_law(self.k, float(self.epsilon))
        return Law(noise + counts, log_probability.copy(), _NEGLIGIBLE)

    def _two_category_law(self, counts: Counts) -> Law:
        """Outcomes beyond 0 and n tell datasets apart no better than 0 and n do: their tails are added there."""
        raw = simplex_points(self.n, 2)
        return Law(raw, self._log_report(int(counts[0]), raw[:, 0].astype(np.float64)))

    def _log_report(self, x: int, r: Floats) -> Floats:
        epsilon = float(self.epsilon)
        beyond = np.where((r == 0) | (r == self.n), log(-expm1(-epsilon)), 0.0)
        return np.asarray(-epsilon * np.abs(r - x) - _log_normaliser(2, epsilon) - beyond)

    def _loss_atoms(self) -> LossAtoms:
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

    def _simulate(self, counts: Counts, size: int, rng: np.random.Generator) -> Counts:
        return counts + self._simulated_noise(size, rng)

    def _simulated_noise(self, size: int, rng: np.random.Generator) -> Counts:
        """G - G' for two uniform compositions of a common total S; a uniform composition is multinomial with uniform shares."""
        k, epsilon = self.k, float(self.epsilon)
        if 4 * k / epsilon > _MOST_NOISE:
            raise TooLargeError(f"simulated noise would exceed integers for epsilon = {epsilon:g} and {k} categories; raise epsilon")
        # Σ_S q^S C(S+k-1, k-1)² = (1-q)^-(2k-1) Σ_j C(k-1, j)² q^j: so S is a finite part plus a negative binomial one
        log_weight = _log_squares(k - 1, epsilon)
        finite = rng.choice(k, size=size, p=np.exp(log_weight - logsumexp(log_weight)))
        total = finite + rng.negative_binomial(2 * k - 1, -expm1(-epsilon), size=size)
        uniform = np.ones(k)
        left = rng.multinomial(total, rng.dirichlet(uniform, size))
        right = rng.multinomial(total, rng.dirichlet(uniform, size))
        return np.asarray(left - right)

    def _draw(self, counts: tuple[int, ...], source: BitSource) -> tuple[int, ...]:
        noise = lattice_noise(source, self.k, self.epsilon)
        return tuple(x + d for x, d in zip(counts, noise, strict=True))
