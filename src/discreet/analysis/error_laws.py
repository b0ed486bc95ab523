"""Accuracy, computed: the law of the error of a release, and its mean over datasets (docs/research/accuracy.md).

The error is `distance(truth, reported)`, from the posterior of the true counts to the one that is reported. For given counts its law is
a finite distribution, so means, quantiles and probabilities are sums. Averaged over the prior predictive, or at the worst dataset, the
mean error is public; the error of the private counts is not, and choosing a mechanism or ε by it leaks.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import limits
from discreet.analysis.dataset_errors import Distance, Errors, dataset_laws, errors_of, fits
from discreet.analysis.mean_errors import SUMMATION_ERROR, exponential_mean, laplace_mean, lattice_mean
from discreet.arrays import Counts, Floats
from discreet.errors import InvalidInputError, TooLargeError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.noise import CellNoise, IndependentNoise
from discreet.mechanisms.reports import AsDrawn, Cut, Projected
from discreet.model.datasets import candidate_count, simplex_points
from discreet.model.dirichlet import Prior
from discreet.model.distances import hellinger
from discreet.numerics.gamma import to_hellinger, two_count_gap
from discreet.numerics.sum_rules import panel_nodes, spreading_steps
from discreet.text import html_fields
from discreet.validation import check_levels, check_records

Method = Literal["enumeration", "convolution", "quadrature", "interpolation", "Monte Carlo"]

_NEGLIGIBLE_BOUNDARY = 1e-9
"""A lattice mean is taken from outcomes that need no projection if the others have no more probability than this."""
_SIMULATED_RELEASES, _SIMULATED_COUNTS = 20_000, 2_000_000
"""Simulated releases, and simulated counts in all of them: fewer releases where there are many categories."""
_MOST_REMAPPED = 200_000
"""Simulated counts where every release is compared with all candidates, a category at a time."""
_SEARCHED_RELEASES, _FEWEST_SEARCHED_RELEASES = 1_000, 50
"""Simulated releases, most and fewest, where every report is a search of its own. A mean of fewer would say next to nothing."""
_TABLED_TOTALS, _UNTABLED = 1 << 12, 4
"""The records, for a private n, up to which distances of a search come from tables, and how many times as long they take beyond."""
_DATASETS, _FEWEST_DATASETS = 100, 8
"""Datasets drawn from the predictive for a mechanism whose noise depends on them."""
_CONVOLUTION_ITSELF = 1_000
_PLANNED = 5
"""A plan, which asks for some twenty means, spends this part of the work on each."""
_FEWEST_PLANNED = 200
_DENSE_DATASETS, _DATASET_GROWTH, _SPARSE_DATASET_GROWTH = 64, 1.1, 1.2
"""Datasets that are interpolated between: all counts this near an end, and further ones in geometric progression, sparser beyond
`_MOST_LISTED` records."""
_NEGLIGIBLE_NODE = 1e-19
"""A node with less than this part of the heaviest one's probability is left out: Hellinger distances are at most 1."""
_BINS_PER_UNIT = 10_000  # of ln(error): quantiles to a relative 1e-4 where the law is too long to be kept


@dataclass(frozen=True, eq=False, repr=False)
class ErrorLaw:
    """The distribution of an error: finitely many values with their probabilities."""

    support: Floats
    """The values, ascending."""
    probability: Floats

    @classmethod
    def of(cls, errors: Floats, probability: Floats) -> Self:
        """The law of these errors, equal ones merged."""
        support, owner = np.unique(errors, return_inverse=True)
        return cls(support, np.bincount(owner.ravel(), weights=probability).astype(np.float64))

    @property
    def mean(self) -> float:
        """The mean error."""
        return float(self.support @ self.probability)

    @property
    def std(self) -> float:
        """Standard deviation of the error; not a number where the mean is infinite."""
        return float(np.sqrt((self.support - self.mean) ** 2 @ self.probability)) if np.isfinite(self.mean) else float("nan")

    @cached_property
    def _cumulative(self) -> Floats:
        return np.cumsum(self.probability)

    def cdf(self, t: ArrayLike) -> Floats | float:
        """Probability of an error of at most t."""
        position = np.searchsorted(self.support, np.asarray(t, dtype=np.float64), side="right")
        result = np.minimum(1.0, np.concatenate([[0.0], self._cumulative])[position])
        return result if result.ndim else float(result)

    def quantile(self, q: ArrayLike) -> Floats | float:
        """The smallest error t with P(error <= t) >= q."""
        level = check_levels(q)
        # The last bit of a cumulative sum must not push a quantile to the next value.
        position = np.searchsorted(self._cumulative, level * self._cumulative[-1] * (1.0 - 1e-12), side="left")
        result = self.support[np.minimum(position, len(self.support) - 1)]
        return result if result.ndim else float(result)

    def _repr_html_(self) -> str:
        figures = {"mean": self.mean, "standard deviation": self.std, "95 % quantile": self.quantile(0.95)}
        return html_fields("Law of the error", {name: f"{value:.4g}" for name, value in figures.items()})

    def __repr__(self) -> str:
        return f"ErrorLaw(mean={self.mean:.4g}, std={self.std:.4g}, 95 % quantile={self.quantile(0.95):.4g})"


class ComputedFloat(float):
    """A number that also says how it was found and how far it may be off."""

    method: str
    standard_error: float
    """The standard error of a simulation; otherwise 0."""
    bound: float
    """A bound on the part that a sum leaves out (interpolation: an estimate, from half the nodes)."""
    at: tuple[int, ...] | None
    """The dataset where a worst case is reached."""

    def __new__(
        cls, value: float, method: str, *, standard_error: float = 0.0, bound: float = 0.0, at: tuple[int, ...] | None = None
    ) -> Self:
        self = super().__new__(cls, value)
        self.method, self.standard_error, self.bound, self.at = method, standard_error, bound, at
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[float, str], dict[str, Any]]:
        return (float(self), self.method), {"standard_error": self.standard_error, "bound": self.bound, "at": self.at}

    def __repr__(self) -> str:
        off = f" ± {self.standard_error:.2g}" if self.standard_error else ""
        return f"{float(self):.6g}{off} (by {self.method})"


class ExpectedError(ComputedFloat):
    """A mean error."""

    method: Method

    def over(self, other: float) -> "ExpectedError":
        """The ratio to another error that is known exactly."""
        return ExpectedError(
            float(self) / other, self.method, standard_error=self.standard_error / other, bound=self.bound / other, at=self.at
        )


def error_law(mechanism: Mechanism, counts: ArrayLike, distance: Distance = hellinger) -> ErrorLaw:
    """The exact law of the error for these counts. A function of the private counts: for study, never for choosing a mechanism.

    Args:
        mechanism: the mechanism.
        counts: the private counts.
        distance: from the posterior of the true counts to that of the reported ones.

    Raises TooLargeError where the law has too many outcomes to be listed.
    """
    checked = mechanism._checked(counts)
    n = int(checked.sum())
    [law] = dataset_laws(mechanism, n, checked[None, :])
    errors = Errors(mechanism.prior, n, distance)(checked, law.reported)
    return ErrorLaw.of(errors, law.probability)


def expected_error(
    mechanism: Mechanism,
    counts: ArrayLike | None = None,
    *,
    over: Literal["predictive", "worst"] | None = None,
    n: int | None = None,
    distance: Distance = hellinger,
    rng: np.random.Generator | int = 0,
) -> ExpectedError:
    """Compute the mean error for these counts, or `over` the prior predictive, or at the worst dataset.

    Args:
        mechanism: any; `distance` is that of the true posterior from the reported one.
        counts: private, and so is their error: a choice made by looking at it leaks.
        over: "predictive" or "worst" in place of counts: functions of public parameters, by which a mechanism or ε may be chosen.
        n: the size of these datasets where n is private: a guess, which must come from what is known without the data.

    Returns a float with the `method` by which it was found: enumeration while outcomes can be listed, quadrature or convolution beyond, and
    Monte Carlo, with its `standard_error`, where the report does not factor (docs/research/accuracy.md).

    Raises TooLargeError for what would take long, by public numbers alone.
    """
    if (counts is None) == (over is None):
        raise InvalidInputError('give either counts or over="predictive" or over="worst"')
    generator = np.random.default_rng(rng)
    if counts is not None:
        if n is not None:
            raise InvalidInputError("n is for errors over datasets; counts have a number of records of their own: leave n out")
        mechanism._check_single()
        checked = mechanism._checked(counts)
        return _given(mechanism, checked, Errors(mechanism.prior, int(checked.sum()), distance), generator)
    return _over_datasets(mechanism, size_of(mechanism, n), over, distance, generator)


def size_of(mechanism: Mechanism, n: int | None) -> int:
    """The number of records of the datasets that an error is averaged over: the public one, or where there is none, the guess."""
    guess = None if n is None else check_records(n)
    mechanism._check_single()
    if mechanism.space.n is None:
        if guess is None:
            raise InvalidInputError("n is private here: give n=, a guess of the number of records that does not come from the data")
        return guess
    if guess not in (None, mechanism.space.total):
        raise InvalidInputError(f"n = {mechanism.space.total} is public here, and n = {guess} was given; leave n out")
    return mechanism.space.total


def planning_error(mechanism: Mechanism, n: int, over: Literal["predictive", "worst"], distance: Distance) -> ExpectedError:
    """The mean error over the predictive or at the worst dataset, found with less work where many of them are wanted."""
    return _over_datasets(mechanism, n, over, distance, np.random.default_rng(0), less=_PLANNED)


def _over_datasets(
    mechanism: Mechanism, n: int, over: str | None, distance: Distance, generator: np.random.Generator, less: int = 1
) -> ExpectedError:
    if over not in ("predictive", "worst"):
        raise InvalidInputError(f'over must be "predictive" or "worst", got {over!r}')
    if fits(mechanism, n):
        return _every_dataset(mechanism, n, _means(mechanism, n, distance))[over]
    if _is_interpolated(mechanism, n):
        return _between_datasets(mechanism, n, distance)[over]
    if over == "worst":
        raise TooLargeError("the worst dataset is found by going through all of them, and there are too many; use fewer records")
    return _sampled_datasets(mechanism, n, distance, generator, less)


# --- given counts -----------------------------------------------------------------------------------------------------


def _given(mechanism: Mechanism, counts: Counts, errors: Errors, rng: np.random.Generator) -> ExpectedError:
    n = errors.n
    if mechanism.k == 2 and n > limits.ERROR_RECORDS and _has_line(mechanism):
        return ExpectedError(_line_mean(mechanism, counts, errors.distance), "quadrature")
    listable = fits(mechanism, n, 1)
    few = mechanism.k == 2 or candidate_count(n, mechanism.k) <= limits.ERROR_CANDIDATES
    quick = mechanism.n is not None and _convolution_cost(mechanism.k, n) <= limits.ERROR_CONVOLUTIONS
    if not (few and listable) and errors.distance is hellinger and mechanism.k > 2 and quick:
        found = _convolved(mechanism, counts, errors.rows(counts) if errors.tables else None)
        if found is not None:
            return found
    if listable or mechanism.noise is None:  # where those cannot be listed they cannot be simulated either
        [law] = dataset_laws(mechanism, n, counts[None, :])
        return ExpectedError(errors.mean(law), "enumeration")
    draws = _draws(mechanism, n)
    parts = [errors(counts, mechanism.simulate(counts, size, rng)) for size in _batches(draws, mechanism.k)]
    return _estimate(np.concatenate(parts))


def _convolution_cost(k: int, n: int) -> int:
    return k * (n + _CONVOLUTION_ITSELF)


def _convolved(mechanism: Mechanism, counts: Counts, rows: list[Floats] | None) -> ExpectedError | None:
    """The mean Hellinger error without enumeration, where there is a way."""
    noise, report, rate, bound = mechanism.noise, mechanism.report, mechanism._hellinger_rate(counts), 0.0
    if rate is not None and report == AsDrawn():
        mean = exponential_mean(mechanism.prior, counts, rate, rows)
    elif isinstance(noise, IndependentNoise) and report == Cut(mechanism.space.total, mechanism.k):
        mean = laplace_mean(mechanism.prior, noise, counts, rows)
    elif noise is not None and noise.blocks and report == Projected(mechanism.space.total):
        mean, bound = lattice_mean(mechanism, noise, counts, _NEGLIGIBLE_BOUNDARY, rows)
        if bound > _NEGLIGIBLE_BOUNDARY:
            return None
    else:
        return None
    return ExpectedError(mean, "convolution", bound=bound + SUMMATION_ERROR * mean)


def _has_line(mechanism: Mechanism) -> bool:
    """Return whether the law of a report for two categories has a formula that nodes can stand for."""
    return mechanism.report == mechanism._own_report() and mechanism._line_law(0, np.zeros(1)) is not None


def _line_mean(mechanism: Mechanism, counts: Counts, distance: Distance) -> float:
    """The mean error for these counts of two categories, as a sum over nodes: any n."""
    n, x = mechanism.space.total, int(counts[0])
    r, width = panel_nodes(n, [float(x)])
    log_report = mechanism._line_law(x, r)
    assert log_report is not None  # the caller has asked  # noqa: S101
    log_mass = log_report + np.log(width)
    mass = np.exp(log_mass - log_mass.max())
    kept = mass > (_NEGLIGIBLE_NODE if distance is hellinger else 0.0)
    r, mass = r[kept], mass[kept] / mass.sum()
    a = mechanism.prior.concentration
    if distance is not hellinger:
        errors = np.asarray(distance(a + counts, a + np.stack([r, n - r], axis=-1)), dtype=np.float64)
    elif (rate := mechanism._hellinger_rate(counts)) is not None:  # the exponent is the distance, times the rate
        errors = -log_report[kept] / rate
    else:
        errors = to_hellinger(two_count_gap(a, n, x, r))
    return float(errors @ mass)


def _draws(mechanism: Mechanism, n: int, less: int = 1) -> int:
    """Return the number of releases that are simulated for a mean."""
    if mechanism.report.is_search and not mechanism.space.is_few(limits.REPORT_CANDIDATES):
        searched = int(limits.ERROR_SEARCHES / mechanism.report.search_cost / (less if mechanism.n is None else 1))
        if searched < _FEWEST_SEARCHED_RELEASES:
            raise TooLargeError(
                f"the mean error of {mechanism.title} is not computed for {mechanism.k} categories, n = {n:,} and "
                f"ε = {float(mechanism.epsilon):g}: every report is a search, and too few could be tried"
                + ("; plan for the mechanism without Remapped" if less > 1 else "")
            )
        beyond_tables = mechanism.n is None and n > _TABLED_TOTALS
        return max(_FEWEST_SEARCHED_RELEASES, searched // _UNTABLED) if beyond_tables else min(_SEARCHED_RELEASES, searched)
    most = _MOST_REMAPPED if mechanism.report.is_search else _SIMULATED_COUNTS
    return max(_SEARCHED_RELEASES, min(_SIMULATED_RELEASES, most // mechanism.k))


def _batches(draws: int, k: int) -> list[int]:
    """Split so many draws into parts that fit in memory."""
    size = max(1, limits.ERROR_VALUES // k)
    return [min(size, draws - start) for start in range(0, draws, size)]


def _estimate(values: Floats) -> ExpectedError:
    """The mean of simulated errors; some distances can be infinite, and so is their mean then."""
    with np.errstate(invalid="ignore"):
        spread = float(values.std(ddof=1) / np.sqrt(len(values)))
    return ExpectedError(float(values.mean()), "Monte Carlo", standard_error=spread)


# --- over datasets ----------------------------------------------------------------------------------------------------


def _means(mechanism: Mechanism, n: int, distance: Distance, datasets: Counts | None = None) -> Floats:
    errors = errors_of(mechanism, n, distance)
    return np.array([errors.mean(law) for law in dataset_laws(mechanism, n, datasets)])


def _every_dataset(mechanism: Mechanism, n: int, means: Floats) -> dict[str, ExpectedError]:
    points = simplex_points(n, mechanism.k)
    return _over_both(points, means, mechanism.prior.predictive(n).pmf(points), "enumeration")


def _over_both(points: Counts | Floats, means: Floats, weight: Floats, method: Method) -> dict[str, ExpectedError]:
    """The mean over the predictive, whose weights are given, and the mean error of the worst dataset."""
    worst = int(means.argmax())
    at = tuple(round(x) for x in points[worst].tolist())
    return {"predictive": ExpectedError(float(weight @ means), method), "worst": ExpectedError(float(means[worst]), method, at=at)}


def _nodes(n: int) -> NDArray[np.int64]:
    """Counts of the first category, dense at both ends and geometrically spaced between."""
    growth = _DATASET_GROWTH if n <= limits.ERROR_RECORDS else _SPARSE_DATASET_GROWTH
    offsets = spreading_steps(n, _DENSE_DATASETS, growth)
    low = offsets[offsets <= n // 2].astype(np.int64)
    return np.unique(np.concatenate([low, [n // 2], n - low]))


def _is_interpolated(mechanism: Mechanism, n: int) -> bool:
    return mechanism.k == 2 and (_has_line(mechanism) or fits(mechanism, n, len(_nodes(n))))


def _between_datasets(mechanism: Mechanism, n: int, distance: Distance) -> dict[str, ExpectedError]:
    """Two categories, many records: the mean error changes slowly from one dataset to the next, so a spline is drawn through some.

    Both means are found at once: over the predictive, and of the worst dataset.
    """
    from scipy.interpolate import CubicSpline  # slow to load

    nodes = _nodes(n)
    datasets = np.stack([nodes, n - nodes], axis=-1)
    if _has_line(mechanism):
        means = np.array([_line_mean(mechanism, counts, distance) for counts in datasets])
    else:
        means = _means(mechanism, n, distance, datasets)
    if not np.isfinite(means).all():
        raise TooLargeError("the mean error is not finite for some datasets, and there are too many to go through all of them")
    x, weight = two_count_datasets(mechanism.prior, n, limits.ERROR_RECORDS)
    points, weight = np.stack([x, n - x], axis=-1), weight / weight.sum()

    def interpolated(step: int) -> Floats:
        dense = np.nonzero(np.minimum(nodes, n - nodes) < _DENSE_DATASETS)[0]
        kept = np.unique(np.concatenate([dense, np.arange(0, len(nodes), step)]))
        scale = np.log((nodes[kept] + 1.0) / (n - nodes[kept] + 1.0))
        return np.asarray(CubicSpline(scale, means[kept])(np.log((points[:, 0] + 1.0) / (points[:, 1] + 1.0))))

    fine, coarse = (_over_both(points, interpolated(step), weight, "interpolation") for step in (1, 2))
    return {
        over: ExpectedError(float(error), "interpolation", bound=abs(float(error) - float(coarse[over])), at=error.at)
        for over, error in fine.items()
    }


def two_count_datasets(law: Prior, n: int, listed: int, rule: tuple[int, ...] = ()) -> tuple[Floats, Floats]:
    """The first counts of n records of two categories, all of them up to `listed` records or nodes, and their predictive probabilities."""
    predictive = law.predictive(n)
    x, width = (np.arange(n + 1.0), np.ones(n + 1)) if n <= listed else panel_nodes(n, [float(predictive.mean()[0])], *rule)
    logs = predictive._log_mass(np.stack([x, n - x], axis=-1))
    return x, np.exp(logs - logs.max()) * width


def _sampled_datasets(mechanism: Mechanism, n: int, distance: Distance, rng: np.random.Generator, less: int) -> ExpectedError:
    """The mean error of datasets drawn from the predictive: of one release of each, or, where noise depends on the data, of all."""
    if mechanism.noise is not None:
        return _simulated_releases(mechanism, n, mechanism.noise, distance, rng, less)
    affordable = limits.ERROR_CONVOLUTIONS // less // _convolution_cost(mechanism.k, n)
    if affordable < _FEWEST_DATASETS:
        raise TooLargeError(
            f"the mean error of noise that depends on the data is not computed for {mechanism.k} categories and n = {n:,}: "
            "too few datasets could be tried"
        )
    errors = errors_of(mechanism, n, distance)
    datasets = mechanism.prior.predictive(n).sample(min(_DATASETS, affordable), rng)
    return _estimate(np.array([_given(mechanism, counts, errors, rng) for counts in datasets]))


def _simulated_releases(
    mechanism: Mechanism, n: int, noise: CellNoise, distance: Distance, rng: np.random.Generator, less: int
) -> ExpectedError:
    """One release of each of many datasets, which all have the same noise; of fewer where there are many categories to average over."""
    draws = _draws(mechanism, n, less)
    draws = min(draws, max(_FEWEST_PLANNED, _SIMULATED_COUNTS // less // mechanism.k)) if less > 1 else draws
    errors, predictive = Errors(mechanism.prior, n, distance), mechanism.prior.predictive(n)
    parts = []
    for size in _batches(draws, mechanism.k):
        datasets = predictive.sample(size, rng)
        parts.append(errors.pairs(datasets, mechanism.report(datasets[:, : noise.cells] + noise.simulate(size, rng))))
    return _estimate(np.concatenate(parts))


@dataclass(frozen=True)
class ErrorSummary:
    """Public figures of a mechanism's error: none of them depends on the data."""

    predictive: ExpectedError
    """Mean over the prior predictive."""
    worst: ExpectedError | None
    """Mean at the worst dataset; None where there are too many datasets."""
    law: ErrorLaw | None
    """The law over the prior predictive, its values rounded to a relative 1e-4 where there are many; None where there are too many."""


def error_summary(mechanism: Mechanism, distance: Distance = hellinger, *, n: int | None = None) -> ErrorSummary:
    """Mean over the prior predictive, worst case and law of the error, in one pass over the datasets where they can be gone through.

    Where n is private they are about datasets of `n` records, a guess.
    """
    n = size_of(mechanism, n)
    if fits(mechanism, n):
        law, means = _law_and_means(mechanism, n, distance)
        return ErrorSummary(**_every_dataset(mechanism, n, means), law=law)
    if _is_interpolated(mechanism, n):
        return ErrorSummary(**_between_datasets(mechanism, n, distance), law=None)
    return ErrorSummary(expected_error(mechanism, over="predictive", n=n, distance=distance), None, None)


def _law_and_means(mechanism: Mechanism, n: int, distance: Distance) -> tuple[ErrorLaw, Floats]:
    errors = errors_of(mechanism, n, distance)
    weights = mechanism.prior.predictive(n).pmf(simplex_points(n, mechanism.k))
    law, means, kept = ErrorLaw(np.zeros(0), np.zeros(0)), np.empty(len(weights)), 0
    values, probabilities = [law.support], [law.probability]
    for i, dataset in enumerate(dataset_laws(mechanism, n)):
        values.append(errors(dataset.counts, dataset.reported))
        probabilities.append(weights[i] * dataset.probability)
        means[i] = (values[-1] * dataset.probability).sum()
        kept += len(values[-1])
        if kept > limits.ERROR_VALUES:
            law, kept = _binned(np.concatenate(values), np.concatenate(probabilities)), 0
            values, probabilities = [law.support], [law.probability]
    support, probability = np.concatenate(values), np.concatenate(probabilities)
    return (_binned if len(law.support) else ErrorLaw.of)(support, probability), means


def _binned(support: Floats, probability: Floats) -> ErrorLaw:
    """The law with its finite non-zero values rounded on a logarithmic scale."""
    inside = (support > 0.0) & np.isfinite(support)
    bins = np.rint(np.log(support[inside]) * _BINS_PER_UNIT).astype(np.int64)
    lowest = int(bins.min(initial=0))
    mass = np.bincount(bins - lowest, weights=probability[inside])
    held = np.nonzero(mass)[0]
    rounded = np.exp((held + lowest) / _BINS_PER_UNIT)
    return ErrorLaw.of(np.concatenate([rounded, support[~inside]]), np.concatenate([mass[held], probability[~inside]]))
