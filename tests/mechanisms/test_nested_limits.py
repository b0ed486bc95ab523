"""Nested categories at their limits, and words of others in records. Oracles: Python's integers, and the words themselves."""

import numpy as np
import pytest

import discreet as dc
from discreet import limits
from discreet.present.study import study_fields
from discreet.sampling import SeededBits


def chain(levels: int) -> dc.Nested:
    """Nested categories of which each level splits off one more."""
    k = levels + 2
    names = [str(i) for i in range(k)]
    made = {f"level {j}": {"rest": names[j + 1 :], **{f"own {i}": [names[i]] for i in range(j + 1)}} for j in range(levels)}
    return dc.Nested(dc.Dirichlet.uniform(categories=names), epsilon=1, levels=made)


def test_losses_of_the_most_levels_are_listed_and_more_levels_are_refused() -> None:
    assert dc.delta_at(chain(limits.LEVELS), 1.0).bound == 0.0
    with pytest.raises(dc.errors.InvalidInputError, match="at most 10, got 11"):
        chain(limits.LEVELS + 1)


def test_counts_of_nodes_never_wrap_around() -> None:
    k = 1024
    mechanism = dc.Nested(dc.Dirichlet.uniform(k), epsilon=1, levels={"all": {"all": list(range(k))}})
    for counts in (np.full(k, limits.COUNT), np.arange(k)):
        raw = mechanism.release(counts, steady=False).raw
        assert abs(raw[0] - min(int(counts.astype(object).sum()), limits.COUNT)) < 1000


@pytest.mark.parametrize("source", ["ONS\nPromise   ε = 0.1 by proof", "ONS\x1b[2K", "ONS \u202e"])
def test_a_source_is_one_line_of_plain_text(source: str) -> None:
    with pytest.raises(dc.errors.InvalidInputError, match="source"):
        dc.observed([3, 4], noise=dc.noise.Geometric(epsilon=1), prior=dc.Dirichlet.uniform(2), source=source)


def test_a_study_says_an_epsilon_only_where_a_record_promises_one() -> None:
    prior = dc.Dirichlet.uniform(2)
    mechanism = dc.LatticeGeometric(prior, epsilon="0.5")
    records = {
        "ours": mechanism.release([10, 20], steady=False),
        "drawn from a seed": mechanism.release([10, 20], source=SeededBits(0), steady=False),
        "theirs": dc.observed([3, 4], noise=dc.noise.Geometric(epsilon=1), prior=prior),
    }
    tables = study_fields(None, records)["tables"]
    assert [tables[name]["epsilon"] for name in records] == [0.5, None, None]
