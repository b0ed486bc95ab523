"""Ledgers whose rows are damaged or edited: every use is refused in one line that quotes no row, and none takes long."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import LedgerError
from discreet.ledger.ledger import Ledger, Loss
from discreet.ledger.rows import amount_of

USES: dict[str, Callable[[Ledger], Any]] = {
    "budget": lambda ledger: ledger.budget("survey"),
    "datasets": lambda ledger: ledger.datasets(),
    "statements": lambda ledger: ledger.statements(),
    "statement": lambda ledger: ledger.statement("survey"),
    "remaining": lambda ledger: ledger.remaining("survey"),
    "history": lambda ledger: ledger.history("survey"),
    "accountant": lambda ledger: ledger.accountant("survey"),
    "charged": lambda ledger: ledger.charged("survey", "key"),
    "spend": lambda ledger: ledger.spend("survey", "0.01"),
}
MARK = "1f5a"
"""Stands in damaged values, and may stand in no message."""
BLOB = f"x'{MARK.encode().hex()}'"
NOT_UTF8 = f"CAST(x'{MARK.encode().hex()}ff' AS TEXT)"
ANY_TEXT = (BLOB, NOT_UTF8)
AMOUNTS = (*ANY_TEXT, f"'{MARK}'", "'-1'", "'1/0'", "'nan'", "'1e300000'", "'1e-300000'", "'1e-9999999999'", "'1e400'", f"'{'7' * 9000}'")
DAMAGE = {
    "discreet_budget": {
        "epsilon": (*AMOUNTS, "'0'"),
        "delta": AMOUNTS,
        "unit": (*ANY_TEXT, f"'{MARK}'"),
        "created": (*ANY_TEXT, f"'{MARK}'", "''"),
        "filter_order": (*AMOUNTS, "'0'", "'-3'", "'1'", "'1.0001'", "'1e9'"),
        "filter_limit": (*AMOUNTS, "'0'"),
        "neighbours": (*ANY_TEXT, f"'{MARK}'", "'replace one within [5]'"),
    },
    "discreet_spend": {
        "epsilon": AMOUNTS,
        "delta": AMOUNTS,
        "divergence": AMOUNTS,
        "guarantee_epsilon": AMOUNTS,
        "guarantee_delta": (*AMOUNTS, "NULL"),
        "unit": (*ANY_TEXT, f"'{MARK}'"),
        "note": ANY_TEXT,
        "description": (*ANY_TEXT, f"'{MARK}'", f"'{'[' * 200_000}'", "'[]'", "'5'", f"'{'9' * 9000}'"),
        "time": (*ANY_TEXT, f"'{MARK}'"),
        "neighbours": (*ANY_TEXT, f"'{MARK}'"),
    },
}
CASES = [(table, column, value) for table, columns in DAMAGE.items() for column, values in columns.items() for value in values]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a ledger with a filter and a spend."""
    path = tmp_path_factory.mktemp("whole") / "ledger.db"
    ledger = Ledger(path)
    ledger.create("survey", 1, "1e-6", planned_epsilon="0.01")
    ledger.spend("survey", "0.1", description={"mechanism": "x"}, request="key")
    return path.read_bytes()


@pytest.fixture
def place(whole: bytes, tmp_path: Path) -> Path:
    (tmp_path / "ledger.db").write_bytes(whole)
    return tmp_path / "ledger.db"


def edit(place: Path, table: str, column: str, value: str) -> None:
    """Put an SQL value into a column of every row."""
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.execute(f"UPDATE {table} SET {column} = {value}")  # noqa: S608 - of a ledger that is damaged on purpose


def refusals(ledger: Ledger) -> dict[str, str]:
    """What each use of the ledger is refused with, if it is."""
    found = {}
    for name, use in USES.items():
        try:
            use(ledger)
        except LedgerError as error:
            found[name] = str(error)
    return found


def test_a_whole_ledger_is_of_use(place: Path) -> None:
    assert refusals(Ledger(place)) == {}


@pytest.mark.parametrize(("table", "column", "value"), CASES, ids=lambda part: part[:24])
def test_a_damaged_row_is_refused_in_one_line_that_does_not_quote_it(place: Path, table: str, column: str, value: str) -> None:
    edit(place, table, column, value)
    found = refusals(Ledger(place))
    assert {"spend", "history"} <= set(found)
    for message in found.values():
        assert message.endswith("; do not release")
        assert "\n" not in message
        assert MARK not in message
        assert len(message) < 200 + len(str(place))


def test_a_damaged_key_of_a_request_is_refused(place: Path) -> None:
    edit(place, "discreet_spend", "request", BLOB)
    assert "history" in refusals(Ledger(place))


def test_a_dataset_whose_name_is_no_text_is_refused(place: Path) -> None:
    edit(place, "discreet_budget", "dataset", BLOB)
    found = refusals(Ledger(place))
    assert {"datasets", "statements", "spend"} <= set(found)
    assert all("\n" not in message for message in found.values())


@pytest.mark.parametrize("version", ["'x'", BLOB, "NULL"])
def test_a_version_that_is_no_number_is_another_version(place: Path, version: str) -> None:
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.executescript(
            "DROP TABLE discreet_ledger; CREATE TABLE discreet_ledger (version); INSERT INTO discreet_ledger VALUES (1)"
        )
    edit(place, "discreet_ledger", "version", version)
    with pytest.raises(LedgerError, match="written by another version"):
        Ledger(place)


@pytest.mark.parametrize("value", [BLOB, "'1e-300000'"])
def test_the_command_line_says_so_in_one_line(place: Path, value: str) -> None:
    edit(place, "discreet_spend", "epsilon", value)
    result = CliRunner(env={"COLUMNS": "500"}).invoke(app, ["ledger", "history", str(place), "survey"])
    assert result.exit_code == 2
    assert "could not be used: someone has edited an amount; do not release" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


# --- what ledgers do hold ---------------------------------------------------------------------------------------------


@given(st.fractions(0, 10**30), st.integers(0, 10**100), st.integers(0, 332))
def test_every_amount_that_is_written_is_read(fraction: Fraction, digits: int, places: int) -> None:
    for amount in (fraction, Fraction(digits), Fraction(1, 2**places), Fraction(digits, 10**20)):
        assert amount_of(str(Loss(amount)).removeprefix("ε = ")) == amount


def test_the_longest_amounts_are_spent_and_read_back(tmp_path: Path) -> None:
    """A δ of 332 decimals, and an ε that is charged twice because the budget's step is two of the release's."""
    ledger = Ledger(tmp_path / "ledger.db")
    largest, smallest = Fraction(10**100), Fraction(1, 2**332)
    ledger.create("large", largest, Fraction(1, 2))
    ledger.create("small", Fraction(10**99 + 1, 10**99), smallest)
    ledger.spend("large", largest / 2 - 1, neighbours="add or remove one")
    ledger.spend("small", Fraction(1, 10**99), smallest)
    assert ledger.remaining("large").epsilon == 2
    assert ledger.remaining("small") == Loss(Fraction(1))
    assert [line.loss.delta for line in ledger.history("small")] == [smallest]
