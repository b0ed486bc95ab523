"""Rules of nodes. Oracles: integrals and sums of powers in exact fractions, and polynomials themselves."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.numerics.sum_rules import integral_rule, sum_rule, whole_chebyshev_rule


@pytest.mark.parametrize("nodes", [2, 5, 20])
def test_an_integral_of_powers_is_exact_up_to_twice_the_nodes(nodes: int) -> None:
    places, weights = integral_rule(nodes)
    for power in range(2 * nodes):
        exact = 0.0 if power % 2 else 2.0 / (power + 1.0)
        assert float(weights @ places**power) == pytest.approx(exact, abs=1e-14)
    power = 2 * nodes
    assert abs(float(weights @ places**power) - 2.0 / (power + 1.0)) > 1e-13  # the negative control: one power more is not


@pytest.mark.parametrize(("length", "nodes"), [(9, 3), (40, 6), (4096, 16)])
def test_a_sum_of_powers_is_exact_up_to_twice_the_nodes(length: int, nodes: int) -> None:
    places, weights = sum_rule(length, nodes)
    for power in range(2 * nodes):
        exact = sum(Fraction(x, length) ** power for x in range(length))
        assert float(weights @ (places / length) ** power) == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize(("size", "nodes"), [(9, 3), (40, 8), (41, 9), (193, 33), (500, 32)])
def test_polynomials_are_met_at_every_place_up_to_the_degree_of_the_nodes(size: int, nodes: int) -> None:
    places, basis = whole_chebyshev_rule(size, nodes)
    half = 0.5 * (size - 1.0)
    assert len(places) == nodes
    for degree in range(nodes + 1):
        polynomial = np.polynomial.chebyshev.Chebyshev.basis(degree)
        wrong = np.abs(basis @ polynomial(places / half - 1.0) - polynomial(np.arange(size) / half - 1.0)).max()
        assert wrong < 1e-12 if degree < nodes else wrong > 0.5  # the negative control: no polynomial of one degree more
