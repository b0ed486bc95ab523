"""Remapped reports: the exact argmin where it is promised, how near to it elsewhere, and never a total but n."""

from fractions import Fraction
from math import exp
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

import discreet as dc
from discreet.mechanisms import Mechanism
from discreet.mechanisms.bayes_reports import round_to_total
from discreet.numerics.gamma import gap
from tests.mechanisms import brute
from tests.support import lattice, lowered, mostly_slow

NOISE = ("LaplaceZhang", "LaplaceDimension", "LaplaceHistogram", "LatticeGeometric")
RAW = {"LaplaceZhang": 0, "LaplaceDimension": 1, "LaplaceHistogram": 1, "LatticeGeometric": 0}
"""How many of the last counts the raw outcome leaves out."""


def _excess(mechanism: Mechanism, raw: brute.Outcome) -> float:
    """How much worse the report is than the best of all candidates, by brute force."""
    reported = tuple(dc.Remapped(mechanism).report(np.array([raw]))[0].tolist())
    errors = brute.expected_errors(mechanism.prior.exact, mechanism.space.total, lambda x: exp(mechanism.log_prob(x, raw)))
    return errors[reported] / min(errors.values()) - 1.0


@pytest.mark.parametrize("name", [*NOISE, "HellingerGlobal", "HellingerSmooth"])
@pytest.mark.parametrize(
    ("prior", "n"), [(dc.Beta(1, 1), 12), (dc.Beta("0.05", "0.4"), 12), (dc.Beta(30, 50), 12), (dc.Dirichlet([1, 0.3, 4]), 5)]
)
def test_few_candidates_give_the_exact_argmin(name: str, prior: Any, n: int) -> None:
    rng = np.random.default_rng(8)
    for epsilon in ("0.1", "1"):
        mechanism = dc.mechanism(name, prior, n, epsilon)
        for _ in range(4 if mechanism.noise is not None else 1):
            if mechanism.noise is not None:
                noisy = [int(c) for c in rng.integers(-n, 2 * n, prior.k - 1)]
                raw = (*noisy, n - sum(noisy) + (int(rng.integers(-3, 4)) if name == "LaplaceZhang" else 0))[: prior.k - RAW[name]]
            else:
                raw = tuple(int(c) for c in rng.multinomial(n, np.full(prior.k, 1 / prior.k)))
            assert _excess(mechanism, raw) <= 1e-12


def test_the_report_of_the_design_is_found() -> None:
    """Far from the draw, between it and the prior: 640 for z = 900."""
    mechanism = dc.mechanism("lattice", dc.Beta(100, 100), 1000, "0.1")
    assert dc.Remapped(mechanism).report(np.array([[900, 100]]))[0].tolist() == [640, 360]


def _random_case(rng: np.random.Generator) -> tuple[Mechanism, brute.Outcome]:
    n = int(rng.integers(300, 2001))
    name = str(rng.choice(NOISE))
    prior = dc.Beta(f"{10.0 ** rng.uniform(-2, 4):.3g}", f"{10.0 ** rng.uniform(-2, 4):.3g}")
    epsilon = f"{10.0 ** rng.uniform(-2, 0.5):.3g}"
    first = int(rng.integers(-20, n + 21))
    second = n - first + (int(rng.integers(-50, 51)) if name == "LaplaceZhang" else 0)
    options = {"rounding": "nearest"} if name.startswith("Laplace") and rng.integers(2) else {}
    return dc.mechanism(name, prior, n, epsilon, **options), (first, second)[: 2 - RAW[name]]


WORLDS, EXACT_AT_LEAST, LARGEST_EXCESS = 30, 28, 1e-5
"""docs/explain/mechanisms.md quotes the last."""


@pytest.mark.slow
def test_many_records_give_what_enumeration_gives() -> None:
    rng = np.random.default_rng(4)
    same = 0
    for _ in range(WORLDS):
        mechanism, raw = _random_case(rng)
        row = np.array([raw])
        listed = dc.Remapped(mechanism).report(row)[0]
        with lowered(REPORT_CANDIDATES=0):
            found = dc.Remapped(mechanism).report(row)[0]
        same += bool((listed == found).all())
        errors = [float(_error(mechanism, row[0], r)) for r in (listed[0], found[0])]
        assert errors[1] <= errors[0] * (1.0 + LARGEST_EXCESS), (mechanism, raw)
    assert same >= EXACT_AT_LEAST


def _error(mechanism: Mechanism, raw: Any, r: int) -> float:
    """E[H | z] of one report at k = 2, as a sum over every dataset there is."""
    n, (a, b) = mechanism.space.total, mechanism.prior.concentration
    x = np.arange(n + 1.0)
    log_weight = mechanism.prior.predictive(n).logpmf(np.stack([x, n - x], axis=-1))
    assert mechanism.noise is not None
    log_weight += mechanism.noise.log_likelihoods(raw, np.stack([x, n - x], axis=-1))
    weight = np.exp(log_weight - logsumexp(log_weight))
    divergence = gap(a + x, a + r, r - x) + gap(b + n - x, b + n - r, x - r)
    return float(np.sqrt(-np.expm1(-divergence)) @ weight)


@pytest.mark.parametrize(
    ("name", "a", "b", "epsilon", "raw"),
    [
        *(
            pytest.param(name, a, b, epsilon, (z, 100_000 - z)[: 2 - RAW[name]], marks=[pytest.mark.slow] * (name != "LatticeGeometric"))
            for name in ("LaplaceHistogram", "LatticeGeometric", "LaplaceZhang")
            for a, b, epsilon, z in ((10_000, 10_000, "0.1", 90_000), (5, 1000, "0.05", 89_768), (1, 1, "0.01", 43_495))
        ),
        ("LaplaceZhang", 2_000, 8_000, "0.05", (90_000, 60_000)),  # two counts that contradict each other, and a prior that does both
    ],
)
def test_the_mode_is_found_where_neither_the_draw_nor_the_prior_is(name: str, a: int, b: int, epsilon: str, raw: brute.Outcome) -> None:
    mechanism = dc.mechanism(name, dc.Beta(a, b), 100_000, epsilon)
    row = np.array(raw)
    best = int(dc.Remapped(mechanism).report(row[None])[0, 0])
    around = [_error(mechanism, row, r) for r in (best - 30, best - 1, best, best + 1, best + 30)]
    assert min(around) == around[2]


@pytest.mark.parametrize("epsilon", mostly_slow(["1e9", "1", "0.001", "1e-6"], 3))
def test_cost_and_answer_stay_sane_up_to_the_largest_n(epsilon: str) -> None:
    for n in (10**6, 2**53):
        mechanism = dc.Remapped(dc.mechanism("lattice", dc.Beta(1, 1), n, epsilon))
        for z in (-5, n // 3, n):
            first, second = mechanism.report(np.array([[z, n - z]]))[0].tolist()
            assert first + second == n
            assert first >= 0
            assert second >= 0
            assert abs(first - min(max(z, 0), n)) <= 1 + 60 / Fraction(epsilon)


# --- three or more categories, too many candidates --------------------------------------------------------------------


@pytest.mark.parametrize("name", mostly_slow(["LatticeGeometric", "LaplaceZhang", "LaplaceHistogram"], 1))
@pytest.mark.parametrize(
    ("prior", "n", "epsilon", "most"),
    [
        ((1, 1, 1), 40, "0.5", 0.10),
        (("0.5", 2, 5), 40, "0.2", 0.10),
        (("0.5", "0.5", "0.5"), 40, "0.5", 0.10),
        (("0.2", "0.2", "0.2"), 30, "0.3", 0.20),  # posteriors with several modes
    ],
)
def test_with_many_candidates_reports_are_on_average_near_the_best(name: str, prior: Any, n: int, epsilon: str, most: float) -> None:
    """Under the prior predictive; docs/explain/mechanisms.md has the largest of the measured means."""
    assert -1e-12 <= mean_excess(name, prior, n, epsilon, draws=30) < most


def mean_excess(name: str, prior: Any, n: int, epsilon: str, draws: int, seed: int = 2) -> float:
    """E[H] of the reports for many candidates over that of the exact argmin, less 1; data from the prior predictive."""
    dirichlet = dc.Dirichlet(prior)
    mechanism = dc.mechanism(name, dirichlet, n, epsilon)
    rng = np.random.default_rng(seed)
    raws = np.concatenate([mechanism._simulate_raw(x, 1, rng) for x in dirichlet.predictive(n).sample(draws, rng)])
    remapped, noise = dc.Remapped(mechanism), mechanism.noise
    assert noise is not None
    best = remapped.report(raws)
    with lowered(REPORT_CANDIDATES=0):
        found = remapped.report(raws)
    points = lattice(n, dirichlet.k)
    log_prior, divergence, every = dirichlet.predictive(n).logpmf(points), np.zeros((len(points), len(points))), np.arange(n + 1)
    for a, column in zip(dirichlet.concentration, points.T, strict=True):
        divergence += gap(a + every[:, None], a + every, every - every[:, None])[column[:, None], column]
    distance = np.sqrt(-np.expm1(-divergence))
    where = {tuple(p): i for i, p in enumerate(points.tolist())}
    totals = np.zeros(2)
    for raw, *reports in zip(raws, best, found, strict=True):
        log_posterior = log_prior + noise.log_likelihoods(raw, points)
        error = np.exp(log_posterior - logsumexp(log_posterior)) @ distance
        totals += [error[where[tuple(r.tolist())]] for r in reports]
    return float(totals[1] / totals[0] - 1.0)


@pytest.mark.parametrize(("k", "n"), [(3, 2**53), (3, 10**9), (10, 10**6), (30, 10**4)])
@pytest.mark.parametrize("name", NOISE)
def test_reports_always_add_up(name: str, k: int, n: int) -> None:
    mechanism = dc.Remapped(dc.mechanism(name, dc.Dirichlet([Fraction(1, 2)] * k), n, "0.1"))
    counts = [n // k] * k
    counts[0] += n - sum(counts)
    for row in mechanism.simulate(counts, 3, 1):
        assert row.sum() == n
        assert row.min() >= 0


@pytest.mark.parametrize("values", [[0.4, 0.4, 0.2], [1.0, 0.0, 0.0], [1e-9, 1.0, 1.0], [0.1] * 7])
@pytest.mark.parametrize("n", [1, 2, 7, 1000, 2**53])
def test_rounding_keeps_the_total(values: list[float], n: int) -> None:
    rounded = round_to_total(np.array(values) * n, n)
    assert rounded.sum() == n
    assert rounded.min() >= 0
    assert np.abs(rounded - np.array(values) * (n / sum(values))).max() <= max(1.0, 4e-16 * n * len(values))


# --- what it is -------------------------------------------------------------------------------------------------------


def test_it_is_post_processing() -> None:
    inner = dc.mechanism("EHDS", dc.Beta(1, 1), 9, 1)
    remapped = dc.Remapped(inner)
    assert remapped.guarantee == inner.guarantee
    assert remapped.log_prob([4, 5], [2, 7]) == inner.log_prob([4, 5], [2, 7])
    assert dc.Remapped(remapped) == remapped
    assert remapped.parameters == {"mechanism": "HellingerSmooth", "options": inner.parameters}
    assert remapped.noise is None
    assert dc.Remapped(dc.mechanism("lattice", dc.Beta(1, 1), 9, 1)).noise is not None


@pytest.mark.parametrize("name", [*NOISE, "HellingerGlobal"])
def test_it_never_costs_accuracy_under_the_prior_predictive(name: str) -> None:
    prior, n = dc.Beta(2, 1), 10
    plain = dc.mechanism(name, prior, n, "0.5")
    means = []
    for mechanism in (plain, dc.Remapped(plain)):
        mean = 0.0
        for x, p in brute.predictive(prior.exact, n).items():
            law = mechanism.law(x)
            mean += p * float(law.probability @ dc.hellinger(prior.concentration + np.array(x), prior.concentration + law.counts))
        means.append(mean)
    assert means[1] < means[0]


def test_too_many_candidates_for_an_exponential_mechanism_are_refused() -> None:
    with pytest.raises(dc.TooLargeError, match=r"Remapped\(HellingerGlobal\) .* 3,001 .* 2,048"):
        dc.Remapped(dc.mechanism("EHD", dc.Beta(1, 1), 3000, 1))


def test_it_wraps_mechanisms_only() -> None:
    wrong: Any = "EHD"
    with pytest.raises(dc.InvalidInputError, match="Remapped takes a mechanism"):
        dc.Remapped(wrong)


# --- parameters at the ends of what is allowed --------------------------------------------------------------------------


def _reports(parameters: list[str], outcomes: list[list[int]]) -> list[list[int]]:
    prior = dc.Dirichlet(parameters)
    mechanism = dc.Remapped(dc.LatticeGeometric(prior, 10_000, "0.01"))
    mechanism.prepare([10_000, *[0] * (prior.k - 1)])
    return [list(row) for row in mechanism.report(np.array(outcomes)).tolist()]


@pytest.mark.filterwarnings("error")
def test_huge_parameters_have_the_reports_of_the_multinomial_that_they_tend_to() -> None:
    """From 1e9 on the prior predictive is the multinomial law to far below a record; it once took terabytes, or said thirds of n."""
    outcomes = [[5000, 3000, 2000], [0, 0, 10_000]]
    limit = _reports(["1e9", "2e9", "1e9"], outcomes)
    assert [abs(count - 2500) < 250 for row in limit for count in (row[0], row[2])] == [True] * 4
    for size in ("e12", "e31", "e53", "e99"):
        assert _reports([f"1{size}", f"2{size}", f"1{size}"], outcomes) == limit


@pytest.mark.filterwarnings("error")
def test_tiny_parameters_have_the_reports_of_the_corner_that_they_tend_to() -> None:
    outcomes = [[5000, 3000, 2000], [9500, 300, 200]]
    for size in ("1e-17", "1e-50", "1e-100"):
        first, second = _reports([size] * 3, outcomes)
        assert second[0] >= 9_999  # near-optimal: one record of a corner
        assert sum(first) == sum(second) == 10_000
