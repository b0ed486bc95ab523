"""Every example runs as it stands, from any folder, and prints a release with its noise-aware intervals."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import DOCS, EXAMPLES

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
def test_the_demo_and_what_it_says_to_do_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a copy of the folder, because the demo writes beside it; its last words are tried as a reader would."""
    (tmp_path / "examples").mkdir()
    for name in ("demo.py", "survey.csv"):
        shutil.copy(EXAMPLES / name, tmp_path / "examples")
    text = printed(str(tmp_path / "examples" / "demo.py"), tmp_path)
    folder = tmp_path / "build" / "demo"
    listed = re.findall(r"^  ([a-z]+\.[a-z]+) ", text, re.MULTILINE)
    assert sorted(listed) == sorted(path.name for path in folder.iterdir())
    assert (folder / "posterior.png").read_bytes().startswith(b"\x89PNG")
    monkeypatch.chdir(tmp_path)
    command = re.search(r"^  \S*discreet (show .*)$", text, re.MULTILINE)
    assert command is not None
    again = subprocess.run([sys.executable, "-m", "discreet", *command[1].split()], capture_output=True, text=True, check=True)  # noqa: S603
    assert "ε = 0.1 differential privacy by proof" in again.stdout
    *lines, last = re.findall(r"^  >>> (.*)$", text, re.MULTILINE)
    names: dict[str, object] = {}
    exec("\n".join(lines), names)  # noqa: S102 - our own words
    low, high = eval(last, names)  # noqa: S307
    assert 0 < low < high < 1


@pytest.mark.slow
def test_the_pictures_of_the_five_minutes_are_those_that_their_page_shows(tmp_path: Path) -> None:
    """In a copy of the folder, because the script writes beside it."""
    (tmp_path / "examples").mkdir()
    for name in ("five_minutes.py", "survey.csv"):
        shutil.copy(EXAMPLES / name, tmp_path / "examples")
    drawn = printed(str(tmp_path / "examples" / "five_minutes.py"), tmp_path).split()
    folder = tmp_path / "build" / "five_minutes"
    assert sorted(drawn) == sorted(path.name for path in folder.iterdir())
    assert all((folder / name).read_bytes().startswith(b"\x89PNG") for name in drawn)
    shown = re.findall(r"\]\(\.\./images/(\S+)\)", (DOCS / "start" / "five_minutes.md").read_text())
    assert sorted(shown) == sorted(drawn)
    assert all((DOCS / "images" / name).exists() for name in shown)


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
