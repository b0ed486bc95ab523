"""The shares of categories among the records themselves: for a register or a census, which is no sample of anything larger.

A posterior's own verbs are about the probabilities θ of the population that the records were drawn from. Here the question is `x/n`, the
part of these very records that is in a category. It is uncertain by the noise alone, and by the prior as far as the noise leaves room.
Where n is private, shares are given that there are any records; where it is known that there are none, they are NaN.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import limits
from discreet.arrays import Floats
from discreet.counts.law import CountLaw
from discreet.errors import RefusedError, TooLargeError
from discreet.inference.category_contrasts import pairs_of
from discreet.inference.draws import DRAWS
from discreet.inference.pickles import FieldsAlone
from discreet.inference.quantities import DrawnQuantity
from discreet.inference.reading import Reading, any_of
from discreet.inference.record_contrasts import RecordContrast, of_same_records
from discreet.inference.seeds import Rng
from discreet.inference.share_laws import ShareOfRecords, law_of

if TYPE_CHECKING:
    from discreet import NoiseAware

_OUTER_COUNTS = 1e-14
"""Posterior probability of counts and of totals that are left out at either end where n is private."""


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
        """How the shares of two categories, or of two sets of them, differ among these records, exactly.

        Raises:
            InvalidInputError: A label is not one of the categories, or on both sides.
            TooLargeError: The noise leaves more counts possible than are looked at.
        """
        sides = self._two(first, second)
        names = self._called(sides[0]), self._called(sides[1])
        return of_same_records(pairs_of(self.posterior.counts, len(self.categories), sides), names, self.posterior.omitted)

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
