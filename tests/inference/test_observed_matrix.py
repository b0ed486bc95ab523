"""Counts that were changed by a matrix or rounded by chance. Oracle: enumeration of all true counts that the changes leave possible."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import betainc, gammaln, logsumexp

import discreet as dc
from discreet.errors import InvalidInputError, RefusedError

Floats = NDArray[np.float64]
Change = Callable[[int, int], float]
"""P(z | x), by the definition."""


def by_rows(rows: Sequence[Sequence[Any]]) -> Change:
    """A matrix whose last row is shifted along."""

    def change(z: int, x: int) -> float:
        beyond = max(x - (len(rows) - 1), 0)
        row = [float(Fraction(str(p))) for p in rows[x - beyond]]
        return row[z - beyond] if 0 <= z - beyond < len(row) else 0.0

    return change


def rounded_by_chance(to: int) -> Change:
    return lambda z, x: max(1.0 - abs(z - x) / to, 0.0) if z % to == 0 else 0.0


@dataclass(frozen=True)
class World:
    """Published counts and what was done to the true ones."""

    noise: Any
    change: Change
    a: tuple[float, ...]
    published: tuple[int, ...]
    n: int | None
    size_mean: float = 6.0
    most: int = 40
    """No true count is larger."""

    def posterior(self) -> Any:
        """What discreet reads."""
        prior = "flat" if self.n is not None else f"poisson:{self.size_mean:g}"
        return dc.observed(self.published, noise=self.noise, prior=dc.Dirichlet(self.a), n=self.n, size_prior=prior).noise_aware()

    def enumerated(self) -> tuple[NDArray[np.int64], Floats, float]:
        """All true counts, their probabilities, and the logarithm of the evidence."""
        able = [[x for x in range(self.most) if self.change(z, x) > 0.0] for z in self.published]
        points = np.array([x for x in product(*able) if self.n is None or sum(x) == self.n])
        seen = np.array([[self.change(z, int(x)) for z, x in zip(self.published, point, strict=True)] for point in points])
        a, n = np.array(self.a), points.sum(axis=1)
        logs = np.log(seen).sum(axis=1) + gammaln(n + 1.0) + gammaln(a.sum()) - gammaln(a.sum() + n)
        logs += (gammaln(a + points) - gammaln(a) - gammaln(points + 1.0)).sum(axis=1)
        if self.n is None:
            logs += n * np.log(self.size_mean) - gammaln(n + 1.0)
        return points, np.exp(logs - logsumexp(logs)), float(logsumexp(logs))

    def difference(self, posterior: Any) -> float:
        """The largest difference of the laws of true counts, of the means and, where n is public, of the evidence."""
        points, weight, evidence = self.enumerated()
        a = np.array(self.a)
        means = weight @ ((points + a) / (points.sum(axis=1) + a.sum())[:, None])
        found = [np.abs(posterior.mean() - means).max(), abs(posterior.log_evidence - evidence) if self.n is not None else 0.0]
        for i, label in enumerate(posterior.categories):
            x, p = posterior.count_probabilities(label)
            exact, law = np.bincount(points[:, i], weight, self.most), np.zeros(self.most)
            law[x] = p
            found.append(np.abs(law - exact).max())
        return float(max(found))


def random_rows(rng: np.random.Generator) -> list[list[float]]:
    """A matrix whose columns have no gaps, and bend as they like."""
    size, reach = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    rows = []
    for x in range(size):
        row = np.zeros(x + reach + 1)
        at = slice(0 if x < reach else x - reach, x + reach + 1)
        row[at] = np.round(rng.dirichlet(np.full(len(row[at]), 0.5)), 3) + 0.001
        rows.append((row / row.sum()).tolist())
    return rows


def one_world(seed: int) -> World:
    rng = np.random.default_rng([37, 19, seed])
    k, private = int(rng.integers(2, 4)), bool(rng.random() < 0.5)
    rows, to = random_rows(rng), int(rng.integers(2, 6))
    noise, change = (dc.noise.Matrix(rows), by_rows(rows)) if seed % 2 else (dc.noise.RandomRounding(to), rounded_by_chance(to))
    x, published = rng.integers(0, 12, k), []
    x[0] += not x.any()
    for one in x.tolist():
        law = np.array([change(z, one) for z in range(40)])
        published.append(int(rng.choice(40, p=law / law.sum())))
    a = tuple(round(float(10.0 ** rng.uniform(-1.0, 1.0)), 2) for _ in range(k))
    return World(noise, change, a, tuple(published), None if private else int(x.sum()))


def check(seeds: range) -> None:
    for seed in seeds:
        world = one_world(seed)
        assert world.difference(world.posterior()) < 1e-10, seed


def test_posteriors_are_those_of_enumeration() -> None:
    check(range(40))


def test_a_count_that_one_record_bounds_below_the_peak_of_another_is_that_of_enumeration() -> None:
    """Rounding by chance leaves at most 32 of the first count, and the other record has its peak at 35."""
    noisy, scale = {30: 35, 60: 61}, 3.0

    def both(z: int, x: int) -> float:
        far = abs(noisy[z] - x)
        peak, side = -np.expm1(-0.5 / scale), -0.5 * np.expm1(-1.0 / scale) * np.exp(-(far - 0.5) / scale)
        return rounded_by_chance(3)(z, x) * float(side if far else peak)

    world = World(dc.noise.RandomRounding(3), both, (0.5, 1.25), (30, 60), None, size_mean=90.0, most=80)
    prior = dc.Dirichlet(world.a)
    theirs = [
        dc.observed([30, 60], noise=world.noise, prior=prior),
        dc.observed([35, 61], noise=dc.noise.Laplace(scale=scale), prior=prior),
    ]
    assert world.difference(dc.combine(theirs, same_data=True, size_prior="poisson:90")) < 1e-10


@pytest.mark.slow
def test_posteriors_of_three_hundred_worlds_are_those_of_enumeration() -> None:
    check(range(40, 300))


def test_another_change_is_told() -> None:
    worlds = [one_world(seed) for seed in range(0, 24, 2)]
    wrong = [World(dc.noise.RandomRounding(2 * w.noise.to), w.change, w.a, tuple(2 * z for z in w.published), None) for w in worlds]
    found = [world.difference(other.posterior()) for world, other in zip(worlds, wrong, strict=True)]
    assert np.median(found) > 1e-2


KEYS: list[list[Any]] = [
    ["1"],
    ["0.6", 0, 0, "0.4"],
    ["0.3", 0, 0, "0.6", "0.1"],
    [0, 0, 0, "0.6", "0.3", "0.1"],
    [0, 0, 0, "0.25", "0.5", "0.25"],
]
"""Cell keys that leave no 1 and 2: what offices publish."""


def coverage(noise: Any, change: Change, read: Any) -> float:
    """How often the interval of the first share holds it, over the prior, the sampling and all that can be published."""
    n, level, held, total = 5, 0.9, 0.0, 0.0
    x = np.arange(n + 1)
    for first, second in product(range(n + 3), repeat=2):
        weight = np.array([change(first, int(i)) * change(second, n - int(i)) for i in x]) / (n + 1.0)
        if not weight.sum():
            continue
        found = dc.observed([first, second], noise=read, prior=dc.Dirichlet([1, 1]), n=n if read is noise else None)
        low, high = found.noise_aware().interval(level)[0]
        held += float(weight @ (betainc(1.0 + x, 1.0 + n - x, high) - betainc(1.0 + x, 1.0 + n - x, low)))
        total += float(weight.sum())
    assert total == pytest.approx(1.0)
    return held


def test_intervals_hold_as_often_as_they_say() -> None:
    keys, by_three = dc.noise.Matrix(KEYS), dc.noise.RandomRounding(to=3)
    assert coverage(keys, by_rows(KEYS), keys) == pytest.approx(0.9, abs=1e-8)
    assert coverage(by_three, rounded_by_chance(3), by_three) == pytest.approx(0.9, abs=1e-8)
    assert abs(coverage(by_three, rounded_by_chance(3), dc.noise.Geometric(epsilon=2)) - 0.9) > 0.01


PRIOR = dc.Dirichlet([1, 0.5, 2], categories=["never", "former", "current"])


@pytest.mark.parametrize("n", [None, [150, 160], 310])
@pytest.mark.parametrize("noise", [dc.noise.Matrix(KEYS), dc.noise.RandomRounding(to=3)])
def test_a_table_says_at_once_what_it_says_of_each_group(noise: Any, n: Any) -> None:
    release = dc.observed([[111, 33, 6], [108, 39, 12]], noise=noise, prior=PRIOR, n=n, by={"region": ["north", "south"]})
    assert dc.Release.from_json(release.to_json()) == release
    post = release.noise_aware()
    figures = post.figures(0.9)
    for row, group in enumerate(post):
        assert figures.mean[row] == pytest.approx(post[group].mean(), abs=1e-8)
        assert figures.low[row] == pytest.approx(post[group].interval(0.9)[:, 0], abs=1e-5)
    if n is None:
        alone = dc.observed([111, 33, 6], noise=noise, prior=PRIOR).noise_aware()
        assert post["north"].mean() == pytest.approx(alone.mean(), abs=1e-12)


@pytest.mark.parametrize("n", [None, 16])
@pytest.mark.parametrize("least", [1, 12])
def test_a_mean_is_finite_where_no_possible_count_is_small(n: int | None, least: int) -> None:
    """A ratio has the mean Σ p E[θ₁] E[1/θ₂] given the counts, unless the parameter of a denominator can be 1 or less."""
    by_three, a = dc.noise.RandomRounding(to=3), (1.0, 0.5, 2.0)
    world = World(by_three, rounded_by_chance(3), a, (6, 3 if least > 1 else 0, 9), n)
    points, p, _ = world.enumerated()
    one, two, other = (points + a).T
    found = world.posterior().contrast("0", "1")
    if (two <= 1.0).any():
        assert found.ratio.mean() == np.inf
        assert found.odds_ratio.mean() == np.inf
    else:
        odds = one * (two + other + one - 1.0) / ((two + other - 2.0) * (two - 1.0)) - one / (two + other - 1.0)
        assert found.ratio.mean() == pytest.approx(float(p @ (one / (two - 1.0))), rel=1e-9)
        assert found.odds_ratio.mean() == pytest.approx(float(p @ odds), rel=1e-9)


@pytest.mark.parametrize("n", [None, [90, 90], 180])
def test_groups_have_a_finite_ratio_where_no_possible_count_is_small(n: Any) -> None:
    """Counts within 2 of the published ones alone are possible, so that no denominator is near 0."""
    published, by = [[30, 60], [45, 45]], {"g": ["a", "b"]}
    read = dc.observed(published, noise=dc.noise.RandomRounding(to=3), prior=dc.Beta(1, 1), n=n, by=by).noise_aware()
    mean = read.contrast("a", "b", "success").ratio.mean()
    assert mean == pytest.approx(0.68, abs=0.02)
    if n == [90, 90]:
        worlds = [World(None, rounded_by_chance(3), (1.0, 1.0), (one, other), 90, most=100) for one, other in published]
        (x, p, _), (y, q, _) = (world.enumerated() for world in worlds)
        assert mean == pytest.approx(float(p @ (x[:, 0] + 1.0)) / 92.0 * float(q @ (91.0 / y[:, 0])), rel=1e-9)
        alone = [dc.observed(one, noise=dc.noise.RandomRounding(to=3), prior=dc.Beta(1, 1), n=90) for one in published]
        assert dc.contrast(alone[0], alone[1], "success").ratio.mean() == pytest.approx(mean, rel=1e-12)
    noisy = dc.observed(published, noise=dc.noise.Geometric(epsilon=1), prior=dc.Beta(1, 1), n=n, by=by).noise_aware()
    assert noisy.contrast("a", "b", "success").ratio.mean() == np.inf


def test_large_counts_are_read_by_the_last_row() -> None:
    post = dc.observed([100_000, 40_003], noise=dc.noise.Matrix(KEYS), prior=dc.Beta(1, 1)).noise_aware()
    x, p = post.count_probabilities("failure")
    assert x.tolist() == [40_002, 40_003, 40_004]
    assert p == pytest.approx([0.25, 0.5, 0.25], abs=1e-4)


def test_texts_are_the_same_as_values() -> None:
    text = ";".join(",".join(map(str, row)) for row in KEYS)
    known: dict[str, Any] = {"prior": dc.Beta(1, 1), "n": 12}
    assert dc.observed([9, 3], noise=f"matrix:{text}", **known) == dc.observed([9, 3], noise=dc.noise.Matrix(KEYS), **known)
    assert dc.observed([9, 3], noise="random-rounding:3", **known) == dc.observed([9, 3], noise=dc.noise.RandomRounding(3), **known)
    rounded = dc.noise.Matrix([["0.3333", "0.3333", "0.3334"]])
    assert dc.noise.Matrix(rounded.rows) == rounded


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: dc.noise.Matrix([[1], [0.5, 0.4]]), r"rows\[1\] .* add up to 1"),
        (lambda: dc.noise.Matrix([[1], [2, -1]]), r"rows\[1\] must be probabilities"),
        (lambda: dc.noise.Matrix([[1], [0, 0, 1], [0, 1], [1]]), "must be consecutive"),
        (lambda: dc.noise.Matrix(3), "rows must be"),
        (lambda: dc.noise.Matrix([]), "rows must be"),
        (lambda: dc.noise.Matrix([[1], []]), "rows must be"),
        (lambda: dc.noise.Matrix([["half"]]), r"rows\[0\]\[0\] must be"),
        (lambda: dc.noise.Matrix([[1.0 / 128] * 128] * 128), "at most 10,000 probabilities"),
        (lambda: dc.noise.RandomRounding(to=1), "to must be a whole number, at least 2"),
        (lambda: dc.observed([1, 3], noise="random-rounding:3", prior=dc.Beta(1, 1)), "random-rounding:3"),
        (lambda: dc.observed([3, None], noise="random-rounding:3", prior=dc.Beta(1, 1)), "random-rounding:3"),
        (lambda: dc.observed([3, 3], noise="random-rounding:3", prior=dc.Beta(1, 1), n=11), "add up to n"),
        (lambda: dc.observed([9, None], noise="gaussian:1", steps="suppressed-true:9", prior=dc.Beta(1, 1), n=8), "add up to n"),
    ],
)
def test_bad_input_is_refused_in_one_line(make: Callable[[], object], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_what_is_not_computed_is_refused() -> None:
    release = dc.observed([9, 3], noise=dc.noise.Matrix(KEYS), prior=dc.Beta(1, 1), n=12)
    for ask in (release.noise_interval, lambda: release.log_likelihood([0.5, 0.5])):
        with pytest.raises(RefusedError, match=r"matrix, .*suppressed"):
            ask()
    with pytest.raises(RefusedError, match="leave out steps"):
        dc.observed([9, 3], noise="random-rounding:3", steps="clamped:0", prior=dc.Beta(1, 1))
