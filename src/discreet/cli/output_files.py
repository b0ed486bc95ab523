"""Files that commands write: nothing that exists is overwritten but a picture of ours."""

from collections.abc import Callable, Mapping
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from discreet.errors import InvalidInputError
from discreet.present.exports import file_of, guarded_labels, picture
from discreet.present.terminal import notice
from discreet.record.new_files import beside, is_moved, written_beside
from discreet.requests.parsing import is_same_file

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from discreet.record.release import Release

_PICTURES = {".png": b"\x89PNG\r\n\x1a\n", ".svg": b"<?xml", ".pdf": b"%PDF-"}
"""Kinds of picture, and how such a file begins."""
_DRAWN_BY = "discreet show, which may draw this picture again"
"""Stands in the pictures that `show` draws, so that it can tell that a file is one of them."""
_LARGEST_PICTURE = 1 << 26
"""Bytes: no picture that is drawn here comes near."""


def check_place(
    path: Path,
    option: str,
    taken: Mapping[str, str | None],
    *,
    replaces_picture: bool = False,
    why: str = "a release cannot be drawn again",
) -> None:
    """Refuse a place that nothing can be written to, or where something is: `taken` names what it must not be taken for.

    A picture that `show` drew is no obstacle where it may be replaced. `why` says why nothing else is overwritten.
    """
    try:
        for what, other in taken.items():
            if other is not None and is_same_file(path, other):
                raise InvalidInputError(f"{option} {path} is also {what}: choose another name")  # noqa: TRY301
        if not path.absolute().parent.is_dir() or (path.exists() and not path.is_file()):
            raise InvalidInputError(f"{path} must be a file in a folder that exists")  # noqa: TRY301
        if _is_there(path) and not (replaces_picture and _is_own_picture(path)):
            why = "it is not a picture that discreet show drew" if replaces_picture else why
            raise InvalidInputError(f"{path} exists; {why}, so it is not overwritten: choose another name or move it away")  # noqa: TRY301
        partial = beside(path)
        partial.touch(exist_ok=False)
        partial.unlink()
    except InvalidInputError:
        raise
    except (OSError, ValueError):
        raise InvalidInputError(f"{path} cannot be written to: check the name, and who may write to its folder") from None


def save_table(table: "pa.Table", path: Path) -> None:
    """Write a table to a new file, and say where its labels were changed."""
    write_new(path, file_of(table, path.suffix.lower()))
    if path.suffix.lower() == ".csv" and guarded_labels(table):
        notice("labels that begin with =, +, -, @, tab or return have an apostrophe in front of them, so that no program computes them")


def _is_there(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _is_own_picture(path: Path) -> bool:
    """Return whether a file, and not a link to one, is a picture of the kind that it is named, drawn by `show`."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST_PICTURE:
        return False
    content = path.read_bytes()
    return content.startswith(_PICTURES[path.suffix.lower()]) and _DRAWN_BY.encode() in content


def write_new(path: Path, content: bytes | Callable[[BinaryIO], object]) -> Path:
    """Write the whole file or none of it. Returns where it is: at this path or, if another file got it meanwhile, at a fresh one.

    A notice says so if the file had to be given another name.
    """
    write = content if callable(content) else lambda file: file.write(content)
    names = chain([path], (path.with_stem(f"{path.stem}-{number}") for number in count(2)))
    with written_beside(path, write) as partial:
        written = next(name for name in names if is_moved(partial, name))
    if written != path:
        notice(f"{path} was made by someone else meanwhile and is not overwritten; look for {written}")
    return written


def record_content(found: "Release", output: Path) -> "bytes | Callable[[BinaryIO], object]":
    """The content of a file that holds a record: JSON, or a table as Parquet where the file is called so."""
    if found.by.columns and output.suffix.lower() == ".parquet":
        from discreet.record.parquet import parquet_writer

        return parquet_writer(found)
    return found.to_json().encode()


def save_picture(
    found: "Release",
    path: Path,
    *,
    mass: float = 0.95,
    computed: bool = True,
    replaces_picture: bool = False,
    draw: "Callable[[Figure], None] | None" = None,
) -> None:
    """Draw a release's posteriors, or what `draw` does, to a new file, or in place of a picture that `show` drew.

    The title names the variable if the record does, and says so where a promise by computation was not `computed` here.
    """
    content = picture(
        found, path.suffix[1:].lower(), mass=mass, computed=computed, creator=_DRAWN_BY if replaces_picture else None, draw=draw
    )
    if replaces_picture and _is_there(path) and _is_own_picture(path):
        with written_beside(path, lambda file: file.write(content)) as partial:
            partial.replace(path)
    else:
        write_new(path, content)
