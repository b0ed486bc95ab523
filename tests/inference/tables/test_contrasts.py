"""Contrasts of two groups of a table. Oracle: all tables listed (`table_worlds`), with quadrature over θ itself (`contrast_support`)."""

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtri

import discreet as dc
from discreet.arrays import Counts
from discreet.inference.quantities import Contrast
from discreet.record.release import is_table
from discreet.sampling import SeededBits
from tests.inference.contrast_oracles import POINTS, QUANTITIES, Pairs, merged
from tests.inference.tables.worlds import Promise, TableWorld, outcome_classes, random_world, two_by_two
from tests.support import lowered

CLOSE = 1e-9


CATEGORIES = ("never", "former", "current")
BY = {"region": ["north", "south"], "sex": ["f", "m"]}


def smokers(promise: Promise, **options: Any) -> dc.Release[Counts]:
    """A release at ε = 1 of four groups with some hundred records."""
    counts = np.array([[120, 40, 60], [90, 70, 80], [60, 10, 0], [40, 30, 30]])
    n: Any = {"sizes": counts.sum(axis=1), "total": int(counts.sum()), "nothing": None}[promise]
    found = dc.LatticeGeometric(dc.Dirichlet([1, 1, 1], CATEGORIES), n, 1, by=BY, **options).release(counts)
    assert is_table(found)
    return found


def whole_numbers(world: TableWorld) -> TableWorld:
    """The world with prior parameters from 1 to 4, for which the oracle's quadrature is exact."""
    return replace(world, a=np.clip(np.ceil(world.a), 1.0, 4.0))


def listed(world: TableWorld, first: int, second: int, category: int | list[int], weight: NDArray[np.float64] | None = None) -> Pairs:
    """The law of the probabilities of a category, or of some, in two groups, a component for each table."""
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


@pytest.mark.parametrize("seed", [1, 6, 7, 9, 14, 23])
def test_sets_of_categories_match_the_definition(seed: int) -> None:
    """Two of three categories, under each promise."""
    world = whole_numbers(random_world(seed))
    i, j = [i for i in world.open_groups() if world.possible[i].all()][:2]
    found = world.posterior().contrast(f"g{i}", f"g{j}", ["c2", "c0"])
    assert off(found, listed(world, i, j, [0, 2])) < CLOSE
    assert off(found, listed(world, i, j, [0])) > 1e-6, "another set is told apart"


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_a_tenth_less_noise_or_another_share_is_told_apart(seed: int) -> None:
    """The negative control of the comparison."""
    world = whole_numbers(random_world(seed))
    i, j, c = pairs(world)[-1]
    wrong = [replace(world, epsilon=1.1 * world.epsilon)]
    wrong += [replace(world, shares=world.shares[::-1].copy())] if world.promise == "total" else []
    for other in wrong:
        assert off(other.posterior().contrast(f"g{i}", f"g{j}", f"c{c}"), listed(world, i, j, c)) > 1e-6


@pytest.mark.parametrize("promise", ["sizes", "total", "nothing"])
def test_a_contrast_agrees_with_the_posteriors_of_both_groups(promise: Promise) -> None:
    """At a usual size: the mean of a difference is that of the means, also where a total ties sizes and priors differ."""
    posterior = smokers(promise, priors={("south", "m"): dc.Dirichlet([0.3, 5, 2], CATEGORIES)}).noise_aware()
    contrast = posterior.contrast(("south", "m"), ("north", "f"), "former")
    one, other = posterior["south", "m"].marginal("former"), posterior["north", "f"].marginal("former")
    assert contrast.difference.mean() == pytest.approx(one.mean() - other.mean(), abs=1e-10)
    spread = contrast.difference.std() ** 2 - one.var() - other.var()
    assert abs(spread) < (1e-9 if promise != "total" else 1e-4)
    assert contrast.names == (("south", "m"), ("north", "f"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("a", "shares", "epsilon", "raw"),
    [
        ([100.0, 100.0], [1.0] * 3, 0.1, [[10, 90], [40, 20], [5, -5]]),  # sizes are far from what the noisy counts add up to
        ([1.0, 0.3], [100.0, 0.01, 1.0], 0.05, [[9, 30], [50, 50], [-20, 10]]),
        ([1e-3, 1e-3], [1e-4] * 3, 0.5, [[6, 5], [3, 3], [0, 1]]),  # a group may well be empty
        ([1.0, 1.0], [1.0] * 3, 1.0, [[10**6, 5 - 10**6], [40000, -40000], [5, 0]]),  # hardly a likely outcome
    ],
)
def test_extreme_tables_of_a_public_total(a: list[float], shares: list[float], epsilon: float, raw: list[list[int]]) -> None:
    counts = np.array(raw)
    parameters, possible = np.broadcast_to(np.array(a), counts.shape).copy(), np.ones(counts.shape, dtype=np.bool_)
    sizes = counts.sum(axis=1)
    posterior = TableWorld("total", epsilon, parameters, possible, sizes, np.array(shares), np.zeros(1), counts).posterior()
    contrast = posterior.contrast("g2", "g0", "c0")
    expected = posterior["g2"].marginal("c0").mean() - posterior["g0"].marginal("c0").mean()
    assert contrast.difference.mean() == pytest.approx(expected, abs=1e-11)
    assert contrast.error < 1e-11


@pytest.mark.parametrize("promise", ["sizes", "total"])
def test_every_group_against_one(promise: Promise) -> None:
    posterior = smokers(promise, impossible=[("south", "f", "current")]).noise_aware()
    found = dict(posterior.iter_contrasts("current", ("north", "m")))
    assert list(found) == [("north", "f"), ("south", "m")]
    for group, contrast in found.items():
        alone = posterior.contrast(group, ("north", "m"), "current")
        assert contrast.probability == pytest.approx(alone.probability, abs=1e-12)
        assert contrast.names == (group, ("north", "m"))


def test_contrasts_make_frames() -> None:
    """Against one group and of all pairs, with the numbers of each contrast by itself; the former call still gives objects."""
    posterior = smokers("sizes", impossible=[("south", "f", "current")]).noise_aware()
    against, pairs = posterior.contrasts("current", reference=("north", "m"), mass=0.9), posterior.contrasts("current", mass=0.9)
    groups = ["region", "sex", "against_region", "against_sex"]
    numbers = [f"{name}{end}" for name in ("difference", "ratio", "odds_ratio") for end in ("", "_low", "_high")]
    assert list(against.columns) == list(pairs.columns) == [*groups, *numbers, "probability"]
    assert against[groups].to_numpy().tolist() == [["north", "f", "north", "m"], ["south", "m", "north", "m"]]
    assert pairs[groups].to_numpy().tolist() == [
        ["north", "f", "north", "m"],
        ["north", "f", "south", "m"],
        ["north", "m", "south", "m"],
    ]
    for frame in (against, pairs):
        for row in frame.to_dict("records"):
            alone = posterior.contrast((row["region"], row["sex"]), (row["against_region"], row["against_sex"]), "current")
            expected = [x for one in (alone.difference, alone.ratio, alone.odds_ratio) for x in (one.median(), *one.interval(0.9))]
            assert [row[name] for name in [*numbers, "probability"]] == pytest.approx([*expected, alone.probability], rel=1e-9)
    assert posterior.contrasts("current", library="polars").columns == list(pairs.columns)
    with pytest.warns(DeprecationWarning, match="iter_contrasts gives objects"):
        former = dict(posterior.contrasts(("north", "m"), "current"))
    assert list(former) == [("north", "f"), ("south", "m")]
    with lowered(CONTRASTS=2), pytest.raises(dc.TooLargeError, match=r" 2 comparisons, .* 3"):
        posterior.contrasts("current")
    with pytest.raises(dc.InvalidInputError, match="category must be one of"):
        posterior.contrasts("old")


def test_all_pairs_of_groups_that_a_total_ties() -> None:
    posterior = smokers("total").noise_aware()
    pairs = posterior.contrasts("never")
    assert len(pairs) == 6
    alone = posterior.contrast(("north", "m"), ("south", "f"), "never")
    row = pairs[(pairs["region"] == "north") & (pairs["sex"] == "m") & (pairs["against_sex"] == "f")].iloc[0]
    assert row["difference_low"] == pytest.approx(alone.difference.interval(0.95)[0], abs=1e-10)
    assert row["probability"] == pytest.approx(alone.probability, abs=1e-11)


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


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("promise", ["sizes", "total", "nothing"])
@pytest.mark.parametrize(
    ("first", "second", "category", "says"),
    [
        (("north", "f"), ("north", "f"), "never", r"\('north', 'f'\) twice"),
        (("north", "x"), ("north", "f"), "never", "sex must be one of 'f', 'm'; got 'x'"),
        ("north", ("north", "f"), "never", "a group has a label for each of region, sex"),
        (("north", "f"), ("north", "m"), "daily", "category .*'never', 'former', 'current'.*'daily'"),
        (("north", "f"), ("south", "f"), "current", r"'current' .*impossible.* \('south', 'f'\)"),
        (("south", "f"), ("north", "f"), "current", r"'current' .*impossible.* \('south', 'f'\)"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(promise: Promise, first: Any, second: Any, category: str, says: str) -> None:
    posterior = smokers(promise, impossible=[("south", "f", "current")]).noise_aware()
    with pytest.raises(dc.InvalidInputError, match=says) as raised:
        posterior.contrast(first, second, category)
    assert "\n" not in str(raised.value)


def test_a_group_with_one_possible_category_has_nothing_to_compare() -> None:
    release = dc.LatticeGeometric(dc.Beta(1, 1), [9, 3], 1, by={"g": ["a", "b"]}, impossible=[("b", "failure")]).release([[4, 5], [3, 0]])
    with pytest.raises(dc.InvalidInputError, match=r"group 'b' .*'success'"):
        release.noise_aware().contrast("a", "b", "success")


def test_two_categories_of_a_group_of_which_one_is_impossible() -> None:
    posterior = smokers("sizes", impossible=[("south", "f", "current")]).noise_aware()
    with pytest.raises(dc.InvalidInputError, match=r"'current' .* impossible"):
        posterior["south", "f"].contrast("never", "current")


def test_noise_that_ties_too_many_sizes_is_refused_in_one_line() -> None:
    posterior = smokers("total").noise_aware()
    with lowered(CONTRAST_PAIRS=100), pytest.raises(dc.TooLargeError, match="exact up to 100"):
        posterior.contrast(("north", "f"), ("north", "m"), "never")


# --- UC Berkeley, 1973 ------------------------------------------------------------------------------------------------

ADMITTED = np.array([[1198, 1493], [557, 1278]])
"""Men and women, admitted and rejected (Bickel, Hammel and O'Connell, 1975)."""
ODDS_RATIO = 1198 * 1278 / (1493 * 557)


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_admissions_to_berkeley(epsilon: str) -> None:
    prior, by = dc.Dirichlet([1, 1], ["admitted", "rejected"]), {"sex": ["men", "women"]}
    mechanism = dc.LatticeGeometric(prior, ADMITTED.sum(axis=1), epsilon, by=by)
    held, narrow = 0, []
    for seed in range(4):
        release = mechanism.release(ADMITTED, source=SeededBits(seed))
        contrast = release.noise_aware().contrast("men", "women", "admitted")
        low, high = contrast.odds_ratio.interval(0.99)
        held += low <= ODDS_RATIO <= high
        (a, b), (c, d) = np.asarray(release.counts)
        half = 1.959964 * np.sqrt(1 / a + 1 / b + 1 / c + 1 / d)
        low, high = contrast.odds_ratio.cdf(a * d / (b * c) * np.exp([-half, half]))
        narrow.append(high - low)
    assert round(ODDS_RATIO, 3) == 1.841
    assert held == 4
    if epsilon == "0.1":
        assert max(narrow) < 0.94, "an interval that ignores the noise promises more than it holds"


# --- fifty groups by five categories ----------------------------------------------------------------------------------

WORLDS: dict[Promise, int] = {"sizes": 16, "nothing": 3, "total": 3}
"""Tables that are drawn, of 25 pairs of groups each; a public total takes longest."""


def probabilities_below(promise: Promise, read_as: str = "0.3", worlds: int | None = None) -> NDArray[np.float64]:
    """How probable it is, by the posterior of each pair of groups, that both contrasts are below what they are.

    Shares and probabilities come from the prior, then counts, then noise at ε = 0.3, most of what is uncertain; it is read as given.
    """
    rng = np.random.default_rng(19)
    by, prior = {"town": range(50)}, dc.Dirichlet.uniform(categories="abcde")
    found = []
    for _ in range(worlds or WORLDS[promise]):
        theta = rng.dirichlet(np.ones(5), 50)
        sizes = rng.multinomial(5000, rng.dirichlet(np.ones(50)))
        counts = rng.multinomial(sizes, theta)
        n: Any = {"sizes": sizes, "total": 5000, "nothing": None}[promise]
        drawn = dc.LatticeGeometric(prior, n, "0.3", by=by).release(counts, source=SeededBits(int(rng.integers(1 << 30))))
        read = dc.LatticeGeometric(prior, n, read_as, by=by)
        posterior = dc.Release(read, read.guarantee, np.asarray(drawn.raw), np.asarray(drawn.counts)).noise_aware()
        for first, second in rng.permutation(50).reshape(25, 2).tolist():
            contrast, (one, other) = posterior.contrast(first, second, "a"), theta[[first, second], 0]
            odds = one / (1.0 - one) * (1.0 - other) / other
            found.append([float(contrast.difference.cdf(one - other)), float(contrast.odds_ratio.cdf(odds))])
    return np.array(found)


def standard_errors(below: NDArray[np.float64], mass: float = 0.8) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How far two means are from what they are for uniform numbers, in standard errors: of being inside of the middle interval of a
    mass, which is its coverage; and of the square of the normal quantile, which tells narrow posteriors from wide ones best."""
    inside = (np.abs(below - 0.5) < 0.5 * mass).mean(axis=0)
    square = (ndtri(below) ** 2).mean(axis=0)
    return (inside - mass) / np.sqrt(mass * (1.0 - mass) / len(below)), (square - 1.0) / np.sqrt(2.0 / len(below))


@pytest.mark.slow
@pytest.mark.parametrize("promise", ["sizes", "nothing", "total"])
def test_intervals_of_fifty_groups_by_five_categories_cover_what_they_promise(promise: Promise) -> None:
    """The seed is fixed; of all seeds some two in a hundred would raise an alarm."""
    coverage, square = standard_errors(probabilities_below(promise))
    assert np.abs(coverage).max() < 3.0
    assert np.abs(square).max() < 2.5


@pytest.mark.slow
def test_noise_that_is_taken_too_small_is_seen_among_fifty_groups() -> None:
    """The negative control of what is checked above. So few pairs do not tell noise that is a tenth off, which the lists above do."""
    _, square = standard_errors(probabilities_below("sizes", read_as="0.6", worlds=8))
    assert square.min() > 2.5
