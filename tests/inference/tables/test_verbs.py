"""The verbs of a whole table, against all tables listed (tests/inference/tables/worlds.py)."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.inference.tables.worlds import GRID, Floats, TableWorld, random_world

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


@WORLDS
def test_records_of_a_table(seed: int) -> None:
    world = random_world(seed)
    assert records_difference(world, world.posterior()) < CLOSE


def test_records_under_other_noise_are_told_apart() -> None:
    worlds = [random_world(seed) for seed in range(6)]
    assert all(records_difference(world, replace(world, epsilon=1.1 * world.epsilon).posterior()) > 1e-6 for world in worlds)
