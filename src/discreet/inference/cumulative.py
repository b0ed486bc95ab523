"""Cumulative probabilities of ordered answers: that of a category or an earlier one, for every category but the last."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Floats
from discreet.inference.pickles import FieldsAlone
from discreet.inference.reading import Reading
from discreet.model.beta_mixtures import BetaMixture
from discreet.validation import category_index

if TYPE_CHECKING:
    from discreet import NoiseAware


@dataclass(frozen=True, eq=False, repr=False)
class CumulativeProbabilities(FieldsAlone, Reading):
    """The posterior of P(answer is c or earlier) for every category c but the last, each a mixture of Betas."""

    posterior: "NoiseAware"
    """The posterior of the categories' own probabilities."""

    @property
    def categories(self) -> tuple[Hashable, ...]:
        """The categories up to which probabilities are added up."""
        return self.posterior.categories[:-1]

    def marginal(self, category: Hashable) -> BetaMixture:
        """The distribution of the probability of this category or an earlier one."""
        return self._marginals[category_index(self.categories, category)]

    @cached_property
    def _marginals(self) -> list[BetaMixture]:
        return [self.posterior.marginal(list(self.posterior.categories[: i + 1])) for i in range(len(self.categories))]

    def mean(self) -> Floats:
        """Expected cumulative probabilities."""
        return np.array([marginal.mean() for marginal in self._marginals])

    def std(self) -> Floats:
        """Standard deviations of the cumulative probabilities."""
        return np.array([marginal.std() for marginal in self._marginals])

    def interval(self, mass: float = 0.95) -> Floats:
        """Equal-tailed intervals that each hold this much probability: one row (low, high) for each category."""
        return np.array([marginal.interval(mass) for marginal in self._marginals])

    def hdi(self, mass: float = 0.95) -> Floats:
        """Highest density intervals: one row (low, high) for each category."""
        return np.array([marginal.hdi(mass) for marginal in self._marginals])

    def __repr__(self) -> str:
        return f"<probabilities of each category or an earlier one: {', '.join(map(str, self.categories))}>"
