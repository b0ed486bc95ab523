"""The records that were opened on the page: the last few, in memory, each under a name that nobody can guess."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from secrets import token_urlsafe
from shlex import quote
from typing import Any

from discreet import limits
from discreet.errors import DiscreetError, TooLargeError
from discreet.record.files import RecordKind, record_kind, record_of, records_in
from discreet.record.release import Release
from discreet.text import plain
from discreet.web.uploads import LONGEST_NAME


class GoneError(DiscreetError):
    """A record is asked about that is not open any more."""

    def __init__(self) -> None:
        kept = f"the last {limits.OPENED_RECORDS} records are kept, while the server runs"
        super().__init__(f"this record is not open any more ({kept}): open it again")


@dataclass(frozen=True)
class Record:
    """A record that was opened, or those of a study, and what the file is called."""

    release: "Release"
    """The record, or the first one of a study."""
    name: str
    kind: RecordKind
    size: int
    """Bytes of its file."""
    tables: "Mapping[str, Release]" = field(default_factory=dict)
    """The records of a study, by what they are about; none of a record alone."""

    def alone(self, name: str) -> "Record":
        """One table of a study; GoneError where there is no such table."""
        if name not in self.tables:
            raise GoneError
        return Record(self.tables[name], f"{name}.json", "json", self.size // len(self.tables))


def read(content: bytes, name: str) -> Record:
    """The record in a file, or those of a study's page; DiscreetError in one line where there is none, or one too large for the page."""
    kind = record_kind(content)
    texts = records_in(content) if kind == "html" else []
    found: list[Release[Any]] = [*map(Release.from_json, texts)] if len(texts) > 1 else [record_of(content)]
    cells = sum(release.prior.k * len(release.by) for release in found)
    if cells > limits.OPENED_CELLS:
        raise TooLargeError(
            f"this record has {cells:,} cells, and the page opens up to {limits.OPENED_CELLS:,}: "
            f"discreet show {quote(_file_name(name, kind))} reads it"
        )
    tables = _named(found) if len(found) > 1 else {}
    return Record(found[0], _file_name(name, kind), kind, len(content), tables)


def _named(found: "list[Release[Any]]") -> "dict[str, Release]":
    """The tables of a study by what they are about, with a number where two are about the same."""
    names: dict[str, Release] = {}
    for release in found:
        about = (release.about and release.about.variable) or "table"
        words = " by ".join([about, *([" and ".join(release.by.columns)] if release.by.columns else [])])
        names[next(name for name in (words, *(f"{words} ({i})" for i in range(2, len(found) + 2))) if name not in names)] = release
    return names


def _file_name(given: str, kind: str) -> str:
    """Return a file's name without its folder; one with characters that only a program sees, or none, is called record."""
    name = given.replace("\\", "/").rpartition("/")[2]
    return name if name and name == plain(name) and len(name) <= LONGEST_NAME else f"record.{kind}"


class Opened:
    """The records that were opened, of which the last few are kept, and what was computed last."""

    def __init__(self) -> None:
        self._records: OrderedDict[str, Record] = OrderedDict()
        self._computed: OrderedDict[Hashable, Any] = OrderedDict()

    def keep(self, record: Record) -> str:
        """Keep a record and forget the oldest ones that are too many or too large beside it; the name to ask about it with."""
        key = token_urlsafe(16)
        self._records[key] = record
        while len(self._records) > limits.OPENED_RECORDS or (
            len(self._records) > 1 and sum(one.size for one in self._records.values()) > limits.REQUEST_BYTES
        ):
            self._records.popitem(last=False)
        return key

    def find(self, key: str) -> Record:
        """The record that was opened under this name; GoneError if it is not there any more."""
        if key not in self._records:
            raise GoneError
        self._records.move_to_end(key)
        return self._records[key]

    def others(self, key: str) -> dict[str, str]:
        """The names of the other records that are open, by their keys, the newest first."""
        return {other: one.name for other, one in reversed(self._records.items()) if other != key and not one.tables}

    def computed(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Return what `compute` returns, or returned when it was asked for by the same key a moment ago."""
        found = self._computed[key] if key in self._computed else compute()
        self._computed[key] = found
        self._computed.move_to_end(key)
        while len(self._computed) > _COMPUTED:
            self._computed.popitem(last=False)
        return found


_COMPUTED = 3
"""Results that are kept: the posterior of the record that is looked at, the summaries of its groups, and two of them compared."""
