"""The command line, as a user meets it."""

import os
import subprocess
import sys
from pathlib import Path
from sysconfig import get_paths

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.mechanisms import MECHANISMS
from discreet.requests.release import MECHANISM_NAMES

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
    assert shown.count("Leave it unless you reproduce the papers") == 1


def wide(words: list[str]) -> str:
    """What is printed on a terminal on which no line is broken."""
    result = CliRunner(env={"COLUMNS": "500", "TERMINAL_WIDTH": "500"}).invoke(app, words)
    assert result.exit_code == 0, result.output
    return result.output


def test_without_the_papers_reproduce_says_in_one_line_how_to_install_them(tmp_path: Path) -> None:
    """In a process that finds every installed package but those of this repository; the library is found by its source."""
    for entry in Path(get_paths()["purelib"]).iterdir():
        if not entry.name.startswith(("discreet", "_discreet", "__editable__")):
            (tmp_path / entry.name).symlink_to(entry)
    (tmp_path / "discreet").symlink_to(Path(dc.__file__).parent)
    command = [sys.executable, "-S", "-c", "from discreet.cli import app; app()", "reproduce", "--only", "candidates"]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "error: discreet reproduce needs the package discreet-papers: in a checkout of discreet, pip install ./papers"
    ]
