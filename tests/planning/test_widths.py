"""Plans by the width of the published intervals: predicted widths against those of simulated releases, and the questions asked of them.

The oracle of an expected width is the mean of widths that `noise_aware` finds for single releases, one after the other.
"""

import json
from dataclasses import replace
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Literal

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.special import betaincinv
from typer.testing import CliRunner

import discreet as dc
from discreet.arrays import Floats
from discreet.cli import app
from discreet.inference.noise_aware import NoiseAware
from discreet.inference.true_counts import noise_of_any_total
from discreet.planning.expected_widths import Believed, plain_width
from discreet.planning.outcome_widths import OutcomeReader
from discreet.planning.plans import Plan
from discreet.planning.width_plans import WidthPlan
from discreet.validation import Public
from tests.support import ends_at, lowered

runner = CliRunner()


def planned(prior: dc.Dirichlet | dc.Beta, **options: object) -> WidthPlan:
    found = dc.plan(prior, **options)  # type: ignore[arg-type]
    assert isinstance(found, WidthPlan)
    return found


# --- against releases ---------------------------------------------------------------------------------------------------


READ = 200
"""Outcomes that are read at once, as a plan reads them; few of them are read by `noise_aware` too."""


def released_width(mechanism: dc.LatticeGeometric, n: int, size: int, expect: list[float] | None = None) -> tuple[float, float]:
    """The mean width of the intervals of simulated releases, and its standard error.

    Widths are compared with those of the true counts' own posterior, whose mean is known: chance in the data does not count. What
    `noise_aware` finds for few releases is compared with what a plan reads from the same ones: chance in the noise hardly counts.
    """
    rng, prior = np.random.default_rng(7), mechanism.prior
    noise = mechanism.noise if mechanism.n is not None else noise_of_any_total(mechanism)
    assert noise is not None
    believed = Believed.of(prior, n, expect)
    counts = believed.law.predictive(n).sample(READ, rng)
    raw = counts[:, : noise.cells] + noise.simulate(READ, rng)
    shown = np.tile(np.arange(prior.k)[:4], (READ, 1))
    read = OutcomeReader(prior.concentration, mechanism.space.n, noise, n).widths(raw, shown, 0.95).mean(axis=1)
    a = prior.concentration[shown]
    own = (a + counts[:, :4], float(prior.exact_total) - a + n - counts[:, :4])
    plain = (betaincinv(*own, 0.975) - betaincinv(*own, 0.025)).mean(axis=1)
    ratio = read.mean() / plain.mean()
    expected = float(plain_width(believed)) * ratio
    differences = []
    for outcome, width in zip(raw[:size], read, strict=False):
        reported = tuple(int(x) for x in mechanism.report(outcome[None, :])[0])
        aware: NoiseAware = dc.Release(mechanism, mechanism.guarantee, tuple(int(z) for z in outcome), reported).noise_aware()
        known = [aware.marginal(category).interval() for category in prior.categories[:4]]
        differences.append(np.mean([high - low for low, high in known]) - width)
    off = sqrt(np.var(read - ratio * plain, ddof=1) / READ + np.var(differences, ddof=1) / size)
    return float(expected + np.mean(differences)), off


def check(k: int, n: int, epsilon: str, public: bool, size: int, expect: list[float] | None = None) -> None:
    mechanism = dc.LatticeGeometric(dc.Dirichlet.uniform(k), n if public else None, epsilon)
    predicted = dc.expected_width(mechanism, n=n, expect=expect)
    found, off = released_width(mechanism, n, size, expect)
    assert abs(predicted - found) <= 0.02 * found + 3.5 * sqrt(off**2 + predicted.standard_error**2), (repr(predicted), found, off)
    assert off < 0.02 * found  # so that the comparison says something


@pytest.mark.parametrize(
    ("k", "n", "epsilon", "public", "parameter", "share"),
    [
        (3, 1000, "0.02", True, 0.01, None),
        pytest.param(5, 1000, "0.05", False, 0.01, None, marks=pytest.mark.slow),
        pytest.param(10, 10_000, "0.05", False, 0.01, None, marks=pytest.mark.slow),
        (60, 10_000, "0.1", False, 1.0, 0.9),
        (60, 600, "0.282", False, 0.01, 1 / 60),
        pytest.param(150, 100_000, "0.1", False, 1.0, 0.9, marks=pytest.mark.slow),
    ],
)
def test_likely_zeros_and_a_dominant_category(k: int, n: int, epsilon: str, public: bool, parameter: float, share: float | None) -> None:
    """The same outcomes, read at once and one by one: tiny prior parameters, and one category with most of the records."""
    prior, size = dc.Dirichlet([parameter] * k), 3 if share else 8
    mechanism = dc.LatticeGeometric(prior, n if public else None, epsilon)
    noise = mechanism.noise if public else noise_of_any_total(mechanism)
    assert noise is not None
    rng = np.random.default_rng(7)
    shares = None if share is None else [share, *[(1.0 - share) / (k - 1)] * (k - 1)]
    counts = Believed.of(prior, n, shares).law.predictive(n).sample(size, rng)
    raw = counts[:, : noise.cells] + noise.simulate(size, rng)
    targets = np.argsort(-counts, axis=1)[:, :3]
    read = OutcomeReader(prior.concentration, mechanism.space.n, noise, n).widths(raw, targets, 0.95)
    one_by_one = np.empty_like(read)
    for i, outcome in enumerate(raw):
        reported = tuple(int(x) for x in mechanism.report(outcome[None, :])[0])
        aware: NoiseAware = dc.Release(mechanism, mechanism.guarantee, tuple(int(z) for z in outcome), reported).noise_aware()
        intervals = [aware.marginal(prior.categories[int(t)]).interval() for t in targets[i]]
        one_by_one[i] = [high - low for low, high in intervals]
    assert read.mean() == pytest.approx(one_by_one.mean(), rel=0.02)
    assert read[:, 0].mean() == pytest.approx(one_by_one[:, 0].mean(), rel=0.02)


@pytest.mark.parametrize("n", [3, 500, 10**6])
@pytest.mark.parametrize("parameter", [0.01, 1.0])
@pytest.mark.parametrize("guessed", [False, True])
def test_many_kinds_have_the_widths_of_one(n: int, parameter: float, guessed: bool) -> None:
    """Categories with slightly different prior parameters: fewer counts of each are looked at than where all are of one kind."""
    k = 45
    expect = [0.56, *[0.01] * (k - 1)] if guessed else None
    one, many = (Believed.of(dc.Dirichlet([parameter * (1.0 + i * step) for i in range(k)]), n, expect) for step in (0.0, 1e-7))
    assert plain_width(many) == pytest.approx(float(plain_width(one)), rel=5e-4)
    assert plain_width(many, worst=True) == pytest.approx(float(plain_width(one, worst=True)), rel=5e-4)


def test_a_share_of_nearly_everything_has_a_width() -> None:
    """The interval of a category with all of 3e11 records ends within 1e-11 of 1, as far from it as that of the others is from 0."""
    prior, n = dc.Dirichlet(["0.5", "0.5"]), 3 * 10**11
    width = plain_width(Believed.of(prior, n, [1, 0]), worst=True)
    own = betaincinv(0.5, n + 0.5, [0.025, 0.975])
    assert width == pytest.approx(float(own[1] - own[0]), rel=1e-4)
    assert plain_width(Believed.of(prior, n, [0, 1])) == pytest.approx(float(width), rel=1e-12)


def read_both(mechanism: dc.LatticeGeometric, n: int, size: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The widths of all categories of the same outcomes, read at once as a plan does, and one by one by `noise_aware`."""
    prior, noise = mechanism.prior, mechanism.noise if mechanism.n is not None else noise_of_any_total(mechanism)
    assert noise is not None
    raw = prior.predictive(n).sample(size, rng)[:, : noise.cells] + noise.simulate(size, rng)
    targets = np.tile(np.arange(prior.k), (size, 1))
    read = OutcomeReader(prior.concentration, mechanism.space.n, noise, n).widths(raw, targets, 0.95)
    known = []
    for z in raw:
        aware = dc.Release(mechanism, mechanism.guarantee, tuple(z.tolist()), tuple(mechanism.report(z[None])[0].tolist())).noise_aware()
        known.append([float(np.diff(aware.marginal(category).interval())[0]) for category in prior.categories])
    return read, np.array(known)


@pytest.mark.parametrize(
    ("prior", "n", "epsilon"),
    [*((dc.Dirichlet.uniform(k), 500, "0.05") for k in (2, 3, 5)), (dc.Dirichlet(["4.88", "161"]), 363, "0.0171")],
    ids=["two", "three", "five", "lopsided"],
)
def test_a_private_n_and_wide_noise_to_a_part_in_a_thousand(prior: dc.Dirichlet, n: int, epsilon: str) -> None:
    """Few totals stand for all. A strong and lopsided prior bends the law of the total, and is steep within a cell."""
    read, known = read_both(dc.LatticeGeometric(prior, None, epsilon), n, 10, np.random.default_rng(0))
    assert read.mean() == pytest.approx(known.mean(), rel=1e-3)
    assert np.abs(read / known - 1.0).max() < 4e-3


@pytest.mark.slow
def test_widths_of_random_configurations() -> None:
    """Prior parameters from 0.05 to 1000 in one prior, 10 to 100,000 records, ε from 0.005 to 2: what the page says about accuracy."""
    rng, means, singles = np.random.default_rng(2026), [], []
    for _ in range(100):
        private = bool(rng.random() < 0.7)
        k = int(rng.integers(2 if private else 3, 6))
        a = [f"{parameter:.3g}" for parameter in np.exp(rng.uniform(np.log(0.05), np.log(1e3), k))]
        n, epsilon = int(np.exp(rng.uniform(np.log(10), np.log(1e5)))), f"{np.exp(rng.uniform(np.log(0.005), np.log(2.0))):.3g}"
        read, known = read_both(dc.LatticeGeometric(dc.Dirichlet(a), None if private else n, epsilon), n, 4, rng)
        means.append(abs(read.mean() / known.mean() - 1.0))
        singles.append(np.abs(read / known - 1.0).max())
    assert np.median(means) < 2e-4
    assert np.quantile(means, 0.9) < 1e-3
    assert max(means) < 4e-3
    assert max(singles) < 0.025


def test_no_width_is_wider_than_everything() -> None:
    """Shares of 1 and 0 leave no chance in the data, and what is left of a control is rounding."""
    expect = [1.0, 0.0, 0.0, 0.0]
    curve = dc.width_curve(dc.Dirichlet([0.1] * 4), 282, epsilons=["0.01", "0.02", "0.1"], expect=expect)
    widths = [float(width) for width in curve.widths]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] < 1.0


@pytest.mark.parametrize(
    ("k", "n", "epsilon", "public"),
    [(3, 100, "0.5", True), (5, 2700, "0.1", True), (2, 200, "0.3", False)],
)
def test_the_width_is_that_of_releases(k: int, n: int, epsilon: str, public: bool) -> None:
    check(k, n, epsilon, public, 4)


def test_the_width_for_guessed_shares_is_that_of_releases() -> None:
    check(3, 1000, "0.1", True, 4, [0.7, 0.2, 0.1])


SIZES = [(100, "0.5"), (1000, "0.1"), (10_000, "0.05"), (100_000, "0.03"), (10**6, "0.02")]
CONFIGURATIONS = [
    (k, n, epsilon, public) for k, public in [(2, True), (3, True), (5, True), (10, True), (20, True)] for n, epsilon in SIZES
]
CONFIGURATIONS += [(k, n, epsilon, False) for k in (2, 4, 10, 20) for n, epsilon in SIZES[:2]]


@pytest.mark.slow
@pytest.mark.parametrize(("k", "n", "epsilon", "public"), CONFIGURATIONS)
def test_thirty_three_configurations(k: int, n: int, epsilon: str, public: bool) -> None:
    check(k, n, epsilon, public, 4)


@pytest.mark.slow
def test_noise_that_is_a_tenth_off_is_noticed() -> None:
    """The negative control: releases with less noise than the prediction is told of."""
    prior = dc.Dirichlet.uniform(5)
    found, off = released_width(dc.LatticeGeometric(prior, 2700, "0.1"), 2700, 4)
    predicted = dc.expected_width(dc.LatticeGeometric(prior, 2700, "0.09"))
    assert abs(predicted - found) > 3.5 * sqrt(off**2 + predicted.standard_error**2)


def test_next_to_no_noise_leaves_the_width_without_privacy() -> None:
    """The widest category and the average, which differ: without privacy both are sums over all counts."""
    prior, expect = dc.Dirichlet.uniform(3), [0.8, 0.15, 0.05]
    mechanism, believed = dc.LatticeGeometric(prior, 200, 30), Believed.of(prior, 200, expect)
    average, widest = (float(dc.expected_width(mechanism, expect=expect, worst=worst)) for worst in (False, True))
    assert (average, widest) == pytest.approx((float(plain_width(believed)), float(plain_width(believed, worst=True))), rel=0.01)
    a, b = np.array([161.0, 31.0, 11.0]), np.array([42.0, 172.0, 192.0])
    own = betaincinv(a, b, 0.975) - betaincinv(a, b, 0.025)
    assert (average, widest) == pytest.approx((own.mean(), own.max()), rel=0.02)


@pytest.mark.parametrize(("n", "epsilon"), [(None, 40), (200, 81)])
def test_no_noise_at_all_is_not_simulated(n: int | None, epsilon: int) -> None:
    prior = dc.Dirichlet([0.5, 1, 3])
    last, first = (dc.expected_width(dc.LatticeGeometric(prior, n, level), n=200) for level in (epsilon, epsilon + 1))
    assert last.method == "simulation"
    assert first.method != "simulation"
    assert float(first) == float(plain_width(Believed.of(prior, 200, None)))
    assert float(last) == pytest.approx(float(first), rel=1e-9, abs=5.0 * last.standard_error)


def test_the_standard_error_is_how_far_other_simulations_are() -> None:
    mechanism = dc.LatticeGeometric(dc.Dirichlet.uniform(3), 30, "0.3")
    found = [dc.expected_width(mechanism, rng=seed) for seed in range(9)]
    ratio = np.std([float(width) for width in found], ddof=1) / np.mean([width.standard_error for width in found])
    assert 0.4 < ratio < 2.5


def test_known_widths() -> None:
    """k = 5, n = 2700: next to no price at ε = 2.07, where Hellinger plans end, and a few percent at 0.5."""
    prior = dc.Dirichlet.uniform(5)
    plain = plain_width(Believed.of(prior, 2700, None))
    prices = [dc.expected_width(dc.LatticeGeometric(prior, 2700, epsilon)) / plain for epsilon in ("2.07", "0.5")]
    assert prices == pytest.approx([1.0, 1.04], abs=0.01)


def test_the_width_of_two_categories_is_a_sum_over_all_outcomes() -> None:
    """Written out: P(z) from the law of the mechanism, widths from `noise_aware`."""
    prior, n = dc.Beta(2, 1), 6
    mechanism = dc.LatticeGeometric(prior, n, "0.4")
    total = 0.0
    points = mechanism.space.points()
    for counts, weight in zip(points, prior.predictive(n).pmf(points), strict=True):
        law = mechanism._raw_law(counts)
        for raw, probability in zip(law.counts, law.probability, strict=True):
            release = dc.Release(mechanism, mechanism.guarantee, tuple(int(z) for z in raw), tuple(int(z) for z in raw))
            low, high = release.noise_aware().marginal(prior.categories[0]).interval()
            total += weight * probability * (high - low)
    found = dc.expected_width(mechanism)
    assert found.method == "exact sum"
    assert found == pytest.approx(total, rel=1e-6)


def test_quadrature_continues_the_sum() -> None:
    widths = [dc.expected_width(dc.LatticeGeometric(dc.Beta(1, 1), n, "0.3")) for n in (198, 199, 200, 201, 202)]
    assert [width.method for width in widths] == ["exact sum"] * 3 + ["quadrature"] * 2
    steps = np.diff([np.log(float(width)) for width in widths])
    assert np.abs(np.diff(steps)).max() < 4e-5  # what three digits of ε allow for


def test_a_listed_mechanism_has_a_width_too() -> None:
    """The same sum over the list of another mechanism, whose noise depends on the data."""
    mechanism = dc.HellingerSmooth(dc.Beta(1, 1), 15, 2)
    points = mechanism.space.points()
    table = np.exp([mechanism._raw_law(counts).log_probability for counts in points])
    chance = mechanism.prior.predictive(15).pmf(points) @ table
    widths = []
    for raw in points:
        release = dc.Release(mechanism, mechanism.guarantee, tuple(int(z) for z in raw), tuple(int(z) for z in raw))
        low, high = release.noise_aware().marginal(mechanism.prior.categories[0]).interval()
        widths.append(high - low)
    assert dc.expected_width(mechanism) == pytest.approx(float(chance @ np.array(widths)), rel=1e-6)
    with pytest.raises(dc.TooLargeError, match="LatticeGeometric and the Laplace family"):
        dc.expected_width(dc.HellingerSmooth(dc.Beta(1, 1), 10**6, 2))


# --- plans ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sought", "bracket", "says"),
    [
        ("epsilon", (0.10911, 0.10914), "the least is ε = 0.109."),
        ("epsilon", (0.1091, 0.1104), "the least is ε from 0.109 to 0.11."),
        ("n", (1234.0, 1234.2), "the least is n = 1,234."),
        ("n", (1234.0, 1240.0), "the least is n from 1,234 to 1,240."),
    ],
)
def test_ends_that_round_alike_are_one_number(sought: Literal["epsilon", "n"], bracket: tuple[float, float], says: str) -> None:
    found = planned(dc.Beta(1, 1), n=100, width="0.2")
    assert replace(found, sought=sought, bracket=bracket).precision.endswith(says)


def test_the_epsilon_is_the_least_where_the_method_is_exact() -> None:
    prior = dc.Beta(1, 1)
    found = planned(prior, n=100, width="0.2")
    assert found.bracket is None
    assert found.sentence.startswith(f"With ε = {float(found.epsilon):g} and 100 records the intervals will be about 20")
    widths = [float(dc.expected_width(dc.LatticeGeometric(prior, 100, e))) for e in (found.epsilon, found.epsilon * Fraction(99, 100))]
    assert widths[0] <= 0.2 < widths[1]
    assert Fraction(str(float(found.epsilon))) == found.epsilon


@pytest.mark.slow
def test_a_simulated_plan_is_a_bracket_with_the_target_inside() -> None:
    prior = dc.Dirichlet.uniform(5)
    found = planned(prior, n=2700, width=0.04)
    assert found.bracket is not None
    low, high = found.bracket
    assert low <= high <= found.epsilon < 1.2 * high
    excess = found.width**2 - found.plain**2
    assert high / low > 1.0 + 2.0 * found.width.standard_error * found.width / excess  # W² - W₀² is a power -2 of ε
    for level, narrower in ((0.9 * low, False), (1.1 * high, True)):
        width = dc.expected_width(dc.LatticeGeometric(prior, 2700, f"{level:.6f}"), rng=3)
        assert (width + 2.0 * width.standard_error < 0.04) == narrower
    assert "bracket" in found.to_dict()


def test_the_ends_of_a_short_bracket_miss_and_meet_the_target() -> None:
    """Widths of other draws than the plan's, beyond either end: eight standard errors or more from the target."""
    prior = dc.Dirichlet.uniform(3)
    found = planned(prior, n=300, width="0.12")
    assert found.bracket is not None
    low, high = found.bracket
    assert low < high <= found.epsilon < 1.1 * high < 1.2 * low
    for level, narrower in ((0.97 * low, False), (1.03 * high, True)):
        width = dc.expected_width(dc.LatticeGeometric(prior, 300, f"{level:.6f}"), rng=3)
        assert abs(width - 0.12) > 8.0 * width.standard_error
        assert (width < 0.12) == narrower


def test_a_plan_for_n() -> None:
    found = planned(dc.Beta(1, 1), epsilon=1, width=0.3)
    assert (found.sought, found.bracket) == ("n", None)
    widths = [float(dc.expected_width(dc.LatticeGeometric(dc.Beta(1, 1), n, 1))) for n in (found.n - 1, found.n)]
    assert widths[1] <= 0.3 < widths[0]


@pytest.mark.slow
def test_a_private_n_is_a_guess() -> None:
    private = planned(dc.Dirichlet.uniform(30), n=500, price=2, public="nothing")
    assert "(a guess)" in private.sentence
    assert "guess of n" in str(private)


@pytest.mark.slow
def test_goals() -> None:
    prior = dc.Dirichlet.uniform(3)
    dear = planned(dc.Beta(1, 1), epsilon="0.5", price=1.1)
    assert float(dear.width / dear.plain) == pytest.approx(1.1, abs=0.01)
    assert planned(prior, n=500, price=1.2).width == pytest.approx(1.2 * planned(prior, n=500, price=1.2).plain, rel=0.03)
    assert isinstance(dc.plan(dc.Beta(1, 1), n=30, error=0.3), Plan)
    expected, worst = (planned(prior, n=500, width=0.12, expect=["0.9", "0.06", "0.04"], worst=w) for w in (False, True))
    assert expected.epsilon < worst.epsilon
    assert (expected.expect, worst.over) == ((0.9, 0.06, 0.04), "worst")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 10}, "give one goal.*got none"),
        ({"n": 10, "width": 0.1, "price": 2}, "give one goal.*got width and price"),
        ({"width": 0.1}, "either n"),
        ({"n": 10, "epsilon": 1, "width": 0.1}, "either n"),
        ({"n": 10, "width": 1.5}, "width must be below 1"),
        ({"n": 10, "price": 1}, "price must be above 1"),
        ({"n": 10, "width": 0.96}, "prior alone"),
        ({"n": 10, "width": 0.3, "expect": [0.5]}, "a share for each"),
        ({"n": 10, "width": 0.3, "expect": [0.5, 0.6]}, "add up to 1.1"),
        ({"n": 10, "error": 0.3, "expect": [0.5, 0.5]}, "leave expect out"),
        ({"n": 100, "width": 0.1}, "without privacy n = 2"),
    ],
)
def test_refusals_say_what_to_do(options: dict[str, object], message: str) -> None:
    with pytest.raises(dc.InvalidInputError, match=message) as caught:
        dc.plan(dc.Beta(1, 1), **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("a", "n", "width", "said", "less"),
    [
        ("1", 100, 0.1, 240, 220),
        ("20", 10, 0.1, 340, 330),
        ("200", 10, 0.05, 1200, 1100),
        ("3000", 10, 0.025, 150, 140),
    ],
)
def test_the_n_of_a_refusal_would_give_the_width(a: str, n: int, width: float, said: int, less: int) -> None:
    """Strong priors too, where widths change little with n."""
    prior = dc.Beta(a, a)
    with pytest.raises(dc.InvalidInputError, match=f"n = {said:,} would give it"):
        dc.plan(prior, n=n, width=width)
    assert plain_width(Believed.of(prior, said, None)) <= width < plain_width(Believed.of(prior, less, None))


# --- what n and ε give, and a curve over n ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "public"), [(2, "total"), (3, "total"), (3, "nothing")])
def test_n_and_epsilon_give_the_expected_width(k: int, public: Public) -> None:
    """To a part in ten thousand where it is integrated, and within five standard errors where it is simulated; not with another ε."""
    prior, n = dc.Dirichlet.uniform(k), 300
    given = planned(prior, n=n, epsilon="0.1", public=public)
    assert (given.goal, given.sought, given.bracket) == (None, None, None)
    for epsilon, same in (("0.1", True), ("0.08", False)):
        made = dc.LatticeGeometric(prior, n if public == "total" else None, epsilon)
        expected = dc.expected_width(made, n=n)
        off = 5.0 * (given.width.standard_error**2 + expected.standard_error**2) ** 0.5 or 1e-4 * expected
        assert (abs(given.width - expected) <= off) is same
    assert given.plain == plain_width(Believed.of(prior, n, None))
    assert given.noise_alone**2 + given.plain**2 == pytest.approx(given.width**2)
    assert f"{n} records{' (a guess)' if public == 'nothing' else ''}" in given.sentence
    assert ("±" in given.precision) is (given.width.method == "simulation")
    assert "what n and ε give" in given._repr_html_()


def test_a_curve_over_the_number_of_records() -> None:
    curve = dc.records_curve(dc.Beta(1, 1), "0.2", records=[20, 200, 2000])
    for n, row in zip((20, 200, 2000), curve.to_dicts(), strict=True):
        made = dc.LatticeGeometric(dc.Beta(1, 1), n, "0.2")
        assert row["width"] == pytest.approx(float(dc.expected_width(made)))
        assert row["width"] != pytest.approx(float(dc.expected_width(dc.LatticeGeometric(dc.Beta(1, 1), n, "0.22"))), rel=1e-4)
        assert row["width_without_privacy"] == plain_width(Believed.of(dc.Beta(1, 1), n, None))
    assert "2,000" in str(curve)
    assert "2,000" in curve._repr_html_()
    assert [line.get_label() for line in curve.plot().get_lines()] == ["with privacy", "without privacy"]
    plt.close("all")


def test_commands_that_are_given_n_and_epsilon() -> None:
    found = json.loads(runner.invoke(app, ["plan", "--n", "40", "--epsilon", "1/2", "--json"]).stdout)
    assert found["width"] == float(planned(dc.Beta(1, 1), n=40, epsilon="1/2").width)
    assert "points wide; without privacy" in runner.invoke(app, ["plan", "--n", "40", "--epsilon", "1"]).stdout
    assert "This is for two categories" in runner.invoke(app, ["plan", "--n", "40", "--epsilon", "1"]).stdout
    assert "two categories" not in runner.invoke(app, ["plan", "--n", "40", "--epsilon", "1", "--prior", "uniform:3"]).stdout


@pytest.mark.slow
def test_the_command_that_draws_a_curve_over_n(tmp_path: Path) -> None:
    curve = json.loads(runner.invoke(app, ["plan", "--curve", "--epsilon", "1/2", "--json"]).stdout)
    assert curve["rows"] == dc.records_curve(dc.Beta(1, 1), "1/2").to_dicts()
    picture = tmp_path / "curve.png"
    assert "without privacy" in runner.invoke(app, ["plan", "--curve", "--epsilon", "1", "--plot", str(picture)]).stdout
    assert picture.stat().st_size > 0


# --- comparison, curve, commands ------------------------------------------------------------------------------------------


def test_mechanisms_without_a_width_say_so() -> None:
    with lowered(WIDTH_CANDIDATES=10):
        found = dc.compare(dc.Beta(1, 1), 20, 1)
    rows = {row.mechanism: row for row in found.rows}
    assert rows["HellingerGlobal"].width is None
    assert "HellingerGlobal" in next(reason for reason in found.reasons if "no width" in reason)
    lattice, remapped = rows["LatticeGeometric"].width, rows["Remapped(LatticeGeometric)"].width
    assert lattice == remapped
    assert found.cells()[0][:2] == ("mechanism", "width")
    assert found.to_dicts()[0]["width_method"] == "exact sum"
    assert "intervals without privacy: 32.7 points" in found.caption


def test_a_comparison_of_widths_alone() -> None:
    """The same rows, but for the errors; in the order of their widths."""
    whole, alone = (dc.compare(dc.Beta(1, 1), 20, 1, errors=errors) for errors in (True, False))
    kept = ("mechanism", "guarantee", "width", "loss", "no_width")
    rows = {row.mechanism: [getattr(row, name) for name in kept] for row in whole.rows}
    assert {row.mechanism: [getattr(row, name) for name in kept] for row in alone.rows} == rows
    assert [row.width for row in alone.rows] == [row.width for row in whole.rows]
    assert alone.optimum is None
    assert all(row.error is row.worst is row.quantile is row.ratio is None for row in alone.rows)
    assert ("widths" in alone.choice, "widths" in whole.choice) == (True, False)
    said = runner.invoke(app, ["compare", "--n", "20", "--no-errors"])
    assert "mean error" not in said.stdout
    assert "Errors are" not in said.stdout


def test_a_curve_as_rows_and_picture() -> None:
    curve = dc.width_curve(dc.Beta(1, 1), 200, epsilons=["0.1", 1, 10])
    widths = [row["width"] for row in curve.to_dicts()]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == pytest.approx(float(curve.plain[-1]), rel=1e-3)
    axes = curve.plot()
    assert [line.get_label() for line in axes.get_lines()] == ["with privacy", "without privacy"]
    plt.close("all")


def test_commands(tmp_path: Path) -> None:
    said = runner.invoke(app, ["plan", "--width", "30%", "--n", "40"])
    assert said.exit_code == 0, said.output
    assert "points wide; without privacy" in said.stdout
    found = json.loads(runner.invoke(app, ["plan", "--price", "1.2", "--n", "40", "--json"]).stdout)
    assert (found["goal"], found["target"], found["sought"]) == ("price", 1.2, "epsilon")
    picture = tmp_path / "curve.png"
    drawn = runner.invoke(app, ["plan", "--curve", "--n", "20", "--plot", str(picture)])
    assert "times as wide" in drawn.stdout
    assert picture.stat().st_size > 0
    again = runner.invoke(app, ["plan", "--curve", "--n", "20", "--plot", str(picture)])
    assert (again.exit_code, "exists" in again.stderr) == (2, True)
    curve = json.loads(runner.invoke(app, ["plan", "--curve", "--n", "20", "--expect", "0.9,0.1", "--json"]).stdout)
    assert len(curve["rows"]) == 10


def test_a_cell_of_a_table_has_the_noise_that_its_group_is_planned_with() -> None:
    prior, by = dc.Dirichlet.uniform(3), {"group": ["a", "b"]}
    total, nothing = dc.LatticeGeometric(prior, n=50, epsilon=1, by=by).noise, dc.LatticeGeometric(prior, epsilon="0.5", by=by).noise
    assert total is not None
    assert nothing is not None
    assert total.slope == nothing.slope == 0.5


def test_shares_in_percent() -> None:
    words = ["plan", "--curve", "--n", "20", "--json", "--expect"]
    percent, plain = (json.loads(runner.invoke(app, [*words, given]).stdout) for given in ("90%, 10%", "0.9,0.1"))
    assert percent == plain


CALLS: list[tuple[int, int, float | None, str, dict[str, object]]] = [
    (1000, 10**12, 1.0, "total", {}),
    (4, 183_028_174_684, 0.01, "total", {"expect": [0.5, 0.5, 0.0, 0.0]}),
    (10, 21, 1.0, "nothing", {}),
    (50, 77_492, 0.01, "nothing", {}),
    (1000, 3_512, 0.01, "nothing", {}),
    (500, 10**9, 100.0, "nothing", {}),
    (45, 10**6, None, "nothing", {}),
]


@pytest.mark.parametrize(
    ("k", "n", "parameter", "public", "options"), [pytest.param(*call, marks=[pytest.mark.slow] * (i > 2)) for i, call in enumerate(CALLS)]
)
def test_any_size_has_a_width(k: int, n: int, parameter: float | None, public: str, options: dict[str, object]) -> None:
    """A slice of a fuzz over sizes: sparse and heavy priors, with a parameter of its own for each category where none is given."""
    prior = dc.Dirichlet([parameter] * k if parameter else [float(f"{0.01 * 1.2**i:.3g}") for i in range(k)])
    for epsilon in ("0.001", "1"):
        mechanism = dc.LatticeGeometric(prior, n if public == "total" else None, epsilon)
        width = dc.expected_width(mechanism, n=n, **options)  # type: ignore[arg-type]
        assert width.method == "simulation"
        assert 0.0 <= width.standard_error < 0.5 * width < 0.5


@pytest.mark.parametrize(
    "words",
    [["--n", "5"], ["--width", "4%"], ["--width", "x", "--n", "5"], ["--curve"], ["--width", "9%", "--price", "2", "--n", "9"]],
)
def test_a_bad_question_is_one_line(words: list[str]) -> None:
    result = runner.invoke(app, ["plan", *words])
    assert result.exit_code == 2
    assert len([line for line in result.stderr.splitlines() if line.startswith("error: ")]) == 1


def test_many_categories_of_which_one_has_no_noise_are_refused_in_one_line() -> None:
    with pytest.raises(dc.TooLargeError, match=r"LaplaceHistogram.* 200 .*LatticeGeometric"):
        dc.expected_width(dc.LaplaceHistogram(dc.Dirichlet.uniform(201), 1000, 1))
    prior = dc.Dirichlet.uniform(3)
    ends_at(3, "WIDTH_CATEGORIES", lambda: dc.expected_width(dc.LaplaceHistogram(prior, 20, 1)))
    with lowered(WIDTH_CATEGORIES=0):
        assert dc.expected_width(dc.LatticeGeometric(prior, 20, 1)) > 0.0


def test_a_public_n_is_not_contradicted() -> None:
    """The planner takes the n of the mechanism, or the same n; another one is refused, and a private n needs a guess."""
    mechanism = dc.LatticeGeometric(dc.Beta(1, 1), 50, 1)
    assert dc.expected_width(mechanism, n=50) == dc.expected_width(mechanism)
    for other in (49, 51):
        with pytest.raises(dc.InvalidInputError, match=rf"n = 50 .* n = {other} "):
            dc.expected_width(mechanism, n=other)
    with pytest.raises(dc.InvalidInputError, match="n is private here: give n="):
        dc.expected_width(dc.LatticeGeometric(dc.Beta(1, 1), epsilon=1))
