"""The screen for budgets over HTTP, with real ledgers: its numbers are the ledger's, what it shows to copy runs, no password is seen."""

import html
import json
import re
import shlex
import shutil
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.errors import LedgerError
from tests.web.server import Server, copied, explore

NEW = {"dataset": "survey", "epsilon": "1", "delta": "", "unit": "record", "public": "total", "by": "", "planned": "", "request": ""}
SECRET = "open-sesame"  # noqa: S105 - planted


@pytest.fixture(scope="module")
def variables() -> dict[str, str]:
    return {"DISCREET_LEDGER": "begin.db"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with a dataset of every kind."""
    location = tmp_path_factory.mktemp("made") / "ledger.db"
    ledger = dc.Ledger(location)
    ledger.create("survey", 1)
    ledger.release("survey", dc.LatticeGeometric(dc.Dirichlet([1, 1, 1]), n=60, epsilon="0.1"), [10, 20, 30], note="smoking of survey.csv")
    ledger.release("survey", dc.LatticeGeometric(dc.Dirichlet([1, 1]), epsilon="0.1"), [10, 20], note="alcohol of survey.csv")
    ledger.spend("survey", "1/3", note="with another program")
    ledger.create("clinic", 2, "1e-5", neighbours="add or remove one", unit="person")
    ledger.spend("clinic", "0.5", "1e-6")
    ledger.create("panel", 3, "1e-6", planned_epsilon="0.1")
    for _ in range(8):
        ledger.spend("panel", "0.1")
    ledger.create("census", 4, within=["region", "sex"])
    return location


@pytest.fixture
def where(made: Path, tmp_path: Path) -> str:
    """The same ledger for every test."""
    return str(shutil.copy(made, tmp_path))


def asked(server: Server, place: str, **fields: str) -> str:
    status, text = server.post(f"/budget/{place}", **fields)
    assert status == 200
    return text


def words(text: str) -> str:
    """What a reader sees."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def wrong(text: str, name: str) -> str:
    found = re.search(rf'<p id="budget-{name}-error"[^>]*>(.*?)</p>', text)
    assert found is not None, text
    return html.unescape(found[1])


def run_command(text: str) -> str:
    done = CliRunner().invoke(app, shlex.split(text)[1:])
    assert done.exit_code == 0, done.output
    return done.stdout


# --- what is in a ledger ----------------------------------------------------------------------------------------------


def test_the_screen_begins_with_the_ledger_of_the_environment(server: Server) -> None:
    assert 'value="begin.db"' in server.ask("GET", "/budget")[2]


def test_every_dataset_with_what_is_left(server: Server, where: str) -> None:
    text, ledger = asked(server, "open", ledger=where), dc.Ledger(where)
    assert f"4 datasets in {where}" in words(text)
    for budget in ledger.datasets():
        left = f"{ledger.remaining(budget.dataset)}{' in one release' if budget.filter else ''}"
        assert f"{budget.dataset} left: {left}, of {budget.total}" in words(text)
    shown = run_command(copied(text, "budget-overview-command"))
    assert all(budget.dataset in shown for budget in ledger.datasets())


@pytest.mark.parametrize(("dataset", "public"), [("survey", "total"), ("clinic", "nothing"), ("census", "total")])
def test_a_budget_leads_to_the_release_that_it_pays_for(server: Server, where: str, dataset: str, public: str) -> None:
    found = re.search(r'data-release="([^"]*)"', asked(server, "dataset", ledger=where, dataset=dataset))
    assert found is not None
    assert json.loads(html.unescape(found[1])) == {"ledger": where, "dataset": dataset, "public": public}


def test_a_dataset_and_its_spends(server: Server, where: str) -> None:
    text, ledger = asked(server, "dataset", ledger=where, dataset="survey"), dc.Ledger(where)
    said = words(text)
    assert f"{ledger.remaining('survey')} left of ε = 1" in said
    assert "one record (neighbours: replace one record)" in said
    for line in ledger.history("survey"):
        assert f"{line.day} no. {line.number} {line.note}" in said
        assert f"<b>{line.loss}</b>" in text
    table = said.partition("latest first")[2]
    assert table.index("with another program") < table.index("alcohol of") < table.index("smoking of")
    assert "LatticeGeometric, n = 60" in said
    assert "for its own ε = 0.1 (to add or remove one record), as two steps: replacing one is removing one and adding another" in said
    assert "spent in all: ε = 19/30; left: ε = 11/30" in run_command(copied(text, "budget-history-command"))
    names: dict[str, Any] = {}
    exec(copied(text, "budget-history-python"), names)  # noqa: S102 - what the page shows is to be run
    assert names["line"] == ledger.history("survey")[-1]


@pytest.mark.parametrize(
    ("dataset", "said"),
    [
        ("clinic", "one person (neighbours: add or remove one person) Hides whether someone took part"),
        ("census", "not their region and sex and not that they took part; the sizes of these groups are public"),
        ("panel", "Rényi divergence by the Rényi filter of order 10.26 19.2 % used"),
    ],
)
def test_kinds_of_budget_in_words(server: Server, where: str, dataset: str, said: str) -> None:
    assert said in words(asked(server, "dataset", ledger=where, dataset=dataset))


def test_of_very_many_spends_the_latest_are_listed(server: Server, where: str) -> None:
    with closing(sqlite3.connect(where)) as database, database:
        columns = "dataset, epsilon, delta, unit, note, description, time, neighbours, guarantee_epsilon, guarantee_delta"
        row = "'census', '0.0001', '0', 'record', 'old ' || i, '{}', '2024-01-01', 'replace one', '0.0001', '0'"
        counted = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)"
        database.execute(f"INSERT INTO discreet_spend ({columns}) {counted} SELECT {row} FROM n")  # noqa: S608 - constants
    text = asked(server, "dataset", ledger=where, dataset="census")
    assert "The latest 200 of 10,000 spends" in words(text)
    assert "ε = 3 left of ε = 4" in words(text)
    assert text.count("<tr>") == 201
    assert text.count("<rect") < 250
    assert "old 9801" in text
    assert "old 9800" not in text


def test_of_very_many_datasets_one_is_named(server: Server, tmp_path: Path) -> None:
    location = str(tmp_path / "many.db")
    dc.Ledger(location).create("wave 0000", 1)
    with closing(sqlite3.connect(location)) as database, database:
        counted = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"
        row = "printf('wave %04d', i), '1', '0', 'record', '2024-01-01', 'replace one'"
        database.execute(f"INSERT INTO discreet_budget (dataset, epsilon, delta, unit, created, neighbours) {counted} SELECT {row} FROM n")  # noqa: S608
    text = asked(server, "open", ledger=location)
    assert text.count("<li>") == 100
    assert "2,901 more are not listed" in text
    assert "wave 2999" in asked(server, "dataset", ledger=location, dataset="wave 2999")
    missing = asked(server, "dataset", ledger=location, dataset="survey")
    assert "'survey' is not in the ledger" in html.unescape(missing)
    assert len(missing) < 1000


def test_looking_changes_nothing(server: Server, where: str, tmp_path: Path) -> None:
    before = Path(where).read_bytes(), stat.S_IMODE(Path(where).stat().st_mode), Path(where).stat().st_mtime_ns
    asked(server, "open", ledger=where)
    asked(server, "dataset", ledger=where, dataset="panel")
    assert (Path(where).read_bytes(), stat.S_IMODE(Path(where).stat().st_mode), Path(where).stat().st_mtime_ns) == before
    assert f"There is no ledger at {tmp_path}/new.db yet" in words(asked(server, "open", ledger=f"{tmp_path}/new.db"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger.db"]


@pytest.mark.parametrize("location", ["", ".", "missing/ledger.db", "x" * 5000, "~nobody-of-this-name/x", "mysql://host/db", ":memory:"])
def test_what_is_no_ledger_is_said_in_one_line(server: Server, location: str) -> None:
    said = wrong(asked(server, "open", ledger=location), "ledger")
    assert 10 < len(said) < 400
    assert "\n" not in said


def test_a_file_that_is_no_ledger(server: Server, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("271828,secret\n" * 100)
    text = asked(server, "open", ledger=str(tmp_path / "data.csv"))
    assert "the file is something else" in wrong(text, "ledger")
    assert "271828" not in text


# --- creating ---------------------------------------------------------------------------------------------------------

KINDS: dict[str, dict[str, str]] = {
    "plain": {},
    "fraction": {"dataset": "a/b 'c'", "epsilon": "1/3", "unit": "person"},
    "nothing": {"dataset": "-x", "public": "nothing", "delta": "1e-6"},
    "sizes": {"public": "sizes", "by": 'sex, "a,b"'},
    "ignored columns": {"by": "sex"},
    "filter": {"epsilon": "3", "delta": "1e-6", "planned": "0.1"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_dataset_is_created_as_the_command_and_python_would(server: Server, tmp_path: Path, kind: str) -> None:
    fields, location = NEW | KINDS[kind], str(tmp_path / "ledger.db")
    text = asked(server, "create", ledger=location, **fields)
    assert "was created" in words(text)
    (made,) = dc.Ledger(location).datasets()
    command, python = copied(text, "budget-created-command"), copied(text, "budget-created-python")
    run_command(command.replace(location, f"{tmp_path}/command.db"))
    exec(python.replace(location, f"{tmp_path}/python.db"), {})  # noqa: S102 - what the page shows is to be run
    for again in ("command.db", "python.db"):
        (same,) = dc.Ledger(tmp_path / again).datasets()
        assert replace(same, created=made.created) == made  # midnight may have passed
    assert str(made.total.epsilon) == fields["epsilon"]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("dataset", "", "needs a name"),
        ("dataset", "surv\u0435y", "mixes letters of Cyrillic and Latin"),
        ("dataset", "x" * 500, "at most 200 characters"),
        ("epsilon", "", "how much ε"),
        ("epsilon", "much", "must be a number such as"),
        ("epsilon", "-1", "epsilon must be"),
        ("epsilon", "1e999999999", "ε must be a number"),
        ("delta", "1", "delta must be"),
        ("dataset", "\u3164", "can be seen"),
        ("unit", "village", "choose one of record, person"),
        ("public", "all", "choose one of total, sizes, nothing"),
        ("planned", "0.1", "needs a budget with delta above 0"),
        ("planned", "x", "must be a number such as"),
    ],
)
def test_what_is_wrong_is_said_beside_its_field(server: Server, tmp_path: Path, field: str, value: str, said: str) -> None:
    text = asked(server, "create", ledger=str(tmp_path / "ledger.db"), **(NEW | {field: value}))
    assert said in wrong(text, field)
    assert not (tmp_path / "ledger.db").exists()


def test_columns_are_needed_where_sizes_are_public(server: Server, tmp_path: Path) -> None:
    for columns in ("", "region=north|south", "a,,b", '"a'):
        text = asked(server, "create", ledger=str(tmp_path / "ledger.db"), **(NEW | {"public": "sizes", "by": columns}))
        assert "columns" in wrong(text, "by")


def test_creating_twice_is_refused_with_the_librarys_words(server: Server, where: str) -> None:
    before = dc.Ledger(where).datasets()
    for name in ("survey", "Survey"):
        with pytest.raises(LedgerError) as caught:
            dc.Ledger(where).create(name, 5)
        assert wrong(asked(server, "create", ledger=where, **(NEW | {"dataset": name, "epsilon": "5"})), "create") == str(caught.value)
    assert dc.Ledger(where).datasets() == before


def test_a_form_that_is_sent_again_creates_once(server: Server, tmp_path: Path) -> None:
    """A second click, or an answer that was lost: all are told that it was created. Another form is told that it was there."""
    location = str(tmp_path / "ledger.db")
    form = NEW | {"request": "one form", "ledger": location}
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda _: asked(server, "create", **form), range(8)))
    assert all("survey was created" in words(text) for text in texts)
    assert len(dc.Ledger(location).datasets()) == 1
    assert "already in the ledger" in wrong(asked(server, "create", **(form | {"request": "another"})), "create")
    assert "already in the ledger" in wrong(asked(server, "create", **(form | {"epsilon": "7"})), "create")


# --- secrets and strangers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "location",
    [
        f"postgresql://curator:{SECRET}@127.0.0.1:1/db",
        f"postgresql://127.0.0.1:1/db?user=c&password={SECRET}",
        f"postgresql://curator:x@{SECRET}@127.0.0.1:1/db",
        f"postgresql:///db?host=curator:{SECRET}@127.0.0.1",
        f"postgresql://curator:{SECRET}",
        f"curator:{SECRET}@host/db",
        f"postgresql:/curator:{SECRET}@host/db",
        f"postgresql//curator:{SECRET}@host/db",
        f"//curator:{SECRET}@host/db",
        f"/curator:{SECRET}@host/db",
        f"curator:x/{SECRET}@host/db",
        f"curator:x\n{SECRET}@host/db",
        f"host=/nowhere password={SECRET}",
    ],
)
def test_a_password_is_in_no_answer_and_an_error_is_one_line(server: Server, location: str) -> None:
    texts = [
        asked(server, "open", ledger=location),
        asked(server, "dataset", ledger=location, dataset="survey"),
        asked(server, "create", ledger=location, **NEW),
        server.ask("GET", "/budget")[2],
    ]
    assert all("sesame" not in text for text in texts)
    errors = re.findall(r'<p [^>]*class="(?:error|warn)"[^>]*>(.*?)</p>', "".join(texts), re.DOTALL)
    assert any(errors)
    assert all("\n" not in error for error in errors)


@pytest.mark.parametrize("location", [f"password={SECRET} dbname=x", f"curator:{SECRET}@host", f"/curator:{SECRET}@host"])
def test_a_url_without_its_beginning_is_no_path(server: Server, location: str, tmp_path: Path) -> None:
    """A file would be made whose name holds the password; and two of them, both shown as ***, could be taken for each other."""
    place = f"{tmp_path}/{location.removeprefix('/')}"
    for text in (asked(server, "open", ledger=place), asked(server, "create", ledger=place, **NEW)):
        assert "neither the URL of a database" in words(text)
        assert SECRET not in text
    assert not list(tmp_path.rglob("*"))


def test_the_ledger_that_the_page_begins_with_is_shown_without_its_password() -> None:
    """That of the option comes before that of the environment."""
    with explore("--ledger", f"postgresql://curator:{SECRET}@127.0.0.1:1/db", DISCREET_LEDGER="elsewhere.db") as server:
        text = server.ask("GET", "/budget")[2]
        assert 'value="postgresql://curator:***@127.0.0.1:1/db"' in text
        assert 'hx-trigger="load, ' in text
        assert SECRET not in text
        assert SECRET not in asked(server, "open", ledger="postgresql://curator:***@127.0.0.1:1/db")


@pytest.mark.parametrize(
    "changed",
    [
        {"X-Discreet-Token": "x" * 43},
        {"X-Discreet-Token": None},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": None},
        {"Host": "evil.example"},
    ],
)
def test_strangers_neither_create_nor_read(server: Server, where: str, tmp_path: Path, changed: dict[str, str | None]) -> None:
    headers = {name: value for name, value in (server.headers() | changed).items() if value is not None}
    for place, fields in (("create", NEW | {"ledger": f"{tmp_path}/new.db"}), ("open", {"ledger": where}), ("dataset", {"ledger": where})):
        status, _, text = server.ask("POST", f"/budget/{place}", headers, urlencode(fields).encode())
        assert status == 403
        assert "survey" not in text
    assert not (tmp_path / "new.db").exists()
    for place in ("create", "open", "dataset"):
        assert server.ask("GET", f"/budget/{place}")[0] == 405


def test_hostile_names_and_notes_are_texts(server: Server, tmp_path: Path) -> None:
    location = str(tmp_path / "ledger.db")
    name, note = "<img src=x onerror=alert(1)>", "</td><script>alert(1)</script>\" ' & \u202e evil"
    ledger = dc.Ledger(location)
    ledger.create(name, 1)
    ledger.spend(name, "0.1", description={"mechanism": note})
    with closing(sqlite3.connect(location)) as database, database:
        database.execute("UPDATE discreet_spend SET note = ?, description = ?", (note, '{"mechanism": ["<b>"]}'))
    for text in (asked(server, "open", ledger=location), asked(server, "dataset", ledger=location, dataset=name)):
        assert "<img" not in text
        assert "<script" not in text
        assert "\u202e" not in text
        assert "onerror=alert" in html.unescape(text)
