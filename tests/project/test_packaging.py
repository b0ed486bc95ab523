"""What would be published: the wheel and the source archive build, pass `twine check`, hold what they should, and install by themselves."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from tests.places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS_ALONE = {
    "arviz",
    "diffprivlib",
    "dp-accounting",
    "ipykernel",
    "ipywidgets",
    "mypy",
    "nbclient",
    "opendp",
    "openpyxl",
    "pandas",
    "polars",
    "psycopg",
    "pymc",
    "pyreadstat",
    "pyspark",
    "pytest",
    "python-calamine",
    "ruff",
    "sphinx",
    "xarray",
}

pytestmark = pytest.mark.slow


def run(*command: object, folder: Path = ROOT, **variables: str) -> str:
    """What a command prints that must succeed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")} | variables
    done = subprocess.run(  # noqa: S603
        [str(word) for word in command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def bare(folder: Path) -> Path:
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive, and the environment that built them."""
    folder = tmp_path_factory.mktemp("built")
    python = bare(folder / "tools")
    run(python, "-m", "pip", "install", "--quiet", "hatchling", "twine")
    run(python, "-m", "hatchling", "build", "-d", folder)
    return folder


def test_both_pass_twine(built: Path) -> None:
    archives = [*built.glob("*.whl"), *built.glob("*.tar.gz")]
    assert len(archives) == 2
    assert run(built / "tools" / "bin" / "python", "-m", "twine", "check", "--strict", *archives).count("PASSED") == 2


def test_the_wheel_holds_the_package_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = wheel.namelist()
    inside = {name for name in names if name.startswith("discreet/")}
    assert "discreet/py.typed" in inside
    assert not [name for name in names if "paper" in name]
    assert all(re.match(r"discreet(-[^/]+\.dist-info)?/", name) for name in names)
    sources = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert inside == sources
    assert not [name for name in inside if Path(name).suffix in (".csv", ".json", ".parquet", ".png") or "/test" in name]


def test_the_source_archive_can_be_tested(built: Path, tmp_path: Path) -> None:
    """Unpacked, it has every test of this folder and all that they import, and those that read other files pass."""
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    python = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    source = {"PYTHONPATH": str(unpacked / "src")}
    found = run(sys.executable, "-c", "import discreet; print(discreet.__file__)", folder=unpacked, **source)
    assert Path(found.strip()).is_relative_to(unpacked)
    collected = {line.partition("::")[0] for line in run(*python, "--collect-only", folder=unpacked, **source).splitlines() if "::" in line}
    places = (path for folder in ("tests", "papers/tests") for path in ROOT.glob(f"{folder}/**/test_*.py"))
    assert collected == {path.relative_to(ROOT).as_posix() for path in places}
    run(
        *python,
        "-m",
        "not slow",
        "tests/docs/test_examples.py",
        "tests/docs/test_quoted_numbers.py",
        "-k",
        "example or unmarked",
        folder=unpacked,
        **source,
    )


def test_the_source_archive_makes_the_same_wheel(built: Path, tmp_path: Path) -> None:
    """Which is what `pip install` of it installs."""
    run(built / "tools" / "bin" / "python", "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", tmp_path, next(built.glob("*.tar.gz")))
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel, zipfile.ZipFile(next(built.glob("*.whl"))) as direct:
        assert {name: wheel.read(name) for name in wheel.namelist()} == {name: direct.read(name) for name in direct.namelist()}


def test_it_installs_alone_with_its_core_dependencies(built: Path, tmp_path: Path) -> None:
    python = bare(tmp_path / "bare")
    run(python, "-m", "pip", "install", "--quiet", "--no-compile", "-c", ROOT / "constraints.txt", next(built.glob("*.whl")))
    installed = {line.partition("==")[0].lower() for line in run(python, "-m", "pip", "freeze").splitlines()}
    core = {re.split(r"[<>=\[; ]", requirement)[0] for requirement in PROJECT["dependencies"]}
    assert core <= installed
    assert not installed & EXTRAS_ALONE
    command = tmp_path / "bare" / "bin" / "discreet"
    assert run(command, "--version", folder=tmp_path).startswith("discreet ")
    release = [
        command,
        "release",
        ROOT / "examples" / "survey.csv",
        "--column",
        "smoking",
        "--categories",
        "never,former,current",
        "--epsilon",
        "1",
    ]
    assert '"format": "discreet release"' in run(*release, folder=tmp_path)
    assert sys.prefix not in run(python, "-c", "import discreet; print(discreet.__file__)", folder=tmp_path)


def test_the_papers_install_beside_it_and_are_then_found(built: Path, tmp_path: Path) -> None:
    python, command = bare(tmp_path / "bare"), tmp_path / "bare" / "bin" / "discreet"
    install = (python, "-m", "pip", "install", "--quiet", "--no-compile", "-c", ROOT / "constraints.txt")
    run(*install, next(built.glob("*.whl")))
    reproduce = [str(command), "reproduce", "--only", "candidates"]
    alone = subprocess.run(reproduce, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603
    assert (alone.returncode, alone.stdout) == (2, "")
    assert len(alone.stderr.splitlines()) == 1
    assert "pip install ./papers" in alone.stderr
    run(built / "tools" / "bin" / "python", "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path, folder=ROOT / "papers")
    (wheel,) = tmp_path.glob("discreet_papers-*.whl")
    with zipfile.ZipFile(wheel) as opened:
        assert all(re.match(r"discreet_papers(-[^/]+\.dist-info)?/", name) for name in opened.namelist())
        assert "discreet_papers/report.html" in opened.namelist()
    run(*install, wheel)
    assert "1 claims: 0 hold, 1 hold under a condition" in run(*reproduce, folder=tmp_path)
    assert (tmp_path / "discreet-report" / "report.html").exists()
