"""Days instead of times, and ledgers of the first version, which had times of day, any name and sums of any length."""

import re
import sqlite3
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.ledger.ledger import Ledger, Loss
from tests.ledger.test_ledger import coprime
from tests.ledger.test_names import ALIKE

CLOCK = re.compile(rb"\d\d:\d\d")


def test_no_time_of_day_is_in_the_file(tmp_path: Path) -> None:
    """The time between two spends contains a draw, whose duration can depend on the data."""
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.create("survey", 1)
    for _ in range(3):
        ledger.release("survey", dc.LatticeGeometric(dc.Beta(1, 1), 10, "0.1"), [4, 6])
    assert not CLOCK.search((tmp_path / "ledger.db").read_bytes())
    connection = sqlite3.connect(tmp_path / "ledger.db")
    days = {text for (text,) in connection.execute("SELECT time FROM discreet_spend UNION SELECT created FROM discreet_budget")}
    connection.close()
    assert {date.fromisoformat(day) for day in days} == {line.day for line in ledger.history("survey")}


@pytest.fixture
def first_version(tmp_path: Path) -> Path:
    """A ledger as the first version wrote it, with names of all kinds."""
    path = tmp_path / "first.db"
    connection = sqlite3.connect(path)
    connection.executescript(
        """
        CREATE TABLE discreet_ledger (version INTEGER NOT NULL, PRIMARY KEY (version));
        CREATE TABLE discreet_budget (dataset VARCHAR(200) NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, unit TEXT NOT NULL,
            created TEXT NOT NULL, PRIMARY KEY (dataset));
        CREATE TABLE discreet_spend (number INTEGER NOT NULL, dataset VARCHAR(200) NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL,
            unit TEXT NOT NULL, note TEXT NOT NULL, description TEXT NOT NULL, time TEXT NOT NULL, PRIMARY KEY (number),
            FOREIGN KEY(dataset) REFERENCES discreet_budget (dataset));
        CREATE INDEX ix_discreet_spend_dataset ON discreet_spend (dataset);
        INSERT INTO discreet_ledger VALUES (1);
        """
    )
    for place, name in enumerate(ALIKE):
        connection.execute(
            "INSERT INTO discreet_budget VALUES (?, ?, '0', 'record', '2024-06-07T08:09:10.123456+00:00')", (name, str(place + 1))
        )
    rows = [("s", "0.1", "2024-06-07T23:59:59.999999+00:00"), ("s", "0.2", "2024-06-08T00:00:00+00:00")]
    connection.executemany(
        "INSERT INTO discreet_spend (dataset, epsilon, delta, unit, note, description, time) VALUES (?, ?, '0', 'record', '', '{}', ?)",
        rows,
    )
    connection.commit()
    connection.close()
    return path


def test_a_ledger_of_the_first_version_is_read_by_the_day(first_version: Path) -> None:
    before = first_version.read_bytes()
    ledger = Ledger(first_version)
    assert [line.day for line in ledger.history("s")] == [date(2024, 6, 7), date(2024, 6, 8)]
    assert {budget.created for budget in ledger.datasets()} == {date(2024, 6, 7)}
    assert [ledger.budget(name).total.epsilon for name in ALIKE] == [1, 2, 3, 4, 5]
    assert ledger.remaining("s") == Loss(Fraction(7, 10))
    assert first_version.read_bytes() == before


def test_a_ledger_of_the_first_version_is_brought_up_to_date_by_a_spend(first_version: Path) -> None:
    ledger = Ledger(first_version)
    assert CLOCK.search(first_version.read_bytes())
    for name in ALIKE:
        assert ledger.spend(name, "0.5").dataset == name
    assert not CLOCK.search(first_version.read_bytes())
    assert [line.day for line in ledger.history("s")][:2] == [date(2024, 6, 7), date(2024, 6, 8)]
    assert ledger.remaining("s") == Loss(Fraction(2, 10))
    assert ledger.remaining("s ") == Loss(Fraction(3, 2))
    ledger.create("kept by a filter", 3, "1e-6", planned_epsilon="0.05")


def test_such_a_ledger_of_the_first_version_can_still_be_shown_and_charged(first_version: Path) -> None:
    connection = sqlite3.connect(first_version)
    connection.executemany(
        "INSERT INTO discreet_spend (dataset, epsilon, delta, unit, note, description, time) "
        "VALUES ('s ', ?, '0', 'record', '', '{}', '2024-06-07T23:59:59+00:00')",
        [(str(amount),) for amount in coprime(60)],
    )
    connection.commit()
    connection.close()
    ledger = Ledger(first_version)
    assert str(ledger.remaining("s ")) == "ε = about 2"
    for action in ("show", "history"):
        result = CliRunner().invoke(app, ["ledger", action, str(first_version), *(["s "] if action == "history" else [])])
        assert result.exit_code == 0, result.output
    ledger.spend("s ", "0.5")
    assert str(ledger.remaining("s ")) == "ε = about 1.5"
