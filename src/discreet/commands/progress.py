"""A progress bar for commands, shown only when something takes longer than a second."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

__all__ = ["progress_bar"]

_PATIENCE = 1.0


@contextmanager
def progress_bar(shown: bool = True) -> Iterator[Callable[[int, int, str], None] | None]:
    """A function to call with steps done, steps in all (0 if unknown) and what comes next; it draws on standard error."""
    if not shown:
        yield None
        return
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    task = bar.add_task("", total=None)
    begun, started = monotonic(), False

    def tell(done: int, total: int, what: str) -> None:
        nonlocal started
        if not started and monotonic() - begun > _PATIENCE:
            bar.start()
            started = True
        bar.update(task, description=what, completed=done, total=total or None)

    try:
        yield tell
    finally:
        if started:
            bar.stop()
