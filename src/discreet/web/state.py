"""What the page's server keeps while it runs: whose turn it is, where ledgers are, files that were sent and records that were opened."""

import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from secrets import token_hex, token_urlsafe
from shlex import quote
from typing import Any, TypeVar
from urllib.parse import unquote

from anyio import Lock, to_thread

from discreet import limits
from discreet.data.other_programs import SPREADSHEETS, STATISTICS
from discreet.errors import DiscreetError, InvalidInputError, TooLargeError
from discreet.ledger.database import HIDDEN, shown_location
from discreet.ledger.ledger import Ledger
from discreet.progress import Progress
from discreet.record.files import RecordKind, record_kind, record_of, records_in
from discreet.record.release import Release
from discreet.text import plain


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


_DATABASE_SECONDS = 15.0
"""Seconds for which someone at a page waits for a database."""
_KEPT_URLS = 32
"""URLs with a password that are remembered."""
_SHORTEST_PASSWORD = 3
"""Characters: a shorter password is not looked for in a message, in which it would be anywhere."""


class Ledgers:
    """The places of ledgers, by what is shown of them: passwords stay here, in memory, until the page's server ends."""

    def __init__(self, default: str | None) -> None:
        self._by_shown: OrderedDict[str, str] = OrderedDict()
        self.default = "" if default is None else self.shown(default)
        """The ledger that the page begins with, as it is shown; empty if there is none."""

    def shown(self, location: str) -> str:
        """Return the text that the page shows and sends back in place of a location that has a password."""
        shown = shown_location(location)
        if shown != location:
            self._by_shown[shown] = location
            self._by_shown.move_to_end(shown)
            while len(self._by_shown) > _KEPT_URLS:
                self._by_shown.popitem(last=False)
        return shown

    def location(self, typed: str) -> str:
        """Return the place of a ledger: what was typed, with the password that was left out of what the page shows."""
        return self._by_shown.get(typed, typed)


@contextmanager
def opened_ledger(location: str) -> Iterator[Ledger]:
    """A ledger. Whatever it refuses is said in one line, in which no password stands."""
    try:
        yield Ledger(location, timeout=_DATABASE_SECONDS)
    except DiscreetError as error:
        in_python, in_shell = (_without_passwords(" ".join(text.split()), location) for text in (str(error), error.in_shell))
        raise type(error)(in_python, in_shell=in_shell) from None


def _without_passwords(message: str, location: str) -> str:
    passwords = [*re.findall(r"://[^:@]*:(.*)@", location, re.DOTALL), *re.findall(r"password=([^&]*)", location, re.IGNORECASE)]
    for password in sorted({form for given in passwords for form in (given, unquote(given))}, key=len, reverse=True):
        message = message.replace(password, HIDDEN) if len(password) >= _SHORTEST_PASSWORD else message
    return message


_Computed = TypeVar("_Computed")
_PARTS = 256
"""Parts of pages whose newest question is remembered."""


class SupersededError(Exception):
    """A newer question of the same part was asked."""


class Turns:
    """A queue that runs one computation at a time, by page and by the place that the answer fills; newer requests cancel older ones."""

    def __init__(self) -> None:
        self._newest: OrderedDict[str, object] = OrderedDict()
        self._lock = Lock()

    def end(self, part: str) -> None:
        """Whatever is computed for this part is not wanted any more."""
        self._newest.pop(part, None)

    async def run(self, part: str, compute: Callable[[Progress], _Computed]) -> _Computed:
        """Run `compute`, which is given a function to call now and then that ends it once a newer question was asked.

        Raises SupersededError then.
        """
        mine = object()
        self._newest[part] = mine
        self._newest.move_to_end(part)
        while len(self._newest) > _PARTS:
            self._newest.popitem(last=False)

        def check(*_: object) -> None:
            if self._newest.get(part) is not mine:
                raise SupersededError

        async with self._lock:
            check()
            return await to_thread.run_sync(compute, check)


_KEPT_FILES = 8
"""Files that are kept at once: the last ones."""
ENDINGS = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".parquet", ".pq", *SPREADSHEETS, *STATISTICS)
"""The endings of the names of files that are taken; those of text may be packed."""
PACKED = (".gz", ".zst")
LONGEST_NAME = 200
"""Characters of a file's name that are shown."""
_TOLD_APART = 1000
"""Contents that are told from each other: the last ones."""


class Uploads:
    """The files that were sent, each under a name that nobody can guess. `folder` is private and removed by whoever made it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: OrderedDict[str, str] = OrderedDict()
        self._contents: dict[str, str] = {}
        self._by_digest: OrderedDict[tuple[str, bytes], str] = OrderedDict()

    async def take(self, name: str, content: AsyncIterator[bytes]) -> str:
        """Keep a file, and remove the oldest if there are too many. What to ask for it with."""
        ending, key = _ending(name), token_hex(16)
        place, digest = self._folder / f"{key}{ending}", sha256()
        try:
            with place.open("xb") as file:
                async for part in content:
                    digest.update(part)
                    await to_thread.run_sync(file.write, part)
            self._names[key] = name
            self._contents[key] = self._by_digest.setdefault((name, digest.digest()), token_hex(16))
        except OSError as error:
            raise InvalidInputError(f"the file could not be kept ({error.strerror}): give its path instead") from None
        finally:
            if key not in self._names:
                place.unlink(missing_ok=True)
        while len(self._names) > _KEPT_FILES:
            self.remove(next(iter(self._names)))
        while len(self._by_digest) > _TOLD_APART:
            self._by_digest.popitem(last=False)
        return key

    def path(self, key: str) -> Path:
        """Return the path of a file."""
        if key not in self._names:
            raise InvalidInputError(
                "the file that was sent is not here any more: it was released, the page was ended, or others came after it; choose it again"
            )
        return self._folder / f"{key}{_ending(self._names[key])}"

    def name(self, key: str) -> str:
        """Return the name of a file where it came from."""
        self.path(key)
        return self._names[key]

    def content(self, key: str) -> str:
        """A random word for a file: the same for files of one name and content, as long as this process lasts."""
        self.path(key)
        return self._contents[key]

    def knows(self, content: str) -> bool:
        """Return whether a file with this word was sent to this process."""
        return content in self._by_digest.values()

    def remove(self, key: str) -> None:
        """Remove a file that is not needed any more."""
        if key in self._names:
            self.path(key).unlink(missing_ok=True)
            del self._names[key], self._contents[key]


def file_name(given: str) -> str:
    """Return a file's name, without its folder, as it may be shown."""
    return plain(given.replace("\\", "/").rpartition("/")[2])[-LONGEST_NAME:] or "a file"


def _ending(name: str) -> str:
    """Return the ending of a file's name, by which it is read: one of the known endings, perhaps packed."""
    stem, packed = name.lower(), ""
    for ending in PACKED:
        if stem.endswith(ending):
            stem, packed = stem.removesuffix(ending), ending
    found = next((ending for ending in ENDINGS if stem.endswith(ending)), None)
    if found is None:
        raise InvalidInputError(f"a file must be one of {' '.join(ENDINGS)} (text also with .gz or .zst), told by its ending")
    return found + packed
