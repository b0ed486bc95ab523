"""Files and uploads that hold a record, which is read back whole."""

import sys
from collections.abc import Sequence
from io import BytesIO
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from discreet import limits
from discreet.errors import InvalidInputError
from discreet.text import plain

if TYPE_CHECKING:
    from discreet.record.release import Release

STANDARD_INPUT = "-"
_PARQUET_START = b"PAR1"
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
    if path != STANDARD_INPUT and content.startswith(_PARQUET_START):
        return Release.from_parquet(path)
    return record_of(content)


RecordKind = Literal["json", "parquet", "html"]


def record_kind(content: bytes) -> RecordKind:
    """What a file with this content is, if it holds a record: JSON, a Parquet file of a table, or a page of `discreet report`."""
    from discreet.record.pages import is_page

    return "parquet" if content.startswith(_PARQUET_START) else "html" if is_page(content) else "json"


def record_of(content: bytes) -> "Release":
    """The release that the content of a file holds, of whatever kind."""
    from discreet.record.pages import record_in
    from discreet.record.release import Release

    kind = record_kind(content)
    if kind == "parquet":
        return Release.from_parquet(BytesIO(content))
    return Release.from_json(record_in(content) if kind == "html" else content)


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
