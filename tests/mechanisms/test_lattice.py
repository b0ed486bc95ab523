"""LatticeGeometric: its projections, its normaliser, its promise and how far its infinite support is listed."""

from fractions import Fraction
from itertools import product
from math import exp, log

import numpy as np
import pytest
from benchmarks.computed import count_noise
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.mechanisms.reports import AsDrawn, Clamped, Cut, Projected, cut_to_total, project
from tests.mechanisms import brute

UNIFORM = {k: dc.Dirichlet([1] * k) for k in range(2, 7)}


@st.composite
def lattice_points(draw: st.DrawFn, spread: int = 30) -> tuple[tuple[int, ...], int]:
    """A point of the lattice of total n, with entries of any sign."""
    free = draw(st.lists(st.integers(-spread, spread), min_size=1, max_size=4))
    n = draw(st.integers(1, 20))
    return (*free, n - sum(free)), n


@given(lattice_points())
def test_the_projection_is_the_nearest_point_rounded_by_largest_remainder(case: tuple[tuple[int, ...], int]) -> None:
    z, n = case
    assert tuple(project(np.array([z]), n)[0].tolist()) == brute.nearest_counts(z, n)


@given(lattice_points())
def test_no_counts_are_nearer_than_one_record_per_category_to_the_best(case: tuple[tuple[int, ...], int]) -> None:
    """The rounded projection against all counts there are: each entry is within 1 of the true projection, which is at least as near."""
    z, n = case
    if len(z) <= 3:
        reported = project(np.array([z]), n)[0]
        nearest = min(sum((c - d) ** 2 for c, d in zip(r, z, strict=True)) for r in brute.lattice(n, len(z)))
        assert ((reported - z) ** 2).sum() == nearest


@given(lattice_points(), st.integers(-(10**6), 10**6))
def test_the_projection_does_not_see_a_common_shift_and_keeps_what_is_inside(case: tuple[tuple[int, ...], int], shift: int) -> None:
    z, n = case
    reported = project(np.array([z]), n)
    assert (project(np.array([z]) + shift, n) == reported).all()
    assert reported.sum() == n
    assert reported.min() >= 0
    assert (project(reported, n) == reported).all()


@given(lattice_points())
def test_cutting_takes_what_is_left(case: tuple[tuple[int, ...], int]) -> None:
    z, n = case
    assert tuple(cut_to_total(np.array([z[:-1]]), n)[0].tolist()) == brute.cut(z[:-1], n)


@given(lattice_points(), st.sampled_from([0, 10**6, 10**30]))
def test_one_outcome_is_reported_as_its_row_of_an_array_is(case: tuple[tuple[int, ...], int], far: int) -> None:
    """With integers of any size: far out, every report is that of Python's own integers."""
    z, n = case
    z = (z[0] + far, *z[1:-1], z[-1] - far)
    clamped = tuple(min(max(count, 0), n) for count in z)
    cut = brute.cut(z[:-1], n)
    expected = {
        Projected(n): brute.nearest_counts(z, n),
        Clamped(n): clamped,
        Cut(n, len(z)): cut,
        Cut(n, len(z), consistent=False): (*clamped[:-1], cut[-1]),
        AsDrawn(): z,
    }
    assert {report: report.one(z) for report in expected} == expected


@pytest.mark.parametrize("k", [2, 3, 50, 2000])
def test_the_projection_does_not_overflow(k: int) -> None:
    n = 2**53
    z = np.zeros((3, k), dtype=np.int64)
    z[0], z[1, 0], z[2, : k // 2] = 2**61, 2**62, 2**61
    z[2, 0] += n // 2
    reported = project(z, n)
    assert (reported.sum(axis=-1) == n).all()
    assert reported.min() >= 0
    assert reported[1, 0] == n
    assert reported[0].max() - reported[0].min() <= 1


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_the_normaliser_is_the_sum_over_the_lattice(k: int) -> None:
    epsilon = {2: 0.5, 3: 1.5, 4: 3.0, 5: 6.0}[k]
    reach = int(45 / epsilon)
    total = sum(exp(-epsilon * sum(abs(d) for d in noise) / 2) for noise in brute.lattice_noise(k, reach))
    counts = [3] * k
    assert -dc.mechanism("lattice", UNIFORM[k], 3 * k, epsilon).log_prob(counts, counts) == pytest.approx(log(total), abs=1e-12)


@pytest.mark.parametrize("k", [2, 3])
def test_every_raw_outcome_keeps_the_promise_and_some_use_it_up(k: int) -> None:
    mechanism = dc.mechanism("lattice", UNIFORM[k], 3, "0.8")
    losses = [
        abs(mechanism.log_prob(x, z) - mechanism.log_prob(y, z))
        for x in brute.lattice(3, k)
        for y in brute.neighbours(x)
        for z in [tuple(c + d for c, d in zip(x, noise, strict=True)) for noise in brute.lattice_noise(k, 4)]
    ]
    assert max(losses) == pytest.approx(0.8, rel=1e-12)


@pytest.mark.parametrize(("k", "epsilon"), [(3, "0.2"), (3, "5"), (4, "2"), (5, "4")])
def test_what_the_law_leaves_out_is_below_what_it_says(k: int, epsilon: str) -> None:
    law = dc.mechanism("lattice", UNIFORM[k], 2, epsilon).law([2, *[0] * (k - 1)])
    assert 0.0 < law.omitted <= 1e-17
    assert abs(law.probability.sum() - 1.0) <= 1e-12


def test_two_categories_are_listed_whole() -> None:
    law = dc.LatticeGeometric(dc.Beta(1, 1), 1000, Fraction(1, 100)).law([10, 990])
    assert law.omitted == 0.0
    assert len(law.counts) == 1001
    assert law.probability.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("k", "n", "epsilon"), [(2, 50, 1.0), (3, 50, 1.0), (2, None, 1.0), (3, None, 2.0)])
def test_the_noise_per_count_that_pages_quote_is_that_of_the_law(k: int, n: int | None, epsilon: float) -> None:
    """Oracle: the sum of d² P(d) over the raw outcomes. An ε that is 10 % off has another."""
    mechanism = dc.LatticeGeometric(UNIFORM[k], n, epsilon)
    reach = 60
    outcomes = [
        (d, *rest) for d in range(-reach, reach + 1) for rest in product(range(-reach, reach + 1), repeat=k - 1 if n is None else k - 2)
    ]
    noise = np.array(outcomes if n is None else [(*free, -sum(free)) for free in outcomes])
    counts = np.array([10] * k) if n is None else np.array([50, *[0] * (k - 1)])
    probability = np.exp(mechanism._log_probabilities(counts, counts + noise))
    assert probability.sum() == pytest.approx(1.0, abs=1e-9)
    assert count_noise(mechanism) == pytest.approx(float(probability @ noise[:, 0] ** 2) ** 0.5, rel=1e-9)
    assert count_noise(mechanism) != pytest.approx(count_noise(dc.LatticeGeometric(UNIFORM[k], mechanism.n, 1.1 * epsilon)), rel=0.05)


@pytest.mark.parametrize("k", [10, 60])
def test_with_many_categories_a_private_n_has_the_same_noise_at_equal_protection_of_an_answer(k: int) -> None:
    """Up to what a known total takes off the noise of k counts, which falls like 1/k."""
    public, halved = (count_noise(dc.LatticeGeometric(dc.Dirichlet.uniform(k), n, e)) for n, e in ((100, 1), (None, "1/2")))
    assert 1.0 < halved / public < 1.0 + 2.0 / k
