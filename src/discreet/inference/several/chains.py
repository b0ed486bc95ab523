"""Several releases about different records by draws: Markov chains over their true counts (docs/proofs/inference.md, "Several releases").

The probabilities θ are summed out, so that a state is the counts x_r of every release and its weight is that of `pooled`. A step moves
records between two categories of one release, or of all releases in proportion, or adds or removes records where a total is private, and
is accepted as Metropolis's rule says. Steps of all sizes are tried. Many chains run side by side, each with its own randomness: the spread
of their averages is the Monte Carlo error.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammaln

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.counts.listed import ListedCounts
from discreet.errors import TooLargeError
from discreet.inference.noise_aware import NoiseAware
from discreet.inference.true_counts import Outcome
from discreet.mechanisms.noise import CellNoise
from discreet.model.dirichlet import Beta, Dirichlet
from discreet.model.size_priors import SizePrior
from discreet.numerics.gamma import log_gamma_ratio

_FIRST = 128
"""Sweeps of the first stretch; the next ones double."""
_KEPT_STATES = 16
"""States that are kept of each chain."""
_LARGE_GAMMA_ARGUMENT = 1e6
"""Arguments of ln Γ from which the difference of two would lose digits."""
_TIED = 0.25
"""Part of the variance that the averages of chains may have: less means that a chain forgets where it was several times."""
_DRIFT = 4.5
"""Standard errors by which the first and the second half of all chains may differ."""
_WINDOW_ROOM = 4.0
"""The longest steps, in scales of the noise and of the multinomial counts."""


@dataclass(frozen=True, eq=False, repr=False)
class CombinedDraws(NoiseAware):
    """The posterior of several releases where it is known by draws alone: what a `NoiseAware` answers, with a Monte Carlo error."""

    states: Counts = None  # type: ignore[assignment]
    """The counts of all releases together: by chain, draw and category."""

    @property
    def chains(self) -> int:
        """Return how many independent chains there are."""
        return len(self.states)

    @cached_property
    def _parameters(self) -> tuple[Floats, Floats]:
        """Parameters of the Betas that each category's probability has given the counts: by chain, draw and category."""
        a = self.prior.concentration + self.states
        return a, a.sum(axis=2, keepdims=True) - a

    def mean_error(self) -> Floats:
        """The Monte Carlo standard error of each category's mean, from the averages of independent chains."""
        a, b = self._parameters
        return _error_of_mean((a / (a + b)).mean(axis=1))

    def interval_error(self, mass: float = 0.95) -> Floats:
        """The Monte Carlo standard errors of the ends of the intervals: one row (low, high) for each category."""
        a, b = self._parameters
        found = np.empty((self.prior.k, 2))
        for i, ends in enumerate(self.interval(mass)):
            density = self.marginal(self.categories[i]).pdf(ends)
            for side, end in enumerate(ends):
                found[i, side] = _error_of_mean(betainc(a[..., i], b[..., i], end).mean(axis=1)) / density[side]
        return found

    def __repr__(self) -> str:
        rows = zip(self.categories[:8], self.mean(), self.mean_error(), strict=False)
        means = ", ".join(f"{c!r}: {mean:.4g} (Monte Carlo error {error:.1g})" for c, mean, error in rows)
        return f"CombinedDraws({means}{', ...' if self.prior.k > 8 else ''}; {self.chains:,} chains)"


def _error_of_mean(averages: Floats) -> Floats:
    """The standard error of the mean of chains, given the average of each."""
    return np.asarray(averages.std(axis=0, ddof=1) / np.sqrt(len(averages)))


def drawn_posterior(
    prior: Dirichlet | Beta, outcomes: Sequence[Outcome], size_prior: SizePrior, chains: int, rng: np.random.Generator
) -> CombinedDraws:
    """The posterior by so many chains, which run until those that began apart look alike (`_settled`): a check and not a proof.

    Raises TooLargeError where the noise of some release is not independent by category, or where chains do not settle.
    """
    walk = _ChainWalk.start(prior, outcomes, size_prior, chains, rng)
    sweeps, each = _FIRST, 2 * chains * prior.k * (len(outcomes) + 1)
    while sweeps * each <= limits.CHAIN_STEPS:
        states = walk.run(sweeps)
        if _settled(prior.concentration + states):
            n = sum(one.n for one in outcomes if one.n is not None) if all(one.n is not None for one in outcomes) else None
            points = states.reshape(-1, prior.k)
            return CombinedDraws(prior, n, ListedCounts(points, np.full(len(points), 1.0 / len(points))), states=states)
        sweeps *= 2
    raise TooLargeError(
        f"{chains:,} Markov chains for these releases would take more than {limits.CHAIN_STEPS:,} steps to settle: combine fewer releases, "
        "or with less noise, or use fewer chains"
    )


def _settled(a: Floats) -> bool:
    """Return whether chains move through all of the posterior, judged by the means given each state, by chain, draw and category."""
    means = a / a.sum(axis=2, keepdims=True)
    spread = np.maximum(means.reshape(-1, means.shape[2]).var(axis=0), 1e-300)
    tied = means.mean(axis=1).var(axis=0) / spread
    half = _KEPT_STATES // 2
    drift = means[:, :half].mean(axis=1) - means[:, half:].mean(axis=1)
    return bool((tied <= _TIED).all() and (np.abs(drift.mean(axis=0)) <= _DRIFT * _error_of_mean(drift) + 1e-15).all())


@dataclass(frozen=True, eq=False)
class _ChainPart:
    """One release: its noise and outcome, and what is public about its total."""

    noise: CellNoise
    raw: Counts
    private: SizePrior | None
    """The prior on the total, if it is private."""
    reach: float
    """About how far its counts can be from their means."""

    def log_change(self, x: Counts, step: Counts, categories: NDArray[np.int64]) -> Floats:
        """Return by how much ln P(z_i | x_i)/x_i! of some categories' counts, whose axis is the last, changes with a step; -inf below 0."""
        noisy = np.concatenate([self.raw, np.zeros(1, dtype=np.int64)])[np.minimum(categories, self.noise.cells)]
        before, after = (self.noise.log_factor((noisy - counts).astype(np.float64)) for counts in (x, x + step))
        own = np.where(categories < self.noise.cells, after - before, 0.0)
        possible = x + step >= 0
        return np.where(possible, own - _log_rise(np.asarray(x + 1.0), np.where(possible, step, 0)), -np.inf)


class _ChainWalk:
    """Chains side by side: counts by release, chain and category."""

    def __init__(self, a: Floats, parts: list[_ChainPart], x: Counts, rng: np.random.Generator) -> None:
        self.a, self.parts, self.x, self.rng = a, parts, x, rng

    @classmethod
    def start(
        cls, prior: Dirichlet | Beta, outcomes: Sequence[Outcome], size_prior: SizePrior, chains: int, rng: np.random.Generator
    ) -> "_ChainWalk":
        """Half of the chains begin with each release as it is reported, half with what all say together."""
        a, parts, counts = prior.concentration, [], []
        for one in outcomes:
            noise = one.mechanism.noise
            if noise is None:
                raise TooLargeError(
                    f"the releases leave too many counts possible to sum over, and draws need noise that is independent by category, which "
                    f"that of {one.mechanism.title} is not"
                )
            total = one.n if one.n is not None else max(sum(max(z, 0) for z in one.raw), 1)
            raw = one.clamped(one.n)
            shares = np.maximum(np.concatenate([raw, np.full(prior.k - len(raw), total - raw.sum())]), 0) + a / a.sum()
            reach = noise.kernel.width(_WINDOW_ROOM) + _WINDOW_ROOM * total**0.5
            parts.append(_ChainPart(noise, raw, None if one.n is not None else size_prior, reach))
            counts.append((total, shares))
        together = np.sum([shares for _, shares in counts], axis=0)
        x = np.empty((len(parts), chains, prior.k), dtype=np.int64)
        for row, (total, shares) in zip(x, counts, strict=True):
            for rows, p in ((row[: chains // 2], shares), (row[chains // 2 :], together)):
                rows[...] = rng.multinomial(total, p / p.sum(), size=len(rows))
        for row, part in zip(x, parts, strict=True):
            if part.private is not None and part.private.last is not None:
                row[row.sum(axis=1) > part.private.last] = 0
        return cls(a, parts, x, rng)

    def run(self, sweeps: int) -> Counts:
        """Go on for so many sweeps twice, and keep states of the second half: by chain, draw and category."""
        for _ in range(sweeps):
            self._sweep()
        kept = []
        for step in range(sweeps):
            self._sweep()
            if (step + 1) % (sweeps // _KEPT_STATES) == 0:
                kept.append(self.x.sum(axis=0))
        return np.stack(kept, axis=1)

    def _sweep(self) -> None:
        for r, part in enumerate(self.parts):
            self._exchange([r])
            if part.private is not None:
                self._resize(r, part, part.private)
        if len(self.parts) > 1:
            self._exchange(list(range(len(self.parts))))

    def _sizes(self, shape: tuple[int, ...], reach: float) -> Counts:
        """Steps of either sign, of all sizes up to `reach` alike on a logarithmic scale."""
        size = np.floor(np.exp(self.rng.random(shape) * np.log(max(reach, 2.0))))
        return np.asarray(np.where(self.rng.random(shape) < 0.5, size, -size), dtype=np.int64)

    def _exchange(self, releases: list[int]) -> None:
        """Move records between the categories of disjoint pairs, in one release or in several in proportion to their reaches."""
        k = len(self.a)
        order = self.rng.permutation(k)
        first, second = order[: k // 2], order[k // 2 : 2 * (k // 2)]
        longest = max(self.parts[r].reach for r in releases)
        size = self._sizes((self.x.shape[1], k // 2), longest)
        both, change = np.concatenate([first, second]), np.zeros(size.shape)
        pooled = self.x.sum(axis=0)[:, both]
        moves, moved = [], np.zeros(pooled.shape, dtype=np.int64)
        for r in releases:
            step = np.rint(size * (self.parts[r].reach / longest)).astype(np.int64)
            step = np.concatenate([step, -step], axis=1)
            old, part = self.x[r][:, both], self.parts[r]
            change += _paired(part.log_change(old, step, both))
            moves.append(step)
            moved += step
        change += _paired(_log_rise(self.a[both] + pooled, np.maximum(moved, -pooled)))
        accepted = np.log(self.rng.random(change.shape)) < change
        for r, step in zip(releases, moves, strict=True):
            self.x[r][:, both] += step * np.concatenate([accepted, accepted], axis=1)

    def _resize(self, r: int, part: _ChainPart, prior: SizePrior) -> None:
        """Add records to, or remove them from, one category of a release whose total is private."""
        chains = np.arange(self.x.shape[1])
        category = self.rng.integers(len(self.a), size=len(chains))
        step = self._sizes(chains.shape, part.reach)
        old, pooled = self.x[r][chains, category], self.x.sum(axis=0)
        n, total, a = self.x[r].sum(axis=1), pooled.sum(axis=1), self.a[category]
        possible = (old + step >= 0) & (n + step >= prior.first)
        step = np.where(possible, step, 0)
        change = part.log_change(old, step, category)
        with np.errstate(invalid="ignore"):
            change += prior((n + step).astype(np.float64)) - prior(n.astype(np.float64))
        change += _log_rise(n + 1.0, step) + _log_rise(a + pooled[chains, category], step) - _log_rise(self.a.sum() + total, step)
        accepted = possible & (np.log(self.rng.random(len(chains))) < change)
        self.x[r][chains, category] += step * accepted


def _log_rise(z: Floats, step: Counts) -> Floats:
    """ln Γ(z + step)/Γ(z). Two logarithms are subtracted as long as that leaves their digits."""
    found = np.asarray(gammaln(z + step) - gammaln(z))
    large = np.maximum(z, z + step) > _LARGE_GAMMA_ARGUMENT
    if large.any():
        found[large] = log_gamma_ratio(z[large], step[large])
    return found


def _paired(change: Floats) -> Floats:
    """The changes of the first and of the second categories of pairs, added up."""
    half = change.shape[1] // 2
    return np.asarray(change[:, :half] + change[:, half:])
