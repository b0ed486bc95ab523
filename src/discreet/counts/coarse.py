"""Laws of the parts of a count on nodes that each stand for several integers: coarse, and as short however many records there are.

What is computed after a draw may not be refused, so that reports (`mechanisms`) are found on these, and not on the windows of `tree`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import Floats
from discreet.counts.ladder import Parts
from discreet.numerics.roots import crossing

_WIDENED, _TILT_PRECISION = 4.0, (1e-15, 1e-12)
"""How much further out a tilt is tried that is not far enough, and how closely it is searched for, absolutely and relatively."""


@dataclass(frozen=True, eq=False)
class CoarseLaws:
    """The laws of independent counts, one a row, each adding up to 1; rows are filled up with nodes of no weight."""

    x: Floats
    width: Floats
    """How many integers each node stands for."""
    weight: Floats
    log_scale: float = 0.0
    """The logarithm of what all rows were divided by."""

    @cached_property
    def means(self) -> Floats:
        """The mean of each count."""
        return np.asarray((self.weight * self.x).sum(axis=-1))

    @cached_property
    def _cumulative(self) -> Floats:
        return np.cumsum(self.weight, axis=-1)

    def quantiles(self, level: Floats | float) -> Floats:
        """Quantiles of all counts, at one level each: a node's weight is spread evenly, so that they move continuously with weights."""
        cumulative, row = self._cumulative, np.arange(len(self.weight))
        asked = level * cumulative[:, -1]
        place = np.minimum((cumulative < asked[:, None]).sum(axis=-1), self.weight.shape[1] - 1)
        here = self.weight[row, place]
        share = np.clip((asked - cumulative[row, place] + here) / np.maximum(here, 1e-300), 0.0, 1.0)
        return np.asarray(np.clip(self.x[row, place] + (share - 0.5) * self.width[row, place], 0.0, self.x[:, -1]))


@dataclass(frozen=True, eq=False)
class CoarseParts:
    """The factors of the parts of a count at nodes, as logarithms: what is a product but for a factor of the total."""

    x: Floats
    width: Floats
    log_weight: Floats

    @staticmethod
    def of(parts: Parts, nodes: Sequence[tuple[Floats, Floats]]) -> "CoarseParts":
        """The factors at these nodes of each part, given with the number of integers that each stands for."""
        longest = max(len(x) for x, _ in nodes)
        x, width = np.zeros((2, len(nodes), longest))
        log_weight = np.full((len(nodes), longest), -np.inf)
        for i, (places, cells) in enumerate(nodes):
            x[i], x[i, : len(places)], width[i, : len(places)] = places[-1], places, cells
            log_weight[i, : len(places)] = parts.log_weight(i, places) + np.log(cells)
        return CoarseParts(x, width, log_weight)

    def balanced(self, total: float) -> CoarseLaws:
        """The laws under the tilt that makes their medians add up to a total."""

        def excess(tilt: float) -> float:
            return float(self.tilted(tilt).quantiles(0.5).sum()) - total

        reach = -float(np.sign(excess(0.0)))
        while excess(reach) * reach < 0.0:
            reach *= _WIDENED
        return self.tilted(crossing(excess, 0.0, reach, *_TILT_PRECISION) if reach else 0.0)

    def tilted(self, rate: float) -> CoarseLaws:
        """The laws with e^{rate x} as another factor."""
        log_weight = self.log_weight + rate * self.x
        highest = log_weight.max(axis=-1, keepdims=True)
        weight = np.exp(log_weight - highest)
        sums = weight.sum(axis=-1, keepdims=True)
        return CoarseLaws(self.x, self.width, np.asarray(weight / sums), float((highest + np.log(sums)).sum()))
