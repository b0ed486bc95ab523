"""What an exponential mechanism's outcome says about every dataset: `P(z | x) = e^(-c(x) H(x, z)) / Z(x)` (docs/inference.md).

The normaliser `Z(x) = Σ_r e^(-c(x) H(x, r))` is a sum over all candidates, for each dataset x. With h_i = 1 - e^-gap, tabled for each
category, `H² = 1 - Π(1 - h_i)` is put together as `h + (1 - h) h'`: sums of positive terms, in which nothing cancels. The candidates are
pairs of a part and a rest of the categories with totals that add up to n, so that all of them come from outer products of short rows, a
square root and an exponential each.

With two categories H grows as r leaves x on either side, and only a window around x is summed. Beyond it H is nearly 1, or the weights
nearly 0: the far candidates count as e^-c each, which changes Z by less than `WINDOW_ERROR` of it.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from math import isqrt, log

import numpy as np
from numpy.typing import NDArray

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.mechanisms.laws import Progress
from discreet.model.datasets import candidate_count
from discreet.numerics.divergences import to_hellinger
from discreet.numerics.gap_tables import GapTable, gap_table

WINDOW_ERROR = 2.0**-49
"""Bound on the relative error of a normaliser that comes from the candidates outside its window."""

_THREADS = 2
_BLOCK = 1 << 15
"""Candidates of some datasets that are weighted together: few enough to stay near the processor."""
_PIECE = 64
"""Datasets of a piece: calls cost more than the work if there are few, and a bar stands still if there are many."""
_WINDOW = 20
"""Widest window of two categories, in square roots of n."""


def most_pairs(prior: Sequence[Fraction], n: int) -> int:
    """How many pairs of a dataset and a candidate are gone through at most: fewer where categories are alike or the outcome says much."""
    size = candidate_count(n, len(prior))
    return size * min(size, _WINDOW * isqrt(n + int(sum(prior)))) if len(prior) == 2 else size**2


class Likelihoods:
    """The probabilities of outcomes for every dataset. The normaliser of a dataset is computed when it is first needed, and kept."""

    def __init__(self, prior: Sequence[Fraction], datasets: Counts, rate: Callable[[Counts], Floats], *, fair: bool) -> None:
        """For all datasets of some n; `fair` says that the rate does not change if categories with the same prior change places."""
        tables = {a: gap_table(a, int(datasets[0].sum())) for a in prior}
        self._datasets, self._tables = datasets, [tables[a] for a in prior]
        self._chosen, self._which = _unlike(prior, datasets) if fair else (datasets, np.arange(len(datasets)))
        self._rates = rate(self._chosen)
        self._log_normaliser = np.full(len(self._chosen), np.nan)
        self._sums: _WindowSums | _ProductSums = _WindowSums(self._tables) if len(prior) == 2 else _ProductSums(self._tables)

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
        pieces = [missing[start : start + _PIECE] for start in range(0, len(missing), _PIECE)]
        pool = ThreadPoolExecutor(_THREADS)
        try:
            found = pool.map(lambda piece: self._sums(self._chosen[piece], self._rates[piece]), pieces)
            for done, (piece, normaliser) in enumerate(zip(pieces, found, strict=True)):
                self._log_normaliser[piece] = np.log(normaliser)
                if progress is not None:
                    progress(done + 1, len(pieces), "the probability of the outcome for every possible dataset")
        finally:
            pool.shutdown(cancel_futures=True)
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


class _ProductSums:
    """Normalisers of three or more categories."""

    def __init__(self, tables: Sequence[GapTable]) -> None:
        self._n = tables[0].n
        every = np.arange(self._n + 1)
        falls = {table: -np.expm1(-table(every[:, None], every)) for table in set(tables)}
        self._falls = [falls[table] for table in tables]

    def __call__(self, datasets: Counts, rates: Floats) -> Floats:
        first, rest = _halves([fall[x] for fall, x in zip(self._falls, datasets.T, strict=True)])
        total = np.zeros(len(datasets))
        for u in range(self._n + 1):
            one, other = first(u), rest(self._n - u)
            together = max(1, _BLOCK // (one.shape[1] * other.shape[1]))
            for rows in (slice(start, start + together) for start in range(0, len(total), together)):
                total[rows] += _weights(_joined(one[rows], other[rows]), rates[rows])
        return total


def _weights(squares: Floats, rates: Floats) -> Floats:
    """The sum of e^-cH for every row of squared distances H², which are overwritten."""
    weight = squares.reshape(len(rates), -1)
    np.sqrt(weight, out=weight)
    weight *= -rates[:, None]
    np.exp(weight, out=weight)
    return np.asarray(weight.sum(axis=1))


_Part = Callable[[int], Floats]
"""For a total of some categories: 1 - e^-D of every way to share it among them, a column each, from every dataset, a row each."""


def _halves(rows: Sequence[Floats]) -> tuple[_Part, _Part]:
    return _part(rows[: len(rows) // 2]), _part(rows[len(rows) // 2 :])


def _part(rows: Sequence[Floats]) -> _Part:
    if len(rows) == 1:
        return lambda total: rows[0][:, total : total + 1]
    if len(rows) == 2:
        left = 1.0 - rows[0]
        return lambda total: _of_two(rows[0], left, rows[1], total)
    first, rest = _halves(rows)
    known: dict[int, Floats] = {}

    def of_many(total: int) -> Floats:
        if total not in known:
            shared = [_joined(first(u), rest(total - u)).reshape(len(rows[0]), -1) for u in range(total + 1)]
            known[total] = np.concatenate(shared, axis=1)
        return known[total]

    return of_many


def _of_two(first: Floats, left: Floats, second: Floats, total: int) -> Floats:
    """`first + left · second`, with left = 1 - first, of every way to share the total among two categories."""
    result: Floats = left[:, : total + 1] * second[:, total::-1]
    result += first[:, : total + 1]
    return result


def _joined(first: Floats, second: Floats) -> Floats:
    """1 - e^-D of every pair of a column of the one and a column of the other, whose divergences add up."""
    result: Floats = (1.0 - first)[:, :, None] * second[:, None, :]
    result += first[:, :, None]
    return result


class _WindowSums:
    """Normalisers of two categories."""

    def __init__(self, tables: Sequence[GapTable]) -> None:
        self._n = tables[0].n
        self._tables = tables

    def __call__(self, datasets: Counts, rates: Floats) -> Floats:
        x = datasets[:, 0]
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
            near, far = x.copy(), np.full_like(x, edge)
            is_near = self._divergence(x, far) < furthest
            near[is_near] = edge
            while (np.abs(far - near) > 1).any():
                middle = (near + far) // 2
                is_near = self._divergence(x, middle) < furthest
                near, far = np.where(is_near, middle, near), np.where(is_near, far, middle)
            ends.append(near)
        return ends[0], ends[1]


_SPARE = 36.0
"""e^-36 is below 2^-51."""


def _furthest(rates: Floats, size: int) -> Floats:
    """The divergence D from which on a candidate may count as e^-c, and not as e^-cH with H = sqrt(1 - e^-D).

    The weight is too small then by a part of at most e^(c (1 - H)) - 1, and 1 - H <= e^-D: below 2^-50 where c e^-D <= e^-36. It is too
    small by at most e^-cH: of all candidates together, below 2^-51 of Z, which is at least 1, where cH >= 36 + ln(their number).
    """
    nearly_one = np.log(rates) + _SPARE
    distance = np.minimum((_SPARE + np.log(size)) / rates, 1.0)
    with np.errstate(divide="ignore"):
        nearly_nothing = -np.log1p(-(distance**2))
    return np.asarray(np.maximum(np.minimum(nearly_one, nearly_nothing), 0.0))
