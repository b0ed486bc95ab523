"""Where limits of work end: at a limit something is computed, and one above it is refused. Each size is counted here anew."""

from math import ceil, log, log2, sqrt

import numpy as np
import pytest

import discreet as dc
from discreet.betas.planes import BetaPlanes
from discreet.counts.batched.windows import check_transforms
from discreet.counts.factors import Kernel
from discreet.counts.law import PairWeights, check_pairs
from discreet.counts.tree import TreeCounts
from discreet.inference.category_contrasts import category_contrast
from discreet.inference.noise_aware import probability_law
from discreet.inference.tables.other_groups import check_groups
from discreet.inference.tables.summaries import check_summaries, check_total
from discreet.inference.true_counts import check_any_total, counts_of_outcomes
from discreet.mechanisms.lattice import GeometricNoise
from discreet.model.size_priors import size_prior_of
from tests.inference.coverage import make, release_of
from tests.support import ends_at, lowered

K, SLOPE, RAW = 3, 0.5, (12, 5, 20)
KERNEL = Kernel(SLOPE)
DEPTH = -log(1e-22)
"""How far down windows reach, in logarithms."""


def _counts() -> TreeCounts:
    return counts_of_outcomes(np.ones(K), [(GeometricNoise(K, SLOPE), RAW)], size_prior_of("flat"))


# --- public numbers -----------------------------------------------------------------------------------------------------


def test_sums_over_groups_are_three_for_each_pair_on_each_level_of_a_tree() -> None:
    groups, values = 5, 11  # a total of 10 records
    ends_at(3 * 3 * groups * values**2, "GROUP_PRODUCTS", lambda: check_groups(groups, K, values - 1, KERNEL))
    transform = 32 * values * ceil(log2(values))
    ends_at(
        3 * 3 * groups * transform, "GROUP_PRODUCTS", lambda: check_groups(groups, K, values - 1, KERNEL), DIRECT_CONVOLUTION=values**2 - 1
    )
    ends_at(groups, "GROUPS_CONVOLVED", lambda: check_groups(groups, K, values - 1, KERNEL))


def test_pairs_of_a_count_and_a_total_are_320_totals_by_the_values_of_a_count() -> None:
    ends_at(320 * 11, "MIXTURE_CELLS", lambda: check_any_total(K, KERNEL, 10))
    counts = int(1.25 * 2.0 * DEPTH / SLOPE)
    ends_at(320 * counts, "MIXTURE_CELLS", lambda: check_any_total(K, KERNEL))


def test_the_values_of_a_total_are_those_that_the_noise_leaves_likely() -> None:
    ends_at(11, "WINDOW_CELLS", lambda: check_any_total(K, KERNEL, 10))
    ends_at(11 * K, "WINDOW_CONVOLUTIONS", lambda: check_any_total(K, KERNEL, 10))
    values = int(1.25 * 2.0 * (DEPTH + sqrt(4.0 * K * DEPTH)) / SLOPE) + 1
    ends_at(values, "WINDOW_CELLS", lambda: check_any_total(K, KERNEL))


def test_the_total_of_all_groups_spreads_with_the_root_of_their_cells() -> None:
    ends_at(4 * 10 + 1, "TOTAL_PERIOD", lambda: check_total(4, K, KERNEL, 10))
    ends_at(int(2.0 * 16.0 * sqrt(4 * K) / SLOPE) + 1, "TOTAL_PERIOD", lambda: check_total(4, K, KERNEL, 10**6))


def test_groups_one_at_a_time_and_pairs_of_all_groups_at_once() -> None:
    ends_at(11 * 11, "PLANE_PAIRS", lambda: check_summaries(4, K, KERNEL, 10), SUMMARY_WORK=0)
    ends_at(4 * K * (11 + 1000), "SUMMARY_WORK", lambda: check_summaries(4, K, KERNEL, 10), PLANE_PAIRS=0)
    ends_at(4 * K * (137 + 1000), "SUMMARY_WORK", lambda: check_summaries(4, K, KERNEL), PLANE_PAIRS=0)


def test_rows_by_columns() -> None:
    ends_at(6 * 7, "CONTRAST_PAIRS", lambda: check_pairs(6, 7))
    ends_at(6 * 7, "TRANSFORM_CELLS", lambda: check_transforms(6, 7))


def test_the_mean_of_an_odds_ratio_has_a_term_for_each_pair_of_counts_and_each_rest() -> None:
    """Three sums of two counts, two first counts each, and four rests."""
    even = np.full((3, 2), 1.0 / 6.0), np.full((3, 4), 0.25)
    part = PairWeights(np.array([3, 4, 5]), 1, even[0], np.zeros(3, dtype=np.int64), np.arange(4), even[1])
    contrasts = iter([category_contrast([part], (3.0, 5.0, 6.0), ("a", "b"), 0.0) for _ in range(2)])
    ends_at(3 * 2 * 4, "CONTRAST_CELLS", lambda: next(contrasts).odds_ratio.mean())


# --- outcomes -----------------------------------------------------------------------------------------------------------


def test_windows_of_counts_whose_total_is_private() -> None:
    widths = [high - low + 1 for low, high in _counts().windows]
    first, last = _counts().totals
    ends_at(last - first + 1, "WINDOW_CELLS", _counts)
    ends_at(sum(widths), "WINDOWS_HELD", _counts)
    ends_at(K * (last - first + 1), "WINDOW_CONVOLUTIONS", _counts)


def test_least_prior_parameters() -> None:
    with lowered(LEAST_PRIOR=1.0):
        _counts()
    with lowered(LEAST_PRIOR=1.0 + 2.0**-52), pytest.raises(dc.TooLargeError, match="prior parameters below"):
        _counts()


def test_mixtures_and_covariances_of_counts_whose_total_is_private() -> None:
    counts = _counts()
    probability_law(counts, 0, 1.0, 2.0, "first")
    low, high = counts.windows[0]
    nodes = len(counts.nodes[0][0])
    ends_at(nodes * (high - low + 1), "MIXTURE_CELLS", lambda: probability_law(_counts(), 0, 1.0, 2.0, "first"))
    longest = max(len(segment.sum.run.value) for segment in counts.segments)
    widest = max(high - low + 1 for low, high in counts.windows)
    ends_at(K**2 * longest * widest, "COVARIANCE_PRODUCTS", lambda: _counts().covariance(np.ones(K)))


def test_categories_with_highest_density_intervals() -> None:
    posterior = release_of(dc.LatticeGeometric(dc.Dirichlet.uniform(K), 40, 1), (12, 8, 20)).noise_aware()
    ends_at(K, "DENSITY_INTERVALS", posterior.hdi)


def test_listed_counts_of_one_of_several_releases_are_all_within_its_windows() -> None:
    """Where n is private: without sums there are draws, for which no step is left here."""
    mechanism = dc.LatticeGeometric(dc.Dirichlet.uniform(K), epsilon=8)
    releases = [release_of(mechanism, (3, 1, 2)), release_of(mechanism, (2, 2, 0))]
    laws = [counts_of_outcomes(np.ones(K), [(GeometricNoise(K, 8.0), release.raw)], size_prior_of("flat")) for release in releases]
    most = max(int(np.prod([high - low + 1 for low, high in law.windows])) for law in laws)
    ends_at(most, "POOLED_POINTS", lambda: dc.combine(releases, same_data=False, rng=1), CHAIN_STEPS=0)


def test_pairs_of_counts_of_two_releases_and_their_sums() -> None:
    """All counts of both are possible, and their sums have one free count less than categories."""
    prior, sizes, pairs = dc.Dirichlet.uniform(K), (4, 6), 15 * 28
    releases = [release_of(make(dc.HellingerSmooth, prior, n, 1), (n, 0, 0)) for n in sizes]
    ends_at(pairs, "POOLED_PRODUCTS", lambda: dc.combine(releases, same_data=False))
    ends_at((sum(sizes) + 1) ** (K - 1), "POOLED_CELLS", lambda: dc.combine(releases, same_data=False))


def test_the_work_of_a_posterior_grows_with_its_windows_and_their_totals() -> None:
    """The widest count follows from the others, whose totals are gone through for every category; a cell takes eight times that."""
    posterior = release_of(dc.LatticeGeometric(dc.Dirichlet.uniform(K), 4000, 1), (1000, 1500, 1500)).noise_aware()
    assert isinstance(posterior.counts, TreeCounts)
    widths = sorted(high - low + 1 for low, high in posterior.counts.windows)
    totals = sum(width - 1 for width in widths[:-1]) + 1
    assert posterior.work == K * totals + 8 * sum(widths)


def test_components_of_a_plane_are_counts_by_rests() -> None:
    zero, one = np.zeros(1, dtype=np.int64), np.ones(1)
    planes = BetaPlanes(np.ones((1, 5)), np.ones((1, 7)), np.ones((1, 11)), zero, zero, one, one)
    ends_at(5 * 7, "PLANE_COMPONENTS", lambda: planes.mixture(0))
