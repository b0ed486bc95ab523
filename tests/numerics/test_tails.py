"""Windows that bound what they leave out. Oracle: sums of exact fractions over every possible window."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.arrays import Floats
from discreet.numerics.tails import between, even_windows, inner, kept, likeliest


def law(seed: int) -> Floats:
    """A law with peaks anywhere, zeros, and tails down to 1e-30."""
    rng = np.random.default_rng(seed)
    value = np.exp(-rng.uniform(0.05, 3.0) * np.abs(np.arange(40) - rng.integers(0, 40))) * rng.uniform(0.5, 2.0, 40)
    value[rng.random(40) < 0.1] = 0.0
    return np.asarray(value / value.sum())


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("tail", [0.0, 1e-25, 1e-9, 0.03, 0.4])
def test_a_window_is_the_shortest_whose_ends_hold_at_most_the_tail(seed: int, tail: float) -> None:
    value = law(seed)
    exact = [Fraction(p) for p in value.tolist()]
    first, last, left = kept(value, tail)
    slack = Fraction(tail) * Fraction(1, 10**12)
    assert sum(exact[:first]) <= Fraction(tail) + slack
    assert sum(exact[last + 1 :]) <= Fraction(tail) + slack
    assert sum(exact[: first + 1]) > Fraction(tail) - slack  # one place more would be too much
    assert sum(exact[last:]) > Fraction(tail) - slack
    outside = sum(exact[:first]) + sum(exact[last + 1 :])
    assert abs(Fraction(left) - outside) <= outside * Fraction(1, 10**13)


def test_tails_keep_their_digits_beside_a_probability_of_1() -> None:
    """The negative control: 1 less the sum up to a place cannot tell a tail of 1e-25 from none."""
    value = np.array([1.0, 1e-20, 1e-25, 1e-26])
    first, last, left = kept(value, 2e-25)
    assert (first, last) == (0, 1)
    assert left == pytest.approx(1.1e-25, rel=1e-12)
    assert int((np.cumsum(value) < 1.0 - 2e-25).sum()) == 0


def test_something_is_always_kept() -> None:
    for value in (np.ones(1), np.array([0.5, 0.5]), np.zeros(3), np.array([0.2, 0.1, 0.7])):
        first, last, _ = kept(value, 0.6)
        assert 0 <= first <= last < len(value)


def test_rows_are_cut_as_each_by_itself() -> None:
    values = np.stack([law(seed) for seed in range(12)]).reshape(3, 4, 40)
    tails = np.full((3, 4, 1), 1e-6) * np.arange(1.0, 5.0)[:, None]
    first, last = inner(values, tails)
    for place in np.ndindex(3, 4):
        assert kept(values[place], float(tails[place][0]))[:2] == (int(first[place]), int(last[place]))


@pytest.mark.parametrize("tail", [1e-9, 1e-3, 0.2])
def test_windows_of_one_width_leave_out_no_more_of_any_row(tail: float) -> None:
    values = np.stack([law(seed) * (seed + 1.0) for seed in range(20)])
    start, width = even_windows(values, tail)
    assert (start >= 0).all()
    assert (start + width <= 40).all()
    widths = []
    for row, first in zip(values, start.tolist(), strict=True):
        assert max(row[:first].sum(), row[first + width :].sum()) <= tail * row.sum() * (1.0 + 1e-12)
        low, high, _ = kept(row, tail * float(row.sum()))
        widths.append(high - low + 1)
    assert width == max(widths)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("tail", [0.0, 1e-25, 1e-9, 0.03, 0.4])
def test_the_least_likely_places_are_left_out_and_hold_at_most_the_tail(seed: int, tail: float) -> None:
    value = law(seed)
    places, left = likeliest(value, tail)
    outside = sorted(set(range(len(value))) - set(places.tolist()), key=lambda place: float(value[place]))
    exact, slack = sum(Fraction(float(value[place])) for place in outside), Fraction(tail) * Fraction(1, 10**12)
    assert places.tolist() == sorted(places.tolist())
    assert max((value[place] for place in outside), default=0.0) <= value[places].min()
    assert exact <= Fraction(tail) + slack
    assert exact + Fraction(float(value[places].min())) > Fraction(tail) - slack  # one place more would be too much
    assert abs(Fraction(left) - exact) <= exact * Fraction(1, 10**13)


def test_both_tails_bound_a_window_as_the_law_itself_does() -> None:
    for seed in range(10):
        value = law(seed)
        first, last = between(np.cumsum(value), np.cumsum(value[::-1])[::-1], 1e-9)
        assert kept(value, 1e-9)[:2] == (int(first), int(last))
