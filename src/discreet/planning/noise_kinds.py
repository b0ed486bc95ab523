"""The noise of a count in several tables under one ε: by parts of ε, composed under a δ, and Gaussian (docs/explain/mechanisms.md)."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, sqrt

import numpy as np
from scipy.special import gammaln, log_ndtr

from discreet.numerics.roots import crossing
from discreet.validation import Number, Public, check_delta, check_moderate, check_public, check_records


@dataclass(frozen=True)
class NoiseKinds:
    """The standard deviation of the noise of a count, where all of so many tables have equal parts of one ε."""

    tables: int
    epsilon: Fraction
    delta: Fraction
    pure: float
    """Geometric noise with a part of ε for each table, which add up: δ is 0."""
    composed: float
    """Geometric noise with more than a part of ε each, so that all tables together keep ε with this δ."""
    gaussian: float
    """Gaussian noise with the same ε and δ for all tables together."""

    @property
    def least(self) -> str:
        """The name of the kind with the least noise; the one without a δ if none has less."""
        return min(("pure", "composed", "gaussian"), key=lambda name: float(getattr(self, name)) * (1.0 if name == "pure" else 1.001))


def noise_kinds(tables: int, epsilon: Number, delta: Number = "1e-6", *, public: Public = "nothing") -> NoiseKinds:
    """Compare three kinds of noise for this many tables, by public numbers alone.

    Args:
        tables: How many tables are released.
        epsilon: ε of all tables together.
        delta: δ of all tables together, which the first kind does not use.
        public: What is public: a record that is replaced changes two counts of a table.

    Raises:
        InvalidInputError: An argument is not what is said above.
    """
    many, level, least = check_records(tables, "tables"), check_moderate(epsilon, "epsilon"), check_delta(delta)
    changed = 1 if check_public(public) == "nothing" else 2
    part = float(level) / max(many, 1)
    composed = _largest(lambda one: _composed_delta(many, one, float(level)), part, float(least))
    strength = _largest(lambda mu: _gaussian_delta(mu, float(level)), 1e-6 * min(1.0, float(level)), float(least))
    pure, between = (_geometric_deviation(one / changed) for one in (part, composed))
    return NoiseKinds(many, level, least, pure, between, sqrt(many * changed) / strength)


def _largest(delta: Callable[[float], float], start: float, allowed: float) -> float:
    """The largest number from the start on with at most this δ, which grows with it; the start if it has more."""
    end = start
    while delta(end) < allowed:
        end *= 2.0
    return end if end == start else crossing(lambda number: delta(number) - allowed, 0.5 * end, end, 1e-15 * end)


def _composed_delta(tables: int, part: float, epsilon: float) -> float:
    """δ of so many releases together, each of which loses `part` or gains it: no release with that ε loses more."""
    grows = np.arange(tables + 1.0)
    logs = gammaln(tables + 1.0) - gammaln(grows + 1.0) - gammaln(tables - grows + 1.0)
    logs = logs + grows * part - tables * float(np.logaddexp(0.0, part))
    return float(np.exp(logs) @ -np.expm1(np.minimum(0.0, epsilon - (2.0 * grows - tables) * part)))


def _gaussian_delta(mu: float, epsilon: float) -> float:
    """δ of Gaussian noise whose deviation is 1/mu of the distance of two datasets: that of many counts is hardly discrete."""
    return exp(float(log_ndtr(mu / 2.0 - epsilon / mu))) - exp(min(epsilon + float(log_ndtr(-mu / 2.0 - epsilon / mu)), 0.0))


def _geometric_deviation(slope: float) -> float:
    return sqrt(2.0 * exp(-slope)) / -expm1(-slope)
