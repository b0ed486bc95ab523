"""Every example runs as it stands, from any folder, and prints a release with its noise-aware intervals."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
QUICK = sorted(path.name for path in EXAMPLES.glob("with_*.py") if path.name != "with_spark.py")


def printed(name: str, folder: Path) -> str:
    """What a script prints, run in a folder where it has no business to leave anything."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, str(EXAMPLES / name)], capture_output=True, text=True, cwd=folder, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_released(text: str) -> None:
    assert re.search(r"^Release\(LatticeGeometric, n=\d+, counts=\(\d+, \d+, \d+\), ε = .* replace one person\)$", text, re.MULTILINE)
    for category in ("never", "former", "current"):
        found = re.search(rf"^{category} .*95 % interval (0\.\d+) to (0\.\d+)$", text, re.MULTILINE)
        assert found is not None
        assert float(found[1]) < float(found[2])


def test_there_are_examples() -> None:
    assert QUICK == ["with_duckdb.py", "with_pandas.py", "with_polars.py"]


@pytest.mark.parametrize("name", QUICK)
def test_an_example(name: str, tmp_path: Path) -> None:
    text = printed(name, tmp_path)
    assert_released(text)
    assert list(tmp_path.iterdir()) == []
    if name == "with_duckdb.py":
        assert text.count("Release(") == 2
        assert "refused: the release needs ε = 0.5 and 'survey' has ε = 0 left of ε = 1; nothing was spent" in text


@pytest.mark.slow
def test_the_spark_example(tmp_path: Path) -> None:
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed: pip install 'discreet[spark]'")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java 17 or later, and there is none on this machine")
    assert_released(printed("with_spark.py", tmp_path))


def test_the_survey_is_what_its_script_makes() -> None:
    spec = importlib.util.spec_from_file_location("make_survey", EXAMPLES / "make_survey.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    lines = ["participant,age,smoking", *(",".join(row.values()) for row in module.rows())]
    assert (EXAMPLES / "survey.csv").read_text(encoding="utf-8").splitlines() == lines
