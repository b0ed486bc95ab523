"""The exponential family: candidates Dir(a + r) weighted by `exp(-rate(x) · H(x, r))` (DESIGN section 4).

The four mechanisms differ in the rate alone: `ε / (2Δ)` with Δ the global, local or smooth sensitivity of the Hellinger distance.
"""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from flint import arb
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from discreet import sensitivity
from discreet.distributions import Beta, Dirichlet
from discreet.enumeration import candidate_count, check_outcomes, simplex_points
from discreet.errors import InvalidInputError, TooLargeError
from discreet.mechanisms.base import Law, Mechanism
from discreet.mechanisms.losses import MOST_PAIRED_CANDIDATES, enumerated_delta
from discreet.numerics import Floats, ball, gap, refine
from discreet.release import NO_GUARANTEE, Guarantee, rounded_down, rounded_up
from discreet.sampling import BitSource, CandidateSampler, candidate_sampler, check_drawable
from discreet.sensitivity import Smoothing
from discreet.tables import gap_table
from discreet.validation import Counts, Number, check_moderate, check_positive

__all__ = ["Exponential", "HellingerGlobal", "HellingerLocal", "HellingerSmooth", "HellingerSmoothDelta"]


@dataclass(frozen=True)
class Exponential(Mechanism):
    """What the four share. A candidate is its own report."""

    _is_fair: ClassVar[bool] = False
    """Whether the rate is known to see counts and prior parameters alone, and not which category is which."""

    def _sensitivity(self, counts: Counts) -> Floats:
        """The sensitivity Δ of each dataset (rows) that the rate divides by."""
        raise NotImplementedError

    def _sensitivity_ball(self, counts: Counts) -> arb:
        """Enclosure of Δ for one dataset at the working precision."""
        raise NotImplementedError

    @property
    def _loss_factor(self) -> Fraction:
        """What ε is divided by, besides Δ: 2, for the weight and for the normaliser."""
        return Fraction(2)

    def rate(self, counts: Counts) -> Floats:
        """The factor of -H in the exponent, for each dataset. Private, except for `HellingerGlobal`."""
        return float(self.epsilon / self._loss_factor) / self._sensitivity(counts)

    def _rate_ball(self, counts: Counts) -> arb:
        return ball(self.epsilon / self._loss_factor) / self._sensitivity_ball(counts)

    def _distances(self, counts: Counts, candidates: Counts) -> Floats:
        """Hellinger distance of each candidate, of which there are many, added up from one table of gaps for each category."""
        divergence, every = np.zeros(len(candidates)), np.arange(self.n + 1)
        for a, x, column in zip(self.prior.concentration, counts, candidates.T, strict=True):
            divergence += gap(a + x, a + every, every - x)[column]
        return np.sqrt(-np.expm1(-divergence))

    @property
    def is_symmetric(self) -> bool:
        """Whether exchanging two categories of the data does the same to the law. So it does where the rate does not tell them apart."""
        return self._is_fair and len(set(self.prior.exact)) == 1

    def log_laws(self, datasets: Counts | None = None) -> Iterator[tuple[Counts, float, Floats]]:
        """For every dataset in turn, or these: its counts, its rate and the log probabilities of all candidates, in lexicographic order.

        Two categories: O(n) memory and O(n²) time in all. More: the candidates are few enough to be listed for each of them.
        """
        points = simplex_points(self.n, self.k)
        tables = [gap_table(a, self.n) for a in self.prior.exact]
        chosen = points if datasets is None else datasets
        for counts, rate in zip(chosen, self.rate(chosen), strict=True):
            if self.k == 2:
                divergence = tables[0].row(int(counts[0])) + tables[1].row(int(counts[1]))[::-1]
            else:
                divergence = sum((t.row(int(x))[column] for t, x, column in zip(tables, counts, points.T, strict=True)), np.zeros(1))
            log_weight = -rate * np.sqrt(-np.expm1(-divergence))
            yield counts, float(rate), log_weight - np.log(np.exp(log_weight).sum())

    def mean_errors(self) -> Floats:
        """The mean Hellinger distance of the report, for every dataset in lexicographic order. The exponent is rate · H."""
        means = []
        for i, (_, rate, log_law) in enumerate(self.log_laws()):
            means.append(np.exp(log_law) @ (log_law[i] - log_law) / rate)
        return np.array(means)

    def _raw_law(self, counts: Counts) -> Law:
        candidates = simplex_points(self.n, self.k)
        log_weight = -float(self.rate(counts)) * self._distances(counts, candidates)
        return Law(candidates, log_weight - logsumexp(log_weight))

    def law(self, counts: ArrayLike) -> Law:
        """The exact law of the reported counts: the candidates themselves. For study: it is a function of the private counts."""
        return self._raw_law(self._checked(counts))

    def _log_prob(self, counts: Counts, raw: Counts) -> Floats:
        """The normaliser is a sum over all candidates: tractable while they can be listed."""
        if raw.shape[-1] != self.k:
            raise InvalidInputError(f"a raw outcome of this mechanism has {self.k} entries, got {raw.shape[-1]}")
        law = self._raw_law(counts)
        return np.array([law.log_probability[(law.counts == outcome).all(axis=-1)].max(initial=-np.inf) for outcome in raw])

    def _simulate(self, counts: Counts, size: int, rng: np.random.Generator) -> Counts:
        law = self._raw_law(counts)
        cumulative = np.cumsum(law.probability)
        return law.counts[np.searchsorted(cumulative / cumulative[-1], rng.random(size), side="right")]

    def _can_draw(self, raw: tuple[int, ...]) -> bool:
        return super()._can_draw(raw) and min(raw) >= 0

    def _check_size(self) -> None:
        check_drawable(self.prior.exact, self.n)

    def _draw(self, counts: tuple[int, ...], source: BitSource) -> tuple[int, ...]:
        return self._sampler(counts).draw(source)

    def _sampler(self, counts: tuple[int, ...]) -> CandidateSampler:
        """The last sampler is kept: with three or more categories, building it is most of the cost of a draw."""
        held: tuple[tuple[int, ...], CandidateSampler] | None = self.__dict__.get("_held")
        if held is None or held[0] != counts:
            private, bare = np.array(counts, dtype=np.int64), copy(self)  # a cycle through self would keep the data alive
            held = counts, candidate_sampler(self.prior.exact, counts, lambda: bare._rate_ball(private))
            self._set("_held", held)
        return held[1]

    def __getstate__(self) -> dict[str, Any]:
        """Without the sampler: a mechanism is public, and what it has drawn from is not."""
        return {name: value for name, value in self.__dict__.items() if name != "_held"}


@dataclass(frozen=True)
class HellingerGlobal(Exponential):
    """ε-DP by proof: `∝ exp(-ε H / (2 GS))`, with the global sensitivity of this prior and n.

    The papers' constant sqrt(1 - π/4) is the value for k >= 3 (or n = 1) with two smallest prior parameters of 1; used for smaller
    ones it breaks the promise.
    """

    _is_fair: ClassVar[bool] = True

    if TYPE_CHECKING:  # numbers of any kind are taken and kept as exact rationals

        def __init__(self, prior: Dirichlet | Beta, n: int, epsilon: Number) -> None: ...

    names: ClassVar[tuple[str, ...]] = ("EHD", "expMech", "expMech_H^D", "PrivInfer")

    def _sensitivity(self, counts: Counts) -> Floats:
        return np.full(counts.shape[:-1], sensitivity.global_sensitivity(self.prior, self.n))

    def _sensitivity_ball(self, counts: Counts) -> arb:  # noqa: ARG002
        return sensitivity.steps_ball(sensitivity.global_steps(self.prior, self.n))


@dataclass(frozen=True)
class HellingerLocal(Exponential):
    """**No guarantee**: `∝ exp(-ε H / (2 LS(x)))`. Its loss can exceed ε, under small and large priors, so it refuses to release."""

    _is_fair: ClassVar[bool] = True

    if TYPE_CHECKING:  # numbers of any kind are taken and kept as exact rationals

        def __init__(self, prior: Dirichlet | Beta, n: int, epsilon: Number) -> None: ...

    names: ClassVar[tuple[str, ...]] = ("EHDL", "expMech^local")

    @property
    def _claim(self) -> Guarantee:
        """None: the rate is read off the private counts without smoothing."""
        return NO_GUARANTEE

    def _sensitivity(self, counts: Counts) -> Floats:
        return sensitivity.local_sensitivities(self.prior, counts)

    def _sensitivity_ball(self, counts: Counts) -> arb:
        return sensitivity.steps_ball(sensitivity.local_steps(self.prior, counts))


@dataclass(frozen=True)
class HellingerSmooth(Exponential):
    """ε-DP by proof: `∝ exp(-ε H / (2(1+γ) S_γ(x)))`, with the γ-smooth sensitivity.

    1/S changes by at most γ between neighbours and H <= 1, so the exponent changes by at most (1 + γ) times what it may.
    """

    _is_fair: ClassVar[bool] = True

    gamma: Fraction = Fraction(1)
    """Any positive number, or "best": the one with the least expected error under the prior predictive, found by computation."""

    if TYPE_CHECKING:  # numbers of any kind are taken and kept as exact rationals

        def __init__(self, prior: Dirichlet | Beta, n: int, epsilon: Number, gamma: Number = 1) -> None: ...

    names: ClassVar[tuple[str, ...]] = ("EHDS", "expMech^smoo")

    def __post_init__(self) -> None:
        super().__post_init__()
        best = isinstance(self.gamma, str) and self.gamma.casefold() == "best"
        self._set("gamma", _best_gamma(self.prior, self.n, self.epsilon) if best else check_moderate(self.gamma, "gamma"))

    @property
    def _loss_factor(self) -> Fraction:
        return 2 * (1 + self.gamma)

    def _check_size(self) -> None:
        super()._check_size()
        sensitivity.check_smooth(self.k)

    def _sensitivity(self, counts: Counts) -> Floats:
        return sensitivity.smooth_sensitivities(self.prior, counts, Smoothing(gamma=self.gamma))

    def _sensitivity_ball(self, counts: Counts) -> arb:
        steps = sensitivity.smooth_steps(self.prior, counts, Smoothing(gamma=self.gamma))
        gamma = ball(self.gamma)
        return sensitivity.steps_ball(steps, lambda h, distance: h / (1 + gamma * distance * h))


@lru_cache(maxsize=64)
def _best_gamma(prior: Dirichlet | Beta, n: int, epsilon: Fraction) -> Fraction:
    """The γ, to three digits, whose mechanism has the least mean Hellinger error under the prior predictive: public, and any γ is safe."""

    def error(exponent: float) -> float:
        mechanism = HellingerSmooth(prior, n, epsilon, Fraction(f"{10.0**exponent:.3g}"))
        return float(np.exp(prior.predictive(n).logpmf(simplex_points(n, prior.k))) @ mechanism.mean_errors())

    check_outcomes(candidate_count(n, prior.k), 'the search for gamma="best"', MOST_PAIRED_CANDIDATES)
    exponents = np.linspace(-4.0, 2.0, 13)
    nearest = int(np.argmin([error(e) for e in exponents]))
    low, high = exponents[max(nearest - 1, 0)], exponents[min(nearest + 1, len(exponents) - 1)]
    from scipy.optimize import minimize_scalar  # slow to load

    found = minimize_scalar(error, bounds=(low, high), method="bounded", options={"xatol": 1e-3})
    return Fraction(f"{10.0 ** float(found.x):.3g}")


@dataclass(frozen=True)
class HellingerSmoothDelta(Exponential):
    """(ε, δ) by computation: `∝ exp(-ε H / (2 S_β(x)))`, with `β = ln(1 - ε/(2 ln(δ/(2N))))` for N candidates.

    The papers' proof leaves out the change of the normaliser, and the loss can exceed ε. So the exact δ(ε) of this configuration is
    computed before anything is drawn, and a release is refused where it cannot be computed or is above δ.
    """

    _is_fair: ClassVar[bool] = True

    delta: Fraction = field(default=Fraction(1, 10**8))

    if TYPE_CHECKING:  # numbers of any kind are taken and kept as exact rationals

        def __init__(self, prior: Dirichlet | Beta, n: int, epsilon: Number, delta: Number = ...) -> None: ...

    names: ClassVar[tuple[str, ...]] = ("EHDS-delta", "M_H^B")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("delta", check_positive(self.delta, "delta"))
        if self.delta >= 1:
            raise InvalidInputError("delta must be below 1")

    @cached_property
    def beta(self) -> float:
        """How fast the smooth sensitivity may change between neighbours, on the log scale. Public."""
        return float(refine(self._beta_ball))

    def _beta_ball(self) -> arb:
        size = candidate_count(self.n, self.k)
        return (1 - ball(self.epsilon) / (2 * ball(self.delta / (2 * size)).log())).log()

    @cached_property
    def guarantee(self) -> Guarantee:
        """(ε, δ) if the computed δ(ε) confirms it for this configuration; none if it does not or cannot be computed."""
        try:
            found = enumerated_delta(self, rounded_down(self.epsilon))
        except TooLargeError:
            return NO_GUARANTEE
        return self._claim if found.bound <= self.delta else NO_GUARANTEE

    @property
    def _claim(self) -> Guarantee:
        return Guarantee(rounded_up(self.epsilon), rounded_up(self.delta), "computation")

    def _sensitivity(self, counts: Counts) -> Floats:
        return sensitivity.smooth_sensitivities(self.prior, counts, Smoothing(beta=self.beta))

    def _sensitivity_ball(self, counts: Counts) -> arb:
        steps = sensitivity.smooth_steps(self.prior, counts, Smoothing(beta=self.beta))
        beta = self._beta_ball()
        return sensitivity.steps_ball(steps, lambda h, distance: h * (-beta * distance).exp())
