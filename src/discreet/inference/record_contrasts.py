"""How two shares of the records differ: the exact law of their difference, which has finitely many values.

Two categories of the same records depend on each other, and the law comes from that of pairs of counts. Shares of different records are
independent, unless a public total ties their numbers. A ratio of such shares has no law here: both may be 0.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet import limits
from discreet.arrays import Floats
from discreet.counts.pairs import PairWeights
from discreet.errors import InvalidInputError, TooLargeError
from discreet.inference.share_laws import ShareOfRecords, law_of
from discreet.text import chance, plain

_DIFFERENCE_DECIMALS = 14
"""Decimals of a difference of shares: equal ones are rounded to one float, and those of up to a million records are told apart."""
_NO_RECORDS = "there are no records on one side, and so no share of them to compare"


@dataclass(frozen=True, eq=False, repr=False)
class DifferenceOfShares(ShareOfRecords):
    """The law of a difference of two shares of records."""

    name: ClassVar[str] = "difference"
    logarithmic: ClassVar[bool] = False

    def pmf(self, share: ArrayLike) -> Floats:
        """The probability that the difference is just this."""
        return super().pmf(np.round(np.asarray(share, dtype=np.float64), _DIFFERENCE_DECIMALS))

    def cdf(self, share: ArrayLike) -> Floats:
        """The probability of at most this difference."""
        return super().cdf(np.round(np.asarray(share, dtype=np.float64), _DIFFERENCE_DECIMALS))


@dataclass(frozen=True, eq=False)
class RecordContrast:
    """What is known about how two shares of the records differ."""

    names: tuple[Hashable, Hashable]
    difference: DifferenceOfShares
    """The first share less the second."""

    @property
    def probability(self) -> float:
        """That the first share is larger."""
        return float(self.difference.sf(0.0))

    @property
    def equal(self) -> float:
        """The probability that both shares are the same."""
        return float(self.difference.pmf(0.0))

    @property
    def error(self) -> float:
        """Upper bound on the probability that is left out."""
        return self.difference.omitted

    def __repr__(self) -> str:
        low, high = self.difference.interval(0.95)
        return (
            f"RecordContrast({plain(self.names[0])} against {plain(self.names[1])}; difference: 95 % from {low:.4g} to {high:.4g}; "
            f"the first is larger: {chance(self.probability)}, both are the same: {chance(self.equal)})"
        )


def of_same_records(parts: Sequence[PairWeights], names: tuple[Hashable, Hashable], omitted: float) -> RecordContrast:
    """Compare two categories of the same records, given the joint law of their counts and of all others'."""
    _check_values(sum(part.split.size * part.rest.shape[1] for part in parts))
    values, weights = zip(*map(_differences, parts), strict=True)
    return _made(names, np.concatenate(values), np.concatenate(weights), omitted)


def _differences(part: PairWeights) -> tuple[Floats, Floats]:
    """(x_a - x_b)/n with the weight of each, in which n is not 0."""
    first = part.low + np.arange(part.split.shape[1])
    n = part.totals[:, None] + part.rest_rows[:, None] + part.rest_columns
    difference = (2 * first - part.totals[:, None])[:, :, None] / np.maximum(n, 1)[:, None, :]
    weight = part.split[:, :, None] * np.where(n > 0, part.rest, 0.0)[:, None, :]
    return np.asarray(difference, dtype=np.float64).ravel(), weight.ravel()


def of_different_records(first: ShareOfRecords, second: ShareOfRecords, names: tuple[Hashable, Hashable]) -> RecordContrast:
    """Compare two shares that are independent."""
    _check_values(len(first.value) * len(second.value))
    if np.isnan([first.value[0], second.value[0]]).any():
        raise InvalidInputError(_NO_RECORDS)
    difference = np.subtract.outer(first.value, second.value)
    weight = np.multiply.outer(first.probability, second.probability)
    return _made(names, difference.ravel(), weight.ravel(), first.omitted + second.omitted)


def _check_values(values: int) -> None:
    """Refuse laws that are too long to be listed."""
    if values > limits.MIXTURE_CELLS:
        raise TooLargeError(
            f"the noise leaves {values:,} differences of these shares of records possible, and up to {limits.MIXTURE_CELLS:,} are listed: "
            "a larger epsilon leaves fewer, and shares of the population are compared whatever it is"
        )


def _made(names: tuple[Hashable, Hashable], values: Floats, weights: Floats, omitted: float) -> RecordContrast:
    found = law_of(np.round(values, _DIFFERENCE_DECIMALS), weights, "difference", omitted)
    if np.isnan(found.value[0]):
        raise InvalidInputError(_NO_RECORDS)
    return RecordContrast(names, DifferenceOfShares(**vars(found)))
