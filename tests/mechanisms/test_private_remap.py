"""Remapped reports where n is private: the exact argmin where candidates are few, near it elsewhere, at any size in bounded time."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import limits
from tests.mechanisms.private_remap_support import World, box, mean_excess
from tests.support import lowered, mostly_slow


def remapped(prior: Any, epsilon: str) -> dc.LatticeGeometric:
    return dc.Remapped(dc.LatticeGeometric(prior, epsilon=epsilon))


def excess(prior: Any, epsilon: str, z: tuple[int, ...], used: str) -> float:
    """How much worse than the best of all reports is that of a mechanism which is told another ε than the noise has."""
    world, report = World(prior, float(epsilon), z), remapped(prior, used).report.one(z)
    return world.error(report) / world.least(max(*z, *report) + 6) - 1.0


OUTCOMES = [(0, 0), (-4, 3), (1, 0), (6, 2), (3, 9), (12, 11)]


@pytest.mark.parametrize("prior", [dc.Beta(1, 1), dc.Beta("0.5", "0.5"), dc.Beta("0.05", "0.4"), dc.Beta(20, 30), dc.Beta(1, 40)])
@pytest.mark.parametrize("epsilon", ["1", "2.5"])
def test_two_categories_have_the_exact_argmin(prior: Any, epsilon: str) -> None:
    assert max(excess(prior, epsilon, z, epsilon) for z in OUTCOMES) <= 1e-8


def test_three_categories_have_the_exact_argmin() -> None:
    prior = dc.Dirichlet(["1", "0.3", "4"])
    assert max(excess(prior, "3", z, "3") for z in ((0, 0, 0), (2, 0, 1), (-1, 3, 2))) <= 1e-8


def test_noise_that_is_a_tenth_off_is_noticed() -> None:
    priors = (dc.Beta("0.05", "0.4"), dc.Beta(20, 30), dc.Beta(1, 40))
    assert max(excess(prior, "1", z, "0.9") for prior in priors for z in OUTCOMES) > 1e-5


@pytest.mark.parametrize(
    ("prior", "n", "epsilon"),
    [((1, 1), 10, "0.7"), (("0.5", "0.5"), 10, "1"), ((2, 5), 10, "1"), ((1, 1, 1), 4, "2.5")],
)
def test_where_nothing_is_listed_reports_are_near_the_best(prior: Any, n: int, epsilon: str) -> None:
    """docs/explain/mechanisms.md has the largest of the measured means."""
    found = mean_excess(prior, n, epsilon, 6)
    assert -1e-9 <= found.remapped <= 1e-8
    assert -1e-9 <= found.not_listed < 0.02


@pytest.mark.parametrize("z", [(30, 40), (200, 10)])
def test_where_nothing_is_listed_a_strong_prior_is_weighed_as_well(z: tuple[int, int]) -> None:
    """The total is then known to little more than the prior's own ratio, so that the tilts must be found finely."""
    prior = dc.Beta(300, 200)
    world, report = World(prior, 0.2, z), remapped(prior, "0.2").report
    with lowered(REPORT_POINTS=0):
        found = report.one(z)
    around = [world.error(np.maximum(np.array(found) + move, 0)) for move in 4 * (box(4, 2) - 2)]
    assert world.error(found) <= 1.02 * min(around)


def test_it_helps_where_the_prior_says_much() -> None:
    """The noisy counts themselves are far above the best there, so that a report like them would be noticed above."""
    found = mean_excess(("0.1", "0.1"), 8, "1", 12)
    assert found.plain > 0.03
    assert max(found.remapped, found.not_listed) < 0.01


@pytest.mark.parametrize("k", [2, 3, 12])
def test_without_noise_the_counts_themselves_are_reported(k: int) -> None:
    z = tuple(range(3, 3 + k))
    assert remapped(dc.Dirichlet([1] * k), "60").report.one(z) == z


def test_counts_below_0_say_what_0_says_and_reports_repeat() -> None:
    report = remapped(dc.Beta(1, 3), "0.3").report
    assert report.one((-(10**30), 7)) == report.one((-1, 7)) == report.one((0, 7))
    rows = report(np.array([[5, 5], [-2, 7], [5, 5]]))
    assert rows.tolist() == [list(report.one(z)) for z in ((5, 5), (0, 7), (5, 5))]


def test_it_is_post_processing_that_a_record_describes() -> None:
    mechanism = remapped(dc.Dirichlet([1, 2], categories=["no", "yes"]), "1.5")
    assert mechanism.guarantee == dc.LatticeGeometric(dc.Beta(1, 2), epsilon="1.5").guarantee
    assert mechanism.title == "Remapped(LatticeGeometric)"
    release = mechanism.release([3, 0])
    again = dc.Release.from_json(release.to_json())
    assert again == release
    assert again.mechanism == mechanism
    assert again.n is None
    assert release.counts == mechanism.report.one(release.raw)
    assert dc.mechanism("Remapped(lattice)", dc.Beta(1, 2), None, "1.5").report.one((4, 1)) == mechanism.report.one((4, 1))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("a", ["1e-100", "0.01", "1", "100"])
@pytest.mark.parametrize("epsilon", mostly_slow(["1e-15", "0.5", "1e15"], 1))
def test_any_outcome_has_a_report(a: str, epsilon: str) -> None:
    for k in (2, 33):
        mechanism = remapped(dc.Dirichlet([a] * k), epsilon)
        mechanism.prepare([0] * k)
        for z in ((0,) * k, (10**40,) * k, (limits.RAW_OUTCOME, *(3,) * (k - 1))):
            report = mechanism.report.one(z)
            assert len(report) == k
            assert min(report) >= 0
            assert max(report) <= limits.RAW_OUTCOME


def test_what_would_need_too_many_nodes_is_refused_by_public_numbers_before_a_draw() -> None:
    for prior in (dc.Beta("1e12", 1), dc.Beta("1e100", 1), dc.Dirichlet([10**6] * 100)):
        for counts in ([0] * prior.k, [10**9] * prior.k):
            with pytest.raises(dc.TooLargeError, match=r"nodes .*without Remapped"):
                remapped(prior, "1").prepare(counts)
    remapped(dc.Dirichlet([1] * 1000), "1").prepare([0] * 1000)


def test_simulated_means_are_those_of_the_reports() -> None:
    """Over the posterior of every outcome a remapped report is at least as good as a plain one; with this prior it is much better."""
    prior = dc.Beta(Fraction(1, 10), Fraction(1, 10))
    mechanism = dc.LatticeGeometric(prior, epsilon=1)
    plain, best = (dc.expected_error(made, over="predictive", n=8) for made in (mechanism, dc.Remapped(mechanism)))
    assert best.method == "Monte Carlo"
    assert best + 2.0 * best.standard_error < plain
    assert 0.0 < best.standard_error < 0.05
    with pytest.raises(dc.TooLargeError, match="every report is a search"):
        dc.expected_error(remapped(dc.Dirichlet([1] * 100), "1"), over="predictive", n=8)
