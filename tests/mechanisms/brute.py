"""Oracles for mechanisms: laws, reports and losses by loops over the definitions (docs/explain/mechanisms.md). discreet is not used."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from math import comb, exp, log

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

Outcome = tuple[int, ...]
Probabilities = dict[Outcome, float]
Prior = tuple[Fraction, ...]

PRECISION = 200
"""Bits: distances as small as 1e-4 keep 20 digits after every cancellation."""


def lattice(n: int, k: int) -> list[Outcome]:
    """Every vector of k counts that add up to n."""
    if k == 1:
        return [(n,)]
    return [(first, *rest) for first in range(n + 1) for rest in lattice(n - first, k - 1)]


def neighbours(x: Outcome) -> list[Outcome]:
    """Every dataset with one record replaced."""
    moves = [(i, j) for i in range(len(x)) for j in range(len(x)) if i != j and x[i] >= 1]
    return [tuple(c - (m == i) + (m == j) for m, c in enumerate(x)) for i, j in moves]


def moved(x: Outcome, y: Outcome) -> int:
    """How many records must be replaced to get from x to y."""
    return sum(abs(c - d) for c, d in zip(x, y, strict=True)) // 2


# --- distances and sensitivities --------------------------------------------------------------------------------------


@cache
def _log_gamma(doubled: Fraction) -> arb:
    with ctx.workprec(PRECISION):
        half = doubled / 2
        return arb(fmpq(half.numerator, half.denominator)).lgamma()


@cache
def hellinger(prior: Prior, x: Outcome, y: Outcome) -> float:
    """sqrt(1 - ∫ sqrt(p q)) for p = Dir(a + x), q = Dir(a + y) of equal totals, from the normalisers of p, q and sqrt(p q)."""
    if x == y:
        return 0.0
    if x > y:
        return hellinger(prior, y, x)
    with ctx.workprec(PRECISION):
        exponent = arb(0)
        for a, c, d in zip(prior, x, y, strict=True):
            if c != d:
                exponent += _log_gamma(2 * a + c + d) - (_log_gamma(2 * (a + c)) + _log_gamma(2 * (a + d))) / 2
        return float((-exponent.expm1()).sqrt())


@cache
def local_sensitivity(prior: Prior, x: Outcome) -> float:
    """The most that the score of any candidate can change when one record is replaced."""
    candidates = lattice(sum(x), len(x))
    return max(abs(hellinger(prior, x, r) - hellinger(prior, y, r)) for y in neighbours(x) for r in candidates)


def scale(name: str, prior: Prior, x: Outcome, epsilon: float, gamma: float, delta: float) -> float:
    """What ε H is divided by in the exponent."""
    world = lattice(sum(x), len(x))
    if name == "HellingerGlobal":
        return 2.0 * max(local_sensitivity(prior, y) for y in world)
    if name == "HellingerLocal":
        return 2.0 * local_sensitivity(prior, x)
    if name == "HellingerSmooth":
        return 2.0 * (1.0 + gamma) * max(1.0 / (1.0 / local_sensitivity(prior, y) + gamma * moved(x, y)) for y in world)
    candidates = comb(sum(x) + len(x) - 1, len(x) - 1)
    beta = log(1.0 - epsilon / (2.0 * log(delta / (2.0 * candidates))))
    return 2.0 * max(local_sensitivity(prior, y) * exp(-beta * moved(x, y)) for y in world)


# --- laws -------------------------------------------------------------------------------------------------------------


def exponential_law(prior: Prior, x: Outcome, rate: float) -> Probabilities:
    """Candidates with probability proportional to exp(-rate H)."""
    weight = {r: exp(-rate * hellinger(prior, x, r)) for r in lattice(sum(x), len(x))}
    total = sum(weight.values())
    return {r: w / total for r, w in weight.items()}


def _laplace_cdf(y: float, b: float) -> float:
    return 0.5 * exp(y / b) if y < 0.0 else 1.0 - 0.5 * exp(-y / b)


def clamped_count(x: int, n: int, b: float, rounding: str) -> list[float]:
    """P(clamp(round(x + Lap(b))) = v) for v = 0 .. n; `round` takes [v, v+1) or [v-½, v+½) to v."""
    start = 0.0 if rounding == "floor" else -0.5
    edges = [_laplace_cdf(v + start - x, b) for v in range(1, n + 1)]
    below = [0.0, *edges]
    return [high - low for low, high in zip(below, [*edges, 1.0], strict=True)]


def cut(noisy: Sequence[int], n: int) -> Outcome:
    """Left to right, each is cut to what is left of n; the last takes the rest."""
    left, reported = n, []
    for count in noisy:
        taken = min(max(count, 0), left)
        reported.append(taken)
        left -= taken
    return (*reported, left)


def laplace_law(x: Outcome, b: float, *, noised: int, rounding: str = "floor", report: Callable[[Outcome], Outcome]) -> Probabilities:
    """Independent noise on the first counts, clamped, then reported."""
    n = sum(x)
    single = [clamped_count(c, n, b, rounding) for c in x[:noised]]
    law: Probabilities = {}
    for noisy in product(range(n + 1), repeat=noised):
        probability = 1.0
        for table, value in zip(single, noisy, strict=True):
            probability *= table[value]
        law[report(noisy)] = law.get(report(noisy), 0.0) + probability
    return law


def lattice_noise(k: int, reach: int) -> Iterator[Outcome]:
    """Integer vectors with total 0 and at most `reach` records moved."""
    for free in product(range(-reach, reach + 1), repeat=k - 1):
        noise = (*free, -sum(free))
        if sum(abs(d) for d in noise) <= 2 * reach:
            yield noise


def lattice_law(x: Outcome, epsilon: float, report: Callable[[Outcome], Outcome]) -> Probabilities:
    """Noise with weight exp(-ε moved), out to where what is left is below 1e-15 of the whole."""
    reach = int((36.0 + 5.0 * len(x)) / epsilon) + 2
    law: Probabilities = {}
    total = 0.0
    for noise in lattice_noise(len(x), reach):
        weight = exp(-epsilon * sum(abs(d) for d in noise) / 2.0)
        total += weight
        reported = report(tuple(c + d for c, d in zip(x, noise, strict=True)))
        law[reported] = law.get(reported, 0.0) + weight
    return {r: w / total for r, w in law.items()}


@cache
def nearest_counts(z: Outcome, n: int) -> Outcome:
    """The Euclidean projection to the simplex by trying every set of categories that may stay positive, then largest remainder.

    All in units of 1/60, so that thresholds are whole for up to six categories. Ties go to the larger count, then to the first.
    """
    k, unit = len(z), 60
    best: tuple[int, list[int]] | None = None
    for members in product((False, True), repeat=k):
        size = sum(members)
        if size == 0:
            continue
        threshold = unit * (sum(c for c, m in zip(z, members, strict=True) if m) - n) // size
        point = [unit * c - threshold if m else 0 for c, m in zip(z, members, strict=True)]
        if min(point) >= 0:
            distance = sum((p - unit * c) ** 2 for p, c in zip(point, z, strict=True))
            if best is None or distance < best[0]:
                best = (distance, point)
    assert best is not None
    reported = [p // unit for p in best[1]]
    order = sorted(range(k), key=lambda i: (-(best[1][i] % unit), -z[i], i))
    for i in order[: n - sum(reported)]:
        reported[i] += 1
    return tuple(reported)


# --- privacy and accuracy ---------------------------------------------------------------------------------------------


def worst_loss(laws: dict[Outcome, Probabilities]) -> float:
    """The largest |ln P_x(r)/P_x'(r)| over neighbours and outcomes."""
    return max(abs(log(laws[x][r] / laws[y][r])) for x in laws for y in neighbours(x) for r in laws[x])


def predictive(prior: Prior, n: int) -> Probabilities:
    """The Dirichlet-multinomial probabilities of all datasets: n!/Πx! · B(a + x)/B(a)."""
    with ctx.workprec(PRECISION):
        whole = sum(prior, Fraction(0))

        def log_probability(x: Outcome) -> arb:
            value = _log_gamma(Fraction(2 * (n + 1))) + _log_gamma(2 * whole) - _log_gamma(2 * (whole + n))
            for a, c in zip(prior, x, strict=True):
                value += _log_gamma(2 * (a + c)) - _log_gamma(2 * a) - _log_gamma(Fraction(2 * (c + 1)))
            return value

        return {x: float(log_probability(x).exp()) for x in lattice(n, len(prior))}


def expected_errors(prior: Prior, n: int, likelihood: Callable[[Outcome], float]) -> dict[Outcome, float]:
    """E[H(Dir(a + X), Dir(a + r)) | z] for every candidate r, X from the prior predictive."""
    weight = {x: p * likelihood(x) for x, p in predictive(prior, n).items()}
    total = sum(weight.values())
    return {r: sum(w * hellinger(prior, x, r) for x, w in weight.items()) / total for r in lattice(n, len(prior))}


def as_dict(counts: NDArray[np.int64], probability: NDArray[np.float64]) -> Probabilities:
    """A law of discreet as a dictionary; an outcome listed twice is an error."""
    law = {tuple(int(c) for c in row): float(p) for row, p in zip(counts, probability, strict=True)}
    assert len(law) == len(counts)
    return law


def largest_difference(one: Probabilities, other: Probabilities) -> float:
    """The largest difference between two laws, at any outcome of either."""
    return max(abs(one.get(r, 0.0) - other.get(r, 0.0)) for r in one.keys() | other.keys())
