"""Two releases about different records with noise by cell: a two-dimensional convolution over categories (docs/inference_proofs.md).

With p_i and q_i the counts of category i in the first and in the second release, the weight of all counts is a product over categories,

    Π_i G_i(p_i, q_i),   G_i(p, q) = P(z_1i | p) P(z_2i | q) Γ(a_i + p + q)/(p! q!),   on Σp = n_1 and Σq = n_2 .

Multiplying every G_i by e^{λp + μq} changes nothing there. λ and μ are such that both totals are met on average.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.fft import next_fast_len
from scipy.special import digamma, gammaln, logsumexp

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.errors import TooLargeError
from discreet.inference.any_total_counts import CountsOfAnyTotal
from discreet.inference.paired_counts import PairedCounts
from discreet.inference.runs import Run, sum_of
from discreet.inference.several.outcomes import Outcome
from discreet.inference.true_counts import ConvolvedCounts, LatentCounts, ListedCounts
from discreet.numerics.divergences import bregman

_OUTSIDE = 1e-19
"""Tilted probability of totals that are taken for others."""
_FLOOR = 1e-40
_CLOSE, _NEAR = 0.25, 1e-6
"""How far from the totals the means may be: the square of the distance in standard deviations, and records."""
_ROUNDS = 60
_DOWN = 0.1
"""Part of the descent that the slope promises which a step must bring."""
_ENOUGH = 1e-10
"""Bound on what is left out above which there is no answer."""


def can_pair(outcomes: Sequence[Outcome]) -> bool:
    """Whether these are two outcomes with public totals and noise by cell."""
    return len(outcomes) == 2 and all(one.n is not None and one.mechanism.noise is not None for one in outcomes)


def paired_counts(a: Floats, outcomes: Sequence[Outcome], laws: Sequence[LatentCounts | CountsOfAnyTotal]) -> PairedCounts:
    """The law of the counts of both releases together, from their own laws under the prior.

    Raises TooLargeError where the noise leaves too many pairs possible.
    """
    ranges = [_windows(law, one, len(a)) for law, one in zip(laws, outcomes, strict=True)]
    widths = np.array([[high - low + 1 for low, high in ends] for ends in ranges])
    _check_cells(float(widths.prod(axis=0).sum()))
    references = np.array([[max(round(float(run.value @ run.x)), 1) for run in map(law.marginal, range(len(a)))] for law in laws])
    away = [
        [np.arange(low, high + 1.0) - reference for (low, high), reference in zip(*side, strict=True)]
        for side in zip(ranges, references, strict=True)
    ]
    logs = [_log_factor(a, i, outcomes, references[:, i], (away[0][i], away[1][i])) for i in range(len(a))]
    totals = np.array([one.n for one in outcomes], dtype=np.int64)
    target = totals - references.sum(axis=1)
    rates = _balanced(logs, away, target)
    tilted = [_tilted(log, rates, (away[0][i], away[1][i])) for i, log in enumerate(logs)]
    constants = [float(logsumexp(log)) for log in tilted]
    factors = [np.exp(log - constant) for log, constant in zip(tilted, constants, strict=True)]
    lows = np.array([[low for low, _ in ends] for ends in ranges]).T
    lengths = _length(factors, lows, int(totals[0]), 0), _length(factors, lows, int(totals[1]), 1)
    _check_cells(float(len(a)) * lengths[0] * lengths[1])
    found = PairedCounts((int(totals[0]), int(totals[1])), lows, factors, lengths, 0.0)
    pooled = references.sum(axis=0)
    at_references = gammaln(a + pooled).sum() - gammaln(1.0 + references).sum() + sum(constants) - rates @ target
    both = float(at_references + np.log(found.completion) + _log_constant(a, totals))
    omitted = 2.0 * _OUTSIDE / found.completion + _omitted(a, outcomes, laws, both)
    if omitted > _ENOUGH:
        raise TooLargeError("two releases contradict each other so much that too many counts are possible to sum over")
    return replace(found, omitted=omitted)


def _check_cells(cells: float) -> None:
    if cells > limits.PAIRED_CELLS:
        raise TooLargeError(
            f"the noise leaves about {cells:.2g} pairs of counts of two releases possible; up to {limits.PAIRED_CELLS:,} are held"
        )


def _windows(law: LatentCounts | CountsOfAnyTotal, one: Outcome, k: int) -> list[tuple[int, int]]:
    """The first and the last count of each category that the release's own posterior leaves possible."""
    assert one.n is not None  # noqa: S101
    if not isinstance(law, ConvolvedCounts):
        return [(0, one.n)] * k
    return [law.laws.ranges[i] if i != law.laws.pivot else law.laws.laws[i].window() for i in range(k)]


def _log_factor(a: Floats, i: int, outcomes: Sequence[Outcome], reference: Counts, away: tuple[Floats, Floats]) -> Floats:
    """ln G_i, relative to the references."""
    pooled, parts = float(reference.sum()), []
    for one, centre, step in zip(outcomes, reference.tolist(), away, strict=True):
        noise = one.mechanism.noise
        assert noise is not None  # noqa: S101
        line = float(digamma(a[i] + pooled) - digamma(1.0 + centre))
        own = noise.log_likelihood(one.clamped(one.n), i, centre + step)
        parts.append(own + line * step - bregman(1.0 + centre + step, np.full(len(step), 1.0 + centre), step))
    steps = away[0][0] + away[1][0] + np.arange(len(away[0]) + len(away[1]) - 1.0)
    together = bregman(a[i] + pooled + steps, np.full(len(steps), a[i] + pooled), steps)
    return np.asarray(np.add.outer(*parts) + together[np.add.outer(*(np.arange(len(step)) for step in away))])


def _tilted(log: Floats, rates: Floats, away: tuple[Floats, Floats]) -> Floats:
    return np.asarray(log + (rates[0] * away[0])[:, None] + rates[1] * away[1])


def _balanced(logs: Sequence[Floats], away: Sequence[Sequence[Floats]], target: Counts) -> Floats:
    """Tilts under which both totals are met on average: where Σ ln Σ e^{log + λp + μq}, less λ and μ times the totals, is least.

    It is convex. Newton's steps are halved until they go down, so that they end at its minimum however far that is from 0.
    """
    rates = np.zeros(2)
    height, missing, cov = _excess(logs, away, target, rates)
    for _ in range(_ROUNDS):
        step = np.linalg.lstsq(cov, missing, rcond=None)[0]
        gain = float(missing @ step)
        if gain <= _CLOSE or float(np.abs(missing).max()) < _NEAR:
            return rates
        for _ in range(_ROUNDS):
            found = _excess(logs, away, target, rates + step)
            if found[0] <= height - _DOWN * gain:
                break
            step, gain = 0.5 * step, 0.5 * gain
        rates, (height, missing, cov) = rates + step, found
    raise TooLargeError("no tilt was found under which the totals of two releases are met")


def _excess(logs: Sequence[Floats], away: Sequence[Sequence[Floats]], target: Counts, rates: Floats) -> tuple[float, Floats, Floats]:
    """What a tilt minimises, the totals less their means under it, and their covariances."""
    height, mean, cov = -float(rates @ target), np.zeros(2), np.zeros((2, 2))
    for i, log in enumerate(logs):
        steps = away[0][i], away[1][i]
        weight = _tilted(log, rates, steps)
        constant = float(logsumexp(weight))
        weight = np.exp(weight - constant)
        sides = weight.sum(axis=1), weight.sum(axis=0)
        own = np.array([sides[0] @ steps[0], sides[1] @ steps[1]])
        p, q = steps[0] - own[0], steps[1] - own[1]
        tied = float(p @ weight @ q)
        height += constant
        mean += own
        cov += np.array([[sides[0] @ p**2, tied], [tied, sides[1] @ q**2]])
    return height, target - mean, cov


def _length(factors: Sequence[Floats], lows: Counts, total: int, side: int) -> int:
    """A period of transforms: totals of one release that are as far from the true one are as good as impossible."""
    run = sum_of([Run(int(low[side]), factor.sum(axis=1 - side)) for factor, low in zip(factors, lows, strict=True)], _FLOOR).run
    below = np.concatenate([[0.0], np.cumsum(run.value)])
    above = np.concatenate([[0.0], np.cumsum(run.value[::-1])])
    reach = np.arange(1, len(run.value) + 1)
    outside = (
        below[np.clip(total - reach - run.low + 1, 0, len(run.value))] + above[np.clip(run.high - total - reach + 1, 0, len(run.value))]
    )
    enough = np.nonzero(outside <= _OUTSIDE)[0]
    longest = max(factor.shape[side] for factor in factors)
    return int(next_fast_len(max(longest, int(reach[enough[0]]) if enough.size else len(run.value)), real=True))


def _log_constant(a: Floats, totals: Counts) -> float:
    """The factors of a probability of outcomes that counts do not change."""
    return float(gammaln(1.0 + totals).sum() + gammaln(a.sum()) - gammaln(a.sum() + totals.sum()) - gammaln(a).sum())


def _omitted(a: Floats, outcomes: Sequence[Outcome], laws: Sequence[LatentCounts | CountsOfAnyTotal], both: float) -> float:
    """What is left out of each release's own law, once both are known (`pooled` has the argument)."""
    found = 0.0
    for law, other in zip(laws, outcomes[::-1], strict=True):
        noise = other.mechanism.noise
        assert noise is not None  # noqa: S101
        highest = noise.cells * float(noise.log_factor(np.zeros(1))[0])
        found += 2.0 * law.omitted * float(np.exp(min(_log_evidence(a, law) + highest - both, 300.0)))
    return found


def _log_evidence(a: Floats, law: LatentCounts | CountsOfAnyTotal) -> float:
    """ln P(outcome) of one release, up to the constant that its likelihood has."""
    if isinstance(law, ListedCounts):
        return float(logsumexp(law.log_weight))
    assert isinstance(law, ConvolvedCounts)  # noqa: S101
    laws = law.laws.laws
    references = np.array([one.category.reference for one in laws])
    constants = gammaln(a + references) - gammaln(1.0 + references) + np.array([one.log_total for one in laws])
    completion = np.log(law.acceptance * float(law.laws.rest.value.max()))
    return float(constants.sum() - laws[0].rate * (law.n - references.sum()) + completion + _log_constant(a, np.array([law.n])))
