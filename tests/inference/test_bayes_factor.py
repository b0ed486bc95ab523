"""Bayes factors of separate shares against common ones. Oracle: all tables of counts listed, by the textbook formulas."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

import discreet as dc
from discreet.errors import InvalidInputError, RefusedError, TooLargeError
from tests.inference.tables.worlds import compositions
from tests.inference.test_pooled import log_dirichlet_multinomial, posterior


def listed(raw: list[tuple[int, ...]], sizes: list[int], epsilon: float) -> tuple[float, float]:
    """The log evidence of separate and of common shares under a uniform prior: both sum over all counts of all groups."""
    k = len(raw[0])
    reach = 60 if k == 2 else 40
    noise = np.stack([each.ravel() for each in np.meshgrid(*[np.arange(-reach, reach + 1)] * (k - 1), indexing="ij")], axis=-1)
    noise = np.hstack([noise, -noise.sum(axis=1, keepdims=True)])
    constant = logsumexp(-0.5 * epsilon * np.abs(noise).sum(axis=1))
    groups = []
    for z, n in zip(raw, sizes, strict=True):
        x = compositions(n, k)
        groups.append((x, -0.5 * epsilon * np.abs(np.array(z) - x).sum(axis=1) - constant))
    separate = sum(float(logsumexp(log + log_dirichlet_multinomial(x, np.ones(k)))) for x, log in groups)
    common = []
    for rows in product(*(range(len(x)) for x, _ in groups)):
        counts = np.array([x[i] for i, (x, _) in zip(rows, groups, strict=True)])
        ways = (gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)).sum()
        total = counts.sum(axis=0)
        shares = gammaln(k) + gammaln(total + 1).sum() - gammaln(k + total.sum())
        common.append(sum(log[i] for i, (_, log) in zip(rows, groups, strict=True)) + ways + shares)
    return separate, float(logsumexp(common))


@pytest.mark.parametrize(("raw", "sizes"), [([(3, 4), (9, -2), (1, 4)], [7, 7, 5]), ([(0, 9), (14, -5)], [9, 9])])
def test_two_categories_agree_with_all_counts_listed(raw: Any, sizes: list[int]) -> None:
    found, (separate, common) = dc.bayes_factor(posterior(raw, sizes, 1.2)), listed(raw, sizes, 1.2)
    assert abs(found.log_separate - separate) < 1e-10
    assert abs(found.log_common - common) < 1e-10
    assert found.error < 1e-10
    assert float(found) == np.exp(found.log)
    assert abs(listed(raw, sizes, 1.32)[1] - common) > 1e-2  # another noise is seen


def test_three_categories_agree_within_the_error_of_their_draws() -> None:
    raw: list[tuple[int, ...]] = [(2, 1, 1), (0, 3, -1), (4, -2, 1)]
    sizes = [4, 2, 3]
    found, (separate, common) = dc.bayes_factor(posterior(raw, sizes)), listed(raw, sizes, 1.0)
    assert abs(found.log_separate - separate) < 1e-10
    assert 0.0 < found.error < 0.05
    assert abs(found.log_common - common) < 4.0 * found.error
    assert dc.bayes_factor(posterior(raw, sizes)) == found


def test_evidence_points_to_what_is_there() -> None:
    alike, apart = posterior([(50, 50), (52, 48), (47, 53)], [100] * 3), posterior([(20, 80), (52, 48), (79, 21)], [100] * 3)
    assert dc.bayes_factor(alike).log < -2.0
    assert dc.bayes_factor(apart).log > 10.0


def test_private_sizes_need_a_proper_prior_and_then_agree_with_a_sum_over_them() -> None:
    raw = np.array([(3, 2), (1, 4)])
    mechanism: Any = dc.LatticeGeometric(dc.Dirichlet.uniform(2), epsilon=1, by={"group": ["a", "b"]})
    release = dc.Release(mechanism, mechanism.guarantee, raw, mechanism.report(raw))
    weights = np.log(np.array([0.0, 0.1, 0.2, 0.3, 0.2, 0.2]) + 1e-300)
    found, sums = dc.bayes_factor(release.noise_aware(size_prior=weights)), []
    log_noise = 4.0 * np.log((1 - np.exp(-1.0)) / (1 + np.exp(-1.0)))
    for sizes in product(range(1, 6), repeat=2):
        for x, y in product(compositions(sizes[0], 2), compositions(sizes[1], 2)):
            total = x + y
            ways = sum(gammaln(each.sum() + 1) - gammaln(each + 1).sum() for each in (x, y))
            shares = gammaln(total + 1).sum() - gammaln(2 + total.sum())
            sums.append(weights[list(sizes)].sum() - np.abs(raw - [x, y]).sum() + log_noise + ways + shares)
    assert abs(found.log_common - float(logsumexp(sums))) < 1e-10
    with pytest.raises(RefusedError, match=r"public sizes, .* size_prior"):
        dc.bayes_factor(release.noise_aware())


@pytest.mark.parametrize("mean", [120, 700, 1200])
def test_sizes_far_from_what_was_believed_agree_with_independent_poisson_counts(mean: int) -> None:
    raw, epsilon = np.array([(60, 66), (79, 50)]), 0.1
    mechanism: Any = dc.LatticeGeometric(dc.Dirichlet.uniform(2), epsilon=epsilon, by={"group": ["a", "b"]})
    release = dc.Release(mechanism, mechanism.guarantee, raw, mechanism.report(raw))
    found = dc.bayes_factor(release.noise_aware(size_prior=f"poisson:{mean}"))
    # A Poisson number of records has independent Poisson counts, given the shares, over which a fine sum goes.
    share = np.linspace(0.0, 1.0, 4001)[1:-1]
    x = np.arange(0, 1400)
    by_share = np.zeros((2, len(share)))
    for category, p in enumerate((share, 1.0 - share)):
        log_law = x * np.log(mean * p)[:, None] - mean * p[:, None] - gammaln(x + 1.0)
        by_share += [logsumexp(log_law - epsilon * np.abs(raw[group, category] - x), axis=1) for group in range(2)]
    separate, common = logsumexp(by_share, axis=1).sum() - np.log(4000), logsumexp(by_share.sum(axis=0))
    assert abs(found.log - (separate - common)) < 1e-6
    with pytest.raises(TooLargeError):  # what is believed leads beyond the counts that can be held
        dc.bayes_factor(release.noise_aware(size_prior="poisson:5000"))


def test_what_has_no_bayes_factor_is_refused() -> None:
    with pytest.raises(RefusedError, match="all categories can occur in each"):
        dc.bayes_factor(posterior([(3, 4, 2), (0, 3, 4)], [9, 7], impossible=[("g1", "c0")]))
    with pytest.raises(InvalidInputError, match="posterior of the table"):
        dc.bayes_factor(posterior([(3, 4), (1, 3)], [7, 4]).pooled())
