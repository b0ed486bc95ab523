"""Widths of the noise-aware intervals of many raw outcomes at once, for planning (docs/planning.md).

`inference` reads one outcome as exactly as floats allow. A plan reads thousands, and an error of a part in a thousand does no harm. So
the same law, `w_x ∝ Π_i g_i(x_i)` on a fixed or a private total, is put on a grid: each count's factor, under a tilt that makes the
means add up, is summed over cells of equal length, and the sum of all other counts comes from Fourier transforms. Cells are single
counts where the noise is narrow, and up to a fiftieth of its width where it is not.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from discreet.arrays import Counts, Floats
from discreet.mechanisms.noise import CellNoise
from discreet.numerics.gamma import log_gamma_ratio, log_rising
from discreet.numerics.sum_rules import spreading_steps
from discreet.planning.mixture_widths import interval_widths

Complex = NDArray[np.complex128]

_SIZES = ((30, 640, 17, 0.75), (100, 320, 11, 0.75), (1 << 62, 192, 3, 1.7))
"""Up to how many categories: the cells that each count's window is cut into at most, half as many where the total is private; then how many
totals stand for all of a private one, and how far from each other they are, in standard deviations. Of many categories one says little
of the total."""
_BLOCKS = 48
"""Blocks of cells that a mixture is made of, given each total, where the total is private."""
_ROUNDS, _NARROW = 5, 0.6
"""Totals are looked for anew, at most so often, if they lie within less than this part of the deviation that was expected."""
_NEGLIGIBLE_TOTAL = 1e-5
"""A total with less than this part of the largest weight is left out."""
_TAIL = 1e-8
"""Tilted probability left out on each side of a window."""
_BLOCKS_TAIL = 1e-6
"""Probability left out on each side where cells are put together to blocks."""
_DENSE, _GROWTH = 3, 1.7
"""Nodes that windows are found with: all counts this near a place where a law may peak, then in geometric progression."""
_DEVIATIONS = 14.0
"""Standard deviations of the total that a transform is at least as long as, so that it does not run into itself."""
_TILTS = 80
_NEAR = 0.25
"""The means need to add up to a part of a standard deviation: a tilt changes where windows lie, and no probability."""
_FEW_KINDS = 12
"""Different prior parameters up to which cells near 0 are added up exactly, one parameter after the other."""
_HELD = 3_000_000
"""Cells of all transforms that are held at a time."""
_SINGLE = 64
"""Cells from 0 on whose prior weights are added up exactly: a power of the count may be steep there."""


@dataclass(frozen=True, eq=False)
class OutcomeReader:
    """Someone who sees a raw outcome and knows the prior, the noise and n, or that n is private (with a flat prior of its own)."""

    a: Floats
    """The prior's concentrations."""
    n: int | None
    noise: CellNoise
    guess: int
    """About how many records there are."""

    def widths(self, raw: Counts, targets: Counts, mass: float) -> Floats:
        """The widths of the intervals of the target categories (a row of them for each outcome, and so many columns)."""
        cells, totals, _ = _sizes(len(self.a))
        size = max(1, _HELD // (len(self.a) * cells * 4 * (1 if self.n is not None else totals)))
        parts = []
        for start in range(0, len(raw), size):
            centres = np.zeros((len(raw[start : start + size]), len(self.a)))
            centres[:, : raw.shape[1]] = raw[start : start + size]
            read = self._of_any_total if self.n is None else self._of_fixed_total
            parts.append(read(centres, targets[start : start + size], mass))
        return np.concatenate(parts)

    @property
    def _far(self) -> float:
        """Tilts beyond this leave no count but the first or the last."""
        return 60.0 + float(np.abs(np.log(self.a)).max())

    def _of_fixed_total(self, centres: Floats, targets: Counts, mass: float) -> Floats:
        nodes, n = _Nodes.of(self, centres), np.full(len(centres), float(self.n or 0))
        rate = nodes.balanced(n, self._far)
        grid = _Grid.of(self, centres, nodes, rate, n)
        return _flat_widths(*grid.mixtures(targets), mass)

    def _of_any_total(self, centres: Floats, targets: Counts, mass: float) -> Floats:
        """A mixture over totals, of which some stand for all; given one, the law is that of a fixed total."""
        nodes = _Nodes.of(self, centres)
        deviation = np.full(len(centres), np.sqrt(2.0 * len(self.a)) / self.noise.slope + 1.0)
        n, rate, log_weight, log_count = nodes.totals(float(self.a.sum()), self._far, np.maximum(centres.sum(axis=1), 0.0), deviation)
        kept = log_weight > log_weight.max(axis=1, keepdims=True) + np.log(_NEGLIGIBLE_TOTAL)
        draw = np.nonzero(kept)[0]
        logs, shape = np.full(n.shape, -np.inf), (*n.shape, targets.shape[1], _BLOCKS)
        filled = [np.full(shape, fill) for fill in (0.0, 1.0, 1.0, 0.0)]
        held = max(1, _HELD // (len(self.a) * _sizes(len(self.a))[0] * 4))
        for part in np.array_split(np.stack(np.nonzero(kept)), -(-len(draw) // held), axis=1):
            row, at = part
            grid = _Grid.of(self, centres[row], nodes.taken(row), rate[row, at], n[row, at])
            logs[row, at] = grid.log_probability() - rate[row, at] * n[row, at]
            for whole, piece in zip(filled, _coarse(*grid.mixtures(targets[row]), _BLOCKS), strict=True):
                whole[row, at] = piece
        logs = logs - log_rising(float(self.a.sum()), n, 1.0) + log_count
        share = np.exp(logs - logs.max(axis=1, keepdims=True))
        filled[0] *= share[..., None, None]
        weight, first, second, spread = (np.moveaxis(part, 1, 2).reshape(*targets.shape, -1) for part in filled)
        return _flat_widths(weight, first, second, spread, mass)

    def log_likelihood(self, centres: Floats, x: Floats) -> Floats:
        """The log likelihood of every count's own noisy one; the last may have none."""
        logs = self.noise.log_factor(centres[..., None] - x)
        logs[:, self.noise.cells :] = 0.0
        return logs

    def log_prior(self, x: Floats, *, whole: Floats | None = None) -> Floats:
        """ln Γ(a + x)/x! by category, up to a constant; with `whole`, of the sum over the cells of that length that begin at x."""
        distinct = np.unique(self.a)
        if len(distinct) > _FEW_KINDS:
            a = self.a[None, :, None]
            middle = x if whole is None else x + 0.5 * (whole - 1.0)
            reference = np.maximum(1.0, np.rint(self.guess * a / self.a.sum()))
            logs = log_gamma_ratio(1.0 + middle, a - 1.0) - log_gamma_ratio(1.0 + reference, a - 1.0)
            return logs if whole is None else logs + np.log(whole)
        result = np.empty_like(x)
        for a in distinct:
            held = self.a == a
            reference = max(1.0, round(self.guess * float(a) / float(self.a.sum())))
            at = x[:, held]
            result[:, held] = log_rising(float(a), at, reference) if whole is None else _cell_sums(float(a), at, whole, reference)
        return result


def _cell_sums(a: float, x: Floats, length: Floats, reference: float) -> Floats:
    """ln Σ Γ(a + y)/y! over y = x, ..., x + length - 1: Γ(a + m)/(a Γ(m)) is the sum below m; far from 0, the middle times the length."""
    middle = log_rising(a, x + 0.5 * (length - 1.0), reference) + np.log(length)
    near = (length > 1.0) & (x < _SINGLE * length)
    if not near.any():
        return middle
    start, size = x[near], np.broadcast_to(length, x.shape)[near]
    with np.errstate(divide="ignore", invalid="ignore"):
        end = log_rising(a, start + size, reference) + np.log((start + size) / a)
        before = np.where(start > 0.0, log_rising(a, np.maximum(start, 1.0), reference) + np.log(start / a), -np.inf)
        middle[near] = end + np.log(-np.expm1(np.minimum(before - end, -1e-12)))
    return middle


@dataclass(frozen=True, eq=False)
class _Nodes:
    """Counts at which every factor is looked at (outcome, category, node) and the log of the weight of the counts they stand for."""

    x: Floats
    log_mass: Floats
    slope: float

    @classmethod
    def of(cls, reader: OutcomeReader, centres: Floats) -> "_Nodes":
        a, slope = reader.a, reader.noise.slope
        total = np.full(len(centres), float(reader.n)) if reader.n is not None else np.maximum(centres.sum(axis=1), 1.0)
        reach = float(reader.n) if reader.n is not None else float(max(centres.max(), 1.0) + 80.0 / slope + 80.0)
        peaks = np.stack([np.clip(centres, 0.0, reach), np.rint(np.minimum(total[:, None] * (a / a.sum()), reach))], axis=-1)
        steps = spreading_steps(reach, _DENSE, _GROWTH)
        around = np.concatenate([-steps[:0:-1], steps])
        x = np.concatenate([np.broadcast_to(steps, (*centres.shape, len(steps))), *(peaks[..., [i]] + around for i in range(2))], axis=-1)
        x = np.sort(np.clip(np.rint(x), 0.0, reach), axis=-1)
        gap = np.diff(x, axis=-1)
        width = np.ones_like(x)
        width[..., :-1] += 0.5 * np.maximum(gap - 1.0, 0.0)
        width[..., 1:] += 0.5 * np.maximum(gap - 1.0, 0.0)
        width[..., 1:][gap == 0.0] -= 1.0
        with np.errstate(divide="ignore"):
            return cls(x, reader.log_prior(x) + reader.log_likelihood(centres, x) + np.log(width), slope)

    def masses(self, rate: Floats) -> Floats:
        """The probabilities of the nodes of every category under a tilt for each outcome."""
        logs = self.log_mass + rate[:, None, None] * self.x
        mass = np.exp(logs - logs.max(axis=-1, keepdims=True))
        return np.asarray(mass / mass.sum(axis=-1, keepdims=True))

    def moments(self, rate: Floats) -> tuple[Floats, Floats]:
        """The mean and the variance of the total under a tilt."""
        mass = self.masses(rate)
        mean = (mass * self.x).sum(axis=-1)
        return mean.sum(axis=-1), (mass * (self.x - mean[..., None]) ** 2).sum(axis=(-2, -1))

    def taken(self, rows: Counts) -> "_Nodes":
        """The nodes of these outcomes."""
        return _Nodes(self.x[rows], self.log_mass[rows], self.slope)

    def balanced(self, n: Floats, far: float) -> Floats:
        """For each outcome a tilt under which the means add up to its n, or nearly; no tilt is beyond `far`."""
        rate = np.zeros(len(self.x))
        low, high = np.full_like(rate, -far), np.full_like(rate, far)
        open_ = np.arange(len(rate))
        for _ in range(_TILTS):
            mean, variance = self.taken(open_).moments(rate[open_])
            excess, at = mean - n[open_], rate[open_]
            low[open_], high[open_] = np.where(excess < 0.0, at, low[open_]), np.where(excess > 0.0, at, high[open_])
            newton = at - excess / np.maximum(variance, 1e-12)
            inside = (newton > low[open_]) & (newton < high[open_])
            missed = np.abs(excess) > _NEAR * np.sqrt(variance) + _NEAR
            rate[open_] = np.where(missed, np.where(inside, newton, 0.5 * (low[open_] + high[open_])), at)
            open_ = open_[missed]
            if not open_.size:
                break
        return rate

    def totals(self, whole: float, far: float, centre: Floats, deviation: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """For each outcome totals that stand for all, ascending; for each a tilt, its log weight, and the log of how many it stands for.

        The weight of a total n is n!/Γ(A + n) e^{-λn} Z(λ) P_λ(n) under any tilt λ; here P_λ is taken for normal. Totals are looked for
        within some deviations of a centre; where they turn out to be much nearer to each other, again within as many of their own.
        """
        for _ in range(_ROUNDS):
            n = _totals_around(centre, deviation, self.x.shape[1])
            repeated = self.taken(np.repeat(np.arange(len(n)), n.shape[1]))
            rate = repeated.balanced(n.ravel(), far)
            logs = repeated.log_weights(rate, n.ravel()).reshape(n.shape) - log_rising(whole, n, 1.0)
            gap = np.diff(n, axis=1)
            count = np.ones_like(n)
            count[:, :-1] += 0.5 * np.maximum(gap - 1.0, 0.0)
            count[:, 1:] += 0.5 * np.maximum(gap - 1.0, 0.0)
            count[:, 1:][gap == 0.0] -= 1.0
            with np.errstate(divide="ignore"):
                log_count = np.log(np.maximum(count, 0.0))
            logs = logs + log_count
            share = np.exp(logs - logs.max(axis=1, keepdims=True))
            share /= share.sum(axis=1, keepdims=True)
            mean = (share * n).sum(axis=1)
            found = np.sqrt((share * (n - mean[:, None]) ** 2).sum(axis=1))
            narrow = found < _NARROW * deviation
            if not narrow.any():
                break
            centre = np.where(narrow, mean, centre)
            deviation = np.where(narrow, np.maximum(found, 0.15 * deviation), deviation)
        return n, rate.reshape(n.shape), logs, log_count

    def log_weights(self, rate: Floats, n: Floats) -> Floats:
        """ln e^{-λn} Z(λ) P_λ(n) with a normal P_λ."""
        mean, variance = self.moments(rate)
        logs = self.log_mass + rate[:, None, None] * self.x
        height = logs.max(axis=-1)
        constant = (height + np.log(np.exp(logs - height[..., None]).sum(axis=-1))).sum(axis=-1)
        return np.asarray(constant - rate * n + _log_normal(n - mean, variance))

    def windows(self, rate: Floats) -> tuple[Floats, Floats, Floats]:
        """The first and the last count of every category's window, and the variance of the total."""
        mass = self.masses(rate)
        below = (np.cumsum(mass, axis=-1) < _TAIL).sum(axis=-1)
        above = self.x.shape[-1] - 1 - (np.cumsum(mass[..., ::-1], axis=-1) < _TAIL).sum(axis=-1)
        low = np.take_along_axis(self.x, np.maximum(below - 1, 0)[..., None], axis=-1)[..., 0]
        high = np.take_along_axis(self.x, np.minimum(above + 1, self.x.shape[-1] - 1)[..., None], axis=-1)[..., 0]
        mean = (mass * self.x).sum(axis=-1)
        return low, high, (mass * (self.x - mean[..., None]) ** 2).sum(axis=(-2, -1))


@dataclass(frozen=True, eq=False)
class _Grid:
    """The tilted law of every count on cells of one length for each outcome, and its transform."""

    reader: OutcomeReader
    low: Floats
    """The first count of each window, by outcome and category."""
    length: Floats
    """Counts in a cell, by outcome."""
    mass: Floats
    """The weight of every cell, by outcome, category and cell."""
    size: int
    """Length of the transforms."""

    n: Floats
    """The total of each outcome's counts."""
    log_constant: Floats
    """ln Z(λ), by outcome."""

    @classmethod
    def of(cls, reader: OutcomeReader, centres: Floats, nodes: _Nodes, rate: Floats, n: Floats) -> "_Grid":
        low, high, variance = nodes.windows(rate)
        low, high = _completed(low, high, n)
        widest = (high - low + 1.0).max(axis=-1)
        length = np.ceil(widest / (_sizes(len(reader.a))[0] // (1 if reader.n is not None else 2)))
        cells = int(np.ceil(widest / length).max())
        x = low[..., None] + length[:, None, None] * np.arange(cells)
        middle = x + 0.5 * (length[:, None, None] - 1.0)
        logs = reader.log_prior(x, whole=length[:, None, None]) + reader.log_likelihood(centres, middle) + rate[:, None, None] * middle
        logs = np.where(x <= n[:, None, None], logs, -np.inf)
        height = logs.max(axis=-1, keepdims=True)
        mass = np.exp(logs - height)
        constant = (height[..., 0] + np.log(mass.sum(axis=-1))).sum(axis=-1)
        spread = float((np.sqrt(variance) / length).max())
        size = next_fast_len(int(min(len(reader.a) * cells, 2 * cells + _DEVIATIONS * spread)) + 1, real=True)
        return cls(reader, low, length, mass / mass.sum(axis=-1, keepdims=True), size, n, constant)

    @cached_property
    def _left(self) -> Counts:
        """How many cells beyond its first one the total is."""
        k = self.mass.shape[1]
        return np.asarray(
            np.rint((self.n - self.low.sum(axis=1) - 0.5 * k * (self.length - 1.0)) / self.length).astype(np.int64), dtype=np.int64
        )

    @cached_property
    def _transform(self) -> Complex:
        return np.asarray(rfft(self.mass, self.size, axis=-1))

    def log_probability(self) -> Floats:
        """ln Z(λ) P_λ(total = n), by outcome: the sums over cells are closer than those over nodes."""
        law = irfft(np.prod(self._transform, axis=1), self.size, axis=-1)
        at = np.where(self._left >= 0, law[np.arange(len(law)), self._left % self.size], 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(self.log_constant + np.log(np.maximum(at, 0.0) / self.length))

    def _others(self, targets: Counts) -> Floats:
        """For each outcome and target the law of the sum of all other counts, in cells from the sum of their first counts on."""
        before, after = np.ones_like(self._transform), np.ones_like(self._transform)
        np.cumprod(self._transform[:, :-1], axis=1, out=before[:, 1:])
        np.cumprod(self._transform[:, :0:-1], axis=1, out=after[:, -2::-1])
        rows = np.arange(len(targets))[:, None]
        return np.maximum(irfft(before[rows, targets] * after[rows, targets], self.size, axis=-1), 0.0)

    def mixtures(self, targets: Counts) -> tuple[Floats, Floats, Floats, Floats]:
        """For each outcome and target the mixture of Betas: weights, both parameters, and the variance of what a cell stands for."""
        rows, cells, whole = np.arange(len(targets))[:, None], self.mass.shape[-1], float(self.reader.a.sum())
        n, length = self.n[:, None, None], self.length[:, None, None]
        position = (self._left[:, None] - np.arange(cells)) % self.size
        possible = (self._left[:, None] >= np.arange(cells))[:, None, :]
        rest = np.take_along_axis(self._others(targets), np.broadcast_to(position[:, None, :], (*targets.shape, cells)), axis=-1)
        own = self.mass[rows, targets]
        weight = own * np.where(possible, rest, 0.0)
        weight = np.where(weight.sum(axis=-1, keepdims=True) > 0.0, weight, own)
        x = np.minimum(self.low[rows, targets][..., None] + length * np.arange(cells) + 0.5 * (length - 1.0), n)
        a, spread = self.reader.a[targets][..., None], (length**2 - 1.0) / 12.0 / (n + whole) ** 2
        return weight / weight.sum(axis=-1, keepdims=True), a + x, whole - a + (n - x), np.broadcast_to(spread, weight.shape)


def _sizes(k: int) -> tuple[int, int, float]:
    """Cells, totals and their distance for so many categories."""
    return next(rest for most, *rest in _SIZES if k <= most)  # type: ignore[return-value]


def _totals_around(centre: Floats, deviation: Floats, k: int) -> Floats:
    """Whole numbers around a centre, for each outcome: evenly spaced, or, where they reach 0, denser near it."""
    _, size, step = _sizes(k)
    part, reach = np.linspace(0.0, 1.0, size), 0.5 * step * (size - 1)
    low, high = centre - reach * deviation, centre + reach * deviation
    even = low[:, None] + (high - low)[:, None] * part
    return np.rint(np.where((low > 0.0)[:, None], even, high[:, None] * part**2))


def _log_normal(away: Floats, variance: Floats) -> Floats:
    held = np.maximum(variance, 1e-3)
    return np.asarray(-0.5 * away**2 / held - 0.5 * np.log(2.0 * np.pi * held))


def _completed(low: Floats, high: Floats, n: Floats) -> tuple[Floats, Floats]:
    """The windows, the widest of each outcome cut to what the others can leave of n."""
    rows, pivot = np.arange(len(low)), np.argmax(high - low, axis=1)
    others_low, others_high = low.sum(axis=1) - low[rows, pivot], high.sum(axis=1) - high[rows, pivot]
    low, high = low.copy(), high.copy()
    first, last = np.maximum(low[rows, pivot], n - others_high), np.minimum(high[rows, pivot], n - others_low)
    kept = first <= last
    low[rows, pivot], high[rows, pivot] = np.where(kept, first, low[rows, pivot]), np.where(kept, last, high[rows, pivot])
    return low, high


def _coarse(weight: Floats, a: Floats, b: Floats, spread: Floats, most: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Mixtures of as many components at most, each of which stands for consecutive ones: with their mean, and wider by their variance."""
    total, centre = a + b, (weight * a).sum(axis=-1, keepdims=True)
    away = a - centre
    sums = [np.cumsum(np.concatenate([np.zeros((*weight.shape[:-1], 1)), part], axis=-1), axis=-1)
            for part in (weight, weight * away, weight * away**2)]  # fmt: skip
    first = np.maximum((sums[0] < _BLOCKS_TAIL).sum(axis=-1) - 1, 0)
    last = np.minimum((sums[0] < 1.0 - _BLOCKS_TAIL).sum(axis=-1), weight.shape[-1])
    even = np.rint(first[..., None] + (last - first)[..., None] * np.linspace(0.0, 1.0, most // 2 + 1)).astype(np.int64)
    # Half of the edges are spaced evenly, half by probability: narrow blocks where most of it is, such as near 0.
    levels = (np.arange(most // 2) + 0.5) / (most // 2)
    by_level = np.stack([(sums[0] < level).sum(axis=-1) for level in levels], axis=-1)
    edges = np.sort(np.concatenate([even, np.clip(by_level, first[..., None], last[..., None])], axis=-1), axis=-1)
    share, moment, square = (np.diff(np.take_along_axis(part, edges, axis=-1), axis=-1) for part in sums)
    held = np.maximum(share, 1e-300)
    mean = np.where(share > 0.0, moment / held, 0.0)
    variance = np.where(share > 0.0, np.maximum(square / held - mean**2, 0.0), 0.0)
    a, total = np.clip(centre + mean, a[..., :1], a[..., -1:]), total[..., :1]
    return np.maximum(share, 0.0), a, total - a, spread[..., :1] + variance / total**2


def _flat_widths(weight: Floats, a: Floats, b: Floats, spread: Floats, mass: float) -> Floats:
    """`interval_widths` of mixtures by outcome and target."""
    shape = weight.shape[:-1]
    flat = [np.broadcast_to(part, weight.shape).reshape(-1, weight.shape[-1]) for part in (weight, a, b, spread)]
    return interval_widths(flat[0], flat[1], flat[2], mass, flat[3]).reshape(shape)
