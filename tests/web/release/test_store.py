"""What the page keeps of releases after a power cut. Only what was synced is on the disk then, which a model of it says."""

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from discreet.errors import BudgetError, DiscreetError, LedgerError
from discreet.web.release.store import KeptRelease, Store

LONGEST = "x" * 100


@dataclass
class Disk:
    """What would be on the disk of a folder after a power cut: the contents and the names that were synced last."""

    folder: Path
    contents: dict[int, bytes] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)

    def fsync(self, descriptor: int) -> None:
        status = os.fstat(descriptor)
        entries = {entry.name: entry.inode() for entry in os.scandir(self.folder)}
        if os.path.samestat(status, self.folder.stat()):
            self.names = entries
        for name, inode in entries.items():
            if inode == status.st_ino:
                self.contents[inode] = (self.folder / name).read_bytes()

    def after_a_power_cut(self, place: Path) -> Store:
        """The store that the next start finds."""
        place.mkdir()
        for name, inode in self.names.items():
            (place / name).write_bytes(self.contents.get(inode, b""))
        return Store(place)


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    (tmp_path / "kept").mkdir()
    found = Disk(tmp_path / "kept")
    monkeypatch.setattr(os, "fsync", found.fsync)
    return found


def asked(store: Store, number: int = 0) -> KeptRelease:
    return store.ask({"column": f"risk {number}"}, "ledger.db", {"mechanism": "LatticeGeometric"})


def test_a_question_outlasts_a_power_cut_before_it_is_charged(disk: Disk, tmp_path: Path) -> None:
    one = asked(Store(disk.folder))
    assert disk.after_a_power_cut(tmp_path / "after").find(one.key) == one


def test_what_may_have_been_charged_is_marked_also_after_a_power_cut(disk: Disk, tmp_path: Path) -> None:
    """It is listed before all that was asked later, because the charge, which is in the ledger, must not be forgotten."""
    store = Store(disk.folder)
    one = asked(store)
    with store.alone(one.key), store.room(one, LONGEST):
        after = disk.after_a_power_cut(tmp_path / "after")  # just before it is charged
    assert list((tmp_path / "after").glob("*.charging"))
    for number in range(1, 4):
        asked(after, number)
    place = tmp_path / "after" / f"{one.key}.json"
    os.utime(place, (0, 0))
    latest = after.latest(2)
    assert latest[0] == one
    assert len(latest) == 3  # and as many others as are asked for


def test_a_record_outlasts_a_power_cut_once_it_is_shown(disk: Disk, tmp_path: Path) -> None:
    store = Store(disk.folder)
    one = asked(store)
    with store.alone(one.key), store.room(one, LONGEST) as keep:
        drawn = keep("a record")
        after = disk.after_a_power_cut(tmp_path / "after")
    assert drawn.record == "a record"
    assert after.find(one.key) == drawn


def test_the_mark_goes_with_the_record(tmp_path: Path) -> None:
    store = Store(tmp_path)
    one = asked(store)
    with store.alone(one.key), store.room(one, LONGEST) as keep:
        assert list(tmp_path.glob("*.charging"))
        keep("a record")
    assert not list(tmp_path.glob("*.charging"))


@pytest.mark.parametrize(("error", "is_left"), [(BudgetError("too much"), False), (LedgerError("no answer"), True)])
def test_the_mark_stays_unless_it_is_known_that_nothing_was_charged(tmp_path: Path, error: LedgerError, is_left: bool) -> None:
    store = Store(tmp_path)
    one = asked(store)
    with pytest.raises(type(error)), store.alone(one.key), store.room(one, LONGEST):
        raise error
    assert bool(list(tmp_path.glob("*.charging"))) is is_left
    assert not list(tmp_path.glob("*.partial"))


def test_where_nobody_can_be_kept_out_nothing_is_asked_or_drawn(tmp_path: Path) -> None:
    """A lock is a file. Where none can be opened, as in a folder that was made read-only, that is said in one line."""
    store = Store(tmp_path)
    one = asked(store)
    for key in ("asking", one.key):
        (tmp_path / f"{key}.lock").unlink(missing_ok=True)
        (tmp_path / f"{key}.lock").mkdir()
    with pytest.raises(DiscreetError, match="cannot be written to"):
        asked(store, 1)
    with pytest.raises(DiscreetError, match="cannot be written to"), store.alone(one.key):
        raise AssertionError
    assert store.latest() == [one]
