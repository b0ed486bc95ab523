"""Bad input: every error names the argument and what is allowed, and none repeats a private value."""

import re
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet import limits
from discreet.data.count import CategoryCounts
from discreet.validation import check_counts, check_records, exact

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


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0,5", " 0.5"),
        ("5%", " 0.05"),
        ("2,5 %", " 0.025"),
        ("half", "Fraction(1, 3)"),
    ],
)
def test_a_number_that_is_spelt_in_another_way_is_answered_with_ours(text: str, says: str) -> None:
    for call in (lambda: dc.LatticeGeometric(dc.Beta(1, 1), 10, text), lambda: dc.plan(dc.Beta(1, 1), n=100, width=text)):
        with pytest.raises(dc.InvalidInputError, match=f"{re.escape(says)}$"):
            call()


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
    ([[TELLTALE, 1, 1]], "one variable"),
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


NAMED = dc.Dirichlet([1, 1, 1], categories=["low", "mid", "high"])
LABELLED: list[Callable[[dict[Any, int]], Any]] = [dict, Counter, pd.Series, lambda pairs: pd.Series(pairs).sort_values()]


@pytest.mark.parametrize("made", LABELLED, ids=["dict", "Counter", "Series", "sorted Series"])
def test_counts_with_labels_are_matched_by_label(made: Callable[[dict[Any, int]], Any]) -> None:
    counts = made({"high": 5, "low": 2, "mid": 3})
    assert NAMED.update(counts) == NAMED.update([2, 3, 5])
    mechanism = dc.HellingerSmooth(NAMED, 10, 1)
    assert mechanism.log_prob(counts, [1, 1, 8]) == mechanism.log_prob([2, 3, 5], [1, 1, 8])
    assert dc.local_sensitivity(NAMED, counts) == dc.local_sensitivity(NAMED, [2, 3, 5])
    assert dc.Dirichlet.uniform(3).update(made({2: 5, 0: 2, 1: 3})) == dc.Dirichlet.uniform(3).update([2, 3, 5])
    assert dc.Dirichlet([1, 1], categories=["1", "0"]).update(made({0: 5, 1: 2})).concentration.tolist() == [3.0, 6.0]


@pytest.mark.parametrize("made", LABELLED, ids=["dict", "Counter", "Series", "sorted Series"])
@pytest.mark.parametrize("labels", [("low", "mid", "rest"), (0, 2, 1), ("low", "Mid", "high"), (("low", 1), "mid", "high")], ids=str)
def test_counts_with_other_labels_are_refused_without_naming_them(made: Callable[[dict[Any, int]], Any], labels: tuple[Any, ...]) -> None:
    counts = made(dict(zip(labels, (TELLTALE, 2, 1), strict=True)))
    for call in (NAMED.update, dc.LatticeGeometric(NAMED, TELLTALE + 3, 1).release, lambda x: dc.local_sensitivity(NAMED, x)):
        with pytest.raises(dc.InvalidInputError, match=r"labels of their own.*discreet\.count") as caught:
            call(counts)
        assert not {"rest", "Mid", str(TELLTALE)} & set(re.split(r"\W+", str(caught.value)))


def test_what_value_counts_gives_is_never_taken_by_position() -> None:
    answers = pd.Series(["low", "high", "high", "mid", "high", "mid"])
    assert NAMED.update(answers.value_counts()) == NAMED.update([1, 2, 3])
    mechanism = dc.LatticeGeometric(dc.Dirichlet([1, 2, 5], categories=NAMED.categories), 6, 1)
    given, right, wrong = (dc.expected_error(mechanism, counts) for counts in (answers.value_counts(), [1, 2, 3], [3, 2, 1]))
    assert given == right != wrong


@pytest.mark.parametrize("categories", [(True, False), (1, 2, 3), ("a", "b", "c")], ids=str)
@pytest.mark.parametrize(
    "made",
    [dict, Counter, lambda counts: pd.Series(list(Counter(counts).elements())).value_counts().sort_index()],
    ids=["dict", "Counter", "Series"],
)
def test_numbers_that_are_labels_are_not_taken_for_positions(made: Callable[[dict[int, int]], Any], categories: tuple[Any, ...]) -> None:
    with pytest.raises(dc.InvalidInputError, match="labels of their own"):
        dc.Dirichlet.uniform(categories=categories).update(made({i: i + 1 for i in range(len(categories))}))


def test_numbered_rows_are_counts_in_the_order_of_the_categories() -> None:
    assert NAMED.update(pd.Series([2, 3, 5])) == NAMED.update([2, 3, 5])
    assert dc.Beta(1, 1).update(pd.Series([2, 3])) == dc.Beta(3, 4)


def test_an_attribute_of_a_series_is_not_taken_for_its_unit() -> None:
    """`series.unit` is a count where a category is called so."""
    prior = dc.Dirichlet.uniform(categories=["unit", "categories"])
    release = dc.LatticeGeometric(prior, TELLTALE + 1, 1).release(pd.Series({"unit": TELLTALE, "categories": 1}))
    assert release.guarantee.unit == "record"


def test_counts_of_another_order_are_refused_everywhere() -> None:
    counts = CategoryCounts(np.array([1, 2, 3]), ("high", "mid", "low"), "record")
    for call in (NAMED.update, dc.LatticeGeometric(NAMED, 6, 1).law, lambda x: dc.local_sensitivity(NAMED, x)):
        with pytest.raises(dc.InvalidInputError, match="in its order"):
            call(counts)


def test_arguments_in_each_others_place_are_told_so() -> None:
    counts = CategoryCounts(np.array([TELLTALE, 2, 3]), ("low", "mid", "high"), "record")
    with pytest.raises(dc.InvalidInputError, match=r"^n must .* CategoryCounts.*n=counts\.total"):
        dc.LatticeGeometric(NAMED, counts, 1)
    for make in (dc.Dirichlet.uniform, dc.Dirichlet.jeffreys):
        with pytest.raises(dc.InvalidInputError, match=r"^k must .* categories="):
            make(["low", "high"])  # type: ignore[arg-type]


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
    assert check_counts([limits.COUNT, 0], 2).tolist() == [2**53, 0]
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
