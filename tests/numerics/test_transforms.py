"""Convolutions and laws on circles. Oracles: sums of exact fractions, and `np.convolve`."""

from fractions import Fraction
from functools import reduce

import numpy as np
import pytest

from discreet.arrays import Floats
from discreet.numerics.transforms import all_but_one, at_place, conjugates, convolve, convolved, fast_length, laws, rounding, spectra
from tests.support import lowered


def exactly(left: Floats, right: Floats) -> list[Fraction]:
    """The convolution of floats in exact fractions."""
    found = [Fraction(0)] * (len(left) + len(right) - 1)
    for i, one in enumerate(left.tolist()):
        for j, other in enumerate(right.tolist()):
            found[i + j] += Fraction(one) * Fraction(other)
    return found


def law(rng: np.random.Generator, size: int) -> Floats:
    """A law whose probabilities are of very different sizes."""
    value = np.exp(-rng.uniform(0.0, 60.0, size))
    return np.asarray(value / value.sum())


@pytest.mark.parametrize("seed", range(6))
def test_a_direct_convolution_keeps_the_digits_of_every_probability(seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, right = law(rng, int(rng.integers(1, 40))), law(rng, int(rng.integers(1, 40)))
    exact = exactly(left, right)
    assert max(abs(Fraction(got) / want - 1) for got, want in zip(convolve(left, right).tolist(), exact, strict=True)) < 1e-13


@pytest.mark.parametrize("seed", range(6))
def test_a_transform_is_off_by_less_than_its_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, right = law(rng, int(rng.integers(1, 90))), law(rng, int(rng.integers(1, 90)))
    found, exact = convolved(left, right), exactly(left, right)
    off = max(abs(Fraction(got) - want) for got, want in zip(found.tolist(), exact, strict=True))
    assert off <= rounding(max(len(exact), 2))
    assert (found >= 0.0).all()
    assert max(abs(Fraction(got) / want - 1) for got, want in zip(found.tolist(), exact, strict=True)) > 1e-6 or len(exact) < 60


def test_long_convolutions_go_by_transform() -> None:
    rng = np.random.default_rng(1)
    left, right = law(rng, 300), law(rng, 200)
    direct = convolve(left, right)
    with lowered(DIRECT_CONVOLUTION=1000):
        by_transform = convolve(left, right)
    assert not np.array_equal(direct, by_transform)
    assert by_transform == pytest.approx(direct, rel=0.0, abs=rounding(499))


def test_planes_and_rows_are_added_up_too() -> None:
    rng = np.random.default_rng(2)
    left, right = rng.random((5, 7)), rng.random((4, 6))
    plane = np.zeros((8, 12))
    for (i, j), weight in np.ndenumerate(left):
        plane[i : i + 4, j : j + 6] += weight * right
    assert convolved(left, right) == pytest.approx(plane)
    rows = convolved(left[:4], right, axes=[1])
    assert rows == pytest.approx(np.stack([np.convolve(one, other) for one, other in zip(left[:4], right, strict=True)]))


@pytest.mark.parametrize("length", [7, 8, 15, 16])
def test_laws_on_a_circle_are_folded_convolutions(length: int) -> None:
    rng = np.random.default_rng(length)
    values = rng.random((3, 5))
    whole = reduce(np.convolve, values)
    folded = np.bincount(np.arange(len(whole)) % length, whole, length)
    product = np.prod(spectra(values, length), axis=0)
    assert laws(product, length) == pytest.approx(folded)
    for place in (-3, 0, 4, length + 2):
        assert float((product @ at_place(length, place)).real) == pytest.approx(folded[place % length])
    assert conjugates(length).sum() == length
    assert not np.allclose((product @ (at_place(length, 4) / conjugates(length))).real, folded[4 % length])  # each frequency once


def test_circles_in_two_directions() -> None:
    rng = np.random.default_rng(3)
    values = rng.random((2, 4, 5))
    sums = convolved(values[0], values[1])
    found = laws(np.prod(spectra(values, 9, 10), axis=0), 9, 10)
    assert found[:7, :9] == pytest.approx(sums)
    assert np.abs(found[7:]).max() < 1e-14


def test_products_of_all_but_one_need_no_division() -> None:
    rng = np.random.default_rng(4)
    each = rng.normal(size=(2, 5, 3)) + 1j * rng.normal(size=(2, 5, 3))
    each[0, 2] = 0.0
    others, whole = all_but_one(each)
    for i in range(5):
        assert others[:, i] == pytest.approx(np.prod(np.delete(each, i, axis=1), axis=1))
    assert whole == pytest.approx(np.prod(each, axis=1))
    assert np.abs(others[0, 2]).min() > 0.0
    assert all_but_one(each[:, :1])[0] == pytest.approx(np.ones((2, 1, 3)))


def test_lengths_are_long_enough_and_short() -> None:
    for least in (1, 7, 1021, 65537):
        assert least <= fast_length(least) <= 1.2 * least
