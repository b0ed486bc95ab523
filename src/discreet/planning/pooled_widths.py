"""Plans by simulated tables that are read as readers will: widths in groups that are read together, and the power of a Bayes factor.

Shares of groups come from one Dirichlet(strength · mean), whose strength and mean are drawn from the prior that readers have, or guessed.
What the width without privacy under a known law explains is not left to chance: its mean over all tables is known. The power
of a Bayes factor is how often that of separate shares against common ones will be above a number (docs/howto/planning.md, pooling.md).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, cast

import numpy as np
from scipy.stats import binom

from discreet import limits
from discreet.analysis.error_laws import ComputedFloat
from discreet.arrays import Counts, Floats
from discreet.errors import InvalidInputError
from discreet.inference.pooling.evidence import bayes_factor
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
from discreet.validation import Number, check_moderate, check_records, exact

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


_DRAWN, _DRAWN_OF_MANY = 400, 100
"""Outcomes that are drawn, of two categories and of more, whose Bayes factors are draws themselves."""


def bayes_factor_power(mechanism: Any, shares: Sequence[Sequence[Number]], *, above: Number = 1) -> ComputedFloat:
    """The probability that `bayes_factor` of a release will be above a number, if its groups have these shares.

    With the same shares in every group it is the type-I error of taking the answer to depend on the group, and with others the power.

    Args:
        mechanism: A `LatticeGeometric` with `by=` and the size of every group. No data are looked at.
        shares: For each group the shares of all categories, which add up to 1.
        above: The Bayes factor from which on answer and group are taken to be dependent.

    Returns:
        The probability: a sum over all outcomes where two categories have few, and otherwise simulated, with its standard error.

    Raises:
        InvalidInputError: The mechanism has no public sizes of groups, or the shares do not fit its groups and categories.
    """
    space = mechanism._table if isinstance(mechanism, LatticeGeometric) and mechanism.by is not None else None
    if space is None or space.sizes is None:
        raise InvalidInputError("bayes_factor_power needs a LatticeGeometric with by= and n= the size of every group")
    given = [[exact(share, "shares") for share in row] for row in shares]
    if [len(row) for row in given] != [mechanism.k] * len(space.sizes) or any(min(row) < 0 or sum(row) != 1 for row in given):
        raise InvalidInputError(
            f"shares must have {mechanism.k} shares of at least 0 that add up to 1 for each of {len(space.sizes)} groups"
        )
    least, law = float(np.log(float(check_moderate(above, "above")))), np.array(given, dtype=np.float64)
    log_factor = _TableFactors(mechanism)
    if mechanism.k == 2 and np.prod([n + 1.0 for n in space.sizes]) <= limits.FACTOR_OUTCOMES:
        return ComputedFloat(sum(p for z, p in _listed(mechanism, space.sizes, law) if log_factor(z) > least), "exact sum")
    draws, rng = _DRAWN if mechanism.k == 2 else _DRAWN_OF_MANY, np.random.default_rng(0)
    counts = np.stack([rng.multinomial(n, row, draws) for n, row in zip(space.sizes, law, strict=True)], axis=1)
    noisy = counts + mechanism.noise.simulate(draws, rng).reshape(counts.shape)
    rate = float(np.mean([log_factor(z) > least for z in noisy]))
    near = (rate * draws + 1.0) / (draws + 2.0)  # an error that is not 0 where all draws say the same
    return ComputedFloat(rate, "simulation", standard_error=float(np.sqrt(near * (1.0 - near) / draws)))


def _listed(mechanism: Any, sizes: Sequence[int], law: Floats) -> Iterator[tuple[Counts, float]]:
    """List all outcomes of two categories with their probabilities; what is beyond 0 or n says the same as 0 or n, and is put together
    there.
    """
    q, chances = float(np.exp(-float(mechanism.epsilon))), []
    for n, (share, _) in zip(sizes, law, strict=True):
        x = np.arange(n + 1)
        noise = q ** np.abs(x[:, None] - x) * ((1.0 - q) / (1.0 + q))
        noise[:, [0, n]] = q ** np.stack([x, n - x], axis=1) / (1.0 + q)
        chances.append(binom.pmf(x, n, share) @ noise if n else np.ones(1))
    for z in product(*(range(n + 1) for n in sizes)):
        first = np.array(z)
        yield np.stack([first, np.array(sizes) - first], axis=1), float(np.prod([row[i] for row, i in zip(chances, z, strict=True)]))


class _TableFactors:
    """Logarithms of Bayes factors of noisy tables; groups of one size may change places."""

    def __init__(self, mechanism: Any) -> None:
        self._mechanism, self._known = mechanism, dict[tuple[tuple[int, ...], ...], float]()

    def __call__(self, noisy: Counts) -> float:
        key = tuple(sorted(map(tuple, np.column_stack([self._mechanism._table.sizes, noisy]).tolist())))
        if key not in self._known:
            self._known[key] = bayes_factor(Release(self._mechanism, self._mechanism.guarantee, noisy, noisy).noise_aware()).log
        return self._known[key]
