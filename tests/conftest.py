"""Settings for every test: a home of its own, no windows, no wall-clock limits, the same examples and random bits in every run."""

import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from random import Random
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


# --- the same random bits in every run --------------------------------------------------------------------------------

SYSTEM_RANDOMNESS = os.urandom
STREAMS: list[Random] = []
"""The streams of what is being set up or run, the innermost last."""


def _seeded(size: int) -> bytes:
    """Stand in for `os.urandom`, which releases draw from: a test passes always or never. Child processes have the true one."""
    return STREAMS[-1].randbytes(size)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Give each test the stream of its own name, unless it is marked `system_randomness`."""
    os.urandom = SYSTEM_RANDOMNESS if item.get_closest_marker("system_randomness") else _seeded
    STREAMS.append(Random(ascii(item.nodeid)))  # noqa: S311 - for tests alone
    try:
        return (yield)
    finally:
        STREAMS.pop()
        os.urandom = SYSTEM_RANDOMNESS


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest) -> Generator[None, object, object]:
    """Give each fixture its own stream: one that several tests share is the same whichever of them comes first."""
    name = f"{fixturedef.baseid} {fixturedef.argname} {getattr(request, 'param_index', 0)}"
    STREAMS.append(Random(ascii(name)))  # noqa: S311 - for tests alone
    try:
        return (yield)
    finally:
        STREAMS.pop()


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
