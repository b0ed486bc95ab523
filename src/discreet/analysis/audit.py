"""A black-box auditor: from draws alone, a statistical lower bound on the ε that a mechanism really has.

Half of the draws choose an event that tells two neighbouring datasets apart; the other half, which did not choose it, bounds its two
probabilities by Clopper and Pearson's exact intervals. If P_x(S) >= p and P_x'(S) <= q then ε >= ln((p - δ)/q). A bound above the
claimed ε refutes the claim at the stated confidence; a bound below it proves nothing.

`with_bits` makes exact draws and adds to each how many random bits it took, a first measure of how long it took: if outcome and bits
together tell more than ε, so may outcome and time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from discreet import limits
from discreet.errors import InvalidInputError, TooLargeError
from discreet.mechanisms.base import Mechanism
from discreet.sampling import BitSource, CountedBits, SystemBits
from discreet.text import html_fields
from discreet.validation import check_delta, check_records, check_share

Draws = NDArray[np.intp]


@dataclass(frozen=True)
class Audit:
    """A lower bound on ε, true with at least the stated confidence whatever the mechanism."""

    epsilon: float
    confidence: float
    draws: int

    def _repr_html_(self) -> str:
        bound = {"ε is at least": f"{self.epsilon:.6g}", "confidence": f"{self.confidence:g}", "draws at each dataset": f"{self.draws:,}"}
        return html_fields("Audit", bound)

    def refutes(self, claimed: float) -> bool:
        """Return whether the bound is above a claimed ε, which is then wrong."""
        return self.epsilon > claimed


def audit(
    draw: Callable[[ArrayLike, int], ArrayLike],
    first: ArrayLike,
    second: ArrayLike,
    *,
    draws: int = 100_000,
    confidence: float = 0.99,
    delta: float = 0.0,
) -> Audit:
    """Bound the ε of a mechanism with discrete outcomes from below, by its draws alone.

    Args:
        draw: `draw(counts, size)` returns outcomes as the rows of an array. Round continuous ones: outcomes are told apart by repeating.
        first, second: The counts of two neighbouring datasets; `draws` outcomes are drawn at each.
        confidence: The bound is true with at least this probability.
        delta: The bound is on the ε of (ε, δ)-privacy with this δ.
    """
    if not callable(draw):
        raise InvalidInputError(f"draw must be a function of counts and size, such as mechanism.simulate, not {type(draw).__name__}")
    check_share(confidence, "confidence")
    delta = float(check_delta(delta))
    size = check_records(draws, "draws")
    length = np.asarray(draw(first, 1)).size
    if 2 * size * length > limits.AUDITED_CELLS:
        most = limits.AUDITED_CELLS // (2 * length)
        raise TooLargeError(f"{size:,} draws of {length} numbers from each of two datasets are too many; at most {most:,} are audited")
    left, right = (np.asarray(draw(counts, size)).reshape(size, -1) for counts in (first, second))
    kinds, owner = np.unique(np.concatenate([left, right]), axis=0, return_inverse=True)
    owner = owner.ravel()
    half = size // 2
    choosing = [np.bincount(part[:half], minlength=len(kinds)) for part in (owner[:size], owner[size:])]
    testing = [np.bincount(part[half:], minlength=len(kinds)) for part in (owner[:size], owner[size:])]
    alpha = (1.0 - confidence) / 4.0  # two directions, and two probabilities in each
    found = [
        lower_bound(testing[a][event].sum(), testing[b][event].sum(), size - half, alpha, delta)
        for a, b in ((0, 1), (1, 0))
        for event in [_best_event(choosing[a], choosing[b], half, alpha, delta)]
    ]
    return Audit(max(0.0, *found), confidence, size)


def with_bits(mechanism: Mechanism, source: BitSource | None = None) -> Callable[[ArrayLike, int], ArrayLike]:
    """Make a function for `audit`: exact draws of the raw outcome, each with the number of random bits that it took in the last column."""
    mechanism._check_single()
    bits = SystemBits() if source is None else source

    def draw(counts: ArrayLike, size: int) -> ArrayLike:
        sampler = mechanism._sampler([int(x) for x in mechanism._checked(counts)])
        rows = []
        for _ in range(size):
            counted = CountedBits(bits)
            rows.append([*sampler.draw(counted), counted.taken])
        return np.array(rows)

    return draw


def _best_event(likely: Draws, unlikely: Draws, size: int, alpha: float, delta: float) -> Draws:
    """The outcomes, most telling first, cut where the bound they would give is largest."""
    order = np.argsort(-(likely + 1.0) / (unlikely + 1.0), kind="stable")
    inside, outside = np.cumsum(likely[order]), np.cumsum(unlikely[order])
    cuts = np.unique(np.linspace(0, len(order) - 1, 512).astype(np.intp))
    bounds = [lower_bound(int(inside[cut]), int(outside[cut]), size, alpha, delta) for cut in cuts]
    return order[: cuts[int(np.argmax(bounds))] + 1]


def lower_bound(hits: int, misses: int, size: int, alpha: float, delta: float) -> float:
    """ln((p - δ)/q) with p a lower and q an upper confidence limit at level alpha each."""
    lower = float(betaincinv(hits, size - hits + 1, alpha)) if hits else 0.0
    upper = float(betaincinv(misses + 1, size - misses, 1.0 - alpha)) if misses < size else 1.0
    return log((lower - delta) / upper) if lower > delta else float("-inf")
