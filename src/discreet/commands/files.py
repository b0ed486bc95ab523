"""Files that commands read and write: a record is read back whole, and nothing that exists is overwritten but a picture of ours."""

import sys
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from itertools import chain, combinations, count
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from discreet import limits
from discreet.commands.options import notice
from discreet.errors import InvalidInputError
from discreet.record.new_files import beside, is_moved, written_beside
from discreet.text import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.record.release import Release

_PICTURES = {".png": b"\x89PNG\r\n\x1a\n", ".svg": b"<?xml", ".pdf": b"%PDF-"}
"""Kinds of picture, and how such a file begins."""
_DRAWN_BY = "discreet show, which may draw this picture again"
"""Stands in the pictures that `show` draws, so that it can tell that a file is one of them."""
_LARGEST_PICTURE = 1 << 26
"""Bytes: no picture that is drawn here comes near."""
STANDARD_INPUT = "-"
_PARQUET = b"PAR1"
"""How a Parquet file begins."""


def read_record(path: str) -> "Release":
    """The release that a file, a page or standard input holds. No more is read than a record can have."""
    from discreet.record.release import Release

    try:
        if path == STANDARD_INPUT:
            content = sys.stdin.buffer.read(limits.RECORD_CHARACTERS + 1)
        else:
            with Path(path).expanduser().open("rb") as file:
                content = file.read(limits.RECORD_CHARACTERS + 1)
    except (OSError, ValueError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a path"
        raise InvalidInputError(f"{path} cannot be read ({why}): name the JSON file that `discreet release --output` wrote") from None
    if path != STANDARD_INPUT and content.startswith(_PARQUET):
        return Release.from_parquet(path)
    return record_of(content)


RecordKind = Literal["json", "parquet", "html"]


def record_kind(content: bytes) -> RecordKind:
    """What a file with this content is, if it holds a record: JSON, a Parquet file of a table, or a page of `discreet report`."""
    from discreet.record.pages import is_page

    return "parquet" if content.startswith(_PARQUET) else "html" if is_page(content) else "json"


def record_of(content: bytes) -> "Release":
    """The release that the content of a file holds, of whatever kind."""
    from discreet.record.pages import record_in
    from discreet.record.release import Release

    kind = record_kind(content)
    if kind == "parquet":
        return Release.from_parquet(BytesIO(content))
    return Release.from_json(record_in(content) if kind == "html" else content)


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


def check_picture(path: Path) -> None:
    if path.suffix.lower() not in _PICTURES:
        raise InvalidInputError(f"--plot must end in .png, .svg or .pdf, got {path.name}")


def is_same_file(path: Path, other: str) -> bool:
    """Whether two names are of one file, also by way of links, and also where there is none yet."""
    try:
        there = Path(other).expanduser()
        return path.samefile(there) if path.exists() else path.resolve() == there.resolve()
    except (OSError, ValueError, RuntimeError):  # no name of a file: whoever reads it says so
        return False


def check_different(records: Sequence[str], why: str) -> None:
    """Refuse a record that is given twice, also under another name, and say why."""
    for one, other in combinations(records, 2):
        if one == other or (STANDARD_INPUT not in (one, other) and is_same_file(Path(one).expanduser(), other)):
            raise InvalidInputError(f"{plain(other)} is given twice: {why}")


def _is_there(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _is_own_picture(path: Path) -> bool:
    """Whether a file, and not a link to one, is a picture of the kind that it is named, drawn by `show`."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST_PICTURE:
        return False
    content = path.read_bytes()
    return content.startswith(_PICTURES[path.suffix.lower()]) and _DRAWN_BY.encode() in content


def write_new(path: Path, content: bytes | Callable[[BinaryIO], object]) -> Path:
    """Write the whole file or none of it. Returns where it is: at this path or, if another file got it meanwhile, at a fresh one."""
    write = content if callable(content) else lambda file: file.write(content)
    names = chain([path], (path.with_stem(f"{path.stem}-{number}") for number in count(2)))
    with written_beside(path, write) as partial:
        return next(name for name in names if is_moved(partial, name))


def tell_name(written: Path, wanted: Path) -> None:
    """Say so if a file had to be given another name."""
    if written != wanted:
        notice(f"{wanted} was made by someone else meanwhile and is not overwritten; look for {written}")


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
        tell_name(write_new(path, content), path)


def picture(
    found: "Release",
    kind: str,
    *,
    mass: float = 0.95,
    computed: bool = True,
    creator: str | None = None,
    draw: "Callable[[Figure], None] | None" = None,
) -> bytes:
    """The same as the content of a PNG, SVG or PDF file; `creator` stands in it."""
    import warnings

    from matplotlib.figure import Figure

    from discreet.plotting.style import add_to_title

    figure = Figure(layout="constrained")
    if draw is None:
        found.draw_on(figure, mass)
    else:
        draw(figure)
    if found.guarantee.basis == "computation" and not computed:
        add_to_title(figure, "(not verified)")
    content = BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a label may have characters that no font here can draw
        figure.savefig(content, dpi=150, format=kind, metadata=None if creator is None else {"Creator": creator})
    return content.getvalue()
