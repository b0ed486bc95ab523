"""`discreet check` of a single table: it says what a release would be refused for, and what it shows is in no other output."""

import json
from pathlib import Path

import pytest

from discreet.ledger.ledger import Ledger
from discreet.requests.release import ReleaseRequest
from tests.cli.support import assert_refused, invoke
from tests.requests.study_support import written

SECRETS = ["Nevver-secret", "fifty-secret"]


@pytest.fixture
def asked(tmp_path: Path) -> list[object]:
    """The options of a release whose data hold secrets, and a ledger."""
    written(tmp_path, "", "p61,Nevver-secret,1,55+", "p61,never,1,55+", "p62,never,1,fifty-secret", "p63,,1,55+")
    Ledger(tmp_path / "ledger.db").create("survey", 1, unit="person")
    words = [tmp_path / "survey.csv", "--column", "smoking", "--categories", "never,former,current", "--privacy-id", "participant"]
    return [*words, "--by", "age=18-34,35-54,55+"]


def test_check_says_what_is_in_the_way_and_speaks_the_shell(asked: list[object]) -> None:
    found = invoke("check", *asked)
    assert found.exit_code == 1
    assert found.stdout.startswith("private: do not publish\nsome persons have several rows")
    for said in ("column 'smoking' has values that are not declared: 'Nevver-secret'", "'fifty-secret'", "'smoking' has missing values"):
        assert said in found.stdout
    assert "would be refused: values that are listed above have no place" in found.stdout
    assert "--corrections FILE" in found.stdout
    assert found.stderr == ""


def test_planted_secrets_of_check_are_in_no_other_output(asked: list[object], tmp_path: Path) -> None:
    charged = [*asked, "--epsilon", "1", "--ledger", tmp_path / "ledger.db", "--dataset", "survey", "--nulls", "never", "--yes"]
    refused = invoke("release", *charged)
    assert_refused(refused, "column 'age'")
    (tmp_path / "c.toml").write_text('[smoking]\nNevver-secret = "never"\n[age]\nfifty-secret = "55+"\n')
    corrected = [*charged, "--corrections", tmp_path / "c.toml"]
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    checked = invoke("check", *(word for word in corrected if word != "--yes"))
    assert (checked.exit_code, checked.stderr) == (0, "")
    assert "would be released" in checked.stdout
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before  # nothing is kept or charged
    done = invoke("release", *corrected, "--output", tmp_path / "record.json", "--plot", tmp_path / "picture.svg")
    assert done.exit_code == 0, done.output
    shown = invoke("show", tmp_path / "record.json")
    for secret in (*SECRETS, "c.toml"):
        assert not any(secret in one.output for one in (refused, done, shown))
        assert not any(secret.encode() in (tmp_path / name).read_bytes() for name in ("record.json", "picture.svg", "ledger.db"))


def test_check_lists_what_it_names_and_says_where_it_goes(asked: list[object]) -> None:
    found = invoke("check", *asked)
    for contradiction in ("not shown", "declare categories", "declare groups"):
        assert contradiction not in found.stdout
    others = ["--categories", "never,former,current,other", "--other", "other", "--nulls", "other"]
    placed = invoke("check", *asked[:3], *others, *asked[5:7], "--by", "age=18-34,35-54,55+,none", "--other-group", "age=none")
    assert placed.exit_code == 0
    assert "column 'smoking' has values that are not declared, which count as 'other': 'Nevver-secret'" in placed.stdout
    assert "column 'smoking' has missing values, which count as 'other'" in placed.stdout
    assert "column 'age' has values that are not declared, which count as 'none': 'fifty-secret'" in placed.stdout


@pytest.mark.parametrize("privacy", [[], ["--privacy-id", "participant"]])
def test_check_says_that_groups_are_missing_also_where_they_have_a_place(tmp_path: Path, privacy: list[str]) -> None:
    (tmp_path / "d.csv").write_text("participant,smoking,age\na,yes,old\nb,no,\nc,yes,old\n")
    asked = [tmp_path / "d.csv", "--column", "smoking", "--categories", "yes,no", *privacy]
    missing = "column 'age' has missing values"
    assert f"{missing}\nwould be refused: values that are listed above" in invoke("check", *asked, "--by", "age=old,young").stdout
    placed = invoke("check", *asked, "--by", "age=old,none", "--other-group", "age=none")
    assert f"{missing}, which count as 'none'\nwould be released" in placed.stdout
    (tmp_path / "d.csv").write_text("participant,smoking,age\na,yes,old\nb,no,old\nc,yes,old\n")  # the control
    assert "missing" not in invoke("check", *asked, "--by", "age=old,none", "--other-group", "age=none").stdout


def test_a_correction_of_a_declared_value_is_refused_and_not_shown(asked: list[object], tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('[smoking]\nNevver-secret = "never"\nformer = "current"\n')
    for command in (["check"], ["release", "--epsilon", "1"]):
        refused = invoke(command[0], *asked, *command[1:], "--corrections", tmp_path / "c.toml")
        assert_refused(refused, "a correction of 'smoking' is about a value that is declared itself")
        assert "secret" not in refused.stderr
    (tmp_path / "c.toml").write_text('[smoking]\nNevver-secret = "never"\nformer = "former"\n')
    assert "'Nevver-secret'" not in invoke("check", *asked, "--corrections", tmp_path / "c.toml").stdout


def test_check_needs_a_file_that_can_be_read_again(asked: list[object]) -> None:
    assert_refused(invoke("check", "-", *asked[1:], given="smoking\nnever\n"), "name a file")
    assert_refused(invoke("check", *asked, "--strict", "--public", "sizes"), "--strict")


def test_bands_of_a_single_release_may_have_a_category_for_missing_numbers(tmp_path: Path) -> None:
    (tmp_path / "hours.csv").write_text('hours\n0.5\n""\n2\n8\n')
    unnamed = ["release", tmp_path / "hours.csv", "--epsilon", "80", "--yes"]
    asked = [*unnamed, "--column", "hours"]
    assert_refused(invoke(*asked, "--bands", "0,1,3"), "--missing CATEGORY makes a category of its own")
    done = invoke(*asked, "--bands", "0,1,3", "--missing", "no answer")
    assert done.exit_code == 0, done.output
    body = json.loads(done.stdout)
    assert body["prior"]["categories"] == ["0 to under 1", "1 to under 3", "3 and more", "no answer"]
    assert body["counts"] == [1, 1, 1, 1]  # at this ε noise is 0 but for a chance below 1e-15
    assert_refused(invoke(*asked, "--missing", "no answer", "--categories", "a,b"), "--missing is about bands")
    assert_refused(invoke(*asked, "--bands", "0,1", "--categories", "a,b"), "do not go together")
    assert_refused(invoke(*asked, "--bands", "0,1,half"), "--bands must be a number")
    for words in (asked, unnamed):
        named = invoke(*words, "--bands", "hours=0,1,3", "--missing", "no answer")
        assert (named.exit_code, named.output) == (done.exit_code, done.output)
    assert_refused(invoke(*unnamed, "--bands", "0,1,3"), "--column is needed")
    assert_refused(invoke(*asked, "--bands", "age=0,1,3"), "of another one bands are groups, as in --by age=bands:18,35,55")
    assert_refused(invoke(*asked), "--categories is needed, or --bands")
    python = ReleaseRequest.read(
        {"file": "h.csv", "column": "hours", "epsilon": "1", "bands": "0,1.5", "missing": "none"}, "shell"
    ).python()
    assert "dc.count('h.csv', 'hours', dc.Bands([0, '1.5'], missing='none'))" in python
