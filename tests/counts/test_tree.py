"""One split under a root. Oracle: `count_tree`, sums in logarithms over all counts up to a last one, and enumeration."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.counts.factors import Count, Noisy, Observation, Split
from discreet.counts.law import CountLaw
from discreet.counts.listed import ListedCounts
from discreet.counts.tree import TreeCounts, counts_of_split
from discreet.errors import InvalidInputError
from discreet.mechanisms.lattice import GeometricNoise
from discreet.model.datasets import simplex_points
from discreet.model.dirichlet import Dirichlet
from discreet.model.size_priors import SizePrior, known_size, size_prior_of, tabled
from tests.counts import count_tree as plain
from tests.counts.count_tree import PlainCount, PlainLaw, PlainSplit, brute
from tests.counts.observations import AtLeast, AtMost, clamped, gaussian

Floats = NDArray[np.float64]
CLOSE = 1e-12


@dataclass(frozen=True)
class Seen:
    """One observation, for the engine and for the oracle."""

    kind: str
    z: int
    scale: float

    def observation(self, wrong: float = 1.0) -> Observation:
        """What the engine is told; `wrong` makes its noise another."""
        scale = self.scale * wrong
        if self.kind == "geometric":
            return Noisy(GeometricNoise(1, scale), self.z)
        noise = gaussian(scale)
        kinds: dict[str, Any] = {"gaussian": Noisy, "at most": AtMost, "at least": AtLeast}
        found: Observation = kinds[self.kind](noise, self.z, noise.curvature)
        return found

    def plain(self) -> plain.LogFactor:
        """What the oracle is told."""
        kinds = {"geometric": plain.geometric, "gaussian": plain.gaussian, "at most": plain.at_most, "at least": plain.at_least}
        return kinds[self.kind](self.z, self.scale)


def _seen(kind: str, scale: float, *values: int) -> list[list[Seen]]:
    return [[Seen(kind, z, scale)] for z in values]


@dataclass(frozen=True, eq=False)
class World:
    """Parts with what was seen of each, the prior of their shares, what was seen of the whole, and the root."""

    seen: Sequence[Sequence[Seen]]
    a: Sequence[float]
    root: SizePrior
    log_root: plain.LogFactor
    top: int
    """The oracle sums up to this total."""
    whole: Sequence[Seen] = ()

    def law(self, wrong: float = 1.0) -> TreeCounts:
        """The engine's law."""
        parts = [Count([one.observation(wrong) for one in seen]) for seen in self.seen]
        return counts_of_split(Split(parts, np.array(self.a)), self.root, Count([one.observation(wrong) for one in self.whole]))

    def plain(self) -> PlainCount:
        """The oracle's tree."""
        parts = [PlainCount([one.plain() for one in seen]) for seen in self.seen]
        return PlainCount([one.plain() for one in self.whole], [PlainSplit(parts, np.array(self.a))])

    def difference(self, law: TreeCounts) -> float:
        """The largest difference from the oracle: laws of parts and of the total, pairs of part and whole, evidence."""
        tree = self.plain()
        exact, found = PlainLaw(tree, self.log_root, self.top), []
        for i, part in enumerate(tree.splits[0].parts):
            run = law.marginal(i)
            found.append(_full(run.low, run.value, self.top) - exact.law(part))
            low, first, joint = law.joint(i, 0.0)
            pairs = np.zeros((self.top + 1, self.top + 1))
            rows, columns = min(joint.shape[0], self.top + 1 - low), min(joint.shape[1], self.top + 1 - first)
            pairs[low : low + rows, first : first + columns] = joint[:rows, :columns]
            found.append((pairs - exact.pair(tree, tree.splits[0], i)).ravel())
        found.append(_full(law.sizes.low, law.sizes.value, self.top) - exact.law(tree))
        return max(abs(law.log_evidence - exact.log_evidence), *(float(np.abs(one).max()) for one in found))


def _full(low: int, value: Floats, top: int) -> Floats:
    found = np.zeros(top + 1)
    size = min(len(value), top + 1 - low)
    found[low : low + size] = value[:size]
    return found


def _flat(seen: Sequence[Sequence[Seen]], a: Sequence[float], top: int, **more: Any) -> World:
    return World(seen, a, size_prior_of("flat"), plain.flat, top, **more)


def _public(seen: Sequence[Sequence[Seen]], a: Sequence[float], n: int, **more: Any) -> World:
    return World(seen, a, known_size(n), plain.public(n), n, **more)


TWICE = [[Seen("geometric", z, 0.7), Seen("gaussian", y, 1.3)] for z, y in ((3, 2), (-1, 0), (4, 5))]
SUPPRESSED = [[Seen("gaussian", 3, 1.1)], [Seen("at most", 1, 1.1)], [Seen("gaussian", 4, 1.1)]]
TOP_CODED = [[Seen("at least", 6, 1.1)], [Seen("gaussian", 2, 1.1)], [Seen("gaussian", 4, 1.1)]]
WORLDS = {
    "n public": _public(_seen("geometric", 0.7, 3, -1, 4), (1.0, 0.4, 2.0), 6),
    "n private": _flat(_seen("geometric", 0.7, 3, -1, 4), (1.0, 0.4, 2.0), 110),
    "two releases of the same records, n public": _public(TWICE, (1.0, 0.4, 2.0), 7),
    "two releases of the same records, n private": _flat(TWICE, (1.0, 0.4, 2.0), 60),
    "a suppressed cell": _flat(SUPPRESSED, (1.0, 1.0, 1.0), 40),
    "a suppressed cell, n public": _public(SUPPRESSED, (1.0, 1.0, 1.0), 9),
    "a top-coded cell, n public": _public(TOP_CODED, (1.0, 0.3, 1.5), 30),
    "an unobserved part, n public": _public([*_seen("geometric", 0.7, 3, 5), []], (1.0, 0.4, 2.0), 20),
    "the whole observed too": _flat(_seen("geometric", 0.5, 3, 1), (0.5, 2.0), 110, whole=[Seen("gaussian", 7, 1.5)]),
    "gaussian noise, strong prior": _public(_seen("gaussian", 4.0, 30, 5, 9), (300.0, 0.01, 40.0), 40),
}


@pytest.mark.parametrize("name", WORLDS)
def test_laws_pairs_and_evidence_are_those_of_the_oracle(name: str) -> None:
    world = WORLDS[name]
    law = world.law()
    assert world.difference(law) < CLOSE
    assert law.omitted < 1e-16


@pytest.mark.parametrize("name", WORLDS)
def test_noise_that_is_a_tenth_off_is_told(name: str) -> None:
    world = WORLDS[name]
    assert world.difference(world.law(1.1)) > 1e-4


def test_the_oracle_agrees_with_enumeration() -> None:
    for name in ("n public", "two releases of the same records, n public", "a suppressed cell, n public"):
        world = WORLDS[name]
        tree = world.plain()
        exact, (laws, evidence) = PlainLaw(tree, world.log_root, world.top), brute(tree, world.log_root, world.top)
        assert abs(exact.log_evidence - evidence) < CLOSE
        for count, law in laws.items():
            np.testing.assert_allclose(exact.law(count), law, atol=CLOSE)


# --- random worlds ------------------------------------------------------------------------------------------------------


def _random(seed: int) -> World:
    rng = np.random.default_rng([5, seed])
    k = int(rng.integers(2, 5))
    slope = float(rng.choice([1e-3, 0.05, 0.3, 1.0, 5.0, 60.0]))
    a = [float(rng.choice([1e-6, 0.01, 0.5, 1.0, 3.0, 100.0, 1e5])) for _ in range(k)]
    seen = [[Seen("geometric", int(rng.integers(-2, 15)), slope)] for _ in range(k)]
    if rng.random() < 0.5:
        for one in seen:
            one.append(Seen("gaussian", int(rng.integers(0, 15)), float(rng.choice([0.6, 2.0]))))
    n = int(rng.integers(1, 40))
    if rng.random() < 0.5:
        return _public(seen, a, n)
    weights = rng.normal(size=n + 10) * float(rng.choice([0.0, 1.0, 20.0]))
    weights[rng.random(n + 10) < float(rng.choice([0.0, 0.5, 0.9]))] = -np.inf
    weights[-1] = 0.0
    return World(seen, a, tabled(0, weights, 0.0), lambda u: weights[u.astype(int)], n + 9)


@pytest.mark.parametrize("seed", range(40))
def test_random_worlds(seed: int) -> None:
    world = _random(seed)
    law = world.law()
    assert world.difference(law) < CLOSE
    assert law.omitted < 1e-15


# --- the engines agree ----------------------------------------------------------------------------------------------------


def test_listed_and_tree_answer_the_same() -> None:
    """Marginals, sizes, covariances, parts, sums of parts and evidence of both engines."""
    world = WORLDS["two releases of the same records, n public"]
    tree, points = world.law(), simplex_points(7, 3)
    a = np.array(world.a)
    log_weight = np.zeros(len(points))
    for i, seen in enumerate(world.seen):
        log_weight += sum(one.observation()(points[:, i].astype(np.float64)) for one in seen)
    listed = ListedCounts.of_logs(points, log_weight + Dirichlet(world.a).predictive(7).logpmf(points))
    laws: list[CountLaw] = [tree, listed]
    for first, second in zip(*([law, law.part([0, 2]), law.merged([[0, 2], [1]])] for law in laws), strict=True):
        for i in range(2):
            run, other = first.marginal(i), second.marginal(i)
            np.testing.assert_allclose(_full(run.low, run.value, 7), _full(other.low, other.value, 7), atol=CLOSE)
        np.testing.assert_allclose(first.size.mean(), second.size.mean(), rtol=CLOSE)
        assert abs(first.log_evidence - second.log_evidence) < CLOSE
    covariances = [law.covariance(a) for law in laws]
    for found in covariances:
        np.fill_diagonal(found, 0.0)
    np.testing.assert_allclose(covariances[0], covariances[1], atol=CLOSE)
    assert tree.total == listed.total == 7
    assert (tree.sample(50, np.random.default_rng(1)).sum(axis=1) == 7).all()


def test_clamped_counts_are_tails_at_the_ends() -> None:
    noise, x = gaussian(1.3), np.arange(12.0)
    for z in range(11):
        found = clamped(noise, z, 0, 10)(x)
        differences = np.arange(-60, 61)
        law = np.exp(noise.log_factor(differences.astype(np.float64)))
        expected = [law[np.clip(value + differences, 0, 10) == z].sum() for value in x]
        np.testing.assert_allclose(np.exp(found), expected, rtol=1e-10)


def test_far_tails_of_gaussian_noise_stay_concave_and_exact() -> None:
    """The table ends at 40 standard deviations. Oracle: the sum of the terms, relative to the first."""
    for sigma in (0.7, 3.0, 25.0):
        noise = gaussian(sigma)
        t = np.arange(30.0 * sigma, 60.0 * sigma + 1.0)
        found = noise.log_at_least(t)
        first = np.ceil(t)
        steps = np.arange(60.0)
        series = np.exp(-(first[:, None] * steps + 0.5 * steps**2) / sigma**2).sum(axis=1)
        np.testing.assert_allclose(found, noise.log_factor(first) + np.log(series), rtol=1e-5)
        assert (np.diff(noise.log_at_least(np.arange(0.0, 60.0 * sigma)), 2) <= 1e-9).all()


def test_an_unobserved_part_needs_a_proper_prior_of_the_size() -> None:
    """Under a flat prior the evidence of Dir(1, 1) with one part unobserved grows without bound."""
    with pytest.raises(InvalidInputError, match="no posterior of the number of records"):
        _flat([*_seen("geometric", 0.5, 4), []], (1.0, 1.0), 10).law()
    proper = World([*_seen("geometric", 0.5, 4), []], (1.0, 1.0), size_prior_of("poisson:9"), lambda u: u * np.log(9.0), 90)
    sizes = proper.law().sizes
    assert 4.0 < float(sizes.value @ sizes.x) < 12.0
