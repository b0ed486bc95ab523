"""Coverage by exact enumeration: how often an interval holds the probability, over the prior, the data and the noise.

Σ_x DirMult(x) Σ_z P(z | x) P(θ in interval(z) | θ ~ Beta(a + x, b + n - x)), two categories. The laws come from `raw_law`, which shares
no code with the likelihood that the noise-aware posterior uses.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betainc
from scipy.stats import kstest

import discreet as dc
from discreet.arrays import Floats
from discreet.mechanisms import Mechanism
from discreet.validation import Number

TOLERANCE = {"laws": 1e-12, "windows": 1e-11, "a million": 1e-10, "transforms": 1e-11, "mixtures": 1e-10, "quantiles": 1e-10} | {
    "likelihoods": 1e-11,
    "omitted": 1e-25,
    "coverage": 1e-9,
}
"""What the tests allow and docs/howto/reading.md quotes."""


@dataclass(frozen=True)
class Coverage:
    noise_aware: float
    naive: float
    worst: float
    """The largest |coverage - mass| of the noise-aware interval given any one outcome."""


def make(cls: type[Mechanism], prior: dc.Dirichlet | dc.Beta, n: int, epsilon: Number, **options: Any) -> Mechanism:
    """A mechanism by its class, with epsilon written in any way."""
    return dc.mechanism(cls.__name__, prior, n, epsilon, **options)


def ks_p_value(draws: Floats, cdf: Any) -> float:
    """Of draws against a distribution function, by Kolmogorov and Smirnov."""
    return float(kstest(draws, cdf).pvalue)


def release_of(mechanism: Mechanism, raw: tuple[int, ...]) -> dc.Release[tuple[int, ...]]:
    """The record that a draw of this raw outcome would give."""
    counts = tuple(mechanism.report(np.array([raw]))[0].tolist())
    return dc.Release(mechanism, mechanism.guarantee, raw, counts)


def two_categories(prior: dc.Dirichlet | dc.Beta, n: int, epsilon: Number, first: Sequence[int]) -> list[dc.Release]:
    """Releases of one mechanism with two categories, by the noisy counts of the first."""
    mechanism = make(dc.LatticeGeometric, prior, n, epsilon)
    return [release_of(mechanism, (z, n - z)) for z in first]


def _all_outcomes(mechanism: Mechanism, predictive: Floats) -> Iterator[tuple[float, tuple[int, ...], Floats]]:
    """Every outcome with its probability and the posterior of the first count given it."""
    n = mechanism.space.total
    laws = [mechanism._raw_law(np.array([i, n - i])) for i in range(n + 1)]
    joint = predictive[:, None] * np.stack([law.probability for law in laws])
    chance = joint.sum(axis=0)
    for z in np.nonzero(chance > 1e-12)[0]:
        yield float(chance[z]), tuple(laws[0].counts[z].tolist()), joint[:, z] / chance[z]


def _drawn_outcomes(mechanism: Mechanism, predictive: Floats, size: int) -> Iterator[tuple[float, tuple[int, ...], Floats]]:
    """As many outcomes as asked for, drawn, each with the exact posterior given it."""
    n, rng = mechanism.space.total, np.random.default_rng(0)
    for first in rng.choice(n + 1, size=size, p=predictive / predictive.sum()):
        raw = tuple(mechanism._simulate_raw(np.array([first, n - first]), 1, rng)[0].tolist())
        given = predictive * np.exp([mechanism.log_prob([i, n - i], raw) for i in range(n + 1)])
        yield 1.0 / size, raw, given / given.sum()


def coverage(mechanism: Mechanism, mass: float = 0.95, drawn: int | None = None, read_as: Mechanism | None = None) -> Coverage:
    """Over all outcomes, or over this many drawn ones where there are too many; of a reader who may take the mechanism for another."""
    n, (a, b) = mechanism.space.total, mechanism.prior.concentration
    x = np.arange(n + 1)
    predictive = mechanism.prior.predictive(n).pmf(np.stack([x, n - x], axis=-1))
    aware = naive = worst = 0.0
    outcomes = _all_outcomes(mechanism, predictive) if drawn is None else _drawn_outcomes(mechanism, predictive, drawn)
    for chance, raw, given in outcomes:
        release = release_of(read_as or mechanism, raw)
        ends = [p.marginal(mechanism.prior.categories[0]).interval(mass) for p in (release.noise_aware(), release.reported)]
        inside = [float(given @ (betainc(a + x, b + n - x, high) - betainc(a + x, b + n - x, low))) for low, high in ends]
        aware, naive = aware + chance * inside[0], naive + chance * inside[1]
        worst = max(worst, abs(inside[0] - mass))
    return Coverage(aware, naive, worst)
