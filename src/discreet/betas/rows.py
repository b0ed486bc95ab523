"""Mixtures of many Betas in rows whose parameters follow each other by 1: fast sums over counts and totals (docs/proofs/inference.md).

With `d(a, b) = t^a (1-t)^{b-1} Γ(a+b) / (Γ(a+1) Γ(b))`, `I_t(a, b) = I_t(a + 1, b - 1) + d(a, b)`. So for the components of one row,
a = a_0, a_0 + 1, ..., a_m with a + b fixed and weights w (Abel's summation by parts),

    Σ_j w_j I_t(a_j, b_j)  =  (Σ w) I_t(a_m, b_m)  +  Σ_{j < m} (w_0 + ... + w_j) d(a_j, b_j) ,

one incomplete beta function for a row, and positive terms alone. From 1 downwards, from the other end of the row, it is the same.

And d is a function of the row times one of the column times one of their difference, of which only the first two need to depend on t.
So the sum over a block of rows is a matrix between two vectors, and the matrix is the same for all t.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincc, expit

from discreet.arrays import Counts, Floats, Mask
from discreet.betas.log_odds import BetaFamily
from discreet.betas.mixtures import BetaMixture, in_parts
from discreet.betas.search import MiddleTerms
from discreet.numerics.gamma import BELOW_ONE, beta_cdf, beta_survival
from discreet.numerics.tails import kept

_LARGEST_LOG_RATIO = 650.0
"""Logarithm of how much larger a factor may be than the sum it is part of: others that are too small for a float are then negligible."""
_UNSEEN_PART = 1e-18
"""An incomplete beta function that is below this part of the other terms is not computed."""
_NEGLIGIBLE_ENDS = 1e-17
"""The weight, relative to the likeliest count, that the counts left out at either end of a law may have together."""
_LEAST_NORMAL = 2.0**-1022
"""The least float above 0, but for denormal ones."""


@dataclass(frozen=True, eq=False)
class Block:
    """Weights of Beta(a + x, b + n - x): a row for each total n, a column for each count x from `first` on; 0 where x is above n."""

    first: int
    totals: Counts
    weights: Floats

    @property
    def last(self) -> int:
        return self.first + int(self.weights.shape[1]) - 1

    @property
    def counts(self) -> Counts:
        return np.arange(self.first, self.last + 1)

    @property
    def lowest(self) -> int:
        """The least n - x, which may be negative."""
        return int(self.totals.min()) - self.last

    @property
    def highest(self) -> int:
        return int(self.totals.max()) - self.first

    def family(self, a: float, b: float) -> BetaFamily:
        """The Betas of all rows and columns, a mixture for each row."""
        rows, columns = np.zeros((len(self.totals), 2)), np.stack([a + self.counts, b - self.counts], axis=-1)
        rows[:, 1] = self.totals
        return BetaFamily(self.weights, rows, columns)

    def of_difference(self, values: Floats) -> Floats:
        """Return for every row and column the one of these values that stands for n - x, where they are for `lowest` to `highest`."""
        views = np.lib.stride_tricks.sliding_window_view(values[::-1], len(self.counts))
        return np.asarray(views[self.totals.max() - self.totals])


class BetaRows(BetaMixture):
    """The mixture of all components of some blocks, which share a and b."""

    def __init__(self, blocks: Sequence[Block], a: float, b: float, category: Hashable = "success", omitted: float = 0.0) -> None:
        for name, value in (("category", category), ("omitted", omitted), ("_table", _BetaTable(blocks, a, b))):
            object.__setattr__(self, name, value)

    _table: "_BetaTable"

    @classmethod
    def of_total(cls, low: int, weight: Floats, n: int, prior: tuple[float, float], category: Hashable, omitted: float = 0.0) -> "BetaRows":
        """The mixture of Beta(a + x, b + n - x) over counts x from `low` on with these weights, of one known total n.

        Counts at the ends that weigh nothing beside the others are left out.
        """
        first, last, dropped = kept(weight, _NEGLIGIBLE_ENDS * float(weight.max()))
        block = Block(low + first, np.array([n]), weight[None, first : last + 1])
        return cls([block], *prior, category, min(1.0, omitted + dropped / float(weight.sum())))

    @cached_property
    def _components(self) -> tuple[Floats, Floats, Floats]:
        """Weights and parameters one by one. Sums over them are slow."""
        blocks = self._table.blocks
        held = [block.weights > 0.0 for block in blocks]
        weight = np.concatenate([block.weights[h] for block, h in zip(blocks, held, strict=True)]) / self._table.mass
        x = np.concatenate([np.broadcast_to(block.counts, h.shape)[h] for block, h in zip(blocks, held, strict=True)]).astype(np.float64)
        n = np.concatenate([np.repeat(block.totals, h.sum(axis=1)) for block, h in zip(blocks, held, strict=True)]).astype(np.float64)
        return weight, self._table.a + x, self._table.b + (n - x)

    @property
    def weight(self) -> Floats:
        return self._components[0]

    @property
    def a(self) -> Floats:
        return self._components[1]

    @property
    def b(self) -> Floats:
        return self._components[2]

    def families(self) -> list[BetaFamily]:
        return [block.family(self._table.a, self._table.b) for block in self._table.blocks]

    def mean(self) -> float:
        return self._table.mean

    def var(self) -> float:
        return self._table.var

    def cdf(self, x: ArrayLike) -> Floats:
        """Probability of being at most x."""
        return self._inside(x, lambda t: self._table.beyond(t, np.zeros(t.shape[1], np.bool_))[0], 0.0, 1.0)

    def sf(self, x: ArrayLike) -> Floats:
        """Probability of being above x, without subtracting."""
        return self._inside(x, lambda t: self._table.beyond(t, np.ones(t.shape[1], np.bool_))[0], 1.0, 0.0)

    def pdf(self, x: ArrayLike) -> Floats:
        """Density; 0 outside [0, 1]."""
        points = np.asarray(x, dtype=np.float64)
        value = self._inside(points, lambda t: self._table.beyond(t, np.zeros(t.shape[1], np.bool_))[1] / t[0], 0.0, 0.0)
        ends = (points == 0.0) | (points == 1.0)
        return np.where(ends, np.exp(self.logpdf(points)), value) if ends.any() else value

    def _inside(self, x: ArrayLike, function: Callable[[Floats], Floats], below: float, above: float) -> Floats:
        """A function of points strictly between 0 and 1 and of 1 less them, and what it is at the ends and beyond."""
        points = np.asarray(x, dtype=np.float64)
        inside = (points > 0.0) & (points < 1.0)
        result = np.where(points <= 0.0, below, above)
        result[inside] = in_parts(lambda t: function(np.stack([t, 1.0 - t])), points[inside], self._table.widest)
        return result

    def _beyond(self, u: Floats, upper: Mask) -> tuple[Floats, Floats]:
        """Return the probability beyond logits, as for any mixture, with the matrices of all blocks computed once."""
        t = np.clip(np.stack([expit(u), expit(-u)]), _LEAST_NORMAL, BELOW_ONE)
        mass, density = self._table.beyond(t, upper)
        return mass, density * t[1]


class _BetaTable:
    """The tables that sums over all blocks need.

    With X, Y and N = X + Y the count, the rest and the total in the middle, and x, y and n what others have beyond them,

        ln d  =  ln d(X, N)  +  g_n(n) - g_x(x) - g_y(y)  +  x ln(t ν/α) + y ln((1-t) ν/β) ,    α = a + X,  β = b + Y,  ν = α + β,

    g_x(x) = ln Γ(α + 1 + x)/Γ(α + 1) - x ln α, and so on. Nothing here is larger than it has to be.
    """

    def __init__(self, blocks: Sequence[Block], a: float, b: float) -> None:
        self.blocks, self.a, self.b = blocks, a, b
        rows = [block.weights.sum(axis=1) for block in blocks]
        self.mass = float(sum(row.sum() for row in rows))
        mean_x = sum(float(block.weights.sum(axis=0) @ block.counts) for block in blocks) / self.mass
        mean_n = sum(float(row @ block.totals) for row, block in zip(rows, blocks, strict=True)) / self.mass
        self.count, self.total = round(mean_x), max(round(mean_n), round(mean_x))
        self.rest = self.total - self.count
        self.middle = MiddleTerms(np.array([a + self.count]), np.array([b + self.rest]))
        self.alpha, self.beta = self.middle.parameters[:, 0].tolist()
        self.nu = a + b + self.total
        counts = min(block.first for block in blocks), max(block.last for block in blocks)
        totals = min(int(block.totals.min()) for block in blocks), max(int(block.totals.max()) for block in blocks)
        rests = max(totals[0] - counts[1], 0), totals[1] - counts[0]
        self.log_x = _LogRises(a + 1.0, counts, self.count, self.alpha)
        self.log_y = _LogRises(b, rests, self.rest, self.beta)
        self.log_n = _LogRises(a + b, totals, self.total, self.nu)
        self.parts = [_RowPart(block, row, self) for block, row in zip(blocks, rows, strict=True)]

    @property
    def widest(self) -> int:
        """The most numbers that a part needs for a point."""
        return int(max(max(block.weights.shape) for block in self.blocks))

    @cached_property
    def _moments(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """The weight of each row; the sum of its parameters and the means of both; and the variance of its count.

        Counts are taken relative to the first one, so that of a row without records no more is left than its parameters.
        """
        found = []
        for part, block in zip(self.parts, self.blocks, strict=True):
            j, row = np.arange(block.weights.shape[1], dtype=np.float64), np.where(part.row > 0.0, part.row, 1.0)
            step = block.weights @ j / row
            spread = np.einsum("nx,nx->n", block.weights, (j - step[:, None]) ** 2) / row
            mine, others = self.a + (block.first + step), self.b + (block.totals - block.first - step)
            found.append((part.row / self.mass, self.a + self.b + block.totals, mine, others, spread))
        weight, total, mine, others, spread = np.concatenate(found, axis=1)
        return weight, total, mine, others, spread

    @cached_property
    def mean(self) -> float:
        weight, total, mine, _, _ = self._moments
        return float(weight @ (mine / total))

    @cached_property
    def var(self) -> float:
        """Return the variance: that within the components and that of their means."""
        weight, total, mine, others, spread = self._moments
        return float(weight @ ((mine / total * others + spread) / (total * (total + 1.0)) + (mine / total - self.mean) ** 2))

    def beyond(self, t: Floats, upper: Mask) -> tuple[Floats, Floats]:
        """The probability of being at most each of these points, or above it for `upper`, and the density there times the point.

        `t` has the points and 1 less them. Given either, an incomplete beta function of each row stands for its component that is farthest.
        """
        mass, density = self._summed(t, upper)
        for side in (False, True):
            held = np.flatnonzero(upper == side)
            for part in self.parts if held.size else []:
                a, b = part.parameters(part.first if side else part.last)
                most = betaincc(a.max(), b.min(), t[0, held]) if side else betainc(a.min(), b.max(), t[0, held])
                seen = held[most > _UNSEEN_PART * mass[held]]
                if seen.size:
                    mass[seen] += (beta_survival if side else beta_cdf)(a, b, t[0, seen][:, None]) @ part.row
        return mass / self.mass, density / self.mass

    def _summed(self, t: Floats, upper: Mask) -> Floats:
        """Σ factor · d(a, b) over all components, for two factors: the weights beyond, and the weights times a."""
        _, (x_slope, y_slope), known = (each[..., 0] for each in self.middle.at(slice(None), t[:, :, None]))
        vectors = [part.vectors(known - np.log(t[1]), x_slope, y_slope) for part in self.parts]
        largest = np.max([rows.max(axis=0) for rows, _ in vectors], axis=0)
        found = np.zeros((2, t.shape[1]))
        for part, (rows, columns) in zip(self.parts, vectors, strict=True):
            row, column = np.exp(np.minimum(rows, _LARGEST_LOG_RATIO)), np.exp(columns)
            for sums, factor, held in ((0, part.lower, ~upper), (0, part.upper, upper), (1, part.density, np.ones_like(upper))):
                if held.any():
                    found[sums, held] += (row[:, held] * (factor.matrix @ column[:, held])).sum(axis=0)
        good = (largest < _LARGEST_LOG_RATIO) & (found.min(axis=0) > np.exp(np.minimum(largest - _LARGEST_LOG_RATIO, 0.0)))
        for j in np.flatnonzero(~good).tolist():
            found[:, j] = 0.0
            for part, (rows, columns) in zip(self.parts, vectors, strict=True):
                for sums, factor in enumerate((part.upper if upper[j] else part.lower, part.density)):
                    found[sums, j] += factor.summed(rows[:, j], columns[:, j])
        return found


@dataclass(frozen=True, eq=False)
class _Factors:
    """The factors by which a sum multiplies the terms d of a block."""

    part: "_RowPart"
    values: Floats

    @cached_property
    def matrix(self) -> Floats:
        """The factors times the part of d that is a function of n - x."""
        return self.values * self.part.of_difference

    def summed(self, rows: Floats, columns: Floats) -> float:
        """Return the sum of factors times d, from the logarithms of d itself: slow, and good where its parts are beyond floats."""
        block = self.part.block
        log_terms = block.of_difference(self.part.log_of_difference) + rows[:, None] + columns
        return float((self.values * np.exp(log_terms)).sum())


class _RowPart:
    """A block, with the logarithms of the three functions that d is a product of there."""

    def __init__(self, block: Block, row: Floats, table: "_BetaTable") -> None:
        self.block, self.row, self.table = block, row, table
        self.x = (block.counts - table.count).astype(np.float64)
        self.n = (block.totals - table.total).astype(np.float64)
        self.first, self.last = np.minimum(block.first, block.totals), np.minimum(block.last, block.totals)
        y = np.arange(block.lowest, block.highest + 1)
        usual = 0.5 * float(block.totals.min() + block.totals.max()) * table.rest / max(table.total, 1)
        self.slope = float(np.log((table.b + usual) / table.beta))
        log_y = table.log_y(np.maximum(y, 0)) - self.slope * (y - table.rest)
        self.shift = float(log_y[y >= 0].min())
        self.log_of_difference = np.where(y >= 0, self.shift - log_y, -np.inf)
        self.log_x, self.log_n = table.log_x(block.counts), table.log_n(block.totals)

    @cached_property
    def of_difference(self) -> Floats:
        return self.block.of_difference(np.exp(self.log_of_difference))

    def parameters(self, x: Counts) -> tuple[Floats, Floats]:
        """Return the parameters of the Betas of one count in each row."""
        return np.asarray(self.table.a + x, dtype=np.float64), np.asarray(self.table.b + (self.block.totals - x), dtype=np.float64)

    def vectors(self, known: Floats, x_slope: Floats, y_slope: Floats) -> tuple[Floats, Floats]:
        """The logarithms of the functions of the row and of the column at points, the second of which is nowhere above 0."""
        columns = np.multiply.outer(self.x, x_slope - y_slope + self.slope) - self.log_x[:, None]
        highest = columns.max(axis=0)
        rows = self.log_n[:, None] + np.multiply.outer(self.n, y_slope - self.slope)
        return rows + (known - self.shift + highest), columns - highest

    @cached_property
    def lower(self) -> _Factors:
        """The weight of each row up to each component but its last, which an incomplete beta function stands for."""
        sums = np.cumsum(self.block.weights, axis=1)
        sums[:, -1] = 0.0
        if self.block.lowest <= 0:
            sums[self.block.counts >= self.block.totals[:, None]] = 0.0
        return _Factors(self, sums)

    @cached_property
    def upper(self) -> _Factors:
        """The weight of each row beyond each component."""
        sums = np.zeros_like(self.block.weights)
        sums[:, :-1] = np.cumsum(self.block.weights[:, :0:-1], axis=1)[:, ::-1]
        return _Factors(self, sums)

    @cached_property
    def density(self) -> _Factors:
        """The weight of each component times its a, which makes d the density times t."""
        return _Factors(self, self.block.weights * (self.table.a + self.block.counts))


class _LogRises:
    """ln Γ(start + j)/Γ(start + centre) - (j - centre) ln unit for j between two ends, added up from the centre outwards."""

    def __init__(self, start: float, ends: tuple[int, int], centre: int, unit: float) -> None:
        self.low, place = ends[0], centre - ends[0]
        steps = np.log((start + np.arange(*ends)) / unit)
        above, below = np.cumsum(steps[place:]), np.cumsum(steps[:place][::-1])[::-1]
        self.value = np.concatenate([-below, [0.0], above])

    def __call__(self, j: Counts) -> Floats:
        """The logarithms; below the lower end, that at the end."""
        return np.asarray(self.value[np.maximum(j, self.low) - self.low])
