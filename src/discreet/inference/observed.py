"""Noisy counts that others published, as a record that is read like our own (docs/howto/observed.md)."""

from dataclasses import replace
from typing import Any

import numpy as np

from discreet import limits
from discreet.arrays import Counts
from discreet.errors import InvalidInputError
from discreet.mechanisms.observed import Observed
from discreet.mechanisms.published import PublishedNoise, PublishedStep, noise_of, published_count, steps_of
from discreet.model.cells import Groups
from discreet.model.dirichlet import Prior
from discreet.record.about import About, check_about
from discreet.record.guarantee import NO_GUARANTEE
from discreet.record.release import Release
from discreet.validation import check_unlabelled, in_order


def observed(
    counts: Any,
    *,
    noise: "PublishedNoise | str",
    steps: "list[PublishedStep] | tuple[PublishedStep, ...] | str" = (),
    prior: Prior,
    source: str = "",
    about: About | None = None,
    **declared: Any,
) -> Release[Any]:
    """A record of noisy counts that somebody else published, which `noise_aware` reads as it reads our own. It promises nothing.

    Args:
        counts: The published counts in the order of the prior's categories; of a table a row for each group. None where one is suppressed.
            Those of one variable may be a mapping or a pandas Series, whose labels are the categories.
        noise: The noise that was added to every count: `dc.noise.Geometric`, `dc.noise.DiscreteGaussian`, `dc.noise.Laplace` or
            `dc.noise.Gaussian`, or what `dc.noise.of` reads off another library; or the change that was made to it, `dc.noise.Matrix` or
            `dc.noise.RandomRounding`. With `dc.noise.RandomizedResponse` the counts are those of randomized answers, and their sum is
            the public n.
        steps: What was done to the noisy counts, in its order: `dc.noise.clamped`, `dc.noise.rounded`, `dc.noise.suppressed`.
        prior: What is believed about the categories before; it names them.
        source: Who published the counts, and whose promise it is, in words that the record shows.
        about: Public words about the data.
        **declared: What else is declared, as for `LatticeGeometric`: `n`, what is public about the number of records; `by`, the groups of
            a table; `impossible`, `shares` and `priors`. And `size_prior`, what is believed about a private number of records, as text.

    Raises:
        InvalidInputError: An argument is not what is said above, or the steps cannot have made a count.
        RefusedError: There is no likelihood that can be computed.
    """
    made = noise_of(noise)
    if declared.get("by"):
        check_unlabelled(counts, "counts")
    else:
        counts = in_order(counts, getattr(prior, "categories", ()), absent_are_zero=False)
    if made.on(1) is None and "n" not in declared:
        declared["n"] = _answered(counts)
    mechanism: Observed[Any] = Observed(prior, published_noise=str(made), steps=steps_of(steps), source=source, **declared)
    raw = _raw(counts, made, mechanism.by)
    if not mechanism._is_outcome(raw):
        shape = (len(mechanism.by), mechanism.prior.k) if mechanism.by.columns else (mechanism.prior.k,)
        after = f"the steps {mechanism.steps}" if mechanism.steps else "no steps, which suppress nothing"
        if mechanism._answers is not None:
            raise InvalidInputError(f"answers must be {prior.k} whole numbers of at least 0 that add up to n; look at n and the prior")
        raise InvalidInputError(
            f"published counts must have shape {shape}, 0 in impossible cells, and be what {made.words} and {after} can make of "
            "true counts that add up to n; look at the steps and their order"
        )
    words = check_about(about)
    if words is not None:
        words.check_fits(prior.categories, mechanism.space.groups, NO_GUARANTEE)
    mechanism._check_labels()
    return mechanism._recorded(replace(NO_GUARANTEE, neighbours=mechanism.space.relation), raw, words)


def _answered(counts: Any) -> int:
    """Return how many people answered."""
    whole = np.array(counts).dtype.kind in "iu" and np.ndim(counts) == 1
    if not whole or (np.abs(counts) > limits.COUNT // np.size(counts)).any():
        raise InvalidInputError("randomized answers must be a list of whole numbers, one for each category, with a sum below 2**53")
    return max(int(np.sum(counts)), 0)


def _raw(counts: Any, noise: PublishedNoise, by: Groups) -> Any:
    """The published counts as a record holds them: a tuple, or the array of a table."""
    array = np.array(counts, dtype=object)
    if array.ndim != (2 if by.columns else 1):
        raise InvalidInputError("published counts must be a list, or with by= a table: a row for each group and a column for each category")
    found = [published_count(value, noise) for value in array.ravel().tolist()]
    if not by.columns:
        return tuple(found)
    table: Counts = np.array(found, dtype=np.int64).reshape(array.shape)
    return table
