"""The screen for releases, by its requests: one charge and one draw for a key, and nothing private in any answer. The server is real."""

import json
import re
import shlex
import stat
import warnings
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from tests.web.release.releases import COUNTS, SECRET, Survey, drawn, look
from tests.web.server import Server, explore


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    return Survey(tmp_path_factory.mktemp("survey"))


def words(text: str) -> str:
    """What an answer says, without its elements."""
    return unescape(re.sub(r"<[^>]*>", " ", text))


def wrong(text: str, field: str) -> str:
    """What is said beside a field."""
    found = re.search(rf'<p id="release-{field}-error"[^>]*>(.*?)</p>', text)
    assert found is not None
    return unescape(found[1])


def test_looking_says_what_will_be_public_and_charges_nothing(server: Server, survey: Survey) -> None:
    before = survey.spends()
    text, key = look(server, survey.fields(epsilon="0.3", title="Risk in 2024"))
    assert key
    said = words(text)
    for part in ("Risk in 2024", "n = 12,259 persons", "ε = 0.3 differential privacy by proof", "undeclared answers as 'other'"):
        assert part in said
    assert "would be charged  ε = 0.3" in said
    assert survey.spends() == before


def test_a_key_is_charged_and_drawn_once(server: Server, survey: Survey) -> None:
    before = survey.spends()
    _, key = look(server, survey.fields(epsilon="0.31"))
    with ThreadPoolExecutor(8) as pool:  # each looks at the record as soon as it can
        records = set(pool.map(lambda _: drawn(server, key).to_json(), range(8)))
    assert survey.spends() == before + 1
    assert len(records) == 1
    found = dc.Release.from_json(records.pop())
    assert (found.n, found.guarantee.epsilon, found.guarantee.unit) == (12_259, 0.31, "person")
    assert dc.Ledger(survey.ledger).history("survey")[-1].request == key


def test_a_question_that_was_drawn_is_shown_and_a_second_draw_is_another_release(server: Server, survey: Survey) -> None:
    fields = survey.fields(epsilon="0.32")
    first = look(server, fields)[1]
    assert look(server, fields)[1] == first  # another tab
    record = drawn(server, first)
    before = survey.spends()
    text, shown = look(server, fields)
    assert "Done." in text
    assert shown == first
    assert drawn(server, shown).to_json() == record.to_json()
    assert survey.spends() == before
    text, second = look(server, fields | {"again": "yes"})
    assert "Nothing has been drawn or charged" in text
    assert second != first
    drawn(server, second)
    assert survey.spends() == before + 1


def test_a_table(server: Server, survey: Survey) -> None:
    groups = {"by": "region=north,south,elsewhere", "other_groups": "region=elsewhere"}
    _, key = look(server, survey.fields(**groups, epsilon="0.33", public="nothing", dataset="hidden"))
    found = drawn(server, key)
    assert found.n is None
    assert found.by.columns
    assert len(found.by) == 3
    assert dc.Ledger(survey.ledger).history("hidden")[-1].note == "risk by region of survey.csv"
    assert re.search(r"risk\W+by\W+region\W+of\W+survey\.csv", words(server.post("/release/list")[1]))
    for part, begins in (("report", "<!doctype html>"), ("answer", "<section>"), ("svg", "<?xml")):
        status, text = server.post(f"/release/{part}", key=key)
        assert (status, text.startswith(begins)) == (200, True)
    assert dc.Release.from_json(server.post("/release/record", key=key)[1]).to_json() == found.to_json()


def test_what_a_budget_never_allows_is_said_beside_the_field_to_change(server: Server, survey: Survey) -> None:
    text, key = look(server, survey.fields(dataset="hidden", public="total"))
    assert (key, wrong(text, "dataset")) == ("", "")
    assert "hides whether someone took part" in wrong(text, "public")
    assert "choose “Nothing”" in wrong(text, "public")
    text, key = look(server, survey.fields(dataset="hidden", public="nothing", privacy_id=""))
    assert (key, wrong(text, "dataset")) == ("", "")
    assert "protects persons" in wrong(text, "privacy_id")


def test_groups_that_cannot_be_read_are_refused_in_words_of_the_page(server: Server, survey: Survey) -> None:
    text, key = look(server, survey.fields(by="region: north, south"))
    assert not key
    assert wrong(text, "by") == "write a column, = and its groups, as in region=north,south; got 'region: north, south'"


def test_more_than_is_left_is_refused(server: Server, survey: Survey) -> None:
    before = survey.spends()
    text, key = look(server, survey.fields(epsilon="11"))
    assert not key
    assert "the release needs ε = 11" in wrong(text, "dataset")
    assert survey.spends() == before


def test_two_keys_for_what_is_left_of_one(server: Server, survey: Survey, tmp_path: Path) -> None:
    """Both were looked at while there was enough."""
    other = Survey(tmp_path, epsilon=1)
    keys = [look(server, other.fields(epsilon=epsilon, file=str(survey.file)))[1] for epsilon in ("0.6", "0.7")]
    drawn(server, keys[0])
    status, text = server.post("/release/draw", key=keys[1])
    assert status == 200
    assert "It was not drawn: the release needs ε = 0.7" in words(text)
    assert other.spends() == 1
    assert server.post("/release/record", key=keys[1])[0] == 422
    assert not list(survey.kept.glob("*.charging"))  # neither is unfinished


@pytest.mark.parametrize(("column", "name"), [("ris\xa0k", "a.csv"), ("ris\u200ck", "a.csv"), ("risk", "b\xa0.csv"), ("r" * 1100, "a.csv")])
def test_no_name_stops_a_release_once_it_was_looked_at(server: Server, survey: Survey, tmp_path: Path, column: str, name: str) -> None:
    """A ledger notes printable text of some length."""
    (tmp_path / name).write_text(f"{column}\nlow\nhigh\n", "utf-8")
    ledger = Survey(tmp_path).ledger
    dc.Ledger(ledger).create("rows", epsilon=1)
    fields = survey.fields(file=str(tmp_path / name), column=column, privacy_id="", variable="risk", ledger=ledger, dataset="rows")
    _, key = look(server, fields)
    assert drawn(server, key).n == 2


@pytest.mark.parametrize(("charged", "is_enough"), [("0.33333333333333337", True), ("0.333", False)])
def test_a_charge_of_an_earlier_version_is_drawn_for(server: Server, survey: Survey, charged: str, is_enough: bool) -> None:
    """Version 0.2.0 charged the guarantee, in which a third is rounded up; a charge of less than a third is not for this release."""
    before = survey.spends()
    _, key = look(server, survey.fields(epsilon="1/3", title=f"Charged {charged}"))
    described = json.loads((survey.kept / f"{key}.json").read_text())["described"]
    dc.Ledger(survey.ledger).spend("survey", charged, description=described, request=key)
    assert ("Done." in server.post("/release/draw", key=key)[1]) == is_enough
    assert survey.spends() == before + 1


def test_a_file_that_changed_is_looked_at_again(server: Server, survey: Survey, tmp_path: Path) -> None:
    file = tmp_path / "risk.csv"
    file.write_text("risk\nlow\nhigh\n")
    ledger = dc.Ledger(survey.ledger)
    ledger.create("rows", epsilon=1)
    _, key = look(server, survey.fields(file=str(file), privacy_id="", dataset="rows"))
    file.write_text("risk\nlow\nhigh\nhigh\n")
    assert "another number of records" in words(server.post("/release/draw", key=key)[1])
    assert not ledger.history("rows")


FORMS = {
    "nothing": ({}, "categories", "at least two"),
    "standard input": ({"file": "-"}, "file", "standard input"),
    "folders": ({"file": "/**/*.csv"}, "file", "all folders of a disk"),
    "both": ({"upload": "x"}, "file", "one of the two"),
    "no file": ({"file": "/nowhere/x.csv"}, "file", "there is no file"),
    "no home": ({"other": "elsewhere"}, "other", "not one of the categories"),
    "sizes": ({"by": "region=north,south", "other_groups": "region=south", "public": "sizes"}, "public", "command line alone"),
    "groups of a file": ({"by": "region=@/etc/passwd"}, "by", "no file is read"),
    "no home of groups": ({"by": "region=north,south", "strict": "yes"}, "other_groups", "which of the groups of 'region'"),
    "a home that is no group": ({"by": "region=north,south", "other_groups": "region=x"}, "other_groups", "not one of the groups"),
    "a home in no column": ({"by": "region=north,south", "other_groups": "place=x"}, "other_groups", "no groups of 'place'"),
    "homes alone": ({"other_groups": "region=south"}, "other_groups", "none are declared"),
    "ε": ({"epsilon": "1,500"}, "epsilon", "such as 0.5"),
    "prior": ({"prior": "1,2"}, "prior", "one for each category"),
    "mechanism": ({"mechanism": "Laplace"}, "mechanism", "choose one of"),
    "too large": (
        {"by": f"a={','.join(map(str, range(4000)))}", "other_groups": "a=0"},
        "impossible",
        "a table of 12,000 cells is too large for JSON (at most 10,000): discreet release",
    ),
    "ledger": ({"ledger": "/nowhere/ledger.db"}, "ledger", "does not exist"),
    "ledger's URL": ({"ledger": "postgresql://user:pass@word@127.0.0.1/none"}, "ledger", "write it as %40"),
    "ledger's kind": ({"ledger": "mysql://user@127.0.0.1/none"}, "ledger", "'mysql' is not supported"),
    "dataset": ({"dataset": "other"}, "dataset", "is not in the ledger"),
    "unit": ({"privacy_id": ""}, "privacy_id", "protects persons"),
    "title": ({"title": "a\u202eb"}, "title", "direction of writing"),
    "date": ({"date": "yesterday"}, "date", "2024"),
    "column": ({"column": "nope"}, "column", "there is no column 'nope'"),
    "json": ({"strict": "yes"}, "file", ".json"),
}


def test_what_was_typed_is_shown_again_without_a_password(server: Server) -> None:
    """So is a file that was sent, by its name; and what is not there any more is left out."""
    sent = server.ask("POST", "/release/upload", server.headers() | {"X-Discreet-Name": "mine.csv"}, b"risk\nlow\n")[2]
    upload = re.search(r'name="upload" value="([0-9a-f]+)"', sent)
    assert upload is not None
    tab = server.headers() | {"X-Discreet-Tab": "typed"}
    fields = {"ledger": "postgresql://me:hunter2hunter2@host/d", "title": "A <b>", "trim": "yes", "upload": upload[1]}
    server.ask("POST", "/typed/release", tab, urlencode(fields).encode())
    shown = server.ask("GET", "/release", tab)[2]
    assert "hunter2hunter2" not in shown
    assert all(part in shown for part in ("postgresql://me:", "A &lt;b&gt;", "mine.csv", upload[1]))
    assert re.search(r'<input id="release-trim"[^>]* checked', shown)
    server.ask("POST", "/typed/release", tab, urlencode(fields | {"upload": "0" * 32, "trim": ""}).encode())
    shown = server.ask("GET", "/release", tab)[2]
    assert "mine.csv" not in shown
    assert " checked" not in shown


@pytest.mark.parametrize("case", FORMS)
def test_a_form_that_is_wrong_is_refused_beside_its_field(server: Server, survey: Survey, case: str) -> None:
    changed, field, said = FORMS[case]
    if case == "json":
        (survey.folder / "x.json").write_text('[{"risk": "low", "who": 1}]')
        changed = changed | {"file": str(survey.folder / "x.json")}
    before = survey.spends()
    text, key = look(server, {} if case == "nothing" else survey.fields() | changed)
    assert not key
    assert said in wrong(text, field)
    assert survey.spends() == before


WRONG_FILES = {
    "no header.csv": f"{SECRET},low\n".encode(),
    "empty.csv": b"",
    "not text.csv": b"who,risk\n" + bytes(range(256)) * 20,
    "torn.csv": f'who,risk\n"{SECRET}'.encode(),
    "lines.jsonl": f'{{"who": "{SECRET}", "risk": "{SECRET}"}}\n{{"who": '.encode(),
    "not.parquet": SECRET.encode(),
    "broken.csv.gz": b"\x1f\x8b" + SECRET.encode(),
    "book.xlsx": SECRET.encode(),
}


@pytest.mark.parametrize("strict", ["", "yes"])
@pytest.mark.parametrize("name", WRONG_FILES)
def test_a_wrong_file_tells_nothing(server: Server, survey: Survey, name: str, strict: str) -> None:
    """It is counted or refused, by its path or sent to the page, and what stands in it is in no answer."""
    (survey.folder / name).write_bytes(WRONG_FILES[name])
    before = survey.spends()
    text, key = look(server, survey.fields(file=str(survey.folder / name), epsilon="0.34", strict=strict))
    assert SECRET not in text
    sent = server.ask("POST", "/release/upload", server.headers() | {"X-Discreet-Name": name.replace(" ", "%20")}, WRONG_FILES[name])[2]
    assert SECRET not in sent
    if key:
        assert SECRET not in server.post("/release/draw", key=key)[1]
    assert survey.spends() == before + bool(key)


def test_planted_secrets_and_counts_are_in_no_answer(server: Server, survey: Survey) -> None:
    """Before a release not even the number of persons, where that is private."""
    text, key = look(server, survey.fields(epsilon="0.35", public="nothing", dataset="hidden"))
    said = [text, server.post("/release/list")[1]]
    shown = re.sub("[0-9a-f]{32}", "", "".join(said).replace(str(survey.folder), ""))  # keys and the test's own folder are random
    for number in [*COUNTS.values(), sum(COUNTS.values())]:
        assert f"{number:,}" not in shown
        assert str(number) not in shown
    said.append(server.post("/release/draw", key=key)[1])
    said += [server.post(f"/release/{part}", key=key)[1] for part in ("record", "report", "svg", "answer", "open")]
    said += [server.ask("GET", path)[2] for path in ("/", "/release", "/plan", "/read")]
    assert SECRET not in "".join(said)
    assert SECRET not in "".join(path.read_text() for path in survey.kept.glob("*.json"))


def test_only_the_owner_can_read_what_is_kept(server: Server, survey: Survey) -> None:
    _, key = look(server, survey.fields(epsilon="0.36"))
    drawn(server, key)
    assert stat.S_IMODE(survey.kept.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in survey.kept.iterdir()} == {0o600}


NO_LINKS = """
import os
def refuses(*_):
    raise OSError(1, "Operation not permitted")
os.link = refuses
"""
"""Python that makes every file system one without links."""


def test_only_the_owner_can_read_what_is_kept_without_links(survey: Survey, tmp_path: Path) -> None:
    small = tmp_path / "small.csv"
    small.write_text("who,risk\n1,low\n")
    with explore(before=NO_LINKS, XDG_DATA_HOME=str(tmp_path)) as server:
        _, key = look(server, survey.fields(file=str(small), epsilon="0.361"))
    assert stat.S_IMODE((tmp_path / "discreet" / "releases" / f"{key}.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("key", ["", "x", "0" * 32, "../../../etc/passwd", "asking"])
def test_other_keys_are_unknown(server: Server, survey: Survey, key: str) -> None:
    before = survey.spends()
    assert "not asked for on this machine" in words(server.post("/release/draw", key=key)[1])
    assert server.post("/release/record", key=key)[0] == 422
    assert "not asked for on this machine" in words(server.post("/release/remove", key=key)[1])
    assert survey.spends() == before


def test_removing(server: Server, survey: Survey) -> None:
    keys = [look(server, survey.fields(epsilon=epsilon))[1] for epsilon in ("0.37", "0.38")]
    drawn(server, keys[0])
    for key in keys:
        assert (survey.kept / f"{key}.json").exists()
        assert key not in server.post("/release/remove", key=key, state="drawn" if key == keys[0] else "asked")[1]
        assert not list(survey.kept.glob(f"{key}*"))


def test_what_was_only_looked_at_is_forgotten_by_one_button(server: Server, survey: Survey) -> None:
    """What was charged, and what was drawn, stays."""
    _, kept = look(server, survey.fields(epsilon="0.391"))
    record = drawn(server, kept)
    keys = [look(server, survey.fields(epsilon=f"0.39{number}"))[1] for number in (2, 3)]
    text = server.post("/release/list")[1]
    assert kept in text
    assert not any(key in text for key in keys)
    assert "Forget what was only looked at" in text
    after = server.post("/release/forget")[1]
    assert kept in after
    assert "only looked at" not in after
    assert not any(list(survey.kept.glob(f"{key}*")) for key in keys)
    assert "not asked for on this machine" in unescape(server.post("/release/draw", key=keys[0])[1])
    assert drawn(server, kept).to_json() == record.to_json()


def test_the_columns_of_a_file_are_listed_for_the_curator(server: Server, survey: Survey) -> None:
    """Their names and kinds, and no value. They are not kept."""
    listed = server.post("/release/columns", file=str(survey.file))[1]
    assert re.findall(r'data-column="(.*?)"', listed) == ["who", "risk", "region"]
    assert "do not publish" in listed
    assert SECRET not in listed
    (survey.folder / "numbers.csv").write_text("<b>;hours\n" + f"{SECRET};1,5\n" * 3)
    listed = server.post("/release/columns", file=str(survey.folder / "numbers.csv"))[1]
    assert re.findall(r'data-column="(.*?)"', listed) == ["&lt;b&gt;", "hours"]
    assert re.findall(r"</button> ([a-z ]+)</li>", listed) == ["text", "numbers"]
    assert SECRET not in listed
    for wrong in ({}, {"file": "/nowhere.csv"}, {"upload": "0" * 32}, {"file": "-"}, {"file": str(survey.folder)}):
        assert re.fullmatch(r'<p class="error">[^<]+</p>', server.post("/release/columns", **wrong)[1])


def test_what_was_drawn_since_it_was_listed_is_not_removed(server: Server, survey: Survey) -> None:
    """One tab lists what was only looked at, another draws it: pressing Remove in the first must not lose what was paid for."""
    _, key = look(server, survey.fields(epsilon="0.371"))
    assert key not in server.post("/release/list")[1]  # looking alone leaves no line
    record = drawn(server, key)
    assert "drawn in the meantime" in server.post("/release/remove", key=key, state="asked")[1]
    assert drawn(server, key).to_json() == record.to_json()


def test_a_file_that_goes_away_hides_no_other(server: Server, survey: Survey) -> None:
    """Another tab may remove one while the folder is listed: what was asked must be found all the same, and not get a second key."""
    fields = survey.fields(epsilon="0.372")
    _, key = look(server, fields)
    gone = survey.kept / f"{'0' * 32}.json"
    gone.symlink_to(survey.folder / "nowhere")
    assert look(server, fields)[1] == key
    record = drawn(server, key)
    assert key in server.post("/release/list")[1]
    gone.unlink()
    assert drawn(server, key).to_json() == record.to_json()


def test_a_kept_file_that_was_changed_is_said_to_be(server: Server, survey: Survey) -> None:
    """It hides no other, and nothing is charged for it."""
    _, other = look(server, survey.fields(epsilon="0.373"))
    drawn(server, other)
    before = survey.spends()
    _, key = look(server, survey.fields(epsilon="0.374"))
    place = survey.kept / f"{key}.json"
    asked = json.loads(place.read_text())
    changes: list[dict[str, object]] = [
        {"fields": []},
        {"fields": {"column": 5}},
        {"ledger": 5},
        {"record": 5},
        {"record": "x"},
        {"day": 5},
    ]
    for changed in changes:
        place.write_text(json.dumps(asked | changed))
        assert other in server.post("/release/list")[1]
        status, text = server.post("/release/draw", key=key)
        assert (status, "It was not drawn" in text) == (200, True)
    assert survey.spends() == before
    place.unlink()


def test_a_release_is_of_the_day_on_which_it_was_drawn(server: Server, survey: Survey) -> None:
    _, key = look(server, survey.fields(epsilon="0.375"))
    place = survey.kept / f"{key}.json"
    asked = json.loads(place.read_text())
    place.write_text(json.dumps(asked | {"day": "2001-02-03"}))
    assert "2001-02-03" not in server.post("/release/draw", key=key)[1]


def test_a_password_is_not_kept(server: Server, survey: Survey) -> None:
    url = f"postgresql://user:{SECRET}@127.0.0.1:9/none"
    text, key = look(server, survey.fields(ledger=url))
    assert not key
    assert wrong(text, "dataset")
    assert SECRET not in text
    assert SECRET not in server.post("/release/list")[1]


def test_the_command_and_the_python_do_the_same(server: Server, survey: Survey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = survey.fields(
        epsilon="1/3",
        by="region=north,south,else where",
        other_groups="region=else where",
        impossible="south,high",
        na_values="NA,.",
        mapped="Low=low",
        public="nothing",
        dataset="hidden",
        prior="1,2,1/2",
        title="It's a title",
    )
    text, key = look(server, fields)
    found = drawn(server, key)
    command, python = (unescape(code) for code in re.findall(r'<code id="release-(?:command|python)">(.*?)</code>', text, re.DOTALL))
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, shlex.split(command)[1:], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dc.SecondBudgetWarning)  # another test may have charged the same file to another dataset
        exec(python, names)  # noqa: S102 - what the page gives to copy
    for other in (dc.Release.from_json((tmp_path / "record.json").read_text()), dc.Release.from_json(str(names["text"]))):
        assert (other.about, other.guarantee, other.mechanism) == (found.about, found.guarantee, found.mechanism)
    assert 'id="release-study"' not in text  # which has no key for other spellings
    fields |= {"mapped": "", "epsilon": "1/7"}
    text, key = look(server, fields)
    found = drawn(server, key)
    (study,) = (unescape(code) for code in re.findall(r'<code id="release-study">(.*?)</code>', text, re.DOTALL))
    (tmp_path / "study.toml").write_text(study, "utf-8")
    other = dc.Study.load("study.toml").release(None, "published")["risk"]
    assert (other.about, other.guarantee, other.mechanism) == (found.about, found.guarantee, found.mechanism)


@pytest.mark.parametrize(
    "changed",
    [
        {"categories": "@low,high,other", "other": "other"},  # a command would read a file of that name
        {"na_values": '"a\nb",NA'},
    ],
)
def test_what_cannot_be_typed_has_no_command(server: Server, survey: Survey, changed: dict[str, str]) -> None:
    text, key = look(server, survey.fields(epsilon="0.41", **changed))
    assert key
    assert 'id="release-python"' in text
    assert 'id="release-command"' not in text
    assert "cannot be typed into a command line" in text
