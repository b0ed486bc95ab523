"""The verbs of a whole table, against all tables listed (tests/inference/tables/worlds.py)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import betainc, gammaln, logsumexp

import discreet as dc
from discreet.inference.quantities import DrawnQuantity
from discreet.inference.records import law_of
from discreet.sampling import SeededBits
from tests.inference.tables.worlds import GRID, Floats, TableWorld, lattice_constant, random_world

CLOSE = 1e-10
WORLDS = pytest.mark.parametrize("seed", [*range(18), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(18, 60))])


def shares_of_records(world: TableWorld, group: int, chosen: list[int]) -> tuple[Floats, Floats, float]:
    """The shares of some categories in every table in which a group has records, their probabilities, and P(no records)."""
    x = world.tables[:, group]
    some = x.sum(axis=1) > 0
    share, chance = x[some][:, chosen].sum(axis=1) / x[some].sum(axis=1), world.probability[some]
    return share, chance / chance.sum() if some.any() else chance, float(world.probability[~some].sum())


def mean_and_std(value: Floats, chance: Floats) -> tuple[float, float]:
    """Of numbers with their probabilities; of none they are NaN."""
    if not len(value):
        return np.nan, np.nan
    mean = float(chance @ value)
    return mean, float(np.sqrt(chance @ (value - mean) ** 2))


def records_difference(world: TableWorld, posterior: Any) -> float:
    """The largest difference of the records' means, standard deviations and distribution functions from the list."""
    found, records = [0.0], posterior.records
    mean, std, none = records.mean(), records.std(), records.no_records
    assert mean.shape == world.a.shape
    assert records.interval(0.9).shape == (*world.a.shape, 2)
    for i in world.open_groups():
        for c in np.flatnonzero(world.possible[i]).tolist():
            share, chance, nothing = shares_of_records(world, i, [c])
            listed = mean_and_std(share, chance)
            np.testing.assert_array_equal(np.isnan([mean[i, c], std[i, c]]), np.isnan(listed))
            if len(share):
                found += [abs(mean[i, c] - listed[0]), abs(std[i, c] - listed[1]), abs(none[i] - nothing)]
                at = np.append(GRID, 1.0)
                found.append(np.abs(records[world.groups[i]].marginal(f"c{c}").cdf(at) - [chance[share <= x].sum() for x in at]).max())
    np.testing.assert_array_equal(mean[~world.possible], 0.0)
    return float(max(found))


def sets_difference(world: TableWorld, posterior: Any) -> float:
    """The largest difference of sets' means, standard deviations and distribution functions from the list: one by one and cumulative."""
    k, found = world.a.shape[1], [0.0]
    cumulative = posterior.cumulative()
    assert cumulative.mean().shape == (len(world.a), k - 1)
    assert cumulative.interval(0.8).shape == (len(world.a), k - 1, 2)
    for size in range(1, k):
        chosen = list(range(size))
        marginal, merged = (
            posterior.marginal([f"c{c}" for c in chosen]),
            posterior.merged({"these": [f"c{c}" for c in chosen], 0: [f"c{c}" for c in range(size, k)]}),
        )
        assert marginal.mean().shape == (len(world.a),)
        for i, row in enumerate(world.possible):
            can = [c for c in chosen if row[c]]
            if not can or row.sum() == len(can):
                listed, mean, square = np.full(len(GRID), 1.0 - bool(can)), float(bool(can)), 0.0
            else:
                one, rest = world.betas(i, can)
                mean = float(world.probability @ (one / (one + rest)))
                square = float(world.probability @ (one * (one + 1.0) / ((one + rest) * (one + rest + 1.0))) - mean**2)
                listed = world.probability @ betainc(one[:, None], rest[:, None], GRID)
            found.append(np.abs(marginal.cdf(GRID)[i] - listed).max())
            found += [abs(other - mean) for other in (marginal.mean()[i], cumulative.mean()[i, size - 1], merged.mean()[i, 0])]
            found += [abs(other**2 - square) for other in (marginal.std()[i], cumulative.std()[i, size - 1], merged.std()[i, 0])]
    return float(max(found))


def score_difference(world: TableWorld, posterior: Any) -> float:
    """The largest difference of the scores' means and standard deviations from the list, of the probabilities and of the records."""
    weight = np.array([3.0, -1.0, 0.5])[: world.a.shape[1]]
    named, found = {f"c{c}": float(w) for c, w in enumerate(weight)}, [0.0]
    scores, records = posterior.score(named), posterior.records.score(named)
    assert scores.interval(0.9).shape == (len(world.a), 2)
    for i, row in enumerate(world.possible):
        if row.sum() < 2:
            assert scores.std()[i] == 0.0 if row.any() else np.isnan(scores.mean()[i])
            continue
        y = np.where(row, world.a[i] + world.tables[:, i], 0.0)
        total = y.sum(axis=1)
        given = y @ weight / total
        mean = float(world.probability @ given)
        square = world.probability @ ((given - mean) ** 2 + (y @ weight**2 / total - given**2) / (total + 1.0))
        found += [abs(scores.mean()[i] - mean), abs(scores.std()[i] ** 2 - square)]
        x = world.tables[:, i]
        some = x.sum(axis=1) > 0
        if some.any():
            share = x[some] @ weight / x[some].sum(axis=1)
            mean, std = mean_and_std(share, world.probability[some] / world.probability[some].sum())
            found += [abs(records.mean()[i] - mean), abs(records.std()[i] ** 2 - std**2)]
        else:
            assert np.isnan(records.mean()[i])
    return float(max(found))


def test_what_is_omitted_of_shares_weighs_more_where_records_are_unlikely() -> None:
    law = law_of(np.array([0.0, 1.0, np.nan]), np.array([4e-9, 6e-9, 1.0 - 1e-8]), "c0", 1e-15)
    np.testing.assert_allclose([law.omitted, *law.probability], [1e-7, 0.4, 0.6], rtol=1e-12)
    world = replace(random_world(3), promise="total", possible=np.ones((2, 2), dtype=np.bool_), a=np.array([[1.0, 2.0], [1.0, 2.0]]))
    world = replace(world, epsilon=2.0, sizes=np.array([4, 0]), shares=np.array([1.0, 1e-12]), raw=np.array([[2, 2], [1, -1]]))
    found = world.posterior().records["g1"].marginal("c0")
    share, chance, _ = shares_of_records(world, 1, [0])
    assert abs(found.mean() - mean_and_std(share, chance)[0]) <= found.omitted + 1e-12


DIFFERENCES = (records_difference, sets_difference, score_difference)


@WORLDS
@pytest.mark.parametrize("difference", DIFFERENCES, ids=["records", "sets", "scores"])
def test_verbs_of_a_table_match_the_list(seed: int, difference: Callable[[TableWorld, Any], float]) -> None:
    world = random_world(seed)
    assert difference(world, world.posterior()) < CLOSE


@pytest.mark.parametrize("difference", DIFFERENCES, ids=["records", "sets", "scores"])
def test_other_noise_is_told_apart(difference: Callable[[TableWorld, Any], float]) -> None:
    """The negative control of the comparisons. An outcome above all possible counts says nothing about shares, whatever the noise."""
    for seed in (0, 1, 3, 4, 5):
        world = random_world(seed)
        assert difference(world, replace(world, epsilon=1.1 * world.epsilon).posterior()) > 1e-6


# --- the evidence -----------------------------------------------------------------------------------------------------


def listed_evidence(world: TableWorld) -> float:
    """ln P(outcome), a sum over all tables of their prior probability and that of the noise."""
    log_prior, cells = world.log_prior, world.possible.sum(axis=1)
    slope = world.epsilon if world.promise == "nothing" else 0.5 * world.epsilon
    constant = 0.0
    if world.promise == "total":
        whole = world.shares[world.possible.any(axis=1)].sum()
        log_prior = log_prior + gammaln(world.total + 1.0) + gammaln(whole) - gammaln(whole + world.total)
        constant = -lattice_constant(int(cells.sum()), world.epsilon)
    elif world.promise == "sizes":
        constant = -sum(lattice_constant(int(k), world.epsilon) for k in cells if k > 1)
    else:
        log_prior = log_prior - sum(world.log_size[0] for k in cells if k == 0)  # a group in which nothing can occur has no prior
        constant = float(cells.sum()) * np.log(np.tanh(0.5 * world.epsilon))
    away = np.abs(world.raw - world.tables).sum(axis=(1, 2))
    return float(logsumexp(log_prior - slope * away)) + float(constant)


@WORLDS
def test_the_evidence_of_a_table_is_that_of_the_list(seed: int) -> None:
    world = random_world(seed)
    assert world.posterior().log_evidence == pytest.approx(listed_evidence(world), abs=1e-9)
    assert abs(replace(world, epsilon=1.1 * world.epsilon).posterior().log_evidence - listed_evidence(world)) > 1e-4


# --- margins ----------------------------------------------------------------------------------------------------------

BY = {"region": ["north", "south"], "sex": ["f", "m"]}
COUNTS = np.array([[3, 1, 1], [1, 2, 1], [2, 0, 0], [1, 1, 1]])
CATEGORIES = ("never", "former", "current")
PUBLIC = ("sizes", "total", "nothing")


def table(public: str) -> dc.TablePosterior:
    n: Any = {"sizes": COUNTS.sum(axis=1), "total": int(COUNTS.sum()), "nothing": None}[public]
    mechanism = dc.LatticeGeometric(dc.Dirichlet([1, 1, 2], CATEGORIES), n, 2, by=BY)
    found = mechanism.release(COUNTS, source=SeededBits(5), steady=False)
    return found.noise_aware()


@pytest.mark.parametrize("public", PUBLIC)
def test_contrasts_of_margins_are_those_of_joint_draws(public: str) -> None:
    """Oracle: draws of the whole table, put together here; both have 20,000, and a false alarm has a probability below 1e-9."""
    post, weights = table(public), np.array([1.0, 2.0, 3.0, 4.0])
    draws = 20_000
    margins = post.over("sex", weights=weights, draws=draws)
    theta = post.sample(draws, rng=7)[:, :, 1:].sum(axis=2)
    sides = [theta[:, [i, i + 2]] @ weights[[i, i + 2]] / weights[[i, i + 2]].sum() for i in (0, 1)]
    found = margins.contrast("f", "m", ["former", "current"])
    for quantity, drawn in ((found.difference, sides[0] - sides[1]), (found.ratio, sides[0] / sides[1])):
        for at in np.quantile(drawn, [0.05, 0.3, 0.5, 0.9]):
            assert abs(quantity.cdf(at) - (drawn <= at).mean()) < 6.5 * np.sqrt(0.5 / draws)
    assert abs(found.difference.mean() - (sides[0] - sides[1]).mean()) < 6.5 * found.difference.std() * np.sqrt(2.0 / draws)
    assert abs(found.difference.std() / (sides[0] - sides[1]).std() - 1.0) < 0.05
    assert found.difference.interval(0.9) == margins.contrast("f", "m", ["former", "current"]).difference.interval(0.9)
    back = margins.contrast("m", "f", ["former", "current"])
    assert back.difference.interval(0.9) == pytest.approx([-end for end in found.difference.interval(0.9)[::-1]], abs=1e-3)
    assert abs(found.probability - (sides[0] > sides[1]).mean()) < 6.5 * np.sqrt(0.5 / draws)


@pytest.mark.parametrize("public", ["sizes", "nothing"])
def test_scores_of_margins_add_those_of_independent_groups(public: str) -> None:
    post, weights = table(public), np.array([1.0, 2.0, 3.0, 4.0])
    named = {"never": 0.0, "former": 1.0, "current": 4.0}
    each, margins = post.score(named), post.over("sex", weights=weights).score(named)
    share = weights.reshape(2, 2) / weights.reshape(2, 2).sum(axis=0)
    np.testing.assert_allclose(margins.mean(), (share * each.mean().reshape(2, 2)).sum(axis=0), atol=CLOSE)
    np.testing.assert_allclose(margins.std(), np.sqrt((share**2 * each.std().reshape(2, 2) ** 2).sum(axis=0)), atol=CLOSE)
    assert not np.allclose(margins.std(), (share * each.std().reshape(2, 2)).sum(axis=0), rtol=0.05), "as if groups were one"
    np.testing.assert_allclose(margins["f"].samples.std(), margins["f"].std(), rtol=0.06)


def test_draws_of_a_ratio_have_no_mean() -> None:
    found = table("total").over("sex", draws=100).contrast("f", "m", "never")
    assert isinstance(found.difference, DrawnQuantity)
    assert found.difference.standard_error() > 0.0
    with pytest.raises(dc.RefusedError, match="median"):
        found.ratio.mean()
