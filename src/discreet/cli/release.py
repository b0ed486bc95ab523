"""`discreet release`: from a table to a published posterior."""

import sys
from math import prod
from pathlib import Path
from secrets import token_hex
from tempfile import gettempdir
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from discreet.cli.confirmation import confirm_all
from discreet.cli.options import JsonOption
from discreet.cli.output_files import check_picture, check_place, save_picture, tell_name, write_new
from discreet.cli.questions import asks
from discreet.errors import DiscreetError, InvalidInputError, LedgerError
from discreet.present.progress import progress_bar
from discreet.present.record import print_record
from discreet.present.terminal import notice
from discreet.requests.release import LEDGER_VARIABLE, ReleaseRequest
from discreet.requests.release_steps import charge_of, check_budget, check_text, source_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.mechanisms.base import Prepared
    from discreet.record.guarantee import Guarantee
    from discreet.record.release import Release

_RECORDS = (".json", ".parquet")
"""How the file of a record is called."""


@asks(ReleaseRequest)
def release(
    asked: ReleaseRequest,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the public record to this new .json file, or a table to .parquet; else print it."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the posteriors to this new PNG, SVG or PDF file.")] = None,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing; for use with --output.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Release without asking, also where no intervals or no verification will be possible.")
    ] = False,
) -> None:
    """Count a column, draw a private posterior from exactly its proven law, and say what it promises.

    The spend is written to the ledger before anything is drawn. What is printed or written may be published. Into a file or a pipe goes
    the record alone; what is for people then goes to standard error.

    For all tables of a study at once, give its file: discreet release study.toml --help says how.

    Example: discreet release survey.csv --column smoking --categories never,former,current --epsilon 1 --privacy-id participant
    """
    is_printed = not quiet and (as_json or output is None)
    _check_places(asked, output, plot, quiet=quiet)
    _check_record(asked, output, is_printed=is_printed)
    asked.check()
    if asked.ledger is not None and asked.dataset is not None:
        from discreet.ledger.ledger import Ledger

        check_budget(Ledger(asked.ledger), asked.dataset, asked.unit, asked.relation)
    found = _released(asked, asked.prepared(asked.counted()), yes=yes)
    if output is not None:
        _keep(found, output)
    if is_printed:
        _print(found)
    if not quiet and not as_json:
        # Into a file or a pipe goes the record and nothing else.
        print_record(found, [("Ledger", _spent(asked, found.guarantee))], hint=" (--privacy-id)", err=not sys.stdout.isatty())
    if plot is not None:
        _draw(found, plot)


def _check_places(asked: ReleaseRequest, output: Path | None, plot: Path | None, *, quiet: bool) -> None:
    """Whatever can be wrong with the options is found before any data is read or budget spent."""
    if sys.stdout is None or sys.stderr is None:
        raise InvalidInputError("standard output or standard error is closed, and what is drawn could not be told; redirect it to a file")
    if (asked.ledger is None) != (asked.dataset is None):
        raise InvalidInputError(
            f"--ledger (or {LEDGER_VARIABLE}) and --dataset go together: which budget is this release to be taken from?"
        )
    if quiet and output is None:
        raise InvalidInputError("--quiet without --output would draw a release that nobody sees")
    taken = {
        "the private data": asked.file,
        "the corrections": asked.corrections,
        "the ledger": None if asked.ledger is None else asked.ledger.removeprefix("sqlite:///"),
    }
    if output is not None:
        check_place(output, "--output", taken)
    if plot is not None:
        check_picture(plot)
        check_place(plot, "--plot", taken | {"--output": None if output is None else str(output)})
    if output is not None and output.suffix.lower() not in _RECORDS:
        raise InvalidInputError(f"--output must end in .json, or for a table in .parquet, got {output.name}")


def _check_record(asked: ReleaseRequest, output: Path | None, *, is_printed: bool) -> None:
    """Refuse a table that the wanted kind of record cannot hold, and Parquet for what is no table."""
    from discreet.model.cells import cells_of

    if asked.by is not None:
        size = prod(cells_of(asked.by, tuple(asked.categories), asked.impossible).shape)
        if is_printed or output is None or not _is_parquet(output):
            check_text(asked.by, size)
    elif output is not None and _is_parquet(output):
        raise InvalidInputError("--output .parquet is for tables, which --by makes; the record of one variable is JSON: --output x.json")


def _released(asked: ReleaseRequest, ready: "Prepared", *, yes: bool) -> "Release":
    """One draw, charged first if there is a ledger, and asked for before that if something speaks against it."""
    from discreet.ledger.ledger import Ledger

    book = None if asked.ledger is None else Ledger(asked.ledger)
    confirm_all({"": ready}, book, asked.dataset, asked.file, yes=yes)
    if book is None or asked.dataset is None:
        return ready.draw()
    charge = charge_of(book, asked.dataset, ready.guarantee)
    if charge.why:
        notice(f"the budget of {asked.dataset!r} is charged {charge}")
    return book.draw(asked.dataset, ready, note=asked.ledger_note, source=source_of(asked.file))


def _spent(asked: ReleaseRequest, guarantee: "Guarantee") -> str:
    from discreet.ledger.ledger import Ledger

    if asked.ledger is None or asked.dataset is None:
        return "none was named"
    try:
        book = Ledger(asked.ledger)
        left = book.remaining(asked.dataset)
        return f"{charge_of(book, asked.dataset, guarantee)} spent before the draw; {left} left for {asked.dataset!r}"
    except LedgerError:
        return f"spent before the draw; what is left for {asked.dataset!r} could not be read"


def _keep(found: "Release", output: Path) -> None:
    """Write the record. What has been drawn is never lost: it goes to a name next to one that was taken meanwhile, or is printed."""
    try:
        tell_name(write_new(output, _content(found, output)), output)
    except DiscreetError as error:
        fault = f"the release was drawn and charged, but {error}"
        _print(found, fault)
        raise DiscreetError(f"{fault}; its record was printed instead: keep it") from None


def _content(found: "Release", output: Path) -> "bytes | Callable[[BinaryIO], object]":
    """What is written: JSON, or a table as Parquet where the file is called so."""
    if found.by.columns and _is_parquet(output):
        from discreet.record.parquet import parquet_writer

        return parquet_writer(found)
    return found.to_json().encode()


def _is_parquet(output: Path) -> bool:
    return output.suffix.lower() == ".parquet"


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
        raise DiscreetError(f"{fault}; its record is in {write_new(place, _content(found, place))}: keep it") from None
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
