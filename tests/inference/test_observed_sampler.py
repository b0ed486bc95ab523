"""Counts that others published, read exactly and by a sampler that knows nothing of how we read. Oracle: `benchmarks.augmentation`."""

from dataclasses import replace

import pytest
from benchmarks.augmentation import Case, measure, observed_means, of_others


@pytest.mark.slow
@pytest.mark.parametrize("case", of_others(), ids=lambda case: case.name)
def test_a_sampler_that_augments_the_data_agrees(case: Case) -> None:
    """18 means within 5 standard errors; reading other noise is more than 10 off."""
    assert measure(case, 1, 3_000)["away"] < 5.0
    other = replace(case, exact=lambda z: observed_means(z, "geometric:1/9", ""))
    assert measure(case, 1, 3_000, read=other)["away"] > 8.0
