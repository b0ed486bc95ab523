"""Questions that are copies of one another, read as if they were independent: what stays calibrated, and what becomes too sure.

Two groups with a public total of 60; every question has the same answers, and noise of its own. Negative control: sizes do become too sure.
"""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import discreet as dc

LEVEL, COPIES, TOTAL, WORLDS = 0.9, 8, 60, 240
RULE = dc.CountingRule("answer")


@dataclass
class Found:
    """How often intervals held what they were about, what sizes claimed, and the widths together and alone."""

    shares: list[bool] = field(default_factory=list)
    sizes: list[bool] = field(default_factory=list)
    claimed: list[float] = field(default_factory=list)
    together: list[float] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)


def released(counts: Any, rng: np.random.Generator) -> dc.Release[Any]:
    """A table with simulated noise."""
    mechanism = dc.LatticeGeometric(dc.Dirichlet([1, 1]), TOTAL, 0.2, by={"g": ["a", "b"]})
    noise = mechanism.noise.simulate(1, rng)[0].reshape(counts.shape)
    return mechanism._recorded(mechanism.prepare(counts).guarantee, counts + noise, dc.About(counting=RULE))


def read(seed: int, found: Found) -> None:
    """Draw copies of one question, and read one of them with the others and alone."""
    rng = np.random.default_rng([37, seed])
    sizes = rng.multinomial(TOTAL, rng.dirichlet([1, 1]))
    shares = rng.dirichlet([1, 1], 2)
    counts = np.stack([rng.multinomial(size, one) for size, one in zip(sizes, shares, strict=True)])
    records = {str(i): released(counts, rng) for i in range(COPIES)}
    post: Any = dc.read_together(records)
    low, high = post["0"]["a"].interval(LEVEL)[0]
    found.shares.append(bool(low <= shares[0, 0] <= high))
    found.together.append(high - low)
    low, high = records["0"].noise_aware()["a"].interval(LEVEL)[0]
    found.alone.append(high - low)
    size = post.size("0", "a")
    low, high = size.interval(LEVEL)
    found.sizes.append(bool(low <= sizes[0] <= high))
    x, p = size.probabilities()
    found.claimed.append(float(p[(x >= low) & (x <= high)].sum()))


@pytest.mark.slow
def test_shares_of_copied_questions_cover_and_sizes_are_too_sure() -> None:
    found = Found()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for seed in range(WORLDS):
            read(seed, found)
    assert abs(np.mean(found.shares) - LEVEL) < 0.06  # three standard deviations of so many worlds
    assert np.mean(found.claimed) > 0.92
    assert np.mean(found.sizes) < np.mean(found.claimed) - 0.03
    assert 0.9 < np.mean(found.together) / np.mean(found.alone) < 1.0
