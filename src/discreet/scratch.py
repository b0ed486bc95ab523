"""Directories for what an engine has to put on the disk: readable by no one else, and removed whatever becomes of the process.

What is in one is private data in plain. It is removed when the work is done or fails; by `removed_on_termination` when the process is told
to end; and by whoever starts the next piece of work when the process was killed outright.
"""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

try:
    import fcntl
except ImportError:  # Windows, which has no locks on directories: there, what a killed process leaves stays
    fcntl = None  # type: ignore[assignment]

__all__ = ["directory", "removed_on_termination"]

_PREFIX = "discreet-spill-"
_UNLOCKED = "discreet-new-"
"""A directory is called so until it is locked, and is empty until then."""


@contextmanager
def directory() -> Iterator[str]:
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
    """While this lasts, SIGTERM and SIGHUP remove this process's directories before they end it.

    For programs that own their process, such as the command line. A thread waits for the signals, because an engine in the middle of its
    work may not let Python's own handlers run. SIGKILL and a power failure leave no time for anything: then the next start cleans up.
    """
    if not hasattr(signal, "sigwait"):
        yield
        return
    signals = {signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    finished: list[bool] = []
    watcher = Thread(target=_end_on, args=(signals, finished), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        finished.append(True)
        signal.pthread_kill(watcher.ident or 0, signal.SIGTERM)  # to the watcher alone, which has nothing more to wait for
        watcher.join()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_on(signals: set[signal.Signals], finished: list[bool]) -> None:
    received = signal.sigwait(signals)
    if finished:
        return
    for place in _ours(f"{os.getpid()}-"):
        shutil.rmtree(place, ignore_errors=True)
    # The engine may be writing still. Ending the process right away leaves it the least time.
    os._exit(128 + received)
