"""A release of a study that is killed at any step: nothing is charged or drawn twice, and the same call ends what was begun."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import DiscreetError, InvalidInputError
from discreet.ledger.ledger import Ledger
from discreet.requests.studies.release import release
from discreet.requests.studies.study import Study
from tests.places import ROOT
from tests.requests.study_support import STUDY, written

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="folders are locked as this system cannot")

SCRIPT = Path(__file__).with_name("study_faults.py")
AFTER_CHARGE = ("charge_together", "after", 1)
AFTER_MANIFEST = ("put_over", "after", 2)
STEPS = [
    ("_working", "before", 1),
    ("ready_tables", "after", 1),
    ("_write", "after", 1),  # room for the first record
    ("put_over", "before", 1),  # the key
    ("put_over", "after", 1),
    ("charge_together", "before", 1),
    ("_draw", "before", 1),
    ("_write", "before", 3),  # the first record that was drawn
    ("_write", "after", 3),
    ("_write", "after", 4),
    ("put_over", "before", 2),  # the manifest
    ("_put", "before", 1),
    ("_put", "after", 1),
]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    written(tmp_path)
    made = Ledger(tmp_path / "ledger.db")
    made.create("survey", 5, unit="person")
    return made


def kill(folder: Path, name: str, when: str, turn: int) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, str(SCRIPT), str(folder), name, when, str(turn)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=300, env=environment)  # noqa: S603
    assert done.returncode == -9, done.stderr


def whole(folder: Path) -> dict[str, bytes] | None:
    """The records of a folder that is whole, drawn and named or not."""
    return {path.name: path.read_bytes() for path in folder.glob("[!.]*.json")} if (folder / "study.json").exists() else None


@pytest.mark.parametrize("step", [AFTER_CHARGE, AFTER_MANIFEST, *(pytest.param(step, marks=pytest.mark.slow) for step in STEPS)])
def test_a_kill_at_a_step_leaves_one_charge_and_one_draw(tmp_path: Path, ledger: Ledger, step: tuple[str, str, int]) -> None:
    kill(tmp_path, *step)
    assert len(ledger.history("survey")) <= 1
    drawn = whole(tmp_path / ".published.drawing") or whole(tmp_path / "published")
    Study.load(tmp_path / "study.toml").release(ledger, tmp_path / "published")
    [line] = ledger.history("survey")
    assert line.loss.epsilon == 1
    found = whole(tmp_path / "published")
    assert found is not None
    assert sorted(found) == ["exercise.json", "smoking.json", "study.json"]
    assert drawn in (None, found)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger.db", "published", "study.toml", "survey.csv"]
    assert sorted(path.name for path in (tmp_path / "published").iterdir()) == sorted(found)


def test_whoever_removes_what_was_begun_pays_again(tmp_path: Path, ledger: Ledger) -> None:
    """The control: without the key that is kept beside the place, a second call is a second request."""
    kill(tmp_path, *AFTER_CHARGE)
    shutil.rmtree(tmp_path / ".published.drawing")
    Study.load(tmp_path / "study.toml").release(ledger, tmp_path / "published")
    assert len(ledger.history("survey")) == 2


def test_another_study_does_not_draw_for_a_charge(tmp_path: Path, ledger: Ledger) -> None:
    kill(tmp_path, *AFTER_CHARGE)
    other = Study.load(written(tmp_path, STUDY.replace("weight = 2", "weight = 3")))
    with pytest.raises(InvalidInputError, match="was begun here"):
        other.release(ledger, tmp_path / "published")
    assert len(ledger.history("survey")) == 1


def test_a_copy_of_what_was_begun_does_not_draw_for_the_same_charge(tmp_path: Path, ledger: Ledger) -> None:
    kill(tmp_path, *AFTER_CHARGE)
    shutil.copytree(tmp_path / ".published.drawing", tmp_path / ".again.drawing")
    (tmp_path / "beside").symlink_to(tmp_path)
    study = Study.load(tmp_path / "study.toml")
    with pytest.raises(InvalidInputError, match="was begun here"):
        study.release(ledger, tmp_path / "again")
    study.release(ledger, tmp_path / "beside" / "published")  # by another path it is the same folder
    assert whole(tmp_path / "published") is not None
    assert len(ledger.history("survey")) == 1


@pytest.mark.parametrize("text", ["", "[]", "1", '{"key": "0"}'])
def test_a_kept_request_that_cannot_be_read_is_refused_in_one_line(tmp_path: Path, ledger: Ledger, text: str) -> None:
    (tmp_path / ".published.drawing").mkdir()
    (tmp_path / ".published.drawing" / ".request.json").write_text(text)
    with pytest.raises(DiscreetError, match="look at the ledger"):
        Study.load(tmp_path / "study.toml").release(ledger, tmp_path / "published")
    assert not ledger.history("survey")
    assert (tmp_path / ".published.drawing" / ".request.json").exists()


def test_another_number_of_records_is_not_what_was_charged(tmp_path: Path, ledger: Ledger) -> None:
    kill(tmp_path, *AFTER_CHARGE)
    study = Study.load(written(tmp_path, STUDY, "p99,never,1,55+"))
    with pytest.raises(InvalidInputError, match="another number of records"):
        study.release(ledger, tmp_path / "published")
    written(tmp_path)
    assert set(study.release(ledger, tmp_path / "published")) == {"smoking", "exercise"}
    assert len(ledger.history("survey")) == 1


def test_nobody_else_releases_to_the_same_folder_meanwhile(tmp_path: Path, ledger: Ledger) -> None:
    import fcntl

    (tmp_path / ".published.drawing").mkdir()
    descriptor = os.open(tmp_path / ".published.drawing", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(InvalidInputError, match="another process is releasing"):
        Study.load(tmp_path / "study.toml").release(ledger, tmp_path / "published")
    os.close(descriptor)
    assert not ledger.history("survey")


def test_whoever_is_turned_away_leaves_the_folder_of_the_first(tmp_path: Path, ledger: Ledger) -> None:
    """The first has kept no key yet: it counts, or somebody is asked."""
    study, refused = Study.load(tmp_path / "study.toml"), []

    def meanwhile(_: object) -> None:
        with pytest.raises(InvalidInputError, match="another process is releasing"):
            study.release(ledger, tmp_path / "published")
        refused.append(True)

    assert set(release(study, ledger, tmp_path / "published", confirm=meanwhile)) == {"smoking", "exercise"}
    assert refused == [True]
    assert len(ledger.history("survey")) == 1


def test_a_place_that_was_taken_meanwhile_is_refused_before_the_charge(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, make = Study.load(tmp_path / "study.toml"), Path.mkdir

    def late(place: Path, *arguments: Any, **options: Any) -> None:
        """Another process ends just before the folder is made."""
        monkeypatch.undo()
        study.release(ledger, tmp_path / "published")
        make(place, *arguments, **options)

    monkeypatch.setattr(Path, "mkdir", late)
    with pytest.raises(InvalidInputError, match="no empty folder"):
        study.release(ledger, tmp_path / "published")
    assert len(ledger.history("survey")) == 1
    assert not (tmp_path / ".published.drawing").exists()


@pytest.mark.parametrize("kind", ["a link to nothing", "a link to an empty folder", "a mounted volume"])
def test_a_place_that_no_folder_can_replace_is_refused_before_the_charge(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    (tmp_path / "real").mkdir()
    if kind == "a mounted volume":
        monkeypatch.setattr(Path, "is_mount", lambda place: place.name == "real")
    else:
        (tmp_path / "link").symlink_to(tmp_path / ("nothing" if "nothing" in kind else "real"))
    place = tmp_path / ("real" if kind == "a mounted volume" else "link")
    with pytest.raises(InvalidInputError, match="a link or a mounted volume"):
        Study.load(tmp_path / "study.toml").release(ledger, place)
    assert not ledger.history("survey")
    assert not list(tmp_path.glob(".*.drawing"))


def test_whoever_answers_no_leaves_nothing_behind(tmp_path: Path, ledger: Ledger) -> None:
    def no(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        release(Study.load(tmp_path / "study.toml"), ledger, tmp_path / "published", confirm=no)
    assert not (tmp_path / ".published.drawing").exists()
    assert not ledger.history("survey")
