"""Nested categories. Oracles: one `LatticeGeometric` for each level, sums over all outcomes, and the law of every dataset."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import betainc
from scipy.stats import chisquare

import discreet as dc
from discreet.errors import InvalidInputError, RefusedError, TooLargeError
from discreet.inference.noise_aware import NoiseAware
from discreet.inference.true_counts import Outcome, counts_of_same_records
from discreet.model.datasets import simplex_points
from discreet.sampling import SeededBits

CODES = ("A1", "A2", "B1", "B2")
LEVELS = {"chapter": {"A": ["A1", "A2"], "B": ["B1", "B2"]}}


def nested(n: int | None, epsilon: Any = 4, k: int = 4, **options: Any) -> dc.Nested:
    levels = {"chapter": {"A": CODES[:2], "B": CODES[2:k]}}
    return dc.Nested(dc.Dirichlet([1.0, 2.0, 0.5, 1.0][:k], CODES[:k]), n, epsilon, levels=options.pop("levels", levels), **options)


@pytest.mark.parametrize("n", [3, None])
def test_the_law_is_that_of_every_level_by_itself(n: int | None) -> None:
    mechanism, counts = nested(n, 12, 3, split=[1, 2]), np.array([1, 0, 2])
    law = mechanism._raw_law(counts)
    assert law.probability.sum() == pytest.approx(1.0, abs=1e-12)
    assert mechanism.epsilons == (Fraction(4), Fraction(8))
    upper = dc.LatticeGeometric(dc.Dirichlet([1, 1]), n, 4)
    lower = dc.LatticeGeometric(dc.Dirichlet([1, 1, 1]), n, 8)
    inside = (law.counts > 0).all(axis=1)  # at 0 the law of a private n has the probability of everything below
    for row in law.counts[inside][:200]:
        expected = upper.log_prob([1, 2], row[:2]) + lower.log_prob(counts, row[2:])
        assert mechanism.log_prob(counts, row) == pytest.approx(expected, abs=1e-9)
        assert law.log_probability[(law.counts == row).all(axis=1)][0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n", [5, None])
def test_draws_have_the_law_and_a_tenth_more_noise_is_told(n: int | None) -> None:
    """False alarm 1e-9 for each count; the seed is fixed. The control has 10 % less ε."""
    counts, bits, draws = [2, 0, 1, 2], SeededBits(5), 12_000
    mechanism = nested(n, 3)
    prepared = mechanism._sampler(counts)
    noise = np.array([prepared.draw(bits) for _ in range(draws)]) - mechanism._levels.sums(np.array(counts))
    if n is not None:
        assert not noise[:, :2].sum(axis=1).any()
        assert not noise[:, 2:].sum(axis=1).any()

    def p_value(place: int, slope: float, cells: int) -> float:
        reach = np.arange(-4, 5)
        if n is None:
            law = np.exp(-slope * np.abs(reach))
        else:  # one count of a lattice: its noise against the sum of the others'
            wide = np.arange(-60, 61)
            one = np.exp(-0.5 * slope * np.abs(wide))
            others = one
            for _ in range(cells - 2):
                others = np.convolve(others, one)
            middle = len(others) // 2
            law = one[60 + reach] * others[middle - reach]
        inside = np.abs(noise[:, place]) <= 4
        seen = np.bincount(noise[inside, place] + 4, minlength=9)
        return float(chisquare(seen, law / law.sum() * seen.sum()).pvalue)

    for place, cells in ((0, 2), (2, 4), (5, 4)):
        assert p_value(place, 1.5, cells) > 1e-9
        assert p_value(place, 1.5 * 0.9, cells) < 1e-4


def losses(mechanism: dc.Nested, first: list[int], second: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities of all outcomes under the first dataset, and the losses against the second."""
    one, other = (mechanism._raw_law(np.array(x)) for x in (first, second))
    known = dict(zip(map(tuple, other.counts.tolist()), other.log_probability.tolist(), strict=True))
    rows = [
        (logs, known[tuple(row)])
        for row, logs in zip(one.counts.tolist(), one.log_probability.tolist(), strict=True)
        if tuple(row) in known
    ]
    logs, against = np.array(rows).T
    return np.exp(logs), logs - against


@pytest.mark.parametrize("split", [(1, 1), (1, 3)])
@pytest.mark.parametrize(
    ("n", "pair", "alike"),
    [(2, ([1, 0, 1], [1, 1, 0]), False), (2, ([1, 0, 1], [0, 1, 1]), True), (None, ([1, 0, 1], [1, 0, 2]), False)],
)
def test_losses_are_those_of_all_outcomes(n: int | None, pair: tuple[list[int], list[int]], alike: bool, split: tuple[int, int]) -> None:
    """Where a record stays in its chapter the upper level loses nothing: the mechanism's figures are those of the worst pair."""
    mechanism = nested(n, 12, 3, split=split)
    chance, loss = losses(mechanism, *pair)
    assert dc.privacy_loss(mechanism).value == 12.0
    assert np.abs(loss).max() == pytest.approx(12.0 * (split[1] / sum(split) if alike else 1.0), abs=1e-6)
    for epsilon in (0.5, 3.0, 6.0):
        exact, found = float(chance @ np.maximum(-np.expm1(epsilon - loss), 0.0)), dc.delta_at(mechanism, epsilon)
        assert exact <= found.bound + 1e-12
        assert alike or found.value == pytest.approx(exact, abs=1e-9)
        assert alike or dc.delta_at(nested(n, "10.8", 3, split=split), epsilon).value < exact  # a tenth less is told


def coverage(drawn: dc.Nested, read: dc.Nested) -> dict[str, float]:
    """How often 90 % intervals hold the share of a code and of a chapter, data from the prior: a sum over all datasets and outcomes."""
    n, a = drawn.space.total, drawn.prior.concentration
    points, found = simplex_points(n, drawn.k), {"code": 0.0, "chapter": 0.0}
    known: dict[tuple[int, ...], Any] = {}
    for x, chance in zip(points, np.exp(drawn.prior.predictive(n).logpmf(points)), strict=True):
        law = drawn._raw_law(x)
        held = np.clip(law.counts, -1, n + 1)  # beyond, outcomes say the same
        rows, place = np.unique(held, axis=0, return_inverse=True)
        weights = np.bincount(place.ravel(), law.probability)
        for row, weight in zip(rows, weights, strict=True):
            key = tuple(row.tolist())
            if key not in known:
                counts = counts_of_same_records(read.prior, n, [Outcome(read, key, n)])
                post = NoiseAware(read.prior, n, counts)
                known[key] = post.marginal("A1").interval(0.9), post.merged(read.nodes("chapter")).marginal("A").interval(0.9)
            for name, (low, high), inside in zip(found, known[key], ([0], [0, 1]), strict=True):
                one, other = a[inside].sum() + x[inside].sum(), a.sum() + n - a[inside].sum() - x[inside].sum()
                found[name] += chance * weight * float(betainc(one, other, high) - betainc(one, other, low))
    return found


@pytest.mark.parametrize("n", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_intervals_hold_what_they_promise_and_a_reader_of_other_noise_does_not(n: int) -> None:
    honest = coverage(nested(n, 4, 3), nested(n, 4, 3))
    assert honest == pytest.approx({"code": 0.9, "chapter": 0.9}, abs=1e-6)
    wrong = coverage(nested(n, 4, 3), nested(n, 8, 3))
    assert all(abs(held - 0.9) > 0.003 for held in wrong.values())


@pytest.mark.parametrize("n", [160, None])
def test_what_is_reported_adds_up_at_every_level_and_is_never_negative(n: int | None) -> None:
    mechanism = dc.Nested(dc.Dirichlet([1] * 8), n, "0.5", levels={"halves": 4, "pairs": 2})
    for seed in range(6):
        release = mechanism.release([80, 60, 0, 0, 0, 0, 10, 10], source=SeededBits(seed), steady=False)
        counts, upper = np.array(release.counts), release.raw[:2]
        assert (counts >= 0).all()
        assert n is None or counts.sum() == n
        if n is None:
            assert [counts[:4].sum(), counts[4:].sum()] == [max(0, z) for z in upper]
        post = release.noise_aware()
        assert post.merged(mechanism.nodes("halves")).mean().sum() == pytest.approx(1.0)
        assert post.merged(mechanism.nodes("pairs")).mean()[:2].sum() == pytest.approx(post.merged(mechanism.nodes("halves")).mean()[0])


def test_a_record_says_the_levels_and_is_read_back() -> None:
    release = nested(None, "0.7", split=(1, 2)).release([5, 0, 3, 1], source=SeededBits(1), steady=False)
    again: Any = dc.Release.from_json(release.to_json())
    assert again == release
    assert again.mechanism.nodes("chapter") == LEVELS["chapter"] | {}
    assert again.mechanism.epsilons == (Fraction(7, 30), Fraction(7, 15))
    assert '"split": "1,2"' in release.to_json()
    assert nested(None, 1).guarantee.epsilon == 1.0
    assert nested(9, 1).guarantee.basis == "proof"
    both = dc.combine([release, dc.LatticeGeometric(release.prior, epsilon=1).release([5, 0, 3, 1], steady=False)], same_data=True)
    assert both.interval().shape == (4, 2)


def test_a_record_of_levels_that_are_none_is_refused() -> None:
    text = nested(9, 1).release([5, 0, 3, 1], source=SeededBits(1), steady=False).to_json()
    for wrong in (text.replace("[0,1]", "[0]"), text.replace("[0,1]", "[0,7]"), text.replace("[0,1]", "[0,-1]")):
        assert wrong != text
        with pytest.raises(InvalidInputError):
            dc.Release.from_json(wrong)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"levels": {}}, "mapping of levels"),
        ({"levels": 4}, "mapping of levels"),
        ({"levels": {"chapter": 1}}, "from 2 to 3"),
        ({"levels": {"chapter": {"A": ["A1", "A2"]}}}, "each of the 4 categories"),
        ({"levels": {"chapter": {"A": ["A1"], "B": ["A1", "A2", "B1", "B2"]}}}, "each of the 4 categories"),
        ({"levels": {"chapter": {c: [c] for c in CODES}}}, "measured anyway"),
        ({"levels": {"pairs": 2, "all": {"all": CODES}}}, "coarse to fine"),
        (
            {"levels": {"one": {"A": ["A1", "B1"], "B": ["A2", "B2"]}, "other": {"A": ["A1", "A2"], "B": ["B1"], "C": ["B2"]}}},
            "coarse to fine",
        ),
        ({"levels": {"all": {"all": CODES}}}, "n is public"),
        ({"split": [1]}, "2 weights"),
        ({"split": [1, 0]}, "greater than 0"),
    ],
)
def test_levels_that_say_nothing_are_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInputError, match=why):
        nested(5, 1, **options)


def test_what_is_not_computed_of_several_levels_says_so() -> None:
    release = nested(9, 1).release([5, 0, 3, 1], source=SeededBits(1), steady=False)
    with pytest.raises(RefusedError, match="several levels"):
        release.log_likelihood([0.25] * 4)
    with pytest.raises(RefusedError, match="several levels"):
        dc.Remapped(release.mechanism)
    with pytest.raises(RefusedError, match="several levels"):
        dc.combine([release, nested(9, 1).release([5, 0, 3, 1], steady=False)], same_data=False)
    with pytest.raises(TooLargeError, match="level by level"):
        dc.expected_width(release.mechanism)
    with pytest.raises(InvalidInputError, match="no such level"):
        nested(9, 1).nodes("code")
    assert release.noise_interval().shape == (4, 2)


def test_a_private_total_may_be_a_level() -> None:
    mechanism = nested(None, 1, levels={"all": {"all": CODES}, **LEVELS})
    release = mechanism.release([5, 0, 3, 1], source=SeededBits(1), steady=False)
    assert len(release.raw) == 7
    assert release.noise_aware().size.interval(0.9)[0] >= 0


@pytest.mark.parametrize("n", [9, None])
def test_contrasts_are_those_of_draws(n: int | None) -> None:
    """Categories of one chapter and of two, and two releases: 20,000 draws, to five standard errors; the seeds are fixed."""
    release = nested(n, 3).release([5, 0, 3, 1], source=SeededBits(1), steady=False)
    post = release.noise_aware()
    shares = post.sample(20_000, 1)
    for first, second in ((0, 1), (0, 3)):
        share = float((shares[:, first] > shares[:, second]).mean())
        assert post.contrast(CODES[first], CODES[second]).probability == pytest.approx(share, abs=5 * 0.5 / 20_000**0.5)
    other = nested(n, 3).release([1, 2, 5, 1], source=SeededBits(2), steady=False)
    again = other.noise_aware().sample(20_000, 2)
    expected = float((shares[:, 0] > again[:, 0]).mean())
    assert dc.contrast(release, other, "A1").probability == pytest.approx(expected, abs=5 * 0.5 / 20_000**0.5)


def test_noise_that_is_too_wide_for_levels_is_told_before_the_draw() -> None:
    def found(epsilon: str, n: int | None) -> dc.Capabilities:
        return dc.capabilities(dc.Nested(dc.Dirichlet([1] * 50), n, epsilon, levels={"tens": 10}))

    assert "Less noise" in str(found("0.01", None).no_noise_aware)
    assert found("0.05", None).noise_aware
    assert found("0.01", 1_000).noise_aware  # no sum is above a public n
