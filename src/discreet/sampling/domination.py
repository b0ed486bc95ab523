"""A sum of exponentials that is certainly above g(D) = exp(-c sqrt(1 - e^-D)), and never far above it: the bound behind `mixture`.

g is a mixture of exponentials, g(D) = Σ_m p_m e^{-mD} with p_m >= 0, so it is well matched by few of them: 1 and e^{-MD} for a few whole
numbers M. Which weights are *good* is left to floating point, here or by whoever passes better ones to the sampler. Whether they are
*right* is not: `certify` finds in ball arithmetic by how much any given weights must be raised so that their sum is at least g at 0 and
everywhere from the nearest candidate on.

The powers are chosen so that weights exist whose sum is nowhere more than `MOST_EXCESS` times g (where g is above e^-depth), which
docs/proofs/exactness.md proves for every c and every depth. As the sum is compared with g point by point, that holds for any data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, exp, expm1, inf, log1p, log2, nextafter, sqrt

from flint import arb

from discreet.errors import InternalError
from discreet.numerics.balls import working_precision

MOST_EXCESS = 17.0
"""2e^t + 2 + 4/(1 - e^-t) with t = `_LIFT`, which is 15.5, and 1 for the exponential that holds D = 0: docs/proofs/exactness.md."""

CONSTANT_DEPTH = 7.0
"""The constant term may hold e^-7, a thousandth, of the mass of r = x alone."""

_LIFT = 0.5
"""ln of how far above g an exponential may be where it is nearest to it. From ½ on whole numbers M are close enough to each other."""

_FLAT_FROM = 40.0  # from here on e^-D is below 2^-57 and g is flat
_BEND = 0.004  # how far ln g may leave its chord between neighbouring points of the grid
_HEIGHT_BITS = 96
_DOUBLINGS = 6  # a power 64 times the highest that is needed follows g to where it has fallen by a twentieth
_SEPARATED = 12.0  # at the nearest candidate the last exponential is e^-12 of g, so that it can hold the mass of r = x alone
_HEIGHT_HALVINGS = 80


@dataclass(frozen=True)
class Target:
    """g on {0} and [grid[0], ∞), with the powers used to bound it: 0 for the constant, then growing whole numbers."""

    rate: arb
    grid: tuple[float, ...]
    powers: tuple[int, ...]
    sparse: frozenset[int]
    """The powers with which alone the sum can be kept within `MOST_EXCESS`. The others make the fit better."""
    depth: float
    """The logarithm below which weights may be left to the constant: together such candidates hold little of the mass of r = x."""


def plan(rate: arb, nearest: arb, log_candidates: float) -> Target:
    """Plan where to compare and which exponentials to use; `nearest` > 0 bounds every D but 0 from below, and grid[0] is at most that."""
    c = float(rate.mid())
    first = float(nearest.lower())
    first = first if arb(first) <= nearest.lower() else nextafter(first, 0.0)
    depth = log_candidates + CONSTANT_DEPTH
    height = depth / c
    last = max(first, min(_FLAT_FROM, -log1p(-height * height)) if height < 1.0 else _FLAT_FROM)
    grid = [first]
    while grid[-1] < last:
        grid.append(min(last, grid[-1] + _step(c, grid[-1])))
    sparse = _sparse_powers(c, depth, first)
    return Target(rate, tuple(grid), _with_more(sparse, c, depth, first), frozenset(sparse), depth)


def _step(c: float, divergence: float) -> float:
    """A step over which ln g leaves its chord by about `_BEND`: a chord over a step s errs by s²/8 times the second derivative."""
    fall, squared = exp(-divergence), -expm1(-divergence)
    curvature = c * fall / (2.0 * sqrt(squared)) * (1.0 + fall / (2.0 * squared))
    return min(0.5 * divergence, sqrt(8.0 * _BEND / curvature)) if curvature > 0.0 else 0.5 * divergence


# --- which powers -----------------------------------------------------------------------------------------------------


def _sparse_powers(c: float, depth: float, nearest: float) -> tuple[int, ...]:
    """The constant, and then, from where it ends inwards to the nearest candidate, each time the highest power that leaves no gap."""
    bits = ceil(log2(depth)) // 2 + 3  # fewer digits make tables cheap; so many that neighbours still touch
    powers, reach, inmost = [0], max(0.0, min(1.0, depth / c) - _LIFT / c), sqrt(-expm1(-nearest))
    while reach > inmost:
        highest = int(_highest_power(c, reach))
        short = max(0, highest.bit_length() - bits)
        powers.append(max(powers[-1] + 1, highest >> short << short))
        reach = _reach(c, depth, powers[-1])
    if reach > 0.0:
        separated = (_SEPARATED + min(depth, c * inmost)) / nearest
        powers.append(max(powers[-1] + 1, 1 << max(0, ceil(log2(separated)))))
    return tuple(powers) if len(powers) > 1 else (0, 1)


def _with_more(sparse: tuple[int, ...], c: float, depth: float, nearest: float) -> tuple[int, ...]:
    """Add powers between those that lie far apart, and beside them, down to the least slope of -ln g and up to where they say nothing."""
    end = min(1.0, depth / c)
    powers = {*sparse, max(1, min(sparse[1], int(c * (1.0 - end * end) / (2.0 * end))))}
    useless = (_SEPARATED + min(depth, c)) / nearest
    for low, high in pairwise([*sorted(powers)[1:], sparse[-1] << _DOUBLINGS]):
        powers |= {low << shift for shift in range(1, (high // low).bit_length()) if low << shift < useless}
    return tuple(sorted(powers))


def slowest_powers(depth: float) -> tuple[int, ...]:
    """Powers that lie closer together than the `sparse` ones of any rate at this depth: those of the rate 2 depth."""
    return _sparse_powers(2.0 * depth, 2.0 * depth, 0.0)[1:]


def _contact(c: float, depth: float, power: int | float) -> float:
    """The H at which weight · e^{-power D} is nearest to g, where c H ends at the depth: c(1 - H²) = 2 power H there, or the end."""
    slope = power / c
    return min(1.0, depth / c, 1.0 / (sqrt(slope * slope + 1.0) + slope))


def _height(c: float, power: int | float, distance: float) -> float:
    """ln(e^{-power D} / g(D)) at D = -ln(1 - H²)."""
    return c * distance + (power * log1p(-distance * distance) if power else 0.0)


def _highest_power(c: float, distance: float) -> float:
    """The highest power whose exponential is at most `_LIFT` closer to g somewhere further in than here."""

    def too_high(power: float) -> bool:
        contact = min(distance, _contact(c, c, power))
        return _height(c, power, contact) - _height(c, power, distance) > _LIFT

    low = c * (1.0 - distance * distance) / (2.0 * distance)
    high = 2.0 * low + 2.0
    while not too_high(high):
        low, high = high, 2.0 * high
    for _ in range(_HEIGHT_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if too_high(middle) else (middle, high)
    return low


def _reach(c: float, depth: float, power: int) -> float:
    """Return the H down to which this power's exponential stays within `_LIFT` of its nearest to g; 0 if it does all the way."""
    low, high = 0.0, _contact(c, depth, power)
    top = _height(c, power, high) - _LIFT
    if top <= 0.0:
        return 0.0
    for _ in range(_HEIGHT_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if _height(c, power, middle) >= top else (middle, high)
    return high


# --- which weights ----------------------------------------------------------------------------------------------------


def even_weights(target: Target) -> list[float]:
    """Logarithms of weights with which the `sparse` exponentials all come equally close to g: -inf for the others.

    Up to a common factor their sum is nowhere more than `MOST_EXCESS` times g (docs/proofs/exactness.md).
    """
    c = float(target.rate.mid())
    points = [0.0, *target.grid]
    needed = [-min(target.depth, c * sqrt(-expm1(-point))) for point in points]
    return [
        min(height + power * point for point, height in zip(points, needed, strict=True)) if power in target.sparse else -inf
        for power in target.powers
    ]


# --- the proof --------------------------------------------------------------------------------------------------------


def certify(target: Target, log_weights: Sequence[float], scale: int) -> list[int]:
    """Whole numbers w_M with Σ_M w_M e^{-MD} >= 2^scale g(D) at D = 0 and for every D >= grid[0]. Proof: docs/proofs/exactness.md."""
    with working_precision(_HEIGHT_BITS + target.powers[-1].bit_length()):
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
    total, slope = weights[0], arb(0)
    for exponent, weight in zip(target.powers[1:], weights[1:], strict=True):
        term = weight * (-point * exponent).exp()
        total += term
        slope -= term * exponent
    return -target.rate * (-(-point).expm1()).sqrt(), total.log(), slope / total


def _ceiling(value: arb) -> int:
    """The upper end, rounded up to a whole number."""
    return int(value.upper().ceil().upper().fmpz())
