"""Contrasts of two groups of a table. Oracle: all tables listed (`table_worlds`), with quadrature over θ itself (`contrast_support`)."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.inference.contrasts import Contrast
from tests.contrast_support import POINTS, QUANTITIES, Pairs, merged
from tests.table_worlds import Promise, TableWorld, outcome_classes, random_world, two_by_two

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


QUICK = (3, 4, 5, 9, 23)
SEEDS = [pytest.param(seed, marks=[pytest.mark.slow] * (seed not in QUICK)) for seed in range(48)]
"""Three or four of each promise are quick; in some of the others no two groups can be compared."""


@pytest.mark.parametrize("seed", SEEDS)
def test_random_tables_match_the_definition(seed: int) -> None:
    world = whole_numbers(random_world(seed))
    posterior, found = world.posterior(), pairs(world)
    assert found or seed not in QUICK
    for i, j, c in found[-1:] if seed in QUICK else found[:: max(1, len(found) // 3)]:
        contrast = posterior.contrast(f"g{i}", f"g{j}", f"c{c}")
        assert off(contrast, listed(world, i, j, c)) < CLOSE
        assert contrast.error < 1e-10


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_a_tenth_less_noise_or_another_share_is_told_apart(seed: int) -> None:
    """The negative control of the comparison."""
    world = whole_numbers(random_world(seed))
    i, j, c = pairs(world)[-1]
    wrong = [replace(world, epsilon=1.1 * world.epsilon)]
    wrong += [replace(world, shares=world.shares[::-1].copy())] if world.promise == "total" else []
    for other in wrong:
        assert off(other.posterior().contrast(f"g{i}", f"g{j}", f"c{c}"), listed(world, i, j, c)) > 1e-6


# --- coverage ---------------------------------------------------------------------------------------------------------

PRIORS = ([[1.0, 1.0], [2.0, 1.0]], [1.0, 2.0])
NAMES = ("difference", "odds_ratio")


def coverage(world: TableWorld, mass: float, read_as: float | None = None) -> tuple[dict[str, float], float, float]:
    """How often intervals hold the contrast over all tables and outcomes, the largest |coverage - mass| in a class of outcomes, and the
    probability of all classes."""
    covered, worst, whole = dict.fromkeys(NAMES, 0.0), 0.0, 0.0
    for chance, raw in outcome_classes(world):
        contrast = replace(world, raw=raw, epsilon=read_as or world.epsilon).posterior().contrast("g0", "g1", "c0")
        known, given = float(chance.sum()), listed(world, 0, 1, 0, chance / chance.sum())
        whole += known
        for name in NAMES:
            low, high = getattr(contrast, name).interval(mass)
            inside = given.cdf(name, high) - given.cdf(name, low)
            covered[name] += known * inside
            worst = max(worst, abs(inside - mass))
    return covered, worst, whole


@pytest.mark.slow
@pytest.mark.parametrize(("promise", "records"), [("sizes", 2), ("total", 1), ("total", 2), ("nothing", 1)])
def test_intervals_cover_what_they_promise(promise: Promise, records: int) -> None:
    covered, worst, whole = coverage(two_by_two(promise, records, 0.7, *PRIORS), 0.9)
    assert whole == pytest.approx(1.0, abs=1e-12)
    assert covered == pytest.approx(dict.fromkeys(NAMES, 0.9), abs=CLOSE)
    assert worst < CLOSE


@pytest.mark.slow
def test_noise_that_is_ten_percent_off_is_seen_by_the_coverage() -> None:
    covered, worst, _ = coverage(two_by_two("total", 1, 0.7, *PRIORS), 0.9, read_as=0.77)
    assert worst > 1e-4
    assert max(abs(value - 0.9) for value in covered.values()) > 1e-5
