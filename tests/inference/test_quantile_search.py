"""Quantiles of many distributions at once: how near first guesses are, how few looks follow, and what does not converge.

Oracle: SciPy's Beta distributions. Looks are counted, because a step that is too short or too long costs looks and no digits.
"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import betainc, expit, logit, ndtr
from scipy.stats import beta

from discreet.arrays import Floats
from discreet.inference.groups import plane_quantiles
from discreet.inference.groups.line_quantiles import incomplete_beta
from discreet.inference.groups.plane_quantiles import BetaPlanes
from discreet.inference.groups.quantile_search import Evaluate, equal_tailed, matched_logits, quantiles
from discreet.numerics.incomplete_beta import beta_cdf

PRECISION = 1e-8


def _pairs(*values: float) -> tuple[Floats, Floats]:
    a, b = np.meshgrid(np.array(values), np.array(values))
    return a.ravel(), b.ravel()


def _guesses(a: Floats, b: Floats, tail: float) -> tuple[Floats, Floats]:
    total = a + b
    return matched_logits(a / total, a * b / total**2 / (total + 1.0), tail)


def _below(a: Floats, b: Floats, seen: list[int]) -> Evaluate:
    def evaluate(chosen: NDArray[np.int64] | slice, at: Floats) -> tuple[Floats, Floats]:
        mine, others, t = a[chosen], b[chosen], expit(at)
        seen.append(len(mine))
        return np.asarray(beta.cdf(t, mine, others)), beta.pdf(t, mine, others) * t * expit(-at)

    return evaluate


def test_first_guesses_are_near() -> None:
    """Also where parameters are below 1, and where they are so small that polygamma functions need their recurrence."""
    a, b = _pairs(0.05, 0.2, 0.7, 1.3, 2.5, 8.0, 60.0, 1e3, 1e5)
    low, _ = _guesses(a, b, 0.05)
    assert np.abs(np.log(beta.cdf(expit(low), a, b) / 0.05)).max() < 0.8
    np.testing.assert_allclose(_guesses(b, a, 0.05)[1], -low, rtol=1e-8)
    for values, off in (((2.5, 8.0, 60.0, 1e3, 1e5), 0.06), ((0.2, 0.5, 0.7, 0.9), 0.1)):
        a, b = _pairs(*values)
        low, _ = _guesses(a, b, 0.05)
        assert np.abs(np.log(beta.cdf(expit(low), a, b) / 0.05)).max() < off


@pytest.mark.parametrize(("start", "most"), [("guess", 3.7), ("far", 6.5)])
def test_few_looks_are_enough(start: str, most: float) -> None:
    """From a guess nearby by steps that are straight in the normal quantile, and from far away by those that are in the logarithm."""
    rng, tail = np.random.default_rng(1), 0.25 if start == "guess" else 0.05
    a, b = (10.0 ** rng.uniform(0.0, 4.0, (2, 1000))) if start == "guess" else _pairs(0.05, 0.2, 0.7, 1.0, 2.5, 8.0, 60.0, 1e3, 1e5)
    first = _guesses(a, b, tail)[0] + rng.normal(0.0, 0.02, len(a)) if start == "guess" else np.zeros(len(a))
    seen: list[int] = []
    with np.errstate(all="ignore"):
        found, error = quantiles(_below(a, b, seen), first, tail, False, PRECISION)
    assert sum(seen) < most * len(a)
    assert error.max() <= PRECISION * tail
    np.testing.assert_allclose(beta.cdf(expit(found), a, b), tail, rtol=2.0 * PRECISION)


def test_a_row_of_which_nothing_is_here_is_left_open() -> None:
    """Its weights are all 0: the interval is everything, and its error says so. The other row is found."""
    a, b, tail = np.array([3.0, 3.0]), np.array([5.0, 5.0]), 0.05

    def side(*, upper: bool) -> Evaluate:
        def evaluate(chosen: NDArray[np.int64] | slice, at: Floats) -> tuple[Floats, Floats]:
            t, here = expit(at), np.array([1.0, np.nan])[chosen]
            mass = beta.sf(t, 3.0, 5.0) if upper else beta.cdf(t, 3.0, 5.0)
            return here * mass, here * beta.pdf(t, 3.0, 5.0) * t * expit(-at)

        return evaluate

    low, high, error = equal_tailed((side(upper=False), side(upper=True)), _guesses(a, b, tail), tail, PRECISION, lambda _: None)
    np.testing.assert_allclose([low[0], high[0]], beta.ppf([tail, 1.0 - tail], 3.0, 5.0), rtol=1e-7)
    assert error[0] <= PRECISION * tail
    assert (low[1], high[1], error[1]) == (0.0, 1.0, 1.0)


def test_large_equal_parameters_do_not_go_to_scipy() -> None:
    """Beta(α, α) is nearly normal at 10^15, where SciPy's incomplete beta function is off by up to hundredths below the mean."""
    z = np.array([-0.01, -0.5, -3.0])
    a = np.array([1e15, 1e15, 1e15, 3.0])
    found = incomplete_beta(betainc, beta_cdf, a, a.copy(), np.append(0.5 + 0.5 * z / np.sqrt(2e15), 0.4))
    np.testing.assert_allclose(found[:3], ndtr(z), atol=1e-8)
    assert found[3] == betainc(3.0, 3.0, 0.4)


@pytest.mark.parametrize("tail", [0.05, 0.005])
def test_nodes_for_too_short_a_range_are_found_out(tail: float) -> None:
    """Both guesses are in the middle, so that nodes hold the powers there alone: far from it all rests are gone through."""
    x, r, zero = np.arange(30.0), np.arange(60.0), np.zeros(1, dtype=np.int64)
    of_count, of_rest = np.exp(-0.3 * np.abs(x - 12.0))[None], np.exp(-0.1 * np.abs(r - 30.0))[None]
    planes = BetaPlanes(of_count, of_rest, np.ones((1, 89)), zero, zero + 5, np.ones(1), np.full(1, 2.0))
    middle = np.full(1, -1.0)
    low, high, error, _ = planes.interval((middle, middle), tail, 1e-7)
    mixture = planes.mixture(0)
    for found in (float(mixture.cdf(low[0])), float(mixture.sf(high[0]))):
        assert abs(found - tail) <= error[0] + 1e-14
    assert error[0] <= 1e-7 * tail


def test_nodes_stand_for_the_rests_where_guesses_are_good(monkeypatch: pytest.MonkeyPatch) -> None:
    """One matrix, with fewer columns than half of the rests, is enough for both quantiles."""
    x, r, one = np.arange(30.0), np.arange(60.0), np.ones(1)
    of_count, of_rest = np.exp(-0.3 * np.abs(x - 12.0))[None], np.exp(-0.1 * np.abs(r - 30.0))[None]
    planes = BetaPlanes(of_count, of_rest, np.ones((1, 89)), np.array([285]), np.array([570]), one, one)
    mixture, columns = planes.mixture(0), list[int | None]()
    start = plane_quantiles._Sums.__init__

    def begun(self: Any, part: BetaPlanes, nodes: int | None, log_middle: Floats) -> None:
        columns.append(nodes)
        start(self, part, nodes, log_middle)

    monkeypatch.setattr(plane_quantiles._Sums, "__init__", begun)
    low, high = (np.asarray(logit(mixture.ppf(level)))[None] + 0.01 for level in (0.05, 0.95))
    found = planes.interval((low, high), 0.05, 1e-7)
    np.testing.assert_allclose([found[0][0], found[1][0]], [mixture.ppf(0.05), mixture.ppf(0.95)], rtol=1e-7)
    assert len(columns) == 1
    assert columns[0] is not None
    assert columns[0] < 30
