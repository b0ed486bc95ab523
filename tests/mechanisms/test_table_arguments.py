"""What a table's mechanism is not given: a one-line error that says what was given or what to do, before anything is spent."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.mechanisms.lattice import LatticeGeometric
from tests.record.table_support import refusal

PRIOR = dc.Dirichlet.uniform(categories=("never", "former", "current"))
BY = {"region": ["north", "south"], "sex": ["f", "m"]}
OTHER = dc.Dirichlet([1, 1, 1], categories=("a", "b", "c"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"by": "region"}, "by must say which groups there are"),
        ({"by": ["region"]}, "by must say which groups there are"),
        ({"by": {}}, "by must name one or more columns"),
        ({"by": {"region": []}}, "at least one group of 'region'"),
        ({"by": {"region": "north"}}, "by must list the groups of 'region'"),
        ({"by": {"region": 3}}, "by must list the groups of 'region'"),
        ({"by": {"": ["x"]}}, "by must name its columns by texts"),
        ({"by": {3: ["x"]}}, "by must name its columns by texts"),
        ({"by": {"\ud800": ["x"]}}, "by must name its columns by texts"),
        ({"by": {"x" * 4001: ["x"]}}, "by must name its columns by texts of 1 to 4,000 characters"),
        ({"by": {"region": ["north", "north"]}}, "must be distinct; 1 and '1' are the same"),
        ({"by": {"region": [1, "1"]}}, "must be distinct; 1 and '1' are the same"),
        ({"by": {"region": [True, "true"]}}, "must be distinct"),
        ({"by": {"region": [["north"], "south"]}}, "must be plain labels"),
        ({"by": {"region": [("north", "f"), "south"]}}, "must be plain labels"),
        ({"by": {"region": ["x" * 4001, "south"]}}, "at most 4,000 characters"),
        ({"by": {"region": range(4000), "place": range(4000)}}, "by declares 16,000,000 groups; at most 10,000,000"),
        ({"impossible": "north"}, "impossible must be a list of cells"),
        ({"impossible": 3}, "impossible must be a list of cells"),
        ({"impossible": ["north"]}, "has a label for each of region, sex and a category"),
        ({"impossible": [("north", "f")]}, "has a label for each of region, sex and a category"),
        ({"impossible": [("north", "f", "x")]}, "must end with a declared category"),
        ({"impossible": [("west", "f", "never")]}, "region must be one of 'north', 'south'; got 'west'"),
        (
            {"impossible": [(g, s, c) for g in BY["region"] for s in BY["sex"] for c in PRIOR.categories]},
            "at least two cells that can occur",
        ),
        ({"shares": [1, 1, 1, 1]}, "shares is the prior of the groups' shares where n is one public total"),
        ({"n": 9, "shares": [1, 1]}, "shares must have a concentration for each of the 4 groups, got 2"),
        ({"n": 9, "shares": []}, "got none"),
        ({"n": 9, "shares": "1111"}, "shares must be a Dirichlet, or a list"),
        ({"n": 9, "shares": 1}, "shares must be a Dirichlet, or a list"),
        ({"n": 9, "shares": [1, 1, 1, 0]}, r"shares[3] must be greater than 0"),
        ({"n": 9, "shares": [1, 1, 1, None]}, r"shares[3] must be a number"),
        ({"n": 9, "shares": [1, 1, 1, "1e-200"]}, r"shares[3] must be from 1e-100 to 1e100"),
        ({"priors": [PRIOR]}, "priors must be a mapping of groups to their priors"),
        ({"priors": {("north", "f"): [1, 1, 1]}}, "priors must give a Dirichlet or a Beta"),
        ({"priors": {"north": PRIOR}}, "a group has a label for each of region, sex; got 'north'"),
        ({"priors": {("west", "f"): PRIOR}}, "region must be one of 'north', 'south'; got 'west'"),
        ({"priors": {("north", "f"): OTHER}}, "the categories of prior, in its order"),
        ({"by": {"year": [1, 2]}, "priors": {1: PRIOR, "1": PRIOR}}, "priors must name each group once"),
        ({"n": []}, "n must be one number of records or, with by=, a list with the size of each group"),
        ({"n": [[1, 2], [3]]}, "n must be one number of records or, with by=, a list with the size of each group"),
        ({"n": [[1, 2], [3, 4]]}, "n must be one number of records or, with by=, a list with the size of each group"),
        ({"n": [1, 2, 3]}, "n must have a size for each of the 4 groups, got 3"),
        ({"n": [1, 2, 3, -4]}, "n must have a whole number from 0 to 2**53 for each group"),
        ({"n": [1, 2, 3, 4.5]}, "n must have a whole number from 0 to 2**53 for each group"),
        ({"n": [1, 2, 3, None]}, "n must have a whole number from 0 to 2**53 for each group"),
        ({"n": ["1", "2", "3", "4"]}, "n must have a whole number from 0 to 2**53 for each group"),
        ({"n": [True] * 4}, "n must have a whole number from 0 to 2**53 for each group"),
        ({"n": [2**53] * 4}, "the sizes of all groups must add up to at most 2**53"),
        ({"n": [10**30] * 4}, "n must have a whole number from 0 to 2**53 for each group"),
        ({"n": [0, 0, 0, 0]}, "nothing to release"),
        ({"n": "9,9,9,9"}, "n must be a finite number"),
        ({"n": {"north": 3}}, "n must be a number"),
        ({"projection": "cut", "n": 9}, "projection='cut' is for one variable"),
        ({"n": [1, 2], "by": None}, "a size for each group goes with by="),
        ({"n": 9, "by": None, "impossible": [("north", "f", "never")]}, "say which there are, with by="),
        ({"n": 9, "by": None, "shares": [1]}, "say which there are, with by="),
        ({"n": 9, "by": None, "priors": {"north": PRIOR}}, "say which there are, with by="),
    ],
    ids=lambda value: ascii(value)[:50],
)
def test_a_bad_argument_is_refused_in_one_line(options: dict[str, Any], said: str) -> None:
    with pytest.raises(dc.InvalidInputError) as raised:
        LatticeGeometric(PRIOR, epsilon=1, **{"by": BY, **options})
    assert said in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize(
    "sizes", [(5, 0, 2, 1), [5, 0, 2, 1], np.array([5, 0, 2, 1]), pd.Series([5, 0, 2, 1]), np.array([5, 0, 2, 1], dtype="u1")]
)
def test_sizes_may_be_any_list_of_whole_numbers(sizes: Any) -> None:
    assert LatticeGeometric(PRIOR, sizes, 1, by=BY).n == (5, 0, 2, 1)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([1, 2, 3], "counts must be a table"),
        ([[1, 2, 3]], "counts must have shape (4, 3), a row a group; got (1, 3)"),
        ([[1, 2], [3]], "counts must be a table"),
        ([["1", "2", "3"]] * 4, "counts must be a table"),
        ([[1, 2, None]] * 4, "counts must be a table"),
        ([[1, 2, 0.5]] * 4, "counts must be whole numbers"),
        ([[1, 2, -1]] * 4, "counts must not be negative"),
        ([[1, 2, 7]] * 4, "counts must add up to the declared number of records, n = 24; they do not"),
    ],
)
def test_counts_that_are_no_table_are_refused(counts: Any, said: str) -> None:
    with pytest.raises(dc.InvalidInputError) as raised:
        LatticeGeometric(PRIOR, 24, 1, by=BY).release(counts)
    assert said in str(raised.value)


ODD: list[Any] = [
    *(None, True, 0, -1, 3, 2.5, float("nan"), 10**400, "", "north", b"north", Fraction(1, 3), object(), len, np.int64(3), np.array(3)),
    *([], (), {}, set(), [None], ["north"], [["north"]], [("north", "f", "never")], ("north",), [("north", "f", ["never"])], [{"a": 1}]),
    *({"region": None}, {"region": ["a"]}, {1: 2}, {"a": "b"}, {"region": [np.nan]}, {"region": [object()]}, {"x": {"y": "z"}}),
    *(range(4), [1, 1, 1, 1], [1, 1, 1], np.ones(4), np.ones((2, 2)), [float("inf")] * 4, [10**400] * 4, [[]], [{}], [[1, 2], [3]]),
    *(PRIOR, OTHER, dc.Beta(1, 1), {("north", "f"): PRIOR}, pd.Series([1, 2, 3, 4]), pd.DataFrame({"a": [1]}), [np.nan], [b"x"]),
]
"""Values, some of which are right in some place."""
NAMES = st.sampled_from(["n", "by", "impossible", "shares", "priors"])


@pytest.mark.parametrize("examples", [200, pytest.param(1500, marks=pytest.mark.slow)])
def test_odd_arguments_make_a_mechanism_or_one_line(examples: int) -> None:
    made: list[bool] = []

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.sampled_from([9, None, [3, 2, 2, 2]]), st.dictionaries(NAMES, st.sampled_from(ODD)))
    def one(n: Any, options: dict[str, Any]) -> None:
        given_options = {"n": n, "by": BY, "epsilon": 1, **options}
        said = refusal(lambda: LatticeGeometric(PRIOR, **given_options))
        assert not said.startswith("not one line"), said
        made.append(not said)
        if not said:
            mechanism = LatticeGeometric(PRIOR, **given_options)
            assert len(repr(mechanism).splitlines()) == 1
            assert hash(mechanism) == hash(mechanism)

    one()
    assert 0 < sum(made) < len(made)


def test_groups_are_found_by_their_labels_and_by_their_number() -> None:
    groups = LatticeGeometric(PRIOR, None, 1, by=BY)._table.cells.groups
    keys = [("north", "f"), ("north", "m"), ("south", "f"), ("south", "m")]
    assert [*groups] == keys == [groups[i] for i in range(4)]
    assert [groups.index(key) for key in keys] == [0, 1, 2, 3]
    call: Callable[[int], Any]
    for call in (groups.key, groups.__getitem__):
        for place in (-1, 4):
            with pytest.raises(IndexError):
                call(place)


def test_data_frames_are_not_taken_by_position() -> None:
    """Their labels may be in another order, and an empty group may be missing, which a refusal by shape would tell."""
    made = dc.LatticeGeometric(dc.Dirichlet.uniform(categories="ab"), epsilon=1, by={"region": ["north", "south"]})
    for frame in (pd.DataFrame([[1, 2], [3, 4]], index=["south", "north"], columns=["b", "a"]), pd.DataFrame([[1, 2]], index=["north"])):
        with pytest.raises(dc.InvalidInputError, match="counts are a data frame"):
            made.release(frame)


def test_huge_counts_are_all_alike_where_n_is_private() -> None:
    made = dc.LatticeGeometric(dc.Dirichlet.uniform(categories="ab"), epsilon=1, by={"region": ["north", "south"]})
    for huge in (2**53, 2**63, 2**64 - 1, 2**64, 10**30):
        assert made._checked([[huge, 0], [1, 2]]).tolist() == [[2**53, 0], [1, 2]]


def test_sums_of_counts_do_not_wrap_around() -> None:
    cells = [2**53] * 2048 + [1]
    made = dc.LatticeGeometric(dc.Dirichlet.uniform(len(cells)), n=[1], epsilon=1, by={"region": ["north"]})
    with pytest.raises(dc.InvalidInputError, match="at most"):
        made.release([cells])
