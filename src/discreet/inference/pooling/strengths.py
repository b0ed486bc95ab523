"""The law of the mean and the strength of the Dirichlet that groups share: a quadrature for two categories, draws for more.

Points y have ln(strength) and then the logarithms of the shares of all categories but the last, relative to that one. There the prior of
the strength is a logistic density, and so is that of a uniform mean of two categories. Integrals of smooth functions that die away are
sums over a lattice, with an error that falls faster than any power of its step (docs/howto/pooling.md).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log

import numpy as np
from scipy.special import gammaln

from discreet import limits
from discreet.arrays import Floats, Mask
from discreet.errors import RefusedError, TooLargeError

Values = Callable[[Sequence[Floats]], Floats]
"""The logarithm of the density of points, up to a constant: of several at once."""
Key = tuple[float, float]
"""A point of a lattice, in standard deviations from the peak."""

_UNVISITED = 18.0
"""Points of a lattice where the density is below e^-18 of the largest are left out: about 1e-7 of it all."""
_FIRST_STEP, _LATTICE_HALVINGS, _SETTLED = 1.0, 5, 1e-3
"""Steps of the first lattice, in standard deviations; how often they are halved; and the error that is good enough, relative to the sum."""
_NEWTON_STEPS, _LONGEST_STEP, _LEAST_GAIN = 60, 2.0, 1e-3
_LEAST_CURVATURE = 0.05
"""The curvature of a logistic density some two standard deviations from its peak: less is not believed where steps are made."""
_DIFFERENCE_STEP, _LEAST_DIFFERENCE_STEP = 0.25, 0.01
"""Differences for derivatives, in standard deviations: where they find no way up they are made smaller, down to the second."""
_CURVE_PLACES = 8_001
"""Places between which the law of the strength is interpolated."""
_PROPOSAL_FREEDOM, _PROPOSAL_ROUNDS = 6.0, 4
"""Degrees of freedom of the law that hyperparameters are proposed from, and how often it is fitted to what was drawn."""
_FEWEST_EFFECTIVE, _FITTING = 100.0, 0.4
"""Effective draws below which there is no answer, and the part of the draws from which on proposals fit."""


@dataclass(frozen=True)
class Hyperprior:
    """The prior of the common law: the mean is Dirichlet, and the strength s has P(s <= t) = t^shape/(median^shape + t^shape).

    By default the mean is uniform and s has the density 1/(1+s)².
    """

    mean: tuple[float, ...]
    median: float = 1.0
    shape: float = 1.0

    def __str__(self) -> str:
        """Say the prior in words."""
        mean = "is uniform" if set(self.mean) == {1.0} else f"has a Dirichlet({', '.join(f'{a:g}' for a in self.mean)})"
        power = "" if self.shape == 1.0 else f"^{self.shape:g}"
        return f"the common mean {mean}, and the strength s has P(s <= t) = t{power}/({self.median:g}{power} + t{power})"

    def log_density(self, y: Floats) -> Floats:
        """Return the logarithm of the density at points, a row each."""
        lift, shares = self.shape * (y[:, 0] - log(self.median)), np.array(self.mean)
        of_strength = log(self.shape) + lift - 2.0 * np.logaddexp(0.0, lift)
        return np.asarray(of_strength + log_shares(y) @ shares + gammaln(shares.sum()) - gammaln(shares).sum())


def log_shares(y: Floats) -> Floats:
    """The logarithms of the shares of all categories at points, a row each."""
    logits = np.concatenate([y[:, 1:], np.zeros((len(y), 1))], axis=1)
    logits -= logits.max(axis=1, keepdims=True)
    return np.asarray(logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)))


def parameters(y: Floats) -> Floats:
    """Return the parameters of the Dirichlet at points, a row each."""
    return np.asarray(np.exp(y[:, :1] + log_shares(y)))


@dataclass(frozen=True, eq=False)
class Nodes:
    """Points with probabilities: all integrals over the posterior of mean and strength are sums over them."""

    points: Floats
    weight: Floats
    log_evidence: float
    error: float
    """About how far off the evidence is at most, relative to it: what halving the step changed, or the standard error of draws."""
    effective: float | None
    """The number of independent draws that the points are worth; None for a quadrature."""
    main: Mask
    """The points of the lattice before its step was halved, which are as good as all where `error` is small; all points of draws."""
    strength: tuple[Floats, Floats] | None
    """Places of ln(strength), evenly spaced, and its density there; None for draws."""

    @property
    def alpha(self) -> Floats:
        """The parameters of the Dirichlet at each point."""
        return parameters(self.points)


@dataclass(frozen=True, eq=False)
class LogLaw:
    """The law of a number by its logarithm, from its density at places that are evenly spaced: a smooth curve goes through them."""

    places: Floats
    cumulative: Floats
    """The probability up to each place."""

    @staticmethod
    def of(places: Floats, density: Floats) -> "LogLaw":
        """The law, interpolated on the scale of the logarithm of the density."""
        from scipy.interpolate import CubicSpline  # slow to load

        fine = np.linspace(places[0], places[-1], _CURVE_PLACES)
        curve = np.exp(CubicSpline(places, np.log(density))(fine))
        sums = np.concatenate([[0.0], np.cumsum(0.5 * (curve[1:] + curve[:-1]))])
        return LogLaw(fine, sums / sums[-1])

    @property
    def ends(self) -> tuple[float, float]:
        """The first and the last place."""
        return float(self.places[0]), float(self.places[-1])

    def below(self, y: Floats) -> Floats:
        """The probability that the logarithm is at most this."""
        return np.interp(y, self.places, self.cumulative)


# --- the peak ---------------------------------------------------------------------------------------------------------


def peak(values: Values, start: Floats) -> tuple[Floats, Floats]:
    """The point where a density is largest, by Newton's method, and a lower triangle L such that L Lᵀ is about the covariance there."""
    y, size, reach = start.copy(), np.full(len(start), 2.0 * _DIFFERENCE_STEP), _DIFFERENCE_STEP
    for _ in range(_NEWTON_STEPS):
        height, slope, bend = _derivatives(values, y, size)
        curvature, axes = np.linalg.eigh(-bend)
        curvature = np.maximum(curvature, _LEAST_CURVATURE)
        step = axes @ ((axes.T @ slope) / curvature)
        gain = float(slope @ step)
        covariance = (axes / curvature) @ axes.T
        wide, size = size, reach * np.sqrt(np.diag(covariance))
        if gain < _LEAST_GAIN:
            return y, np.linalg.cholesky(covariance)
        step *= min(1.0, _LONGEST_STEP / float(np.abs(step).max()))
        tried = [y + step / 2.0**halving for halving in range(6)]
        for each in tried:
            if float(values([each])[0]) > height:
                y = each
                break
        else:
            if reach < _LEAST_DIFFERENCE_STEP:
                return y, np.linalg.cholesky(covariance)
            reach, size = reach / 4.0, wide / 4.0  # differences were so wide that they saw another slope
    raise RefusedError("the common law of these groups was not found: its likelihood has no peak that Newton's method reaches")


def _derivatives(values: Values, y: Floats, size: Floats) -> tuple[float, Floats, Floats]:
    """The value at a point, its first and its second derivatives, by differences of these sizes."""
    moves, many = np.diag(size), len(y)
    pairs = list(combinations(range(many), 2))
    points = [y, *(y + m for m in moves), *(y - m for m in moves), *(y + moves[i] + moves[j] for i, j in pairs)]
    found = values(points)
    here, up, down = float(found[0]), found[1 : many + 1], found[many + 1 : 2 * many + 1]
    bend = np.diag((up - 2.0 * here + down) / size**2)
    for (i, j), both in zip(pairs, found[2 * many + 1 :].tolist(), strict=True):
        mixed = both - up[i] - up[j] + here  # of third order in the differences, which is good enough for a scale
        bend[i, j] = bend[j, i] = mixed / (size[i] * size[j])
    return here, (up - down) / (2.0 * size), bend


# --- two categories ---------------------------------------------------------------------------------------------------


def quadrature(values: Values, start: Floats) -> Nodes:
    """The posterior of mean and strength on a lattice about its peak, whose step is halved until that changes little."""
    centre, scale = peak(values, start)
    known: dict[Key, float] = {}
    step, coarse = _FIRST_STEP, _flooded(values, known, (centre, scale), _FIRST_STEP)
    for _ in range(_LATTICE_HALVINGS):
        step *= 0.5
        fine = _flooded(values, known, (centre, scale), step)
        highest = max(known.values())
        sums = [float(np.exp(np.array([known[key] for key in keys]) - highest).sum()) for keys in (coarse, fine)]
        error = abs(4.0 * sums[0] / sums[1] - 1.0)
        if error <= _SETTLED:
            break
        coarse = fine
    weight, former = np.exp(np.array([known[key] for key in fine]) - highest), set(coarse)
    main = np.array([key in former for key in fine])
    planes, place = np.unique([first for first, _ in fine], return_inverse=True)
    density = np.bincount(place, weights=weight) / (weight.sum() * step * scale[0, 0])
    evidence = highest + log(weight.sum() * step**2 * float(np.prod(np.diag(scale))))
    strength = centre[0] + scale[0, 0] * planes, density
    return Nodes(centre + np.array(fine) @ scale.T, weight / weight.sum(), evidence, error, None, main, strength)


def _flooded(values: Values, known: dict[Key, float], place_of: tuple[Floats, Floats], step: float) -> list[Key]:
    """The points of a lattice, in steps from the peak, that are not negligible: from one to the next, outwards from the peak."""
    found: dict[tuple[int, int], float] = {}
    front = {(0, 0)}
    while front:
        keys = {place: (step * place[0], step * place[1]) for place in sorted(front)}
        new = [key for key in keys.values() if key not in known]
        if len(known) + len(new) > limits.POOLED_NODES:
            raise TooLargeError(f"the common law of these groups needs more than {limits.POOLED_NODES:,} points of mean and strength")
        points = [place_of[0] + place_of[1] @ np.array(key) for key in new]
        known.update(zip(new, values(points).tolist() if points else [], strict=True))
        found.update({place: known[key] for place, key in keys.items()})
        least = max(known.values()) - _UNVISITED
        front = {near for place in front if found[place] > least for near in _beside(place)} - found.keys()
    return [(step * i, step * j) for (i, j), value in found.items() if value > least]


def _beside(place: tuple[int, int]) -> Iterable[tuple[int, int]]:
    i, j = place
    return (i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)


# --- more categories --------------------------------------------------------------------------------------------------


def weighted_draws(values: Values, start: Floats, draws: int, rng: np.random.Generator) -> Nodes:
    """Draws of mean and strength with weights: proposed from a law with heavy tails that is fitted to them, round by round."""
    centre, scale = peak(values, start)
    for turn in range(_PROPOSAL_ROUNDS):
        points, logs = _proposed(values, centre, scale, draws, rng)
        weight = np.exp(logs - logs.max())
        total = float(weight.sum())
        weight /= total
        effective = float(1.0 / np.square(weight).sum())
        if effective >= _FITTING * draws or turn == _PROPOSAL_ROUNDS - 1:
            break
        centre = weight @ points
        away = points - centre
        scale = np.linalg.cholesky((weight * away.T) @ away + 1e-9 * np.eye(len(centre)))
    if effective < _FEWEST_EFFECTIVE:
        raise RefusedError(
            f"the draws of mean and strength are worth only {effective:.0f} independent ones, and {_FEWEST_EFFECTIVE:.0f} are needed: "
            "put categories together with merged(...)"
        )
    evidence = float(logs.max()) + log(total / draws)
    error = float(np.sqrt(max(1.0 / effective - 1.0 / draws, 0.0)))
    return Nodes(points, weight, evidence, error, effective, np.ones(draws, dtype=np.bool_), None)


def _proposed(values: Values, centre: Floats, scale: Floats, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draws of Student's law about a centre, and the logarithms of how much more likely each is than it was to be proposed."""
    many = len(centre)
    normal = rng.standard_normal((draws, many)) * np.sqrt(_PROPOSAL_FREEDOM / rng.chisquare(_PROPOSAL_FREEDOM, (draws, 1)))
    points = centre + normal @ scale.T
    freedom, size = _PROPOSAL_FREEDOM, float(np.log(np.diag(scale)).sum())
    known = gammaln(0.5 * (freedom + many)) - gammaln(0.5 * freedom) - 0.5 * many * log(freedom * np.pi) - size
    proposal = known - 0.5 * (freedom + many) * np.log1p(np.square(normal).sum(axis=1) / freedom)
    return points, values(list(points)) - proposal
