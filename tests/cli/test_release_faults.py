"""Whole releases killed at random instants: every output that reached a reader has its spend, and no spend exceeds the budget."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

import discreet as dc
from discreet.ledger.ledger import Ledger
from tests.support import run_module

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the fault tests fork processes, which this system cannot")

SAMPLE, WHOLE = 8, 60
"""Kills in the normal run and in the slow one."""
faults = partial(run_module, "tests.cli.release_faults")


@pytest.mark.parametrize("rounds", [SAMPLE, pytest.param(WHOLE, marks=pytest.mark.slow)])
def test_no_kill_lets_a_release_out_uncharged(tmp_path: Path, rounds: int) -> None:
    seen = faults("kills", tmp_path, rounds, 20240607)
    assert seen["uncharged"] == 0
    assert 0 < seen["outputs"] <= seen["spends"]
    assert seen["within"] >= rounds // 4  # these kills fell between a spend and its output, or the test proves little


def test_a_releaser_that_charges_afterwards_is_found_out(tmp_path: Path) -> None:
    assert faults("careless", tmp_path, 2, 20240607)["uncharged"] == 2


@pytest.mark.slow
def test_no_kill_lets_a_table_out_uncharged(tmp_path: Path) -> None:
    seen = faults("tables", tmp_path, 100, 20240607)
    assert seen["uncharged"] == 0
    assert 0 < seen["outputs"] <= seen["spends"]
    assert seen["within"] > 0


@pytest.mark.slow
def test_a_table_that_is_charged_afterwards_is_found_out(tmp_path: Path) -> None:
    assert faults("careless tables", tmp_path, 2, 20240607)["uncharged"] == 2


def test_a_budget_pays_for_so_many_outputs_and_no_more(tmp_path: Path) -> None:
    assert faults("exhaust", tmp_path) == {"outputs": 3, "spends": 3, "partial": 0}


@pytest.mark.slow
def test_the_installed_command_killed_while_it_runs(tmp_path: Path) -> None:
    """From its start to its end, imports and all, by the clock of one run that was left alone."""
    (tmp_path / "survey.csv").write_text("risk\n" + "low\n" * 30 + "high\n" * 20)
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.create("survey", 10)
    base = ["release", str(tmp_path / "survey.csv"), "-c", "risk", "--categories", "low,high", "-e", "1", "--quiet"]
    charged = ["--ledger", str(tmp_path / "ledger.db"), "--dataset", "survey"]

    def start(output: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", "from discreet.cli import app; app()", *base, *charged, "--output", str(tmp_path / output)]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603

    begun = time.monotonic()
    assert start("whole.json").wait(timeout=120) == 0
    took = time.monotonic() - begun
    for share in (0.75, 0.95):
        process = start(f"{share}.json")
        time.sleep(share * took)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=120)
        outputs = [dc.Release.from_json(path.read_text()) for path in tmp_path.glob("*.json")]
        assert 1 <= len(outputs) <= len(ledger.history("survey"))
    assert ledger.remaining("survey").epsilon >= 0
