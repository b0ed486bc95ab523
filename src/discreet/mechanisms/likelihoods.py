"""The likelihood of an exponential mechanism's outcome: `P(z | x) = e^(-c(x) H(x, z)) / Z(x)` for every x (docs/proofs/inference.md).

The normaliser `Z(x) = Σ_r e^(-c(x) H(x, r))` is a sum over all candidates, for each dataset x. With three or more categories that is for
`product_sums`.

With two categories H grows as r leaves x on either side, and only a window around x is summed. Beyond it H is nearly 1, or the weights
nearly 0: the far candidates count as e^-c each, which changes Z by less than `WINDOW_ERROR` of it.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import isqrt, log

import numpy as np
from numpy.typing import NDArray

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.mechanisms.product_sums import SPARE, ProductSums, Tell, in_pieces
from discreet.model.datasets import candidate_count
from discreet.numerics.gamma import to_hellinger
from discreet.numerics.gap_tables import GapTable, gap_table
from discreet.numerics.roots import last_inside
from discreet.progress import Progress

WINDOW_ERROR = 2.0**-49
"""Bound on the relative error of a normaliser that comes from the candidates outside its window."""

_WINDOW = 20
"""Widest window of two categories, in square roots of n."""


def most_pairs(prior: Sequence[Fraction], n: int) -> int:
    """Return the most pairs of a dataset and a candidate that are gone through: fewer if categories are alike or the outcome says much."""
    size = candidate_count(n, len(prior))
    return size * min(size, _WINDOW * isqrt(n + int(sum(prior)))) if len(prior) == 2 else size**2


class Likelihoods:
    """The probabilities of outcomes for every dataset. The normaliser of a dataset is computed when it is first needed, and kept."""

    def __init__(self, prior: Sequence[Fraction], datasets: Counts, rate: Callable[[Counts], Floats], *, fair: bool) -> None:
        """Prepare for all datasets of some n. `fair` says that the rate does not change if categories with the same prior change places."""
        tables = {a: gap_table(a, int(datasets[0].sum())) for a in prior}
        self._datasets, self._tables = datasets, [tables[a] for a in prior]
        self._chosen, self._which = _unlike(prior, datasets) if fair else (datasets, np.arange(len(datasets)))
        self._rates = rate(self._chosen)
        self._log_normaliser = np.full(len(self._chosen), np.nan)
        self._sums: _WindowSums | ProductSums = _WindowSums(self._tables) if len(prior) == 2 else ProductSums(self._tables)

    def log(self, raw: Sequence[int], log_prior: Floats | None = None, progress: Progress | None = None) -> Floats:
        """ln P(raw | x) for every dataset.

        Given a log prior, it is -inf for datasets that together have less than `limits.WINDOW_TAIL` of the posterior: as 1 <= Z <= C for C
        candidates, those whose posterior weight times Z is below that part of the largest, divided by C².
        """
        columns = zip(self._tables, self._datasets.T, raw, strict=True)
        divergence = sum((table(x, np.array(z)) for table, x, z in columns), np.zeros(1))
        score = -self._rates[self._which] * to_hellinger(divergence)
        likely = np.arange(len(score))
        if log_prior is not None:
            highest = log_prior + score
            likely = np.nonzero(highest >= highest.max() - 2.0 * log(len(score)) + log(limits.WINDOW_TAIL))[0]
        result = np.full(len(score), -np.inf)
        result[likely] = score[likely] - self._log_normalisers(self._which[likely], progress)
        return result

    def _log_normalisers(self, where: NDArray[np.intp], progress: Progress | None) -> Floats:
        missing = np.unique(where[np.isnan(self._log_normaliser[where])])

        def tell(done: int, steps: int) -> None:
            if progress is not None:
                progress(done, steps, "the probability of the outcome for every possible dataset")

        if len(missing):
            self._log_normaliser[missing] = np.log(self._sums(self._chosen[missing], self._rates[missing], tell))
        return self._log_normaliser[where]


def _unlike(prior: Sequence[Fraction], datasets: Counts) -> tuple[Counts, NDArray[np.intp]]:
    """Datasets of which none is another with categories of the same prior exchanged, and for each dataset which of them it is like."""
    ordered = datasets.copy()
    for a in set(prior):
        alike = [i for i, other in enumerate(prior) if other == a]
        ordered[:, alike] = np.sort(datasets[:, alike], axis=1)
    if len(set(prior)) == len(prior):
        return datasets, np.arange(len(datasets))
    chosen, which = np.unique(ordered, axis=0, return_inverse=True)
    return chosen, which.ravel()


class _WindowSums:
    """Normalisers of two categories."""

    def __init__(self, tables: Sequence[GapTable]) -> None:
        self._n = tables[0].n
        self._tables = tables

    def __call__(self, datasets: Counts, rates: Floats, tell: Tell) -> Floats:
        return in_pieces(lambda some, rate: self._piece(some[:, 0], rate), datasets, rates, tell)

    def _piece(self, x: Counts, rates: Floats) -> Floats:
        low, high = self._window(x, _furthest(rates, self._n + 1))
        near = [self._near(*row) for row in zip(x.tolist(), low.tolist(), high.tolist(), rates.tolist(), strict=True)]
        return np.asarray(np.array(near) + (self._n - high + low) * np.exp(-rates))

    def _near(self, x: int, low: int, high: int, rate: float) -> float:
        first, second = self._tables
        weight = first.row(x, low, high) + second.row(self._n - x, self._n - high, self._n - low)[::-1]
        weight = to_hellinger(weight)
        weight *= -rate
        np.exp(weight, out=weight)
        return float(weight.sum())

    def _divergence(self, x: Counts, r: Counts) -> Floats:
        return self._tables[0](x, r) + self._tables[1](self._n - x, self._n - r)

    def _window(self, x: Counts, furthest: Floats) -> tuple[Counts, Counts]:
        """The first and last r whose divergence from x is below this, by halving: it grows on either side."""
        ends = []
        for edge in (0, self._n):
            far = np.full_like(x, edge)
            near = np.where(self._divergence(x, far) < furthest, edge, x)
            ends.append(last_inside(lambda r: self._divergence(x, r) < furthest, near, far))
        return ends[0], ends[1]


def _furthest(rates: Floats, size: int) -> Floats:
    """The divergence D from which on a candidate may count as e^-c, and not as e^-cH with H = sqrt(1 - e^-D).

    The weight is too small then by a part of at most e^(c (1 - H)) - 1, and 1 - H <= e^-D: below 2^-50 where c e^-D <= e^-36. It is too
    small by at most e^-cH: of all candidates together, below 2^-51 of Z, which is at least 1, where cH >= 36 + ln(their number).
    """
    nearly_one = np.log(rates) + SPARE
    distance = np.minimum((SPARE + np.log(size)) / rates, 1.0)
    with np.errstate(divide="ignore"):
        nearly_nothing = -np.log1p(-(distance**2))
    return np.asarray(np.maximum(np.minimum(nearly_one, nearly_nothing), 0.0))
