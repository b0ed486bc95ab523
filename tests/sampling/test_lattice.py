"""Lattice noise: P(d) ∝ exp(-ε ½‖d‖₁) on the vectors that add up to 0, and uniform compositions."""

from fractions import Fraction
from itertools import product
from math import comb, exp

import numpy as np
import pytest
from flint import arb, ctx
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp
from scipy.stats import binom

from discreet.sampling import CountedBits, SeededBits, noise
from discreet.sampling.attempts import composition
from discreet.sampling.bits import ladder
from discreet.sampling.bulk import lattice_array, lattice_blocks
from discreet.sampling.noise import discrete_laplace_law, geometric_law
from tests.sampling.support import FALSE_ALARM, POWER, WRONG, Law, law_by_enumeration
from tests.support import lattice


def noise_law(k: int, epsilon: Fraction) -> Law:
    """By enumeration of a box that leaves out less than 1e-9 of the mass; the rest is the law's unnamed remainder."""
    rate, radius = float(epsilon), 1
    while k * 2 ** (k - 1) * (radius + 1) ** k * exp(-rate * radius) > 1e-9:
        radius += 1
    axis = np.arange(-radius, radius + 1)
    grid = np.stack(np.meshgrid(*[axis] * (k - 1), indexing="ij"), axis=-1).reshape(-1, k - 1)
    points = np.concatenate([grid, -grid.sum(axis=1, keepdims=True)], axis=1)
    weight = np.exp(-rate * np.abs(points).sum(axis=1) / 2)
    kept = weight > 1e-7 * weight.max()
    probability = weight / weight.sum()
    return Law({tuple(int(c) for c in point): float(p) for point, p in zip(points[kept], probability[kept], strict=True)})


def size_law(k: int, epsilon: Fraction) -> Law:
    """Law of ½‖d‖₁ for any k: i positive parts share s in C(s-1, i-1) ways, the k-i others share -s in C(s+k-i-1, k-i-1) ways."""

    sizes, positive = np.arange(1, int(12 * k * (1 + 1 / epsilon)))[:, None], np.arange(1, k)[None, :]
    terms = log_choose(k, positive) + log_choose(sizes - 1, positive - 1) + log_choose(sizes + k - positive - 1, k - positive - 1)
    logs = np.concatenate([[0.0], logsumexp(np.where(positive <= sizes, terms, -np.inf), axis=1) - float(epsilon) * sizes[:, 0]])
    weight = np.exp(logs - logs.max())
    return Law({s: float(w) for s, w in enumerate(weight / weight.sum())})


def log_choose(n: NDArray[np.int64] | int, m: NDArray[np.int64]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):
        return np.asarray(gammaln(n + 1.0) - gammaln(m + 1.0) - gammaln(np.maximum(n - m, 0) + 1.0))


def draws(k: int, epsilon: Fraction, size: int, seed: int) -> list[tuple[int, ...]]:
    source = SeededBits(seed)
    return [tuple(lattice_blocks(source, epsilon, k, 1)[0].tolist()) for _ in range(size)]


QUICK = [(2, "0.05", 8000), (2, "1", 8000), (2, "20", 2000), (3, "0.5", 8000), (3, "2", 8000), (4, "1", 8000), (4, "20", 2000)]
SLOW = [(2, "0.2", 60_000), (2, "5", 60_000), (3, "0.25", 60_000), (3, "1", 60_000), (3, "5", 60_000), (4, "0.8", 60_000), (4, "3", 60_000)]


def _check(k: int, epsilon: str, size: int) -> bool:
    exact = Fraction(epsilon)
    law, wrong = noise_law(k, exact), noise_law(k, exact * WRONG)
    assert law.p_value(draws(k, exact, size, seed=1)) > FALSE_ALARM
    powerful = law.power(wrong, size) > POWER
    if powerful:
        assert law.p_value(draws(k, exact * WRONG, size, seed=2)) < FALSE_ALARM
    return powerful


@pytest.mark.parametrize(("k", "epsilon", "size"), QUICK)
def test_draws_fit_the_law_and_not_a_rate_ten_percent_off(k: int, epsilon: str, size: int) -> None:
    _check(k, epsilon, size)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "epsilon", "size"), SLOW)
def test_many_draws_fit_the_law_and_not_a_rate_ten_percent_off(k: int, epsilon: str, size: int) -> None:
    assert _check(k, epsilon, size)


@pytest.mark.parametrize(
    ("k", "epsilon", "size"), [(10, "0.5", 4000), (50, "1", 1000), pytest.param(200, "0.1", 300, marks=pytest.mark.slow)]
)
def test_the_size_of_the_noise_is_right_for_many_categories(k: int, epsilon: str, size: int) -> None:
    exact = Fraction(epsilon)
    sizes = [sum(map(abs, d)) // 2 for d in draws(k, exact, size, seed=3)]
    assert size_law(k, exact).p_value(sizes) > FALSE_ALARM
    wrong = [sum(map(abs, d)) // 2 for d in draws(k, exact * WRONG, size, seed=8)]
    assert size_law(k, exact).p_value(wrong) < FALSE_ALARM


def test_noise_adds_up_to_zero_and_treats_categories_alike() -> None:
    noise = np.array(draws(5, Fraction(1, 2), 3000, seed=4))
    assert (noise.sum(axis=1) == 0).all()
    deviations = noise.mean(axis=0) / (noise.std(axis=0) / 3000**0.5)
    assert np.abs(deviations).max() < 5.0  # five tests at 6e-7


def test_many_categories_and_little_privacy_or_much() -> None:
    for epsilon in ("0.01", "1", "20"):
        noise = lattice_blocks(SeededBits(5), Fraction(epsilon), 1000, 1)[0]
        assert len(noise) == 1000
        assert sum(noise) == 0


@pytest.mark.parametrize(("total", "parts"), [(0, 3), (1, 4), (2, 4), (3, 3), (5, 2)])
def test_compositions_are_exactly_uniform(total: int, parts: int) -> None:
    law, undecided = law_by_enumeration(lambda source: tuple(composition(source, total, parts)), 13)
    assert law.keys() == {tuple(int(c) for c in point) for point in lattice(total, parts)}
    masses = list(law.values())
    assert max(masses) - min(masses) <= undecided
    assert undecided < Fraction(1, 4)


@pytest.mark.parametrize(("k", "epsilon"), list(product([2, 3, 10, 1000], ["0.001", "0.3", "1", "20"])))
def test_the_mode_is_where_the_negative_binomial_is_largest(k: int, epsilon: str) -> None:
    exact = Fraction(epsilon)
    mode = noise.likeliest_total(k, exact)
    for neighbour in (mode - 1, mode + 1):
        if neighbour >= 0:
            with ctx.workprec(256):
                assert noise.relative_mass_of_total(neighbour, mode, k, exact) < 1
    exact_ratio = Fraction(comb(mode + k, k - 1), comb(mode + k - 1, k - 1)) * Fraction(exp(-exact / 2))
    with ctx.workprec(256):
        assert float(noise.relative_mass_of_total(mode + 1, mode, k, exact)) == pytest.approx(float(exact_ratio), rel=1e-9)


def test_wide_first_enclosures_change_no_acceptance(monkeypatch: pytest.MonkeyPatch) -> None:
    exact, peak = Fraction(1, 2), noise.likeliest_total(30, Fraction(1, 2))
    expected = [noise.accepts_total(SeededBits(i), peak + i % 40 - 20, peak, 30, exact) for i in range(300)]
    assert 50 < sum(expected) < 290

    def wide(*arguments: object) -> object:
        yield arb("0.5", "0.5")
        yield from ladder(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(noise, "ladder", wide)
    assert [noise.accepts_total(SeededBits(i), peak + i % 40 - 20, peak, 30, exact) for i in range(300)] == expected


@pytest.mark.parametrize(("k", "epsilon"), [(3, "1"), (3, "0.01"), (10, "1"), (40, "3")])
def test_attempts_are_kept_as_often_as_the_page_says(k: int, epsilon: str) -> None:
    """Σ β², β binomial with k-1 trials; at least 1 / (2 sqrt(k-1))."""
    p = exp(-float(epsilon) / 2.0)
    share = float((binom.pmf(np.arange(k), k - 1, p / (1.0 + p)) ** 2).sum())
    assert share >= 1.0 / (2.0 * (k - 1) ** 0.5)
    source, scale = CountedBits(SeededBits(9)), 2 / Fraction(epsilon)
    lattice_array(source, k, Fraction(epsilon), 4000)
    words = (k - 1) * discrete_laplace_law(scale).words + geometric_law(scale).words
    assert 4000 * 64 * words / source.taken == pytest.approx(share, rel=0.08)  # five standard deviations, and what was drawn to spare
