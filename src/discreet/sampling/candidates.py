"""The exponential mechanism's candidate: which exact sampler draws it."""

from collections.abc import Callable
from fractions import Fraction

from flint import arb

from discreet.sampling.attempts import CandidateSampler
from discreet.sampling.domination import Target, even_weights
from discreet.sampling.many_categories import Mixture, check_size, most_megabytes
from discreet.sampling.two_categories import Envelope

_SECONDS_A_DRAW, _SECONDS_A_MEGABYTE = 0.1, 0.05
"""At least five times the seconds that draws for the worst data took on a machine of two cores (`python -m benchmarks steady`)."""


def candidate_sampler(
    prior: tuple[Fraction, ...],
    counts: tuple[int, ...],
    rate: Callable[[], arb],
    weights: Callable[[Target], list[float]] = even_weights,
) -> CandidateSampler:
    """A sampler built once for one dataset; `rate()` must enclose c at the working precision in force when it is called.

    With three or more categories, `weights` say how its proposal is mixed: they cost or save time, and change nothing else.
    """
    return Envelope(prior, counts, rate) if len(prior) == 2 else Mixture(prior, counts, rate, weights)


def check_drawable(prior: tuple[Fraction, ...], n: int) -> None:
    """Refuse a size that no sampler can draw exactly, by public numbers alone: before anything is spent."""
    if len(prior) > 2:
        check_size(prior, n)


def most_seconds(prior: tuple[Fraction, ...], n: int) -> float:
    """Return more seconds than a sampler and its draw take as a rule, whatever the data. With two categories n does not matter."""
    return 0.0 if len(prior) == 2 else _SECONDS_A_DRAW + _SECONDS_A_MEGABYTE * most_megabytes(prior, n)
