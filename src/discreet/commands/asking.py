"""Asking before a budget is spent: what a release will not be able to give is said while it can still be chosen otherwise."""

import sys
from typing import TYPE_CHECKING

import typer

from discreet.commands.options import FAILED, notice
from discreet.errors import InvalidInputError

if TYPE_CHECKING:
    from discreet.mechanisms import Mechanism


def confirm_release(mechanism: "Mechanism", *, yes: bool) -> None:
    """Say what readers of a release will not be able to compute, and go on only if that is wanted: by `yes`, or by an answer.

    Whatever is said depends on public numbers alone.
    """
    from discreet.inference.capabilities import capabilities

    found = capabilities(mechanism)
    lacks = [
        word
        for word, reason in (
            ("no intervals that allow for the noise", found.no_noise_aware),
            ("no privacy loss that `discreet verify` could compute", found.no_privacy_loss),
        )
        if reason is not None
    ]
    if not lacks:
        return
    name = mechanism.title
    size = "a private n" if mechanism.space.n is None else f"n = {mechanism.space.n:,}"
    missing = f"a release of {name} with {size} and {mechanism.k} categories will have {' and '.join(lacks)}"
    better = _alternative(mechanism)
    if yes:
        notice(f"{missing}; {better}")
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidInputError(f"{missing}; nothing was spent: {better}, or add --yes to release all the same")
    notice(f"{missing}; {better}")
    if not typer.confirm("Release all the same?", err=True):
        notice("not released; nothing was spent")
        raise typer.Exit(FAILED)


def _alternative(mechanism: "Mechanism") -> str:
    """What has all of it, at the same size and ε, or how to come nearer."""
    from discreet.inference.capabilities import capabilities
    from discreet.mechanisms import LatticeGeometric

    if mechanism.layout:  # LatticeGeometric itself
        return "a larger --epsilon has less noise to allow for"
    found = capabilities(LatticeGeometric(mechanism.prior, mechanism.n, mechanism.epsilon))
    if found.noise_aware and found.privacy_loss:
        return "--mechanism LatticeGeometric has both"
    return "a larger --epsilon has less noise to allow for"
