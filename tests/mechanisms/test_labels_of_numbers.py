"""Numbers in a pandas Series or a data frame: read by their labels, or refused. Oracle: the same numbers as plain lists, in order."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreet as dc

PRIOR = dc.Dirichlet.uniform(categories=["yes", "no"])
BY = {"dept": ["A", "B", "C"]}
COUNTS = [[60, 40], [30, 30], [5, 45]]
NOISE: Any = dc.noise.Geometric(epsilon=1)
TURNED = pd.Series([50, 60, 100], index=["C", "B", "A"])
REFUSED = pytest.raises(dc.errors.InvalidInputError, match=r"labels of (its|their) own")


def test_counts_of_others_are_read_by_their_labels() -> None:
    plain = dc.observed([60, 40], noise=NOISE, prior=PRIOR)
    for given in (pd.Series([40, 60], index=["no", "yes"]), {"no": 40, "yes": 60}, pd.Series([60, 40])):
        assert dc.observed(given, noise=NOISE, prior=PRIOR).raw == plain.raw
    with REFUSED:
        dc.observed(pd.Series([40, 60], index=["no", "maybe"]), noise=NOISE, prior=PRIOR)


@pytest.mark.parametrize("frame", [pd.DataFrame(COUNTS, columns=["no", "yes"]), pl.DataFrame(COUNTS, schema=["no", "yes"], orient="row")])
def test_a_frame_of_published_counts_is_refused(frame: Any) -> None:
    with REFUSED:
        dc.observed(frame, noise=NOISE, prior=PRIOR, by=BY)


def test_weights_of_groups_are_read_by_their_labels() -> None:
    post = dc.observed(COUNTS, noise=NOISE, prior=PRIOR, by=BY).noise_aware()
    right = post.over(weights=[100, 60, 50]).mean()
    np.testing.assert_array_equal(post.over(weights=TURNED).mean(), right)
    np.testing.assert_array_equal(post.over(weights=pd.Series([100, 60, 50])).mean(), right)
    assert not np.allclose(post.over(weights=TURNED.to_list()).mean(), right)


def test_weights_of_a_score_are_read_by_their_labels() -> None:
    post = dc.observed([60, 40], noise=NOISE, prior=PRIOR).noise_aware()
    assert post.score(pd.Series([0, 1], index=["no", "yes"])).mean() == post.score({"yes": 1, "no": 0}).mean()


def test_labels_that_nothing_is_matched_with_are_refused() -> None:
    assert dc.LatticeGeometric(PRIOR, pd.Series([100, 60, 50]), epsilon=1, by=BY).n == (100, 60, 50)
    with REFUSED:
        dc.LatticeGeometric(PRIOR, TURNED, epsilon=1, by=BY)
    with REFUSED:
        dc.LatticeGeometric(PRIOR, 210, epsilon=1, by=BY, shares=TURNED)
    with REFUSED:
        dc.Dirichlet(pd.Series([1, 5], index=["no", "yes"]), categories=["yes", "no"])
    guessed: Any = pd.Series([0.4, 0.6], index=["no", "yes"])
    with REFUSED:
        dc.plan(PRIOR, n=100, epsilon=1, expect=guessed)
