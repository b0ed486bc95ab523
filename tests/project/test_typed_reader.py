"""A user's script with types runs, and mypy and pyright know a table from a variable in it: by `by=` alone."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from inspect import getdoc, signature
from os import environ
from pathlib import Path

import pytest

import discreet as dc
from tests.project import typed_script

ROOT = Path(__file__).parents[2]
WRONG = """import discreet as dc
prior = dc.Dirichlet.uniform(categories=["yes", "no", "unsure"])
variable = dc.LatticeGeometric(prior, n=60, epsilon=1).release([30, 20, 10])
table = dc.LatticeGeometric(prior, n=60, epsilon=1, by={"region": ["north", "south"]}).release([[30, 20, 10], [0, 0, 0]])
variable.noise_aware()["north"]
table.noise_aware().count_probabilities("yes")
table.counts.count(3)
variable.counts.sum()
variable.to_parquet("variable.parquet")
"""


def test_the_script_runs(tmp_path: Path) -> None:
    typed_script.main(tmp_path)


def by_mypy(folder: Path) -> str:
    options = ("--strict", "--no-error-summary", "--config-file=", f"--cache-dir={folder / 'cache'}")
    return _said(folder, "mypy", *options, "script.py")


def by_pyright(folder: Path) -> str:
    pytest.importorskip("basedpyright")
    settings = {"include": ["script.py"], "extraPaths": [str(ROOT / "src")], "typeCheckingMode": "strict", "pythonVersion": "3.11"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    return _said(folder, "basedpyright", "--pythonpath", sys.executable)


def _said(folder: Path, *words: str) -> str:
    settings = {**environ, "MYPYPATH": str(ROOT / "src")}
    return subprocess.run([sys.executable, "-m", *words], cwd=folder, env=settings, capture_output=True, text=True, check=False).stdout  # noqa: S603


@pytest.mark.slow
@pytest.mark.parametrize("checked", [by_mypy, by_pyright])
def test_type_checkers_know_a_table_from_a_variable(checked: Callable[[Path], str], tmp_path: Path) -> None:
    """The script passes, and each line of the wrong one that takes a variable for a table, or a table for a variable, is refused."""
    for text, wrong in ((Path(typed_script.__file__).read_text(), set[int]()), (WRONG, {5, 6, 7, 8, 9})):
        (tmp_path / "script.py").write_text(text)
        assert {int(number) for number in re.findall(r"script\.py:(\d+):.*error", checked(tmp_path))} == wrong


def test_help_describes_every_argument() -> None:
    text = getdoc(dc.LatticeGeometric) or ""
    listed = text.partition("Args:")[2].partition("Returns:")[0]
    for name in signature(dc.LatticeGeometric).parameters:
        assert f"\n    {name}: " in listed, name
    assert "Raises:" in text
