"""Quantiles of many distributions on (0, 1) at once: Newton's method for whole arrays, on the logit scale, with a check at the end.

Where the distribution function F is within reach of its target p the step is Newton's for `Φ^{-1}(F)`, which is nearly a straight line in
the logit; elsewhere for ln F (ln (1 - F) above the median), which is one in the tails.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln, ndtri

from discreet.arrays import Counts, Floats, Mask
from discreet.model.beta_mixtures import BetaMixture
from discreet.numerics.incomplete_beta import LOGITS
from discreet.numerics.roots import bracketed

Evaluate = Callable[[NDArray[np.int64] | slice, Floats], tuple[Floats, Floats]]
"""For chosen distributions and one logit for each: the probability of what lies on the side of the quantile, and the density."""

_NEAR_PROBITS = 1.5
_ROOT = float(np.sqrt(2.0 * np.pi))
_SHIFT = 4
"""How far arguments of polygamma functions are moved up before their asymptotic series is used."""


def quantiles(evaluate: Evaluate, guess: Floats, tail: float, upper: bool, precision: float) -> tuple[Floats, Floats]:
    """For each distribution the logit with this much probability below it (above it, if `upper`), and how far off that probability is.

    `tail` is at most ½. What is not within `precision` times the tail after all rounds has an error that says so.
    """
    sign = -1.0 if upper else 1.0
    start = np.clip(np.where(np.isfinite(guess), guess, 0.0), LOGITS[0] + 1.0, LOGITS[1] - 1.0)
    error = np.full_like(start, np.inf)

    def look(open_: Counts, at: Floats) -> tuple[Floats, Floats, Mask]:
        mass, density = evaluate(open_ if len(open_) < len(start) else slice(None), at)
        with np.errstate(invalid="ignore"):
            excess = sign * (mass - tail)
            error[open_] = np.where(np.isfinite(excess), np.abs(excess), np.inf)
            done = np.abs(excess) <= precision * tail
            return excess, np.where(done, at, at + sign * _step(mass, density, tail)), done

    return bracketed(look, start, *LOGITS), error


def equal_tailed(
    sides: tuple[Evaluate, Evaluate],
    guesses: tuple[Floats, Floats],
    tail: float,
    precision: float,
    exact: Callable[[int], BetaMixture | None],
) -> tuple[Floats, Floats, Floats]:
    """The points with probability `tail` below and above them, and how far the probability beyond either is from that at most.

    `sides` evaluate what lies below and what lies above a logit, and `guesses` say where to look first. What does not converge is found
    in `exact`, the distribution of one row; None if nothing of it is here, which leaves everything open.
    """
    found = []
    for upper, (evaluate, guess) in enumerate(zip(sides, guesses, strict=True)):
        with np.errstate(over="ignore", invalid="ignore"):  # far beyond a quantile
            logit, error = quantiles(evaluate, guess, tail, bool(upper), precision)
        point = np.asarray(expit(logit))
        for row in np.nonzero(~(error <= precision * tail))[0].tolist():
            mixture = exact(row)
            if mixture is None:
                point[row], error[row] = float(upper), 1.0
                continue
            point[row] = mixture.ppf(1.0 - tail if upper else tail)
            error[row] = abs(float(mixture.sf(point[row]) if upper else mixture.cdf(point[row])) - tail)
        found.append((point, error))
    (low, low_error), (high, high_error) = found
    return low, high, np.maximum(low_error, high_error)


def _step(mass: Floats, density: Floats, tail: float) -> Floats:
    """How far towards the middle of the distribution the quantile is."""
    target = float(ndtri(tail))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        probit = ndtri(mass)
        near = (target - probit) * np.exp(-0.5 * probit * probit) / (_ROOT * density)
        far = (np.log(tail) - np.log(mass)) * mass / density
        return np.where(np.abs(target - probit) < _NEAR_PROBITS, near, far)


def matched_logits(mean: Floats, variance: Floats, tail: float) -> tuple[Floats, Floats]:
    """Nearly the logits of two quantiles, which leave out `tail` on either side, of the one Beta with this mean and variance.

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
    return low, high


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
