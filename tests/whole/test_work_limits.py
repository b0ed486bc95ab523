"""Where limits of work end outside of inference (tests/inference/test_work_limits.py). Each size is counted here anew."""

from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.optimize import brentq

import discreet as dc
from discreet.analysis.dataset_errors import errors_of
from discreet.analysis.mean_errors import exponential_mean
from discreet.inference.true_counts import check_posterior
from discreet.ledger.filters import largest_divergence, mechanism_divergence
from discreet.mechanisms.bayes_reports import check_search
from discreet.mechanisms.hellinger import most_tried
from discreet.mechanisms.lattice import GeometricNoise
from discreet.mechanisms.losses import check_paired
from discreet.mechanisms.proposals import is_listed
from discreet.model.cells import Groups
from discreet.model.datasets import simplex_points
from discreet.model.sensitivity import check_smooth
from discreet.model.size_priors import size_prior_of
from discreet.sampling.many_categories import check_size, most_entries
from tests.mechanisms.private_remap_support import World, box
from tests.support import Integers, ends_at, lattice, lowered


def _neighbours(points: Integers, apart: int) -> int:
    """Pairs of datasets that are this far apart, in records added and removed."""
    return sum(int(np.abs(x - y).sum()) == apart for x, y in combinations(points, 2))


@pytest.mark.parametrize(("n", "k"), [(5, 3), (3, 4)])
@pytest.mark.parametrize("passes", [1, 3])
def test_losses_compare_all_probabilities_of_neighbours(n: int, k: int, passes: int) -> None:
    """A pair costs a thousand probabilities by itself, and every probability is looked up once for each category."""
    points = lattice(n, k)
    work = _neighbours(points, 2) * (len(points) + 1000) + k * len(points) ** 2
    ends_at(passes * work, "LOSS_COMPARISONS", lambda: check_paired(n, k, passes))
    ends_at(len(points), "LOSS_CANDIDATES", lambda: check_paired(n, k, passes))


def test_losses_of_two_categories_take_records_by_the_root_of_the_passes() -> None:
    ends_at(20, "LOSS_RECORDS", lambda: check_paired(20, 2))
    ends_at(40, "LOSS_RECORDS", lambda: check_paired(20, 2, 4))


def test_the_linear_program_has_a_constraint_for_each_neighbour_either_way_and_candidate() -> None:
    prior, points = dc.Dirichlet.uniform(3), lattice(3, 3)
    ends_at(2 * _neighbours(points, 2) * len(points), "PROGRAM_CONSTRAINTS", lambda: dc.optimal(prior, 3, 1))
    ends_at(len(points), "PROGRAM_CANDIDATES", lambda: dc.optimal(prior, 3, 1))
    up_to = np.concatenate([lattice(n, 2) for n in range(4)])
    work = 2 * _neighbours(up_to, 1) * len(up_to)
    ends_at(work, "PROGRAM_CONSTRAINTS", lambda: dc.optimal(dc.Beta(1, 1), None, 1, n_max=3))


def test_audits_hold_the_outcomes_of_both_datasets() -> None:
    mechanism = dc.LatticeGeometric(dc.Dirichlet.uniform(3), 9, 1)

    def audit() -> None:
        dc.audit(lambda counts, size: mechanism.simulate(counts, size, rng=1), [3, 3, 3], [4, 3, 2], draws=200)

    ends_at(2 * 200 * 3, "AUDITED_CELLS", audit)


def test_lists_of_outcomes_have_a_number_for_each_category() -> None:
    ends_at(3 * len(lattice(4, 3)), "LISTED_CELLS", lambda: simplex_points(4, 3))
    ends_at(len(lattice(4, 3)), "LISTED_OUTCOMES", lambda: simplex_points(4, 3))


def test_a_search_for_gamma_compares_all_candidates_in_every_category() -> None:
    for size in (10, 57):
        with lowered(GAMMA_DISTANCES=3 * size**2):
            assert most_tried(3) == size
        with lowered(GAMMA_DISTANCES=3 * size**2 - 1):
            assert most_tried(3) == size - 1


def test_a_search_for_reports_has_no_more_nodes_than_counts() -> None:
    ends_at(3 * (40 + 1), "REPORT_NODES", lambda: check_search(dc.Dirichlet.uniform(3), 40))


def test_smooth_sensitivities_have_few_categories() -> None:
    ends_at(3, "SMOOTH_CATEGORIES", lambda: check_smooth(3))


def test_profiles_are_composed_for_few_releases() -> None:
    """Beyond, the ε of all releases is added up, and so is larger."""
    accountant = dc.Accountant().add(dc.LatticeGeometric(dc.Beta(1, 1), 5, "0.1"), 60)
    with lowered(COMPOSED_RELEASES=60):
        assert accountant.epsilon(1e-3) < 5.0
    with lowered(COMPOSED_RELEASES=59):
        assert accountant.epsilon(1e-3) == pytest.approx(6.0)


# --- draws --------------------------------------------------------------------------------------------------------------


def test_an_exact_draw_holds_every_digit_of_every_entry() -> None:
    """An entry has a bit for each of the candidates' digits, of the size's and 40 more, and 64 bytes of its own."""
    n, prior = 5_000, (Fraction(1),) * 4
    bits = comb(n + 3, 3).bit_length() + (n + 4 + 1).bit_length() + 40
    megabytes = most_entries(prior, n) * (bits // 8 + 64) // 2**20
    assert megabytes > 1
    ends_at(megabytes, "SAMPLER_MEGABYTES", lambda: check_size(prior, n))


@pytest.mark.parametrize(
    ("k", "n", "name", "size"), [(3, 6, "DRAWN_CELLS", 3 * 28), (3, 6, "DRAWN_CATEGORIES", 3), (2, 6, "DRAWN_RECORDS", 6)]
)
def test_candidates_are_listed_to_be_drawn_up_to_a_limit(k: int, n: int, name: str, size: int) -> None:
    prior = (Fraction(1),) * k
    with lowered(**{name: size}):
        assert is_listed(prior, n)
    with lowered(**{name: size - 1}):
        assert not is_listed(prior, n)


def test_simulated_noise_fits_integers() -> None:
    """Noise on a lattice by way of a total is a sum over categories; 80 means of a geometric are exceeded with probability e^-80."""
    rng = np.random.default_rng(1)
    lattice_noise = dc.LatticeGeometric(dc.Dirichlet.uniform(3), 9, "0.5").noise
    ends_at(4 * 3 * 2, "SIMULATED_NOISE", lambda: lattice_noise.simulate(1, rng))
    ends_at(80 * 2, "SIMULATED_NOISE", lambda: GeometricNoise(3, 0.5).simulate(1, rng))


# --- tables and listings ------------------------------------------------------------------------------------------------


def test_a_metric_has_a_table_of_all_pairs() -> None:
    ends_at(len(lattice(4, 3)), "SCORE_CANDIDATES", lambda: dc.MetricExponential(dc.Dirichlet.uniform(3), 4, 1, dc.hellinger))


def test_a_posterior_of_two_categories_lists_all_datasets() -> None:
    ends_at(20, "POSTERIOR_RECORDS", lambda: check_posterior(dc.MetricExponential(dc.Beta(1, 1), 20, 1, dc.hellinger)))


def test_groups_of_a_table() -> None:
    columns = ("a", "b"), (("x", "y"), ("u", "v", "w"))
    with lowered(GROUPS=6):
        assert len(Groups(*columns)) == 6
    with lowered(GROUPS=5), pytest.raises(dc.InvalidInputError, match="6 groups; at most 5 are released"):
        Groups(*columns)


def test_weights_of_a_private_n() -> None:
    with lowered(SIZE_WEIGHTS=5):
        size_prior_of(np.zeros(5))
    with lowered(SIZE_WEIGHTS=4), pytest.raises(dc.InvalidInputError, match="from 1 to 4 log weights"):
        size_prior_of(np.zeros(5))


def test_factors_of_an_exponent_are_those_that_floats_follow() -> None:
    for factor in (Fraction(10**100), Fraction(1, 10**100)):
        dc.HellingerSmooth(dc.Beta(1, 1), 3, 1, factor=factor)
    for beyond in (Fraction(10**100 + 1), Fraction(1, 10**100 + 1)):
        with pytest.raises(dc.InvalidInputError, match="factor must be from 1e-100 to 1e100"):
            dc.HellingerSmooth(dc.Beta(1, 1), 3, 1, factor=beyond)


# --- laws and means -----------------------------------------------------------------------------------------------------


def test_a_filter_goes_through_the_laws_of_few_records() -> None:
    """Beyond, a release is charged for its ε."""
    mechanism, order = dc.HellingerSmooth(dc.Beta(1, 1), 20, 1), Fraction(10)
    for most, less in ((20, True), (19, False)):
        with lowered(FILTER_RECORDS=most):
            assert (mechanism_divergence(mechanism, order) < largest_divergence(Fraction(1), order)) == less


def test_means_by_convolution() -> None:
    """A convolution costs as much as a thousand records by itself. Beyond the limit all candidates are listed."""
    mechanism, counts = dc.HellingerSmooth(dc.Dirichlet.uniform(3), 40, 1), [10, 10, 20]
    found = {}
    for most, method in ((3 * (40 + 1000), "convolution"), (3 * (40 + 1000) - 1, "enumeration")):
        with lowered(ERROR_CANDIDATES=1, ERROR_CONVOLUTIONS=most):
            found[method] = dc.expected_error(mechanism, counts)
            assert found[method].method == method
    assert found["convolution"] == pytest.approx(found["enumeration"], rel=1e-10)
    ends_at(40, "CONVOLVED_RECORDS", lambda: exponential_mean(mechanism.prior, np.array(counts), 1.0))


def test_the_mean_of_data_dependent_noise_takes_eight_datasets() -> None:
    mechanism = dc.HellingerSmooth(dc.Dirichlet.uniform(3), 40, 1)
    work, others = 8 * 3 * (40 + 1000), {"ERROR_PAIRS": 1.0, "ERROR_CANDIDATES": 1.0}
    ends_at(work, "ERROR_CONVOLUTIONS", lambda: dc.expected_error(mechanism, over="predictive", rng=1), **others)


def test_gaps_are_tabled_up_to_a_number_of_records_and_of_totals() -> None:
    """Where n is private reports have totals of their own; with and without tables the errors are the same."""
    prior = dc.Dirichlet.uniform(3)
    mechanism, counts, reports = dc.LatticeGeometric(prior, 20, 1), np.array([5, 7, 8]), lattice(20, 3)
    found = []
    for most in (20, 19):
        with lowered(TABLED_RECORDS=most):
            errors = errors_of(mechanism, 20, dc.hellinger)
            assert errors.tables == (most == 20)
            found.append(errors(counts, reports))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
    others, found = np.array([[4, 7, 8], [9, 9, 9], [0, 0, 1]]), []
    for most in (3 * 20, 3 * 20 - 1):
        with lowered(TABLED_TOTALS=most):
            errors = errors_of(mechanism, 20, dc.hellinger)
            found.append(errors(counts, others))
            assert ("_total_table" in vars(errors)) == (most == 60)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def test_the_least_error_is_computed_up_to_an_epsilon() -> None:
    ends_at(3, "PROGRAM_EPSILON", lambda: dc.optimal(dc.Beta(1, 1), 2, 3))


def test_reports_that_are_searched_for_are_few() -> None:
    """Each takes as many distances as its search does; all reports of 31 counts are searched for, or those of some draws."""
    mechanism = dc.Remapped(dc.LatticeGeometric(dc.Beta(1, 1), 30, 1))
    with lowered(REPORT_CANDIDATES=1):
        cost = mechanism.report.search_cost
    with lowered(REPORT_CANDIDATES=1, ERROR_SEARCHES=31 * cost):
        assert dc.expected_error(mechanism, [10, 20]).method == "enumeration"
    with lowered(REPORT_CANDIDATES=1, ERROR_SEARCHES=31 * cost - 1), pytest.raises(dc.TooLargeError, match="every report is a search"):
        dc.expected_error(mechanism, [10, 20])


class _Asked(dc.HellingerSmooth):
    """A mechanism that notes for how many datasets its laws were asked for, each time."""

    asked: ClassVar[list[int]] = []

    def _listed_laws(self, datasets: Integers | None = None) -> Any:
        self.asked.append(0 if datasets is None else len(datasets))
        return super()._listed_laws(datasets)


def test_reports_are_searched_for_in_parts_of_few_likelihoods() -> None:
    """Parts of every size have the same reports; a part has an outcome at least."""
    report, raw = dc.Remapped(_Asked(dc.Dirichlet.uniform(3), 9, 1)).report, lattice(9, 3)
    whole = report(raw)
    for held, parts in ((55 * 55, 1), (55 * 55 - 1, 2), (28 * 55, 2), (28 * 55 - 1, 3), (1, 55)):
        _Asked.asked.clear()
        with lowered(REPORT_LIKELIHOODS=held):
            np.testing.assert_array_equal(report(raw), whole)
        assert _Asked.asked == [55] * parts


def test_where_n_is_private_all_reports_that_can_be_better_are_tried_up_to_a_number_of_pairs() -> None:
    """A report can be better only if it is nearer to a found one than the d with E|d - H| = E[H], H from the found one to the data.

    Each of them is paired with each dataset that carries the posterior. Here the search alone ends at a report that is not the best.
    """
    prior, z = dc.Beta(3, 3), (6, 0)
    report, world = dc.Remapped(dc.LatticeGeometric(prior, epsilon=1)).report, World(prior, 1.0, z)
    with lowered(REPORT_PAIRS=0):
        found = report.one(z)
    own = world.distances(found, world.points)
    reach = brentq(lambda distance: (np.abs(distance - own) - own) @ world.weight, 1e-6, 1.0)
    candidates = int((world.distances(found, box(150, 2).astype(np.float64)) < reach).sum())
    best = report.one(z)
    assert world.error(best) == pytest.approx(world.least(20), abs=1e-9)
    assert world.error(best) < world.error(found)
    low, high = 0, 1 << 20
    while high - low > 1:
        middle = (low + high) // 2
        with lowered(REPORT_PAIRS=middle):
            low, high = (low, middle) if report.one(z) == best else (middle, high)
    assert high % candidates == 0
    assert 0.5 * len(world.points) < high // candidates < 2 * len(world.points)


# --- plans --------------------------------------------------------------------------------------------------------------


def test_plans_of_errors_end_at_a_number_of_records() -> None:
    """Sizes double until one meets the aim."""
    prior = dc.Beta(1, 1)
    least = dc.plan(prior, error=0.1, epsilon=1).n
    end = 1 << (least - 1).bit_length()
    assert least < end
    with lowered(PLANNED_RECORDS=end):
        assert dc.plan(prior, error=0.1, epsilon=1).n == least
    with lowered(PLANNED_RECORDS=end - 1), pytest.raises(dc.InvalidInputError, match=rf"n = {end // 2}; .* error"):
        dc.plan(prior, error=0.1, epsilon=1)
