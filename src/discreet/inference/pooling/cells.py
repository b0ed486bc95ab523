"""Noisy counts of groups whose shares have one Dirichlet prior: evidence and laws given its parameters (docs/howto/pooling.md).

What the noise says about a count does not depend on these parameters: its windows are made once. Parameters a enter by (a)_x/x! for each
count and by n!/(A)_n for the total. All sums have positive terms alone, so nothing cancels. Groups are on the first axis, cells on the
second; a cell that is not possible has 0 as its only count.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from discreet import limits
from discreet.arrays import Counts, Floats, Mask
from discreet.betas.lines import BetaLines
from discreet.betas.planes import BetaPlanes
from discreet.counts.batched.arrays import trimmed
from discreet.errors import TooLargeError
from discreet.mechanisms.noise import CellNoise
from discreet.model.size_priors import SizePrior
from discreet.numerics.gamma import log_rise
from discreet.numerics.roots import last_inside
from discreet.numerics.tails import even_windows

_LIKELIHOOD_DEPTH = 36.0
"""Windows hold the counts whose likelihood is at least e^-36 of the largest."""
_TRIMMED_OF_MIXTURES = 1e-10
"""Probability that mixtures leave out at either end of a law of counts."""
_MOST_OF_TOTALS = 600.0
"""The logarithm of the largest factor of a total: its products with sums of terms are no more than floats hold."""
_FARTHEST_MIDDLE = 500.0
"""A size up to which the factor of a small total is not above e^500."""
_NO_COUNT = 1 << 50
_MOST_BITS = 40
"""Sizes are looked for up to 2^40 from the noisy counts."""
_LOOKS_BETWEEN = 65
"""Places between half and twice the best power of 2, so that the most likely size is found to a fiftieth of its way."""


@dataclass(frozen=True, eq=False)
class PooledCells:
    """The likelihoods of the counts of some groups on windows, and what is known about the sizes of these groups."""

    possible: Mask
    low: Counts
    log_likelihood: Floats
    """Groups, cells, counts from `low` on; -inf for counts that are not possible."""
    sizes: Counts | None
    size_prior: SizePrior | None
    """The prior of the size of each group where sizes are not public."""
    centres: Floats
    """About the most likely size of each group."""
    constant: float
    """The logarithm of the factor that the likelihoods of all groups together lack to be probabilities."""

    @staticmethod
    def of(raw: Counts, possible: Mask, noise: CellNoise, sizes: Counts | None, size_prior: SizePrior | None) -> "PooledCells":
        """The windows of all cells; TooLargeError where there are too many counts to hold.

        Noise on every cell can lead far away from a public size, or from what is believed about a private one: windows are wider by what
        the noisy counts lack or have too much, since the most likely counts with that size are no farther from them.
        """
        noise.held(raw.ravel(), None)  # refuses what is so far out that floats cannot tell counts apart
        together = sizes is not None and len(noise.blocks) > 0  # noise that adds up to 0 falls twice as fast in each cell
        reach = [_reach(noise, (0.5 if together else 1.0) * _LIKELIHOOD_DEPTH, sign) for sign in (1, -1)]
        top = np.where(possible, _NO_COUNT if sizes is None else sizes[:, None], 0)
        base = np.clip(raw, 0, top)
        centres = _likely_sizes(noise, base, size_prior) if sizes is None else sizes.astype(np.float64)
        gap = 0 if together else np.abs(centres - base.sum(axis=1)).astype(np.int64)[:, None]
        low, high = np.maximum(base - reach[0] - gap, 0), np.minimum(base + reach[1] + gap, top)
        width = int((high - low).max(initial=0)) + 1
        if low.size * width > limits.POOLED_COUNTS:
            raise TooLargeError(
                f"pooling holds up to {limits.POOLED_COUNTS:,} counts of all cells, and the noise leaves {width:,} possible in each of "
                f"{low.size:,} cells: less noise (a larger epsilon) or fewer groups need fewer"
            )
        x = low[:, :, None] + np.arange(width)
        log = np.where(
            x <= high[:, :, None], np.where(possible[:, :, None], noise.log_factor((raw[:, :, None] - x).astype(np.float64)), 0.0), -np.inf
        )
        constant = sum(noise.log_constant(int(many)) for many in possible.sum(axis=1).tolist()) if together else 0.0
        return PooledCells(possible, low, log, sizes, size_prior, centres, constant)

    def rows(self, chosen: NDArray[np.int64] | slice) -> "PooledCells":
        """Some of the groups, without their constant."""
        sizes = None if self.sizes is None else self.sizes[chosen]
        parts = self.possible[chosen], self.low[chosen], self.log_likelihood[chosen]
        return PooledCells(*parts, sizes, self.size_prior, self.centres[chosen], 0.0)

    def __len__(self) -> int:
        return len(self.low)

    @property
    def width(self) -> int:
        return int(self.log_likelihood.shape[2])

    @property
    def work(self) -> int:
        """Products of counts for one evidence of all groups."""
        sums, (groups, k) = range(1, self.low.shape[1] - (self.sizes is not None)), self.low.shape
        return int(groups * self.width * (k + sum(i * (self.width - 1) + 1 for i in sums)))

    @cached_property
    def _points(self) -> tuple[Floats, Counts]:
        """Return all counts that differ, and the place of each count among them."""
        points, place = np.unique(self.low[:, :, None] + np.arange(self.width), return_inverse=True)
        return points.astype(np.float64), place.reshape(self.log_likelihood.shape)

    @cached_property
    def _totals(self) -> tuple[Floats, Counts]:
        """Return the totals of groups that differ, their sizes or all sums of counts, and the place of each."""
        first = self.low.sum(axis=1)
        spread = np.arange(self.low.shape[1] * (self.width - 1) + 1)
        totals = first[:, None] + spread if self.sizes is None else self.sizes[:, None]
        points, place = np.unique(totals, return_inverse=True)
        return points.astype(np.float64), place.reshape(totals.shape)

    @cached_property
    def _log_sizes(self) -> Floats | None:
        """Return what is believed about all totals."""
        return None if self.size_prior is None or self.sizes is not None else self.size_prior(self._totals[0])

    @cached_property
    def _size_slopes(self) -> Floats:
        """Return how fast the logarithm of the prior of each size rises there; 0 where sizes are public or the prior jumps."""
        if self.size_prior is None or self.sizes is not None:
            return np.zeros(len(self))
        here, above = (self.size_prior(self.centres + step) for step in (0.0, 1.0))
        return np.asarray(np.subtract(above, here, out=np.zeros(len(self)), where=np.isfinite(here) & np.isfinite(above)))

    @cached_property
    def _middles(self) -> Floats:
        """Return the sizes at which factors are tilted to be level: midway between the ends of windows, where n!/(A)_n bends.

        The largest factor is then least, and no more than floats hold if the middle of windows that are far too wide is not taken.
        """
        if self.sizes is not None:
            return self.centres
        first = np.maximum(self.low.sum(axis=1), 1.0)
        last = first + self.low.shape[1] * self.width
        middle = np.exp((last * np.log(last) - first * np.log(first)) / (last - first) - 1.0)
        return np.asarray(np.maximum(self.centres, np.minimum(middle, _FARTHEST_MIDDLE)))

    def at(self, alpha: Floats) -> "GivenShares":
        """Return what is known given the parameters of all categories: of several laws, a row each, all groups for the first, and so on."""
        total = alpha @ self.possible.T
        kinds, which = np.unique(self.possible, axis=0, return_inverse=True)
        tilt = np.log((total + self._middles) / (self._middles + 1.0)) - self._size_slopes
        of_total = _risen(alpha @ kinds.T, self._totals[0]), which.ravel()
        return self._given(alpha, _risen(alpha, self._points[0]), of_total, tilt)

    def with_shares(self, shares: Floats) -> "GivenShares":
        """Return what is known given the shares themselves, which all groups have alike and in which all categories can occur: a row for
        each.
        """
        (x, _), (n, _) = self._points, self._totals
        tilt = np.broadcast_to(-np.log(self._middles + 1.0) - self._size_slopes, (len(shares), len(self)))
        of_total = np.broadcast_to(-gammaln(n + 1.0), (len(shares), 1, len(n))), np.zeros(len(self), dtype=np.int64)
        return self._given(shares, np.log(shares)[..., None] * x - gammaln(x + 1.0), of_total, tilt)

    def _given(self, alpha: Floats, of_count: Floats, of_total: tuple[Floats, Counts], tilt: Floats) -> "GivenShares":
        """The groups under several laws: logarithms of what counts that differ are multiplied with, and totals divided by.

        The second are given for some kinds of groups, with the kind of each group.
        """
        laws, k = alpha.shape
        logs = of_count[:, np.arange(k)[:, None], self._points[1]]
        logs += self.log_likelihood
        logs -= tilt[:, :, None, None] * np.arange(self.width)
        peak = logs.max(axis=3)
        logs -= peak[..., None]
        totals, place = self._totals
        weight = -of_total[0][:, of_total[1][:, None], place]
        weight += tilt[:, :, None] * (totals[place] - self.low.sum(axis=1)[:, None])
        if self._log_sizes is not None:
            weight += self._log_sizes[place]
        terms = np.exp(logs, out=logs).reshape(laws * len(self), k, -1)
        cells = self if laws == 1 else self.rows(np.tile(np.arange(len(self)), laws))
        by_total = weight.reshape(laws * len(self), -1)
        return GivenShares(cells, np.repeat(alpha, len(self), axis=0), terms, by_total, peak.sum(axis=2).ravel())


def _risen(a: Floats, x: Floats) -> Floats:
    """ln (a)_x/x! for all parameters, on the first axes, and all counts."""
    shape = (*a.shape, len(x))
    return log_rise(np.broadcast_to(a[..., None], shape), np.broadcast_to(x, shape)) - gammaln(a)[..., None]


@dataclass(frozen=True, eq=False)
class GivenShares:
    """The law of the counts of groups given the parameters of the Dirichlet that their shares come from."""

    cells: PooledCells
    alpha: Floats
    """The parameters by group and category."""
    terms: Floats
    """The terms by group, cell and count: the likelihood times (a)_x/x!, up to what is in `log_scale`."""
    log_of_total: Floats
    """The logarithm of the factor by group and total: n!/(A)_n and what is believed about it; of a public size alone."""
    log_scale: Floats

    @property
    def log_evidence(self) -> Floats:
        """The logarithm of the evidence of each group."""
        with np.errstate(divide="ignore"):
            if self.cells.sizes is not None:
                sums = self._completed(*self._sides(range(self.terms.shape[1] - 1))).sum(axis=1)
                return np.asarray(np.log(sums) + self.log_of_total[:, 0] + self.log_scale)
            sums = (self._sums * self.of_total).sum(axis=1)
            return np.asarray(np.log(sums) + self._most_of_total + self.log_scale)

    @cached_property
    def of_total(self) -> Floats:
        """The factor by group and total where sizes are not public, relative to that of the likeliest total."""
        return np.exp(np.minimum(self.log_of_total - self._most_of_total[:, None], _MOST_OF_TOTALS))

    @cached_property
    def _most_of_total(self) -> Floats:
        """Return the logarithm of the factor of the likeliest total: the largest factor can be so far away that this one would be 0."""
        with np.errstate(divide="ignore"):
            likely = np.log(self._sums)
        best = (likely + self.log_of_total).argmax(axis=1)[:, None]
        found = np.take_along_axis(self.log_of_total, best, axis=1)[:, 0]
        return np.where(np.isfinite(found), found, 0.0)

    @cached_property
    def _sums(self) -> Floats:
        """Return the sums of products of terms with the same total."""
        return convolved(*self._sides(range(self.terms.shape[1] - 1)))

    def _completed(self, held: Floats, rest: Floats) -> Floats:
        """Return for each sum of some cells the weight that all others complete it to the public size."""
        assert self.cells.sizes is not None  # noqa: S101
        at = (self.cells.sizes - self.cells.low.sum(axis=1))[:, None] - np.arange(held.shape[1])
        inside = (at >= 0) & (at < rest.shape[1])
        return np.asarray(held * np.take_along_axis(rest, np.where(inside, at, 0), axis=1) * inside)

    def _sides(self, chosen: "range | list[int]") -> tuple[Floats, Floats]:
        """Sums of some cells, and of all others."""
        others = [i for i in range(self.terms.shape[1]) if i not in chosen]
        return self._sum(list(chosen)), self._sum(others)

    def _sum(self, cells: list[int]) -> Floats:
        found = self.terms[:, cells[0]]
        for i in cells[1:]:
            found = convolved(found, self.terms[:, i])
        return found

    def parameters(self, chosen: list[int]) -> tuple[Floats, Floats]:
        """Return the parameters of the share of some categories together, and of all others, in each group."""
        held = np.where(self.cells.possible, self.alpha, 0.0)
        others = [i for i in range(held.shape[1]) if i not in chosen]
        return np.asarray(held[:, chosen].sum(axis=1)), np.asarray(held[:, others].sum(axis=1))

    def moments(self, chosen: list[int]) -> Floats:
        """First and second moments of the share of some categories together, then those of their count: by moment and group."""
        a, b = (each[:, None] for each in self.parameters(chosen))
        held, rest = self._sides(chosen)
        first = self.cells.low[:, chosen].sum(axis=1)[:, None]
        x = first + np.arange(held.shape[1])
        if self.cells.sizes is not None:
            weight = self._completed(held, rest)
            sums = [(weight * x**power).sum(axis=1, keepdims=True) for power in (0, 1, 2)]
            total, law = a + b + self.cells.sizes[:, None], np.ones_like(a)
        else:
            sums = [convolved(held * x**power, rest) for power in (0, 1, 2)]
            total, law = a + b + self.cells.low.sum(axis=1)[:, None] + np.arange(self.of_total.shape[1]), self.of_total
        law = law / (law * sums[0]).sum(axis=1, keepdims=True)
        mean = (a * sums[0] + sums[1]) / total
        square = (a * (a + 1.0) * sums[0] + (2.0 * a + 1.0) * sums[1] + sums[2]) / (total * (total + 1.0))
        return np.stack([(law * each).sum(axis=1) for each in (mean, square, sums[1], sums[2])])

    def lines(self, chosen: list[int]) -> BetaLines:
        """The laws of the share of some categories together where sizes are public."""
        assert self.cells.sizes is not None  # noqa: S101
        weight = self._completed(*self._sides(chosen))
        start, kept, _ = trimmed(weight, _TRIMMED_OF_MIXTURES)
        return BetaLines(kept, self.cells.low[:, chosen].sum(axis=1) + start, self.cells.sizes, *self.parameters(chosen))

    def planes(self, chosen: list[int]) -> BetaPlanes:
        """Return mixtures of Betas where sizes are not public."""
        held, rest = self._sides(chosen)
        by_total = np.lib.stride_tricks.sliding_window_view(self.of_total, rest.shape[1], axis=1)
        first, counts = even_windows(held * np.einsum("gxr,gr->gx", by_total, rest), _TRIMMED_OF_MIXTURES)
        by_total = np.lib.stride_tricks.sliding_window_view(self.of_total, held.shape[1], axis=1)
        least, rests = even_windows(rest * np.einsum("grx,gx->gr", by_total, held), _TRIMMED_OF_MIXTURES)
        pieces = [(held, first, counts), (rest, least, rests), (self.of_total, first + least, counts + rests - 1)]
        x, r, n = (np.take_along_axis(each, start[:, None] + np.arange(many), axis=1) for each, start, many in pieces)
        low = self.cells.low[:, chosen].sum(axis=1)
        return BetaPlanes(x, r, n, low + first, self.cells.low.sum(axis=1) - low + least, *self.parameters(chosen))

    def sample(self, draws: int, rng: np.random.Generator) -> Counts:
        """Joint draws of the counts: by draw, group and cell. The total is drawn first, then one cell after the other."""
        cells = self.terms.shape[1]
        sums = [self.terms[:, 0]]
        for i in range(1, cells):
            sums.append(convolved(sums[-1], self.terms[:, i]))
        found = np.zeros((draws, len(self.cells), cells), dtype=np.int64)
        if self.cells.sizes is None:
            left = drawn((sums[-1] * self.of_total)[None].repeat(draws, axis=0), rng)
        else:
            left = np.broadcast_to(self.cells.sizes - self.cells.low.sum(axis=1), (draws, len(self.cells)))
        group = np.arange(len(self.cells))[:, None]
        for i in range(cells - 1, 0, -1):
            at = left[:, :, None] - np.arange(self.cells.width)
            inside = (at >= 0) & (at < sums[i - 1].shape[1])
            steps = drawn(self.terms[:, i] * sums[i - 1][group, np.where(inside, at, 0)] * inside, rng)
            found[:, :, i], left = self.cells.low[:, i] + steps, left - steps
        found[:, :, 0] = self.cells.low[:, 0] + left
        return found


def convolved(first: Floats, second: Floats) -> Floats:
    """The convolution of each row with its own: sums of products of positive numbers, which lose nothing."""
    short, long = (first, second) if first.shape[1] <= second.shape[1] else (second, first)
    found, size = np.zeros((len(first), first.shape[1] + second.shape[1] - 1)), long.shape[1]
    for j in range(short.shape[1]):
        found[:, j : j + size] += short[:, j, None] * long
    return found


def drawn(weight: Floats, rng: np.random.Generator) -> Counts:
    """A place on the last axis for each row of weights."""
    sums = np.cumsum(weight, axis=-1)
    u = rng.random((*weight.shape[:-1], 1)) * sums[..., -1:]
    return np.asarray((sums <= u).sum(axis=-1))


def _reach(noise: CellNoise, depth: float, sign: int) -> int:
    """Return how far from a noisy count its likelihood is within `depth` of the largest, on one side; that of noise falls on
    either side.
    """
    floor = float(noise.log_factor(np.zeros(1))[0]) - depth
    found = last_inside(lambda d: noise.log_factor(sign * d.astype(np.float64)) >= floor, np.zeros(1, np.int64), np.array([_NO_COUNT]))
    return int(found[0])


def _likely_sizes(noise: CellNoise, base: Counts, prior: SizePrior | None) -> Floats:
    """Return about the most likely size of each group, given its noisy counts and what is believed about sizes.

    The first look is at powers of 2 away from the noisy counts, and the second about the best of them. Noise is likeliest to move a total
    if every cell moves alike, because the logarithm of its probability is concave.
    """
    found = sums = base.sum(axis=1)[:, None].astype(np.float64)
    if prior is None:
        return np.asarray(found[:, 0])
    steps = 2.0 ** np.arange(_MOST_BITS)
    tried = np.hstack([sums, sums - steps, sums + steps, *([] if prior.last is None else [np.full_like(sums, prior.last)])])
    for _ in range(2):
        tried = np.maximum(tried, prior.first)
        each = np.trunc((sums - tried) / base.shape[1])
        best = (prior(tried) + base.shape[1] * noise.log_factor(each)).argmax(axis=1, keepdims=True)
        found = np.take_along_axis(tried, best, axis=1)
        tried = np.hstack([found, np.round(sums + (found - sums) * np.geomspace(0.5, 2.0, _LOOKS_BETWEEN))])
    return np.asarray(found[:, 0])


def merged(cells: PooledCells) -> tuple[PooledCells, Counts]:
    """The groups that differ, and which of them each group is like."""
    keys = [cells.low, cells.log_likelihood.reshape(len(cells), -1), cells.possible]
    whole = np.concatenate([*keys, *([] if cells.sizes is None else [cells.sizes[:, None]])], axis=1)
    _, chosen, inverse = np.unique(whole, axis=0, return_index=True, return_inverse=True)
    return replace(cells.rows(chosen), constant=cells.constant), inverse.ravel()
