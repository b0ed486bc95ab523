"""How the page counts: at the curator's own desk undeclared answers are refused before the charge; strictly where others ask."""

import re
import shlex
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from tests.web.release.releases import SECRET, Survey, drawn, look
from tests.web.release.test_files import send
from tests.web.release.test_requests import wrong
from tests.web.server import Server

ROWS = "who,smokes,region\n" + "".join(f"{i},{'Sí' if i % 3 else 'No'},{'north' if i % 2 else 'south'}\n" for i in range(300))


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    found = Survey(tmp_path_factory.mktemp("survey"), epsilon=100)
    (found.folder / "clean.csv").write_text(ROWS, "utf-8")
    (found.folder / "latin.csv").write_text(ROWS, "latin-1")
    (found.folder / "gaps.csv").write_text(ROWS + f"{SECRET},,north\n", "utf-8")
    (found.folder / "no region.csv").write_text(ROWS + f"{SECRET},No,\n", "utf-8")
    return found


def form(survey: Survey, file: str = "clean.csv", **changed: str) -> dict[str, str]:
    """A question about answers that are all declared."""
    typed = survey.fields(file=str(survey.folder / file), column="smokes", categories="Sí\nNo", other="", nulls="", epsilon="0.6")
    return typed | changed


def is_strict(release: dc.Release) -> bool:
    """Whether a record says that its records were counted strictly."""
    assert release.about is not None
    assert isinstance(release.about.counting, dc.CountingRule)
    return release.about.counting.strict


NONSENSE = {
    "labels of another language": ({"categories": "Yes\nNo"}, "categories", "“Any other answer counts as”"),
    "a wrong column": ({"column": "region"}, "categories", "values outside the declared categories"),
    "latin-1 as UTF-8": ({"file": "latin.csv"}, "encoding", "“Encoding of a CSV file”"),
    "missing answers": ({"file": "gaps.csv"}, "nulls", "“A missing answer counts as”"),
    "groups that are not those of the file": ({"by": "region=North,South"}, "by", "“Leave out blanks around answers and groups”"),
    "missing groups": ({"file": "no region.csv", "by": "region=north,south"}, "by", "“Other and missing groups count as”"),
}


@pytest.mark.parametrize("case", NONSENSE)
def test_what_would_be_nonsense_is_refused_before_anything_is_charged(server: Server, survey: Survey, case: str) -> None:
    changed, field, said = NONSENSE[case]
    before = survey.spends()
    text, key = look(server, form(survey, **changed))
    assert key == ""
    found = wrong(text, field)
    assert said in found
    assert "--" not in found  # the form's labels, not the shell's options
    assert "=" not in found
    assert SECRET not in text
    assert survey.spends() == before


def test_a_file_that_is_changed_after_the_look_is_refused_before_the_charge(server: Server, survey: Survey) -> None:
    """The number of records is the same: only counting again finds it."""
    file = survey.folder / "changed.csv"
    file.write_text(ROWS, "utf-8")
    before = survey.spends()
    _, key = look(server, form(survey, file.name))
    file.write_text(ROWS.replace("Sí", "sí"), "utf-8")
    said = unescape(server.post("/release/draw", key=key)[1])
    assert "“Any other answer counts as”" in said
    assert survey.spends() == before


def test_a_clean_table_needs_no_group_for_the_unknown(server: Server, survey: Survey) -> None:
    _, key = look(server, form(survey, by="region=north,south", epsilon="0.61"))
    groups = drawn(server, key).by
    assert len(groups) == 2


def test_a_column_without_strangers_needs_no_place_for_them(server: Server, survey: Survey) -> None:
    """One of two columns has missing values, and only its groups have a place for them."""
    rows = {"by": "region=north,south,elsewhere\nwho=1,2", "other_groups": "region=elsewhere", "privacy_id": "", "dataset": "rows"}
    (survey.folder / "two.csv").write_text("who,smokes,region\n1,No,\n2,No,north\n")
    dc.Ledger(survey.ledger).create("rows", epsilon=1)
    text, key = look(server, form(survey, "two.csv", **rows))
    assert key, text


STRICT = {"strict": "yes", "categories": "Yes\nNo\nelse", "other": "else", "nulls": "else"}


@pytest.mark.parametrize("file", ["clean.csv", "gaps.csv", "latin.csv"])
def test_where_others_ask_nothing_in_the_data_refuses(server: Server, survey: Survey, file: str) -> None:
    text, key = look(server, form(survey, file, **STRICT, epsilon="0.62"))
    assert key, text
    assert is_strict(drawn(server, key))


@pytest.mark.parametrize(
    ("changed", "field"),
    [({"other": ""}, "other"), ({"nulls": ""}, "nulls"), ({"by": "region=north,south"}, "other_groups")],
)
def test_where_others_ask_everything_needs_a_place(server: Server, survey: Survey, changed: dict[str, str], field: str) -> None:
    text, key = look(server, form(survey, **(STRICT | changed)))
    assert key == ""
    said = wrong(text, field)
    assert "where questions of others are answered" in said
    assert not re.search("north|south", said)  # no example turns the unknown into members of a real group


@pytest.mark.parametrize("strict", [True, False])
def test_the_command_and_the_python_follow_the_choice(
    server: Server, survey: Survey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strict: bool
) -> None:
    text, key = look(server, form(survey, epsilon="0.63", **(STRICT if strict else {})))
    found = drawn(server, key)
    assert is_strict(found) is strict
    command, python = (unescape(code) for code in re.findall(r'<code id="release-(?:command|python)">(.*?)</code>', text, re.DOTALL))
    assert [("--strict" in command), ("strict=True" in python)] == [strict, strict]
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, shlex.split(command)[1:], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    names: dict[str, object] = {}
    exec(python, names)  # noqa: S102 - what the page gives to copy
    for other in (dc.Release.from_json((tmp_path / "record.json").read_text()), dc.Release.from_json(str(names["text"]))):
        assert (other.about, other.guarantee, other.mechanism) == (found.about, found.guarantee, found.mechanism)


def test_a_question_of_an_older_page_is_counted_as_it_was(server: Server, survey: Survey) -> None:
    """The page of the first version of these files counted strictly, and its fields did not say so."""
    _, key = look(server, form(survey, "gaps.csv", **STRICT, epsilon="0.64"))
    place = survey.kept / f"{key}.json"
    written = place.read_text()
    assert '"version": 2' in written
    place.write_text(written.replace('"version": 2', '"version": 1').replace('"strict": "yes", ', ""))
    assert is_strict(drawn(server, key))


def test_no_example_of_the_page_names_a_place_that_is_a_real_group(server: Server) -> None:
    """Whoever follows it would count the unknown among north or south."""
    form = server.ask("GET", "/release")[2]
    (shown,) = re.findall(r'id="release-other_groups"[^>]*placeholder="([^"]*)"', form)
    assert shown == "region=elsewhere"


# --- public rules of spelling -----------------------------------------------------------------------------------------


SPELT = "who,smokes,region\n" + "".join(f"{i},{' NO ' if i % 3 else 'sí'},{'North ' if i % 2 else 'south'}\n" for i in range(300))


def test_rules_of_spelling_count_as_in_the_shell_and_are_in_the_record(server: Server, survey: Survey) -> None:
    (survey.folder / "spelt.csv").write_text(SPELT, "utf-8")
    asked = form(survey, "spelt.csv", by="region=north,south", epsilon="40")
    for rule in ({}, {"trim": "yes"}, {"ignore_case": "yes"}):
        text, key = look(server, asked | rule)
        assert key == ""
        said = "“Take capital and small letters as the same”" in wrong(text, "by")
        assert said == ("ignore_case" not in rule)
    text, key = look(server, asked | {"trim": "yes", "ignore_case": "yes"})
    assert " --trim --ignore-case " in text
    assert "spelling=['trim', 'ignore case']" in unescape(text)
    found = drawn(server, key)
    assert found.about is not None
    assert isinstance(found.about.counting, dc.CountingRule)
    assert found.about.counting.spelling == ("trim", "ignore case")
    assert abs(np.array(found.counts) - [[50, 100], [50, 100]]).max() < 5  # at this ε noise is 0 but for a chance of 1e-16


def test_check_shows_what_is_in_the_way_and_keeps_nothing_of_it(server: Server, survey: Survey) -> None:
    (survey.folder / "c.toml").write_text(f'[smokes]\n{SECRET} = "No"\n', "utf-8")
    (survey.folder / "wrong.csv").write_text(ROWS + f"301,{SECRET},north\n", "utf-8")
    asked, before = form(survey, "wrong.csv", dataset="", epsilon=""), survey.spends()
    status, text = server.post("/release/check", **asked)
    assert status == 200
    assert "Private: do not publish" in text
    assert SECRET in text
    assert "“Any other answer counts as”" in text
    assert "--" not in text.partition("<ul>")[2].partition("</ul>")[0]
    assert "would be released" in server.post("/release/check", **asked, corrections=str(survey.folder / "c.toml"))[1].lower()
    assert wrong(server.post("/release/check", **asked | {"column": ""})[1], "column")
    text, key = look(server, form(survey, "wrong.csv", corrections=str(survey.folder / "c.toml"), epsilon="1"))
    found = drawn(server, key)
    assert isinstance(found.about.counting, dc.CountingRule)  # type: ignore[union-attr]
    assert found.about.counting.corrections  # type: ignore[union-attr]
    kept = [path.read_bytes() for path in survey.kept.rglob("*") if path.is_file()]
    for other in (text.encode(), found.to_json().encode(), Path(survey.ledger).read_bytes(), *kept):
        assert SECRET.encode() not in other
    assert survey.spends() == before + 1  # that of the release


# --- whose a row is, and which budgets paid for a source --------------------------------------------------------------


def test_a_budget_for_persons_pays_where_every_row_is_another_persons(server: Server, survey: Survey) -> None:
    text, key = look(server, form(survey, privacy_id="", epsilon="0.65"))
    assert key == ""
    assert "if every row is another person’s, declare that below" in wrong(text, "privacy_id")
    text, key = look(server, form(survey, privacy_id="", one_row_per_person="yes", epsilon="0.65"))
    assert "--one-row-per-person" in text
    assert "one_row_per_person=True" in text
    found = drawn(server, key)
    assert found.guarantee.unit == "person"
    assert found.about is not None
    assert isinstance(found.about.counting, dc.CountingRule)
    assert found.about.counting.one_row_per_person


def test_a_column_of_persons_and_a_row_for_each_do_not_go_together(server: Server, survey: Survey) -> None:
    text, key = look(server, form(survey, one_row_per_person="yes"))
    assert key == ""
    assert "name the column, or declare" in wrong(text, "one_row_per_person")


@pytest.mark.parametrize("is_sent", [False, True])
def test_a_source_that_another_budget_paid_for_is_said_before_the_draw(server: Server, survey: Survey, is_sent: bool) -> None:
    first, second, name = ("first", "second", "again.csv") if is_sent else ("third", "fourth", "once.csv")
    (survey.folder / name).write_text(ROWS, "utf-8")
    for dataset in (first, second):
        dc.Ledger(survey.ledger).create(dataset, epsilon=1, unit="person")

    def asked(dataset: str) -> dict[str, str]:
        changed = {"file": "", "upload": send(server, name, ROWS.encode())} if is_sent else {}
        return form(survey, name, dataset=dataset, epsilon="0.66") | changed

    text, key = look(server, asked(first))
    assert "was charged to" not in text
    drawn(server, key)
    text, key = look(server, asked(second))
    assert f"This source was charged to '{first}' before" in unescape(text)
    drawn(server, key)  # it is said, and not refused
    sources = {dc.Ledger(survey.ledger).history(dataset)[-1].source for dataset in (first, second)}
    assert sources == {f"{name} (sent to the page)" if is_sent else str(survey.folder / name)}
