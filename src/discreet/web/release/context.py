"""The state of the screen for releases: what is kept, what the browser sent, and the ledgers."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter

from discreet.data.databases import is_address
from discreet.errors import InvalidInputError
from discreet.ledger.database import HIDDEN
from discreet.ledger.ledger import Ledger
from discreet.requests.fields import WrongError
from discreet.web.release.question import Question
from discreet.web.release.store import KeptRelease, Store
from discreet.web.state import Ledgers, Uploads, opened_ledger

_CONTENT = "content"
"""The field that says which of the files of one name was sent; no field of the form."""
_WORKERS = 2
"""Releases that are counted at the same time."""


class ReleaseContext:
    """The parts, and which belong together: files that were sent to questions, and questions to ledgers."""

    def __init__(self, store: Store, uploads: Uploads, ledgers: Ledgers) -> None:
        self.store = store
        self.uploads = uploads
        self.workers = CapacityLimiter(_WORKERS)
        self._ledgers = ledgers
        self._sent: dict[str, str] = {}
        self._drawing: Counter[str] = Counter()

    # --- ledgers ------------------------------------------------------------------------------------------------------

    def without_password(self, fields: Mapping[str, str]) -> dict[str, str]:
        """The fields of a form with what is shown of its ledger, which can be kept on the disk; a password stays in memory."""
        named = fields.get("ledger", "")
        return {**fields, "ledger": self._ledgers.shown(named) if named else self._ledgers.default}

    def ledger_name(self, question: Question) -> str:
        """Return the name that a question's ledger is kept by: also where the page is started in another folder, it is the same."""
        named = question["ledger"].removeprefix("sqlite:///")
        if not named:
            told = "name a ledger: the path of its file, or the URL of a PostgreSQL database; the screen “Budget” makes a new one"
            raise WrongError({"ledger": told})
        try:
            return named if "://" in named or named == HIDDEN else str(Path(named).expanduser().absolute())
        except RuntimeError:
            raise WrongError({"ledger": "the path begins with the home directory of a user who is not known here"}) from None

    @contextmanager
    def ledger(self, name: str) -> Iterator[Ledger]:
        """A ledger by the name it is kept by; what goes wrong with it is said without a password."""
        with opened_ledger(self._ledgers.location(name)) as found:
            yield found

    # --- questions and their records ----------------------------------------------------------------------------------

    def asked_before(self, question: Question) -> list[KeptRelease]:
        """Return earlier questions in the same words about the same file, the newest first.

        A file that was sent to an earlier process is gone. What may have been charged for it is told by its name alone.
        """
        kept, ledger = self.kept(question), self.ledger_name(question)

        def is_same(asked: KeptRelease) -> bool:
            lost = asked.record is None and not self.uploads.knows(asked.fields.get(_CONTENT, ""))
            fields = {**asked.fields, **({_CONTENT: kept[_CONTENT]} if lost and _CONTENT in kept else {})}
            return (fields, asked.ledger) == (kept, ledger)

        return [asked for asked in self.store.latest() if is_same(asked)]

    def ask(self, question: Question, described: Mapping[str, Any]) -> KeptRelease:
        """Keep a question, and the file that was sent with it until it is drawn."""
        asked = self.store.ask(self.kept(question), self.ledger_name(question), described)
        if question["upload"]:
            self._send(asked.key, question["upload"])
        return asked

    def kept(self, question: Question) -> dict[str, str]:
        """The fields as they are kept, so that they mean the same to a page that is started elsewhere: a path from the root on, and a
        file that was sent by its own name, because the copy goes with this process."""
        upload = question["upload"]
        paths = {name: _from_the_root(question[name]) for name in ("file", "corrections") if question[name]}
        sent = {"upload": self.uploads.name(upload), _CONTENT: self.uploads.content(upload)} if upload else {}
        return {**question.fields, **paths, **sent}

    def _send(self, key: str, upload: str) -> None:
        """The file that was sent is for this question; one that was sent for it before is not needed any more."""
        self.uploads.path(upload)  # raises if it is not there
        before = self._sent.get(key, upload)
        self._sent[key] = upload
        if before not in self._sent.values():
            self.uploads.remove(before)

    @contextmanager
    def drawing(self, key: str) -> Iterator[None]:
        """The key is drawn for, or waits for that, as long as this lasts."""
        self._drawing[key] += 1
        try:
            yield
        finally:
            self._drawing -= Counter([key])  # which leaves out a key that nobody draws for any more

    def drawn_now(self) -> set[str]:
        """The keys that are drawn for at this moment."""
        return set(self._drawing)

    # --- where the records are ----------------------------------------------------------------------------------------

    def looked_at(self, question: Question) -> Path | str:
        """The file of a question that is asked now."""
        return self.uploads.path(question["upload"]) if question["upload"] else question["file"]

    def source(self, asked: KeptRelease, upload: str = "") -> Path | str:
        """The file of a question that is kept, or the one that was sent for it again."""
        if asked.fields.get("file"):
            return asked.fields["file"]
        if upload:
            self._send(asked.key, upload)
        if asked.key not in self._sent:
            raise InvalidInputError("the file was removed when the page ended: choose it again")
        return self.uploads.path(self._sent[asked.key])

    def forget_sent(self, key: str) -> None:
        """The file that was sent for a question is not needed any more."""
        upload = self._sent.pop(key, "")
        if upload not in self._sent.values():
            self.uploads.remove(upload)


def _from_the_root(path: str) -> str:
    if is_address(path):
        return path
    try:
        return str(Path(path).expanduser().absolute())
    except RuntimeError:  # the home of someone who is not known here: counting says so
        return path
