"""The lattice's own mechanism: noise by distance, `P(z) ∝ e^{-ε d(x, z)}`, d the number of steps from x to z (docs/explain/mechanisms.md).

With a public n a step replaces a record and the lattice is `{z in Z^k, Σz = n}`; with a private n it adds or removes one, the lattice is
Z^k, and the noise is an independent two-sided geometric on every count: P(d) = (1 - q)/(1 + q) q^|d|, q = e^-ε.

The lattice looks the same from every point, so the normaliser is the same for all datasets and no factor 2 is lost. It has a closed
form for a public n: pairs (G, G') of compositions of S differ by δ with distance d(δ) and share a common part, which gives, with q = e^-ε,

    Σ_δ q^d(δ)  =  (1-q)^k Σ_S q^S C(S+k-1, k-1)²  =  (1-q)^-(k-1) Σ_j C(k-1, j)² q^j .
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache, partial, reduce
from itertools import accumulate
from math import ceil, exp, expm1, log, log1p, prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

import numpy as np
from attrs import Factory, define, field, frozen
from flint import arb
from scipy.special import logsumexp

from discreet import limits
from discreet.arrays import Counts, Drawn, Floats
from discreet.errors import InvalidInputError, TooLargeError
from discreet.mechanisms.laws import UNLISTED, Law, LossAtoms
from discreet.mechanisms.noise import CellNoise, IndependentNoise, symmetric_reach
from discreet.mechanisms.reports import Cut, Report
from discreet.mechanisms.samplers import Noise
from discreet.mechanisms.tabled import Tabled
from discreet.model.cells import Groups
from discreet.model.datasets import Relation, box_points, check_outcomes, grid_points, simplex_points
from discreet.model.dirichlet import Prior
from discreet.numerics.balls import ball, refine
from discreet.numerics.lattice_sums import log_normaliser, log_squares, log_sum_law
from discreet.record.guarantee import Guarantee
from discreet.sampling import BitSource, SeededBits
from discreet.sampling.bulk import ATTEMPTED, discrete_laplace_array, lattice_blocks
from discreet.sampling.noise import check_fits, noise_seconds
from discreet.validation import Number, shown

Projection = Literal["euclidean", "cut"]


def _reach(k: int, epsilon: float) -> int:
    """A distance beyond which there is next to no probability.

    Chernoff's bound: P(d >= t) <= e^{-st} E[e^{sd}], where E[e^{sd}] is a ratio of normalisers; the best of a few s is taken.
    """
    tilts = epsilon * (1.0 - 2.0 ** -np.arange(1.0, 12.0))
    reach: int = ceil(min((log_normaliser(k, epsilon - s) - log_normaliser(k, epsilon) - log(UNLISTED)) / s for s in tilts.tolist()))
    return reach


@lru_cache(maxsize=1)
def _noise_law(k: int, epsilon: float) -> tuple[Counts, Floats]:
    """List all noise vectors out to `_reach`, and their log probabilities, which are the same for all datasets."""
    reach = _reach(k, epsilon)
    free = grid_points(-reach, reach, k - 1)
    noise = np.concatenate([free, -free.sum(axis=-1, keepdims=True)], axis=-1)
    distance = np.maximum(noise, 0).sum(axis=-1)
    within = distance <= reach
    return noise[within], -epsilon * distance[within] - log_normaliser(k, epsilon)


@frozen
class LatticeNoise(CellNoise):
    """Noise that adds up to 0, with probability proportional to e^{-slope Σ|d_i|}: half of ‖d‖₁ is the number of records replaced."""

    cells: int
    slope: float
    sizes: tuple[int, ...] = field(default=Factory(lambda self: (self.cells,), takes_self=True))
    """The numbers of cells of the blocks that keep their total: one block, or one for each group of a table."""

    @property
    def blocks(self) -> tuple[range, ...]:
        """The cells of each block."""
        return tuple(range(end - size, end) for size, end in zip(self.sizes, accumulate(self.sizes), strict=True))

    def log_factor(self, difference: Floats) -> Floats:
        """-slope |d|, up to the constant that a fixed total makes the same for all datasets."""
        return np.asarray(-self.slope * np.abs(difference))

    def log_constant(self, cells: int) -> float:
        """Return the logarithm of one over the sum of the factors of all noise that adds up to 0."""
        return -log_normaliser(cells, 2.0 * self.slope) if cells > 1 else 0.0

    def reach(self, cells: int, block: int, tail: float) -> tuple[int, int]:
        """Given that all noise of the block adds up to 0, that of some cells is d with P(their sum is d) P(the others' sum is -d)."""
        if cells in (0, block):
            return 0, 0
        parts = [log_sum_law(many, self.slope) for many in (cells, block - cells)]
        common = min(map(len, parts))
        return symmetric_reach(parts[0][:common] + parts[1][:common], tail)

    def by_size(self, draws: int, drawn: Callable[[int, int], Counts]) -> Counts:
        """Draws of all blocks, one a row, by a function of cells and blocks: of those of one size together. One cell has no noise."""
        sizes, result = np.array(self.sizes), np.zeros((draws, self.cells), dtype=np.int64)
        ends = np.cumsum(sizes)
        for cells in np.unique(sizes[sizes > 1]).tolist():
            where = (ends[sizes == cells, None] - cells + np.arange(cells)).ravel()
            result[:, where] = drawn(cells, draws * (len(where) // cells)).reshape(draws, len(where))
        return result

    def simulate(self, size: int, rng: np.random.Generator) -> Counts:
        """Float draws of all blocks."""
        return self.by_size(size, partial(self._simulated, rng))

    def _simulated(self, rng: np.random.Generator, k: int, size: int) -> Counts:
        """G - G' for two uniform compositions of a common total S; a uniform composition is multinomial with uniform shares."""
        epsilon = 2.0 * self.slope
        if 4 * k / epsilon > limits.SIMULATED_NOISE:
            raise TooLargeError(f"simulated noise would exceed integers for epsilon = {epsilon:g} and {k} categories; raise epsilon")
        # Σ_S q^S C(S+k-1, k-1)² = (1-q)^-(2k-1) Σ_j C(k-1, j)² q^j: so S is a finite part plus a negative binomial one
        log_weight = log_squares(k - 1, epsilon)
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

    def reach(self, cells: int, block: int, tail: float) -> tuple[int, int]:
        """The law of a sum of independent noise is known for any number of cells."""
        if cells > 1:
            return symmetric_reach(log_sum_law(cells, self.slope), tail)
        return super().reach(cells, block, tail) if cells else (0, 0)

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
class _LatticeOptions(Tabled[Drawn]):
    """The fields of `LatticeGeometric`. They have a class of their own so that type checkers can be told what its `by` means."""

    __qualname__ = "LatticeGeometric"  # whose `__init__` this has, and it is what an error of Python's names

    projection: Projection = field(default="euclidean", validator=_check_projection)


class LatticeGeometric(_LatticeOptions[Drawn]):
    """ε-DP by proof: `z ∝ exp(-ε d(x, z))`, d the number of steps from x to z, then turned into counts. For k = 2, the geometric mechanism.

    With n a step replaces a record, d is ½‖z - x‖₁ on the lattice of total n, and the promise hides everyone's answer. Without n a step
    adds or removes a record, d is ‖z - x‖₁, and the promise hides that someone took part. Neighbouring datasets are at distance 1 and
    share one normaliser, so every outcome's probability changes by at most e^ε.

    Args:
        prior: The Dirichlet, or for two categories the Beta, that readers begin with; it names the categories, in their order. No noise
            depends on it.
        n: What is public about the number of records: this number, or None if it is private. For a table: a sequence with the size of
            every group, in their order; one number, the total of all groups; or None for nothing.
        epsilon: ε, above 0: a number, a fraction or a text such as "0.1". A float means the decimal that it prints as.
        projection: How noisy counts become reported ones that are not negative and add up to n: "euclidean", the nearest such counts, or
            "cut", from left to right what is left of n.
        report: Another way from noisy counts to reported ones, in place of its own; `Remapped` sets it.
        by: The groups of a table, as {"region": ["north", "south"]}: columns with their labels. None for one variable.
        impossible: Cells of a table that cannot occur, each with the labels of a group and a category; they get no noise.
        shares: Where one public total is all that is known of sizes, the prior of the groups' shares of it: a concentration for each group
            in their order; 1 for each if left out.
        priors: Groups of a table with another prior than `prior`, as {"north": Dirichlet([2, 1, 1])}.

    Returns:
        A mechanism, which is public data: `release(counts)` draws with it, and `guarantee` says what it promises.

    Raises:
        InvalidInputError: An argument is not what is said above, or does not go together with the others.
    """

    _names: ClassVar[tuple[str, ...]] = ("lattice", "geometric")
    _look: ClassVar[tuple[Any, ...]] = ("#1b1e23", "h", "-", "||")

    if TYPE_CHECKING:  # attrs makes it: this tells type checkers that groups make a table

        @overload
        def __init__(
            self: "LatticeGeometric[tuple[int, ...]]",
            prior: Prior,
            n: Any = ...,
            epsilon: Number = ...,
            projection: Projection = ...,
            *,
            by: None = ...,
            report: Report = ...,
        ) -> None: ...

        @overload
        def __init__(
            self: "LatticeGeometric[Counts]",
            prior: Prior,
            n: Any = ...,
            epsilon: Number = ...,
            projection: Projection = ...,
            *,
            by: Mapping[str, Any] | Groups,
            impossible: Any = ...,
            shares: Any = ...,
            priors: Any = ...,
            report: Report = ...,
        ) -> None: ...

        def __init__(self, *_: Any, **__: Any) -> None: ...

    def __attrs_post_init__(self) -> None:
        if self.n is None and self.projection == "cut":
            raise InvalidInputError("projection='cut' cuts the counts to a public n, and n is private here; leave it out")
        if self.by.columns and self.projection == "cut":
            raise InvalidInputError("projection='cut' is for one variable, and this is a table; leave it out")
        super().__attrs_post_init__()

    def _own_report(self) -> Report:
        """The nearest counts, or ("cut") left to right what is left of n."""
        return Cut(self.n, self.k) if self.projection == "cut" and isinstance(self.n, int) else super()._own_report()

    @property
    def _claim(self) -> Guarantee:
        """Return the claim of ε, by proof (docs/explain/mechanisms.md)."""
        return self._by_proof()

    @property
    def _theorem(self) -> str:
        """The theorem of its promise, one of three."""
        relation = self.space.relation
        if relation == Relation.ADD_REMOVE_ONE:
            return "cells_private"
        return "blocks_private" if relation.within else "fixed_total_private"

    @property
    def noise(self) -> LatticeNoise | GeometricNoise:
        """A record that is replaced moves two cells by 1, so each has slope ε/2; one that comes or goes moves one."""
        cells = self.space.k
        if self.n is None:
            return GeometricNoise(cells, float(self.epsilon))
        if isinstance(self.n, int):
            return LatticeNoise(cells, 0.5 * float(self.epsilon))
        return LatticeNoise(cells, 0.5 * float(self.epsilon), tuple(self._table.cells.possible.sum(axis=1).tolist()))

    def _check_size(self) -> None:
        """Refuse noise that does not fit arrays."""
        check_fits(2 / self.epsilon, self.space.k)

    @property
    def _draw_seconds(self) -> float:
        """Bound the seconds by the number of cells, and of those in one block that are attempted together."""
        sizes = self.noise.sizes if isinstance(self.noise, LatticeNoise) else ()
        together = max((size for size in sizes if size <= ATTEMPTED), default=1)
        return noise_seconds(2 / self.epsilon, self.space.k, together)

    def _warm_up(self) -> None:
        """Draw noise once from public bits, which makes the tables."""
        if not self.by.columns:
            self._draw_noise(SeededBits(0))

    def _draw_noise(self, source: BitSource) -> Noise:
        """Exact noise on the lattice, of every cell that can occur: a block for each group whose size is public."""
        noise = self.noise
        if isinstance(noise, GeometricNoise):
            return discrete_laplace_array(source, 1 / self.epsilon, noise.cells)
        drawn: Counts = noise.by_size(1, partial(lattice_blocks, source, self.epsilon))[0]
        return drawn

    def _raw_law(self, counts: Counts) -> Law:
        """Two categories: all outcomes, the tails added to 0 and n. More: the noise out to where next to no probability is left.

        Where n is private, noisy counts below 0 tell datasets apart no better than 0 does: their probability is added there.
        """
        self._check_single()
        if isinstance(self.noise, GeometricNoise):
            return law_of_any_total(self.noise, counts)
        if self.k == 2:
            return self._two_category_law(counts)
        return law_of_known_total(counts, float(self.epsilon))

    def _two_category_law(self, counts: Counts) -> Law:
        """Outcomes beyond 0 and n tell datasets apart no better than 0 and n do: their tails are added there."""
        raw = simplex_points(self.space.total, 2)
        return Law(raw, self._line(int(counts[0]), raw[:, 0].astype(np.float64)))

    def _line_law(self, x: int, r: Floats) -> Floats | None:
        """Return the law by distance from x; what lies beyond 0 or n is reported there. Without n there is no such law."""
        self._check_single()
        return None if self.n is None else self._line(x, r)

    def _line(self, x: int, r: Floats) -> Floats:
        epsilon = float(self.epsilon)
        beyond = np.where((r == 0) | (r == self.space.total), log(-expm1(-epsilon)), 0.0)
        return np.asarray(-epsilon * np.abs(r - x) - log_normaliser(2, epsilon) - beyond)

    def _loss_atoms(self) -> LossAtoms:
        """Return the loss of any pair of a block: all are alike."""
        return distance_atoms(self.epsilon, None if self.n is None else self.k if not self.by.columns else self._table.fewest)


def law_of_any_total(noise: GeometricNoise, counts: Counts) -> Law:
    """Each noisy count out to where next to no probability is left, those below 0 taken as 0."""
    reach = ceil((log(len(counts)) - log(UNLISTED)) / noise.slope)
    highest = [int(x) + reach for x in counts]
    check_outcomes(prod(high + 1 for high in highest), "this law", limits.LISTED_CELLS // len(counts))
    axes = [np.arange(high + 1) for high in highest]
    logs = [noise.clamped_below(int(x), axis.astype(np.float64)) for x, axis in zip(counts, axes, strict=True)]
    return Law(box_points(axes), np.asarray(reduce(np.add.outer, logs)).ravel(), UNLISTED)


def law_of_known_total(counts: Counts, epsilon: float) -> Law:
    """List all noisy counts with the total of the true ones, out to where next to no probability is left."""
    noise, log_probability = _noise_law(len(counts), epsilon)
    return Law(noise + counts, log_probability.copy(), UNLISTED)


def distance_atoms(epsilon: Fraction, cells: int | None) -> LossAtoms:
    """The loss where the distance to the outcome changes by 1, 0 or -1, for so many cells of a public total, or None for a private one.

    With a private n it grows with probability P(noise <= 0) = 1/(1 + q) and shrinks otherwise. With a public n it grows with
    P(noise_i >= 0 >= noise_j) = Σ_j C(k-2, j)² q^j / Σ_j C(k-1, j)² q^j, by the same count of pairs as the normaliser.
    """
    grows = 1.0 / (1.0 + exp(-float(epsilon))) if cells is None else float(refine(partial(_growth, epsilon, cells)))
    shrinks = grows * exp(-float(epsilon))
    loss = float(epsilon) * np.array([1.0, 0.0, -1.0])
    return LossAtoms(epsilon, loss, np.array([grows, max(1.0 - grows - shrinks, 0.0), shrinks]))


def _growth(epsilon: Fraction, cells: int) -> arb:
    """Return that probability at the working precision: Σ_j C(m, j)² q^j = (1-q)^m P_m((1+q)/(1-q)), P_m Legendre's polynomial."""
    rest = -(-ball(epsilon)).expm1()
    z = (2 - rest) / rest
    return z.legendre_p(cells - 2) / (rest * z.legendre_p(cells - 1))
