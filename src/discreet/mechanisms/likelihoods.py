"""The likelihood of an exponential mechanism's outcome: `P(z | x) = e^(-c(x) H(x, z)) / Z(x)` for every x (docs/proofs/inference.md).

The normaliser `Z(x) = Σ_r e^(-c(x) H(x, r))` is a sum over all candidates, for each dataset x. With two categories H grows as r leaves x on
either side, and only a window around x is summed. Beyond it H is nearly 1, or the weights nearly 0: the far candidates count as e^-c each,
which changes Z by less than `WINDOW_ERROR` of it.

With three or more categories H² = 1 - A, where the affinity A = Π A_i(x_i, r_i) is a product over categories. Near x, where every A_i is
above some level, the candidates are gone through one by one. With h_i = 1 - A_i, `H² = 1 - Π(1 - h_i)` is put together as `h + (1 - h) h'`:
sums of positive terms, in which nothing cancels. Candidates are pairs of a part and a rest of the categories with totals that add up, so
that all of them come from outer products of short rows, a square root and an exponential each.

Far from x, where some A_i and so A is at most the level, a power series in A is short:

    e^(-c sqrt(1 - A))  =  Σ_j b_j A^j ,   b_0 = e^-c,  b_1 = (c/2) e^-c,  4 (j+2)(j+1) b_(j+2) = (4j+2)(j+1) b_(j+1) + c² b_j .

All b_j are positive and add up to 1, so that terms from the m-th on are at most A^m. Σ_r A^j is the probability that sums of independent
counts, with the weights A_i^j, meet their total: a sum over the frequencies of their Fourier transforms. That of near ones is taken off.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, log

import numpy as np
from numpy.typing import NDArray

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.model.datasets import candidate_count
from discreet.numerics.gamma import to_hellinger
from discreet.numerics.proved_floats import GapTable, gap_table
from discreet.numerics.roots import last_inside
from discreet.numerics.transforms import at_place, fast_length, spectra
from discreet.progress import Progress

Tell = Callable[[int, int], None]
"""Is told the steps done and the steps in all."""

THREADS = 2
PIECE = 64
"""Datasets of a piece: calls cost more than the work if there are few, and a bar stands still if there are many."""
SPARE = 36.0
"""The depth, in logarithms, of what is left out: e^-36 is below 2^-51."""
_WEIGHTED_TOGETHER = 1 << 15
"""Candidates of some datasets that are weighted together: few enough to stay near the processor."""
_FAR_GAPS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Gaps, -ln A_i, beyond which a candidate may count as far."""
_FACTOR_WORK, _TRANSFORM_WORK = 0.15, 1.5
"""The cost of a factor of a frequency, compared with a candidate that is gone through, and of a value that is transformed."""


def in_pieces(sums: Callable[[Counts, Floats], Floats], datasets: Counts, rates: Floats, tell: Tell) -> Floats:
    """Evaluate a function of datasets, one a row, and their rates, a piece at a time, in threads."""
    pieces = [slice(start, start + PIECE) for start in range(0, len(datasets), PIECE)]
    total = np.empty(len(datasets))
    pool = ThreadPoolExecutor(THREADS)
    try:
        found = pool.map(lambda piece: sums(datasets[piece], rates[piece]), pieces)
        for done, (piece, part) in enumerate(zip(pieces, found, strict=True)):
            total[piece] = part
            tell(done + 1, len(pieces))
    finally:
        pool.shutdown(cancel_futures=True)
    return total


def _untold(done: int, steps: int) -> None:
    """Tell nobody."""


class ProductSums:
    """Normalisers of any datasets of some n, given a table of gaps for each category."""

    def __init__(self, tables: Sequence[GapTable]) -> None:
        self._n, self._k = tables[0].n, len(tables)
        self._size = candidate_count(self._n, self._k)
        every = np.arange(self._n + 1)
        self._gaps = {table: table(every[:, None], every) for table in set(tables)}
        self._tables = list(tables)
        self._nearest = np.array([min(float(gap.diagonal(o).min()) for gap in self._gaps.values()) for o in every])

    def __call__(self, datasets: Counts, rates: Floats, tell: Tell) -> Floats:
        """Z of datasets, one a row, each with its rate c."""
        plan = self._plan(len(datasets), float(rates.min()))
        more = max(plan.terms - 1, 0)
        total = in_pieces(_Near(self._rows(plan), self._size), datasets, rates, lambda done, pieces: tell(done, pieces + more))
        pieces = -(-len(datasets) // PIECE)
        factors = np.exp(-rates), 0.5 * rates * np.exp(-rates)
        for j in range(1, plan.terms):
            total += factors[1] * in_pieces(self._far(plan, j), datasets, rates, _untold)
            factors = factors[1], ((4 * j - 2) * j * factors[1] + rates**2 * factors[0]) / (4 * (j + 1) * j)
            tell(pieces + j, pieces + more)
        return total

    # --- where near ends ----------------------------------------------------------------------------------------------

    def _plan(self, datasets: int, rate: float) -> "_Plan":
        """The cheapest way for so many datasets at this rate or a higher one, in candidates that are gone through.

        All candidates; those near it, where far ones have H so large that even all of them count for nothing; or those and a series.
        """
        enough = SPARE + float(np.log(self._size))
        plans = [(float(datasets * self._size), _Plan(np.inf, 0))]
        distance = enough / rate
        if distance < 1.0:
            level = -float(np.log1p(-(distance**2)))
            plans.append((datasets * self._near_count(level), _Plan(level, 0)))
        for level in _FAR_GAPS:
            plan = _Plan(level, int(np.ceil(enough / level)))
            reaches = sum(self._reach(enough / j) + self._reach(level) for j in range(1, plan.terms))
            each = self._near_count(level) + _FACTOR_WORK * self._k * reaches * self._k / 2
            plans.append((datasets * each + _TRANSFORM_WORK * len(self._gaps) * (self._n + 1) * 2 * reaches, plan))
        return min(plans, key=lambda one: one[0])[1]

    def _near_count(self, level: float) -> float:
        """Candidates near a dataset with about the same number of records in every category."""
        middle, found = np.full(self._k, self._n // self._k), np.ones(1)
        middle[: self._n % self._k] += 1
        for table, x in zip(self._tables, middle.tolist(), strict=True):
            found = np.convolve(found, (self._gaps[table][x] < level).astype(np.float64))[: self._n + 1]
        return float(found[self._n])

    def _reach(self, gap: float) -> int:
        """Return the largest distance of a count from another with this gap or a smaller one."""
        return int(np.searchsorted(self._nearest, gap, side="right")) - 1

    # --- both parts ---------------------------------------------------------------------------------------------------

    def _rows(self, plan: "_Plan") -> "Callable[[Counts], tuple[list[Floats], int]]":
        """Return for datasets, one a row: 1 - A_i of candidates, 1 of far ones, a row each for every category; and what their places add up
        to.
        """
        if np.isinf(plan.level):
            whole = {table: -np.expm1(-gap) for table, gap in self._gaps.items()}
            return lambda datasets: ([whole[table][x] for table, x in zip(self._tables, datasets.T, strict=True)], self._n)
        reach = self._reach(plan.level)
        bands = {table: -np.expm1(-_band(gap, reach, plan.level)) for table, gap in self._gaps.items()}

        def rows(datasets: Counts) -> tuple[list[Floats], int]:
            found, total = [], 0
            for table, x in zip(self._tables, datasets.T, strict=True):
                row = bands[table][x]
                used = np.flatnonzero((row < 1.0).any(axis=0))
                found.append(row[:, used[0] : used[-1] + 1])
                total += reach - int(used[0])
            return found, total

        return rows

    def _far(self, plan: "_Plan", j: int) -> Callable[[Counts, Floats], Floats]:
        """Σ A^j over the far candidates of datasets, one a row, whatever their rates."""
        everything = self._power_sums(j, self._reach((SPARE + float(np.log(self._size))) / j), np.inf)
        near = self._power_sums(j, self._reach(plan.level), plan.level)
        return lambda datasets, _: everything(datasets) - near(datasets)

    def _power_sums(self, j: int, reach: int, level: float) -> Callable[[Counts], Floats]:
        """Σ A^j over candidates whose counts are at most `reach` from those of the dataset and whose gaps are below the level."""
        length = fast_length(self._k * reach + 1)
        known = {table: spectra(np.exp(-float(j) * _band(gap, reach, level)), length) for table, gap in self._gaps.items()}
        turned = known[self._tables[-1]] * at_place(length, self._k * reach)

        def sums(datasets: Counts) -> Floats:
            product = known[self._tables[0]][datasets[:, 0]]
            for table, x in zip(self._tables[1:-1], datasets.T[1:-1], strict=True):
                product *= known[table][x]
            # a matrix product would start threads of its own inside of ours
            return np.asarray(np.einsum("xw,xw->x", product, turned[datasets[:, -1]]).real)

        return sums


@dataclass(frozen=True)
class _Plan:
    level: float
    """The gap from which on a candidate is far."""
    terms: int
    """The number of terms of the series; without any, far candidates count as e^-c each."""


def _band(gap: Floats, reach: int, level: float) -> Floats:
    """Gaps from every x, a row each, to the counts from x - reach to x + reach; infinite where these are none, or from the level on."""
    x = np.arange(len(gap))[:, None]
    r = x + np.arange(-reach, reach + 1)
    inside = (r >= 0) & (r < len(gap))
    found = np.where(inside, gap[x, np.where(inside, r, x)], np.inf)
    found[found >= level] = np.inf
    return found


class _Near:
    """Σ e^-cH over the near candidates of datasets, and e^-c for each far one."""

    def __init__(self, rows: "Callable[[Counts], tuple[list[Floats], int]]", size: int) -> None:
        self._rows, self._size = rows, size

    def __call__(self, datasets: Counts, rates: Floats) -> Floats:
        rows, wanted = self._rows(datasets)
        first, rest = _halves(rows)
        total, seen = np.zeros(len(datasets)), 0
        for u in _shares(first, rest, wanted):
            one, other = first.of(u), rest.of(wanted - u)
            seen += one.shape[1] * other.shape[1]
            together = max(1, _WEIGHTED_TOGETHER // (one.shape[1] * other.shape[1]))
            for some in (slice(start, start + together) for start in range(0, len(total), together)):
                total[some] += _weights(_joined(one[some], other[some]), rates[some])
        return np.asarray(total + (self._size - seen) * np.exp(-rates))


def _weights(squares: Floats, rates: Floats) -> Floats:
    """The sum of e^-cH for every row of squared distances H², which are overwritten."""
    weight = squares.reshape(len(rates), -1)
    np.sqrt(weight, out=weight)
    weight *= -rates[:, None]
    np.exp(weight, out=weight)
    return np.asarray(weight.sum(axis=1))


@dataclass(frozen=True)
class _SumPart:
    """Some categories together, with their squared distances."""

    largest: int
    """The largest total that they can have."""
    of: Callable[[int], Floats]
    """Return, for a total of them, 1 - A of every way to share it among them, a column each, from every dataset, a row each."""


def _halves(rows: Sequence[Floats]) -> tuple[_SumPart, _SumPart]:
    return _part(rows[: len(rows) // 2]), _part(rows[len(rows) // 2 :])


def _shares(first: _SumPart, rest: _SumPart, total: int) -> range:
    """Return the numbers of records that a total may leave to the first of two parts."""
    return range(max(0, total - rest.largest), min(total, first.largest) + 1)


def _part(rows: Sequence[Floats]) -> _SumPart:
    largest = sum(row.shape[1] - 1 for row in rows)
    if len(rows) == 1:
        return _SumPart(largest, lambda total: rows[0][:, total : total + 1])
    if len(rows) == 2:
        left = 1.0 - rows[0]
        return _SumPart(largest, lambda total: _of_two(rows[0], left, rows[1], total))
    first, rest = _halves(rows)
    known: dict[int, Floats] = {}

    def of_many(total: int) -> Floats:
        if total not in known:
            shared = [_joined(first.of(u), rest.of(total - u)).reshape(len(rows[0]), -1) for u in _shares(first, rest, total)]
            known[total] = np.concatenate(shared, axis=1)
        return known[total]

    return _SumPart(largest, of_many)


def _of_two(first: Floats, left: Floats, second: Floats, total: int) -> Floats:
    """`first + left · second`, with left = 1 - first, of every way to share the total among two categories."""
    low, high = max(0, total - second.shape[1] + 1), min(total, first.shape[1] - 1)
    result: Floats = left[:, low : high + 1] * second[:, total - high : total - low + 1][:, ::-1]
    result += first[:, low : high + 1]
    return result


def _joined(first: Floats, second: Floats) -> Floats:
    """1 - A of every pair of a column of the one and a column of the other, whose affinities are multiplied."""
    result: Floats = (1.0 - first)[:, :, None] * second[:, None, :]
    result += first[:, :, None]
    return result


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
