"""Every dataset in turn: the law of what is reported for it, and how far each report is from the truth.

This is what errors averaged over the prior predictive, and worst-case errors, are added up from. Reports are made once for all
datasets where the raw outcomes are the same for all, and Hellinger distances come from tables of gaps.
"""

from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache, reduce
from math import inf
from typing import Any, NamedTuple

import numpy as np

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.errors import TooLargeError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.noise import IndependentNoise
from discreet.mechanisms.reports import Clamped
from discreet.model.datasets import candidate_count, simplex_points
from discreet.model.dirichlet import Beta, Dirichlet
from discreet.model.distances import hellinger
from discreet.numerics.gamma import count_gap, to_hellinger
from discreet.numerics.proved_floats import gap_table

Distance = Callable[[Any, Any], Any]
"""`distance(truth, reported)` for arrays of parameters with the categories on the last axis, such as `discreet.kl`."""

_UNLIKELY_OUTCOME = 1e-24
"""Outcomes with less probability are left out: 10^8 of them together are less than a float would show."""
_DATASET_ITSELF = 2_000
"""The cost of a dataset beside that of its outcomes, where each has a list of its own."""
_NEGLIGIBLE_PRODUCT = 1e-18
"""Pairs of two independent counts, of which there are about 10^4, with less probability are left out."""


class DatasetLaw(NamedTuple):
    """One dataset, all reports for it (rows) and their probabilities."""

    counts: Counts
    reported: Counts
    probability: Floats


class Errors:
    """Distances from the posterior of the true counts, n in all, to those of reported counts (rows), none above `highest`."""

    def __init__(self, prior: Dirichlet | Beta, n: int, distance: Distance, *, tables: bool = False, highest: int | None = None) -> None:
        self.prior, self.n, self.distance, self.tables = prior, n, distance, tables
        self.highest = n if highest is None else highest

    def __call__(self, counts: Counts, reported: Counts) -> Floats:
        if self.distance is not hellinger:
            a = self.prior.concentration
            return np.atleast_1d(np.asarray(self.distance(a + counts, a + reported), dtype=np.float64))
        divergence = np.zeros(len(reported))
        for i, (x, column) in enumerate(zip(counts, reported.T, strict=True)):
            divergence += self._gaps(i, int(x), column)
        return self._from_divergence(divergence, reported.sum(axis=-1))

    def mean(self, law: DatasetLaw) -> float:
        """The mean error of a dataset. Hellinger distances are at most 1, so outcomes of next to no probability are left out."""
        if self.distance is hellinger and law.probability.min() < _UNLIKELY_OUTCOME:
            kept = law.probability >= _UNLIKELY_OUTCOME
            law = DatasetLaw(law.counts, law.reported[kept], law.probability[kept])
        return float((self(law.counts, law.reported) * law.probability).sum())  # short sums: threads would cost more than they save

    def pairs(self, counts: Counts, reported: Counts) -> Floats:
        """The error of each report (row) for the dataset of the same row."""
        a = self.prior.concentration
        if self.distance is not hellinger:
            return np.asarray(self.distance(a + counts, a + reported), dtype=np.float64)
        return self._from_divergence(count_gap(a, counts, reported).sum(axis=-1), reported.sum(axis=-1))

    def _from_divergence(self, divergence: Floats, totals: Counts) -> Floats:
        """Hellinger distances from the gaps of all categories together, less the gap of the totals where a report has another total."""
        if (totals != self.n).any():
            divergence = np.maximum(0.0, divergence - self._total_gaps(totals))
        return to_hellinger(divergence)

    def _gaps(self, category: int, x: int, column: Counts) -> Floats:
        if self.tables:
            return gap_table(self.prior.exact[category], self.highest).row(x)[column]
        values, where = np.unique(column, return_inverse=True)
        return count_gap(self.prior.concentration[category], x, values)[where.ravel()]

    def rows(self, counts: Counts) -> list[Floats]:
        """Return, for each category, the gaps from its true count to every other, from tables."""
        return [gap_table(a, self.n).row(int(x)) for a, x in zip(self.prior.exact, counts, strict=True)]

    def _total_gaps(self, totals: Counts) -> Floats:
        if self.tables and self.prior.k * self.highest <= limits.TABLED_TOTALS:
            return self._total_table[totals]
        values, where = np.unique(totals, return_inverse=True)
        return count_gap(self.prior.total, self.n, values)[where.ravel()]

    @cached_property
    def _total_table(self) -> Floats:
        return count_gap(self.prior.total, self.n, np.arange(self.prior.k * self.highest + 1))


def errors_of(mechanism: Mechanism, n: int, distance: Distance) -> Errors:
    """The errors of many datasets of n records, from tables where those are worth building."""
    clamped = _clamped_noise(mechanism)
    highest = n if clamped is None or mechanism.n is not None else n + _far(clamped) + 1
    return Errors(mechanism.prior, n, distance, tables=highest <= limits.TABLED_RECORDS, highest=highest)


def fits(mechanism: Mechanism, n: int, datasets: int | None = None) -> bool:
    """Return whether the laws of so many datasets of n records (of all, if not said) can be gone through."""
    noise = mechanism.noise
    number = candidate_count(n, mechanism.k) if datasets is None else datasets
    if number > limits.ERROR_PAIRS:
        return False
    clamped = _clamped_noise(mechanism)
    if mechanism.n is None:
        return clamped is not None and _fits_pairs(mechanism.k, number * (_reach(clamped, None) ** mechanism.k + _DATASET_ITSELF))
    space = mechanism.space
    on_every_count = isinstance(noise, IndependentNoise) and noise.cells == mechanism.k
    if mechanism.report.is_search and not space.is_few(limits.REPORT_CANDIDATES):  # every report is a search of its own
        return mechanism.k == 2 and not on_every_count and space.size * mechanism.report.search_cost <= limits.ERROR_SEARCHES
    if noise is not None and mechanism.k > 2:
        return number * _law_size(mechanism) <= limits.ERROR_REPORTS
    width = space.size
    if on_every_count:
        width = (n + 3 if clamped is None else _reach(clamped, n)) ** 2
    return _fits_pairs(mechanism.k, number * width)


def _fits_pairs(k: int, pairs: int) -> bool:
    """Return whether so many pairs of a dataset and an outcome can be gone through."""
    return pairs <= limits.ERROR_REPORTS if k > 2 else pairs * k <= 2 * limits.ERROR_PAIRS


@lru_cache(maxsize=64)
def _law_size(mechanism: Mechanism) -> float:
    """Return the number of raw outcomes that a law lists; infinite if too many."""
    try:
        return len(mechanism._raw_law(mechanism.space.first()).counts)
    except TooLargeError:
        return inf


def _clamped_noise(mechanism: Mechanism) -> IndependentNoise | None:
    """The noise, if it is on every count and each is clamped by itself: outcomes are then a grid.

    With a public n only two categories are gone through in this way.
    """
    noise, k = mechanism.noise, mechanism.k
    if not isinstance(noise, IndependentNoise) or noise.cells != k:
        return None
    return noise if mechanism.report == Clamped(mechanism.space.n) and (k == 2 or mechanism.n is None) else None


def dataset_laws(mechanism: Mechanism, n: int, datasets: Counts | None = None) -> Iterator[DatasetLaw]:
    """The law of the reported counts of every dataset of n records, or of these (rows), in turn."""
    if datasets is None and mechanism.noise is None:
        reported = mechanism.report(mechanism._outcomes())
        for listed in mechanism._listed_laws():
            yield DatasetLaw(listed.counts, reported, np.exp(listed.log_probability))
        return
    points = simplex_points(n, mechanism.k) if datasets is None else datasets
    noise = _clamped_noise(mechanism)
    if noise is not None:
        yield from (_product_law(noise, mechanism.space.n, counts) for counts in points)
    else:
        yield from _listed_laws(mechanism, points)


def _listed_laws(mechanism: Mechanism, points: Counts) -> Iterator[DatasetLaw]:
    """Return the laws of mechanisms that list the same raw outcomes for every dataset: one report serves all."""
    if mechanism.n is None and mechanism.report.is_search:
        raise TooLargeError(f"the law of the error of {mechanism.title} is not listed where n is private: every report is a search")
    reports = _KnownReports(mechanism)
    raw = reported = np.zeros((0, mechanism.k), dtype=np.int64)
    for counts in points:
        law = mechanism._raw_law(counts)
        if not np.array_equal(law.counts, raw):
            raw = law.counts
            reported = reports(raw)
        yield DatasetLaw(counts, reported, law.probability)


class _KnownReports:
    """Reports of a mechanism. Those of `Remapped`, which take long, are kept; they depend on outcomes clamped to [-1, n + 1] alone."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        straight = mechanism.noise is None or not mechanism.noise.curvature
        few = mechanism.n is not None and (mechanism.space.total + 3) ** mechanism.k < 2**62
        self.kept = few and straight and mechanism.report.is_search
        self.keys: Counts = np.zeros(0, dtype=np.int64)
        self.reports: Counts = np.zeros((0, mechanism.k), dtype=np.int64)

    def __call__(self, raw: Counts) -> Counts:
        if not self.kept:
            return self.mechanism.report(raw)
        n = self.mechanism.space.total
        clamped = np.clip(raw, -1, n + 1)
        key = (clamped + 1) @ ((n + 3) ** np.arange(raw.shape[-1], dtype=np.int64))
        new, first = np.unique(key, return_index=True)
        unseen = ~np.isin(new, self.keys)
        if unseen.any():
            keys = np.concatenate([self.keys, new[unseen]])
            reports = np.concatenate([self.reports, self.mechanism.report(clamped[first[unseen]])])
            order = np.argsort(keys)
            self.keys, self.reports = keys[order], reports[order]
        return self.reports[np.searchsorted(self.keys, key)]


def _reach(noise: IndependentNoise, n: int | None) -> int:
    """Return the number of values that a noised count takes with more than negligible probability."""
    both_sides = 2 * _far(noise) + 1
    return both_sides if n is None else min(n + 1, both_sides)


def _far(noise: IndependentNoise) -> int:
    """Noise that is larger than this has next to no probability."""
    return int(np.ceil(noise.kernel.width(-np.log(_NEGLIGIBLE_PRODUCT))))


def _product_law(noise: IndependentNoise, n: int | None, counts: Counts) -> DatasetLaw:
    """Independent clamped counts, each cut to the values that carry its probability: the grid of all values is far larger.

    They are clamped to [0, n], or if n is private from below alone.
    """
    if _reach(noise, n) ** len(counts) > limits.LISTED_OUTCOMES:
        raise TooLargeError(f"this law would list more than {limits.LISTED_OUTCOMES:,} outcomes; use a larger epsilon, or fewer categories")
    values, probabilities = [], []
    for x in counts.tolist():
        highest = x + _far(noise) + 1
        r = np.arange(max(0, x - _far(noise) - 1), (highest if n is None else min(n, highest)) + 1)
        at = r.astype(np.float64)
        log_probability = noise.clamped_below(x, at) if n is None else noise.clamped(x, at, 0, n)
        kept = log_probability > np.log(_NEGLIGIBLE_PRODUCT)
        values.append(r[kept])
        probabilities.append(np.exp(log_probability[kept]))
    probability = reduce(np.multiply.outer, probabilities)
    likely = np.nonzero(probability > _NEGLIGIBLE_PRODUCT)
    reported = np.stack([value[index] for value, index in zip(values, likely, strict=True)], axis=-1)
    return DatasetLaw(counts, reported, probability[likely])
