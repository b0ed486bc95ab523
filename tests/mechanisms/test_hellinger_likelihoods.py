"""Likelihoods of the exponential family from tables. Oracle: each dataset's own law, whose distances come from Stirling's series.

At sizes where all laws would take too long, some datasets are compared with their laws, and one normaliser with ball arithmetic.
"""

from fractions import Fraction
from math import ceil, log
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from scipy.stats import beta
from typer.testing import CliRunner

import discreet as dc
from discreet import limits
from discreet.cli import app
from discreet.mechanisms import Exponential, likelihoods
from discreet.numerics.proved_floats import gap_table
from tests.inference.coverage import TOLERANCE, make, release_of
from tests.support import Floats, ball, lattice, lowered, mostly_slow

EXPONENTIALS = [dc.HellingerGlobal, dc.HellingerLocal, dc.HellingerSmooth, dc.HellingerSmoothDelta]
PARAMETERS = [0.01, 0.3, 1.0, 1.0, 1.0, 2.5, 40.0]
RUNNER = CliRunner(env={"COLUMNS": "200"})
MOST_RECORDS = {2: 90, 3: 10, 4: 6, 5: 4, 6: 3, 7: 3}


def _world(seed: int) -> tuple[Exponential, tuple[int, ...]]:
    """A mechanism, with prior parameters that may be alike or not, and one of its outcomes."""
    rng = np.random.default_rng(seed)
    k = 2 + seed % 6
    n = int(rng.integers(1, MOST_RECORDS[k] + 1))
    prior = dc.Dirichlet(rng.choice(PARAMETERS, k).tolist())
    epsilon = float(rng.choice([1e-9, 0.05, 1.0, 20.0, 500.0, 1e4]))
    mechanism = EXPONENTIALS[seed % 4](prior, n, epsilon, factor=float(rng.choice([0.5, 1.0, 1.7])))
    points = lattice(n, k)
    return mechanism, tuple(points[rng.integers(len(points))].tolist())


def _off(mechanism: Exponential, raw: tuple[int, ...], datasets: Any, factor: Fraction = Fraction(1), *, likely: bool = False) -> float:
    """How far log likelihoods are from those of the datasets' laws with an exponent that many times as large, relative to 1 or more.

    With `likely`, only those are computed that the posterior needs.
    """
    other = type(mechanism)(mechanism.prior, mechanism.n, **mechanism._options | {"factor": mechanism.factor * factor})
    expected = np.array([other.log_prob(x, raw) for x in datasets])
    log_prior = mechanism.prior.predictive(mechanism.space.total).logpmf(mechanism.space.points()) if likely else None
    found = mechanism._log_likelihoods(raw, log_prior)[[_place(mechanism, x) for x in datasets]]
    return float((np.abs(found - expected) / np.maximum(1.0, np.abs(expected))).max())


def _place(mechanism: Exponential, counts: Any) -> int:
    return int(np.nonzero((mechanism.space.points() == counts).all(axis=-1))[0][0])


@pytest.mark.parametrize("seed", mostly_slow(range(48), 12))
def test_likelihoods_are_those_of_the_laws_of_all_datasets(seed: int) -> None:
    mechanism, raw = _world(seed)
    points = lattice(mechanism.space.total, mechanism.k)
    assert _off(mechanism, raw, points) < TOLERANCE["likelihoods"]
    if float(mechanism.epsilon) >= 1.0 and len(points) > 3:  # a tiny ε says nothing, whatever it is multiplied by
        assert _off(mechanism, raw, points[:12], Fraction(11, 10)) > 1e-4


@pytest.mark.parametrize("cls", EXPONENTIALS)
@pytest.mark.parametrize(("epsilon", "a"), [(1e-3, (0.01, 7)), (1.0, (1, 1)), (200.0, (0.01, 7))])
def test_windows_leave_out_nothing_that_counts(cls: Any, epsilon: float, a: tuple[float, float]) -> None:
    mechanism = cls(dc.Beta(*a), 1_500, epsilon)
    datasets = [(0, 1500), (1, 1499), (40, 1460), (750, 750), (1111, 389), (1500, 0)]
    assert _off(mechanism, (800, 700), datasets) < TOLERANCE["likelihoods"]
    if epsilon >= 1.0:
        assert _off(mechanism, (800, 700), datasets, Fraction(11, 10)) > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize(("a", "n"), [((1, 0.3, 2), 130), ((1, 2, 0.5, 4), 44)])
@pytest.mark.parametrize("epsilon", mostly_slow([1.0, 1e-3, 40.0], 1))
def test_far_candidates_of_many_categories_are_all_counted(a: tuple[float, ...], n: int, epsilon: float) -> None:
    """At these sizes most candidates are far from a dataset, and are added up by a series, or count as e^-c each."""
    mechanism = dc.HellingerSmooth(dc.Dirichlet(a), n, epsilon)
    rest = [0] * (len(a) - 3)
    datasets = [(*rest, x, y, n - x - y) for x, y in ((0, 0), (n, 0), (1, n - 1), (n // 3, n // 3), (n // 2, 7), (5, n - 20))]
    raw = datasets[3]
    assert _off(mechanism, raw, datasets) < TOLERANCE["likelihoods"]
    if epsilon >= 1.0:
        assert _off(mechanism, raw, datasets, Fraction(11, 10)) > 1e-4


@pytest.mark.parametrize(("a", "n"), [((1, 0.3, 2), 36), ((1, 2, 0.5, 4), 14)])
@pytest.mark.parametrize("epsilon", [1.0, 1e-3])
def test_the_series_of_far_candidates(monkeypatch: pytest.MonkeyPatch, a: tuple[float, ...], n: int, epsilon: float) -> None:
    """The series is made to cost nothing, so that it is taken where going through all candidates would be as fast.

    It has as many terms as its bound needs: those from the m-th on are at most A^m, and A is at most e^(-1/4) for far candidates. The last
    dozens of terms are below the rounding of a normaliser, so that they are counted.
    """
    for cost in ("_FACTOR_WORK", "_TRANSFORM_WORK"):
        monkeypatch.setattr(likelihoods, cost, 0.0)
    mechanism = dc.HellingerSmooth(dc.Dirichlet(a), n, epsilon)
    told: list[tuple[int, int]] = []
    rest = [0] * (len(a) - 3)
    datasets = np.array([(*rest, x, y, n - x - y) for x, y in ((0, 0), (n, 0), (1, n - 1), (n // 3, n // 3), (n // 2, 3))])
    sums = likelihoods.ProductSums([gap_table(one, n) for one in mechanism.prior.exact])
    found = sums(datasets, mechanism._rate(datasets), lambda *step: told.append(step))
    steps = ceil((36.0 + log(len(lattice(n, len(a))))) / 0.25)  # one for the near candidates, and one for each term but the first
    assert told == [(step, steps) for step in range(1, steps + 1)]
    known = np.array([-mechanism.log_prob(x, x) for x in datasets.tolist()])  # the probability of no noise is one over the normaliser
    assert np.abs(np.log(found) - known).max() < 1e-14


class Lopsided(dc.HellingerGlobal):
    """A rate that tells categories apart, although their priors are the same."""

    _is_fair = False

    def _rate(self, counts: Any) -> Floats:
        return np.asarray(super()._rate(counts) / (1.0 + counts[..., 0]))


def test_categories_change_places_only_where_the_rate_allows_it() -> None:
    mechanism = Lopsided(dc.Dirichlet.uniform(3), 8, 5)
    assert _off(mechanism, (1, 3, 4), lattice(8, 3)) < TOLERANCE["likelihoods"]


@pytest.mark.parametrize(("a", "n", "epsilon"), [((1, 1), 900, 60), ((1, 2, 0.5), 40, 900), ((1, 1, 1, 1), 14, 4000)])
def test_datasets_left_out_have_next_to_none_of_the_posterior(a: tuple[float, ...], n: int, epsilon: float) -> None:
    mechanism = make(dc.HellingerSmooth, dc.Dirichlet(a), n, epsilon)
    raw = (n - len(a) * (n // 4) + n // 4, *[n // 4] * (len(a) - 1))
    posterior = release_of(mechanism, raw).noise_aware()
    log_prior = mechanism.prior.predictive(n).logpmf(mechanism.space.points())
    log_weight = log_prior + mechanism._log_likelihoods(raw)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    left_out = np.isneginf(mechanism._log_likelihoods(raw, log_prior))
    assert left_out.sum() > 10
    assert weight[left_out].sum() <= posterior.omitted == limits.WINDOW_TAIL
    points = mechanism.space.points()
    for i, category in enumerate(posterior.categories):
        counts, probability = posterior.count_probabilities(category)
        expected = np.bincount(points[:, i], weights=weight, minlength=n + 1)
        np.testing.assert_allclose(probability, expected[counts], atol=1e-13)


def test_a_long_reading_tells_how_far_it_is() -> None:
    told: list[tuple[int, int, str]] = []
    release = release_of(make(dc.HellingerSmooth, dc.Dirichlet([1, 2, 3]), 40, 1), (10, 10, 20))
    first = release.noise_aware(progress=lambda *step: told.append(step))
    assert [done for done, _, _ in told] == list(range(1, told[0][1] + 1))
    assert len(told) > 1
    assert told[0][2].startswith("the probability of the outcome")
    told.clear()
    again = release.noise_aware(progress=lambda *step: told.append(step))
    assert not told, "normalisers are kept"
    assert (again.mean() == first.mean()).all()


# --- sizes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prior", "within"),
    [
        (dc.Beta(1, 2), limits.LIKELIHOOD_RECORDS),
        (dc.Dirichlet([1, 2, 3]), 445),
        (dc.Dirichlet.uniform(4), 82),
        (dc.Dirichlet.uniform(64), 3),
        (dc.Dirichlet.uniform(65), 2),
    ],
)
def test_sizes_that_are_read_and_the_next_that_are_not(prior: Any, within: int) -> None:
    read, refused = (dc.capabilities(make(dc.HellingerSmooth, prior, n, 1)) for n in (within, within + 1))
    assert read.noise_aware
    assert not refused.noise_aware
    assert refused.noise_aware_pairs is None
    if prior.k <= limits.LIKELIHOOD_CATEGORIES:
        assert read.noise_aware_pairs is not None
        assert read.noise_aware_pairs > limits.QUICK_PAIRS


def test_short_lists_and_independent_noise_are_no_long_reading() -> None:
    assert dc.capabilities(make(dc.HellingerSmooth, dc.Dirichlet.uniform(3), 90, 1)).noise_aware_pairs is None
    assert dc.capabilities(make(dc.LatticeGeometric, dc.Dirichlet.uniform(3), 10**9, 1)).noise_aware_pairs is None
    assert dc.capabilities(dc.LatticeGeometric(dc.Dirichlet.uniform(3), epsilon=1)).noise_aware_pairs is None


def test_show_says_that_a_reading_takes_long_before_it_starts(tmp_path: Any) -> None:
    record = tmp_path / "long.json"
    record.write_text(release_of(make(dc.HellingerSmooth, dc.Dirichlet([1, 2, 3]), 445, 1), (145, 150, 150)).to_json())
    result = RUNNER.invoke(app, ["show", str(record)])
    shown = " ".join(result.output.split())
    assert result.exit_code == 0
    assert "9,936,301,761 pairs of possible counts" in shown
    assert "--slow computes them" in shown
    small = tmp_path / "small.json"
    small.write_text(release_of(make(dc.HellingerSmooth, dc.Dirichlet.uniform(3), 60, 50), (20, 20, 20)).to_json())
    with lowered(QUICK_PAIRS=1000):  # so that it is shown with a bar
        result = RUNNER.invoke(app, ["show", str(small)])
    assert result.exit_code == 0
    assert "not available" not in result.output


@pytest.mark.slow
def test_the_authors_medical_data() -> None:
    """n = 90, k = 3, as drawn, written, read back and compared with the definition over all 4,186 possible counts."""
    mechanism = dc.HellingerSmooth(dc.Dirichlet([1, 1, 1], categories=["none", "mild", "severe"]), 90, 2)
    release = dc.Release.from_json(mechanism.release([50, 28, 12], unit="person").to_json())
    posterior = release.noise_aware()
    points = lattice(90, 3)
    likelihood = np.array([mechanism.log_prob(x, release.raw) for x in points])  # the predictive of a uniform prior is uniform
    weight = np.exp(likelihood - likelihood.max())
    weight /= weight.sum()
    np.testing.assert_allclose(posterior.mean(), weight @ (points + 1.0) / 93.0, rtol=1e-11)
    for (low, high), i in zip(posterior.interval(0.9), range(3), strict=True):
        inside = weight @ (beta.cdf(high, 1 + points[:, i], 92 - points[:, i]) - beta.cdf(low, 1 + points[:, i], 92 - points[:, i]))
        assert inside == pytest.approx(0.9, abs=1e-9)


def _log_normaliser_ball(mechanism: Exponential, x: int) -> float:
    """ln Σ_r exp(-c H(x, r)) of two categories in balls, each gap from three logarithms of Γ."""
    n, (a, b) = mechanism.space.total, mechanism.prior.exact
    with ctx.workprec(160):
        gammas = [[ball(one + Fraction(j, 2)).lgamma() for j in range(2 * n + 1)] for one in (a, b)]
        rate, total = mechanism._rate_ball(np.array([x, n - x])), arb(0)
        for r in range(n + 1):
            triples = zip(gammas, (x, n - x), (r, n - r), strict=True)
            gap = sum(((g[2 * u] + g[2 * v]) / 2 - g[u + v] for g, u, v in triples), arb(0))
            total += (-rate * (-(-gap).expm1()).sqrt()).exp() if r != x else 1
        return float(total.log())


@pytest.mark.slow
def test_as_many_candidates_as_are_listed() -> None:
    three = dc.HellingerSmooth(dc.Dirichlet([0.5, 0.7, 0.5]), 445, 60)
    datasets = [(100, 145, 200), (104, 142, 199), (95, 150, 200)]
    assert _off(three, (100, 145, 200), datasets, likely=True) < TOLERANCE["likelihoods"]
    two = dc.HellingerSmooth(dc.Beta(0.5, 0.7), limits.LIKELIHOOD_RECORDS, 1)
    pairs = [(30_000, 70_000), (30_100, 69_900), (29_750, 70_250)]
    assert _off(two, (30_000, 70_000), pairs, likely=True) < TOLERANCE["likelihoods"]


@pytest.mark.slow
@pytest.mark.parametrize("cls", [dc.HellingerGlobal, dc.HellingerLocal])
def test_normalisers_of_many_records_in_ball_arithmetic(cls: Any) -> None:
    mechanism = cls(dc.Beta("0.3", 2), 8_000, 3)
    found = -mechanism._log_likelihoods((2_500, 5_500))[2_500]
    assert found == pytest.approx(_log_normaliser_ball(mechanism, 2_500), abs=TOLERANCE["likelihoods"])
    assert found != pytest.approx(_log_normaliser_ball(cls(dc.Beta("0.3", 2), 8_000, "3.3"), 2_500), abs=1e-4)
