"""A progress bar for commands, shown only when something takes longer than a second, and a notice where it takes much longer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from threading import Timer
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

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
