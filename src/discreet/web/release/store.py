"""Releases that were asked for on the page: each is kept before it is charged, charged once, and drawn once.

A key is drawn for once. Its file holds the public question and, once it is drawn, the record, so that whoever removes the record by hand
removes the key with it. Only the owner can read the folder and what is in it.

The question is on the disk with its key before anything is charged, the charge carries the key, and the record is on the disk before it is
shown. Where a process ends between the charge and the record, nothing was seen of a draw, and the next one takes its place.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal

from discreet import limits
from discreet.errors import BudgetError, DiscreetError, InvalidInputError
from discreet.frames import forgets_variables
from discreet.ledger.budgets import Charge, today
from discreet.ledger.charges import second_budget_words
from discreet.ledger.ledger import Ledger
from discreet.ledger.statements import Statement, check_affordable
from discreet.mechanisms.base import Prepared
from discreet.mechanisms.samplers import whole_quanta
from discreet.record.new_files import is_moved, put_over, sync_folder, written_beside
from discreet.record.release import Release
from discreet.requests.release_steps import charge_of, check_charged, description_of, longest_text, printable, source_of, stand_in
from discreet.web.release.question import Question, read, read_study

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_STORED_VERSION = 2
_STRICT_VERSION = 1
"""The version in which every question was counted strictly, and its fields did not say so."""
_MOST_FILES_LISTED = 200
"""Files that are looked at, the last ones."""
_PRIVATE = 0o600
_KEY_BYTES = 16


class UnknownKeyError(DiscreetError):
    """There is no question with this key."""


@dataclass(frozen=True)
class KeptRelease:
    """A release that was asked for. All of it is public but where the records are, which stays on this machine."""

    key: str
    fields: Mapping[str, str]
    """The texts that were typed, by field."""
    ledger: str
    """Without a password."""
    described: Mapping[str, Any]
    """The mechanism, as the ledger describes it: what is drawn must be what was looked at."""
    day: date
    """The day on which it was asked for or, once it is drawn, drawn."""
    record: str | None = field(default=None, repr=False)
    """Once it is drawn."""


class Store:
    """The folder, which is made when something is kept in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def ask(self, fields: Mapping[str, str], ledger: str, described: Mapping[str, Any]) -> KeptRelease:
        """Keep a question before it is charged. One that is kept already, and was not drawn, is the same."""
        self._make()
        with self._locked("asking"):
            for one in self.latest():
                if (one.record, one.fields, one.ledger, one.described) == (None, fields, ledger, described):
                    return one
            asked = KeptRelease(token_hex(_KEY_BYTES), dict(fields), ledger, dict(described), today())
            place = self._place(asked.key)
            with written_beside(place, lambda file: file.write(_written(asked)), mode=_PRIVATE) as written:
                if not is_moved(written, place):
                    raise DiscreetError("two keys of 128 random bits are the same: do not release on this machine")
        return asked

    def find(self, key: str) -> KeptRelease:
        """The question with this key, as it stands now."""
        if len(key) != 2 * _KEY_BYTES or not set(key) <= set("0123456789abcdef"):
            raise UnknownKeyError(_UNKNOWN)
        try:
            return _read(key, self._place(key).read_bytes())
        except FileNotFoundError:
            raise UnknownKeyError(_UNKNOWN) from None
        except OSError as error:
            raise DiscreetError(f"a release that was asked for cannot be read: {error.strerror}") from None

    @contextmanager
    def alone(self, key: str) -> Iterator[KeptRelease]:
        """The question with this key, which nobody else, in this process or another, draws for or removes meanwhile."""
        self.find(key)
        with self._locked(key):
            for left in self._folder.glob(f"{key}.json.*.partial"):  # by a process that was killed: what was drawn and never seen
                left.unlink(missing_ok=True)
            yield self.find(key)

    @contextmanager
    def room(self, asked: KeptRelease, longest: str) -> Iterator[Callable[[str], KeptRelease]]:
        """Take the room of the longest record on the disk, then keep the one that is drawn in it: whether there is room says nothing of
        it, and neither does the length of the file. The key must be held `alone`, and have no record.

        From here on until there is a record the question is marked, because it may have been charged.
        """
        place, mark = self._place(asked.key), self._mark(asked.key)
        most = len(_written(replace(asked, record=longest)))
        with written_beside(place, lambda file: file.write(b" " * most), mode=_PRIVATE) as written:

            def keep(record: str) -> KeptRelease:
                drawn = replace(asked, record=record, day=today())
                with written.open("r+b") as file:
                    file.write(_written(drawn))
                    file.flush()
                    os.fsync(file.fileno())
                put_over(written, place)
                mark.unlink(missing_ok=True)
                return drawn

            mark.touch(_PRIVATE)
            sync_folder(self._folder)
            try:
                yield keep
            except BudgetError:  # nothing was charged
                mark.unlink(missing_ok=True)
                raise

    def remove(self, key: str) -> None:
        """Forget a question and its record. The key must be held `alone`."""
        for place in (self._place(key), self._mark(key), self._lock(key)):
            place.unlink(missing_ok=True)

    def latest(self, number: int = _MOST_FILES_LISTED) -> list[KeptRelease]:
        """Return so many questions that were asked last, the newest first; a file that cannot be read is none.

        Before them come all that may have been charged and have no record, however old they are.
        """
        marked = {place.stem for place in self._folder.glob("*.charging")}
        places = sorted(self._folder.glob("*.json"), key=lambda place: (place.stem in marked, _changed(place)), reverse=True)
        found = []
        for place in places[: number + len(marked)]:
            try:
                found.append(self.find(place.stem))
            except DiscreetError:
                continue
        return found

    def _make(self) -> None:
        if fcntl is None:
            raise InvalidInputError("this system has no locks on files, which keep a release from being drawn twice: use discreet release")
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder.chmod(0o700)
        except OSError as error:
            raise InvalidInputError(f"{self._folder}, where releases are kept, cannot be made ({error.strerror})") from None

    def _place(self, key: str) -> Path:
        return self._folder / f"{key}.json"

    def _mark(self, key: str) -> Path:
        return self._folder / f"{key}.charging"

    def _lock(self, name: str) -> Path:
        return self._folder / f"{name}.lock"

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        """The operating system unlocks what a process held, however it ended."""
        try:
            descriptor = os.open(self._lock(name), os.O_RDWR | os.O_CREAT, _PRIVATE)
        except OSError as error:
            raise DiscreetError(f"{self._folder}, where releases are kept, cannot be written to ({error.strerror})") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


_UNKNOWN = "this release was not asked for on this machine, or was removed from its list: fill in the form again"


def default_folder() -> Path:
    """Return the folder where programs of this user keep their data."""
    home = os.environ.get("XDG_DATA_HOME", "")
    return (Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "share") / "discreet" / "releases"


def _changed(place: Path) -> int:
    """Return when a file was changed last; long ago for one that somebody removes meanwhile."""
    try:
        return place.stat().st_mtime_ns
    except OSError:
        return 0


def _written(asked: KeptRelease) -> bytes:
    content = {
        "version": _STORED_VERSION,
        "fields": asked.fields,
        "ledger": asked.ledger,
        "described": asked.described,
        "day": asked.day.isoformat(),
        "record": asked.record,
    }
    return json.dumps(content).encode()


def _read(key: str, content: bytes) -> KeptRelease:
    try:
        found = json.loads(content)
        version, day = found["version"], date.fromisoformat(found["day"])
        fields = {"strict": "yes", **found["fields"]} if version == _STRICT_VERSION else found["fields"]
        asked = KeptRelease(key, fields, found["ledger"], found["described"], day, found["record"])
        typed = [*asked.fields.items(), (asked.ledger, asked.record or "")]
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        version = None
    if version not in (_STRICT_VERSION, _STORED_VERSION) or not all(isinstance(text, str) for pair in typed for text in pair):
        raise DiscreetError("the file of this release was changed, or was written by another version of discreet")
    return asked


_COUNTING_QUANTUM = 0.25
"""Seconds, at whose multiples counting ends: how long it takes may depend on what is counted."""
State = Literal["drawn", "drawing", "charged", "asked", "unknown"]


@dataclass(frozen=True)
class ReleasePreview:
    """The preview of a release before it is confirmed: all of it is public, or is made public by the release."""

    question: Question
    described: Mapping[str, Any]
    stand_ins: Mapping[str, Release]
    """Records that say what the release, or each table of a study, will say, but for the outcome: that is no draw, and is not shown."""
    statement: Statement
    charge: Charge
    second_budget: str | None
    """The warning where the same source was charged to another dataset before; None elsewhere."""


@forgets_variables
def look(question: Question, source: Path | str, declared: str | None, ledger: Ledger) -> ReleasePreview:
    """Preview what a release would publish and cost. Whatever can be refused is refused here or, in the same words, before the charge.

    `declared` is what the ledger will keep as the source.
    """
    question.check(ledger)
    ready = _prepared(question, source)
    statement = ledger.statement(question.dataset, latest=limits.LEDGER_SPENDS, period=question.period)
    charge = charge_of(ledger, question.dataset, ready.values())
    check_affordable(statement, charge)
    second = None if declared is None else second_budget_words(ledger.charged_elsewhere(question.dataset, declared))
    records = {name: stand_in(one) for name, one in ready.items()}
    return ReleasePreview(question, description_of(ready), records, statement, charge, second)


def declared_source(kept: Mapping[str, str]) -> str | None:
    """Return a ledger's source of a question as it is kept: its path, or the name of a file that was sent to the page."""
    return source_of(kept["file"]) if kept.get("file") else printable(f"{kept.get('upload', '')} (sent to the page)")


@forgets_variables
def draw_once(store: Store, key: str, source: Path | str, ledger: Ledger) -> KeptRelease:
    """The question with its record, which is drawn and charged now unless it was before. Nothing else sees what is drawn."""
    with store.alone(key) as asked:
        if asked.record is not None:
            return asked
        question: Question = read_study(asked.fields) if "text" in asked.fields else read(asked.fields)
        ready = _prepared(question, source)
        line = ledger.charged(question.dataset, key)
        if description_of(ready) != asked.described:
            paid = "nothing was spent: look again" if line is None else "its charge stands: draw it from the file as it was, or give it up"
            raise InvalidInputError(f"the file has another number of records than when you looked; {paid}")
        with store.room(asked, _kept_text({name: longest_text(one) for name, one in ready.items()})) as keep:
            if line is None:
                source_kept = declared_source(asked.fields)
                ledger.charge_together(question.dataset, ready, note=question.ledger_note, request=key, source=source_kept)
            else:
                check_charged(ledger, line, ready, "give it up")
            return keep(_kept_text({name: one.draw().to_json() for name, one in ready.items()}))


def _kept_text(records: Mapping[str, str]) -> str:
    """The text that is kept of what was drawn: the record, or an object with that of each table of a study."""
    return records[""] if [*records] == [""] else json.dumps(records)


def records_of(asked: KeptRelease) -> dict[str, Release]:
    """The records that were drawn: those of a study's tables by their names, or one without a name."""
    if asked.record is None:
        raise InvalidInputError("this release was not drawn yet")
    texts = json.loads(asked.record) if "text" in asked.fields else {"": asked.record}
    return {name: Release.from_json(text) for name, text in texts.items()}


def state(asked: KeptRelease, ledger: Ledger) -> State:
    """Return the state of a question. Raises LedgerError if its ledger does not say."""
    if asked.record is not None:
        return "drawn"
    return "asked" if ledger.charged(asked.fields.get("dataset", ""), asked.key) is None else "charged"


def _prepared(question: Question, source: Path | str) -> Mapping[str, Prepared]:
    """Everything but the draws. Answers and groups without a place are refused, as at any desk of a curator, unless others ask: strictly
    counted, no cell of the data decides whether it succeeds, or what is said."""
    with whole_quanta(_COUNTING_QUANTUM):
        return question.prepared(source)
