"""The shares of categories among the records themselves: for a register or a census, which is no sample of anything larger.

A posterior's own verbs are about the probabilities θ of the population that the records were drawn from. Here the question is `x/n`, the
part of these very records that is in a category. It is uncertain by the noise alone, and by the prior as far as the noise leaves room.
Where n is private, shares are given that there are any records; where it is known that there are none, they are NaN.

Two categories of the same records depend on each other, and the law of their difference comes from that of pairs of counts. Shares of
different records are independent, unless a public total ties their numbers: then, and where laws are too long to be listed, differences
are those of joint draws. A ratio of such shares has no law here: both may be 0.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.counts.law import CountLaw
from discreet.counts.pairs import PairWeights
from discreet.counts.size_posterior import DiscreteLaw
from discreet.errors import InvalidInputError, RefusedError, TooLargeError
from discreet.inference.category_contrasts import pairs_of
from discreet.inference.draws import DRAWS, Estimate, standard_error
from discreet.inference.pickles import FieldsAlone
from discreet.inference.quantities import DrawnQuantity
from discreet.inference.reading import Reading, any_of
from discreet.inference.seeds import Rng, seed_of
from discreet.text import chance, plain

if TYPE_CHECKING:
    from discreet import NoiseAware

_OUTER_COUNTS = 1e-14
"""Posterior probability of counts and of totals that are left out at either end where n is private."""
_DIFFERENCE_DECIMALS = 14
"""Decimals of a difference of shares: equal ones are rounded to one float, and those of up to a million records are told apart."""
_NO_RECORDS = "there are no records on one side, and so no share of them to compare"


@dataclass(frozen=True, eq=False, repr=False)
class ShareOfRecords(DiscreteLaw):
    """The law of a share of the records, or of a difference of two: finitely many values, ascending, with their probabilities."""

    value: Floats
    probability: Floats
    label: Hashable = None
    omitted: float = 0.0
    """Upper bound on the probability of all other values; those given add up to 1 all the same."""

    @property
    def _title(self) -> str:
        return f"{type(self).__name__} {self.label!r}"


def law_of(value: Floats, weight: Floats, label: Hashable, omitted: float) -> ShareOfRecords:
    """The law on values that may stand several times: equal fractions are equal floats, since a division is rounded correctly."""
    held = weight > 0.0
    if not held.any():  # there are no records
        return ShareOfRecords(np.full(1, np.nan), np.ones(1), label, omitted)
    found, place = np.unique(value[held], return_inverse=True)
    probability = np.bincount(place, weights=weight[held])
    return ShareOfRecords(found, probability / probability.sum(), label, omitted)


# --- two shares -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class DifferenceOfShares(ShareOfRecords):
    """The law of a difference of two shares of records."""

    name: ClassVar[str] = "difference"
    logarithmic: ClassVar[bool] = False

    def pmf(self, share: ArrayLike) -> Floats:
        """The probability that the difference is just this."""
        return super().pmf(np.round(np.asarray(share, dtype=np.float64), _DIFFERENCE_DECIMALS))

    def cdf(self, share: ArrayLike) -> Floats:
        """The probability of at most this difference."""
        return super().cdf(np.round(np.asarray(share, dtype=np.float64), _DIFFERENCE_DECIMALS))


@dataclass(frozen=True, eq=False)
class RecordContrast:
    """The distribution of how two shares of the records differ."""

    names: tuple[Hashable, Hashable]
    difference: DifferenceOfShares
    """The first share less the second."""
    draws: int | None = None
    """The number of joint draws that this comes from; None where it is computed."""

    @property
    def probability(self) -> float:
        """The probability that the first share is larger."""
        return float(self.difference.sf(0.0))

    @property
    def equal(self) -> float:
        """The probability that both shares are the same."""
        return float(self.difference.pmf(0.0))

    @property
    def error(self) -> float:
        """Upper bound on the probability that is left out; of draws the standard error of `probability`."""
        return self.difference.omitted if self.draws is None else self._estimate(self.probability).standard_error

    def quantiles(self, levels: Floats) -> list[Floats]:
        """The quantiles of the difference at these levels."""
        return [self.difference.ppf(levels)]

    def _estimate(self, part: float) -> Estimate:
        """The probability that this part of the draws says."""
        assert self.draws is not None  # noqa: S101
        return Estimate(part, float(standard_error(part * self.draws, self.draws)))

    @property
    def in_words(self) -> tuple[str, str]:
        """The probabilities that the first share is larger and that both are the same, as texts, with their errors where they are drawn."""
        larger, same = self.probability, self.equal
        if self.draws is None:
            return chance(larger), chance(same)
        return repr(self._estimate(larger)), f"{self._estimate(same)!r} (from draws)"

    def __repr__(self) -> str:
        (low, high), (larger, same) = self.difference.interval(0.95), self.in_words
        return (
            f"RecordContrast({plain(self.names[0])} against {plain(self.names[1])}; difference: 95 % from {low:.4g} to {high:.4g}; "
            f"the first is larger: {larger}, both are the same: {same})"
        )


def of_same_records(parts: Sequence[PairWeights], names: tuple[Hashable, Hashable], omitted: float) -> RecordContrast:
    """Compare two categories of the same records, given the joint law of their counts and of all others'."""
    values = sum(part.split.size * part.rest.shape[1] for part in parts)
    if values > limits.MIXTURE_CELLS:
        raise TooLargeError(f"up to {limits.MIXTURE_CELLS:,} differences of shares are listed, and the noise leaves {values:,} possible")
    listed, weights = zip(*map(_differences, parts), strict=True)
    return _made(names, np.concatenate(listed), np.concatenate(weights), omitted)


def _differences(part: PairWeights) -> tuple[Floats, Floats]:
    """(x_a - x_b)/n with the weight of each, in which n is not 0."""
    first = part.low + np.arange(part.split.shape[1])
    n = part.totals[:, None] + part.rest_rows[:, None] + part.rest_columns
    difference = (2 * first - part.totals[:, None])[:, :, None] / np.maximum(n, 1)[:, None, :]
    weight = part.split[:, :, None] * np.where(n > 0, part.rest, 0.0)[:, None, :]
    return np.asarray(difference, dtype=np.float64).ravel(), weight.ravel()


def of_different_records(first: ShareOfRecords, second: ShareOfRecords, names: tuple[Hashable, Hashable]) -> RecordContrast:
    """Compare two shares that are independent: from draws where there are very many pairs of them."""
    if np.isnan([first.value[0], second.value[0]]).any():
        raise InvalidInputError(_NO_RECORDS)
    if len(first.value) * len(second.value) > limits.MIXTURE_CELLS:
        drawn = [law.sample(DRAWS, seed_of(place, f"{law.mean():.6g}")) for place, law in enumerate((first, second))]
        return of_draws(drawn[0], drawn[1], names)
    difference = np.subtract.outer(first.value, second.value)
    weight = np.multiply.outer(first.probability, second.probability)
    return _made(names, difference.ravel(), weight.ravel(), first.omitted + second.omitted)


def of_draws(first: Floats, second: Floats, names: tuple[Hashable, Hashable]) -> RecordContrast:
    """Compare two shares, given joint draws of them, NaN where there are no records: of those in which both have some."""
    difference = (first - second)[~np.isnan(first - second)]
    return replace(_made(names, difference, np.ones(len(difference)), 0.0), draws=len(difference))


def drawn_shares(counts: Counts, chosen: Sequence[int]) -> Floats:
    """The shares of some categories in draws of the counts of all, which are on the last axis; NaN where there are no records."""
    with np.errstate(invalid="ignore"):
        return np.asarray(counts[..., list(chosen)].sum(axis=-1) / counts.sum(axis=-1))


def _made(names: tuple[Hashable, Hashable], values: Floats, weights: Floats, omitted: float) -> RecordContrast:
    found = law_of(np.round(values, _DIFFERENCE_DECIMALS), weights, "difference", omitted)
    if np.isnan(found.value[0]):
        raise InvalidInputError(_NO_RECORDS)
    return RecordContrast(names, DifferenceOfShares(**vars(found)))


# --- all shares -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class RecordShares(FieldsAlone, Reading):
    """The posterior of the shares of all categories among the records, with the verbs of a posterior."""

    posterior: "NoiseAware"
    """The posterior of the probabilities of the population."""

    @property
    def categories(self) -> tuple[Hashable, ...]:
        """The categories."""
        return self.posterior.categories

    @property
    def no_records(self) -> float:
        """The posterior probability that there are no records at all, in which case there are no shares."""
        return float(self.posterior.size.pmf(0))

    def _index(self, category: Hashable) -> int:
        return self.posterior._index(category)

    @cached_property
    def _known(self) -> dict[tuple[int, ...], ShareOfRecords]:
        return {}

    def _distribution(self, chosen: Sequence[int]) -> ShareOfRecords:
        key = tuple(chosen)
        if key not in self._known:
            self._known[key] = self._share(key)
        return self._known[key]

    def _share(self, chosen: tuple[int, ...]) -> ShareOfRecords:
        counts, i, label = self.posterior.counts, chosen[0], any_of([self.categories[i] for i in chosen])
        if len(chosen) > 1:
            counts, i = counts.merged([chosen, [j for j in range(len(self.categories)) if j not in chosen]]), 0
        n = counts.total
        if n == 0:
            return ShareOfRecords(np.full(1, np.nan), np.ones(1), label)
        if n is not None:
            run = counts.marginal(i)
            return law_of(run.x / n, run.value, label, counts.omitted)
        low, high = counts.size.interval(1.0 - 2.0 * _OUTER_COUNTS)
        check_cells(len(counts.marginal(i).value) * (high - low + 1))
        first, least, weights = counts.joint(i, _OUTER_COUNTS)
        x, totals = (low + np.arange(size, dtype=np.float64) for low, size in zip((first, least), weights.shape, strict=True))
        some = totals > 0.0
        omitted = min(1.0, counts.omitted + max(0.0, 1.0 - float(weights.sum())))
        return law_of((x[:, None] / totals[some]).ravel(), weights[:, some].ravel(), label, omitted)

    def contrast(self, first: Any, second: Any) -> RecordContrast:
        """Compare the shares of two categories, or of two sets of them, among these records: exactly, unless the noise is very wide.

        Then it is from joint draws, which `draws` counts. Raises InvalidInputError where a label is unknown, or on both sides.
        """
        sides = self._two(first, second)
        names = self._called(sides[0]), self._called(sides[1])
        try:
            return of_same_records(pairs_of(self.posterior.counts, len(self.categories), sides), names, self.posterior.omitted)
        except TooLargeError:
            counts = self.posterior.sample_counts(DRAWS)
            return of_draws(drawn_shares(counts, sides[0]), drawn_shares(counts, sides[1]), names)

    def _score(self, weights: Floats, draws: int | None, rng: Rng) -> DrawnQuantity:
        seed = self.posterior._seed_of("records") if rng is None else rng
        draw = partial(_scored_records, self.posterior, weights, DRAWS if draws is None else draws, seed)
        span, moments = (float(weights.min()), float(weights.max())), partial(_score_moments, self.posterior.counts, weights)
        return DrawnQuantity.of("score", draw, span, moments=moments, has_density=False)

    def __repr__(self) -> str:
        return f"<shares of the records: {', '.join(map(str, self.categories))}>"


def _score_moments(counts: CountLaw, weights: Floats) -> tuple[float, float]:
    """The mean and the standard deviation of a score of shares, with weights relative to about the mean."""
    x = np.array([float(run.value @ run.x) for run in map(counts.marginal, range(len(weights)))])
    centre = float(weights @ x / x.sum()) if x.sum() > 0.0 else 0.0
    mean, std = counts.score(weights - centre).of_shares()
    return centre + mean, std


def _scored_records(posterior: "NoiseAware", weights: Floats, draws: int, rng: Rng) -> Floats:
    """Draws of a score of shares, of those that have records."""
    counts = posterior.sample_counts(draws, rng)
    held = counts[counts.sum(axis=1) > 0]
    if not len(held):
        raise RefusedError("none of the draws has any records, so that there are no shares to draw a score from")
    return np.asarray(held @ weights / held.sum(axis=1))


def check_cells(cells: int) -> None:
    """Refuse noise that leaves more pairs of a count and a total possible than are looked at."""
    if cells > limits.MIXTURE_CELLS:
        raise TooLargeError(
            f"the noise leaves {cells:,} pairs of a count and a total possible; shares of the records are computed from up to "
            f"{limits.MIXTURE_CELLS:,}. Less noise (a larger epsilon) needs fewer"
        )
