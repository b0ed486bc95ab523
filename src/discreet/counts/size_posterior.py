"""Laws on finitely many numbers, and that of the number of records after a release, which is one on whole numbers."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.arrays import Counts, Floats
from discreet.numerics.tails import inner
from discreet.text import html_fields
from discreet.validation import check_levels, check_share


class DiscreteLaw:
    """A law on finitely many numbers: `value` has them, ascending, and `probability` how probable each is."""

    value: Any
    probability: Any

    @property
    def _title(self) -> str:
        """The title of its figures in a notebook."""
        return type(self).__name__

    def probabilities(self) -> tuple[Any, Floats]:
        """Possible numbers and their probabilities."""
        return self.value.copy(), self.probability.copy()

    def pmf(self, x: ArrayLike) -> Floats:
        """The probability of just this number."""
        at = np.minimum(np.searchsorted(self.value, x), len(self.value) - 1)
        return np.where(self.value[at] == x, self.probability[at], 0.0)

    def cdf(self, x: ArrayLike) -> Floats:
        """The probability of at most this number."""
        return np.asarray(self._cumulative[np.searchsorted(self.value, x, side="right")])

    def sf(self, x: ArrayLike) -> Floats:
        """The probability of more than this number."""
        return 1.0 - self.cdf(x)

    @cached_property
    def _cumulative(self) -> Floats:
        """The probability of fewer values than each, and of all."""
        return np.concatenate([[0.0], np.minimum(np.cumsum(self.probability), 1.0)])

    def mean(self) -> float:
        """Expected value."""
        first = self.value[0]
        return float(first + self.probability @ (self.value - first) / self.probability.sum())

    def var(self) -> float:
        """Variance."""
        return float(self.probability @ (self.value - self.mean()) ** 2 / self.probability.sum())

    def std(self) -> float:
        """Standard deviation."""
        return float(np.sqrt(self.var()))

    def median(self) -> float:
        """The least value with probability a half or more at or below it."""
        return float(self.ppf(0.5))

    def ppf(self, q: ArrayLike) -> Any:
        """Quantile: the least value with probability q or more at or below it."""
        at = np.searchsorted(self._cumulative[1:], check_levels(q), side="left")
        return np.asarray(self.value[np.minimum(at, len(self.value) - 1)])

    def interval(self, mass: float = 0.95) -> tuple[Any, Any]:
        """The equal-tailed interval: at most (1 - mass)/2 lies below it and as much above, so it holds mass or more."""
        first, last = inner(self.probability, 0.5 * (1.0 - check_share(mass, "mass")))
        return self.value[int(first)].item(), self.value[int(last)].item()

    def hdi(self, mass: float = 0.95) -> tuple[Any, Any]:
        """The shortest interval between two of its values that holds mass or more."""
        below = self._cumulative[:-1]
        last = np.searchsorted(self._cumulative[1:], below + check_share(mass, "mass") - 1e-15, side="left")
        first = np.flatnonzero(last < len(self.value))
        best = first[np.argmin(self.value[last[first]] - self.value[first])]
        return self.value[best].item(), self.value[last[best]].item()

    def sample(self, size: int | tuple[int, ...], rng: np.random.Generator | int | None = None) -> Any:
        """Monte Carlo draws."""
        chosen = np.random.default_rng(rng).choice(len(self.probability), size=size, p=self.probability / self.probability.sum())
        return np.asarray(self.value[chosen])

    def _repr_html_(self) -> str:
        low, high = self.interval(0.95)
        figures = {"mean": f"{self.mean():.6g}", "std": f"{self.std():.3g}", "95 % interval": f"{low:,.12g} to {high:,.12g}"}
        return html_fields(self._title, figures)

    def __repr__(self) -> str:
        low, high = self.interval(0.95)
        return f"{self._title}(mean={self.mean():.6g}, std={self.std():.3g}, 95 % from {low:.12g} to {high:.12g})"


@dataclass(frozen=True, eq=False, repr=False)
class SizePosterior(DiscreteLaw):
    """The posterior law of the number of records n. Where n is public it is one number with probability 1."""

    low: int
    """The least n that has a probability here."""
    probability: Floats
    """The probabilities of low, low + 1, and so on."""
    omitted: float = 0.0
    """Upper bound on the probability of all other n; those given add up to 1 all the same."""

    @cached_property
    def value(self) -> Counts:
        """The possible numbers of records."""
        return np.arange(self.low, self.low + len(self.probability))
