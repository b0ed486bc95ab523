"""Whether `dc.observed` reads what other libraries publish by the law that they draw from. Oracle: the libraries themselves.

Each draws the noise of many counts that are 0. A chi-squared test with every tail as one cell compares them with our likelihood; it fails
for a right one with a probability of 1e-9, and must refute a scale that is a tenth off, which it misses with less.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from math import exp
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc

DRAWS = 40_000
CATEGORIES = 10
FALSE_ALARM = 1e-9
LEAST_EXPECTED = 200
"""Draws that are expected in every cell: then the statistic has its limiting law."""


def refuted(drawn: Sequence[int], expected: dict[int, float]) -> bool:
    """Whether a chi-squared test refutes these probabilities of all that was drawn."""
    assert sum(expected.values()) == pytest.approx(1.0, abs=1e-12)
    seen = Counter(drawn)
    found = stats.chisquare([seen[z] for z in expected], [len(drawn) * p for p in expected.values()])
    return bool(found.pvalue < FALSE_ALARM)


def reads_otherwise(drawn: Sequence[int], noise: Any) -> bool:
    """Whether the likelihood by which published counts with this noise are read is not the law of what was drawn."""
    cell = dc.observed([0, 0], noise=noise, prior=dc.Beta(1, 1)).mechanism.noise
    assert cell is not None
    law = np.exp(cell.log_factor(np.arange(500.0)) + cell.log_constant(1))
    tails = 1.0 - law[0] - 2.0 * (np.cumsum(law) - law[0])  # of |z| above each number
    reach = int(np.count_nonzero(len(drawn) * (tails + 2.0 * law) / 2.0 >= LEAST_EXPECTED)) - 1
    inner = {z: float(law[abs(z)]) for z in range(-reach + 1, reach)}
    clipped = np.clip(drawn, -reach, reach).tolist()
    return refuted(clipped, inner | dict.fromkeys((-reach, reach), 0.5 * (1.0 - sum(inner.values()))))


def opendp() -> Any:
    prelude = pytest.importorskip("opendp.prelude")
    prelude.enable_features("contrib")
    return prelude


def opendp_laplace(scale: float) -> list[int]:
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    return list(dp.m.make_laplace(*space, scale=scale)([0] * DRAWS))


def opendp_gaussian(scale: float) -> list[int]:
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    return list(dp.m.make_gaussian(*space, scale=scale)([0] * DRAWS))


def diffprivlib_geometric(scale: float) -> list[int]:
    mechanisms = pytest.importorskip("diffprivlib.mechanisms", reason="diffprivlib needs scikit-learn below 1.9", exc_type=ImportError)
    mechanism = mechanisms.Geometric(epsilon=1.0 / scale, sensitivity=1)
    return [mechanism.randomise(0) for _ in range(DRAWS)]


def geometric(scale: float) -> Any:
    return dc.noise.Geometric(epsilon=1.0 / scale)


def gaussian(scale: float) -> Any:
    return dc.noise.DiscreteGaussian(sigma=scale)


@pytest.mark.parametrize("scale", [0.8, 4.0])
@pytest.mark.parametrize(("draw", "read"), [(opendp_laplace, geometric), (opendp_gaussian, gaussian), (diffprivlib_geometric, geometric)])
def test_counts_of_other_libraries_are_read_by_the_law_of_their_noise(
    draw: Callable[[float], list[int]], read: Callable[[float], Any], scale: float
) -> None:
    drawn = draw(scale)
    assert not reads_otherwise(drawn, read(scale))
    assert reads_otherwise(drawn, read(1.1 * scale))


def test_discrete_noise_is_not_that_of_rounded_laplace() -> None:
    assert reads_otherwise(diffprivlib_geometric(0.8), dc.noise.Laplace(scale=0.8))


def answer(epsilon: float) -> dict[int, float]:
    """The probabilities of one person's answer who is next to certainly of category 0: the evidence of a single answer."""
    noise, prior = dc.noise.RandomizedResponse(epsilon=epsilon), dc.Dirichlet([10**9] + [1] * (CATEGORIES - 1))
    alone = np.eye(CATEGORIES, dtype=np.int64).tolist()
    return {said: exp(dc.observed(y, noise=noise, prior=prior).noise_aware().log_evidence) for said, y in enumerate(alone)}


def test_answers_that_opendp_randomized_are_read_by_their_law() -> None:
    epsilon = 4.0
    prob = exp(epsilon) / (exp(epsilon) + CATEGORIES - 1)
    machine = opendp().m.make_randomized_response(list(range(CATEGORIES)), prob=prob)
    assert machine.map(1) == pytest.approx(epsilon)
    drawn = [machine(0) for _ in range(DRAWS // 2)]
    assert not refuted(drawn, answer(epsilon))
    assert refuted(drawn, answer(1.1 * epsilon))
