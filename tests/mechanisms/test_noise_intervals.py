"""Intervals of the noise alone: how often they hold the true share of the records, by enumeration of the noise for every true count."""

from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest

import discreet as dc
from discreet.mechanisms.noise_intervals import noise_interval
from discreet.numerics.lattice_sums import log_sum_law

LEVELS = (0.5, 0.9, 0.95)
EDGE = 1e-12
"""Rounding of a sum of some thousand probabilities."""


def geometric(slope: float, last: int) -> np.ndarray:
    """The two-sided geometric law on -last .. last, by its definition."""
    weight = np.exp(-slope * np.abs(np.arange(-last, last + 1.0)))
    return np.asarray(weight / weight.sum())


def lattice_marginal(k: int, epsilon: float, cells: int, last: int) -> dict[int, float]:
    """The law of the noise of the first cells of k together, from every noise vector up to `last` that adds up to 0."""
    found: dict[int, float] = {}
    for free in product(range(-last, last + 1), repeat=k - 1):
        noise = (*free, -sum(free))
        found[sum(noise[:cells])] = found.get(sum(noise[:cells]), 0.0) + exp(-epsilon * sum(map(abs, noise)) / 2)
    total = sum(found.values())
    return {d: weight / total for d, weight in found.items()}


def coverage(level: float, law: dict[int, float], n: int, mechanism: dc.Mechanism) -> list[float]:
    """For every true count of the first category, the probability that its interval holds its share of n records."""
    noise, probability = np.array(list(law)), np.array(list(law.values()))
    many = dc.LatticeGeometric(mechanism.prior, [n] * len(noise), mechanism.epsilon, by={"outcome": list(range(len(noise)))})
    held = []
    for x in range(n + 1):
        raw = np.zeros((len(noise), mechanism.k), dtype=np.int64)
        raw[:, 0], raw[:, 1] = x + noise, n - x - noise
        low, high = noise_interval(many, raw, level)[:, 0].T
        held.append(float(probability @ ((low <= x / n) & (x / n <= high))))
    return held


@pytest.mark.parametrize(("k", "epsilon"), [(2, "0.4"), (3, "0.8")])
def test_with_a_public_n_every_true_count_is_held_as_often_as_is_said(k: int, epsilon: str) -> None:
    law, n = lattice_marginal(k, float(epsilon), 1, 90 if k == 2 else 60), 40
    mechanism = dc.LatticeGeometric(dc.Dirichlet.uniform(k), n, epsilon)
    for level in LEVELS:
        held = coverage(level, law, n, mechanism)
        assert min(held) >= level - EDGE
        assert min(held) <= level + 0.2  # and it is not everything


def test_noise_of_a_tenth_more_is_held_less_often_than_is_said() -> None:
    """The control: an interval that takes the noise for a tenth smaller than it is."""
    law, n = lattice_marginal(2, 0.04, 1, 900), 120
    right, narrow = (dc.LatticeGeometric(dc.Dirichlet.uniform(2), n, epsilon) for epsilon in ("0.04", "0.044"))
    assert min(coverage(0.9, law, n, right)) >= 0.9
    assert min(coverage(0.9, law, n, narrow)) < 0.9 - 0.005


@pytest.mark.parametrize("level", LEVELS)
def test_with_a_private_n_the_ratio_is_held_as_often_as_is_said(level: float) -> None:
    last = 45
    law, steps = geometric(0.7, last), np.arange(-last, last + 1)
    noise, probability = np.array(list(product(steps.tolist(), repeat=2))), np.multiply.outer(law, law).ravel()
    many = dc.LatticeGeometric(dc.Dirichlet.uniform(2), None, "0.7", by={"outcome": list(range(len(noise)))})
    for x, y in product(range(0, 12, 2), repeat=2):
        if x + y > 0:
            low, high = noise_interval(many, noise + np.array([x, y]), level)[:, 0].T
            assert probability @ ((low <= x / (x + y)) & (x / (x + y) <= high)) >= level - EDGE


@pytest.mark.parametrize("cells", [1, 2, 3, 7])
@pytest.mark.parametrize("tail", [0.2, 0.025, 1e-6])
def test_the_reach_of_sums_of_independent_noise_against_convolution(cells: int, tail: float) -> None:
    noise, law = dc.LatticeGeometric(dc.Dirichlet.uniform(8), None, "0.3").noise, geometric(0.3, 400)
    whole = law
    for _ in range(cells - 1):
        whole = np.convolve(whole, law)
    centre = len(whole) // 2
    low, high = noise.reach(cells, 8, tail)
    assert low == -high
    assert whole[centre + high + 1 :].sum() <= tail < whole[centre + high :].sum()


@pytest.mark.parametrize(("k", "cells"), [(2, 1), (3, 1), (3, 2), (4, 2)])
def test_the_reach_of_cells_of_a_lattice_against_every_noise_vector(k: int, cells: int) -> None:
    noise, law = dc.LatticeGeometric(dc.Dirichlet.uniform(k), 10, "2").noise, lattice_marginal(k, 2.0, cells, 18)
    for tail in (0.2, 0.025):
        _, high = noise.reach(cells, k, tail)
        assert sum(p for d, p in law.items() if d > high) <= tail < sum(p for d, p in law.items() if d >= high)


@pytest.mark.parametrize("rounding", ["floor", "nearest"])
@pytest.mark.parametrize("name", ["LaplaceHistogram", "LaplaceZhang"])
def test_laplace_noise_is_not_symmetric_and_a_last_count_is_what_is_left(name: str, rounding: str) -> None:
    n, prior = 12, dc.Dirichlet.uniform(3)
    mechanism = dc.mechanism(name, prior, n, "1.5", rounding=rounding)
    noise, steps = mechanism.noise, np.arange(-60, 61)
    assert noise is not None
    law = np.exp(noise.log_factor(steps.astype(np.float64)))
    for level in (0.8, 0.95):
        tail = 0.5 * (1.0 - level)
        low, high = noise.reach(1, 3, tail)
        assert law[steps > high].sum() <= tail < law[steps >= high].sum()
        assert law[steps < low].sum() <= tail < law[steps <= low].sum()
        if noise.cells == 2:
            inside = 0.0
            likely = [(d, p) for d, p in zip(steps.tolist(), law.tolist(), strict=True) if p > 5e-3]
            for (d, p), (e, q) in product(likely, repeat=2):
                ends = noise_interval(mechanism, (5 + d, 3 + e), level)[2]
                inside += p * q * bool(ends[0] <= 4 / n <= ends[1])
            assert inside >= level


def test_a_table_has_the_intervals_of_its_groups() -> None:
    prior, by = dc.Dirichlet.uniform(categories=["a", "b", "c"]), {"region": ["north", "south", "none"]}
    sizes = dc.LatticeGeometric(prior, [50, 20, 0], "0.5", by=by, impossible=[("south", "c")])
    found = noise_interval(sizes, [[30, 15, 5], [12, 8, 0], [0, 0, 0]], 0.9)
    north = noise_interval(dc.LatticeGeometric(prior, 50, "0.5"), (30, 15, 5), 0.9)
    south = noise_interval(dc.LatticeGeometric(dc.Dirichlet.uniform(2), 20, "0.5"), (12, 8), 0.9)
    np.testing.assert_array_equal(found[0], north)
    np.testing.assert_array_equal(found[1], [*south, [0, 0]])
    assert np.isnan(found[2]).all()
    nothing = dc.LatticeGeometric(prior, None, "0.5", by=by, impossible=[("south", "c")])
    one = noise_interval(dc.LatticeGeometric(prior, None, "0.5"), (30, 15, 5), 0.9)
    np.testing.assert_array_equal(noise_interval(nothing, [[30, 15, 5], [12, 8, 0], [0, 0, 0]], 0.9)[0], one)


def test_with_a_public_total_a_group_is_held_as_often_as_is_said() -> None:
    """Two groups of two categories on one lattice: noise of a count and of the rest of its group depend on each other."""
    mechanism = dc.LatticeGeometric(dc.Dirichlet.uniform(2), 30, "2", by={"g": ["x", "y"]})
    truth, inside = np.array([[6, 4], [12, 8]]), 0.0
    weights = {}
    for free in product(range(-12, 13), repeat=3):
        noise = (*free, -sum(free))
        weights[noise] = exp(-1.0 * sum(map(abs, noise)))
    total = sum(weights.values())
    for noise, weight in weights.items():
        if weight / total > 1e-5:  # those that are rarer count as missed
            low, high = noise_interval(mechanism, truth + np.array(noise).reshape(2, 2), 0.9)[0, 0]
            inside += weight / total * bool(low <= 0.6 <= high)
    assert inside >= 0.9


def test_sums_of_many_and_of_wide_noise_are_laws() -> None:
    """One two-sided geometric has a closed form, and the variance of a sum is that of its parts."""
    np.testing.assert_allclose(np.diff(log_sum_law(1, 1e-3)), -1e-3, rtol=1e-9)
    for m, slope in ((2, 3.0), (50, 0.1), (20_000, 1.0)):
        law = np.exp(log_sum_law(m, slope))
        d, r = np.arange(len(law)), exp(-slope)
        variance = 2 * float(law @ d**2) / float(2 * law.sum() - 1)
        assert variance == pytest.approx(2 * m * r / (1 - r) ** 2, rel=1e-9)


def test_what_has_no_interval_is_refused_in_one_line() -> None:
    with pytest.raises(dc.RefusedError, match="depends on the data"):
        noise_interval(dc.mechanism("HellingerLocal", dc.Dirichlet.uniform(2), 20, 1), (12, 8), 0.9)
    with pytest.raises(dc.TooLargeError, match="larger epsilon"):
        noise_interval(dc.LatticeGeometric(dc.Dirichlet.uniform(2), 20, Fraction(1, 10**6)), (12, 8), 0.95)
    release = dc.LatticeGeometric(dc.Dirichlet.uniform(2), 20, 1).release([12, 8])
    assert release.noise_interval(0.9).shape == (2, 2)
    for level in (0, 1, 2):
        with pytest.raises(dc.InvalidInputError, match="level"):
            release.noise_interval(level)
