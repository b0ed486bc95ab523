"""The law of the size that all other groups leave to one, where the total alone is public (docs/proofs/tables.md).

Where only the total N is public, the posterior weight of a table's counts is a product over groups, on the sizes u_g that add up to N,

    Π_g V_g(u_g) ,    V_g(u)  =  Γ(b_g + u)/Γ(A_g + u) Σ_{|x| = u} Π_c P(z_gc | x_c) Γ(a_gc + x_c)/x_c! .

For one group alone that is the posterior of counts with a private total, whose prior is `p_g(u) ∝ Γ(b_g + u)/u! · W_g(N - u)`, W_g the
convolution of the V_h of all other groups. Multiplying every V_h by e^{λu} changes nothing. With λ such that the means of these laws, taken
as independent, nearly add up to N, each has its mass in a window as wide as the noise of its group, and a tree of sums completes all of
them: a group's posterior is its law under the tilt, with each size weighted by the chance that all others leave it.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, inf, log, log2
from typing import Any

import numpy as np
from scipy.special import gammaln

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.counts.factors import Kernel
from discreet.counts.runs import FLOOR, Run, sum_of
from discreet.counts.segments import TotalSegment
from discreet.counts.tree import TreeCounts
from discreet.errors import TooLargeError
from discreet.inference.true_counts import counts_of_outcomes, usual_totals
from discreet.mechanisms.noise import CellNoise
from discreet.model.size_priors import SizePrior
from discreet.numerics.gamma import log_rising
from discreet.numerics.roots import balancing_tilt
from discreet.numerics.tails import kept

_ENOUGH_DEVIATIONS = 2.0
"""The most that the mean of all sizes together may be from the total, in standard deviations: it is then not unlikely under the tilt."""
_HELD = 1 << 20
"""The numbers of laws that are kept from the search for the tilt: with wide noise they would fill the memory, and are computed anew."""
_UNLIKELY_SIZES = 1e-22
"""Posterior probability of the sizes of a group that are left out at either end."""
_TRANSFORM = 32
"""The cost of a value of a long sum, for each doubling of its length, against a product of a short one."""


@dataclass(frozen=True)
class TiedGroup:
    """One group: the prior parameters and the noisy counts of its possible categories, and the prior parameter of its share."""

    a: tuple[float, ...]
    raw: tuple[int, ...]
    share: float

    @property
    def reference(self) -> float:
        """A size that logarithms are taken relative to."""
        return float(max(1, sum(max(z, 0) for z in self.raw)))

    def log_prior(self, u: Floats, rate: float) -> Floats:
        """ln Γ(b + u)/u! e^{rate u}, up to a constant."""
        return log_rising(self.share, u, self.reference) + rate * (u - self.reference)


@dataclass(frozen=True, eq=False)
class TiedSizes:
    """The sizes of two or more groups, which add up to a public total: independent laws under a tilt, given their sum."""

    groups: Sequence[TiedGroup]
    total: int
    noise: CellNoise
    rate: float
    law: TreeCounts
    """The law of the sizes, whose windows are under the tilt."""
    _known: dict[TiedGroup, TreeCounts]
    """The laws under the tilt of the counts of some groups."""

    @property
    def segment(self) -> TotalSegment:
        """The sizes under the tilt, and how they add up to the total."""
        return self.law.segments[0]

    @property
    def outside(self) -> float:
        """Bound on what the windows of all sizes leave out under the tilt."""
        return float(np.exp(self.law.log_outside))

    def posterior(self, index: int) -> TreeCounts:
        """The law of one group's counts: that under the tilt, with each size weighted by the chance that all others leave it."""
        counts, left = self.counts(index), self.segment.completions[index]
        chance = counts.sizes.value * left
        first, last, dropped = kept(chance / chance.sum(), _UNLIKELY_SIZES)
        sizes = range(counts.sizes.low + first, counts.sizes.low + last + 1)
        with np.errstate(divide="ignore"):
            log_left = np.log(left[first : last + 1])
        segments = [
            TotalSegment(low, s.log_factor[low - s.low : end - s.low] + log_left[low - sizes.start : end - sizes.start], s.windows, s.floor)
            for s in counts.segments
            if (low := max(s.low, sizes.start)) < (end := min(s.high + 1, sizes.stop))
        ]
        return replace(counts, segments=segments, log_outside=-inf, beyond=self.law.omitted + dropped)

    def omitted(self, dropped: float, chance: float) -> float:
        """Bound on what windows and sums left out, given the total: what sums dropped, and the probability of the total under the tilt."""
        return min(1.0, (self.outside + dropped) / max(chance, np.finfo(np.float64).tiny))

    def without(self, group: int, others: Collection[int]) -> Iterator[tuple[int, Run, float]]:
        """Yield for each of these other groups, the law under the tilt of the total of all groups but these two; and what was dropped from
        it.
        """
        left, nothing = [i for i in range(len(self.groups)) if i != group], Run(0, np.ones(1))
        if len(others) > 1:
            found = sum_of([self.segment.windows[i] for i in left], FLOOR)
            rest = zip(left, found.others(nothing, FLOOR), strict=True)
            yield from ((i, run, found.dropped + dropped) for i, (run, dropped) in rest if i in others)
            return
        for one in others:
            runs = [self.segment.windows[i] for i in left if i != one]
            found = sum_of(runs or [nothing], FLOOR)
            yield one, found.run, found.dropped

    def counts(self, index: int) -> TreeCounts:
        """The law of one group's counts under the tilt: given its size it is that of the posterior."""
        group = self.groups[index]
        if group not in self._known:
            while len(self._known) >= limits.GROUPS_HELD:
                self._known.pop(next(iter(self._known)))
            self._known[group] = _tilted(group, self.total, self.noise, self.rate)
        return self._known[group]

    def made_once(self, counts: TreeCounts, place: int, make: Callable[[], Any]) -> Any:
        """Make an object of the law of a group's counts and one of its categories, once; the last ones are kept."""
        key = id(counts), place
        if key not in self._made:
            while len(self._made) >= limits.GROUPS_HELD:
                self._made.pop(next(iter(self._made)))
            self._made[key] = counts, make()
        return self._made[key][1]

    @cached_property
    def _made(self) -> dict[tuple[int, int], tuple[TreeCounts, Any]]:
        """The objects that were made, each with the law it was made from: so no other law can have its identity."""
        return {}

    def sample(self, size: int, rng: np.random.Generator) -> Iterator[Counts]:
        """Draws of the sizes, group by group: the total is split between halves of the groups, and so on."""
        return self.segment.sum.split(np.full(size, self.total, dtype=np.int64), rng)


_Tilted = tuple[list[tuple[Run, float]], dict[TiedGroup, TreeCounts]]
"""The law of every group's size with a bound on what it leaves out, and the laws of the counts of some groups."""


def tied_sizes(groups: Sequence[TiedGroup], total: int, noise: CellNoise) -> TiedSizes:
    """The sizes of two or more groups whose total is public, under a tilt that makes their means add up to nearly the total."""

    def tilted(rate: float) -> tuple[float, float, _Tilted]:
        sizes, held, room = dict[TiedGroup, tuple[Run, float]](), dict[TiedGroup, TreeCounts](), _HELD
        for group in groups:
            if group not in sizes:
                counts = _tilted(group, total, noise, rate)
                _check_work(len(groups), len(counts.sizes.value))
                sizes[group] = counts.sizes, counts.omitted
                if len(held) < limits.GROUPS_HELD and counts.work <= room:
                    held[group], room = counts, room - counts.work
        laws = [sizes[group] for group in groups]
        return sum(run.mean for run, _ in laws), sum(run.variance for run, _ in laws), (laws, held)

    rate, (laws, held) = balancing_tilt(tilted, total, close=_ENOUGH_DEVIATIONS, longest=noise.slope)
    outside = sum(omitted for _, omitted in laws)
    segment = TotalSegment(total, np.zeros(1), [run for run, _ in laws], FLOOR)
    law = TreeCounts([segment], np.zeros((1, len(groups)), dtype=np.int64), log(outside) if outside > 0.0 else -inf)
    return TiedSizes(groups, total, noise, rate, law, held)


def tied_evidence(tied: TiedSizes) -> float:
    """The logarithm of the probability of all noisy counts, whose total is public.

    Groups are read alone under the tilt and with weights of their sizes relative to a reference, which are taken back. Under the tilt the
    total has some probability. The noise is one lattice of all cells.
    """
    laws = [tied.counts(i) for i in range(len(tied.groups))]
    shares, references = (np.array([getattr(group, name) for group in tied.groups]) for name in ("share", "reference"))
    whole = float(shares.sum())
    found = float(tied.segment.log_weights()[0]) + tied.noise.log_constant(sum(len(group.raw) for group in tied.groups))
    found += sum(law.log_evidence - tied.noise.log_constant(len(group.raw)) for law, group in zip(laws, tied.groups, strict=True))
    found += (gammaln(shares + references) - gammaln(references + 1.0) - gammaln(shares)).sum()
    found += tied.rate * (references.sum() - tied.total)
    return float(found + gammaln(tied.total + 1.0) + gammaln(whole) - gammaln(whole + tied.total))


def check_groups(groups: int, categories: int, total: int, noise: Kernel) -> None:
    """Refuse, by public numbers alone, tables whose groups are too many or whose noise is too wide for the sums over all of them."""
    if groups > limits.GROUPS_CONVOLVED:
        raise TooLargeError(
            f"where only the total is public, single groups, contrasts, draws and sums are computed for up to {limits.GROUPS_CONVOLVED:,} "
            f"groups, and there are {groups:,}: summary() has the means and intervals of any number of groups"
        )
    _check_work(groups, min(usual_totals(categories, noise), total + 1))


def _check_work(groups: int, cells: int) -> None:
    """Refuse sums that would take too long: on each level of a tree, up and down, three for each pair, √m times as wide for m groups."""
    products = cells**2 if cells**2 <= limits.DIRECT_CONVOLUTION else _TRANSFORM * cells * ceil(log2(cells))
    if 3 * ceil(log2(max(groups, 2))) * groups * products > limits.GROUP_PRODUCTS:
        raise TooLargeError(
            f"the noise spreads the size of each of {groups:,} groups over about {cells:,} values: too many for posteriors where only the "
            "total is public. Less noise (a larger epsilon) or fewer groups need fewer"
        )


def _tilted(group: TiedGroup, total: int, noise: CellNoise, rate: float) -> TreeCounts:
    prior = SizePrior(lambda u: group.log_prior(u, rate), total)
    return counts_of_outcomes(np.array(group.a), [(noise, group.raw)], prior)
