"""The command line, as a user meets it."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.commands.options import MECHANISM_NAMES
from discreet.mechanisms import MECHANISMS

runner = CliRunner()


def test_version() -> None:
    result = runner.invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output.strip() == f"discreet {dc.__version__}"


def test_help_lists_the_commands() -> None:
    result = runner.invoke(app, ["--help"])
    assert result.exit_code == 0
    assert "reproduce" in result.output


@pytest.mark.parametrize(
    "command",
    ["", "release", "show", "contrast", "combine", "compare", "plan", "verify", "reproduce", "ledger", "ledger create", "ledger show"],
)
def test_a_flag_asks_for_no_value(command: str) -> None:
    shown = wide([*command.split(), "--help"])
    assert "--help" in shown
    assert "bool" not in shown


@pytest.mark.parametrize("command", ["release", "plan", "verify"])
def test_help_names_every_mechanism(command: str) -> None:
    shown = wide([command, "--help"])
    assert [cls.__name__ for cls in MECHANISMS if cls.__name__ not in shown] == []
    assert all(name in [cls.__name__ for cls in MECHANISMS] for name in MECHANISM_NAMES.split(", "))


def test_help_says_what_an_error_of_some_size_looks_like() -> None:
    for command in ("compare", "plan"):
        assert "0.05 is hard to see in a plot" in wide([command, "--help"])


def test_help_of_release_says_who_counts_where_and_how_to_write_a_comma() -> None:
    shown = wide(["release", "--help"])
    assert "put the one that matters first" in shown
    assert """'"a,b",c'""" in shown
    assert shown.count("Leave it unless you reproduce the papers") == 2


def wide(words: list[str]) -> str:
    """What is printed on a terminal on which no line is broken."""
    result = CliRunner(env={"COLUMNS": "500", "TERMINAL_WIDTH": "500"}).invoke(app, words)
    assert result.exit_code == 0, result.output
    return result.output


def test_reproduce_prints_claims_and_where_the_report_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    wanted = ["statement-1", "published-edge", "000-table-1"]
    result = runner.invoke(app, ["reproduce", "--quick", "--jobs", "1", *(part for name in wanted for part in ("--only", name))])
    assert result.exit_code == 0, result.output
    assert all(name in result.output for name in wanted[:2])
    assert "2 claims: 0 hold, 1 hold under a condition, 1 do not. 1 figures and tables. 0 of 3 taken from an earlier run." in result.output
    assert (tmp_path / "discreet-report" / "report.html").exists()


def test_reproduce_one_claim_and_write_it(tmp_path: Path) -> None:
    directory = tmp_path / "new" / "report"
    result = runner.invoke(app, ["reproduce", "--only", "candidates", "--only", "one-step", "--out", str(directory)])
    assert result.exit_code == 0, result.output
    assert "statement-1" not in result.output
    stored = json.loads((directory / "claims.json").read_text("utf-8"))
    assert [claim["id"] for claim in stored] == ["candidates", "one-step"]
    with (directory / "claims.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(len(claim["numbers"]) for claim in stored)
    assert float(rows[0]["value"]) == 91
    assert "[Γ(β-½)/Γ(β)]" in (directory / "claims.md").read_text("utf-8")


def test_reproduce_is_the_same_every_time(tmp_path: Path) -> None:
    for name in ("first", "second"):
        runner.invoke(app, ["reproduce", "--only", "000-theorem-4.1", "--only", "one-step", "--out", str(tmp_path / name)])
    for file in ("claims.json", "claims.csv", "claims.md", "report.html", "figures/000-theorem-4.1.svg", "data/000-theorem-4.1.csv"):
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "second" / file).read_bytes()


@pytest.mark.parametrize("arguments", [["--only", "nonsense"], ["--only", "edge", "--out", "/dev/null/report"], ["--jobs", "0"]])
def test_bad_input_is_one_line_and_exit_code_two(arguments: list[str]) -> None:
    result = runner.invoke(app, ["reproduce", *arguments])
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    assert "must" in result.output
