"""Files that hold a record: JSON, Parquet, or a page of `discreet report`. They are told apart by their content, never by their name.

A record inside an HTML page is JSON in a block that no browser runs, and every program can find. In JSON the characters <, > and & stand
in texts alone, where they may as well be written as codes. Written so, nothing in a record can end the block or begin another, whatever its
labels are.
"""

from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Literal

from discreet import limits
from discreet.arrays import Counts
from discreet.errors import InvalidInputError
from discreet.record.json import NAME_A_RECORD
from discreet.record.release import Release
from discreet.text import plain

_PARQUET_START = b"PAR1"
"""The first bytes of a Parquet file."""

_BEGIN, _END = '<script type="application/json" id="discreet-release">', "</script>"
_CODES: dict[str, str | int | None] = {"<": r"\u003c", ">": r"\u003e", "&": r"\u0026"}
_MARK = b"\xef\xbb\xbf"
"""The mark that some programs write at the beginning of UTF-8."""

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
    return "parquet" if content.startswith(_PARQUET_START) else "html" if _is_page(content) else "json"


def record_of(content: bytes) -> Release[tuple[int, ...]] | Release[Counts]:
    """The release that the content of a file holds, of whatever kind."""
    kind = record_kind(content)
    if kind == "parquet":
        return Release.from_parquet(BytesIO(content))
    return Release.from_json(_record_in(content) if kind == "html" else content)


def block_of(record: str) -> str:
    """The block of a page that holds a record, which is given as JSON."""
    return f"{_BEGIN}{record.translate(str.maketrans(_CODES))}{_END}"


def _is_page(content: bytes) -> bool:
    """Return whether this is a page and not JSON: it begins with a tag or a comment.

    Browsers, mailers and editors put a byte order mark, blank lines or a comment before a page that they save.
    """
    return content.removeprefix(_MARK).lstrip().startswith(b"<")


def _record_in(content: bytes) -> bytes:
    """The JSON text of the record that a page holds."""
    found = records_in(content)
    if len(found) != 1:
        raise InvalidInputError(
            "this is not a page that `discreet report` wrote of one record; of a study's page, read the records in the study's folder"
        )
    return found[0]


def records_in(content: bytes) -> list[bytes]:
    """The JSON texts of all records that a page holds, several of which are those of a study."""
    parts = [part.partition(_END.encode()) for part in content.split(_BEGIN.encode())[1:]]
    return [record for record, end, _ in parts if end] if all(end for _, end, _ in parts) else []
