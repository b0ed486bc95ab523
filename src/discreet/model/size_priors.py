"""A reader's belief about a private number of records before seeing a release: a log weight for every n = 0, 1, 2, ..."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma

from discreet import limits
from discreet.arrays import Floats
from discreet.errors import InvalidInputError
from discreet.numerics.gamma import bregman, log_rising
from discreet.validation import check_moderate, shown

_ALLOWED = "'flat', 'poisson:MEAN', 'negative-binomial:MEAN,SHAPE', an array of log weights for n = 0, 1, 2, ... or a function of n"
_TOTALS_LOOKED_AT = 1 << 16
"""Totals from 0 on at which a reader's own function is looked at for its highest weights; between later ones it is sampled."""


@dataclass(frozen=True, eq=False)
class SizePrior:
    """Log weights of the number of records, up to a constant."""

    log_weight: Callable[[Floats], Floats]
    """The log weight of whole numbers from `first` to `last`; -inf for none."""
    last: int | None = None
    """The last number of records that has a weight; None if there is no last one."""
    table: Floats | None = None
    """The log weights from `first` on, where they may jump from one to the next; None where they are a smooth function."""
    first: int = 0
    """The first number of records that has a weight; no smaller one is asked for."""
    omitted: float = 0.0
    """Upper bound on the posterior probability of numbers of records that have a weight and are left out here."""

    def __call__(self, n: Floats) -> Floats:
        """The log weights of these numbers of records; -inf beyond the last."""
        if self.last is None:
            return self.log_weight(n)
        return np.where(n <= self.last, self.log_weight(np.minimum(n, float(self.last))), -np.inf)

    @property
    def proper(self) -> bool:
        """Return whether its weights are known to add up to something finite: not those of a flat one, or of a reader's function."""
        named = isinstance(self.log_weight, partial) and self.log_weight.func in (_log_poisson, _log_negative_binomial)
        return named or self.last is not None

    def highest(self, low: int, high: int) -> int:
        """A number of records from low to high that no other in the table outweighs; low itself if there is no table there."""
        at = low - self.first
        if self.table is None or at >= len(self.table):
            return low
        return low + int(np.argmax(self.table[at : max(high - self.first, at) + 1]))


def size_prior_of(given: Any) -> SizePrior:
    """The prior that a reader spells as text, as an array or as a function; InvalidInputError says what is allowed."""
    if isinstance(given, SizePrior):
        return given
    if isinstance(given, str):
        return _named(given)
    return _of_function(given) if callable(given) else _of_array(given)


def known_size(n: int) -> SizePrior:
    """The prior under which there are n records."""
    return SizePrior(np.zeros_like, n, None, n)


def tabled(first: int, table: Floats, omitted: float) -> SizePrior:
    """The prior with these log weights of `first`, `first` + 1 and so on, and none elsewhere."""
    return SizePrior(partial(_looked_up, table, first), first + len(table) - 1, table, first, omitted)


# The functions of priors, with their parameters first: a prior can then be pickled.


def _looked_up(table: Floats, first: int, n: Floats) -> Floats:
    return np.asarray(table[n.astype(np.int64) - first])


def _log_poisson(mean: float, line: float, n: Floats) -> Floats:
    return np.asarray((n - mean) * line - bregman(n + 1.0, mean + 1.0, n - mean))


def _log_negative_binomial(shape: float, rate: float, reference: float, n: Floats) -> Floats:
    return np.asarray(log_rising(shape, n, reference) + rate * (n - reference))


def _own_function(function: Callable[[Any], Any], n: Floats) -> Floats:
    """The values of a reader's function for these n."""
    try:
        value = np.asarray(function(n.astype(np.int64)), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"the function size_prior must take an array of whole numbers; it raised {type(error).__name__}") from None
    if value.shape not in ((), n.shape):
        raise InvalidInputError(f"the function size_prior must give a log weight for each n; shape {n.shape} became {value.shape}")
    _check_weights(value)
    return np.asarray(np.broadcast_to(value, n.shape))


def _named(text: str) -> SizePrior:
    name, _, rest = text.strip().partition(":")
    parts = [part.strip() for part in rest.split(",")] if rest else []
    if name == "flat" and not parts:
        return SizePrior(np.zeros_like)
    if name == "poisson" and len(parts) == 1:
        return _poisson(float(check_moderate(parts[0], "the mean of size_prior")))
    if name == "negative-binomial" and len(parts) == 2:
        mean, shape = (
            float(check_moderate(part, f"the {what} of size_prior")) for part, what in zip(parts, ("mean", "shape"), strict=True)
        )
        return _negative_binomial(mean, shape)
    raise InvalidInputError(f"size_prior must be {_ALLOWED}; got {shown(text)!r}")


def _poisson(mean: float) -> SizePrior:
    line = float(np.log(mean) - digamma(mean + 1.0))
    return SizePrior(partial(_log_poisson, mean, line))


def _negative_binomial(mean: float, shape: float) -> SizePrior:
    """Γ(s + n)/n! · (m/(m + s))^n, whose mean is m and whose variance is m + m²/s."""
    rate = -float(np.log1p(shape / mean))
    reference = float(max(1.0, np.rint(mean)))
    return SizePrior(partial(_log_negative_binomial, shape, rate, reference))


def _of_array(given: ArrayLike) -> SizePrior:
    try:
        table = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(f"size_prior must be {_ALLOWED}; got {type(given).__name__}") from None
    if table.ndim != 1 or not 1 <= table.size <= limits.SIZE_WEIGHTS:
        raise InvalidInputError(f"an array size_prior must have one axis and from 1 to {limits.SIZE_WEIGHTS:,} log weights")
    _check_weights(table)
    weighted = np.nonzero(table > -np.inf)[0]
    if not weighted.size:
        raise InvalidInputError("size_prior must give some number of records a weight; every log weight is -inf")
    last = int(weighted[-1])
    return tabled(0, table[: last + 1], 0.0)


def _of_function(function: Callable[[Any], Any]) -> SizePrior:
    log_weight = partial(_own_function, function)
    return SizePrior(log_weight, None, log_weight(np.arange(_TOTALS_LOOKED_AT, dtype=np.float64)))


def _check_weights(value: Floats) -> None:
    if np.isnan(value).any() or (value == np.inf).any():
        raise InvalidInputError("log weights of size_prior must be numbers or -inf; got one that is NaN or +inf")
