"""The widths of intervals in groups of a table that are read together: simulated tables, read as readers will (docs/howto/planning.md).

Shares of groups come from one Dirichlet(strength · mean), whose strength and mean are drawn from the prior that readers have, or guessed.
What the width without privacy under a known law explains is not left to chance: its mean over all tables is known.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import cast

import numpy as np

from discreet.arrays import Counts, Floats
from discreet.errors import InvalidInputError
from discreet.inference.pooling.mixtures import CommonLaw
from discreet.inference.pooling.pooled import PooledTable
from discreet.inference.tables.posterior import ReleasedTable
from discreet.mechanisms.lattice import LatticeGeometric
from discreet.model.dirichlet import Dirichlet
from discreet.planning.expected_widths import ExpectedWidth, controlled
from discreet.planning.mixture_widths import interval_widths
from discreet.planning.width_plans import WidthQuestion
from discreet.record.release import Release
from discreet.text import MASS
from discreet.validation import Number, check_moderate, check_records

POOLED_GROUPS = 20
"""The most groups of a simulated table: with more the common law is known better, and widths are a little smaller than planned."""
_INTERVALS = 4
"""Groups of a table whose intervals are computed; all are alike."""
_TABLES, _FEWEST_TABLES = 40, 12
"""Simulated tables, and the fewest where a search tries one value after the other."""
_DEAR, _DEARER = 2, 5
"""The factors by which fewer tables are simulated with three or more categories, and where nothing is public."""
_LAWS = 100
"""Common laws that stand for all that a table leaves possible."""
_KNOWN_DRAWS = 10_000
"""Draws of one group for the means of controls."""
_NO_SHARE = 1e-9
"""The number that stands for a guessed share of 0."""
_WITHOUT_PRIVACY = Fraction(50)
"""An ε whose noise changes no count."""


@dataclass(frozen=True)
class PooledQuestion(WidthQuestion):
    """The width in one of some groups of n records each that are read together, as a function of n and ε."""

    groups: int = POOLED_GROUPS
    strength: Fraction | None = None
    """The strength with which groups are guessed to be alike; None: as the prior of readers says."""

    def width(self, n: int, epsilon: Fraction, effort: float = 1.0, *, coarse: bool = False) -> ExpectedWidth:
        if self.progress is not None:
            self.progress(0, 0, f"{self.groups} groups of n = {n}, ε = {float(epsilon):g}")
        every = [_widths(table.pooled()) for table in self._tables(n, epsilon, self._many(0.0 if coarse else effort))]
        return self._found(n, np.array(every))

    def plain(self, n: int) -> ExpectedWidth:
        """The width in groups that are read together without noise, from the same tables."""
        return replace(self, public="total", progress=None).width(n, _WITHOUT_PRIVACY, coarse=True)

    def alone(self, n: int, epsilon: Fraction) -> ExpectedWidth:
        """The width if each group is read by itself, from the same tables."""
        tables = self._tables(n, epsilon, self._many(0.0))
        every = [np.diff(table.figures(MASS), axis=2)[:_INTERVALS, :, 0].mean(axis=0) for table in tables]
        return self._found(n, np.array(every))

    def prior_width(self) -> float:
        """The width in a group of which nothing is known."""
        rng = np.random.default_rng(0)
        shares = np.array([rng.dirichlet(law) for law in _laws(self.prior.k, _KNOWN_DRAWS, None, None)])
        tail = 0.5 * (1.0 - MASS)
        return float(np.diff(np.quantile(shares, [tail, 1.0 - tail], axis=0), axis=0).mean())

    def _many(self, effort: float) -> int:
        dear = (_DEAR if self.prior.k > 2 else 1) * (_DEARER if self.public == "nothing" else 1)
        return max(_FEWEST_TABLES, int(effort * _TABLES)) if dear == 1 else max(_FEWEST_TABLES // 2, _TABLES // dear)

    @cached_property
    def _simulated(self) -> int:
        return min(self.groups, POOLED_GROUPS)

    def _counts(self, n: int, tables: int) -> Iterator[tuple[Floats, Counts, np.random.Generator]]:
        """The law and the counts of each table, and a generator for its noise: the same for every ε."""
        for j, law in enumerate(_laws(self.prior.k, tables, self.strength, self.shares(n))):
            rng = np.random.default_rng(j)
            yield law, np.array([rng.multinomial(n, share) for share in rng.dirichlet(law, self._simulated)]), rng

    def _tables(self, n: int, epsilon: Fraction, tables: int) -> Iterator[ReleasedTable]:
        """Yield what readers will have: their posteriors of simulated releases."""
        sizes, by = [n] * self._simulated if self.public == "total" else None, {"group": list(range(self._simulated))}
        made = LatticeGeometric(Dirichlet(self.prior.exact), sizes, epsilon, by=by)
        for _, counts, rng in self._counts(n, tables):
            noisy = counts + _noise(made, counts.shape, rng)
            yield cast(ReleasedTable, Release(made, made.guarantee, noisy, noisy).noise_aware())

    def _found(self, n: int, widths: Floats) -> ExpectedWidth:
        """The mean of widths, by table and category, with what the width under a known law without noise explains."""
        plain = np.array([_known_widths(law, counts[:_INTERVALS]) for law, counts, _ in self._counts(n, len(widths))])
        controls = plain - _known_means(self.prior.k, n, self.strength, self.shares(n))
        every = [controlled(values, controls) for values in (widths.T if self.worst else [widths.mean(axis=1)])]
        return max(every)


def pooled_question(ask: WidthQuestion, groups: int, strength: Number | None) -> PooledQuestion:
    """A question about groups that are read together; refused are other mechanisms than that of tables, and fewer than two groups."""
    if ask.name != "LatticeGeometric":
        raise InvalidInputError(f"pooled is about tables, which LatticeGeometric releases: leave out mechanism {ask.name}")
    known = None if strength is None else Fraction(check_moderate(strength, "expect_strength"))
    if (many := check_records(groups, "pooled")) < 2:
        raise InvalidInputError("pooled must be how many groups are read together, 2 or more, got 1")
    return PooledQuestion(ask.name, ask.make, ask.prior, ask.public, ask.expect, ask.worst, ask.progress, many, known)


def _noise(made: LatticeGeometric, shape: tuple[int, ...], rng: np.random.Generator) -> Counts:
    """The noise of a table. But for three and more categories with public sizes it falls with ε in every cell, as searches like it."""
    groups, k = shape
    if made.n is not None and k > 2:
        return made.noise.simulate(1, rng).reshape(shape)
    first, second = np.floor(-np.log1p(-rng.random((2, groups, k if made.n is None else 1))) / float(made.epsilon))
    noise = (first - second).astype(np.int64)
    return noise if made.n is None else np.concatenate([noise, -noise], axis=1)


def _laws(k: int, many: int, strength: Fraction | None, shares: tuple[float, ...] | None) -> Floats:
    """The parameters of the common laws of so many tables: strengths are spread evenly over their prior, s = u/(1 - u)."""
    u = (np.random.default_rng(many).permutation(many) + 0.5) / many
    s = u / (1.0 - u) if strength is None else np.full(many, float(strength))
    mean = np.random.default_rng(0).dirichlet(np.ones(k), many) if shares is None else np.maximum(shares, _NO_SHARE)
    return np.asarray(s[:, None] * mean)


def _known_widths(law: Floats, counts: Counts) -> Floats:
    """The mean width, and the mean of its square, of the intervals of groups with these counts without noise, if their law is known."""
    first = law + counts
    rest = first.sum(axis=1, keepdims=True) - first
    widths = interval_widths(np.ones((first.size, 1)), first.reshape(-1, 1), rest.reshape(-1, 1), MASS)
    return np.array([widths.mean(), np.square(widths).mean()])


@lru_cache(maxsize=64)
def _known_means(k: int, n: int, strength: Fraction | None, shares: tuple[float, ...] | None) -> Floats:
    """The means of both over all common laws."""
    rng, laws = np.random.default_rng(0), _laws(k, _KNOWN_DRAWS, strength, shares)
    counts = np.array([rng.multinomial(n, rng.dirichlet(law)) for law in laws])
    return _known_widths(laws, counts)


def _widths(pooled: PooledTable) -> Floats:
    """The widths of the intervals of each category, averaged over the first groups; few common laws stand for all."""
    law = pooled._law
    order = np.argsort(law.alpha.sum(axis=1))
    places = np.searchsorted(np.cumsum(law.weight[order]), (np.arange(_LAWS) + 0.5) / _LAWS * law.weight.sum())
    part = CommonLaw(law.cells.rows(pooled._differing[1][:_INTERVALS]), law.alpha[order[places]], np.full(_LAWS, 1.0 / _LAWS))
    mean, variance, *_ = part.moments()
    tail, categories = 0.5 * (1.0 - MASS), range(1 if mean.shape[1] == 2 else mean.shape[1])
    ends = [part.intervals(c, (mean[:, c], variance[:, c]), tail) for c in categories]
    widths = np.array([(high - low).mean() for low, high, _ in ends])
    return np.repeat(widths, 2) if len(widths) == 1 else widths
