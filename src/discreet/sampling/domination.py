"""A sum of exponentials that is certainly above g(D) = exp(-c sqrt(1 - e^-D)): the bound behind the sampler of `mixture`.

g is a mixture of exponentials, g(D) = Σ_m p_m e^{-mD} with p_m >= 0 (DESIGN section 5), so it is well matched by few of them: here 1 and
e^{-MD} for powers of two M. Which weights are *good* is left to floating point. Whether they are *right* is not: `certify` finds in ball
arithmetic by how much any given weights must be raised so that their sum is at least g at 0 and everywhere from the nearest candidate on.
Weights that went wrong would cost time, never exactness.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, exp, expm1, floor, log1p, log2, nextafter, sqrt

import numpy as np
from flint import arb

from discreet.errors import InternalError
from discreet.numerics import Floats, working_precision

__all__ = ["Target", "certify", "cheap_weights", "plan"]

_FAR = 40.0  # from here on e^-D is below 2^-57 and g is flat
_FLOOR = 7.0  # the constant term may hold e^-7, a thousandth, of the mass of r = x alone
_BEND = 0.004  # how far ln g may leave its chord between neighbouring points of the grid
_PRECISION = 96
_SEPARATED = 12.0  # at the nearest candidate the last exponential is e^-12 of g, so that it can hold the mass of r = x alone
_SWEEPS = 2
_NEXT_TO_NOTHING = 1e-12
_TAIL = 2.0**12  # Σ_{m > M} p_m <= c/√(πM): about 1 % of the weight lies beyond M = 4096 c²


@dataclass(frozen=True)
class Target:
    """g on {0} and [grid[0], ∞), with the powers used to bound it: 0 for the constant, then powers of two."""

    rate: arb
    grid: tuple[float, ...]
    powers: tuple[int, ...]
    depth: float
    """What falls below e^-depth may be left to the constant: all candidates together then hold little of the mass of r = x."""


def plan(rate: arb, nearest: arb, log_candidates: float) -> Target:
    """Where to compare and which exponentials to use; `nearest` > 0 bounds every D but 0 from below, and grid[0] is at most that."""
    c = float(rate.mid())
    first = float(nearest.lower())
    first = first if arb(first) <= nearest.lower() else nextafter(first, 0.0)
    depth = log_candidates + _FLOOR
    height = depth / c
    last = max(first, min(_FAR, -log1p(-height * height)) if height < 1.0 else _FAR)
    grid = [first]
    while grid[-1] < last:
        grid.append(min(last, grid[-1] + _step(c, grid[-1])))
    separated = (_SEPARATED + min(depth, c * sqrt(-expm1(-first)))) / first
    highest = max(0, ceil(log2(min(separated, _TAIL * (c * c + 1.0)))))
    lowest = min(highest, max(0, floor(log2(0.25 / last))))
    return Target(rate, tuple(grid), (0, *(1 << j for j in range(lowest, highest + 1))), depth)


def _step(c: float, divergence: float) -> float:
    """A step over which ln g leaves its chord by about `_BEND`: a chord over a step s errs by s²/8 times the second derivative."""
    fall, squared = exp(-divergence), -expm1(-divergence)
    curvature = c * fall / (2.0 * sqrt(squared)) * (1.0 + fall / (2.0 * squared))
    return min(0.5 * divergence, sqrt(8.0 * _BEND / curvature)) if curvature > 0.0 else 0.5 * divergence


def cheap_weights(target: Target, log_masses: Sequence[float]) -> list[float]:
    """Weights whose sum is at least about g on the grid, at about the least total of weight × mass: logarithms, many of them -inf.

    A least-squares fit is close to g wherever powers of two can be. What it lacks, mostly far out where no mass is left, is made up for
    by the exponential that does it at the least mass. Then each weight, the costliest first, is lowered as far as the others allow.
    """
    c = float(target.rate.mid())
    points = np.concatenate([[0.0], target.grid])
    # ln (e^{-M D} / g(D)), in logarithms throughout: the weights of a proposal may be thousands of orders of magnitude apart.
    ratio = np.minimum(target.depth, c * np.sqrt(-np.expm1(-points)))[:, None] - np.outer(points, np.array(target.powers, dtype=np.float64))
    masses = np.array(log_masses)
    least = np.full(masses.size, -np.inf)
    least[0] = -ratio[:, 0].max()  # the constant alone must cover what lies beyond the grid
    weights = np.maximum(_fitted(ratio), least)
    cheapest = (masses - ratio).argmin(axis=1)
    lacking = _log_lack(ratio, weights)[:, None] - ratio
    weights = np.logaddexp(weights, np.where(cheapest[:, None] == np.arange(masses.size), lacking, -np.inf).max(axis=0))
    for _ in range(_SWEEPS):
        for j in np.argsort(-(weights + masses)):
            rest = np.where(np.arange(masses.size) == j, -np.inf, weights)
            weights[j] = max(least[j], (_log_lack(ratio, rest) - ratio[:, j]).max())
    return [float(w) for w in weights]


def _fitted(ratio: Floats) -> Floats:
    """Logarithms of weights that bring the sum near g in relative terms; none, if the fit fails."""
    from scipy.optimize import nnls  # slow to load

    scale = ratio.max(axis=0)
    with np.errstate(divide="ignore"):
        try:
            return np.asarray(np.log(nnls(np.exp(ratio - scale), np.ones(len(ratio)))[0]) - scale)
        except (RuntimeError, ValueError):  # too many iterations, a singular matrix
            return np.full(scale.size, -np.inf)


def _log_lack(ratio: Floats, weights: Floats) -> Floats:
    """ln of the share of g that the sum lacks, at each point of the grid; -inf where it is next to nothing."""
    used = weights > -np.inf
    lack = 1.0 - np.exp(np.minimum(ratio[:, used] + weights[used], 1.0)).sum(axis=1)
    missing = lack > _NEXT_TO_NOTHING
    return np.where(missing, np.log(np.where(missing, lack, 1.0)), -np.inf)


def certify(target: Target, log_weights: Sequence[float], scale: int) -> list[int]:
    """Whole numbers w_M with Σ_M w_M e^{-MD} >= 2^scale g(D) at D = 0 and for every D >= grid[0]. The proof is in docs/exactness.md."""
    with working_precision(_PRECISION + target.powers[-1].bit_length()):  # e^-D is squared once for each bit of the highest power
        weights = [arb(w).exp() if w > float("-inf") else arb(0) for w in log_weights]
        excess = _deficit(target, weights).exp() * arb(2) ** scale
        return [_ceiling(excess * w) for w in weights]


def _deficit(target: Target, weights: list[arb]) -> arb:
    """An upper bound of max ln g(D) - ln Σ_M w_M e^{-MD}, by chords above the convex ln g and tangents below the convex ln Σ."""
    curves = [(arb(point), *_curve(target, weights, arb(point))) for point in target.grid]
    worst = -sum(weights, arb(0)).log()  # D = 0, where g = 1
    worst = worst.max(curves[-1][1] - weights[0].log())  # beyond the grid g is below its last value, the sum above its constant
    for (left, g_left, sum_left, slope_left), (right, g_right, sum_right, slope_right) in pairwise(curves):
        split = ((slope_right * (right - left) - (sum_right - sum_left)) / (slope_right - slope_left)).mid()  # where the tangents meet
        split = split if 0 < split < right - left else (right - left) / 2
        chord = g_left + (g_right - g_left) * split / (right - left)
        for deficit in (g_left - sum_left, chord - sum_left - slope_left * split):
            worst = worst.max(deficit)
        for deficit in (g_right - sum_right, chord - sum_right + slope_right * (right - left - split)):
            worst = worst.max(deficit)
    worst = worst.max(curves[0][1] - curves[0][2]).upper()
    if not worst.is_finite():
        raise InternalError("the bound of the proposal could not be certified; nothing was released")
    return worst


def _curve(target: Target, weights: list[arb], point: arb) -> tuple[arb, arb, arb]:
    """ln g, ln Σ_M w_M e^{-MD} and the derivative of the latter at one D."""
    decay = (-point).exp()
    total, slope = weights[0], arb(0)
    power, value = 1, decay
    for exponent, weight in zip(target.powers[1:], weights[1:], strict=True):
        while power < exponent:
            power, value = 2 * power, value * value
        term = weight * value
        total += term
        slope -= term * exponent
    return -target.rate * (-(-point).expm1()).sqrt(), total.log(), slope / total


def _ceiling(value: arb) -> int:
    """The upper end, rounded up to a whole number."""
    return int(value.upper().ceil().upper().fmpz())
