"""The linear program: against closed forms, against the privacy constraints, and against every mechanism there is."""

from fractions import Fraction
from math import exp, isclose

import numpy as np
import pytest

import discreet as dc
from discreet import limits
from discreet.analysis.dataset_errors import dataset_laws
from discreet.analysis.error_laws import expected_error
from discreet.analysis.optimum import neighbouring_pairs, optimal
from discreet.model.datasets import Space
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
    laws = {tuple(law.counts.tolist()): law.probability for law in dataset_laws(found.mechanism, found.mechanism.total)}
    assert all(isclose(law.sum(), 1.0, rel_tol=1e-12) for law in laws.values())
    for x, law in laws.items():
        for y in neighbours(x):
            assert (law <= exp(epsilon) * laws[tuple(y.tolist())] + 1e-8).all()
    over = "predictive" if objective == "mean" else "worst"
    assert isclose(expected_error(found.mechanism, over=over), found.value, rel_tol=1e-7)  # type: ignore[arg-type]


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


def test_it_is_a_yardstick_and_refuses_to_release() -> None:
    mechanism = optimal(dc.Beta(1, 1), 4, 1).mechanism
    assert mechanism.guarantee.basis == "none"
    for allowed in (False, True):
        with pytest.raises(dc.RefusedError):
            mechanism.release([1, 3], allow_nonprivate=allowed)
    law = mechanism.law([1, 3])
    assert isclose(law.probability.sum(), 1.0, rel_tol=1e-12)
    assert isclose(exp(mechanism.log_prob([1, 3], [1, 3])), law.probability[1], rel_tol=1e-12)
    draws = mechanism.simulate([1, 3], 1000, 0)
    assert (draws.sum(axis=1) == 4).all()


def test_other_distances() -> None:
    found = optimal(dc.Beta(3, 3), 6, 1, distance=dc.kl)
    assert isclose(expected_error(found.mechanism, over="predictive", distance=dc.kl), found.value, rel_tol=1e-7)
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
    pairs = {(tuple(points[i]), tuple(points[j])) for i, j in neighbouring_pairs(Space(3, 3))}
    assert pairs == {(tuple(x), tuple(y)) for x in points for y in neighbours(x)}


@pytest.mark.slow
def test_a_hundred_records() -> None:
    best = optimal(dc.Beta(1, 1), 100, 1)
    assert isclose(best.value, expected_error(remapped(dc.Beta(1, 1), 100, "1"), over="predictive"), rel_tol=1e-6)
    assert np.count_nonzero(best.mechanism.table) > 0
