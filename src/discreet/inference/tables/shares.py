"""Probabilities of categories over several groups, weighted by the shares of these groups (docs/howto/reading.md).

Weights are fixed numbers that a reader gives, or, where the total of all groups is public, the groups' shares of the population, which
have a posterior: given the sizes u of groups they are Dir(b + u).
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import ceil, prod
from typing import Any

import numpy as np

from discreet.arrays import Counts, Floats, Mask
from discreet.errors import InvalidInputError, TooLargeError
from discreet.inference.draws import Rng, generator, seed_of, shortest_of_draws, standard_error
from discreet.inference.labelled import FieldsAlone, Figures
from discreet.inference.noise_aware import score_of_probabilities
from discreet.inference.posterior import JointReading
from discreet.inference.quantities import Contrast, DrawnQuantity, no_mean_of_ratio
from discreet.inference.reading import Reading
from discreet.inference.tables.latent import LatentTable, Positions, check_groups_drawn
from discreet.model.cells import Groups
from discreet.validation import by_label, check_share, named_numbers


@dataclass(frozen=True, eq=False, repr=False)
class OverGroups(FieldsAlone, Reading):
    """The posterior of some groups of a table together, by category."""

    table: LatentTable
    labels: tuple[Hashable, ...]
    """The labels of the categories."""
    positions: Positions
    moments: Callable[[], tuple[Floats, Floats]]
    """The means and standard deviations of all cells of the table: of what is put together here."""
    draws: int
    rng: Rng

    @property
    def categories(self) -> tuple[Hashable, ...]:
        return self.labels

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.positions):,} groups by {len(self.categories)} categories)"


@dataclass(frozen=True, eq=False, repr=False)
class SharedProbability(OverGroups, JointReading):
    """The posterior of the probabilities of all categories over some groups together.

    Means are computed where weights are fixed, and standard deviations where groups are independent as well. All else is from draws.
    """

    weights: Floats | None
    """The fixed weights of these groups, which add up to 1; None for the model's shares."""
    prior: Callable[[int], float]
    """The prior parameter of a group's share."""
    sums: Callable[[Positions], Reading]
    """Makes the posterior of the sums of true counts over some groups."""

    @property
    def counts(self) -> Any:
        """The posterior of the numbers of records of all categories in these groups."""
        return self.sums(self.positions)

    @property
    def _seed(self) -> Rng:
        return self.rng

    @property
    def _possible(self) -> Mask:
        """The categories that can occur in some of these groups."""
        return np.asarray(self.table.possible[self.positions].any(axis=0))

    def _occurring(self) -> Counts:
        return np.array([self._possible.sum()])

    def _level(self, tail: float) -> float:
        return reached_level(tail, self.draws)

    def figures(self, mass: float = 0.95) -> Figures:
        """Means, standard deviations and equal-tailed intervals of all categories, as arrays, and those of their true counts.

        `error` is the Monte Carlo standard error of the probability beyond an end of an interval.
        """
        low, high = self.interval(mass).T
        numbers = self.mean(), self.std(), low, high, np.full(len(low), self.probability_error(mass)), self.counts.mean(), self.counts.std()
        return Figures(*numbers, by=None, categories=self.categories, level=mass)

    def sample(self, size: int | tuple[int, ...], rng: Rng = None) -> Floats:
        """Draws of the probabilities, with the categories on the last axis."""
        shape = self._shape(size)
        return np.asarray(joint_samples([replace(self, draws=prod(shape))], generator(rng, self.rng))[0].reshape(*shape, -1))

    def mean(self) -> Floats:
        """Expected probability of each category."""
        if self.weights is None:
            return np.asarray(self.samples.mean(axis=0))
        return np.asarray(self.weights @ self.moments()[0][self.positions])

    def std(self) -> Floats:
        """Standard deviation of each category's probability."""
        if self.weights is None or not self.table.independent:
            return np.asarray(self.samples.std(axis=0, ddof=1)) if self.draws > 1 else np.full(len(self.categories), np.nan)
        return np.sqrt(self.weights**2 @ self.moments()[1][self.positions] ** 2)

    def interval(self, mass: float = 0.95) -> Floats:
        """Equal-tailed intervals from draws: a row (low, high) for each category. `probability_error` says how exactly they hold."""
        tail = 0.5 * (1.0 - check_share(mass, "mass"))
        return np.asarray(np.quantile(self.samples, [tail, 1.0 - tail], axis=0).T)

    def hdi(self, mass: float = 0.95) -> Floats:
        """The shortest intervals that hold this part of the draws: a row (low, high) for each category."""
        return shortest_of_draws(self.samples, mass)

    def standard_error(self) -> Floats:
        """The Monte Carlo standard error of each mean; 0 where it is computed."""
        if self.weights is not None:
            return np.zeros(len(self.categories))
        return np.asarray(self.std() / np.sqrt(self.draws))

    def probability_error(self, mass: float = 0.95) -> float:
        """The Monte Carlo standard error of the probability beyond either end of an interval."""
        return float(standard_error(0.5 * (1.0 - check_share(mass, "mass")) * self.draws, self.draws))

    def _distribution(self, chosen: Sequence[int]) -> DrawnQuantity:
        weights = np.isin(np.arange(len(self.categories)), list(chosen)).astype(np.float64)
        return replace(self._score(weights, None, None), name=f"probability of {self._called(chosen)}")

    def _score(self, weights: Floats, draws: int | None, rng: Rng) -> DrawnQuantity:
        source = self if draws is None and rng is None else replace(self, draws=draws or self.draws, rng=self.rng if rng is None else rng)
        known: dict[str, Any] = {"drawn_moments": self.weights is None, "moments": partial(source._score_moments, weights)}
        return DrawnQuantity.of("score", partial(source._scored, weights), (float(weights.min()), float(weights.max())), **known)

    def _scored(self, weights: Floats) -> Floats:
        return np.asarray(self.samples @ weights)

    def _score_moments(self, weights: Floats) -> tuple[float, float]:
        """The mean and the standard deviation of a score, where weights of groups are fixed; the latter from draws of tied groups."""
        assert self.weights is not None  # noqa: S101
        if not self.table.independent:
            return float(self.mean() @ weights), float(self._scored(weights).std(ddof=1)) if self.draws > 1 else np.nan
        check_groups_drawn(len(self.positions))
        mean, variance = 0.0, 0.0
        for share, position in zip(self.weights.tolist(), self.positions.tolist(), strict=True):
            if share:
                can = self.table.possible[position]
                own, std = score_of_probabilities(self.table.alone(position), self.table.a(position), weights[can])
                mean, variance = mean + share * own, variance + (share * std) ** 2
        return mean, float(np.sqrt(variance))

    def contrast(self, first: Any, second: Any) -> Contrast:
        """Compare the probabilities of two categories, or of two sets of them, by difference, ratio and odds ratio, from draws."""
        return contrast_of_categories(self, self.samples, first, second)

    @cached_property
    def samples(self) -> Floats:
        """Draws, one a row, with the categories on the last axis."""
        return np.asarray(joint_samples([self], self.rng)[0])


def joint_samples(parts: Sequence[SharedProbability], rng: Rng) -> Floats:
    """Joint draws of the probabilities over disjoint parts of a table's groups: by part, draw and category."""
    first, source = parts[0], np.random.default_rng(rng)
    table, shape = first.table, (len(parts), first.draws)
    found, whole, highest = np.zeros((*shape, len(first.categories))), np.zeros((*shape, 1)), np.full((*shape, 1), -np.inf)
    places = {position: (p, i) for p, part in enumerate(parts) for i, position in enumerate(part.positions.tolist())}
    for position, counts, theta in table.joint(first.draws, source, np.array(sorted(places))):
        if not table.possible[position].any():
            continue
        p, i = places[position]
        weights = parts[p].weights
        if weights is not None:
            found[p] += weights[i] * theta
            continue
        b = first.prior(position) + counts.sum(axis=1, keepdims=True)
        logs = (
            np.log(source.standard_gamma(b + 1.0)) + np.log(1.0 - source.random(b.shape)) / b
        )  # G_b = G_{b+1} U^{1/b}, small as it may be
        higher = np.maximum(highest[p], logs)
        scale, share = np.exp(highest[p] - higher), np.exp(logs - higher)
        found[p], whole[p], highest[p] = found[p] * scale + share * theta, whole[p] * scale + share, higher
    return found if first.weights is not None else found / whole


def reached_level(tail: float, draws: int) -> float:
    """The level of intervals that leave out this much on either side; refused where fewer than one of the draws lies there."""
    if tail * draws < 1.0:
        raise TooLargeError(
            f"intervals that hold together leave out {tail:.2g} on either side here, which {draws:,} draws do not reach: "
            f"ask over(...) for at least draws={ceil(1.0 / tail):,}"
        )
    return 1.0 - 2.0 * tail


def common_seed(parts: Sequence[SharedProbability]) -> Rng:
    """The beginning of joint draws of some parts of a table, in whatever order they are."""
    seeds = [part.rng for part in parts]
    return seed_of(*sorted(map(str, seeds))) if all(isinstance(seed, int) for seed in seeds) else seeds[0]


def compared(first: SharedProbability, second: SharedProbability, chosen: Sequence[int], names: tuple[Hashable, Hashable]) -> Contrast:
    """Compare the probability of some categories over two disjoint parts of a table's groups, by joint draws."""
    drawn = joint_samples([first, second], common_seed([first, second]))[:, :, list(chosen)].sum(axis=2)
    exact = first.weights is not None and first.table.independent
    moments = partial(_difference_moments, *(part._distribution(chosen) for part in (first, second))) if exact else None
    return drawn_contrast(names, drawn[0], drawn[1], moments)


def drawn_contrast(
    names: tuple[Hashable, Hashable], first: Floats, second: Floats, moments: Callable[[], tuple[float, float]] | None
) -> Contrast:
    """Make the contrast of two probabilities from joint draws; `moments` are those of the difference, where they are computed."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio, odds = first / second, first / (1.0 - first) * ((1.0 - second) / second)
    return contrast_of_draws(names, first - second, ratio, odds, moments)


def contrast_of_categories(reading: Reading, samples: Floats, first: Any, second: Any) -> Contrast:
    """The contrast of two categories of a reading, or of two sets of them, from draws of all of its probabilities."""
    sides = reading._two(first, second)
    drawn = [samples[:, side].sum(axis=1) for side in sides]
    found = drawn_contrast((reading._called(sides[0]), reading._called(sides[1])), drawn[0], drawn[1], None)
    return replace(found, again=partial(reading.contrast, first, second))


def contrast_of_draws(
    names: tuple[Hashable, Hashable], difference: Floats, ratio: Floats, odds: Floats, moments: Callable[[], tuple[float, float]] | None
) -> Contrast:
    """The contrast with these joint draws; `moments` are those of the difference, where they are computed.

    Where floats do not tell two probabilities apart, either may be the larger: half of these draws count, and may all be wrong.
    """
    known: dict[str, Any] = {"drawn_moments": True} if moments is None else {"moments": moments}
    made = partial(DrawnQuantity.of, span=(0.0, np.inf), moments=no_mean_of_ratio, logarithmic=True)
    ratio, odds = (np.where(np.isnan(each), 1.0, each) for each in (ratio, odds))  # floats do not tell both from 0, or from 1
    size, larger, alike = len(difference), int((difference > 0.0).sum()), 0.5 * int((difference == 0.0).sum())
    return Contrast(
        names,
        DrawnQuantity.of("difference", partial(np.copy, difference), (-1.0, 1.0), **known),
        made("ratio", partial(np.copy, ratio)),
        made("odds ratio", partial(np.copy, odds)),
        (larger + alike) / size,
        float(standard_error(larger + alike, size)) + alike / size,
    )


def _difference_moments(first: DrawnQuantity, second: DrawnQuantity) -> tuple[float, float]:
    """Return the mean and the deviation of the difference of two parts that are independent, with fixed weights."""
    return first.mean() - second.mean(), float(np.hypot(first.std(), second.std()))


def check_some_possible(table: LatentTable, positions: Positions) -> None:
    """Refuse groups that together have no probabilities."""
    if not table.possible[positions].any():
        raise InvalidInputError("nothing can occur in these groups: all of their categories are declared impossible")


def weights_of(given: Any, groups: Groups) -> Floats:
    """The weight of every group, from a mapping of groups to numbers, a pandas Series or an array over groups: finite, and not negative."""
    given = by_label(given)
    if isinstance(given, Mapping):
        found = named_numbers(given, groups.index, groups, "group")
    else:
        try:
            found = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidInputError(
                f"weights must be a mapping of groups to numbers, or an array over groups; got {type(given).__name__}"
            ) from None
        if found.shape not in ((len(groups),), groups.shape):
            raise InvalidInputError(f"weights must have a number for each of {len(groups):,} groups; got an array of shape {found.shape}")
        found = found.ravel()
    if not (np.isfinite(found) & (found >= 0.0)).all():
        raise InvalidInputError("weights must be finite numbers that are not negative")
    return found


def chosen_weights(weights: Floats, table: LatentTable, positions: Positions) -> Floats:
    """The weights of some groups in parts of their sum."""
    chosen = weights[positions]
    if (chosen[~table.possible[positions].any(axis=1)] > 0.0).any():
        raise InvalidInputError("a group in which nothing can occur has no probabilities: its weight must be 0")
    if not chosen.any():
        raise InvalidInputError("weights must not all be 0 for the groups that are put together")
    chosen = chosen / chosen.max()  # so that the sum is finite
    return np.asarray(chosen / chosen.sum())
