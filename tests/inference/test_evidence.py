"""The evidence of a release. Oracle: the probability of the outcome by `log_prob` of the mechanism, summed over all counts."""

from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

import discreet as dc
from discreet.counts.listed import ListedCounts
from discreet.counts.tree import TreeCounts
from discreet.mechanisms import Mechanism
from discreet.mechanisms.lattice import GeometricNoise
from tests.inference.coverage import make, release_of
from tests.inference.laws import convolved
from tests.support import lattice, lowered

A = (0.5, 2.0, 1.0)


def _by_definition(mechanism: Mechanism, raw: tuple[int, ...]) -> float:
    points = lattice(mechanism.space.total, mechanism.k)
    return float(logsumexp(mechanism.prior.predictive(mechanism.space.total).logpmf(points) + [mechanism.log_prob(x, raw) for x in points]))


@pytest.mark.parametrize("cls", [dc.LatticeGeometric, dc.LaplaceZhang, dc.LaplaceHistogram, dc.LaplaceDimension, dc.HellingerSmooth])
def test_a_public_n(cls: type[Mechanism]) -> None:
    """Listed and convolved, and with noisy counts far outside of 0 to n, which are clamped."""
    mechanism, counts = make(cls, dc.Dirichlet(A), 9, 0.7), np.array([2, 4, 3])
    drawn = [tuple(row.tolist()) for row in mechanism._simulate_raw(counts, 2, np.random.default_rng(4))]
    far = (
        [tuple(z + step for z, step in zip(drawn[0], (40, -40, 0), strict=False))]
        if mechanism.noise is not None and len(drawn[0]) != 2
        else []
    )
    for raw in (*drawn, *far):
        exact, posterior = _by_definition(mechanism, raw), release_of(mechanism, raw).noise_aware()
        assert isinstance(posterior.counts, ListedCounts)
        assert abs(posterior.log_evidence - exact) < 1e-10
        if mechanism.noise is not None:
            assert abs(convolved(mechanism, raw).log_evidence - exact) < 1e-10


def test_a_private_n_and_several_releases_of_the_same_records() -> None:
    outcomes, epsilon = ((3, 1, 0), (4, -2, 1)), 1.5
    mechanism = dc.LatticeGeometric(dc.Dirichlet(A), epsilon=epsilon)
    releases = [release_of(mechanism, raw) for raw in outcomes]
    axes = np.meshgrid(*[np.arange(41)] * 3, indexing="ij")
    points = np.stack([axis.ravel() for axis in axes], axis=-1)
    a, n, noise = np.array(A), points.sum(axis=1), GeometricNoise(3, epsilon)
    log_prior = (
        gammaln(n + 1.0) - gammaln(n + a.sum()) + gammaln(a.sum()) + (gammaln(a + points) - gammaln(a) - gammaln(points + 1.0)).sum(axis=1)
    )
    logs = [noise.log_factor(np.array(raw) - points).sum(axis=1) for raw in outcomes]
    for found, likelihood in ((releases[0].noise_aware(), logs[0]), (dc.combine(releases, same_data=True), logs[0] + logs[1])):
        assert isinstance(found.counts, TreeCounts)
        assert abs(found.log_evidence - float(logsumexp(log_prior + likelihood))) < 1e-10


@pytest.mark.parametrize("public", [True, False])
def test_two_tables_of_the_same_records(public: bool) -> None:
    """Oracle: for every group, the probabilities of both rows by `log_prob`, summed over all counts."""
    counts, epsilons = np.array([[3, 1, 0], [2, 2, 1]]), (1.5, 0.8)
    n: Any = counts.sum(axis=1) if public else None
    made = [dc.LatticeGeometric(dc.Dirichlet(A), n, epsilon, by={"group": ["a", "b"]}) for epsilon in epsilons]
    rows = np.array([[[4, 0, 0], [2, 3, 0]], [[2, 1, 1], [1, 2, 2]]])
    releases = [dc.Release(one, one.guarantee, raw, one.report(raw)) for one, raw in zip(made, rows, strict=True)]
    found = dc.combine(releases, same_data=True).log_evidence
    exact = 0.0
    for group in range(2):
        logs = []
        for size in [int(counts[group].sum())] if public else range(24):
            points = lattice(size, 3)
            log = dc.Dirichlet(A).predictive(size).logpmf(points) if size else np.zeros(1)
            for epsilon, raw in zip(epsilons, rows[:, group], strict=True):
                alone = dc.LatticeGeometric(dc.Dirichlet(A), size if public else None, epsilon)
                log = log + [alone.log_prob(x, raw) for x in points]
            logs.append(float(logsumexp(log)))
        exact += float(logsumexp(logs))
    assert abs(found - exact) < 1e-9
    with pytest.raises(dc.RefusedError, match="same records"):
        _ = dc.combine(releases, same_data=False).log_evidence


def test_another_epsilon_has_another_evidence() -> None:
    """The negative control: noise that is a tenth off."""
    worlds: list[Any] = [make(dc.LatticeGeometric, dc.Dirichlet(A), 9, epsilon) for epsilon in ("0.7", "0.77")]
    with lowered(POSTERIOR_CANDIDATES=0):
        near, far = (release_of(one, (3, 3, 3)).noise_aware().log_evidence for one in worlds)
    assert abs(near - _by_definition(worlds[0], (3, 3, 3))) < 1e-10 < 1e-3 < abs(far - near)


def test_evidence_that_is_not_computed_is_refused() -> None:
    prior = dc.Dirichlet(A)
    two = [release_of(dc.LatticeGeometric(prior, n, 1), raw) for n, raw in ((9, (3, 3, 3)), (5, (1, 2, 2)))]
    mechanism = dc.LatticeGeometric(prior, [2, 0], 1, by={"g": ["some", "none"]})
    raw = np.array([[1, 1, 0], [0, 0, 0]])
    table: Any = dc.Release(mechanism, mechanism.guarantee, raw, raw).noise_aware()
    for posterior in (dc.combine(two, same_data=False), table["none"]):
        with pytest.raises(dc.RefusedError, match="evidence"):
            _ = posterior.log_evidence
