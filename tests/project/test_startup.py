"""Starting is light: asking for help, for the version, or importing the package loads no numerical, plotting or database library."""

import subprocess
import sys
from pathlib import Path

import discreet

HEAVY = (
    "numpy",
    "scipy",
    "matplotlib",
    "duckdb",
    "pyarrow",
    "pandas",
    "polars",
    "flint",
    "narwhals",
    "sqlalchemy",
    "pyspark",
    "dp_accounting",
)
COMMANDS = ("release", "show", "report", "contrast", "combine", "compare", "plan", "verify", "reproduce", "ledger", "ledger create")


def loaded(code: str, among: tuple[str, ...] = HEAVY) -> set[str]:
    """The heavy modules, or others, that a fresh interpreter has loaded after running some code."""
    quiet = "import contextlib, io, sys\nwith contextlib.redirect_stdout(io.StringIO()):\n"
    script = f"{quiet}    {code}\nprint(*set(sys.modules) & set({among!r}))"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)  # noqa: S603
    return set(done.stdout.split())


def test_importing_the_package_is_light() -> None:
    assert loaded("import discreet") == set()


def test_asking_for_help_is_light() -> None:
    """All of it in one process, so what any of them loads is seen."""
    asked = [[option] for option in ("--help", "--version")] + [[*command.split(), "--help"] for command in COMMANDS]
    run = "[app(words, standalone_mode=False) for words in asked]"
    assert loaded(f"from discreet.cli import app; asked = {asked!r}; {run}") == set()


def test_the_list_of_commands_loads_no_network_library() -> None:
    """What finds packages brings e-mail and sockets; only `reproduce` looks for one."""
    assert loaded("from discreet.cli import app; app(['--help'], standalone_mode=False)", ("email", "socket")) == set()
    assert "email" in loaded("import importlib.metadata", ("email", "socket"))  # and sockets, until Python 3.12


def test_what_is_listed_is_public_and_there() -> None:
    assert dir(discreet) == sorted(discreet.__all__)
    assert all(getattr(discreet, name) is not None for name in dir(discreet))


def test_a_release_loads_none_of_the_slow_parts_of_scipy() -> None:
    code = "import discreet as dc; dc.LatticeGeometric(dc.Beta(1, 1), 9, 1).release([4, 5]).noise_aware().interval(0.95)"
    done = subprocess.run([sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"], check=True, capture_output=True, text=True)  # noqa: S603
    assert not {"scipy.stats", "scipy.signal", "scipy.optimize", "scipy.interpolate"} & set(done.stdout.split())
    assert "scipy.special" in done.stdout.split()


def test_the_release_command_loads_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("smoking\nnever\nformer\n")
    options = ["release", str(tmp_path / "a.csv"), "-c", "smoking", "--categories", "never,former", "-e", "1", "--json"]
    code = f"import sys; from discreet.cli import app; app({options!r}, standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603
    modules = set(done.stdout.splitlines()[-1].split())
    assert not {"scipy.stats", "scipy.signal", "scipy.optimize", "pandas", "polars", "matplotlib", "pyspark", "dp_accounting"} & modules
    assert "duckdb" in modules


def test_what_is_loaded_is_noticed() -> None:
    assert "numpy" in loaded("import discreet; discreet.Beta")
