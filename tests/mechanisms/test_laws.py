"""Laws of all mechanisms equal brute force from the definitions, and the digits that the papers print."""

from dataclasses import dataclass, field
from fractions import Fraction
from math import exp, floor
from typing import Any

import numpy as np
import pytest
from attrs import fields_dict

import discreet as dc
from discreet.mechanisms import MECHANISMS
from discreet.mechanisms.laws import merge
from tests.mechanisms import brute
from tests.support import mostly_slow, reference_values

TOLERANCE = 1e-12
HELLINGER = ("HellingerGlobal", "HellingerLocal", "HellingerSmooth", "HellingerSmoothDelta")
LAPLACE = ("LaplaceZhang", "LaplaceDimension", "LaplaceHistogram")
NAMES = tuple(cls.__name__ for cls in MECHANISMS if cls is not dc.DiscreteGaussian)
"""Gaussian noise, whose law is long even where n is small, has an oracle of its own in test_gaussian.py."""


@dataclass(frozen=True)
class World:
    """One dataset and one choice of every public parameter."""

    prior: brute.Prior
    counts: brute.Outcome
    epsilon: Fraction
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return sum(self.counts)

    @property
    def k(self) -> int:
        return len(self.counts)

    def mechanism(self, name: str) -> dc.mechanisms.Mechanism:
        cls = next(c for c in MECHANISMS if c.__name__ == name)
        own = {f: v for f, v in self.options.items() if f in fields_dict(cls)}
        return dc.mechanism(name, dc.Dirichlet(self.prior), self.n, self.epsilon, **own)

    def law(self, name: str) -> brute.Probabilities:
        law = self.mechanism(name).law(self.counts)
        return brute.as_dict(law.counts, law.probability)

    def brute_law(self, name: str) -> brute.Probabilities:
        """From the definitions in docs/explain/mechanisms.md, line by line."""
        epsilon, k, n, rounding = float(self.epsilon), self.k, self.n, self.options.get("rounding", "floor")
        gamma, delta = (float(self.options.get(option, default)) for option, default in (("gamma", 1), ("delta", Fraction(1, 10**8))))
        if name in HELLINGER:
            scale = brute.scale(name, self.prior, self.counts, epsilon, gamma, delta)
            return brute.exponential_law(self.prior, self.counts, epsilon / scale)
        if name == "LaplaceZhang":
            return brute.laplace_law(self.counts, 2.0 / epsilon, noised=k, rounding=rounding, report=lambda noisy: noisy)
        if name == "LatticeGeometric":
            euclidean = self.options.get("projection", "euclidean") == "euclidean"
            return brute.lattice_law(self.counts, epsilon, lambda z: brute.nearest_counts(z, n) if euclidean else brute.cut(z[:-1], n))
        scale = {"LaplaceDimension": k, "LaplaceHistogram": 1 if k == 2 else 2}[name] / epsilon

        def report(noisy: brute.Outcome) -> brute.Outcome:
            return brute.cut(noisy, n) if self.options.get("consistent", True) else (*noisy, max(0, n - sum(noisy)))

        return brute.laplace_law(self.counts, scale, noised=k - 1, rounding=rounding, report=report)


def random_worlds(size: int, seed: int) -> list[World]:
    rng = np.random.default_rng(seed)
    worlds = []
    for _ in range(size):
        k = int(rng.choice([2, 3, 4], p=[0.5, 0.4, 0.1]))
        n = int(rng.integers(1, {2: 13, 3: 6, 4: 4}[k] + 1))
        prior = tuple(Fraction(f"{10.0 ** rng.uniform(-3, 2):.3g}") for _ in range(k))
        counts = tuple(int(c) for c in rng.multinomial(n, rng.dirichlet(np.full(k, 0.7))))
        # the oracle lists lattice noise point by point: with more categories it needs a larger ε to end
        low, high = {2: (-1.3, 1.0), 3: (0.2, 1.0), 4: (0.6, 1.0)}[k]
        options = {
            "rounding": str(rng.choice(["floor", "nearest"])),
            "consistent": bool(rng.integers(2)),
            "projection": str(rng.choice(["euclidean", "cut"])),
            "gamma": Fraction(f"{10.0 ** rng.uniform(-1.5, 1):.3g}"),
            "delta": Fraction(f"{10.0 ** rng.uniform(-9, -1):.3g}"),
        }
        worlds.append(World(prior, counts, Fraction(f"{10.0 ** rng.uniform(low, high):.3g}"), options))
    return worlds


def reference_cases() -> list[tuple[World, Any]]:
    cases = []
    for world in reference_values()["worlds"]:
        prior = tuple(Fraction(a) for a in world["prior"])
        options = {"gamma": Fraction(world["gamma"]), "delta": Fraction(world["delta"])}
        cases += [(World(prior, tuple(d["counts"]), Fraction(world["epsilon"]), options), d) for d in world["datasets"]]
    return cases


REFERENCE = reference_cases()
RANDOM = random_worlds(200, seed=30)


def _parsed(pmf: dict[str, str]) -> brute.Probabilities:
    return {tuple(int(c) for c in key.split(",")): float(value) for key, value in pmf.items()}


@pytest.mark.parametrize(("world", "dataset"), REFERENCE, ids=lambda v: str(v.counts) if isinstance(v, World) else "")
def test_laws_are_the_stored_60_digit_ones(world: World, dataset: Any) -> None:
    for name, pmf in (*dataset["pmf"].items(), *dataset["laplace"].items()):
        assert brute.largest_difference(world.law(type(world_mechanism(world, name)).__name__), _parsed(pmf)) <= TOLERANCE, name
    lattice = world.mechanism("LatticeGeometric")
    for raw, probability in _parsed(dataset["lattice_raw"]).items():
        assert exp(lattice.log_prob(world.counts, raw)) == pytest.approx(probability, abs=TOLERANCE)


def world_mechanism(world: World, name: str) -> dc.mechanisms.Mechanism:
    """By the paper's name, as the stored values have it."""
    return dc.mechanism(name, dc.Dirichlet(world.prior), world.n, world.epsilon)


@pytest.mark.parametrize("name", NAMES)
def test_laws_equal_brute_force_on_every_reference_world(name: str) -> None:
    for world, _ in REFERENCE:
        if name != "LatticeGeometric" or world.k == 2 or world.epsilon >= 1:
            assert brute.largest_difference(world.law(name), world.brute_law(name)) <= TOLERANCE, world


@pytest.mark.parametrize("worlds", mostly_slow([slice(0, 50), slice(50, 200)], 1), ids=["first 50", "others"])
@pytest.mark.parametrize("name", NAMES)
def test_laws_equal_brute_force_on_200_random_worlds(name: str, worlds: slice) -> None:
    for world in RANDOM[worlds]:
        law = world.law(name)
        assert brute.largest_difference(law, world.brute_law(name)) <= TOLERANCE, world
        assert sum(law.values()) == pytest.approx(1.0, abs=TOLERANCE)


def test_a_wrong_option_would_have_been_noticed() -> None:
    world = World((Fraction(1), Fraction(2), Fraction(1, 2)), (1, 3, 1), Fraction(2))
    changed = World(world.prior, world.counts, world.epsilon, {"rounding": "nearest", "consistent": False, "projection": "cut", "gamma": 2})
    for name in NAMES:
        if name not in ("HellingerGlobal", "HellingerLocal", "HellingerSmoothDelta"):
            assert brute.largest_difference(world.law(name), changed.brute_law(name)) > 1e-3


@pytest.mark.parametrize(("n", "k"), [(10**5, 2), (400, 3), (100, 4)])
@pytest.mark.parametrize("name", HELLINGER)
def test_probabilities_add_up_at_the_largest_sizes(name: str, n: int, k: int) -> None:
    counts = [n // 3, *[n // 7] * (k - 2)]
    counts.append(n - sum(counts))
    for epsilon in ("0.1", "30"):
        law = dc.mechanism(name, dc.Dirichlet([Fraction(1, 2)] * k), n, epsilon).law(counts)
        assert abs(law.probability.sum() - 1.0) <= TOLERANCE


# --- the papers' Tables 1 and 2 ---------------------------------------------------------------------------------------


def _printed(probability: float, digits: int = 11) -> str:
    """The papers cut digits off instead of rounding (0.11627207896|7)."""
    return f"{floor(probability * 10**digits) / 10**digits:.{digits}f}".rstrip("0")


@pytest.mark.parametrize(
    ("name", "one_sided", "tied"),
    [
        ("lapMech", ("0.19673467014", "0.11932560927", "0.07237464051"), ("0.19673467014", "0.31606027941", "0.19170024978")),
        ("ilapMech", ("0.31606027941", "0.11627207896", "0.04277410743"), ("0.31606027941", "0.43233235838", "0.1590461864")),
    ],
)
def test_laplace_rows_of_tables_1_and_2_of_000(name: str, one_sided: tuple[str, ...], tied: tuple[str, ...]) -> None:
    """P(H = c) where c is the distance to the posterior t records away, ε = 1, k = 2.

    Table 1: generic parameters, only the candidate at +t is at that distance. Table 2: α = β, so that those at +t and -t both are;
    the floor makes them unequal, P(-t) = P(t - 1).
    """
    for prior, counts, wanted in ((dc.Beta(1, 2), [30, 40], one_sided), (dc.Beta(1, 1), [30, 30], tied)):
        mechanism = dc.mechanism(name, prior, sum(counts), 1)
        law = mechanism.law(counts)
        truth = prior.update(counts)
        error = np.array([dc.hellinger(truth, prior.plus(row)) for row in law.counts])
        for t, digits in enumerate(wanted):
            distance = dc.hellinger(truth, prior.plus([counts[0] + t, counts[1] - t]))
            same = np.isclose(error, distance, rtol=1e-9, atol=1e-15)
            assert _printed(float(law.probability[same].sum())) == digits


@pytest.mark.parametrize("k", [2, 5, 70])
def test_equal_rows_are_merged_in_order(k: int) -> None:
    """Few categories by one integer a row; with 70 there is none that fits."""
    rng = np.random.default_rng(k)
    rows, probability = rng.integers(0, 3, (400, k)), rng.dirichlet(np.ones(400))
    rows[200:] = rows[:200]
    expected: dict[tuple[int, ...], float] = {}
    for row, p in zip(rows.tolist(), probability, strict=True):
        expected[tuple(row)] = expected.get(tuple(row), 0.0) + p
    merged, log_probability = merge(rows, np.log(probability))
    assert [tuple(row) for row in merged.tolist()] == sorted(expected)
    np.testing.assert_allclose(np.exp(log_probability), [expected[row] for row in sorted(expected)], rtol=1e-12)
