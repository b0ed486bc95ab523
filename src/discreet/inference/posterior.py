"""Methods that posteriors and margins of tables share: draws, figures with labels, and intervals that hold together."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.arrays import Counts, Floats
from discreet.errors import InvalidInputError
from discreet.inference.draws import DRAWS, Estimate, Rng, arviz_of, check_draws, coordinates, estimated, generator, needed, seed_of
from discreet.inference.labelled import FieldsAlone, Figures
from discreet.inference.quantities import DrawnQuantity
from discreet.inference.reading import Reading
from discreet.model.cells import Groups
from discreet.validation import check_records, check_share

_DATASET_PARTS = ("chain", "draw", "category", "theta", "count", "n")
"""The parts of a dataset of draws beside the columns of the groups."""


class JointReading(Reading):
    """The base class of readings with joint draws. Their arrays have the axes (groups and) categories."""

    @property
    @abstractmethod
    def _seed(self) -> Rng:
        """The seed of draws unless `rng` is given: it follows from the record, so that the same question has the same answer."""

    @abstractmethod
    def figures(self, mass: float = 0.95) -> Figures:
        """Means, standard deviations and equal-tailed intervals of all cells, as arrays; `to_pandas()` has them with their labels."""

    @abstractmethod
    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Floats:
        """Joint draws of the probabilities, with (groups and) categories on the last axes; 0 for what cannot occur."""

    @property
    def _axes(self) -> tuple[int, ...]:
        """Return how many groups, if there are any, and how many categories."""
        return (*(() if self.by is None else (len(self.by),)), len(self.categories))

    def _shape(self, size: int | tuple[int, ...]) -> tuple[int, ...]:
        """The axes of so many draws, which are not more than are held."""
        shape = (size,) if isinstance(size, (int, np.integer)) else tuple(size)
        check_draws(prod(check_records(s, "size") for s in shape), prod(self._axes))
        return shape

    # --- intervals that hold together ---------------------------------------------------------------------------------

    @property
    def tied(self) -> bool:
        """Return whether a public total ties the sizes of the groups, so that what is known about one depends on the others."""
        return False

    def _occurring(self) -> NDArray[np.int64]:
        """Return how many categories can occur in each group."""
        return np.array([len(self.categories)])

    def _level(self, tail: float) -> float:
        """The level at which `figures` leave out no more than this on either side."""
        return 1.0 - 2.0 * tail

    def simultaneous(self, mass: float = 0.95) -> Figures:
        """Equal-tailed intervals of all cells that hold together, all of them at once, with probability `mass` or more.

        They are intervals at one common level (docs/howto/reading.md).
        """
        tail = common_tail(check_share(mass, "mass"), self._occurring(), self.tied)
        return replace(self.figures(self._level(tail)), together=mass)

    def probability(self, event: Callable[[Floats], ArrayLike], draws: int = DRAWS, rng: Rng = None) -> Estimate:
        """The probability of anything that can be asked about the probabilities, from independent draws.

        Args:
            event: Takes an array of probabilities, one draw a row, with (groups and) categories on the other axes, and says for each row
                whether it holds.
            draws: How many.
            rng: A seed or generator; the seed of the record if it is left out, so that the answer is the same every time.

        Its standard error is that of a proportion of which one more success and one more failure were seen, so that it is never 0.
        """
        size, source, cells = check_records(draws, "draws"), generator(rng, self._seed), prod(self._axes)
        check_draws(size, cells)
        return estimated(event, lambda rows: self.sample(rows, source), cells, size)


class Posterior(FieldsAlone, JointReading):
    """A posterior of probabilities whose true counts have laws. Its arrays have the axes (groups and) categories."""

    @property
    @abstractmethod
    def _seed(self) -> int | None:
        """The seed of draws unless `rng` is given: it follows from the record, so that the same question has the same answer."""

    @property
    @abstractmethod
    def _records(self) -> int | None:
        """The number of records of all groups together, if it is public."""

    @abstractmethod
    def _draw_counts(self, draws: int, rng: np.random.Generator) -> Counts:
        """Draw the true counts jointly, so many times, on the first axis."""

    @abstractmethod
    def _draw_probabilities(self, counts: Counts, rng: np.random.Generator) -> Floats:
        """A draw of the probabilities for each draw of the true counts."""

    # --- scores -------------------------------------------------------------------------------------------------------

    def _score(self, weights: Floats, draws: int | None, rng: Rng) -> Any:
        seed = None if self._seed is None else seed_of(self._seed, "score")
        draw = partial(_scored, self, weights, DRAWS if draws is None else draws, seed if rng is None else rng)
        span = float(weights.min()), float(weights.max())
        return DrawnQuantity.of("score", draw, span, moments=partial(self._score_moments, weights, draw))

    def _score_moments(self, weights: Floats, draw: Callable[[], Floats]) -> tuple[float, float]:
        """The mean and the standard deviation of a score: the second from draws, unless a posterior computes it."""
        return float(self.mean() @ weights), float(draw().std(ddof=1))

    # --- draws --------------------------------------------------------------------------------------------------------

    def sample_counts(self, size: int | tuple[int, ...], rng: Rng = None) -> Counts:
        """Joint draws of the true counts given the release, with (groups and) categories on the last axes."""
        shape = self._shape(size)
        return self._draw_counts(prod(shape), generator(rng, self._seed)).reshape(*shape, *self._axes)

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Floats:
        """Joint draws of the probabilities, with (groups and) categories on the last axes; 0 for what cannot occur.

        They are drawn as the model says: the true counts, then the probabilities given these.
        """
        shape = (size,) if isinstance(size, (int, np.integer)) else tuple(size)
        return self._drawn(shape, rng)[1]

    def _drawn(self, shape: tuple[int, ...], rng: Rng) -> tuple[Counts, Floats]:
        """Joint draws of the true counts and of the probabilities."""
        source = generator(rng, self._seed)
        counts = self.sample_counts(shape, source)
        return counts, self._draw_probabilities(counts, source)

    def to_xarray(self, draws: int = 1000, chains: int = 4, rng: Rng = None) -> Any:
        """Independent joint draws as an `xarray.Dataset`, with a dimension for each column of the groups.

        `theta` and `count` are by chain, draw, the columns of the groups and category. The number of records of each group, or of one
        variable where it is private, is `n`, which is not by category.
        """
        xarray, by = needed("xarray"), self.by or Groups()
        taken = [name for name in by.columns if name in _DATASET_PARTS]
        if taken:
            raise InvalidInputError(f"a column of the groups is called {', '.join(taken)}, as a part of the dataset is; rename it")
        shape, dims = (chains, draws, *by.shape), ("chain", "draw", *by.columns)
        counts, theta = self._drawn((chains, draws), rng)
        places = {"chain": np.arange(chains), "draw": np.arange(draws), "category": coordinates(self.categories)}
        places |= {name: coordinates(labels) for name, labels in zip(by.columns, by.labels, strict=True)}
        drawn = {"theta": theta, "count": counts}
        data: dict[str, Any] = {name: ((*dims, "category"), each.reshape(*shape, -1)) for name, each in drawn.items()}
        if by.columns or self._records is None:
            data["n"] = (dims, counts.sum(axis=-1).reshape(shape))
        public = {} if self._records is None else {"n": self._records}
        return xarray.Dataset(data, places, attrs={"inference_library": "discreet"} | public)

    def to_arviz(self, draws: int = 1000, chains: int = 4, rng: Rng = None) -> Any:
        """Return draws as the installed ArviZ takes them: `InferenceData` before version 1, an `xarray.DataTree` from then on."""
        return arviz_of(self.to_xarray(draws, chains, rng))


def _scored(posterior: Posterior, weights: Floats, draws: int, rng: Rng) -> Floats:
    """Draws of a score."""
    return np.asarray(posterior.sample(draws, rng) @ weights)


def common_tail(mass: float, categories: NDArray[np.int64], tied: bool) -> float:
    """The probability on either side of every interval with which all of them hold with probability `mass` or more.

    Args:
        mass: How probable it is to be that all probabilities lie in their intervals.
        categories: How many categories can occur in each group. Two of them have one interval, because one says the other.
        tied: Whether groups depend on each other.

    Between independent groups the masses of groups are multiplied. Within a group, and between groups that are tied, what lies outside
    of intervals is added up.
    """
    intervals = np.where(categories > 2, categories, 1)[categories > 1]
    if not intervals.size:
        return 0.5 * (1.0 - mass)
    if tied:
        return 0.5 * (1.0 - mass) / float(intervals.sum())
    return -0.5 * float(np.expm1(np.log(mass) / len(intervals))) / float(intervals.max())
