"""Asking at a terminal before a budget is spent."""

import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import typer

from discreet.cli.options import FAILED
from discreet.errors import InvalidInputError
from discreet.present.terminal import notice
from discreet.requests.cautions import lacks, little_protection, little_said, strong_shares
from discreet.requests.release_steps import source_of

if TYPE_CHECKING:
    from discreet.ledger.ledger import Ledger
    from discreet.mechanisms import Mechanism
    from discreet.mechanisms.base import Prepared
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


def confirm_all(ready: "Mapping[str, Prepared]", ledger: "Ledger | None", dataset: str | None, file: str, *, yes: bool) -> None:
    """Say what speaks against releases, by public numbers, and ask. Tables of a study have names, and a single release has none."""
    from discreet.ledger.charges import second_budget_words

    for name, one in ready.items():
        if one.mechanism.space.n is not None:
            notice_little_said(one.mechanism.space.n, one.mechanism.epsilon)
        if (weak := strong_shares(one.mechanism)) is not None:
            notice(f"tables.{name}: {weak}" if name else weak)
    doubts = [said for one in ready.values() if (said := little_protection(one.guarantee)) is not None][:1]
    source = source_of(file)
    if ledger is None or dataset is None:
        named = "--ledger and --dataset name one" if "" in ready else "--ledger names one"
        doubts.append(f"no ledger was named, so nobody adds up what these records give away; {named}")
    elif source is not None and (second := second_budget_words(ledger.charged_elsewhere(dataset, source))) is not None:
        doubts.append(second)
    mechanisms = [one.mechanism for one in ready.values()]
    confirm_release(next((one for one in mechanisms if lacks(one) is not None), mechanisms[0]), doubts, yes=yes)
