"""The files of a release on the page: which one was looked at, and what becomes of those that were sent."""

import re
import stat
from pathlib import Path

import pytest

import discreet as dc
from tests.web.release.releases import Survey, drawn, look
from tests.web.server import Server, explore


def send(server: Server, name: str, content: bytes) -> str:
    text = server.ask("POST", "/release/upload", server.headers() | {"X-Discreet-Name": name}, content)[2]
    found = re.search(r'name="upload" value="([0-9a-f]+)"', text)
    assert found is not None, text
    return found[1]


def rows(answer: str) -> str:
    """A file of one answer, given five thousand times."""
    return "who,risk\n" + "".join(f"{i},{answer}\n" for i in range(5000))


def private(survey: Survey, **changed: str) -> dict[str, str]:
    """A question that publishes no number of records, by which two files could be told apart."""
    return survey.fields(public="nothing", dataset="hidden", epsilon="2", **changed)


def test_a_file_that_was_sent_is_private_and_goes_with_its_release(survey: Survey, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with explore(XDG_DATA_HOME=str(tmp_path / "home"), TMPDIR=str(temporary)) as server:
        upload = send(server, "survey.csv", survey.file.read_bytes())
        (copy,) = temporary.glob(f"discreet-spill-*/{upload}.csv")
        assert stat.S_IMODE(copy.parent.stat().st_mode) == 0o700
        fields = survey.fields(file="", upload=upload, epsilon="0.39")
        text, key = look(server, fields)
        assert copy.name not in text
        assert str(temporary) not in text
        drawn(server, key)
        assert not copy.exists()
        assert dc.Ledger(survey.ledger).history("survey")[-1].note == "risk of survey.csv"
        other = send(server, "survey.csv.gz", b"")
        assert list(temporary.glob(f"discreet-spill-*/{other}.csv.gz"))
    assert not list(temporary.glob("discreet-spill-*"))


def test_how_long_a_file_is_is_not_said(survey: Survey, tmp_path: Path) -> None:
    with explore(XDG_DATA_HOME=str(tmp_path)) as server:
        headers = server.headers() | {"X-Discreet-Name": "survey.csv"}
        said = [server.ask("POST", "/release/upload", headers, b"x" * length)[2] for length in (11, 4711)]
    assert len({re.sub("[0-9a-f]{32}", "", text) for text in said}) == 1


def test_only_the_last_files_are_kept(survey: Survey, tmp_path: Path) -> None:
    with explore(XDG_DATA_HOME=str(tmp_path)) as server:
        uploads = [send(server, "x.csv", b"who,risk\n1,low\n") for _ in range(9)]
        assert "choose it again" in look(server, survey.fields(file="", upload=uploads[0]))[0]
        assert look(server, survey.fields(file="", upload=uploads[-1], epsilon="0.4"))[1]


def test_two_files_of_one_name_are_two_questions(survey: Survey, tmp_path: Path) -> None:
    """What is released is what was looked at, whatever was sent under the same name meanwhile."""
    with explore(XDG_DATA_HOME=str(tmp_path)) as server:
        keys = {
            answer: look(server, private(survey, file="", upload=send(server, "x.csv", rows(answer).encode())))[1]
            for answer in ("low", "high")
        }
        assert keys["low"] != keys["high"]
        for place, answer in enumerate(keys):
            assert drawn(server, keys[answer]).raw[place] > 4000
        again = look(server, private(survey, file="", upload=send(server, "x.csv", rows("other").encode())))
        assert again[1] not in ("", *keys.values())
        assert "asked for and drawn before" not in again[0]


def test_a_file_that_is_sent_again_is_the_same_question_and_is_kept_once(survey: Survey, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with explore(XDG_DATA_HOME=str(tmp_path / "home"), TMPDIR=str(temporary)) as server:
        content = rows("low").encode()
        keys = [look(server, private(survey, file="", upload=send(server, "x.csv", content)))[1] for _ in range(2)]
        assert keys[0] == keys[1]
        assert len(list(temporary.glob("discreet-spill-*/*.csv"))) == 1
        drawn(server, keys[0])
        assert not list(temporary.glob("discreet-spill-*/*.csv"))
        text, key = look(server, private(survey, file="", upload=send(server, "x.csv", content)))
        assert key == keys[0]
        assert "asked for and drawn before" in text


def test_a_path_means_the_same_where_the_page_is_started_in_another_folder(
    survey: Survey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, answer in (("here", "low"), ("there", "high")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.csv").write_text(rows(answer))
    keys = {}
    for folder in ("here", "there"):
        monkeypatch.chdir(tmp_path / folder)
        with explore(XDG_DATA_HOME=str(tmp_path)) as server:
            keys[folder] = look(server, private(survey, file="x.csv"))[1]
            if folder == "there":
                assert drawn(server, keys["here"]).raw[0] > 4000
    assert keys["here"] != keys["there"]
