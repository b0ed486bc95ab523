"""Dirichlet and Beta distributions with exact parameters, and the predictive distribution of counts.

Parameters are kept as the exact rationals the caller wrote (a float means the decimal it prints as), so a posterior `a + x` never
loses its prior, however large the counts. Densities and entropies are computed in forms that do not cancel at 10^15 records.
"""

from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import limits
from discreet.arrays import Floats
from discreet.errors import InvalidInputError
from discreet.numerics.gamma import beta_cdf, beta_quantile, beta_survival, digamma_excess, log_gamma_excess, log_ratio_excess
from discreet.text import html_table
from discreet.validation import (
    Number,
    category_index,
    check_categories,
    check_concentration,
    check_counts,
    check_levels,
    check_positive,
    check_records,
    check_share,
    spelling,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIMPLEX_TOLERANCE = 1e-8
_MANY = 20
"""Parameters that a repr shows; of more, it shows the first ones."""
_UNNAMED = ("success", "failure")
"""The names of the two categories of a Beta that were not named."""


class _Parameters:
    """Exact parameters, and what is computed from them alone."""

    exact: tuple[Fraction, ...]
    """The parameters as exact rationals."""

    @property
    def k(self) -> int:
        return len(self.exact)

    @cached_property
    def exact_total(self) -> Fraction:
        return sum(self.exact, Fraction(0))

    @property
    def total(self) -> float:
        return float(self.exact_total)

    @cached_property
    def concentration(self) -> Floats:
        """The parameters, each rounded once to a float; read-only."""
        return _frozen([float(a) for a in self.exact])

    @cached_property
    def _shares(self) -> Floats:
        total = self.exact_total
        return _frozen([float(a / total) for a in self.exact])


@dataclass(frozen=True, init=False, repr=False)
class _Conjugate(_Parameters):
    """The base of Dirichlet and Beta: exact parameters, labels, and the conjugate update."""

    exact: tuple[Fraction, ...]
    categories: tuple[Hashable, ...]
    """One label for each parameter."""

    def _set(self, exact: tuple[Fraction, ...], categories: tuple[Hashable, ...]) -> None:
        object.__setattr__(self, "exact", exact)
        object.__setattr__(self, "categories", categories)

    def _like(self, exact: tuple[Fraction, ...]) -> Self:
        other = object.__new__(type(self))
        other._set(exact, self.categories)
        return other

    @property
    def is_labelled(self) -> bool:
        """Return whether the categories were named, and not only numbered."""
        return self.categories not in (tuple(range(self.k)), _UNNAMED)

    def update(self, counts: ArrayLike) -> Self:
        """The posterior after observing these counts, one for each category. For the curator's eyes only: it is not private."""
        return self.plus(self._checked(counts))

    def _checked(self, counts: ArrayLike, n: int | None = None, *, any_total: bool = False) -> NDArray[np.int64]:
        """Counts as integers in the order of the categories, with total n if given. `CategoryCounts` must have been made in that order."""
        labels = getattr(counts, "categories", None)
        if isinstance(labels, tuple) and self.is_labelled and [*map(spelling, labels)] != [*map(spelling, self.categories)]:
            raise InvalidInputError("counts must have the prior's categories, in its order; count with categories=prior.categories")
        return check_counts(counts, self.k, n, self.categories, any_total=any_total)

    def plus(self, counts: Iterable[int]) -> Self:
        """The member of the family with these counts added to the parameters; unlike `update`, they may all be 0."""
        return self._like(tuple(a + int(x) for a, x in zip(self.exact, counts, strict=True)))

    def predictive(self, n: int) -> "DirichletMultinomial":
        """The distribution of the counts of n records before they are seen: Dirichlet-multinomial (Beta-binomial for two)."""
        return DirichletMultinomial(check_records(n), self.exact, self.categories)

    def entropy(self) -> float:
        """Differential entropy in nats."""
        a, total, k = self.concentration, self.total, self.k
        own = log_gamma_excess(a) + np.log(a) - (a - 1.0) * digamma_excess(a)
        whole = log_gamma_excess(total) + k * np.log(total) - (total - k) * digamma_excess(total)
        return float(own.sum() - whole)

    def _repr_html_(self) -> str:
        cells = zip(self.categories, self.exact, self._shares, strict=True)
        rows = ((category, f"{float(a):g}", f"{mean:.4g}") for category, a, mean in cells)
        return html_table(type(self).__name__, ("category", "concentration", "mean"), rows)


def _frozen(values: Any) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def log_density(a: Floats, mean: Floats, total: ArrayLike, points: Floats) -> Floats:
    """ln of the Dirichlet density with parameters a, which add up to the total and have these means; categories on the last axis.

    It is g(A) - Σ g(α_i) + Σ [α_i λ(τ_i) - ln x_i], with τ_i = x_i/μ_i - 1 and g the excess of ln Γ over z ln z - z.
    """
    normaliser = log_gamma_excess(total) - log_gamma_excess(a).sum(axis=-1)
    return cast(Floats, normaliser + log_kernel(a, mean, points))


def log_kernel(a: Floats, mean: Floats, points: Floats) -> Floats:
    """The part of `log_density` that depends on the point."""
    inside = points > 0.0
    safe = np.where(inside, points, mean)
    term = a * log_ratio_excess((safe - mean) / mean, safe / mean) - np.log(safe)
    edge = np.where(a < 1.0, np.inf, np.where(a > 1.0, -np.inf, 1.0 - np.log(mean)))
    return cast(Floats, np.where(inside, term, edge).sum(axis=-1))


def equal_tailed(ppf: Callable[[ArrayLike], Floats], mass: float) -> tuple[float, float]:
    """The interval that holds this much probability, with as much left out on either side, from a quantile function."""
    share = check_share(mass, "mass")
    low, high = ppf([(1.0 - share) / 2.0, (1.0 + share) / 2.0])
    return float(low), float(high)


def _shown(exact: Iterable[Fraction]) -> str:
    return ", ".join(f"{float(a):g}" for a in exact)


@dataclass(frozen=True, init=False, repr=False)
class Dirichlet(_Conjugate):
    """A Dirichlet distribution over the probabilities of k >= 2 categories.

    >>> Dirichlet([1, 1, 1], categories=["low", "mid", "high"]).update([5, 3, 2]).mean()
    array([0.46153846, 0.30769231, 0.23076923])
    """

    def __init__(self, concentration: ArrayLike | Iterable[Number], categories: Iterable[Hashable] | None = None) -> None:
        exact = check_concentration(concentration)
        labels = tuple(range(len(exact))) if categories is None else check_categories(categories, len(exact))
        self._set(exact, labels)

    @classmethod
    def uniform(cls, k: int | None = None, categories: Iterable[Hashable] | None = None) -> Self:
        """Dir(1, ..., 1): every point of the simplex is equally likely."""
        return cls._symmetric(Fraction(1), k, categories)

    @classmethod
    def jeffreys(cls, k: int | None = None, categories: Iterable[Hashable] | None = None) -> Self:
        """Dir(½, ..., ½): Jeffreys' prior, the same answer under any reparametrisation."""
        return cls._symmetric(Fraction(1, 2), k, categories)

    @classmethod
    def _symmetric(cls, value: Fraction, k: int | None, categories: Iterable[Hashable] | None) -> Self:
        if isinstance(k, Collection) and not isinstance(k, str):
            raise InvalidInputError("k must be the number of categories; name them with categories=[...]")
        labels = None if categories is None else tuple(categories)
        if k is None and labels is None:
            raise InvalidInputError("give k, the number of categories, or the categories themselves")
        size = len(labels) if k is None and labels is not None else check_records(k, "k")
        return cls([value] * size, labels)

    def __repr__(self) -> str:
        labels = "" if self.categories == tuple(range(self.k)) else f", categories={list(self.categories)!r}"
        if self.k > _MANY and not labels:
            same = len(set(self.exact)) == 1
            return f"Dirichlet([{_shown(self.exact[:1])}] * {self.k})" if same else f"Dirichlet([{_shown(self.exact[:_MANY])}, ...])"
        return f"Dirichlet([{_shown(self.exact)}]{labels})"

    def mean(self) -> Floats:
        """Expected probability of each category."""
        return self._shares.copy()

    def var(self) -> Floats:
        """Variance of each category's probability."""
        return self._shares * self._complements / (self.total + 1.0)

    def std(self) -> Floats:
        """Standard deviation of each category's probability."""
        return cast(Floats, np.sqrt(self.var()))

    def cov(self) -> Floats:
        """Covariances of the probabilities, a row and a column for each category."""
        matrix = -np.outer(self._shares, self._shares)
        np.fill_diagonal(matrix, self._shares * self._complements)
        return matrix / (self.total + 1.0)

    @cached_property
    def _complements(self) -> Floats:
        total = self.exact_total
        return _frozen([float((total - a) / total) for a in self.exact])

    def mode(self) -> Floats:
        """The most likely point; defined when no parameter is below 1 and one is above."""
        if min(self.exact) < 1 or max(self.exact) == 1:
            raise InvalidInputError("the mode needs every concentration at least 1 and one above 1: elsewhere it is not one point")
        free = self.exact_total - self.k
        return np.array([float((a - 1) / free) for a in self.exact])

    def logpdf(self, x: ArrayLike) -> Floats:
        """Log density at points of the simplex, categories on the last axis."""
        points = np.asarray(x, dtype=np.float64)
        if points.ndim == 0 or points.shape[-1] != self.k:
            raise InvalidInputError(f"x must have {self.k} probabilities on its last axis, got shape {points.shape}")
        on_simplex = (points >= 0.0).all(axis=-1) & (np.abs(points.sum(axis=-1) - 1.0) <= _SIMPLEX_TOLERANCE)
        if not on_simplex.all():
            raise InvalidInputError("x must hold probabilities: none negative, each row adding up to 1")
        return log_density(self.concentration, self._shares, self.total, points)

    def pdf(self, x: ArrayLike) -> Floats:
        """Density at points of the simplex, categories on the last axis."""
        return cast(Floats, np.exp(self.logpdf(x)))

    def marginal(self, category: Hashable) -> "Beta":
        """The Beta distribution of one category's probability (named by its label) against all the others."""
        i = category_index(self.categories, category)
        label = self.categories[i]
        return Beta(self.exact[i], self.exact_total - self.exact[i], categories=(label, _all_but(label)))

    def sample(self, size: int | tuple[int, ...], rng: np.random.Generator | int | None = None) -> Floats:
        """Monte Carlo draws of the probabilities, categories on the last axis."""
        return np.random.default_rng(rng).dirichlet(self.concentration, size)

    def to_scipy(self) -> Any:
        """Return the distribution as a frozen `scipy.stats.dirichlet`."""
        from scipy.stats import dirichlet

        return dirichlet(self.concentration)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the marginal density of every category."""
        from discreet.plotting import plot_marginals

        return plot_marginals([(c, self.marginal(c)) for c in self.categories], ax)


def _all_but(label: Hashable) -> str:
    """The label of all categories but one, which repeats that one's unless it would be too long for a label."""
    rest = f"not {label}"
    return rest if len(rest) <= limits.LABEL_CHARACTERS else "all others"


@dataclass(frozen=True, init=False, repr=False)
class Beta(_Conjugate):
    """A Beta distribution over the probability of the first of two categories.

    >>> Beta(1, 1).update([7, 3]).interval(0.9)
    (0.43562581171077036, 0.8649245270803587)
    """

    def __init__(self, a: Number, b: Number, categories: Iterable[Hashable] = _UNNAMED) -> None:
        self._set((check_positive(a, "a"), check_positive(b, "b")), check_categories(categories, 2))

    @property
    def a(self) -> float:
        """First parameter: prior weight of the first category."""
        return float(self.exact[0])

    @property
    def b(self) -> float:
        """Second parameter: prior weight of the second category."""
        return float(self.exact[1])

    def __repr__(self) -> str:
        return f"Beta({_shown(self.exact)})"

    def mean(self) -> float:
        """Expected probability of the first category."""
        return float(self._shares[0])

    def var(self) -> float:
        """Variance of the first category's probability."""
        return float(self._shares[0] * self._shares[1] / (self.total + 1.0))

    def std(self) -> float:
        """Standard deviation of the first category's probability."""
        return float(np.sqrt(self.var()))

    def cov(self) -> Floats:
        return self.var() * np.array([[1.0, -1.0], [-1.0, 1.0]])

    def mode(self) -> float:
        """The most likely probability; defined when no parameter is below 1 and one is above."""
        return float(Dirichlet(self.exact).mode()[0])

    def logpdf(self, x: ArrayLike) -> Floats:
        """Log density of the first category's probability; -inf outside [0, 1]."""
        points = np.asarray(x, dtype=np.float64)
        inside = (points >= 0.0) & (points <= 1.0)
        safe = np.where(inside, points, 0.5)
        pairs = np.stack([safe, 1.0 - safe], axis=-1)
        return np.where(inside, log_density(self.concentration, self._shares, self.total, pairs), -np.inf)

    def pdf(self, x: ArrayLike) -> Floats:
        """Density of the first category's probability; 0 outside [0, 1]."""
        return cast(Floats, np.exp(self.logpdf(x)))

    def cdf(self, x: ArrayLike) -> Floats:
        """Probability that the first category's probability is at most x."""
        return beta_cdf(self.a, self.b, np.clip(x, 0.0, 1.0))

    def sf(self, x: ArrayLike) -> Floats:
        """Probability that the first category's probability is above x."""
        return beta_survival(self.a, self.b, np.clip(x, 0.0, 1.0))

    def ppf(self, q: ArrayLike) -> Floats:
        """Quantile: the point with probability q at or below it."""
        return beta_quantile(self.a, self.b, check_levels(q))

    def interval(self, mass: float = 0.95) -> tuple[float, float]:
        """The equal-tailed interval that holds this much probability."""
        return equal_tailed(self.ppf, mass)

    def marginal(self, category: Hashable) -> "Beta":
        """The distribution of the named category's probability: this one, or its mirror image."""
        if category_index(self.categories, category) == 0:
            return self
        return Beta(self.exact[1], self.exact[0], categories=self.categories[::-1])

    def sample(self, size: int | tuple[int, ...], rng: np.random.Generator | int | None = None) -> Floats:
        """Monte Carlo draws of the first category's probability."""
        return np.asarray(np.random.default_rng(rng).beta(self.a, self.b, size))

    def to_scipy(self) -> Any:
        """Return the distribution as a frozen `scipy.stats.beta`."""
        from scipy.stats import beta

        return beta(self.a, self.b)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the density of the first category's probability."""
        from discreet.plotting import plot_marginals

        return plot_marginals([(self.categories[0], self)], ax)


Prior = Dirichlet | Beta
"""The belief about the categories' probabilities before there are data."""


@dataclass(frozen=True)
class DirichletMultinomial(_Parameters):
    """Counts of n records whose probabilities are Dirichlet distributed."""

    n: int
    exact: tuple[Fraction, ...]
    categories: tuple[Hashable, ...]

    def logpmf(self, counts: ArrayLike) -> Floats:
        """Log probability of counts, categories on the last axis; -inf where they do not add up to n.

        The parts `z ln z - z` of the six ln Γ of the textbook formula combine into two divergences from the pooled proportions
        `(a + x)/(A + n)`, sums of one sign; only the small excesses are left to be added. Nothing of size n ln n is formed.
        """
        x = np.asarray(counts, dtype=np.float64)
        if x.ndim == 0 or x.shape[-1] != len(self.exact):
            raise InvalidInputError(f"counts must have {len(self.exact)} entries on the last axis, got shape {x.shape}")
        possible = (x >= 0.0).all(axis=-1) & (x == np.floor(x)).all(axis=-1) & (x.sum(axis=-1) == self.n)
        return np.where(possible, self._log_mass(np.where(possible[..., None], x, 0.0)), -np.inf)

    def _log_mass(self, x: Floats) -> Floats:
        """The formula of `logpmf`, which is a smooth function of real counts."""
        a, total, n = self.concentration, self.total, float(self.n)
        cross = x * total - a * n
        seen, held = x > 0.0, np.where(x > 0.0, x, 1.0)
        prior_part = a * log_ratio_excess(cross / (a * (total + n)), (a + x) / a * (total / (total + n)))
        ratio = (a + held) / held * (n / (total + n))
        record_part = np.where(seen, held * log_ratio_excess(-cross / (held * (total + n)), ratio), -n * a / (total + n))
        factorial = np.where(seen, log_gamma_excess(held) + np.log(held), 0.0)
        own = prior_part + record_part + log_gamma_excess(a + x) - log_gamma_excess(a) - factorial
        whole = log_gamma_excess(total + n) - log_gamma_excess(total) - (log_gamma_excess(n) + np.log(n))
        return np.asarray(own.sum(axis=-1) - whole)

    def pmf(self, counts: ArrayLike) -> Floats:
        """Probability of counts, categories on the last axis; 0 where they do not add up to n."""
        return cast(Floats, np.exp(self.logpmf(counts)))

    def mean(self) -> Floats:
        """Expected counts."""
        return self.n * self._shares

    def cov(self) -> Floats:
        """Covariances of the counts, a row and a column for each category."""
        spread = np.diag(self._shares) - np.outer(self._shares, self._shares)
        return self.n * (self.total + self.n) / (self.total + 1.0) * spread

    def var(self) -> Floats:
        """Variance of each count."""
        return np.diag(self.cov()).copy()

    def sample(self, size: int | tuple[int, ...], rng: np.random.Generator | int | None = None) -> NDArray[np.int64]:
        """Monte Carlo draws of the counts, categories on the last axis."""
        generator = np.random.default_rng(rng)
        return generator.multinomial(self.n, generator.dirichlet(self.concentration, size))

    def to_scipy(self) -> Any:
        """Return the distribution as a frozen `scipy.stats.dirichlet_multinomial`."""
        from scipy.stats import dirichlet_multinomial

        return dirichlet_multinomial(self.concentration, np.array(self.n))
