"""The release of a study: counted in one pass, charged by one line, drawn once, and put into its place as one folder.

While it is under way its folder lies beside its place, under another name, with the key of its charge. Where a process ends between the
charge and the folder, nothing was seen of a draw, and the next one takes its place. Whoever removes the folder removes the key with it.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from discreet.data.count import tallied
from discreet.errors import BudgetError, DiscreetError, InvalidInputError
from discreet.frames import forgets_variables
from discreet.ledger.ledger import Ledger, warn_of_second_budget
from discreet.record.new_files import put_over, sync_folder, written_beside
from discreet.record.release import Release
from discreet.requests.checks import absent_words, checked
from discreet.requests.release import ReleaseRequest
from discreet.requests.release_steps import check_budget, check_charged, longest_text, printable, source_of
from discreet.requests.studies.published import check_same, manifest, read_folder
from discreet.requests.studies.study import MANIFEST, Study, in_study
from discreet.text import counted

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from discreet.mechanisms.base import Prepared
    from discreet.requests.checks import DataCheck

_REQUEST = ".request.json"
"""The file of the request, with the key of its charge: in the folder while it is under way."""
_OWN_FOLDER = ".study"
"""An empty file that says whose the folder is, while it is under way."""
Ready = Mapping[str, "Prepared"]


@forgets_variables
def release(
    study: Study,
    ledger: "Ledger | str | os.PathLike[str] | None",
    folder: "str | os.PathLike[str]",
    *,
    source: Any = None,
    corrections: "str | os.PathLike[str] | None" = None,
    confirm: Callable[[Ready], None] | None = None,
) -> dict[str, Release]:
    """The records of a study, which are drawn and charged now unless they were before.

    `confirm` may refuse before anything is spent, and says whatever speaks against it; without it a second budget is warned of.
    """
    place = Path(folder).expanduser().absolute()
    if (place / f"{MANIFEST}.json").is_file():
        check_same(study, place)
        return read_folder(place)
    book = ledger if isinstance(ledger, Ledger) or ledger is None else Ledger(ledger)
    if book is not None:
        check_chargeable(study, book)
    with _working(place) as working:
        if not (working / f"{MANIFEST}.json").is_file():
            kept = _kept_key(study, book, working)
            ready = ready_tables(study, source, corrections)
            for name, one in ready.items():  # the room on the disk, before anything is spent
                _write(working / f"{name}.json", longest_text(one).encode())
            if kept is None:
                told = source_of(study.path) if source is None else None
                if confirm is not None:
                    confirm(ready)
                elif book is not None and study.dataset is not None:
                    warn_of_second_budget(book, study.dataset, told)
                _charge(study, book, ready, working, told)
            elif book is not None and study.dataset is not None and (line := book.charged(study.dataset, kept)) is not None:
                check_charged(book, line, ready, "remove the folder that was begun to give it up")
            _draw(study, ready, working)
        else:
            check_same(study, working)
        _put(study, working, place)
    return read_folder(place)


@forgets_variables
def ready_tables(study: Study, source: Any = None, corrections: "str | os.PathLike[str] | None" = None) -> dict[str, "Prepared"]:
    """Everything about the releases of all tables but the draws, from one pass over the data. Whatever can be refused is refused here."""
    with in_study():
        tallies = tallied(study.path if source is None else source, study.questions(study.read_corrections(corrections)), study.encoding)
    absent = study.absent_corrections if corrections is None else None
    ready = {}
    for (name, asked), tally in zip(study.requests.items(), tallies, strict=True):
        with in_study(name, "" if absent is None else absent_words(absent)):
            ready[name] = asked.settled(tally)
    return ready


def check(study: Study, source: Any, corrections: "str | os.PathLike[str] | None") -> "DataCheck":
    """Return the findings in the data that stand in the way of a release: for the curator alone."""
    questions = study.questions(study.read_corrections(corrections))
    asked = zip(study.requests.items(), questions, strict=True)
    tables = {name: (question, request.settled) for (name, request), question in asked}
    with in_study():
        found = checked(study.path if source is None else source, study.encoding, tables, ReleaseRequest, "study")
    return replace(found, absent=study.absent_corrections if corrections is None else None)


def note_of_study(study: Study) -> str:
    """Return the ledger's note of a study."""
    return printable(f"study of {counted(len(study.tables), 'table')}: {', '.join(table.name for table in study.tables)}")[:1000]


# --- charge and draw --------------------------------------------------------------------------------------------------


def check_chargeable(study: Study, ledger: Ledger) -> None:
    """Refuse what the budget allows at no ε before the data are counted."""
    if study.dataset is None:
        raise InvalidInputError('the study has no dataset, so that no budget can be charged: name one, as in dataset = "survey"')
    ledger.budget(study.dataset)  # which is there, or no table is to blame
    for name, asked in study.requests.items():
        with in_study(name):
            check_budget(ledger, study.dataset, asked.unit, asked.relation, study.period)


def _charge(study: Study, ledger: Ledger | None, ready: Ready, working: Path, source: str | None) -> None:
    """Keep a new key, durably, and charge the budget for it."""
    key, place = token_hex(16), working / _REQUEST
    asked = json.dumps({**_asked(study, ledger, working), "key": key}).encode()
    with written_beside(place, lambda file: file.write(asked), mode=0o600) as written:
        put_over(written, place)
    if ledger is None or study.dataset is None:
        return
    try:
        ledger.charge_together(study.dataset, ready, note=note_of_study(study), request=key, source=source)
    except BudgetError:  # nothing was charged
        place.unlink()
        raise


def _draw(study: Study, ready: Ready, working: Path) -> None:
    """Draw all tables and write their records, and last the manifest, which makes them whole."""
    for name, record in [(name, one.draw()) for name, one in ready.items()]:
        _write(working / f"{name}.json", record.to_json().encode())
    place = working / f"{MANIFEST}.json"
    with written_beside(place, lambda file: file.write(manifest(study))) as written:
        put_over(written, place)


def _asked(study: Study, ledger: Ledger | None, working: Path) -> dict[str, Any]:
    """Return the request, to compare with an earlier one: a copy of the working folder asks for another place. It stays here."""
    return {"study": repr(study), "folder": str(study.folder), "ledger": repr(ledger), "working": str(working.resolve())}


def _kept_key(study: Study, ledger: Ledger | None, working: Path) -> str | None:
    """The key that was kept for this request and charged, if there is one; one that was not charged is forgotten."""
    place = working / _REQUEST
    try:
        kept = json.loads(place.read_bytes())
        key, begun_to = str(kept.pop("key")), kept["ledger"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        raise DiscreetError(f"{place}, which says what was charged, cannot be read; look at the ledger before you remove it") from None
    is_charged = ledger is not None and study.dataset is not None and ledger.charged(study.dataset, key) is not None
    if kept == _asked(study, ledger, working) and (is_charged or ledger is None):
        return key
    if begun_to != repr(ledger) or is_charged:
        raise InvalidInputError(
            "a release of another study, or to another ledger or folder, was begun here and may have been charged: end it as it was begun, "
            f"or remove {working} to give it up"
        )
    place.unlink()
    return None


# --- the folder -------------------------------------------------------------------------------------------------------


@contextmanager
def _working(place: Path) -> Iterator[Path]:
    """The folder beside the place, which nobody else works in meanwhile; it is removed again if nothing was asked for in it."""
    if fcntl is None:
        raise InvalidInputError("this system has no locks on files, which keep a study from being drawn twice: release its tables alone")
    working = place.with_name(f".{place.name}.drawing")
    try:
        working.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(working, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise InvalidInputError(f"{place} cannot be written to ({error.strerror}): check the name and its folder") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_here = os.path.samestat(os.fstat(descriptor), working.stat())
        except OSError:
            is_here = False
        if not is_here:
            raise InvalidInputError(f"another process is releasing to {place}; wait for it, and nothing was spent here")
        _claim(working)
        try:
            _check_free(place)  # now that nobody else can take it
            yield working
        except BaseException:
            _forget_unasked(working)
            raise
    finally:
        os.close(descriptor)


def _claim(working: Path) -> None:
    """Mark the folder as a study's, whose files may be removed. One with files that no study put there is refused."""
    ours = (_OWN_FOLDER, _REQUEST, f"{MANIFEST}.json")
    if any(working.iterdir()) and not any((working / name).exists() for name in ours):
        raise InvalidInputError(f"{working} holds files that no study put there: move them elsewhere. Nothing was spent")
    (working / _OWN_FOLDER).touch()


def _check_free(place: Path) -> None:
    """Refuse a place that a folder cannot be renamed to."""
    if place.exists() and not (place.is_dir() and not any(place.iterdir())):
        raise InvalidInputError(f"{place} exists and is no empty folder, so it is not overwritten: choose another --output")
    if place.is_symlink() or place.is_mount():
        raise InvalidInputError(f"{place} is a link or a mounted volume, which no folder can replace: choose a new folder for --output")


def _forget_unasked(working: Path) -> None:
    """Remove a folder in which no key was kept, so that nothing of it can have been charged."""
    if working.is_dir() and not (working / _REQUEST).exists() and not (working / f"{MANIFEST}.json").exists():
        shutil.rmtree(working, ignore_errors=True)


def _write(path: Path, content: bytes) -> None:
    """Write a file of the working folder, over what is there, durably."""
    try:
        with path.open("r+b" if path.exists() else "xb") as file:
            file.write(content)
            file.truncate()
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise DiscreetError(f"{path} could not be written: {error.strerror}") from None


def _put(study: Study, working: Path, place: Path) -> None:
    """Give the folder its name, with nothing in it but what is published: a process that was killed may have left more."""
    published = {f"{name}.json" for name in (MANIFEST, *study.epsilons)}
    try:
        for left in working.iterdir():
            if left.name not in published:
                left.unlink()
        working.chmod(0o755)
        sync_folder(working)
        working.rename(place)
    except OSError as error:
        raise DiscreetError(
            f"the study was drawn and charged, but {place} could not be written ({error.strerror}); its records are in {working}: the same "
            "command puts them there"
        ) from None
    sync_folder(place.parent)
