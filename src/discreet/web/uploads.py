"""Files that the browser sent: in a folder that only its owner can read, which goes with the process, whatever ends it."""

from collections import OrderedDict
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

from anyio import to_thread

from discreet.data.other_programs import SPREADSHEETS, STATISTICS
from discreet.errors import InvalidInputError
from discreet.text import plain

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
