"""The linear program: against closed forms, against the privacy constraints, and against every mechanism there is."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp, isclose

import numpy as np
import pytest

import discreet as dc
from discreet import limits
from discreet.analysis.dataset_errors import Distance
from discreet.analysis.error_laws import expected_error
from discreet.analysis.optimum import Optimum, neighbouring_pairs, optimal
from discreet.arrays import Counts, Floats
from discreet.model.datasets import Relation
from tests.support import lattice, neighbours

PRIORS = (dc.Beta(1, 1), dc.Beta("1/2", "1/2"), dc.Beta(2, 5))
CASES = [
    pytest.param(prior, n, epsilon, marks=[pytest.mark.slow] if n == 60 and (prior, epsilon) != (PRIORS[0], "1") else [])
    for prior in PRIORS
    for n in (5, 20, 60)
    for epsilon in ("0.1", "0.5", "1", "2")
]


def remapped(prior: dc.Dirichlet | dc.Beta, n: int, epsilon: str) -> dc.LatticeGeometric:
    return dc.Remapped(dc.LatticeGeometric(prior, n, Fraction(epsilon)))


def mean_errors(found: Optimum, prior: dc.Dirichlet | dc.Beta, distance: Distance = dc.hellinger) -> Floats:
    """The mean error of every dataset, from the table."""
    parameters = prior.concentration + found.datasets
    return np.asarray((found.table * distance(parameters[:, None, :], parameters[None, :, :])).sum(axis=1))


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("objective", ["mean", "worst"])
def test_one_record_is_randomised_response(epsilon: str, objective: str) -> None:
    """Two datasets, two candidates: the best is to lie with probability 1/(1 + e^ε)."""
    found = optimal(dc.Beta(1, 1), 1, epsilon, objective)  # type: ignore[arg-type]
    apart = float(dc.hellinger([2.0, 1.0], [1.0, 2.0]))
    assert isclose(found.value, min(apart / (1.0 + exp(float(epsilon))), apart / 2.0), rel_tol=1e-9)
    assert float(found) == found.value


@pytest.mark.parametrize(("prior", "n", "epsilon"), CASES)
def test_the_remapped_geometric_mechanism_is_optimal(prior: dc.Beta, n: int, epsilon: str) -> None:
    """Universal optimality, seen: no ε-DP mechanism has a smaller mean error under any of the priors."""
    best = optimal(prior, n, epsilon).value
    assert isclose(expected_error(remapped(prior, n, epsilon), over="predictive"), best, rel_tol=1e-6)


def test_the_geometric_mechanism_as_it_is_need_not_be() -> None:
    """Without the remap it is not optimal for every prior, so the agreement above is no accident of a loose solver."""
    prior = dc.Beta(2, 5)
    ratio = expected_error(dc.mechanism("LatticeGeometric", prior, 20, "0.1"), over="predictive") / optimal(prior, 20, "0.1").value
    assert 1.5 < ratio < 1.6


@pytest.mark.parametrize(
    ("n", "ratio"),
    [(6, 1.0558), (7, 1.0474), pytest.param(8, 1.0409, marks=pytest.mark.slow), pytest.param(10, 1.0314, marks=pytest.mark.slow)],
)
def test_three_categories(n: int, ratio: float) -> None:
    """LatticeGeometric is within a few percent of the optimum, closer when remapped."""
    prior = dc.Dirichlet.uniform(3)
    best = optimal(prior, n, 1).value
    plain = expected_error(dc.mechanism("LatticeGeometric", prior, n, 1), over="predictive") / best
    better = expected_error(remapped(prior, n, "1"), over="predictive") / best
    assert round(plain, 4) == ratio
    assert 1.0 - 1e-7 <= better < plain


@pytest.mark.parametrize(("prior", "n"), [(dc.Beta(1, 3), 9), (dc.Dirichlet.uniform(3), 4)])
@pytest.mark.parametrize("objective", ["mean", "worst"])
def test_the_solution_is_a_private_mechanism_with_that_error(prior: dc.Dirichlet | dc.Beta, n: int, objective: str) -> None:
    epsilon = 0.7
    found = optimal(prior, n, epsilon, objective)  # type: ignore[arg-type]
    laws = dict(zip((tuple(x) for x in found.datasets.tolist()), found.table, strict=True))
    assert all(isclose(law.sum(), 1.0, rel_tol=1e-12) for law in laws.values())
    for x, law in laws.items():
        for y in neighbours(x):
            assert (law <= exp(epsilon) * laws[tuple(y.tolist())] + 1e-8).all()
    errors = mean_errors(found, prior)
    weights = prior.predictive(n).pmf(found.datasets)
    assert isclose(errors @ weights if objective == "mean" else errors.max(), found.value, rel_tol=1e-7)


@pytest.mark.parametrize(("prior", "n"), [(dc.Beta(1, 1), 12), (dc.Dirichlet([1, 2, 3]), 4)])
def test_no_private_mechanism_beats_it(prior: dc.Dirichlet | dc.Beta, n: int) -> None:
    for epsilon in ("0.3", "2"):
        mean, worst = optimal(prior, n, epsilon).value, optimal(prior, n, epsilon, "worst").value
        assert mean <= worst
        for name in ("LaplaceZhang", "LaplaceDimension", "LaplaceHistogram", "HellingerGlobal", "HellingerSmooth", "LatticeGeometric"):
            mechanism = dc.mechanism(name, prior, n, epsilon)
            assert expected_error(mechanism, over="worst") >= worst * (1.0 - 1e-7)
            if name != "LaplaceZhang":  # which reports totals other than n, as no table of the program does
                assert expected_error(mechanism, over="predictive") >= mean * (1.0 - 1e-7)


def test_other_distances() -> None:
    found = optimal(dc.Beta(3, 3), 6, 1, distance=dc.kl)
    errors = mean_errors(found, dc.Beta(3, 3), dc.kl)
    assert isclose(errors @ dc.Beta(3, 3).predictive(6).pmf(found.datasets), found.value, rel_tol=1e-7)
    with pytest.raises(dc.InvalidInputError, match="finite"):
        optimal(dc.Beta(1, 1), 6, 1, distance=dc.chi2)


def test_what_is_too_large_or_unclear_is_refused() -> None:
    with pytest.raises(dc.TooLargeError, match="linear program"):
        optimal(dc.Beta(1, 1), limits.PROGRAM_CANDIDATES, 1)
    with pytest.raises(dc.InvalidInputError, match="objective"):
        optimal(dc.Beta(1, 1), 3, 1, "median")  # type: ignore[arg-type]
    with pytest.raises(dc.InvalidInputError, match="epsilon"):
        optimal(dc.Beta(1, 1), 3, 0)


def test_neighbouring_pairs() -> None:
    points = lattice(3, 3)
    pairs = {(tuple(points[i]), tuple(points[j])) for i, j in neighbouring_pairs(points, Relation.REPLACE_ONE)}
    assert pairs == {(tuple(x), tuple(y)) for x in points for y in neighbours(x)}


@pytest.mark.parametrize(("k", "n_max"), [(2, 6), (3, 3)])
@pytest.mark.parametrize("objective", ["mean", "worst"])
def test_a_private_n(k: int, n_max: int, objective: str) -> None:
    """The table keeps ε for every record that comes or goes, has the error it says, and none of our mechanisms is better."""
    prior, epsilon, log_sizes = dc.Dirichlet([1, 2, 0.5][:k]), 0.7, np.log(np.arange(1.0, n_max + 2.0))
    found = optimal(prior, None, epsilon, objective, n_max=n_max, size_prior=log_sizes)  # type: ignore[arg-type]
    laws = dict(zip((tuple(x) for x in found.datasets.tolist()), found.table, strict=True))
    assert set(laws) == {x for x in product(range(n_max + 1), repeat=k) if sum(x) <= n_max}
    for x, law in laws.items():
        for i in range(k):
            more = laws.get((*x[:i], x[i] + 1, *x[i + 1 :]))
            assert more is None or ((law <= exp(epsilon) * more + 1e-8).all() and (more <= exp(epsilon) * law + 1e-8).all())
    weights = np.array([exp(log_sizes[sum(x)]) * (dc.Dirichlet(prior.exact).predictive(sum(x)).pmf(x) if sum(x) else 1.0) for x in laws])
    errors, weights = mean_errors(found, prior), weights / weights.sum()
    assert isclose(errors @ weights if objective == "mean" else errors.max(), found.value, rel_tol=1e-7)
    law_of_noise = clamped_noise(found.datasets, epsilon, n_max)
    ours = mean_errors(replace(found, table=law_of_noise), prior)
    assert (ours @ weights if objective == "mean" else ours.max()) >= found.value * (1.0 - 1e-7)


def clamped_noise(datasets: Counts, epsilon: float, n_max: int) -> Floats:
    """Two-sided geometric noise on every count, clamped to [0, n_max], and then cut from left to right to at most n_max records."""
    table = np.zeros((len(datasets), len(datasets)))
    where = {tuple(x): i for i, x in enumerate(datasets.tolist())}
    for i, x in enumerate(datasets.tolist()):
        for z in product(range(n_max + 1), repeat=len(x)):
            chance, left, report = 1.0, n_max, []
            for count, noisy in zip(x, z, strict=True):
                inside = (1.0 if noisy in (0, n_max) else 1.0 - exp(-epsilon)) / (1.0 + exp(-epsilon))
                chance *= inside * exp(-epsilon * abs(noisy - count))
                report.append(min(noisy, left))
                left -= report[-1]
            table[i, where[tuple(report)]] += chance
    assert np.allclose(table.sum(axis=1), 1.0)
    return table


def test_a_private_n_needs_a_bound_and_a_public_one_has_it() -> None:
    with pytest.raises(dc.InvalidInputError, match="n_max="):
        optimal(dc.Beta(1, 1), None, 1)
    with pytest.raises(dc.InvalidInputError, match="private n"):
        optimal(dc.Beta(1, 1), 3, 1, n_max=4)
    with pytest.raises(dc.InvalidInputError, match="size_prior"):
        optimal(dc.Beta(1, 1), None, 1, n_max=4, size_prior="normal")
    with pytest.raises(dc.TooLargeError, match="linear program"):
        optimal(dc.Beta(1, 1), None, 1, n_max=1000)


@pytest.mark.slow
def test_a_hundred_records() -> None:
    best = optimal(dc.Beta(1, 1), 100, 1)
    assert isclose(best.value, expected_error(remapped(dc.Beta(1, 1), 100, "1"), over="predictive"), rel_tol=1e-6)
