"""Independent counts that become the posterior of the true counts once their total is fixed, and the windows that carry them.

Where noise is independent by category, the posterior weight of counts x given a raw outcome z is a product,

    w_x  ∝  Π_i g_i(x_i),   g_i(x) = Γ(a_i + x)/x! · P(z_i | x),   on Σ x_i = n.

Multiplying every g_i by e^{λx} changes nothing on that set. With λ such that the means of the g_i e^{λx}, taken as independent laws,
add up to n, each of these laws has its mass in a window that is as wide as the noise, whatever n. One category, the *pivot*, whose law has
the lowest peak, needs none: its count is what the others leave of n. docs/proofs/inference.md bounds the probability outside the windows.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from discreet import limits
from discreet.arrays import Floats
from discreet.errors import TooLargeError
from discreet.inference.groups.tilts import balanced_tilts
from discreet.inference.groups.windows import GroupCells, RiseTable
from discreet.inference.runs import Run
from discreet.numerics.gamma import log_rising
from discreet.numerics.sum_rules import panel_nodes
from discreet.numerics.tails import kept
from discreet.numerics.tilts import balancing_tilt

LogFactor = Callable[[int, Floats], Floats]
"""The log likelihood's part of one category, as a function of its count."""

_NODE_ROOM = 1.05
_EVERY_COUNT_TO = 4096
"""Up to this many records every count is a node."""


@dataclass(frozen=True)
class _Category:
    """One factor g(x) of the product, up to a constant."""

    a: float
    n: int
    kinks: tuple[float, ...]
    """The noisy counts, inside [0, n]: where the log likelihood bends."""
    sides: tuple[float, ...]
    """The slopes that the log likelihood has between them and beyond; 0 without noise."""
    log_likelihood: Callable[[Floats], Floats]
    reference: float
    """A count that logarithms are taken relative to; it changes constants and rounding errors alone."""

    def log_weight(self, x: Floats) -> Floats:
        """ln g(x)."""
        return log_rising(self.a, x, self.reference) + self.log_likelihood(x)

    @cached_property
    def _every(self) -> tuple[Floats, Floats, Floats]:
        x = np.arange(self.n + 1, dtype=np.float64)
        return x, np.ones_like(x), self.log_weight(x)

    def tilted(self, rate: float) -> "_Law":
        """The law g(x) e^{rate x} on nodes."""
        if self.n <= _EVERY_COUNT_TO:
            x, width, log_weight = self._every
        else:
            x, width = self._nodes(rate)
            log_weight = self.log_weight(x)
        log_density = log_weight + rate * (x - self.reference)
        return _Law(self, rate, x, log_density, np.log(width) + log_density)

    def _nodes(self, rate: float) -> tuple[Floats, Floats]:
        """Panels around every place where the law may peak."""
        centres = list(self.kinks)
        for side in self.sides:
            fall = -(rate + side)
            if self.a > 1.0 and fall > 0.0:  # ψ(a + x) - ψ(1 + x) = fall, with ψ(y) = ln(y - ½) nearly
                centres.append(min(max((self.a - 1.0) / np.expm1(min(fall, 700.0)) - 0.5, 0.0), float(self.n)))
        return panel_nodes(self.n, centres)


@dataclass(frozen=True, eq=False)
class _Law:
    """A tilted law: at its nodes, the log density (up to a constant) and the log mass they stand for."""

    category: _Category
    rate: float
    x: Floats
    log_density: Floats
    log_mass: Floats

    @cached_property
    def log_total(self) -> float:
        return float(logsumexp(self.log_mass))

    def mean(self) -> float:
        return float(np.exp(self.log_mass - self.log_total) @ self.x)

    def variance(self) -> float:
        mass = np.exp(self.log_mass - self.log_total)
        return float(mass @ (self.x - self.mean()) ** 2)

    def peak(self) -> float:
        """The highest probability of any one count."""
        return float(np.exp(self.log_density.max() - self.log_total))

    def window(self) -> tuple[int, int]:
        """Counts outside which the nodes hold less than `limits.WINDOW_TAIL` on either side."""
        below, above, _ = kept(np.exp(self.log_mass - self.log_total), limits.WINDOW_TAIL)
        return int(np.floor(self.x[max(below - 1, 0)])), int(np.ceil(self.x[min(above + 1, len(self.x) - 1)]))

    def cells(self, low: int, high: int) -> Run:
        """The probabilities of all counts from low to high."""
        x = np.arange(low, high + 1, dtype=np.float64)
        tilted = self.category.log_weight(x) + self.rate * (x - self.category.reference)
        return Run(low, np.exp(tilted - self.log_total))


@dataclass(frozen=True, eq=False)
class TiltedCategories:
    """Independent laws of all categories but the pivot, on their windows, and the pivot's law of what is left.

    Probabilities are computed when they are first asked for; how many there are is known before.
    """

    n: int
    laws: "list[_Law]"
    pivot: int
    ranges: dict[int, tuple[int, int]]
    """The first and the last count of each window, by category."""

    @property
    def lowest(self) -> int:
        """The least that the windows can add up to."""
        return sum(low for low, _ in self.ranges.values())

    @property
    def highest(self) -> int:
        """The most that the windows can add up to while the pivot has a count."""
        return min(self.n, sum(high for _, high in self.ranges.values()))

    @property
    def widths(self) -> list[int]:
        return [high - low + 1 for low, high in self.ranges.values()]

    @cached_property
    def windows(self) -> dict[int, Run]:
        """Probabilities under the tilted law, by category."""
        return {i: self.laws[i].cells(low, high) for i, (low, high) in self.ranges.items()}

    @cached_property
    def rest(self) -> Run:
        """P_λ(X_pivot = n - s) for every total s that the windows can add up to."""
        return Run(self.lowest, self.laws[self.pivot].cells(self.n - self.highest, self.n - self.lowest).value[::-1].copy())

    @property
    def outside(self) -> float:
        """Upper bound on the tilted probability that some count is outside its window."""
        return 2.0 * limits.WINDOW_TAIL * len(self.ranges)


def tilt(a: Floats, n: int, centres: Floats, slopes: Floats, log_factor: LogFactor) -> TiltedCategories:
    """The tilted laws for `log_factor`, whose part for category i falls with `slopes[i]` on either side of `centres[i]`.

    Where there are several outcomes about the same counts, both have a row for each, and `log_factor` is the sum of their parts.
    """
    laws = _balanced(a, n, np.atleast_2d(centres), np.atleast_2d(slopes), log_factor)
    pivot = int(np.argmin([law.peak() for law in laws]))
    ranges = {i: law.window() for i, law in enumerate(laws) if i != pivot}
    found = TiltedCategories(n, laws, pivot, ranges)
    if found.lowest > found.highest:  # which no draw leads to, but whoever writes a record by hand
        raise TooLargeError(
            "floats do not hold the posterior of this outcome: its noisy counts, n and the prior's parameters are too far apart"
        )
    cells = max(found.highest - found.lowest + 1, *found.widths)
    _check_cells(cells)
    if len(laws) * cells > limits.WINDOW_CONVOLUTIONS or sum(found.widths) > limits.WINDOWS_HELD:
        raise TooLargeError(
            f"the noise spreads the true counts of {len(laws)} categories over up to {cells:,} values: too many for the noise-aware "
            "posterior. Less noise (a larger epsilon) or fewer categories need fewer"
        )
    return found


def check_windows(n: int, slopes: Floats) -> None:
    """Refuse noise that is so wide, falling with these slopes, that the windows of a usual outcome would have too many cells.

    A law e^{-slope |x|} has a part t of its mass beyond ln(1/t)/slope; windows end at the next node, which measured up to 4 % more.
    """
    widths = [_NODE_ROOM * 2.0 * -np.log(limits.WINDOW_TAIL) / slope if slope > 0.0 else float(n) for slope in slopes]
    _check_cells(int(min(float(n), sum(widths) - max(widths))) + 1)


def _check_cells(cells: int) -> None:
    if cells > limits.WINDOW_CELLS:
        raise TooLargeError(
            f"the noise spreads the true counts over {cells:,} values; the noise-aware posterior holds at most {limits.WINDOW_CELLS:,}. "
            "Less noise (a larger epsilon) needs fewer"
        )


def _reference(count: float) -> float:
    """A whole count at or next to this one; not 0, where the slope of ln Γ(a + x) is as large as 1/a."""
    return max(1.0, float(round(count)))


def _balanced(a: Floats, n: int, centres: Floats, slopes: Floats, log_factor: LogFactor) -> list[_Law]:
    """Every category's tilted law, with λ such that the means add up to n; it need only be right to a part of their spread."""

    def category(i: int) -> _Category:
        share = n * float(a[i]) / float(a.sum())  # where strong priors, whose logarithms are large, have their mass
        kinks = np.clip(centres[:, i], 0, n)
        return _Category(float(a[i]), n, *_bends(kinks, slopes[:, i]), lambda x: log_factor(i, x), _reference(share))

    categories = [category(i) for i in range(len(a))]

    def tilted(rate: float) -> tuple[float, float, list[float]]:
        laws = [c.tilted(rate) for c in categories]
        means = [law.mean() for law in laws]
        return sum(means), sum(law.variance() for law in laws), means

    rate, means = balancing_tilt(tilted, n, _close_tilt(a, n, centres, slopes), longest=1.0 + float(slopes.sum(axis=0).max()))
    return [replace(c, reference=_reference(mean)).tilted(rate) for c, mean in zip(categories, means, strict=True)]


def _bends(kinks: Floats, slopes: Floats) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Where Σ -slope |kink - x| bends, and its slopes: what the kinks above x add, less what those below do."""
    order = np.argsort(kinks, kind="stable")
    passed = 2.0 * np.concatenate([[0.0], np.cumsum(slopes[order])])
    return tuple(kinks[order].tolist()), tuple((float(slopes.sum()) - passed).tolist())


def _close_tilt(a: Floats, n: int, centres: Floats, slopes: Floats) -> float:
    """A tilt that is good for noise that falls with these slopes from its centre on; 0 where some count carries no noise.

    Several outcomes are taken for one in their middle, with all their slopes.
    """
    slope = slopes.sum(axis=0)
    if not (slope == slope[0]).all() or slope[0] == 0.0:
        return 0.0
    top = np.full((1, len(a)), n)
    middle = (np.clip(centres, 0, n) * slopes).sum(axis=0) / slope if len(slopes) > 1 else centres[0]
    z = np.clip(np.rint(middle), 0, n).astype(np.int64)[None]
    cells = GroupCells(z, a[None], float(slope[0]), top, RiseTable(a, min(n, _EVERY_COUNT_TO)))
    return float(balanced_tilts(cells, np.array([n]))[0])
