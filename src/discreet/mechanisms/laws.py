"""Laws as values: of outcomes, listed, and of the privacy loss between two datasets."""

from fractions import Fraction
from functools import reduce
from math import prod
from typing import NamedTuple

import numpy as np
from attrs import field, frozen

from discreet.arrays import Counts, Floats
from discreet.errors import InvalidInputError, TooLargeError

_LISTED_ERROR = 2.0**-40
"""The error to which the log probabilities of a listed law are taken to be right, unless the law says better."""


ATOM_ERROR = 1e-12
"""Relative error of the closed-form probabilities of loss atoms: a few dozen roundings, with room to spare."""

UNLISTED = 2.0**-60
"""Probability beyond which an infinite support is cut when a law is listed; the law says how much is missing."""


@frozen(eq=False, repr=False)
class Law:
    """A finite distribution over counts."""

    counts: Counts
    """The outcomes, one a row."""
    log_probability: Floats = field(repr=False)
    omitted: float = 0.0
    """Upper bound on the probability of outcomes that are not listed (infinite supports are cut far out)."""
    log_error: float = _LISTED_ERROR
    """Upper bound on the error of each log probability."""

    @property
    def probability(self) -> Floats:
        return np.exp(self.log_probability)

    def check_total(self, name: str) -> None:
        """Refuse a law of the mechanism of this name whose probabilities do not add up to 1, within its own errors."""
        error = self.omitted + 2.0 * self.log_error + len(self.counts) * np.finfo(np.float64).eps
        if not abs(self.probability.sum() - 1.0) <= error:
            raise InvalidInputError(f"the probabilities of {name} do not add up to 1, so nothing that is computed of them would hold")

    def __repr__(self) -> str:
        return f"Law({len(self.counts)} outcomes)"


class ListedLaw(NamedTuple):
    """One dataset, the log probabilities of all outcomes for it, and a bound on the error of each."""

    counts: Counts
    log_probability: Floats
    log_error: float


@frozen
class LossAtoms:
    """The law of ln P_x(z)/P_x'(z), z drawn from P_x, for a pair of datasets that is the worst of all by symmetry."""

    largest: Fraction | None
    """The largest loss, exactly; None if there is none, because any loss has some probability."""
    loss: Floats
    probability: Floats
    slack: float = ATOM_ERROR
    """The most that any sum of probabilities lacks by losses that are not listed, beside a relative `ATOM_ERROR`."""
    rho: Fraction | None = None
    """The bound where there is no largest loss: every Rényi divergence of order a, in either direction, is at most this times a."""

    def repeated(self, times: int) -> "LossAtoms":
        """The loss of this many independent coordinates with this law each."""
        return reduce(LossAtoms.joined, [self] * times, LossAtoms(Fraction(0), np.zeros(1), np.ones(1), self.slack))

    def joined(self, other: "LossAtoms") -> "LossAtoms":
        """The loss of this and of another, independent outcome together."""
        if self.largest is None or other.largest is None:
            raise TooLargeError("the loss of noise without a largest one is not repeated in a list")
        loss = np.add.outer(self.loss, other.loss).ravel()
        probability = np.multiply.outer(self.probability, other.probability).ravel()
        return LossAtoms(self.largest + other.largest, loss, probability, max(self.slack, other.slack))


def merge(outcomes: Counts, log_probability: Floats) -> tuple[Counts, Floats]:
    """Add up the probabilities of equal rows; they come out in lexicographic order."""
    shape = [int(width) + 1 for width in np.ptp(outcomes, axis=0)]
    if prod(shape) < 2**62:  # one integer stands for a row, which is far faster to sort
        keys = np.ravel_multi_index(tuple((outcomes - outcomes.min(axis=0)).T), shape)
    else:
        keys = np.unique(outcomes, axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(keys, kind="stable")
    starts = np.nonzero(np.diff(keys[order], prepend=-1))[0]
    return outcomes[order[starts]], np.logaddexp.reduceat(log_probability[order], starts)
