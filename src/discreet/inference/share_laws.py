"""Laws of shares of the records, and of differences of two: finitely many values with their probabilities."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from discreet.arrays import Floats
from discreet.numerics.tails import inner
from discreet.text import html_fields
from discreet.validation import check_levels, check_share


@dataclass(frozen=True, eq=False, repr=False)
class ShareOfRecords:
    """The law of a share of the records, or of a difference of two: finitely many values, ascending, with their probabilities."""

    value: Floats
    probability: Floats
    label: Hashable = None
    omitted: float = 0.0
    """Upper bound on the probability of all other values; those given add up to 1 all the same."""

    def pmf(self, share: ArrayLike) -> Floats:
        """The probability that the share is just this."""
        at = np.minimum(np.searchsorted(self.value, share), len(self.value) - 1)
        return np.where(self.value[at] == share, self.probability[at], 0.0)

    def cdf(self, share: ArrayLike) -> Floats:
        """The probability of at most this share."""
        return np.asarray(self._cumulative[np.searchsorted(self.value, share, side="right")])

    def sf(self, share: ArrayLike) -> Floats:
        """The probability of more than this share."""
        return 1.0 - self.cdf(share)

    @cached_property
    def _cumulative(self) -> Floats:
        """The probability of fewer values than each, and of all."""
        return np.concatenate([[0.0], np.minimum(np.cumsum(self.probability), 1.0)])

    def mean(self) -> float:
        """Expected share."""
        return float(self.probability @ self.value)

    def std(self) -> float:
        """Standard deviation."""
        return float(np.sqrt(self.probability @ (self.value - self.mean()) ** 2))

    def median(self) -> float:
        """The least value with probability a half or more at or below it."""
        return float(self.ppf(0.5))

    def ppf(self, q: ArrayLike) -> Floats:
        """Quantile: the least share with probability q or more at or below it."""
        at = np.searchsorted(self._cumulative[1:], check_levels(q), side="left")
        return np.asarray(self.value[np.minimum(at, len(self.value) - 1)])

    def interval(self, mass: float = 0.95) -> tuple[float, float]:
        """The equal-tailed interval: at most (1 - mass)/2 lies below it and as much above, so it holds mass or more."""
        first, last = inner(self.probability, 0.5 * (1.0 - check_share(mass, "mass")))
        return float(self.value[int(first)]), float(self.value[int(last)])

    def hdi(self, mass: float = 0.95) -> tuple[float, float]:
        """The shortest interval between two of its values that holds mass or more."""
        below = self._cumulative[:-1]
        last = np.searchsorted(self._cumulative[1:], below + check_share(mass, "mass") - 1e-15, side="left")
        first = np.flatnonzero(last < len(self.value))
        best = first[np.argmin(self.value[last[first]] - self.value[first])]
        return float(self.value[best]), float(self.value[last[best]])

    def _repr_html_(self) -> str:
        low, high = self.interval(0.95)
        figures = {"mean": f"{self.mean():.6g}", "std": f"{self.std():.3g}", "95 % interval": f"{low:.6g} to {high:.6g}"}
        return html_fields(f"{type(self).__name__}: {self.label}", figures)

    def __repr__(self) -> str:
        low, high = self.interval(0.95)
        return f"{type(self).__name__}({self.label!r}: mean={self.mean():.6g}, 95 % from {low:.6g} to {high:.6g})"


def law_of(value: Floats, weight: Floats, label: Hashable, omitted: float) -> ShareOfRecords:
    """The law on values that may stand several times: equal fractions are equal floats, since a division is rounded correctly."""
    held = weight > 0.0
    if not held.any():  # there are no records
        return ShareOfRecords(np.full(1, np.nan), np.ones(1), label, omitted)
    found, place = np.unique(value[held], return_inverse=True)
    probability = np.bincount(place, weights=weight[held])
    return ShareOfRecords(found, probability / probability.sum(), label, omitted)
