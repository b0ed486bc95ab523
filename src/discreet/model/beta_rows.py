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

from discreet.arrays import Counts, Floats
from discreet.model.beta_mixtures import BetaMixture, each_component
from discreet.model.dirichlet import log_density
from discreet.model.log_odds import BetaFamily
from discreet.numerics.divergences import log_ratio_excess
from discreet.numerics.incomplete_beta import BELOW_ONE, beta_cdf, beta_survival

_LARGEST_LOG_RATIO = 650.0
"""Logarithm of how much larger a factor may be than the sum it is part of: others that are too small for a float are then negligible."""
_UNSEEN_TAIL = 1e-25
"""Probability that is not looked at further."""
_LEAST_NORMAL = 2.0**-1022
"""The floats next to 0 and 1, but for denormal ones."""


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
        """For every row and column the one of these values that stands for n - x, where they are for `lowest` to `highest`."""
        views = np.lib.stride_tricks.sliding_window_view(values[::-1], len(self.counts))
        return np.asarray(views[self.totals.max() - self.totals])


class BetaRows(BetaMixture):
    """The mixture of all components of some blocks, which share a and b."""

    def __init__(self, blocks: Sequence[Block], a: float, b: float, category: Hashable = "success", omitted: float = 0.0) -> None:
        for name, value in (("category", category), ("omitted", omitted), ("_table", _BetaTable(blocks, a, b))):
            object.__setattr__(self, name, value)

    _table: "_BetaTable"

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
        return self._each_point(x, lambda t: self._table.below(t)[0], 0.0, 1.0)

    def sf(self, x: ArrayLike) -> Floats:
        """Probability of being above x, without subtracting."""
        return self._each_point(x, lambda t: self._table.above(t)[0], 1.0, 0.0)

    def pdf(self, x: ArrayLike) -> Floats:
        """Density; 0 outside [0, 1]."""
        points = np.asarray(x, dtype=np.float64)
        ends = {end: float(np.exp(self.logpdf(end))) for end in (0.0, 1.0) if (points == end).any()}
        value = self._each_point(
            np.where((points < 0.0) | (points > 1.0), 0.0, points),
            lambda t: self._table.below(t)[1] / t,
            ends.get(0.0, 0.0),
            ends.get(1.0, 0.0),
        )
        return np.where((points < 0.0) | (points > 1.0), 0.0, value)

    def _each_point(self, x: ArrayLike, function: Callable[[float], float], below: float, above: float) -> Floats:
        points = np.asarray(x, dtype=np.float64)
        values = [below if t <= 0.0 else above if t >= 1.0 else function(t) for t in points.ravel().tolist()]
        return np.array(values).reshape(points.shape)

    def _excess(self, u: Floats, q: Floats) -> tuple[Floats, Floats]:
        """As for any mixture, with the matrices of all blocks computed once."""
        upper = q > 0.5
        points = [float(t) for t in np.clip(expit(u), _LEAST_NORMAL, BELOW_ONE)]
        found = [(self._table.above if high else self._table.below)(t) for t, high in zip(points, upper, strict=True)]
        mass, density = np.array(found).reshape(-1, 2).T
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            log_mass = np.log(mass)
            slope = density * expit(-u) / mass
        return np.where(upper, np.log1p(-q) - log_mass, log_mass - np.log(q)), slope


class _BetaTable:
    """What sums over all blocks need.

    With X, Y and N = X + Y the count, the rest and the total in the middle, and x, y and n what others have beyond them,

        ln d  =  ln d(X, N)  +  g_n(n) - g_x(x) - g_y(y)  +  x ln(t ν/α) + y ln((1-t) ν/β) ,    α = a + 1 + X,  β = b + Y,  ν = a + b + N,

    g_x(x) = ln Γ(α + x)/Γ(α) - x ln α, and so on. Nothing here is larger than it has to be.
    """

    def __init__(self, blocks: Sequence[Block], a: float, b: float) -> None:
        self.blocks, self.a, self.b = blocks, a, b
        rows = [block.weights.sum(axis=1) for block in blocks]
        self.mass = float(sum(row.sum() for row in rows))
        mean_x = sum(float(block.weights.sum(axis=0) @ block.counts) for block in blocks) / self.mass
        mean_n = sum(float(row @ block.totals) for row, block in zip(rows, blocks, strict=True)) / self.mass
        self.count, self.total = round(mean_x), max(round(mean_n), round(mean_x))
        self.rest = self.total - self.count
        self.alpha, self.beta, self.nu = a + 1.0 + self.count, b + self.rest, a + b + self.total
        first, last = min(block.first for block in blocks), max(block.last for block in blocks)
        low, high = min(int(block.totals.min()) for block in blocks), max(int(block.totals.max()) for block in blocks)
        self.log_x = _log_rising(a + 1.0, first, last, self.count, self.alpha)
        self.log_y = _log_rising(b, max(low - last, 0), high - first, self.rest, self.beta)
        self.log_n = _log_rising(a + b, low, high, self.total, self.nu)
        self.parts = [_RowPart(block, row, self) for block, row in zip(blocks, rows, strict=True)]

    @cached_property
    def _moments(self) -> tuple[Floats, Floats, Floats, Floats]:
        """The sum of the parameters of each row; its weight, and the sums of x and x² under it."""
        moments = [part.block.weights @ np.stack([part.x**0, part.x, part.x**2], axis=-1) for part in self.parts]
        total = self.nu + np.concatenate([part.n for part in self.parts])
        weight, first, second = np.concatenate(moments).T / self.mass
        return total, weight, first / total, second / total**2

    @cached_property
    def mean(self) -> float:
        total, weight, first, _ = self._moments
        return float(weight @ ((self.a + self.count) / total) + first.sum())

    @cached_property
    def var(self) -> float:
        """That within the components and that of their means."""
        total, weight, first, second = self._moments
        mine = (self.a + self.count) / total
        away = mine - self.mean
        others = 1.0 - mine
        within = weight * mine * others + (others - mine) * first - second
        return float((within / (total + 1.0) + weight * away**2 + 2.0 * away * first + second).sum())

    def below(self, t: float) -> tuple[float, float]:
        """The probability of being at most t, and the density there times t."""
        whole = 0.0
        for part in self.parts:
            a, b = part.parameters(part.last)
            if betainc(a.min(), b.max(), t) > _UNSEEN_TAIL:
                whole += float(part.row @ each_component(betainc, beta_cdf, a, b, np.array([[t]]))[0])
        terms, density = self._summed(t, lambda part: (part.lower, part.density))
        return (whole + terms) / self.mass, density / self.mass

    def above(self, t: float) -> tuple[float, float]:
        """The probability of being above t, and the density there times t."""
        whole = 0.0
        for part in self.parts:
            a, b = part.parameters(part.first)
            if betaincc(a.max(), b.min(), t) > _UNSEEN_TAIL:
                whole += float(part.row @ each_component(betaincc, beta_survival, a, b, np.array([[t]]))[0])
        terms, density = self._summed(t, lambda part: (part.upper, part.density))
        return (whole + terms) / self.mass, density / self.mass

    def _summed(self, t: float, factors: "Callable[[_RowPart], tuple[_Factors, _Factors]]") -> list[float]:
        """Σ factor · d(a, b) over all components, for two factors."""
        known = self._log_middle(t)
        slopes = float(np.log(t) - np.log(self.alpha / self.nu)), float(np.log1p(-t) - np.log(self.beta / self.nu))
        each = [(factors(part), *part.vectors(known, *slopes)) for part in self.parts]
        largest = max(float(rows.max()) for _, rows, _ in each)
        if largest < _LARGEST_LOG_RATIO:
            found = np.zeros(2)
            for pair, rows, columns in each:
                row, column = np.exp(rows), np.exp(columns)
                found += [row @ (factor.matrix @ column) for factor in pair]
            if found.min() > np.exp(largest - _LARGEST_LOG_RATIO):
                return found.tolist()
        return [sum(pair[side].summed(rows, columns) for pair, rows, columns in each) for side in (0, 1)]

    @cached_property
    def _middle(self) -> tuple[Floats, Floats, float]:
        """The parameters in the middle, their means, and ln d at the means less their logarithms."""
        parameters = np.array([self.a + self.count, self.b + self.rest])
        mean = parameters / parameters.sum()
        density = log_density(parameters[None], mean[None], parameters.sum(keepdims=True), mean)[0]
        return parameters, mean, float(density + np.log(mean).sum() - np.log(parameters[0]))

    def _log_middle(self, t: float) -> float:
        """ln d in the middle: the density there, less its value at the mean, is Σ α_i λ(t_i/μ_i - 1) - ln t_i/μ_i (`log_density`)."""
        parameters, mean, known = self._middle
        point = np.array([t, 1.0 - t])
        return known + float(parameters @ log_ratio_excess((point - mean) / mean, point / mean) - np.log1p(-t))


@dataclass(frozen=True, eq=False)
class _Factors:
    """What the terms d of a block are multiplied with in a sum."""

    part: "_RowPart"
    values: Floats

    @cached_property
    def matrix(self) -> Floats:
        """The factors times the part of d that is a function of n - x."""
        return self.values * self.part.of_difference

    def summed(self, rows: Floats, columns: Floats) -> float:
        """Their sum with d, from the logarithms of d itself: slow, and good where its parts are beyond floats."""
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
        log_y = table.log_y.value[np.maximum(y, table.log_y.low) - table.log_y.low] - self.slope * (y - table.rest)
        self.shift = float(log_y[y >= 0].min())
        self.log_of_difference = np.where(y >= 0, self.shift - log_y, -np.inf)
        self.log_x = table.log_x.value[block.counts - table.log_x.low]
        self.log_n = table.log_n.value[block.totals - table.log_n.low]

    @cached_property
    def of_difference(self) -> Floats:
        return self.block.of_difference(np.exp(self.log_of_difference))

    def parameters(self, x: Counts) -> tuple[Floats, Floats]:
        """Those of the Betas of one count in each row."""
        return np.asarray(self.table.a + x, dtype=np.float64), np.asarray(self.table.b + (self.block.totals - x), dtype=np.float64)

    def vectors(self, known: float, x_slope: float, y_slope: float) -> tuple[Floats, Floats]:
        """The logarithms of the functions of the row and of the column, the second of which is nowhere above 0."""
        columns = (x_slope - y_slope + self.slope) * self.x - self.log_x
        highest = float(columns.max())
        return self.log_n + (y_slope - self.slope) * self.n + (known - self.shift + highest), columns - highest

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


@dataclass(frozen=True, eq=False)
class _Logarithms:
    """Values for consecutive integers from `low` on."""

    low: int
    value: Floats


def _log_rising(start: float, low: int, high: int, centre: int, unit: float) -> _Logarithms:
    """ln Γ(start + j)/Γ(start + centre) - (j - centre) ln unit for j from low to high, added up from the centre outwards."""
    steps = np.log((start + np.arange(low, high)) / unit)
    above, below = np.cumsum(steps[centre - low :]), np.cumsum(steps[: centre - low][::-1])[::-1]
    return _Logarithms(low, np.concatenate([-below, [0.0], above]))
