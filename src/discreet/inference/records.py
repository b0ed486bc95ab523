"""The shares of categories among the records themselves: for a register or a census, which is no sample of anything larger.

A posterior's own verbs are about the probabilities θ of the population that the records were drawn from. Here the question is `x/n`, the
part of these very records that is in a category. It is uncertain by the noise alone, and by the prior as far as the noise leaves room.
Where n is private, shares are given that there are any records; where it is known that there are none, they are NaN.

Two categories of the same records depend on each other, and the laws of their contrasts come from that of pairs of counts. Shares of
different records are independent, unless a public total ties their numbers: then, and where laws are too long to be listed, contrasts
are those of joint draws. A ratio is given that it is not 0/0, and may be infinite.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.counts.law import OUTER_COUNTS, CountLaw, PairWeights
from discreet.counts.size_posterior import DiscreteLaw
from discreet.errors import InvalidInputError, RefusedError, TooLargeError
from discreet.inference.category_contrasts import pairs_of
from discreet.inference.draws import DRAWS, Estimate, Rng, seed_of, standard_error
from discreet.inference.labelled import FieldsAlone
from discreet.inference.quantities import Contrast, DrawnQuantity, Quantity, no_mean_of_ratio, nothing
from discreet.inference.reading import Reading, any_of
from discreet.numerics.tails import inner
from discreet.text import chance
from discreet.validation import check_share

if TYPE_CHECKING:
    from discreet import NoiseAware

_OUTER_COUNTS = 1e-14
"""Posterior probability of counts and of totals that are left out at either end where n is private."""
_EQUAL_DIGITS = 14
"""Decimals of a difference of shares, digits of a ratio: equal ones are one float, and those of up to a million records told apart."""
Names = tuple[Hashable, Hashable]
Infinite = tuple[bool | None, bool | None]
"""Whether a ratio and an odds ratio may be infinite; None where draws do not say."""


@dataclass(frozen=True, eq=False, repr=False)
class ShareOfRecords(DiscreteLaw):
    """The law of a share of the records, or of how two differ: finitely many values, ascending, with their probabilities."""

    value: Floats
    probability: Floats
    label: Hashable = None
    omitted: float = 0.0
    """Upper bound on the probability of all other values; those given add up to 1 all the same."""
    least: tuple[int, int] = (1, 1)
    """The least numbers of records inside and outside that are possible, whatever is left out; 1 where nothing is."""

    @property
    def _title(self) -> str:
        return f"{type(self).__name__} {self.label!r}"


def law_of(value: Floats, weight: Floats, label: Hashable, omitted: float, least: tuple[int, int] = (1, 1)) -> ShareOfRecords:
    """The law on values that may stand several times: equal fractions are equal floats, since a division is rounded correctly.

    It is given that there is a number: where there is none the value is NaN, and what is omitted weighs the more.
    """
    held = (weight > 0.0) & ~np.isnan(value)
    if not held.any():  # there are no records
        return ShareOfRecords(np.full(1, np.nan), np.ones(1), label, omitted)
    found, place = np.unique(value[held], return_inverse=True)
    probability = np.bincount(place, weights=weight[held])
    some = float(probability.sum())
    return ShareOfRecords(found, probability / some, label, min(1.0, omitted / (some / float(weight.sum()))), least)


# --- two shares -------------------------------------------------------------------------------------------------------


Pairs = tuple[Any, Any, Any, Any, Any]
"""The numbers of records that two shares are of, what both are divided by, and two factors of the weight of each pair: they broadcast."""


@dataclass(frozen=True, eq=False, repr=False)
class ComparedShares(DiscreteLaw, Quantity):
    """The law of a difference, a ratio or an odds ratio of two shares of records, given that it is not 0/0; a ratio may be infinite.

    Equal numbers are one float: a difference to 14 decimals, a ratio to 14 digits.
    """

    pairs: Sequence[Pairs] = ()
    """The joint law of both shares."""
    omitted: float = 0.0
    """Upper bound on the probability of all other pairs."""
    infinite: bool | None = False
    """Whether it may be infinite, be it with a probability that is left out; None where draws do not say."""
    __repr__, _repr_html_ = Quantity.__repr__, Quantity._repr_html_

    @cached_property
    def _law(self) -> tuple[ShareOfRecords, float]:
        """The law, and the probability of 0/0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            listed = [np.broadcast_arrays(_number(self.name, a, b, n), mine * other) for a, b, n, mine, other in self.pairs]
            value, weight = (np.concatenate([part.ravel() for part in parts]) for parts in zip(*listed, strict=True))
            undefined = float(weight[np.isnan(value)].sum() / weight.sum())
        return law_of(self._rounded(value), weight, None, self.omitted), undefined

    @cached_property
    def value(self) -> Floats:
        """The possible numbers, ascending; NaN where there is none."""
        return self._law[0].value

    @cached_property
    def probability(self) -> Floats:
        """How probable each is."""
        return self._law[0].probability

    @property
    def undefined(self) -> float:
        """The probability that it is 0/0."""
        return self._law[1]

    def _rounded(self, values: Any) -> Floats:
        """Numbers of which equal ones are one float: a difference to so many decimals, a ratio to so many digits."""
        mantissa, power = np.frexp(values) if self.logarithmic else (values, 0)
        return np.asarray(np.ldexp(np.round(mantissa, _EQUAL_DIGITS), power))

    def pmf(self, x: ArrayLike) -> Floats:
        """The probability that it is just this."""
        return super().pmf(self._rounded(x))

    def cdf(self, x: ArrayLike) -> Floats:
        """The probability of at most this."""
        return super().cdf(self._rounded(x))

    def pdf(self, x: ArrayLike) -> NoReturn:  # noqa: ARG002 - wherever it is asked for
        """Refuse: there is no density, and `pmf` has the probabilities."""
        raise RefusedError(f"this {self.name} has finitely many values and no density: pmf(x) has their probabilities")

    def plot(self, ax: Any = None, mass: float = 0.95) -> NoReturn:  # noqa: ARG002 - whatever is drawn on
        """Refuse: there is no density to draw."""
        self.pdf(mass)

    @property
    def support(self) -> tuple[float, float]:
        """The interval outside of which there is nothing; its ends, as SciPy understands them, have no probability."""
        return -np.inf, np.inf

    def mean(self) -> float:
        """Expected value; infinite where an infinite ratio is possible. That of draws of a ratio is refused."""
        return np.inf if self._unbounded() else super().mean()

    def var(self) -> float:
        """Variance; infinite where an infinite ratio is possible. That of draws of a ratio is refused."""
        return np.inf if self._unbounded() else super().var()

    def _unbounded(self) -> bool:
        largest = self.value[-1]
        if self.infinite is None and largest < np.inf:
            no_mean_of_ratio()
        return bool(largest == np.inf or (self.infinite and largest > 0.0))

    def hdi(self, mass: float = 0.95) -> tuple[float, float]:
        """The shortest interval between two of its values that holds mass or more; where only infinite ones do, that which begins last."""
        share, finite = check_share(mass, "mass"), len(self.value) - int(self.value[-1] == np.inf)
        if finite == len(self.value) or self._cumulative[finite] >= share:
            return ShareOfRecords(self.value[:finite], self.probability[:finite]).hdi(share)
        return float(self.value[int(inner(self.probability, 1.0 - share)[0])]), np.inf


def _number(name: str, a: Any, b: Any, n: Any) -> Floats:
    """The difference, the ratio or the odds ratio of a/n and b/n."""
    return np.asarray((a - b) / n if name == "difference" else a / b if name == "ratio" else a * (n - b) / (b * (n - a)))


@dataclass(frozen=True, eq=False, repr=False)
class RecordContrast(Contrast):
    """The joint knowledge of how two shares of the records differ.

    Their ratio is 0/0 where both are 0, and so is the odds ratio, also where both are 1. These are given that they are defined, and
    `undefined` of either is the probability that it is not.
    """

    difference: ComparedShares
    ratio: ComparedShares
    odds_ratio: ComparedShares
    draws: int | None = None
    """The number of joint draws that this comes from; None where it is computed."""

    @classmethod
    def of(cls, names: Names, pairs: Sequence[Pairs], omitted: float, infinite: Infinite, draws: int | None = None) -> "RecordContrast":
        """The contrast of shares with this joint law."""
        kinds = zip(("difference", "ratio", "odds ratio"), (False, *infinite), strict=True)
        difference, ratio, odds = (
            ComparedShares(name, nothing, (-1.0, 1.0), nothing, name != "difference", None, pairs, omitted, may) for name, may in kinds
        )
        if np.isnan(difference.value[0]):
            raise InvalidInputError("there are no records on one side, and so no share of them to compare")
        larger = float(difference.sf(0.0))
        error = omitted if draws is None else _estimate(larger, draws).standard_error
        return cls(names, difference, ratio, odds, larger, error, draws=draws)

    @property
    def equal(self) -> float:
        """The probability that both shares are the same."""
        return float(self.difference.pmf(0.0))

    @property
    def more(self) -> dict[str, float]:
        """The probabilities that both shares are the same, and that their ratios are undefined."""
        return {"equal": self.equal, "ratio_undefined": self.ratio.undefined, "odds_ratio_undefined": self.odds_ratio.undefined}

    @property
    def larger(self) -> str:
        """The probabilities that the first share is larger and that both are the same as a text, with their errors where they are drawn."""
        found = self.probability, self.equal
        larger, same = map(chance, found) if self.draws is None else [repr(_estimate(part, self.draws)) for part in found]
        return f"{larger}; both are the same with probability {same}{'' if self.draws is None else ' (from draws)'}"

    @property
    def given(self) -> str:
        """What the ratio and the odds ratio are given, in words, where they may be undefined."""
        found = [law for law in (self.ratio, self.odds_ratio) if law.undefined]
        return "; ".join(f"the {law.name} is given that it is not 0/0, which has probability {chance(law.undefined)}" for law in found)


def _estimate(part: float, draws: int) -> Estimate:
    """The probability that this part of the draws says."""
    return Estimate(part, float(standard_error(part * draws, draws)))


def of_same_records(parts: Sequence[PairWeights], names: Names, omitted: float, *, infinite: bool) -> RecordContrast:
    """Compare two categories of the same records, given the joint law of all counts, and whether the second share may be 0."""
    values = sum(part.split.size * part.rest.shape[1] for part in parts)
    if values > limits.MIXTURE_CELLS:
        raise TooLargeError(f"up to {limits.MIXTURE_CELLS:,} differences of shares are listed, and the noise leaves {values:,} possible")
    pairs, whole = list(map(_pairs, parts)), sum(float(part.split.sum(axis=1) @ part.rest.sum(axis=1)) for part in parts)
    some = sum(float(mine.sum(axis=(1, 2)) @ other.sum(axis=(1, 2))) for *_, mine, other in pairs)
    return RecordContrast.of(names, pairs, min(1.0, omitted / (some / whole)) if some else omitted, (infinite, infinite))


def _pairs(part: PairWeights) -> Pairs:
    """x_a, x_b and n with the weights, in which n is not 0."""
    first = (part.low + np.arange(part.split.shape[1], dtype=np.float64))[:, None]
    n = (part.totals[:, None] + part.rest_rows[:, None] + part.rest_columns)[:, None]
    return first, part.totals[:, None, None] - first, n, part.split[:, :, None], np.where(n > 0, part.rest[:, None], 0.0)


def of_different_records(first: ShareOfRecords, second: ShareOfRecords, names: Names) -> RecordContrast:
    """Compare two shares that are independent: from draws where there are very many pairs of them."""
    if len(first.value) * len(second.value) > limits.MIXTURE_CELLS:
        drawn = [law.sample(DRAWS, seed_of(place, f"{law.mean():.6g}")) for place, law in enumerate((first, second))]
        return of_draws(drawn[0], drawn[1], names)
    infinite = second.least[0] == 0, 0 in (second.least[0], first.least[1])
    pairs = first.value[:, None], second.value, 1.0, first.probability[:, None], second.probability
    return RecordContrast.of(names, [pairs], first.omitted + second.omitted, infinite)


def of_draws(first: Floats, second: Floats, names: Names) -> RecordContrast:
    """Compare two shares, given joint draws of them, NaN where there are no records: of those in which both have some."""
    held = ~np.isnan(first - second)
    return RecordContrast.of(names, [(first[held], second[held], 1.0, np.ones(held.sum()), 1.0)], 0.0, (None, None), int(held.sum()))


def drawn_shares(counts: Counts, chosen: Sequence[int]) -> Floats:
    """The shares of some categories in draws of the counts of all, which are on the last axis; NaN where there are no records."""
    with np.errstate(invalid="ignore"):
        return np.asarray(counts[..., list(chosen)].sum(axis=-1) / counts.sum(axis=-1))


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
        fewest = int(counts.first[i]), int(np.delete(counts.first, i).sum())
        if n is not None:
            run = counts.marginal(i)
            return law_of(run.x / n, run.value, label, counts.omitted, fewest)
        low, high = counts.size.interval(1.0 - 2.0 * _OUTER_COUNTS)
        check_cells(len(counts.marginal(i).value) * (high - low + 1))
        first, least, weights = counts.joint(i, _OUTER_COUNTS)
        x, totals = (low + np.arange(size, dtype=np.float64) for low, size in zip((first, least), weights.shape, strict=True))
        omitted = counts.omitted + max(0.0, 1.0 - float(weights.sum()))
        return law_of((x[:, None] / np.where(totals > 0.0, totals, np.nan)).ravel(), weights.ravel(), label, omitted, fewest)

    def contrast(self, first: Any, second: Any) -> RecordContrast:
        """Compare the shares of two categories, or of two sets of them, among these records: exactly, unless the noise is very wide.

        Then it is from joint draws, which `draws` counts. Raises InvalidInputError where a label is unknown, or on both sides.
        """
        sides = self._two(first, second)
        names = self._called(sides[0]), self._called(sides[1])
        try:
            parts, possible = pairs_of(self.posterior.counts, len(self.categories), sides), self.posterior.counts.first[sides[1]]
            omitted = min(1.0, self.posterior.omitted + 8.0 * OUTER_COUNTS)
            found = of_same_records(parts, names, omitted, infinite=not possible.any())
        except TooLargeError:
            counts = self.posterior.sample_counts(DRAWS)
            found = of_draws(drawn_shares(counts, sides[0]), drawn_shares(counts, sides[1]), names)
        return replace(found, again=partial(self.contrast, first, second))

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
