"""Commands that make records: from data, which `check` looks at and `release` draws for, or from counts that others published."""

import sys
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from secrets import token_hex
from tempfile import gettempdir
from typing import TYPE_CHECKING

import typer

from discreet.cli.output_files import check_place, record_content, save_picture, write_new
from discreet.cli.questions import FAILED, asks
from discreet.errors import DiscreetError, InvalidInputError, LedgerError
from discreet.present.record import print_record
from discreet.present.terminal import notice, progress_bar
from discreet.requests.fields import spoken
from discreet.requests.observe import ObserveRequest
from discreet.requests.release import CheckRequest, ReleaseDelivery, ReleaseRequest
from discreet.requests.release_steps import (
    charge_of,
    check_budget,
    lacks,
    little_protection,
    little_said,
    periods_beyond,
    source_of,
    strong_shares,
)

if TYPE_CHECKING:
    from discreet.ledger.ledger import Ledger
    from discreet.mechanisms.base import Prepared
    from discreet.record.release import Release
    from discreet.requests.checks import DataCheck


@asks(ReleaseDelivery)
def release(asked: ReleaseDelivery) -> None:
    """Count a column, draw a private posterior from exactly its proven law, and say what it promises.

    The spend is written to the ledger before anything is drawn. What is printed or written may be published. Into a file or a pipe goes
    the record alone; what is for people then goes to standard error.

    For all tables of a study at once, give its file: discreet release study.toml --help says how.

    Example: discreet release survey.csv --column smoking --categories never,former,current --epsilon 1 --privacy-id participant
    """
    asked.check()
    _check_places(asked)
    if asked.ledger is not None and asked.dataset is not None:
        from discreet.ledger.ledger import Ledger

        check_budget(Ledger(asked.ledger), asked.dataset, asked.unit, asked.relation, asked.period)
    found = _released(asked, asked.prepared(asked.counted()))
    if asked.output is not None:
        _keep(found, asked.output)
    if asked.is_printed:
        _print(found)
    if not asked.quiet and not asked.as_json:
        # Into a file or a pipe goes the record and nothing else.
        print_record(found, [("Ledger", _spent(asked, found))], hint=" (--privacy-id)", err=not sys.stdout.isatty())
    if asked.plot is not None:
        _draw(found, asked.plot)


def _check_places(asked: ReleaseDelivery) -> None:
    """Whatever can be wrong with places is found before any data is read or budget spent, and so is a table that JSON cannot hold."""
    from discreet.model.cells import cells_of
    from discreet.record.table_json import check_json

    if sys.stdout is None or sys.stderr is None:
        raise InvalidInputError("standard output or standard error is closed, and what is drawn could not be told; redirect it to a file")
    taken = {
        "the private data": asked.file,
        "the corrections": asked.corrections,
        "the ledger": None if asked.ledger is None else asked.ledger.removeprefix("sqlite:///"),
    }
    if asked.output is not None:
        check_place(asked.output, "--output", taken)
    if asked.plot is not None:
        check_place(asked.plot, "--plot", taken | {"--output": None if asked.output is None else str(asked.output)})
    if asked.by is not None:
        size = prod(cells_of(asked.by, tuple(asked.categories), asked.impossible).shape)
        if asked.is_printed or not asked.is_parquet:
            check_json(asked.by, size, "name a file with --output TABLE.parquet, and leave out --json")


def _released(asked: ReleaseDelivery, ready: "Prepared") -> "Release":
    """Draw once. Charge the ledger before that, and ask before either if something speaks against it."""
    from discreet.ledger.ledger import Ledger

    book = None if asked.ledger is None else Ledger(asked.ledger)
    confirm_all({"": ready}, book, asked.dataset, asked.file, yes=asked.yes)
    if book is None or asked.dataset is None:
        return ready.draw()
    return book.draw(asked.dataset, ready, note=asked.ledger_note, source=source_of(asked.file))


def _spent(asked: ReleaseDelivery, found: "Release") -> str:
    from discreet.ledger.ledger import Ledger

    if asked.ledger is None or asked.dataset is None:
        return "none was named"
    try:
        book = Ledger(asked.ledger)
        left = book.remaining(asked.dataset, asked.period)
        return f"{charge_of(book, asked.dataset, [found])} spent before the draw; {left} left for {asked.dataset!r}"
    except LedgerError:
        return f"spent before the draw; what is left for {asked.dataset!r} could not be read"


def _keep(found: "Release", output: Path) -> None:
    """Write the record. What has been drawn is never lost: it goes to a name next to one that was taken meanwhile, or is printed."""
    try:
        write_new(output, record_content(found, output))
    except DiscreetError as error:
        fault = f"the release was drawn and charged, but {error}"
        _print(found, fault)
        raise DiscreetError(f"{fault}; its record was printed instead: keep it") from None


def _print(found: "Release", fault: str = "the release was drawn and charged, but it is too large for JSON") -> None:
    """The record, before anything else that may fail; on the other stream if this one cannot be written to.

    A table that JSON cannot hold goes to the folder for temporary files, and the fault is raised with its name.
    """
    try:
        text = found.to_json()
    except InvalidInputError:
        if not found.by.columns:
            raise
        place = Path(gettempdir(), f"discreet-{token_hex(8)}.parquet")
        raise DiscreetError(f"{fault}; its record is in {write_new(place, record_content(found, place))}: keep it") from None
    try:
        typer.echo(text)
        sys.stdout.flush()
    except OSError as error:
        typer.echo(text, err=True)
        why = error.strerror or "the output cannot be written to"
        raise DiscreetError(f"the release was drawn and charged, but {why}; its record was printed here instead: keep it") from None


def _draw(found: "Release", plot: Path) -> None:
    try:
        with progress_bar():
            save_picture(found, plot)
    except DiscreetError as error:
        again = "discreet show RECORD --plot FILE draws it without another release"
        raise DiscreetError(f"the release was drawn and charged, but {error}; {again}") from None


@asks(CheckRequest)
def check(asked: CheckRequest) -> None:
    """Look at the data as a release would, and say what is in the way. For the curator alone: do not publish what it says.

    It takes the options of release about the data, or the file of a study. It lists values that are not declared, by their spellings and
    never how often, whether answers, groups or ids are missing, whether persons have several rows, and what would be refused. Nothing of
    it is written anywhere. It looks at the data and not at a ledger: `discreet ledger show` says what is left of a budget. The exit code
    is 1 if a release would be refused for the data, and 0 if not.

    Examples: discreet check survey.csv --column smoking --categories never,former,current, or discreet check study.toml
    """
    tell(asked.examined())


def tell(found: "DataCheck") -> None:
    """Print what was found, and end with the exit code of a refusal if a release would be refused."""
    typer.echo(str(found))
    if found.would_be_refused:
        raise typer.Exit(FAILED)


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
        n = one.mechanism.space.n
        if n is not None and (little := little_said(n, one.mechanism.epsilon)) is not None:
            notice(little)
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


@asks(ObserveRequest)
def observe(asked: ObserveRequest) -> None:
    """Make a record of noisy counts that somebody else published, which is shown, reported, contrasted and combined like ours.

    discreet promises nothing about such counts. What is known about their noise and about what was done to them is taken as you say it.

    Examples: discreet observe counts.csv --noise gaussian:4 --by region --source "Office A" --output theirs.json, or
    discreet observe counts.csv --noise laplace:2 --steps rounded:5,suppressed:10 --size-prior poisson:180 | discreet show -
    """
    if asked.python:
        typer.echo(asked.in_python())
        return
    if asked.output is not None:
        check_place(asked.output, "--output", {"the published counts": asked.file}, why="it may be the only copy of a record")
        if not asked.by and asked.output.suffix.lower() == ".parquet":
            raise InvalidInputError(
                "--output .parquet is for tables, which --by makes; the record of one variable is JSON: --output x.json"
            )
    found = asked.record()
    if asked.output is None:
        typer.echo(found.to_json())
        return
    write_new(asked.output, record_content(found, asked.output))
    print_record(found)
