"""`discreet release`: from a table to a published posterior."""

import sys
from math import prod
from pathlib import Path
from secrets import token_hex
from tempfile import gettempdir
from typing import TYPE_CHECKING

import typer

from discreet.cli.confirmation import confirm_all
from discreet.cli.output_files import check_place, record_content, save_picture, tell_name, write_new
from discreet.cli.questions import asks
from discreet.errors import DiscreetError, InvalidInputError, LedgerError
from discreet.present.progress import progress_bar
from discreet.present.record import print_record
from discreet.requests.release import ReleaseDelivery
from discreet.requests.release_steps import charge_of, check_budget, source_of

if TYPE_CHECKING:
    from discreet.mechanisms.base import Prepared
    from discreet.record.release import Release


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
        tell_name(write_new(output, record_content(found, output)), output)
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
