"""Weights of few totals that stand for all of a private one (docs/howto/planning.md).

The law of the total bends where noisy counts add up, so a sum over few totals would miss much of it. What is summed, the distribution
of a probability given the total, is smoother. So the law is looked at in many places of every gap between two totals, and the polynomial
through what is summed at the four totals around a gap is added up under it.
"""

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Counts, Floats, Mask

_PLACES = 8
"""Parts that a gap is cut into; all totals of a gap that is no longer than that are looked at."""
STENCIL = 4
"""Totals that a polynomial goes through."""


@dataclass(frozen=True, eq=False)
class Gaps:
    """The gaps between consecutive ones of some totals, by outcome, and the places in each."""

    n: Floats
    """The totals, ascending and all different."""
    first: Counts
    """The first and the last total of each outcome that is used: at least `STENCIL` of them."""
    last: Counts
    place: Floats
    """Totals in the gap, both ends among them, by outcome, gap and place."""
    part: Floats
    """How far from the gap's beginning to its end each place is."""
    stands_for: Floats
    """How many totals each place stands for; a place that repeats the end, for none."""

    @classmethod
    def of(cls, n: Floats, first: Counts, last: Counts) -> "Gaps":
        gap, step = np.diff(n, axis=1)[..., None], np.arange(_PLACES + 1.0)
        parts = np.minimum(gap, _PLACES)
        part = np.minimum(step / parts, 1.0)
        share = np.where(step < parts, 1.0, np.where(step == parts, 0.5, 0.0))
        share[..., 0] = 0.5
        return cls(n, first, last, n[:, :-1, None] + gap * part, part, share * (gap / parts))

    @property
    def used(self) -> Mask:
        """Which totals are used, by outcome."""
        at = np.arange(self.n.shape[1])
        return (at >= self.first[:, None]) & (at <= self.last[:, None])

    def weights(self, after: Floats, before: Floats, guess: Floats) -> Floats:
        """The weight of every total, by outcome; they add up to 1, and few are slightly negative.

        Args:
            after: The log weight of every place as the total at the beginning of the gap says it; -inf where it does not.
            before: The same, as the total at its end says it.
            guess: About the log weight of every total, for places of which neither says anything.
        """
        share = np.clip(3.0 * self.part - 1.0, 0.0, 1.0)
        line = (1.0 - self.part) * guess[:, :-1, None] + self.part * guess[:, 1:, None]
        with np.errstate(invalid="ignore"):
            logs = np.where(share < 1.0, (1.0 - share) * after, 0.0) + np.where(share > 0.0, share * before, 0.0)
        for other in (np.maximum(after, before), line):
            logs = np.where(np.isfinite(logs), logs, other)
        logs = np.where((self.used[:, 1:] & self.used[:, :-1])[..., None], logs, -np.inf)
        weight = np.exp(logs - logs.max(axis=(1, 2), keepdims=True)) * self.stands_for
        start = np.clip(np.arange(logs.shape[1]) - STENCIL // 2 + 1, self.first[:, None], self.last[:, None] - STENCIL + 1)
        nodes = [start + i for i in range(STENCIL)]
        away = [self.place - np.take_along_axis(self.n, node, axis=1)[..., None] for node in nodes]
        found, rows = np.zeros_like(self.n), np.arange(len(self.n))[:, None]
        for i, node in enumerate(nodes):
            terms = weight.copy()
            for j in set(range(STENCIL)) - {i}:
                terms *= away[j] / (away[j] - away[i])
            np.add.at(found, (rows, node), terms.sum(axis=-1))
        return np.asarray(found / found.sum(axis=1, keepdims=True))
