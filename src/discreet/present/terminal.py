"""Output on a terminal: tables, lines, JSON, notices, and errors in one line."""

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from math import isfinite
from threading import Timer
from time import monotonic
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from discreet.errors import CopyWarning, DiscreetError
from discreet.text import is_plain, plain

_BAD_INPUT = 2
_WIDER_THAN_TERMINALS, _NARROWEST_TEXT = 10_000, 12
"""Columns: more than any terminal has, and what text can be folded to before it is hard to read."""
Lines = Sequence[tuple[str, str]]
"""A word, and what there is to say about it."""


@contextmanager
def errors_in_one_line(spoken: Callable[[str], str] = str) -> Iterator[None]:
    """Turn an error raised on purpose into one line on standard error and exit code 2: never a traceback.

    `spoken` gives what is said its last words: those that the command has for the arguments of Python.
    """
    try:
        yield
    except DiscreetError as error:
        _print_line("bold red", "error", " ".join(spoken(error.in_shell).splitlines()))
        raise typer.Exit(_BAD_INPUT) from None


def notice(text: str) -> None:
    """Write one line on standard error, whatever standard output is used for."""
    _print_line("bold yellow", "notice", text)


def _print_line(style: str, word: str, text: str) -> None:
    console = Console(stderr=True, highlight=False, emoji=False)
    console.print(Text.assemble((f"{word}:", style), " ", plain(text)), soft_wrap=True)


@contextmanager
def warnings_as_notices() -> Iterator[None]:
    """Show warnings of discreet that are meant for whoever asked as notices."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", CopyWarning)
        shown = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, CopyWarning):
                notice(str(message))
            else:
                shown(message, category, *where, **more)

        warnings.showwarning = show
        yield


def cell(value: Any) -> Text:
    """A value as a cell of a table, without markup and without characters that a terminal would obey."""
    return Text(plain(value))


def table_of(title: str | None, texts: Sequence[object], numbers: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A table whose first columns are `texts`, which may be wrapped, and the others `numbers`; whatever is in it is made plain."""
    table = Table(title=None if title is None else cell(title))
    for heading in texts:
        table.add_column(cell(heading))
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*map(cell, row))
    return table


def interval_heading(mass: float) -> str:
    """The heading of intervals that allow for the noise."""
    return f"{100.0 * mass:g} % interval,\nnoise allowed for"


def print_table(table: Table, *, err: bool = False) -> None:
    """Print a table whole: columns that may not be wrapped keep their width, even where lines then run on, and no cell is cut.

    A table that is wider than the terminal is printed without lines between its columns. Foreign text is put into a table as a `cell`.
    With `err` it is printed on standard error.
    """
    console = Console(highlight=False, emoji=False, stderr=err)
    narrowest = _narrowest(table, console)
    if narrowest > console.width:
        table.box, table.padding, table.show_edge, table.pad_edge = SIMPLE_HEAD, (0, 0, 0, 0), False, False
        narrowest = _narrowest(table, console)
    Console(highlight=False, emoji=False, stderr=err, width=max(console.width, narrowest)).print(table)


def _narrowest(table: Table, console: Console) -> int:
    """Return the least width of a printed table; its columns are told how narrow each of them can be."""
    folding = [column for column in table.columns if not column.no_wrap]
    for column in table.columns:
        if column.no_wrap:  # Rich takes the longest word for the least width of a column, also where it may not break lines
            column.min_width = max(Measurement.get(console, console.options, part).maximum for part in (column.header, *column.cells))
    for column in folding:
        column.overflow, column.max_width = "fold", _NARROWEST_TEXT
    narrowest = Measurement.get(console, console.options.update(width=_WIDER_THAN_TERMINALS), table).minimum
    for column in folding:
        column.max_width = None
    return narrowest


def print_lines(lines: Lines, *, err: bool = False) -> None:
    """Each word before its text, which is wrapped beside it."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column(overflow="fold")
    for word, text in lines:
        grid.add_row(word, cell(text))
    Console(highlight=False, emoji=False, stderr=err).print(grid)


def print_json(value: Any) -> None:
    """JSON on standard output, with null for what is not a finite number.

    Characters that a terminal would obey stand in it by their codes, which JSON reads back.
    """
    text = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, indent=2)
    typer.echo("".join(c if c == "\n" or is_plain(c) else json.dumps(c)[1:-1] for c in text))


def _finite(value: Any) -> Any:
    """Return the value with None in place of infinities, for which JSON has no number."""
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


PATIENCE, LONG = 1.0, 10.0
"""Seconds after which a bar is drawn on a terminal, and after which a line says that this may take minutes, on a terminal or not."""
_STILL_COMPUTING = "still computing: with many records, or three or more categories, this can take a minute on a busy machine"


@contextmanager
def progress_bar(
    shown: bool = True, *, clock: Callable[[], float] = monotonic, long: float = LONG
) -> Iterator[Callable[[int, int, str], None] | None]:
    """A function to call with steps done, steps in all (0 if unknown) and what comes next; it draws on standard error.

    A bar is drawn once `PATIENCE` seconds have gone by on the clock, and a line is printed after `long` seconds of real time.
    """
    console = Console(stderr=True, highlight=False)
    notice = Timer(long, lambda: console.print(_STILL_COMPUTING, soft_wrap=True))
    notice.daemon = True
    notice.start()
    try:
        with _bar(console, clock) if shown else nullcontext() as tell:
            yield tell
    finally:
        notice.cancel()


@contextmanager
def _bar(console: Console, clock: Callable[[], float]) -> Iterator[Callable[[int, int, str], None]]:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    task = bar.add_task("", total=None)
    begun, started = clock(), False

    def tell(done: int, total: int, what: str) -> None:
        nonlocal started
        if not started and clock() - begun > PATIENCE:
            bar.start()
            started = True
        bar.update(task, description=what, completed=done, total=total or None)

    try:
        yield tell
    finally:
        if started:
            bar.stop()
