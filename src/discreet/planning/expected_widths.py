"""The expected width of the noise-aware intervals of a release, before anything is drawn, and of intervals without privacy.

The width is that of the equal-tailed 95 % interval of a category's probability, averaged over the categories or of the widest one. It is
expected over data from the prior predictive, or over data with shares that someone guesses. Both are functions of public numbers, so
choosing by them costs no privacy (docs/howto/planning.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, Self

import numpy as np

from discreet import limits
from discreet.analysis.error_laws import ComputedFloat, size_of, two_count_datasets
from discreet.arrays import Counts, Floats
from discreet.errors import InvalidInputError, TooLargeError
from discreet.inference.true_counts import noise_of_any_total
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.noise import CellNoise
from discreet.model.dirichlet import Beta, Dirichlet
from discreet.numerics.sum_rules import panel_nodes, stretched_rule
from discreet.planning.mixture_widths import interval_widths
from discreet.planning.outcome_widths import OutcomeReader
from discreet.text import MASS
from discreet.validation import Number, check_unlabelled, exact, shown

Method = Literal["exact sum", "quadrature", "simulation"]

_SHARP = Fraction(10**20)
"""Guessed shares are a Dirichlet with so large a concentration that data drawn from it have just these shares, up to chance."""
_FEW_KINDS, _FEW_COUNTS = 40, (6, 3)
"""Different categories up to which all counts of each, or many, are gone through; of more, fewer: the length of panels, and their nodes."""
_LISTED = 200
"""Records of two categories up to which all datasets and outcomes are gone through; beyond, nodes stand for them."""
_EXACT = 10**6
"""Records up to which the incomplete beta function is used where there is no noise; beyond, normal approximations are as good."""
_FAR = 25.0
"""Components that are e to this power less likely than the likeliest are left out."""
_DENSE_OUTCOMES, _PANEL_GROWTH, _NODES = 48, 4, 8
"""Outcomes that are all nodes at either end, how much longer each further panel is, and the nodes of each."""
_RARE = 1e-7
"""Outcomes of such a probability, and no more of them than that, are left out."""
_DRAWS, _FEWEST, _TARGETS = 400, 4, 3
"""Simulated outcomes, at least so many, and how many categories of each are looked at."""
_FEWEST_SEARCHED = 3
"""Outcomes at least where a search tries one value after the other, which many categories make slow."""
_ENOUGH = 30
"""Draws from which on the square of the width without privacy is a control too."""
_STILL = 1e-6
"""A control that varies less than this, relative to the width, is left out: what varies is rounding."""
_PUBLIC_COST, _PRIVATE_COST = 6_000, 1_000
"""Counts of all outcomes that are simulated: fewer outcomes where there are many categories, or where the total must be found too."""
_CERTAIN = 1e15
"""The least factor by which a count must be likelier than its neighbours, for each record and category, to be taken for the only one."""
_MANY_TARGETS = 40
"""Categories of each outcome that are looked at where few outcomes with many categories are simulated."""


class ExpectedWidth(ComputedFloat):
    """An expected width, in probability."""

    method: Method


@dataclass(frozen=True)
class Believed:
    """The expectation about the data: n records, with the prior's predictive or with guessed shares."""

    prior: Dirichlet | Beta
    n: int
    shares: tuple[Fraction, ...] | None = None

    @classmethod
    def of(cls, prior: Dirichlet | Beta, n: int, expect: Sequence[Number] | None) -> Self:
        """Checked: as many shares as categories, none negative, that add up to 1."""
        if expect is None:
            return cls(prior, n)
        check_unlabelled(expect, "expect")
        if isinstance(expect, (str, bytes)) or len(expect) != prior.k:
            given = shown(expect) if isinstance(expect, (str, bytes)) else shown(", ".join(map(str, expect)))
            fault = f"expect must have a share for each of the {prior.k} categories; got {given}"
            raise InvalidInputError(fault, in_shell=f"--{fault}")
        shares = tuple(exact(share, "a share of expect") for share in expect)
        total = sum(shares, Fraction(0))
        if min(shares) < 0 or abs(total - 1) > Fraction(1, 1000):
            fault = f"expect must be shares of at least 0 that add up to 1; these add up to {float(total):g}"
            raise InvalidInputError(fault, in_shell=f"--{fault}")
        return cls(prior, n, tuple(share / total for share in shares))

    @property
    def law(self) -> Dirichlet:
        """The distribution that the records' probabilities are drawn from."""
        if self.shares is None:
            return Dirichlet(self.prior.exact)
        return Dirichlet([max(share * _SHARP, 1 / _SHARP) for share in self.shares])

    @property
    def kinds(self) -> list[tuple[Fraction, Fraction]]:
        """Return for each category what tells it from others: its prior parameter, and that of the data."""
        return list(zip(self.prior.exact, self.law.exact, strict=True))


# --- without privacy --------------------------------------------------------------------------------------------------


def plain_width(believed: Believed, *, worst: bool = False) -> ExpectedWidth:
    """The expected width of the intervals of the true counts' own posterior: what there would be without privacy."""
    found = _plain_moments(believed)
    means = np.array([mean for mean, _ in found])
    every = believed.n <= limits.TABLED_RECORDS and len(set(believed.kinds)) <= _FEW_KINDS
    return ExpectedWidth(float(means.max() if worst else means.mean()), "exact sum" if every else "quadrature")


@lru_cache(maxsize=64)
def _plain_moments(believed: Believed) -> list[tuple[float, float]]:
    """Return for each category the means of the width without privacy and of its square, from few counts where many kinds differ."""
    kinds = list(dict.fromkeys(believed.kinds))
    few = len(kinds) > _FEW_KINDS
    found = [part for batch in ([kinds] if few else [[kind] for kind in kinds]) for part in _moments_of(believed, batch, few=few)]
    known = dict(zip(kinds, found, strict=True))
    return [known[kind] for kind in believed.kinds]


def _moments_of(believed: Believed, kinds: list[tuple[Fraction, Fraction]], *, few: bool) -> list[tuple[float, float]]:
    """The mean width of Beta(a + x, A - a + n - x), x a count of n records, and the mean of its square, for kinds of categories."""
    n, whole, data = believed.n, float(believed.prior.exact_total), believed.law.exact_total
    found = [_counts(n, Dirichlet([c, data - c]), few=few) for _, c in kinds]
    x, weight = (np.concatenate(part) for part in zip(*found, strict=True))
    a = np.repeat([float(a) for a, _ in kinds], [len(part) for part, _ in found])
    width = _plain(a, whole - a, n, x, exact=not few)
    starts = np.cumsum([0, *(len(part) for part, _ in found[:-1])])
    mean, square = (np.add.reduceat(weight * width**power, starts) for power in (1, 2))
    return list(zip(mean.tolist(), square.tolist(), strict=True))


def _plain(a: float | Floats, b: float | Floats, n: int, x: Floats, *, exact: bool = True) -> Floats:
    """The widths of the intervals of Beta(a + x, b + n - x)."""
    first, second = (a + x).reshape(-1, 1), (b + (n - x)).reshape(-1, 1)
    return interval_widths(np.ones_like(first), first, second, MASS, exact=exact and n <= _EXACT).reshape(x.shape)


def _counts(n: int, law: Dirichlet, *, few: bool = False) -> tuple[Floats, Floats]:
    """Return all first counts of n records, or nodes that stand for them, and their probabilities."""
    x, weight = two_count_datasets(law, n, -1 if few else limits.TABLED_RECORDS, _FEW_COUNTS if few else ())
    kept = weight > (1e-8 if few else 1e-12) * weight.max()
    return x[kept], weight[kept] / weight[kept].sum()


# --- with privacy -----------------------------------------------------------------------------------------------------


def expected_width(
    mechanism: Mechanism,
    *,
    n: int | None = None,
    expect: Sequence[Number] | None = None,
    worst: bool = False,
    rng: np.random.Generator | int = 0,
) -> ExpectedWidth:
    """Compute the expected width of the 95 % intervals that readers of a release will compute, averaged over the categories.

    Args:
        n: how many records are expected where n is private.
        expect: public guesses of the categories' shares; without them data come from the prior predictive.
        worst: whether the width is that of the category which is widest.

    Raises TooLargeError for what is not computed at this size. Where outcomes are too many to list they are simulated.
    """
    records = size_of(mechanism, n)
    return width_of(mechanism, Believed.of(mechanism.prior, records, expect), worst=worst, rng=np.random.default_rng(rng))


def width_of(
    mechanism: Mechanism,
    believed: Believed,
    *,
    worst: bool = False,
    effort: float = 1.0,
    coarse: bool = False,
    rng: np.random.Generator | None = None,
) -> ExpectedWidth:
    """`expected_width` of checked arguments; a simulation has `effort` times as many draws.

    With `coarse` the Betas of two categories are taken by the approximations that simulations take, which are twice as fast or more and
    right to a part in ten thousand.
    """
    if mechanism._levels is not None:
        raise TooLargeError(f"the widths of {mechanism.title} are compared level by level: compare(..., levels=) simulates them")
    noise = mechanism.noise if mechanism.n is not None else noise_of_any_total(mechanism)
    if noise is None:
        return _listed_width(mechanism, believed, worst=worst)
    if mechanism.k == 2 and noise.blocks:
        return _two_categories(believed).width(float(mechanism.epsilon), coarse=coarse)
    if _is_silent(noise, mechanism.k, believed.n):
        return plain_width(believed, worst=worst)
    if noise.cells < mechanism.k and mechanism.k > limits.WIDTH_CATEGORIES:
        raise TooLargeError(
            f"the widths of {mechanism.title} are simulated for up to {limits.WIDTH_CATEGORIES} categories: one count has no noise of its "
            "own, and can be anything; LatticeGeometric has no such limit"
        )
    generator = np.random.default_rng(0) if rng is None else rng
    candidates = _widest(believed) if worst else [None]
    return max(_simulated_width(mechanism, noise, believed, only, effort, generator) for only in candidates)


def _is_silent(noise: CellNoise, k: int, n: int) -> bool:
    """Return whether there is next to no noise: a count that is 1 off is so unlikely that no reader believes in it, whatever the prior
    says.
    """
    beside = noise.log_factor(np.array([-1.0, 1.0])) - noise.log_factor(np.array([0.0]))
    return bool(beside.max() < -np.log(_CERTAIN * n * k))


def _widest(believed: Believed) -> list[int | None]:
    """A category of each of the two kinds that are widest without privacy: noise adds about as much to each, so one stays widest."""
    means = [mean for mean, _ in _plain_moments(believed)]
    kinds = {kind: i for i, kind in enumerate(believed.kinds)}
    return [*sorted(kinds.values(), key=lambda i: -means[i])[:2]]


# --- two categories, n public ------------------------------------------------------------------------------------------


@lru_cache(maxsize=16)  # the sizes of a curve, and the one that it is drawn for
def _two_categories(believed: Believed) -> "_TwoCategories":
    return _TwoCategories(believed)


class _TwoCategories:
    """The outcomes of two categories with a public n, or nodes that stand for them, and for each the counts that it may come from."""

    def __init__(self, believed: Believed) -> None:
        self._n, self._prior = believed.n, Dirichlet(believed.prior.exact)
        z, stands_for = _outcomes(believed.n)
        mass = np.exp(believed.law.predictive(self._n)._log_mass(np.stack([z, self._n - z], axis=-1))) * stands_for
        kept = (mass > _RARE) | (stands_for > _RARE * self._n) | (z == 0) | (z == self._n)
        self._z, self._stands_for = z[kept], stands_for[kept]
        every = [(np.arange(self._n + 1.0), np.ones(self._n + 1))] * len(self._z) if self._n <= _LISTED else None
        self._nodes = every or [panel_nodes(self._n, [float(z)]) for z in self._z]
        self._reads = self._logs(self._prior)
        self._data = self._reads if believed.shares is None else self._logs(believed.law)

    def _logs(self, law: Dirichlet) -> list[Floats]:
        """The log probabilities of all nodes of each outcome: most nodes are those of many outcomes, and are looked at once."""
        counts, place = np.unique(np.concatenate([x for x, _ in self._nodes]), return_inverse=True)
        mass = law.predictive(self._n)._log_mass(np.stack([counts, self._n - counts], axis=-1))[place]
        ends = np.cumsum([len(x) for x, _ in self._nodes])[:-1]
        return [logs + np.log(width) for logs, (_, width) in zip(np.split(mass, ends), self._nodes, strict=True)]

    def width(self, epsilon: float, *, coarse: bool) -> ExpectedWidth:
        """Σ_z P(z) width(z): beyond 0 and n outcomes say no more than these two, which have the probability of all beyond."""
        a, b = self._prior.concentration
        parts, chance = [], np.empty(len(self._z))
        for i, (z, (x, _), reads, data) in enumerate(zip(self._z, self._nodes, self._reads, self._data, strict=True)):
            noise = -epsilon * np.abs(x - z)
            logs = noise + data
            chance[i] = logs.max() + np.log(np.exp(logs - logs.max()).sum())
            weight = reads + noise
            weight = weight - weight.max()
            kept = weight > -_FAR
            parts.append((x[kept], np.exp(weight[kept])))
        ends = (self._z == 0) | (self._z == self._n)
        chance = chance - np.where(ends, np.log(-np.expm1(-epsilon)), 0.0)
        chance = np.exp(chance - chance.max()) * self._stands_for
        longest = max(len(x) for x, _ in parts)
        counts, weights = np.zeros((len(parts), longest)), np.zeros((len(parts), longest))
        for i, (x, weight) in enumerate(parts):
            counts[i, : len(x)], weights[i, : len(x)] = x, weight
        kept = chance > 1e-9 * chance.max()
        exact = self._n <= (_LISTED if coarse else _EXACT)
        widths = interval_widths(weights[kept], a + counts[kept], b + (self._n - counts[kept]), MASS, exact=exact)
        return ExpectedWidth(float(chance[kept] @ widths / chance[kept].sum()), "exact sum" if self._n <= _LISTED else "quadrature")


def _outcomes(n: int) -> tuple[Floats, Floats]:
    """Noisy counts from 0 to n, or nodes, and how many each stands for: panels that grow away from both ends."""
    if n <= _LISTED:
        return np.arange(n + 1.0), np.ones(n + 1)
    half, z, width = (n + 1) // 2, [np.arange(float(_DENSE_OUTCOMES))], [np.ones(_DENSE_OUTCOMES)]
    start, size = _DENSE_OUTCOMES, _DENSE_OUTCOMES
    while start < half:
        end = min(start + size, half)
        nodes, weights = _whole_nodes(start, end)
        z.append(nodes)
        width.append(weights)
        start, size = end, size * _PANEL_GROWTH
    low, low_width, middle = np.concatenate(z), np.concatenate(width), np.full(1 - n % 2, n / 2)
    return np.concatenate([low, middle, n - low[::-1]]), np.concatenate([low_width, np.ones_like(middle), low_width[::-1]])


def _whole_nodes(start: int, end: int) -> tuple[Floats, Floats]:
    """Some of the integers from start to before end, and weights that sum polynomials over all of these exactly, up to a degree."""
    (nodes,), (weights,) = stretched_rule(np.array([float(start)]), np.array([float(end - start)]), _NODES)
    whole, middle = np.unique(np.rint(nodes)), 0.5 * (start + end - 1.0)
    degree, half = len(whole) - 1, 0.5 * (end - start)
    sums = weights @ np.polynomial.legendre.legvander((nodes - middle) / half, degree)
    return whole, np.asarray(np.linalg.solve(np.polynomial.legendre.legvander((whole - middle) / half, degree).T, sums), dtype=np.float64)


# --- mechanisms whose outcomes are listed -------------------------------------------------------------------------------


def _listed_width(mechanism: Mechanism, believed: Believed, *, worst: bool) -> ExpectedWidth:
    """Σ_z P(z) width(z) over a list of all outcomes, each with the probability of every dataset."""
    if not mechanism.space.is_few(limits.WIDTH_CANDIDATES):
        raise TooLargeError(
            f"where noise depends on the data, the width of the intervals is found from all outcomes and datasets, done up to "
            f"{limits.WIDTH_CANDIDATES:,} of each; LatticeGeometric and the Laplace family have one at any size"
        )
    points, n = mechanism.space.points(), mechanism.space.total
    table = np.array([listed.log_probability for listed in mechanism._listed_laws()])
    chance = np.exp(table + believed.law.predictive(n).logpmf(points)[:, None]).sum(axis=0)
    logs = table + mechanism.prior.predictive(n).logpmf(points)[:, None]
    weight = np.exp(logs - logs.max(axis=0))
    x, whole, means = np.arange(n + 1.0), float(mechanism.prior.exact_total), {}
    for i, kind in enumerate(believed.kinds):
        if kind not in means:
            by_count = np.zeros((n + 1, weight.shape[1]))
            np.add.at(by_count, points[:, i], weight)
            a = np.broadcast_to(float(kind[0]) + x, by_count.T.shape)
            widths = interval_widths(by_count.T, a, whole + n - a, MASS, exact=True)
            means[kind] = float(chance @ widths / chance.sum())
    every = [means[kind] for kind in believed.kinds]
    return ExpectedWidth(max(every) if worst else sum(every) / len(every), "exact sum")


# --- simulation ---------------------------------------------------------------------------------------------------------


def _simulated_width(
    mechanism: Mechanism, noise: CellNoise, believed: Believed, only: int | None, effort: float, rng: np.random.Generator
) -> ExpectedWidth:
    """Datasets and noise are drawn, and read as a reader will. What the width without privacy explains is not left to chance."""
    k, n = mechanism.k, believed.n
    cost = _PUBLIC_COST if mechanism.n is not None else _PRIVATE_COST
    draws = max(_FEWEST if effort >= 1.0 else _FEWEST_SEARCHED, int(effort * min(_DRAWS, cost // (k + 5))))
    counts = believed.law.predictive(n).sample(draws, rng)
    raw = counts[:, : noise.cells] + noise.simulate(draws, rng)
    targets = _targets(draws, k, only, rng)
    reader = OutcomeReader(mechanism.prior.concentration, mechanism.space.n, noise, n)
    width = reader.widths(raw, targets, MASS)
    a, whole = mechanism.prior.concentration, float(mechanism.prior.exact_total)
    x = np.take_along_axis(counts, targets, axis=1).astype(np.float64)
    plain = _plain(a[targets], whole - a[targets], n, x)
    known = np.array(_plain_moments(believed))[targets]
    scale = known[..., 0].mean()
    controls = np.stack([(plain - known[..., 0]).mean(axis=1) / scale, (plain**2 - known[..., 1]).mean(axis=1) / scale**2], axis=1)
    return controlled(width.mean(axis=1), controls if draws >= _ENOUGH else controls[:, :1])


def _targets(draws: int, k: int, only: int | None, rng: np.random.Generator) -> Counts:
    """The categories of each outcome that are looked at: one of a kind, or some at random, each category as often as any other."""
    if only is not None:
        return np.full((draws, 1), only)
    many = min(k, _TARGETS if draws >= 2 * _ENOUGH else _MANY_TARGETS)
    decks = -(-draws * many // k)
    return np.argsort(rng.random((decks, k)), axis=1).ravel()[: draws * many].reshape(draws, many)


def controlled(values: Floats, controls: Floats) -> ExpectedWidth:
    """The mean of the values, corrected by controls whose means are 0, by least squares. One that hardly varies explains nothing."""
    controls = controls[:, controls.std(axis=0) > _STILL]
    design = np.concatenate([np.ones((len(values), 1)), controls], axis=1)
    found: Any = np.linalg.lstsq(design, values, rcond=None)[0]
    left = values - design @ found
    spread = float(np.sqrt(left @ left / max(1, len(values) - design.shape[1]) / len(values)))
    return ExpectedWidth(float(found[0]), "simulation", standard_error=spread)
