"""A ledger with one dataset; a module may have another."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from discreet.ledger.database import metadata
from discreet.ledger.ledger import Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(tmp_path / "ledger.db")
    made.create("survey", 1)
    return made


def make_older(path: Path, version: int) -> None:
    """Make a ledger one of an older version, without the columns that came later."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in metadata().tables.values():
            for column in table.c:
                if column.info.get("since", 1) > version:
                    connection.execute(f"ALTER TABLE {table.name} DROP COLUMN {column.name}")
        connection.execute("UPDATE discreet_ledger SET version = ?", (version,))
