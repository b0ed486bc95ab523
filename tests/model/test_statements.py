"""The papers' Statements I, II and III (002 and 004, section 2), as far as they go, and where they stop.

Write `step(x) = H(BI(x), BI(x+1))` for the posteriors of x and x+1 ones among n records. The papers take the prior Beta(1, 1) and
`x_0 = n/2` (for odd n both middles). With F concave as docs/research/sensitivity.md proves, step(x) depends on x only through its distance
from the *balance point* where `a + x = b + n - 1 - x`, and grows with it. So for any prior the statements hold about the balance point of
the posteriors, `a + x = b + n - x`, which is n/2 exactly when a = b; neither a = 1 nor a >= 1 matters.
"""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.model.sensitivity import local_sensitivities
from tests.support import Floats, lattice

sizes = st.integers(4, 200)
shapes = st.integers(1, 50_000).map(lambda thousandths: Fraction(thousandths, 1000))
# Two steps that differ by less than this may be the same number.
SLACK = 1e-12


def _steps(a: Fraction, b: Fraction, n: int) -> Floats:
    """step(0), ..., step(n-1)."""
    x = np.arange(n + 1.0)
    posteriors = np.stack([float(a) + x, float(b) + n - x], axis=-1)
    return np.asarray(dc.hellinger(posteriors[:-1], posteriors[1:]))


def _local(a: Fraction, b: Fraction, n: int) -> Floats:
    x = np.arange(n + 1)
    return local_sensitivities(dc.Beta(a, b), np.stack([x, n - x], axis=-1))


def _middles(n: int) -> set[int]:
    return {n // 2, (n + 1) // 2}


# --- Statement I: steps grow away from the middle ---------------------------------------------------------------------


def _steps_grow_with_distance_from_balance(a: Fraction, b: Fraction, n: int) -> None:
    steps = _steps(a, b, n)
    off_balance = [abs((a + x) - (b + n - 1 - x)) for x in range(n)]
    order = sorted(range(n), key=lambda x: off_balance[x])
    for near, far in pairwise(order):
        if off_balance[near] == off_balance[far]:
            assert steps[near] == pytest.approx(steps[far], rel=SLACK)
        else:
            assert steps[near] < steps[far]


@given(sizes)
def test_statement_one_for_the_uniform_prior(n: int) -> None:
    steps, (low, high) = _steps(Fraction(1), Fraction(1), n), (n // 2, (n + 1) // 2)
    assert all(steps[x] < steps[x + 1] for x in range(high, n - 1))
    assert all(steps[x - 1] < steps[x - 2] for x in range(2, low + 1))  # its mirror image: H(x, x-1) < H(x-1, x-2) for x <= x_0


@given(shapes, shapes, sizes)
def test_statement_one_for_any_prior_about_its_own_balance_point(a: Fraction, b: Fraction, n: int) -> None:
    _steps_grow_with_distance_from_balance(a, b, n)


@pytest.mark.parametrize("n", [10**6, 10**12])
def test_statement_one_at_large_n(n: int) -> None:
    """Where neighbouring steps differ by less than rounding, steps a tenth apart still show the law."""
    shares = np.arange(0.5, 0.99, 0.1)
    x = np.floor(shares * n)
    steps = np.asarray(dc.hellinger(np.stack([1 + x, 1 + n - x], axis=-1), np.stack([2 + x, n - x], axis=-1)))
    assert (np.diff(steps) > 0).all()


def test_statement_one_as_printed_contradicts_itself_at_the_middle() -> None:
    """Its second line, H(x, x+1) > H(x+1, x+2) for all x <= x_0, is not the mirror of the first: at x = x_0 both cannot hold."""
    steps = _steps(Fraction(1), Fraction(1), 10)
    assert steps[5] < steps[6]  # first line at x_0 = 5
    assert not steps[5] > steps[6]  # second line at x_0 = 5
    assert steps[4] == pytest.approx(steps[5], rel=SLACK)  # nor at x_0 - 1, where it is an equality


def test_statement_one_about_n_over_two_fails_for_an_asymmetric_prior() -> None:
    """Counterexample: Beta(1, 9), n = 8 has its balance point at x = 8, so the steps fall all the way past x_0 = 4."""
    steps = _steps(Fraction(1), Fraction(9), 8)
    assert (np.diff(steps) < 0).all()


# --- Statement II: which neighbour is the far one ---------------------------------------------------------------------


@given(sizes)
def test_statement_two_for_the_uniform_prior(n: int) -> None:
    steps, local = _steps(Fraction(1), Fraction(1), n), _local(Fraction(1), Fraction(1), n)
    assert local[(n + 1) // 2 : n] == pytest.approx(steps[(n + 1) // 2 : n], rel=SLACK)
    assert local[1 : n // 2 + 1] == pytest.approx(steps[: n // 2], rel=SLACK)


@given(shapes, shapes, sizes)
def test_statement_two_for_any_prior_about_its_own_balance_point(a: Fraction, b: Fraction, n: int) -> None:
    steps, local = _steps(a, b, n), _local(a, b, n)
    for x in range(1, n):
        outward = steps[x] if a + x >= b + n - x else steps[x - 1]
        assert local[x] == pytest.approx(outward, rel=SLACK)
    assert local[0] == pytest.approx(steps[0], rel=SLACK)
    assert local[n] == pytest.approx(steps[n - 1], rel=SLACK)


def test_statement_two_has_no_outward_neighbour_at_the_ends() -> None:
    """ "for all x >= x_0" includes x = n, where x + 1 does not exist: there the only neighbour is n - 1."""
    assert _local(Fraction(1), Fraction(1), 10)[10] == pytest.approx(_steps(Fraction(1), Fraction(1), 10)[9], rel=SLACK)


def test_statement_two_about_n_over_two_fails_for_an_asymmetric_prior() -> None:
    """Counterexample: Beta(1, 9), n = 8, x = 5 >= x_0 = 4, but the far neighbour is x - 1."""
    steps, local = _steps(Fraction(1), Fraction(9), 8), _local(Fraction(1), Fraction(9), 8)
    assert local[5] == pytest.approx(steps[4], rel=SLACK)
    assert local[5] > steps[5] * 1.01


# --- Statement III: the minimum is in the middle ----------------------------------------------------------------------


@given(sizes)
def test_statement_three_for_the_uniform_prior(n: int) -> None:
    local = _local(Fraction(1), Fraction(1), n)
    middle = max(local[x] for x in _middles(n))
    assert all(local[x] > middle * (1 + SLACK) for x in range(n + 1) if x not in _middles(n))


@given(shapes, sizes)
def test_statement_three_for_any_symmetric_prior(a: Fraction, n: int) -> None:
    local = _local(a, a, n)
    middle = max(local[x] for x in _middles(n))
    assert all(local[x] > middle for x in range(n + 1) if x not in _middles(n))


@given(shapes, shapes, sizes)
def test_statement_three_for_any_prior_is_about_the_dataset_nearest_to_balance(a: Fraction, b: Fraction, n: int) -> None:
    """Among datasets with two neighbours: the ends have only an inward one."""
    local = _local(a, b, n)
    nearest = min(range(1, n), key=lambda x: abs((a + x) - (b + n - x)))
    assert local[nearest] == pytest.approx(local[1:n].min(), rel=SLACK)


def test_an_end_next_to_the_balance_point_may_be_less_sensitive_than_the_dataset_nearest_to_it() -> None:
    """Counterexample to leaving that condition out: Beta(0.001, 2.002), n = 4, balanced at x = 3.0005."""
    local = _local(Fraction("0.001"), Fraction("2.002"), 4)
    assert local[4] < local[3] == pytest.approx(local[1:4].min(), rel=SLACK)


@pytest.mark.parametrize("n", [2, 3])
def test_statement_three_fails_for_two_and_three_records(n: int) -> None:
    """Counterexample: with n = 2 or 3 the end datasets have no outward neighbour, and share the middle's sensitivity."""
    local = _local(Fraction(1), Fraction(1), n)
    assert local[0] == pytest.approx(local[n // 2], rel=SLACK)
    assert local[n] == pytest.approx(local[(n + 1) // 2], rel=SLACK)


def test_statement_three_about_n_over_two_fails_for_an_asymmetric_prior() -> None:
    """Counterexample: Beta(1, 9), n = 8 is least sensitive at x = 8 (and 7), not at 4."""
    local = _local(Fraction(1), Fraction(9), 8)
    assert local.argmin() in (7, 8)
    assert local[4] > 1.05 * local.min()


def test_with_more_categories_the_balanced_dataset_need_not_be_the_least_sensitive() -> None:
    """Counterexample for k = 3: an empty category cannot give a record, so a corner can be safer than the middle."""
    prior = dc.Dirichlet.uniform(3)
    assert dc.local_sensitivity(prior, [0, 0, 4]) == pytest.approx(0.3754607286841606, rel=SLACK)
    assert dc.local_sensitivity(prior, [1, 1, 2]) == pytest.approx(0.4086067168993999, rel=SLACK)


@pytest.mark.parametrize(("k", "n"), [(3, 9), (3, 10), (4, 11)])
def test_with_more_categories_the_balanced_dataset_is_least_sensitive_among_those_without_empty_categories(k: int, n: int) -> None:
    points = lattice(n, k)
    points = points[points.min(axis=1) >= 1]
    for a in (Fraction(1, 10), Fraction(1), Fraction(7)):
        local = local_sensitivities(dc.Dirichlet([a] * k), points)
        flattest = (points.max(axis=1) - points.min(axis=1)).argmin()
        assert local[flattest] == pytest.approx(local.min(), rel=SLACK)
