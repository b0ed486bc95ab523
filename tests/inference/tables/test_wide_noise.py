"""Figures of tables whose noise is wide against their counts: an answer or one line, in bounded memory. Oracle: one group at a time."""

import numpy as np
import pytest

import discreet as dc
from discreet import TablePosterior
from discreet.arrays import Counts
from discreet.counts.batched.leave_one_out import Frequencies, relative_error
from tests.counts.leave_one_out import leave_one_out
from tests.support import lowered


def _mechanism(epsilon: str, n: int | list[int] | None, groups: int = 2) -> dc.LatticeGeometric[Counts]:
    return dc.LatticeGeometric(dc.Dirichlet.uniform(3), n, epsilon, by={"group": range(groups)})


def _posterior(epsilon: str, n: int | list[int] | None, raw: list[list[int]]) -> TablePosterior:
    mechanism, counts = _mechanism(epsilon, n), np.array(raw, dtype=np.int64)
    return dc.Release(mechanism, mechanism.guarantee, counts, np.maximum(counts, 0)).noise_aware()


@pytest.mark.parametrize(
    ("epsilon", "n", "raw"),
    [
        ("1e-5", 21, [[2, 0, 4], [4, 7, 4]]),
        ("0.02", 300, [[110, -60, 70], [40, 90, 50]]),
    ],
)
def test_a_public_total_under_wide_noise_is_one_group_at_a_time(epsilon: str, n: int, raw: list[list[int]]) -> None:
    posterior = _posterior(epsilon, n, raw)
    figures = posterior.figures()
    for position, group in enumerate(posterior):
        np.testing.assert_allclose(figures.mean[position], posterior[group].mean(), atol=1e-9)
        np.testing.assert_allclose(figures.low[position], posterior[group].interval()[:, 0], atol=1e-6)
    assert figures.error.max() < 1e-6


def test_transforms_of_wide_windows_are_the_matrix_of_narrow_ones() -> None:
    log_weight = np.random.default_rng(3).normal(0.0, 2.0, (4, 30))
    first = np.array([0, 3, 1, 7])
    matrix, _ = leave_one_out(log_weight, first, 60, 0.5)
    with lowered(TURN_CELLS=0):
        transform, _ = leave_one_out(log_weight, first, 60, 0.5)
    np.testing.assert_allclose(np.exp(transform - matrix.max()), np.exp(matrix - matrix.max()), atol=1e-12)


def test_the_bound_of_a_transform_is_what_it_leaves_out_and_what_rounding_adds() -> None:
    """Each part alone is below the bound: none is taken off another. A total that is not possible is not known at all."""
    total = np.array([1.0, 1e-3, 1e-7, 0.0, -1e-20])
    few, many = (relative_error(Frequencies(64, count, 1e-6), total) for count in (4, 4_000_000))
    assert (few[:2] > 1e-6 / total[:2]).all()
    np.testing.assert_allclose(few[:2], 1e-6 / total[:2], rtol=1e-3)
    assert (many[:2] - few[:2] > 1e-10).all()
    assert few[2:].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("epsilon", "n", "raw"),
    [
        ("1e-5", 10**9, [[2 * 10**8, 10**8, 10**8], [10**8, 4 * 10**8, 10**8]]),
        ("1e-5", None, [[20, 10, 30], [0, 5, 9]]),
        ("1e-5", [4 * 10**8, 6 * 10**8], [[2 * 10**8, 10**8, 10**8], [10**8, 4 * 10**8, 10**8]]),
    ],
)
def test_noise_that_is_too_wide_is_refused_in_one_line(epsilon: str, n: int | list[int] | None, raw: list[list[int]]) -> None:
    with pytest.raises(dc.TooLargeError, match=r"the noise .*larger epsilon") as refused:
        _posterior(epsilon, n, raw).figures()
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("n", [None, 40_000])
def test_planes_that_are_too_large_are_refused_where_groups_are_many(n: int | None) -> None:
    """Before anything is held: the limits are lowered, so that what is refused at ten thousand records is refused at a hundred."""
    with lowered(PLANE_CELLS=1000, PLANE_PAIRS=1000, SUMMARY_WORK=100):
        with pytest.raises(dc.TooLargeError, match=r"pairs of a count and a rest .*larger epsilon"):
            _posterior("0.5", None if n is None else 200, [[50, 20, 30], [10, 40, 50]]).figures()
        reason = dc.capabilities(_mechanism("0.5", n)).no_noise_aware
    assert reason is not None
    assert "fewer groups" in reason


def test_capabilities_foresee_many_groups_under_wide_noise() -> None:
    assert dc.capabilities(_mechanism("0.01", None, groups=20)).noise_aware
    assert "fewer groups" in str(dc.capabilities(_mechanism("0.008", None, groups=1000)).no_noise_aware)


@pytest.mark.parametrize(("n", "values"), [(None, 6801), (200, 201)])
def test_the_work_of_groups_one_at_a_time_is_bounded_by_groups_categories_and_values(n: int | None, values: int) -> None:
    """At the limit all groups are summarised one at a time, and one below it they are refused, before the spend and at the call."""
    work = 2 * 3 * (values + 1000)
    posterior = _posterior("0.01", n, [[50, 20, 30], [10, 40, 50]])
    with lowered(SUMMARY_WORK=work, PLANE_PAIRS=10_000):
        assert dc.capabilities(_mechanism("0.01", n)).noise_aware
        found = posterior.figures()
    assert found.error.max() <= 1e-7
    with lowered(SUMMARY_WORK=work - 1, PLANE_PAIRS=10_000):
        assert "fewer groups or categories" in str(dc.capabilities(_mechanism("0.01", n)).no_noise_aware)
        with pytest.raises(dc.TooLargeError, match="2 groups by 3 categories"):
            posterior.figures()


def test_many_categories_under_wide_noise_are_foreseen() -> None:
    def foreseen(groups: int) -> bool:
        table = dc.LatticeGeometric(dc.Dirichlet.uniform(50), 10_000, "0.01", by={"g": list(range(groups))})
        return dc.capabilities(table).noise_aware

    assert (foreseen(2), foreseen(7), foreseen(8)) == (True, True, False)


def test_groups_too_wide_for_all_at_once_are_gone_through_one_at_a_time_while_they_are_few() -> None:
    """Outcomes, not public numbers, are too wide: at the limit of work all groups are summarised, and one below it they are refused."""
    posterior, work = _posterior("0.5", None, [[50, 20, 30], [10, 40, 50]]), 2 * 3 * (137 + 1000)
    with lowered(PLANE_CELLS=1000, SUMMARY_WORK=work):
        assert posterior.figures().error.max() <= 1e-7
    with lowered(PLANE_CELLS=1000, SUMMARY_WORK=work - 1), pytest.raises(dc.TooLargeError, match="summaries of all groups at once"):
        posterior.figures()


def test_a_noisy_count_beyond_the_largest_count_is_refused_where_sizes_are_public() -> None:
    for large, is_read in ((2**53, True), (2**53 + 1, False)):
        posterior = _posterior("0.5", [100, 100], [[large, 20, 80 - large], [10, 40, 50]])
        if is_read:
            assert posterior.figures().mean[0, 0] > 0.8
        else:
            with pytest.raises(dc.TooLargeError, match=r"beyond 2\*\*53"):
                posterior.figures()


@pytest.mark.parametrize("spread", [False, True])
def test_groups_whose_private_size_floats_cannot_count_are_refused(spread: bool) -> None:
    """Next to 2**53 the nodes of a sum were one number, and never ended."""
    for total, is_read in ((2**52, True), (2**52 + 1, False), (2**53, False)):
        first = [total // 3, total // 3, total - 2 * (total // 3)] if spread else [total - 50, 20, 30]
        posterior = _posterior("2", None, [[10, 40, 50], first])
        if is_read:
            np.testing.assert_allclose(posterior.figures().mean[1], (np.array(first) + 1.0) / (total + 3.0), rtol=1e-2)
        else:
            with pytest.raises(dc.TooLargeError, match=r"more than 2\*\*52"):
                posterior.figures()
