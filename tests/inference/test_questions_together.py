"""Several questions by the same groups, read together. Oracles: `count_tree`, which adds up all counts, and the engine of nested trees."""

import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.counts.factors import Count, Noisy, Split
from discreet.errors import InvalidInputError, RefusedError
from discreet.model.periods import PeriodRange
from discreet.model.size_priors import known_size, size_prior_of
from tests.counts import count_tree as plain
from tests.counts.count_tree import Floats, PlainCount, PlainLaw, PlainSplit
from tests.counts.nested import nested_counts

BY = {"g": ["x", "y"]}
RAW = {"first": [[2, 1], [0, 3]], "second": [[3, 1], [1, 1]]}
PRIORS: dict[str, list[Any]] = {"first": [1, 2], "second": ["1/2", "1/2"]}
EPSILONS = {"first": 1.0, "second": 1.8}
RULE = dc.CountingRule("answer")


def record(
    name: str, n: Any, *, by: Any = BY, raw: Any = None, rule: dc.CountingRule = RULE, period: str | None = None, **options: Any
) -> dc.Release:
    """A release with this outcome, which is no draw."""
    mechanism = dc.LatticeGeometric(dc.Dirichlet(PRIORS[name]), n, EPSILONS[name], **({} if by is None else {"by": by}), **options)
    outcome = np.array(RAW[name] if raw is None else raw)
    own = mechanism.prepare(np.maximum(outcome, 0), unit=rule.unit).guarantee
    promise = replace(own, period=None if period is None else PeriodRange.read(period))
    return mechanism._recorded(promise, outcome if by is not None else tuple(outcome.tolist()), dc.About(counting=rule))


def records(n: Any) -> dict[str, dc.Release]:
    return {name: record(name, n) for name in RAW}


def plain_group(group: int, wrong: float, slopes: dict[str, float]) -> PlainCount:
    """A group in the oracle's words: split once for every question."""
    splits = []
    for name, prior in PRIORS.items():
        parts = [PlainCount([plain.geometric(z, wrong * slopes[name])]) for z in RAW[name][group]]
        splits.append(PlainSplit(parts, np.array([float(dc.Dirichlet(prior).exact[i]) for i in range(2)])))
    return PlainCount([], splits)


def worst(post: Any, laws: Sequence[PlainLaw], groups: Sequence[PlainCount], top: int) -> float:
    """The largest difference of any probability of a count or a size, in any group and question."""
    found = []
    for number, (label, group) in enumerate(zip(BY["g"], groups, strict=True)):
        law = laws[number]
        for split, name in zip(group.splits, RAW, strict=True):
            one = post[name][label]
            for part, category in zip(split.parts, one.categories, strict=True):
                found.append(np.abs(full(one.count_probabilities(category), top) - law.law(part)).max())
            found.append(np.abs(full(one.size.probabilities(), top) - law.law(group)).max())
    return float(max(found))


def full(law: tuple[Any, Any], top: int) -> Floats:
    x, probability = law
    values = np.zeros(max(top, int(x[-1])) + 1)
    values[x.astype(int)] = probability
    return values[: top + 1]


@pytest.mark.parametrize(("wrong", "is_right"), [(1.0, True), (1.1, False)])
def test_with_a_public_total_all_counts_have_the_law_of_the_whole_tree(wrong: float, is_right: bool) -> None:
    groups = [plain_group(group, wrong, {name: epsilon / 2 for name, epsilon in EPSILONS.items()}) for group in (0, 1)]
    law = PlainLaw(PlainCount([], [PlainSplit(groups, np.ones(2))]), plain.public(6), 6)
    difference = worst(dc.read_together(records(6)), [law, law], groups, 6)
    assert difference < 1e-12 if is_right else difference > 1e-3


@pytest.mark.parametrize(("wrong", "is_right"), [(1.0, True), (1.1, False)])
def test_with_nothing_public_every_group_has_the_law_of_its_own_tree(wrong: float, is_right: bool) -> None:
    groups = [plain_group(group, wrong, EPSILONS) for group in (0, 1)]
    laws = [PlainLaw(group, plain.flat, 75) for group in groups]
    difference = worst(dc.read_together(records(None)), laws, groups, 75)
    assert difference < 1e-12 if is_right else difference > 1e-3


def test_larger_tables_agree_with_the_engine_of_nested_trees() -> None:
    """Three questions, four groups, a public total, and priors of the groups' shares."""
    rng, by, shares = np.random.default_rng(4), {"g": list("abcd")}, [1, 2, "1/2", 3]
    sizes = rng.multinomial(400, [0.1, 0.2, 0.3, 0.4])
    found: dict[str, Any] = {}
    for name, slope in {"p": 0.4, "q": 0.3, "r": 0.25}.items():
        counts = np.array([rng.multinomial(size, rng.dirichlet([2.0] * 3)) for size in sizes])
        noise = rng.integers(-9, 10, size=counts.shape)
        noise.flat[-1] -= noise.sum()
        mechanism = dc.LatticeGeometric(dc.Dirichlet.uniform(3), 400, 2 * slope, by=by, shares=shares)
        found[name] = mechanism._recorded(mechanism.prepare(counts).guarantee, counts + noise, dc.About(counting=RULE))
    post: Any = dc.read_together(found)
    groups = [
        Count((), [Split([Count([Noisy(one.mechanism.noise, int(z))]) for z in one.raw[i]], np.ones(3)) for one in found.values()])
        for i in range(4)
    ]
    law = nested_counts(Count((), [Split(groups, np.array([1.0, 2.0, 0.5, 3.0]))]), known_size(400))
    for number, label in enumerate("abcd"):
        for split, name in zip(groups[number].splits, found, strict=True):
            one = post[name][label]
            run, (x, probability) = law.law(split.parts[0]), one.count_probabilities(one.categories[0])
            assert np.abs(full((x, probability), 400) - full((run.x, run.value), 400)).max() < 1e-12
            assert one.omitted < 1e-15
        run, (n, chance) = law.law(groups[number]), post["p"][label].size.probabilities()
        assert np.abs(full((n, chance), 400) - full((run.x, run.value), 400)).max() < 1e-12


def test_one_variable_of_private_size_is_read_with_others() -> None:
    rows: dict[str, Any] = {name: record(name, None, by=None, raw=RAW[name][0]) for name in RAW}
    post: Any = dc.read_together(rows)
    assert post.shared == (("first", "second"),)
    group = Count(
        (),
        [
            Split([Count([Noisy(rows[name].mechanism.noise, z)]) for z in RAW[name][0]], dc.Dirichlet(PRIORS[name]).concentration)
            for name in RAW
        ],
    )
    run, (n, chance) = nested_counts(group, size_prior_of("flat")).law(group), post["first"].size.probabilities()
    assert np.abs(full((n, chance), 80) - full((run.x, run.value), 80)).max() < 1e-12


@pytest.mark.parametrize(
    "tables",
    [
        {name: record(name, [3, 3], raw=[[2, 1], [1, 2]]) for name in RAW},
        {"first": record("first", 6), "second": record("second", 6, rule=dc.CountingRule("answer", privacy_id="who"))},
        {"first": record("first", 6), "second": record("second", None)},
        {"first": record("first", 6), "second": record("second", 6, impossible=[("x", "1")], raw=[[3, 0], [1, 2]])},
        {"first": record("first", 6), "second": record("second", 6, by={"g": ["x", "z"]})},
        {name: record(name, 3, by=None, raw=[2, 1]) for name in RAW},
    ],
    ids=["sizes are public", "another id", "another promise", "impossible cells", "other groups", "n is public"],
)
def test_tables_that_share_no_sizes_are_read_alone(tables: dict[str, dc.Release]) -> None:
    post: Any = dc.read_together(tables)
    assert post.shared == ()
    for name, release in tables.items():
        assert np.array_equal(post[name].mean(), release.noise_aware().mean())


def of_period(name: str, period: str | None, column: str | None = None) -> dc.Release:
    dated = None if column is None or period is None else (column, period)
    return record(name, 6, rule=dc.CountingRule("answer", one_row_per_person=True, dated=dated), period=period)


@pytest.mark.parametrize(("other", "said"), [("2025-11", "2025-11"), ("2025-10..2025-11", "2025-10..2025-11"), (None, "none")])
def test_tables_of_different_periods_are_refused_and_those_of_one_are_not(other: str | None, said: str) -> None:
    """Nothing but the period differs: of the same period the same tables are read together."""
    first = of_period("first", "2025-10")
    with pytest.raises(InvalidInputError) as refused:
        dc.read_together({"first": first, "second": of_period("second", other)})
    assert str(refused.value) == f"releases with different periods are not combined: one has 2025-10, another {said}"
    assert dc.read_together({"first": first, "second": of_period("second", "2025-10")}).shared == (("first", "second"),)


@pytest.mark.parametrize(("column", "shared"), [("visited", (("first", "second"),)), ("paid", ()), (None, ())])
def test_rows_that_were_picked_by_other_dates_share_no_sizes(column: str | None, shared: Any) -> None:
    tables = {"first": of_period("first", "2025-10", "visited"), "second": of_period("second", "2025-10", column)}
    assert dc.read_together(tables).shared == shared


def test_what_is_between_questions_is_refused_and_sizes_warn() -> None:
    post: Any = dc.read_together(records(6))
    assert repr(post) == "StudyPosterior(first, second; read together: first and second)"
    with pytest.raises(RefusedError, match="not released"):
        post.contrast("first", "second")
    with pytest.warns(UserWarning, match="too sure"):
        assert post.size("first", "x").mean() > 0
    again = pickle.loads(pickle.dumps(post))  # noqa: S301
    assert np.array_equal(again["first"].mean(), post["first"].mean())
    assert list(post["first"].summary().columns) == ["g", "category", "mean", "sd", "low", "high"]
    wrongs: list[Any] = [{}, {"a": 3}, "no such folder"]
    for wrong in wrongs:
        with pytest.raises(InvalidInputError):
            dc.read_together(wrong)
