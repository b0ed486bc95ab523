"""Finite mixtures of Beta distributions: what is known of a category's probability once noise is allowed for (docs/proofs/inference.md).

Sums over components are of one sign and every component is evaluated without cancellation, so densities and probabilities keep the
accuracy of a single Beta.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, expit, logit, logsumexp

from discreet.arrays import Floats, Mask
from discreet.betas.log_odds import BetaFamily, PanelLaws, joined_density, panel_edges
from discreet.betas.search import logit_quantiles, shortest_interval
from discreet.errors import InvalidInputError
from discreet.frames import warn_caller
from discreet.model.dirichlet import equal_tailed, log_density
from discreet.numerics.gamma import BELOW_ONE, beta_cdf, beta_survival
from discreet.text import html_fields, plain
from discreet.validation import check_levels, check_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_PAIRS_HELD = 1 << 20
"""Most pairs of a point and a component that are held at once."""


def in_parts(function: Callable[[Floats], Floats], x: Floats, per_point: int) -> Floats:
    """A function of many points, so many at a time that arrays with `per_point` numbers for each stay small."""
    points, step = x.ravel(), max(1, _MOST_PAIRS_HELD // per_point)
    parts = [function(points[start : start + step]) for start in range(0, len(points), step)]
    return np.concatenate(parts).reshape(x.shape) if parts else np.zeros(x.shape)


@dataclass(frozen=True, eq=False)
class BetaMixture:
    """Σ_j weight_j · Beta(a_j, b_j), the distribution of the probability of `category`."""

    weight: Floats
    a: Floats
    b: Floats
    category: Hashable = "success"
    omitted: float = 0.0
    """Upper bound on the weight of components that were left out; the weights add up to 1 all the same."""

    def __post_init__(self) -> None:
        arrays = [np.array(values, dtype=np.float64) for values in (self.weight, self.a, self.b)]
        weight, a, b = arrays
        if weight.ndim != 1 or weight.size == 0 or not weight.shape == a.shape == b.shape:
            raise InvalidInputError("weight, a and b must be sequences of one length, with at least one component")
        if not (np.isfinite(weight) & (weight >= 0.0) & np.isfinite(a) & (a > 0.0) & np.isfinite(b) & (b > 0.0)).all():
            raise InvalidInputError("weights must not be negative and parameters must be positive and finite")
        if not weight.sum() > 0.0:
            raise InvalidInputError("at least one weight must be above 0")
        for name, values in (("weight", weight / weight.sum()), ("a", a), ("b", b)):
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    def __repr__(self) -> str:
        components = "1 component" if self.weight.size == 1 else f"{self.weight.size} components"
        return f"BetaMixture({self.category!r}, {components}, mean={self.mean():.6g}, std={self.std():.3g})"

    def _repr_html_(self) -> str:
        low, high = self.interval(0.95)
        figures = {"mean": f"{self.mean():.4g}", "std": f"{self.std():.2g}", "95 % interval": f"{low:.4g} to {high:.4g}"}
        return html_fields(f"Probability of {plain(self.category)}", figures)

    @cached_property
    def _means(self) -> Floats:
        return self.a / (self.a + self.b)

    def mean(self) -> float:
        """Expected probability of the category."""
        return float(self.weight @ self._means)

    def var(self) -> float:
        """Variance: that within the components and that of their means."""
        within = self._means * (self.b / (self.a + self.b)) / (self.a + self.b + 1.0)
        return float(self.weight @ (within + (self._means - self.mean()) ** 2))

    def std(self) -> float:
        """Standard deviation of the probability."""
        return float(np.sqrt(self.var()))

    # --- density and probabilities ------------------------------------------------------------------------------------

    def logpdf(self, x: ArrayLike) -> Floats:
        """Log density; -inf outside [0, 1]."""
        points = np.asarray(x, dtype=np.float64)
        inside = (points >= 0.0) & (points <= 1.0)
        held = self.weight > 0.0
        log_weight, parameters = np.log(self.weight[held]), np.stack([self.a[held], self.b[held]], axis=-1)
        total = parameters.sum(axis=-1)

        def density(part: Floats) -> Floats:
            pairs = np.stack([part, 1.0 - part], axis=-1)
            return cast(Floats, logsumexp(log_weight + log_density(parameters, parameters / total[:, None], total, pairs), axis=-1))

        return np.where(inside, self._over(density, np.where(inside, points, 0.5)), -np.inf)

    def pdf(self, x: ArrayLike) -> Floats:
        """Density; 0 outside [0, 1]."""
        return cast(Floats, np.exp(self.logpdf(x)))

    def cdf(self, x: ArrayLike) -> Floats:
        """Probability of being at most x."""
        return self._over(lambda part: beta_cdf(self.a, self.b, part) @ self.weight, np.clip(x, 0.0, 1.0))

    def sf(self, x: ArrayLike) -> Floats:
        """Probability of being above x, without subtracting."""
        return self._over(lambda part: beta_survival(self.a, self.b, part) @ self.weight, np.clip(x, 0.0, 1.0))

    def _over(self, function: Callable[[Floats], Floats], x: ArrayLike) -> Floats:
        """`function` of a column of points against the row of components."""
        return in_parts(lambda part: function(part[:, None]), np.asarray(x, dtype=np.float64), self.weight.size)

    # --- quantiles ----------------------------------------------------------------------------------------------------

    def ppf(self, q: ArrayLike) -> Floats:
        """Quantile: the point with probability q at or below it, to 13 digits of its odds."""
        levels = check_levels(q)
        result = levels.ravel().copy()
        inner = (result > 0.0) & (result < 1.0)
        if inner.any():
            result[inner] = expit(self._logit_quantile(result[inner]))
        return result.reshape(levels.shape)

    def _logit_quantile(self, q: Floats) -> Floats:
        upper = q > 0.5
        guess = logit(self._guess(q))
        return logit_quantiles(lambda open_, at: self._beyond(at, upper[open_]), guess, np.where(upper, 1.0 - q, q), upper)[0]

    def _guess(self, q: Floats) -> Floats:
        """The quantile of the one Beta with this mean and variance."""
        mean, var = self.mean(), self.var()
        total = mean * (1.0 - mean) / var - 1.0 if var > 0.0 else np.inf
        if not (np.isfinite(total) and total > 0.0):
            return np.full_like(q, np.clip(mean, 1e-300, BELOW_ONE))
        return np.clip(betaincinv(mean * total, (1.0 - mean) * total, q), 1e-300, BELOW_ONE)

    def _beyond(self, u: Floats, upper: Mask) -> tuple[Floats, Floats]:
        """Return the probability below logits, or above them for `upper`, and the density of the logit there."""
        x = expit(u)
        mass = np.empty_like(x)
        mass[~upper], mass[upper] = self.cdf(x[~upper]), self.sf(x[upper])
        with np.errstate(divide="ignore"):
            return mass, np.exp(self.logpdf(x) + np.log(x) + np.log(expit(-u)))

    def interval(self, mass: float = 0.95) -> tuple[float, float]:
        """The equal-tailed interval that holds this much probability."""
        return equal_tailed(self.ppf, mass)

    def hdi(self, mass: float = 0.95) -> tuple[float, float]:
        """The highest density interval: the shortest that holds this much probability.

        Where the most probable values are not one interval, as with two peaks, this is the shortest one, and a warning says so.
        """
        low, high, is_one = shortest_interval(self, check_share(mass, "mass"))
        if not is_one:
            warn_caller(
                f"the probability of category {plain(self.category)}: its most probable values, which hold {100.0 * mass:g} %, are not one "
                "interval; this is the shortest interval, and pdf() shows the peaks"
            )
        return low, high

    def families(self) -> list[BetaFamily]:
        """The components in a form whose densities are fast at many points together."""
        held = self.weight > 0.0
        return [BetaFamily(self.weight[held][None], np.zeros((1, 2)), np.stack([self.a[held], self.b[held]], axis=-1))]

    def log_odds(self, finer: float) -> PanelLaws:
        """The density of the log-odds, on panels whose lengths `finer` divides. It is kept: many contrasts may ask for it."""
        if finer not in self._log_odds:
            edges = panel_edges(self.families(), finer)
            self._log_odds[finer] = PanelLaws(edges, joined_density(self.families(), edges)[..., None])
        return self._log_odds[finer]

    @cached_property
    def _log_odds(self) -> dict[float, PanelLaws]:
        return {}

    # --- draws, SciPy, pictures ---------------------------------------------------------------------------------------

    def sample(self, size: int | tuple[int, ...], rng: np.random.Generator | int | None = None) -> Floats:
        """Independent draws; `rng` is a seed or a generator."""
        generator = np.random.default_rng(rng)
        chosen = generator.choice(self.weight.size, size=size, p=self.weight)
        return np.asarray(generator.beta(self.a[chosen], self.b[chosen]))

    def to_scipy(self) -> Any:
        """Return the distribution with all the methods of a frozen `scipy.stats` one."""
        from discreet.betas.scipy_bridge import ScipyMixture  # SciPy's statistics are slow to load

        return ScipyMixture(self, "beta_mixture")()

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the density."""
        from discreet.plotting import plot_marginals

        return plot_marginals([(self.category, self)], ax)
