"""Counts that were observed at several levels. Oracles: `count_tree`, enumeration, and the plain tree of `nested`."""

from collections.abc import Iterator

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.arrays import Counts, Floats
from discreet.counts.factors import Count, Noisy, Observation, Split
from discreet.counts.law import PairWeights
from discreet.counts.listed import ListedCounts
from discreet.counts.nested import LevelCounts, counts_of_levels, counts_of_sets
from discreet.counts.runs import Run
from discreet.counts.tree import counts_of_split
from discreet.errors import InvalidInputError, RefusedError
from discreet.inference.noise_aware import probability_law
from discreet.mechanisms.lattice import GeometricNoise
from discreet.model.size_priors import known_size, size_prior_of
from discreet.numerics.gamma import log_rising
from tests.counts import count_tree as plain
from tests.counts.count_tree import PlainCount, PlainLaw, PlainSplit
from tests.counts.nested import full, nested_counts
from tests.counts.observations import gaussian
from tests.inference.tables.worlds import compositions

CLOSE = 1e-10


class World:
    """A random tree of counts with noise at some of them, for the engine and for the oracle; `wrong` makes the engine's noise another."""

    def __init__(self, seed: int, wrong: float = 1.0, levels: int = 3, most: int = 12) -> None:
        self.rng, self.wrong = np.random.default_rng(seed), wrong
        self.leaves: list[PlainCount] = []
        self.a: list[float] = []
        self.whole, self.same, _ = self._count(levels, root=True)
        self.log_root: plain.LogFactor
        if self.rng.random() < 0.5:
            n = int(self.rng.integers(2, most))
            self.root, self.log_root, self.top = known_size(n), plain.public(n), n
        else:
            self.root, self.log_root, self.top = size_prior_of("flat"), plain.flat, 100

    def _count(self, levels: int, *, root: bool = False) -> tuple[Count, PlainCount, float]:
        leaf = levels == 0 or (not root and self.rng.random() < 0.3)
        parts = [] if leaf else [self._count(levels - 1) for _ in range(self.rng.integers(1 + root, 3 + root))]
        observed, factors = [], []
        for _ in range(1 if leaf else int(self.rng.random() < 0.6)):
            z = int(self.rng.integers(-2, 7))
            if self.rng.random() < 0.7:
                slope = float(self.rng.choice([0.7, 1.1]))
                observed.append(Noisy(GeometricNoise(1, self.wrong * slope), z))
                factors.append(plain.geometric(z, slope))
            else:
                noise = gaussian(self.wrong * 1.4)
                observed.append(Noisy(noise, z, noise.curvature))
                factors.append(plain.gaussian(z, 1.4))
        a = float(self.rng.choice([0.01, 0.5, 1.0, 3.0])) if leaf else sum(part[2] for part in parts)
        weights = np.array([part[2] for part in parts])
        made = PlainCount(factors, [] if leaf else [PlainSplit([part[1] for part in parts], weights)])
        if leaf:
            self.leaves.append(made)
            self.a.append(a)
        return Count(observed, [] if leaf else [Split([part[0] for part in parts], weights)]), made, a

    @property
    def law(self) -> LevelCounts:
        return counts_of_levels(self.whole, np.array(self.a), self.root)


def difference(seed: int, wrong: float = 1.0) -> float:
    """The largest difference of a probability, or of the logarithm of the evidence, from the oracle's."""
    world = World(seed, wrong)
    exact, found = PlainLaw(world.same, world.log_root, world.top), world.law
    assert found.omitted < 1e-15
    size = full(Run(found.size.low, found.size.probability), world.top)
    worst = [abs(found.log_evidence - exact.log_evidence), np.abs(size - exact.law(world.same)).max()]
    for i, leaf in enumerate(world.leaves):
        worst.append(float(np.abs(full(found.marginal(i), world.top) - exact.law(leaf)).max()))
    return float(max(worst))


@pytest.mark.parametrize("start", range(0, 300, 75))
def test_three_hundred_random_trees_agree_with_the_oracle(start: int) -> None:
    assert max(difference(seed) for seed in range(start, start + 75)) < CLOSE


def test_noise_that_is_a_tenth_off_is_told() -> None:
    assert all(difference(seed, 1.1) > 1e-5 for seed in range(5))


# --- every other question, by listing all counts ------------------------------------------------------------------------


def listed(world: World) -> ListedCounts:
    """All counts of a small world, with their weights."""
    k, most = len(world.leaves), world.top if world.root.last is not None else 24
    points = np.stack([axis.ravel() for axis in np.indices((most + 1,) * k)], axis=-1)
    points = points[points.sum(axis=1) == most] if world.root.last is not None else points
    logs = sum((log_rising(a, x, 0.0) for a, x in zip(world.a, points.T.astype(float), strict=True)), np.zeros(len(points)))
    logs = logs - log_rising(sum(world.a), points.sum(axis=1).astype(float), 0.0)

    def observed(count: PlainCount, leaves: Iterator[int]) -> Counts:
        total = np.zeros(len(points), dtype=np.int64)
        for split in count.splits:
            total = sum((observed(part, leaves) for part in split.parts), total)
        total = total if count.splits else points[:, next(leaves)]
        for factor in count.observed:
            logs[:] += factor(np.arange(total.max() + 1.0))[total]
        return total

    observed(world.same, iter(range(k)))
    return ListedCounts.of_logs(points, logs)


def small(seed: int) -> World:
    """A world of three or four leaves, narrow enough for all its counts to be listed."""
    while True:
        world = World(seed, levels=2, most=9)
        if 3 <= len(world.leaves) <= (4 if world.root.last is not None else 3) and min(world.a) > 0.1:
            return world
        seed += 1000


def dense(weights: list[PairWeights], top: int) -> Floats:
    """Probabilities of two counts and of the rest."""
    found = np.zeros((top + 1,) * 3)
    for part in weights:
        for row, u in enumerate(part.totals.tolist()):
            for x in range(part.low, part.low + part.split.shape[1]):
                for column, r in enumerate((part.rest_rows[row] + part.rest_columns).tolist()):
                    weight = part.split[row, x - part.low] * part.rest[row, column]
                    if weight > 0.0 and max(x, u - x, r) <= top:
                        found[x, u - x, r] += weight
    return np.asarray(found / found.sum())


@pytest.mark.parametrize("seed", range(12))
def test_every_question_has_the_answer_of_a_list(seed: int) -> None:
    world = small(seed)
    exact, found, top = listed(world), world.law, world.top if world.root.last is not None else 24
    k, a, w = len(world.leaves), np.array(world.a), np.array([3.0, -1.0, 0.5, 2.0])[: len(world.leaves)]
    for i in range(k):
        np.testing.assert_allclose(full(found.marginal(i), top), full(exact.marginal(i), top), atol=CLOSE)
        low, least, joint = found.joint(i, 1e-14)
        low2, least2, joint2 = exact.joint(i, 1e-14)
        ours, theirs = np.zeros((2, 200, 200))
        ours[low : low + joint.shape[0], least : least + joint.shape[1]] = joint
        theirs[low2 : low2 + joint2.shape[0], least2 : least2 + joint2.shape[1]] = joint2
        np.testing.assert_allclose(ours, theirs, atol=CLOSE)
    np.testing.assert_allclose(dense(found.pairs(0, 2), top), dense(exact.pairs(0, 2), top), atol=CLOSE)
    off = ~np.eye(k, dtype=bool)
    np.testing.assert_allclose(found.covariance(a)[off], exact.covariance(a)[off], atol=CLOSE)
    np.testing.assert_allclose(found.score(w).of_probabilities(a, w), exact.score(w).of_probabilities(a, w), rtol=1e-9)
    for sets in ([[0, 1], [*range(2, k)]], [[0, k - 1], [*range(1, k - 1)]]):
        mine, same_sets = found.merged(sets), exact.merged(sets)
        for j in range(2):
            np.testing.assert_allclose(full(mine.marginal(j), top), full(same_sets.marginal(j), top), atol=CLOSE)
    for chosen in ([0, 1], [2, 0], [1, 2]):
        one, other = found.part(chosen), exact.part(chosen)
        for j in range(2):
            law, same = probability_law(one, j, 1.0, 2.0, "x"), probability_law(other, j, 1.0, 2.0, "x")
            np.testing.assert_allclose(law.interval(0.9), same.interval(0.9), atol=1e-9)


def test_draws_have_the_law_of_every_count() -> None:
    """False alarm 1e-9 for each count; the seed is fixed."""
    world, size = World(7), 4000
    law = world.law
    draws = law.sample(size, np.random.default_rng(1))
    for i, x in enumerate(draws.T):
        run = law.marginal(i)
        seen, likely = np.bincount(x - run.low, minlength=len(run.value)), run.value * size > 8
        expected = np.append(run.value[likely], run.value[~likely].sum()) * size
        got = np.append(seen[likely], seen[~likely].sum())
        assert len(expected) < 2 or chisquare(got, expected * got.sum() / expected.sum()).pvalue > 1e-9


def test_sets_that_cut_across_each_other_and_counts_without_a_bound_are_refused() -> None:
    noise = Noisy(GeometricNoise(1, 1.0), 3)
    every: dict[tuple[int, ...], list[Observation]] = {(i,): [noise] for i in range(3)}
    with pytest.raises(RefusedError, match="cuts across"):
        counts_of_sets(np.ones(3), {**every, (0, 1): [noise], (1, 2): [noise]}, size_prior_of("flat"))
    with pytest.raises(InvalidInputError, match="nothing bounds"):
        counts_of_sets(np.ones(3), {(0,): [noise], (1,): [noise]}, size_prior_of("flat"))


def test_levels_that_contradict_each_other_are_read_deep_in_the_tails() -> None:
    """The other oracle adds up logarithms, and so holds any contradiction."""
    noise = GeometricNoise(1, 1.0)
    for z in (60, 150):
        seen: dict[tuple[int, ...], list[Observation]] = {(i,): [Noisy(noise, 3)] for i in range(3)}
        seen[0, 1] = [Noisy(GeometricNoise(1, 0.8), z)]
        found = counts_of_sets(np.array([1.0, 2.0, 0.5]), seen, size_prior_of("flat"))
        leaves = [Count(seen[i,]) for i in range(3)]
        whole = Count([], [Split([Count(seen[0, 1], [Split(leaves[:2], np.array([1.0, 2.0]))]), leaves[2]], np.array([3.0, 0.5]))])
        exact = nested_counts(whole, size_prior_of("flat"))
        assert found.omitted < 1e-15
        assert found.log_evidence == pytest.approx(exact.log_evidence, abs=1e-9)
        for i, leaf in enumerate(leaves):
            np.testing.assert_allclose(full(found.marginal(i), 200), full(exact.law(leaf), 200), atol=CLOSE)


def test_sets_that_cut_across_levels_are_read_deep_in_the_tails() -> None:
    """The oracle lists all counts: what a level says is unlikely by its parts must not be lost beside what it excludes."""
    a, n = np.array([1e-3, 50.0, 1e-8, 1e-8]), 6
    noisy = {(0,): (1.0, 3), (1,): (5.0, -1), (0, 1): (2.5, -1), (2,): (3.0, 2), (3,): (5.0, -2), (2, 3): (0.7, 1), (0, 1, 2, 3): (2.5, 5)}
    law = counts_of_sets(a, {inside: [Noisy(GeometricNoise(1, slope), z)] for inside, (slope, z) in noisy.items()}, known_size(n))
    points = compositions(n, 4)
    logs = sum((log_rising(one, x, 0.0) for one, x in zip(a, points.T.astype(float), strict=True)), np.zeros(len(points)))
    for inside, (slope, z) in noisy.items():
        logs -= slope * np.abs(z - points[:, list(inside)].sum(axis=1))
    exact = ListedCounts.of_logs(points, logs)
    for chosen in ([0, 2], [1, 2], [3, 0]):
        part = law.part(chosen)
        for place, i in enumerate(chosen):
            np.testing.assert_allclose(full(part.marginal(place), n), full(exact.marginal(i), n), atol=CLOSE)
    np.testing.assert_allclose(dense(law.pairs(0, 2), n), dense(exact.pairs(0, 2), n), atol=CLOSE)


@pytest.mark.parametrize("slope", [0.05, 0.3])
def test_wide_noise_on_many_counts_is_read_as_by_the_engine_for_one_split(slope: float) -> None:
    """Weights of totals range over e^200 here: what has the rounding errors of the largest would be seen."""
    rng, noise = np.random.default_rng(1), GeometricNoise(1, slope)
    seen = [[Noisy(noise, int(z))] for z in rng.integers(-20, 60, 50)]
    found = counts_of_sets(np.ones(50), {(i,): one for i, one in enumerate(seen)}, size_prior_of("flat"))
    exact = counts_of_split(Split([Count(one) for one in seen], np.ones(50)), size_prior_of("flat"))
    assert found.log_evidence == pytest.approx(exact.log_evidence, abs=1e-9)
    np.testing.assert_allclose(full(found.marginal(3), 900), full(exact.marginal(3), 900), atol=CLOSE)


def test_much_more_prior_than_records_of_a_private_number_is_read() -> None:
    """Weights of totals range further than a single tilt bounds. Control: the oracle with noise a tenth off."""
    a, noise = [40.0, 30.0, 20.0], GeometricNoise(1, 0.5)

    def both(slope: float) -> tuple[LevelCounts, float]:
        seen: dict[tuple[int, ...], list[Observation]] = {(i,): [Noisy(noise, z)] for i, z in enumerate((9, 4, 6))}
        seen[0, 1] = [Noisy(noise, 11)]
        other = GeometricNoise(1, slope)
        leaves = [Count([Noisy(other, z)]) for z in (9, 4, 6)]
        upper = Count([Noisy(other, 11)], [Split(leaves[:2], np.array(a[:2]))])
        exact = nested_counts(Count([], [Split([upper, leaves[2]], np.array([70.0, 20.0]))]), size_prior_of("flat"))
        found = counts_of_sets(np.array(a), seen, size_prior_of("flat"))
        return found, float(np.abs(full(found.marginal(0), 200) - full(exact.law(leaves[0]), 200)).max())

    found, far = both(0.5)
    assert found.held.rate == 0.0
    assert found.omitted < 1e-9
    assert far < 1e-9
    assert both(0.55)[1] > 1e-4
