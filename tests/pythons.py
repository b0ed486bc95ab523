"""Build the wheel and the source archive, and run the quick tests with them on every Python from 3.11 on that this machine has.

`make test-pythons` runs it, with the standard library alone. Each Python gets a new environment under build/pythons with the wheel and what
the tests need, pinned by constraints.txt; the tests are those of the unpacked source archive. It ends with 1 if a Python fails.
"""

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST, NEWEST = 11, 30
EXTRAS = "accounting,arviz,bench,docs,files,lint,postgresql,spark,test,web"
ASK = "import sys; print(sys.executable); print(*sys.version_info[:2])"


def run(*words: object, folder: Path = ROOT) -> None:
    """Run a command that must succeed; raises CalledProcessError where it does not."""
    subprocess.run([str(word) for word in words], cwd=folder, check=True)  # noqa: S603


def candidates() -> Iterator[str]:
    """The commands that may be a Python: this one, those on the path, and the versions that pyenv keeps."""
    yield sys.executable
    yield from (found for minor in range(OLDEST, NEWEST) if (found := shutil.which(f"python3.{minor}")))
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from (str(path) for path in sorted(kept.glob("3.*/bin/python")))


def pythons() -> dict[str, str]:
    """The commands that answer, by their versions, from 3.11 on."""
    found: dict[str, str] = {}
    for command in candidates():
        answer = subprocess.run([command, "-c", ASK], capture_output=True, text=True, check=False)  # noqa: S603
        if answer.returncode == 0:
            executable, version = answer.stdout.splitlines()
            major, minor = map(int, version.split())
            if (major, minor) >= (3, OLDEST):
                found.setdefault(f"{major}.{minor}", executable)
    return found


def build(folder: Path) -> tuple[Path, Path]:
    """The wheel, and the unpacked source archive."""
    run(sys.executable, "-m", "venv", folder / "tools")
    tools = folder / "tools" / "bin" / "python"
    run(tools, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "hatchling")
    run(tools, "-m", "hatchling", "build", "-d", folder)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder / "source", filter="data")
    return next(folder.glob("*.whl")), next((folder / "source").iterdir())


def passes(executable: str, folder: Path, wheel: Path, source: Path) -> bool:
    """Whether the quick tests of the source archive pass in a new environment of this Python in which the wheel is installed."""
    run(executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", ROOT / "constraints.txt")
    run(*pip, f"discreet[{EXTRAS}] @ {wheel.as_uri()}", source / "papers")
    tests = (str(python), "-m", "pytest", "-q", "-n", "2", "-m", "not slow", "-p", "no:cacheprovider")
    return subprocess.run(tests, cwd=source, check=False).returncode == 0  # noqa: S603


def main() -> int:
    """Try every Python, and say at the end which passed."""
    shutil.rmtree(folder := ROOT / "build" / "pythons", ignore_errors=True)
    wheel, source = build(folder)
    verdicts = {version: passes(command, folder / version, wheel, source) for version, command in pythons().items()}
    for version, passed in verdicts.items():
        sys.stdout.write(f"Python {version}: {'passed' if passed else 'FAILED'}\n")
    return 0 if all(verdicts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
