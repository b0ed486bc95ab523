"""What is known about the number of records after a release: a law on whole numbers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet.arrays import Counts, Floats
from discreet.numerics.tails import inner
from discreet.text import html_fields
from discreet.validation import check_levels, check_share


@dataclass(frozen=True, eq=False)
class SizePosterior:
    """The posterior law of the number of records n. Where n is public it is one number with probability 1."""

    low: int
    """The least n that has a probability here."""
    probability: Floats
    """The probabilities of low, low + 1, and so on."""
    omitted: float = 0.0
    """Upper bound on the probability of all other n; those given add up to 1 all the same."""

    def probabilities(self) -> tuple[Counts, Floats]:
        """Possible numbers of records and their probabilities."""
        return np.arange(self.low, self.low + len(self.probability)), self.probability.copy()

    def pmf(self, n: ArrayLike) -> Floats:
        """The probability of each of these numbers of records."""
        at = np.asarray(n, dtype=np.float64) - self.low
        inside = (at >= 0) & (at < len(self.probability)) & (at == np.floor(at))
        return np.where(inside, self.probability[np.where(inside, at, 0).astype(np.int64)], 0.0)

    def cdf(self, n: ArrayLike) -> Floats:
        """The probability of at most n records."""
        at = np.clip(np.floor(np.asarray(n, dtype=np.float64)) - self.low, -1, len(self.probability) - 1).astype(np.int64)
        return np.where(at < 0, 0.0, np.cumsum(self.probability)[np.maximum(at, 0)])

    def mean(self) -> float:
        """Expected number of records."""
        return self.low + float(self.probability @ np.arange(len(self.probability))) / float(self.probability.sum())

    def var(self) -> float:
        """Variance."""
        away = self.low - self.mean() + np.arange(len(self.probability))
        return float(self.probability @ away**2) / float(self.probability.sum())

    def std(self) -> float:
        """Standard deviation."""
        return float(np.sqrt(self.var()))

    def ppf(self, q: ArrayLike) -> Counts:
        """Quantile: the least n with probability q or more at or below it."""
        at = np.searchsorted(np.cumsum(self.probability), check_levels(q), side="left")
        return np.asarray(self.low + np.minimum(at, len(self.probability) - 1))

    def sf(self, n: ArrayLike) -> Floats:
        """The probability of more than n records."""
        return 1.0 - self.cdf(n)

    def interval(self, mass: float = 0.95) -> tuple[int, int]:
        """The equal-tailed interval of whole numbers: at most (1 - mass)/2 lies below it and as much above, so it holds mass or more."""
        first, last = inner(self.probability, 0.5 * (1.0 - check_share(mass, "mass")))
        return self.low + int(first), self.low + int(last)

    def sample(self, size: int | tuple[int, ...], rng: np.random.Generator | int | None = None) -> Counts:
        """Monte Carlo draws."""
        generator = np.random.default_rng(rng)
        chosen = generator.choice(len(self.probability), size=size, p=self.probability / self.probability.sum())
        return np.asarray(self.low + chosen)

    def _repr_html_(self) -> str:
        low, high = self.interval(0.95)
        figures = {"mean": f"{self.mean():.6g}", "std": f"{self.std():.3g}", "95 % interval": f"{low:,} to {high:,}"}
        return html_fields("Number of records", figures)

    def __repr__(self) -> str:
        low, high = self.interval(0.95)
        return f"SizePosterior(mean={self.mean():.6g}, std={self.std():.3g}, 95 % from {low} to {high})"
