"""Asking before a budget is spent: what a release will not be able to give is said while it can still be chosen otherwise."""

import sys
from math import log1p
from typing import TYPE_CHECKING

import typer

from discreet import limits
from discreet.commands.options import FAILED, notice
from discreet.errors import InvalidInputError

if TYPE_CHECKING:
    from discreet.mechanisms import Mechanism


def confirm_release(mechanism: "Mechanism", *, yes: bool) -> None:
    """Say what readers of a release will not be able to compute, and go on only if that is wanted: by `yes`, or by an answer.

    Whatever is said depends on public numbers alone.
    """
    lacking = lacks(mechanism)
    if lacking is None:
        return
    missing, better = lacking
    if not yes and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidInputError(f"{missing}; nothing was spent: {better}, or add --yes to release all the same")
    notice(f"{missing}; {better}")
    if not yes and not typer.confirm("Release all the same?", err=True):
        notice("not released; nothing was spent")
        raise typer.Exit(FAILED)


def lacks(mechanism: "Mechanism") -> tuple[str, str] | None:
    """What readers of a release will not be able to compute, and what helps; None where they will have all of it."""
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
    """What is to be said where the prior of the groups' shares says more about their sizes than a noisy count does; None elsewhere.

    With a public total N and a prior Dir(b) of the shares, one record more in a group changes the prior odds of its size by about
    ln(1 + Σb/N), and the odds that its noisy counts give by ε/2. A function of public numbers.
    """
    from discreet.mechanisms import LatticeGeometric

    if not isinstance(mechanism, LatticeGeometric) or mechanism.by is None or mechanism.table.published != "total":
        return None
    groups, n = len(mechanism.by), mechanism.table.n or 1
    strength = float(groups if mechanism.shares is None else sum(mechanism.shares))
    if log1p(strength / n) < float(mechanism.epsilon) / 2:
        return None
    return (
        f"{groups:,} groups share n = {n:,}, and ε is so small that the prior of their shares outweighs the noisy counts: posteriors "
        "will say little about single groups; fewer groups or a larger --epsilon help"
    )


def _alternative(mechanism: "Mechanism") -> str:
    """What has all of it, at the same size and ε, or how to come nearer."""
    from discreet.inference.capabilities import capabilities
    from discreet.mechanisms import LatticeGeometric

    if mechanism.n is None and min(mechanism.prior.exact) < limits.LEAST_PRIOR:
        return f"prior parameters of {limits.LEAST_PRIOR:g} or more have them"
    if mechanism.layout:  # LatticeGeometric itself
        return "a larger --epsilon has less noise to allow for"
    found = capabilities(LatticeGeometric(mechanism.prior, mechanism.n, mechanism.epsilon))
    if found.noise_aware and found.privacy_loss:
        return "--mechanism LatticeGeometric has both"
    return "a larger --epsilon has less noise to allow for"
