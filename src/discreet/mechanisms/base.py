"""What every mechanism is: public parameters and a law over raw outcomes given private counts (DESIGN section 4).

A mechanism draws a *raw* outcome, integers whose law the proof is about, and *reports* counts, a fixed public function of it. Laws,
likelihoods and later inference are about the raw outcome. `law` and `simulate` are for study; only `release` may be published.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from discreet.distributions import Beta, Dirichlet
from discreet.errors import InvalidInputError, RefusedError
from discreet.frames import forgets_variables
from discreet.numerics import Floats
from discreet.release import NO_GUARANTEE, Guarantee, Release, rounded_up
from discreet.sampling import BitSource, SystemBits
from discreet.validation import Counts, Number, check_moderate, check_records, check_unit

__all__ = ["Law", "LossAtoms", "Mechanism", "merge"]

_LARGEST_RAW = 2**62
"""Noisy counts beyond this, which only a tiny epsilon makes likely, do not fit the arrays that likelihoods are computed in."""


@dataclass(frozen=True, eq=False)
class Law:
    """A finite distribution over counts."""

    counts: Counts
    """The outcomes, one a row."""
    log_probability: Floats
    omitted: float = 0.0
    """Upper bound on the probability of outcomes that are not listed (infinite supports are cut far out)."""

    @property
    def probability(self) -> Floats:
        """The outcomes' probabilities."""
        return np.exp(self.log_probability)

    def __repr__(self) -> str:
        return f"Law({len(self.counts)} outcomes)"


@dataclass(frozen=True)
class LossAtoms:
    """The law of ln P_x(z)/P_x'(z), z drawn from P_x, for a pair of datasets that is the worst of all by symmetry."""

    largest: Fraction
    """The largest loss, exactly."""
    loss: Floats
    probability: Floats

    def repeated(self, times: int) -> "LossAtoms":
        """The loss of this many independent coordinates with this law each."""
        loss, probability = np.zeros(1), np.ones(1)
        for _ in range(times):
            loss = np.add.outer(loss, self.loss).ravel()
            probability = np.multiply.outer(probability, self.probability).ravel()
        return LossAtoms(times * self.largest, loss, probability)


def merge(outcomes: Counts, log_probability: Floats) -> tuple[Counts, Floats]:
    """Add up the probabilities of equal rows; they come out in lexicographic order."""
    shape = [int(width) + 1 for width in np.ptp(outcomes, axis=0)]
    if prod(shape) < 2**62:  # one integer stands for a row, which is far faster to sort
        keys = np.ravel_multi_index(tuple((outcomes - outcomes.min(axis=0)).T), shape)
    else:
        keys = np.unique(outcomes, axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(keys, kind="stable")
    starts = np.nonzero(np.diff(keys[order], prepend=-1))[0]
    return outcomes[order[starts]], np.logaddexp.reduceat(log_probability[order], starts)


def _unit(counts: Any) -> str | None:
    """The unit of counts that know it. An attribute of a pandas Series may as well be one of its private counts."""
    unit = getattr(counts, "unit", None)
    return unit if isinstance(unit, str) else None


@dataclass(frozen=True)
class Mechanism(ABC):
    """A way to publish a posterior. `prior`, `n` and `epsilon` are public, like every option; only counts are private."""

    prior: Dirichlet | Beta
    n: int
    epsilon: Fraction

    if TYPE_CHECKING:  # numbers of any kind are taken and kept as exact rationals

        def __init__(self, prior: Dirichlet | Beta, n: int, epsilon: Number) -> None: ...

    names: ClassVar[tuple[str, ...]] = ()
    """What the papers call it."""

    def __post_init__(self) -> None:
        if not isinstance(self.prior, (Dirichlet, Beta)):
            raise InvalidInputError(f"prior must be a Dirichlet or a Beta, not {type(self.prior).__name__}")
        self._set("n", check_records(self.n))
        self._set("epsilon", check_moderate(self.epsilon, "epsilon"))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def k(self) -> int:
        """Number of categories."""
        return self.prior.k

    @property
    def guarantee(self) -> Guarantee:
        """The promise every release of this mechanism keeps."""
        return self._claim

    @property
    def _claim(self) -> Guarantee:
        """The promise that its parameters stand for: kept by proof, or if a computation, which is not done here, confirms it."""
        return Guarantee(rounded_up(self.epsilon), 0.0, "proof")

    # --- the four things a mechanism must say -------------------------------------------------------------------------

    @abstractmethod
    def _raw_law(self, counts: Counts) -> Law:
        """The law of the raw outcome, clamped to where outcomes stop telling datasets apart."""

    @abstractmethod
    def _log_prob(self, counts: Counts, raw: Counts) -> Floats:
        """Log probability of each row of raw outcomes."""

    @abstractmethod
    def _simulate(self, counts: Counts, size: int, rng: np.random.Generator) -> Counts:
        """Float Monte Carlo draws of the raw outcome."""

    @abstractmethod
    def _draw(self, counts: tuple[int, ...], source: BitSource) -> tuple[int, ...]:
        """One exact draw of the raw outcome."""

    def report(self, raw: Counts) -> Counts:
        """The counts reported for raw outcomes, one a row: public post-processing."""
        return raw

    def _within_arrays(self, raw: tuple[int, ...]) -> Counts:
        """One raw outcome, however large its integers, as a row that has the same report."""
        return np.array([raw], dtype=np.int64)

    def _check_size(self) -> None:  # noqa: B027  most mechanisms can draw at any size
        """Refuse, by public numbers alone, what is too large to draw exactly."""

    def _can_draw(self, raw: tuple[int, ...]) -> bool:
        """Whether this is a raw outcome of some dataset."""
        return len(raw) == self.k and sum(raw) == self.n

    def _log_factor(self, raw: Counts, category: int, x: Floats) -> Floats:
        """This category's factor of the likelihood of a raw outcome, up to a constant, where noise is independent by category."""
        raise NotImplementedError

    @property
    def has_product_form(self) -> bool:
        """Whether the likelihood of a raw outcome is a product over categories: `_log_factor` gives its factors."""
        return type(self)._log_factor is not Mechanism._log_factor

    def _simulated_noise(self, size: int, rng: np.random.Generator) -> Counts | None:  # noqa: ARG002
        """Simulated noise, one draw a row, where what is drawn is the counts plus noise that does not depend on them; else None."""
        return None

    def _log_report(self, x: int, r: Floats) -> Floats | None:  # noqa: ARG002
        """Two categories: ln of the probability that the first count is reported as r if it is x, up to a constant; None if not known.

        Between 0 and n it is a smooth function of real r, but for a kink next to x.
        """
        return None

    def _loss_atoms(self) -> LossAtoms | None:
        """The privacy loss of the neighbouring pair that dominates all others, where there is one and it has a closed form."""
        return None

    # --- what a user calls --------------------------------------------------------------------------------------------

    def law(self, counts: ArrayLike) -> Law:
        """The exact law of the reported counts. For study: it is a function of the private counts."""
        raw = self._raw_law(self._checked(counts))
        rows, log_probability = merge(self.report(raw.counts), raw.log_probability)
        return Law(rows, log_probability, raw.omitted)

    def log_prob(self, counts: ArrayLike, raw: ArrayLike) -> float:
        """Log probability of one raw outcome. For study: it is a function of the private counts."""
        outcome = np.asarray(raw)
        if outcome.ndim != 1 or outcome.dtype.kind not in "iu" or (outcome.astype(np.float64) > _LARGEST_RAW).any():
            raise InvalidInputError("raw must be one outcome: a sequence of whole numbers, none beyond 2**62")
        return float(self._log_prob(self._checked(counts), outcome[None, :].astype(np.int64))[0])

    def simulate(self, counts: ArrayLike, size: int, rng: np.random.Generator | int | None = None) -> Counts:
        """Fast float Monte Carlo draws of the reported counts, for experiments. Never publish them: they are not exact."""
        checked = self._checked(counts)
        return self.report(self._simulate(checked, check_records(size, "size"), np.random.default_rng(rng)))

    @forgets_variables
    def release(
        self,
        counts: ArrayLike,
        *,
        unit: Literal["record", "person"] | None = None,
        source: BitSource | None = None,
        allow_nonprivate: bool = False,
    ) -> Release:
        """Draw exactly from the law, with the operating system's randomness, and return the public record.

        `unit` is what one of the n stands for, a record or a person; counts that come with their own, as `discreet.count` makes them,
        need not be told. A mechanism without a guarantee refuses unless told `allow_nonprivate=True`, and the record says so; it
        also says so where the bits of another `source` are not secret.
        """
        guarantee = self.check_release(counts, unit=unit, allow_nonprivate=allow_nonprivate)
        bits = SystemBits() if source is None else source
        if not bits.secret:
            guarantee = replace(NO_GUARANTEE, unit=guarantee.unit)
        raw = self._draw(tuple(int(x) for x in self._checked(counts)), bits)
        reported = self.report(self._within_arrays(raw))[0]
        return Release(
            type(self).__name__, self.parameters, self.prior, self.n, guarantee, raw, cast("tuple[int, ...]", tuple(reported.tolist()))
        )

    @forgets_variables
    def check_release(
        self, counts: ArrayLike, *, unit: Literal["record", "person"] | None = None, allow_nonprivate: bool = False
    ) -> Guarantee:
        """Raise whatever `release` would, without drawing: for use before a budget is spent. Returns the guarantee it would have."""
        self._checked(counts)
        self._check_size()
        guarantee = replace(self.guarantee, unit=check_unit(unit, _unit(counts)))
        if guarantee.basis == "none" and not allow_nonprivate:
            fault = f"{type(self).__name__} has no privacy guarantee here, so it releases nothing; choose a mechanism with one"
            raise RefusedError(f"{fault}, or pass allow_nonprivate=True for data that need no protection", in_shell=fault)
        return guarantee

    @property
    def parameters(self) -> dict[str, Any]:
        """The options beyond prior and n, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init and f.name not in ("prior", "n")}

    def _checked(self, counts: ArrayLike) -> Counts:
        return self.prior._checked(counts, self.n)
