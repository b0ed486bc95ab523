"""Other scores in the exponential mechanism: their sensitivities and laws equal brute force, they are private, and they never release."""

from collections.abc import Callable
from math import exp
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

import discreet as dc
from discreet.mechanisms import MetricExponential
from tests.mechanisms import brute

PRIOR = dc.Beta("0.4", 2)
THREE = dc.Dirichlet([1, 0.5, 2])


def doubled_hellinger(p: Any, q: Any) -> Any:
    """A metric with diameter 2."""
    return 2.0 * dc.hellinger(p, q)


def squared_hellinger(p: Any, q: Any) -> Any:
    """Bounded, and not a metric."""
    return dc.hellinger(p, q) ** 2


def _laws(mechanism: dc.mechanisms.Mechanism) -> dict[brute.Outcome, brute.Probabilities]:
    laws = {}
    for x in brute.lattice(mechanism.space.total, mechanism.k):
        law = mechanism.law(x)
        laws[x] = brute.as_dict(law.counts, law.probability)
    return laws


def _brute_laws(
    score: Callable[[brute.Outcome, brute.Outcome], float], n: int, k: int, epsilon: float, b: float, gamma: float | None
) -> Any:
    """With the sensitivity maximised over candidates as well, as a score that is no metric needs."""
    world = brute.lattice(n, k)
    local = {x: max(abs(score(x, r) - score(y, r)) for y in brute.neighbours(x) for r in world) for x in world}
    laws = {}
    for x in world:
        if gamma is None:
            scale = 2.0 * max(local.values())
        else:
            scale = 2.0 * (1.0 + gamma * b) * max(1.0 / (1.0 / local[y] + gamma * brute.moved(x, y)) for y in world)
        weight = {r: exp(-epsilon * score(x, r) / scale) for r in world}
        laws[x] = {r: w / sum(weight.values()) for r, w in weight.items()}
    return laws


@pytest.mark.parametrize("calibration", ["global", "smooth"])
@pytest.mark.parametrize(("metric", "diameter", "factor", "power"), [(doubled_hellinger, 2, 2.0, 1), (squared_hellinger, 1, 1.0, 2)])
@pytest.mark.parametrize(("prior", "n"), [(PRIOR, 8), (THREE, 4)], ids=["k=2", "k=3"])
def test_laws_equal_brute_force(calibration: Any, metric: Any, diameter: int, factor: float, power: int, prior: Any, n: int) -> None:
    mechanism = MetricExponential(prior, n, 1.5, metric, diameter, calibration, 0.5)
    wanted = _brute_laws(
        lambda x, r: factor * brute.hellinger(prior.exact, x, r) ** power,
        n,
        prior.k,
        1.5,
        float(diameter),
        0.5 if calibration == "smooth" else None,
    )
    for x, law in _laws(mechanism).items():
        assert brute.largest_difference(law, wanted[x]) <= 1e-12


@pytest.mark.parametrize("calibration", ["global", "smooth"])
@pytest.mark.parametrize(
    ("metric", "diameter", "prior", "n"),
    [
        (dc.total_variation, 1, PRIOR, 9),
        (doubled_hellinger, 2, dc.Beta("0.001", "0.001"), 9),
        (squared_hellinger, 1, THREE, 4),
        (dc.hellinger, 1, THREE, 4),
    ],
)
def test_the_computed_loss_is_within_epsilon(calibration: Any, metric: Any, diameter: int, prior: Any, n: int) -> None:
    mechanism = MetricExponential(prior, n, 2, metric, diameter, calibration)
    assert 0.0 < brute.worst_loss(_laws(mechanism)) <= 2.0


def test_a_diameter_understated_breaks_the_promise_so_it_is_checked() -> None:
    with pytest.raises(dc.InvalidInputError, match="diameter"):
        MetricExponential(PRIOR, 9, 1, doubled_hellinger, 1).law([4, 5])


def test_the_hellinger_score_gives_the_hellinger_mechanisms() -> None:
    calibrations: list[tuple[str, Any]] = [("EHD", "global"), ("EHDS", "smooth")]
    for name, calibration in calibrations:
        own = dc.mechanism(name, THREE, 5, 1).law([1, 4, 0])
        other = dc.MetricExponential(THREE, 5, 1, dc.hellinger, calibration=calibration).law([1, 4, 0])
        assert (own.counts == other.counts).all()
        assert np.abs(own.probability - other.probability).max() <= 1e-12


def test_total_variation_is_half_the_integral_of_the_difference() -> None:
    """That the metric handed over is the one meant: k = 2, numerically."""
    theta = (np.arange(200_000) + 0.5) / 200_000
    posteriors = PRIOR.concentration + np.array([[x, 4 - x] for x in range(5)])
    densities = [beta.pdf(theta, *parameters) for parameters in posteriors]
    sensitivity = np.max(dc.total_variation(posteriors[:-1], posteriors[1:]))
    for x in (1, 2):  # whose densities, and those of 2 and 3, have no poles
        law = MetricExponential(PRIOR, 4, 1, dc.total_variation).law([x, 4 - x])
        score = law.log_probability[x] - law.log_probability  # ε m / (2Δ); candidates are in the order of their first count
        for r in (2, 3):
            assert 2.0 * sensitivity * score[r] == pytest.approx(np.abs(densities[x] - densities[r]).mean() / 2, abs=2e-5)


def test_it_never_releases() -> None:
    mechanism = MetricExponential(PRIOR, 9, 1, dc.total_variation)
    assert mechanism.guarantee.basis == "none"
    for allow in (False, True):
        with pytest.raises(dc.RefusedError):
            mechanism.release([4, 5], allow_nonprivate=allow)


def test_bad_scores_are_refused() -> None:
    wrong: Any = "hellinger"
    with pytest.raises(dc.InvalidInputError, match="metric must be a function"):
        MetricExponential(PRIOR, 9, 1, wrong)
    with pytest.raises(dc.InvalidInputError, match="calibration"):
        MetricExponential(PRIOR, 9, 1, dc.hellinger, 1, "local")  # type: ignore[arg-type]
    with pytest.raises(dc.InvalidInputError, match="distances"):
        MetricExponential(PRIOR, 9, 1, lambda p, q: dc.hellinger(p, q) * np.nan).law([4, 5])
    with pytest.raises(dc.InvalidInputError, match="tell some neighbouring"):
        MetricExponential(PRIOR, 9, 1, lambda p, q: 0.0 * dc.hellinger(p, q)).law([4, 5])
    with pytest.raises(dc.TooLargeError, match="pairwise distances would list 10,001"):
        MetricExponential(PRIOR, 10_000, 1, dc.hellinger)


def test_log_prob_and_simulate_follow_the_law() -> None:
    mechanism = MetricExponential(PRIOR, 6, 2, dc.total_variation)
    law = mechanism.law([2, 4])
    for row, log_probability in zip(law.counts, law.log_probability, strict=True):
        assert mechanism.log_prob([2, 4], row) == pytest.approx(log_probability, abs=1e-12)
    draws = mechanism.simulate([2, 4], 200_000, 1)[:, 0]
    assert np.bincount(draws, minlength=7) / 200_000 == pytest.approx(law.probability, abs=0.006)  # five deviations
