"""What `combine` is asked, what it refuses, and tables: group by group they are read as single releases are."""

import dataclasses
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from tests.inference.coverage import make, release_of, two_categories

# --- what is asked and what is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize("same_data", [True, False])
def test_the_order_does_not_matter(same_data: bool) -> None:
    prior = dc.Dirichlet([1, 2, 0.5])
    releases = [
        release_of(dc.LatticeGeometric(prior, 8, 1), (3, 4, 1)),
        release_of(make(dc.HellingerSmooth, prior, 8, 2), (2, 5, 1)),
        release_of(dc.LatticeGeometric(prior, epsilon=4), (2, 5, 1)),
    ]
    found = [dc.combine(order, same_data=same_data) for order in permutations(releases)]
    for other in found[1:]:
        np.testing.assert_allclose(other.mean(), found[0].mean(), rtol=1e-12)
        np.testing.assert_allclose(other.interval(0.9), found[0].interval(0.9), rtol=1e-12)


def test_a_public_n_holds_for_all_releases_of_the_same_records() -> None:
    prior = dc.Beta(1, 1)
    private, public = release_of(dc.LatticeGeometric(prior, epsilon=1), (6, 9)), release_of(dc.LatticeGeometric(prior, 12, 1), (5, 7))
    posterior = dc.combine([private, public], same_data=True)
    assert posterior.n == 12
    assert posterior.contrast("success", "failure").probability == pytest.approx(float(posterior.marginal("success").sf(0.5)), abs=1e-9)
    counts = posterior.sample_counts(50, rng=1)
    assert (counts.sum(axis=1) == 12).all()
    pooled = dc.combine([private, public], same_data=False)
    assert pooled.n is None
    assert pooled.size.mean() > 20
    assert pooled.contrast("success", "failure").probability == pytest.approx(float(pooled.marginal("success").sf(0.5)), abs=1e-9)


def test_the_readers_prior_takes_the_labels_of_the_records() -> None:
    first, second = dc.Beta(1, 1, categories=["yes", "no"]), dc.Beta(2, 1, categories=["yes", "no"])
    releases = [release_of(dc.LatticeGeometric(prior, 9, 1), raw) for prior, raw in ((first, (4, 5)), (second, (3, 6)))]
    with pytest.raises(dc.InvalidInputError, match=r"\(1, 1\) and \(2, 1\).*prior="):
        dc.combine(releases, same_data=True)
    posterior = dc.combine(releases, same_data=True, prior=dc.Beta(3, 4))
    same = [release_of(dc.LatticeGeometric(dc.Beta(3, 4), 9, 1), raw) for raw in ((4, 5), (3, 6))]
    np.testing.assert_allclose(posterior.mean(), dc.combine(same, same_data=True).mean(), rtol=1e-12)
    assert posterior.categories == ("yes", "no")


def _refusals() -> dict[str, tuple[Any, str]]:
    prior = dc.Beta(1, 1)
    one, other = (release_of(dc.LatticeGeometric(prior, n, 1), (4, n - 4)) for n in (9, 10))
    person = dc.Release(one.mechanism, dc.Guarantee(1.0, 0.0, "proof", unit="person"), one.raw, one.counts)
    named = release_of(dc.LatticeGeometric(dc.Beta(1, 1, categories=["yes", "no"]), 9, 1), (4, 5))
    sizes, total = (dc.LatticeGeometric(prior, n, 1, by={"region": ["north", "south"]}) for n in ((3, 4), 7))
    elsewhere = dc.LatticeGeometric(prior, (3, 4), 1, by={"region": ["east", "west"]})
    larger = dc.LatticeGeometric(prior, (3, 5), 1, by={"region": ["north", "south"]})
    table, tied, away, more = (
        m.release(np.array([[1, 2], [3, 1 + extra]])) for m, extra in ((sizes, 0), (total, 0), (elsewhere, 0), (larger, 1))
    )

    def counted(nulls: str | None) -> dc.Release:
        return dc.LatticeGeometric(prior, 9, 1).release([4, 5], about=dc.About(counting=dc.CountingRule("answer", nulls=nulls)))

    return {
        "one": ([one], "two or more releases, got 1"),
        "not a list": (one, "give a list"),
        "not releases": ([one, 3], "not int"),
        "twice": ([one, one], "given twice"),
        "two n": ([one, other], "n = 9 and 10"),
        "units": ([one, person], "one has records, another persons"),
        "categories": ([one, named], "one has success, failure, another yes, no"),
        "ways of counting": ([counted(None), counted("failure")], "counted in different ways"),
        "kinds": ([one, table], "some of these releases are tables"),
        "total": ([table, tied], "total alone is public"),
        "groups": ([table, away], "different groups"),
        "sizes": ([table, more], "these say different ones"),
    }


@pytest.mark.parametrize("name", _refusals())
def test_what_does_not_belong_together_is_refused_in_one_line(name: str) -> None:
    releases, words = _refusals()[name]
    with pytest.raises(dc.DiscreetError, match=words) as caught:
        dc.combine(releases, same_data=True)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"same_data": "yes"}, "True .* or False"),
        ({"same_data": True, "size_prior": "flat"}, "leave it out"),
        ({"same_data": True, "prior": dc.Dirichlet([1, 1, 1])}, "2 categories of the release, got 3"),
        ({"same_data": True, "prior": dc.Beta(1, 1, categories=["a", "b"])}, "in its order"),
        ({"same_data": True, "prior": 3}, "got int"),
        ({"same_data": False, "chains": 1}, "2 or more"),
    ],
)
def test_bad_options_are_refused_in_one_line(options: dict[str, Any], words: str) -> None:
    with pytest.raises(dc.InvalidInputError, match=words):
        dc.combine(two_categories(dc.Beta(1, 1, categories=["yes", "no"]), 9, 1, (4, 5)), **options)


def test_copies_of_one_draw_are_warned_of() -> None:
    """A copy is another object; its title may differ. Two draws with another outcome or another ε are none."""
    prior = dc.Beta(1, 1)
    release = dc.LatticeGeometric(prior, 40, 1).release([12, 28])
    copy = dc.Release.from_json(dataclasses.replace(release, about=dc.About(title="the same")).to_json())
    table = dc.LatticeGeometric(prior, (3, 4), 1, by={"region": ["north", "south"]}).release(np.array([[1, 2], [3, 1]]))
    for pair in ([release, copy], [table, dc.Release.from_json(table.to_json())]):
        for same_data in (True, False):
            with pytest.warns(dc.CopyWarning, match="copies of one draw") as caught:
                dc.combine(pair, same_data=same_data)
            assert [Path(one.filename).name for one in caught] == ["test_combine_arguments.py"]
    for other in (release_of(release.mechanism, (0, 40)), release_of(dc.LatticeGeometric(prior, 40, 2), release.raw)):
        dc.combine([release_of(release.mechanism, (1, 39)), other], same_data=True)  # warnings are errors here


# --- tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("same_data", [True, False])
def test_groups_of_tables_are_read_as_single_releases_are(same_data: bool) -> None:
    prior, own = dc.Dirichlet([1, 1, 2], categories=["a", "b", "c"]), dc.Dirichlet([3, 1, 1], categories=["a", "b", "c"])
    by = {"region": ["north", "south", "east"]}
    options: dict[str, Any] = {"by": by, "impossible": [("south", "b")], "priors": {"north": own}}
    tables = [dc.LatticeGeometric(prior, (6, 4, 0), 1, **options), dc.LatticeGeometric(prior, epsilon=3, **options)]
    raws = [np.array([[2, 5, -1], [1, 0, 3], [1, -3, 2]]), np.array([[2, 3, 1], [0, 0, 3], [0, 1, 0]])]
    releases = [dc.Release(m, m.guarantee, raw, m.report(raw)) for m, raw in zip(tables, raws, strict=True)]
    combined = dc.combine(releases, same_data=same_data)
    assert list(combined) == ["north", "south", "east"]
    north = [release_of(dc.LatticeGeometric(own, 6, 1), (2, 5, -1)), release_of(dc.LatticeGeometric(own, epsilon=3), (2, 3, 1))]
    np.testing.assert_allclose(combined["north"].mean(), dc.combine(north, same_data=same_data).mean(), rtol=1e-12)
    two = dc.Dirichlet([1, 2])
    south = [release_of(dc.LatticeGeometric(two, 4, 1), (1, 3)), release_of(dc.LatticeGeometric(two, epsilon=3), (0, 3))]
    np.testing.assert_allclose(combined["south"].mean(), dc.combine(south, same_data=same_data).mean(), rtol=1e-12)
    assert combined["south"].impossible == ("b",)
    empty = combined["east"]
    expected = prior.mean() if same_data else release_of(dc.LatticeGeometric(prior, epsilon=3), (0, 1, 0)).noise_aware().mean()
    np.testing.assert_allclose(empty.mean(), expected, rtol=1e-10)
    frame = combined.summary(0.9)
    assert frame["mean"].to_numpy().reshape(3, 3)[1, 1] == 0.0
    np.testing.assert_allclose(frame["low"].to_numpy().reshape(3, 3)[0], combined["north"].interval(0.9)[:, 0])


def test_a_summary_has_the_numbers_of_every_group_however_many_categories_it_can_have() -> None:
    prior = dc.Dirichlet([1, 1, 2], categories=["a", "b", "c"])
    impossible = [("south", "b"), ("east", "a"), ("east", "c")]
    mechanism = dc.LatticeGeometric(prior, epsilon=3, by={"region": ["north", "south", "east"]}, impossible=impossible)
    raws = [np.array([[2, 5, 1], [1, 0, 3], [0, 4, 0]]), np.array([[2, 3, 1], [0, 0, 3], [0, 2, 0]])]
    combined = dc.combine([dc.Release(mechanism, mechanism.guarantee, raw, mechanism.report(raw)) for raw in raws], same_data=True)
    frame = combined.summary(0.9)
    found = np.stack([frame[name].to_numpy().reshape(3, 3) for name in ("mean", "sd", "low", "high")])
    for row, group, possible in ((0, "north", [0, 1, 2]), (1, "south", [0, 2])):
        one = combined[group]
        expected = np.zeros((4, 3))
        expected[:, possible] = [one.mean(), one.std(), *one.interval(0.9).T]
        np.testing.assert_allclose(found[:, row], expected, rtol=1e-12)
    np.testing.assert_array_equal(found[:, 2], [[0, 1, 0], [0, 0, 0], [0, 1, 0], [0, 1, 0]])
    counts = combined.figures(0.9)
    assert np.isnan(counts.count_mean[2, 1])
    np.testing.assert_allclose(counts.count_mean[0], combined["north"].figures(0.9).count_mean, rtol=1e-12)


def test_what_others_count_in_is_not_known_and_units_of_ours_must_agree() -> None:
    prior = dc.Dirichlet.uniform(categories=["yes", "no"])
    persons, records = (
        dc.LatticeGeometric(prior, 100, epsilon=1).release([60, 40], unit=unit, steady=False) for unit in ("person", "record")
    )
    theirs = dc.observed([58, 42], noise=dc.noise.Geometric(epsilon=1), prior=prior, n=100)
    for ours in (persons, records):
        assert dc.combine([ours, theirs], same_data=True).mean().sum() == pytest.approx(1)
    with pytest.raises(dc.errors.InvalidInputError, match="units"):
        dc.combine([persons, records, theirs], same_data=True)
