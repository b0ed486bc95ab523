"""Warnings before a release, by public numbers alone, while it can still be chosen otherwise."""

from fractions import Fraction
from math import exp, log, log1p
from typing import TYPE_CHECKING

from discreet import limits

if TYPE_CHECKING:
    from discreet.mechanisms import Mechanism
    from discreet.record.guarantee import Guarantee
    from discreet.validation import Public

_LITTLE_PROTECTION = 5
"""The ε above which docs/howto/choosing.md speaks of little protection."""


def little_said(n: int, epsilon: Fraction, public: "Public" = "total") -> str | None:
    """Return the warning where only the prior speaks; None where the data do too."""
    from discreet.analysis.privacy import only_prior_speaks

    steps = n if public == "total" else 2 * n  # to replace a record is to remove one and to add another
    if not only_prior_speaks(steps, epsilon):
        return None
    factor, size = f"{exp(steps * epsilon):.2f}", "datasets" if public == "total" else "datasets of this size"
    return (
        f"ε is so small for n = {n:,} that only the prior speaks: whatever the data are, a release changes the odds between any two "
        f"{size} by a factor of at most {factor}"
    )


def lacks(mechanism: "Mechanism") -> tuple[str, str] | None:
    """Return what readers of a release will not be able to compute, and what helps; None where they will have all of it."""
    from discreet.inference.capabilities import capabilities

    found = capabilities(mechanism)
    missing = [
        word
        for word, reason in (
            ("no intervals that allow for the noise", found.no_noise_aware),
            ("no privacy loss that `discreet verify` could compute", found.no_privacy_loss),
        )
        if reason is not None
    ]
    if not missing:
        return None
    size = "a private n" if mechanism.space.n is None else f"n = {mechanism.space.n:,}"
    release = f"a release of {mechanism.title} with {size} and {mechanism.k} categories"
    return f"{release} will have {' and '.join(missing)}", _alternative(mechanism)


def strong_shares(mechanism: "Mechanism") -> str | None:
    """Return the warning where the prior of the groups' shares outweighs a noisy count about their sizes; None elsewhere.

    With a public total N and a prior Dir(b) of the shares, one record more in a group changes the prior odds of its size by about
    ln(1 + Σb/N), and the odds that its noisy counts give by ε/2. A function of public numbers.
    """
    from discreet.mechanisms.lattice import LatticeGeometric

    if not isinstance(mechanism, LatticeGeometric) or not mechanism.by.columns or mechanism._table.published != "total":
        return None
    groups, n = len(mechanism.by), mechanism._table.n or 1
    strength = float(groups if mechanism.shares is None else sum(mechanism.shares))
    if log1p(strength / n) < float(mechanism.epsilon) / 2:
        return None
    return (
        f"{groups:,} groups share n = {n:,}, and ε is so small that the prior of their shares outweighs the noisy counts: posteriors "
        "will say little about single groups; fewer groups or a larger --epsilon help"
    )


def _alternative(mechanism: "Mechanism") -> str:
    """Return a mechanism that lacks nothing at the same size and ε, or how to come nearer."""
    from discreet.inference.capabilities import capabilities
    from discreet.mechanisms.lattice import LatticeGeometric

    if mechanism.n is None and min(mechanism.prior.exact) < limits.LEAST_PRIOR:
        return f"prior parameters of {limits.LEAST_PRIOR:g} or more have them"
    if mechanism._layout:  # LatticeGeometric itself
        return "a larger --epsilon has less noise to allow for"
    found = capabilities(LatticeGeometric(mechanism.prior, mechanism.n, mechanism.epsilon))
    if found.noise_aware and found.privacy_loss:
        return "--mechanism LatticeGeometric has both"
    return "a larger --epsilon has less noise to allow for"


def little_protection(guarantee: "Guarantee") -> str | None:
    """Return the warning where ε is large; None where it is not."""
    if guarantee.epsilon <= _LITTLE_PROTECTION:
        return None
    hidden = "whether someone took part" if guarantee.hides_presence else "what someone answered"
    return f"ε is above {_LITTLE_PROTECTION}: the odds of {hidden} may change by a factor of {_factor(guarantee.epsilon)}"


def periods_beyond(guarantee: "Guarantee", mechanism: "Mechanism") -> str | None:
    """Return the warning where groups or categories are periods that a release is not charged to; None where none are."""
    from discreet.model.periods import PeriodRange, named

    period, groups = guarantee.period, mechanism.space.groups
    if period is None:
        return None
    places = {f"groups by {column}": labels for column, labels in zip(groups.columns, groups.labels, strict=True)}
    for what, labels in (places | {"categories": mechanism.prior.categories}).items():
        for label in labels:
            every, day = named(str(label)) or (None, period.first)
            if every == period.every and PeriodRange(period.every, day, day) not in period:
                return (
                    f"there are {what} such as {label}, and the release is charged to {period}: if they are made of the dates of rows, "
                    "name all that are read as its period"
                )
    return None


def _factor(epsilon: float) -> str:
    """e^ε, for people: a whole number, or where that has many digits the power of ten below it."""
    digits = epsilon / log(10)
    return f"{exp(epsilon):,.0f}" if digits < _WRITTEN_DIGITS else f"more than 10^{int(digits)}"


_WRITTEN_DIGITS = 6
