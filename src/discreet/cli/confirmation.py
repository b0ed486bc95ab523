"""Asking at a terminal before a budget is spent."""

import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import typer

from discreet.cli.options import FAILED
from discreet.errors import InvalidInputError
from discreet.present.terminal import notice
from discreet.requests.cautions import lacks, little_said

if TYPE_CHECKING:
    from discreet.mechanisms import Mechanism
    from discreet.validation import Public


def notice_little_said(n: int, epsilon: Fraction, public: "Public" = "total") -> None:
    """Say it where ε is so small for n records that only the prior speaks. Where n is private it is a guess."""
    said = little_said(n, epsilon, public)
    if said is not None:
        notice(said)


def confirm_release(mechanism: "Mechanism", doubts: Sequence[str], *, yes: bool) -> None:
    """Say what speaks against a release, and at a terminal go on only if it is wanted: by `yes`, or by an answer.

    That is what readers will not be able to compute, without which a script goes on only with `yes`, and `doubts` about ε and the
    budget, with which it goes on. Whatever is said depends on public things alone.
    """
    lacking, asks = lacks(mechanism), not yes and sys.stdin.isatty() and sys.stderr.isatty()
    if lacking is not None:
        missing, better = lacking
        if not yes and not asks:
            raise InvalidInputError(f"{missing}; nothing was spent: {better}, or add --yes to release all the same")
        doubts = [f"{missing}; {better}", *doubts]
    for doubt in doubts:
        notice(doubt)
    if asks and doubts and not typer.confirm("Release all the same?", err=True):
        notice("not released; nothing was spent")
        raise typer.Exit(FAILED)
