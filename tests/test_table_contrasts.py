"""Contrasts of two groups of a table. Oracle: all tables listed (`table_worlds`), with quadrature over θ itself (`contrast_support`)."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

import discreet as dc
from discreet.inference.contrasts import Contrast
from tests.contrast_support import POINTS, QUANTITIES, Pairs, merged
from tests.table_worlds import TableWorld, random_world

CLOSE = 1e-9


def whole_numbers(world: TableWorld) -> TableWorld:
    """The world with prior parameters from 1 to 4, for which the oracle's quadrature is exact."""
    return replace(world, a=np.clip(np.ceil(world.a), 1.0, 4.0))


def listed(world: TableWorld, first: int, second: int, category: int, weight: NDArray[np.float64] | None = None) -> Pairs:
    """The law of a category's probabilities in two groups, a component for each table."""
    betas = (*world.betas(first, category), *world.betas(second, category))
    return Pairs(*merged(world.probability if weight is None else weight, *betas))


def off(contrast: Contrast, oracle: Pairs) -> float:
    """The largest difference from the list: of distribution functions, of the difference's mean, and of what an interval holds."""
    found = [abs(float(getattr(contrast, name).cdf(t)) - oracle.cdf(name, t)) for name in QUANTITIES for t in POINTS[name][1::2]]
    low, high = contrast.odds_ratio.interval(0.8)
    found.append(abs(oracle.cdf("odds_ratio", high) - oracle.cdf("odds_ratio", low) - 0.8))
    found.append(abs(contrast.difference.mean() - oracle.mean(lambda x, y: x - y)))
    return max(*found, abs(contrast.probability - 1.0 + oracle.cdf("difference", 0.0)))


def pairs(world: TableWorld) -> list[tuple[int, int, int]]:
    """Two groups and a category that can occur in both, beside another."""
    groups = permutations(world.open_groups(), 2)
    return [(i, j, c) for i, j in groups for c in np.flatnonzero(world.possible[i] & world.possible[j]).tolist()]


SEEDS = [*range(12), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(12, 60))]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_tables_match_the_definition(seed: int) -> None:
    world = whole_numbers(random_world(seed))
    posterior, found = world.posterior(), pairs(world)
    for i, j, c in found[:: max(1, len(found) // 2)]:
        contrast = posterior.contrast(f"g{i}", f"g{j}", f"c{c}")
        assert off(contrast, listed(world, i, j, c)) < CLOSE
        assert contrast.error < 1e-10
