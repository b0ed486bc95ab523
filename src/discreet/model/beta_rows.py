"""Mixtures of many Betas in rows whose parameters follow each other by 1: fast sums over counts and totals (docs/inference.md).

With `d(a, b) = t^a (1-t)^{b-1} Γ(a+b) / (Γ(a+1) Γ(b))`, `I_t(a, b) = I_t(a + 1, b - 1) + d(a, b)`. So for the components of one row,
a = a_0, a_0 + 1, ..., a_m with a + b fixed and weights w (Abel's summation by parts),

    Σ_j w_j I_t(a_j, b_j)  =  (Σ w) I_t(a_m, b_m)  +  Σ_{j < m} (w_0 + ... + w_j) d(a_j, b_j) ,

one incomplete beta function for a row, and positive terms alone. From 1 downwards, from the other end of the row, it is the same.

And d at t is d at another point s times `((1-t)/(1-s))^(a+b-1) ρ^a`, ρ the ratio of their odds. So near s the sum over all rows is a
matrix between two vectors, and a search for a quantile computes the matrix once.
"""

from collections.abc import Callable, Hashable
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincc, expit

from discreet.arrays import Counts, Floats
from discreet.model.beta_mixtures import BetaMixture, each_component
from discreet.model.dirichlet import log_density
from discreet.numerics.incomplete_beta import beta_cdf, beta_survival

_FAR = 300.0
"""Largest logarithm of a factor between the terms at a point and those they are computed from."""
_MANY = 2e5
"""Beyond so many records the factors between two points would lose digits, and every point has terms of its own."""
_NOTHING = 1e-25
"""Probability that is not looked at further."""
_LEAST, _MOST = 2.0**-1022, 1.0 - 2.0**-53
"""The floats next to 0 and 1, but for denormal ones."""
_KEPT = 2
"""Points whose terms are kept: the two ends of an interval."""


class BetaRows(BetaMixture):
    """Σ weights[i, j] · Beta(a + j, b + totals[i] - j): a row for each total number of records, a column for each count."""

    def __init__(
        self, weights: Floats, a: float, b: float, first: int, totals: Counts, category: Hashable = "success", omitted: float = 0.0
    ) -> None:
        """The first column is for the count `first`. Where a weight is above 0 the count must be at most the total."""
        rows, columns = np.nonzero(weights)
        x, n = (first + columns).astype(np.float64), totals[rows].astype(np.float64)
        super().__init__(weights[rows, columns], a + x, b + (n - x), category, omitted)
        object.__setattr__(self, "_table", _Table(weights / weights.sum(), a + first, b - first, totals.astype(np.float64)))

    _table: "_Table"

    def cdf(self, x: ArrayLike) -> Floats:
        """Probability of being at most x."""
        return self._each_point(x, lambda t: self._table.lower(t)[0], 0.0, 1.0)

    def sf(self, x: ArrayLike) -> Floats:
        """Probability of being above x, without subtracting."""
        return self._each_point(x, lambda t: self._table.upper(t)[0], 1.0, 0.0)

    def pdf(self, x: ArrayLike) -> Floats:
        """Density; 0 outside [0, 1]."""
        points = np.asarray(x, dtype=np.float64)
        ends = {end: float(np.exp(self.logpdf(end))) for end in (0.0, 1.0) if (points == end).any()}
        value = self._each_point(
            np.where((points < 0.0) | (points > 1.0), 0.0, points), self._table.density, ends.get(0.0, 0.0), ends.get(1.0, 0.0)
        )
        return np.where((points < 0.0) | (points > 1.0), 0.0, value)

    def _each_point(self, x: ArrayLike, function: Callable[[float], float], below: float, above: float) -> Floats:
        points = np.asarray(x, dtype=np.float64)
        values = [below if t <= 0.0 else above if t >= 1.0 else function(t) for t in points.ravel().tolist()]
        return np.array(values).reshape(points.shape)

    def _excess(self, u: Floats, q: Floats) -> tuple[Floats, Floats]:
        """As for any mixture, with the terms of all components computed once for each point."""
        upper = q > 0.5
        found = [
            (self._table.upper if above else self._table.lower)(float(t))
            for t, above in zip(np.clip(expit(u), _LEAST, _MOST), upper, strict=True)
        ]
        mass, density = np.array(found).reshape(-1, 2).T
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            log_mass = np.log(mass)
            slope = density * expit(-u) / mass
        return np.where(upper, np.log1p(-q) - log_mass, log_mass - np.log(q)), slope


class _Terms:
    """The terms d(a, b) at one point, and their products with what they are summed with."""

    def __init__(self, point: float, terms: Floats, table: "_Table") -> None:
        self.point, self._terms, self._table = point, terms, table

    @cached_property
    def lower(self) -> Floats:
        return self._terms * self._table.upwards

    @cached_property
    def upper(self) -> Floats:
        return self._terms * self._table.downwards

    @cached_property
    def density(self) -> Floats:
        return self._terms * self._table.weights


class _Table:
    """The rows of weights and what sums over them need. Column j has the parameter a + j, row i the sum of parameters a + b + totals[i]."""

    def __init__(self, weights: Floats, a: float, b: float, totals: Floats) -> None:
        self.weights, self.totals = weights, totals
        self.columns = np.arange(weights.shape[1], dtype=np.float64)
        self.a, self.b = a, b
        held = weights > 0.0
        self.first, self.last = held.argmax(axis=1), held.shape[1] - 1 - held[:, ::-1].argmax(axis=1)
        self.row = weights.sum(axis=1)
        self.middle = np.rint(weights @ self.columns / self.row).astype(np.int64)
        self.kept: list[_Terms] = []

    @cached_property
    def upwards(self) -> Floats:
        """The weight of each row up to each component but its last, which an incomplete beta function stands for."""
        sums = np.cumsum(self.weights, axis=1)
        sums[self.columns >= self.last[:, None]] = 0.0
        return sums

    @cached_property
    def downwards(self) -> Floats:
        """The weight of each row beyond each component."""
        sums = np.zeros_like(self.weights)
        sums[:, :-1] = np.cumsum(self.weights[:, :0:-1], axis=1)[:, ::-1]
        sums[self.columns < self.first[:, None]] = 0.0
        return sums

    @cached_property
    def relative(self) -> tuple[Floats, Floats]:
        """ln d of all components less that of the row's middle one, at the odds of the second result for each row.

        The ratio of neighbours is (b - 1)/(a + 1) times the odds; its logarithm is added up from the middle, where it is small.
        """
        low = int(self.totals.min()) - int(self.columns[-1])
        size = int(self.totals.max()) - low + 1
        b = self.b + low + np.arange(size)  # of each total less column
        at = (self.totals[:, None] - self.columns - low).astype(np.int64)
        rows = np.arange(len(self.totals))
        middle_b = b[at[rows, self.middle]]
        usual_b, usual_a = float(np.median(middle_b)), self.a + float(np.median(self.middle)) + 1.0
        by_b = np.cumsum(np.log(np.where(b > 0.0, b, usual_b) / usual_b))
        by_a = np.append(0.0, np.cumsum(np.log((self.a + 1.0 + self.columns) / usual_a))[:-1])
        value = by_b[at[rows, self.middle] - 1][:, None] - by_b[at - 1] - (by_a - by_a[self.middle][:, None])
        return value, np.full(len(rows), np.log(usual_a) - np.log(usual_b))

    def _log_terms(self, t: float) -> Floats:
        relative, log_odds = self.relative
        a = self.a + self.middle
        parameters = np.stack([a, self.b + self.totals - self.middle], axis=-1)
        total = parameters.sum(axis=-1)
        density = log_density(parameters, parameters / total[:, None], total, np.array([t, 1.0 - t]))
        known = density + np.log(t) - np.log(a)
        slope = np.log(t) - np.log1p(-t) - log_odds
        return np.asarray(relative + known[:, None] + slope[:, None] * (self.columns - self.middle[:, None]))

    def _terms(self, t: float) -> tuple[_Terms, Floats, Floats]:
        """Terms at a point not far from t, and the factors of rows and columns that take them to t."""
        middle_row, middle_column = float(np.median(self.totals)), float(np.median(self.middle))
        for known in self.kept:
            s = known.point
            rest = np.log1p(-t) - np.log1p(-s)
            odds = np.log(t) - np.log(s) - rest
            ends = max(middle_row, float(np.ptp(self.totals))) * abs(rest) + len(self.columns) * abs(odds)
            constant = (self.a + self.b + middle_row - 1.0) * rest + (self.a + middle_column) * odds
            if ends < _FAR and abs(constant) < _FAR and middle_row < _MANY:
                rows, columns = np.exp((self.totals - middle_row) * rest + constant), np.exp((self.columns - middle_column) * odds)
                return known, rows, columns
        log_terms = self._log_terms(t)
        terms = np.exp(np.minimum(log_terms, 0.0, out=log_terms), out=log_terms)  # each is a difference of probabilities
        found = _Terms(t, terms, self)
        self.kept[:] = [found, *self.kept[: _KEPT - 1]]
        return found, np.ones(len(self.totals)), np.ones(len(self.columns))

    def lower(self, t: float) -> tuple[float, float]:
        """The probability of being at most t, and the density there times t."""
        terms, rows, columns = self._terms(t)
        a, b = self.a + self.last, self.b + self.totals - self.last
        whole = 0.0
        if betainc(a.min(), b.max(), t) > _NOTHING:
            whole = float(self.row @ each_component(betainc, beta_cdf, a, b, np.array([[t]]))[0])
        return whole + float(rows @ (terms.lower @ columns)), self._density(terms, rows, columns)

    def upper(self, t: float) -> tuple[float, float]:
        """The probability of being above t, and the density there times t."""
        terms, rows, columns = self._terms(t)
        a, b = self.a + self.first, self.b + self.totals - self.first
        whole = 0.0
        if betaincc(a.max(), b.min(), t) > _NOTHING:
            whole = float(self.row @ each_component(betaincc, beta_survival, a, b, np.array([[t]]))[0])
        return whole + float(rows @ (terms.upper @ columns)), self._density(terms, rows, columns)

    def _density(self, terms: _Terms, rows: Floats, columns: Floats) -> float:
        return float(rows @ (terms.density @ (columns * (self.a + self.columns))))

    def density(self, t: float) -> float:
        """The density at t."""
        return self._density(*self._terms(t)) / t
