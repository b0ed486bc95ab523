"""The exponential family: candidates Dir(a + r) weighted by `exp(-rate(x) · H(x, r))` (docs/explain/mechanisms.md).

The four mechanisms differ in the rate alone: `ε / (2Δ)` with Δ the global, local or smooth sensitivity of the Hellinger distance.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from math import isqrt
from typing import Any, ClassVar

import numpy as np
from attrs import define, field
from flint import arb

from discreet import limits
from discreet.arrays import Counts, Floats
from discreet.errors import InvalidInputError, TooLargeError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.laws import Law, ListedLaw
from discreet.mechanisms.likelihoods import Likelihoods
from discreet.mechanisms.losses import Bounded, enumerated_delta, enumerated_loss
from discreet.mechanisms.proposals import good_weights, is_listed, listing, load
from discreet.model import sensitivity
from discreet.model.datasets import candidate_count, check_outcomes, simplex_points
from discreet.model.dirichlet import Prior
from discreet.model.sensitivity import Smoothing
from discreet.numerics.balls import ball, refine
from discreet.numerics.gamma import RELATIVE_ERROR, to_hellinger, two_count_gap
from discreet.numerics.proved_floats import GapTable, gap_table
from discreet.progress import Progress
from discreet.record.guarantee import NO_GUARANTEE, Guarantee, rounded_down, rounded_up
from discreet.sampling import CandidateSampler, Weights, candidate_sampler, check_drawable, most_seconds
from discreet.validation import Number, check_moderate, check_positive, shown


@lru_cache(maxsize=256)
def certified_loss(mechanism: "Exponential") -> Bounded:
    """The exact privacy loss of this configuration, with the bound that a promise may rest on; TooLargeError where it is not listed."""
    return enumerated_loss(mechanism)


@lru_cache(maxsize=2)  # some ten megabytes each
def _likelihoods(mechanism: "Exponential") -> Likelihoods:
    return Likelihoods(mechanism.prior.exact, mechanism.space.points(), mechanism._rate, fair=mechanism._is_fair)


_SHORTEST_QUANTUM = 1.0 / 16.0
"""The shortest quantum, in seconds: some twenty times as long as a draw takes where candidates, or categories, are few."""


def _factor(value: Number) -> Fraction:
    factor = check_positive(value, "factor")
    if not Fraction(1, limits.FACTOR) <= factor <= limits.FACTOR:
        raise InvalidInputError(f"factor must be from 1e-100 to 1e100, got {shown(value)}")
    return factor


@define(frozen=True, slots=False, repr=False)
class Exponential(Mechanism[tuple[int, ...]]):
    """The base class of the four exponential mechanisms, whose candidates are their own reports.

    A public `factor` other than 1 multiplies the exponent. No proof covers that, so the guarantee is computed: ε if the certified loss of
    this configuration is at most ε. `Calibrated` finds the largest such factor.
    """

    factor: Fraction = field(default=Fraction(1), converter=_factor, kw_only=True)

    _is_fair: ClassVar[bool] = False
    """Whether the rate is known to see counts and prior parameters alone, and not which category is which."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "_sensitivity_ball" in cls.__dict__ and "_near_sensitivity" not in cls.__dict__:
            cls._near_sensitivity = Exponential._near_sensitivity  # type: ignore[method-assign]  # not that of another sensitivity

    @abstractmethod
    def _sensitivity(self, counts: Counts) -> Floats:
        """The sensitivity Δ of each dataset (rows) that the rate divides by."""

    @abstractmethod
    def _sensitivity_ball(self, counts: Counts) -> arb:
        """Enclosure of Δ for one dataset at the working precision."""

    @property
    def _loss_factor(self) -> Fraction:
        """The number that divides ε besides Δ: 2, for the weight and for the normaliser."""
        return Fraction(2)

    @property
    def _scaled_epsilon(self) -> Fraction:
        return self.epsilon * self.factor / self._loss_factor

    def _rate(self, counts: Counts) -> Floats:
        """The factor of -H in the exponent, for each dataset. Private, except for `HellingerGlobal`."""
        return float(self._scaled_epsilon) / self._sensitivity(counts)

    def _hellinger_rate(self, counts: Counts) -> float:
        """The rate."""
        return float(self._rate(counts))

    def _rate_ball(self, counts: Counts) -> arb:
        """Enclosure of the rate of one dataset at the working precision."""
        return ball(self._scaled_epsilon) / self._sensitivity_ball(counts)

    def _near_sensitivity(self, tables: Sequence[GapTable], counts: tuple[int, ...]) -> float:  # noqa: ARG002
        """Δ for one dataset to a relative error of `sensitivity.TABLED_ERROR`, given fine tables of gaps for the categories."""
        return float(refine(lambda: self._sensitivity_ball(np.array(counts, dtype=np.int64))))

    @property
    def guarantee(self) -> Guarantee:
        """The claim, if no computation is needed or the computed loss confirms it; none if it does not or cannot be computed."""
        if self.factor == 1:
            return self._claim
        try:
            confirmed = Fraction(certified_loss(self).bound) <= self.epsilon
        except TooLargeError:
            return NO_GUARANTEE
        return self._claim if confirmed else NO_GUARANTEE

    @property
    def _loss(self) -> Bounded:
        """The computed loss, with the bound that a promise by computation rests on."""
        return certified_loss(self)

    @property
    def _claim(self) -> Guarantee:
        """Return the claim of ε, by proof or, with a factor, by computation."""
        return self._plain_claim if self.factor == 1 else Guarantee(rounded_up(self.epsilon), 0.0, "computation")

    @property
    def _plain_claim(self) -> Guarantee:
        """The promise of the mechanism as the papers have it."""
        return self._by_proof()

    def _own_description(self) -> tuple[str, dict[str, Any]]:
        name, options = super()._own_description()
        factor = options.pop("factor")
        return (name, options) if factor == 1 else ("Calibrated", {"mechanism": name, "options": options, "factor": factor})

    def _line_law(self, x: int, r: Floats) -> Floats:
        """Return the exponent of the law."""
        distance = to_hellinger(two_count_gap(self.prior.concentration, self.space.total, x, r))
        return np.asarray(-float(self._rate(np.array([x, self.space.total - x]))) * distance)

    @property
    def _is_symmetric(self) -> bool:
        """Return whether exchanging two categories of the data does the same to the law: so it does where the rate does not tell them
        apart.
        """
        return self._is_fair and len(set(self.prior.exact)) == 1

    def _outcomes(self) -> Counts:
        """The candidates."""
        return self.space.points()

    def _listed_laws(self, datasets: Counts | None = None) -> Iterator[ListedLaw]:
        """Yield for every dataset in turn, or these: the log probabilities of all candidates, in lexicographic order.

        Two categories: O(n) memory and O(n²) time in all. More: the candidates are few enough to be listed for each of them.
        """
        points = self._outcomes()
        tables = [gap_table(a, self.space.total) for a in self.prior.exact]
        chosen = points if datasets is None else datasets
        for counts, rate in zip(chosen, self._rate(chosen), strict=True):
            if self.k == 2:
                divergence = tables[0].row(int(counts[0])) + tables[1].row(int(counts[1]))[::-1]
            else:
                divergence = sum((t.row(int(x))[column] for t, x, column in zip(tables, counts, points.T, strict=True)), np.zeros(1))
            log_weight = -rate * to_hellinger(divergence)
            log_law = log_weight - np.log(np.exp(log_weight).sum())
            yield ListedLaw(counts, log_law, _log_error(log_law))

    @property
    def _most_datasets(self) -> int:
        if self.k > limits.LIKELIHOOD_CATEGORIES:
            return super()._most_datasets
        return limits.LIKELIHOOD_RECORDS + 1 if self.k == 2 else limits.LIKELIHOOD_CANDIDATES

    def _log_likelihoods(self, raw: Sequence[int], log_prior: Floats | None = None, progress: Progress | None = None) -> Floats:
        """Compute the likelihoods from tables, without a law for each dataset."""
        return _likelihoods(self).log(raw, log_prior, progress)

    def _mean_errors(self) -> Floats:
        """The mean Hellinger distance of the candidate, for every dataset in lexicographic order. The exponent is rate · H."""
        rates = self._rate(self._outcomes())
        laws = (listed.log_probability for listed in self._listed_laws())
        return np.array([np.exp(law) @ (law[i] - law) / rate for i, (law, rate) in enumerate(zip(laws, rates, strict=True))])

    def _raw_law(self, counts: Counts) -> Law:
        """Return all candidates with their probabilities."""
        [law] = self._listed_laws(counts[None])
        return Law(self._outcomes(), law.log_probability, log_error=law.log_error)

    def _check_size(self) -> None:
        """The sampler's tables must fit in memory, whatever the data."""
        if not is_listed(self.prior.exact, self.space.total):
            check_drawable(self.prior.exact, self.space.total)

    @property
    def _draw_seconds(self) -> float:
        """Bound the seconds by the size of the sampler's tables for the worst data: several times as long as a draw takes."""
        exact = self.prior.exact
        return _SHORTEST_QUANTUM if is_listed(exact, self.space.total) else max(_SHORTEST_QUANTUM, most_seconds(exact, self.space.total))

    def _warm_up(self) -> None:
        """The list of candidates, or what chooses the weights of a proposal."""
        if is_listed(self.prior.exact, self.space.total):
            listing(self.prior.exact, self.space.total)
        elif self.k > 2:
            load()

    def _sampler(self, counts: Sequence[int]) -> CandidateSampler:
        """The exact sampler for one dataset. With three or more categories, building it is most of the cost of a draw."""
        private, exact = tuple(int(x) for x in counts), self.prior.exact

        def rate() -> arb:
            return self._rate_ball(np.array(private, dtype=np.int64))

        if not is_listed(exact, self.space.total):
            return candidate_sampler(exact, private, rate, good_weights)
        listed = listing(exact, self.space.total)
        near_rate = float(self._scaled_epsilon) / self._near_sensitivity(listed.tables, private)
        return listed.sampler(Weights(exact, private, rate), near_rate)


def _log_error(log_law: Floats) -> float:
    """A bound on the error of a log probability: of the exponent, again in the normaliser, and of adding up the normaliser.

    The exponent is rate · H, at most the spread of the log probabilities, since H = 0 for the data themselves. H has at most the
    relative error of `numerics`, the rate (a ratio with one sensitivity) at most 4 of those; a sixth covers the spread's own error.
    """
    return 2.0 * float(np.ptp(log_law)) * 6.0 * RELATIVE_ERROR + len(log_law) * 2.0**-52 + 2.0**-48


@define(frozen=True, slots=False, repr=False)
class HellingerGlobal(Exponential):
    """ε-DP by proof: `∝ exp(-ε H / (2 GS))`, with the global sensitivity of this prior and n.

    The papers' constant sqrt(1 - π/4) is the value for k >= 3 (or n = 1) with two smallest prior parameters of 1; used for smaller
    ones it breaks the promise.
    """

    _is_fair: ClassVar[bool] = True

    _names: ClassVar[tuple[str, ...]] = ("EHD", "expMech", "expMech_H^D", "PrivInfer")
    _look: ClassVar[tuple[Any, ...]] = ("#858191", "X", (0, (1, 2)), "xx")

    @property
    def _theorem(self) -> str:
        """The theorem of the exponential mechanism; that the sensitivity is right is not in it."""
        return "exponential_private"

    def _sensitivity(self, counts: Counts) -> Floats:
        return np.full(counts.shape[:-1], sensitivity.global_sensitivity(self.prior, self.space.total))

    def _sensitivity_ball(self, counts: Counts) -> arb:  # noqa: ARG002
        return sensitivity.steps_ball(sensitivity.global_steps(self.prior, self.space.total))

    def _near_sensitivity(self, tables: Sequence[GapTable], counts: tuple[int, ...]) -> float:  # noqa: ARG002
        return _global_sensitivity(self.prior, self.space.total)


@lru_cache(maxsize=64)
def _global_sensitivity(prior: Prior, n: int) -> float:
    return float(refine(lambda: sensitivity.steps_ball(sensitivity.global_steps(prior, n))))


@define(frozen=True, slots=False, repr=False)
class HellingerLocal(Exponential):
    """**No guarantee**: `∝ exp(-ε H / (2 LS(x)))`. Its loss can exceed ε, under small and large priors, so it refuses to release."""

    _is_fair: ClassVar[bool] = True

    _names: ClassVar[tuple[str, ...]] = ("EHDL", "expMech^local")
    _look: ClassVar[tuple[Any, ...]] = ("#c660fc", "v", (0, (4, 1, 1, 1, 1, 1)), "..")

    @property
    def _plain_claim(self) -> Guarantee:
        """Promise nothing: the rate is read off the private counts without smoothing."""
        return NO_GUARANTEE

    def _sensitivity(self, counts: Counts) -> Floats:
        return sensitivity.local_sensitivities(self.prior, counts)

    def _sensitivity_ball(self, counts: Counts) -> arb:
        return sensitivity.steps_ball(sensitivity.local_steps(self.prior, counts))

    def _near_sensitivity(self, tables: Sequence[GapTable], counts: tuple[int, ...]) -> float:
        return sensitivity.tabled_local_sensitivity(tables, counts)


_BEST = Fraction(0)
"""Stands for gamma="best" until the search has found it; no γ is 0."""


def _gamma(value: Number) -> Fraction:
    return _BEST if isinstance(value, str) and value.casefold() == "best" else check_moderate(value, "gamma")


@define(frozen=True, slots=False, repr=False)
class HellingerSmooth(Exponential):
    """ε-DP by proof: `∝ exp(-ε H / (2(1+γ) S_γ(x)))`, with the γ-smooth sensitivity.

    1/S changes by at most γ between neighbours and H <= 1, so the exponent changes by at most (1 + γ) times what it may.
    """

    _is_fair: ClassVar[bool] = True

    gamma: Fraction = field(default=Fraction(1), converter=_gamma)
    """Any positive number, or "best": the one with the least expected error under the prior predictive, found by computation."""

    _names: ClassVar[tuple[str, ...]] = ("EHDS", "expMech^smoo")
    _look: ClassVar[tuple[Any, ...]] = ("#0b5fa5", "^", (0, (6, 1, 2, 1)), "\\\\")

    @property
    def _theorem(self) -> str:
        """Lemma 5.1 of the papers; that the sensitivity is right is not in it."""
        return "smooth_private_one"

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.gamma == _BEST:
            object.__setattr__(self, "gamma", _best_gamma(self.prior, self.space.total, self.epsilon))

    @property
    def _loss_factor(self) -> Fraction:
        return 2 * (1 + self.gamma)

    def _check_size(self) -> None:
        """The smooth sensitivity must fit in memory as well."""
        super()._check_size()
        sensitivity.check_smooth(self.k)

    def _sensitivity(self, counts: Counts) -> Floats:
        return sensitivity.smooth_sensitivities(self.prior, counts, Smoothing(gamma=self.gamma))

    def _sensitivity_ball(self, counts: Counts) -> arb:
        steps = sensitivity.smooth_steps(self.prior, counts, Smoothing(gamma=self.gamma))
        gamma = ball(self.gamma)
        return sensitivity.steps_ball(steps, lambda h, distance: h / (1 + gamma * distance * h))

    def _near_sensitivity(self, tables: Sequence[GapTable], counts: tuple[int, ...]) -> float:
        return sensitivity.tabled_smooth_sensitivity(tables, counts, float(self.gamma))


def most_tried(k: int) -> int:
    """The most candidates for which γ is searched for."""
    return isqrt(limits.GAMMA_DISTANCES // k)


@lru_cache(maxsize=64)
def _best_gamma(prior: Prior, n: int, epsilon: Fraction) -> Fraction:
    """The γ, to three digits, whose mechanism has the least mean Hellinger error under the prior predictive: public, and any γ is safe."""

    def error(exponent: float) -> float:
        mechanism = HellingerSmooth(prior, n, epsilon, Fraction(f"{10.0**exponent:.3g}"))
        return float(np.exp(prior.predictive(n).logpmf(simplex_points(n, prior.k))) @ mechanism._mean_errors())

    check_outcomes(candidate_count(n, prior.k), 'the search for gamma="best"', most_tried(prior.k))
    exponents = np.linspace(-4.0, 2.0, 13)
    nearest = int(np.argmin([error(e) for e in exponents]))
    low, high = exponents[max(nearest - 1, 0)], exponents[min(nearest + 1, len(exponents) - 1)]
    from scipy.optimize import minimize_scalar  # slow to load

    found = minimize_scalar(error, bounds=(low, high), method="bounded", options={"xatol": 1e-3})
    return Fraction(f"{10.0 ** float(found.x):.3g}")


def _delta(value: Number) -> Fraction:
    delta = check_positive(value, "delta")
    if delta >= 1:
        raise InvalidInputError("delta must be below 1")
    return delta


@define(frozen=True, slots=False, repr=False)
class HellingerSmoothDelta(Exponential):
    """(ε, δ) by computation: `∝ exp(-ε H / (2 S_β(x)))`, with `β = ln(1 - ε/(2 ln(δ/(2N))))` for N candidates.

    The papers' proof leaves out the change of the normaliser, and the loss can exceed ε. So the exact δ(ε) of this configuration is
    computed before anything is drawn, and a release is refused where it cannot be computed or is above δ.
    """

    _is_fair: ClassVar[bool] = True

    delta: Fraction = field(default=Fraction(1, 10**8), converter=_delta)

    _names: ClassVar[tuple[str, ...]] = ("EHDS-delta", "M_H^B")
    _look: ClassVar[tuple[Any, ...]] = ("#af9304", "D", (0, (3, 1.5)), "--")

    @cached_property
    def _beta(self) -> float:
        """The rate at which the smooth sensitivity may change between neighbours, on the log scale. Public."""
        return float(refine(self._beta_ball))

    def _beta_ball(self) -> arb:
        """Enclosure of beta at the working precision."""
        size = candidate_count(self.space.total, self.k)
        return (1 - ball(self.epsilon) / (2 * ball(self.delta / (2 * size)).log())).log()

    @cached_property
    def guarantee(self) -> Guarantee:
        """(ε, δ) if the computed δ(ε) confirms it for this configuration; none if it does not or cannot be computed."""
        if self.factor != 1:
            return super().guarantee
        try:
            found = enumerated_delta(self, rounded_down(self.epsilon))
        except TooLargeError:
            return NO_GUARANTEE
        return self._plain_claim if found.bound <= self.delta else NO_GUARANTEE

    @property
    def _plain_claim(self) -> Guarantee:
        return Guarantee(rounded_up(self.epsilon), rounded_up(self.delta), "computation")

    def _sensitivity(self, counts: Counts) -> Floats:
        return sensitivity.smooth_sensitivities(self.prior, counts, Smoothing(beta=self._beta))

    def _sensitivity_ball(self, counts: Counts) -> arb:
        steps = sensitivity.smooth_steps(self.prior, counts, Smoothing(beta=self._beta))
        beta = self._beta_ball()
        return sensitivity.steps_ball(steps, lambda h, distance: h * (-beta * distance).exp())
