"""The likelihood of a raw outcome as a function of the categories' probabilities, or of rates, and its gradient (docs/howto/pymc.md).

With a public n the true counts are multinomial: `P(z | θ) = Σ_x n! Π θ_i^{x_i}/x_i! P(z | x)`. With a private n they are independent
Poisson counts of rates `size · θ_i`. Either way the derivative of the log likelihood is an expected count: `E[x_i | z, θ]` by ln θ_i, and
`E[x_i | z, rate] - rate_i` by ln rate_i.

A multinomial law is that of independent Poisson counts given their total, so noise that is independent by cell has windows under a tilt
(`counts.batched.rates`) whose total is n with a probability that is not small; transforms add them up to a relative error of about 1e-12.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.special import gammaln

from discreet import limits
from discreet.arrays import Counts, Floats, Mask
from discreet.counts.batched.rates import RATE_DEPTH, NoisyCells
from discreet.counts.batched.sums import fixed_totals
from discreet.errors import InvalidInputError, RefusedError, TooLargeError
from discreet.inference.true_counts import check_listable, noise_of_any_total
from discreet.mechanisms import Mechanism
from discreet.mechanisms.noise import CellNoise
from discreet.model.tables import TableSpace
from discreet.numerics.gamma import log_gamma_excess

Likelihood = Callable[[Counts, Floats], tuple[Floats, Floats]]
"""The log likelihoods of noisy counts, a row a group, and for each cell the derivative by the logarithm of its probability or rate."""


@dataclass(frozen=True, eq=False)
class PublicTotals:
    """Multinomial counts of public totals with noise by cell: a function of the logarithms of probabilities."""

    totals: Counts
    """The public total of each group."""
    noisy: Mask
    noise: CellNoise
    log_constant: Floats
    """The constant, for each group, that the noise's factors lack to be probabilities."""

    def __call__(self, raw: Counts, log_probability: Floats) -> tuple[Floats, Floats]:
        """The log likelihood of each group, and the expected true count of each cell."""
        n = self.totals.astype(np.float64)
        with np.errstate(divide="ignore"):
            log_rate = log_probability + np.log(n)[:, None]
        cells = NoisyCells(_padded(raw, self.noisy), self.noisy, self.noise, self.totals)
        found, tilt = cells.balanced(self.totals, log_rate)
        low = found.windows.low
        law = fixed_totals(found.windows, self.totals, 2.0 * RATE_DEPTH / found.windows.width, RATE_DEPTH)
        expected = low + law.weight @ np.arange(found.windows.width, dtype=np.float64)
        tilted = found.log_mass(log_rate).sum(axis=1) - tilt * (self.totals - low.sum(axis=1)) + np.log(law.completion)
        above = np.exp(log_probability).sum(axis=1) - 1.0
        return tilted + n * above + self._constant, expected

    @cached_property
    def _constant(self) -> Floats:
        """The constant of the likelihood with ln n! e^n n^-n, one over the probability that the Poisson counts have their total."""
        some = np.maximum(self.totals, 1).astype(np.float64)
        return np.asarray(self.log_constant + np.where(self.totals > 0, log_gamma_excess(some) + np.log(some), 0.0))


@dataclass(frozen=True, eq=False)
class PrivateTotals:
    """Independent Poisson counts with independent noise: a function of the logarithms of their rates."""

    noisy: Mask
    noise: CellNoise

    def __call__(self, raw: Counts, log_rate: Floats) -> tuple[Floats, Floats]:
        """The log likelihood of each group, and for each cell its derivative."""
        found = NoisyCells(raw, self.noisy, self.noise).counts(log_rate, np.zeros(len(raw)))
        return found.log_mass(log_rate).sum(axis=1), found.mean - np.exp(log_rate)


@dataclass(frozen=True, eq=False)
class ListedTotal:
    """Multinomial counts of a public total and any mechanism whose laws can be listed: a sum over all datasets."""

    mechanism: Mechanism

    @cached_property
    def _known(self) -> dict[tuple[int, ...], tuple[Floats, Floats]]:
        """The datasets with their log weights, for each outcome that was asked for: as a rule the one that was released."""
        return {}

    def _weights(self, raw: tuple[int, ...]) -> tuple[Floats, Floats]:
        if raw not in self._known:
            check_listable(self.mechanism)
            points, log_likelihood = self.mechanism.space.points(), self.mechanism._log_likelihoods(raw)
            coefficient = gammaln(self.mechanism.space.total + 1.0) - gammaln(points + 1.0).sum(axis=1)
            self._known.clear()
            self._known[raw] = points.astype(np.float64), log_likelihood + coefficient
        return self._known[raw]

    def __call__(self, raw: Counts, log_probability: Floats) -> tuple[Floats, Floats]:
        """The log likelihood, and the expected true counts."""
        points, log_weight = self._weights(tuple(raw[0].tolist()))
        possible = np.isfinite(log_probability[0])
        log_weight = log_weight + points[:, possible] @ log_probability[0, possible]
        log_weight[(points[:, ~possible] > 0.0).any(axis=1)] = -np.inf
        highest = log_weight.max()
        weight = np.exp(log_weight - highest)
        total = weight.sum()
        return np.array([highest + np.log(total)]), (weight @ points / total)[None, :]


def likelihood_of(mechanism: Mechanism) -> Likelihood:
    """The likelihood of a mechanism's raw outcomes, by its capabilities; a table with a public total is one group of all its cells.

    Raises RefusedError or TooLargeError, by public numbers alone, for a mechanism that has none that can be computed.
    """
    if isinstance(mechanism.space, TableSpace):
        return _of_table(mechanism, mechanism.space)
    if mechanism._levels is not None:
        raise RefusedError(f"{mechanism.title} has several levels, whose likelihood of theta is not computed; noise_aware() reads them")
    if mechanism.n is None:
        return PrivateTotals(np.ones((1, mechanism.k), dtype=np.bool_), noise_of_any_total(mechanism))
    noise = mechanism.noise
    if noise is None:
        return ListedTotal(mechanism)
    noisy = (np.arange(mechanism.k) < noise.cells)[None, :]
    return PublicTotals(np.array([mechanism.space.total]), noisy, noise, np.array([noise.log_constant(noise.cells)]))


def _of_table(mechanism: Mechanism, space: TableSpace) -> Likelihood:
    noise, possible = mechanism.noise, space.cells.possible
    if noise is None:
        raise RefusedError(f"{mechanism.title} has no noise by cell, so its tables have no likelihood that can be computed")
    if space.published == "nothing":
        return PrivateTotals(possible, noise)
    if space.n is not None and space.sizes is None:
        possible, totals = possible.reshape(1, -1), np.array([space.n])
    else:
        totals = np.array(space.sizes)
    cells = possible.sum(axis=1)
    constant = np.array([noise.log_constant(int(k)) for k in cells])
    return PublicTotals(totals, possible & (cells > 1)[:, None], noise, constant)


@dataclass(frozen=True, eq=False)
class OutcomeModel:
    """A mechanism's raw outcomes given probabilities and, where they are not public, the number of records or the groups' shares."""

    mechanism: Mechanism
    function: Likelihood

    @property
    def table(self) -> TableSpace | None:
        """The groups and what is public about them; None for one variable."""
        space = self.mechanism.space
        return space if isinstance(space, TableSpace) else None

    @property
    def is_one(self) -> bool:
        """Return whether it is a table whose cells are tied by one total."""
        return self.table is not None and self.table.published == "total"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the probabilities."""
        return (self.mechanism.k,) if self.table is None else self.table.cells.shape

    @property
    def grouped(self) -> bool:
        """Return whether it has a log likelihood for each group."""
        return self.table is not None and not self.is_one

    def rows(self, array: Any) -> Any:
        """A row for each group, or one row."""
        return array if self.grouped else array.reshape((1, -1))

    def check_given(self, size: Any, shares: Any) -> None:
        """Refuse a size or shares that the release makes public, and ask for those that it does not."""
        if (size is None) != (self.mechanism.space.n is not None):
            raise InvalidInputError(
                "the number of records is private in this release: give size=, how many are expected, such as pm.HalfFlat('size')"
                if size is None
                else "size is for a release whose number of records is private; this one's is public: leave it out"
            )
        if (shares is None) == self.is_one:
            raise InvalidInputError(
                "only the total of this table is public: give shares=, the groups' shares of it, such as pm.Dirichlet('shares', ...)"
                if shares is None
                else "shares is for a table of which only the total is public: leave it out"
            )


def observed(raw: Any) -> Counts:
    """The raw outcome as an array."""
    values = np.array(raw, dtype=object)
    if max(abs(int(value)) for value in values.flat) > limits.COUNT:
        raise TooLargeError("a noisy count is beyond 2**53, where no likelihood is computed; less noise (a larger epsilon) avoids that")
    return values.astype(np.int64)


@lru_cache(maxsize=4)
def _model_of(mechanism: Mechanism) -> OutcomeModel:
    """The model of a mechanism's outcomes, kept for the next call: some likelihoods are sums over long lists."""
    return OutcomeModel(mechanism, likelihood_of(mechanism))


def log_likelihood(mechanism: Mechanism, raw: Any, theta: Any, size: Any = None, shares: Any = None) -> float:
    """ln P(raw outcome | probabilities), of one variable or of a whole table; see `Release.log_likelihood`."""
    model = _model_of(mechanism)
    model.check_given(size, shares)
    rate = _numbers(theta, model.shape, "theta")
    if model.table is not None:
        rate = np.where(model.table.cells.possible, rate, 0.0)
    whole = rate.sum(axis=-1, keepdims=True)
    if not np.isclose(whole[whole > 0.0], 1.0).all() and (model.table is None or model.table.cells.possible.all()):
        raise InvalidInputError("theta must add up to 1 over the categories")
    rate = rate / np.where(whole > 0.0, whole, 1.0)
    for name, factor in (("size", size), ("shares", shares)):
        if factor is not None:
            rate = rate * np.broadcast_to(_numbers(factor, model.shape[:-1], name), model.shape[:-1])[..., None]
    if shares is not None and not np.isclose(rate.sum(), 1.0):
        raise InvalidInputError("shares must add up to 1 over the groups in which anything can occur")
    with np.errstate(divide="ignore"):
        return float(model.function(model.rows(observed(raw)), np.log(model.rows(rate)))[0].sum())


def _numbers(given: Any, shape: tuple[int, ...], name: str) -> Floats:
    """An array of this shape of finite numbers, none below 0; a single number does for all groups."""
    try:
        found = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{name} must be numbers; got {type(given).__name__}") from None
    if found.shape != shape and (found.ndim or name == "theta"):
        raise InvalidInputError(f"{name} must have the shape {shape or 'of a single number'} for this release, got {found.shape}")
    if not (np.isfinite(found) & (found >= 0.0)).all():
        raise InvalidInputError(f"{name} must be finite numbers, none below 0")
    return found


def _padded(raw: Counts, noisy: Mask) -> Counts:
    """Noisy counts with a 0 for each cell at the end of a row that has none."""
    return raw if raw.shape == noisy.shape else np.pad(raw, ((0, 0), (0, noisy.shape[1] - raw.shape[1])))
