"""The power of a Bayes factor: how often that of separate shares against common ones will be above a number, with type-I error and power,
before any release.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from scipy.stats import binom

from discreet import limits
from discreet.analysis.error_laws import ComputedFloat
from discreet.arrays import Counts, Floats
from discreet.errors import InvalidInputError
from discreet.inference.pooling.evidence import bayes_factor
from discreet.mechanisms.lattice import LatticeGeometric
from discreet.record.release import Release
from discreet.validation import Number, check_moderate, exact

_DRAWN, _DRAWN_OF_MANY = 400, 100
"""Outcomes that are drawn, of two categories and of more, whose Bayes factors are draws themselves."""


def bayes_factor_power(mechanism: Any, shares: Sequence[Sequence[Number]], *, above: Number = 1) -> ComputedFloat:
    """The probability that `bayes_factor` of a release will be above a number, if its groups have these shares.

    With the same shares in every group it is the type-I error of taking the answer to depend on the group, and with others the power.

    Args:
        mechanism: A `LatticeGeometric` with `by=` and the size of every group. No data are looked at.
        shares: For each group the shares of all categories, which add up to 1.
        above: The Bayes factor from which on answer and group are taken to be dependent.

    Returns:
        The probability: a sum over all outcomes where two categories have few, and otherwise simulated, with its standard error.

    Raises:
        InvalidInputError: The mechanism has no public sizes of groups, or the shares do not fit its groups and categories.
    """
    space = mechanism._table if isinstance(mechanism, LatticeGeometric) and mechanism.by is not None else None
    if space is None or space.sizes is None:
        raise InvalidInputError("bayes_factor_power needs a LatticeGeometric with by= and n= the size of every group")
    given = [[exact(share, "shares") for share in row] for row in shares]
    if [len(row) for row in given] != [mechanism.k] * len(space.sizes) or any(min(row) < 0 or sum(row) != 1 for row in given):
        raise InvalidInputError(
            f"shares must have {mechanism.k} shares of at least 0 that add up to 1 for each of {len(space.sizes)} groups"
        )
    least, law = float(np.log(float(check_moderate(above, "above")))), np.array(given, dtype=np.float64)
    log_factor = _TableFactors(mechanism)
    if mechanism.k == 2 and np.prod([n + 1.0 for n in space.sizes]) <= limits.FACTOR_OUTCOMES:
        return ComputedFloat(sum(p for z, p in _listed(mechanism, space.sizes, law) if log_factor(z) > least), "exact sum")
    draws, rng = _DRAWN if mechanism.k == 2 else _DRAWN_OF_MANY, np.random.default_rng(0)
    counts = np.stack([rng.multinomial(n, row, draws) for n, row in zip(space.sizes, law, strict=True)], axis=1)
    noisy = counts + mechanism.noise.simulate(draws, rng).reshape(counts.shape)
    rate = float(np.mean([log_factor(z) > least for z in noisy]))
    near = (rate * draws + 1.0) / (draws + 2.0)  # an error that is not 0 where all draws say the same
    return ComputedFloat(rate, "simulation", standard_error=float(np.sqrt(near * (1.0 - near) / draws)))


def _listed(mechanism: Any, sizes: Sequence[int], law: Floats) -> Iterator[tuple[Counts, float]]:
    """List all outcomes of two categories with their probabilities; what is beyond 0 or n says the same as 0 or n, and is put together
    there.
    """
    q, chances = float(np.exp(-float(mechanism.epsilon))), []
    for n, (share, _) in zip(sizes, law, strict=True):
        x = np.arange(n + 1)
        noise = q ** np.abs(x[:, None] - x) * ((1.0 - q) / (1.0 + q))
        noise[:, [0, n]] = q ** np.stack([x, n - x], axis=1) / (1.0 + q)
        chances.append(binom.pmf(x, n, share) @ noise if n else np.ones(1))
    for z in product(*(range(n + 1) for n in sizes)):
        first = np.array(z)
        yield np.stack([first, np.array(sizes) - first], axis=1), float(np.prod([row[i] for row, i in zip(chances, z, strict=True)]))


class _TableFactors:
    """Logarithms of Bayes factors of noisy tables; groups of one size may change places."""

    def __init__(self, mechanism: Any) -> None:
        self._mechanism, self._known = mechanism, dict[tuple[tuple[int, ...], ...], float]()

    def __call__(self, noisy: Counts) -> float:
        key = tuple(sorted(map(tuple, np.column_stack([self._mechanism._table.sizes, noisy]).tolist())))
        if key not in self._known:
            self._known[key] = bayes_factor(Release(self._mechanism, self._mechanism.guarantee, noisy, noisy).noise_aware()).log
        return self._known[key]
