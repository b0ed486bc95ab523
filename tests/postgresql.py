"""A PostgreSQL server for tests: it lives in a temporary folder and listens on a socket in it."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


def _postgres_programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parent.parent.name))
    if found:
        return found[-1].parent
    initdb = shutil.which("initdb")
    return None if initdb is None else Path(initdb).parent


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    """The URL of a PostgreSQL server that lives in a temporary folder and listens on a socket in it."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'discreet[postgresql]'")
    programs = _postgres_programs()
    if programs is None:
        pytest.skip("there is no PostgreSQL server on this machine (Debian: apt-get install postgresql)")
    owner = None if os.getuid() else next((user.pw_name for user in pwd.getpwall() if user.pw_name in ("postgres", "nobody")), None)

    def run(program: str, *arguments: str) -> None:
        command = [str(programs / program), *arguments]
        with Path(folder, "output").open("ab") as output:
            subprocess.run(command, user=owner, cwd=folder, stdout=output, stderr=output, check=True, timeout=120)  # noqa: S603

    with TemporaryDirectory(prefix="discreet-server-") as folder:
        if owner is not None:
            shutil.chown(folder, owner)
        data = f"{folder}/data"
        run("initdb", "-D", data, "-U", "curator", "-A", "trust", "-E", "UTF8", "--no-locale")
        run("pg_ctl", "-D", data, "-w", "-l", f"{folder}/log", "-o", f"-k {folder} -c listen_addresses=''", "start")
        yield f"postgresql://curator@/postgres?host={folder}"
        run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
