"""The ledger under kills, races, full disks and read-only files: no output without its spend, no spend beyond the budget."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.ledger.ledger import Ledger
from tests.postgresql import postgresql  # noqa: F401 - a server
from tests.support import run_module

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the fault tests fork processes, which this system cannot")

SAMPLE, WHOLE = 15, 150
"""Kills in the normal run and in the slow one."""

RACERS = 16
"""Processes that want the last of a budget."""

faults = partial(run_module, "tests.ledger.fault_children")


@pytest.mark.parametrize("rounds", [SAMPLE, pytest.param(WHOLE, marks=pytest.mark.slow)])
def test_no_kill_loses_a_spend(tmp_path: Path, rounds: int) -> None:
    seen = faults("kills", tmp_path / "ledger.db", rounds, 20240607)
    assert seen["lost"] == 0
    assert 0 < seen["outputs"] <= seen["spends"]
    if rounds == WHOLE:
        assert seen["journals"] > 0  # some kills fell inside a transaction, or the test proves little


def test_a_spender_that_outputs_first_is_found_out(tmp_path: Path) -> None:
    assert faults("careless", tmp_path / "ledger.db", 2, 20240607)["lost"] == 2


@pytest.mark.parametrize("affordable", [1, 5])
def test_a_race_for_the_last_of_a_budget(tmp_path: Path, affordable: int) -> None:
    seen = faults("race", tmp_path / "ledger.db", RACERS, affordable)
    assert seen == {"spent": affordable, "refused": RACERS - affordable, "failed": 0, "lines": affordable}


def test_one_request_sent_many_times_is_charged_once(tmp_path: Path) -> None:
    assert faults("request race", tmp_path / "ledger.db", RACERS) == {"spent": 1, "refused": RACERS - 1, "failed": 0, "lines": 1}


def test_a_race_for_the_last_of_a_filter(tmp_path: Path) -> None:
    seen = faults("filter-race", tmp_path / "ledger.db", RACERS, 3)
    assert seen == {"spent": 3, "refused": RACERS - 3, "failed": 0, "lines": seen["lines"]}


def test_a_race_for_the_last_of_a_month(tmp_path: Path) -> None:
    assert faults("period-race", tmp_path / "ledger.db", RACERS, 3) == {"spent": 3, "refused": RACERS - 3, "failed": 0, "lines": 4}


@pytest.mark.parametrize("rounds", [SAMPLE, pytest.param(WHOLE, marks=pytest.mark.slow)])
def test_no_kill_charges_one_month_without_the_others(tmp_path: Path, rounds: int) -> None:
    seen = faults("period-kills", tmp_path / "ledger.db", rounds, 20260711)
    assert seen["lost"] == 0
    assert 0 < seen["outputs"] <= seen["spends"]


def test_a_read_only_ledger(tmp_path: Path) -> None:
    seen = faults("read-only", tmp_path)
    assert seen["told"].startswith("LedgerError: ")
    assert seen["told"].endswith("attempt to write a readonly database; do not release")
    assert seen["left"] == "ε = 1"


def test_a_ledger_that_cannot_grow(tmp_path: Path) -> None:
    seen = faults("too-large", tmp_path / "ledger.db")
    assert seen["told"].startswith("LedgerError: ")
    assert seen["told"].endswith("; do not release")
    assert (seen["left"], seen["then"]) == ("ε = 1", "ε = 0.9")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB; only root can make one."""
    mount, unmount = shutil.which("mount"), shutil.which("umount")
    if os.getuid() != 0 or mount is None or unmount is None:
        pytest.skip("only root can mount a small file system to fill up")
    if subprocess.run([mount, "-t", "tmpfs", "-o", "size=256k", "tmpfs", tmp_path], capture_output=True, check=False).returncode:  # noqa: S603
        pytest.skip("mounting a small file system to fill up is not allowed here")
    yield tmp_path
    subprocess.run([unmount, tmp_path], check=True)  # noqa: S603


def test_a_full_disk(small_disk: Path) -> None:
    ledger = Ledger(small_disk / "ledger.db")
    ledger.create("survey", 1)
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    with pytest.raises(LedgerError, match="do not release"):
        ledger.spend("survey", "0.1")
    filler.unlink()
    assert ledger.history("survey") == ()
    ledger.spend("survey", "0.1")
    assert str(ledger.remaining("survey")) == "ε = 0.9"


# --- a server ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def database(postgresql: str) -> str:  # noqa: F811
    """The server with an empty ledger."""
    import psycopg

    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS discreet_spend, discreet_budget, discreet_ledger")
    return postgresql


@pytest.mark.slow
class TestServer:
    def test_budgets_and_spends(self, database: str) -> None:
        ledger = Ledger(database)
        with pytest.raises(LedgerError, match="no ledger"):
            ledger.spend("survey", 1)
        ledger.create("survey", 1, "1e-6", unit="person")
        ledger.create("Befragung 🙂", "1/3")
        for _ in range(9):
            ledger.spend("survey", "0.1", "1e-7", note="it's", description={"mechanism": "LatticeGeometric"})
        assert str(ledger.remaining("survey")) == "ε = 0.1, δ = 0.0000001"
        assert [line.description for line in ledger.history("survey")] == [{"mechanism": "LatticeGeometric"}] * 9
        assert [budget.dataset for budget in ledger.datasets()] == ["Befragung 🙂", "survey"]
        with pytest.raises(LedgerError, match="already"):
            ledger.create("survey", 1)
        with pytest.raises(LedgerError, match=r"has ε = 0\.1"):
            ledger.spend("survey", "0.2")

    @pytest.mark.parametrize("affordable", [1, 5])
    def test_a_race_for_the_last_of_a_budget(self, database: str, affordable: int) -> None:
        seen = faults("race", database, RACERS, affordable)
        assert seen == {"spent": affordable, "refused": RACERS - affordable, "failed": 0, "lines": affordable}

    def test_one_request_sent_many_times_is_charged_once(self, database: str) -> None:
        assert faults("request race", database, RACERS) == {"spent": 1, "refused": RACERS - 1, "failed": 0, "lines": 1}

    def test_no_kill_loses_a_spend(self, database: str) -> None:
        seen = faults("kills", database, 100, 20240607)
        assert seen["lost"] == 0
        assert 0 < seen["outputs"] <= seen["spends"]

    def test_a_month_is_neither_overspent_nor_charged_without_the_others(self, database: str) -> None:
        assert faults("period-race", database, RACERS, 3) == {"spent": 3, "refused": RACERS - 3, "failed": 0, "lines": 4}

    def test_no_kill_charges_one_month_without_the_others(self, database: str) -> None:
        seen = faults("period-kills", database, 50, 20260711)
        assert seen["lost"] == 0
        assert 0 < seen["outputs"] <= seen["spends"]

    def test_a_lock_is_waited_for_and_then_reported(self, database: str) -> None:
        import psycopg

        ledger = Ledger(database, timeout=0.3)
        ledger.create("survey", 1)
        with psycopg.connect(database) as connection:
            connection.execute("SELECT * FROM discreet_budget FOR UPDATE")
            with pytest.raises(LedgerError, match="another process has held it"):
                ledger.spend("survey", "0.1")
        assert str(ledger.remaining("survey")) == "ε = 1"

    def test_an_asynchronous_server_is_told_to_wait_for_the_disk(self, database: str) -> None:
        import psycopg

        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("ALTER ROLE curator SET synchronous_commit = off")
            try:
                ledger = Ledger(database)
                ledger.create("survey", 1)
                ledger.spend("survey", "0.1")
            finally:
                connection.execute("ALTER ROLE curator RESET synchronous_commit")

    def test_a_ledger_of_the_first_version_is_brought_up_to_date_once(self, database: str) -> None:
        import psycopg

        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("CREATE TABLE discreet_ledger (version INTEGER PRIMARY KEY)")
            connection.execute("INSERT INTO discreet_ledger VALUES (1)")
            columns = "epsilon TEXT NOT NULL, delta TEXT NOT NULL, unit TEXT NOT NULL"
            connection.execute(f"CREATE TABLE discreet_budget (dataset VARCHAR(200) PRIMARY KEY, {columns}, created TEXT NOT NULL)")
            connection.execute(
                "CREATE TABLE discreet_spend (number BIGSERIAL PRIMARY KEY, dataset VARCHAR(200) REFERENCES discreet_budget (dataset), "
                f"{columns}, note TEXT NOT NULL, description TEXT NOT NULL, time TEXT NOT NULL)"
            )
            day = "2024-06-07T08:09:10.123456+00:00"
            connection.execute("INSERT INTO discreet_budget VALUES ('survey', '1', '0', 'record', %s)", [day])
            connection.execute(
                "INSERT INTO discreet_spend (dataset, epsilon, delta, unit, note, description, time) "
                "VALUES ('survey', '0.2', '0', 'record', '', '{}', %s)",
                [day],
            )
        assert [line.day.isoformat() for line in Ledger(database).history("survey")] == ["2024-06-07"]
        with ThreadPoolExecutor(RACERS // 2) as pool:
            list(pool.map(lambda _: Ledger(database).spend("survey", "0.1"), range(RACERS // 2)))
        assert str(Ledger(database).remaining("survey")) == "ε = 0"
        with psycopg.connect(database) as connection:
            assert connection.execute("SELECT max(length(time)), max(version) FROM discreet_spend, discreet_ledger").fetchone() == (10, 7)

    def test_a_ledger_of_the_second_version_replaces_one_and_is_brought_up_to_date_once(self, database: str) -> None:
        import psycopg

        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("CREATE TABLE discreet_ledger (version INTEGER PRIMARY KEY)")
            connection.execute("INSERT INTO discreet_ledger VALUES (2)")
            columns = "epsilon TEXT NOT NULL, delta TEXT NOT NULL, unit TEXT NOT NULL"
            connection.execute(
                f"CREATE TABLE discreet_budget (dataset VARCHAR(200) PRIMARY KEY, {columns}, created TEXT NOT NULL, "
                "filter_order TEXT, filter_limit TEXT)"
            )
            connection.execute(
                "CREATE TABLE discreet_spend (number BIGSERIAL PRIMARY KEY, dataset VARCHAR(200) REFERENCES discreet_budget (dataset), "
                f"{columns}, note TEXT NOT NULL, description TEXT NOT NULL, time TEXT NOT NULL, divergence TEXT)"
            )
            connection.execute("INSERT INTO discreet_budget VALUES ('survey', '1', '0', 'record', '2024-06-07')")
            connection.execute(
                "INSERT INTO discreet_spend (dataset, epsilon, delta, unit, note, description, time) "
                "VALUES ('survey', '0.2', '0', 'record', '', '{}', '2024-06-07')"
            )
        ledger = Ledger(database)
        assert [(str(line.guarantee), str(line.neighbours)) for line in ledger.history("survey")] == [("ε = 0.2", "replace one")]
        with ThreadPoolExecutor(RACERS // 2) as pool:
            spend = lambda _: Ledger(database).spend("survey", "0.05", neighbours="add or remove one")  # noqa: E731
            assert {str(line.loss) for line in pool.map(spend, range(RACERS // 2))} == {"ε = 0.1"}
        assert str(ledger.remaining("survey")) == "ε = 0"
        assert {str(line.guarantee) for line in ledger.history("survey")[1:]} == {"ε = 0.05"}
        ledger.create("taking part", 1, neighbours="add or remove one")
        with pytest.raises(LedgerError, match="no ε covers that"):
            ledger.spend("taking part", "0.1", neighbours="replace one")
        assert [str(budget.neighbours) for budget in ledger.datasets()] == ["replace one", "add or remove one"]

    def test_names_and_filters(self, database: str) -> None:
        ledger = Ledger(database)
        ledger.create("survey", 1, "1e-3", planned_epsilon="0.1")
        with pytest.raises(LedgerError, match="looks like"):
            ledger.create("Survey", 1)
        while ledger.remaining("survey").epsilon >= Fraction("0.1"):
            ledger.spend(" survey ", "0.1")
        with pytest.raises(LedgerError, match="nothing was spent"):
            ledger.spend("survey", "0.1")
        assert ledger.spent("survey").epsilon > 1

    def test_a_server_that_is_not_there(self) -> None:
        ledger = Ledger("postgresql://curator:open-sesame@127.0.0.1:1/none", timeout=2)
        with pytest.raises(LedgerError) as caught:
            ledger.datasets()
        assert "open-sesame" not in f"{caught.value} {ledger!r}"
