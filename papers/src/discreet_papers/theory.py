"""The papers' accuracy theory, as functions that return both sides and whether it holds for the parameters given.

Two categories throughout, as in the papers. 000 and 001 name the documents: 000 "Tailoring Differentially Private Bayesian Inference to
Distance Between Distributions", 001 "Differentially Private Bayesian Inference". One side of every statement is the exact law of the
mechanism. Their EHD uses sqrt(1 - π/4) for the global sensitivity of every prior, and so does it here unless told otherwise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import exp, expm1, isclose, log, log1p, nan, pi, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincc, gammaln

from discreet.analysis.dataset_errors import Errors
from discreet.analysis.error_laws import ErrorLaw, error_law
from discreet.arrays import Counts, Floats
from discreet.errors import InvalidInputError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.hellinger import HellingerSmooth
from discreet.mechanisms.laplace import LaplaceDimension, LaplaceHistogram, LaplaceZhang
from discreet.model.dirichlet import Beta, Dirichlet
from discreet.model.distances import hellinger, kl, renyi
from discreet.model.sensitivity import local_sensitivity
from discreet.validation import Number, check_counts, check_positive, check_share

__all__ = [
    "PAPER_SENSITIVITY",
    "Inequality",
    "Measure",
    "Sizes",
    "TableCell",
    "accuracy_table",
    "actual_crossover",
    "corollary_4_4_1",
    "corollary_4_5_1",
    "corollary_4_5_2",
    "corollary_4_5_3",
    "l1_accuracy",
    "more_likely_sizes",
    "theorem_4_5",
    "utility_entry",
    "utility_reach",
    "utility_table",
]

PAPER_SENSITIVITY = sqrt(1.0 - pi / 4.0)
"""The papers' global sensitivity of the Hellinger distance; right for prior parameters of 1 and n = 1."""

Relation = Literal["<", "<=", "=", ">=", ">"]
Measure = Literal["H", "KL", ""]
Prior = Dirichlet | Beta
_EQUAL = 1e-9
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Inequality:
    """A statement `left relation right`, made under a premise, with both sides evaluated."""

    claim: str
    """Where it is stated, and what each side is."""
    left: float
    relation: Relation
    right: float
    premise: bool = True
    """Whether the parameters satisfy what the statement asks of them."""
    crossover: float | None = None
    """The number of records that the premise compares n with."""
    measure: Measure = ""
    """The distance it is about, where there are statements about several."""
    margin: float | None = None
    """How far the relation is from failing, where that was computed without cancellation: it decides where the sides' digits do not."""

    @property
    def true(self) -> bool:
        """Whether the relation is true, premise or not; a side that is not a number makes it false. No slack."""
        if self.margin is not None:
            return self.margin >= 0.0 if self.relation in ("<=", ">=") else self.margin > 0.0
        comparisons: dict[str, Callable[[float, float], bool]] = {
            "<": lambda a, b: a < b,
            "<=": lambda a, b: a <= b,
            "=": lambda a, b: isclose(a, b, rel_tol=_EQUAL),
            ">=": lambda a, b: a >= b,
            ">": lambda a, b: a > b,
        }
        return comparisons[self.relation](self.left, self.right)

    @property
    def holds(self) -> bool:
        """Whether the statement holds here: it does where its premise is not met."""
        return self.true or not self.premise

    def __str__(self) -> str:
        verdict = "holds" if self.true else ("says nothing here" if not self.premise else "does not hold")
        return f"{self.claim}: {self.left:.6g} {self.relation} {self.right:.6g} {verdict}"


@dataclass(frozen=True)
class _World:
    """A Beta prior, counts and ε, with the laws of the papers' mechanisms."""

    prior: Prior
    counts: Counts
    epsilon: float
    sensitivity: float = PAPER_SENSITIVITY

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @cached_property
    def distances(self) -> Floats:
        """H from the true posterior to every candidate, by the first count."""
        first = np.arange(self.n + 1)
        return Errors(self.prior, self.n, hellinger)(self.counts, np.stack([first, self.n - first], axis=-1))

    def exponential(self, sensitivity: float) -> ErrorLaw:
        """The error of `∝ exp(-ε H / (2 · sensitivity))`."""
        weight = np.exp(-self.epsilon * self.distances / (2.0 * sensitivity))
        return ErrorLaw.of(self.distances, weight / weight.sum())

    def laplace(self, cls: type[Mechanism]) -> ErrorLaw:
        """The error of a Laplace mechanism."""
        return error_law(cls(self.prior, self.n, self.epsilon), self.counts)

    def threshold(self, steps: int) -> float:
        """A distance t such that `steps` is the largest k' with `H(Beta(α, β), Beta(α + k', β - k')) < t`: that of one step more."""
        place = int(self.counts[0]) + steps + 1
        if steps < 0 or place > self.n:
            raise InvalidInputError(f"steps must be from 0 to one less than what the first count leaves of n = {self.n}")
        return float(self.distances[place])


def _world(prior: Prior, counts: ArrayLike, epsilon: Number, sensitivity: float = PAPER_SENSITIVITY) -> _World:
    if prior.k != 2:
        raise InvalidInputError(f"the papers' theory is about two categories, got {prior.k}")
    return _World(prior, check_counts(counts, 2), float(check_positive(epsilon, "epsilon")), sensitivity)


def _below(law: ErrorLaw, t: float) -> float:
    """P(error < t)."""
    return float(law.probability[law.support < t * (1.0 - _ROUNDING)].sum())


def _reached(law: ErrorLaw, t: float, *, beyond: bool = False) -> float:
    """P(error >= t), or P(error > t), added up as such: 1 less the rest would lose its digits."""
    return float(law.probability[law.support >= t * (1.0 - _ROUNDING) if not beyond else law.support > t * (1.0 + _ROUNDING)].sum())


# --- 001, Theorem 4.5 and its corollaries -----------------------------------------------------------------------------


def theorem_4_5(
    prior: Prior, counts: ArrayLike, epsilon: Number, steps: int, *, sensitivity: float = PAPER_SENSITIVITY
) -> dict[str, tuple[Inequality, ...]]:
    """001 Theorem 4.5: P(H < t) of each mechanism, t chosen so that `steps` is its k, against what the theorem says.

    Keys: LSZhang, LSHist, EHD, EHDL. The upper bound of EHD rests on two reversed steps (2 GS = 0.927 < 1) and fails for some parameters.
    The lower bounds of EHD and EHDL divide by n where there are n + 1 candidates, and fail for few records. Near an end, and with unequal
    small priors, as many steps down are not within t, or are clamped, and no row is sure to hold.
    """
    world = _world(prior, counts, epsilon, sensitivity)
    k, n, e, t = steps, world.n, world.epsilon, world.threshold(steps)
    local = exp(-e / (2.0 * local_sensitivity(prior, world.counts)))
    zhang_law, hist_law = world.laplace(LaplaceZhang), world.laplace(LaplaceHistogram)
    zhang, hist = _below(zhang_law, t), _below(hist_law, t)
    ehd, ehdl = _below(world.exponential(sensitivity), t), _below(world.exponential(local_sensitivity(prior, world.counts)), t)

    def row(name: str, left: float, relation: Relation, right: float, margin: float | None = None) -> Inequality:
        return Inequality(f"001 Theorem 4.5, {name}, k = {k}", left, relation, right, margin=margin)

    off = exp(-k * e / 2.0)
    zhang_margin, hist_margin = 2.0 * off - off * off - _reached(zhang_law, t), exp(-k * e) - _reached(hist_law, t)

    return {
        "LSZhang": (
            row("LSZhang: P(H < t)", zhang, "=", (1.0 - 0.5 * (exp(-k * e / 2.0) + exp(-(k + 1) * e / 2.0))) ** 2),
            row("LSZhang: P(H < t) against its lower bound", zhang, ">=", (1.0 - off) ** 2, zhang_margin),
        ),
        "LSHist": (
            row("LSHist: P(H < t)", hist, "=", _hist_probability(k, e)),
            row("LSHist: P(H < t) against its lower bound", hist, ">=", 1.0 - exp(-k * e), hist_margin),
        ),
        "EHD": (
            row("EHD: P(H < t) against its lower bound", ehd, ">", (2.0 * k * exp(-e) + 1.0) / n),
            row("EHD: P(H < t) against its upper bound", ehd, "<", (2.0 * k + 1.0) / (n * exp(-e))),
        ),
        "EHDL": (
            row("EHDL: P(H < t) against its lower bound", ehdl, ">", (2.0 * k * local + 1.0) / n),
            row("EHDL: P(H < t) against its upper bound", ehdl, "<", _divided(2.0 * k + 1.0, n * local)),
        ),
    }


def _divided(a: float, b: float) -> float:
    return a / b if b else float("inf")


def _hist_probability(k: int, epsilon: float) -> float:
    """P(-k <= ⌊Lap(1/ε)⌋ <= k)."""
    return 1.0 - 0.5 * (exp(-k * epsilon) + exp(-(k + 1) * epsilon))


def corollary_4_4_1(prior: Prior, counts: ArrayLike, epsilon: Number) -> tuple[Inequality, Inequality]:
    """001 Corollary 4.4.1: LSHist is within the local sensitivity with probability 1 - γ; its (1 - γ)-error is at most 2 LS(x)."""
    world = _world(prior, counts, epsilon)
    law, local = world.laplace(LaplaceHistogram), local_sensitivity(prior, world.counts)
    confidence = _hist_probability(1, world.epsilon)
    # Beyond LS lie at most the noise below -1 and above 1: their sum is 1 - confidence, term by term.
    spare = 1.0 - _reached(law, local, beyond=True) / (0.5 * exp(-world.epsilon) + 0.5 * exp(-2.0 * world.epsilon))
    margin = 0.0 if abs(spare) < _EQUAL else spare
    within = Inequality("001 Corollary 4.4.1: P(H <= LS)", float(law.cdf(local * (1.0 + _ROUNDING))), ">=", confidence, margin=margin)
    ratio = float(law.quantile(confidence)) / local
    return within, Inequality("001 Corollary 4.4.1: the error at 1 - γ over LS", ratio, "<=", 2.0)


def corollary_4_5_1(prior: Prior, counts: ArrayLike, epsilon: Number, steps: int) -> Inequality:
    """001 Corollary 4.5.1: from `n > (2k+1) / (e^-ε (1 - e^-kε))` on, LSHist is more accurate than EHD."""
    world = _world(prior, counts, epsilon)
    k, e, t = steps, world.epsilon, world.threshold(steps)
    crossover = _divided(2.0 * k + 1.0, exp(-e) * (1.0 - exp(-k * e)))
    left, right = _below(world.laplace(LaplaceHistogram), t), _below(world.exponential(PAPER_SENSITIVITY), t)
    return Inequality(f"001 Corollary 4.5.1, k = {k}: P(H < t) of LSHist and EHD", left, ">", right, world.n > crossover, crossover)


def corollary_4_5_2(prior: Prior, counts: ArrayLike, epsilon: Number, steps: int) -> Inequality:
    """001 Corollary 4.5.2: while `n < (2k e^-ε + 1) / (1 - ½(e^-kε + e^-(k+1)ε))`, EHD is more accurate than LSHist."""
    world = _world(prior, counts, epsilon)
    k, e, t = steps, world.epsilon, world.threshold(steps)
    crossover = (2.0 * k * exp(-e) + 1.0) / _hist_probability(k, e)
    left, right = _below(world.laplace(LaplaceHistogram), t), _below(world.exponential(PAPER_SENSITIVITY), t)
    return Inequality(f"001 Corollary 4.5.2, k = {k}: P(H < t) of LSHist and EHD", left, "<", right, world.n < crossover, crossover)


def corollary_4_5_3(prior: Prior, counts: ArrayLike, epsilon: Number) -> Inequality:
    """001 Corollary 4.5.3: from `n > 3 / (e^{-ε/c} (1 - e^-ε))`, c = 2 GS, LSHist is within LS(x) more often than EHD."""
    world = _world(prior, counts, epsilon)
    e, t = world.epsilon, local_sensitivity(prior, world.counts) * (1.0 + _ROUNDING)
    crossover = 3.0 / (exp(-e / (2.0 * PAPER_SENSITIVITY)) * (1.0 - exp(-e)))
    left, right = float(world.laplace(LaplaceHistogram).cdf(t)), float(world.exponential(PAPER_SENSITIVITY).cdf(t))
    return Inequality("001 Corollary 4.5.3: P(H <= LS) of LSHist and EHD", left, ">", right, world.n > crossover, crossover)


def actual_crossover(prior: Prior, epsilon: Number, steps: int | None = None, *, most: int = 2000) -> int | None:
    """The least n from which LSHist is more accurate than EHD on all balanced data up to `most` records, in the sense of 4.5.1.

    Without `steps`, in the sense of 4.5.3. None if it is not so at `most`. What the corollaries' premises may be compared with.
    """
    last = None
    for n in range(most, 2 * (steps or 0) + 1, -1):
        counts = [n // 2, n - n // 2]
        found = corollary_4_5_3(prior, counts, epsilon) if steps is None else corollary_4_5_1(prior, counts, epsilon, steps)
        if not found.true:
            break
        last = n
    return last


# --- 000, Tables 1 and 2, section 6.3 ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableCell:
    """One entry of Table 1 or 2 of 000."""

    mechanism: Literal["lapMech", "ilapMech", "expMech^smoo"]
    steps: int
    distance: float
    """H of a candidate so many steps up, exactly."""
    printed_distance: float
    """What the table's formula gives for it: t = 1 lacks a factor sqrt((β-1)/α), t = 2 has β for β - 1."""
    formula: float
    """The probability by the papers' formula, which knows of no clamping."""
    exact: float
    """The probability under the exact law."""


_RIVALS: tuple[tuple[Literal["lapMech", "ilapMech"], type[Mechanism], float], ...] = (
    ("lapMech", LaplaceDimension, 2.0),
    ("ilapMech", LaplaceHistogram, 1.0),
)


def _floored(t: int, scale: float) -> float:
    """P(⌊Lap(scale)⌋ = t)."""
    near = t if t >= 0 else -t - 1
    return 0.5 * (exp(-near / scale) - exp(-(near + 1) / scale))


def _printed_distance(alpha: float, beta: float, t: int) -> float:
    if t == 0:
        return 0.0
    if t == 1:
        if beta <= 0.5:
            return nan
        square = 1.0 - exp(gammaln(alpha + 0.5) - gammaln(alpha) + gammaln(beta - 0.5) - gammaln(beta))
    else:
        square = 1.0 - sqrt(1.0 - (t / 2.0) / (alpha + t / 2.0)) * sqrt(max(0.0, 1.0 - (t / 2.0) / beta))
    return sqrt(square) if square >= 0.0 else nan


def accuracy_table(prior: Prior, counts: ArrayLike, epsilon: Number, *, both_sides: bool = False) -> tuple[TableCell, ...]:
    """Table 1 of 000 (candidates 0, 1 and 2 steps up), or Table 2 (`both_sides`: so many steps up or down), for any α, β and ε."""
    world = _world(prior, counts, epsilon)
    x, n, e = int(world.counts[0]), world.n, world.epsilon
    alpha, beta = (float(a) + c for a, c in zip(prior.exact, world.counts, strict=True))
    smooth = HellingerSmooth(prior, n, check_positive(epsilon, "epsilon"))
    cells = []
    for t in range(min(2, n - x) + 1):
        places = sorted({t, -t} if both_sides else {t})
        moves = [p for p in places if 0 <= x + p <= n]
        shared = float(world.distances[x + t]), _printed_distance(alpha, beta, t)
        for name, cls, sensitivity in _RIVALS:
            law = cls(prior, n, smooth.epsilon).law(world.counts)
            exact = float(sum(law.probability[law.counts[:, 0] == x + p].sum() for p in moves))
            cells.append(TableCell(name, t, *shared, sum(_floored(p, sensitivity / e) for p in places), exact))
        own = smooth.law(world.counts).probability
        exact = float(sum(own[x + p] for p in moves))
        formula = float(len(places) * own[x + t])
        cells.append(TableCell("expMech^smoo", t, *shared, formula, exact))
    return tuple(cells)


@dataclass(frozen=True)
class Sizes:
    """The numbers of records at which expMech^smoo is more likely than a Laplace mechanism to be so many steps off."""

    rival: Literal["lapMech", "ilapMech"]
    steps: int
    intervals: tuple[tuple[int, int], ...]
    """First and last n of every run, balanced data, up to `most`."""
    most: int


def more_likely_sizes(prior: Prior, epsilon: Number, *, most: int = 300) -> tuple[Sizes, ...]:
    """000 section 6.3, solved: where expMech^smoo is more likely than lapMech and ilapMech to be 0, 1 or 2 steps up, balanced data."""
    level = check_positive(epsilon, "epsilon")
    wins: dict[tuple[Literal["lapMech", "ilapMech"], int], list[int]] = {(name, t): [] for name, _, _ in _RIVALS for t in range(3)}
    for n in range(1, most + 1):
        x = n // 2
        counts = np.array([x, n - x])
        own = HellingerSmooth(prior, n, level).law(counts).probability
        laws = {name: cls(prior, n, level).law(counts) for name, cls, _ in _RIVALS}
        for (name, t), found in wins.items():
            if x + t <= n and own[x + t] > laws[name].probability[laws[name].counts[:, 0] == x + t].sum():
                found.append(n)
    return tuple(Sizes(name, t, _runs(found), most) for (name, t), found in wins.items())


def _runs(numbers: list[int]) -> tuple[tuple[int, int], ...]:
    """Maximal runs of consecutive numbers."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return tuple(runs)


# --- 001, the utility table; 000 section 3 ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Exceeded:
    """An error that is exceeded with probability δ at most: H, and `-ln(1 - H²)`, which keeps its digits where H is 1 but for a little."""

    distance: float
    exponent: float


def _exceeded(world: _World, law: ErrorLaw, delta: float) -> _Exceeded:
    distance = float(law.quantile(1.0 - delta))
    place = int(np.argmin(np.abs(world.distances - distance)))
    if world.distances[place] == distance:
        own, other = (world.prior.concentration + np.array([x, world.n - x]) for x in (int(world.counts[0]), place))
        return _Exceeded(distance, float(renyi(own, other, "0.5")) / 2.0)
    return _Exceeded(distance, -log1p(-(distance**2)))


def utility_reach(n: int, epsilon: float, delta: float) -> dict[str, float]:
    """The length L in the entries of 001's utility table, by mechanism. For LSZhang `2 - δ - 2 sqrt(1-δ)` is `(1 - sqrt(1-δ))²`."""
    return {
        "LSHist": log(1.0 / delta) / epsilon,
        "LSZhang": 2.0 * log((1.0 + sqrt(1.0 - delta)) / delta) / epsilon,
        "EHD": (n - delta * n - 1.0) / 2.0 * exp(-epsilon),
    }


def utility_entry(n: int, length: float) -> float:
    """`-ln(1 - H²)` of the table's entry H with this L, the ratio in it the other way up; not a number where the entry is not real."""
    return length / 2.0 * log((n + length) / (n - length)) if 0.0 <= length < n else nan


def utility_table(prior: Prior, counts: ArrayLike, epsilon: Number, delta: float) -> dict[str, tuple[Inequality, ...]]:
    """001's utility table: the error exceeded with probability δ, against the table's entry with its O(·) read as 1.

    The Hellinger entries are printed as `sqrt(1 - ((n+L)/(n-L))^{L/2})`, which is not a real number for L > 0; the ratio is read the other
    way up, as the derivation needs. The EHD entry takes `L = (n - δn - 1)/2 · e^-ε`, as printed; there is no KL entry for it.
    """
    check_share(delta, "delta")
    world = _world(prior, counts, epsilon)
    n, e = world.n, world.epsilon
    reach = utility_reach(n, e, delta)
    laws: dict[str, type[LaplaceHistogram | LaplaceZhang]] = {"LSHist": LaplaceHistogram, "LSZhang": LaplaceZhang}
    result: dict[str, tuple[Inequality, ...]] = {}
    for name, length in reach.items():
        law = world.laplace(laws[name]) if name in laws else world.exponential(PAPER_SENSITIVITY)
        exponent = utility_entry(n, length)
        exceeded = _exceeded(world, law, delta)
        claim = f"001 utility table, {name}, H at δ = {delta:g}"
        rows = [Inequality(claim, exceeded.distance, "<=", sqrt(-expm1(-exponent)), measure="H", margin=exponent - exceeded.exponent)]
        if name in laws:
            size, rate = (4.0, e) if name == "LSHist" else (8.0, e / 2.0)
            size *= n * log(n)
            divergence = error_law(laws[name](prior, n, check_positive(epsilon, "epsilon")), world.counts, kl)
            bound = size * (1.0 - exp(-n * rate)) + sqrt(-size * log(delta))
            rows.append(
                Inequality(
                    f"001 utility table, {name}, KL at δ = {delta:g}", float(divergence.quantile(1.0 - delta)), "<=", bound, measure="KL"
                )
            )
        result[name] = tuple(rows)
    return result


def l1_accuracy(
    mechanism: LaplaceZhang | LaplaceDimension | LaplaceHistogram, counts: ArrayLike, gamma: float, *, floored: float = 0.0
) -> Inequality:
    """000 section 3: `P(|α - α̃| + |β - β̃| >= γ)`, exactly, against the tail of the Laplace noise before it is floored and clamped.

    Noise of scale b on one count moves both by it: `e^{-γ/(2b)}`. On both counts: `(1 + γ/b) e^{-γ/b}`. Flooring can add one record to
    what each count is off by: with `floored=2` the tail is taken at γ - 2.
    """
    if mechanism.k != 2:
        raise InvalidInputError(f"the papers' theory is about two categories, got {mechanism.k}")
    law = mechanism.law(counts)
    moved = np.abs(law.counts - check_counts(counts, 2, mechanism.space.total)).sum(axis=-1)
    scale = float(mechanism._scale)
    reach = max(gamma - floored, 0.0)
    tail = float(gammaincc(2.0, reach / scale)) if isinstance(mechanism, LaplaceZhang) else exp(-reach / (2.0 * scale))
    name = type(mechanism)._names[0]
    return Inequality(f"000 section 3, {name}: P(ℓ1 >= {gamma:g})", float(law.probability[moved >= gamma].sum()), "<=", tail)
