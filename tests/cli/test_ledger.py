"""`discreet ledger` beyond create, show and history of plain budgets: spends from elsewhere, the environment's ledger, filters."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.ledger.ledger import Ledger
from tests.cli.support import assert_refused, invoke
from tests.support import LOCKED, lost_after_a_spend


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.create("survey", 2, "1e-6")
    return ledger


# --- spend ------------------------------------------------------------------------------------------------------------


def test_a_release_made_elsewhere_is_charged(book: Ledger, tmp_path: Path) -> None:
    options = ["--epsilon", "1/2", "--delta", "1e-7", "--note", "income [by region]"]
    spent = invoke("ledger", "spend", tmp_path / "ledger.db", "survey", *options)
    assert spent.exit_code == 0, spent.output
    assert spent.stdout == "survey: spent ε = 0.5, δ = 0.0000001 (neighbours: replace one record); left: ε = 1.5, δ = 0.0000009\n"
    (line,) = book.history("survey")
    assert (str(line.loss), line.note, line.description) == ("ε = 0.5, δ = 0.0000001", "income [by region]", {})


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ledger.db", "survey", "-e", "3"], "has ε = 2, δ = 0.000001 left of"),
        (["ledger.db", "survey", "-e", "1", "--delta", "1e-5"], "nothing was spent"),
        (["ledger.db", "survey", "-e", "0"], "greater than 0"),
        (["ledger.db", "survey", "-e", "0;5"], "--epsilon must be a number such as 0.5 or 1/3, got '0;5'"),
        (["ledger.db", "survey", "-e", "1", "--delta", "x"], "--delta must be a number"),
        (["ledger.db", "survey", "-e", "1", "--delta", "1"], "below 1"),
        (["ledger.db", "survey", "-e", "1", "--note", "a\x1b[31m"], "note must be printable text"),
        (["ledger.db", "other", "-e", "1"], "'other' is not in the ledger; those in it: 'survey'"),
        (["none.db", "survey", "-e", "1"], "there is no ledger"),
        (["survey", "-e", "1"], "name the ledger and then the dataset"),
        (["-e", "1"], "name the ledger and then the dataset"),
    ],
)
def test_a_bad_spend_is_one_line_and_nothing_spent(
    book: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_refused(invoke("ledger", "spend", *arguments), says)
    assert book.history("survey") == ()


def test_a_spend_stands_even_if_what_is_left_cannot_be_read(book: Ledger, tmp_path: Path) -> None:
    with lost_after_a_spend(LOCKED):
        spent = invoke("ledger", "spend", tmp_path / "ledger.db", "survey", "-e", "1")
    assert (spent.exit_code, spent.stdout) == (0, "survey: spent ε = 1 (neighbours: replace one record); left: it could not be read\n")
    assert len(book.history("survey")) == 1


# --- the environment --------------------------------------------------------------------------------------------------


def test_the_environment_names_the_ledger(tmp_path: Path) -> None:
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    assert invoke("ledger", "create", "survey", "-e", "2", environment=first).exit_code == 0
    assert invoke("ledger", "create", second, "survey", "-e", "5", environment=first).exit_code == 0  # what is said goes first
    assert invoke("ledger", "spend", "survey", "-e", "1", environment=first).exit_code == 0
    (tmp_path / "data.csv").write_text("risk\n" + "low\n" * 30 + "high\n" * 20)
    release: list[str | Path] = ["release", tmp_path / "data.csv", "-c", "risk", "--categories", "low,high", "-e", "0.5"]
    assert invoke(*release, "--dataset", "survey", environment=first).exit_code == 0
    for location, left in ((first, "ε = 0.5"), (second, "ε = 5")):
        assert str(Ledger(location).remaining("survey")) == left
    shown = json.loads(invoke("ledger", "show", "--json", environment=first).stdout)
    assert [row["dataset"] for row in shown] == ["survey"]
    assert len(json.loads(invoke("ledger", "history", "survey", "--json", environment=first).stdout)) == 2


def test_a_ledger_in_the_environment_is_not_passed_over(book: Ledger, tmp_path: Path) -> None:
    """A release that names no dataset is refused, not made uncharged."""
    (tmp_path / "data.csv").write_text("risk\nlow\nhigh\n")
    release: list[str | Path] = ["release", tmp_path / "data.csv", "-c", "risk", "--categories", "low,high", "-e", "0.5"]
    assert_refused(invoke(*release, environment=tmp_path / "ledger.db"), "--ledger (or DISCREET_LEDGER) and --dataset go together")
    assert book.history("survey") == ()


@pytest.mark.parametrize(
    "arguments", [["show"], ["history"], ["history", "survey"], ["create", "survey", "-e", "1"], ["create", "-e", "1"]]
)
def test_without_any_ledger_it_says_what_to_do(arguments: list[str]) -> None:
    for environment in (None, Path()):
        result = CliRunner(env={"DISCREET_LEDGER": None if environment is None else ""}).invoke(app, ["ledger", *arguments])
        assert_refused(result, "DISCREET_LEDGER")


# --- filters ----------------------------------------------------------------------------------------------------------


def test_a_dataset_kept_by_a_filter_says_so(tmp_path: Path) -> None:
    location = tmp_path / "ledger.db"
    made = invoke("ledger", "create", location, "survey", "-e", "1", "--delta", "1e-3", "--planned-epsilon", "0.1")
    assert made.exit_code == 0, made.output
    first, second = made.stdout.splitlines()
    assert first == "survey: ε = 1, δ = 0.001; hides what someone answered, and n is public (neighbours: replace one record)"
    assert second.startswith("kept by a Rényi filter of order ")
    assert second.endswith(" releases of ε = 0.1, however they are chosen; the plain sum allows 10")
    allowed = int(second.partition(": ")[2].split()[0])
    spends = [invoke("ledger", "spend", location, "survey", "-e", "0.1") for _ in range(allowed + 1)]
    assert [spend.exit_code for spend in spends] == [0] * allowed + [2]
    assert_refused(spends[-1], "nothing was spent")
    (row,) = json.loads(invoke("ledger", "show", location, "--json").stdout)
    rule = Ledger(location).budget("survey").filter
    assert rule is not None
    assert row["filter"] == {"order": float(rule.order), "limit": pytest.approx(float(rule.limit))}
    table = invoke("ledger", "history", location, "survey").stdout
    assert f"spent in all: ε = {allowed / 10:g}; left: ε = 0.0" in table
    assert "however each release was chosen in view of the earlier ones, all of them together have ε = 1, δ = 0.001" in table
    assert "if this list had been fixed beforehand" in table


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--planned-epsilon", "0.1"], "delta above 0"),
        (["--delta", "1e-6", "--planned-epsilon", "0.9"], "no more releases"),
        (["--delta", "1e-6", "--planned-epsilon", "small"], "--planned-epsilon must be a number"),
    ],
)
def test_filters_that_are_refused(tmp_path: Path, options: list[Any], says: str) -> None:
    assert_refused(invoke("ledger", "create", tmp_path / "ledger.db", "survey", "-e", "1", *options), says)
    assert not (tmp_path / "ledger.db").exists()
