"""A record inside an HTML page: JSON in a block that no browser runs, and every program can find.

In JSON the characters <, > and & stand in texts alone, where they may as well be written as codes. Written so, nothing in a record can end
the block or begin another, whatever its labels are.
"""

from discreet.errors import InvalidInputError

_BEGIN, _END = '<script type="application/json" id="discreet-release">', "</script>"
_CODES: dict[str, str | int | None] = {"<": r"\u003c", ">": r"\u003e", "&": r"\u0026"}
_MARK = b"\xef\xbb\xbf"
"""The mark that some programs write at the beginning of UTF-8."""


def block_of(record: str) -> str:
    """The block of a page that holds a record, which is given as JSON."""
    return f"{_BEGIN}{record.translate(str.maketrans(_CODES))}{_END}"


def is_page(content: bytes) -> bool:
    """Return whether this is a page and not JSON: it begins with a tag or a comment.

    Browsers, mailers and editors put a byte order mark, blank lines or a comment before a page that they save.
    """
    return content.removeprefix(_MARK).lstrip().startswith(b"<")


def record_in(content: bytes) -> bytes:
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
