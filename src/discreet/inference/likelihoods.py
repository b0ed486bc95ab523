"""The likelihood of a raw outcome as a function of the categories' probabilities, or of rates, and its gradient (docs/howto/pymc.md).

With a public n the true counts are multinomial: `P(z | θ) = Σ_x n! Π θ_i^{x_i}/x_i! P(z | x)`. With a private n they are independent
Poisson counts of rates `size · θ_i`. Either way the derivative of the log likelihood is an expected count: `E[x_i | z, θ]` by ln θ_i, and
`E[x_i | z, rate] - rate_i` by ln rate_i.

A multinomial law is that of independent Poisson counts given their total, so noise that is independent by cell has windows under a tilt
(`rate_windows`) whose total is n with a probability that is not small; transforms add them up to a relative error of about 1e-12.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.special import gammaln

from discreet.arrays import Counts, Floats, Mask
from discreet.counts.batched.sums import fixed_totals
from discreet.errors import RefusedError
from discreet.inference.rate_windows import RATE_DEPTH, NoisyCells
from discreet.inference.true_counts import check_listable, noise_of_any_total
from discreet.mechanisms import Mechanism
from discreet.mechanisms.noise import CellNoise
from discreet.model.tables import TableSpace
from discreet.numerics.gamma import log_gamma_excess


class Likelihood(Protocol):
    """The log likelihoods of noisy counts, a row a group, and their derivatives by the logarithms of what they depend on."""

    def __call__(self, raw: Counts, log_rate: Floats, /) -> tuple[Floats, Floats]:
        """For each group its log likelihood, and for each cell its derivative by the logarithm of its probability or rate."""
        ...


@dataclass(frozen=True, eq=False)
class PublicTotals:
    """Multinomial counts of public totals with noise by cell: a function of the logarithms of probabilities."""

    totals: Counts
    """The public total of each group."""
    noisy: Mask
    noise: CellNoise
    log_constant: Floats
    """What the noise's factors lack to be probabilities, for each group."""

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
        """With ln n! e^n n^-n, one over the probability that the Poisson counts have their total."""
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
        """All datasets with their log weights, for each outcome that was asked for: as a rule the one that was released."""
        return {}

    def _weights(self, raw: tuple[int, ...]) -> tuple[Floats, Floats]:
        if raw not in self._known:
            check_listable(self.mechanism)
            points, log_likelihood = self.mechanism.space.points(), self.mechanism.log_likelihoods(raw)
            coefficient = gammaln(self.mechanism.total + 1.0) - gammaln(points + 1.0).sum(axis=1)
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
    if mechanism.n is None:
        return PrivateTotals(np.ones((1, mechanism.k), dtype=np.bool_), noise_of_any_total(mechanism))
    noise = mechanism.noise
    if noise is None:
        return ListedTotal(mechanism)
    noisy = (np.arange(mechanism.k) < noise.cells)[None, :]
    return PublicTotals(np.array([mechanism.total]), noisy, noise, np.array([noise.log_constant(noise.cells)]))


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


def _padded(raw: Counts, noisy: Mask) -> Counts:
    """Noisy counts with a 0 for each cell at the end of a row that has none."""
    return raw if raw.shape == noisy.shape else np.pad(raw, ((0, 0), (0, noisy.shape[1] - raw.shape[1])))
