"""Pooling and Bayes factors where every cell has noise of its own, ours or of others. Oracle: all counts listed, noise as defined."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

import discreet as dc
from discreet.errors import InvalidInputError, RefusedError
from tests.inference.tables.worlds import compositions
from tests.inference.test_observed import NOISES, law_of
from tests.inference.test_pooled import ListedGroups, log_dirichlet_multinomial

Raw = list[tuple[int, ...]]
PRIOR = dc.Dirichlet.uniform(2)


def by(groups: int) -> dict[str, list[str]]:
    return {"group": [f"g{i}" for i in range(groups)]}


def published(kind: str, scale: Fraction, raw: Raw, sizes: list[int] | None, **declared: Any) -> Any:
    """The posterior of noisy counts of others."""
    return dc.observed(raw, noise=NOISES[kind](scale), prior=PRIOR, n=sizes, by=by(len(raw)), **declared).noise_aware()


def gaussian(raw: Raw, sizes: list[int] | None, sigma: int) -> Any:
    """The posterior of a record of ours with this σ."""
    mechanism: Any = dc.DiscreteGaussian(PRIOR, sizes, rho=Fraction(1, sigma**2 * (2 if sizes is None else 1)), by=by(len(raw)))
    noisy = np.array(raw)
    return dc.Release(mechanism, mechanism.guarantee, noisy, mechanism.report(noisy)).noise_aware()


def possible(kind: str, scale: Fraction, raw: Raw, sizes: list[int] | None) -> tuple[list[NDArray[np.int64]], list[NDArray[np.float64]]]:
    """The counts of each group, and the probability of its noisy ones given them."""
    d, p = law_of(kind, scale)
    every, counts, likelihood = np.stack(np.meshgrid(*[np.arange(70)] * 2, indexing="ij"), -1).reshape(-1, 2), [], []
    for i, z in enumerate(raw):
        x = every if sizes is None else compositions(sizes[i], 2)
        q = p[np.array(z) - x - d[0]].prod(axis=1)
        counts.append(x[q > 1e-13 * q.max()])
        likelihood.append(q[q > 1e-13 * q.max()])
    return counts, likelihood


WORLDS: list[tuple[str, int, Raw, list[int] | None]] = [
    ("gaussian", 2, [(3, 5), (-2, 8)], [7, 5]),
    ("gaussian", 2, [(3, 9), (12, 2), (2, 6)], [12, 14, 60]),  # so far from its size that it needs other counts than those near it
    ("geometric", 1, [(3, 9), (2, 6)], [12, 60]),
    ("laplace", 2, [(3, 9), (12, 2), (-2, 8)], [12, 14, 5]),
    ("gaussian", 2, [(3, 9), (12, -1)], None),
    ("laplace", 1, [(3, 9), (12, -1)], None),
]


@pytest.mark.parametrize("world", [*WORLDS[:4], *(pytest.param(each, marks=pytest.mark.slow) for each in WORLDS[4:])])
def test_evidence_and_means_are_those_of_all_counts_and_a_dense_lattice(world: Any) -> None:
    kind, scale, raw, sizes = world
    counts, likelihood = possible(kind, Fraction(scale), raw, sizes)
    listed = replace(ListedGroups.of([(1, 1)], [2], 1.0), counts=counts, likelihood=likelihood)
    evidence, weight = listed.weights()
    read = [published(kind, Fraction(scale), raw, sizes), *([gaussian(raw, sizes, scale)] if kind == "gaussian" else [])]
    for pooled in (each.pooled() for each in read):
        assert pooled.log_evidence_error < 1e-3
        assert abs(pooled.log_evidence - evidence) < pooled.log_evidence_error
        for i in range(len(raw)):
            assert abs(pooled.mean()[i, 0] - listed.moments(i, weight)[0]) < pooled.log_evidence_error
    other = published(kind, Fraction(11 * scale, 10), raw, sizes).pooled()
    assert abs(other.log_evidence - evidence) > 10 * other.log_evidence_error


@pytest.mark.parametrize("kind", sorted(NOISES))
def test_bayes_factors_are_those_of_all_counts(kind: str) -> None:
    raw: Raw = [(3, 4), (9, -2), (1, 4)]
    sizes, scale = [7, 6, 12], Fraction(3, 2)
    counts, likelihood = possible(kind, scale, raw, sizes)
    logs = [np.log(each) for each in likelihood]
    separate = sum(float(logsumexp(q + log_dirichlet_multinomial(x, np.ones(2)))) for x, q in zip(counts, logs, strict=True))
    ways = [q + gammaln(x.sum(axis=1) + 1) - gammaln(x + 1).sum(axis=1) for x, q in zip(counts, logs, strict=True)]
    first = sum(np.meshgrid(*[x[:, 0] for x in counts], indexing="ij"))
    weight = sum(np.meshgrid(*ways, indexing="ij"))
    common = float(logsumexp(weight + gammaln(first + 1) + gammaln(sum(sizes) - first + 1) - gammaln(2 + sum(sizes))))
    found, other = (dc.bayes_factor(published(kind, scale * wrong, raw, sizes)) for wrong in (Fraction(1), Fraction(11, 10)))
    assert found.log_separate == pytest.approx(separate, abs=1e-9)
    assert found.log_common == pytest.approx(common, abs=1e-9)
    assert abs(other.log_common - common) > 1e-3


@pytest.mark.parametrize("steps", ["clamped:0", "rounded:3", "suppressed:2"])
@pytest.mark.parametrize("sizes", [[12, 15], None])
def test_counts_that_steps_changed_are_refused_in_one_line(steps: str, sizes: list[int] | None) -> None:
    table = published("geometric", Fraction(1), [(3, 9), (12, 3)], sizes, steps=steps, size_prior="poisson:13")
    for read in (table.pooled, lambda: dc.bayes_factor(table)):
        with pytest.raises(RefusedError, match="no likelihood"):
            read()


def test_counts_that_the_noise_does_not_explain_are_refused() -> None:
    table = published("gaussian", Fraction(2), [(3, 9), (12, -(10**7))], None)
    with pytest.raises(InvalidInputError, match="standard deviations of the noise"):
        table.pooled().mean()
