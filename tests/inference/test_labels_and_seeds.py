"""Numbers carry their labels and levels, and draws begin at a seed that follows from the record."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.inference.draws import generator, seed_of
from tests.record.table_support import CATEGORIES, released

PRIOR = dc.Dirichlet([1, 0.5, 2], categories=CATEGORIES)


def read(raw: tuple[int, ...] = (30, 20, 10)) -> dc.NoiseAware:
    """What a reader computes from a record by themselves."""
    mechanism = dc.LatticeGeometric(PRIOR, 60, 1)
    found: dc.NoiseAware = dc.Release.from_json(dc.Release(mechanism, mechanism.guarantee, raw, raw).to_json()).noise_aware()
    return found


def test_the_same_question_has_the_same_answer() -> None:
    """Two readers of one record draw the same; of another record, and with a seed of their own, they do not."""

    def event(theta: Any) -> Any:
        return theta[:, 0] > 0.5

    one, other, another = read(), read(), read((31, 19, 10))
    assert np.array_equal(one.sample(5), other.sample(5))
    assert not np.array_equal(one.sample(5), another.sample(5))
    assert not np.array_equal(one.sample(5), one.sample(5, rng=1))
    assert np.array_equal(one.sample(5, rng=1), other.sample(5, rng=np.random.default_rng(1)))
    assert one.probability(event, draws=500) == other.probability(event, draws=500)
    assert not np.array_equal(one.given(["never", "former"]).sample(5), one.sample(5)[:, :2])
    mine = released("total").noise_aware()
    theirs = dc.Release.from_json(released("total").to_json()).noise_aware()
    questions: list[Callable[[Any], Any]] = [
        lambda post: post.sample(3),
        lambda post: post.sample_counts(3),
        lambda post: post.over("year", draws=50).interval(0.9),
        lambda post: post.over(draws=50).mean(),
        lambda post: post.ranks("never", draws=50).probability,
        lambda post: post["south", 2024].sample(3),
    ]
    for ask in questions:
        assert np.array_equal(ask(mine), ask(mine))
        assert np.array_equal(ask(mine), ask(theirs))


def test_groups_and_margins_draw_by_themselves() -> None:
    """Draws of two groups, or of two margins, are not made from the same random numbers."""
    table = released("sizes").noise_aware()
    north, south = table["south", 2023].sample(2000)[:, 0], table["south", 2024].sample(2000)[:, 0]
    assert abs(np.corrcoef(north, south)[0, 1]) < 0.15
    margin = table.over("year", weights=[1, 1, 1, 1], draws=2000)
    assert abs(np.corrcoef(margin[2023].marginal("never"), margin[2024].marginal("never"))[0, 1]) < 0.15
    assert abs(np.corrcoef(margin[2023].marginal("never"), margin[2023].marginal("never"))[0, 1]) > 0.99  # the control


def test_several_releases_are_read_alike_whatever_their_order() -> None:
    mechanism = dc.LatticeGeometric(PRIOR, 60, 1)
    both = [dc.Release(mechanism, mechanism.guarantee, raw, raw) for raw in ((30, 20, 10), (31, 19, 10))]
    one, other = dc.combine(both, same_data=True), dc.combine(both[::-1], same_data=True)
    assert np.array_equal(one.sample(5), other.sample(5))


def test_seeds_follow_from_what_is_given() -> None:
    assert seed_of("a", 1) == seed_of("a", 1) != seed_of("a", 2)
    assert generator(None, 5).random() == generator(5, 7).random() == np.random.default_rng(5).random()
    assert generator(None, None).random() != generator(None, None).random()


def test_figures_carry_labels_and_level() -> None:
    table = released("sizes").noise_aware()
    figures, together = table.figures(0.9), table.simultaneous(0.9)
    assert (figures.level, figures.together, together.together) == (0.9, None, 0.9)
    assert together.level > 0.99
    assert figures.categories == CATEGORIES
    assert figures.by == table.by
    assert figures.to_pandas().equals(table.summary(0.9))
    assert figures.to_polars().equals(table.summary(0.9, "polars"))
    assert list(together.to_pandas()["low"]) == together.low.ravel().tolist()
    assert "90 % intervals" in repr(figures)
    assert "together 90 %" in repr(together)
    assert "<th>south, 2024</th>" in figures._repr_html_()


def test_simultaneous_intervals_of_a_variable_carry_labels_and_level() -> None:
    found = read().simultaneous(0.9)
    assert found.together == 0.9
    assert found.level == pytest.approx(1.0 - 0.1 / 3)
    assert found.to_pandas().columns.tolist() == found.to_polars().columns == ["category", "mean", "sd", "low", "high"]
    assert found.to_pandas()["category"].tolist() == list(CATEGORIES)
    assert np.array_equal(np.asarray(found), read().interval(found.level))
    assert np.array_equal(found[:, 1], found.high)
    assert len(found) == 3
    assert "never" in found._repr_html_()


def test_ranks_carry_labels_and_make_frames() -> None:
    ranks = released("sizes").noise_aware().ranks("former", draws=2000, rng=1)
    frame = ranks.to_pandas()
    assert list(frame.columns) == ranks.to_polars().columns == ["region", "year", "mean", "sd", "low", "high", "first"]
    assert list(zip(frame["region"], frame["year"], strict=True)) == list(ranks.groups)
    assert ranks.category == "former"
    places = np.arange(1, 4)
    for row, (low, high) in zip(ranks.probability, ranks.interval(0.8).tolist(), strict=True):
        assert row[(places >= low) & (places <= high)].sum() >= 0.8 - 1e-12
        assert row[places < low].sum() <= 0.1 + 1e-12
        assert row[places > high].sum() <= 0.1 + 1e-12
    assert ranks.std() == pytest.approx(np.sqrt([row @ (places - row @ places) ** 2 for row in ranks.probability]))
