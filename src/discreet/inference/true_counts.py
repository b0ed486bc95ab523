"""The posterior law of the true counts given raw outcomes, by listing it or by a tree (docs/proofs/inference.md).

`w_x ∝ Π_r P(z_r | x) · p(n) DirMult(x; n, a)` for counts x of total n, p the prior of n where it is private: of one outcome or several.

- Few possible counts (`limits.POSTERIOR_CANDIDATES`): all of them, for any mechanism.
- Exponential mechanisms: all of them up to `limits.LIKELIHOOD_CANDIDATES`, whose likelihoods come from tables.
- Noise that is independent by category, any n, public or private: `counts.tree`.
- Such noise on sums of categories too: `counts.nested`.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.counts.factors import Count, Kernel, Observation, Split
from discreet.counts.ladder import TAIL
from discreet.counts.law import CountLaw
from discreet.counts.listed import ListedCounts
from discreet.counts.nested import counts_of_sets
from discreet.counts.tree import TreeCounts, counts_of_split
from discreet.errors import RefusedError, TooLargeError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.changed_counts import RandomizedAnswers
from discreet.mechanisms.noise import CellNoise, MeasuredLevels
from discreet.mechanisms.reports import clamp_outcomes
from discreet.model.datasets import is_few, simplex_points
from discreet.model.dirichlet import Prior
from discreet.model.size_priors import SizePrior, known_size
from discreet.progress import Progress

_NODE_ROOM = 1.05
_USUAL_ROOM = 1.25
_USUAL_NODES = 320
"""Totals that a sum over all of them is done on, where there are many."""


@dataclass(frozen=True)
class Outcome:
    """A raw outcome and the mechanism that drew it."""

    mechanism: Mechanism
    raw: tuple[int, ...]
    n: int | None
    """The number of records, if it is public."""

    def clamped(self, n: int | None) -> Counts:
        """The noisy counts without what says nothing: how far below 0 they are, or above a known n."""
        noise = self.mechanism.noise
        return clamp_outcomes(self.raw, limits.COUNT if n is None else n) if noise is None else noise.held(self.raw, n)

    def log_likelihood(self, points: Counts, n: int | None, log_prior: Floats | None = None, progress: Progress | None = None) -> Floats:
        """ln P(z | x) of counts x, one a row, up to a constant; n is their total if that is known.

        Where the noise is not independent by category the points must be all datasets, in lexicographic order; given their log prior,
        it may be -inf for some that have less than `limits.WINDOW_TAIL` of the posterior together.
        """
        noise = self.mechanism.noise
        if noise is None:
            return self.mechanism._log_likelihoods(self.raw, log_prior, progress)
        return noise.log_likelihoods(self.clamped(n), points)

    @property
    def first(self) -> Counts:
        """The least count of each category that the outcome leaves possible; 0 where its noise depends on the data."""
        noise, k = self.mechanism.noise, self.mechanism.k
        return np.array([0] * k if noise is None else [count.first for count in noise.observed(self.clamped(self.n), k)])

    def log_constant(self, n: int) -> float:
        """Return the constant that the logarithm of the weight lacks."""
        noise = self.mechanism.noise
        return 0.0 if noise is None else log_outcome_constant(noise, self.raw, self.clamped(n))


def counts_of_same_records(
    prior: Prior, n: int | None, outcomes: Sequence[Outcome], size_prior: SizePrior | None = None, progress: Progress | None = None
) -> CountLaw:
    """The posterior law of the counts that all these outcomes are about: w_x ∝ Π_r P(z_r | x) · DirMult(x; n, a).

    Args:
        prior: what is believed about the categories' probabilities.
        n: the number of records, if some outcome makes it public.
        outcomes: one or more.
        size_prior: what is believed about n where it is private.
        progress: told where the likelihoods of all possible counts take long.

    Raises TooLargeError where the counts are too many for the mechanisms that need a list of them.
    """
    if n == 0:
        return ListedCounts.known([0] * prior.k)
    if any(one.mechanism._levels is not None for one in outcomes):
        return _counts_of_levels(prior.concentration, outcomes, size_prior if n is None else known_size(n))
    if n is None:
        assert size_prior is not None  # noqa: S101
        free = [(noise_of_any_total(one.mechanism), one.raw) for one in outcomes]
        return counts_of_outcomes(prior.concentration, free, size_prior)
    noisy = [(one.mechanism.noise, one.raw) for one in outcomes if one.mechanism.noise is not None]
    if len(noisy) == len(outcomes) and not is_few(n, prior.k, limits.POSTERIOR_CANDIDATES):
        return counts_of_outcomes(prior.concentration, noisy, known_size(n))
    for one in outcomes:
        if one.mechanism.noise is None:
            check_listable(one.mechanism)
    points = simplex_points(n, prior.k)
    log_weight = prior.predictive(n).logpmf(points)
    for one in outcomes:  # what is unlikely given some outcomes need not be so given all
        log_weight = log_weight + one.log_likelihood(points, n, log_weight if len(outcomes) == 1 else None, progress)
    omitted = limits.WINDOW_TAIL if np.isneginf(log_weight).any() else 0.0
    least = np.max([one.first for one in outcomes], axis=0)
    return ListedCounts.of_logs(points, log_weight, omitted, log_constant=sum(one.log_constant(n) for one in outcomes), least=least)


def counts_of_outcomes(a: Floats, outcomes: Sequence[tuple[CellNoise, Sequence[int] | Counts]], sizes: SizePrior) -> TreeCounts:
    """The law under Dir(a) and a prior on the total, given one or more outcomes about the same counts, each with its noise.

    Raises TooLargeError for outcomes, priors and noise that are out of reach.
    """
    if sizes.first != sizes.last:
        check_noisy_total(max(sum(max(int(z), 0) for z in raw) for _, raw in outcomes))
        _check_prior(a)
    observed: list[list[Observation]] = [[] for _ in a]
    log_constant = 0.0
    for noise, raw in outcomes:
        held = noise.held(raw, sizes.last)
        for one, z in zip(observed, held.tolist(), strict=False):
            one.append(noise.observation(z))
        log_constant += log_outcome_constant(noise, raw, held)
    return counts_of_split(Split([Count(one) for one in observed], a), sizes, log_constant=log_constant)


def _counts_of_levels(a: Floats, outcomes: Sequence[Outcome], sizes: SizePrior | None) -> CountLaw:
    """The law under Dir(a), given outcomes of which some have the counts of several levels."""
    assert sizes is not None  # noqa: S101
    if sizes.first != sizes.last:
        _check_prior(a)
    observed: dict[tuple[int, ...], list[Observation]] = {}
    log_constant, alone = 0.0, tuple((i,) for i in range(len(a)))
    for one in outcomes:
        noise, levels = one.mechanism.noise, one.mechanism._levels
        if levels is None and noise is None:
            raise RefusedError(f"{one.mechanism.title} has no noise by category, so it is not combined with counts of several levels")
        for cells, nodes, raw in [(noise, alone, one.raw)] if levels is None else levels.of_outcome(one.raw):
            assert cells is not None  # noqa: S101
            check_noisy_total(sum(max(int(z), 0) for z in raw))
            held = cells.held(raw, sizes.last)
            for node, z in zip(nodes, held.tolist(), strict=False):
                observed.setdefault(node, []).append(cells.observation(z))
            log_constant += log_outcome_constant(cells, raw, held)
    return counts_of_sets(a, observed, sizes, log_constant)


def log_outcome_constant(noise: CellNoise, raw: Sequence[int] | Counts, held: Counts) -> float:
    """Return the logarithm of the constant that the factors of an outcome lack where clamped counts are held: the same for all counts."""
    largest = sys.float_info.max  # a noisy count beyond all floats has a logarithm that is minus infinity, as near as floats come
    floats = [float(z) if abs(z) <= largest else (inf if z > 0 else -inf) for z in map(int, raw)]
    beyond = [(z, float(one)) for z, one in zip(floats, held.tolist(), strict=True) if z != one]
    far = sum(float(np.diff(noise.log_factor(np.array([one, z])))[0]) for z, one in beyond)
    return noise.log_constant(len(held)) + far


def check_noisy_total(total: float) -> None:
    """Refuse noisy counts whose total is so large that there may be no float for a total of one record more."""
    if total > limits.COUNT // 2:
        raise TooLargeError(
            "the noisy counts add up to more than 2**52, where no posterior is computed; less noise (a larger epsilon) avoids that"
        )


def counts_of_answers(prior: Prior, answers: RandomizedAnswers, raw: Sequence[int]) -> CountLaw:
    """The posterior law of the numbers of truthful answers among randomized ones. Raises TooLargeError where they are out of reach."""
    check_noisy_total(sum(raw))
    _check_prior(prior.concentration)
    split, root, log_constant = answers.tree(prior.concentration, raw)
    return counts_of_split(split, root, log_constant=log_constant)


# --- refusals by public numbers ---------------------------------------------------------------------------------------


def check_posterior(mechanism: Mechanism, reader: Prior | None = None) -> None:
    """Refuse, by public numbers alone, a mechanism whose raw outcomes have no posterior law of the true counts that can be computed.

    Where counts are not listed, an outcome's windows are as wide as the noise, unless the outcome is a very unlikely one.
    """
    if mechanism._levels is not None:
        _check_levels(mechanism._levels, mechanism.n if isinstance(mechanism.n, int) else limits.COUNT)
        _check_prior((reader or mechanism.prior).concentration)
    elif mechanism.n is None:
        _check_prior((reader or mechanism.prior).concentration)
        check_any_total(mechanism.k, noise_of_any_total(mechanism).kernel)
    elif mechanism._answers is not None:
        _check_prior((reader or mechanism.prior).concentration)
    elif mechanism.noise is None:
        check_listable(mechanism)
    elif not mechanism.space.is_few(limits.POSTERIOR_CANDIDATES):
        noise = mechanism.noise
        _check_windows(mechanism.space.total, mechanism.k, noise)


def _check_levels(levels: MeasuredLevels, most: int) -> None:
    """Refuse noise so wide that sums of the counts of a usual outcome, each of them at most `most`, would take more than a minute."""
    span = min(4.0 * max(noise.kernel.width(-float(np.log(limits.WINDOW_TAIL))) for noise in levels.noise), most + 1.0)
    products = levels.cells * span * span
    if span > limits.WINDOW_CELLS or products > limits.LEVEL_PRODUCTS:
        raise TooLargeError(
            f"the noise of a level spreads its counts over {span:,.0f} values, and {levels.cells:,} counts take {products:,.0f} products; "
            f"the noise-aware posterior takes at most {limits.LEVEL_PRODUCTS:,}. Less noise (a larger epsilon), or fewer levels, need fewer"
        )


def check_listable(mechanism: Mechanism) -> None:
    """Refuse a mechanism whose laws are not listed, or too long to be listed for every dataset."""
    if mechanism._answers is not None:
        raise RefusedError("randomized answers say shares alone, with noise_aware(): no likelihood of true counts is computed")
    limit = mechanism._most_datasets
    if not mechanism.space.is_few(limit):
        size = mechanism.space.size if mechanism.k <= limit else 10**15
        shown = f"{size:,}" if size < 10**15 else "more than 10^15"
        raise TooLargeError(
            f"there is no noise-aware posterior of {type(mechanism).__name__} with {shown} possible counts: its likelihood needs a sum "
            f"over all of them for each of them, done up to {limit:,}. LatticeGeometric and the Laplace family have one at any n"
        )


def _check_windows(n: int, k: int, noise: CellNoise) -> None:
    """Refuse noise that is so wide that the windows of a usual outcome would have too many cells.

    A law e^{-slope |x|} has a part t of its mass beyond ln(1/t)/slope; windows end at the next node, which measured up to 4 % more.
    """
    width = _NODE_ROOM * 2.0 * noise.kernel.width(-float(np.log(limits.WINDOW_TAIL)))
    widths = [width] * noise.cells + [float(n)] * (k - noise.cells)
    cells = int(min(float(n), sum(widths) - max(widths))) + 1
    if cells > limits.WINDOW_CELLS:
        raise TooLargeError(
            f"the noise spreads the true counts over {cells:,} values; the noise-aware posterior holds at most {limits.WINDOW_CELLS:,}. "
            "Less noise (a larger epsilon) needs fewer"
        )


def _check_prior(a: Floats) -> None:
    if a.min() < limits.LEAST_PRIOR:
        raise TooLargeError(
            "with a private n, or from randomized answers, no posterior is computed for prior parameters below "
            f"{limits.LEAST_PRIOR:g}: rounding errors would show"
        )


def noise_of_any_total(mechanism: Mechanism) -> CellNoise:
    """The noise of a mechanism whose n is private, if it is independent by category; refused otherwise."""
    noise = mechanism.noise
    if noise is None or noise.blocks or noise.cells < mechanism.k:
        raise TooLargeError(
            f"there is no noise-aware posterior of {type(mechanism).__name__} with a private n: its noise is not independent"
        )
    return noise


def usual_totals(k: int, noise: Kernel) -> int:
    """About how many values the total of k categories has, given a usual outcome.

    The sum of k noises has about TAIL of its mass beyond w + sqrt(2kt) deviations on either side, t = ln(1/TAIL) and w the width of one.
    """
    t = -float(np.log(TAIL))
    return int(min(_USUAL_ROOM * 2.0 * (noise.width(t) + (2.0 * k * t) ** 0.5 * noise.deviation), 1e18)) + 1


def check_any_total(k: int, noise: Kernel, most: int = limits.COUNT) -> None:
    """Refuse noise so wide that the total of a usual outcome, which is at most `most`, would have too many values."""
    t, cells = -float(np.log(TAIL)), min(usual_totals(k, noise), most + 1)
    pairs = _USUAL_NODES * min(int(_USUAL_ROOM * 2.0 * noise.width(t)), cells)
    if pairs > limits.MIXTURE_CELLS:
        raise TooLargeError(
            f"the noise leaves about {pairs:,} pairs of a count and a total possible; the noise-aware posterior holds at most "
            f"{limits.MIXTURE_CELLS:,}. Less noise (a larger epsilon) needs fewer"
        )
    if cells > limits.WINDOW_CELLS or k * cells > limits.WINDOW_CONVOLUTIONS:
        raise TooLargeError(
            f"the noise spreads the true number of records over about {cells:,} values; the noise-aware posterior holds at most "
            f"{min(limits.WINDOW_CELLS, limits.WINDOW_CONVOLUTIONS // k):,} for {k} categories. Less noise (a larger epsilon) needs fewer"
        )
