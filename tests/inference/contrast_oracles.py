"""Oracles of contrasts: probabilities of two Betas, or of two coordinates of a Dirichlet, by Gauss quadrature over θ itself.

With whole-number parameters the integrands for a difference and a ratio are polynomials between kinks, which the rule integrates exactly;
for an odds ratio they are analytic. No oracle uses log-odds, panels or the library.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray
from scipy.special import betainc, betaln

from discreet.inference.quantities import Contrast

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
QUANTITIES = ("difference", "ratio", "odds_ratio")
POINTS = {
    "difference": (-0.9, -0.4, -1e-3, 0.0, 0.05, 0.3, 0.8),
    "ratio": (0.05, 0.5, 0.999, 1.0, 1.3, 4.0, 40.0),
    "odds_ratio": (0.02, 0.5, 0.999, 1.0, 1.3, 4.0, 90.0),
}
Value = Callable[[Floats, Floats], Floats]
leggauss = cache(legendre.leggauss)


def two_sided(q: float, z: int, x: Ints | int, low: int, high: int) -> Floats:
    """P(z | x) of two-sided geometric noise, where all z up to `low` are one outcome and all from `high` on another."""
    away = np.abs(z - np.asarray(x, dtype=np.float64))
    if z <= low or z >= high:
        return np.asarray(q**away / (1.0 + q))
    return np.asarray((1.0 - q) / (1.0 + q) * q**away)


def _rule(ends: list[float], *parameters: Floats) -> tuple[Floats, Floats]:
    """Nodes and weights between these ends and 0 and 1, exact for products of densities and distribution functions of Betas."""
    x, w = leggauss(48 + int(sum(values.max() for values in parameters)) // 2)
    edges = np.unique(np.clip([0.0, *ends, 1.0], 0.0, 1.0))
    middle, half = 0.5 * (edges[1:] + edges[:-1]), 0.5 * np.diff(edges)
    return (middle[:, None] + half[:, None] * x).ravel(), (half[:, None] * w).ravel()


def graded(t: float) -> list[float]:
    """Ends that crowd towards where tθ/(1 - θ + tθ) has a pole just outside of [0, 1], for an odds ratio t far from 1."""
    nearest = min(t, 1.0 / t) if t > 0.0 else 1.0
    steps = [nearest * 3.0**j for j in range(8) if nearest * 3.0**j < 1.0]
    return steps if t > 1.0 else [1.0 - step for step in steps]


def most(quantity: str, t: float, theta: Floats) -> Floats:
    """The largest θ₁ for which the quantity is at most t, given θ₂."""
    if quantity == "difference":
        return theta + t
    return t * theta if quantity == "ratio" else t * theta / (1.0 - theta + t * theta)


def merged(weight: Floats, *parameters: Floats) -> tuple[Floats, ...]:
    """Components with the same parameters as one."""
    unique, which = np.unique(np.stack(parameters, axis=-1), axis=0, return_inverse=True)
    return np.bincount(which.ravel(), weights=weight), *unique.T


@dataclass(frozen=True)
class Pairs:
    """The law of two independent Betas given counts: weights, and the parameters of both."""

    weight: Floats
    a: Floats
    b: Floats
    c: Floats
    d: Floats

    def cdf(self, quantity: str, t: float) -> float:
        """P(quantity <= t)."""
        kinks = {"difference": [-t, 1.0 - t], "ratio": [1.0 / t if t else 1.0], "odds_ratio": graded(t)}[quantity]
        theta, weight = _rule(kinks, self.a, self.b, self.c, self.d)
        bound = np.clip(most(quantity, t, theta), 0.0, 1.0)[:, None]
        density = np.exp((self.c - 1.0) * np.log(theta)[:, None] + (self.d - 1.0) * np.log1p(-theta)[:, None] - betaln(self.c, self.d))
        return float(weight @ (betainc(self.a, self.b, bound) * density) @ self.weight)

    def mean(self, function: Value) -> float:
        """Of a function of θ₁ and θ₂."""
        x, w = _rule([], self.a, self.b, self.c, self.d)
        first, second = (
            np.exp((p - 1.0) * np.log(x)[:, None] + (q - 1.0) * np.log1p(-x)[:, None] - betaln(p, q)) * w[:, None]
            for p, q in ((self.a, self.b), (self.c, self.d))
        )
        return float(((first * self.weight) @ second.T * function(x[:, None], x[None])).sum())


@dataclass(frozen=True)
class Simplex:
    """The law of two coordinates of a Dirichlet given counts: weights, and the parameters of the first, the second and all others."""

    weight: Floats
    p: Floats
    q: Floats
    r: Floats

    def cdf(self, quantity: str, t: float) -> float:
        """P(quantity <= t), by θ_b ~ Beta(q, p + r) and θ_a/(1 - θ_b) ~ Beta(p, r)."""
        kinks = {
            "difference": [-t, 0.5 * (1.0 - t)],
            "ratio": [1.0 / (1.0 + t)],
            "odds_ratio": [1.0 / (1.0 + max(t, 0.0) ** 0.5), *graded(t)],
        }
        theta, weight = _rule(kinks[quantity], self.p, self.q, self.r)
        bound = np.clip(most(quantity, t, theta) / (1.0 - theta), 0.0, 1.0)[:, None]
        rest = self.p + self.r
        density = np.exp((self.q - 1.0) * np.log(theta)[:, None] + (rest - 1.0) * np.log1p(-theta)[:, None] - betaln(self.q, rest))
        inside = betainc(self.p, np.maximum(self.r, 1e-9), bound) if (self.r > 0.0).all() else (bound >= 1.0) * np.ones_like(density)
        return float(weight @ (inside * density) @ self.weight)

    def mean(self, function: Value) -> float:
        """Of a function of θ_a and θ_b, by θ_a and θ_b/(1 - θ_a)."""
        x, w = _rule([], self.p, self.q, self.r)
        first, second = (
            np.exp((p - 1.0) * np.log(x)[:, None] + (q - 1.0) * np.log1p(-x)[:, None] - betaln(p, q)) * w[:, None]
            for p, q in ((self.p, self.q + self.r), (self.q, self.r))
        )
        values = function(x[:, None], (1.0 - x[:, None]) * x[None])
        return float(((first * self.weight) @ second.T * values).sum())


def _difference(x: Floats, y: Floats) -> Floats:
    return x - y


def _ratio(x: Floats, y: Floats) -> Floats:
    return x / y


def _odds_ratio(x: Floats, y: Floats) -> Floats:
    return np.asarray(x * (1.0 - y) / ((1.0 - x) * y))


VALUES: dict[str, Value] = {"difference": _difference, "ratio": _ratio, "odds_ratio": _odds_ratio}


def squared(value: Value, x: Floats, y: Floats) -> Floats:
    return np.asarray(value(x, y) ** 2)


def worst(contrast: Contrast, oracle: Pairs | Simplex) -> float:
    """The largest difference of distribution functions."""
    found = [abs(float(getattr(contrast, name).cdf(t)) - oracle.cdf(name, t)) for name in QUANTITIES for t in POINTS[name]]
    return max(*found, abs(contrast.probability - 1.0 + oracle.cdf("difference", 0.0)))
