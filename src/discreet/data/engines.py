"""Engines that count, kept from telling: no message of theirs is passed on, and what they put on the disk is removed.

What is in one of their directories is private data in plain, readable by no one else. It is removed when the work is done or fails; by
`removed_on_termination` when the process is told to end; and by whoever starts the next piece of work when the process was killed outright.
"""

import logging
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import Any, TypeVar

from discreet.errors import DiscreetError, SourceError

_Result = TypeVar("_Result")


def library(name: str, what: str, extra: str) -> Any:
    """Import a library that an extra brings; where it is missing, say what it reads and how to install it."""
    try:
        return import_module(name)
    except ImportError:
        raise SourceError(f"{what} are read by {name}, which is not installed: pip install 'discreet[{extra}]'") from None


def within_engine(doing: str, action: Callable[..., _Result], *arguments: Any, **options: Any) -> _Result:
    """Run engine code. Raising after the handler, not in it, keeps the engine's error, which may quote data, out of the chain."""
    try:
        with _spark_loggers_off():
            return action(*arguments, **options)
    except DiscreetError:
        raise
    except Exception as error:
        kind, reason = type(error).__name__, _reason(error)
    if reason is not None:
        raise SourceError(f"{doing} failed: {reason}")
    raise SourceError(f"{doing} failed with {kind}; the engine's message is withheld because it may quote data")


def _reason(error: Exception) -> str | None:
    """Return the reason, from a frame that is gone when the error is raised: its variables hold what the engine said."""
    said = str(error)
    return next((ours for theirs, ours in _REASONS.items() if theirs in said), None)


RAGGED = "a line of the CSV file has more or fewer cells than the first one (a cell with the delimiter in it needs double quotes)"
_NOT_UTF8 = "the CSV file is not UTF-8 text: save it as that, or name its encoding with encoding=... (in the shell, --encoding)"
_REASONS = {
    "Expected Number of Columns": RAGGED,
    "detect the CSV parsing dialect": f"{RAGGED}, or a quote that is not closed",
    "unterminated quote": "a quote in the CSV file is not closed",
    "not utf-8": _NOT_UTF8,
    "codec can't decode": _NOT_UTF8,
    "parser stack overflow": "SQLite takes no rule as long as ignoring accents: leave it out, or count a copy of the table as a file",
}
"""Phrases of engines about broken files, and the same in words that quote none of it."""


@contextmanager
def _spark_loggers_off() -> Iterator[None]:
    """PySpark logs its errors, with the values they quote, before it raises them."""
    loggers: list[logging.Logger] = []
    if "pyspark.logger" in sys.modules:
        from pyspark.logger import PySparkLogger

        loggers = [PySparkLogger.getLogger(name) for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger")]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


try:
    import fcntl
except ImportError:  # Windows, which has no locks on directories: there, what a killed process leaves stays
    fcntl = None  # type: ignore[assignment]

_PREFIX = "discreet-spill-"
_UNLOCKED = "discreet-new-"
"""A directory is called so until it is locked, and is empty until then."""


@contextmanager
def scratch_directory() -> Iterator[str]:
    """A new directory, locked as long as its process lives. What processes that were killed have left is removed first."""
    _remove_abandoned()
    made = Path(tempfile.mkdtemp(prefix=_UNLOCKED))
    place = made.with_name(f"{_PREFIX}{os.getpid()}-{made.name.removeprefix(_UNLOCKED)}")
    lock = _locked(made)
    made.rename(place)
    try:
        yield str(place)
    finally:
        shutil.rmtree(place, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _locked(place: Path) -> int | None:
    """The descriptor that holds a directory's lock, or None if another process holds it, or there are no locks here."""
    if fcntl is None:
        return None
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove_abandoned() -> None:
    """Remove what nobody has locked any more: the operating system unlocks what a process held, however it ended."""
    for place in _ours(""):
        lock = _locked(place)
        if lock is not None:
            shutil.rmtree(place, ignore_errors=True)
            os.close(lock)


def remove_own() -> None:
    """Remove the directories of this process: for one that is about to end, whatever is still being done in it."""
    for place in _ours(f"{os.getpid()}-"):
        shutil.rmtree(place, ignore_errors=True)


def _ours(whose: str) -> list[Path]:
    """The directories of this user whose names begin like this; another user's are neither looked into nor touched."""
    found = []
    with suppress(OSError):
        for entry in os.scandir(tempfile.gettempdir()):
            if entry.name.startswith(_PREFIX + whose) and entry.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    if not hasattr(os, "geteuid") or entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                        found.append(Path(entry.path))
    return found


@contextmanager
def removed_on_termination() -> Iterator[None]:
    """While this lasts, SIGTERM and SIGHUP remove this process's directories before they end it, unless they are handled or ignored.

    For programs that own their process, such as the command line. A thread is woken by the signals, because an engine in the middle of its
    work may not let Python's own handlers run. SIGKILL and a power failure leave no time for anything: then the next start cleans up.
    """
    wanted = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [number for number in wanted if signal.getsignal(number) is signal.SIG_DFL]
    if current_thread() is not main_thread():  # no other may say what happens on a signal
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    watcher = Thread(target=_end_on, args=(numbers, reading), daemon=True)
    watcher.start()
    woken = signal.set_wakeup_fd(writing)
    for number in numbers:
        signal.signal(number, lambda *_: None)  # the watcher acts on it
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(woken)
        os.close(writing)
        watcher.join()
        os.close(reading)


def _end_on(numbers: list[signal.Signals], reading: int) -> None:
    """End the process as soon as one of the signals is read. Nothing more is read when the pipe is closed."""
    while received := os.read(reading, 1):
        if received[0] in numbers:
            remove_own()
            # The engine may be writing still. Ending the process right away leaves it the least time.
            os._exit(128 + received[0])
