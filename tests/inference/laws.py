"""The law of true counts given one outcome of a mechanism with a public n: as it is read, and always by windows and sums."""

from collections.abc import Sequence

from discreet.arrays import Counts
from discreet.counts.law import CountLaw
from discreet.counts.tree import TreeCounts
from discreet.inference.true_counts import Outcome, counts_of_outcomes, counts_of_same_records
from discreet.mechanisms import Mechanism
from discreet.model.size_priors import known_size


def latent_counts(mechanism: Mechanism, raw: tuple[int, ...]) -> CountLaw:
    """The law that posteriors are read from."""
    return counts_of_same_records(mechanism.prior, mechanism.space.total, [Outcome(mechanism, raw, mechanism.space.total)])


def convolved(mechanism: Mechanism, raw: Sequence[int] | Counts) -> TreeCounts:
    """The law by windows and sums, however few counts are possible."""
    assert mechanism.noise is not None
    return counts_of_outcomes(mechanism.prior.concentration, [(mechanism.noise, raw)], known_size(mechanism.space.total))
