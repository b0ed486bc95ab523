"""Bracketed roots and balancing tilts. Oracle: `scipy.optimize.brentq`, on functions with known shapes."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import brentq

from discreet.arrays import Counts, Floats, Mask
from discreet.numerics.roots import CLOSE, NewtonStep, balancing_tilt, balancing_tilts, bracketed, crossing, last_inside

PRECISION = 1e-14
Function = Callable[[Floats, Floats], Floats]
FUNCTIONS: dict[str, tuple[Function, Function]] = {
    "cubic": (lambda x, c: x**3 + x - c, lambda x, _: 3.0 * x**2 + 1.0),
    "exponential": (lambda x, c: np.expm1(x) - c, lambda x, _: np.exp(x)),
    "saturating": (lambda x, c: np.tanh(x - c) + 0.5, lambda x, c: np.cosh(np.clip(x - c, -300.0, 300.0)) ** -2.0),
    "root with a pole of its slope": (lambda x, c: np.cbrt(x - c), lambda x, c: np.abs(x - c) ** (-2.0 / 3.0) / 3.0),
    "flat": (lambda x, c: (x - c) ** 9, lambda x, c: 9.0 * (x - c) ** 8),
}
"""Growing functions of a point and a parameter, with their slopes; Newton's method by itself fails for the last three."""


def newtons(function: Function, slope: Function, parameter: Floats, seen: list[int]) -> NewtonStep:
    """Newton's steps, done where they are short; how many functions were looked at is put into `seen`."""

    def look(rows: Counts, at: Floats) -> tuple[Floats, Floats, Mask]:
        seen.append(len(rows))
        with np.errstate(all="ignore"):
            value = function(at, parameter[rows])
            following = at - value / slope(at, parameter[rows])
        return value, following, np.abs(following - at) <= PRECISION * np.maximum(1.0, np.abs(at))

    return look


@pytest.mark.parametrize("name", FUNCTIONS)
def test_many_roots_at_once_are_those_of_brent(name: str) -> None:
    function, slope = FUNCTIONS[name]
    rng = np.random.default_rng(1)
    parameter, start = rng.uniform(-3.0, 3.0, 40), rng.uniform(-50.0, 50.0, 40)
    parameter = parameter if name != "exponential" else np.abs(parameter)
    seen: list[int] = []
    found = bracketed(newtons(function, slope, parameter, seen), start, -60.0, 60.0)
    expected = [
        brentq(lambda x, c=c: float(function(np.array(x), np.array(c))), -60.0, 60.0, xtol=1e-15, maxiter=1000) for c in parameter.tolist()
    ]
    assert np.abs(found - expected).max() < (1e-11 if name != "flat" else 1e-3)  # the ninth power of 1e-3 is 1e-27
    assert seen[0] == 40
    assert min(seen) < 40  # those that are done are not looked at again


@pytest.mark.parametrize("factor", [1e9, 1e-9, -1.0, np.nan])
def test_a_slope_that_is_wrong_costs_rounds_and_no_digits(factor: float) -> None:
    """Also where every step is much too short: after some patience the bracket is halved."""
    parameter, seen = np.array([0.3, -2.0]), list[int]()
    look = newtons(lambda x, c: np.arctan(x - c), lambda x, c: factor / (1.0 + (x - c) ** 2), parameter, seen)

    def stubborn(rows: Counts, at: Floats) -> tuple[Floats, Floats, Mask]:
        value, following, _ = look(rows, at)
        return value, following, np.zeros(len(rows), dtype=np.bool_)

    assert bracketed(stubborn, np.array([40.0, 40.0]), -1e3, 1e3) == pytest.approx(parameter, abs=1e-12)
    assert len(seen) < 200


def test_without_its_brackets_newtons_method_is_lost() -> None:
    """The negative control: the same steps, unguarded, leave every bound."""
    function, slope = FUNCTIONS["saturating"]
    look = newtons(function, slope, np.zeros(1), [])
    at = np.array([3.0])
    for _ in range(5):
        at = look(np.zeros(1, dtype=np.int64), at)[1]
    assert not np.abs(at[0]) < 1e3


def test_infinite_ends_are_walked_towards() -> None:
    function, slope = FUNCTIONS["cubic"]
    parameter = np.array([1e12, -1e12, 5.0])
    found = bracketed(newtons(function, slope, parameter, []), np.zeros(3), -np.inf, np.inf)
    assert found**3 + found == pytest.approx(parameter)

    def blind(rows: Counts, at: Floats) -> tuple[Floats, Floats, Mask]:
        return at - 1e6, np.full(len(rows), np.nan), np.zeros(len(rows), dtype=np.bool_)

    assert bracketed(blind, np.zeros(1), -np.inf, np.inf)[0] == pytest.approx(1e6)


def test_a_bracket_that_is_short_enough_is_the_end() -> None:
    seen: list[int] = []

    def blind(rows: Counts, at: Floats) -> tuple[Floats, Floats, Mask]:
        seen.append(len(rows))
        return at - np.array([0.123, 1234.5])[rows], np.full(len(rows), np.nan), np.zeros(len(rows), dtype=np.bool_)

    found = bracketed(blind, np.array([0.5, 500.0]), 0.0, 2048.0, np.array([1e-3, 1e-3]))
    assert np.abs(found - [0.123, 1234.5]).max() <= 1e-3 * 1234.5
    assert np.abs(found[0] - 0.123) <= 1e-3
    assert len(seen) <= 22


def test_a_root_that_is_met_is_kept() -> None:
    """And its function is not looked at again."""
    seen: list[list[int]] = []

    def look(rows: Counts, at: Floats) -> tuple[Floats, Floats, Mask]:
        seen.append(rows.tolist())
        return at - 0.5, np.full(len(rows), 7.0), np.zeros(len(rows), dtype=np.bool_)

    assert bracketed(look, np.array([0.5, 0.25]), 0.0, 1.0).tolist() == [0.5, 0.5]
    assert seen[0] == [0, 1]
    assert all(rows == [1] for rows in seen[1:])


def test_a_bracket_that_holds_no_other_float_is_the_end() -> None:
    """A function that jumps from below 0 to above it has no root; 53 halvings of the bracket leave two floats next to each other."""
    seen: list[int] = []

    def look(rows: Counts, at: Floats) -> tuple[Floats, Floats, Mask]:
        seen.append(len(rows))
        return np.where(at < 0.7, -1.0, 1.0), np.full(len(rows), np.nan), np.zeros(len(rows), dtype=np.bool_)

    assert bracketed(look, np.array([0.5]), 0.0, 1.0)[0] == pytest.approx(0.7, abs=1e-15)
    assert len(seen) <= 55


def test_crossings_of_falling_functions_too() -> None:
    assert crossing(lambda x: 2.0 - x * x, 3.0, 0.0, 1e-15) == pytest.approx(np.sqrt(2.0), abs=1e-14)


def counts_of(rng: np.random.Generator, cells: int) -> tuple[Floats, Floats]:
    """Laws of some counts on 0, ..., 30, with one or more peaks: the counts and the logarithms of their weights."""
    x = np.arange(31.0)
    return x, -rng.uniform(0.1, 2.0, (cells, 1)) * np.abs(x - rng.integers(0, 31, (cells, 1))) + rng.normal(0.0, 1.0, (cells, 31))


@pytest.mark.parametrize("seed", range(8))
def test_a_tilt_makes_the_total_its_mean(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = int(rng.integers(1, 6))
    x, logs = counts_of(rng, cells)

    def moments(tilt: float) -> tuple[float, float, float]:
        weight = np.exp(logs + tilt * x - (logs + tilt * x).max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        mean = weight @ x
        return float(mean.sum()), float((weight * (x - mean[:, None]) ** 2).sum()), tilt

    total = float(rng.uniform(0.5, 30.0 * cells - 0.5))
    exact = brentq(lambda tilt: moments(tilt)[0] - total, -100.0, 100.0)
    near, last = balancing_tilt(moments, total, longest=1.0)
    mean, variance, _ = moments(near)
    assert near == last  # what comes with the tilt was made with it
    assert abs(mean - total) <= CLOSE * variance**0.5 + 1e-6
    assert balancing_tilt(moments, total, close=0.0)[0] == pytest.approx(exact, abs=1e-4)
    assert abs(moments(exact + 3.0 * variance**-0.5)[0] - total) > CLOSE * variance**0.5  # a tilt that is off is seen


def test_many_tilts_at_once_are_those_of_one() -> None:
    rng = np.random.default_rng(3)
    x, logs = counts_of(rng, 20)
    totals = rng.uniform(1.0, 29.0, 20)

    def moments(rows: Counts, tilt: Floats) -> tuple[Floats, Floats]:
        log = logs[rows] + tilt[:, None] * x
        weight = np.exp(log - log.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        return weight @ x, weight @ x**2 - (weight @ x) ** 2

    together = balancing_tilts(moments, totals, np.zeros(20), (-50.0, 50.0))
    for i in (0, 7, 19):
        alone = balancing_tilts(lambda rows, tilt: moments(rows + i, tilt), totals[[i]], np.zeros(1), (-50.0, 50.0))  # noqa: B023
        assert together[i] == pytest.approx(alone[0], rel=1e-9)
    mean, variance = moments(np.arange(20), together)
    assert (np.abs(mean - totals) <= CLOSE * np.sqrt(variance) + 1e-6).all()


def test_a_total_that_cannot_be_met_ends() -> None:
    """No tilt gives counts below 30 a mean above it; the search ends far out, and where it is says the rest."""

    def moments(tilt: float) -> tuple[float, float, float]:
        mean = 30.0 / (1.0 + np.exp(-tilt))
        return mean, mean * (30.0 - mean) / 30.0, mean

    tilt, mean = balancing_tilt(moments, 31.0, longest=1.0)
    assert tilt > 30.0
    assert mean == pytest.approx(30.0)


def test_the_last_whole_numbers_inside_are_found_on_either_side() -> None:
    limits = np.array([0, 1, 7, 2**52, 5])
    below, above = np.zeros(5, dtype=np.int64), np.array([1, 2, 100, 2**53, 5])
    assert (last_inside(lambda x: x <= limits, below, above)[:4] == limits[:4]).all()
    assert (last_inside(lambda x: x > limits, above, below)[:4] == limits[:4] + 1).all()
    assert last_inside(lambda x: x <= limits, above, above)[4] == 5
    assert (last_inside(lambda x: x < limits, below, above)[1:4] != limits[1:4]).all()
