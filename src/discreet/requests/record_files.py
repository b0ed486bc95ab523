"""Files and uploads that hold a record, which is read back whole."""

import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from discreet import limits
from discreet.errors import InvalidInputError
from discreet.text import plain

if TYPE_CHECKING:
    from discreet.record.release import Release

STANDARD_INPUT = "-"


def read_record(path: str) -> "Release":
    """The release that a file, a page or standard input holds. No more is read than a record can have."""
    from discreet.record.files import read, record_of

    return record_of(sys.stdin.buffer.read(limits.RECORD_CHARACTERS + 1)) if path == STANDARD_INPUT else read(path)


def is_same_file(path: Path, other: str) -> bool:
    """Return whether two names are of one file, also by way of links, and also where there is none yet."""
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
