"""Discrete Gaussian noise on every count: `P(z) ∝ e^{-‖z - x‖²/(2σ²)}` (docs/explain/mechanisms.md).

Also with a public n every count has noise of its own, so that noisy counts need not add up to n. One step of the data changes one count by
1 where n is private, and two where it is public: ρ is 1/(2σ²) and 1/σ².
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import reduce
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np
from attrs import define, field

from discreet import limits
from discreet.arrays import Counts, Drawn
from discreet.errors import InvalidInputError
from discreet.mechanisms.gaussian_noise import LEAST_DELTA, GaussianNoise, gaussian_atoms, gaussian_delta, least_epsilon, least_variance
from discreet.mechanisms.laws import UNLISTED, Law, LossAtoms
from discreet.mechanisms.reports import Report
from discreet.mechanisms.samplers import Noise
from discreet.mechanisms.tabled import Tabled
from discreet.model.cells import Groups
from discreet.model.datasets import box_points, check_outcomes
from discreet.model.dirichlet import Prior
from discreet.record.guarantee import NO_GUARANTEE, Guarantee, rounded_up
from discreet.sampling import BitSource, SeededBits
from discreet.sampling.bulk import discrete_gaussian_array
from discreet.sampling.noise import check_variance, gaussian_seconds
from discreet.validation import Number, check_delta, check_moderate, check_positive

_MOST_GAUSSIAN_EPSILON = 10**6
_DEFAULT_DELTA = Fraction(1, 10**8)


def _epsilon(value: Any) -> Fraction | None:
    if value is None:
        return None
    epsilon = check_moderate(value, "epsilon")
    if epsilon > _MOST_GAUSSIAN_EPSILON:
        raise InvalidInputError(f"epsilon of Gaussian noise must be at most {_MOST_GAUSSIAN_EPSILON:,}; LatticeGeometric takes larger ones")
    return epsilon


def _delta(value: Any) -> Fraction:
    delta = check_delta(value)
    if not delta:
        raise InvalidInputError("Gaussian noise is private for no δ = 0: give a delta above 0, such as 1e-6, or use LatticeGeometric")
    if delta < LEAST_DELTA:
        raise InvalidInputError("delta of Gaussian noise must be at least 1e-300")
    return delta


def _rho(value: Any) -> Fraction | None:
    rho = None if value is None else check_positive(value, "rho")
    if rho is not None and rho > _MOST_GAUSSIAN_EPSILON:  # next to no noise: e^{-ρ} written out would fill any memory with zeros
        raise InvalidInputError(f"rho of Gaussian noise must be at most {_MOST_GAUSSIAN_EPSILON:,}; LatticeGeometric takes larger epsilons")
    return rho


@define(frozen=True, slots=False, repr=False)
class _GaussianOptions(Tabled[Drawn]):
    """The fields of `DiscreteGaussian`. They have a class of their own so that type checkers can be told what its `by` means."""

    __qualname__ = "DiscreteGaussian"

    epsilon: Fraction = field(default=None, converter=_epsilon)
    delta: Fraction = field(default=_DEFAULT_DELTA, kw_only=True, converter=_delta)
    rho: Fraction = field(default=None, kw_only=True, converter=_rho)


class DiscreteGaussian(_GaussianOptions[Drawn]):
    """ρ-zCDP by proof and (ε, δ) by computation: independent noise, `P(d) ∝ e^{-d²/(2σ²)}`, on every count, then turned into counts.

    With n a step replaces a record, and σ² = 1/ρ; without n it adds or removes one, and σ² = 1/(2ρ). Over several releases ρ adds up, and
    not σ: ten or more, released together under one ε and δ, have less noise than `LatticeGeometric` would give them. One alone has more.

    Args:
        prior: The Dirichlet, or for two categories the Beta, that readers begin with; it names the categories, in their order.
        n: What is public about the number of records, as for `LatticeGeometric`.
        epsilon: ε, with `delta`: σ is the least, to six digits of σ², whose exact δ(ε) is at most δ. From `rho` it is the least ε.
        delta: δ, above 0.
        rho: ρ, in place of epsilon. (With it, epsilon is what is promised at delta, and refused if that is not so.)
        by: The groups of a table, as {"region": ["north", "south"]}, as `impossible`, `shares`, `priors` and `report` are those of
            `LatticeGeometric`.

    Raises:
        InvalidInputError: An argument is not what is said above, or does not go together with the others.
        TooLargeError: σ would be above 65,536.
    """

    _names: ClassVar[tuple[str, ...]] = ("gaussian",)
    _look: ClassVar[tuple[Any, ...]] = ("#1e0096", "d", (0, (8, 2, 2, 2)), "O")

    if TYPE_CHECKING:  # attrs makes it: this tells type checkers that groups make a table

        @overload
        def __init__(
            self: "DiscreteGaussian[tuple[int, ...]]",
            prior: Prior,
            n: Any = ...,
            epsilon: Number | None = ...,
            *,
            delta: Number = ...,
            rho: Number | None = ...,
            by: None = ...,
            report: Report = ...,
        ) -> None: ...

        @overload
        def __init__(
            self: "DiscreteGaussian[Counts]",
            prior: Prior,
            n: Any = ...,
            epsilon: Number | None = ...,
            *,
            delta: Number = ...,
            rho: Number | None = ...,
            by: Mapping[str, Any] | Groups,
            impossible: Any = ...,
            shares: Any = ...,
            priors: Any = ...,
            report: Report = ...,
        ) -> None: ...

        def __init__(self, *_: Any, **__: Any) -> None: ...

    def __attrs_post_init__(self) -> None:
        if self.epsilon is None and self.rho is None:
            raise InvalidInputError("epsilon must be given, with delta, or rho: DiscreteGaussian(prior, n, epsilon=1, delta=1e-6)")
        super().__attrs_post_init__()
        if self.rho is None:
            object.__setattr__(self, "rho", self._changed / (2 * least_variance(self.epsilon, self.delta, self._changed)))
        check_variance(self._variance)
        if self.epsilon is None:
            object.__setattr__(self, "epsilon", least_epsilon(self._variance, self.delta, self._changed))

    @property
    def _changed(self) -> int:
        """The counts that one step changes by 1."""
        return 1 if self.n is None else 2

    @property
    def _variance(self) -> Fraction:
        """σ²."""
        return self._changed / (2 * self.rho)

    @property
    def _claim(self) -> Guarantee:
        """(ε, δ) if the exact δ(ε) of this noise is at most δ, and none otherwise."""
        if gaussian_delta(self._variance, self._changed, self.epsilon) > self.delta:
            return NO_GUARANTEE
        figures = rounded_up(self.epsilon), rounded_up(self.delta)
        return Guarantee(*figures, "computation", neighbours=self.space.relation, rho=self.rho)

    @property
    def noise(self) -> GaussianNoise:
        """Noise of its own for every cell."""
        return GaussianNoise(self.space.k, float(self._variance))

    def _draw_noise(self, source: BitSource) -> Noise:
        """Exact noise for every cell that can occur."""
        return discrete_gaussian_array(source, self._variance, self.space.k)

    @property
    def _draw_seconds(self) -> float:
        """Bound the seconds by the number of cells and the length of the table of noise."""
        return gaussian_seconds(self._variance, self.space.k)

    def _warm_up(self) -> None:
        """Draw noise once from public bits, which makes the table."""
        discrete_gaussian_array(SeededBits(0), self._variance, 1)

    def _raw_law(self, counts: Counts) -> Law:
        """List every noisy count out to where next to no probability is left; where n is public, so far beyond 0 and n."""
        self._check_single()
        noise, reach = self.noise, self.noise.reach(1, self.k, 0.5 * UNLISTED / self.k)[1]
        ends = [(int(x), int(x)) if self.n is None else (0, self.space.total) for x in counts]
        check_outcomes(prod(high - low + 2 * reach + 1 for low, high in ends), "this law", limits.LISTED_CELLS // self.k)
        axes = [np.arange(low - reach, high + reach + 1) for low, high in ends]
        logs = [noise.log_factor((axis - x).astype(np.float64)) for x, axis in zip(counts, axes, strict=True)]
        return Law(box_points(axes), np.asarray(reduce(np.add.outer, logs)).ravel(), UNLISTED)

    def _loss_atoms(self) -> LossAtoms:
        """Return the loss of any neighbouring pair: all are alike."""
        return gaussian_atoms(self._variance, self._changed)

    def _two_step_delta(self, epsilon: Fraction) -> Fraction:
        """Return the δ of the sum of the noise of two counts."""
        return gaussian_delta(self._variance, 2, epsilon)
