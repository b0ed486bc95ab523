"""New files: written whole beside their place, made durable, and then put there, never on top of another."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from shutil import copyfileobj
from stat import S_IMODE
from typing import BinaryIO

from discreet.errors import DiscreetError


def beside(path: Path) -> Path:
    """Return the name of a file before it is put in its place: one that nobody else has."""
    return path.with_name(f"{path.name}.{token_hex(8)}.partial")


@contextmanager
def written_beside(path: Path, write: Callable[[BinaryIO], object], *, mode: int | None = None) -> Iterator[Path]:
    """A file beside the path with what `write` puts into it, to be put in its place; what is left of it in the end is removed.

    `mode` says who may read and write it, before anything is in it; without one the process's mask does.
    """
    partial = beside(path)
    try:
        _write(partial, write, mode)
        yield partial
    except OSError as error:
        raise DiscreetError(f"{path} could not be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _write(path: Path, write: Callable[[BinaryIO], object], mode: int | None = None) -> None:
    """The whole file, where there is none yet and not through a link either, or none of it."""
    with path.open("xb") as file:
        try:
            if mode is not None:
                path.chmod(mode)
            write(file)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            path.unlink()
            raise


def is_moved(partial: Path, place: Path) -> bool:
    """Return whether the file is in its place now; never on top of another, which a link makes sure of and a rename does not."""
    try:
        os.link(partial, place)
    except FileExistsError:
        return False
    except OSError:  # a file system without links
        try:
            with partial.open("rb") as content:
                _write(place, lambda file: copyfileobj(content, file), S_IMODE(partial.stat().st_mode))
        except FileExistsError:
            return False
    sync_folder(place.parent)
    return True


def put_over(partial: Path, place: Path) -> None:
    """Put the file in its place, over the one that is there: at any time, also after a crash, one of the two is there, and whole."""
    partial.replace(place)
    sync_folder(place.parent)


def sync_folder(folder: Path) -> None:
    """Make the name of a new file durable too, where folders can be synced."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
