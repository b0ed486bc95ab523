"""Quantiles of many distributions at once: how near first guesses are, how few looks follow, and what does not converge.

Oracle: SciPy's Beta distributions. Looks are counted, because a step that is too short or too long costs looks and no digits.
"""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import betainc, expit, ndtr
from scipy.stats import beta

from discreet.arrays import Floats
from discreet.betas.search import Evaluate, equal_tailed, logit_quantiles, matched_logits, quantiles
from discreet.numerics.gamma import beta_cdf

PRECISION = 1e-8


def _pairs(*values: float) -> tuple[Floats, Floats]:
    a, b = np.meshgrid(np.array(values), np.array(values))
    return a.ravel(), b.ravel()


def _guesses(a: Floats, b: Floats, tail: float) -> Floats:
    total = a + b
    return matched_logits(a / total, a * b / total**2 / (total + 1.0), tail)


def _beyond(a: Floats, b: Floats) -> Evaluate:
    def evaluate(chosen: NDArray[np.int64] | slice, at: Floats) -> tuple[Floats, Floats]:
        mine, others, t = a[chosen], b[chosen], expit(at)
        return np.stack([beta.cdf(t[0], mine, others), beta.sf(t[1], mine, others)]), beta.pdf(t, mine, others) * t * expit(-at)

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
    first = _guesses(a, b, tail) + rng.normal(0.0, 0.02, (2, len(a))) if start == "guess" else np.zeros((2, len(a)))
    seen: list[int] = []

    def below(open_: NDArray[np.int64], at: Floats) -> tuple[Floats, Floats]:
        seen.append(len(open_))
        t = expit(at)
        return np.asarray(beta.cdf(t, a[open_], b[open_])), beta.pdf(t, a[open_], b[open_]) * t * expit(-at)

    found, error = logit_quantiles(below, first[0], np.full(len(a), tail), np.zeros(len(a), dtype=np.bool_), PRECISION)
    assert sum(seen) < most * len(a)
    assert error.max() <= PRECISION * tail
    np.testing.assert_allclose(beta.cdf(expit(found), a, b), tail, rtol=2.0 * PRECISION)


def test_both_ends_of_many_are_found_together() -> None:
    """Those that are done are looked at again, or not, without moving."""
    a, b = _pairs(1.3, 2.5, 8.0, 60.0, 1e3)
    found, error = quantiles(_beyond(a, b), _guesses(a, b, 0.05), 0.05, PRECISION)
    assert error.max() <= PRECISION * 0.05
    np.testing.assert_allclose(beta.cdf(expit(found[0]), a, b), 0.05, rtol=2.0 * PRECISION)
    np.testing.assert_allclose(beta.sf(expit(found[1]), a, b), 0.05, rtol=2.0 * PRECISION)


def test_a_row_of_which_nothing_is_here_is_left_open() -> None:
    """Its weights are all 0: the interval is everything, and its error says so. The other row is found."""
    a, b, tail = np.array([3.0, 3.0]), np.array([5.0, 5.0]), 0.05

    def evaluate(chosen: NDArray[np.int64] | slice, at: Floats) -> tuple[Floats, Floats]:
        here = np.array([1.0, np.nan])[chosen]
        mass, density = _beyond(a, b)(chosen, at)
        return here * mass, here * density

    low, high, error = equal_tailed(evaluate, _guesses(a, b, tail), tail, PRECISION, lambda _: None)
    np.testing.assert_allclose([low[0], high[0]], beta.ppf([tail, 1.0 - tail], 3.0, 5.0), rtol=1e-7)
    assert error[0] <= PRECISION * tail
    assert (low[1], high[1], error[1]) == (0.0, 1.0, 1.0)


def test_large_equal_parameters_do_not_go_to_scipy() -> None:
    """Beta(α, α) is nearly normal at 10^15, where SciPy's incomplete beta function is off by up to hundredths below the mean."""
    z = np.array([-0.01, -0.5, -3.0])
    a = np.array([1e15, 1e15, 1e15, 3.0])
    found = beta_cdf(a, a.copy(), np.append(0.5 + 0.5 * z / np.sqrt(2e15), 0.4))
    np.testing.assert_allclose(found[:3], ndtr(z), atol=1e-8)
    assert found[3] == betainc(3.0, 3.0, 0.4)
