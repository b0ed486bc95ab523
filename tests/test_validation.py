"""Bad input: every error names the argument and what is allowed, and none repeats a private value."""

import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.validation import LARGEST_COUNT, check_counts, check_records, exact

PRIOR = dc.Dirichlet([1, 1, 1])

# --- public parameters ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad", [0, -1, 0.0, -0.5, float("nan"), float("inf"), -float("inf"), "no", "1/0", None, True, 1j, [1], "-1", Decimal("NaN")]
)
def test_concentrations_must_be_positive_and_finite(bad: Any) -> None:
    with pytest.raises(dc.InvalidInputError, match=r"^concentration\[1\] must be"):
        dc.Dirichlet([1, bad])
    with pytest.raises(dc.InvalidInputError, match=r"^b must be"):
        dc.Beta(1, bad)


@pytest.mark.parametrize("bad", [[], [1], 1, "12", None, 2.5])
def test_there_must_be_two_or_more_concentrations(bad: Any) -> None:
    with pytest.raises(dc.InvalidInputError, match=r"^concentration must"):
        dc.Dirichlet(bad)


@pytest.mark.parametrize("bad", [["a"], ["a", "b", "c"], ["a", "a"], "ab", [["a"], ["b"]]])
def test_categories_must_be_distinct_labels_one_for_each(bad: Any) -> None:
    with pytest.raises(dc.InvalidInputError, match=r"^categories must"):
        dc.Dirichlet([1, 2], categories=bad)
    with pytest.raises(dc.InvalidInputError, match=r"^categories must"):
        dc.Beta(1, 2, categories=bad)


@pytest.mark.parametrize("bad", [0, -1, 1.5, float("nan"), float("inf"), 2**53 + 1, "many", None, True])
def test_the_number_of_records_must_be_a_whole_number(bad: Any) -> None:
    calls: list[Callable[[], object]] = [lambda: dc.global_sensitivity(PRIOR, bad), lambda: PRIOR.predictive(bad)]
    for call in calls:
        with pytest.raises(dc.InvalidInputError, match=r"^n must be"):
            call()


@pytest.mark.parametrize("bad", [0, -1, 1.5, "x", None])
def test_the_number_of_categories_must_be_a_whole_number(bad: Any) -> None:
    with pytest.raises(dc.InvalidInputError, match=r"\bk\b"):
        dc.Dirichlet.uniform(bad)


@pytest.mark.parametrize("name", ["gamma", "beta"])
@pytest.mark.parametrize("bad", [0, -1, -1e-300, float("nan"), float("inf"), "fast", True, [1]])
def test_smoothing_must_be_positive_and_finite(name: str, bad: Any) -> None:
    with pytest.raises(dc.InvalidInputError, match=rf"^{name} must be"):
        dc.smooth_sensitivity(PRIOR, [1, 2, 3], **{name: bad})


def test_exactly_one_of_gamma_and_beta() -> None:
    for both in ({}, {"gamma": 1, "beta": 1}):
        with pytest.raises(dc.InvalidInputError, match="exactly one of gamma and beta"):
            dc.smooth_sensitivity(PRIOR, [1, 2, 3], **both)


@pytest.mark.parametrize("bad", [0, -2, float("nan"), "x"])
def test_renyi_order(bad: Any) -> None:
    with pytest.raises(dc.InvalidInputError, match=r"^order must be"):
        dc.renyi([1, 2], [2, 1], bad)


@pytest.mark.parametrize("distance", [dc.hellinger, dc.kl, dc.chi2, dc.total_variation, dc.total_variation_bounds])
@pytest.mark.parametrize("bad", [[1, 0], [1, -1], [1, float("nan")], [1, float("inf")], [1], 3.0, "ab", [[1, 2], [3]], None])
def test_parameter_arrays(distance: Callable[[Any, Any], object], bad: Any) -> None:
    with pytest.raises(dc.InvalidInputError, match=r"^p "):
        distance(bad, [1, 2])
    with pytest.raises(dc.InvalidInputError, match=r"^q "):
        distance([1, 2], bad)


def test_arguments_that_do_not_fit_each_other() -> None:
    with pytest.raises(dc.InvalidInputError, match="same number of categories, got 2 and 3"):
        dc.hellinger([1, 2], [1, 2, 3])
    with pytest.raises(dc.InvalidInputError, match="same number of categories"):
        dc.kl(dc.Beta(1, 2), PRIOR)
    with pytest.raises(dc.InvalidInputError, match="p and q must broadcast"):
        dc.hellinger(np.ones((2, 3)), np.ones((4, 3)))


def test_points_and_levels() -> None:
    with pytest.raises(dc.InvalidInputError, match=r"^x must"):
        PRIOR.logpdf([0.5, 0.5])
    with pytest.raises(dc.InvalidInputError, match=r"^x must"):
        PRIOR.logpdf([0.5, 0.5, 0.5])
    with pytest.raises(dc.InvalidInputError, match=r"^x must"):
        PRIOR.logpdf([1.5, -0.5, 0.0])
    with pytest.raises(dc.InvalidInputError, match=r"^q must"):
        dc.Beta(1, 1).ppf(1.5)
    with pytest.raises(dc.InvalidInputError, match=r"^mass must"):
        dc.Beta(1, 1).interval(1.0)


# --- private counts ---------------------------------------------------------------------------------------------------

TELLTALE = 7342951
BAD_COUNTS: list[tuple[Any, str]] = [
    ([TELLTALE, -TELLTALE, 1], "negative"),
    ([TELLTALE, 0.5, 1], "fraction"),
    ([TELLTALE, float("nan"), 1], "not a number"),
    ([TELLTALE, float("inf"), 1], "infinite"),
    ([TELLTALE, 1], "one entry for each of the 3 categories"),
    ([TELLTALE, 1, 1, 1], "one entry for each of the 3 categories"),
    ([TELLTALE, 2**53 + 1, 0], "2\\*\\*53"),
    ([2**53, TELLTALE, 0], "2\\*\\*53"),
    ([10**30, TELLTALE, 0], "2\\*\\*53"),
    ([-(10**30), TELLTALE, 0], "2\\*\\*53|negative"),
    ([1e300, TELLTALE, 0.0], "2\\*\\*53"),
    ([0, 0, 0], "at least one record"),
    (["7342951", "1", "1"], "whole numbers"),
    ([True, False, True], "whole numbers"),
    ([None, TELLTALE, 1], "whole numbers"),
    ([[TELLTALE, 1, 1]], "one-dimensional"),
    (TELLTALE, "one-dimensional"),
    ([[TELLTALE], [1, 2], 3], "whole numbers"),
    ([1j, TELLTALE, 0], "whole numbers"),
    ({"a": TELLTALE}, "whole numbers"),
    (None, "whole numbers"),
]


@pytest.mark.parametrize(("bad", "why"), BAD_COUNTS)
def test_bad_counts_are_refused_without_being_repeated(bad: Any, why: str) -> None:
    calls: list[Callable[[], object]] = [
        lambda: PRIOR.update(bad),
        lambda: dc.local_sensitivity(PRIOR, bad),
        lambda: dc.smooth_sensitivity(PRIOR, bad, gamma=1),
        lambda: dc.smooth_sensitivity(PRIOR, bad, beta=0.1),
    ]
    for call in calls:
        with pytest.raises(dc.InvalidInputError, match=r"^counts .*" + why) as caught:
            call()
        message = re.sub(r"2\*\*53|\b[34]\b", "", str(caught.value))  # the limit, k, and the length given
        assert not re.search(r"[1-9]", message.replace("got 2", "").replace("got 4", ""))
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_counts_that_do_not_add_up_name_the_declared_total_only() -> None:
    with pytest.raises(dc.InvalidInputError, match=r"n = 10\b") as caught:
        check_counts([3, 3, 3], 3, n=10)
    assert "9" not in str(caught.value)


@given(st.lists(st.integers(0, 10**6), min_size=3, max_size=3).filter(any))
def test_whole_numbers_of_every_type_are_counts(counts: list[int]) -> None:
    forms: list[Any] = [
        counts,
        tuple(counts),
        [float(c) for c in counts],
        [np.int32(c) for c in counts],
        np.array(counts, dtype=np.uint64),
        np.array(counts, dtype=np.float64),
        np.array(counts, dtype=np.float32) if max(counts) < 2**24 else counts,
        np.array(counts, dtype=object),
    ]
    for form in forms:
        assert check_counts(form, 3).tolist() == counts
        assert dc.local_sensitivity(PRIOR, form) == dc.local_sensitivity(PRIOR, counts)


def test_the_largest_count_is_allowed() -> None:
    assert check_counts([LARGEST_COUNT, 0], 2).tolist() == [2**53, 0]
    assert check_records(2**53) == 2**53
    assert check_records(5.0) == check_records(np.int16(5)) == check_records("5") == 5


# --- exact values -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_value", "meant"),
    [
        (0.1, Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        ("1e-9", Fraction(1, 10**9)),
        (Decimal("0.30"), Fraction(3, 10)),
        (Fraction(2, 7), Fraction(2, 7)),
        (np.int8(3), Fraction(3)),
        (np.array(2.5), Fraction(5, 2)),
        (1e15, Fraction(10**15)),
        (1e300, Fraction(10**300)),
    ],
)
def test_a_number_means_what_it_prints_as(given_value: Any, meant: Fraction) -> None:
    assert exact(given_value, "x") == meant


def test_errors_are_value_errors_too() -> None:
    assert issubclass(dc.InvalidInputError, ValueError)
    assert issubclass(dc.InvalidInputError, dc.DiscreetError)
