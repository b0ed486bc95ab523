"""The page's server killed in the middle of releases: no budget is lost, nothing is drawn twice, and the next start says what happened."""

import json
import random
import re
import signal
from html import unescape
from http.client import HTTPException
from io import BytesIO
from pathlib import Path
from threading import Thread
from zipfile import ZipFile

import pytest

import discreet as dc
from tests.ledger.test_faults import database  # noqa: F401 - an empty ledger on a PostgreSQL server
from tests.postgresql import postgresql  # noqa: F401
from tests.web.release.releases import SECRET, Survey, drawn, look
from tests.web.release.test_study import look as look_at_study
from tests.web.release.test_study import text_of
from tests.web.server import Server, explore

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")]

KILLED = """
import os, pathlib, random, signal  # random takes the real function with it
real, calls = os.{function}, []
def killing(*arguments):
    if pathlib.Path({flag!r}).exists():
        calls.append(arguments)
        if len(calls) == {number}:
            os.kill(os.getpid(), signal.SIGKILL)
    return real(*arguments)
os.{function} = killing
"""
"""Python that kills its process at one of the calls of a function of the system, once there is a flag."""
PLACES = {
    "between the charge and the draw": ("urandom", 1, "charged, and not drawn"),
    "between the draw and its record": ("fsync", 3, "charged, and not drawn"),
    "between the record and the answer": ("fsync", 4, "released"),
}


def listed(server: Server) -> str:
    return unescape(re.sub(r"<[^>]*>", " ", server.post("/release/list")[1]))


@pytest.mark.parametrize(("place", "sent"), [*((place, False) for place in PLACES), ("between the charge and the draw", True)])
def test_killed(tmp_path: Path, place: str, sent: bool) -> None:
    survey, flag = Survey(tmp_path), tmp_path / "flag"
    function, number, said = PLACES[place]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    variables = {"XDG_DATA_HOME": survey.home, "TMPDIR": str(temporary)}
    with explore(before=KILLED.format(function=function, flag=str(flag), number=number), **variables) as server:
        fields = survey.fields() | ({"file": "", "upload": _sent(server, survey)} if sent else {})
        _, key = look(server, fields)
        flag.touch()
        with pytest.raises((OSError, HTTPException)):
            server.post("/release/draw", key=key)
    assert survey.spends() == 1
    with explore(**variables) as server:
        assert not list(temporary.glob("*/*.csv"))  # what was sent to the one that was killed
        assert said in listed(server)
        if said != "released":
            assert server.post("/release/record", key=key)[0] == 422
            assert "nothing was removed" in server.post("/release/remove", key=key, state="asked")[1]  # by a tab from before the charge
        again = {}
        if sent and said != "released":
            assert "choose it again" in server.post("/release/draw", key=key)[1]
            again = {"upload": _sent(server, survey)}
            asked, _ = look(server, fields | again)  # the same form in a new page
            assert "asked for before, and charged" in unescape(asked)
        status, text = server.post("/release/draw", key=key, **again)
        assert (status, "Done." in text) == (200, True), text
        assert drawn(server, key).to_json() == drawn(server, key).to_json()
    assert survey.spends() == 1
    assert not list(survey.kept.glob("*.partial"))


@pytest.mark.parametrize("place", PLACES)
def test_a_study_that_was_killed_is_charged_and_drawn_once(tmp_path: Path, place: str) -> None:
    survey, flag = Survey(tmp_path), tmp_path / "flag"
    function, number, said = PLACES[place]
    with explore(before=KILLED.format(function=function, flag=str(flag), number=number), XDG_DATA_HOME=survey.home) as server:
        _, key = look_at_study(server, survey, text_of(survey, 0.5))
        flag.touch()
        with pytest.raises((OSError, HTTPException)):
            server.post("/release/draw", key=key)
    with explore(XDG_DATA_HOME=survey.home) as server:
        assert said in listed(server)
        assert "Done." in server.post("/release/draw", key=key)[1]
        packed = [server.fetch("POST", "/release/record", body=f"key={key}".encode())[2] for _ in range(2)]
        texts = [[file.read(name) for name in file.namelist()] for file in map(ZipFile, map(BytesIO, packed))]
        assert texts[0] == texts[1]
        assert len(texts[0]) == 3
    assert survey.spends() == 1
    assert not list(survey.kept.glob("*.partial"))


def _sent(server: Server, survey: Survey) -> str:
    text = server.ask("POST", "/release/upload", server.headers() | {"X-Discreet-Name": "survey.csv"}, survey.file.read_bytes())[2]
    found = re.search(r'name="upload" value="([0-9a-f]+)"', text)
    assert found is not None
    return found[1]


def charged_and_killed(survey: Survey, **changed: str) -> str:
    """The key of a release whose server was killed between its charge and its draw."""
    flag = survey.folder / "flag"
    with explore(before=KILLED.format(function="urandom", flag=str(flag), number=1), XDG_DATA_HOME=survey.home) as server:
        _, key = look(server, survey.fields(**changed))
        flag.touch()
        with pytest.raises((OSError, HTTPException)):
            server.post("/release/draw", key=key)
    return key


FULL = """
import errno, os, pathlib
real = os.fsync
def full(*arguments):
    if pathlib.Path({flag!r}).exists():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return real(*arguments)
os.fsync = full
"""
"""Python whose disk is full, once there is a flag."""


def test_a_full_disk_refuses_before_the_charge(tmp_path: Path) -> None:
    """The room of a record is taken first, so that no draw is lost because of its length; its file is as long as any other's."""
    survey, flag = Survey(tmp_path), tmp_path / "flag"
    with explore(before=FULL.format(flag=str(flag)), XDG_DATA_HOME=survey.home) as server:
        keys = [look(server, survey.fields(epsilon=epsilon))[1] for epsilon in ("0.001", "0.003", "0.007", "0.009")]
        flag.touch()
        assert "No space left on device" in server.post("/release/draw", key=keys[0])[1]
        assert survey.spends() == 0
        assert not list(survey.kept.glob("*.partial"))
        flag.unlink()
        records = [drawn(server, key).to_json() for key in keys]
    assert len({len((survey.kept / f"{key}.json").read_bytes()) for key in keys}) == 1
    assert survey.spends() == len(keys)
    assert records == [json.loads((survey.kept / f"{key}.json").read_bytes())["record"] for key in keys]


def test_a_file_with_other_records_is_not_drawn_for_a_charge(tmp_path: Path) -> None:
    survey = Survey(tmp_path)
    key = charged_and_killed(survey)
    content = survey.file.read_text()
    survey.file.write_text(content + "one more,low,north\n")
    with explore(XDG_DATA_HOME=survey.home) as server:
        assert "its charge stands" in server.post("/release/draw", key=key)[1]
        survey.file.write_text(content)
        drawn(server, key)
    assert survey.spends() == 1


def test_what_was_charged_can_be_given_up(tmp_path: Path) -> None:
    """Its key goes with it: the same question is another release, and is charged again."""
    survey = Survey(tmp_path)
    key = charged_and_killed(survey)
    with explore(XDG_DATA_HOME=survey.home) as server:
        row = next(form for form in server.post("/release/list")[1].split("</form>") if key in form)
        assert "Give it up" in row
        assert "hx-confirm" in row
        assert key not in server.post("/release/remove", key=key, state="charged")[1]
        assert "not asked for on this machine" in unescape(server.post("/release/draw", key=key)[1])
        _, other = look(server, survey.fields())
        drawn(server, other)
    assert other != key
    assert [line.request for line in dc.Ledger(survey.ledger).history("survey")] == [key, other]


def test_a_ledger_that_is_gone_keeps_a_record_readable(tmp_path: Path) -> None:
    survey = Survey(tmp_path)
    with explore(XDG_DATA_HOME=survey.home) as server:
        _, first = look(server, survey.fields())
        drawn(server, first)
        _, second = look(server, survey.fields(epsilon="1"))
        Path(survey.ledger).rename(tmp_path / "away")
        assert drawn(server, first).n == 12_259
        assert "could not be read" in listed(server)
        assert "there is no ledger" in server.post("/release/draw", key=second)[1]
        assert second not in server.post("/release/remove", key=second, state="unknown")[1]
        assert not list(survey.kept.glob(f"{second}*"))


def test_what_was_charged_stays_in_the_list_however_much_is_asked_later(tmp_path: Path) -> None:
    survey, small = Survey(tmp_path), tmp_path / "small.csv"
    small.write_text("who,risk\n1,low\n")
    key = charged_and_killed(survey)
    with explore(XDG_DATA_HOME=survey.home) as server:
        for number in range(22):
            look(server, survey.fields(file=str(small), epsilon=f"0.1{number:02d}"))
        assert "charged, and not drawn" in listed(server)
        text, again = look(server, survey.fields())
        assert again == key
        assert "asked for before, and charged" in unescape(text)
        drawn(server, key)
    assert survey.spends() == 1
    assert not list(survey.kept.glob("*.charging"))


def test_killed_on_a_server_database(tmp_path: Path, database: str) -> None:  # noqa: F811 - the fixture
    """The same with a ledger on a PostgreSQL server, whose URL is kept without its password (which this server does not ask for)."""
    survey, ledger = Survey(tmp_path), dc.Ledger(database)
    typed = database.replace("curator@", f"curator:{SECRET}@")
    ledger.create("survey", epsilon=1, unit="person")
    key = charged_and_killed(survey, ledger=typed)
    with explore(XDG_DATA_HOME=survey.home) as server:
        assert "charged, and not drawn" in listed(server)
        drawn(server, key)
    assert SECRET not in "".join(path.read_text() for path in survey.kept.glob("*.json"))
    assert [line.request for line in ledger.history("survey")] == [key]


ROUNDS = 6
MOST_SYNCS = 6
"""After how many syncs of a round the server is killed at the latest: there are four for each of three records."""


def test_killed_at_any_time(tmp_path: Path) -> None:
    """Two tabs press the same three buttons, the server is killed at one of its syncs and started again, and each key is charged and
    drawn once."""
    survey, chance = Survey(tmp_path), random.Random(20261116)  # noqa: S311 - when to kill
    with explore(XDG_DATA_HOME=survey.home) as server:
        keys = [look(server, survey.fields(epsilon=f"0.{number}"))[1] for number in (1, 2, 3)]
    seen: dict[str, set[str]] = {key: set() for key in keys}
    unfinished = 0
    for _ in range(ROUNDS):
        syncs = chance.randint(1, MOST_SYNCS)
        with explore(before=KILLED.format(function="fsync", number=syncs, flag=str(survey.file)), XDG_DATA_HOME=survey.home) as server:
            tabs = [Thread(target=_press, args=(server, keys, seen)) for _ in range(2)]
            for tab in tabs:
                tab.start()
            for tab in tabs:
                tab.join()
        unfinished += any('"record": null' in path.read_text() for path in survey.kept.glob("*.json"))
    with explore(XDG_DATA_HOME=survey.home) as server:
        _press(server, keys, seen)
    assert unfinished > 0
    assert {key: len(records) for key, records in seen.items()} == dict.fromkeys(keys, 1)
    assert sorted(line.request or "" for line in dc.Ledger(survey.ledger).history("survey")) == sorted(keys)


def _press(server: Server, keys: list[str], seen: dict[str, set[str]]) -> None:
    try:
        for key in keys:
            server.post("/release/draw", key=key)
            status, text = server.post("/release/record", key=key)
            if status == 200:
                seen[key].add(text)
    except (OSError, HTTPException):
        pass
