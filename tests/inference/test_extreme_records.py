"""What was once a raw error, or wrong without a word, at the ends of what is allowed: tiny and huge ε, no records, tables that disagree."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import DiscreetError
from discreet.sampling import SeededBits
from tests.cli.support import invoke


def outcome(epsilon: Any, raw: list[int], n: int | None = None) -> dc.Release:
    prior = dc.Dirichlet.uniform(categories=[f"c{i}" for i in range(len(raw))])
    mechanism = dc.LatticeGeometric(prior, n, epsilon)
    return mechanism._recorded(mechanism.guarantee, tuple(raw))


@pytest.mark.parametrize("epsilon", ["1e-13", "1e-14", "1e-15"])
def test_a_tiny_epsilon_is_refused(epsilon: str) -> None:
    with pytest.raises(dc.TooLargeError):
        outcome(epsilon, [0, 0]).noise_aware()


def test_a_release_with_a_tiny_epsilon_ends_well(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("answer\nyes\nno\n")
    words = ["release", tmp_path / "a.csv", "--column", "answer", "--categories", "yes,no", "--epsilon", "1e-14", "--public", "nothing"]
    done = invoke(*words, "--output", tmp_path / "a.json", "--yes")
    assert done.exit_code == 0, done.output
    assert invoke("show", tmp_path / "a.json").exit_code == 0


@pytest.mark.parametrize(("epsilon", "raw"), [("0.02", [43, 133, 84]), ("0.03", [10, 4, 70, 9]), ("0.04", [3, 900, 2, 5])])
def test_sets_where_several_tilts_are_needed(epsilon: str, raw: list[int]) -> None:
    """The mean of a set is the sum of means, and sets of one category are that category."""
    post = outcome(epsilon, raw).noise_aware()
    labels = list(post.categories)
    found = post.merged({"first": labels[:1], "others": labels[1:]})
    assert found.mean() == pytest.approx([post.mean()[0], post.mean()[1:].sum()], abs=1e-9)
    assert found.std()[0] == pytest.approx(post.std()[0], rel=1e-7)
    assert found.interval()[0] == pytest.approx(post.interval()[0], abs=1e-7)
    assert post.cumulative().mean() == pytest.approx(np.cumsum(post.mean())[:-1], abs=1e-9)


def test_no_records_have_no_shares() -> None:
    records = outcome(40, [0, 0]).noise_aware().records
    assert np.isnan(records.marginal("c0").interval()).all()
    with pytest.raises(dc.InvalidInputError, match="there are no records"):
        records.contrast("c0", "c1")


@pytest.mark.parametrize("n", [None, 3])
@pytest.mark.parametrize("epsilon", [100, 750, 1500, 5000])
def test_the_interval_of_next_to_no_noise(epsilon: int, n: int | None) -> None:
    assert outcome(epsilon, [1, 1, 1], n).noise_interval(0.95) == pytest.approx(np.full((3, 2), 1 / 3))


@pytest.mark.parametrize("epsilon", [15, 16, 17])
def test_pairs_of_shares_say_that_their_least_likely_counts_are_left_out(epsilon: int) -> None:
    """A ratio is given that one of two counts is not 0, which here has next to no probability: it is summed by hand."""
    prior = dc.Dirichlet(["1/100000000", "1/50000000", "2"])
    mechanism = dc.LatticeGeometric(prior, None, epsilon)
    found: Any = mechanism._recorded(mechanism.guarantee, (0, 0, 5)).noise_aware().records.contrast(*prior.categories[:2])
    unequal = 3e-8 * 6.0 / 7.0 * np.exp(-epsilon)  # one record more, in either of the two
    assert abs(1.0 - found.ratio.undefined - unequal) <= found.ratio.omitted <= 1e-14


def test_equal_differences_of_shares_are_one_value() -> None:
    """Of two groups of ten records there are 21 differences, and 0.6 - 0.4 is 0.7 - 0.5."""
    mechanism = dc.LatticeGeometric(dc.Dirichlet([1, 1], ["a", "b"]), [10, 10], 1, by={"g": ["x", "y"]})
    post = mechanism._recorded(mechanism.guarantee, np.array([[5, 5], [3, 7]])).noise_aware()
    first, second = (post[group].records.marginal("a") for group in ("x", "y"))
    difference = post.records.contrast("x", "y", "a").difference
    assert len(difference.value) == 21
    for step in range(-10, 11):
        expected = sum(float(first.pmf(i / 10) * second.pmf((i - step) / 10)) for i in range(11) if 0 <= i - step <= 10)
        assert difference.pmf(step / 10) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("one", "other"), [([5, 5], [70, 3]), ([0, 0], [60, 30])])
def test_tables_of_other_records_are_not_read_together(one: list[int], other: list[int]) -> None:
    def released(raw: list[int]) -> dc.Release:
        found = outcome(1, raw)
        return dc.Release(found.mechanism, found.guarantee, found.raw, found.counts, dc.About(counting=dc.CountingRule("x")))

    with pytest.raises(dc.TooLargeError, match="hardly fit together"):
        dc.read_together({"q": released(one), "r": released(other)})["q"].mean()
    assert dc.read_together({"q": released([5, 5]), "r": released([6, 3])})["q"].mean().sum() == pytest.approx(1.0)


@pytest.mark.parametrize("wrong", [None, [1], 3, {}, {1: 2}])
def test_what_is_no_study(wrong: Any) -> None:
    with pytest.raises(dc.InvalidInputError, match="read_together takes"):
        dc.read_together(wrong)


def test_corrections_that_are_wrong_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("s\na\nb\n")
    (tmp_path / "c.toml").write_text("'Erika of Ward 3' = 'a'\n")
    for given in (tmp_path / "c.toml", [("Erika", "a")], {"Erika": {"x": "a"}}, {"s": {"Erika": "c"}}):
        with pytest.raises(DiscreetError) as caught:
            dc.count(tmp_path / "a.csv", "s", ["a", "b"], corrections=given)  # type: ignore[arg-type]
        assert "Erika" not in str(caught.value)
    with pytest.raises(DiscreetError, match="written as it was declared"):
        dc.count(tmp_path / "a.csv", "s", [1, 2], corrections={"s": {"one": True}})


@pytest.mark.parametrize("epsilon", [59, 60, 61, 130, 500])
@pytest.mark.parametrize("by", [None, {"region": ["north", "south"]}])
def test_next_to_no_noise_with_a_private_n(epsilon: int, by: Any) -> None:
    """Noise of such an ε is 0 but for a probability below 1e-24, so that the posterior is that of the noisy counts themselves."""
    prior = dc.Dirichlet.uniform(2)
    counts = [[300, 120], [50, 700]] if by else [300, 120]
    release = dc.LatticeGeometric(prior, epsilon=epsilon, by=by).release(counts, source=SeededBits(1), steady=False)
    exact = np.array(counts) + 1.0
    assert np.asarray(release.noise_aware().mean()) == pytest.approx(exact / exact.sum(axis=-1, keepdims=True), abs=1e-12)
