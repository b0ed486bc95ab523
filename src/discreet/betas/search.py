"""Quantiles of distributions on (0, 1), of one or of many at once, and their shortest intervals.

Quantiles are found by Newton's method on the logit scale, inside brackets that only shrink.
Where the distribution function F is within reach of its target p the step is Newton's for `Φ^{-1}(F)`, which is nearly a straight line in
the logit; elsewhere for ln F (ln (1 - F) above the median), which is one in the tails.

Where the most probable values are one interval, that is the shortest one. Where a density has several peaks they may be several, and the
shortest interval is still well defined. Between its ends and beyond them the density is looked at, to say which of the two it is.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, gammaln, logit, ndtri

from discreet.arrays import Counts, Floats, Mask
from discreet.numerics.gamma import BELOW_ONE, LOGITS, log_gamma_excess, log_ratio_excess
from discreet.numerics.roots import bracketed, crossing

Look = Callable[[Counts, Floats], tuple[Floats, Floats]]
"""A function of the indices of quantiles and a logit for each: what lies beyond it, which is below a lower quantile and above an upper one,
and the density of the logit there."""
Chosen = NDArray[np.int64] | slice
Evaluate = Callable[[Chosen, Floats], tuple[Floats, Floats]]
"""A function of chosen distributions and two logits for each, the lower ones in the first row: what lies below the lower and above the
upper one, and the densities of the logit there. Both are asked for together, because both need the same coefficients.
"""

_LOGIT_PRECISION = 2.0**-51
"""The finest precision of the logit of a quantile, relative to it where it is above 1."""
_ROUNDING = 1e-11
"""Steps that no longer shrink follow rounding errors if they are below this part of the tail."""
_AT_END = 1e-9
"""Logits that are so near to the last one are at it."""
_QUADRATIC = 0.125
"""A step of Newton's that is expected to be shorter than this part of the precision is not made."""
_COPIED = 2
"""Looking at some of many distributions, whose coefficients are copied, takes this many times as long for each as looking at all."""
_NEAR_PROBITS = 1.5
_ROOT = float(np.sqrt(2.0 * np.pi))
_POWER_STRIDE = 16
"""Powers are products of those of every sixteenth exponent and of the exponents below sixteen."""
_SHIFT = 4
"""Arguments of polygamma functions are moved up by this much before their asymptotic series is used."""


class ContinuousLaw(Protocol):
    """The methods that a search for quantiles needs of a distribution on [0, 1]."""

    def pdf(self, x: ArrayLike, /) -> Floats: ...
    def cdf(self, x: ArrayLike, /) -> Floats: ...
    def sf(self, x: ArrayLike, /) -> Floats: ...
    def ppf(self, q: ArrayLike, /) -> Floats: ...


def logit_quantiles(look: Look, guess: Floats, tail: Floats, upper: Mask, precision: float = 0.0) -> tuple[Floats, Floats]:
    """The logits beyond which each of these tails lies, and how far off these probabilities are at the last logits looked at.

    Args:
        look: what lies beyond logits.
        guess: where to look first, one for each quantile.
        tail: the probabilities beyond the quantiles, none above a half.
        upper: which quantiles are above the median, so that what is beyond them lies above.
        precision: relative to the tail, how far off a probability may be. With 0 the search ends where floats do.

    Steps of Newton's shrink as s' = c s², so that the one after s' would be s'³/s². If that is a small part of the precision of a float
    it is not made, unless a precision was asked for, which is looked at. What does not converge has an error that says so.
    """
    start = np.clip(np.where(np.isfinite(guess), guess, 0.0), LOGITS[0] + 1.0, LOGITS[1] - 1.0)
    error, sign = np.full(start.size, np.inf), np.where(upper, -1.0, 1.0)
    next_, last = np.full((2, start.size), np.nan)  # where the last step of Newton's led, and its length

    def newton(open_: Counts, at: Floats) -> tuple[Floats, Floats, Mask]:
        mass, density = look(open_, at)
        target = tail[open_]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            excess = sign[open_] * (mass - target)
            error[open_] = off = np.where(np.isfinite(excess), np.abs(excess), np.inf)
            enough = off <= precision * target
            following = np.where(enough, at, at + sign[open_] * _step(mass, density, target))
            step, least = np.abs(following - at), _LOGIT_PRECISION * np.maximum(1.0, np.abs(at))
            before = np.where(at == next_[open_], last[open_], np.nan)
            at_end = (off <= _ROUNDING * target) & (step > 0.5 * before)
            unneeded = (step**3 <= _QUADRATIC * least * before**2) & (precision == 0.0)
            done = enough | (step <= least) | at_end | unneeded
        next_[open_], last[open_] = following, step
        return excess, following, done

    return bracketed(newton, start, *LOGITS, _LOGIT_PRECISION), error


def quantiles(evaluate: Evaluate, guess: Floats, tail: float, precision: float) -> tuple[Floats, Floats]:
    """Return for each distribution the logits with this much probability below and above them, and how far off these probabilities are.

    `tail` is at most ½. What is not within `precision` times the tail after all rounds has an error that says so.
    """
    latest = guess.copy()
    found = np.empty((2, *latest.shape))

    def look(open_: Counts, at: Floats) -> tuple[Floats, Floats]:
        np.put(latest, open_, at)
        wanted = np.zeros(latest.shape[1], dtype=np.bool_)
        wanted[open_ % latest.shape[1]] = True
        rows = np.flatnonzero(wanted) if _COPIED * np.count_nonzero(wanted) < latest.shape[1] else slice(None)
        found[:, :, rows] = evaluate(rows, latest[:, rows])
        mass, density = found.reshape(2, -1)[:, open_]
        return mass, density

    upper = np.repeat([False, True], latest.shape[1])
    logit, error = logit_quantiles(look, guess.ravel(), np.full(latest.size, tail), upper, precision)
    return logit.reshape(latest.shape), error.reshape(latest.shape)


def equal_tailed(
    evaluate: Evaluate, guesses: Floats, tail: float, precision: float, exact: Callable[[int], ContinuousLaw | None]
) -> tuple[Floats, Floats, Floats]:
    """The points with probability `tail` below and above them, and how far the probability beyond either is from that at most.

    `guesses` say where to look first. What does not converge is found in `exact`, the distribution of one row; None if nothing of it is
    here, which leaves everything open.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # far beyond a quantile
        logit, error = quantiles(evaluate, guesses, tail, precision)
    point, open_ = np.asarray(expit(logit)), ~(error <= precision * tail)
    ends = np.array([logit[0] <= LOGITS[0] + _AT_END, logit[1] >= LOGITS[1] - _AT_END]) & open_ & np.isfinite(error)
    point[1, ends[1]], error[1, ends[1]] = 1.0, tail  # no float lies between such a quantile and 1
    open_ &= ~ends
    for upper, row in np.argwhere(open_).tolist():
        mixture = exact(row)
        if mixture is None:
            point[upper, row], error[upper, row] = float(upper), 1.0
            continue
        point[upper, row] = found = float(mixture.ppf(1.0 - tail if upper else tail))
        error[upper, row] = abs(float(mixture.sf(found) if upper else mixture.cdf(found)) - tail)
    return point[0], point[1], error.max(axis=0)


def mixed(parts: Sequence[tuple[Evaluate, Floats]], size: int) -> Evaluate:
    """Mixtures, so many: each part evaluates that many components for each of its weights, one weight after the other."""

    def evaluate(chosen: Chosen, logit: Floats) -> tuple[Floats, Floats]:
        mass, density = np.zeros((2, *logit.shape))
        rows = np.arange(size)[chosen]
        for part, weight in parts:
            every = (np.arange(len(weight))[:, None] * size + rows).ravel()
            found = part(slice(None) if len(rows) == size else every, np.tile(logit, len(weight)))
            for result, each in zip((mass, density), found, strict=True):
                result += weight @ each.reshape(2, len(weight), -1)
        return mass, density

    return evaluate


class MiddleTerms:
    """The term `t^α (1-t)^β Γ(α+β) / (Γ(α+1) Γ(β))` of one component of each mixture, which all its terms are relative to."""

    def __init__(self, alpha: Floats, beta: Floats) -> None:
        self.parameters = np.stack([alpha, beta])
        self.means = self.parameters / (alpha + beta)
        self.known = log_gamma_excess(alpha + beta) - log_gamma_excess(self.parameters).sum(axis=0) - np.log(alpha)

    def at(self, chosen: Chosen, point: Floats) -> tuple[Floats, Floats, Floats]:
        """Points and 1 less them, as given; both relative to the means, as logarithms; and the logarithms of the terms."""
        means = self.means[:, None, chosen]
        ratio = point / means
        excess = log_ratio_excess((point - means) / means, ratio)
        return point, np.log(ratio), self.known[chosen] + (self.parameters[:, None, chosen] * excess).sum(axis=0)


def powers(step: Floats, place: Counts, size: int) -> Floats:
    """e^{step (j - place)} for j from 0 to size - 1, on a new last axis: products of few exponentials."""
    coarse = np.exp(step[..., None] * (np.arange(0, size, _POWER_STRIDE) - place[:, None]))
    fine = np.exp(step[..., None] * np.arange(_POWER_STRIDE))
    return (coarse[..., None] * fine[..., None, :]).reshape(*step.shape, -1)[..., :size]


def _step(mass: Floats, density: Floats, tail: Floats) -> Floats:
    """Return how far the quantile lies towards the middle of the distribution."""
    target, probit = ndtri(tail), ndtri(mass)
    near = (target - probit) * np.exp(-0.5 * probit * probit) / (_ROOT * density)
    far = (np.log(tail) - np.log(mass)) * mass / density
    return np.where(np.abs(target - probit) < _NEAR_PROBITS, near, far)


def matched_logits(mean: Floats, variance: Floats, tail: float) -> Floats:
    """Return nearly the logits of the quantiles of the Beta with this mean and variance that leave out `tail` on either side.

    By Cornish and Fisher's expansion, or a power of the probability where a parameter is below 1. The cumulants of the logit of a
    Beta(α, β) are differences and sums of polygamma functions of α and β.
    """
    total = np.maximum(mean * (1.0 - mean) / np.maximum(variance, 1e-300) - 1.0, 1e-3)
    alpha, beta = np.maximum(mean * total, 1e-3), np.maximum((1.0 - mean) * total, 1e-3)
    mine, other = _polygammas(alpha), _polygammas(beta)
    centre, third = mine[0] - other[0], mine[2] - other[2]
    square, fourth = mine[1] + other[1], mine[3] + other[3]
    deviation = np.sqrt(square)
    z = -float(ndtri(tail))
    with np.errstate(divide="ignore", invalid="ignore"):
        skew, excess = third / (square * deviation), fourth / square**2
    odd = z + (z**3 - 3.0 * z) / 24.0 * excess - (2.0 * z**3 - 5.0 * z) / 36.0 * skew**2
    even = (z * z - 1.0) / 6.0 * skew
    low, high = centre + deviation * (even - odd), centre + deviation * (even + odd)
    for side, parameter, sign in ((low, alpha, 1.0), (high, beta, -1.0)):
        few = np.nonzero(parameter < 1.0)[0]
        if few.size:
            small, both = parameter[few], (alpha + beta)[few]
            log_beta = gammaln(small) + gammaln(both - small) - gammaln(both)
            power = (np.log(tail) + np.log(small) + log_beta) / small
            side[few] = sign * np.minimum(power, sign * side[few])
    return np.stack([low, high])


def _polygammas(z: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """ψ, ψ', ψ'' and ψ''' to a few digits."""
    sums = [np.zeros_like(z) for _ in range(4)]
    for shift in range(_SHIFT):
        inverse = 1.0 / (z + shift)
        power = inverse
        for order, factor in enumerate((-1.0, 1.0, -2.0, 6.0)):
            sums[order] += factor * power
            power = power * inverse
    far = z + float(_SHIFT)
    inverse = 1.0 / far
    series = (
        np.log(far) - inverse * (0.5 + inverse / 12.0),
        inverse * (1.0 + inverse * (0.5 + inverse / 6.0)),
        -(inverse**2) * (1.0 + inverse * (1.0 + 0.5 * inverse)),
        inverse**3 * (2.0 + inverse * (3.0 + 2.0 * inverse)),
    )
    first, second, third, fourth = (head + tail for head, tail in zip(sums, series, strict=True))
    return first, second, third, fourth


_FIRST_PLACES = 64
"""Places, evenly spaced in log-odds, at which the distribution function is looked at first."""
_OUTSIDE_PLACES = 1e-7
"""Probability beyond the first and the last of them."""
_FINEST_PLACES, _PLACE_HALVINGS = 1.0 / 64, 12
"""The most probability between neighbouring places, and the number of halvings of their distance that are made to reach that."""
_NEARLY = 1.02
"""A shortest interval among places that is this much longer than the shortest of all may still become it."""
_BELOW_PRECISION = 1e-14, 1e-10
"""The absolute and the relative precision of the probability below the interval."""
_DENSITY_TOLERANCE = 1e-6
"""A density counts as above or below that at the ends if it differs by more than this part of it."""
_UNSEARCHED_ENDS = 1e-5
"""Probability at 0 and at 1 in which nothing is looked for: densities may grow without bound there and hold next to nothing."""


def shortest_interval(law: ContinuousLaw, mass: float) -> tuple[float, float, bool]:
    """The shortest interval with this probability, and whether all values in it are more probable than all others."""
    points, below = _places(law)
    start = np.unique(np.concatenate([[0.0], below[below <= 1.0 - mass], (below - mass)[below >= mass], [1.0 - mass]]))
    width = np.interp(start + mass, below, points) - np.interp(start, below, points)
    ends = law.ppf([0.0, mass, 1.0 - mass, 1.0, 0.5 * (1.0 - mass), 0.5 * (1.0 + mass)]).reshape(3, 2)
    candidates = [(float(low), float(high)) for low, high in ([0.0, ends[0, 1]], [ends[1, 0], 1.0], ends[2])]
    candidates += [_refined(law, mass, start, at) for at in _valleys(width)]
    lengths = [high - low for low, high in candidates]
    # An equal-tailed interval is taken where it is as short as any, as under a flat density.
    best = 2 if lengths[2] <= min(lengths) * (1.0 + 1e-12) else int(np.argmin(lengths))
    low, high = candidates[best]
    return low, high, _is_one_region(law, points, low, high)


def _places(law: ContinuousLaw) -> tuple[Floats, Floats]:
    """Points that are close together where the law has its mass, from 0 to 1, and the distribution function there."""
    low, high = np.clip(law.ppf([_OUTSIDE_PLACES, 1.0 - _OUTSIDE_PLACES]), 2.0**-1000, BELOW_ONE)
    u = np.unique(np.linspace(logit(low), logit(high), _FIRST_PLACES))
    below = law.cdf(expit(u))
    for _ in range(_PLACE_HALVINGS):
        wide = np.flatnonzero(np.diff(below) > _FINEST_PLACES)
        if not wide.size:
            break
        between = 0.5 * (u[wide] + u[wide + 1])
        u, below = np.insert(u, wide + 1, between), np.insert(below, wide + 1, law.cdf(expit(between)))
    points, first = np.unique(np.concatenate([[0.0], expit(u), [1.0]]), return_index=True)
    return points, np.maximum.accumulate(np.concatenate([[0.0], below, [1.0]])[first])


def _valleys(width: Floats) -> list[int]:
    """The places between the ends where intervals are shorter than around them, and nearly as short as any."""
    inner = width[1:-1]
    low = (inner <= width[:-2]) & (inner <= width[2:]) & (inner <= _NEARLY * width.min())
    return (1 + np.flatnonzero(low)).tolist() or ([1 + int(np.argmin(inner))] if inner.size else [])


def _refined(law: ContinuousLaw, mass: float, start: Floats, at: int) -> tuple[float, float]:
    """The shortest interval whose lower end leaves out about start[at]: the densities at both ends are the same there."""

    def ends(level: float) -> tuple[float, float]:
        low, high = law.ppf([level, level + mass])
        return float(low), float(high)

    def excess(level: float) -> float:
        low, high = law.pdf(ends(level))
        return float(high - low)

    for reach in (1, 2, 4, 8, 32):  # the length grows with the level where the density at the upper end is the lower one
        first, last = float(start[max(at - reach, 1)]), float(start[min(at + reach, len(start) - 2)])
        if first < last and excess(first) > 0.0 > excess(last):
            return ends(crossing(excess, first, last, *_BELOW_PRECISION))
    return ends(float(start[at]))


def _is_one_region(law: ContinuousLaw, points: Floats, low: float, high: float) -> bool:
    """Return whether the density is higher between the ends than beyond them, but for next to no probability at 0 and 1."""
    edge = law.ppf([_UNSEARCHED_ENDS, 1.0 - _UNSEARCHED_ENDS])
    held = points[(points > edge[0]) & (points < edge[1])]
    inside, outside = held[(held > low) & (held < high)], held[(held < low) | (held > high)]
    limits = [float(law.pdf(end)) for end in (low, high) if 0.0 < end < 1.0]
    if not limits:  # the interval is everything
        return True
    least = law.pdf(inside).min(initial=np.inf)
    most = law.pdf(outside).max(initial=0.0)
    return bool(least >= max(limits) * (1.0 - _DENSITY_TOLERANCE) and most <= min(limits) * (1.0 + _DENSITY_TOLERANCE))
