"""Privacy, computed: the exact loss and δ(ε) of a mechanism, where they are reached, and rigorous upper bounds (docs/explain/privacy.md).

Noise mechanisms have one neighbouring pair that is the worst by symmetry, with a loss of a few values. For the exponential family
all neighbouring pairs are gone through: two categories in O(n²) time and O(n) memory, more while the candidates can be listed.
All of it is about the raw outcome, which a release contains, so it covers every report made from it.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite

import numpy as np
from numpy.typing import ArrayLike

from discreet.arrays import Counts, Floats
from discreet.errors import InvalidInputError, RefusedError, TooLargeError
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.laws import ATOM_ERROR, LossAtoms
from discreet.mechanisms.losses import (
    PROFILE_PASSES,
    Bounded,
    check_paired,
    enumerated_delta,
    enumerated_loss,
    enumerated_profile,
    neighbouring_laws,
    renyi_divergence,
)
from discreet.model.datasets import simplex_points
from discreet.record.guarantee import Guarantee, rounded_up
from discreet.record.release import Release
from discreet.text import html_fields
from discreet.validation import Number, check_positive, check_records, exact, shown

_LARGEST_FLOAT_EXPONENT = 700.0
"""The largest exponent: beyond it e^ε is not a float, and a smaller ε only makes a δ larger."""

Subject = Mechanism | Release
"""A mechanism, or a record, which stands for the mechanism it describes."""


def mechanism_of(subject: Subject) -> Mechanism:
    """The mechanism, or the one that a record names."""
    if isinstance(subject, Release):
        return subject.mechanism
    if not isinstance(subject, Mechanism):
        raise InvalidInputError(f"give a mechanism or a release, not {type(subject).__name__}")
    return subject


def check_loss(mechanism: Mechanism) -> None:
    """Refuse, by public numbers alone, a mechanism whose privacy loss cannot be computed at its size."""
    if mechanism._loss_atoms() is None:
        check_paired(mechanism.space.total, mechanism.k)


def privacy_loss(mechanism: Subject) -> Bounded:
    """The largest `|ln P_x(z)/P_x'(z)|` over all neighbouring datasets and outcomes, and where it is reached.

    The loss of Gaussian noise is infinite: outcomes far out, of tiny probability, tell any two datasets apart. `delta_at` says how tiny.

    Args:
        mechanism: A mechanism, or a release, whose mechanism is meant.

    Returns:
        The loss as its `value`, a rigorous upper `bound`, and the pair of datasets `at` which it is reached.

    Raises:
        TooLargeError: The laws of all datasets are too many to be listed.
    """
    mechanism = mechanism_of(mechanism)
    atoms = mechanism._loss_atoms()
    if atoms is None:
        return enumerated_loss(mechanism)
    if atoms.largest is None:
        return Bounded(inf, inf, mechanism.space.pair())
    return Bounded(float(atoms.largest), rounded_up(atoms.largest), mechanism.space.pair())


def largest_listed_loss(mechanism: Mechanism) -> float:
    """A bound on the privacy loss or, where it has none, the largest loss that `privacy_profile` tells apart from others."""
    atoms = mechanism._loss_atoms()
    return privacy_loss(mechanism).bound if atoms is None or atoms.largest is not None else float(atoms.loss.max())


def delta_at(mechanism: Subject, epsilon: Number) -> Bounded:
    """The least δ for which the mechanism is (ε, δ)-private: the largest hockey-stick divergence, over both directions.

    Args:
        mechanism: a mechanism, or a record, which stands for its mechanism.
        epsilon: the ε.

    Returns:
        The δ, with a rigorous upper bound and the neighbouring datasets where it is reached.

    Raises TooLargeError where the laws of all datasets are too many to be listed.
    """
    mechanism, level = mechanism_of(mechanism), exact(epsilon, "epsilon")
    atoms = mechanism._loss_atoms()
    if atoms is None:
        return enumerated_delta(mechanism, float(level))
    if atoms.largest is not None and level >= atoms.largest:
        return Bounded(0.0, 0.0, mechanism.space.pair())
    value = float(_atom_deltas(atoms, np.array([float(level)]))[0])
    return Bounded(value, value * (1.0 + ATOM_ERROR) + atoms.slack, mechanism.space.pair())


def _atom_deltas(atoms: LossAtoms, epsilons: Floats) -> Floats:
    """δ at each ε, of as many at a time as memory is taken for."""
    together, found = max(1, _LOSSES_TOGETHER // len(atoms.loss)), []
    for start in range(0, len(epsilons), together):
        excess = -np.expm1(np.minimum(0.0, epsilons[start : start + together, None] - atoms.loss))
        found.append(excess @ atoms.probability)
    return np.concatenate(found)


_LOSSES_TOGETHER = 1 << 22
"""Losses that are compared with an ε at a time."""


def renyi_loss(mechanism: Subject, order: Number) -> Bounded:
    """The largest Rényi divergence of an order between the laws of neighbouring datasets, in either direction.

    Args:
        mechanism: a mechanism, or a record, which stands for its mechanism.
        order: the order, from 1.001 to 10^6.

    Returns:
        The divergence, with a rigorous upper bound and the neighbouring datasets where it is reached.

    Raises TooLargeError where the laws of all datasets are too many to be listed.
    """
    mechanism, level = mechanism_of(mechanism), exact(order, "order")
    if not Fraction(1001, 1000) <= level <= 10**6:
        raise InvalidInputError(f"order must be from 1.001 to 1e6, got {shown(order)}")
    return renyi_divergence(mechanism, float(level))


@dataclass(frozen=True, eq=False)
class LossProfile:
    """The loss of every dataset against its neighbours."""

    counts: Counts
    loss: Floats


def loss_profile(mechanism: Subject) -> LossProfile:
    """Return for every dataset the largest loss against a neighbour. Noise has the same everywhere, listed for two categories.

    Raises:
        RefusedError: There is no largest loss, as for Gaussian noise.
        TooLargeError: There are too many datasets to be listed, or more than two categories of noise.
    """
    mechanism = mechanism_of(mechanism)
    mechanism._check_single()
    atoms = mechanism._loss_atoms()
    if atoms is None:
        return LossProfile(*enumerated_profile(mechanism))
    if atoms.largest is None:
        raise RefusedError(f"{type(mechanism).__name__} has no largest loss at any dataset; delta_at says how likely a loss above ε is")
    if mechanism.k != 2:
        raise TooLargeError(f"{type(mechanism).__name__} loses {float(atoms.largest):g} at every dataset; there is no profile to list")
    return LossProfile(simplex_points(mechanism.space.total, 2), np.full(mechanism.space.total + 1, float(atoms.largest)))


def privacy_profile(mechanism: Subject, epsilons: ArrayLike) -> Floats:
    """Rigorous upper bounds on δ(ε) at each ε: the pointwise maximum over all neighbouring pairs and both directions.

    That maximum is a valid privacy profile, and no single pair gives it (docs/explain/privacy.md): it is what may be composed.
    """
    mechanism, levels = mechanism_of(mechanism), np.asarray(epsilons, dtype=np.float64)
    atoms = mechanism._loss_atoms()
    if atoms is not None:
        return np.minimum(1.0, _atom_deltas(atoms, levels) * (1.0 + ATOM_ERROR) + atoms.slack)
    highest = np.zeros_like(levels)
    for pair in neighbouring_laws(mechanism, passes=PROFILE_PASSES):
        for log_law, signed in pair.directions:
            np.maximum(highest, _hockey_stick_bounds(log_law, signed, levels, pair.error), out=highest)
    return np.minimum(1.0, highest)


def _hockey_stick_bounds(log_law: Floats, loss: Floats, epsilons: Floats, error: float) -> Floats:
    """Upper bounds on Σ (P - e^ε P')+ at many ε at once: sort by loss and add up from the top, with the slack of `enumerated_delta`."""
    order = np.argsort(-loss)
    falling = -loss[order]
    mass = np.concatenate([[0.0], np.cumsum(np.exp(log_law[order]))])
    other = np.concatenate([[0.0], np.cumsum(np.exp(log_law[order] - loss[order]))])
    above = np.searchsorted(falling, -epsilons, side="left")
    may_enter = mass[np.searchsorted(falling, 2.0 * error - epsilons, side="right")]
    value = np.maximum(0.0, mass[above] - np.exp(np.minimum(epsilons, _LARGEST_FLOAT_EXPONENT)) * other[above])
    return np.asarray(value + 4.0 * error * may_enter)


_LITTLE_SAID = 1
"""n·ε up to which a release says next to nothing: the odds between any two datasets change by a factor of at most e."""


def only_prior_speaks(n: int, epsilon: Number) -> bool:
    """Return whether ε is so small for n records that a release can say next to nothing, whatever the mechanism, the data and the draw.

    Any two datasets are at most n replacements apart, so an ε-private release changes the odds between them by a factor of at most
    e^(nε). Where nε is at most 1, a posterior of the release is nearly the prior. A function of public numbers.
    """
    return check_records(n) * check_positive(epsilon, "epsilon") <= _LITTLE_SAID


_SLIGHT_SLACK = 0.005
"""The least part of ε that is worth a word when it is left unused."""


_ROUNDED = "what was computed is what is claimed, up to the rounding errors of the law that the mechanism lists"


@dataclass(frozen=True)
class Verification:
    """The claim of a mechanism, its computed loss, and whether the one covers the other."""

    claimed: Guarantee
    loss: Bounded | None
    delta: Bounded | None
    reason: str

    @property
    def holds(self) -> bool | None:
        """True or False where it could be computed; None where it could not, or where rounding errors leave it open."""
        if self.delta is None:
            return None
        if self.claimed.basis == "none" or 2.0 * self.delta.value - self.delta.bound > self.claimed.delta:
            return False
        return True if self.delta.bound <= self.claimed.delta else None

    @property
    def slack(self) -> float | None:
        """The part of the claimed ε that the computed loss does not use; None where a loss has no largest value."""
        known = self.loss is not None and isfinite(self.loss.value) and self.claimed.basis != "none"
        return None if self.loss is None or not known else 1.0 - self.loss.value / self.claimed.epsilon

    @property
    def verdict(self) -> str:
        if self.delta is None or self.loss is None:
            return f"not computed: {self.reason}"
        if self.claimed.basis == "none":
            return f"nothing is claimed; the computed loss is {self.loss.value:.6g}"
        return {True: "holds", False: "does not hold", None: f"not decided: {_ROUNDED}"}[self.holds]

    def _loss_words(self, bounded: str) -> str:
        """The computed loss, with these words before its bound."""
        if self.loss is None or not isfinite(self.loss.value):
            return "infinite, because outcomes far out have some probability"
        return f"{self.loss.value!r}{bounded}{self.loss.bound!r}"

    def _repr_html_(self) -> str:
        fields: dict[str, object] = {"claimed": self.claimed}
        if self.loss is not None and self.delta is not None:
            first, second = self.loss.at
            fields |= {
                "computed loss": self._loss_words(", certainly at most "),
                "reached between": f"{shown(first)} and {shown(second)}",
                "δ at the claimed ε": f"certainly at most {self.delta.bound!r}",
            }
        return html_fields("Verification", fields | {"verdict": self.verdict})

    def __str__(self) -> str:
        lines = [f"claimed: {self.claimed}"]
        if self.loss is not None and self.delta is not None:
            first, second = self.loss.at
            lines.append(f"computed: the privacy loss is {self._loss_words(' and certainly at most ')}")
            lines.append(f"reached between the counts {shown(first)} and {shown(second)}")
            if self.claimed.delta > 0.0 and self.claimed.basis != "none":
                lines.append(f"δ at the claimed ε: certainly at most {self.delta.bound!r}")
        unused = (
            f"; {100.0 * self.slack:.0f} % of the claimed ε is not used"
            if self.holds and self.slack is not None and self.slack > _SLIGHT_SLACK
            else ""
        )
        return "\n".join([*lines, f"verdict: {self.verdict}{unused}"])


def verify(mechanism: Subject) -> Verification:
    """Compute the privacy loss of a mechanism, or of a record's, and compare it with what the mechanism or the record claims.

    Args:
        mechanism: A mechanism, or a release, whose record may claim more than its mechanism does.

    Returns:
        A `Verification`: its `verdict` is "holds", "does not hold", or why the loss was not computed.

    Raises:
        RefusedError: The counts are of another publisher, and nothing is promised here.
    """
    claimant, mechanism = mechanism, mechanism_of(mechanism)
    claimed = claimant.guarantee
    if mechanism._publisher is not None:
        raise RefusedError(
            f"there is nothing to verify: whatever is promised is promised by {mechanism._publisher}; discreet promises nothing"
        )
    try:
        loss = privacy_loss(mechanism)
        level = mechanism.epsilon if claimed.basis == "none" else Fraction(repr(claimed.epsilon))
        delta = Bounded(0.0, 0.0, loss.at) if loss.bound <= level else delta_at(mechanism, level)
    except TooLargeError as error:
        return Verification(claimed, None, None, str(error))
    return Verification(claimed, loss, delta, "")
