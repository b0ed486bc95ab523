"""Type-I error and power of Bayes factors. Oracle: all noisy tables far beyond what is likely, by the textbook formulas."""

from typing import Any

import numpy as np
import pytest
from scipy.special import betaln, gammaln, logsumexp
from scipy.stats import binom

import discreet as dc
from discreet.errors import InvalidInputError
from tests.support import lowered

ALIKE, APART = [["0.3", "0.7"]] * 2, [["0.1", "0.9"], ["0.8", "0.2"]]


def made(sizes: list[int] | int | None, epsilon: float = 1, k: int = 2) -> Any:
    return dc.LatticeGeometric(dc.Dirichlet.uniform(k), sizes, epsilon, by={"group": [f"g{i}" for i in range(2)]})


def listed(sizes: list[int], epsilon: float, shares: list[list[str]], above: float) -> float:
    """Summed over all noisy counts of two groups from -40 to 40 more than there are records."""
    z, x = [np.arange(-40, n + 41) for n in sizes], [np.arange(n + 1) for n in sizes]
    noise = [np.exp(-epsilon * np.abs(z[i][:, None] - x[i])) * np.tanh(0.5 * epsilon) for i in range(2)]
    separate = np.log(noise[0].mean(axis=1))[:, None] + np.log(noise[1].mean(axis=1))
    ways = [gammaln(n + 1) - gammaln(c + 1) - gammaln(n - c + 1) for n, c in zip(sizes, x, strict=True)]
    first, whole = x[0][:, None] + x[1], sum(sizes)
    weight = ways[0][:, None] + ways[1] + betaln(1 + first, 1 + whole - first)
    common = np.log(noise[0] @ np.exp(weight) @ noise[1].T)
    p = [each @ binom.pmf(c, n, float(row[0])) for each, c, n, row in zip(noise, x, sizes, shares, strict=True)]
    assert abs(logsumexp(common)) < 1e-10  # the oracle's own probabilities add up to 1
    return float((np.outer(*p) * (separate - common > np.log(above))).sum())


@pytest.mark.parametrize(("shares", "above"), [(ALIKE, 1), (ALIKE, 3), (APART, 3)])
def test_the_probability_is_the_sum_over_all_outcomes(shares: list[list[str]], above: float) -> None:
    found = dc.bayes_factor_power(made([5, 7]), shares, above=above)
    assert found.method == "exact sum"
    assert abs(found - listed([5, 7], 1.0, shares, above)) < 1e-10
    assert abs(found - listed([5, 7], 1.3, shares, above)) > 1e-4  # another noise is seen


def test_a_simulation_is_within_its_error() -> None:
    with lowered(FACTOR_OUTCOMES=10):
        found = dc.bayes_factor_power(made([5, 7]), APART)
    assert found.method == "simulation"
    assert abs(found - listed([5, 7], 1.0, APART, 1)) < 5.0 * found.standard_error < 0.15


@pytest.mark.slow
def test_three_categories_have_less_error_the_more_alike_they_are() -> None:
    alike, apart = ([["0.2", "0.3", "0.5"], row] for row in (["0.2", "0.3", "0.5"], ["0.7", "0.2", "0.1"]))
    error, power = (dc.bayes_factor_power(made([40, 40], k=3), shares) for shares in (alike, apart))
    assert power > error + 5.0 * np.hypot(power.standard_error, error.standard_error)


@pytest.mark.parametrize(
    ("sizes", "shares", "says"),
    [
        (12, ALIKE, "the size of every group"),
        (None, ALIKE, "the size of every group"),
        ([5, 7], ALIKE[:1], "2 shares .* each of 2 groups"),
        ([5, 7], [["0.3", "0.6"]] * 2, "that add up to 1"),
    ],
)
def test_what_has_no_answer_is_refused(sizes: Any, shares: Any, says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        dc.bayes_factor_power(made(sizes), shares)
