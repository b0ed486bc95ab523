"""Files that hold a record: JSON, Parquet, or a page of `discreet report`. They are told apart by their content, never by their name."""

from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Literal

from discreet import limits
from discreet.arrays import Counts
from discreet.errors import InvalidInputError
from discreet.record.json import NAME_A_RECORD
from discreet.record.pages import is_page, record_in
from discreet.record.release import Release
from discreet.text import plain

__all__ = ["RecordKind", "read", "record_kind", "record_of"]

_PARQUET_START = b"PAR1"
"""The first bytes of a Parquet file."""

RecordKind = Literal["json", "parquet", "html"]


def read(path: str | PathLike[str]) -> Release[tuple[int, ...]] | Release[Counts]:
    """Read the record that a file holds, of one variable or of a table.

    Args:
        path: A JSON file, a Parquet file that `to_parquet` wrote, or the HTML page that `discreet report` wrote. No more of it is read
            than a record can have.

    Returns:
        A `Release`, whose `by` has the groups of a table, and no columns for one variable.

    Raises:
        InvalidInputError: The file cannot be read or does not hold one record, or its parts do not belong together.
    """
    try:
        with Path(path).expanduser().open("rb") as file:
            content = file.read(limits.RECORD_CHARACTERS + 1)
    except (OSError, ValueError, RuntimeError, TypeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a path"
        wanted = "name a record in it" if isinstance(error, IsADirectoryError) else NAME_A_RECORD
        raise InvalidInputError(f"{plain(path)} cannot be read ({why}): {wanted}") from None
    kind = record_kind(content)
    if kind == "json" and len(content) <= limits.RECORD_CHARACTERS and not content.lstrip(_BLANKS).startswith(b"{"):
        fault = f"this is not a release: {plain(path)} is no JSON, no Parquet file and no page of discreet report"
        raise InvalidInputError(
            f"{fault}; dc.read reads what a release wrote, such as release.json, and dc.count counts data",
            in_shell=f"{fault}; {NAME_A_RECORD}",
        )
    return Release.from_parquet(Path(path)) if kind == "parquet" else record_of(content)


_BLANKS = b"\xef\xbb\xbf \t\r\n"
"""Bytes that may stand before a JSON text."""


def record_kind(content: bytes) -> RecordKind:
    """Return the kind of record in a file with this content: JSON, a Parquet file of a table, or a page of `discreet report`."""
    return "parquet" if content.startswith(_PARQUET_START) else "html" if is_page(content) else "json"


def record_of(content: bytes) -> Release[tuple[int, ...]] | Release[Counts]:
    """The release that the content of a file holds, of whatever kind."""
    kind = record_kind(content)
    if kind == "parquet":
        return Release.from_parquet(BytesIO(content))
    return Release.from_json(record_in(content) if kind == "html" else content)
