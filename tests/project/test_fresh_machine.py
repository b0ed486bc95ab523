"""A machine where nothing has run before: tests read and write nothing in the user's home, and a first call is not a surprise."""

import os
import pwd
import subprocess
import sys
from pathlib import Path
from tempfile import gettempdir

import matplotlib as mpl
import pytest

from tests.places import ROOT

RELEASE = "import discreet as dc; posterior = dc.LatticeGeometric(dc.Beta(1, 1), 9, 1).release([4, 5]).noise_aware()"


def run(home: Path, *words: str, **more: str) -> str:
    """What a Python says that has this home and none of the folders and settings that the environment names."""
    named = ("XDG_", "MPL", "PYTHONWARNINGS", "HYPOTHESIS_", "PYTEST_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(named)}
    environment |= {"HOME": str(home), **more}
    done = subprocess.run(  # noqa: S603
        [sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr


def test_the_session_has_a_home_of_its_own() -> None:
    home = Path.home()
    assert home.is_relative_to(Path(gettempdir()).resolve())
    assert home != Path(pwd.getpwuid(os.getuid()).pw_dir).resolve()
    folders = [value for name, value in os.environ.items() if name.startswith("XDG_") and name.endswith(("_HOME", "_DIR"))]
    assert len(folders) == 5
    for folder in [*folders, mpl.get_cachedir(), mpl.get_configdir()]:
        assert Path(folder).is_relative_to(home)


def test_nothing_of_the_user_leads_a_test_elsewhere(tmp_path: Path) -> None:
    """A session whose user has a ledger, a picture style and a server is as good as one without: the variables are gone inside."""
    inside = "import os\n\ndef test_inside():\n    assert not {'DISCREET_LEDGER', 'MPLCONFIGDIR', 'PGHOST'} & set(os.environ)\n"
    (tmp_path / "test_inside.py").write_text(inside)
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_configure\n")
    (home := tmp_path / "home").mkdir()
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path / "test_inside.py"))
    run(home, *words, DISCREET_LEDGER="real.db", MPLCONFIGDIR=str(home), PGHOST="production")
    assert list(home.iterdir()) == []


def test_two_folders_of_tests_have_one_home(tmp_path: Path) -> None:
    """Matplotlib keeps the place that it found first, which must be that of the session to its end."""
    check = "assert Path(mpl.get_cachedir()).is_relative_to(Path.home())"
    inside = f"import matplotlib as mpl\nfrom pathlib import Path\n\ndef test_inside():\n    {check}\n"
    for name in ("one", "other"):
        (folder := tmp_path / name).mkdir()
        (folder / "conftest.py").write_text("from tests.conftest import pytest_configure\n")
        (folder / f"test_{name}.py").write_text(inside)
    (home := tmp_path / "home").mkdir()
    run(home, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path / "one"), str(tmp_path / "other"))


@pytest.mark.slow
def test_a_test_run_leaves_the_users_home_empty(tmp_path: Path) -> None:
    """ArviZ and Matplotlib both keep files in a user's home; these tests use both, in two processes."""
    (home := tmp_path / "home").mkdir()
    tests = ["tests/plotting/test_pictures.py", "tests/inference/test_noise_aware.py::test_arviz_takes_it"]
    run(home, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", *tests)
    assert list(home.iterdir()) == []


def test_the_first_arviz_of_a_day_is_no_surprise(tmp_path: Path) -> None:
    """ArviZ warns at its first import of a day, which it notes in the user's home. Here every warning is an error."""
    assert run(tmp_path, "-W", "error", "-c", f"{RELEASE}; posterior.to_arviz(draws=5, chains=2)") == ""
    assert any(path.is_file() for path in tmp_path.rglob("*"))  # so a test run that leaves nothing in a home shows something
