"""Posteriors of groups as mixtures over the parameters of their common law: moments, intervals, one group's law, and joint draws."""

from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.betas.lines import BetaLines
from discreet.betas.mixtures import BetaMixture
from discreet.betas.planes import PlaneSums
from discreet.betas.search import equal_tailed, matched_logits, mixed
from discreet.counts.batched.arrays import precision
from discreet.inference.draws import dirichlet_draws
from discreet.inference.pooling.cells import GivenShares, PooledCells

_NEGLIGIBLE_COMPONENTS = 1e-10
"""Weight of the smallest components that are left out of the mixture of one group."""
_SEARCHED = 1 << 21
"""Terms of mixtures that are searched together for quantiles."""
_LAWS_TOGETHER = 1 << 18
"""Counts of all groups and laws that are worked on together, and should stay in a processor's cache."""
_WORTH_A_THREAD = 1 << 18
"""Products of counts from which on two pieces of work are done at a time."""
Piece = TypeVar("Piece")
Result = TypeVar("Result")


def each_of(work: Callable[[Piece], Result], pieces: list[Piece], size: int) -> list[Result]:
    """Return what `work` gives for pieces of this size, two at a time if they are large."""
    if size < _WORTH_A_THREAD or len(pieces) < 2:
        return [work(piece) for piece in pieces]
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(work, pieces))


def some_laws(cells: PooledCells, laws: int) -> list[slice]:
    """Laws in pieces that are worked on together, as few or as many as the groups leave room for."""
    step = max(1, _LAWS_TOGETHER // (cells.log_likelihood.size * (1 if cells.sizes is not None else cells.width // 8 + 1)))
    return [slice(start, start + step) for start in range(0, laws, step)]


def log_evidences(cells: PooledCells, alpha: Floats, *, shares: bool = False) -> Floats:
    """The log evidence of every group, a column each, given parameters, a row each; or given the shares themselves."""

    def given(some: slice) -> Floats:
        law = cells.with_shares(alpha[some]) if shares else cells.at(alpha[some])
        return law.log_evidence.reshape(-1, len(cells))

    return np.concatenate(each_of(given, some_laws(cells, len(alpha)), cells.work))


@dataclass(frozen=True, eq=False)
class CommonLaw:
    """Groups, and parameters of the law that their shares come from with the posterior probability of each."""

    cells: PooledCells
    alpha: Floats
    weight: Floats

    def moments(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Return, by group and category, mean and variance of shares and of counts, and how much of the first lies between laws."""
        k = self.alpha.shape[1]

        def given(some: slice) -> tuple[Floats, Floats]:
            laws = self.cells.at(self.alpha[some])
            each = np.stack([laws.moments([c]) for c in range(k)], axis=-1).reshape(4, -1, len(self.cells), k)
            return np.einsum("h,mhgc->mgc", self.weight[some], each), np.einsum("h,hgc->gc", self.weight[some], each[0] ** 2)

        found = each_of(given, some_laws(self.cells, len(self.alpha)), self.cells.work)
        mean, square, count, count_square = np.sum([one for one, _ in found], axis=0)
        between = np.sum([one for _, one in found], axis=0)
        return mean, square - mean**2, count, np.maximum(count_square - count**2, 0.0), np.maximum(between - mean**2, 0.0)

    def intervals(self, category: int, moments: tuple[Floats, Floats], tail: float) -> tuple[Floats, Floats, Floats]:
        """The points with probability `tail` below and above them in each group, and how far these probabilities are off at most.

        `moments` are the mean and the variance of the share of the category.
        """
        terms = self.cells.width if self.cells.sizes is not None else self.cells.width**2
        step = max(1, _SEARCHED // (terms * len(self.alpha)))

        def some(rows: Counts) -> tuple[Floats, Floats, Floats]:
            part = CommonLaw(self.cells.rows(rows), self.alpha, self.weight)
            parts, error = [], np.zeros(len(rows))
            for few in some_laws(part.cells, len(self.alpha)):
                evaluate, off = _evaluated(part.cells.at(self.alpha[few]), category, tail)
                parts.append((evaluate, self.weight[few]))
                error += self.weight[few] @ off.reshape(-1, len(rows))
            guesses = matched_logits(moments[0][rows], moments[1][rows], tail)
            exact = partial(part.mixture, chosen=[category], label=category)
            low, high, wrong = equal_tailed(mixed(parts, len(rows)), guesses, tail, precision(tail), exact)
            return low, high, wrong + error

        pieces = [np.arange(start, min(start + step, len(self.cells))) for start in range(0, len(self.cells), step)]
        low, high, error = (np.concatenate(each) for each in zip(*each_of(some, pieces, _WORTH_A_THREAD), strict=True))
        return low, high, error

    def mixture(self, row: int, chosen: list[int], label: Hashable) -> BetaMixture:
        """The law of the share of some categories together in one group."""
        cells, parts = self.cells.rows(np.array([row])), []
        for some in some_laws(cells, len(self.alpha)):
            weight, a, b = _components(cells.at(self.alpha[some]), chosen)
            weight = weight * self.weight[some][:, None]
            held = weight > 0.0
            parts.append(np.stack([weight[held], a[held], b[held]]))
        return of_components(np.concatenate(parts, axis=1), label)

    def sample(self, draws: int, rng: np.random.Generator) -> tuple[Counts, Floats]:
        """Joint draws of the counts and the shares of all groups: by draw, group and category. All groups of a draw have one law."""
        shape = (draws, len(self.cells), self.alpha.shape[1])
        counts, shares = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        node = rng.choice(len(self.alpha), draws, p=self.weight)
        kinds, which = np.unique(self.cells.possible, axis=0, return_inverse=True)
        for h in np.unique(node).tolist():
            held = np.flatnonzero(node == h)
            found = counts[held] = self.cells.at(self.alpha[h][None]).sample(len(held), rng)
            for kind, can in enumerate(kinds):
                places = np.ix_(held, np.flatnonzero(which.ravel() == kind), np.flatnonzero(can))
                shares[places] = dirichlet_draws(self.alpha[h][can] + found[:, places[1].ravel()][..., can], rng)
        return counts, shares


def _evaluated(law: GivenShares, category: int, tail: float) -> tuple[Callable[..., tuple[Floats, Floats]], Floats]:
    """Return what a search for quantiles looks at, and how far off it may be, given the common law."""
    if law.cells.sizes is not None:
        return law.lines([category]).evaluate(tail, precision(tail)), np.zeros(len(law.cells))
    sums = PlaneSums(law.planes([category]))
    return sums.beyond, sums.error


def _components(law: GivenShares, chosen: list[int]) -> tuple[Floats, Floats, Floats]:
    """Weights, which add up to 1, and parameters of the Betas of one group, given several common laws, a row each."""
    if law.cells.sizes is None:
        planes = law.planes(chosen)
        x, r = np.arange(planes.of_count.shape[1])[:, None], np.arange(planes.of_rest.shape[1])
        weight = planes.of_count[:, :, None] * planes.of_rest[:, None, :] * planes.of_sum[:, x + r]
        a, b = ((one + low)[:, None, None] + step for one, low, step in ((planes.a, planes.first, x), (planes.b, planes.least, r)))
        a, b = (np.broadcast_to(each, weight.shape).reshape(len(weight), -1) for each in (a, b))
        weight = weight.reshape(len(weight), -1)
        return weight / weight.sum(axis=1, keepdims=True), a, b
    lines: BetaLines = law.lines(chosen)
    x = lines.first[:, None] + np.arange(lines.weight.shape[1])
    inside = x <= lines.n[:, None]
    return lines.weight * inside, lines.a[:, None] + x, lines.b[:, None] + np.where(inside, lines.n[:, None] - x, 0)


def of_components(parts: Floats, label: Hashable) -> BetaMixture:
    """The mixture of components with these weights and parameters, one a column, without the smallest."""
    order = np.argsort(parts[0])
    sums = np.cumsum(parts[0, order])
    kept = order[np.searchsorted(sums, _NEGLIGIBLE_COMPONENTS * sums[-1]) :]
    dropped = 1.0 - float(parts[0, kept].sum() / sums[-1])
    return BetaMixture(parts[0, kept], parts[1, kept], parts[2, kept], label, max(dropped, 0.0))
