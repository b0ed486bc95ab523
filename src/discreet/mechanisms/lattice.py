"""The lattice's own mechanism: noise by distance, `P(z) ∝ e^{-ε d(x, z)}`, d the number of steps from x to z (docs/mechanisms.md).

With a public n a step replaces a record and the lattice is `{z in Z^k, Σz = n}`; with a private n it adds or removes one, the lattice is
Z^k, and the noise is an independent two-sided geometric on every count: P(d) = (1 - q)/(1 + q) q^|d|, q = e^-ε.

The lattice looks the same from every point, so the normaliser is the same for all datasets and no factor 2 is lost. It has a closed
form for a public n: pairs (G, G') of compositions of S differ by δ with distance d(δ) and share a common part, which gives, with q = e^-ε,

    Σ_δ q^d(δ)  =  (1-q)^k Σ_S q^S C(S+k-1, k-1)²  =  (1-q)^-(k-1) Σ_j C(k-1, j)² q^j .
"""

from collections.abc import Sequence
from functools import lru_cache, reduce
from math import ceil, exp, expm1, log, log1p, prod
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
from discreet.mechanisms.noise import CellNoise, IndependentNoise
from discreet.mechanisms.reports import Cut, NonNegative, Projected, Report
from discreet.model.datasets import check_outcomes, grid_points, simplex_points
from discreet.numerics.balls import ball, refine
from discreet.record.guarantee import Guarantee
from discreet.sampling import BitSource, discrete_laplaces, lattice_noise
from discreet.validation import shown

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

    cells: int
    slope: float

    @property
    def blocks(self) -> tuple[range, ...]:
        """All cells together keep their total."""
        return (range(self.cells),)

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


@frozen
class GeometricNoise(IndependentNoise):
    """Independent two-sided geometric noise, P(d) = (1 - q)/(1 + q) q^|d| with q = e^-slope."""

    cells: int
    slope: float

    def log_factor(self, difference: Floats) -> Floats:
        """ln P(noise = d)."""
        return np.asarray(-self.slope * np.abs(difference) + log(-expm1(-self.slope)) - log1p(exp(-self.slope)))

    def log_at_least(self, t: Floats | float) -> Floats:
        """ln P(noise >= t): q^t / (1 + q) for t >= 0, otherwise what the other tail leaves."""
        whole = np.ceil(t)
        tail = -self.slope * np.maximum(whole, 0.0) - log1p(exp(-self.slope))
        rest = np.log1p(-np.exp(-self.slope * (1.0 - np.minimum(whole, 0.0)) - log1p(exp(-self.slope))))
        return np.where(whole >= 1, tail, rest)

    def log_at_most(self, t: Floats | float) -> Floats:
        """ln P(noise <= t): the noise is symmetric."""
        return self.log_at_least(-np.floor(t))

    def simulate(self, size: int, rng: np.random.Generator) -> Counts:
        """The difference of two geometrics."""
        if 80.0 / self.slope > limits.SIMULATED_NOISE:
            raise TooLargeError(f"simulated noise would exceed integers for epsilon = {self.slope:g}; raise epsilon")
        rest = -expm1(-self.slope)
        shape = (size, self.cells)
        return np.asarray(rng.geometric(rest, shape) - rng.geometric(rest, shape), dtype=np.int64)


def _check_projection(_: object, __: object, value: object) -> None:
    if value not in ("euclidean", "cut"):
        raise InvalidInputError(f"projection must be 'euclidean' or 'cut', got {shown(value)!r}")


@define(frozen=True, slots=False, repr=False)
class LatticeGeometric(Mechanism):
    """ε-DP by proof: `z ∝ exp(-ε d(x, z))`, d the number of steps from x to z, then turned into counts. For k = 2, the geometric mechanism.

    With n a step replaces a record, d is ½‖z - x‖₁ on the lattice of total n, and the promise hides everyone's answer. Without n a step
    adds or removes a record, d is ‖z - x‖₁, and the promise hides that someone took part. Neighbouring datasets are at distance 1 and
    share one normaliser, so every outcome's probability changes by at most e^ε.
    """

    projection: Projection = field(default="euclidean", validator=_check_projection)

    names: ClassVar[tuple[str, ...]] = ("lattice", "geometric")
    needs_total: ClassVar[bool] = False

    def __attrs_post_init__(self) -> None:
        if self.n is None and self.projection == "cut":
            raise InvalidInputError("projection='cut' cuts the counts to a public n, and n is private here; leave it out")
        super().__attrs_post_init__()

    def own_report(self) -> Report:
        """The nearest counts, or ("cut") left to right what is left of n."""
        if self.n is None:
            return NonNegative()
        return Projected(self.n) if self.projection == "euclidean" else Cut(self.n, self.k)

    @property
    def claim(self) -> Guarantee:
        """ε, by proof (docs/mechanisms.md)."""
        return self.by_proof()

    @property
    def noise(self) -> LatticeNoise | GeometricNoise:
        """A record that is replaced moves two cells by 1, so each has slope ε/2; one that comes or goes moves one."""
        if self.n is None:
            return GeometricNoise(self.k, float(self.epsilon))
        return LatticeNoise(self.k, 0.5 * float(self.epsilon))

    def draw_noise(self, source: BitSource) -> Sequence[int]:
        """Exact noise on the lattice."""
        if self.n is None:
            return discrete_laplaces(source, 1 / self.epsilon, self.k)
        return lattice_noise(source, self.k, self.epsilon)

    def log_probabilities(self, counts: Counts, raw: Counts) -> Floats:
        """By distance and the common normaliser; -inf off the lattice."""
        noise = raw - counts
        if isinstance(self.noise, GeometricNoise):
            return np.asarray(self.noise.log_factor(noise.astype(np.float64)).sum(axis=-1))
        distance = np.maximum(noise, 0).sum(axis=-1)
        on_lattice = noise.sum(axis=-1) == 0
        return np.where(on_lattice, -float(self.epsilon) * distance - _log_normaliser(self.k, float(self.epsilon)), -np.inf)

    def raw_law(self, counts: Counts) -> Law:
        """Two categories: all outcomes, the tails added to 0 and n. More: the noise out to where next to no probability is left.

        Where n is private, noisy counts below 0 tell datasets apart no better than 0 does: their probability is added there.
        """
        if isinstance(self.noise, GeometricNoise):
            return self._law_of_any_total(self.noise, counts)
        if self.k == 2:
            return self._two_category_law(counts)
        noise, log_probability = _noise_law(self.k, float(self.epsilon))
        return Law(noise + counts, log_probability.copy(), _NEGLIGIBLE)

    def _two_category_law(self, counts: Counts) -> Law:
        """Outcomes beyond 0 and n tell datasets apart no better than 0 and n do: their tails are added there."""
        raw = simplex_points(self.total, 2)
        return Law(raw, self._line(int(counts[0]), raw[:, 0].astype(np.float64)))

    def _law_of_any_total(self, noise: GeometricNoise, counts: Counts) -> Law:
        """Each noisy count out to where next to no probability is left, those below 0 taken as 0."""
        reach = ceil((log(self.k) - log(_NEGLIGIBLE)) / noise.slope)
        highest = [int(x) + reach for x in counts]
        check_outcomes(prod(high + 1 for high in highest), "this law", limits.LISTED_CELLS // self.k)
        axes = [np.arange(high + 1) for high in highest]
        logs = [noise.clamped_below(int(x), axis.astype(np.float64)) for x, axis in zip(counts, axes, strict=True)]
        outcomes = np.stack([column.ravel() for column in np.meshgrid(*axes, indexing="ij")], axis=-1)
        return Law(outcomes, np.asarray(reduce(np.add.outer, logs)).ravel(), _NEGLIGIBLE)

    def line_law(self, x: int, r: Floats) -> Floats | None:
        """By distance from x; what would be reported beyond 0 or n is reported there. One number says nothing of a private n."""
        return None if self.n is None else self._line(x, r)

    def _line(self, x: int, r: Floats) -> Floats:
        epsilon = float(self.epsilon)
        beyond = np.where((r == 0) | (r == self.total), log(-expm1(-epsilon)), 0.0)
        return np.asarray(-epsilon * np.abs(r - x) - _log_normaliser(2, epsilon) - beyond)

    def loss_atoms(self) -> LossAtoms:
        """All neighbouring pairs are alike. The distance to the outcome changes by 1, 0 or -1.

        With a private n it grows with probability P(noise <= 0) = 1/(1 + q) and shrinks otherwise. With a public n it grows with
        P(noise_i >= 0 >= noise_j) = Σ_j C(k-2, j)² q^j / Σ_j C(k-1, j)² q^j, by the same count of pairs as the normaliser.
        """
        grows = 1.0 / (1.0 + exp(-float(self.epsilon))) if self.n is None else float(refine(self._growth))
        shrinks = grows * exp(-float(self.epsilon))
        loss = float(self.epsilon) * np.array([1.0, 0.0, -1.0])
        return LossAtoms(self.epsilon, loss, np.array([grows, max(1.0 - grows - shrinks, 0.0), shrinks]))

    def _growth(self) -> arb:
        """That probability at the working precision: Σ_j C(m, j)² q^j = (1-q)^m P_m((1+q)/(1-q)), P_m Legendre's polynomial."""
        epsilon = ball(self.epsilon)
        rest = -(-epsilon).expm1()
        z = (2 - rest) / rest
        return z.legendre_p(self.k - 2) / (rest * z.legendre_p(self.k - 1))
