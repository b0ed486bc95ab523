"""`discreet reproduce`, as a user meets it where this package is installed."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli import app

runner = CliRunner()


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
