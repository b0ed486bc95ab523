"""Asking at a terminal before a budget is spent."""

import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import typer

from discreet.cli.options import FAILED
from discreet.errors import InvalidInputError
from discreet.present.terminal import notice
from discreet.requests.cautions import lacks, little_protection, little_said, periods_beyond, strong_shares
from discreet.requests.fields import spoken
from discreet.requests.release import ReleaseRequest
from discreet.requests.release_steps import charge_of, source_of

if TYPE_CHECKING:
    from discreet.ledger.ledger import Ledger
    from discreet.mechanisms.base import Prepared
    from discreet.validation import Public


def notice_little_said(n: int, epsilon: Fraction, public: "Public" = "total") -> None:
    """Say it where ε is so small for n records that only the prior speaks. Where n is private it is a guess."""
    said = little_said(n, epsilon, public)
    if said is not None:
        notice(said)


def confirm_release(faults: Sequence[tuple[str, str]], doubts: Sequence[str], *, yes: bool) -> None:
    """Say what speaks against a release, and at a terminal go on only if it is wanted: by `yes`, or by an answer.

    With `faults`, each with what is better, a script goes on only with `yes`; with mere `doubts` it goes on. Whatever is said depends on
    public things alone.
    """
    asks = not yes and sys.stdin.isatty() and sys.stderr.isatty()
    if faults and not yes and not asks:
        fault, better = faults[0]
        raise InvalidInputError(f"{fault}; nothing was spent: {better}, or add --yes to release all the same")
    said = [*("; ".join(one) for one in faults), *doubts]
    for doubt in said:
        notice(doubt)
    if asks and said and not typer.confirm("Release all the same?", err=True):
        notice("not released; nothing was spent")
        raise typer.Exit(FAILED)


def confirm_all(ready: "Mapping[str, Prepared]", ledger: "Ledger | None", dataset: str | None, file: str, *, yes: bool) -> None:
    """Say what speaks against releases, by public numbers, and ask. Tables of a study have names, and a single release has none."""
    from discreet.ledger.charges import second_budget_words

    for name, one in ready.items():
        if one.mechanism.space.n is not None:
            notice_little_said(one.mechanism.space.n, one.mechanism.epsilon)
        if (weak := strong_shares(one.mechanism)) is not None:
            notice(f"tables.{name}: {spoken(weak, ReleaseRequest, 'study', name)}" if name else weak)
    faults = [said for one in ready.values() if (said := lacks(one.mechanism)) is not None][:1]
    doubts = [weak for one in ready.values() if (weak := little_protection(one.guarantee)) is not None][:1]
    doubts += [beyond for one in ready.values() if (beyond := periods_beyond(one.guarantee, one.mechanism)) is not None][:1]
    if ledger is None or dataset is None:
        named = "--ledger and --dataset name one" if "" in ready else "--ledger names one"
        doubts.append(f"no ledger was named, so nobody adds up what these records give away; {named}")
    else:
        dear = _dear(ledger, dataset, list(ready.values()))
        faults += dear if "" in ready else [(fault, spoken(better, ReleaseRequest, "study")) for fault, better in dear]
        source = source_of(file)
        if source is not None and (second := second_budget_words(ledger.charged_elsewhere(dataset, source))) is not None:
            doubts.append(second)
    confirm_release(faults, doubts, yes=yes)


def _dear(ledger: "Ledger", dataset: str, ready: "Sequence[Prepared]") -> list[tuple[str, str]]:
    """Return notices where a budget is charged more than the releases' own ε, each with what is cheaper."""
    charge = charge_of(ledger, dataset, ready)
    if not charge.why:
        return []
    better = "a budget that hides the same as the release is charged its own ε"
    if ready[0].guarantee.hides_presence and not ledger.budget(dataset).neighbours.within:
        better = "with --public total it is charged its own ε, and n is public"
    return [(f"the budget of {dataset!r} would be charged {charge}", better)]
