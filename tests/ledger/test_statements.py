"""What is left of a budget from sums that the database makes. Oracle: the same sums over the whole history, in exact fractions."""

import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.data.count import count
from discreet.errors import BudgetError, InvalidInputError, LedgerError, SourceError
from discreet.ledger.budgets import Promise
from discreet.ledger.charges import charge_for
from discreet.ledger.database import shown_location
from discreet.ledger.filters import largest_epsilon
from discreet.ledger.ledger import Ledger, Loss, composed
from discreet.ledger.statements import check_affordable

AMOUNTS = ("0.1", "1/3", "0.1", "0.05", "1/3", "0.1")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(tmp_path / "ledger.db")
    made.create("survey", 2, "1e-6")
    made.create("panel", 3, "1e-6", planned_epsilon="0.1")
    made.create("empty", 1)
    for amount in AMOUNTS:
        made.spend("survey", amount, "1e-8")
        made.spend("panel", amount)
    return made


@pytest.mark.parametrize("dataset", ["survey", "panel", "empty"])
@pytest.mark.parametrize("latest", [None, 0, 1, 4, 100])
def test_a_statement_adds_up_what_the_history_says(ledger: Ledger, dataset: str, latest: int | None) -> None:
    lines, found = ledger.history(dataset), ledger.statement(dataset, latest=latest)
    assert found.budget == ledger.budget(dataset)
    assert found.spends == len(lines)
    assert found.spent == composed(line.loss for line in lines) == ledger.spent(dataset)
    assert found.latest == (lines if latest is None else lines[max(0, len(lines) - latest) :])
    total, spent = found.budget.total, found.spent
    assert found.left == Loss(total.epsilon - spent.epsilon, total.delta - spent.delta)
    if found.budget.filter is None:
        assert (found.divergence, found.filter_left, found.remaining) == (None, None, found.left)
    else:
        assert found.divergence == sum((line.divergence or 0 for line in lines), Fraction(0))
        assert found.filter_left == found.budget.filter.limit - found.divergence
        by_filter = largest_epsilon(found.filter_left, found.budget.filter.order)
        assert found.remaining == Loss(max(found.left.epsilon, by_filter))
    assert found.remaining == ledger.remaining(dataset)


def test_all_statements(ledger: Ledger) -> None:
    found = ledger.statements()
    assert [one.budget for one in found] == list(ledger.datasets())
    assert list(found) == [ledger.statement(one.budget.dataset, latest=0) for one in found]


@pytest.mark.parametrize("dataset", ["survey", "panel"])
def test_a_statement_foretells_what_a_spend_leaves(ledger: Ledger, dataset: str) -> None:
    before = ledger.statement(dataset, latest=0)
    charge = charge_for(before.budget, Promise(Loss(Fraction(1, 5))), None)
    check_affordable(before, charge)
    ledger.spend(dataset, "1/5")
    assert before.after(charge) == ledger.statement(dataset, latest=0)
    too_much = charge_for(before.budget, Promise(Loss(Fraction(5))), None)
    with pytest.raises(BudgetError, match="nothing was spent"):
        check_affordable(before, too_much)


def test_a_ledger_is_there_with_its_first_dataset(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "new.db")
    assert not ledger.exists()
    assert not (tmp_path / "new.db").exists()
    ledger.create("survey", 1)
    assert ledger.exists()
    (tmp_path / "empty.db").touch()
    assert not Ledger(tmp_path / "empty.db").exists()


def test_an_amount_that_someone_has_edited_is_an_error_of_the_ledger(ledger: Ledger, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as database, database:
        database.execute("UPDATE discreet_spend SET epsilon = '1/0'")
    for read in (ledger.history, ledger.statement, ledger.remaining):
        with pytest.raises(LedgerError, match="do not release"):
            read("survey")
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as database, database:
        database.execute("UPDATE discreet_budget SET epsilon = '0'")
    with pytest.raises(LedgerError, match="do not release"):
        ledger.statements()


def test_a_message_names_some_datasets(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    for number in range(10, 35):
        ledger.create(f"wave {number}", 1)
    with pytest.raises(LedgerError, match=r"'wave 29' and 5 more$"):
        ledger.history("survey")


# --- passwords --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("ledger.db", "ledger.db"),
        ("a:b@c.db", "***"),
        ("sqlite:///a:b@c.db", "sqlite:///a:b@c.db"),
        ("postgresql:/curator:open-sesame@host/db", "***"),
        ("host=h password=open-sesame", "***"),
        ("postgresql://curator@host/db?host=/run", "postgresql://curator@host/db?host=/run"),
        ("postgresql://curator:open-sesame@host/db", "postgresql://curator:***@host/db"),
        ("postgresql://curator:open%2Fsesame@host/db", "postgresql://curator:***@host/db"),
        ("postgresql://curator@host/db?password=open-sesame", "postgresql://curator@host/db?password=***"),
        ("postgresql://host/db?user=c&sslpassword=open-sesame", "postgresql://host/db?sslpassword=***&user=c"),
        ("postgresql://curator:open@sesame@host/db", "***"),
        ("postgresql://curator:open-sesame", "***"),
    ],
)
def test_what_is_shown_of_a_location_has_no_password(location: str, shown: str) -> None:
    assert shown_location(location) == shown
    assert shown_location(shown) == shown


@pytest.mark.parametrize(
    "location", ["postgresql://curator:open-sesame@127.0.0.1:1/db", "postgresql://127.0.0.1:1/db?user=c&password=open-sesame"]
)
def test_no_message_has_a_password(location: str) -> None:
    ledger = Ledger(location, timeout=2)
    with pytest.raises(LedgerError) as caught:
        ledger.datasets()
    assert "sesame" not in f"{caught.value} {ledger!r}"


@pytest.mark.parametrize(
    "location",
    [
        "postgresql:/curator:open-sesame@host/db",
        "curator:open-sesame@host/db",
        "host=h password=open-sesame",
        "host=h PASSWORD = 'open-sesame'",
        "host=h;pwd=open-sesame",
    ],
)
def test_what_was_meant_for_a_url_is_no_path_and_is_not_shown(location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "survey.csv").write_text("a\nx\ny\n")
    with pytest.raises(LedgerError, match="neither the URL of a database") as caught:
        Ledger(location).create("survey", 1)
    assert "sesame" not in str(caught.value)
    release = ["release", "survey.csv", "-c", "a", "--categories", "x,y", "-e", "1", "--dataset", "survey", "--ledger", location]
    data = ["release", location, *release[2:-1], "ledger.db"]
    for words in (["ledger", "show", location], ["ledger", "create", location, "survey", "-e", "1"], release, data):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2
        assert "sesame" not in done.output
    with pytest.raises(SourceError, match="name is not shown") as refused:
        count(location, "a", ["x", "y"])
    assert "sesame" not in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == ["survey.csv"]


def test_a_password_with_an_at_sign_is_not_taken_for_a_host() -> None:
    with pytest.raises(InvalidInputError, match="write it as %40") as caught:
        Ledger("postgresql://curator:open@sesame@127.0.0.1:1/db")
    assert "sesame" not in str(caught.value)
    done = CliRunner().invoke(app, ["ledger", "show", "postgresql://curator:open@sesame@127.0.0.1:1/db"])
    assert done.exit_code == 2
    assert "sesame" not in done.output
