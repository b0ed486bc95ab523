"""Settings for every test: a home of its own, no windows, no wall-clock limits, the same examples in every run."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

settings.register_profile("discreet", deadline=None, derandomize=True, max_examples=100, print_blob=True)
settings.load_profile("discreet")
# Hypothesis also tries the constants of whatever local modules are loaded by then, which is another set in every worker and every run.
providers._get_local_constants = lambda: providers._local_constants

ELSEWHERE = ("ARVIZ_", "DISCREET_", "IPYTHON", "JUPYTER_", "MATPLOTLIB", "MPL", "PG", "PIP_CACHE_DIR", "PYTHONSTARTUP")
"""Variables of a user that would lead a test out of its home, or to that user's own settings, budgets and databases."""


HOME = pytest.StashKey[Path]()
"""The home of a session, which has one however many folders of tests import `pytest_configure`: Matplotlib looks where its is once."""


def pytest_configure(config: pytest.Config) -> None:
    """Give the session a home. The processes that pytest-xdist starts inherit it, as does every process that a test starts."""
    if not hasattr(config, "workerinput") and HOME not in config.stash:
        home = TemporaryDirectory(prefix="discreet-home-", ignore_cleanup_errors=True)
        config.stash[HOME] = Path(home.name)
        config.add_cleanup(home.cleanup)
        _move_to(Path(home.name).resolve())
    import matplotlib as mpl

    mpl.use("Agg")


@pytest.fixture(autouse=True)
def _closed_figures() -> Iterator[None]:
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def _move_to(home: Path) -> None:
    """Make the folder this process's home, with nothing in it but Matplotlib's list of fonts."""
    pip = Path(os.environ.get("XDG_CONFIG_HOME", "~/.config"), "pip", "pip.conf").expanduser()
    for name in [name for name in os.environ if name.startswith(ELSEWHERE)]:
        del os.environ[name]
    os.environ["HOME"] = str(home)
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(home / "hypothesis")
    for name, folder in {
        "CACHE_HOME": "cache",
        "CONFIG_HOME": "config",
        "DATA_HOME": "data",
        "STATE_HOME": "state",
        "RUNTIME_DIR": "runtime",
    }.items():
        (home / folder).mkdir(mode=0o700)
        os.environ[f"XDG_{name}"] = str(home / folder)
    if pip.is_file():  # where packages come from is a matter of the machine
        os.environ.setdefault("PIP_CONFIG_FILE", str(pip))
    import matplotlib.font_manager  # noqa: F401 - lists the fonts now: later it would be done by each process, with a message
